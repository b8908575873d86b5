/* SPDX-License-Identifier: Apache-2.0 */
/* limits: crowds of limited targets. Each target is served at its rate, whatever the names of the
   others are. */
#include "bridge/core/forward.h"
#include "bridge/core/parcel.h"
#include "bridge/core/ready.h"
#include "bridge/core/target.h"
#include "bridge/core/target_table.h"
#include "bridge/core/withhold.h"
#include "tests/unit/core/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(limits, .init = fixture_start, .fini = fixture_stop);

/* The fixture owns one lane of two, so it sends a record each 20 s of a target with 6/m. */
enum { NAME_SIZE = 20, HALF_AN_HOUR_MS = 1800000, RECORDS_MAX = 12000, SLOT_MS = 20000 };

struct waiting {
    char name[NAME_SIZE];
    int64_t due_ms;
    enum deferral before;
    int next; /* of the same ms; -1: none */
};

struct crowd {
    struct waiting all[RECORDS_MAX];
    int n;
    int first[HALF_AN_HOUR_MS], last[HALF_AN_HOUR_MS]; /* by the ms in which they come; -1: none */
    int sent, writes;
    int64_t worst_ms;
};

static struct crowd *crowd_new(void)
{
    struct control c = {
        .op = CONTROL_LIMIT, .pattern = "*", .rate = {6, 60000}, .until_wall_ms = CONTROL_ENDLESS};
    cr_assert_eq(bridge_control_put(fx.b, &c, fx.b->now), 0);
    struct crowd *crowd = calloc(1, sizeof *crowd);
    cr_assert_not_null(crowd);
    memset(crowd->first, -1, sizeof crowd->first);
    return crowd;
}

static void come(struct crowd *crowd, int i, int64_t at_ms)
{
    if (at_ms >= HALF_AN_HOUR_MS)
        return;
    crowd->all[i].next = -1;
    if (crowd->first[at_ms] < 0)
        crowd->first[at_ms] = i;
    else
        crowd->all[crowd->last[at_ms]].next = i;
    crowd->last[at_ms] = i;
}

static void add(struct crowd *crowd, const char *name, int64_t due_ms)
{
    strcpy(crowd->all[crowd->n].name, name);
    crowd->all[crowd->n].due_ms = due_ms;
    come(crowd, crowd->n++, due_ms);
}

static void deliver(struct crowd *crowd, int i, int64_t now_ms)
{
    struct waiting *record = &crowd->all[i];
    struct target *t = fixture_target(record->name);
    struct stamp stamp = {.expires_ms = STAMP_NEVER,
                          .extras = {.deferral = (uint8_t)record->before}};
    int64_t until_ms = withhold_until_ms(fx.b, t, &stamp, &record->before);
    if (until_ms == 0) {
        withhold_sent(fx.b, t);
        int64_t late_ms = now_ms - record->due_ms;
        crowd->sent++;
        crowd->worst_ms = late_ms > crowd->worst_ms ? late_ms : crowd->worst_ms;
        return;
    }
    withhold_put_back(fx.b, t, &stamp);
    crowd->writes++;
    come(crowd, i, now_ms + until_ms - fx.b->now.wall_ms);
}

static void run(struct crowd *crowd)
{
    for (int64_t now_ms = 0; now_ms < HALF_AN_HOUR_MS; now_ms++, fixture_pass(1))
        for (int i = crowd->first[now_ms], next; i >= 0; i = next) {
            next = crowd->all[i].next;
            deliver(crowd, i, now_ms);
        }
}

static uint64_t fnv1a(const char *name)
{
    uint64_t hash = 14695981039346656037u;
    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 1099511628211u;
    return hash;
}

/* Producers can compute names that collide, if a hash has no secret seed. */
static void collide(int targets)
{
    enum { SETS = 512, RECORDS = 70, EVERY_MS = 25000 };
    char name[NAME_SIZE];
    struct crowd *crowd = crowd_new();
    for (int i = 0, found = 0; found < targets; i++) {
        snprintf(name, sizeof name, "orders.%d", i);
        if (fnv1a(name) % SETS != 0)
            continue;
        for (int n = 0; n < RECORDS; n++)
            add(crowd, name, n * EVERY_MS + found * EVERY_MS / targets);
        found++;
    }
    run(crowd);
    cr_expect_eq(crowd->sent, crowd->n, "%d of %d", crowd->sent, crowd->n);
    cr_expect_leq(crowd->writes, crowd->n, "%d writes", crowd->writes);
    cr_expect_leq(crowd->worst_ms, SLOT_MS + 1, "%lld ms", (long long)crowd->worst_ms);
    free(crowd);
}

Test(limits, targets_whose_names_collide_are_served_at_their_rates)
{
    collide(40);
}

Test(limits, each_of_twelve_thousand_targets_is_served_at_its_rate)
{
    char name[NAME_SIZE];
    struct crowd *crowd = crowd_new();
    for (int i = 0; i < RECORDS_MAX; i++) {
        snprintf(name, sizeof name, "orders.%08x", (unsigned)i * 2654435761u);
        add(crowd, name, 0);
    }
    run(crowd);
    cr_expect_eq(crowd->sent, crowd->n, "%d of %d", crowd->sent, crowd->n);
    cr_expect_leq(crowd->writes, crowd->n, "%d writes", crowd->writes);
    cr_expect_leq(crowd->worst_ms, SLOT_MS + 1, "%lld ms", (long long)crowd->worst_ms);
    free(crowd);
}

/* Makes a step machine with room for one bucket, and gives it to a target. */
static void with_one_bucket(void)
{
    fx.config.limited_max = 1;
    fixture_again();
    struct control c = {
        .op = CONTROL_LIMIT, .pattern = "*", .rate = {6, 60000}, .until_wall_ms = CONTROL_ENDLESS};
    cr_assert_eq(bridge_control_put(fx.b, &c, fx.b->now), 0);
    struct stamp stamp = {.expires_ms = STAMP_NEVER};
    enum deferral why;
    cr_assert_gt(withhold_until_ms(fx.b, fixture_target("orders.1"), &stamp, &why), 0);
}

Test(limits, record_without_a_bucket_is_put_back_as_for_a_target_that_is_down)
{
    with_one_bucket();
    struct target *t = fixture_target("orders.2");
    struct stamp stamp = {.expires_ms = STAMP_NEVER};
    enum deferral why = DEFERRAL_NONE;
    cr_expect_eq(withhold_until_ms(fx.b, t, &stamp, &why), fx.b->now.wall_ms + DOWN_MS);
    cr_expect_eq(why, DEFERRAL_LIMITED);
    withhold_put_back(fx.b, t, &stamp);
    cr_expect_eq(counter_read(&fx.stats.limits_full), 1);
    stamp.expires_ms = fx.b->now.wall_ms + 10;
    cr_expect_eq(withhold_until_ms(fx.b, t, &stamp, &why), stamp.expires_ms + 1);
}

Test(limits, name_without_a_topic_takes_no_bucket)
{
    with_one_bucket();
    fixture_pass(SLOT_MS + 100); /* the bucket of the other target is idle */
    fx.lookup = LOOKUP_MISSING;
    fx.target = "orders.2";
    struct parcel *p = fixture_parcel(SLOT_SCHEDULE, START, BEGIN_WALL_MS);
    parcel_ready(fx.b, p);
    forward_serve(fx.b);
    struct envelope env;
    cr_assert_eq(envelope_open(p->record->value, &env), 0);
    cr_expect_eq(env.stamp.attempt, 1);
    cr_expect_null(limit_table_find(&fx.b->control.limits, bytes_text("orders.2")));
    cr_expect_not_null(limit_table_find(&fx.b->control.limits, bytes_text("orders.1")));
}

/* Until the answer comes, its records wait for the look-up. */
Test(limits, target_that_is_found_takes_a_bucket)
{
    with_one_bucket();
    fixture_pass(SLOT_MS + 100);
    fx.lookup = LOOKUP_PENDING;
    struct target *t = fixture_target("orders.2");
    struct stamp stamp = {.expires_ms = STAMP_NEVER};
    enum deferral why;
    cr_expect_eq(withhold_until_ms(fx.b, t, &stamp, &why), 0);
    cr_expect_eq(target_gate(fx.b, t), GATE_PARK);
    fx.lookup = LOOKUP_FOUND;
    fixture_turn();
    cr_expect_eq(withhold_until_ms(fx.b, t, &stamp, &why), fx.b->now.wall_ms + SLOT_MS + 1);
}
