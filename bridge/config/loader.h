/* SPDX-License-Identifier: Apache-2.0 */
/* loader: the private header of config: the table of keys, and the functions that set one key. */
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
    TYPE_RETRY,          /* a map of maps in the file, POLICY.FIELD=VALUE in flags and variables */
    TYPE_DELIVERY,
    TYPE_LOST_OFFSETS,
    TYPE_UNREADABLE,
    TYPE_SWITCH, /* true or false */
    TYPE_COMPAT, /* names of foreign formats */
    TYPE_LOG_LEVEL,
    TYPE_LOG_FORMAT,
    TYPE_LISTEN,
    TYPE_FILE,  /* {file: PATH} in the file, PATH in flags and variables */
    TYPE_EVENTS /* names of event types, `default` and `all` */
};

/* One key. The name is that of the file: "log.level" is level in the map log. */
struct config_key {
    const char *name;
    enum config_type type;
    bool live;           /* SIGHUP changes it in the running service */
    size_t offset;       /* in struct config, if the type has one */
    int64_t least, most; /* of numbers, spans and sizes */
    const char *initial; /* the default as text of a flag; NULL: none */
    const char *shown;   /* the example in a comment of the file; NULL: initial is shown */
    const char *help;    /* sentences */
};

extern const struct config_key CONFIG_KEYS[];
extern const size_t CONFIG_KEYS_N;

/* Returns the key of this name in the file, or NULL. */
const struct config_key *config_key_find(const char *name);
/* Returns the key of a flag or variable, or NULL. '_', '-' and '.' are equal, and so are upper and
   lower case. */
const struct config_key *config_key_guess(const char *name);

/* Returns the key that is most similar to name, as in the file, or NULL if none is near. */
const char *config_key_nearest(const char *name);
enum { CONFIG_FLAG_MAX = 64 };
/* Writes the name of the flag without its dashes: "log-level". Returns out. */
const char *config_key_flag(const struct config_key *key, char out[CONFIG_FLAG_MAX]);

static inline bool config_key_is_list(const struct config_key *key)
{
    return key->type == TYPE_LEVELS || key->type == TYPE_RETIRED || key->type == TYPE_TARGETS ||
           key->type == TYPE_TOPIC_SETTINGS || key->type == TYPE_EVENTS ||
           key->type == TYPE_COMPAT || key->type == TYPE_RETRY;
}

/* Sources of values: "delaybridge.yaml:12", "flag --hold", "variable DELAYBRIDGE_HOLD". */
enum { WHERE_MAX = 200, CONFIG_KEYS_MAX = 40 };
struct loader {
    struct config *config;
    struct error *error;
    char where[CONFIG_KEYS_MAX][WHERE_MAX]; /* by key; empty: the default */
    char (*retry_where)[WHERE_MAX];         /* by policy, of the field that was set last; owned */
};

/* A key with its values. Only lists have more than one. All pointers are borrowed. */
struct setting {
    const char *where;
    const char *key;
    char *const *values;
    size_t n;
    bool secret; /* never print the value */
};

/* Writes the error WHERE: KEY: "VALUE": SENTENCE. value may be NULL. Returns ERR_CONFIG. */
__attribute__((format(printf, 4, 5))) int config_refuse(struct loader *loader,
                                                        const struct setting *setting,
                                                        const char *value, const char *format, ...);

/* Sets a key of the table and replaces an earlier value. */
int config_set(struct loader *loader, const struct config_key *key,
               const struct setting *setting) must_check;
/* Sets a key from one text, which is cut at commas if the key is a list. */
int config_set_text(struct loader *loader, const struct config_key *key, const char *where,
                    const char *text) must_check;

/* Sets a property. The key of the setting is its name. */
int config_set_property(struct loader *loader, enum client_role role,
                        const struct setting *setting) must_check;
/* Sets a property to the content of the file that the setting names. */
int config_set_property_file(struct loader *loader, enum client_role role,
                             const struct setting *setting) must_check;
/* Returns the role in "intake.fetch.min.bytes" and moves *name after it. Returns CLIENT_ALL for a
   name without a role. */
enum client_role config_role_cut(const char **name);
/* Returns the role named "intake", "levels", "hops" or "deliveries", else CLIENT_ALL. */
enum client_role config_role(const char *name);

/* Sets all targets, without rules. */
int config_set_targets(struct loader *loader, const struct setting *setting) must_check;
/* Sets max_rate or max_attempts of an entry of targets. The key of the setting is the field. */
int config_set_target_rule(struct loader *loader, size_t entry,
                           const struct setting *setting) must_check;
void config_free_targets(struct config *config);

/* Sets one entry of topic_settings. The key of the setting is the property's name. A value of NULL
   or "default" leaves the property to the brokers. */
int config_set_topic(struct loader *loader, const struct setting *setting) must_check;
/* Sets entries from values of the form NAME=VALUE. Entries of other names stay. */
int config_set_topics(struct loader *loader, const struct setting *setting) must_check;
void config_free_topics(struct config *config);

/* Sets one field of a policy of the key retry. The key of the setting is POLICY.FIELD. Only delays
   takes more than one value. */
int config_set_retry(struct loader *loader, const struct setting *setting) must_check;
/* Sets fields from values of the form POLICY.FIELD=VALUE. Spaces separate the values of delays. All
   other fields stay. */
int config_set_retries(struct loader *loader, const struct setting *setting) must_check;
/* Checks that each policy is complete. */
int config_check_retry(struct loader *loader) must_check;
void config_free_retry(struct config *config);

/* Reads the file. */
int config_read_yaml(struct loader *loader, const char *path) must_check;

/* Checks the combination of keys. */
int config_check(struct loader *loader) must_check;

/* Writes the value of a key in the form of the file. Secrets are "(hidden)", and so is the path of
   a TYPE_FILE. */
void config_show(FILE *out, const struct config *config, const struct config_key *key);

/* Returns a copy. Ends the process if there is no memory. */
char *config_keep(const char *text);

#endif
