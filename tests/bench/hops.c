/* SPDX-License-Identifier: Apache-2.0 */
/* bench_hops: counts the hops of requests. The step machine runs in virtual time, with logs in
   memory in place of brokers, and no faults. Each step of 10 ms takes records and answers. Two
   hours are measured after two hours of warm-up. Prints one
   JSON object: the hops of a request, the share of kept requests, and the share of these that were
   spilled. It also has the most bytes of kept records, and the largest lateness.

   bench_hops MODE RATE DELAY HOLD MEMORY
     MODE    at-least-once or exactly-once
     RATE    requests a second, in 8 lanes
     DELAY   seconds: exp:MEAN, up-to:MOST or the delay of each
     HOLD    ms
     MEMORY  bytes */
#include "bridge/core/bridge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 8, STEP_MS = 10, HOUR_MS = 3600000, FETCHED = 300, CALLS_MAX = 64, VALUE_LEN = 100 };
enum { QUEUES_MAX = LANES * SLOTS_MAX };
#define T0 ((int64_t)1790000000000)

/* A stored record. Requests have a delay, and waiting records an envelope. */
struct item {
    int64_t timestamp_ms, delay_ms;
    uint32_t len;
    uint8_t *envelope;
};

/* A partition: a ring of the records from start on. */
struct log {
    struct item *items;
    int64_t capacity, start, end, next;
    bool is_paused;
};

struct lent {
    struct record record;
    struct header headers[2];
    char delay[24];
    uint8_t bytes[];
};

static struct {
    struct bridge *bridge;
    struct bridge_config config;
    struct stats stats;
    struct now now;
    struct log logs[QUEUES_MAX];
    struct parcel **flying;
    size_t flying_n, flying_max;
    uint64_t seq;
    bool commits;
    struct client_fact calls[CALLS_MAX]; /* that end in the next call of reports */
    size_t calls_n;
} w;

static char value[VALUE_LEN];

static void append(struct log *log, struct item item)
{
    if (log->end - log->start == log->capacity) {
        int64_t capacity = log->capacity == 0 ? 1024 : 2 * log->capacity;
        struct item *items = malloc((size_t)capacity * sizeof *items);
        for (int64_t at = log->start; at < log->end; at++)
            items[at % capacity] = log->items[at % log->capacity];
        free(log->items);
        log->items = items;
        log->capacity = capacity;
    }
    log->items[log->end++ % log->capacity] = item;
}

static void trim(struct log *log, int64_t base)
{
    for (; log->start < base; log->start++)
        free(log->items[log->start % log->capacity].envelope);
}

static struct lent *lend(size_t len)
{
    struct lent *lent = calloc(1, sizeof *lent + len);
    lent->record = (struct record){
        .value = bytes_of(lent->bytes, len), .cost_bytes = len, .overhead_bytes = sizeof *lent};
    return lent;
}

static struct record *port_take(void *ctx, struct queue_id q)
{
    (void)ctx;
    struct log *log = &w.logs[q.index];
    if (log->is_paused || log->next >= log->end)
        return NULL;
    const struct item *item = &log->items[log->next % log->capacity];
    struct lent *lent = lend(item->envelope == NULL ? VALUE_LEN : item->len);
    memcpy(lent->bytes, item->envelope == NULL ? (void *)value : item->envelope,
           lent->record.value.len);
    lent->record.offset = log->next++;
    lent->record.timestamp_ms = item->timestamp_ms;
    lent->record.overhead_bytes += FETCHED;
    if (q.slot != SLOT_SCHEDULE)
        return &lent->record;
    snprintf(lent->delay, sizeof lent->delay, "%" PRId64 "ms", item->delay_ms);
    lent->headers[0] = (struct header){"dlb-delay", bytes_text(lent->delay)};
    lent->headers[1] = (struct header){"dlb-target", bytes_text("orders")};
    lent->record.headers = lent->headers;
    lent->record.headers_n = 2;
    return &lent->record;
}

static void port_release(void *ctx, struct record *record)
{
    (void)ctx;
    free(record);
}

static struct record *port_make(void *ctx, struct bytes key, size_t size)
{
    (void)ctx, (void)key;
    return &lend(size)->record;
}

static struct record *port_keep(void *ctx, struct record *record)
{
    (void)ctx;
    record->overhead_bytes = sizeof(struct lent);
    return record;
}

static void port_pause(void *ctx, struct queue_id q)
{
    (void)ctx;
    w.logs[q.index].is_paused = true;
}

static void port_seek(void *ctx, struct queue_id q, int64_t offset)
{
    (void)ctx;
    w.logs[q.index].is_paused = false;
    w.logs[q.index].next = offset;
}

static int64_t port_end(void *ctx, struct queue_id q)
{
    (void)ctx;
    return w.logs[q.index].end;
}

static int64_t port_drained(void *ctx, struct queue_id q)
{
    (void)ctx;
    const struct log *log = &w.logs[q.index];
    return log->next >= log->end ? log->end : -1;
}

static int64_t port_unread(void *ctx, struct queue_id q)
{
    (void)ctx, (void)q;
    return 0;
}

static int port_forward(void *ctx, const struct forward *f)
{
    (void)ctx;
    if (f->kind == FORWARD_LEVEL) {
        struct queue_id to = {f->from.lane * bridge_queues_per_lane(w.bridge) + f->slot,
                              f->from.lane, f->slot};
        size_t len = f->record->value.len;
        struct item item = {f->timestamp_wall_ms, 0, (uint32_t)len, malloc(len)};
        memcpy(item.envelope, f->record->value.data, len);
        append(&w.logs[to.index], item);
    }
    if (w.flying_n == w.flying_max)
        w.flying = realloc(w.flying, (w.flying_max = 2 * w.flying_max + 1024) * sizeof *w.flying);
    w.flying[w.flying_n++] = f->parcel;
    return 0;
}

static void call(int client, enum client_call kind)
{
    w.calls[w.calls_n++] = (struct client_fact){
        .event = CLIENT_ENDED, .client = client, .call = kind, .ok = true, .why = ""};
}

static void port_reports(void *ctx)
{
    (void)ctx;
    size_t n = w.calls_n, flying_n = w.flying_n;
    struct client_fact calls[CALLS_MAX];
    memcpy(calls, w.calls, n * sizeof *calls);
    w.calls_n = w.flying_n = 0;
    for (size_t i = 0; i < flying_n; i++)
        bridge_reported(w.bridge, w.flying[i], REPORT_OK, "");
    for (size_t i = 0; i < n; i++) {
        bridge_client_fact(w.bridge, &calls[i]);
        if (calls[i].call == CALL_DESTROY)
            call(calls[i].client, CALL_INIT);
    }
}

static enum lookup port_lookup(void *ctx, struct target_id *target)
{
    (void)ctx, (void)target;
    return LOOKUP_WHOLE;
}

static enum lookup port_lookup_outlet(void *ctx, struct queue_id outlet)
{
    (void)ctx, (void)outlet;
    return LOOKUP_WHOLE;
}

static void port_forget(void *ctx, struct target_id *target)
{
    (void)ctx, (void)target;
}

static void port_trim(void *ctx, struct queue_id q, int64_t base)
{
    (void)ctx;
    trim(&w.logs[q.index], base);
    bridge_trimmed(w.bridge, q, base);
}

static void port_commit(void *ctx, uint64_t seq, const struct progress *progress, size_t n)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++)
        if (progress[i].queue.slot == SLOT_SCHEDULE)
            trim(&w.logs[progress[i].queue.index], progress[i].base);
    w.seq = seq;
    w.commits = true;
}

static int port_begin(void *ctx, int client)
{
    (void)ctx, (void)client;
    return 0;
}

static int port_send_offsets(void *ctx, int client, const struct progress *progress, size_t n)
{
    port_commit(ctx, 0, progress, n);
    w.commits = false;
    call(client, CALL_SEND_OFFSETS);
    return 0;
}

static void port_commit_transaction(void *ctx, int client)
{
    (void)ctx;
    call(client, CALL_COMMIT);
}

static void port_renew(void *ctx, int client, bool was_left)
{
    (void)ctx, (void)was_left;
    call(client, CALL_DESTROY);
}

static void port_notice(void *ctx, const struct notice *notice)
{
    (void)ctx, (void)notice;
}

static int64_t port_wall_ms(void *ctx)
{
    (void)ctx;
    return w.now.wall_ms;
}

static const struct port port = {
    .take = port_take,
    .release = port_release,
    .make = port_make,
    .keep = port_keep,
    .pause = port_pause,
    .seek = port_seek,
    .end = port_end,
    .drained = port_drained,
    .unread = port_unread,
    .forward = port_forward,
    .reports = port_reports,
    .lookup = port_lookup,
    .forget = port_forget,
    .lookup_outlet = port_lookup_outlet,
    .trim = port_trim,
    .commit = port_commit,
    .begin = port_begin,
    .send_offsets = port_send_offsets,
    .renew = port_renew,
    .commit_transaction = port_commit_transaction,
    .notice = port_notice,
    .wall_ms = port_wall_ms,
};

static double random_part(void)
{
    static uint64_t state = 88172645463325252u;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static int64_t delay_ms(const char *delay)
{
    double at = strncmp(delay, "exp:", 4) == 0     ? -log(1 - random_part()) * atof(delay + 4)
                : strncmp(delay, "up-to:", 6) == 0 ? random_part() * atof(delay + 6)
                                                   : atof(delay);
    return (int64_t)(at * 1000);
}

static void start(const char *mode, const char *hold_ms, const char *memory)
{
    static const char *const patterns[] = {"orders"};
    static const int64_t levels_ms[] = {1000,   5000,   10000,   30000,   60000,   120000,
                                        180000, 240000, 300000,  360000,  420000,  480000,
                                        540000, 600000, 1200000, 1800000, 3600000, 7200000};
    w.config = (struct bridge_config){
        .ladder = {.n = 18, .hold_ms = 1000, .slack_ms = 500},
        .hold_ms = atoll(hold_ms),
        .lanes = LANES,
        .rules = {.allowlist = {.patterns = patterns, .patterns_n = 1, .schedule = "schedule"},
                  .max_delay_ms = INT64_MAX / 4},
        .max_attempts = 8,
        .memory_bytes = atoll(memory),
        .exactly_once = strcmp(mode, "exactly-once") == 0,
        .session_ms = 45000};
    memcpy(w.config.ladder.level_ms, levels_ms, sizeof levels_ms);
    w.now = (struct now){.wall_ms = T0, .mono_ms = HOUR_MS};
    w.bridge = bridge_new(&w.config, &port, &w.stats, w.now);
    if (w.bridge == NULL)
        exit(70);
    while (!bridge_may_gain(w.bridge))
        (void)bridge_turn(w.bridge, w.now);
    static const struct start starts[SLOTS_MAX]; /* each log begins at offset 0 */
    for (int lane = 0; lane < LANES; lane++)
        (void)bridge_lane_assigned(w.bridge, lane, starts, w.now);
    bridge_lanes_settled(w.bridge);
}

static void step(double rate, const char *delay)
{
    static double due;
    int slots = bridge_queues_per_lane(w.bridge);
    w.now.wall_ms += STEP_MS;
    w.now.mono_ms += STEP_MS;
    for (due += rate * STEP_MS / 1000; due >= 1; due--) {
        int lane = (int)(random_part() * LANES);
        append(&w.logs[lane * slots], (struct item){w.now.wall_ms, delay_ms(delay), 0, NULL});
    }
    for (int i = 0; i < LANES * slots; i++)
        if (!w.logs[i].is_paused && w.logs[i].next < w.logs[i].end)
            bridge_wake(w.bridge, (struct queue_id){i, i / slots, i % slots});
    if (w.commits)
        bridge_committed(w.bridge, w.seq, true);
    w.commits = false;
    for (int turns = 0; bridge_turn(w.bridge, w.now) == 0 && turns < 1000;)
        turns++;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fputs("bench_hops MODE RATE DELAY HOLD MEMORY\n", stderr);
        return 64;
    }
    start(argv[1], argv[4], argv[5]);
    double rate = atof(argv[2]);
    int64_t most = 0;
    for (int64_t ms = 0; ms < 2 * HOUR_MS; ms += STEP_MS)
        step(rate, argv[3]);
    struct stats *s = &w.stats;
    uint64_t hops = counter_read(&s->hops), requests = counter_read(&s->requests);
    uint64_t kept = counter_read(&s->kept), spilled = counter_read(&s->spilled);
    for (int64_t ms = 0; ms < 2 * HOUR_MS; ms += STEP_MS) {
        step(rate, argv[3]);
        int64_t bytes = (int64_t)counter_read(&s->kept_bytes);
        most = bytes > most ? bytes : most;
    }
    requests = counter_read(&s->requests) - requests;
    kept = counter_read(&s->kept) - kept;
    printf("{\"hops\": %.3f, \"kept\": %.3f, \"spilled\": %.4f, \"kept_bytes\": %" PRId64
           ", \"late_max_ms\": %" PRIu64 "}\n",
           (double)(counter_read(&s->hops) - hops) / (double)requests,
           (double)kept / (double)requests,
           kept == 0 ? 0 : (double)(counter_read(&s->spilled) - spilled) / (double)kept, most,
           counter_read(&s->lateness_max_ms));
    return 0;
}
