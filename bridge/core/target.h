/* SPDX-License-Identifier: Apache-2.0 */
/* target: a topic that records are delivered to, and whether it takes records now. A target that
   fails holds no other: in flight to it is capped, and while it is known to be down it is not
   tried. Exactly once, where records to different targets stand or fall together, it is tried alone
   first. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_TARGET_H
#define DELAYBRIDGE_BRIDGE_CORE_TARGET_H

#include "bridge/core/state.h"
enum gate {
    GATE_OPEN,  /* send it */
    GATE_PARK,  /* behind the target: target_park */
    GATE_DEFER, /* back to a level, without an attempt */
    GATE_FAIL,  /* an attempt that failed, untried */
    GATE_WAIT   /* a moment */
};

/* What a report says of a delivery. */
struct answer {
    enum report report;
    bool alone;      /* the record was alone in its batch, or transaction: no other is the cause */
    const char *why; /* a phrase, unused for REPORT_OK */
};

/* Looks targets up, and releases records that were parked for too long. */
void targets_serve(struct bridge *b);

/* Looks a target up early: a record for it will be due within hold. */
void target_expect(struct bridge *b, struct bytes name);
enum gate target_gate(struct bridge *b, struct target *t);
void target_park(struct bridge *b, struct target *t, struct parcel *p);
void target_sent(struct bridge *b, struct target *t, struct parcel *p);
void target_reported(struct bridge *b, struct target *t, struct parcel *p,
                     const struct answer *answer);
void target_refuses(struct bridge *b, struct target *t, const char *why);
/* No record of a transaction was answered, so any of its targets may have held it. */
void target_doubt(struct bridge *b, struct target *t);

/* The targets of the open transaction. */
bool targets_hold(struct bridge *b, const char *why);    /* they alone: each is down from now on */
void targets_suspect(struct bridge *b, const char *why); /* each is tried alone */
void targets_forget_transaction(struct bridge *b);

#endif
