/* SPDX-License-Identifier: Apache-2.0 */
/* client_log: an outage makes a few lines in the log, and none of them twice. */
#include "consumer/client/client_log.h"

#include "bridge/base/log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static rd_kafka_t *rk;
static int ends[2], saved;
static char text[1 << 16];

static void prepare(void)
{
    log_init(LOG_INFO, LOG_LOGFMT);
    rk = rd_kafka_new(RD_KAFKA_PRODUCER, NULL, text, sizeof text);
    cr_assert_not_null(rk, "%s", text);
    cr_assert_eq(pipe(ends), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
}

static void restore(void)
{
    dup2(saved, STDERR_FILENO);
    rd_kafka_destroy(rk);
}
TestSuite(client_log, .init = prepare, .fini = restore);

static const char *written(void)
{
    ssize_t n = read(ends[0], text, sizeof text - 1);
    text[n < 0 ? 0 : n] = '\0';
    return text;
}

Test(client_log, failure_of_a_broker_is_one_line)
{
    static const char why[] = "b:9092/1: Connect to ipv4#10.0.0.1:9092 failed: Connection refused";
    client_log_rest(rk, 3, "FAIL", why);
    client_log_error(rk, RD_KAFKA_RESP_ERR__TRANSPORT, why, NULL);
    for (int i = 0; i < 100; i++)
        client_log_error(rk, RD_KAFKA_RESP_ERR__TRANSPORT, why, NULL);
    const char *line = written(), *end = strchr(line, '\n');
    cr_assert_not_null(end, "nothing was written");
    cr_expect_eq(end[1], '\0', "%s", line);
    cr_expect_not_null(strstr(line, "Connection refused"));
}

Test(client_log, other_lines_of_the_client_are_kept)
{
    client_log_rest(rk, 4, "SASL", "no mechanism");
    cr_expect_not_null(strstr(written(), "no mechanism"));
}

Test(client_log, handle_without_error_callback_logs_failures)
{
    client_log(rk, 3, "FAIL", "refused");
    cr_expect_not_null(strstr(written(), "refused"));
}

Test(client_log, idle_disconnect_is_no_warning)
{
    client_log_error(rk, RD_KAFKA_RESP_ERR__TRANSPORT,
                     "b:9092/1: Disconnected (after 600042ms in state UP)", NULL);
    cr_expect_eq(written()[0], '\0', "%s", text);
    client_log_error(rk, RD_KAFKA_RESP_ERR__TRANSPORT,
                     "b:9092/1: Disconnected: verify that security.protocol is correctly "
                     "configured (after 3ms in state UP)",
                     NULL);
    cr_expect_neq(written()[0], '\0');
}

Test(client_log, outage_is_one_line_of_our_own)
{
    for (int i = 0; i < 8; i++)
        client_log_error(rk, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, "3/3 brokers are down", NULL);
    const char *line = written(), *end = strchr(line, '\n');
    cr_assert_not_null(end);
    cr_expect_eq(end[1], '\0', "%s", line);
    cr_expect_not_null(strstr(line, "Kafka unreachable"));
}

static void all_down(void)
{
    client_log_error(rk, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, "3/3 brokers are down", NULL);
}

Test(client_log, outage_names_the_lanes_and_its_end_how_long_it_was)
{
    client_log_lanes(8);
    all_down();
    cr_expect_not_null(strstr(written(), "lanes=8 "), "%s", text);
    int64_t since_ms = client_log_away_since_mono_ms();
    cr_assert_gt(since_ms, 0);
    usleep(30000);
    client_log_back(since_ms);
    const char *span = strstr(written(), "away_ms=");
    cr_assert_not_null(span, "%s", text);
    cr_expect_not_null(strstr(text, "Kafka answers again, forwarding continues"));
    cr_expect_geq(strtol(span + strlen("away_ms="), NULL, 10), 30);
    cr_expect_eq(client_log_away_since_mono_ms(), 0);
    client_log_back(since_ms);
    cr_expect_eq(written()[0], '\0', "an outage ends once: %s", text);
}

Test(client_log, next_outage_has_its_own_lines)
{
    all_down();
    int64_t since_ms = client_log_away_since_mono_ms();
    client_log_back(since_ms);
    usleep(2000);
    (void)written();
    all_down();
    cr_expect_not_null(strstr(written(), "Kafka unreachable"), "the rate limit hides no outage");
    client_log_back(since_ms);
    cr_expect_eq(written()[0], '\0', "an answer to an earlier outage ends nothing: %s", text);
    cr_expect_gt(client_log_away_since_mono_ms(), 0);
}

Test(client_log, without_an_outage_nothing_is_back)
{
    client_log_back(client_log_away_since_mono_ms());
    cr_expect_eq(written()[0], '\0', "%s", text);
}
