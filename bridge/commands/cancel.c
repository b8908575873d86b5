/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge cancel and replace: the same as send, and the answers of the bridge. Answers are
   awaited for a batch of records at a time, so memory does not grow with the number of lines. */
#include "bridge/commands/connect.h"
#include "bridge/commands/result.h"
#include "bridge/commands/sending.h"
#include "consumer/admin/cancel_answer.h"
#include "levels/counted.h"
#include "levels/duration.h"
#include "levels/instant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ASKED_MAX = 1000 };

struct cancelling {
    const struct cli *cli;
    struct sending sending;
    rd_kafka_t *reader; /* NULL: no answer is awaited */
    int64_t wait_ms;
    struct cancel_answers answers;
    struct cancel_asked *asked; /* stored, and not printed yet */
    size_t asked_n, asked_max;
    int64_t answered_n, refused_n, silent_n; /* printed */
};

static const char *state_of(const struct cancelling *c, const struct cancel_asked *asked)
{
    if (c->reader == NULL)
        return "stored";
    switch (asked->answer) {
    case ANSWER_NONE:
        break;
    case ANSWER_IN_FORCE:
        return "in_force";
    case ANSWER_REFUSED:
        return "refused";
    }
    return "unanswered";
}

static void print_answer_json(const struct cancelling *c, const struct cancel_asked *asked)
{
    bool in_force = asked->answer == ANSWER_IN_FORCE, refused = asked->answer == ANSWER_REFUSED;
    give_json(c->cli, json_pack("{s:s, s:i, s:I, s:o, s:s, s:o, s:o, s:o}", "topic",
                                c->cli->config->schedule, "partition", asked->lane, "offset",
                                (json_int_t)asked->offset, "line",
                                asked->line > 0 ? json_integer(asked->line) : json_null(), "state",
                                state_of(c, asked), "in_force",
                                in_force ? instant_json(asked->in_force_ms) : json_null(), "code",
                                refused ? json_string(asked->code) : json_null(), "reason",
                                refused ? json_string(asked->reason) : json_null()));
}

static void print_answer_text(const struct cancelling *c, const struct cancel_asked *asked)
{
    char at[INSTANT_TEXT_MAX];
    printf("%s/%d/%" PRId64, c->cli->config->schedule, asked->lane, asked->offset);
    if (c->reader == NULL)
        putchar('\n');
    else if (asked->answer == ANSWER_IN_FORCE)
        printf(" in force since %s\n", instant_format(asked->in_force_ms, at));
    else if (asked->answer == ANSWER_REFUSED)
        printf(" refused: %s: %s\n", asked->code, asked->reason);
    else
        puts(" unanswered");
}

static void print_answer(const struct cancelling *c, const struct cancel_asked *asked)
{
    if (c->cli->json)
        print_answer_json(c, asked);
    else
        print_answer_text(c, asked);
}

static void stored(void *ctx, const struct sent *sent)
{
    struct cancelling *c = ctx;
    const struct cancel_asked asked = {
        .lane = sent->lane, .offset = sent->offset, .line = sent->line};
    if (c->reader == NULL)
        print_answer(c, &asked);
    else
        c->asked[c->asked_n++] = asked;
}

static int by_line(const void *left, const void *right)
{
    const struct cancel_asked *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->lane - b->lane;
}

/* Awaits and prints the answers to all that is stored. */
static int answer_all(struct cancelling *c)
{
    struct error error;
    sending_flush(&c->sending);
    int err = cancel_answers_await(&c->answers, c->asked, c->asked_n, c->wait_ms, &error);
    qsort(c->asked, c->asked_n, sizeof *c->asked, by_line);
    for (size_t i = 0; i < c->asked_n; i++) {
        print_answer(c, &c->asked[i]);
        c->answered_n += c->asked[i].answer != ANSWER_NONE;
        c->refused_n += c->asked[i].answer == ANSWER_REFUSED;
        c->silent_n += c->asked[i].answer == ANSWER_NONE;
    }
    c->asked_n = 0;
    return err == 0 ? EXIT_DONE
                    : complain(c->cli, err == ERR_CONFIG ? EXIT_CONFIG : EXIT_UNREACHABLE, "%s",
                               error.text);
}

/* Awaits answers if the next line may have no room. */
static int line_sent(void *ctx)
{
    struct cancelling *c = ctx;
    size_t open_n = c->sending.records - c->sending.stored_n - c->sending.failed_n + c->asked_n;
    size_t next_n = c->sending.to_each_lane ? (size_t)c->sending.lanes : 1;
    return c->reader == NULL || open_n + next_n <= c->asked_max ? EXIT_DONE : answer_all(c);
}

/* Prepares for answers, before the first record is sent. */
static int open_answers(struct cancelling *c)
{
    struct error error;
    int code = connect_to_look(c->cli, &c->reader);
    if (code != EXIT_DONE)
        return code;
    c->asked_max = ASKED_MAX;
    if (c->asked_max < (size_t)c->sending.lanes)
        c->asked_max = (size_t)c->sending.lanes;
    c->asked = calloc(c->asked_max, sizeof *c->asked);
    if (c->asked == NULL)
        return complain(c->cli, EXIT_INTERNAL, "out of memory");
    c->answers = (struct cancel_answers){.rk = c->reader,
                                         .config = c->cli->config,
                                         .timeout_ms = c->cli->timeout_ms,
                                         .lanes_n = c->sending.lanes};
    int err = cancel_answers_open(&c->answers, &error);
    return err == 0 ? EXIT_DONE
                    : complain(c->cli, err == ERR_CONFIG ? EXIT_CONFIG : EXIT_UNREACHABLE, "%s",
                               error.text);
}

/* Returns the exit code for the answers, and says what a code other than 0 means. */
static int conclude(const struct cancelling *c)
{
    char all[COUNTED_MAX], wait[DURATION_TEXT_MAX];
    counted(c->answered_n + c->silent_n, "record", all);
    if (c->refused_n > 0)
        return complain(c->cli, EXIT_DATA, "refused: %" PRId64 " of %s", c->refused_n, all);
    if (c->silent_n > 0)
        return complain(c->cli, EXIT_PARTIAL,
                        "stored, but no process has applied %" PRId64 " of %s within %s: they take "
                        "effect when one does. Run 'delaybridge levels' to see whether one runs",
                        c->silent_n, all, duration_format(c->wait_ms, wait));
    return EXIT_DONE;
}

static int run(struct cancelling *c)
{
    int code = sending_open(&c->sending);
    if (code == EXIT_DONE && c->wait_ms > 0)
        code = open_answers(c);
    if (code != EXIT_DONE)
        return code;
    code = sending_run(&c->sending);
    if (c->reader == NULL)
        return code;
    int answered = answer_all(c);
    code = code == EXIT_DONE ? answered : code;
    return code == EXIT_DONE ? conclude(c) : code;
}

static int cancel_with(struct cli *cli, const char *op, bool to_each_lane)
{
    struct cancelling c = {.cli = cli, .wait_ms = arguments_number(cli->arguments, "--wait")};
    c.sending = (struct sending){.cli = cli,
                                 .op = op,
                                 .to_each_lane = to_each_lane,
                                 .stored = stored,
                                 .line_sent = line_sent,
                                 .ctx = &c};
    int code = run(&c);
    sending_close(&c.sending);
    cancel_answers_close(&c.answers);
    free(c.asked);
    if (c.reader != NULL)
        rd_kafka_destroy(c.reader);
    return code;
}

int cmd_cancel(struct cli *cli)
{
    return cancel_with(cli, "cancel", arguments_have(cli->arguments, "--all-lanes"));
}

int cmd_replace(struct cli *cli)
{
    return cancel_with(cli, "replace", false);
}
