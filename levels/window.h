/* SPDX-License-Identifier: Apache-2.0 */
/* window: what is done of one partition. Records complete out of order; what may be committed is
   the first offset that is not done, with a bitmap of what is done above it.

     base .. next-1    admitted: done or in work           (bit 1 = done; base itself is not done)
     next ..           not read yet, but bits may be set: an earlier owner had done them

   Where bits beyond next are reached by base, next moves with it: what is read below next is to be
   passed over, it is done.
   Invariants (window_check): base <= next <= base + WINDOW_SPAN; the bit of base is clear; all bits
   belong to base .. base + WINDOW_SPAN - 1 (the ring has no room for others). An unset window (base
   == WINDOW_UNSET) takes its base from the first record. */
#ifndef DELAYBRIDGE_LEVELS_WINDOW_H
#define DELAYBRIDGE_LEVELS_WINDOW_H

#include "levels/bytes.h"
#include "levels/err.h"

#include <stdint.h>

#define WINDOW_UNSET ((int64_t)-1)

/* The broker keeps 4,096 characters of commit metadata (offset.metadata.max.bytes); the text form
   is "1 BASE CHECKSUM BITMAP": version, base in decimal, 8 hex digits, bitmap in base64 without
   padding, cut after its last byte that is not zero (with nothing done, the text ends after the
   checksum). The checksum is XXH32 of the bitmap's text, seeded with XXH32 of what stands before
   the checksum. What is left for the bitmap bounds the window. */
enum {
    WINDOW_TEXT_MAX = 4096, /* without terminator */
    WINDOW_SPAN = 24320,    /* offsets: a multiple of 64 whose bitmap fits the text */
};

struct window {
    int64_t base;
    int64_t next;
    uint64_t bits[WINDOW_SPAN / 64]; /* a ring: offset o is bit o % WINDOW_SPAN */
};

/* Start at base >= 0 (nothing done above it), or WINDOW_UNSET. */
void window_init(struct window *window, int64_t base);

/* The record at offset is being taken in. offset >= next (or the window is unset) and inside the
   span: ask window_fits first. Offsets between next and it do not exist and count as done. An
   offset that was done before (ask window_is_done) may be admitted: it only moves next on. With
   nothing in work (base == next) every offset fits: base jumps to it. */
void window_admit(struct window *window, int64_t offset);
bool window_fits(const struct window *window, int64_t offset);

/* offset is done: forwarded and acknowledged. Below base it is ignored; beyond next it is allowed
   (a late report of an earlier life) as long as it fits, else ignored. Moves base on. */
void window_done(struct window *window, int64_t offset);
bool window_is_done(const struct window *window, int64_t offset);

/* Forget what was admitted and not done: next = base, bits stay. It will be read again. */
void window_rewind(struct window *window);

/* All that from says is done below from->next is done here too, as far as it fits the span that
   then begins at base; from->base may be any number of spans ahead. Both of the same partition;
   nothing is learned if either is unset. True if that was anything new. */
bool window_learn(struct window *window, const struct window *from);

/* How many offsets from base up to end (exclusive) are not done. An unset window: 0. */
int64_t window_pending(const struct window *window, int64_t end);

/* The text form, cut after the last set bit; out holds WINDOW_TEXT_MAX + 1. Returns its length. An
   unset window gives "". */
size_t window_encode(const struct window *window, char *out);

/* The same in at most text_max characters: bits that do not fit are left out, which is safe (what
   they say can only be done again). Nothing is left out of the first window_span_of(text_max)
   offsets from base on. A text_max that holds no prefix gives "". */
size_t window_encode_within(const struct window *window, size_t text_max, char *out);
int64_t window_span_of(size_t text_max);

/* Start at the committed offset with what text says. ERR_DATA if the text is not ours, damaged, of
   another version, or of another base than the offset: the window then starts at offset with
   nothing done above it, which is safe (it can only repeat). Empty text is no error. Only what
   window_encode writes is accepted, to the letter. */
int window_decode(struct window *window, int64_t offset, struct bytes text) must_check;

void window_check(const struct window *window);

#endif
