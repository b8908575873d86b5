/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands. */
#include "bridge/commands/command.h"

#include <string.h>

const struct command COMMANDS[] = {
    {"run", "", "run the bridge until SIGTERM",
     "Checks the topics, joins the group and serves the lanes it is given. Waits for a Kafka that "
     "is not\nthere yet. SIGTERM or SIGINT drains and exits 0; a second one ends at once.\n",
     NEEDS_TARGETS, cmd_run},
    {"check", "", "check the configuration and the topics; every finding says what to do",
     "Exits 78 if the bridge would refuse to start, or if requests would fail or be lost: a target "
     "that\ndoes not exist, a setting of a topic that makes brokers refuse or delete records.\n",
     NEEDS_TARGETS, cmd_check},
    {"topics", "plan | apply [--fewer-replicas]", "show or make what the bridge's own topics lack",
     "plan changes nothing and exits 78 if there is something to do: a table of topics with "
     "partitions,\nreplicas and settings.\n"
     "  --fewer-replicas   make topics although fewer brokers are alive than 'replication' says\n",
     NEEDS_BROKERS, cmd_topics},
    {"send", "[--delay D | --at T] [OPTIONS]", "send a request, or one for each line of JSON",
     "  --delay 15m | --at 2026-11-21T08:00:00Z   when\n"
     "  --target TOPIC    where to; default_target if left out\n"
     "  --key KEY         its key\n"
     "  --id NAME         its name\n"
     "  --expires-at T    not to be delivered after this\n"
     "  --header K=V      a business header; repeat it for more\n"
     "  --value S | @FILE its value; without it a tombstone\n"
     "Without any of these it reads JSON lines from stdin: {\"delay\": \"15m\", \"target\": …,\n"
     "\"key\": …, \"id\": …, \"expires-at\": …, \"headers\": {…} or [[name, value], …], "
     "\"value\": …}; bytes as\n{\"base64\": …}, a tombstone as null. Prints partition and offset "
     "of each.\n",
     NEEDS_TARGETS, cmd_send},
    {"levels", "[--lanes] [--watch]", "what waits in each level, and what is overdue",
     "  --lanes   a line for each lane\n  --watch   again every two seconds\n", NEEDS_BROKERS,
     cmd_levels},
    {"peek", "LEVEL [LANE] [--limit N]", "look at what waits in a level, opened",
     "Shows the first N (20) records that are not done: due, remaining, hops, id, target, "
     "headers, key, value.\n",
     NEEDS_BROKERS, cmd_peek},
    {"skip", "TOPIC/PARTITION/BASE-NEXT", "give up a batch that cannot be read",
     "Takes what the log names when a partition is held at a batch. Refuses any other range. "
     "Writes a dead letter\nthat names the range; a running bridge then continues at NEXT.\n",
     NEEDS_BROKERS, cmd_skip},
    {"top", "[HOST:PORT...] [--once] [--every D]", "running services at a glance, again and again",
     "Reads /metrics of the addresses (else of listen) and adds them up: what waits in each level, "
     "when\nits first record leaves, hops and deliveries a second, lateness since the last look.\n"
     "  --once      once, over a second\n  --every D   how often (1s)\n",
     NEEDS_CONFIG, cmd_top},
    {"size", "--rate N --delay D [--payload N] [--headers N]",
     "what a load needs: brokers' disk and traffic, lanes, workers, memory",
     "  --rate N      requests a second: 300, 20k, 1.5M\n"
     "  --delay D     the usual delay\n"
     "  --payload N   bytes of key and value (1000)\n"
     "  --headers N   bytes of the business headers (100)\n"
     "Counts with levels, replication, partitions and memory as configured.\n",
     NEEDS_CONFIG, cmd_size},
    {"explain", "DELAY", "the chain of levels that a delay takes", "", NEEDS_CONFIG, cmd_explain},
    {"demo", "[--no-tty] [--seconds N]", "see it work: a broker in memory, requests, deliveries",
     "  --no-tty      lines instead of a picture\n"
     "  --seconds N   how long it sends and receives (30)\n",
     NEEDS_NOTHING, cmd_demo},
    {"version", "", "versions of the bridge and of librdkafka", "", NEEDS_NOTHING, cmd_version},
    {"help", "[COMMAND | --yaml | --metrics | --man | --completion SHELL]",
     "this, or one command's options, or what else the tables hold",
     "  --yaml               a commented configuration with every key\n"
     "  --metrics            every metric: name, type, labels, what it is\n"
     "  --man                the manual page\n"
     "  --completion SHELL   for bash or zsh\n",
     NEEDS_NOTHING, cmd_help},
    {NULL, NULL, NULL, NULL, NEEDS_NOTHING, NULL},
};

const struct command *command_find(const char *name)
{
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}
