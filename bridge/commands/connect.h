/* SPDX-License-Identifier: Apache-2.0 */
/* connect: a Kafka handle on which a broker has answered. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CONNECT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CONNECT_H

#include "bridge/commands/command.h"
#include "consumer/admin/dead_reader.h"
#include "consumer/client/writing.h"
#include "levels/err.h"

#include <librdkafka/rdkafka.h>

/* Creates a handle and waits until a broker has answered; the caller destroys it. conf: NULL, or
   one from client_conf, which is consumed. Returns EXIT_DONE, or an exit code after it has printed
   the reason. */
int connect_kafka(const struct cli *cli, rd_kafka_type_t type, rd_kafka_conf_t *conf,
                  rd_kafka_t **rk) must_check;

/* Does the same for a consumer that reads topics without changing the group (offsets_conf). */
int connect_to_look(const struct cli *cli, rd_kafka_t **rk) must_check;
/* Destroys such a consumer, or keeps it in cli->output for the next command. works: it has just
   answered. */
void disconnect(const struct cli *cli, rd_kafka_t *rk, bool works);

/* Does the same for a producer of requests. Its partitioner keeps records with equal keys in one
   lane, all replicas must acknowledge, and --timeout bounds each record. Checks that the schedule
   topic exists. reported: called with ctx for each record. The caller destroys *rk, if it is not
   NULL, in any case. */
int connect_to_send(const struct cli *cli,
                    void (*reported)(rd_kafka_t *rk, const rd_kafka_message_t *message, void *ctx),
                    void *ctx, rd_kafka_t **rk) must_check;

/* Creates the producer of writing, whose topic is set. Returns EXIT_DONE, or an exit code
   after it has printed the reason. After EXIT_DONE the caller calls connect_written. */
int connect_to_write(const struct cli *cli, struct writing *writing) must_check;

/* Destroys the producer. Returns EXIT_DONE if the record was acknowledged. Otherwise prints the
   reason: EXIT_PARTIAL if it is stored or not, and the command can be repeated. */
int connect_written(const struct cli *cli, struct writing *writing);

/* Sets *partitions to the number of partitions of a topic, 0 if it does not exist or cannot be
   seen. Returns EXIT_DONE, or an exit code after it has printed the reason. */
int connect_topic(const struct cli *cli, rd_kafka_t *rk, const char *topic,
                  int *partitions) must_check;

/* Sets *lanes to the number of partitions of the schedule topic. Returns EXIT_DONE, or an exit code
   after it has printed that the topic does not exist, or cannot be seen. */
int connect_lanes(const struct cli *cli, rd_kafka_t *rk, int *lanes) must_check;

/* Returns the exit code for a record that was not stored, and sets its sentence. After a fatal
   error, the client only reports that it has failed or purged the record, so this gets the original
   error. */
int connect_exit_of(rd_kafka_t *rk, rd_kafka_resp_err_t code, struct error *error);

/* Creates the handle of reader and opens it. group: NULL, or the group from whose progress it
   resumes. reader starts with spot set; the caller calls dead_reader_deinit in any case. */
int connect_to_dead_letters(const struct cli *cli, const char *group,
                            struct dead_reader *reader) must_check;

#endif
