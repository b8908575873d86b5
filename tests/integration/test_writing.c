/* SPDX-License-Identifier: Apache-2.0 */
/* writing: commands whose record a broker stores, while its acknowledgement comes too late. */
#include "bridge/commands/cli.h"
#include "bridge/commands/command.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PRODUCE = 0, LATE_MS = 20000, WORDS_MAX = 24 };

static rd_kafka_t *rk;
static rd_kafka_mock_cluster_t *cluster;
static char bootstrap[300], said[8192];

static void start(void)
{
    static const char *const topics[] = {"schedule", "schedule.control", "schedule.dead-letter"};
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char error[512];
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", error, sizeof error);
    rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    cr_assert_not_null(rk, "%s", error);
    cluster = rd_kafka_handle_mock_cluster(rk);
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        rd_kafka_mock_topic_create(cluster, topics[i], 1, 1);
    snprintf(bootstrap, sizeof bootstrap, "-Xbootstrap.servers=%s",
             rd_kafka_mock_cluster_bootstraps(cluster));
}

/* Writes a dead letter of one request. */
static void write_dead_letter(void)
{
    cr_assert_eq(
        rd_kafka_producev(rk, RD_KAFKA_V_TOPIC("schedule.dead-letter"), RD_KAFKA_V_KEY("k", 1),
                          RD_KAFKA_V_HEADER("dlb-deliver-at", "1790000000000", -1),
                          RD_KAFKA_V_HEADER("dlb-target", "a", -1),
                          RD_KAFKA_V_HEADER("dlb-error", "target_failed", -1),
                          RD_KAFKA_V_HEADER("dlb-reason", "missing", -1),
                          RD_KAFKA_V_HEADER("dlb-source", "schedule/0/7", -1),
                          RD_KAFKA_V_HEADER("dlb-sent-at", "1789999999000", -1),
                          RD_KAFKA_V_HEADER("dlb-failed-at", "1790000000001", -1), RD_KAFKA_V_END),
        0);
    cr_assert_eq(rd_kafka_flush(rk, LATE_MS), 0);
}

static void stop(void)
{
    rd_kafka_destroy(rk);
}
TestSuite(writing, .init = start, .fini = stop, .timeout = 60);

/* Runs a command line, keeps its stderr, and returns its exit code. */
static int run(const char *line)
{
    char text[512];
    char *argv[WORDS_MAX] = {(char *)"delaybridge"};
    int argc = 1;
    snprintf(text, sizeof text, "%s -c /dev/null --targets a --timeout 700ms", line);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc++] = bootstrap;
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    cr_assert(file != NULL && kept >= 0);
    dup2(fileno(file), STDERR_FILENO);
    int code = cli_main(argc, argv);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    return code;
}

/* Runs a command whose record is stored, but acknowledged too late. */
static int run_late(const char *line)
{
    rd_kafka_mock_broker_push_request_error_rtts(cluster, 1, PRODUCE, 1, RD_KAFKA_RESP_ERR_NO_ERROR,
                                                 LATE_MS);
    return run(line);
}

static void expect_unknown(int code, int expected)
{
    cr_expect_eq(code, expected, "exit code %d: %s", code, said);
    cr_expect(strstr(said, "cannot write") == NULL, "%s", said);
    cr_expect(strstr(said, "not stored:") == NULL, "%s", said);
    cr_expect(strstr(said, "stored or not") != NULL, "%s", said);
}

Test(writing, entry_of_control_without_an_acknowledgement_is_stored_or_not)
{
    expect_unknown(run_late("pause a"), EXIT_PARTIAL);
    cr_expect_eq(run("pause a"), EXIT_DONE, "%s", said);
    expect_unknown(run_late("limit a none"), EXIT_PARTIAL);
    cr_expect_eq(run("limit a none"), EXIT_NOT_FOUND, "it was stored: %s", said);
}

Test(writing, request_without_an_acknowledgement_is_stored_or_not)
{
    expect_unknown(run_late("send --delay 1s --value v --target a"), EXIT_UNREACHABLE);
    expect_unknown(run_late("cancel --key k"), EXIT_UNREACHABLE);
    expect_unknown(run_late("replace --key k --delay 1s --value v --target a"), EXIT_UNREACHABLE);
}

Test(writing, redrive_without_an_acknowledgement_says_that_it_sends_again)
{
    write_dead_letter();
    expect_unknown(run_late("redrive"), EXIT_PARTIAL);
    cr_expect_eq(run("redrive"), EXIT_DONE, "%s", said);
}
