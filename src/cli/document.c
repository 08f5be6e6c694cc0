/* SPDX-License-Identifier: MIT
 *
 * The manual page and the shells' completions, written from the tables of commands and options:
 * `heddle help man`, `bash`, `zsh` and `fish`. The build installs what they print.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* ---- the manual ------------------------------------------------------------------------------ */

/* Text for roff: no escapes, no requests, hyphens that can be searched for. */
static void roff(const char *s)
{
    if (*s == '.' || *s == '\'')
        fputs("\\&", stdout);
    for (; *s; s++) {
        if (*s == '\\')
            fputs("\\e", stdout);
        else if (*s == '-')
            fputs("\\-", stdout);
        else
            putchar(*s);
        if (*s == '\n' && (s[1] == '.' || s[1] == '\''))
            fputs("\\&", stdout);
    }
}

static void term(const char *name, const char *value, bool joined, const char *help)
{
    fputs(".TP\n\\fB", stdout);
    roff(name);
    fputs("\\fR", stdout);
    if (value) {
        fputs(joined ? "\\fI" : " \\fI", stdout);
        roff(value);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    roff(help);
    putchar('\n');
}

static void manual_commands(void)
{
    printf(".SH COMMANDS\n");
    for (int c = 0; c < N_COMMANDS; c++) {
        CliCommandText t = command_text((CliCommand)c);
        term(t.name, *t.arguments ? t.arguments + 1 : NULL, false, t.help);
    }
    term("help", "[COMMAND]", false, "show a command's options");
}

static void manual_options(void)
{
    CliOptionText o;
    printf(".SH OPTIONS\nEach is followed by the commands that accept it.\n");
    for (size_t i = 0; option_text(i, &o); i++) {
        term(o.name, o.value, o.joined, o.help);
        printf("(");
        bool first = true;
        for (int c = 0; c < N_COMMANDS; c++) {
            if (o.commands & 1u << c)
                printf("%s%s", first ? "" : ", ", command_text((CliCommand)c).name);
            first = first && !(o.commands & 1u << c);
        }
        printf(")\n");
    }
}

static void manual(void)
{
    printf(".\\\" Written by `heddle help man`; do not edit.\n"
           ".TH HEDDLE 1 \"\" \"heddle %s\" \"User Commands\"\n.SH NAME\n"
           "heddle \\- compile and run cooperative\\-matrix kernels\n.SH SYNOPSIS\n"
           ".B heddle\n.I COMMAND\n[\\fIOPTION\\fR...]\n.SH DESCRIPTION\n"
           "heddle compiles compute kernels that use cooperative matrices, and runs them on this\n"
           "machine's CPU, on NVIDIA GPUs and on Vulkan drivers.\n.PP\n.nf\n",
           heddle_version());
    roff(spec_help + 1);
    printf(".fi\n");
    manual_commands();
    manual_options();
    printf(".SH ENVIRONMENT\n");
    const char *name, *help;
    for (size_t i = 0; vulkan_variable(i, &name, &help); i++)
        term(name, NULL, false, help);
    term("HEDDLE_GLSLANG=PATH", NULL, false,
         "the GLSL compiler to use instead of the installed one");
    term("HEDDLE_MLIR=PATH", NULL, false,
         "the heddle-mlir program to use instead of the installed one");
    printf(".SH \"EXIT STATUS\"\n0 success, 1 an error in the kernel or its input, 2 an error in\n"
           "the command line.\n");
}

/* ---- completions ----------------------------------------------------------------------------- */

/* What may stand where a command is expected. */
static void command_names(void)
{
    for (int c = 0; c < N_COMMANDS; c++)
        printf("%s ", command_text((CliCommand)c).name);
    printf("help");
}

static void bash(void)
{
    CliOptionText o;
    printf("# Written by `heddle help bash`; do not edit.\n_heddle()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
           "    if [ \"$COMP_CWORD\" = 1 ] || [ \"${COMP_WORDS[1]}\" = help ]; then\n"
           "        words=\"");
    command_names();
    printf("\"\n    elif [[ $word == -* ]]; then\n        case ${COMP_WORDS[1]} in\n");
    for (int c = 0; c < N_COMMANDS; c++) {
        printf("        %s) words=\"", command_text((CliCommand)c).name);
        for (size_t i = 0; option_text(i, &o); i++) {
            if (o.commands & 1u << c)
                printf("%s ", o.name);
        }
        printf("\" ;;\n");
    }
    printf("        esac\n    fi\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
           "complete -o default -F _heddle heddle\n");
}

/* What stands between single quotes, with those of `escaped` behind a backslash. */
static void piece(const char *s, const char *escaped)
{
    for (; *s; s++) {
        if (*s == '\'')
            fputs("'\\''", stdout);
        else
            printf(strchr(escaped, *s) ? "\\%c" : "%c", *s);
    }
}

static void zsh_option(const CliOptionText *o)
{
    bool value = o->value && !o->joined;
    printf(" \\\n            '*%s%s[", o->name, !value ? "" : o->name[1] == '-' ? "=" : "+");
    piece(o->help, "[]:\\");
    putchar(']');
    if (value) {
        putchar(':');
        piece(o->value, "[]:\\");
        printf(":_files");
    }
    putchar('\'');
}

static void zsh(void)
{
    CliOptionText o;
    printf("#compdef heddle\n# Written by `heddle help zsh`; do not edit.\n"
           "if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n    local -a names=(\n");
    for (int c = 0; c < N_COMMANDS; c++) {
        CliCommandText t = command_text((CliCommand)c);
        printf("        '%s:", t.name);
        piece(t.help, ":\\");
        printf("'\n");
    }
    printf("        'help:the options of a command'\n    )\n    _describe command names\nelse\n"
           "    case $words[2] in\n");
    for (int c = 0; c < N_COMMANDS; c++) {
        printf("    %s) _arguments -S", command_text((CliCommand)c).name);
        for (size_t i = 0; option_text(i, &o); i++) {
            if (o.commands & 1u << c)
                zsh_option(&o);
        }
        printf(" \\\n            '*:file:_files' ;;\n");
    }
    printf("    esac\nfi\n");
}

static void fish(void)
{
    CliOptionText o;
    printf("# Written by `heddle help fish`; do not edit.\n");
    for (int c = 0; c < N_COMMANDS; c++) {
        CliCommandText t = command_text((CliCommand)c);
        printf("complete -c heddle -n __fish_use_subcommand -f -a %s -d '", t.name);
        piece(t.help, "\\");
        printf("'\n");
        for (size_t i = 0; option_text(i, &o); i++) {
            if (!(o.commands & 1u << c))
                continue;
            const char *name = o.name + strspn(o.name, "-");
            printf("complete -c heddle -n '__fish_seen_subcommand_from %s' %s %s%s -d '", t.name,
                   o.name[1] == '-' ? "-l" : "-s", name, o.value && !o.joined ? " -r" : "");
            piece(o.help, "\\");
            printf("'\n");
        }
    }
}

bool document(const char *form)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } forms[] = { { "man", manual }, { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!strcmp(forms[i].name, form)) {
            forms[i].print();
            return true;
        }
    }
    return false;
}
