/* SPDX-License-Identifier: MIT
 *
 * json: RFC 8259 as a tree in an arena, for profiles. Numbers are whole ones below 2^53.
 */
#ifndef HEDDLE_LOWER_JSON_H
#define HEDDLE_LOWER_JSON_H

#include "base/base.h"

typedef enum JsonKind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} JsonKind;

typedef struct Json Json;
struct Json {
    JsonKind kind;
    uint64_t number;    /* BOOL: 0 or 1 */
    const char *string; /* without NUL */
    const char *name;   /* a member's */
    Json *first, *next; /* of an array or object; the one behind it there */
    uint32_t line;
};

/* NULL after reporting where it is no JSON. */
const Json *json_read(Arena *a, const char *text, size_t size, const char *file, DiagSink *sink);
const Json *json_member(const Json *object, const char *name); /* or NULL */

#endif
