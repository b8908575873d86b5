/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of the clock, which only `delaybridge dev` has. */
#include "bridge/admin/problem.h"
#include "bridge/commands/api_parts.h"
#include "bridge/commands/dev_clock.h"
#include "bridge/commands/result.h"
#include "levels/duration.h"

static void refuse(struct admin_answer *answer, const char *detail)
{
    problem_answer(answer, (struct problem){400, "data", NULL}, "%s", detail);
}

static void show(struct dev_clock *clock, struct admin_answer *answer)
{
    int64_t real_ms = clock_wall_ms(), at_ms = dev_clock_of_real_ms(clock, real_ms);
    answer->status = 200;
    answer->json = json_pack("{s:o, s:o, s:I}", "at", instant_json(at_ms), "real",
                             instant_json(real_ms), "ahead_ms", (json_int_t)(at_ms - real_ms));
}

void api_clock(void *ctx, const struct admin_route *route, const struct admin_request *request,
               struct admin_answer *answer)
{
    const struct api *api = ctx;
    (void)route, (void)request;
    show(api->cli->dev_clock, answer);
}

void api_clock_forward(void *ctx, const struct admin_route *route,
                       const struct admin_request *request, struct admin_answer *answer)
{
    const struct api *api = ctx;
    const json_t *forward = json_object_get(request->body, "forward");
    int64_t ms = 0;
    (void)route;
    if (json_object_size(request->body) != 1 || !json_is_string(forward) ||
        duration_parse(bytes_of(json_string_value(forward), json_string_length(forward)), &ms) != 0)
        refuse(answer, "forward: must be a duration, such as \"15m\", and the only member");
    else if (dev_clock_forward(api->cli->dev_clock, ms) != 0)
        refuse(answer, "forward: the clock would be ahead by more than 100 years");
    else
        show(api->cli->dev_clock, answer);
}
