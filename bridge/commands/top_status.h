/* SPDX-License-Identifier: Apache-2.0 */
/* top_status: whether deliveries are on time, the figures of now, and what needs attention, with
   the section of docs/troubleshooting.md. The thresholds are those of the page
   (bridge/admin/page/alerts.js). */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_STATUS_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_STATUS_H

#include "bridge/commands/top_lateness.h"
#include "consumer/admin/control_topic.h"

struct top_status {
    const struct top_figures *figures;
    const struct control_list *control;
    struct top_lateness recent; /* of the last ten seconds */
    bool knows_all;             /* the figures are those of the whole group */
    int64_t now_wall_ms;
};

/* Calls each with a sentence and a section for all that needs attention, the worst first. */
void top_status_alerts(const struct top_status *status,
                       void (*each)(void *ctx, const char *sentence, const char *section),
                       void *ctx);

/* Returns "on_time", "late", "needs_attention" or "not_ready". */
const char *top_status_word(const struct top_status *status);

/* Prints the word, figures, and alerts. */
void top_status_print(const struct top_status *status, FILE *out);
json_t *top_status_alerts_json(const struct top_status *status);

#endif
