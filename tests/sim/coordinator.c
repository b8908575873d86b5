/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a transaction, from its first record to its last marker. */
#include "tests/sim/coordinator.h"
#include "tests/sim/facts.h"
#include "tests/sim/oracle.h"
#include "tests/sim/voids.h"

enum { TIMEOUT_MS = 10000, SWEEP_MS = 5000, OFFSETS = -1 };
enum ending { OPEN, COMMITTED, ABORTED };

struct transaction {
    struct producer *producer;
    enum ending state;
    int unmarked; /* logs and offsets without a marker of its end */
    struct written *written, **written_end;
    const struct offset_item *offsets;
    size_t offsets_n;
    bool is_on[TOPICS_MAX][LANES_MAX];
};

/* A seal and an event have no input, and the entry of a replace only precedes its request. */
static bool completes(const struct written *it)
{
    return it->kind != FORWARD_EVENT &&
           (it->kind != FORWARD_CANCEL ||
            (it->request != NULL && it->request->op == REQUEST_CANCEL));
}

void written_counts(struct world *w, const struct written *it)
{
    struct entry *input = it->input;
    if (it->told != NULL)
        facts_stored(w, it->told);
    else
        facts_outcome(it);
    if (!completes(it))
        return;
    if (w->setup.exactly_once && input->done)
        world_fail(w, "topic %d lane %d offset %lld was forwarded twice, and both are committed",
                   it->from_topic, it->lane, (long long)input->offset);
    w->broker.undone_n -= !input->done && !input->gone;
    input->done = true;
    if (it->kind == FORWARD_LEVEL)
        w->broker.undone_n++;
    else if (it->request != NULL)
        oracle_finished(w, it->request, it->kind);
    else
        input->verdicts++;
}

/* Records that progress covers, and that have no successor, were dropped. Progress of the log
   before a cut covers others. */
static void finish_voided(struct world *w, const struct offset_item *item)
{
    const struct committed *c = item->committed, *before = c->before;
    const struct log *log = &w->broker.logs[item->topic][item->lane];
    int64_t end = c->base + (int64_t)c->bits_n * 8;
    if (w->cancels == NULL || c->cuts < log->cuts)
        return;
    while (before != NULL && before->cuts < log->cuts)
        before = before->before;
    for (size_t i = log_find(log, before != NULL ? before->base : 0);
         i < log->n && log->entries[i]->offset < end; i++) {
        if (committed_covers(c, log->entries[i]->offset))
            void_covered(w, log->entries[i]);
    }
}

void offsets_count(struct world *w, const struct offset_item *items, size_t n, int life)
{
    for (const struct offset_item *item = items; item < items + n; item++) {
        const struct committed **at = &w->broker.committed[item->topic][item->lane];
        bool goes_back = *at != NULL && (*at)->base > item->committed->base;
        if (*at != NULL && !goes_back && item->committed->restores)
            item->committed->cuts = (*at)->cuts;
        if (goes_back && (*at)->cuts == item->committed->cuts)
            world_fail(w, "life %d commits topic %d/%d back from %lld to %lld", life, item->topic,
                       item->lane, (long long)(*at)->base, (long long)item->committed->base);
        item->committed->before = *at;
        *at = item->committed;
        finish_voided(w, item);
    }
}

static struct world *world_of(const struct producer *producer)
{
    return producer->process->world;
}

static void timed_out(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    struct transaction *t = arg;
    if (t->state != OPEN)
        return;
    if (world_coordinator_back(w) > w->now_ms) {
        world_at(w, world_coordinator_back(w) + 1, nobody, timed_out, arg, n);
        return;
    }
    trace(w, NULL, "a transaction of life %d times out and is aborted", t->producer->life);
    coordinator_fence(t->producer);
}

static struct transaction *open_transaction(struct producer *producer)
{
    struct world *w = world_of(producer);
    struct transaction *t = producer->transaction;
    if (t != NULL && t->state == OPEN)
        return t;
    t = producer->transaction = arena_take(&w->arena, sizeof *t);
    *t = (struct transaction){.producer = producer, .written_end = &t->written};
    w->broker.transactions_n++;
    world_at(w, w->now_ms + TIMEOUT_MS + rng_between(&w->rng, 0, SWEEP_MS), NULL, timed_out, t, 0);
    return t;
}

void coordinator_write(struct producer *producer, struct written *it)
{
    struct transaction *t = open_transaction(producer);
    *t->written_end = it;
    t->written_end = &it->next;
    it->attempt->stored_in = t;
    if (it->made == NULL)
        return;
    it->made->made_in = t;
    t->unmarked += !t->is_on[it->topic][it->lane];
    t->is_on[it->topic][it->lane] = true;
}

void coordinator_take_offsets(struct producer *producer, const struct offset_item *items, size_t n)
{
    struct transaction *t = open_transaction(producer);
    t->offsets = items;
    t->offsets_n = n;
    t->unmarked++;
    for (size_t i = 0; i < n; i++)
        world_of(producer)->broker.pending_offsets[items[i].topic][items[i].lane]++;
}

/* Writes the marker to one log. The offsets of aborted records remain as a gap. */
static void mark_log(struct world *w, struct transaction *t, int topic, int lane)
{
    struct log *log = &w->broker.logs[topic][lane];
    size_t kept = log->stable_n;
    for (size_t i = kept; i < log->n; i++) {
        struct entry *entry = log->entries[i];
        if (entry->made_in == t && t->state == ABORTED)
            continue;
        if (entry->made_in == t)
            entry->made_in = NULL;
        log->entries[kept++] = entry;
    }
    log->n = kept;
    log->end++;
    inbox_appended(w, topic, lane);
}

static void mark(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    struct transaction *t = arg;
    if (n != OFFSETS && (w->knobs.hold_marks || world_is_leaderless(w, (int)n))) {
        int64_t back_ms = world_leader_back(w, (int)n) + 1;
        world_at(w, back_ms > w->now_ms ? back_ms : w->now_ms + 5, nobody, mark, arg, n);
        return;
    }
    if (n == OFFSETS) {
        for (size_t i = 0; i < t->offsets_n; i++)
            w->broker.pending_offsets[t->offsets[i].topic][t->offsets[i].lane]--;
    } else {
        mark_log(w, t, (int)n / LANES_MAX, (int)n % LANES_MAX);
    }
    w->broker.transactions_n -= --t->unmarked == 0;
}

/* Decides the transaction. Its marker reaches each partition after a random delay. */
static void end(struct transaction *t, enum ending ending)
{
    struct world *w = world_of(t->producer);
    trace(w, NULL, "a transaction of life %d is %s", t->producer->life,
          ending == COMMITTED ? "committed" : "aborted");
    t->state = ending;
    for (int i = 0; i < TOPICS_MAX * LANES_MAX; i++) {
        int64_t more_ms = i / LANES_MAX == TOPIC_CANCELS ? w->knobs.cancels_mark_ms : 0;
        if (t->is_on[i / LANES_MAX][i % LANES_MAX])
            world_at(w, w->now_ms + more_ms + world_delay(w, w->knobs.mark_ms), NULL, mark, t, i);
    }
    if (t->offsets != NULL)
        world_at(w, w->now_ms + world_delay(w, w->knobs.mark_ms), NULL, mark, t, OFFSETS);
    w->broker.transactions_n -= t->unmarked == 0;
}

void coordinator_commit(struct producer *producer)
{
    struct world *w = world_of(producer);
    struct transaction *t = open_transaction(producer);
    for (const struct written *it = t->written; it != NULL; it = it->next)
        written_counts(w, it);
    offsets_count(w, t->offsets, t->offsets_n, producer->life);
    for (const struct written *it = t->written; it != NULL; it = it->next) {
        if (completes(it) && !w->missing[it->from_topic] && /* it has no progress */
            !committed_covers(w->broker.committed[it->from_topic][it->lane], it->input->offset))
            world_fail(w, "topic %d lane %d offset %lld is forwarded without being in the progress",
                       it->from_topic, it->lane, (long long)it->input->offset);
    }
    end(t, COMMITTED);
    memset(producer->takes_part, 0, sizeof producer->takes_part);
}

void coordinator_fence(struct producer *producer)
{
    producer->fenced = true;
    if (producer->transaction != NULL && producer->transaction->state == OPEN)
        end(producer->transaction, ABORTED);
}

bool coordinator_is_held(const struct producer *producer)
{
    for (int chain = 0; chain < CHAINS_N; chain++) {
        if (producer->takes_part[chain] && world_is_leaderless(world_of(producer), chain))
            return true;
    }
    return false;
}

bool coordinator_is_open(const struct producer *producer)
{
    return producer->transaction != NULL && producer->transaction->state == OPEN;
}

bool coordinator_is_busy(const struct producer *producer)
{
    const struct transaction *t = producer->transaction;
    return t != NULL && t->state != OPEN && t->unmarked > 0;
}

bool coordinator_holds(const struct producer *producer, const struct entry *input)
{
    const struct transaction *t = producer->transaction;
    if (t == NULL || t->state == COMMITTED)
        return false;
    const struct attempt *a = input->attempts;
    while (a != NULL && a->stored_in != t)
        a = a->next;
    return a != NULL;
}
