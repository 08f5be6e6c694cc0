/* SPDX-License-Identifier: MIT
 *
 * In: an optimised module, for machines with vectors of 64 bytes, two of which they permute as they
 * like. Out: the same module, in which fewer permutations take apart what lanes load together, two
 * or four numbers each, and in which halves are widened as they are loaded.
 *
 * A dot product multiplies numbers that were taken apart on both sides. Here they are multiplied as
 * they lie in memory, and the products are taken apart; they are then added by instructions of
 * their own, for "contract" permits to multiply and add at once, but does not ask for it.
 *
 * LLVM takes apart number by number, four of a lane by three permutations for each vector of
 * results. Step by step it takes two.
 */
#include "cpu/jit/jit.h"
#include "llvm/ir.h"

typedef LLVMValueRef Val;

enum {
    VECTOR = 16, /* numbers of 32 bits in a vector of the machine */
    EACH = 4,    /* numbers of a lane, at most */
    PIECES = 32, /* vectors of what lanes load together, at most */
    GROUPS = 32, /* that are incomplete at a time */
};

/* In each lane, number `first` of the `each` numbers that it has in `whole`. */
typedef struct Strided {
    Val whole;
    uint32_t each, first;
    bool widened;
} Strided;

/* Values for a lane's numbers: of one vector, or the products of two. */
typedef struct Group {
    Strided of[2];
    uint32_t n; /* vectors */
    unsigned flags;
    Val value[EACH], first; /* the first one in its basic block */
} Group;

/* Those of a basic block that are incomplete. */
typedef struct Groups {
    Group group[GROUPS];
    uint32_t n;
} Groups;

/* ---- what there is --------------------------------------------------------------------------- */

static bool is_of(Val v, LLVMTypeKind kind, LLVMTypeKind other)
{
    LLVMTypeKind k = LLVMGetTypeKind(ir_element_of(v));
    return k == kind || k == other;
}

static bool is_strided(Val v, Strided *s)
{
    *s = (Strided){ .widened = LLVMIsAFPExtInst(v) };
    Val shuffle = s->widened ? LLVMGetOperand(v, 0) : v;
    if (!LLVMIsAShuffleVectorInst(shuffle) || !LLVMIsUndef(LLVMGetOperand(shuffle, 1)))
        return false;
    s->whole = LLVMGetOperand(shuffle, 0);
    uint32_t lanes = LLVMGetVectorSize(LLVMTypeOf(shuffle));
    uint32_t size = LLVMGetVectorSize(LLVMTypeOf(s->whole));
    s->each = size / lanes;
    s->first = (uint32_t)LLVMGetMaskValue(shuffle, 0);
    if ((s->each != 2 && s->each != EACH) || lanes % VECTOR || !is_pow2(lanes) || size % lanes ||
        size > PIECES * VECTOR || s->first >= s->each)
        return false;
    for (uint32_t k = 0; k < lanes; k++)
        if (LLVMGetMaskValue(shuffle, k) != (int)(s->first + k * s->each))
            return false;
    return s->widened ? is_of(s->whole, LLVMHalfTypeKind, LLVMHalfTypeKind) &&
                            is_of(v, LLVMFloatTypeKind, LLVMFloatTypeKind)
                      : is_of(s->whole, LLVMFloatTypeKind, LLVMIntegerTypeKind);
}

static uint32_t uses(Val v)
{
    uint32_t n = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use))
        n++;
    return n;
}

/* Whether it takes fewer permutations to take apart the products. Others' part of them counts. */
static bool is_worth_it(Val v, const Group *g)
{
    enum { HALF = 4, FLOAT = 3, PRODUCT = 2 }; /* permutations for a vector of results */
    uint32_t cost[2], n[2];
    for (uint32_t k = 0; k < 2; k++) {
        cost[k] = g->of[k].widened ? HALF : FLOAT;
        n[k] = uses(LLVMGetOperand(v, k));
    }
    return cost[0] * n[1] + cost[1] * n[0] > PRODUCT * n[0] * n[1];
}

static bool is_product(Val v, Group *g)
{
    if (!LLVMIsABinaryOperator(v) || LLVMGetInstructionOpcode(v) != LLVMFMul)
        return false;
    *g = (Group){ .n = 2, .flags = LLVMGetFastMathFlags(v), .first = v };
    for (uint32_t k = 0; k < 2; k++)
        if (!is_strided(LLVMGetOperand(v, k), &g->of[k]))
            return false;
    return g->of[0].each == g->of[1].each && g->of[0].first == g->of[1].first && is_worth_it(v, g);
}

static bool is_word(Val v, Group *g)
{
    *g = (Group){ .n = 1, .first = v };
    return is_strided(v, &g->of[0]) && !g->of[0].widened && g->of[0].each == EACH &&
           (is_of(v, LLVMFloatTypeKind, LLVMFloatTypeKind) ||
            LLVMGetIntTypeWidth(ir_element_of(v)) == 32);
}

static bool is_same(const Group *x, const Group *y)
{
    bool same = x->n == y->n && x->flags == y->flags;
    for (uint32_t k = 0; k < x->n && same; k++)
        same = x->of[k].whole == y->of[k].whole && x->of[k].each == y->of[k].each &&
               x->of[k].widened == y->of[k].widened;
    return same;
}

/* ---- taking apart ---------------------------------------------------------------------------- */

/* Runs of numbers of x and y, `step` apart, from number `first`; each run begins `next` behind. */
static Val permute(LLVMBuilderRef b, const Val v[2], uint32_t run, uint32_t step, uint32_t first,
                   uint32_t next)
{
    int from[VECTOR];
    for (uint32_t k = 0; k < VECTOR; k++)
        from[k] = (int)(k % run * step + first + k / run * next);
    return ir_shuffle(b, v[0], v[1], from, VECTOR);
}

/* From vectors of what lanes have, one after the other, to vectors of one number of each lane. */
static void take_apart(LLVMBuilderRef b, const Val *v, uint32_t each, Val *out)
{
    for (uint32_t k = 0; k < 2 && each == 2; k++)
        out[k] = permute(b, v, VECTOR, 2, k, 0);
    for (uint32_t k = 0; k < EACH && each == EACH; k += 2) {
        Val half[2];
        for (uint32_t j = 0; j < 2; j++)
            half[j] = permute(b, v + 2 * j, VECTOR / 2, EACH, k, 1);
        for (uint32_t j = 0; j < 2; j++)
            out[k + j] = permute(b, half, VECTOR / 2, 1, j * VECTOR / 2, VECTOR);
    }
}

/* Vector k of what lanes have, for use by `at`. What is widened is so as it is loaded. */
static Val piece(LLVMBuilderRef b, const Strided *s, uint32_t k, Val at)
{
    Val v = s->whole, part;
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(v));
    LLVMPositionBuilderBefore(b, at);
    if (s->widened && LLVMIsALoadInst(v) && !LLVMGetVolatile(v)) {
        LLVMPositionBuilderBefore(b, v);
        Val bytes = ir_int(LLVMInt64TypeInContext(context), (uint64_t)k * VECTOR * 2);
        part =
            ir_load(b, LLVMVectorType(ir_element_of(v), VECTOR),
                    ir_at(b, LLVMGetOperand(v, 0), bytes), MIN(LLVMGetAlignment(v), VECTOR * 2u));
    } else {
        part = ir_part(b, v, k * VECTOR, VECTOR);
    }
    LLVMTypeRef floats = LLVMVectorType(LLVMFloatTypeInContext(context), VECTOR);
    return s->widened ? LLVMBuildFPExt(b, part, floats, "") : part;
}

/* Vector k of a group's values as they lie in memory. */
static Val whole(LLVMBuilderRef b, const Group *g, uint32_t k)
{
    Val v[2] = { NULL };
    for (uint32_t j = 0; j < g->n; j++)
        v[j] = piece(b, &g->of[j], k, g->first);
    LLVMPositionBuilderBefore(b, g->first);
    if (g->n == 1)
        return v[0];
    Val product = LLVMBuildFMul(b, v[0], v[1], "");
    if (LLVMIsAInstruction(product))
        LLVMSetFastMathFlags(product, g->flags);
    return product;
}

static void remove_unused(Val v)
{
    while (LLVMIsAInstruction(v) && !LLVMGetFirstUse(v) &&
           (LLVMIsAFPExtInst(v) || LLVMIsAShuffleVectorInst(v))) {
        Val from = LLVMGetOperand(v, 0);
        LLVMInstructionEraseFromParent(v);
        v = from;
    }
}

static void replace(LLVMBuilderRef b, const Group *g)
{
    Val v[PIECES], out[EACH], pieces[EACH][PIECES];
    uint32_t each = g->of[0].each, n = LLVMGetVectorSize(LLVMTypeOf(g->first)) / VECTOR;
    for (uint32_t k = 0; k < n * each; k++)
        v[k] = whole(b, g, k);
    for (uint32_t k = 0; k < n; k++) {
        take_apart(b, v + k * each, each, out);
        for (uint32_t j = 0; j < each; j++)
            pieces[j][k] = out[j];
    }
    for (uint32_t j = 0; j < each; j++)
        out[j] = ir_concatenate(b, pieces[j], n);
    for (uint32_t j = 0; j < each; j++) {
        Val old = g->value[j], of[2] = { LLVMGetOperand(old, 0), LLVMGetOperand(old, 1) };
        LLVMReplaceAllUsesWith(old, out[j]);
        LLVMInstructionEraseFromParent(old);
        for (uint32_t k = of[0] == of[1]; k < 2 && g->n == 2; k++)
            remove_unused(of[k]);
    }
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Adds a value to those that it belongs to, and replaces them if they are complete. */
static void add(LLVMBuilderRef b, Groups *all, const Group *one)
{
    uint32_t k = 0, first = one->of[0].first, have = 0;
    while (k < all->n && (!is_same(&all->group[k], one) || all->group[k].value[first]))
        k++;
    if (k == GROUPS)
        return;
    Group *g = &all->group[k];
    if (k == all->n)
        all->group[all->n++] = *one;
    g->value[first] = one->first;
    for (uint32_t j = 0; j < g->of[0].each; j++)
        have += g->value[j] != NULL;
    if (have < g->of[0].each)
        return;
    Group complete = *g;
    *g = all->group[--all->n];
    replace(b, &complete);
}

static void replace_in(LLVMBuilderRef b, LLVMBasicBlockRef block, bool is(Val, Group *))
{
    Groups all = { .n = 0 };
    Group one;
    for (Val i = LLVMGetFirstInstruction(block), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (is(i, &one))
            add(b, &all, &one);
    }
}

void cpu_multiply_whole(LLVMModuleRef module)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (Val f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef x = LLVMGetFirstBasicBlock(f); x; x = LLVMGetNextBasicBlock(x)) {
            replace_in(b, x, is_product);
            replace_in(b, x, is_word);
        }
    LLVMDisposeBuilder(b);
}
