/* SPDX-License-Identifier: Apache-2.0 */
/* config_load: what the files of config share: the table, and one setting on its way into it. */
#ifndef DELAYBRIDGE_BRIDGE_CONFIG_LOADER_H
#define DELAYBRIDGE_BRIDGE_CONFIG_LOADER_H

#include "bridge/config/config.h"

enum config_type {
    TYPE_PROPERTIES, /* a map of librdkafka properties */
    TYPE_TEXT,
    TYPE_SPAN,
    TYPE_SIZE,
    TYPE_COUNT,
    TYPE_LEVELS,         /* spans, into struct ladder */
    TYPE_RETIRED,        /* spans */
    TYPE_TARGETS,        /* patterns */
    TYPE_TOPIC_SETTINGS, /* a map in the file, NAME=VALUE in flags and variables */
    TYPE_DELIVERY,
    TYPE_LOST_OFFSETS,
    TYPE_UNREADABLE,
    TYPE_LOG_LEVEL,
    TYPE_LOG_FORMAT,
    TYPE_LISTEN
};

/* One key. Names are as in the file; "log.level" is level in the map log. */
struct config_key {
    const char *name;
    enum config_type type;
    bool live;           /* SIGHUP changes it in the running service */
    size_t offset;       /* in struct config, if the type needs one */
    int64_t least, most; /* of numbers, spans and sizes */
    const char *initial; /* as in a flag; NULL: none */
    const char *shown;   /* in the example: the value that is commented out, or NULL for initial */
    const char *help;    /* sentences */
};

extern const struct config_key CONFIG_KEYS[];
extern const size_t CONFIG_KEYS_N;

/* The key of this name in the file. NULL: unknown. */
const struct config_key *config_key_find(const char *name);
/* Of a flag or variable: '_', '-' and '.' are the same, and so are upper and lower case. */
const struct config_key *config_key_guess(const char *name);

/* The known key that is spelled most like name, as a file writes it. NULL: none is near. */
const char *config_key_nearest(const char *name);
enum { CONFIG_FLAG_MAX = 64 };
/* Writes the key as flags write it, without their dashes: "log-level". Returns out. */
const char *config_key_flag(const struct config_key *key, char out[CONFIG_FLAG_MAX]);

static inline bool config_key_is_list(const struct config_key *key)
{
    return key->type == TYPE_LEVELS || key->type == TYPE_RETIRED || key->type == TYPE_TARGETS ||
           key->type == TYPE_TOPIC_SETTINGS;
}

/* Where the values come from: "delaybridge.yaml:12", "flag --hold", "variable DELAYBRIDGE_HOLD". */
enum { WHERE_MAX = 200, CONFIG_KEYS_MAX = 32 };
struct loader {
    struct config *config;
    struct error *error;
    char where[CONFIG_KEYS_MAX][WHERE_MAX]; /* by key; empty: the default */
};

/* A key with its values: more than one only for lists. All borrowed. */
struct setting {
    const char *where;
    const char *key;
    char *const *values;
    size_t n;
    bool secret; /* the value is in no sentence */
};

/* WHERE: KEY: "VALUE": the sentence. value may be NULL. Returns ERR_CONFIG. */
__attribute__((format(printf, 4, 5))) int config_refuse(struct loader *loader,
                                                        const struct setting *setting,
                                                        const char *value, const char *format, ...);

/* Sets a key of the table; a value that was there is replaced. */
int config_set(struct loader *loader, const struct config_key *key,
               const struct setting *setting) must_check;
/* The same with one text, cut at commas if the key is a list. */
int config_set_text(struct loader *loader, const struct config_key *key, const char *where,
                    const char *text) must_check;

/* Sets a property: the key of the setting is its name. */
int config_set_property(struct loader *loader, enum client_role role,
                        const struct setting *setting) must_check;
/* The same, with the value in a file. */
int config_set_property_file(struct loader *loader, enum client_role role,
                             const struct setting *setting) must_check;
/* "intake.fetch.min.bytes": the role, and *name is moved behind it. */
enum client_role config_role_cut(const char **name);
/* "intake" and so on; CLIENT_ALL: none of them. */
enum client_role config_role(const char *name);

/* Sets one entry of topic_settings: the key of the setting is the property's name. A value of NULL
   or "default" leaves the property to the brokers. */
int config_set_topic(struct loader *loader, const struct setting *setting) must_check;
/* The same with each value as NAME=VALUE. Entries of other names stay. */
int config_set_topics(struct loader *loader, const struct setting *setting) must_check;
void config_free_topics(struct config *config);

/* The file into the table. */
int config_read_yaml(struct loader *loader, const char *path) must_check;

/* What one key alone cannot show. */
int config_check(struct loader *loader) must_check;

/* A copy. Start-up does not go on without memory. */
char *config_keep(const char *text);

#endif
