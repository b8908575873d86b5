/* SPDX-License-Identifier: Apache-2.0 */
/* extras: the optional fields of a stamp. Most records have none. A record that has one is written
   as an envelope of version 2, which holds them as follows:

     a field is  u8 tag, u16 length, bytes; integers little endian
       1  last error   u16 code (not 0), phrase of 0-120 bytes
       2  deferral     u8 reason (not 0)
       3  retry        u16 attempt, i64 first attempt, u32 origin lane, i64 origin offset,
                       origin topic of 0-249 bytes (0: the bridge's own schedule topic)
       4  spread       i64 ms, above 0
     Tags ascend and each occurs once, so equal extras have equal bytes.

   The format of a field never changes; an addition is a new tag. A tag that this program does not
   know comes from a newer program, and may decide when or where the record is delivered. A program
   that dropped or ignored the field could deliver too early or to the wrong topic. So such a record
   blocks its partition like a newer version of the envelope (ERR_NEWER). An unknown error code or
   deferral reason does not affect delivery: it is kept and written unchanged. */
#ifndef DELAYBRIDGE_LEVELS_EXTRAS_H
#define DELAYBRIDGE_LEVELS_EXTRAS_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdint.h>

enum { ERROR_TEXT_MAX = 120 };

/* The kinds of a failed delivery. Records hold the numbers and users see the names: add rows at the
   end, never change one. */
#define DELIVERY_ERROR_TABLE(X)           \
    X(DELIVERY_MISSING, "missing", 1)     \
    X(DELIVERY_REFUSED, "refused", 2)     \
    X(DELIVERY_TIMED_OUT, "timed_out", 3) \
    X(DELIVERY_UNFIT, "unfit", 4)

/* Reasons for which a due record waits without an attempt. Add rows at the end, as above. */
#define DEFERRAL_TABLE(X)           \
    X(DEFERRAL_FAILED, "failed", 1) \
    X(DEFERRAL_PAUSED, "paused", 2) \
    X(DEFERRAL_LIMITED, "limited", 3)

#define EXTRAS_ENUM(id, name, number) id = (number),
enum delivery_error { DELIVERY_NONE = 0, DELIVERY_ERROR_TABLE(EXTRAS_ENUM) };
enum deferral { DEFERRAL_NONE = 0, DEFERRAL_TABLE(EXTRAS_ENUM) };
#undef EXTRAS_ENUM

/* Facts about a retry that stay the same through all its attempts, except `attempt`. */
struct retry {
    int64_t first_ms;          /* epoch: the timestamp of the first retry request */
    int64_t origin_offset;     /* of that request in its topic */
    struct bytes origin_topic; /* null: the bridge's own schedule topic; at most 249 bytes */
    uint32_t origin_lane;
    uint16_t attempt; /* number of this retry, from 1: dlb-attempt of its delivery */
};

/* All zero: the stamp has no optional field. Bytes are borrowed. */
struct extras {
    struct bytes error;  /* phrase of the last error; null: none */
    int64_t spread_ms;   /* 0: none */
    struct retry retry;  /* if is_retry */
    uint16_t error_code; /* enum delivery_error, or a number of a newer program; 0: no error */
    uint8_t deferral;    /* enum deferral, or a number of a newer program; 0: none */
    bool is_retry;
};

static inline bool extras_are_none(const struct extras *extras)
{
    return extras->error_code == 0 && extras->deferral == 0 && !extras->is_retry &&
           extras->spread_ms == 0;
}

/* Returns the size of the encoded fields, at most 65,535. It is 0 if there are none. */
size_t extras_size(const struct extras *extras);

/* Writes exactly extras_size bytes and returns the address after them. A phrase above
   ERROR_TEXT_MAX bytes is cut between two UTF-8 characters. */
uint8_t *extras_encode(const struct extras *extras, uint8_t *out);

/* Reads the output of extras_encode. Any bytes are safe to read. Returns 0, or ERR_DAMAGED for a
   wrong length, order or value. Returns ERR_NEWER if the fields are sound up to a tag that this
   program does not know. */
int extras_open(struct bytes bytes, struct extras *extras) must_check;

/* Returns is_retry of extras that extras_open has accepted. */
bool extras_has_retry(struct bytes bytes);

/* Return the name, or NULL for a number that this program does not know. */
const char *delivery_error_name(unsigned error);
const char *deferral_name(unsigned deferral);

#endif
