/* SPDX-License-Identifier: Apache-2.0 */
/* group: membership in the consumer group that assigns the lanes, and the commits of their offsets.
   The group subscribes to the schedule topic alone. One member commits the offsets of all slots, so
   the commit of a fenced member fails as a whole.

   Membership is static. A member whose id belongs to its process alone (config.transient) leaves
   the group when it is closed. Static membership helps it when its session expires while the
   coordinator is unavailable. It rejoins at once, where a dynamic member would wait until its old
   session expires. A member with the operator's group.instance.id stays in the group when it is
   closed, for the next process with that id.

   Assignment is eager (range), because a commit during a cooperative rebalance would lose all
   lanes. Every rebalance revokes all lanes (lost) and then assigns the new set (gained). */
#ifndef DELAYBRIDGE_CONSUMER_GROUP_H
#define DELAYBRIDGE_CONSUMER_GROUP_H

#include "bridge/core/port.h"
#include "consumer/client/client.h"
#include "consumer/wakeup.h"

struct group;

struct group_config {
    /* By slot, borrowed; [0] is subscribed to. [slots] is the topic of cancels, with the witnesses
       of each lane as metadata (port.h). */
    const char *const *topics;
    int slots, lanes;
    bool transient; /* the group.instance.id in conf is unique to this process */
    struct wakeup *wakeup;
    /* Callbacks, called from inside the functions of this file.

       lost: the lanes are revoked. The callee settles, commits with group_commit and group_await,
       and forgets the lanes. If fenced, ownership has ended already.

       gained: the lanes are assigned. starts has an entry for each slot of each lane, valid during
       the call.

       may_gain: if false, assigned lanes wait for group_regain.

       committed: the answer to group_commit. */
    bool (*may_gain)(void *ctx);
    void (*gained)(void *ctx, const int *lanes, int n, struct start *starts);
    void (*lost)(void *ctx, bool fenced);
    void (*committed)(void *ctx, uint64_t seq, bool ok);
    void *ctx;
};

/* Creates the member's handle from conf (consumed in every case), learns the leaders of all topics,
   and subscribes. Returns 0, or ERR_KAFKA, ERR_CONFIG or ERR_NO_MEMORY with a sentence in error. */
int group_new(const struct group_config *config, rd_kafka_conf_t *conf, struct group **group,
              struct error *error) must_check;

rd_kafka_t *group_handle(const struct group *group);

/* Serves rebalances, errors and answers to commits. Blocks only in a rebalance: in lost and gained,
   and for up to six seconds while the committed offsets cannot be read. */
void group_poll(struct group *group);

/* Return the progress as offsets with metadata, and this member's identity, for a transactional
   producer to commit. The caller owns both. Return NULL if memory is lacking. group_offsets also
   returns NULL while no lane is owned. */
rd_kafka_topic_partition_list_t *group_offsets(const struct group *group,
                                               const struct progress *progress, size_t n);
rd_kafka_consumer_group_metadata_t *group_identity(const struct group *group);

/* Commits without witnesses for some time. While their topic is missing, each commit with them
   fails as a whole. */
void group_omit_witnesses(struct group *group, int64_t for_ms);

/* Gives up the owned lanes (lost), to read them again from the committed offsets. Call group_regain
   when every forwarded record is decided and no open transaction holds the offsets. */
void group_reread(struct group *group);

/* Reads the committed offsets, for one second at most, and takes the lanes that wait (gained). Does
   nothing if none wait, or while the offsets are unknown: call it again. */
void group_regain(struct group *group);

/* Sends the offsets and metadata of progress; committed receives the answer. While no lane is owned
   it sends nothing, and committed receives false inside the call. */
void group_commit(struct group *group, uint64_t seq, const struct progress *progress, size_t n);

/* Waits until every commit is answered, for timeout_ms at most. Returns false if some are not. */
bool group_await(struct group *group, int timeout_ms);

/* Commits initial offsets, for a call from inside gained. A partition that has no offset and is not
   missing starts at the beginning of its log. The lookup uses the handle ask. Returns 0, or
   ERR_KAFKA if some initial offsets are not committed. Blocks for some seconds at most. */
int group_commit_initial(struct group *group, rd_kafka_t *ask, const int *lanes, int n,
                         struct start *starts) must_check;

/* Leaves and joins again at the next poll: lost, then gained with the offsets that are committed by
   then. */
void group_rejoin(struct group *group);

/* Returns whether the coordinator has fenced this member; its lanes are lost. Either another
   process joined with the same group.instance.id, or this one sent a late commit. A client keeps a
   commit in an outage, and sends it when the coordinator is back, although its session has ended.
   Only a new group, with the same id, can join again. */
bool group_is_fenced(const struct group *group);

/* Closes the member; a transient one leaves the group. Calls lost if lanes are owned. */
void group_close(struct group *group);
void group_free(struct group *group);

#endif
