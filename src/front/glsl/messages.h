/* SPDX-License-Identifier: MIT
 *
 * messages: what glslang writes, as diagnostics. Private to the folder.
 */
#ifndef HEDDLE_GLSL_MESSAGES_H
#define HEDDLE_GLSL_MESSAGES_H

#include "base/base.h"

typedef struct GlslNames {
    const char *temporary; /* the path that glslang was given */
    const char *source;    /* what the user calls it */
    const char *text;      /* of it, NUL-terminated */
} GlslNames;

/* Reports every message in `text`, which it takes apart. */
void glsl_messages(Arena *arena, char *text, const GlslNames *names, DiagSink *sink);

#endif
