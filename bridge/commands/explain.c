/* SPDX-License-Identifier: Apache-2.0 */
/* delaybridge explain: shows the chain of levels that a delay takes, and its cost. */
#include "bridge/commands/cancel_life.h"
#include "bridge/commands/chain.h"
#include "bridge/commands/result.h"
#include "levels/counted.h"
#include "levels/duration.h"

#include <inttypes.h>
#include <stdio.h>

static void print_text(const struct ladder *ladder, const struct chain *chain,
                       const struct longer_levels *longer)
{
    char text[DURATION_TEXT_MAX], times[16] = "", hops[COUNTED_MAX];
    counted(chain->hops, "hop", hops);
    printf("%s: %s\n", duration_format(chain->delay_ms, text), hops);
    for (int i = 0, run; i < chain->shown; i += run) {
        run = 1; /* the same level several times is one line */
        while (i + run < chain->shown && chain->levels[i + run] == chain->levels[i])
            run++;
        snprintf(times, sizeof times, "x %d", run);
        printf("  %-8s %-7s", duration_format(ladder->level_ms[chain->levels[i]], text),
               run > 1 ? times : "");
        printf("until %s\n", duration_format(chain->end_ms[i + run - 1], text));
    }
    if (chain->shown < chain->hops)
        printf("  ... and %" PRId64 " more\n", chain->hops - chain->shown);
    printf("in memory: %s\n", duration_format(chain->in_memory_ms, text));
    if (chain->with_room_hops < chain->hops) {
        printf("with room in memory: %s, ", counted(chain->with_room_hops, "hop", hops));
        printf("and %s in memory\n", duration_format(chain->with_room_in_memory_ms, text));
    }
    counted(chain->hops, "hop", hops);
    printf("bytes written for each byte of the request: %" PRId64 " (1 request, %s, 1 delivery)",
           chain->hops + 2, hops);
    if (chain->with_room_hops < chain->hops)
        printf(", %" PRId64 " with room", chain->with_room_hops + 2);
    puts("");
    printf("a cancel is kept for: %s\n",
           duration_format(cancel_life_of(chain, ladder).kept_ms, text));
    char levels[LONGER_TEXT_MAX];
    if (longer->n > 0)
        printf("with longer levels, %s in addition: %s, but a cancel is kept for %s\n",
               longer_levels_text(longer, levels), counted(longer->hops, "hop", hops),
               duration_format(cancel_life_with(longer).kept_ms, text));
}

static void print_chain(const struct ladder *ladder, const struct chain *chain,
                        const struct longer_levels *longer)
{
    json_t *stops = json_array();
    char text[DURATION_TEXT_MAX];
    for (int i = 0; i < chain->shown; i++) {
        duration_format(ladder->level_ms[chain->levels[i]], text);
        json_array_append_new(
            stops, json_pack("{s:s, s:I}", "level", text, "end_ms", (json_int_t)chain->end_ms[i]));
    }
    print_json(json_pack("{s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:o}", "delay_ms",
                         (json_int_t)chain->delay_ms, "hops", (json_int_t)chain->with_room_hops,
                         "hops_without_room", (json_int_t)chain->hops, "stops", stops,
                         "in_memory_ms", (json_int_t)chain->with_room_in_memory_ms,
                         "in_memory_without_room_ms", (json_int_t)chain->in_memory_ms,
                         "bytes_written_per_byte", (json_int_t)chain->with_room_hops + 2,
                         "cancel_kept_ms", (json_int_t)cancel_life_of(chain, ladder).kept_ms,
                         "longer_levels", longer_levels_json(longer)));
}

int cmd_explain(struct cli *cli)
{
    int64_t delay_ms;
    const char *text = cli->arguments->operands[0];
    if (duration_parse(bytes_text(text), &delay_ms) != 0)
        return complain(cli, EXIT_USAGE, "'%s' is not a duration such as 37m or 1h30m", text);
    if (delay_ms > cli->config->max_delay_ms)
        return complain(cli, EXIT_USAGE,
                        "'%s' is more than max_delay: use a shorter delay or raise max_delay",
                        text);
    static struct chain chain; /* large */
    chain_walk(&chain, &cli->config->ladder, cli->config->hold_ms, delay_ms);
    struct longer_levels longer;
    chain_longer_levels(&chain, &cli->config->ladder, &longer);
    if (cli->json)
        print_chain(&cli->config->ladder, &chain, &longer);
    else
        print_text(&cli->config->ladder, &chain, &longer);
    return EXIT_DONE;
}
