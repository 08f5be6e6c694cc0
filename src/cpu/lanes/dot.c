/* SPDX-License-Identifier: MIT
 *
 * Dot products of four bytes and four bytes (SPV_KHR_integer_dot_product with packed operands) by
 * vpdpbusd, which multiplies unsigned bytes by signed ones and adds to 32 bits, exactly modulo
 * 2^32. Machines without it add pairs of products: of bytes by vpmaddubsw, if none of a sum's first
 * operands is above 127, so that it does not saturate, or of the even bytes and of the odd ones,
 * widened to 16 bits, by vpmaddwd.
 *
 * Where signs differ from the machine's, an operand is moved by 128, which flips its bytes' highest
 * bits: x . y = (x + 128) . y - 128 . y for signed x, x . y = x . (y - 128) + x . 128 for unsigned
 * y. Bytes that are known not to be negative, like those of a mask's, are both.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <string.h>

enum { HIGH_BITS = 0x80808080, ONES = 0x01010101 };
enum { DOT_SETS = CPU_AVX512_VNNI | CPU_AVX_VNNI | CPU_AVX2 | CPU_AVX512 };

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

/* The instruction on W lanes, a vector of the machine at a time; operands and result are numbers of
 * 32 bits. */
static LV on_vectors(Emit *e, const IrForms *inst, const LV *operands, uint32_t n_operands)
{
    uint32_t most = lanes_of(e)->machine->vector_bits / 32, n = MIN(e->W, MIN(most, 16u));
    const char *name = inst->name[n == 16 ? 2 : n == 8];
    LT types[3], words = LLVMVectorType(e->i32, n);
    LV pieces[IR_MAX_LANES];
    LLVMGetParamTypes(
        LLVMIntrinsicGetType(e->cx, LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0), types);
    for (uint32_t from = 0; from < e->W; from += n) {
        LV args[3];
        for (uint32_t k = 0; k < n_operands; k++)
            args[k] = LLVMBuildBitCast(e->b, ir_part(e->b, operands[k], from, n), types[k], "");
        LV v = ir_intrinsic(e->b, name, NULL, 0, args, n_operands);
        pieces[from / n] = LLVMBuildBitCast(e->b, v, words, "");
    }
    return ir_concatenate(e->b, pieces, e->W / n);
}

/* sum + x . y for W lanes, x unsigned and y signed. */
static LV product(Emit *e, LV sum, LV x, LV y)
{
    return on_vectors(e, &ir_vpdpbusd, (LV[]){ sum, x, y }, 3);
}

/* The even bytes of each lane, or the odd ones, widened to 16 bits. */
static LV widened(Emit *e, LV v, bool is_signed, bool odd)
{
    LT lanes = LLVMTypeOf(v), halves = LLVMVectorType(e->i16, e->W * 2);
    LV eight = ir_int(halves, 8);
    v = LLVMBuildBitCast(e->b, v, halves, "");
    if (!odd && !is_signed)
        v = LLVMBuildAnd(e->b, v, ir_int(halves, 0xff), "");
    else if (!odd)
        v = LLVMBuildShl(e->b, v, eight, "");
    if (odd || is_signed)
        v = is_signed ? LLVMBuildAShr(e->b, v, eight, "") : LLVMBuildLShr(e->b, v, eight, "");
    return LLVMBuildBitCast(e->b, v, lanes, "");
}

/* x . y for W lanes; `small`: x has no byte above 127, and y is signed. */
static LV product_of_pairs(Emit *e, const LV v[2], const bool is_signed[2], bool small)
{
    LV ones = ir_int(LLVMTypeOf(v[0]), 0x00010001), sum[2];
    if (small)
        return on_vectors(e, &ir_vpmaddwd, (LV[]){ on_vectors(e, &ir_vpmaddubsw, v, 2), ones }, 2);
    for (uint32_t odd = 0; odd < 2; odd++) {
        LV w[2] = { widened(e, v[0], is_signed[0], odd), widened(e, v[1], is_signed[1], odd) };
        sum[odd] = on_vectors(e, &ir_vpmaddwd, w, 2);
    }
    return LLVMBuildAdd(e->b, sum[0], sum[1], "");
}

LV lanes_dot4(Emit *e, LV x, LV y, bool x_signed, bool y_signed)
{
    uint32_t sets = lanes_of(e)->machine->sets;
    if (!(sets & DOT_SETS) || e->W < 4 || (!emit_is_lanes(x) && !emit_is_lanes(y)))
        return NULL;
    bool x_small = lacks(x, HIGH_BITS, 2), y_small = lacks(y, HIGH_BITS, 2);
    LV v[2] = { emit_lanes(e, x), emit_lanes(e, y) };
    if (!(sets & (CPU_AVX512_VNNI | CPU_AVX_VNNI))) {
        bool first = x_small && (y_small || y_signed), second = y_small && (x_small || x_signed);
        if (second && !first)
            return product_of_pairs(e, (LV[]){ v[1], v[0] }, NULL, true);
        return product_of_pairs(e, v, (bool[]){ x_signed, y_signed }, first);
    }
    LV zero = LLVMConstNull(LLVMTypeOf(v[0])), sum;
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
