/* SPDX-License-Identifier: Apache-2.0 */
/* criterion: the part of Criterion's header that the tests use, for ThreadSanitizer. Criterion maps
   its arena where ThreadSanitizer keeps its shadow and crashes at random. Here tests register
   themselves and run one after the other in one process (runner.c). */
#ifndef DELAYBRIDGE_TESTS_TSAN_CRITERION_H
#define DELAYBRIDGE_TESTS_TSAN_CRITERION_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_options {
    int sentinel;
    void (*init)(void);
    void (*fini)(void);
    int signal;     /* the signal by which the test must end; such a test runs in a child */
    int exit_code;  /* the exit code of the test, which runs in a child */
    double timeout; /* ignored; ctest has a timeout */
    bool disabled;
    const char *description;
};

struct test {
    const char *suite, *name;
    void (*run)(void);
    struct test_options options;
    struct test *next;
};

struct test_suite {
    const char *suite;
    struct test_options options;
    struct test_suite *next;
};

void test_register(struct test *test);
void test_suite_register(struct test_suite *suite);
/* Prints the location and the expectation. Ends the running test if fatal. */
void test_fail(bool fatal, const char *file, int line, const char *what, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void test_skip(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#define Test(suite_, name_, ...)                                                      \
    static void suite_##_##name_##_run(void);                                         \
    static struct test suite_##_##name_##_test = {                                    \
        #suite_, #name_, suite_##_##name_##_run, {.sentinel = 0, __VA_ARGS__}, NULL}; \
    __attribute__((constructor)) static void suite_##_##name_##_add(void)             \
    {                                                                                 \
        test_register(&suite_##_##name_##_test);                                      \
    }                                                                                 \
    static void suite_##_##name_##_run(void)

#define TestSuite(suite_, ...)                                                               \
    static struct test_suite suite_##_suite = {#suite_, {.sentinel = 0, __VA_ARGS__}, NULL}; \
    __attribute__((constructor)) static void suite_##_suite_add(void)                        \
    {                                                                                        \
        test_suite_register(&suite_##_suite);                                                \
    }                                                                                        \
    extern int suite_##_suite_needs_semicolon

#define TEST_CHECK(fatal, condition, what, ...)                          \
    do {                                                                 \
        if (!(condition))                                                \
            test_fail(fatal, __FILE__, __LINE__, what, " " __VA_ARGS__); \
    } while (0)

#define TEST_OP(fatal, a, op, b, ...) TEST_CHECK(fatal, (a)op(b), #a " " #op " " #b, __VA_ARGS__)
#define TEST_STR(fatal, a, op, b, ...) \
    TEST_CHECK(fatal, strcmp((a), (b)) op 0, "text " #a " " #op " " #b, __VA_ARGS__)
#define TEST_ARR(fatal, a, op, b, size, ...) \
    TEST_CHECK(fatal, memcmp((a), (b), (size)) op 0, "bytes " #a " " #op " " #b, __VA_ARGS__)
#define TEST_FLOAT(fatal, a, b, eps, ...) \
    TEST_CHECK(fatal, (a) - (b) <= (eps) && (b) - (a) <= (eps), #a " ~ " #b, __VA_ARGS__)

#define cr_assert(condition, ...)          TEST_CHECK(true, condition, #condition, __VA_ARGS__)
#define cr_assert_not(condition, ...)      TEST_CHECK(true, !(condition), "not " #condition, __VA_ARGS__)
#define cr_assert_fail(...)                TEST_CHECK(true, false, "not reached", __VA_ARGS__)
#define cr_assert_eq(a, b, ...)            TEST_OP(true, a, ==, b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...)           TEST_OP(true, a, !=, b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...)            TEST_OP(true, a, <, b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...)           TEST_OP(true, a, <=, b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...)            TEST_OP(true, a, >, b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...)           TEST_OP(true, a, >=, b, __VA_ARGS__)
#define cr_assert_null(a, ...)             TEST_CHECK(true, (a) == NULL, #a " is null", __VA_ARGS__)
#define cr_assert_not_null(a, ...)         TEST_CHECK(true, (a) != NULL, #a " is not null", __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)        TEST_STR(true, a, ==, b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...)       TEST_STR(true, a, !=, b, __VA_ARGS__)
#define cr_assert_str_empty(a, ...)        TEST_CHECK(true, (a)[0] == '\0', #a " is empty", __VA_ARGS__)
#define cr_assert_arr_eq(a, b, size, ...)  TEST_ARR(true, a, ==, b, size, __VA_ARGS__)
#define cr_assert_arr_neq(a, b, size, ...) TEST_ARR(true, a, !=, b, size, __VA_ARGS__)
#define cr_assert_float_eq(a, b, eps, ...) TEST_FLOAT(true, a, b, eps, __VA_ARGS__)
#define cr_expect(condition, ...)          TEST_CHECK(false, condition, #condition, __VA_ARGS__)
#define cr_expect_not(condition, ...) \
    TEST_CHECK(false, !(condition), "not " #condition, __VA_ARGS__)
#define cr_expect_eq(a, b, ...)           TEST_OP(false, a, ==, b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...)          TEST_OP(false, a, !=, b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...)           TEST_OP(false, a, <, b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...)          TEST_OP(false, a, <=, b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...)           TEST_OP(false, a, >, b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...)          TEST_OP(false, a, >=, b, __VA_ARGS__)
#define cr_expect_null(a, ...)            TEST_CHECK(false, (a) == NULL, #a " is null", __VA_ARGS__)
#define cr_expect_not_null(a, ...)        TEST_CHECK(false, (a) != NULL, #a " is not null", __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...)       TEST_STR(false, a, ==, b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...)      TEST_STR(false, a, !=, b, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, size, ...) TEST_ARR(false, a, ==, b, size, __VA_ARGS__)
#define cr_skip(...)                      test_skip(" " __VA_ARGS__)
#define cr_log_info(...)                  fprintf(stderr, __VA_ARGS__)
#define cr_log_warn(...)                  fprintf(stderr, __VA_ARGS__)

#endif
