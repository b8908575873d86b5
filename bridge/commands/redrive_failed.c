/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons for which a run of redrive ends early. */
#include "bridge/commands/output.h"
#include "bridge/commands/redrive_parts.h"
#include "bridge/commands/result.h"
#include "levels/counted.h"

int redrive_out_of_memory(const struct redriving *r)
{
    return complain(r->cli, EXIT_INTERNAL, "out of memory");
}

int redrive_ended_by(const struct redriving *r, int code, const struct error *error)
{
    redrive_view_clear(&r->view);
    if (code != EXIT_UNREACHABLE || r->view.tally.n == 0 || r->view.dry_run)
        return complain(r->cli, code, "%s", error->text);
    return complain(r->cli, EXIT_PARTIAL, "%s: run the command again, it continues", error->text);
}

int redrive_in_doubt(const struct redriving *r, int n, const struct error *error)
{
    char requests[COUNTED_MAX];
    redrive_view_clear(&r->view);
    return complain(r->cli, EXIT_PARTIAL,
                    "%s stored or not: %s: run the command again, it may send them twice",
                    counted(n, "request", requests), error->text);
}

int redrive_failed(const struct redriving *r, int err, const struct error *error)
{
    return redrive_ended_by(r,
                            err == ERR_CONFIG      ? EXIT_CONFIG
                            : err == ERR_NO_MEMORY ? EXIT_INTERNAL
                                                   : EXIT_UNREACHABLE,
                            error);
}
