/* SPDX-License-Identifier: Apache-2.0 */
/* transaction_state: the structures of transactions, as a part of state.h. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_TRANSACTION_STATE_H
#define DELAYBRIDGE_BRIDGE_CORE_TRANSACTION_STATE_H

#include "bridge/core/port.h"

struct parcel;
struct queue;
struct target;

enum {
    TXN_AGE_MS = 5,        /* open at least, so that records share it */
    TXN_AGE_MAX_MS = 100,  /* open at most, even if more records are due */
    TXN_SILENT_MS = 3000,  /* a longer silence is blamed on its targets */
    TXN_LISTEN_MS = 500,   /* after this silence, and then as often, a silent target is looked up */
    TXN_HOPS_MS = 100,     /* hops wait for each other, so that they need few transactions */
    TXN_HOPS_MAX_MS = 500, /* while they are few, they wait longer (transaction.c) */
    TXN_HOPS_FEW = 500,    /* as many are no longer few */
    /* Defaults of txn_records_max and txn_bytes_max (settings.h). */
    TXN_RECORDS_MAX = 60000,
    TXN_BYTES_MAX = 32 << 20,
    NOTES_MAX = 256,
    TXN_WHY_MAX = 256
};

/* Exactly-once: the states of a transaction (transaction.h). */
enum txn_state { TXN_OPEN, TXN_CLOSED, TXN_FAILED, TXN_BROKEN };

/* Its progress. WAITING: until a client is ready. */
enum offsets { OFFSETS_NONE, OFFSETS_WAITING, OFFSETS_SENT, OFFSETS_ACCEPTED };

/* The kinds of records that are ready. A transaction takes records of one kind. */
enum ready {
    READY_HOPS,       /* and dead letters */
    READY_DELIVERIES, /* and records of the topics of cancels and of events */
    READY_N
};

struct txn {
    enum txn_state state;
    enum ready takes;          /* decided by its first record */
    size_t n, bytes;           /* its records, and those of their events that are sent */
    size_t owed_n, owed_bytes; /* the events that are not sent yet */
    int64_t since_mono_ms;     /* first record */
    int64_t closed_mono_ms;    /* it was closed */
    struct parcel *single;     /* the only record that it may have; NULL: any number */
    bool close_requested;      /* a record waits to be alone in the next transaction */
    enum offsets offsets;      /* its progress, as if every record succeeded */
    size_t progress_n;         /* entries of it in commit.progress */
    bool answered;             /* a record was acknowledged */
    int64_t answered_mono_ms;  /* last such acknowledgement */
    int64_t listened_mono_ms;  /* a silent target was last looked up */
    bool timed_out;            /* a record timed out */
    bool reason_known;         /* the record or target at fault is known */
    bool event_failed;         /* an event failed, so neither is at fault */

    /* The failure. */
    enum blame blame;             /* FAILED: CLUSTER or RECORDS */
    char why[TXN_WHY_MAX];        /* the first phrase; empty: none */
    bool reread;                  /* BROKEN: until all lanes are lost */
    struct parcel *failed_parcel; /* single, if it failed */
    struct target *failed_target;
    enum report failed_report;
    struct queue_id unsent; /* source of a record that failed and was not single */
    int64_t unsent_offset;
    int unsent_to; /* as notice.to_slot */

    /* Kept when the next transaction begins. */
    enum ready took;    /* the kind of the last transaction */
    bool single_failed; /* a single record failed since the last commit */
    uint32_t *taken;    /* indexes of the parcels of the transaction. Those that were reported may
                           carry other records by now. */
};

/* Exactly-once: the transactional clients (sender.h). */
enum client_state {
    CLIENT_OFF,
    CLIENT_CLOSING,
    CLIENT_STARTING,
    CLIENT_READY,
    CLIENT_OPEN,
    CLIENT_COMMITTING,
    CLIENT_PURGING,
    CLIENT_LEFT
};

struct txn_client {
    enum client_state state;
    enum client_call call;      /* it runs; CALL_NONE: none does */
    int64_t since_mono_ms;      /* the start of the call */
    int64_t retry_mono_ms;      /* STARTING without a call: the next try */
    bool was_ready;             /* an init has succeeded */
    bool may_arrive;            /* offsets or a commit that it sent may still arrive */
    int64_t begun_mono_ms;      /* start of its transaction, or the first record's last try */
    bool produced;              /* since then, a broker has answered a record */
    int64_t registered_mono_ms; /* last answer of the coordinator since then; 0: none */
};

struct sender {
    struct txn_client clients[TXN_CLIENTS];
    int current;          /* of the transaction, or else of the next one */
    size_t sent_n;        /* entries of progress that the current transaction has sent */
    int64_t away_mono_ms; /* Kafka was last known to be away; 0: never */
};

/* Facts about a record (notes.h), as in struct parcel. */
enum note_flag { NOTE_ALONE = 1, NOTE_WITHOUT_LEVEL = 2, NOTE_TOO_LARGE = 4 };

struct note {
    const struct queue *queue; /* NULL: none */
    int64_t offset;
    unsigned flags;
};

struct notes {
    struct note all[NOTES_MAX];
    int n;    /* in use */
    int hand; /* index of the next one to overwrite */
};

#endif
