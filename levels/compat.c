/* SPDX-License-Identifier: Apache-2.0 */
/* compat: the translators. */
#include "levels/compat_parts.h"

#include "levels/cursor.h"
#include "levels/instant.h"
#include "levels/utf8.h"

#include <assert.h>

enum {
    ANY_BYTES = 1, /* the value is a key, or binary */
    REPEATS = 2,   /* the last header counts */
    SECONDARY = 4  /* counts only next to another header of the format */
};

static const struct {
    const char *text;
    enum compat format;
    unsigned flags;
} NAMES[COMPAT_HEADERS_N] = {
    [ROCKETMQ_LEVEL] = {"DELAY", COMPAT_ROCKETMQ, 0},
    [ROCKETMQ_DELAY_S] = {"TIMER_DELAY_SEC", COMPAT_ROCKETMQ, 0},
    [ROCKETMQ_DELAY_MS] = {"TIMER_DELAY_MS", COMPAT_ROCKETMQ, 0},
    [ROCKETMQ_DELIVER_MS] = {"TIMER_DELIVER_MS", COMPAT_ROCKETMQ, 0},
    [ROCKETMQ_RECALL] = {"TIMER_DEL_UNIQKEY", COMPAT_ROCKETMQ, 0},
    [RABBITMQ_DELAY] = {"x-delay", COMPAT_RABBITMQ, 0},
    [ETF1_EPOCH] = {"scheduler-epoch", COMPAT_ETF1, 0},
    [ETF1_TOPIC] = {"scheduler-target-topic", COMPAT_ETF1, 0},
    [ETF1_KEY] = {"scheduler-target-key", COMPAT_ETF1, ANY_BYTES},
    [KARAFKA_VERSION] = {"schedule_schema_version", COMPAT_KARAFKA, 0},
    [KARAFKA_TYPE] = {"schedule_source_type", COMPAT_KARAFKA, 0},
    [KARAFKA_EPOCH] = {"schedule_target_epoch", COMPAT_KARAFKA, 0},
    [KARAFKA_TOPIC] = {"schedule_target_topic", COMPAT_KARAFKA, 0},
    [KARAFKA_KEY] = {"schedule_target_key", COMPAT_KARAFKA, ANY_BYTES},
    [KARAFKA_PARTITION] = {"schedule_target_partition", COMPAT_KARAFKA, 0},
    [KARAFKA_PARTITION_KEY] = {"schedule_target_partition_key", COMPAT_KARAFKA, ANY_BYTES},
    [SPRING_BACKOFF] = {"retry_topic-backoff-timestamp", COMPAT_SPRING, ANY_BYTES | REPEATS},
    [SPRING_ATTEMPTS] = {"retry_topic-attempts", COMPAT_SPRING, ANY_BYTES | REPEATS},
    [SPRING_FIRST] = {"retry_topic-original-timestamp", COMPAT_SPRING, ANY_BYTES | REPEATS},
    [SPRING_TOPIC] = {"kafka_original-topic", COMPAT_SPRING, REPEATS | SECONDARY},
    [SPRING_PARTITION] = {"kafka_original-partition", COMPAT_SPRING,
                          ANY_BYTES | REPEATS | SECONDARY},
    [SPRING_OFFSET] = {"kafka_original-offset", COMPAT_SPRING, ANY_BYTES | REPEATS | SECONDARY},
    [SHARE_DLQ_TOPIC] = {"__dlq.errors.topic", COMPAT_SHARE_DLQ, REPEATS},
    [SHARE_DLQ_PARTITION] = {"__dlq.errors.partition", COMPAT_SHARE_DLQ, REPEATS},
    [SHARE_DLQ_OFFSET] = {"__dlq.errors.offset", COMPAT_SHARE_DLQ, REPEATS},
};

/* The default of the brokers' property messageDelayLevel. Level 1 is the first. */
static const int64_t ROCKETMQ_LEVEL_S[] = {1,   5,   10,  30,  60,  120,  180,  240,  300,
                                           360, 420, 480, 540, 600, 1200, 1800, 3600, 7200};
enum { ROCKETMQ_LEVELS = sizeof ROCKETMQ_LEVEL_S / sizeof ROCKETMQ_LEVEL_S[0] };

void compat_note(struct translation *t, enum code code, const struct header *header,
                 const char *why)
{
    struct foreign *f = &t->foreign;
    if (f->fault != CODE_OK && f->fault <= code)
        return;
    f->fault = code;
    f->faulty = header;
    f->why = why;
    f->other = NULL;
}

static enum compat_header name_of(unsigned formats, const char *text)
{
    for (enum compat_header n = 0; n < COMPAT_HEADERS_N; n++)
        if (text[0] == NAMES[n].text[0] && (formats & COMPAT_BIT(NAMES[n].format)) != 0 &&
            strcmp(text, NAMES[n].text) == 0)
            return n;
    return COMPAT_HEADERS_N;
}

static const char *fault_of(enum compat_header name, struct bytes value, bool again)
{
    if (again && (NAMES[name].flags & REPEATS) == 0)
        return " is given twice";
    if ((NAMES[name].flags & ANY_BYTES) != 0)
        return NULL;
    if (bytes_is_null(value))
        return " is null";
    if (value.len == 0)
        return " is empty";
    return utf8_is_valid(value) ? NULL : " is not UTF-8";
}

/* Returns the formats that a record with these dlb- headers may have. Its other foreign headers are
   business headers. */
static unsigned formats_left(unsigned formats, const struct record *record)
{
    for (size_t i = 0; i < record->headers_n; i++) {
        const char *name = record->headers[i].name;
        if (name[0] != 'd' || !header_is_ours(name))
            continue;
        if (strcmp(name, "dlb-delay") == 0 || strcmp(name, "dlb-deliver-at") == 0 ||
            strcmp(name, "dlb-retry") == 0 ||
            (strcmp(name, "dlb-op") == 0 &&
             bytes_equal(record->headers[i].value, bytes_text("cancel"))))
            return 0;
        if (strcmp(name, "dlb-due") == 0)
            formats &= COMPAT_BIT(COMPAT_SHARE_DLQ);
    }
    return formats;
}

static void gather(struct translation *t, unsigned formats)
{
    for (size_t i = 0; i < t->record->headers_n; i++) {
        const struct header *header = &t->record->headers[i];
        enum compat_header name = name_of(formats, header->name);
        if (name == COMPAT_HEADERS_N)
            continue;
        const char *why = fault_of(name, header->value, t->given[name] != NULL);
        if (why != NULL)
            compat_note(t, CODE_BAD_HEADER, header, why);
        t->given[name] = header;
        if ((NAMES[name].flags & SECONDARY) != 0)
            continue;
        if (t->first == NULL) {
            t->first = header;
            t->foreign.format = NAMES[name].format;
        } else if (t->foreign.format != NAMES[name].format && t->foreign.other == NULL) {
            compat_note(t, CODE_TWO_TIMES, t->first, " and ");
            if (t->foreign.fault == CODE_TWO_TIMES)
                t->foreign.other = header;
        }
    }
}

/* Reads an integer with an optional sign, and notes a fault if the value is none. */
static bool read_integer(struct translation *t, const struct header *header, int64_t *number)
{
    struct cursor c = cursor_of(header->value);
    bool negative = cursor_take(&c, '-');
    if (!negative)
        cursor_take(&c, '+');
    bool digits = cursor_at_digit(&c);
    if (cursor_take_number(&c, number) && cursor_at_end(&c)) {
        *number = negative ? -*number : *number;
        return true;
    }
    while (cursor_at_digit(&c))
        c.at++;
    compat_note(t, CODE_BAD_TIME, header,
                digits && cursor_at_end(&c) ? " is more than 64 bits hold"
                                            : " is not a whole number");
    return false;
}

void compat_set_time(struct translation *t, const struct header *header, bool is_delay, int64_t ms)
{
    t->foreign.time = header;
    t->foreign.is_delay = is_delay;
    t->foreign.ms = ms;
}

/* Sets a delay of `number` units. A negative one is none, as in the original systems. */
static void read_delay(struct translation *t, const struct header *header, int64_t unit_ms)
{
    int64_t number, ms;
    if (!read_integer(t, header, &number))
        return;
    if (number < 0)
        number = 0;
    if (__builtin_mul_overflow(number, unit_ms, &ms))
        compat_note(t, CODE_BAD_TIME, header, " is more than 64 bits of milliseconds hold");
    else
        compat_set_time(t, header, true, ms);
}

static void read_epoch_s(struct translation *t, const struct header *header)
{
    int64_t epoch_s;
    if (!read_integer(t, header, &epoch_s))
        return;
    if (epoch_s < 0)
        compat_note(t, CODE_BAD_TIME, header, " is not an epoch in seconds");
    else if (epoch_s >= INSTANT_MS_MIN)
        compat_note(t, CODE_TOO_FAR, header, " looks like milliseconds: give seconds");
    else
        compat_set_time(t, header, false, epoch_s * SECOND_MS);
}

/* Returns whether the level delays, or has a fault. A level above the last one is the last one. The
   levels 0 and below do not delay. */
static bool read_rocketmq_level(struct translation *t)
{
    int64_t level;
    const struct header *header = t->given[ROCKETMQ_LEVEL];
    if (header == NULL)
        return false;
    if (!read_integer(t, header, &level))
        return true;
    if (level > INT32_MAX || level < INT32_MIN) {
        compat_note(t, CODE_BAD_TIME, header, " is not a delay level, which has 32 bits");
        return true;
    }
    if (level <= 0)
        return false;
    compat_set_time(t, header, true,
                    ROCKETMQ_LEVEL_S[(level < ROCKETMQ_LEVELS ? level : ROCKETMQ_LEVELS) - 1] *
                        SECOND_MS);
    return true;
}

/* The order is that of the brokers: a level, seconds, milliseconds, an instant. A recall has a time
   too: as a schedule it would be delivered. */
static void read_rocketmq(struct translation *t)
{
    int64_t ms;
    if (t->given[ROCKETMQ_RECALL] != NULL) {
        compat_note(t, CODE_BAD_HEADER, t->given[ROCKETMQ_RECALL],
                    " recalls a message, which is not possible: send dlb-op: cancel");
        return;
    }
    if (read_rocketmq_level(t))
        return;
    if (t->given[ROCKETMQ_DELAY_S] != NULL)
        read_delay(t, t->given[ROCKETMQ_DELAY_S], SECOND_MS);
    else if (t->given[ROCKETMQ_DELAY_MS] != NULL)
        read_delay(t, t->given[ROCKETMQ_DELAY_MS], 1);
    else if (t->given[ROCKETMQ_DELIVER_MS] == NULL)
        compat_set_time(t, t->given[ROCKETMQ_LEVEL], true, 0);
    else if (!read_integer(t, t->given[ROCKETMQ_DELIVER_MS], &ms))
        return;
    else if (ms < INSTANT_MS_MIN)
        compat_note(t, CODE_BAD_TIME, t->given[ROCKETMQ_DELIVER_MS],
                    " is not an epoch in milliseconds (seconds by mistake?)");
    else
        compat_set_time(t, t->given[ROCKETMQ_DELIVER_MS], false, ms);
}

static void read_rabbitmq(struct translation *t)
{
    read_delay(t, t->given[RABBITMQ_DELAY], 1);
}

/* A later record with the same key replaces an earlier one, and a null value deletes it. */
static void read_etf1(struct translation *t)
{
    struct foreign *f = &t->foreign;
    f->op = bytes_is_null(t->record->value) ? REQUEST_CANCEL : REQUEST_REPLACE;
    if (f->op == REQUEST_CANCEL)
        return;
    if (t->given[ETF1_EPOCH] != NULL)
        read_epoch_s(t, t->given[ETF1_EPOCH]);
    else
        compat_note(t, CODE_NO_TIME, t->first, " is given without scheduler-epoch");
}

static void read_karafka_type(struct translation *t)
{
    struct foreign *f = &t->foreign;
    const struct header *type = t->given[KARAFKA_TYPE];
    f->op = REQUEST_REPLACE;
    if (type == NULL) {
        compat_note(t, CODE_BAD_HEADER, t->first, " is given without schedule_source_type");
        return;
    }
    f->op_header = type;
    if (bytes_equal(type->value, bytes_text("schedule")))
        return;
    f->op = REQUEST_CANCEL;
    if (!bytes_equal(type->value, bytes_text("cancel")) &&
        !bytes_equal(type->value, bytes_text("tombstone")))
        compat_note(t, CODE_BAD_OP, type, " is not a type; schedule, cancel or tombstone is meant");
}

static void check_karafka_version(struct translation *t)
{
    const struct header *version = t->given[KARAFKA_VERSION];
    if (version == NULL)
        compat_note(t, CODE_BAD_HEADER, t->first, " is given without schedule_schema_version");
    else if (version->value.len < 2 || memcmp(version->value.data, "1.", 2) != 0)
        compat_note(t, CODE_BAD_HEADER, version, " is not a version that the bridge knows: 1.0.0");
}

/* Only a key can choose the partition of a delivery. */
static void check_karafka_partition(struct translation *t)
{
    const struct header *key = t->given[KARAFKA_KEY], *by = t->given[KARAFKA_PARTITION_KEY];
    static const char WHY[] = " is not possible: schedule_target_key chooses the partition";
    if (t->given[KARAFKA_PARTITION] != NULL)
        compat_note(t, CODE_BAD_HEADER, t->given[KARAFKA_PARTITION], WHY);
    if (by != NULL && (key == NULL || !bytes_equal(key->value, by->value)))
        compat_note(t, CODE_BAD_HEADER, by, WHY);
}

static void read_karafka(struct translation *t)
{
    struct foreign *f = &t->foreign;
    check_karafka_version(t);
    read_karafka_type(t);
    if (f->op == REQUEST_CANCEL)
        return;
    check_karafka_partition(t);
    if (t->given[KARAFKA_EPOCH] != NULL)
        read_epoch_s(t, t->given[KARAFKA_EPOCH]);
    else
        compat_note(t, CODE_NO_TIME, t->first, " is given without schedule_target_epoch");
}

/* etf1 and karafka have the name of a schedule as the record key, so a delivery without a target
   key has a null key. A refused request has a target too. */
static void set_target(struct translation *t)
{
    static const enum compat_header TOPICS[COMPAT_N] = {[COMPAT_ETF1] = ETF1_TOPIC,
                                                        [COMPAT_KARAFKA] = KARAFKA_TOPIC,
                                                        [COMPAT_SPRING] = SPRING_TOPIC,
                                                        [COMPAT_SHARE_DLQ] = SHARE_DLQ_TOPIC};
    struct foreign *f = &t->foreign;
    if (TOPICS[f->format] != ROCKETMQ_LEVEL) /* 0: it has none */
        f->target = t->given[TOPICS[f->format]];
    f->key_overridden = f->format == COMPAT_ETF1 || f->format == COMPAT_KARAFKA;
    if (f->key_overridden)
        f->key = t->given[f->format == COMPAT_ETF1 ? ETF1_KEY : KARAFKA_KEY];
}

static void (*const TRANSLATORS[COMPAT_N])(struct translation *) = {
    [COMPAT_ROCKETMQ] = read_rocketmq,
    [COMPAT_RABBITMQ] = read_rabbitmq,
    [COMPAT_ETF1] = read_etf1,
    [COMPAT_KARAFKA] = read_karafka,
    [COMPAT_SPRING] = compat_read_spring,
    [COMPAT_SHARE_DLQ] = compat_read_share_dlq,
};

struct foreign compat_read(unsigned formats, const struct record *record)
{
    struct translation t = {.record = record};
    if (formats != 0)
        formats = formats_left(formats, record);
    if (formats == 0)
        return t.foreign;
    gather(&t, formats);
    set_target(&t);
    if (t.foreign.format != COMPAT_NONE && t.foreign.fault == CODE_OK)
        TRANSLATORS[t.foreign.format](&t);
    return t.foreign;
}

bool compat_may_void(unsigned formats, const struct record *record)
{
    formats &= COMPAT_BIT(COMPAT_ETF1) | COMPAT_BIT(COMPAT_KARAFKA);
    for (size_t i = 0; formats != 0 && i < record->headers_n; i++)
        if (name_of(formats, record->headers[i].name) != COMPAT_HEADERS_N)
            return true;
    return false;
}

static const char *const FORMATS[COMPAT_N] = {
#define COMPAT_NAME(id, name) [id] = (name),
    COMPAT_TABLE(COMPAT_NAME)
#undef COMPAT_NAME
};

const char *compat_name(enum compat format)
{
    assert(format > COMPAT_NONE && format < COMPAT_N);
    return FORMATS[format];
}

enum compat compat_of_name(const char *name)
{
    for (enum compat f = COMPAT_NONE + 1; f < COMPAT_N; f++)
        if (strcmp(name, FORMATS[f]) == 0)
            return f;
    return COMPAT_NONE;
}
