/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge size: estimates the resources that a load needs. Bytes and hops follow from the code.
   CPU follows from measured figures (tests/bench/RESULTS.md), so it is a first estimate. */
#include "bridge/commands/cancel_life.h"
#include "bridge/commands/chain.h"
#include "bridge/commands/result.h"
#include "levels/counted.h"
#include "levels/duration.h"
#include "levels/envelope.h"
#include "levels/event.h"
#include "levels/window.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* RECORD_OVERHEAD: Kafka's bytes for a record in a batch of several. */
enum { RECORD_OVERHEAD = 16, TARGET_LEN = 24 };
enum { OTHER_TOPICS = 3 }; /* requests, dead letters, cancels */
enum { TRIM_S = 60, SEGMENT = 128 << 20 /* segment.bytes as topics apply sets it */ };

/* CPU of the bridge at full load, microseconds a record. Machines differ, so the figures exceed
   those of whole runs with one broker (RESULTS.md). The plan uses half of a core. */
static const double intake_us = 1.9, hop_us = 1.6, delivery_us = 3.4, core_share = 0.5;
/* Plan half of the throughput that the window allows, since keys do not spread evenly. */
static const double lane_share = 0.5;
/* Bytes a second that one broker is planned to receive: half of 10 Gbit/s. Followers and readers
   fetch as many bytes from all brokers as all replicas receive. */
static const double broker_bytes_s = 10e9 / 8 / 2;
/* docs/scaling.md explains the memory. */
static const double base_mib = 16, lane_mib = 6, partition_mib = 2;

struct load {
    double rate;
    int64_t delay_ms;
    int64_t payload, headers; /* bytes of one request */
};

struct sizing {
    int64_t hops;
    int levels; /* different levels in the chain */
    double record, waiting;
    double written_s, read_s; /* bytes a second: written to all replicas, read by consumers */
    double disk;              /* bytes of all replicas */
    int lanes, workers, brokers;
    int partitions; /* of all topics but S.pulse, which has one for each broker; S.control has one
                     */
    struct longer_levels longer;
    struct cancel_life cancel;
    double memory_mib; /* of a process with all lanes */
};

static double envelope_bytes(const struct load *load)
{
    char target[TARGET_LEN] = {0};
    const struct stamp stamp = {.target = bytes_of(target, sizeof target)};
    const struct record empty = {.value = bytes_of("", 0)};
    return (double)(envelope_enclosed_size(&stamp, &empty) + (size_t)load->payload +
                    (size_t)load->headers);
}

/* Counts the different levels of a chain, and the stops in the level with most stops. Stops that
   the chain does not show are in its first level, the longest. */
static int different_levels(const struct chain *chain, int64_t *most_stops)
{
    int64_t stops[LADDER_MAX] = {0};
    int n = 0;
    *most_stops = 0;
    for (int i = 0; i < chain->shown; i++) {
        int level = chain->levels[i];
        n += stops[level]++ == 0;
        if (stops[level] > *most_stops)
            *most_stops = stops[level];
    }
    *most_stops += chain->hops - chain->shown;
    return n;
}

/* COUNT_MAX: more lanes or workers than any cluster has. It keeps their products in an int. */
enum { COUNT_MAX = 100000 };

static int at_least(double needed)
{
    return needed < 1 ? 1 : needed > COUNT_MAX ? COUNT_MAX : (int)ceil(needed);
}

/* The table of cancels, and their names if cancel_unmatched is wanted. */
static double cancels_bytes(const struct config *c)
{
    bool named = (c->events & EVENT_BIT(EVENT_CANCEL_UNMATCHED)) != 0;
    return (double)c->cancel_memory * (named ? 2 : 1);
}

static struct sizing size_of(const struct config *c, const struct load *load)
{
    static struct chain chain; /* large */
    chain_walk(&chain, &c->ladder, load->delay_ms);
    int64_t most_stops;
    struct sizing s = {.hops = chain.hops, .levels = different_levels(&chain, &most_stops)};
    double request = (double)(load->payload + load->headers) + RECORD_OVERHEAD;
    double hops = (double)s.hops, replicas = c->replication;
    s.record = envelope_bytes(load) + RECORD_OVERHEAD;
    s.waiting = load->rate * (double)load->delay_ms / 1000;
    s.written_s = load->rate * replicas * (2 * request + hops * s.record);
    s.read_s = load->rate * (2 * request + hops * s.record);
    double lane_rate = lane_share * WINDOW_SPAN / ((double)plan_lookahead_ms(&c->ladder) / 1000);
    double busiest = most_stops > 1 ? (double)most_stops : 1; /* a record passes schedule once */
    s.lanes = at_least(load->rate * busiest / lane_rate);
    if (s.lanes < c->partitions)
        s.lanes = c->partitions;
    s.partitions = s.lanes * (c->ladder.n + c->retired_n + OTHER_TOPICS + (c->events != 0)) + 1;
    chain_longer_levels(&chain, &c->ladder, &s.longer);
    s.cancel = cancel_life_of(&chain, &c->ladder);
    double busy_us = load->rate * (intake_us + hops * hop_us + delivery_us);
    s.workers = at_least(busy_us / 1e6 / core_share);
    s.brokers = at_least(s.written_s / broker_bytes_s);
    if (s.brokers < c->replication)
        s.brokers = c->replication;
    s.disk = replicas * (s.waiting * s.record + load->rate * TRIM_S * hops * s.record +
                         (double)s.levels * s.lanes * SEGMENT);
    s.memory_mib = base_mib + ((double)c->memory_bytes + cancels_bytes(c)) / (1 << 20) +
                   lane_mib * s.lanes + partition_mib * s.levels * s.lanes;
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

static const char *rate_text(double rate, char out[32])
{
    snprintf(out, 32, rate < 10 ? "%.1f/s" : "%.0f/s", rate);
    return out;
}

/* The first rate counts the stay in the longest level only. */
static void print_cancels(const struct config *c, struct cancel_life life)
{
    char text[DURATION_TEXT_MAX], rate[32], workers[COUNTED_MAX];
    if (life.level_ms > 0)
        printf("%-24s %s with %s as the longest level\n", "cancels, at most",
               rate_text(cancel_life_rate(c, life.level_ms), rate),
               duration_format(life.level_ms, text));
    printf("%-24s %s, each kept for %s ", "cancels, planned",
           rate_text(cancel_life_rate(c, life.kept_ms), rate), duration_format(life.kept_ms, text));
    printf("('cancel_memory' at %s, %s)\n", bytes_text_of((double)c->cancel_memory, rate),
           counted(c->workers, "worker", workers));
}

static void print_longer(const struct config *c, const struct longer_levels *longer)
{
    char levels[LONGER_TEXT_MAX], hops[COUNTED_MAX], text[DURATION_TEXT_MAX], rate[32];
    struct cancel_life life = cancel_life_with(longer);
    printf("\nWith longer levels, %s in addition: %s.\n", longer_levels_text(longer, levels),
           counted(longer->hops, "hop", hops));
    printf("Longer levels keep cancels longer: each for %s then, and %s fit.\n",
           duration_format(life.kept_ms, text), rate_text(cancel_life_rate(c, life.kept_ms), rate));
}

static void print_text(const struct config *c, const struct load *load, const struct sizing *s)
{
    char delay[DURATION_TEXT_MAX], a[32], b[32], replicas[COUNTED_MAX];
    printf("%.0f requests/s of %s, delayed by %s, %s\n\n", load->rate,
           bytes_text_of((double)(load->payload + load->headers), a),
           duration_format(load->delay_ms, delay), counted(c->replication, "replica", replicas));
    printf("%-24s %" PRId64 " in %d level%s\n", "hops", s->hops, s->levels,
           s->levels == 1 ? "" : "s");
    printf("%-24s %.0f (%s each in a level topic)\n", "waiting records", s->waiting,
           bytes_text_of(s->record, a));
    printf("%-24s %s (%s of it for records that are processed already)\n", "disk of all brokers",
           bytes_text_of(s->disk, a),
           bytes_text_of((double)c->replication * s->levels * s->lanes * SEGMENT, b));
    printf("%-24s %s/s written, %s/s read\n", "traffic of all brokers",
           bytes_text_of(s->written_s, a), bytes_text_of(s->read_s, b));
    printf("%-24s %d (planned at half of 10 Gbit/s each)\n", "brokers, at least", s->brokers);
    printf("%-24s %d%s\n", "lanes", s->lanes,
           s->lanes == c->partitions
               ? " (as configured)"
               : " (more than configured: set 'partitions' before 'topics apply')");
    printf("%-24s %d without %s.pulse, %s\n", "partitions", s->partitions, c->schedule,
           counted((int64_t)s->partitions * c->replication, "replica", replicas));
    printf("%-24s %d (threads, planned at half a core each)\n", "workers", s->workers);
    printf("%-24s %.0f MiB (with 'memory' at %s and 'cancel_memory' at %s)\n",
           "memory of each process", s->memory_mib, bytes_text_of((double)c->memory_bytes, a),
           bytes_text_of((double)c->cancel_memory, b));
    print_cancels(c, s->cancel);
    if (s->longer.n > 0)
        print_longer(c, &s->longer);
    puts("\nLevel topics keep records as long as they wait. Set the retention of the schedule "
         "topic\n"
         "to the longest time that the bridge may be down. The number of workers is an estimate\n"
         "from measurements with 100-byte values: measure your own load.");
}

static json_t *cancels_json(const struct config *c, struct cancel_life life)
{
    return json_pack("{s:I, s:o, s:f}", "kept_ms", (json_int_t)life.kept_ms, "at_most_per_s",
                     life.level_ms == 0 ? json_null()
                                        : json_real(cancel_life_rate(c, life.level_ms)),
                     "plan_per_s", cancel_life_rate(c, life.kept_ms));
}

static void print_as_json(const struct config *c, const struct sizing *s)
{
    print_json(json_pack(
        "{s:I, s:i, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:I, s:o, s:o}", "hops",
        (json_int_t)s->hops, "levels", s->levels, "waiting", (json_int_t)s->waiting, "record_bytes",
        (json_int_t)s->record, "disk_bytes", (json_int_t)s->disk, "written_bytes_per_s",
        (json_int_t)s->written_s, "read_bytes_per_s", (json_int_t)s->read_s, "brokers", s->brokers,
        "lanes", s->lanes, "partitions", s->partitions, "partition_replicas",
        s->partitions * c->replication, "workers", s->workers, "memory_bytes",
        (json_int_t)(s->memory_mib * (1 << 20)), "cancels", cancels_json(c, s->cancel),
        "longer_levels", longer_levels_json(&s->longer)));
}

int cmd_size(struct cli *cli)
{
    const struct arguments *arguments = cli->arguments;
    char text[DURATION_TEXT_MAX];
    struct load load = {.rate = arguments_rate(arguments, "--rate"),
                        .delay_ms = arguments_number(arguments, "--delay"),
                        .payload = arguments_number(arguments, "--payload"),
                        .headers = arguments_number(arguments, "--headers")};
    if (load.delay_ms > cli->config->max_delay_ms)
        return complain(cli, EXIT_USAGE, "--delay: '%s' is more than max_delay, %s",
                        arguments_text(arguments, "--delay"),
                        duration_format(cli->config->max_delay_ms, text));
    struct sizing sizing = size_of(cli->config, &load);
    if (cli->json)
        print_as_json(cli->config, &sizing);
    else
        print_text(cli->config, &load, &sizing);
    return EXIT_DONE;
}
