/* SPDX-License-Identifier: Apache-2.0 */
/* Handles for commands, with errors as exit codes. */
#include "bridge/commands/connect.h"

#include "bridge/commands/output.h"
#include "bridge/commands/result.h"
#include "consumer/admin/offsets.h"
#include "consumer/client/client.h"
#include "consumer/client/client_report.h"

#include <stdio.h>
#include <string.h>

int connect_kafka(const struct cli *cli, rd_kafka_type_t type, rd_kafka_conf_t *conf,
                  rd_kafka_t **rk)
{
    struct error error = {""};
    if (conf == NULL)
        conf = client_conf(cli->config, CLIENT_ALL, &error);
    *rk = conf == NULL ? NULL : client_new(type, conf, &error);
    if (*rk == NULL)
        return complain(cli, EXIT_CONFIG, "%s", error.text);
    int err = client_reach(*rk, cli->timeout_ms, &error);
    if (err == 0)
        return EXIT_DONE;
    rd_kafka_destroy(*rk);
    *rk = NULL;
    return complain(cli, err == ERR_CONFIG ? EXIT_CONFIG : EXIT_UNREACHABLE, "%s", error.text);
}

int connect_to_look(const struct cli *cli, rd_kafka_t **rk)
{
    struct error error;
    if (cli->output != NULL && cli->output->kept != NULL) {
        *rk = cli->output->kept;
        cli->output->kept = NULL;
        return EXIT_DONE;
    }
    rd_kafka_conf_t *conf = client_conf(cli->config, CLIENT_ALL, &error);
    if (conf == NULL)
        return complain(cli, EXIT_CONFIG, "%s", error.text);
    offsets_conf(cli->config, conf);
    return connect_kafka(cli, RD_KAFKA_CONSUMER, conf, rk);
}

void disconnect(const struct cli *cli, rd_kafka_t *rk, bool works)
{
    if (cli->output != NULL && works)
        cli->output->kept = rk;
    else
        rd_kafka_destroy(rk);
}

int connect_to_write(const struct cli *cli, struct writing *writing)
{
    struct error error;
    writing->timeout_ms = cli->timeout_ms;
    rd_kafka_conf_t *conf = client_conf(cli->config, CLIENT_ALL, &error);
    if (conf == NULL)
        return complain(cli, EXIT_CONFIG, "%s", error.text);
    rd_kafka_conf_set(conf, "acks", "all", NULL, 0);
    writing_conf(conf);
    return connect_kafka(cli, RD_KAFKA_PRODUCER, conf, &writing->rk);
}

int connect_written(const struct cli *cli, struct writing *writing)
{
    const char *why = client_report_why(writing->err);
    bool denied = writing->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    rd_kafka_destroy(writing->rk);
    if (writing->err == 0)
        return EXIT_DONE;
    if (writing->is_unknown && cli->output != NULL)
        cli->output->outcome_unknown = true;
    if (writing->is_unknown)
        return complain(cli, EXIT_PARTIAL,
                        "the record on %s is stored or not: %s: run the command again",
                        writing->topic, why);
    return complain(cli, denied ? EXIT_CONFIG : EXIT_UNREACHABLE, "cannot write to %s: %s%s",
                    writing->topic, why, denied ? ": allow Write on it" : "");
}

/* Lists all topics, because metadata for one name could create that topic. */
int connect_topic(const struct cli *cli, rd_kafka_t *rk, const char *topic, int *partitions)
{
    const rd_kafka_metadata_t *metadata;
    rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 1, NULL, &metadata, cli->timeout_ms);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return complain(cli, EXIT_UNREACHABLE, "%s", rd_kafka_err2str(code));
    *partitions = 0;
    for (int i = 0; i < metadata->topic_cnt; i++)
        if (strcmp(metadata->topics[i].topic, topic) == 0)
            *partitions = metadata->topics[i].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    return EXIT_DONE;
}

int connect_lanes(const struct cli *cli, rd_kafka_t *rk, int *lanes)
{
    const char *schedule = cli->config->schedule;
    int code = connect_topic(cli, rk, schedule, lanes);
    if (code != EXIT_DONE || *lanes > 0)
        return code;
    return complain(cli, EXIT_CONFIG, "topic %s does not exist: run 'delaybridge topics apply'",
                    schedule);
}

int connect_to_send(const struct cli *cli,
                    void (*reported)(rd_kafka_t *rk, const rd_kafka_message_t *message, void *ctx),
                    void *ctx, rd_kafka_t **rk)
{
    struct error error;
    char timeout[16];
    snprintf(timeout, sizeof timeout, "%d", cli->timeout_ms);
    const char *const settings[][2] = {
        {"partitioner", "murmur2_random"},   {"acks", "all"},
        {"enable.idempotence", "true"},      {"max.in.flight", "1"}, /* see client_report.h */
        {"message.max.bytes", "1000000000"}, {"message.timeout.ms", timeout}};
    *rk = NULL;
    rd_kafka_conf_t *conf = client_conf(cli->config, CLIENT_ALL, &error);
    if (conf == NULL)
        return complain(cli, EXIT_CONFIG, "%s", error.text);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (rd_kafka_conf_set(conf, settings[i][0], settings[i][1], error.text,
                              sizeof error.text) != 0) {
            rd_kafka_conf_destroy(conf);
            return complain(cli, EXIT_CONFIG, "%s", error.text);
        }
    rd_kafka_conf_set_dr_msg_cb(conf, reported);
    rd_kafka_conf_set_opaque(conf, ctx);
    int lanes, code = connect_kafka(cli, RD_KAFKA_PRODUCER, conf, rk);
    return code == EXIT_DONE ? connect_lanes(cli, *rk, &lanes) : code;
}

int connect_exit_of(rd_kafka_t *rk, rd_kafka_resp_err_t code, struct error *error)
{
    rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(rk, error->text, sizeof error->text);
    if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR)
        code = fatal;
    else
        (void)error_set(error, 0, "%s", client_report_why(code));
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED: /* an idempotent producer needs Write */
        (void)error_set(error, 0, "%s: allow Write on the schedule topic", rd_kafka_err2str(code));
        return EXIT_CONFIG;
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
        return EXIT_CONFIG;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
        return EXIT_DATA;
    default:
        return EXIT_UNREACHABLE;
    }
}

int connect_to_dead_letters(const struct cli *cli, const char *group, struct dead_reader *reader)
{
    struct error error;
    rd_kafka_conf_t *conf = client_conf(cli->config, CLIENT_ALL, &error);
    if (conf == NULL)
        return complain(cli, EXIT_CONFIG, "%s", error.text);
    dead_reader_conf(cli->config, group, conf);
    int code = connect_kafka(cli, RD_KAFKA_CONSUMER, conf, &reader->rk);
    if (code != EXIT_DONE)
        return code;
    topic_of_dead_letter(cli->config->schedule, reader->topic);
    reader->timeout_ms = cli->timeout_ms;
    int err = dead_reader_open(reader, group != NULL, &error);
    return err == 0            ? EXIT_DONE
           : err == ERR_CONFIG ? complain(cli, EXIT_CONFIG, "%s", error.text)
                               : complain(cli, EXIT_UNREACHABLE, "%s", error.text);
}
