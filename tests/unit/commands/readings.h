/* SPDX-License-Identifier: Apache-2.0 */
/* readings: figures of top from two texts of metrics, and pictures as text. */
#ifndef DELAYBRIDGE_TESTS_UNIT_COMMANDS_READINGS_H
#define DELAYBRIDGE_TESTS_UNIT_COMMANDS_READINGS_H

#include "bridge/commands/top_figures.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define ANSWER \
    "HTTP/1.1 200 OK\r\n\r\ndelaybridge_build_info{version=\"1\"} 1\ndelaybridge_ready 1\n"

/* Makes one more reading of one process, which answers at this time. */
static inline void reading(struct top_figures *figures, int64_t now_mono_ms, const char *samples)
{
    char answer[8192];
    struct scrape fresh = {0};
    snprintf(answer, sizeof answer, "%s%s", ANSWER, samples);
    cr_assert_eq(scrape_take(&fresh, answer), 0);
    figures->asked = figures->answered = 1;
    top_figures_take(figures, &fresh, now_mono_ms);
}

/* Returns what a printer writes, valid until the next call. */
#define PRINTED(call)                                           \
    ({                                                          \
        static char printed[8192];                              \
        FILE *out = fmemopen(printed, sizeof printed - 1, "w"); \
        cr_assert_not_null(out);                                \
        call;                                                   \
        fclose(out);                                            \
        printed;                                                \
    })

#endif
