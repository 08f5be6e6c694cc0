/* SPDX-License-Identifier: MIT
 *
 * Component types of matrices: their names, sizes and LLVM types.
 */
#include "llvm/comp.h"

static const struct CompInfo {
    const char *name;
    uint8_t bytes;
    bool is_float, is_signed;
} comps[COMP_COUNT] = {
    [COMP_F16] = { "f16", 2, true, true },       [COMP_BF16] = { "bf16", 2, true, true },
    [COMP_F32] = { "f32", 4, true, true },       [COMP_F64] = { "f64", 8, true, true },
    [COMP_E4M3] = { "e4m3", 1, true, true },     [COMP_E5M2] = { "e5m2", 1, true, true },
    [COMP_E2M1] = { "e2m1", 1, true, true },     [COMP_E3M2] = { "e3m2", 1, true, true },
    [COMP_E2M3] = { "e2m3", 1, true, true },     [COMP_E8M0] = { "ue8m0", 1, true, false },
    [COMP_MXINT8] = { "mxint8", 1, true, true }, [COMP_S8] = { "s8", 1, false, true },
    [COMP_U8] = { "u8", 1, false, false },       [COMP_S16] = { "s16", 2, false, true },
    [COMP_U16] = { "u16", 2, false, false },     [COMP_S32] = { "s32", 4, false, true },
    [COMP_U32] = { "u32", 4, false, false },     [COMP_S64] = { "s64", 8, false, true },
    [COMP_U64] = { "u64", 8, false, false },
};

IrComp comp_of(const SpvType *t)
{
    static const IrComp floats[] = { [SPV_BF16] = COMP_BF16, [SPV_E4M3] = COMP_E4M3,
                                     [SPV_E5M2] = COMP_E5M2, [SPV_E2M1] = COMP_E2M1,
                                     [SPV_E3M2] = COMP_E3M2, [SPV_E2M3] = COMP_E2M3,
                                     [SPV_E8M0] = COMP_E8M0, [SPV_MXINT8] = COMP_MXINT8 };
    if (t->kind == SPV_FLOAT)
        return spv_float_info(t->format) ? floats[t->format]
               : t->bits == 16           ? COMP_F16
               : t->bits == 64           ? COMP_F64
                                         : COMP_F32;
    IrComp u = t->bits == 8    ? COMP_U8
               : t->bits == 16 ? COMP_U16
               : t->bits == 64 ? COMP_U64
                               : COMP_U32;
    return comp_with_sign(u, t->is_signed);
}

uint32_t comp_bytes(IrComp c) { return comps[c].bytes; }
bool comp_is_float(IrComp c) { return comps[c].is_float; }
bool comp_is_arithmetic(IrComp c) { return c < COMP_E2M1 || c > COMP_MXINT8; }
bool comp_is_signed(IrComp c) { return comps[c].is_signed; }
const char *comp_name(IrComp c) { return comps[c].name; }

IrComp comp_with_sign(IrComp c, bool is_signed)
{
    /* signed and unsigned are side by side */
    return c < COMP_S8 ? c : (IrComp)(((c - COMP_S8) & ~1) + (is_signed ? COMP_S8 : COMP_U8));
}

LLVMTypeRef comp_type(LLVMContextRef cx, IrComp c)
{
    switch (c) {
    case COMP_F16: return LLVMHalfTypeInContext(cx);
    case COMP_BF16: return LLVMBFloatTypeInContext(cx);
    case COMP_F32: return LLVMFloatTypeInContext(cx);
    case COMP_F64: return LLVMDoubleTypeInContext(cx);
    default: return LLVMIntTypeInContext(cx, comps[c].bytes * 8);
    }
}
