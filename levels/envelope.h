/* SPDX-License-Identifier: Apache-2.0 */
/* envelope: what waits in a level topic. The record's key is the business's key; its value is an
   envelope: a stamp (all that the bridge keeps of a request), then the business headers, then the
   business value. It is made once, at intake; hops forward it byte for byte; delivery opens it.

   Format; integers little endian, no padding:
     0  magic "DLBE"
     4  u8  version
     5  u8  flags: 1 value is null, 2 key is overridden, 4 the override is null, 8 has an id
     6  u16 attempt
     8  u64 checksum: XXH3-64 of bytes 16 to the end, seeded with bytes 0-7 as one u64
    16  i64 due          24 i64 timestamp   32 i64 expires (INT64_MAX: never)
    40  i64 next try (0: none)              48 i64 origin offset
    56  u32 origin lane  60 u32 number of headers
    64  u16 target length, u16 id length, u32 key length, u32 headers length, u32 value length
    80  version 2 only: u16 extras length (not 0), extras (levels/extras.h)
    80  target, key, id, headers, value (version 2: after the extras)
   A header is: u32 name length, name, NUL, i32 value length (-1: null), value.

   Versions. Every program reads versions 1 and 2. It writes version 2 for a stamp with extras and
   version 1 for every other, so the programs of a mixed group exchange version 1 in normal running.
   The first sixteen bytes keep their meaning in every version. So a program tells a damaged record,
   which is dead-lettered, from the record of a newer program, which blocks its partition until a
   program that knows it runs. The second kind is: a version above 2, and in version 2 a flag or a
   field that this program does not know. Version 1 is closed: an unknown flag there is damage. */
#ifndef DELAYBRIDGE_LEVELS_ENVELOPE_H
#define DELAYBRIDGE_LEVELS_ENVELOPE_H

#include "levels/err.h"
#include "levels/extras.h"
#include "levels/record.h"

#include <stdint.h>

#define STAMP_NEVER INT64_MAX

/* What the bridge keeps of a request. All times are epoch ms; all bytes are borrowed. */
struct stamp {
    int64_t due_ms;
    int64_t timestamp_ms;  /* the request's own: lateness counts from the later of it and due */
    int64_t expires_ms;    /* STAMP_NEVER: never */
    int64_t next_try_ms;   /* 0, or not to be tried before */
    int64_t origin_offset; /* where on S the request stands */
    uint32_t origin_lane;
    uint16_t attempt;    /* deliveries that failed so far */
    bool key_overridden; /* the delivered key is key (which may be null), not the record's */
    struct bytes key;
    struct bytes id;     /* null: the request named no dlb-id */
    struct bytes target; /* never null, 1-249 bytes */
    struct extras extras;
};

/* An opened envelope: every pointer is into the bytes that were opened. */
struct envelope {
    struct stamp stamp;
    uint32_t headers_n;
    struct bytes headers; /* encoded as above; walk with envelope_header_next */
    struct bytes value;   /* null: a tombstone */
};

/* True for every header name that begins with dlb- in any case: those are the bridge's. */
bool header_is_ours(const char *name);

/* Make an envelope of a request: the stamp, the record's headers less those that are ours, its
   value. envelope_enclose writes exactly envelope_enclosed_size bytes to out. */
size_t envelope_enclosed_size(const struct stamp *stamp, const struct record *record);
void envelope_enclose(const struct stamp *stamp, const struct record *record, void *out);

/* The same headers and value again under env->stamp, which may have been changed since it was
   opened (a retry). out must not overlap what env points into. */
size_t envelope_size(const struct envelope *env);
void envelope_encode(const struct envelope *env, void *out);

/* Check and open without allocation or copying. Any bytes are safe to open.
   Returns 0; ERR_FOREIGN: too short or not our magic (or null); ERR_DAMAGED: magic, but the
   checksum or a length is wrong; ERR_NEWER: whole and undamaged, written by a newer program (see
   Versions). */
int envelope_open(struct bytes bytes, struct envelope *env) must_check;

/* Walk the headers of an opened envelope: start with at = 0; false at the end. */
bool envelope_header_next(const struct envelope *env, size_t *at, struct header *header);

#endif
