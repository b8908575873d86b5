/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/admin/embedded.h"

#include <criterion/criterion.h>
#include <string.h>

Test(embedded, files_of_the_page_are_compressed)
{
    static const char *const NAMES[] = {"index.html", "page.css", "main.js", "icon.svg",
                                        "troubleshooting.md"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct bytes file;
        const char *type;
        cr_assert(embedded_page(NAMES[i], &file, &type), "%s", NAMES[i]);
        cr_assert(file.len > 20 && memcmp(file.data, "\x1f\x8b", 2) == 0, "%s", NAMES[i]);
    }
}

Test(embedded, type_follows_the_name)
{
    struct bytes file;
    const char *type;
    cr_assert(embedded_page("main.js", &file, &type));
    cr_assert_str_eq(type, "text/javascript; charset=utf-8");
}

Test(embedded, other_names_are_not_found)
{
    struct bytes file;
    const char *type;
    cr_assert(!embedded_page("main", &file, &type));
    cr_assert(!embedded_page("", &file, &type));
    cr_assert(!embedded_page("../openapi.json", &file, &type));
}

Test(embedded, the_description_of_the_api_is_not_compressed)
{
    const char *text = embedded_openapi().data;
    cr_assert_eq(text[0], '{');
}
