/* SPDX-License-Identifier: Apache-2.0 */
/* Surveys that are repeated until brokers have learned of all topics, or show the same state. */
#include "consumer/admin/topics_settle.h"

#include "bridge/base/clock.h"
#include "consumer/client/log_ends.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum {
    EACH_MS = 100,
    LOOK_MS = 1000,
    LOOK_EACH_MS = 1000,
    SHOW_EACH_MS = 5000,
    ELECTION_MS = 1000
};

static void pause_shortly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = EACH_MS * 1000000L}, NULL);
}

static bool lacks_leaders(const struct topic_seen *topics, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (topics[i].leaderless_n > 0)
            return true;
    return false;
}

/* Returns for how long another survey may show another state. A new topic gets its leaders a moment
   after it is listed. */
static int64_t patience_ms(const struct survey *survey, const struct admin *admin)
{
    if (survey->behind)
        return admin->timeout_ms;
    return lacks_leaders(survey->topics, survey->topics_n) ||
                   lacks_leaders(survey->targets, survey->targets_n)
               ? ELECTION_MS
               : 0;
}

int survey_take(struct admin *admin, const struct config *config, struct survey *survey)
{
    int64_t start_mono_ms = clock_mono_ms();
    admin->ask = 0;
    int err = survey_take_from(admin, config, survey);
    while (err == 0 && clock_mono_ms() - start_mono_ms < patience_ms(survey, admin)) {
        pause_shortly();
        survey_deinit(survey);
        admin->ask = 0;
        err = survey_take_from(admin, config, survey);
    }
    return err;
}

/* Returns false. */
__attribute__((format(printf, 2, 3))) static bool lags(struct lag *lag, const char *format, ...)
{
    va_list arguments;
    if (lag == NULL)
        return false;
    va_start(arguments, format);
    vsnprintf(lag->text, sizeof lag->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool follows_rules(const struct topic_seen *topic, const struct config *config,
                          struct lag *lag)
{
    struct topic_rule rules[TOPIC_RULES_MAX];
    size_t n = topic_rules(topic, config, rules);
    for (size_t i = 0; i < n; i++) {
        const char *value = topic_setting(topic, rules[i].name);
        if (value != NULL && !topic_rule_holds(&rules[i], value))
            return lags(lag, "%s has %s=%s", topic->name, rules[i].name, value);
    }
    return true;
}

bool topics_are_settled(const struct survey *survey, const struct config *config,
                        enum settle_on state, struct lag *lag)
{
    for (size_t i = 0; i < survey->topics_n; i++) {
        const struct topic_seen *topic = &survey->topics[i];
        if (topic->partitions == 0)
            return lags(lag, "%s does not exist", topic->name);
        if (state == SETTLE_ON_CREATION)
            continue;
        if (topic_is_short(survey, topic))
            return lags(lag, "%s has partitions=%d", topic->name, topic->partitions);
        if (!follows_rules(topic, config, lag))
            return false;
    }
    return true;
}

/* Returns whether a survey of the broker admin->ask shows the state. Sets the lag otherwise. */
static bool shows(struct settling *s, const struct survey *seen, enum settle_on state)
{
    struct lag lag = {""};
    if (seen->behind)
        lags(&lag, "%s", seen->unread);
    else if (topics_are_settled(seen, s->config, state, &lag))
        return true;
    return lags(&s->lag, "broker %d: %.*s", s->admin->ask, (int)sizeof lag.text - 32, lag.text);
}

/* Sets shown to whether the broker shows the state. */
static int ask_broker(struct settling *s, int32_t broker, enum settle_on state, bool *shown)
{
    struct survey seen;
    s->admin->ask = broker;
    int err = survey_take_from(s->admin, s->config, &seen);
    *shown = err == 0 && shows(s, &seen, state);
    survey_deinit(&seen);
    return err;
}

/* Finds partition number n of all that the topics will have. Returns NULL if it does not exist. */
static const struct topic_seen *find_partition(const struct survey *survey, int64_t n,
                                               int *partition)
{
    for (size_t i = 0; i < survey->topics_n; i++) {
        const struct topic_seen *topic = &survey->topics[i];
        int wanted = topic_partitions_wanted(survey, topic);
        if (n < wanted) {
            *partition = (int)n;
            return n < topic->partitions ? topic : NULL;
        }
        n -= wanted;
    }
    return NULL;
}

static int64_t count_wanted(const struct survey *survey)
{
    int64_t n = 0;
    for (size_t i = 0; i < survey->topics_n; i++)
        n += topic_partitions_wanted(survey, &survey->topics[i]);
    return n;
}

static bool answers(struct admin *admin, const char *topic, int partition)
{
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    const rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(one, topic, partition);
    bool is_ready = log_ends_ask(admin->rk, one, LOG_END, LOOK_MS) == 0 && at->err == 0;
    rd_kafka_topic_partition_list_destroy(one);
    return is_ready;
}

/* Sends one request for each. In a request for many, one that fails would hide the others. */
void settle_progress_look(struct settle_progress *progress, struct admin *admin,
                          const struct survey *survey)
{
    int64_t wanted = count_wanted(survey), until_mono_ms = clock_mono_ms() + LOOK_MS;
    progress->all_n = wanted < PROGRESS_SAMPLE ? (int)wanted : PROGRESS_SAMPLE;
    for (int i = 0; i < progress->all_n && clock_mono_ms() < until_mono_ms; i++) {
        int partition, at = progress->next % progress->all_n;
        const struct topic_seen *topic =
            find_partition(survey, wanted * at / progress->all_n, &partition);
        progress->next = at + 1;
        if (topic == NULL || progress->ready[at])
            continue;
        progress->ready[at] = answers(admin, topic->name, partition);
        progress->ready_n += progress->ready[at];
    }
}

bool settle_progress_lasts(struct settle_progress *progress, int before_n, int64_t now_mono_ms,
                           int64_t patience_ms)
{
    if (progress->ready_n > before_n)
        progress->grown_mono_ms = now_mono_ms;
    return now_mono_ms - progress->grown_mono_ms < patience_ms;
}

static void show_progress(struct settling *s)
{
    char line[sizeof s->lag.text + 128];
    if (s->show == NULL || clock_mono_ms() - s->shown_mono_ms < SHOW_EACH_MS)
        return;
    s->shown_mono_ms = clock_mono_ms();
    snprintf(line, sizeof line,
             "waiting until every broker shows the changes (%s): ready partitions of a sample: %d "
             "of %d",
             s->lag.text, s->progress.ready_n, s->progress.all_n);
    s->show(line);
}

/* The first look finds partitions that were ready before the wait, which is no progress. */
static bool may_wait(struct settling *s)
{
    bool is_first = s->progress.all_n == 0;
    int before_n = s->progress.ready_n;
    if (clock_mono_ms() - s->looked_mono_ms >= LOOK_EACH_MS) {
        settle_progress_look(&s->progress, s->admin, s->survey);
        s->looked_mono_ms = clock_mono_ms();
    }
    show_progress(s);
    return settle_progress_lasts(&s->progress, is_first ? s->progress.ready_n : before_n,
                                 clock_mono_ms(), (int64_t)s->admin->timeout_ms * SETTLE_TIMEOUTS);
}

int topics_settle(struct settling *s, enum settle_on state)
{
    bool readable = s->survey->unread[0] == '\0', shown = false;
    int64_t start_mono_ms = clock_mono_ms();
    s->looked_mono_ms = s->shown_mono_ms = start_mono_ms;
    s->progress = (struct settle_progress){.grown_mono_ms = start_mono_ms};
    do {
        survey_deinit(s->survey);
        s->admin->ask = 0;
        int err = survey_take_from(s->admin, s->config, s->survey);
        shown = err == 0 && shows(s, s->survey, state);
        for (int i = 0; err == 0 && shown && readable && i < s->survey->brokers; i++)
            err = ask_broker(s, s->survey->broker_ids[i], state, &shown);
        if (err == ERR_KAFKA) /* the broker is busy, or has just ended */
            lags(&s->lag, "%.*s", (int)sizeof s->lag.text - 1, s->admin->error.text);
        else if (err != 0 || shown)
            return err;
        rd_kafka_poll(s->admin->rk, 0);
        pause_shortly();
    } while (may_wait(s));
    return error_set(&s->admin->error, ERR_KAFKA,
                     "the changes are made, but %d s later not every broker shows them (%s): see "
                     "that broker's log, and run it again",
                     (int)((clock_mono_ms() - start_mono_ms) / 1000), s->lag.text);
}
