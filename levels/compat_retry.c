/* SPDX-License-Identifier: Apache-2.0 */
/* compat: the translators of records that a consumer could not process. */
#include "levels/compat_parts.h"
#include "levels/cursor.h"
#include "levels/instant.h"
#include "levels/topic_name.h"

/* Reads a big-endian integer of 1 to 8 bytes, as Java's BigInteger and ByteBuffer write it. Returns
   false for other lengths and for negative numbers. */
static bool read_binary(struct bytes value, int64_t *number)
{
    const uint8_t *at = value.data;
    uint64_t n = 0;
    if (value.len < 1 || value.len > sizeof n || at[0] > 0x7f)
        return false;
    for (size_t i = 0; i < value.len; i++)
        n = n << 8 | at[i];
    *number = (int64_t)n;
    return true;
}

/* Reads the number of the attempt that follows: 2 after the first failure. Early versions wrote one
   byte. A missing or strange number is that of the first retry, as in Spring. */
static uint16_t spring_attempt(const struct header *header)
{
    int64_t attempt;
    bool known = header != NULL && (header->value.len == 1 || header->value.len == 4) &&
                 read_binary(header->value, &attempt) && attempt >= 2 && attempt <= UINT16_MAX;
    return known ? (uint16_t)(attempt - 1) : 1;
}

static void read_spring_origin(struct translation *t)
{
    struct foreign *f = &t->foreign;
    const struct header *partition = t->given[SPRING_PARTITION], *offset = t->given[SPRING_OFFSET];
    int64_t lane;
    if (partition == NULL || partition->value.len != 4 || !read_binary(partition->value, &lane) ||
        offset == NULL || offset->value.len != 8 || !read_binary(offset->value, &f->origin.offset))
        return;
    f->has_origin = topic_name_is_legal(f->target->value);
    f->origin.topic = f->target->value;
    f->origin.lane = (uint32_t)lane;
}

void compat_read_spring(struct translation *t)
{
    struct foreign *f = &t->foreign;
    const struct header *backoff = t->given[SPRING_BACKOFF], *first = t->given[SPRING_FIRST];
    int64_t due_ms;
    if (f->target == NULL) {
        compat_note(t, CODE_BAD_HEADER, t->first, " is given without kafka_original-topic");
        return;
    }
    if (backoff == NULL) {
        compat_note(t, CODE_NO_TIME, t->first, " is given without retry_topic-backoff-timestamp");
        return;
    }
    if (!read_binary(backoff->value, &due_ms) || due_ms < INSTANT_MS_MIN) {
        compat_note(t, CODE_BAD_TIME, backoff, " is not a binary epoch in milliseconds");
        return;
    }
    compat_set_time(t, backoff, false, due_ms);
    f->counted = true;
    f->attempt = spring_attempt(t->given[SPRING_ATTEMPTS]);
    if (first == NULL || !read_binary(first->value, &f->first_ms))
        f->first_ms = -1;
    read_spring_origin(t);
}

#define SHARE_DLQ "__dlq.errors."

/* A broker that does not copy the record, or no longer finds it, writes only its own headers. */
static bool is_copied(const struct record *record)
{
    for (size_t i = 0; i < record->headers_n; i++)
        if (strncmp(record->headers[i].name, SHARE_DLQ, sizeof SHARE_DLQ - 1) != 0)
            return true;
    return !bytes_is_null(record->key) || !bytes_is_null(record->value);
}

static bool read_number(const struct header *header, int64_t *number)
{
    if (header == NULL)
        return false;
    struct cursor c = cursor_of(header->value);
    return cursor_take_number(&c, number) && cursor_at_end(&c);
}

void compat_read_share_dlq(struct translation *t)
{
    struct foreign *f = &t->foreign;
    int64_t lane;
    if (f->target == NULL) {
        compat_note(t, CODE_BAD_HEADER, t->first, " is given without __dlq.errors.topic");
        return;
    }
    if (!read_number(t->given[SHARE_DLQ_PARTITION], &lane) || lane > INT32_MAX ||
        !read_number(t->given[SHARE_DLQ_OFFSET], &f->origin.offset)) {
        compat_note(t, CODE_BAD_HEADER, f->target,
                    " is given without a number in __dlq.errors.partition and __dlq.errors.offset");
        return;
    }
    if (!is_copied(t->record)) {
        compat_note(t, CODE_BAD_HEADER, f->target,
                    " is of a record that the broker did not copy: set "
                    "errors.deadletterqueue.copy.record.enable of the group");
        return;
    }
    f->retry = f->target;
    f->has_origin = topic_name_is_legal(f->target->value);
    f->origin.topic = f->target->value;
    f->origin.lane = (uint32_t)lane;
}
