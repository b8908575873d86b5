/* SPDX-License-Identifier: Apache-2.0 */
/* config: what the operator set. One table (config_table.c) is the source of the YAML keys, the
   flags, the environment variables, help --yaml and configs/delaybridge.yaml; flag > environment >
   file > default. */
#ifndef DELAYBRIDGE_BRIDGE_CONFIG_CONFIG_H
#define DELAYBRIDGE_BRIDGE_CONFIG_CONFIG_H

#include "bridge/base/error.h"
#include "bridge/base/log.h"
#include "levels/plan.h"
#include "levels/targets.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A librdkafka property, for every handle or for one of them. */
enum client_role { CLIENT_ALL, CLIENT_INTAKE, CLIENT_LEVELS, CLIENT_HOPS, CLIENT_DELIVERIES };
struct property {
    enum client_role role;
    char *name;
    char *value; /* already read, if it was given as {file: ...} */
    bool secret; /* never printed: a password, or read from a file */
};

/* A setting that replaces the bridge's own in the topics that it makes. */
struct topic_override {
    char *name;
    char *value; /* NULL: the bridge sets none, so the brokers' default counts */
};
enum { TOPIC_OVERRIDES_MAX = 24 };

/* Owned by the struct; freed by config_deinit. All times in ms, all sizes in bytes. */
struct config {
    char *path; /* the file that was read, NULL if none */
    struct property *kafka;
    size_t kafka_n;
    char *group;
    char *schedule;
    struct ladder ladder; /* levels, hold and slack */
    int64_t retired_ms[LADDER_MAX];
    int retired_n;
    char **targets;
    size_t targets_n;
    char *default_target; /* NULL: none */
    int64_t max_delay_ms;
    int max_attempts;
    bool exactly_once;
    bool redeliver_lost;  /* exactly once: start though the group has lost its offsets */
    bool skip_unreadable; /* an unreadable batch blocks no partition */
    int64_t memory_bytes;
    int64_t drain_ms;
    int partitions;                         /* topics apply only */
    int replication;                        /* topics apply only */
    struct topic_override *topic_overrides; /* the key topic_settings */
    size_t topic_overrides_n;
    enum log_level log_level;
    enum log_format log_format;
    int workers;
    char *listen;      /* HOST:PORT of metrics and health; NULL: none */
    int64_t canary_ms; /* between two requests of the bridge's own; 0: none */
};

/* Read defaults, the file (path; NULL: ./delaybridge.yaml, then /etc/delaybridge/delaybridge.yaml,
   then none), the environment and the flags in argv[0..argc-1]. Flags that are the table's or -X
   are taken out of argv; the rest stays in order and *argc says how many. Unknown DELAYBRIDGE_*
   variables are noted through warn. Returns 0 or ERR_CONFIG with a sentence in error: file, line,
   key and value are in it. */
int config_load(struct config *config, const char *path, int *argc, char **argv,
                void (*warn)(const char *sentence), struct error *error) must_check;
void config_deinit(struct config *config);

/* Check a key that has no default: the brokers, or the targets. 0, or ERR_CONFIG with a sentence.
 */
int config_require_brokers(const struct config *config, struct error *error) must_check;
int config_require_targets(const struct config *config, struct error *error) must_check;

/* Say each key that is not the same in both: live ones can be changed while the service runs.
   Values are not said: some are secret. Returns how many. */
int config_differences(const struct config *config, const struct config *other,
                       void (*say)(void *ctx, const char *key, bool live), void *ctx);

/* A number that differs, but for one in four billion, where targets (in any order), default_target,
   levels or delivery differ: all members of a group must have the same. Never 0. */
uint32_t config_hash(const struct config *config);

/* The value of a Kafka property for a role (its own before the one for all), or NULL. */
const char *config_property(const struct config *config, enum client_role role, const char *name);

/* The entry of topic_settings for a property of topics, or NULL. */
const struct topic_override *config_topic_override(const struct config *config, const char *name);

/* Whether a property, by its name, lets somebody in: such a value is never printed. */
bool config_is_secret(const char *name);

/* The table as text: the options part of --help, and configs/delaybridge.yaml with every key
   explained and at its default. */
void config_print_help(FILE *out);
void config_print_yaml(FILE *out);

#endif
