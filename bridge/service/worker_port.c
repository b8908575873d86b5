/* SPDX-License-Identifier: Apache-2.0 */
/* The port of the step machine onto librdkafka. */
#include "bridge/base/clock.h"
#include "bridge/service/worker_parts.h"
#include "consumer/record.h"

static struct record *port_take(void *ctx, struct queue_id queue)
{
    return source_take(((struct worker *)ctx)->source, queue);
}

/* A producer wrote the timestamp of a request by the system's clock. */
static struct record *port_take_moved(void *ctx, struct queue_id queue)
{
    const struct clock *clock = ((struct worker *)ctx)->config.clock;
    struct record *record = port_take(ctx, queue);
    if (record != NULL && queue.slot == SLOT_SCHEDULE && record->timestamp_ms >= 0)
        record->timestamp_ms = clock->of_real_ms(clock->ctx, record->timestamp_ms);
    return record;
}

static void port_release(void *ctx, struct record *record)
{
    (void)ctx;
    record_release(record);
}

static struct record *port_make(void *ctx, struct bytes key, size_t value_size)
{
    (void)ctx;
    return record_make(key, value_size);
}

static struct record *port_keep(void *ctx, struct record *record)
{
    (void)ctx;
    return record_keep(record);
}

static int port_forward(void *ctx, const struct forward *forward)
{
    return producer_forward(((struct worker *)ctx)->producer, forward);
}

static void port_reports(void *ctx)
{
    producer_reports(((struct worker *)ctx)->producer);
}

static void port_pause(void *ctx, struct queue_id queue)
{
    source_pause(((struct worker *)ctx)->source, queue);
}

static void port_seek(void *ctx, struct queue_id queue, int64_t offset)
{
    source_seek(((struct worker *)ctx)->source, queue, offset);
}

static void port_commit(void *ctx, uint64_t seq, const struct progress *progress, size_t n)
{
    group_commit(((struct worker *)ctx)->group, seq, progress, n);
}

static int port_begin(void *ctx, int client)
{
    return producer_begin(((struct worker *)ctx)->producer, client);
}

static int port_send_offsets(void *ctx, int client, const struct progress *progress, size_t n)
{
    struct worker *w = ctx;
    rd_kafka_topic_partition_list_t *offsets = group_offsets(w->group, progress, n);
    rd_kafka_consumer_group_metadata_t *member = offsets ? group_identity(w->group) : NULL;
    if (member != NULL)
        producer_send_offsets(w->producer, client, offsets, member);
    else if (offsets != NULL)
        rd_kafka_topic_partition_list_destroy(offsets);
    return member != NULL ? 0 : ERR_KAFKA;
}

static void port_commit_transaction(void *ctx, int client)
{
    producer_commit(((struct worker *)ctx)->producer, client);
}

static void port_purge(void *ctx, int client)
{
    producer_purge_client(((struct worker *)ctx)->producer, client);
}

static void port_renew(void *ctx, int client, bool was_left)
{
    producer_renew(((struct worker *)ctx)->producer, client, was_left);
}

static void port_trim(void *ctx, struct queue_id queue, int64_t base)
{
    struct worker *w = ctx;
    producer_trim(w->producer, w->topics[queue.slot], queue.lane, base);
}

static void port_query_ends(void *ctx, int lane)
{
    lane_ends_ask(((struct worker *)ctx)->lane_ends, lane);
}

static void port_load(void *ctx, const struct load *load)
{
    loads_begin(((struct worker *)ctx)->loads, load);
}

static void port_trim_cancels(void *ctx, int lane, int64_t below)
{
    struct worker *w = ctx;
    producer_trim(w->producer, w->cancelled, lane, below);
}

static enum lookup port_lookup(void *ctx, struct target_id *target)
{
    return producer_lookup(((struct worker *)ctx)->producer, target);
}

static enum lookup port_lookup_outlet(void *ctx, struct queue_id outlet)
{
    return producer_lookup_outlet(((struct worker *)ctx)->producer, outlet);
}

static int64_t port_end(void *ctx, struct queue_id queue)
{
    return source_end(((struct worker *)ctx)->source, queue);
}

static int64_t port_drained(void *ctx, struct queue_id queue)
{
    return source_drained(((struct worker *)ctx)->source, queue);
}

static int64_t port_unread(void *ctx, struct queue_id queue)
{
    struct worker *w = ctx;
    int64_t at, end;
    bool loads =
        queue.slot == SLOT_SCHEDULE && bridge_lane_is_loading(w->bridge, queue.lane, &at, &end);
    return loads ? loads_unread(w->loads, queue.lane) : source_unread(w->source, queue);
}

static void port_forget(void *ctx, struct target_id *target)
{
    struct worker *w = ctx;
    if (w->producer != NULL)
        producer_forget(w->producer, target);
}

static void port_notice(void *ctx, const struct notice *notice)
{
    struct worker *w = ctx;
    /* Both may mean that a topic no longer exists. */
    w->find_missing |=
        notice->kind == NOTICE_FORWARD_FAILED || notice->kind == NOTICE_STALL_RECOVERY;
    notice_log(&w->notices, notice, clock_mono_ms());
    if (notice->kind == NOTICE_CANCELS_NO_MEMORY)
        worker_fail(w);
}

static int64_t port_wall_ms(void *ctx)
{
    (void)ctx;
    return clock_wall_ms();
}

static int64_t port_moved_wall_ms(void *ctx)
{
    return clock_wall_us(((struct worker *)ctx)->config.clock) / 1000;
}

/* A moved clock has separate functions, so that it costs nothing in a service without one. */
struct port worker_port(struct worker *w)
{
    bool moved = w->config.clock != NULL;
    return (struct port){.ctx = w,
                         .take = moved ? port_take_moved : port_take,
                         .release = port_release,
                         .make = port_make,
                         .keep = port_keep,
                         .forward = port_forward,
                         .reports = port_reports,
                         .pause = port_pause,
                         .seek = port_seek,
                         .commit = port_commit,
                         .begin = port_begin,
                         .send_offsets = port_send_offsets,
                         .commit_transaction = port_commit_transaction,
                         .purge = port_purge,
                         .renew = port_renew,
                         .trim = port_trim,
                         .query_ends = port_query_ends,
                         .load = port_load,
                         .trim_cancels = port_trim_cancels,
                         .lookup = port_lookup,
                         .lookup_outlet = port_lookup_outlet,
                         .end = port_end,
                         .drained = port_drained,
                         .unread = port_unread,
                         .forget = port_forget,
                         .notice = port_notice,
                         .wall_ms = moved ? port_moved_wall_ms : port_wall_ms};
}
