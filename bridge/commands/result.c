/* SPDX-License-Identifier: Apache-2.0 */
/* Prints results to stdout and errors to stderr. */
#include "bridge/commands/result.h"

#include "bridge/commands/output.h"
#include "levels/base64.h"
#include "levels/instant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_MAX = 4096, SHOWN_MAX = 400 };
static const char WARNING[] = "warning: "; /* a sentence begins with it; JSON has a key instead */

/* Returns the code of an error object for an exit code. It is part of the JSON contract. */
static const char *code_text(int code)
{
    switch ((enum exit_code)code) {
    case EXIT_USAGE:
        return "usage";
    case EXIT_DATA:
        return "data";
    case EXIT_UNREACHABLE:
        return "unreachable";
    case EXIT_CONFIG:
        return "config";
    case EXIT_PARTIAL:
        return "partial";
    case EXIT_INTERNAL:
    case EXIT_DONE:
    case EXIT_NOT_FOUND:
        break;
    }
    return "internal";
}

/* Returns the sentence as JSON. '?' replaces quoted bytes that are not UTF-8. */
static json_t *sentence_json(char *sentence)
{
    json_t *text = json_string(sentence);
    for (char *c = sentence; text == NULL && *c != '\0'; c++)
        if ((unsigned char)*c > 0x7e)
            *c = '?';
    return text != NULL ? text : json_string(sentence);
}

static void print_error_object(int code, char *sentence)
{
    json_t *object = json_pack("{s:o}", "message", sentence_json(sentence));
    if (code != EXIT_DONE)
        json_object_set_new(object, "code", json_string(code_text(code)));
    object = json_pack("{s:o}", code == EXIT_DONE ? "warning" : "error", object);
    json_dumpf(object, stderr, JSON_COMPACT | JSON_SORT_KEYS);
    fputc('\n', stderr);
    json_decref(object);
}

int complain(const struct cli *cli, int code, const char *format, ...)
{
    char sentence[SENTENCE_MAX];
    const size_t prefix = sizeof WARNING - 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (cli->output != NULL) {
        cli->output->sentence(cli->output->ctx, code, sentence);
        return code;
    }
    fflush(stdout);
    if (cli->json)
        print_error_object(code, sentence + (strncmp(sentence, WARNING, prefix) == 0 ? prefix : 0));
    else
        fprintf(stderr, "delaybridge: %s\n", sentence);
    return code;
}

void print_json(json_t *value)
{
    json_dumpf(value, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(value);
}

void give_json(const struct cli *cli, json_t *value)
{
    if (cli->output == NULL)
        print_json(value);
    else
        cli->output->result(cli->output->ctx, value);
}

json_t *instant_json(int64_t wall_ms)
{
    char text[INSTANT_TEXT_MAX];
    return json_string(instant_format(wall_ms, text));
}

json_t *bytes_json(struct bytes bytes)
{
    if (bytes_is_null(bytes))
        return json_null();
    json_t *text = json_stringn(bytes.data, bytes.len);
    if (text != NULL)
        return text;
    char *encoded = base64_encode(bytes);
    json_t *wrapped = json_pack("{s:s}", "base64", encoded);
    free(encoded);
    return wrapped;
}

static bool is_text(struct bytes bytes)
{
    json_t *text = json_stringn(bytes.data, bytes.len); /* checks that it is UTF-8 */
    bool is = text != NULL;
    json_decref(text);
    return is;
}

void print_bytes(struct bytes bytes)
{
    const unsigned char *at = bytes.data;
    unsigned highest = at == NULL || is_text(bytes) ? 0xff : 0x7e;
    if (at == NULL) {
        fputs("null", stdout);
        return;
    }
    putchar('"');
    for (size_t i = 0; i < bytes.len && i < SHOWN_MAX; i++) {
        if (at[i] == '"' || at[i] == '\\')
            printf("\\%c", at[i]);
        else if (at[i] < 0x20 || at[i] == 0x7f || at[i] > highest)
            printf("\\x%02x", at[i]);
        else
            putchar(at[i]);
    }
    fputs(bytes.len > SHOWN_MAX ? "...\"" : "\"", stdout);
    if (bytes.len > SHOWN_MAX)
        printf(" (%zu bytes)", bytes.len);
}
