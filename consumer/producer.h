/* SPDX-License-Identifier: Apache-2.0 */
/* producer: forwards records: hops and dead letters through one idempotent producer that lingers (a
   hop has time), deliveries through another that does not. Payloads are not copied: a record stays
   the caller's and must live until its report.

   A client sends no more than brokers let through (pace.h): producer_forward takes nothing then.

   A producer that the client declares fatally broken is replaced in place; what was in it is
   reported REPORT_NOT_SENT. No producer ever creates a topic.

   With a transactional id everything goes through two producers that take turns, a transaction
   each: the broker writes the markers that end one while the other begins the next. What was
   forwarded since the last producer_finish holds only with the next one, and no transaction begins
   before the one before it is decided. After whatever went wrong a producer is made anew under the
   same id, which fences what is left of the old one; so it is after a request that failed on the
   wire and was sent again, since the first one may still arrive and would end a later transaction.
   Meanwhile the other one goes on, unless offsets may still arrive that are older than its own. */
#ifndef DELAYBRIDGE_CONSUMER_PRODUCER_H
#define DELAYBRIDGE_CONSUMER_PRODUCER_H

#include "bridge/config/config.h"
#include "bridge/core/port.h"
#include "consumer/wakeup.h"

struct producer;

enum { PRODUCER_ID_MAX = 512 };

struct producer_config {
    const struct config *config;
    const char *const *topics; /* by slot; borrowed for ever */
    int slots;
    int lanes; /* partitions of each */
    const char *dead_letter;
    size_t record_max_bytes; /* a larger one is refused as too large by the client; 0: 100 MB */
    struct wakeup *wakeup;
    void (*reported)(void *ctx, struct parcel *parcel, enum report report, const char *why);
    /* Before that: a record stands on a level now. */
    void (*landed)(void *ctx, const struct parcel *parcel, struct queue_id level, int64_t offset);
    /* A broker reads nothing of one of the clients for so long: a quota was exceeded. */
    void (*throttled)(void *ctx, int64_t for_ms);
    /* A level partition was trimmed and now begins at low. */
    void (*trimmed)(void *ctx, const char *topic, int partition, int64_t low);
    /* NULL: at least once. Else of PRODUCER_ID_MAX - 3 bytes at most; the second client's ends with
       ":2". With one, these are called, from producer_reports: */
    const char *transactional_id;
    void (*committed)(void *ctx, uint64_t seq);
    /* Answered with producer_abort. */
    void (*aborted)(void *ctx, enum abort_cause cause, const char *why);
    void (*restarted)(void *ctx); /* after producer_abort: another can be begun */
    void *ctx;
};

/* Returns 0, or ERR_CONFIG or ERR_NO_MEMORY with a sentence in error. */
int producer_new(const struct producer_config *config, struct producer **producer, char *error,
                 size_t error_size) must_check;

/* After it, no report comes any more: what is unsent is dropped. False: a call still waits for
   brokers in a thread of its own; nothing was freed, nor may what the producer was given be. */
bool producer_free(struct producer *producer);

/* The calls of the bridge's port. */
int producer_forward(struct producer *producer, const struct forward *forward) must_check;
void producer_reports(struct producer *producer);
enum lookup producer_lookup(struct producer *producer, struct target_id *target);
enum lookup producer_lookup_outlet(struct producer *producer, struct queue_id outlet);
void producer_forget(struct producer *producer, struct target_id *target);

/* These offsets of this member (both consumed; NULL: the lanes are nobody's, so it must fail) are
   committed with what was forwarded: sent at once, while records may still be on their way. */
void producer_announce(struct producer *producer, rd_kafka_topic_partition_list_t *offsets,
                       rd_kafka_consumer_group_metadata_t *member);

/* After that, when all were reported: commit. Ends with committed or aborted, not in the call. */
void producer_finish(struct producer *producer, uint64_t seq);

/* Give up what was forwarded and not committed. Ends with restarted, not in the call. */
void producer_abort(struct producer *producer);

/* Whether the next transaction could begin at once if this one were given up. */
bool producer_has_spare(struct producer *producer);

/* A handle to ask brokers with: unlike a consumer's, its requests never wait behind a long fetch.
   It may be replaced by another in producer_reports. */
rd_kafka_t *producer_handle(const struct producer *producer);

/* Give back what no client has yet: it is reported REPORT_NOT_SENT. */
void producer_recall(struct producer *producer);

/* Give up what is not acknowledged: it is reported REPORT_NOT_SENT, though it may be stored. */
void producer_purge(struct producer *producer);

/* Send what lingers now, and serve reports for timeout_ms at most. */
void producer_flush(struct producer *producer, int timeout_ms);

/* Delete a level partition's records below offset; only a failure is told, in the log. */
void producer_trim(struct producer *producer, const char *topic, int lane, int64_t offset);

#endif
