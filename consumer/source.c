/* SPDX-License-Identifier: Apache-2.0 */
/* Partition queues: assigned, taken from, paused, sought. */
#include "bridge/base/clock.h"
#include "bridge/base/log.h"
#include "consumer/client/log_ends.h"
#include "consumer/record.h"
#include "consumer/source_parts.h"
#include "consumer/unreadable.h"

#include <stdlib.h>

enum {
    ASK_MS = 500,
    ASK_AGAIN_MS = 1000,
    RECORD_OVERHEAD = 400, /* what the client keeps of a fetched record besides its bytes */
    MARKS = 2              /* of a resume and a seek, which are in the queue, too */
};

void source_join(struct source *s, rd_kafka_t *intake)
{
    s->config.intake = intake;
}

static void drop_kept(struct partition *p)
{
    if (p->kept != NULL)
        rd_kafka_message_destroy(p->kept);
    p->kept = NULL;
}

struct source *source_new(const struct source_config *config)
{
    struct source *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->config = *config;
    s->partitions = calloc((size_t)config->lanes * (size_t)config->slots, sizeof *s->partitions);
    s->owned = calloc((size_t)config->lanes, sizeof *s->owned);
    s->keepalive = keepalive_new(config->pulse_topic);
    if (s->partitions == NULL || s->owned == NULL || s->keepalive == NULL) {
        source_free(s);
        return NULL;
    }
    return s;
}

void source_free(struct source *s)
{
    for (int i = 0; s->partitions != NULL && i < s->config.lanes * s->config.slots; i++) {
        drop_kept(&s->partitions[i]);
        if (s->partitions[i].queue != NULL)
            rd_kafka_queue_destroy(s->partitions[i].queue);
    }
    if (s->keepalive != NULL) {
        keepalive_resume(s->keepalive, s->config.levels); /* its pause would outlive it */
        keepalive_free(s->keepalive);
    }
    free(s->partitions);
    free(s->owned);
    free(s);
}

/* Anew for each assignment, and before it. The client drops a partition that is unassigned before
   its topic's metadata came, and a queue that was got earlier would then be another one's; one that
   is redirected after the assignment leaks what was already fetched. */
static void open_queue(struct source *s, int lane, int slot)
{
    struct partition *p = source_partition(s, lane, slot);
    p->lost = p->stopped = p->stuck = p->measured = false;
    p->landed = 0;
    p->mean_bytes = 0;
    p->swept = WINDOW_UNSET;
    p->drained = -1;
    drop_kept(p);
    if (p->queue != NULL)
        rd_kafka_queue_destroy(p->queue);
    p->queue = rd_kafka_queue_get_partition(source_handle(s, slot), s->config.topics[slot], lane);
    rd_kafka_queue_forward(p->queue, NULL);
    wakeup_attach(s->config.wakeup, p->queue, lane * s->config.slots + slot);
}

static int log_failed(const char *error)
{
    log_error("consumer refused a change of its assignment", F_TEXT("error", error));
    return ERR_KAFKA;
}

/* The level handle's lanes come and go beside its pulses: a pulse that is taken away and given back
   at once can trip an assertion of the client when the handle is closed. */
static int change_levels(struct source *s, bool add, const rd_kafka_topic_partition_list_t *list)
{
    if (list->cnt == 0)
        return 0;
    rd_kafka_error_t *error = add ? rd_kafka_incremental_assign(s->config.levels, list)
                                  : rd_kafka_incremental_unassign(s->config.levels, list);
    if (error == NULL)
        return 0;
    int err = log_failed(rd_kafka_error_name(error));
    rd_kafka_error_destroy(error);
    return err;
}

static int assign_intake(struct source *s, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_resp_err_t err = rd_kafka_assign(s->config.intake, list);
    return err == 0 ? 0 : log_failed(rd_kafka_err2name(err));
}

int source_assign(struct source *s, const int *lanes, int n, const struct start *starts)
{
    rd_kafka_topic_partition_list_t *intake = rd_kafka_topic_partition_list_new(n + 1);
    rd_kafka_topic_partition_list_t *levels =
        rd_kafka_topic_partition_list_new(n * s->config.slots + 1);
    for (int i = 0; i < n; i++) {
        for (int slot = 0; slot < s->config.slots; slot++) {
            int64_t start = starts[i * s->config.slots + slot].offset;
            open_queue(s, lanes[i], slot);
            source_partition(s, lanes[i], slot)->next = start;
            source_list_add(slot == SLOT_SCHEDULE ? intake : levels, s->config.topics[slot],
                            lanes[i], start);
        }
        s->owned[i] = lanes[i];
    }
    s->owned_n = n;
    keepalive_wake(s->keepalive, s->config.intake);
    keepalive_add(s->keepalive, intake);
    keepalive_resume(s->keepalive, s->config.levels);
    int err = change_levels(s, true, levels);
    if (err == 0)
        err = assign_intake(s, intake);
    rd_kafka_topic_partition_list_destroy(intake);
    rd_kafka_topic_partition_list_destroy(levels);
    keepalive_wake(s->keepalive, s->config.intake);
    return err;
}

static bool position_is_lost(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
           err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
}

static void set_paused(struct source *s, int lane, int slot, bool paused)
{
    struct partition *p = source_partition(s, lane, slot);
    bool was_paused = p->paused || p->quiet;
    p->paused = paused;
    p->quiet = false;
    if (was_paused == paused)
        return;
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, s->config.topics[slot], lane);
    if (paused)
        rd_kafka_pause_partitions(source_handle(s, slot), one);
    else
        rd_kafka_resume_partitions(source_handle(s, slot), one);
    rd_kafka_topic_partition_list_destroy(one);
    if (paused)
        source_drop_fetched(s, (struct queue_id){lane * s->config.slots + slot, lane, slot});
}

void source_leave_levels(struct source *s)
{
    rd_kafka_topic_partition_list_t *levels =
        rd_kafka_topic_partition_list_new(s->owned_n * s->config.slots + 1);
    for (int i = 0; i < s->owned_n; i++) {
        for (int slot = 0; slot < s->config.slots; slot++) {
            set_paused(s, s->owned[i], slot, false);
            drop_kept(source_partition(s, s->owned[i], slot));
            source_partition(s, s->owned[i], slot)->lost = false;
            if (slot != SLOT_SCHEDULE)
                rd_kafka_topic_partition_list_add(levels, s->config.topics[slot], s->owned[i]);
        }
    }
    s->owned_n = 0;
    (void)!change_levels(s, false, levels);
    rd_kafka_topic_partition_list_destroy(levels);
}

void source_unassign(struct source *s)
{
    source_leave_levels(s);
    (void)!assign_intake(s, NULL);
}

bool source_check_keepalives(struct source *s, rd_kafka_t *ask)
{
    /* The group member's assignment cannot be changed between rebalances (eager protocol); it gets
       the new pulses with its next one, and until then only a drained backlog can stall, for a
       second. */
    keepalive_resume(s->keepalive, s->config.levels); /* those of the old choice */
    if (keepalive_choose(s->keepalive, ask, ASK_MS)) {
        keepalive_wake(s->keepalive, s->config.levels);
        keepalive_move(s->keepalive, s->config.levels);
    }
    return keepalive_is_chosen(s->keepalive);
}

static bool is_missing(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
           err == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

/* What comes behind it must wait: the client passes some of these batches by itself. Unpacking it
   again and again would take a core. Behind a batch whose checksum is wrong the client reads on in
   the middle of it, takes what it finds there for an offset, and may give the partition up. */
static void get_stuck(struct source *s, struct partition *p, struct queue_id queue,
                      const rd_kafka_message_t *message)
{
    if (p->next == WINDOW_UNSET)
        p->next = message->offset;
    s->any_stuck = p->stuck = true;
    p->measured = false;
    set_paused(s, queue.lane, queue.slot, true);
}

/* What is no record: an error of the partition. Those that mend themselves are only said. */
static void take_error(struct source *s, struct partition *p, struct queue_id queue,
                       const rd_kafka_message_t *message)
{
    if (unreadable_is(message->err)) {
        get_stuck(s, p, queue, message);
    } else if (position_is_lost(message->err)) {
        s->any_lost = p->lost = p->stopped = true;
    } else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        p->drained = message->offset;
        if (p->next == WINDOW_UNSET)
            p->next = message->offset;
    } else if (is_missing(message->err) && queue.slot != SLOT_SCHEDULE) {
        s->any_missing = true; /* the worker asks, and says so */
    } else if (message->err != RD_KAFKA_RESP_ERR__TIMED_OUT) {
        log_warn("cannot read a partition, trying again",
                 F_TEXT("topic", s->config.topics[queue.slot]), F_INT("lane", queue.lane),
                 F_TEXT("error", rd_kafka_err2name(message->err)),
                 F_HINT(message->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
                            ? "allow Read on the topic"
                            : NULL));
    }
}

/* The client keeps what it has fetched of a partition that is paused: its own purge stops at the
   mark of the pause, which it puts in front. Whoever reads the queue passes that, and drops what
   is older. What a fetch brings that was under way comes later. Errors are not lost: the client
   tells a topic's only once. What only the next read can tell is told by it again. */
void source_drop_fetched(struct source *s, struct queue_id queue)
{
    struct partition *p = &s->partitions[queue.index];
    rd_kafka_message_t *message;
    while (p->queue != NULL && (message = rd_kafka_consume_queue(p->queue, 0)) != NULL) {
        bool again = message->err == 0 || unreadable_is(message->err) ||
                     message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
        if (p->stuck)
            p->stopped |= position_is_lost(message->err);
        else if (!again)
            take_error(s, p, queue, message);
        rd_kafka_message_destroy(message);
    }
}

static rd_kafka_message_t *next_message(struct partition *p)
{
    rd_kafka_message_t *kept = p->kept;
    p->kept = NULL;
    return kept != NULL ? kept : rd_kafka_consume_queue(p->queue, 0);
}

/* Where transactions leave gaps, one that is not handed over would look like one of them: it stays
   at hand, and the bridge comes back within a second. */
static struct record *hand_over(struct partition *p, struct queue_id queue,
                                rd_kafka_message_t *message)
{
    struct record *record = record_of_message(message, queue.slot == SLOT_SCHEDULE);
    p->drained = -1;
    if (record == NULL) {
        p->kept = message;
        return NULL;
    }
    p->next = message->offset + 1;
    size_t bytes = record->cost_bytes;
    p->mean_bytes = p->mean_bytes == 0 ? bytes : (3 * p->mean_bytes + bytes) / 4;
    return record;
}

struct record *source_take(struct source *s, struct queue_id queue)
{
    struct partition *p = &s->partitions[queue.index];
    rd_kafka_message_t *message;
    while ((message = next_message(p)) != NULL) {
        if (message->err == 0 && !p->stuck)
            return hand_over(p, queue, message);
        if (!p->stuck)
            take_error(s, p, queue, message);
        else
            p->stopped |= position_is_lost(message->err);
        rd_kafka_message_destroy(message);
    }
    return NULL;
}

void source_pause(struct source *s, struct queue_id queue)
{
    set_paused(s, queue.lane, queue.slot, true);
}

static void log_refused(const struct source *s, const char *call, struct queue_id queue,
                        rd_kafka_error_t *error)
{
    if (error == NULL)
        return;
    /* Not assigned any more: the lane is about to go. */
    log_debug("call for an unassigned partition refused, ignored", F_TEXT("call", call),
              F_TEXT("topic", s->config.topics[queue.slot]), F_INT("lane", queue.lane),
              F_TEXT("error", rd_kafka_error_name(error)));
    rd_kafka_error_destroy(error);
}

/* A seek cannot start a partition again that the client has given up. */
static void assign_anew(struct source *s, struct queue_id queue,
                        const rd_kafka_topic_partition_list_t *one)
{
    s->partitions[queue.index].stopped = false;
    if (queue.slot == SLOT_SCHEDULE) {
        s->rejoin = true;
        return;
    }
    rd_kafka_t *rk = s->config.levels;
    log_refused(s, "incremental_unassign", queue, rd_kafka_incremental_unassign(rk, one));
    log_refused(s, "incremental_assign", queue, rd_kafka_incremental_assign(rk, one));
}

/* Whether the client has given up a partition at a batch that cannot be read. */
static bool is_given_up(struct source *s, struct queue_id queue)
{
    struct partition *p = &s->partitions[queue.index];
    rd_kafka_message_t *message;
    while (p->stuck && (message = next_message(p)) != NULL) {
        p->stopped |= position_is_lost(message->err);
        rd_kafka_message_destroy(message);
    }
    return p->stuck && p->stopped;
}

void source_seek(struct source *s, struct queue_id queue, int64_t offset)
{
    struct partition *p = &s->partitions[queue.index];
    if (is_given_up(s, queue) && offset == p->next) {
        s->any_stuck = true;
        p->measured = false; /* to start it again here would only repeat that */
        return;
    }
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    set_paused(s, queue.lane, queue.slot, false);
    if (queue.slot != SLOT_SCHEDULE)
        keepalive_resume(s->keepalive, s->config.levels);
    drop_kept(p);
    p->stuck = p->measured = false;
    p->next = offset;
    p->drained = -1;
    source_list_add(one, s->config.topics[queue.slot], queue.lane, offset);
    if (p->stopped)
        assign_anew(s, queue, one);
    else
        log_refused(s, "seek_partitions", queue,
                    rd_kafka_seek_partitions(source_handle(s, queue.slot), one, 0));
    rd_kafka_topic_partition_list_destroy(one);
}

int64_t source_end(const struct source *s, struct queue_id queue)
{
    const struct partition *p = &s->partitions[queue.index];
    int64_t start, end = -1;
    if (rd_kafka_get_watermark_offsets(source_handle(s, queue.slot), s->config.topics[queue.slot],
                                       queue.lane, &start, &end) != 0)
        end = -1;
    if (p->landed > end && p->landed > 0)
        end = p->landed;
    /* Behind the last record there may be ends of transactions, which the client has passed. */
    return p->drained >= end && p->drained >= p->next && p->next >= 0 ? p->next : end;
}

int64_t source_unread(const struct source *s, struct queue_id queue)
{
    const struct partition *p = &s->partitions[queue.index];
    size_t n = p->queue == NULL ? 0 : rd_kafka_queue_length(p->queue);
    return n <= MARKS ? 0 : (int64_t)((n - MARKS) * (p->mean_bytes + RECORD_OVERHEAD));
}

int64_t source_drained(const struct source *s, struct queue_id queue)
{
    return s->partitions[queue.index].drained;
}

bool source_misses_topic(struct source *s)
{
    bool missing = s->any_missing;
    s->any_missing = false;
    return missing;
}

bool source_wants_rejoin(struct source *s)
{
    bool wanted = s->rejoin;
    s->rejoin = false;
    return wanted;
}

/* The next lost partition from where the last search ended; -1: there is none. */
static int next_lost(struct source *s)
{
    int n = s->config.lanes * s->config.slots;
    for (int i = 0; s->any_lost && i < n; i++) {
        int index = (s->lost_next + i) % n;
        if (s->partitions[index].lost)
            return index;
    }
    s->any_lost = false;
    return -1;
}

bool source_find_stuck(struct source *s, struct queue_id *queue)
{
    int n = s->config.lanes * s->config.slots;
    for (int i = 0; s->any_stuck && i < n; i++) {
        *queue = (struct queue_id){i, i / s->config.slots, i % s->config.slots};
        if (source_is_stuck(s, *queue))
            return true;
    }
    s->any_stuck = false;
    return false;
}

bool source_is_stuck(const struct source *s, struct queue_id queue)
{
    const struct partition *p = &s->partitions[queue.index];
    return p->stuck && !p->measured;
}

void source_measured(struct source *s, struct queue_id queue)
{
    s->partitions[queue.index].measured = true;
}

void source_read_again(struct source *s, struct queue_id queue)
{
    struct partition *p = &s->partitions[queue.index];
    (void)is_given_up(s, queue);
    p->stuck = false;
    source_seek(s, queue, p->next);
}

int64_t source_position(const struct source *s, struct queue_id queue)
{
    return s->partitions[queue.index].next;
}

bool source_lost_position(struct source *s, struct queue_id *queue, int64_t *start, int64_t *end)
{
    int index = next_lost(s);
    if (index < 0 || clock_mono_ms() < s->lost_ask_ms)
        return false;
    int lane = index / s->config.slots, slot = index % s->config.slots;
    *queue = (struct queue_id){index, lane, slot};
    s->lost_next = index + 1;
    if (log_ends_of(source_handle(s, slot), s->config.topics[slot], lane, start, end, ASK_MS) !=
        0) {
        s->lost_ask_ms = clock_mono_ms() + ASK_AGAIN_MS;
        return false;
    }
    s->partitions[index].lost = false;
    return true;
}
