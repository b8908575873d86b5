/* SPDX-License-Identifier: Apache-2.0 */
/* The assembler includes the files. CMake passes their paths. The names are global, since an
   optimizing linker may move the code away from its assembler text. */
#include "bridge/admin/embedded.h"

#include <string.h>

#define GLOBAL(name) ".globl " #name "\n.hidden " #name "\n" #name ":\n"
#define EMBED(name, path)                                                                  \
    __asm__(".pushsection .rodata\n" GLOBAL(name##_begin) ".incbin \"" path "\"\n" GLOBAL( \
        name##_end) ".popsection\n");                                                      \
    extern const char name##_begin[] __attribute__((visibility("hidden")));                \
    extern const char name##_end[] __attribute__((visibility("hidden")))

EMBED(embedded_openapi, OPENAPI_PATH);

struct bytes embedded_openapi(void)
{
    return bytes_of(embedded_openapi_begin,
                    (size_t)(embedded_openapi_end - embedded_openapi_begin));
}

/* The files of page/ and the runbook: symbol, name and type. */
#define HTML     "text/html; charset=utf-8"
#define CSS      "text/css; charset=utf-8"
#define SCRIPT   "text/javascript; charset=utf-8"
#define SVG      "image/svg+xml"
#define MARKDOWN "text/plain; charset=utf-8"
#define PAGE(FILE)                                            \
    FILE(index_html, "index.html", HTML)                      \
    FILE(page_css, "page.css", CSS)                           \
    FILE(icon_svg, "icon.svg", SVG)                           \
    FILE(access, "access.js", SCRIPT)                         \
    FILE(actions, "actions.js", SCRIPT)                       \
    FILE(alerts, "alerts.js", SCRIPT)                         \
    FILE(api, "api.js", SCRIPT)                               \
    FILE(chart, "chart.js", SCRIPT)                           \
    FILE(codes, "codes.js", SCRIPT)                           \
    FILE(control, "control.js", SCRIPT)                       \
    FILE(dialog, "dialog.js", SCRIPT)                         \
    FILE(dom, "dom.js", SCRIPT)                               \
    FILE(feed, "feed.js", SCRIPT)                             \
    FILE(feeds, "feeds.js", SCRIPT)                           \
    FILE(find_card, "find_card.js", SCRIPT)                   \
    FILE(folding, "folding.js", SCRIPT)                       \
    FILE(format, "format.js", SCRIPT)                         \
    FILE(hour, "hour.js", SCRIPT)                             \
    FILE(life, "life.js", SCRIPT)                             \
    FILE(main, "main.js", SCRIPT)                             \
    FILE(markdown, "markdown.js", SCRIPT)                     \
    FILE(overview_hour, "overview_hour.js", SCRIPT)           \
    FILE(overview_levels, "overview_levels.js", SCRIPT)       \
    FILE(overview_next, "overview_next.js", SCRIPT)           \
    FILE(overview_processes, "overview_processes.js", SCRIPT) \
    FILE(overview_status, "overview_status.js", SCRIPT)       \
    FILE(overview_targets, "overview_targets.js", SCRIPT)     \
    FILE(parts, "parts.js", SCRIPT)                           \
    FILE(redrive, "redrive.js", SCRIPT)                       \
    FILE(request_form, "request_form.js", SCRIPT)             \
    FILE(running, "running.js", SCRIPT)                       \
    FILE(saving, "saving.js", SCRIPT)                         \
    FILE(session, "session.js", SCRIPT)                       \
    FILE(sorting, "sorting.js", SCRIPT)                       \
    FILE(states, "states.js", SCRIPT)                         \
    FILE(text, "text.js", SCRIPT)                             \
    FILE(theme, "theme.js", SCRIPT)                           \
    FILE(view_config, "view_config.js", SCRIPT)               \
    FILE(view_dead, "view_dead.js", SCRIPT)                   \
    FILE(view_find, "view_find.js", SCRIPT)                   \
    FILE(view_jobs, "view_jobs.js", SCRIPT)                   \
    FILE(view_runbook, "view_runbook.js", SCRIPT)             \
    FILE(view_send, "view_send.js", SCRIPT)                   \
    FILE(zone, "zone.js", SCRIPT)                             \
    FILE(runbook, "troubleshooting.md", MARKDOWN)

#define EMBED_PAGE(symbol, name, type) EMBED(page_##symbol, PAGE_FOLDER "/" name ".gz");
PAGE(EMBED_PAGE)

/* A file by the last part of its path. */
struct page_file {
    const char *name, *type, *begin, *end;
};

#define PAGE_ROW(symbol, name, type) {name, type, page_##symbol##_begin, page_##symbol##_end},
static const struct page_file PAGE_FILES[] = {PAGE(PAGE_ROW)};

bool embedded_page(const char *name, struct bytes *file, const char **type)
{
    for (size_t i = 0; i < sizeof PAGE_FILES / sizeof *PAGE_FILES; i++) {
        const struct page_file *found = &PAGE_FILES[i];
        if (strcmp(found->name, name) != 0)
            continue;
        *file = bytes_of(found->begin, (size_t)(found->end - found->begin));
        *type = found->type;
        return true;
    }
    return false;
}
