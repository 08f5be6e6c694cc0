/* SPDX-License-Identifier: MIT
 *
 * What the generator of random kernels is made of: types, identifiers, scopes, and the text it
 * writes (SPIR-V assembly). expressions.h and statements.h go on from here; kernel.h has the whole.
 *
 * Everything is drawn from one seed. Each statement and each expression is a *node* with a number.
 * A node that is told to be left out is generated as always (so that all others stay what they
 * are), but its text is thrown away: a statement leaves nothing, an expression a constant. That is
 * what makes a failing kernel small.
 *
 * Nothing that is generated is undefined or left to the implementation: shifts are masked, divisors
 * positive, indices within bounds, loops counted, every variable initialised; floating point is
 * add, subtract, multiply, compare and convert, with denormals kept, rounding to nearest even and
 * NoContraction; the bits of a NaN are never looked at.
 */
#ifndef RANDOM_GENERATE_H
#define RANDOM_GENERATE_H

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum Kind { BOOL, S8, U8, S16, U16, S32, U32, S64, U64, F16, F32, F64, N_KINDS } Kind;
typedef struct Type { Kind kind; uint32_t n; } Type; /* n components, 1 to 4 */
typedef const char *Id;

static const char *const kind_names[] = { "bool", "s8", "u8", "s16", "u16", "s32", "u32", "s64",
                                          "u64", "f16", "f32", "f64" };
static const uint8_t kind_bits[] = { 1, 8, 8, 16, 16, 32, 32, 64, 64, 16, 32, 64 };

/* Who has the same value (of an expression), who arrives together (of control flow). */
typedef enum Level { IN_WORKGROUP, IN_SUBGROUP, IN_INVOCATION } Level;

typedef struct Value { Id id; Type type; Level level; } Value;

/* A variable: a pointer, or the chain that leads to one from a buffer or a structure. */
typedef struct Variable {
    Type type;
    const char *storage;        /* "Function", "StorageBuffer" */
    Id base;
    const char *chain;          /* indices as text; "" when base is the pointer */
    uint32_t length;            /* elements of an array, a power of two; 0 = none */
    Id whole;                   /* the type of base's structure or array, of the function's */
} Variable;

typedef struct Function {
    Id id, type, signature;     /* its type's id, that type's operands */
    Type result, out[2];
    uint32_t n_out;
} Function;

typedef struct Matrices { uint32_t m, n, k; Kind a, c; } Matrices;

enum { MAX_VARIABLES = 40, MAX_VALUES = 64, MAX_FUNCTIONS = 3, MAX_NODES = 20000, SLOTS = 64,
       INPUTS = 256, COUNTERS = 8, MATRIX_VARIABLES = 2 };

enum Feature { SMALL = 1, WIDE = 2, FLOATS = 4, SUBGROUPS = 8, SHARED = 16, ATOMICS = 32,
               MATRICES = 64, OUTSIDE = 128, VECTORS = 256, CALLS = 512,
               ENDS = 1024 /* OUTSIDE, most likely by little */ };

typedef struct Kernel {
    const char *text;
    uint32_t features, nodes;
    uint32_t local[3], groups;
    Kind a, c;                  /* of its matrices */
} Kernel;

typedef struct Gen {
    Arena *arena;
    Rng rng;
    const uint8_t *skip;        /* by node; may be NULL */
    uint32_t nodes, ids;
    uint32_t features;
    Str types, out, variables;  /* constants; the function's body; its variables */
    Str functions;
    Variable variable[MAX_VARIABLES];
    uint32_t n_variables;
    Value value[MAX_VALUES];
    uint32_t n_values;
    Function function[MAX_FUNCTIONS];
    uint32_t n_functions;
    Id constant[2048];          /* declared so far */
    uint32_t n_constants;
    Id label;                   /* of the block being written */
    bool dead;                  /* the block has its end */
    bool no_subgroups;          /* after a fall-through who meets whom is not told */
    bool is_main, vulkan;       /* vulkan: the memory model */
    Level flow, limit;          /* of the control flow; of the expression being written */
    uint32_t depth, budget;
    Id loop_merge, loop_continue, switch_merge;
    Level loop_flow, escape;    /* who is in the loop; who may have left the construct */
    Type result;                /* of the function, when not main */
    Id invocation, local;       /* number in the dispatch, in the workgroup */
    uint32_t n_local, checkpoints;
    Matrices matrix;
} Gen;

static uint32_t pick(Gen *g, uint32_t n)
{
    return (uint32_t)(rng_u64(&g->rng) >> 33) % n;
}

static bool chance(Gen *g, uint32_t percent)
{
    return pick(g, 100) < percent;
}

static bool is_float(Type t)
{
    return t.kind >= F16;
}

static bool is_signed(Type t)
{
    return t.kind == S8 || t.kind == S16 || t.kind == S32 || t.kind == S64;
}

static Type scalar(Kind kind)
{
    return (Type){ kind, 1 };
}

static Type of_kind(Type t, Kind kind)
{
    return (Type){ kind, t.n };
}

static bool kind_allowed(const Gen *g, Kind k)
{
    bool fits = kind_bits[k] == 32 || k == BOOL || (kind_bits[k] == 64 && g->features & WIDE) ||
                (kind_bits[k] < 32 && g->features & SMALL);
    return fits && (k < F16 || g->features & FLOATS);
}

static Kind any_kind(Gen *g, Kind first)
{
    for (;;) {
        Kind k = (Kind)((uint32_t)first + pick(g, (uint32_t)N_KINDS - (uint32_t)first));
        if (kind_allowed(g, k))
            return k;
    }
}

static Kind any_int(Gen *g)
{
    for (;;) {
        Kind k = (Kind)(S8 + pick(g, F16 - S8));
        if (kind_allowed(g, k))
            return k;
    }
}

/* Numbers mostly; 32 bits more often than others. */
static Type any_type(Gen *g)
{
    Type t = scalar(chance(g, 40) ? (chance(g, 50) ? U32 : S32) : any_kind(g, BOOL));
    if (g->features & VECTORS && chance(g, 25))
        t.n = 2 + pick(g, 3);
    return t;
}

/* ---- types and other things declared once ---------------------------------------------------- */

static Id declare(Gen *g, Id name, const char *text)
{
    for (uint32_t i = 0; i < g->n_constants; i++)
        if (!strcmp(g->constant[i], name))
            return g->constant[i];
    if (g->n_constants < COUNT_OF(g->constant))
        g->constant[g->n_constants++] = name;
    str_printf(g->arena, &g->types, "%s = %s\n", name, text);
    return name;
}

static Id type_name(Gen *g, Type t)
{
    Id one = arena_printf(g->arena, "%%%s", kind_names[t.kind]);
    if (t.n == 1)
        return one;
    return declare(g, arena_printf(g->arena, "%%v%u%s", t.n, one + 1),
                   arena_printf(g->arena, "OpTypeVector %s %u", one, t.n));
}

static Id pointer_type(Gen *g, const char *storage, Id to)
{
    return declare(g, arena_printf(g->arena, "%%ptr_%s_%s", storage, to + 1),
                   arena_printf(g->arena, "OpTypePointer %s %s", storage, to));
}

/* ---- text ------------------------------------------------------------------------------------ */

static Id new_id(Gen *g, const char *prefix)
{
    return arena_printf(g->arena, "%%%s%u", prefix, ++g->ids);
}

static PRINTF_LIKE(2, 3) void say(Gen *g, const char *fmt, ...)
{
    char line[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    str_add(g->arena, &g->out, line);
    str_add(g->arena, &g->out, "\n");
}

/* %t = fmt... */
static PRINTF_LIKE(2, 3) Id op(Gen *g, const char *fmt, ...)
{
    char line[512];
    Id id = new_id(g, "t");
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    say(g, "%s = %s", id, line);
    return id;
}

static void start_block(Gen *g, Id label)
{
    say(g, "%s = OpLabel", label);
    g->label = label;
    g->dead = false;
}

static void branch(Gen *g, Id to)
{
    if (!g->dead)
        say(g, "OpBranch %s", to);
    g->dead = true;
}

/* ---- leaving nodes out ----------------------------------------------------------------------- */

typedef struct Mark { uint32_t length, node; Id label; bool dead; } Mark;

static Mark begin_node(Gen *g)
{
    return (Mark){ g->out.len, g->nodes++, g->label, g->dead };
}

static void take_back(Gen *g, Mark mark)
{
    g->out.len = mark.length;
    if (g->out.data)
        g->out.data[mark.length] = 0;
    g->label = mark.label;
    g->dead = mark.dead;
}

/* True when the node's text was thrown away. */
static bool end_node(Gen *g, Mark mark)
{
    bool left_out = g->skip && mark.node < MAX_NODES && g->skip[mark.node];
    if (left_out)
        take_back(g, mark);
    return left_out;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Floating point: `bits` is a small integer times one half. */
static Id constant(Gen *g, Type t, int64_t bits)
{
    Id type = type_name(g, t), name;
    if (t.n > 1) {
        Id one = constant(g, scalar(t.kind), bits);
        Str s = { 0 };
        str_printf(g->arena, &s, "OpConstantComposite %s", type);
        for (uint32_t i = 0; i < t.n; i++)
            str_printf(g->arena, &s, " %s", one);
        return declare(g, arena_printf(g->arena, "%%v%u_%s", t.n, one + 1), s.data);
    }
    if (t.kind == BOOL)
        return bits & 1 ? "%true" : "%false";
    if (is_float(t)) {
        bits %= 4096;
        name = arena_printf(g->arena, "%%%s_%s%llu", kind_names[t.kind], bits < 0 ? "m" : "",
                            (unsigned long long)llabs(bits));
        return declare(g, name, arena_printf(g->arena, "OpConstant %s %.1f", type,
                                             (double)bits / 2));
    }
    uint32_t width = kind_bits[t.kind];
    uint64_t u = (uint64_t)bits & (width == 64 ? ~0ull : (1ull << width) - 1);
    int64_t s = (int64_t)(u << (64 - width)) >> (64 - width);
    if (!is_signed(t))
        return declare(g, arena_printf(g->arena, "%%%s_%llu", kind_names[t.kind],
                                       (unsigned long long)u),
                       arena_printf(g->arena, "OpConstant %s %llu", type, (unsigned long long)u));
    name = arena_printf(g->arena, "%%%s_%s%llu", kind_names[t.kind], s < 0 ? "m" : "",
                        s < 0 ? 0ull - (unsigned long long)s : (unsigned long long)s);
    return declare(g, name, arena_printf(g->arena, "OpConstant %s %lld", type, (long long)s));
}

static Id u32(Gen *g, uint32_t x)
{
    return constant(g, scalar(U32), x);
}

static Id random_constant(Gen *g, Type t)
{
    static const int64_t edges[] = { 0, 1, 2, 3, 7, 8, 31, 32, 63, 127, 128, 255, 0x7fff, 0x8000,
                                     0xffff, 0x7fffffff, 0x80000000, 0xffffffff, -1, -2,
                                     INT64_MAX, INT64_MIN };
    int64_t x = chance(g, 60) ? edges[pick(g, COUNT_OF(edges))]
              : chance(g, 70) ? (int64_t)pick(g, 40) - 10 : (int64_t)rng_u64(&g->rng);
    return constant(g, t, x);
}

#endif
