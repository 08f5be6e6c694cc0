/* SPDX-License-Identifier: MIT
 *
 * Text of random kernels: choices, types and constants that are declared once, lines, nodes.
 */
#include "random/internal.h"

#include <stdlib.h>

const char *const gen_kind_names[] = { "bool", "s8",  "u8",  "s16", "u16", "s32",
                                       "u32",  "s64", "u64", "f16", "f32", "f64" };
const uint8_t gen_kind_bits[] = { 1, 8, 8, 16, 16, 32, 32, 64, 64, 16, 32, 64 };

uint32_t gen_pick(Gen *g, uint32_t n) { return (uint32_t)(rng_u64(&g->rng) >> 33) % n; }

bool gen_chance(Gen *g, uint32_t percent) { return gen_pick(g, 100) < percent; }

bool gen_is_float(GenType t) { return t.kind >= F16; }

bool gen_is_signed(GenType t)
{
    return t.kind == S8 || t.kind == S16 || t.kind == S32 || t.kind == S64;
}

GenType gen_scalar(GenKind kind) { return (GenType){ kind, 1 }; }

GenType gen_of_kind(GenType t, GenKind kind) { return (GenType){ kind, t.n }; }

bool gen_kind_allowed(const Gen *g, GenKind k)
{
    uint32_t wide = k == F64 ? GEN_FLOAT64 : GEN_INT64;
    if (gen_kind_bits[k] == 64 && !(g->has & wide))
        return false;
    bool fits = gen_kind_bits[k] == 32 || k == BOOL ||
                (gen_kind_bits[k] == 64 && g->features & WIDE) ||
                (gen_kind_bits[k] < 32 && g->features & SMALL);
    return fits && (k < F16 || g->features & FLOATS);
}

GenKind gen_any_kind(Gen *g, GenKind first)
{
    for (;;) {
        GenKind k = (GenKind)((uint32_t)first + gen_pick(g, (uint32_t)N_KINDS - (uint32_t)first));
        if (gen_kind_allowed(g, k))
            return k;
    }
}

GenKind gen_any_int(Gen *g)
{
    for (;;) {
        GenKind k = (GenKind)(S8 + gen_pick(g, F16 - S8));
        if (gen_kind_allowed(g, k))
            return k;
    }
}

/* Numbers mostly; 32 bits more often than others. */
GenType gen_any_type(Gen *g)
{
    GenType t =
        gen_scalar(gen_chance(g, 40) ? (gen_chance(g, 50) ? U32 : S32) : gen_any_kind(g, BOOL));
    if (g->features & VECTORS && gen_chance(g, 25))
        t.n = 2 + gen_pick(g, 3);
    return t;
}

/* ---- types and other things declared once ---------------------------------------------------- */

GenId gen_declare(Gen *g, GenId name, const char *text)
{
    for (uint32_t i = 0; i < g->n_constants; i++)
        if (!strcmp(g->constant[i], name))
            return g->constant[i];
    if (g->n_constants < COUNT_OF(g->constant))
        g->constant[g->n_constants++] = name;
    str_printf(g->arena, &g->types, "%s = %s\n", name, text);
    return name;
}

GenId gen_type_name(Gen *g, GenType t)
{
    GenId one = arena_printf(g->arena, "%%%s", gen_kind_names[t.kind]);
    if (t.n == 1)
        return one;
    return gen_declare(g, arena_printf(g->arena, "%%v%u%s", t.n, one + 1),
                       arena_printf(g->arena, "OpTypeVector %s %u", one, t.n));
}

GenId gen_pointer_type(Gen *g, const char *storage, GenId to)
{
    return gen_declare(g, arena_printf(g->arena, "%%ptr_%s_%s", storage, to + 1),
                       arena_printf(g->arena, "OpTypePointer %s %s", storage, to));
}

/* ---- text ------------------------------------------------------------------------------------ */

GenId gen_new_id(Gen *g, const char *prefix)
{
    return arena_printf(g->arena, "%%%s%u", prefix, ++g->ids);
}

PRINTF_LIKE(2, 3) void gen_say(Gen *g, const char *fmt, ...)
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
PRINTF_LIKE(2, 3) GenId gen_op(Gen *g, const char *fmt, ...)
{
    char line[512];
    GenId id = gen_new_id(g, "t");
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    gen_say(g, "%s = %s", id, line);
    return id;
}

void gen_start_block(Gen *g, GenId label)
{
    gen_say(g, "%s = OpLabel", label);
    g->label = label;
    g->dead = false;
}

void gen_branch(Gen *g, GenId to)
{
    if (!g->dead)
        gen_say(g, "OpBranch %s", to);
    g->dead = true;
}

/* ---- leaving nodes out ----------------------------------------------------------------------- */

GenMark gen_begin_node(Gen *g) { return (GenMark){ g->out.len, g->nodes++, g->label, g->dead }; }

void gen_take_back(Gen *g, GenMark mark)
{
    g->out.len = mark.length;
    if (g->out.data)
        g->out.data[mark.length] = 0;
    g->label = mark.label;
    g->dead = mark.dead;
}

/* True when the node's text was thrown away. */
bool gen_end_node(Gen *g, GenMark mark)
{
    bool left_out = g->skip && mark.node < GEN_MAX_NODES && g->skip[mark.node];
    if (left_out)
        gen_take_back(g, mark);
    return left_out;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Floating point: `bits` is a small integer times one half. */
GenId gen_constant(Gen *g, GenType t, int64_t bits)
{
    GenId type = gen_type_name(g, t), name;
    if (t.n > 1) {
        GenId one = gen_constant(g, gen_scalar(t.kind), bits);
        Str s = { 0 };
        str_printf(g->arena, &s, "OpConstantComposite %s", type);
        for (uint32_t i = 0; i < t.n; i++)
            str_printf(g->arena, &s, " %s", one);
        return gen_declare(g, arena_printf(g->arena, "%%v%u_%s", t.n, one + 1), s.data);
    }
    if (t.kind == BOOL)
        return bits & 1 ? "%true" : "%false";
    if (gen_is_float(t)) {
        bits %= 4096;
        name = arena_printf(g->arena, "%%%s_%s%llu", gen_kind_names[t.kind], bits < 0 ? "m" : "",
                            (unsigned long long)llabs(bits));
        return gen_declare(g, name,
                           arena_printf(g->arena, "OpConstant %s %.1f", type, (double)bits / 2));
    }
    uint32_t width = gen_kind_bits[t.kind];
    uint64_t u = (uint64_t)bits & (width == 64 ? ~0ull : (1ull << width) - 1);
    int64_t s = (int64_t)(u << (64 - width)) >> (64 - width);
    if (!gen_is_signed(t))
        return gen_declare(
            g, arena_printf(g->arena, "%%%s_%llu", gen_kind_names[t.kind], (unsigned long long)u),
            arena_printf(g->arena, "OpConstant %s %llu", type, (unsigned long long)u));
    name = arena_printf(g->arena, "%%%s_%s%llu", gen_kind_names[t.kind], s < 0 ? "m" : "",
                        s < 0 ? 0ull - (unsigned long long)s : (unsigned long long)s);
    return gen_declare(g, name, arena_printf(g->arena, "OpConstant %s %lld", type, (long long)s));
}

GenId gen_u32(Gen *g, uint32_t x) { return gen_constant(g, gen_scalar(U32), x); }

GenId gen_random_constant(Gen *g, GenType t)
{
    static const int64_t edges[] = { 0,      1,      2,         3,          7,          8,
                                     31,     32,     63,        127,        128,        255,
                                     0x7fff, 0x8000, 0xffff,    0x7fffffff, 0x80000000, 0xffffffff,
                                     -1,     -2,     INT64_MAX, INT64_MIN };
    int64_t x = gen_chance(g, 60)   ? edges[gen_pick(g, COUNT_OF(edges))]
                : gen_chance(g, 70) ? (int64_t)gen_pick(g, 40) - 10
                                    : (int64_t)rng_u64(&g->rng);
    return gen_constant(g, t, x);
}
