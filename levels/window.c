/* SPDX-License-Identifier: Apache-2.0 */
/* window: a ring of done bits, and its text form for commit metadata. */
#include "levels/window.h"

#include "levels/base64.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    WORD_BITS = 64,
    WORDS = WINDOW_SPAN / WORD_BITS,
    BITMAP_BYTES = WINDOW_SPAN / 8,
    PREFIX_MAX = 32
};

/* The largest offset, so that sums with the span never overflow. */
static const int64_t OFFSET_MAX = INT64_MAX - 2 * (int64_t)WINDOW_SPAN;

_Static_assert(WINDOW_SPAN % WORD_BITS == 0, "the ring is whole words");
_Static_assert((BITMAP_BYTES * 4 + 2) / 3 + PREFIX_MAX <= WINDOW_TEXT_MAX, "the text must fit");

static size_t place_of(int64_t offset)
{
    return (size_t)(offset % WINDOW_SPAN);
}

static bool bit_get(const struct window *window, int64_t offset)
{
    size_t place = place_of(offset);
    return window->bits[place / WORD_BITS] >> place % WORD_BITS & 1;
}

static void bit_set(struct window *window, int64_t offset)
{
    size_t place = place_of(offset);
    window->bits[place / WORD_BITS] |= (uint64_t)1 << place % WORD_BITS;
}

/* Returns the mask of the bits of [at, end) that lie in the word of `at`, and their number in *n.
 */
static uint64_t word_mask(int64_t at, int64_t end, int64_t *n)
{
    int64_t shift = (int64_t)(place_of(at) % WORD_BITS);
    *n = WORD_BITS - shift;
    if (*n > end - at)
        *n = end - at;
    uint64_t ones = *n == WORD_BITS ? UINT64_MAX : ((uint64_t)1 << *n) - 1;
    return ones << shift;
}

/* Sets or clears the bits of [from, to), at most the whole ring. */
static void range_fill(struct window *window, int64_t from, int64_t to, bool done)
{
    int64_t n;
    for (; from < to; from += n) {
        uint64_t mask = word_mask(from, to, &n);
        uint64_t *word = &window->bits[place_of(from) / WORD_BITS];
        *word = done ? *word | mask : *word & ~mask;
    }
}

static int64_t range_count(const struct window *window, int64_t from, int64_t to)
{
    int64_t n, count = 0;
    for (; from < to; from += n) {
        uint64_t mask = word_mask(from, to, &n);
        count += __builtin_popcountll(window->bits[place_of(from) / WORD_BITS] & mask);
    }
    return count;
}

/* Moves base over done offsets, a word at a time, and clears their bits. */
static void base_advance(struct window *window)
{
    while (bit_get(window, window->base)) {
        size_t place = place_of(window->base);
        uint64_t *word = &window->bits[place / WORD_BITS];
        uint64_t open = ~(*word >> place % WORD_BITS);
        int64_t run = open ? __builtin_ctzll(open) : WORD_BITS;
        range_fill(window, window->base, window->base + run, false);
        window->base += run;
    }
    if (window->next < window->base)
        window->next = window->base;
}

void window_init(struct window *window, int64_t base)
{
    assert(base == WINDOW_UNSET || (base >= 0 && base <= OFFSET_MAX));
    *window = (struct window){.base = base, .next = base};
}

bool window_fits(const struct window *window, int64_t offset)
{
    return window->base == window->next || offset - window->base < WINDOW_SPAN;
}

void window_admit(struct window *window, int64_t offset)
{
    assert(offset >= 0 && offset <= OFFSET_MAX);
    if (window->base == WINDOW_UNSET)
        window->base = window->next = offset;
    assert(offset >= window->next && window_fits(window, offset));

    if (window->base == window->next) { /* no record is in progress, so base can pass the gap */
        int64_t end = offset - window->base < WINDOW_SPAN ? offset : window->base + WINDOW_SPAN;
        range_fill(window, window->base, end, false);
        window->base = offset;
    } else {
        range_fill(window, window->next, offset, true);
    }
    window->next = offset + 1;
    base_advance(window);
}

void window_done(struct window *window, int64_t offset)
{
    if (window->base == WINDOW_UNSET || offset < window->base ||
        offset - window->base >= WINDOW_SPAN)
        return;
    bit_set(window, offset);
    base_advance(window);
}

bool window_is_done(const struct window *window, int64_t offset)
{
    if (window->base == WINDOW_UNSET)
        return false;
    if (offset < window->base)
        return true;
    return offset - window->base < WINDOW_SPAN && bit_get(window, offset);
}

void window_cut(struct window *window, int64_t at)
{
    if (window->base == WINDOW_UNSET)
        return;
    if (window->base >= at) {
        window_init(window, at);
        return;
    }
    range_fill(window, at, window->base + WINDOW_SPAN, false);
    if (window->next > at)
        window->next = at;
}

void window_rewind(struct window *window)
{
    window->next = window->base;
}

bool window_learn(struct window *window, const struct window *from)
{
    if (window->base == WINDOW_UNSET || from->base == WINDOW_UNSET)
        return false;
    bool learned = from->base - window->base >= WINDOW_SPAN;
    if (learned) /* no bit of this window belongs there */
        window_init(window, from->base);
    for (int64_t offset = window->base; offset < from->next && offset - window->base < WINDOW_SPAN;
         offset++) {
        if (!window_is_done(from, offset) || window_is_done(window, offset))
            continue;
        window_done(window, offset);
        learned = true;
    }
    return learned;
}

int64_t window_pending(const struct window *window, int64_t end)
{
    if (window->base == WINDOW_UNSET || end <= window->base)
        return 0;
    int64_t known = end - window->base;
    if (known > WINDOW_SPAN)
        known = WINDOW_SPAN;
    return end - window->base - range_count(window, window->base, window->base + known);
}

/* Returns the bits of the 64 offsets from base + 64 n, the first one in the lowest bit. */
static uint64_t chunk_of(const struct window *window, size_t n)
{
    size_t place = place_of(window->base + (int64_t)(n * WORD_BITS));
    size_t word = place / WORD_BITS, shift = place % WORD_BITS;
    uint64_t bits = window->bits[word] >> shift;
    if (shift > 0)
        bits |= window->bits[(word + 1) % WORDS] << (WORD_BITS - shift);
    return bits;
}

int64_t window_read_end(const struct window *window)
{
    if (window->base == WINDOW_UNSET)
        return WINDOW_UNSET;
    for (int64_t n = WORDS - 1; n >= 0; n--) {
        uint64_t bits = chunk_of(window, (size_t)n);
        int64_t end = window->base + (n + 1) * WORD_BITS - (bits != 0 ? __builtin_clzll(bits) : 0);
        if (bits != 0)
            return end > window->next ? end : window->next;
    }
    return window->next;
}

/* Writes the bitmap from base: bit b of byte i is offset base + 8i + b. Returns its length up to
   the last byte that is not zero. */
static size_t bitmap_collect(const struct window *window, uint8_t bitmap[BITMAP_BYTES])
{
    size_t chunks = WORDS;
    while (chunks > 0 && chunk_of(window, chunks - 1) == 0)
        chunks--;
    size_t len = 0;
    for (size_t n = 0; n < chunks; n++) {
        uint64_t bits = chunk_of(window, n);
        for (size_t i = 0; i < WORD_BITS / 8; i++)
            bitmap[len++] = (uint8_t)(bits >> 8 * i);
    }
    while (len > 0 && bitmap[len - 1] == 0)
        len--;
    return len;
}

/* Returns how many bytes of the bitmap fit text_max characters. */
static size_t bitmap_room(size_t text_max)
{
    size_t room = text_max < PREFIX_MAX ? 0 : (text_max - PREFIX_MAX) / 4 * 3;
    return room < BITMAP_BYTES ? room : BITMAP_BYTES;
}

int64_t window_span_of(size_t text_max)
{
    int64_t span = (int64_t)bitmap_room(text_max) * 8;
    return span > 0 ? span : 1;
}

size_t window_encode(const struct window *window, char *out)
{
    return window_encode_within(window, WINDOW_TEXT_MAX, out);
}

size_t window_encode_within(const struct window *window, size_t text_max, char *out)
{
    out[0] = '\0';
    if (window->base == WINDOW_UNSET || text_max < PREFIX_MAX)
        return 0;

    uint8_t bitmap[BITMAP_BYTES];
    char text[WINDOW_TEXT_MAX + 1];
    size_t len = bitmap_collect(window, bitmap), room = bitmap_room(text_max);
    len = len < room ? len : room;
    while (len > 0 && bitmap[len - 1] == 0)
        len--;
    size_t text_n = base64_put(text, bytes_of(bitmap, len));
    text[text_n] = '\0';

    int base_n = snprintf(out, PREFIX_MAX, "1 %" PRId64 " ", window->base);
    uint32_t checksum = XXH32(text, text_n, XXH32(out, (size_t)base_n, 0));
    int n = snprintf(out + base_n, WINDOW_TEXT_MAX + 1 - (size_t)base_n, "%08" PRIx32 "%s%s",
                     checksum, text_n ? " " : "", text);
    assert(base_n + n <= WINDOW_TEXT_MAX);
    return (size_t)base_n + (size_t)n;
}

/* Returns the start of the bitmap: after the third space, or the end of a text with two spaces.
   Returns NULL for a foreign text. */
static const char *bitmap_find(const char *text, const char *end)
{
    for (int spaces = 0; spaces < 3; spaces++) {
        const char *space = memchr(text, ' ', (size_t)(end - text));
        if (!space)
            return spaces == 2 ? end : NULL;
        text = space + 1;
    }
    return text;
}

/* The text is valid if encoding the result gives the same text. This one comparison checks version,
   base and checksum. */
int window_decode(struct window *window, int64_t offset, struct bytes text)
{
    window_init(window, offset);
    if (text.len == 0)
        return 0;
    if (text.len > WINDOW_TEXT_MAX || offset == WINDOW_UNSET)
        return ERR_DATA;

    const char *end = (const char *)text.data + text.len;
    const char *start = bitmap_find(text.data, end);
    uint8_t bitmap[BITMAP_BYTES];
    if (start == NULL)
        return ERR_DATA;
    int64_t len = base64_take(bytes_of(start, (size_t)(end - start)), bitmap, sizeof bitmap);
    if (len < 0 || (len > 0 && bitmap[0] & 1)) /* base itself cannot be done */
        return ERR_DATA;
    for (int64_t i = 0; i < len * 8; i++)
        if (bitmap[i / 8] >> i % 8 & 1)
            bit_set(window, offset + i);

    char again[WINDOW_TEXT_MAX + 1];
    if (bytes_equal(bytes_of(again, window_encode(window, again)), text))
        return 0;
    window_init(window, offset);
    return ERR_DATA;
}

void window_check(const struct window *window)
{
    if (window->base == WINDOW_UNSET) {
        assert(window->next == WINDOW_UNSET);
        for (size_t i = 0; i < WORDS; i++)
            assert(window->bits[i] == 0);
        return;
    }
    assert(window->base >= 0 && window->base <= window->next);
    assert(window->next - window->base <= WINDOW_SPAN);
    assert(!bit_get(window, window->base));
}
