/* SPDX-License-Identifier: Apache-2.0 */
/* control_topic: for commands, reads the entries and the processes of S.control, and writes new
   entries. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_CONTROL_TOPIC_H
#define DELAYBRIDGE_CONSUMER_ADMIN_CONTROL_TOPIC_H

#include "consumer/client/writing.h"
#include "consumer/control_record.h"
#include "consumer/member_record.h"

#include <librdkafka/rdkafka.h>

/* The entries of the topic, by pattern; those that have ended included. And the summaries of
   processes; those that were killed included. */
struct control_list {
    struct control_record *all; /* owned */
    size_t n;
    struct control_record *past; /* owned: pauses that were removed or replaced, as far as the topic
                                    still has them. until_wall_ms: at the latest then */
    size_t past_n;
    struct member *members; /* owned */
    size_t members_n;
    size_t foreign; /* other records */
};

/* Reads the topic to its end. rk: a consumer with offsets_conf. Returns 0, or ERR_KAFKA,
   ERR_CONFIG (Read is denied) or ERR_NO_MEMORY with a sentence. */
int control_topic_read(rd_kafka_t *rk, const char *topic, int timeout_ms, struct control_list *list,
                       struct error *error) must_check;
void control_list_deinit(struct control_list *list);

/* Returns the entry with exactly this pattern, or NULL. */
struct control_record *control_list_find(const struct control_list *list, const char *pattern);

/* Writes n records, at least one, and waits. The outcome is that of the first one. Returns
   writing->err. */
rd_kafka_resp_err_t control_topic_write(struct writing *writing,
                                        const struct control_record *records, size_t n);

#endif
