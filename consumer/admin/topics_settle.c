/* SPDX-License-Identifier: Apache-2.0 */
/* Takes surveys until the cluster, and then each of its brokers, shows the state. */
#include "consumer/admin/topics_settle.h"

#include "bridge/base/clock.h"

#include <time.h>

enum { SETTLE_EACH_MS = 100, SETTLE_MS = 60 * 1000 };

bool topic_is_short(const struct survey *survey, const struct topic_seen *topic)
{
    return topic_has_lanes(topic->kind) && topic->partitions > 0 &&
           topic->partitions < survey->lanes;
}

static bool follows_rules(const struct topic_seen *topic, const struct config *config)
{
    struct topic_rule rules[TOPIC_RULES_MAX];
    size_t n = topic_rules(topic, config, rules);
    for (size_t i = 0; i < n; i++) {
        const char *value = topic_setting(topic, rules[i].name);
        if (value != NULL && !topic_rule_holds(&rules[i], value))
            return false;
    }
    return true;
}

bool topics_are_settled(const struct survey *survey, const struct config *config,
                        enum settle_on state)
{
    for (size_t i = 0; i < survey->topics_n; i++) {
        const struct topic_seen *topic = &survey->topics[i];
        if (topic->partitions == 0)
            return false;
        if (state == SETTLE_ON_RULES &&
            (topic_is_short(survey, topic) || !follows_rules(topic, config)))
            return false;
    }
    return true;
}

/* Sets *settled to whether the broker admin->ask shows the state. A broker that has not learned of
   a topic answers that the topic does not exist. */
static int ask_broker(struct admin *admin, const struct config *config, enum settle_on state,
                      bool *settled)
{
    struct survey seen;
    int err = survey_take_from(admin, config, &seen);
    *settled = err == 0 && topics_are_settled(&seen, config, state) && seen.unread[0] == '\0';
    survey_deinit(&seen);
    return err;
}

int topics_settle(struct admin *admin, const struct config *config, struct survey *survey,
                  enum settle_on state)
{
    bool readable = survey->unread[0] == '\0', settled = false;
    int64_t until_mono_ms = clock_mono_ms() + SETTLE_MS;
    while (clock_mono_ms() < until_mono_ms) {
        survey_deinit(survey);
        int err = survey_take(admin, config, survey);
        settled = err == 0 && topics_are_settled(survey, config, state);
        for (int i = 0; err == 0 && settled && readable && i < survey->brokers; i++) {
            admin->ask = survey->broker_ids[i];
            err = ask_broker(admin, config, state, &settled);
        }
        if (err != 0 || settled)
            return err;
        rd_kafka_poll(admin->rk, 0);
        nanosleep(&(struct timespec){.tv_nsec = SETTLE_EACH_MS * 1000000L}, NULL);
    }
    return error_set(
        &admin->error, ERR_KAFKA,
        "the changes are made, but a minute later not every broker shows them: see the brokers' "
        "logs, and run it again");
}
