/* SPDX-License-Identifier: Apache-2.0 */
/* connect: a Kafka handle on which a broker has answered. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CONNECT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CONNECT_H

#include "bridge/commands/command.h"
#include "levels/err.h"

#include <librdkafka/rdkafka.h>

/* Creates a handle and waits until a broker has answered; the caller destroys it. conf: NULL, or
   one from client_conf, which is consumed. Returns EXIT_DONE, or an exit code after it has printed
   the reason. */
int connect_kafka(const struct cli *cli, rd_kafka_type_t type, rd_kafka_conf_t *conf,
                  rd_kafka_t **rk) must_check;

/* Does the same for a consumer that reads topics without changing the group (offsets_conf). */
int connect_to_look(const struct cli *cli, rd_kafka_t **rk) must_check;

#endif
