/* SPDX-License-Identifier: Apache-2.0 */
/* labels: an entry keeps its number when the configuration changes, and their number is bounded. */
#include "bridge/service/labels.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(labels, entry_keeps_its_number_after_a_reload)
{
    static const char *const before[] = {"orders.*", "billing"}, *const after[] = {"new",
                                                                                   "billing"};
    uint8_t first[TARGET_LABELS], second[TARGET_LABELS];
    labels_number(LABEL_TARGETS, before, 2, first);
    labels_number(LABEL_TARGETS, after, 2, second);
    cr_expect_eq(second[1], first[1]);
    cr_expect_neq(second[0], first[0]);
    cr_expect_str_eq(labels_text(LABEL_TARGETS, first[0]), "orders.*");
    cr_expect_str_eq(labels_text(LABEL_TARGETS, second[0]), "new");
}

Test(labels, entries_beyond_the_room_share_one_label)
{
    static char names[200][24];
    const char *entries[200];
    uint8_t numbers[TARGET_LABELS];
    for (int i = 0; i < 200; i++) {
        snprintf(names[i], sizeof names[i], "topic-%d", i);
        entries[i] = names[i];
    }
    labels_number(LABEL_TARGETS, entries, 200, numbers);
    for (int i = 0; i < TARGET_LABELS; i++) {
        const char *text = labels_text(LABEL_TARGETS, numbers[i]);
        cr_expect_str_eq(text, i < LABEL_OTHER - 1 ? names[i] : "(other)");
    }
    cr_expect_str_eq(labels_text(LABEL_TARGETS, LABEL_NONE), "(none)");
}
