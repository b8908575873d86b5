/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the admin API of the demonstration with a token in an anonymous file. */
#include "bridge/commands/demo_page.h"

#include "bridge/commands/api.h"
#include "bridge/commands/cli.h"
#include "bridge/service/monitor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

enum { WORDS = 2, TOKEN_SIZE = WORDS * 16 + 1, ADDRESS_MAX = 128 };

struct demo_page {
    int fd; /* the anonymous file: it ends with the process, even after a kill */
    char token[TOKEN_SIZE];
    char path[32];
    char address[ADDRESS_MAX];
    struct cli cli;
    struct monitor *monitor;
    struct api *api;
};

struct demo_page *demo_page_new(struct error *error)
{
    uint64_t random[WORDS];
    struct demo_page *page = calloc(1, sizeof *page);
    if (page == NULL || getrandom(random, sizeof random, 0) != sizeof random) {
        free(page);
        (void)error_set(error, ERR_NO_MEMORY, "out of memory");
        return NULL;
    }
    snprintf(page->token, sizeof page->token, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    page->fd = memfd_create("delaybridge-token", MFD_CLOEXEC);
    snprintf(page->path, sizeof page->path, "/proc/self/fd/%d", page->fd);
    ssize_t n = (ssize_t)strlen(page->token);
    if (page->fd >= 0 && write(page->fd, page->token, (size_t)n) == n)
        return page;
    (void)error_set(error, ERR_CONFIG, "cannot make a token: %s", strerror(errno));
    demo_page_free(page);
    return NULL;
}

const char *demo_page_token_path(const struct demo_page *page)
{
    return page->path;
}

/* Replaces the port by 0: the kernel chooses one. */
static int any_port(struct config *config, struct error *error)
{
    char *address = strdup("127.0.0.1:0");
    if (address == NULL)
        return error_set(error, ERR_NO_MEMORY, "out of memory");
    free(config->admin);
    config->admin = address;
    return 0;
}

int demo_page_start(struct demo_page *page, struct config *config, struct error *error)
{
    page->cli = (struct cli){.config = config};
    page->monitor = monitor_start(config, error);
    if (page->monitor == NULL)
        return ERR_CONFIG;
    page->api = api_start(&page->cli, page->monitor, error);
    if (page->api == NULL && any_port(config, error) == 0)
        page->api = api_start(&page->cli, page->monitor, error);
    if (page->api == NULL)
        return ERR_CONFIG;
    snprintf(page->address, sizeof page->address, "http://127.0.0.1:%d/#token=%s",
             api_port(page->api), page->token);
    return 0;
}

void demo_page_watch(struct demo_page *page, struct service *service)
{
    monitor_watch(page->monitor, service, service == NULL ? "the demonstration ends" : "");
}

const char *demo_page_address(const struct demo_page *page)
{
    return page->address;
}

void demo_page_free(struct demo_page *page)
{
    if (page == NULL)
        return;
    api_stop(page->api);
    if (page->monitor != NULL)
        monitor_stop(page->monitor);
    if (page->fd >= 0)
        close(page->fd);
    free(page);
}
