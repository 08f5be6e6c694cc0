/* SPDX-License-Identifier: MIT
 *
 * The extended instruction set GLSL.std.450, within Vulkan's precision ("Precision and Operation of
 * SPIR-V Instructions").
 *
 * Most instructions are rows of a table: a function of one to three operands that is applied leaf
 * by leaf, from math.h if it is elementary. Those that look at whole vectors or matrices, have two
 * results or write memory are functions of their own. Round takes halves to even, like RoundEven.
 */
#include "emit/ops.h"
#include "emit/target.h"
#include "llvm/ir.h"

#include <math.h>

static LV add(Emit *e, const SpvInst *i, LV x, LV y) { return ops_float(e, i, LLVMFAdd, x, y); }
static LV sub(Emit *e, const SpvInst *i, LV x, LV y) { return ops_float(e, i, LLVMFSub, x, y); }
static LV mul(Emit *e, const SpvInst *i, LV x, LV y) { return ops_float(e, i, LLVMFMul, x, y); }
static LV quot(Emit *e, const SpvInst *i, LV x, LV y) { return ops_float(e, i, LLVMFDiv, x, y); }
static LV fcmp(Emit *e, LLVMRealPredicate p, LV x, LV y)
{
    return LLVMBuildFCmp(e->b, p, x, y, "");
}
static LV pick(Emit *e, LV c, LV x, LV y) { return LLVMBuildSelect(e->b, c, x, y, ""); }

/* The n-th operand behind the set and the instruction's number. */
static SpvId operand(const SpvInst *i, uint32_t n) { return spv_operand(i, 2 + n); }
static const SpvType *result_type(Emit *e, const SpvInst *i)
{
    return spv_type(e->module, i->type);
}

/* ---- leaf by leaf ---------------------------------------------------------------------------- */

/* -1, 0 or 1, also of what is no number. */
static LV fsign(Emit *e, LV x)
{
    LV one = ir_binary(e->b, "llvm.copysign", ir_fnum(x, 1), x);
    LV number = pick(e, fcmp(e, LLVMRealONE, x, ir_fnum(x, 0)), one, x);
    return pick(e, fcmp(e, LLVMRealUNO, x, x), ir_fnum(x, 0), number);
}

static LV ssign(Emit *e, LV x)
{
    return ir_binary(e->b, "llvm.smax", ir_binary(e->b, "llvm.smin", x, ir_inum(x, 1)),
                     ir_inum(x, UINT64_MAX));
}

static LV sabs(Emit *e, LV x)
{
    LT t = LLVMTypeOf(x);
    LV args[2] = { x, ir_int(e->i1, 0) };
    return ir_intrinsic(e->b, "llvm.abs", &t, 1, args, 2);
}

/* If the sign of zeros matters, the minimum of two zeros has the bits of both, and the maximum
 * those that they share. */
static LV of_zeros(Emit *e, const SpvInst *i, LV x, LV y, LV r, bool least)
{
    if (!ops_signed_zeros(e, i, x))
        return r;
    LV v[2] = { x, y };
    emit_unify(e, v, 2);
    LV p = ops_bits(e, v[0]), q = ops_bits(e, v[1]);
    LV z = least ? LLVMBuildOr(e->b, p, q, "") : LLVMBuildAnd(e->b, p, q, "");
    z = LLVMBuildBitCast(e->b, z, LLVMTypeOf(v[0]), "");
    return pick(e, fcmp(e, LLVMRealOEQ, v[0], v[1]), z, r);
}

/* The second operand only where the comparison holds: what a min instruction of the machine
 * does. */
static LV fmin_(Emit *e, const SpvInst *i, LV x, LV y)
{
    return of_zeros(e, i, x, y, pick(e, fcmp(e, LLVMRealOLT, y, x), y, x), true);
}

static LV fmax_(Emit *e, const SpvInst *i, LV x, LV y)
{
    return of_zeros(e, i, x, y, pick(e, fcmp(e, LLVMRealOLT, x, y), y, x), false);
}

static LV nmin(Emit *e, const SpvInst *i, LV x, LV y)
{
    return of_zeros(e, i, x, y, ir_lesser(e->b, x, y), true);
}

static LV nmax(Emit *e, const SpvInst *i, LV x, LV y)
{
    return of_zeros(e, i, x, y, ir_greater(e->b, x, y), false);
}

/* x - floor(x), kept below 1 where that would round up: programs use it to index. */
static LV fract(Emit *e, const SpvInst *i, LV x)
{
    static const double below_one[] = { 0x1.ffcp-1, 0x1.fffffep-1, 0x1.fffffffffffffp-1 };
    uint32_t bits = emit_leaf_type(e, result_type(e, i), 0)->bits;
    LV r = sub(e, i, x, ir_unary(e->b, "llvm.floor", x));
    return fmin_(e, i, r, ir_fnum(r, below_one[bits == 16 ? 0 : bits == 32 ? 1 : 2]));
}

static LV smooth_step(Emit *e, const SpvInst *i, LV low, LV high, LV x)
{
    LV t = quot(e, i, sub(e, i, x, low), sub(e, i, high, low));
    t = fmin_(e, i, fmax_(e, i, t, ir_fnum(t, 0)), ir_fnum(t, 1));
    return mul(e, i, mul(e, i, t, t), sub(e, i, ir_fnum(t, 3), mul(e, i, t, ir_fnum(t, 2))));
}

static LV leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    LV x = v[0], y = n > 1 ? v[1] : NULL, z = n > 2 ? v[2] : NULL;
    switch (spv_operand(i, 1)) {
    case GLSLstd450Round:
    case GLSLstd450RoundEven: return ir_unary(e->b, "llvm.roundeven", x);
    case GLSLstd450Trunc: return ir_unary(e->b, "llvm.trunc", x);
    case GLSLstd450FAbs: return ir_unary(e->b, "llvm.fabs", x);
    case GLSLstd450SAbs: return sabs(e, x);
    case GLSLstd450FSign: return fsign(e, x);
    case GLSLstd450SSign: return ssign(e, x);
    case GLSLstd450Floor: return ir_unary(e->b, "llvm.floor", x);
    case GLSLstd450Ceil: return ir_unary(e->b, "llvm.ceil", x);
    case GLSLstd450Fract: return fract(e, i, x);
    case GLSLstd450Radians: return mul(e, i, x, ir_fnum(x, 0x1.1df46a2529d39p-6));
    case GLSLstd450Degrees: return mul(e, i, x, ir_fnum(x, 0x1.ca5dc1a63c1f8p+5));
    case GLSLstd450FMin: return fmin_(e, i, x, y);
    case GLSLstd450FMax: return fmax_(e, i, x, y);
    case GLSLstd450UMin: return ir_binary(e->b, "llvm.umin", x, y);
    case GLSLstd450UMax: return ir_binary(e->b, "llvm.umax", x, y);
    case GLSLstd450SMin: return ir_binary(e->b, "llvm.smin", x, y);
    case GLSLstd450SMax: return ir_binary(e->b, "llvm.smax", x, y);
    case GLSLstd450NMin: return nmin(e, i, x, y);
    case GLSLstd450NMax: return nmax(e, i, x, y);
    case GLSLstd450FClamp: return fmin_(e, i, fmax_(e, i, x, y), z);
    case GLSLstd450UClamp:
        return ir_binary(e->b, "llvm.umin", ir_binary(e->b, "llvm.umax", x, y), z);
    case GLSLstd450SClamp:
        return ir_binary(e->b, "llvm.smin", ir_binary(e->b, "llvm.smax", x, y), z);
    case GLSLstd450NClamp: return nmin(e, i, nmax(e, i, x, y), z);
    case GLSLstd450FMix:
        return add(e, i, mul(e, i, x, sub(e, i, ir_fnum(z, 1), z)), mul(e, i, y, z));
    case GLSLstd450Step: return pick(e, fcmp(e, LLVMRealOLT, y, x), ir_fnum(x, 0), ir_fnum(x, 1));
    case GLSLstd450SmoothStep: return smooth_step(e, i, x, y, z);
    case GLSLstd450Fma: return ops_fma(e, x, y, z);
    case GLSLstd450FindILsb: return arith_find_lsb(e->b, x);
    case GLSLstd450FindSMsb: return arith_find_msb(e->b, x, true);
    default: return arith_find_msb(e->b, x, false);
    }
}

typedef LV Elementary(LLVMBuilderRef b, LV x);

static Elementary *elementary(uint32_t number)
{
    switch (number) {
    case GLSLstd450Sin: return math_sin;
    case GLSLstd450Cos: return math_cos;
    case GLSLstd450Tan: return math_tan;
    case GLSLstd450Asin: return math_asin;
    case GLSLstd450Acos: return math_acos;
    case GLSLstd450Atan: return math_atan;
    case GLSLstd450Sinh: return math_sinh;
    case GLSLstd450Cosh: return math_cosh;
    case GLSLstd450Tanh: return math_tanh;
    case GLSLstd450Asinh: return math_asinh;
    case GLSLstd450Acosh: return math_acosh;
    case GLSLstd450Atanh: return math_atanh;
    case GLSLstd450Exp: return math_exp;
    case GLSLstd450Log: return math_log;
    case GLSLstd450Exp2: return math_exp2;
    case GLSLstd450Log2: return math_log2;
    case GLSLstd450Sqrt: return math_sqrt;
    case GLSLstd450InverseSqrt: return math_rsqrt;
    default: return NULL;
    }
}

static LV elementary_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    LV r = ops_approximate(e, i, spv_operand(i, 1), v[0], NULL);
    return r ? r : elementary(spv_operand(i, 1))(e->b, v[0]);
}

static LV elementary2_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    return spv_operand(i, 1) == GLSLstd450Pow ? math_pow(e->b, v[0], v[1])
                                              : math_atan2(e->b, v[0], v[1]);
}

/* ---- exponents, parts: two results ----------------------------------------------------------- */

static LV fraction(Emit *e, const SpvInst *i, LV x, LV whole)
{
    LV infinite = fcmp(e, LLVMRealOEQ, ir_unary(e->b, "llvm.fabs", x), ir_fnum(x, INFINITY));
    LV rest = pick(e, infinite, ir_fnum(x, 0), sub(e, i, x, whole));
    return ir_binary(e->b, "llvm.copysign", rest, x);
}

/* The second result goes to memory, or is the second member of a struct. */
static void two_results(Emit *e, const SpvInst *i)
{
    uint32_t number = spv_operand(i, 1), n;
    bool exponent = number == GLSLstd450Frexp || number == GLSLstd450FrexpStruct;
    bool memory = number == GLSLstd450Frexp || number == GLSLstd450Modf;
    LV *x = ops_leaves(e, operand(i, 0), &n), *r = NEW_ARRAY(e->arena, LV, 2 * (size_t)n + 1);
    const EmitPointer *p = memory ? emit_pointer(e, operand(i, 1)) : NULL;
    const SpvType *second = memory ? p->at.type : emit_part_type(result_type(e, i), 1);
    if (!second || emit_n_leaves(e, second) != n) {
        emit_error(e, i, "GLSL.std.450", "the second result has another size than the first");
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        x[k] = ops_flush(e, x[k]);
        if (exponent) {
            LV power;
            r[k] = math_frexp(e->b, x[k], &power);
            r[n + k] =
                arith_resize(e->b, power, emit_scalar_type(e, emit_leaf_type(e, second, k)), true);
        } else {
            r[n + k] = ir_unary(e->b, "llvm.trunc", x[k]);
            r[k] = fraction(e, i, x[k], r[n + k]);
        }
    }
    if (memory) {
        e->target->settle(e);
        emit_store(e, p, r + n);
    }
    emit_set(e, i, r, memory ? n : 2 * n);
}

static LV ldexp_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    IrComp from = comp_of(ops_type(e, operand(i, 1)));
    LV power = v[1];
    if (comp_bytes(from) == 8)
        power = arith_convert(e->b, power, COMP_S64, COMP_S32, ROUND_NEAREST, true);
    else
        power = arith_resize(e->b, power, e->i32, true);
    return math_ldexp(e->b, v[0], power);
}

/* ---- packing --------------------------------------------------------------------------------- */

typedef struct Packing {
    uint32_t count, bits;
    double scale;
    bool is_signed;
} Packing;

static Packing packing(uint32_t number)
{
    switch (number) {
    case GLSLstd450PackSnorm4x8:
    case GLSLstd450UnpackSnorm4x8: return (Packing){ 4, 8, 127, true };
    case GLSLstd450PackUnorm4x8:
    case GLSLstd450UnpackUnorm4x8: return (Packing){ 4, 8, 255, false };
    case GLSLstd450PackSnorm2x16:
    case GLSLstd450UnpackSnorm2x16: return (Packing){ 2, 16, 32767, true };
    default: return (Packing){ 2, 16, 65535, false };
    }
}

static void pack_norm(Emit *e, const SpvInst *i)
{
    Packing p = packing(spv_operand(i, 1));
    uint32_t n;
    LV *x = ops_leaves(e, operand(i, 0), &n), r = NULL;
    emit_unify(e, x, n);
    for (uint32_t k = 0; k < MIN(n, p.count); k++) {
        LV v =
            fmin_(e, i, fmax_(e, i, x[k], ir_fnum(x[k], p.is_signed ? -1 : 0)), ir_fnum(x[k], 1));
        /* adding 1.5 * 2^23 leaves the product, rounded to an integer, in the low bits */
        LV bits = ops_bits(e, math_fma(e->b, v, ir_fnum(v, p.scale), ir_fnum(v, 0x1.8p23)));
        bits = LLVMBuildAnd(e->b, bits, ir_inum(bits, (1u << p.bits) - 1), "");
        bits = LLVMBuildShl(e->b, bits, ir_inum(bits, (uint64_t)p.bits * k), "");
        r = r ? LLVMBuildOr(e->b, r, bits, "") : bits;
    }
    emit_set1(e, i, r);
}

static void unpack_norm(Emit *e, const SpvInst *i)
{
    Packing p = packing(spv_operand(i, 1));
    LV x = emit_leaf(e, operand(i, 0), 0), r[4];
    for (uint32_t k = 0; k < p.count; k++) {
        LV v = LLVMBuildShl(e->b, x, ir_inum(x, 32 - (uint64_t)p.bits * (k + 1)), "");
        v = p.is_signed ? LLVMBuildAShr(e->b, v, ir_inum(v, 32 - p.bits), "")
                        : LLVMBuildLShr(e->b, v, ir_inum(v, 32 - p.bits), "");
        v = arith_convert(e->b, v, COMP_S32, COMP_F32, ROUND_NEAREST, false);
        v = LLVMBuildFDiv(e->b, v, ir_fnum(v, p.scale), "");
        r[k] = p.is_signed ? fmax_(e, i, v, ir_fnum(v, -1)) : v;
    }
    emit_set(e, i, r, p.count);
}

static void pack_half(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *x = ops_leaves(e, operand(i, 0), &n), half[2];
    emit_unify(e, x, n);
    for (uint32_t k = 0; k < 2 && k < n; k++) {
        LV h = ops_bits(e, ops_flush(e, arith_convert(e->b, ops_flush(e, x[k]), COMP_F32, COMP_F16,
                                                      ROUND_NEAREST, false)));
        half[k] = arith_resize(e->b, h, e->i32, false);
    }
    emit_set1(
        e, i,
        LLVMBuildOr(e->b, half[0], LLVMBuildShl(e->b, half[1], ir_inum(half[1], 16), ""), ""));
}

static void unpack_half(Emit *e, const SpvInst *i)
{
    LV x = emit_leaf(e, operand(i, 0), 0), r[2];
    for (uint32_t k = 0; k < 2; k++) {
        LV h = arith_resize(e->b, LLVMBuildLShr(e->b, x, ir_inum(x, 16 * (uint64_t)k), ""), e->i16,
                            false);
        h = LLVMBuildBitCast(e->b, h, ir_type_like(LLVMTypeOf(h), e->f16), "");
        h = ops_flush(e, h);
        r[k] = arith_convert(e->b, h, COMP_F16, COMP_F32, ROUND_NEAREST, false);
    }
    emit_set(e, i, r, 2);
}

static void pack_double(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *x = ops_leaves(e, operand(i, 0), &n);
    emit_unify(e, x, n);
    LV low = arith_resize(e->b, x[0], e->i64, false),
       high = arith_resize(e->b, x[1], e->i64, false);
    LV bits = LLVMBuildOr(e->b, low, LLVMBuildShl(e->b, high, ir_inum(high, 32), ""), "");
    emit_set1(e, i, LLVMBuildBitCast(e->b, bits, ir_type_like(LLVMTypeOf(bits), e->f64), ""));
}

static void unpack_double(Emit *e, const SpvInst *i)
{
    LV bits = ops_bits(e, emit_leaf(e, operand(i, 0), 0));
    LV high = LLVMBuildLShr(e->b, bits, ir_inum(bits, 32), "");
    LV r[2] = { arith_resize(e->b, bits, e->i32, false), arith_resize(e->b, high, e->i32, false) };
    emit_set(e, i, r, 2);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void length(Emit *e, const SpvInst *i)
{
    uint32_t n, m;
    LV *x = ops_leaves(e, operand(i, 0), &n);
    if (spv_operand(i, 1) == GLSLstd450Distance) {
        LV *y = ops_leaves(e, operand(i, 1), &m);
        for (uint32_t k = 0; k < MIN(n, m); k++)
            x[k] = sub(e, i, x[k], y[k]);
    }
    emit_set1(e, i,
              n == 1 ? ir_unary(e->b, "llvm.fabs", ops_flush(e, x[0]))
                     : math_sqrt(e->b, ops_dot(e, i, x, x, n)));
}

static void normalize(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *x = ops_leaves(e, operand(i, 0), &n);
    LV scale = math_rsqrt(e->b, ops_dot(e, i, x, x, n));
    for (uint32_t k = 0; k < n; k++)
        x[k] = n == 1 ? fsign(e, ops_flush(e, x[0])) : mul(e, i, x[k], scale);
    emit_set(e, i, x, n);
}

static void cross(Emit *e, const SpvInst *i)
{
    uint32_t n, m;
    LV *x = ops_leaves(e, operand(i, 0), &n), *y = ops_leaves(e, operand(i, 1), &m), r[3];
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t a = (k + 1) % 3, b = (k + 2) % 3;
        r[k] = sub(e, i, mul(e, i, x[a], y[b]), mul(e, i, y[a], x[b]));
    }
    emit_set(e, i, r, 3);
}

/* N where dot(Nref, I) < 0, else -N */
static void face_forward(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *normal = ops_leaves(e, operand(i, 0), &n), *incident = ops_leaves(e, operand(i, 1), &n);
    LV *reference = ops_leaves(e, operand(i, 2), &n);
    LV d = ops_dot(e, i, reference, incident, n);
    LV towards = fcmp(e, LLVMRealOLT, d, ir_fnum(d, 0));
    for (uint32_t k = 0; k < n; k++)
        normal[k] = ops_select(e, towards, normal[k], LLVMBuildFNeg(e->b, normal[k], ""));
    emit_set(e, i, normal, n);
}

/* I - 2 dot(N, I) N */
static void reflect(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *incident = ops_leaves(e, operand(i, 0), &n), *normal = ops_leaves(e, operand(i, 1), &n);
    LV d = ops_dot(e, i, normal, incident, n);
    d = mul(e, i, d, ir_fnum(d, 2));
    for (uint32_t k = 0; k < n; k++)
        incident[k] = sub(e, i, incident[k], mul(e, i, d, normal[k]));
    emit_set(e, i, incident, n);
}

/* k = 1 - eta^2 (1 - dot(N, I)^2); 0 where k < 0, else eta I - (eta dot(N, I) + sqrt(k)) N. */
static void refract(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *incident = ops_leaves(e, operand(i, 0), &n), *normal = ops_leaves(e, operand(i, 1), &n);
    LV eta = emit_leaf(e, operand(i, 2), 0);
    eta = arith_convert(e->b, eta, comp_of(ops_type(e, operand(i, 2))),
                        comp_of(ops_type(e, operand(i, 0))), ROUND_NEAREST, false);
    LV d = ops_dot(e, i, normal, incident, n);
    LV side = sub(e, i, ir_fnum(d, 1), mul(e, i, d, d));
    LV k2 = mul(e, i, mul(e, i, eta, eta), side);
    LV k = sub(e, i, ir_fnum(k2, 1), k2);
    LV none = fcmp(e, LLVMRealOLT, k, ir_fnum(k, 0));
    LV factor = add(e, i, mul(e, i, eta, d), math_sqrt(e->b, k));
    for (uint32_t c = 0; c < n; c++) {
        LV r = sub(e, i, mul(e, i, eta, incident[c]), mul(e, i, factor, normal[c]));
        incident[c] = ops_select(e, none, ir_fnum(r, 0), r);
    }
    emit_set(e, i, incident, n);
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* Expands by the first column; m has n * n components, column by column. */
static LV determinant_of(Emit *e, const SpvInst *i, const LV *m, uint32_t n)
{
    if (n == 1)
        return m[0];
    if (n == 2)
        return sub(e, i, mul(e, i, m[0], m[3]), mul(e, i, m[2], m[1]));
    LV sum = NULL;
    for (uint32_t row = 0; row < n; row++) {
        LV minor[9];
        uint32_t at = 0;
        for (uint32_t c = 1; c < n; c++)
            for (uint32_t r = 0; r < n; r++)
                if (r != row)
                    minor[at++] = m[c * n + r];
        LV part = mul(e, i, m[row], determinant_of(e, i, minor, n - 1));
        sum = !sum ? part : row & 1 ? sub(e, i, sum, part) : add(e, i, sum, part);
    }
    return sum;
}

static LV *square(Emit *e, const SpvInst *i, uint32_t *n)
{
    const SpvType *t = emit_value(e, operand(i, 0))->type;
    uint32_t count;
    *n =
        t && t->kind == SPV_MATRIX && t->count == t->element->count && t->count <= 4 ? t->count : 0;
    if (!*n)
        emit_error(e, i, "GLSL.std.450", "the operand is not a square matrix");
    return ops_leaves(e, operand(i, 0), &count);
}

static void determinant(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *m = square(e, i, &n);
    if (n)
        emit_set1(e, i, determinant_of(e, i, m, n));
}

/* The transposed cofactors, divided by the determinant. */
static void inverse(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *m = square(e, i, &n), cofactor[16];
    if (!n)
        return;
    for (uint32_t column = 0; column < n; column++)
        for (uint32_t row = 0; row < n; row++) {
            LV minor[9];
            uint32_t at = 0;
            for (uint32_t c = 0; c < n; c++)
                for (uint32_t r = 0; r < n; r++)
                    if (c != column && r != row)
                        minor[at++] = m[c * n + r];
            LV d = determinant_of(e, i, minor, n - 1);
            cofactor[column * n + row] = (row + column) & 1 ? LLVMBuildFNeg(e->b, d, "") : d;
        }
    LV det = mul(e, i, m[0], cofactor[0]);
    for (uint32_t row = 1; row < n; row++)
        det = add(e, i, det, mul(e, i, m[row], cofactor[row]));
    LV scale = quot(e, i, ir_fnum(det, 1), det), r[16];
    for (uint32_t column = 0; column < n; column++)
        for (uint32_t row = 0; row < n; row++)
            r[column * n + row] = mul(e, i, cofactor[row * n + column], scale);
    emit_set(e, i, r, n * n);
}

/* ---- component by component ------------------------------------------------------------------ */

static LV each_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    uint32_t number = spv_operand(i, 1);
    EmitLeafFn *fn = number == GLSLstd450Ldexp                              ? ldexp_leaf
                     : number == GLSLstd450Pow || number == GLSLstd450Atan2 ? elementary2_leaf
                     : elementary(number)                                   ? elementary_leaf
                                                                            : leaf;
    for (uint32_t k = 0; k < n; k++)
        v[k] = ops_flush(e, v[k]);
    LV r = fn(e, i, v, n);
    return r ? ops_flush(e, r) : NULL;
}

/* ---- the instruction ------------------------------------------------------------------------- */

void glsl450_inst(Emit *e, const SpvInst *i)
{
    uint32_t number = spv_operand(i, 1), n = spv_n_operands(i) - 2;
    switch (number) {
    case GLSLstd450Determinant: determinant(e, i); break;
    case GLSLstd450MatrixInverse: inverse(e, i); break;
    case GLSLstd450Modf:
    case GLSLstd450ModfStruct:
    case GLSLstd450Frexp:
    case GLSLstd450FrexpStruct: two_results(e, i); break;
    case GLSLstd450PackSnorm4x8:
    case GLSLstd450PackUnorm4x8:
    case GLSLstd450PackSnorm2x16:
    case GLSLstd450PackUnorm2x16: pack_norm(e, i); break;
    case GLSLstd450UnpackSnorm4x8:
    case GLSLstd450UnpackUnorm4x8:
    case GLSLstd450UnpackSnorm2x16:
    case GLSLstd450UnpackUnorm2x16: unpack_norm(e, i); break;
    case GLSLstd450PackHalf2x16: pack_half(e, i); break;
    case GLSLstd450UnpackHalf2x16: unpack_half(e, i); break;
    case GLSLstd450PackDouble2x32: pack_double(e, i); break;
    case GLSLstd450UnpackDouble2x32: unpack_double(e, i); break;
    case GLSLstd450Length:
    case GLSLstd450Distance: length(e, i); break;
    case GLSLstd450Cross: cross(e, i); break;
    case GLSLstd450Normalize: normalize(e, i); break;
    case GLSLstd450FaceForward: face_forward(e, i); break;
    case GLSLstd450Reflect: reflect(e, i); break;
    case GLSLstd450Refract: refract(e, i); break;
    case GLSLstd450InterpolateAtCentroid:
    case GLSLstd450InterpolateAtSample:
    case GLSLstd450InterpolateAtOffset:
    case GLSLstd450IMix:
    case 0:
        emit_error(e, i, "GLSL.std.450", "instruction %u is not for compute kernels", number);
        break;
    default:
        if (number > GLSLstd450NClamp)
            emit_error(e, i, "GLSL.std.450", "there is no instruction %u", number);
        else
            emit_each_leaf(e, i, 2, MIN(n, 3), each_leaf);
        break;
    }
}
