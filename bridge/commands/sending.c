/* SPDX-License-Identifier: Apache-2.0 */
/* Records from options or from JSON lines, and their delivery reports. */
#include "bridge/commands/sending.h"

#include "bridge/base/clock.h"
#include "bridge/commands/connect.h"
#include "bridge/commands/draft.h"
#include "bridge/commands/output.h"
#include "bridge/commands/result.h"
#include "bridge/config/rules.h"
#include "consumer/client/client_report.h"
#include "levels/counted.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FULL_WAIT_MS = 100 };

/* The opaque of a message is its line number, as bytes: NULL for a record from options. */
_Static_assert(sizeof(long) == sizeof(void *), "a line number fits an opaque");

static void *opaque_of(long line)
{
    void *opaque;
    memcpy(&opaque, &line, sizeof opaque);
    return opaque;
}

/* The opaque of a producer. */
struct owner {
    struct sending *sending; /* that it serves */
};

static void reported(rd_kafka_t *rk, const rd_kafka_message_t *message, void *ctx)
{
    struct sending *s = ((const struct owner *)ctx)->sending;
    struct error error;
    char at[32] = "";
    long line;
    memcpy(&line, &message->_private, sizeof line);
    rd_kafka_resp_err_t err = client_report_err(message);
    if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        bool unknown = client_report_is_unknown(message);
        if (unknown && s->cli->output != NULL)
            s->cli->output->outcome_unknown = true;
        s->failed_n++;
        s->failed_code = connect_exit_of(rk, err, &error);
        if (line > 0)
            snprintf(at, sizeof at, "%s %ld: ", s->cli->input != NULL ? "request" : "line", line);
        complain(s->cli, 0, "%s%s: %s", at, unknown ? "stored or not" : "not stored", error.text);
        return;
    }
    s->stored_n++;
    s->stored(s->ctx, &(struct sent){message->partition, message->offset, line});
}

static rd_kafka_headers_t *headers_of(const struct draft *draft)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(draft->headers_n);
    for (size_t i = 0; i < draft->headers_n; i++)
        rd_kafka_header_add(headers, draft->headers[i].name, -1, draft->headers[i].value.data,
                            (ssize_t)draft->headers[i].value.len);
    return headers;
}

/* Hands a copy of the record to librdkafka. lane: RD_KAFKA_PARTITION_UA: that of its key. Returns 0
   or its error. */
static rd_kafka_resp_err_t produce(struct sending *s, const struct draft *draft, long line,
                                   int32_t lane)
{
    rd_kafka_headers_t *headers = headers_of(draft);
    rd_kafka_resp_err_t code;
    while ((code = rd_kafka_producev(s->rk, RD_KAFKA_V_RKT(s->topic), RD_KAFKA_V_PARTITION(lane),
                                     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                     RD_KAFKA_V_KEY(draft->key.data, draft->key.len),
                                     RD_KAFKA_V_VALUE((void *)draft->value.data, draft->value.len),
                                     RD_KAFKA_V_HEADERS(headers),
                                     RD_KAFKA_V_OPAQUE(opaque_of(line)), RD_KAFKA_V_END)) ==
           RD_KAFKA_RESP_ERR__QUEUE_FULL)
        rd_kafka_poll(s->rk, FULL_WAIT_MS);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        rd_kafka_headers_destroy(headers);
    return code;
}

/* Checks a record as the bridge would. error: the reason of a refusal. */
static int check(const struct sending *s, struct draft *draft, struct error *error)
{
    if (s->op != NULL && draft_set(draft, "op", bytes_text(s->op)) != 0)
        return error_set(error, EXIT_DATA, "too many headers");
    return draft_judge(draft, &s->rules, clock_wall_ms(), error) == 0 ? EXIT_DONE : EXIT_DATA;
}

static int send_draft(struct sending *s, const struct draft *draft, long line, struct error *error)
{
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    const int copies = s->to_each_lane ? s->lanes : 1;
    for (int lane = 0; lane < copies && code == RD_KAFKA_RESP_ERR_NO_ERROR; lane++) {
        code = produce(s, draft, line, s->to_each_lane ? lane : RD_KAFKA_PARTITION_UA);
        s->records += code == RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    rd_kafka_poll(s->rk, 0);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? EXIT_DONE : connect_exit_of(s->rk, code, error);
}

/* Sends an object of the input. noun: of its number, for people. */
static int send_object(struct sending *s, json_t *object, const char *noun, long line)
{
    struct error error;
    struct draft draft = {0};
    int code = draft_of_object(&draft, object, &error) == 0 ? check(s, &draft, &error) : EXIT_DATA;
    if (code == EXIT_DONE)
        code = send_draft(s, &draft, line, &error);
    draft_deinit(&draft);
    if (code != EXIT_DONE)
        return complain(s->cli, code, "%s %ld: %s", noun, line, error.text);
    return s->line_sent == NULL ? EXIT_DONE : s->line_sent(s->ctx);
}

static int send_line(struct sending *s, struct bytes text, long line)
{
    struct error error;
    json_t *object = draft_parse(text, &error);
    int code = object == NULL ? complain(s->cli, EXIT_DATA, "line %ld: %s", line, error.text)
                              : send_object(s, object, "line", line);
    json_decref(object);
    return code;
}

/* Checks all objects of the input before the first is sent. */
static int check_objects(struct sending *s)
{
    struct error error;
    size_t i;
    json_t *object;
    json_array_foreach(s->cli->input, i, object)
    {
        struct draft draft = {0};
        int code =
            draft_of_object(&draft, object, &error) == 0 ? check(s, &draft, &error) : EXIT_DATA;
        draft_deinit(&draft);
        if (code != EXIT_DONE)
            return complain(s->cli, code, "request %zu: %s", i + 1, error.text);
    }
    return EXIT_DONE;
}

static int send_objects(struct sending *s)
{
    size_t i;
    json_t *object;
    int code = check_objects(s);
    json_array_foreach(s->cli->input, i, object)
    {
        if (code == EXIT_DONE)
            code = send_object(s, object, "request", (long)i + 1);
    }
    return code;
}

static void explain_stdin(const struct sending *s)
{
    bool is_cancel = s->op != NULL && strcmp(s->op, "cancel") == 0;
    complain(s->cli, 0,
             "reading %ss from the terminal, one JSON object a line, until Ctrl-D. Example: %s",
             is_cancel ? "cancel" : "request",
             is_cancel ? "{\"key\": \"order-17\"}" : "{\"delay\": \"15m\", \"value\": \"hello\"}");
}

/* Sends all lines before the first invalid one. */
static int send_lines(struct sending *s)
{
    if (isatty(STDIN_FILENO))
        explain_stdin(s);
    char *text = NULL;
    size_t size = 0;
    int code = EXIT_DONE;
    ssize_t len;
    for (long line = 1; code == EXIT_DONE && (len = getline(&text, &size, stdin)) >= 0; line++)
        if (strspn(text, " \t\r\n") != (size_t)len)
            code = send_line(s, bytes_of(text, (size_t)len), line);
    free(text);
    if (code == EXIT_DONE && ferror(stdin))
        code = complain(s->cli, EXIT_DATA, "reading stdin: %s", strerror(errno));
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
    int err = strcmp(name, "--value") == 0        ? set_value(draft, text)
              : strcmp(name, "--null-value") == 0 ? draft_set(draft, "value", bytes_null())
                                                  : draft_set(draft, name + 2, bytes_text(text));
    if (err == ERR_DATA)
        return complain(cli, EXIT_DATA, "%s %s: %s", name, text, strerror(errno));
    return err == 0 ? EXIT_DONE : complain(cli, EXIT_INTERNAL, "%s: %s", name, err_text(err));
}

/* Returns whether an option sets a field of a record. */
static bool is_field(const struct option_value *value)
{
    return strcmp(value->option->name, "--wait") != 0 &&
           strcmp(value->option->name, "--all-lanes") != 0;
}

/* Sets a field of the record for each option that has one. */
static int read_options(struct sending *s)
{
    const struct arguments *arguments = s->cli->arguments;
    int code = EXIT_DONE;
    for (int i = 0; i < arguments->values_n && code == EXIT_DONE; i++) {
        const struct option_value *value = &arguments->values[i];
        if (!arguments_is_own(arguments, value) || !is_field(value))
            continue;
        s->is_single = true;
        code = add_option(&s->draft, s->cli, value->option->name, value->text);
    }
    return code;
}

/* A cancel has no value. A request without one would be a tombstone by mistake. */
static int check_value(const struct sending *s)
{
    const struct arguments *arguments = s->cli->arguments;
    bool is_cancel = s->op != NULL && strcmp(s->op, "cancel") == 0;
    if (is_cancel || !s->is_single)
        return EXIT_DONE;
    if (!s->draft.valued)
        return complain(s->cli, EXIT_USAGE,
                        "--value is missing. For a tombstone, use --null-value");
    if (arguments_have(arguments, "--value") && arguments_have(arguments, "--null-value"))
        return complain(s->cli, EXIT_USAGE, "--value and --null-value exclude each other");
    return EXIT_DONE;
}

void sending_flush(struct sending *s)
{
    while (s->stored_n + s->failed_n < s->records)
        rd_kafka_flush(s->rk, s->cli->timeout_ms); /* message.timeout.ms ends it */
}

static int finish(struct sending *s, int code)
{
    char records[COUNTED_MAX];
    const char *noun = s->op == NULL ? "request" : "record";
    sending_flush(s);
    s->works = s->failed_n == 0;
    if (s->failed_n > 0)
        return complain(s->cli, s->failed_code, "not acknowledged: %" PRIu64 " of %s", s->failed_n,
                        counted((int64_t)s->records, noun, records));
    if (code != EXIT_DONE && s->records > 0)
        complain(s->cli, 0, "sent before the error: %s",
                 counted((int64_t)s->records, noun, records));
    return code;
}

/* Takes the kept producer, or creates one. */
static int open_producer(struct sending *s)
{
    struct output *output = s->cli->output;
    if (output != NULL && output->producer != NULL) {
        s->rk = output->producer;
        output->producer = NULL;
        ((struct owner *)rd_kafka_opaque(s->rk))->sending = s;
        return EXIT_DONE;
    }
    struct owner *owner = malloc(sizeof *owner);
    if (owner == NULL)
        return complain(s->cli, EXIT_INTERNAL, "%s", err_text(ERR_NO_MEMORY));
    owner->sending = s;
    int code = connect_to_send(s->cli, reported, owner, &s->rk);
    if (s->rk == NULL)
        free(owner);
    return code;
}

int sending_open(struct sending *s)
{
    const struct config *config = s->cli->config;
    s->rules = config_rules(config);
    struct error error;
    int code = read_options(s);
    if (code == EXIT_DONE)
        code = check_value(s);
    if (code == EXIT_DONE && s->is_single) {
        code = check(s, &s->draft, &error);
        if (code != EXIT_DONE)
            complain(s->cli, code, "%s", error.text);
    }
    if (code == EXIT_DONE)
        code = open_producer(s);
    if (code == EXIT_DONE)
        code = connect_lanes(s->cli, s->rk, &s->lanes);
    if (code == EXIT_DONE)
        s->topic = rd_kafka_topic_new(s->rk, config->schedule, NULL);
    return code;
}

int sending_run(struct sending *s)
{
    struct error error;
    if (!s->is_single)
        return finish(s, s->cli->input != NULL ? send_objects(s) : send_lines(s));
    int code = send_draft(s, &s->draft, 0, &error);
    if (code != EXIT_DONE)
        complain(s->cli, code, "%s", error.text);
    return finish(s, code);
}

void sending_free_producer(rd_kafka_t *rk)
{
    void *owner = rd_kafka_opaque(rk);
    rd_kafka_destroy(rk);
    free(owner);
}

void sending_close(struct sending *s)
{
    if (s->topic != NULL)
        rd_kafka_topic_destroy(s->topic);
    if (s->rk != NULL && s->works && s->cli->output != NULL)
        s->cli->output->producer = s->rk;
    else if (s->rk != NULL)
        sending_free_producer(s->rk);
    draft_deinit(&s->draft);
}
