/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands. */
#include "bridge/commands/command.h"
#include "bridge/commands/command_options.h"

#include <string.h>

enum { ADDRESSES_MAX = 64 };

const struct command COMMANDS[] = {
    {"run", "", 0, 0, NULL, RUN_OPTIONS, "run the bridge until SIGTERM",
     "Checks the topics, joins the consumer group and serves its assigned lanes. If Kafka is not\n"
     "reachable, it waits. With --wait-for-topics it also waits for the bridge's own topics, if "
     "they\n"
     "are missing or unsafe, and exits 78 after this time. On SIGTERM or SIGINT it finishes the\n"
     "records in flight and exits 0. A second signal ends it immediately. On SIGHUP it reads the\n"
     "configuration again. One that a start would refuse changes nothing.\n",
     NEEDS_TARGETS, cmd_run},
    {"check", "", 0, 0, NULL, CHECK_OPTIONS, "check the configuration and the topics",
     "Each finding names its fix. Exits 78 if 'run' would refuse to start, or if requests would "
     "fail\nor get lost. For example, a target does not exist, or topic settings make brokers "
     "refuse or\ndelete records. --sample needs Read on the schedule topic. It finds keys in "
     "another "
     "partition than\nmurmur2 computes, which is a warning, and cancels without a key.\n",
     NEEDS_TARGETS, cmd_check},
    {"topics", "plan|apply", 1, 1, "plan|apply", TOPICS_OPTIONS,
     "compare (plan) or fix (apply) Delaybridge's own topics",
     "plan prints the changes that apply would make, with partitions, replicas and settings. It "
     "changes\nnothing, and exits 78 if a change is necessary. apply waits until every broker "
     "shows "
     "its\nchanges, and prints its progress to stderr. It gives up when no partition has become "
     "ready for six\ntimes --timeout.\n",
     NEEDS_BROKERS, cmd_topics},
    {"send", "", 0, 0, NULL, SEND_OPTIONS,
     "send one request, or one for each line of JSON on stdin",
     "Give --delay, --at or --retry-policy. Without any of these options, the command reads one "
     "JSON object "
     "a line\nfrom stdin, with the same names:\n"
     "  {\"delay\": \"15m\", \"target\": …, \"key\": …, \"id\": …, \"expires-at\": …, \"spread\": "
     "…,\n"
     "   \"headers\": {…} or [[name, value], …], \"value\": …}\n"
     "\"at\" or \"retry-policy\" replaces \"delay\". Write bytes as {\"base64\": …}. A value of "
     "null is a "
     "tombstone.\nPrints topic, partition and offset of each request.\n",
     NEEDS_TARGETS, cmd_send},
    {"cancel", "", 0, 0, NULL, CANCEL_OPTIONS,
     "cancel a request, or one for each line of JSON on stdin",
     "Cancels every request with the same name that stands before it in its partition and is not\n"
     "delivered yet. The name is the identifier of the request (--id), or else its key. The key "
     "is\n"
     "always necessary, because it decides the partition. Without --key and --id, the command "
     "reads\n"
     "one JSON object a line from stdin: {\"key\": …, \"id\": …}.\n"
     "Prints topic, partition and offset of each cancel. With --wait, it also prints the answer:\n"
     "  in force since T   no request of this name that is due later than T + 1 s is delivered\n"
     "  refused            with the reason; exits 65\n"
     "  unanswered         no process has applied it yet; it takes effect when one does; exits 75\n"
     "--all-lanes reaches requests in other partitions: those older than added partitions, and "
     "those\n"
     "of producers whose partitioner is not murmur2 ('delaybridge check --sample' finds them).\n",
     NEEDS_BROKERS, cmd_cancel},
    {"replace", "", 0, 0, NULL, REPLACE_OPTIONS,
     "cancel a request and send another one of the same name",
     "Takes the same options and lines as 'delaybridge send'. It cancels as 'delaybridge cancel'\n"
     "does, and its new request is not voided by itself. If the command refuses it, it is not\n"
     "written and cancels nothing. If only the bridge refuses its target, it still cancels.\n",
     NEEDS_TARGETS, cmd_replace},
    {"levels", "", 0, 0, NULL, LEVELS_OPTIONS,
     "show how many records wait in each level, and whether the first is overdue",
     "The first line has the requests that are not read yet (backlog), and those that wait in "
     "memory.\nOne in memory counts as backlog until a later one of its lane is done.\nThe head of "
     "a level is the record that leaves first, to another level or to its "
     "target.\n"
     "  WAITING      records that are not done, those in memory included\n"
     "  HEAD LEAVES  when the head leaves its level at the latest\n"
     "  HEAD DUE     when the delivery of the head is due\n"
     "  OVERDUE      time since the head should have left\n"
     "  WITHHELD     records whose target is paused or limited\n"
     "  REDELIVERING records whose target failed, and how long the oldest is overdue\n"
     "  COMMITTED    with --lanes: the committed offset of the lane\n"
     "Kafka shows how many cancels can be in force at most. The processes know how many are, and "
     "which\nlanes read them again: use 'delaybridge top'.\n",
     NEEDS_BROKERS, cmd_levels},
    {"peek", "LEVEL [LANE]", 1, 2, NULL, PEEK_OPTIONS, "show the first records of a level, decoded",
     "Shows records that are not processed yet, from all lanes or from LANE. Each has due time, "
     "levels to\ncome, target, id, key, headers and value, and failed attempts with the last "
     "error. "
     "'delaybridge\nlevels' lists the levels.\n",
     NEEDS_BROKERS, cmd_peek},
    {"find", "", 0, 0, NULL, FIND_OPTIONS, "find out where a request is",
     "Give --id, --key or --source. The answer is waiting, delivered, dead-lettered or cancelled, "
     "with the\nplace of the record. All other states are searched only if no such record waits. A "
     "cancelled request\nis found by its cancel, while that is in force or on the schedule topic. "
     "With 'events', an event of\nthe end of a request is an answer, too. There is no index. "
     "--source limits the search to one lane.\n--key does so if the request is in the lane that "
     "murmur2 computes. All lanes are searched otherwise,\nand a note names the lane of the "
     "request. --due, --sent and --source limit the search to a range of\neach level. --id alone "
     "reads all waiting records. A record counts as waiting until its progress is\ncommitted. "
     "Exits 1 if there is no such record.\n",
     NEEDS_BROKERS, cmd_find},
    {"events", "", 0, 0, NULL, EVENTS_OPTIONS, "show the events of one request",
     "Reads the topic of events, which the bridge writes if 'events' is set. A source names "
     "one\npartition, and so does a key if events of the request are in it. Otherwise all are "
     "read. Exits 1 if\nthere is no event of this request.\n",
     NEEDS_BROKERS, cmd_events},
    {"forecast", "", 0, 0, NULL, FORECAST_OPTIONS, "show how many records leave each level soon",
     "Counts the waiting records that leave each level, to another level or to their target. "
     "Reads\n"
     "offsets only, so the number of waiting records does not matter. --deliveries reads one "
     "record "
     "in a\nhundred, at least 1,000 of each level. It warns of an instant with more than 10,000 "
     "deliveries.\n",
     NEEDS_BROKERS, cmd_forecast},
    {"skip", "TOPIC/PARTITION/BASE-NEXT", 1, 1, NULL, NO_OPTIONS,
     "skip a batch that cannot be read",
     "A batch that cannot be read blocks its partition. The log and 'delaybridge check' name its "
     "range:\nBASE is the first offset of the batch, NEXT the offset after its last record. Any "
     "other range is\nrefused. The command writes the range to the dead-letter topic, and a "
     "running bridge continues at\nNEXT.\n",
     NEEDS_BROKERS, cmd_skip},
    {"pause", "TARGETS", 1, 1, NULL, CONTROL_OPTIONS, "stop deliveries to targets for a while",
     "TARGETS is a topic or a pattern with *, as in 'targets'. All processes stop within a second, "
     "and\nprocesses that start later do not deliver either. A due record returns to a level for a "
     "quarter of\nthe time since the pause began, 10 minutes at most. It uses up no attempt, can "
     "be "
     "cancelled, and\nexpires at its time. Replaces the entry with the same TARGETS.\n",
     NEEDS_BROKERS, cmd_pause},
    {"resume", "TARGETS", 1, 1, NULL, NO_OPTIONS, "end a pause or a limit of targets",
     "Removes the entry with exactly these TARGETS, prints when waiting records come, and lists "
     "other\nentries that match some of them. After a limit, a record comes when it leaves its "
     "level, no later\nthan with the limit. Exits 1 if there is no such entry.\n",
     NEEDS_BROKERS, cmd_resume},
    {"limit", "TARGETS RATE", 2, 2, NULL, CONTROL_OPTIONS,
     "limit the rate of deliveries to targets",
     "RATE is 100/s or 6000/m, for each target that matches, over all processes; none ends the\n"
     "limit. The lanes share the rate equally, and a worker sends the shares of its lanes. So a\n"
     "target that few lanes feed gets less. A record over the limit returns to a level once,\n"
     "until its turn. If several limits match, the one with the most characters before its first\n"
     "* counts. A pause comes before a limit. Replaces the entry with the same TARGETS.\n",
     NEEDS_BROKERS, cmd_limit},
    {"dead-letters", "", 0, 0, NULL, DEAD_LETTERS_OPTIONS,
     "count the records of the dead-letter topic by code and target, and show them",
     "Reads the whole topic up to its end. Without options it counts all records.\n", NEEDS_BROKERS,
     cmd_dead_letters},
    {"redrive", "", 0, 0, NULL, REDRIVE_OPTIONS, "send dead-lettered requests again",
     "Sends the selected records to the schedule topic, without the headers that the bridge added. "
     "If a\nrequest has a dlb-delay, exactly one of --keep-due and --restart-delay is necessary. A "
     "record that\nlacks a part (dlb-truncated) is read again at its dlb-source. Lists and skips "
     "records that are no\nrequests, that are gone or expired, or that the bridge would refuse "
     "again.\nProgress is kept in the group GROUP.redrive.HASH, with a hash of --code, --target, "
     "--since and\n--until. A second run with the same filters continues, also with other options. "
     "A run with other\nfilters may send the same record again. The next run does not read skipped "
     "records again: select\nthem with other filters. Records that are dead-lettered after the "
     "start are left for the next run.\nKafka forgets the progress of a group that is not used for "
     "offsets.retention.minutes (7 days).\nProgress is committed after requests are acknowledged. "
     "If the process is killed, no request is lost,\nand at most the last 1,000 are sent twice. Do "
     "not run it twice at a time with the same filters.\n",
     NEEDS_TARGETS, cmd_redrive},
    {"top", "[HOST:PORT...]", 0, ADDRESSES_MAX, NULL, TOP_OPTIONS, "show running processes live",
     "Reads /metrics of each address and shows the sums. Without one, it reads those of all "
     "processes of\nthe group, as the topic of control has them, or else 'listen'. It then reads "
     "a sample of the waiting\nrecords, too, and shows the deliveries of the next hour. Alerts "
     "name "
     "their section of\ntroubleshooting.md. Lateness is that of the deliveries since the last "
     "update. Lanes that are\nRESTORING read their cancels and forward nothing.\n",
     NEEDS_CONFIG, cmd_top},
    {"size", "", 0, 0, NULL, SIZE_OPTIONS, "estimate the resources that a load needs",
     "Estimates disk and traffic of the brokers, and lanes, workers and memory of the bridge. "
     "Uses the\nconfigured levels, hold, replication, partitions, memory, cancel_memory and "
     "workers. Give --rate and\n--delay, or --mix. All figures but hops are those without room "
     "in memory for a rest of at most hold.\n",
     NEEDS_CONFIG, cmd_size},
    {"explain", "DELAY", 1, 1, NULL, NO_OPTIONS,
     "show the levels that a delay passes, and their cost", "", NEEDS_CONFIG, cmd_explain},
    {"demo", "", 0, 0, NULL, DEMO_OPTIONS, "watch requests and deliveries, with a broker in memory",
     "", NEEDS_NOTHING, cmd_demo},
    {"dev", "", 0, 0, NULL, DEV_OPTIONS,
     "run bridge and broker in one process, to test applications",
     "The broker is in memory. It serves producers, consumers and the admin API until SIGTERM or\n"
     "SIGINT. Prints one line when requests are accepted. Without 'targets' every topic is "
     "allowed.\n"
     "Only at-least-once: the broker has no transactions.\n",
     NEEDS_CONFIG, cmd_dev},
    {"version", "", 0, 0, NULL, NO_OPTIONS, "print the versions of the bridge and of librdkafka",
     "", NEEDS_NOTHING, cmd_version},
    {"help", "[COMMAND]", 0, 1, NULL, HELP_OPTIONS,
     "show help, the default configuration, metrics, man page or completions", "", NEEDS_NOTHING,
     cmd_help},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NEEDS_NOTHING, NULL},
};

const struct command *command_find(const char *name)
{
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}
