/* SPDX-License-Identifier: Apache-2.0 */
/* The keys whose value is a map: kafka, topic_settings, retry, and files with secrets. */
#include "bridge/base/memory.h"
#include "bridge/config/yaml_parts.h"

#include <stdlib.h>
#include <string.h>

/* Reads the map {file: PATH}. The current event is its start. accepted: for an error, all values
   that the key accepts. */
static int file_read(struct reader *r, const char *name, const char *accepted, char **path)
{
    int err = reader_next(r);
    if (err != 0)
        return err;
    bool fits = r->event.type == YAML_SCALAR_EVENT &&
                strcmp((const char *)r->event.data.scalar.value, "file") == 0;
    if (fits && (err = reader_next(r)) != 0)
        return err;
    *path = fits && r->event.type == YAML_SCALAR_EVENT ? reader_scalar(r) : NULL;
    if (*path != NULL && (err = reader_next(r)) != 0)
        return err;
    if (*path == NULL || r->event.type != YAML_MAPPING_END_EVENT)
        return reader_refuse(r, reader_line(r), "%s: takes %s", name, accepted);
    return 0;
}

/* Reads the value of a property, which is the current event. */
static int property_read(struct reader *r, enum client_role role, const char *name)
{
    bool in_file = r->event.type == YAML_MAPPING_START_EVENT;
    int line = reader_line(r), err = 0;
    char where[WHERE_MAX], full[WHERE_MAX], *value = NULL;
    snprintf(where, sizeof where, "%s:%d", r->path, line);
    snprintf(full, sizeof full, "kafka: %s", name);
    if (in_file)
        err = file_read(r, full, "a value or {file: PATH}", &value);
    else if (r->event.type == YAML_SCALAR_EVENT)
        value = reader_scalar(r);
    else
        return reader_refuse(r, line, "kafka: %s: takes one value, not a list", name);
    if (err == 0 && value == NULL)
        err =
            reader_refuse(r, line, "kafka: %s: has no value: give one, or leave the key out", name);
    struct setting setting = {where, name, &value, 1, false};
    if (err == 0)
        err = in_file ? config_set_property_file(r->loader, role, &setting)
                      : config_set_property(r->loader, role, &setting);
    free(value);
    return err;
}

/* Reads a key that is only given as {file: PATH}. The current event is its value, which an error
   must not quote: it may be the secret itself. */
int yaml_file(struct reader *r, const struct config_key *key)
{
    static const char ACCEPTED[] = "a map: {file: PATH}";
    int line = reader_line(r);
    char where[WHERE_MAX], *path = NULL;
    snprintf(where, sizeof where, "%s:%d", r->path, line);
    int err = r->event.type == YAML_MAPPING_START_EVENT
                  ? file_read(r, key->name, ACCEPTED, &path)
                  : reader_refuse(r, line, "%s: takes %s", key->name, ACCEPTED);
    if (err == 0)
        err = config_set(r->loader, key, &(struct setting){where, key->name, &path, 1, false});
    free(path);
    return err;
}

/* Reads the map kafka, or the map of a role inside it. The current event is its start. */
int yaml_properties(struct reader *r, enum client_role role)
{
    struct seen seen = {0};
    int err;
    while ((err = reader_next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        const char *name = reader_key(r, &seen);
        err = name == NULL ? ERR_CONFIG : reader_next(r);
        if (err != 0)
            break;
        enum client_role inner = role == CLIENT_ALL ? config_role(name) : CLIENT_ALL;
        if (inner == CLIENT_ALL)
            err = property_read(r, role, name);
        else if (r->event.type != YAML_MAPPING_START_EVENT)
            err = reader_refuse(r, reader_line(r), "kafka: %s: takes a map of properties", name);
        else
            err = yaml_properties(r, inner);
        if (err != 0)
            break;
    }
    seen_deinit(&seen);
    return err;
}

/* Reads the map topic_settings. The current event is its start. */
int yaml_topics(struct reader *r)
{
    struct seen seen = {0};
    int err;
    while ((err = reader_next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        const char *name = reader_key(r, &seen);
        err = name == NULL ? ERR_CONFIG : reader_next(r);
        if (err == 0 && r->event.type != YAML_SCALAR_EVENT)
            err = reader_refuse(r, reader_line(r), "topic_settings: %s: takes one value or default",
                                name);
        if (err != 0)
            break;
        char where[WHERE_MAX], *value = reader_scalar(r);
        snprintf(where, sizeof where, "%s:%d", r->path, reader_line(r));
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
    snprintf(where, sizeof where, "%s:%d", r->path, reader_line(r));
    snprintf(full, sizeof full, "%s.%s", policy, field);
    if (list) {
        err = reader_list(r, full, &values, &n);
    } else {
        values = memory_or_end(malloc(sizeof *values));
        values[n] = r->event.type == YAML_SCALAR_EVENT ? reader_scalar(r) : NULL;
        if (values[n++] == NULL)
            err = reader_refuse(r, reader_line(r), "retry: %s: takes a value or a list", full);
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
    while ((err = reader_next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        const char *name = reader_key(r, &seen);
        err = name == NULL ? ERR_CONFIG : reader_next(r);
        if (err == 0 && policy == NULL && r->event.type != YAML_MAPPING_START_EVENT)
            err = reader_refuse(r, reader_line(r), "retry: %s: takes a map: {delays: [5s, 30s]}",
                                name);
        if (err == 0)
            err = policy == NULL ? retry_read(r, name) : retry_field_read(r, policy, name);
        if (err != 0)
            break;
    }
    if (err == 0 && policy != NULL && seen.n == 0)
        err = reader_refuse(r, reader_line(r), "retry: %s: is empty: give {delays: [5s, 30s]}",
                            policy);
    seen_deinit(&seen);
    return err;
}

int yaml_retry(struct reader *r)
{
    return retry_read(r, NULL);
}
