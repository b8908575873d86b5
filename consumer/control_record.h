/* SPDX-License-Identifier: Apache-2.0 */
/* control_record: the records of the topic S.control. The key is the pattern of an entry, and the
   value its JSON:

     {"op": "pause", "rate": null, "until": null, "by": "anna@bastion", "at":
   "2026-11-26T08:00:00.000Z"}
     {"op": "limit", "rate": "100/s", "until": "2026-11-26T10:00:00.000Z", "by": …, "at": …}

   A null value removes the entry. A key with a colon belongs to a process, and is no entry. Unknown
   members are ignored. */
#ifndef DELAYBRIDGE_CONSUMER_CONTROL_RECORD_H
#define DELAYBRIDGE_CONSUMER_CONTROL_RECORD_H

#include "bridge/base/error.h"
#include "levels/control.h"

enum { CONTROL_BY_MAX = 128, CONTROL_VALUE_MAX = 4096 };

struct control_record {
    struct control control;
    char by[CONTROL_BY_MAX]; /* the operator, as the command names it; "": unknown */
    bool is_removed;         /* only control.pattern counts */
};

/* Returns whether a key belongs to a process. */
bool control_key_is_of_process(struct bytes key);

/* Returns 0, or ERR_FOREIGN with a phrase that says why the record is none. Any bytes are safe. */
int control_record_read(struct bytes key, struct bytes value, struct control_record *record,
                        struct error *why) must_check;

/* Returns the value of a record that is not removed. The caller frees it. NULL: out of memory. */
char *control_record_write(const struct control_record *record);

#endif
