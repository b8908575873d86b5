/* SPDX-License-Identifier: Apache-2.0 */
/* target: a topic that records are delivered to, and whether it is available (a circuit breaker). A
   target that fails must not delay others. So records in flight to it are limited, and while it is
   down it is not tried. With exactly-once, records to different targets share a transaction, so a
   doubted target is first tried alone. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_TARGET_H
#define DELAYBRIDGE_BRIDGE_CORE_TARGET_H

#include "bridge/core/state.h"
enum gate {
    GATE_OPEN,  /* send it */
    GATE_PARK,  /* park it behind the target: target_park */
    GATE_DEFER, /* return it to a level, without an attempt */
    GATE_FAIL,  /* count a failed attempt, without a try */
    GATE_WAIT   /* wait in memory for a moment, then decide again */
};

/* The report of a delivery. */
struct answer {
    enum report report;
    bool alone;      /* in its batch or transaction, so no other record is the cause */
    const char *why; /* a phrase, unused for REPORT_OK */
};

/* Looks up targets, and releases records that were parked for too long. */
void targets_serve(struct bridge *b);

/* Looks up a target early, because a record for it will be due within hold. */
void target_expect(struct bridge *b, struct bytes name);
/* Returns whether its topic exists, as far as is known. Looks up a target that is unknown. If the
   result is false, target_gate does not open in this turn. */
bool target_is_there(struct bridge *b, struct target *t);
/* Decides what happens to a record that is due. */
enum gate target_gate(struct bridge *b, struct target *t);
void target_park(struct bridge *b, struct target *t, struct parcel *p);
void target_sent(struct bridge *b, struct target *t, struct parcel *p);
void target_reported(struct bridge *b, struct target *t, struct parcel *p,
                     const struct answer *answer);
/* The target refuses records: marks it as down. */
void target_refuses(struct bridge *b, struct target *t, const char *why);
/* Exactly-once: a record to it was not answered, so it may lack a leader. */
void target_doubt(struct bridge *b, struct target *t);

/* Exactly-once: any partition may lack a leader. Looks each available target up before its next
   record. */
void targets_look_up_again(struct bridge *b);

/* The targets of the open transaction. */

/* Looks up a silent one, to learn whether brokers answer (cluster_is_heard). */
void targets_listen(struct bridge *b);
/* Marks the silent ones as down, and returns true. Returns false, and changes nothing, if a topic
   of ours is silent too. */
bool targets_take_down_silent(struct bridge *b, const char *why);
void targets_suspect(struct bridge *b, const char *why); /* each is tried alone */
void targets_forget_transaction(struct bridge *b);

#endif
