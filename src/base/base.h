/* SPDX-License-Identifier: MIT
 *
 * base: the foundation of every stage. It knows nothing of SPIR-V or LLVM.
 *
 * Memory: an arena per lifetime (module, kernel, scratch). Arena memory is zeroed and is never
 * freed singly. Running out of memory unwinds to the arena's owner by longjmp (arena_guard), so the
 * code between needs no checks; nothing here aborts, exits or prints.
 */
#ifndef HEDDLE_BASE_H
#define HEDDLE_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define COUNT_OF(a)            (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)              ((a) < (b) ? (a) : (b))
#define MAX(a, b)              ((a) > (b) ? (a) : (b))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

static inline uint64_t align_up(uint64_t x, uint64_t a) { return (x + a - 1) / a * a; }
static inline bool is_pow2(uint64_t x) { return x && !(x & (x - 1)); }

/* The monotonic clock, one for all cores. */
static inline uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static inline double clock_seconds(void) { return 1e-9 * (double)clock_ns(); }

/* ---- arena.c ------------------------------------------------------------------------------- */

typedef struct Arena Arena;
struct ArenaChunk;
struct Arena {
    struct ArenaChunk *chunks;
    size_t used, limit;  /* bytes handed out; 0 = no limit. Going past it is out of memory. */
    jmp_buf *on_failure; /* where out-of-memory goes; set by ARENA_GUARD */
};

/* Catches running out of memory in an arena that others will allocate from:
 *     jmp_buf oom;
 *     if (ARENA_GUARD(&arena, oom)) { ...failed: clean up, report... }
 * Locals changed after it and read in the failure branch must be volatile. */
#define ARENA_GUARD(arena, buf) ((arena)->on_failure = &(buf), setjmp(buf) != 0)
/* The same without setjmp in the caller: runs body(user) under a guard and restores the previous
 * one; false if memory ran out. */
bool arena_try(Arena *a, void (*body)(void *user), void *user);
/* What happens when memory runs out; returns only if no guard is set. */
void arena_fail(Arena *a);

/* An arena is valid when zero-initialised. Freeing it twice is harmless; it keeps limit and
 * guard. */
void arena_free(Arena *a);
/* Zeroed, aligned to 16. Never returns NULL: failure unwinds to *on_failure. (Without a guard:
 * NULL.) */
void *arena_alloc(Arena *a, size_t size);
void *arena_copy(Arena *a, const void *data, size_t size);
char *arena_strdup(Arena *a, const char *s);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define NEW(arena, T)          ((T *)arena_alloc((arena), sizeof(T)))
#define NEW_ARRAY(arena, T, n) ((T *)arena_alloc_array((arena), sizeof(T), (n)))
/* n * size with overflow treated as out of memory. */
void *arena_alloc_array(Arena *a, size_t size, size_t n);

/* ---- growing arrays, in an arena ------------------------------------------------------------ */

/* clang-format off */
#define VEC(T) struct { T *data; uint32_t len, cap; }
/* clang-format on */
void arena_vec_grow(Arena *a, void **data, uint32_t *cap, uint32_t need, size_t size);
#define vec_reserve(arena, v, n)                                                                   \
    ((n) > (v)->cap                                                                                \
         ? arena_vec_grow((arena), (void **)&(v)->data, &(v)->cap, (n), sizeof(*(v)->data))        \
         : (void)0)
#define vec_push(arena, v, ...)                                                                    \
    (vec_reserve((arena), (v), (v)->len + 1), (void)((v)->data[(v)->len++] = (__VA_ARGS__)))
#define vec_last(v) ((v)->data[(v)->len - 1])

/* ---- map.c: u64 -> u64, open addressing, in an arena ----------------------------------------- */

typedef struct Map {
    uint64_t *keys, *values; /* key 0 is a key like any other: `occupied` tells */
    uint8_t *occupied;
    uint32_t len, cap;
} Map;
bool map_get(const Map *m, uint64_t key, uint64_t *value);
void map_put(Arena *a, Map *m, uint64_t key, uint64_t value);
uint64_t hash_bytes(const void *data, size_t size, uint64_t seed);

/* ---- str.c: text being built, in an arena ---------------------------------------------------- */

/* data is NUL-terminated once non-empty */
typedef struct Str {
    char *data;
    uint32_t len, cap;
} Str;
void str_add(Arena *a, Str *s, const char *text);
void str_addn(Arena *a, Str *s, const char *text, size_t n);
void str_printf(Arena *a, Str *s, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* ---- cursor.c: the one way to read untrusted bytes ------------------------------------------- */

/* Reads past the end return zeros and set `overrun`; `pos` never passes `size`. */
typedef struct Cursor {
    const uint8_t *data;
    size_t size, pos;
    bool swap, overrun;
} Cursor;
uint8_t cursor_u8(Cursor *c);
uint16_t cursor_u16(Cursor *c);
uint32_t cursor_u32(Cursor *c);
const uint8_t *cursor_bytes(Cursor *c, size_t n); /* NULL and overrun when fewer remain */

/* ---- diag.c: diagnostics --------------------------------------------------------------------- */

typedef enum DiagSeverity { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR } DiagSeverity;

/* Where: a source position, a SPIR-V instruction, both or neither. Zero and NULL mean unknown. */
typedef struct DiagLoc {
    const char *file;
    uint32_t line, column;
    bool has_inst;
    uint32_t inst;      /* index of the instruction in the module, from 0 */
    const char *opcode; /* "OpCooperativeMatrixLoadKHR" */
    const char *result; /* "%acc" */
} DiagLoc;

typedef struct Diag {
    DiagSeverity severity;
    DiagLoc loc;
    /* the rule broken: VUID or "SPV_KHR_cooperative_matrix, 3.x"; or NULL */
    const char *rule;
    const char *message; /* one sentence, in the source language's terms */
} Diag;

/* A sink outlives the calls it is passed to; `report` may be called from the calling thread
 * only. */
typedef struct DiagSink {
    /* NULL discards. The strings live for the call. */
    void (*report)(void *user, const Diag *diag);
    void *user;
    uint32_t errors, warnings;
    uint32_t max_errors; /* after so many errors the rest are only counted; 0 = 20 */
} DiagSink;

void diag(DiagSink *s, DiagSeverity severity, const DiagLoc *loc, const char *rule, const char *fmt,
          ...) PRINTF_LIKE(5, 6);
void diag_v(DiagSink *s, DiagSeverity severity, const DiagLoc *loc, const char *rule,
            const char *fmt, va_list args);
/* "kernel.comp:12:3: error: message [rule]" into out; returns the length needed, as snprintf. */
size_t diag_format(const Diag *d, char *out, size_t size);

/* ---- print.c: OpenCL C's printf -------------------------------------------------------------- */

/* Formats n 64-bit words: integers, the bits of doubles, addresses of strings. Cut off at `size`,
 * always terminated; returns the length written. */
size_t print_words(char *out, size_t size, const char *format, const uint64_t *words, uint32_t n);

/* ---- floats.c: small floating-point formats -------------------------------------------------- */

/* To narrow: round to nearest even, overflow to infinity (e4m3 has none: NaN), NaN kept quiet. */
uint16_t f16_from_double(double x);
double f16_to_double(uint16_t h);
uint16_t bf16_from_double(double x);
double bf16_to_double(uint16_t h);
uint8_t e4m3_from_double(double x); /* OFP8 E4M3: max 448, no infinity */
double e4m3_to_double(uint8_t h);
/* OCP Microscaling Formats 1.0, in the low bits. Only E8M0 has a NaN; none has infinities. */
double e2m1_to_double(uint8_t h);
double e3m2_to_double(uint8_t h);
double e2m3_to_double(uint8_t h);
double e8m0_to_double(uint8_t h);   /* a bare exponent */
double mxint8_to_double(uint8_t h); /* 64ths */
uint8_t e5m2_from_double(double x);
double e5m2_to_double(uint8_t h);
/* 5 bits of exponent, no sign (Vulkan 3.9.3, 3.9.4): negative numbers are 0, what is too large is
 * the largest number. */
uint32_t ufloat_from_double(double x, int mantissa_bits);

/* ---- rng.c: the generator behind randn: and rand:, the same on every machine ----------------- */

typedef struct Rng {
    uint64_t state;
} Rng;
uint64_t rng_u64(Rng *r);
double rng_uniform(Rng *r); /* [0, 1) */
double rng_normal(Rng *r);

/* ---- file.c ---------------------------------------------------------------------------------- */

/* The whole file ("-": standard input), NUL-terminated beyond *size; for free(). NULL after
 * reporting. */
char *file_read(const char *path, size_t *size, DiagSink *sink);
/* Writes beside `path` and renames over it. */
bool file_write(const char *path, const void *a, size_t a_size, const void *b, size_t b_size,
                DiagSink *sink);

#endif
