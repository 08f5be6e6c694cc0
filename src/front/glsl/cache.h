/* SPDX-License-Identifier: MIT
 *
 * cache: modules that glslang made before, in the folder that HEDDLE_CACHE names. Most of glslang's
 * time goes into its tables of built-in functions, which each run fills anew, however short the
 * source is.
 */
#ifndef HEDDLE_GLSL_CACHE_H
#define HEDDLE_GLSL_CACHE_H

#include "front/tool.h"

/* All that decides the module. */
typedef struct GlslKey {
    const char *folder, *path; /* of the cached file; path NULL: the module is not cached */
    void *bytes;
    size_t size;
} GlslKey;

/* `arguments`, ended by NULL, are the program's but for files. Sources that include others are not
 * cached, since those may change. */
GlslKey glsl_cache_key(Arena *arena, const Tool *t, const char *const *arguments);
/* The module in `arena`, or NULL. */
void *glsl_cache_read(Arena *arena, const GlslKey *key, size_t *size);
void glsl_cache_write(const GlslKey *key, const void *words, size_t size);

#endif
