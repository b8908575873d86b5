/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics over a plain socket, and the samples in its answer. */
#include "bridge/commands/scrape.h"

#include "bridge/config/address.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_MAX = 16 << 20 };

static int connect_to(const struct addrinfo *at, int timeout_ms)
{
    const struct timeval limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* also limits connect */
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int dial(const char *address, int timeout_ms, struct error *error)
{
    char host[HOST_MAX];
    const char *port = address_cut(address, host), *why = "not HOST:PORT, such as 127.0.0.1:9404";
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int fd = -1, err = port == NULL ? 0 : getaddrinfo(host, port, &hints, &found);
    if (err != 0)
        why = gai_strerror(err);
    for (const struct addrinfo *at = found; fd < 0 && at != NULL; at = at->ai_next) {
        fd = connect_to(at, timeout_ms);
        why = strerror(errno);
    }
    if (found != NULL)
        freeaddrinfo(found);
    if (fd < 0)
        return error_set(error, -1, "cannot connect to '%s': %s", address, why);
    return fd;
}

/* Receives until the other side closes. The caller frees the text. Returns NULL on an error. */
static char *receive_all(int fd)
{
    size_t n = 0, size = 65536;
    char *text = malloc(size);
    for (ssize_t got = 1; text != NULL && got > 0; n += got > 0 ? (size_t)got : 0) {
        if (n + 1 == size) {
            char *more = size < ANSWER_MAX ? realloc(text, size *= 2) : NULL;
            if (more == NULL)
                break;
            text = more;
        }
        got = recv(fd, text + n, size - n - 1, 0);
        if (got == 0) {
            text[n] = '\0';
            return text;
        }
    }
    free(text);
    return NULL;
}

/* Returns the answer, which the caller frees, or NULL. */
static char *get(int fd, const char *address)
{
    char request[HOST_MAX + 128];
    int n = snprintf(request, sizeof request,
                     "GET /metrics HTTP/1.0\r\nHost: %s\r\nAccept: text/plain\r\n\r\n", address);
    return send(fd, request, (size_t)n, MSG_NOSIGNAL) == n ? receive_all(fd) : NULL;
}

static const char *body_of(const char *answer)
{
    static const char protocol[] = "HTTP/1.";
    const char *minor = answer + strlen(protocol);
    if (strncmp(answer, protocol, strlen(protocol)) != 0 || *minor == '\0' ||
        strncmp(minor + 1, " 200 ", 5) != 0)
        return NULL;
    const char *body = strstr(answer, "\r\n\r\n");
    return body == NULL ? NULL : body + 4;
}

const struct scrape_sample *scrape_find(const struct scrape *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->samples[i].name, name) == 0)
            return &s->samples[i];
    return NULL;
}

double scrape_value(const struct scrape *s, const char *name)
{
    const struct scrape_sample *sample = scrape_find(s, name);
    return sample == NULL ? 0 : sample->value;
}

static void join(struct scrape_sample *sample, double value)
{
    if (strstr(sample->name, "_timestamp_seconds") != NULL)
        sample->value = value < sample->value ? value : sample->value;
    else if (strstr(sample->name, "_configured") != NULL ||
             strstr(sample->name, "_unserved") != NULL ||
             strstr(sample->name, "_limit_per_second") != NULL ||
             strstr(sample->name, "_behind_seconds") != NULL)
        sample->value = value > sample->value ? value : sample->value;
    else
        sample->value += value;
}

static void keep(struct scrape *s, size_t at, const char *name, double value)
{
    /* All instances list the same samples in the same order, so try the same index first. */
    struct scrape_sample *sample = at < s->n && strcmp(s->samples[at].name, name) == 0
                                       ? &s->samples[at]
                                       : (struct scrape_sample *)(void *)scrape_find(s, name);
    if (sample != NULL) {
        join(sample, value);
        return;
    }
    struct scrape_sample *more = realloc(s->samples, (s->n + 1) * sizeof *more);
    assert(more != NULL);
    s->samples = more;
    s->samples[s->n] = (struct scrape_sample){strdup(name), value};
    assert(s->samples[s->n].name != NULL);
    s->n++;
}

/* Adds lines of the form NAME VALUE. No value of a label contains a space. */
static void take_lines(struct scrape *s, const char *body)
{
    size_t n = 0;
    char name[512];
    for (const char *line = body; *line != '\0'; line += strcspn(line, "\n")) {
        line += *line == '\n';
        size_t length = strcspn(line, " \n");
        if (*line == '#' || line[length] != ' ' || length >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, line);
        keep(s, n++, name, strtod(line + length, NULL));
    }
}

int scrape_take(struct scrape *s, const char *answer)
{
    const char *body = body_of(answer);
    if (body == NULL || strstr(body, "delaybridge_build_info{") == NULL)
        return ERR_DATA;
    take_lines(s, body);
    return 0;
}

int scrape_read(struct scrape *s, const char *address, int timeout_ms, struct error *error)
{
    int fd = dial(address, timeout_ms, error);
    if (fd < 0)
        return ERR_KAFKA;
    char *answer = get(fd, address);
    close(fd);
    int err = answer == NULL ? ERR_DATA : scrape_take(s, answer);
    free(answer);
    if (err == 0)
        return 0;
    return error_set(
        error, err,
        "%s does not serve metrics of delaybridge: pass the 'listen' address of an instance",
        address);
}

void scrape_deinit(struct scrape *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->samples[i].name);
    free(s->samples);
    *s = (struct scrape){0};
}
