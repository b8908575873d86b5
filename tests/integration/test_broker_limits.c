/* SPDX-License-Identifier: Apache-2.0 */
/* broker_limits: the smallest value of a broker setting, or the reason why it is unknown. With
   KAFKA=host:port one test queries that broker, else it is skipped. */
#include "consumer/admin/broker_limits.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { TIMEOUT_MS = 10000 };

static struct admin admin_of(const char *property, const char *value)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, property, value, error, sizeof error);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    return (struct admin){.rk = rk, .timeout_ms = TIMEOUT_MS};
}

Test(broker_limits, smallest_value_of_all_brokers_counts)
{
    struct broker_limit limit = {.name = "socket.request.max.bytes"};
    cr_expect(broker_limit_note(&limit, "104857600"));
    cr_expect(broker_limit_note(&limit, "1048576"));
    cr_expect(broker_limit_note(&limit, "10485760"));
    cr_expect(limit.known);
    cr_expect_eq(limit.least, 1048576);
}

Test(broker_limits, value_that_is_not_a_number_is_ignored)
{
    static const char *const VALUES[] = {"", "many", "12 ", "1e6", "99999999999999999999"};
    struct broker_limit limit = {.name = "socket.request.max.bytes"};
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++)
        cr_expect_not(broker_limit_note(&limit, VALUES[i]), "%s", VALUES[i]);
    cr_expect_not(limit.known);
}

Test(broker_limits, brokers_without_an_answer_leave_the_limit_unknown)
{
    struct admin admin =
        admin_of("test.mock.num.brokers", "3"); /* the mock cluster has no DescribeConfigs */
    struct broker_limit limit = {.name = "socket.request.max.bytes", .least = 5, .known = true};
    cr_assert_eq(broker_limits_ask(&admin, &limit, 1), 0, "%s", admin.error.text);
    cr_expect_not(limit.known);
    cr_expect_eq(limit.least, 0);
    cr_expect_str_not_empty(admin.error.text);
    rd_kafka_destroy(admin.rk);
}

Test(broker_limits, real_brokers_return_their_settings)
{
    if (getenv("KAFKA") == NULL)
        cr_skip("needs KAFKA=host:port\n");
    struct admin admin = admin_of("bootstrap.servers", getenv("KAFKA"));
    struct broker_limit limits[] = {{.name = "socket.request.max.bytes"},
                                    {.name = "offset.metadata.max.bytes"}};
    cr_assert_eq(broker_limits_ask(&admin, limits, 2), 0, "%s", admin.error.text);
    cr_expect_str_empty(admin.error.text);
    for (int i = 0; i < 2; i++)
        cr_expect(limits[i].known && limits[i].least > 0, "%s", limits[i].name);
    rd_kafka_destroy(admin.rk);
}
