/* SPDX-License-Identifier: MIT
 *
 * Random expressions of a type: leaves (constants, variables, built-ins, buffers), operators,
 * conversions, subgroup operations, values chosen by control flow with OpPhi. g->limit tells who
 * must agree on the value.
 */
#ifndef RANDOM_EXPRESSIONS_H
#define RANDOM_EXPRESSIONS_H

#include "generate.h"

static Id expression(Gen *g, Type t, uint32_t depth);

/* ---- conversions ----------------------------------------------------------------------------- */

static Id make_vector(Gen *g, Type t, Id one)
{
    static const char *const repeat[] = { "", "", " %s %s", " %s %s %s", " %s %s %s %s" };
    char text[200];
    if (t.n == 1)
        return one;
    snprintf(text, sizeof text, repeat[t.n], one, one, one, one);
    return op(g, "OpCompositeConstruct %s%s", type_name(g, t), text);
}

static Id is_true(Gen *g, Type t, Id x)
{
    return op(g, "%s %s %s %s", is_float(t) ? "OpFUnordNotEqual" : "OpINotEqual",
              type_name(g, of_kind(t, BOOL)), x, constant(g, t, 0));
}

/* NaNs made one, and -0 made 0: then the bits are told. */
static Id canonical(Gen *g, Type t, Id x)
{
    Id b = type_name(g, of_kind(t, BOOL)), name = type_name(g, t);
    Id sum = op(g, "OpFAdd %s %s %s", name, x, constant(g, t, 0));
    Id nan = op(g, "OpIsNan %s %s", b, sum);
    return op(g, "OpSelect %s %s %s %s", name, nan, constant(g, t, 1), sum);
}

/* Within what the integer type holds; NaN becomes the least. */
static Id float_to_int(Gen *g, Type from, Type to, Id x)
{
    bool sign = is_signed(to);
    int64_t most = kind_bits[to.kind] == 8 ? (sign ? 120 : 250) : 2000;
    Id fitting = op(g, "OpExtInst %s %%glsl NClamp %s %s %s", type_name(g, from), x,
                    constant(g, from, sign ? -most * 2 : 0), constant(g, from, most * 2));
    return op(g, "%s %s %s", sign ? "OpConvertFToS" : "OpConvertFToU", type_name(g, to), fitting);
}

/* Of the same number of components. */
static Id convert(Gen *g, Type from, Type to, Id x)
{
    Id name = type_name(g, to);
    if (from.kind == to.kind)
        return x;
    if (to.kind == BOOL)
        return is_true(g, from, x);
    if (from.kind == BOOL)
        return op(g, "OpSelect %s %s %s %s", name, x, constant(g, to, is_float(to) ? 2 : 1),
                  constant(g, to, 0));
    if (is_float(from) && is_float(to))
        return op(g, "OpFConvert %s %s", name, x);
    if (is_float(from))
        return float_to_int(g, from, to, x);
    if (is_float(to))
        return op(g, "%s %s %s", is_signed(from) ? "OpConvertSToF" : "OpConvertUToF", name, x);
    if (kind_bits[from.kind] == kind_bits[to.kind])
        return op(g, "OpBitcast %s %s", name, x);
    return op(g, "%s %s %s", is_signed(to) ? "OpSConvert" : "OpUConvert", name, x);
}

/* Scalar: the same bits as an unsigned number, floating point made canonical first. */
static Id to_bits(Gen *g, Type t, Id x, Type *bits)
{
    static const uint8_t same[] = { U32, U8, U8, U16, U16, U32, U32, U64, U64, U16, U32, U64 };
    *bits = scalar((Kind)same[t.kind]);
    if (is_float(t))
        x = canonical(g, t, x);
    if (t.kind == BOOL)
        return convert(g, t, *bits, x);
    return t.kind == bits->kind ? x : op(g, "OpBitcast %s %s", type_name(g, *bits), x);
}

static Id extract(Gen *g, Type t, Id x, uint32_t i)
{
    return t.n == 1 ? x : op(g, "OpCompositeExtract %s %s %u", type_name(g, scalar(t.kind)), x, i);
}

/* Any value as one u32, every bit of it counting. */
static Id digest(Gen *g, Type t, Id x)
{
    Id sum = NULL;
    for (uint32_t i = 0; i < t.n; i++) {
        Type bits;
        Id b = to_bits(g, scalar(t.kind), extract(g, t, x, i), &bits);
        if (bits.kind == U64) {
            Id high = op(g, "OpShiftRightLogical %%u64 %s %s", b, u32(g, 31));
            b = op(g, "OpBitwiseXor %%u64 %s %s", b, high);
        }
        b = convert(g, bits, scalar(U32), b);
        if (sum) {
            sum = op(g, "OpIMul %%u32 %s %s", sum, u32(g, 31));
            sum = op(g, "OpIAdd %%u32 %s %s", sum, b);
        } else {
            sum = b;
        }
    }
    return sum;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static Id pointer_to(Gen *g, const Variable *v, Id index)
{
    if (!*v->chain && !v->length)
        return v->base;
    return op(g, "OpAccessChain %s %s %s %s", pointer_type(g, v->storage, type_name(g, v->type)),
              v->base, v->chain, v->length ? index : "");
}

static Id index_below(Gen *g, uint32_t length, uint32_t depth)
{
    if (chance(g, 30))
        return u32(g, pick(g, length));
    Id i = expression(g, scalar(U32), depth);
    if ((length & (length - 1)) == 0)
        return op(g, "OpBitwiseAnd %%u32 %s %s", i, u32(g, length - 1));
    return op(g, "OpUMod %%u32 %s %s", i, u32(g, length));
}

static Id load(Gen *g, const Variable *v, uint32_t depth)
{
    Id index = v->length ? index_below(g, v->length, depth) : NULL;
    return op(g, "OpLoad %s %s", type_name(g, v->type), pointer_to(g, v, index));
}

/* Of up to 40 terms, each of which is the sum so far or is added to it. */
static Id long_sum(Gen *g)
{
    Id sum = expression(g, scalar(U32), 1);
    for (uint32_t n = 2 + pick(g, 39); n; n--) {
        Id term = chance(g, 30) ? u32(g, pick(g, 9)) : expression(g, scalar(U32), 1);
        bool first = chance(g, 50);
        sum = op(g, "OpIAdd %%u32 %s %s", first ? sum : term, first ? term : sum);
    }
    return sum;
}

/* Most likely near where the buffer, or the numbers, end. */
static Id outside_index(Gen *g, uint32_t depth)
{
    static const uint32_t ends[] = { 0, INPUTS, 0x7fffffff, 0xffffffff, 0x40000000, 0x80000000 };
    if (chance(g, 20))
        return long_sum(g);
    Id i = g->limit >= IN_INVOCATION && chance(g, 70) ? op(g, "OpLoad %%u32 %%local_index")
                                                      : expression(g, scalar(U32), depth);
    if (chance(g, 30))
        return i;
    return op(g, "OpIAdd %%u32 %s %s", i, u32(g, ends[pick(g, COUNT_OF(ends))] + pick(g, 80) - 40));
}

static Id load_input(Gen *g, uint32_t depth)
{
    bool outside = g->features & OUTSIDE && chance(g, 50);
    Id i = !outside ? index_below(g, INPUTS, depth)
        : g->features & ENDS ? outside_index(g, depth) : expression(g, scalar(U32), depth);
    Id p = op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%in %s %s", u32(g, 0), i);
    return op(g, "OpLoad %%u32 %s", p);
}

static Id built_in(Gen *g)
{
    static const struct { const char *name; Level level; bool scalar, subgroup; } table[] = {
        { "wg_id", IN_WORKGROUP, false, false },   { "wg_count", IN_WORKGROUP, false, false },
        { "sg_count", IN_WORKGROUP, true, true },  { "sg_size", IN_WORKGROUP, true, true },
        { "sg_id", IN_SUBGROUP, true, true },      { "local_id", IN_INVOCATION, false, false },
        { "global_id", IN_INVOCATION, false, false }, { "local_index", IN_INVOCATION, true, false },
        { "sg_lane", IN_INVOCATION, true, true },
    };
    for (;;) {
        uint32_t k = pick(g, COUNT_OF(table)), axis = pick(g, 3);
        if (table[k].level > g->limit || (table[k].subgroup && !(g->features & SUBGROUPS)))
            continue;
        if (table[k].scalar)
            return op(g, "OpLoad %%u32 %%%s", table[k].name);
        Id v = op(g, "OpLoad %%v3u32 %%%s", table[k].name);
        return op(g, "OpCompositeExtract %%u32 %s %u", v, axis);
    }
}

/* One that is in scope, of the type and level; NULL. */
static Id known_value(Gen *g, Type t)
{
    uint32_t start = g->n_values ? pick(g, g->n_values) : 0;
    for (uint32_t k = 0; k < g->n_values; k++) {
        const Value *v = &g->value[(start + k) % g->n_values];
        if (v->type.kind == t.kind && v->type.n == t.n && v->level <= g->limit)
            return v->id;
    }
    return NULL;
}

static const Variable *known_variable(Gen *g, Type t)
{
    uint32_t start = g->n_variables ? pick(g, g->n_variables) : 0;
    for (uint32_t k = 0; k < g->n_variables; k++) {
        const Variable *v = &g->variable[(start + k) % g->n_variables];
        if (v->type.kind == t.kind && v->type.n == t.n)
            return v;
    }
    return NULL;
}

static Id leaf(Gen *g, Type t)
{
    uint32_t what = pick(g, 10);
    Id known = known_value(g, t);
    const Variable *v = known_variable(g, t);
    if (what < 2)
        return random_constant(g, t);
    if (what < 6 && v && g->limit == IN_INVOCATION)
        return load(g, v, 0);
    if (what < 8 && known)
        return known;
    if (t.n > 1) {
        Str s = { 0 };
        for (uint32_t i = 0; i < t.n; i++)
            str_printf(g->arena, &s, " %s", leaf(g, scalar(t.kind)));
        return op(g, "OpCompositeConstruct %s%s", type_name(g, t), s.data);
    }
    Id x = what < 9 ? built_in(g) : load_input(g, 0);
    if (!is_float(t))
        return convert(g, scalar(U32), t, x);
    x = op(g, "OpBitcast %%s32 %s", x);
    x = op(g, "OpShiftRightArithmetic %%s32 %s %s", x, u32(g, 4 + pick(g, 24)));
    return convert(g, scalar(S32), t, x);
}

/* ---- operators ------------------------------------------------------------------------------- */

static Id unary(Gen *g, const char *name, Type t, uint32_t depth)
{
    Id x = expression(g, t, depth);
    return op(g, "%s %s %s", name, type_name(g, t), x);
}

static Id binary(Gen *g, const char *name, Type t, uint32_t depth)
{
    Id a = expression(g, t, depth), b = expression(g, t, depth);
    return op(g, "%s %s %s %s", name, type_name(g, t), a, b);
}

/* The divisor is at least 1; the dividend of a signed remainder may be anything then. */
static Id divide(Gen *g, Type t, uint32_t depth)
{
    static const char *const s[] = { "OpSDiv", "OpSRem", "OpSMod" }, *const u[] = { "OpUDiv",
                                                                                 "OpUMod" };
    const char *name = is_signed(t) ? s[pick(g, 3)] : u[pick(g, 2)];
    Id a = expression(g, t, depth), b;
    if (is_signed(t) && chance(g, 20)) {
        b = constant(g, t, -2 - (int64_t)pick(g, 9));
    } else {
        b = expression(g, t, depth);
        b = op(g, "OpBitwiseAnd %s %s %s", type_name(g, t), b, constant(g, t, 0x3f));
        b = op(g, "OpBitwiseOr %s %s %s", type_name(g, t), b, constant(g, t, 1));
    }
    return op(g, "%s %s %s %s", name, type_name(g, t), a, b);
}

static Id shift(Gen *g, Type t, uint32_t depth)
{
    static const char *const names[] = { "OpShiftLeftLogical", "OpShiftRightLogical",
                                         "OpShiftRightArithmetic" };
    Type by = chance(g, 70) ? t : of_kind(t, any_int(g));
    const char *name = names[pick(g, 3)];
    Id a = expression(g, t, depth), b = expression(g, by, depth);
    b = op(g, "OpBitwiseAnd %s %s %s", type_name(g, by), b, constant(g, by, kind_bits[t.kind] - 1));
    return op(g, "%s %s %s %s", name, type_name(g, t), a, b);
}

static Id bit_field(Gen *g, Type t, uint32_t depth)
{
    Id a = expression(g, t, depth), b = expression(g, t, depth);
    Id at = expression(g, scalar(U32), depth), n = expression(g, scalar(U32), depth);
    at = op(g, "OpBitwiseAnd %%u32 %s %s", at, u32(g, 15));
    n = op(g, "OpUMod %%u32 %s %s", n, u32(g, 18));
    if (chance(g, 33))
        return op(g, "OpBitFieldInsert %s %s %s %s %s", type_name(g, t), a, b, at, n);
    return op(g, "%s %s %s %s %s", is_signed(t) ? "OpBitFieldSExtract" : "OpBitFieldUExtract",
              type_name(g, t), a, at, n);
}

/* Multiplication, addition and subtraction with two results, of 32 bits. */
static Id extended(Gen *g, Type t, uint32_t depth)
{
    static const char *const names[] = { "OpUMulExtended", "OpSMulExtended", "OpIAddCarry",
                                         "OpISubBorrow" };
    uint32_t k = pick(g, 4), part = pick(g, 2);
    Type at = scalar(k == 1 ? S32 : U32);
    Id a = expression(g, at, depth), b = expression(g, at, depth);
    Id pair = op(g, "%s %%pair_%s %s %s", names[k], kind_names[at.kind], a, b);
    Id x = op(g, "OpCompositeExtract %s %s %u", type_name(g, at), pair, part);
    return convert(g, at, t, x);
}

static Id int_ext_inst(Gen *g, Type t, uint32_t depth)
{
    static const char *const s[] = { "SMin", "SMax", "SClamp", "SAbs", "SSign" };
    static const char *const u[] = { "UMin", "UMax", "UClamp" };
    static const char *const w[] = { "FindILsb", "FindUMsb", "FindSMsb" };
    uint32_t k = is_signed(t) ? pick(g, 5) : pick(g, 3);
    Id a = expression(g, t, depth), name = type_name(g, t);
    if (kind_bits[t.kind] == 32 && chance(g, 30))
        return op(g, "OpExtInst %s %%glsl %s %s", name,
                  w[is_signed(t) ? pick(g, 2) * 2 : pick(g, 2)], a);
    if (k >= 3)
        return op(g, "OpExtInst %s %%glsl %s %s", name, s[k], a);
    if (k == 2) {
        int64_t low = (int64_t)pick(g, 20), high = low + (int64_t)pick(g, 60);
        return op(g, "OpExtInst %s %%glsl %s %s %s %s", name, is_signed(t) ? s[k] : u[k], a,
                  constant(g, t, is_signed(t) ? low - 10 : low), constant(g, t, high));
    }
    Id b = expression(g, t, depth);
    return op(g, "OpExtInst %s %%glsl %s %s %s", name, is_signed(t) ? s[k] : u[k], a, b);
}

static Id dot_product(Gen *g, Type t, uint32_t depth)
{
    bool sign = is_signed(t);
    Type v = { sign ? S8 : U8, 4 };
    Id a = expression(g, v, depth), b = expression(g, v, depth);
    if (chance(g, 50))
        return op(g, "%s %s %s %s", sign ? "OpSDot" : "OpUDot", type_name(g, t), a, b);
    Id c = expression(g, t, depth);
    return op(g, "%s %s %s %s %s", sign ? "OpSDotAccSat" : "OpUDotAccSat", type_name(g, t), a, b,
              c);
}

static Id int_operator(Gen *g, Type t, uint32_t depth)
{
    static const char *const simple[] = { "OpIAdd", "OpISub", "OpIMul", "OpBitwiseAnd",
                                          "OpBitwiseOr", "OpBitwiseXor" };
    bool wide = kind_bits[t.kind] == 32;
    switch (pick(g, 13)) {
    case 0: case 1: case 2: case 3: return binary(g, simple[pick(g, COUNT_OF(simple))], t, depth);
    case 4: return unary(g, chance(g, 50) ? "OpNot" : "OpSNegate", t, depth);
    case 5: return divide(g, t, depth);
    case 6: case 7: return shift(g, t, depth);
    case 8: return wide ? bit_field(g, t, depth) : binary(g, "OpISub", t, depth);
    case 9: return wide ? unary(g, chance(g, 50) ? "OpBitCount" : "OpBitReverse", t, depth)
                        : binary(g, "OpIMul", t, depth);
    case 10: return wide && t.n == 1 ? extended(g, t, depth) : binary(g, "OpIAdd", t, depth);
    case 11: return wide && t.n == 1 && g->features & SMALL ? dot_product(g, t, depth)
                                                           : shift(g, t, depth);
    default: return int_ext_inst(g, t, depth);
    }
}

static Id float_operator(Gen *g, Type t, uint32_t depth)
{
    static const char *const one[] = { "FAbs", "Floor", "Ceil", "Trunc", "RoundEven", "FSign" };
    Id x, name = type_name(g, t);
    uint32_t what = pick(g, 9);
    switch (what) {
    case 0: case 1: return binary(g, "OpFAdd", t, depth);
    case 2: return binary(g, "OpFSub", t, depth);
    case 3: case 4: return binary(g, "OpFMul", t, depth);
    case 5: return unary(g, "OpFNegate", t, depth);
    case 6:
    case 7:
        /* NMin, NMax: either zero may be the result of two, and no bits of a NaN. */
        x = expression(g, t, depth);
        return op(g, "OpExtInst %s %%glsl %s %s %s", name, what == 6 ? "NMin" : "NMax", x,
                  constant(g, t, 2 + (int64_t)pick(g, 40)));
    default:
        x = expression(g, t, depth);
        /* FSign of a NaN is anything: none gets there. */
        x = canonical(g, t, x);
        return op(g, "OpExtInst %s %%glsl %s %s", name, one[pick(g, COUNT_OF(one))], x);
    }
}

static Id comparison(Gen *g, Type t, uint32_t depth)
{
    static const char *const s[] = { "OpSLessThan", "OpSGreaterThanEqual", "OpSGreaterThan",
                                     "OpSLessThanEqual", "OpIEqual", "OpINotEqual" };
    static const char *const u[] = { "OpULessThan", "OpUGreaterThanEqual", "OpUGreaterThan",
                                     "OpULessThanEqual", "OpIEqual", "OpINotEqual" };
    static const char *const f[] = { "OpFOrdLessThan", "OpFUnordLessThanEqual", "OpFOrdGreaterThan",
                                     "OpFUnordGreaterThanEqual", "OpFOrdEqual",
                                     "OpFUnordNotEqual" };
    Type of = of_kind(t, any_kind(g, S8));
    const char *const *names = is_float(of) ? f : is_signed(of) ? s : u;
    Id a = expression(g, of, depth), b = expression(g, of, depth);
    return op(g, "%s %s %s %s", names[pick(g, 6)], type_name(g, t), a, b);
}

static Id bool_operator(Gen *g, Type t, uint32_t depth)
{
    static const char *const logic[] = { "OpLogicalAnd", "OpLogicalOr", "OpLogicalEqual",
                                         "OpLogicalNotEqual" };
    uint32_t what = pick(g, 12);
    if (what < 7)
        return comparison(g, t, depth);
    if (what < 9)
        return binary(g, logic[pick(g, 4)], t, depth);
    if (what == 9)
        return unary(g, "OpLogicalNot", t, depth);
    if (what == 10 && t.n == 1 && g->features & VECTORS) {
        Type v = { BOOL, 2 + pick(g, 3) };
        Id x = expression(g, v, depth);
        return op(g, "%s %%bool %s", chance(g, 50) ? "OpAny" : "OpAll", x);
    }
    if (g->features & FLOATS) {
        Type of = of_kind(t, F32);
        Id x = expression(g, of, depth);
        return op(g, "%s %s %s", chance(g, 50) ? "OpIsNan" : "OpIsInf", type_name(g, t), x);
    }
    return comparison(g, t, depth);
}

/* ---- subgroups ------------------------------------------------------------------------------- */

static Id vote(Gen *g, Type t, uint32_t depth)
{
    Id x;
    switch (pick(g, 5)) {
    case 0: x = op(g, "OpGroupNonUniformElect %%bool %%u32_3"); break;
    case 1:
        x = expression(g, scalar(U32), depth);
        x = op(g, "OpGroupNonUniformAllEqual %%bool %%u32_3 %s", x);
        break;
    case 2:
        x = expression(g, scalar(BOOL), depth);
        x = op(g, "OpGroupNonUniformBallot %%v4u32 %%u32_3 %s", x);
        x = op(g, "OpGroupNonUniformInverseBallot %%bool %%u32_3 %s", x);
        break;
    default:
        x = expression(g, scalar(BOOL), depth);
        x = op(g, "%s %%bool %%u32_3 %s",
               chance(g, 50) ? "OpGroupNonUniformAll" : "OpGroupNonUniformAny", x);
        break;
    }
    return make_vector(g, t, x);
}

static Id ballot(Gen *g, Type t, uint32_t depth)
{
    static const char *const kinds[] = { "Reduce", "InclusiveScan", "ExclusiveScan" };
    Id b = expression(g, scalar(BOOL), depth), x;
    b = op(g, "OpGroupNonUniformBallot %%v4u32 %%u32_3 %s", b);
    switch (pick(g, 4)) {
    case 0: x = op(g, "OpCompositeExtract %%u32 %s %u", b, pick(g, 4)); break;
    case 1:
        x = op(g, "OpGroupNonUniformBallotBitCount %%u32 %%u32_3 %s %s",
               g->limit == IN_SUBGROUP ? "Reduce" : kinds[pick(g, 3)], b);
        break;
    case 2:
        b = op(g, "OpGroupNonUniformBallot %%v4u32 %%u32_3 %%true");    /* never empty */
        x = op(g, "OpGroupNonUniformBallotFind%s %%u32 %%u32_3 %s", chance(g, 50) ? "LSB" : "MSB",
               b);
        break;
    default:
        x = op(g, "OpGroupNonUniformBroadcastFirst %%u32 %%u32_3 %s", built_in(g));
        break;
    }
    return make_vector(g, t, convert(g, scalar(U32), scalar(t.kind), x));
}

static Id reduction(Gen *g, Type t, uint32_t depth)
{
    static const char *const s[] = { "SMin", "SMax", "IAdd", "IMul", "BitwiseAnd", "BitwiseOr",
                                     "BitwiseXor" };
    static const char *const u[] = { "UMin", "UMax", "IAdd", "IMul", "BitwiseAnd", "BitwiseOr",
                                     "BitwiseXor" };
    static const char *const f[] = { "FAdd", "FMin", "FMax" };
    static const char *const l[] = { "LogicalAnd", "LogicalOr", "LogicalXor" };
    static const char *const kinds[] = { "Reduce", "InclusiveScan", "ExclusiveScan" };
    const char *kind = kinds[pick(g, 3)], *name;
    uint32_t clustered = pick(g, 8);
    Id x;
    if (is_float(t)) {      /* small integers: their sums are exact in any order */
        Type from = of_kind(t, S32);
        x = expression(g, from, depth);
        x = op(g, "OpBitwiseAnd %s %s %s", type_name(g, from), x, constant(g, from, 15));
        x = convert(g, from, t, x);
        name = f[pick(g, 3)];
    } else {
        x = expression(g, t, depth);
        name = t.kind == BOOL ? l[pick(g, 3)] : (is_signed(t) ? s : u)[pick(g, 7)];
    }
    if (g->limit == IN_SUBGROUP)
        kind = kinds[0];
    else if (clustered < 2)
        return op(g, "OpGroupNonUniform%s %s %%u32_3 ClusteredReduce %s %s", name, type_name(g, t),
                  x, u32(g, 1u << pick(g, 4)));
    return op(g, "OpGroupNonUniform%s %s %%u32_3 %s %s", name, type_name(g, t), kind, x);
}

/* From an invocation that may not be there or not active the value is undefined: it is asked
 * whether it is with a ballot first, and the own value taken when not. */
static Id shuffle(Gen *g, Type t, uint32_t depth)
{
    static const char *const names[] = { "Shuffle", "ShuffleXor", "ShuffleUp", "ShuffleDown",
                                         "RotateKHR", "QuadSwap" };
    uint32_t k = pick(g, COUNT_OF(names)), way = pick(g, 3);
    Id x = expression(g, t, depth), lane = op(g, "OpLoad %%u32 %%sg_lane"), by, from, there;
    Id size = op(g, "OpLoad %%u32 %%sg_size");
    by = chance(g, 50) ? u32(g, 1u << pick(g, 4)) : built_in(g);
    by = op(g, "OpBitwiseAnd %%u32 %s %s", by, u32(g, 127));
    if (k >= 2 && k <= 4)       /* the delta must be the same in all */
        by = op(g, "OpGroupNonUniformBroadcastFirst %%u32 %%u32_3 %s", by);
    switch (k) {
    case 0: from = by; break;
    case 1: from = op(g, "OpBitwiseXor %%u32 %s %s", lane, by); break;
    case 2: from = op(g, "OpISub %%u32 %s %s", lane, by); break;
    case 3: from = op(g, "OpIAdd %%u32 %s %s", lane, by); break;
    case 4:
        from = op(g, "OpIAdd %%u32 %s %s", lane, by);
        from = op(g, "OpUMod %%u32 %s %s", from, size);
        break;
    default:
        by = u32(g, way);
        from = op(g, "OpBitwiseXor %%u32 %s %s", lane, u32(g, way + 1));
    }
    there = op(g, "OpGroupNonUniformBallot %%v4u32 %%u32_3 %%true");
    Id inside = op(g, "OpULessThan %%bool %s %s", from, size);
    Id safe = op(g, "OpSelect %%u32 %s %s %s", inside, from, lane);
    there = op(g, "OpGroupNonUniformBallotBitExtract %%bool %%u32_3 %s %s", there, safe);
    there = op(g, "OpLogicalAnd %%bool %s %s", there, inside);
    /* Shuffle from itself where the other one is not there; the rest are as they are. */
    if (k < 2)
        by = op(g, "OpSelect %%u32 %s %s %s", there, by, k == 0 ? lane : u32(g, 0));
    Id got = op(g, "OpGroupNonUniform%s %s %%u32_3 %s %s", names[k], type_name(g, t), x, by);
    there = make_vector(g, of_kind(t, BOOL), there);
    return op(g, "OpSelect %s %s %s %s", type_name(g, t), there, got, x);
}

static Id subgroup_operation(Gen *g, Type t, uint32_t depth)
{
    Level limit = g->limit;
    Id x;
    uint32_t what = pick(g, 5);
    if (limit == IN_SUBGROUP && what == 4)
        what = 3;
    if (limit == IN_SUBGROUP && t.kind == BOOL) {
        g->limit = IN_INVOCATION;
        x = expression(g, scalar(BOOL), depth);
        g->limit = limit;
        x = op(g, "OpGroupNonUniformAny %%bool %%u32_3 %s", x);
        return make_vector(g, t, x);
    }
    /* The operand may differ where the result is one for all. */
    if (limit == IN_SUBGROUP && what < 3) {
        g->limit = IN_INVOCATION;
        x = expression(g, t, depth);
        g->limit = limit;
        return op(g, "OpGroupNonUniformBroadcastFirst %s %%u32_3 %s", type_name(g, t), x);
    }
    switch (what) {
    case 0: return t.kind == BOOL ? vote(g, t, depth) : reduction(g, t, depth);
    case 1: return t.kind == BOOL ? vote(g, t, depth) : ballot(g, t, depth);
    case 2: case 3: return reduction(g, t, depth);
    default: return shuffle(g, t, depth);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static Id vector_operator(Gen *g, Type t, uint32_t depth)
{
    Type v = { t.kind, 2 + pick(g, 3) };
    Id a = expression(g, v, depth), b;
    if (t.n == 1) {
        if (chance(g, 50))
            return op(g, "OpCompositeExtract %s %s %u", type_name(g, t), a, pick(g, v.n));
        b = index_below(g, v.n, depth);
        return op(g, "OpVectorExtractDynamic %s %s %s", type_name(g, t), a, b);
    }
    switch (pick(g, 3)) {
    case 0: {
        Str s = { 0 };
        b = expression(g, v, depth);
        for (uint32_t i = 0; i < t.n; i++)
            str_printf(g->arena, &s, " %u", pick(g, v.n * 2));
        return op(g, "OpVectorShuffle %s %s %s%s", type_name(g, t), a, b, s.data);
    }
    case 1:
        a = expression(g, t, depth);
        b = expression(g, scalar(t.kind), depth);
        return op(g, "OpVectorInsertDynamic %s %s %s %s", type_name(g, t), a, b,
                  index_below(g, t.n, depth));
    default:
        a = expression(g, t, depth);
        b = expression(g, scalar(t.kind), depth);
        if (is_float(t))
            return op(g, "OpVectorTimesScalar %s %s %s", type_name(g, t), a, b);
        return op(g, "OpCompositeInsert %s %s %s %u", type_name(g, t), b, a, pick(g, t.n));
    }
}

static Id select_operator(Gen *g, Type t, uint32_t depth)
{
    Id c = expression(g, of_kind(t, BOOL), depth);
    Id a = expression(g, t, depth), b = expression(g, t, depth);
    return op(g, "OpSelect %s %s %s %s", type_name(g, t), c, a, b);
}

/* One of two values by control flow, met in an OpPhi. */
static Id choose(Gen *g, Type t, uint32_t depth)
{
    Id c = expression(g, scalar(BOOL), depth), yes = new_id(g, "b"), no = new_id(g, "b");
    Id merge = new_id(g, "b"), from_yes, from_no, a, b;
    Level flow = g->flow;
    g->flow = MAX(g->flow, g->limit);
    say(g, "OpSelectionMerge %s None", merge);
    say(g, "OpBranchConditional %s %s %s", c, yes, no);
    start_block(g, yes);
    a = expression(g, t, depth);
    from_yes = g->label;
    branch(g, merge);
    start_block(g, no);
    b = expression(g, t, depth);
    from_no = g->label;
    branch(g, merge);
    start_block(g, merge);
    g->flow = flow;
    return op(g, "OpPhi %s %s %s %s %s", type_name(g, t), a, from_yes, b, from_no);
}

static Id inner(Gen *g, Type t, uint32_t depth)
{
    bool subgroups = g->features & SUBGROUPS && !g->no_subgroups && g->limit != IN_WORKGROUP &&
                     g->limit >= g->flow;
    uint32_t what = pick(g, 100);
    if (depth == 0)
        return leaf(g, t);
    depth--;
    if (subgroups && what < 12)
        return subgroup_operation(g, t, depth);
    if (what < 20)
        return leaf(g, t);
    if (what < 27)
        return select_operator(g, t, depth);
    if (what < 31)
        return choose(g, t, depth);
    if (what < 40 && g->features & VECTORS)
        return vector_operator(g, t, depth);
    if (what < 52) {
        Type from = of_kind(t, any_kind(g, BOOL));
        Id x = expression(g, from, depth);
        return convert(g, from, t, x);
    }
    if (t.kind == BOOL)
        return bool_operator(g, t, depth);
    return is_float(t) ? float_operator(g, t, depth) : int_operator(g, t, depth);
}

static Id expression(Gen *g, Type t, uint32_t depth)
{
    Mark mark = begin_node(g);
    Id x = inner(g, t, depth);
    return end_node(g, mark) ? constant(g, t, 1) : x;
}

static Id expression_at(Gen *g, Type t, uint32_t depth, Level limit)
{
    Level before = g->limit;
    g->limit = limit;
    Id x = expression(g, t, depth);
    g->limit = before;
    return x;
}

#endif
