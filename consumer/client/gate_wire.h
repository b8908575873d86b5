/* SPDX-License-Identifier: Apache-2.0 */
/* gate_wire: what the gate changes in messages of the Kafka protocol. Pure. A message is a frame
   without its length. Each function reads bytes of a peer and fails on a message that is cut. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_GATE_WIRE_H
#define DELAYBRIDGE_CONSUMER_CLIENT_GATE_WIRE_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdint.h>

/* A message that is written. Starts zeroed; the caller frees data. */
struct wire {
    uint8_t *data;
    size_t n, size;
};

enum wire_api {
    WIRE_OFFSETS = 2,
    WIRE_METADATA = 3,
    WIRE_COORDINATOR = 10,
    WIRE_VERSIONS = 18,
    WIRE_CREATE = 19
};

/* The header of a request. */
struct wire_header {
    int16_t api, version; /* api: an enum wire_api or another number */
    int32_t correlation;
};

/* An address that clients can connect to. */
struct wire_address {
    const char *host;
    int port;
};

/* Reads the header. Returns 0 or ERR_DATA. */
int wire_header_read(struct bytes request, struct wire_header *header) must_check;

/* Writes an ApiVersions request of version 0 with the correlation of this request, which reaches
   the mock cluster in its place. Returns 0, ERR_DATA or ERR_NO_MEMORY. */
int wire_versions_request(struct bytes request, struct wire *out) must_check;

/* Rewrite the answer to a request with this header. Return 0, ERR_DATA or ERR_NO_MEMORY.
   wire_versions takes an answer of version 0. A request of version 3 or later gets an error that
   names the earlier versions, as from an older broker. Versions that the other functions do not
   know are hidden, and those that the cluster answers wrongly. CreateTopics is added: the mock
   cluster does not have it. */
int wire_versions(struct bytes answer, const struct wire_header *header,
                  struct wire *out) must_check;
/* Replace the address of each broker. Metadata: version 0 to 2; coordinator: 0 to 2. In metadata
   the first broker becomes the controller: the mock cluster names none. */
int wire_metadata(struct bytes answer, const struct wire_header *header,
                  const struct wire_address *address, struct wire *out) must_check;
int wire_coordinator(struct bytes answer, const struct wire_header *header,
                     const struct wire_address *address, struct wire *out) must_check;

/* Creates a topic. Returns false if it exists. */
struct wire_creator {
    bool (*create)(void *ctx, const char *topic, int partitions);
    void *ctx;
};

/* Creates the topics of a CreateTopics request, version 2 to 4, and writes its answer. Settings are
   ignored. Returns 0, ERR_DATA or ERR_NO_MEMORY. */
int wire_create_topics(struct bytes request, const struct wire_creator *creator,
                       struct wire *answer) must_check;

#endif
