/* SPDX-License-Identifier: Apache-2.0 */
/* client_log: what a client says of an outage is few lines, and none of them twice. */
#include "consumer/client_log.h"

#include "bridge/log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
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
