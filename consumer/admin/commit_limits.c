/* SPDX-License-Identifier: Apache-2.0 */
/* The limits, computed from the brokers' settings. */
#include "consumer/admin/commit_limits.h"

#include "levels/window.h"

enum { MINUTE_MS = 60 * 1000, AGAIN_OF_RETENTION = 3 };

struct commit_limits commit_limits_of(const struct broker_limit *metadata_bytes,
                                      const struct broker_limit *retention_minutes)
{
    struct commit_limits limits = {.text_max = WINDOW_TEXT_MAX,
                                   .again_ms = COMMIT_AGAIN_MAX_MS,
                                   .retention_known = retention_minutes->known};
    if (metadata_bytes->known && metadata_bytes->least < WINDOW_TEXT_MAX)
        limits.text_max = metadata_bytes->least < 1 ? 1 : (size_t)metadata_bytes->least;
    int64_t minutes = retention_minutes->least;
    if (!retention_minutes->known || minutes >= AGAIN_OF_RETENTION * 60)
        return limits;
    limits.again_ms = (minutes < 1 ? 1 : minutes) * MINUTE_MS / AGAIN_OF_RETENTION;
    return limits;
}

void commit_limits_ask(struct admin *admin, struct commit_limits *limits)
{
    struct broker_limit requested[] = {{.name = "offset.metadata.max.bytes"},
                                       {.name = "offsets.retention.minutes"}};
    int err = broker_limits_ask(admin, requested, sizeof requested / sizeof *requested);
    *limits = commit_limits_of(&requested[0], &requested[1]);
    if (err != 0 || !requested[0].known || !requested[1].known)
        limits->error = admin->error;
}
