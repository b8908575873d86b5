/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of request that the service sends, answered with every error that a broker has for it.
   The errors come at the start, in the running service or at the stop. A case's name: "Produce
   (hops) NOT_LEADER_OR_FOLLOWER in the running".

   Only the service receives the errors. The clients that send requests and count deliveries use
   other brokers (stage_share_out). */
#include "tests/faults/parts.h"
#include "tests/faults/stage.h"

#include <string.h>

enum { CODES_MAX = 20, IN_A_ROW = 3, AWAIT_MS = 45000, WATCH_MS = 300 };
enum { BROKERS = 3, API_OFFSET_FETCH = 9 };
enum { AT_START = 1, RUNNING = 2, STOPPING = 4, TRANSACTIONS = 8, MANY = 16 };
enum { TOGETHER = 40, HOP_DELAY_MS = 1000, DELIVERY_DELAY_MS = 100 };

#define E(name) RD_KAFKA_RESP_ERR_##name

struct row {
    const char *name;
    int16_t api;
    unsigned when;
    int broker; /* 0: all */
    rd_kafka_resp_err_t codes[CODES_MAX];
};

#define OF_COORDINATOR \
    E(NOT_COORDINATOR), E(COORDINATOR_NOT_AVAILABLE), E(COORDINATOR_LOAD_IN_PROGRESS)
#define OF_MEMBER                                                                                 \
    E(UNKNOWN_MEMBER_ID), E(ILLEGAL_GENERATION), E(REBALANCE_IN_PROGRESS), E(FENCED_INSTANCE_ID), \
        E(GROUP_AUTHORIZATION_FAILED)
#define OF_PARTITION                                                                    \
    E(NOT_LEADER_FOR_PARTITION), E(LEADER_NOT_AVAILABLE), E(UNKNOWN_TOPIC_OR_PART),     \
        E(TOPIC_AUTHORIZATION_FAILED), E(KAFKA_STORAGE_ERROR), E(UNKNOWN_LEADER_EPOCH), \
        E(FENCED_LEADER_EPOCH)
#define OF_TRANSACTION                                                                \
    E(CONCURRENT_TRANSACTIONS), E(INVALID_TXN_STATE), E(INVALID_PRODUCER_ID_MAPPING), \
        E(INVALID_PRODUCER_EPOCH), E(PRODUCER_FENCED), E(TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
#define OF_PRODUCE                                                                            \
    OF_PARTITION, E(REQUEST_TIMED_OUT), E(NOT_ENOUGH_REPLICAS),                               \
        E(NOT_ENOUGH_REPLICAS_AFTER_APPEND), E(MSG_SIZE_TOO_LARGE), E(RECORD_LIST_TOO_LARGE), \
        E(INVALID_RECORD), E(OUT_OF_ORDER_SEQUENCE_NUMBER), E(UNKNOWN_PRODUCER_ID),           \
        E(INVALID_PRODUCER_EPOCH), E(POLICY_VIOLATION)
#define OF_ANY E(UNKNOWN), E(_TRANSPORT)

static const struct row rows[] = {
    {"Produce (hops)", 0, RUNNING, STAGE_LEVELS, {OF_PRODUCE, OF_ANY}},
    {"Produce (deliveries)", 0, RUNNING, STAGE_TARGETS, {OF_PRODUCE, OF_ANY}},
    {"Produce (many hops)", 0, RUNNING | MANY, STAGE_LEVELS, {OF_PRODUCE, OF_ANY}},
    {"Produce (many deliveries)", 0, RUNNING | MANY, STAGE_TARGETS, {OF_PRODUCE, OF_ANY}},
    {"Fetch (levels)",
     1,
     AT_START | RUNNING,
     STAGE_LEVELS,
     {OF_PARTITION, E(OFFSET_OUT_OF_RANGE), OF_ANY}},
    {"Fetch (requests)",
     1,
     AT_START | RUNNING,
     STAGE_SCHEDULE,
     {OF_PARTITION, E(OFFSET_OUT_OF_RANGE), OF_ANY}},
    {"ListOffsets", 2, AT_START, 0, {OF_PARTITION, E(OFFSET_NOT_AVAILABLE), OF_ANY}},
    {"OffsetCommit",
     8,
     AT_START | RUNNING,
     0,
     {OF_COORDINATOR, OF_MEMBER, E(OFFSET_METADATA_TOO_LARGE), E(INVALID_COMMIT_OFFSET_SIZE),
      E(TOPIC_AUTHORIZATION_FAILED), E(UNKNOWN_TOPIC_OR_PART), E(REQUEST_TIMED_OUT), OF_ANY}},
    {"OffsetFetch",
     9,
     AT_START,
     0,
     {OF_COORDINATOR, E(GROUP_AUTHORIZATION_FAILED), E(TOPIC_AUTHORIZATION_FAILED),
      E(UNKNOWN_TOPIC_OR_PART), E(UNSTABLE_OFFSET_COMMIT), OF_ANY}},
    {"FindCoordinator",
     10,
     AT_START,
     0,
     {E(COORDINATOR_NOT_AVAILABLE), E(GROUP_AUTHORIZATION_FAILED),
      E(TRANSACTIONAL_ID_AUTHORIZATION_FAILED), E(INVALID_REQUEST), OF_ANY}},
    {"JoinGroup",
     11,
     AT_START,
     0,
     {OF_COORDINATOR, OF_MEMBER, E(INCONSISTENT_GROUP_PROTOCOL), E(INVALID_SESSION_TIMEOUT),
      E(GROUP_MAX_SIZE_REACHED), OF_ANY}},
    {"Heartbeat", 12, RUNNING, 0, {OF_COORDINATOR, OF_MEMBER, OF_ANY}},
    {"LeaveGroup", 13, STOPPING, 0, {OF_COORDINATOR, OF_MEMBER, OF_ANY}},
    {"SyncGroup", 14, AT_START, 0, {OF_COORDINATOR, OF_MEMBER, OF_ANY}},
    {"InitProducerId",
     22,
     AT_START,
     0,
     {OF_COORDINATOR, OF_TRANSACTION, E(CLUSTER_AUTHORIZATION_FAILED), OF_ANY}},
    {"AddPartitionsToTxn",
     24,
     RUNNING | TRANSACTIONS,
     0,
     {OF_COORDINATOR, OF_TRANSACTION, E(TOPIC_AUTHORIZATION_FAILED), E(UNKNOWN_TOPIC_OR_PART),
      E(OPERATION_NOT_ATTEMPTED), OF_ANY}},
    {"AddOffsetsToTxn",
     25,
     RUNNING | TRANSACTIONS,
     0,
     {OF_COORDINATOR, OF_TRANSACTION, E(GROUP_AUTHORIZATION_FAILED), OF_ANY}},
    {"EndTxn", 26, RUNNING | TRANSACTIONS, 0, {OF_COORDINATOR, OF_TRANSACTION, OF_ANY}},
    {"TxnOffsetCommit",
     28,
     RUNNING | TRANSACTIONS,
     0,
     {OF_COORDINATOR, OF_MEMBER, E(INVALID_PRODUCER_EPOCH), E(PRODUCER_FENCED),
      E(TOPIC_AUTHORIZATION_FAILED), E(UNKNOWN_TOPIC_OR_PART), E(OFFSET_METADATA_TOO_LARGE),
      E(REQUEST_TIMED_OUT), OF_ANY}},
};

struct injection {
    const struct row *row;
    unsigned when;
    rd_kafka_resp_err_t code;
    bool exactly_once;
};

static bool is_sent(const struct row *row, bool exactly_once)
{
    if (strcmp(row->name, "OffsetCommit") == 0)
        return !exactly_once;
    if (row->when & MANY) /* the mock checks the sequence numbers of transactions */
        return !exactly_once;
    return exactly_once || !(row->when & TRANSACTIONS);
}

/* The n-th of the mode, from 1; false: there is none. */
static bool choose(uint64_t n, bool exactly_once, struct injection *out)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (unsigned when = AT_START; when <= STOPPING; when *= 2) {
            for (int k = 0; k < CODES_MAX && rows[i].codes[k] != 0; k++) {
                if (!(rows[i].when & when) || !is_sent(&rows[i], exactly_once))
                    continue;
                *out = (struct injection){&rows[i], when, rows[i].codes[k], exactly_once};
                if (++seen == n)
                    return true;
            }
        }
    }
    return false;
}

static uint64_t count(bool exactly_once)
{
    uint64_t n = 0;
    struct injection ignored;
    while (choose(n + 1, exactly_once, &ignored))
        n++;
    return n;
}

static void name_of(const struct injection *in, char *out, int size)
{
    snprintf(out, (size_t)size, "%s %s %s", in->row->name, rd_kafka_err2name(in->code),
             in->when == AT_START  ? "at the start"
             : in->when == RUNNING ? "in the running"
                                   : "at the end");
}

/* The service requests offsets five times before it logs that they cannot be read. */
static size_t times_of(const struct injection *in)
{
    return in->row->api == API_OFFSET_FETCH ? 3 : 1;
}

/* The client sends a look-up of the group's coordinator for a transaction's offsets three times. If
   no answer is good, it drops the request (librdkafka 2.0.2 to 2.15). send_offsets_to_transaction
   then waits until a connection to a broker begins or ends, which may take hours. */
static size_t in_a_row(const struct injection *in)
{
    bool may_hang = in->exactly_once && strcmp(in->row->name, "FindCoordinator") == 0 &&
                    in->code == E(COORDINATOR_NOT_AVAILABLE);
    return in->row->when & MANY ? 1 : may_hang ? IN_A_ROW - 1 : IN_A_ROW;
}

static void push(const struct stage *s, const struct injection *in)
{
    for (int broker = 1; broker <= BROKERS; broker++) {
        if (in->row->broker != 0 && in->row->broker != broker)
            continue;
        for (size_t i = 0; i < times_of(in); i++)
            rd_kafka_mock_broker_push_request_error_rtts(
                s->mock, broker, in->row->api, in_a_row(in), in->code, 0, in->code, 0, in->code, 0);
    }
}

/* Returns how many of the pushed errors answered a request. */
static size_t met(const struct stage *s, const struct injection *in)
{
    size_t n = 0;
    for (int broker = 1; broker <= BROKERS; broker++) {
        size_t pushed = times_of(in) * in_a_row(in), left = pushed;
        if (in->row->broker != 0 && in->row->broker != broker)
            continue;
        rd_kafka_mock_broker_error_stack_cnt(s->mock, broker, in->row->api, &left);
        n += pushed - left;
    }
    return n;
}

/* A record that its broker calls too large, three times, or invalid, is dead: that is its answer.
 */
static bool may_kill(rd_kafka_resp_err_t code)
{
    return code == E(MSG_SIZE_TOO_LARGE) || code == E(RECORD_LIST_TOO_LARGE) ||
           code == E(INVALID_RECORD);
}

/* Returns whether librdkafka itself leaks in this case (2.0.2 and 2.8.0 do). A permanently refused
   look-up of the group's coordinator for a transaction's offsets leaks its request:
   rd_kafka_coord_req_handle_FindCoordinator releases one of two references. In most runs of the
   case the error meets another look-up. */
static bool client_leaks(const struct injection *in)
{
    return strcmp(in->row->name, "FindCoordinator") == 0 &&
           in->code == E(TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
}

/* Many records of a partition are sent at once, in several requests. The first request is refused.
   The mock stores the others, as a broker does if the partition holds no record of the producer.
   The client then reports all of them as stored (consumer/client/client_report.h). */
static void ask_many(struct stage *s, const struct injection *in)
{
    stage_ask_together(s, 1, 0);
    stage_await(s, AWAIT_MS);
    push(s, in);
    stage_ask_together(s, TOGETHER,
                       in->row->broker == STAGE_LEVELS ? HOP_DELAY_MS : DELIVERY_DELAY_MS);
}

static void ask_again(struct stage *s, const struct injection *in)
{
    stage_await(s, AWAIT_MS);
    stage_watch(s, WATCH_MS); /* it commits */
    push(s, in);
    stage_ask(s);
}

/* The check of the topics gives a refused producer some tries. If each one meets a broker that
   still refuses, the start ends with the right that is missing. */
static bool is_refusal(rd_kafka_resp_err_t code)
{
    return code == E(CLUSTER_AUTHORIZATION_FAILED) ||
           code == E(TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
}

static enum ending inject(uint64_t n, unsigned flags)
{
    static struct stage stage;
    struct injection in;
    if (!choose(n, flags & STAGE_EXACTLY_ONCE, &in))
        return NOT_REACHED;
    leaks_are_the_clients = client_leaks(&in);
    bool many = in.row->when & MANY;
    stage_open(&stage, flags | STAGE_THREE_BROKERS | (many ? STAGE_PIPELINED : 0));
    stage.may_die = may_kill(in.code);
    stage_share_out(&stage);
    if (in.when == AT_START)
        push(&stage, &in);
    int err = stage_start(&stage);
    if (many)
        ask_many(&stage, &in);
    else
        stage_ask(&stage);
    if (in.when == RUNNING && !many)
        ask_again(&stage, &in);
    bool answered = err == 0 && stage_await(&stage, AWAIT_MS);
    if (in.when == STOPPING)
        push(&stage, &in);
    stage_watch(&stage, WATCH_MS);
    bool started_again = stage.starts > 1;
    stage_stop(&stage);
    size_t asked = met(&stage, &in);
    if (err != 0)
        fprintf(stderr, "it does not start: %s\n", stage.error.text);
    stage_close(&stage);
    if (err != 0 && in.when == AT_START && is_refusal(in.code) &&
        strstr(stage.error.text, "finding about the topics") != NULL)
        return ENDED;
    if (!answered)
        return BROKEN;
    return asked == 0 ? NOT_ASKED : started_again ? ENDED : WENT_ON;
}

enum ending part_answers(uint64_t n)
{
    return inject(n, 0);
}

enum ending part_answers_exactly_once(uint64_t n)
{
    return inject(n, STAGE_EXACTLY_ONCE);
}

static void name_nth(uint64_t n, bool exactly_once, char *out, int size)
{
    struct injection in;
    if (choose(n, exactly_once, &in))
        name_of(&in, out, size);
}

void part_answers_name(uint64_t n, char *out, int size)
{
    name_nth(n, false, out, size);
}

void part_answers_exactly_once_name(uint64_t n, char *out, int size)
{
    name_nth(n, true, out, size);
}

uint64_t part_answers_n(void)
{
    return count(false);
}

uint64_t part_answers_exactly_once_n(void)
{
    return count(true);
}
