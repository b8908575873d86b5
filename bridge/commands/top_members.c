/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of the group, for top. */
#include "bridge/commands/top_members.h"

#include "bridge/base/clock.h"
#include "bridge/base/quote.h"
#include "bridge/commands/result.h"

#include <stdio.h>

enum { AGAIN_MS = 10000, WAIT_MS = 5000, SENTENCE_MAX = 512 };

int top_members_look(struct top_members *m, const struct cli *cli, struct error *error)
{
    struct control_list fresh;
    int64_t now_mono_ms = clock_mono_ms();
    int timeout_ms = cli->timeout_ms < WAIT_MS ? cli->timeout_ms : WAIT_MS;
    if (m->read_mono_ms != 0 && now_mono_ms - m->read_mono_ms < AGAIN_MS)
        return 0;
    int err = members_look(cli->config, timeout_ms, &fresh, error);
    if (err != 0) {
        control_list_deinit(&fresh);
        m->read_mono_ms = cli->output == NULL ? now_mono_ms : 0; /* the API says so each time */
        return err;
    }
    m->read_mono_ms = now_mono_ms;
    control_list_deinit(&m->list);
    m->list = fresh;
    m->addresses_n = 0;
    for (size_t i = 0; i < fresh.members_n && m->addresses_n < TOP_ADDRESSES_MAX; i++)
        if (m->list.members[i].address[0] != '\0')
            m->addresses[m->addresses_n++] = m->list.members[i].address;
    return 0;
}

void top_members_deinit(struct top_members *m)
{
    control_list_deinit(&m->list);
}

static void print_difference(void *ctx, const char *sentence)
{
    char quoted[SENTENCE_MAX];
    fprintf(ctx, "%s\n", quote_text(sentence, quoted, sizeof quoted));
}

void top_members_print(const struct top_members *m, FILE *out)
{
    members_compare(&m->list, print_difference, out);
}

json_t *top_members_json(const struct top_members *m)
{
    json_t *list = json_array();
    for (size_t i = 0; i < m->list.members_n; i++) {
        const struct member *one = &m->list.members[i];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:s, s:s, s:s, s:s, s:s, s:i, s:o}", "address",
                            one->address[0] == '\0' ? json_null() : json_string(one->address),
                            "admin", one->admin[0] == '\0' ? json_null() : json_string(one->admin),
                            "host", one->host, "version", one->version, "delivery", one->delivery,
                            "levels", one->levels, "targets", one->targets, "lanes", one->lanes,
                            "at", instant_json(one->at_wall_ms)));
    }
    return list;
}

static void add_difference(void *ctx, const char *sentence)
{
    json_array_append_new(ctx, json_string(sentence));
}

json_t *top_members_differences(const struct top_members *m)
{
    json_t *list = json_array();
    members_compare(&m->list, add_difference, list);
    return list;
}
