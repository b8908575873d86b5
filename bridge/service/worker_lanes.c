/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of a worker's clients: reports, transactions, and lanes that are assigned and lost.
 */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "bridge/service/worker_parts.h"
#include "consumer/admin/offsets.h"
#include "consumer/starts.h"

#include <string.h>
#include <sys/eventfd.h>

enum { SETTLE_STEP_MS = 10, TOPICS_MS = 500, TOPICS_AGAIN_MS = 5000, OMIT_MS = 600 * 1000 };

struct now worker_now(const struct worker *w)
{
    return (struct now){.wall_ms = clock_wall_us(w->config.clock) / 1000,
                        .mono_ms = clock_mono_ms()};
}

/* Reports of the producer. */

static void on_reported(void *ctx, struct parcel *parcel, enum report report, const char *why)
{
    bridge_reported(((struct worker *)ctx)->bridge, parcel, report, why);
}

static void on_fact(void *ctx, const struct client_fact *fact)
{
    bridge_client_fact(((struct worker *)ctx)->bridge, fact);
}

/* Each try costs all lanes ten seconds. */
static void on_offsets_refused(void *ctx)
{
    group_omit_witnesses(((struct worker *)ctx)->group, OMIT_MS);
}

static void on_landed(void *ctx, const struct parcel *parcel, struct queue_id level, int64_t offset)
{
    struct worker *w = ctx;
    if (w->source != NULL)
        source_landed(w->source, level.lane, level.slot, offset);
    bridge_hop_stored(w->bridge, parcel, level, offset);
}

static void on_delivered(void *ctx, struct parcel *parcel, int32_t partition, int64_t offset)
{
    bridge_delivery_stored(((struct worker *)ctx)->bridge, parcel, partition, offset);
}

static void on_throttled(void *ctx, int64_t for_ms)
{
    bridge_throttled(((struct worker *)ctx)->bridge, for_ms);
}

static void on_trimmed(void *ctx, const char *topic, int lane, int64_t low)
{
    struct worker *w = ctx;
    if (strcmp(topic, w->cancelled) == 0)
        bridge_cancels_trimmed(w->bridge, lane, low);
    for (int slot = SLOT_SCHEDULE + 1; slot < w->slots; slot++) {
        struct queue_id id = {lane * w->slots + slot, lane, slot};
        if (strcmp(w->topics[slot], topic) == 0)
            bridge_trimmed(w->bridge, id, low);
    }
}

static void on_loaded(void *ctx, int lane, const struct record *record)
{
    bridge_loaded(((struct worker *)ctx)->bridge, lane, record);
}

static void on_load_ended(void *ctx, int lane, int64_t next)
{
    bridge_load_ended(((struct worker *)ctx)->bridge, lane, next);
}

static void on_ends(void *ctx, int lane, const struct log_ends *ends, bool whole)
{
    bridge_ends(((struct worker *)ctx)->bridge, lane, ends, whole);
}

/* Ownership. */

void worker_fail(struct worker *w)
{
    atomic_store(&w->failed, true);
    (void)eventfd_write(w->config.failure_fd, 1); /* fails only when the counter overflows */
}

enum begin { BEGIN, BEGIN_LATER, BEGIN_NEVER };

/* Commits the offsets at which new lanes begin, for two reasons. Records that are deleted before
   they are read then count as lost. And an aborted transaction in a level does not look like
   records whose committed offsets have expired. */
static enum begin commit_initial_offsets(struct worker *w, const int *lanes, int n,
                                         struct start *starts)
{
    if (group_commit_initial(w->group, w->levels, lanes, n, starts) == 0)
        return BEGIN;
    bool later = w->config.config->exactly_once;
    log_warn(
        later ? "cannot commit initial offsets, lanes wait, joining the group again: allow Read on "
                "the group and the topics"
              : "cannot commit initial offsets, continuing, deleted records are not counted as "
                "lost: allow Read on the group and the topics",
        F_INT("lanes", n));
    return later ? BEGIN_LATER : BEGIN;
}

/* Decides about lanes without committed offsets. Their levels and schedule topic are read from the
   beginning, which may deliver old records again. */
static enum begin without_offsets(struct worker *w, const int *lanes, int n, struct start *starts)
{
    const struct config *c = w->config.config;
    int lost = -1;
    if (starts_find_missing(w->levels, w->topics, w->slots, lanes, n, starts) == 0)
        lost = starts_lost(w->levels, w->topics, w->slots, lanes, n, starts);
    if (lost < 0) {
        log_warn("cannot read the ends of level topics, lost offsets cannot be ruled out: run "
                 "'delaybridge check'",
                 F_INT("lanes", n));
        return c->exactly_once ? BEGIN_LATER : BEGIN;
    }
    if (lost == 0)
        return commit_initial_offsets(w, lanes, n, starts);
    if (!c->exactly_once || c->redeliver_lost) {
        log_error("committed offsets are lost, reading from the beginning: expect deliveries again",
                  F_TEXT("group", c->group), F_INT("lanes", lost));
        return commit_initial_offsets(w, lanes, n, starts);
    }
    log_error(
        "committed offsets are lost, refusing exactly-once: restore the group's offsets or set "
        "lost_offsets: redeliver",
        F_TEXT("group", c->group), F_INT("lanes", lost));
    return BEGIN_NEVER;
}

/* Returns the number of starts with commit metadata that cannot be decoded. */
static int count_unreadable(const struct worker *w, int n, const struct start *starts)
{
    struct window window;
    int unreadable = 0;
    for (int i = 0; i < n * w->slots; i++)
        unreadable += starts[i].offset != WINDOW_UNSET &&
                      window_decode(&window, starts[i].offset, starts[i].text) != 0;
    return unreadable;
}

/* Decides whether the lanes may begin. Without their commit metadata, records that are done above
   the committed offset would be delivered again. */
static enum begin may_begin(struct worker *w, const int *lanes, int n, struct start *starts)
{
    const struct config *c = w->config.config;
    int unreadable = c->exactly_once && !c->redeliver_lost ? count_unreadable(w, n, starts) : 0;
    if (unreadable == 0)
        return without_offsets(w, lanes, n, starts);
    log_error("commit metadata is damaged or newer, refusing exactly-once: run the newer version "
              "or set lost_offsets: redeliver",
              F_TEXT("group", c->group), F_INT("partitions", unreadable));
    return BEGIN_NEVER;
}

static void note_missing(struct worker *w, int n, const struct start *starts)
{
    memset(w->missing, 0, (size_t)w->slots * sizeof *w->missing);
    w->any_missing = false;
    for (int i = 0; i < n * w->slots; i++) {
        w->missing[i % w->slots] |= starts[i].missing;
        w->any_missing |= starts[i].missing;
    }
}

static void topic_missing(struct worker *w, int slot)
{
    w->missing[slot] = w->any_missing = true;
    for (int i = 0; i < w->lanes_n; i++) {
        int lane = w->lanes[i];
        bridge_topic_missing(w->bridge, (struct queue_id){lane * w->slots + slot, lane, slot});
    }
}

/* Checks which level topics exist. A missing topic blocks only its level. A topic that exists again
   has a new log, so the lanes are assigned again to get an offset in it. */
void worker_find_missing(struct worker *w, struct now now)
{
    w->find_missing |= source_misses_topic(w->source);
    if ((!w->find_missing && !w->any_missing) || now.mono_ms - w->topics_mono_ms < TOPICS_AGAIN_MS)
        return;
    w->topics_mono_ms = now.mono_ms;
    if (starts_topics_exist(producer_handle(w->producer), w->topics, w->slots, TOPICS_MS,
                            w->partitions) != 0)
        return;
    w->find_missing = false;
    for (int slot = SLOT_SCHEDULE + 1; slot < w->slots; slot++) {
        if (w->partitions[slot] == 0 && !w->missing[slot])
            topic_missing(w, slot);
        else if (w->partitions[slot] >= w->config.lanes && w->missing[slot])
            group_rejoin(w->group);
    }
}

static void on_gained(void *ctx, const int *lanes, int n, struct start *starts)
{
    struct worker *w = ctx;
    int unusable = 0;
    enum begin begin = may_begin(w, lanes, n, starts);
    if (begin == BEGIN_NEVER)
        worker_fail(w);
    else if (begin == BEGIN_LATER)
        group_rejoin(w->group);
    if (begin != BEGIN)
        n = 0;
    note_missing(w, n, starts);
    for (int i = 0; i < n; i++) {
        unusable += bridge_lane_assigned(w->bridge, lanes[i], starts + i * w->slots, worker_now(w));
        w->lanes[i] = lanes[i];
    }
    w->lanes_n = n;
    bridge_lanes_settled(w->bridge);
    counter_add(&w->stats.rebalances, 1);
    if (unusable > 0)
        log_warn("commit metadata of another program ignored, records may be delivered again",
                 F_INT("partitions", unusable));
    if (source_assign(w->source, lanes, n, starts) != 0) {
        log_warn("cannot read the assigned lanes, they wait, joining the group again: restart this "
                 "process if this repeats",
                 F_INT("lanes", n));
        group_rejoin(w->group);
    }
    atomic_store(&w->joined, begin == BEGIN);
    log_info("lanes assigned", F_INT("worker", w->config.number), F_INT("lanes", n));
}

void worker_on_wakeup(void *ctx, int32_t number)
{
    struct worker *w = ctx;
    if (number >= 0)
        bridge_wake(w->bridge, (struct queue_id){number, number / w->slots, number % w->slots});
    else
        w->group_signaled |= number != WAKEUP_REPORTS;
}

/* Waits for reports. With exactly-once, no record lingers in the client, so a flush is useless. */
static void settle_step(struct worker *w)
{
    if (w->config.config->exactly_once) {
        wakeup_wait(&w->wakeup, 0, SETTLE_STEP_MS * 1000, worker_on_wakeup, w);
        return;
    }
    producer_flush(w->producer, SETTLE_STEP_MS);
    (void)group_await(w->group, 1); /* the next commit is sent after this answer */
}

static void settle_until(struct worker *w, int64_t until_mono_ms)
{
    while (bridge_settle(w->bridge, worker_now(w)) > 0 && worker_now(w).mono_ms < until_mono_ms)
        settle_step(w);
}

static bool await_commits(struct worker *w, int64_t until_mono_ms)
{
    int64_t left_ms = until_mono_ms - worker_now(w).mono_ms;
    return group_await(w->group, left_ms < 500 ? 500 : (int)left_ms);
}

/* Awaits the reports of records in flight and commits them, before other members get the lanes. */
static void settle(struct worker *w)
{
    int64_t until_mono_ms = worker_now(w).mono_ms + w->settle_ms;
    settle_until(w, until_mono_ms);
    bridge_commit(w->bridge, worker_now(w));
    if (w->config.config->exactly_once) {
        settle_until(w, until_mono_ms);
        return;
    }
    source_leave_levels(w->source);
    if (!await_commits(w, until_mono_ms))
        return; /* a lost commit could arrive after the next one, and lower the offsets */
    producer_reports(w->producer); /* those that arrived during the commit */
    bridge_commit(w->bridge, worker_now(w));
    (void)await_commits(w, until_mono_ms);
}

static void on_lost(void *ctx, bool fenced)
{
    struct worker *w = ctx;
    if (!fenced)
        settle(w);
    if (w->producer != NULL)
        producer_recall(w->producer); /* the next owner forwards these records */
    size_t in_flight = bridge_in_flight(w->bridge);
    for (int i = 0; i < w->lanes_n; i++)
        bridge_lane_lost(w->bridge, w->lanes[i]);
    loads_drop_all(w->loads);
    lane_ends_drop_all(w->lane_ends);
    source_unassign(w->source);
    atomic_store(&w->joined, false);
    log_info(fenced ? "lanes lost" : "lanes revoked", F_INT("worker", w->config.number),
             F_INT("lanes", w->lanes_n), F_COUNT("in_flight", in_flight));
    w->lanes_n = 0;
}

static void on_committed(void *ctx, uint64_t seq, bool ok)
{
    bridge_committed(((struct worker *)ctx)->bridge, seq, ok);
}

/* The tables of callbacks. */

struct producer_config worker_producer_config(struct worker *w)
{
    return (struct producer_config){.config = w->config.config,
                                    .topics = w->topics,
                                    .slots = w->slots,
                                    .lanes = w->config.lanes,
                                    .dead_letter = w->dead_letter,
                                    .cancelled = w->cancelled,
                                    .events = w->events,
                                    .record_max_bytes = atomic_load(&w->record_max_bytes),
                                    .wakeup = &w->wakeup,
                                    .reported = on_reported,
                                    .landed = on_landed,
                                    .delivered = on_delivered,
                                    .throttled = on_throttled,
                                    .trimmed = on_trimmed,
                                    .transactional_id =
                                        w->config.config->exactly_once ? w->transactional_id : NULL,
                                    .fact = on_fact,
                                    .offsets_refused = on_offsets_refused,
                                    .ctx = w};
}

/* This thread replaces the client of a broken transaction, so it must not wait for the offsets. */
static bool may_gain(void *ctx)
{
    return bridge_may_gain(((struct worker *)ctx)->bridge);
}

struct loads_config worker_loads_config(struct worker *w)
{
    return (struct loads_config){.levels = w->levels,
                                 .schedule = w->topics[SLOT_SCHEDULE],
                                 .cancelled = w->cancelled,
                                 .lanes = w->config.lanes,
                                 .wakeup = &w->wakeup,
                                 .loaded = on_loaded,
                                 .ended = on_load_ended,
                                 .ctx = w};
}

struct lane_ends_config worker_lane_ends_config(struct worker *w)
{
    return (struct lane_ends_config){.config = w->config.config,
                                     .topics = w->topics,
                                     .topics_n = w->slots + 1,
                                     .lanes = w->config.lanes,
                                     .wakeup = &w->wakeup,
                                     .answered = on_ends,
                                     .ctx = w};
}

struct group_config worker_group_config(struct worker *w)
{
    return (struct group_config){.topics = w->topics,
                                 .slots = w->slots,
                                 .lanes = w->config.lanes,
                                 .transient = w->transient,
                                 .wakeup = &w->wakeup,
                                 .may_gain = may_gain,
                                 .gained = on_gained,
                                 .lost = on_lost,
                                 .committed = on_committed,
                                 .ctx = w};
}
