/* SPDX-License-Identifier: Apache-2.0 */
/* address: cuts at the last colon. An IPv6 address contains colons and needs brackets. */
#include "bridge/config/address.h"

#include <arpa/inet.h>
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

bool address_is_loopback(const char *text)
{
    char host[HOST_MAX];
    struct in_addr v4;
    struct in6_addr v6;
    if (address_cut(text, host) == NULL)
        return false;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcmp(host, "localhost") == 0;
}

bool address_is_wildcard(const char *text)
{
    char host[HOST_MAX];
    struct in_addr v4;
    struct in6_addr v6;
    if (address_cut(text, host) == NULL)
        return false;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return v4.s_addr == INADDR_ANY;
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}
