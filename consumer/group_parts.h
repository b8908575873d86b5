/* SPDX-License-Identifier: Apache-2.0 */
/* group_parts: the members of struct group, for group.c and group_commit.c alone. */
#ifndef DELAYBRIDGE_CONSUMER_GROUP_PARTS_H
#define DELAYBRIDGE_CONSUMER_GROUP_PARTS_H

#include "consumer/group.h"

struct group {
    struct group_config config;
    rd_kafka_t *rk;
    rd_kafka_queue_t *events, *commits;
    bool owning; /* between gained and lost */
    int *lanes;  /* assigned: owned, or waiting for group_regain */
    int lanes_n;
    bool kept;      /* no other member can have owned the lanes since they were lost */
    bool rereading; /* not owning; group_regain takes the lanes */
    rd_kafka_consumer_group_metadata_t *member; /* identity when the lanes were assigned */
    int commits_out;                            /* commit requests in flight */
    uint64_t seq;                               /* latest commit; it may be several requests */
    int parts_out;                              /* its requests in flight */
    bool parts_ok;                              /* no request of it has failed */
    int64_t joined_mono_ms;                     /* last subscription by group_rejoin */
    int64_t logged_mono_ms;                     /* last log line about unknown offsets */
    int64_t looked_mono_ms;                     /* last look for log_outside */
    int outside_looks;                          /* looks in a row that found no membership */
    int64_t omit_until_mono_ms;                 /* no witnesses are committed before this time */
    bool rejoin;                                /* leave and join at the next poll */
    bool fenced; /* the client has a fatal error and delivers nothing */
    bool closed;
};

#endif
