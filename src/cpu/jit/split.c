/* SPDX-License-Identifier: MIT
 *
 * In: an optimised module. Out: the same module without basic blocks so long that LLVM's code
 * generator is not linear in them. Its instruction scheduler compares every memory access of a
 * block with every other: an unrolled kernel of 16000 accesses took 6.4 s, and takes 0.5 s in
 * pieces of 256.
 *
 * Blocks joined by a plain branch would be merged again, so the pieces are joined by a branch that
 * could make a detour, on a condition that is never true but that LLVM cannot decide: no workgroup
 * has zero subgroups. It costs one comparison with memory for each piece. (A branch out of the
 * function will not do: where a piece might not be reached, LLVM sinks into it whatever only it
 * uses, which goes on until all arithmetic is in the last one.)
 */
#include "cpu/jit/jit.h"
#include "llvm/ir.h"

#define MEMORY_LIMIT 256u  /* accesses in a piece, each of a machine vector */
#define TOTAL_LIMIT  2048u /* operations in a piece, likewise */

typedef struct Splitter {
    LLVMContextRef context;
    LLVMBuilderRef builder;
    LLVMTargetDataRef layout;
    uint32_t vector_bytes;
    LLVMValueRef function, env;
} Splitter;

/* How many machine vectors a value fills. */
static uint32_t vectors(const Splitter *s, LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) == LLVMVoidTypeKind || !LLVMTypeIsSized(type))
        return 1;
    uint64_t n = (LLVMABISizeOfType(s->layout, type) + s->vector_bytes - 1) / s->vector_bytes;
    return n < 1 ? 1 : n > TOTAL_LIMIT ? TOTAL_LIMIT : (uint32_t)n;
}

/* Lanes of a gather or a scatter, each of which is an access where vectors are short. */
static uint32_t lanes_apart(const Splitter *s, LLVMValueRef i)
{
    enum { WIDEST = 64 }; /* bytes: AVX-512, which has instructions for both */
    if (s->vector_bytes >= WIDEST)
        return 1;
    if (ir_calls(i, "llvm.masked.gather"))
        return LLVMGetVectorSize(LLVMTypeOf(i));
    if (ir_calls(i, "llvm.masked.scatter"))
        return LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(i, 0)));
    return 1;
}

/* The first instruction that belongs in the next piece; NULL if the block is short enough. */
static LLVMValueRef find_cut(const Splitter *s, LLVMBasicBlockRef block)
{
    uint32_t memory = 0, total = 0;
    bool start = true;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
        LLVMOpcode op = LLVMGetInstructionOpcode(i);
        if (start && (op == LLVMPHI || op == LLVMAlloca))
            continue;
        start = false;
        if (LLVMIsATerminatorInst(i))
            return NULL;
        if (memory >= MEMORY_LIMIT || total >= TOTAL_LIMIT)
            return i;
        uint32_t n = vectors(s, op == LLVMStore ? LLVMTypeOf(LLVMGetOperand(i, 0)) : LLVMTypeOf(i));
        total += n;
        if (op == LLVMStore || op == LLVMLoad || op == LLVMCall)
            memory += MAX(n, lanes_apart(s, i));
    }
    return NULL;
}

static LLVMValueRef read_n_subgroups(Splitter *s)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(s->context), word = LLVMInt32TypeInContext(s->context);
    LLVMValueRef offset = ir_int(word, offsetof(CpuEnv, n_subgroups));
    LLVMValueRef at = LLVMBuildGEP2(s->builder, byte, s->env, &offset, 1, "");
    return LLVMBuildLoad2(s->builder, word, at, "");
}

/* Has something to do that LLVM may neither leave out nor do elsewhere. */
static LLVMBasicBlockRef detour_to(Splitter *s, LLVMBasicBlockRef next)
{
    LLVMBasicBlockRef detour = LLVMAppendBasicBlockInContext(s->context, s->function, "never");
    LLVMPositionBuilderAtEnd(s->builder, detour);
    LLVMSetVolatile(read_n_subgroups(s), true);
    LLVMBuildBr(s->builder, next);
    return detour;
}

static void cut_before(Splitter *s, LLVMBasicBlockRef block, LLVMValueRef cut)
{
    LLVMBasicBlockRef head = ir_cut_before(s->builder, block, cut);
    LLVMValueRef n = read_n_subgroups(s);
    LLVMValueRef never = LLVMBuildICmp(s->builder, LLVMIntEQ, n, ir_int(LLVMTypeOf(n), 0), "");
    LLVMBasicBlockRef detour = detour_to(s, block);
    LLVMPositionBuilderAtEnd(s->builder, head);
    LLVMBuildCondBr(s->builder, never, detour, block);
}

void cpu_split_blocks(LLVMModuleRef module, LLVMTargetDataRef layout, uint32_t vector_bits)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    Splitter s = { .context = context,
                   .builder = LLVMCreateBuilderInContext(context),
                   .layout = layout,
                   .vector_bytes = vector_bits / 8,
                   .function = LLVMGetNamedFunction(module, CPU_KERNEL_NAME) };
    s.env = LLVMGetParam(s.function, 0);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(s.function); b;) {
        LLVMValueRef cut = find_cut(&s, b);
        if (cut)
            cut_before(&s, b, cut); /* b is now the rest, which comes next */
        else
            b = LLVMGetNextBasicBlock(b);
    }
    LLVMDisposeBuilder(s.builder);
}
