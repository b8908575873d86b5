/* SPDX-License-Identifier: Apache-2.0 */
/* state: the structures that the files of the step machine share. Nothing outside of bridge/core
   includes this.

     lane     partition p of all our input topics; owned or not
     queue    one input partition: window, at most one peeked head, open or paused
     parcel   one record in work: in the wheel, ready, parked behind its target, or in flight
     target   a topic that records are delivered to, and whether it is available
     outlet   a partition of our own topics that a lane's hops or dead letters go to

   A parcel's life: admitted from its queue -> WAITING until its release -> READY -> IN_FLIGHT ->
   done. Whatever fails puts it back to WAITING or READY; only an acknowledgement ends it. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_STATE_H
#define DELAYBRIDGE_BRIDGE_CORE_STATE_H

#include "bridge/core/port.h"
#include "bridge/core/settings.h"
#include "bridge/core/stats.h"
#include "levels/list.h"
#include "levels/wheel.h"

enum {
    COMMIT_EVERY_MS = 100,
    COMMIT_LOST_MS = 5000, /* a commit without an answer for so long has none */
    RECOMMIT_EVERY_MS = 3600 * 1000,
    TRIM_EVERY_MS = 60 * 1000,
    POLL_EVERY_MS = 1000,   /* open queues are polled without a signal */
    PAUSE_FAR_MS = 3000,    /* a head further away than this pauses its queue */
    RESUME_AHEAD_MS = 1000, /* a resumed partition waits for the fetch that is under way */
    SILENCE_MS = 5000,      /* a woken queue that gives nothing for so long is woken again */
    SILENCES = 3,           /* at the log's end, after which a record that was there is missing */
    CLOCK_BACK_MS = 1000,   /* a step back by more than this: held records are read again */
    AWAY_MS = 3000,         /* no acknowledgement at all for so long: Kafka is away, not a target */
    PROBE_EVERY_MS = 1000,  /* then a commit probes it */
    RESEND_MS = 500,
    DOWN_MS = 5000, /* a target that failed is tried again after this */
    STALLS_MAX = 4, /* each time it is left alone for twice as long */
    STALLS_FORGOTTEN_MS = DOWN_MS << STALLS_MAX,
    MISSING_MS = 2000,        /* the same for one that is not there */
    LOOK_UP_AGAIN_MS = 2000,  /* after a look-up without an answer */
    OUTLET_WAIT_MS = 20,      /* a record waits so long for the look-up of its own topic */
    OUTLET_SILENT_MS = 3000,  /* at least once: it acknowledged nothing, and others did */
    OUTLET_LEADERS_MS = 3000, /* after a stall brokers may still name a dead leader */
    PARK_MS = 1000,           /* behind an unavailable target, no longer than this */
    QUEUE_QUOTA = 128,        /* records of one queue in a turn */
    BULK_TURN_MS = 1000,      /* of a bulky queue, while others are in line */
    TARGETS_MAX = 1024,
    DEAD_LETTERS_MAX = 1024,
    TXN_AGE_MS = 5,       /* a transaction is open for so long, for company */
    TXN_AGE_MAX_MS = 100, /* and no longer than this, however much is due */
    TXN_SILENT_MS = 3000, /* so long, after others were answered, targets may hold it */
    TXN_HOPS_MS = 100,    /* hops wait for so long, so that few transactions are theirs */
    TXN_RECORDS_MAX = 60000,
    TXN_BYTES_MAX = 32 << 20,
    STALL_APART_MS = 10 * 1000, /* exactly once: between two stalls that stop all targets */
    LEADERS_MS = 20 * 1000,     /* after this brokers know which partitions a dead one has left */
    PROVEN_MS = 60 * 1000,      /* what a target found too large is not tried again before */
    NOTES_MAX = 256,
    PARCEL_OVERHEAD =
        512, /* what the client keeps for a record besides its bytes, and the parcel */
    /* What a header costs besides its bytes: 24 in our list, 72 in the client's while the message
       that it becomes is in flight. */
    HEADER_OVERHEAD = 96
};

enum parcel_state { PARCEL_FREE, PARCEL_WAITING, PARCEL_READY, PARCEL_PARKED, PARCEL_IN_FLIGHT };

struct dead_letter {
    struct link link; /* in the free list */
    struct refusal refusal;
    uint8_t label; /* of its target */
};

enum ownership {
    OWNED,   /* its lane is ours */
    REVOKED, /* its lane was lost, or is read again: success marks its offset done */
    FOREIGN  /* the lane's topics may be others by now: success marks nothing, unless the same
                 record is read there and adopts it */
};

struct parcel {
    struct parcel_note note; /* IN_FLIGHT: the port's; first, see bridge.h */
    struct wheel_node node;  /* WAITING */
    struct link link;        /* FREE, READY, PARKED, or IN_FLIGHT and not OWNED */
    struct queue *queue;
    struct record *record;
    struct dead_letter *dead_letter; /* for the dead-letter topic; NULL: not */
    struct target *target;           /* PARKED, or IN_FLIGHT to it */
    int64_t offset;                  /* in queue */
    uint32_t headers_n;              /* of the message that it becomes */
    int64_t end;                     /* 0, or it stands for all offsets below this */
    int64_t until_wall_ms;           /* the later of due and next try */
    int64_t overdue_wall_ms;         /* due since, and waits because of its target; 0: does not */
    int64_t delayed_ms;    /* IN_FLIGHT to its target: how long that target has delayed it */
    int64_t since_mono_ms; /* PARKED or IN_FLIGHT since */
    int64_t floor_offset;  /* IN_FLIGHT to a level: that log's end was here or later at the start */
    uint64_t checksum;     /* raw: record_checksum before the value was dropped */
    uint8_t state;
    uint8_t kind;       /* IN_FLIGHT: enum forward_kind */
    uint8_t content;    /* dead_letter: enum dead_letter_content */
    uint8_t to_slot;    /* IN_FLIGHT to a level: its slot */
    bool keyless;       /* IN_FLIGHT to a target: delivered without a key */
    bool raw;           /* record came from outside and is no envelope */
    uint8_t ownership;  /* enum ownership; only IN_FLIGHT may be other than OWNED */
    bool without_level; /* too large for its level */
    bool alone;         /* too large once, perhaps for its batch */
    bool too_large;     /* for its target, and was alone */
};

enum queue_state {
    QUEUE_OFF,    /* not our lane */
    QUEUE_OPEN,   /* being read */
    QUEUE_PAUSED, /* its head is far */
    QUEUE_BLOCKED /* stopped until an operator acts */
};

/* A record that was read and dropped: when it is read again, it must be the same. */
struct mark {
    int64_t offset;      /* -1: none */
    int64_t from_offset; /* no record is between here and offset */
    int64_t timestamp_wall_ms;
    uint64_t checksum;
};

struct queue {
    struct queue_id id;
    enum queue_state state;
    bool active;         /* the port may have a record at hand */
    bool seek_pending;   /* the next record may still be from before the seek */
    bool log_mismatch;   /* blocked: its log ends before the committed offset, or is another one */
    bool missing;        /* and gone: there is no such topic; hops to it wait */
    bool waits_for_room; /* the head waits for room, not for time (counted once) */
    bool in_line;        /* PAUSED: until the bulky queue before it is read */
    int64_t level_ms;    /* 0: the schedule queue */
    struct record *head; /* taken, not admitted */
    int head_fault;      /* 0 or why the head is no envelope */
    uint32_t head_headers_n;
    int64_t head_until_wall_ms;
    int64_t head_overdue_wall_ms; /* as of a parcel */
    struct bytes head_target;     /* in the head itself */
    int64_t head_release_wall_ms;
    int64_t admit_wall_ms;       /* head is admitted, or a paused head will be */
    int64_t release_max_wall_ms; /* latest release seen, for the disorder bound */
    int64_t paused_offset;       /* window.next then: the offset of the head that it waits for */
    int64_t gap_offset, gap_end_offset; /* a gap that was seen; -1: none */
    int gap_readings;                   /* that ended at gap_end_offset, in a row */
    int64_t bad_from, bad_end;          /* a range that cannot be read; bad_end 0: none */
    int bad_readings;                   /* that were equal, in a row */
    bool skip_requested;                /* blocked at it: it is to be passed */
    bool range_dead_lettered;           /* a dead letter names it */
    int64_t silent_since_mono_ms;       /* woken, and nothing came yet; 0: not waiting */
    int silences;                       /* in a row, since it was woken */
    struct mark mark;
    uint64_t changes;      /* of the window */
    uint64_t changes_sent; /* of these, in the last commit sent */
    uint64_t changes_kept; /* of these, in the last commit that succeeded */
    int64_t base_sent, base_kept, base_trimmed;
    size_t parcels;  /* in work for this lane */
    size_t retrying; /* records that wait here because of their target, as far as we wrote them */
    struct list revoked;
    struct window window;
};

struct lane {
    bool owned;
    size_t dead_letters;       /* of its parcels */
    int64_t dead_letter_bytes; /* what these parcels cost */
    int outlets_down;
};

struct outlet {
    bool doubted;             /* exactly once: looked up before a record goes to it */
    bool stalled;             /* exactly once: a record to it was not acknowledged in time */
    bool down;                /* it took no record at the last look-up, or for OUTLET_SILENT_MS */
    int64_t recheck_mono_ms;  /* not looked up before */
    int64_t answered_mono_ms; /* last report, or when in_flight left zero */
    size_t in_flight;         /* records to it */
    int64_t in_flight_bytes;  /* their cost */
};

enum target_state {
    TARGET_UNKNOWN, /* not looked up, or to be looked up again */
    TARGET_UP,
    TARGET_PROBING, /* after a failure: one record at a time */
    TARGET_DOWN     /* known bad until recheck */
};

struct target {
    struct target_id id;
    struct link link; /* in its bucket */
    enum target_state state;
    bool used;
    bool expected;       /* looked up before the first record was due */
    bool doubted;        /* exactly once: looked up and tried alone before others share its
                            transaction */
    bool failed;         /* since the last success */
    bool in_transaction; /* the open one has records to it */
    bool costs_attempt;  /* DOWN: a record that is not tried uses up an attempt */
    int64_t recheck_mono_ms;
    int64_t whole_mono_ms;    /* brokers last reported leaders of all partitions; 0: never */
    int stalls;               /* exactly once: how often it stopped all others lately */
    int64_t took_mono_ms;     /* last success */
    int64_t answered_mono_ms; /* last report, or when in_flight left zero */
    size_t in_flight, in_flight_bytes;
    size_t large_bytes;          /* a record of this cost was too large; 0: none was */
    size_t proven_bytes;         /* the same of one that was alone in its transaction */
    int64_t proven_mono_ms;      /* last shown; 0: never */
    bool keyless_in_transaction; /* the open one has a record without a key to it */
    bool keyless_suspect;        /* exactly once: a record without a key is tried alone */
    int64_t keyless_mono_ms;     /* it last refused a lone record without a key (0: never) */
    int64_t unfit_mono_ms;       /* the same of a record with a key */
    struct list parked;
    enum delivery_error error; /* of the last failure */
    uint8_t label;             /* its entry's, in stats.targets */
    char why[96];
};

/* transaction.c: exactly once. */
enum txn_state { TXN_OPEN, TXN_ENDING, TXN_COMMITTING, TXN_BROKEN };

enum ready { READY_HOPS, READY_DELIVERIES, READY_N };

struct txn {
    enum txn_state state;
    bool close_requested;         /* a record waits for the next one, to be alone in it */
    bool failed;                  /* a report of it said no */
    bool reason_known;            /* the failing record or target is known */
    bool answered;                /* a report of it said yes */
    bool timed_out;               /* a report of it said that no answer came in time */
    bool announced;               /* its progress was, as if all reports had said yes */
    enum ready takes;             /* decided with its first record */
    size_t n, bytes;              /* in it */
    int64_t since_mono_ms;        /* the first one */
    int64_t ending_mono_ms;       /* takes no more since */
    struct parcel *single;        /* alone in it */
    struct parcel *failed_parcel; /* the same, if its report said no */
    struct queue_id unsent;       /* where one is from that never left */
    int64_t unsent_offset;
    int unsent_to; /* and which slot's topic it was for, as in a notice */
    struct target *failed_target;
    enum report failed_report;

    /* Kept from one to the next: */
    enum ready took;    /* what the last one took */
    bool single_failed; /* since the last commit */
    uint32_t *taken;    /* exactly once: the parcels that it took, by index. Some were reported, and
                           have carried others since. */
};

enum note_flag { NOTE_ALONE = 1, NOTE_WITHOUT_LEVEL = 2, NOTE_TOO_LARGE = 4 };

struct note {
    const struct queue *queue; /* NULL: none */
    int64_t offset;
    unsigned flags;
};

struct notes {
    struct note all[NOTES_MAX];
    int n, hand;
};

/* Events since the last turn are judged by the next one. */
struct clock {
    struct now turn;      /* the last turn's */
    int64_t poll_mono_ms; /* open queues were last polled */
    bool turn_incomplete; /* this turn left work that needs no waiting */
};

/* Allocated once. */
struct pools {
    struct parcel *parcels;
    size_t parcels_n, parcels_high; /* high: those above were never used */
    struct list parcels_free;
    struct dead_letter *dead_letters;
    struct list dead_letters_free;
    int64_t buffered_bytes; /* that all parcels count */
};

struct target_table {
    struct target *all; /* TARGETS_MAX */
    struct list *buckets;
    size_t hand, parked;
    size_t asked_last;     /* whose look-up was the last one */
    struct target *asking; /* whose look-up is not answered yet; NULL: none */
    bool asked_for;        /* a record waits for the answer */
    bool in_transaction;   /* some are */
};

struct outlets {
    struct outlet *all;    /* by lane and slot; slot 0: the lane's dead-letter partition */
    struct outlet *asking; /* whose look-up is not answered yet; NULL: none */
    int down;
    int64_t watch_mono_ms;                /* silence was last looked for */
    size_t large_bytes[FORWARD_DEAD + 1]; /* a record of this cost was too large for our topics of
                                             this kind (0: none) */
};

/* Instants of the monotonic clock. */
struct cluster {
    int64_t acked_mono_ms; /* last acknowledgement of anything */
    int64_t back_mono_ms;  /* Kafka had answered nothing for long, and did again */
    int64_t muted_mono_ms; /* a broker that throttles reads nothing until then */
    int64_t stall_mono_ms; /* a target last held all others */
};

/* Instants of the monotonic clock. */
struct commit {
    struct progress *progress;
    uint64_t seq;
    uint64_t proof_seq;       /* exactly once: the first commit that proves anything */
    bool is_out;              /* a commit waits for its answer */
    bool proving;             /* nothing is forwarded until a commit has succeeded */
    int64_t asked_mono_ms;    /* the commit that is out, or the last one */
    int64_t answered_mono_ms; /* of a commit answered since the last turn; 0: none */
    int64_t last_mono_ms, recommit_mono_ms, probe_mono_ms, trim_mono_ms; /* last time */
};

/* Of the queues that keep much in memory that is not admitted, one is read at a time. */
struct bulk {
    struct queue *queue;   /* the one that is read; NULL: none is */
    int index;             /* of it, or of the last one */
    int in_line;           /* queues */
    int serve_first;       /* the lane that the next turn begins with */
    bool read;             /* some of the queue was admitted, or seen to be there */
    int64_t begin_offset;  /* its window's next when its turn began */
    int64_t since_mono_ms; /* since then */
};

/* now is set by bridge_turn, bridge_settle, bridge_commit, bridge_survey and bridge_lane_gained.
   All other calls of the worker happen at the time of the last of these. */
struct bridge {
    struct bridge_config config;
    struct port port;
    struct stats *stats;
    struct now now;
    int64_t span; /* offsets of a queue in work: their done bits fit a commit's text */
    int queues_per_lane;
    struct lane *lanes;
    struct queue *queues;
    struct wheel wheel;
    struct list ready[READY_N];
    int64_t hops_since_mono_ms; /* since when hops are ready */
    size_t in_flight, revoked;

    struct clock clock;
    struct pools pools;
    struct target_table targets;
    struct outlets outlets;
    struct cluster cluster;
    struct commit commit;
    struct txn txn;
    struct notes notes;
    struct bulk bulk;
};

static inline bool queue_is_schedule(const struct queue *q)
{
    return q->id.slot == SLOT_SCHEDULE;
}

static inline struct queue *bridge_queue(const struct bridge *b, int lane, int slot)
{
    return &b->queues[lane * b->queues_per_lane + slot];
}

static inline void bridge_notice(struct bridge *b, struct notice notice)
{
    b->port.notice(b->port.ctx, &notice);
}

#endif
