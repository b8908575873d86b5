/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of the group, for top. */
#include "bridge/commands/top_members.h"

#include "bridge/base/clock.h"
#include "bridge/base/quote.h"
#include "bridge/commands/result.h"
#include "bridge/config/address.h"
#include "levels/counted.h"

#include <stdio.h>
#include <string.h>

enum { AGAIN_MS = 10000, WAIT_MS = 5000, SENTENCE_MAX = 512 };

/* The loopback of another host would be read as that of this one. */
void top_members_take(struct top_members *m, struct control_list *fresh)
{
    char host[MEMBER_TEXT_MAX];
    member_host(host);
    control_list_deinit(&m->list);
    m->list = *fresh;
    *fresh = (struct control_list){0};
    m->addresses_n = m->far_n = 0;
    for (size_t i = 0; i < m->list.members_n && m->addresses_n < TOP_ADDRESSES_MAX; i++) {
        struct member *one = &m->list.members[i];
        if (one->address[0] == '\0')
            continue;
        if (address_is_loopback(one->address) && strcmp(one->host, host) != 0) {
            m->far = one;
            m->far_n++;
        } else {
            m->addresses[m->addresses_n++] = one->address;
        }
    }
}

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
    top_members_take(m, &fresh);
    return 0;
}

const char *top_members_far(const struct top_members *m, struct error *sentence)
{
    char processes[COUNTED_MAX];
    (void)error_set(sentence, ERR_CONFIG,
                    "%s cannot be read from this host, such as %s of %s: set 'listen' there to an "
                    "address that other hosts reach",
                    counted(m->far_n, "process", processes), m->far->address, m->far->host);
    return sentence->text;
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
    struct error sentence;
    members_compare(&m->list, print_difference, out);
    if (m->far_n > 0)
        print_difference(out, top_members_far(m, &sentence));
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
