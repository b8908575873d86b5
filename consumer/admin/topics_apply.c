/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the bridge's topics follow the rules: create, grow, correct, then wait until every broker
   shows the changes. */
#include "consumer/admin/topics_settle.h"
#include "consumer/admin/topics_survey.h"
#include "levels/counted.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct apply {
    struct admin admin;
    const struct config *config;
    struct survey survey;
    struct topics_job *job;
};

__attribute__((format(printf, 2, 3))) static void say(struct apply *a, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    a->job->say(line);
}

/* One kind of change. */
struct step {
    const char *doing; /* its word in sentences */
    const char *right; /* the right on topics that the login needs */
};
static const struct step CREATING = {"creating", "Create"}, GROWING = {"growing", "Alter"},
                         ALTERING = {"altering", "AlterConfigs"};

/* Sets admin.error and returns ERR_KAFKA. */
static int fail(struct apply *a, const struct step *step, const char *topic, const char *why)
{
    char reason[ERROR_MAX / 2];
    /* A copy, since why may point to admin.error. */
    snprintf(reason, sizeof reason, "%.*s", (int)sizeof reason - 1, why);
    return error_set(&a->admin.error, ERR_KAFKA, "%s %s failed: %s", step->doing, topic, reason);
}

/* Sets the error of a request without results. Some managed services do not serve requests that
   change topics. Returns ERR_CONFIG then, otherwise ERR_KAFKA. */
static int fail_whole(struct apply *a, const struct step *step)
{
    static const char ELSEWHERE[] = "; if the service manages topics in another way, make the "
                                    "changes of 'delaybridge topics plan' there";
    char why[ERROR_MAX / 2];
    bool unserved = a->admin.code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
    snprintf(why, sizeof why, "%.*s%s", (int)(sizeof why - sizeof ELSEWHERE), a->admin.error.text,
             unserved ? ELSEWHERE : "");
    (void)fail(a, step, "topics", why);
    return unserved ? ERR_CONFIG : ERR_KAFKA;
}

struct verdict {
    rd_kafka_resp_err_t code;
    const char *why; /* NULL: the broker returned only the code */
};

static const struct topic_seen *seen_topic(const struct survey *survey, const char *name)
{
    for (size_t i = 0; i < survey->topics_n; i++)
        if (strcmp(survey->topics[i].name, name) == 0)
            return &survey->topics[i];
    return NULL;
}

/* Returns out, with advice if the broker refused a setting (managed services do) or the login lacks
   a right, else "". */
static const char *advice(const struct apply *a, const char *topic, struct verdict verdict,
                          const struct step *step, char out[OVERRIDE_ADVICE_MAX])
{
    const struct topic_seen *seen = seen_topic(&a->survey, topic);
    struct topic_pair asked[TOPIC_RULES_MAX];
    out[0] = '\0';
    if (verdict.code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
        verdict.code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
        snprintf(out, OVERRIDE_ADVICE_MAX, "; allow %s on %s and on topics that begin with %s.",
                 step->right, a->config->schedule, a->config->schedule);
    if (seen == NULL || (verdict.code != RD_KAFKA_RESP_ERR_INVALID_CONFIG &&
                         verdict.code != RD_KAFKA_RESP_ERR_POLICY_VIOLATION))
        return out;
    size_t n = topic_initial(seen, a->config, survey_replicas(&a->survey, a->config), asked);
    return override_advice(asked, n, verdict.why != NULL ? verdict.why : "", out);
}

/* Sets the error of a refused change. Returns ERR_KAFKA if a repetition may succeed; ERR_CONFIG if
   an operator must act. */
static int refuse(struct apply *a, const struct step *step, const char *topic,
                  struct verdict verdict)
{
    char why[ERROR_MAX / 2], more[OVERRIDE_ADVICE_MAX];
    const char *said = verdict.why != NULL ? verdict.why : rd_kafka_err2str(verdict.code);
    advice(a, topic, verdict, step, more);
    snprintf(why, sizeof why, "%.*s%s", (int)(sizeof why - sizeof more), said, more);
    fail(a, step, topic, why);
    return verdict.code == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT ||
                   verdict.code == RD_KAFKA_RESP_ERR_NOT_CONTROLLER
               ? ERR_KAFKA
               : ERR_CONFIG;
}

static rd_kafka_NewTopic_t *new_topic(const struct apply *a, const struct topic_seen *topic)
{
    char why[ERROR_MAX];
    int replicas = survey_replicas(&a->survey, a->config);
    rd_kafka_NewTopic_t *made = rd_kafka_NewTopic_new(
        topic->name, topic_partitions_wanted(&a->survey, topic), replicas, why, sizeof why);
    assert(made != NULL); /* the configuration has checked name and numbers */
    struct topic_pair pairs[TOPIC_RULES_MAX];
    size_t n = topic_initial(topic, a->config, replicas, pairs);
    for (size_t i = 0; i < n; i++)
        rd_kafka_NewTopic_set_config(made, pairs[i].name, pairs[i].value);
    return made;
}

/* Refuses to create topics with fewer replicas than configured. They would keep that number, and
   the loss of a broker could lose their records. */
static int refuse_fewer(struct apply *a)
{
    int wanted = a->config->replication, alive = a->survey.brokers;
    if (alive >= wanted)
        return 0;
    char brokers[COUNTED_MAX + 8];
    counted(alive, "broker", brokers);
    strcat(brokers, alive == 1 ? " is" : " are");
    if (a->job->fewer_replicas) {
        say(a, "warning: replication is %d and %s alive: replicas=%d", wanted, brokers, alive);
        return 0;
    }
    (void)error_set(&a->admin.error, ERR_KAFKA,
                    "replication is %d and %s alive, nothing is made: start the others, set "
                    "'replication: %d', or run 'delaybridge topics apply --fewer-replicas'",
                    wanted, brokers, alive);
    return ERR_CONFIG;
}

/* Checks the result of each topic. A topic that another process has created meanwhile counts as
   done. */
static int judge(struct apply *a, const struct step *step, const rd_kafka_topic_result_t **results,
                 size_t n)
{
    for (size_t i = 0; i < n; i++) {
        rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[i]);
        const char *why = rd_kafka_topic_result_error_string(results[i]);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
            return refuse(a, step, rd_kafka_topic_result_name(results[i]),
                          (struct verdict){code, why});
        say(a, "%s %s: %s", step->doing, rd_kafka_topic_result_name(results[i]),
            code == RD_KAFKA_RESP_ERR_NO_ERROR ? "done" : "it exists already");
    }
    return 0;
}

static int judge_created(struct apply *a, rd_kafka_event_t *event)
{
    size_t n;
    const rd_kafka_topic_result_t **results =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &n);
    int err = judge(a, &CREATING, results, n);
    a->job->created = err == 0 ? (int)n : 0;
    rd_kafka_event_destroy(event);
    return err;
}

static int judge_grown(struct apply *a, rd_kafka_event_t *event)
{
    size_t n;
    const rd_kafka_topic_result_t **results =
        rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event), &n);
    int err = judge(a, &GROWING, results, n);
    a->job->grown = err == 0 ? (int)n : 0;
    rd_kafka_event_destroy(event);
    return err;
}

static int create_missing(struct apply *a)
{
    rd_kafka_NewTopic_t **topics = calloc(a->survey.topics_n, sizeof(rd_kafka_NewTopic_t *));
    if (topics == NULL)
        return ERR_NO_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < a->survey.topics_n; i++)
        if (a->survey.topics[i].partitions == 0)
            topics[n++] = new_topic(a, &a->survey.topics[i]);
    int err = n > 0 ? refuse_fewer(a) : 0;
    if (n > 0 && err == 0) {
        char text[COUNTED_MAX];
        say(a, "creating %s: partitions=%d (pulse: %d) replicas=%d",
            counted((int64_t)n, "topic", text), a->survey.lanes, a->survey.brokers,
            survey_replicas(&a->survey, a->config));
        rd_kafka_event_t *event = admin_create(&a->admin, topics, n);
        err = event == NULL ? fail_whole(a, &CREATING) : judge_created(a, event);
    }
    rd_kafka_NewTopic_destroy_array(topics, n);
    free(topics);
    return err;
}

static int grow_short(struct apply *a)
{
    char why[ERROR_MAX];
    const struct survey *survey = &a->survey;
    rd_kafka_NewPartitions_t **topics =
        calloc(survey->topics_n, sizeof(rd_kafka_NewPartitions_t *));
    if (topics == NULL)
        return ERR_NO_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < survey->topics_n; i++) {
        const struct topic_seen *topic = &survey->topics[i];
        if (!topic_is_short(survey, topic))
            continue;
        say(a, "growing %s from %d to %d partitions", topic->name, topic->partitions,
            survey->lanes);
        topics[n++] =
            rd_kafka_NewPartitions_new(topic->name, (size_t)survey->lanes, why, sizeof why);
    }
    int err = 0;
    if (n > 0) {
        rd_kafka_event_t *event = admin_grow(&a->admin, topics, n);
        err = event == NULL ? fail_whole(a, &GROWING) : judge_grown(a, event);
    }
    rd_kafka_NewPartitions_destroy_array(topics, n);
    free(topics);
    return err;
}

static bool is_wrong(const struct apply *a, const struct topic_seen *topic, const char *name)
{
    struct topic_rule rules[TOPIC_RULES_MAX];
    size_t n = topic_rules(topic, a->config, rules);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rules[i].name, name) == 0 &&
            !topic_rule_holds(&rules[i], topic_setting(topic, name)))
            return true;
    return false;
}

/* Returns the topic with its present settings and the corrected ones, or NULL if no setting is
   wrong. AlterConfigs resets settings that it does not receive, so all are sent. It refuses a
   setting that it receives twice, so each is sent once. */
static rd_kafka_ConfigResource_t *corrected(struct apply *a, const struct topic_seen *topic)
{
    rd_kafka_ConfigResource_t *resource = NULL;
    struct topic_rule rules[TOPIC_RULES_MAX];
    size_t n = topic_rules(topic, a->config, rules);
    for (size_t i = 0; i < n; i++) {
        const char *value = topic_setting(topic, rules[i].name);
        if (value == NULL || topic_rule_holds(&rules[i], value))
            continue;
        const char *set = rules[i].set != NULL ? rules[i].set : rules[i].value;
        say(a, "setting %s of %s to %s (it was %s)", rules[i].name, topic->name, set, value);
        if (resource == NULL) {
            resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic->name);
            for (size_t k = 0; k < topic->settings_n; k++)
                if (topic->settings[k].own && !is_wrong(a, topic, topic->settings[k].name))
                    rd_kafka_ConfigResource_set_config(resource, topic->settings[k].name,
                                                       topic->settings[k].value);
        }
        rd_kafka_ConfigResource_set_config(resource, rules[i].name, set);
    }
    return resource;
}

static int judge_altered(struct apply *a, rd_kafka_event_t *event)
{
    size_t n;
    const rd_kafka_ConfigResource_t **told =
        rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &n);
    int err = 0;
    for (size_t i = 0; i < n && err == 0; i++) {
        const char *why = rd_kafka_ConfigResource_error_string(told[i]);
        rd_kafka_resp_err_t code = rd_kafka_ConfigResource_error(told[i]);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            err = refuse(a, &ALTERING, rd_kafka_ConfigResource_name(told[i]),
                         (struct verdict){code, why});
    }
    a->job->changed += err == 0 ? (int)n : 0;
    rd_kafka_event_destroy(event);
    return err;
}

static int correct_settings(struct apply *a)
{
    rd_kafka_ConfigResource_t **topics =
        calloc(a->survey.topics_n, sizeof(rd_kafka_ConfigResource_t *));
    if (topics == NULL)
        return ERR_NO_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < a->survey.topics_n; i++) {
        topics[n] = corrected(a, &a->survey.topics[i]);
        n += topics[n] != NULL;
    }
    int err = 0;
    if (n > 0) {
        rd_kafka_event_t *event = admin_alter(&a->admin, topics, n);
        err = event == NULL ? fail_whole(a, &ALTERING) : judge_altered(a, event);
    }
    rd_kafka_ConfigResource_destroy_array(topics, n);
    free(topics);
    return err;
}

/* Takes the first survey. Nothing is changed while the settings of an existing topic are unknown:
   wrong ones would stay. */
static int take_first(struct apply *a)
{
    int err = survey_take(&a->admin, a->config, &a->survey);
    if (err == 0 && a->survey.behind)
        err = error_set(&a->admin.error, ERR_KAFKA,
                        "nothing is changed, since a topic is still unknown to broker %d (%s): "
                        "see its log, and run it again",
                        a->admin.ask, a->survey.unread);
    return err;
}

static int apply_all(struct apply *a)
{
    char topics[COUNTED_MAX];
    struct settling settling = {
        .admin = &a->admin, .config = a->config, .survey = &a->survey, .show = a->job->show};
    int err = take_first(a);
    if (err == 0 && topics_are_settled(&a->survey, a->config, SETTLE_ON_RULES, NULL) &&
        a->survey.unread[0] == '\0')
        return 0;
    if (err == 0 && a->survey.unread[0] != '\0')
        say(a, "warning: settings of topics are not changed, since they could not be read (%s)",
            a->survey.unread);
    bool whole = err == 0 && topics_are_settled(&a->survey, a->config, SETTLE_ON_CREATION, NULL);
    if (err == 0)
        err = create_missing(a);
    if (err == 0 && !whole)
        /* New topics then show the cluster's defaults. */
        err = topics_settle(&settling, SETTLE_ON_CREATION);
    if (err == 0)
        err = grow_short(a);
    if (err == 0)
        err = correct_settings(a);
    if (err == 0)
        err = topics_settle(&settling, SETTLE_ON_RULES);
    if (err == 0)
        say(a, "done: %s created, %d grown, %d changed", counted(a->job->created, "topic", topics),
            a->job->grown, a->job->changed);
    return err;
}

int topics_apply(rd_kafka_t *rk, const struct config *config, struct topics_job *job,
                 struct findings *left, struct error *error)
{
    struct apply a = {
        .admin = {.rk = rk, .timeout_ms = job->timeout_ms}, .config = config, .job = job};
    *left = (struct findings){0};
    int err = apply_all(&a);
    if (err == 0)
        survey_judge(&a.survey, &a.admin, config, left);
    else
        (void)error_set(error, err, "%s",
                        err == ERR_NO_MEMORY ? err_text(err) : a.admin.error.text);
    survey_deinit(&a.survey);
    return err;
}
