/* SPDX-License-Identifier: Apache-2.0 */
/* group: membership of the consumer group that shares out the lanes, and the offsets that are
   committed through it. The group subscribes to the schedule topic alone; the offsets of all slots
   are committed by the same member, so a fenced owner's commit fails as a whole.

   Assignment is eager (range): a commit that crosses a cooperative rebalance would lose all lanes.
   Every rebalance revokes all lanes, calls lost, and then gives the new set with gained. */
#ifndef DELAYBRIDGE_CONSUMER_GROUP_H
#define DELAYBRIDGE_CONSUMER_GROUP_H

#include "bridge/bridge.h"
#include "consumer/bell.h"
#include "consumer/client.h"

struct group;

struct group_config {
    const char *const *topics; /* by slot; [0] is subscribed to; borrowed for ever */
    int slots, lanes;
    struct bell *bell;
    /* All from inside group_poll or group_close. lost: settle, commit with group_commit and
       group_await, forget; ownership is already gone if fenced. gained: starts has slots entries
       for each lane, valid during the call. committed: the answer to group_commit. */
    void (*gained)(void *ctx, const int *lanes, int n, const struct start *starts);
    void (*lost)(void *ctx, bool fenced);
    void (*committed)(void *ctx, uint64_t seq, bool ok);
    void *ctx;
};

/* Makes the member's handle of conf (consumed in every case), knows all topics' leaders, and
   subscribes. NULL with a sentence in error. */
struct group *group_new(const struct group_config *config, rd_kafka_conf_t *conf,
                        char error[CLIENT_ERROR_MAX]);

rd_kafka_t *group_handle(const struct group *group);

/* Serve rebalances, errors and commits' answers. Never blocks for more than a second a call, but
   for what gained and lost do. */
void group_poll(struct group *group);

/* Send offsets with their metadata; the answer comes through committed. Between lost and gained
   nothing is sent: the answer is no, at once. */
void group_commit(struct group *group, uint64_t seq, const struct progress *progress, size_t n);

/* Wait until every commit was answered, for timeout_ms at most. */
void group_await(struct group *group, int timeout_ms);

/* Leave and join again at the next poll: lost, then gained with what is committed by then. */
void group_rejoin(struct group *group);

/* Another process joined with our group.instance.id: the lanes were lost, and none will come. */
bool group_is_fenced(const struct group *group);

/* Leave: lost is called if lanes are owned. */
void group_close(struct group *group);
void group_free(struct group *group);

#endif
