/* SPDX-License-Identifier: MIT
 *
 * build: instructions before another one, in control flow that stays structured (SPIR-V 2.11): a
 * block that is cut keeps its label, and a loop's header its merge instruction. Arithmetic of
 * constants is done here, so that unrolled code has none.
 */
#include "lower/internal.h"

SpvId build(Lower *l, SpvInst *at, uint16_t op, SpvId type, const uint32_t *operands, uint32_t n)
{
    return spv_put(l->m, at, op, type, operands, n)->id;
}

/* ---- numbers --------------------------------------------------------------------------------- */

SpvId build_u32(Lower *l) { return spv_int_type(l->m, 32, false); }
SpvId build_bool(Lower *l) { return spv_bool_type(l->m); }
SpvId build_const(Lower *l, uint32_t value) { return spv_int_constant(l->m, build_u32(l), value); }

/* Of a constant of the module; what is built here has no specialisation constants. */
static bool known(Lower *l, SpvId id, uint64_t *value)
{
    bool yes = spv_constant(l->m, id, value);
    *value &= UINT32_MAX;
    return yes;
}

SpvId build_add(Lower *l, SpvInst *at, SpvId a, SpvId b)
{
    uint64_t x, y;
    bool kx = known(l, a, &x), ky = known(l, b, &y);
    if (kx && ky)
        return build_const(l, (uint32_t)(x + y));
    if (kx && !x)
        return b;
    return ky && !y ? a : BUILD(l, at, SpvOpIAdd, build_u32(l), a, b);
}

SpvId build_sub(Lower *l, SpvInst *at, SpvId a, SpvId b)
{
    uint64_t x, y;
    bool kx = known(l, a, &x), ky = known(l, b, &y);
    if (kx && ky)
        return build_const(l, (uint32_t)(x - y));
    return ky && !y ? a : BUILD(l, at, SpvOpISub, build_u32(l), a, b);
}

SpvId build_mul(Lower *l, SpvInst *at, SpvId a, SpvId b)
{
    uint64_t x, y;
    bool kx = known(l, a, &x), ky = known(l, b, &y);
    if (kx && ky)
        return build_const(l, (uint32_t)(x * y));
    if ((kx && !x) || (ky && !y))
        return build_const(l, 0);
    if (kx && x == 1)
        return b;
    return ky && y == 1 ? a : BUILD(l, at, SpvOpIMul, build_u32(l), a, b);
}

SpvId build_div(Lower *l, SpvInst *at, SpvId a, uint32_t b)
{
    uint64_t x;
    if (known(l, a, &x))
        return build_const(l, (uint32_t)x / b);
    return b == 1 ? a : BUILD(l, at, SpvOpUDiv, build_u32(l), a, build_const(l, b));
}

SpvId build_mod(Lower *l, SpvInst *at, SpvId a, uint32_t b)
{
    uint64_t x;
    if (known(l, a, &x))
        return build_const(l, (uint32_t)x % b);
    if (b == 1)
        return build_const(l, 0);
    return is_pow2(b) ? BUILD(l, at, SpvOpBitwiseAnd, build_u32(l), a, build_const(l, b - 1))
                      : BUILD(l, at, SpvOpUMod, build_u32(l), a, build_const(l, b));
}

SpvId build_less(Lower *l, SpvInst *at, SpvId a, SpvId b)
{
    return BUILD(l, at, SpvOpULessThan, build_bool(l), a, b);
}

SpvId build_both(Lower *l, SpvInst *at, uint16_t op, SpvId a, SpvId b)
{
    return !a ? b : !b ? a : BUILD(l, at, op, build_bool(l), a, b);
}

SpvId build_select(Lower *l, SpvInst *at, SpvId c, SpvId a, SpvId b)
{
    return BUILD(l, at, SpvOpSelect, spv_def(l->m, a)->type, c, a, b);
}

SpvId build_min(Lower *l, SpvInst *at, SpvId a, uint32_t most)
{
    SpvId limit = build_const(l, most);
    return build_select(l, at, build_less(l, at, a, limit), a, limit);
}

SpvId build_to_u32(Lower *l, SpvInst *at, SpvId value)
{
    uint64_t x;
    const SpvType *t = spv_type_of(l->m, value);
    if (known(l, value, &x))
        return build_const(l, (uint32_t)x);
    if (t->bits == 32)
        return t->is_signed ? BUILD(l, at, SpvOpBitcast, build_u32(l), value) : value;
    if (!t->is_signed)
        return BUILD(l, at, SpvOpUConvert, build_u32(l), value);
    SpvId wide = BUILD(l, at, SpvOpSConvert, spv_int_type(l->m, 32, true), value);
    return BUILD(l, at, SpvOpBitcast, build_u32(l), wide);
}

/* ---- variables ------------------------------------------------------------------------------- */

SpvId build_variable(Lower *l, SpvInst *at, SpvId type)
{
    uint32_t storage = SpvStorageClassFunction;
    SpvInst *v = spv_make(l->m, SpvOpVariable, spv_pointer_type(l->m, storage, type),
                          spv_new_id(l->m), &storage, 1);
    spv_insert_after(at->block->function->first->insts.first, v);
    return v->id;
}

SpvId build_load(Lower *l, SpvInst *at, SpvId type, SpvId pointer)
{
    return BUILD(l, at, SpvOpLoad, type, pointer);
}

void build_store(Lower *l, SpvInst *at, SpvId pointer, SpvId value)
{
    BUILD(l, at, SpvOpStore, 0, pointer, value);
}

SpvId build_element(Lower *l, SpvInst *at, uint32_t storage, SpvId type, SpvId base, SpvId index)
{
    return BUILD(l, at, SpvOpAccessChain, spv_pointer_type(l->m, storage, type), base, index);
}

void build_replace(Lower *l, SpvInst *i, SpvId with)
{
    if (with && i->id)
        edit_become(l->m, i, SpvOpCopyObject, &with, 1);
    else
        edit_remove(l->m, i);
}

/* ---- control flow ---------------------------------------------------------------------------- */

/* Moves `at` and what follows behind to a block of its own; the old one is left open. A loop's
 * header goes on to it, with its merge instruction. */
static SpvBlock *cut(Lower *l, SpvInst *at)
{
    SpvBlock *b = at->block, *rest = edit_split(l->m, at);
    SpvInst *merge = cfg_merge_inst(rest);
    if (!merge || merge->op != SpvOpLoopMerge)
        return b;
    SpvInst *branch = rest->insts.last;
    SpvId ends = spv_operand(merge, 0), goes_on = spv_operand(merge, 1);
    spv_unlink(merge);
    spv_append(b, merge);
    if (goes_on == b->id) /* a loop of one block: what goes back is the rest */
        merge->words[merge->first_operand + 1] = rest->id;
    else if (branch->op != SpvOpBranch && branch->words[2] != ends && branch->words[3] != ends &&
             branch->words[2] != goes_on && branch->words[3] != goes_on)
        lower_refuse(l, at, "the loop's header has a branch that needs a merge block of its own");
    SpvBlock *open = spv_new_block(b->function, b);
    edit_append(l->m, b, SpvOpBranch, &open->id, 1);
    return open;
}

void build_loop(Lower *l, SpvInst *at, uint32_t count, SpvInst **body, SpvId *index)
{
    SpvModule *m = l->m;
    SpvBlock *before = cut(l, at), *rest = at->block;
    SpvFunction *f = rest->function;
    SpvBlock *head = spv_new_block(f, before), *inside = spv_new_block(f, head);
    SpvBlock *next = spv_new_block(f, inside);
    SpvId u32 = build_u32(l), one = build_const(l, 1), step = spv_new_id(m), i = spv_new_id(m);
    uint32_t phi[] = { build_const(l, 0), before->id, step, next->id };
    uint32_t merge[] = { rest->id, next->id, SpvLoopControlMaskNone };
    uint32_t add[] = { i, one };
    edit_append(m, before, SpvOpBranch, &head->id, 1);
    spv_append(head, spv_make(m, SpvOpPhi, u32, i, phi, 4));
    SpvInst *less = spv_make(m, SpvOpULessThan, build_bool(l), spv_new_id(m),
                             (uint32_t[]){ i, build_const(l, count) }, 2);
    spv_append(head, less);
    edit_append(m, head, SpvOpLoopMerge, merge, 3);
    edit_append(m, head, SpvOpBranchConditional, (uint32_t[]){ less->id, inside->id, rest->id }, 3);
    edit_append(m, inside, SpvOpBranch, &next->id, 1);
    spv_append(next, spv_make(m, SpvOpIAdd, u32, step, add, 2));
    edit_append(m, next, SpvOpBranch, &head->id, 1);
    *body = inside->insts.last;
    (*body)->file = at->file;
    (*body)->line = at->line;
    (*body)->column = at->column;
    *index = i;
}

/* A block that goes on to `rest`; the branch that it ends with. */
static SpvInst *way(Lower *l, SpvBlock *after, const SpvBlock *rest, const SpvInst *at)
{
    SpvBlock *b = spv_new_block(rest->function, after);
    edit_append(l->m, b, SpvOpBranch, &rest->id, 1);
    SpvInst *end = b->insts.last;
    end->file = at->file;
    end->line = at->line;
    end->column = at->column;
    return end;
}

static void choose(Lower *l, SpvBlock *before, SpvId condition, SpvId yes, SpvId no, SpvId rest)
{
    uint32_t merge[] = { rest, SpvSelectionControlMaskNone };
    edit_append(l->m, before, SpvOpSelectionMerge, merge, 2);
    edit_append(l->m, before, SpvOpBranchConditional, (uint32_t[]){ condition, yes, no }, 3);
}

SpvInst *build_if(Lower *l, SpvInst *at, SpvId condition)
{
    SpvBlock *before = cut(l, at), *rest = at->block;
    SpvInst *end = way(l, before, rest, at);
    choose(l, before, condition, end->block->id, rest->id, rest->id);
    return end;
}

void build_either(Lower *l, SpvInst *at, SpvId condition, SpvInst **yes, SpvInst **no)
{
    SpvBlock *before = cut(l, at), *rest = at->block;
    *yes = way(l, before, rest, at);
    *no = way(l, (*yes)->block, rest, at);
    choose(l, before, condition, (*yes)->block->id, (*no)->block->id, rest->id);
}

/* ---- elements, one after the other ----------------------------------------------------------- */

LowerEach each_open(Lower *l, SpvInst *at, uint32_t n) { return each_open_part(l, at, n, n); }

LowerEach each_open_part(Lower *l, SpvInst *at, uint32_t n, uint32_t all)
{
    LowerEach e = { .l = l, .at = at, .behind = at, .n = n, .looped = all > UNROLLED && n > 1 };
    if (!e.looped) {
        e.parts = NEW_ARRAY(l->scratch, SpvId, n);
        return e;
    }
    /* Something for what comes before the loop to stand before. */
    e.outside = spv_make(l->m, SpvOpNop, 0, 0, NULL, 0);
    spv_insert_before(at, e.outside);
    build_loop(l, at, n, &e.at, &e.index);
    return e;
}

bool each_next(LowerEach *e)
{
    if (e->k >= (e->looped ? 1 : e->n)) {
        if (e->looped)
            edit_remove(e->l->m, e->outside);
        return false;
    }
    if (!e->looped)
        e->index = build_const(e->l, e->k);
    e->k++;
    return true;
}

SpvId each_get(LowerEach *e, SpvId value, SpvId element)
{
    Lower *l = e->l;
    SpvId variable = 0;
    if (!e->looped)
        return BUILD(l, e->at, SpvOpCompositeExtract, element, value, e->k - 1);
    for (uint32_t k = 0; k < e->held.len; k += 2)
        if (e->held.data[k] == value)
            variable = e->held.data[k + 1];
    if (!variable) {
        variable = build_variable(l, e->at, spv_def(l->m, value)->type);
        build_store(l, e->outside, variable, value);
        vec_push(l->scratch, &e->held, value);
        vec_push(l->scratch, &e->held, variable);
    }
    SpvId p = build_element(l, e->at, SpvStorageClassFunction, element, variable, e->index);
    return build_load(l, e->at, element, p);
}

/* A matrix that stays one is not made of elements, but a variable that they are put into. */
static bool is_composed(const LowerEach *e, SpvId type)
{
    const SpvType *t = spv_type(e->l->m, type);
    return !e->looped && (t->kind != SPV_COOPMAT || lower_is_array(e->l, t));
}

void each_put(LowerEach *e, SpvId type, SpvId element, SpvId value)
{
    Lower *l = e->l;
    if (is_composed(e, type)) {
        e->parts[e->k - 1] = value;
        return;
    }
    if (!e->out) { /* of which nothing is left from the last time that control came by */
        e->out = build_variable(l, e->at, type);
        SpvInst *at = e->looped ? e->outside : e->at;
        build_store(l, at, e->out, build(l, at, SpvOpUndef, type, NULL, 0));
    }
    build_store(l, e->at,
                build_element(l, e->at, SpvStorageClassFunction, element, e->out, e->index), value);
}

SpvId each_result(LowerEach *e, SpvId type)
{
    return e->out ? build_load(e->l, e->behind, type, e->out)
                  : build(e->l, e->behind, SpvOpCompositeConstruct, type, e->parts, e->n);
}
