/* SPDX-License-Identifier: Apache-2.0 */
/* producer_parts: what a producer is made of, for producer.c and producer_*.c alone. */
#ifndef DELAYBRIDGE_CONSUMER_PRODUCER_PARTS_H
#define DELAYBRIDGE_CONSUMER_PRODUCER_PARTS_H

#include "consumer/asker.h"
#include "consumer/client/client.h"
#include "consumer/message.h"
#include "consumer/outbox.h"
#include "consumer/pace.h"
#include "consumer/producer.h"
#include "consumer/trim.h"
#include "consumer/txn_calls.h"

#include <stdatomic.h>

/* HOPS: also for questions and trims, and for nothing else with exactly once, when FIRST and SECOND
   are transactional and take everything in turns. */
enum role { HOPS, DELIVERIES, ALONE, FIRST, SECOND, ROLES };

/* The records of one partition, or of several that share it, on their way to a client. */
struct route {
    struct outbox outbox;
    struct link link;             /* in pending, while records are held */
    struct target_topics *target; /* NULL: one of our own topics */
    int slot;                     /* of our own; the dead-letter topic comes after the levels */
    int lane;
};

/* Partitions of a target that share a route: they differ by a multiple of ROUTES_KEYED. Records
   without a key have a route of their own, since the client chooses their partition. */
enum { ROUTES_KEYED = 32, ROUTES = ROUTES_KEYED + 1 };

/* What hangs on a target: its topic on each delivering client. */
struct target_topics {
    struct target_topics *next;
    const char *name; /* of the target_id that it hangs on */
    rd_kafka_topic_t *topic[ROLES];
    atomic_int partitions_n; /* as the client last knew; 0: not yet */
    struct route routes[ROUTES];
};

/* What a client is given. */
struct dispatch {
    struct message message;
    int64_t timestamp_ms;
};

/* A record on its way, in its parcel's note. */
struct outgoing {
    struct route *route; /* with a client: where to; NULL: held, or given back */
    struct outbox_item item;
    struct pace_item paced;
    enum role role;
    struct dispatch held; /* while it is held */
};
_Static_assert((int)ROLES <= (int)PACE_CLIENTS, "each client has a pace");
_Static_assert(sizeof(struct outgoing) <= sizeof(struct parcel_note), "it fits the note");

struct client {
    rd_kafka_t *rk;
    struct outbox_limits limits;
    rd_kafka_queue_t *reports;
    rd_kafka_topic_t **own; /* by slot, then the dead-letter topic; NULL: they are another's */
};

enum { HEARD_MAX = 8, CACHE_LINE = 64, PARCEL_LINES = 4 };

struct answer {
    struct parcel *parcel;
    rd_kafka_resp_err_t err;
};

/* STARTING   the client is new: init_transactions, or a pause before that is tried again
   READY      nothing is in a transaction
   Only of the one whose turn it is:
   OPEN       begun
   COMMITTING txn_calls has it
   PURGING    broken: what was handed over is reported
   TORN       all of that is reported; producer_abort is to come
   And then, while the other may be at work:
   CLOSING    txn_calls destroys the client; then it is made anew */
enum txn_phase {
    PHASE_STARTING,
    PHASE_READY,
    PHASE_OPEN,
    PHASE_COMMITTING,
    PHASE_PURGING,
    PHASE_TORN,
    PHASE_CLOSING
};

/* What a transactional client has of its own. */
struct producer_turn {
    char id[PRODUCER_ID_MAX]; /* transactional */
    struct txn_calls *calls;
    enum txn_phase phase;
    int64_t retry_mono_ms; /* STARTING: tried again then; 0: under way */
    int64_t logged_ms;     /* of the call under way: that it had lasted so long */
    atomic_bool tainted;   /* a request failed on the wire, and may still arrive */
};

struct producer_txn {
    struct producer_turn turns[2]; /* of FIRST and SECOND */
    enum role turn;                /* whose transaction it is, or the next one */
    uint64_t seq;
    bool failing;   /* a report, or the client itself, said no */
    bool giving_up; /* producer_abort was called */
    bool stays;     /* offsets that were sent, or the commit itself, may still arrive: the turn does
                       not pass before this client has committed newer ones */
    bool progress;  /* the commit under way has offsets */
    bool sending;   /* txn_calls has offsets of the open transaction */
    bool finishing; /* when it has sent them, it is to commit */
    bool refused;   /* a commit was asked for that has no member */
    enum abort_cause cause;
    char why[CLIENT_ERROR_MAX];
    rd_kafka_topic_partition_list_t *offsets; /* to be committed once it is READY; NULL: none */
    rd_kafka_consumer_group_metadata_t *member;
};

struct producer {
    struct producer_config config;
    struct client clients[ROLES];
    struct pace pace;
    atomic_int throttled_ms;       /* for which a broker is to read nothing, as last heard */
    struct target_topics *targets; /* all that hang somewhere */
    struct route *own;             /* of our own topics: lane * (slots + 1) + slot */
    struct list pending;           /* routes that hold records */
    struct trim trim;
    struct asker *asker;
    int64_t turn_mono_ms;  /* when reports were last asked for */
    struct answer *failed; /* refused by the client at once, reported later */
    size_t failed_n, failed_size;
    struct answer heard[HEARD_MAX]; /* reported by a client, and not passed on yet */
    size_t heard_n;
    int64_t rebuild_mono_ms; /* monotonic: a broken client is not replaced before this */
    struct producer_txn txn;
};

static inline bool producer_is_transactional(const struct producer *p)
{
    return p->config.transactional_id != NULL;
}

/* producer.c */
void producer_on_report(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque);
const char *producer_why(rd_kafka_resp_err_t err); /* for people */

/* producer_send.c: records into the clients, through an outbox for each partition. */
int producer_send(struct producer *p, const struct forward *f, enum role role) must_check;
void producer_send_next(struct producer *p);                      /* batches whose turn has come */
void producer_send_all(struct producer *p);                       /* whatever is in flight */
void producer_answered(struct producer *p, struct answer answer); /* before it is reported */
void producer_drop_held(struct producer *p);                      /* reported as purged */
void producer_free_held(struct producer *p);                      /* never reported */
bool producer_holds(const struct producer *p);
bool producer_remember_failed(struct producer *p, struct parcel *parcel, rd_kafka_resp_err_t err);
int32_t producer_partition(const rd_kafka_topic_t *topic, const void *key, size_t key_len,
                           int32_t partitions_n, void *topic_opaque, void *parcel);

/* producer_clients.c */
void producer_log_failure(const char *what, const char *error);
/* Into c, whatever stands there. 0 or ERR_CONFIG with a sentence. */
int producer_client_make(struct producer *p, enum role role, struct client *c,
                         char error[CLIENT_ERROR_MAX]) must_check;
int producer_client_start(struct producer *p, enum role role,
                          char error[CLIENT_ERROR_MAX]) must_check;
void producer_client_stop(struct producer *p, enum role role);
rd_kafka_t *producer_client_leave(struct producer *p, enum role role); /* to be destroyed */
void producer_client_rebuild(struct producer *p, enum role role);      /* it is fatally broken */
void producer_topic_close(struct target_topics *topics, enum role role);

/* producer_txn.c */
int producer_txn_start(struct producer *p);
bool producer_txn_stop(struct producer *p); /* false: a client is still in use */
int producer_txn_configure(struct producer *p, enum role role, rd_kafka_conf_t *conf,
                           char error[CLIENT_ERROR_MAX]) must_check;
int producer_txn_enter(struct producer *p); /* 0, or ERR_FULL: nothing can be taken now */
void producer_txn_serve(struct producer *p);

/* producer_blame.c */
void producer_txn_fail(struct producer *p, rd_kafka_resp_err_t err, const char *why);
void producer_txn_ask_why(
    struct producer *p); /* the client, which may know more than reports said */

#endif
