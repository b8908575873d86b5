/* SPDX-License-Identifier: Apache-2.0 */
/* control_list: facts about the entries of S.control, for the commands that write or show them. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_CONTROL_LIST_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_CONTROL_LIST_H

#include "consumer/admin/control_topic.h"

/* Returns the number of entries in force. Those that have ended do not count. */
size_t control_count(const struct control_list *list, int64_t now_wall_ms);

/* Removes the entries that have ended. They stay on the topic. */
void control_list_drop_ended(struct control_list *list, int64_t now_wall_ms);

/* Returns how many targets of a pattern the entries of the list pause. */
enum control_share control_list_paused(const struct control_list *list, const char *pattern);

/* Returns the longest wait of a record after an entry of the list is removed, with a margin for its
   last hop. longest_ms: the longest level. */
int64_t control_wait_ms(const struct control_list *list, const struct control_record *removed,
                        int64_t longest_ms, int64_t now_wall_ms);

#endif
