/* SPDX-License-Identifier: MIT
 *
 * alike: trip counts that usually agree. In: a function after simplify, with loops whose bound is
 * one of two numbers, each the same for all invocations, as where some have a round more than
 * others: `n = size / step; if (n * step + mine < size) n++`. Out: what follows such a choice is
 * there twice. If a subgroup's invocations have all chosen alike, it is computed with the one
 * number, and the loops do not diverge; otherwise the original code runs.
 *
 * Only OpGroupNonUniformAll is used, so that the code generator may still choose how many lanes a
 * subgroup has.
 */
#include "pass/edit.h"

enum { MAX_SIZE = 2048, MAX_BLOCKS = 256, MAX_DEPTH = 4, MAX_CHOICES = 8 };

typedef struct Alike {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    const Uniformity *u;
    SpvInst *chosen;          /* OpSelect or OpPhi */
    SpvId of[2];              /* what it chooses from */
    SpvId known[MAX_CHOICES]; /* choices that have been dealt with */
    uint32_t n_known;
} Alike;

/* ---- what is chosen -------------------------------------------------------------------------- */

static uint32_t position(const Alike *s, const SpvInst *i)
{
    return i && i->block ? s->g->position[i->block->index] : UINT32_MAX;
}

/* Whether an id is there at the end of the block of the choice. */
static bool is_there(const Alike *s, SpvId id)
{
    uint32_t p = position(s, spv_def(s->m, id));
    return p == UINT32_MAX || cfg_dominates(s->g, p, position(s, s->chosen));
}

/* The same, of an id or of what computes it once more. */
static bool can_be_there(const Alike *s, SpvId id)
{
    const SpvInst *i = spv_def(s->m, id);
    uint16_t at[2];
    bool there = is_there(s, id);
    if (there || !edit_cannot_fail(s->m, i) || spv_n_operands(i) != 2 ||
        spv_id_operands(i, at, COUNT_OF(at)) != 2)
        return there;
    return is_there(s, i->words[at[0]]) && is_there(s, i->words[at[1]]);
}

static bool is_known(const Alike *s, SpvId id)
{
    uint32_t k = 0;
    while (k < s->n_known && s->known[k] != id)
        k++;
    return k < s->n_known;
}

/* Whether an id is a new choice between two numbers, to which all come, outside of loops. */
static bool read_choice(Alike *s, SpvId id)
{
    SpvInst *i = spv_def(s->m, id);
    uint32_t p = position(s, i);
    const SpvType *t = spv_type(s->m, i->type);
    bool is_phi = i->op == SpvOpPhi && spv_n_operands(i) == 4;
    if ((!is_phi && i->op != SpvOpSelect) || is_known(s, id) || p == UINT32_MAX ||
        (cfg_merge_inst(i->block) && cfg_merge_inst(i->block)->op == SpvOpLoopMerge) ||
        s->g->blocks[p].loop || s->u->divergent_block[p] || !t || t->kind != SPV_INT)
        return false;
    s->chosen = i;
    s->of[0] = spv_operand(i, is_phi ? 0 : 1);
    s->of[1] = spv_operand(i, 2);
    return !s->u->varying[s->of[0]] && !s->u->varying[s->of[1]] && can_be_there(s, s->of[0]) &&
           can_be_there(s, s->of[1]);
}

/* Whether what a loop is left by depends on a choice, or begins with one. */
static bool depends(Alike *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    uint16_t at[4];
    bool found = false, is_phi = i && i->op == SpvOpPhi;
    if (!i || !i->block || !s->u->varying[id])
        return false;
    if (read_choice(s, id))
        return true;
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    if (depth == MAX_DEPTH || n > COUNT_OF(at) || (!is_phi && !spv_is_pure(i)))
        return false;
    for (uint32_t k = 0; k < n && !found; k += is_phi ? 2 : 1)
        found = depends(s, i->words[at[k]], depth + 1);
    return found;
}

/* False: there is none. *ok is false after reporting an error. */
static bool find_choice(Alike *s, bool *ok)
{
    SpvFunction *f = s->c->entry.function;
    s->g = cfg_build(s->c->scratch, f, s->c->sink);
    *ok = s->g != NULL;
    if (!*ok || s->n_known == MAX_CHOICES || !s->g->n_loops)
        return false;
    s->u = uniformity_build_for(s->c->scratch, s->m, s->g, s->c->options->subgroup_size);
    for (uint32_t k = 0; k < s->g->n_loops; k++) {
        const CfgLoop *loop = s->g->loops[k];
        const SpvInst *term = s->g->blocks[loop->header].block->insts.last;
        if (s->u->divergent_branch[loop->header] && term->op == SpvOpBranchConditional &&
            depends(s, spv_operand(term, 0), 0))
            return true;
    }
    return false;
}

/* ---- the copy -------------------------------------------------------------------------------- */

/* Computes the number again before `at`, where it is not there. */
static SpvId bring(Alike *s, SpvId id, SpvInst *at)
{
    if (is_there(s, id))
        return id;
    SpvInst *i = spv_def(s->m, id);
    return spv_put(s->m, at, i->op, i->type, &i->words[i->first_operand], spv_n_operands(i))->id;
}

/* Before `at`: whether all have chosen alike, and the number that they then have. */
static SpvId ask(Alike *s, SpvInst *at, SpvId *number)
{
    SpvId boolean = spv_bool_type(s->m), type = s->chosen->type, all[2];
    for (uint32_t k = 0; k < 2; k++) {
        s->of[k] = bring(s, s->of[k], at);
        uint32_t both[2] = { s->chosen->id, s->of[k] };
        all[k] =
            edit_all(s->m, at->block, at, spv_put(s->m, at, SpvOpIEqual, boolean, both, 2)->id);
    }
    uint32_t which[3] = { all[0], s->of[0], s->of[1] };
    *number = spv_put(s->m, at, SpvOpSelect, type, which, 3)->id;
    return spv_put(s->m, at, SpvOpLogicalOr, boolean, all, 2)->id;
}

/* What subgroups of a workgroup must do at the same place. */
static bool is_of_workgroup(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    return i->op == SpvOpControlBarrier || i->op == SpvOpControlBarrierArriveEXT ||
           i->op == SpvOpControlBarrierWaitEXT || (info && info->flags & SPV_OPF_GROUP);
}

static bool may_be_twice(const Alike *s, const PassLoopCopy *l)
{
    const uint32_t *size = s->c->entry.local_size;
    uint64_t invocations = (uint64_t)size[0] * size[1] * size[2];
    bool alone = invocations && invocations <= s->c->options->subgroup_size, may = true;
    for (uint32_t k = 0; k < l->blocks.len && !alone; k++)
        for (const SpvInst *i = l->blocks.data[k]->insts.first; i; i = i->next)
            may &= !is_of_workgroup(i);
    return may && l->size <= MAX_SIZE;
}

/* The branch to the rest becomes one to a copy of it if all have chosen alike. Both lead out of the
 * construct: its merge block is not reached. */
static void branch(Alike *s, PassLoopCopy *l, PassLoopMarks *marks, SpvBlock *rest)
{
    SpvBlock *none = spv_new_block(s->g->function, NULL);
    SpvInst *term = s->chosen->block->insts.last;
    SpvId number, alike = ask(s, term, &number),
                  merge[2] = { none->id, SpvSelectionControlMaskNone };
    edit_append(s->m, none, SpvOpUnreachable, NULL, 0);
    marks->map[s->chosen->id] = number;
    loop_copy(l, rest->prev);
    marks->map[s->chosen->id] = 0;
    SpvId to[3] = { alike, loop_mapped(l, rest->id), rest->id };
    spv_insert_before(term, spv_make(s->m, SpvOpSelectionMerge, 0, 0, merge, 2));
    edit_become(s->m, term, SpvOpBranchConditional, to, 3);
    loop_done(l);
}

/* *copied: there was one that may be there twice. */
static bool copy_rest(Alike *s, bool *copied)
{
    SpvFunction *f = s->c->entry.function;
    SpvBlock *b = s->chosen->block;
    PassLoopMarks marks = loop_marks(s->c, s->g);
    PassLoopCopy l;
    s->known[s->n_known++] = s->chosen->id;
    if (!loop_open_behind(&l, s->c, s->g, &marks, b, MAX_BLOCKS) || !may_be_twice(s, &l))
        return true;
    *copied = true;
    SpvBlock *rest =
        edit_split(s->m, s->chosen->op == SpvOpPhi ? edit_after_phis(b) : s->chosen->next);
    edit_append(s->m, b, SpvOpBranch, &rest->id, 1);
    s->g = cfg_build(s->c->scratch, f, s->c->sink);
    if (!s->g)
        return false;
    marks = loop_marks(s->c, s->g);
    loop_open_behind(&l, s->c, s->g, &marks, rest, UINT32_MAX);
    branch(s, &l, &marks, rest);
    return true;
}

bool pass_alike(PassContext *c)
{
    Alike s = { .c = c, .m = c->module };
    bool ok, copied = false;
    if (!c->options->whole)
        return true;
    edit_prune(c->module, c->entry.function, c->scratch);
    while (find_choice(&s, &ok))
        if (!copy_rest(&s, &copied))
            return false;
    if (ok && copied)
        edit_order_blocks(s.g);
    return ok && (!copied || pass_simplify(c));
}
