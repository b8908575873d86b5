/* SPDX-License-Identifier: Apache-2.0 */
/* port: every call that the step machine (bridge.h) makes, and the types that these calls carry.
   The step machine reaches Kafka, memory and the clock through this header only. The service
   implements the port with librdkafka (bridge/service/worker_port.c). The simulator implements it
   with a model broker (tests/sim/port.c).

   Rules of every call:
     - A call never waits for a broker.
     - An outcome that takes time arrives later, in the function of bridge.h that the comment names.
       It arrives inside the call only if the comment says so.
     - A pointer argument is valid during the call, unless the comment says longer.
     - All calls come from one thread, inside a function of bridge.h.

   Units: instants are ms of the wall clock since 1970 (_wall_ms) or ms of the monotonic clock
   (_mono_ms). A plain _ms is a span. Sizes are bytes of memory. A sentence that begins with
   "At-least-once" or "Exactly-once" is about that delivery mode only.

   Ownership of a record: take, make and keep give it to the step machine, and release returns it.
   From forward until its report the port may read it, and the step machine leaves it as it is.

   Order of calls, at-least-once:
     take -> forward -> bridge_reported -> commit -> bridge_committed

   Order of calls, exactly-once, for each transaction of one client (sender.h):
     take -> begin -> forward -> send_offsets -> bridge_reported -> commit_transaction
   Each call that waits for brokers ends with a fact (bridge_client_fact). A transaction that fails
   or is given up continues with purge -> bridge_reported -> CLIENT_PURGED -> renew. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_PORT_H
#define DELAYBRIDGE_BRIDGE_CORE_PORT_H

#include "levels/cancel_log.h"
#include "levels/code.h"
#include "levels/envelope.h"
#include "levels/record.h"
#include "levels/same_log.h"
#include "levels/topic_name.h"
#include "levels/window.h"

/* One record in work. The port receives it in forward, returns it in bridge_reported, and treats it
   as opaque. A parcel begins with a parcel_note, which belongs to the port between these calls. */
struct parcel;
struct parcel_note {
    void *port[14];
};

/* Both clocks at one moment. Due times are compared with the wall clock. Waits and timeouts use the
   monotonic clock, which includes the time that the machine was suspended. */
struct now {
    int64_t wall_ms, mono_ms;
};

/* One partition of a lane. index = lane * queues_per_lane + slot, so it can be an index into the
   port's arrays. lane is the number of the partition. The topics of cancels and of events are no
   inputs: they have a slot and no index. Only lookup_outlet and notices name them. */
struct queue_id {
    int index;
    int lane;
    int slot; /* 0: the schedule topic; 1 .. ladder.n: the levels; then the retired levels */
};
enum { SLOT_SCHEDULE = 0, SLOT_CANCELS = -1, SLOT_EVENTS = -2 };

/* A topic that records are delivered to. */
struct target_id {
    char name[TOPIC_NAME_MAX + 1];
    void *handle; /* the port's own; NULL until its first lookup */
};

/* The topic that a record is forwarded to. FORWARD_CANCEL, FORWARD_EVENT: the topic of cancels or
   of events, in the same lane. Their records are sent as soon as deliveries are. Those of cancels
   have no headers. Those of events have the content type of CloudEvents. */
enum forward_kind { FORWARD_LEVEL, FORWARD_TARGET, FORWARD_DEAD, FORWARD_CANCEL, FORWARD_EVENT };
enum { FORWARD_KINDS = FORWARD_EVENT + 1 };

/* The parts of a record that go to the dead-letter topic. A record that is too large for this topic
   is sent again with the next, smaller content. */
enum dead_letter_content {
    DEAD_LETTER_FULL,
    DEAD_LETTER_NO_VALUE,
    DEAD_LETTER_REASON_ONLY /* neither key nor headers, except those of the bridge */
};

/* The transactional clients: 0 to TXN_CLIENTS - 1, each with its transactional id. The first
   TXN_CLIENTS_WANTED are enough, unless brokers hold one of them. */
enum { TXN_CLIENTS = 4, TXN_CLIENTS_WANTED = 2 };

/* A record to produce. All pointers are valid until port.forward returns. The record and its bytes
   are valid until the parcel was reported. */
struct forward {
    enum forward_kind kind;
    struct parcel *parcel;
    struct queue_id from;
    int64_t offset; /* of the record in from. -1: a seal or cut, or an event that marks none */
    const struct record *record;
    /* Timestamp of the new record. FORWARD_LEVEL: the time of the turn, which chose the level.
       Otherwise the later of the turn and port.wall_ms. So it is never before the due time, nor
       before the request's timestamp while the clocks agree. */
    int64_t timestamp_wall_ms;
    int slot;                         /* FORWARD_LEVEL: the level, in the same lane */
    struct target_id *target;         /* FORWARD_TARGET */
    const struct envelope *env;       /* FORWARD_TARGET; FORWARD_DEAD of an envelope, else NULL */
    const struct refusal *refusal;    /* FORWARD_DEAD */
    enum dead_letter_content content; /* FORWARD_DEAD */
    /* FORWARD_TARGET, FORWARD_DEAD: the record has a batch to itself, because it may not fit. With
       exactly-once it is also the only record of its transaction, except for its events. */
    bool alone;
    int client; /* exactly-once: it sends the record, and its transaction is open */
};

/* The outcome of one forwarded record. */
enum report {
    REPORT_OK,        /* acknowledged by the broker */
    REPORT_TOO_LARGE, /* the topic can never store the record or the batch that it was in */
    REPORT_UNFIT,     /* the topic refuses a kind of record: this one, or another of its batch */
    REPORT_REFUSED,   /* the topic does not exist, or the bridge may not write to it */
    REPORT_TIMED_OUT, /* no answer in time: the record may be stored or not */
    REPORT_NOT_SENT   /* the client gave it up, and the record is not the reason: send it again */
};

/* The state of a topic or a partition, as far as brokers reported it. */
enum lookup {
    LOOKUP_FOUND,
    LOOKUP_UNWRITABLE, /* a partition has no leader, or too few replicas in sync for writes, or does
                          not exist although its topic does */
    LOOKUP_WHOLE,      /* each partition has a leader, and all or two replicas in sync */
    LOOKUP_MISSING,    /* the topic does not exist, or the bridge may not see it */
    LOOKUP_UNKNOWN,    /* no broker answered */
    LOOKUP_PENDING     /* no answer yet: call again in a moment */
};

/* Progress of one queue, to be committed: the first offset that is not done, and the done offsets
   above it as commit metadata (window.h). */
struct progress {
    struct queue_id queue;
    int64_t base;
    size_t text_len;
    char text[WINDOW_TEXT_MAX + 1];
    /* Slot 0, with cancels: some records of it that were read (same_log.h). They are committed with
       it, as metadata of its partition of the topic of cancels, whose known end is cancels_end. */
    size_t witnesses_len; /* 0: none */
    char witnesses[SAME_LOG_TEXT_MAX + 1];
    int64_t cancels_end;
};

/* A fact that operators need. The port logs it, and limits how often. The comment of a kind lists
   the members of struct notice that are set. */
enum notice_kind {
    NOTICE_GAP,             /* queue, count: missing offsets of a level, counted as done */
    NOTICE_OUT_OF_RANGE,    /* queue, count: offsets that were deleted before they were read */
    NOTICE_BEYOND_END,      /* queue, offset: blocked, its position is beyond the log's end */
    NOTICE_NEWER_ENVELOPE,  /* queue, offset: blocked at a record of a newer version */
    NOTICE_MISSING,         /* queue, count: waiting records that were lost with their topic */
    NOTICE_REPLACED,        /* queue, offset, reason: blocked, its topic was created again */
    NOTICE_STALL_RECOVERY,  /* queue, span_ms: silent for this long, so it is read again */
    NOTICE_CLOCK_BACK,      /* span_ms: the step; records in memory are read again */
    NOTICE_STALLED_TURN,    /* span_ms: since the last turn; the next commit must succeed first */
    NOTICE_TARGET_DOWN,     /* target, error, reason, span_ms: not tried for this long */
    NOTICE_TARGET_UP,       /* target */
    NOTICE_TARGET_SLOW,     /* target, span_ms: its acknowledgements take this long */
    NOTICE_TARGET_FAST,     /* target: it is no longer slow */
    NOTICE_ABORTED,         /* count, reason: the records of a transaction are read again */
    NOTICE_FORWARD_FAILED,  /* queue, offset, to_slot, reason: a hop or dead letter; sent again */
    NOTICE_DEAD_LETTERED,   /* queue, offset, key, target, code, reason */
    NOTICE_DELIVERY_FAILED, /* queue, offset, key, target, error, reason, attempt, next_try */
    NOTICE_UNREADABLE,      /* queue, offset, end_offset: blocked at an unreadable range */
    NOTICE_RANGE_SKIPPED,   /* queue, offset, end_offset: reads on after such a range */
    NOTICE_OUTLET_DOWN,     /* queue, to_slot, reason: records of this lane for that topic wait */
    NOTICE_OUTLET_UP,       /* queue, to_slot */
    NOTICE_THROTTLED,       /* span_ms: a broker reads no requests for this long */
    NOTICE_CANCELLED,       /* queue, offset, key, target: dropped, because a cancel voids it */
    NOTICE_CANCEL_NOT_OURS, /* queue, offset, reason: a record of the topic of cancels, ignored */
    NOTICE_CANCEL_NEWER,    /* queue, offset: the lane waits for a newer program */
    NOTICE_LANE_RESTORED,   /* queue, count, span_ms: cancels in force, when the lane opened */
    NOTICE_LOG_CUT, /* queue, offset, count: the schedule topic was cut there; cancels in force */
    NOTICE_LOG_REPLACED, /* queue, count: it was recreated, or is a copy; cancels in force */
    NOTICE_CANCELS_GREW, /* queue, count: entries that the table has room for, since a restore */
    NOTICE_CANCELS_NO_MEMORY, /* queue, count: the same; the lane never opens, end the process */
    NOTICE_CONTROL_UNKNOWN    /* span_ms: lanes have waited for pauses and limits, and open now */
};
enum { NOTICE_KINDS = NOTICE_CONTROL_UNKNOWN + 1 };

/* key, target and reason may have any bytes that a producer or a broker wrote. */
struct notice {
    enum notice_kind kind;
    struct queue_id queue; /* of a record: where its request is stored, if that is known */
    int64_t offset;        /* in queue */
    int64_t end_offset;    /* the first offset after the range that begins at offset */
    int64_t count;
    int64_t span_ms;
    int to_slot;         /* of the topic that was written to. 0 is the dead-letter topic */
    struct bytes key;    /* null: none */
    struct bytes target; /* null: none */
    enum code code;
    enum delivery_error error;
    const char *reason;       /* a phrase; NULL: none */
    int attempt;              /* of this record's deliveries, from 1 */
    int64_t next_try_wall_ms; /* the record is delivered again then */
};

/* The committed position of one queue, when its lane is assigned. */
struct start {
    int64_t offset;         /* WINDOW_UNSET: nothing was ever committed */
    struct bytes text;      /* the commit metadata; empty: none */
    struct bytes witnesses; /* slot 0 only: as in struct progress; empty: none */
    bool fresh;   /* the group had no offset, so windows of earlier assignments are void */
    bool missing; /* the topic does not exist; has the effect of bridge_topic_missing */
    /* Slot 0 only: the member kept its generation since it lost the lane, as after a failed
       transaction. So no other owner can have written cancels. */
    bool kept;
};

/* The part of a partition that its brokers keep. */
struct log_ends {
    int64_t start;
    int64_t end;        /* high watermark, records of open transactions included */
    int64_t stable_end; /* of the schedule topic: its last stable offset; others: unused */
};

/* The logs that port.load reads. */
enum load_log { LOAD_CANCELS, LOAD_REQUESTS };

/* Reads [from, end) of a log of one lane. */
struct load {
    enum load_log log;
    int lane;
    int64_t from, end;
};

/* The cause of a failure, as far as the client names it. */
enum blame {
    BLAME_NOBODY,  /* a consequence of another failure: the client gave the record up */
    BLAME_CLUSTER, /* the cluster, the group, or a record that timed out */
    BLAME_RECORDS  /* perhaps a record or its topic, so that another try would fail as well */
};

/* The calls of a transactional client that wait for brokers. One runs at a time. */
enum client_call {
    CALL_NONE,
    CALL_SEND_OFFSETS, /* of port.send_offsets */
    CALL_COMMIT,       /* of port.commit_transaction */
    CALL_DESTROY,      /* the first one of port.renew */
    CALL_INIT          /* the second one of port.renew, with the creation of the client */
};

/* Facts about the transactional clients. The comment of each lists the members of struct
   client_fact that are set besides client. */
enum client_event {
    CLIENT_ENDED,      /* call, ok, may_arrive, offsets_may_arrive; blame and why if not ok */
    CLIENT_FAILED,     /* blame, why: its transaction cannot be committed */
    CLIENT_PURGED,     /* blame, why: after port.purge, it has no record without a report */
    CLIENT_PRODUCED,   /* a broker has answered a record of the open transaction */
    CLIENT_REGISTERED, /* the coordinator has answered a request to add a partition to it */
    CLIENT_AWAY        /* client is unused: no broker can be reached now */
};

struct client_fact {
    enum client_event event;
    int client;
    enum client_call call;
    bool ok;
    /* A request of the transaction protocol failed on the wire since the client was created, so it
       may still arrive. offsets: one that may change committed offsets. */
    bool may_arrive, offsets_may_arrive;
    enum blame blame;
    const char *why; /* a phrase for people */
};

struct port {
    void *ctx; /* the first argument of every call */

    /* Reading. */

    /* Returns the next record of a queue, or NULL if there is none now. The port calls bridge_wake
       when there is one again. Headers are filled for slot 0 only. */
    struct record *(*take)(void *ctx, struct queue_id queue);
    /* Ends the step machine's use of a record. */
    void (*release)(void *ctx, struct record *record);
    /* Returns a new record with a copy of key and value_size bytes for the step machine to fill.
       NULL: out of memory now. */
    struct record *(*make)(void *ctx, struct bytes key, size_t value_size);
    /* Returns a copy of the record that shares no memory with its batch, and has its headers in
       every slot. Releases the original. NULL: out of memory now, and the original is unchanged. */
    struct record *(*keep)(void *ctx, struct record *record);
    /* Stops reading a queue. Frees the memory of records that were fetched and not taken. */
    void (*pause)(void *ctx, struct queue_id queue);
    /* Reads from offset on, and resumes a paused queue. Drops records that were fetched before. The
       next take may still return one of them. */
    void (*seek)(void *ctx, struct queue_id queue, int64_t offset);
    /* Returns the end of an owned queue's log (exclusive), from the last answer of a broker. -1: no
       answer yet. */
    int64_t (*end)(void *ctx, struct queue_id queue);
    /* Returns the offset at which reading reached the end of the log since the last seek. -1: it
       did not. */
    int64_t (*drained)(void *ctx, struct queue_id queue);
    /* Returns the approximate memory of records that were fetched, unpacked and not taken. Slot 0
       of a lane that loads: the most that its load needed. */
    int64_t (*unread)(void *ctx, struct queue_id queue);

    /* Writing. */

    /* Produces a record. Returns 0: bridge_reported follows, in this or a later call of reports.
       Returns ERR_FULL: the port did not accept the record. It accepts none after the client knows
       that the transaction cannot be committed, and CLIENT_FAILED follows in a later call of
       reports. */
    int (*forward)(void *ctx, const struct forward *forward);
    /* Calls bridge_reported for every report that has arrived. With exactly-once, it also calls
       bridge_client_fact. */
    void (*reports)(void *ctx);
    /* Looks a target up, and never creates the topic. The step machine has one look-up pending at a
       time. After LOOKUP_PENDING, the worker begins a turn when the answer has arrived. */
    enum lookup (*lookup)(void *ctx, struct target_id *target);
    /* Exactly-once: looks up the partition that hops of a lane (slot of a level) go to, or its dead
       letters (slot 0), cancels or events. Never called while a target's look-up is pending. */
    enum lookup (*lookup_outlet)(void *ctx, struct queue_id outlet);
    /* Frees the handle of a target that the step machine no longer uses. */
    void (*forget)(void *ctx, struct target_id *target);

    /* Committing. */

    /* At-least-once: commits progress of n queues. bridge_committed(seq, ok) follows, in this call
       or later. */
    void (*commit)(void *ctx, uint64_t seq, const struct progress *progress, size_t n);

    /* Transactions, exactly-once: the orders to a transactional client (sender.h). Facts follow in
       a later call of reports, unless the comment says otherwise. */

    /* Begins a transaction. Returns 0, or ERR_KAFKA after the fact CLIENT_FAILED. */
    int (*begin)(void *ctx, int client) must_check;
    /* Adds n entries of progress to its transaction, in the name of the assignment by which the
       lanes are owned. n may be 0. Records may be in flight. Returns 0, and CALL_SEND_OFFSETS
       follows, or ERR_KAFKA: the lanes are not assigned any more, or memory is lacking. */
    int (*send_offsets)(void *ctx, int client, const struct progress *progress,
                        size_t n) must_check;
    /* Commits records and progress together, or neither. CALL_COMMIT follows. If that failed, the
       commit may take effect nevertheless, even later. */
    void (*commit_transaction)(void *ctx, int client);
    /* Gives its records up. Their reports follow, and then CLIENT_PURGED. A call may run. */
    void (*purge)(void *ctx, int client);
    /* Destroys the client, if it exists, and creates and initializes one with the same id, which
       fences the old one. CALL_DESTROY and CALL_INIT follow. CALL_INIT ends when the transaction of
       the old one has ended, so that no offsets of it are pending. Facts of the old client are
       dropped. was_left: a call of it has ended after its transaction was given up. */
    void (*renew)(void *ctx, int client, bool was_left);
    /* Deletes the records of a level below base, which is committed. Success calls bridge_trimmed.
       Otherwise the step machine repeats the call a minute later. */
    void (*trim)(void *ctx, struct queue_id queue, int64_t base);

    /* Cancels. These calls are never made if bridge_config.cancel_memory is 0. A lane that is lost
       ends its load, and drops the answer to its question. */

    /* Queries the brokers for the ends of all logs of a lane. bridge_ends follows later, or never:
       then the step machine repeats the call. The answer to an earlier call is then dropped. The
       ends are high watermarks. A handle that reads committed records would answer with the last
       stable offset, and miss records of open transactions. */
    void (*query_ends)(void *ctx, int lane);
    /* Reads a part of a log. bridge_loaded follows for each committed record in it, in order, and
       then bridge_load_ended. The load ends when reading has reached load.end, with open
       transactions decided. Only the position ends it: never a time, an error, or a number of
       records. If the log ends below load.end, because it lost its newest records, the load ends
       early, with the offset that it has reached. If records were deleted, it continues at the
       start of the log. It skips the offsets of unreadable batches, and no others. While a lane
       loads, take is not called for it, and its queue of slot 0 is paused. */
    void (*load)(void *ctx, const struct load *load);
    /* Deletes the records of a lane's topic of cancels below this offset. Success calls
       bridge_cancels_trimmed. Otherwise the step machine repeats the call a minute later. */
    void (*trim_cancels)(void *ctx, int lane, int64_t below);

    /* Other. */

    void (*notice)(void *ctx, const struct notice *notice);
    /* Returns the wall clock at this moment. Called once for a delivery or a dead letter. */
    int64_t (*wall_ms)(void *ctx);
};

#endif
