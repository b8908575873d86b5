/* SPDX-License-Identifier: Apache-2.0 */
/* parts: the test parts that the runner (main.c) runs. A part is a row of cases. Each case is a
   separate process with one failure. Its exit code is its result. */
#ifndef DELAYBRIDGE_TESTS_FAULTS_PARTS_H
#define DELAYBRIDGE_TESTS_FAULTS_PARTS_H

#include <stdbool.h>
#include <stdint.h>

enum ending {
    WENT_ON,     /* as if nothing had been: all was done */
    ENDED = 3,   /* with a sentence that says why; what a supervisor starts again */
    NOT_REACHED, /* the run is over before the n-th time */
    NOT_ASKED,   /* no request met the broker's answer: the case proves nothing */
    BROKEN = 9   /* lost, early, doubled, hangs: stderr says what */
};

/* Set by a case in which librdkafka itself loses memory: what leaks is not judged. */
extern bool leaks_are_the_clients;

/* Returns NOT_REACHED if the part made fewer than n allocations, and WENT_ON if it succeeded
   without the n-th. A part that failed must name memory as the reason (ENDED), else it is
   BROKEN. */
enum ending memory_ending(bool done, const char *why);

/* n: from 1 on. */
enum ending part_config(uint64_t n);
enum ending part_bridge(uint64_t n);
enum ending part_draft(uint64_t n);
enum ending part_topics(uint64_t n);
enum ending part_looks(uint64_t n);
enum ending part_listen(uint64_t n);
enum ending part_admin(uint64_t n);
enum ending part_service(uint64_t n);
enum ending part_service_exactly_once(uint64_t n);
enum ending part_shortage(uint64_t n);
enum ending part_shortage_exactly_once(uint64_t n);

enum ending part_answers(uint64_t n);
enum ending part_answers_exactly_once(uint64_t n);
void part_answers_name(uint64_t n, char *out, int size);
void part_answers_exactly_once_name(uint64_t n, char *out, int size);
uint64_t part_answers_n(void);
uint64_t part_answers_exactly_once_n(void);

enum ending part_brokers(uint64_t n);
void part_brokers_name(uint64_t n, char *out, int size);
uint64_t part_brokers_n(void);

enum ending part_fatal(uint64_t n);
void part_fatal_name(uint64_t n, char *out, int size);
uint64_t part_fatal_n(void);

enum ending part_threads(uint64_t n);
void part_threads_name(uint64_t n, char *out, int size);
uint64_t part_threads_n(void);

#endif
