/* SPDX-License-Identifier: MIT
 *
 * glsl: GLSL compute shaders to SPIR-V, by running glslang (16.1 or later) as a program of its own.
 */
#ifndef HEDDLE_GLSL_H
#define HEDDLE_GLSL_H

#include "front/tool.h"

typedef struct GlslDefine {
    const char *name, *value; /* NULL = 1 */
} GlslDefine;

typedef struct GlslOptions {
    const char *compiler; /* its path; NULL = the one found when heddle was built, else in
                                 * PATH */
    const char *const *include_dirs;
    uint32_t n_include_dirs;
    const GlslDefine *defines;
    uint32_t n_defines;
    const char *target_env; /* "vulkan1.3"; NULL = vulkan1.4 */
} GlslOptions;

/* The module's bytes, in `arena`, with the names and lines of the source. The source's name is for
 * line information too, and quoted includes are looked for in its folder first. */
ToolStatus glsl_compile(Arena *arena, const ToolSource *source, const GlslOptions *options,
                        void **spirv, size_t *spirv_size, DiagSink *sink);

#endif
