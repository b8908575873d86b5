/* SPDX-License-Identifier: Apache-2.0 */
/* envelope: the value of a record in a level topic. It holds a stamp (the bridge's data about a
   request), then the user's headers and value. The key of the record is the user's key. Intake
   writes the envelope once, hops forward it unchanged, and delivery decodes it.

   Format; integers little endian, no padding:
     0  magic "DLBE"
     4  u8  version
     5  u8  flags: 1 value is null, 2 key is overridden, 4 the override is null, 8 has an id
     6  u16 attempt
     8  u64 checksum: XXH3-64 of bytes 16 to the end, seeded with bytes 0-7 as one u64
    16  i64 due          24 i64 timestamp   32 i64 expires (INT64_MAX: never)
    40  i64 next try (0: none)              48 u56 origin offset, u8 its era (eras.h)
    56  u32 origin lane  60 u32 number of headers
    64  u16 target length, u16 id length, u32 key length, u32 headers length, u32 value length
    80  version 2 only: u16 extras length (not 0), extras (levels/extras.h)
    80  target, key, id, headers, value (version 2: after the extras)
   A header is: u32 name length, name, NUL, i32 value length (-1: null), value.

   Versions. Every program reads versions 1 and 2. It writes version 2 for a stamp with extras and
   version 1 for all others. So programs of different versions exchange version 1 in normal
   operation. The first sixteen bytes keep their meaning in every version. So a program can
   distinguish a damaged record from the record of a newer program. A damaged record is
   dead-lettered. A newer one blocks its partition until a program that knows it runs. A record is
   newer if its version is above 2, or if version 2 has an unknown flag or field. In version 1 an
   unknown flag is damage. */
#ifndef DELAYBRIDGE_LEVELS_ENVELOPE_H
#define DELAYBRIDGE_LEVELS_ENVELOPE_H

#include "levels/cancels.h"
#include "levels/err.h"
#include "levels/extras.h"
#include "levels/record.h"

#include <stdint.h>

#define STAMP_NEVER INT64_MAX

enum request_op { REQUEST_SCHEDULE, REQUEST_CANCEL, REQUEST_REPLACE };

/* The bridge's data about a request. All times are epoch ms. All bytes are borrowed. */
struct stamp {
    int64_t due_ms;
    int64_t timestamp_ms;  /* of the request; lateness counts from the later of it and due_ms */
    int64_t expires_ms;    /* STAMP_NEVER: never */
    int64_t next_try_ms;   /* earliest time of the next attempt; 0: none is set */
    int64_t origin_offset; /* of the request in the schedule topic; below 2^56 */
    uint32_t origin_lane;
    uint16_t attempt;    /* failed deliveries so far */
    uint8_t origin_era;  /* of origin_offset */
    uint8_t op;          /* enum request_op, by request_parse; an envelope does not have it */
    uint8_t format;      /* enum compat, by request_parse; an envelope does not have it */
    uint16_t policy;     /* of dlb-retry: 1 + its index in the rules, by request_parse; 0: none */
    bool key_overridden; /* the delivery gets `key`, which may be null, not the record's key */
    struct bytes key;
    struct bytes id;     /* null: the request has no dlb-id */
    struct bytes target; /* never null, 1-249 bytes */
    struct extras extras;
};

/* Returns when the record must be forwarded to its target: at its due time, or later after a failed
   attempt. */
static inline int64_t stamp_until_ms(const struct stamp *stamp)
{
    return stamp->next_try_ms > stamp->due_ms ? stamp->next_try_ms : stamp->due_ms;
}

/* Returns the instant from which a delivery is late: the due time, or the request's timestamp if
   that is later. */
static inline int64_t stamp_late_from_ms(const struct stamp *stamp)
{
    return stamp->due_ms > stamp->timestamp_ms ? stamp->due_ms : stamp->timestamp_ms;
}

/* Returns whether the record last waited because its target was paused or over its limit. */
static inline bool stamp_is_withheld(const struct stamp *stamp)
{
    return stamp->extras.deferral == DEFERRAL_PAUSED || stamp->extras.deferral == DEFERRAL_LIMITED;
}

/* For a record that waits because its target failed, returns the instant from which it is late.
   Returns 0 if the target does not delay the record. */
static inline int64_t stamp_overdue_ms(const struct stamp *stamp)
{
    if (stamp_is_withheld(stamp))
        return 0;
    int64_t late_from_ms = stamp_late_from_ms(stamp);
    return stamp->next_try_ms > late_from_ms ? late_from_ms : 0;
}

/* Returns whether the record returned to a level because of its target. */
static inline bool stamp_is_put_back(const struct stamp *stamp)
{
    return stamp_is_withheld(stamp) || stamp_overdue_ms(stamp) != 0;
}

/* Returns the name of a request with this record key, and sets its kind, as cancel_name does. A
   retry without dlb-id has none: the cancel of a timer with the same key does not void it. */
static inline struct bytes stamp_name(const struct stamp *stamp, struct bytes key,
                                      enum cancel_kind *kind)
{
    if (stamp->extras.is_retry && bytes_is_null(stamp->id))
        return *kind = CANCEL_BY_KEY, bytes_null();
    return cancel_name(key, stamp->id, kind);
}

/* A decoded envelope. Every pointer is into the encoded bytes. */
struct envelope {
    struct stamp stamp;
    uint32_t headers_n;
    struct bytes headers; /* encoded as above; walk with envelope_header_next */
    struct bytes value;   /* null: a tombstone */
};

/* Returns true for names that begin with dlb- in any case. They are reserved for the bridge. */
bool header_is_ours(const char *name);

/* Encodes a request as an envelope: the stamp, the record's headers without the dlb- headers, and
   its value. envelope_enclose writes exactly envelope_enclosed_size bytes to out. */
size_t envelope_enclosed_size(const struct stamp *stamp, const struct record *record);
void envelope_enclose(const struct stamp *stamp, const struct record *record, void *out);

/* Encodes headers and value again with env->stamp, which the caller may have changed for a
   redelivery. envelope_encode writes exactly envelope_size bytes to out, which must not overlap the
   bytes that env points to. */
size_t envelope_size(const struct envelope *env);
void envelope_encode(const struct envelope *env, void *out);

/* Checks and decodes without allocating or copying. Any bytes are safe to decode. Returns 0 or:
     ERR_FOREIGN    null, too short, or without our magic
     ERR_DAMAGED    our magic, but a wrong checksum or length
     ERR_NEWER      intact, but written by a newer program (see Versions) */
int envelope_open(struct bytes bytes, struct envelope *env) must_check;

/* Sets the origin, the id and extras.is_retry of the stamp, and nothing else. The bytes must be an
   envelope that envelope_open has accepted. Costs much less than opening it again. */
void envelope_origin(struct bytes bytes, struct stamp *stamp);

/* Reads the next header of a decoded envelope. Start with *at = 0. Returns false at the end. */
bool envelope_header_next(const struct envelope *env, size_t *at, struct header *header);

#endif
