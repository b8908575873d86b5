/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of producers. Its bottom expires. */
#include "bridge/commands/spare.h"

#include "bridge/commands/sending.h"

#include <string.h>

void spare_init(struct spare *spare)
{
    memset(spare, 0, sizeof *spare);
    pthread_mutex_init(&spare->mutex, NULL);
}

void spare_deinit(struct spare *spare)
{
    for (int i = 0; i < spare->n; i++)
        sending_free_producer(spare->kept[i].rk);
    pthread_mutex_destroy(&spare->mutex);
}

rd_kafka_t *spare_take(struct spare *spare)
{
    pthread_mutex_lock(&spare->mutex);
    rd_kafka_t *producer = spare->n > 0 ? spare->kept[--spare->n].rk : NULL;
    pthread_mutex_unlock(&spare->mutex);
    return producer;
}

void spare_keep(struct spare *spare, rd_kafka_t *producer, int64_t now_mono_ms)
{
    pthread_mutex_lock(&spare->mutex);
    bool fits = spare->n < SPARE_MAX;
    if (fits)
        spare->kept[spare->n++] = (struct spare_producer){producer, now_mono_ms};
    pthread_mutex_unlock(&spare->mutex);
    if (!fits)
        sending_free_producer(producer);
}

/* Removes the bottom if it is too old. Returns it, or NULL. */
static rd_kafka_t *take_old(struct spare *spare, int64_t now_mono_ms)
{
    rd_kafka_t *old = NULL;
    pthread_mutex_lock(&spare->mutex);
    if (spare->n > 0 && now_mono_ms - spare->kept[0].used_mono_ms > SPARE_KEEP_MS) {
        old = spare->kept[0].rk;
        spare->n--;
        memmove(spare->kept, spare->kept + 1, (size_t)spare->n * sizeof *spare->kept);
    }
    pthread_mutex_unlock(&spare->mutex);
    return old;
}

void spare_expire(struct spare *spare, int64_t now_mono_ms)
{
    for (rd_kafka_t *old; (old = take_old(spare, now_mono_ms)) != NULL;)
        sending_free_producer(old);
}
