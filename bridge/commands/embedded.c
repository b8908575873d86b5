/* SPDX-License-Identifier: Apache-2.0 */
/* Creates one topic after the other. */
#include "bridge/commands/embedded.h"

#include "levels/topic_name.h"

int embedded_topics(struct mock *mock, const struct config *c, int lanes)
{
    char name[TOPIC_TEXT_MAX];
    int err = mock_topic(mock, c->schedule, lanes);
    for (int slot = 1; err == 0 && slot <= c->ladder.n + c->retired_n; slot++) {
        int64_t level_ms = ladder_slot_ms(&c->ladder, c->retired_ms, slot);
        err = mock_topic(mock, topic_of_level(c->schedule, level_ms, name), lanes);
    }
    if (err == 0)
        err = mock_topic(mock, topic_of_dead_letter(c->schedule, name), lanes);
    if (err == 0)
        err = mock_topic(mock, topic_of_cancelled(c->schedule, name), lanes);
    if (err == 0)
        err = mock_topic(mock, topic_of_events(c->schedule, name), lanes);
    if (err == 0)
        err = mock_topic(mock, topic_of_pulse(c->schedule, name), 1);
    if (err == 0)
        err = mock_topic(mock, topic_of_control(c->schedule, name), 1);
    return err;
}
