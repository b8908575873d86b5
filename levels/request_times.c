/* SPDX-License-Identifier: Apache-2.0 */
/* request: the due time of a request and its bounds, from its headers. */
#include "levels/duration.h"
#include "levels/instant.h"
#include "levels/refusal.h"
#include "levels/request_parts.h"
#include "levels/spread.h"

static void say_instant(struct reading *r, int64_t ms)
{
    char text[INSTANT_TEXT_MAX];
    refusal_say(r->refusal, instant_format(ms, text));
}

static const enum field TIMES[] = {FIELD_DELIVER_AT, FIELD_DELAY, FIELD_RETRY};
enum { TIMES_N = sizeof TIMES / sizeof TIMES[0] };

/* Returns the next field of TIMES that is given, from index *at on, or FIELD_N. */
static enum field next_time(const struct reading *r, int *at)
{
    while (*at < TIMES_N && r->given[TIMES[*at]] == NULL)
        ++*at;
    return *at < TIMES_N ? TIMES[(*at)++] : FIELD_N;
}

static enum code refuse_number_of_times(struct reading *r)
{
    static const enum code FAULTS[] = {CODE_NO_TIME, CODE_TWO_TIMES, CODE_BAD_TIME, CODE_TOO_FAR};
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++)
        if (reading_refuse_foreign(r, FAULTS[i]) != CODE_OK)
            return FAULTS[i];
    int at = 0;
    enum field first = next_time(r, &at);
    if (first == FIELD_N) {
        reading_refuse(r, CODE_NO_TIME);
        refusal_say(r->refusal, "none of dlb-deliver-at, dlb-delay and dlb-retry is given");
        return CODE_NO_TIME;
    }
    reading_refuse_value(r, CODE_TWO_TIMES, first, " and ");
    reading_say(r, r->given[next_time(r, &at)]);
    refusal_say(r->refusal, " are both given: give one of them");
    return CODE_TWO_TIMES;
}

static bool is_number(struct bytes text)
{
    const char *at = text.data;
    for (size_t i = 0; i < text.len; i++)
        if (at[i] < '0' || at[i] > '9')
            return false;
    return true;
}

static enum code refuse_time(struct reading *r, enum field field)
{
    struct bytes text = r->given[field]->value;
    if (field == FIELD_DELIVER_AT || field == FIELD_EXPIRES_AT)
        return reading_refuse_value(r, CODE_BAD_TIME, field, instant_fault(text));
    return reading_refuse_value(r, CODE_BAD_TIME, field,
                                is_number(text)
                                    ? " has no unit; 250ms, 15m, 1h30m or PT15M is meant"
                                    : " is not a duration such as 250ms, 15m, 1h30m or PT15M");
}

static enum code refuse_unit(struct reading *r, enum field field, const char *unit)
{
    reading_refuse_value(r, CODE_TOO_FAR, field, " looks like ");
    refusal_say(r->refusal, unit);
    refusal_say(r->refusal, ": give milliseconds");
    return CODE_TOO_FAR;
}

static enum code refuse_far(struct reading *r, enum field field)
{
    char max[DURATION_TEXT_MAX];
    const char *unit = field == FIELD_DELIVER_AT && is_number(r->given[field]->value)
                           ? instant_likely_unit(r->stamp.due_ms)
                           : NULL; /* foreign epochs in seconds are smaller */
    if (unit != NULL)
        return refuse_unit(r, field, unit);
    reading_refuse_value(r, CODE_TOO_FAR, field, " is more than max_delay ");
    refusal_say(r->refusal, duration_format(r->rules->max_delay_ms, max));
    refusal_say(r->refusal, " after the request's timestamp ");
    say_instant(r, r->stamp.timestamp_ms);
    return CODE_TOO_FAR;
}

static enum code refuse_expired(struct reading *r)
{
    reading_refuse_value(r, CODE_EXPIRED, FIELD_EXPIRES_AT, " is before the due time ");
    say_instant(r, r->stamp.due_ms);
    return CODE_EXPIRED;
}

/* Sets the due time to a time that was read: an instant, or a delay after the timestamp. */
static enum code set_due(struct reading *r, enum field field, int64_t ms)
{
    struct stamp *stamp = &r->stamp;
    if (field == FIELD_DELIVER_AT)
        stamp->due_ms = ms;
    else if (__builtin_add_overflow(stamp->timestamp_ms, ms, &stamp->due_ms))
        return refuse_far(r, field);
    int64_t due_max_ms;
    if (__builtin_add_overflow(stamp->timestamp_ms, r->rules->max_delay_ms, &due_max_ms))
        due_max_ms = INT64_MAX;
    return stamp->due_ms > due_max_ms ? refuse_far(r, field) : CODE_OK;
}

static enum code refuse_wide(struct reading *r)
{
    char max[DURATION_TEXT_MAX];
    reading_refuse_value(r, CODE_TOO_FAR, FIELD_SPREAD, " is more than max_delay ");
    refusal_say(r->refusal, duration_format(r->rules->max_delay_ms, max));
    return CODE_TOO_FAR;
}

/* Moves the due time into its spread. The place of the request decides, so each reading gives the
   same time. */
static void choose_due(struct stamp *stamp, int64_t spread_ms)
{
    stamp->due_ms = spread_choose(stamp->due_ms, spread_ms, stamp->expires_ms, stamp->origin_lane,
                                  stamp->origin_offset);
}

enum code reading_times(struct reading *r)
{
    const struct header *expires = r->given[FIELD_EXPIRES_AT], *spread = r->given[FIELD_SPREAD];
    int at = 0, fault = 0;
    enum field field = next_time(r, &at);
    if (field == FIELD_N || next_time(r, &at) != FIELD_N)
        return refuse_number_of_times(r);
    struct stamp *stamp = &r->stamp;
    int64_t ms = r->foreign.ms, spread_ms = 0;
    if (field != FIELD_RETRY && r->foreign.time == NULL)
        fault = field == FIELD_DELIVER_AT ? instant_parse(r->given[field]->value, &ms)
                                          : duration_parse(r->given[field]->value, &ms);
    if (fault != 0)
        return refuse_time(r, field);
    if (expires != NULL && instant_parse(expires->value, &stamp->expires_ms) != 0)
        return refuse_time(r, FIELD_EXPIRES_AT);
    if (spread != NULL && duration_parse(spread->value, &spread_ms) != 0)
        return refuse_time(r, FIELD_SPREAD);
    enum code code = field == FIELD_RETRY ? reading_retry(r) : set_due(r, field, ms);
    if (code == CODE_OK && spread_ms > r->rules->max_delay_ms)
        code = refuse_wide(r);
    if (code != CODE_OK || r->exhausted != RETRY_WAITS)
        return code;
    if (stamp->expires_ms < stamp->due_ms)
        return refuse_expired(r);
    if (spread_ms > 0)
        choose_due(stamp, spread_ms);
    return CODE_OK;
}
