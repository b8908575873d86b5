/* SPDX-License-Identifier: Apache-2.0 */
/* labels: the entries of `targets` and the policies of `retry` as labels of metrics. An entry gets
   a number when it is first configured, and keeps it until the process ends. So counters of
   different configurations do not mix. When all TARGET_LABELS are in use, further entries share
   LABEL_OTHER. Safe from any thread. */
#ifndef DELAYBRIDGE_BRIDGE_SERVICE_LABELS_H
#define DELAYBRIDGE_BRIDGE_SERVICE_LABELS_H

#include "bridge/core/stats.h"
#include "levels/retry.h"

#include <stdint.h>

enum label { LABEL_TARGETS, LABEL_POLICIES, LABEL_KINDS };

/* Sets numbers[i] to the number of entries[i], and the rest to LABEL_OTHER. */
void labels_number(enum label label, const char *const *entries, size_t n,
                   uint8_t numbers[TARGET_LABELS]);
/* The same for the names of policies. */
void labels_number_policies(const struct retry_policy *policies, size_t n,
                            uint8_t numbers[TARGET_LABELS]);

/* Returns the text of a number: an entry, "(none)" or "(other)". Returns NULL if no entry has the
   number yet. The text stays valid until the process ends. */
const char *labels_text(enum label label, int number);

#endif
