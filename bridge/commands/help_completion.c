/* SPDX-License-Identifier: Apache-2.0 */
/* Shell completion. It offers words from the tables, and files if the value is a path. */
#include "bridge/commands/help_print.h"
#include "bridge/config/loader.h"

#include <string.h>

static void print_names(FILE *out, const struct option *table)
{
    for (const struct option *o = table; o->name != NULL; o++)
        fprintf(out, " %s", o->name);
}

/* Prints words such as "text|json" separated by spaces. */
static void print_words(FILE *out, const char *words)
{
    for (const char *c = words; *c != '\0'; c++)
        fputc(*c == '|' ? ' ' : *c, out);
}

/* How a shell offers the values of one option. */
struct shell {
    const char *files, *words, *words_end, *nothing;
};

/* Prints cases of "COMMAND,OPTION". OPTION is the word before the one to complete. */
static void print_value_cases(FILE *out, const struct shell *shell, const char *command,
                              const struct option *table)
{
    for (const struct option *o = table; o->name != NULL; o++) {
        if (o->kind == OPTION_SWITCH)
            continue;
        fprintf(out, "    %s,%s) ", command, o->name);
        if (o->kind == OPTION_CHOICE) {
            fputs(shell->words, out);
            print_words(out, o->choices);
            fputs(shell->words_end, out);
        } else {
            fputs(o->kind == OPTION_FILE ? shell->files : shell->nothing, out);
        }
        fputs("return ;;\n", out);
    }
}

static void print_all_value_cases(FILE *out, const struct shell *shell)
{
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        print_value_cases(out, shell, c->name, c->options);
    print_value_cases(out, shell, "*", COMMON_OPTIONS);
}

static void print_commands(FILE *out)
{
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        fprintf(out, " %s", c->name);
}

/* Prints for each command the words of its operand and its options, between prefix and end. */
static void print_command_cases(FILE *out, const char *prefix, const char *end)
{
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        if (c->words == NULL && c->options[0].name == NULL)
            continue;
        fprintf(out, "    %s) %s", c->name, prefix);
        if (c->run == cmd_help)
            print_commands(out);
        if (c->words != NULL) {
            fputc(' ', out);
            print_words(out, c->words);
        }
        print_names(out, c->options);
        fputs(end, out);
    }
}

static void print_keys(FILE *out)
{
    for (size_t i = 0; i < CONFIG_KEYS_N; i++) {
        if (CONFIG_KEYS[i].type == TYPE_PROPERTIES)
            continue;
        char flag[CONFIG_FLAG_MAX];
        fprintf(out, " --%s", config_key_flag(&CONFIG_KEYS[i], flag));
    }
}

static void print_bash(FILE *out)
{
    static const struct shell BASH = {"COMPREPLY=($(compgen -f -- \"$word\")); ",
                                      "COMPREPLY=($(compgen -W '", "' -- \"$word\")); ",
                                      "COMPREPLY=(); "};
    fputs("# bash completion for delaybridge. Printed by: delaybridge help --completion bash\n"
          "_delaybridge() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words\n"
          "    case ${COMP_WORDS[1]},$before in\n",
          out);
    print_all_value_cases(out, &BASH);
    fputs("    esac\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          out);
    print_commands(out);
    fputs("' -- \"$word\"))\n        return\n    fi\n    words='-X", out);
    print_names(out, COMMON_OPTIONS);
    print_keys(out);
    fputs("'\n    case ${COMP_WORDS[1]} in\n", out);
    print_command_cases(out, "words+='", "' ;;\n");
    fputs("    esac\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "}\n"
          "complete -F _delaybridge delaybridge\n",
          out);
}

static void print_zsh_word(FILE *out, const char *word, const char *help)
{
    fprintf(out, "        '%s:", word);
    for (const char *c = help; *c != '\0'; c++) {
        if (*c == '\'')
            fputs("'\\''", out);
        else
            fputc(*c, out);
    }
    fputs("'\n", out);
}

static void print_zsh(FILE *out)
{
    static const struct shell ZSH = {"_files; ", "compadd -- ", "; ", ""};
    fputs("#compdef delaybridge\n"
          "# zsh completion for delaybridge. Printed by: delaybridge help --completion zsh\n"
          "_delaybridge() {\n"
          "    local -a commands options\n"
          "    commands=(\n",
          out);
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        print_zsh_word(out, c->name, c->summary);
    fputs("    )\n    options=(-X", out);
    print_names(out, COMMON_OPTIONS);
    print_keys(out);
    fputs(")\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    case $words[2],$words[CURRENT-1] in\n",
          out);
    print_all_value_cases(out, &ZSH);
    fputs("    esac\n    case $words[2] in\n", out);
    print_command_cases(out, "compadd --", " ;;\n");
    fputs("    esac\n    compadd -- $options\n}\n_delaybridge \"$@\"\n", out);
}

int help_print_completion(FILE *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(out);
    else
        return ERR_RANGE;
    return 0;
}
