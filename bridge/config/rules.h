/* SPDX-License-Identifier: Apache-2.0 */
/* rules: the rules by which a configuration judges requests. The service and each command that
   judges a request take them from here, so that they cannot differ. */
#ifndef DELAYBRIDGE_BRIDGE_CONFIG_RULES_H
#define DELAYBRIDGE_BRIDGE_CONFIG_RULES_H

#include "bridge/config/config.h"
#include "levels/request.h"

/* Borrows from the configuration, which must outlive the rules. They allow cancels and replaces. */
static inline struct request_rules config_rules(const struct config *config)
{
    return (struct request_rules){
        .allowlist = {.patterns = (const char *const *)config->targets,
                      .patterns_n = config->targets_n,
                      .schedule = config->schedule},
        .default_target = config->default_target,
        .max_delay_ms = config->max_delay_ms,
        .retry = config->retry,
        .retry_n = config->retry_n,
        .cancels = true,
        .cancel_on_tombstone = config->cancel_on_tombstone,
        .compat = config->compat,
        .compat_policy = config->compat_policy,
    };
}

#endif
