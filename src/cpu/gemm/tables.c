/* SPDX-License-Identifier: MIT
 *
 * Conversions of operands. In: a vector of elements as they lie. Out: as the engine takes them.
 * fp8 has 128 magnitudes, and vpermi2b is a table of 128 bytes: where there is one, two look-ups
 * and a sign stand for the thirty instructions that arith_convert needs.
 */
#include "cpu/gemm/gemm_internal.h"

enum { TABLE_BYTES = 64, MAGNITUDES = 128 };

static bool has_table(const GemmGen *g, IrComp from, IrComp to, uint32_t n)
{
    return g->gemm->target->sets & CPU_AVX512_VBMI && n <= TABLE_BYTES &&
           (from == COMP_E4M3 || from == COMP_E5M2) && (to == COMP_BF16 || to == COMP_F16);
}

static uint16_t converted(uint8_t code, IrComp from, IrComp to)
{
    double x = from == COMP_E4M3 ? e4m3_to_double(code) : e5m2_to_double(code);
    return to == COMP_BF16 ? bf16_from_double(x) : f16_from_double(x);
}

/* Of the upper or the lower bytes of the results. */
static LLVMValueRef look_up(GemmGen *g, LLVMValueRef codes, IrComp from, IrComp to, bool upper)
{
    LLVMValueRef half[2][TABLE_BYTES];
    for (unsigned code = 0; code < MAGNITUDES; code++) {
        uint16_t bits = converted((uint8_t)code, from, to);
        half[code / TABLE_BYTES][code % TABLE_BYTES] =
            LLVMConstInt(g->i8, upper ? bits >> 8 : bits & 0xff, false);
    }
    LLVMValueRef args[] = { LLVMConstVector(half[0], TABLE_BYTES), codes,
                            LLVMConstVector(half[1], TABLE_BYTES) };
    return ir_intrinsic(g->b, "llvm.x86.avx512.vpermi2var.qi.512", NULL, 0, args, 3);
}

LLVMValueRef gemm_convert(GemmGen *g, LLVMValueRef x, IrComp from, IrComp to)
{
    bool is_vector = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind;
    uint32_t n = is_vector ? LLVMGetVectorSize(LLVMTypeOf(x)) : 1;
    int wide[TABLE_BYTES], joined[2 * TABLE_BYTES];
    if (!is_vector || !has_table(g, from, to, n))
        return arith_convert(g->b, x, from, to, ROUND_NEAREST, false);
    for (uint32_t k = 0; k < TABLE_BYTES; k++)
        wide[k] = k < n ? (int)k : -1;
    for (uint32_t k = 0; k < n; k++) {
        joined[2 * k] = (int)k;
        joined[2 * k + 1] = (int)(TABLE_BYTES + k);
    }
    LLVMValueRef codes = ir_shuffle(g->b, x, NULL, wide, TABLE_BYTES);
    LLVMValueRef sign = LLVMBuildAnd(g->b, codes, ir_inum(codes, 0x80), "");
    LLVMValueRef lower = look_up(g, codes, from, to, false);
    LLVMValueRef upper = LLVMBuildOr(g->b, look_up(g, codes, from, to, true), sign, "");
    LLVMValueRef bytes = ir_shuffle(g->b, lower, upper, joined, 2 * n);
    return LLVMBuildBitCast(g->b, bytes, LLVMVectorType(comp_type(g->cx, to), n), "");
}
