/* SPDX-License-Identifier: Apache-2.0 */
/* Redelivery: a record that was not delivered waits for its next try, in a level or in memory. */
#include "bridge/core/redelivery.h"
#include "bridge/core/dead_letter.h"
#include "bridge/core/event.h"
#include "bridge/core/parcel.h"
#include "bridge/core/ready.h"
#include "bridge/core/state.h"
#include "bridge/core/target_table.h"
#include "levels/counted.h"

static const int64_t redelivery_after_ms[] = {5000,   10000,  30000,  60000,
                                              120000, 300000, 600000, 1800000};
enum { REDELIVERIES = sizeof redelivery_after_ms / sizeof redelivery_after_ms[0] };

static void note_failure(struct stamp *stamp, struct failure failure)
{
    stamp->extras.error_code = (uint16_t)failure.error;
    stamp->extras.error = bytes_text(failure.why);
}

/* Writes the next try and its reason into the envelope. Both survive in a level. Without
   memory, the record is tried again instead, and the result is false. */
static bool put_back(struct bridge *b, struct parcel *p, struct envelope *env)
{
    struct stamp *stamp = &env->stamp;
    struct record *record = b->port.make(b->port.ctx, p->record->key, envelope_size(env));
    if (record == NULL) {
        parcel_wait(b, p, b->now.wall_ms + RESEND_MS);
        return false;
    }
    envelope_encode(env, (void *)record->value.data);
    p->until_wall_ms = stamp_until_ms(stamp);
    p->overdue_wall_ms = stamp_overdue_ms(stamp);
    p->withheld = stamp_is_withheld(stamp);
    parcel_replace(b, p, record);
    if (stamp->extras.deferral == DEFERRAL_NONE)
        event_note_retried(b, p);
    parcel_ready(b, p);
    return true;
}

static void notice_failure(struct bridge *b, const struct parcel *p, const struct failure *failure,
                           const struct stamp *stamp)
{
    struct notice notice = parcel_notice(b, p, NOTICE_DELIVERY_FAILED);
    notice.error = failure->error;
    notice.reason = failure->why;
    notice.attempt = stamp->attempt;
    notice.next_try_wall_ms = stamp->next_try_ms;
    bridge_notice(b, notice);
}

static int max_attempts(const struct bridge *b, struct bytes target)
{
    const struct target_rule *rule = target_rule(b, target);
    return rule != NULL && rule->max_attempts > 0 ? rule->max_attempts : b->config.max_attempts;
}

void redelivery_attempt_failed(struct bridge *b, struct parcel *p, struct failure failure)
{
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    int attempts = ++env.stamp.attempt;
    env.stamp.extras.deferral = DEFERRAL_NONE;
    struct target_stats *stats = target_stats(b, target_label(b, env.stamp.target));
    counter_add(&stats->failures[failure.error], 1);
    if (attempts < max_attempts(b, env.stamp.target)) {
        counter_add(&b->stats->redeliveries, 1);
        env.stamp.next_try_ms =
            b->now.wall_ms +
            redelivery_after_ms[attempts <= REDELIVERIES ? attempts - 1 : REDELIVERIES - 1];
        notice_failure(b, p, &failure, &env.stamp);
        note_failure(&env.stamp, failure);
        (void)put_back(b, p, &env);
        return;
    }
    char tries[COUNTED_MAX];
    dead_letter_record(b, p, CODE_TARGET_FAILED, "%.*s did not accept it in %s: %.85s",
                       SHOWN(env.stamp.target), counted(attempts, "attempt", tries), failure.why);
}

void redelivery_defer(struct bridge *b, struct parcel *p, const struct target *t)
{
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    counter_add(&b->stats->deferrals, 1);
    counter_add(&target_stats(b, t->label)->deferrals, 1);
    env.stamp.next_try_ms = b->now.wall_ms + DOWN_MS;
    env.stamp.extras.deferral = DEFERRAL_FAILED;
    note_failure(&env.stamp, (struct failure){t->error, t->why});
    (void)put_back(b, p, &env);
}

/* The last error of the record stays in its envelope. */
bool redelivery_withhold(struct bridge *b, struct parcel *p, int64_t next_try_ms, enum deferral why)
{
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    assert(next_try_ms > b->now.wall_ms); /* otherwise it would return at once, indefinitely */
    struct target_stats *stats = target_stats(b, target_label(b, env.stamp.target));
    env.stamp.next_try_ms = next_try_ms;
    env.stamp.extras.deferral = (uint8_t)why;
    if (!put_back(b, p, &env))
        return false;
    counter_add(why == DEFERRAL_PAUSED ? &stats->paused : &stats->limited, 1);
    return true;
}

void redelivery_release(struct bridge *b, struct parcel *p)
{
    struct envelope env;
    int err = envelope_open(p->record->value, &env);
    assert(err == 0);
    env.stamp.next_try_ms = b->now.wall_ms;
    (void)put_back(b, p, &env);
}

void redelivery_resend(struct bridge *b, struct parcel *p)
{
    counter_add(&b->stats->resends, 1);
    parcel_wait(b, p, b->now.wall_ms + RESEND_MS);
}
