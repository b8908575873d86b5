/* SPDX-License-Identifier: Apache-2.0 */
/* demo_page: the admin API and the operators' page of the demonstration. Its token is random and
   only in memory. */
#ifndef DELAYBRIDGE_BRIDGE_COMMANDS_DEMO_PAGE_H
#define DELAYBRIDGE_BRIDGE_COMMANDS_DEMO_PAGE_H

#include "bridge/base/error.h"
#include "bridge/config/config.h"
#include "bridge/service/service.h"

struct demo_page;

/* Makes a token. Returns NULL with a sentence in error. */
struct demo_page *demo_page_new(struct error *error);

/* Returns a path for admin_token, valid until demo_page_free. */
const char *demo_page_token_path(const struct demo_page *page);

/* Listens at config->admin, or at any port of the host if that one is in use. config outlives the
   page. Returns 0 or an error with a sentence. */
int demo_page_start(struct demo_page *page, struct config *config, struct error *error) must_check;

/* Shows this service from now on. NULL: none, and it may then be freed. */
void demo_page_watch(struct demo_page *page, struct service *service);

/* Returns the address with the token, after demo_page_start. */
const char *demo_page_address(const struct demo_page *page);

/* Stops the listener. Accepts NULL. */
void demo_page_free(struct demo_page *page);

#endif
