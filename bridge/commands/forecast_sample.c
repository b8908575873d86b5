/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the pieces of all partitions, then adds up the records by instant and by minute. */
#include "bridge/commands/forecast_sample.h"

#include "consumer/admin/scan.h"
#include "levels/envelope.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MINUTE = 60 * 1000 };

/* A record that was read. */
struct sampled {
    int64_t until_ms;
    int piece; /* cell * STRATA + stratum */
};

struct sampling {
    const struct offsets *offsets;
    int stratum; /* of this scan */
    int64_t *read,
        *stands_for;       /* by piece: records read, and waiting records that they stand for */
    pthread_mutex_t mutex; /* of the fields below, and of read */
    struct sampled *sampled;
    size_t n, room;
    bool no_memory;
};

/* The part of a level that is read. */
struct share {
    int64_t records, waiting;
};

static struct share share_of(const struct offsets *offsets, int slot)
{
    struct share share = {0};
    for (int lane = 0; lane < offsets->lanes; lane++)
        share.waiting += offsets_cell(offsets, lane, slot)->waiting;
    share.records = share.waiting * SAMPLE_PERCENT / 100;
    share.records = share.records > SAMPLE_LEAST ? share.records : SAMPLE_LEAST;
    return share;
}

static bool take(void *ctx, const struct scan_range *range, const rd_kafka_message_t *message)
{
    struct sampling *s = ctx;
    struct envelope env;
    const struct offsets_cell *cell = &s->offsets->cells[range->tag];
    if (window_is_done(cell->window, message->offset) ||
        envelope_open(bytes_of(message->payload, message->len), &env) != 0)
        return true;
    int piece = range->tag * STRATA + s->stratum;
    pthread_mutex_lock(&s->mutex);
    if (s->n == s->room) {
        size_t room = s->room == 0 ? 4096 : 2 * s->room;
        void *grown = realloc(s->sampled, room * sizeof *s->sampled);
        s->no_memory = grown == NULL;
        s->sampled = grown == NULL ? s->sampled : grown;
        s->room = grown == NULL ? s->room : room;
    }
    if (!s->no_memory) {
        s->sampled[s->n++] = (struct sampled){stamp_until_ms(&env.stamp), piece};
        s->read[piece]++;
    }
    pthread_mutex_unlock(&s->mutex);
    return !s->no_memory;
}

/* Adds the piece of one cell in this stratum. Returns false if there is none. */
static bool add_piece(struct sampling *s, int i, const struct share *share,
                      struct scan_range *range)
{
    const struct offsets_cell *cell = &s->offsets->cells[i];
    int slot = i % s->offsets->slots;
    if (slot == 0 || cell->waiting == 0)
        return false;
    int64_t base = cell->window->base, span = cell->end - base;
    int64_t from = base + span * s->stratum / STRATA;
    int64_t next = base + span * (s->stratum + 1) / STRATA;
    int64_t n = (share->records * cell->waiting / share->waiting) / STRATA + 1;
    if (from == next)
        return false;
    *range = (struct scan_range){.partition = i / s->offsets->slots,
                                 .from = from,
                                 .end = next - from > n ? from + n : next,
                                 .tag = i};
    offsets_topic(s->offsets->config, slot, range->topic);
    s->stands_for[i * STRATA + s->stratum] =
        window_pending(cell->window, next) - window_pending(cell->window, from);
    return true;
}

static int read_stratum(struct sampling *s, struct scan *scan, struct scan_range *ranges,
                        struct error *error)
{
    int n = 0, slots = s->offsets->slots;
    for (int slot = 1; slot < slots; slot++) {
        struct share share = share_of(s->offsets, slot);
        for (int lane = 0; share.waiting > 0 && lane < s->offsets->lanes; lane++)
            n += add_piece(s, lane * slots + slot, &share, &ranges[n]);
    }
    return n == 0 ? 0 : scan_read(scan, ranges, n, error);
}

static int by_time(const void *a, const void *b)
{
    int64_t left_ms = ((const struct sampled *)a)->until_ms;
    int64_t right_ms = ((const struct sampled *)b)->until_ms;
    return left_ms < right_ms ? -1 : left_ms > right_ms;
}

/* Adds to the last estimate if it has the same time, else appends one. */
static void add(struct estimate *estimates, int *n, int64_t at_ms, double deliveries)
{
    if (*n == 0 || estimates[*n - 1].at_ms != at_ms)
        estimates[(*n)++] = (struct estimate){.at_ms = at_ms};
    estimates[*n - 1].deliveries += deliveries;
}

static int add_up(struct forecast_sample *sample, struct sampling *s)
{
    sample->minutes = calloc(s->n + 1, sizeof *sample->minutes);
    sample->hot = calloc(s->n + 1, sizeof *sample->hot);
    if (s->no_memory || sample->minutes == NULL || sample->hot == NULL)
        return ERR_NO_MEMORY;
    if (s->n > 0)
        qsort(s->sampled, s->n, sizeof *s->sampled, by_time);
    int instants = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct sampled *one = &s->sampled[i];
        double stands_for = (double)s->stands_for[one->piece] / (double)s->read[one->piece];
        int64_t in_minute_ms = ((one->until_ms % MINUTE) + MINUTE) % MINUTE;
        add(sample->minutes, &sample->minutes_n, one->until_ms - in_minute_ms, stands_for);
        add(sample->hot, &instants, one->until_ms, stands_for);
    }
    for (int i = 0; i < instants; i++)
        if (sample->hot[i].deliveries > HOT_DELIVERIES)
            sample->hot[sample->hot_n++] = sample->hot[i];
    sample->sampled = (int64_t)s->n;
    return 0;
}

int forecast_sample_read(struct forecast_sample *sample, struct error *error)
{
    const struct offsets *offsets = sample->offsets;
    size_t cells = (size_t)offsets->lanes * (size_t)offsets->slots;
    struct sampling s = {.offsets = offsets, .mutex = PTHREAD_MUTEX_INITIALIZER};
    struct scan scan = {.config = offsets->config,
                        .rk = sample->rk,
                        .timeout_ms = sample->timeout_ms,
                        .each = take,
                        .is_gentle = sample->cli->output != NULL,
                        .ctx = &s};
    struct scan_range *ranges = calloc(cells, sizeof *ranges);
    s.read = calloc(cells * STRATA, sizeof *s.read);
    s.stands_for = calloc(cells * STRATA, sizeof *s.stands_for);
    int err = ranges == NULL || s.read == NULL || s.stands_for == NULL ? ERR_NO_MEMORY : 0;
    for (s.stratum = 0; err == 0 && s.stratum < STRATA; s.stratum++)
        err = read_stratum(&s, &scan, ranges, error);
    if (err == 0)
        err = add_up(sample, &s);
    if (err == ERR_NO_MEMORY)
        (void)error_set(error, err, "%s", err_text(err));
    free(ranges);
    free(s.read);
    free(s.stands_for);
    free(s.sampled);
    return err;
}

void forecast_sample_deinit(struct forecast_sample *sample)
{
    free(sample->minutes);
    free(sample->hot);
    *sample = (struct forecast_sample){0};
}
