/* SPDX-License-Identifier: Apache-2.0 */
/* producer: one Kafka producer of one process. With exactly-once, it has a transaction. It ends
   when its process replaces it, or when the coordinator fences it. */
#ifndef DELAYBRIDGE_TESTS_SIM_PRODUCER_H
#define DELAYBRIDGE_TESTS_SIM_PRODUCER_H

#include "tests/sim/world.h"

struct attempt;
struct commit_line; /* commits.c */
struct transaction; /* coordinator.h */

/* A record in flight. */
struct flight {
    struct flight *next;
    struct process *process;
    struct producer *producer;
    struct parcel *parcel;
    struct attempt *attempt;
    struct request *request;
    struct entry *input;
    struct entry made;       /* a copy of the record to store */
    struct bytes lent_value; /* the same bytes, as the bridge lent them */
    struct queue_id from;
    enum forward_kind kind;
    bool raw;                    /* it was forwarded as it was read */
    bool expired;                /* a dead letter with this code */
    struct told *told;           /* of an event */
    const struct ladder *ladder; /* the ladder of the writer */
    int topic, lane, chain;
    int64_t landed_offset; /* its offset on a level */
    enum report report;
    bool stored; /* with REPORT_TIMED_OUT: whether the broker has it */
    bool vanishes;
    bool unnamed; /* it breaks its transaction, but the client does not name it */
    int64_t sent_ms, lands_at;
};

struct chain {
    struct flight *head, **end;
    bool armed;
    int64_t landed_at, reported_at;
};

/* Outlives its process: its records may still be stored. */
struct producer {
    struct process *process;
    int life;
    bool died;
    struct chain chains[CHAINS_N];

    bool takes_part[CHAINS_N]; /* whether its transaction has, or had, a record there */
    bool fenced;               /* the coordinator refuses its requests */
    bool given_up;             /* its process has replaced it */
    int64_t cut_until_ms;      /* stories: until then no hop or entry of it reaches a broker */
    bool solo;                 /* its transaction has one record and accepts no other */
    bool failed;               /* a record of its transaction has failed */
    bool torn;                 /* its client knows that the transaction cannot be committed */
    enum blame blame;          /* why it cannot be committed, as its client says at the end */
    bool ready;                /* exactly-once: it was initialized */
    bool produced;             /* a record of its transaction was stored */
    struct commit_line *line;  /* exactly-once: its connection to the coordinator */
    size_t unreported;         /* records without a report to the bridge */
    struct transaction *transaction; /* the last transaction; NULL: none yet */
    struct attempt *attempts;        /* forwards since the last commit that succeeded */
};

struct producer *producer_new(struct process *process);
/* Lets a part of the records in flight to each partition still arrive. */
void producer_died(struct producer *producer);
void producer_kick(struct producer *producer); /* continues after hold_landings */

void producer_arm(struct producer *producer, int i); /* schedules the storing of the first record */

/* Marks the transaction as failed because of one record. The client may drop any of its records in
   flight. */
void producer_tear(struct flight *cause);

/* Marks the transaction as failed because the client has learned that it is fenced. */
void producer_break(struct producer *producer);

/* Sends no more records. Those that were not stored are reported as not sent. */
void producer_give_up(struct producer *producer);

/* Reports a record that was not sent, or that gets no answer. */
void flight_give_up(struct flight *flight);
void flight_land(struct world *world, struct process *nobody, void *arg, int64_t chain);

#endif
