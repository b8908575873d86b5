/* SPDX-License-Identifier: Apache-2.0 */
/* topics: names, the findings of check in a cluster, and apply, which fixes them and changes
   nothing else. With KAFKA=host:port the tests of apply run on that broker, else they are
   skipped. */
#include "consumer/admin/topics_settle.h"
#include "levels/cancels.h"
#include "levels/compat.h"
#include "tests/integration/scratch.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 10000, LANES = 3 };

static struct error error;

static rd_kafka_t *client(const char *property, const char *value)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, property, value, error.text, sizeof error.text);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.text, sizeof error.text);
    cr_assert_not_null(rk, "%s", error.text);
    return rk;
}

static rd_kafka_t *real(void)
{
    if (getenv("KAFKA") == NULL)
        cr_skip("needs KAFKA=host:port\n");
    return client("bootstrap.servers", getenv("KAFKA"));
}

static void quiet(const char *line)
{
    (void)line;
}

static int said_n;
static char said[4096];

static void remember(const char *line)
{
    said_n++;
    size_t len = strlen(said);
    snprintf(said + len, sizeof said - len, "%s\n", line);
}

static struct findings check(rd_kafka_t *rk, const struct config *config)
{
    struct findings findings;
    cr_assert_eq(topics_check(rk, config, TIMEOUT_MS, &findings, &error), 0, "%s", error.text);
    return findings;
}

static void apply(rd_kafka_t *rk, const struct config *config, void (*say)(const char *line))
{
    struct findings left;
    struct topics_job job = {.timeout_ms = TIMEOUT_MS, .fewer_replicas = true, .say = say};
    cr_assert_eq(topics_apply(rk, config, &job, &left, &error), 0, "%s", error.text);
    findings_deinit(&left);
}

/* Commits that partition 0 of topic is done up to offset. */
static void commit(const char *group, const char *topic, int64_t offset)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", getenv("KAFKA"), error.text, sizeof error.text);
    rd_kafka_conf_set(conf, "group.id", group, error.text, sizeof error.text);
    rd_kafka_t *member = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error.text, sizeof error.text);
    cr_assert_not_null(member, "%s", error.text);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic, 0)->offset = offset;
    rd_kafka_resp_err_t code = rd_kafka_commit(member, list, 0);
    cr_assert_eq(code, RD_KAFKA_RESP_ERR_NO_ERROR, "%s", rd_kafka_err2str(code));
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy(member);
}

static const struct finding *about(const struct findings *findings, const char *words)
{
    for (size_t i = 0; i < findings->n; i++)
        if (strstr(findings->items[i].sentence, words) != NULL)
            return &findings->items[i];
    return NULL;
}

/* Repeats the check, because brokers show a change a moment after its acknowledgement. */
static struct findings check_until(rd_kafka_t *rk, const struct config *config, const char *words)
{
    for (int tries = 0;; tries++) {
        struct findings findings = check(rk, config);
        if (tries == 50 || about(&findings, words) != NULL)
            return findings;
        findings_deinit(&findings);
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

/* Waits until the broker shows that a setting is gone. */
static void await_gone(rd_kafka_t *rk, const struct config *config, const char *words)
{
    bool gone = false;
    for (int tries = 0; !gone && tries < 50; tries++) {
        struct findings findings = check(rk, config);
        gone = about(&findings, words) == NULL;
        findings_deinit(&findings);
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

/* Replaces all settings of a topic. */
static void alter(rd_kafka_t *rk, const char *topic, const char *const (*settings)[2], size_t n)
{
    struct admin admin = {.rk = rk, .timeout_ms = TIMEOUT_MS};
    rd_kafka_ConfigResource_t *resource =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
    for (size_t i = 0; i < n; i++)
        rd_kafka_ConfigResource_set_config(resource, settings[i][0], settings[i][1]);
    rd_kafka_event_t *event = admin_alter(&admin, &resource, 1);
    cr_assert_not_null(event, "%s", admin.error.text);
    rd_kafka_event_destroy(event);
    rd_kafka_ConfigResource_destroy(resource);
}

static void create(rd_kafka_t *rk, const char *topic, int partitions)
{
    struct admin admin = {.rk = rk, .timeout_ms = TIMEOUT_MS};
    rd_kafka_NewTopic_t *made =
        rd_kafka_NewTopic_new(topic, partitions, 1, error.text, sizeof error.text);
    rd_kafka_event_t *event = admin_create(&admin, &made, 1);
    cr_assert_not_null(event, "%s", admin.error.text);
    rd_kafka_event_destroy(event);
    rd_kafka_NewTopic_destroy(made);
}

static void produce(rd_kafka_t *rk, const char *topic)
{
    rd_kafka_resp_err_t code =
        rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
                          RD_KAFKA_V_VALUE("x", 1), RD_KAFKA_V_END);
    cr_assert_eq(code, RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(rd_kafka_flush(rk, TIMEOUT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

Test(topics, level_topics_are_named_by_the_canonical_duration)
{
    char name[TOPIC_TEXT_MAX];
    cr_assert_str_eq(topic_of_level("S", 60000, name), "S.1m");
    cr_assert_str_eq(topic_of_level("S", 90000, name), "S.1m30s");
    cr_assert_str_eq(topic_of_pulse("S", name), "S.pulse");
    cr_assert_str_eq(topic_of_dead_letter("S", name), "S.dead-letter");
    cr_assert_str_eq(topic_of_cancelled("S", name), "S.cancelled");
}

Test(topics, a_setting_may_be_larger_or_smaller_only_where_the_rule_says_so)
{
    struct topic_rule rule = {.name = "max.message.bytes", .value = "100", .how = RULE_AT_LEAST};
    cr_assert(topic_rule_holds(&rule, "100"));
    cr_assert(topic_rule_holds(&rule, "101"));
    cr_assert_not(topic_rule_holds(&rule, "99"));
    rule.how = RULE_AT_MOST;
    cr_assert(topic_rule_holds(&rule, "100"));
    cr_assert_not(topic_rule_holds(&rule, "101"));
    cr_assert(topic_rule_holds(&rule, "99"));
    rule.how = RULE_EXACTLY;
    cr_assert_not(topic_rule_holds(&rule, "101"));
    cr_assert_not(topic_rule_holds(&rule, "99"));
}

#define PERMISSION "errors.deadletterqueue.group.enable"

/* Brokers refuse a new topic with a property that they do not know, so it is set afterwards. */
Test(topics, only_a_schedule_topic_of_share_groups_needs_their_permission)
{
    struct config config = scratch_config("topics", LANES, 1);
    struct topic_seen schedule = {.kind = TOPIC_SCHEDULE, .partitions = LANES, .replicas = 1};
    struct topic_rule rules[TOPIC_RULES_MAX];
    struct topic_pair pairs[TOPIC_RULES_MAX];
    size_t usual = topic_rules(&schedule, &config, rules);
    for (size_t i = 0; i < usual; i++)
        cr_expect_str_neq(rules[i].name, PERMISSION);
    schedule.takes_dead_letters = true;
    size_t n = topic_rules(&schedule, &config, rules), found = n;
    for (size_t i = 0; i < n; i++)
        if (strcmp(rules[i].name, PERMISSION) == 0)
            found = i;
    cr_assert_eq(n, usual + 1);
    cr_assert_lt(found, n);
    cr_expect(topic_rule_holds(&rules[found], "true"));
    cr_expect_not(topic_rule_holds(&rules[found], "false"));
    schedule.partitions = 0;
    n = topic_initial(&schedule, &config, 1, pairs);
    for (size_t i = 0; i < n; i++)
        cr_expect_str_neq(pairs[i].name, PERMISSION);
}

/* The mock cluster has no DescribeConfigs. The only finding says so. */
Test(topics, checks_without_an_answer_are_skipped_with_one_finding)
{
    struct config config = scratch_config("topics", LANES, 3);
    rd_kafka_t *rk = client("test.mock.num.brokers", "3");
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    static const char *const suffixes[] = {"",       ".1s",          ".1m",        ".1m30s",
                                           ".pulse", ".dead-letter", ".cancelled", ".control"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char name[TOPIC_TEXT_MAX];
        snprintf(name, sizeof name, "%s%s", config.schedule, suffixes[i]);
        rd_kafka_mock_topic_create(mock, name, LANES, 3);
    }
    struct findings findings = check(rk, &config);
    cr_expect_eq(findings.partitions, LANES);
    cr_expect_eq(findings.n, 1);
    cr_expect_eq(findings_count(&findings, FINDING_SKIPPED), 1);
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}

Test(topics, partitions_without_a_leader_are_a_fault)
{
    struct config config = scratch_config("topics", LANES, 3);
    static char target[] = "orders.there";
    static char *targets[] = {target};
    config.targets = targets;
    config.targets_n = 1;
    rd_kafka_t *rk = client("test.mock.num.brokers", "3");
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    rd_kafka_mock_topic_create(mock, config.schedule, LANES, 3);
    rd_kafka_mock_topic_create(mock, target, 2, 3);
    struct findings findings = check(rk, &config);
    cr_expect_null(about(&findings, "no leader"));
    findings_deinit(&findings);
    for (int partition = 1; partition < LANES; partition++)
        rd_kafka_mock_partition_set_leader(mock, config.schedule, partition, -1);
    rd_kafka_mock_partition_set_leader(mock, target, 0, -1);
    findings = check(rk, &config);
    char words[200];
    snprintf(words, sizeof words, "no leader for %d partitions, for example %s/1: the records",
             LANES - 1, config.schedule);
    const struct finding *ours = about(&findings, words);
    const struct finding *others =
        about(&findings, "no leader for 1 partition, for example orders.there/0: deliveries");
    cr_assert(ours != NULL && ours->kind == FINDING_FAULT);
    cr_assert(others != NULL && others->kind == FINDING_FAULT);
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}

Test(topics, a_wait_lasts_as_long_as_partitions_become_ready)
{
    struct settle_progress progress = {.ready_n = 7, .grown_mono_ms = 1000};
    cr_expect(settle_progress_lasts(&progress, 7, 60999, 60000));
    progress.ready_n = 8;
    cr_expect(settle_progress_lasts(&progress, 7, 61000, 60000));
    cr_expect(settle_progress_lasts(&progress, 8, 120999, 60000));
    cr_expect_not(settle_progress_lasts(&progress, 8, 121000, 60000));
}

/* Returns how many partitions of the sample are ready, after enough looks to ask each. */
static int look(rd_kafka_t *rk, const struct config *config, struct settle_progress *progress)
{
    struct admin admin = {.rk = rk, .timeout_ms = TIMEOUT_MS};
    struct survey survey;
    cr_assert_eq(survey_take(&admin, config, &survey), 0, "%s", admin.error.text);
    for (int looks = 0; looks < 3; looks++)
        settle_progress_look(progress, &admin, &survey);
    survey_deinit(&survey);
    return progress->ready_n;
}

Test(topics, a_partition_is_ready_when_its_leader_answers)
{
    struct config config = scratch_config("topics", LANES, 1);
    rd_kafka_t *rk = client("test.mock.num.brokers", "1");
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    struct settle_progress progress = {.ready_n = 0};
    cr_expect_eq(look(rk, &config, &progress), 0);
    cr_expect_eq(progress.all_n, 6 * LANES + 2, "%d", progress.all_n);
    rd_kafka_mock_topic_create(mock, config.schedule, LANES, 1);
    rd_kafka_mock_partition_set_leader(mock, config.schedule, 0, -1);
    cr_expect_eq(look(rk, &config, &progress), LANES - 1);
    cr_expect(!progress.ready[0] && progress.ready[1]);
    rd_kafka_mock_partition_set_leader(mock, config.schedule, 0, 1);
    cr_expect_eq(look(rk, &config, &progress), LANES);
    cr_expect_eq(look(rk, &config, &progress), LANES);
    rd_kafka_destroy(rk);
}

Test(topics, missing_topics_refuse_a_start_and_the_check_creates_none)
{
    struct config config = scratch_config("topics", LANES, 3);
    rd_kafka_t *rk = client("test.mock.num.brokers", "1");
    for (int twice = 0; twice < 2; twice++) {
        struct findings findings = check(rk, &config);
        cr_expect_eq(findings.partitions, 0);
        cr_expect_eq(findings_count(&findings, FINDING_REFUSE), 7);
        const struct finding *first = &findings.items[0];
        cr_expect(strstr(first->sentence, "delaybridge topics apply") != NULL, "%s",
                  first->sentence);
        findings_deinit(&findings);
    }
    rd_kafka_destroy(rk);
}

/* A lane writes its events to the partition with its number. */
Test(topics, events_need_a_partition_for_each_lane_and_may_have_more)
{
    struct config config = scratch_config("topics", LANES, 3);
    char name[TOPIC_TEXT_MAX];
    config.events = 1;
    rd_kafka_t *rk = client("test.mock.num.brokers", "1");
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    rd_kafka_mock_topic_create(mock, config.schedule, LANES, 1);
    rd_kafka_mock_topic_create(mock, topic_of_events(config.schedule, name), LANES + 1, 1);
    rd_kafka_mock_topic_create(mock, topic_of_dead_letter(config.schedule, name), LANES - 1, 1);
    struct findings findings = check(rk, &config);
    const struct finding *more = about(&findings, ".events has 4 partitions and ");
    const struct finding *fewer = about(&findings, ".dead-letter has 2 partitions and ");
    cr_assert(more != NULL && more->kind == FINDING_WARN);
    cr_assert(fewer != NULL && fewer->kind == FINDING_REFUSE && fewer->fix != NULL);
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}

/* A pattern names no topic, and apply creates the canary's topic. */
Test(topics, missing_target_with_a_full_name_is_a_fault)
{
    struct config config = scratch_config("topics", LANES, 3);
    char canary[TOPIC_TEXT_MAX];
    topic_of_canary(config.schedule, canary);
    char *targets[] = {(char *)"payments.*", (char *)"orders.there", (char *)"orders.missing",
                       (char *)"orders.default", canary};
    config.targets = targets;
    config.targets_n = sizeof targets / sizeof *targets;
    config.default_target = (char *)"orders.default";
    rd_kafka_t *rk = client("test.mock.num.brokers", "1");
    rd_kafka_mock_topic_create(rd_kafka_handle_mock_cluster(rk), "orders.there", 1, 1);
    struct findings findings = check(rk, &config);
    cr_expect_eq(findings_count(&findings, FINDING_FAULT), 2);
    const struct finding *one = about(&findings, "target orders.missing does not exist");
    const struct finding *other = about(&findings, "the default target orders.default does not");
    cr_assert(one != NULL && one->kind == FINDING_FAULT && one->fix == NULL);
    cr_assert(other != NULL && other->kind == FINDING_FAULT && other->fix == NULL);
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}

/* apply would create topics with fewer replicas, which stay so. */
Test(topics, one_broker_alive_is_written_in_the_singular)
{
    struct config config = scratch_config("topics", LANES, 3);
    rd_kafka_t *rk = client("test.mock.num.brokers", "1");
    struct topics_job job = {.timeout_ms = TIMEOUT_MS, .say = remember};
    struct findings left;
    cr_expect_eq(topics_apply(rk, &config, &job, &left, &error), ERR_CONFIG);
    cr_expect(strstr(error.text, "replication is 3 and 1 broker is alive") != NULL, "%s",
              error.text);
    rd_kafka_destroy(rk);
}

Test(topics, apply_creates_nothing_with_fewer_brokers_than_replication)
{
    struct config config = scratch_config("topics", LANES, 3);
    rd_kafka_t *rk = client("test.mock.num.brokers", "2");
    struct topics_job job = {.timeout_ms = TIMEOUT_MS, .say = remember};
    struct findings left;
    int err = topics_apply(rk, &config, &job, &left, &error);
    cr_expect_eq(err, ERR_CONFIG);
    cr_expect(strstr(error.text, "replication is 3 and 2 brokers are alive") != NULL, "%s",
              error.text);
    cr_expect(strstr(error.text, "--fewer-replicas") != NULL, "%s", error.text);
    cr_expect_eq(said_n, 0, "%s", said);
    rd_kafka_destroy(rk);
}

static const struct plan_row *row_of(const struct plan *plan, const char *topic)
{
    for (size_t i = 0; i < plan->n; i++)
        if (strcmp(plan->rows[i].topic, topic) == 0)
            return &plan->rows[i];
    return NULL;
}

Test(topics, plan_has_partitions_replicas_and_settings_of_each_new_topic)
{
    struct config config = scratch_config("topics", LANES, 4);
    config.retired_n = 0;
    config.partitions = LANES + 5; /* the schedule topic exists */
    rd_kafka_t *rk = client("test.mock.num.brokers", "3");
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    char level[TOPIC_TEXT_MAX], short_level[TOPIC_TEXT_MAX];
    rd_kafka_mock_topic_create(mock, config.schedule, LANES, 3);
    rd_kafka_mock_topic_create(mock, topic_of_level(config.schedule, 1000, short_level), 1, 1);
    struct plan plan;
    struct findings findings;
    cr_assert_eq(topics_plan(rk, &config, TIMEOUT_MS, &plan, &findings, &error), 0, "%s",
                 error.text);
    const struct plan_row *made = row_of(&plan, topic_of_level(config.schedule, 60000, level));
    cr_assert(made != NULL && made->is_new && made->partitions == LANES && made->replicas == 4);
    bool kept = false, in_sync = false;
    for (size_t i = 0; i < made->settings_n; i++) {
        const struct plan_setting *s = &made->settings[i];
        kept |= strcmp(s->name, "retention.ms") == 0 && strcmp(s->value, "-1") == 0;
        in_sync |= strcmp(s->name, "min.insync.replicas") == 0 && strcmp(s->value, "2") == 0;
    }
    cr_expect(kept && in_sync);
    const struct plan_row *grown = row_of(&plan, short_level);
    cr_assert(grown != NULL && !grown->is_new && grown->partitions == LANES);
    cr_expect_eq(grown->partitions_now, 1);
    cr_expect_null(row_of(&plan, config.schedule));
    cr_assert_eq(plan.notes_n, 2, "%zu: %s", plan.notes_n, plan.notes[0]);
    cr_expect(strstr(plan.notes[0], "partitions: 8 is not applied") != NULL, "%s", plan.notes[0]);
    cr_expect(strstr(plan.notes[1], "replication: 4 is not applied to 2 topics") != NULL, "%s",
              plan.notes[1]);
    plan_deinit(&plan);
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}

static struct topic_override overrides[] = {{(char *)"max.message.bytes", (char *)"8388608"},
                                            {(char *)"segment.bytes", NULL}};

static const char *pair_of(const struct topic_pair *pairs, size_t n, const char *name)
{
    const char *found = NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(pairs[i].name, name) == 0) {
            cr_assert_null(found, "%s is there twice", name);
            found = pairs[i].value;
        }
    return found;
}

static struct config overridden(const char *prefix)
{
    struct config config = scratch_config(prefix, LANES, 3);
    config.topic_overrides = overrides;
    config.topic_overrides_n = sizeof overrides / sizeof *overrides;
    return config;
}

Test(topics, topic_settings_replaces_settings_of_new_topics)
{
    static const enum topic_kind OWN[] = {TOPIC_SCHEDULE,  TOPIC_LEVEL, TOPIC_DEAD_LETTER,
                                          TOPIC_CANCELLED, TOPIC_PULSE, TOPIC_CANARY};
    struct config config = overridden("topics");
    struct topic_pair pairs[TOPIC_RULES_MAX];
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++) {
        size_t n = topic_initial(&(struct topic_seen){.kind = OWN[i]}, &config, 3, pairs);
        cr_expect_str_eq(pair_of(pairs, n, "max.message.bytes"), "8388608");
        cr_expect_null(pair_of(pairs, n, "segment.bytes"));
    }
    struct topic_seen level = {.kind = TOPIC_LEVEL};
    size_t n = topic_initial(&level, &config, 3, pairs);
    cr_expect_str_eq(pair_of(pairs, n, "retention.ms"), "-1");
    cr_expect_str_eq(pair_of(pairs, n, "min.insync.replicas"), "2");
    struct topic_override insync = {(char *)"min.insync.replicas", NULL};
    config.topic_overrides = &insync;
    config.topic_overrides_n = 1;
    n = topic_initial(&level, &config, 3, pairs);
    cr_expect_null(pair_of(pairs, n, "min.insync.replicas"));
    cr_expect_str_eq(pair_of(pairs, n, "segment.bytes"), "134217728");
}

Test(topics, topic_settings_changes_no_target_and_no_existing_schedule_topic)
{
    struct config config = overridden("topics");
    struct topic_seen schedule = {.kind = TOPIC_SCHEDULE, .partitions = 1};
    struct topic_seen target = {.kind = TOPIC_TARGET, .partitions = 1};
    struct topic_rule rules[TOPIC_RULES_MAX], own[TOPIC_RULES_MAX];
    cr_expect_eq(topic_rules(&schedule, &config, rules), topic_rules_own(&schedule, own));
    cr_expect_eq(topic_rules(&target, &config, rules), topic_rules_own(&target, own));
}

Test(topics, a_chosen_value_holds_in_the_spelling_that_brokers_show)
{
    struct topic_rule rule = {.name = "x", .value = "0.50", .how = RULE_CHOSEN};
    cr_expect(topic_rule_holds(&rule, "0.5"));
    cr_expect_not(topic_rule_holds(&rule, "0.51"));
    rule.value = "TRUE";
    cr_expect(topic_rule_holds(&rule, "true"));
    rule.value = "9223372036854775807";
    cr_expect_not(topic_rule_holds(&rule, "9223372036854775806"));
    rule.value = "8";
    cr_expect_not(topic_rule_holds(&rule, "8x"));
    cr_expect_not(topic_rule_holds(&rule, ""));
}

Test(topics, a_refused_setting_is_quoted_with_the_key_that_replaces_it)
{
    static const struct topic_pair asked[] = {
        {"retention.ms", "-1"}, {"max.message.bytes", "67108864"}, {"segment.bytes", "134217728"}};
    char out[OVERRIDE_ADVICE_MAX];
    override_advice(asked, 3, "Config segment.bytes is not supported", out);
    cr_expect(strstr(out, "requested segment.bytes=134217728. Set segment.bytes in topic_settings"),
              "%s", out);
    cr_expect_null(strstr(out, "max.message.bytes"), "%s", out);
    override_advice(asked, 3, "Policy violation", out);
    cr_expect(strstr(out, "topic_settings: max.message.bytes=67108864, segment.bytes=134217728"),
              "%s", out);
    cr_expect_null(strstr(out, "retention.ms"), "%s", out);
    override_advice(asked, 3, "retention.ms must be a week at most", out);
    cr_expect(strstr(out, "requested retention.ms=-1, which topic_settings cannot replace"), "%s",
              out);
}

Test(topics, the_plan_shows_topic_settings_and_warns_once_for_each)
{
    struct config config = overridden("topics");
    rd_kafka_t *rk = client("test.mock.num.brokers", "3");
    struct plan plan;
    struct findings findings;
    char level[TOPIC_TEXT_MAX];
    cr_assert_eq(topics_plan(rk, &config, TIMEOUT_MS, &plan, &findings, &error), 0, "%s",
                 error.text);
    const struct plan_row *row = row_of(&plan, topic_of_level(config.schedule, 1000, level));
    cr_assert_not_null(row);
    const char *largest = NULL;
    for (size_t i = 0; i < row->settings_n; i++) {
        cr_expect_str_neq(row->settings[i].name, "segment.bytes");
        if (strcmp(row->settings[i].name, "max.message.bytes") == 0)
            largest = row->settings[i].value;
    }
    cr_expect_str_eq(largest, "8388608");
    int chosen = 0;
    for (size_t i = 0; i < findings.n; i++)
        chosen += findings.items[i].chosen;
    cr_expect_eq(chosen, 1); /* no topic shows the broker's segment.bytes yet */
    plan_deinit(&plan);
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}

Test(topics, uneven_partition_counts_refuse_a_start)
{
    struct config config = scratch_config("topics", LANES, 3);
    config.retired_n = 0;
    rd_kafka_t *rk = client("test.mock.num.brokers", "1");
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    char name[TOPIC_TEXT_MAX];
    rd_kafka_mock_topic_create(mock, config.schedule, LANES, 1);
    rd_kafka_mock_topic_create(mock, topic_of_level(config.schedule, 1000, name), LANES - 1, 1);
    rd_kafka_mock_topic_create(mock, topic_of_level(config.schedule, 60000, name), LANES + 1, 1);
    struct findings findings = check(rk, &config);
    const struct finding *fewer = about(&findings, ".1s has 2 partitions");
    const struct finding *more = about(&findings, ".1m has 4 partitions");
    cr_assert(fewer != NULL && fewer->kind == FINDING_REFUSE && fewer->fix != NULL);
    cr_assert(more != NULL && more->kind == FINDING_REFUSE && more->fix == NULL);
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}

/* Each lane needs a number in the table of cancels. */
Test(topics, more_lanes_than_a_worker_may_have_refuse_a_start)
{
    struct config config = scratch_config("topics", LANES, 3);
    rd_kafka_t *rk = client("test.mock.num.brokers", "1");
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    rd_kafka_mock_topic_create(mock, config.schedule, CANCELS_LANES_MAX + 1, 1);
    struct findings findings = check(rk, &config);
    const struct finding *many = about(&findings, "has 4096 partitions");
    cr_assert(many != NULL && many->kind == FINDING_REFUSE && many->fix == NULL);
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}

Test(topics, after_apply_no_finding_refuses_and_another_apply_changes_nothing)
{
    rd_kafka_t *rk = real();
    struct config config = scratch_config("topics", LANES, 3);
    apply(rk, &config, quiet);
    struct findings findings = check(rk, &config);
    cr_expect_eq(findings.partitions, LANES);
    cr_expect_eq(findings_count(&findings, FINDING_REFUSE), 0);
    for (size_t i = 0; i < findings.n; i++)
        cr_expect_null(findings.items[i].fix, "%s", findings.items[i].sentence);
    findings_deinit(&findings);
    apply(rk, &config, remember);
    cr_expect_eq(said_n, 0, "%s", said);
    rd_kafka_destroy(rk);
}

/* Kafka 4.1 does not know the property. Apply succeeds, and the check is content. */
Test(topics, apply_sets_the_permission_of_share_groups_where_brokers_know_it)
{
    rd_kafka_t *rk = real();
    struct config config = scratch_config("topics", LANES, 3);
    config.compat = COMPAT_BIT(COMPAT_SHARE_DLQ);
    apply(rk, &config, quiet);
    struct admin admin = {.rk = rk, .timeout_ms = TIMEOUT_MS};
    struct survey survey;
    cr_assert_eq(survey_take(&admin, &config, &survey), 0);
    const char *value = topic_setting(&survey.topics[0], PERMISSION);
    cr_expect(survey.topics[0].settings_n > 0 && (value == NULL || strcmp(value, "true") == 0));
    survey_deinit(&survey);
    struct findings findings = check(rk, &config);
    cr_expect_null(about(&findings, PERMISSION));
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}

static void expect_overridden(const struct survey *survey)
{
    for (size_t i = 0; i < survey->topics_n; i++) {
        const struct topic_seen *topic = &survey->topics[i];
        cr_expect_str_eq(topic_setting(topic, "max.message.bytes"), "8388608", "%s", topic->name);
        for (size_t k = 0; k < topic->settings_n; k++)
            cr_expect_not(topic->settings[k].own &&
                              strcmp(topic->settings[k].name, "segment.bytes") == 0,
                          "%s", topic->name);
    }
}

Test(topics, apply_creates_topics_with_topic_settings_and_check_warns_once_of_each)
{
    rd_kafka_t *rk = real();
    struct config config = overridden("topics");
    apply(rk, &config, quiet);
    struct admin admin = {.rk = rk, .timeout_ms = TIMEOUT_MS};
    struct survey survey;
    cr_assert_eq(survey_take(&admin, &config, &survey), 0);
    expect_overridden(&survey);
    survey_deinit(&survey);
    struct findings findings = check(rk, &config);
    cr_expect_eq(findings_count(&findings, FINDING_REFUSE), 0);
    cr_expect_eq(findings_count(&findings, FINDING_FAULT), 0);
    int chosen = 0;
    for (size_t i = 0; i < findings.n; i++) {
        chosen += findings.items[i].chosen;
        cr_expect_null(findings.items[i].fix, "%s", findings.items[i].sentence);
    }
    cr_expect_eq(chosen, 2);
    cr_expect_not_null(about(&findings, "dead-lettered as too_large"));
    cr_expect_not_null(about(&findings, "trimming frees whole segments only"));
    findings_deinit(&findings);
    apply(rk, &config, remember);
    cr_expect_eq(said_n, 0, "%s", said);
    rd_kafka_destroy(rk);
}

Test(topics, apply_sets_topic_settings_on_existing_levels)
{
    rd_kafka_t *rk = real();
    struct config config = scratch_config("topics", LANES, 3);
    apply(rk, &config, quiet);
    config.topic_overrides = overrides;
    config.topic_overrides_n = 1;
    struct findings findings = check(rk, &config);
    const struct finding *other = about(&findings, ".1s has max.message.bytes=67108864");
    cr_assert(other != NULL && other->kind == FINDING_WARN && other->fix != NULL);
    cr_expect(strstr(other->sentence, "topic_settings says so") != NULL, "%s", other->sentence);
    findings_deinit(&findings);
    apply(rk, &config, quiet);
    struct admin admin = {.rk = rk, .timeout_ms = TIMEOUT_MS};
    struct survey survey;
    cr_assert_eq(survey_take(&admin, &config, &survey), 0);
    cr_expect_str_eq(topic_setting(&survey.topics[1], "max.message.bytes"), "8388608");
    cr_expect_str_eq(topic_setting(&survey.topics[1], "segment.bytes"), "134217728");
    cr_expect_str_neq(topic_setting(&survey.topics[0], "max.message.bytes"), "8388608");
    survey_deinit(&survey);
    rd_kafka_destroy(rk);
}

/* The broker refuses the value as a Kafka service refuses values beyond its limits. */
Test(topics, refused_setting_is_reported_with_its_property_and_the_key)
{
    rd_kafka_t *rk = real();
    struct config config = scratch_config("topics", LANES, 3);
    struct topic_override tiny = {(char *)"segment.bytes", (char *)"3"};
    config.topic_overrides = &tiny;
    config.topic_overrides_n = 1;
    struct topics_job job = {.timeout_ms = TIMEOUT_MS, .fewer_replicas = true, .say = quiet};
    struct findings left;
    cr_expect_eq(topics_apply(rk, &config, &job, &left, &error), ERR_CONFIG);
    cr_expect(strstr(error.text, "segment.bytes in topic_settings") != NULL, "%s", error.text);
    config.topic_overrides_n = 0;
    apply(rk, &config, quiet);
    config.topic_overrides_n = 1;
    cr_expect_eq(topics_apply(rk, &config, &job, &left, &error), ERR_CONFIG);
    cr_expect(strstr(error.text, "altering") != NULL, "%s", error.text);
    cr_expect(strstr(error.text, "segment.bytes in topic_settings") != NULL, "%s", error.text);
    rd_kafka_destroy(rk);
}

Test(topics, apply_fixes_wrong_settings_and_keeps_all_others)
{
    rd_kafka_t *rk = real();
    struct config config = scratch_config("topics", LANES, 3);
    apply(rk, &config, quiet);
    char level[TOPIC_TEXT_MAX];
    topic_of_level(config.schedule, 60000, level);
    alter(rk, level,
          (const char *const[][2]){{"retention.ms", "3600000"}, {"segment.ms", "7200000"}}, 2);
    struct findings findings = check_until(rk, &config, "retention.ms=3600000");
    const struct finding *wrong = about(&findings, "retention.ms=3600000");
    cr_assert(wrong != NULL && wrong->kind == FINDING_REFUSE && wrong->fix != NULL);
    findings_deinit(&findings);

    apply(rk, &config, quiet);
    struct admin admin = {.rk = rk, .timeout_ms = TIMEOUT_MS};
    struct survey survey;
    cr_assert_eq(survey_take(&admin, &config, &survey), 0);
    cr_assert_str_eq(survey.topics[2].name, level);
    cr_expect_str_eq(topic_setting(&survey.topics[2], "retention.ms"), "-1");
    cr_expect_str_eq(topic_setting(&survey.topics[2], "segment.ms"), "7200000");
    cr_expect_str_eq(topic_setting(&survey.topics[2], "max.message.bytes"), "67108864");
    survey_deinit(&survey);
    rd_kafka_destroy(rk);
}

/* Settings that make requests fail or get lost, one each. topic: "" is the schedule topic, ".x"
   another topic of the bridge, else a target. */
static const struct bad_setting {
    const char *topic, *name, *value;
    enum finding_kind kind;
    bool mended;
} bad_settings[] = {
    {"", "retention.ms", "60000", FINDING_FAULT, true},
    {"", "retention.ms", "3600000", FINDING_WARN, false},
    {"", "retention.bytes", "1000000", FINDING_WARN, false},
    {"", "min.insync.replicas", "2", FINDING_FAULT, true},
    {"", "max.message.bytes", "300000000", FINDING_FAULT, true},
    {"", "unclean.leader.election.enable", "true", FINDING_WARN, true},
    {".1s", "min.insync.replicas", "2", FINDING_FAULT, true},
    {".1s", "unclean.leader.election.enable", "true", FINDING_WARN, true},
    {".1m", "message.timestamp.before.max.ms", "1000", FINDING_FAULT, true},
    {".1m", "message.timestamp.after.max.ms", "1000", FINDING_FAULT, true},
    {".dead-letter", "message.timestamp.before.max.ms", "60000", FINDING_FAULT, true},
    {".dead-letter", "message.timestamp.after.max.ms", "60000", FINDING_FAULT, true},
    {"target", "message.timestamp.before.max.ms", "1000", FINDING_FAULT, false},
    {"target", "message.timestamp.after.max.ms", "1000", FINDING_FAULT, false},
    {"target", "min.insync.replicas", "2", FINDING_FAULT, false},
    {"target", "cleanup.policy", "compact", FINDING_WARN, false},
};

static void expect_found(rd_kafka_t *rk, const struct config *config, const struct bad_setting *bad)
{
    char topic[TOPIC_TEXT_MAX], words[128];
    bool target = strcmp(bad->topic, "target") == 0;
    snprintf(topic, sizeof topic, "%s%s", target ? config->default_target : config->schedule,
             target ? "" : bad->topic);
    snprintf(words, sizeof words, "%s=%s", bad->name, bad->value);
    alter(rk, topic, (const char *const[][2]){{bad->name, bad->value}}, 1);
    struct findings findings = check_until(rk, config, words);
    const struct finding *found = about(&findings, words);
    cr_expect(found != NULL && found->kind == bad->kind && strcmp(found->topic, topic) == 0 &&
                  (found->fix != NULL) == bad->mended,
              "%s %s", topic, words);
    findings_deinit(&findings);
    if (!bad->mended) { /* apply changes nothing then, and does not wait */
        alter(rk, topic, NULL, 0);
        await_gone(rk, config, words);
    }
    apply(rk, config, quiet);
    findings = check(rk, config);
    cr_expect_null(about(&findings, words), "%s %s", topic, words);
    findings_deinit(&findings);
}

Test(topics, each_setting_that_refuses_or_loses_records_is_found)
{
    rd_kafka_t *rk = real();
    struct config config = scratch_config("topics", LANES, 1);
    char target[TOPIC_TEXT_MAX];
    snprintf(target, sizeof target, "%s-target", config.schedule);
    char *targets[] = {target};
    config.targets = targets;
    config.targets_n = 1;
    config.default_target = target;
    create(rk, target, 1);
    apply(rk, &config, quiet);
    for (size_t i = 0; i < sizeof bad_settings / sizeof *bad_settings; i++)
        expect_found(rk, &config, &bad_settings[i]);
    rd_kafka_destroy(rk);
}

Test(topics, apply_grows_companions_to_the_schedule_topic)
{
    rd_kafka_t *rk = real();
    struct config config = scratch_config("topics", LANES, 3);
    char level[TOPIC_TEXT_MAX];
    create(rk, config.schedule, LANES + 2);
    create(rk, topic_of_level(config.schedule, 1000, level), 1);
    struct findings findings = check_until(rk, &config, ".1s has 1 partition and");
    findings_deinit(&findings);
    apply(rk, &config, quiet);
    findings = check(rk, &config);
    cr_expect_eq(findings.partitions, LANES + 2);
    cr_expect_eq(findings_count(&findings, FINDING_REFUSE), 0);
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}

Test(topics, a_removed_level_refuses_a_start_only_while_records_wait)
{
    rd_kafka_t *rk = real();
    struct config config = scratch_config("topics", LANES, 3);
    apply(rk, &config, quiet);
    config.retired_n = 0;
    struct findings findings = check_until(rk, &config, ".1m30s and 1m30s is neither");
    const struct finding *stray = about(&findings, ".1m30s and 1m30s is neither");
    cr_expect(stray != NULL && stray->kind == FINDING_WARN);
    findings_deinit(&findings);

    char level[TOPIC_TEXT_MAX];
    produce(rk, topic_of_level(config.schedule, 90000, level));
    findings = check_until(rk, &config, "1m30s to retired_levels");
    stray = about(&findings, "1m30s to retired_levels");
    cr_expect(stray != NULL && stray->kind == FINDING_REFUSE);
    findings_deinit(&findings);

    commit(config.group, level, 1);
    findings = check_until(rk, &config, ".1m30s and 1m30s is neither");
    cr_expect(about(&findings, ".1m30s and 1m30s is neither") != NULL,
              "processed offsets do not wait");
    findings_deinit(&findings);

    commit(config.group, level, 2); /* left by an earlier topic of this name */
    findings = check_until(rk, &config, "1m30s to retired_levels");
    cr_expect(about(&findings, "1m30s to retired_levels") != NULL);
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}

/* The answer to OffsetFetch comes from a broker that is no longer the coordinator. */
Test(topics, moving_coordinator_does_not_end_the_process)
{
    enum { OFFSET_FETCH = 9 };
    struct config config = scratch_config("topics", LANES, 1);
    rd_kafka_t *rk = client("test.mock.num.brokers", "1");
    rd_kafka_mock_cluster_t *mock = rd_kafka_handle_mock_cluster(rk);
    struct property brokers = {.name = (char *)"bootstrap.servers",
                               .value = (char *)rd_kafka_mock_cluster_bootstraps(mock)};
    char level[TOPIC_TEXT_MAX];
    config.retired_n = 0;
    config.kafka = &brokers;
    config.kafka_n = 1;
    rd_kafka_mock_topic_create(mock, config.schedule, LANES, 1);
    rd_kafka_mock_topic_create(mock, topic_of_level(config.schedule, 90000, level), LANES, 1);
    rd_kafka_mock_push_request_errors(mock, OFFSET_FETCH, 1, RD_KAFKA_RESP_ERR_NOT_COORDINATOR);
    struct findings findings = check(rk, &config);
    const struct finding *stray = about(&findings, ".1m30s and 1m30s is neither");
    cr_expect(stray != NULL && stray->kind == FINDING_WARN);
    findings_deinit(&findings);
    rd_kafka_destroy(rk);
}
