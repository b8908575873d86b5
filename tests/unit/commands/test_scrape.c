/* SPDX-License-Identifier: Apache-2.0 */
/* scrape: reading metrics over HTTP, here from a listener of the same program. */
#include "bridge/commands/scrape.h"
#include "bridge/service/http.h"

#include <criterion/criterion.h>

static const char *body = "delaybridge_build_info{version=\"1\"} 1\n";
static char address[64];
static struct error error;
static struct http *http;

static int answer_body(void *ctx, FILE *out)
{
    fputs(*(const char **)ctx, out);
    return 200;
}

static const struct http_route routes[] = {{"/metrics", "text/plain", answer_body},
                                           {NULL, NULL, NULL}};

static void start(void)
{
    http = http_start("127.0.0.1:0", routes, &body, &error);
    cr_assert_not_null(http, "%s", error.text);
    snprintf(address, sizeof address, "127.0.0.1:%d", http_port(http));
}

static void stop(void)
{
    http_stop(http);
}
TestSuite(scrape, .init = start, .fini = stop, .timeout = 20);

Test(scrape, brackets_hold_an_address_of_ipv6)
{
    struct http *six = http_start("[::1]:0", routes, &body, &error);
    if (six == NULL)
        cr_skip("no IPv6 here");
    snprintf(address, sizeof address, "[::1]:%d", http_port(six));
    struct scrape scrape = {0};
    cr_expect_eq(scrape_read(&scrape, address, 1000, &error), 0, "%s", error.text);
    scrape_deinit(&scrape);
    http_stop(six);
}

Test(scrape, several_services_add_up)
{
    struct scrape scrape = {0};
    body = "# HELP a_total it\na_total 2\nb{x=\"1\",y=\"z\"} 1.5\nhead_timestamp_seconds 100\n"
           "lanes_configured 8\nlanes_unserved 1\nread_behind_seconds "
           "2\nx_limit_per_second{target=\"a\"} 0.5\n"
           "delaybridge_build_info{version=\"1\"} 1\n";
    cr_assert_eq(scrape_read(&scrape, address, 1000, &error), 0, "%s", error.text);
    body = "a_total 3\nb{x=\"1\",y=\"z\"} 2\nnew 1\nhead_timestamp_seconds 90\nlanes_configured 8\n"
           "lanes_unserved 2\n"
           "x_limit_per_second{target=\"a\"} 0.5\nread_behind_seconds 3\n"
           "delaybridge_build_info{version=\"1\"} 1\n";
    cr_assert_eq(scrape_read(&scrape, address, 1000, &error), 0, "%s", error.text);
    cr_expect_eq(scrape_value(&scrape, "read_behind_seconds"), 3, "the larger");
    cr_expect_eq(scrape_value(&scrape, "a_total"), 5);
    cr_expect_eq(scrape_value(&scrape, "b{x=\"1\",y=\"z\"}"), 3.5);
    cr_expect_eq(scrape_value(&scrape, "new"), 1);
    cr_expect_eq(scrape_value(&scrape, "head_timestamp_seconds"), 90, "the earlier");
    cr_expect_eq(scrape_value(&scrape, "lanes_configured"), 8, "the larger");
    cr_expect_eq(scrape_value(&scrape, "lanes_unserved"), 2, "the larger");
    cr_expect_eq(scrape_value(&scrape, "x_limit_per_second{target=\"a\"}"), 0.5, "the larger");
    cr_expect_null(scrape_find(&scrape, "a"));
    scrape_deinit(&scrape);
}

Test(scrape, silent_address_is_distinguished_from_another_program)
{
    struct scrape scrape = {0};
    body = "other_build_info 1\n";
    cr_expect_eq(scrape_read(&scrape, address, 1000, &error), ERR_DATA);
    cr_expect(strstr(error.text, address) != NULL, "%s", error.text);
    cr_expect_eq(scrape_read(&scrape, "127.0.0.1:1", 1000, &error), ERR_KAFKA);
    cr_expect(strstr(error.text, "'127.0.0.1:1': ") != NULL, "%s", error.text);
    cr_expect_eq(scrape_read(&scrape, "nonsense", 1000, &error), ERR_KAFKA);
    cr_expect(strstr(error.text, "'nonsense': not HOST:PORT") != NULL, "%s", error.text);
    scrape_deinit(&scrape);
}
