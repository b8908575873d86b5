/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the values of enums. No switch has a default: a new value does not compile without its
   word. */
#include "tests/sim/names.h"

#define OTHER "other"

const char *names_kind(enum forward_kind kind)
{
    switch (kind) {
    case FORWARD_LEVEL:
        return "level";
    case FORWARD_TARGET:
        return "target";
    case FORWARD_DEAD:
        return "dead";
    case FORWARD_CANCEL:
        return "cancel";
    case FORWARD_EVENT:
        return "event";
    }
    return OTHER;
}

const char *names_truncation(enum dead_letter_content content)
{
    switch (content) {
    case DEAD_LETTER_FULL:
        return "whole";
    case DEAD_LETTER_NO_VALUE:
        return "without_value";
    case DEAD_LETTER_REASON_ONLY:
        return "bare";
    }
    return OTHER;
}

const char *names_lookup(enum lookup lookup)
{
    switch (lookup) {
    case LOOKUP_FOUND:
        return "found";
    case LOOKUP_UNWRITABLE:
        return "unwritable";
    case LOOKUP_WHOLE:
        return "whole";
    case LOOKUP_MISSING:
        return "missing";
    case LOOKUP_UNKNOWN:
        return "unknown";
    case LOOKUP_PENDING:
        return "pending";
    }
    return OTHER;
}

const char *names_notice(enum notice_kind kind)
{
    switch (kind) {
    case NOTICE_GAP:
        return "gap";
    case NOTICE_OUT_OF_RANGE:
        return "out_of_range";
    case NOTICE_BEYOND_END:
        return "beyond_end";
    case NOTICE_NEWER_ENVELOPE:
        return "newer_envelope";
    case NOTICE_MISSING:
        return "missing";
    case NOTICE_REPLACED:
        return "replaced";
    case NOTICE_STALL_RECOVERY:
        return "watchdog";
    case NOTICE_CLOCK_BACK:
        return "clock_back";
    case NOTICE_STALLED_TURN:
        return "stalled_turn";
    case NOTICE_TARGET_DOWN:
        return "target_shut";
    case NOTICE_TARGET_UP:
        return "target_open";
    case NOTICE_TARGET_SLOW:
        return "target_slow";
    case NOTICE_TARGET_FAST:
        return "target_fast";
    case NOTICE_ABORTED:
        return "aborted";
    case NOTICE_FORWARD_FAILED:
        return "forward_failed";
    case NOTICE_DEAD_LETTERED:
        return "dead_lettered";
    case NOTICE_DELIVERY_FAILED:
        return "delivery_failed";
    case NOTICE_UNREADABLE:
        return "unreadable";
    case NOTICE_RANGE_SKIPPED:
        return "given_up";
    case NOTICE_OUTLET_DOWN:
        return "outlet_shut";
    case NOTICE_OUTLET_UP:
        return "outlet_open";
    case NOTICE_THROTTLED:
        return "throttled";
    case NOTICE_CANCELLED:
        return "cancelled";
    case NOTICE_CANCEL_NOT_OURS:
        return "cancel_not_ours";
    case NOTICE_CANCEL_NEWER:
        return "cancel_newer";
    case NOTICE_LANE_RESTORED:
        return "lane_restored";
    case NOTICE_LOG_CUT:
        return "log_cut";
    case NOTICE_LOG_REPLACED:
        return "log_replaced";
    case NOTICE_CONTROL_UNKNOWN:
        return "control_unknown";
    case NOTICE_CANCELS_GREW:
        return "cancels_grew";
    case NOTICE_CANCELS_NO_MEMORY:
        return "cancels_no_memory";
    }
    return OTHER;
}

const char *names_code(enum code code)
{
    switch (code) {
    case CODE_OK:
        return "ok";
    case CODE_UNKNOWN_HEADER:
        return "unknown_header";
    case CODE_BAD_HEADER:
        return "bad_header";
    case CODE_BAD_OP:
        return "bad_op";
    case CODE_BAD_ID:
        return "bad_id";
    case CODE_NO_TIME:
        return "no_time";
    case CODE_TWO_TIMES:
        return "two_times";
    case CODE_BAD_TIME:
        return "bad_time";
    case CODE_BAD_RETRY:
        return "bad_retry";
    case CODE_TOO_FAR:
        return "too_far";
    case CODE_EXPIRED:
        return "expired";
    case CODE_NO_TARGET:
        return "no_target";
    case CODE_TARGET_DENIED:
        return "target_denied";
    case CODE_RETRIES_EXHAUSTED:
        return "retries_exhausted";
    case CODE_TOO_LARGE:
        return "too_large";
    case CODE_TARGET_FAILED:
        return "target_failed";
    case CODE_NOT_OURS:
        return "not_ours";
    case CODE_UNREADABLE:
        return "unreadable";
    case CODE_CANCELS_FULL:
        return "cancels_full";
    case CODE_N:
        break;
    }
    return OTHER;
}

const char *names_error(enum delivery_error error)
{
    switch (error) {
    case DELIVERY_NONE:
        return "none";
    case DELIVERY_MISSING:
        return "missing";
    case DELIVERY_REFUSED:
        return "refused";
    case DELIVERY_TIMED_OUT:
        return "timed_out";
    case DELIVERY_UNFIT:
        return "unfit";
    }
    return OTHER;
}

const char *names_deferral(enum deferral deferral)
{
    switch (deferral) {
    case DEFERRAL_NONE:
        return "none";
    case DEFERRAL_FAILED:
        return "failed";
    case DEFERRAL_PAUSED:
        return "paused";
    case DEFERRAL_LIMITED:
        return "limited";
    }
    return OTHER;
}
