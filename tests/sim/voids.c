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
    return cancel->voids && cancel->offset > request->offset && same_name(cancel, request) &&
           cancel->schedule == request->schedule;
}

void void_written(struct world *w, struct request *cancel)
{
    cancel->next_cancel = w->cancels;
    w->cancels = cancel;
    for (struct request *r = w->requests; r != NULL; r = r->next) {
        if (voids(cancel, r))
            r->voided_by = cancel;
    }
}

bool void_is_allowed(const struct request *r)
{
    return r->voided_by != NULL;
}

/* The process has written its entry, or the cancel stood on the schedule topic when it got the
   lane. */
static bool binds(const struct process *p, const struct request *c)
{
    const struct held_lane *lane = &p->lanes[c->lane];
    if (c->applied_life == p->life && c->applied_epoch >= lane->loaded_epoch)
        return true;
    return !c->excused && !c->was_refused && c->offset < lane->schedule_end;
}

void void_check_forward(struct process *p, const struct forwarded *f)
{
    struct world *w = p->world;
    const struct request *r = f->request;
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

void void_notice(struct process *p, const struct notice *notice)
{
    struct world *w = p->world;
    if (notice->kind == NOTICE_CANCELS_VOID && !w->recreated_ok)
        world_fail(w, "p%d believes that the schedule topic of lane %d was recreated", p->id,
                   notice->queue.lane);
    if ((notice->kind == NOTICE_CANCEL_NOT_OURS || notice->kind == NOTICE_CANCEL_NEWER) &&
        !w->newer_ok)
        world_fail(w, "p%d cannot read the topic of cancels", p->id);
    bool refused = notice->kind == NOTICE_DEAD_LETTERED && notice->code == CODE_CANCELS_FULL;
    if (notice->kind != NOTICE_CANCELLED && !refused)
        return;
    struct request *r = w->requests;
    while (r != NULL && (r->lane != notice->queue.lane || r->offset != notice->offset ||
                         r->schedule != w->schedule_n))
        r = r->next;
    if (r != NULL && refused)
        r->was_refused = true;
    if (refused)
        return;
    if (r != NULL && !void_is_allowed(r))
        world_fail(w, "p%d drops request %d/%lld, which no cancel voids", p->id, r->lane,
                   (long long)r->offset);
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
