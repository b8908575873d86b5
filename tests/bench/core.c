/* SPDX-License-Identifier: Apache-2.0 */
/* bench_core: single pieces of a record's way. Measures the nanoseconds of an operation (the
   fastest of some rounds) and its allocations, which must be 0. Prints one JSON object for each
   piece. */
#include "levels/cancels.h"
#include "levels/envelope.h"
#include "levels/plan.h"
#include "levels/request.h"
#include "levels/wheel.h"
#include "levels/window.h"
#include "tests/bench/core_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 7, SPAN_MS = 4000 };

static uint64_t allocations;

/* Counts allocations. The linker redirects every allocation of this program here (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    allocations++;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

static volatile int64_t sink; /* keeps the compiler from removing the work */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void core_measure(const char *name, int64_t n, void (*run)(void *ctx, int64_t n), void *ctx)
{
    double best = 1e18;
    uint64_t before = allocations;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = now_ns();
        run(ctx, n);
        double each = (double)(now_ns() - start) / (double)n;
        best = each < best ? each : best;
    }
    printf("{\"piece\": \"%s\", \"ns\": %.1f, \"allocations\": %" PRIu64 "}\n", name, best,
           allocations - before);
}

/* A request of 100 bytes with two dlb- headers and a user header. */

static const struct header request_headers[] = {
    {"dlb-deliver-at", {.data = (const uint8_t *)"1790000000000", .len = 13}},
    {"dlb-target", {.data = (const uint8_t *)"orders.timeout", .len = 14}},
    {"trace", {.data = (const uint8_t *)"0123456789", .len = 10}}};
/* The same with a spread, and the third attempt of a consumer with the headers of its delivery. */
static const struct header spread_headers[] = {
    {"dlb-deliver-at", {.data = (const uint8_t *)"1790000000000", .len = 13}},
    {"dlb-target", {.data = (const uint8_t *)"orders.timeout", .len = 14}},
    {"dlb-spread", {.data = (const uint8_t *)"2m", .len = 2}},
    {"trace", {.data = (const uint8_t *)"0123456789", .len = 10}}};
static const struct header retry_headers[] = {
    {"trace", {.data = (const uint8_t *)"0123456789", .len = 10}},
    {"dlb-attempt", {.data = (const uint8_t *)"2", .len = 1}},
    {"dlb-first-at", {.data = (const uint8_t *)"1789998000000", .len = 13}},
    {"dlb-origin", {.data = (const uint8_t *)"schedule/3/123456", .len = 17}},
    {"dlb-due", {.data = (const uint8_t *)"1789998990000", .len = 13}},
    {"dlb-source", {.data = (const uint8_t *)"schedule/3/123999", .len = 17}},
    {"dlb-retry", {.data = (const uint8_t *)"series", .len = 6}},
    {"dlb-target", {.data = (const uint8_t *)"orders.timeout", .len = 14}}};
static char policy_name[] = "series";
static const struct retry_policy policy = {.name = policy_name,
                                           .first_ms = 200,
                                           .longest_ms = 60000,
                                           .factor = 2,
                                           .attempts = 10,
                                           .jitter = 0.5,
                                           .deadline_ms = 86400000};
static const char body[100] = "value";

struct sample {
    struct record record;
    struct request_rules rules;
    struct stamp stamp;
    struct ladder ladder;
    uint8_t bytes[512];
    size_t len;
};

static void parse(void *ctx, int64_t n)
{
    struct sample *s = ctx;
    struct refusal why;
    for (int64_t i = 0; i < n; i++)
        sink += request_parse(&s->rules, 3, &s->record, 1789999000000, &s->stamp, &why);
}

static void enclose(void *ctx, int64_t n)
{
    struct sample *s = ctx;
    for (int64_t i = 0; i < n; i++) {
        s->stamp.origin_offset = i;
        s->len = envelope_enclosed_size(&s->stamp, &s->record);
        envelope_enclose(&s->stamp, &s->record, s->bytes);
    }
}

static void open_one(void *ctx, int64_t n)
{
    struct sample *s = ctx;
    struct envelope env;
    for (int64_t i = 0; i < n; i++)
        sink += envelope_open(bytes_of(s->bytes, s->len), &env);
}

/* Parses, encodes and opens another request. */
static void measure_request(struct sample *s, const char *name, const struct header *headers,
                            size_t headers_n)
{
    char piece[64];
    s->record.headers = headers;
    s->record.headers_n = headers_n;
    snprintf(piece, sizeof piece, "request%s: parse", name);
    core_measure(piece, 1000000, parse, s);
    snprintf(piece, sizeof piece, "envelope%s: encode", name);
    core_measure(piece, 1000000, enclose, s);
    snprintf(piece, sizeof piece, "envelope%s: open", name);
    core_measure(piece, 1000000, open_one, s);
}

#define MEASURE_REQUEST(s, name, headers) \
    measure_request(s, name, headers, sizeof(headers) / sizeof *(headers))

static void plan(void *ctx, int64_t n)
{
    struct sample *s = ctx;
    for (int64_t i = 0; i < n; i++)
        sink += plan_level(&s->ladder, i * 7919 % 7200000);
}

static void release(void *ctx, int64_t n)
{
    struct sample *s = ctx;
    for (int64_t i = 0; i < n; i++)
        sink += plan_release_ms(&s->ladder, 60000, 1000000, 1000000 + 60000 + i * 7919 % 7200000);
}

/* Adds n timers, and advances the time by milliseconds until all have expired. */
struct holds {
    struct wheel wheel;
    struct wheel_node *nodes;
    int64_t now_ms, n;
};

static void add_and_expire(void *ctx, int64_t n)
{
    struct holds *h = ctx;
    int64_t span_ms = h->n < SPAN_MS / 2 ? h->n : SPAN_MS / 2;
    for (int64_t done = 0; done < n; done += h->n) {
        for (int64_t i = 0; i < h->n; i++)
            wheel_add(&h->wheel, &h->nodes[i], h->now_ms + 1 + i * 7919 % span_ms);
        for (int64_t end = h->now_ms + span_ms; h->now_ms < end;) {
            wheel_advance(&h->wheel, ++h->now_ms);
            while (wheel_pop(&h->wheel) != NULL) {
            }
        }
    }
}

static void holds(int64_t n)
{
    char name[64];
    struct holds h = {.now_ms = 1000000, .n = n};
    h.nodes = calloc((size_t)n, sizeof *h.nodes);
    if (h.nodes == NULL || wheel_init(&h.wheel, SPAN_MS, h.now_ms) != 0)
        exit(70);
    snprintf(name, sizeof name, "wheel: add and expire, %" PRId64 " held", n);
    core_measure(name, n < 1000000 ? 1000000 / n * n : n, add_and_expire, &h);
    wheel_deinit(&h.wheel);
    free(h.nodes);
}

static void admit_and_mark(void *ctx, int64_t n)
{
    struct window *w = ctx;
    for (int64_t i = 0; i < n; i += 64) {
        int64_t base = w->next;
        for (int64_t k = 0; k < 64; k++)
            window_admit(w, base + k);
        for (int64_t k = 63; k >= 0; k--)
            window_done(w, base + k);
    }
}

static void encode(void *ctx, int64_t n)
{
    static char text[WINDOW_TEXT_MAX + 1];
    for (int64_t i = 0; i < n; i++)
        sink += (int64_t)window_encode(ctx, text);
}

static void windows(void)
{
    static struct window w;
    window_init(&w, 1000);
    core_measure("window: admit and mark done", 1 << 20, admit_and_mark, &w);
    window_init(&w, 1000);
    core_measure("window: encode, nothing above base", 100000, encode, &w);
    for (int64_t i = 0; i < WINDOW_SPAN - 64; i++) {
        window_admit(&w, 1000 + i);
        if (i % 3 == 1)
            window_done(&w, 1000 + i);
    }
    core_measure("window: encode, 24,000 records in work", 20000, encode, &w);
}

/* Cancels: n of them are in force, and the look-ups come 64 at a time, as records become ready. */
struct voids {
    struct cancels table;
    int lane;
    int64_t n, from; /* look-ups go to names from .. from + n - 1 */
};

enum { READY = 64 };

static struct cancel_print order_print(const struct voids *v, int64_t order)
{
    char name[24] = "order-2026-000000000000";
    for (size_t at = 22; order > 0; at--, order /= 10)
        name[at] = (char)('0' + order % 10);
    return cancels_print(&v->table, CANCEL_BY_KEY, bytes_of(name, 23));
}

static void look_up(void *ctx, int64_t n)
{
    struct voids *v = ctx;
    struct cancel_print prints[READY];
    uint64_t at = 88172645463325252u;
    for (int64_t i = 0; i < n; i += READY) {
        for (int k = 0; k < READY; k++) {
            at = at * 6364136223846793005u + 1442695040888963407u;
            prints[k] = order_print(v, v->from + (int64_t)(at >> 33) % (v->n > 0 ? v->n : 1000));
            cancels_prefetch(&v->table, prints[k]);
        }
        for (int k = 0; k < READY; k++)
            sink += cancels_void(&v->table, v->lane, prints[k], 0);
    }
}

static void skip_lane(void *ctx, int64_t n)
{
    const struct voids *v = ctx;
    for (int64_t i = 0; i < n; i++)
        sink += cancels_has(&v->table, v->lane);
}

static void enter(void *ctx, int64_t n)
{
    struct voids *v = ctx;
    for (int64_t i = 0; i < n; i++)
        sink += cancels_put(&v->table, v->lane, order_print(v, i % v->n), i, SIZE_MAX);
}

static void restore(void *ctx, int64_t n)
{
    struct voids *v = ctx;
    for (int64_t i = 0; i < n; i++)
        sink += cancels_restore(&v->table, v->lane, order_print(v, i), i + 1);
}

static struct voids *voids_of(int64_t n, size_t memory)
{
    static struct voids v;
    v = (struct voids){.n = n};
    if (cancels_init(&v.table, memory, 7) != 0)
        exit(70);
    v.lane = cancels_open(&v.table, 0);
    return &v;
}

static void cancels(int64_t n, size_t memory)
{
    char name[64];
    struct voids *v = voids_of(n, memory);
    restore(v, n);
    v->from = n;
    snprintf(name, sizeof name, "cancels: look-up, none of %" PRId64 " names it", n);
    core_measure(name, 1 << 20, look_up, v);
    v->from = 0;
    snprintf(name, sizeof name, "cancels: look-up, one of %" PRId64 " names it", n);
    core_measure(name, 1 << 20, look_up, v);
    if (n > 0) {
        snprintf(name, sizeof name, "cancels: enter a name again, %" PRId64 " in force", n);
        core_measure(name, 1 << 20, enter, v);
    }
    cancels_deinit(&v->table);
}

static void restore_from_empty(void *ctx, int64_t n)
{
    (void)ctx;
    struct voids *v = voids_of(n, 64 << 20);
    restore(v, n);
    cancels_deinit(&v->table);
}

static void all_cancels(void)
{
    struct voids *none = voids_of(0, 64 << 20);
    core_measure("cancels: a lane without entries", 1 << 26, skip_lane, none);
    cancels_deinit(&none->table);
    cancels(50000, 64 << 20);
    cancels(3000000, 64 << 20);
    cancels(5000000, 100 << 20);
    core_measure("cancels: restore 5000000", 5000000, restore_from_empty, NULL);
}

static const int64_t levels_ms[] = {1000,   5000,   10000,   30000,   60000,   120000,
                                    180000, 240000, 300000,  360000,  420000,  480000,
                                    540000, 600000, 1200000, 1800000, 3600000, 7200000};

int main(void)
{
    static const char *const patterns[] = {"orders.*"};
    static struct sample s;
    s.record = (struct record){.timestamp_ms = 1789999000000,
                               .key = bytes_text("order-1"),
                               .value = bytes_of(body, sizeof body)};
    s.rules = (struct request_rules){
        .allowlist = {.patterns = patterns, .patterns_n = 1, .schedule = "schedule"},
        .max_delay_ms = INT64_MAX / 4,
        .retry = &policy,
        .retry_n = 1};
    s.ladder = (struct ladder){.n = 18, .hold_ms = 1000, .slack_ms = 500};
    memcpy(s.ladder.level_ms, levels_ms, sizeof levels_ms);
    MEASURE_REQUEST(&s, "", request_headers);
    MEASURE_REQUEST(&s, " with a spread", spread_headers);
    MEASURE_REQUEST(&s, " of a retry", retry_headers);
    core_measure("plan: level", 1000000, plan, &s);
    core_measure("plan: release", 1000000, release, &s);
    holds(1);
    holds(10000);
    holds(1000000);
    windows();
    bool allocates = allocations > 16; /* setup may allocate; a piece has its own count */
    core_control();
    all_cancels(); /* a restore allocates too */
    return allocates;
}
