/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge send, cancel and replace: one record from flags, or many from JSON lines on stdin. */
#include "bridge/base/clock.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/draft.h"
#include "bridge/commands/result.h"
#include "consumer/admin/cancel_answer.h"
#include "levels/counted.h"
#include "levels/instant.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FULL_WAIT_MS = 100 };

struct sending {
    const struct cli *cli;
    struct request_rules rules;
    const char *op; /* dlb-op of each record; NULL: none */
    rd_kafka_t *rk;
    rd_kafka_topic_t *topic;
    uint64_t sent, stored, failed;
    int64_t wait_ms; /* for the answer to a single cancel or replace (0: none) */
    int lane;        /* of the last stored record */
    int64_t offset;
    int failed_code; /* exit code of the last request that failed */
};

/* The opaque of a message is its line number on the heap, or NULL for a request from flags. */
static void reported(rd_kafka_t *rk, const rd_kafka_message_t *message, void *ctx)
{
    struct sending *send = ctx;
    struct error error;
    char at[32] = "";
    long line = message->_private == NULL ? 0 : *(long *)message->_private;
    free(message->_private);
    const char *topic = rd_kafka_topic_name(message->rkt);
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        send->failed++;
        send->failed_code = connect_exit_of(rk, message->err, &error);
        if (line > 0)
            snprintf(at, sizeof at, "line %ld: ", line);
        complain(send->cli, 0, "%snot stored: %s", at, error.text);
        return;
    }
    send->stored++;
    send->lane = message->partition;
    send->offset = message->offset;
    if (send->wait_ms > 0)
        return; /* the answer is printed instead */
    if (!send->cli->json) {
        printf("%s/%" PRId32 "/%" PRId64 "\n", topic, message->partition, message->offset);
        return;
    }
    print_json(json_pack("{s:s, s:i, s:I, s:o}", "topic", topic, "partition",
                         (int)message->partition, "offset", (json_int_t)message->offset, "line",
                         line > 0 ? json_integer(line) : json_null()));
}

static rd_kafka_headers_t *headers_of(const struct draft *draft)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(draft->headers_n);
    for (size_t i = 0; i < draft->headers_n; i++)
        rd_kafka_header_add(headers, draft->headers[i].name, -1, draft->headers[i].value.data,
                            (ssize_t)draft->headers[i].value.len);
    return headers;
}

/* Hands the request to librdkafka. Returns 0 or its error. */
static rd_kafka_resp_err_t produce(struct sending *send, const struct draft *draft, long line)
{
    rd_kafka_headers_t *headers = headers_of(draft);
    rd_kafka_resp_err_t code;
    long *kept = line == 0 ? NULL : malloc(sizeof *kept);
    if (kept != NULL)
        *kept = line;
    while ((code = rd_kafka_producev(send->rk, RD_KAFKA_V_RKT(send->topic),
                                     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                     RD_KAFKA_V_KEY(draft->key.data, draft->key.len),
                                     RD_KAFKA_V_VALUE((void *)draft->value.data, draft->value.len),
                                     RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(kept),
                                     RD_KAFKA_V_END)) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
        rd_kafka_poll(send->rk, FULL_WAIT_MS);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        rd_kafka_headers_destroy(headers);
        free(kept);
    }
    return code;
}

/* Checks a request as the bridge would, then sends it. error: the reason of a refusal. */
static int send_draft(struct sending *send, struct draft *draft, long line, struct error *error)
{
    if (send->op != NULL && draft_set(draft, "op", bytes_text(send->op)) != 0) {
        (void)error_set(error, 0, "too many headers");
        return EXIT_DATA;
    }
    if (draft_judge(draft, &send->rules, clock_wall_ms(), error) != 0)
        return EXIT_DATA;
    rd_kafka_resp_err_t code = produce(send, draft, line);
    rd_kafka_poll(send->rk, 0);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        send->sent++;
        return EXIT_DONE;
    }
    return connect_exit_of(send->rk, code, error);
}

static int send_line(struct sending *send, struct bytes text, long line)
{
    struct error error;
    struct draft draft = {0};
    int code = draft_of_json(&draft, text, &error) == 0 ? send_draft(send, &draft, line, &error)
                                                        : EXIT_DATA;
    draft_deinit(&draft);
    return code == EXIT_DONE ? code : complain(send->cli, code, "line %ld: %s", line, error.text);
}

/* Sends all lines before the first invalid one. */
static int send_lines(struct sending *send)
{
    if (isatty(STDIN_FILENO))
        complain(
            send->cli, 0,
            "reading requests from the terminal, one JSON object a line, until Ctrl-D. Example: "
            "{\"delay\": \"15m\", \"value\": \"hello\"}");
    char *text = NULL;
    size_t size = 0;
    int code = EXIT_DONE;
    ssize_t len;
    for (long line = 1; code == EXIT_DONE && (len = getline(&text, &size, stdin)) >= 0; line++)
        if (strspn(text, " \t\r\n") != (size_t)len)
            code = send_line(send, bytes_of(text, (size_t)len), line);
    free(text);
    if (code == EXIT_DONE && ferror(stdin))
        code = complain(send->cli, EXIT_DATA, "reading stdin: %s", strerror(errno));
    return code;
}

/* Reads a whole file; the caller frees it. Returns false and sets errno on an error. */
static bool read_file(const char *path, struct bytes *out)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    size_t len = 0, size = 0;
    while (file != NULL) {
        if (len == size) {
            size = size == 0 ? 65536 : size * 2;
            char *more = realloc(data, size);
            if (more == NULL)
                break;
            data = more;
        }
        size_t got = fread(data + len, 1, size - len, file);
        len += got;
        if (got == 0)
            break;
    }
    bool whole = file != NULL && !ferror(file) && len < size;
    if (file != NULL)
        fclose(file);
    if (whole)
        *out = bytes_of(data, len);
    else
        free(data);
    return whole;
}

static int set_value(struct draft *draft, const char *text)
{
    struct bytes content;
    if (text[0] != '@')
        return draft_set(draft, "value", bytes_text(text));
    if (!read_file(text + 1, &content))
        return ERR_DATA;
    int err = draft_set(draft, "value", content);
    free((void *)content.data);
    return err;
}

static int add_header(struct draft *draft, const struct cli *cli, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return complain(cli, EXIT_USAGE, "--header: '%s' is not NAME=VALUE", text);
    int err = draft_header(draft, bytes_of(text, (size_t)(equals - text)), bytes_text(equals + 1));
    if (err == ERR_FULL)
        return complain(cli, EXIT_USAGE, "--header: '%s' exceeds the limit, which is %d", text,
                        DRAFT_HEADERS_MAX);
    return err == 0 ? EXIT_DONE : complain(cli, EXIT_INTERNAL, "--header: %s", err_text(err));
}

static int add_option(struct draft *draft, const struct cli *cli, const char *name,
                      const char *text)
{
    if (strcmp(name, "--header") == 0)
        return add_header(draft, cli, text);
    if (strcmp(name, "--wait") == 0)
        return EXIT_DONE;
    int err = strcmp(name, "--value") == 0 ? set_value(draft, text)
                                           : draft_set(draft, name + 2, bytes_text(text));
    if (err == ERR_DATA)
        return complain(cli, EXIT_DATA, "%s %s: %s", name, text, strerror(errno));
    return err == 0 ? EXIT_DONE : complain(cli, EXIT_INTERNAL, "%s: %s", name, err_text(err));
}

/* Sets a field of the draft for each option of send. */
static int read_options(struct draft *draft, const struct cli *cli)
{
    const struct arguments *arguments = cli->arguments;
    int code = EXIT_DONE;
    for (int i = 0; i < arguments->values_n && code == EXIT_DONE; i++) {
        const struct option_value *value = &arguments->values[i];
        if (arguments_is_own(arguments, value))
            code = add_option(draft, cli, value->option->name, value->text);
    }
    return code;
}

static int finish(struct sending *send, int code)
{
    char requests[COUNTED_MAX];
    while (send->stored + send->failed < send->sent)
        rd_kafka_flush(send->rk, send->cli->timeout_ms); /* message.timeout.ms ends it */
    if (send->failed > 0)
        return complain(send->cli, send->failed_code, "not stored: %" PRIu64 " of %s", send->failed,
                        counted((int64_t)send->sent, "request", requests));
    if (code != EXIT_DONE && send->sent > 0)
        complain(send->cli, 0, "sent before the error: %s",
                 counted((int64_t)send->sent, "request", requests));
    return code;
}

static int send_all(struct sending *send, struct draft *draft)
{
    struct error error;
    send->topic = rd_kafka_topic_new(send->rk, send->cli->config->schedule, NULL);
    bool single = arguments_have_own(send->cli->arguments);
    int code = single ? send_draft(send, draft, 0, &error) : send_lines(send);
    if (single && code != EXIT_DONE)
        complain(send->cli, code, "%s", error.text);
    code = finish(send, code);
    rd_kafka_topic_destroy(send->topic);
    return code;
}

/* Prints the answer of the bridge. */
static int print_answer(const struct sending *send, const struct cancel_answer *answer)
{
    static const char *const states[] = {[ANSWER_NONE] = "unanswered",
                                         [ANSWER_IN_FORCE] = "in_force",
                                         [ANSWER_REFUSED] = "refused",
                                         [ANSWER_UNKNOWN] = "unknown"};
    const struct config *config = send->cli->config;
    char in_force[INSTANT_TEXT_MAX];
    if (send->cli->json)
        print_json(json_pack(
            "{s:s, s:i, s:I, s:s, s:o, s:o, s:o}", "topic", config->schedule, "partition",
            send->lane, "offset", (json_int_t)send->offset, "state", states[answer->answer],
            "in_force",
            answer->answer == ANSWER_IN_FORCE ? instant_json(answer->in_force_ms) : json_null(),
            "code", answer->answer == ANSWER_REFUSED ? json_string(answer->code) : json_null(),
            "reason",
            answer->answer == ANSWER_REFUSED ? json_string(answer->reason) : json_null()));
    switch (answer->answer) {
    case ANSWER_IN_FORCE:
        if (!send->cli->json)
            printf("in force since %s: no request of this name before %s/%d/%" PRId64
                   " that is due a second later is delivered\n",
                   instant_format(answer->in_force_ms, in_force), config->schedule, send->lane,
                   send->offset);
        return EXIT_DONE;
    case ANSWER_REFUSED:
        return complain(send->cli, EXIT_DATA, "refused: %s: %s", answer->code, answer->reason);
    case ANSWER_UNKNOWN:
        return complain(send->cli, EXIT_DATA,
                        "processed, but its record on the topic of cancels was deleted since");
    case ANSWER_NONE:
        break;
    }
    return complain(send->cli, EXIT_PARTIAL,
                    "stored at %s/%d/%" PRId64 ", but no process has applied it yet: run "
                    "'delaybridge levels' to see whether one runs",
                    config->schedule, send->lane, send->offset);
}

static int await_answer(const struct sending *send)
{
    struct cancel_answer answer;
    struct error error;
    rd_kafka_t *rk = NULL;
    int code = connect_to_look(send->cli, &rk);
    if (code != EXIT_DONE)
        return code;
    code = cancel_answer_await(rk, send->cli->config, send->lane, send->offset, send->wait_ms,
                               &answer, &error) == 0
               ? print_answer(send, &answer)
               : complain(send->cli, EXIT_UNREACHABLE, "%s", error.text);
    rd_kafka_destroy(rk);
    return code;
}

/* Sends records with this dlb-op, or without one. */
static int send_with_op(struct cli *cli, const char *op)
{
    const struct config *config = cli->config;
    struct sending send = {.cli = cli,
                           .op = op,
                           .wait_ms = op == NULL ? 0 : arguments_number(cli->arguments, "--wait"),
                           .rules = {.allowlist = {(const char *const *)config->targets,
                                                   config->targets_n, config->schedule},
                                     .default_target = config->default_target,
                                     .max_delay_ms = config->max_delay_ms,
                                     .cancels = true}};
    struct draft draft = {.valued = true}; /* no --value: a tombstone, as the help says */
    int code = read_options(&draft, cli);
    if (code == EXIT_DONE)
        code = connect_to_send(cli, reported, &send, &send.rk);
    if (code == EXIT_DONE)
        code = send_all(&send, &draft);
    if (code == EXIT_DONE && send.wait_ms > 0)
        code = await_answer(&send);
    if (send.rk != NULL)
        rd_kafka_destroy(send.rk);
    draft_deinit(&draft);
    return code;
}

int cmd_send(struct cli *cli)
{
    return send_with_op(cli, NULL);
}

int cmd_cancel(struct cli *cli)
{
    return send_with_op(cli, "cancel");
}

int cmd_replace(struct cli *cli)
{
    return send_with_op(cli, "replace");
}
