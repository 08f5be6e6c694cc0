/* SPDX-License-Identifier: MIT
 *
 * Arenas: memory that lives and dies together.
 *
 * Chunks grow with the arena (1 KiB to 1 MiB), so a small arena costs little and a large one few
 * calls of malloc. Allocations larger than a chunk get one of their own. Under AddressSanitizer
 * every allocation is a separate chunk, so that overruns are found.
 */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

enum { ALIGNMENT = 16, FIRST_CHUNK = 1024, LAST_CHUNK = 1 << 20 };

#if defined(__SANITIZE_ADDRESS__)
#define CHUNK_PER_ALLOCATION 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHUNK_PER_ALLOCATION 1
#endif
#endif
#ifndef CHUNK_PER_ALLOCATION
#define CHUNK_PER_ALLOCATION 0
#endif

struct ArenaChunk {
    struct ArenaChunk *next;
    size_t size, used; /* of data */
    _Alignas(ALIGNMENT) unsigned char data[];
};

void arena_fail(Arena *a)
{
    if (a->on_failure)
        longjmp(*a->on_failure, 1);
}

bool arena_try(Arena *a, void (*body)(void *user), void *user)
{
    jmp_buf here, *const outer = a->on_failure;
    volatile bool done = false;
    if (!ARENA_GUARD(a, here)) {
        body(user);
        done = true;
    }
    a->on_failure = outer;
    return done;
}

void arena_free(Arena *a)
{
    while (a->chunks) {
        struct ArenaChunk *next = a->chunks->next;
        free(a->chunks);
        a->chunks = next;
    }
    a->used = 0;
}

/* A new chunk in front, or behind the first one when that still has more room to offer. */
static struct ArenaChunk *add_chunk(Arena *a, size_t need)
{
    size_t size = CHUNK_PER_ALLOCATION ? need : MIN(MAX(a->used, FIRST_CHUNK), LAST_CHUNK);
    size = MAX(size, need);
    struct ArenaChunk *c = calloc(1, sizeof(*c) + size);
    if (!c)
        return NULL;
    c->size = size;
    if (a->chunks && a->chunks->size - a->chunks->used > size - need) {
        c->next = a->chunks->next;
        a->chunks->next = c;
    } else {
        c->next = a->chunks;
        a->chunks = c;
    }
    return c;
}

void *arena_alloc(Arena *a, size_t size)
{
    if (size > SIZE_MAX / 2 || (a->limit && (a->used > a->limit || size > a->limit - a->used))) {
        arena_fail(a);
        return NULL;
    }
    size_t rounded = align_up(MAX(size, 1), ALIGNMENT);
    struct ArenaChunk *c = a->chunks;
    if (!c || CHUNK_PER_ALLOCATION || c->size - c->used < rounded)
        c = add_chunk(a, CHUNK_PER_ALLOCATION ? size : rounded);
    if (!c) {
        arena_fail(a);
        return NULL;
    }
    void *p = c->data + c->used;
    c->used = MIN(c->used + rounded, c->size);
    a->used += rounded;
    return p;
}

void *arena_alloc_array(Arena *a, size_t size, size_t n)
{
    size_t total;
    if (__builtin_mul_overflow(size, n, &total))
        total = SIZE_MAX;
    return arena_alloc(a, total);
}

void *arena_copy(Arena *a, const void *data, size_t size)
{
    void *p = arena_alloc(a, size);
    return size && p ? memcpy(p, data, size) : p;
}

char *arena_strndup(Arena *a, const char *s, size_t n)
{
    n = strnlen(s, n);
    char *p = arena_alloc(a, n + 1);
    return p ? memcpy(p, s, n) : NULL;
}

char *arena_strdup(Arena *a, const char *s) { return arena_copy(a, s, strlen(s) + 1); }

char *arena_printf(Arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *p = arena_alloc(a, (size_t)MAX(n, 0) + 1);
    if (!p || n < 0)
        return p;
    va_start(args, fmt);
    vsnprintf(p, (size_t)n + 1, fmt, args);
    va_end(args);
    return p;
}

/* `data` is the address of a T *: its bytes are copied, as no void * lives there. The capacity
 * stays below UINT32_MAX, so that len + 1 never wraps round. */
void arena_vec_grow(Arena *a, void **data, uint32_t *cap, uint32_t need, size_t size)
{
    if (need <= *cap)
        return;
    if (need == UINT32_MAX) {
        arena_fail(a);
        return;
    }
    uint64_t wanted = MAX(MAX((uint64_t)*cap * 2, need), 8);
    uint32_t new_cap = (uint32_t)MIN(wanted, UINT32_MAX - 1);
    void *old, *grown = arena_alloc_array(a, size, new_cap);
    if (!grown)
        return;
    memcpy(&old, data, sizeof(old));
    if (old)
        memcpy(grown, old, *cap * size);
    memcpy(data, &grown, sizeof(grown));
    *cap = new_cap;
}
