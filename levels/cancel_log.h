/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_log: the values of records on the topic of cancels. Each lane has one log there, which is
   trimmed from the front. After a restart, this log gives the cancels in force again.

     entry     a cancel or replace that was read from the schedule topic; the record's key is the
               name that it voids
     seal      log ends of the lane; all cancels below its end of the schedule topic were in force
               when the others were read
     cut       the schedule topic was cut or replaced: a new era begins (eras.h)

   Format; integers little endian, no padding:
     0  magic "DLBC" (entry), "DLBS" (seal) or "DLBX" (cut)
     4  u8  version: 1
     5  u8  entry: enum cancel_kind          6  u8  entry: enum cancel_op          7  u8  era
     8  u64 checksum: XXH3-64 of bytes 16 to the end, seeded with bytes 0-7 as one u64
   Entry:   16  i64 offset     24  i64 timestamp     32  i64 in force
   Seal:    16  i64 number     24  u32 count, u32 0  32  count times: i64 level, i64 end
   Cut:     16  i64 at

   The era is that of the offsets on the schedule topic. It is 0 until the first cut. A cut has the
   era that begins. Older programs ignore the era, and ignore a cut.

   The first sixteen bytes keep their meaning in every version. */
#ifndef DELAYBRIDGE_LEVELS_CANCEL_LOG_H
#define DELAYBRIDGE_LEVELS_CANCEL_LOG_H

#include "levels/bytes.h"
#include "levels/cancels.h"
#include "levels/err.h"
#include "levels/plan.h"

#include <stdint.h>

enum cancel_op { CANCEL_OP_CANCEL = 0, CANCEL_OP_REPLACE = 1 };

struct cancel_entry {
    enum cancel_kind kind;
    enum cancel_op op;
    uint8_t era;          /* of the offset */
    int64_t offset;       /* of the cancel on the schedule topic; >= 0 */
    int64_t timestamp_ms; /* of its record there */
    int64_t in_force_ms;  /* wall clock of the bridge, since when it is in force */
};

/* Values of seal_end.level_ms that are no level. */
enum { SEAL_SCHEDULE = 0, SEAL_CANCELS = -1, SEAL_ENDS_MAX = 2 + 2 * LADDER_MAX };

struct seal_end {
    int64_t level_ms; /* a level by its duration, since its slot may change; or a SEAL_ value */
    int64_t end;      /* high watermark; of the schedule topic: the first offset not admitted */
};

struct cancel_seal {
    int64_t number;       /* larger than those of all seals before it; >= 0 */
    int64_t timestamp_ms; /* its record's; not a part of the value */
    uint8_t era;          /* of its end of the schedule topic */
    size_t n;
    struct seal_end ends[SEAL_ENDS_MAX];
};

struct cancel_cut {
    uint8_t era; /* that begins */
    int64_t at;  /* its first offset on the schedule topic; >= 0 */
};

enum cancel_record { CANCEL_RECORD_ENTRY, CANCEL_RECORD_SEAL, CANCEL_RECORD_CUT };

enum {
    CANCEL_ENTRY_SIZE = 40,
    CANCEL_CUT_SIZE = 24,
    CANCEL_SEAL_MAX = 32 + 16 * SEAL_ENDS_MAX,
};

/* Each writes a value to out and returns its size. */
size_t cancel_entry_encode(const struct cancel_entry *entry, void *out);
size_t cancel_seal_encode(const struct cancel_seal *seal, void *out);
size_t cancel_cut_encode(const struct cancel_cut *cut, void *out);

/* A decoded record; the member that belongs to `type` is set. */
struct cancel_decoded {
    enum cancel_record type;
    union {
        struct cancel_entry entry;
        struct cancel_seal seal;
        struct cancel_cut cut;
    } is;
};

/* Any bytes are safe to decode. Returns 0 or:
     ERR_FOREIGN    null, too short, or without one of our magics
     ERR_DAMAGED    a wrong checksum, length or field
     ERR_NEWER      intact, but of a version above 1; type is set */
int cancel_record_decode(struct bytes value, struct cancel_decoded *decoded) must_check;

#endif
