/* SPDX-License-Identifier: Apache-2.0 */
/* source: the partitions that a worker reads, each through a queue of its own that signals
   the wakeup pipe.

   Facts of the client that shape it (librdkafka 2.0):
     - A broker thread with no fetch in flight sleeps for up to a second, and neither resume nor a
       drained queue wakes it. So each handle has a pulse assigned: a partition of S.pulse, which is
       empty, on each broker that leads something of ours. While nothing at all is read from the
       levels their pulse rests as well: the seek that starts a partition again wakes the thread.
     - A fetch names every partition that is not paused, whether it has anything or not, and that
       is what idling costs. So a level partition that is drained is quiet: it is paused until a
       record of ours has landed in it. Whatever somebody else may have written there (an owner that
       was cut off) is found by a look into all quiet ones each few seconds.
     - resume of a partition that is not paused rewinds it; a pause outlives the assignment. So the
       source keeps its own pause flags and clears them before partitions go.
     - A seek drops what was fetched before, but one record of the old position may still come. The
       bridge drops what is below its own position.
     - Single messages only: the batch call loses records across a pause. */
#ifndef DELAYBRIDGE_CONSUMER_SOURCE_H
#define DELAYBRIDGE_CONSUMER_SOURCE_H

#include "bridge/core/port.h"
#include "consumer/wakeup.h"

struct source;

struct source_config {
    rd_kafka_t *intake;        /* the group member: reads slot 0; set by source_join */
    rd_kafka_t *levels;        /* reads all other slots */
    const char *const *topics; /* by slot; borrowed for ever */
    int slots, lanes;
    const char *pulse_topic;
    struct wakeup *wakeup;
};

struct source *source_new(const struct source_config *config);
void source_free(struct source *source); /* before the handles are destroyed */

/* The group member, before anything is assigned. */
void source_join(struct source *source, rd_kafka_t *intake);

/* Read these lanes from these offsets (slots of them for each lane; WINDOW_UNSET: the beginning)
   and nothing else. 0 or ERR_KAFKA. */
int source_assign(struct source *source, const int *lanes, int n,
                  const struct start *starts) must_check;

/* The lanes are about to go: clears pauses, and reads the levels no more. May take long on a busy
   machine. */
void source_leave_levels(struct source *source);

/* The lanes are gone. */
void source_unassign(struct source *source);

/* Choose pulses, anew if leaders have moved; ask is a handle whose requests do not wait behind a
   fetch. May block for half a second. Call it at the start, and now and then; false: none is known
   yet, call it again soon. */
bool source_check_keepalives(struct source *source, rd_kafka_t *ask);

/* The calls of the bridge's port. */
struct record *source_take(struct source *source, struct queue_id queue);
void source_pause(struct source *source, struct queue_id queue);
void source_seek(struct source *source, struct queue_id queue, int64_t offset);

/* The log's end as the last fetch, or an acknowledgement since, told it; -1: neither has. Where all
   of a level is read, the place after its last record: ends of transactions behind it are none. */
int64_t source_end(const struct source *source, struct queue_id queue);

/* The offset at which the client has come to the log's end since the last seek; -1: it has not. */
int64_t source_drained(const struct source *source, struct queue_id queue);

/* About so many bytes does the client keep of what this queue has not handed over yet: as many
   records as it has at hand, each as large as the last ones were. */
int64_t source_unread(const struct source *source, struct queue_id queue);

/* A record was acknowledged on a level: there is something to read. */
void source_landed(struct source *source, int lane, int slot, int64_t offset);

/* Lets drained partitions fall quiet, and looks into them now and then. For each turn. */
void source_sweep(struct source *source, int64_t now_ms);

/* A queue whose position does not exist, with the log's ends; false if there is none. May block for
   half a second, once a second at most. To be called between turns, and answered with
   bridge_out_of_range. The client has stopped fetching it for good: the seek that follows assigns
   it anew, or, for slot 0, wants the group to be joined again. */
bool source_lost_position(struct source *source, struct queue_id *queue, int64_t *start,
                          int64_t *end);

/* A queue whose position lies in a batch that cannot be read (unreadable.h), and whose range was
   not told yet; false: there is none. It is paused, and gives nothing before a seek. A seek to the
   same position of one that the client has given up at such a batch only has the range told again:
   the client would give it up again. */
bool source_find_stuck(struct source *source, struct queue_id *queue);
bool source_is_stuck(const struct source *source, struct queue_id queue);
void source_measured(struct source *source, struct queue_id queue);   /* its range is told now */
void source_read_again(struct source *source, struct queue_id queue); /* it can be read now */
int64_t source_position(const struct source *source, struct queue_id queue);

/* True once after the client has said that it knows no such topic or partition of a level. */
bool source_misses_topic(struct source *source);

/* True once after such a seek of slot 0: what is committed must be moved first (group_rejoin does).
 */
bool source_wants_rejoin(struct source *source);

#endif
