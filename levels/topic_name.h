/* SPDX-License-Identifier: Apache-2.0 */
/* topic_name: legal names of topics, and the names of the topics that belong to a schedule topic S,
   such as S.15m and S.dead-letter. */
#ifndef DELAYBRIDGE_LEVELS_TOPIC_NAME_H
#define DELAYBRIDGE_LEVELS_TOPIC_NAME_H

#include "levels/bytes.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOPIC_NAME_MAX = 249, TOPIC_TEXT_MAX = TOPIC_NAME_MAX + 1 };

/* Returns true for a character of [A-Za-z0-9._-]. */
bool topic_char_is_legal(char c);

/* Returns true for a name that Kafka accepts: 1 to 249 of [A-Za-z0-9._-], but not "." or "..". */
bool topic_name_is_legal(struct bytes name);

/* Returns true for the bridge's own topics and Kafka's internal ones (__*). The bridge's own are S,
   S.DURATION, S.pulse, S.dead-letter, S.cancelled, S.events, S.control and S.canary. */
bool topic_is_internal(const char *schedule, struct bytes name);

/* Each of these writes a name to out, cut to its size, and returns out. A level's name is
   S.DURATION with the duration in its canonical form: S.1h30m. */
const char *topic_of_level(const char *schedule, int64_t level_ms, char out[TOPIC_TEXT_MAX]);
const char *topic_of_pulse(const char *schedule, char out[TOPIC_TEXT_MAX]);
const char *topic_of_dead_letter(const char *schedule, char out[TOPIC_TEXT_MAX]);
const char *topic_of_canary(const char *schedule, char out[TOPIC_TEXT_MAX]);
const char *topic_of_cancelled(const char *schedule, char out[TOPIC_TEXT_MAX]);
const char *topic_of_events(const char *schedule, char out[TOPIC_TEXT_MAX]);
const char *topic_of_control(const char *schedule, char out[TOPIC_TEXT_MAX]);

#endif
