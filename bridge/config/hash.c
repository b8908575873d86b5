/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of the keys that must be equal in all members of a group. */
#include "bridge/config/config.h"

#include <string.h>

static uint64_t mix(uint64_t hash, const void *data, size_t n)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * 0x100000001b3; /* FNV-1a */
    return hash;
}

static uint64_t of_text(const char *text)
{
    return text == NULL ? 1 : mix(0xcbf29ce484222325, text, strlen(text));
}

/* Padding is left out, since it may differ. */
static uint64_t of_policy(const struct retry_policy *p)
{
    uint64_t hash = of_text(p->name);
    hash = mix(hash, p->delays_ms, (size_t)p->delays_n * sizeof *p->delays_ms);
    hash = mix(hash, &p->first_ms, sizeof p->first_ms);
    hash = mix(hash, &p->longest_ms, sizeof p->longest_ms);
    hash = mix(hash, &p->factor, sizeof p->factor);
    hash = mix(hash, &p->attempts, sizeof p->attempts);
    hash = mix(hash, &p->jitter, sizeof p->jitter);
    return mix(hash, &p->deadline_ms, sizeof p->deadline_ms);
}

/* An entry without a rate has the hash that it had before entries could have one. */
static uint64_t of_target(const struct config *c, size_t i)
{
    uint64_t hash = of_text(c->targets[i]);
    if (c->target_rules == NULL || c->target_rules[i].max_rate.records == 0)
        return hash;
    int64_t rate = rate_per_minute(&c->target_rules[i].max_rate);
    return mix(hash, &rate, sizeof rate);
}

uint32_t config_hash(const struct config *c)
{
    uint64_t targets = 0; /* a sum, so that their order does not matter */
    for (size_t i = 0; i < c->targets_n; i++)
        targets += of_target(c, i);
    uint64_t hash = of_text(c->default_target);
    hash = mix(hash, &targets, sizeof targets);
    hash = mix(hash, c->ladder.level_ms, (size_t)c->ladder.n * sizeof *c->ladder.level_ms);
    hash = mix(hash, &(unsigned char){c->exactly_once}, 1);
    if (c->compat != 0) /* without it the hash is that of a version without the key */
        hash = mix(hash, &c->compat, sizeof c->compat);
    if (c->compat_policy != NULL)
        hash = mix(hash, c->compat_policy, strlen(c->compat_policy));
    uint64_t policies = 0; /* a sum, too */
    for (size_t i = 0; i < c->retry_n; i++)
        policies += of_policy(&c->retry[i]);
    if (c->retry_n != 0) /* as with compat */
        hash = mix(hash, &policies, sizeof policies);
    uint32_t folded = (uint32_t)(hash >> 32) ^ (uint32_t)hash;
    return folded == 0 ? 1 : folded;
}
