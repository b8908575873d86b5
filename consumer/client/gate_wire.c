/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the protocol are big-endian, and a text is a 16-bit length with its bytes. */
#include "consumer/client/gate_wire.h"

#include "levels/topic_name.h"

#include <stdlib.h>

enum {
    HEADER = 8,
    VERSIONS_KEPT = 2,
    OFFSETS_KEPT = 3,
    UNSUPPORTED_VERSION = 35,
    SIZE_LEAST = 256
};

enum {
    CREATE_LEAST = 2,
    CREATE_MOST = 4,
    PARTITIONS = 4,
    PARTITIONS_MAX = 10000,
    TOPIC_EXISTS = 36
};
static const uint8_t CREATE_RANGE[] = {0, WIRE_CREATE, 0, CREATE_LEAST, 0, CREATE_MOST};

/* A message that is read. failed: it ended too early; all later reads return 0. */
struct cursor {
    const uint8_t *at;
    size_t left;
    bool failed;
};

static struct cursor cursor_of(struct bytes message)
{
    return (struct cursor){message.data, message.len, false};
}

static const uint8_t *take(struct cursor *c, size_t n)
{
    c->failed = c->failed || n > c->left;
    if (c->failed)
        return NULL;
    const uint8_t *at = c->at;
    c->at += n;
    c->left -= n;
    return at;
}

static int16_t take_16(struct cursor *c)
{
    const uint8_t *at = take(c, 2);
    return at == NULL ? 0 : (int16_t)(uint16_t)((uint32_t)at[0] << 8 | at[1]);
}

static int32_t take_32(struct cursor *c)
{
    const uint8_t *at = take(c, 4);
    return at == NULL ? 0
                      : (int32_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
                                  (uint32_t)at[2] << 8 | at[3]);
}

/* Skips a text; a length below 0 is null. */
static void skip_text(struct cursor *c)
{
    int16_t n = take_16(c);
    if (n > 0)
        (void)take(c, (size_t)n);
}

static int put(struct wire *w, const void *data, size_t n)
{
    if (w->n + n > w->size) {
        size_t size = 2 * (w->n + n) + SIZE_LEAST;
        uint8_t *grown = realloc(w->data, size);
        if (grown == NULL)
            return ERR_NO_MEMORY;
        w->data = grown;
        w->size = size;
    }
    if (n > 0)
        memcpy(w->data + w->n, data, n);
    w->n += n;
    return 0;
}

static int put_16(struct wire *w, int value)
{
    return put(w, (uint8_t[]){(uint8_t)(value >> 8), (uint8_t)value}, 2);
}

static int put_32(struct wire *w, int32_t value)
{
    int err = put_16(w, value >> 16);
    return err != 0 ? err : put_16(w, value);
}

static int put_address(struct wire *w, const struct wire_address *address)
{
    size_t n = strlen(address->host);
    int err = put_16(w, (int)n);
    if (err == 0)
        err = put(w, address->host, n);
    return err != 0 ? err : put_32(w, address->port);
}

/* Copies the bytes from `from` up to the cursor. */
static int put_since(struct wire *w, const uint8_t *from, const struct cursor *c)
{
    return c->failed ? ERR_DATA : put(w, from, (size_t)(c->at - from));
}

static int put_rest(struct wire *w, const struct cursor *c)
{
    return c->failed ? ERR_DATA : put(w, c->at, c->left);
}

int wire_header_read(struct bytes request, struct wire_header *header)
{
    struct cursor c = cursor_of(request);
    header->api = take_16(&c);
    header->version = take_16(&c);
    header->correlation = take_32(&c);
    return c.failed ? ERR_DATA : 0;
}

int wire_versions_request(struct bytes request, struct wire *out)
{
    struct cursor c = cursor_of(request);
    const uint8_t *header = take(&c, HEADER);
    skip_text(&c); /* the client's id */
    if (c.failed)
        return ERR_DATA;
    int err = put_16(out, WIRE_VERSIONS);
    if (err == 0)
        err = put_16(out, 0);
    return err != 0 ? err : put_since(out, header + 4, &c);
}

/* Returns the latest version of an API that clients may use. This file rewrites only early versions
   of three APIs. The mock cluster of librdkafka 2.0.2 answers version 4 of ListOffsets wrongly if
   it has more than one partition. */
static int16_t latest_version(int16_t api, int16_t most)
{
    bool rewritten = api == WIRE_METADATA || api == WIRE_COORDINATOR || api == WIRE_VERSIONS;
    int16_t limit = rewritten ? VERSIONS_KEPT : api == WIRE_OFFSETS ? OFFSETS_KEPT : most;
    return most < limit ? most : limit;
}

static int put_range(struct wire *out, struct cursor *c)
{
    int16_t api = take_16(c), least = take_16(c), most = take_16(c);
    int err = c->failed ? ERR_DATA : put_16(out, api);
    if (err == 0)
        err = put_16(out, least);
    return err != 0 ? err : put_16(out, latest_version(api, most));
}

int wire_versions(struct bytes answer, const struct wire_header *header, struct wire *out)
{
    struct cursor c = cursor_of(answer);
    const uint8_t *start = take(&c, 4);
    int16_t code = take_16(&c);
    int32_t ranges = take_32(&c);
    if (c.failed)
        return ERR_DATA;
    int err = put(out, start, 4);
    if (err == 0)
        err = put_16(out, header->version > VERSIONS_KEPT ? UNSUPPORTED_VERSION : code);
    if (err == 0)
        err = put_32(out, ranges + 1);
    for (int32_t i = 0; err == 0 && i < ranges; i++)
        err = put_range(out, &c);
    if (err == 0)
        err = put(out, CREATE_RANGE, sizeof CREATE_RANGE);
    if (err == 0 && header->version > 0 && header->version <= VERSIONS_KEPT)
        err = put_32(out, 0); /* throttle time */
    return err;
}

int wire_metadata(struct bytes answer, const struct wire_header *header,
                  const struct wire_address *address, struct wire *out)
{
    struct cursor c = cursor_of(answer);
    const uint8_t *from = c.at;
    (void)take_32(&c); /* correlation */
    int32_t brokers = take_32(&c), controller = -1;
    int err = put_since(out, from, &c);
    for (int32_t i = 0; err == 0 && i < brokers; i++) {
        from = c.at;
        int32_t node = take_32(&c);
        controller = i == 0 ? node : controller;
        err = put_since(out, from, &c);
        skip_text(&c);
        (void)take_32(&c);
        if (err == 0)
            err = put_address(out, address);
        from = c.at;
        if (header->version >= 1)
            skip_text(&c); /* rack */
        if (err == 0)
            err = put_since(out, from, &c);
    }
    from = c.at;
    if (header->version >= 2)
        skip_text(&c); /* cluster */
    if (err == 0)
        err = put_since(out, from, &c);
    if (header->version >= 1)
        (void)take_32(&c);
    if (err == 0 && header->version >= 1)
        err = put_32(out, controller);
    return err != 0 ? err : put_rest(out, &c);
}

int wire_coordinator(struct bytes answer, const struct wire_header *header,
                     const struct wire_address *address, struct wire *out)
{
    struct cursor c = cursor_of(answer);
    const uint8_t *from = c.at;
    (void)take_32(&c); /* correlation */
    if (header->version >= 1)
        (void)take_32(&c); /* throttle time */
    int16_t code = take_16(&c);
    if (header->version >= 1)
        skip_text(&c); /* message */
    (void)take_32(&c); /* node */
    int err = put_since(out, from, &c);
    if (err != 0 || code != 0)
        return err != 0 ? err : put_rest(out, &c);
    skip_text(&c);
    (void)take_32(&c);
    err = put_address(out, address);
    return err != 0 ? err : put_rest(out, &c);
}

/* Reads a text into out as a C string. Fails if it is longer than a name of a topic. */
static void take_name(struct cursor *c, char out[TOPIC_TEXT_MAX])
{
    int16_t n = take_16(c);
    c->failed = c->failed || n <= 0 || n > TOPIC_NAME_MAX;
    const uint8_t *at = c->failed ? NULL : take(c, (size_t)n);
    if (at != NULL)
        memcpy(out, at, (size_t)n);
    out[at == NULL ? 0 : n] = '\0';
}

/* Reads a topic with its assignments and settings. Returns its number of partitions. */
static int take_topic(struct cursor *c, char name[TOPIC_TEXT_MAX])
{
    take_name(c, name);
    int32_t partitions = take_32(c);
    (void)take_16(c); /* replicas */
    int32_t assigned = take_32(c);
    for (int32_t i = 0; !c->failed && i < assigned; i++) {
        (void)take_32(c); /* partition */
        for (int32_t n = take_32(c); !c->failed && n > 0; n--)
            (void)take_32(c);
    }
    for (int32_t n = take_32(c); !c->failed && n > 0; n--) {
        skip_text(c);
        skip_text(c);
    }
    if (assigned > 0)
        partitions = assigned;
    c->failed = c->failed || partitions > PARTITIONS_MAX;
    return partitions > 0 ? partitions : PARTITIONS;
}

static int put_result(struct wire *w, const char *name, bool created)
{
    size_t n = strlen(name);
    int err = put_16(w, (int)n);
    if (err == 0)
        err = put(w, name, n);
    if (err == 0)
        err = put_16(w, created ? 0 : TOPIC_EXISTS);
    return err != 0 ? err : put_16(w, -1); /* no message */
}

int wire_create_topics(struct bytes request, const struct wire_creator *creator,
                       struct wire *answer)
{
    char name[TOPIC_TEXT_MAX];
    struct cursor c = cursor_of(request);
    (void)take(&c, 4); /* API and version */
    int32_t correlation = take_32(&c);
    skip_text(&c); /* the client's id */
    int32_t topics = take_32(&c);
    bool only_checks = c.left > 0 && c.at[c.left - 1] != 0; /* the last byte */
    int err = c.failed ? ERR_DATA : put_32(answer, correlation);
    if (err == 0)
        err = put_32(answer, 0); /* throttle time */
    if (err == 0)
        err = put_32(answer, topics);
    for (int32_t i = 0; err == 0 && i < topics; i++) {
        int partitions = take_topic(&c, name);
        err = c.failed ? ERR_DATA
                       : put_result(answer, name,
                                    only_checks || creator->create(creator->ctx, name, partitions));
    }
    return err;
}
