/* SPDX-License-Identifier: Apache-2.0 */
/* members: the processes of a group that are alive, as S.control shows them, and the settings in
   which they differ. */
#ifndef DELAYBRIDGE_CONSUMER_ADMIN_MEMBERS_H
#define DELAYBRIDGE_CONSUMER_ADMIN_MEMBERS_H

#include "consumer/admin/control_topic.h"
#include "consumer/admin/topics.h"

/* Removes the processes that have ended from the list, and sorts the others by host and address. Of
   those with the same host and address only the latest stays. */
void members_keep_alive(struct control_list *list, int64_t now_wall_ms);

/* Returns the address of a process, or else its host. */
const char *member_name(const struct member *member);

/* Calls differ with a sentence for each setting that must be equal and differs, and for versions.
   The sentence names two of the processes and their values. */
void members_compare(const struct control_list *list,
                     void (*differ)(void *ctx, const char *sentence), void *ctx);

/* Reads S.control, and adds a warning for each difference, or a fault if the right to read is
   missing. Returns 0 with the number of processes. Otherwise returns ERR_KAFKA, ERR_TOPICS (the
   topic is missing, or is not visible), ERR_CONFIG (no right) or ERR_NO_MEMORY, with a sentence. */
int members_judge(const struct config *config, int timeout_ms, struct findings *findings,
                  size_t *processes, struct error *error) must_check;

/* Reads S.control with a separate handle, and keeps the processes that are alive. Returns as
   members_judge does. Call control_list_deinit in any case. */
int members_look(const struct config *config, int timeout_ms, struct control_list *list,
                 struct error *error) must_check;

#endif
