/* SPDX-License-Identifier: Apache-2.0 */
/* The pauses and limits of targets, from their topic to the step machine. */
#include "bridge/base/log.h"
#include "bridge/service/worker_parts.h"
#include "levels/instant.h"

static void on_begun(void *ctx)
{
    bridge_control_begin(((struct worker *)ctx)->bridge);
}

static bool logs(const struct worker *w)
{
    return w->config.number == 0;
}

static void log_entry(const struct control_record *record)
{
    char rate[RATE_TEXT_MAX], until[INSTANT_TEXT_MAX];
    const struct control *c = &record->control;
    bool endless = c->until_wall_ms == CONTROL_ENDLESS;
    log_info(c->op == CONTROL_PAUSE ? "targets paused" : "targets limited",
             F_TEXT("targets", c->pattern),
             F_TEXT("rate", c->op == CONTROL_LIMIT ? rate_format(&c->rate, rate) : NULL),
             F_TEXT("until", endless ? NULL : instant_format(c->until_wall_ms, until)),
             F_TEXT("by", record->by), F_INSTANT("at", c->at_wall_ms));
}

/* An entry that is read again is in no log message again, and one that has ended is in none. */
static bool on_changed(void *ctx, const struct control_record *record)
{
    struct worker *w = ctx;
    const struct control *c = &record->control;
    if (record->is_removed) {
        if (bridge_control_remove(w->bridge, bytes_text(c->pattern)) && logs(w))
            log_info("targets no longer paused or limited", F_TEXT("targets", c->pattern));
        return true;
    }
    if (c->until_wall_ms <= worker_now(w).wall_ms) {
        (void)bridge_control_remove(w->bridge, bytes_text(c->pattern));
        return true;
    }
    bool is_new = !bridge_control_has(w->bridge, c);
    int err = bridge_control_put(w->bridge, c, worker_now(w));
    if (logs(w) && err == 0 && is_new)
        log_entry(record);
    else if (logs(w) && err != 0)
        log_error("too many paused and limited targets, entry ignored: run 'delaybridge resume' "
                  "for others",
                  F_TEXT("targets", c->pattern), F_INT("most", CONTROLS_MAX));
    return err == 0;
}

static bool has_room(void *ctx)
{
    struct worker *w = ctx;
    return bridge_control_has_room(w->bridge, worker_now(w));
}

static void on_known(void *ctx)
{
    bridge_control_known(((struct worker *)ctx)->bridge);
}

struct control_log_config worker_control_config(struct worker *w)
{
    return (struct control_log_config){.levels = w->levels,
                                       .topic = w->control,
                                       .wakeup = &w->wakeup,
                                       .logs = logs(w),
                                       .begun = on_begun,
                                       .changed = on_changed,
                                       .has_room = has_room,
                                       .known = on_known,
                                       .ctx = w};
}
