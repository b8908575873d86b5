/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a producer, and the outcomes of its records in flight. */
#include "tests/sim/producer.h"
#include "tests/sim/oracle.h"

enum { SOON_MS = 500 };

struct producer *producer_new(struct process *p)
{
    struct producer *producer = arena_take(&p->world->arena, sizeof *producer);
    *producer = (struct producer){.process = p, .life = p->life};
    for (int i = 0; i < CHAINS_N; i++)
        producer->chains[i].end = &producer->chains[i].head;
    return producer;
}

void producer_arm(struct producer *producer, int i)
{
    struct world *w = producer->process->world;
    struct chain *chain = &producer->chains[i];
    if (chain->armed || chain->head == NULL)
        return;
    int64_t at_ms = chain->head->lands_at;
    chain->armed = true;
    world_at(w, at_ms > chain->landed_at ? at_ms : chain->landed_at, NULL, flight_land, producer,
             i);
}

void flight_give_up(struct flight *f)
{
    f->vanishes = true;
    f->report = REPORT_NOT_SENT;
    f->lands_at = f->sent_ms;
}

void producer_tear(struct flight *cause)
{
    struct world *w = cause->process->world;
    struct producer *producer = cause->producer;
    bool nobodys = cause->report == REPORT_TIMED_OUT || cause->report == REPORT_NOT_SENT;
    if (producer->torn)
        return;
    trace(w, cause->process, "cannot commit its transaction any more");
    producer->torn = producer->failed = true;
    producer->blame = nobodys && !cause->unnamed ? BLAME_CLUSTER : BLAME_RECORDS;
    if (cause->unnamed)
        oracle_target_failed(w, cause->request->target);
    for (int i = 0; i < CHAINS_N; i++) {
        for (struct flight *f = producer->chains[i].head; f != NULL; f = f->next) {
            if (cause->unnamed || f->lands_at > w->now_ms + SOON_MS || rng_chance(&w->rng, 7000))
                flight_give_up(f);
        }
        producer->chains[i].armed = false;
        producer_arm(producer, i);
    }
}

void producer_kick(struct producer *producer)
{
    for (int i = 0; i < CHAINS_N; i++)
        producer_arm(producer, i);
}

static void drop_all(struct producer *producer)
{
    for (int i = 0; i < CHAINS_N; i++) {
        for (struct flight *f = producer->chains[i].head; f != NULL; f = f->next)
            flight_give_up(f);
        producer->chains[i].armed = false;
        producer_arm(producer, i);
    }
}

void producer_break(struct producer *producer)
{
    if (producer->torn || producer->given_up)
        return;
    producer->torn = true;
    producer->blame = BLAME_CLUSTER;
    drop_all(producer);
}

void producer_give_up(struct producer *producer)
{
    producer->given_up = true;
    drop_all(producer);
    for (struct attempt *a = producer->attempts; a != NULL; a = a->before)
        a->state = ATTEMPT_LOST;
}

void producer_died(struct producer *producer)
{
    struct world *w = producer->process->world;
    producer->died = true;
    for (int i = 0; i < CHAINS_N; i++) {
        bool vanish = false;
        for (struct flight *f = producer->chains[i].head; f != NULL; f = f->next) {
            vanish = vanish || rng_chance(&w->rng, 3000);
            f->vanishes = vanish;
            f->attempt->state = ATTEMPT_LOST;
        }
        producer_arm(producer, i);
    }
}
