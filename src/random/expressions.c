/* SPDX-License-Identifier: MIT
 *
 * Random expressions of a type: leaves (constants, variables, built-ins, buffers), operators,
 * conversions, subgroup operations, values chosen by control flow with OpPhi. g->limit tells who
 * must agree on the value.
 */
#include "random/internal.h"

/* ---- conversions ----------------------------------------------------------------------------- */

static GenId make_vector(Gen *g, GenType t, GenId one)
{
    static const char *const repeat[] = { "", "", " %s %s", " %s %s %s", " %s %s %s %s" };
    char text[200];
    if (t.n == 1)
        return one;
    snprintf(text, sizeof text, repeat[t.n], one, one, one, one);
    return gen_op(g, "OpCompositeConstruct %s%s", gen_type_name(g, t), text);
}

static GenId is_true(Gen *g, GenType t, GenId x)
{
    return gen_op(g, "%s %s %s %s", gen_is_float(t) ? "OpFUnordNotEqual" : "OpINotEqual",
                  gen_type_name(g, gen_of_kind(t, BOOL)), x, gen_constant(g, t, 0));
}

/* NaNs made one, and -0 made 0: then the bits are told. */
GenId gen_canonical(Gen *g, GenType t, GenId x)
{
    GenId b = gen_type_name(g, gen_of_kind(t, BOOL)), name = gen_type_name(g, t);
    GenId sum = gen_op(g, "OpFAdd %s %s %s", name, x, gen_constant(g, t, 0));
    GenId nan = gen_op(g, "OpIsNan %s %s", b, sum);
    return gen_op(g, "OpSelect %s %s %s %s", name, nan, gen_constant(g, t, 1), sum);
}

/* Within what the integer type holds; NaN becomes the least. */
static GenId float_to_int(Gen *g, GenType from, GenType to, GenId x)
{
    bool sign = gen_is_signed(to);
    int64_t most = gen_kind_bits[to.kind] == 8 ? (sign ? 120 : 250) : 2000;
    GenId fitting =
        gen_op(g, "OpExtInst %s %%glsl NClamp %s %s %s", gen_type_name(g, from), x,
               gen_constant(g, from, sign ? -most * 2 : 0), gen_constant(g, from, most * 2));
    return gen_op(g, "%s %s %s", sign ? "OpConvertFToS" : "OpConvertFToU", gen_type_name(g, to),
                  fitting);
}

/* Of the same number of components. */
GenId gen_convert(Gen *g, GenType from, GenType to, GenId x)
{
    GenId name = gen_type_name(g, to);
    if (from.kind == to.kind)
        return x;
    if (to.kind == BOOL)
        return is_true(g, from, x);
    if (from.kind == BOOL)
        return gen_op(g, "OpSelect %s %s %s %s", name, x,
                      gen_constant(g, to, gen_is_float(to) ? 2 : 1), gen_constant(g, to, 0));
    if (gen_is_float(from) && gen_is_float(to))
        return gen_op(g, "OpFConvert %s %s", name, x);
    if (gen_is_float(from))
        return float_to_int(g, from, to, x);
    if (gen_is_float(to))
        return gen_op(g, "%s %s %s", gen_is_signed(from) ? "OpConvertSToF" : "OpConvertUToF", name,
                      x);
    if (gen_kind_bits[from.kind] == gen_kind_bits[to.kind])
        return gen_op(g, "OpBitcast %s %s", name, x);
    return gen_op(g, "%s %s %s", gen_is_signed(to) ? "OpSConvert" : "OpUConvert", name, x);
}

/* Scalar: the same bits as an unsigned number, floating point made canonical first. */
static GenId to_bits(Gen *g, GenType t, GenId x, GenType *bits)
{
    static const uint8_t same[] = { U32, U8, U8, U16, U16, U32, U32, U64, U64, U16, U32, U64 };
    *bits = gen_scalar((GenKind)same[t.kind]);
    if (gen_is_float(t))
        x = gen_canonical(g, t, x);
    if (t.kind == BOOL)
        return gen_convert(g, t, *bits, x);
    return t.kind == bits->kind ? x : gen_op(g, "OpBitcast %s %s", gen_type_name(g, *bits), x);
}

static GenId extract(Gen *g, GenType t, GenId x, uint32_t i)
{
    return t.n == 1 ? x
                    : gen_op(g, "OpCompositeExtract %s %s %u", gen_type_name(g, gen_scalar(t.kind)),
                             x, i);
}

/* Any value as one u32, every bit of it counting. */
GenId gen_digest(Gen *g, GenType t, GenId x)
{
    GenId sum = NULL;
    for (uint32_t i = 0; i < t.n; i++) {
        GenType bits;
        GenId b = to_bits(g, gen_scalar(t.kind), extract(g, t, x, i), &bits);
        if (bits.kind == U64) {
            GenId high = gen_op(g, "OpShiftRightLogical %%u64 %s %s", b, gen_u32(g, 31));
            b = gen_op(g, "OpBitwiseXor %%u64 %s %s", b, high);
        }
        b = gen_convert(g, bits, gen_scalar(U32), b);
        if (sum) {
            sum = gen_op(g, "OpIMul %%u32 %s %s", sum, gen_u32(g, 31));
            sum = gen_op(g, "OpIAdd %%u32 %s %s", sum, b);
        } else {
            sum = b;
        }
    }
    return sum;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

GenId gen_pointer_to(Gen *g, const GenVariable *v, GenId index)
{
    if (!*v->chain && !v->length)
        return v->base;
    return gen_op(g, "OpAccessChain %s %s %s %s",
                  gen_pointer_type(g, v->storage, gen_type_name(g, v->type)), v->base, v->chain,
                  v->length ? index : "");
}

GenId gen_index_below(Gen *g, uint32_t length, uint32_t depth)
{
    if (gen_chance(g, 30))
        return gen_u32(g, gen_pick(g, length));
    GenId i = gen_expression(g, gen_scalar(U32), depth);
    if ((length & (length - 1)) == 0)
        return gen_op(g, "OpBitwiseAnd %%u32 %s %s", i, gen_u32(g, length - 1));
    return gen_op(g, "OpUMod %%u32 %s %s", i, gen_u32(g, length));
}

static GenId load(Gen *g, const GenVariable *v, uint32_t depth)
{
    GenId index = v->length ? gen_index_below(g, v->length, depth) : NULL;
    return gen_op(g, "OpLoad %s %s", gen_type_name(g, v->type), gen_pointer_to(g, v, index));
}

/* Of up to 40 terms, each of which is the sum so far or is added to it. */
static GenId long_sum(Gen *g)
{
    GenId sum = gen_expression(g, gen_scalar(U32), 1);
    for (uint32_t n = 2 + gen_pick(g, 39); n; n--) {
        GenId term =
            gen_chance(g, 30) ? gen_u32(g, gen_pick(g, 9)) : gen_expression(g, gen_scalar(U32), 1);
        bool first = gen_chance(g, 50);
        sum = gen_op(g, "OpIAdd %%u32 %s %s", first ? sum : term, first ? term : sum);
    }
    return sum;
}

/* Most likely near where the buffer, or the numbers, end. */
static GenId outside_index(Gen *g, uint32_t depth)
{
    static const uint32_t ends[] = {
        0, GEN_INPUTS, 0x7fffffff, 0xffffffff, 0x40000000, 0x80000000
    };
    if (gen_chance(g, 20))
        return long_sum(g);
    GenId i = g->limit >= IN_INVOCATION && gen_chance(g, 70)
                  ? gen_op(g, "OpLoad %%u32 %%local_index")
                  : gen_expression(g, gen_scalar(U32), depth);
    if (gen_chance(g, 30))
        return i;
    return gen_op(g, "OpIAdd %%u32 %s %s", i,
                  gen_u32(g, ends[gen_pick(g, COUNT_OF(ends))] + gen_pick(g, 80) - 40));
}

static GenId load_input(Gen *g, uint32_t depth)
{
    bool outside = g->features & OUTSIDE && gen_chance(g, 50);
    GenId i = !outside             ? gen_index_below(g, GEN_INPUTS, depth)
              : g->features & ENDS ? outside_index(g, depth)
                                   : gen_expression(g, gen_scalar(U32), depth);
    GenId p = gen_op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%in %s %s", gen_u32(g, 0), i);
    return gen_op(g, "OpLoad %%u32 %s", p);
}

static GenId built_in(Gen *g)
{
    static const struct {
        const char *name;
        GenLevel level;
        bool scalar, subgroup;
    } table[] = {
        { "wg_id", IN_WORKGROUP, false, false },      { "wg_count", IN_WORKGROUP, false, false },
        { "sg_count", IN_WORKGROUP, true, true },     { "sg_size", IN_WORKGROUP, true, true },
        { "sg_id", IN_SUBGROUP, true, true },         { "local_id", IN_INVOCATION, false, false },
        { "global_id", IN_INVOCATION, false, false }, { "local_index", IN_INVOCATION, true, false },
        { "sg_lane", IN_INVOCATION, true, true },
    };
    for (;;) {
        uint32_t k = gen_pick(g, COUNT_OF(table)), axis = gen_pick(g, 3);
        if (table[k].level > g->limit || (table[k].subgroup && !(g->features & SUBGROUPS)))
            continue;
        if (table[k].scalar)
            return gen_op(g, "OpLoad %%u32 %%%s", table[k].name);
        GenId v = gen_op(g, "OpLoad %%v3u32 %%%s", table[k].name);
        return gen_op(g, "OpCompositeExtract %%u32 %s %u", v, axis);
    }
}

/* One that is in scope, of the type and level; NULL. */
static GenId known_value(Gen *g, GenType t)
{
    uint32_t start = g->n_values ? gen_pick(g, g->n_values) : 0;
    for (uint32_t k = 0; k < g->n_values; k++) {
        const GenValue *v = &g->value[(start + k) % g->n_values];
        if (v->type.kind == t.kind && v->type.n == t.n && v->level <= g->limit)
            return v->id;
    }
    return NULL;
}

const GenVariable *gen_known_variable(Gen *g, GenType t)
{
    uint32_t start = g->n_variables ? gen_pick(g, g->n_variables) : 0;
    for (uint32_t k = 0; k < g->n_variables; k++) {
        const GenVariable *v = &g->variable[(start + k) % g->n_variables];
        if (v->type.kind == t.kind && v->type.n == t.n)
            return v;
    }
    return NULL;
}

static GenId leaf(Gen *g, GenType t)
{
    uint32_t what = gen_pick(g, 10);
    GenId known = known_value(g, t);
    const GenVariable *v = gen_known_variable(g, t);
    if (what < 2)
        return gen_random_constant(g, t);
    if (what < 6 && v && g->limit == IN_INVOCATION)
        return load(g, v, 0);
    if (what < 8 && known)
        return known;
    if (t.n > 1) {
        Str s = { 0 };
        for (uint32_t i = 0; i < t.n; i++)
            str_printf(g->arena, &s, " %s", leaf(g, gen_scalar(t.kind)));
        return gen_op(g, "OpCompositeConstruct %s%s", gen_type_name(g, t), s.data);
    }
    GenId x = what < 9 ? built_in(g) : load_input(g, 0);
    if (!gen_is_float(t))
        return gen_convert(g, gen_scalar(U32), t, x);
    x = gen_op(g, "OpBitcast %%s32 %s", x);
    x = gen_op(g, "OpShiftRightArithmetic %%s32 %s %s", x, gen_u32(g, 4 + gen_pick(g, 24)));
    return gen_convert(g, gen_scalar(S32), t, x);
}

/* ---- operators ------------------------------------------------------------------------------- */

static GenId unary(Gen *g, const char *name, GenType t, uint32_t depth)
{
    GenId x = gen_expression(g, t, depth);
    return gen_op(g, "%s %s %s", name, gen_type_name(g, t), x);
}

static GenId binary(Gen *g, const char *name, GenType t, uint32_t depth)
{
    GenId a = gen_expression(g, t, depth), b = gen_expression(g, t, depth);
    return gen_op(g, "%s %s %s %s", name, gen_type_name(g, t), a, b);
}

/* The divisor is at least 1; the dividend of a signed remainder may be anything then. */
static GenId divide(Gen *g, GenType t, uint32_t depth)
{
    static const char *const s[] = { "OpSDiv", "OpSRem", "OpSMod" }, *const u[] = { "OpUDiv",
                                                                                    "OpUMod" };
    const char *name = gen_is_signed(t) ? s[gen_pick(g, 3)] : u[gen_pick(g, 2)];
    GenId a = gen_expression(g, t, depth), b;
    if (gen_is_signed(t) && !(g->has & GEN_REMAINDERS))
        name = s[0];
    if (gen_is_signed(t) && gen_chance(g, 20)) {
        b = gen_constant(g, t, -2 - (int64_t)gen_pick(g, 9));
    } else {
        b = gen_expression(g, t, depth);
        b = gen_op(g, "OpBitwiseAnd %s %s %s", gen_type_name(g, t), b, gen_constant(g, t, 0x3f));
        b = gen_op(g, "OpBitwiseOr %s %s %s", gen_type_name(g, t), b, gen_constant(g, t, 1));
    }
    return gen_op(g, "%s %s %s %s", name, gen_type_name(g, t), a, b);
}

static GenId shift(Gen *g, GenType t, uint32_t depth)
{
    static const char *const names[] = { "OpShiftLeftLogical", "OpShiftRightLogical",
                                         "OpShiftRightArithmetic" };
    GenType by = gen_chance(g, 70) ? t : gen_of_kind(t, gen_any_int(g));
    const char *name = names[gen_pick(g, 3)];
    GenId a = gen_expression(g, t, depth), b = gen_expression(g, by, depth);
    b = gen_op(g, "OpBitwiseAnd %s %s %s", gen_type_name(g, by), b,
               gen_constant(g, by, gen_kind_bits[t.kind] - 1));
    return gen_op(g, "%s %s %s %s", name, gen_type_name(g, t), a, b);
}

static GenId bit_field(Gen *g, GenType t, uint32_t depth)
{
    GenId a = gen_expression(g, t, depth), b = gen_expression(g, t, depth);
    GenId at = gen_expression(g, gen_scalar(U32), depth),
          n = gen_expression(g, gen_scalar(U32), depth);
    at = gen_op(g, "OpBitwiseAnd %%u32 %s %s", at, gen_u32(g, 15));
    n = gen_op(g, "OpUMod %%u32 %s %s", n, gen_u32(g, 18));
    if (gen_chance(g, 33))
        return gen_op(g, "OpBitFieldInsert %s %s %s %s %s", gen_type_name(g, t), a, b, at, n);
    return gen_op(g, "%s %s %s %s %s",
                  gen_is_signed(t) ? "OpBitFieldSExtract" : "OpBitFieldUExtract",
                  gen_type_name(g, t), a, at, n);
}

/* Multiplication, addition and subtraction with two results, of 32 bits. */
static GenId extended(Gen *g, GenType t, uint32_t depth)
{
    static const char *const names[] = { "OpUMulExtended", "OpSMulExtended", "OpIAddCarry",
                                         "OpISubBorrow" };
    uint32_t k = gen_pick(g, 4), part = gen_pick(g, 2);
    GenType at = gen_scalar(k == 1 ? S32 : U32);
    GenId a = gen_expression(g, at, depth), b = gen_expression(g, at, depth);
    GenId pair = gen_op(g, "%s %%pair_%s %s %s", names[k], gen_kind_names[at.kind], a, b);
    GenId x = gen_op(g, "OpCompositeExtract %s %s %u", gen_type_name(g, at), pair, part);
    return gen_convert(g, at, t, x);
}

static GenId int_ext_inst(Gen *g, GenType t, uint32_t depth)
{
    static const char *const s[] = { "SMin", "SMax", "SClamp", "SAbs", "SSign" };
    static const char *const u[] = { "UMin", "UMax", "UClamp" };
    static const char *const w[] = { "FindILsb", "FindUMsb", "FindSMsb" };
    uint32_t k = gen_is_signed(t) ? gen_pick(g, 5) : gen_pick(g, 3);
    GenId a = gen_expression(g, t, depth), name = gen_type_name(g, t);
    if (gen_kind_bits[t.kind] == 32 && gen_chance(g, 30))
        return gen_op(g, "OpExtInst %s %%glsl %s %s", name,
                      w[gen_is_signed(t) ? gen_pick(g, 2) * 2 : gen_pick(g, 2)], a);
    if (k >= 3)
        return gen_op(g, "OpExtInst %s %%glsl %s %s", name, s[k], a);
    if (k == 2) {
        int64_t low = (int64_t)gen_pick(g, 20), high = low + (int64_t)gen_pick(g, 60);
        return gen_op(g, "OpExtInst %s %%glsl %s %s %s %s", name, gen_is_signed(t) ? s[k] : u[k], a,
                      gen_constant(g, t, gen_is_signed(t) ? low - 10 : low),
                      gen_constant(g, t, high));
    }
    GenId b = gen_expression(g, t, depth);
    return gen_op(g, "OpExtInst %s %%glsl %s %s %s", name, gen_is_signed(t) ? s[k] : u[k], a, b);
}

static GenId dot_product(Gen *g, GenType t, uint32_t depth)
{
    bool sign = gen_is_signed(t);
    GenType v = { sign ? S8 : U8, 4 };
    GenId a = gen_expression(g, v, depth), b = gen_expression(g, v, depth);
    if (gen_chance(g, 50))
        return gen_op(g, "%s %s %s %s", sign ? "OpSDot" : "OpUDot", gen_type_name(g, t), a, b);
    GenId c = gen_expression(g, t, depth);
    return gen_op(g, "%s %s %s %s %s", sign ? "OpSDotAccSat" : "OpUDotAccSat", gen_type_name(g, t),
                  a, b, c);
}

static GenId int_operator(Gen *g, GenType t, uint32_t depth)
{
    static const char *const simple[] = { "OpIAdd",       "OpISub",      "OpIMul",
                                          "OpBitwiseAnd", "OpBitwiseOr", "OpBitwiseXor" };
    bool wide = gen_kind_bits[t.kind] == 32;
    switch (gen_pick(g, 13)) {
    case 0:
    case 1:
    case 2:
    case 3: return binary(g, simple[gen_pick(g, COUNT_OF(simple))], t, depth);
    case 4: return unary(g, gen_chance(g, 50) ? "OpNot" : "OpSNegate", t, depth);
    case 5: return divide(g, t, depth);
    case 6:
    case 7: return shift(g, t, depth);
    case 8: return wide ? bit_field(g, t, depth) : binary(g, "OpISub", t, depth);
    case 9:
        return wide ? unary(g, gen_chance(g, 50) ? "OpBitCount" : "OpBitReverse", t, depth)
                    : binary(g, "OpIMul", t, depth);
    case 10: return wide && t.n == 1 ? extended(g, t, depth) : binary(g, "OpIAdd", t, depth);
    case 11:
        return wide && t.n == 1 && g->features & SMALL && g->has & GEN_DOTS
                   ? dot_product(g, t, depth)
                   : shift(g, t, depth);
    default: return int_ext_inst(g, t, depth);
    }
}

static GenId float_operator(Gen *g, GenType t, uint32_t depth)
{
    static const char *const one[] = { "FAbs", "Floor", "Ceil", "Trunc", "RoundEven", "FSign" };
    GenId x, name = gen_type_name(g, t);
    uint32_t what = gen_pick(g, 9);
    switch (what) {
    case 0:
    case 1: return binary(g, "OpFAdd", t, depth);
    case 2: return binary(g, "OpFSub", t, depth);
    case 3:
    case 4: return binary(g, "OpFMul", t, depth);
    case 5: return unary(g, "OpFNegate", t, depth);
    case 6:
    case 7:
        /* NMin, NMax: either zero may be the result of two, and no bits of a NaN. */
        x = gen_expression(g, t, depth);
        return gen_op(g, "OpExtInst %s %%glsl %s %s %s", name, what == 6 ? "NMin" : "NMax", x,
                      gen_constant(g, t, 2 + (int64_t)gen_pick(g, 40)));
    default:
        x = gen_expression(g, t, depth);
        /* FSign of a NaN is anything: none gets there. */
        x = gen_canonical(g, t, x);
        return gen_op(g, "OpExtInst %s %%glsl %s %s", name, one[gen_pick(g, COUNT_OF(one))], x);
    }
}

static GenId comparison(Gen *g, GenType t, uint32_t depth)
{
    static const char *const s[] = { "OpSLessThan",    "OpSGreaterThanEqual",
                                     "OpSGreaterThan", "OpSLessThanEqual",
                                     "OpIEqual",       "OpINotEqual" };
    static const char *const u[] = { "OpULessThan",    "OpUGreaterThanEqual",
                                     "OpUGreaterThan", "OpULessThanEqual",
                                     "OpIEqual",       "OpINotEqual" };
    static const char *const f[] = { "OpFOrdLessThan",    "OpFUnordLessThanEqual",
                                     "OpFOrdGreaterThan", "OpFUnordGreaterThanEqual",
                                     "OpFOrdEqual",       "OpFUnordNotEqual" };
    GenType of = gen_of_kind(t, gen_any_kind(g, S8));
    const char *const *names = gen_is_float(of) ? f : gen_is_signed(of) ? s : u;
    GenId a = gen_expression(g, of, depth), b = gen_expression(g, of, depth);
    return gen_op(g, "%s %s %s %s", names[gen_pick(g, 6)], gen_type_name(g, t), a, b);
}

static GenId bool_operator(Gen *g, GenType t, uint32_t depth)
{
    static const char *const logic[] = { "OpLogicalAnd", "OpLogicalOr", "OpLogicalEqual",
                                         "OpLogicalNotEqual" };
    uint32_t what = gen_pick(g, 12);
    if (what < 7)
        return comparison(g, t, depth);
    if (what < 9)
        return binary(g, logic[gen_pick(g, 4)], t, depth);
    if (what == 9)
        return unary(g, "OpLogicalNot", t, depth);
    if (what == 10 && t.n == 1 && g->features & VECTORS) {
        GenType v = { BOOL, 2 + gen_pick(g, 3) };
        GenId x = gen_expression(g, v, depth);
        return gen_op(g, "%s %%bool %s", gen_chance(g, 50) ? "OpAny" : "OpAll", x);
    }
    if (g->features & FLOATS) {
        GenType of = gen_of_kind(t, F32);
        GenId x = gen_expression(g, of, depth);
        return gen_op(g, "%s %s %s", gen_chance(g, 50) ? "OpIsNan" : "OpIsInf", gen_type_name(g, t),
                      x);
    }
    return comparison(g, t, depth);
}

/* ---- subgroups ------------------------------------------------------------------------------- */

static GenId vote(Gen *g, GenType t, uint32_t depth)
{
    GenId x;
    switch (gen_pick(g, 5)) {
    case 0: x = gen_op(g, "OpGroupNonUniformElect %%bool %%u32_3"); break;
    case 1:
        x = gen_expression(g, gen_scalar(U32), depth);
        x = gen_op(g, "OpGroupNonUniformAllEqual %%bool %%u32_3 %s", x);
        break;
    case 2:
        x = gen_expression(g, gen_scalar(BOOL), depth);
        x = gen_op(g, "OpGroupNonUniformBallot %%v4u32 %%u32_3 %s", x);
        x = gen_op(g, "OpGroupNonUniformInverseBallot %%bool %%u32_3 %s", x);
        break;
    default:
        x = gen_expression(g, gen_scalar(BOOL), depth);
        x = gen_op(g, "%s %%bool %%u32_3 %s",
                   gen_chance(g, 50) ? "OpGroupNonUniformAll" : "OpGroupNonUniformAny", x);
        break;
    }
    return make_vector(g, t, x);
}

static GenId ballot(Gen *g, GenType t, uint32_t depth)
{
    static const char *const kinds[] = { "Reduce", "InclusiveScan", "ExclusiveScan" };
    GenId b = gen_expression(g, gen_scalar(BOOL), depth), x;
    b = gen_op(g, "OpGroupNonUniformBallot %%v4u32 %%u32_3 %s", b);
    switch (gen_pick(g, 4)) {
    case 0: x = gen_op(g, "OpCompositeExtract %%u32 %s %u", b, gen_pick(g, 4)); break;
    case 1:
        x = gen_op(g, "OpGroupNonUniformBallotBitCount %%u32 %%u32_3 %s %s",
                   g->limit == IN_SUBGROUP ? "Reduce" : kinds[gen_pick(g, 3)], b);
        break;
    case 2:
        b = gen_op(g, "OpGroupNonUniformBallot %%v4u32 %%u32_3 %%true"); /* never empty */
        x = gen_op(g, "OpGroupNonUniformBallotFind%s %%u32 %%u32_3 %s",
                   gen_chance(g, 50) ? "LSB" : "MSB", b);
        break;
    default: x = gen_op(g, "OpGroupNonUniformBroadcastFirst %%u32 %%u32_3 %s", built_in(g)); break;
    }
    return make_vector(g, t, gen_convert(g, gen_scalar(U32), gen_scalar(t.kind), x));
}

static GenId reduction(Gen *g, GenType t, uint32_t depth)
{
    static const char *const s[] = { "SMin",       "SMax",      "IAdd",      "IMul",
                                     "BitwiseAnd", "BitwiseOr", "BitwiseXor" };
    static const char *const u[] = { "UMin",       "UMax",      "IAdd",      "IMul",
                                     "BitwiseAnd", "BitwiseOr", "BitwiseXor" };
    static const char *const f[] = { "FAdd", "FMin", "FMax" };
    static const char *const l[] = { "LogicalAnd", "LogicalOr", "LogicalXor" };
    static const char *const kinds[] = { "Reduce", "InclusiveScan", "ExclusiveScan" };
    const char *kind = kinds[gen_pick(g, 3)], *name;
    uint32_t clustered = gen_pick(g, 8);
    GenId x;
    if (gen_is_float(t)) { /* small integers: their sums are exact in any order */
        GenType from = gen_of_kind(t, S32);
        x = gen_expression(g, from, depth);
        x = gen_op(g, "OpBitwiseAnd %s %s %s", gen_type_name(g, from), x,
                   gen_constant(g, from, 15));
        x = gen_convert(g, from, t, x);
        name = f[gen_pick(g, 3)];
    } else {
        x = gen_expression(g, t, depth);
        name = t.kind == BOOL ? l[gen_pick(g, 3)] : (gen_is_signed(t) ? s : u)[gen_pick(g, 7)];
    }
    if (g->limit == IN_SUBGROUP)
        kind = kinds[0];
    else if (clustered < 2)
        return gen_op(g, "OpGroupNonUniform%s %s %%u32_3 ClusteredReduce %s %s", name,
                      gen_type_name(g, t), x, gen_u32(g, 1u << gen_pick(g, 4)));
    return gen_op(g, "OpGroupNonUniform%s %s %%u32_3 %s %s", name, gen_type_name(g, t), kind, x);
}

/* From an invocation that may not be there or not active the value is undefined: it is asked
 * whether it is with a ballot first, and the own value taken when not. */
static GenId shuffle(Gen *g, GenType t, uint32_t depth)
{
    static const char *const names[] = { "Shuffle",     "ShuffleXor", "ShuffleUp",
                                         "ShuffleDown", "RotateKHR",  "QuadSwap" };
    uint32_t k = gen_pick(g, COUNT_OF(names)), way = gen_pick(g, 3);
    if (k == 4 && !(g->has & GEN_ROTATES))
        k = 3;
    GenId x = gen_expression(g, t, depth), lane = gen_op(g, "OpLoad %%u32 %%sg_lane"), by, from,
          there;
    GenId size = gen_op(g, "OpLoad %%u32 %%sg_size");
    by = gen_chance(g, 50) ? gen_u32(g, 1u << gen_pick(g, 4)) : built_in(g);
    by = gen_op(g, "OpBitwiseAnd %%u32 %s %s", by, gen_u32(g, 127));
    if (k >= 2 && k <= 4) /* the delta must be the same in all */
        by = gen_op(g, "OpGroupNonUniformBroadcastFirst %%u32 %%u32_3 %s", by);
    switch (k) {
    case 0: from = by; break;
    case 1: from = gen_op(g, "OpBitwiseXor %%u32 %s %s", lane, by); break;
    case 2: from = gen_op(g, "OpISub %%u32 %s %s", lane, by); break;
    case 3: from = gen_op(g, "OpIAdd %%u32 %s %s", lane, by); break;
    case 4:
        from = gen_op(g, "OpIAdd %%u32 %s %s", lane, by);
        from = gen_op(g, "OpUMod %%u32 %s %s", from, size);
        break;
    default:
        by = gen_u32(g, way);
        from = gen_op(g, "OpBitwiseXor %%u32 %s %s", lane, gen_u32(g, way + 1));
    }
    there = gen_op(g, "OpGroupNonUniformBallot %%v4u32 %%u32_3 %%true");
    GenId inside = gen_op(g, "OpULessThan %%bool %s %s", from, size);
    GenId safe = gen_op(g, "OpSelect %%u32 %s %s %s", inside, from, lane);
    there = gen_op(g, "OpGroupNonUniformBallotBitExtract %%bool %%u32_3 %s %s", there, safe);
    there = gen_op(g, "OpLogicalAnd %%bool %s %s", there, inside);
    /* Shuffle from itself where the other one is not there; the rest are as they are. */
    if (k < 2)
        by = gen_op(g, "OpSelect %%u32 %s %s %s", there, by, k == 0 ? lane : gen_u32(g, 0));
    GenId got =
        gen_op(g, "OpGroupNonUniform%s %s %%u32_3 %s %s", names[k], gen_type_name(g, t), x, by);
    there = make_vector(g, gen_of_kind(t, BOOL), there);
    return gen_op(g, "OpSelect %s %s %s %s", gen_type_name(g, t), there, got, x);
}

static GenId subgroup_operation(Gen *g, GenType t, uint32_t depth)
{
    GenLevel limit = g->limit;
    GenId x;
    uint32_t what = gen_pick(g, 5);
    if (limit == IN_SUBGROUP && what == 4)
        what = 3;
    if (limit == IN_SUBGROUP && t.kind == BOOL) {
        g->limit = IN_INVOCATION;
        x = gen_expression(g, gen_scalar(BOOL), depth);
        g->limit = limit;
        x = gen_op(g, "OpGroupNonUniformAny %%bool %%u32_3 %s", x);
        return make_vector(g, t, x);
    }
    /* The operand may differ where the result is one for all. */
    if (limit == IN_SUBGROUP && what < 3) {
        g->limit = IN_INVOCATION;
        x = gen_expression(g, t, depth);
        g->limit = limit;
        return gen_op(g, "OpGroupNonUniformBroadcastFirst %s %%u32_3 %s", gen_type_name(g, t), x);
    }
    switch (what) {
    case 0: return t.kind == BOOL ? vote(g, t, depth) : reduction(g, t, depth);
    case 1: return t.kind == BOOL ? vote(g, t, depth) : ballot(g, t, depth);
    case 2:
    case 3: return reduction(g, t, depth);
    default: return shuffle(g, t, depth);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static GenId vector_operator(Gen *g, GenType t, uint32_t depth)
{
    GenType v = { t.kind, 2 + gen_pick(g, 3) };
    GenId a = gen_expression(g, v, depth), b;
    if (t.n == 1) {
        if (gen_chance(g, 50))
            return gen_op(g, "OpCompositeExtract %s %s %u", gen_type_name(g, t), a,
                          gen_pick(g, v.n));
        b = gen_index_below(g, v.n, depth);
        return gen_op(g, "OpVectorExtractDynamic %s %s %s", gen_type_name(g, t), a, b);
    }
    switch (gen_pick(g, 3)) {
    case 0: {
        Str s = { 0 };
        b = gen_expression(g, v, depth);
        for (uint32_t i = 0; i < t.n; i++)
            str_printf(g->arena, &s, " %u", gen_pick(g, v.n * 2));
        return gen_op(g, "OpVectorShuffle %s %s %s%s", gen_type_name(g, t), a, b, s.data);
    }
    case 1:
        a = gen_expression(g, t, depth);
        b = gen_expression(g, gen_scalar(t.kind), depth);
        return gen_op(g, "OpVectorInsertDynamic %s %s %s %s", gen_type_name(g, t), a, b,
                      gen_index_below(g, t.n, depth));
    default:
        a = gen_expression(g, t, depth);
        b = gen_expression(g, gen_scalar(t.kind), depth);
        if (gen_is_float(t))
            return gen_op(g, "OpVectorTimesScalar %s %s %s", gen_type_name(g, t), a, b);
        return gen_op(g, "OpCompositeInsert %s %s %s %u", gen_type_name(g, t), b, a,
                      gen_pick(g, t.n));
    }
}

static GenId select_operator(Gen *g, GenType t, uint32_t depth)
{
    GenId c = gen_expression(g, gen_of_kind(t, BOOL), depth);
    GenId a = gen_expression(g, t, depth), b = gen_expression(g, t, depth);
    return gen_op(g, "OpSelect %s %s %s %s", gen_type_name(g, t), c, a, b);
}

/* One of two values by control flow, met in an OpPhi. */
static GenId choose(Gen *g, GenType t, uint32_t depth)
{
    GenId c = gen_expression(g, gen_scalar(BOOL), depth), yes = gen_new_id(g, "b"),
          no = gen_new_id(g, "b");
    GenId merge = gen_new_id(g, "b"), from_yes, from_no, a, b;
    GenLevel flow = g->flow;
    g->flow = MAX(g->flow, g->limit);
    gen_say(g, "OpSelectionMerge %s None", merge);
    gen_say(g, "OpBranchConditional %s %s %s", c, yes, no);
    gen_start_block(g, yes);
    a = gen_expression(g, t, depth);
    from_yes = g->label;
    gen_branch(g, merge);
    gen_start_block(g, no);
    b = gen_expression(g, t, depth);
    from_no = g->label;
    gen_branch(g, merge);
    gen_start_block(g, merge);
    g->flow = flow;
    return gen_op(g, "OpPhi %s %s %s %s %s", gen_type_name(g, t), a, from_yes, b, from_no);
}

static GenId inner(Gen *g, GenType t, uint32_t depth)
{
    bool subgroups = g->features & SUBGROUPS && !g->no_subgroups && g->limit != IN_WORKGROUP &&
                     g->limit >= g->flow && (g->has & GEN_RECONVERGES || g->flow == IN_WORKGROUP);
    uint32_t what = gen_pick(g, 100);
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
        GenType from = gen_of_kind(t, gen_any_kind(g, BOOL));
        GenId x = gen_expression(g, from, depth);
        return gen_convert(g, from, t, x);
    }
    if (t.kind == BOOL)
        return bool_operator(g, t, depth);
    return gen_is_float(t) ? float_operator(g, t, depth) : int_operator(g, t, depth);
}

GenId gen_expression(Gen *g, GenType t, uint32_t depth)
{
    GenMark mark = gen_begin_node(g);
    GenId x = inner(g, t, depth);
    return gen_end_node(g, mark) ? gen_constant(g, t, 1) : x;
}

GenId gen_expression_at(Gen *g, GenType t, uint32_t depth, GenLevel limit)
{
    GenLevel before = g->limit;
    g->limit = limit;
    GenId x = gen_expression(g, t, depth);
    g->limit = before;
    return x;
}
