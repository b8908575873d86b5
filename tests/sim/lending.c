/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the port: lends records to the bridge, and makes them unreadable when they come
   back. */
#include "tests/sim/world.h"

#include <assert.h>
#include <string.h>

enum { RECORD_OVERHEAD = 200, RELEASED = 0xdd };

/* A record that was lent to the bridge. */
struct lent {
    struct record record;
    size_t size, cost_bytes;
    bool fetched; /* it pins the batch in which it was fetched */
    char data[];
};

static struct lent *lend(struct process *p, size_t size)
{
    struct lent *lent = malloc(sizeof *lent + size + 1);
    assert(lent != NULL);
    *lent = (struct lent){.size = size};
    p->outstanding++;
    return lent;
}

static void count_cost(struct process *p, struct record *record)
{
    size_t bytes = record->cost_bytes + record->overhead_bytes;
    ((struct lent *)record)->cost_bytes = bytes;
    p->outstanding_bytes += (int64_t)bytes;
    if ((int64_t)bytes > p->record_bytes_max)
        p->record_bytes_max = (int64_t)bytes;
}

struct record *port_lend(struct process *p, const struct entry *entry, bool headers)
{
    struct lent *lent = lend(p, entry->key.len + entry->value.len);
    char *key = lent->data, *value = lent->data + entry->key.len;
    struct record *record = &lent->record;
    size_t cost = lent->size;
    *record = (struct record){.offset = entry->offset, .timestamp_ms = entry->timestamp_ms};
    if (entry->key.data != NULL)
        record->key = bytes_of(memcpy(key, entry->key.data, entry->key.len), entry->key.len);
    if (entry->value.data != NULL)
        record->value =
            bytes_of(memcpy(value, entry->value.data, entry->value.len), entry->value.len);
    if (headers) {
        record->headers = entry->headers;
        record->headers_n = entry->headers_n;
        for (size_t i = 0; i < entry->headers_n; i++)
            cost += strlen(entry->headers[i].name) + entry->headers[i].value.len + 16;
    }
    if (!headers && p->world->is_older[p->id])
        older_reads((uint8_t *)value, entry->value.len);
    record->cost_bytes = cost;
    record->overhead_bytes = RECORD_OVERHEAD;
    lent->fetched = true;
    p->pinned++;
    count_cost(p, record);
    return record;
}

bool port_pins_batch(const struct record *record)
{
    return ((const struct lent *)(const void *)record)->fetched;
}

static struct bytes move(char **to, struct bytes bytes)
{
    if (bytes_is_null(bytes))
        return bytes_null();
    char *at = memcpy(*to, bytes.data, bytes.len);
    *to += bytes.len;
    return bytes_of(at, bytes.len);
}

struct record *port_keep(void *ctx, struct record *record)
{
    struct process *p = ctx;
    struct lent *from = (struct lent *)record;
    if (!from->fetched)
        return record;
    if (!port_enter(p) || rng_chance(&p->world->rng, p->world->knobs.no_memory) ||
        fails(p->world, FAILURE_NO_MEMORY))
        return NULL;
    struct lent *kept = lend(p, from->size);
    char *at = kept->data;
    kept->record = *record;
    kept->record.key = move(&at, record->key);
    kept->record.value = move(&at, record->value);
    count_cost(p, &kept->record);
    port_release(p, record);
    return &kept->record;
}

void port_release(void *ctx, struct record *record)
{
    struct process *p = ctx;
    struct lent *lent = (struct lent *)record;
    if (p->outstanding == 0)
        world_fail(p->world, "p%d returns more records than it borrowed", p->id);
    p->outstanding--;
    p->pinned -= lent->fetched;
    p->outstanding_bytes -= (int64_t)lent->cost_bytes;
    memset(lent->data, RELEASED, lent->size);
    memset(record, RELEASED, sizeof *record);
    free(lent);
}

struct record *port_make(void *ctx, struct bytes key, size_t value_size)
{
    struct process *p = ctx;
    if (!port_enter(p) || rng_chance(&p->world->rng, p->world->knobs.no_memory) ||
        fails(p->world, FAILURE_NO_MEMORY))
        return NULL;
    struct lent *lent = lend(p, key.len + value_size);
    lent->record = (struct record){.timestamp_ms = -1,
                                   .value = bytes_of(lent->data + key.len, value_size),
                                   .cost_bytes = lent->size,
                                   .overhead_bytes = RECORD_OVERHEAD};
    if (key.data != NULL)
        lent->record.key = bytes_of(memcpy(lent->data, key.data, key.len), key.len);
    count_cost(p, &lent->record);
    return &lent->record;
}
