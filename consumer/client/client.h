/* SPDX-License-Identifier: Apache-2.0 */
/* client: librdkafka handles, created from the configuration. The operator's properties apply
   first, then those that the delivery guarantees require. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_H
#define DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"

#include <librdkafka/rdkafka.h>

/* Bytes of a response: a 64 MiB record of a level and a whole fetch. The client decompresses no
   larger zstd batch either. Code that judges whether a batch can be read uses the same bound. */
#define CLIENT_RECEIVE_MAX "209715200"

/* Returns the properties of one handle, or NULL with a sentence in error. Later ones win: the
   bridge's for the role, the operator's for all roles, the operator's for the role, and the fixed
   ones. client.c has the reasons. CLIENT_ALL is the role of commands, without a group membership.
   client_id is "delaybridge-<role>". The caller owns the conf, and may add callbacks and
   properties. */
rd_kafka_conf_t *client_conf(const struct config *config, enum client_role role,
                             struct error *error);

/* Creates a handle from conf, which is consumed in every case. Returns NULL with a sentence in
   error. */
rd_kafka_t *client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, struct error *error);

/* Returns why the last client_new of this thread failed: ERR_NO_MEMORY (which includes threads) or
   ERR_CONFIG. */
int client_failure(void);

/* Sets the properties of a transactional producer with this id in conf. Returns 0, or ERR_CONFIG
   with a sentence. */
int client_transactional(rd_kafka_conf_t *conf, const char *id, struct error *error) must_check;

/* Aborts the open transaction, waits half a second at most for it, and destroys the handle. Records
   that are still in flight are reported during the call. The abort prevents two failures. A client
   that is about to register a partition with its transaction may fail an assertion and end the
   process (2.0.2). And brokers would keep the transaction open until its timeout.

   tainted: a request may still arrive at a broker, so the abort is not sent. The epoch stays valid
   after an abort, and the broker would accept that request behind the end of the transaction. */
void client_transactional_destroy(rd_kafka_t *rk, bool tainted);

/* Creates and destroys a handle of each role, to learn whether librdkafka accepts the properties
   together. Returns 0, or ERR_CONFIG with librdkafka's sentence. */
int client_try(const struct config *config, struct error *error) must_check;

/* Checks that a login by OAUTHBEARER, if conf demands it, has a source of tokens that this
   librdkafka supports. Returns 0, or ERR_CONFIG with a sentence. client_conf calls it. */
int client_oauth_check(const rd_kafka_conf_t *conf, struct error *error) must_check;

/* Returns whether an error means that the login or the TLS handshake is refused, so that a retry
   does not help. text: of the client's error. */
bool client_refusal_is_final(rd_kafka_resp_err_t err, const char *text);

/* Waits until a broker answers a metadata request. Returns 0, or ERR_KAFKA after timeout_ms with a
   sentence that names bootstrap.servers. Returns ERR_CONFIG with a sentence if the login or the TLS
   handshake is refused. That sentence names the librdkafka version needed for SCRAM on Kafka 4, if
   it may be the cause. */
int client_reach(rd_kafka_t *rk, int timeout_ms, struct error *error) must_check;

/* Returns whether the login is by SCRAM and this librdkafka cannot log in to Kafka 4. It repeats
   the client's nonce, which Kafka checks since version 4. */
#define CLIENT_OLD_SCRAM "logging in to Kafka 4 by SCRAM needs librdkafka 2.6.1 or newer"
bool client_scram_is_old(const struct config *config);

/* Makes the topics and their leaders known to the handle, before they are assigned. The first
   assignment of an unknown topic waits for a second. The client forgets an assignment that is
   revoked before the leaders are known. Returns 0, or ERR_KAFKA with a sentence. */
int client_prime(rd_kafka_t *rk, const char *const *topics, int n, struct error *error) must_check;

#endif
