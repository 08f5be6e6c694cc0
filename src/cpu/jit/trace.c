/* SPDX-License-Identifier: MIT
 *
 * In: a module in which accesses in loops have two ways, the first of which is expected (branches
 * marked CPU_EXPECTED). Out: the same module, in which several such accesses in a row are decided
 * by one branch: if all go as expected, the code from the first test to behind the last access is
 * one straight line, a trace. Otherwise control takes the original code.
 *
 * What is loaded then needs no phi, and is used in the block that loads it: LLVM's code generator
 * orders instructions and assigns registers a block at a time, and used to spill what an access or
 * two before had loaded.
 *
 * The tests of later accesses move before the first one, with the arithmetic they depend on. A
 * trace ends where one depends on what an earlier access loads, or on a load behind a store. Both
 * ways of each access come to where they join, so that all of the path but the first ways is run
 * whatever the tests say.
 */
#include "cpu/jit/jit.h"
#include "llvm/ir.h"

typedef LLVMValueRef Val;
typedef LLVMBasicBlockRef Block;

enum {
    FEWEST_TESTS = 2,
    MOST_COPIED = 4096, /* instructions of a trace, and what is in its last blocks */
    MOST_ASIDE = 256,   /* blocks of an unexpected way */
    DEEPEST = 64,       /* arithmetic of a test */
};

typedef enum Place { ON_PATH = 1, ASIDE } Place;

typedef struct Tracer {
    Arena arena;
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMBuilderRef b;
    unsigned expected, weights, memory; /* kinds of metadata and attributes */
    Map tried;                          /* blocks whose branch is a trace's already */
    /* of the current trace: */
    Block first;      /* ends with the first test */
    VEC(Block) path;  /* behind it, as expected */
    VEC(Block) aside; /* the unexpected ways */
    VEC(Val) tests;
    Map place; /* of blocks */
    Map early; /* values: whether they can be there before the first test */
    bool stores;
    uint32_t n_insts; /* on the path */
    Map copies;       /* by value */
} Tracer;

/* ---- blocks ---------------------------------------------------------------------------------- */

static Val last_of(Block b) { return LLVMGetBasicBlockTerminator(b); }

static Place place_of(const Tracer *t, Block b)
{
    uint64_t place = 0;
    map_get(&t->place, (uintptr_t)b, &place);
    return (Place)place;
}

static void put_at(Tracer *t, Block b, Place place)
{
    map_put(&t->arena, &t->place, (uintptr_t)b, place);
}

static bool is_expected(const Tracer *t, Block b)
{
    Val last = last_of(b);
    return last && LLVMIsABranchInst(last) && LLVMIsConditional(last) &&
           LLVMGetMetadata(last, t->expected);
}

static bool begins_with_phi(Block b)
{
    Val i = LLVMGetFirstInstruction(b);
    return i && LLVMIsAPHINode(i);
}

/* Whether control comes to a block from `from` or from blocks aside only. */
static bool comes_from(const Tracer *t, Block to, Block from)
{
    for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(to)); u; u = LLVMGetNextUse(u)) {
        Val user = LLVMGetUser(u);
        Block b = LLVMIsAInstruction(user) ? LLVMGetInstructionParent(user) : NULL;
        if (!b || (b != from && place_of(t, b) != ASIDE))
            return false;
    }
    return true;
}

/* ---- instructions ---------------------------------------------------------------------------- */

enum { READS = 1, WRITES = 2 };

static unsigned effects(const Tracer *t, Val i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad:
        return LLVMGetVolatile(i) || LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic
                   ? READS | WRITES
                   : READS;
    case LLVMCall: break;
    case LLVMStore:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMAlloca: return READS | WRITES;
    default: return 0;
    }
    Val f = LLVMGetCalledValue(i);
    if (ir_calls(i, "llvm.prefetch"))
        return READS;
    LLVMAttributeRef a = LLVMIsAFunction(f) && LLVMGetIntrinsicID(f)
                             ? LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, t->memory)
                             : NULL;
    uint64_t of_kinds = a ? LLVMGetEnumAttributeValue(a) : UINT64_MAX; /* 2 bits for each kind */
    return (of_kinds & 0x5555555555555555u ? READS : 0) |
           (of_kinds & 0xaaaaaaaaaaaaaaaau ? WRITES : 0);
}

static bool on_path(const Tracer *t, Val v)
{
    return LLVMIsAInstruction(v) && place_of(t, LLVMGetInstructionParent(v)) == ON_PATH;
}

/* Whether a value is there before the first test, or can be. */
static bool comes_before(Tracer *t, Val v, uint32_t depth)
{
    uint64_t can;
    if (!on_path(t, v))
        return true;
    if (map_get(&t->early, (uintptr_t)v, &can))
        return can;
    can = depth <= DEEPEST && !LLVMIsAPHINode(v) && !(effects(t, v) & WRITES);
    for (int k = 0; can && k < LLVMGetNumOperands(v); k++)
        can = comes_before(t, LLVMGetOperand(v, (unsigned)k), depth + 1);
    map_put(&t->arena, &t->early, (uintptr_t)v, can);
    return can;
}

static void move(const Tracer *t, Val i)
{
    LLVMInstructionRemoveFromParent(i);
    LLVMInsertIntoBuilder(t->b, i);
}

/* Moves a value to where the builder is, behind the first block's instructions. */
static void bring(const Tracer *t, Val v)
{
    if (!on_path(t, v))
        return;
    for (int k = 0; k < LLVMGetNumOperands(v); k++)
        bring(t, LLVMGetOperand(v, (unsigned)k));
    move(t, v);
}

/* ---- the path -------------------------------------------------------------------------------- */

/* What has effects, behind a store, stays there. */
static void note_stores(Tracer *t, Block b)
{
    for (Val i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
        unsigned does = effects(t, i);
        if (t->stores && does)
            map_put(&t->arena, &t->early, (uintptr_t)i, false);
        t->stores = t->stores || does & WRITES;
    }
}

static void go_to(Tracer *t, Block b)
{
    put_at(t, b, ON_PATH);
    vec_push(&t->arena, &t->path, b);
    note_stores(t, b);
    for (Val i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
        t->n_insts++;
}

static void put_aside(Tracer *t, Block b)
{
    put_at(t, b, ASIDE);
    vec_push(&t->arena, &t->aside, b);
}

/* Finds the blocks of an unexpected way, which begins with `aside` and joins the path at `join`.
 * False: it need not, or others come to it. */
static bool leave_aside(Tracer *t, Block aside, Block test, Block join)
{
    uint32_t begin = t->aside.len;
    bool joins = false;
    put_aside(t, aside);
    for (uint32_t k = begin; k < t->aside.len; k++) {
        Val last = last_of(t->aside.data[k]);
        if (!LLVMGetNumSuccessors(last))
            return false;
        for (unsigned s = 0; s < LLVMGetNumSuccessors(last); s++) {
            Block b = LLVMGetSuccessor(last, s);
            joins |= b == join;
            if (b == join || place_of(t, b) == ASIDE)
                continue;
            if (b == t->first || place_of(t, b) == ON_PATH || t->aside.len - begin == MOST_ASIDE)
                return false;
            put_aside(t, b);
        }
    }
    for (uint32_t k = begin; k < t->aside.len; k++) {
        if (!comes_from(t, t->aside.data[k], k == begin ? test : NULL))
            return false;
        note_stores(t, t->aside.data[k]);
    }
    return joins;
}

/* From a test along the expected way to where both ways join. False: there is no such place, or the
 * test cannot be made before. */
static bool pass_test(Tracer *t, Block test)
{
    Val branch = last_of(test);
    Block next = LLVMGetSuccessor(branch, 0), aside = LLVMGetSuccessor(branch, 1);
    if (next == aside || begins_with_phi(next) || begins_with_phi(aside) ||
        !comes_before(t, LLVMGetCondition(branch), 0) || !comes_from(t, next, test) ||
        LLVMGetNumSuccessors(last_of(next)) != 1)
        return false;
    go_to(t, next);
    Block join = LLVMGetSuccessor(last_of(next), 0);
    if (join == t->first || place_of(t, join) || !leave_aside(t, aside, test, join) ||
        !comes_from(t, join, next))
        return false;
    go_to(t, join);
    return true;
}

/* Goes back to where so many blocks were on the path, and aside. */
static void go_back(Tracer *t, uint32_t path, uint32_t aside)
{
    while (t->path.len > path)
        put_at(t, t->path.data[--t->path.len], 0);
    while (t->aside.len > aside)
        put_at(t, t->aside.data[--t->aside.len], 0);
}

/* Finds the path from the first test, and the tests on it. */
static void find_path(Tracer *t)
{
    Block now = t->first;
    while (t->n_insts < MOST_COPIED) {
        uint32_t path = t->path.len, aside = t->aside.len;
        Val last = last_of(now);
        Block next = LLVMGetNumSuccessors(last) == 1 ? LLVMGetSuccessor(last, 0) : NULL;
        if (is_expected(t, now) && pass_test(t, now)) {
            vec_push(&t->arena, &t->tests, LLVMGetCondition(last));
        } else if (next && next != t->first && !place_of(t, next) && comes_from(t, next, now)) {
            go_to(t, next);
        } else {
            go_back(t, path, aside);
            return;
        }
        now = vec_last(&t->path);
    }
}

/* ---- the trace ------------------------------------------------------------------------------- */

static Val copied(const Tracer *t, Val v)
{
    uint64_t x;
    return map_get(&t->copies, (uintptr_t)v, &x) ? (Val)(uintptr_t)x : v;
}

static Val incoming_from(Val phi, Block from)
{
    unsigned k = 0;
    while (LLVMGetIncomingBlock(phi, k) != from)
        k++;
    return LLVMGetIncomingValue(phi, k);
}

static void copy_block(Tracer *t, Block b, Block from)
{
    for (Val i = LLVMGetFirstInstruction(b); i != last_of(b); i = LLVMGetNextInstruction(i)) {
        Val copy;
        if (LLVMIsAPHINode(i)) {
            copy = copied(t, incoming_from(i, from));
        } else {
            copy = LLVMInstructionClone(i);
            for (int k = 0; k < LLVMGetNumOperands(i); k++)
                LLVMSetOperand(copy, (unsigned)k, copied(t, LLVMGetOperand(i, (unsigned)k)));
            LLVMInsertIntoBuilder(t->b, copy);
        }
        map_put(&t->arena, &t->copies, (uintptr_t)i, (uintptr_t)copy);
    }
}

/* Tests everything at the end of the first block, whose branch goes to a block of its own. */
static Block branch_once(Tracer *t, Block trace)
{
    Val branch = last_of(t->first), all = t->tests.data[0];
    LLVMPositionBuilderBefore(t->b, branch);
    for (uint32_t k = 1; k < t->tests.len; k++) {
        bring(t, t->tests.data[k]);
        all = LLVMBuildAnd(t->b, all, t->tests.data[k], "");
    }
    Block singly = LLVMInsertBasicBlockInContext(t->context, t->path.data[0], "singly");
    LLVMInstructionRemoveFromParent(branch);
    LLVMPositionBuilderAtEnd(t->b, t->first);
    Val once = LLVMBuildCondBr(t->b, all, trace, singly);
    LLVMSetMetadata(once, t->weights, LLVMGetMetadata(branch, t->weights));
    LLVMPositionBuilderAtEnd(t->b, singly);
    LLVMInsertIntoBuilder(t->b, branch);
    return singly;
}

/* Moves what the last block of the path does to a block before it, so that the trace can join the
 * path at its end. */
static Block split_end(Tracer *t, Block end)
{
    Block before = LLVMInsertBasicBlockInContext(t->context, end, "tail");
    for (LLVMUseRef u; (u = LLVMGetFirstUse(LLVMBasicBlockAsValue(end)));) {
        Val branch = LLVMGetUser(u);
        for (unsigned k = 0; k < LLVMGetNumSuccessors(branch); k++)
            if (LLVMGetSuccessor(branch, k) == end)
                LLVMSetSuccessor(branch, k, before);
    }
    LLVMPositionBuilderAtEnd(t->b, before);
    for (Val i = LLVMGetFirstInstruction(end); i != last_of(end); i = LLVMGetFirstInstruction(end))
        move(t, i);
    LLVMBuildBr(t->b, end);
    return before;
}

/* What is used behind the path is a phi there. */
static void join_value(Tracer *t, Val v, Block end, Block tail, Block trace)
{
    VEC(Val) users = { 0 };
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (!place_of(t, LLVMGetInstructionParent(LLVMGetUser(u))))
            vec_push(&t->arena, &users, LLVMGetUser(u));
    if (!users.len)
        return;
    Val from[2] = { v, copied(t, v) };
    Block blocks[2] = { tail, trace };
    LLVMPositionBuilderBefore(t->b, LLVMGetFirstInstruction(end));
    Val phi = LLVMBuildPhi(t->b, LLVMTypeOf(v), "");
    LLVMAddIncoming(phi, from, blocks, 2);
    for (uint32_t n = 0; n < users.len; n++)
        for (int k = 0; k < LLVMGetNumOperands(users.data[n]); k++)
            if (LLVMGetOperand(users.data[n], (unsigned)k) == v)
                LLVMSetOperand(users.data[n], (unsigned)k, phi);
}

static void make_trace(Tracer *t)
{
    Block end = vec_last(&t->path);
    Block trace = LLVMInsertBasicBlockInContext(t->context, t->path.data[0], "trace");
    Block singly = branch_once(t, trace), from = t->first, tail;
    LLVMPositionBuilderAtEnd(t->b, trace);
    for (uint32_t k = 0; k < t->path.len; from = t->path.data[k++]) {
        copy_block(t, t->path.data[k], from);
        map_put(&t->arena, &t->tried, (uintptr_t)from, true);
    }
    vec_last(&t->path) = tail = split_end(t, end);
    LLVMPositionBuilderAtEnd(t->b, trace);
    LLVMBuildBr(t->b, end);
    put_at(t, end, 0);
    put_at(t, tail, ON_PATH);
    map_put(&t->arena, &t->tried, (uintptr_t)singly, true);
    for (uint32_t k = 0; k < t->path.len; k++)
        for (Val i = LLVMGetFirstInstruction(t->path.data[k]); i; i = LLVMGetNextInstruction(i))
            if (!LLVMIsATerminatorInst(i))
                join_value(t, i, end, tail, trace);
}

/* Begins with the test at the end of a block. */
static void trace_from(Tracer *t, Block first)
{
    uint64_t x;
    if (!is_expected(t, first) || map_get(&t->tried, (uintptr_t)first, &x))
        return;
    t->first = first;
    t->path.len = t->aside.len = t->tests.len = t->n_insts = 0;
    t->place = t->early = t->copies = (Map){ 0 };
    t->stores = false;
    find_path(t);
    if (t->tests.len >= FEWEST_TESTS)
        make_trace(t);
}

static void trace_all(void *user)
{
    Tracer *t = user;
    for (Val f = LLVMGetFirstFunction(t->module); f; f = LLVMGetNextFunction(f))
        for (Block b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            trace_from(t, b);
}

bool cpu_trace_expected(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    Tracer t = {
        .module = module,
        .context = context,
        .b = LLVMCreateBuilderInContext(context),
        .expected = LLVMGetMDKindIDInContext(context, CPU_EXPECTED, strlen(CPU_EXPECTED)),
        .weights = LLVMGetMDKindIDInContext(context, "prof", 4),
        .memory = LLVMGetEnumAttributeKindForName("memory", 6),
    };
    bool done = arena_try(&t.arena, trace_all, &t);
    LLVMDisposeBuilder(t.b);
    arena_free(&t.arena);
    return done;
}
