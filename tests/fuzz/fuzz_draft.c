/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_draft: any bytes as a line of 'send', and as base64. They are accepted or refused with a
   sentence. An accepted line has legal names. Accepted base64 is encoded to the same text. */
#include "bridge/commands/draft.h"
#include "levels/base64.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NOW_MS = 1000000 };

static void read_base64(struct bytes text)
{
    struct bytes decoded = bytes_null();
    int err = base64_decode(text, &decoded);
    assert(err == 0 || err == ERR_DATA);
    if (err != 0)
        return;
    char *again = base64_encode(decoded);
    assert(again != NULL && bytes_equal(bytes_text(again), text));
    free(again);
    free((void *)decoded.data);
}

static void write_base64(struct bytes bytes)
{
    struct bytes back = bytes_null();
    char *text = base64_encode(bytes);
    assert(text != NULL && base64_decode(bytes_text(text), &back) == 0);
    assert(bytes_equal(back, bytes_of(bytes.len > 0 ? bytes.data : "", bytes.len)));
    free((void *)back.data);
    free(text);
}

static void read_line(struct bytes line)
{
    static const char *const patterns[] = {"*"};
    static const struct request_rules rules = {
        .allowlist = {patterns, 1, "S"}, .default_target = "t", .max_delay_ms = 3600000};
    struct draft draft = {0};
    struct error why = {""};
    int err = draft_of_json(&draft, line, &why);
    assert((err == 0) == (why.text[0] == '\0'));
    for (size_t i = 0; i < draft.headers_n; i++)
        assert(draft.headers[i].name[0] != '\0');
    if (err == 0)
        assert(draft_judge(&draft, &rules, NOW_MS, &why) == 0 || why.text[0] != '\0');
    draft_deinit(&draft);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes text = bytes_of(data, size);
    read_line(text);
    read_base64(text);
    write_base64(text);
    return 0;
}
