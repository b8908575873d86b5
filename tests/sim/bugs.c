/* SPDX-License-Identifier: Apache-2.0 */
/* The layer that lies. Each bug imitates the effect of a plausible mistake in a port or in the
   bridge. */
#include "tests/sim/world.h"

#include <stdio.h>

enum { FAKES_MAX = 4096 };

struct liar {
    struct port real;
    struct parcel *fakes[FAKES_MAX]; /* DONE_AT_ENQUEUE */
    int fakes_n;
    const struct parcel *faked[FAKES_MAX]; /* CANCEL_DONE_AT_INSERT */
    int faked_n;
    struct record *stash[QUEUES_MAX];     /* ORDER_SWAPPED */
    struct bytes text_before[QUEUES_MAX]; /* METADATA_OF_ANOTHER_BASE */
    struct start sent[QUEUES_MAX];        /* START_AS_SENT */
    struct refusal refusal;
};

#define BUG_NAME(id, name, text) name,
#define BUG_TEXT(id, name, text) text,
static const char *names[] = {"none", BUG_TABLE(BUG_NAME)};
static const char *texts[] = {"no bug", BUG_TABLE(BUG_TEXT)};

const char *bug_name(enum bug bug)
{
    return names[bug];
}

const char *bug_text(enum bug bug)
{
    return texts[bug];
}

enum bug bug_by_name(const char *name)
{
    int bug = BUG_NONE;
    while (bug < BUG_N && strcmp(names[bug], name) != 0)
        bug++;
    return (enum bug)bug;
}

static enum bug bug_of(const struct process *p)
{
    return p->world->bug;
}

/* Lies in one of n calls, since any test would find a bug that always shows. */
static bool sometimes(const struct process *p, int n)
{
    return rng_int(&p->world->rng, 1, n) == 1;
}

static struct record *lie_take(void *ctx, struct queue_id q)
{
    struct process *p = ctx;
    struct liar *liar = p->liar;
    struct record *first = liar->stash[q.index];
    liar->stash[q.index] = NULL;
    if (first != NULL)
        return first;
    first = liar->real.take(ctx, q);
    if (first != NULL && bug_of(p) == BUG_ORDER_SWAPPED && sometimes(p, 10)) {
        struct record *second = liar->real.take(ctx, q);
        if (second == NULL)
            return first;
        liar->stash[q.index] = first;
        return second;
    }
    if (first != NULL && bug_of(p) == BUG_COST_UNDERSTATED)
        first->cost_bytes /= 10;
    if (first != NULL && bug_of(p) == BUG_HEAD_FORGED)
        first->timestamp_ms += rng_int(&p->world->rng, 0, 1);
    return first;
}

static int64_t lie_unread(void *ctx, struct queue_id q)
{
    struct process *p = ctx;
    return bug_of(p) == BUG_UNREAD_UNKNOWN ? 0 : ((struct liar *)p->liar)->real.unread(ctx, q);
}

static struct record *lie_make(void *ctx, struct bytes key, size_t value_size)
{
    struct process *p = ctx;
    struct record *record = ((struct liar *)p->liar)->real.make(ctx, key, value_size);
    if (record != NULL && bug_of(p) == BUG_COST_UNDERSTATED)
        record->cost_bytes /= 10;
    return record;
}

static struct record *lie_keep(void *ctx, struct record *record)
{
    struct process *p = ctx;
    return bug_of(p) == BUG_LETTER_PINS_BATCH ? record
                                              : ((struct liar *)p->liar)->real.keep(ctx, record);
}

bool bug_reports_early(enum bug bug)
{
    return bug == BUG_DONE_AT_ENQUEUE || bug == BUG_CANCEL_DONE_AT_INSERT;
}

static int lie_forward(void *ctx, const struct forward *forward)
{
    struct process *p = ctx;
    struct liar *liar = p->liar;
    struct forward f = *forward;
    struct envelope env;
    if (bug_of(p) == BUG_NULL_IS_EMPTY && f.env != NULL && bytes_is_null(f.env->value)) {
        env = *f.env;
        env.value = bytes_text("");
        f.env = &env;
    }
    if (bug_of(p) == BUG_WRONG_CODE && f.kind == FORWARD_DEAD && sometimes(p, 10)) {
        liar->refusal = *f.refusal;
        liar->refusal.code = (enum code)(liar->refusal.code % (CODE_N - 1) + 1);
        f.refusal = &liar->refusal;
    }
    if (bug_of(p) == BUG_EVENT_LOST && f.kind == FORWARD_EVENT && liar->fakes_n < FAKES_MAX &&
        sometimes(p, 10)) {
        liar->fakes[liar->fakes_n++] = f.parcel;
        return 0;
    }
    struct record entry;
    uint8_t bytes[CANCEL_ENTRY_SIZE];
    if (bug_of(p) == BUG_ENTRY_OF_ANOTHER && f.kind == FORWARD_CANCEL &&
        f.record->value.len == sizeof bytes) {
        entry = *f.record;
        memcpy(bytes, f.record->value.data, sizeof bytes);
        bytes[16]--;
        entry.value = bytes_of(bytes, sizeof bytes);
        f.record = &entry;
    }
    int err = liar->real.forward(ctx, &f);
    bool early = bug_reports_early(bug_of(p)) &&
                 (bug_of(p) == BUG_DONE_AT_ENQUEUE || f.kind == FORWARD_CANCEL);
    if (err == 0 && early && liar->fakes_n < FAKES_MAX)
        liar->fakes[liar->fakes_n++] = f.parcel;
    return err;
}

static void lie_reports(void *ctx)
{
    struct process *p = ctx;
    struct liar *liar = p->liar;
    for (int i = 0; i < liar->fakes_n; i++) {
        if (liar->faked_n < FAKES_MAX && bug_of(p) == BUG_CANCEL_DONE_AT_INSERT)
            liar->faked[liar->faked_n++] = liar->fakes[i];
        bridge_reported(p->bridge, liar->fakes[i], REPORT_OK, "queued");
    }
    liar->fakes_n = 0;
    liar->real.reports(ctx);
}

static void lie_seek(void *ctx, struct queue_id q, int64_t offset)
{
    struct process *p = ctx;
    struct liar *liar = p->liar;
    if (bug_of(p) == BUG_PAUSE_STICKS && p->inboxes[q.index].paused)
        return;
    if (bug_of(p) == BUG_RESUME_SKIPS_HEAD && offset >= 0)
        offset++;
    if (liar->stash[q.index] != NULL)
        liar->real.release(ctx, liar->stash[q.index]);
    liar->stash[q.index] = NULL;
    liar->real.seek(ctx, q, offset);
}

static void progress_text(struct progress *progress, const char *text)
{
    progress->text_len = (size_t)snprintf(progress->text, sizeof progress->text, "%s", text);
}

static void shift_bits(struct progress *progress)
{
    struct window is, lie;
    if (window_decode(&is, progress->base, bytes_of(progress->text, progress->text_len)) != 0)
        return;
    window_init(&lie, progress->base);
    for (int64_t offset = progress->base; offset < progress->base + WINDOW_SPAN - 1; offset++) {
        if (window_is_done(&is, offset))
            window_done(&lie, offset + 1);
    }
    progress->text_len = window_encode(&lie, progress->text);
}

static void lie_progress(struct process *p, struct progress *progress)
{
    struct bytes *before = &((struct liar *)p->liar)->text_before[progress->queue.index];
    struct bytes text = bytes_of(progress->text, progress->text_len);
    switch (bug_of(p)) {
    case BUG_COMMIT_ONE_TOO_FAR:
        progress->base++;
        progress_text(progress, "");
        break;
    case BUG_BITMAP_FORGOTTEN:
        progress_text(progress, "");
        break;
    case BUG_BITMAP_SHIFTED:
        shift_bits(progress);
        break;
    case BUG_START_AS_SENT:
        ((struct liar *)p->liar)->sent[progress->queue.index] =
            (struct start){.offset = progress->base, .text = arena_copy(&p->world->arena, text)};
        break;
    case BUG_METADATA_OF_ANOTHER_BASE:
        text = arena_copy(&p->world->arena, text);
        if (before->data != NULL)
            progress_text(progress, before->data);
        *before = text;
        break;
    default:
        break;
    }
}

static struct progress *lies_of(struct process *p, const struct progress *progress, size_t n)
{
    struct progress *copy = arena_take(&p->world->arena, n * sizeof *copy);
    for (size_t i = 0; i < n; i++) {
        copy[i] = progress[i];
        lie_progress(p, &copy[i]);
    }
    return copy;
}

static void lie_commit(void *ctx, uint64_t seq, const struct progress *progress, size_t n)
{
    struct process *p = ctx;
    ((struct liar *)p->liar)->real.commit(ctx, seq, lies_of(p, progress, n), n);
    if (bug_of(p) == BUG_TOLD_TOO_SOON && sometimes(p, 10))
        bridge_committed(p->bridge, seq, true);
}

static int lie_send_offsets(void *ctx, int client, const struct progress *progress, size_t n)
{
    struct process *p = ctx;
    return ((struct liar *)p->liar)->real.send_offsets(ctx, client, lies_of(p, progress, n), n);
}

static void lie_trim(void *ctx, struct queue_id q, int64_t base)
{
    struct process *p = ctx;
    ((struct liar *)p->liar)->real.trim(ctx, q, base + (bug_of(p) == BUG_TRIM_TOO_FAR));
}

struct port bug_port(struct process *p, struct port port)
{
    if (bug_of(p) == BUG_NONE)
        return port;
    struct liar *liar = arena_take(&p->world->arena, sizeof *liar);
    liar->real = port;
    p->liar = liar;
    port.take = lie_take;
    port.unread = lie_unread;
    port.make = lie_make;
    port.keep = lie_keep;
    port.forward = lie_forward;
    port.reports = lie_reports;
    port.seek = lie_seek;
    port.commit = lie_commit;
    port.send_offsets = lie_send_offsets;
    port.trim = lie_trim;
    return port;
}

struct now bug_now(const struct process *p, struct now now)
{
    if (bug_of(p) == BUG_CLOCK_AHEAD)
        now.wall_ms++;
    if (bug_of(p) == BUG_EXPIRY_BY_SLOW_CLOCK)
        now.wall_ms -= 3600 * 1000;
    return now;
}

/* Each parcel of this list was reported when it was sent. It may be in use again. */
static bool is_faked(struct process *p, const struct parcel *parcel)
{
    struct liar *liar = p->liar;
    if (bug_of(p) != BUG_CANCEL_DONE_AT_INSERT)
        return false;
    for (int i = 0; i < liar->faked_n; i++) {
        if (liar->faked[i] != parcel)
            continue;
        liar->faked[i] = liar->faked[--liar->faked_n];
        return true;
    }
    return false;
}

void bug_reported(struct process *p, struct parcel *parcel, enum report report, const char *why)
{
    if (bug_of(p) == BUG_DONE_AT_ENQUEUE || is_faked(p, parcel))
        return;
    if (bug_of(p) == BUG_TIMEOUT_IS_SUCCESS && report == REPORT_TIMED_OUT)
        report = REPORT_OK;
    bridge_reported(p->bridge, parcel, report, why);
    if (bug_of(p) == BUG_REPORT_TWICE && report == REPORT_OK && sometimes(p, 50))
        bridge_reported(p->bridge, parcel, report, why);
}

int64_t bug_landed(const struct process *p, int64_t offset)
{
    return bug_of(p) == BUG_LANDED_AT_START ? 0 : offset;
}

bool bug_report_lost(struct process *p)
{
    return bug_of(p) == BUG_REPORT_LOST && sometimes(p, 50);
}

bool bug_commit_ok(const struct process *p, bool ok, bool unknown)
{
    return ok || (bug_of(p) == BUG_FENCED_IS_SUCCESS && !unknown) ||
           (bug_of(p) == BUG_UNKNOWN_IS_SUCCESS && unknown);
}

bool bug_reads_unstable(const struct process *p)
{
    return bug_of(p) == BUG_READS_UNSTABLE;
}

void bug_lane_lost(struct process *p, int lane)
{
    if (bug_of(p) != BUG_LANE_KEPT)
        bridge_lane_lost(p->bridge, lane);
    bug_forget(p, lane);
}

void bug_forget(struct process *p, int lane)
{
    struct liar *liar = p->liar;
    for (int i = lane * p->slots; liar != NULL && i < (lane + 1) * p->slots; i++) {
        if (liar->stash[i] != NULL)
            liar->real.release(p, liar->stash[i]);
        liar->stash[i] = NULL;
    }
}

int64_t bug_range_end(const struct process *p, int64_t end)
{
    return bug_of(p) == BUG_RANGE_TOO_LONG ? end + 1 : end;
}

void bug_out_of_range(struct process *p, struct queue_id q, int64_t start, int64_t end)
{
    if (bug_of(p) == BUG_OUT_OF_RANGE_TO_END)
        start = end;
    bridge_out_of_range(p->bridge, q, start, end);
}

enum lookup bug_lookup(const struct world *w, enum lookup found)
{
    return w->bug == BUG_LEADERLESS_IS_WHOLE && found == LOOKUP_UNWRITABLE ? LOOKUP_WHOLE : found;
}

size_t bug_record_max(const struct world *w)
{
    size_t told = w->setup.request_max_bytes;
    return w->bug == BUG_REQUEST_LIMIT_UNKNOWN ? told * 10 : told;
}

int64_t bug_stamp(const struct world *w, int64_t stamp_ms)
{
    return w->bug == BUG_STAMP_OF_BROKER ? stamp_ms + 3000 : stamp_ms;
}

void bug_ends(const struct process *p, int slot, struct log_ends *ends)
{
    bool cancels = slot == p->slots;
    if (bug_of(p) == BUG_SEAL_OF_STABLE_ENDS && !cancels && slot != SLOT_SCHEDULE)
        ends->end = ends->stable_end;
    if (bug_of(p) == BUG_LOAD_TO_STABLE_END && cancels)
        ends->end = ends->stable_end;
}

bool bug_load_skips(const struct process *p)
{
    return bug_of(p) == BUG_LOAD_SKIPS_TOO_FAR;
}

bool bug_load_ends(const struct process *p)
{
    return bug_of(p) == BUG_LOAD_ENDED_BY_TIME;
}

void bug_start(struct process *p, int lane, int slot, struct start *start)
{
    const struct broker *broker = &p->world->broker;
    const struct log *log = &broker->logs[p->topic_of_slot[slot]][lane];
    const struct committed *c = broker->committed[p->topic_of_slot[slot]][lane];
    if (bug_of(p) == BUG_START_AT_END && (c == NULL || start->fresh))
        *start = (struct start){.offset = log->end, .text = bytes_text("")};
    if (bug_of(p) == BUG_START_AT_NEXT && c != NULL)
        *start = (struct start){.offset = log->read_end, .text = bytes_text("")};
    const struct liar *liar = p->liar;
    int index = lane * p->slots + slot;
    if (bug_of(p) == BUG_START_AS_SENT && liar->sent[index].text.data != NULL)
        *start = liar->sent[index];
    if (bug_of(p) == BUG_START_IS_STALE && c != NULL && c->before != NULL)
        *start = (struct start){.offset = c->before->base, .text = c->before->text};
}
