/* SPDX-License-Identifier: Apache-2.0 */
/* dead_record: a record of the dead-letter topic as its headers describe it, and the filter that
   selects such records. */
#ifndef DELAYBRIDGE_LEVELS_DEAD_RECORD_H
#define DELAYBRIDGE_LEVELS_DEAD_RECORD_H

#include "levels/request.h"

#include <stdint.h>

#define DEAD_RECORD_UNKNOWN_MS (-1)

/* All bytes point into the record, or are the default target. */
struct dead_record {
    struct bytes code;      /* dlb-error */
    struct bytes reason;    /* dlb-reason; null: absent */
    struct bytes source;    /* dlb-source */
    struct bytes target;    /* null: not known, or neither a dlb-target nor a default target */
    int64_t failed_wall_ms; /* dlb-failed-at, else the record's timestamp */
    int64_t sent_wall_ms;   /* dlb-sent-at, or DEAD_RECORD_UNKNOWN_MS */
    struct bytes truncated; /* dlb-truncated, "value" or "all"; null: the record is complete */
};

/* Reads the headers that the bridge adds. The last one of a name counts, because the bridge adds
   its headers at the end. Of the rules only default_target and compat are used. Returns false if
   the bridge did not write this record: dlb-error or dlb-source is missing. */
bool dead_record_read(const struct record *record, const struct request_rules *rules,
                      struct dead_record *letter);

/* Returns whether the request cancels or replaces another one, by dlb-op or by foreign headers of
   the formats. */
bool dead_record_is_operation(const struct record *record, unsigned formats);

/* Reads "SCHEDULE/LANE/OFFSET". Returns false if the source is not on the schedule topic. */
bool dead_record_source(const struct dead_record *letter, const char *schedule, int *lane,
                        int64_t *offset);

/* A list without entries selects every record. Lists are borrowed. */
struct dead_filter {
    const char *const *codes;
    int codes_n;
    const char *const *targets;
    int targets_n;
    int64_t since_wall_ms; /* least failed_wall_ms; INT64_MIN: any */
    int64_t until_wall_ms; /* above the largest failed_wall_ms; INT64_MAX: any */
};

bool dead_filter_selects(const struct dead_filter *filter, const struct dead_record *letter);

/* Returns a hash that is the same for the same sets of codes and targets, in any order and with
   repetitions. The progress of a redrive is stored under it: never change it. */
uint64_t dead_filter_hash(const struct dead_filter *filter);

#endif
