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
    cr_expect_not_null(strstr(text, "level=warn"), "an outage may be short: %s", text);
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

static void all_down(void)
{
    client_log_error(rk, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, "3/3 brokers are down", NULL);
}

/* Reports a request that was sent sent_ms after the begin of the outage, and its result at
   now_ms. */
static void asked(int64_t since_ms, int sent_ms, bool answered, int now_ms)
{
    client_log_asked(since_ms, since_ms + sent_ms, answered, since_ms + now_ms);
}

Test(client_log, short_outage_is_not_logged)
{
    all_down();
    int64_t since_ms = client_log_away_since_mono_ms();
    cr_assert_gt(since_ms, 0);
    asked(since_ms, 400, false, 1400);
    asked(since_ms, 1500, true, 1999);
    cr_expect_eq(written()[0], '\0', "%s", text);
    cr_expect_eq(client_log_away_since_mono_ms(), 0);
}

Test(client_log, outage_of_two_seconds_has_one_line_with_its_lanes_and_the_latest_reason)
{
    client_log_lanes(8);
    for (int i = 0; i < 8; i++)
        all_down();
    int64_t since_ms = client_log_away_since_mono_ms();
    client_log_error(rk, RD_KAFKA_RESP_ERR__TRANSPORT, "b:9092/1: Connection refused", NULL);
    all_down();
    (void)written();
    asked(since_ms, 500, false, 1500);
    cr_expect_eq(written()[0], '\0', "%s", text);
    asked(since_ms, 1600, false, 2600);
    const char *line = written(), *end = strchr(line, '\n');
    cr_assert_not_null(end);
    cr_expect_eq(end[1], '\0', "%s", line);
    cr_expect_not_null(strstr(line, "level=error"), "%s", line);
    cr_expect_not_null(strstr(line, "Kafka unreachable"), "%s", line);
    cr_expect_not_null(strstr(line, "lanes=8 away_ms=2600 "), "%s", line);
    cr_expect_not_null(strstr(line, "Connection refused"), "%s", line);
    asked(since_ms, 60000, false, 61000);
    cr_expect_eq(written()[0], '\0', "an outage has one line: %s", text);
}

Test(client_log, end_of_a_logged_outage_says_how_long_it_was)
{
    all_down();
    int64_t since_ms = client_log_away_since_mono_ms();
    asked(since_ms, 1500, false, 2500);
    (void)written();
    asked(since_ms, 3000, true, 3010);
    cr_expect_not_null(strstr(written(), "Kafka answers again, forwarding continues"), "%s", text);
    cr_expect_not_null(strstr(text, "away_ms=3010"), "%s", text);
    cr_expect_eq(client_log_away_since_mono_ms(), 0);
    asked(since_ms, 3500, true, 3510);
    cr_expect_eq(written()[0], '\0', "an outage ends once: %s", text);
}

Test(client_log, answer_of_a_broker_that_stops_ends_no_outage)
{
    all_down();
    int64_t since_ms = client_log_away_since_mono_ms();
    asked(since_ms, 999, true, 1000);
    cr_expect_eq(client_log_away_since_mono_ms(), since_ms);
    asked(since_ms, 1500, false, 2500);
    cr_expect_not_null(strstr(written(), "Kafka unreachable"), "%s", text);
}

Test(client_log, next_outage_has_its_own_lines)
{
    all_down();
    int64_t since_ms = client_log_away_since_mono_ms();
    asked(since_ms, 1500, false, 2500);
    asked(since_ms, 3000, true, 3010);
    usleep(2000);
    (void)written();
    all_down();
    int64_t later_ms = client_log_away_since_mono_ms();
    asked(since_ms, 4000, true, 4010);
    cr_expect_eq(written()[0], '\0', "an answer to an earlier outage ends nothing: %s", text);
    cr_expect_eq(client_log_away_since_mono_ms(), later_ms);
    asked(later_ms, 1500, false, 2500);
    cr_expect_not_null(strstr(written(), "Kafka unreachable"), "%s", text);
}

Test(client_log, without_an_outage_nothing_is_logged)
{
    client_log_asked(0, 5000, true, 5010);
    client_log_asked(0, 5000, false, 8000);
    cr_expect_eq(written()[0], '\0', "%s", text);
}
