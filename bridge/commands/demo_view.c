/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the picture with ANSI sequences to stdout. */
#include "bridge/commands/demo_view.h"

#include <inttypes.h>
#include <stdio.h>

#define BOLD  "\x1b[1m"
#define DIM   "\x1b[2m"
#define GREEN "\x1b[32m"
#define PLAIN "\x1b[0m"
#define LINE  "\x1b[K\n" /* clears the rest of an earlier picture */

enum { BAR_MAX = 24 };

/* Returns HH:MM:SS.mmm, a part of out. */
static const char *clock_of(int64_t ms, char out[INSTANT_TEXT_MAX])
{
    instant_format(ms, out);
    out[23] = '\0';  /* cuts the zone */
    return out + 11; /* skips the day */
}

static void draw_level(const struct demo_picture *p, const struct demo_level *level)
{
    char bar[BAR_MAX + 1];
    int length = level->waiting < BAR_MAX ? (int)level->waiting : BAR_MAX;
    memset(bar, '#', (size_t)length);
    bar[length] = '\0';
    printf("  %-6s %5" PRId64 "  %-*s", level->name, level->waiting, BAR_MAX, bar);
    if (level->next_ms != 0 && level->next_ms <= p->now_ms)
        printf("  head leaves now");
    else if (level->next_ms != 0)
        printf("  head leaves in %5.1f s", (double)(level->next_ms - p->now_ms) / 1000.0);
    printf(LINE);
}

void demo_view_draw(const struct demo_picture *p)
{
    char text[INSTANT_TEXT_MAX];
    printf("\x1b[H" BOLD "  delaybridge demo" PLAIN DIM
           "   a mock broker in this process at %s" PLAIN LINE "  page: %s" LINE LINE,
           p->bootstrap, p->page);
    printf("  %4.1f s    sent %ld    waiting %ld    delivered " GREEN "%ld" PLAIN LINE LINE,
           (double)p->elapsed_ms / 1000.0, p->sent, p->sent - p->delivered, p->delivered);
    printf(DIM "  level  waiting" PLAIN LINE);
    for (int i = 0; i < p->levels_n; i++)
        draw_level(p, &p->levels[i]);
    printf("  wheel  %5ld  " DIM "in memory, to the millisecond" PLAIN LINE LINE, p->buffered);
    printf(
        DIM
        "  delivered     due           to                        key            late" PLAIN LINE);
    for (int i = 0; i < DEMO_DELIVERIES; i++) {
        if (i >= p->last_n) {
            printf(LINE);
            continue;
        }
        const struct demo_event *e = &p->last[i];
        printf("  %s", clock_of(e->at_ms, text));
        printf("  %s  %-25s %-12s " GREEN "%4" PRId64 " ms" PLAIN LINE, clock_of(e->due_ms, text),
               e->target, e->key, e->late_ms);
    }
    printf("\x1b[J");
    fflush(stdout);
}

void demo_view_line(const struct demo_event *e)
{
    char at[INSTANT_TEXT_MAX], due[INSTANT_TEXT_MAX], delay[DURATION_TEXT_MAX];
    if (e->delivered)
        printf("%s delivered %-25s %-12s due %s late %" PRId64 " ms\n", clock_of(e->at_ms, at),
               e->target, e->key, clock_of(e->due_ms, due), e->late_ms);
    else
        printf("%s requested %-25s %-12s in  %s\n", clock_of(e->at_ms, at), e->target, e->key,
               duration_format(e->delay_ms, delay));
    fflush(stdout);
}

void demo_view_levels_line(const struct demo_picture *p)
{
    char at[INSTANT_TEXT_MAX];
    printf("%s waiting  ", clock_of(p->now_ms, at));
    for (int i = 0; i < p->levels_n; i++)
        printf(" %s %" PRId64, p->levels[i].name, p->levels[i].waiting);
    printf(" wheel %ld\n", p->buffered);
    fflush(stdout);
}
