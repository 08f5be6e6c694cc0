/* SPDX-License-Identifier: MIT
 *
 * --json: what a command has to say as one object on standard output, for programs. Names and
 * meanings are in docs/JSON.md, and stay.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void put_text(const char *s)
{
    putchar('"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if ((unsigned char)*s < ' ')
            printf("\\u%04x", (unsigned)*s);
        else
            putchar(*s);
    }
    putchar('"');
}

/* Begins a member, or an element where the key is NULL. */
static void begin(CliJson *j, const char *key)
{
    if (j->comma)
        putchar(',');
    printf("\n%*s", 2 * (int)j->depth, "");
    j->comma = true;
    if (key) {
        put_text(key);
        printf(": ");
    }
}

void json_open(CliJson *j, const char *key, char bracket)
{
    if (j->depth)
        begin(j, key);
    putchar(bracket);
    j->comma = false;
    j->depth++;
}

void json_close(CliJson *j, char bracket)
{
    j->depth--;
    if (j->comma)
        printf("\n%*s", 2 * (int)j->depth, "");
    putchar(bracket);
    j->comma = true;
    if (!j->depth)
        putchar('\n');
}

void json_text(CliJson *j, const char *key, const char *s)
{
    begin(j, key);
    if (s)
        put_text(s);
    else
        printf("null");
}

void json_real(CliJson *j, const char *key, double x)
{
    begin(j, key);
    if (isfinite(x))
        printf("%.9g", x);
    else
        printf("null");
}

void json_count(CliJson *j, const char *key, uint64_t n)
{
    begin(j, key);
    printf("%llu", (unsigned long long)n);
}

void json_bool(CliJson *j, const char *key, bool b)
{
    begin(j, key);
    printf(b ? "true" : "false");
}

void json_sizes(CliJson *j, const char *key, const uint32_t *n, uint32_t count)
{
    json_open(j, key, '[');
    for (uint32_t i = 0; i < count; i++)
        json_count(j, NULL, n[i]);
    json_close(j, ']');
}

void json_texts(CliJson *j, const char *key, const char *const *s, uint32_t count)
{
    json_open(j, key, '[');
    for (uint32_t i = 0; i < count; i++)
        json_text(j, NULL, s[i]);
    json_close(j, ']');
}

/* All that was said, which goes to standard error as well. */
static void put_diagnostics(CliJson *j, const HeddleLog *log)
{
    static const char *const severities[] = { "note", "warning", "error" };
    json_open(j, "diagnostics", '[');
    for (size_t i = 0; i < heddle_log_count(log); i++) {
        const HeddleDiagnostic *d = heddle_log_get(log, i);
        json_open(j, NULL, '{');
        json_text(j, "severity", severities[d->severity]);
        json_text(j, "file", d->file);
        json_count(j, "line", d->line);
        json_count(j, "column", d->column);
        json_text(j, "rule", d->rule);
        json_text(j, "message", d->message);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void json_end(CliJson *j, HeddleResult result, const HeddleLog *log)
{
    json_text(j, "result", heddle_result_name(result));
    put_diagnostics(j, log);
    json_close(j, '}');
}
