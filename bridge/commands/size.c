/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge size: what a load asks of brokers and bridges. Bytes and hops are counted as the code
   counts them; CPU comes from measured figures (tests/bench/RESULTS.md), so it is a first estimate.
 */
#include "bridge/commands/arguments.h"
#include "bridge/commands/chain.h"
#include "bridge/commands/connect.h"
#include "levels/counted.h"
#include "levels/duration.h"
#include "levels/envelope.h"
#include "levels/window.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kafka's own bytes for a record in a batch of some size. */
enum { RECORD_OVERHEAD = 16, TARGET_LEN = 24 };
enum { RATE_MAX = 1000000000, BYTES_MAX = 64 << 20 };
enum { TRIM_S = 60, SEGMENT = 128 << 20 /* as topics apply sets it */ };

/* CPU of the bridge, microseconds a record, at full load: more than whole runs print for one broker
   (RESULTS.md), since machines differ; half of a core is planned. */
static const double intake_us = 1.9, hop_us = 1.6, delivery_us = 3.4, core_share = 0.5;
/* What a window and an even spread leave: half of what one lane can take. */
static const double lane_share = 0.5;
/* README, Limits. */
static const double base_mib = 16, lane_mib = 6, partition_mib = 0.6;

struct load {
    double rate;
    int64_t delay_ms;
    int64_t payload, headers; /* bytes of one request */
};

struct sizing {
    int64_t hops;
    int levels; /* different ones on the way */
    double record, waiting;
    double written_s, read_s; /* bytes a second, of all replicas, and by consumers */
    double disk;              /* bytes, of all replicas */
    int lanes, workers;
    double memory_mib; /* a process that has all lanes */
};

static double envelope_bytes(const struct load *load)
{
    char target[TARGET_LEN] = {0};
    const struct stamp stamp = {.target = bytes_of(target, sizeof target)};
    const struct record empty = {.value = bytes_of("", 0)};
    return (double)(envelope_enclosed_size(&stamp, &empty) + (size_t)load->payload +
                    (size_t)load->headers);
}

static int different_levels(const struct chain *chain)
{
    bool seen[LADDER_MAX] = {false};
    int n = 0;
    for (int i = 0; i < chain->shown; i++) {
        n += !seen[chain->levels[i]];
        seen[chain->levels[i]] = true;
    }
    return n;
}

static int at_least(double needed)
{
    return needed < 1 ? 1 : (int)ceil(needed);
}

static struct sizing size_of(const struct config *c, const struct load *load)
{
    static struct chain chain; /* large */
    chain_walk(&chain, &c->ladder, load->delay_ms);
    struct sizing s = {.hops = chain.hops, .levels = different_levels(&chain)};
    double request = (double)(load->payload + load->headers) + RECORD_OVERHEAD;
    double hops = (double)s.hops, replicas = c->replication;
    s.record = envelope_bytes(load) + RECORD_OVERHEAD;
    s.waiting = load->rate * (double)load->delay_ms / 1000;
    s.written_s = load->rate * replicas * (2 * request + hops * s.record);
    s.read_s = load->rate * (2 * request + hops * s.record);
    double lane_rate = lane_share * WINDOW_SPAN / ((double)plan_lookahead_ms(&c->ladder) / 1000);
    s.lanes = at_least(load->rate / lane_rate);
    if (s.lanes < c->partitions)
        s.lanes = c->partitions;
    double busy_us = load->rate * (intake_us + hops * hop_us + delivery_us);
    s.workers = at_least(busy_us / 1e6 / core_share);
    s.disk = replicas * (s.waiting * s.record + load->rate * TRIM_S * hops * s.record +
                         (double)s.levels * s.lanes * SEGMENT);
    s.memory_mib = base_mib + (double)c->memory_bytes / (1 << 20) + lane_mib * s.lanes +
                   partition_mib * s.levels * s.lanes;
    return s;
}

static const char *bytes_text_of(double bytes, char out[32])
{
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int unit = 0;
    for (; bytes >= 1024 && unit < 5; unit++)
        bytes /= 1024;
    snprintf(out, 32, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, UNITS[unit]);
    return out;
}

static void print_text(const struct config *c, const struct load *load, const struct sizing *s)
{
    char delay[DURATION_TEXT_MAX], a[32], b[32], replicas[COUNTED_MAX];
    printf("%.0f requests/s of %s, delayed by %s, %s\n\n", load->rate,
           bytes_text_of((double)(load->payload + load->headers), a),
           duration_format(load->delay_ms, delay), counted(c->replication, "replica", replicas));
    printf("%-24s %" PRId64 " over %d level%s\n", "hops", s->hops, s->levels,
           s->levels == 1 ? "" : "s");
    printf("%-24s %.0f (%s each on a level)\n", "waiting records", s->waiting,
           bytes_text_of(s->record, a));
    printf("%-24s %s (of it %s of segments that hold what is done)\n", "disk of all brokers",
           bytes_text_of(s->disk, a),
           bytes_text_of((double)c->replication * s->levels * s->lanes * SEGMENT, b));
    printf("%-24s %s/s written, %s/s read\n", "traffic of all brokers",
           bytes_text_of(s->written_s, a), bytes_text_of(s->read_s, b));
    printf("%-24s %d%s\n", "lanes", s->lanes,
           s->lanes == c->partitions ? " (partitions as configured are enough)"
                                     : " (set partitions before topics apply)");
    printf("%-24s %d (of a core each, at half load)\n", "workers", s->workers);
    printf("%-24s %.0f MiB (memory: %s)\n", "memory of a process", s->memory_mib,
           bytes_text_of((double)c->memory_bytes, a));
    puts("\nRetention: the levels keep what waits for as long as it waits, whatever retention\n"
         "other topics have. The schedule topic must keep requests for as long as the bridge\n"
         "may be down. CPU is an estimate from figures measured with 100-byte values: measure "
         "yours.");
}

static void print_as_json(const struct sizing *s)
{
    print_json(json_pack("{s:I, s:i, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:f}", "hops",
                         (json_int_t)s->hops, "levels", s->levels, "waiting", s->waiting,
                         "record_bytes", s->record, "disk_bytes", s->disk, "written_bytes_per_s",
                         s->written_s, "read_bytes_per_s", s->read_s, "lanes", s->lanes, "workers",
                         s->workers, "memory_mib", s->memory_mib));
}

/* 20k, 1.5M or 300: k and M are thousands, as people say rates; KiB and MiB are not asked for.
   strtod also reads signs, spaces, 0x10, 1e3, inf and nan, which are refused. */
static bool read_amount(const char *text, double *amount)
{
    char *end;
    size_t digits = strspn(text, "0123456789.");
    double n = strtod(text, &end);
    double unit = *end == 'k' ? 1e3 : *end == 'M' ? 1e6 : 1;
    *amount = n * unit;
    return digits > 0 && end == text + digits && end[unit > 1] == '\0';
}

static int take_rate(struct load *load, const char *value)
{
    double rate;
    if (!read_amount(value, &rate) || rate <= 0 || rate > RATE_MAX)
        return complain(EXIT_USAGE, "--rate: '%s' is not a number such as 20k or 300, above 0",
                        value);
    load->rate = rate;
    return EXIT_DONE;
}

static int take_bytes(int64_t *bytes, const char *name, const char *value)
{
    double amount;
    if (!read_amount(value, &amount) || amount > BYTES_MAX || amount != floor(amount))
        return complain(EXIT_USAGE, "%s: '%s' is not a whole number such as 1k, up to %d", name,
                        value, BYTES_MAX);
    *bytes = (int64_t)amount;
    return EXIT_DONE;
}

static int take(const struct config *config, struct load *load, const char *name, const char *value)
{
    char hint[ARGUMENT_HINT_MAX];
    if (strcmp(name, "--delay") == 0)
        return argument_span((struct argument){"--delay", 0, config->max_delay_ms}, value,
                             &load->delay_ms);
    if (strcmp(name, "--rate") == 0)
        return take_rate(load, value);
    if (strcmp(name, "--payload") == 0)
        return take_bytes(&load->payload, name, value);
    if (strcmp(name, "--headers") == 0)
        return take_bytes(&load->headers, name, value);
    return complain(EXIT_USAGE, "size has no option '%s'%s", name,
                    argument_hint("size", name, hint));
}

int cmd_size(struct cli *cli)
{
    struct load load = {.delay_ms = -1, .payload = 1000, .headers = 100};
    for (int i = 0; i < cli->argc; i += 2) {
        if (i + 1 == cli->argc)
            return complain(EXIT_USAGE, "'%s' needs a value", cli->argv[i]);
        int code = take(cli->config, &load, cli->argv[i], cli->argv[i + 1]);
        if (code != EXIT_DONE)
            return code;
    }
    if (load.rate <= 0 || load.delay_ms < 0)
        return complain(EXIT_USAGE, "size needs --rate and --delay: --rate 20k --delay 15m");
    struct sizing sizing = size_of(cli->config, &load);
    if (cli->json)
        print_as_json(&sizing);
    else
        print_text(cli->config, &load, &sizing);
    return EXIT_DONE;
}
