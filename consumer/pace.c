/* SPDX-License-Identifier: Apache-2.0 */
/* How much of what clients send may be on its way, and in a second. */
#include "consumer/pace.h"

#include <assert.h>
#include <string.h>

enum {
    EPOCH_MS = 250,
    THROTTLED_MS = 60 * 1000, /* clients that were throttled are taken to be so for this long */
    WINDOW_S = 11,            /* of a broker; we remember a little more */
    LEAST_RATE = 1024,
    MORE_PART = 16,  /* of the rate is added in a second without throttling */
    SPARE_PART = 32, /* of the rate is left to what is not counted here, such as heads of batches */
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

static void advance(struct pace *p, int64_t now_mono_ms)
{
    int64_t second = now_mono_ms / 1000, epoch = now_mono_ms / EPOCH_MS;
    if (second - p->second > PACE_SECONDS)
        p->second = second - PACE_SECONDS; /* all of them are forgotten */
    while (p->second < second)
        next_second(p, now_mono_ms);
    if (epoch == p->epoch)
        return;
    for (int i = 0; i < PACE_CLIENTS; i++) {
        p->young_bytes[i][1] = epoch == p->epoch + 1 ? p->young_bytes[i][0] : 0;
        p->young_bytes[i][0] = 0;
    }
    p->epoch = epoch;
    p->epoch_bytes = 0;
}

/* The window comes first: what was taken at once, before the first throttling, must leave it. */
static bool quota_takes(const struct pace *p, size_t bytes)
{
    if (p->sent_n == 0 && (p->probing || p->epoch_bytes == 0))
        return true;
    return !p->probing && p->took_sum + p->sent_bytes + bytes <= p->rate_bytes * WINDOW_S &&
           p->sent_bytes + bytes <= p->rate_bytes &&
           p->epoch_bytes + bytes <= p->rate_bytes / EPOCHS;
}

bool pace_takes(struct pace *p, int client, size_t bytes, int64_t now_mono_ms)
{
    advance(p, now_mono_ms);
    if (now_mono_ms < p->muted_until_mono_ms)
        return false;
    p->probing &= !p->probed; /* and nothing throttled with that answer */
    p->probed = false;
    if (is_throttled(p, now_mono_ms))
        return quota_takes(p, bytes);
    const struct pace_share *share = &p->share[client];
    size_t most = p->took_most / (size_t)share->part;
    size_t young = p->young_bytes[client][0] + p->young_bytes[client][1];
    return young == 0 || young + bytes <= (most > share->least_bytes ? most : share->least_bytes);
}

void pace_sent(struct pace *p, struct pace_item *item, int64_t now_mono_ms)
{
    assert(item->bytes > 0);
    advance(p, now_mono_ms);
    item->epoch = p->epoch;
    p->sent_n++;
    p->sent_bytes += item->bytes;
    p->second_bytes += item->bytes;
    p->epoch_bytes += item->bytes;
    p->young_bytes[item->client][0] += item->bytes;
}

void pace_answered(struct pace *p, struct pace_item *item, bool acknowledged, int64_t now_mono_ms)
{
    if (item->bytes == 0)
        return;
    advance(p, now_mono_ms);
    int64_t age = p->epoch - item->epoch;
    if (age < 2)
        p->young_bytes[item->client][age] -= item->bytes;
    p->sent_n--;
    p->sent_bytes -= item->bytes;
    if (acknowledged) {
        p->probed = p->probing;
        p->took_bytes[p->second % PACE_SECONDS] += item->bytes;
        p->took_sum += item->bytes;
        if (p->took_sum > p->took_most)
            p->took_most = p->took_sum;
    }
    item->bytes = 0;
}

/* A broker asks for the time after which the bytes of its window are what the quota allows. */
static size_t rate_that_throttles(const struct pace *p, int64_t for_ms)
{
    size_t rate_bytes = p->took_sum * 1000 / (size_t)(WINDOW_S * 1000 + for_ms);
    return rate_bytes > LEAST_RATE ? rate_bytes - rate_bytes / SPARE_PART : LEAST_RATE;
}

void pace_throttled(struct pace *p, int64_t for_ms, int64_t now_mono_ms)
{
    advance(p, now_mono_ms);
    if (!p->probing) /* else the broker still counts the burst that we have forgotten by now */
        p->rate_bytes = rate_that_throttles(p, for_ms);
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
    size_t took = 0, young = 0;
    for (int i = 0; i < PACE_SECONDS; i++)
        took += p->took_bytes[i];
    for (int i = 0; i < PACE_CLIENTS; i++)
        young += p->young_bytes[i][0] + p->young_bytes[i][1];
    assert(took == p->took_sum && young <= p->sent_bytes);
    assert(p->sent_n > 0 || p->sent_bytes == 0);
}
