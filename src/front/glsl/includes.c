/* SPDX-License-Identifier: MIT
 *
 * Finds directives by their letters alone: the word `include` and a name in quotes or brackets
 * (GL_ARB_shading_language_include), wherever it stands. So a name in a comment is looked for as
 * well, which costs a search and can only part modules that are the same. What might hide a
 * directive from such a search, a comment or a continued line inside of it, is refused.
 *
 * Every name is looked for in every folder, rather than in glslang's order: a file that appears in
 * front of the one which was found before is a change as well.
 */
#include "front/glsl/includes.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_PATHS = 4096, MAX_BYTES = 16 << 20 };

typedef VEC(const char *) Names;

typedef struct Search {
    Arena *arena;
    Names folders, names;
    GlslIncludes *out;
    size_t bytes;
} Search;

/* Once each. */
static void add_name(Arena *arena, Names *v, const char *s, size_t n)
{
    for (uint32_t i = 0; i < v->len; i++)
        if (strlen(v->data[i]) == n && !memcmp(v->data[i], s, n))
            return;
    vec_push(arena, v, arena_strndup(arena, s, n));
}

/* ---- directives ------------------------------------------------------------------------------ */

static bool in_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The name behind the word `include` that ends at `at`. False: something hides whether there is
 * one. */
static bool read_name(Search *s, const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\v' || *at == '\f'))
        at++;
    if (at == end || (*at != '"' && *at != '<'))
        return at == end || (*at != '/' && *at != '\\');
    char close = *at == '<' ? '>' : '"';
    const char *name = ++at;
    while (at < end && *at != close && *at != '\n' && *at != '\r')
        at++;
    if (memchr(name, '\\', (size_t)(at - name)))
        return false;
    if (at < end && *at == close)
        add_name(s->arena, &s->names, name, (size_t)(at - name));
    return true;
}

/* Whether a line that goes on below ends in the middle of a word: "#inc\", and "lude" behind it. */
static bool splits_word(const char *at, const char *end)
{
    const char *next = at + 1;
    next += next < end && *next == '\r';
    next += next < end && *next == '\n';
    return next > at + 1 && next < end && in_word(*next);
}

static bool read_names(Search *s, const char *text, size_t size)
{
    static const char word[] = "include";
    enum { LENGTH = sizeof word - 1 };
    const char *end = text + size;
    for (const char *at = text; at < end; at++) {
        if (*at == '\\' && at > text && in_word(at[-1]) && splits_word(at, end))
            return false;
        if (*at != *word || (size_t)(end - at) < LENGTH || memcmp(at, word, LENGTH))
            continue;
        const char *next = at + LENGTH;
        bool whole = (at == text || !in_word(at[-1])) && (next == end || !in_word(*next));
        if (whole && !read_name(s, next, end))
            return false;
    }
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* False: it is there but cannot be kept. */
static bool read_text(Search *s, GlslInclude *file)
{
    struct stat st;
    size_t n = 0;
    if (stat(file->path, &st))
        return true;
    if (!S_ISREG(st.st_mode) || (size_t)st.st_size > MAX_BYTES - s->bytes)
        return false;
    /* before the file's own memory, which nobody would free if there were no more of it */
    char *text = arena_alloc(s->arena, (size_t)st.st_size + 1);
    char *data = file_read(file->path, &n, NULL);
    bool good = data && n == (size_t)st.st_size;
    if (good)
        memcpy(text, data, n);
    free(data);
    file->text = text;
    file->size = n;
    s->bytes += n;
    return good;
}

static bool look_for(Search *s, const char *folder, const char *name)
{
    GlslInclude file = { .path = arena_printf(s->arena, "%s/%s", folder, name) };
    if (s->out->len == MAX_PATHS || !read_text(s, &file))
        return false;
    vec_push(s->arena, s->out, file);
    if (!file.text)
        return true;
    add_name(s->arena, &s->folders, file.path, (size_t)(strrchr(file.path, '/') - file.path));
    return read_names(s, file.text, file.size);
}

/* Each name in each folder, until neither finds more. */
static bool look_for_all(Search *s)
{
    VEC(uint32_t) looked = { 0 }; /* names, in each folder */
    for (uint32_t f = 0; f < s->folders.len;) {
        if (f == looked.len)
            vec_push(s->arena, &looked, 0);
        bool all = looked.data[f] == s->names.len;
        uint32_t name = all ? 0 : looked.data[f]++;
        if (!all && !look_for(s, s->folders.data[f], s->names.data[name]))
            return false;
        f = all ? f + 1 : 0; /* what was found may have names for the folders before */
    }
    return true;
}

bool glsl_includes(Arena *arena, const void *source, size_t size, const char *const *folders,
                   uint32_t n_folders, GlslIncludes *out)
{
    Search s = { .arena = arena, .out = out };
    for (uint32_t i = 0; i < n_folders; i++)
        add_name(arena, &s.folders, folders[i], strlen(folders[i]));
    return read_names(&s, source, size) && look_for_all(&s);
}
