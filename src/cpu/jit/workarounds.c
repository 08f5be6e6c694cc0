/* SPDX-License-Identifier: MIT
 *
 * In: a module ready for LLVM's code generator. Out: the same module, in other words where LLVM 19
 * to 22 are known to make wrong code for x86 of the usual ones, or none. All of these but the
 * prologue's were found by random kernels, which tests/random tries first in every run. (One more
 * has to be avoided where the code is made: another_mask in subgroup.c.)
 */
#include "cpu/jit/jit.h"
#include "llvm/ir.h"

typedef struct Rewriter {
    LLVMContextRef context;
    LLVMBuilderRef builder;
    uint32_t known_bits;
    unsigned bitreverse, masked_store; /* intrinsics */
    bool has_masks;                    /* the function's machine has AVX-512's */
} Rewriter;

static bool is_vector(LLVMValueRef v)
{
    return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

/* 0 if they are not integers. */
static unsigned element_bits(LLVMValueRef vector)
{
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(vector));
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

/* ---- masks --------------------------------------------------------------------------------- */

/* Whether lane `lane` of a shuffle is the same lane of its first operand (otherwise it must be
 * false or undefined). */
static bool kept(LLVMValueRef shuffle, unsigned lane)
{
    return LLVMGetMaskValue(shuffle, lane) == (int)lane;
}

static bool cleared(LLVMValueRef shuffle, unsigned n, unsigned lane)
{
    int from = LLVMGetMaskValue(shuffle, lane);
    if (from < (int)n)
        return from == LLVMGetUndefMaskElem();
    LLVMValueRef element = LLVMGetAggregateElement(LLVMGetOperand(shuffle, 1), (unsigned)from - n);
    return element && (LLVMIsNull(element) || LLVMIsUndef(element));
}

/* A shuffle of a mask with zeros becomes an `and`. For the shuffle LLVM uses a KMOV that clears the
 * upper lanes; if the result is spilled, it spills the KMOV's input instead, as if that were a
 * plain copy, and lanes outside the workgroup come to life. The frozen operand keeps `and` from
 * spreading poison in lanes that the shuffle would have cleared. */
static LLVMValueRef mask_without_shuffle(Rewriter *r, LLVMValueRef i)
{
    if (LLVMGetInstructionOpcode(i) != LLVMShuffleVector || element_bits(i) != 1)
        return NULL;
    LLVMValueRef mask = LLVMGetOperand(i, 0), lanes[128];
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(i));
    if (LLVMTypeOf(mask) != LLVMTypeOf(i) || n > 128 || !LLVMIsConstant(LLVMGetOperand(i, 1)))
        return NULL;
    for (unsigned k = 0; k < n; k++) {
        if (!kept(i, k) && !cleared(i, n, k))
            return NULL;
        lanes[k] = ir_int(LLVMInt1TypeInContext(r->context), kept(i, k));
    }
    return LLVMBuildAnd(r->builder, LLVMBuildFreeze(r->builder, mask, ""),
                        LLVMConstVector(lanes, n), "");
}

/* A mask as numbers 0 and 1, or 0 and -1, becomes a select. If such numbers are added (`x +
 * zext(mask)` or `x - sext(mask)`) and fill several registers, LLVM may turn one form into the
 * other forever. */
static LLVMValueRef numbers_by_select(Rewriter *r, LLVMValueRef i)
{
    if (!(LLVMIsAZExtInst(i) || LLVMIsASExtInst(i)) || !is_vector(i) ||
        element_bits(LLVMGetOperand(i, 0)) != 1)
        return NULL;
    LLVMTypeRef type = LLVMTypeOf(i);
    uint64_t value = LLVMIsAZExtInst(i) ? 1 : UINT64_MAX;
    LLVMValueRef ones[128], one = LLVMConstInt(LLVMGetElementType(type), value, true);
    unsigned n = LLVMGetVectorSize(type);
    if (n > COUNT_OF(ones))
        return NULL;
    for (unsigned k = 0; k < n; k++)
        ones[k] = one;
    return LLVMBuildSelect(r->builder, LLVMGetOperand(i, 0), LLVMConstVector(ones, n),
                           LLVMConstNull(type), "");
}

static LLVMValueRef lane_number(Rewriter *r, unsigned lane)
{
    return ir_int(LLVMInt32TypeInContext(r->context), lane);
}

static LLVMValueRef lane_of(Rewriter *r, LLVMValueRef v, unsigned lane)
{
    return LLVMBuildExtractElement(r->builder, v, lane_number(r, lane), "");
}

/* The bits of a mask as several numbers, each with its bits reversed, are reversed one by one: LLVM
 * would take them together for one long number. */
static LLVMValueRef reversed_one_by_one(Rewriter *r, LLVMValueRef i)
{
    LLVMValueRef f = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    if (!f || !is_vector(i) || LLVMGetIntrinsicID(f) != r->bitreverse)
        return NULL;
    LLVMValueRef bits = LLVMGetOperand(i, 0), out = LLVMGetPoison(LLVMTypeOf(i));
    if (!LLVMIsABitCastInst(bits))
        return NULL;
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(i));
    LLVMValueRef one =
        LLVMGetIntrinsicDeclaration(LLVMGetGlobalParent(f), r->bitreverse, &element, 1);
    for (unsigned k = 0; k < LLVMGetVectorSize(LLVMTypeOf(i)); k++) {
        LLVMValueRef v = lane_of(r, bits, k);
        v = LLVMBuildCall2(r->builder, LLVMGlobalGetValueType(one), one, &v, 1, "");
        out = LLVMBuildInsertElement(r->builder, out, v, lane_number(r, k), "");
    }
    return out;
}

/* ---- stores of one lane -------------------------------------------------------------------- */

/* The only true lane of a constant mask; -1 if there is not exactly one. */
static int only_lane(LLVMValueRef mask)
{
    int lane = -1;
    if (!is_vector(mask) || !LLVMIsConstant(mask))
        return -1;
    for (unsigned k = 0; k < LLVMGetVectorSize(LLVMTypeOf(mask)); k++) {
        LLVMValueRef bit = LLVMGetAggregateElement(mask, k);
        if (!bit || !LLVMIsAConstantInt(bit))
            return -1;
        if (!LLVMConstIntGetZExtValue(bit))
            continue;
        if (lane >= 0)
            return -1;
        lane = (int)k;
    }
    return lane;
}

/* A store under a constant mask of one lane, or of the old contents with one lane replaced: LLVM 22
 * stores only that lane, but with the width that it had before it was narrowed. */
static LLVMValueRef lane_inserted(Rewriter *r, LLVMValueRef i)
{
    int lane = LLVMIsASelectInst(i) && is_vector(i) && element_bits(i) > 1
                   ? only_lane(LLVMGetOperand(i, 0))
                   : -1;
    if (lane < 0)
        return NULL;
    return LLVMBuildInsertElement(r->builder, LLVMGetOperand(i, 2),
                                  lane_of(r, LLVMGetOperand(i, 1), (unsigned)lane),
                                  lane_number(r, (unsigned)lane), "");
}

static LLVMValueRef lane_stored(Rewriter *r, LLVMValueRef i)
{
    LLVMValueRef f = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    if (!f || LLVMGetIntrinsicID(f) != r->masked_store)
        return NULL;
    int lane = only_lane(LLVMGetArgOperand(i, LLVMGetNumArgOperands(i) - 1));
    if (lane < 0)
        return NULL;
    LLVMValueRef v = lane_of(r, LLVMGetArgOperand(i, 0), (unsigned)lane);
    LLVMValueRef at = lane_number(r, (unsigned)lane);
    at = LLVMBuildGEP2(r->builder, LLVMTypeOf(v), LLVMGetArgOperand(i, 1), &at, 1, "");
    LLVMValueRef store = LLVMBuildStore(r->builder, v, at);
    LLVMSetAlignment(store, 1);
    return store;
}

/* ---- masked loads -------------------------------------------------------------------------- */

enum { PIECE_BYTES = 32, MASK_DEPTH = 8 };

/* Whether a lane of the mask is false, as far as constants in it tell. */
static bool is_false(LLVMValueRef mask, unsigned lane, unsigned depth)
{
    if (LLVMIsConstant(mask)) {
        LLVMValueRef element = LLVMGetAggregateElement(mask, lane);
        return element && LLVMIsNull(element);
    }
    if (!depth || !LLVMIsAInstruction(mask))
        return false;
    if (LLVMGetInstructionOpcode(mask) == LLVMAnd)
        return is_false(LLVMGetOperand(mask, 0), lane, depth - 1) ||
               is_false(LLVMGetOperand(mask, 1), lane, depth - 1);
    if (LLVMGetInstructionOpcode(mask) != LLVMShuffleVector)
        return false;
    LLVMValueRef x = LLVMGetOperand(mask, 0);
    int from = LLVMGetMaskValue(mask, lane), n = (int)LLVMGetVectorSize(LLVMTypeOf(x));
    return from >= 0 && is_false(from < n ? x : LLVMGetOperand(mask, 1),
                                 (unsigned)(from < n ? from : from - n), depth - 1);
}

static bool are_false(LLVMValueRef mask, unsigned first, unsigned n)
{
    unsigned k = 0;
    while (k < n && is_false(mask, first + k, MASK_DEPTH))
        k++;
    return k == n;
}

/* Lanes of the load by halves, as far down as one has a piece that loads nothing. */
static LLVMValueRef load_lanes(Rewriter *r, LLVMValueRef load, unsigned first, unsigned n,
                               unsigned piece)
{
    LLVMValueRef args[3], half[2];
    unsigned align = ir_masked_args(load, 0, args);
    bool splits = false;
    for (unsigned k = 0; k < n && n > piece; k += piece)
        splits |= are_false(args[1], first + k, piece);
    if (are_false(args[1], first, n))
        return ir_part(r->builder, args[2], first, n);
    if (!splits) {
        LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(load));
        LLVMValueRef at = lane_number(r, first);
        args[0] = LLVMBuildGEP2(r->builder, element, args[0], &at, 1, "");
        args[1] = ir_part(r->builder, args[1], first, n);
        args[2] = ir_part(r->builder, args[2], first, n);
        return ir_masked(r->builder, "llvm.masked.load", args, 0, first ? 1 : align);
    }
    half[0] = load_lanes(r, load, first, n / 2, piece);
    half[1] = load_lanes(r, load, first + n / 2, n / 2, piece);
    return ir_concatenate(r->builder, half, 2);
}

/* A masked load that AVX takes several instructions for, one of which would load nothing, whatever
 * the mask is otherwise, is several loads. LLVM 22 loads all that one's lanes, and returns them. */
static LLVMValueRef loaded_by_pieces(Rewriter *r, LLVMValueRef i)
{
    if (r->has_masks || !LLVMIsACallInst(i) || !ir_calls(i, "llvm.masked.load"))
        return NULL;
    LLVMValueRef args[3];
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(i));
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(i)), bits = 0;
    switch (LLVMGetTypeKind(element)) {
    case LLVMFloatTypeKind: bits = 32; break;
    case LLVMDoubleTypeKind: bits = 64; break;
    case LLVMIntegerTypeKind: bits = LLVMGetIntTypeWidth(element); break;
    default: break;
    }
    unsigned piece = bits ? 8 * PIECE_BYTES / bits : n;
    (void)ir_masked_args(i, 0, args);
    if (n > 128 || n & (n - 1) || n <= piece || LLVMIsConstant(args[1]))
        return NULL;
    for (unsigned k = 0; k < n; k += piece)
        if (are_false(args[1], k, piece))
            return load_lanes(r, i, 0, n, piece);
    return NULL;
}

/* ---- bytes shifted right ------------------------------------------------------------------- */

static bool has_zero_lane(LLVMValueRef constant)
{
    for (unsigned k = 0; k < LLVMGetVectorSize(LLVMTypeOf(constant)); k++) {
        LLVMValueRef element = LLVMGetAggregateElement(constant, k);
        if (element && LLVMIsNull(element))
            return true;
    }
    return false;
}

/* Signed bytes shifted right by constants that include 0 are shifted as 16 bits each. If the other
 * lanes turn out not to matter, LLVM makes a matrix for GF2P8AFFINEQB, and the one for 0 is
 * wrong. */
static LLVMValueRef shifted_wider(Rewriter *r, LLVMValueRef i)
{
    if (LLVMGetInstructionOpcode(i) != LLVMAShr || !is_vector(i) || element_bits(i) != 8)
        return NULL;
    LLVMValueRef x = LLVMGetOperand(i, 0), amount = LLVMGetOperand(i, 1);
    if (!LLVMIsConstant(amount) || !has_zero_lane(amount))
        return NULL;
    LLVMTypeRef wide =
        LLVMVectorType(LLVMInt16TypeInContext(r->context), LLVMGetVectorSize(LLVMTypeOf(i)));
    LLVMValueRef shifted = LLVMBuildAShr(r->builder, LLVMBuildSExt(r->builder, x, wide, ""),
                                         LLVMBuildZExt(r->builder, amount, wide, ""), "");
    return LLVMBuildTrunc(r->builder, shifted, LLVMTypeOf(i), "");
}

/* ---- high halves of products --------------------------------------------------------------- */

static bool is_widened(LLVMValueRef v) { return LLVMIsConstant(v) || LLVMIsAZExtInst(v); }

/* The high half of a product, `(a * b) >> n` of numbers extended by n bits, becomes MULHU. If b is
 * then found to be one, in a whole register, that becomes `a >> n`, which is undefined: LLVM knows
 * that the high half is 0 for scalars only. A shuffle of halves is not taken for MULHU. If a vector
 * fills no more than a register, the passes have found its constants before. */
static LLVMValueRef high_by_shuffle(Rewriter *r, LLVMValueRef i)
{
    if (LLVMGetInstructionOpcode(i) != LLVMLShr || !is_vector(i))
        return NULL;
    LLVMValueRef product = LLVMGetOperand(i, 0), amount = LLVMGetOperand(i, 1), odd[128];
    unsigned bits = element_bits(i), n = LLVMGetVectorSize(LLVMTypeOf(i));
    LLVMValueRef first = LLVMIsConstant(amount) ? LLVMGetAggregateElement(amount, 0) : NULL;
    if (!LLVMIsAInstruction(product) || LLVMGetInstructionOpcode(product) != LLVMMul ||
        !is_widened(LLVMGetOperand(product, 0)) || !is_widened(LLVMGetOperand(product, 1)) ||
        !first || !LLVMIsAConstantInt(first) || LLVMConstIntGetZExtValue(first) != bits / 2 ||
        n > 128 || n * bits / 2 <= r->known_bits)
        return NULL;
    LLVMTypeRef half = LLVMIntTypeInContext(r->context, bits / 2);
    for (unsigned k = 0; k < n; k++)
        odd[k] = lane_number(r, 2 * k + 1);
    LLVMValueRef halves = LLVMBuildBitCast(r->builder, product, LLVMVectorType(half, 2 * n), "");
    LLVMValueRef none = LLVMGetPoison(LLVMTypeOf(halves));
    LLVMValueRef high =
        LLVMBuildShuffleVector(r->builder, halves, none, LLVMConstVector(odd, n), "");
    return LLVMBuildZExt(r->builder, high, LLVMTypeOf(i), "");
}

static LLVMValueRef (*const rewrites[])(Rewriter *, LLVMValueRef) = {
    mask_without_shuffle, numbers_by_select, reversed_one_by_one, lane_inserted,
    lane_stored,          shifted_wider,     high_by_shuffle,     loaded_by_pieces,
};

static void rewrite(Rewriter *r, LLVMBasicBlockRef block)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        LLVMPositionBuilderBefore(r->builder, i);
        LLVMValueRef other = NULL;
        for (unsigned k = 0; k < COUNT_OF(rewrites) && !other; k++)
            other = rewrites[k](r, i);
        if (!other)
            continue;
        if (LLVMGetFirstUse(i))
            LLVMReplaceAllUsesWith(i, other);
        LLVMInstructionEraseFromParent(i);
    }
}

/* ---- prologues ----------------------------------------------------------------------------- */

/* A volatile store to the frame in the first block, which keeps the prologue there. LLVM moves the
 * prologue to where the frame is first needed. If the frame is so large that a loop touches its
 * pages one by one, that loop uses R11, even if something lives in it there. */
static void keep_prologue_first(Rewriter *r, LLVMValueRef function)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(r->context);
    LLVMPositionBuilderBefore(r->builder,
                              LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
    LLVMValueRef frame = LLVMBuildAlloca(r->builder, byte, "frame");
    LLVMSetVolatile(LLVMBuildStore(r->builder, LLVMConstNull(byte), frame), true);
}

static bool has_feature(LLVMValueRef function, const char *feature)
{
    const char *name = "target-features";
    LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, name,
                                                       (unsigned)strlen(name));
    unsigned n;
    const char *text = a ? LLVMGetStringAttributeValue(a, &n) : "";
    return strstr(text, feature) != NULL;
}

void cpu_work_around(LLVMModuleRef module, uint32_t known_bits)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    Rewriter r = { .context = context,
                   .builder = LLVMCreateBuilderInContext(context),
                   .known_bits = known_bits,
                   .bitreverse = LLVMLookupIntrinsicID("llvm.bitreverse", 15),
                   .masked_store = LLVMLookupIntrinsicID("llvm.masked.store", 17) };
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        cpu_without_bfloats(f);
        r.has_masks = has_feature(f, "+avx512f");
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            rewrite(&r, b);
        if (LLVMCountBasicBlocks(f) > 1)
            keep_prologue_first(&r, f);
    }
    LLVMDisposeBuilder(r.builder);
}
