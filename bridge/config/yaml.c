/* SPDX-License-Identifier: Apache-2.0 */
/* yaml: reads the file event by event, so that each error can name its line. */
#include "bridge/base/memory.h"
#include "bridge/config/loader.h"
#include "bridge/config/property.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <yaml.h>

struct reader {
    struct loader *loader;
    const char *path;
    yaml_parser_t parser;
    yaml_event_t event; /* the current event; its texts are valid until the next one */
};

/* The keys read so far of one map. */
struct seen {
    char **names;
    int *lines;
    size_t n;
};

static int line_of(const yaml_mark_t *mark)
{
    return (int)mark->line + 1;
}

__attribute__((format(printf, 3, 4))) static int refuse(struct reader *r, int line,
                                                        const char *format, ...)
{
    char why[ERROR_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return error_set(r->loader->error, ERR_CONFIG, "%s:%d: %s", r->path, line, why);
}

/* YAML takes a value that begins with * as an alias. */
static int refuse_syntax(struct reader *r)
{
    const char *problem = r->parser.problem, *context = r->parser.context;
    int line = line_of(&r->parser.problem_mark);
    if (context != NULL && strstr(context, "alias") != NULL)
        return refuse(r, line, "a value that begins with * needs quotes: write \"*\"");
    return refuse(r, line, "not YAML: %s", problem != NULL ? problem : "unreadable");
}

static int next(struct reader *r)
{
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event))
        return refuse_syntax(r);
    if (r->event.type == YAML_ALIAS_EVENT)
        return refuse(
            r, line_of(&r->event.start_mark),
            "a value that begins with * needs quotes: write \"*%s\" (aliases are not supported)",
            (const char *)r->event.data.alias.anchor);
    return 0;
}

static int line_here(const struct reader *r)
{
    return line_of(&r->event.start_mark);
}

/* Returns a copy of the scalar in the current event, or NULL for an empty one. The caller frees it.
 */
static char *scalar(const struct reader *r)
{
    const char *text = (const char *)r->event.data.scalar.value;
    bool quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (!quoted && (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
        return NULL;
    return config_keep(text);
}

static void seen_deinit(struct seen *seen)
{
    for (size_t i = 0; i < seen->n; i++)
        free(seen->names[i]);
    free(seen->names);
    free(seen->lines);
}

/* Reads the key in the current event. Returns its name, which seen owns, or NULL on error. */
static const char *key_read(struct reader *r, struct seen *seen)
{
    int line = line_here(r);
    if (r->event.type != YAML_SCALAR_EVENT || r->event.data.scalar.length == 0 ||
        strlen((const char *)r->event.data.scalar.value) != r->event.data.scalar.length) {
        refuse(r, line, "not a key: keys are plain text");
        return NULL;
    }
    const char *name = (const char *)r->event.data.scalar.value;
    for (size_t i = 0; i < seen->n; i++)
        if (strcmp(seen->names[i], name) == 0) {
            refuse(r, line, "%s: is set twice: first in line %d", name, seen->lines[i]);
            return NULL;
        }
    seen->names = memory_or_end(realloc(seen->names, (seen->n + 1) * sizeof *seen->names));
    seen->lines = memory_or_end(realloc(seen->lines, (seen->n + 1) * sizeof *seen->lines));
    seen->names[seen->n] = config_keep(name);
    seen->lines[seen->n] = line;
    return seen->names[seen->n++];
}

/* Reads the scalars of a sequence. The current event is its start. */
static int list_read(struct reader *r, const char *name, char ***items, size_t *n)
{
    int err;
    while ((err = next(r)) == 0 && r->event.type != YAML_SEQUENCE_END_EVENT) {
        char *item = r->event.type == YAML_SCALAR_EVENT ? scalar(r) : NULL;
        if (item == NULL)
            return refuse(r, line_here(r), "%s: item %zu is not a plain value", name, *n + 1);
        *items = memory_or_end(realloc(*items, (*n + 1) * sizeof **items));
        (*items)[(*n)++] = item;
    }
    return err;
}

/* Reads the value of a key, which is the current event. */
static int value_read(struct reader *r, const struct config_key *key)
{
    bool list = r->event.type == YAML_SEQUENCE_START_EVENT;
    int line = line_here(r), err = 0;
    if (!list && r->event.type != YAML_SCALAR_EVENT)
        return refuse(r, line, "%s: takes a value, not a map", key->name);
    if (list && !config_key_is_list(key))
        return refuse(r, line, "%s: takes one value, not a list", key->name);
    const char *text = list ? "" : (const char *)r->event.data.scalar.value;
    if (!list && config_key_is_list(key))
        return refuse(r, line, "%s: \"%s\": not a list: write [%s]", key->name, text, text);
    char where[WHERE_MAX], **items = NULL;
    size_t n = 0;
    snprintf(where, sizeof where, "%s:%d", r->path, line);
    if (list) {
        err = list_read(r, key->name, &items, &n);
    } else {
        items = memory_or_end(malloc(sizeof *items));
        items[n] = scalar(r);
        if (items[n++] == NULL)
            err = refuse(r, line, "%s: has no value: give one, or leave the key out", key->name);
    }
    struct setting setting = {where, key->name, items, n, false};
    if (err == 0)
        err = config_set(r->loader, key, &setting);
    for (size_t i = 0; i < n; i++)
        free(items[i]);
    free(items);
    return err;
}

/* Reads the map {file: PATH}. The current event is its start. accepted: for an error, all values
   that the key accepts. */
static int file_read(struct reader *r, const char *name, const char *accepted, char **path)
{
    int err = next(r);
    if (err != 0)
        return err;
    bool fits = r->event.type == YAML_SCALAR_EVENT &&
                strcmp((const char *)r->event.data.scalar.value, "file") == 0;
    if (fits && (err = next(r)) != 0)
        return err;
    *path = fits && r->event.type == YAML_SCALAR_EVENT ? scalar(r) : NULL;
    if (*path != NULL && (err = next(r)) != 0)
        return err;
    if (*path == NULL || r->event.type != YAML_MAPPING_END_EVENT)
        return refuse(r, line_here(r), "%s: takes %s", name, accepted);
    return 0;
}

/* Reads the value of a property, which is the current event. */
static int property_read(struct reader *r, enum client_role role, const char *name)
{
    bool in_file = r->event.type == YAML_MAPPING_START_EVENT;
    int line = line_here(r), err = 0;
    char where[WHERE_MAX], full[WHERE_MAX], *value = NULL;
    snprintf(where, sizeof where, "%s:%d", r->path, line);
    snprintf(full, sizeof full, "kafka: %s", name);
    if (in_file)
        err = file_read(r, full, "a value or {file: PATH}", &value);
    else if (r->event.type == YAML_SCALAR_EVENT)
        value = scalar(r);
    else
        return refuse(r, line, "kafka: %s: takes one value, not a list", name);
    if (err == 0 && value == NULL)
        err = refuse(r, line, "kafka: %s: has no value: give one, or leave the key out", name);
    struct setting setting = {where, name, &value, 1, false};
    if (err == 0)
        err = in_file ? config_set_property_file(r->loader, role, &setting)
                      : config_set_property(r->loader, role, &setting);
    free(value);
    return err;
}

/* Reads a key that is only given as {file: PATH}. The current event is its value, which an error
   must not quote: it may be the secret itself. */
static int key_file_read(struct reader *r, const struct config_key *key)
{
    static const char ACCEPTED[] = "a map: {file: PATH}";
    int line = line_here(r);
    char where[WHERE_MAX], *path = NULL;
    snprintf(where, sizeof where, "%s:%d", r->path, line);
    int err = r->event.type == YAML_MAPPING_START_EVENT
                  ? file_read(r, key->name, ACCEPTED, &path)
                  : refuse(r, line, "%s: takes %s", key->name, ACCEPTED);
    if (err == 0)
        err = config_set(r->loader, key, &(struct setting){where, key->name, &path, 1, false});
    free(path);
    return err;
}

/* Reads the map kafka, or the map of a role inside it. The current event is its start. */
static int properties_read(struct reader *r, enum client_role role)
{
    struct seen seen = {0};
    int err;
    while ((err = next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        const char *name = key_read(r, &seen);
        err = name == NULL ? ERR_CONFIG : next(r);
        if (err != 0)
            break;
        enum client_role inner = role == CLIENT_ALL ? config_role(name) : CLIENT_ALL;
        if (inner == CLIENT_ALL)
            err = property_read(r, role, name);
        else if (r->event.type != YAML_MAPPING_START_EVENT)
            err = refuse(r, line_here(r), "kafka: %s: takes a map of properties", name);
        else
            err = properties_read(r, inner);
        if (err != 0)
            break;
    }
    seen_deinit(&seen);
    return err;
}

/* Reads the map topic_settings. The current event is its start. */
static int topics_read(struct reader *r)
{
    struct seen seen = {0};
    int err;
    while ((err = next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        const char *name = key_read(r, &seen);
        err = name == NULL ? ERR_CONFIG : next(r);
        if (err == 0 && r->event.type != YAML_SCALAR_EVENT)
            err = refuse(r, line_here(r), "topic_settings: %s: takes one value or default", name);
        if (err != 0)
            break;
        char where[WHERE_MAX], *value = scalar(r);
        snprintf(where, sizeof where, "%s:%d", r->path, line_here(r));
        err = config_set_topic(r->loader, &(struct setting){where, name, &value, 1, false});
        free(value);
        if (err != 0)
            break;
    }
    seen_deinit(&seen);
    return err;
}

/* Reads a field of a policy. The current event is its value. */
static int retry_field_read(struct reader *r, const char *policy, const char *field)
{
    char where[WHERE_MAX], full[WHERE_MAX], **values = NULL;
    bool list = r->event.type == YAML_SEQUENCE_START_EVENT;
    size_t n = 0;
    int err = 0;
    snprintf(where, sizeof where, "%s:%d", r->path, line_here(r));
    snprintf(full, sizeof full, "%s.%s", policy, field);
    if (list) {
        err = list_read(r, full, &values, &n);
    } else {
        values = memory_or_end(malloc(sizeof *values));
        values[n] = r->event.type == YAML_SCALAR_EVENT ? scalar(r) : NULL;
        if (values[n++] == NULL)
            err = refuse(r, line_here(r), "retry: %s: takes a value or a list", full);
    }
    struct setting setting = {where, full, values, n, false};
    if (err == 0)
        err = config_set_retry(r->loader, &setting);
    for (size_t i = 0; i < n; i++)
        free(values[i]);
    free(values);
    return err;
}

/* Reads the map of a policy, or of all policies if policy is NULL. The current event is its start.
 */
static int retry_read(struct reader *r, const char *policy)
{
    struct seen seen = {0};
    int err;
    while ((err = next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        const char *name = key_read(r, &seen);
        err = name == NULL ? ERR_CONFIG : next(r);
        if (err == 0 && policy == NULL && r->event.type != YAML_MAPPING_START_EVENT)
            err = refuse(r, line_here(r), "retry: %s: takes a map: {delays: [5s, 30s]}", name);
        if (err == 0)
            err = policy == NULL ? retry_read(r, name) : retry_field_read(r, policy, name);
        if (err != 0)
            break;
    }
    if (err == 0 && policy != NULL && seen.n == 0)
        err = refuse(r, line_here(r), "retry: %s: is empty: give {delays: [5s, 30s]}", policy);
    seen_deinit(&seen);
    return err;
}

static int map_read(struct reader *r, const char *prefix);

/* Describes an unknown key. A flag has a dot where the file has a map. */
static int refuse_name(struct reader *r, const char *prefix, const char *name, int line)
{
    const char *dot = strchr(name, '.');
    bool map = strncmp(name, "kafka.", 6) == 0 || strncmp(name, "log.", 4) == 0;
    if (*prefix == '\0' && map)
        return refuse(r, line, "%s: unknown key: in a file it is '%s:' within '%.*s:'", name,
                      dot + 1, (int)(dot - name), name);
    char full[128], why[PROPERTY_ERROR_MAX];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const char *near = config_key_nearest(full);
    if (strcmp(full, "retries") == 0 && r->event.type == YAML_MAPPING_START_EVENT)
        near = "retry"; /* Kafka's property retries is a number */
    if (near != NULL)
        return refuse(r, line, "%s: unknown key: did you mean %s?", full, near);
    if (*prefix == '\0' && property_check(name, "", why) != ERR_RANGE)
        return refuse(r, line, "%s: unknown key: write Kafka properties within 'kafka:'", name);
    return refuse(r, line, "%s: unknown key ('delaybridge help --yaml' shows all)", full);
}

/* Reads the value of name in the map prefix. The current event is the value. */
static int entry_read(struct reader *r, const char *prefix, const char *name, int line)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const struct config_key *key = config_key_find(full);
    if (strcmp(full, "log") == 0 && r->event.type == YAML_MAPPING_START_EVENT)
        return map_read(r, "log.");
    if (strcmp(full, "log") == 0)
        return refuse(r, line, "log: takes a map: {level: info, format: auto}");
    if (key == NULL || (strchr(name, '.') != NULL))
        return refuse_name(r, prefix, name, line);
    if (key->type == TYPE_TOPIC_SETTINGS)
        return r->event.type == YAML_MAPPING_START_EVENT
                   ? topics_read(r)
                   : refuse(r, line, "%s: takes a map: {segment.bytes: default}", name);
    if (key->type == TYPE_RETRY)
        return r->event.type == YAML_MAPPING_START_EVENT
                   ? retry_read(r, NULL)
                   : refuse(r, line, "%s: takes a map: {default: {delays: [5s, 30s]}}", name);
    if (key->type == TYPE_FILE)
        return key_file_read(r, key);
    if (key->type != TYPE_PROPERTIES)
        return value_read(r, key);
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return refuse(r, line, "kafka: takes a map of properties");
    return properties_read(r, CLIENT_ALL);
}

/* Reads a map. The current event is its start. */
static int map_read(struct reader *r, const char *prefix)
{
    struct seen seen = {0};
    int err;
    while ((err = next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        int line = line_here(r);
        const char *name = key_read(r, &seen);
        err = name == NULL ? ERR_CONFIG : next(r);
        if (err == 0)
            err = entry_read(r, prefix, name, line);
        if (err != 0)
            break;
    }
    seen_deinit(&seen);
    return err;
}

/* An empty file has no keys. */
static int document_read(struct reader *r)
{
    int err = next(r); /* the stream starts */
    if (err == 0)
        err = next(r);
    if (err != 0 || r->event.type == YAML_STREAM_END_EVENT)
        return err;
    if ((err = next(r)) != 0)
        return err;
    bool empty = r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.length == 0;
    if (!empty && r->event.type != YAML_MAPPING_START_EVENT)
        return refuse(r, line_here(r), "not a map of keys: write KEY: VALUE");
    if (!empty && (err = map_read(r, "")) != 0)
        return err;
    err = next(r); /* the document ends */
    if (err == 0)
        err = next(r);
    if (err == 0 && r->event.type != YAML_STREAM_END_EVENT)
        return refuse(r, line_here(r), "a second document: write one document a file");
    return err;
}

int config_read_yaml(struct loader *loader, const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return error_set(loader->error, ERR_CONFIG, "%s: %s", path, strerror(errno));
    struct reader r = {.loader = loader, .path = path};
    if (!yaml_parser_initialize(&r.parser)) {
        fclose(file);
        return ERR_NO_MEMORY;
    }
    yaml_parser_set_input_file(&r.parser, file);
    int err = document_read(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    fclose(file);
    return err;
}
