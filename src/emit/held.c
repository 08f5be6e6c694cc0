/* SPDX-License-Identifier: MIT
 *
 * 8-bit floats that are held as floats. Each step of a chain of operations converts to float,
 * computes, and converts back. The two conversions between steps become one rounding, or nothing
 * where nothing is to be rounded; what is not used of the three, LLVM removes.
 */
#include "emit/internal.h"
#include "emit/ops.h"

/* How far back numbers are looked for, and how deep choices among them are followed. */
enum { WINDOW = 64, DEPTH = 8 };

typedef struct Held {
    LV small, wide; /* the number as its type has it (NULL: not by this entry), and as float */
    IrComp comp;
} Held;

struct EmitHeld {
    Held list[WINDOW];
    uint32_t n; /* the list holds the last WINDOW of so many */
};

bool held_is_small(IrComp c) { return c == COMP_E4M3 || c == COMP_E5M2; }

void held_begin(Emit *e) { e->held = NEW(e->arena, struct EmitHeld); }

void held_add(Emit *e, LV small, LV wide, IrComp c)
{
    e->held->list[e->held->n++ % WINDOW] = (Held){ small, wide, c };
}

/* The entry with these values, of which one may be NULL. */
static const Held *find(Emit *e, LV small, LV wide, IrComp c)
{
    for (uint32_t k = 0; k < MIN(e->held->n, (uint32_t)WINDOW); k++) {
        const Held *h = &e->held->list[k];
        if (h->comp == c && (!small || h->small == small) && (!wide || h->wide == wide))
            return h;
    }
    return NULL;
}

/* Whether what it returns is one of its operands, or one without its sign. */
static bool only_picks(LV call)
{
    static const char *const names[] = { "llvm.minnum", "llvm.maxnum", "llvm.minimum",
                                         "llvm.maximum", "llvm.fabs" };
    LV f = LLVMGetCalledValue(call);
    unsigned id = LLVMIsAFunction(f) ? LLVMGetIntrinsicID(f) : 0;
    for (uint32_t k = 0; id && k < COUNT_OF(names); k++)
        if (LLVMLookupIntrinsicID(names[k], strlen(names[k])) == id)
            return true;
    return false;
}

/* Whether x, a float, can only be a number of the format: chosen among such numbers. */
static bool is_exact(Emit *e, LV x, IrComp c, uint32_t depth)
{
    if (LLVMIsConstant(x))
        return LLVMIsNull(x);
    if (find(e, NULL, x, c))
        return true;
    if (!depth || !LLVMIsAInstruction(x))
        return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    if (op != LLVMSelect && op != LLVMFNeg && !(op == LLVMCall && only_picks(x)))
        return false;
    uint32_t n = op == LLVMCall ? LLVMGetNumArgOperands(x) : (uint32_t)LLVMGetNumOperands(x);
    for (uint32_t k = op == LLVMSelect; k < n; k++)
        if (!is_exact(e, LLVMGetOperand(x, k), c, depth - 1))
            return false;
    return true;
}

LV held_convert(Emit *e, LV x, IrComp from, IrComp to, bool saturate)
{
    if (held_is_small(from) && to == COMP_F32) {
        const Held *known = find(e, x, NULL, from);
        if (known)
            return known->wide;
        LV wide = ops_convert(e, x, from, to, ROUND_NEAREST, false);
        held_add(e, NULL, wide, from); /* x may be used where this is not known */
        return wide;
    }
    if (from != COMP_F32 || !held_is_small(to))
        return NULL;
    LV small = arith_convert(e->b, x, from, to, ROUND_NEAREST, saturate);
    bool same = is_exact(e, x, to, DEPTH) && !(saturate && to == COMP_E5M2); /* has infinities */
    held_add(e, small, same ? x : arith_round_small(e->b, x, to, saturate), to);
    return small;
}
