/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_window: any metadata is safe to read, the window is correct after any history, and only our
   own text is accepted. */
#include "levels/window.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct window window, other;
static char text[WINDOW_TEXT_MAX + 1], again[WINDOW_TEXT_MAX + 1];

/* Checks that encoding accepted text gives the same text, and that refused text marks no offset as
   done. */
static void read_text(int64_t offset, struct bytes metadata)
{
    int err = window_decode(&other, offset, metadata);
    window_check(&other);
    assert(other.base == offset && other.next == offset);
    size_t len = window_encode(&other, again);
    if (err == 0 && metadata.len > 0)
        assert(bytes_equal(bytes_of(again, len), metadata));
    if (err != 0)
        assert(window_pending(&other, offset + WINDOW_SPAN) == WINDOW_SPAN);
}

/* Runs one step: an operation and a distance, of one byte each. */
static void step(uint8_t what, uint8_t far)
{
    int64_t distance = what & 8 ? far * 97 : far;
    int64_t admitted = window.next + (what & 16 ? distance : 0);
    int64_t done = window.base + distance, cut = done > 64 ? done - 64 : 0;
    bool was_done = window_is_done(&window, done);
    switch (what & 7) {
    case 0:
    case 1:
    case 2:
        if (window_fits(&window, admitted))
            window_admit(&window, admitted);
        break;
    case 3:
        window_rewind(&window);
        break;
    case 4:
        window_cut(&window, cut);
        assert(window.next <= cut && !window_is_done(&window, cut));
        break;
    default:
        window_done(&window, done);
        assert(window_is_done(&window, done) || done >= window.base + WINDOW_SPAN || was_done);
    }
    window_check(&window);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t offset = 0;
    if (size < 10)
        return 0;
    memcpy(&offset, data, 7);
    window_init(&window, offset);
    read_text(100, bytes_of(data, size));

    for (size_t i = 10; i + 1 < size; i += 2)
        step(data[i], data[i + 1]);
    size_t len = window_encode(&window, text);
    assert(len <= WINDOW_TEXT_MAX);
    assert(window_decode(&other, window.base, bytes_of(text, len)) == 0);
    assert(memcmp(other.bits, window.bits, sizeof window.bits) == 0);

    text[(size_t)(data[7] | data[8] << 8) % len] ^= (char)data[9];
    read_text(window.base, bytes_of(text, len));
    return 0;
}
