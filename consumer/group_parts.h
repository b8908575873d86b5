/* SPDX-License-Identifier: Apache-2.0 */
/* group_parts: what a group is made of, for group.c and group_commit.c alone. */
#ifndef DELAYBRIDGE_CONSUMER_GROUP_PARTS_H
#define DELAYBRIDGE_CONSUMER_GROUP_PARTS_H

#include "consumer/group.h"

struct group {
    struct group_config config;
    rd_kafka_t *rk;
    rd_kafka_queue_t *events, *commits;
    bool owning; /* between gained and lost */
    int *lanes;  /* assigned: owned, or to be gained again */
    int lanes_n;
    bool rereading;                             /* not owning: group_regain gains them */
    rd_kafka_consumer_group_metadata_t *member; /* as it was when the lanes were assigned */
    int commits_out;
    uint64_t seq;  /* of the latest commit, which may be several requests: */
    int parts_out; /* not answered */
    bool parts_ok;
    int64_t joined_mono_ms; /* when it joined again */
    int64_t logged_mono_ms; /* when it logged that offsets are not known */
    bool rejoin; /* leave and join again: with other offsets, or because some could not be read */
    bool fenced; /* the client is fatal: nothing comes any more */
    bool closed;
};

#endif
