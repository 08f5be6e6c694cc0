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

/* What a module is made from but for the source and the program. */
typedef struct GlslInputs {
    const char *const *options; /* the program's but for files */
    uint32_t n_options;
    const char *const *folders; /* where included files are looked for */
    uint32_t n_folders;
} GlslInputs;

/* Of the texts of included files too. No key: it cannot be told which these are. */
GlslKey glsl_cache_key(Arena *arena, const Tool *t, const GlslInputs *in);
/* The module in `arena`, or NULL. */
void *glsl_cache_read(Arena *arena, const GlslKey *key, size_t *size);
void glsl_cache_write(Arena *arena, const GlslKey *key, const void *words, size_t size);

#endif
