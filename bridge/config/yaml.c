/* SPDX-License-Identifier: Apache-2.0 */
/* yaml: reads the file event by event, so that each error can name its line. */
#include "bridge/base/memory.h"
#include "bridge/config/property.h"
#include "bridge/config/yaml_parts.h"

#include <errno.h>
#include <stdlib.h>

/* Reads the value of a key, which is the current event. */
static int value_read(struct reader *r, const struct config_key *key)
{
    bool list = r->event.type == YAML_SEQUENCE_START_EVENT;
    int line = reader_line(r), err = 0;
    if (!list && r->event.type != YAML_SCALAR_EVENT)
        return reader_refuse(r, line, "%s: takes a value, not a map", key->name);
    if (list && !config_key_is_list(key))
        return reader_refuse(r, line, "%s: takes one value, not a list", key->name);
    const char *text = list ? "" : (const char *)r->event.data.scalar.value;
    if (!list && config_key_is_list(key))
        return reader_refuse(r, line, "%s: \"%s\": not a list: write [%s]", key->name, text, text);
    char where[WHERE_MAX], **items = NULL;
    size_t n = 0;
    snprintf(where, sizeof where, "%s:%d", r->path, line);
    if (list) {
        err = reader_list(r, key->name, &items, &n);
    } else {
        items = memory_or_end(malloc(sizeof *items));
        items[n] = reader_scalar(r);
        if (items[n++] == NULL)
            err = reader_refuse(r, line, "%s: has no value: give one, or leave the key out",
                                key->name);
    }
    struct setting setting = {where, key->name, items, n, false};
    if (err == 0)
        err = config_set(r->loader, key, &setting);
    for (size_t i = 0; i < n; i++)
        free(items[i]);
    free(items);
    return err;
}

static int map_read(struct reader *r, const char *prefix);

/* Describes an unknown key. A flag has a dot where the file has a map. */
static int refuse_name(struct reader *r, const char *prefix, const char *name, int line)
{
    const char *dot = strchr(name, '.');
    bool map = strncmp(name, "kafka.", 6) == 0 || strncmp(name, "log.", 4) == 0;
    if (*prefix == '\0' && map)
        return reader_refuse(r, line, "%s: unknown key: in a file it is '%s:' within '%.*s:'", name,
                             dot + 1, (int)(dot - name), name);
    char full[128], why[PROPERTY_ERROR_MAX];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const char *near = config_key_nearest(full);
    if (strcmp(full, "retries") == 0 && r->event.type == YAML_MAPPING_START_EVENT)
        near = "retry"; /* Kafka's property retries is a number */
    if (near != NULL)
        return reader_refuse(r, line, "%s: unknown key: did you mean %s?", full, near);
    if (*prefix == '\0' && property_check(name, "", why) != ERR_RANGE)
        return reader_refuse(r, line, "%s: unknown key: write Kafka properties within 'kafka:'",
                             name);
    return reader_refuse(r, line, "%s: unknown key ('delaybridge help --yaml' shows all)", full);
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
        return reader_refuse(r, line, "log: takes a map: {level: info, format: auto}");
    if (key == NULL || (strchr(name, '.') != NULL))
        return refuse_name(r, prefix, name, line);
    if (key->type == TYPE_TOPIC_SETTINGS)
        return r->event.type == YAML_MAPPING_START_EVENT
                   ? yaml_topics(r)
                   : reader_refuse(r, line, "%s: takes a map: {segment.bytes: default}", name);
    if (key->type == TYPE_RETRY)
        return r->event.type == YAML_MAPPING_START_EVENT
                   ? yaml_retry(r)
                   : reader_refuse(r, line, "%s: takes a map: {default: {delays: [5s, 30s]}}",
                                   name);
    if (key->type == TYPE_FILE)
        return yaml_file(r, key);
    if (key->type == TYPE_TARGETS && r->event.type == YAML_SEQUENCE_START_EVENT)
        return yaml_targets(r, key);
    if (key->type != TYPE_PROPERTIES)
        return value_read(r, key);
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return reader_refuse(r, line, "kafka: takes a map of properties");
    return yaml_properties(r, CLIENT_ALL);
}

/* Reads a map. The current event is its start. */
static int map_read(struct reader *r, const char *prefix)
{
    struct seen seen = {0};
    int err;
    while ((err = reader_next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        int line = reader_line(r);
        const char *name = reader_key(r, &seen);
        err = name == NULL ? ERR_CONFIG : reader_next(r);
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
    int err = reader_next(r); /* the stream starts */
    if (err == 0)
        err = reader_next(r);
    if (err != 0 || r->event.type == YAML_STREAM_END_EVENT)
        return err;
    if ((err = reader_next(r)) != 0)
        return err;
    bool empty = r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.length == 0;
    if (!empty && r->event.type != YAML_MAPPING_START_EVENT)
        return reader_refuse(r, reader_line(r), "not a map of keys: write KEY: VALUE");
    if (!empty && (err = map_read(r, "")) != 0)
        return err;
    err = reader_next(r); /* the document ends */
    if (err == 0)
        err = reader_next(r);
    if (err == 0 && r->event.type != YAML_STREAM_END_EVENT)
        return reader_refuse(r, reader_line(r), "a second document: write one document a file");
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
