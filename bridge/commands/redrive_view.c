/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, bar and result of redrive. */
#include "bridge/commands/redrive_view.h"

#include "bridge/base/clock.h"
#include "bridge/commands/output.h"
#include "bridge/commands/result.h"
#include "levels/counted.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { DRAW_MS = 200, BAR_WIDTH = 30, TEXT_MAX = 600 };

#define SKIP_NAME(id, name) [id] = (name),
static const char *const SKIP_NAMES[SKIP_N] = {SKIP_TABLE(SKIP_NAME)};
#undef SKIP_NAME

void redrive_view_clear(const struct redrive_view *view)
{
    if (view->has_bar)
        fputs("\r\033[K", stderr);
}

void redrive_view_draw(struct redrive_view *view, double share)
{
    int64_t now_mono_ms = clock_mono_ms();
    output_progress(view->cli, share);
    if (!view->has_bar || now_mono_ms - view->drawn_mono_ms < DRAW_MS)
        return;
    view->drawn_mono_ms = now_mono_ms;
    int done = (int)(share * BAR_WIDTH);
    fprintf(stderr, "\r[%.*s%.*s] %3.0f %%  %" PRId64 "%s\033[K", done,
            "##############################", BAR_WIDTH - done, "..............................",
            share * 100, view->tally.n, view->dry_run ? " to send" : " sent");
    fflush(stderr);
}

int redrive_view_skip(struct redrive_view *view, struct redrive_place place, enum skip why,
                      const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    view->skipped[why]++;
    if (view->cli->json) {
        give_json(view->cli, json_pack("{s:{s:i, s:I, s:s, s:o}}", "skipped", "partition",
                                       place.partition, "offset", (json_int_t)place.offset, "why",
                                       SKIP_NAMES[why], "text", bytes_json(bytes_text(text))));
        return EXIT_DONE;
    }
    redrive_view_clear(view);
    printf("skipped %s/%d/%" PRId64 " (%s): %s\n", view->topic, place.partition, place.offset,
           SKIP_NAMES[why], text);
    return EXIT_DONE;
}

static json_t *skipped_json(const struct redrive_view *view)
{
    json_t *object = json_object();
    for (enum skip why = 0; why < SKIP_N; why++)
        json_object_set_new(object, SKIP_NAMES[why], json_integer(view->skipped[why]));
    return object;
}

static void print_text(const struct redrive_view *view, bool complete)
{
    char letters[COUNTED_MAX];
    int64_t skipped = 0;
    for (enum skip why = 0; why < SKIP_N; why++)
        skipped += view->skipped[why];
    tally_print(&view->tally);
    printf("%s %s, %" PRId64 " skipped", counted(view->tally.n, "dead letter", letters),
           view->dry_run ? "to send again" : "sent again", skipped);
    for (enum skip why = 0, n = 0; why < SKIP_N; why++)
        if (view->skipped[why] > 0)
            printf("%s%" PRId64 " %s", n++ == 0 ? ": " : ", ", view->skipped[why], SKIP_NAMES[why]);
    printf("; %" PRId64 " not selected\n", view->others);
    if (!complete)
        puts("there are more: run the command again, it continues");
}

void redrive_view_result(const struct redrive_view *view, bool complete)
{
    if (!view->cli->json) {
        print_text(view, complete);
        return;
    }
    give_json(view->cli,
              json_pack("{s:b, s:o, s:I, s:o, s:I, s:b, s:s}", "dry_run", view->dry_run, "counts",
                        tally_json(&view->tally), "sent", (json_int_t)view->tally.n, "skipped",
                        skipped_json(view), "others", (json_int_t)view->others, "complete",
                        complete, "group", view->group));
}

void redrive_view_deinit(struct redrive_view *view)
{
    tally_deinit(&view->tally);
}
