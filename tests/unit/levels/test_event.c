/* SPDX-License-Identifier: Apache-2.0 */
/* event: the text of an event. */
#include "levels/event.h"

#include <criterion/criterion.h>

static struct event example_of(enum event_type type)
{
    struct event e = event_of(type, 3, 1048);
    e.source = "delaybridge.schedule";
    e.topic = "schedule";
    e.time_ms = 1795219200123;
    return e;
}

static const char *written(const struct event *event)
{
    static char text[EVENT_MAX + 1];
    text[event_write(event, text)] = '\0';
    return text;
}

Test(event, each_name_is_the_name_of_its_type)
{
    for (int type = 0; type < EVENT_TYPES; type++)
        cr_expect_eq(event_type_of(bytes_text(event_name((enum event_type)type))), type);
    cr_expect_eq(event_type_of(bytes_text("deliver")), -1);
    cr_expect_eq(event_type_of(bytes_null()), -1);
}

/* A consumer of the default set learns the end of each request: without an event of its end, it was
   delivered or still waits. */
Test(event, the_default_has_each_end_except_a_delivery)
{
    cr_expect_eq(EVENTS_DEFAULT & EVENT_BIT(EVENT_DELIVERED), 0);
    cr_expect_neq(EVENTS_DEFAULT & EVENT_BIT(EVENT_CANCELLED), 0);
    cr_expect_neq(EVENTS_DEFAULT & EVENT_BIT(EVENT_DEAD_LETTERED), 0);
    cr_expect_neq(EVENTS_DEFAULT & EVENT_BIT(EVENT_EXPIRED), 0);
    cr_expect_eq(EVENTS_DEFAULT & EVENT_BIT(EVENT_RETRY_ACCEPTED), 0);
}

Test(event, absent_members_are_left_out)
{
    struct event e = example_of(EVENT_ACCEPTED);
    cr_expect_str_eq(written(&e),
                     "{\"specversion\":\"1.0\",\"id\":\"schedule/3/1048/accepted/0\","
                     "\"source\":\"delaybridge.schedule\",\"type\":\"delaybridge.accepted\","
                     "\"subject\":\"schedule/3/1048\",\"time\":\"2026-11-21T00:00:00.123Z\","
                     "\"datacontenttype\":\"application/json\","
                     "\"data\":{\"event\":\"accepted\",\"source\":\"schedule/3/1048\"}}");
}

Test(event, id_depends_on_request_type_and_attempt)
{
    struct event e = example_of(EVENT_DELIVERY_RETRIED);
    e.attempt = 2;
    cr_expect(strstr(written(&e), "\"id\":\"schedule/3/1048/delivery_retried/2\"") != NULL);
    cr_expect(strstr(written(&e), "\"attempt\":2}") != NULL);
}

/* A dead letter that is sent twice has two events, since there are two new requests. */
Test(event, id_of_a_redriven_request_names_the_new_one)
{
    struct event e = example_of(EVENT_REDRIVEN);
    e.sent_lane = 5;
    e.sent_offset = 77;
    cr_expect(strstr(written(&e), "\"id\":\"schedule/3/1048/redriven/schedule/5/77\"") != NULL);
    cr_expect(strstr(written(&e), "\"sent_as\":\"schedule/5/77\"") != NULL, "%s", written(&e));
}

Test(event, a_retry_names_its_number_and_origin)
{
    struct event e = example_of(EVENT_RETRY_ACCEPTED);
    cr_expect(strstr(written(&e), "\"retry\"") == NULL &&
              strstr(written(&e), "\"origin\"") == NULL);
    e.retry = 2;
    e.origin = (struct origin){.topic = bytes_text("orders"), .lane = 5, .offset = 77};
    cr_expect(strstr(written(&e), "\"id\":\"schedule/3/1048/retry_accepted/0\"") != NULL);
    cr_expect(strstr(written(&e), "\"retry\":2,\"origin\":\"orders/5/77\"}") != NULL, "%s",
              written(&e));
}

Test(event, texts_are_escaped_or_base64)
{
    struct event e = example_of(EVENT_CANCELLED);
    e.id = bytes_text("a\"b\\c\n");
    e.key = bytes_of("\xff\x01", 2);
    const char *text = written(&e);
    cr_expect(strstr(text, "\"id\":\"a\\\"b\\\\c\\u000a\"") != NULL, "%s", text);
    cr_expect(strstr(text, "\"key_base64\":\"/wE=\"") != NULL, "%s", text);
    cr_expect(strstr(text, "\"certain\":false") != NULL, "%s", text);
}

Test(event, only_a_valid_traceparent_is_an_attribute)
{
    struct event e = example_of(EVENT_DELIVERED);
    e.traceparent = bytes_text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    cr_expect(strstr(written(&e), "\"traceparent\":\"00-4bf9") != NULL);
    e.traceparent = bytes_text("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0\"");
    cr_expect(strstr(written(&e), "traceparent") == NULL);
    e.traceparent = bytes_text("00");
    cr_expect(strstr(written(&e), "traceparent") == NULL);
}

Test(event, largest_event_fits)
{
    struct event e = example_of(EVENT_DEAD_LETTERED);
    char all[EVENT_TEXT_MAX], topic[250];
    memset(all, 1, sizeof all);
    memset(topic, 't', sizeof topic);
    topic[249] = '\0';
    e.topic = e.source = topic;
    e.id = e.key = e.target = e.reason = bytes_of(all, sizeof all);
    e.lane = INT32_MAX;
    e.offset = e.due_ms = e.partition = e.stored_offset = e.in_force_ms = e.by_offset =
        e.late_offset = e.next_try_ms = e.retry = INT64_MAX;
    e.code = "target_failed";
    cr_expect_leq(event_write(&e, (char[EVENT_MAX]){0}), EVENT_MAX);
    e.key = bytes_of(all, sizeof all + 1);
    cr_expect(strstr(written(&e), "\"key\"") == NULL);
}
