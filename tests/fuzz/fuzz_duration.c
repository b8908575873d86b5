/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_duration: any bytes are safe as a duration, an instant, a topic name or a pattern. An
   accepted text is the same after formatting and parsing again. */
#include "levels/allowlist.h"
#include "levels/duration.h"
#include "levels/instant.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED INT64_MIN

static void read_span(struct bytes text)
{
    int64_t ms = UNTOUCHED, back = UNTOUCHED;
    char out[DURATION_TEXT_MAX];
    int err = duration_parse(text, &ms);
    if (err != 0) {
        assert(err == ERR_BAD_TIME && ms == UNTOUCHED);
        return;
    }
    assert(ms >= 0 && text.len >= 2);
    assert(strlen(duration_format(ms, out)) < DURATION_TEXT_MAX);
    assert(duration_parse(bytes_text(out), &back) == 0 && back == ms);
}

static void read_instant(struct bytes text)
{
    int64_t ms = UNTOUCHED, back = UNTOUCHED;
    char out[INSTANT_TEXT_MAX];
    int err = instant_parse(text, &ms);
    if (err != 0) {
        assert(err == ERR_BAD_TIME && ms == UNTOUCHED);
        return;
    }
    bool epoch = memchr(text.data, '-', text.len) == NULL;
    assert(ms >= (epoch ? 100000000000 : -62167219200000 - 86400000));
    assert(strlen(instant_format(ms, out)) < INSTANT_TEXT_MAX);
    if (out[0] == '-')
        return; /* before the year 0000, by a zone ahead of UTC */
    assert(instant_parse(bytes_text(out), &back) == 0 && back == ms);
}

/* Checks that each formatted duration is parsed back to the same value. */
static void write_number(struct bytes bytes)
{
    int64_t ms, back;
    char span[DURATION_TEXT_MAX], instant[INSTANT_TEXT_MAX];
    if (bytes.len < sizeof ms)
        return;
    memcpy(&ms, bytes.data, sizeof ms);
    assert(strlen(instant_format(ms, instant)) < INSTANT_TEXT_MAX);
    if (ms < 0)
        return;
    assert(duration_parse(bytes_text(duration_format(ms, span)), &back) == 0 && back == ms);
}

static void read_name(struct bytes name)
{
    char *pattern = malloc(name.len + 1);
    assert(pattern);
    if (name.len > 0)
        memcpy(pattern, name.data, name.len);
    pattern[name.len] = '\0';
    const char *const patterns[] = {pattern, "*"};
    struct allowlist allowlist = {patterns, 2, "schedule"};
    bool is_canary = bytes_equal(name, bytes_text("schedule.canary"));
    bool good = topic_name_is_legal(name) && (is_canary || !topic_is_internal("schedule", name));
    assert(allowlist_allows(&allowlist, name) == good);
    allowlist.patterns_n = 1;
    assert(allowlist_allows(&allowlist, name) == good);
    bool matches_a = allowlist_allows(&allowlist, bytes_text("a")), stars = pattern[0] != '\0';
    for (const char *at = pattern; *at != '\0'; at++)
        stars &= *at == '*' || *at == 'a';
    assert(!matches_a || stars);
    free(pattern);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes text = bytes_of(data, size);
    read_span(text);
    read_instant(text);
    write_number(text);
    read_name(text);
    return 0;
}
