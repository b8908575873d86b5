/* SPDX-License-Identifier: Apache-2.0 */
/* notes: facts about a record that broke a transaction. The record is read again, and its note
   keeps it from breaking another transaction. The oldest of NOTES_MAX notes is overwritten. */
#ifndef DELAYBRIDGE_BRIDGE_CORE_NOTES_H
#define DELAYBRIDGE_BRIDGE_CORE_NOTES_H

#include "bridge/core/state.h"
void notes_add(struct bridge *b, const struct parcel *p, enum note_flag flag);
/* Sets the flags of a new parcel from the note of its record. */
void notes_recall(struct bridge *b, struct parcel *p);
/* After a commit: drops the notes of records that are done, or whose lanes were lost. */
void notes_forget(struct bridge *b);

#endif
