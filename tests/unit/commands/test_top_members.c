/* SPDX-License-Identifier: Apache-2.0 */
/* top_members: which processes top reads. */
#include "bridge/commands/top_members.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct top_members members;

static void take(const char *const addresses[][2], size_t n)
{
    struct control_list list = {.members = calloc(n, sizeof *list.members), .members_n = n};
    char here[MEMBER_TEXT_MAX];
    cr_assert_not_null(list.members);
    member_host(here);
    for (size_t i = 0; i < n; i++) {
        struct member *one = &list.members[i];
        snprintf(one->host, sizeof one->host, "%s", addresses[i][0] ? addresses[i][0] : here);
        snprintf(one->address, sizeof one->address, "%s", addresses[i][1]);
    }
    top_members_take(&members, &list);
    cr_expect_eq(list.members, NULL);
}

static void end(void)
{
    top_members_deinit(&members);
}

TestSuite(top_members, .fini = end);

Test(top_members, processes_of_this_host_are_read_by_their_loopback)
{
    take((const char *const[][2]){{NULL, "127.0.0.1:9404"}, {NULL, "localhost:9414"}, {NULL, ""}},
         3);
    cr_assert_eq(members.addresses_n, 2);
    cr_expect_str_eq(members.addresses[0], "127.0.0.1:9404");
    cr_expect_str_eq(members.addresses[1], "localhost:9414");
    cr_expect_eq(members.far_n, 0);
}

Test(top_members, loopback_of_another_host_is_not_read_and_said)
{
    struct error said;
    take((const char *const[][2]){{NULL, "127.0.0.1:9404"},
                                  {"another-host", "127.0.0.1:9404"},
                                  {"a-third-host", "[::1]:9404"},
                                  {"another-host", "10.1.2.3:9404"}},
         4);
    cr_assert_eq(members.addresses_n, 2);
    cr_expect_str_eq(members.addresses[1], "10.1.2.3:9404");
    cr_assert_eq(members.far_n, 2);
    cr_expect_str_eq(top_members_far(&members, &said),
                     "2 processes cannot be read from this host, such as [::1]:9404 of "
                     "a-third-host: set 'listen' there to an address that other hosts reach");
    take((const char *const[][2]){{NULL, "127.0.0.1:9404"}}, 1);
    cr_expect_eq(members.far_n, 0);
}
