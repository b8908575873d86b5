/* SPDX-License-Identifier: Apache-2.0 */
/* A producer whose client is broken permanently, while idle or busy. Another producer replaces it,
   and the log says so. All requests are delivered, before and after the failure. */
#include "tests/faults/clients.h"
#include "tests/faults/parts.h"
#include "tests/faults/stage.h"

#include "bridge/base/clock.h"
#include "consumer/admin/topics.h"

enum { AWAIT_MS = 30000, REPLACED_MS = 10000, WATCH_MS = 300, ROUNDS = 4, API_PRODUCE = 0 };

#define KIND(kind) (1u << KIND_##kind)
enum { IN_TURNS = KIND(FIRST) | KIND(SECOND) };

static const struct broken {
    const char *name;
    unsigned kinds; /* which are broken, at the same time */
    unsigned flags;
    bool busy;
} cases[] = {
    {"the one for hops", KIND(HOPS), 0, false},
    {"the one for hops, busy", KIND(HOPS), 0, true},
    {"the one for deliveries", KIND(DELIVERIES), 0, false},
    {"the one for deliveries, busy", KIND(DELIVERIES), 0, true},
    {"the one for what is alone", KIND(ALONE), 0, false},
    {"all of them", KIND(HOPS) | KIND(DELIVERIES), 0, false},
    {"all of them, busy", KIND(HOPS) | KIND(DELIVERIES), 0, true},
    {"exactly once, the one for questions", KIND(HOPS), STAGE_EXACTLY_ONCE, false},
    {"exactly once, the first", KIND(FIRST), STAGE_EXACTLY_ONCE, false},
    {"exactly once, the first, busy", KIND(FIRST), STAGE_EXACTLY_ONCE, true},
    {"exactly once, the second", KIND(SECOND), STAGE_EXACTLY_ONCE, false},
    {"exactly once, the second, busy", KIND(SECOND), STAGE_EXACTLY_ONCE, true},
    {"exactly once, both", IN_TURNS, STAGE_EXACTLY_ONCE, false},
    {"exactly once, both, busy", IN_TURNS, STAGE_EXACTLY_ONCE, true},
    {"exactly once, all of them", KIND(HOPS) | IN_TURNS, STAGE_EXACTLY_ONCE, true},
};

uint64_t part_fatal_n(void)
{
    return sizeof cases / sizeof *cases;
}

void part_fatal_name(uint64_t n, char *out, int size)
{
    snprintf(out, (size_t)size, "%s", cases[n - 1].name);
}

static bool ask_and_await(struct stage *s)
{
    stage_ask(s);
    return stage_await(s, AWAIT_MS);
}

/* For deliveries alone. */
static void give_broker(const struct stage *s)
{
    char name[TOPIC_TEXT_MAX];
    for (int i = 0; i < STAGE_LANES; i++)
        rd_kafka_mock_partition_set_leader(s->mock, topic_of_dead_letter(s->config.schedule, name),
                                           i, STAGE_LEVELS);
}

/* Sends requests, and a broker refuses one batch as too large. That may be another record than a
   delivery, such as the summary of the process. Returns whether all requests were answered and the
   producer for single records was used. */
static bool ask_too_large(struct stage *s)
{
    for (int i = 0; i < ROUNDS; i++) {
        rd_kafka_mock_broker_push_request_error_rtts(s->mock, STAGE_TARGETS, API_PRODUCE, 1,
                                                     RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, 0);
        if (!ask_and_await(s))
            return false;
        if (clients_made(KIND_ALONE) > 0)
            return true;
    }
    return false;
}

static bool break_them(const struct broken *c, int made[KINDS])
{
    bool done = true;
    for (int kind = 0; kind < KINDS; kind++) {
        made[kind] = clients_made((enum client_kind)kind);
        if (c->kinds >> kind & 1)
            done &= clients_break((enum client_kind)kind);
    }
    return done;
}

static bool are_replaced(const struct broken *c, const int made[KINDS])
{
    int idempotent = 0, transactional = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        if (!(c->kinds >> kind & 1))
            continue;
        if (clients_made((enum client_kind)kind) == made[kind])
            return false;
        *(IN_TURNS >> kind & 1 ? &transactional : &idempotent) += 1;
    }
    /* Two aborts within seconds are one line of the log. */
    return clients_told_replaced() >= idempotent && clients_told_aborted() >= (transactional > 0);
}

/* One that is in turns is found out when its turn comes, the others by themselves. */
static bool await_others(struct stage *s, const struct broken *c, const int made[KINDS])
{
    if (c->kinds & IN_TURNS) {
        for (int i = 0; i < ROUNDS && !are_replaced(c, made); i++) {
            if (!ask_and_await(s))
                return false;
        }
        return are_replaced(c, made);
    }
    int64_t until_ms = clock_mono_ms() + REPLACED_MS;
    while (!are_replaced(c, made) && clock_mono_ms() < until_ms)
        stage_watch(s, WATCH_MS);
    return are_replaced(c, made);
}

static const char *run(struct stage *s, const struct broken *c)
{
    int made[KINDS];
    bool alone = c->kinds & KIND(ALONE);
    if (stage_start(s) != 0)
        return s->error.text;
    s->starts = 0;
    if (!ask_and_await(s) || (alone && !ask_too_large(s)))
        return "it does not work before that";
    stage_watch(s, WATCH_MS); /* it commits */
    if (c->busy)
        stage_ask(s);
    if (!break_them(c, made))
        return "there is nothing to break";
    if (!await_others(s, c, made))
        return "it is not replaced, or the log does not say so";
    if ((alone && !ask_too_large(s)) || !ask_and_await(s))
        return "it does not work after that";
    stage_watch(s, WATCH_MS);
    if (s->starts > 0)
        return "the service was started again";
    return s->twice > 0 && !c->busy && !(c->flags & STAGE_EXACTLY_ONCE)
               ? "records came twice, and none was under way"
               : NULL;
}

enum ending part_fatal(uint64_t n)
{
    static struct stage stage;
    const struct broken *c = &cases[n - 1];
    stage_open(&stage, c->flags | STAGE_THREE_BROKERS);
    stage_share_out(&stage);
    give_broker(&stage);
    const char *wrong = run(&stage, c);
    if (wrong != NULL)
        fprintf(stderr, "%s\n", wrong);
    stage_close(&stage);
    return wrong != NULL ? BROKEN : WENT_ON;
}
