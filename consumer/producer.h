/* SPDX-License-Identifier: Apache-2.0 */
/* producer: forwards records. In at-least-once mode, one idempotent client sends hops and
   dead-letter records. It lingers, since a hop has time. Another client sends deliveries and does
   not linger. Payloads are not copied: the caller keeps each record alive until its report.

   A client sends no more than brokers let through (pace.h); producer_forward then returns ERR_FULL.

   A client with a fatal error is replaced in place; its records are reported REPORT_NOT_SENT. No
   client ever creates a topic.

   With a transactional id, two transactional clients take turns, one transaction each. While
   brokers write the markers that end one transaction, the other client begins the next one. If
   brokers cannot complete a transaction, because a partition lost its leader, another client with
   another id is started (producer_turns.c). Records forwarded since the last producer_finish are
   committed by the next one. No transaction begins before the previous one is decided.

   After a failure, the client is recreated under the same id, which fences the requests of the old
   one. The same happens after a request failed on the wire and was sent again. Its first copy may
   arrive late and end a later transaction. Meanwhile another client takes the turn, unless offsets
   from the failed client may still arrive. */
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
       ":2" to ":4". With an id, producer_reports also calls the five functions below. */
    const char *transactional_id;
    void (*committed)(void *ctx, uint64_t seq);
    /* A topic of the offsets does not exist; `aborted` follows. */
    void (*offsets_refused)(void *ctx);
    /* The transaction failed; answer with producer_abort. */
    void (*aborted)(void *ctx, enum abort_cause cause, const char *why);
    /* Ends producer_abort: the next transaction can begin. */
    void (*restarted)(void *ctx);
    /* Brokers cannot complete a transaction, so a partition of it may have no leader. */
    void (*leaders_doubted)(void *ctx);
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

/* Commits the offsets in the name of member together with the forwarded records. Sends the offsets
   at once, while records may be in flight. Consumes both. NULL: no lane is owned, so the
   transaction must fail. */
void producer_announce(struct producer *producer, rd_kafka_topic_partition_list_t *offsets,
                       rd_kafka_consumer_group_metadata_t *member);

/* Commits the transaction; call it after producer_announce, when all its records are reported. Ends
   with committed or aborted, never inside the call. */
void producer_finish(struct producer *producer, uint64_t seq);

/* Aborts the records that are forwarded and not committed. Ends with restarted, never inside the
   call. */
void producer_abort(struct producer *producer);

/* Returns whether the next transaction could begin at once if this one were aborted. */
bool producer_has_spare(struct producer *producer);

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
