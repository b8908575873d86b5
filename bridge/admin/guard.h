/* SPDX-License-Identifier: Apache-2.0 */
/* guard: decides whether a client may call the admin API. Host and Origin protect against pages of
   other sites in the browser of an operator. The token decides about all other clients. */
#ifndef DELAYBRIDGE_BRIDGE_ADMIN_GUARD_H
#define DELAYBRIDGE_BRIDGE_ADMIN_GUARD_H

#include "bridge/admin/message.h"
#include "bridge/base/error.h"
#include "levels/err.h"

enum { TOKEN_LEAST = 16, TOKEN_MAX = 256 };

/* Returns whether the call names this server. A page of another site can make a name of its own
   resolve to this address. So without a token, Host must be an IP address, localhost, or the host
   of listen (HOST:PORT). With a token any name passes, since such a page has no token. */
bool guard_host(const struct admin_call *call, const char *listen, bool has_token);

/* Returns whether the call is no call of a page of another site. Its Origin must be absent, or have
   the host and port of Host. Its Sec-Fetch-Site must be absent, "none" or "same-origin". */
bool guard_origin(const struct admin_call *call);

/* Returns whether a browser opens a whole page, such as after a click on a link of another site.
   That site cannot read the answer. */
bool guard_navigation(const struct admin_call *call);

/* Reads the token in the file. Returns 0, or ERR_CONFIG with a sentence that does not quote it. */
int guard_read_token(const char *path, char token[TOKEN_MAX + 1], struct error *error) must_check;

/* Returns whether the value of Authorization presents this token. The time that this takes depends
   on the length of the value only. */
bool guard_token(const char *authorization, const char *token);

#endif
