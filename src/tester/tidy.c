/* SPDX-License-Identifier: MIT
 *
 * tidy: what nothing needs goes. It changes nothing else: a module is made small around a fault of
 * a driver's, which any clever rewriting might lose.
 */
#include "tester/internal.h"

typedef struct Tidy {
    SpvModule *m;
    Arena *scratch;
    uint32_t bound;
    SpvBlock **blocks; /* by label */
    bool *reached;     /* by label */
    uint32_t *uses;    /* by id */
} Tidy;

/* ---- blocks that are not reached ------------------------------------------------------------- */

static void reach(Tidy *t, SpvId label);

/* Branches and what merge instructions name: a construct's blocks have to be there. */
static void reach_from(Tidy *t, const SpvInst *i)
{
    uint32_t from, step, end;
    if (!spv_label_operands(i, &from, &step, &end))
        return;
    for (uint32_t k = from; k < end; k += step)
        reach(t, spv_operand(i, k));
}

static void reach(Tidy *t, SpvId label)
{
    SpvBlock *b = label < t->bound ? t->blocks[label] : NULL;
    if (!b || t->reached[label])
        return;
    t->reached[label] = true;
    for (const SpvInst *i = b->insts.first; i; i = i->next)
        reach_from(t, i);
}

static bool is_merge(const SpvInst *i)
{
    return i->op == SpvOpSelectionMerge || i->op == SpvOpLoopMerge;
}

static bool goes_to(const SpvBlock *b, SpvId label)
{
    uint32_t from, step, end;
    if (is_merge(b->insts.last) || !spv_label_operands(b->insts.last, &from, &step, &end))
        return false;
    for (uint32_t k = from; k < end; k += step)
        if (spv_operand(b->insts.last, k) == label)
            return true;
    return false;
}

/* A value for each block that goes there, as before or null. */
static void mend_phi(Tidy *t, SpvInst *phi)
{
    SpvFunction *f = phi->block->function;
    VEC(uint32_t) words = { 0 };
    for (SpvBlock *b = f->first; b; b = b->next) {
        SpvId value = 0;
        if (!goes_to(b, phi->block->id))
            continue;
        for (uint32_t k = 0; k + 1 < spv_n_operands(phi); k += 2)
            if (spv_operand(phi, k + 1) == b->id)
                value = spv_operand(phi, k);
        vec_push(t->scratch, &words, value ? value : spv_null_constant(t->m, phi->type));
        vec_push(t->scratch, &words, b->id);
    }
    SpvInst *made = spv_make(t->m, SpvOpPhi, phi->type, phi->id, words.data, words.len);
    spv_insert_before(phi, made);
    spv_unlink(phi);
}

static void drop_block(Tidy *t, SpvBlock *b)
{
    for (const SpvInst *i = b->insts.first; i; i = i->next)
        if (i->id)
            t->m->defs[i->id] = NULL;
    spv_unlink_block(b);
}

static void prune(Tidy *t, SpvFunction *f)
{
    for (SpvBlock *b = f->first; b; b = b->next)
        t->blocks[b->id] = b;
    if (f->first)
        reach(t, f->first->id);
    for (SpvBlock *b = f->first, *next; b; b = next) {
        next = b->next;
        if (!t->reached[b->id])
            drop_block(t, b);
    }
    spv_number_blocks(f);
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first->next, *next; i && i->op == SpvOpPhi; i = next) {
            next = i->next;
            mend_phi(t, i);
        }
}

/* ---- values that are gone, and values that nobody wants -------------------------------------- */

typedef struct Missing {
    Tidy *t;
    const SpvInst *const *were; /* by id: definitions before anything was dropped */
} Missing;

/* Labels that are gone belong to no operand that is left. */
static void replace_missing(void *user, uint32_t *id)
{
    Missing *x = user;
    const SpvInst *was = *id < x->t->bound ? x->were[*id] : NULL;
    if (was && !spv_def(x->t->m, *id) && was->type)
        *id = spv_null_constant(x->t->m, was->type);
}

static bool may_go(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    bool effect = info->flags & (SPV_OPF_ATOMIC | SPV_OPF_BARRIER);
    if (!i->id || !i->type || effect || i->op == SpvOpFunctionCall || i->op == SpvOpFunction ||
        i->op == SpvOpFunctionParameter)
        return false;
    return i->op == SpvOpLoad || i->op == SpvOpVariable || i->op == SpvOpPhi ||
           i->op == SpvOpCooperativeMatrixLoadKHR || i->op == SpvOpCooperativeMatrixLoadTensorNV ||
           spv_is_pure(i) || info->flags & SPV_OPF_GROUP;
}

static void count_use(void *user, uint32_t *id)
{
    Tidy *t = user;
    if (*id < t->bound)
        t->uses[*id]++;
}

static bool is_about(const SpvInst *i) /* names and decorations, which are no uses */
{
    const SpvOpInfo *info = spv_op_info(i->op);
    return info->flags & (SPV_OPF_DEBUG | SPV_OPF_ANNOTATION) || i->op == SpvOpEntryPoint ||
           i->op == SpvOpExecutionMode || i->op == SpvOpExecutionModeId;
}

static bool visit_uses(void *user, SpvInst *i)
{
    Tidy *t = user;
    if (i->op == SpvOpEntryPoint)
        t->uses[spv_operand(i, 1)]++;
    if (is_about(i) && i->op != SpvOpExecutionModeId)
        return true;
    spv_each_id(i, count_use, t);
    if (i->type)
        t->uses[i->type]++;
    return true;
}

static bool drop_unused_in(Tidy *t, SpvFunction *f)
{
    bool any = false;
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.last, *prev; i; i = prev) {
            prev = i->prev;
            if (!may_go(i) || t->uses[i->id])
                continue;
            t->m->defs[i->id] = NULL;
            spv_unlink(i);
            any = true;
        }
    return any;
}

static bool drop_function(Tidy *t, SpvFunction *before, SpvFunction *f)
{
    if (!before || t->uses[f->def->id]) /* a module begins with one that is called, or the kernel */
        return false;
    for (SpvInst *i = f->head.first; i; i = i->next)
        if (i->id)
            t->m->defs[i->id] = NULL;
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            if (i->id)
                t->m->defs[i->id] = NULL;
    before->next = f->next;
    if (t->m->last_function == f)
        t->m->last_function = before;
    return true;
}

static bool drop_functions(Tidy *t)
{
    bool any = false;
    SpvFunction *before = NULL;
    for (SpvFunction *f = t->m->functions, *next; f; f = next) {
        next = f->next;
        if (drop_function(t, before, f))
            any = true;
        else
            before = f;
    }
    return any;
}

static bool drop_globals(Tidy *t)
{
    bool any = false;
    for (SpvInst *i = t->m->globals.last, *prev; i; i = prev) {
        prev = i->prev;
        const SpvOpInfo *info = spv_op_info(i->op);
        bool declares = info->flags & (SPV_OPF_TYPE | SPV_OPF_CONSTANT) || i->op == SpvOpVariable;
        if (!i->id || !declares || t->uses[i->id])
            continue;
        t->m->defs[i->id] = NULL;
        spv_unlink(i);
        any = true;
    }
    return any;
}

/* ---- what is said of what is gone ------------------------------------------------------------ */

static SpvInst *without_missing(Tidy *t, SpvInst *entry)
{
    VEC(uint32_t) words = { 0 };
    uint32_t name_words;
    spv_string(entry, 2, &name_words);
    for (uint32_t k = 0; k < spv_n_operands(entry); k++)
        if (k < 2 + name_words || spv_def(t->m, spv_operand(entry, k)))
            vec_push(t->scratch, &words, spv_operand(entry, k));
    SpvInst *made = spv_make(t->m, SpvOpEntryPoint, 0, 0, words.data, words.len);
    spv_insert_before(entry, made);
    spv_unlink(entry);
    return made;
}

static void sweep(Tidy *t)
{
    for (SpvInst *i = t->m->globals.first, *next; i; i = next) {
        next = i->next;
        if (i->op == SpvOpEntryPoint)
            without_missing(t, i);
        else if (is_about(i) && i->op != SpvOpString && spv_n_operands(i) && !i->id &&
                 i->op != SpvOpSource && i->op != SpvOpSourceExtension &&
                 !spv_def(t->m, spv_operand(i, 0)))
            spv_unlink(i);
    }
}

void tidy_module(SpvModule *m, Arena *scratch)
{
    Tidy t = { .m = m, .scratch = scratch, .bound = m->bound };
    t.blocks = NEW_ARRAY(scratch, SpvBlock *, t.bound);
    t.reached = NEW_ARRAY(scratch, bool, t.bound);
    Missing x = { &t, arena_copy(scratch, m->defs, t.bound * sizeof *m->defs) };
    for (SpvFunction *f = m->functions; f; f = f->next)
        prune(&t, f);
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next)
                spv_each_id(i, replace_missing, &x);
    for (bool more = true; more;) {
        t.bound = m->bound;
        t.uses = NEW_ARRAY(scratch, uint32_t, t.bound);
        spv_each_inst(m, visit_uses, &t);
        more = drop_functions(&t);
        for (SpvFunction *f = m->functions; f && !more; f = f->next)
            more |= drop_unused_in(&t, f);
        more |= !more && drop_globals(&t);
    }
    sweep(&t);
    spv_forget_types(m);
}
