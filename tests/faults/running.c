/* SPDX-License-Identifier: Apache-2.0 */
/* The running service: it starts, joins, forwards, commits and stops. The n-th allocation of its
   own code fails, alone or with all others for a while. */
#include "tests/faults/alloc.h"
#include "tests/faults/parts.h"
#include "tests/faults/stage.h"

enum { AWAIT_MS = 30000, EACH = 3, SHORTAGE_MS = 400 };

/* A start that fails says so, and leaves nothing behind (the sanitizer looks). */
static enum ending judge_start(const struct stage *stage)
{
    if (alloc_failed() == 0)
        fprintf(stderr, "it does not start though there was memory: %s\n", stage->error.text);
    else
        fprintf(stderr, "%s\n", stage->error.text);
    return alloc_failed() > 0 && strstr(stage->error.text, "memory") != NULL ? ENDED : BROKEN;
}

/* Two rounds, so that what the first one made is used again. */
static enum ending run(unsigned flags, uint64_t first, int64_t shortage_ms)
{
    static struct stage stage;
    stage_open(&stage, flags);
    if (shortage_ms > 0)
        alloc_fail_for(first, shortage_ms);
    else
        alloc_fail(first, 1);
    int err = service_start(&stage.config, NULL, &stage.service, &stage.error);
    if (err != 0) {
        enum ending end = judge_start(&stage);
        alloc_fail(0, 0);
        stage.service = NULL;
        stage_close(&stage);
        return end;
    }
    stage_ask(&stage);
    bool answered = stage_await(&stage, AWAIT_MS);
    stage_ask(&stage);
    answered = answered && stage_await(&stage, AWAIT_MS);
    stage_stop(&stage);
    uint64_t failed = alloc_failed();
    alloc_fail(0, 0);
    bool doubled = stage.twice > 0 && !(flags & STAGE_EXACTLY_ONCE);
    if (doubled)
        fprintf(stderr, "%d were delivered twice, and nothing had died\n", stage.twice);
    stage_close(&stage);
    if (!answered || doubled)
        return BROKEN;
    return failed == 0 ? NOT_REACHED : WENT_ON;
}

enum ending part_service(uint64_t n)
{
    return run(0, n, 0);
}

enum ending part_service_exactly_once(uint64_t n)
{
    return run(STAGE_EXACTLY_ONCE, n, 0);
}

/* Each third time begins a shortage. */
enum ending part_shortage(uint64_t n)
{
    return run(0, 1 + EACH * (n - 1), SHORTAGE_MS);
}

enum ending part_shortage_exactly_once(uint64_t n)
{
    return run(STAGE_EXACTLY_ONCE, 1 + EACH * (n - 1), SHORTAGE_MS);
}
