/* SPDX-License-Identifier: MIT
 *
 * Dot products of four bytes and four bytes, of vectors of words: by vpdpbusd, which multiplies
 * unsigned bytes by signed ones and adds to 32 bits, exactly modulo 2^32. Machines without it add
 * pairs of products: of bytes by vpmaddubsw, if none of a sum's first operands is above 127 or
 * none of its second above 63, so that it does not saturate, or of the even bytes and of the odd
 * ones, widened to 16 bits, by vpmaddwd.
 *
 * Where signs differ from the machine's, an operand is moved by 128, which flips its bytes' highest
 * bits: x . y = (x + 128) . y - 128 . y for signed x, x . y = x . (y - 128) + x . 128 for unsigned
 * y. Bytes that are known not to be negative, like those of a mask's, are both.
 */
#include "llvm/arith.h"

#include <string.h>

typedef LLVMValueRef Val;

enum { HIGH_BITS = 0x80808080, TWO_BITS = 0xc0c0c0c0, ONES = 0x01010101 };

/* Whether a value has none of these bits, as far as one sees. */
static bool lacks(Val v, uint32_t bits, uint32_t depth)
{
    Val scalar = ir_is_vector(v) ? ir_splatted(v) : NULL;
    v = scalar ? scalar : v;
    if (LLVMIsAConstantInt(v))
        return !(LLVMConstIntGetZExtValue(v) & bits);
    if (LLVMIsConstant(v) && ir_is_vector(v)) {
        for (uint32_t k = 0; k < LLVMGetVectorSize(LLVMTypeOf(v)); k++) {
            Val x = LLVMGetAggregateElement(v, k);
            if (!x || !LLVMIsAConstantInt(x) || !lacks(x, bits, 0))
                return false;
        }
        return true;
    }
    if (!depth || !LLVMIsAInstruction(v) || LLVMGetNumOperands(v) != 2)
        return false;
    Val x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAnd: return lacks(x, bits, depth - 1) || lacks(y, bits, depth - 1);
    case LLVMOr:
    case LLVMXor: return lacks(x, bits, depth - 1) && lacks(y, bits, depth - 1);
    default: return false;
    }
}

/* The instruction on words, a vector of the machine at a time. */
static Val on_vectors(const IrDots *d, const IrForms *inst, const Val *operands, uint32_t n)
{
    LLVMTypeRef type = LLVMTypeOf(operands[0]), types[3];
    uint32_t lanes = LLVMGetVectorSize(type), each = MIN(lanes, MIN(d->vector_bits / 32, 16u));
    const char *name = inst->name[each == 16 ? 2 : each == 8];
    LLVMTypeRef words = LLVMVectorType(LLVMGetElementType(type), each);
    Val pieces[IR_MAX_LANES];
    LLVMGetParamTypes(LLVMIntrinsicGetType(LLVMGetTypeContext(type),
                                           LLVMLookupIntrinsicID(name, strlen(name)), NULL, 0),
                      types);
    for (uint32_t from = 0; from < lanes; from += each) {
        Val args[3];
        for (uint32_t k = 0; k < n; k++)
            args[k] = LLVMBuildBitCast(d->b, ir_part(d->b, operands[k], from, each), types[k], "");
        Val v = ir_intrinsic(d->b, name, NULL, 0, args, n);
        pieces[from / each] = LLVMBuildBitCast(d->b, v, words, "");
    }
    return ir_concatenate(d->b, pieces, lanes / each);
}

/* sum + x . y, x unsigned and y signed. */
static Val product(const IrDots *d, Val sum, Val x, Val y)
{
    return on_vectors(d, &ir_vpdpbusd, (Val[]){ sum, x, y }, 3);
}

/* The even bytes of each word, or the odd ones, widened to 16 bits. */
static Val widened(const IrDots *d, Val v, bool is_signed, bool odd)
{
    LLVMTypeRef type = LLVMTypeOf(v), half = LLVMInt16TypeInContext(LLVMGetTypeContext(type));
    LLVMTypeRef halves = LLVMVectorType(half, LLVMGetVectorSize(type) * 2);
    Val eight = ir_int(halves, 8);
    v = LLVMBuildBitCast(d->b, v, halves, "");
    if (!odd && !is_signed)
        v = LLVMBuildAnd(d->b, v, ir_int(halves, 0xff), "");
    else if (!odd)
        v = LLVMBuildShl(d->b, v, eight, "");
    if (odd || is_signed)
        v = is_signed ? LLVMBuildAShr(d->b, v, eight, "") : LLVMBuildLShr(d->b, v, eight, "");
    return LLVMBuildBitCast(d->b, v, type, "");
}

/* x . y; `small`: no pair of products needs more than 16 bits with an unsigned x and a signed y. */
static Val product_of_pairs(const IrDots *d, const Val v[2], const bool is_signed[2], bool small)
{
    Val ones = ir_inum(v[0], 0x00010001), sum[2];
    if (small)
        return on_vectors(d, &ir_vpmaddwd, (Val[]){ on_vectors(d, &ir_vpmaddubsw, v, 2), ones }, 2);
    for (uint32_t odd = 0; odd < 2; odd++) {
        Val w[2] = { widened(d, v[0], is_signed[0], odd), widened(d, v[1], is_signed[1], odd) };
        sum[odd] = on_vectors(d, &ir_vpmaddwd, w, 2);
    }
    return LLVMBuildAdd(d->b, sum[0], sum[1], "");
}

LLVMValueRef arith_dot4(const IrDots *d, Val sum, Val x, Val y, bool x_signed, bool y_signed)
{
    bool x_small = lacks(x, HIGH_BITS, 2), y_small = lacks(y, HIGH_BITS, 2);
    if (!d->has_dots) {
        bool first = (x_small && (y_small || y_signed)) || (!x_signed && lacks(y, TWO_BITS, 2));
        bool second = (y_small && (x_small || x_signed)) || (!y_signed && lacks(x, TWO_BITS, 2));
        Val dot = second && !first
                      ? product_of_pairs(d, (Val[]){ y, x }, NULL, true)
                      : product_of_pairs(d, (Val[]){ x, y }, (bool[]){ x_signed, y_signed }, first);
        return sum ? LLVMBuildAdd(d->b, sum, dot, "") : dot;
    }
    Val zero = ir_inum(x, 0), high = ir_inum(x, HIGH_BITS), ones = ir_inum(x, ONES);
    sum = sum ? sum : zero;
    if ((x_small || !x_signed) && (y_small || y_signed))
        return product(d, sum, x, y);
    if ((y_small || !y_signed) && (x_small || x_signed))
        return product(d, sum, y, x);
    if (x_signed) {
        sum = LLVMBuildSub(d->b, sum, product(d, zero, high, y), "");
        return product(d, sum, LLVMBuildXor(d->b, x, high, ""), y);
    }
    Val moved = LLVMBuildShl(d->b, product(d, zero, x, ones), ir_inum(x, 7), "");
    sum = sum == zero ? moved : LLVMBuildAdd(d->b, sum, moved, "");
    return product(d, sum, x, LLVMBuildXor(d->b, y, high, ""));
}
