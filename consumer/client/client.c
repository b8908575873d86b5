/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of each handle, and their reasons. */
#include "consumer/client/client.h"

#include "consumer/client/client_log.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct setting {
    const char *name, *value;
};

/* Defaults that an operator may override. */
static const struct setting for_all[] = {
    {"socket.nagle.disable", "true"},
    /* A broker that returns is noticed within a second. */
    {"reconnect.backoff.ms", "50"},
    {"reconnect.backoff.max.ms", "1000"},
    /* A request that a broker never answers delays all later requests to that broker. */
    {"socket.timeout.ms", "10000"},
    {"socket.keepalive.enable", "true"}, /* open_socket has the times */
};

/* Limit of a fetch: the bytes of all partitions that a broker leads, or one batch. The client
   decompresses all batches of a fetch at once, perhaps to a thousand times their size, before the
   bridge sees a record. The client demands that message.max.bytes is no larger, although only
   producers use it. */
#define INTAKE_FETCH_MAX "262144"

static const struct setting for_intake[] = {
    /* All members must notice a rebalance before it ends. */
    {"heartbeat.interval.ms", "100"},
    {"session.timeout.ms", "6000"},
    {"max.poll.interval.ms", "15000"},
    {"fetch.wait.max.ms", "100"},
    /* Enough records for the duration of one fetch, which may leave this partition out. */
    {"queued.min.messages", "8000"},
    {"queued.max.messages.kbytes", "1024"},
    {"message.max.bytes", INTAKE_FETCH_MAX},
    {"fetch.max.bytes", INTAKE_FETCH_MAX},
    {"fetch.message.max.bytes", INTAKE_FETCH_MAX},
    {"receive.message.max.bytes", CLIENT_RECEIVE_MAX},
};

/* Drained partitions are paused and not part of a fetch (source.h). */
static const struct setting for_levels[] = {
    /* A partition without queued records waits for the end of the fetch in flight, so fetches must
       be short. */
    {"fetch.wait.max.ms", "20"},
    /* Records in a level have time, since they are read about hold before they are due. So a fetch
       waits for more than a few of them. It does not wait if one partition has this much, which
       must be less than a partition may fill. */
    {"fetch.min.bytes", "65536"},
    /* Unread partitions cost memory, so little of each is fetched ahead. */
    {"queued.min.messages", "2000"},
    {"queued.max.messages.kbytes", "1024"},
    {"fetch.message.max.bytes", "262144"},
    {"receive.message.max.bytes", CLIENT_RECEIVE_MAX},
};

/* A broker reads the next request of a connection when it has answered the one before
   (SocketServer.scala mutes the channel). Further requests only wait there, and the last of five is
   five acknowledgements late. With one in flight, records that come meanwhile become one batch. */
#define IN_FLIGHT "max.in.flight.requests.per.connection"

static const struct setting for_hops[] = {
    {IN_FLIGHT, "1"},
    /* Reading a level partition needs the memory of one batch at least, so batches are small. */
    {"batch.size", "262144"},
    {"retry.backoff.ms", "50"},
};

static const struct setting for_deliveries[] = {
    {"linger.ms", "0"},
    {IN_FLIGHT, "1"},
    /* After this time the record returns to a level. A broker that throttles may read the request
       eleven seconds later: with a shorter timeout the record would be delivered twice (pace.h). */
    {"message.timeout.ms", "15000"},
    {"retry.backoff.ms", "50"},
};

static const struct setting fixed_for_all[] = {
    {"allow.auto.create.topics", "false"}, /* for producers too: they must not create a target */
};

/* For consumers that read without a group membership. Producers ignore these. */
static const struct setting fixed_for_looking[] = {
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
};

static const struct setting fixed_for_consumers[] = {
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"auto.offset.reset", "error"}, /* a position is never guessed */
    {"isolation.level", "read_committed"},
    {"partition.assignment.strategy", "range"},
    /* A damaged batch becomes unreadable (unreadable.h), and is not delivered. */
    {"check.crcs", "true"},
    {"enable.partition.eof", "true"}, /* shows that a partition is drained */
};

static const struct setting fixed_for_producers[] = {
    {"enable.idempotence", "true"},
    {"acks", "all"},
    /* Java's default. It applies to every topic handle, whichever code creates the handle first. */
    {"partitioner", "murmur2_random"},
    /* The producer lowers it to the limit of the brokers (request_limit.h). */
    {"message.max.bytes", "100000000"},
    {"queue.buffering.max.messages", "10000000"}, /* the bridge bounds the records in flight */
    {"queue.buffering.max.kbytes", "2097151"},
};

static const struct setting fixed_for_hops[] = {
    /* A hop that is still unacknowledged then returns to the step machine, which looks for a cancel
       and sends it again. A hop that arrived any later could land behind log ends by which its
       cancel was forgotten (seal.h). */
    {"message.timeout.ms", "120000"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int set(rd_kafka_conf_t *conf, const char *name, const char *value, struct error *error)
{
    return rd_kafka_conf_set(conf, name, value, error->text, sizeof error->text) == RD_KAFKA_CONF_OK
               ? 0
               : ERR_CONFIG;
}

static int set_all(rd_kafka_conf_t *conf, const struct setting *settings, size_t n,
                   struct error *error)
{
    for (size_t i = 0; i < n; i++) {
        if (set(conf, settings[i].name, settings[i].value, error) != 0)
            return ERR_CONFIG;
    }
    return 0;
}

/* Shortens a pause of librdkafka 2.2 and newer. When enough records of a partition are queued, the
   client does not fetch it for a second, but a busy worker takes them within milliseconds. Older
   versions do not know the property, and do not need it. */
static int shorten_backoff(rd_kafka_conf_t *conf, struct error *error)
{
    return rd_kafka_conf_set(conf, "fetch.queue.backoff.ms", "5", error->text,
                             sizeof error->text) == RD_KAFKA_CONF_INVALID
               ? ERR_CONFIG
               : 0;
}

static int set_operator(rd_kafka_conf_t *conf, const struct config *config, enum client_role role,
                        struct error *error)
{
    for (size_t i = 0; i < config->kafka_n; i++) {
        const struct property *p = &config->kafka[i];
        if (p->role == role && set(conf, p->name, p->value, error) != 0)
            return ERR_CONFIG;
    }
    return 0;
}

static int set_ours(rd_kafka_conf_t *conf, enum client_role role, struct error *error)
{
    static const struct {
        const struct setting *settings;
        size_t n;
    } by_role[] = {
        [CLIENT_ALL] = {NULL, 0},
        [CLIENT_INTAKE] = {for_intake, COUNT(for_intake)},
        [CLIENT_LEVELS] = {for_levels, COUNT(for_levels)},
        [CLIENT_HOPS] = {for_hops, COUNT(for_hops)},
        [CLIENT_DELIVERIES] = {for_deliveries, COUNT(for_deliveries)},
    };
    int err = set_all(conf, for_all, COUNT(for_all), error);
    if (err == 0 && (role == CLIENT_INTAKE || role == CLIENT_LEVELS))
        err = shorten_backoff(conf, error);
    return err != 0 ? err : set_all(conf, by_role[role].settings, by_role[role].n, error);
}

/* A hop has time, and each request costs work on all its replicas. At 1,000 records a second in
   eight lanes, a quarter of a second makes one request of thirty records. */
static int set_hop_linger(rd_kafka_conf_t *conf, const struct ladder *ladder, struct error *error)
{
    enum { PART = 4, MOST_MS = 250 };
    int64_t shortest_stay_ms = ladder->level_ms[0] - ladder->slack_ms;
    int64_t linger_ms = shortest_stay_ms / PART;
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, linger_ms < MOST_MS ? linger_ms : MOST_MS);
    return set(conf, "linger.ms", text, error);
}

static int set_fixed(rd_kafka_conf_t *conf, const struct config *config, enum client_role role,
                     struct error *error)
{
    int err = set_all(conf, fixed_for_all, COUNT(fixed_for_all), error);
    if (err == 0 && role == CLIENT_ALL) {
        err = set_all(conf, fixed_for_looking, COUNT(fixed_for_looking), error);
        return err != 0 ? err : set(conf, "group.id", config->group, error);
    }
    if (err == 0 && (role == CLIENT_INTAKE || role == CLIENT_LEVELS)) {
        err = set_all(conf, fixed_for_consumers, COUNT(fixed_for_consumers), error);
        return err != 0 ? err : set(conf, "group.id", config->group, error);
    }
    if (err == 0 && (role == CLIENT_HOPS || role == CLIENT_DELIVERIES))
        err = set_all(conf, fixed_for_producers, COUNT(fixed_for_producers), error);
    if (err == 0 && role == CLIENT_HOPS)
        err = set_all(conf, fixed_for_hops, COUNT(fixed_for_hops), error);
    return err;
}

/* Lets the kernel probe a connection that is idle for a minute, in place of its two hours. A load
   balancer or firewall forgets an idle connection after some minutes and drops its packets, so the
   next request would wait for socket.timeout.ms. Probes keep it known, and find a forgotten one. */
static int open_socket(int domain, int type, int protocol, void *opaque)
{
    static const struct {
        int name, value;
    } options[] = {{TCP_KEEPIDLE, 60}, {TCP_KEEPINTVL, 10}, {TCP_KEEPCNT, 3}};
    (void)opaque;
    int fd = socket(domain, type | SOCK_CLOEXEC, protocol);
    for (size_t i = 0; fd >= 0 && i < COUNT(options); i++)
        (void)setsockopt(fd, IPPROTO_TCP, options[i].name, &options[i].value, sizeof(int));
    return fd;
}

rd_kafka_conf_t *client_conf(const struct config *config, enum client_role role,
                             struct error *error)
{
    static const char *const ids[] = {"delaybridge", "delaybridge-intake", "delaybridge-levels",
                                      "delaybridge-hops", "delaybridge-deliveries"};
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (set(conf, "client.id", ids[role], error) != 0 || set_ours(conf, role, error) != 0 ||
        (role == CLIENT_HOPS && set_hop_linger(conf, &config->ladder, error) != 0) ||
        set_operator(conf, config, CLIENT_ALL, error) != 0 ||
        (role != CLIENT_ALL && set_operator(conf, config, role, error) != 0) ||
        set_fixed(conf, config, role, error) != 0 || client_oauth_check(conf, error) != 0) {
        rd_kafka_conf_destroy(conf);
        return NULL;
    }
    rd_kafka_conf_set_socket_cb(conf, open_socket);
    rd_kafka_conf_set_log_cb(conf, role == CLIENT_ALL ? client_log : client_log_rest);
    if (role == CLIENT_ALL)
        rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR); /* client_reach reads them */
    else
        rd_kafka_conf_set_error_cb(conf, client_log_error);
    return conf;
}

/* Adds the missing setting or the path of the file at fault, which librdkafka does not name. */
static void explain_refusal(const rd_kafka_conf_t *conf, struct error *error)
{
    char why[ERROR_MAX], name[64] = "security.protocol", value[256];
    size_t size = sizeof value;
    memcpy(why, error->text, sizeof why);
    const char *rest = strstr(why, ".location failed: ");
    if (rest != NULL)
        snprintf(name, sizeof name, "%.*s.location", (int)(rest - why), why);
    if (rd_kafka_conf_get(conf, name, value, &size) != RD_KAFKA_CONF_OK)
        return;
    if (rest != NULL)
        (void)error_set(error, ERR_CONFIG, "%s: \"%s\": %s", name, value,
                        access(value, R_OK) == 0 ? strstr(rest, ": ") + 2 : strerror(errno));
    else if (strstr(why, "kerberos") != NULL || strstr(why, "GSSAPI") != NULL)
        (void)error_set(error, ERR_CONFIG,
                        "security.protocol is %s, which needs sasl.mechanisms: set PLAIN, "
                        "SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER. The default, GSSAPI, "
                        "fails: %s",
                        value, why);
}

rd_kafka_t *client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, struct error *error)
{
    rd_kafka_t *rk = rd_kafka_new(type, conf, error->text, sizeof error->text);
    if (rk == NULL) {
        explain_refusal(conf, error);
        rd_kafka_conf_destroy(conf);
    }
    return rk;
}

int client_failure(void)
{
    return rd_kafka_last_error() == RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE ? ERR_NO_MEMORY
                                                                         : ERR_CONFIG;
}

static const struct setting for_transactions[] = {
    /* Brokers keep the transaction of a dead process open that long. */
    {"transaction.timeout.ms", "10000"},
    {"message.timeout.ms", "8000"}, /* a transaction waits for its slowest record */
    {"linger.ms", "1"},
    {"retry.backoff.ms", "1"},
};

enum { ABORT_MS = 500 };

int client_transactional(rd_kafka_conf_t *conf, const char *id, struct error *error)
{
    int err = set(conf, "transactional.id", id, error);
    return err != 0 ? err : set_all(conf, for_transactions, COUNT(for_transactions), error);
}

static void ignore(rd_kafka_error_t *error)
{
    if (error != NULL)
        rd_kafka_error_destroy(error);
}

/* Aborts the transaction and destroys the handle. The abort of a tainted client has timeout 0, so
   it only begins: the client registers no more partitions, and its successor ends the transaction.
   The next call can only fail, and returns when this is done. In rare cases the client still ends
   the transaction. Brokers that verify partitions (3.6 and newer) then refuse late requests. */
void client_transactional_destroy(rd_kafka_t *rk, bool tainted)
{
    ignore(rd_kafka_abort_transaction(rk, tainted ? 0 : ABORT_MS));
    if (tainted)
        ignore(rd_kafka_begin_transaction(rk));
    rd_kafka_destroy(rk);
}

int client_try(const struct config *config, struct error *error)
{
    static const rd_kafka_type_t types[] = {
        [CLIENT_INTAKE] = RD_KAFKA_CONSUMER,
        [CLIENT_LEVELS] = RD_KAFKA_CONSUMER,
        [CLIENT_HOPS] = RD_KAFKA_PRODUCER,
        [CLIENT_DELIVERIES] = RD_KAFKA_PRODUCER,
    };
    for (int role = CLIENT_INTAKE; role <= CLIENT_DELIVERIES; role++) {
        rd_kafka_conf_t *conf = client_conf(config, (enum client_role)role, error);
        bool transactional = conf != NULL && role == CLIENT_DELIVERIES && config->exactly_once;
        if (transactional && client_transactional(conf, config->group, error) != 0) {
            rd_kafka_conf_destroy(conf);
            return ERR_CONFIG;
        }
        rd_kafka_t *rk = conf == NULL ? NULL : client_new(types[role], conf, error);
        if (rk == NULL)
            return ERR_CONFIG;
        rd_kafka_destroy(rk);
    }
    return 0;
}

enum { PRIME_MS = 5000 };

/* Requests the metadata of all topics: a request by name allows the broker to create a topic. */
int client_prime(rd_kafka_t *rk, const char *const *topics, int n, struct error *error)
{
    for (int i = 0; i < n; i++)
        rd_kafka_topic_destroy(rd_kafka_topic_new(rk, topics[i], NULL));
    const struct rd_kafka_metadata *metadata;
    rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 1, NULL, &metadata, PRIME_MS);
    if (err != 0)
        return error_set(error, ERR_KAFKA, "cannot read the cluster's metadata: %s",
                         rd_kafka_err2str(err));
    rd_kafka_metadata_destroy(metadata);
    return 0;
}
