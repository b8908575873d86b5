/* SPDX-License-Identifier: Apache-2.0 */
/* The route of targets: what this process delivers to each entry of `targets`, and its state. */
#include "bridge/commands/api_parts.h"

#include "bridge/base/clock.h"
#include "bridge/commands/result.h"
#include "bridge/service/labels.h"
#include "levels/control.h"

static json_int_t count(const struct counter *counter)
{
    return (json_int_t)counter_read(counter);
}

static json_t *failures_json(const struct target_stats *t)
{
    json_t *json = json_object();
    for (unsigned error = 0; error <= DELIVERY_ERRORS; error++) {
        const char *name = delivery_error_name(error);
        if (name != NULL && counter_read(&t->failures[error]) > 0)
            json_object_set_new(json, name, json_integer(count(&t->failures[error])));
    }
    return json;
}

static json_t *dead_json(const struct target_stats *t)
{
    json_t *json = json_object();
    for (enum code code = 0; code < CODE_N; code++)
        if (counter_read(&t->dead[code]) > 0)
            json_object_set_new(json, code_name(code), json_integer(count(&t->dead[code])));
    return json;
}

static enum control_share pause_of(const struct target_stats *t)
{
    return (enum control_share)counter_read(&t->pause);
}

/* Returns the worst state of the entry's topics. */
static const char *state_name(const struct target_stats *t)
{
    if (pause_of(t) == CONTROL_ALL)
        return "paused";
    if (counter_read(&t->failing) > 0)
        return "failing";
    if (counter_read(&t->slow) > 0)
        return "slow";
    if (pause_of(t) == CONTROL_SOME)
        return "partly_paused";
    return counter_read(&t->limit_per_minute) > 0 ? "limited" : "open";
}

static json_t *state_json(const char *entry, const struct target_stats *t)
{
    uint64_t per_minute = counter_read(&t->limit_per_minute);
    return json_pack(
        "{s:s, s:s, s:o, s:I, s:I, s:I}", "entry", entry, "state", state_name(t), "limit_per_s",
        per_minute == 0 ? json_null() : json_real((double)per_minute / 60), "topics",
        count(&t->topics), "failing_topics", count(&t->failing), "slow_topics", count(&t->slow));
}

static json_t *counters_json(const struct target_stats *t)
{
    return json_pack("{s:I, s:I, s:{s:I, s:I}, s:o, s:o}", "deliveries", count(&t->deliveries),
                     "deferrals", count(&t->deferrals), "withheld", "paused", count(&t->paused),
                     "limited", count(&t->limited), "failures", failures_json(t), "dead_letters",
                     dead_json(t));
}

static json_t *recent_json(const struct target_recent *recent, int label)
{
    struct target_growth g = target_recent_of(recent, label);
    bool any = g.lateness_n > 0;
    return json_pack("{s:o, s:o, s:o}", "deliveries_per_s",
                     g.span_ms <= 0 ? json_null()
                                    : json_real((double)g.deliveries * 1000 / (double)g.span_ms),
                     "late_p50_ms", any ? json_integer(g.p50_ms) : json_null(), "late_p99_ms",
                     any ? json_integer(g.p99_ms) : json_null());
}

/* A reader of the monitor's figures. */
struct reading {
    const struct api *api;
    json_t *list;
};

static void read_targets(void *ctx, const struct metrics *m, const char *why)
{
    struct reading *r = ctx;
    (void)why;
    for (int label = 0; label < TARGET_LABELS; label++) {
        const struct target_stats *t = &m->stats->targets[label];
        const char *entry = labels_text(LABEL_TARGETS, label);
        if (entry == NULL)
            continue;
        json_t *json = state_json(entry, t);
        json_object_update_new(json, recent_json(&r->api->recent, label));
        json_object_update_new(json, counters_json(t));
        json_array_append_new(r->list, json);
    }
}

void api_targets(void *ctx, const struct admin_route *route, const struct admin_request *request,
                 struct admin_answer *answer)
{
    struct api *api = ctx;
    struct reading r = {.api = api, .list = json_array()};
    (void)route, (void)request;
    monitor_read(api->monitor, read_targets, &r);
    answer->status = 200;
    answer->json = json_pack("{s:o, s:o}", "at", instant_json(clock_wall_ms()), "targets", r.list);
}
