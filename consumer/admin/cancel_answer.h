/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_answer: whether a cancel or replace that was written to the schedule topic is in force. It
   is when the group has committed its offset. Its record on the topic of cancels then says since
   when; a refused one is on the dead-letter topic instead. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_CANCEL_ANSWER_H
#define DELAYBRIDGE_CONSUMER_ADMIN_CANCEL_ANSWER_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"

#include <librdkafka/rdkafka.h>

enum answer {
    ANSWER_NONE,     /* no process has committed it within the time */
    ANSWER_IN_FORCE, /* a request that is due later than in_force_ms + 1 s is not delivered */
    ANSWER_REFUSED,  /* code and reason say why */
    ANSWER_UNKNOWN   /* committed, and its record was deleted since */
};

struct cancel_answer {
    enum answer answer;
    int64_t in_force_ms; /* wall clock of the bridge */
    char code[32], reason[ERROR_MAX];
};

/* Waits for the answer to the cancel at this offset of the lane, for wait_ms at most. rk: a
   consumer with offsets_conf. Returns 0, or ERR_KAFKA with a sentence in error. */
int cancel_answer_await(rd_kafka_t *rk, const struct config *config, int lane, int64_t offset,
                        int64_t wait_ms, struct cancel_answer *answer,
                        struct error *error) must_check;

#endif
