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

uint32_t config_hash(const struct config *c)
{
    uint64_t targets = 0; /* a sum, so that their order does not matter */
    for (size_t i = 0; i < c->targets_n; i++)
        targets += of_text(c->targets[i]);
    uint64_t hash = of_text(c->default_target);
    hash = mix(hash, &targets, sizeof targets);
    hash = mix(hash, c->ladder.level_ms, (size_t)c->ladder.n * sizeof *c->ladder.level_ms);
    hash = mix(hash, &(unsigned char){c->exactly_once}, 1);
    if (c->compat != 0) /* without it the hash is that of a version without the key */
        hash = mix(hash, &c->compat, sizeof c->compat);
    uint32_t folded = (uint32_t)(hash >> 32) ^ (uint32_t)hash;
    return folded == 0 ? 1 : folded;
}
