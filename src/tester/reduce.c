/* SPDX-License-Identifier: MIT
 *
 * Making a finding small: changes to its module are tried, many at once and then fewer, and kept as
 * long as the driver still does what it did, while heddle's checks accept the module and the
 * reference device finds no mistake in it (so that nothing that is left is undefined).
 */
#include <stdio.h>

#include "tester/internal.h"

/* What a change does to the instructions that it suits. */
typedef enum Change {
    SKIP_CONSTRUCTS, /* from a header straight to its merge block */
    TAKE_ONE_WAY,    /* of a branch: the first, and the construct's header is none any more */
    TAKE_OTHER_WAY,
    DROP_EFFECTS, /* stores, barriers, atomics without a use */
    USE_OPERANDS, /* an operand of the same type in place of a result */
    USE_NULLS,    /* a null in place of a result */
    N_CHANGES
} Change;

typedef struct Reducer {
    TesterWorker *w;
    TesterCase best;
    TesterVerdict verdict;
    Arena *arena; /* of the best module */
    double deadline;
} Reducer;

/* ---- changes --------------------------------------------------------------------------------- */

static bool is_header(const SpvInst *i)
{
    return i->op == SpvOpSelectionMerge || i->op == SpvOpLoopMerge;
}

static void go_straight(SpvModule *m, SpvInst *merge, SpvId to)
{
    SpvBlock *b = merge->block;
    spv_unlink(b->insts.last);
    spv_unlink(merge);
    spv_append(b, spv_make(m, SpvOpBranch, 0, 0, &to, 1));
}

static bool is_conditional(const SpvInst *i)
{
    return i->op == SpvOpBranchConditional || i->op == SpvOpSwitch;
}

/* The first operand that is a value of the result's type; 0. */
static SpvId like_operand(const SpvModule *m, const SpvInst *i)
{
    uint16_t at[16];
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    for (uint32_t k = 0; k < MIN(n, COUNT_OF(at)); k++) {
        const SpvInst *def = spv_def(m, i->words[at[k]]);
        if (def && def->type == i->type && def->op != SpvOpLabel)
            return def->id;
    }
    return 0;
}

static bool has_value(SpvModule *m, const SpvInst *i)
{
    const SpvType *t = i->id && i->type ? spv_type(m, i->type) : NULL;
    return t && t->kind != SPV_VOID && t->kind != SPV_POINTER && t->kind <= SPV_COOPMAT;
}

static bool is_effect(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    if (info->flags & (SPV_OPF_TERMINATOR | SPV_OPF_DEBUG) || is_header(i) || i->op == SpvOpLabel ||
        i->op == SpvOpVariable)
        return false;
    return !i->type || info->flags & (SPV_OPF_ATOMIC | SPV_OPF_BARRIER) ||
           i->op == SpvOpFunctionCall;
}

static bool suits(SpvModule *m, Change change, const SpvInst *i)
{
    switch (change) {
    case SKIP_CONSTRUCTS: return is_header(i);
    case TAKE_ONE_WAY:
    case TAKE_OTHER_WAY: return i->op == SpvOpSelectionMerge && is_conditional(i->next);
    case DROP_EFFECTS: return is_effect(i);
    case USE_OPERANDS:
        return has_value(m, i) && i->op != SpvOpPhi && !is_effect(i) && like_operand(m, i);
    default: return has_value(m, i) && !is_effect(i);
    }
}

static void change_one(SpvModule *m, Change change, SpvInst *i)
{
    switch (change) {
    case SKIP_CONSTRUCTS: go_straight(m, i, spv_operand(i, 0)); return;
    case TAKE_ONE_WAY:
    case TAKE_OTHER_WAY: {
        const SpvInst *branch = i->next;
        uint32_t n = spv_n_operands(branch);
        go_straight(
            m, i,
            spv_operand(branch, change == TAKE_ONE_WAY
                                    ? 1
                                    : MIN(n > 3 && branch->op == SpvOpSwitch ? 3 : 2, n - 1)));
        return;
    }
    default: break;
    }
    SpvId value = 0;
    if (change == USE_OPERANDS)
        value = like_operand(m, i);
    else if (has_value(m, i))
        value = spv_null_constant(m, i->type);
    if (value)
        spv_replace_uses(m, i->id, value);
    spv_unlink(i);
    if (i->id)
        m->defs[i->id] = NULL;
}

/* Those from the `first`-th on, `n` of them, in all functions; returns how many there are. */
static uint32_t change_some(SpvModule *m, Change change, uint32_t first, uint32_t n)
{
    uint32_t at = 0;
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first, *next; i; i = next) {
                next = i->next;
                if (!suits(m, change, i))
                    continue;
                bool wanted = at >= first && at - first < n;
                at++;
                if (!wanted)
                    continue;
                bool branch = is_header(i);
                change_one(m, change, i);
                if (branch)
                    break; /* that was the block's end */
            }
    return at;
}

/* ---- trying ---------------------------------------------------------------------------------- */

static bool is_late(const Reducer *r) { return clock_seconds() > r->deadline; }

static bool still(Reducer *r, const TesterCase *c)
{
    r->w->box->checked = true;
    bool same = worker_run(r->w, c) == r->verdict;
    r->w->box->checked = false;
    return same;
}

/* The best case becomes one with those changes, if it may. */
static bool attempt(Reducer *r, Change change, uint32_t first, uint32_t n, uint32_t *of)
{
    Arena a = { 0 };
    DiagSink quiet = { 0 };
    SpvModule *m = spv_read(&a, r->best.words, r->best.size, "reduced", &quiet);
    TesterCase c = r->best;
    bool better = false;
    *of = m ? change_some(m, change, first, n) : 0;
    if (m && first < *of) {
        tidy_module(m, &a);
        c.words = spv_write(&a, m, &c.size);
        better = c.size < r->best.size && still(r, &c);
    }
    if (better) {
        r->best.words = arena_copy(r->arena, c.words, c.size);
        r->best.size = c.size;
    }
    arena_free(&a);
    return better;
}

/* One kind of change, of half of the places at once, then of a quarter... */
static bool try_change(Reducer *r, Change change)
{
    uint32_t of = 0, first;
    bool any = false;
    attempt(r, change, UINT32_MAX, 0, &of);
    for (uint32_t n = MAX(of / 2, 1); of; n = n / 2) {
        for (first = 0; first < of && !is_late(r);) {
            if (attempt(r, change, first, n, &of))
                any = true; /* those behind have moved up */
            else
                first += n;
        }
        if (n == 1 || is_late(r))
            break;
    }
    return any;
}

static void try_input(Reducer *r)
{
    TesterCase c = r->best;
    c.groups = 1;
    if (r->best.groups > 1 && still(r, &c))
        r->best = c;
    for (uint32_t k = 0; k < r->best.n_buffers && !is_late(r); k++) {
        const TesterBuffer *b = &r->best.buffers[k];
        c = r->best;
        uint8_t *data = arena_copy(r->arena, c.data, c.data_size);
        memset(data + b->at, 0, b->size);
        c.data = data;
        if (memcmp(data, r->best.data, c.data_size) && still(r, &c))
            r->best = c;
    }
}

TesterCase reduce_case(Arena *a, TesterWorker *w, const TesterCase *c, TesterVerdict v)
{
    double patience = v == TESTER_HANGS ? 120 : 40;
    double before = w->patience;
    Reducer r = { w, *c, v, a, clock_seconds() + patience };
    if (!still(&r, c)) /* not again, or the kernel has mistakes */
        return *c;
    w->patience = MIN(before, 3);
    bool more = true;
    for (int round = 0; more && round < 4 && !is_late(&r); round++) {
        more = false;
        for (Change change = 0; change < N_CHANGES; change++)
            more |= try_change(&r, change);
    }
    try_input(&r);
    w->patience = before;
    still(&r, &r.best); /* what it says is in the mailbox now */
    return r.best;
}

/* ---- telling findings apart ------------------------------------------------------------------ */

static bool is_common(uint16_t op)
{
    static const uint16_t common[] = {
        SpvOpLabel,    SpvOpReturn,         SpvOpLoad,
        SpvOpStore,    SpvOpAccessChain,    SpvOpBranch,
        SpvOpVariable, SpvOpSelectionMerge, SpvOpCompositeExtract,
    };
    for (uint32_t k = 0; k < COUNT_OF(common); k++)
        if (common[k] == op)
            return true;
    return false;
}

const char *tester_signature(Arena *a, const TesterCase *c, uint32_t *instructions)
{
    DiagSink quiet = { 0 };
    SpvModule *m = spv_read(a, c->words, c->size, "finding", &quiet);
    uint32_t n_ops;
    const SpvOpInfo *ops = spv_all_ops(&n_ops);
    uint8_t *seen = NEW_ARRAY(a, uint8_t, 65536);
    Str text = { 0 };
    *instructions = 0;
    str_add(a, &text, "");
    for (SpvFunction *f = m ? m->functions : NULL; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next) {
                *instructions += !(spv_op_info(i->op)->flags & SPV_OPF_DEBUG);
                seen[i->op] = !(spv_op_info(i->op)->flags & SPV_OPF_DEBUG);
            }
    for (uint32_t k = 0; k < n_ops; k++)
        if (seen[ops[k].op] && !is_common(ops[k].op))
            str_printf(a, &text, "%s%s", text.len ? " " : "", ops[k].name);
    return text.data;
}
