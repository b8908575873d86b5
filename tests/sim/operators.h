/* SPDX-License-Identifier: Apache-2.0 */
/* operators: those that pause and limit targets, and the oracle of their acts. The topic of
   control is a list of acts. Each process reads it from its beginning, and then each new act after
   a delay. The oracle knows which acts a process has read, and judges each delivery by them. It
   shares no code with the bridge. */
#ifndef DELAYBRIDGE_TESTS_SIM_OPERATORS_H
#define DELAYBRIDGE_TESTS_SIM_OPERATORS_H

#include "tests/sim/oracle.h"

enum act_kind { ACT_PAUSE, ACT_LIMIT, ACT_REMOVE };

/* One record of the topic. */
struct act {
    struct act *next;
    const char *pattern;
    enum act_kind kind;
    int records, unit_ms;    /* ACT_LIMIT */
    int64_t at_ms, until_ms; /* of virtual time; until_ms: INT64_MAX for no end */
};

/* Write a record to the topic. for_ms 0: without an end. */
void operators_pause(struct world *world, const char *pattern, int64_t for_ms);
void operators_limit(struct world *world, const char *pattern, int records, int unit_ms);
void operators_remove(struct world *world, const char *pattern);

/* Sets max_rate of an entry of `targets`. Call it before the processes start. */
void operators_configure(struct world *world, const char *pattern, int records, int unit_ms);
/* Returns the same for the configuration of a process. */
const struct target_rule *operators_rules(struct world *world);

/* Writes a random one of these. */
void operators_random(struct world *world);
/* Removes every entry. */
void operators_end(struct world *world);

/* A process began, so it reads the topic. */
void operators_process_starts(struct process *process);
/* The lanes of a process have changed, or another process may have owned them. */
void operators_lanes_changed(struct process *process);

/* Check a delivery, and a record that returns to a level. */
void operators_check_delivery(struct process *process, const struct forwarded *f);
void operators_check_hop(struct process *process, const struct forwarded *f,
                         const struct stamp *stamp);

/* Returns for how much longer a request may take because of the acts. */
int64_t operators_patience_ms(const struct world *world);

#endif
