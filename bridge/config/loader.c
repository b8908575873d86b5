/* SPDX-License-Identifier: Apache-2.0 */
/* loader: reads defaults, then the file, then the environment, then the flags. */
#include "bridge/config/config.h"

#include "bridge/config/loader.h"
#include "bridge/config/property.h"
#include "levels/topic_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int load_defaults(struct loader *loader)
{
    for (size_t i = 0; i < CONFIG_KEYS_N; i++) {
        const struct config_key *key = &CONFIG_KEYS[i];
        int err = key->initial == NULL ? 0 : config_set_text(loader, key, "", key->initial);
        if (err != 0)
            return err;
    }
    return 0;
}

/* Returns the file to read if no path is given, or NULL. */
static const char *default_file(void)
{
    static const char *const PATHS[] = {"./delaybridge.yaml", "/etc/delaybridge/delaybridge.yaml"};
    for (size_t i = 0; i < 2; i++)
        if (access(PATHS[i], F_OK) == 0 || errno != ENOENT)
            return PATHS[i];
    return NULL;
}

static int load_file(struct loader *loader, const char *path)
{
    if (path == NULL)
        path = default_file();
    if (path == NULL)
        return 0;
    loader->config->path = config_keep(path);
    return config_read_yaml(loader, path);
}

static void warn_unknown(void (*warn)(const char *sentence), const char *where, const char *why)
{
    char sentence[WHERE_MAX + PROPERTY_ERROR_MAX + 32];
    snprintf(sentence, sizeof sentence, "%s: unknown, ignored%s%s", where,
             why[0] == '\0' ? "" : ": ", why);
    if (warn != NULL)
        warn(sentence);
}

/* Writes "did you mean DELAYBRIDGE_LOG_LEVEL?" if a key is near the variable, else "". */
static void guess_variable(const char *name, char why[PROPERTY_ERROR_MAX])
{
    const char *near = config_key_nearest(name);
    why[0] = '\0';
    if (near == NULL)
        return;
    int n = snprintf(why, PROPERTY_ERROR_MAX, "did you mean DELAYBRIDGE_%s?", near);
    for (char *c = why + n - strlen(near) - 1; *c != '?'; c++)
        *c = *c == '.' ? '_' : (char)toupper((unsigned char)*c);
}

/* Sets the property of a variable: group.instance.id for KAFKA_GROUP_INSTANCE_ID. Returns ERR_RANGE
   for an unknown property. The caller ignores it, because for a service delaybridge-kafka
   Kubernetes sets DELAYBRIDGE_KAFKA_PORT. */
static int load_property_variable(struct loader *loader, const struct setting *given, char *name,
                                  char why[PROPERTY_ERROR_MAX])
{
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '_' ? '.' : (char)tolower((unsigned char)*c);
    const char *property = name;
    enum client_role role = config_role_cut(&property);
    if (property_check(property, given->values[0], why) == ERR_RANGE &&
        !property_is_java(property, why))
        return ERR_RANGE;
    struct setting setting = *given;
    setting.key = property;
    return config_set_property(loader, role, &setting);
}

/* name is the variable without DELAYBRIDGE_. */
static int load_variable(struct loader *loader, char *name, char *value,
                         void (*warn)(const char *sentence))
{
    char where[WHERE_MAX], why[PROPERTY_ERROR_MAX];
    snprintf(where, sizeof where, "variable DELAYBRIDGE_%s", name);
    const struct config_key *key = config_key_guess(name);
    int err = ERR_RANGE;
    guess_variable(name, why);
    if (strncmp(name, "KAFKA_", 6) == 0)
        err = load_property_variable(loader, &(struct setting){where, NULL, &value, 1, false},
                                     name + 6, why);
    else if (key != NULL)
        err = config_set_text(loader, key, where, value);
    if (err != ERR_RANGE)
        return err;
    warn_unknown(warn, where, why);
    return 0;
}

static int load_environment(struct loader *loader, void (*warn)(const char *sentence))
{
    static const char PREFIX[] = "DELAYBRIDGE_";
    int err = 0;
    for (char **at = environ; err == 0 && *at != NULL; at++) {
        if (strncmp(*at, PREFIX, sizeof PREFIX - 1) != 0 || strchr(*at, '=') == NULL)
            continue;
        char *name = config_keep(*at + sizeof PREFIX - 1);
        char *value = strchr(name, '=');
        *value++ = '\0';
        err = load_variable(loader, name, value, warn);
        free(name);
    }
    return err;
}

/* text is the NAME=VALUE after -X, --kafka or --kafka-hops. */
static int load_property_flag(struct loader *loader, enum client_role role, const char *flag,
                              const char *text)
{
    char where[WHERE_MAX], *copy = config_keep(text), *value = strchr(copy, '=');
    snprintf(where, sizeof where, "flag %s", flag);
    struct setting setting = {where, "property", NULL, 0, false};
    int err;
    if (value == NULL || value == copy) {
        err = config_refuse(loader, &setting, text, "not NAME=VALUE, such as linger.ms=5");
    } else {
        *value++ = '\0';
        const char *name = copy;
        if (role == CLIENT_ALL)
            role = config_role_cut(&name);
        setting = (struct setting){where, name, &value, 1, false};
        err = config_set_property(loader, role, &setting);
    }
    free(copy);
    return err;
}

static int load_value_flag(struct loader *loader, const struct config_key *key, const char *flag,
                           const char *value)
{
    char where[WHERE_MAX];
    if (key == NULL)
        return load_property_flag(loader, CLIENT_ALL, flag, value);
    const char *dot = strchr(key->name, '.');
    if (key->type == TYPE_PROPERTIES)
        return load_property_flag(loader, dot == NULL ? CLIENT_ALL : config_role(dot + 1), flag,
                                  value);
    snprintf(where, sizeof where, "flag %s", flag);
    return config_set_text(loader, key, where, value);
}

/* Reads the flag at argv[0]. Returns how many arguments it takes, 0 if it is not in the table, or
   an error. */
static int load_flag(struct loader *loader, int argc, char **argv)
{
    bool property = strncmp(argv[0], "-X", 2) == 0;
    if (!property && (strncmp(argv[0], "--", 2) != 0 || argv[0][2] == '\0'))
        return 0;
    char name[64];
    size_t name_n = property ? 2 : strcspn(argv[0], "=");
    snprintf(name, sizeof name, "%.*s", (int)name_n, argv[0]);
    const struct config_key *key = property ? NULL : config_key_guess(name + 2);
    if (!property && (key == NULL || name_n >= sizeof name))
        return 0;
    const char *value = argv[0][name_n] == '\0' ? NULL : argv[0] + name_n + !property;
    int taken = value == NULL ? 2 : 1;
    if (taken > argc)
        return error_set(loader->error, ERR_CONFIG, "flag %s: needs a value", name);
    int err = load_value_flag(loader, key, name, value == NULL ? argv[1] : value);
    return err != 0 ? err : taken;
}

/* Arguments after "--" are not flags. */
static int load_flags(struct loader *loader, int *argc, char **argv)
{
    int kept = 0, i = 0;
    while (i < *argc && strcmp(argv[i], "--") != 0) {
        int taken = load_flag(loader, *argc - i, argv + i);
        if (taken < 0)
            return taken;
        if (taken == 0)
            argv[kept++] = argv[i++];
        i += taken;
    }
    while (i < *argc)
        argv[kept++] = argv[i++];
    *argc = kept;
    return 0;
}

static void default_group(struct config *c)
{
    char group[TOPIC_NAME_MAX + 32];
    if (c->group != NULL)
        return;
    snprintf(group, sizeof group, "delaybridge.%s", c->schedule);
    c->group = config_keep(group);
}

int config_load(struct config *config, const char *path, int *argc, char **argv,
                void (*warn)(const char *sentence), struct error *error)
{
    struct loader loader = {.config = config, .error = error};
    memset(config, 0, sizeof *config);
    error->text[0] = '\0';
    int err = load_defaults(&loader);
    if (err == 0)
        err = load_file(&loader, path);
    if (err == 0)
        err = load_environment(&loader, warn);
    if (err == 0)
        err = load_flags(&loader, argc, argv);
    if (err == 0)
        err = config_check(&loader);
    free(loader.retry_where);
    if (err == 0) {
        default_group(config);
        return 0;
    }
    config_deinit(config);
    return err;
}

void config_deinit(struct config *c)
{
    for (size_t i = 0; i < c->kafka_n; i++) {
        free(c->kafka[i].name);
        free(c->kafka[i].value);
    }
    config_free_targets(c);
    config_free_topics(c);
    config_free_retry(c);
    free(c->kafka);
    free(c->path);
    free(c->group);
    free(c->schedule);
    free(c->default_target);
    free(c->compat_policy);
    free(c->listen);
    free(c->admin);
    free(c->admin_token);
    memset(c, 0, sizeof *c);
}
