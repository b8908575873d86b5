/* SPDX-License-Identifier: Apache-2.0 */
/* member_record and members: summaries of processes as JSON, and what differs between them. */
#include "bridge/config/address.h"
#include "consumer/admin/members.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define NOW ((int64_t)1795680000000)

static struct member three[3];
static struct control_list list = {.members = three, .members_n = 3};
static char said[4][700];
static int said_n;

static struct member process(const char *address, int64_t at_wall_ms)
{
    struct member m = {.version = "0.1.0",
                       .delivery = "at-least-once",
                       .levels = "1s,5s",
                       .targets = "orders.*",
                       .config = 7,
                       .lanes = 4,
                       .host = "bridge",
                       .at_wall_ms = at_wall_ms};
    snprintf(m.key, sizeof m.key, "process:%s", address);
    snprintf(m.address, sizeof m.address, "%s", address);
    return m;
}

static void start(void)
{
    three[0] = process("10.0.0.1:9404", NOW);
    three[1] = process("10.0.0.2:9404", NOW);
    three[2] = process("10.0.0.3:9404", NOW);
    list.members_n = 3;
    said_n = 0;
}

TestSuite(members, .init = start);

static void note(void *ctx, const char *sentence)
{
    (void)ctx;
    cr_assert_lt(said_n, 4);
    snprintf(said[said_n++], sizeof said[0], "%s", sentence);
}

static void compare(void)
{
    said_n = 0;
    members_compare(&list, note, NULL);
}

static void expect_same(const struct member *a, const struct member *b)
{
    cr_expect_str_eq(a->key, b->key);
    cr_expect_str_eq(a->address, b->address);
    cr_expect_str_eq(a->host, b->host);
    cr_expect_str_eq(a->version, b->version);
    cr_expect_str_eq(a->delivery, b->delivery);
    cr_expect_str_eq(a->levels, b->levels);
    cr_expect_str_eq(a->targets, b->targets);
    cr_expect_eq(a->config, b->config);
    cr_expect_eq(a->lanes, b->lanes);
    cr_expect_eq(a->at_wall_ms, b->at_wall_ms);
    cr_expect_eq(a->has_ended, b->has_ended);
}

Test(members, summary_is_the_same_after_it_is_written_and_read)
{
    struct member back;
    char *text = member_write(&three[0]);
    cr_assert_not_null(text);
    cr_assert_eq(member_read(bytes_text(three[0].key), bytes_text(text), &back), 0);
    expect_same(&back, &three[0]);
    free(text);
}

Test(members, null_value_ends_a_process)
{
    struct member m;
    cr_assert_eq(member_read(bytes_text("process:1"), bytes_null(), &m), 0);
    cr_expect(m.has_ended);
    cr_expect_not(member_is_alive(&m, NOW));
}

Test(members, foreign_records_are_refused)
{
    struct member m;
    struct bytes key = bytes_text("process:1");
    static const char *const values[] = {
        "",
        "stop",
        "[]",
        "{}",
        "{\"at\":1}",
        "{\"at\":\"yesterday\"}",
        "{\"at\":\"2026-11-26T08:00:00.000Z\",\"config\":-1}",
        "{\"at\":\"2026-11-26T08:00:00.000Z\",\"lanes\":9999999999}"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        cr_expect_eq(member_read(key, bytes_text(values[i]), &m), ERR_FOREIGN, "%s", values[i]);
    cr_expect_eq(member_read(bytes_null(), bytes_text("{}"), &m), ERR_FOREIGN);
    char longest[MEMBER_KEY_MAX + 1] = "process:";
    memset(longest + 8, 'x', sizeof longest - 9);
    cr_expect_eq(member_read(bytes_text(longest), bytes_null(), &m), ERR_FOREIGN);
}

Test(members, process_is_gone_after_30_s)
{
    three[1].at_wall_ms = NOW - MEMBER_GONE_MS + 1;
    three[2].at_wall_ms = NOW - MEMBER_GONE_MS;
    members_keep_alive(&list, NOW);
    cr_assert_eq(list.members_n, 2);
    cr_expect_str_eq(list.members[1].address, "10.0.0.2:9404");
}

/* A process that was killed and has started again at the same address counts once. */
Test(members, only_the_latest_summary_of_an_address_counts)
{
    strcpy(three[2].address, "10.0.0.1:9404");
    strcpy(three[2].key, "process:later");
    three[2].at_wall_ms = NOW + 1;
    members_keep_alive(&list, NOW + 2);
    cr_assert_eq(list.members_n, 2);
    cr_expect_str_eq(list.members[0].key, "process:later");
    cr_expect_str_eq(list.members[1].address, "10.0.0.2:9404");
    start();
    strcpy(three[1].address, "");
    strcpy(three[2].address, "");
    members_keep_alive(&list, NOW + 2);
    cr_expect_eq(list.members_n, 3);
}

Test(members, equal_processes_do_not_differ)
{
    compare();
    cr_expect_eq(said_n, 0);
    list.members_n = 0;
    compare();
    cr_expect_eq(said_n, 0);
}

Test(members, each_setting_is_compared)
{
    strcpy(three[2].targets, "orders.*,payments.*");
    strcpy(three[1].levels, "1s,10s");
    strcpy(three[1].delivery, "exactly-once");
    strcpy(three[2].version, "0.2.0");
    three[2].config = 8;
    compare();
    cr_assert_eq(said_n, 4);
    cr_expect_str_eq(said[0],
                     "processes differ in targets: 10.0.0.1:9404 has orders.*, 10.0.0.3:9404 has "
                     "orders.*,payments.*: give all processes of the group the same configuration");
    cr_expect(strstr(said[1], "levels: 10.0.0.1:9404 has 1s,5s, 10.0.0.2:9404 has 1s,10s"));
    cr_expect(strstr(said[2], "delivery"));
    cr_expect(strstr(said[3], "upgrade"));
}

Test(members, other_keys_are_compared_by_the_hash)
{
    three[1].config = 8;
    strcpy(three[2].version, "0.2.0");
    compare();
    cr_assert_eq(said_n, 2);
    cr_expect(strstr(said[1], "10.0.0.1:9404 and 10.0.0.2:9404"));
}

Test(members, summary_has_the_configuration)
{
    char *targets[] = {(char *)"payments", (char *)"orders.*"};
    struct config config = {.targets = targets,
                            .targets_n = 2,
                            .ladder = {.level_ms = {1000, 60000}, .n = 2},
                            .listen = (char *)"127.0.0.1:9404",
                            .exactly_once = true};
    struct member m = {0};
    member_describe(&m, &config);
    cr_expect_str_eq(m.targets, "orders.*,payments");
    cr_expect_str_eq(m.levels, "1s,1m");
    cr_expect_str_eq(m.delivery, "exactly-once");
    cr_expect_str_eq(m.address, "127.0.0.1:9404");
    cr_expect_str_eq(m.admin, "");
    config.admin = (char *)"10.1.2.3:9405";
    member_describe(&m, &config);
    cr_expect_str_eq(m.admin, "10.1.2.3:9405");
    config.admin = (char *)"127.0.0.1:9405"; /* useless for others */
    member_describe(&m, &config);
    cr_expect_str_eq(m.admin, "");
    cr_expect_eq(m.config, config_hash(&config));
    config.listen = NULL;
    member_describe(&m, &config);
    cr_expect_str_eq(m.address, "");
}

/* Other processes connect to the published address. */
Test(members, published_address_can_be_connected_to)
{
    static const char *const all[] = {"0.0.0.0:9404", "[::]:9404", "[0::0]:9404"};
    struct config config = {.ladder = {.n = 0}};
    struct member m = {0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        config.listen = (char *)all[i];
        member_describe(&m, &config);
        cr_expect(strstr(m.address, ":9404"));
        cr_expect(strlen(m.address) > strlen(":9404"));
        cr_expect_not(address_is_wildcard(m.address), "%s is published as %s", all[i], m.address);
    }
    config.listen = (char *)"127.0.0.1:0";
    member_describe(&m, &config);
    cr_expect_str_eq(m.address, "");
}

/* A list that is too long is cut between two of its items. */
Test(members, long_list_of_targets_is_cut)
{
    enum { N = 200 };
    static char names[N][24];
    static char *targets[N];
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "orders.%05d", i);
        targets[i] = names[i];
    }
    struct config config = {.targets = targets, .targets_n = N, .ladder = {.n = 0}};
    struct member m = {0};
    member_describe(&m, &config);
    cr_expect_lt(strlen(m.targets), sizeof m.targets);
    cr_expect_gt(strlen(m.targets), sizeof m.targets - 20);
    cr_expect_eq((strlen(m.targets) + 1) % 13, 0);
}
