/* SPDX-License-Identifier: Apache-2.0 */
/* nearest: misspelled names are found, other words are not. */
#include "levels/nearest.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const NAMES[] = {"run",       "send",           "levels",        "peek",
                                    "topics",    "hold",           "targets",       "max_delay",
                                    "log.level", "retired_levels", "default_target"};

static const char *search(const char *word)
{
    static struct nearest nearest;
    nearest_start(&nearest, word);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        nearest_try(&nearest, NAMES[i]);
    return nearest_name(&nearest);
}

Test(nearest, empty_word_has_no_near_name)
{
    cr_expect_null(search(""));
    struct nearest nearest;
    nearest_start(&nearest, "a");
    nearest_try(&nearest, "");
    cr_expect_null(nearest_name(&nearest));
}

static void finds(const char *word, const char *name)
{
    const char *found = search(word);
    cr_assert_not_null(found, "%s", word);
    cr_expect_str_eq(found, name, "%s: %s", word, found);
}

Test(nearest, one_slip_of_each_kind_is_found)
{
    finds("hodl", "hold");    /* two letters swapped */
    finds("level", "levels"); /* one missing */
    finds("peeks", "peek");   /* one added */
    finds("sand", "send");    /* a wrong letter */
    finds("snd", "send");
}

Test(nearest, longer_words_may_have_more_slips)
{
    finds("tragtes", "targets");
    finds("retierd_level", "retired_levels");
    finds("defalt_tragte", "default_target");
}

Test(nearest, separators_and_case_are_equal)
{
    finds("LOG_LEVEL", "log.level");
    finds("max-dealy", "max_delay");
    finds("maxdelay", "max_delay");
}

Test(nearest, other_words_are_not_found)
{
    static const char *const WORDS[] = {"", "x", "nope", "status", "hop", "port", "consume"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        const char *found = search(WORDS[i]);
        cr_expect_null(found, "%s: %s", WORDS[i], found);
    }
}

Test(nearest, closest_name_wins_and_of_equals_the_first)
{
    struct nearest nearest;
    nearest_start(&nearest, "target");
    nearest_try(&nearest, "targeted");
    nearest_try(&nearest, "targets");
    nearest_try(&nearest, "tarket");
    cr_expect_str_eq(nearest_name(&nearest), "targets");
}

Test(nearest, long_names_are_safe)
{
    char word[300], name[300];
    memset(word, 'w', sizeof word);
    memset(name, 'w', sizeof name);
    for (size_t n = 50; n < 70; n++) {
        struct nearest nearest;
        word[n] = name[n] = '\0';
        name[n - 1] = 'x';
        nearest_start(&nearest, word);
        nearest_try(&nearest, name);
        cr_expect_eq(nearest_name(&nearest) != NULL, n < NEAREST_NAME_MAX, "%zu", n);
        word[n] = name[n] = name[n - 1] = 'w';
    }
}
