/* SPDX-License-Identifier: MIT
 *
 * Loops in which each invocation walks along a row of its own, an element at an iteration: a row of
 * a matrix, or of a sparse one, whose columns and values begin anywhere. Several iterations in one
 * block let the code generator load as many elements of each lane at once. strip_mine makes such
 * blocks; here is what it asks for.
 *
 * unrotate. In: a function after simplify. Out: such a loop that was left at its end, as compilers
 * arrange those of OpenCL C (`if (c) do ... while (c)`), is left by its header, by a value that
 * tells whether another iteration follows. strip_mine can then look ahead in it. A loop that
 * counts, and that invocations leave one by one, loses the test before it as well (`for (; c;)`):
 * all come to it, so that whole can do the iterations that all of a subgroup run.
 */
#include "pass/edit.h"

#define NONE UINT32_MAX

enum {
    CHUNK = 16, /* bytes of a row that are loaded at once, at least */
    MANY = 8,   /* iterations at once; what they leave over is done by FEW */
    FEW = 4,
    MAX_SIZE = 768, /* instructions of the block */
    APART = 4,      /* elements from lane to lane, from which lanes are apart */
    MAX_BLOCKS = 16,
    MAX_DEPTH = 6,
};

static const SpvInst *defined_inside(const PassLoopCopy *l, SpvId id)
{
    const SpvInst *i = spv_def(l->c->module, id);
    return i && i->block && i->op != SpvOpLabel && loop_holds(l, i->block) ? i : NULL;
}

/* Whether a value is the same in each iteration, although it is computed in it. */
static bool is_invariant(const PassLoopCopy *l, SpvId id, uint32_t depth)
{
    const SpvInst *i = defined_inside(l, id);
    uint16_t at[8];
    if (!i)
        return true;
    if (!depth || i->op == SpvOpPhi ||
        (!spv_is_pure(i) && !loads_constant(l->c->module, i) && i->op != SpvOpAccessChain))
        return false;
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    for (uint32_t k = 0; k < MIN(n, COUNT_OF(at)); k++)
        if (!is_invariant(l, i->words[at[k]], depth - 1))
            return false;
    return n <= COUNT_OF(at);
}

/* Whether each iteration adds one to a phi of the header, or takes one away. */
static bool counts_by_one(const PassLoopCopy *l, const SpvInst *phi)
{
    const SpvType *t = spv_type(l->c->module, phi->type);
    if (phi->op != SpvOpPhi || phi->block != l->header || !t || t->kind != SPV_INT)
        return false;
    PolynomialReader d = { .m = l->c->module, .bits = t->bits };
    Polynomial next = polynomial_read(&d, loop_incoming(phi, l->latch->id));
    Polynomial now = polynomial_read(&d, phi->id);
    uint64_t by;
    polynomial_add(&d, &next, &now, UINT64_MAX);
    if (!polynomial_number(&next, &by))
        return false;
    uint64_t minus = t->bits < 64 ? (UINT64_C(1) << t->bits) - 1 : UINT64_MAX;
    return by == 1 || by == minus;
}

/* Whether lanes may be far apart in a value, because it is computed of what they load. */
static bool is_loaded(SpvModule *m, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(m, id);
    uint16_t at[8];
    const SpvType *p = i && i->op == SpvOpLoad ? spv_type_of(m, spv_operand(i, 0)) : NULL;
    if (p)
        return p->storage != SpvStorageClassInput && p->storage != SpvStorageClassFunction;
    if (!i || !i->block || i->op == SpvOpPhi || !depth)
        return false;
    uint32_t n = MIN(spv_id_operands(i, at, COUNT_OF(at)), COUNT_OF(at));
    for (uint32_t k = 0; k < n; k++)
        if (is_loaded(m, i->words[at[k]], depth - 1))
            return true;
    return false;
}

/* A term of an index: how it changes from iteration to iteration, and from lane to lane. */
typedef struct Walk {
    bool steps, varies, near, fails;
} Walk;

static void look_at_term(const PassLoopCopy *l, const Uniformity *u, const PolynomialTerm *t,
                         unsigned bits, Walk *w)
{
    const SpvInst *counter = NULL;
    uint32_t factors = 0;
    bool varying = false;
    int64_t times = (int64_t)(t->times << (64 - bits)) >> (64 - bits);
    for (uint32_t k = 0; k < POLYNOMIAL_FACTORS; k++) {
        if (!t->of[k])
            continue;
        if (!is_invariant(l, t->of[k], MAX_DEPTH))
            counter = defined_inside(l, t->of[k]);
        varying |= u->varying[t->of[k]];
        factors++;
    }
    w->varies |= varying;
    if (!counter) {
        w->near |= varying && factors == 1 && times > -APART && times < APART &&
                   !is_loaded(l->c->module, t->of[POLYNOMIAL_FACTORS - 1], MAX_DEPTH);
        return;
    }
    w->fails |=
        factors > 1 || w->steps || (times != 1 && times != -1) || !counts_by_one(l, counter);
    w->steps = true;
}

/* Whether a load reads the next element of a row in each iteration, and lanes are in different
 * rows. */
static bool walks_a_row(const PassLoopCopy *l, const Uniformity *u, const SpvInst *load)
{
    SpvModule *m = l->c->module;
    const SpvInst *chain = spv_def(m, spv_operand(load, 0));
    const SpvType *t = spv_type(m, load->type);
    if (!t || (t->kind != SPV_INT && t->kind != SPV_FLOAT) || t->bits < 8 || !spv_is_chain(chain) ||
        !u->varying[chain->id])
        return false;
    uint32_t last = spv_n_operands(chain) - 1;
    for (uint32_t k = 0; k < last; k++)
        if (!is_invariant(l, spv_operand(chain, k), MAX_DEPTH))
            return false;
    const SpvType *of = spv_type_of(m, spv_operand(chain, last));
    if (!of || of->kind != SPV_INT)
        return false;
    PolynomialReader d = { .m = m,
                           .bits = of->bits,
                           .extends = l->c->entry.model == SpvExecutionModelKernel };
    Polynomial p = polynomial_read(&d, spv_operand(chain, last));
    Walk w = { .fails = p.too_large };
    for (uint32_t k = 0; k < p.n; k++)
        look_at_term(l, u, &p.terms[k], of->bits, &w);
    return w.steps && w.varies && !w.near && !w.fails;
}

uint32_t loop_row_steps(const PassLoopCopy *l, const Uniformity *u, bool rest)
{
    uint32_t least = 0;
    for (uint32_t k = 0; k < l->blocks.len; k++)
        for (const SpvInst *i = l->blocks.data[k]->insts.first; i; i = i->next) {
            if (i->op != SpvOpLoad || !walks_a_row(l, u, i))
                continue;
            uint32_t size = spv_type(l->c->module, i->type)->bits / 8;
            least = least ? MIN(least, size) : size;
        }
    if (!least)
        return 1;
    uint32_t chunk = CHUNK / least, many = MAX(chunk, (uint32_t)MANY);
    if (many * l->size <= MAX_SIZE)
        return rest ? FEW : many;
    uint32_t few = MAX(chunk, (uint32_t)FEW);
    return !rest && few * l->size <= MAX_SIZE ? few : 1;
}

/* ---- unrotate -------------------------------------------------------------------------------- */

typedef struct Rotated {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    PassLoopMarks marks;
    PassIdWords ids;
    PassFold fold;
    PassLoopCopy l;
    SpvBlock *head, *exit; /* the new header; where the loop leads to */
    VEC(SpvInst *) uses;   /* behind the loop, of what is computed in it */
    /* the block with the test before the loop, the one between it and the loop, and the ends of the
     * way around: the block that the loop leads to it from, and where it leads */
    SpvBlock *guard, *before, *via, *behind;
} Rotated;

/* One line, with detours, which its end alone leaves. */
static bool is_left_by_end(const Rotated *s)
{
    uint32_t p = s->l.loop->header, n = 1, joins = p;
    while (p != s->l.loop->latch && n <= s->l.loop->n_blocks) {
        const CfgBlock *b = &s->g->blocks[p];
        PassDetour d = { .n = 0 };
        if (b->n_preds != 1 && p != joins)
            return false;
        p = b->n_succs == 1 ? b->succs[0] : (joins = loop_detour(&s->l, p, &d));
        if (p == NONE)
            return false;
        n += 1 + d.n;
    }
    return n == s->l.loop->n_blocks && s->l.blocks.len == n && s->g->blocks[p].n_succs == 2 &&
           (s->g->blocks[p].n_preds == 1 || p == joins) &&
           s->l.latch->insts.last->op == SpvOpBranchConditional;
}

/* False: a pointer is used behind the loop, of which there is no phi. */
static bool find_uses(Rotated *s)
{
    s->uses.len = 0;
    for (SpvBlock *b = s->g->function->first; b; b = b->next)
        for (SpvInst *i = loop_holds(&s->l, b) ? NULL : b->insts.first; i; i = i->next) {
            bool uses = false;
            edit_ids(i, &s->ids);
            for (uint32_t k = 0; k < s->ids.n; k++) {
                const SpvInst *d = defined_inside(&s->l, i->words[s->ids.at[k]]);
                const SpvType *t = d ? spv_type(s->m, d->type) : NULL;
                if (d && (!t || t->kind == SPV_POINTER || edit_has_matrix(t)))
                    return false;
                uses |= d != NULL;
            }
            if (uses)
                vec_push(s->c->scratch, &s->uses, i);
        }
    return true;
}

/* A phi of the new header: of what the last iteration left, or at first of `first`. */
static SpvInst *put_phi(Rotated *s, SpvId type, SpvId first, SpvId last)
{
    const CfgBlock *h = &s->g->blocks[s->l.loop->header];
    uint32_t *operands = NEW_ARRAY(s->c->scratch, uint32_t, 2 * h->n_preds), n = 0;
    for (uint32_t k = 0; k < h->n_preds; k++) {
        const SpvBlock *p = s->g->blocks[h->preds[k]].block;
        operands[n++] = p == s->l.latch ? last : first;
        operands[n++] = p->id;
    }
    SpvInst *phi = spv_make(s->m, SpvOpPhi, type, spv_new_id(s->m), operands, n);
    s->m->defs[phi->id] = phi;
    spv_insert_after(s->head->insts.first, phi);
    return phi;
}

/* What a value of the last iteration is in the new header. */
static SpvId value_behind(Rotated *s, const SpvInst *value)
{
    for (const SpvInst *i = s->head->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
        if (loop_incoming(i, s->l.latch->id) == value->id)
            return i->id;
    return put_phi(s, value->type, spv_undef(s->m, value->type), value->id)->id;
}

static void change_uses(Rotated *s)
{
    for (uint32_t n = 0; n < s->uses.len; n++) {
        SpvInst *i = s->uses.data[n];
        edit_ids(i, &s->ids);
        for (uint32_t k = 0; k < s->ids.n; k++) {
            SpvId *word = &i->words[s->ids.at[k]];
            const SpvInst *d = spv_def(s->m, *word);
            bool inside = defined_inside(&s->l, *word) || (d && d->block == s->head);
            if (inside && d->op != SpvOpLabel)
                *word = value_behind(s, d);
        }
    }
}

static void move_phis(Rotated *s)
{
    SpvInst *at = s->head->insts.first;
    for (SpvInst *i = s->l.header->insts.first->next, *next; i && i->op == SpvOpPhi; i = next) {
        next = i->next;
        spv_unlink(i);
        spv_insert_after(at, i);
        at = i;
    }
}

/* Puts a block in front of the loop's header that becomes its header. */
static void make_head(Rotated *s)
{
    s->head = spv_new_block(s->g->function, s->l.header->prev);
    s->head->index = s->g->made_later;
    loop_redirect_entries(&s->l, s->head);
    move_phis(s);
}

/* Has the head leave the loop instead of its end, where the condition is not `on_true`. */
static void leave_by_head(Rotated *s, SpvId condition, bool on_true, SpvBlock *exit)
{
    SpvInst *merge = s->l.loop->merge_inst;
    SpvId on = s->l.header->id;
    if (merge) {
        spv_unlink(merge);
        spv_append(s->head, merge);
    }
    uint32_t ways[] = { condition, on_true ? on : exit->id, on_true ? exit->id : on };
    edit_append(s->m, s->head, SpvOpBranchConditional, ways, 3);
    edit_rename_pred(s->m, exit, s->l.latch->id, s->head->id);
    edit_become(s->m, s->l.latch->insts.last, SpvOpBranch, &s->head->id, 1);
}

static void unrotate(Rotated *s)
{
    SpvInst *term = s->l.latch->insts.last;
    bool on_true = spv_operand(term, 1) == s->l.header->id;
    SpvId boolean = spv_bool_type(s->m), goes_on = spv_operand(term, 0);
    SpvBlock *exit = edit_block(s->m, spv_operand(term, on_true ? 2 : 1));
    if (!on_true)
        goes_on = spv_put(s->m, term, SpvOpLogicalNot, boolean, &goes_on, 1)->id;
    make_head(s);
    change_uses(s);
    SpvInst *go = put_phi(s, boolean, fold_bool(&s->fold, boolean, true), goes_on);
    leave_by_head(s, go->id, true, exit);
}

/* ---- guards ---------------------------------------------------------------------------------- */

/* What all invocations may do, even those that the test keeps from it. */
static bool is_harmless(const Rotated *s, const SpvBlock *b)
{
    for (const SpvInst *i = b->insts.first->next; i && i != b->insts.last; i = i->next) {
        const SpvInst *p = i->op == SpvOpLoad ? spv_def(s->m, spv_operand(i, 0)) : NULL;
        bool input = p && p->op == SpvOpVariable && spv_operand(p, 0) == SpvStorageClassInput;
        if (!input && !spv_is_pure(i) && i->op != SpvOpLine && i->op != SpvOpNoLine)
            return false;
    }
    return true;
}

static bool only_leads_on(const Rotated *s, uint32_t p)
{
    const SpvBlock *b = s->g->blocks[p].block;
    const SpvInst *i = b->insts.first->next;
    while (i != b->insts.last && (i->op == SpvOpLine || i->op == SpvOpNoLine))
        i = i->next;
    return i == b->insts.last && s->g->blocks[p].n_preds == 1 && s->g->blocks[p].n_succs == 1;
}

/* Of a block's conditional branch: where it leads if not to `to`. */
static SpvBlock *other_way(const Rotated *s, const SpvBlock *b, const SpvBlock *to)
{
    const SpvInst *term = b->insts.last;
    return edit_block(s->m, spv_operand(term, spv_operand(term, 1) == to->id ? 2 : 1));
}

/* if (c) { before; do ... while (c); } behind */
static bool has_guard(Rotated *s)
{
    const Cfg *g = s->g;
    const CfgBlock *h = &g->blocks[s->l.loop->header];
    uint32_t latch = s->l.loop->latch, p = NONE;
    for (uint32_t k = 0; k < h->n_preds; k++)
        p = h->preds[k] == latch ? p : h->preds[k];
    if (h->n_preds != 2 || p == NONE || g->blocks[p].n_preds != 1 || g->blocks[p].n_succs != 1)
        return false;
    const CfgBlock *guard = &g->blocks[g->blocks[p].preds[0]];
    s->before = g->blocks[p].block;
    s->guard = guard->block;
    if (guard->n_succs != 2 || s->guard->insts.last->op != SpvOpBranchConditional ||
        !is_harmless(s, s->before))
        return false;
    SpvBlock *out = other_way(s, s->l.latch, s->l.header);
    uint32_t at = g->position[out->index];
    bool passes = only_leads_on(s, at);
    s->via = passes ? out : s->l.latch;
    s->behind = passes ? g->blocks[g->blocks[at].succs[0]].block : out;
    return other_way(s, s->guard, s->before) == s->behind;
}

/* A phi of the loop's header, or its head's, that is these two. */
static const SpvInst *phi_of(const Rotated *s, const SpvBlock *b, SpvId first, SpvId last)
{
    const SpvInst *i = b->insts.first->next;
    while (i && i->op == SpvOpPhi &&
           (loop_incoming(i, s->before->id) != first || loop_incoming(i, s->l.latch->id) != last))
        i = i->next;
    return i && i->op == SpvOpPhi ? i : NULL;
}

/* Whether the test before the loop is the one at its end, of what the loop begins with. */
static bool tests_the_same(const Rotated *s)
{
    const SpvInst *first = s->guard->insts.last, *last = s->l.latch->insts.last;
    bool same_way =
        (spv_operand(first, 1) == s->before->id) == (spv_operand(last, 1) == s->l.header->id);
    const SpvInst *c0 = spv_def(s->m, spv_operand(first, 0));
    const SpvInst *c1 = spv_def(s->m, spv_operand(last, 0));
    if (!same_way || !c0 || !c1 || c0->op != c1->op || c0->op < SpvOpIEqual ||
        c0->op > SpvOpSLessThanEqual || c0 == c1)
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        SpvId x = spv_operand(c0, k), y = spv_operand(c1, k);
        if (x != y && !phi_of(s, s->l.header, x, y))
            return false;
    }
    return true;
}

static bool has_phis_of_numbers(const Rotated *s)
{
    for (const SpvInst *i = s->behind->insts.first->next; i && i->op == SpvOpPhi; i = i->next) {
        const SpvType *t = spv_type(s->m, i->type);
        if (!t || t->kind == SPV_POINTER || edit_has_matrix(t))
            return false;
    }
    return true;
}

/* What is behind the loop is what its head has then. */
static void lead_behind(Rotated *s)
{
    for (SpvInst *i = s->behind->insts.first->next; i && i->op == SpvOpPhi; i = i->next) {
        SpvId first = loop_incoming(i, s->guard->id), last = loop_incoming(i, s->via->id);
        const SpvInst *phi = phi_of(s, s->head, first, last);
        SpvId now = phi ? phi->id : put_phi(s, i->type, first, last)->id;
        for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2)
            if (spv_operand(i, k + 1) == s->via->id)
                i->words[i->first_operand + k] = now;
    }
    edit_remove_pred(s->m, s->behind, s->guard->id);
}

static void unguard(Rotated *s)
{
    SpvBlock *header = s->l.header, *out = other_way(s, s->l.latch, header);
    SpvInst *guard = s->guard->insts.last;
    const SpvInst *term = s->l.latch->insts.last, *c0 = spv_def(s->m, spv_operand(guard, 0));
    const SpvInst *c1 = spv_def(s->m, spv_operand(term, 0));
    bool on_true = spv_operand(term, 1) == header->id;
    uint32_t x[2];
    for (uint32_t k = 0; k < 2; k++) {
        const SpvInst *phi = phi_of(s, header, spv_operand(c0, k), spv_operand(c1, k));
        x[k] = phi ? phi->id : spv_operand(c0, k);
    }
    make_head(s);
    lead_behind(s);
    SpvInst *c = spv_make(s->m, c1->op, c1->type, spv_new_id(s->m), x, 2);
    s->m->defs[c->id] = c;
    spv_append(s->head, c);
    leave_by_head(s, c->id, on_true, out);
    if (guard->prev && guard->prev->op == SpvOpSelectionMerge)
        spv_unlink(guard->prev);
    edit_become(s->m, guard, SpvOpBranch, &s->before->id, 1);
}

static bool try_loop(Rotated *s, const CfgLoop *loop, const Uniformity *u)
{
    if (!loop_open(&s->l, s->c, s->g, &s->marks, loop, MAX_BLOCKS) || !is_left_by_end(s))
        return false;
    if (loop_row_steps(&s->l, u, false) >= 2) {
        if (!find_uses(s))
            return false;
        unrotate(s);
        return true;
    }
    if (!u->divergent_branch[loop->latch] || !has_guard(s) || !tests_the_same(s) ||
        !has_phis_of_numbers(s))
        return false;
    unguard(s);
    return true;
}

bool pass_unrotate(PassContext *c)
{
    SpvFunction *f = c->entry.function;
    bool any = false;
    if (!c->options->whole)
        return true;
    edit_prune(c->module, f, c->scratch);
    Rotated *s = NEW(c->scratch, Rotated);
    s->c = c;
    s->m = c->module;
    s->g = cfg_build(c->scratch, f, c->sink);
    if (!s->g)
        return false;
    const Uniformity *u =
        uniformity_build_for(c->scratch, c->module, s->g, c->options->subgroup_size);
    s->marks = loop_marks(c, s->g);
    s->fold = fold_open(c->module, c->scratch);
    for (uint32_t k = 0; k < s->g->n_loops; k++)
        any |= try_loop(s, s->g->loops[k], u);
    if (!any)
        return true;
    Cfg *g = cfg_build(c->scratch, f, c->sink);
    if (!g)
        return false;
    edit_order_blocks(g);
    return true;
}
