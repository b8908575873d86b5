/* SPDX-License-Identifier: Apache-2.0 */
/* source: the partitions that a worker reads. Each one has its own queue, which signals the wakeup
   pipe. Only the worker's thread may call these functions.

   Facts about the client that shape it (librdkafka 2.0, measured):
     - A broker thread without a fetch in flight sleeps for up to a second. Neither resume nor a
       drained queue wakes it. So each handle also fetches keep-alive partitions, which are empty,
       one on each broker (keepalive.h). While all level partitions are paused, the level handle
       pauses them too: the seek that resumes a level partition wakes the thread.
     - A fetch request names every partition that is not paused, even an empty one. This is why an
       idle bridge uses CPU. So a drained level partition becomes idle: it is paused until this
       worker has stored a record in it. A former owner that was cut off may have stored records
       there as well. So all idle partitions are read again every ten seconds.
     - Resuming a partition that is not paused rewinds it, and a pause outlives the assignment. So
       the source keeps its own pause flags, and clears them before partitions are revoked.
     - A seek drops the fetched records, but one record of the old position may still arrive. The
       bridge drops records below its own position.
     - The client's batch call loses records across a pause. So records are read one by one. */
#ifndef DELAYBRIDGE_CONSUMER_SOURCE_H
#define DELAYBRIDGE_CONSUMER_SOURCE_H

#include "bridge/core/port.h"
#include "consumer/wakeup.h"

struct source;

struct source_config {
    rd_kafka_t *intake;        /* the group member: reads slot 0; set by source_join */
    rd_kafka_t *levels;        /* reads all other slots */
    const char *const *topics; /* by slot; borrowed until source_free */
    int slots, lanes;
    const char *pulse_topic; /* of the keep-alive partitions; borrowed until source_free */
    struct wakeup *wakeup;
};

/* Returns NULL if memory is lacking. */
struct source *source_new(const struct source_config *config);
void source_free(struct source *source); /* call before the handles are destroyed */

/* Sets the group member. Call it before the first assignment. */
void source_join(struct source *source, rd_kafka_t *intake);

/* Reads these n lanes and no others. starts has an entry for each slot of each lane; WINDOW_UNSET
   starts at the beginning of the log. Returns 0 or ERR_KAFKA, which is logged. */
int source_assign(struct source *source, const int *lanes, int n,
                  const struct start *starts) must_check;

/* Clears all pauses and stops reading the levels. Call it before the lanes are revoked. May take
   long on a busy machine. */
void source_leave_levels(struct source *source);

/* Stops reading all lanes. */
void source_unassign(struct source *source);

/* Chooses the keep-alive partitions, again if leaders have moved. The requests use the handle ask,
   which must have no long fetch that delays them. Blocks for half a second at most. Call it at the
   start and then now and then. Returns false while none is chosen: call it again soon. */
bool source_check_keepalives(struct source *source, rd_kafka_t *ask);

/* Implement calls of the port (port.h). */
struct record *source_take(struct source *source, struct queue_id queue);
void source_pause(struct source *source, struct queue_id queue);
void source_seek(struct source *source, struct queue_id queue, int64_t offset);

/* Returns the end of the log that the last fetch or acknowledgement reported, or -1 if neither has.
   If all records of the partition were read, returns the offset after the last one instead:
   transaction markers may follow it. */
int64_t source_end(const struct source *source, struct queue_id queue);

/* Returns the offset at which the client reached the end of the log after the last seek, or -1. */
int64_t source_drained(const struct source *source, struct queue_id queue);

/* Returns about how many bytes of fetched records the client keeps for this queue: their number
   times the mean size of recent records. */
int64_t source_unread(const struct source *source, struct queue_id queue);

/* A record of this worker was stored at offset on a level: an idle partition is read again.
   offset < 0: the broker did not name it. */
void source_landed(struct source *source, int lane, int slot, int64_t offset);

/* Makes drained partitions idle, and reads the idle ones again every ten seconds. Call it each
   turn. */
void source_update_idle(struct source *source, int64_t now_mono_ms);

/* Finds a queue whose position does not exist, and the start and the end of its log. Returns false
   if there is none, or if the broker does not answer. Blocks for half a second at most, and does so
   at most once a second while brokers do not answer. Call it between turns, and answer with
   bridge_out_of_range. The client has stopped fetching the partition. The seek that follows assigns
   a level partition again; for slot 0 it requests a rejoin of the group. */
bool source_lost_position(struct source *source, struct queue_id *queue, int64_t *start,
                          int64_t *end);

/* Finds a queue that is stuck: its position lies in an unreadable batch (unreadable.h) whose range
   was not measured yet. Returns false if there is none. A stuck partition is paused, and hands over
   no record before a seek. If the client has given the partition up, a seek to the same position
   only requests another measurement. The client would fail there again. */
bool source_find_stuck(struct source *source, struct queue_id *queue);
bool source_is_stuck(const struct source *source, struct queue_id queue);
void source_measured(struct source *source, struct queue_id queue);   /* the range is reported */
void source_read_again(struct source *source, struct queue_id queue); /* the batch is readable */

/* Returns the offset that is read next; WINDOW_UNSET: not known yet. */
int64_t source_position(const struct source *source, struct queue_id queue);

/* Returns true once after the client has reported an unknown topic or partition of a level. */
bool source_misses_topic(struct source *source);

/* Returns true once after a seek of slot 0 that needs a rejoin. The committed offset must be moved
   first (group_rejoin does). */
bool source_wants_rejoin(struct source *source);

#endif
