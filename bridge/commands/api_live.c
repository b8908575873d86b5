/* SPDX-License-Identifier: Apache-2.0 */
/* Routes that show figures of this process: status, history and configuration. */
#include "bridge/commands/api_parts.h"

#include "bridge/admin/embedded.h"
#include "bridge/admin/problem.h"
#include "bridge/base/clock.h"
#include "bridge/base/version.h"
#include "bridge/commands/result.h"
#include "bridge/config/loader.h"
#include "levels/instant.h"

#include <stdio.h>
#include <stdlib.h>

enum { RECENT_S = 10 };

static json_int_t count(const struct counter *counter)
{
    return (json_int_t)counter_read(counter);
}

static json_t *rate_json(uint64_t n, const struct history_second *sum)
{
    return sum->span_ms <= 0 ? json_null() : json_real((double)n * 1000 / (double)sum->span_ms);
}

/* Returns rates and lateness of the last seconds. */
static json_t *recent_json(struct api *api)
{
    pthread_mutex_lock(&api->history_mutex);
    struct history_second s = history_sum(api->history, RECENT_S);
    pthread_mutex_unlock(&api->history_mutex);
    json_t *json =
        json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "span_ms", (json_int_t)s.span_ms,
                  "requests_per_s", rate_json(s.requests, &s), "hops_per_s", rate_json(s.hops, &s),
                  "deliveries_per_s", rate_json(s.deliveries, &s), "cancelled_per_s",
                  rate_json(s.cancelled, &s), "dead_letters_per_s", rate_json(s.dead_letters, &s));
    bool any = s.deliveries > 0;
    json_object_update_new(json,
                           json_pack("{s:o, s:o, s:o}", "late_p50_ms",
                                     any ? json_integer(s.p50_ms) : json_null(), "late_p99_ms",
                                     any ? json_integer(s.p99_ms) : json_null(), "late_max_ms",
                                     any ? json_integer(s.max_ms) : json_null()));
    return json;
}

static json_t *totals_json(const struct stats *stats)
{
    json_int_t dead = 0;
    for (int code = 0; code < CODE_N; code++)
        dead += count(&stats->dead[code]);
    json_t *json = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "requests", count(&stats->requests),
                             "refused", count(&stats->refused), "hops", count(&stats->hops),
                             "deliveries", count(&stats->deliveries), "cancelled",
                             count(&stats->cancelled), "dead_letters", dead);
    json_object_update_new(json,
                           json_pack("{s:I, s:I, s:I}", "redeliveries", count(&stats->redeliveries),
                                     "deferrals", count(&stats->deferrals), "late_max_ms",
                                     (json_int_t)stats_max_ms(stats, NULL)));
    return json;
}

static json_t *gauges_json(const struct metrics *m)
{
    json_int_t waiting = 0, blocked = 0;
    const struct stats *stats = m->stats;
    json_int_t backlog = count(&stats->schedule_unread);
    for (int slot = 0; slot < SLOTS_MAX; slot++) {
        waiting += count(&stats->slots[slot].pending);
        blocked += count(&stats->slots[slot].blocked);
    }
    json_t *json =
        json_pack("{s:i, s:I, s:I, s:I, s:I, s:I}", "lanes", m->lanes, "owned_lanes",
                  count(&stats->lanes), "restoring_lanes", count(&stats->lanes_restoring),
                  "waiting", waiting > backlog ? waiting - backlog : 0, "backlog", backlog,
                  "blocked_partitions", blocked);
    json_object_update_new(json, json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I}", "unserved_lanes",
                                           m->watched.lanes_unserved, "buffered_records",
                                           count(&stats->buffered_records), "buffered_bytes",
                                           count(&stats->buffered_bytes), "events_blocked_lanes",
                                           count(&stats->events_blocked), "cancels_in_force",
                                           count(&stats->cancel_entries), "cancels_limit",
                                           count(&stats->cancel_entries_limit), "read_behind_ms",
                                           count(&stats->schedule_lag_ms)));
    return json;
}

/* Returns null for a figure that is not known yet, which is below 0. */
static json_t *known_json(int64_t figure)
{
    return figure < 0 ? json_null() : json_integer(figure);
}

static void read_status(void *ctx, const struct metrics *m, const char *why)
{
    json_t **json = ctx;
    const struct config *config = m->config;
    *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:o}", "version", version_number, "commit",
                      version_commit, "librdkafka", m->librdkafka, "group", config->group,
                      "schedule", config->schedule, "ready", m->ready, "why",
                      m->ready ? json_null() : json_string(why));
    json_object_update_new(*json, json_pack("{s:s, s:o, s:o, s:o, s:I, s:o, s:o}", "delivery",
                                            config->exactly_once ? "exactly-once" : "at-least-once",
                                            "refusals", known_json(m->refusals), "faults",
                                            known_json(m->faults), "open_transaction_records",
                                            known_json(m->watched.open_records), "config_hash",
                                            (json_int_t)m->config_hash, "now", gauges_json(m),
                                            "total", totals_json(m->stats)));
}

void api_status(void *ctx, const struct admin_route *route, const struct admin_request *request,
                struct admin_answer *answer)
{
    struct api *api = ctx;
    json_t *json = NULL;
    (void)route, (void)request;
    monitor_read(api->monitor, read_status, &json);
    json_object_update_new(
        json, json_pack("{s:o, s:o, s:b, s:b, s:o}", "at", instant_json(clock_wall_ms()), "started",
                        instant_json(api->started_wall_ms), "alive", monitor_is_alive(api->monitor),
                        "token", api->dispatch.token_path != NULL, "recent", recent_json(api)));
    answer->status = 200;
    answer->json = json;
}

/* The columns of the history. */
static const struct {
    const char *name;
    size_t offset;
} COLUMNS[] = {
#define COLUMN(name)                                 \
    {                                                \
#name, offsetof(struct history_second, name) \
    }
    COLUMN(span_ms),   COLUMN(requests),     COLUMN(hops),         COLUMN(deliveries),
    COLUMN(cancelled), COLUMN(dead_letters), COLUMN(redeliveries), COLUMN(deferrals),
    COLUMN(waiting),   COLUMN(backlog),      COLUMN(p50_ms),       COLUMN(p99_ms),
    COLUMN(max_ms)
#undef COLUMN
};

static json_t *column_json(const struct history *h, int from, size_t offset)
{
    json_t *list = json_array();
    int64_t value;
    for (int i = from; i < h->n; i++) {
        memcpy(&value, (const char *)history_at(h, i) + offset, sizeof value);
        json_array_append_new(list, json_integer(value));
    }
    return list;
}

/* Returns for each second the deliveries by the bounds of their lateness. */
static json_t *lateness_json(const struct history *h, int from)
{
    json_t *list = json_array();
    for (int i = from; i < h->n; i++) {
        json_t *buckets = json_array();
        for (int b = 0; b < SPAN_BUCKETS; b++)
            json_array_append_new(buckets, json_integer(history_at(h, i)->lateness[b]));
        json_array_append_new(list, buckets);
    }
    return list;
}

static json_t *bounds_json(void)
{
    json_t *list = json_array();
    for (int b = 0; b < SPAN_BUCKETS - 1; b++)
        json_array_append_new(list, json_real(SPAN_BOUNDS_MS[b]));
    return list;
}

static json_t *history_json(const struct history *h, int64_t since_wall_ms)
{
    int from = 0;
    json_t *json = json_object(), *at = json_array();
    while (from < h->n && history_at(h, from)->wall_ms <= since_wall_ms)
        from++;
    for (int i = from; i < h->n; i++)
        json_array_append_new(at, instant_json(history_at(h, i)->wall_ms));
    json_object_set_new(json, "at", at);
    for (size_t c = 0; c < sizeof COLUMNS / sizeof *COLUMNS; c++)
        json_object_set_new(json, COLUMNS[c].name, column_json(h, from, COLUMNS[c].offset));
    json_object_set_new(json, "lateness_bounds_ms", bounds_json());
    json_object_set_new(json, "lateness", lateness_json(h, from));
    return json;
}

void api_history(void *ctx, const struct admin_route *route, const struct admin_request *request,
                 struct admin_answer *answer)
{
    struct api *api = ctx;
    const char *since = admin_param(request->call, "since");
    int64_t since_wall_ms = INT64_MIN;
    (void)route;
    if (since != NULL && instant_parse(bytes_text(since), &since_wall_ms) != 0) {
        problem_answer(answer, (struct problem){400, "data", NULL},
                       "since: not an instant, such as 2026-11-21T08:00:00Z");
        return;
    }
    pthread_mutex_lock(&api->history_mutex); /* for a moment only: the sampler waits for it */
    struct history *copy = history_copy(api->history);
    pthread_mutex_unlock(&api->history_mutex);
    if (copy == NULL) {
        problem_answer(answer, (struct problem){500, "internal", NULL}, "out of memory");
        return;
    }
    answer->json = history_json(copy, since_wall_ms);
    answer->status = 200;
    history_free(copy);
}

static json_t *key_json(const struct config *config, const struct config_key *key)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    config_show(out, config, key);
    json_t *json = fclose(out) != 0 ? NULL
                                    : json_pack("{s:s, s:s, s:b}", "key", key->name, "value", text,
                                                "live", key->live);
    free(text);
    return json;
}

void api_show_config(void *ctx, const struct admin_route *route,
                     const struct admin_request *request, struct admin_answer *answer)
{
    struct api_config *config = api_config_take(ctx);
    json_t *list = json_array();
    (void)route, (void)request;
    for (size_t i = 0; i < CONFIG_KEYS_N; i++)
        json_array_append_new(list, key_json(&config->config, &CONFIG_KEYS[i]));
    answer->status = 200;
    answer->json = json_pack("{s:s?, s:o}", "file", config->config.path, "keys", list);
    api_config_drop(config);
}

void api_openapi(void *ctx, const struct admin_route *route, const struct admin_request *request,
                 struct admin_answer *answer)
{
    (void)ctx, (void)route, (void)request;
    answer->status = 200;
    answer->file = embedded_openapi();
}

void api_page(void *ctx, const struct admin_route *route, const struct admin_request *request,
              struct admin_answer *answer)
{
    const char *name = request->id[0] == '\0' ? "index.html" : request->id;
    (void)ctx, (void)route;
    answer->gzip = embedded_page(name, &answer->file, &answer->type);
    if (answer->gzip)
        answer->status = 200;
    else
        problem_answer(answer, (struct problem){404, "not_found", NULL}, "%s",
                       "the page has no such file");
}
