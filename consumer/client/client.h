/* SPDX-License-Identifier: Apache-2.0 */
/* client: librdkafka handles made from the configuration: the operator's properties, then the ones
   that the guarantees rest on. */
#ifndef DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_H
#define DELAYBRIDGE_CONSUMER_CLIENT_CLIENT_H

#include "bridge/config/config.h"

#include <librdkafka/rdkafka.h>

enum { CLIENT_ERROR_MAX = 512 };

/* Bytes of an answer: a level's 64 MiB record and a whole fetch. The client unpacks no larger batch
   of zstd either, so whoever judges what can be read has the same bound. */
#define CLIENT_RECEIVE_MAX "209715200"

/* Properties for one handle: ours for the role, then the operator's for all roles, then the
   operator's for this role, then those that may not be changed (see client.c for each and why).
   client_id: "delaybridge-<role>". The caller owns the conf and may set callbacks and more.
   Returns NULL with a sentence in error. */
rd_kafka_conf_t *client_conf(const struct config *config, enum client_role role,
                             char error[CLIENT_ERROR_MAX]);

/* A handle for commands (admin calls, watermarks, committed offsets, produce): CLIENT_ALL with the
   operator's properties, no group membership. Consumes conf. NULL with a sentence in error. */
rd_kafka_t *client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char error[CLIENT_ERROR_MAX]);

/* Why a handle just could not be made by this thread: ERR_NO_MEMORY (threads, too) or ERR_CONFIG.
 */
int client_failure(void);

/* Make it a transactional producer's. 0 or ERR_CONFIG with a sentence. */
int client_transactional(rd_kafka_conf_t *conf, const char *id,
                         char error[CLIENT_ERROR_MAX]) must_check;

/* Destroy it, after what is open was aborted, which is waited for half a second at most; what was
   not reported is, during the call. Without that a client that is about to register a partition
   with its transaction may end the process by an assertion (2.0.2), and brokers hold what is open
   until its time is over. tainted: a request may arrive yet; then the brokers are told nothing, for
   they would take it after the end of the transaction as well, where its epoch is not over. */
void client_transactional_destroy(rd_kafka_t *rk, bool tainted);

/* Whether librdkafka takes the properties of every role together: makes each handle and destroys
   it. 0 or ERR_CONFIG with its sentence. */
int client_try(const struct config *config, char error[CLIENT_ERROR_MAX]) must_check;

/* Whether a login by OAUTHBEARER, if conf asks for one, has a source of tokens that this librdkafka
   can use. 0 or ERR_CONFIG with a sentence. client_conf calls it. */
int client_oauth_check(const rd_kafka_conf_t *conf, char error[CLIENT_ERROR_MAX]) must_check;

/* Whether the login or the TLS handshake is refused, so that trying again does not help. text: of
   the client's error. */
bool client_refusal_is_final(rd_kafka_resp_err_t err, const char *text);

/* 0 once some broker answers a metadata request within timeout_ms; ERR_KAFKA: none did, and
   the sentence names bootstrap.servers; ERR_CONFIG: the login or the TLS handshake was refused for
   good, with the sentence (which names the librdkafka version needed for SCRAM on Kafka 4 when that
   may be the cause). */
int client_reach(rd_kafka_t *rk, int timeout_ms, char error[CLIENT_ERROR_MAX]) must_check;

/* Whether the login is by SCRAM and this librdkafka cannot do that on Kafka 4 (it repeats the
   client's nonce, which Kafka checks since then). */
#define CLIENT_OLD_SCRAM "logging in to Kafka 4 by SCRAM needs librdkafka 2.6.1 or newer"
bool client_scram_is_old(const struct config *config);

/* Make the topics known to the handle, with their leaders, before they are read: the first
   assignment of a topic without them waits for a second, and one that is taken back before they
   came is forgotten. 0, or ERR_KAFKA with a sentence. */
int client_prime(rd_kafka_t *rk, const char *const *topics, int n,
                 char error[CLIENT_ERROR_MAX]) must_check;

#endif
