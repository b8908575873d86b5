/* SPDX-License-Identifier: Apache-2.0 */
/* bridge: the step machine that decides everything and touches nothing. No Kafka client, no clock,
   no threads, no allocation after bridge_new: it is told what happened, with the time, and acts
   through a port. The real port is librdkafka (bridge/service/worker.c over consumer/); the other is the
   simulator (tests/sim). The same bytes of code run in both.

   One bridge serves the lanes of one worker. A lane is partition p of the schedule topic (queue 0)
   and of every level topic (queues 1 ..). What it promises, whatever the port does:
     - a record is marked done only when its successor was acknowledged;
     - what is committed is never beyond what is done (window.h);
     - nothing is handed to port.forward for a target before its due time by the wall clock given;
     - nothing is handed to port.forward that is larger than record_max_bytes, if its size is known;
     - held and flying bytes, headers as the client lists them included, stay within the budget plus
       one record a queue of at most large_bytes, plus one larger record;
     - records on their way to the dead-letter topic take a quarter of the budget at most, plus one
       record a lane.

   One turn: what is due, then delivery reports, then level records whose time is near, then new
   requests within a quota; so intake can never make deliveries late. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_BRIDGE_H
#define DELAYBRIDGE_BRIDGE_CORE_BRIDGE_H

#include "bridge/core/stats.h"
#include "levels/code.h"
#include "levels/envelope.h"
#include "levels/plan.h"
#include "levels/request.h"
#include "levels/window.h"

struct bridge;
/* One record in work; opaque to the port, given back with bridge_reported. It begins with room in
   which the port keeps what it likes from port.forward to the report. */
struct parcel;
struct parcel_note {
    void *port[14];
};

/* Due times compare with the wall clock; waits and time-outs use the monotonic one (which counts a
   machine's sleep as time). Both in ms. */
struct now {
    int64_t wall_ms, mono_ms;
};

/* One input partition as the port sees it. index = lane * queues_per_lane + slot, so the port can
   keep arrays beside it. slot 0 is the schedule topic, 1 .. ladder.n the levels, then the retired
   ones. */
struct queue_id {
    int index;
    int lane;
    int slot;
};
enum { SLOT_SCHEDULE = 0 };

/* A topic that records are delivered to. The port may hang its own handle on it. */
struct target_id {
    char name[TOPIC_NAME_MAX + 1];
    void *handle; /* the port's; NULL until its first lookup */
};

enum forward_kind { FORWARD_LEVEL, FORWARD_TARGET, FORWARD_DEAD };

/* How much of a dead letter goes: less each time that it is too large for its topic. */
enum letter {
    LETTER_WHOLE,
    LETTER_WITHOUT_VALUE,
    LETTER_BARE /* no key and no headers either, but for what the bridge says of it */
};

/* What the port is asked to produce. All pointers are valid until port.forward returns; the record
   and what it owns until the parcel was reported. */
struct forward {
    enum forward_kind kind;
    struct parcel *parcel;
    struct queue_id from;
    int64_t offset; /* of the record in from */
    const struct record *record;
    /* Wall, of the new record. FORWARD_LEVEL: the turn's clock, which chose the level. Else the
       later of the turn's clock and port.wall_ms: never before the due time, nor before the
       request's timestamp as long as the clocks are in step. */
    int64_t timestamp_ms;
    int slot;                   /* FORWARD_LEVEL: to this slot of the same lane, value as it is */
    struct target_id *target;   /* FORWARD_TARGET */
    const struct envelope *env; /* FORWARD_TARGET; FORWARD_DEAD of what had waited, else NULL */
    const struct refusal *refusal; /* FORWARD_DEAD */
    enum letter letter;            /* FORWARD_DEAD */
    bool alone; /* FORWARD_TARGET, FORWARD_DEAD: in a batch of its own, to see if it fits; exactly
                   once it is the only record of its transaction */
};

/* What became of it. */
enum report {
    REPORT_OK,        /* acknowledged by the broker */
    REPORT_TOO_LARGE, /* the record, or the batch that it was in, can never be stored there */
    REPORT_UNFIT,     /* this record, or one in its batch, is nothing that the topic takes */
    REPORT_REFUSED,   /* the topic is not there, or writing to it is not allowed */
    REPORT_TIMED_OUT, /* no answer in time: it may or may not be stored */
    REPORT_NOT_SENT   /* the client gave it up for reasons of its own: send it again */
};

enum lookup {
    LOOKUP_FOUND,
    LOOKUP_UNWRITABLE, /* a partition of it has no leader, or too few replicas in sync for writes */
    LOOKUP_WHOLE, /* and each partition has a leader, and two replicas in sync if it has so many */
    LOOKUP_MISSING, /* Kafka says that there is no such topic, or that we may not see it */
    LOOKUP_UNKNOWN, /* no answer */
    LOOKUP_PENDING  /* none yet: ask again, soon */
};

/* Progress of one queue, to be committed together. */
struct progress {
    struct queue_id queue;
    int64_t base;
    size_t text_len;
    char text[WINDOW_TEXT_MAX + 1];
};

/* What an operator should hear of; the port logs it, and limits how often. Behind each kind: the
   members of struct event that it sets. */
enum event_kind {
    EVENT_GAP,            /* queue, count: offsets that do not exist any more, counted as done */
    EVENT_OUT_OF_RANGE,   /* queue, count: offsets lost below the log's start */
    EVENT_BEYOND_END,     /* queue, offset: our position, beyond the log's end; the queue is held */
    EVENT_NEWER_ENVELOPE, /* queue, offset: the queue is held */
    EVENT_MISSING,        /* queue, count: records known to have waited in a topic that is gone */
    EVENT_REPLACED,       /* queue, offset, reason: how it shows; the queue is held */
    EVENT_WATCHDOG,       /* queue, span_ms: so long a woken queue has been silent */
    EVENT_CLOCK_BACK,     /* span_ms: held records are read again */
    EVENT_STALLED_TURN,   /* span_ms: nothing is forwarded until a commit has succeeded */
    EVENT_TARGET_SHUT,    /* target, error, reason, span_ms: it is not asked again before */
    EVENT_TARGET_OPEN,    /* target */
    EVENT_ABORTED,        /* count: records in the transaction; reason */
    EVENT_FORWARD_FAILED, /* a hop or a dead letter, sent again: queue, offset, to_slot, reason */
    EVENT_DEAD_LETTERED,  /* queue, offset, key, target, code, reason */
    EVENT_DELIVERY_FAILED, /* queue, offset, key, target, error, reason, attempt, next_try_ms */
    EVENT_UNREADABLE,      /* queue, offset, end: no client reads this range; the queue is held */
    EVENT_GIVEN_UP,        /* queue, offset, end: such a range was passed */
    EVENT_OUTLET_SHUT, /* queue, to_slot, reason: the partition that this lane's hops (or, 0, dead
                          letters) go to takes no records; what is for it waits */
    EVENT_OUTLET_OPEN  /* queue, to_slot: the same takes records again */
};
enum { EVENT_KINDS = EVENT_OUTLET_OPEN + 1 };

/* All pointers are valid during the call only. Bytes and reason may hold anything that a producer
   or a broker wrote. */
struct event {
    enum event_kind kind;
    struct queue_id queue; /* of a record: where its request stands, if that is known */
    int64_t offset;        /* in queue */
    int64_t end;           /* the first one behind a range that begins at offset */
    int64_t count, span_ms;
    int to_slot; /* of the topic that could not be written: a level's; 0: the dead letters' */
    struct bytes key, target; /* null: there is none */
    enum code code;
    enum delivery_error error;
    const char *reason;  /* a phrase; NULL: none */
    int attempt;         /* of this record's deliveries, from 1 */
    int64_t next_try_ms; /* wall; when the record is tried again */
};

struct port {
    void *ctx;
    /* The next record of a queue, or NULL if none is at hand (the port says bridge_wake when there
       is). Headers are filled for slot 0 only. */
    struct record *(*take)(void *ctx, struct queue_id queue);
    void (*release)(void *ctx, struct record *record);
    /* A record of our own: key copied, value_size bytes to be written. NULL: no memory now. */
    struct record *(*make)(void *ctx, struct bytes key, size_t value_size);
    /* The same record, headers listed in every slot, in memory that nothing else shares. Takes the
       old one over. NULL: no memory now, and the old one is as it was. */
    struct record *(*keep)(void *ctx, struct record *record);
    /* 0: a report will follow, in this or a later call of reports. ERR_FULL: not taken; so is all
       that comes after the client knows that the transaction cannot be committed. */
    int (*forward)(void *ctx, const struct forward *forward);
    /* Call bridge_reported for every report at hand. */
    void (*reports)(void *ctx);
    void (*pause)(void *ctx, struct queue_id queue);
    /* (Re)start reading at offset: resumes if paused; what was read before is dropped. */
    void (*seek)(void *ctx, struct queue_id queue, int64_t offset);
    /* At least once: ends with bridge_committed(seq, ok), in the call or later. */
    void (*commit)(void *ctx, uint64_t seq, const struct progress *progress, size_t n);
    /* Exactly once, in two steps. announce: this (n may be 0) is to be committed with all that was
       forwarded, acknowledged or not yet; it may be sent to the brokers, and nothing more is
       forwarded. finish: all was acknowledged; commit both, or neither. Ends with
       bridge_committed(seq, true) or bridge_aborted. */
    void (*announce)(void *ctx, const struct progress *progress, size_t n);
    void (*finish)(void *ctx, uint64_t seq);
    /* Exactly once: give up what was forwarded and not committed, and the producer with it; then
       bridge_restarted, when another can begin: the old one is fenced by then, or it never was
       asked to commit. What was not reported yet still is, before or after that. An answer to a
       commit of the old producer is dropped. reread: before that lose all lanes, and after it gain
       them again from what is committed (and stable: no open transaction holds it), unless a new
       generation gave them back meanwhile. Never answered in the call; never called again before
       bridge_restarted. */
    void (*abort)(void *ctx, bool reread);
    /* Exactly once: whether another transaction could begin at once if this one were given up. */
    bool (*spare)(void *ctx);
    /* Offsets below base of a level queue are committed: they may be deleted. Success is answered
       with bridge_trimmed; without it the same is asked again a minute later. */
    void (*trim)(void *ctx, struct queue_id queue, int64_t base);
    /* Does not wait for brokers, nor create the topic. Asked about one target at a time; a turn
       comes when the answer is there. */
    enum lookup (*lookup)(void *ctx, struct target_id *target);
    /* The same of one partition that hops (slot of a level) or dead letters (slot 0) of a lane go
       to. Exactly once only, and not while a target's look-up is pending. */
    enum lookup (*lookup_outlet)(void *ctx, struct queue_id outlet);
    /* Where the log of an owned queue ends, as far as it is known; -1: not yet. Asks nobody. */
    int64_t (*end)(void *ctx, struct queue_id queue);
    /* The offset at which reading has come to the log's end since the last seek; -1: it has not. */
    int64_t (*drained)(void *ctx, struct queue_id queue);
    /* What an owned queue has at hand: about so many bytes in memory, unpacked. */
    int64_t (*unread)(void *ctx, struct queue_id queue);
    void (*forget)(void *ctx, struct target_id *target); /* the handle is not used again */
    void (*event)(void *ctx, const struct event *event);
    /* The wall clock at this moment, in ms. Read once for a delivery or a dead letter. */
    int64_t (*wall_ms)(void *ctx);
};

/* Borrowed pointers inside rules must outlive the bridge. */
struct bridge_config {
    struct ladder ladder;
    const int64_t *retired_ms;
    int retired_n;
    int lanes; /* partitions of S */
    struct request_rules rules;
    int max_attempts;
    int64_t memory_bytes; /* of this worker: held and in flight */
    int64_t bulk_bytes;  /* more than this at hand and not admitted makes a schedule queue bulky: of
                            these one is read at a time. 0: any number is */
    int64_t large_bytes; /* beyond memory_bytes, a queue may hold one record of so many bytes, and
                            one queue a larger one. 0: each a record of any size */
    uint8_t target_labels[TARGET_LABELS]; /* by which targets[] of the stats the first entries of
                                             rules.targets are counted; LABEL_OTHER: all further */
    /* What any broker takes of one record, key, value and headers uncompressed; 0: any size. */
    size_t record_max_bytes;
    bool exactly_once;
    bool skip_unreadable; /* a batch that cannot be read is dead-lettered as a range, and passed */
    size_t commit_text_max;  /* bytes that a commit's text may have; 0: WINDOW_TEXT_MAX */
    int64_t commit_again_ms; /* progress that does not change is committed again; 0: each hour */
    int64_t session_ms; /* after half of it without a turn, ownership is proved before forwarding */
};

/* NULL: out of memory. The port is copied. */
struct bridge *bridge_new(const struct bridge_config *config, const struct port *port,
                          struct stats *stats, struct now now);
void bridge_free(struct bridge *bridge); /* gives every record back to the port first */

/* What may change between two turns. */
struct bridge_live {
    struct request_rules rules; /* as in bridge_config */
    int max_attempts;
    uint8_t target_labels[TARGET_LABELS];
    size_t record_max_bytes;
};
void bridge_reconfigure(struct bridge *bridge, const struct bridge_live *live);

int bridge_queues_per_lane(const struct bridge *bridge);

/* Do everything that is to be done now. Returns in how many ms to call again at the latest (0: at
   once, at most BRIDGE_WAIT_MAX_MS); sooner if a queue woke or a report came. */
enum { BRIDGE_WAIT_MAX_MS = 100 };
int64_t bridge_turn(struct bridge *bridge, struct now now);

/* Something can be taken from this queue. */
void bridge_wake(struct bridge *bridge, struct queue_id id);

/* The lane is ours from these offsets on: one for each slot; WINDOW_UNSET: nothing was ever
   committed, read from the beginning. text is the commit metadata (empty if none). The port has the
   queues assigned there, unpaused. Returns how many texts were not usable (they are ignored, which
   is safe). */
struct start {
    int64_t offset;
    struct bytes text;
    bool fresh;   /* the group had no offset: what an earlier life knew was of another topic */
    bool missing; /* Kafka has no such topic: as after bridge_topic_missing */
};
int bridge_lane_gained(struct bridge *bridge, int lane, const struct start *starts, struct now now);

/* The lane is not ours any more: what is held is forgotten, what flies is remembered. Exactly once:
   an open transaction is given up, so all lanes are lost in one go, and gained in one go, with no
   turn in between. */
void bridge_lane_lost(struct bridge *bridge, int lane);

/* All lanes that are ours were gained. What was known of the others is forgotten: they may have an
   owner meanwhile, and come back with other topics under the same names. */
void bridge_lanes_settled(struct bridge *bridge);

/* Towards a lost lane or the end: serve reports, take and forward nothing, and go on committing
   (exactly once: end the transaction). Returns how many parcels are still in flight. */
size_t bridge_settle(struct bridge *bridge, struct now now);

/* How many parcels are in flight, those of lost lanes with them. */
size_t bridge_flying(const struct bridge *bridge);

/* Commit all progress that is not committed yet, now. */
void bridge_commit(struct bridge *bridge, struct now now);

void bridge_committed(struct bridge *bridge, uint64_t seq, bool ok);

/* Exactly once: the transaction cannot be committed, and all that was forwarded in it was reported.
   Its records may be to blame (a target that refuses to be written, a record that no partition
   takes), or nobody (the cluster was away, the lanes are somebody else's, nobody knows whether it
   is committed, a record timed out). At most once for each producer, at any time outside of the
   port's calls; not after port.abort has given that producer up. */
enum blame { BLAME_NOBODY, BLAME_RECORDS };
void bridge_aborted(struct bridge *bridge, enum blame blame, const char *why);

/* After port.abort: there is a producer again. */
void bridge_restarted(struct bridge *bridge);

/* why: a phrase for people, for what is not REPORT_OK. Only from inside port.reports. */
void bridge_reported(struct bridge *bridge, struct parcel *parcel, enum report report,
                     const char *why);

/* The log of this queue was deleted below base. At any time outside of the port's calls, or inside
   port.reports. */
void bridge_trimmed(struct bridge *bridge, struct queue_id id, int64_t base);

/* Kafka has no such level topic any more: the queue is blocked, and hops to it wait, until the lane
   is gained with a start that is not missing. Between turns. */
void bridge_topic_missing(struct bridge *bridge, struct queue_id id);

/* A hop of this parcel was stored in this level at offset (-1: unknown). Before its report, and
   only from inside port.reports. A log that is longer at the hop's start than at its end is another
   log. */
void bridge_landed(struct bridge *bridge, const struct parcel *parcel, struct queue_id level,
                   int64_t offset);

/* The position of a queue does not exist: the log now starts at start and ends at end. */
void bridge_out_of_range(struct bridge *bridge, struct queue_id id, int64_t start, int64_t end);

/* The client cannot read [from, end), in which the position of a queue lies: one batch, damaged, or
   packed in a way that it cannot unpack. After three equal readings the queue is held there. With
   skip_unreadable a dead letter names the range, and is acknowledged; then the range is done. */
void bridge_unreadable(struct bridge *bridge, struct queue_id id, int64_t from, int64_t end);

/* The range at which this queue is held. False: none is. */
bool bridge_held_range(const struct bridge *bridge, struct queue_id id, int64_t *from,
                       int64_t *end);

/* A dead letter names this range: it is done as soon as nothing before it is in work. Any other
   range than the held one is ignored. */
void bridge_give_up(struct bridge *bridge, struct queue_id id, int64_t from, int64_t end);

/* How things stand, into the gauges of stats.slots: for once a second. */
void bridge_survey(struct bridge *bridge, struct now now);

/* Asserts every invariant of the structures inside. */
void bridge_check(const struct bridge *bridge);

#endif
