/* SPDX-License-Identifier: MIT
 *
 * Diagnostics and tables on the terminal.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- diagnostics ----------------------------------------------------------------------------- */

static const char *const severities[] = { "note", "warning", "error" };
static const char *const colours[] = { "\033[1;36m", "\033[1;35m", "\033[1;31m" };

static bool coloured(void)
{
    const char *no = getenv("NO_COLOR");
    return isatty(STDERR_FILENO) && !(no && *no);
}

/* The line of the source and a mark under the column. */
static void show_source(const HeddleDiagnostic *d)
{
    FILE *f = d->file && d->line ? fopen(d->file, "re") : NULL;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n = -1;
    for (uint32_t i = 0; f && i < d->line; i++) {
        n = getline(&line, &cap, f);
        if (n < 0)
            break;
    }
    if (n >= 0) {
        line[strcspn(line, "\r\n")] = 0;
        fprintf(stderr, "%5u | %s\n", d->line, line);
        if (d->column && d->column <= strlen(line) + 1) {
            fprintf(stderr, "      | ");
            for (uint32_t i = 0; i + 1 < d->column; i++)
                fputc(line[i] == '\t' ? '\t' : ' ', stderr);
            fprintf(stderr, "\033[1;32m^\033[0m\n");
        }
    }
    free(line);
    if (f)
        fclose(f);
}

void print_diagnostic(void *user, const HeddleDiagnostic *d)
{
    (void)user;
    fflush(stdout);
    const char *word = severities[d->severity], *at = strstr(d->text, word);
    if (!d->file)
        fprintf(stderr, "heddle: ");
    if (!coloured() || !at) {
        fprintf(stderr, "%s\n", d->text);
        return;
    }
    size_t n = strlen(word) + 1; /* with its colon */
    fprintf(stderr, "\033[1m%.*s%s%.*s\033[0m%s\n", (int)(at - d->text), d->text,
            colours[d->severity], (int)n, at, at + n);
    show_source(d);
}

void complain(const char *fmt, ...)
{
    bool colour = coloured();
    fflush(stdout);
    fprintf(stderr, "heddle: %serror:%s ", colour ? colours[HEDDLE_ERROR] : "",
            colour ? "\033[0m" : "");
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

/* ---- tables ---------------------------------------------------------------------------------- */

void table_row(CliTable *t, ...)
{
    if (t->rows == t->cap) {
        uint32_t cap = t->cap ? 2 * t->cap : 8;
        char **cells = realloc(t->cells, (size_t)cap * t->columns * sizeof *cells);
        if (!cells)
            return;
        t->cells = cells;
        t->cap = cap;
    }
    va_list args;
    va_start(args, t);
    for (uint32_t i = 0; i < t->columns; i++)
        t->cells[t->rows * t->columns + i] = strdup(va_arg(args, const char *));
    va_end(args);
    t->rows++;
}

static const char *cell_at(const CliTable *t, uint32_t row, uint32_t column)
{
    const char *s = t->cells[row * t->columns + column];
    return s ? s : "";
}

static int width(const CliTable *t, uint32_t column)
{
    size_t w = 0;
    for (uint32_t r = 0; r < t->rows; r++)
        w = strlen(cell_at(t, r, column)) > w ? strlen(cell_at(t, r, column)) : w;
    return (int)w;
}

/* Spaces are owed until a cell follows, so that no line ends in them. */
static void print_row(const CliTable *t, uint32_t row)
{
    int owed = 0;
    FILE *to = t->aside ? stderr : stdout;
    for (uint32_t c = 0; c < t->columns; c++) {
        const char *s = cell_at(t, row, c);
        int n = (int)strlen(s), pad = width(t, c) - n;
        if (t->align[c] == 'r')
            owed += pad;
        if (n) {
            fprintf(to, "%*s%s", owed, "", s);
            owed = 0;
        }
        owed += 2 + (t->align[c] == 'r' ? 0 : pad);
    }
    fprintf(to, "\n");
}

void table_print(CliTable *t)
{
    for (uint32_t r = 0; r < t->rows; r++)
        print_row(t, r);
    for (uint32_t i = 0; i < t->rows * t->columns; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = (CliTable){ 0 };
}

const char *cell(CliCells *c, const char *fmt, ...)
{
    char *to = c->text[c->next++ % 16];
    va_list args;
    va_start(args, fmt);
    vsnprintf(to, sizeof c->text[0], fmt, args);
    va_end(args);
    return to;
}

const char *cell_seconds(CliCells *c, double seconds)
{
    if (seconds >= 1)
        return cell(c, "%.3f s", seconds);
    return seconds >= 1e-3 ? cell(c, "%.3f ms", seconds * 1e3) : cell(c, "%.1f us", seconds * 1e6);
}

/* Full blocks, then one of as many eighths as are left. */
const char *cell_bar(CliCells *c, double share, uint32_t width)
{
    char *to = c->text[c->next++ % 16], *end = to;
    uint32_t eighths = (uint32_t)(share * width * 8 + 0.5);
    for (; eighths >= 8; eighths -= 8)
        end += sprintf(end, "█");
    if (eighths)
        end += sprintf(end, "\xe2\x96%c", (char)(0x90 - eighths)); /* U+258F is one, U+2588 eight */
    *end = 0;
    return to;
}

/* ---- times ----------------------------------------------------------------------------------- */

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void sort_times(double *t, uint32_t n) { qsort(t, n, sizeof *t, ascending); }
