/* SPDX-License-Identifier: Apache-2.0 */
/* The second part of the oracle: progress, trims, the order of level logs, memory, and the reports
   that an ended process had received. */
#include "tests/sim/coordinator.h"
#include "tests/sim/oracle.h"
#include "tests/sim/voids.h"

enum { HEADERS_MAX = 24, BRIDGE_OVERHEAD = 896 + HEADERS_MAX * 96, RECORDS_A_QUEUE = 3 };

/* Checks that every record which progress marks as done has a stored successor. An earlier commit
   has checked the offsets below its own. */
void oracle_claim(struct process *p, const struct progress *progress)
{
    struct world *w = p->world;
    struct queue_id q = progress->queue;
    int topic = p->topic_of_slot[q.slot];
    const struct log *log = &w->broker.logs[topic][q.lane];
    const struct committed *before = w->broker.committed[topic][q.lane];
    struct committed claim = {.base = progress->base,
                              .text = bytes_of(progress->text, progress->text_len)};
    if (!p->lanes[q.lane].owned)
        world_fail(w, "p%d commits %d/%d, which is not its own", p->id, q.slot, q.lane);
    if (w->missing[topic])
        world_fail(w, "p%d commits %d/%d, whose topic is gone", p->id, q.slot, q.lane);
    bool is_fenced = p->generation != w->broker.generation;
    if (log->cuts > 0 && (counter_read(&p->stats.lanes_restoring) > 0 || is_fenced))
        return; /* of the log before the cut, which it may not have found yet */
    if (progress->base < 0 || progress->base > log->end)
        world_fail(w, "p%d commits %d/%d at %lld, but the log ends at %lld", p->id, q.slot, q.lane,
                   (long long)progress->base, (long long)log->end);
    size_t text_max = w->setup.commit_text_max > 0 ? w->setup.commit_text_max : WINDOW_TEXT_MAX;
    if (progress->text_len > text_max || strlen(progress->text) != progress->text_len ||
        !committed_parse(&w->arena, &claim))
        world_fail(w, "p%d commits %d/%d at %lld with metadata of another base: %.60s", p->id,
                   q.slot, q.lane, (long long)progress->base, progress->text);
    if (progress->witnesses_len > text_max)
        world_fail(w, "p%d commits %zu characters of witnesses", p->id, progress->witnesses_len);
    int64_t covered_end = claim.base + (int64_t)claim.bits_n * 8;
    for (size_t i = log_find(log, before ? before->base : 0); i < log->n; i++) {
        const struct entry *entry = log->entries[i];
        if (entry->offset >= covered_end)
            break;
        bool done = entry->done || coordinator_holds(p->producer, entry) ||
                    (entry->request != NULL && void_is_allowed(entry->request));
        if (!done && !entry->gone && committed_covers(&claim, entry->offset))
            world_fail(w, "p%d commits %d/%d with %lld as done, but no successor is stored", p->id,
                       q.slot, q.lane, (long long)entry->offset);
    }
    for (int64_t offset = later_of(log->end, claim.base); offset < covered_end; offset++) {
        if (committed_covers(&claim, offset))
            world_fail(w, "p%d commits %d/%d with %lld as done, which was never written", p->id,
                       q.slot, q.lane, (long long)offset);
    }
}

/* Cuts the log, also if the process has ended meanwhile. Only a live process gets an answer. */
static void trimmed(struct world *w, struct process *nobody, void *arg, int64_t base)
{
    (void)w, (void)nobody;
    struct log *log = arg;
    if (base > log->start)
        log->start = base;
}

static void trim_answered(struct world *w, struct process *p, void *arg, int64_t base)
{
    (void)w;
    process_before(p);
    bridge_trimmed(p->bridge, *(struct queue_id *)arg, base);
    process_after(p);
}

void oracle_trim(struct process *p, struct queue_id q, int64_t base)
{
    struct world *w = p->world;
    int topic = p->topic_of_slot[q.slot];
    const struct committed *c = w->broker.committed[topic][q.lane];
    struct log *log = &w->broker.logs[topic][q.lane];
    if (q.slot == SLOT_SCHEDULE)
        world_fail(w, "p%d trims the schedule topic", p->id);
    if (c == NULL || base > c->base)
        world_fail(w, "p%d trims %d/%d to %lld, beyond the committed offset %lld", p->id, q.slot,
                   q.lane, (long long)base, c ? (long long)c->base : -1);
    if (w->knobs.trims_fail)
        return;
    int64_t at_ms = w->now_ms + world_delay(w, w->knobs.commit_ms);
    struct queue_id *id = arena_take(&w->arena, sizeof *id);
    *id = q;
    world_at(w, at_ms, NULL, trimmed, log, base);
    world_at(w, at_ms, p, trim_answered, id, base);
}

/* After a refusal, the bridge may fail other records to this target without trying them. */
void oracle_target_failed(struct world *w, const char *name)
{
    for (struct request *r = w->requests; r != NULL; r = r->next) {
        if (strcmp(r->target, name) == 0)
            r->failures++;
    }
    for (int i = 0; i < TARGETS_N; i++) {
        if (strcmp(w->targets[i].name, name) == 0)
            w->targets[i].failed++;
    }
}

enum lookup oracle_lookup(struct process *p, const struct target_id *target)
{
    struct world *w = p->world;
    for (int i = 0; i < TARGETS_N; i++) {
        struct target_model *model = &w->targets[i];
        if (strcmp(model->name, target->name) != 0)
            continue;
        if (!model->allowed)
            break;
        if (model->mood == TARGET_AWAY)
            return LOOKUP_MISSING;
        if (model->unanswered)
            return LOOKUP_UNKNOWN;
        for (int n = 0; n < TARGET_PARTITIONS; n++) {
            if (world_leader_back(w, CHAINS_TARGETS + i * TARGET_PARTITIONS + n) > w->now_ms)
                return LOOKUP_UNWRITABLE;
        }
        return model->mood == TARGET_SLOW && w->knobs.hold_fences ? LOOKUP_FOUND : LOOKUP_WHOLE;
    }
    world_fail(w, "p%d looks up %s, which no request may name", p->id, target->name);
}

void oracle_notice(struct process *p, const struct notice *notice)
{
    struct world *w = p->world;
    struct queue_id q = notice->queue;
    void_notice(p, notice);
    if (notice->kind == NOTICE_CLOCK_BACK)
        p->reread_step = w->step;
    if (notice->kind == NOTICE_BEYOND_END && !w->beyond_end_ok)
        world_fail(w, "p%d believes that %d/%d ends before %lld", p->id, q.slot, q.lane,
                   (long long)notice->offset);
    if (notice->kind == NOTICE_MISSING && !w->missing[p->topic_of_slot[q.slot]])
        world_fail(w, "p%d believes that the topic of %d/%d is missing", p->id, q.slot, q.lane);
    if (notice->kind == NOTICE_REPLACED && !w->replaced_ok)
        world_fail(w, "p%d believes that %d/%d is another log at %lld", p->id, q.slot, q.lane,
                   (long long)notice->offset);
    if (notice->kind == NOTICE_NEWER_ENVELOPE && !w->newer_ok)
        world_fail(w, "p%d sees a newer envelope in %d/%d", p->id, q.slot, q.lane);
}

/* Checks the order of a level log. A stop that begins at T on level L ends between T + L - slack
   and T + L + hold. So releases in a log that is written in order of T go back by at most slack +
   hold. */
void oracle_level_appended(struct world *w, struct log *log, const struct entry *entry,
                           const struct ladder *ladder, int life)
{
    struct envelope env;
    if (envelope_open(entry->value, &env) != 0)
        world_fail(w, "a level record without an envelope was stored");
    int64_t stamped_ms = entry->timestamp_ms;
    int64_t until_ms = later_of(env.stamp.due_ms, env.stamp.next_try_ms);
    int64_t level_ms = 0, rest_ms, release_ms = until_ms;
    for (int topic = 0; topic < w->broker.topics; topic++) {
        if (log >= w->broker.logs[topic] && log < w->broker.logs[topic] + LANES_MAX)
            level_ms = w->broker.level_ms[topic];
    }
    for (rest_ms = until_ms - stamped_ms - level_ms; rest_ms > ladder->hold_ms;) {
        int i = ladder->n - 1;
        while (i > 0 && rest_ms < ladder->level_ms[i] - ladder->slack_ms)
            i--;
        rest_ms -= ladder->level_ms[i];
        release_ms -= ladder->level_ms[i];
    }
    int64_t stop_ms = release_ms - stamped_ms - level_ms;
    if (stop_ms < -ladder->slack_ms || stop_ms > ladder->hold_ms)
        world_fail(w, "a record on level %lld ms is released %lld ms from the level's end",
                   (long long)level_ms, (long long)stop_ms);
    if (w->setup.order_is_exact && log->stamped_max_life == life &&
        stamped_ms < log->stamped_max_ms)
        world_fail(w, "a level log goes back in time by %lld ms",
                   (long long)(log->stamped_max_ms - stamped_ms));
    if (w->setup.order_is_exact && log->release_max_ms != INT64_MIN &&
        stamped_ms >= log->stamped_max_ms &&
        release_ms < log->release_max_ms - ladder->slack_ms - ladder->hold_ms)
        world_fail(w, "a level log is out of order by %lld ms",
                   (long long)(log->release_max_ms - release_ms));
    w->log_disordered |= stamped_ms < log->stamped_max_ms;
    if (stamped_ms >= log->stamped_max_ms) {
        log->stamped_max_ms = stamped_ms;
        log->stamped_max_life = life;
    }
    log->release_max_ms = later_of(log->release_max_ms, release_ms);
}

void oracle_unusable(struct process *p, int lane, int n)
{
    p->world->texts_ignored += n;
    if (!p->world->metadata_is_foreign)
        world_fail(p->world, "p%d ignores %d valid metadata texts of lane %d", p->id, n, lane);
}

void oracle_counters(const struct process *p)
{
    const struct stats *stats = &p->stats;
    uint64_t deliveries = 0, deferrals = 0, dead = 0, dead_by_target = 0;
    uint64_t late_ms = 0, late_by_target_ms = 0;
    for (int slot = 0; slot < SLOTS_MAX; slot++)
        late_ms += counter_read(&stats->slots[slot].lateness.sum_ms);
    for (int i = 0; i < TARGET_LABELS; i++) {
        late_by_target_ms += counter_read(&stats->targets[i].lateness.sum_ms);
        deliveries += counter_read(&stats->targets[i].deliveries);
        deferrals += counter_read(&stats->targets[i].deferrals);
        for (int code = 0; code < CODE_N; code++)
            dead_by_target += counter_read(&stats->targets[i].dead[code]);
    }
    for (int code = 0; code < CODE_N; code++)
        dead += counter_read(&stats->dead[code]);
    if (deliveries != counter_read(&stats->deliveries) ||
        deferrals != counter_read(&stats->deferrals) || dead != dead_by_target ||
        late_ms != late_by_target_ms)
        world_fail(p->world, "p%d: the counters by target do not add up to the total", p->id);
    if (p->refusals_told < dead || p->failures_told != counter_read(&stats->redeliveries))
        world_fail(p->world, "p%d did not report a refusal or a failed delivery", p->id);
}

void oracle_process_bounds(struct process *p)
{
    struct world *w = p->world;
    int64_t held = (int64_t)counter_read(&p->stats.buffered_bytes);
    int64_t queues = w->setup.lanes * p->slots;
    int64_t most = p->record_bytes_max;
    int64_t each = most + BRIDGE_OVERHEAD, large = w->setup.large_bytes;
    int64_t beyond = large > 0 && large < each ? queues * large + each : queues * each;
    if (w->setup.events != 0) /* each record may have an event in flight */
        beyond += w->setup.memory_bytes * 2;
    if (held > w->setup.memory_bytes + beyond)
        world_fail(w, "p%d counts %lld bytes, but may hold %lld", p->id, (long long)held,
                   (long long)w->setup.memory_bytes);
    int64_t events = w->setup.events != 0 ? 2 * w->setup.memory_bytes : 0;
    if (p->outstanding_bytes > w->setup.memory_bytes + events + queues * RECORDS_A_QUEUE * most)
        world_fail(w, "p%d holds %lld bytes of records, but may hold %lld", p->id,
                   (long long)p->outstanding_bytes, (long long)w->setup.memory_bytes);
    if (w->strict)
        oracle_counters(p);
    void_check_bounds(p);
    if (w->setup.order_is_exact && !w->log_disordered &&
        counter_read(&p->stats.order_violations) != 0)
        world_fail(w, "p%d counts a breach of the order", p->id);
}

/* Checks that every report older than lag_ms is committed, in the lanes that the process owns now.
 */
static void check_committed(struct process *p, int64_t lag_ms)
{
    struct world *w = p->world;
    for (int lane = 0; lane < w->setup.lanes; lane++) {
        for (int slot = 0; slot < p->slots && p->lanes[lane].owned; slot++) {
            int topic = p->topic_of_slot[slot];
            const struct committed *c = w->broker.committed[topic][lane];
            const struct log *log = &w->broker.logs[topic][lane];
            for (size_t i = log_find(log, c ? c->base : 0); i < log->n; i++) {
                const struct entry *entry = log->entries[i];
                const struct attempt *a = entry->attempts;
                if (a != NULL && a->life == p->life && a->state == ATTEMPT_OK &&
                    a->told_epoch == p->lanes[lane].epoch && a->told_ms + lag_ms < w->now_ms &&
                    !entry->gone && !committed_covers(c, entry->offset))
                    world_fail(w,
                               "p%d ends: %d/%d/%lld was acknowledged %lld ms ago and is not "
                               "committed",
                               p->id, slot, lane, (long long)entry->offset,
                               (long long)(w->now_ms - a->told_ms));
            }
        }
    }
}

void oracle_process_ends(struct process *p)
{
    const struct world *w = p->world;
    const struct knobs *knobs = &w->knobs;
    if (w->setup.commits_are_prompt && !w->setup.exactly_once && p->member == MEMBER_STABLE)
        check_committed(p, COMMIT_LAG_MS + w->setup.leap_ms + 4 * knobs->turn_ms +
                               4 * knobs->commit_ms);
}

void oracle_clean_stop(struct process *p)
{
    bool wait = p->world->setup.events != 0 && !p->world->setup.exactly_once;
    if (wait &&
        !p->world->setup.is_calm) /* events may have been in flight at the end of the wait */
        return;
    check_committed(p, -1);
}

static void delete_entry(struct world *w, struct entry *entry)
{
    struct request *r = entry->request;
    if (entry->gone)
        return;
    if (r != NULL)
        r->cut = true;
    entry->gone = true;
    w->broker.undone_n -= !entry->done;
    if (entry->done || r == NULL || r->excused)
        return;
    r->excused = true;
    if (!r->finished)
        w->open_n--;
}

void oracle_truncate(struct world *w, int topic, int lane, int64_t start)
{
    struct log *log = &w->broker.logs[topic][lane];
    trace(w, NULL, "topic %d lane %d is cut off below %lld", topic, lane, (long long)start);
    for (size_t i = 0; i < log->n && log->entries[i]->offset < start; i++)
        delete_entry(w, log->entries[i]);
    if (start > log->start)
        log->start = start;
}

/* A request that is not done has perhaps become a waiting record, which then comes or not. A cancel
   whose entry can be read still counts. */
void oracle_cut(struct world *w, int lane, int64_t end)
{
    struct log *log = &w->broker.logs[TOPIC_SCHEDULE][lane];
    trace(w, NULL, "the schedule topic of lane %d loses its records from %lld on", lane,
          (long long)end);
    w->recreated_ok = w->beyond_end_ok = true;
    size_t n = log_find(log, end);
    for (size_t i = n; i < log->n; i++) {
        delete_entry(w, log->entries[i]);
        if (log->entries[i]->request != NULL)
            log->entries[i]->request->lost = true;
    }
    log->n = n;
    log->end = end;
    log->cuts++;
    if (log->stable_n > n)
        log->stable_n = n;
    if (log->read_end > end)
        log->read_end = end;
}
