/* SPDX-License-Identifier: MIT
 *
 * In: an optimised module whose kernel calls CPU_BARRIER_NAME. Out: one whose kernel returns there,
 * and goes on from there when it is called again, or calls CpuEnv.barrier.
 *
 * A subgroup that has to wait inside of a call needs a stack of its own, and after each switch of
 * stacks the processor predicts every return wrongly: a barrier then costs 20 ns a subgroup. One
 * that has returned needs only what lives across the barrier, which it leaves in CpuEnv.kept, as
 * LLVM's own coroutines do. Which barrier it waits at is in CpuEnv.resume; the entry leads there.
 *
 * Values become variables, which each way back to a barrier sets from memory, and LLVM makes values
 * of them again (mem2reg). They are written to memory where they are made or, if that is in a loop
 * that runs without coming to a barrier, before they are waited with; a phi, whose place may have
 * the right value already, at its edges. That is sound only without critical edges and phis of one
 * edge: jit.c's passes leave none.
 */
#include "cpu/jit/jit.h"
#include "llvm/ir.h"

typedef LLVMValueRef Val;
typedef LLVMBasicBlockRef Block;
typedef LLVMTypeRef Type;

enum {
    MOST_KEPT = 16 << 10,    /* bytes a subgroup: more is left to a stack */
    MOST_BARRIERS = 1 << 10, /* likewise */
    MOST_STEPS = 4 << 20,    /* from uses back to what is used, through blocks */
    LINE = 64                /* what CpuEnv.kept is aligned to */
};

typedef struct Barrier {
    Val call;
    Block before, behind;
} Barrier;

/* A barrier that a value lives across, and the block behind it where it is read again. */
typedef struct Crossing {
    uint32_t barrier;
    Block read_in;
} Crossing;

typedef struct Kept {
    Val value, from; /* from: what it is made of again, which is kept in place of it; or NULL */
    Val variable;
    uint64_t at;            /* in CpuEnv.kept */
    VEC(Crossing) barriers; /* that it lives across */
    bool lives_longer;      /* than its uses: others are made from it */
    bool in_a_loop;         /* is made in one that runs without coming to a barrier */
    bool at_edges;          /* a phi that is written where control comes to it, but for the edges */
    VEC(bool) is_there;     /* with a value that is in its place already */
    uint32_t next;          /* 1 + the number of another value that has the same place; 0: none */
    uint32_t first;         /* 1 + the number of the one whose place it is */
} Kept;

typedef struct Barriers {
    Arena arena;
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMBuilderRef b;
    LLVMTargetDataRef layout;
    bool has_mask_registers;
    Val function, env, memory; /* memory: CpuEnv.kept */
    VEC(Barrier) barriers;
    Map behind; /* blocks: 1 + the number of the barrier before */
    VEC(Kept) kept;
    Map number;                /* by value: 1 + its number there */
    VEC(Val) allocas, scratch; /* scratch: that nothing is in across a barrier */
    VEC(uint64_t) alloca_at;
    uint64_t bytes;
    /* a search through blocks */
    VEC(Block) queue;
    Map seen;        /* blocks: which search it was */
    uint32_t n_uses; /* of what search_life has come to */
    uint64_t search, steps;
    bool returns; /* the result */
} Barriers;

static uint64_t looked_up(const Map *map, const void *key)
{
    uint64_t v = 0;
    map_get(map, (uintptr_t)key, &v);
    return v;
}

/* ---- searches through blocks ----------------------------------------------------------------- */

static void begin_search(Barriers *s)
{
    s->search++;
    s->queue.len = 0;
}

static void come_to(Barriers *s, Block b)
{
    s->steps++;
    if (looked_up(&s->seen, b) == s->search)
        return;
    map_put(&s->arena, &s->seen, (uintptr_t)b, s->search);
    vec_push(&s->arena, &s->queue, b);
}

static bool was_seen(const Barriers *s, Block b) { return looked_up(&s->seen, b) == s->search; }

/* From a block on as far as no barrier is in the way. */
static void search_on_from(Barriers *s, Block from)
{
    begin_search(s);
    for (uint32_t k = 0; from; from = k < s->queue.len ? s->queue.data[k++] : NULL) {
        Val last = LLVMGetBasicBlockTerminator(from);
        for (unsigned n = 0; n < LLVMGetNumSuccessors(last); n++)
            if (!looked_up(&s->behind, LLVMGetSuccessor(last, n)))
                come_to(s, LLVMGetSuccessor(last, n));
    }
}

/* All blocks that the value lives into: from its uses back to where it is made. */
static void search_life(Barriers *s, Val value)
{
    Block home = LLVMGetInstructionParent(value);
    begin_search(s);
    for (LLVMUseRef u = LLVMGetFirstUse(value); u; u = LLVMGetNextUse(u)) {
        Val user = LLVMGetUser(u);
        if (!LLVMIsAPHINode(user)) {
            if (LLVMGetInstructionParent(user) != home)
                come_to(s, LLVMGetInstructionParent(user));
            continue;
        }
        for (unsigned n = 0; n < LLVMCountIncoming(user); n++)
            if (LLVMGetIncomingValue(user, n) == value && LLVMGetIncomingBlock(user, n) != home)
                come_to(s, LLVMGetIncomingBlock(user, n));
    }
    s->n_uses = s->queue.len;
    for (uint32_t k = 0; k < s->queue.len; k++) {
        Val block = LLVMBasicBlockAsValue(s->queue.data[k]);
        for (LLVMUseRef u = LLVMGetFirstUse(block); u; u = LLVMGetNextUse(u))
            if (LLVMGetInstructionParent(LLVMGetUser(u)) != home)
                come_to(s, LLVMGetInstructionParent(LLVMGetUser(u)));
    }
}

/* ---- what there is --------------------------------------------------------------------------- */

static bool is_barrier(Val i, Val barrier)
{
    return LLVMIsACallInst(i) && LLVMGetCalledValue(i) == barrier;
}

/* Those of a block from its end on, so that what is cut off behind one has no other in it. False:
 * some are in functions that the kernel calls. */
static bool find_barriers(Barriers *s, Val barrier)
{
    uint32_t n = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(barrier); u; u = LLVMGetNextUse(u))
        n++;
    for (Block b = LLVMGetFirstBasicBlock(s->function); b; b = LLVMGetNextBasicBlock(b))
        for (Val i = LLVMGetLastInstruction(b); i; i = LLVMGetPreviousInstruction(i))
            if (is_barrier(i, barrier))
                vec_push(&s->arena, &s->barriers, (Barrier){ .call = i });
    return s->barriers.len == n && n <= MOST_BARRIERS;
}

static void cut_behind(Barriers *s, uint32_t k)
{
    Barrier *x = &s->barriers.data[k];
    x->behind = LLVMGetInstructionParent(x->call);
    x->before = ir_cut_before(s->b, x->behind, LLVMGetNextInstruction(x->call));
    LLVMBuildBr(s->b, x->behind);
    map_put(&s->arena, &s->behind, (uintptr_t)x->behind, k + 1);
}

static bool is_mask(const Barriers *s, Type t)
{
    return ir_element(t) == LLVMInt1TypeInContext(s->context);
}

/* As what a value is in memory. */
static Type memory_type(const Barriers *s, Type t)
{
    bool as_it_is =
        !is_mask(s, t) || (s->has_mask_registers && LLVMGetTypeKind(t) == LLVMVectorTypeKind);
    return as_it_is ? t : ir_type_like(t, LLVMInt8TypeInContext(s->context));
}

static bool can_be_kept(Type t)
{
    switch (LLVMGetTypeKind(ir_element(t))) {
    case LLVMIntegerTypeKind:
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind: return true;
    default: return false;
    }
}

static uint64_t place(Barriers *s, uint64_t size, uint64_t align)
{
    uint64_t at = align_up(s->bytes, align);
    s->bytes = at + size;
    return at;
}

static uint64_t place_of_type(Barriers *s, Type t)
{
    uint64_t size = LLVMStoreSizeOfType(s->layout, t), align = 1;
    while (align < size && align < LINE)
        align *= 2;
    return place(s, size, align);
}

static bool is_cheap(Val v)
{
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMGetElementPtr:
    case LLVMAdd:
    case LLVMSub:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMInsertElement: return true;
    case LLVMShuffleVector: break;
    default: return false;
    }
    unsigned k = 0;
    while (k < LLVMGetNumMaskElements(v) && LLVMGetMaskValue(v, k) == 0)
        k++;
    return k == LLVMGetNumMaskElements(v);
}

/* The only operand that is not a constant, of an instruction that takes no longer than to read what
 * it makes: addresses beside one another, indices of lanes from that of the first. */
static Val made_from(Val v)
{
    Val from = NULL;
    for (unsigned k = 0; is_cheap(v) && k < (unsigned)LLVMGetNumOperands(v); k++) {
        Val x = LLVMGetOperand(v, k);
        if (LLVMIsConstant(x))
            continue;
        if (from)
            return NULL;
        from = x;
    }
    return from;
}

/* Of which it is made again in so many steps at most. */
static bool is_made_soon(Val v)
{
    enum { MOST = 6 };
    uint32_t n = 0;
    while (LLVMIsAInstruction(v) && (v = made_from(v)) != NULL)
        n++;
    return n <= MOST;
}

static Kept *keep(Barriers *s, Val value)
{
    uint64_t number = looked_up(&s->number, value);
    if (number)
        return &s->kept.data[number - 1];
    vec_push(&s->arena, &s->kept,
             (Kept){ .value = value, .from = is_made_soon(value) ? made_from(value) : NULL });
    map_put(&s->arena, &s->number, (uintptr_t)value, s->kept.len);
    return &vec_last(&s->kept);
}

static Crossing *crossing_of(const Kept *x, uint32_t barrier)
{
    for (uint32_t k = 0; k < x->barriers.len; k++)
        if (x->barriers.data[k].barrier == barrier)
            return &x->barriers.data[k];
    return NULL;
}

static bool is_used_in(const Barriers *s, Block b)
{
    for (uint32_t k = 0; k < s->n_uses; k++)
        if (s->queue.data[k] == b)
            return true;
    return false;
}

/* The only block behind another one that the searched value lives into, if control comes to it from
 * nowhere else. */
static Block only_way(const Barriers *s, Block from)
{
    Block to = NULL;
    Val last = LLVMGetBasicBlockTerminator(from);
    for (unsigned n = 0; n < LLVMGetNumSuccessors(last); n++)
        if (was_seen(s, LLVMGetSuccessor(last, n))) {
            if (to || looked_up(&s->behind, LLVMGetSuccessor(last, n)))
                return NULL;
            to = LLVMGetSuccessor(last, n);
        }
    LLVMUseRef first = to ? LLVMGetFirstUse(LLVMBasicBlockAsValue(to)) : NULL;
    return first && !LLVMGetNextUse(first) ? to : NULL;
}

/* Not where it may not be used after all. */
static Block find_read(const Barriers *s, Block behind)
{
    for (Block to; !is_used_in(s, behind) && (to = only_way(s, behind)) != NULL;)
        behind = to;
    return behind;
}

static void find_life(Barriers *s, Val value)
{
    search_life(s, value);
    for (uint32_t k = 0; k < s->barriers.len; k++) {
        Block behind = s->barriers.data[k].behind;
        if (!was_seen(s, behind))
            continue;
        Kept *x = keep(s, value);
        vec_push(&s->arena, &x->barriers, (Crossing){ k, x->from ? behind : find_read(s, behind) });
    }
}

static void keep_what_others_are_made_from(Barriers *s)
{
    for (uint32_t n = 0; n < s->kept.len; n++) {
        Kept made = s->kept.data[n];
        if (!made.from || !LLVMIsAInstruction(made.from) || LLVMIsAAllocaInst(made.from))
            continue;
        Kept *x = keep(s, made.from);
        for (uint32_t k = 0; k < made.barriers.len; k++) {
            Crossing c = made.barriers.data[k], *there = crossing_of(x, c.barrier);
            x->lives_longer |= !there;
            if (there)
                *there = c; /* also where it is not used itself */
            else
                vec_push(&s->arena, &x->barriers, c);
        }
    }
}

static bool is_scratch(const Barriers *s, Val v)
{
    unsigned kind = LLVMGetMDKindIDInContext(s->context, CPU_SCRATCH, sizeof CPU_SCRATCH - 1);
    return LLVMIsAAllocaInst(v) && LLVMGetMetadata(v, kind);
}

/* An address of the stack, which is another one behind a barrier. */
static bool is_lost(const Barriers *s, const Kept *x)
{
    Val v = x->from ? NULL : x->value;
    while (v && LLVMIsAGetElementPtrInst(v))
        v = LLVMGetOperand(v, 0);
    return v && is_scratch(s, v);
}

static bool find_alloca(Barriers *s, Val i)
{
    Val n = LLVMGetOperand(i, 0);
    if (is_scratch(s, i)) {
        vec_push(&s->arena, &s->scratch, i);
        return true;
    }
    if (LLVMGetInstructionParent(i) != LLVMGetEntryBasicBlock(s->function) ||
        !LLVMIsAConstantInt(n) || LLVMGetAlignment(i) > LINE)
        return false;
    uint64_t size = LLVMABISizeOfType(s->layout, LLVMGetAllocatedType(i));
    if (size > MOST_KEPT || LLVMConstIntGetZExtValue(n) > MOST_KEPT)
        return false;
    vec_push(&s->arena, &s->allocas, i);
    uint64_t at = place(s, size * LLVMConstIntGetZExtValue(n), LLVMGetAlignment(i));
    vec_push(&s->arena, &s->alloca_at, at);
    return true;
}

/* ---- values that share a place --------------------------------------------------------------- */

static Kept *number_of(Barriers *s, uint32_t n) { return n ? &s->kept.data[n - 1] : NULL; }

/* Whether what was searched lives on where another value has been made. */
static bool lives_behind(const Barriers *s, const Kept *other)
{
    Val last = LLVMGetBasicBlockTerminator(LLVMGetInstructionParent(other->value));
    for (unsigned n = 0; n < LLVMGetNumSuccessors(last); n++)
        if (was_seen(s, LLVMGetSuccessor(last, n)))
            return true;
    return false;
}

/* Whether one of the values that share a place lives on where one of those of another is made. */
static bool live_together(Barriers *s, uint32_t some, uint32_t others)
{
    for (const Kept *x; (x = number_of(s, some)) != NULL; some = x->next) {
        search_life(s, x->value);
        const Kept *y;
        for (uint32_t n = others; (y = number_of(s, n)) != NULL; n = y->next)
            if (lives_behind(s, y))
                return true;
    }
    return s->steps > MOST_STEPS;
}

/* Two values with a place each, and all that share it, get one place, if where one of them is
 * made, none of the others lives on: a number and what a loop makes of it. */
static void share_place(Barriers *s, uint32_t a, uint32_t b)
{
    uint32_t of_a = number_of(s, a)->first, of_b = number_of(s, b)->first;
    if (of_a == of_b || number_of(s, a)->lives_longer || number_of(s, b)->lives_longer ||
        live_together(s, of_a, of_b) || live_together(s, of_b, of_a))
        return;
    Kept *last = number_of(s, of_a);
    while (last->next)
        last = number_of(s, last->next);
    last->next = of_b;
    for (Kept *x = number_of(s, of_b); x; x = number_of(s, x->next))
        x->first = of_a;
}

/* Whether a value has been written to its place when control comes out of a block. */
static bool is_written(Barriers *s, const Kept *x, Block from)
{
    Block home = LLVMGetInstructionParent(x->value);
    if (x->in_a_loop)
        search_on_from(s, home);
    return !x->in_a_loop || (from != home && !was_seen(s, from));
}

static void find_edges(Barriers *s, Kept *x)
{
    for (unsigned k = 0; k < LLVMCountIncoming(x->value); k++) {
        Block from = LLVMGetIncomingBlock(x->value, k);
        Val value = LLVMGetIncomingValue(x->value, k);
        const Kept *y = number_of(s, (uint32_t)looked_up(&s->number, value));
        bool there = y && !y->from && y->first == x->first && is_written(s, y, from);
        vec_push(&s->arena, &x->is_there, there);
        x->at_edges |= there;
        if (!there && LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(from)) > 1) {
            x->at_edges = false;
            return;
        }
    }
}

static void share_places(Barriers *s)
{
    for (uint32_t n = 1; n <= s->kept.len; n++) {
        Kept *x = number_of(s, n);
        Block home = LLVMGetInstructionParent(x->value);
        x->first = n;
        search_on_from(s, home);
        x->in_a_loop = was_seen(s, home);
    }
    for (uint32_t n = 1; n <= s->kept.len; n++) {
        const Kept *x = number_of(s, n);
        for (unsigned k = 0; LLVMIsAPHINode(x->value) && k < LLVMCountIncoming(x->value); k++) {
            uint64_t y = looked_up(&s->number, LLVMGetIncomingValue(x->value, k));
            if (y && !number_of(s, (uint32_t)y)->from)
                share_place(s, n, (uint32_t)y);
        }
    }
    for (uint32_t n = 1; n <= s->kept.len; n++)
        if (LLVMIsAPHINode(number_of(s, n)->value) && !number_of(s, n)->in_a_loop)
            find_edges(s, number_of(s, n));
}

/* False: there is something that cannot be kept, or too much. */
static bool find_kept(Barriers *s)
{
    for (Block b = LLVMGetFirstBasicBlock(s->function); b; b = LLVMGetNextBasicBlock(b))
        for (Val i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            if (LLVMIsAAllocaInst(i) ? !find_alloca(s, i) : s->steps > MOST_STEPS)
                return false;
            if (!LLVMIsAAllocaInst(i) && LLVMGetFirstUse(i))
                find_life(s, i);
        }
    keep_what_others_are_made_from(s);
    share_places(s);
    for (uint32_t n = 1; n <= s->kept.len && s->bytes <= MOST_KEPT; n++) {
        Kept *x = number_of(s, n);
        if (!can_be_kept(LLVMTypeOf(x->value)) || is_lost(s, x))
            return false;
        if (!x->from && x->first == n)
            x->at = place_of_type(s, memory_type(s, LLVMTypeOf(x->value)));
    }
    for (uint32_t n = 1; n <= s->kept.len; n++)
        number_of(s, n)->at = number_of(s, number_of(s, n)->first)->at;
    return s->bytes <= MOST_KEPT;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static Val field(const Barriers *s, size_t offset)
{
    return ir_at(s->b, s->env, ir_int(LLVMInt64TypeInContext(s->context), offset));
}

static void set_resume(const Barriers *s, uint64_t barrier)
{
    Type word = LLVMInt32TypeInContext(s->context);
    ir_store(s->b, ir_int(word, barrier), field(s, offsetof(CpuEnv, resume)), 4);
}

static Val address(const Barriers *s, uint64_t at)
{
    return ir_at(s->b, s->memory, ir_int(LLVMInt64TypeInContext(s->context), at));
}

static unsigned align_of(uint64_t at) { return at % LINE ? (unsigned)(at & -at) : LINE; }

static void write(const Barriers *s, const Kept *x, Val value)
{
    Type own = LLVMTypeOf(value), t = memory_type(s, own);
    if (t != own)
        value = LLVMBuildSExt(s->b, value, t, "");
    ir_store(s->b, value, address(s, x->at), align_of(x->at));
}

static Val read(const Barriers *s, const Kept *x)
{
    Type own = LLVMTypeOf(x->value), t = memory_type(s, own);
    Val value = ir_load(s->b, t, address(s, x->at), align_of(x->at));
    return t == own ? value : LLVMBuildICmp(s->b, LLVMIntSLT, value, LLVMConstNull(t), "");
}

/* ---- the kernel again ------------------------------------------------------------------------ */

/* What the variable is in a block where the value is not made. */
static Val value_in(Barriers *s, const Kept *x, Map *again, Block block)
{
    uint64_t v = looked_up(again, block);
    if (!v) {
        ir_build_at_top(s->b, block);
        v = (uintptr_t)LLVMBuildLoad2(s->b, LLVMTypeOf(x->value), x->variable, "");
        map_put(&s->arena, again, (uintptr_t)block, v);
    }
    return (Val)(uintptr_t)v;
}

static void use_variable_in(Barriers *s, const Kept *x, Map *again, Val user)
{
    Block home = LLVMGetInstructionParent(x->value);
    bool phi = LLVMIsAPHINode(user);
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(user); k++) {
        if (LLVMGetOperand(user, k) != x->value)
            continue;
        Block where = phi ? LLVMGetIncomingBlock(user, k) : LLVMGetInstructionParent(user);
        if (where != home)
            LLVMSetOperand(user, k, value_in(s, x, again, where));
    }
}

static void use_variable(Barriers *s, Kept *x)
{
    VEC(Val) users = { 0 };
    Map again = { 0 }; /* by block */
    for (LLVMUseRef u = LLVMGetFirstUse(x->value); u; u = LLVMGetNextUse(u))
        vec_push(&s->arena, &users, LLVMGetUser(u));
    for (uint32_t k = 0; k < users.len; k++)
        use_variable_in(s, x, &again, users.data[k]);
    ir_build_behind(s->b, x->value);
    LLVMBuildStore(s->b, x->value, x->variable);
}

static void write_where_made(Barriers *s, const Kept *x)
{
    ir_build_behind(s->b, x->value);
    write(s, x, x->value);
}

static void write_at_edges(Barriers *s, const Kept *x)
{
    for (unsigned k = 0; k < LLVMCountIncoming(x->value); k++) {
        if (x->is_there.data[k])
            continue;
        Block from = LLVMGetIncomingBlock(x->value, k);
        LLVMPositionBuilderBefore(s->b, LLVMGetBasicBlockTerminator(from));
        write(s, x, LLVMGetIncomingValue(x->value, k));
    }
}

static void write_before_barriers(Barriers *s, const Kept *x)
{
    search_on_from(s, LLVMGetInstructionParent(x->value));
    for (uint32_t k = 0; k < x->barriers.len; k++) {
        const Barrier *barrier = &s->barriers.data[x->barriers.data[k].barrier];
        if (!was_seen(s, barrier->before))
            continue; /* what another barrier has kept is there still */
        LLVMPositionBuilderBefore(s->b, barrier->call);
        write(s, x, LLVMBuildLoad2(s->b, LLVMTypeOf(x->value), x->variable, ""));
    }
}

static void keep_values(Barriers *s)
{
    for (uint32_t n = 0; n < s->kept.len; n++)
        use_variable(s, &s->kept.data[n]);
    for (uint32_t n = 0; n < s->kept.len; n++) {
        const Kept *x = &s->kept.data[n];
        if (x->from)
            continue;
        if (x->in_a_loop)
            write_before_barriers(s, x);
        else if (x->at_edges)
            write_at_edges(s, x);
        else
            write_where_made(s, x);
    }
}

/* A value behind a barrier: read, or made again; NULL: it is there anyway. */
static Val value_again(Barriers *s, Map *again, Val value)
{
    uint64_t v = looked_up(again, value), number = looked_up(&s->number, value);
    if (v || !number)
        return (Val)(uintptr_t)v;
    const Kept *x = &s->kept.data[number - 1];
    Val from = x->from ? value_again(s, again, x->from) : NULL;
    Val made = x->from ? LLVMInstructionClone(value) : read(s, x);
    for (unsigned k = 0; from && k < (unsigned)LLVMGetNumOperands(made); k++)
        if (!LLVMIsConstant(LLVMGetOperand(made, k))) /* by now a variable, maybe */
            LLVMSetOperand(made, k, from);
    if (x->from)
        LLVMInsertIntoBuilder(s->b, made);
    map_put(&s->arena, again, (uintptr_t)value, (uintptr_t)made);
    return made;
}

static void values_behind(Barriers *s, uint32_t barrier)
{
    Map again = { 0 };
    Block behind = s->barriers.data[barrier].behind;
    Val first = LLVMGetFirstInstruction(behind);
    for (uint32_t n = 0; n < s->kept.len; n++) {
        const Kept *x = &s->kept.data[n];
        const Crossing *c = crossing_of(x, barrier);
        if (!c)
            continue;
        if (c->read_in == behind)
            LLVMPositionBuilderBefore(s->b, first);
        else
            ir_build_at_top(s->b, c->read_in);
        Val value = c->read_in == behind ? value_again(s, &again, x->value) : read(s, x);
        LLVMBuildStore(s->b, value, x->variable);
    }
}

static void move_alloca(Barriers *s, Val alloca, uint64_t at)
{
    for (LLVMUseRef u = LLVMGetFirstUse(alloca), next; u; u = next) {
        Val user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (ir_calls(user, "llvm.lifetime.start") || ir_calls(user, "llvm.lifetime.end"))
            LLVMInstructionEraseFromParent(user);
    }
    LLVMReplaceAllUsesWith(alloca, address(s, at));
    LLVMInstructionEraseFromParent(alloca);
}

static void build_entry(Barriers *s)
{
    Block old = LLVMGetEntryBasicBlock(s->function);
    Block entry = LLVMInsertBasicBlockInContext(s->context, old, "resume");
    Type word = LLVMInt32TypeInContext(s->context);
    LLVMPositionBuilderAtEnd(s->b, entry);
    Val at = field(s, offsetof(CpuEnv, kept));
    s->memory = ir_load(s->b, LLVMPointerTypeInContext(s->context, 0), at, sizeof(void *));
    for (uint32_t n = 0; n < s->scratch.len; n++) {
        LLVMInstructionRemoveFromParent(s->scratch.data[n]);
        LLVMInsertIntoBuilder(s->b, s->scratch.data[n]);
    }
    for (uint32_t n = 0; n < s->allocas.len; n++)
        move_alloca(s, s->allocas.data[n], s->alloca_at.data[n]);
    for (uint32_t n = 0; n < s->kept.len; n++)
        s->kept.data[n].variable = LLVMBuildAlloca(s->b, LLVMTypeOf(s->kept.data[n].value), "");
    Val resume = ir_load(s->b, word, field(s, offsetof(CpuEnv, resume)), 4);
    Val ways = LLVMBuildSwitch(s->b, resume, old, s->barriers.len);
    for (uint32_t k = 0; k < s->barriers.len; k++)
        LLVMAddCase(ways, ir_int(word, k + 1), s->barriers.data[k].behind);
}

static void return_at_end(const Barriers *s)
{
    for (Block b = LLVMGetFirstBasicBlock(s->function); b; b = LLVMGetNextBasicBlock(b)) {
        Val last = LLVMGetBasicBlockTerminator(b);
        if (LLVMGetInstructionOpcode(last) != LLVMRet)
            continue;
        LLVMPositionBuilderBefore(s->b, last);
        set_resume(s, 0);
    }
}

static void return_at(const Barriers *s, uint32_t barrier)
{
    const Barrier *x = &s->barriers.data[barrier];
    LLVMPositionBuilderBefore(s->b, x->call);
    set_resume(s, barrier + 1);
    LLVMBuildRetVoid(s->b);
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(x->before));
    LLVMInstructionEraseFromParent(x->call);
}

static void try_to_return(void *user)
{
    Barriers *s = user;
    Val barrier = LLVMGetNamedFunction(s->module, CPU_BARRIER_NAME);
    if (!barrier || !find_barriers(s, barrier) || !s->barriers.len)
        return;
    for (uint32_t k = 0; k < s->barriers.len; k++)
        cut_behind(s, k);
    if (!find_kept(s))
        return;
    return_at_end(s);
    build_entry(s);
    keep_values(s);
    for (uint32_t k = 0; k < s->barriers.len; k++)
        values_behind(s, k);
    for (uint32_t k = 0; k < s->barriers.len; k++)
        return_at(s, k);
    s->returns = true;
}

bool cpu_return_at_barriers(LLVMModuleRef module, LLVMTargetDataRef layout, const CpuTarget *target,
                            CpuJit *out)
{
    Barriers s = { .module = module,
                   .context = LLVMGetModuleContext(module),
                   .layout = layout,
                   .has_mask_registers = target->sets & CPU_AVX512,
                   .function = LLVMGetNamedFunction(module, CPU_KERNEL_NAME) };
    s.env = LLVMGetParam(s.function, 0);
    s.b = LLVMCreateBuilderInContext(s.context);
    bool done = arena_try(&s.arena, try_to_return, &s);
    LLVMDisposeBuilder(s.b);
    arena_free(&s.arena);
    out->returns_at_barriers = s.returns;
    out->kept_bytes = s.returns ? s.bytes : 0;
    return done;
}

void cpu_call_barriers(LLVMModuleRef module)
{
    Val barrier = LLVMGetNamedFunction(module, CPU_BARRIER_NAME);
    if (!barrier)
        return;
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(context);
    Type type = LLVMGlobalGetValueType(barrier), word = LLVMInt64TypeInContext(context);
    for (LLVMUseRef u; (u = LLVMGetFirstUse(barrier)) != NULL;) {
        Val call = LLVMGetUser(u), env = LLVMGetOperand(call, 0);
        LLVMPositionBuilderBefore(b, call);
        Val at = ir_at(b, env, ir_int(word, offsetof(CpuEnv, barrier)));
        LLVMBuildCall2(b, type, ir_load(b, LLVMTypeOf(env), at, sizeof(void *)), &env, 1, "");
        LLVMInstructionEraseFromParent(call);
    }
    LLVMDeleteFunction(barrier);
    LLVMDisposeBuilder(b);
}
