/* SPDX-License-Identifier: Apache-2.0 */
/* top_figures: two readings of the metrics of running processes, and what grew between them. Pure:
   the clock is a parameter. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_TOP_FIGURES_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_TOP_FIGURES_H

#include "bridge/commands/scrape.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOP_LABEL_MAX = 256, TOP_NUMBER_MAX = 32 };

/* Starts zeroed. */
struct top_figures {
    struct scrape now, before; /* sums over the processes that answered; owned */
    int64_t now_mono_ms, before_mono_ms;
    int asked, answered; /* processes of the last reading */
};

/* Makes fresh the last reading, and takes its contents. */
void top_figures_take(struct top_figures *figures, struct scrape *fresh, int64_t now_mono_ms);
void top_figures_deinit(struct top_figures *figures);

/* Return the value of one sample, and its growth a second. 0: there is none, or a process was
   started again. */
__attribute__((format(printf, 2, 3))) double top_figures_value(const struct top_figures *figures,
                                                               const char *format, ...);
__attribute__((format(printf, 2, 3))) double top_figures_rate(const struct top_figures *figures,
                                                              const char *format, ...);

/* Return the same for the sum of all samples whose name begins with prefix. */
double top_figures_total(const struct top_figures *figures, const char *prefix);
double top_figures_total_rate(const struct top_figures *figures, const char *prefix);

/* Returns the growth of the i-th sample of the last reading, at least 0. */
double top_figures_growth(const struct top_figures *figures, size_t i);

/* Returns the sample with this name, or NULL. */
__attribute__((format(printf, 2, 3))) const struct scrape_sample *
top_figures_find(const struct top_figures *figures, const char *format, ...);

/* Copies the value of the label at the end of prefix, such as `m{level="`, of the n-th sample that
   begins with it. Returns false if there are fewer. */
bool top_figures_label(const struct top_figures *figures, const char *prefix, int n,
                       char label[TOP_LABEL_MAX]);

/* Writes a word of JSON for readers: failed_before is "failed before". Returns out. */
const char *top_word(const char *word, char out[TOP_NUMBER_MAX]);

/* Writes a count with separators: 1234567 is 1,234,567. Returns out. */
const char *top_number(double value, char out[TOP_NUMBER_MAX]);

#endif
