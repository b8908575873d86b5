/* SPDX-License-Identifier: Apache-2.0 */
/* producer_parts: the parts of struct producer, for producer.c and producer_*.c alone. */
#ifndef DELAYBRIDGE_CONSUMER_PRODUCER_PARTS_H
#define DELAYBRIDGE_CONSUMER_PRODUCER_PARTS_H

#include "consumer/client/client.h"
#include "consumer/message.h"
#include "consumer/outbox.h"
#include "consumer/pace.h"
#include "consumer/producer.h"
#include "consumer/topic_lookup.h"
#include "consumer/trim.h"
#include "consumer/txn_calls.h"

#include <stdatomic.h>

/* The clients. HOPS also serves lookups and trims. With exactly-once it does nothing else, since
   the transactional clients from FIRST on send all records. ALONE sends one record in a batch. */
enum role { HOPS, DELIVERIES, ALONE, FIRST, SECOND, THIRD, FOURTH, ROLES };
_Static_assert(ROLES - FIRST == (int)TXN_CLIENTS, "each transactional client has a role");

/* The records on their way to a client for one partition, or for several that share the route. */
struct route {
    struct outbox outbox;
    struct link link;             /* in producer.pending while records are held */
    struct target_topics *target; /* NULL: a topic of the bridge */
    int own;                      /* index of a topic of the bridge (producer_own_topics) */
    int lane;
};

/* Partitions of a target share a route if they differ by a multiple of ROUTES_KEYED. Records
   without a key have their own route, since the client chooses their partition. */
enum { ROUTES_KEYED = 32, ROUTES = ROUTES_KEYED + 1 };

/* The handle of a target_id: the topic on each delivering client, and its routes. */
struct target_topics {
    struct target_topics *next;
    const char *name; /* borrowed from the target_id */
    rd_kafka_topic_t *topic[ROLES];
    atomic_int partitions_n; /* as the client last knew; 0: not known */
    struct route routes[ROUTES];
};

/* A message for a client. */
struct dispatch {
    struct message message;
    int64_t timestamp_ms; /* of the new record; wall clock */
};

/* A forwarded record, kept in its parcel's note until the report. */
struct outgoing {
    struct route *route; /* set while a client has the record; NULL: held, or taken back */
    struct outbox_item item;
    struct pace_item paced;
    enum role role;
    struct dispatch held; /* valid while the record is held */
};
_Static_assert((int)ROLES <= (int)PACE_CLIENTS, "each client has a pace");
_Static_assert(sizeof(struct outgoing) <= sizeof(struct parcel_note), "it fits the note");

struct client {
    rd_kafka_t *rk;
    struct outbox_limits limits, level_limits; /* of targets and other topics, and of levels */
    rd_kafka_queue_t *reports;
    /* By index of producer_own_topics. NULL: this client sends to none of them. An entry is NULL if
       the client does not send to that topic. */
    rd_kafka_topic_t **own;
};

enum { HEARD_MAX = 8, CACHE_LINE = 64, PARCEL_LINES = 4 };

/* A client's report on one record. */
struct answer {
    struct parcel *parcel;
    rd_kafka_resp_err_t err;
    int32_t partition; /* without an error: where it is stored */
    int64_t offset;
};

/* One transactional client. */
struct producer_txn {
    char id[PRODUCER_ID_MAX];    /* the transactional id */
    struct txn_calls *calls;     /* NULL: the client was never used */
    enum client_call call;       /* its end was not passed on yet */
    bool purging;                /* between producer_purge_client and CLIENT_PURGED */
    rd_kafka_resp_err_t refusal; /* with which the client refuses records until a purge; 0: none */
    int64_t logged_ms;           /* duration of the running call when a line was last due */
    int64_t slow_mono_ms;        /* start of the running call if a line was logged, or 0 */
    atomic_bool tainted;         /* a request failed on the wire and may still arrive */
    atomic_bool offsets_tainted; /* that request may change committed offsets */
    /* Responses that were not passed on yet. */
    atomic_bool produced;   /* of a broker, to a Produce request */
    atomic_bool registered; /* of the coordinator, to AddPartitionsToTxn */
};

struct producer {
    struct producer_config config;
    struct client clients[ROLES];
    struct target_topics *targets; /* of all targets that have a handle */
    struct route *own;             /* of the bridge's topics: lane * producer_own_topics + index */
    struct list pending;           /* routes that hold records */
    struct trim trim;
    struct topic_lookup *lookup;
    struct pace pace;
    atomic_int throttled_ms; /* last throttle time that a broker has returned */
    int64_t turn_mono_ms;    /* last call of producer_reports */
    struct answer *failed;   /* refused by the client at once, reported later */
    size_t failed_n, failed_size;
    struct answer heard[HEARD_MAX]; /* reported by a client, not passed on yet */
    size_t heard_n;
    int64_t rebuild_mono_ms; /* earliest time to replace a broken client */
    struct producer_txn txn[TXN_CLIENTS];
};

static inline bool producer_is_transactional(const struct producer *p)
{
    return p->config.transactional_id != NULL;
}

/* Returns whether the client refuses records, since its transaction cannot be committed. */
static inline bool producer_refuses(const struct producer *p, enum role role)
{
    return role >= FIRST && p->txn[role - FIRST].refusal != 0;
}

/* The topics of the bridge that it writes to: those of the slots, then the dead-letter topic and
   the topics of cancels and of events. */
static inline int producer_own_topics(const struct producer *p)
{
    return p->config.slots + 3;
}

static inline int producer_own_dead_letter(const struct producer *p)
{
    return p->config.slots;
}

static inline int producer_own_cancelled(const struct producer *p)
{
    return p->config.slots + 1;
}

static inline int producer_own_events(const struct producer *p)
{
    return p->config.slots + 2;
}

/* producer.c */
void producer_on_report(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque);

/* producer_send.c: gives records to the clients, through one outbox for each partition. */
int producer_send(struct producer *p, const struct forward *f, enum role role) must_check;
void producer_send_next(struct producer *p); /* batches whose time has come */
void producer_send_all(struct producer *p);  /* all held records, whatever is in flight */
/* Returns whether a record that was reported went to a target. Call it before the next one. */
bool producer_is_delivery(struct parcel *parcel);
/* Call it before the report is passed on. Returns the client that had the record. */
enum role producer_answered(struct producer *p, struct answer answer);
void producer_drop_held(struct producer *p); /* reports held records as purged */
void producer_free_held(struct producer *p); /* frees held records without a report */
bool producer_holds(const struct producer *p);
bool producer_remember_failed(struct producer *p, struct parcel *parcel, rd_kafka_resp_err_t err);
const char *producer_why(rd_kafka_resp_err_t err); /* a phrase for logs */
int32_t producer_partition(const rd_kafka_topic_t *topic, const void *key, size_t key_len,
                           int32_t partitions_n, void *topic_opaque, void *parcel);

/* producer_clients.c */
/* Creates a client in *c, whatever *c holds. Returns 0, or ERR_CONFIG or ERR_NO_MEMORY with a
   sentence. */
int producer_client_make(struct producer *p, enum role role, struct client *c,
                         struct error *error) must_check;
int producer_client_start(struct producer *p, enum role role, struct error *error) must_check;
void producer_client_stop(struct producer *p, enum role role);
/* Takes the handle out of the client; the caller destroys it. NULL: there is none. */
rd_kafka_t *producer_client_leave(struct producer *p, enum role role);
void producer_client_rebuild(struct producer *p, enum role role); /* after a fatal error */
void producer_topic_close(struct target_topics *topics, enum role role);

/* producer_txn.c */
void producer_txn_record_failed(struct producer *p, enum role role, rd_kafka_resp_err_t err);
void producer_txn_serve(struct producer *p);
bool producer_txn_stop(struct producer *p); /* false: a call still uses a client */

#endif
