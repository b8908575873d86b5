/* SPDX-License-Identifier: Apache-2.0 */
/* queue: the state of one input partition, and the window of its offsets. Functions here change the
   reading position. They take no record (head.h, admission.h). */
#ifndef DELAYBRIDGE_BRIDGE_CORE_QUEUE_H
#define DELAYBRIDGE_BRIDGE_CORE_QUEUE_H

#include "bridge/core/state.h"
void queue_open(struct bridge *b, struct queue *q);
void queue_close(struct bridge *b, struct queue *q);
void queue_drop_head(struct bridge *b, struct queue *q); /* leaves a mark of its content */
/* Drops the head, and stops reading until its time is near. */
void queue_pause(struct bridge *b, struct queue *q);
void queue_stand_in_line(struct bridge *b, struct queue *q); /* paused until bulk.c resumes it */
/* Seeks to the first offset that was not admitted. */
void queue_read_on(struct bridge *b, struct queue *q);
/* Seeks to the first offset that is not done. */
void queue_reread(struct bridge *b, struct queue *q);
void queue_block(struct bridge *b, struct queue *q); /* blocks it until an operator acts */
void queue_block_for(struct bridge *b, struct queue *q, enum notice_kind why, int64_t offset);
/* The topic was deleted and created again. Blocks the queue. how: the evidence, for the log. */
void queue_replaced(struct bridge *b, struct queue *q, int64_t offset, const char *how);
void queue_notice_missing(struct bridge *b, const struct queue *q, const struct window *lost);
void queue_forget_log(struct queue *q); /* because the topic may be a new one */
/* Records in flight may belong to another log, so their success marks nothing. */
void queue_disown_in_flight(struct queue *q);
void queue_start_at(struct queue *q, int64_t start_offset); /* all offsets below are done */

void queue_changed(struct queue *q); /* notes that its window has progress to commit */
bool queue_has_progress(const struct queue *q);
/* Returns whether the done bit of offset fits the text of a commit. */
bool queue_fits(const struct bridge *b, const struct queue *q, int64_t offset);
int64_t queue_floor(const struct queue *q); /* known lower bound of the end of its log */
/* Returns true if the head was marked as done after it was read, by a late report. */
bool queue_head_is_done(const struct queue *q);
struct mark queue_mark_of(const struct record *record);
uint64_t record_checksum(const struct record *record); /* of key and value */

enum { BAD_READINGS = 3 }; /* equal readings that prove a range to be unreadable */
/* Returns whether it is blocked at a range that the client cannot read (unreadable.h). */
bool queue_is_blocked_at_range(const struct queue *q);
bool queue_forget_range(struct queue *q); /* false: the queue is not blocked at a range */
void queue_pass_range(struct queue *q, int64_t end_offset); /* all offsets below are done */

void queue_check(const struct bridge *b, const struct queue *q); /* asserts its invariants */

#endif
