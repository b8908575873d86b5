/* SPDX-License-Identifier: Apache-2.0 */
/* wire_size: the bound on the records that the bridge makes of one record. */
#include "levels/request.h"
#include "levels/wire_size.h"

#include <criterion/criterion.h>

static const struct header HEADERS[] = {{"name", {"value", 5}}, {"", {NULL, 0}}};
static const struct record RECORD = {
    .key = {"key", 3}, .value = {"0123456789", 10}, .headers = HEADERS, .headers_n = 2};

Test(wire_size, counts_key_value_and_headers_with_their_lengths)
{
    cr_expect_eq(wire_size_without_value(&RECORD), 3 + (4 + 5 + 8) + (0 + 0 + 8));
    cr_expect_eq(wire_size(&RECORD), wire_size_without_value(&RECORD) + 10);
    cr_expect_eq(wire_size(&(struct record){0}), 0);
}

Test(wire_size, envelope_is_within_the_bound_of_added_bytes)
{
    char id[REQUEST_ID_MAX], target[249]; /* both at their longest */
    memset(id, 'i', sizeof id);
    memset(target, 't', sizeof target);
    const struct stamp stamp = {
        .id = bytes_of(id, sizeof id),
        .target = bytes_of(target, sizeof target),
        .extras = {.is_retry = true, .retry.origin_topic = bytes_of(target, sizeof target)}};
    size_t record = RECORD.key.len + envelope_enclosed_size(&stamp, &RECORD);
    cr_expect_leq(record + WIRE_ADDED_LATER, wire_size(&RECORD) + WIRE_ADDED_IN_ITS_LIFE);
}
