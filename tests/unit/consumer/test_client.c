/* SPDX-License-Identifier: Apache-2.0 */
/* client: the properties that every handle has, whatever the operator sets. */
#include "bridge/config/property.h"
#include "consumer/client/client.h"
#include "consumer/client/mock.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error error;

static struct config config_with(struct property *properties, size_t n)
{
    static char group[] = "delaybridge.schedule";
    return (struct config){.group = group, .kafka = properties, .kafka_n = n};
}

static const char *value_of(enum client_role role, const char *name)
{
    static char got[64];
    size_t size = sizeof got;
    struct config config = config_with(NULL, 0);
    rd_kafka_conf_t *conf = client_conf(&config, role, &error);
    cr_assert_not_null(conf, "%s", error.text);
    cr_assert_eq(rd_kafka_conf_get(conf, name, got, &size), RD_KAFKA_CONF_OK, "%s", name);
    rd_kafka_conf_destroy(conf);
    return got;
}

static void has(enum client_role role, const char *name, const char *value)
{
    const char *got = value_of(role, name);
    cr_expect_str_eq(got, value, "%s of role %d is %s", name, role, got);
}

Test(client, producers_are_idempotent_acknowledged_by_all_and_partition_as_java_does)
{
    for (int role = CLIENT_HOPS; role <= CLIENT_DELIVERIES; role++) {
        has((enum client_role)role, "enable.idempotence", "true");
        has((enum client_role)role, "acks", "-1");
        has((enum client_role)role, "partitioner", "murmur2_random");
        has((enum client_role)role, "message.max.bytes", "100000000");
    }
}

static long number_of(enum client_role role, const char *name)
{
    return strtol(value_of(role, name), NULL, 10);
}

Test(client, backlog_of_one_partition_never_waits_for_other_records)
{
    cr_expect_gt(number_of(CLIENT_LEVELS, "fetch.message.max.bytes"),
                 number_of(CLIENT_LEVELS, "fetch.min.bytes"));
}

Test(client, hops_are_given_up_before_their_cancel_can_be_forgotten)
{
    has(CLIENT_HOPS, "message.timeout.ms", "120000"); /* five seals take five minutes */
}

Test(client, consumers_read_committed_and_never_choose_a_position)
{
    for (int role = CLIENT_INTAKE; role <= CLIENT_LEVELS; role++) {
        has((enum client_role)role, "isolation.level", "read_committed");
        has((enum client_role)role, "auto.offset.reset", "error");
        has((enum client_role)role, "enable.auto.commit", "false");
        has((enum client_role)role, "enable.auto.offset.store", "false");
        has((enum client_role)role, "partition.assignment.strategy", "range");
        has((enum client_role)role, "group.id", "delaybridge.schedule");
    }
}

Test(client, check_of_checksums_cannot_be_overridden)
{
    const char *ours;
    cr_expect(property_is_ours("check.crcs", &ours));
}

static const char *oauth_refusal(struct property more)
{
    struct property properties[] = {
        {CLIENT_ALL, (char *)"security.protocol", (char *)"SASL_PLAINTEXT", false},
        {CLIENT_ALL, (char *)"sasl.mechanisms", (char *)"OAUTHBEARER", false},
        more,
    };
    struct config config = config_with(properties, more.name == NULL ? 2 : 3);
    rd_kafka_conf_t *conf = client_conf(&config, CLIENT_ALL, &error);
    if (conf == NULL)
        return error.text;
    rd_kafka_conf_destroy(conf);
    return NULL;
}

Test(client, a_login_by_oauthbearer_without_a_source_of_tokens_is_refused)
{
    const char *refusal = oauth_refusal((struct property){0});
    cr_assert_not_null(refusal);
    cr_expect(strstr(refusal, "sasl.mechanisms is OAUTHBEARER") != NULL, "%s", refusal);
    char sentence[PROPERTY_ERROR_MAX];
    bool can = property_check("sasl.oauthbearer.method", "oidc", sentence) == 0;
    refusal = oauth_refusal((struct property){0});
    cr_expect(strstr(refusal, can ? "token.endpoint.url" : "built without OIDC") != NULL, "%s",
              refusal);
    if (can)
        cr_expect_null(oauth_refusal((struct property){
            CLIENT_ALL, (char *)"sasl.oauthbearer.method", (char *)"oidc", false}));
}

Test(client, unsecured_tokens_are_refused_if_the_client_would_end_the_process)
{
    const char *refusal = oauth_refusal((struct property){
        CLIENT_ALL, (char *)"enable.sasl.oauthbearer.unsecure.jwt", (char *)"true", false});
    if (rd_kafka_version() >= 0x020200ff)
        cr_expect_null(refusal);
    else
        cr_expect(refusal != NULL && strstr(refusal, "2.2.0 or newer") != NULL);
}

static void refuses(const char *protocol, struct property more, const char *sentence)
{
    struct property properties[] = {
        {CLIENT_ALL, (char *)"security.protocol", (char *)protocol, false}, more};
    struct config config = config_with(properties, more.name == NULL ? 1 : 2);
    cr_expect_eq(client_try(&config, &error), ERR_CONFIG);
    cr_expect(strstr(error.text, sentence) != NULL, "%s", error.text);
}

Test(client, a_login_without_a_mechanism_is_refused_and_names_the_mechanism)
{
    struct property none = {0},
                    its_default = {CLIENT_ALL, (char *)"sasl.mechanism", (char *)"GSSAPI", false};
    refuses("SASL_SSL", none, "security.protocol is sasl_ssl, which needs sasl.mechanisms: set ");
    refuses("sasl_plaintext", none, "security.protocol is sasl_plaintext, which needs");
    refuses("sasl_ssl", its_default, "The default, GSSAPI, fails: ");
}

Test(client, a_file_that_cannot_be_used_is_named)
{
    static const char *const NAMES[] = {"ssl.ca.location", "ssl.certificate.location",
                                        "ssl.key.location", "ssl.crl.location"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct property file = {CLIENT_ALL, (char *)NAMES[i], (char *)"/nonexistent", false};
        char sentence[100];
        snprintf(sentence, sizeof sentence, "%s: \"/nonexistent\": No such file or directory",
                 NAMES[i]);
        refuses("ssl", file, sentence);
        file.value = (char *)"/dev/null";
        snprintf(sentence, sizeof sentence, "%s: \"/dev/null\": error:", NAMES[i]);
        refuses("ssl", file, sentence);
    }
}

Test(client, a_query_for_a_topic_does_not_create_it)
{
    for (int role = CLIENT_ALL; role <= CLIENT_DELIVERIES; role++)
        has((enum client_role)role, "allow.auto.create.topics", "false");
}

Test(client, a_property_of_a_role_comes_after_the_one_for_all)
{
    struct property properties[] = {
        {.role = CLIENT_HOPS, .name = (char *)"linger.ms", .value = (char *)"40"},
        {.role = CLIENT_ALL, .name = (char *)"linger.ms", .value = (char *)"7"},
    };
    struct config config = config_with(properties, 2);
    for (int role = CLIENT_HOPS; role <= CLIENT_DELIVERIES; role++) {
        char got[64];
        size_t size = sizeof got;
        rd_kafka_conf_t *conf = client_conf(&config, (enum client_role)role, &error);
        cr_assert_not_null(conf, "%s", error.text);
        rd_kafka_conf_get(conf, "linger.ms", got, &size);
        cr_expect_str_eq(got, role == CLIENT_HOPS ? "40" : "7");
        rd_kafka_conf_destroy(conf);
    }
}

Test(client, hops_linger_for_a_quarter_of_the_shortest_stay_in_a_level_and_at_most_250_ms)
{
    static const struct {
        int64_t level_ms, slack_ms;
        const char *linger_ms;
    } cases[] = {{3600000, 100, "250"}, {1000, 100, "225"}, {100, 10, "22"}, {2, 1, "0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config config = config_with(NULL, 0);
        config.ladder =
            (struct ladder){.level_ms = {cases[i].level_ms}, .n = 1, .slack_ms = cases[i].slack_ms};
        char got[64];
        size_t size = sizeof got;
        rd_kafka_conf_t *conf = client_conf(&config, CLIENT_HOPS, &error);
        cr_assert_not_null(conf, "%s", error.text);
        rd_kafka_conf_get(conf, "linger.ms", got, &size);
        cr_expect_str_eq(got, cases[i].linger_ms);
        rd_kafka_conf_destroy(conf);
    }
}

Test(client, a_bad_value_is_distinguished_from_an_unknown_property)
{
    cr_expect_eq(property_check("linger.ms", "5", error.text), 0);
    cr_expect_eq(property_check("linger.ms", "soon", error.text), ERR_CONFIG);
    cr_expect_eq(property_check("port", "9092", error.text), ERR_RANGE);
}

Test(client, properties_that_contradict_one_another_are_found_without_a_broker)
{
    struct property retries = {.role = CLIENT_ALL, .name = (char *)"retries", .value = (char *)"0"};
    struct config good = config_with(NULL, 0), bad = config_with(&retries, 1);
    cr_expect_eq(client_try(&good, &error), 0, "%s", error.text);
    cr_expect_eq(client_try(&bad, &error), ERR_CONFIG);
    cr_expect(strstr(error.text, "retries") != NULL, "%s", error.text);
}

Test(client, properties_that_only_transactions_refuse_are_found_too)
{
    struct property slow = {
        .role = CLIENT_ALL, .name = (char *)"socket.timeout.ms", .value = (char *)"20000"};
    struct config config = config_with(&slow, 1);
    cr_expect_eq(client_try(&config, &error), 0, "%s", error.text);
    config.exactly_once = true;
    cr_expect_eq(client_try(&config, &error), ERR_CONFIG);
    cr_expect(strstr(error.text, "socket.timeout.ms") != NULL, "%s", error.text);
}

Test(client, broker_that_does_not_answer_is_named)
{
    struct property nobody = {
        .role = CLIENT_ALL, .name = (char *)"bootstrap.servers", .value = (char *)"127.0.0.1:1"};
    struct config config = config_with(&nobody, 1);
    rd_kafka_conf_t *conf = client_conf(&config, CLIENT_ALL, &error);
    cr_assert_not_null(conf, "%s", error.text);
    rd_kafka_t *rk = client_new(RD_KAFKA_PRODUCER, conf, &error);
    cr_assert_not_null(rk, "%s", error.text);
    cr_expect_eq(client_reach(rk, 300, &error), ERR_KAFKA);
    cr_expect(strstr(error.text, "bootstrap.servers=127.0.0.1:1") != NULL, "%s", error.text);
    rd_kafka_destroy(rk);
}

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;
    cr_expect_eq(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

/* Expects an idle connection to the port to be probed after idle_s, or never if that is 0. Returns
   the number of connections. */
static int expect_probes(int port, int idle_s)
{
    int found = 0;
    for (int fd = 0; fd < 256; fd++) {
        struct sockaddr_in peer = {0};
        socklen_t size = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0 || ntohs(peer.sin_port) != port)
            continue;
        found++;
        bool probed = option_of(fd, SOL_SOCKET, SO_KEEPALIVE) != 0;
        cr_expect_eq(probed ? option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE) : 0, idle_s);
        cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC, "a program that we start inherits it");
    }
    return found;
}

/* A load balancer forgets connections after four minutes and more, and drops their packets. */
Test(client, idle_connections_are_probed_each_minute_unless_the_operator_says_no)
{
    struct mock *mock = mock_start(&error);
    cr_assert_not_null(mock, "%s", error.text);
    const char *address = mock_bootstrap(mock);
    int port = (int)strtol(strrchr(address, ':') + 1, NULL, 10);
    for (int probed = 0; probed <= 1; probed++) {
        struct property properties[] = {
            {.name = (char *)"bootstrap.servers", .value = (char *)address},
            {.name = (char *)"socket.keepalive.enable", .value = (char *)"false"},
        };
        struct config config = config_with(properties, probed ? 1 : 2);
        rd_kafka_conf_t *conf = client_conf(&config, CLIENT_ALL, &error);
        rd_kafka_t *rk = conf == NULL ? NULL : client_new(RD_KAFKA_PRODUCER, conf, &error);
        cr_assert_not_null(rk, "%s", error.text);
        cr_expect_eq(client_reach(rk, 5000, &error), 0, "%s", error.text);
        cr_expect_gt(expect_probes(port, probed ? 60 : 0), 0);
        rd_kafka_destroy(rk);
    }
    mock_stop(mock);
}

/* The advice of each name is a property of librdkafka. */
Test(client, each_name_of_the_java_client_leads_to_a_property_that_exists)
{
    static const char *const NAMES[] = {"ssl.truststore.location",
                                        "ssl.truststore.certificates",
                                        "ssl.keystore.key",
                                        "ssl.keystore.certificate.chain",
                                        "sasl.jaas.config",
                                        "sasl.login.callback.handler.class",
                                        "fetch.max.wait.ms",
                                        "send.buffer.bytes",
                                        "receive.buffer.bytes",
                                        "default.api.timeout.ms",
                                        "socket.connection.setup.timeout.max.ms"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char why[PROPERTY_ERROR_MAX], ours[64], reason[PROPERTY_ERROR_MAX];
        cr_assert(property_is_java(NAMES[i], why), "%s", NAMES[i]);
        const char *at = strstr(why, "librdkafka's is ");
        cr_assert_not_null(at, "%s: %s", NAMES[i], why);
        snprintf(ours, sizeof ours, "%.*s", (int)strcspn(at + 16, ","), at + 16);
        cr_expect_neq(property_check(ours, "x", reason), ERR_RANGE, "%s", ours);
    }
}

Test(client, unreachable_token_server_is_not_a_final_refusal)
{
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__AUTHENTICATION;
    cr_expect_not(client_refusal_is_final(
        err, "Failed to acquire SASL OAUTHBEARER token: Failed to connect to 127.0.0.1 port 1"));
    cr_expect(client_refusal_is_final(
        err, "Failed to acquire SASL OAUTHBEARER token: {\"error\": \"invalid_client\"}"));
    cr_expect(client_refusal_is_final(err, "SASL authentication error: Authentication failed"));
    cr_expect_not(client_refusal_is_final(RD_KAFKA_RESP_ERR__TRANSPORT, "Connection refused"));
}

/* The client gives this failure the same code as a refusal. */
Test(client, login_that_a_broker_did_not_answer_is_not_a_final_refusal)
{
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__AUTHENTICATION;
    cr_expect_not(client_refusal_is_final(
        err, "sasl_plaintext://127.0.0.1:9092/bootstrap: SASL PLAIN mechanism handshake failed: "
             "Local: Broker transport failure: broker's supported mechanisms:  (after 3ms in state "
             "DOWN)"));
    cr_expect_not(client_refusal_is_final(
        err, "SASL PLAIN mechanism handshake failed: Local: Timed out: broker's supported "
             "mechanisms: "));
    cr_expect(client_refusal_is_final(
        err, "SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's "
             "supported mechanisms: SCRAM-SHA-512"));
}
