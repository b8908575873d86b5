/* SPDX-License-Identifier: Apache-2.0 */
/* result: how commands print results and errors, as text or by the JSON contract (docs/json.md). */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_RESULT_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_RESULT_H

#include "bridge/commands/command.h"
#include "levels/bytes.h"

#include <jansson.h>

/* Prints a sentence to stderr: "delaybridge: SENTENCE", or an error object with -o json. With
   cli->output it goes there. With EXIT_DONE it is a warning. Returns code. */
__attribute__((format(printf, 3, 4))) int complain(const struct cli *cli, int code,
                                                   const char *format, ...);

/* Prints one line of JSON to stdout; takes the reference. */
void print_json(json_t *value);

/* Gives one result to cli->output, or prints it. Takes the reference. For the commands that the
   admin API runs. */
void give_json(const struct cli *cli, json_t *value);

/* Returns an instant in RFC 3339, UTC, with milliseconds. */
json_t *instant_json(int64_t wall_ms);

/* Returns a string, {"base64": ...} if the bytes are not UTF-8, or null. */
json_t *bytes_json(struct bytes bytes);

/* Prints bytes to stdout in quotes, at most 400 of them, or "null". Escapes bytes that could
   control a terminal. */
void print_bytes(struct bytes bytes);

#endif
