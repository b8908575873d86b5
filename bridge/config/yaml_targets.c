/* SPDX-License-Identifier: Apache-2.0 */
/* The list `targets`: names, and maps such as {topic: orders.timeout, max_rate: 100/s}. */
#include "bridge/base/memory.h"
#include "bridge/config/yaml_parts.h"

#include <stdlib.h>
#include <string.h>

struct field {
    size_t entry; /* index in topics */
    char *name, *value;
    int line;
};

struct entries {
    char **topics;
    size_t topics_n;
    struct field *fields;
    size_t fields_n;
};

static void entries_deinit(struct entries *e)
{
    for (size_t i = 0; i < e->topics_n; i++)
        free(e->topics[i]);
    for (size_t i = 0; i < e->fields_n; i++) {
        free(e->fields[i].name);
        free(e->fields[i].value);
    }
    free(e->topics);
    free(e->fields);
}

/* Reads the value of a field, which is the current event. */
static int field_read(struct reader *r, struct entries *e, const char *name)
{
    char *value = r->event.type == YAML_SCALAR_EVENT ? reader_scalar(r) : NULL;
    if (value == NULL)
        return reader_refuse(r, reader_line(r), "targets: %s: takes one value", name);
    if (strcmp(name, "topic") == 0) {
        e->topics[e->topics_n - 1] = value;
        return 0;
    }
    e->fields = memory_or_end(realloc(e->fields, (e->fields_n + 1) * sizeof *e->fields));
    e->fields[e->fields_n++] = (struct field){.entry = e->topics_n - 1,
                                              .name = config_keep(name),
                                              .value = value,
                                              .line = reader_line(r)};
    return 0;
}

/* Reads the map of the last entry. The current event is its start. */
static int map_read(struct reader *r, struct entries *e)
{
    struct seen seen = {0};
    int line = reader_line(r), err;
    while ((err = reader_next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT) {
        const char *name = reader_key(r, &seen);
        err = name == NULL ? ERR_CONFIG : reader_next(r);
        if (err == 0)
            err = field_read(r, e, name);
        if (err != 0)
            break;
    }
    seen_deinit(&seen);
    if (err == 0 && e->topics[e->topics_n - 1] == NULL)
        err = reader_refuse(r, line,
                            "targets: item %zu has no topic: write {topic: orders.timeout, "
                            "max_rate: 100/s}",
                            e->topics_n);
    return err;
}

/* Reads one entry, which is the current event. */
static int entry_read(struct reader *r, struct entries *e)
{
    e->topics = memory_or_end(realloc(e->topics, (e->topics_n + 1) * sizeof *e->topics));
    e->topics[e->topics_n++] = NULL;
    if (r->event.type == YAML_MAPPING_START_EVENT)
        return map_read(r, e);
    char *topic = r->event.type == YAML_SCALAR_EVENT ? reader_scalar(r) : NULL;
    e->topics[e->topics_n - 1] = topic;
    return topic != NULL ? 0
                         : reader_refuse(r, reader_line(r),
                                         "targets: item %zu is not a topic or a map", e->topics_n);
}

static int set_fields(struct reader *r, const struct entries *e)
{
    int err = 0;
    for (size_t i = 0; err == 0 && i < e->fields_n; i++) {
        struct field *field = &e->fields[i];
        char where[WHERE_MAX];
        snprintf(where, sizeof where, "%s:%d", r->path, field->line);
        err =
            config_set_target_rule(r->loader, field->entry,
                                   &(struct setting){where, field->name, &field->value, 1, false});
    }
    return err;
}

int yaml_targets(struct reader *r, const struct config_key *key)
{
    struct entries e = {0};
    char where[WHERE_MAX];
    int err;
    snprintf(where, sizeof where, "%s:%d", r->path, reader_line(r));
    while ((err = reader_next(r)) == 0 && r->event.type != YAML_SEQUENCE_END_EVENT) {
        err = entry_read(r, &e);
        if (err != 0)
            break;
    }
    if (err == 0)
        err = config_set(r->loader, key,
                         &(struct setting){where, key->name, e.topics, e.topics_n, false});
    if (err == 0)
        err = set_fields(r, &e);
    entries_deinit(&e);
    return err;
}
