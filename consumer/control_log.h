/* SPDX-License-Identifier: Apache-2.0 */
/* control_log: reads the topic S.control, which has one partition, from its beginning. The
   partition is assigned by hand to the handle of the levels. If three look-ups do not find the
   topic, there are no entries, unless the login may not see it. The topic is looked for again every
   half minute. If it is deleted, its entries stay, until a new topic was read to its end. If the
   summaries of processes do not come any more, it is read again. So it is if an entry was not
   taken, when there is room. In any case it is read again after an hour. A topic that was created
   again, with at least as many records, looks like the old one. Only the
   worker's thread may call these functions. */
#ifndef DELAYBRIDGE_CONSUMER_CONTROL_LOG_H
#define DELAYBRIDGE_CONSUMER_CONTROL_LOG_H

#include "consumer/control_record.h"
#include "consumer/wakeup.h"

struct control_log;

struct control_log_config {
    rd_kafka_t *levels; /* borrowed */
    const char *topic;  /* borrowed */
    struct wakeup *wakeup;
    bool logs; /* this worker logs for all workers of the process */
    /* The topic is read from its beginning again: entries that do not come before `known` are
       removed. */
    void (*begun)(void *ctx);
    /* Returns false if there is no room for the entry. */
    bool (*changed)(void *ctx, const struct control_record *record);
    bool (*has_room)(void *ctx); /* for another entry */
    void (*known)(void *ctx);    /* the end of the log was reached, or there never was a topic */
    void *ctx;
};

/* Returns NULL if memory or a thread is lacking. */
struct control_log *control_log_new(const struct control_log_config *config);
/* Call it before the handle is destroyed. Returns false if a look-up still runs: nothing is freed
   then. */
bool control_log_free(struct control_log *log);

/* Passes on the records that have arrived. Call it each turn. */
void control_log_serve(struct control_log *log, int64_t now_mono_ms);

#endif
