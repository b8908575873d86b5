/* SPDX-License-Identifier: Apache-2.0 */
/* The limits on bytes in flight and on bytes a second. */
#include "consumer/pace.h"

#include <assert.h>
#include <string.h>

enum {
    EPOCH_MS = 250,
    THROTTLED_MS = 60 * 1000, /* for this time after throttling, clients count as throttled */
    WINDOW_S = 11,            /* of a broker's quota; PACE_SECONDS is a little longer */
    LEAST_RATE = 16 * 1024,   /* bytes a second; other programs may have used up the quota */
    MORE_PART = 16,           /* a second without throttling raises the rate by 1/MORE_PART */
    SPARE_PART = 32, /* 1/SPARE_PART of the rate is left for uncounted bytes: batch headers */
    EPOCHS = 1000 / EPOCH_MS
};

void pace_init(struct pace *p, const struct pace_share share[PACE_CLIENTS])
{
    *p = (struct pace){0};
    memcpy(p->share, share, sizeof p->share);
}

static bool is_throttled(const struct pace *p, int64_t now_mono_ms)
{
    return p->throttled_mono_ms != 0 && now_mono_ms - p->throttled_mono_ms < THROTTLED_MS;
}

static void next_second(struct pace *p, int64_t now_mono_ms)
{
    size_t *oldest = &p->took_bytes[++p->second % PACE_SECONDS];
    p->took_sum -= *oldest;
    *oldest = 0;
    if (p->second_bytes >= p->rate_bytes / 2 && now_mono_ms > p->muted_until_mono_ms)
        p->rate_bytes += p->rate_bytes / MORE_PART;
    p->second_bytes = 0;
}

static void next_epoch(struct pace *p)
{
    size_t at = (size_t)(++p->epoch % PACE_EPOCHS);
    p->live_n -= p->live_by_epoch[at];
    p->live_by_epoch[at] = 0;
    for (int i = 0; i < PACE_CLIENTS; i++) {
        p->live_bytes -= p->live_bytes_by_epoch[i][at];
        p->live_bytes_by_epoch[i][at] = 0;
    }
}

/* Begins the epochs that have passed. No epoch passes while a broker leaves records unread. */
static void advance_epochs(struct pace *p, int64_t now_mono_ms)
{
    int64_t quarter = now_mono_ms / EPOCH_MS, from = p->muted_until_mono_ms / EPOCH_MS;
    if (quarter <= p->quarter)
        return;
    int64_t steps = quarter - (from > p->quarter ? from : p->quarter);
    p->quarter = quarter;
    p->epoch_bytes = 0;
    for (int64_t i = 0; i < steps && i < PACE_EPOCHS; i++)
        next_epoch(p);
}

/* Called for each record, and nearly always within the same millisecond. */
static void advance(struct pace *p, int64_t now_mono_ms)
{
    if (now_mono_ms == p->now_mono_ms)
        return;
    p->now_mono_ms = now_mono_ms;
    int64_t second = now_mono_ms / 1000;
    if (second - p->second > PACE_SECONDS)
        p->second = second - PACE_SECONDS; /* all counted seconds have left the window */
    while (p->second < second)
        next_second(p, now_mono_ms);
    advance_epochs(p, now_mono_ms);
}

/* Returns whether the rate allows the bytes. Without a live record, one record is allowed: the
   probe, or the first record of an epoch. Otherwise the rate limits three sums: the bytes of the
   window, the bytes in flight, and those of the epoch. The window includes the burst before the
   first throttling. */
static bool quota_takes(const struct pace *p, size_t bytes)
{
    if (p->live_n == 0 && (p->probing || p->epoch_bytes == 0))
        return true;
    return !p->probing && p->took_sum + p->live_bytes + bytes <= p->rate_bytes * WINDOW_S &&
           p->live_bytes + bytes <= p->rate_bytes &&
           p->epoch_bytes + bytes <= p->rate_bytes / EPOCHS;
}

/* Returns the bytes sent in the last two epochs without an answer. */
static size_t young_bytes(const struct pace *p, int client)
{
    const size_t *live = p->live_bytes_by_epoch[client];
    return live[p->epoch % PACE_EPOCHS] + live[(p->epoch + PACE_EPOCHS - 1) % PACE_EPOCHS];
}

/* Returns whether the client's share allows the bytes. Bytes that are no longer young may belong to
   a target without a leader. The share is at least twice their number. So such a target delays
   other records for a second or two at most, even if brokers accepted few bytes before. */
static bool share_takes(const struct pace *p, int client, size_t bytes)
{
    const struct pace_share *share = &p->share[client];
    size_t young = young_bytes(p, client), old = 2 * (p->in_flight_bytes[client] - young);
    size_t most = p->took_most / (size_t)share->part;
    most = most > share->least_bytes ? most : share->least_bytes;
    return young == 0 || young + bytes <= (most > old ? most : old);
}

bool pace_takes(struct pace *p, int client, size_t bytes, int64_t now_mono_ms)
{
    advance(p, now_mono_ms);
    if (now_mono_ms < p->muted_until_mono_ms)
        return false;
    p->probing &= !p->probed; /* brokers accepted the probe and did not throttle */
    p->probed = false;
    return is_throttled(p, now_mono_ms) ? quota_takes(p, bytes) : share_takes(p, client, bytes);
}

void pace_sent(struct pace *p, struct pace_item *item, int64_t now_mono_ms)
{
    assert(item->bytes > 0);
    advance(p, now_mono_ms);
    item->epoch = p->epoch;
    p->live_n++;
    p->live_by_epoch[p->epoch % PACE_EPOCHS]++;
    p->live_bytes += item->bytes;
    p->live_bytes_by_epoch[item->client][p->epoch % PACE_EPOCHS] += item->bytes;
    p->in_flight_bytes[item->client] += item->bytes;
    p->second_bytes += item->bytes;
    p->epoch_bytes += item->bytes;
}

static void count_taken(struct pace *p, size_t bytes)
{
    p->probed = p->probing;
    p->took_bytes[p->second % PACE_SECONDS] += bytes;
    p->took_sum += bytes;
    if (p->took_sum > p->took_most)
        p->took_most = p->took_sum;
}

void pace_answered(struct pace *p, struct pace_item *item, bool acknowledged, int64_t now_mono_ms)
{
    if (item->bytes == 0)
        return;
    advance(p, now_mono_ms);
    if (p->epoch - item->epoch < PACE_EPOCHS) {
        p->live_n--;
        p->live_by_epoch[item->epoch % PACE_EPOCHS]--;
        p->live_bytes -= item->bytes;
        p->live_bytes_by_epoch[item->client][item->epoch % PACE_EPOCHS] -= item->bytes;
    }
    p->in_flight_bytes[item->client] -= item->bytes;
    if (acknowledged)
        count_taken(p, item->bytes);
    item->bytes = 0;
}

/* Returns the rate in bytes a second that follows from a throttle time. A broker throttles until
   the mean over its window is what the quota allows. If it counts the bytes of other programs as
   well, our bytes in the window say little. So at least half of the last rate stays. */
static size_t rate_that_throttles(const struct pace *p, int64_t for_ms, int64_t now_mono_ms)
{
    size_t rate_bytes = p->took_sum * 1000 / (size_t)(WINDOW_S * 1000 + for_ms);
    size_t least_bytes = is_throttled(p, now_mono_ms) ? p->rate_bytes / 2 : 0;
    rate_bytes -= rate_bytes / SPARE_PART;
    least_bytes = least_bytes > LEAST_RATE ? least_bytes : LEAST_RATE;
    return rate_bytes > least_bytes ? rate_bytes : least_bytes;
}

void pace_throttled(struct pace *p, int64_t for_ms, int64_t now_mono_ms)
{
    advance(p, now_mono_ms);
    if (!p->probing) /* during a probe, the broker may count a burst that has left our window */
        p->rate_bytes = rate_that_throttles(p, for_ms, now_mono_ms);
    p->took_most = 0;
    p->probing = true;
    p->probed = false;
    int64_t until_ms = now_mono_ms + for_ms;
    if (until_ms > p->muted_until_mono_ms)
        p->muted_until_mono_ms = until_ms;
    if (until_ms > p->throttled_mono_ms)
        p->throttled_mono_ms = until_ms;
}

void pace_check(const struct pace *p)
{
    size_t took = 0, live_n = 0, live_bytes = 0;
    for (int i = 0; i < PACE_SECONDS; i++)
        took += p->took_bytes[i];
    for (int i = 0; i < PACE_EPOCHS; i++)
        live_n += p->live_by_epoch[i];
    for (int client = 0; client < PACE_CLIENTS; client++) {
        size_t live = 0;
        for (int i = 0; i < PACE_EPOCHS; i++)
            live += p->live_bytes_by_epoch[client][i];
        assert(live <= p->in_flight_bytes[client]);
        live_bytes += live;
    }
    assert(took == p->took_sum && live_n == p->live_n && live_bytes == p->live_bytes);
    assert(live_n > 0 || live_bytes == 0);
}
