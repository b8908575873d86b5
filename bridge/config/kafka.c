/* SPDX-License-Identifier: Apache-2.0 */
/* kafka: librdkafka properties in the configuration. */
#include "bridge/base/memory.h"
#include "bridge/config/loader.h"
#include "bridge/config/property.h"

#include <errno.h>
#include <stdlib.h>

enum { PROPERTY_FILE_MAX = 1024 * 1024 };

enum client_role config_role(const char *name)
{
    static const char *const NAMES[] = {
        [CLIENT_INTAKE] = "intake",
        [CLIENT_LEVELS] = "levels",
        [CLIENT_HOPS] = "hops",
        [CLIENT_DELIVERIES] = "deliveries",
    };
    for (int role = CLIENT_INTAKE; role <= CLIENT_DELIVERIES; role++)
        if (strcmp(name, NAMES[role]) == 0)
            return (enum client_role)role;
    return CLIENT_ALL;
}

enum client_role config_role_cut(const char **name)
{
    char first[16];
    size_t n = strcspn(*name, ".");
    if ((*name)[n] == '\0' || n >= sizeof first)
        return CLIENT_ALL;
    memcpy(first, *name, n);
    first[n] = '\0';
    enum client_role role = config_role(first);
    if (role != CLIENT_ALL)
        *name += n + 1;
    return role;
}

bool config_is_secret(const char *name)
{
    static const char *const PARTS[] = {"password",           "secret",
                                        "ssl.key.pem",        "ssl_key",
                                        "oauthbearer.config", "oauthbearer.assertion",
                                        "passphrase",         "jaas"};
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++)
        if (strstr(name, PARTS[i]) != NULL)
            return true;
    return false;
}

static void remove_old(struct config *c, enum client_role role, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->kafka_n; i++) {
        if (c->kafka[i].role != role || strcmp(c->kafka[i].name, name) != 0) {
            c->kafka[kept++] = c->kafka[i];
            continue;
        }
        free(c->kafka[i].name);
        free(c->kafka[i].value);
    }
    c->kafka_n = kept;
}

/* Puts the property last. Several names can mean one property, and librdkafka uses the last value.
 */
static void put(struct config *c, struct property property)
{
    remove_old(c, property.role, property.name);
    c->kafka = memory_or_end(realloc(c->kafka, (c->kafka_n + 1) * sizeof *c->kafka));
    c->kafka[c->kafka_n++] = property;
}

int config_set_property(struct loader *loader, enum client_role role, const struct setting *setting)
{
    const char *name = setting->key, *value = setting->values[0], *ours;
    struct setting masked = *setting;
    masked.secret |= config_is_secret(name);
    if (property_is_ours(name, &ours)) {
        if (ours != NULL)
            return config_refuse(loader, &masked, value,
                                 "is set by delaybridge: set the key %s instead", ours);
        return config_refuse(loader, &masked, value,
                             "is set by delaybridge: the delivery guarantees require it");
    }
    char why[PROPERTY_ERROR_MAX];
    int err = property_check(name, value, why);
    if (err == ERR_CONFIG && masked.secret)
        return config_refuse(loader, &masked, NULL, "librdkafka refuses this value");
    if (err != 0)
        return config_refuse(loader, &masked, value, "%s", why);
    put(loader->config,
        (struct property){role, config_keep(name), config_keep(value), masked.secret});
    return 0;
}

/* Returns the content of a file without the newlines at its end. Returns NULL and sets *why to a
   phrase on error. */
static char *read_whole(const char *path, const char **why)
{
    char *text = NULL;
    FILE *file = fopen(path, "re");
    *why = file == NULL ? strerror(errno) : NULL;
    if (file == NULL)
        return NULL;
    text = memory_or_end(malloc(PROPERTY_FILE_MAX + 1));
    errno = 0;
    size_t n = fread(text, 1, PROPERTY_FILE_MAX + 1, file);
    if (ferror(file))
        *why = strerror(errno);
    else if (n > PROPERTY_FILE_MAX)
        *why = "more than 1 MiB";
    else if (memchr(text, '\0', n) != NULL)
        *why = "not a text file: it contains a zero byte";
    fclose(file);
    if (*why != NULL) {
        free(text);
        return NULL;
    }
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    text[n] = '\0';
    return text;
}

int config_set_property_file(struct loader *loader, enum client_role role,
                             const struct setting *setting)
{
    const char *why;
    char *text = read_whole(setting->values[0], &why);
    if (text == NULL)
        return config_refuse(loader, setting, setting->values[0], "cannot read the file: %s", why);
    struct setting content = *setting;
    content.values = &text;
    content.secret = true;
    int err = config_set_property(loader, role, &content);
    free(text);
    return err;
}

const char *config_property(const struct config *config, enum client_role role, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < config->kafka_n; i++) {
        const struct property *p = &config->kafka[i];
        if (strcmp(p->name, name) != 0)
            continue;
        if (p->role == role)
            return p->value;
        if (p->role == CLIENT_ALL)
            value = p->value;
    }
    return value;
}
