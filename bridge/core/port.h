/* SPDX-License-Identifier: Apache-2.0 */
/* port: everything that the step machine asks of the world, and the words that both use. The step
   machine (bridge.h) has no other way to act. The service implements the port with librdkafka
   (bridge/service/worker_port.c), the simulator with a model broker (tests/sim/port.c).

   The contract of every call:
     - no call waits for a broker;
     - an answer that takes time comes later, through the function of bridge.h that the comment
       names, and never inside the call unless the comment says so;
     - pointers that a call receives are valid during the call, unless the comment says longer. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_PORT_H
#define DELAYBRIDGE_BRIDGE_CORE_PORT_H

#include "levels/code.h"
#include "levels/envelope.h"
#include "levels/record.h"
#include "levels/topic_name.h"
#include "levels/window.h"

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
enum dead_letter_content {
    DEAD_LETTER_FULL,
    DEAD_LETTER_NO_VALUE,
    DEAD_LETTER_REASON_ONLY /* no key and no headers either, but for what the bridge says of it */
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
    int64_t timestamp_wall_ms;
    int slot;                   /* FORWARD_LEVEL: to this slot of the same lane, value as it is */
    struct target_id *target;   /* FORWARD_TARGET */
    const struct envelope *env; /* FORWARD_TARGET; FORWARD_DEAD of what had waited, else NULL */
    const struct refusal *refusal;    /* FORWARD_DEAD */
    enum dead_letter_content content; /* FORWARD_DEAD */
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
   members of struct notice that it sets. */
enum notice_kind {
    NOTICE_GAP,          /* queue, count: offsets that do not exist any more, counted as done */
    NOTICE_OUT_OF_RANGE, /* queue, count: offsets lost below the log's start */
    NOTICE_BEYOND_END,   /* queue, offset: our position, beyond the log's end; the queue is held */
    NOTICE_NEWER_ENVELOPE,  /* queue, offset: the queue is held */
    NOTICE_MISSING,         /* queue, count: records known to have waited in a topic that is gone */
    NOTICE_REPLACED,        /* queue, offset, reason: how it shows; the queue is held */
    NOTICE_STALL_RECOVERY,  /* queue, span_ms: so long a woken queue has been silent */
    NOTICE_CLOCK_BACK,      /* span_ms: held records are read again */
    NOTICE_STALLED_TURN,    /* span_ms: nothing is forwarded until a commit has succeeded */
    NOTICE_TARGET_DOWN,     /* target, error, reason, span_ms: it is not asked again before */
    NOTICE_TARGET_UP,       /* target */
    NOTICE_ABORTED,         /* count: records in the transaction; reason */
    NOTICE_FORWARD_FAILED,  /* a hop or a dead letter, sent again: queue, offset, to_slot, reason */
    NOTICE_DEAD_LETTERED,   /* queue, offset, key, target, code, reason */
    NOTICE_DELIVERY_FAILED, /* queue, offset, key, target, error, reason, attempt, next_try_ms */
    NOTICE_UNREADABLE,      /* queue, offset, end: no client reads this range; the queue is held */
    NOTICE_RANGE_SKIPPED,   /* queue, offset, end: such a range was passed */
    NOTICE_OUTLET_DOWN, /* queue, to_slot, reason: the partition that this lane's hops (or, 0, dead
                          letters) go to takes no records; what is for it waits */
    NOTICE_OUTLET_UP,   /* queue, to_slot: the same takes records again */
    NOTICE_THROTTLED    /* span_ms: so long a broker reads nothing of what is sent */
};
enum { NOTICE_KINDS = NOTICE_THROTTLED + 1 };

/* All pointers are valid during the call only. Bytes and reason may hold anything that a producer
   or a broker wrote. */
struct notice {
    enum notice_kind kind;
    struct queue_id queue; /* of a record: where its request stands, if that is known */
    int64_t offset;        /* in queue */
    int64_t end_offset;    /* the first one behind a range that begins at offset */
    int64_t count, span_ms;
    int to_slot; /* of the topic that could not be written: a level's; 0: the dead letters' */
    struct bytes key, target; /* null: there is none */
    enum code code;
    enum delivery_error error;
    const char *reason;       /* a phrase; NULL: none */
    int attempt;              /* of this record's deliveries, from 1 */
    int64_t next_try_wall_ms; /* wall; when the record is tried again */
};

/* Where one queue of a lane starts: the committed offset and its text. offset: WINDOW_UNSET if
   nothing was ever committed. text: the commit metadata, empty if none. */
struct start {
    int64_t offset;
    struct bytes text;
    bool fresh;   /* the group had no offset: what an earlier life knew was of another topic */
    bool missing; /* Kafka has no such topic: as after bridge_topic_missing */
};

/* Why a transaction cannot be committed. RECORDS: one of its records may be the cause. CLUSTER: the
   cluster or the group is, or a record timed out. */
enum abort_cause { ABORT_CAUSE_CLUSTER, ABORT_CAUSE_RECORDS };

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
    void (*notice)(void *ctx, const struct notice *notice);
    /* The wall clock at this moment, in ms. Read once for a delivery or a dead letter. */
    int64_t (*wall_ms)(void *ctx);
};

#endif
