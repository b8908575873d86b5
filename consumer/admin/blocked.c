/* SPDX-License-Identifier: Apache-2.0 */
/* The heads and offsets that block a partition. */
#include "consumer/admin/blocked.h"

#include "consumer/admin/heads.h"
#include "consumer/admin/topics_survey.h"
#include "consumer/client/client.h"
#include "consumer/unreadable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct looking {
    struct offsets offsets;
    struct head *heads;   /* indexed like offsets.cells */
    rd_kafka_t *measurer; /* NULL until a batch is measured */
    struct findings *findings;
};

/* Creates a consumer that logs nothing: the check's own handle reports outages. */
static rd_kafka_t *silent_consumer(rd_kafka_conf_t *conf, struct error *error)
{
    rd_kafka_conf_set_error_cb(conf, NULL);
    rd_kafka_conf_set_log_cb(conf, NULL);
    return client_new(RD_KAFKA_CONSUMER, conf, error);
}

/* Finds the end of an unreadable batch. Returns false without a client or an answer. */
static bool measure(struct looking *looking, struct range *range)
{
    struct error error;
    if (looking->measurer == NULL) {
        rd_kafka_conf_t *conf = client_conf(looking->offsets.config, CLIENT_LEVELS, &error);
        if (conf == NULL)
            return false;
        unreadable_conf(conf);
        looking->measurer = silent_consumer(conf, &error);
    }
    return looking->measurer != NULL && unreadable_find(looking->measurer, range) == 0;
}

static void judge_unreadable(struct looking *looking, const char *topic, const struct head *head,
                             int64_t base)
{
    struct range range = {
        .topic = topic, .partition = head->lane, .from = head->offset > base ? head->offset : base};
    bool measured = measure(looking, &range);
    if (measured && range.end == range.from)
        return; /* the batch can be read now */
    if (measured)
        finding_add(looking->findings, FINDING_FAULT, topic, NULL,
                    "%s/%d is blocked: a batch cannot be read, and the records behind it wait. "
                    "Save it if another client can read it, then run 'delaybridge skip "
                    "%s/%d/%" PRId64 "-%" PRId64 "'",
                    topic, head->lane, topic, head->lane, range.from, range.end);
    else
        finding_add(looking->findings, FINDING_FAULT, topic, NULL,
                    "%s/%d is blocked: the batch at offset %" PRId64
                    " cannot be read, and the records behind it wait. Run the command that the "
                    "bridge's log names",
                    topic, head->lane, range.from);
}

static void judge_head(struct looking *looking, const char *topic, const struct head *head,
                       int64_t base)
{
    switch (head->kind) {
    case HEAD_NONE:
    case HEAD_OPENED:
    case HEAD_FOREIGN: /* the bridge writes it to the dead-letter topic */
        break;
    case HEAD_NEWER:
        finding_add(looking->findings, FINDING_FAULT, topic, NULL,
                    "%s/%d is blocked for this version: a newer delaybridge wrote the record at "
                    "offset %" PRId64 ", run that version",
                    topic, head->lane, head->offset);
        break;
    case HEAD_UNREADABLE:
        judge_unreadable(looking, topic, head, base);
        break;
    }
}

/* Returns whether the topic is refused already: a missing topic has its own finding. */
static bool is_refused(const struct findings *findings, const char *topic)
{
    for (size_t i = 0; i < findings->n; i++)
        if (findings->items[i].kind == FINDING_REFUSE &&
            strcmp(findings->items[i].topic, topic) == 0)
            return true;
    return false;
}

static void judge_cell(struct looking *looking, int lane, int slot)
{
    const struct config *config = looking->offsets.config;
    const struct offsets_cell *cell = offsets_cell(&looking->offsets, lane, slot);
    if (cell->window == NULL)
        return; /* the partition does not exist, which is another finding */
    int64_t base = cell->window->base;
    char topic[TOPIC_TEXT_MAX];
    offsets_topic(config, slot, topic);
    if (!cell->committed || base <= cell->end) {
        judge_head(looking, topic, &looking->heads[lane * looking->offsets.slots + slot], base);
        return;
    }
    if (!is_refused(looking->findings, topic))
        finding_add(looking->findings, FINDING_FAULT, topic, NULL,
                    "%s/%d is blocked: offset %" PRId64
                    " is committed, beyond the log's end %" PRId64
                    ". The topic was recreated or truncated: stop all processes, run "
                    "'kafka-consumer-groups.sh --group %s --topic %s:%d --reset-offsets "
                    "--to-earliest --execute', then start",
                    topic, lane, base, cell->end, config->group, topic, lane);
}

static int look(struct looking *looking, rd_kafka_t *rk, int timeout_ms, struct error *error)
{
    int err = offsets_read(&looking->offsets, rk, timeout_ms, error);
    if (err != 0)
        return err;
    looking->heads = heads_read(&looking->offsets, rk, timeout_ms, error);
    if (looking->heads == NULL)
        return ERR_KAFKA;
    for (int slot = 0; slot < looking->offsets.slots; slot++)
        for (int lane = 0; lane < looking->offsets.lanes; lane++)
            judge_cell(looking, lane, slot);
    return 0;
}

/* Destroys a handle without closing it. It has no group to leave, and closing may wait for a
   deleted topic. */
static void destroy_unclosed(rd_kafka_t *rk)
{
    if (rk != NULL)
        rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

int blocked_judge(const struct config *config, int timeout_ms, struct findings *findings,
                  struct error *error)
{
    struct looking looking = {.offsets = {.config = config}, .findings = findings};
    if (findings->partitions == 0)
        return 0; /* the schedule topic does not exist */
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_ALL, error);
    if (conf != NULL)
        offsets_conf(config, conf);
    rd_kafka_t *rk = conf == NULL ? NULL : silent_consumer(conf, error);
    if (rk == NULL)
        return ERR_CONFIG;
    int err = look(&looking, rk, timeout_ms, error);
    free(looking.heads);
    offsets_deinit(&looking.offsets);
    destroy_unclosed(looking.measurer);
    destroy_unclosed(rk);
    return err;
}
