/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for shells: words from the tables, files where a value is a path. */
#include "bridge/commands/command.h"
#include "bridge/commands/help_print.h"
#include "bridge/config/loader.h"

#include <ctype.h>
#include <string.h>

/* The long options that a command's own help names: "--delay", "--limit". */
static void print_own_options(FILE *out, const char *text)
{
    for (const char *at = strstr(text, "--"); at != NULL; at = strstr(at, "--")) {
        size_t n = 2;
        while (isalpha((unsigned char)at[n]) || (n > 2 && at[n] == '-'))
            n++;
        if (n > 2)
            fprintf(out, " %.*s", (int)n, at);
        at += n;
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
    fputs("# bash completion for delaybridge. Printed by: delaybridge help --completion bash\n"
          "_delaybridge() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words\n"
          "    case $before in\n"
          "    -c) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
          "    -o) COMPREPLY=($(compgen -W 'text json' -- \"$word\")); return ;;\n"
          "    esac\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        words='",
          out);
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        fprintf(out, "%s%s", c == COMMANDS ? "" : " ", c->name);
    fputs("'\n    else\n        words='-c -o -X --timeout", out);
    print_keys(out);
    fputs("'\n        case ${COMP_WORDS[1]} in\n        topics) words+=' plan apply' ;;\n", out);
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        if (strstr(c->arguments, "--") == NULL && strstr(c->help, "--") == NULL)
            continue;
        fprintf(out, "        %s) words+='", c->name);
        print_own_options(out, c->arguments);
        print_own_options(out, c->help);
        fputs("' ;;\n", out);
    }
    fputs("        esac\n    fi\n"
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
    fputs("#compdef delaybridge\n"
          "# zsh completion for delaybridge. Printed by: delaybridge help --completion zsh\n"
          "_delaybridge() {\n"
          "    local -a commands options\n"
          "    commands=(\n",
          out);
    for (const struct command *c = COMMANDS; c->name != NULL; c++)
        print_zsh_word(out, c->name, c->summary);
    fputs("    )\n    options=(-c -o -X --timeout", out);
    print_keys(out);
    fputs(")\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    case $words[CURRENT-1] in\n"
          "    -c) _files; return ;;\n"
          "    -o) compadd text json; return ;;\n"
          "    esac\n"
          "    case $words[2] in\n"
          "    topics) compadd plan apply ;;\n",
          out);
    for (const struct command *c = COMMANDS; c->name != NULL; c++) {
        if (strstr(c->arguments, "--") == NULL && strstr(c->help, "--") == NULL)
            continue;
        fprintf(out, "    %s) compadd --", c->name);
        print_own_options(out, c->arguments);
        print_own_options(out, c->help);
        fputs(" ;;\n", out);
    }
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
