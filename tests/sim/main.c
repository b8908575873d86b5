/* SPDX-License-Identifier: Apache-2.0 */
/* sim: runs the real bridge in a model world, one seed after the other. See tests/sim/README.md. */
#include "tests/sim/digest.h"
#include "tests/sim/exhaustive.h"
#include "tests/sim/faults.h"
#include "tests/sim/scenarios.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PROGRESS_SEEDS = 10000, FAILURES_MAX = 10, BUG_SEEDS = 5000, EX_USAGE = 64 };
enum { KEPT_BYTES = 1 << 30 };

struct options {
    uint64_t from, n, minutes; /* minutes: the longest run; 0: no limit */
    bool strict, verbose, bugs, scenarios, exhaustive, failures, one, digest, calls, stop;
    const char *scenario;
    enum bug bug;
    const char *program;
};

/* Turns a failed assert of the bridge into a failed seed. The next seed still runs. */
static void trap_assert(int number)
{
    (void)number;
    snprintf(world_failure, sizeof world_failure, "an assertion failed (see above)");
    siglongjmp(world_trap, 1);
}

/* Keeps freed memory in the process. A small world would spend more time on requests to the kernel
   than on its work. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Prints how often the seeds reached each event. A mix that never reaches one proves nothing about
   it. */
static void print_totals(const struct stats *sum, uint64_t crashes, uint64_t repeats)
{
    uint64_t dead = 0;
    for (int code = 0; code < CODE_N; code++)
        dead += counter_read(&sum->dead[code]);
#define N(name) counter_read(&sum->name)
    printf("requests %" PRIu64 " hops %" PRIu64 " deliveries %" PRIu64 " dead letters %" PRIu64
           " repeated %" PRIu64 "\ncrashes %" PRIu64 " rebalances %" PRIu64 " commits %" PRIu64
           "+%" PRIu64 " failed, already done %" PRIu64 " redeliveries %" PRIu64
           " deferrals %" PRIu64 " resends %" PRIu64 " aborts %" PRIu64 "\nno room %" PRIu64
           " missing offsets %" PRIu64 " lost positions %" PRIu64 " stall recoveries %" PRIu64
           " order violations %" PRIu64 "\n",
           N(requests), N(hops), N(deliveries), dead, repeats, crashes, N(rebalances), N(commits),
           N(commits_failed), N(already_done), N(redeliveries), N(deferrals), N(resends), N(aborts),
           N(window_full), N(missing_offsets), N(lost_positions), N(stall_recoveries),
           N(order_violations));
#undef N
}

/* Prints the progress of a long run. */
static void print_progress(const struct options *options, uint64_t done, double took)
{
    if (done % PROGRESS_SEEDS != 0 || options->n <= PROGRESS_SEEDS)
        return;
    printf("%" PRIu64 " seeds (to %" PRIu64 "), %.0f seeds/s\n", done, options->from + done - 1,
           (double)done / took);
}

static int run_seeds(const struct options *options)
{
    static struct world world;
    static struct stats sum;
    uint64_t passed = 0, failed = 0, steps = 0, crashes = 0, repeats = 0, exactly_once = 0;
    double virtual_s = 0, start = seconds();
    world.verbose = options->verbose;
    world.strict = options->strict;
    world.bug = options->bug;
    for (uint64_t i = 0; i < options->n && failed < FAILURES_MAX; i++) {
        uint64_t seed = options->from + i;
        if (options->minutes > 0 && seconds() - start >= (double)options->minutes * 60)
            break;
        if (world_passes(&world, seed, run_seed)) {
            passed++;
        } else {
            failed++;
            printf("seed %" PRIu64 " FAILED: %s\n  again: %s --seed %" PRIu64 " -v%s%s\n", seed,
                   world_failure, options->program, seed, options->bug ? " --bug " : "",
                   options->bug ? bug_name(options->bug) : "");
            if (options->bug != BUG_NONE || options->stop)
                break;
        }
        exactly_once += world.setup.exactly_once;
        steps += world.step;
        crashes += world.crashes;
        repeats += world.repeats;
        stats_sum(&sum, &world.totals);
        virtual_s += (double)world.now_ms / 1000;
        print_progress(options, i + 1, seconds() - start);
    }
    double took = seconds() - start;
    print_totals(&sum, crashes, repeats);
    printf("%.0f seeds/s, %" PRIu64 " steps, %.1f virtual hours in %.1f s\n",
           (double)(passed + failed) / took, steps, virtual_s / 3600, took);
    printf("%" PRIu64 " passed, %" PRIu64 " failed; %" PRIu64 " of them exactly once\n", passed,
           failed, exactly_once);
    world_forget(&world);
    return failed > 0;
}

/* Runs the bug in its own process, because it may end it. Returns its exit status, and writes the
   first line with a failure to `found`. */
static int run_bug(const struct options *options, enum bug bug, const char *what, char found[1024])
{
    char command[1024], line[1024];
    snprintf(command, sizeof command, "'%s' --bug %s %s 2>&1", options->program, bug_name(bug),
             what);
    FILE *pipe = popen(command, "r");
    found[0] = '\0';
    if (pipe == NULL)
        return -1;
    while (fgets(line, sizeof line, pipe) != NULL) {
        if (strstr(line, "FAILED: ") != NULL && found[0] == '\0')
            snprintf(found, sizeof line, "%s", line);
    }
    return pclose(pipe);
}

/* The first seeds find most bugs. A few need a story, which takes less time than all seeds. */
static bool bug_is_found(const struct options *options, enum bug bug)
{
    char found[1024] = "", all[32];
    snprintf(all, sizeof all, "--seeds %d", BUG_SEEDS);
    const char *const runs[] = {"--seeds 200", "--scenarios", all};
    int status = 0;
    for (size_t i = 0; i < sizeof runs / sizeof *runs && found[0] == '\0'; i++)
        status = run_bug(options, bug, runs[i], found);
    char *reason = strstr(found, "FAILED: ");
    unsigned long seed = strncmp(found, "seed ", 5) == 0 ? strtoul(found + 5, NULL, 10) : 0;
    if (reason != NULL)
        reason[strcspn(reason, "\n")] = '\0';
    bool judged = status != 0 && reason != NULL; /* false: the child crashed or could not start */
    printf("%-26s %-9s %5lu  %s\n", bug_name(bug), judged ? "found" : "NOT FOUND", seed,
           reason != NULL ? reason + 8 : bug_text(bug));
    return judged;
}

static int run_bugs(const struct options *options)
{
    int found = 0;
    printf("%-26s %-9s %5s  %s\n", "bug", "", "seeds", "how");
    for (int bug = BUG_NONE + 1; bug < BUG_N; bug++)
        found += bug_is_found(options, (enum bug)bug);
    printf("%d passed, %d failed\n", found, BUG_N - 1 - found);
    return found != BUG_N - 1;
}

static void report_failure(const struct options *options, const struct scope *scope, uint64_t seed)
{
    printf("seed %" PRIu64 " FAILED: %s\n  again: %s %s --seed %" PRIu64 " -v\n", seed,
           world_failure, options->program, scope->option, seed);
}

/* Runs once without the failure to count its places, then once for each place. Returns their
   number. A run that differs before its place, or never reaches it, has failed. */
static uint64_t run_places(const struct options *options, const struct scope *scope, int kind,
                           int variant, uint64_t *failed)
{
    static struct world world;
    const struct failing *f = &world.failing;
    uint64_t places = 0, last = 0, here = 0;
    world.verbose = options->verbose;
    world.strict = options->strict;
    for (uint64_t at = 0; at <= places && *failed < FAILURES_MAX; at++) {
        uint64_t seed = options->one ? options->from : scope_seed(scope, at, kind, variant);
        bool ok = world_passes(&world, seed, scope->run);
        if (ok && !options->one && at > 0 &&
            (f->seen != at || f->before != here || (at == places && f->here != last))) {
            snprintf(world_failure, sizeof world_failure, "place %" PRIu64 " is not reached", at);
            ok = false;
        }
        if (!ok)
            report_failure(options, scope, seed);
        *failed += !ok;
        if (options->one)
            break;
        if (at == 0) {
            places = f->seen;
            last = f->here;
        }
        here = at == 0 ? 0 : f->here;
    }
    return places;
}

/* Lets each process die at each of its calls. */
static int run_exhaustive(const struct options *options)
{
    uint64_t failed = 0, calls = 0;
    double start = seconds();
    for (int variant = 0; variant < DEATH_VARIANTS && failed < FAILURES_MAX; variant++) {
        uint64_t first = run_places(options, &scope_of_deaths, 1, variant, &failed);
        if (options->one)
            return failed > 0;
        uint64_t second = run_places(options, &scope_of_deaths, 2, variant, &failed);
        printf("variant %2d: a death at each of %3" PRIu64 " + %3" PRIu64 " calls\n", variant,
               first, second);
        calls += first + second;
    }
    printf("%" PRIu64 " deaths, in %d variants: %.1f s\n", calls, (int)DEATH_VARIANTS,
           seconds() - start);
    printf("%" PRIu64 " failed\n", failed);
    return failed > 0;
}

static int run_failures(const struct options *options)
{
    uint64_t failed = 0, places = 0;
    double start = seconds();
    for (int kind = FAILURE_NONE + 1; kind < FAILURE_N && failed < FAILURES_MAX; kind++) {
        uint64_t n = 0;
        for (int variant = 0; variant < FAILURE_VARIANTS; variant++) {
            n += run_places(options, &scope_of_failures, kind, variant, &failed);
            if (options->one)
                return failed > 0;
        }
        places += n;
        printf("%5" PRIu64 " times: %s\n", n, failure_text((enum failure)kind));
    }
    printf("%d failures at %" PRIu64 " places, in %d variants: %.1f s\n", FAILURE_N - 1, places,
           (int)FAILURE_VARIANTS, seconds() - start);
    printf("%" PRIu64 " failed\n", failed);
    return failed > 0;
}

static int run_scenarios(const struct options *options)
{
    static struct world world;
    int passed = 0, failed = 0;
    world.verbose = options->verbose;
    world.strict = true;
    world.bug = options->bug;
    for (const struct scenario *s = scenarios; s->name != NULL; s++) {
        if (options->scenario != NULL && strcmp(options->scenario, s->name) != 0)
            continue;
        if (world_passes(&world, 1, s->run)) {
            printf("%-60s ok\n", s->name);
            passed++;
        } else {
            printf("%-60s FAILED: %s\n", s->name, world_failure);
            failed++;
            if (options->stop)
                break;
        }
    }
    printf("%d passed, %d failed\n", passed, failed);
    world_forget(&world);
    return failed > 0 || passed == 0;
}

static int run_digest(const struct options *options)
{
    const struct digest_options digest = {.from = options->from,
                                          .n = options->n,
                                          .each = options->verbose,
                                          .calls = options->calls,
                                          .strict = options->strict,
                                          .bug = options->bug};
    return digest_seeds(&digest) > 0;
}

static _Noreturn void usage(void)
{
    fputs("usage: sim [--seeds N | --minutes M] [--from S] [--strict] [--stop] | --seed S [-v]\n"
          "           | --scenarios [--scenario NAME] [--stop] | --exhaustive | --failures\n"
          "           | --bugs | --bug NAME [--seeds N]\n"
          "           | --digest [--seeds N] [--from S] [--seed S] [-v] [--calls] [--bug NAME]\n",
          stderr);
    exit(EX_USAGE);
}

static uint64_t number(const char *text)
{
    char *end;
    if (text == NULL || *text == '\0')
        usage();
    uint64_t n = strtoull(text, &end, 10);
    if (*end != '\0')
        usage();
    return n;
}

static struct options parse(int argc, char **argv)
{
    struct options options = {.from = 1, .n = 2000, .program = argv[0]};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i], *value = argv[i + 1];
        if (strcmp(arg, "-v") == 0) {
            options.verbose = true;
            continue;
        }
        if (strcmp(arg, "--strict") == 0) {
            options.strict = true;
            continue;
        }
        if (strcmp(arg, "--exhaustive") == 0) {
            options.exhaustive = true;
            continue;
        }
        if (strcmp(arg, "--failures") == 0) {
            options.failures = true;
            continue;
        }
        if (strcmp(arg, "--stop") == 0) { /* at the first failure */
            options.stop = true;
            continue;
        }
        if (strcmp(arg, "--digest") == 0) {
            options.digest = true;
            continue;
        }
        if (strcmp(arg, "--calls") == 0) {
            options.calls = true;
            continue;
        }
        if (strcmp(arg, "--bugs") == 0) {
            options.bugs = true;
            continue;
        }
        if (strcmp(arg, "--scenarios") == 0) {
            options.scenarios = true;
            continue;
        }
        i++;
        if (value == NULL)
            usage();
        if (strcmp(arg, "--seeds") == 0) {
            options.n = number(value);
        } else if (strcmp(arg, "--minutes") == 0) {
            options.minutes = number(value);
            options.n = UINT64_MAX;
        } else if (strcmp(arg, "--from") == 0) {
            options.from = number(value);
        } else if (strcmp(arg, "--seed") == 0) {
            options.from = number(value);
            options.n = 1;
            options.strict = options.one = true;
        } else if (strcmp(arg, "--scenario") == 0) {
            options.scenarios = true;
            options.scenario = value;
        } else if (strcmp(arg, "--bug") == 0) {
            options.bug = bug_by_name(value);
            if (options.bug == BUG_N)
                usage();
        } else {
            usage();
        }
    }
    if (options.digest ? options.minutes > 0 : options.calls)
        usage();
    return options;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a sanitizer may end the process without a flush */
    struct options options = parse(argc, argv);
    signal(SIGABRT, trap_assert);
    keep_memory();
    if (options.exhaustive)
        return run_exhaustive(&options);
    if (options.failures)
        return run_failures(&options);
    if (options.digest)
        return run_digest(&options);
    if (options.bugs)
        return run_bugs(&options);
    if (options.scenarios)
        return run_scenarios(&options);
    return run_seeds(&options);
}
