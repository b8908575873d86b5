/* SPDX-License-Identifier: Apache-2.0 */
/* Writes requests as headers, and decides their required outcome by the contract. */
#include "tests/sim/workload.h"
#include "tests/sim/retries.h"
#include "tests/sim/voids.h"

#include <inttypes.h>
#include <stdio.h>

enum { HEADERS_MAX = 24, ID_TOO_LONG = 129 };
#define MAX_DELAY_MS ((int64_t)40 * 24 * 3600 * 1000)

static const char *const patterns[] = {"orders.timeout", "payments.*", "ghost"};

void workload_init(struct world *w)
{
    static const struct target_model targets[TARGETS_N] = {
        [TARGET_DEFAULT] = {.name = "orders.timeout", .allowed = true},
        [TARGET_A] = {.name = "payments.a", .allowed = true},
        [TARGET_B] = {.name = "payments.b-2", .allowed = true},
        [TARGET_GHOST] = {.name = "ghost", .mood = TARGET_AWAY, .allowed = true, .failed = 1},
        [TARGET_DENIED] = {.name = "payroll"},
    };
    memcpy(w->targets, targets, sizeof targets);
    w->rules = (struct request_rules){
        .allowlist = {.patterns = patterns,
                      .patterns_n = sizeof patterns / sizeof patterns[0],
                      .schedule = "schedule"},
        .default_target = w->setup.default_target ? targets[TARGET_DEFAULT].name : NULL,
        .max_delay_ms = MAX_DELAY_MS,
        .compat = w->setup.compat};
    retries_init(w);
}

/* Headers of a request: user headers and dlb- headers, mixed. */
struct gathering {
    struct world *world;
    struct header all[HEADERS_MAX], own[HEADERS_MAX];
    size_t all_n, own_n;
};

static struct bytes text(struct world *w, const char *format, int64_t n)
{
    char buffer[64];
    snprintf(buffer, sizeof buffer, format, n);
    return arena_copy(&w->arena, bytes_text(buffer));
}

/* Inserts a dlb- header at a random place among the others. */
static void add_ours(struct gathering *g, const char *name, struct bytes value)
{
    size_t at = (size_t)rng_between(&g->world->rng, 0, (int64_t)g->all_n);
    memmove(&g->all[at + 1], &g->all[at], (g->all_n - at) * sizeof g->all[0]);
    g->all[at] = (struct header){name, value};
    g->all_n++;
}

static void add_own(struct gathering *g, int n)
{
    static const char *const own_names[] = {"trace", "trace", "content-type", "dlb", "x", ""};
    struct world *w = g->world;
    for (int i = 0; i < n; i++) {
        struct header header = {own_names[rng_int(&w->rng, 0, 5)], bytes_null()};
        if (rng_chance(&w->rng, 8000))
            header.value = text(w, "\xff%" PRId64, rng_between(&w->rng, 0, 999));
        g->all[g->all_n++] = g->own[g->own_n++] = header;
    }
}

static const char *unit_text(struct world *w, int64_t ms)
{
    if (ms % 60000 == 0 && rng_chance(&w->rng, 5000))
        return text(w, "%" PRId64 "m", ms / 60000).data;
    if (ms % 1000 == 0 && rng_chance(&w->rng, 5000))
        return text(w, rng_chance(&w->rng, 5000) ? "PT%" PRId64 "S" : "%" PRId64 "s", ms / 1000)
            .data;
    return text(w, "%" PRId64 "ms", ms).data;
}

static void add_time(struct gathering *g, const struct ask *ask, int64_t stamped_ms)
{
    struct world *w = g->world;
    bool at = ask->absolute || ask->fault == CODE_TWO_TIMES;
    bool delay = !ask->absolute || ask->fault == CODE_TWO_TIMES;
    int64_t delay_ms = ask->delay_ms;
    if (ask->fault == CODE_NO_TIME)
        return;
    if (ask->fault == CODE_BAD_TIME) {
        add_ours(g, "dlb-delay", bytes_text(rng_chance(&w->rng, 5000) ? "10" : "-5s"));
        return;
    }
    if (ask->fault == CODE_TOO_FAR)
        delay_ms = MAX_DELAY_MS + 60000;
    if (at)
        add_ours(g, "dlb-deliver-at", text(w, "%" PRId64, stamped_ms + delay_ms));
    bool bad_header = ask->fault == CODE_BAD_HEADER, sent_again = delay_ms % 2 != 0;
    if (delay)
        add_ours(g, bad_header && !sent_again ? "dlb-Delay" : "dlb-delay",
                 bytes_text(unit_text(w, delay_ms)));
    if (bad_header && sent_again) /* a dead letter that lacks its value */
        add_ours(g, "dlb-truncated", bytes_text("value"));
}

static void add_retry(struct gathering *g, const struct ask *ask)
{
    static const char *const names[] = {"dlb-retry", "dlb-attempt", "dlb-first-at", "dlb-origin"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct bytes value = retries_header(g->world, ask, names[i]);
        if (!bytes_is_null(value))
            add_ours(g, names[i], value);
    }
}

static void add_fault(struct gathering *g, const struct ask *ask)
{
    struct world *w = g->world;
    char *id = arena_take(&w->arena, ID_TOO_LONG + 1);
    switch (ask->fault) {
    case CODE_UNKNOWN_HEADER:
        add_ours(g, "dlb-nonsense", bytes_text("1"));
        break;
    case CODE_BAD_OP:
        add_ours(g, "dlb-op", bytes_text("jump"));
        break;
    case CODE_BAD_ID:
        if (ask->op != REQUEST_SCHEDULE) /* it lacks the key */
            break;
        memset(id, 'i', ID_TOO_LONG);
        add_ours(g, "dlb-id", bytes_of(id, ID_TOO_LONG));
        break;
    case CODE_TARGET_DENIED:
        add_ours(g, "dlb-target",
                 bytes_text(rng_chance(&w->rng, 5000) ? "payroll" : "schedule.30s"));
        break;
    default:
        break;
    }
}

static bool names_target(const struct world *w, const struct ask *ask)
{
    if (ask->fault == CODE_TARGET_DENIED || ask->fault == CODE_NO_TARGET)
        return false;
    return ask->target != TARGET_DEFAULT || !w->setup.default_target || ask->retry != NULL;
}

/* The name, as a reader of the contract would find it. */
static void name_request(struct request *r, const struct ask *ask)
{
    const struct bytes record_key = r->record_key;
    r->named_by_id = ask->id != NULL;
    r->name = ask->id != NULL                                ? bytes_text(ask->id)
              : record_key.len >= 1 && record_key.len <= 128 ? record_key
                                                             : bytes_null();
    if (bytes_is_null(record_key) || (ask->retry != NULL && ask->id == NULL))
        r->name = bytes_null();
    bool formless = ask->fault != CODE_OK && ask->fault != CODE_TARGET_DENIED;
    r->op = ask->op;
    r->voids = ask->op != REQUEST_SCHEDULE && !formless;
}

static void add_op(struct gathering *g, const struct ask *ask)
{
    static const char *const names[] = {"schedule", "cancel", "replace"};
    if (ask->op != REQUEST_SCHEDULE && ask->fault != CODE_BAD_OP)
        add_ours(g, "dlb-op", bytes_text(names[ask->op]));
    if (ask->op == REQUEST_CANCEL && ask->id != NULL)
        add_ours(g, "dlb-id", bytes_text(ask->id));
}

static void add_stamp(struct gathering *g, const struct ask *ask, const struct request *r,
                      int64_t due_ms)
{
    struct world *w = g->world;
    if (names_target(w, ask))
        add_ours(g, "dlb-target", bytes_text(r->target));
    if (ask->id != NULL && ask->fault != CODE_BAD_ID)
        add_ours(g, "dlb-id", bytes_text(ask->id));
    if (ask->override_key != NULL || ask->override_null)
        add_ours(g, "dlb-key", ask->override_null ? bytes_null() : bytes_text(ask->override_key));
    if (ask->expires_in_ms != 0 || ask->fault == CODE_EXPIRED)
        add_ours(
            g, "dlb-expires-at",
            text(w, "%" PRId64, due_ms + (ask->fault == CODE_EXPIRED ? -1 : ask->expires_in_ms)));
    if (ask->spread_ms > 0)
        add_ours(g, "dlb-spread", bytes_text(unit_text(w, ask->spread_ms)));
    if (rng_chance(&w->rng, 500)) /* from an earlier delivery; the bridge drops it */
        add_ours(g, "dlb-due", bytes_text("17"));
}

/* A foreign header belongs to the business too: it is delivered. */
static void add_foreign(struct gathering *g, const char *name, struct bytes value)
{
    g->all[g->all_n++] = g->own[g->own_n++] = (struct header){name, value};
}

static void add_etf1(struct gathering *g, const struct request *r)
{
    struct world *w = g->world;
    add_foreign(g, "scheduler-epoch", text(w, "%" PRId64, r->due_ms / 1000));
    add_foreign(g, "scheduler-target-topic", bytes_text(r->target));
    add_foreign(g, "scheduler-target-key", r->key);
}

static struct bytes value_of(struct world *w, const struct ask *ask)
{
    if (!ask->has_value)
        return bytes_null();
    char *value = arena_take(&w->arena, ask->value_len + 1);
    for (size_t i = 0; i < ask->value_len; i++)
        value[i] = (char)(i < 8 ? (int)(rng_next(&w->rng) & 0xff) : (int)i);
    return bytes_of(value, ask->value_len);
}

static struct bytes text_or_null(const char *string)
{
    return string != NULL ? bytes_text(string) : bytes_null();
}

/* Counts failures that are known already. A process that learns of one late may fail a later
   request, once in each process. */
static int known_failures(const struct world *w, const struct target_model *target)
{
    return target->failed < w->setup.processes ? target->failed : w->setup.processes;
}

struct request *workload_send(struct world *w, const struct ask *ask)
{
    struct gathering g = {.world = w};
    struct request *r = arena_take(&w->arena, sizeof *r);
    bool undated = ask->no_timestamp && !w->setup.cuts;
    int64_t stamped_ms = EPOCH_MS + w->now_ms - (w->setup.cuts ? 0 : ask->age_ms);
    int64_t due_ms = stamped_ms + ask->delay_ms;
    *r =
        (struct request){.lane = ask->lane,
                         .appended_ms = w->now_ms,
                         .due_ms = undated ? DUE_UNKNOWN : due_ms,
                         .delay_ms = ask->delay_ms,
                         .spread_ms = ask->spread_ms,
                         .expires_ms = ask->expires_in_ms ? due_ms + ask->expires_in_ms : INT64_MAX,
                         .target = w->targets[ask->target].name,
                         .key = text_or_null(ask->key),
                         .record_key = text_or_null(ask->key),
                         .value = value_of(w, ask),
                         .id = text_or_null(ask->id),
                         .expect = ask->fault,
                         .failures = known_failures(w, &w->targets[ask->target])};
    add_own(&g, ask->headers);
    if (ask->etf1) {
        r->due_ms = r->due_ms / 1000 * 1000;
        add_etf1(&g, r);
    } else if (ask->retry != NULL) {
        retries_expect(w, r, ask);
        add_retry(&g, ask);
        add_stamp(&g, ask, r, due_ms);
    } else if (ask->op != REQUEST_CANCEL) {
        add_time(&g, ask, stamped_ms);
        add_stamp(&g, ask, r, due_ms);
    }
    if (!ask->etf1)
        add_op(&g, ask);
    add_fault(&g, ask);
    name_request(r, ask);
    r->schedule = w->schedule_n;
    r->number = (int)w->requests_n;
    struct entry entry = {.timestamp_ms = undated ? -1 : stamped_ms,
                          .key = r->key,
                          .value = r->value,
                          .headers = g.all,
                          .headers_n = g.all_n,
                          .request = r};
    if (ask->override_key != NULL || ask->override_null)
        r->key = text_or_null(ask->override_key);
    struct header *own = arena_take(&w->arena, sizeof g.own);
    memcpy(own, g.own, g.own_n * sizeof *own);
    r->headers = own;
    r->headers_n = g.own_n;
    struct log *log = &w->broker.logs[TOPIC_SCHEDULE][ask->lane];
    r->offset = log_append(&w->broker, log, &entry)->offset;
    *w->requests_end = r;
    w->requests_end = &r->next;
    if (r->op != REQUEST_SCHEDULE)
        void_written(w, r);
    w->requests_n++;
    w->open_n++;
    w->broker.undone_n++;
    trace(w, NULL, "request %d/%" PRId64 ": due %.3f s to %s, fault %s", r->lane, r->offset,
          (double)(due_ms - EPOCH_MS) / 1000, r->target, code_name(ask->fault));
    inbox_appended(w, TOPIC_SCHEDULE, ask->lane);
    return r;
}

static int64_t random_delay(struct rng *rng, int64_t most_ms)
{
    int64_t delay_ms = rng_between(rng, 0, most_ms);
    for (int halves = rng_int(rng, 0, 8); halves > 0; halves--)
        delay_ms /= 2;
    return rng_chance(rng, 5000) ? delay_ms / 1000 * 1000 : delay_ms;
}

static size_t random_size(struct world *w)
{
    if (w->setup.floods)
        return TARGET_BYTES_MAX - 100;
    static const int sizes[] = {0,
                                10,
                                100,
                                1000,
                                TARGET_BYTES_MAX + 1,
                                LEVEL_BYTES_MAX + 1,
                                DEAD_BYTES_MAX + 1,
                                REQUEST_BYTES_MAX + 1};
    int largest = w->setup.request_max_bytes > 0 ? 7 : 6;
    return (size_t)sizes[rng_int(&w->rng, 0, rng_chance(&w->rng, 1000) ? largest : 2)];
}

const char *workload_long_key(struct world *w, size_t len)
{
    char *key = arena_take(&w->arena, len + 1);
    memset(key, 'k', len);
    return key;
}

struct request *workload_random(struct world *w, int64_t most_ms)
{
    static const char *const keys[] = {NULL, "", "k", "order-17", "a-rather-long-key-of-somebody"};
    struct rng *rng = &w->rng;
    struct ask ask = {.lane = rng_int(rng, 0, w->setup.lanes - 1),
                      .delay_ms = random_delay(rng, most_ms),
                      .absolute = rng_chance(rng, 5000),
                      .age_ms = rng_chance(rng, 2000) ? rng_between(rng, 0, 5000) : 0,
                      .target = rng_int(rng, TARGET_DEFAULT, TARGET_B),
                      .key = keys[rng_int(rng, 0, 4)],
                      .id = rng_chance(rng, 3000) ? "named" : NULL,
                      .override_key = rng_chance(rng, 1000) ? "other" : NULL,
                      .has_value = rng_chance(rng, 9000),
                      .headers = rng_int(rng, 0, 4)};
    ask.value_len = ask.has_value ? random_size(w) : 0;
    if (ask.value_len > DEAD_BYTES_MAX && ask.headers > 2) /* here the key is too large */
        ask.key = workload_long_key(w, ask.value_len), ask.value_len = 10;
    if (ask.override_key == NULL)
        ask.override_null = rng_chance(rng, 500);
    if (ask.absolute && rng_chance(rng, 1000))
        ask.delay_ms = -rng_between(rng, 0, 100000);
    else if (!ask.absolute && rng_chance(rng, 500))
        ask.no_timestamp = true;
    if (!ask.no_timestamp && rng_chance(rng, 1000))
        ask.expires_in_ms = 1 + random_delay(rng, 20000);
    if (rng_chance(rng, 200))
        ask.target = TARGET_GHOST;
    if (rng_chance(rng, 700) && !ask.no_timestamp) {
        static const enum code faults[] = {CODE_UNKNOWN_HEADER, CODE_BAD_HEADER,   CODE_BAD_OP,
                                           CODE_BAD_ID,         CODE_NO_TIME,      CODE_TWO_TIMES,
                                           CODE_BAD_TIME,       CODE_TOO_FAR,      CODE_EXPIRED,
                                           CODE_NO_TARGET,      CODE_TARGET_DENIED};
        ask.fault = faults[rng_int(rng, 0, sizeof faults / sizeof faults[0] - 1)];
        ask.absolute = ask.absolute && ask.fault != CODE_BAD_HEADER;
        ask.delay_ms = ask.delay_ms < 0 ? 0 : ask.delay_ms;
        ask.expires_in_ms = 0;
        if (ask.fault == CODE_NO_TARGET && w->setup.default_target)
            ask.fault = CODE_NO_TIME;
    }
    return workload_send(w, &ask);
}

/* Draws from its own generator: a seed without cancels stays as it is. The names are those of
   workload_random. */
struct request *workload_cancel(struct world *w, int64_t most_ms)
{
    static const char *const keys[] = {"k", "order-17", "a-rather-long-key-of-somebody"};
    struct rng *rng = &w->cancel_rng;
    struct ask ask = {.lane = rng_int(rng, 0, w->setup.lanes - 1),
                      .op = rng_chance(rng, 7000) ? REQUEST_CANCEL : REQUEST_REPLACE,
                      .target = rng_int(rng, TARGET_DEFAULT, TARGET_B),
                      .key = keys[rng_int(rng, 0, 2)],
                      .id = rng_chance(rng, 3000) ? "named" : NULL,
                      .has_value = rng_chance(rng, 5000),
                      .value_len = (size_t)rng_int(rng, 0, 100)};
    if (rng_chance(rng, 300)) {
        ask.key = NULL;
        ask.fault = CODE_BAD_ID;
    }
    if (ask.op == REQUEST_REPLACE) {
        ask.delay_ms = random_delay(rng, most_ms);
        ask.absolute = rng_chance(rng, 5000);
        if (rng_chance(rng, 500))
            ask.expires_in_ms = 1 + random_delay(rng, 20000);
    }
    if (ask.op == REQUEST_REPLACE && ask.fault == CODE_OK && rng_chance(rng, 1500)) {
        static const enum code faults[] = {CODE_BAD_TIME, CODE_NO_TIME, CODE_TARGET_DENIED,
                                           CODE_TOO_FAR};
        ask.fault = faults[rng_int(rng, 0, 3)];
        ask.expires_in_ms = 0;
    }
    return workload_send(w, &ask);
}

struct entry *workload_foreign(struct world *w, int topic, int lane, bool damaged)
{
    static const char garbage[] = "DLBE\1 and then nothing that fits an envelope, although it is "
                                  "long enough to be one with all its fields in place ........";
    struct log *log = &w->broker.logs[topic][lane];
    struct entry entry = {.timestamp_ms = EPOCH_MS + w->now_ms,
                          .value = damaged ? bytes_text(garbage) : bytes_null(),
                          .foreign = true};
    struct entry *stored = log_append(&w->broker, log, &entry);
    trace(w, NULL, "a foreign record at topic %d lane %d offset %" PRId64, topic, lane,
          stored->offset);
    w->broker.undone_n++;
    inbox_appended(w, topic, lane);
    return stored;
}

struct entry *workload_unreadable(struct world *w, int topic, int lane, int n)
{
    struct entry *entry = workload_foreign(w, topic, lane, false);
    struct log *log = &w->broker.logs[topic][lane];
    log->end += n - 1;
    entry->unreadable_end = log->end;
    inbox_appended(w, topic, lane);
    return entry;
}
