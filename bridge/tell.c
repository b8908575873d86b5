/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of events. */
#include "bridge/tell.h"

#include "bridge/log.h"

#include <inttypes.h>

static void tell_queue(const char *const *topics, const struct told *told)
{
    const char *topic = topics[told->queue.slot];
    int lane = told->queue.lane;
    switch (told->event) {
    case EVENT_GAP:
        log_warn("offsets are missing in a level topic, counted as done",
                 "topic=%s lane=%d n=%" PRId64, topic, lane, told->value);
        break;
    case EVENT_OUT_OF_RANGE:
        log_error("records were deleted before they were read: going on at the log's start",
                  "topic=%s lane=%d n=%" PRId64, topic, lane, told->value);
        break;
    case EVENT_BEYOND_END:
        log_error("the committed position is beyond the log's end: the topic was recreated or "
                  "truncated; the partition is held until the group's offset is reset for it and "
                  "the process restarted",
                  "topic=%s lane=%d position=%" PRId64, topic, lane, told->value);
        break;
    case EVENT_NEWER_ENVELOPE:
        log_error("a newer delaybridge wrote this record: upgrade this process, the partition is "
                  "blocked until then",
                  "topic=%s lane=%d offset=%" PRId64, topic, lane, told->value);
        break;
    default:
        log_warn("a partition that should have woken did not: waking it again",
                 "topic=%s lane=%d silent_ms=%" PRId64, topic, lane, told->value);
        break;
    }
}

void tell_event(const char *const *topics, const struct told *told)
{
    char quoted[512];
    log_quote(told->text, quoted, sizeof quoted);
    switch (told->event) {
    case EVENT_CLOCK_BACK:
        log_warn("the clock went back: held records are read again", "ms=%" PRId64, told->value);
        break;
    case EVENT_STALLED_TURN:
        log_warn("this process stood still: forwarding waits until it is known that the lanes are "
                 "still ours",
                 "ms=%" PRId64, told->value);
        break;
    case EVENT_ABORTED:
        log_warn("a transaction was aborted: its records are read again",
                 "records=%" PRId64 " why=%s", told->value, quoted);
        break;
    case EVENT_TARGET_SHUT:
        log_warn("a target takes nothing", "next_try_ms=%" PRId64 " target=%s", told->value,
                 quoted);
        break;
    case EVENT_TARGET_OPEN:
        log_info("a target takes records again", "target=%s", told->text);
        break;
    case EVENT_FORWARD_FAILED:
        log_error("cannot write to our own topics, tried again",
                  "from=%s lane=%d offset=%" PRId64 " error=%s", topics[told->queue.slot],
                  told->queue.lane, told->value, quoted);
        break;
    default:
        tell_queue(topics, told);
        break;
    }
}
