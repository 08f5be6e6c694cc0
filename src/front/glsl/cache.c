/* SPDX-License-Identifier: MIT
 *
 * A cached file is the key, as it is, and the module behind it: other sources whose hash is the
 * same are not mistaken for this one, nor are files that somebody cut short. Nothing is ever
 * removed.
 */
#include "front/glsl/cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* changes whenever what heddle does to glslang's module does */
static const char format[] = "heddle glsl 1";

typedef struct KeyWriter {
    Arena *arena;
    VEC(char) bytes;
} KeyWriter;

/* With its length in front, so that no two lists of pieces are the same bytes. */
static void piece(KeyWriter *w, const void *data, size_t size)
{
    uint64_t length = size;
    const char *parts[] = { (const char *)&length, data };
    size_t sizes[] = { sizeof length, size };
    for (unsigned k = 0; k < COUNT_OF(parts); k++)
        for (size_t i = 0; i < sizes[k]; i++)
            vec_push(w->arena, &w->bytes, parts[k][i]);
}

static void text_piece(KeyWriter *w, const char *text) { piece(w, text, strlen(text)); }

/* Which program it is, by its size and time. False if that is not known. */
static bool program_piece(KeyWriter *w, const char *path)
{
    struct stat st;
    if (!strchr(path, '/') || stat(path, &st))
        return false;
    int64_t facts[] = { st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec };
    text_piece(w, path);
    piece(w, facts, sizeof facts);
    return true;
}

GlslKey glsl_cache_key(Arena *arena, const Tool *t, const char *const *arguments)
{
    static const char include[] = "include";
    const char *folder = secure_getenv("HEDDLE_CACHE");
    KeyWriter w = { .arena = arena };
    if (!folder || !*folder || memmem(t->source.data, t->source.size, include, sizeof include - 1))
        return (GlslKey){ 0 };
    text_piece(&w, format);
    if (!program_piece(&w, t->program))
        return (GlslKey){ 0 };
    text_piece(&w, t->source.name);
    piece(&w, t->source.data, t->source.size);
    for (; *arguments; arguments++)
        text_piece(&w, *arguments);
    GlslKey key = { .folder = folder, .bytes = w.bytes.data, .size = w.bytes.len };
    key.path = arena_printf(arena, "%s/glsl-%016" PRIx64 ".spv", folder,
                            hash_bytes(key.bytes, key.size, 0));
    return key;
}

void *glsl_cache_read(Arena *arena, const GlslKey *key, size_t *size)
{
    enum { HEADER = 20 };
    struct stat st;
    size_t n = 0, least = key->size + HEADER;
    if (!key->path || stat(key->path, &st) || !S_ISREG(st.st_mode) || (size_t)st.st_size < least)
        return NULL;
    /* before the file's own memory, which nobody would free if there were no more of it */
    void *words = arena_alloc(arena, (size_t)st.st_size);
    char *data = file_read(key->path, &n, NULL);
    bool good = data && n == (size_t)st.st_size && !memcmp(data, key->bytes, key->size);
    *size = n - key->size;
    if (good)
        memcpy(words, data + key->size, *size);
    free(data);
    return good ? words : NULL;
}

void glsl_cache_write(const GlslKey *key, const void *words, size_t size)
{
    if (!key->path)
        return;
    if (mkdir(key->folder, 0777) == 0 || errno == EEXIST)
        file_write(key->path, key->bytes, key->size, words, size, NULL);
}
