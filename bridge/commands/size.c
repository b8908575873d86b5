/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge size: estimates the resources that a load needs. Bytes and hops follow from the code.
   CPU follows from measured figures (tests/bench/RESULTS.md), so it is a first estimate. */
#include "bridge/commands/cancel_life.h"
#include "bridge/commands/chain.h"
#include "bridge/commands/mix.h"
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

/* RECORD_OVERHEAD: Kafka's bytes for a record in a batch of several. CANCEL_BYTES: a cancel on the
   schedule topic or on the topic of cancels. */
enum { RECORD_OVERHEAD = 16, TARGET_LEN = 24, CANCEL_BYTES = 100 };
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
    struct mix mix;
    double rate;              /* requests a second, of all parts */
    double cancelled_share;   /* of the requests */
    int64_t payload, headers; /* bytes of one request */
};

struct hops {
    int64_t with_room, without_room;
};

/* Figures are without room in memory, if they do not say with room. Rates are per second. */
struct sizing {
    struct hops hops[MIX_MAX]; /* of a request of each part */
    double hops_s, with_room_hops_s;
    int levels;       /* different levels in all chains */
    double busiest_s; /* records into the busiest level */
    double record, waiting;
    double cancels_s, delivered_s;
    double written_s, read_s; /* bytes: written to all replicas, read by consumers */
    double disk;              /* bytes of all replicas */
    int lanes, workers, brokers;
    int partitions; /* of all topics but S.pulse, which has one for each broker; S.control has one
                     */
    int64_t longest_ms;          /* the longest delay */
    struct longer_levels longer; /* for it */
    struct cancel_life cancel;
    double cancel_memory; /* bytes that the cancels need */
    double memory_mib;    /* of a process with all lanes */
};

static double envelope_bytes(const struct load *load)
{
    char target[TARGET_LEN] = {0};
    const struct stamp stamp = {.target = bytes_of(target, sizeof target)};
    const struct record empty = {.value = bytes_of("", 0)};
    return (double)(envelope_enclosed_size(&stamp, &empty) + (size_t)load->payload +
                    (size_t)load->headers);
}

/* Adds the records that a chain puts into each level. Stops that the chain does not show are in its
   first level, the longest. */
static void add_passes(double passes_s[LADDER_MAX], const struct chain *chain, double rate)
{
    for (int i = 0; i < chain->shown; i++)
        passes_s[chain->levels[i]] += rate;
    if (chain->shown > 0)
        passes_s[chain->levels[0]] += rate * (double)(chain->hops - chain->shown);
}

/* The cancels of a lane stay for as long as its longest level keeps any record. */
static void add_part(struct sizing *s, const struct config *c, const struct chain *chain,
                     double rate)
{
    s->hops_s += rate * (double)chain->hops;
    s->with_room_hops_s += rate * (double)chain->with_room_hops;
    s->waiting += rate * (double)chain->delay_ms / 1000;
    struct cancel_life life = cancel_life_of(chain, &c->ladder);
    if (life.kept_ms > s->cancel.kept_ms)
        s->cancel = life;
    if (chain->delay_ms < s->longest_ms)
        return;
    s->longest_ms = chain->delay_ms;
    chain_longer_levels(chain, &c->ladder, &s->longer);
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

static void walk_mix(struct sizing *s, const struct config *c, const struct load *load)
{
    static struct chain chain; /* large */
    double passes_s[LADDER_MAX] = {0};
    for (int i = 0; i < load->mix.n; i++) {
        const struct mix_part *part = &load->mix.parts[i];
        chain_walk(&chain, &c->ladder, c->hold_ms, part->delay_ms);
        s->hops[i] = (struct hops){.with_room = chain.with_room_hops, .without_room = chain.hops};
        add_passes(passes_s, &chain, part->rate);
        add_part(s, c, &chain, part->rate);
    }
    for (int i = 0; i < c->ladder.n; i++) {
        s->levels += passes_s[i] > 0;
        s->busiest_s = fmax(s->busiest_s, passes_s[i]);
    }
}

static struct sizing size_of(const struct config *c, const struct load *load)
{
    struct sizing s = {.cancels_s = load->rate * load->cancelled_share};
    walk_mix(&s, c, load);
    double request = (double)(load->payload + load->headers) + RECORD_OVERHEAD;
    double replicas = c->replication;
    s.record = envelope_bytes(load) + RECORD_OVERHEAD;
    s.delivered_s = load->rate - s.cancels_s;
    s.read_s = (load->rate + s.delivered_s) * request + s.hops_s * s.record;
    s.written_s = replicas * (s.read_s + 2 * s.cancels_s * CANCEL_BYTES);
    s.read_s += s.cancels_s * CANCEL_BYTES;
    double lane_rate = lane_share * WINDOW_SPAN / ((double)plan_lookahead_ms(&c->ladder) / 1000);
    s.lanes = at_least(fmax(load->rate + s.cancels_s, s.busiest_s) / lane_rate);
    if (s.lanes < c->partitions)
        s.lanes = c->partitions;
    s.partitions = s.lanes * (c->ladder.n + c->retired_n + OTHER_TOPICS + (c->events != 0)) + 1;
    double busy_us = (load->rate + s.cancels_s) * intake_us + (s.hops_s + s.cancels_s) * hop_us +
                     s.delivered_s * delivery_us;
    s.workers = at_least(busy_us / 1e6 / core_share);
    s.brokers = at_least(s.written_s / broker_bytes_s);
    if (s.brokers < c->replication)
        s.brokers = c->replication;
    s.disk = replicas * (s.waiting * s.record + TRIM_S * s.hops_s * s.record +
                         (double)s.levels * s.lanes * SEGMENT);
    s.cancel_memory = cancel_life_memory(c, s.cancels_s, s.cancel.kept_ms);
    s.memory_mib = base_mib + ((double)c->memory_bytes + cancels_bytes(c)) / (1 << 20) +
                   lane_mib * s.lanes + partition_mib * s.levels * s.lanes;
    return s;
}

static double writes_s(const struct load *load, const struct sizing *s)
{
    return load->rate + s->hops_s + s->delivered_s + 2 * s->cancels_s;
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
static void print_cancels(const struct config *c, const struct sizing *s)
{
    struct cancel_life life = s->cancel;
    char text[DURATION_TEXT_MAX], rate[32], workers[COUNTED_MAX];
    if (life.level_ms > 0)
        printf("%-24s %s with %s as the longest level\n", "cancels, at most",
               rate_text(cancel_life_rate(c, life.level_ms), rate),
               duration_format(life.level_ms, text));
    printf("%-24s %s, each kept for %s ", "cancels, planned",
           rate_text(cancel_life_rate(c, life.kept_ms), rate), duration_format(life.kept_ms, text));
    printf("('cancel_memory' at %s, %s)\n", bytes_text_of((double)c->cancel_memory, rate),
           counted(c->workers, "worker", workers));
    if (s->cancels_s == 0)
        return;
    printf("%-24s %s, ", "cancels of this load", rate_text(s->cancels_s, rate));
    printf("which need %s of 'cancel_memory'%s\n", bytes_text_of(s->cancel_memory, rate),
           s->cancel_memory > (double)c->cancel_memory ? " (more than configured)" : "");
}

static void print_longer(const struct config *c, const struct sizing *s)
{
    char levels[LONGER_TEXT_MAX], hops[COUNTED_MAX], text[DURATION_TEXT_MAX], rate[32];
    struct cancel_life life = cancel_life_with(&s->longer);
    printf("\nWith longer levels, %s in addition: %s for %s.\n",
           longer_levels_text(&s->longer, levels), counted(s->longer.hops, "hop", hops),
           duration_format(s->longest_ms, text));
    printf("Longer levels keep cancels longer: each for %s then, and %s fit",
           duration_format(life.kept_ms, text), rate_text(cancel_life_rate(c, life.kept_ms), rate));
    if (s->cancels_s > 0)
        printf(". Those of\nthis load need %s",
               bytes_text_of(cancel_life_memory(c, s->cancels_s, life.kept_ms), rate));
    puts(".");
}

static void print_hops(const struct load *load, const struct sizing *s)
{
    char rate[32], delay[DURATION_TEXT_MAX], what[96], hops[COUNTED_MAX];
    for (int i = 0; i < load->mix.n; i++) {
        const struct mix_part *part = &load->mix.parts[i];
        snprintf(what, sizeof what, "%s, delayed by %s", rate_text(part->rate, rate),
                 duration_format(part->delay_ms, delay));
        printf("%-24s %s", what, counted(s->hops[i].without_room, "hop", hops));
        if (s->hops[i].with_room < s->hops[i].without_room)
            printf(", %" PRId64 " with room in memory", s->hops[i].with_room);
        puts("");
    }
    printf("%-24s %.1f a request, in %s", "hops", s->hops_s / load->rate,
           counted(s->levels, "level", hops));
    if (s->with_room_hops_s < s->hops_s)
        printf(", %.1f with room in memory", s->with_room_hops_s / load->rate);
    puts("");
}

static void print_text(const struct config *c, const struct load *load, const struct sizing *s)
{
    char a[32], b[32], replicas[COUNTED_MAX];
    printf("requests: %s of %s, ", rate_text(load->rate, a),
           bytes_text_of((double)(load->payload + load->headers), b));
    if (s->cancels_s > 0)
        printf("%.0f%% of them cancelled, ", 100 * load->cancelled_share);
    printf("%s\n\n", counted(c->replication, "replica", replicas));
    print_hops(load, s);
    printf("%-24s %s (requests, hops, deliveries, and each cancel twice)\n", "records written",
           rate_text(writes_s(load, s), a));
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
    print_cancels(c, s);
    if (s->longer.n > 0)
        print_longer(c, s);
    puts("\nLevel topics keep records as long as they wait. Set the retention of the schedule "
         "topic\n"
         "to the longest time that the bridge may be down, and 'hold'. The number of workers is\n"
         "an estimate from measurements with 100-byte values: measure your own load.");
}

static json_int_t whole(double number)
{
    return (json_int_t)fmin(number, 9e18);
}

static json_t *cancels_json(const struct config *c, const struct sizing *s)
{
    struct cancel_life life = s->cancel;
    return json_pack(
        "{s:I, s:o, s:f, s:f, s:I}", "kept_ms", (json_int_t)life.kept_ms, "at_most_per_s",
        life.level_ms == 0 ? json_null() : json_real(cancel_life_rate(c, life.level_ms)),
        "plan_per_s", cancel_life_rate(c, life.kept_ms), "per_s", s->cancels_s, "needed_bytes",
        whole(s->cancel_memory));
}

static json_t *mix_json(const struct load *load, const struct sizing *s)
{
    json_t *parts = json_array();
    for (int i = 0; i < load->mix.n; i++)
        json_array_append_new(
            parts, json_pack("{s:f, s:I, s:I, s:I}", "requests_per_s", load->mix.parts[i].rate,
                             "delay_ms", (json_int_t)load->mix.parts[i].delay_ms, "hops",
                             (json_int_t)s->hops[i].with_room, "hops_without_room",
                             (json_int_t)s->hops[i].without_room));
    return parts;
}

static void print_as_json(const struct config *c, const struct load *load, const struct sizing *s)
{
    print_json(json_pack(
        "{s:o, s:f, s:f, s:i, s:f, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:I, s:o, "
        "s:o}",
        "mix", mix_json(load, s), "hops_per_s", s->with_room_hops_s, "hops_without_room_per_s",
        s->hops_s, "levels", s->levels, "records_written_per_s", writes_s(load, s), "waiting",
        whole(s->waiting), "record_bytes", whole(s->record), "disk_bytes", whole(s->disk),
        "written_bytes_per_s", whole(s->written_s), "read_bytes_per_s", whole(s->read_s), "brokers",
        s->brokers, "lanes", s->lanes, "partitions", s->partitions, "partition_replicas",
        s->partitions * c->replication, "workers", s->workers, "memory_bytes",
        whole(s->memory_mib * (1 << 20)), "cancels", cancels_json(c, s), "longer_levels",
        longer_levels_json(&s->longer)));
}

/* Returns an exit code. */
static int read_mix(struct cli *cli, struct mix *mix)
{
    const struct arguments *arguments = cli->arguments;
    const char *text = arguments_text(arguments, "--mix");
    bool rate = arguments_have(arguments, "--rate"), delay = arguments_have(arguments, "--delay");
    char most[DURATION_TEXT_MAX];
    struct error error = {""};
    if (text != NULL && (rate || delay))
        return complain(cli, EXIT_USAGE, "--mix excludes --rate and --delay");
    if (text == NULL && !(rate && delay))
        return complain(cli, EXIT_USAGE, "%s is missing: use --rate and --delay, or --mix",
                        rate ? "--delay" : "--rate");
    if (text != NULL && mix_parse(mix, text, cli->config->max_delay_ms, &error) != 0)
        return complain(cli, EXIT_USAGE, "%s", error.text);
    if (text != NULL)
        return EXIT_DONE;
    mix->parts[mix->n++] = (struct mix_part){.rate = arguments_rate(arguments, "--rate"),
                                             .delay_ms = arguments_number(arguments, "--delay")};
    if (mix->parts[0].delay_ms > cli->config->max_delay_ms)
        return complain(cli, EXIT_USAGE, "--delay: '%s' is more than max_delay, %s",
                        arguments_text(arguments, "--delay"),
                        duration_format(cli->config->max_delay_ms, most));
    return EXIT_DONE;
}

int cmd_size(struct cli *cli)
{
    const struct arguments *arguments = cli->arguments;
    struct load load = {.cancelled_share = (double)arguments_number(arguments, "--cancelled") / 100,
                        .payload = arguments_number(arguments, "--payload"),
                        .headers = arguments_number(arguments, "--headers")};
    int code = read_mix(cli, &load.mix);
    if (code != EXIT_DONE)
        return code;
    for (int i = 0; i < load.mix.n; i++)
        load.rate += load.mix.parts[i].rate;
    struct sizing sizing = size_of(cli->config, &load);
    if (cli->json)
        print_as_json(cli->config, &load, &sizing);
    else
        print_text(cli->config, &load, &sizing);
    return EXIT_DONE;
}
