/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge send: one request from options, or many from JSON lines on stdin. */
#include "bridge/commands/result.h"
#include "bridge/commands/sending.h"

#include <inttypes.h>
#include <stdio.h>

static void print_place(void *ctx, const struct sent *sent)
{
    const struct cli *cli = ctx;
    const char *schedule = cli->config->schedule;
    if (!cli->json) {
        printf("%s/%d/%" PRId64 "\n", schedule, sent->lane, sent->offset);
        return;
    }
    give_json(cli, json_pack("{s:s, s:i, s:I, s:o}", "topic", schedule, "partition", sent->lane,
                             "offset", (json_int_t)sent->offset, "line",
                             sent->line > 0 ? json_integer(sent->line) : json_null()));
}

int cmd_send(struct cli *cli)
{
    struct sending sending = {.cli = cli, .stored = print_place, .ctx = cli};
    int code = sending_open(&sending);
    if (code == EXIT_DONE)
        code = sending_run(&sending);
    sending_close(&sending);
    return code;
}
