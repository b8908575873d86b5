/* SPDX-License-Identifier: Apache-2.0 */
/* Questions, loads and trims of the topics of cancels. */
#include "tests/sim/loads.h"
#include "tests/sim/bugs.h"
#include "tests/sim/oracle.h"

/* LEADER_MS: a client looks again for a leader, so the end of the faults ends the wait, too. */
enum { PIECE_MAX = 20, POLL_MS = 20, LEADER_MS = 100, CHUNK = LANES_MAX };

static struct log *log_of(struct world *w, const struct load *load)
{
    int topic = load->log == LOAD_CANCELS ? TOPIC_CANCELS : TOPIC_SCHEDULE;
    return &w->broker.logs[topic][load->lane];
}

/* Events carry the number of the query or load, so that those of a lost lane are void. */
static int64_t tag(const struct process *p, int lane)
{
    return (int64_t)p->loads[lane].version * CHUNK + lane;
}

static bool is_stale(const struct process *p, int64_t n)
{
    return p->loads[n % CHUNK].version != n / CHUNK;
}

void loads_end(struct process *p, int lane)
{
    p->loads[lane].version++;
    p->loads[lane].is_on = false;
}

static bool is_whole(struct world *w, const struct process *p, int lane)
{
    for (int slot = 0; slot < p->slots; slot++) {
        if (world_leader_back(w, p->topic_of_slot[slot] * LANES_MAX + lane) > w->now_ms)
            return false;
    }
    return world_leader_back(w, TOPIC_CANCELS * LANES_MAX + lane) <= w->now_ms;
}

static void answer_ends(struct world *w, struct process *p, void *arg, int64_t n)
{
    int lane = (int)(n % CHUNK);
    struct log_ends *ends = arg;
    if (is_stale(p, n))
        return;
    if (p->stalled || p->member == MEMBER_REVOKING) {
        world_at(w, w->now_ms + POLL_MS, p, answer_ends, arg, n);
        return;
    }
    process_before(p);
    bridge_ends(p->bridge, lane, ends, ends[p->slots + 1].start != 0);
    if (process_after(p))
        process_turn_by(p, w->now_ms);
}

/* The brokers answer now, and the answer takes its time. */
static void look(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)arg;
    int lane = (int)(n % CHUNK);
    if (is_stale(p, n) || w->outage_until > w->now_ms || rng_chance(&w->rng, w->knobs.ends_lost) ||
        fails(w, FAILURE_ENDS_LOST))
        return;
    struct log_ends *ends = arena_take(&w->arena, (size_t)(p->slots + 2) * sizeof *ends);
    for (int slot = 0; slot <= p->slots; slot++) {
        int topic = slot == p->slots ? TOPIC_CANCELS : p->topic_of_slot[slot];
        struct log *log = &w->broker.logs[topic][lane];
        ends[slot] = (struct log_ends){log->start, log->end, log_stable_end(log)};
        bug_ends(p, slot, &ends[slot]);
    }
    ends[p->slots + 1].start = is_whole(w, p, lane);
    trace(w, p, "lane %d: the topic of cancels ends at %lld, the schedule topic at %lld", lane,
          (long long)ends[p->slots].end, (long long)ends[0].end);
    world_at(w, w->now_ms + world_delay(w, w->knobs.fetch_ms), p, answer_ends, ends, n);
}

void port_query_ends(void *ctx, int lane)
{
    struct process *p = ctx;
    struct world *w = p->world;
    if (!port_enter(p))
        return;
    if (!p->lanes[lane].owned || w->setup.cancel_memory == 0)
        world_fail(w, "p%d queries the ends of lane %d, which is not its own", p->id, lane);
    if (p->loads[lane].is_on)
        world_fail(w, "p%d queries the ends of lane %d while it loads", p->id, lane);
    p->loads[lane].version++;
    world_at(w, w->now_ms + world_delay(w, w->knobs.fetch_ms), p, look, NULL, tag(p, lane));
}

/* Reads on from the start of the log if records were deleted. */
static void give(struct process *p, struct load_model *l)
{
    struct log *log = log_of(p->world, &l->load);
    int lane = l->load.lane;
    if (l->at < log->start)
        l->at = log->start;
    int64_t readable = log_stable_end(log);
    size_t i = log_find(log, l->at);
    for (int n = 0; n < PIECE_MAX && !p->dead && l->is_on; n++, i++) {
        if (i >= log->n || log->entries[i]->offset >= readable ||
            log->entries[i]->offset >= l->load.end) {
            l->at = readable > l->load.end ? l->load.end : readable > l->at ? readable : l->at;
            return;
        }
        l->at = log->entries[i]->offset + 1;
        if (log->entries[i]->unreadable_end > 0) {
            l->at = log->entries[i]->unreadable_end;
            i += bug_load_skips(p);
            continue;
        }
        struct record *record = port_lend(p, log->entries[i], l->load.log == LOAD_REQUESTS);
        bridge_loaded(p->bridge, lane, record);
        port_release(p, record);
    }
}

/* The client has fetched beyond the end of the load. */
static void read_ahead(struct inbox *in, int64_t at, int64_t stable_end)
{
    in->at = in->next = at;
    in->fetched = at > stable_end ? at : stable_end;
}

static void loaded(struct world *w, struct process *p, void *arg, int64_t n)
{
    int lane = (int)(n % CHUNK);
    struct load_model *l = &p->loads[lane];
    if (is_stale(p, n))
        return;
    int topic = l->load.log == LOAD_CANCELS ? TOPIC_CANCELS : TOPIC_SCHEDULE;
    int64_t back_ms = world_leader_back(w, topic * LANES_MAX + lane);
    if (p->stalled || p->member == MEMBER_REVOKING || back_ms > w->now_ms) {
        world_at(w, w->now_ms + (back_ms > w->now_ms ? LEADER_MS : POLL_MS), p, loaded, arg, n);
        return;
    }
    process_before(p);
    give(p, l);
    struct log *log = log_of(w, &l->load);
    bool ended = l->at >= l->load.end || log->end < l->load.end || bug_load_ends(p);
    if (l->is_on && ended) {
        l->is_on = false;
        if (l->load.log == LOAD_REQUESTS)
            read_ahead(&p->inboxes[lane * p->slots], l->at, log_stable_end(log));
        trace(w, p, "lane %d is loaded up to %lld", lane, (long long)l->at);
        bridge_load_ended(p->bridge, lane, l->at);
    }
    if (!process_after(p))
        return;
    process_turn_by(p, w->now_ms);
    if (l->is_on && !is_stale(p, n))
        world_at(w, w->now_ms + 1 + world_delay(w, w->knobs.fetch_ms), p, loaded, arg, n);
}

static int64_t bytes_of_load(struct world *w, const struct load *load)
{
    const struct log *log = log_of(w, load);
    int64_t bytes = 0;
    for (size_t i = log_find(log, load->from); i < log->n && log->entries[i]->offset < load->end;
         i++)
        bytes += (int64_t)(log->entries[i]->key.len + log->entries[i]->value.len);
    return bytes;
}

void port_load(void *ctx, const struct load *load)
{
    struct process *p = ctx;
    struct world *w = p->world;
    struct load_model *l = &p->loads[load->lane];
    if (!port_enter(p))
        return;
    if (!p->lanes[load->lane].owned || l->is_on || load->from >= load->end || load->from < 0)
        world_fail(w, "p%d loads what it may not", p->id);
    trace(w, p, "loads %s of lane %d from %lld to %lld",
          load->log == LOAD_CANCELS ? "cancels" : "requests", load->lane, (long long)load->from,
          (long long)load->end);
    l->version++;
    l->is_on = true;
    l->load = *load;
    l->at = load->from;
    l->bytes = bytes_of_load(w, load);
    if (load->log == LOAD_REQUESTS) /* the records at hand are dropped */
        p->inboxes[load->lane * p->slots].version++;
    world_at(w, w->now_ms + world_delay(w, w->knobs.fetch_ms), p, loaded, NULL, tag(p, load->lane));
}

static void trimmed(struct world *w, struct process *nobody, void *arg, int64_t below)
{
    (void)w, (void)nobody;
    struct log *log = arg;
    if (below > log->start)
        log->start = below;
}

static void trim_answered(struct world *w, struct process *p, void *arg, int64_t lane)
{
    (void)w;
    process_before(p);
    bridge_cancels_trimmed(p->bridge, (int)lane, *(int64_t *)arg);
    process_after(p);
}

void port_trim_cancels(void *ctx, int lane, int64_t below)
{
    struct process *p = ctx;
    struct world *w = p->world;
    if (!port_enter(p))
        return;
    struct log *log = &w->broker.logs[TOPIC_CANCELS][lane];
    if (!p->lanes[lane].owned || below > log->end)
        world_fail(w, "p%d trims the cancels of lane %d to %lld", p->id, lane, (long long)below);
    trace(w, p, "trims the cancels of lane %d to %lld", lane, (long long)below);
    w->cancels_trimmed++;
    if (w->knobs.trims_fail)
        return;
    int64_t at_ms = w->now_ms + world_delay(w, w->knobs.commit_ms);
    int64_t *answer = arena_take(&w->arena, sizeof *answer);
    *answer = below;
    world_at(w, at_ms, NULL, trimmed, log, below);
    world_at(w, at_ms, p, trim_answered, answer, lane);
}
