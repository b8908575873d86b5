/* SPDX-License-Identifier: Apache-2.0 */
/* The model broker: its logs, and a separate parser of commit metadata, written from the contract.
 */
#include "tests/sim/broker.h"

#include <inttypes.h>
#include <stdio.h>

void broker_init(struct broker *broker, struct arena *arena, int lanes)
{
    *broker = (struct broker){.arena = arena, .lanes = lanes, .topics = 1};
    for (int lane = 0; lane < LANES_MAX; lane++)
        broker->owner_life[lane] = NO_LIFE;
}

int broker_topic(struct broker *broker, int64_t level_ms)
{
    for (int topic = 0; topic < broker->topics; topic++) {
        if (broker->level_ms[topic] == level_ms)
            return topic;
    }
    if (broker->topics == TOPIC_CANCELS)
        abort();
    for (int lane = 0; lane < LANES_MAX; lane++) {
        struct log *log = &broker->logs[broker->topics][lane];
        log->release_max_ms = log->stamped_max_ms = INT64_MIN;
    }
    broker->level_ms[broker->topics] = level_ms;
    return broker->topics++;
}

static const struct header *headers_copy(struct arena *arena, const struct header *from, size_t n)
{
    struct header *to = arena_take(arena, n * sizeof *to + 1);
    for (size_t i = 0; i < n; i++) {
        to[i].name = arena_copy(arena, bytes_text(from[i].name)).data;
        to[i].value = arena_copy(arena, from[i].value);
    }
    return to;
}

struct entry *log_append(struct broker *broker, struct log *log, const struct entry *from)
{
    struct arena *arena = broker->arena;
    if (log->n == log->capacity) {
        size_t capacity = log->capacity ? 2 * log->capacity : 64;
        struct entry **entries = arena_take(arena, capacity * sizeof(struct entry *));
        for (size_t i = 0; i < log->n; i++)
            entries[i] = log->entries[i];
        log->entries = entries;
        log->capacity = capacity;
    }
    struct entry *entry = arena_take(arena, sizeof *entry);
    *entry = *from;
    entry->key = arena_copy(arena, from->key);
    entry->value = arena_copy(arena, from->value);
    entry->headers = headers_copy(arena, from->headers, from->headers_n);
    entry->offset = log->end++;
    entry->cuts = log->cuts;
    log->entries[log->n++] = entry;
    return entry;
}

size_t log_find(const struct log *log, int64_t offset)
{
    size_t low = 0, high = log->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (log->entries[middle]->offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct entry *log_at(const struct log *log, int64_t offset)
{
    size_t i = log_find(log, offset);
    return i < log->n && log->entries[i]->offset == offset ? log->entries[i] : NULL;
}

int64_t log_stable_end(struct log *log)
{
    while (log->stable_n < log->n && log->entries[log->stable_n]->made_in == NULL)
        log->stable_n++;
    return log->stable_n < log->n ? log->entries[log->stable_n]->offset : log->end;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool committed_parse(struct arena *arena, struct committed *committed)
{
    committed->bits = NULL;
    committed->bits_n = 0;
    if (committed->text.len == 0)
        return true;
    int64_t base;
    int at = 0;
    if (sscanf(committed->text.data, "1 %" SCNd64 " %*8[0-9a-f]%n", &base, &at) != 1 || at == 0 ||
        base != committed->base)
        return false;
    const char *text = committed->text.data;
    uint8_t *bits = arena_take(arena, committed->text.len + 1);
    size_t bit = 0;
    for (at++; (size_t)at < committed->text.len; at++) {
        int digit = base64_digit(text[at]);
        if (digit < 0)
            return false;
        for (int i = 5; i >= 0; i--, bit++) { /* from a byte's highest bit on */
            if (digit >> i & 1)
                bits[bit / 8] |= (uint8_t)(1 << (7 - bit % 8));
        }
    }
    committed->bits = bits;
    committed->bits_n = bit / 8;
    return true;
}

bool committed_covers(const struct committed *committed, int64_t offset)
{
    if (committed == NULL)
        return false;
    if (offset < committed->base)
        return true;
    size_t bit = (size_t)(offset - committed->base);
    return bit / 8 < committed->bits_n && committed->bits[bit / 8] >> bit % 8 & 1;
}
