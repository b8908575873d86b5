/* SPDX-License-Identifier: Apache-2.0 */
/* state: the structures that the files of the step machine share. Only files of bridge/core include
   this header.

     lane     partition p of all input topics of the bridge; owned or not
     queue    one input partition: its window, its state, and at most one record that waits (head)
     parcel   one record in work
     target   a topic that records are delivered to, and whether it is available
     outlet   a partition that a lane's hops or dead letters go to, and whether it is available

   The life of a parcel:

     admitted -> WAITING in the wheel -> READY -> IN_FLIGHT -> acknowledged: done, FREE
                     ^                    |  ^        |
                     |                    v  |        |
                     |                  PARKED        | failed
                     +--------------------------------+

   A parcel is PARKED while its target cannot take one more record. A delivery that failed waits
   again: for a hop into a level, or to be sent once more. Only an acknowledgement makes a record
   done. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_STATE_H
#define DELAYBRIDGE_BRIDGE_CORE_STATE_H

#include "bridge/core/cancel_state.h"
#include "bridge/core/event_state.h"
#include "bridge/core/limit_table.h"
#include "bridge/core/port.h"
#include "bridge/core/settings.h"
#include "bridge/core/stats.h"
#include "bridge/core/target_state.h"
#include "bridge/core/transaction_state.h"
#include "levels/control.h"
#include "levels/force_marks.h"
#include "levels/lag.h"
#include "levels/list.h"
#include "levels/wheel.h"

enum {
    /* Commits. */
    COMMIT_EVERY_MS = 100,
    COMMIT_SOON_MS = 60,         /* at-least-once, while the coordinator answers fast */
    COMMIT_SHARE = 10,           /* then answers take at most a tenth of the time */
    COMMIT_LOST_MS = 5000,       /* a commit without an answer counts as lost */
    RECOMMIT_EVERY_MS = 3600000, /* unchanged progress */
    TRIM_EVERY_MS = 60000,       /* committed records of levels are deleted */

    /* Reading. */
    POLL_EVERY_MS = 1000,   /* open queues are polled without a wakeup */
    PAUSE_FAR_MS = 3000,    /* a head further away than this pauses its queue */
    RESUME_AHEAD_MS = 1000, /* a resumed partition first waits for a fetch that has begun */
    SILENCE_MS = 5000,      /* a resumed queue without a record is read again */
    SILENCES = 3,           /* this many silences at the log's end prove that a record is missing */
    QUEUE_QUOTA = 128,      /* records of one queue in a turn */
    BULK_TURN_MS = 1000,    /* longest turn of a bulky queue while others are in line */
    CLOCK_BACK_MS = 1000,   /* a larger step back: records in memory are read again */
    CONTROL_WAIT_MS = 30000, /* lanes open without the paused and limited targets after this */

    /* The cluster. */
    AWAY_MS = 3000, /* without any acknowledgement, Kafka is away, and no target is to blame */
    PROBE_EVERY_MS = 1000, /* then a commit probes Kafka */
    HEARD_GAP_MS = 1700,   /* two look-ups may fail that a hung broker got */
    HEARD_FOR_MS = 2500,   /* after an outage, records have this time to be acknowledged */
    LEADERS_MS = 20000,    /* brokers know by then which partitions lost their leader */
    RESEND_MS = 500,       /* a record that cannot be sent is tried again after this */

    /* Outlets. */
    OUTLET_WAIT_MS = 20,      /* a record waits for the pending look-up of its outlet */
    OUTLET_SILENT_MS = 3000,  /* at-least-once: no acknowledgement, while others are acknowledged */
    OUTLET_LEADERS_MS = 3000, /* after a stall brokers may still name a dead leader */
    DEAD_LETTERS_MAX = 1024,

    /* Memory, in bytes. */
    /* Of a record in flight, in the client: its message (192), and the headers that the bridge adds
       to a delivery (336). */
    IN_FLIGHT_OVERHEAD = 528,
    PARCEL_OVERHEAD = 896, /* the parcel, and IN_FLIGHT_OVERHEAD */
    HEADER_OVERHEAD = 96   /* of a header: 24 in a record, 72 in the client while in flight */
};

enum parcel_state { PARCEL_FREE, PARCEL_WAITING, PARCEL_READY, PARCEL_PARKED, PARCEL_IN_FLIGHT };

struct dead_letter {
    struct link link; /* in pools.dead_letters_free */
    struct refusal refusal;
    uint8_t label; /* index of its target in stats.targets */
};

enum ownership {
    OWNED,   /* its lane is ours */
    REVOKED, /* its lane was lost or is read again: success still marks its offset as done */
    FOREIGN  /* its topic may be another one now: success marks nothing, unless the same record is
                read again and adopts the parcel */
};

struct parcel {
    struct parcel_note note; /* IN_FLIGHT: the port's; must come first (port.h) */
    struct wheel_node node;  /* WAITING */
    struct link link;        /* FREE, READY, PARKED, IN_FLIGHT and not OWNED, or kept */
    struct queue *queue;
    struct record *record; /* owned */
    /* The record that is sent instead of `record`, owned: the entry of ENTRY_REPLACE, or the event
       of a settled parcel. Else NULL. */
    struct record *entry;
    struct dead_letter *dead_letter; /* NULL: not for the dead-letter topic */
    struct target *target;           /* PARKED, or IN_FLIGHT to it */
    int64_t offset;                  /* in queue */
    int64_t end;                     /* end of its range of offsets; 0: it is one record */
    uint32_t headers_n;              /* of the message that it becomes */
    uint32_t unacked_bytes;          /* its part of those of the outlet in kind and to_slot */
    int64_t until_wall_ms;           /* the later of due time and next try */
    int64_t overdue_wall_ms;         /* late because of its target since then; 0: it is not */
    int64_t delayed_ms;              /* IN_FLIGHT to its target: the target's part of the delay */
    int64_t since_mono_ms;           /* start of PARKED or IN_FLIGHT */
    int64_t floor_offset; /* IN_FLIGHT to a level: when it was sent, its log ended here or later */
    uint64_t checksum;    /* raw: record_checksum of the record with its value */
    int64_t origin_place; /* hashed: of its request in the schedule topic (eras.h) */
    struct cancel_print print; /* hashed, and not nameless: of its name */
    bool hashed;               /* its name was looked for (cancel.h) */
    bool nameless;             /* hashed: it has none in this lane */
    uint8_t entry_kind;        /* enum entry_kind */
    uint8_t event;             /* enum event_type: the one that it sends */
    bool settled;              /* its record needs no successor any more, only events */
    bool tells_first;          /* sends an event before its record (event.h) */
    struct event_facts facts;
    uint8_t state;      /* enum parcel_state */
    uint8_t kind;       /* IN_FLIGHT: enum forward_kind */
    uint8_t content;    /* dead_letter: enum dead_letter_content */
    int16_t to_slot;    /* IN_FLIGHT to a level: its slot */
    uint8_t ownership;  /* enum ownership; only IN_FLIGHT may be other than OWNED */
    bool keyless;       /* IN_FLIGHT to a target: delivered without a key */
    bool withheld;      /* it last waited because its target was paused or limited */
    bool raw;           /* the record came from a producer and is no envelope */
    bool without_level; /* too large for its level */
    bool alone;         /* gets a batch to itself: it, or its batch, was too large */
    bool too_large;     /* for its target: it was alone in its batch */
    bool kept;          /* WAITING: in queue.kept (hold.h) */
    bool to_level;      /* never kept (hold.h) */
};

_Static_assert(sizeof(struct parcel) + IN_FLIGHT_OVERHEAD <= PARCEL_OVERHEAD,
               "the budget counts the whole parcel");

enum queue_state {
    QUEUE_OFF,    /* its lane is not ours */
    QUEUE_OPEN,   /* being read */
    QUEUE_PAUSED, /* its next record is not near, or it waits in line (bulk.h) */
    QUEUE_BLOCKED /* until an operator acts */
};

/* A record that was read and dropped. The same record must come when it is read again. */
struct mark {
    int64_t offset;      /* -1: none */
    int64_t from_offset; /* no record lies between here and offset */
    int64_t timestamp_wall_ms;
    uint64_t checksum;
};

struct queue {
    struct queue_id id;
    enum queue_state state;
    int64_t level_ms;    /* length of its level; 0: the schedule queue */
    struct list revoked; /* parcels in flight that are not OWNED */
    struct list kept;    /* parcels that are kept (hold.h), in the order of keeping */
    size_t parcels;      /* in work, OWNED */
    size_t redelivering; /* records here that wait because of their target, as far as known */
    size_t withheld;     /* the same of those whose target is paused or limited */

    /* The head: the record that was taken and not admitted. */
    struct record *head; /* NULL: none */
    int head_fault;      /* 0, or the error of envelope_open */
    uint32_t head_headers_n;
    struct bytes head_target;   /* in the head's own memory */
    int64_t head_until_wall_ms; /* like until_wall_ms of a parcel */
    int64_t head_overdue_wall_ms;
    bool head_withheld;
    int64_t head_release_wall_ms; /* it leaves its level then; BLOCKED: the block began */
    int64_t admit_wall_ms;        /* it is admitted then, or read again if it was dropped */
    int64_t release_max_wall_ms;  /* latest release that was seen, for the order of the level */
    int64_t paused_offset;        /* window.next at the last pause */

    /* Reading. */
    bool active;                  /* the port may have a record */
    bool seek_pending;            /* the next record may be from before the last seek */
    bool waits_for_room;          /* the head waits for memory or a window, not for its time */
    bool in_line;                 /* PAUSED: until its lane opens, and by turns (bulk.h) */
    int64_t silent_since_mono_ms; /* resumed then, and no record came yet; 0: not silent */
    int silences;                 /* in a row */
    struct mark mark;
    int64_t gap_offset;     /* start of a gap that is read again; -1: none */
    int64_t gap_end_offset; /* the record after it */
    int gap_readings;       /* successive readings that ended at gap_end_offset */

    /* Blocked. */
    bool log_mismatch;        /* the log ends before the committed offset, or is another log */
    bool missing;             /* the topic does not exist (implies log_mismatch); hops to it wait */
    int64_t bad_from;         /* first offset of an unreadable range */
    int64_t bad_end;          /* first offset after it; 0: none */
    int bad_readings;         /* successive readings that gave this range */
    bool skip_requested;      /* the range is to be skipped */
    bool range_dead_lettered; /* an operator's dead letter names the range */

    int64_t rate_s;      /* offsets that are read in a second */
    int64_t rate_offset; /* window.next when it was measured */
    int64_t read_end;    /* records below this offset were read before, by this or another owner */

    /* Commits: version numbers of the window, and its base in two of them. */
    uint64_t changes;      /* now */
    uint64_t changes_sent; /* in the last commit that was sent */
    uint64_t changes_kept; /* in the last commit that succeeded */
    bool was_passed;       /* the start of its log may have passed records in work */
    int64_t base_sent, base_kept;
    int64_t base_trimmed; /* the log was deleted below this */

    struct window window; /* last: it is large */
};

struct lane {
    bool owned;
    bool was_owned;           /* when all lanes were last assigned */
    struct force_marks force; /* since when its cancels are in force */
    struct lag lag;           /* of its schedule queue */
    int64_t surveyed_offset;  /* window.next of its schedule queue at the last survey */
    struct lane_cancels cancels;
    size_t dead_letters;       /* its parcels for the dead-letter topic */
    int64_t dead_letter_bytes; /* their memory */
    int outlets_down;
};

struct outlet {
    bool doubted;            /* exactly-once: looked up before a record goes to it */
    bool stalled;            /* exactly-once: a record to it was not acknowledged in time */
    bool down;               /* unwritable at the last look-up, or silent for OUTLET_SILENT_MS */
    int64_t recheck_mono_ms; /* earliest next look-up */
    int64_t acked_mono_ms;   /* last acknowledgement, or the start of the records without one */
    int64_t unacked_bytes;   /* memory of the records that were sent and not acknowledged yet */
};

struct clock {
    struct now turn;      /* of the last turn, to detect stalls and clock steps */
    int64_t poll_mono_ms; /* open queues were last polled */
    bool turn_incomplete; /* this turn left work that can be done at once */
};

/* Allocated once. */
struct pools {
    struct parcel *parcels;
    size_t parcels_n;
    size_t parcels_high; /* parcels from here on were never used */
    struct list parcels_free;
    struct dead_letter *dead_letters;
    struct list dead_letters_free;
    int64_t buffered_bytes; /* memory of all parcels in use */
};

struct outlets {
    /* By lane and slot. Slot 0 is the lane's dead-letter partition. The two after the last slot are
       its partitions of the topics of cancels and of events. */
    struct outlet *all;
    struct outlet *looking_up;         /* its look-up is pending; NULL: none is */
    int down;                          /* number of outlets that are down */
    int64_t watch_mono_ms;             /* silence was last checked */
    size_t large_bytes[FORWARD_KINDS]; /* by forward_kind; as in struct target */
};

struct cluster {
    int64_t acked_mono_ms;       /* last acknowledgement of any record or commit */
    int64_t back_mono_ms;        /* Kafka last answered after it was away */
    int64_t muted_mono_ms;       /* until then a broker reads no requests, because of a quota */
    int64_t stall_mono_ms;       /* a target or an outlet last stopped all others */
    int64_t heard_mono_ms;       /* last answer to a look-up of a target */
    int64_t heard_since_mono_ms; /* first of the answers without a longer gap than HEARD_GAP_MS */
};

struct commit {
    struct progress *progress; /* of the next commit; one entry for each queue */
    uint64_t seq;              /* number of the last commit */
    uint64_t answered_seq;     /* number of the last commit that succeeded */
    uint64_t proof_seq;        /* exactly-once: the first commit that proves ownership */
    bool is_out;               /* the last commit has no answer yet */
    bool proving;              /* a commit must succeed before anything is forwarded */
    int64_t started_mono_ms;   /* of the last commit */
    int64_t proof_mono_ms;     /* its progress was sent. INT64_MIN: it has none */
    int64_t answer_ms;         /* time until the last success was reported */
    int64_t timed_mono_ms;     /* start of the commit answered since the last turn; 0: none */
    int64_t last_mono_ms;      /* progress was last collected */
    int64_t recommit_mono_ms;  /* unchanged progress was last committed again */
    int64_t probe_mono_ms;     /* Kafka was last probed */
    int64_t trim_mono_ms;      /* levels were last trimmed */
};

/* Queues with many bytes in memory that are not admitted (bulk.h). */
struct bulk {
    struct queue *queue;   /* the bulky queue that is read; NULL: none */
    int index;             /* of this queue, or of the last one */
    int in_line;           /* number of bulky queues that wait */
    int serve_first;       /* the lane that the next turn begins with */
    bool read;             /* a record of the queue was admitted, or is known to have arrived */
    bool load_is_bulky;    /* a load of requests is bulky, so no bulky queue is read */
    int64_t begin_offset;  /* the queue's window.next when its turn began */
    int64_t since_mono_ms; /* its turn began */
};

struct hold {
    int64_t bytes;         /* memory of the kept parcels */
    int64_t undone_span;   /* offsets from the base to the next one, of all queues */
    int64_t slice_mono_ms; /* rates and span were last measured */
    bool is_stale;         /* queues were opened or are read again since then */
};

/* The targets that operators pause or limit (withhold.h). */
struct control_state {
    struct controls all;
    bool is_known;         /* the entries were read once, or the wait for them is over */
    int64_t since_mono_ms; /* start of this wait; 0: no lane waits yet */
    bool lanes_changed;    /* since lanes were last assigned */
    struct limit_table limits;
    struct {
        uint64_t version;     /* of `all`; 0: never */
        int64_t at_wall_ms;   /* valid from here, */
        int64_t ends_wall_ms; /* and until an entry ends */
    } surveyed;               /* the matches between `all` and the entries of `targets` */
};

/* now is set by bridge_turn, bridge_settle, bridge_commit, bridge_survey and bridge_lane_assigned.
   All other functions use the time of the last of these. */
struct bridge {
    struct bridge_config config;
    struct port port;
    struct stats *stats;
    struct now now;
    int queues_per_lane;
    int64_t span;         /* offsets of a window whose done bits fit the text of a commit */
    struct lane *lanes;   /* config.lanes */
    struct queue *queues; /* by queue_id.index */
    struct wheel wheel;   /* WAITING parcels */
    struct list ready[READY_N];
    struct link *front_end;     /* the last dead letter among the hops. NULL: none */
    int64_t hops_since_mono_ms; /* the first of the hops became ready */
    size_t hops_since_n;        /* as many became ready since then */
    size_t in_flight;           /* parcels */
    size_t revoked;             /* parcels in flight that are not OWNED */

    struct clock clock;
    struct pools pools;
    struct target_table targets;
    struct outlets outlets;
    struct cluster cluster;
    struct commit commit;
    struct txn txn;
    struct sender sender;
    struct notes notes;
    struct bulk bulk;
    struct hold hold;
    struct cancel_state cancels;
    struct event_state events;
    struct control_state control;
};

static inline bool queue_is_schedule(const struct queue *q)
{
    return q->id.slot == SLOT_SCHEDULE;
}

static inline struct queue *bridge_queue(const struct bridge *b, int lane, int slot)
{
    return &b->queues[lane * b->queues_per_lane + slot];
}

/* One for each slot, and one each for the topics of cancels and of events. */
static inline int outlets_per_lane(const struct bridge *b)
{
    return b->queues_per_lane + 2;
}

static inline struct outlet *bridge_outlet(const struct bridge *b, int lane, enum forward_kind kind,
                                           int slot)
{
    int index = kind == FORWARD_DEAD     ? SLOT_SCHEDULE
                : kind == FORWARD_CANCEL ? b->queues_per_lane
                : kind == FORWARD_EVENT  ? b->queues_per_lane + 1
                                         : slot;
    return &b->outlets.all[lane * outlets_per_lane(b) + index];
}

static inline void bridge_notice(struct bridge *b, struct notice notice)
{
    b->port.notice(b->port.ctx, &notice);
}

#endif
