/* SPDX-License-Identifier: Apache-2.0 */
/* group: membership of the consumer group that shares out the lanes, and the offsets that are
   committed through it. The group subscribes to the schedule topic alone; the offsets of all slots
   are committed by the same member, so a fenced owner's commit fails as a whole.

   A member is static. With an id of its own process (config.transient) it leaves when it is closed,
   like any other; what the static id buys is that a member whose session ran out while the
   coordinator was away takes its place again at once, where a new one would wait for the old one's
   session. With the operator's group.instance.id it stays a member when it is closed, for whoever
   starts with that id.

   Assignment is eager (range): a commit that crosses a cooperative rebalance would lose all lanes.
   Every rebalance revokes all lanes, calls lost, and then gives the new set with gained. */
#ifndef DELAYBRIDGE_CONSUMER_GROUP_H
#define DELAYBRIDGE_CONSUMER_GROUP_H

#include "bridge/core/port.h"
#include "consumer/client/client.h"
#include "consumer/wakeup.h"

struct group;

struct group_config {
    const char *const *topics; /* by slot; [0] is subscribed to; borrowed for ever */
    int slots, lanes;
    bool transient; /* conf has a group.instance.id that no other process will ever have */
    struct wakeup *wakeup;
    /* All from inside group_poll or group_close. lost: settle, commit with group_commit and
       group_await, forget; ownership is already gone if fenced. gained: starts has slots entries
       for each lane, valid during the call. may_gain: no: what is assigned is gained by
       group_regain. committed: the answer to group_commit. */
    bool (*may_gain)(void *ctx);
    void (*gained)(void *ctx, const int *lanes, int n, struct start *starts);
    void (*lost)(void *ctx, bool fenced);
    void (*committed)(void *ctx, uint64_t seq, bool ok);
    void *ctx;
};

/* Makes the member's handle of conf (consumed in every case), knows all topics' leaders, and
   subscribes. Returns 0, or with a sentence in error ERR_KAFKA, ERR_CONFIG or ERR_NO_MEMORY. */
int group_new(const struct group_config *config, rd_kafka_conf_t *conf, struct group **group,
              char error[CLIENT_ERROR_MAX]) must_check;

rd_kafka_t *group_handle(const struct group *group);

/* Serve rebalances, errors and commits' answers. Never blocks for more than a second a call, but
   for what gained and lost do. */
void group_poll(struct group *group);

/* The same offsets and texts, and who we are, for a transactional producer to commit; both are the
   caller's. NULL between lost and gained, and without memory. */
rd_kafka_topic_partition_list_t *group_offsets(const struct group *group,
                                               const struct progress *progress, size_t n);
rd_kafka_consumer_group_metadata_t *group_identity(const struct group *group);

/* Read the owned lanes again from what is committed: lost now; gained by group_regain, once
   nothing of what was forwarded is undecided, and its offsets are not held by a transaction. */
void group_reread(struct group *group);

/* False: they are not known yet, after a second at most: again. */
bool group_regain(struct group *group) must_check;

/* Send offsets with their metadata; the answer comes through committed. Between lost and gained
   nothing is sent: the answer is no, at once. */
void group_commit(struct group *group, uint64_t seq, const struct progress *progress, size_t n);

/* Wait until every commit was answered, for timeout_ms at most. False: not all were. */
bool group_await(struct group *group, int timeout_ms);

/* Inside gained: partitions that have no offset, and are not missing, start where their logs do
   (asked with ask), and that is committed. 0 or ERR_KAFKA: it is not, or not of all. May block for
   some seconds. */
int group_commit_initial(struct group *group, rd_kafka_t *ask, const int *lanes, int n,
                         struct start *starts) must_check;

/* Leave and join again at the next poll: lost, then gained with what is committed by then. */
void group_rejoin(struct group *group);

/* The group will not have this member any more, and the lanes were lost: another process joined
   with our group.instance.id; or, for a transient member, the client sent an old commit after its
   member id had gone. Only a new group, with the same id, joins again. */
bool group_is_fenced(const struct group *group);

/* Close, and leave if transient: lost is called if lanes are owned. */
void group_close(struct group *group);
void group_free(struct group *group);

#endif
