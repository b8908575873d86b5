/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries of processes as JSON. */
#include "consumer/member_record.h"

#include "bridge/base/version.h"
#include "bridge/config/address.h"
#include "levels/duration.h"
#include "levels/instant.h"

#include <ifaddrs.h>
#include <jansson.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VALUE_MAX = 8192 };

/* JSON takes UTF-8 only. */
static void keep_ascii(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

/* Adds an item to a list with commas. Returns false if it does not fit. */
static bool add_item(char list[MEMBER_LIST_MAX], const char *item)
{
    size_t len = strlen(list), item_len = strlen(item);
    if (len + item_len + 2 > MEMBER_LIST_MAX)
        return false;
    if (len > 0)
        list[len++] = ',';
    memcpy(list + len, item, item_len + 1);
    return true;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void list_targets(struct member *m, const struct config *config)
{
    size_t n = config->targets_n;
    const char **sorted = calloc(n + 1, sizeof *sorted);
    if (sorted == NULL)
        return;
    for (size_t i = 0; i < n; i++)
        sorted[i] = config->targets[i];
    qsort(sorted, n, sizeof *sorted, compare_texts);
    for (size_t i = 0; i < n && add_item(m->targets, sorted[i]); i++)
        continue;
    free(sorted);
}

static void list_levels(struct member *m, const struct config *config)
{
    char level[DURATION_TEXT_MAX];
    for (int i = 0; i < config->ladder.n; i++)
        if (!add_item(m->levels, duration_format(config->ladder.level_ms[i], level)))
            return;
}

/* Returns whether other hosts may reach this address of a network interface. */
static bool is_usable(const struct ifaddrs *one, int family)
{
    if (one->ifa_addr == NULL || one->ifa_addr->sa_family != family ||
        (one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0)
        return false;
    return family == AF_INET ||
           !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)one->ifa_addr)->sin6_addr);
}

static bool first_address(const struct ifaddrs *all, int family, char out[MEMBER_TEXT_MAX])
{
    socklen_t size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next)
        if (is_usable(i, family) &&
            getnameinfo(i->ifa_addr, size, out, MEMBER_TEXT_MAX, NULL, 0, NI_NUMERICHOST) == 0)
            return true;
    return false;
}

/* Writes the first address of this host that is not its loopback, IPv6 in brackets. */
static bool own_address(char out[MEMBER_TEXT_MAX])
{
    struct ifaddrs *all;
    char v6[MEMBER_TEXT_MAX];
    if (getifaddrs(&all) != 0)
        return false;
    bool found = first_address(all, AF_INET, out);
    if (!found && first_address(all, AF_INET6, v6)) {
        snprintf(out, MEMBER_TEXT_MAX, "[%.100s]", v6);
        found = true;
    }
    freeifaddrs(all);
    return found;
}

/* A listener on all addresses is reached by the first address of the host, or by its loopback on a
   host without a network. A port that the system chooses is not published. */
static void describe_address(char out[MEMBER_TEXT_MAX], const char *listen)
{
    char host[MEMBER_TEXT_MAX];
    const char *colon = listen == NULL ? NULL : strrchr(listen, ':');
    if (colon == NULL || strtol(colon + 1, NULL, 10) == 0)
        return;
    if (!address_is_wildcard(listen))
        snprintf(out, MEMBER_TEXT_MAX, "%s", listen);
    else
        snprintf(out, MEMBER_TEXT_MAX, "%.100s%s", own_address(host) ? host : "127.0.0.1", colon);
}

void member_host(char out[MEMBER_TEXT_MAX])
{
    memset(out, 0, MEMBER_TEXT_MAX);
    if (gethostname(out, MEMBER_TEXT_MAX - 1) != 0)
        out[0] = '\0';
    keep_ascii(out);
}

void member_describe(struct member *m, const struct config *config)
{
    m->address[0] = m->admin[0] = m->levels[0] = m->targets[0] = '\0';
    describe_address(m->address, config->listen);
    if (config->admin != NULL && !address_is_loopback(config->admin))
        describe_address(m->admin, config->admin);
    member_host(m->host);
    snprintf(m->version, sizeof m->version, "%s", version_number);
    snprintf(m->delivery, sizeof m->delivery, "%s",
             config->exactly_once ? "exactly-once" : "at-least-once");
    list_levels(m, config);
    list_targets(m, config);
    m->config = config_hash(config);
}

static void copy_text(const json_t *object, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));
    snprintf(out, size, "%s", text == NULL ? "" : text);
}

static int read_members(const json_t *object, struct member *m)
{
    const char *at = json_string_value(json_object_get(object, "at"));
    if (at == NULL || instant_parse(bytes_text(at), &m->at_wall_ms) != 0)
        return ERR_FOREIGN;
    copy_text(object, "address", m->address, sizeof m->address);
    copy_text(object, "admin", m->admin, sizeof m->admin);
    copy_text(object, "host", m->host, sizeof m->host);
    copy_text(object, "version", m->version, sizeof m->version);
    copy_text(object, "delivery", m->delivery, sizeof m->delivery);
    copy_text(object, "levels", m->levels, sizeof m->levels);
    copy_text(object, "targets", m->targets, sizeof m->targets);
    json_int_t config = json_integer_value(json_object_get(object, "config"));
    json_int_t lanes = json_integer_value(json_object_get(object, "lanes"));
    if (config < 0 || config > UINT32_MAX || lanes < 0 || lanes > INT32_MAX)
        return ERR_FOREIGN;
    m->config = (uint32_t)config;
    m->lanes = (int)lanes;
    return 0;
}

int member_read(struct bytes key, struct bytes value, struct member *m)
{
    *m = (struct member){.has_ended = bytes_is_null(value)};
    if (bytes_is_null(key) || key.len == 0 || key.len >= sizeof m->key ||
        memchr(key.data, '\0', key.len) != NULL)
        return ERR_FOREIGN;
    memcpy(m->key, key.data, key.len);
    if (m->has_ended)
        return 0;
    if (value.len > VALUE_MAX)
        return ERR_FOREIGN;
    json_t *object = json_loadb(value.data, value.len, JSON_REJECT_DUPLICATES, NULL);
    int err = json_is_object(object) ? read_members(object, m) : ERR_FOREIGN;
    json_decref(object);
    return err;
}

char *member_write(const struct member *m)
{
    char at[INSTANT_TEXT_MAX];
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:i}", "at",
                               instant_format(m->at_wall_ms, at), "address", m->address, "admin",
                               m->admin, "host", m->host, "version", m->version, "delivery",
                               m->delivery, "levels", m->levels, "targets", m->targets, "config",
                               (json_int_t)m->config, "lanes", m->lanes);
    char *text = object == NULL ? NULL : json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

bool member_is_alive(const struct member *m, int64_t now_wall_ms)
{
    return !m->has_ended && now_wall_ms - m->at_wall_ms < MEMBER_GONE_MS;
}
