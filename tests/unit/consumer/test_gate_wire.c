/* SPDX-License-Identifier: Apache-2.0 */
/* gate_wire: messages are written by hand, byte for byte. */
#include "consumer/client/gate_wire.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define MESSAGE(text) bytes_of(text, sizeof text - 1)
static const struct wire_address ADDRESS = {"localhost", 9092};

static void expect(struct wire *out, int err, struct bytes wanted)
{
    cr_assert_eq(err, 0);
    cr_expect(bytes_equal(bytes_of(out->data, out->n), wanted), "%zu bytes for %zu", out->n,
              wanted.len);
    out->n = 0;
}

Test(gate_wire, a_header_is_read)
{
    struct wire_header header;
    cr_assert_eq(wire_header_read(MESSAGE("\0\3\0\2\0\0\1\7rest"), &header), 0);
    cr_expect(header.api == WIRE_METADATA && header.version == 2 && header.correlation == 263);
    cr_expect_eq(wire_header_read(MESSAGE("\0\3\0\2\0\0\1"), &header), ERR_DATA);
}

Test(gate_wire, versions_are_queried_with_version_0)
{
    struct wire out = {0};
    expect(&out,
           wire_versions_request(MESSAGE("\0\x12\0\4\0\0\0\7\0\2me\0\4java\2"
                                         "4\0"),
                                 &out),
           MESSAGE("\0\x12\0\0\0\0\0\7\0\2me"));
    expect(&out, wire_versions_request(MESSAGE("\0\x12\0\0\0\0\0\7\xff\xff"), &out),
           MESSAGE("\0\x12\0\0\0\0\0\7\xff\xff"));
    cr_expect_eq(wire_versions_request(MESSAGE("\0\x12\0\0\0\0\0\7\0\3me"), &out), ERR_DATA);
    free(out.data);
}

#define CREATE "\0\x13\0\2\0\4"

Test(gate_wire, a_later_client_learns_which_version_to_use)
{
    struct wire out = {0};
    const struct bytes answer = MESSAGE("\0\0\0\7\0\0\0\0\0\1\0\x12\0\0\0\2");
    struct wire_header header = {.api = WIRE_VERSIONS, .version = 4};
    expect(&out, wire_versions(answer, &header, &out),
           MESSAGE("\0\0\0\7\0\x23\0\0\0\2\0\x12\0\0\0\2" CREATE));
    header.version = 2;
    expect(&out, wire_versions(answer, &header, &out),
           MESSAGE("\0\0\0\7\0\0\0\0\0\2\0\x12\0\0\0\2" CREATE "\0\0\0\0"));
    header.version = 0;
    expect(&out, wire_versions(answer, &header, &out),
           MESSAGE("\0\0\0\7\0\0\0\0\0\2\0\x12\0\0\0\2" CREATE));
    free(out.data);
}

Test(gate_wire, versions_that_the_gate_or_the_cluster_cannot_serve_are_hidden)
{
    struct wire out = {0};
    struct wire_header header = {.api = WIRE_VERSIONS};
    expect(
        &out,
        wire_versions(MESSAGE("\0\0\0\7\0\0\0\0\0\4\0\3\0\0\0\x0c\0\x0a\0\1\0\4\0\1\0\0\0\x0b\0\2\0"
                              "\0\0\5"),
                      &header, &out),
        MESSAGE("\0\0\0\7\0\0\0\0\0\5\0\3\0\0\0\2\0\x0a\0\1\0\2\0\1\0\0\0\x0b\0\2\0\0\0\3" CREATE));
    free(out.data);
}

/* The mock cluster names a controller that does not exist. */
Test(gate_wire, each_broker_of_metadata_gets_the_address_and_the_first_is_the_controller)
{
    struct wire out = {0};
    struct wire_header header = {.api = WIRE_METADATA, .version = 0};
    expect(&out,
           wire_metadata(MESSAGE("\0\0\0\7\0\0\0\2\0\0\0\1\0\3a.b\0\0\xad\xb1\0\0\0\2\0\0\0\0\0\1"
                                 "topics"),
                         &header, &ADDRESS, &out),
           MESSAGE("\0\0\0\7\0\0\0\2\0\0\0\1\0\x09localhost\0\0\x23\x84\0\0\0\2\0\x09localhost\0\0"
                   "\x23\x84"
                   "topics"));
    header.version = 2;
    expect(&out,
           wire_metadata(MESSAGE("\0\0\0\7\0\0\0\1\0\0\0\1\0\3a.b\0\0\xad\xb1\0\4rack\0\2me\0\0\0\0"
                                 "topics"),
                         &header, &ADDRESS, &out),
           MESSAGE("\0\0\0\7\0\0\0\1\0\0\0\1\0\x09localhost\0\0\x23\x84\0\4rack\0\2me\0\0\0\1"
                   "topics"));
    free(out.data);
}

Test(gate_wire, a_coordinator_gets_the_address_and_an_error_stays)
{
    struct wire out = {0};
    struct wire_header header = {.api = WIRE_COORDINATOR, .version = 2};
    expect(&out,
           wire_coordinator(MESSAGE("\0\0\0\7\0\0\0\0\0\0\xff\xff\0\0\0\1\0\3a.b\0\0\xad\xb1"),
                            &header, &ADDRESS, &out),
           MESSAGE("\0\0\0\7\0\0\0\0\0\0\xff\xff\0\0\0\1\0\x09localhost\0\0\x23\x84"));
    header.version = 0;
    expect(&out,
           wire_coordinator(MESSAGE("\0\0\0\7\0\0\0\0\0\1\0\3a.b\0\0\xad\xb1"), &header, &ADDRESS,
                            &out),
           MESSAGE("\0\0\0\7\0\0\0\0\0\1\0\x09localhost\0\0\x23\x84"));
    const struct bytes error = MESSAGE("\0\0\0\7\0\x0f\xff\xff\xff\xff\xff\xff\0\0\0\0");
    expect(&out, wire_coordinator(error, &header, &ADDRESS, &out), error);
    free(out.data);
}

/* A cut message has no answer, and is never read beyond its end. */
Test(gate_wire, cut_messages_are_refused)
{
    static const char METADATA[] =
        "\0\0\0\7\0\0\0\1\0\0\0\1\0\3a.b\0\0\xad\xb1\0\4rack\0\2me\0\0\0\0";
    static const char COORDINATOR[] = "\0\0\0\7\0\0\0\0\0\0\xff\xff\0\0\0\1\0\3a.b\0\0\xad\xb1";
    struct wire_header metadata = {.api = WIRE_METADATA, .version = 2},
                       coordinator = {.api = WIRE_COORDINATOR, .version = 2},
                       versions = {.api = WIRE_VERSIONS};
    struct wire out = {0};
    for (size_t n = 0; n < sizeof METADATA - 1; n++)
        cr_expect_eq(wire_metadata(bytes_of(METADATA, n), &metadata, &ADDRESS, &out), ERR_DATA,
                     "%zu", n);
    for (size_t n = 0; n < sizeof COORDINATOR - 1; n++)
        cr_expect_eq(wire_coordinator(bytes_of(COORDINATOR, n), &coordinator, &ADDRESS, &out),
                     ERR_DATA, "%zu", n);
    cr_expect_eq(wire_versions(bytes_of(METADATA, 15), &versions, &out), ERR_DATA);
    free(out.data);
}

struct created {
    char names[3][64];
    int partitions[3], n;
};

static bool create(void *ctx, const char *topic, int partitions)
{
    struct created *c = ctx;
    snprintf(c->names[c->n], sizeof *c->names, "%s", topic);
    c->partitions[c->n++] = partitions;
    return strcmp(topic, "old") != 0;
}

/* Three topics. The first has two partitions and a setting, the second two assigned partitions. The
   third has the default number, and exists. */
static const char CREATES[] = "\0\x13\0\4\0\0\0\7\0\2me\0\0\0\3"
                              "\0\3two\0\0\0\2\0\1\0\0\0\0\0\0\0\1\0\1k\xff\xff"
                              "\0\3put\xff\xff\xff\xff\xff\xff\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\1\0\0"
                              "\0\1\0\0\0\1\0\0\0\1\0\0\0\0"
                              "\0\3old\xff\xff\xff\xff\0\1\0\0\0\0\0\0\0\0"
                              "\0\0\x75\x30\0";

Test(gate_wire, topics_are_created_and_each_has_a_result)
{
    struct created created = {.n = 0};
    struct wire out = {0};
    const struct wire_creator creator = {create, &created};
    expect(
        &out, wire_create_topics(bytes_of(CREATES, sizeof CREATES - 1), &creator, &out),
        MESSAGE(
            "\0\0\0\7\0\0\0\0\0\0\0\3\0\3two\0\0\xff\xff\0\3put\0\0\xff\xff\0\3old\0\x24\xff\xff"));
    cr_assert_eq(created.n, 3);
    cr_expect(created.partitions[0] == 2 && created.partitions[1] == 2 &&
              created.partitions[2] == 4);
    cr_expect_str_eq(created.names[2], "old");
    free(out.data);
}

Test(gate_wire, a_check_creates_no_topic)
{
    char checks[sizeof CREATES];
    struct created created = {.n = 0};
    struct wire out = {0};
    const struct wire_creator creator = {create, &created};
    memcpy(checks, CREATES, sizeof checks);
    checks[sizeof checks - 2] = 1;
    cr_assert_eq(wire_create_topics(bytes_of(checks, sizeof checks - 1), &creator, &out), 0);
    cr_expect_eq(created.n, 0);
    free(out.data);
}

Test(gate_wire, a_cut_request_for_topics_is_refused)
{
    struct wire out = {0};
    for (size_t n = 0; n < sizeof CREATES - 6; n++) {
        struct created created = {.n = 0};
        const struct wire_creator creator = {create, &created};
        cr_expect_eq(wire_create_topics(bytes_of(CREATES, n), &creator, &out), ERR_DATA, "%zu", n);
    }
    free(out.data);
}
