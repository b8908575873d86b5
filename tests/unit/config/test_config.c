/* SPDX-License-Identifier: Apache-2.0 */
/* config: precedence, refusals, and that the printed file equals the shipped one. */
#include "bridge/config/loader.h"
#include "levels/compat.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

static struct config config;
static struct error error;
static char warned[1000];

static void warn(const char *sentence)
{
    strncat(warned, sentence, sizeof warned - strlen(warned) - 1);
}

static void clean(void)
{
    static char *none[] = {NULL};
    environ = none;
}
TestSuite(config, .init = clean);

/* Each process has its own file. */
static const char *file_of(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/delaybridge-test-%d.yaml", (int)getpid());
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

/* Loads text as a file, with one flag unless it is NULL. */
static int load(const char *text, const char *flag)
{
    char *argv[] = {(char *)flag};
    int argc = flag == NULL ? 0 : 1;
    const char *path = file_of(text);
    int err = config_load(&config, path, &argc, argv, warn, &error);
    unlink(path);
    return err;
}

static void takes(const char *text)
{
    cr_assert_eq(load(text, NULL), 0, "%s: %s", text, error.text);
}

static void refuses(const char *text, const char *words)
{
    cr_expect_eq(load(text, NULL), ERR_CONFIG, "taken: %s", text);
    cr_expect(strstr(error.text, words) != NULL, "%s: says: %s", text, error.text);
}

static void refuses_flag(const char *flag, const char *words)
{
    cr_expect_eq(load("", flag), ERR_CONFIG, "taken: %s", flag);
    cr_expect(strstr(error.text, words) != NULL, "%s: says: %s", flag, error.text);
}

Test(config, an_empty_file_is_all_defaults)
{
    takes("");
    cr_expect_str_eq(config.schedule, "schedule");
    cr_expect_str_eq(config.group, "delaybridge.schedule");
    cr_expect_eq(config.ladder.n, 18);
    cr_expect_eq(config.ladder.level_ms[17], 2 * 3600 * 1000);
    cr_expect_eq(config.hold_ms, 30000);
    cr_expect_eq(config.ladder.hold_ms, 1000);
    cr_expect_eq(config.ladder.slack_ms, 500);
    cr_expect_eq(config.max_delay_ms, (int64_t)40 * 24 * 3600 * 1000);
    cr_expect_eq(config.memory_bytes, 256 << 20);
    cr_expect_eq(config.drain_ms, 10000);
    cr_expect_eq(config.max_attempts, 8);
    cr_expect_eq(config.partitions, 8);
    cr_expect_eq(config.replication, 3);
    cr_expect_eq(config.workers, 1);
    cr_expect_eq(config.log_level, LOG_INFO);
    cr_expect_eq(config.log_format, LOG_AUTO);
    cr_expect_eq(config.retired_n, 0);
    cr_expect_null(config.default_target);
    config_deinit(&config);
}

Test(config, events_are_off_and_switched_on_by_one_word)
{
    takes("");
    cr_expect_eq(config.events, 0);
    cr_expect(!config.events_lossy);
    config_deinit(&config);
    takes("events: [default]\n");
    cr_expect_eq(config.events, EVENTS_DEFAULT);
    config_deinit(&config);
    takes("events: [default, delivered]\nevents_lossy: true\n");
    cr_expect_eq(config.events, EVENTS_DEFAULT | EVENT_BIT(EVENT_DELIVERED));
    cr_expect(config.events_lossy);
    config_deinit(&config);
    cr_assert_eq(load("", "--events=all"), 0, "%s", error.text);
    cr_expect_eq(config.events, EVENTS_ALL);
    config_deinit(&config);
    refuses("events: [deliver]\n", "not an event");
    refuses("events_lossy: maybe\n", "not one of true, false");
    refuses("events_lossy: true\ndelivery: exactly-once\n", "not with delivery: exactly-once");
}

Test(config, a_flag_beats_the_environment_beats_the_file_beats_the_default)
{
    takes("hold: 2s\n");
    cr_expect_eq(config.hold_ms, 2000);
    config_deinit(&config);
    setenv("DELAYBRIDGE_HOLD", "3s", 1);
    takes("hold: 2s\n");
    cr_expect_eq(config.hold_ms, 3000);
    config_deinit(&config);
    cr_assert_eq(load("hold: 2s\n", "--hold=4s"), 0, "%s", error.text);
    cr_expect_eq(config.hold_ms, 4000);
    config_deinit(&config);
}

/* Members of a group with different holds agree on the levels. */
Test(config, a_longer_hold_does_not_change_the_plan_of_levels)
{
    static const struct {
        const char *yaml;
        int64_t ladder_hold_ms;
    } rows[] = {{"hold: 30s\n", 1000},
                {"hold: 1s\n", 1000},
                {"hold: 600ms\n", 600},
                {"hold: 5s\nlevels: [5s, 1m]\n", 4500},
                {"hold: 1h\nlevels: [1h]\nslack: 10s\n", 3590000}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        takes(rows[i].yaml);
        cr_expect_eq(config.ladder.hold_ms, rows[i].ladder_hold_ms, "%s", rows[i].yaml);
        config_deinit(&config);
    }
}

Test(config, flags_are_removed_and_the_rest_stays_in_order)
{
    char *argv[] = {"plan",          "--max-delay", "7d", "--max_attempts=3",
                    "-Xlinger.ms=7", "--other",     "-X", "hops.linger.ms=9",
                    "--log-level",   "warn",        "--", "--hold"};
    int argc = sizeof argv / sizeof *argv;
    cr_assert_eq(config_load(&config, "/dev/null", &argc, argv, warn, &error), 0, "%s", error.text);
    cr_assert_eq(argc, 4);
    cr_expect_str_eq(argv[0], "plan");
    cr_expect_str_eq(argv[1], "--other");
    cr_expect_str_eq(argv[2], "--");
    cr_expect_str_eq(argv[3], "--hold");
    cr_expect_eq(config.max_delay_ms, 7 * 24 * 3600 * 1000);
    cr_expect_eq(config.max_attempts, 3);
    cr_expect_eq(config.log_level, LOG_WARN);
    cr_expect_str_eq(config_property(&config, CLIENT_HOPS, "linger.ms"), "9");
    cr_expect_str_eq(config_property(&config, CLIENT_INTAKE, "linger.ms"), "7");
    config_deinit(&config);
}

Test(config, lists_are_comma_separated_in_flags_and_environment)
{
    setenv("DELAYBRIDGE_TARGETS", "a, b.*", 1);
    cr_assert_eq(load("", "--levels=1s,1m"), 0, "%s", error.text);
    cr_assert_eq(config.targets_n, 2);
    cr_expect_str_eq(config.targets[1], "b.*");
    cr_assert_eq(config.ladder.n, 2);
    cr_expect_eq(config.ladder.level_ms[1], 60000);
    config_deinit(&config);
}

Test(config, variables_set_kafka_properties)
{
    setenv("DELAYBRIDGE_KAFKA_GROUP_INSTANCE_ID", "pod-3", 1);
    setenv("DELAYBRIDGE_KAFKA_DELIVERIES_LINGER_MS", "3", 1);
    takes("kafka: {group.instance.id: other}\n");
    cr_expect_str_eq(config_property(&config, CLIENT_INTAKE, "group.instance.id"), "pod-3");
    cr_expect_str_eq(config_property(&config, CLIENT_DELIVERIES, "linger.ms"), "3");
    cr_expect_null(config_property(&config, CLIENT_HOPS, "linger.ms"));
    config_deinit(&config);
}

Test(config, unknown_variables_are_reported_and_ignored)
{
    setenv("DELAYBRIDGE_SERVICE_HOST", "10.0.0.1", 1);
    setenv("DELAYBRIDGE_PORT_9404_TCP", "tcp://10.0.0.1:9404", 1);
    setenv("DELAYBRIDGE_KAFKA_PORT", "tcp://10.0.0.1:9092", 1);
    takes("");
    cr_expect(strstr(warned, "DELAYBRIDGE_KAFKA_PORT") != NULL, "%s", warned);
    cr_expect(strstr(warned, "DELAYBRIDGE_SERVICE_HOST") != NULL, "%s", warned);
    cr_expect(strstr(warned, "DELAYBRIDGE_PORT_9404_TCP") != NULL, "%s", warned);
    config_deinit(&config);
}

Test(config, a_property_for_one_connection_comes_before_the_one_for_all)
{
    takes("kafka:\n  linger.ms: 1\n  hops: {linger.ms: 2}\n");
    cr_expect_str_eq(config_property(&config, CLIENT_HOPS, "linger.ms"), "2");
    cr_expect_str_eq(config_property(&config, CLIENT_DELIVERIES, "linger.ms"), "1");
    cr_expect_str_eq(config_property(&config, CLIENT_ALL, "linger.ms"), "1");
    config_deinit(&config);
}

Test(config, a_secret_in_a_file_is_read_and_never_printed)
{
    char text[200], path[64];
    snprintf(path, sizeof path, "/tmp/delaybridge-secret-%d", (int)getpid());
    FILE *file = fopen(path, "w");
    fputs("hunter2\n", file);
    fclose(file);
    snprintf(text, sizeof text, "kafka:\n  sasl.password: {file: %s}\n", path);
    takes(text);
    cr_expect_str_eq(config_property(&config, CLIENT_ALL, "sasl.password"), "hunter2");
    cr_expect(config.kafka[0].secret);
    config_deinit(&config);
    snprintf(text, sizeof text, "kafka:\n  linger.ms: {file: %s}\n", path);
    refuses(text, "linger.ms");
    cr_expect(strstr(error.text, "hunter2") == NULL, "%s", error.text);
    unlink(path);
    refuses(text, "No such file");
}

Test(config, errors_name_file_line_key_and_value)
{
    refuses("targets: [a]\n\nhold: 1x\n", ".yaml:3: hold: \"1x\": not a duration");
    refuses("kafka:\n  linger.ms: soon\n", ".yaml:2: linger.ms: \"soon\"");
    refuses("log:\n  level: loud\n", ".yaml:2: log.level: \"loud\": not one of");
    refuses_flag("--hold=1x", "flag --hold: hold: \"1x\"");
    setenv("DELAYBRIDGE_WORKERS", "many", 1);
    refuses("", "variable DELAYBRIDGE_WORKERS: workers: \"many\": not a number");
}

Test(config, a_refusal_is_one_line_without_control_characters)
{
    refuses("levels: a\n\n  b\n", "not a list");
    cr_expect(strchr(error.text, '\n') == NULL, "%s", error.text);
    refuses("\"a\\e[2Jb\": 1\n", "unknown key");
    cr_expect(strchr(error.text, '\033') == NULL, "%s", error.text);
}

Test(config, unknown_key_is_refused)
{
    refuses("hodl: 1s\n", ".yaml:1: hodl: unknown key");
    refuses("max-delay: 1s\n", "unknown key");
    refuses("log.level: info\n", "log.level: unknown key: in a file it is 'level:' within 'log:'");
    refuses("kafka.hops: {linger.ms: 5}\n", "unknown key: in a file it is 'hops:' within 'kafka:'");
    refuses("log: {colour: red}\n", "log.colour: unknown key");
    refuses("kafka: {linger.msec: 1}\n", "linger.msec");
    refuses("[a]\n", "not a map");
    refuses("hold\n", "not a map");
    refuses("? [a]\n: 1\n", "not a key");
}

Test(config, a_misspelled_key_is_refused_with_the_nearest_one)
{
    refuses("target: [a]", ":1: target: unknown key: did you mean targets?");
    refuses("hodl: 1s", "did you mean hold?");
    refuses("log: {levle: info}", "log.levle: unknown key: did you mean log.level?");
    refuses("bootstrap.servers: a:1", "write Kafka properties within 'kafka:'");
    refuses("retries: {default: {delays: [5s]}}", "retries: unknown key: did you mean retry?");
    refuses("retries: 5", "write Kafka properties within 'kafka:'");
    refuses("colour: red", "'delaybridge help --yaml' shows all");
}

Test(config, a_misspelled_variable_is_reported_with_the_nearest_one)
{
    static char *set[] = {(char *)"DELAYBRIDGE_TARGET=a", (char *)"DELAYBRIDGE_LOG_LEVLE=warn",
                          (char *)"DELAYBRIDGE_KAFKA_LINGER_M=5", NULL};
    environ = set;
    warned[0] = '\0';
    takes("");
    cr_expect(strstr(warned, "DELAYBRIDGE_TARGETS?") != NULL, "%s", warned);
    cr_expect(strstr(warned, "DELAYBRIDGE_LOG_LEVEL?") != NULL, "%s", warned);
    cr_expect(strstr(warned, "did you mean linger.ms?") != NULL, "%s", warned);
    config_deinit(&config);
}

Test(config, a_variable_with_a_property_of_the_java_client_is_refused)
{
    static char *set[] = {(char *)"DELAYBRIDGE_KAFKA_SASL_JAAS_CONFIG=hidden", NULL};
    environ = set;
    refuses("", "librdkafka's is sasl.username");
    cr_expect(strstr(error.text, "hidden") == NULL, "%s", error.text);
}

Test(config, a_property_of_the_java_client_is_refused_with_librdkafkas_name)
{
    refuses("kafka: {ssl.truststore.location: /ca.jks}", "librdkafka's is ssl.ca.location");
    refuses("kafka: {sasl.jaas.config: hidden}", "librdkafka's is sasl.username");
    cr_expect(strstr(error.text, "hidden") == NULL, "%s", error.text);
    refuses("kafka: {ssl.truststore.password: hidden}", "leave it out");
    cr_expect(strstr(error.text, "hidden") == NULL, "%s", error.text);
    refuses("kafka: {key.serializer: a.b.C}", "records are bytes: leave it out");
    refuses("kafka: {max.request.size: 1}", "delaybridge sets it");
    refuses("kafka: {buffer.memory: 1}", "the key memory");
    refuses_flag("-Xdeliveries.partitioner.class=a.b.C", "leave it out");
}

Test(config, a_misspelled_property_is_refused_with_the_nearest_one)
{
    refuses("kafka: {bootstrap.server: a:1}", "no such property: did you mean bootstrap.servers?");
    refuses("kafka: {sasl.mechansim: PLAIN}", "did you mean sasl.mechanism");
    refuses("kafka: {qwertz.uiop: 1}", "librdkafka has no such property");
    cr_expect(strstr(error.text, "did you mean") == NULL, "%s", error.text);
}

Test(config, a_key_that_is_set_twice_is_refused)
{
    refuses("hold: 1s\nslack: 0s\nhold: 2s\n", ".yaml:3: hold: is set twice: first in line 1");
    refuses("kafka: {linger.ms: 1, linger.ms: 2}\n", "twice");
    refuses("log: {level: info, level: warn}\n", "twice");
}

Test(config, yaml_other_than_a_plain_map_is_refused)
{
    refuses("levels: [1s\n", "not YAML");
    refuses("hold: &a 1s\nslack: *a\n", "aliases");
    refuses("hold: 1s\n---\nhold: 2s\n", "second document");
    refuses("hold: [1s]\n", "takes one value");
    refuses("levels: {}\n", "takes a value");
    refuses("hold: {a: b}\n", "takes a value");
    refuses("hold: [1s, 2s]\n", "takes one value");
    refuses("levels: 1s\n", "\"1s\": not a list: write [1s]");
    refuses("levels: [[1s]]\n", "not a plain value");
    refuses("hold:\n", "has no value");
    refuses("kafka: localhost\n", "takes a map");
    refuses("kafka: {linger.ms: [1]}\n", "not a list");
    refuses("kafka: {sasl.password: {path: /x}}\n", "{file: PATH}");
    refuses("kafka: {hops: 1}\n", "takes a map");
    refuses("log: info\n", "takes a map");
}

Test(config, a_value_that_begins_with_a_star_needs_quotes)
{
    refuses("targets: [*]", ":1: a value that begins with * needs quotes: write \"*\"");
    refuses("targets:\n  - *\n", ":2: a value that begins with * needs quotes");
    refuses("targets: [a, *.b]", "a value that begins with * needs quotes");
    refuses("targets: [*orders]", "write \"*orders\"");
    takes("targets: ['*', \"*orders\", payments.*]");
    config_deinit(&config);
}

Test(config, a_value_that_begins_with_a_reserved_character_needs_quotes)
{
    refuses("kafka: {sasl.password: @x}\n", ":1: a value that begins with @ needs quotes");
    refuses("hold: 1s\nschedule: %x\n", ":2: a value that begins with % needs quotes");
    takes("schedule: 'a'\nkafka: {sasl.password: '@x'}\n");
    config_deinit(&config);
}

Test(config, tabs_that_indent_are_named)
{
    static const char SENTENCE[] = ":2: YAML does not allow tabs for indentation: use spaces";
    refuses("kafka:\n\tlinger.ms: 1\n", SENTENCE);
    refuses("kafka: {linger.ms: 1}\n\t# comment\nhold: 1s\n", SENTENCE);
    refuses("schedule: a\n\tb: c\n", SENTENCE);
    refuses("schedule: |\n\ta\n", SENTENCE);
    refuses("targets:\n-\ta\n", SENTENCE);
    takes("hold:\t1s\nkafka: {\n\tlinger.ms: 1}\n");
    config_deinit(&config);
}

Test(config, bytes_that_are_not_text_are_refused_with_their_line)
{
    refuses("hold: 1s\n\n# f\xfcr\n", ":3: not YAML: ");
    refuses("hold: 1s\nschedule: a\x01\n", ":2: not YAML: control characters");
}

Test(config, sizes_have_binary_units)
{
    takes("memory: 1GiB\n");
    cr_expect_eq(config.memory_bytes, 1 << 30);
    config_deinit(&config);
    takes("memory: 33554432\n");
    cr_expect_eq(config.memory_bytes, 32 << 20);
    config_deinit(&config);
    refuses("memory: 256MB\n", "MiB");
    refuses("memory: 256Mi\n", "MiB");
    refuses("memory: -1\n", "not a size");
    refuses("memory: 9999999999TiB\n", "too large");
    refuses("memory: 1B\n", "must be between");
}

Test(config, numbers_have_bounds)
{
    refuses("workers: 0\n", "must be between 1 and");
    refuses("workers: 1.5\n", "not a whole number");
    refuses("max_attempts: 99999999999999999999\n", "not a number");
    refuses("max_delay: 0s\n", "must be between");
    refuses("partitions: ' 8'\n", "not a number");
    refuses("partitions: 4096\n", "must be between 1 and 4095");
}

Test(config, compat_is_a_list_of_formats)
{
    takes("");
    cr_expect_eq(config.compat, 0);
    config_deinit(&config);
    takes("compat: [karafka, etf1]\n");
    cr_expect_eq(config.compat, COMPAT_BIT(COMPAT_KARAFKA) | COMPAT_BIT(COMPAT_ETF1));
    config_deinit(&config);
    takes("compat: [spring, share-dlq]\nretry: {default: {delays: [1s]}}\n");
    cr_expect_eq(config.compat, COMPAT_BIT(COMPAT_SPRING) | COMPAT_BIT(COMPAT_SHARE_DLQ));
    cr_expect_null(config.compat_policy);
    config_deinit(&config);
    takes("compat: [share-dlq=slow]\nretry: {slow: {delays: [1h]}}\n");
    cr_expect_str_eq(config.compat_policy, "slow");
    config_deinit(&config);
    refuses("compat: [share-dlq]\n", "needs the policy 'default' in retry");
    refuses("compat: [share-dlq=x]\nretry: {default: {delays: [1s]}}\n",
            "needs the policy 'x' in retry, or another one: share-dlq=POLICY");
    refuses("compat: [share-dlq=a, share-dlq=b]\nretry: {a: {delays: [1s]}, b: {delays: [1s]}}\n",
            "\"share-dlq=b\": is the second policy, and share-dlq takes one");
    refuses("compat: [etf1=x]\n", "not one of rocketmq");
    refuses("compat: [pulsar]\n", "not one of rocketmq, rabbitmq, etf1, karafka");
    refuses("compat: ['']\n", "not one of rocketmq");
}

Test(config, values_of_other_versions_are_refused)
{
    refuses("delivery: at-most-once\n", "not one of at-least-once, exactly-once");
    refuses("delivery: maybe\n", "not one of");
}

Test(config, admin_api_outside_loopback_needs_a_token)
{
    static const char *const LOCAL[] = {"127.0.0.1:9405", "127.9.9.9:1", "[::1]:9405",
                                        "localhost:9405", ""};
    static const char *const OTHERS[] = {"0.0.0.0:9405", "[::]:9405", "10.0.0.1:9405",
                                         "128.0.0.1:9405", "localhost.example:9405"};
    char text[200];
    for (size_t i = 0; i < sizeof LOCAL / sizeof *LOCAL; i++) {
        snprintf(text, sizeof text, "admin: '%s'\n", LOCAL[i]);
        takes(text);
        config_deinit(&config);
    }
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
        snprintf(text, sizeof text, "group: g\nadmin: '%s'\n", OTHERS[i]);
        refuses(text, ".yaml:2: admin: ");
        refuses(text, "set admin_token");
        snprintf(text, sizeof text, "admin: '%s'\nadmin_token: {file: /etc/t}\n", OTHERS[i]);
        takes(text);
        cr_expect_str_eq(config.admin_token, "/etc/t");
        config_deinit(&config);
    }
}

Test(config, admin_token_is_a_file_and_is_never_quoted)
{
    refuses("admin_token: s3cret\n", "admin_token: takes a map: {file: PATH}");
    cr_expect(strstr(error.text, "s3cret") == NULL, "%s", error.text);
    refuses_flag("--admin-token=s3cret", "admin_token: takes the path of a file");
    cr_expect(strstr(error.text, "s3cret") == NULL, "%s", error.text);
    refuses("admin_token: {path: /x}\n", "admin_token: takes a map: {file: PATH}");
}

Test(config, listen_is_a_host_and_a_port_or_nothing)
{
    static const char *const GOOD[] = {"127.0.0.1:9404", "[::]:9404", "localhost:0", ""};
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        char text[64];
        snprintf(text, sizeof text, "listen: '%s'\n", GOOD[i]);
        takes(text);
        cr_expect_str_eq(config.listen == NULL ? "" : config.listen, GOOD[i]);
        config_deinit(&config);
    }
    refuses("listen: 9404\n", "not HOST:PORT");
    refuses("listen: ':9404'\n", "not HOST:PORT");
    refuses("listen: '::1:9404'\n", "not HOST:PORT");
    refuses("listen: 'localhost:http'\n", "not HOST:PORT");
    refuses("listen: 'localhost:65536'\n", "a port is at most 65535");
}

Test(config, copy_of_live_keys_leaves_all_others)
{
    struct config start, copy;
    takes("targets: [a]\nschedule: first\nhold: 2s\n");
    start = copy = config;
    takes("targets: [b, {topic: c, max_attempts: 2}]\nschedule: second\ndefault_target: "
          "b\nmax_delay: 3d\nhold: 3s\n"
          "retry: {r: {delays: [5s]}}\n");
    cr_assert_eq(config_copy_live(&copy, &config), 0);
    config_deinit(&config);
    cr_expect_str_eq(copy.schedule, "first");
    cr_expect_eq(copy.hold_ms, 2000);
    cr_expect_eq(copy.targets_n, 2);
    cr_expect_str_eq(copy.targets[1], "c");
    cr_expect_eq(copy.target_rules[1].max_attempts, 2);
    cr_expect_str_eq(copy.default_target, "b");
    cr_expect_str_eq(copy.retry[0].name, "r");
    cr_expect_eq(copy.max_delay_ms, INT64_C(3) * 24 * 3600 * 1000);
    config_free_live(&copy);
    config_deinit(&start);
}

/* Returns the value of a key as the admin API shows it. */
static const char *shown(const char *key)
{
    static char text[1000];
    FILE *out = fmemopen(text, sizeof text, "w");
    cr_assert_not_null(out);
    config_show(out, &config, config_key_find(key));
    fclose(out);
    return text;
}

Test(config, shown_values_hide_each_secret)
{
    takes("kafka: {bootstrap.servers: b, sasl.password: s3cret, hops: {linger.ms: 7}}\n"
          "admin_token: {file: /etc/s3cret}\nhold: 2s\nmemory: 2MiB\nworkers: 3\n"
          "levels: [1s, 2h]\ntargets: [a, 'b.*']\nevents: [cancelled, expired]\n"
          "compat: [etf1]\nlog: {level: warn, format: json}\nretry: {r: {delays: [5s, 1m]}}\n"
          "topic_settings: {segment.bytes: default}\nunreadable: skip\n");
    for (size_t i = 0; i < CONFIG_KEYS_N; i++)
        cr_expect(strstr(shown(CONFIG_KEYS[i].name), "s3cret") == NULL, "%s", CONFIG_KEYS[i].name);
    cr_expect_str_eq(shown("kafka"), "{bootstrap.servers: b, sasl.password: (hidden)}");
    cr_expect_str_eq(shown("kafka.hops"), "{linger.ms: 7}");
    cr_expect_str_eq(shown("admin_token"), "(hidden)");
    cr_expect_str_eq(shown("hold"), "2s");
    cr_expect_str_eq(shown("memory"), "2097152");
    cr_expect_str_eq(shown("workers"), "3");
    cr_expect_str_eq(shown("levels"), "[1s, 2h]");
    cr_expect_str_eq(shown("targets"), "[a, b.*]");
    cr_expect_str_eq(shown("events"), "[cancelled, expired]");
    cr_expect_str_eq(shown("compat"), "[etf1]");
    cr_expect_str_eq(shown("log.level"), "warn");
    cr_expect_str_eq(shown("log.format"), "json");
    cr_expect_str_eq(shown("retry"), "{r: {delays: [5s, 1m], jitter: 0}}");
    cr_expect_str_eq(shown("topic_settings"), "{segment.bytes: default}");
    cr_expect_str_eq(shown("unreadable"), "skip");
    cr_expect_str_eq(shown("lost_offsets"), "refuse");
    cr_expect_str_eq(shown("listen"), "127.0.0.1:9404");
    config_deinit(&config);
}

Test(config, exactly_once_needs_a_group_of_printable_ascii)
{
    takes("group: caf\u00e9\n");
    config_deinit(&config);
    refuses("group: caf\u00e9\ndelivery: exactly-once\n", "printable ASCII");
}

static char differences[500];

static void note_difference(void *ctx, const char *key, bool live)
{
    (void)ctx;
    size_t n = strlen(differences);
    snprintf(differences + n, sizeof differences - n, "%s%s ", live ? "+" : "-", key);
}

/* Returns the keys that differ between two files, with + before those that a running service
   applies. */
static const char *difference(const char *before, const char *after)
{
    struct config first;
    differences[0] = '\0';
    takes(before);
    first = config;
    takes(after);
    config_differences(&first, &config, note_difference, NULL);
    config_deinit(&first);
    config_deinit(&config);
    return differences;
}

Test(config, each_key_that_differs_is_reported_with_its_liveness)
{
    static const char *const CASES[][2] = {
        {"kafka: {linger.ms: 7}", "-kafka "},
        {"kafka: {hops: {linger.ms: 7}}", "-kafka.hops "},
        {"group: other", "-group "},
        {"schedule: other", "-group -schedule "},
        {"levels: [1s, 2s]", "-levels "},
        {"retired_levels: [3s]", "-retired_levels "},
        {"targets: [a]", "+targets "},
        {"targets: [{topic: a, max_rate: 5/s}]", "+targets "},
        {"targets: [a]\ndefault_target: a", "+targets +default_target "},
        {"max_delay: 3d", "+max_delay "},
        {"delivery: exactly-once", "-delivery "},
        {"lost_offsets: redeliver", "-lost_offsets "},
        {"unreadable: skip", "-unreadable "},
        {"cancel_on_tombstone: true", "-cancel_on_tombstone "},
        {"compat: [etf1]", "+compat "},
        {"max_attempts: 3", "+max_attempts "},
        {"hold: 2s", "-hold "},
        {"memory: 1GiB", "-memory "},
        {"log: {level: debug, format: json}", "+log.level -log.format "},
        {"workers: 3", "-workers "},
        {"listen: ''", "-listen "},
        {"canary: 10s", "-canary "},
        {"admin: 127.0.0.1:9405", "-admin "},
        {"admin_token: {file: /etc/t}", "-admin_token "},
        {"topic_settings: {segment.bytes: default}", "-topic_settings "},
        {"topic_settings: {segment.ms: 7}", "-topic_settings "},
        {"retry: {a: {delays: [1s]}}", "+retry "},
        {"retry: {a: {delays: [1s]}}\ncompat: [share-dlq=a]\n", "+retry +compat "},
        {"retry: {a: {first: 1s, longest: 1m, attempts: 3, jitter: 0.1}}", "+retry "},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s\n", CASES[i][0]);
        cr_expect_str_eq(difference("", text), CASES[i][1], "%s: %s", CASES[i][0], differences);
        cr_expect_str_eq(difference(text, text), "", "%s: %s", CASES[i][0], differences);
    }
}

static const char * override(const char *name)
{
    const struct topic_override *found = config_topic_override(&config, name);
    return found == NULL ? "absent" : found->value == NULL ? "unset" : found->value;
}

Test(config, topic_settings_is_a_map_whose_empty_values_set_nothing)
{
    takes("topic_settings: {max.message.bytes: 8388608, segment.bytes: default, segment.ms: ,\n"
          "  min.insync.replicas: null, compression.type: '', file.delete.delay.ms: 'default'}\n");
    cr_expect_eq(config.topic_overrides_n, 6);
    cr_expect_str_eq(override("max.message.bytes"), "8388608");
    static const char *const UNSET[] = {"segment.bytes", "segment.ms", "min.insync.replicas",
                                        "compression.type", "file.delete.delay.ms"};
    for (size_t i = 0; i < sizeof UNSET / sizeof *UNSET; i++)
        cr_expect_str_eq(override(UNSET[i]), "unset", "%s", UNSET[i]);
    cr_expect_str_eq(override("segment.index.bytes"), "absent");
    config_deinit(&config);
    takes("topic_settings: {}\n");
    cr_expect_eq(config.topic_overrides_n, 0);
    config_deinit(&config);
}

Test(config, topic_settings_of_flag_variable_and_file_replace_each_other_by_name)
{
    setenv("DELAYBRIDGE_TOPIC_SETTINGS", "b=variable, c=variable", 1);
    cr_assert_eq(load("topic_settings: {a: file, b: file, c: file, d: file}\n",
                      "--topic-settings=c=flag,d=default"),
                 0, "%s", error.text);
    cr_expect_str_eq(override("a"), "file");
    cr_expect_str_eq(override("b"), "variable");
    cr_expect_str_eq(override("c"), "flag");
    cr_expect_str_eq(override("d"), "unset");
    config_deinit(&config);
}

Test(config, topic_settings_cannot_replace_required_properties)
{
    static const char *const FIXED[] = {"cleanup.policy", "retention.ms", "retention.bytes",
                                        "message.timestamp.type"};
    for (size_t i = 0; i < sizeof FIXED / sizeof *FIXED; i++) {
        char text[128];
        snprintf(text, sizeof text, "topic_settings:\n  %s: x\n", FIXED[i]);
        refuses(text, ".yaml:2: ");
        refuses(text, "topic_settings cannot replace it: ");
        snprintf(text, sizeof text, "topic_settings: {%s: default}\n", FIXED[i]);
        refuses(text, FIXED[i]);
        snprintf(text, sizeof text, "--topic-settings=%s=x", FIXED[i]);
        refuses_flag(text, "topic_settings cannot replace it: ");
    }
    refuses("topic_settings: {retention.ms: 1}\n", "records that still wait would be deleted");
}

Test(config, topic_settings_refuses_other_text_than_properties)
{
    refuses("topic_settings: 8388608\n", "takes a map: {segment.bytes: default}");
    refuses("topic_settings: [a=b]\n", "takes a map");
    refuses("topic_settings: {segment.bytes: [1]}\n", "takes one value or default");
    refuses("topic_settings: {a: 1, a: 2}\n", "twice");
    refuses("topic_settings: {'segment bytes': 1}\n", "not a topic property");
    refuses_flag("--topic-settings=segment.bytes", "not NAME=VALUE");
    refuses_flag("--topic-settings==1", "not NAME=VALUE");
    char text[1024] = "topic_settings: {";
    for (int i = 0; i <= TOPIC_OVERRIDES_MAX; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "a%d: 1, ", i);
    strcat(text, "}\n");
    refuses(text, "topic_settings takes 24 at most");
}

Test(config, levels_make_a_sound_ladder)
{
    refuses("levels: []\n", "levels");
    refuses("levels: [5s, 1s]\n", ".yaml:1: levels: level 1s comes after level 5s");
    refuses("levels: [1s, 60s, 1m]\n", "twice");
    refuses("levels: [1m]\n", "raise hold");
    refuses("hold: 100ms\n", ".yaml:1: hold: ");
    refuses("slack: 1s\n", ".yaml:1: slack: ");
}

Test(config, a_retired_level_is_not_written_too)
{
    takes("levels: [1s, 1m]\nretired_levels: [2m, 30s]\n");
    cr_expect_eq(config.retired_n, 2);
    cr_expect_eq(config.retired_ms[1], 30000);
    config_deinit(&config);
    refuses("retired_levels: [60s]\n", ".yaml:1: retired_levels: \"1m\": is in levels as well");
    refuses("retired_levels: [45s, 45s]\n", "twice");
    refuses("retired_levels: [0s]\n", "not a level");
}

Test(config, internal_topics_are_refused_as_targets)
{
    refuses("targets: []\n", "empty");
    refuses("targets: [a b]\n", "\"a b\"");
    refuses("targets: [schedule]\n", "an internal topic");
    refuses("targets: [schedule.1m]\n", "an internal topic");
    refuses("targets: [__consumer_offsets]\n", "an internal topic");
    refuses("targets: [a]\ndefault_target: b\n",
            ".yaml:2: default_target: \"b\": not allowed by targets");
    refuses("default_target: b\n", "targets");
    refuses("targets: ['*']\ndefault_target: schedule.canary\n", "never a target");
    takes("targets: ['b*']\ndefault_target: bc\n");
    config_deinit(&config);
}

Test(config, schedule_is_a_topic_name_with_room_for_its_levels)
{
    char text[300] = "schedule: ";
    refuses("schedule: a/b\n", "not a topic name");
    refuses("schedule: ''\n", "must not be empty");
    refuses("schedule: __a\n", "Kafka");
    memset(text + 10, 'a', 240);
    refuses(text, "too long");
    takes("schedule: my.delays\n");
    cr_expect_str_eq(config.group, "delaybridge.my.delays");
    config_deinit(&config);
}

Test(config, properties_required_for_the_guarantees_are_refused)
{
    static const char *const NAMES[] = {
        "acks",
        "request.required.acks",
        "enable.idempotence",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "isolation.level",
        "auto.offset.reset",
        "partition.assignment.strategy",
        "partitioner",
        "transactional.id",
        "allow.auto.create.topics",
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char text[200];
        snprintf(text, sizeof text, "kafka: {%s: all}\n", NAMES[i]);
        refuses(text, "is set by delaybridge");
        snprintf(text, sizeof text, "kafka: {hops: {%s: all}}\n", NAMES[i]);
        refuses(text, "is set by delaybridge");
    }
    refuses("kafka: {group.id: x}\n", "set the key group instead");
    refuses_flag("-Xacks=1", "flag -X: acks: \"1\"");
}

/* A follower that lags would look like a log that has lost its end. */
Test(config, bridge_reads_from_leaders_only)
{
    static const char REFUSED[] = "client.rack: \"eu-1a\": not supported";
    refuses("kafka: {client.rack: eu-1a}\n", REFUSED);
    refuses("kafka: {intake: {client.rack: eu-1a}}\n", REFUSED);
    refuses("kafka: {levels: {client.rack: eu-1a}}\n", REFUSED);
    refuses_flag("-Xclient.rack=eu-1a", "Remove it");
}

Test(config, target_may_have_a_rate_and_attempts)
{
    takes("targets:\n  - a\n  - {max_rate: 6000/m, topic: 'b.*'}\n  - topic: c\n    max_attempts: "
          "7\n");
    cr_assert_eq(config.targets_n, 3);
    cr_expect_str_eq(config.targets[1], "b.*");
    cr_expect_eq(config.target_rules[0].max_rate.records, 0);
    cr_expect_eq(rate_per_minute(&config.target_rules[1].max_rate), 6000);
    cr_expect_eq(config.target_rules[1].max_attempts, 0);
    cr_expect_eq(config.target_rules[2].max_attempts, 7);
    cr_expect_str_eq(shown("targets"),
                     "[a, {topic: b.*, max_rate: 6000/m}, {topic: c, max_attempts: 7}]");
    config_deinit(&config);
    takes("targets: [{topic: a}, b]\n");
    cr_expect_str_eq(shown("targets"), "[a, b]");
    cr_expect_null(config.target_rules);
    config_deinit(&config);
    refuses("targets:\n  - a\n  - topic: b\n    max_rate: 5/h\n",
            ".yaml:4: targets: b: max_rate: \"5/h\": not a rate, such as 100/s or 6000/m");
    refuses("targets: [{topic: b, max_attempts: 0}]\n",
            ".yaml:1: targets: b: max_attempts: \"0\": must be a number from 1 to ");
    refuses("targets: [{topic: b, max_attempts: 5x}]\n", "max_attempts: \"5x\"");
    refuses("targets: [{topic: b, rate: 5/s}]\n",
            "targets: b: rate: not a field of a target: topic, max_rate, max_attempts");
    refuses("targets:\n  - a\n  - {max_rate: 5/s}\n", ".yaml:3: targets: item 2 has no topic");
    refuses("targets: [{topic: a, topic: b}]\n", "twice");
    refuses("targets: [{topic: [a]}]\n", "targets: topic: takes one value");
    refuses("targets: [[a]]\n", "targets: item 1 is not a topic or a map");
    refuses("targets: ['']\n", "not a topic name");
    refuses("targets: [{topic: a b}]\n", "\"a b\"");
}

Test(config, brokers_and_targets_are_required)
{
    takes("targets: [a]\n");
    cr_expect_eq(config_require_brokers(&config, &error), ERR_CONFIG);
    cr_expect(strstr(error.text, "bootstrap.servers") != NULL, "%s", error.text);
    config_deinit(&config);
    takes("kafka: {bootstrap.servers: 'a:1'}\n");
    cr_expect_eq(config_require_brokers(&config, &error), 0, "%s", error.text);
    cr_expect_eq(config_require_targets(&config, &error), ERR_CONFIG);
    cr_expect(strstr(error.text, "targets") != NULL, "%s", error.text);
    config_deinit(&config);
    takes("kafka: {metadata.broker.list: 'a:1'}\ntargets: [a]\n");
    cr_expect_eq(config_require_targets(&config, &error), 0, "%s", error.text);
    config_deinit(&config);
}

Test(config, a_named_file_must_exist)
{
    int argc = 0;
    cr_expect_eq(config_load(&config, "/nonexistent.yaml", &argc, NULL, warn, &error), ERR_CONFIG);
    cr_expect_str_eq(error.text, "/nonexistent.yaml: No such file or directory");
    cr_expect_eq(config_load(&config, "/tmp", &argc, NULL, warn, &error), ERR_CONFIG);
}

Test(config, the_shipped_file_is_the_printed_one)
{
    char *printed = NULL, shipped[65536];
    size_t printed_n;
    FILE *out = open_memstream(&printed, &printed_n);
    config_print_yaml(out);
    fclose(out);
    FILE *file = fopen("configs/delaybridge.yaml", "r");
    cr_assert_not_null(file);
    shipped[fread(shipped, 1, sizeof shipped - 1, file)] = '\0';
    fclose(file);
    cr_expect_str_eq(shipped, printed,
                     "fixed by: delaybridge help --yaml > configs/delaybridge.yaml");
    free(printed);
}

Test(config, the_shipped_files_are_accepted_and_the_full_one_has_the_defaults)
{
    static const char *const FILES[] = {"configs/delaybridge.yaml", "configs/minimal.yaml",
                                        "configs/long-delays.yaml"};
    for (int i = 0; i < 3; i++) {
        int argc = 0;
        cr_assert_eq(config_load(&config, FILES[i], &argc, NULL, warn, &error), 0, "%s",
                     error.text);
        config_deinit(&config);
    }
    struct config defaults;
    int argc = 0;
    cr_assert_eq(config_load(&defaults, "/dev/null", &argc, NULL, warn, &error), 0);
    cr_assert_eq(config_load(&config, FILES[0], &argc, NULL, warn, &error), 0);
    cr_expect_arr_eq(config.ladder.level_ms, defaults.ladder.level_ms,
                     sizeof defaults.ladder.level_ms);
    cr_expect_eq(config.ladder.n, defaults.ladder.n);
    cr_expect_eq(config.ladder.hold_ms, defaults.ladder.hold_ms);
    cr_expect_eq(config.ladder.slack_ms, defaults.ladder.slack_ms);
    cr_expect_eq(config.max_delay_ms, defaults.max_delay_ms);
    cr_expect_eq(config.memory_bytes, defaults.memory_bytes);
    cr_expect_eq(config.max_attempts, defaults.max_attempts);
    cr_expect_eq(config.workers, defaults.workers);
    cr_expect_str_eq(config.group, defaults.group);
    config_deinit(&defaults);
    config_deinit(&config);
}

static const struct retry_policy *policy(const char *name)
{
    const struct retry_policy *found = retry_find(config.retry, config.retry_n, bytes_text(name));
    cr_assert_not_null(found, "no policy %s", name);
    return found;
}

Test(config, retry_policy_is_a_list_of_delays_or_a_series)
{
    takes("retry:\n"
          "  default: {delays: [5s, 30s, 2m], jitter: 0.2, deadline: 1d}\n"
          "  fast: {first: 200ms, factor: 1.5, longest: 1m, attempts: 10}\n"
          "  doubled: {first: 1s, longest: 1h, attempts: 65535}\n");
    cr_expect_eq(config.retry_n, 3);
    cr_expect_eq(policy("default")->delays_n, 3);
    cr_expect_eq(policy("default")->delays_ms[2], 120000);
    cr_expect_eq(policy("default")->jitter, 0.2);
    cr_expect_eq(policy("default")->deadline_ms, 24 * 3600 * 1000);
    cr_expect_eq(policy("fast")->first_ms, 200);
    cr_expect_eq(policy("fast")->factor, 1.5);
    cr_expect_eq(policy("fast")->longest_ms, 60000);
    cr_expect_eq(policy("fast")->attempts, 10);
    cr_expect_eq(policy("fast")->delays_n, 0);
    cr_expect_eq(policy("doubled")->factor, 2);
    config_deinit(&config);
}

Test(config, retry_fields_of_flag_variable_and_file_replace_each_other)
{
    setenv("DELAYBRIDGE_RETRY", "a.jitter=0.5, b.delays=1s 2s", 1);
    cr_assert_eq(load("retry: {a: {delays: [1s], jitter: 0.1}}\n", "--retry=a.delays=3s 4s 5s"), 0,
                 "%s", error.text);
    cr_expect_eq(policy("a")->delays_n, 3);
    cr_expect_eq(policy("a")->delays_ms[0], 3000);
    cr_expect_eq(policy("a")->jitter, 0.5);
    cr_expect_eq(policy("b")->delays_n, 2);
    config_deinit(&config);
}

Test(config, wrong_retry_policy_names_its_line_and_field)
{
    static const char *const CASES[][2] = {
        {"retry: x\n", "takes a map"},
        {"retry: {a: {}}\n", "retry: a: is empty"},
        {"retry:\n  a: 5s\n", ".yaml:2: retry: a: takes a map"},
        {"retry: {a: {jitter: 0.5}}\n", "\"a\": has no waits"},
        {"retry:\n  a:\n    delays: [5s, soon]\n",
         ".yaml:3: retry: a.delays: \"soon\": not a duration"},
        {"retry: {a: {delays: []}}\n", "retry: a.delays: takes a list of 1 to 64"},
        {"retry: {a: {delays: [0s]}}\n", "not a duration above 0s"},
        {"retry: {a: {delays: [1s], attempts: 3}}\n", "has delays and a series"},
        {"retry:\n  a: {delays: [1s]}\n  b:\n    first: 1s\n    jitter: 0\n  c: {delays: [1s]}\n",
         ".yaml:5: retry: \"b\": lacks a part"},
        {"retry: {a: {first: 1s}}\n", "lacks a part"},
        {"retry: {a: {delays: [1s, 41d]}}\n", "\"a\": has a wait above max_delay"},
        {"retry: {a: {first: 1s, longest: 2h, attempts: 3}}\nmax_delay: 1h\n",
         "has a wait above max_delay"},
        {"retry: {a: {first: 2s, longest: 1s, attempts: 3}}\n", "longest wait below its first"},
        {"retry: {a: {delays: [1s], jitter: 1.5}}\n",
         "a.jitter: \"1.5\": must be a number from 0 to 1"},
        {"retry: {a: {delays: [1s], jitter: nan}}\n", "must be a number from 0 to 1"},
        {"retry: {a: {first: 1s, longest: 1m, attempts: 2.5}}\n", "must be a whole number"},
        {"retry: {a: {first: 1s, longest: 1m, attempts: 65536}}\n",
         "must be a number from 1 to 65535"},
        {"retry: {a: {first: [1s, 2s], longest: 1m, attempts: 3}}\n",
         "takes one value, not a list"},
        {"retry: {a: {backoff: 1s}}\n",
         "retry: a.backoff: not a field of a retry policy: delays, first"},
        {"retry: {a b: {delays: [1s]}}\n", "a policy's name has letters, digits"},
        {"retry: {a: {delays: [1s], delays: [2s]}}\n", "is set twice"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        refuses(CASES[i][0], CASES[i][1]);
    refuses_flag("--retry=fast", "not POLICY.FIELD=VALUE");
    refuses_flag("--retry=delays=5s", "not a field of a retry policy");
    refuses_flag("--retry=a.first=5s", "flag --retry: retry: \"a\": lacks a part");
}
