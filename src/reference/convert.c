/* SPDX-License-Identifier: MIT
 *
 * Conversions (SPIR-V 3.3.11). Conversions from float to integer truncate; values out of range
 * saturate (a NaN becomes 0) and are findings. Bit casts repack leaves, with low-numbered
 * components in the low bits.
 */
#include "reference/machine.h"

#include <math.h>

static uint64_t integer_of(RMachine *m, RInv *v, const RInst *i, double x, bool to_signed,
                           uint8_t undefined)
{
    double top = ldexp(1, (int)i->bits - to_signed), least = to_signed ? -top : 0;
    uint64_t most = mask_bits(i->bits) >> to_signed;
    if (isnan(x) || trunc(x) >= top || trunc(x) < least) {
        if (!undefined &&
            !spv_has_decoration(m->module, i->src->id, -1, SpvDecorationSaturatedConversion))
            found(m, v, i, REF_RANGE, "%g does not fit the %u-bit %s integer it is converted to", x,
                  i->bits, to_signed ? "signed" : "unsigned");
        if (isnan(x))
            return 0;
        return x > 0 ? most : to_signed ? (most + 1) & mask_bits(i->bits) : 0;
    }
    return to_signed ? (uint64_t)(int64_t)x & mask_bits(i->bits) : (uint64_t)x;
}

/* 1 + the FPRoundingMode of an instruction that is decorated with one; else 0. */
static uint32_t decorated(const RInst *i) { return (uint32_t)(uintptr_t)i->aux; }

/* Rounds a float that becomes an integer as the decoration says (OpenCL's convert_int_rte and
 * similar). */
static double rounded(const RInst *i, double x)
{
    switch (decorated(i)) {
    case 1 + SpvFPRoundingModeRTE: return rint(x);
    case 1 + SpvFPRoundingModeRTP: return ceil(x);
    case 1 + SpvFPRoundingModeRTN: return floor(x);
    default: return x;
    }
}

/* What is rounded next: where a double does not hold all bits, one stands for the lowest, so that
 * what lies beside the middle between two smaller floats is not taken for it. */
static double odd_double(uint64_t x)
{
    return x >> 53 ? (double)((x & ~UINT64_C(2047)) | (x & 2047 ? 2048 : 0)) : (double)x;
}

static uint64_t float_of(const RInst *i, uint64_t bits, bool is_signed)
{
    int64_t s = sext(bits, i->sbits);
    if (decorated(i))
        return fmt_put_mode((RFmt)i->fmt, is_signed ? (long double)s : (long double)bits,
                            decorated(i) - 1);
    if (i->fmt == FMT_F32 && !i->rtz) {
        float f = is_signed ? (float)s : (float)bits;
        uint32_t w;
        memcpy(&w, &f, 4);
        return w;
    }
    double x = is_signed ? (double)s : (double)bits;
    if (i->fmt != FMT_F64)
        x = is_signed && s < 0 ? -odd_double(0 - (uint64_t)s) : odd_double(bits);
    return i->rtz ? fmt_put_rtz((RFmt)i->fmt, x) : fmt_put((RFmt)i->fmt, x);
}

/* For instructions that saturate and those decorated to do so. */
static uint64_t saturate(const RInst *i, uint64_t a)
{
    const uint64_t mask = mask_bits(i->bits);
    const int64_t s = sext(a, i->sbits), most = (int64_t)(mask >> 1);
    switch (i->op) {
    case SpvOpSConvert: return (uint64_t)(s < -most - 1 ? -most - 1 : MIN(s, most)) & mask;
    case SpvOpUConvert: return MIN(a, mask);
    case SpvOpSatConvertSToU: return s < 0 ? 0 : MIN((uint64_t)s, mask);
    default: return MIN(a, mask >> 1);
    }
}

/* To e4m3 and e5m2 with SaturatedToLargestFloat8NormalConversionEXT. */
static double clamp_fp8(const RInst *i, double x)
{
    double most = i->fmt == FMT_E4M3 ? 448 : 57344;
    return isnan(x) || !i->part ? x : fmin(fmax(x, -most), most);
}

static RStep step_convert(RMachine *m, RInv *v, const RInst *i)
{
    const uint64_t *a = leaf(v, i->ops[0]);
    uint64_t *d = leaf(v, i->dst);
    const uint8_t *u = unset(v, i->ops[0]);
    uint64_t mask = mask_bits(i->bits);
    for (uint32_t k = 0; k < i->n; k++) {
        double x = i->sfmt != FMT_NONE ? fmt_get((RFmt)i->sfmt, a[k]) : 0;
        switch (i->op) {
        case SpvOpConvertFToU: d[k] = integer_of(m, v, i, rounded(i, x), false, u[k]); break;
        case SpvOpConvertFToS: d[k] = integer_of(m, v, i, rounded(i, x), true, u[k]); break;
        case SpvOpConvertSToF: d[k] = float_of(i, a[k], true); break;
        case SpvOpConvertUToF: d[k] = float_of(i, a[k], false); break;
        case SpvOpUConvert: d[k] = i->part ? saturate(i, a[k]) : a[k] & mask; break;
        case SpvOpSConvert:
            d[k] = i->part ? saturate(i, a[k]) : (uint64_t)sext(a[k], i->sbits) & mask;
            break;
        case SpvOpFConvert:
            x = clamp_fp8(i, x);
            d[k] = decorated(i) ? fmt_put_mode((RFmt)i->fmt, x, decorated(i) - 1)
                   : i->rtz     ? fmt_put_rtz((RFmt)i->fmt, x)
                                : fmt_put((RFmt)i->fmt, x);
            break;
        case SpvOpQuantizeToF16: {
            double h = f16_to_double(f16_from_double(x));
            d[k] = fmt_put((RFmt)i->fmt, h != 0 && fabs(h) < 0x1p-14 ? copysign(0, h) : h);
            break;
        }
        default: d[k] = saturate(i, a[k]); break;
        }
    }
    memcpy(unset(v, i->dst), u, i->n);
    return STEP_NEXT;
}

static RStep step_copy(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    memmove(leaf(v, i->dst), leaf(v, i->ops[0]), i->n * 8);
    memmove(unset(v, i->dst), unset(v, i->ops[0]), i->n);
    return STEP_NEXT;
}

/* SPV_NV_cooperative_matrix2: a matrix of another use, whose elements others may own. Converted in
 * place, then moved. */
static void all_change_use(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    for (uint32_t k = 0; k < n; k++)
        i->op == SpvOpCooperativeMatrixConvertNV ? step_copy(m, set[k], i)
                                                 : step_convert(m, set[k], i);
    matrix_scatter(m, set, n, i->type, i->dst, matrix_gather(m, set, n, i->at, i->dst));
}

static bool prepare_use(RMachine *m, RInst *i)
{
    if (!prepare_same(m, i))
        return false;
    bool to = i->type->kind == SPV_COOPMAT, from = i->at->kind == SPV_COOPMAT;
    if (to != from || (to && (i->type->rows != i->at->rows || i->type->cols != i->at->cols ||
                              i->type->scope != i->at->scope))) {
        refuse(m, i->src, "the operand and the result are not of one shape and scope");
        return false;
    }
    if (to && i->type->use != i->at->use) {
        i->run = collective_wait;
        i->together = all_change_use;
        i->scope = (uint8_t)i->type->scope;
        i->whole = true;
    }
    return true;
}

static bool prepare_convert(RMachine *m, RInst *i)
{
    uint32_t n;
    if (!prepare_use(m, i))
        return false;
    bool from_float = i->sfmt != FMT_NONE, to_float = i->fmt != FMT_NONE;
    bool want_from = i->op == SpvOpConvertFToU || i->op == SpvOpConvertFToS ||
                     i->op == SpvOpFConvert || i->op == SpvOpQuantizeToF16;
    bool want_to = i->op == SpvOpConvertSToF || i->op == SpvOpConvertUToF ||
                   i->op == SpvOpFConvert || i->op == SpvOpQuantizeToF16;
    if (from_float != want_from || to_float != want_to) {
        refuse(m, i->src, "the operand or the result has the wrong kind of component");
        return false;
    }
    if (to_float && i->fmt >= FMT_E2M1) {
        refuse(m, i->src, "nothing is converted to this format");
        return false;
    }
    const uint32_t *mode =
        spv_decoration(m->module, i->src->id, -1, SpvDecorationFPRoundingMode, &n);
    if (mode && n)
        i->aux = (void *)(uintptr_t)(1 + *mode);
    bool tiny = i->fmt == FMT_E4M3 || i->fmt == FMT_E5M2;
    i->part = (tiny || i->fmt == FMT_NONE) &&
              spv_has_decoration(m->module, i->src->id, -1,
                                 tiny ? SpvDecorationSaturatedToLargestFloat8NormalConversionEXT
                                      : SpvDecorationSaturatedConversion);
    return true;
}

/* ---- bit casts ------------------------------------------------------------------------------- */

static uint32_t leaf_bits(const RType *t)
{
    return t->kind == SPV_POINTER ? 64 : type_scalar(t)->bits;
}

static RStep step_bitcast(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t from = leaf_bits(i->at), to = leaf_bits(i->type);
    const uint64_t *a = leaf(v, i->ops[0]);
    const uint8_t *u = unset(v, i->ops[0]);
    uint64_t *d = leaf(v, i->dst);
    uint8_t *du = unset(v, i->dst);
    if (i->at->kind == SPV_POINTER && i->type->kind == SPV_POINTER) {
        memcpy(d, a, 16);
        memcpy(du, u, 2);
        return STEP_NEXT;
    }
    uint32_t n = i->type->kind == SPV_POINTER ? 1 : i->n;
    memset(d, 0, i->n * 8);
    memset(du, 0, i->n);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t bit = 0, some; bit < to; bit += some) {
            uint32_t at = k * to + bit;
            some = MIN(to - bit, from - at % from);
            d[k] |= (a[at / from] >> at % from & mask_bits(some)) << bit;
            du[k] |= u[at / from];
        }
    }
    if (i->type->kind == SPV_POINTER)
        d[1] = mem_provenance(m, v, (RPointer){ d[0], PTR_NOWHERE });
    return STEP_NEXT;
}

static bool prepare_bitcast(RMachine *m, RInst *i)
{
    if (!prepare_value(m, i) || i->n_ops < 1)
        return false;
    bool wide = type_is_wide(i->at) || type_is_wide(i->type);
    uint64_t from = (uint64_t)leaf_bits(i->at) * (i->at->kind == SPV_POINTER ? 1 : i->at->leaves);
    uint64_t to = (uint64_t)leaf_bits(i->type) * (i->type->kind == SPV_POINTER ? 1 : i->n);
    if (!wide && from == to && leaf_bits(i->at) > 1 && leaf_bits(i->type) > 1)
        return true;
    refuse(m, i->src, "the operand and the result do not have the same number of bits");
    return false;
}

/* SPV_EXT_ocp_microscaling_types: `bits` from bit `offset` of each component. */
static RStep step_bitcast_extract(RMachine *m, RInv *v, const RInst *i)
{
    const uint64_t *a = leaf(v, i->ops[0]), offset = *leaf(v, i->ops[1]);
    uint64_t *d = leaf(v, i->dst);
    bool outside = offset > i->sbits || offset + i->bits > i->sbits;
    if (outside && !*unset(v, i->ops[1]))
        found(m, v, i, REF_RANGE, "bits %llu and up, %u of them, of a number of %u bits",
              (unsigned long long)offset, i->bits, i->sbits);
    for (uint32_t k = 0; k < i->n; k++) {
        d[k] = outside ? 0 : a[k] >> offset & mask_bits(i->bits);
        unset(v, i->dst)[k] = unset(v, i->ops[0])[k] | *unset(v, i->ops[1]);
    }
    return STEP_NEXT;
}

static bool prepare_bitcast_extract(RMachine *m, RInst *i)
{
    const RType *offset = i->n_ops > 1 ? m->value_types[spv_operand(i->src, 1)] : NULL;
    if (prepare_value(m, i) && offset && offset->kind == SPV_INT && i->at->leaves == i->n &&
        i->bits < i->sbits && !type_is_wide(i->at) && !type_is_wide(i->type))
        return true;
    refuse(m, i->src, "the operands' types do not fit the result's");
    return false;
}

static RStep step_pointer_to_integer(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    *leaf(v, i->dst) = *leaf(v, i->ops[0]) & mask_bits(i->bits);
    *unset(v, i->dst) = *unset(v, i->ops[0]);
    return STEP_NEXT;
}

static RStep step_integer_to_pointer(RMachine *m, RInv *v, const RInst *i)
{
    uint64_t *d = leaf(v, i->dst);
    d[0] = *leaf(v, i->ops[0]);
    d[1] = mem_provenance(m, v, (RPointer){ d[0], PTR_NOWHERE });
    unset(v, i->dst)[0] = *unset(v, i->ops[0]);
    unset(v, i->dst)[1] = 0;
    return STEP_NEXT;
}

static bool prepare_pointer(RMachine *m, RInst *i)
{
    bool to = i->op == SpvOpConvertUToPtr;
    if (prepare_value(m, i) && i->n_ops >= 1 && (to ? i->type : i->at)->kind == SPV_POINTER &&
        (to ? i->at : i->type)->kind == SPV_INT)
        return true;
    refuse(m, i->src, "this converts between a pointer and an integer");
    return false;
}

/* ---- generic pointers ------------------------------------------------------------------------ */

/* The storage class of what a generic pointer leads to. */
static uint32_t storage_of(RMachine *m, RInv *v, RPointer p)
{
    uint64_t prov = mem_provenance(m, v, p);
    const RObject *o = mem_object(m, prov);
    if (prov & PTR_LOCAL)
        return SpvStorageClassFunction;
    bool shared = o && o->storage == SpvStorageClassWorkgroup;
    return shared ? SpvStorageClassWorkgroup : SpvStorageClassCrossWorkgroup;
}

static RStep step_generic_cast(RMachine *m, RInv *v, const RInst *i)
{
    RPointer p = pointer_at(v, i->ops[0]);
    uint64_t *d = leaf(v, i->dst);
    bool is = storage_of(m, v, p) == i->type->storage;
    d[0] = is ? p.va : 0;
    d[1] = is ? p.prov : PTR_NOWHERE;
    unset(v, i->dst)[0] = unset(v, i->dst)[1] = *unset(v, i->ops[0]);
    return STEP_NEXT;
}

static RStep step_generic_semantics(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t storage = storage_of(m, v, pointer_at(v, i->ops[0]));
    *leaf(v, i->dst) = storage == SpvStorageClassWorkgroup ? SpvMemorySemanticsWorkgroupMemoryMask
                       : storage == SpvStorageClassFunction
                           ? 0
                           : SpvMemorySemanticsCrossWorkgroupMemoryMask;
    *unset(v, i->dst) = *unset(v, i->ops[0]);
    return STEP_NEXT;
}

static bool prepare_generic(RMachine *m, RInst *i)
{
    return i->n_ops >= 1 && prepare_value(m, i) && i->at && i->at->kind == SPV_POINTER;
}

/* clang-format off */
/* An undefined value keeps the bits that it happens to have. */
static RStep step_freeze(RMachine *m, RInv *v, const RInst *i)
{
    step_copy(m, v, i);
    memset(unset(v, i->dst), 0, i->n);
    return STEP_NEXT;
}

static const ROpRow rows[] = {
    { SpvOpConvertFToU, step_convert, prepare_convert, NULL, OPF_CONSTANT },
    { SpvOpConvertFToS, step_convert, prepare_convert, NULL, OPF_CONSTANT },
    { SpvOpConvertSToF, step_convert, prepare_convert, NULL, OPF_CONSTANT },
    { SpvOpConvertUToF, step_convert, prepare_convert, NULL, OPF_CONSTANT },
    { SpvOpUConvert, step_convert, prepare_convert, NULL, OPF_CONSTANT },
    { SpvOpSConvert, step_convert, prepare_convert, NULL, OPF_CONSTANT },
    { SpvOpFConvert, step_convert, prepare_convert, NULL, OPF_CONSTANT },
    { SpvOpQuantizeToF16, step_convert, prepare_convert, NULL, OPF_CONSTANT },
    { SpvOpSatConvertSToU, step_convert, prepare_convert, NULL, 0 },
    { SpvOpSatConvertUToS, step_convert, prepare_convert, NULL, 0 },
    { SpvOpBitcast, step_bitcast, prepare_bitcast, NULL, OPF_CONSTANT },
    { SpvOpBitcastExtractEXT, step_bitcast_extract, prepare_bitcast_extract, NULL, 0 },
    { SpvOpConvertPtrToU, step_pointer_to_integer, prepare_pointer, NULL, 0 },
    { SpvOpConvertUToPtr, step_integer_to_pointer, prepare_pointer, NULL, 0 },
    { SpvOpPtrCastToGeneric, step_copy, prepare_same, NULL, 0 },
    { SpvOpGenericCastToPtr, step_copy, prepare_same, NULL, 0 },
    { SpvOpGenericCastToPtrExplicit, step_generic_cast, prepare_generic, NULL, 0 },
    { SpvOpGenericPtrMemSemantics, step_generic_semantics, prepare_generic, NULL, 0 },
    { SpvOpCooperativeMatrixConvertNV, step_copy, prepare_use, NULL, 0 },
    { SpvOpCopyObject, step_copy, prepare_same, NULL, OPF_CONSTANT },
    { SpvOpCopyLogical, step_copy, prepare_same, NULL, 0 },
    { SpvOpExpectKHR, step_copy, prepare_same, NULL, 0 },
    { SpvOpArithmeticFenceEXT, step_copy, prepare_same, NULL, 0 },
    { SpvOpFreezeKHR, step_freeze, prepare_same, NULL, 0 },
};
/* clang-format on */
const ROpTable ref_convert_ops = { rows, COUNT_OF(rows) };
