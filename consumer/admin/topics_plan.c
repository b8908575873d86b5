/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of topics_apply for each topic, made from the same survey and rules. */
#include "bridge/base/memory.h"
#include "consumer/admin/topics_survey.h"
#include "levels/counted.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *keep(const char *text)
{
    return memory_or_end(strdup(text));
}

static struct plan_row *add_row(struct plan *plan, const struct topic_seen *topic)
{
    plan->rows = memory_or_end(realloc(plan->rows, (plan->n + 1) * sizeof *plan->rows));
    struct plan_row *row = &plan->rows[plan->n++];
    *row = (struct plan_row){.is_new = topic->partitions == 0,
                             .partitions = topic->partitions,
                             .partitions_now = topic->partitions,
                             .replicas = topic->replicas};
    snprintf(row->topic, sizeof row->topic, "%s", topic->name);
    row->settings = memory_or_end(calloc(TOPIC_RULES_MAX, sizeof *row->settings));
    return row;
}

static void add_setting(struct plan_row *row, const struct topic_pair *pair, const char *was)
{
    row->settings[row->settings_n++] =
        (struct plan_setting){keep(pair->name), keep(pair->value), was == NULL ? NULL : keep(was)};
}

static void plan_new(struct plan *plan, const struct survey *survey, const struct config *config,
                     const struct topic_seen *topic)
{
    struct plan_row *row = add_row(plan, topic);
    row->partitions = topic_partitions_wanted(survey, topic);
    row->replicas = config->replication;
    struct topic_pair pairs[TOPIC_RULES_MAX];
    size_t n = topic_initial(topic, config, row->replicas, pairs);
    for (size_t i = 0; i < n; i++)
        add_setting(row, &pairs[i], NULL);
}

static void plan_change(struct plan *plan, const struct survey *survey, const struct config *config,
                        const struct topic_seen *topic)
{
    struct plan_row *row = NULL;
    if (topic_has_lanes(topic->kind) && topic->partitions < survey->lanes) {
        row = add_row(plan, topic);
        row->partitions = survey->lanes;
    }
    struct topic_rule rules[TOPIC_RULES_MAX];
    size_t n = topic_rules(topic, config, rules);
    for (size_t i = 0; i < n; i++) {
        const char *value = topic_setting(topic, rules[i].name);
        if (value == NULL || topic_rule_holds(&rules[i], value))
            continue;
        if (row == NULL)
            row = add_row(plan, topic);
        struct topic_pair pair = {rules[i].name,
                                  rules[i].set != NULL ? rules[i].set : rules[i].value};
        add_setting(row, &pair, value);
    }
}

__attribute__((format(printf, 2, 3))) static void note(struct plan *plan, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int len = vasprintf(&plan->notes[plan->notes_n], format, arguments);
    va_end(arguments);
    memory_or_end(len < 0 ? NULL : plan->notes[plan->notes_n]);
    plan->notes_n++;
}

/* Adds notes on keys that apply only to new topics. */
static void note_keys(struct plan *plan, const struct survey *survey, const struct config *config)
{
    const struct topic_seen *schedule = &survey->topics[0];
    if (schedule->partitions > 0 && schedule->partitions != config->partitions)
        note(plan,
             "partitions: %d is not applied, since topic %s exists and has %d. To add some, run "
             "'kafka-topics.sh --alter --topic %s --partitions N', then 'delaybridge topics apply'",
             config->partitions, schedule->name, schedule->partitions, schedule->name);
    int fewer = 0;
    char topics[COUNTED_MAX];
    for (size_t i = 0; i < survey->topics_n; i++)
        fewer +=
            survey->topics[i].partitions > 0 && survey->topics[i].replicas < config->replication;
    if (fewer > 0)
        note(plan,
             "replication: %d is not applied to %s with fewer replicas. To add some, run "
             "'kafka-reassign-partitions.sh'",
             config->replication, counted(fewer, "topic", topics));
}

static void make(struct plan *plan, const struct survey *survey, const struct config *config)
{
    for (size_t i = 0; i < survey->topics_n; i++) {
        if (survey->topics[i].partitions == 0)
            plan_new(plan, survey, config, &survey->topics[i]);
        else
            plan_change(plan, survey, config, &survey->topics[i]);
    }
    note_keys(plan, survey, config);
}

int topics_plan(rd_kafka_t *rk, const struct config *config, int timeout_ms, struct plan *plan,
                struct findings *findings, struct error *error)
{
    struct admin admin = {.rk = rk, .timeout_ms = timeout_ms};
    struct survey survey;
    *findings = (struct findings){0};
    *plan = (struct plan){0};
    int err = survey_take(&admin, config, &survey);
    if (err == 0) {
        survey_judge(&survey, &admin, config, findings);
        make(plan, &survey, config);
    } else {
        *error = admin.error;
    }
    survey_deinit(&survey);
    return err;
}

void plan_deinit(struct plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        for (size_t k = 0; k < plan->rows[i].settings_n; k++) {
            free(plan->rows[i].settings[k].name);
            free(plan->rows[i].settings[k].value);
            free(plan->rows[i].settings[k].was);
        }
        free(plan->rows[i].settings);
    }
    free(plan->rows);
    for (size_t i = 0; i < plan->notes_n; i++)
        free(plan->notes[i]);
    *plan = (struct plan){0};
}
