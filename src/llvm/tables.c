/* SPDX-License-Identifier: MIT
 *
 * fp8 has 128 magnitudes, and vpermi2b is a table of 128 bytes: two look-ups and a sign stand for
 * the dozen instructions that arith_convert needs.
 */
#include "llvm/arith.h"

typedef LLVMValueRef Val;

enum { TABLE_BYTES = 64, MAGNITUDES = 128 };

static uint16_t converted(uint8_t code, IrComp from, IrComp to)
{
    double x = from == COMP_E4M3 ? e4m3_to_double(code) : e5m2_to_double(code);
    return to == COMP_BF16 ? bf16_from_double(x) : f16_from_double(x);
}

/* Of the upper or the lower bytes of the results. */
static Val look_up(LLVMBuilderRef b, Val codes, IrComp from, IrComp to, bool upper)
{
    Val half[2][TABLE_BYTES];
    LLVMTypeRef byte = ir_element_of(codes);
    for (unsigned code = 0; code < MAGNITUDES; code++) {
        uint16_t bits = converted((uint8_t)code, from, to);
        half[code / TABLE_BYTES][code % TABLE_BYTES] =
            ir_int(byte, upper ? bits >> 8 : bits & 0xff);
    }
    Val args[] = { LLVMConstVector(half[0], TABLE_BYTES), codes,
                   LLVMConstVector(half[1], TABLE_BYTES) };
    return ir_intrinsic(b, "llvm.x86.avx512.vpermi2var.qi.512", NULL, 0, args, 3);
}

/* To bf16 or f16, of n codes: vectors of their bytes, each the last two of `bytes`. */
static Val look_up_bytes(LLVMBuilderRef b, Val x, IrComp from, IrComp to, uint32_t n,
                         uint32_t bytes)
{
    int wide[TABLE_BYTES], joined[4 * TABLE_BYTES];
    for (uint32_t k = 0; k < TABLE_BYTES; k++)
        wide[k] = k < n ? (int)k : -1;
    for (uint32_t k = 0; k < bytes * n; k++)
        joined[k] = k % bytes + 2 < bytes   ? -1
                    : k % bytes + 1 < bytes ? (int)(k / bytes)
                                            : (int)(TABLE_BYTES + k / bytes);
    Val codes = ir_shuffle(b, x, NULL, wide, TABLE_BYTES);
    Val sign = LLVMBuildAnd(b, codes, ir_inum(codes, 0x80), "");
    Val lower = look_up(b, codes, from, to, false);
    Val upper = LLVMBuildOr(b, look_up(b, codes, from, to, true), sign, "");
    return ir_shuffle(b, lower, upper, joined, bytes * n);
}

/* All that fp8 has, bf16 has too. */
Val arith_look_up(LLVMBuilderRef b, Val x, IrComp from, IrComp to)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    bool is_vector = LLVMGetTypeKind(t) == LLVMVectorTypeKind;
    uint32_t n = is_vector ? LLVMGetVectorSize(t) : 1;
    if (n == 1 || n > TABLE_BYTES || (from != COMP_E4M3 && from != COMP_E5M2) ||
        (to != COMP_BF16 && to != COMP_F16 && to != COMP_F32))
        return NULL;
    LLVMContextRef cx = LLVMGetTypeContext(t);
    LLVMTypeRef type = LLVMVectorType(comp_type(cx, to), n);
    if (to != COMP_F32)
        return LLVMBuildBitCast(b, look_up_bytes(b, x, from, to, n, 2), type, "");
    Val bytes = look_up_bytes(b, x, from, COMP_BF16, n, 4);
    Val bits = LLVMBuildBitCast(b, bytes, LLVMVectorType(LLVMInt32TypeInContext(cx), n), "");
    return LLVMBuildBitCast(b, LLVMBuildAnd(b, bits, ir_inum(bits, 0xffff0000), ""), type, "");
}
