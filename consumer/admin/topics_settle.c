/* SPDX-License-Identifier: Apache-2.0 */
/* Surveys that are repeated until brokers have learned of all topics, or show the same state. */
#include "consumer/admin/topics_settle.h"

#include "bridge/base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum { EACH_MS = 100, LONG_MS = 5000, ELECTION_MS = 1000 };

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

static void say_if_long(struct settling *s)
{
    char line[sizeof s->lag.text + 64];
    if (s->said || s->waited_ms < LONG_MS)
        return;
    s->said = true;
    snprintf(line, sizeof line, "waiting until every broker shows the changes (%s)", s->lag.text);
    s->say(line);
}

int topics_settle(struct settling *s, enum settle_on state)
{
    bool readable = s->survey->unread[0] == '\0', shown = false;
    int64_t most_ms = (int64_t)s->admin->timeout_ms * SETTLE_TIMEOUTS;
    int64_t start_mono_ms = clock_mono_ms() - s->waited_ms;
    while (s->waited_ms < most_ms) {
        survey_deinit(s->survey);
        s->admin->ask = 0;
        int err = survey_take_from(s->admin, s->config, s->survey);
        shown = err == 0 && shows(s, s->survey, state);
        for (int i = 0; err == 0 && shown && readable && i < s->survey->brokers; i++)
            err = ask_broker(s, s->survey->broker_ids[i], state, &shown);
        s->waited_ms = clock_mono_ms() - start_mono_ms;
        if (err != 0 || shown)
            return err;
        rd_kafka_poll(s->admin->rk, 0);
        say_if_long(s);
        pause_shortly();
    }
    return error_set(&s->admin->error, ERR_KAFKA,
                     "the changes are made, but %d s later not every broker shows them (%s): see "
                     "that broker's log, and run it again",
                     (int)(s->waited_ms / 1000), s->lag.text);
}
