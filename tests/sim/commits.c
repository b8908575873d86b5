/* SPDX-License-Identifier: Apache-2.0 */
/* Commits on their way to the coordinator and back. They arrive in order, late or never, and one of
   an old generation is refused. With exactly-once, a commit sends its offsets and then the end of
   their transaction. */
#include "tests/sim/coordinator.h"
#include "tests/sim/oracle.h"

enum { NO_ANSWER_MS = 5000 };
enum outcome { COMMIT_OK, COMMIT_REFUSED, COMMIT_UNKNOWN };

struct commit {
    struct commit *next;
    struct producer *producer; /* NULL with at-least-once */
    int client;
    const struct transaction *within; /* the transaction that took it */
    bool offsets_taken;
    bool finishing; /* exactly-once: the end of the transaction was sent, too */
    bool waiting;   /* the offsets are taken, and the end was not sent */
    bool told;      /* the outcome was reported as unknown; the request may still arrive */
    int generation;
    int64_t lands_at;
    uint64_t seq, sent_step;
    enum outcome outcome;
    struct progress *progress; /* the memory of the items */
    size_t n;
    struct offset_item items[];
};

/* One connection to the coordinator. Requests arrive in the order in which they were sent. */
struct commit_line {
    struct process *process;
    int life;
    struct commit *head, **end;
};

/* A copy of a request that failed on the wire and was sent again. It joins any open transaction of
   its producer. */
static void copy_landed(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    (void)nobody;
    (void)n;
    struct commit *c = arg;
    if (!c->producer->fenced && coordinator_is_open(c->producer) &&
        c->producer->transaction != c->within)
        world_fail(w, "a late request of life %d joins the next transaction of its producer",
                   c->producer->life);
}

/* Lets a successful request be one that was sent twice. */
static void choose_copy(struct process *p, struct client_model *m, struct commit *c)
{
    struct world *w = p->world;
    if (!rng_chance(&w->rng, w->knobs.commit_silent) && !fails(w, FAILURE_COMMIT_TWICE))
        return;
    m->may_arrive = m->offsets_may_arrive = true;
    c->within = c->producer->transaction;
    world_at(w, w->now_ms + rng_between(&w->rng, 1, NO_ANSWER_MS), NULL, copy_landed, c, 0);
}

/* Reports the end of a call of a transactional client. */
static void call_ended(struct process *p, struct commit *c, bool ok)
{
    struct client_model *m = &p->clients[c->client];
    bool seen = c->outcome == COMMIT_UNKNOWN && rng_chance(&p->world->rng, 5000);
    m->may_arrive |= seen || (c->outcome == COMMIT_UNKNOWN && !c->finishing);
    m->offsets_may_arrive |= seen || (c->outcome == COMMIT_UNKNOWN && !c->finishing);
    if (ok)
        choose_copy(p, m, c);
    m->in_doubt |= m->offsets_may_arrive || c->outcome == COMMIT_UNKNOWN;
    if (c->finishing && ok) {
        m->in_doubt = m->offsets_may_arrive || (m->in_doubt && c->n == 0);
        m->open = false;
        m->commit = NULL;
        c->producer->attempts = NULL;
        c->producer->solo = false;
    }
    c->waiting = !c->finishing && ok;
    client_ended(p, c->client, ok);
}

static void answered(struct world *w, struct process *p, void *arg, int64_t n)
{
    struct commit *c = arg;
    static const char *const words[] = {"succeeded", "was refused", "has no outcome"};
    if (p->stalled) {
        world_at(w, p->stalled_until, p, answered, arg, n);
        return;
    }
    bool ok = bug_commit_ok(p, c->outcome == COMMIT_OK, c->outcome == COMMIT_UNKNOWN);
    trace(w, p, "commit %d %s", (int)c->seq, words[c->outcome]);
    bool commits = c->producer == NULL || c->finishing;
    if (commits) {
        p->commit_answered = c->seq;
        p->commit_ok = ok;
    }
    if (commits && ok && c->sent_step >= p->woke_step)
        p->unproven = false;
    if (c->producer != NULL) {
        call_ended(p, c, ok);
        return;
    }
    process_before(p);
    bridge_committed(p->bridge, c->seq, ok);
    if (process_after(p))
        process_turn_by(p, w->now_ms + world_delay(w, w->knobs.turn_ms));
}

static void landed(struct world *w, struct process *nobody, void *arg, int64_t n);

static void arm(struct world *w, struct commit_line *line, int64_t at_ms)
{
    if (line->head != NULL)
        world_at(w, at_ms > line->head->lands_at ? at_ms : line->head->lands_at, NULL, landed, line,
                 0);
}

/* Returns whether the sender is a member. The coordinator refuses offsets of others. */
static bool is_member(struct world *w, const struct commit_line *line, const struct commit *c)
{
    if (w->bug == BUG_GENERATION_BLANK)
        return true;
    return w->known_life[line->process->id] == line->life && c->generation == w->broker.generation;
}

static void take_offsets(struct world *w, const struct commit_line *line, struct commit *c)
{
    bool fenced = c->producer->fenced;
    if (fenced || (c->n > 0 && !is_member(w, line, c))) {
        c->outcome = COMMIT_REFUSED;
        return;
    }
    c->offsets_taken = true;
    if (w->bug == BUG_OFFSETS_APART)
        offsets_count(w, c->items, c->n, line->life);
    coordinator_take_offsets(c->producer, c->items, w->bug == BUG_OFFSETS_APART ? 0 : c->n);
}

/* Decides whether only some partitions of this commit fail. */
static bool is_partial(struct world *w)
{
    return rng_chance(&w->rng, w->knobs.commit_partly) || fails(w, FAILURE_COMMIT_PARTLY);
}

static void take_part(struct world *w, const struct commit_line *line, struct commit *c)
{
    c->outcome = COMMIT_UNKNOWN;
    for (size_t i = 0; i < c->n; i++) {
        if (rng_chance(&w->rng, 5000))
            offsets_count(w, &c->items[i], 1, line->life);
    }
}

static void take_effect(struct world *w, const struct commit_line *line, struct commit *c)
{
    if (c->producer != NULL && c->producer->fenced)
        c->outcome = COMMIT_REFUSED;
    else if (c->producer != NULL)
        coordinator_commit(c->producer);
    else if (!is_member(w, line, c))
        c->outcome = COMMIT_REFUSED;
    else if (is_partial(w))
        take_part(w, line, c);
    else
        offsets_count(w, c->items, c->n, line->life);
}

/* Decides whether the client stops waiting for this request, which may still arrive. */
static bool is_delayed(struct world *w, struct process *p, struct commit *c)
{
    if (c->producer == NULL || c->told ||
        (!rng_chance(&w->rng, w->knobs.commit_silent) && !fails(w, FAILURE_COMMIT_LATE)))
        return false;
    c->told = true;
    c->outcome = COMMIT_UNKNOWN;
    int64_t told_ms = w->now_ms + rng_between(&w->rng, 100, NO_ANSWER_MS);
    c->lands_at = told_ms + rng_between(&w->rng, -100, 500);
    if (p->up && p->life == c->producer->life)
        world_at(w, told_ms, p, answered, c, 0);
    return true;
}

/* Decides whether the first commit of the line reaches the coordinator, and whether the answer
   returns. */
static void judge(struct world *w, struct commit_line *line, struct commit *c)
{
    struct process *p = line->process;
    bool alive = p->up && p->life == line->life;
    if (is_delayed(w, p, c))
        return;
    bool heard = !(alive && p->isolated);
    bool lost = !heard || rng_chance(&w->rng, w->knobs.commit_fails);
    bool silent = rng_chance(&w->rng, w->knobs.commit_silent);
    if (silent)
        lost = lost || rng_chance(&w->rng, 5000);
    if (fails(w, FAILURE_COMMIT_LOST))
        lost = silent = true;
    if (!lost && fails(w, FAILURE_COMMIT_UNANSWERED))
        silent = true;
    if (lost || fails(w, FAILURE_COMMIT_FAILED)) {
        c->outcome = COMMIT_UNKNOWN;
    } else if (fails(w, FAILURE_COMMIT_REFUSED)) {
        c->outcome = COMMIT_REFUSED;
    } else if (c->producer != NULL && !c->offsets_taken) {
        take_offsets(w, line, c);
    } else {
        take_effect(w, line, c);
    }
    int64_t answer_ms = heard ? world_delay(w, w->knobs.commit_ms) : 1000;
    if (c->producer != NULL && (silent || (w->knobs.lose_answers && c->finishing))) {
        c->outcome = COMMIT_UNKNOWN;
        answer_ms = rng_between(&w->rng, 1000, NO_ANSWER_MS);
    }
    if (alive && !c->told && (!silent || c->producer != NULL))
        world_at(w, w->now_ms + answer_ms, p, answered, c, 0);
    line->head = c->next;
    if (line->head == NULL)
        line->end = &line->head;
}

static void landed(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    (void)nobody;
    (void)n;
    struct commit_line *line = arg;
    const struct process *p = line->process;
    struct commit *c = line->head;
    bool alive = p->up && p->life == line->life && !(c->producer != NULL && c->producer->given_up);
    if (!alive && !c->told && rng_chance(&w->rng, 5000))
        return; /* the connection broke before this commit */
    bool busy = c->producer != NULL && coordinator_is_busy(c->producer) && !c->producer->fenced;
    int64_t back_ms = world_coordinator_back(w);
    if (w->knobs.hold_commits || back_ms > w->now_ms || busy) {
        arm(w, line, back_ms > w->now_ms ? back_ms : w->now_ms + 5);
        return;
    }
    judge(w, line, c);
    arm(w, line, w->now_ms);
}

static struct commit_line *line_of(struct process *p, const struct commit *c)
{
    struct commit_line **line = c->producer != NULL ? &c->producer->line : &p->commit_line;
    if (*line == NULL) {
        *line = arena_take(&p->world->arena, sizeof **line);
        **line = (struct commit_line){.process = p, .life = p->life, .end = &(*line)->head};
    }
    return *line;
}

static void send(struct process *p, struct commit *c)
{
    struct world *w = p->world;
    struct commit_line *line = line_of(p, c);
    bool armed = line->head != NULL;
    c->lands_at = w->now_ms + world_delay(w, w->knobs.commit_ms);
    c->next = NULL;
    *line->end = c;
    line->end = &c->next;
    if (!armed)
        arm(w, line, w->now_ms);
}

/* Checks that every record of the transaction was reported and stored. */
static void check_transaction(const struct process *p)
{
    if (p->producer->given_up)
        world_fail(p->world, "p%d commits without a producer", p->id);
    if (p->producer->unreported > 0)
        world_fail(p->world, "p%d commits while %zu records are in flight", p->id,
                   p->producer->unreported);
    if (p->producer->failed)
        world_fail(p->world, "p%d commits a transaction, part of which has failed", p->id);
}

static struct commit *commit_of(struct process *p, const struct progress *progress, size_t n)
{
    struct world *w = p->world;
    struct commit *c = arena_take(&w->arena, sizeof *c + n * sizeof(struct offset_item));
    *c = (struct commit){.generation = p->generation, .sent_step = w->step, .n = n};
    c->progress = arena_take(&w->arena, n * sizeof *progress);
    memcpy(c->progress, progress, n * sizeof *progress);
    for (size_t i = 0; i < n; i++) {
        const struct progress *from = &progress[i];
        struct queue_id q = from->queue;
        struct committed *to = arena_take(&w->arena, sizeof *to);
        int64_t at, end;
        trace(w, p, "  %d/%d base %lld %s", q.slot, q.lane, (long long)from->base, from->text);
        *to = (struct committed){
            .base = from->base,
            .text = arena_copy(&w->arena, bytes_of(from->text, from->text_len)),
            .witnesses = arena_copy(&w->arena, bytes_of(from->witnesses, from->witnesses_len)),
            .life = p->life,
            .epoch = p->lanes[q.lane].epoch,
            .sent_step = w->step,
            .cuts = w->broker.logs[p->topic_of_slot[q.slot]][q.lane].cuts,
            .restores = bridge_lane_is_loading(p->bridge, q.lane, &at, &end)};
        committed_parse(&w->arena, to);
        c->items[i] = (struct offset_item){p->topic_of_slot[q.slot], q.lane, to};
    }
    return c;
}

static void claim(struct process *p, struct commit *c, uint64_t seq)
{
    trace(p->world, p, "commit %d of %zu queues", (int)seq, c->n);
    for (size_t i = 0; i < c->n; i++)
        oracle_claim(p, &c->progress[i]);
    c->seq = p->commit_sent = seq;
}

void port_commit(void *ctx, uint64_t seq, const struct progress *progress, size_t n)
{
    struct process *p = ctx;
    if (!port_enter(p))
        return;
    struct commit *c = commit_of(p, progress, n);
    claim(p, c, seq);
    send(p, c);
}

int port_send_offsets(void *ctx, int i, const struct progress *progress, size_t n)
{
    struct process *p = ctx;
    struct world *w = p->world;
    if (!port_enter(p))
        return ERR_KAFKA;
    struct client_model *m = client_of(p, i, "send_offsets");
    if (!m->open || m->purging || m->commit != NULL ||
        (m->handle->solo && m->handle->unreported > 0))
        world_fail(w, "p%d sends offsets that it may not send", p->id);
    if (rng_chance(&w->rng, w->knobs.no_memory) && rng_chance(&w->rng, 500))
        return ERR_KAFKA;
    trace(w, p, "client %d: sends offsets of %zu queues", i, n);
    m->commit = commit_of(p, progress, n);
    m->commit->producer = m->handle;
    m->commit->client = i;
    m->call = CALL_SEND_OFFSETS;
    send(p, m->commit);
    return 0;
}

void port_commit_transaction(void *ctx, int i)
{
    struct process *p = ctx;
    struct world *w = p->world;
    if (!port_enter(p))
        return;
    struct client_model *m = client_of(p, i, "commit_transaction");
    struct commit *c = m->commit;
    if (c == NULL || m->purging)
        world_fail(w, "p%d commits a transaction, the offsets of which it has not sent", p->id);
    if (!c->waiting)
        world_fail(w, "p%d commits before its offsets are accepted", p->id);
    check_transaction(p);
    claim(p, c, p->commit_sent + 1);
    c->waiting = false;
    c->finishing = true;
    m->call = CALL_COMMIT;
    send(p, c);
}
