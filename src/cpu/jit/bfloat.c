/* SPDX-License-Identifier: MIT
 *
 * In: a function ready for LLVM's code generator. Out: the same function, in which bfloats are
 * moved (loaded, stored, shuffled, selected, chosen by phis) as 16-bit integers.
 *
 * Nothing computes in bfloats: convert.c makes them, and takes them apart, with integer operations.
 * For x86 with AVX512-BF16, LLVM 22 has code for vectors of 8, 16 and 32 of them, but not for
 * loading and storing a single one, which is what remains of 9, 17 or 33.
 */
#include "cpu/jit/jit.h"
#include "llvm/ir.h"

#include <string.h>

typedef struct Bfloats {
    LLVMContextRef context;
    LLVMBuilderRef b;
} Bfloats;

/* The type with integers in place of bfloats; NULL if it contains none. */
static LLVMTypeRef integers(const Bfloats *r, LLVMTypeRef t)
{
    LLVMTypeRef half = LLVMInt16TypeInContext(r->context);
    if (LLVMGetTypeKind(t) == LLVMBFloatTypeKind)
        return half;
    bool vector = LLVMGetTypeKind(t) == LLVMVectorTypeKind;
    return vector && LLVMGetTypeKind(LLVMGetElementType(t)) == LLVMBFloatTypeKind
               ? LLVMVectorType(half, LLVMGetVectorSize(t))
               : NULL;
}

/* The value as integers; a value of another type stays as it is. */
static LLVMValueRef bits(const Bfloats *r, LLVMValueRef v)
{
    LLVMTypeRef t = integers(r, LLVMTypeOf(v));
    if (!t)
        return v;
    if (LLVMIsABitCastInst(v) && LLVMTypeOf(LLVMGetOperand(v, 0)) == t)
        return LLVMGetOperand(v, 0);
    return LLVMBuildBitCast(r->b, v, t, "");
}

static LLVMValueRef loaded(const Bfloats *r, LLVMValueRef i, LLVMTypeRef t)
{
    LLVMValueRef v = LLVMBuildLoad2(r->b, t, LLVMGetOperand(i, 0), "");
    LLVMSetAlignment(v, LLVMGetAlignment(i));
    LLVMSetVolatile(v, LLVMGetVolatile(i));
    return v;
}

static LLVMValueRef stored(const Bfloats *r, LLVMValueRef i)
{
    LLVMValueRef v = LLVMBuildStore(r->b, bits(r, LLVMGetOperand(i, 0)), LLVMGetOperand(i, 1));
    LLVMSetAlignment(v, LLVMGetAlignment(i));
    LLVMSetVolatile(v, LLVMGetVolatile(i));
    return v;
}

static LLVMValueRef shuffled(const Bfloats *r, LLVMValueRef i)
{
    unsigned n = LLVMGetNumMaskElements(i);
    LLVMTypeRef word = LLVMInt32TypeInContext(r->context), lanes = LLVMVectorType(word, n);
    LLVMValueRef mask = LLVMGetPoison(lanes);
    for (unsigned k = 0; k < n; k++) {
        int from = LLVMGetMaskValue(i, k);
        if (from != LLVMGetUndefMaskElem())
            mask = LLVMBuildInsertElement(r->b, mask, ir_int(word, (unsigned)from), ir_int(word, k),
                                          "");
    }
    return LLVMBuildShuffleVector(r->b, bits(r, LLVMGetOperand(i, 0)),
                                  bits(r, LLVMGetOperand(i, 1)), mask, "");
}

/* Incoming values are cast in the blocks that they come from, each once. */
static LLVMValueRef phi(const Bfloats *r, LLVMValueRef i, LLVMTypeRef t)
{
    LLVMValueRef v = LLVMBuildPhi(r->b, t, ""), last = i;
    for (unsigned k = 0; k < LLVMCountIncoming(i); k++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(i, k);
        LLVMValueRef x = NULL;
        for (unsigned j = 0; j < k && !x; j++)
            x = LLVMGetIncomingBlock(v, j) == from ? LLVMGetIncomingValue(v, j) : NULL;
        LLVMPositionBuilderBefore(r->b, LLVMGetBasicBlockTerminator(from));
        x = x ? x : bits(r, LLVMGetIncomingValue(i, k));
        LLVMAddIncoming(v, &x, &from, 1);
    }
    while (LLVMIsAPHINode(last))
        last = LLVMGetNextInstruction(last);
    LLVMPositionBuilderBefore(r->b, last);
    return v;
}

static void copy_attributes(LLVMValueRef to, LLVMValueRef from, unsigned n)
{
    LLVMAttributeRef list[32];
    for (unsigned at = 1; at <= n; at++) {
        unsigned count = LLVMGetCallSiteAttributeCount(from, at);
        if (count > COUNT_OF(list))
            continue;
        LLVMGetCallSiteAttributes(from, at, list);
        for (unsigned k = 0; k < count; k++)
            LLVMAddCallSiteAttribute(to, at, list[k]);
    }
}

/* Masked loads and stores, gathers and scatters, which are overloaded by the types of value and
 * pointer. Other calls take and return bfloats as they are. */
static LLVMValueRef called(const Bfloats *r, LLVMValueRef i)
{
    static const struct {
        const char *name;
        int value;
        unsigned pointer;
    } moves[] = {
        { "llvm.masked.load", -1, 0 },
        { "llvm.masked.gather", -1, 0 },
        { "llvm.masked.store", 0, 1 },
        { "llvm.masked.scatter", 0, 1 },
    };
    LLVMValueRef f = LLVMGetCalledValue(i), args[4];
    unsigned id = LLVMIsAFunction(f) ? LLVMGetIntrinsicID(f) : 0, n = LLVMGetNumArgOperands(i);
    for (unsigned m = 0; id && m < COUNT_OF(moves) && n <= COUNT_OF(args); m++) {
        if (LLVMLookupIntrinsicID(moves[m].name, strlen(moves[m].name)) != id)
            continue;
        LLVMValueRef value = moves[m].value < 0 ? i : LLVMGetOperand(i, (unsigned)moves[m].value);
        LLVMTypeRef types[] = { integers(r, LLVMTypeOf(value)),
                                LLVMTypeOf(LLVMGetOperand(i, moves[m].pointer)) };
        if (!types[0])
            return NULL;
        for (unsigned k = 0; k < n; k++)
            args[k] = bits(r, LLVMGetOperand(i, k));
        LLVMValueRef fn = LLVMGetIntrinsicDeclaration(LLVMGetGlobalParent(f), id, types, 2);
        LLVMValueRef v = LLVMBuildCall2(r->b, LLVMGlobalGetValueType(fn), fn, args, n, "");
        copy_attributes(v, i, n);
        return v;
    }
    return NULL;
}

static LLVMValueRef negated(const Bfloats *r, LLVMValueRef i, LLVMTypeRef t)
{
    LLVMTypeRef one = LLVMInt16TypeInContext(r->context);
    LLVMValueRef sign = ir_int(one, 0x8000), signs[128];
    unsigned n = t == one ? 0 : LLVMGetVectorSize(t);
    if (n > COUNT_OF(signs))
        return NULL;
    for (unsigned k = 0; k < n; k++)
        signs[k] = sign;
    return LLVMBuildXor(r->b, bits(r, LLVMGetOperand(i, 0)), n ? LLVMConstVector(signs, n) : sign,
                        "");
}

static bool is_atomic(LLVMValueRef i)
{
    return LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) ||
           ((LLVMIsALoadInst(i) || LLVMIsAStoreInst(i)) &&
            LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic);
}

/* The instruction on integers instead, where `t` is its type with integers. NULL if it does not
 * just move bfloats. */
static LLVMValueRef moved(const Bfloats *r, LLVMValueRef i, LLVMTypeRef t)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    LLVMValueRef v[3] = { 0 };
    if (is_atomic(i) || (!t && op != LLVMStore && op != LLVMCall))
        return NULL;
    if (op == LLVMStore)
        return integers(r, LLVMTypeOf(LLVMGetOperand(i, 0))) ? stored(r, i) : NULL;
    if (op == LLVMCall)
        return called(r, i);
    if (op == LLVMLoad)
        return loaded(r, i, t);
    if (op == LLVMPHI)
        return phi(r, i, t);
    if (op == LLVMShuffleVector)
        return shuffled(r, i);
    if (op == LLVMFNeg)
        return negated(r, i, t);
    if (op != LLVMFreeze && op != LLVMSelect && op != LLVMExtractElement && op != LLVMInsertElement)
        return NULL;
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); k++)
        v[k] = bits(r, LLVMGetOperand(i, k));
    return op == LLVMFreeze           ? LLVMBuildFreeze(r->b, v[0], "")
           : op == LLVMSelect         ? LLVMBuildSelect(r->b, v[0], v[1], v[2], "")
           : op == LLVMExtractElement ? LLVMBuildExtractElement(r->b, v[0], v[1], "")
                                      : LLVMBuildInsertElement(r->b, v[0], v[1], v[2], "");
}

/* Removes a cast that only undoes another, as phis of later values leave behind. */
static void uncast(LLVMValueRef i)
{
    LLVMValueRef from = LLVMGetOperand(i, 0);
    if (!LLVMIsABitCastInst(i) || !LLVMIsABitCastInst(from) ||
        LLVMTypeOf(LLVMGetOperand(from, 0)) != LLVMTypeOf(i))
        return;
    LLVMReplaceAllUsesWith(i, LLVMGetOperand(from, 0));
}

void cpu_without_bfloats(LLVMValueRef function)
{
    LLVMContextRef cx = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    Bfloats r = { cx, LLVMCreateBuilderInContext(cx) };
    LLVMBasicBlockRef b;
    LLVMValueRef i, next;
    for (b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        for (i = LLVMGetFirstInstruction(b); i; i = next) {
            LLVMTypeRef type = LLVMTypeOf(i);
            next = LLVMGetNextInstruction(i);
            LLVMPositionBuilderBefore(r.b, i);
            LLVMValueRef v = moved(&r, i, integers(&r, type));
            if (!v)
                continue;
            if (LLVMGetFirstUse(i))
                LLVMReplaceAllUsesWith(i, LLVMBuildBitCast(r.b, v, type, ""));
            LLVMInstructionEraseFromParent(i);
        }
    for (b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        for (i = LLVMGetFirstInstruction(b); i; i = next) {
            next = LLVMGetNextInstruction(i);
            if (LLVMIsABitCastInst(i))
                uncast(i);
        }
    for (b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        for (i = LLVMGetLastInstruction(b); i; i = next) {
            next = LLVMGetPreviousInstruction(i);
            if (LLVMIsABitCastInst(i) && !LLVMGetFirstUse(i))
                LLVMInstructionEraseFromParent(i);
        }
    LLVMDisposeBuilder(r.b);
}
