/* SPDX-License-Identifier: Apache-2.0 */
/* address: cuts at the last colon. An IPv6 address contains colons and needs brackets. */
#include "bridge/config/address.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *address_cut(const char *text, char host[HOST_MAX])
{
    const char *colon = strrchr(text, ':');
    size_t n = colon == NULL ? 0 : (size_t)(colon - text);
    bool bracketed = n >= 3 && text[0] == '[' && text[n - 1] == ']';
    if (n == 0 || n >= HOST_MAX || (!bracketed && strchr(text, ':') != colon))
        return NULL;
    snprintf(host, HOST_MAX, "%.*s", (int)n - 2 * bracketed, text + bracketed);
    return colon + 1;
}
