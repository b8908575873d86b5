/* SPDX-License-Identifier: Apache-2.0 */
/* faults: one failure at a time, each in a separate process. See README.md. */
#include "tests/faults/alloc.h"
#include "tests/faults/parts.h"
#include "tests/faults/said.h"
#include "tests/faults/stage.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MAX = 64, JOBS = 32, TIMEOUT_S = 150, TAIL_BYTES = 3000, NAME_BYTES = 128 };
enum { TRIES = 3 };
#define AS_IT_SHOULD "it ended as it should\n" /* but for what a sanitizer finds behind it */
enum { OVER_AFTER = 8 /* cases in a row that reach nothing: threads do not always ask as often */ };
enum { EX_USAGE = 64, EX_INTERNAL = 70 };

static const struct part {
    const char *name;
    const char *what;
    enum ending (*run)(uint64_t n);
    uint64_t (*n)(void); /* NULL: until the n-th time is not reached */
    void (*name_of)(uint64_t n, char *out, int size);
} parts[] = {
    {"config", "no memory for the configuration", part_config, NULL, NULL},
    {"bridge", "no memory for the step machine", part_bridge, NULL, NULL},
    {"draft", "no memory for a line of 'send'", part_draft, NULL, NULL},
    {"topics", "no memory for the check of topics", part_topics, NULL, NULL},
    {"looks", "no memory for the looks of commands", part_looks, NULL, NULL},
    {"listen", "no memory for the listener", part_listen, NULL, NULL},
    {"admin", "no memory for the admin API", part_admin, NULL, NULL},
    {"service", "no memory, once, in the running service", part_service, NULL, NULL},
    {"service-eo", "the same, exactly once", part_service_exactly_once, NULL, NULL},
    {"shortage", "no memory for a while", part_shortage, NULL, NULL},
    {"shortage-eo", "the same, exactly once", part_shortage_exactly_once, NULL, NULL},
    {"answers", "errors that brokers answer", part_answers, part_answers_n, part_answers_name},
    {"answers-eo", "the same, exactly once", part_answers_exactly_once, part_answers_exactly_once_n,
     part_answers_exactly_once_name},
    {"brokers", "brokers away, slow, moved", part_brokers, part_brokers_n, part_brokers_name},
    {"fatal", "producers that are broken for good", part_fatal, part_fatal_n, part_fatal_name},
    {"threads", "starts, stops, company", part_threads, part_threads_n, part_threads_name},
};
enum { PARTS_N = sizeof parts / sizeof *parts };

struct child {
    pid_t pid; /* 0: none */
    uint64_t n;
    int tries;
    int output;
    time_t until;
    bool killed;
};

struct tally {
    const struct part *part;
    uint64_t next, end, over_in_a_row; /* end: the first that is not run any more */
    int running, went_on, ended, not_asked, failed, twice, again;
};

static const char *self;
static int jobs = JOBS;
static bool verbose;

static const struct part *part_find(const char *name)
{
    for (int i = 0; i < PARTS_N; i++) {
        if (strcmp(parts[i].name, name) == 0)
            return &parts[i];
    }
    return NULL;
}

static time_t seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* librdkafka 2.0.2 leaks the offsets of a commit, a few hundred bytes, when the producer breaks
   before the answer (rd_kafka_txn_handle_TxnOffsetCommit). Only complete stacks identify this leak,
   and they take time. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:rd_kafka_send_offsets_to_transaction\n";
}

bool leaks_are_the_clients;

/* LeakSanitizer calls this at the end. */
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
    return leaks_are_the_clients;
}

static bool breaks_producers(const struct part *part)
{
    return part->run == part_answers_exactly_once || part->run == part_fatal;
}

static void start(struct child *child, const struct tally *t, uint64_t n, int tries)
{
    char number[32], name[] = "/tmp/faults.XXXXXX";
    snprintf(number, sizeof number, "%" PRIu64, n);
    *child = (struct child){.n = n,
                            .tries = tries,
                            .output = mkostemp(name, O_CLOEXEC),
                            .until = seconds() + TIMEOUT_S};
    unlink(name);
    child->pid = fork();
    if (child->pid < 0 || child->output < 0) {
        fprintf(stderr, "faults: no child: %s\n", strerror(errno));
        exit(EX_INTERNAL);
    }
    if (child->pid > 0)
        return;
    dup2(child->output, STDERR_FILENO);
    dup2(child->output, STDOUT_FILENO);
    if (breaks_producers(t->part))
        setenv("ASAN_OPTIONS", "fast_unwind_on_malloc=0", 0);
    execl(self, self, "--child", t->part->name, number, (char *)NULL);
    _exit(EX_INTERNAL);
}

/* Prints the end of its output. */
static void tail(const struct child *child, char *out)
{
    off_t end = lseek(child->output, 0, SEEK_END);
    off_t from = end > TAIL_BYTES ? end - TAIL_BYTES : 0;
    ssize_t got = pread(child->output, out, TAIL_BYTES, from);
    out[got > 0 ? got : 0] = '\0';
}

static void say(const struct tally *t, const struct child *child, const char *how)
{
    char name[NAME_BYTES] = "";
    if (t->part->name_of != NULL)
        t->part->name_of(child->n, name, sizeof name);
    printf("%s %" PRIu64 "%s%s: %s\n", t->part->name, child->n, *name ? " " : "", name, how);
    fflush(stdout);
}

/* A start without memory prints that and ends the process. */
static bool ended_by_itself(int status, const char *said)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == EX_INTERNAL &&
           strstr(said, "out of memory") != NULL && strstr(said, "Sanitizer") == NULL;
}

static void judge(struct tally *t, const struct child *child, int status)
{
    char said[TAIL_BYTES + 1], how[64];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    tail(child, said);
    const char *twice = strstr(said, STAGE_TWICE);
    int twice_n = twice == NULL ? 0 : atoi(twice + strlen(STAGE_TWICE));
    t->twice += twice_n;
    t->over_in_a_row = code == NOT_REACHED ? t->over_in_a_row + 1 : 0;
    if (t->over_in_a_row >= OVER_AFTER)
        t->end = 0;
    if (verbose && code != NOT_REACHED) {
        snprintf(how, sizeof how, "%s, %d twice",
                 code == WENT_ON     ? "went on"
                 : code == NOT_ASKED ? "not asked"
                                     : "ended",
                 twice_n);
        say(t, child, how);
    }
    if (code == WENT_ON) {
        t->went_on++;
    } else if (code == ENDED || ended_by_itself(status, said)) {
        t->ended++;
    } else if (code == NOT_ASKED) {
        t->not_asked++;
        if (!verbose)
            say(t, child, "nobody asked");
    } else if (code != NOT_REACHED) {
        t->failed++;
        snprintf(how, sizeof how, "FAILED (%s %d)",
                 child->killed         ? "hangs, signal"
                 : WIFSIGNALED(status) ? "signal"
                                       : "exit",
                 WIFSIGNALED(status) ? WTERMSIG(status) : code);
        say(t, child, how);
        printf("%s\n  again: %s --child %s %" PRIu64 "\n", said, self, t->part->name, child->n);
    }
}

/* All that it said; the caller frees it. */
static char *output_of(const struct child *child)
{
    off_t size = lseek(child->output, 0, SEEK_END);
    char *said = calloc(1, (size_t)size + 1);
    if (said == NULL || pread(child->output, said, (size_t)size, 0) != size) {
        fprintf(stderr, "faults: the output of a child cannot be read\n");
        exit(EX_INTERNAL);
    }
    return said;
}

static bool said_anywhere(const struct child *child, const char *words)
{
    char *said = output_of(child);
    bool found = strstr(said, words) != NULL;
    free(said);
    return found;
}

static void note_messages(const struct tally *t, const struct child *child)
{
    char *said = output_of(child);
    said_note(t->part->name, said);
    free(said);
}

/* A client whose producer breaks at the wrong moment leaks a request to a coordinator, a few
   hundred bytes. A second run of the case does not leak. Our own leaks repeat in each run. */
static bool lost_memory(const struct tally *t, const struct child *child)
{
    return breaks_producers(t->part) && said_anywhere(child, AS_IT_SHOULD) &&
           said_anywhere(child, " byte(s) leaked in ");
}

/* While all suites start, a request may be read so late that the faulty call is never made. */
static bool is_to_be_repeated(struct tally *t, const struct child *child, int status)
{
    bool unasked = WIFEXITED(status) && WEXITSTATUS(status) == NOT_ASKED;
    if (child->tries == TRIES || !(unasked || lost_memory(t, child)))
        return false;
    t->again += !unasked;
    say(t, child, unasked ? "met no request, is run again" : "lost memory, is run again");
    return true;
}

static void reap(struct tally *t, struct child *children)
{
    for (int i = 0; i < jobs; i++) {
        int status;
        struct child *child = &children[i];
        if (child->pid == 0)
            continue;
        if (seconds() > child->until && !child->killed) {
            child->killed = true;
            kill(child->pid, SIGABRT);
        }
        if (waitpid(child->pid, &status, WNOHANG) != child->pid)
            continue;
        if (is_to_be_repeated(t, child, status)) {
            close(child->output);
            start(child, t, child->n, child->tries + 1);
            continue;
        }
        judge(t, child, status);
        note_messages(t, child);
        close(child->output);
        child->pid = 0;
        t->running--;
    }
}

/* A case that reached nothing proves nothing, nor does one that lost memory at first; one in twenty
   is the luck of threads. */
static bool proves_too_little(const struct tally *t)
{
    int proved = t->went_on + t->ended, some = (proved + t->not_asked) / 20 + 1;
    return proved == 0 || t->not_asked >= some || t->again > some;
}

static int run_part(const struct part *part)
{
    static struct child children[JOBS_MAX];
    static const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
    struct tally t = {.part = part, .next = 1, .end = part->n ? part->n() + 1 : UINT64_MAX};
    time_t began = seconds();
    while (t.running > 0 || t.next < t.end) {
        for (int i = 0; i < jobs && t.next < t.end; i++) {
            if (children[i].pid != 0)
                continue;
            start(&children[i], &t, t.next, 1);
            t.next++;
            t.running++;
        }
        nanosleep(&pause, NULL);
        reap(&t, children);
    }
    printf("faults: %s (%s): %d went on, %d ended with a reason, ", part->name, part->what,
           t.went_on, t.ended);
    if (t.not_asked > 0)
        printf("%d were not asked, ", t.not_asked);
    if (t.again > 0)
        printf("%d were run again, ", t.again);
    if (t.twice > 0)
        printf("%d records came twice, ", t.twice);
    printf("%d failed; %lld s\n", t.failed, (long long)(seconds() - began));
    int unsaid = said_unsaid(part->name);
    fflush(stdout);
    return t.failed > 0 || unsaid > 0 || proves_too_little(&t);
}

/* For addr2line, which takes addresses as they are in the file. */
static void say_where(void)
{
    Dl_info info;
    const char *at = alloc_where();
    if (at != NULL && dladdr(at, &info) != 0)
        fprintf(stderr, "the first that failed: addr2line -fe %s %#tx\n", self,
                at - (const char *)info.dli_fbase - 1);
}

static void on_abort(int number)
{
    say_where();
    signal(number, SIG_DFL);
    raise(number);
}

static int run_child(const struct part *part, uint64_t n)
{
    signal(SIGABRT, on_abort);
    enum ending ending = part->run(n);
    if (ending == BROKEN)
        say_where();
    else
        fprintf(stderr, AS_IT_SHOULD);
    return (int)ending;
}

static int usage(void)
{
    fprintf(stderr, "usage: faults [-v] [--jobs N] PART... | --child PART N\nparts:\n");
    for (int i = 0; i < PARTS_N; i++)
        fprintf(stderr, "  %-12s %s\n", parts[i].name, parts[i].what);
    return EX_USAGE;
}

int main(int argc, char **argv)
{
    int failed = 0, first = 1;
    self = argv[0];
    if (argc == 4 && strcmp(argv[1], "--child") == 0)
        return part_find(argv[2]) == NULL
                   ? usage()
                   : run_child(part_find(argv[2]), strtoull(argv[3], NULL, 10));
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strcmp(argv[first], "-v") == 0)
            verbose = true;
        else if (strcmp(argv[first], "--jobs") == 0 && first + 1 < argc)
            jobs = atoi(argv[++first]);
        else
            return usage();
    }
    if (first >= argc || jobs < 1 || jobs > JOBS_MAX)
        return usage();
    for (int i = first; i < argc; i++) {
        if (part_find(argv[i]) == NULL)
            return usage();
    }
    for (int i = first; i < argc; i++)
        failed |= run_part(part_find(argv[i]));
    return failed;
}
