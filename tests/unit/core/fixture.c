/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture of the core's suites: builders of records and parcels, and the port. */
#include "tests/unit/core/fixture.h"
#include "bridge/core/dead_letter.h"
#include "bridge/core/forward.h"
#include "bridge/core/outcome.h"
#include "bridge/core/parcel.h"
#include "bridge/core/ready.h"
#include "bridge/core/target_table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { BEGIN_MONO_MS = 1000000, VALUE_MAX = 4096 };

struct fixture fx;

/* A record of the port. Its key and value follow the struct. */
struct port_record {
    struct record record;
    char bytes[];
};

static struct record *make(void *ctx, struct bytes key, size_t value_size)
{
    (void)ctx;
    if (fx.has_no_memory)
        return NULL;
    struct port_record *r = calloc(1, sizeof *r + key.len + value_size + 1);
    cr_assert_not_null(r);
    fx.records++;
    if (key.len > 0)
        memcpy(r->bytes, key.data, key.len);
    r->record.key = bytes_is_null(key) ? bytes_null() : bytes_of(r->bytes, key.len);
    r->record.value = bytes_of(r->bytes + key.len, value_size);
    r->record.timestamp_ms = fx.b->now.wall_ms;
    r->record.cost_bytes = key.len + value_size;
    return &r->record;
}

static void release(void *ctx, struct record *record)
{
    (void)ctx;
    fx.records--;
    free((struct port_record *)(void *)record);
}

static struct record *take(void *ctx, struct queue_id queue)
{
    (void)ctx;
    if (queue.lane != 0 || queue.slot != fx.offered_slot)
        return NULL;
    struct record *record = fx.offered;
    fx.offered = NULL;
    return record;
}

static struct record *keep(void *ctx, struct record *record)
{
    (void)ctx;
    return fx.has_no_memory ? NULL : record;
}

static int forward(void *ctx, const struct forward *forward)
{
    (void)ctx;
    if (fx.is_full)
        return ERR_FULL;
    fx.forwarded++;
    fx.sent = *forward;
    return 0;
}

static void reports(void *ctx)
{
    (void)ctx;
    struct parcel *p = fx.reported;
    fx.reported = NULL;
    if (p != NULL)
        bridge_reported(fx.b, p, fx.report, fx.why);
    for (int i = 0; i < TXN_CLIENTS && !fx.holds_calls; i++) {
        while (fx.running[i] != CALL_NONE)
            fixture_end(i, true);
    }
}

static void pause(void *ctx, struct queue_id queue)
{
    (void)ctx;
    (void)queue;
    fx.pauses++;
}

static void seek(void *ctx, struct queue_id queue, int64_t offset)
{
    (void)ctx;
    (void)queue;
    fx.seeks++;
    fx.seek_offset = offset;
}

static void commit(void *ctx, uint64_t seq, const struct progress *progress, size_t n)
{
    (void)ctx;
    (void)progress;
    fx.commits++;
    fx.seq = seq;
    fx.progress_n = n;
}

/* Notes a call that runs from now on. The next call of reports ends it, unless fx.holds_calls. */
static void run(int client, enum client_call call)
{
    fx.running[client] = call;
}

static int begin(void *ctx, int client)
{
    (void)ctx;
    fx.begins++;
    if (!fx.is_broken)
        return 0;
    fixture_fact((struct client_fact){
        .event = CLIENT_FAILED, .client = client, .blame = BLAME_CLUSTER, .why = "fenced"});
    return ERR_KAFKA;
}

static int send_offsets(void *ctx, int client, const struct progress *progress, size_t n)
{
    (void)ctx;
    (void)progress;
    fx.announces++;
    fx.progress_n = n;
    if (fx.is_unassigned)
        return ERR_KAFKA;
    run(client, CALL_SEND_OFFSETS);
    return 0;
}

static void commit_transaction(void *ctx, int client)
{
    (void)ctx;
    fx.finishes++;
    fx.committer = client;
}

static void purge(void *ctx, int client)
{
    (void)ctx;
    fx.purges++;
    fx.purged = client;
}

static void renew(void *ctx, int client, bool was_left)
{
    (void)ctx;
    fx.renews[client]++;
    fx.was_left = was_left;
    run(client, CALL_DESTROY);
}

static void trim(void *ctx, struct queue_id queue, int64_t base)
{
    (void)ctx;
    (void)queue;
    fx.trims++;
    fx.trim_base = base;
}

static void query_ends(void *ctx, int lane)
{
    (void)ctx;
    (void)lane;
    fx.queries++;
}

static void load(void *ctx, const struct load *begun)
{
    (void)ctx;
    fx.loads++;
    fx.load = *begun;
}

static void trim_cancels(void *ctx, int lane, int64_t below)
{
    (void)ctx;
    (void)lane;
    fx.cancels_trims++;
    fx.cancels_trim_below = below;
}

static enum lookup lookup(void *ctx, struct target_id *target)
{
    (void)ctx;
    (void)target;
    fx.lookups++;
    return fx.lookup;
}

static enum lookup lookup_outlet(void *ctx, struct queue_id outlet)
{
    (void)ctx;
    (void)outlet;
    fx.outlet_lookups++;
    return fx.outlet_lookup;
}

static int64_t end(void *ctx, struct queue_id queue)
{
    (void)ctx;
    (void)queue;
    return fx.end_offset;
}

static int64_t drained(void *ctx, struct queue_id queue)
{
    (void)ctx;
    (void)queue;
    return fx.drained_offset;
}

static int64_t unread(void *ctx, struct queue_id queue)
{
    (void)ctx;
    (void)queue;
    return 0;
}

static void forget(void *ctx, struct target_id *target)
{
    (void)ctx;
    (void)target;
    fx.forgets++;
}

static void notice(void *ctx, const struct notice *reported)
{
    (void)ctx;
    int at = fx.notices_n % NOTICES_MAX;
    struct notice *kept = &fx.notices[at];
    *kept = *reported;
    if (reported->reason != NULL) {
        snprintf(fx.reasons[at], REASON_MAX, "%s", reported->reason);
        kept->reason = fx.reasons[at];
    }
    if (!bytes_is_null(reported->target)) {
        memset(fx.targets[at], 0, sizeof fx.targets[at]);
        memcpy(fx.targets[at], reported->target.data, reported->target.len);
        kept->target = bytes_text(fx.targets[at]);
    }
    fx.notices_n++;
}

static int64_t wall_ms(void *ctx)
{
    (void)ctx;
    return fx.b->now.wall_ms;
}

static const struct port port = {
    .take = take,
    .release = release,
    .make = make,
    .keep = keep,
    .forward = forward,
    .reports = reports,
    .pause = pause,
    .seek = seek,
    .commit = commit,
    .begin = begin,
    .send_offsets = send_offsets,
    .commit_transaction = commit_transaction,
    .purge = purge,
    .renew = renew,
    .trim = trim,
    .query_ends = query_ends,
    .load = load,
    .trim_cancels = trim_cancels,
    .lookup = lookup,
    .lookup_outlet = lookup_outlet,
    .end = end,
    .drained = drained,
    .unread = unread,
    .forget = forget,
    .notice = notice,
    .wall_ms = wall_ms,
};

static const char *const patterns[] = {"orders*", "bills"};

static void set_defaults(bool exactly_once)
{
    fx = (struct fixture){
        .config =
            {
                .ladder =
                    {.level_ms = {SHORT_MS, LONG_MS}, .n = 2, .hold_ms = SHORT_MS, .slack_ms = 500},
                .lanes = 2,
                .rules = {.allowlist = {.patterns = patterns,
                                        .patterns_n = 2,
                                        .schedule = "schedule"},
                          .max_delay_ms = (int64_t)365 * 24 * 3600 * 1000},
                .max_attempts = 3,
                .memory_bytes = 1 << 20,
                .exactly_once = exactly_once,
                .session_ms = 45000,
            },
        .target = "orders",
        .expires_ms = STAMP_NEVER,
        .lookup = LOOKUP_FOUND,
        .outlet_lookup = LOOKUP_WHOLE,
        .end_offset = -1,
        .drained_offset = -1,
        .why = "a phrase",
    };
    for (int i = 0; i < TARGET_LABELS; i++)
        fx.config.target_labels[i] = (uint8_t)(i + 1);
}

static void create(void)
{
    const struct now now = {BEGIN_WALL_MS, BEGIN_MONO_MS};
    fx.b = bridge_new(&fx.config, &port, &fx.stats, now);
    cr_assert_not_null(fx.b);
    memset(fx.running, 0, sizeof fx.running);
    outcome_serve(fx.b); /* orders the first clients */
    outcome_serve(fx.b); /* which are ready now */
    fixture_gain(0);
}

void fixture_start(void)
{
    set_defaults(false);
    create();
}

void fixture_start_exactly_once(void)
{
    set_defaults(true);
    create();
}

/* The step machine frees all parcels but those that a test left in no list. */
static void destroy(void)
{
    for (size_t i = 0; i < fx.b->pools.parcels_high; i++) {
        struct parcel *p = &fx.b->pools.parcels[i];
        if (p->state == PARCEL_FREE && p->record != NULL)
            parcel_forget(fx.b, p);
    }
    bridge_free(fx.b);
}

void fixture_again(void)
{
    destroy();
    fx.stats = (struct stats){0};
    create();
}

void fixture_stop(void)
{
    destroy();
    fx.b = NULL;
    cr_assert_eq(fx.records, 0, "%d records were not released", fx.records);
}

void fixture_pass(int64_t ms)
{
    fx.b->now.wall_ms += ms;
    fx.b->now.mono_ms += ms;
}

void fixture_gain(int lane)
{
    struct start starts[SLOTS_MAX];
    for (int slot = 0; slot < bridge_queues_per_lane(fx.b); slot++)
        starts[slot] = (struct start){.offset = START};
    cr_assert_eq(bridge_lane_assigned(fx.b, lane, starts, fx.b->now), 0);
}

void fixture_offer(int slot, struct record *record)
{
    fx.offered = record;
    fx.offered_slot = slot;
    bridge_wake(fx.b, fixture_queue(slot)->id);
}

void fixture_turn(void)
{
    bridge_turn(fx.b, fx.b->now);
}

struct queue *fixture_queue(int slot)
{
    return bridge_queue(fx.b, 0, slot);
}

struct record *fixture_raw(int64_t offset, size_t n)
{
    struct record *record = make(NULL, bytes_text("key"), n);
    cr_assert_not_null(record);
    record->offset = offset;
    return record;
}

struct record *fixture_record(int64_t offset, int64_t due_ms)
{
    static const char value[] = "value";
    const struct record request = {.value = bytes_text(value)};
    const struct stamp stamp = {.due_ms = due_ms,
                                .timestamp_ms = BEGIN_WALL_MS,
                                .expires_ms = fx.expires_ms,
                                .origin_offset = 7,
                                .origin_lane = 1,
                                .target = bytes_text(fx.target)};
    struct record *record = make(NULL, bytes_text("key"), envelope_enclosed_size(&stamp, &request));
    cr_assert_not_null(record);
    envelope_enclose(&stamp, &request, (void *)record->value.data);
    record->offset = offset;
    return record;
}

struct parcel *fixture_parcel(int slot, int64_t offset, int64_t due_ms)
{
    struct queue *q = fixture_queue(slot);
    window_admit(&q->window, offset);
    struct parcel *p = parcel_new(fx.b, q, fixture_record(offset, due_ms));
    p->until_wall_ms = due_ms;
    return p;
}

static struct parcel *send_ready(struct parcel *p)
{
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    cr_assert_eq(p->state, PARCEL_IN_FLIGHT);
    return p;
}

struct parcel *fixture_send(int slot, int64_t offset, int64_t due_ms)
{
    return send_ready(fixture_parcel(slot, offset, due_ms));
}

struct parcel *fixture_send_dead(int slot, int64_t offset)
{
    struct parcel *p = fixture_parcel(slot, offset, fx.b->now.wall_ms);
    dead_letter_mark(fx.b, p, &(struct refusal){.code = CODE_EXPIRED, .reason = "too late"});
    return send_ready(p);
}

void fixture_report(struct parcel *p, enum report report)
{
    fx.reported = p;
    fx.report = report;
    fx.b->port.reports(fx.b->port.ctx);
}

void fixture_fact(struct client_fact fact)
{
    bridge_client_fact(fx.b, &fact);
}

void fixture_end(int client, bool ok)
{
    enum client_call call = fx.running[client];
    fx.running[client] = call == CALL_DESTROY ? CALL_INIT : CALL_NONE;
    fixture_fact((struct client_fact){.event = CLIENT_ENDED,
                                      .client = client,
                                      .call = call,
                                      .ok = ok,
                                      .blame = BLAME_CLUSTER,
                                      .why = "no answer"});
}

void fixture_committed(void)
{
    fixture_fact((struct client_fact){
        .event = CLIENT_ENDED, .client = fx.committer, .call = CALL_COMMIT, .ok = true});
}

void fixture_fail(enum blame blame, const char *why)
{
    int client = fx.b->sender.current, purges = fx.purges;
    fixture_fact((struct client_fact){CLIENT_FAILED, client, .blame = blame, .why = why});
    outcome_serve(fx.b);
    cr_assert_eq(fx.purges, purges + 1);
    fixture_fact((struct client_fact){CLIENT_PURGED, client, .blame = BLAME_NOBODY, .why = ""});
}

void fixture_hold_spares(void)
{
    for (int i = 0; i < TXN_CLIENTS; i++) {
        struct txn_client *c = &fx.b->sender.clients[i];
        if (i != fx.b->sender.current && c->state == CLIENT_READY)
            *c = (struct txn_client){.state = CLIENT_STARTING, .retry_mono_ms = INT64_MAX};
    }
}

struct target *fixture_target(const char *name)
{
    struct target *t = target_get(fx.b, bytes_text(name));
    cr_assert_not_null(t);
    return t;
}

int fixture_notices(enum notice_kind kind)
{
    int n = 0;
    for (int i = 0; i < fx.notices_n && i < NOTICES_MAX; i++)
        n += fx.notices[i].kind == kind;
    return n;
}

const struct notice *fixture_notice(enum notice_kind kind)
{
    for (int i = fx.notices_n; i-- > 0 && i >= fx.notices_n - NOTICES_MAX;) {
        if (fx.notices[i % NOTICES_MAX].kind == kind)
            return &fx.notices[i % NOTICES_MAX];
    }
    return NULL;
}
