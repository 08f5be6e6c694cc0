/* SPDX-License-Identifier: MIT
 *
 * includes: the files that a source may include, for the key of its cached module.
 */
#ifndef HEDDLE_GLSL_INCLUDES_H
#define HEDDLE_GLSL_INCLUDES_H

#include "base/base.h"

/* A path that glslang may look at. */
typedef struct GlslInclude {
    const char *path, *text; /* text NULL: there is no such file */
    size_t size;
} GlslInclude;

typedef VEC(GlslInclude) GlslIncludes;

/* Whatever the source, and what it includes, could find in the folders or beside an included file,
 * in a fixed order; directives that are not compiled count too. False if that cannot be told. */
bool glsl_includes(Arena *arena, const void *source, size_t size, const char *const *folders,
                   uint32_t n_folders, GlslIncludes *out);

#endif
