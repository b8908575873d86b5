/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge explain: the chain of levels that a delay takes, and what it costs. */
#include "bridge/commands/connect.h"
#include "levels/duration.h"

#include <inttypes.h>

enum { CHAIN_MAX = 4096, SHOWN_MAX = 64 };

/* A stop: what is waited there is its level, and for the first one also the odd rest. */
struct chain {
    int64_t delay_ms;
    int levels[CHAIN_MAX];
    int hops; /* may be more than fit */
    int64_t first_ms;
};

static struct chain chain_of(const struct ladder *ladder, int64_t delay_ms)
{
    struct chain chain = {.delay_ms = delay_ms};
    chain.hops = plan_chain(ladder, delay_ms, chain.levels, CHAIN_MAX);
    if (chain.hops > 0)
        chain.first_ms = plan_release_ms(ladder, ladder->level_ms[chain.levels[0]], 0, delay_ms);
    return chain;
}

static void print_text(const struct ladder *ladder, const struct chain *chain)
{
    char text[DURATION_TEXT_MAX], level[DURATION_TEXT_MAX];
    printf("%s: %d hop%s\n", duration_format(chain->delay_ms, text), chain->hops,
           chain->hops == 1 ? "" : "s");
    int shown = chain->hops < SHOWN_MAX ? chain->hops : SHOWN_MAX;
    for (int i = 0; i < shown; i++) {
        int run = 1; /* the same level several times is one line */
        while (i > 0 && i + run < shown && chain->levels[i + run] == chain->levels[i])
            run++;
        printf("  %-8s", duration_format(ladder->level_ms[chain->levels[i]], level));
        if (i == 0)
            printf(" for %s\n", duration_format(chain->first_ms, text));
        else
            printf(run > 1 ? " x %d\n" : "\n", run);
        i += run - 1;
    }
    if (shown < chain->hops)
        printf("  … and %d more\n", chain->hops - shown);
    printf("  wheel    what is left, at most %s, in memory to the millisecond\n",
           duration_format(ladder->hold_ms, text));
    printf("bytes written for each byte of the request: %d (the request, %d in levels, the "
           "delivery),\n"
           "each as often as the topics are replicated\n",
           chain->hops + 2, chain->hops);
}

static void print_chain(const struct ladder *ladder, const struct chain *chain)
{
    json_t *levels = json_array();
    int n = chain->hops < CHAIN_MAX ? chain->hops : CHAIN_MAX;
    char text[DURATION_TEXT_MAX];
    for (int i = 0; i < n; i++)
        json_array_append_new(
            levels, json_string(duration_format(ladder->level_ms[chain->levels[i]], text)));
    print_json(json_pack("{s:I, s:i, s:o, s:I, s:i}", "delay_ms", (json_int_t)chain->delay_ms,
                         "hops", chain->hops, "levels", levels, "first_stop_ms",
                         (json_int_t)chain->first_ms, "bytes_written_per_byte", chain->hops + 2));
}

int cmd_explain(struct cli *cli)
{
    int64_t delay_ms;
    if (cli->argc != 1)
        return complain(EXIT_USAGE, "explain takes one delay, such as 37m");
    if (duration_parse(bytes_text(cli->argv[0]), &delay_ms) != 0)
        return complain(EXIT_USAGE, "'%s' is not a duration such as 37m or 1h30m", cli->argv[0]);
    if (delay_ms > cli->config->max_delay_ms)
        return complain(EXIT_USAGE, "'%s' is more than max_delay", cli->argv[0]);
    const struct chain chain = chain_of(&cli->config->ladder, delay_ms);
    if (cli->json)
        print_chain(&cli->config->ladder, &chain);
    else
        print_text(&cli->config->ladder, &chain);
    return EXIT_DONE;
}
