/* SPDX-License-Identifier: Apache-2.0 */
/* runner: replaces Criterion. Runs all registered tests in one process. */
#include <criterion/criterion.h>

#include <fnmatch.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

static struct test *tests;
static struct test_suite *suites;
static jmp_buf leave;
static enum { PASSED, FAILED, SKIPPED } outcome;

void test_register(struct test *test)
{
    struct test **end = &tests;
    while (*end != NULL)
        end = &(*end)->next;
    *end = test;
}

void test_suite_register(struct test_suite *suite)
{
    suite->next = suites;
    suites = suite;
}

void test_fail(bool fatal, const char *file, int line, const char *what, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "%s:%d: expected %s:", file, line, what);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    outcome = FAILED;
    if (fatal)
        longjmp(leave, 1);
}

void test_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    outcome = SKIPPED;
    longjmp(leave, 1);
}

static const struct test_options *options_of(const struct test *test)
{
    static const struct test_options none;
    for (const struct test_suite *suite = suites; suite != NULL; suite = suite->next)
        if (strcmp(suite->suite, test->suite) == 0)
            return &suite->options;
    return &none;
}

static void body(const struct test *test)
{
    const struct test_options *own = &test->options, *suite = options_of(test);
    if (own->init != NULL || suite->init != NULL)
        (own->init != NULL ? own->init : suite->init)();
    test->run();
    if (own->fini != NULL || suite->fini != NULL)
        (own->fini != NULL ? own->fini : suite->fini)();
}

static void run_here(const struct test *test)
{
    outcome = PASSED;
    if (setjmp(leave) == 0)
        body(test);
}

static void run_in_child(const struct test *test)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        run_here(test);
        _exit(outcome == PASSED ? 0 : 1);
    }
    bool waited = child > 0 && waitpid(child, &status, 0) == child;
    bool as_told = test->options.signal != 0
                       ? WIFSIGNALED(status) && WTERMSIG(status) == test->options.signal
                       : WIFEXITED(status) && WEXITSTATUS(status) == test->options.exit_code;
    outcome = waited && as_told ? PASSED : FAILED;
}

int main(int argc, char **argv)
{
    const char *filter = "*";
    int count[3] = {0};
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--filter=", 9) == 0)
            filter = argv[i] + 9;
    for (const struct test *test = tests; test != NULL; test = test->next) {
        char name[256];
        snprintf(name, sizeof name, "%s/%s", test->suite, test->name);
        if (test->options.disabled || fnmatch(filter, name, 0) != 0)
            continue;
        if (test->options.signal != 0 || test->options.exit_code != 0)
            run_in_child(test);
        else
            run_here(test);
        count[outcome]++;
        if (outcome != PASSED)
            fprintf(stderr, "%s %s\n", outcome == FAILED ? "FAILED" : "SKIPPED", name);
    }
    fprintf(stderr, "Tested: %d | %d passed, %d failed, %d skipped\n",
            count[PASSED] + count[FAILED], count[PASSED], count[FAILED], count[SKIPPED]);
    return count[FAILED] == 0 ? 0 : 1;
}
