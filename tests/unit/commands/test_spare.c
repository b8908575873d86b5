/* SPDX-License-Identifier: Apache-2.0 */
/* spare: producers that are kept between two writes. */
#include "bridge/commands/spare.h"

#include "bridge/commands/sending.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct spare spare;

/* Returns a producer without brokers, with an opaque as one of sending.c has. */
static rd_kafka_t *producer(void)
{
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_opaque(conf, malloc(1));
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    cr_assert_not_null(rk, "%s", text);
    return rk;
}

Test(spare, writers_at_the_same_time_each_get_a_kept_producer)
{
    spare_init(&spare);
    rd_kafka_t *one = producer(), *two = producer();
    cr_expect_null(spare_take(&spare));
    spare_keep(&spare, one, 1000);
    spare_keep(&spare, two, 1001);
    cr_expect_eq(spare_take(&spare), two);
    cr_expect_eq(spare_take(&spare), one);
    cr_expect_null(spare_take(&spare), "a producer serves two writers");
    spare_keep(&spare, one, 1002);
    spare_keep(&spare, two, 1003);
    spare_deinit(&spare);
}

Test(spare, producers_beyond_the_use_of_a_steady_writer_expire)
{
    spare_init(&spare);
    spare_keep(&spare, producer(), 1000);
    spare_keep(&spare, producer(), 1000);
    for (int64_t now_ms = 2000; now_ms <= SPARE_KEEP_MS + 1000; now_ms += 1000) {
        spare_expire(&spare, now_ms);
        cr_assert_eq(spare.n, 2);
        spare_keep(&spare, spare_take(&spare), now_ms);
    }
    spare_expire(&spare, SPARE_KEEP_MS + 1001);
    cr_expect_eq(spare.n, 1, "the writer uses one");
    spare_expire(&spare, 2 * SPARE_KEEP_MS + 2000);
    cr_expect_eq(spare.n, 0);
    spare_deinit(&spare);
}

Test(spare, number_has_a_bound)
{
    spare_init(&spare);
    for (int i = 0; i <= SPARE_MAX; i++)
        spare_keep(&spare, producer(), i);
    cr_expect_eq(spare.n, SPARE_MAX);
    spare_deinit(&spare);
}
