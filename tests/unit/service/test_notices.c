/* SPDX-License-Identifier: Apache-2.0 */
/* notices: each event has its line, and each value its field. Any number of events makes few
   lines. */
#include "bridge/service/notices.h"

#include "bridge/base/log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

static const char *const topics[] = {"schedule", "schedule.1s", "schedule.5s"};
static const char *const targets[] = {"noise.*", "orders"};
static struct notices notices;
static char text[1 << 16];
static int ends[2], saved;

static void prepare(void)
{
    notices = (struct notices){.topics = topics,
                               .dead_letter = "schedule.dead-letter",
                               .group = "delaybridge.schedule",
                               .targets = {targets, 2, "schedule"},
                               .limit = LIMIT_INIT(NOTICE_EVERY_MS, 1)};
    log_init(LOG_INFO, LOG_JSON);
    cr_assert_eq(pipe(ends), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
}

static void restore(void)
{
    dup2(saved, STDERR_FILENO);
}
TestSuite(notices, .init = prepare, .fini = restore);

/* Returns the text written since the last call. */
static const char *written(void)
{
    ssize_t n = read(ends[0], text, sizeof text - 1);
    text[n < 0 ? 0 : n] = '\0';
    return text;
}

static json_t *line(void)
{
    json_t *json = json_loads(written(), JSON_REJECT_DUPLICATES, NULL);
    cr_assert_not_null(json, "%s", text);
    return json;
}

static const char *member(const json_t *json, const char *name)
{
    const char *value = json_string_value(json_object_get(json, name));
    return value == NULL ? "(no string)" : value;
}

static struct notice refused(const char *target)
{
    return (struct notice){.kind = NOTICE_DEAD_LETTERED,
                           .queue = {-1, 3, 0},
                           .offset = 17,
                           .key = bytes_text("order-17"),
                           .target = bytes_text(target),
                           .code = CODE_BAD_TIME,
                           .reason = "dlb-delay \"15\" has no unit"};
}

Test(notices, refusal_has_a_field_for_each_value)
{
    struct notice e = refused("orders.timeout");
    notice_log(&notices, &e, 0);
    json_t *json = line();
    cr_expect_str_eq(member(json, "level"), "warn");
    cr_expect_str_eq(member(json, "code"), "bad_time");
    cr_expect_str_eq(member(json, "key"), "order-17");
    cr_expect_str_eq(member(json, "source"), "schedule/3/17");
    cr_expect_str_eq(member(json, "target"), "orders.timeout");
    cr_expect_str_eq(member(json, "reason"), e.reason);
    json_decref(json);
}

Test(notices, failed_delivery_has_the_time_of_the_next_attempt)
{
    struct notice e = {.kind = NOTICE_DELIVERY_FAILED,
                       .queue = {-1, 0, 0},
                       .offset = 5,
                       .target = bytes_text("orders"),
                       .error = DELIVERY_TIMED_OUT,
                       .reason = "Local: Message timed out",
                       .attempt = 2,
                       .next_try_wall_ms = 1763712000250};
    notice_log(&notices, &e, 0);
    json_t *json = line();
    cr_expect_str_eq(member(json, "error"), "timed_out");
    cr_expect_str_eq(member(json, "next_try"), "2025-11-21T08:00:00.250Z");
    cr_expect(json_is_null(json_object_get(json, "key")));
    cr_expect_eq(json_integer_value(json_object_get(json, "attempt")), 2);
    json_decref(json);
}

Test(notices, own_topic_that_refuses_is_named)
{
    struct notice e = {.kind = NOTICE_FORWARD_FAILED,
                       .queue = {0, 2, 0},
                       .offset = 9,
                       .to_slot = 2,
                       .reason = "no"};
    notice_log(&notices, &e, 0);
    json_t *json = line();
    cr_expect_str_eq(member(json, "topic"), "schedule.5s");
    cr_expect_str_eq(member(json, "source"), "schedule/2/9");
    json_decref(json);
    e.to_slot = 0;
    notice_log(&notices, &e, 0);
    json = line();
    cr_expect_str_eq(member(json, "topic"), "schedule.dead-letter");
    json_decref(json);
}

Test(notices, foreign_values_are_quoted_and_bounded)
{
    static char much[100000];
    memset(much, '"', sizeof much - 1);
    struct notice e = refused("x");
    e.key = e.target = bytes_of(much, sizeof much - 1);
    e.reason = much;
    notice_log(&notices, &e, 0);
    json_t *json = line(); /* one line of JSON with any content */
    cr_expect_lt(strlen(text), 2000);
    cr_expect_eq(member(json, "key")[0], '"');
    json_decref(json);
}

Test(notices, dead_letter_lines_distinguish_refusal_expiry_and_failed_target)
{
    static const struct {
        enum code code;
        const char *message;
    } rows[] = {
        {CODE_BAD_TIME, "record refused, it goes to"},
        {CODE_TOO_LARGE, "record refused, it goes to"},
        {CODE_EXPIRED, "record expires before its delivery, it goes to"},
        {CODE_TARGET_FAILED, "delivery failed at every attempt, the record goes to"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct notice e = refused("orders");
        e.code = rows[i].code;
        notice_log(&notices, &e, 0);
        json_t *json = line();
        cr_expect_not_null(strstr(member(json, "msg"), rows[i].message), "%s", text);
        cr_expect_str_eq(member(json, "topic"), "schedule.dead-letter");
        json_decref(json);
    }
}

Test(notices, blocked_partition_has_the_whole_command_in_its_line)
{
    static const struct {
        enum notice_kind kind;
        const char *command;
    } rows[] = {
        {NOTICE_BEYOND_END, "kafka-consumer-groups.sh --bootstrap-server BROKER --group "
                            "delaybridge.schedule --topic schedule.5s:3 --reset-offsets "
                            "--to-earliest --execute"},
        {NOTICE_REPLACED, "kafka-consumer-groups.sh --bootstrap-server BROKER --group "
                          "delaybridge.schedule --topic schedule.5s:3 --reset-offsets "
                          "--to-earliest --execute"},
        {NOTICE_UNREADABLE, "delaybridge skip schedule.5s/3/17-40"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct notice e = {
            .kind = rows[i].kind, .queue = {8, 3, 2}, .offset = 17, .end_offset = 40};
        notice_log(&notices, &e, 0);
        json_t *json = line();
        cr_expect_str_eq(member(json, "command"), rows[i].command);
        json_decref(json);
    }
}

Test(notices, every_kind_of_event_has_its_own_line)
{
    static char seen[1 << 16];
    for (int kind = 0; kind < NOTICE_KINDS; kind++) {
        struct notice e = {.kind = (enum notice_kind)kind, .code = CODE_EXPIRED, .reason = "why"};
        notice_log(&notices, &e, 0);
        json_t *json = line();
        const char *message = member(json, "msg");
        cr_expect_gt(strlen(message), 10, "event %d has no sentence", kind);
        cr_expect_null(strstr(seen, message), "two events say '%s'", message);
        strcat(seen, message);
        strcat(seen, "\n");
        json_decref(json);
    }
}

Test(notices, forty_thousand_events_of_each_kind_are_a_line_and_a_count)
{
    for (int kind = 0; kind < NOTICE_KINDS; kind++) {
        struct notice e = {.kind = (enum notice_kind)kind, .code = CODE_EXPIRED, .reason = "why"};
        for (int i = 0; i < 40000; i++) {
            e.offset = e.count = e.span_ms = i;
            notice_log(&notices, &e, i % NOTICE_EVERY_MS);
        }
        const char *first = written(), *end = strchr(first, '\n');
        cr_assert(end != NULL && end[1] == '\0', "event %d: %s", kind, first);
        notice_log(&notices, &e, NOTICE_EVERY_MS);
        json_t *json = line();
        cr_expect_eq(json_integer_value(json_object_get(json, "suppressed")), 39999);
        json_decref(json);
    }
}

Test(notices, codes_targets_and_errors_do_not_suppress_each_other)
{
    struct notice e = refused("a");
    notice_log(&notices, &e, 0);
    cr_expect_neq(written()[0], '\0');
    e.code = CODE_NO_TIME;
    notice_log(&notices, &e, 0);
    cr_expect_neq(written()[0], '\0');
    e.target = bytes_text("b");
    notice_log(&notices, &e, 0);
    cr_expect_neq(written()[0], '\0');
    e.offset++;
    notice_log(&notices, &e, 0);
    cr_expect_eq(written()[0], '\0');
}

/* Returns how many lines a failing target adds. */
static int failing(const char *target)
{
    struct notice e = {.kind = NOTICE_DELIVERY_FAILED,
                       .target = bytes_text(target),
                       .error = DELIVERY_REFUSED,
                       .reason = "unknown topic"};
    notice_log(&notices, &e, 0);
    return written()[0] != '\0';
}

Test(notices, hundreds_of_failing_names_do_not_hide_another_target)
{
    char name[32];
    int lines = 0;
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "noise.%d.events", i);
        lines += failing(name);
    }
    cr_expect_leq(lines, LIMIT_KEYS + 1);
    cr_expect_eq(failing("orders"), 1);
    cr_expect_eq(failing("orders"), 0);
}

Test(notices, workers_with_failing_names_do_not_hide_another_target)
{
    char name[32];
    for (int worker = 0; worker < 4; worker++) {
        notices.limit = (struct limit)LIMIT_INIT(NOTICE_EVERY_MS, 1);
        for (int i = 0; i < 500; i++) {
            snprintf(name, sizeof name, "noise.%d.events", i);
            failing(name);
        }
    }
    cr_expect_eq(failing("orders"), 1);
}

Test(notices, any_number_of_targets_writes_few_lines)
{
    char name[32];
    int lines = 0;
    for (int i = 0; i < 18000; i++) {
        snprintf(name, sizeof name, "t.%d", i);
        struct notice e = refused(name);
        notice_log(&notices, &e, 0);
        lines += written()[0] != '\0';
    }
    cr_expect_leq(lines, LIMIT_KEYS + 1);
}
