/* SPDX-License-Identifier: MIT
 *
 * Plain instructions: arithmetic, comparisons, logic, bits, conversions (SPIR-V 3.3.11, 3.3.13 to
 * 3.3.15).
 *
 * An opcode that is one LLVM instruction is a row of `plain`; one that is a function of arith.h is
 * a row of `calls`. All work leaf by leaf. Float controls (SPV_KHR_float_controls, execution modes
 * DenormFlushToZero and RoundingModeRTZ) are explicit code around each operation, because the
 * machine's one mode cannot suit all widths at once. Unless a kernel says otherwise, denormals,
 * signed zeros, infinities and NaN are preserved and rounding is to nearest.
 */
#include "emit/opencl_std.h"
#include "emit/target.h"
#include "llvm/ir.h"

/* ---- float controls -------------------------------------------------------------------------- */

/* Modes that name a width are for IEEE's formats, and do not affect bf16 (Vulkan, spirvenv,
 * Precision and Operation of SPIR-V Instructions). */
enum { HALF, SINGLE, DOUBLE, BRAIN, N_FORMATS };

struct EmitOps {
    bool flush[N_FORMATS], preserve[N_FORMATS], towards_zero[N_FORMATS];
    bool no_contraction;      /* ContractionOff */
    uint32_t fast[N_FORMATS]; /* FPFastMathDefault */
    bool has_fast;            /* of any format: for the others the default is then 0 */
    /* bits of FPFastMathMode, any of which allows all algebraic transformations */
    uint32_t algebra;
};

static unsigned format_of(uint32_t bits)
{
    return bits == 16 ? HALF : bits == 32 ? SINGLE : DOUBLE;
}

static void read_mode(Emit *e, struct EmitOps *o, const SpvInst *i)
{
    uint32_t n = spv_n_operands(i), mode = spv_operand(i, 1);
    uint32_t width = n > 2 ? spv_operand(i, 2) : 0;
    if (mode == SpvExecutionModeDenormFlushToZero && n > 2)
        o->flush[format_of(width)] = true;
    else if (mode == SpvExecutionModeDenormPreserve && n > 2)
        o->preserve[format_of(width)] = true;
    else if (mode == SpvExecutionModeRoundingModeRTZ && n > 2)
        o->towards_zero[format_of(width)] = true;
    else if (mode == SpvExecutionModeContractionOff)
        o->no_contraction = true;
    else if (mode == SpvExecutionModeFPFastMathDefault && n > 3) {
        const SpvType *t = spv_type(e->module, spv_operand(i, 2));
        uint64_t flags;
        if (t && t->kind == SPV_FLOAT && spv_constant(e->module, spv_operand(i, 3), &flags)) {
            unsigned f = t->format == SPV_BF16 ? BRAIN : format_of(t->bits);
            o->fast[f] = (uint32_t)flags;
            o->has_fast = true;
        }
    }
}

static struct EmitOps *controls(Emit *e)
{
    if (e->ops)
        return e->ops;
    struct EmitOps *o = e->ops = NEW(e->arena, struct EmitOps);
    SpvId entry = e->entry->function->def->id;
    o->algebra = SpvFPFastMathModeAllowTransformMask;
    for (const SpvInst *i = e->module->globals.first; i; i = i->next)
        if (i->op == SpvOpCapability && spv_operand(i, 0) == SpvCapabilityFPFastMathModeINTEL)
            o->algebra |= SpvFPFastMathModeAllowReassocMask;
        else if ((i->op == SpvOpExecutionMode || i->op == SpvOpExecutionModeId) &&
                 spv_operand(i, 0) == entry)
            read_mode(e, o, i);
    return o;
}

bool ops_flushes(Emit *e)
{
    const struct EmitOps *o = controls(e);
    return o->flush[HALF] || o->flush[SINGLE] || o->flush[DOUBLE];
}

bool ops_keeps_denormals(Emit *e, uint32_t bits) { return controls(e)->preserve[format_of(bits)]; }

static LT element_of(LV v) { return ir_element(LLVMTypeOf(v)); }
static LLVMTypeKind kind_of(LV v) { return LLVMGetTypeKind(element_of(v)); }

static unsigned float_index(LV v)
{
    LLVMTypeKind k = kind_of(v);
    return k == LLVMHalfTypeKind     ? HALF
           : k == LLVMBFloatTypeKind ? BRAIN
           : k == LLVMFloatTypeKind  ? SINGLE
                                     : DOUBLE;
}

LV ops_flush(Emit *e, LV v)
{
    LLVMTypeKind k = kind_of(v);
    bool is = k == LLVMHalfTypeKind || k == LLVMFloatTypeKind || k == LLVMDoubleTypeKind;
    return is && controls(e)->flush[float_index(v)] ? arith_flush(e->b, v) : v;
}

/* What the module says about how exact an instruction on values like v must be. False: nothing. */
static bool fast_modes(Emit *e, const SpvInst *i, LV v, uint32_t *modes)
{
    struct EmitOps *o = controls(e);
    uint32_t n;
    const uint32_t *d =
        i->id ? spv_decoration(e->module, i->id, -1, SpvDecorationFPFastMathMode, &n) : NULL;
    *modes = d && n ? *d : o->fast[float_index(v)];
    return (d && n) || o->has_fast;
}

bool ops_signed_zeros(Emit *e, const SpvInst *i, LV v)
{
    uint32_t modes;
    return fast_modes(e, i, v, &modes) &&
           !(modes & (SpvFPFastMathModeFastMask | SpvFPFastMathModeNSZMask));
}

/* NotNaN and NotInf are not passed on, because LLVM makes a broken promise poison, which is more
 * than SPIR-V permits. LLVM's reassociation also distributes and cancels. AllowTransform permits
 * that for a single operation whether its operands are finite or not (SPV_KHR_float_controls2). For
 * an instruction of several steps it does so only if they are finite: a reflected infinity is a
 * NaN. */
static LLVMFastMathFlags fast_flags(Emit *e, const SpvInst *i, LV v)
{
    struct EmitOps *o = controls(e);
    uint32_t modes, finite = SpvFPFastMathModeNotNaNMask | SpvFPFastMathModeNotInfMask;
    bool told = fast_modes(e, i, v, &modes);
    if (i->id && spv_has_decoration(e->module, i->id, -1, SpvDecorationNoContraction))
        return LLVMFastMathNone;
    if (!told)
        return o->no_contraction ? LLVMFastMathNone : LLVMFastMathAllowContract;
    LLVMFastMathFlags f = LLVMFastMathNone;
    bool all = modes & SpvFPFastMathModeFastMask;
    if (all || modes & SpvFPFastMathModeNSZMask)
        f |= LLVMFastMathNoSignedZeros;
    if (all || modes & SpvFPFastMathModeAllowRecipMask)
        f |= LLVMFastMathAllowReciprocal;
    if (all || modes & SpvFPFastMathModeAllowContractMask)
        f |= LLVMFastMathAllowContract;
    if (all || (modes & o->algebra &&
                ((i->op >= SpvOpFAdd && i->op <= SpvOpFDiv) || (modes & finite) == finite)))
        f |= LLVMFastMathAllowReassoc;
    return f;
}

/* An operation on values of x's type. */
static LV operation(Emit *e, const SpvInst *i, LLVMOpcode op, LV x, LV a, LV b)
{
    LV v = LLVMBuildBinOp(e->b, op, a, b, "");
    if (i && LLVMCanValueUseFastMathFlags(v))
        LLVMSetFastMathFlags(v, fast_flags(e, i, x));
    return v;
}

LV ops_fold(Emit *e, LV v)
{
    return kind_of(v) == LLVMBFloatTypeKind
               ? arith_convert(e->b, v, COMP_BF16, COMP_F32, ROUND_NEAREST, false)
               : v;
}

static LV towards_zero(Emit *e, LLVMOpcode op, LV x, LV y)
{
    if (kind_of(x) != LLVMHalfTypeKind)
        return arith_towards_zero(e->b, op, x, y);
    x = arith_convert(e->b, x, COMP_F16, COMP_F32, ROUND_NEAREST, false);
    y = arith_convert(e->b, y, COMP_F16, COMP_F32, ROUND_NEAREST, false);
    return arith_convert(e->b, arith_towards_zero(e->b, op, x, y), COMP_F32, COMP_F16, ROUND_ZERO,
                         false);
}

LV ops_float(Emit *e, const SpvInst *i, LLVMOpcode op, LV x, LV y)
{
    LV v[2] = { x, y };
    emit_unify(e, v, 2);
    if (kind_of(x) == LLVMBFloatTypeKind) { /* bf16 has no arithmetic of its own */
        LV r = operation(e, i, op, x, ops_fold(e, v[0]), ops_fold(e, v[1]));
        return arith_convert(e->b, r, COMP_F32, COMP_BF16, ROUND_NEAREST, false);
    }
    v[0] = ops_flush(e, v[0]);
    v[1] = ops_flush(e, v[1]);
    if (controls(e)->towards_zero[float_index(x)])
        return ops_flush(e, towards_zero(e, op, v[0], v[1]));
    return ops_flush(e, operation(e, i, op, x, v[0], v[1]));
}

LV ops_fma(Emit *e, LV x, LV y, LV z)
{
    LV v[3] = { x, y, z };
    emit_unify(e, v, 3);
    for (int k = 0; k < 3; k++)
        v[k] = ops_flush(e, v[k]);
    LT t = LLVMTypeOf(v[0]);
    if (kind_of(x) == LLVMHalfTypeKind) { /* the product is exact in float */
        for (int k = 0; k < 3; k++)
            v[k] = arith_convert(e->b, v[k], COMP_F16, COMP_F32, ROUND_NEAREST, false);
        LV r = LLVMBuildFAdd(e->b, LLVMBuildFMul(e->b, v[0], v[1], ""), v[2], "");
        return ops_flush(e, LLVMBuildFPTrunc(e->b, r, t, ""));
    }
    const char *fma = e->fma ? "llvm.fma" : "llvm.fmuladd";
    return ops_flush(e, ir_intrinsic(e->b, fma, &t, 1, v, 3));
}

/* Vulkan's precision ("Precision of Individual Operations") is shaders' alone, of what is not
 * declared precise. */
LV ops_approximate(Emit *e, const SpvInst *i, uint32_t number, LV x, LV y)
{
    LLVMTypeKind k = kind_of(x);
    if (!e->target->approximate || e->entry->model == SpvExecutionModelKernel ||
        (k != LLVMHalfTypeKind && k != LLVMFloatTypeKind) ||
        controls(e)->towards_zero[float_index(x)] ||
        spv_has_decoration(e->module, i->id, -1, SpvDecorationNoContraction))
        return NULL;
    x = ops_flush(e, x);
    LV r = e->target->approximate(e, i, number, x, y ? ops_flush(e, y) : NULL);
    return r ? ops_flush(e, r) : NULL;
}

/* ---- helpers --------------------------------------------------------------------------------- */

LV *ops_leaves(Emit *e, SpvId id, uint32_t *n)
{
    *n = emit_value(e, id)->n;
    LV *leaves = NEW_ARRAY(e->arena, LV, *n ? *n : 1);
    for (uint32_t k = 0; k < *n; k++)
        leaves[k] = emit_leaf(e, id, k);
    return leaves;
}

const SpvType *ops_type(Emit *e, SpvId id) { return emit_leaf_type(e, emit_value(e, id)->type, 0); }

LV ops_bits(Emit *e, LV v)
{
    unsigned n;
    switch (kind_of(v)) {
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: n = 16; break;
    case LLVMFloatTypeKind: n = 32; break;
    case LLVMDoubleTypeKind: n = 64; break;
    default: return v;
    }
    return LLVMBuildBitCast(e->b, v, ir_type_like(LLVMTypeOf(v), LLVMIntTypeInContext(e->cx, n)),
                            "");
}

LV ops_select(Emit *e, LV condition, LV x, LV y)
{
    LV v[2] = { x, y };
    if (emit_is_lanes(condition))
        v[0] = emit_lanes(e, x);
    emit_unify(e, v, 2);
    return LLVMBuildSelect(e->b, condition, v[0], v[1], "");
}

/* ---- one LLVM instruction -------------------------------------------------------------------- */

typedef enum PlainKind { BINARY, FLOAT, ICMP, FCMP } PlainKind;

static const struct Plain {
    uint16_t op;
    uint8_t kind;
    uint16_t code;
} plain[] = {
    { SpvOpIAdd, BINARY, LLVMAdd },
    { SpvOpISub, BINARY, LLVMSub },
    { SpvOpIMul, BINARY, LLVMMul },
    { SpvOpBitwiseOr, BINARY, LLVMOr },
    { SpvOpBitwiseXor, BINARY, LLVMXor },
    { SpvOpBitwiseAnd, BINARY, LLVMAnd },
    { SpvOpLogicalOr, BINARY, LLVMOr },
    { SpvOpLogicalAnd, BINARY, LLVMAnd },
    { SpvOpLogicalNotEqual, BINARY, LLVMXor },
    { SpvOpFAdd, FLOAT, LLVMFAdd },
    { SpvOpFSub, FLOAT, LLVMFSub },
    { SpvOpFMul, FLOAT, LLVMFMul },
    { SpvOpFDiv, FLOAT, LLVMFDiv },
    { SpvOpLogicalEqual, ICMP, LLVMIntEQ },
    { SpvOpIEqual, ICMP, LLVMIntEQ },
    { SpvOpINotEqual, ICMP, LLVMIntNE },
    { SpvOpUGreaterThan, ICMP, LLVMIntUGT },
    { SpvOpSGreaterThan, ICMP, LLVMIntSGT },
    { SpvOpUGreaterThanEqual, ICMP, LLVMIntUGE },
    { SpvOpSGreaterThanEqual, ICMP, LLVMIntSGE },
    { SpvOpULessThan, ICMP, LLVMIntULT },
    { SpvOpSLessThan, ICMP, LLVMIntSLT },
    { SpvOpULessThanEqual, ICMP, LLVMIntULE },
    { SpvOpSLessThanEqual, ICMP, LLVMIntSLE },
    { SpvOpFOrdEqual, FCMP, LLVMRealOEQ },
    { SpvOpFUnordEqual, FCMP, LLVMRealUEQ },
    { SpvOpFOrdNotEqual, FCMP, LLVMRealONE },
    { SpvOpFUnordNotEqual, FCMP, LLVMRealUNE },
    { SpvOpFOrdLessThan, FCMP, LLVMRealOLT },
    { SpvOpFUnordLessThan, FCMP, LLVMRealULT },
    { SpvOpFOrdGreaterThan, FCMP, LLVMRealOGT },
    { SpvOpFUnordGreaterThan, FCMP, LLVMRealUGT },
    { SpvOpFOrdLessThanEqual, FCMP, LLVMRealOLE },
    { SpvOpFUnordLessThanEqual, FCMP, LLVMRealULE },
    { SpvOpFOrdGreaterThanEqual, FCMP, LLVMRealOGE },
    { SpvOpFUnordGreaterThanEqual, FCMP, LLVMRealUGE },
    { SpvOpLessOrGreater, FCMP, LLVMRealONE },
    { SpvOpOrdered, FCMP, LLVMRealORD },
    { SpvOpUnordered, FCMP, LLVMRealUNO },
};

static LV plain_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    const struct Plain *p = plain;
    while (p->op != i->op)
        p++;
    switch (p->kind) {
    case BINARY: return LLVMBuildBinOp(e->b, p->code, v[0], v[1], "");
    case FLOAT: {
        LV r = i->op == SpvOpFDiv ? ops_approximate(e, i, 0, v[0], v[1]) : NULL;
        return r ? r : ops_float(e, i, p->code, v[0], v[1]);
    }
    case ICMP: return LLVMBuildICmp(e->b, p->code, v[0], v[1], "");
    default:
        return LLVMBuildFCmp(e->b, p->code, ops_flush(e, ops_fold(e, v[0])),
                             ops_flush(e, ops_fold(e, v[1])), "");
    }
}

static void plain_inst(Emit *e, const SpvInst *i) { emit_each_leaf(e, i, 0, 2, plain_leaf); }

/* Rounds once. In double the product of two f16 is exact, and so is every sum that is a tie between
 * two f16. Rounding towards zero twice is the same as rounding so once, so for f32 an exact product
 * is enough. */
static LV fused_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)i;
    emit_unify(e, v, n);
    unsigned format = float_index(v[0]);
    bool zero = controls(e)->towards_zero[format];
    IrComp c = format == HALF ? COMP_F16 : format == SINGLE ? COMP_F32 : COMP_F64;
    if (!zero && format != HALF)
        return ops_fma(e, v[0], v[1], v[2]);
    for (uint32_t k = 0; k < n; k++)
        v[k] = arith_convert(e->b, ops_flush(e, v[k]), c, COMP_F64, ROUND_NEAREST, false);
    if (c == COMP_F64)
        return ops_flush(e, math_call(e->b, ARITH_FMA_TOWARDS_ZERO, v, 3));
    LV r = LLVMBuildFMul(e->b, v[0], v[1], "");
    r = zero ? arith_towards_zero(e->b, LLVMFAdd, r, v[2]) : LLVMBuildFAdd(e->b, r, v[2], "");
    return ops_flush(e,
                     arith_convert(e->b, r, COMP_F64, c, zero ? ROUND_ZERO : ROUND_NEAREST, false));
}

static void fused(Emit *e, const SpvInst *i) { emit_each_leaf(e, i, 0, 3, fused_leaf); }

/* ---- one function of arith.h ----------------------------------------------------------------- */

static const struct Call {
    uint16_t op;
    LV (*fn)(LLVMBuilderRef, LV, LV);
} calls[] = {
    { SpvOpUDiv, arith_udiv },
    { SpvOpSDiv, arith_sdiv },
    { SpvOpUMod, arith_umod },
    { SpvOpSRem, arith_srem },
    { SpvOpSMod, arith_smod },
    { SpvOpFRem, arith_frem },
    { SpvOpFMod, arith_fmod },
    { SpvOpShiftLeftLogical, arith_shl },
    { SpvOpShiftRightLogical, arith_lshr },
    { SpvOpShiftRightArithmetic, arith_ashr },
};

static LV call_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    const struct Call *c = calls;
    while (c->op != i->op)
        c++;
    return ops_flush(e, c->fn(e->b, ops_flush(e, v[0]), ops_flush(e, v[1])));
}

static void call_inst(Emit *e, const SpvInst *i) { emit_each_leaf(e, i, 0, 2, call_leaf); }

/* ---- one operand ----------------------------------------------------------------------------- */

static LV absolute(Emit *e, LV v) { return ir_unary(e->b, "llvm.fabs", v); }

static LV classify(Emit *e, uint16_t op, LV v)
{
    LV a = absolute(e, v), inf = LLVMConstReal(element_of(v), 1.0 / 0.0);
    if (emit_is_lanes(v))
        inf = emit_lanes(e, inf);
    switch (op) {
    case SpvOpIsNan: return LLVMBuildFCmp(e->b, LLVMRealUNO, v, v, "");
    case SpvOpIsInf: return LLVMBuildFCmp(e->b, LLVMRealOEQ, a, inf, "");
    case SpvOpIsFinite: return LLVMBuildFCmp(e->b, LLVMRealOLT, a, inf, "");
    default: { /* OpIsNormal */
        static const double least[] = { 0x1p-14, 0x1p-126, 0x1p-1022, 0x1p-126 };
        LV some = LLVMBuildFCmp(e->b, LLVMRealOGE, a, ir_fnum(v, least[float_index(v)]), "");
        return LLVMBuildAnd(e->b, some, LLVMBuildFCmp(e->b, LLVMRealOLT, a, inf, ""), "");
    }
    }
}

static LV unary_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    LV x = v[0];
    switch (i->op) {
    case SpvOpSNegate: return LLVMBuildNeg(e->b, x, "");
    case SpvOpFNegate: {
        LV bits = ops_bits(e, x);
        if (kind_of(x) != LLVMBFloatTypeKind && bits != x)
            return ops_flush(e, LLVMBuildFNeg(e->b, x, ""));
        unsigned w = LLVMGetIntTypeWidth(element_of(bits));
        bits = LLVMBuildXor(e->b, bits, ir_inum(bits, UINT64_C(1) << (w - 1)), "");
        return LLVMBuildBitCast(e->b, bits, LLVMTypeOf(x), "");
    }
    case SpvOpNot:
    case SpvOpLogicalNot: return LLVMBuildNot(e->b, x, "");
    case SpvOpBitReverse: return ir_unary(e->b, "llvm.bitreverse", x);
    case SpvOpSignBitSet: {
        LV bits = ops_bits(e, x);
        return LLVMBuildICmp(e->b, LLVMIntSLT, bits, ir_inum(bits, 0), "");
    }
    case SpvOpQuantizeToF16: return arith_quantize_f16(e->b, x);
    case SpvOpArithmeticFenceEXT:
        return kind_of(x) == LLVMBFloatTypeKind ? x : ir_unary(e->b, "llvm.arithmetic.fence", x);
    default: return classify(e, i->op, ops_fold(e, x));
    }
}

static void unary_inst(Emit *e, const SpvInst *i) { emit_each_leaf(e, i, 0, 1, unary_leaf); }

static LV bit_count_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    LT result = emit_scalar_type(e, emit_leaf_type(e, spv_type(e->module, i->type), 0));
    return arith_resize(e->b, ir_unary(e->b, "llvm.ctpop", v[0]), result, false);
}

static void bit_count(Emit *e, const SpvInst *i) { emit_each_leaf(e, i, 0, 1, bit_count_leaf); }

/* ---- bit fields ------------------------------------------------------------------------------ */

static LV bit_field_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    if (i->op == SpvOpBitFieldInsert)
        return arith_insert_bits(e->b, v[0], v[1], v[2], v[3]);
    return arith_extract_bits(e->b, v[0], v[1], v[2], i->op == SpvOpBitFieldSExtract);
}

static void bit_field(Emit *e, const SpvInst *i)
{
    emit_each_leaf(e, i, 0, i->op == SpvOpBitFieldInsert ? 4 : 3, bit_field_leaf);
}

/* ---- conversions ----------------------------------------------------------------------------- */

IrRounding ops_rounding(Emit *e, const SpvInst *i, IrComp to)
{
    uint32_t n;
    const uint32_t *d = spv_decoration(e->module, i->id, -1, SpvDecorationFPRoundingMode, &n);
    if (d && n)
        return *d == SpvFPRoundingModeRTZ   ? ROUND_ZERO
               : *d == SpvFPRoundingModeRTP ? ROUND_UP
               : *d == SpvFPRoundingModeRTN ? ROUND_DOWN
                                            : ROUND_NEAREST;
    bool ieee = to == COMP_F16 || to == COMP_F32 || to == COMP_F64;
    bool zero = ieee && controls(e)->towards_zero[format_of(comp_bytes(to) * 8)];
    return zero ? ROUND_ZERO : ROUND_NEAREST;
}

typedef struct Conversion {
    IrComp from, to;
    IrRounding rounding;
    bool saturate, nearest; /* nearest: a float to an integer rounded to even (OpenCL) */
} Conversion;

static Conversion conversion(Emit *e, const SpvInst *i)
{
    IrComp from = comp_of(ops_type(e, spv_operand(i, 0)));
    IrComp to = comp_of(emit_leaf_type(e, spv_type(e->module, i->type), 0));
    bool saturate = i->op == SpvOpSatConvertSToU || i->op == SpvOpSatConvertUToS ||
                    spv_has_decoration(e->module, i->id, -1, SpvDecorationSaturatedConversion) ||
                    spv_has_decoration(e->module, i->id, -1,
                                       SpvDecorationSaturatedToLargestFloat8NormalConversionEXT);
    switch (i->op) {
    case SpvOpSConvert:
    case SpvOpConvertSToF:
    case SpvOpSatConvertSToU: from = comp_with_sign(from, true); break;
    case SpvOpUConvert:
    case SpvOpConvertUToF:
    case SpvOpSatConvertUToS: from = comp_with_sign(from, false); break;
    default: break;
    }
    switch (i->op) {
    case SpvOpSConvert:
    case SpvOpConvertFToS:
    case SpvOpSatConvertUToS: to = comp_with_sign(to, true); break;
    case SpvOpUConvert:
    case SpvOpConvertFToU:
    case SpvOpSatConvertSToU: to = comp_with_sign(to, false); break;
    default: break;
    }
    uint32_t n;
    const uint32_t *mode = spv_decoration(e->module, i->id, -1, SpvDecorationFPRoundingMode, &n);
    bool nearest =
        mode && n && *mode == SpvFPRoundingModeRTE && !comp_is_float(to) && comp_is_float(from);
    return (Conversion){ from, to, ops_rounding(e, i, to), saturate, nearest };
}

static void convert(Emit *e, const SpvInst *i)
{
    Conversion c = conversion(e, i);
    uint32_t n;
    if (!comp_is_arithmetic(c.to)) {
        emit_error(e, i, "VUID-StandaloneSpirv-OpFConvert-12466", "nothing is converted to %s",
                   comp_name(c.to));
        return;
    }
    LV *leaves = ops_leaves(e, spv_operand(i, 0), &n);
    for (uint32_t k = 0; k < n; k++) {
        LV x = ops_flush(e, leaves[k]);
        if (c.nearest)
            x = ir_unary(e->b, "llvm.roundeven", x);
        LV r = held_convert(e, x, c.from, c.to, c.saturate);
        if (!r)
            r = ops_convert(e, x, c.from, c.to, c.rounding, c.saturate);
        leaves[k] = ops_flush(e, r);
    }
    emit_set(e, i, leaves, n);
}

LV ops_convert(Emit *e, LV x, IrComp from, IrComp to, IrRounding rounding, bool saturate)
{
    LV r = e->target->widen ? e->target->widen(e, x, from, to) : NULL;
    return r ? r : arith_convert(e->b, x, from, to, rounding, saturate);
}

/* ---- bit casts ------------------------------------------------------------------------------- */

/* Numbers of less than 8 bits are in the low bits of 8. */
static unsigned carrier(unsigned bits) { return MAX(bits, 8); }

/* `bits` bits from bit `low` on of v[0..n) side by side, each `width` wide; the component that
 * comes first has the low bits (SPIR-V, OpBitcast). */
static LV cut(Emit *e, LV *v, unsigned width, unsigned low, unsigned bits)
{
    LV r = NULL;
    LT wide = LLVMIntTypeInContext(e->cx, MAX(carrier(width), carrier(bits)));
    for (unsigned k = low / width; k * width < low + bits; k++) {
        LV x = arith_resize(e->b, v[k], wide, false);
        unsigned at = k * width;
        if (at < low)
            x = LLVMBuildLShr(e->b, x, ir_inum(x, low - at), "");
        else if (at > low)
            x = LLVMBuildShl(e->b, x, ir_inum(x, at - low), "");
        r = r ? LLVMBuildOr(e->b, r, x, "") : x;
    }
    r = arith_resize(e->b, r, LLVMIntTypeInContext(e->cx, carrier(bits)), false);
    return bits < 8 ? LLVMBuildAnd(e->b, r, ir_inum(r, (1u << bits) - 1), "") : r;
}

/* The width of a leaf; 0 for a type that cannot be bit-cast. */
static unsigned leaf_bits(const SpvType *t)
{
    return t->kind == SPV_POINTER ? 64 : t->kind == SPV_INT || t->kind == SPV_FLOAT ? t->bits : 0;
}

static void bitcast(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type), *leaf = emit_leaf_type(e, t, 0);
    uint32_t n, m = emit_n_leaves(e, t);
    LV *from = ops_leaves(e, spv_operand(i, 0), &n), *to = NEW_ARRAY(e->arena, LV, m ? m : 1);
    unsigned width = leaf_bits(ops_type(e, spv_operand(i, 0))), bits = leaf_bits(leaf);
    if (!width || !bits || (uint64_t)n * width != (uint64_t)m * bits) {
        emit_error(e, i, "SPIR-V, OpBitcast", "the types of a bitcast differ in size");
        return;
    }
    for (uint32_t k = 0; k < n; k++)
        from[k] = ops_bits(e, from[k]);
    emit_unify(e, from, n);
    LT element = emit_scalar_type(e, leaf);
    for (uint32_t k = 0; k < m; k++) {
        LV x = cut(e, from, width, k * bits, bits);
        to[k] = LLVMBuildBitCast(e->b, x, ir_type_like(LLVMTypeOf(x), element), "");
    }
    emit_set(e, i, to, m);
}

/* SPV_EXT_ocp_microscaling_types: extracts some bits of each component. */
static LV bitcast_extract_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    const SpvType *leaf = emit_leaf_type(e, spv_type(e->module, i->type), 0);
    unsigned bits = leaf_bits(leaf);
    LV x = arith_lshr(e->b, ops_bits(e, v[0]), v[1]);
    x = cut(e, &x, LLVMGetIntTypeWidth(element_of(x)), 0, bits);
    return LLVMBuildBitCast(e->b, x, ir_type_like(LLVMTypeOf(x), emit_scalar_type(e, leaf)), "");
}

static void bitcast_extract(Emit *e, const SpvInst *i)
{
    emit_each_leaf(e, i, 0, 2, bitcast_extract_leaf);
}

/* ---- extended instructions ------------------------------------------------------------------- */

static void ext_inst(Emit *e, const SpvInst *i)
{
    if (spv_is_nonsemantic(i))
        return;
    const SpvInst *set = spv_def(e->module, spv_operand(i, 0));
    const char *name = set ? spv_string(set, 0, NULL) : NULL;
    if (name && !strcmp(name, "GLSL.std.450"))
        glsl450_inst(e, i);
    else if (i->ext_set == SPV_SET_OpenCLstd_)
        opencl_inst(e, i);
    else
        emit_error(e, i, NULL,
                   "instruction %u of the extended set \"%s\" is not supported on the CPU",
                   spv_operand(i, 1), name ? name : "?");
}

#define PLAIN(name)   { SpvOp##name, EMIT_CHEAP, plain_inst }
#define CALL(name)    { SpvOp##name, 0, call_inst }
#define UNARY(name)   { SpvOp##name, EMIT_CHEAP, unary_inst }
#define CONVERT(name) { SpvOp##name, EMIT_CHEAP, convert }

const EmitRule emit_rules_arith[] = {
    PLAIN(IAdd),
    PLAIN(ISub),
    PLAIN(IMul),
    PLAIN(BitwiseOr),
    PLAIN(BitwiseXor),
    PLAIN(BitwiseAnd),
    PLAIN(LogicalOr),
    PLAIN(LogicalAnd),
    PLAIN(LogicalNotEqual),
    PLAIN(LogicalEqual),
    PLAIN(FAdd),
    PLAIN(FSub),
    PLAIN(FMul),
    PLAIN(FDiv),
    PLAIN(IEqual),
    PLAIN(INotEqual),
    PLAIN(UGreaterThan),
    PLAIN(SGreaterThan),
    PLAIN(UGreaterThanEqual),
    PLAIN(SGreaterThanEqual),
    PLAIN(ULessThan),
    PLAIN(SLessThan),
    PLAIN(ULessThanEqual),
    PLAIN(SLessThanEqual),
    PLAIN(FOrdEqual),
    PLAIN(FUnordEqual),
    PLAIN(FOrdNotEqual),
    PLAIN(FUnordNotEqual),
    PLAIN(FOrdLessThan),
    PLAIN(FUnordLessThan),
    PLAIN(FOrdGreaterThan),
    PLAIN(FUnordGreaterThan),
    PLAIN(FOrdLessThanEqual),
    PLAIN(FUnordLessThanEqual),
    PLAIN(FOrdGreaterThanEqual),
    PLAIN(FUnordGreaterThanEqual),
    PLAIN(LessOrGreater),
    PLAIN(Ordered),
    PLAIN(Unordered),
    CALL(UDiv),
    CALL(SDiv),
    CALL(UMod),
    CALL(SRem),
    CALL(SMod),
    CALL(FRem),
    CALL(FMod),
    { SpvOpShiftLeftLogical, EMIT_CHEAP, call_inst },
    { SpvOpShiftRightLogical, EMIT_CHEAP, call_inst },
    { SpvOpShiftRightArithmetic, EMIT_CHEAP, call_inst },
    UNARY(SNegate),
    UNARY(FNegate),
    UNARY(Not),
    UNARY(LogicalNot),
    UNARY(BitReverse),
    UNARY(SignBitSet),
    UNARY(QuantizeToF16),
    UNARY(ArithmeticFenceEXT),
    UNARY(IsNan),
    UNARY(IsInf),
    UNARY(IsFinite),
    UNARY(IsNormal),
    { SpvOpFmaKHR, EMIT_CHEAP, fused },
    { SpvOpBitCount, EMIT_CHEAP, bit_count },
    { SpvOpBitFieldInsert, EMIT_CHEAP, bit_field },
    { SpvOpBitFieldSExtract, EMIT_CHEAP, bit_field },
    { SpvOpBitFieldUExtract, EMIT_CHEAP, bit_field },
    CONVERT(ConvertFToU),
    CONVERT(ConvertFToS),
    CONVERT(ConvertSToF),
    CONVERT(ConvertUToF),
    CONVERT(UConvert),
    CONVERT(SConvert),
    CONVERT(FConvert),
    CONVERT(SatConvertSToU),
    CONVERT(SatConvertUToS),
    { SpvOpBitcast, EMIT_CHEAP, bitcast },
    { SpvOpBitcastExtractEXT, EMIT_CHEAP, bitcast_extract },
    { SpvOpAny, EMIT_CHEAP, ops_any_all },
    { SpvOpAll, EMIT_CHEAP, ops_any_all },
    { SpvOpDot, EMIT_CHEAP, ops_inner_product },
    { SpvOpSDot, EMIT_CHEAP, ops_integer_dot },
    { SpvOpUDot, EMIT_CHEAP, ops_integer_dot },
    { SpvOpSUDot, EMIT_CHEAP, ops_integer_dot },
    { SpvOpSDotAccSat, EMIT_CHEAP, ops_integer_dot },
    { SpvOpUDotAccSat, EMIT_CHEAP, ops_integer_dot },
    { SpvOpSUDotAccSat, EMIT_CHEAP, ops_integer_dot },
    { SpvOpVectorTimesScalar, EMIT_CHEAP, ops_times_scalar },
    { SpvOpMatrixTimesScalar, EMIT_CHEAP, ops_times_scalar },
    { SpvOpVectorTimesMatrix, 0, ops_matrix_product },
    { SpvOpMatrixTimesVector, 0, ops_matrix_product },
    { SpvOpMatrixTimesMatrix, 0, ops_matrix_product },
    { SpvOpOuterProduct, 0, ops_outer_product },
    { SpvOpUMulExtended, EMIT_CHEAP, ops_extended_multiply },
    { SpvOpSMulExtended, EMIT_CHEAP, ops_extended_multiply },
    { SpvOpIAddCarry, EMIT_CHEAP, ops_carry },
    { SpvOpISubBorrow, EMIT_CHEAP, ops_carry },
    { SpvOpExtInst, 0, ext_inst },
    { 0, 0, NULL },
};
