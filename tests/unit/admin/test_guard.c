/* SPDX-License-Identifier: Apache-2.0 */
/* guard: Host, Origin and token. */
#include "bridge/admin/guard.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char LISTEN[] = "bridge.internal:9405";

static bool host_passes(const char *host, bool has_token)
{
    return guard_host(&(struct admin_call){.host = host}, LISTEN, has_token);
}

Test(guard, without_a_token_a_foreign_host_name_is_refused)
{
    static const char *const GOOD[] = {
        "127.0.0.1:9405", "127.0.0.1",     "localhost:1",          "LOCALHOST",      "[::1]:9405",
        "[::1]",          "10.2.3.4:9405", "bridge.internal:9405", "Bridge.Internal"};
    static const char *const BAD[] = {"evil.example",     "evil.example:9405", "",      "::1",
                                      "127.0.0.1.evil:9", "localhost.evil:9",  ":9405", "a b"};
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++)
        cr_expect(host_passes(GOOD[i], false), "%s", GOOD[i]);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_not(host_passes(BAD[i], false), "%s", BAD[i]);
    cr_expect_not(host_passes(NULL, false));
    cr_expect_not(host_passes(NULL, true));
    cr_expect(host_passes("delays.example.com", true));
}

static bool origin_passes(const char *host, const char *origin, const char *site)
{
    return guard_origin(&(struct admin_call){.host = host, .origin = origin, .fetch_site = site});
}

Test(guard, page_of_another_site_is_refused)
{
    cr_expect(origin_passes("a:9405", NULL, NULL));
    cr_expect(origin_passes("a:9405", "http://a:9405", "same-origin"));
    cr_expect(origin_passes("a.example", "https://A.example", NULL));
    cr_expect_not(origin_passes("a:9405", "http://a", NULL));
    cr_expect_not(origin_passes("a:9405", "http://evil:9405", NULL));
    cr_expect_not(origin_passes("a:9405", "null", NULL));
    cr_expect_not(origin_passes("a:9405", "ftp://a:9405", NULL));
    cr_expect_not(origin_passes("a:9405", "http://a:9405/", NULL));
    cr_expect(origin_passes("a:9405", NULL, "none"));
    cr_expect_not(origin_passes("a:9405", NULL, "cross-site"));
    cr_expect_not(origin_passes("a:9405", NULL, "same-site"), "another port, or another subdomain");
}

static bool navigates(const char *mode, const char *dest, const char *origin)
{
    return guard_navigation(
        &(struct admin_call){.fetch_mode = mode, .fetch_dest = dest, .origin = origin});
}

Test(guard, only_a_browser_that_opens_a_whole_page_navigates)
{
    cr_expect(navigates("navigate", "document", NULL));
    cr_expect_not(navigates("navigate", "iframe", NULL));
    cr_expect_not(navigates("navigate", NULL, NULL));
    cr_expect_not(navigates("no-cors", "document", NULL));
    cr_expect_not(navigates("navigate", "document", "http://evil.example"), "a form that is sent");
    cr_expect_not(navigates(NULL, NULL, NULL));
}

Test(guard, only_the_exact_token_passes)
{
    static const char TOKEN[] = "0123456789abcdef";
    cr_expect(guard_token("Bearer 0123456789abcdef", TOKEN));
    cr_expect(guard_token("bearer 0123456789abcdef", TOKEN));
    static const char *const BAD[] = {"Bearer 0123456789abcdeF",
                                      "Bearer 0123456789abcde",
                                      "Bearer 0123456789abcdef0",
                                      "Bearer ",
                                      "Bearer  0123456789abcdef",
                                      "Basic 0123456789abcdef",
                                      "0123456789abcdef",
                                      "",
                                      "Bearer 0123456789abcdef0123456789abcdef"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_not(guard_token(BAD[i], TOKEN), "%s", BAD[i]);
    cr_expect_not(guard_token(NULL, TOKEN));
}

static char path[] = "/tmp/delaybridge-token-XXXXXX";

static int read_back(const char *text, size_t n, char token[TOKEN_MAX + 1], struct error *error)
{
    strcpy(strrchr(path, '-') + 1, "XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, n), (ssize_t)n);
    close(fd);
    int err = guard_read_token(path, token, error);
    unlink(path);
    return err;
}

Test(guard, token_file_has_one_printable_token)
{
    char token[TOKEN_MAX + 1], longest[TOKEN_MAX + 2];
    struct error error = {""};
    cr_expect_eq(read_back("0123456789abcdef\n", 17, token, &error), 0);
    cr_expect_str_eq(token, "0123456789abcdef");
    memset(longest, 'x', sizeof longest);
    cr_expect_eq(read_back(longest, TOKEN_MAX, token, &error), 0);
    cr_expect_eq(strlen(token), TOKEN_MAX);
    cr_expect_eq(read_back(longest, TOKEN_MAX + 1, token, &error), ERR_CONFIG);
    cr_expect_eq(read_back("short\n", 6, token, &error), ERR_CONFIG);
    cr_expect_eq(read_back("", 0, token, &error), ERR_CONFIG);
    cr_expect_eq(read_back("s3cret s3cret s3cret", 20, token, &error), ERR_CONFIG);
    cr_expect(strstr(error.text, "s3cret") == NULL, "%s", error.text);
    cr_expect_eq(read_back("0123456789\0abcdef", 17, token, &error), ERR_CONFIG);
    cr_expect_eq(guard_read_token("/no/such/file", token, &error), ERR_CONFIG);
    cr_expect(strstr(error.text, "/no/such/file") != NULL, "%s", error.text);
}
