/* SPDX-License-Identifier: MIT
 *
 * compile -g: the source's lines beside the code that they became, as comments in assembly and LLVM
 * IR. Where the code came from is what these say themselves: .loc directives, !dbg metadata.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef struct Source {
    char *name;
    char **lines;
    uint32_t n;
} Source;

typedef struct Annotation {
    FILE *out;
    const char *comment; /* what begins one */
    Source *sources;
    uint32_t n_sources;
    char **files; /* assembly: by number. IR: metadata by number */
    uint32_t n_files;
    const char *file; /* of the line shown last */
    uint32_t line;
} Annotation;

/* ---- the sources ----------------------------------------------------------------------------- */

static void read_lines(Source *s)
{
    FILE *f = fopen(s->name, "re");
    char *line = NULL;
    size_t room = 0;
    while (f && getline(&line, &room, f) >= 0) {
        char **more = realloc(s->lines, (s->n + 1) * sizeof *more);
        if (!more)
            break;
        s->lines = more;
        line[strcspn(line, "\r\n")] = 0;
        s->lines[s->n++] = line;
        line = NULL;
        room = 0;
    }
    free(line);
    if (f)
        fclose(f);
}

/* NULL: out of memory. A file that cannot be read has no lines. */
static const Source *source_of(Annotation *a, const char *name)
{
    for (uint32_t i = 0; i < a->n_sources; i++)
        if (!strcmp(a->sources[i].name, name))
            return &a->sources[i];
    Source *more = realloc(a->sources, (a->n_sources + 1) * sizeof *more);
    if (!more)
        return NULL;
    a->sources = more;
    Source *s = &more[a->n_sources];
    *s = (Source){ .name = strdup(name) };
    if (!s->name)
        return NULL;
    a->n_sources++;
    read_lines(s);
    return s;
}

static void show(Annotation *a, const char *file, uint32_t line)
{
    const Source *s = line ? source_of(a, file) : NULL;
    bool same = a->file && a->line == line && !strcmp(a->file, s ? s->name : "");
    if (!s || same)
        return;
    a->file = s->name;
    a->line = line;
    fprintf(a->out, "\t%s %s:%u: %s\n", a->comment, s->name, line,
            line <= s->n ? s->lines[line - 1] : "");
}

/* Keeps a text by number; what has no room is not kept. */
static void keep(Annotation *a, uint32_t number, char *text)
{
    enum { MOST = 1 << 20 };
    if (number >= a->n_files && number < MOST) {
        char **more = realloc(a->files, (number + 64) * sizeof *more);
        if (more) {
            memset(more + a->n_files, 0, (number + 64 - a->n_files) * sizeof *more);
            a->files = more;
            a->n_files = number + 64;
        }
    }
    if (number < a->n_files) {
        free(a->files[number]);
        a->files[number] = text;
    } else {
        free(text);
    }
}

static const char *kept(const Annotation *a, uint32_t number)
{
    return number < a->n_files ? a->files[number] : NULL;
}

/* ---- assembly -------------------------------------------------------------------------------- */

/* .file N "FOLDER" "NAME", the folder being left out where there is none. */
static void read_file(Annotation *a, const char *line, size_t n_line)
{
    char text[4224], first[2048], second[2048], *path = NULL;
    if (!memmem(line, n_line, ".file", 5))
        return;
    snprintf(text, sizeof text, "%.*s", (int)n_line, line);
    unsigned number;
    int n = sscanf(text, " .file %u \"%2047[^\"]\" \"%2047[^\"]\"", &number, first, second);
    if (n == 3 && asprintf(&path, "%s/%s", first, second) >= 0)
        keep(a, number, path);
    else if (n == 2)
        keep(a, number, strdup(first));
}

static void annotate_assembly(Annotation *a, const char *line, size_t n)
{
    unsigned file, number;
    char text[4224];
    snprintf(text, sizeof text, "%.*s", (int)n, line);
    fwrite(line, 1, n, a->out);
    fputc('\n', a->out);
    if (sscanf(text, " .loc %u %u", &file, &number) == 2 && kept(a, file))
        show(a, kept(a, file), number);
}

/* ---- LLVM IR --------------------------------------------------------------------------------- */

/* The number behind `key` in a piece of metadata: "line: ", "scope: !". */
static bool field(const char *text, const char *key, uint32_t *out)
{
    const char *at = text ? strstr(text, key) : NULL;
    return at && sscanf(at + strlen(key), "%u", out) == 1;
}

static void read_metadata(Annotation *a, const char *line, size_t n)
{
    uint32_t number;
    if (*line == '!' && sscanf(line, "!%u = ", &number) == 1)
        keep(a, number, strndup(line, n));
}

static void annotate_ir(Annotation *a, const char *line, size_t n)
{
    char text[4224], name[2048];
    uint32_t location, number, scope, file;
    snprintf(text, sizeof text, "%.*s", (int)n, line);
    const char *debug = strstr(text, "!dbg !");
    if (*text == '}')
        a->file = NULL;
    if (debug && *text == ' ' && field(debug, "!dbg !", &location) &&
        field(kept(a, location), "line: ", &number) &&
        field(kept(a, location), "scope: !", &scope) && field(kept(a, scope), "file: !", &file)) {
        const char *at = kept(a, file) ? strstr(kept(a, file), "filename: \"") : NULL;
        if (at && sscanf(at, "filename: \"%2047[^\"]", name) == 1)
            show(a, name, number);
    }
    fwrite(line, 1, n, a->out);
    fputc('\n', a->out);
}

typedef void LineFn(Annotation *a, const char *line, size_t n);

static void each_line(Annotation *a, const char *text, size_t size, LineFn *fn)
{
    for (const char *s = text, *end = text + size; s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        size_t n = (size_t)((stop ? stop : end) - s);
        fn(a, s, n);
        s += n + 1;
    }
}

char *annotate(const char *text, size_t *size, const char *comment)
{
    char *result = NULL;
    size_t length = 0;
    bool is_ir = !strcmp(comment, ";");
    Annotation a = { .out = open_memstream(&result, &length), .comment = comment };
    if (!a.out)
        return NULL;
    each_line(&a, text, *size, is_ir ? read_metadata : read_file);
    each_line(&a, text, *size, is_ir ? annotate_ir : annotate_assembly);
    for (uint32_t i = 0; i < a.n_sources; i++) {
        for (uint32_t k = 0; k < a.sources[i].n; k++)
            free(a.sources[i].lines[k]);
        free(a.sources[i].lines);
        free(a.sources[i].name);
    }
    for (uint32_t i = 0; i < a.n_files; i++)
        free(a.files[i]);
    free(a.files);
    free(a.sources);
    fclose(a.out);
    *size = length;
    return result;
}
