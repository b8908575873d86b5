/* SPDX-License-Identifier: Apache-2.0 */
/* Commits on their way to the coordinator and back: in order, late, refused to whoever is of an old
   generation, or never answered. */
#include "tests/sim/oracle.h"
#include "tests/sim/world.h"

struct item {
    int topic, lane;
    struct committed *committed;
};

struct commit {
    struct commit *next;
    int generation;
    int64_t lands_at;
    uint64_t seq, sent_step;
    bool ok;
    size_t n;
    struct item items[];
};

/* One connection to the coordinator: what is sent first arrives first. */
struct commit_line {
    struct process *process;
    int life;
    struct commit *head, **end;
};

static void answered(struct world *w, struct process *p, void *arg, int64_t n)
{
    struct commit *c = arg;
    if (p->stalled) {
        world_at(w, p->stalled_until, p, answered, arg, n);
        return;
    }
    trace(w, p, "commit %d %s", (int)c->seq, c->ok ? "succeeded" : "failed");
    p->commit_answered = c->seq;
    p->commit_ok = c->ok;
    if (c->ok && c->sent_step >= p->woke_step)
        p->unproven = false;
    process_before(p);
    bug_committed(p, c->seq, c->ok);
    if (process_after(p))
        process_turn_by(p, w->now_ms + world_delay(w, w->knobs.turn_ms));
}

static void store(struct world *w, struct commit *c, int life)
{
    for (size_t i = 0; i < c->n; i++) {
        struct item *item = &c->items[i];
        const struct committed **at = &w->broker.committed[item->topic][item->lane];
        if (*at != NULL && (*at)->base > item->committed->base)
            world_fail(w, "life %d commits topic %d/%d back from %lld to %lld", life, item->topic,
                       item->lane, (long long)(*at)->base, (long long)item->committed->base);
        item->committed->before = *at;
        *at = item->committed;
    }
}

static void landed(struct world *w, struct process *nobody, void *arg, int64_t n);

static void arm(struct world *w, struct commit_line *line, int64_t at_ms)
{
    if (line->head != NULL)
        world_at(w, at_ms > line->head->lands_at ? at_ms : line->head->lands_at, NULL, landed, line,
                 0);
}

/* The head of the line reaches the coordinator. */
static void judge(struct world *w, struct commit_line *line, struct commit *c)
{
    struct process *p = line->process;
    bool alive = p->up && p->life == line->life;
    bool heard = !(alive && p->isolated);
    bool fails = !heard || rng_chance(&w->rng, w->knobs.commit_fails);
    bool silent = rng_chance(&w->rng, w->knobs.commit_silent);
    if (silent)
        fails = fails || rng_chance(&w->rng, 5000);
    c->ok = !fails && w->known_life[p->id] == line->life && c->generation == w->broker.generation;
    if (c->ok)
        store(w, c, line->life);
    if (alive && !silent)
        world_at(w, w->now_ms + (heard ? world_delay(w, w->knobs.commit_ms) : 1000), p, answered, c,
                 0);
}

static void landed(struct world *w, struct process *nobody, void *arg, int64_t n)
{
    (void)nobody;
    (void)n;
    struct commit_line *line = arg;
    const struct process *p = line->process;
    bool alive = p->up && p->life == line->life;
    if (!alive && rng_chance(&w->rng, 5000))
        return; /* the connection broke before this one */
    if (w->knobs.hold_commits || w->outage_until > w->now_ms) {
        arm(w, line, w->knobs.hold_commits ? w->now_ms + 5 : w->outage_until);
        return;
    }
    struct commit *c = line->head;
    line->head = c->next;
    if (line->head == NULL)
        line->end = &line->head;
    judge(w, line, c);
    arm(w, line, w->now_ms);
}

static void send(struct process *p, struct commit *c)
{
    struct world *w = p->world;
    if (p->commit_line == NULL) {
        p->commit_line = arena_take(&w->arena, sizeof *p->commit_line);
        *p->commit_line =
            (struct commit_line){.process = p, .life = p->life, .end = &p->commit_line->head};
    }
    struct commit_line *line = p->commit_line;
    bool armed = line->head != NULL;
    c->lands_at = w->now_ms + world_delay(w, w->knobs.commit_ms);
    *line->end = c;
    line->end = &c->next;
    if (!armed)
        arm(w, line, w->now_ms);
}

void port_commit(void *ctx, uint64_t seq, const struct progress *progress, size_t n)
{
    struct process *p = ctx;
    struct world *w = p->world;
    if (!port_enter(p))
        return;
    struct commit *c = arena_take(&w->arena, sizeof *c + n * sizeof(struct item));
    *c = (struct commit){.generation = p->generation, .seq = seq, .sent_step = w->step, .n = n};
    trace(w, p, "commit %d of %zu queues", (int)seq, n);
    for (size_t i = 0; i < n; i++) {
        const struct progress *from = &progress[i];
        struct queue_id q = from->queue;
        struct committed *to = arena_take(&w->arena, sizeof *to);
        trace(w, p, "  %d/%d base %lld %s", q.slot, q.lane, (long long)from->base, from->text);
        oracle_claim(p, from);
        *to =
            (struct committed){.base = from->base,
                               .text = arena_copy(&w->arena, bytes_of(from->text, from->text_len)),
                               .life = p->life,
                               .epoch = p->lanes[q.lane].epoch,
                               .sent_step = w->step};
        committed_parse(&w->arena, to);
        c->items[i] = (struct item){p->topic_of_slot[q.slot], q.lane, to};
    }
    p->commit_sent = seq;
    send(p, c);
}
