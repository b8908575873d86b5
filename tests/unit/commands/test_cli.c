/* SPDX-License-Identifier: Apache-2.0 */
/* cli: what the program prints and exits with, for right and wrong command lines. */
#include "bridge/commands/cli.h"
#include "consumer/client/mock.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

static char out[65536], err[65536];

static void clean(void)
{
    static char *none[] = {NULL};
    environ = none;
}
TestSuite(cli, .init = clean);

static void take_back(FILE *file, int fd, int real, char *text)
{
    fflush(NULL);
    dup2(real, fd);
    close(real);
    rewind(file);
    text[fread(text, 1, sizeof out - 1, file)] = '\0';
    fclose(file);
}

/* Runs the words of a command line. Returns the exit code. */
static int program(const char *line)
{
    char copy[500], *argv[32], *rest = copy;
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", line);
    while (argc < 32 && (argv[argc] = strsep(&rest, " ")) != NULL)
        argc++;
    FILE *out_file = tmpfile(), *err_file = tmpfile();
    fflush(NULL);
    int real_out = dup(STDOUT_FILENO), real_err = dup(STDERR_FILENO);
    dup2(fileno(out_file), STDOUT_FILENO);
    dup2(fileno(err_file), STDERR_FILENO);
    int code = cli_main(argc, argv);
    take_back(out_file, STDOUT_FILENO, real_out, out);
    take_back(err_file, STDERR_FILENO, real_err, err);
    return code;
}

static void ends(const char *line, int code, const char *words)
{
    int got = program(line);
    cr_expect_eq(got, code, "%s: %d: %s", line, got, err);
    cr_expect(strstr(code == EXIT_DONE ? out : err, words) != NULL, "%s: %s%s", line, out, err);
    cr_expect_str_eq(code == EXIT_DONE ? err : out, "", "%s", line);
    if (code != EXIT_DONE) /* scripts show the last line */
        cr_expect_eq(strchr(err, '\n') + 1 - err, (ptrdiff_t)strlen(err), "%s: %s", line, err);
}

Test(cli, mistakes_in_the_command_line_exit_64)
{
    ends("delaybridge", EXIT_USAGE, "a command is missing");
    ends("delaybridge nope", EXIT_USAGE, "'nope'");
    ends("delaybridge help nope", EXIT_USAGE, "'nope'");
    ends("delaybridge version more", EXIT_USAGE, "'more'");
    ends("delaybridge explain", EXIT_USAGE, "explain");
    ends("delaybridge explain 37", EXIT_USAGE, "'37'");
    ends("delaybridge explain 37m -o xml", EXIT_USAGE, "'xml'");
    ends("delaybridge explain 37m --timeout 5", EXIT_USAGE, "'5'");
    ends("delaybridge explain 41d", EXIT_USAGE, "max_delay");
    ends("delaybridge explain 37m -c", EXIT_USAGE, "-c");
    ends("delaybridge run --hodl 1s -Xbootstrap.servers=a:1 --targets a", EXIT_USAGE, "'--hodl'");
}

Test(cli, an_unknown_option_leads_to_the_help_of_its_command)
{
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        char line[100], help[100];
        snprintf(help, sizeof help, "'--nope' (see 'delaybridge help %s')", c->name);
        snprintf(line, sizeof line, "delaybridge %s --nope", c->name);
        ends(line, EXIT_USAGE, help);
    }
    ends("delaybridge", EXIT_USAGE, "a command is missing (see 'delaybridge help')");
}

Test(cli, a_misspelled_command_or_option_names_the_nearest_one)
{
    ends("delaybridge snd", EXIT_USAGE, "'snd': did you mean send?");
    ends("delaybridge help leves", EXIT_USAGE, "'leves': did you mean levels?");
    ends("delaybridge run --hodl 1s -Xbootstrap.servers=a:1 --targets a", EXIT_USAGE,
         "'--hodl': did you mean --hold?");
    ends("delaybridge size -c /dev/null --paylod 1", EXIT_USAGE, "did you mean --payload?");
    ends("delaybridge top -c /dev/null --evry 1s", EXIT_USAGE, "did you mean --every?");
    ends("delaybridge demo --second 9", EXIT_USAGE, "did you mean --seconds?");
    ends("delaybridge levels -c /dev/null -Xbootstrap.servers=a:1 --lane", EXIT_USAGE,
         "did you mean --lanes?");
    ends("delaybridge peek -c /dev/null -Xbootstrap.servers=a:1 1s --limt=3", EXIT_USAGE,
         "did you mean --limit?");
    ends("delaybridge send -c /dev/null -Xbootstrap.servers=a:1 --targets a --traget b", EXIT_USAGE,
         "did you mean --target?");
    ends("delaybridge levels -c /dev/null -Xbootstrap.servers=a:1 --colour", EXIT_USAGE,
         "--colour");
    cr_expect(strstr(err, "did you mean") == NULL, "%s", err);
}

/* Texts that are not numbers, and numbers outside the bounds. */
static const char *const NO_NUMBERS[] = {
    "-1", "0x1", "1e3", "+2", "3x", "1.5.2", "nan", "inf", "99999999999999999999", "-0"};

Test(cli, a_numeric_option_takes_plain_numbers_in_its_bounds)
{
    static const char *const LINES[] = {
        "delaybridge peek -c /dev/null -Xbootstrap.servers=a:1 1s --limit %s",
        "delaybridge peek -c /dev/null -Xbootstrap.servers=a:1 1s %s",
        "delaybridge demo --seconds %s",
        "delaybridge size -c /dev/null --delay 1m --rate %s",
        "delaybridge size -c /dev/null --delay 1m --rate 1 --payload %s",
        "delaybridge size -c /dev/null --delay 1m --rate 1 --headers %s",
        "delaybridge size -c /dev/null --rate 1 --delay %s",
        "delaybridge top -c /dev/null --every %s",
        "delaybridge explain 1m -c /dev/null --timeout %s",
        "delaybridge explain -c /dev/null %s",
    };
    for (size_t l = 0; l < sizeof LINES / sizeof *LINES; l++)
        for (size_t n = 0; n < sizeof NO_NUMBERS / sizeof *NO_NUMBERS; n++) {
            char line[200], quoted[40];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(line, sizeof line, LINES[l], NO_NUMBERS[n]);
#pragma GCC diagnostic pop
            snprintf(quoted, sizeof quoted, "'%s'", NO_NUMBERS[n]);
            ends(line, EXIT_USAGE, quoted);
        }
}

Test(cli, every_command_takes_values_after_an_equals_sign)
{
    ends("delaybridge size -c=/dev/null --rate=20k --delay=15m --payload=1k", EXIT_DONE, "hops");
    ends("delaybridge top -c /dev/null 127.0.0.1:1 --once --every=1s", EXIT_UNREACHABLE, ":1");
    ends("delaybridge peek -c /dev/null -Xbootstrap.servers=a:1 1s --limit=0", EXIT_USAGE, "'0'");
    ends("delaybridge demo --seconds=4", EXIT_USAGE, "'4' is not a number from 5 to 3600");
    ends("delaybridge help --completion=zsh", EXIT_DONE, "#compdef");
}

Test(cli, long_delays_get_a_hint_at_longer_levels)
{
    ends("delaybridge explain 1d -c /dev/null", EXIT_DONE,
         "longer levels, 12h, 1d in addition: 1 hop");
    ends("delaybridge explain 30d -c /dev/null -o json", EXIT_DONE,
         "\"longer_levels\":{\"levels\":[\"12h\",\"1d\",\"7d\"],\"hops\":6}");
    ends("delaybridge explain 20h -c /dev/null -o json", EXIT_DONE, "\"longer_levels\":null");
    ends("delaybridge explain 30d -c /dev/null --levels 1s,1h,10d --max-delay 40d -o json",
         EXIT_DONE, "\"longer_levels\":null");
    ends("delaybridge size -c /dev/null --rate 300 --delay 7d", EXIT_DONE,
         "12h, 1d, 7d in addition");
    ends("delaybridge size -c /dev/null --rate 300 --delay 15m --events default", EXIT_DONE,
         "177 without schedule.pulse");
    ends("delaybridge size -c /dev/null --rate 300 --delay 15m", EXIT_DONE,
         "169 without schedule.pulse");
}

Test(cli, size_counts_each_pass_of_a_level_for_the_lanes)
{
    ends("delaybridge size -c /dev/null --rate 10k --delay 1d", EXIT_DONE,
         "lanes                    18 (more than configured");
    ends("delaybridge size -c /dev/null --rate 10k --delay 1d --levels 1s,1m,1h,1d", EXIT_DONE,
         "lanes                    8 (as configured)");
}

Test(cli, size_bounds_the_lanes_and_workers_of_absurd_loads)
{
    static const char *const LINE = "delaybridge size -c /dev/null --rate 1000000000 --delay 399d "
                                    "--max-delay 400d --levels 1s";
    ends(LINE, EXIT_DONE, "lanes                    100000 ");
    ends(LINE, EXIT_DONE, "workers                  100000 ");
}

Test(cli, longer_levels_keep_cancels_longer)
{
    static const struct {
        const char *delay, *says;
    } CASES[] = {
        {"15m", "cancels, at most         5592/s with 10m as the longest level\n"
                "cancels, planned         3290/s, each kept for 17m"},
        {"15h", "466/s with 2h as"},
        {"15h", "440/s, each kept for 2h7m"},
        {"15h --levels 1s,12h", "78/s with 12h as"},
        {"30d --levels 1s,1d,7d", "5.5/s with 7d as"},
        {"15m --workers 4", "1398/s with"}, /* a lane uses the table of one worker */
        {"0s", "7989/s, each kept for 7m"},
        {"30d", "each for 7d7m then, and 5.5/s fit"},
        {"15m -o json", "\"cancels\":{\"kept_ms\":1020000,\"at_most_per_s\":5592.3"},
        {"0s -o json", "\"at_most_per_s\":null"},
    };
    char line[128];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        snprintf(line, sizeof line, "delaybridge size -c /dev/null --rate 300 --delay %s",
                 CASES[i].delay);
        ends(line, EXIT_DONE, CASES[i].says);
    }
    ends("delaybridge explain 15m -c /dev/null", EXIT_DONE, "a cancel is kept for: 17m");
    ends("delaybridge explain 30d -c /dev/null", EXIT_DONE, "but a cancel is kept for 7d7m");
    ends("delaybridge explain 30d -c /dev/null -o json", EXIT_DONE, "\"cancel_kept_ms\":7620000");
}

Test(cli, operands_are_counted)
{
    ends("delaybridge peek -c /dev/null -Xbootstrap.servers=a:1", EXIT_USAGE,
         "an argument is missing: use 'delaybridge peek LEVEL [LANE]'");
    ends("delaybridge peek -c /dev/null -Xbootstrap.servers=a:1 1s 2 3", EXIT_USAGE,
         "unexpected argument '3': use 'delaybridge peek LEVEL [LANE]'");
    ends("delaybridge topics -c /dev/null show", EXIT_USAGE, "'show' is not one of plan|apply");
    ends("delaybridge topics -c /dev/null -Xbootstrap.servers=a:1 plan --fewer-replicas",
         EXIT_USAGE, "--fewer-replicas is an option of 'topics apply'");
    ends("delaybridge check more", EXIT_USAGE,
         "unexpected argument 'more': check takes options only");
}

/* The value of an option is never read as an option. Here "-o" is the file. */
Test(cli, a_value_that_looks_like_an_option_stays_a_value)
{
    ends("delaybridge explain 37m -c -o", EXIT_CONFIG, "-o");
    ends("delaybridge size -c /dev/null --rate 1 --delay --help", EXIT_USAGE, "'--help'");
}

Test(cli, errors_of_numeric_options_name_their_bounds)
{
    ends("delaybridge peek -c /dev/null -Xbootstrap.servers=a:1 1s --limit 0", EXIT_USAGE,
         "--limit: '0' is not a number from 1 to 2147483647");
    ends("delaybridge peek -c /dev/null -Xbootstrap.servers=a:1 1s --limit", EXIT_USAGE,
         "--limit needs a value: --limit N");
    ends("delaybridge demo --seconds 4", EXIT_USAGE, "'4' is not a number from 5 to 3600");
    ends("delaybridge size -c /dev/null --delay 1m --rate 0", EXIT_USAGE, "above 0");
    ends("delaybridge size -c /dev/null --delay 1m --rate 1 --payload 0.5", EXIT_USAGE, "whole");
    ends("delaybridge size -c /dev/null --delay 1m --rate 0.5 --payload 0", EXIT_DONE, "hops");
    ends("delaybridge top -c /dev/null --every 0s", EXIT_USAGE, "'0s' is not between 1ms and 1h");
    ends("delaybridge top -c /dev/null --every 2h", EXIT_USAGE, "'2h' is not between 1ms and 1h");
    ends("delaybridge explain 1m -c /dev/null --timeout 0s", EXIT_USAGE, "between 1ms and 1h");
}

Test(cli, a_bad_configuration_exits_78)
{
    ends("delaybridge explain 37m -c /nonexistent.yaml", EXIT_CONFIG, "/nonexistent.yaml");
    ends("delaybridge explain 37m --hold 1x", EXIT_CONFIG, "\"1x\"");
    ends("delaybridge run -c /dev/null", EXIT_CONFIG, "bootstrap.servers");
    ends("delaybridge check -c /dev/null -X bootstrap.servers=a:1", EXIT_CONFIG, "targets");
    ends("delaybridge levels -c /dev/null -X acks=1", EXIT_CONFIG, "guarantees");
}

Test(cli, a_login_without_a_mechanism_exits_78_and_names_the_mechanism)
{
    static const char *const COMMAND[] = {"check", "levels",
                                          "send --value v --delay 1s --target a"};
    for (size_t i = 0; i < sizeof COMMAND / sizeof *COMMAND; i++) {
        char line[300];
        snprintf(line, sizeof line,
                 "delaybridge %s -c /dev/null -X bootstrap.servers=127.0.0.1:1 --targets a "
                 "-X security.protocol=sasl_ssl",
                 COMMAND[i]);
        ends(line, EXIT_CONFIG, "security.protocol is sasl_ssl, which needs sasl.mechanisms");
    }
}

Test(cli, a_command_needs_only_the_keys_that_it_uses)
{
    static const char *const WITHOUT_TARGETS[] = {"levels", "peek 1s", "topics plan"};
    for (size_t i = 0; i < sizeof WITHOUT_TARGETS / sizeof *WITHOUT_TARGETS; i++) {
        char line[200];
        snprintf(line, sizeof line,
                 "delaybridge %s -c /dev/null -X bootstrap.servers=127.0.0.1:1 --timeout 200ms",
                 WITHOUT_TARGETS[i]);
        ends(line, EXIT_UNREACHABLE, "Kafka does not answer");
        snprintf(line, sizeof line, "delaybridge %s -c /dev/null", WITHOUT_TARGETS[i]);
        ends(line, EXIT_CONFIG, "bootstrap.servers");
    }
    ends("delaybridge send -c /dev/null -X bootstrap.servers=127.0.0.1:1", EXIT_CONFIG, "targets");
}

Test(cli, an_unreachable_kafka_exits_69)
{
    ends("delaybridge check -c /dev/null -X bootstrap.servers=127.0.0.1:1 --targets a "
         "--timeout 300ms",
         EXIT_UNREACHABLE, "Kafka does not answer");
}

Test(cli, every_command_has_its_own_usage)
{
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        char line[100], first[100];
        snprintf(first, sizeof first, "usage: delaybridge %s", c->name);
        snprintf(line, sizeof line, "delaybridge help %s", c->name);
        ends(line, EXIT_DONE, first);
        cr_expect(strstr(out, c->summary) != NULL, "%s", out);
        snprintf(line, sizeof line, "delaybridge %s --help", c->name);
        ends(line, EXIT_DONE, first);
    }
}

Test(cli, help_lists_every_command_and_every_key)
{
    ends("delaybridge --help", EXIT_DONE, "--retired-levels");
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        char line[100];
        snprintf(line, sizeof line, "\n  %-8s %s\n", c->name, c->summary);
        cr_expect(strstr(out, line) != NULL, "%s", line);
    }
}

Test(cli, help_yaml_is_a_configuration)
{
    char path[64], line[100];
    ends("delaybridge help --yaml", EXIT_DONE, "retired_levels: []");
    snprintf(path, sizeof path, "/tmp/delaybridge-help-%d.yaml", (int)getpid());
    FILE *file = fopen(path, "w");
    fputs(out, file);
    fclose(file);
    snprintf(line, sizeof line, "delaybridge explain 1m -c %s", path);
    ends(line, EXIT_DONE, "1 hop");
    unlink(path);
}

Test(cli, version_names_librdkafka_too)
{
    ends("delaybridge version", EXIT_DONE, "librdkafka");
    ends("delaybridge --version", EXIT_DONE, "delaybridge ");
    ends("delaybridge version -o json", EXIT_DONE, "\"librdkafka\":");
}

/* Writes a name as roff does: "\\-" for each "-". Returns text. */
static const char *roff(const char *name, char text[100])
{
    size_t n = 0;
    for (; *name != '\0' && n < 97; name++) {
        if (*name == '-')
            text[n++] = '\\';
        text[n++] = *name;
    }
    text[n] = '\0';
    return text;
}

Test(cli, the_manual_page_holds_every_command_and_every_key)
{
    ends("delaybridge help --man", EXIT_DONE, ".TH DELAYBRIDGE 1");
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        char line[120], name[100];
        snprintf(line, sizeof line, "\n.B %s", roff(c->name, name));
        cr_expect(strstr(out, line) != NULL, "%s", line);
    }
    cr_expect(strstr(out, "\n.B retired_levels") != NULL && strstr(out, "\n.B log.level") != NULL);
    cr_expect(strstr(out, " --") == NULL, "a minus of roff is escaped");
}

Test(cli, completions_hold_every_command_and_every_key)
{
    static const char *const SHELLS[] = {"bash", "zsh"};
    for (size_t i = 0; i < 2; i++) {
        char line[100];
        snprintf(line, sizeof line, "delaybridge help --completion %s", SHELLS[i]);
        ends(line, EXIT_DONE, "--retired-levels");
        for (const struct command *c = COMMANDS; c->name != NULL; c++)
            cr_expect(strstr(out, c->name) != NULL, "%s: %s", SHELLS[i], c->name);
        cr_expect(strstr(out, "--expires-at") != NULL, "the options of send");
    }
    ends("delaybridge help --completion fish", EXIT_USAGE, "'fish'");
}

Test(cli, the_table_of_metrics_is_printed)
{
    ends("delaybridge help --metrics", EXIT_DONE, "delaybridge_resends_total\tcounter\t-\t");
}

Test(cli, top_names_an_address_that_does_not_answer)
{
    ends("delaybridge top -c /dev/null 127.0.0.1:1 --once", EXIT_UNREACHABLE, "127.0.0.1:1");
    ends("delaybridge top -c /dev/null --listen= --once", EXIT_USAGE, "listen");
    ends("delaybridge top -c /dev/null --every x", EXIT_USAGE, "'x'");
    ends("delaybridge top -c /dev/null --nope", EXIT_USAGE, "'--nope'");
}

Test(cli, size_counts_hops_disk_lanes_and_memory)
{
    ends("delaybridge size -c /dev/null --rate 20k --delay 15m --payload 1k", EXIT_DONE, "hops");
    cr_expect(strstr(out, "2.0 a request, in 2 levels") != NULL, "%s", out); /* 10m and 5m */
    cr_expect(strstr(out, "18000000 (") != NULL, "%s", out); /* 20,000 a second for 900 s */
    ends("delaybridge size -c /dev/null --rate 300k --delay 30s -o json", EXIT_DONE, "\"lanes\":");
    json_t *size = json_loads(out, 0, NULL);
    cr_expect_geq(json_integer_value(json_object_get(size, "lanes")), 22, "%s", out);
    cr_expect_geq(json_integer_value(json_object_get(size, "workers")), 4, "%s", out);
    json_decref(size);
    ends("delaybridge size -c /dev/null --rate 20k", EXIT_USAGE, "--delay");
    ends("delaybridge size -c /dev/null --rate many --delay 1m", EXIT_USAGE, "'many'");
    ends("delaybridge size -c /dev/null --rate 1 --delay 41d", EXIT_USAGE,
         "more than max_delay, 40d");
    ends("delaybridge size -c /dev/null --rate 1 --delay", EXIT_USAGE, "--delay needs a value");
    ends("delaybridge size -c /dev/null --nope 1", EXIT_USAGE, "'--nope'");
}

Test(cli, size_takes_a_mix_of_rates_and_delays)
{
    static const char *const MIX = "delaybridge size -c /dev/null --mix 950@15m,99@14d,10@30d";
    char line[200];
    ends(MIX, EXIT_DONE, "99/s, delayed by 14d     168 hops\n");
    cr_expect(strstr(out, "20.9 a request, in 3 levels") != NULL, "%s", out);
    cr_expect(strstr(out, "records written          24250/s") != NULL, "%s", out);
    cr_expect(strstr(out, "cancels of this load") == NULL, "%s", out);
    snprintf(line, sizeof line, "%s -o json", MIX);
    ends(line, EXIT_DONE, "\"hops_without_room_per_s\":22132.0,");
    cr_expect(strstr(out, "\"needed_bytes\":0}") != NULL, "%s", out);
    ends("delaybridge size -c /dev/null --mix 20k@2h,20k@2h", EXIT_DONE, /* both in one level */
         "lanes                    8 (as");
    ends("delaybridge size -c /dev/null --mix 30k@2h,30k@2h", EXIT_DONE,
         "lanes                    9 (more");
}

/* One part in a long level keeps the cancels of all parts. */
Test(cli, size_counts_cancels_by_the_longest_level_of_the_mix)
{
    ends("delaybridge size -c /dev/null --mix 950@15m,99@14d,10@30d --cancelled 95", EXIT_DONE,
         "cancels of this load     1006/s, which need 192.0 MiB of 'cancel_memory' (more than");
    cr_expect(strstr(out, "/s of 1.1 KiB, 95% of them cancelled") != NULL, "%s", out);
    cr_expect(strstr(out, "Those of\nthis load need 14.2 GiB.") != NULL, "%s", out);
    /* 1,059 requests, 22,132 hops, 53 deliveries, 2 x 1,006 cancels */
    cr_expect(strstr(out, "records written          25256/s") != NULL, "%s", out);
    ends("delaybridge size -c /dev/null --mix 0.1@14d,1000@15m --cancelled 100", EXIT_DONE,
         "1000/s, which need 192.0 MiB of 'cancel_memory' (more than");
    ends("delaybridge size -c /dev/null --rate 1000 --delay 15m --cancelled 100", EXIT_DONE,
         "1000/s, which need 32.0 MiB of 'cancel_memory'\n");
}

Test(cli, size_quotes_the_part_of_a_mix_that_it_refuses)
{
    static const struct {
        const char *options, *says;
    } CASES[] = {
        {"--mix 950", "--mix: '950' is not a rate and a delay such as 950@15m"},
        {"--mix 950@15m,", "--mix: '' is not a rate"},
        {"--mix 950@15m,many@1s", "--mix: 'many' is not a number"},
        {"--mix 0@1s", "--mix: '0' is not a number"},
        {"--mix 1@soon,2@1s", "--mix: 'soon' is not a duration"},
        {"--mix 1@1s@2s", "--mix: '1s@2s' is not a duration"},
        {"--mix 1@1s,1@41d", "--mix: '41d' is more than max_delay, 40d"},
        {"--mix "
         "1@1s,1@1s,1@1s,1@1s,1@1s,1@1s,1@1s,1@1s,1@1s,1@1s,1@1s,1@1s,1@1s,1@1s,1@1s,1@1s,3@7s",
         "'3@7s' is one part too many, the limit is 16"},
        {"--mix 1@1s --rate 1", "--mix excludes --rate and --delay"},
        {"--delay 1s", "--rate is missing: use --rate and --delay, or --mix"},
        {"--rate 1", "--delay is missing"},
        {"--rate 1 --delay 1s --cancelled 101", "'101' is not a number from 0 to 100"},
        {"--rate 1 --delay 1s --cancelled some", "'some'"},
    };
    char line[300];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        snprintf(line, sizeof line, "delaybridge size -c /dev/null %s", CASES[i].options);
        ends(line, EXIT_USAGE, CASES[i].says);
    }
    /* A part that is too long is refused, not cut to a valid one. */
    snprintf(line, sizeof line, "delaybridge size -c /dev/null --mix 1@%096dm30s", 1);
    ends(line, EXIT_USAGE, "is not a rate and a delay");
}

/* Makes a terminal of stdin and types input into it. Returns its other end. */
static int type_into_stdin(const char *input)
{
    int keyboard = posix_openpt(O_RDWR | O_NOCTTY);
    cr_assert(keyboard >= 0 && grantpt(keyboard) == 0 && unlockpt(keyboard) == 0);
    int terminal = open(ptsname(keyboard), O_RDWR | O_NOCTTY);
    cr_assert(terminal >= 0 && dup2(terminal, STDIN_FILENO) == STDIN_FILENO);
    cr_assert_eq(write(keyboard, input, strlen(input)), (ssize_t)strlen(input));
    return keyboard;
}

Test(cli, send_explains_its_input_on_a_terminal)
{
    struct error error = {""};
    char line[300];
    struct mock *mock = mock_start(&error);
    cr_assert(mock != NULL && mock_topic(mock, "schedule", 1) == 0, "%s", error.text);
    snprintf(line, sizeof line,
             "delaybridge send -c /dev/null -Xbootstrap.servers=%s --targets a --default-target a",
             mock_bootstrap(mock));
    int keyboard = type_into_stdin("{\"delay\": \"1s\", \"value\": \"v\"}\n\004");
    cr_expect_eq(program(line), EXIT_DONE, "%s", err);
    cr_expect(strstr(err, "reading requests from the terminal") != NULL, "%s", err);
    cr_expect_str_eq(out, "schedule/0/0\n");
    close(keyboard);
    mock_stop(mock);
}

Test(cli, a_tombstone_is_sent_on_request_alone)
{
    ends("delaybridge send -c /dev/null -Xbootstrap.servers=a:1 --targets a --default-target a "
         "--delay 1s",
         EXIT_USAGE, "--value is missing. For a tombstone, use --null-value");
    ends("delaybridge send -c /dev/null -Xbootstrap.servers=a:1 --targets a --delay 1s --value v "
         "--null-value",
         EXIT_USAGE, "--value and --null-value exclude each other");
    struct error error = {""};
    char line[300];
    struct mock *mock = mock_start(&error);
    cr_assert(mock != NULL && mock_topic(mock, "schedule", 1) == 0, "%s", error.text);
    snprintf(line, sizeof line,
             "delaybridge send -c /dev/null -Xbootstrap.servers=%s --targets a --default-target a "
             "--delay 1s --null-value",
             mock_bootstrap(mock));
    ends(line, EXIT_DONE, "");
    cr_expect_str_eq(out, "schedule/0/0\n");
    mock_stop(mock);
}

Test(cli, send_prints_no_hint_without_a_terminal)
{
    struct error error = {""};
    char line[300];
    struct mock *mock = mock_start(&error);
    cr_assert(mock != NULL && mock_topic(mock, "schedule", 1) == 0, "%s", error.text);
    snprintf(line, sizeof line, "delaybridge send -c /dev/null -Xbootstrap.servers=%s --targets a",
             mock_bootstrap(mock));
    cr_assert(freopen("/dev/null", "r", stdin) != NULL);
    ends(line, EXIT_DONE, "");
    mock_stop(mock);
}

/* Even a short demo shows some requests, and all of them are delivered. */
Test(cli, a_short_demo_shows_requests_and_deliveries)
{
    ends("delaybridge demo --no-tty --seconds 5", EXIT_DONE, " requested ");
    cr_expect(strstr(out, " delivered ") != NULL && strstr(out, "none early") != NULL, "%s", out);
}

Test(cli, explain_shows_each_stop_and_its_cost)
{
    ends("delaybridge explain 37m -c /dev/null", EXIT_DONE, "37m: 2 hops\n  30m");
    cr_expect(strstr(out, "request: 4 (1 request, 2 hops, 1 delivery)") != NULL, "%s", out);
    ends("delaybridge explain 700ms -c /dev/null", EXIT_DONE, "in memory: 700ms");
    ends("delaybridge explain 30d -c configs/long-delays.yaml", EXIT_DONE, "30d: 6 hops");
    ends("delaybridge explain 10d -c /dev/null", EXIT_DONE, "2h       x 120");
}

Test(cli, explain_counts_hops_with_room_in_memory)
{
    static const struct {
        const char *line, *says;
    } CASES[] = {
        {"1m20s", "with room in memory: 1 hop, and 20s in memory\nbytes"},
        {"30s", "with room in memory: 0 hops, and 30s in memory"},
        {"47s -o json", "\"hops\":1,\"hops_without_room\":3,"},
        {"47s -o json", "\"in_memory_ms\":17000,\"in_memory_without_room_ms\":2000,"},
        {"47s --hold 1m -o json", "\"hops\":0,\"hops_without_room\":3,"},
        {"47s --hold 1s -o json", "\"hops\":3,\"hops_without_room\":3,"},
        {"9999d --max-delay 9999d --levels 1s -o json",
         "\"hops\":863909503,\"hops_without_room\":863909503,"},
    };
    char line[100];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        snprintf(line, sizeof line, "delaybridge explain -c /dev/null %s", CASES[i].line);
        ends(line, EXIT_DONE, CASES[i].says);
    }
    ends("delaybridge explain 15m -c /dev/null", EXIT_DONE, "15m: 2 hops");
    cr_expect(strstr(out, "with room") == NULL, "%s", out);
}

/* A stop that also waits for the odd remainder saves hops. */
Test(cli, explain_walks_the_chain_to_its_due_time)
{
    static const char *const DELAYS[] = {"1ms", "1s500ms", "37m", "2h3m4s", "39d23h59m59s999ms"};
    for (size_t i = 0; i < sizeof DELAYS / sizeof *DELAYS; i++) {
        char line[100];
        snprintf(line, sizeof line, "delaybridge explain %s -c /dev/null -o json", DELAYS[i]);
        ends(line, EXIT_DONE, "\"stops\":");
        json_t *answer = json_loads(out, 0, NULL), *stops = json_object_get(answer, "stops");
        size_t n = json_array_size(stops);
        int64_t delay_ms = json_integer_value(json_object_get(answer, "delay_ms"));
        int64_t end_ms = 0;
        cr_expect_eq((size_t)json_integer_value(json_object_get(answer, "hops_without_room")), n);
        for (size_t s = 0; s < n; s++) {
            int64_t ms = json_integer_value(json_object_get(json_array_get(stops, s), "end_ms"));
            cr_expect_gt(ms, end_ms, "%s", line);
            end_ms = ms;
        }
        cr_expect_leq(end_ms, delay_ms);
        cr_expect_leq(delay_ms - end_ms, 1000, "%s", line);
        json_decref(answer);
    }
}
