/* SPDX-License-Identifier: Apache-2.0 */
/* wheel: due times and their order, compared with a list that is searched. */
#include "levels/wheel.h"
#include "tests/unit/levels/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

static struct wheel wheel;

static void start(void)
{
    cr_assert_eq(wheel_init(&wheel, 2048, 1000), 0);
}

static void stop(void)
{
    wheel_check(&wheel);
    wheel_deinit(&wheel);
}

TestSuite(wheel, .init = start, .fini = stop);

static void expect_pop(const struct wheel_node *node)
{
    wheel_check(&wheel);
    cr_assert_eq(wheel_pop(&wheel), node);
    wheel_check(&wheel);
}

Test(wheel, no_node_is_returned_early)
{
    struct wheel_node node = {0};
    wheel_add(&wheel, &node, 1100);
    wheel_advance(&wheel, 1099);
    expect_pop(NULL);
    wheel_advance(&wheel, 1100);
    expect_pop(&node);
    expect_pop(NULL);
}

Test(wheel, due_nodes_come_in_order_of_time)
{
    struct wheel_node a = {0}, b = {0}, c = {0};
    wheel_add(&wheel, &a, 1300);
    wheel_add(&wheel, &b, 1100);
    wheel_add(&wheel, &c, 1200);
    wheel_advance(&wheel, 1500);
    expect_pop(&b);
    expect_pop(&c);
    expect_pop(&a);
}

Test(wheel, equal_times_come_in_order_of_adding)
{
    struct wheel_node a = {0}, b = {0}, c = {0};
    wheel_add(&wheel, &a, 1100);
    wheel_add(&wheel, &b, 1100);
    wheel_advance(&wheel, 1200);
    wheel_add(&wheel, &c, 1100);
    expect_pop(&a);
    expect_pop(&b);
    expect_pop(&c);
}

Test(wheel, past_node_is_due_at_once_and_in_order)
{
    struct wheel_node a = {0}, b = {0}, c = {0};
    wheel_add(&wheel, &a, 1000);
    wheel_add(&wheel, &b, -5);
    wheel_add(&wheel, &c, 500);
    cr_assert_eq(wheel_next_ms(&wheel), 1000);
    expect_pop(&b);
    expect_pop(&c);
    expect_pop(&a);
}

Test(wheel, far_node_is_skipped_until_its_round)
{
    struct wheel_node near = {0}, far = {0};
    wheel_add(&wheel, &far, 1100 + 3 * 2048);
    wheel_add(&wheel, &near, 1100);
    wheel_advance(&wheel, 1200);
    expect_pop(&near);
    expect_pop(NULL);
    wheel_advance(&wheel, 1099 + 3 * 2048);
    expect_pop(NULL);
    wheel_advance(&wheel, 1100 + 3 * 2048);
    expect_pop(&far);
}

Test(wheel, jump_over_many_rounds_keeps_the_order)
{
    struct wheel_node later = {0}, soon = {0}, last = {0};
    wheel_add(&wheel, &later, 1001 + 2048); /* in the slot that is visited first */
    wheel_add(&wheel, &last, 1000 + 3600000);
    wheel_add(&wheel, &soon, 1500);
    wheel_advance(&wheel, 1000 + 7200000);
    expect_pop(&soon);
    expect_pop(&later);
    expect_pop(&last);
}

Test(wheel, step_back_makes_nodes_wait)
{
    struct wheel_node node = {0};
    wheel_add(&wheel, &node, 1100);
    wheel_advance(&wheel, 200);
    expect_pop(NULL);
    cr_assert_gt(wheel_next_ms(&wheel), 200);
    wheel_advance(&wheel, 1099);
    expect_pop(NULL);
    wheel_advance(&wheel, 1100);
    expect_pop(&node);
}

Test(wheel, ready_nodes_wait_after_a_step_back)
{
    struct wheel_node late = {0}, ready = {0};
    wheel_advance(&wheel, 1200);
    wheel_add(&wheel, &ready, 1150);
    wheel_add(&wheel, &late, 1100);
    wheel_advance(&wheel, 1120);
    expect_pop(&late);
    expect_pop(NULL);
    cr_assert_eq(wheel_next_ms(&wheel), 1150);
    wheel_advance(&wheel, 1150);
    expect_pop(&ready);
}

Test(wheel, nodes_added_after_a_step_back_count_from_it)
{
    struct wheel_node before = {0}, after = {0};
    wheel_add(&wheel, &before, 1100);
    wheel_advance(&wheel, 1100);
    wheel_advance(&wheel, 500);
    wheel_add(&wheel, &after, 700);
    wheel_advance(&wheel, 700);
    expect_pop(&after);
    expect_pop(NULL);
    wheel_advance(&wheel, 5000);
    expect_pop(&before);
}

Test(wheel, removed_node_is_not_returned)
{
    struct wheel_node waiting = {0}, ready = {0}, late = {0};
    wheel_add(&wheel, &waiting, 1100);
    wheel_add(&wheel, &ready, 900);
    wheel_add(&wheel, &late, 800);
    wheel_remove(&wheel, &waiting);
    wheel_remove(&wheel, &ready);
    wheel_remove(&wheel, &late);
    cr_assert_not(wheel_holds(&waiting) || wheel_holds(&ready) || wheel_holds(&late));
    wheel_advance(&wheel, 2000);
    expect_pop(NULL);
    cr_assert_eq(wheel.count, 0);
    wheel_add(&wheel, &waiting, 2100);
    cr_assert(wheel_holds(&waiting));
    wheel_remove(&wheel, &waiting);
}

Test(wheel, removal_keeps_the_order_of_adding)
{
    struct wheel_node ready = {0}, a = {0}, b = {0};
    wheel_add(&wheel, &ready, 1000);
    wheel_add(&wheel, &a, 900);
    wheel_remove(&wheel, &ready);
    wheel_add(&wheel, &b, 900);
    expect_pop(&a);
    expect_pop(&b);
}

Test(wheel, empty_wheel_has_no_next)
{
    cr_assert_eq(wheel_next_ms(&wheel), INT64_MAX);
}

Test(wheel, next_is_the_first_within_the_span)
{
    struct wheel_node a = {0}, b = {0};
    wheel_add(&wheel, &a, 1000 + 2048);
    cr_assert_eq(wheel_next_ms(&wheel), 1000 + 2048);
    wheel_add(&wheel, &b, 1063);
    cr_assert_eq(wheel_next_ms(&wheel), 1063);
    wheel_remove(&wheel, &a);
    wheel_remove(&wheel, &b);
}

Test(wheel, sleeping_until_next_always_makes_progress)
{
    struct wheel_node far = {0};
    int turns = 0;
    wheel_add(&wheel, &far, 1000 + 10 * 2048 + 77);
    for (int64_t now_ms = 1000; !wheel_pop(&wheel); turns++) {
        int64_t next_ms = wheel_next_ms(&wheel);
        cr_assert(next_ms > now_ms && next_ms <= far.at_ms);
        wheel_advance(&wheel, now_ms = next_ms);
    }
    cr_assert_leq(turns, 11, "once a round");
}

Test(wheel, span_is_rounded_up)
{
    struct wheel odd;
    cr_assert_eq(wheel_init(&odd, 2049, 0), 0);
    cr_assert_eq(odd.slots_n, 4096);
    wheel_deinit(&odd);
    cr_assert_eq(wheel_init(&odd, 0, 0), 0);
    cr_assert_eq(odd.slots_n, 64);
    wheel_deinit(&odd);
    cr_assert_eq(wheel_init(&odd, (size_t)2 * 24 * 3600 * 1000, 0), 0);
    cr_assert_eq(odd.slots_n, WHEEL_SLOTS_MAX, "two days ahead cost no more than 17 minutes");
    wheel_deinit(&odd);
}

static void visit_and_remove(struct wheel_node *node, void *visited)
{
    wheel_remove(&wheel, node);
    ++*(int *)visited;
}

Test(wheel, visitor_may_remove_its_node)
{
    struct wheel_node nodes[6] = {{{0}, 0}};
    int visited = 0;
    for (int i = 0; i < 6; i++)
        wheel_add(&wheel, &nodes[i], (int64_t[]){1000, 999, 998, 1100, 1100, 90000}[i]);
    wheel_each(&wheel, visit_and_remove, &visited);
    cr_assert_eq(visited, 6);
    cr_assert_eq(wheel.count, 0);
    cr_assert_eq(wheel_next_ms(&wheel), INT64_MAX);
}

Test(wheel, adding_a_linked_node_asserts, .signal = SIGABRT)
{
    struct wheel_node node = {0};
    wheel_add(&wheel, &node, 1100);
    wheel_add(&wheel, &node, 1200);
}

Test(wheel, removing_an_unlinked_node_asserts, .signal = SIGABRT)
{
    wheel_remove(&wheel, &(struct wheel_node){0});
}

/* A quadratic algorithm would take minutes. */
Test(wheel, backlog_in_any_order_is_sorted, .timeout = 60)
{
    enum { N = 200000 };
    struct wheel_node *nodes = calloc(N, sizeof *nodes);
    cr_assert_not_null(nodes);
    for (int i = 0; i < N; i++)
        wheel_add(&wheel, &nodes[i], i % 2 ? -i : i - N);
    int64_t last_ms = INT64_MIN;
    for (int i = 0; i < N; i++) {
        struct wheel_node *node = wheel_pop(&wheel);
        cr_assert(node && node->at_ms >= last_ms);
        last_ms = node->at_ms;
    }
    free(nodes);
}

/* The model: a list that is searched from end to end. */

enum { NODES = 200 };
static struct {
    struct wheel_node node;
    int64_t added;
} held[NODES];

static int64_t added, now;

static int model_first(void)
{
    int first = -1;
    for (int i = 0; i < NODES; i++) {
        if (held[i].added < 0)
            continue;
        int64_t before_ms = first < 0 ? INT64_MAX : held[first].node.at_ms;
        if (first < 0 || held[i].node.at_ms < before_ms ||
            (held[i].node.at_ms == before_ms && held[i].added < held[first].added))
            first = i;
    }
    return first;
}

static void add_or_remove(void)
{
    int64_t i = random_between(0, NODES - 1);
    if (held[i].added >= 0) {
        wheel_remove(&wheel, &held[i].node);
        held[i].added = -1;
        return;
    }
    static const int64_t reach_ms[] = {3, 60, 130, 1000, 100000};
    int64_t ahead_ms = reach_ms[random_between(0, 4)];
    wheel_add(&wheel, &held[i].node, now + random_between(-ahead_ms / 2, ahead_ms));
    held[i].added = added++;
}

static void pop_and_compare(void)
{
    int first = model_first();
    bool due = first >= 0 && held[first].node.at_ms <= now;
    cr_assert_eq(wheel_pop(&wheel), due ? &held[first].node : NULL);
    if (due)
        held[first].added = -1;
}

static void next_compare(void)
{
    int first = model_first();
    int64_t next_ms = wheel_next_ms(&wheel);
    if (first < 0)
        cr_assert_eq(next_ms, INT64_MAX);
    else if (held[first].node.at_ms <= now)
        cr_assert_eq(next_ms, now);
    else
        cr_assert(next_ms > now && next_ms <= held[first].node.at_ms);
}

static void one_step(void)
{
    switch (random_between(0, 11)) {
    case 0:
        now += random_between(0, 3);
        break;
    case 1:
        now += random_between(0, 300);
        break;
    case 2:
        now -= random_between(0, random_between(0, 1) ? 30 : 5000);
        break;
    case 3:
        if (random_between(0, 20) == 0)
            now += random_between(0, 200000);
        break;
    case 4:
        if (wheel_next_ms(&wheel) != INT64_MAX)
            now = wheel_next_ms(&wheel);
        break;
    case 5:
    case 6:
    case 7:
        pop_and_compare();
        return;
    default:
        add_or_remove();
        return;
    }
    wheel_advance(&wheel, now);
}

Test(wheel, random_history_equals_a_searched_list)
{
    random_start("wheel");
    for (int round = 0; round < 40; round++) {
        now = round % 4 ? 1700000000000 : -50;
        wheel_deinit(&wheel);
        cr_assert_eq(wheel_init(&wheel, round % 2 ? 64 : 512, now), 0);
        for (int i = 0; i < NODES; i++) {
            held[i].node = (struct wheel_node){0};
            held[i].added = -1;
        }
        for (int step = 0; step < 5000; step++) {
            one_step();
            wheel_check(&wheel);
            next_compare();
        }
        wheel_advance(&wheel, now += 10000000);
        while (model_first() >= 0)
            pop_and_compare();
        cr_assert_eq(wheel.count, 0);
    }
}
