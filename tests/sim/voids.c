/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle of cancels. */
#include "tests/sim/voids.h"

#include <stdio.h>

static bool same_name(const struct request *a, const struct request *b)
{
    return a->lane == b->lane && a->named_by_id == b->named_by_id && a->name.data != NULL &&
           bytes_equal(a->name, b->name);
}

static bool voids(const struct request *cancel, const struct request *request)
{
    return cancel->voids && cancel->number > request->number && same_name(cancel, request);
}

bool void_is_sole(const struct world *w, const struct request *cancel,
                  const struct request *request)
{
    for (const struct request *c = w->cancels; c != NULL; c = c->next_cancel)
        if (c != cancel && voids(c, request))
            return false;
    return voids(cancel, request);
}

void void_written(struct world *w, struct request *cancel)
{
    cancel->next_cancel = w->cancels;
    w->cancels = cancel;
    for (struct request *r = w->requests; r != NULL; r = r->next) {
        if (voids(cancel, r) && r->op != REQUEST_CANCEL)
            r->voided_by = cancel;
    }
}

bool void_is_allowed(const struct request *r)
{
    return r->voided_by != NULL;
}

/* The process has written its entry, the cancel stood on the schedule topic when it got the lane,
   or its entry has outlived it. */
static bool binds(const struct process *p, const struct request *c)
{
    const struct held_lane *lane = &p->lanes[c->lane];
    if (c->applied_life == p->life && c->applied_epoch >= lane->loaded_epoch)
        return true;
    if (c->excused || c->was_refused)
        return false;
    return c->lost || c->schedule < p->world->schedule_n || c->offset < lane->schedule_end;
}

/* The request of a replace follows its entry, also as a dead letter. */
static void check_order(struct process *p, const struct forwarded *f)
{
    const struct request *r = f->request;
    bool refused = f->forward->kind == FORWARD_DEAD && f->forward->env == NULL &&
                   f->forward->refusal->code == CODE_CANCELS_FULL;
    if (r->op == REQUEST_REPLACE && r->voids && r->entries == 0 && !refused)
        world_fail(p->world, "p%d forwards the replace %d/%lld before its entry", p->id, r->lane,
                   (long long)r->offset);
}

void void_check_forward(struct process *p, const struct forwarded *f)
{
    struct world *w = p->world;
    const struct request *r = f->request;
    if (r != NULL)
        check_order(p, f);
    if (r == NULL || r->voided_by == NULL ||
        (f->forward->kind == FORWARD_DEAD && f->forward->env == NULL))
        return;
    for (const struct request *c = w->cancels; c != NULL; c = c->next_cancel) {
        if (voids(c, r) && binds(p, c))
            world_fail(w, "p%d forwards %d/%d/%lld, request %d/%lld, which %d/%lld voids", p->id,
                       f->forward->from.slot, f->forward->from.lane, (long long)f->input->offset,
                       r->lane, (long long)r->offset, c->lane, (long long)c->offset);
    }
}

static int64_t number_at(struct bytes value, size_t at)
{
    uint64_t number = 0;
    for (size_t i = 8; i > 0; i--)
        number = number << 8 | ((const uint8_t *)value.data)[at + i - 1];
    return (int64_t)number;
}

void void_check_entry(struct process *p, const struct forwarded *f)
{
    struct world *w = p->world;
    struct request *c = f->request;
    const struct record *record = f->forward->record;
    if (!p->may_act || !p->lanes[f->forward->from.lane].owned)
        world_fail(w, "p%d writes a cancel of a lane that it has lost, or while it settles", p->id);
    if (p->unproven)
        world_fail(w, "p%d writes a cancel before a commit has proved its lanes", p->id);
    if (c == NULL && memcmp(record->value.data, "DLBC", 4) == 0)
        world_fail(w, "p%d writes an entry of no cancel", p->id);
    if (c == NULL)
        return;
    const char *bytes = record->value.data;
    if (!c->voids)
        world_fail(w, "p%d writes an entry of %d/%lld, which voids nothing", p->id, c->lane,
                   (long long)c->offset);
    if (memcmp(bytes, "DLBC\1", 5) != 0 || bytes[5] != c->named_by_id ||
        bytes[6] != (c->op == REQUEST_REPLACE) || number_at(record->value, 16) != c->offset ||
        !bytes_equal(record->key, c->name))
        world_fail(w, "the entry of %d/%lld says something else", c->lane, (long long)c->offset);
    c->applied_life = p->life;
    c->applied_epoch = p->lanes[c->lane].epoch;
    c->came_later = c->offset >= p->lanes[c->lane].schedule_end;
}

/* Entries of a table of this much memory, four of five slots. */
static int64_t entries_max(const struct world *w)
{
    int64_t slots = (int64_t)w->setup.cancel_memory / 16;
    return (slots < 5 ? 5 : slots) / 5 * 4;
}

static int64_t share_of(const struct world *w)
{
    return entries_max(w) / w->setup.lanes;
}

/* Returns how many seals a lane may have written and not trimmed: 134, and then ever fewer, since
   the time between two of them doubles. */
static int64_t seals_max(const struct world *w)
{
    enum { AT_FIRST = 134, AFTER_DOUBLING = 64, DOUBLINGS = 6 };
    return AT_FIRST + DOUBLINGS * AFTER_DOUBLING + w->now_ms / (w->setup.seal_ms << DOUBLINGS);
}

/* Counts the cancels of a lane with an entry that this owner has written and that is not trimmed.
   Those that it found on the schedule topic are restored, for which there is no limit. */
static int64_t logged_n(const struct process *p, int lane)
{
    const struct world *w = p->world;
    const struct held_lane *held = &p->lanes[lane];
    int64_t start = w->broker.logs[TOPIC_CANCELS][lane].start, n = 0;
    for (const struct request *c = w->cancels; c != NULL; c = c->next_cancel)
        n += c->lane == lane && c->entries > 0 && c->entry_offset >= start && c->came_later &&
             c->applied_life == p->life && c->applied_epoch >= held->loaded_epoch;
    return n;
}

void void_stored(struct process *p, int life, int lane, struct entry *made)
{
    struct world *w = p->world;
    const struct log *log = &w->broker.logs[TOPIC_CANCELS][lane];
    if (made->request != NULL) {
        made->request->entries++;
        made->request->entry_offset = made->offset;
    }
    int64_t seals = 0;
    for (size_t i = log_find(log, log->start); i < log->n; i++)
        seals += log->entries[i]->request == NULL;
    if (seals > seals_max(w))
        world_fail(w, "lane %d has %lld seals that are not trimmed", lane, (long long)seals);
    if (!p->up || p->life != life || !p->lanes[lane].owned)
        return;
    int64_t entries = logged_n(p, lane), most = 2 * (share_of(w) + 134);
    if (entries > most)
        world_fail(w, "lane %d has %lld entries that are not trimmed, and may have %lld", lane,
                   (long long)entries, (long long)most);
}

void void_check_bounds(struct process *p)
{
    struct world *w = p->world;
    int64_t entries = (int64_t)counter_read(&p->stats.cancel_entries);
    int64_t most = later_of(entries_max(w), p->entries_restored);
    if (w->setup.cancel_memory > 0 && entries > most)
        world_fail(w, "p%d has %lld cancels in force, and may have %lld", p->id, (long long)entries,
                   (long long)most);
}

/* A cancel is done by its entry, and by nothing else. */
void void_check_outcome(struct world *w, const struct request *r)
{
    if (r->op == REQUEST_CANCEL && r->accepted == 0 && r->dead == 0)
        world_fail(w, "the cancel %d/%lld is neither accepted nor dead-lettered", r->lane,
                   (long long)r->offset);
    if (w->setup.exactly_once && r->accepted + r->dead > 1)
        world_fail(w, "the cancel %d/%lld is accepted %d times", r->lane, (long long)r->offset,
                   r->accepted);
}

static int64_t in_force(const struct world *w)
{
    int64_t n = 0;
    for (int id = 0; id < w->setup.processes; id++)
        n +=
            w->processes[id].up ? (int64_t)counter_read(&w->processes[id].stats.cancel_entries) : 0;
    return n;
}

/* A cancel dies when the fifth seal after it has passed, and that is judged with the bases of the
   query before. The time between two seals may have grown. A turn clears 64 of the slots of dead
   cancels. Worlds with seldom seals or turns are left out, since this takes them too long. */
void void_drain(struct world *w)
{
    enum { SEALS = 12, LONGEST = 64, CLEARED = 64, SELDOM_MS = 2500 };
    int64_t turns = (int64_t)w->setup.cancel_memory / 16 / CLEARED + 1;
    int64_t limit_ms =
        w->now_ms + SEALS * LONGEST * w->setup.seal_ms + 2 * turns * w->setup.leap_ms;
    if (w->setup.cancel_memory == 0 || w->setup.seal_ms > SELDOM_MS || w->setup.leap_ms > SELDOM_MS)
        return;
    while (in_force(w) > 0 && world_step(w)) {
        if (w->now_ms > limit_ms)
            world_fail(w, "%lld cancels are in force, and no record waits", (long long)in_force(w));
    }
}

/* After an abort the same generation gives the lane back, and nothing is read. */
void void_lane_gained(struct process *p, int lane, bool kept)
{
    struct world *w = p->world;
    struct held_lane *held = &p->lanes[lane];
    if (kept || w->setup.cancel_memory == 0)
        return;
    held->loaded_epoch = held->epoch;
    held->schedule_end = log_stable_end(&w->broker.logs[TOPIC_SCHEDULE][lane]);
}

/* Returns the request that has this offset of the schedule topic now (`any`), or one that had it
   and may be void. */
static struct request *find_void(struct world *w, const struct notice *notice, bool any)
{
    struct request *r = w->requests;
    while (r != NULL && (r->lane != notice->queue.lane || r->offset != notice->offset ||
                         (any ? r->lost || r->schedule != w->schedule_n : !void_is_allowed(r))))
        r = r->next;
    return r;
}

void void_notice(struct process *p, const struct notice *notice)
{
    struct world *w = p->world;
    if ((notice->kind == NOTICE_LOG_CUT || notice->kind == NOTICE_LOG_REPLACED) && !w->recreated_ok)
        world_fail(w, "p%d believes that the schedule topic of lane %d is another log", p->id,
                   notice->queue.lane);
    if ((notice->kind == NOTICE_CANCEL_NOT_OURS || notice->kind == NOTICE_CANCEL_NEWER) &&
        !w->newer_ok)
        world_fail(w, "p%d cannot read the topic of cancels", p->id);
    if (notice->kind == NOTICE_CANCELS_GREW) {
        if (counter_read(&p->stats.lanes_restoring) == 0)
            world_fail(w, "p%d has a larger table, and restores no lane", p->id);
        p->entries_restored = notice->count;
    }
    bool refused = notice->kind == NOTICE_DEAD_LETTERED && notice->code == CODE_CANCELS_FULL;
    if (notice->kind != NOTICE_CANCELLED && !refused)
        return;
    struct request *r = find_void(w, notice, refused);
    if (r != NULL && refused)
        r->was_refused = true;
    if (refused)
        return;
    if (r == NULL)
        world_fail(w, "p%d drops request %d/%lld, which no cancel voids", p->id, notice->queue.lane,
                   (long long)notice->offset);
    w->voided_n++;
}

void void_covered(struct world *w, struct entry *entry)
{
    struct request *r = entry->request;
    if (entry->done || entry->gone || r == NULL || !void_is_allowed(r))
        return;
    entry->done = true;
    w->broker.undone_n--;
    r->voided++;
    if (w->setup.exactly_once && r->delivered + r->dead + r->voided > 1)
        world_fail(w, "request %d/%lld is voided, and %d times delivered", r->lane,
                   (long long)r->offset, r->delivered);
    if (r->finished)
        return;
    r->finished = true;
    r->finished_ms = w->now_ms;
    if (!r->excused)
        w->open_n--;
}
