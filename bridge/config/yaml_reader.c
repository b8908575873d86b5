/* SPDX-License-Identifier: Apache-2.0 */
/* Events, lines, keys and lists of the file. */
#include "bridge/base/memory.h"
#include "bridge/config/yaml_parts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int line_of(const yaml_mark_t *mark)
{
    return (int)mark->line + 1;
}

__attribute__((format(printf, 3, 4))) int reader_refuse(struct reader *r, int line,
                                                        const char *format, ...)
{
    char why[ERROR_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return error_set(r->loader->error, ERR_CONFIG, "%s:%d: %s", r->path, line, why);
}

/* Returns the line of the byte at which the parser ended. It decodes bytes ahead of its marks. */
static int line_of_byte(const yaml_parser_t *parser)
{
    int line = 1;
    rewind(parser->input.file);
    for (size_t left = parser->problem_offset; left > 0; left--)
        line += getc(parser->input.file) == '\n';
    return line;
}

/* YAML takes a value that begins with * as an alias. */
static int refuse_syntax(struct reader *r)
{
    const yaml_parser_t *parser = &r->parser;
    const char *problem = parser->problem != NULL ? parser->problem : "unreadable";
    int line =
        parser->error == YAML_READER_ERROR ? line_of_byte(parser) : line_of(&parser->problem_mark);
    char at = strstr(problem, "start any token") != NULL ? (char)*parser->buffer.pointer : ' ';
    if (parser->context != NULL && strstr(parser->context, "alias") != NULL)
        return reader_refuse(r, line, "a value that begins with * needs quotes: write \"*\"");
    if (at == '\t' || strstr(problem, "tab character") != NULL)
        return reader_refuse(r, line, "YAML does not allow tabs for indentation: use spaces");
    if (at != ' ')
        return reader_refuse(r, line, "a value that begins with %c needs quotes", at);
    return reader_refuse(r, line, "not YAML: %s", problem);
}

int reader_next(struct reader *r)
{
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event))
        return refuse_syntax(r);
    if (r->event.type == YAML_ALIAS_EVENT)
        return reader_refuse(
            r, line_of(&r->event.start_mark),
            "a value that begins with * needs quotes: write \"*%s\" (aliases are not supported)",
            (const char *)r->event.data.alias.anchor);
    return 0;
}

int reader_line(const struct reader *r)
{
    return line_of(&r->event.start_mark);
}

/* Returns a copy of the scalar in the current event, or NULL for an empty one. The caller frees it.
 */
char *reader_scalar(const struct reader *r)
{
    const char *text = (const char *)r->event.data.scalar.value;
    bool quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (!quoted && (text[0] == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
        return NULL;
    return config_keep(text);
}

void seen_deinit(struct seen *seen)
{
    for (size_t i = 0; i < seen->n; i++)
        free(seen->names[i]);
    free(seen->names);
    free(seen->lines);
}

/* Reads the key in the current event. Returns its name, which seen owns, or NULL on error. */
const char *reader_key(struct reader *r, struct seen *seen)
{
    int line = reader_line(r);
    if (r->event.type != YAML_SCALAR_EVENT || r->event.data.scalar.length == 0 ||
        strlen((const char *)r->event.data.scalar.value) != r->event.data.scalar.length) {
        reader_refuse(r, line, "not a key: keys are plain text");
        return NULL;
    }
    const char *name = (const char *)r->event.data.scalar.value;
    for (size_t i = 0; i < seen->n; i++)
        if (strcmp(seen->names[i], name) == 0) {
            reader_refuse(r, line, "%s: is set twice: first in line %d", name, seen->lines[i]);
            return NULL;
        }
    seen->names = memory_or_end(realloc(seen->names, (seen->n + 1) * sizeof *seen->names));
    seen->lines = memory_or_end(realloc(seen->lines, (seen->n + 1) * sizeof *seen->lines));
    seen->names[seen->n] = config_keep(name);
    seen->lines[seen->n] = line;
    return seen->names[seen->n++];
}

/* Reads the scalars of a sequence. The current event is its start. */
int reader_list(struct reader *r, const char *name, char ***items, size_t *n)
{
    int err;
    while ((err = reader_next(r)) == 0 && r->event.type != YAML_SEQUENCE_END_EVENT) {
        char *item = r->event.type == YAML_SCALAR_EVENT ? reader_scalar(r) : NULL;
        if (item == NULL)
            return reader_refuse(r, reader_line(r), "%s: item %zu is not a plain value", name,
                                 *n + 1);
        *items = memory_or_end(realloc(*items, (*n + 1) * sizeof **items));
        (*items)[(*n)++] = item;
    }
    return err;
}
