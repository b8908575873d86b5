/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of a mix. */
#include "bridge/commands/mix.h"

#include "bridge/commands/command_options.h"
#include "levels/bytes.h"
#include "levels/duration.h"

#include <stdio.h>
#include <string.h>

enum { PART_MAX = 100 }; /* bytes of one part */

static int read_part(struct mix_part *part, struct bytes text, int64_t most_ms, struct error *error)
{
    static const struct option RATE = {.name = "--mix", .kind = OPTION_RATE, .most = RATE_MAX};
    static const struct option DELAY = {
        .name = "--mix", .kind = OPTION_DURATION, .most = INT64_MAX};
    struct option_value rate, delay;
    char most[DURATION_TEXT_MAX], copy[PART_MAX];
    snprintf(copy, sizeof copy, "%.*s", (int)text.len, (const char *)text.data);
    char *at = text.len < sizeof copy ? strchr(copy, '@') : NULL;
    if (at == NULL)
        return error_set(error, ERR_DATA, "--mix: '%s' is not a rate and a delay such as 950@15m",
                         copy);
    *at = '\0';
    int err = option_read(&RATE, copy, &rate, error);
    if (err == 0)
        err = option_read(&DELAY, at + 1, &delay, error);
    if (err != 0)
        return err;
    if (delay.number > most_ms)
        return error_set(error, ERR_DATA, "--mix: '%s' is more than max_delay, %s", at + 1,
                         duration_format(most_ms, most));
    *part = (struct mix_part){.rate = rate.rate, .delay_ms = delay.number};
    return 0;
}

int mix_parse(struct mix *mix, const char *text, int64_t most_ms, struct error *error)
{
    for (mix->n = 0; mix->n < MIX_MAX; text++) {
        struct bytes part = bytes_of(text, strcspn(text, ","));
        int err = read_part(&mix->parts[mix->n], part, most_ms, error);
        if (err != 0)
            return err;
        mix->n++;
        text += part.len;
        if (*text == '\0')
            return 0;
    }
    return error_set(error, ERR_DATA, "--mix: '%.80s' is one part too many, the limit is %d", text,
                     MIX_MAX);
}
