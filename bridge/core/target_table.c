/* SPDX-License-Identifier: Apache-2.0 */
/* The table of targets: finds them by name, and replaces them when it is full. */
#include "bridge/core/target_table.h"
#include "bridge/core/state.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BUCKETS = 1024 };

int targets_init(struct bridge *b)
{
    b->targets.all = malloc(TARGETS_MAX * sizeof *b->targets.all);
    b->targets.buckets = calloc(BUCKETS, sizeof *b->targets.buckets);
    if (b->targets.all == NULL || b->targets.buckets == NULL)
        return ERR_NO_MEMORY;
    for (int i = 0; i < BUCKETS; i++)
        list_init(&b->targets.buckets[i]);
    return 0;
}

void targets_deinit(struct bridge *b)
{
    for (size_t i = 0; i < b->targets.n; i++)
        b->port.forget(b->port.ctx, &b->targets.all[i].id);
    free(b->targets.all);
    free(b->targets.buckets);
}

static struct list *bucket_of(struct bridge *b, struct bytes name)
{
    XXH64_hash_t hash = XXH3_64bits_withSeed(name.data, name.len, b->config.hash_seed);
    return &b->targets.buckets[hash % BUCKETS];
}

/* Requests may name many topics that do not exist. These are replaced first, so that they do not
   drive out good targets. */
static struct target *claim_slot(struct bridge *b)
{
    if (b->targets.n < TARGETS_MAX)
        return &b->targets.all[b->targets.n++];
    for (int tries = 0; tries < 2 * TARGETS_MAX; tries++) {
        struct target *t = &b->targets.all[b->targets.hand];
        b->targets.hand = (b->targets.hand + 1) % TARGETS_MAX;
        if (t->in_flight > 0 || !list_is_empty(&t->parked) || t == b->targets.looking_up ||
            (t->took_mono_ms > 0 && tries < TARGETS_MAX))
            continue;
        b->port.forget(b->port.ctx, &t->id);
        list_remove(&t->link);
        return t;
    }
    return NULL;
}

struct target *target_find(struct bridge *b, struct bytes name)
{
    const struct list *bucket = bucket_of(b, name);
    for (struct link *l = list_first(bucket); l != NULL; l = list_after(bucket, l)) {
        struct target *t = list_item(l, struct target, link);
        if (bytes_equal(bytes_text(t->id.name), name))
            return t;
    }
    return NULL;
}

struct target_stats *target_stats(const struct bridge *b, uint8_t label)
{
    return &b->stats->targets[label];
}

const struct target_rule *target_rule(const struct bridge *b, struct bytes name)
{
    const struct target_rule *rules = b->config.target_rules;
    int entry = rules == NULL ? -1 : allowlist_entry(&b->config.rules.allowlist, name);
    return entry < 0 ? NULL : &rules[entry];
}

uint8_t target_label(const struct bridge *b, struct bytes name)
{
    int entry = allowlist_entry(&b->config.rules.allowlist, name);
    if (entry < 0)
        return LABEL_NONE;
    return entry < TARGET_LABELS ? b->config.target_labels[entry] : LABEL_OTHER;
}

void targets_relabel(struct bridge *b)
{
    for (size_t i = 0; i < b->targets.n; i++) {
        struct target *t = &b->targets.all[i];
        t->label = target_label(b, bytes_text(t->id.name));
    }
}

struct target *target_get(struct bridge *b, struct bytes name)
{
    assert(name.len <= TOPIC_NAME_MAX);
    struct target *t = target_find(b, name);
    if (t != NULL)
        return t;
    t = claim_slot(b);
    if (t == NULL)
        return NULL;
    *t = (struct target){.state = TARGET_UNKNOWN};
    list_init(&t->parked);
    memcpy(t->id.name, name.data, name.len);
    t->label = target_label(b, name);
    list_append(bucket_of(b, name), &t->link);
    return t;
}
