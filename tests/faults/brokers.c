/* SPDX-License-Identifier: Apache-2.0 */
/* Brokers that are unavailable, slow, or lead other partitions than before, while requests arrive.
   Each case runs in both modes, except those in which requests to one partition pass each other.
   Without a transaction the mock accepts any sequence. So it may write the later request and refuse
   the earlier one. The client reports both as written, because no real broker does that. */
#include "tests/faults/parts.h"
#include "tests/faults/stage.h"

#include "consumer/admin/offsets.h"

enum { AWAIT_MS = 45000, ROUNDS = 3, ROUND_MS = 700, BROKERS = 3 };
enum { API_END_TXN = 26, API_PRODUCE = 0, API_OFFSET_COMMIT = 8 };

static void each_broker_down(const struct stage *s, bool begin)
{
    for (int i = 1; i <= BROKERS; i++) {
        if (begin)
            rd_kafka_mock_broker_set_down(s->mock, i);
        else
            rd_kafka_mock_broker_set_up(s->mock, i);
    }
}

static void first_broker_down(const struct stage *s, bool begin)
{
    if (begin)
        rd_kafka_mock_broker_set_down(s->mock, 1);
    else
        rd_kafka_mock_broker_set_up(s->mock, 1);
}

static void slow(const struct stage *s, int rtt_ms)
{
    for (int i = 1; i <= BROKERS; i++)
        rd_kafka_mock_broker_set_rtt(s->mock, i, rtt_ms);
}

static void rtt_of_300_ms(const struct stage *s, bool begin)
{
    slow(s, begin ? 300 : 0);
}

static void rtt_of_2_s(const struct stage *s, bool begin)
{
    slow(s, begin ? 2000 : 0);
}

static void lead_all(const struct stage *s, int broker)
{
    char name[TOPIC_TEXT_MAX];
    for (int lane = 0; lane < STAGE_LANES; lane++) {
        for (int slot = 0; slot <= s->config.ladder.n; slot++)
            rd_kafka_mock_partition_set_leader(s->mock, offsets_topic(&s->config, slot, name), lane,
                                               broker);
        rd_kafka_mock_partition_set_leader(s->mock, "orders.timeout", lane, broker);
    }
}

static void leaders_move(const struct stage *s, bool begin)
{
    lead_all(s, begin ? 2 : 3);
}

/* -1: none, for the time being. */
static void no_leaders(const struct stage *s, bool begin)
{
    lead_all(s, begin ? -1 : 1);
}

/* The client gives a record up after eight seconds; then the partition is looked up. */
static void levels_without_leaders(const struct stage *s, bool begin)
{
    char name[TOPIC_TEXT_MAX];
    for (int lane = 0; lane < STAGE_LANES; lane++)
        for (int slot = 1; slot <= s->config.ladder.n; slot++)
            rd_kafka_mock_partition_set_leader(s->mock, offsets_topic(&s->config, slot, name), lane,
                                               begin ? -1 : 1);
}

static void coordinators_move(const struct stage *s, bool begin)
{
    rd_kafka_mock_coordinator_set(s->mock, "group", s->config.group, begin ? 2 : 3);
}

static void delay(const struct stage *s, int16_t api)
{
    for (int i = 1; i <= BROKERS; i++)
        rd_kafka_mock_broker_push_request_error_rtts(s->mock, i, api, 2, 0, 1500, 0, 1500);
}

static void ends_of_transactions_are_slow(const struct stage *s, bool begin)
{
    if (begin)
        delay(s, API_END_TXN);
}

static void writes_are_slow(const struct stage *s, bool begin)
{
    if (begin)
        delay(s, API_PRODUCE);
}

static void commits_are_slow(const struct stage *s, bool begin)
{
    if (begin)
        delay(s, API_OFFSET_COMMIT);
}

enum modes { BOTH, EXACTLY_ONCE };

static const struct trouble {
    const char *name;
    void (*make)(const struct stage *stage, bool begin);
    int lasts_ms;
    enum modes modes;
} troubles[] = {
    {"one broker is away for a second", first_broker_down, 1000, BOTH},
    {"one broker is away for 7 seconds", first_broker_down, 7000, BOTH},
    {"all brokers are away for a second", each_broker_down, 1000, BOTH},
    {"all brokers are away for 9 seconds", each_broker_down, 9000, BOTH},
    {"answers take 300 ms", rtt_of_300_ms, 3000, BOTH},
    {"answers take 2 s", rtt_of_2_s, 7000, BOTH},
    {"leaders move", leaders_move, 1000, EXACTLY_ONCE},
    {"nobody leads for 2 seconds", no_leaders, 2000, EXACTLY_ONCE},
    {"nobody leads the levels for 11 seconds", levels_without_leaders, 11000, EXACTLY_ONCE},
    {"the coordinator moves", coordinators_move, 1000, BOTH},
    {"transactions end slowly", ends_of_transactions_are_slow, 1000, BOTH},
    {"writes are answered slowly", writes_are_slow, 1000, BOTH},
    {"commits are answered slowly", commits_are_slow, 1000, BOTH},
};

/* A trouble in a mode; trouble is NULL: there are fewer cases. */
struct brokers_case {
    const struct trouble *trouble;
    bool exactly_once;
};

/* The n-th case, from 1 on. */
static struct brokers_case case_of(uint64_t n)
{
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++) {
        for (int mode = (int)troubles[i].modes; mode <= EXACTLY_ONCE; mode++) {
            if (--n == 0)
                return (struct brokers_case){&troubles[i], mode == EXACTLY_ONCE};
        }
    }
    return (struct brokers_case){NULL, false};
}

uint64_t part_brokers_n(void)
{
    uint64_t n = 0;
    while (case_of(n + 1).trouble != NULL)
        n++;
    return n;
}

void part_brokers_name(uint64_t n, char *out, int size)
{
    struct brokers_case it = case_of(n);
    snprintf(out, (size_t)size, "%s%s", it.trouble->name, it.exactly_once ? ", exactly once" : "");
}

/* The requesting client uses the same brokers: it sends requests before and after. */
enum ending part_brokers(uint64_t n)
{
    static struct stage stage;
    struct brokers_case it = case_of(n);
    stage_open(&stage, STAGE_THREE_BROKERS | (it.exactly_once ? STAGE_EXACTLY_ONCE : 0));
    int err = stage_start(&stage);
    stage_ask(&stage);
    bool answered = err == 0 && stage_await(&stage, AWAIT_MS);
    for (int i = 0; i < ROUNDS && answered; i++) {
        stage_ask(&stage);
        it.trouble->make(&stage, true);
        stage_watch(&stage, it.trouble->lasts_ms);
        it.trouble->make(&stage, false);
        stage_watch(&stage, ROUND_MS);
    }
    answered = answered && stage_await(&stage, AWAIT_MS);
    bool started_again = stage.starts > 1;
    stage_close(&stage);
    return !answered ? BROKEN : started_again ? ENDED : WENT_ON;
}
