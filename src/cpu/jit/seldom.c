/* SPDX-License-Identifier: MIT
 *
 * In: an optimised module with ways that are seldom taken, as the weights of branches say. Out: the
 * same module, in which what only these ways use is computed there, in each block that uses it: the
 * addresses of all lanes, for one, which accesses that go as expected do without. LLVM shares such
 * values between the unexpected ways, and so computes them before.
 */
#include "cpu/jit/jit.h"
#include "llvm/ir.h"

typedef LLVMValueRef Val;
typedef LLVMBasicBlockRef Block;

enum {
    MOST_BLOCKS = 4, /* that use a value */
    SELDOM = 100,    /* the other way is so many times as likely */
};

/* Where a value is used. */
typedef struct Use {
    Val user;
    unsigned operand;
    Block block; /* where the value must be there; the last block before a phi */
} Use;

typedef struct Sinker {
    Arena arena;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    unsigned weights; /* kind of metadata */
    Map usual;        /* blocks that control comes to by usual ways */
    VEC(Use) uses;    /* of the current value */
} Sinker;

static bool is_usual(const Sinker *s, Block b)
{
    uint64_t usual;
    return map_get(&s->usual, (uintptr_t)b, &usual);
}

/* ---- usual ways ------------------------------------------------------------------------------ */

static uint64_t weight(const Sinker *s, Val branch, unsigned k)
{
    Val node = LLVMGetMetadata(branch, s->weights), of[8];
    unsigned n = node ? LLVMGetMDNodeNumOperands(node) : 0;
    unsigned ways = LLVMGetNumSuccessors(branch);
    if (n < ways + 1 || n > COUNT_OF(of))
        return 1;
    LLVMGetMDNodeOperands(node, of);
    Val x = of[n - ways + k];
    return x && LLVMIsAConstantInt(x) ? LLVMConstIntGetZExtValue(x) : 1;
}

static bool is_seldom(const Sinker *s, Val branch, unsigned k)
{
    return LLVMIsABranchInst(branch) && LLVMIsConditional(branch) &&
           weight(s, branch, k) * SELDOM < weight(s, branch, 1 - k);
}

static void find_usual(Sinker *s, Val function)
{
    VEC(Block) open = { 0 };
    s->usual = (Map){ 0 };
    vec_push(&s->arena, &open, LLVMGetEntryBasicBlock(function));
    while (open.len) {
        Block b = open.data[--open.len];
        Val last = LLVMGetBasicBlockTerminator(b);
        if (is_usual(s, b))
            continue;
        map_put(&s->arena, &s->usual, (uintptr_t)b, 1);
        for (unsigned k = 0; k < LLVMGetNumSuccessors(last); k++)
            if (!is_seldom(s, last, k))
                vec_push(&s->arena, &open, LLVMGetSuccessor(last, k));
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* What depends on its operands only. A frozen value would be another one in each place. */
static bool is_pure(Val i)
{
    return LLVMIsABinaryOperator(i) || LLVMIsACastInst(i) || LLVMIsACmpInst(i) ||
           LLVMIsASelectInst(i) || LLVMIsAGetElementPtrInst(i) || LLVMIsAShuffleVectorInst(i) ||
           LLVMIsAInsertElementInst(i) || LLVMIsAExtractElementInst(i);
}

/* Whether all uses are in seldom blocks, a few of them. */
static bool find_uses(Sinker *s, Val i)
{
    Block blocks[MOST_BLOCKS];
    uint32_t n = 0, k;
    s->uses.len = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(i); u; u = LLVMGetNextUse(u)) {
        Val user = LLVMGetUser(u);
        for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(user); o++) {
            if (LLVMGetOperand(user, o) != i)
                continue;
            Block b = LLVMIsAPHINode(user) ? LLVMGetIncomingBlock(user, o)
                                           : LLVMGetInstructionParent(user);
            for (k = 0; k < n && blocks[k] != b;)
                k++;
            if (k == MOST_BLOCKS || is_usual(s, b))
                return false;
            blocks[k] = b;
            n += k == n;
            vec_push(&s->arena, &s->uses, (Use){ user, o, b });
        }
    }
    return n > 0;
}

static void sink(Sinker *s, Val i)
{
    for (uint32_t k = 0; k < s->uses.len; k++) {
        Block b = s->uses.data[k].block;
        if (!b)
            continue;
        Val at = LLVMGetFirstInstruction(b), copy = LLVMInstructionClone(i);
        while (LLVMIsAPHINode(at))
            at = LLVMGetNextInstruction(at);
        LLVMPositionBuilderBefore(s->b, at);
        LLVMInsertIntoBuilder(s->b, copy);
        for (uint32_t j = k; j < s->uses.len; j++) {
            Use *u = &s->uses.data[j];
            if (u->block == b) {
                LLVMSetOperand(u->user, u->operand, copy);
                u->block = NULL;
            }
        }
    }
    LLVMInstructionEraseFromParent(i);
}

/* Users come before what they use, which may sink behind them. */
static void sink_from(Sinker *s, Block b)
{
    for (Val i = LLVMGetLastInstruction(b), before; i; i = before) {
        before = LLVMGetPreviousInstruction(i);
        if (is_pure(i) && find_uses(s, i))
            sink(s, i);
    }
}

static void sink_all(void *user)
{
    Sinker *s = user;
    for (Val f = LLVMGetFirstFunction(s->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        find_usual(s, f);
        for (Block b = LLVMGetLastBasicBlock(f); b; b = LLVMGetPreviousBasicBlock(b))
            if (is_usual(s, b))
                sink_from(s, b);
    }
}

bool cpu_sink_to_seldom(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    Sinker s = { .module = module,
                 .b = LLVMCreateBuilderInContext(context),
                 .weights = LLVMGetMDKindIDInContext(context, "prof", 4) };
    bool done = arena_try(&s.arena, sink_all, &s);
    LLVMDisposeBuilder(s.b);
    arena_free(&s.arena);
    return done;
}
