/* SPDX-License-Identifier: MIT
 *
 * A cached file is the key, as it is, the module's hash, and the module: other sources whose hash
 * is the same are not mistaken for this one, nor are files that somebody cut short or that a disk
 * changed. The key has the text of every file that may be included. Nothing is ever removed.
 */
#include "front/glsl/cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "front/glsl/includes.h"

/* changes whenever what heddle does to glslang's module does */
static const char format[] = "heddle glsl 2";

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
    for (unsigned k = 0; k < COUNT_OF(parts); k++) {
        if (sizes[k] >= UINT32_MAX - w->bytes.len)
            arena_fail(w->arena);
        vec_reserve(w->arena, &w->bytes, w->bytes.len + (uint32_t)sizes[k]);
        memcpy(w->bytes.data + w->bytes.len, parts[k], sizes[k]);
        w->bytes.len += (uint32_t)sizes[k];
    }
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

/* False: it cannot be told what the source includes. */
static bool include_pieces(KeyWriter *w, const ToolSource *source, const GlslInputs *in)
{
    GlslIncludes found = { 0 };
    if (!glsl_includes(w->arena, source->data, source->size, in->folders, in->n_folders, &found))
        return false;
    for (uint32_t i = 0; i < found.len; i++) {
        text_piece(w, found.data[i].path);
        if (found.data[i].text)
            piece(w, found.data[i].text, found.data[i].size);
        else
            text_piece(w, "");
        piece(w, &(bool){ found.data[i].text != NULL }, sizeof(bool));
    }
    return true;
}

GlslKey glsl_cache_key(Arena *arena, const Tool *t, const GlslInputs *in)
{
    const char *folder = secure_getenv("HEDDLE_CACHE");
    KeyWriter w = { .arena = arena };
    if (!folder || !*folder)
        return (GlslKey){ 0 };
    text_piece(&w, format);
    if (!program_piece(&w, t->program))
        return (GlslKey){ 0 };
    text_piece(&w, t->source.name);
    piece(&w, t->source.data, t->source.size);
    for (uint32_t i = 0; i < in->n_options; i++)
        text_piece(&w, in->options[i]);
    if (!include_pieces(&w, &t->source, in))
        return (GlslKey){ 0 };
    GlslKey key = { .folder = folder, .bytes = w.bytes.data, .size = w.bytes.len };
    key.path = arena_printf(arena, "%s/glsl-%016" PRIx64 ".spv", folder,
                            hash_bytes(key.bytes, key.size, 0));
    return key;
}

/* Behind the key: the module's hash, and the module. NULL: it is not what was written. */
static const char *checked_module(const char *data, const GlslKey *key, size_t size)
{
    uint64_t sum, start = key->size + sizeof sum;
    memcpy(&sum, data + key->size, sizeof sum);
    uint64_t found = hash_bytes(data + start, size - start, 0);
    return !memcmp(data, key->bytes, key->size) && sum == found ? data + start : NULL;
}

void *glsl_cache_read(Arena *arena, const GlslKey *key, size_t *size)
{
    enum { HEADER = 20 };
    struct stat st;
    size_t n = 0, start = key->size + sizeof(uint64_t);
    if (!key->path || stat(key->path, &st) || !S_ISREG(st.st_mode) ||
        (size_t)st.st_size < start + HEADER)
        return NULL;
    /* before the file's own memory, which nobody would free if there were no more of it */
    void *words = arena_alloc(arena, (size_t)st.st_size);
    char *data = file_read(key->path, &n, NULL);
    bool whole = data && n == (size_t)st.st_size;
    const char *module = whole ? checked_module(data, key, n) : NULL;
    *size = n - start;
    if (module)
        memcpy(words, module, *size);
    free(data);
    return module ? words : NULL;
}

void glsl_cache_write(Arena *arena, const GlslKey *key, const void *words, size_t size)
{
    if (!key->path)
        return;
    uint64_t sum = hash_bytes(words, size, 0);
    char *front = arena_alloc(arena, key->size + sizeof sum);
    memcpy(front, key->bytes, key->size);
    memcpy(front + key->size, &sum, sizeof sum);
    if (mkdir(key->folder, 0777) == 0 || errno == EEXIST)
        file_write(key->path, front, key->size + sizeof sum, words, size, NULL);
}
