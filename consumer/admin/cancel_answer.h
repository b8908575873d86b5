/* SPDX-License-Identifier: Apache-2.0 */
/* cancel_answer: finds out whether cancels and replaces that were written to the schedule topic are
   in force. A cancel is in force when the group has committed its offset. Its record on the topic
   of cancels then says since when. A refused cancel is on the dead-letter topic instead.

     cancel_answers_open     before the first cancel is written: notes the ends of the two topics
     cancel_answers_await    once or more: waits for the answers to some cancels
     cancel_answers_close

   Each call reads both topics from where the last one ended, so no record is read twice. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_CANCEL_ANSWER_H
#define DELAYBRIDGE_CONSUMER_ADMIN_CANCEL_ANSWER_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "levels/code.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cancel_answer {
    ANSWER_NONE,     /* no process has committed it within the time */
    ANSWER_IN_FORCE, /* a request that is due later than in_force_ms + 1 s is not delivered */
    ANSWER_REFUSED   /* code and reason are set */
};

/* A cancel or replace that was written at `offset` of `lane`. */
struct cancel_asked {
    int lane;
    int64_t offset;
    long line;                 /* for the caller */
    enum cancel_answer answer; /* out, as all below */
    int64_t in_force_ms;       /* wall clock of the bridge */
    char code[32], reason[REASON_MAX];
    enum cancel_answer read; /* private: of its record. It counts when the offset is committed */
    bool committed;          /* private */
};

struct answer_lane {
    int64_t cancelled_next, dead_next; /* first offsets that were not read */
    bool silent;                       /* the last cancel of a call was not answered in time */
};

struct cancel_answers {
    rd_kafka_t *rk;              /* borrowed; a consumer with offsets_conf */
    const struct config *config; /* borrowed */
    int timeout_ms;              /* for one request to the brokers */
    int lanes_n;
    struct answer_lane *lanes;
};

/* The caller sets the first four members. Returns 0, ERR_NO_MEMORY, ERR_CONFIG if a right is
   missing, or ERR_KAFKA, with a sentence. Call cancel_answers_close in any case. */
int cancel_answers_open(struct cancel_answers *answers, struct error *error) must_check;
void cancel_answers_close(struct cancel_answers *answers);

/* Waits until each of the n cancels is answered, for wait_ms at most. Sorts them by lane and
   offset. A lane that did not answer its last cancel in time is silent. Later calls do not wait
   for a silent lane, until one finds an answer of it. Returns as cancel_answers_open does. */
int cancel_answers_await(struct cancel_answers *answers, struct cancel_asked *asked, size_t n,
                         int64_t wait_ms, struct error *error) must_check;

#endif
