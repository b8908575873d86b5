/* SPDX-License-Identifier: Apache-2.0 */
/* config: the configuration of the service. One table (table.c) is the source of the YAML keys,
   flags, environment variables, `help --yaml` and configs/delaybridge.yaml. Precedence: flag,
   environment, file, default. */
#ifndef DELAYBRIDGE_BRIDGE_CONFIG_CONFIG_H
#define DELAYBRIDGE_BRIDGE_CONFIG_CONFIG_H

#include "bridge/base/error.h"
#include "bridge/base/log.h"
#include "levels/event.h"
#include "levels/plan.h"
#include "levels/retry.h"
#include "levels/target_rule.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A librdkafka property, for all clients or for those of one role. */
enum client_role { CLIENT_ALL, CLIENT_INTAKE, CLIENT_LEVELS, CLIENT_HOPS, CLIENT_DELIVERIES };
struct property {
    enum client_role role;
    char *name;
    char *value; /* the content of the file for {file: PATH} */
    bool secret; /* never printed: a password, or the content of a file */
};

/* A topic property that replaces the bridge's own choice in the topics that it creates. */
struct topic_override {
    char *name;
    char *value; /* NULL: the bridge sets no value, so the brokers' default applies */
};
enum { TOPIC_OVERRIDES_MAX = 24 };

/* The struct owns its pointers; config_deinit frees them. Times are in ms, sizes in bytes. */
struct config {
    char *path; /* the file that was read; NULL: none */
    struct property *kafka;
    size_t kafka_n;
    char *group;
    char *schedule;
    int64_t hold_ms;      /* the longest rest for which a record waits in memory */
    struct ladder ladder; /* levels and slack. Its hold is shorter than hold_ms or equal */
    int64_t retired_ms[LADDER_MAX];
    int retired_n;
    char **targets;
    size_t targets_n;
    struct target_rule *target_rules; /* by entry of targets; NULL: no entry has one */
    char *default_target;             /* NULL: none */
    int64_t max_delay_ms;
    int max_attempts;
    unsigned compat;     /* COMPAT_BIT of each foreign format that is translated */
    char *compat_policy; /* of foreign retries; NULL: "default" */
    bool exactly_once;
    bool redeliver_lost;  /* with exactly_once: start although the group has lost its offsets */
    bool skip_unreadable; /* skip an unreadable batch; else it blocks its partition */
    int64_t memory_bytes;
    int64_t cancel_memory;    /* bytes of the tables of cancels */
    bool cancel_on_tombstone; /* a null value without a time cancels */
    unsigned events;          /* EVENT_BIT of each type that is written; 0: none */
    bool events_lossy;        /* at-least-once: no record waits for its events */
    int64_t drain_ms;
    int partitions;                         /* topics apply only */
    int replication;                        /* topics apply only */
    struct topic_override *topic_overrides; /* the key topic_settings */
    size_t topic_overrides_n;
    struct retry_policy *retry; /* the key retry */
    size_t retry_n;
    enum log_level log_level;
    enum log_format log_format;
    int workers;
    char *listen;      /* HOST:PORT of metrics and health; NULL: none */
    char *admin;       /* HOST:PORT of the admin API; NULL: none */
    char *admin_token; /* path of the file with its token; NULL: none */
    int64_t canary_ms; /* interval of canary requests; 0: none */
};

/* Reads defaults, the file, the environment and the flags in argv[0..argc-1]. If path is NULL, the
   file is ./delaybridge.yaml or /etc/delaybridge/delaybridge.yaml, if one exists. Flags of the
   table and -X are removed from argv; *argc is the number of the rest, which stay in order. warn
   gets a sentence for each unknown DELAYBRIDGE_* variable. Returns 0, or ERR_CONFIG with a sentence
   in error that names file, line, key and value. */
int config_load(struct config *config, const char *path, int *argc, char **argv,
                void (*warn)(const char *sentence), struct error *error) must_check;
void config_deinit(struct config *config);

/* Check a required key: the brokers, or the targets. Return 0, or ERR_CONFIG with a sentence in
   error. */
int config_require_brokers(const struct config *config, struct error *error) must_check;
int config_require_targets(const struct config *config, struct error *error) must_check;

/* Calls say for each key that differs, and returns their number. `live` is true for a key that can
   change while the service runs. Values are not passed, because some are secret. */
int config_differences(const struct config *config, const struct config *other,
                       void (*say)(void *ctx, const char *key, bool live), void *ctx);

/* Replaces the live keys of `to`, which is a shallow copy of a configuration, by copies of those of
   `from`. All other keys stay shared. Returns 0, or ERR_NO_MEMORY with nothing to free. */
int config_copy_live(struct config *to, const struct config *from) must_check;
/* Frees these copies only. */
void config_free_live(struct config *config);

/* Returns a hash, never 0, of the keys that must be equal in all members of a group. These are
   targets and compat in any order, default_target, levels and delivery. */
uint32_t config_hash(const struct config *config);

/* Returns the value of a Kafka property for a role, or NULL. A value of the role precedes the one
   for all clients. */
const char *config_property(const struct config *config, enum client_role role, const char *name);

/* Returns the entry of topic_settings for a topic property, or NULL. */
const struct topic_override *config_topic_override(const struct config *config, const char *name);

/* Returns whether the property is a credential, judged by its name. Its value is never printed. */
bool config_is_secret(const char *name);

/* Print the table as the options part of --help, and as configs/delaybridge.yaml with each key
   explained and at its default. */
void config_print_help(FILE *out);
void config_print_yaml(FILE *out);

#endif
