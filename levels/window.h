/* SPDX-License-Identifier: Apache-2.0 */
/* window: the finished offsets of one partition. Records complete out of order. A commit holds the
   first offset that is not done, and a bitmap of the done offsets above it.

     base .. next-1    admitted: done or in progress    (bit 1 = done; base itself is not done)
     next ..           not read yet; bits are set for offsets that an earlier owner finished

   When base reaches done bits above next, next moves with it. Records below next are done and must
   be skipped when they are read. Invariants (window_check):
   - base <= next <= base + WINDOW_SPAN
   - the bit of base is clear
   - each bit belongs to an offset from base to base + WINDOW_SPAN - 1
   An unset window (base == WINDOW_UNSET) takes its base from the first record. */
#ifndef DELAYBRIDGE_LEVELS_WINDOW_H
#define DELAYBRIDGE_LEVELS_WINDOW_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdint.h>

#define WINDOW_UNSET ((int64_t)-1)

/* The text form for commit metadata is "1 BASE CHECKSUM BITMAP":
     1           version
     BASE        decimal
     CHECKSUM    8 hex digits: XXH32 of the bitmap's text, seeded with XXH32 of the text before the
                 checksum
     BITMAP      base64 without padding, cut after its last byte that is not zero; absent, with its
                 space, if no offset is done
   The broker keeps 4,096 characters (offset.metadata.max.bytes), which bounds the window. */
enum {
    WINDOW_TEXT_MAX = 4096, /* without terminator */
    WINDOW_SPAN = 24320,    /* offsets: a multiple of 64 whose bitmap fits the text */
};

struct window {
    int64_t base;
    int64_t next;
    uint64_t bits[WINDOW_SPAN / 64]; /* a ring: offset o is bit o % WINDOW_SPAN */
};

/* Starts at base >= 0 with no offset done above it, or at WINDOW_UNSET. */
void window_init(struct window *window, int64_t base);

/* Admits the record at offset. It requires window_fits, and offset >= next or an unset window.
   Offsets between next and this one do not exist and count as done. An offset that is already done
   (window_is_done) may be admitted: it only moves next. While base == next no record is in
   progress, so each offset fits and base jumps to it. */
void window_admit(struct window *window, int64_t offset);
bool window_fits(const struct window *window, int64_t offset);

/* Marks an offset as done, that is, forwarded and acknowledged, and moves base. An offset below
   base is ignored, and so is one that does not fit. An offset above next is allowed: a late report
   from an earlier assignment. */
void window_done(struct window *window, int64_t offset);
bool window_is_done(const struct window *window, int64_t offset);

/* Sets next = base and keeps the bits, because records from base on will be read again. */
void window_rewind(struct window *window);

/* The log was cut at this offset: no offset from there on is done or admitted. */
void window_cut(struct window *window, int64_t at);

/* Marks the offsets below from->next that are done in `from`, a window of the same partition. If
   from->base is a span or more ahead, base first moves there. Offsets that do not fit are left out.
   Does nothing if either window is unset. Returns true if an offset was new. */
bool window_learn(struct window *window, const struct window *from);

/* Returns the end of the offsets that are known to have been read: the one after the last that is
   done or admitted. WINDOW_UNSET for an unset window. */
int64_t window_read_end(const struct window *window);

/* Returns how many offsets from base up to end (exclusive) are not done; 0 for an unset window. */
int64_t window_pending(const struct window *window, int64_t end);

/* Writes the text form to out, which has room for WINDOW_TEXT_MAX + 1 bytes. Returns its length. An
   unset window gives "". */
size_t window_encode(const struct window *window, char *out);

/* Writes the text form in at most text_max characters, without the bits that do not fit. That is
   safe: those records can only be forwarded again. Bits of the first window_span_of(text_max)
   offsets from base always fit. A text_max below the length of a prefix gives "". */
size_t window_encode_within(const struct window *window, size_t text_max, char *out);
int64_t window_span_of(size_t text_max);

/* Starts at the committed offset with the bits of text. Returns ERR_DATA if window_encode would not
   write exactly this text: it is foreign, damaged, of another version, or has another base. The
   window then starts at offset with no offset done above it. That is safe: records can only be
   forwarded again. Empty text is no error. */
int window_decode(struct window *window, int64_t offset, struct bytes text) must_check;

/* Asserts the invariants. */
void window_check(const struct window *window);

#endif
