/* SPDX-License-Identifier: Apache-2.0 */
/* labels: the entries of `targets` as the label "target" of metrics. An entry gets a number when it
   is first configured and keeps it for the life of the process, so that counters of different
   configurations do not mix. Bounded: entries beyond the room share one label. Safe from any
   thread. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_LABELS_H
#define DELAYBRIDGE_BRIDGE_SERVICE_LABELS_H

#include "bridge/core/stats.h"

#include <stdint.h>

/* The number of each entry, in their order, for the first n of TARGET_LABELS. */
void labels_number(const char *const *entries, size_t n, uint8_t numbers[TARGET_LABELS]);

/* The text of a number: an entry, "(none)" or "(other)"; NULL: no entry has it yet. Valid for the
   life of the process. */
const char *labels_text(int number);

#endif
