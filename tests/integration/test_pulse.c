/* SPDX-License-Identifier: Apache-2.0 */
/* pulse: on the mock, whose brokers may be as slow to answer as one that is gone. */
#include "bridge/clock.h"
#include "consumer/pulse.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>

enum { SILENT_MS = 4000, SOON_MS = 1000 };

Test(pulse, brokers_that_say_nothing_are_not_waited_for)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "2", error, sizeof error);
    rd_kafka_conf_set(conf, "group.id", "g", error, sizeof error);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    rd_kafka_mock_cluster_t *cluster = rd_kafka_handle_mock_cluster(rk);
    rd_kafka_mock_topic_create(cluster, "s.pulse", 2, 1);
    struct pulse *pulse = pulse_new("s.pulse");
    cr_assert_not_null(pulse);
    cr_assert(pulse_choose(pulse, rk, SILENT_MS));
    pulse_kick(pulse, rk); /* who leads is known now */

    for (int broker = 1; broker <= 2; broker++)
        rd_kafka_mock_broker_set_rtt(cluster, broker, SILENT_MS);
    int64_t start_ms = clock_mono_ms();
    pulse_kick(pulse, rk);
    int64_t took_ms = clock_mono_ms() - start_ms;
    cr_expect_lt(took_ms, SOON_MS, "it took %lld ms", (long long)took_ms);

    pulse_free(pulse);
    rd_kafka_destroy(rk);
}
