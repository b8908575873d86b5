/* SPDX-License-Identifier: Apache-2.0 */
/* Partition queues: assigned, taken from, paused, sought. */
#include "consumer/source.h"

#include "bridge/clock.h"
#include "bridge/log.h"
#include "consumer/offsets.h"
#include "consumer/pulse.h"
#include "consumer/record.h"

#include <stdlib.h>

enum { ASK_MS = 500, ASK_AGAIN_MS = 1000, SWEEP_MS = 250, LOOK_MS = 10000 };

struct partition {
    rd_kafka_queue_t *queue;  /* NULL: never assigned yet */
    rd_kafka_message_t *kept; /* fetched, and there was no memory to hand it over; else NULL */
    bool paused;              /* by the bridge */
    bool quiet;               /* paused by us: all of it is taken */
    int64_t next;             /* is taken next; WINDOW_UNSET: not known yet */
    int64_t swept;            /* next at the last sweep */
    int64_t drained; /* the log's end, if the client has come there and nothing since; else -1 */
    int64_t landed;  /* the log reaches at least to here: it was acknowledged */
    bool lost;       /* its position does not exist: the log's ends are to be asked for */
    bool stopped;    /* and the client has stopped fetching it */
};

struct source {
    struct source_config config;
    struct partition *partitions; /* by queue index */
    struct pulse *pulse;
    int *owned;
    int owned_n;
    bool any_lost;
    bool rejoin;
    int64_t sweep_ms, look_ms; /* the last ones */
    int lost_next;             /* where the next search begins */
    int64_t lost_ask_ms;       /* no question before */
};

void source_join(struct source *s, rd_kafka_t *intake)
{
    s->config.intake = intake;
}

static rd_kafka_t *handle_of(const struct source *s, int slot)
{
    return slot == SLOT_SCHEDULE ? s->config.intake : s->config.levels;
}

static struct partition *partition_of(const struct source *s, int lane, int slot)
{
    return &s->partitions[lane * s->config.slots + slot];
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
    s->pulse = pulse_new(config->pulse_topic);
    if (s->partitions == NULL || s->owned == NULL || s->pulse == NULL) {
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
    if (s->pulse != NULL)
        pulse_free(s->pulse);
    free(s->partitions);
    free(s->owned);
    free(s);
}

/* Anew for each assignment, and before it. The client drops a partition that is unassigned before
   its topic's metadata came, and a queue that was got earlier would then be another one's; one that
   is redirected after the assignment leaks what was already fetched. */
static void open_queue(struct source *s, int lane, int slot)
{
    struct partition *p = partition_of(s, lane, slot);
    p->lost = p->stopped = false;
    p->landed = 0;
    p->swept = WINDOW_UNSET;
    p->drained = -1;
    drop_kept(p);
    if (p->queue != NULL)
        rd_kafka_queue_destroy(p->queue);
    p->queue = rd_kafka_queue_get_partition(handle_of(s, slot), s->config.topics[slot], lane);
    rd_kafka_queue_forward(p->queue, NULL);
    bell_attach(s->config.bell, p->queue, lane * s->config.slots + slot);
}

static void list_add(rd_kafka_topic_partition_list_t *list, const char *topic, int partition,
                     int64_t offset)
{
    rd_kafka_topic_partition_list_add(list, topic, partition)->offset =
        offset == WINDOW_UNSET ? RD_KAFKA_OFFSET_BEGINNING : offset;
}

static int log_failed(const char *what, const char *error)
{
    log_error(what, "error=%s", error);
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
    int err = log_failed("cannot change what is read", rd_kafka_error_name(error));
    rd_kafka_error_destroy(error);
    return err;
}

static int assign_intake(struct source *s, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_resp_err_t err = rd_kafka_assign(s->config.intake, list);
    return err == 0 ? 0 : log_failed("cannot change what is read", rd_kafka_err2name(err));
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
            partition_of(s, lanes[i], slot)->next = start;
            list_add(slot == SLOT_SCHEDULE ? intake : levels, s->config.topics[slot], lanes[i],
                     start);
        }
        s->owned[i] = lanes[i];
    }
    s->owned_n = n;
    pulse_add(s->pulse, intake);
    pulse_beat(s->pulse, s->config.levels);
    int err = change_levels(s, true, levels);
    if (err == 0)
        err = assign_intake(s, intake);
    rd_kafka_topic_partition_list_destroy(intake);
    rd_kafka_topic_partition_list_destroy(levels);
    pulse_kick(s->pulse, s->config.intake);
    return err;
}

static void set_paused(struct source *s, int lane, int slot, bool paused)
{
    struct partition *p = partition_of(s, lane, slot);
    bool was_paused = p->paused || p->quiet;
    p->paused = paused;
    p->quiet = false;
    if (was_paused == paused)
        return;
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, s->config.topics[slot], lane);
    if (paused)
        rd_kafka_pause_partitions(handle_of(s, slot), one);
    else
        rd_kafka_resume_partitions(handle_of(s, slot), one);
    rd_kafka_topic_partition_list_destroy(one);
}

void source_unassign(struct source *s)
{
    rd_kafka_topic_partition_list_t *levels =
        rd_kafka_topic_partition_list_new(s->owned_n * s->config.slots + 1);
    for (int i = 0; i < s->owned_n; i++) {
        for (int slot = 0; slot < s->config.slots; slot++) {
            set_paused(s, s->owned[i], slot, false);
            drop_kept(partition_of(s, s->owned[i], slot));
            partition_of(s, s->owned[i], slot)->lost = false;
            if (slot != SLOT_SCHEDULE)
                rd_kafka_topic_partition_list_add(levels, s->config.topics[slot], s->owned[i]);
        }
    }
    s->owned_n = 0;
    (void)!change_levels(s, false, levels);
    (void)!assign_intake(s, NULL);
    rd_kafka_topic_partition_list_destroy(levels);
}

bool source_check_pulses(struct source *s, rd_kafka_t *ask)
{
    /* The group member's assignment cannot be changed between rebalances (eager protocol); it gets
       the new pulses with its next one, and until then only a drained backlog can stall, for a
       second. */
    pulse_beat(s->pulse, s->config.levels); /* those of the old choice */
    if (pulse_choose(s->pulse, ask, ASK_MS))
        pulse_move(s->pulse, s->config.levels);
    return pulse_is_chosen(s->pulse);
}

static bool position_is_lost(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
           err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE;
}

/* What is no record: an error of the partition. Those that mend themselves are only said. */
static void take_error(struct source *s, struct partition *p, struct queue_id queue,
                       const rd_kafka_message_t *message)
{
    if (position_is_lost(message->err)) {
        s->any_lost = p->lost = p->stopped = true;
    } else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        p->drained = message->offset;
        if (p->next == WINDOW_UNSET)
            p->next = message->offset;
    } else if (message->err != RD_KAFKA_RESP_ERR__TIMED_OUT) {
        log_warn(message->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
                     ? "cannot read a partition: allow Read on its topic"
                     : "cannot read a partition",
                 "topic=%s lane=%d error=%s", s->config.topics[queue.slot], queue.lane,
                 rd_kafka_err2name(message->err));
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
    if (record == NULL)
        p->kept = message;
    else
        p->next = message->offset + 1;
    return record;
}

struct record *source_take(struct source *s, struct queue_id queue)
{
    struct partition *p = &s->partitions[queue.index];
    rd_kafka_message_t *message;
    while ((message = next_message(p)) != NULL) {
        if (message->err == 0)
            return hand_over(p, queue, message);
        take_error(s, p, queue, message);
        rd_kafka_message_destroy(message);
    }
    return NULL;
}

void source_pause(struct source *s, struct queue_id queue)
{
    set_paused(s, queue.lane, queue.slot, true);
}

static void log_refused(const struct source *s, const char *what, struct queue_id queue,
                        rd_kafka_error_t *error)
{
    if (error == NULL)
        return;
    log_debug(what, "topic=%s lane=%d error=%s", s->config.topics[queue.slot], queue.lane,
              rd_kafka_error_name(error)); /* not assigned any more: the lane is about to go */
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
    log_refused(s, "unassign refused", queue, rd_kafka_incremental_unassign(rk, one));
    log_refused(s, "assign refused", queue, rd_kafka_incremental_assign(rk, one));
}

void source_seek(struct source *s, struct queue_id queue, int64_t offset)
{
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    set_paused(s, queue.lane, queue.slot, false);
    if (queue.slot != SLOT_SCHEDULE)
        pulse_beat(s->pulse, s->config.levels);
    drop_kept(&s->partitions[queue.index]);
    s->partitions[queue.index].next = offset;
    s->partitions[queue.index].drained = -1;
    list_add(one, s->config.topics[queue.slot], queue.lane, offset);
    if (s->partitions[queue.index].stopped)
        assign_anew(s, queue, one);
    else
        log_refused(s, "seek refused", queue,
                    rd_kafka_seek_partitions(handle_of(s, queue.slot), one, 0));
    rd_kafka_topic_partition_list_destroy(one);
}

/* Quiet partitions. */

/* An end that is before where reading stands is of before a seek; one behind it comes after the
   ends of transactions. */
static bool is_drained(const struct partition *p)
{
    return p->drained >= 0 && p->drained >= p->next && p->drained >= p->landed;
}

/* Every level partition that is owned: visit says whether it is to be in the list. */
static rd_kafka_topic_partition_list_t *
choose_levels(struct source *s,
              bool (*visit)(struct source *s, struct partition *p, int lane, int slot))
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
    for (int i = 0; i < s->owned_n; i++) {
        for (int slot = SLOT_SCHEDULE + 1; slot < s->config.slots; slot++) {
            struct partition *p = partition_of(s, s->owned[i], slot);
            if (visit(s, p, s->owned[i], slot))
                list_add(list, s->config.topics[slot], s->owned[i], p->next);
        }
    }
    return list;
}

/* Drained, and nothing came since the last sweep: it becomes quiet. */
static bool falls_quiet(struct source *s, struct partition *p, int lane, int slot)
{
    (void)s, (void)lane, (void)slot;
    bool still = p->next == p->swept;
    p->swept = p->next;
    if (p->paused || p->quiet || !still || p->lost || !is_drained(p))
        return false;
    return p->quiet = true;
}

static bool stirs(struct source *s, struct partition *p, int lane, int slot)
{
    (void)s, (void)lane, (void)slot;
    bool was_quiet = p->quiet;
    if (was_quiet)
        p->drained = -1; /* the end is told again after a seek, and only then */
    p->quiet = false;
    return was_quiet;
}

static bool is_read(struct source *s, struct partition *p, int lane, int slot)
{
    (void)s, (void)lane, (void)slot;
    return !p->paused && !p->quiet;
}

static void stir(struct source *s, const rd_kafka_topic_partition_list_t *list)
{
    if (list->cnt == 0)
        return;
    pulse_beat(s->pulse, s->config.levels);
    rd_kafka_resume_partitions(s->config.levels, (rd_kafka_topic_partition_list_t *)list);
    rd_kafka_error_t *error =
        rd_kafka_seek_partitions(s->config.levels, (rd_kafka_topic_partition_list_t *)list, 0);
    if (error != NULL)
        rd_kafka_error_destroy(error); /* not assigned any more: the lanes are about to go */
}

void source_landed(struct source *s, int lane, int slot, int64_t offset)
{
    struct partition *p = partition_of(s, lane, slot);
    if (p->landed <= offset)
        p->landed = offset + 1;
    if (offset < 0) /* stored by an earlier try, the broker does not say where */
        p->drained = -1;
    if (!p->quiet)
        return;
    struct queue_id id = {lane * s->config.slots + slot, lane, slot};
    source_seek(s, id, p->next);
}

int64_t source_end(const struct source *s, struct queue_id queue)
{
    int64_t start, end = -1, landed = s->partitions[queue.index].landed;
    if (rd_kafka_get_watermark_offsets(handle_of(s, queue.slot), s->config.topics[queue.slot],
                                       queue.lane, &start, &end) != 0)
        end = -1;
    return landed > end && landed > 0 ? landed : end;
}

void source_sweep(struct source *s, int64_t now_ms)
{
    if (now_ms - s->sweep_ms < SWEEP_MS)
        return;
    s->sweep_ms = now_ms;
    bool look = now_ms - s->look_ms >= LOOK_MS;
    rd_kafka_topic_partition_list_t *list = choose_levels(s, look ? stirs : falls_quiet);
    if (look) {
        s->look_ms = now_ms;
        stir(s, list);
    } else if (list->cnt > 0) {
        rd_kafka_pause_partitions(s->config.levels, list);
    }
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_topic_partition_list_t *read = choose_levels(s, is_read);
    if (read->cnt == 0)
        pulse_rest(s->pulse, s->config.levels);
    rd_kafka_topic_partition_list_destroy(read);
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

bool source_lost_position(struct source *s, struct queue_id *queue, int64_t *start, int64_t *end)
{
    int index = next_lost(s);
    if (index < 0 || clock_mono_ms() < s->lost_ask_ms)
        return false;
    int lane = index / s->config.slots, slot = index % s->config.slots;
    *queue = (struct queue_id){index, lane, slot};
    s->lost_next = index + 1;
    if (offsets_ends(handle_of(s, slot), s->config.topics[slot], lane, start, end, ASK_MS) != 0) {
        s->lost_ask_ms = clock_mono_ms() + ASK_AGAIN_MS;
        return false;
    }
    s->partitions[index].lost = false;
    return true;
}
