/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of forwarding: when, how often and with which bytes a record may be forwarded, and its
   outcome at the end. */
#include "tests/sim/oracle.h"
#include "tests/sim/facts.h"
#include "tests/sim/operators.h"
#include "tests/sim/retries.h"
#include "tests/sim/spreads.h"
#include "tests/sim/voids.h"

#include <limits.h>

#include <assert.h>
#include <stdio.h>

static struct target_model *target_of(struct world *w, const struct request *r)
{
    int i = 0;
    while (strcmp(w->targets[i].name, r->target) != 0)
        i++;
    return &w->targets[i];
}

/* Counts failed attempts. A target that has refused a record without a key refuses all of them, so
   the bridge need not try. */
static int failures_of(struct world *w, const struct request *r)
{
    return r->key.data == NULL && target_of(w, r)->refuses_keyless ? INT_MAX : r->failures;
}

/* Returns whether a record whose success was reported may not be done yet. If its lane is read
   again, it is forwarded again. */
static bool waits_for_events(const struct world *w)
{
    return w->setup.events != 0 && !w->setup.events_lossy && !w->setup.exactly_once;
}

/* Names the place of a record in messages about failures. */
#define AT(q, offset) (q).slot, (q).lane, (long long)(offset)

/* A process must not forward a record again if it knows that the record is done. It does not know
   if the last attempt failed or has no outcome. Nor does it know if it read the lane's progress
   before the first attempt was committed. Without an offset of the group, records in flight may
   belong to an earlier topic, and prove nothing. The same is true of an unreadable range after
   another owner, since it has no bytes to compare. */
static void check_repeat(struct process *p, const struct forwarded *f)
{
    struct world *w = p->world;
    struct queue_id q = f->forward->from;
    const struct held_lane *lane = &p->lanes[q.lane];
    const struct committed *start = lane->start[p->topic_of_slot[q.slot]];
    int known_epoch = lane->fresh_epoch[p->topic_of_slot[q.slot]];
    if (f->input->unreadable_end > 0 && lane->away_epoch > known_epoch)
        known_epoch = lane->away_epoch;
    if (committed_covers(start, f->input->offset) && start->cuts >= f->input->cuts)
        world_fail(w,
                   "p%d forwards %d/%d/%lld again, but it was committed as done when the lane was "
                   "assigned",
                   p->id, AT(q, f->input->offset));
    for (const struct attempt *a = f->input->attempts; a != NULL; a = a->next) {
        if (a->state == ATTEMPT_FAILED || a->state == ATTEMPT_LOST ||
            (a->life == p->life && a->sent_epoch < known_epoch))
            continue;
        if (a->life == p->life && a->state == ATTEMPT_FLYING)
            world_fail(w, "p%d forwards %d/%d/%lld while it is still in flight", p->id,
                       AT(q, f->input->offset));
        if (waits_for_events(w))
            continue;
        if (a->life == p->life && a->told_epoch == lane->epoch)
            world_fail(w, "p%d forwards %d/%d/%lld after the report that it is stored", p->id,
                       AT(q, f->input->offset));
        if (a->state == ATTEMPT_OK && start != NULL && start->life == a->life &&
            start->epoch == a->told_epoch && a->told_step < start->sent_step)
            world_fail(w,
                       "%d/%d/%lld was acknowledged at step %llu, and the progress committed at "
                       "step %llu does not say so",
                       AT(q, f->input->offset), (unsigned long long)a->told_step,
                       (unsigned long long)start->sent_step);
    }
}

static void check_bytes(struct process *p, const struct forwarded *f, struct bytes key)
{
    const struct request *r = f->request;
    const struct envelope *env = f->forward->env;
    struct queue_id q = f->forward->from;
    if (!bytes_equal(key, r->key))
        world_fail(p->world, "%d/%d/%lld: another key", AT(q, f->input->offset));
    if (!bytes_equal(env->value, r->value))
        world_fail(p->world, "%d/%d/%lld: another value", AT(q, f->input->offset));
    size_t at = 0, n = 0;
    for (struct header header; envelope_header_next(env, &at, &header); n++) {
        if (n >= r->headers_n || strcmp(header.name, r->headers[n].name) != 0 ||
            !bytes_equal(header.value, r->headers[n].value))
            world_fail(p->world, "%d/%d/%lld: header %zu differs", AT(q, f->input->offset), n);
    }
    if (n != r->headers_n)
        world_fail(p->world, "%d/%d/%lld: %zu headers, not %zu", AT(q, f->input->offset), n,
                   r->headers_n);
}

/* Checks that the stamp agrees with the request. */
static void check_stamp(struct process *p, const struct forwarded *f, const struct stamp *stamp)
{
    struct request *r = f->request;
    struct world *w = p->world;
    struct queue_id q = f->forward->from;
    int64_t due_ms = r->due_ms;
    if (r->retry.number > 0) {
        retries_check(p, r, stamp);
        due_ms = stamp->due_ms;
    } else if (due_ms == DUE_UNKNOWN) {
        due_ms = stamp->timestamp_ms + r->delay_ms;
        int64_t read_ms = stamp->timestamp_ms - EPOCH_MS;
        if (read_ms < r->appended_ms - w->skew_ms_max || read_ms > w->now_ms + w->skew_ms_max)
            world_fail(
                w, "a request without a timestamp has a stamp of another time than its reading");
    }
    if (r->spread_ms > 0) {
        spreads_check(w, r, stamp, due_ms);
        due_ms = stamp->due_ms;
    }
    if (stamp->due_ms != due_ms || stamp->expires_ms != r->expires_ms)
        world_fail(w, "%d/%d/%lld: another due time or expiry", AT(q, f->input->offset));
    if (stamp->origin_lane != (uint32_t)r->lane || stamp->origin_offset != r->offset)
        world_fail(w, "%d/%d/%lld: another origin", AT(q, f->input->offset));
    if (!bytes_equal(stamp->id, r->id) || !bytes_equal(stamp->target, bytes_text(r->target)))
        world_fail(w, "%d/%d/%lld: another id or target", AT(q, f->input->offset));
    if (stamp->attempt > failures_of(w, r) && w->skew_ms_max == 0)
        world_fail(w, "%d/%d/%lld: %d attempts of request %d/%lld, but only %d failed",
                   AT(q, f->input->offset), stamp->attempt, r->lane, (long long)r->offset,
                   r->failures);
}

static void check_delivery(struct process *p, const struct forwarded *f)
{
    struct world *w = p->world;
    const struct request *r = f->request;
    struct queue_id q = f->forward->from;
    if (r == NULL || r->expect != CODE_OK)
        world_fail(w, "%d/%d/%lld is delivered, but must be refused", AT(q, f->input->offset));
    const struct stamp *stamp = &f->forward->env->stamp;
    check_stamp(p, f, stamp);
    operators_check_delivery(p, f);
    check_bytes(p, f, stamp->key_overridden ? stamp->key : f->forward->record->key);
    if (strcmp(f->forward->target->name, r->target) != 0)
        world_fail(w, "%d/%d/%lld goes to %s, not %s", AT(q, f->input->offset),
                   f->forward->target->name, r->target);
    if (p->clock.wall_ms < stamp->due_ms)
        world_fail(w, "p%d is early: %d/%d/%lld is due in %lld ms", p->id, AT(q, f->input->offset),
                   (long long)(stamp->due_ms - p->clock.wall_ms));
    if (later_of(p->clock.wall_ms, process_clock(p).wall_ms) > r->expires_ms)
        world_fail(w, "p%d delivers %d/%d/%lld, which has expired", p->id, AT(q, f->input->offset));
    int64_t due_ms = later_of(p->ready_ms, later_of(stamp->due_ms - EPOCH_MS, r->appended_ms));
    int64_t late_ms = w->setup.exactly_once ? CALM_LATE_EXACTLY_ONCE_MS : CALM_LATE_MS;
    if (w->setup.is_calm && w->acts == NULL && w->now_ms > due_ms + late_ms)
        world_fail(w, "%d/%d/%lld is %lld ms late without any fault", AT(q, f->input->offset),
                   (long long)(w->now_ms - due_ms));
}

/* Checks that a postponed record has the reason, and that any other record has no optional fields,
   as older programs require. */
static void check_extras(struct process *p, const struct forwarded *f, const struct stamp *stamp)
{
    struct queue_id q = f->forward->from;
    struct extras without_retry = stamp->extras;
    without_retry.is_retry &= f->request->retry.number == 0;
    const struct extras *extras = &without_retry;
    bool put_back = stamp->next_try_ms != 0;
    bool withheld = extras->deferral == DEFERRAL_PAUSED || extras->deferral == DEFERRAL_LIMITED;
    bool was_older = put_back && extras_are_none(extras) && f->input->value.data != NULL &&
                     memcmp(f->input->value.data, "DLBE\1", 5) == 0;
    if (put_back && !was_older && !withheld &&
        (extras->error_code == 0 || bytes_is_null(extras->error)))
        world_fail(p->world, "%d/%d/%lld was postponed without a reason", AT(q, f->input->offset));
    if (!put_back && !extras_are_none(extras))
        world_fail(p->world, "%d/%d/%lld has optional fields without need",
                   AT(q, f->input->offset));
}

static void check_hop(struct process *p, const struct forwarded *f)
{
    struct world *w = p->world;
    struct queue_id q = f->forward->from;
    struct envelope env;
    if (f->forward->slot < 1 || f->forward->slot > p->ladder->n)
        world_fail(w, "p%d hops to slot %d, which is not a written level", p->id, f->forward->slot);
    if (w->missing[p->topic_of_slot[f->forward->slot]])
        world_fail(w, "p%d hops to slot %d, whose topic is gone", p->id, f->forward->slot);
    if (f->request == NULL || f->request->expect != CODE_OK)
        world_fail(w, "%d/%d/%lld hops, but must be refused", AT(q, f->input->offset));
    if (envelope_open(f->forward->record->value, &env) != 0)
        world_fail(w, "%d/%d/%lld hops, but is not an envelope", AT(q, f->input->offset));
    struct forward opened = *f->forward;
    opened.env = &env;
    struct forwarded with = {.forward = &opened, .input = f->input, .request = f->request};
    check_stamp(p, &with, &env.stamp);
    check_bytes(p, &with, env.stamp.key_overridden ? env.stamp.key : f->forward->record->key);
    check_extras(p, &with, &env.stamp);
    operators_check_hop(p, &with, &env.stamp);
    if (env.stamp.extras.deferral != DEFERRAL_LIMITED &&
        env.stamp.next_try_ms > p->clock.wall_ms + RETRY_MS_MAX + 2 * w->skew_ms_max)
        world_fail(w, "%d/%d/%lld is tried again too late", AT(q, f->input->offset));
}

/* Checks the request limit. A broker closes the connection on a larger request, and the client
   repeats it without end. All other records of the connection wait. */
static void check_request_size(const struct process *p, const struct forwarded *f)
{
    struct world *w = p->world;
    const struct forward *forward = f->forward;
    const struct bytes *value =
        forward->env != NULL ? &forward->env->value : &forward->record->value;
    size_t size = forward->content == DEAD_LETTER_REASON_ONLY ? 0 : forward->record->key.len;
    if (forward->content == DEAD_LETTER_FULL)
        size += value->len;
    if (w->setup.request_max_bytes > 0 && size > w->setup.request_max_bytes)
        world_fail(w, "%d/%d/%lld is sent with %zu bytes, more than any broker takes",
                   AT(forward->from, f->input->offset), size);
}

/* The bytes that the bridge may add to a request until it is delivered, and to its dead letter. */
enum { LIFE_BYTES_MAX = 5200, LETTER_BYTES_MAX = 2600 };

static bool may_pass(const struct world *w, size_t size, size_t added)
{
    return w->setup.request_max_bytes == 0 || size + added <= w->setup.request_max_bytes;
}

/* Returns whether a request that should be delivered may be dead-lettered with this code. */
static bool may_die(struct process *p, const struct forwarded *f, enum code code)
{
    const struct request *r = f->request;
    switch (code) {
    case CODE_EXPIRED: /* it was judged earlier, and the clock may have stepped since */
        return later_of(p->clock.wall_ms, process_clock(p).wall_ms) + 2 * p->world->skew_ms_max >
               r->expires_ms;
    case CODE_TOO_LARGE:
        return r->value.len > TARGET_BYTES_MAX || f->input->key.len > TARGET_BYTES_MAX ||
               !may_pass(p->world, r->value.len + f->input->key.len, LIFE_BYTES_MAX);
    case CODE_TARGET_FAILED:
        return (failures_of(p->world, r) >= p->world->setup.max_attempts ||
                p->world->skew_ms_max > 0) &&
               f->forward->env->stamp.attempt + 1 == p->world->setup.max_attempts;
    default:
        return false;
    }
}

static void check_dead(struct process *p, const struct forwarded *f)
{
    struct world *w = p->world;
    const struct forward *forward = f->forward;
    const struct request *r = f->request;
    enum code code = forward->refusal->code;
    bool fair;
    if (r == NULL)
        fair = code == (f->input->unreadable_end > 0 ? CODE_UNREADABLE : CODE_NOT_OURS) &&
               forward->env == NULL;
    else if (code == CODE_CANCELS_FULL)
        fair = r->voids && forward->env == NULL;
    else if (r->expect != CODE_OK)
        fair = code == r->expect && forward->env == NULL;
    else /* an expired or too large request is refused unchanged */
        fair = (forward->env != NULL || code == CODE_EXPIRED ||
                (code == CODE_TOO_LARGE && w->setup.request_max_bytes > 0)) &&
               may_die(p, f, code);
    if (!fair)
        world_fail(w, "%d/%d/%lld goes to the dead-letter topic as %s (%s), which is not expected",
                   AT(forward->from, f->input->offset), code_name(code), forward->refusal->reason);
    if (code == CODE_CANCELS_FULL)
        f->request->was_refused = true;
    if (r != NULL)
        f->request->letter_forward = w->forwards;
    if (forward->refusal->reason[0] == '\0')
        world_fail(w, "a dead letter without a reason");
    if (code == CODE_TOO_LARGE && strstr(forward->refusal->reason, " bytes") == NULL)
        world_fail(w, "the reason of a too large record does not name its size");
    size_t key_len = f->input->key.len, value_len = r == NULL ? 0 : r->value.len;
    if (f->input->unreadable_end > 0)
        return;
    if (forward->content != DEAD_LETTER_FULL && key_len <= DEAD_BYTES_MAX &&
        value_len <= DEAD_BYTES_MAX && may_pass(w, key_len + value_len, LETTER_BYTES_MAX))
        world_fail(w, "a dead letter lost its value, which would fit");
    if (port_pins_batch(forward->record))
        world_fail(w, "a dead letter pins the batch that its record was fetched in");
    if (forward->content == DEAD_LETTER_REASON_ONLY && key_len <= DEAD_BYTES_MAX &&
        may_pass(w, key_len, LETTER_BYTES_MAX))
        world_fail(w, "a dead letter lost its key, which would fit");
    if (forward->env != NULL) {
        const struct stamp *stamp = &forward->env->stamp;
        check_stamp(p, f, stamp);
        check_bytes(p, f, stamp->key_overridden ? stamp->key : forward->record->key);
    } else if (!bytes_equal(forward->record->key, f->input->key) ||
               (forward->content == DEAD_LETTER_FULL &&
                !bytes_equal(forward->record->value, f->input->value)) ||
               (forward->from.slot == SLOT_SCHEDULE &&
                forward->record->headers_n != f->input->headers_n)) {
        world_fail(w, "a refused record was changed");
    }
}

/* Checks the timestamp. A hop has the time of the clock that chose its level. Any other record has
   the current time, but never one before the turn's clock, which judged that the record is due. */
static void check_timestamp(struct process *p, const struct forwarded *f)
{
    struct world *w = p->world;
    const struct request *r = f->request;
    int64_t stamp_ms = f->forward->timestamp_wall_ms;
    bool hop = f->forward->kind == FORWARD_LEVEL;
    if (!hop && w->skew_ms_max == 0 && r != NULL && stamp_ms < EPOCH_MS + r->appended_ms)
        world_fail(w, "%d/%d/%lld is stamped %lld ms before its request was written",
                   AT(f->forward->from, f->input->offset),
                   (long long)(EPOCH_MS + r->appended_ms - stamp_ms));
    if (f->forward->kind == FORWARD_TARGET && stamp_ms < f->forward->env->stamp.due_ms)
        world_fail(w, "%d/%d/%lld is stamped before it is due",
                   AT(f->forward->from, f->input->offset));
    int64_t turn_ms = p->now.wall_ms;
    if (stamp_ms != (hop ? turn_ms : later_of(turn_ms, bug_now(p, process_clock(p)).wall_ms)))
        world_fail(w, "p%d stamps a record with a time that is not now", p->id);
}

/* completes: its success makes the input done. */
static struct attempt *add_attempt(struct process *p, struct forwarded *f, bool completes)
{
    struct attempt *a = arena_take(&p->world->arena, sizeof *a);
    *a = (struct attempt){.next = f->input->attempts,
                          .life = p->life,
                          .offset = f->input->offset,
                          .sent_step = p->world->step,
                          .sent_epoch = p->lanes[f->forward->from.lane].epoch,
                          .told_epoch = -1};
    if (completes)
        f->input->attempts = a;
    return a;
}

struct attempt *oracle_forwarded(struct process *p, struct forwarded *f)
{
    struct world *w = p->world;
    struct queue_id q = f->forward->from;
    if (f->forward->kind == FORWARD_CANCEL) {
        void_check_entry(p, f);
        return add_attempt(p, f, f->request != NULL && f->request->op == REQUEST_CANCEL);
    }
    if (!p->may_act || !p->lanes[q.lane].owned)
        world_fail(w, "p%d forwards %d/%d/%lld %s", p->id, AT(q, f->input->offset),
                   p->may_act ? "of a lane that it has lost" : "while it settles");
    if (p->unproven)
        world_fail(w, "p%d forwards after a long pause, before a commit has proved its lanes",
                   p->id);
    check_timestamp(p, f);
    void_check_forward(p, f);
    check_repeat(p, f);
    w->repeats += f->input->attempts != NULL;
    check_request_size(p, f);
    if (f->forward->kind == FORWARD_TARGET)
        check_delivery(p, f);
    else if (f->forward->kind == FORWARD_LEVEL)
        check_hop(p, f);
    else
        check_dead(p, f);
    return add_attempt(p, f, true);
}

/* Returns whether the window of this life may not reach the record: it was sent in an earlier life,
   far above the committed offset. */
static bool beyond_the_window(const struct attempt *a, int epoch, const struct committed *c)
{
    return a->sent_epoch != epoch && c != NULL && a->offset - c->base >= WINDOW_SPAN;
}

void oracle_told(struct process *p, struct attempt *a, struct queue_id from,
                 struct request *request, enum forward_kind kind, enum report report)
{
    const struct held_lane *lane = &p->lanes[from.lane];
    if (a->state != ATTEMPT_LOST)
        a->state = report == REPORT_OK ? ATTEMPT_OK : ATTEMPT_FAILED;
    a->told_step = p->world->step;
    a->told_ms = p->world->now_ms;
    a->told_epoch = lane->owned ? lane->epoch : -1;
    /* the bridge cannot note this for a queue without a committed or read record */
    int topic = p->topic_of_slot[from.slot];
    if (lane->start[topic] == NULL && !p->inboxes[from.index].was_read)
        a->told_epoch = -1;
    /* nor if the group had no offset since, or the lane had another owner: the record may belong to
       an earlier topic */
    if (a->sent_epoch < lane->fresh_epoch[topic] || a->sent_epoch < lane->away_epoch)
        a->told_epoch = -1;
    /* an entry from before the lane was read again proves nothing: so is its cancel */
    if (kind == FORWARD_CANCEL && (a->sent_epoch != lane->epoch || a->sent_step < p->reread_step))
        a->told_epoch = -1;
    if (beyond_the_window(a, lane->epoch, p->world->broker.committed[topic][from.lane]))
        a->told_epoch = -1;
    if (request == NULL || kind != FORWARD_TARGET)
        return;
    bool unfit = report == REPORT_UNFIT && target_of(p->world, request)->mood == TARGET_UNKEYED;
    if (report == REPORT_TIMED_OUT || unfit)
        request->failures++;
    if (report == REPORT_REFUSED)
        oracle_target_failed(p->world, request->target);
    if (report == REPORT_UNFIT && request->key.data == NULL)
        target_of(p->world, request)->refuses_keyless = true;
}

void oracle_finished(struct world *w, struct request *r, enum forward_kind kind)
{
    if (kind == FORWARD_TARGET)
        r->delivered++;
    else if (kind == FORWARD_DEAD)
        r->dead++;
    else if (kind == FORWARD_CANCEL)
        r->accepted++;
    if (w->setup.exactly_once && r->delivered + r->dead + r->voided > 1)
        world_fail(w, "request %d/%lld is doubled: %d deliveries and %d dead letters", r->lane,
                   (long long)r->offset, r->delivered, r->dead);
    if (r->finished)
        return;
    r->finished = true;
    r->finished_ms = w->now_ms;
    if (!r->excused)
        w->open_n--;
}

/* Returns the time of all requests in the memory, if it has room for one at a time. A record stays
   until its report. With exactly-once, it stays until the commit. One that is due soon is held. The
   mean of each time is an eighth of the longest. */
static int64_t memory_patience_ms(const struct world *w)
{
    enum { RECORD_MEMORY = 4096, MEAN = 8 };
    const struct knobs *knobs = &w->knobs;
    int64_t stay_ms = w->setup.ladder.hold_ms + knobs->land_ms + knobs->report_ms + knobs->turn_ms;
    if (w->setup.exactly_once)
        stay_ms += knobs->mark_ms + knobs->commit_ms;
    return (int64_t)w->requests_n * stay_ms / MEAN * RECORD_MEMORY / w->setup.memory_bytes;
}

/* Returns the time of all requests if transactions are so small that each has its own. The calls of
   a transaction follow one another. */
static int64_t transaction_patience_ms(const struct world *w)
{
    enum { MEAN = 8 };
    const struct knobs *knobs = &w->knobs;
    if (w->setup.txn_bytes_max == 0)
        return 0;
    int64_t each_ms = knobs->land_ms + knobs->report_ms + 2 * knobs->commit_ms + knobs->mark_ms +
                      4 * knobs->turn_ms;
    return (int64_t)w->requests_n * each_ms / MEAN;
}

static int64_t patience_ms(const struct world *w)
{
    int64_t ms = (w->setup.exactly_once ? 120000 : 60000) + 2 * w->skew_ms_max +
                 4 * w->setup.leap_ms + 3 * w->setup.session_ms;
    if (w->setup.cancel_memory > 0) /* a lane is restored, and entries are sent first */
        ms += 12 * w->setup.leap_ms;
    for (int i = 1; i < w->setup.max_attempts; i++)
        ms += i <= 2 ? 2 * 10000 : i <= 4 ? 2 * 60000 : 2 * RETRY_MS_MAX;
    return ms + operators_patience_ms(w) + memory_patience_ms(w) + transaction_patience_ms(w);
}

/* Returns the latest possible due time of the request, in virtual time. A request without a
   timestamp is due a delay after its reading, and faults may keep it from being read. */
static int64_t due_of(const struct world *w, const struct request *r)
{
    if (r->due_ms == DUE_UNKNOWN)
        return later_of(r->appended_ms, w->quiet_ms) + r->delay_ms + w->skew_ms_max;
    return r->due_ms - EPOCH_MS + r->spread_ms;
}

int64_t oracle_limit_ms(const struct world *w)
{
    int64_t due_ms = w->quiet_ms;
    for (const struct request *r = w->requests; r != NULL; r = r->next)
        due_ms = later_of(due_ms, due_of(w, r)); /* excused requests may have copies, too */
    return due_ms + patience_ms(w);
}

static void check_request(struct world *w, const struct request *r)
{
    int64_t due_ms = due_of(w, r);
    int64_t limit_ms = later_of(later_of(due_ms, w->quiet_ms), r->appended_ms) + patience_ms(w);
    if (r->excused)
        return;
    if (!r->finished)
        world_fail(w, "request %d/%lld (due %.3f s, to %s) has no outcome", r->lane,
                   (long long)r->offset, (double)due_ms / 1000, r->target);
    if (r->finished_ms > limit_ms)
        world_fail(w, "request %d/%lld (due %.3f s) took until %.3f s", r->lane,
                   (long long)r->offset, (double)due_ms / 1000, (double)r->finished_ms / 1000);
    if (r->expect != CODE_OK && r->delivered > 0)
        world_fail(w, "request %d/%lld was both delivered and refused", r->lane,
                   (long long)r->offset);
    void_check_outcome(w, r);
}

/* Checks that every record of the log is done, and that the progress is committed if the lane has
   any commit. */
static void check_log(struct world *w, int topic, int lane)
{
    const struct log *log = &w->broker.logs[topic][lane];
    const struct committed *c = w->broker.committed[topic][lane];
    for (size_t i = 0; i < log->n; i++) {
        const struct entry *entry = log->entries[i];
        if (entry->gone)
            continue;
        if (!entry->done || (entry->foreign && entry->verdicts == 0))
            world_fail(w, "topic %d lane %d offset %lld is not done", topic, lane,
                       (long long)entry->offset);
        if (!committed_covers(c, entry->offset))
            world_fail(w, "topic %d lane %d offset %lld is done, but not committed", topic, lane,
                       (long long)entry->offset);
    }
}

bool oracle_all_committed(const struct world *w)
{
    for (int topic = 0; topic < w->broker.topics; topic++) {
        for (int lane = 0; lane < w->setup.lanes; lane++) {
            const struct log *log = &w->broker.logs[topic][lane];
            const struct committed *c = w->broker.committed[topic][lane];
            for (size_t i = log_find(log, c ? c->base : 0); i < log->n; i++) {
                if (!log->entries[i]->gone && !committed_covers(c, log->entries[i]->offset))
                    return false;
            }
        }
    }
    return true;
}

void oracle_final(struct world *w)
{
    facts_final(w);
    for (const struct request *r = w->requests; r != NULL; r = r->next)
        check_request(w, r);
    for (int topic = 0; topic < w->broker.topics; topic++) {
        for (int lane = 0; lane < w->setup.lanes; lane++)
            check_log(w, topic, lane);
    }
}
