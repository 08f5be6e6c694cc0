/* SPDX-License-Identifier: MIT
 *
 * usage: how a kernel says that it is run: a comment in its source that shows a command.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* What stands in the comment that the line is, and how far in; NULL where it is none. */
static const char *comment(const char *line, size_t *indent)
{
    line += strspn(line, " \t");
    size_t n = strspn(line, "/;#*");
    const char *text = line + n;
    *indent = strspn(text, " ");
    return n ? text + *indent : NULL;
}

static bool is_command(const char *text)
{
    static const char *const starts[] = { "heddle run ", "heddle bench " };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (!strncmp(text, starts[i], strlen(starts[i])))
            return true;
    return false;
}

/* Without the backslash, and the end of the comment, that may be there. */
static size_t length_of(const char *text)
{
    size_t n = strlen(text);
    while (n && strchr("\r\n \\", text[n - 1]))
        n--;
    return n;
}

void print_usage_comment(const char *path)
{
    char line[1024];
    size_t start = 0, indent;
    bool found = false;
    FILE *f = strcmp(path, "-") ? fopen(path, "re") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        const char *text = comment(line, &indent);
        bool more = text && *text && found && indent > start;
        if (found && !more)
            break;
        if (!more && (!text || !is_command(text)))
            continue;
        if (!found)
            fprintf(stderr, "heddle: note: %s says how it is run:\n   ", path);
        start = found ? start : indent;
        found = true;
        fprintf(stderr, " %.*s", (int)length_of(text), text);
    }
    if (found)
        fputc('\n', stderr);
    if (f)
        fclose(f);
}
