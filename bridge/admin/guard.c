/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the headers Host, Origin and Authorization. */
#include "bridge/admin/guard.h"

#include "bridge/config/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Writes the host of "HOST", "HOST:PORT" or "[ADDRESS]:PORT" without port and brackets. Returns
   false for a text that is none of these. */
static bool cut_host(const char *text, char host[HOST_MAX])
{
    if (address_cut(text, host) != NULL)
        return true;
    size_t n = strlen(text);
    bool bracketed = n > 2 && text[0] == '[' && text[n - 1] == ']';
    if (n == 0 || n >= HOST_MAX || (!bracketed && strchr(text, ':') != NULL))
        return false;
    snprintf(host, HOST_MAX, "%.*s", (int)n - 2 * bracketed, text + bracketed);
    return true;
}

bool guard_host(const struct admin_call *call, const char *listen, bool has_token)
{
    char host[HOST_MAX], own[HOST_MAX];
    struct in6_addr address;
    if (call->host == NULL || !cut_host(call->host, host))
        return false;
    return has_token || strcasecmp(host, "localhost") == 0 ||
           inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1 ||
           (address_cut(listen, own) != NULL && strcasecmp(host, own) == 0);
}

bool guard_origin(const struct admin_call *call)
{
    const char *origin = call->origin, *site = call->fetch_site;
    if (site != NULL && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return false;
    if (origin == NULL)
        return true;
    const char *authority = strncmp(origin, "http://", 7) == 0    ? origin + 7
                            : strncmp(origin, "https://", 8) == 0 ? origin + 8
                                                                  : NULL;
    return authority != NULL && call->host != NULL && strcasecmp(authority, call->host) == 0;
}

bool guard_navigation(const struct admin_call *call)
{
    return call->origin == NULL && call->fetch_mode != NULL && call->fetch_dest != NULL &&
           strcmp(call->fetch_mode, "navigate") == 0 && strcmp(call->fetch_dest, "document") == 0;
}

/* Reads at most n bytes. Returns their number, or -1 with errno. */
static ssize_t read_file(const char *path, char *out, size_t n)
{
    size_t len = 0;
    ssize_t got = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    while (len < n && (got = read(fd, out + len, n - len)) > 0)
        len += (size_t)got;
    int why = errno;
    close(fd);
    errno = why;
    return got < 0 ? -1 : (ssize_t)len;
}

int guard_read_token(const char *path, char token[TOKEN_MAX + 1], struct error *error)
{
    char text[TOKEN_MAX + 8];
    ssize_t got = read_file(path, text, sizeof text);
    if (got < 0)
        return error_set(error, ERR_CONFIG, "admin_token: cannot read %s: %s", path,
                         strerror(errno));
    size_t n = (size_t)got;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    if (n < TOKEN_LEAST || n > TOKEN_MAX)
        return error_set(error, ERR_CONFIG,
                         "admin_token: %s must have one token of %d to %d "
                         "characters",
                         path, TOKEN_LEAST, TOKEN_MAX);
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return error_set(error, ERR_CONFIG,
                             "admin_token: %s: a token is printable ASCII without spaces", path);
    memcpy(token, text, n);
    token[n] = '\0';
    return 0;
}

bool guard_token(const char *authorization, const char *token)
{
    static const char SCHEME[] = "Bearer ";
    const size_t scheme_n = sizeof SCHEME - 1, token_n = strlen(token);
    if (authorization == NULL || strncasecmp(authorization, SCHEME, scheme_n) != 0)
        return false;
    const char *given = authorization + scheme_n;
    const size_t given_n = strlen(given);
    unsigned differs = given_n != token_n;
    for (size_t i = 0; i < given_n; i++)
        differs |= (unsigned char)given[i] ^ (unsigned char)token[i % token_n];
    return differs == 0;
}
