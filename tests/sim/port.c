/* SPDX-License-Identifier: Apache-2.0 */
/* The port, reading side. Partitions are fetched ahead in batches, paused and sought. A partition
   signals once when it changes from empty to not empty. Records are lent and returned. */
#include "tests/sim/loads.h"
#include "tests/sim/oracle.h"
#include "tests/sim/world.h"

enum { BATCH_MAX = 40 };

bool port_enter(struct process *p)
{
    p->calls++;
    if (!p->dead && ((p->crash_in > 0 && --p->crash_in == 0) || dies(p))) {
        trace(p->world, p, "dies in a call");
        p->dead = true;
    }
    return !p->dead;
}

struct queue_id port_queue(const struct process *p, int lane, int topic, bool *found)
{
    for (int slot = 0; slot < p->slots; slot++) {
        if (p->topic_of_slot[slot] == topic) {
            *found = true;
            return (struct queue_id){lane * p->slots + slot, lane, slot};
        }
    }
    *found = false;
    return (struct queue_id){-1, -1, -1};
}

static struct log *log_of(struct process *p, struct queue_id q)
{
    return &p->world->broker.logs[p->topic_of_slot[q.slot]][q.lane];
}

static struct inbox *inbox_of(struct process *p, struct queue_id q)
{
    if (q.lane < 0 || q.lane >= p->world->setup.lanes || q.slot < 0 || q.slot >= p->slots ||
        q.index != q.lane * p->slots + q.slot)
        world_fail(p->world, "p%d names a queue that does not exist: %d/%d/%d", p->id, q.index,
                   q.lane, q.slot);
    return &p->inboxes[q.index];
}

static struct queue_id queue_of(const struct process *p, int64_t index)
{
    return (struct queue_id){(int)index, (int)index / p->slots, (int)index % p->slots};
}

/* Returns whether the position is inside a batch. A broker sends the whole batch then. */
static bool is_inside(const struct log *log, const struct entry *batch, int64_t offset)
{
    return batch->unreadable_end > offset && batch->offset >= log->start;
}

/* Returns the record that the next take hands out, or NULL. */
static struct entry *at_hand(struct process *p, struct queue_id q)
{
    struct inbox *in = inbox_of(p, q);
    struct log *log = log_of(p, q);
    size_t i = log_find(log, in->at);
    if (i > 0 && in->at < in->fetched && is_inside(log, log->entries[i - 1], in->at))
        i--;
    return i < log->n && log->entries[i]->offset < in->fetched ? log->entries[i] : NULL;
}

static void fetched(struct world *w, struct process *p, void *arg, int64_t n);

static void fetch_later(struct process *p, struct queue_id q)
{
    struct inbox *in = inbox_of(p, q);
    if (!in->open || in->paused || in->fetching)
        return;
    in->fetching = true;
    int64_t delay_ms = world_delay(p->world, p->world->knobs.fetch_ms);
    world_at(p->world, p->world->now_ms + delay_ms, p, fetched, NULL,
             (int64_t)in->version * QUEUES_MAX + q.index);
}

static void wake(struct world *w, struct process *p, void *arg, int64_t n)
{
    (void)arg;
    struct queue_id q = queue_of(p, n % QUEUES_MAX);
    struct inbox *in = inbox_of(p, q);
    if (!in->open || in->version != n / QUEUES_MAX)
        return;
    in->hidden = false;
    bridge_wake(p->bridge, q);
    process_turn_by(p, w->now_ms + world_delay(w, w->knobs.turn_ms));
}

static void tell_queue(struct process *p, struct queue_id q)
{
    struct world *w = p->world;
    struct inbox *in = inbox_of(p, q);
    if (rng_chance(&w->rng, w->knobs.never_wake) || fails(w, FAILURE_NEVER_WOKEN)) {
        trace(w, p, "queue %d/%d gets no wakeup", q.slot, q.lane);
        return;
    }
    int64_t at_ms = w->now_ms;
    if (rng_chance(&w->rng, w->knobs.late_wake) || fails(w, FAILURE_WOKEN_LATE)) {
        in->hidden = true;
        at_ms += rng_between(&w->rng, 10, 3000);
    }
    world_at(w, at_ms, p, wake, NULL, (int64_t)in->version * QUEUES_MAX + q.index);
}

/* Reports that the position does not exist. The bridge learns this between turns, as from a worker.
 */
static void out_of_range(struct process *p, struct queue_id q)
{
    struct log *log = log_of(p, q);
    trace(p->world, p, "queue %d/%d out of range: log is %lld..%lld", q.slot, q.lane,
          (long long)log->start, (long long)log->end);
    inbox_of(p, q)->version++;
    process_before(p);
    bug_out_of_range(p, q, log->start, log->end);
    if (process_after(p))
        process_turn_by(p, p->world->now_ms);
}

/* Decides whether a fetch jumps over records of a level. It never jumps twice in a row at the same
   place. With the gaps of transactions, it jumps only after a seek. */
static void skip_once(struct process *p, struct queue_id q)
{
    struct inbox *in = inbox_of(p, q);
    struct log *log = log_of(p, q);
    struct world *w = p->world;
    if (q.slot != SLOT_SCHEDULE && w->skip_at < w->skip_n) {
        in->at = w->skip_to[w->skip_at++];
        return;
    }
    if (in->skipped_at <= in->at && in->at < in->skipped_to) {
        in->skipped_to = 0;
        return;
    }
    in->skipped_to = 0;
    size_t i = log_find(log, in->at);
    if (q.slot == SLOT_SCHEDULE || in->from_start || i + 1 >= log->n ||
        (w->setup.exactly_once && !in->sought))
        return;
    size_t to = i + 1 + rng_next(&p->world->rng) % 3;
    if (to >= log->n || log->entries[to]->offset >= in->fetched)
        return;
    if (!rng_chance(&w->rng, w->knobs.skip_once) && !fails(w, FAILURE_FETCH_SKIPS))
        return;
    trace(p->world, p, "queue %d/%d: the fetch at %lld jumps to %lld", q.slot, q.lane,
          (long long)in->at, (long long)log->entries[to]->offset);
    in->skipped_at = in->at;
    in->skipped_to = log->entries[to]->offset;
    in->at = log->entries[to]->offset;
}

static void fetched(struct world *w, struct process *p, void *arg, int64_t n)
{
    struct queue_id q = queue_of(p, n % QUEUES_MAX);
    struct inbox *in = inbox_of(p, q);
    if (!in->open || in->version != n / QUEUES_MAX)
        return;
    int64_t leader_back = world_leader_back(w, p->topic_of_slot[q.slot] * LANES_MAX + q.lane);
    int64_t wait_until = w->knobs.hold_fetches ? w->now_ms + 10 : leader_back;
    if (wait_until > w->now_ms || p->stalled || p->member == MEMBER_REVOKING) {
        int64_t at_ms = wait_until > w->now_ms ? wait_until : w->now_ms;
        world_at(w, at_ms + 1 + world_delay(w, w->knobs.fetch_ms), p, fetched, arg, n);
        return;
    }
    in->fetching = false;
    struct log *log = log_of(p, q);
    bool had = at_hand(p, q) != NULL;
    if (in->fetched < 0) {
        in->from_start = true;
        in->at = in->fetched = log->start;
    }
    if (!had && (in->fetched < log->start || in->fetched > log->end)) {
        out_of_range(p, q);
        return;
    }
    if (in->at < in->fetched && !had)
        in->at = in->fetched;
    int64_t readable_end = w->bug == BUG_READS_UNCOMMITTED ? log->end : log_stable_end(log);
    int fetch_n = w->knobs.fetch_n > 0 ? w->knobs.fetch_n : rng_int(&w->rng, 1, BATCH_MAX);
    size_t end = log_find(log, in->fetched) + (size_t)fetch_n;
    int64_t to = end < log->n ? log->entries[end]->offset : log->end;
    if (to > readable_end)
        to = readable_end;
    if (to > in->fetched)
        in->fetched = to;
    if (!had)
        skip_once(p, q);
    if (at_hand(p, q) != NULL)
        in->sought = false;
    if (!had && at_hand(p, q) != NULL)
        tell_queue(p, q);
    if (in->fetched < readable_end)
        fetch_later(p, q);
}

void inbox_open(struct process *p, struct queue_id q, int64_t offset)
{
    struct inbox *in = inbox_of(p, q);
    int version = in->version;
    *in = (struct inbox){
        .open = true, .version = version + 1, .at = offset, .fetched = offset, .next = offset};
    fetch_later(p, q);
}

void inbox_close(struct process *p, struct queue_id q)
{
    struct inbox *in = inbox_of(p, q);
    in->open = in->fetching = false;
    in->version++;
}

void inbox_appended(struct world *w, int topic, int lane)
{
    for (int id = 0; id < w->setup.processes; id++) {
        struct process *p = &w->processes[id];
        bool found;
        struct queue_id q = port_queue(p, lane, topic, &found);
        if (p->up && found)
            fetch_later(p, q);
    }
}

static struct entry *next_entry(struct process *p, struct queue_id q)
{
    struct inbox *in = inbox_of(p, q);
    struct log *log = log_of(p, q);
    for (size_t i = log_find(log, in->ahead); in->ahead < in->ahead_end; i++) {
        if (i >= log->n || log->entries[i]->offset >= in->ahead_end) {
            in->ahead = in->ahead_end = 0;
            break;
        }
        in->ahead = log->entries[i]->offset + 1;
        return log->entries[i];
    }
    if (in->stale > 0) {
        size_t i = log_find(log, in->at);
        if (i >= (size_t)in->stale)
            return log->entries[i - (size_t)in->stale--];
        in->stale = 0;
    }
    struct entry *entry = at_hand(p, q);
    if (entry != NULL)
        in->at = entry->offset + 1;
    if (in->at > log->read_end)
        log->read_end = in->at;
    return entry;
}

/* Answers a separate query, which does not depend on fetched records. Returns whether no record
   lies between the position and this record. */
static bool is_first(struct process *p, struct queue_id q, const struct entry *entry)
{
    struct log *log = log_of(p, q);
    struct inbox *in = inbox_of(p, q);
    size_t i = log_find(log, in->next);
    if (entry->offset < log->start) /* it was cut off */
        return false;
    return in->next > entry->offset || (i < log->n && log->entries[i] == entry);
}

static void read_again(struct process *p, struct queue_id q)
{
    struct inbox *in = inbox_of(p, q);
    in->hidden = in->fetching = false;
    in->version++;
    if (in->next >= 0)
        in->at = in->fetched = in->next;
    fetch_later(p, q);
}

static void unreadable(struct world *w, struct process *p, void *arg, int64_t n)
{
    struct entry *entry = arg;
    struct queue_id q = queue_of(p, n % QUEUES_MAX);
    struct inbox *in = inbox_of(p, q);
    if (!in->open || in->version != n / QUEUES_MAX)
        return;
    if (p->stalled || p->member == MEMBER_REVOKING) {
        world_at(w, w->now_ms + 10, p, unreadable, arg, n);
        return;
    }
    if (!is_first(p, q, entry)) {
        read_again(p, q);
        return;
    }
    process_before(p);
    bridge_unreadable(p->bridge, q, entry->offset, bug_range_end(p, entry->unreadable_end));
    if (process_after(p))
        process_turn_by(p, w->now_ms);
}

/* Reports that a batch cannot be read. The queue delivers nothing until a seek. */
static void cannot_read(struct process *p, struct queue_id q, struct entry *entry)
{
    struct inbox *in = inbox_of(p, q);
    in->hidden = true;
    in->at = entry->offset;
    p->lanes[q.lane].has_base = in->was_read = true;
    world_at(p->world, p->world->now_ms + 1, p, unreadable, entry,
             (int64_t)in->version * QUEUES_MAX + q.index);
}

/* Returns the bytes at hand, counted as in lending.c, without the overhead of a record. */
static int64_t port_unread(void *ctx, struct queue_id q)
{
    struct process *p = ctx;
    const struct inbox *in = inbox_of(p, q);
    const struct log *log = log_of(p, q);
    int64_t bytes = 0, at, end;
    if (q.slot == SLOT_SCHEDULE && bridge_lane_is_loading(p->bridge, q.lane, &at, &end))
        return p->loads[q.lane].bytes;
    for (size_t i = log_find(log, in->at);
         in->open && !in->paused && i < log->n && log->entries[i]->offset < in->fetched; i++)
        bytes += (int64_t)(log->entries[i]->key.len + log->entries[i]->value.len);
    return bytes;
}

/* Checks that a turn reads at most one queue of the schedule topic that has this much at hand. A
   queue without a position counts from its second record on, because it cannot be paused. */
static void check_bulk(struct process *p, struct queue_id q)
{
    struct world *w = p->world;
    int64_t limit = w->setup.bulk_bytes;
    if (limit == 0 || q.slot != SLOT_SCHEDULE || inbox_of(p, q)->next < 0 ||
        port_unread(p, q) <= limit)
        return;
    inbox_of(p, q)->bulk_step = w->step;
    for (int lane = 0; lane < w->setup.lanes; lane++) {
        if (lane != q.lane && p->inboxes[lane * p->slots].bulk_step == w->step)
            world_fail(w, "p%d reads lanes %d and %d, each with over %lld bytes at hand", p->id,
                       q.lane, lane, (long long)limit);
    }
}

static struct record *port_take(void *ctx, struct queue_id q)
{
    struct process *p = ctx;
    if (!port_enter(p))
        return NULL;
    struct world *w = p->world;
    struct inbox *in = inbox_of(p, q);
    check_bulk(p, q);
    if (!in->open || !p->may_act)
        world_fail(w, "p%d takes from queue %d/%d %s", p->id, q.slot, q.lane,
                   in->open ? "while it settles" : "that is not its own");
    if (in->paused || in->hidden)
        return NULL;
    if (at_hand(p, q) != NULL &&
        (rng_chance(&w->rng, w->knobs.take_nothing) || fails(w, FAILURE_TAKE_NOTHING))) {
        in->hidden = true;
        world_at(w, w->now_ms + rng_between(&w->rng, 1, 500), p, wake, NULL,
                 (int64_t)in->version * QUEUES_MAX + q.index);
        return NULL;
    }
    struct entry *entry = next_entry(p, q);
    if (entry == NULL) {
        p->calls--; /* a call without a result is no work */
        if (in->fetched != log_stable_end(log_of(p, q)))
            fetch_later(p, q);
        return NULL;
    }
    if (entry->unreadable_end > 0) {
        cannot_read(p, q, entry);
        return NULL;
    }
    p->lanes[q.lane].has_base = in->was_read = true;
    in->next = entry->offset + 1;
    return port_lend(p, entry, q.slot == SLOT_SCHEDULE);
}

static void port_pause(void *ctx, struct queue_id q)
{
    struct process *p = ctx;
    if (!port_enter(p))
        return;
    struct inbox *in = inbox_of(p, q);
    if (!in->open || in->paused)
        world_fail(p->world, "p%d pauses queue %d/%d, which is not being read", p->id, q.slot,
                   q.lane);
    in->paused = true;
    in->fetching = in->hidden = false;
    in->version++;
    in->fetched = in->at;
}

/* Keeps fetched records beyond the new position. They may come once more, before the requested
   ones. */
static void keep_ahead(struct world *w, struct inbox *in, int64_t offset)
{
    if (!rng_chance(&w->rng, w->knobs.ahead_after_seek) &&
        !(in->at > offset && fails(w, FAILURE_SEEK_JUMPS))) {
        in->ahead = in->ahead_end = 0;
    } else if (in->ahead >= in->ahead_end && in->at > offset) {
        in->ahead = in->at;
        in->ahead_end = in->fetched;
    }
}

static void port_seek(void *ctx, struct queue_id q, int64_t offset)
{
    struct process *p = ctx;
    if (!port_enter(p))
        return;
    struct world *w = p->world;
    struct inbox *in = inbox_of(p, q);
    trace(w, p, "queue %d/%d: reading continues at %lld", q.slot, q.lane, (long long)offset);
    if (!in->open)
        world_fail(w, "p%d seeks queue %d/%d, which is not its own", p->id, q.slot, q.lane);
    in->paused = in->fetching = in->hidden = in->from_start = false;
    in->version++;
    keep_ahead(w, in, offset);
    in->at = in->fetched = in->next = offset;
    in->sought = true;
    bool stale = rng_chance(&w->rng, w->knobs.stale_after_seek) || fails(w, FAILURE_SEEK_REPEATS);
    in->stale = stale ? rng_int(&w->rng, 1, 5) : 0;
    fetch_later(p, q);
}

static void port_trim(void *ctx, struct queue_id q, int64_t base)
{
    struct process *p = ctx;
    if (port_enter(p))
        oracle_trim(p, q, base);
}

static enum lookup port_lookup(void *ctx, struct target_id *target)
{
    struct process *p = ctx;
    struct world *w = p->world;
    bool was_asked = p->asked == target;
    p->asked = NULL;
    if (!port_enter(p) || w->outage_until > w->now_ms ||
        rng_chance(&w->rng, w->knobs.lookup_unknown) || fails(w, FAILURE_LOOKUP_UNKNOWN))
        return LOOKUP_UNKNOWN;
    enum lookup found = was_asked ? p->answer : bug_lookup(w, oracle_lookup(p, target));
    if (rng_chance(&w->rng, w->knobs.lookup_pending)) {
        p->asked = target;
        p->answer = found;
        return LOOKUP_PENDING;
    }
    if ((found == LOOKUP_FOUND || found == LOOKUP_WHOLE) && fails(w, FAILURE_LOOKUP_MISSING))
        found = LOOKUP_MISSING;
    if (found == LOOKUP_MISSING)
        oracle_target_failed(w, target->name);
    return found;
}

static enum lookup port_lookup_outlet(void *ctx, struct queue_id outlet)
{
    struct process *p = ctx;
    struct world *w = p->world;
    if (!port_enter(p) || w->outage_until > w->now_ms ||
        rng_chance(&w->rng, w->knobs.lookup_unknown) || fails(w, FAILURE_LOOKUP_UNKNOWN))
        return LOOKUP_UNKNOWN;
    if (rng_chance(&w->rng, w->knobs.lookup_pending))
        return LOOKUP_PENDING;
    int chain = outlet.slot == SLOT_SCHEDULE  ? CHAINS_DEAD + outlet.lane
                : outlet.slot == SLOT_CANCELS ? TOPIC_CANCELS * LANES_MAX + outlet.lane
                : outlet.slot == SLOT_EVENTS
                    ? CHAINS_EVENTS + outlet.lane
                    : p->topic_of_slot[outlet.slot] * LANES_MAX + outlet.lane;
    return bug_lookup(w,
                      world_leader_back(w, chain) > w->now_ms ? LOOKUP_UNWRITABLE : LOOKUP_WHOLE);
}

static int64_t port_end(void *ctx, struct queue_id q)
{
    struct process *p = ctx;
    return log_of(p, q)->end;
}

static int64_t port_drained(void *ctx, struct queue_id q)
{
    struct process *p = ctx;
    const struct inbox *in = inbox_of(p, q);
    bool all = !in->paused && !in->fetching && at_hand(p, q) == NULL;
    return all && in->fetched >= log_stable_end(log_of(p, q)) ? in->fetched : -1;
}

static void port_forget(void *ctx, struct target_id *target)
{
    (void)ctx;
    target->handle = NULL;
}

static void port_notice(void *ctx, const struct notice *notice)
{
    struct process *p = ctx;
    trace(p->world, p, "notice %d of %d/%d/%lld: %s", (int)notice->kind, notice->queue.slot,
          notice->queue.lane, (long long)notice->offset,
          notice->reason == NULL ? "" : notice->reason);
    p->world->notices[notice->kind]++;
    p->refusals_told += notice->kind == NOTICE_DEAD_LETTERED;
    p->failures_told += notice->kind == NOTICE_DELIVERY_FAILED;
    oracle_notice(p, notice);
}

static int64_t port_wall_ms(void *ctx)
{
    const struct process *p = ctx;
    return bug_now(p, process_clock(p)).wall_ms;
}

struct port port_of(struct process *p)
{
    return (struct port){.ctx = p,
                         .take = port_take,
                         .release = port_release,
                         .make = port_make,
                         .keep = port_keep,
                         .forward = port_forward,
                         .reports = port_reports,
                         .pause = port_pause,
                         .seek = port_seek,
                         .commit = port_commit,
                         .begin = port_begin,
                         .send_offsets = port_send_offsets,
                         .commit_transaction = port_commit_transaction,
                         .purge = port_purge,
                         .renew = port_renew,
                         .trim = port_trim,
                         .query_ends = port_query_ends,
                         .load = port_load,
                         .trim_cancels = port_trim_cancels,
                         .lookup = port_lookup,
                         .lookup_outlet = port_lookup_outlet,
                         .end = port_end,
                         .drained = port_drained,
                         .unread = port_unread,
                         .forget = port_forget,
                         .notice = port_notice,
                         .wall_ms = port_wall_ms};
}
