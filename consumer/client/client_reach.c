/* SPDX-License-Identifier: Apache-2.0 */
/* The first contact with Kafka: a broker answers, none answers, or one refuses the login. */
#include "bridge/base/clock.h"
#include "consumer/client/client.h"

#include <stdio.h>
#include <string.h>

static void setting_of(rd_kafka_t *rk, const char *name, char *out, size_t size)
{
    if (rd_kafka_conf_get(rd_kafka_conf(rk), name, out, &size) != RD_KAFKA_CONF_OK)
        snprintf(out, size, "?");
}

enum { SCRAM_VERSION = 0x020601ff };

static bool is_old_scram(const char *mechanism)
{
    return strncmp(mechanism, "SCRAM", 5) == 0 && rd_kafka_version() < SCRAM_VERSION;
}

bool client_scram_is_old(const struct config *config)
{
    struct error error;
    char mechanism[64] = "";
    size_t size = sizeof mechanism;
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_ALL, &error);
    if (conf == NULL)
        return false;
    bool old = rd_kafka_conf_get(conf, "sasl.mechanisms", mechanism, &size) == RD_KAFKA_CONF_OK &&
               is_old_scram(mechanism);
    rd_kafka_conf_destroy(conf);
    return old;
}

/* Returns whether the TLS handshake is refused. A handshake that was cut off does not count: the
   broker may be starting or stopping. With TLS 1.3, a broker refuses the client's certificate after
   the client has finished the handshake. That refusal appears as a failed read. */
static bool is_refused_tls(rd_kafka_resp_err_t err, const char *text)
{
    bool of_certificate = strstr(text, "certificate") != NULL || strstr(text, "unknown ca") != NULL;
    if (err == RD_KAFKA_RESP_ERR__TRANSPORT)
        return of_certificate && strstr(text, "SSL routines") != NULL;
    return err == RD_KAFKA_RESP_ERR__SSL && (of_certificate || strstr(text, "alert") != NULL);
}

/* Returns whether no token was received, although the token server has not refused one. It may be
   unavailable for a while, like a broker. A refusal contains "error" (RFC 6749). */
static bool is_token_late(const char *text)
{
    return strstr(text, "Failed to acquire SASL OAUTHBEARER token") != NULL &&
           strstr(text, "\"error\"") == NULL;
}

/* Returns whether a login has failed because the broker did not answer. It may be starting or
   stopping. */
static bool is_unanswered(const char *text)
{
    return strstr(text, "mechanism handshake failed: Local: ") != NULL;
}

bool client_refusal_is_final(rd_kafka_resp_err_t err, const char *text)
{
    return (err == RD_KAFKA_RESP_ERR__AUTHENTICATION && !is_token_late(text) &&
            !is_unanswered(text)) ||
           is_refused_tls(err, text);
}

enum { COMPLAINT_MAX = 256 };

static void say_refused(rd_kafka_t *rk, rd_kafka_resp_err_t err, const char *text,
                        struct error *error)
{
    char mechanism[32], user[64];
    setting_of(rk, "sasl.mechanisms", mechanism, sizeof mechanism);
    bool tokens = strcmp(mechanism, "OAUTHBEARER") == 0;
    setting_of(rk, tokens ? "sasl.oauthbearer.client.id" : "sasl.username", user, sizeof user);
    if (is_refused_tls(err, text))
        (void)error_set(error, ERR_CONFIG, "the TLS handshake was refused: %.250s", text);
    else if (is_old_scram(mechanism))
        (void)error_set(error, ERR_CONFIG,
                        "the login was refused (%s by %s): %.200s (" CLIENT_OLD_SCRAM
                        ", this is %s)",
                        user, mechanism, text, rd_kafka_version_str());
    else
        (void)error_set(error, ERR_CONFIG, "the login was refused (%s by %s): %.250s", user,
                        mechanism, text);
}

/* Returns whether the login is refused, with a sentence in error. last: the latest other complaint
   of the client. */
static bool is_refused(rd_kafka_t *rk, rd_kafka_queue_t *events, struct error *error,
                       char last[COMPLAINT_MAX])
{
    bool refused_login = false;
    rd_kafka_event_t *event;
    while ((event = rd_kafka_queue_poll(events, 0)) != NULL) {
        rd_kafka_resp_err_t err = rd_kafka_event_error(event);
        const char *text = rd_kafka_event_error_string(event);
        if (text != NULL && client_refusal_is_final(err, text)) {
            say_refused(rk, err, text, error);
            refused_login = true;
        }
        if (text != NULL && err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
            snprintf(last, COMPLAINT_MAX, "%s", text);
        rd_kafka_event_destroy(event);
    }
    return refused_login;
}

enum { FIRST_WAIT_MS = 250 };

/* Waits for metadata, and checks for a refusal between two waits. The waits double, since a large
   cluster may answer slowly. */
static int await_answer(rd_kafka_t *rk, rd_kafka_queue_t *events, int timeout_ms,
                        struct error *error)
{
    char last[COMPLAINT_MAX] = "no connection", servers[160];
    int64_t until_mono_ms = clock_mono_ms() + timeout_ms, left_ms = timeout_ms;
    for (int64_t wait_ms = FIRST_WAIT_MS; left_ms > 0; wait_ms *= 2) {
        const struct rd_kafka_metadata *metadata;
        int ask_ms = (int)(wait_ms < left_ms ? wait_ms : left_ms);
        if (rd_kafka_metadata(rk, 1, NULL, &metadata, ask_ms) == 0) {
            rd_kafka_metadata_destroy(metadata);
            return 0;
        }
        if (is_refused(rk, events, error, last))
            return ERR_CONFIG;
        left_ms = until_mono_ms - clock_mono_ms();
    }
    setting_of(rk, "bootstrap.servers", servers, sizeof servers);
    return error_set(error, ERR_KAFKA, "Kafka does not answer at bootstrap.servers=%s: %s", servers,
                     last);
}

int client_reach(rd_kafka_t *rk, int timeout_ms, struct error *error)
{
    rd_kafka_queue_t *events = rd_kafka_queue_get_main(rk);
    int err = await_answer(rk, events, timeout_ms, error);
    rd_kafka_queue_destroy(events);
    return err;
}
