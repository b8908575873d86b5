/* SPDX-License-Identifier: Apache-2.0 */
/* The decisions about records that arrive, records that are held, and batches. */
#include "consumer/outbox.h"

/* Streaming ends when less than 1/STREAM_PART of a batch is in flight. */
enum { STREAM_PART = 4 };

void outbox_init(struct outbox *o)
{
    *o = (struct outbox){0};
    list_init(&o->held);
}

struct outbox_item *outbox_first(const struct outbox *o)
{
    struct link *first = list_first(&o->held);
    return first == NULL ? NULL : list_item(first, struct outbox_item, link);
}

/* Returns whether the client still gathers its batch. A record that reaches the client after the
   batch was sent would wait for the acknowledgement of that batch. This thread may be delayed, so
   only the first half of the linger counts. */
static bool client_gathers(const struct outbox *o, const struct outbox_limits *limits,
                           int64_t now_mono_ms)
{
    return now_mono_ms - o->batch_mono_ms < limits->linger_ms / 2;
}

static bool took_long(const struct outbox *o, const struct outbox_limits *limits,
                      int64_t now_mono_ms)
{
    return now_mono_ms - o->probe_mono_ms > limits->linger_ms + OUTBOX_SLOW_MS;
}

/* Returns whether the client has one request at most. */
static bool has_one_request(const struct outbox *o, const struct outbox_limits *limits,
                            int64_t now_mono_ms)
{
    return limits->one_request || o->acks_slow ||
           (o->probe_n > 0 && took_long(o, limits, now_mono_ms));
}

/* Returns the time for which a busy partition gathers before its next batch begins. */
static int64_t gathers_for_ms(const struct outbox *o, const struct outbox_limits *limits,
                              int64_t now_mono_ms)
{
    if (!o->busy || limits->gather_ms == 0)
        return 0;
    int64_t into_ms = now_mono_ms % limits->gather_ms;
    return o->batch_mono_ms >= now_mono_ms - into_ms ? limits->gather_ms - into_ms : 0;
}

bool outbox_is_open(const struct outbox *o, const struct outbox_limits *limits, int64_t now_mono_ms)
{
    if (!list_is_empty(&o->held) || limits->gathers_turn)
        return false;
    if ((o->streaming && !has_one_request(o, limits, now_mono_ms)) ||
        client_gathers(o, limits, now_mono_ms))
        return true;
    if (gathers_for_ms(o, limits, now_mono_ms) > 0)
        return false;
    return o->in_flight_n == 0 || (limits->linger_ms <= 1 && o->in_flight_n < OUTBOX_SINGLES);
}

void outbox_hold(struct outbox *o, struct outbox_item *item)
{
    list_append(&o->held, &item->link);
    o->held_bytes += item->bytes;
}

void outbox_take(struct outbox *o, struct outbox_item *item)
{
    list_remove(&item->link);
    o->held_bytes -= item->bytes;
}

int64_t outbox_wait_ms(const struct outbox *o, const struct outbox_limits *limits,
                       int64_t now_mono_ms)
{
    if (list_is_empty(&o->held) || o->in_flight_n > 0)
        return INT64_MAX;
    return gathers_for_ms(o, limits, now_mono_ms);
}

bool outbox_batch_is_due(const struct outbox *o, const struct outbox_limits *limits,
                         int64_t now_mono_ms)
{
    if (list_is_empty(&o->held))
        return false;
    return outbox_wait_ms(o, limits, now_mono_ms) == 0 ||
           (o->held_bytes >= limits->batch_bytes && !has_one_request(o, limits, now_mono_ms));
}

bool outbox_batch_takes(const struct outbox *o, const struct outbox_limits *limits,
                        int64_t now_mono_ms)
{
    const struct outbox_item *first = outbox_first(o);
    if (first == NULL)
        return false;
    return o->in_flight_n == 0 || o->in_flight_bytes + first->bytes <= limits->request_bytes ||
           !has_one_request(o, limits, now_mono_ms);
}

static void count_sent(struct outbox *o, int64_t now_mono_ms)
{
    int64_t age_ms = now_mono_ms - o->window_mono_ms;
    if (age_ms >= OUTBOX_WINDOW_MS) {
        o->busy = o->window_n >= OUTBOX_BUSY_N && age_ms < (int64_t)2 * OUTBOX_WINDOW_MS;
        o->window_mono_ms = now_mono_ms;
        o->window_n = 0;
    }
    o->window_n++;
}

void outbox_sent(struct outbox *o, const struct outbox_limits *limits,
                 const struct outbox_item *item, int64_t now_mono_ms)
{
    count_sent(o, now_mono_ms);
    if (o->in_flight_n++ == 0)
        o->batch_mono_ms = now_mono_ms;
    if (o->probe_n == 0) {
        o->probe_n = o->in_flight_n;
        o->probe_mono_ms = now_mono_ms;
    }
    o->in_flight_bytes += item->bytes;
    if (o->in_flight_bytes > limits->batch_bytes && o->in_flight_n > OUTBOX_SINGLES)
        o->streaming = true;
}

void outbox_reported(struct outbox *o, const struct outbox_limits *limits,
                     const struct outbox_item *item, int64_t now_mono_ms)
{
    assert(o->in_flight_n > 0 && o->in_flight_bytes >= item->bytes);
    o->in_flight_n--;
    o->in_flight_bytes -= item->bytes;
    if (o->probe_n > 0 && --o->probe_n == 0)
        o->acks_slow = took_long(o, limits, now_mono_ms);
    if (o->in_flight_bytes < limits->batch_bytes / STREAM_PART)
        o->streaming = false;
}

void outbox_check(const struct outbox *o)
{
    size_t bytes = 0;
    for (struct link *l = list_first(&o->held); l != NULL; l = list_after(&o->held, l))
        bytes += list_item(l, struct outbox_item, link)->bytes;
    assert(bytes == o->held_bytes);
    assert(o->probe_n <= o->in_flight_n);
    assert(o->in_flight_n > 0 || (o->in_flight_bytes == 0 && !o->streaming));
}
