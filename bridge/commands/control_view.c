/* SPDX-License-Identifier: Apache-2.0 */
/* Paused and limited targets, as text and as JSON. */
#include "bridge/commands/control_view.h"

#include "bridge/commands/result.h"
#include "levels/instant.h"

#include <stdio.h>

static double lane_rate_s(const struct control *c, int lanes)
{
    return 1000 * rate_share(&c->rate, 1, lanes);
}

void control_print(const struct control_record *record, int lanes)
{
    const struct control *c = &record->control;
    char at[INSTANT_TEXT_MAX], until[INSTANT_TEXT_MAX], rate[RATE_TEXT_MAX];
    printf("%s: ", c->pattern);
    if (c->op == CONTROL_PAUSE)
        fputs("paused", stdout);
    else
        printf("limited to %s", rate_format(&c->rate, rate));
    if (c->op == CONTROL_LIMIT && lanes > 0)
        printf(" (%.3g/s for each lane)", lane_rate_s(c, lanes));
    printf(" since %s", instant_format(c->at_wall_ms, at));
    if (c->until_wall_ms != CONTROL_ENDLESS)
        printf(" until %s", instant_format(c->until_wall_ms, until));
    if (record->by[0] != '\0') {
        fputs(" by ", stdout);
        print_bytes(bytes_text(record->by));
    }
    putchar('\n');
}

const char *control_op_name(enum control_op op)
{
    return op == CONTROL_LIMIT ? "limit" : "pause";
}

json_t *control_json(const struct control_record *record)
{
    const struct control *c = &record->control;
    char rate[RATE_TEXT_MAX];
    bool limited = c->op == CONTROL_LIMIT;
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o}", "targets", c->pattern, "op", control_op_name(c->op),
        "rate", limited ? json_string(rate_format(&c->rate, rate)) : json_null(), "until",
        c->until_wall_ms == CONTROL_ENDLESS ? json_null() : instant_json(c->until_wall_ms), "by",
        record->by[0] == '\0' ? json_null() : bytes_json(bytes_text(record->by)), "at",
        instant_json(c->at_wall_ms));
}

json_t *control_lanes_json(const struct control_record *record, int lanes)
{
    const struct control *c = &record->control;
    json_t *object = control_json(record);
    json_object_set_new(object, "lane_rate_per_s",
                        c->op == CONTROL_LIMIT ? json_real(lane_rate_s(c, lanes)) : json_null());
    return object;
}
