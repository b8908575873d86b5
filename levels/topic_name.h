/* SPDX-License-Identifier: Apache-2.0 */
/* topic_name: the names of the topics that belong to a schedule topic S, such as S.15m and
   S.dead-letter. Each function writes the name to out, cut to its size, and returns out. */
#ifndef DELAYBRIDGE_LEVELS_TOPIC_NAME_H
#define DELAYBRIDGE_LEVELS_TOPIC_NAME_H

#include "levels/targets.h"

#include <stdint.h>

enum { TOPIC_TEXT_MAX = TOPIC_NAME_MAX + 1 };

/* Writes S.DURATION with the duration in its canonical form: S.1h30m. */
const char *topic_of_level(const char *schedule, int64_t level_ms, char out[TOPIC_TEXT_MAX]);
const char *topic_of_pulse(const char *schedule, char out[TOPIC_TEXT_MAX]);
const char *topic_of_dead_letter(const char *schedule, char out[TOPIC_TEXT_MAX]);
const char *topic_of_canary(const char *schedule, char out[TOPIC_TEXT_MAX]);
const char *topic_of_cancelled(const char *schedule, char out[TOPIC_TEXT_MAX]);

#endif
