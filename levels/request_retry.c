/* SPDX-License-Identifier: Apache-2.0 */
/* request: the headers of a request with dlb-retry. */
#include "levels/cursor.h"
#include "levels/duration.h"
#include "levels/instant.h"
#include "levels/origin.h"
#include "levels/refusal.h"
#include "levels/request_parts.h"

#include <assert.h>

static bool read_attempt(struct bytes text, struct retry *retry)
{
    struct cursor c = cursor_of(text);
    int64_t attempt;
    if (!cursor_take_number(&c, &attempt) || !cursor_at_end(&c) || attempt > UINT16_MAX)
        return false;
    retry->attempt = (uint16_t)attempt;
    return true;
}

static enum code refuse_fact(struct reading *r, enum fact fact, const char *why)
{
    return reading_refuse_header(r, CODE_BAD_HEADER, r->facts[fact], why);
}

/* Sets the place of the first request: the given one, that of the foreign headers, or this one. */
static void set_origin(struct reading *r, const struct origin *given)
{
    struct retry *retry = &r->stamp.extras.retry;
    const struct origin own = {bytes_text(r->rules->allowlist.schedule), r->stamp.origin_lane,
                               r->stamp.origin_offset};
    const struct origin *origin = given != NULL           ? given
                                  : r->foreign.has_origin ? &r->foreign.origin
                                                          : &own;
    if (!bytes_equal(origin->topic, own.topic))
        retry->origin_topic = origin->topic;
    retry->origin_lane = origin->lane;
    retry->origin_offset = origin->offset;
    r->stamp.extras.is_retry = true;
}

void reading_foreign_count(struct reading *r)
{
    r->stamp.extras.retry.attempt = r->foreign.attempt;
    r->stamp.extras.retry.first_ms =
        r->foreign.first_ms >= 0 ? r->foreign.first_ms : r->stamp.timestamp_ms;
    set_origin(r, NULL);
}

enum code reading_facts(struct reading *r)
{
    const struct header *attempt = r->facts[FACT_ATTEMPT], *first = r->facts[FACT_FIRST_AT],
                        *from = r->facts[FACT_ORIGIN];
    struct retry *retry = &r->stamp.extras.retry;
    struct origin origin;
    if (r->bad_fact != NULL)
        return reading_refuse_header(r, CODE_BAD_HEADER, r->bad_fact, r->bad_fact_why);
    retry->first_ms = r->stamp.timestamp_ms;
    if (attempt != NULL && !read_attempt(attempt->value, retry))
        return refuse_fact(r, FACT_ATTEMPT, " is not an integer from 0 to 65535");
    if (first != NULL && instant_parse(first->value, &retry->first_ms) != 0)
        return refuse_fact(r, FACT_FIRST_AT, " is not an instant");
    if (from != NULL && !origin_parse(from->value, &origin))
        return refuse_fact(r, FACT_ORIGIN, " is not a place such as schedule/0/17");
    set_origin(r, from != NULL ? &origin : NULL);
    return CODE_OK;
}

static enum code refuse_policy(struct reading *r, struct bytes name)
{
    reading_refuse(r, CODE_BAD_RETRY);
    refusal_say(r->refusal, reading_name(FIELD_RETRY));
    refusal_say(r->refusal, " ");
    refusal_quote(r->refusal, name);
    refusal_say(r->refusal, r->rules->retry_n == 0
                                ? " is not a policy: retry of the configuration has none"
                                : " is not a policy of retry in the configuration");
    return CODE_BAD_RETRY;
}

enum { CLOCK_AGE_MAX_MS = 1000 };

/* Returns the time from which the wait counts. The clock was read before the record, which may have
   been sent since. Without this, its wait would be too short by this time. A timestamp that is much
   later is that of a wrong clock. */
static int64_t read_at_ms(const struct reading *r)
{
    int64_t sent_ms = r->stamp.timestamp_ms;
    return sent_ms > r->now_ms && sent_ms - r->now_ms <= CLOCK_AGE_MAX_MS ? sent_ms : r->now_ms;
}

enum code reading_retry(struct reading *r)
{
    struct stamp *stamp = &r->stamp;
    struct retry *retry = &stamp->extras.retry;
    const char *foreign = r->rules->compat_policy != NULL ? r->rules->compat_policy : "default";
    struct bytes name =
        r->foreign.retry != NULL ? bytes_text(foreign) : r->given[FIELD_RETRY]->value;
    r->policy = retry_find(r->rules->retry, r->rules->retry_n, name);
    if (r->policy == NULL)
        return refuse_policy(r, name);
    stamp->policy = (uint16_t)(1 + (r->policy - r->rules->retry));
    struct retry_state state = {.attempt = retry->attempt,
                                .first_ms =
                                    r->facts[FACT_FIRST_AT] != NULL ? retry->first_ms : r->now_ms,
                                .lane = stamp->origin_lane,
                                .offset = stamp->origin_offset};
    int64_t wait_ms = 0;
    r->exhausted = retry_next(r->policy, &state, r->now_ms, &wait_ms);
    if (r->exhausted != RETRY_WAITS)
        return CODE_OK;
    retry->attempt++;
    stamp->due_ms = read_at_ms(r) + wait_ms;
    return CODE_OK;
}

enum code reading_refuse_exhausted(struct reading *r)
{
    char deadline[DURATION_TEXT_MAX];
    bool late = r->exhausted == RETRY_PAST_DEADLINE;
    reading_refuse(r, CODE_RETRIES_EXHAUSTED);
    reading_say(r, r->facts[late ? FACT_FIRST_AT : FACT_ATTEMPT]);
    if (late) {
        refusal_say(r->refusal, " is more than the deadline ");
        refusal_say(r->refusal, duration_format(r->policy->deadline_ms, deadline));
        refusal_say(r->refusal, " ago");
    } else {
        refusal_say(r->refusal, " is the last retry");
    }
    refusal_say(r->refusal, " of the policy ");
    refusal_quote(r->refusal, bytes_text(r->policy->name));
    return CODE_RETRIES_EXHAUSTED;
}
