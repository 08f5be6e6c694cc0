/* SPDX-License-Identifier: MIT
 *
 * Component types of matrices: their names, sizes and LLVM types.
 */
#include "cpu/gemm.h"

static const struct CompInfo {
    const char *name;
    uint8_t bytes;
    bool is_float, is_signed;
} comps[COMP_COUNT] = {
    [COMP_F16] = {"f16", 2, true, true},     [COMP_BF16] = {"bf16", 2, true, true},
    [COMP_F32] = {"f32", 4, true, true},     [COMP_F64] = {"f64", 8, true, true},
    [COMP_E4M3] = {"e4m3", 1, true, true},   [COMP_E5M2] = {"e5m2", 1, true, true},
    [COMP_S8] = {"s8", 1, false, true},      [COMP_U8] = {"u8", 1, false, false},
    [COMP_S16] = {"s16", 2, false, true},    [COMP_U16] = {"u16", 2, false, false},
    [COMP_S32] = {"s32", 4, false, true},    [COMP_U32] = {"u32", 4, false, false},
    [COMP_S64] = {"s64", 8, false, true},    [COMP_U64] = {"u64", 8, false, false},
};

uint32_t comp_bytes(Comp c) { return comps[c].bytes; }
bool comp_is_float(Comp c) { return comps[c].is_float; }
bool comp_is_signed(Comp c) { return comps[c].is_signed; }
const char *comp_name(Comp c) { return comps[c].name; }

Comp comp_with_sign(Comp c, bool is_signed)
{
    static const Comp pairs[][2] = {
        { COMP_U8, COMP_S8 }, { COMP_U16, COMP_S16 }, { COMP_U32, COMP_S32 }, { COMP_U64, COMP_S64 }
    };
    for (uint32_t i = 0; i < COUNT_OF(pairs); i++)
        if (c == pairs[i][0] || c == pairs[i][1])
            return pairs[i][is_signed];
    return c;
}

LLVMTypeRef comp_type(LLVMContextRef cx, Comp c)
{
    switch (c) {
    case COMP_F16: return LLVMHalfTypeInContext(cx);
    case COMP_BF16: return LLVMBFloatTypeInContext(cx);
    case COMP_F32: return LLVMFloatTypeInContext(cx);
    case COMP_F64: return LLVMDoubleTypeInContext(cx);
    default: return LLVMIntTypeInContext(cx, comps[c].bytes * 8);
    }
}
