/* SPDX-License-Identifier: Apache-2.0 */
/* dead_letter: the share of each lane, and reasons that name long targets. */
#include "bridge/core/bridge.h"
#include "bridge/core/dead_letter.h"
#include "bridge/core/parcel.h"
#include "bridge/core/redelivery.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* The largest part of a name that a reason shows. */
enum { SHOWN_MAX = 120 };
static char long_target[TOPIC_NAME_MAX + 1];

static void start(void)
{
    fixture_start();
    memset(long_target, 'x', TOPIC_NAME_MAX);
    memcpy(long_target, "orders", 6);
}

TestSuite(dead_letter, .init = start, .fini = fixture_stop);

static const struct refusal late = {.code = CODE_EXPIRED, .reason = "too late"};

static struct parcel *parcel(void)
{
    struct queue *q = fixture_queue(SLOT_SCHEDULE);
    return fixture_parcel(SLOT_SCHEDULE, q->window.next, BEGIN_WALL_MS);
}

static void mark(int n)
{
    for (int i = 0; i < n; i++)
        dead_letter_mark(fx.b, parcel(), &late);
}

static bool is_available(void)
{
    return dead_letter_available(fx.b, fixture_queue(SLOT_SCHEDULE));
}

Test(dead_letter, each_lane_has_its_own_share)
{
    fx.config.memory_bytes = 64 << 20;
    fixture_again();
    fixture_gain(1);
    mark(DEAD_LETTERS_MAX / 2 - 1);
    cr_expect(is_available());
    mark(1);
    cr_expect_not(is_available());
    cr_expect(dead_letter_available(fx.b, bridge_queue(fx.b, 1, SLOT_SCHEDULE)));
}

Test(dead_letter, pool_has_a_limit)
{
    fx.config.memory_bytes = 64 << 20;
    fixture_again();
    mark(DEAD_LETTERS_MAX);
    cr_expect_not(is_available());
    fixture_gain(1);
    cr_expect_not(dead_letter_available(fx.b, bridge_queue(fx.b, 1, SLOT_SCHEDULE)),
                  "another lane has taken all");
}

Test(dead_letter, lane_takes_a_share_of_the_bytes)
{
    struct parcel *p = parcel();
    p->record->cost_bytes = (size_t)fx.config.memory_bytes;
    fx.b->pools.buffered_bytes = parcel_memory(p);
    dead_letter_mark(fx.b, p, &late);
    cr_expect_not(is_available());
    parcel_forget(fx.b, p);
    cr_expect(is_available());
}

Test(dead_letter, record_waits_while_there_is_no_memory_for_it)
{
    struct parcel *p = parcel();
    fx.has_no_memory = true;
    dead_letter_record(fx.b, p, CODE_EXPIRED, "too late");
    cr_expect_eq(p->state, PARCEL_WAITING);
    cr_expect_null(p->dead_letter);
    fx.has_no_memory = false;
    dead_letter_record(fx.b, p, CODE_EXPIRED, "too late by %d ms", 5);
    cr_assert_not_null(p->dead_letter);
    cr_expect_str_eq(p->dead_letter->refusal.reason, "too late by 5 ms");
}

static void expect_shown(const struct parcel *p)
{
    cr_assert_not_null(p->dead_letter);
    const char *reason = p->dead_letter->refusal.reason;
    const char *shown = strstr(reason, "orders");
    cr_assert_not_null(shown, "%s", reason);
    cr_expect_eq(strspn(shown + 6, "x"), SHOWN_MAX - 6, "%s", reason);
}

Test(dead_letter, long_target_is_cut_in_each_reason)
{
    fx.target = long_target;
    struct parcel *large = parcel(), *failed = parcel();
    dead_letter_too_large(fx.b, large);
    expect_shown(large);
    fx.b->config.max_attempts = 1;
    redelivery_attempt_failed(fx.b, failed, (struct failure){DELIVERY_REFUSED, "not authorized"});
    expect_shown(failed);
}

/* 'topics apply' may have been run already, so only check can tell whether it helps. */
Test(dead_letter, too_large_for_its_level_names_check_and_its_size)
{
    struct parcel *p = parcel();
    char size[32];
    snprintf(size, sizeof size, "its %zu bytes", p->record->key.len + p->record->value.len);
    dead_letter_too_large_for_level(fx.b, p);
    cr_assert_not_null(p->dead_letter);
    const struct refusal *why = &p->dead_letter->refusal;
    cr_expect_eq(why->code, CODE_TOO_LARGE);
    cr_expect_eq(strncmp(why->reason, size, strlen(size)), 0, "%s", why->reason);
    cr_expect_not_null(
        strstr(why->reason, "'delaybridge check' says whether 'topics apply' can raise it"), "%s",
        why->reason);
}
