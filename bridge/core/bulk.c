/* SPDX-License-Identifier: Apache-2.0 */
/* Bulky queues: queues with many bytes in memory that are not admitted. On the schedule topic these
   are unpacked batches of the client. A small batch may unpack to a thousand times its size. On any
   topic, a single large record without room in memory also makes a queue bulky. Every lane may have
   a bulky queue, so only one of them is read at a time. While others are in line, its turn lasts
   BULK_TURN_MS. The others are paused, which frees their memory. All other queues are read as
   usual.

   A lane that restores its cancels reads its requests in a load, and its queue is in line. While a
   load is bulky, no bulky queue is read, and lanes that open stay in line. */
#include "bridge/core/bulk.h"
#include "bridge/core/parcel.h"
#include "bridge/core/queue.h"
#include "bridge/core/state.h"

enum { LOAD_SILENT_MS = 1000 };

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

/* Returns whether the queue waits for its turn. One of a lane that restores waits for its lane. */
static bool waits_for_turn(const struct bridge *b, const struct queue *q)
{
    return q->in_line && b->lanes[q->id.lane].cancels.loading == LOADING_NONE;
}

/* Returns the first queue in line behind the last one that was read. NULL: none waits. */
static struct queue *next_in_line(const struct bridge *b)
{
    int n = b->config.lanes * b->queues_per_lane;
    for (int i = 1; b->bulk.in_line > 0 && i <= n; i++) {
        struct queue *q = &b->queues[(b->bulk.index + i) % n];
        if (waits_for_turn(b, q))
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
    if (!b->bulk.load_is_bulky && (b->bulk.queue == NULL || !has_brought(b)))
        begin(b, q, true);
    else
        queue_stand_in_line(b, q);
}

static void find_bulky(struct bridge *b)
{
    for (int lane = 0; lane < b->config.lanes; lane++) {
        struct queue *q = bridge_queue(b, lane, SLOT_SCHEDULE);
        if (q->state == QUEUE_OPEN && q->window.base != WINDOW_UNSET &&
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
    if (turn_over && next_in_line(b) != NULL) {
        queue_stand_in_line(b, q);
        return true;
    }
    return false;
}

/* Returns whether the load of a lane's requests has read a record lately. One that waits for a
   leader must not stop other lanes. */
static bool load_moves(struct bridge *b, struct lane_cancels *l)
{
    if (l->loading != LOADING_REQUESTS)
        return false;
    if (l->load_next != l->watched_next)
        l->moved_mono_ms = b->now.mono_ms;
    l->watched_next = l->load_next;
    return b->now.mono_ms - l->moved_mono_ms < LOAD_SILENT_MS;
}

void bulk_watch_load(struct bridge *b, int lane)
{
    int64_t limit = b->config.bulk_bytes;
    b->bulk.load_is_bulky |=
        limit != 0 && b->port.unread(b->port.ctx, bridge_queue(b, lane, SLOT_SCHEDULE)->id) > limit;
}

void bulk_lane_opened(struct bridge *b, struct queue *q)
{
    if (q->in_line && !b->bulk.load_is_bulky)
        queue_read_on(b, q);
}

/* The restores of lanes read the same batches as the queues, and are bulky with them. So as long as
   such a load moves, the queues of lanes that have opened are in line. After the last one, all are
   read: few of them may be bulky. */
static void watch_loads(struct bridge *b)
{
    bool was_bulky = b->bulk.load_is_bulky, any = false;
    for (int lane = 0; lane < b->config.lanes; lane++) {
        if (!load_moves(b, &b->lanes[lane].cancels))
            continue;
        any = true;
        bulk_watch_load(b, lane);
    }
    b->bulk.load_is_bulky &= any;
    for (int lane = 0; was_bulky && !any && lane < b->config.lanes; lane++) {
        struct queue *q = bridge_queue(b, lane, SLOT_SCHEDULE);
        if (waits_for_turn(b, q))
            queue_read_on(b, q);
    }
}

void bulk_serve(struct bridge *b)
{
    if (b->config.bulk_bytes == 0)
        return;
    watch_loads(b);
    if (b->bulk.queue != NULL && bulky_is_over(b))
        b->bulk.queue = NULL;
    bool free = b->bulk.queue == NULL && !b->bulk.load_is_bulky;
    struct queue *next = free ? next_in_line(b) : NULL;
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
