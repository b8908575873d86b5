/* SPDX-License-Identifier: Apache-2.0 */
/* producer: forwards records. In at-least-once mode, one idempotent client sends hops and
   dead-letter records. It lingers, since a hop has time. Another client sends deliveries and does
   not linger. Payloads are not copied: the caller keeps each record alive until its report.

   A client sends no more than brokers let through (pace.h); producer_forward then returns ERR_FULL.

   A client with a fatal error is replaced in place; its records are reported REPORT_NOT_SENT. No
   client ever creates a topic.

   With a transactional id, transactional clients send all records, each transaction by one client.
   The step machine decides which client begins, commits and is replaced (port.h). Its orders are
   carried out here, and facts about their ends are passed on (producer_txn.c). */
#ifndef DELAYBRIDGE_CONSUMER_PRODUCER_H
#define DELAYBRIDGE_CONSUMER_PRODUCER_H

#include "bridge/config/config.h"
#include "bridge/core/port.h"
#include "consumer/wakeup.h"

struct producer;

enum { PRODUCER_ID_MAX = 512 };

struct producer_config {
    const struct config *config;
    const char *const *topics; /* by slot; borrowed */
    int slots;
    int lanes;                                    /* partitions of each topic */
    const char *dead_letter, *cancelled, *events; /* topics; borrowed */
    /* Bytes. The client refuses a larger record as too large. 0: 100 MB. */
    size_t record_max_bytes;
    struct wakeup *wakeup;
    /* The last call for a parcel, with the client's report. why: a phrase for people. */
    void (*reported)(void *ctx, struct parcel *parcel, enum report report, const char *why);
    /* Called before reported: the record is stored on this level at offset. */
    void (*landed)(void *ctx, const struct parcel *parcel, struct queue_id level, int64_t offset);
    /* At-least-once, called before reported: the record is stored in its target. */
    void (*delivered)(void *ctx, struct parcel *parcel, int32_t partition, int64_t offset);
    /* A quota was exceeded: a broker reads nothing from one of the clients for for_ms. */
    void (*throttled)(void *ctx, int64_t for_ms);
    /* The log of a level partition now begins at low. */
    void (*trimmed)(void *ctx, const char *topic, int partition, int64_t low);
    /* NULL: at least once. At most PRODUCER_ID_MAX - 3 bytes: the ids of further clients end in
       ":2" to ":4". */
    const char *transactional_id;
    /* With an id. producer_reports calls it, and producer_begin if it fails. The callee may give
       orders. */
    void (*fact)(void *ctx, const struct client_fact *fact);
    /* A topic of the offsets does not exist; the failed CALL_SEND_OFFSETS follows. */
    void (*offsets_refused)(void *ctx);
    void *ctx;
};

/* Returns 0, or ERR_CONFIG or ERR_NO_MEMORY with a sentence in error. */
int producer_new(const struct producer_config *config, struct producer **producer,
                 struct error *error) must_check;

/* Frees the producer and drops unsent records; no report follows. Returns false if a call still
   waits for brokers in its thread. Then nothing is freed, and everything that the producer was
   given must stay alive. */
bool producer_free(struct producer *producer);

/* Implement calls of the port (port.h). */
int producer_forward(struct producer *producer, const struct forward *forward) must_check;
void producer_reports(struct producer *producer);

/* Returns the ms until producer_reports has held records to send, or INT64_MAX. */
int64_t producer_wait_ms(const struct producer *producer);
enum lookup producer_lookup(struct producer *producer, struct target_id *target);
enum lookup producer_lookup_outlet(struct producer *producer, struct queue_id outlet);
void producer_forget(struct producer *producer, struct target_id *target);

/* Implement the orders of the port to a transactional client. producer_send_offsets sends the
   offsets in the name of member, and consumes both. */
int producer_begin(struct producer *producer, int client) must_check;
void producer_send_offsets(struct producer *producer, int client,
                           rd_kafka_topic_partition_list_t *offsets,
                           rd_kafka_consumer_group_metadata_t *member);
void producer_commit(struct producer *producer, int client);
void producer_purge_client(struct producer *producer, int client);
void producer_renew(struct producer *producer, int client, bool was_left);

/* Returns a handle for lookups. Its requests never wait behind a long fetch, as those of a consumer
   do. producer_reports may replace it. */
rd_kafka_t *producer_handle(const struct producer *producer);

/* Takes back the records that no client has yet, and reports them REPORT_NOT_SENT. */
void producer_recall(struct producer *producer);

/* Gives up the records without an acknowledgement, and reports them REPORT_NOT_SENT. Brokers may
   have stored them. */
void producer_purge(struct producer *producer);

/* Sends lingering records now, and serves reports for timeout_ms at most. */
void producer_flush(struct producer *producer, int timeout_ms);

/* Deletes a level partition's records below offset. A failure is only logged. */
void producer_trim(struct producer *producer, const char *topic, int lane, int64_t offset);

#endif
