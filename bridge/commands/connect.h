/* SPDX-License-Identifier: Apache-2.0 */
/* connect: a Kafka handle on which a broker has answered. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CONNECT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CONNECT_H

#include "bridge/commands/command.h"
#include "levels/err.h"

#include <librdkafka/rdkafka.h>

/* A handle after some broker has answered on it; the caller destroys it. conf: NULL, or one made by
   client_conf, which is consumed. Returns EXIT_DONE, or what to exit with after the reason was
   printed. */
int connect_kafka(const struct cli *cli, rd_kafka_type_t type, rd_kafka_conf_t *conf,
                  rd_kafka_t **rk) must_check;

/* The same with a consumer for looking (offsets_conf). */
int connect_to_look(const struct cli *cli, rd_kafka_t **rk) must_check;

#endif
