/* SPDX-License-Identifier: Apache-2.0 */
/* group: on the mock. The linker sends calls of rd_kafka_subscribe to this file (--wrap), so that a
   subscription can fail. */
#include "bridge/base/clock.h"
#include "consumer/client/mock.h"
#include "consumer/group.h"

#include <criterion/criterion.h>
#include <poll.h>

enum { LANES = 2, SLOTS = 2, TIMEOUT_MS = 20000, POLL_MS = 20 };

rd_kafka_resp_err_t __real_rd_kafka_subscribe(rd_kafka_t *rk,
                                              const rd_kafka_topic_partition_list_t *topics);
rd_kafka_resp_err_t __wrap_rd_kafka_subscribe(rd_kafka_t *rk,
                                              const rd_kafka_topic_partition_list_t *topics);

static const char *const topics[SLOTS + 1] = {"schedule", "schedule.1s", "schedule.cancelled"};
static int subscriptions_to_fail, subscriptions_failed;
static int gained_n, lost_n;

rd_kafka_resp_err_t __wrap_rd_kafka_subscribe(rd_kafka_t *rk,
                                              const rd_kafka_topic_partition_list_t *list)
{
    if (subscriptions_failed >= subscriptions_to_fail)
        return __real_rd_kafka_subscribe(rk, list);
    subscriptions_failed++;
    return RD_KAFKA_RESP_ERR__STATE;
}

static bool may_gain(void *ctx)
{
    (void)ctx;
    return true;
}

static void on_gained(void *ctx, const int *lanes, int n, struct start *starts)
{
    struct group **group = ctx;
    (void)starts;
    gained_n++;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(n);
    for (int i = 0; i < n; i++)
        rd_kafka_topic_partition_list_add(list, topics[SLOT_SCHEDULE], lanes[i]);
    rd_kafka_assign(group_handle(*group), list);
    rd_kafka_topic_partition_list_destroy(list);
}

static void on_lost(void *ctx, bool fenced)
{
    struct group **group = ctx;
    (void)fenced;
    lost_n++;
    rd_kafka_assign(group_handle(*group), NULL);
}

static void on_committed(void *ctx, uint64_t seq, bool ok)
{
    (void)ctx, (void)seq, (void)ok;
}

/* Serves the group until lanes were assigned n times. */
static void await_gained(struct group *group, int n)
{
    int64_t until_mono_ms = clock_mono_ms() + TIMEOUT_MS;
    while (gained_n < n && clock_mono_ms() < until_mono_ms) {
        group_poll(group);
        poll(NULL, 0, POLL_MS);
    }
    cr_assert_eq(gained_n, n);
}

Test(group, failed_subscription_is_tried_again)
{
    struct error error;
    struct wakeup wakeup;
    struct mock *mock = mock_start(&error);
    cr_assert_not_null(mock, "%s", error.text);
    for (int slot = 0; slot < SLOTS; slot++)
        cr_assert_eq(mock_topic(mock, topics[slot], LANES), 0);
    cr_assert_eq(wakeup_init(&wakeup), 0);
    char name[] = "bootstrap.servers", id[] = "g";
    struct property bootstrap = {CLIENT_ALL, name, (char *)mock_bootstrap(mock), false};
    struct config config = {.group = id, .kafka = &bootstrap, .kafka_n = 1};
    rd_kafka_conf_t *conf = client_conf(&config, CLIENT_INTAKE, &error);
    cr_assert_not_null(conf, "%s", error.text);
    static struct group *group;
    struct group_config group_config = {.topics = topics,
                                        .slots = SLOTS,
                                        .lanes = LANES,
                                        .wakeup = &wakeup,
                                        .may_gain = may_gain,
                                        .gained = on_gained,
                                        .lost = on_lost,
                                        .committed = on_committed,
                                        .ctx = &group};
    cr_assert_eq(group_new(&group_config, conf, &group, &error), 0, "%s", error.text);
    await_gained(group, 1);
    subscriptions_to_fail = 2;
    group_rejoin(group);
    await_gained(group, 2);
    cr_expect_eq(subscriptions_failed, 2);
    cr_expect_eq(lost_n, 1);
    group_close(group);
    group_free(group);
    wakeup_deinit(&wakeup);
    mock_stop(mock);
}
