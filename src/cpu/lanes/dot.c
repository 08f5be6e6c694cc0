/* SPDX-License-Identifier: MIT
 *
 * Dot products of four bytes and four bytes (SPV_KHR_integer_dot_product with packed operands) by
 * vpdpbusd, which multiplies unsigned bytes by signed ones and adds to 32 bits, exactly modulo
 * 2^32.
 *
 * Where signs differ from the machine's, an operand is moved by 128, which flips its bytes' highest
 * bits: x . y = (x + 128) . y - 128 . y for signed x, x . y = x . (y - 128) + x . 128 for unsigned
 * y. Bytes that are known not to be negative, like those of a mask's, are both.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <string.h>

enum { HIGH_BITS = 0x80808080, ONES = 0x01010101 };

/* Whether a value has none of these bits, as far as one sees. */
static bool lacks(LV v, uint32_t bits, uint32_t depth)
{
    if (LLVMIsAConstantInt(v))
        return !(LLVMConstIntGetZExtValue(v) & bits);
    if (LLVMIsConstant(v) && ir_is_vector(v)) {
        for (uint32_t k = 0; k < LLVMGetVectorSize(LLVMTypeOf(v)); k++) {
            LV x = LLVMGetAggregateElement(v, k);
            if (!x || !LLVMIsAConstantInt(x) || !lacks(x, bits, 0))
                return false;
        }
        return true;
    }
    if (!depth || !LLVMIsAInstruction(v) || LLVMGetNumOperands(v) != 2)
        return false;
    LV x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAnd: return lacks(x, bits, depth - 1) || lacks(y, bits, depth - 1);
    case LLVMOr:
    case LLVMXor: return lacks(x, bits, depth - 1) && lacks(y, bits, depth - 1);
    default: return false;
    }
}

static LV sub_vector(Emit *e, LV v, uint32_t from, uint32_t n)
{
    int lane[16];
    for (uint32_t k = 0; k < n; k++)
        lane[k] = (int)(from + k);
    return ir_shuffle(e->b, v, NULL, lane, n);
}

/* sum + x . y for W lanes, x unsigned and y signed. */
static LV product(Emit *e, LV sum, LV x, LV y)
{
    uint32_t most = lanes_of(e)->machine->vector_bits / 32, n = MIN(e->W, MIN(most, 16u));
    const char *name = n == 16  ? "llvm.x86.avx512.vpdpbusd.512"
                       : n == 8 ? "llvm.x86.avx512.vpdpbusd.256"
                                : "llvm.x86.avx512.vpdpbusd.128";
    LV operands[] = { sum, x, y }, pieces[IR_MAX_LANES];
    LT types[3];
    LLVMGetParamTypes(
        LLVMIntrinsicGetType(e->cx, LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0), types);
    for (uint32_t from = 0; from < e->W; from += n) {
        LV args[3];
        for (uint32_t k = 0; k < 3; k++)
            args[k] = LLVMBuildBitCast(e->b, sub_vector(e, operands[k], from, n), types[k], "");
        pieces[from / n] = ir_intrinsic(e->b, name, NULL, 0, args, 3);
    }
    return access_concatenate(e, pieces, e->W / n);
}

LV lanes_dot4(Emit *e, LV x, LV y, bool x_signed, bool y_signed)
{
    uint32_t sets = CPU_AVX512_VNNI | CPU_AVX_VNNI;
    if (!(lanes_of(e)->machine->sets & sets) || e->W < 4 ||
        (!emit_is_lanes(x) && !emit_is_lanes(y)))
        return NULL;
    bool x_small = lacks(x, HIGH_BITS, 2), y_small = lacks(y, HIGH_BITS, 2);
    LV v[2] = { emit_lanes(e, x), emit_lanes(e, y) }, zero = LLVMConstNull(LLVMTypeOf(v[0])), sum;
    if ((x_small || !x_signed) && (y_small || y_signed))
        return product(e, zero, v[0], v[1]);
    if ((y_small || !y_signed) && (x_small || x_signed))
        return product(e, zero, v[1], v[0]);
    LV high = ir_int(LLVMTypeOf(zero), HIGH_BITS), ones = ir_int(LLVMTypeOf(zero), ONES);
    if (x_signed) {
        sum = LLVMBuildSub(e->b, zero, product(e, zero, high, v[1]), "");
        return product(e, sum, LLVMBuildXor(e->b, v[0], high, ""), v[1]);
    }
    sum = LLVMBuildShl(e->b, product(e, zero, v[0], ones), ir_int(LLVMTypeOf(zero), 7), "");
    return product(e, sum, v[0], LLVMBuildXor(e->b, v[1], high, ""));
}
