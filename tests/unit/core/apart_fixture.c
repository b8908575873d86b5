/* SPDX-License-Identifier: Apache-2.0 */
/* A bridge with a slow target, for the tests of its transaction. */
#include "tests/unit/core/apart_fixture.h"
#include "bridge/core/apart.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>

struct target *slow, *fast;

void apart_start(void)
{
    fixture_start_exactly_once();
    fx.lookup = LOOKUP_WHOLE;
    slow = fixture_target("orders");
    fast = fixture_target("bills");
    slow->state = fast->state = TARGET_UP;
    slow->is_slow = true;
}

struct parcel *apart_sent_to(const char *target)
{
    fx.target = target;
    return fixture_send(SLOT_SCHEDULE, fixture_queue(SLOT_SCHEDULE)->window.next,
                        fx.b->now.wall_ms);
}

struct parcel *apart_sent(void)
{
    struct parcel *p = apart_sent_to("orders");
    cr_assert(fx.sent.apart && p->apart);
    return p;
}

void apart_look(int64_t slow_ms, int64_t fast_ms)
{
    apart_learn(fx.b, slow, slow_ms);
    apart_learn(fx.b, fast, fast_ms);
    slow->took_mono_ms = fast->took_mono_ms = fx.b->now.mono_ms;
    apart_serve(fx.b);
}

void apart_judge(int64_t slow_ms, int64_t fast_ms)
{
    fixture_pass(STAYS_MS);
    slow->took_mono_ms = fast->took_mono_ms = 0; /* no average with older times */
    apart_look(slow_ms, fast_ms);
    fixture_pass(LOOK_MS);
    apart_look(slow_ms, fast_ms);
}

struct parcel *apart_complete(void)
{
    struct parcel *p = apart_sent();
    fixture_report(p, REPORT_OK);
    cr_assert_eq(p->state, PARCEL_HELD);
    apart_close(fx.b);
    cr_assert(apart_is_complete(fx.b));
    return p;
}
