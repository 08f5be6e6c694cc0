/* SPDX-License-Identifier: MIT
 *
 * In: an optimised module. Out: the same module, in which sums of dot products of bytes take fewer
 * instructions; LLVM does not know what these instructions compute. vpdpbusd adds to the other
 * operand instead of to zero. What vpmaddubsw adds up to 16 bits, for vpmaddwd to add up to 32, is
 * added before the latter if no sum saturates: where the unsigned bytes are below 64, two sums of
 * two products are at most 4 * 63 * 128.
 *
 * The high bits of all bytes of words, to which shifts and masks of words take quantised blocks
 * apart, are shifts of bytes: one instruction with GFNI and of AArch64, elsewhere two as before.
 */
#include "cpu/jit/jit.h"
#include "llvm/ir.h"

typedef LLVMValueRef Val;

/* Whether it is such an instruction, whose result is used once. */
static bool is_used_once(Val v, const IrForms *dot)
{
    LLVMUseRef use = LLVMIsACallInst(v) ? LLVMGetFirstUse(v) : NULL;
    bool found = false;
    for (uint32_t k = 0; use && !LLVMGetNextUse(use) && k < COUNT_OF(dot->name) && !found; k++)
        found = ir_calls(v, dot->name[k]);
    return found;
}

static Val call_again(LLVMBuilderRef b, Val call, Val *args, unsigned n)
{
    Val f = LLVMGetCalledValue(call);
    return LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, args, n, "");
}

/* Whether all bytes of a vector are below 64, for a mask of its elements or of larger ones. */
static bool is_small(Val v)
{
    const uint64_t high = 0xc0c0c0c0c0c0c0c0;
    while (LLVMIsABitCastInst(v) ||
           (LLVMIsAShuffleVectorInst(v) && LLVMIsUndef(LLVMGetOperand(v, 1))))
        v = LLVMGetOperand(v, 0);
    if (!LLVMIsAInstruction(v) || LLVMGetInstructionOpcode(v) != LLVMAnd || !ir_is_vector(v) ||
        LLVMGetIntTypeWidth(ir_element_of(v)) > 64 || !LLVMIsConstant(LLVMGetOperand(v, 1)))
        return false;
    for (unsigned k = 0; k < LLVMGetVectorSize(LLVMTypeOf(v)); k++) {
        Val x = LLVMGetAggregateElement(LLVMGetOperand(v, 1), k);
        if (!x || !LLVMIsAConstantInt(x) || LLVMConstIntGetZExtValue(x) & high)
            return false;
    }
    return true;
}

/* One of a sum's operands added to the other by the instruction that makes it; NULL: it is none. */
static Val add_to(LLVMBuilderRef b, Val dot, Val other)
{
    if (!is_used_once(dot, &ir_vpdpbusd) || !LLVMIsNull(LLVMGetOperand(dot, 0)))
        return NULL;
    return call_again(b, dot, (Val[]){ other, LLVMGetOperand(dot, 1), LLVMGetOperand(dot, 2) }, 3);
}

static Val add_before(LLVMBuilderRef b, Val x, Val y)
{
    if (!is_used_once(x, &ir_vpmaddwd) || !is_used_once(y, &ir_vpmaddwd))
        return NULL;
    Val pairs[2] = { LLVMGetOperand(x, 0), LLVMGetOperand(y, 0) }, ones = LLVMGetOperand(x, 1);
    if (ones != LLVMGetOperand(y, 1) || ones != ir_inum(pairs[0], 1))
        return NULL;
    for (uint32_t k = 0; k < 2; k++)
        if (!is_used_once(pairs[k], &ir_vpmaddubsw) || !is_small(LLVMGetOperand(pairs[k], 0)))
            return NULL;
    Val sum = LLVMBuildAdd(b, pairs[0], pairs[1], "");
    return call_again(b, x, (Val[]){ sum, ones }, 2);
}

static void join(LLVMBuilderRef b, Val sum)
{
    Val of[2] = { LLVMGetOperand(sum, 0), LLVMGetOperand(sum, 1) };
    LLVMPositionBuilderBefore(b, sum);
    Val joined = add_to(b, of[1], of[0]);
    joined = joined ? joined : add_to(b, of[0], of[1]);
    joined = joined ? joined : add_before(b, of[0], of[1]);
    if (!joined)
        return;
    LLVMReplaceAllUsesWith(sum, joined);
    LLVMInstructionEraseFromParent(sum);
    for (uint32_t k = 0; k < 2; k++)
        if (LLVMIsACallInst(of[k]) && !LLVMGetFirstUse(of[k]))
            LLVMInstructionEraseFromParent(of[k]);
}

/* All operations of a kind on vectors, each of which may be replaced. */
static void visit(LLVMModuleRef module, LLVMOpcode op, void (*replace)(LLVMBuilderRef b, Val i))
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (Val f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef x = LLVMGetFirstBasicBlock(f); x; x = LLVMGetNextBasicBlock(x))
            for (Val i = LLVMGetFirstInstruction(x), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (LLVMGetInstructionOpcode(i) == op && ir_is_vector(i))
                    replace(b, i);
            }
    LLVMDisposeBuilder(b);
}

void cpu_join_dots(LLVMModuleRef module) { visit(module, LLVMAdd, join); }

/* `high` = x >> n & a mask that leaves of each byte what shifting that byte would. */
static void shift_bytes(LLVMBuilderRef b, Val high)
{
    Val shift = LLVMGetOperand(high, 0), mask = LLVMGetOperand(high, 1);
    if (LLVMGetIntTypeWidth(ir_element_of(high)) % 16 || !LLVMIsAInstruction(shift) ||
        LLVMGetInstructionOpcode(shift) != LLVMLShr || LLVMGetNextUse(LLVMGetFirstUse(shift)))
        return;
    LLVMTypeRef type = LLVMTypeOf(high), byte = LLVMInt8TypeInContext(LLVMGetTypeContext(type));
    LLVMTypeRef bytes = LLVMVectorType(byte, LLVMGetVectorSize(type) *
                                                 LLVMGetIntTypeWidth(ir_element_of(high)) / 8);
    for (unsigned n = 1; n < 8; n++) {
        if (LLVMGetOperand(shift, 1) != ir_inum(high, n) ||
            mask != ir_inum(high, 0x0101010101010101u * (0xffu >> n)))
            continue;
        LLVMPositionBuilderBefore(b, high);
        Val x = LLVMBuildBitCast(b, LLVMGetOperand(shift, 0), bytes, "");
        x = LLVMBuildLShr(b, x, ir_int(bytes, n), "");
        LLVMReplaceAllUsesWith(high, LLVMBuildBitCast(b, x, type, ""));
        LLVMInstructionEraseFromParent(high);
        return;
    }
}

void cpu_shift_bytes(LLVMModuleRef module) { visit(module, LLVMAnd, shift_bytes); }
