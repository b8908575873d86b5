/* SPDX-License-Identifier: Apache-2.0 */
/* target_rule: what an entry of `targets` sets for the topics that it applies to. */
#ifndef DELAYBRIDGE_LEVELS_TARGET_RULE_H
#define DELAYBRIDGE_LEVELS_TARGET_RULE_H

#include "levels/rate.h"

struct target_rule {
    struct rate max_rate; /* records 0: none. A limit of an operator has precedence (control.h) */
    int max_attempts;     /* 0: the key max_attempts applies */
};

#endif
