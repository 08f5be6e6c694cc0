/* SPDX-License-Identifier: MIT
 *
 * In: an optimised module. Out: the same module, in which sums of the bytes of words are dot
 * products of bytes, for which machines have instructions: where each lane reads a row of bytes of
 * its own, they are loaded as words (lanes/series.c), which shifts take apart, and are added as
 * they are or times other bytes: those of another row's words, ones that all lanes share, or
 * constants. Integers may be added in any order.
 */
#include "base/base.h"
#include "cpu/jit/jit.h"
#include "llvm/arith.h"

typedef LLVMValueRef Val;

enum { EACH = 4 /* bytes of a word */, MOST_OPEN = 64 /* products that are not complete */ };

/* What a byte is multiplied by. */
typedef enum Factor {
    BY_CONSTANT, /* fits a byte of either sign, or of the one that its value needs */
    BY_SHARED,   /* the same byte for all lanes */
    BY_WORD      /* the byte at the same place of another word */
} Factor;

/* A byte of each lane's word, as a number of 32 bits. */
typedef struct Byte {
    Val word;
    uint32_t at;
    bool is_signed;
} Byte;

/* One addend: an operand of an addition. */
typedef struct Addend {
    Val sum;
    unsigned operand;
    Byte byte;
    Factor by;
    bool by_signed;
    int64_t constant;
    Val shared, word;
} Addend;

/* Addends of one tree of additions that one dot product can be. */
typedef struct Dot {
    Val root;
    Addend of[EACH];
    uint32_t places; /* which bytes of the word there are: bits */
    uint32_t n;
} Dot;

typedef struct Words {
    Arena arena;
    LLVMModuleRef module;
    IrDots dots;
    Map root;     /* addition -> the last one of its tree */
    bool changed; /* the block that is looked at */
    Dot open[MOST_OPEN];
    uint32_t n;
} Words;

/* ---- addends --------------------------------------------------------------------------------- */

static bool is_op(Val v, LLVMOpcode op)
{
    return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == op;
}

static bool is_words(Val v)
{
    return ir_is_vector(v) && LLVMGetTypeKind(ir_element_of(v)) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(ir_element_of(v)) == 32 &&
           LLVMGetVectorSize(LLVMTypeOf(v)) >= EACH && is_pow2(LLVMGetVectorSize(LLVMTypeOf(v)));
}

/* A shift of all lanes by 8, 16 or 24 bits: by how many bytes; 0: it is none. */
static uint32_t bytes_shifted(Val v, LLVMOpcode op)
{
    for (uint32_t k = 1; is_op(v, op) && k < EACH; k++)
        if (LLVMGetOperand(v, 1) == ir_inum(v, 8 * k))
            return k;
    return 0;
}

static bool is_byte(Val v, Byte *out)
{
    uint32_t up;
    *out = (Byte){ .word = v };
    if (is_op(v, LLVMAnd) && LLVMGetOperand(v, 1) == ir_inum(v, 0xff)) {
        Val shift = LLVMGetOperand(v, 0);
        out->at = bytes_shifted(shift, LLVMLShr);
        out->word = out->at ? LLVMGetOperand(shift, 0) : shift;
        return true;
    }
    out->is_signed = bytes_shifted(v, LLVMAShr) == EACH - 1;
    if (!out->is_signed && bytes_shifted(v, LLVMLShr) != EACH - 1)
        return false;
    out->word = LLVMGetOperand(v, 0);
    up = bytes_shifted(out->word, LLVMShl);
    out->at = EACH - 1 - up;
    out->word = up ? LLVMGetOperand(out->word, 0) : out->word;
    return true;
}

static bool is_constant(Val v, int64_t *value)
{
    Val one = LLVMIsConstant(v) ? LLVMGetAggregateElement(v, 0) : NULL;
    if (!one || !LLVMIsAConstantInt(one) || v != ir_inum(v, LLVMConstIntGetZExtValue(one)))
        return false;
    *value = LLVMConstIntGetSExtValue(one);
    return *value >= INT8_MIN && *value <= UINT8_MAX;
}

static bool is_factor(Val v, Addend *a)
{
    Byte other;
    Val scalar = ir_splatted(v);
    if (is_constant(v, &a->constant)) {
        a->by = BY_CONSTANT;
        return true;
    }
    if (is_byte(v, &other) && other.at == a->byte.at) {
        a->by = BY_WORD;
        a->by_signed = other.is_signed;
        a->word = other.word;
        return true;
    }
    a->by = BY_SHARED;
    a->by_signed = scalar && is_op(scalar, LLVMSExt);
    if (!scalar || (!a->by_signed && !is_op(scalar, LLVMZExt)))
        return false;
    a->shared = LLVMGetOperand(scalar, 0);
    return LLVMGetIntTypeWidth(LLVMTypeOf(a->shared)) == 8;
}

static bool is_addend(Val sum, unsigned operand, Addend *a)
{
    Val v = LLVMGetOperand(sum, operand);
    *a = (Addend){ .sum = sum, .operand = operand, .constant = 1 };
    if (is_byte(v, &a->byte))
        return true;
    if (is_op(v, LLVMShl) && is_constant(LLVMGetOperand(v, 1), &a->constant)) {
        a->constant = a->constant >= 0 && a->constant < 7 ? 1 << a->constant : 0;
        return a->constant && is_byte(LLVMGetOperand(v, 0), &a->byte);
    }
    if (!is_op(v, LLVMMul))
        return false;
    Val x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    return (is_byte(x, &a->byte) && is_factor(y, a)) || (is_byte(y, &a->byte) && is_factor(x, a));
}

/* ---- dot products ---------------------------------------------------------------------------- */

/* Constants that the bytes of a sum are multiplied by are all of one sign's type. */
static bool fits(const Dot *d, const Addend *a)
{
    const Addend *first = &d->of[0];
    if (d->places >> a->byte.at & 1 || first->byte.word != a->byte.word ||
        first->byte.is_signed != a->byte.is_signed || first->by != a->by)
        return false;
    if (a->by != BY_CONSTANT)
        return first->by_signed == a->by_signed && first->word == a->word;
    bool negative = (a->constant < 0), large = (a->constant > INT8_MAX);
    for (uint32_t k = 0; k < d->n; k++) {
        negative |= d->of[k].constant < 0;
        large |= d->of[k].constant > INT8_MAX;
    }
    return !negative || !large;
}

/* The same bytes for all lanes: LLVM's code generator loads together what lies side by side. */
static Val shared_factors(const Words *w, const Dot *d, LLVMTypeRef words)
{
    LLVMTypeRef word = LLVMGetElementType(words);
    Val all = NULL;
    for (uint32_t k = 0; k < d->n; k++) {
        Val byte = LLVMBuildZExt(w->dots.b, d->of[k].shared, word, "");
        byte = LLVMBuildShl(w->dots.b, byte, ir_int(word, 8 * d->of[k].byte.at), "");
        all = all ? LLVMBuildOr(w->dots.b, all, byte, "") : byte;
    }
    return ir_splat(w->dots.b, all, LLVMGetVectorSize(words));
}

/* The factors as words. */
static Val factors(const Words *w, const Dot *d)
{
    const Addend *first = &d->of[0];
    LLVMTypeRef words = LLVMTypeOf(first->byte.word);
    uint32_t mask = 0, constants = 0;
    if (first->by == BY_SHARED)
        return shared_factors(w, d, words);
    for (uint32_t k = 0; k < d->n; k++) {
        mask |= 0xffu << 8 * d->of[k].byte.at;
        constants |= ((uint32_t)d->of[k].constant & 0xff) << 8 * d->of[k].byte.at;
    }
    if (first->by == BY_CONSTANT)
        return ir_int(words, constants);
    return d->n == EACH ? first->word
                        : LLVMBuildAnd(w->dots.b, first->word, ir_int(words, mask), "");
}

/* The dot product where the last of its addends is added, zeros in place of all others. Additions
 * stay the values that they are, whose bytes other products may be of. */
static void replace(Words *w, Dot *d)
{
    uint32_t least = w->dots.has_dots ? 2 : 3; /* without, it is several instructions */
    const Addend *last = &d->of[d->n - 1];
    Addend other;
    if (d->n < least)
        return;
    bool by_signed = last->by_signed;
    for (uint32_t k = 0; k < d->n && last->by == BY_CONSTANT; k++)
        by_signed |= d->of[k].constant < 0;
    /* what it is added to goes through the instruction that adds */
    Val sum = last->sum, zero = ir_inum(sum, 0), before = LLVMGetOperand(sum, 1 - last->operand);
    bool adds = !is_addend(sum, 1 - last->operand, &other);
    LLVMPositionBuilderBefore(w->dots.b, sum);
    Val dot = arith_dot4(&w->dots, adds ? before : NULL, last->byte.word, factors(w, d),
                         last->byte.is_signed, by_signed);
    for (uint32_t k = 0; k < d->n; k++)
        LLVMSetOperand(d->of[k].sum, d->of[k].operand, zero);
    LLVMSetOperand(sum, last->operand, dot);
    if (adds)
        LLVMSetOperand(sum, 1 - last->operand, zero);
    w->changed = true;
}

/* The two bytes of a product exchanged. */
static Addend turned(const Addend *a)
{
    Addend t = *a;
    if (a->by != BY_WORD)
        return t;
    t.byte = (Byte){ a->word, a->byte.at, a->by_signed };
    t.word = a->byte.word;
    t.by_signed = a->byte.is_signed;
    return t;
}

static void put_addend(Words *w, Val root, const Addend *given)
{
    Addend a = *given, t = turned(given);
    uint32_t at = 0;
    while (at < w->n && (w->open[at].root != root || !fits(&w->open[at], &a))) {
        if (w->open[at].root == root && fits(&w->open[at], &t))
            a = t;
        else
            at++;
    }
    if (at == MOST_OPEN) {
        replace(w, &w->open[0]);
        at = 0;
        w->open[0].n = 0;
    }
    Dot *d = &w->open[at];
    if (at == w->n || !d->n) {
        *d = (Dot){ .root = root };
        w->n = MAX(w->n, at + 1);
    }
    d->of[d->n++] = a;
    d->places |= 1u << a.byte.at;
    if (d->n < EACH)
        return;
    replace(w, d);
    *d = w->open[--w->n];
}

/* ---- trees of additions ---------------------------------------------------------------------- */

/* The addition that alone uses this one's result, in the same block. */
static Val next_of(Val sum)
{
    LLVMUseRef use = LLVMGetFirstUse(sum);
    Val user = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;
    return user && is_op(user, LLVMAdd) &&
                   LLVMGetInstructionParent(user) == LLVMGetInstructionParent(sum)
               ? user
               : NULL;
}

static Val root_of(const Words *w, Val sum)
{
    uint64_t root = 0;
    return map_get(&w->root, (uint64_t)(uintptr_t)sum, &root) ? (Val)(uintptr_t)root : NULL;
}

static void find_roots(Words *w, LLVMBasicBlockRef block)
{
    for (Val i = LLVMGetLastInstruction(block); i; i = LLVMGetPreviousInstruction(i)) {
        if (!is_op(i, LLVMAdd) || !is_words(i))
            continue;
        Val next = next_of(i), root = next ? root_of(w, next) : i;
        map_put(&w->arena, &w->root, (uint64_t)(uintptr_t)i, (uint64_t)(uintptr_t)root);
    }
}

static bool takes_bytes_apart(Val v)
{
    static const LLVMOpcode ops[] = { LLVMMul, LLVMShl, LLVMAShr, LLVMLShr, LLVMAnd };
    for (uint32_t k = 0; k < COUNT_OF(ops); k++)
        if (is_op(v, ops[k]))
            return true;
    return false;
}

/* Additions of zeros go, and what nothing uses any more. What is added in another order may wrap on
 * the way. */
static void tidy(LLVMBasicBlockRef block)
{
    for (Val i = LLVMGetLastInstruction(block), next; i; i = next) {
        next = LLVMGetPreviousInstruction(i);
        bool is_sum = is_op(i, LLVMAdd) && is_words(i), unused = !LLVMGetFirstUse(i);
        for (unsigned k = 0; is_sum && k < 2 && !unused; k++)
            if (LLVMGetOperand(i, k) == ir_inum(i, 0)) {
                LLVMReplaceAllUsesWith(i, LLVMGetOperand(i, 1 - k));
                unused = true;
            }
        if (unused && (is_sum || takes_bytes_apart(i))) {
            LLVMInstructionEraseFromParent(i);
        } else if (is_sum) {
            LLVMSetNSW(i, false);
            LLVMSetNUW(i, false);
        }
    }
}

static void visit_block(Words *w, LLVMBasicBlockRef block)
{
    Addend a;
    w->changed = false;
    find_roots(w, block);
    for (Val i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
        Val root = is_op(i, LLVMAdd) && is_words(i) ? root_of(w, i) : NULL;
        for (unsigned k = 0; root && k < 2; k++)
            if (is_addend(i, k, &a))
                put_addend(w, root, &a);
    }
    for (uint32_t k = 0; k < w->n; k++)
        replace(w, &w->open[k]);
    w->n = 0;
    if (w->changed)
        tidy(block);
}

static void visit_all(void *user)
{
    Words *w = user;
    for (Val f = LLVMGetFirstFunction(w->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            visit_block(w, b);
}

bool cpu_dot_words(LLVMModuleRef module, const CpuTarget *target)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    Words w = { .module = module,
                .dots = { b, target->vector_bits, (target->sets & CPU_VNNI) != 0 } };
    bool done = !(target->sets & CPU_DOTS) || arena_try(&w.arena, visit_all, &w);
    LLVMDisposeBuilder(b);
    arena_free(&w.arena);
    return done;
}
