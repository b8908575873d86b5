/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the group has a coordinator. Brokers create the topic of the groups at the first
   query for one. If they cannot, they answer each query as if the coordinator were only away, and
   the client tries again without an error. */
#include "consumer/admin/committed.h"
#include "consumer/admin/offsets.h"
#include "consumer/admin/topics_survey.h"
#include "consumer/client/client.h"

/* The coordinators' topic; the findings name it. */
#define GROUPS_TOPIC   "__consumer_offsets"
#define NO_COORDINATOR "the group has no coordinator, so no process gets lanes: "

static rd_kafka_t *make_reader(const struct config *config)
{
    struct error error;
    rd_kafka_conf_t *conf = client_conf(config, CLIENT_ALL, &error);
    if (conf == NULL)
        return NULL;
    offsets_conf(config, conf);
    return client_new(RD_KAFKA_CONSUMER, conf, &error);
}

/* Looks the topic of the groups up. Returns the error of the call or of the topic, or that of its
   first partition without a leader. */
static rd_kafka_resp_err_t look_up(rd_kafka_t *rk, int timeout_ms)
{
    const struct rd_kafka_metadata *seen;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, GROUPS_TOPIC, NULL);
    rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 0, topic, &seen, timeout_ms);
    rd_kafka_topic_destroy(topic);
    if (code != 0)
        return code;
    code = seen->topic_cnt == 1 ? seen->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    for (int i = 0; code == 0 && i < seen->topics[0].partition_cnt; i++)
        code = seen->topics[0].partitions[i].err;
    rd_kafka_metadata_destroy(seen);
    return code;
}

/* topic: the result of look_up. query: the error of the last query. */
static void judge(rd_kafka_resp_err_t topic, rd_kafka_resp_err_t query, struct findings *findings)
{
    switch ((int)topic) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
        finding_add(findings, FINDING_FAULT, GROUPS_TOPIC, NULL,
                    NO_COORDINATOR
                    "topic " GROUPS_TOPIC
                    " does not exist, or this login may not describe it. Brokers create it at the "
                    "first use of a group. If a policy for new topics refuses it, allow it there. "
                    "For any other reason, read the log of the controller");
        break;
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
        finding_add(findings, FINDING_FAULT, GROUPS_TOPIC, NULL,
                    NO_COORDINATOR
                    "partitions of topic " GROUPS_TOPIC
                    " have no leader. Start their brokers; 'kafka-topics.sh --describe "
                    "--unavailable-partitions' lists them");
        break;
    default:
        finding_add(findings, FINDING_FAULT, GROUPS_TOPIC, NULL,
                    NO_COORDINATOR
                    "no broker answered a query for the group's offsets in time (%s). Look for its "
                    "reason in the logs of the brokers",
                    rd_kafka_err2str(query));
    }
}

static rd_kafka_resp_err_t ask(rd_kafka_t *rk, const struct config *config, int timeout_ms)
{
    char pulse[TOPIC_TEXT_MAX];
    rd_kafka_topic_partition_list_t *one = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(one, topic_of_pulse(config->schedule, pulse), 0);
    rd_kafka_resp_err_t code = committed_read(rk, one, timeout_ms);
    rd_kafka_topic_partition_list_destroy(one);
    return code;
}

/* Returns whether no coordinator answered. A login that commands use need not have rights on the
   group, so a refusal does not count. A member logs it. */
static bool is_away(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR__WAIT_COORD ||
           code == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE;
}

bool group_check(const struct config *config, int timeout_ms, struct findings *findings)
{
    rd_kafka_t *rk = make_reader(config);
    if (rk == NULL)
        return false; /* the other checks report it */
    rd_kafka_resp_err_t code = ask(rk, config, timeout_ms), topic = 0;
    if (is_away(code))
        topic = look_up(rk, timeout_ms);
    /* The first query has just created the topic, perhaps on slow brokers. */
    if (is_away(code) && topic == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = ask(rk, config, timeout_ms);
    if (is_away(code))
        judge(topic, code, findings);
    rd_kafka_destroy(rk);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR;
}
