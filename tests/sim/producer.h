/* SPDX-License-Identifier: Apache-2.0 */
/* producer: one Kafka producer of one process. Exactly once, it has a transaction and an end. Its
   own process gives it up and makes another, or the coordinator fences it. */
#ifndef DELAYBRIDGE_TESTS_SIM_PRODUCER_H
#define DELAYBRIDGE_TESTS_SIM_PRODUCER_H

#include "tests/sim/world.h"

struct attempt;
struct transaction; /* coordinator.h */

/* A record on its way. */
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
    const struct ladder *ladder; /* of the writer */
    int topic, lane, chain;
    int64_t landed_offset; /* on a level */
    enum report report;
    bool stored; /* with REPORT_TIMED_OUT: the broker has it nevertheless */
    bool vanishes;
    bool unnamed; /* it breaks its transaction, and the client does not say that it did */
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

    bool takes_part[CHAINS_N];       /* its transaction has, or had, a record there */
    bool fenced;                     /* the coordinator accepts no more requests of it */
    bool given_up;                   /* its process has done with it */
    bool solo;                       /* its transaction has one record, and takes no other */
    bool failed;                     /* a forward of it has */
    bool asked;                      /* to commit, and not known to have done so */
    bool torn;                       /* its client knows that the transaction cannot be committed */
    bool told_torn;                  /* and the bridge knows, or soon will */
    enum abort_cause cause;          /* of what tore it */
    size_t unreported;               /* forwards that were not reported to the bridge */
    struct transaction *transaction; /* the last one; NULL: none yet */
    struct attempt *attempts;        /* forwards since the last commit that succeeded */
};

struct producer *producer_new(struct process *process);
void producer_died(struct producer *producer);
void producer_kick(struct producer *producer); /* after hold_landings */

void producer_arm(struct producer *producer, int i); /* its head is stored in time */

/* Part of the transaction has failed: the client may drop any of its records under way. */
void producer_tear(struct flight *cause);

/* The same, of no record's making: the client has found out that it was fenced. */
void producer_break(struct producer *producer);

/* Sends no more records. Those that were not stored are reported as not sent. */
void producer_give_up(struct producer *producer);

/* It is not sent, or no answer comes any more. */
void flight_give_up(struct flight *flight);
void flight_land(struct world *world, struct process *nobody, void *arg, int64_t chain);

#endif
