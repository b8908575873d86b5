/* SPDX-License-Identifier: Apache-2.0 */
/* Bulky queues: queues with many bytes in memory that are not admitted. On the schedule topic these
   are unpacked batches of the client. A small batch may unpack to a thousand times its size. On any
   topic, a single large record without room in memory also makes a queue bulky. Every lane may have
   a bulky queue, so only one of them is read at a time. While others are in line, its turn lasts
   BULK_TURN_MS. The others are paused, which frees their memory. All other queues are read as
   usual. */
#include "bridge/core/bulk.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/state.h"

bool bulk_has_large_head(const struct bridge *b, const struct queue *q)
{
    int64_t large = b->config.large_bytes;
    return large != 0 && record_memory(q->head, q->head_headers_n) > large;
}

static bool is_bulky(const struct bridge *b, const struct queue *q, int64_t limit)
{
    int64_t bytes = b->port.unread(b->port.ctx, q->id);
    if (q->head != NULL)
        bytes += record_memory(q->head, q->head_headers_n);
    return bytes > limit;
}

/* Returns the first queue in line behind the last one that was read. NULL: none waits. */
static struct queue *next_in_line(const struct bridge *b)
{
    int n = b->config.lanes * b->queues_per_lane;
    for (int i = 1; b->bulk.in_line > 0 && i <= n; i++) {
        struct queue *q = &b->queues[(b->bulk.index + i) % n];
        if (q->in_line)
            return q;
    }
    return NULL;
}

/* read: a record of the queue is known to have arrived. */
static void begin(struct bridge *b, struct queue *q, bool read)
{
    b->bulk.queue = q;
    b->bulk.index = q->id.index;
    b->bulk.read = read;
    b->bulk.begin_offset = q->window.next;
    b->bulk.since_mono_ms = b->now.mono_ms;
}

/* Returns whether a fetch has arrived for the queue whose turn it is. A fetch may take longer than
   a turn. So the turn goes to the queue whose fetch arrives first. Otherwise each queue would drop
   the fetch that it waited for. */
static bool has_brought(struct bridge *b)
{
    struct queue *q = b->bulk.queue;
    b->bulk.read |= q->window.next != b->bulk.begin_offset;
    if (b->bulk.read || !is_bulky(b, q, b->config.bulk_bytes / 2))
        return b->bulk.read;
    begin(b, q, true);
    return true;
}

static void take_turns(struct bridge *b, struct queue *q)
{
    if (b->bulk.queue == q)
        return;
    if (b->bulk.queue == NULL || !has_brought(b))
        begin(b, q, true);
    else
        queue_stand_in_line(b, q);
}

static void find_bulky(struct bridge *b)
{
    for (int lane = 0; lane < b->config.lanes; lane++) {
        struct queue *q = bridge_queue(b, lane, SLOT_SCHEDULE);
        bool loads = b->lanes[lane].cancels.loading != LOADING_NONE;
        if (q->state == QUEUE_OPEN && !loads && q->window.base != WINDOW_UNSET &&
            is_bulky(b, q, b->config.bulk_bytes))
            take_turns(b, q);
    }
}

/* Returns whether the turn of the bulky queue is over. A backlog may have no end, and a queue may
   never get room. So a turn ends after BULK_TURN_MS if others are in line. */
static bool bulky_is_over(struct bridge *b)
{
    struct queue *q = b->bulk.queue;
    if (q->state != QUEUE_OPEN)
        return true;
    bool brought = has_brought(b);
    bool turn_over = b->now.mono_ms - b->bulk.since_mono_ms >= BULK_TURN_MS;
    bool waits = q->head != NULL && q->waits_for_room && bulk_has_large_head(b, q);
    if (!waits && !is_bulky(b, q, b->config.bulk_bytes / 2))
        return brought || turn_over;
    if (turn_over && b->bulk.in_line > 0) {
        queue_stand_in_line(b, q);
        return true;
    }
    return false;
}

void bulk_serve(struct bridge *b)
{
    if (b->config.bulk_bytes == 0)
        return;
    if (b->bulk.queue != NULL && bulky_is_over(b))
        b->bulk.queue = NULL;
    struct queue *next = b->bulk.queue == NULL ? next_in_line(b) : NULL;
    if (next != NULL) {
        queue_read_on(b, next);
        begin(b, next, false);
    }
    find_bulky(b);
}

void bulk_refused(struct bridge *b, struct queue *q)
{
    if (b->config.bulk_bytes != 0 && bulk_has_large_head(b, q))
        take_turns(b, q);
}
