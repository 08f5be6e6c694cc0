/* SPDX-License-Identifier: MIT
 *
 * structure: exits that SPIR-V 2.11.2 does not allow. In: merge instructions where source code had
 * them, and branches that leave more than one loop or switch at once: returns from loops of
 * functions that were inlined, breaks from iterations that were unrolled. Out: such a branch sets a
 * variable of its construct and goes to that one's merge block, which branches on, from construct
 * to construct, and values that no longer dominate their uses go through variables. Needs a
 * reducible graph. In a report of loops that load ahead, says where that cannot be done.
 */
#include "pass/edit.h"

enum { MOST_ROUNDS = 4096 };

/* A loop or a selection that a merge instruction names, with what is around it. */
typedef struct Construct {
    SpvInst *merge; /* OpLoopMerge, OpSelectionMerge */
    uint32_t header;
    int parent; /* -1: none */
    bool is_loop;
    bool is_breakable; /* or a switch */
} Construct;

typedef struct Structure {
    PassContext *c;
    SpvModule *m;
    Arena *a;
    SpvFunction *f;
    Cfg *g;
    VEC(Construct) constructs;
    int *inner; /* by position: the innermost construct that a block is in */
    PassIdWords ids;
    bool failed;
} Structure;

/* ---- constructs ------------------------------------------------------------------------------ */

static uint32_t position_of(const Structure *s, SpvId label)
{
    const SpvBlock *b = edit_block(s->m, label);
    return b ? s->g->position[b->index] : UINT32_MAX;
}

/* Blocks that the header dominates and the merge block does not, of those around it: what comes
 * behind an outer construct is none of it, even where only this one leads there. */
static void enclose(Structure *s, int k)
{
    const Construct *x = &s->constructs.data[k];
    uint32_t merge = position_of(s, spv_operand(x->merge, 0));
    for (uint32_t b = x->header; b + 1 < s->g->n; b++) {
        bool behind = merge != UINT32_MAX && cfg_dominates(s->g, merge, b);
        if (s->inner[b] == x->parent && !behind && cfg_dominates(s->g, x->header, b))
            s->inner[b] = k;
    }
}

/* Outer ones come first, as their headers do. */
static bool find_constructs(Structure *s)
{
    spv_number_blocks(s->f);
    s->g = cfg_build(s->a, s->f, s->c->sink);
    if (!s->g)
        return false;
    s->constructs.len = 0;
    s->inner = NEW_ARRAY(s->a, int, s->g->n);
    for (uint32_t b = 0; b < s->g->n; b++)
        s->inner[b] = -1;
    for (uint32_t b = 0; b + 1 < s->g->n; b++) {
        SpvBlock *block = s->g->blocks[b].block;
        SpvInst *merge = cfg_merge_inst(block);
        if (!merge)
            continue;
        bool loop = merge->op == SpvOpLoopMerge;
        Construct x = { .merge = merge,
                        .header = b,
                        .parent = s->inner[b],
                        .is_loop = loop,
                        .is_breakable = loop || block->insts.last->op == SpvOpSwitch };
        vec_push(s->a, &s->constructs, x);
        enclose(s, (int)s->constructs.len - 1);
    }
    return true;
}

static bool contains(const Structure *s, int k, uint32_t block)
{
    for (int at = s->inner[block]; at >= 0; at = s->constructs.data[at].parent)
        if (at == k)
            return true;
    return false;
}

static int innermost(const Structure *s, uint32_t block, bool loop)
{
    int k = s->inner[block];
    while (k >= 0 && !(loop ? s->constructs.data[k].is_loop : s->constructs.data[k].is_breakable))
        k = s->constructs.data[k].parent;
    return k;
}

/* ---- exits ----------------------------------------------------------------------------------- */

/* To the merge block of the innermost switch or loop, to that of the innermost loop or to where it
 * continues, or nowhere out of them. */
static bool may_branch(const Structure *s, uint32_t from, SpvId to)
{
    int k = innermost(s, from, false), loop = innermost(s, from, true);
    if (k < 0 || contains(s, k, position_of(s, to)))
        return true;
    const Construct *x = &s->constructs.data[k];
    if (spv_operand(x->merge, 0) == to)
        return true;
    if (loop < 0)
        return false;
    const Construct *l = &s->constructs.data[loop];
    return spv_operand(l->merge, 0) == to || spv_operand(l->merge, 1) == to ||
           s->g->blocks[l->header].block->id == to;
}

/* A branch that is not allowed: the construct that it leaves at once, and where it goes. */
static bool find_exit(const Structure *s, int *construct, SpvId *to)
{
    for (uint32_t b = 0; b + 1 < s->g->n; b++) {
        const SpvInst *term = s->g->blocks[b].block->insts.last;
        for (uint32_t k = 0, at; (at = cfg_target(term, k)); k++)
            if (!may_branch(s, b, term->words[at])) {
                *construct = innermost(s, b, false);
                *to = term->words[at];
                return true;
            }
    }
    return false;
}

/* Whether a construct is entered elsewhere than at its header, as where an unrolled iteration is
 * left for a block that others share. Where a loop continues is in whatever leads there. */
static bool is_entered_beside(const Structure *s)
{
    for (uint32_t b = 0; b + 1 < s->g->n; b++) {
        const SpvInst *term = s->g->blocks[b].block->insts.last;
        int loop = innermost(s, b, true);
        for (uint32_t k = 0, at; (at = cfg_target(term, k)); k++) {
            uint32_t to = position_of(s, term->words[at]);
            int x = to < s->g->n ? s->inner[to] : -1;
            if (x >= 0 && s->constructs.data[x].header == to)
                x = s->constructs.data[x].parent;
            bool continues =
                loop >= 0 && spv_operand(s->constructs.data[loop].merge, 1) == term->words[at];
            if (x >= 0 && !continues && !contains(s, x, b))
                return true;
        }
    }
    return false;
}

/* ---- variables ------------------------------------------------------------------------------- */

static SpvId variable_for(Structure *s, SpvId type)
{
    uint32_t storage = SpvStorageClassFunction;
    SpvInst *v = spv_make(s->m, SpvOpVariable, spv_pointer_type(s->m, storage, type),
                          spv_new_id(s->m), &storage, 1);
    spv_insert_after(s->f->first->insts.first, v);
    return v->id;
}

/* Where something goes at a block's end. */
static SpvInst *end_of(const SpvBlock *b)
{
    SpvInst *merge = cfg_merge_inst(b);
    return merge ? merge : b->insts.last;
}

static void keep(Structure *s, SpvInst *at, SpvId variable, SpvId value)
{
    spv_insert_before(at, spv_make(s->m, SpvOpStore, 0, 0, (uint32_t[]){ variable, value }, 2));
}

static SpvId fetch(Structure *s, SpvInst *at, SpvId type, SpvId variable)
{
    SpvInst *i = spv_make(s->m, SpvOpLoad, type, spv_new_id(s->m), &variable, 1);
    spv_insert_before(at, i);
    return i->id;
}

/* A block's phis become variables, stored where their edges come from. */
static void drop_phis(Structure *s, SpvBlock *b)
{
    for (SpvInst *i = b->insts.first->next, *next; i && i->op == SpvOpPhi; i = next) {
        next = i->next;
        const SpvType *t = spv_type(s->m, i->type);
        if (t && t->kind == SPV_POINTER) {
            s->failed = true;
            return;
        }
        SpvId v = variable_for(s, i->type);
        for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2)
            keep(s, end_of(edit_block(s->m, spv_operand(i, k + 1))), v, spv_operand(i, k));
        SpvInst *value = spv_make(s->m, SpvOpLoad, i->type, i->id, &v, 1);
        SpvInst *at = edit_after_phis(b);
        edit_remove(s->m, i);
        spv_insert_before(at, value);
        s->m->defs[value->id] = value;
    }
}

/* ---- the way out ----------------------------------------------------------------------------- */

/* The variable is false wherever the construct is entered. */
static void reset(Structure *s, const Construct *x, SpvId variable)
{
    SpvId no = spv_int_constant(s->m, spv_bool_type(s->m), 0);
    const CfgBlock *header = &s->g->blocks[x->header];
    if (!x->is_loop) {
        keep(s, end_of(header->block), variable, no);
        return;
    }
    for (uint32_t k = 0; k < header->n_preds; k++)
        if (!cfg_dominates(s->g, x->header, header->preds[k]))
            keep(s, end_of(s->g->blocks[header->preds[k]].block), variable, no);
}

/* The block of an edge alone, which says that the construct is left for good. */
static void leave_by(Structure *s, SpvBlock *from, SpvId to, SpvId merge, SpvId variable)
{
    SpvBlock *edge = spv_new_block(s->f, from);
    edit_retarget(from->insts.last, to, edge->id);
    SpvId yes = spv_int_constant(s->m, spv_bool_type(s->m), 1);
    edit_append(s->m, edge, SpvOpStore, (uint32_t[]){ variable, yes }, 2);
    edit_append(s->m, edge, SpvOpBranch, &merge, 1);
}

/* A merge block begins with the question. Where it is a loop's header, what follows is that. */
static void branch_on(Structure *s, SpvBlock *m, SpvId to, SpvId variable)
{
    uint32_t at = s->g->position[m->index];
    SpvBlock *rest = edit_split(s->m, edit_after_phis(m));
    for (uint32_t b = at; b != UINT32_MAX && b + 1 < s->g->n; b++) {
        SpvBlock *from = s->g->blocks[b].block == m ? rest : s->g->blocks[b].block;
        if (cfg_dominates(s->g, at, b))
            edit_retarget(from->insts.last, m->id, rest->id);
    }
    SpvInst *left = spv_make(s->m, SpvOpLoad, spv_bool_type(s->m), spv_new_id(s->m), &variable, 1);
    spv_append(m, left);
    edit_append(s->m, m, SpvOpSelectionMerge, (uint32_t[]){ rest->id, 0 }, 2);
    edit_append(s->m, m, SpvOpBranchConditional, (uint32_t[]){ left->id, to, rest->id }, 3);
}

/* All edges from the construct to a block go by its merge block, which asks and branches on. */
static void go_by_merge(Structure *s, int k, SpvId to)
{
    const Construct *x = &s->constructs.data[k];
    SpvId merge = spv_operand(x->merge, 0), variable = variable_for(s, spv_bool_type(s->m));
    SpvBlock *m = edit_block(s->m, merge);
    drop_phis(s, edit_block(s->m, to));
    drop_phis(s, m);
    if (s->failed)
        return;
    reset(s, x, variable);
    for (uint32_t b = 0; b + 1 < s->g->n; b++) {
        SpvBlock *from = s->g->blocks[b].block;
        bool leaves = false;
        for (uint32_t n = 0, at; (at = cfg_target(from->insts.last, n)); n++)
            leaves |= from->insts.last->words[at] == to;
        if (leaves && innermost(s, b, false) == k && !may_branch(s, b, to))
            leave_by(s, from, to, merge, variable);
    }
    branch_on(s, m, to, variable);
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct Use {
    SpvInst *inst;
    uint32_t word;
} Use;

/* Where a use needs the value: a phi at the end of the block that the edge comes from. */
static SpvBlock *place_of(const Structure *s, const Use *u)
{
    return u->inst->op == SpvOpPhi ? edit_block(s->m, u->inst->words[u->word + 1]) : u->inst->block;
}

static bool reaches(const Structure *s, const SpvInst *value, const Use *u)
{
    const SpvBlock *at = place_of(s, u);
    uint32_t from = s->g->position[value->block->index], to = s->g->position[at->index];
    return value->block == at || from == UINT32_MAX || to == UINT32_MAX ||
           cfg_dominates(s->g, from, to);
}

static SpvInst *before_use(const Structure *s, const Use *u)
{
    if (u->inst->op == SpvOpPhi)
        return end_of(place_of(s, u));
    SpvInst *merge = cfg_merge_inst(u->inst->block);
    return merge && merge == u->inst->prev ? merge : u->inst;
}

/* A pointer is made once more, of what it was made of. */
static void mend(Structure *s, SpvInst *value, Use *u, SpvId *variable)
{
    const SpvType *t = spv_type(s->m, value->type);
    SpvInst *at = before_use(s, u);
    if (t && t->kind == SPV_POINTER) {
        if (value->op != SpvOpAccessChain && value->op != SpvOpInBoundsAccessChain) {
            s->failed = true;
            return;
        }
        SpvInst *again = spv_make(s->m, value->op, value->type, spv_new_id(s->m),
                                  value->words + value->first_operand, spv_n_operands(value));
        spv_insert_before(at, again);
        u->inst->words[u->word] = again->id;
        return;
    }
    if (!*variable) {
        *variable = variable_for(s, value->type);
        keep(s, value->op == SpvOpPhi ? edit_after_phis(value->block) : value->next, *variable,
             value->id);
    }
    u->inst->words[u->word] = fetch(s, at, value->type, *variable);
}

/* Values that no longer dominate their uses go through variables. True: some did. */
static bool mend_values(Structure *s)
{
    uint32_t bound = s->m->bound;
    SpvId *variables = NEW_ARRAY(s->a, SpvId, bound);
    VEC(Use) broken = { 0 };
    if (!find_constructs(s))
        return s->failed = true, false;
    for (uint32_t b = 0; b + 1 < s->g->n; b++)
        for (SpvInst *i = s->g->blocks[b].block->insts.first; i; i = i->next) {
            edit_ids(i, &s->ids);
            for (uint32_t k = 0; k < s->ids.n; k++) {
                Use u = { i, s->ids.at[k] };
                const SpvInst *value = spv_def(s->m, i->words[u.word]);
                bool inside = value && value->block && value->op != SpvOpLabel &&
                              value->block->function == s->f;
                bool label = i->op == SpvOpPhi && (u.word - i->first_operand) % 2;
                if (inside && !label && !reaches(s, value, &u))
                    vec_push(s->a, &broken, u);
            }
        }
    for (uint32_t k = 0; k < broken.len && !s->failed; k++) {
        Use *u = &broken.data[k];
        SpvId id = u->inst->words[u->word];
        mend(s, spv_def(s->m, id), u, &variables[id]);
    }
    return broken.len && !s->failed;
}

bool pass_structure(PassContext *c)
{
    Structure *s = NEW(c->scratch, Structure);
    PassAheadReport *report = c->options->ahead;
    int construct;
    SpvId to;
    s->c = c;
    s->m = c->module;
    s->a = c->scratch;
    s->f = c->entry.function;
    if (!report || c->entry.model != SpvExecutionModelGLCompute)
        return true;
    for (uint32_t round = 0; round < MOST_ROUNDS && !s->failed; round++) {
        if (!find_constructs(s))
            return false;
        if (!find_exit(s, &construct, &to)) {
            s->failed = is_entered_beside(s);
            break;
        }
        go_by_merge(s, construct, to);
        s->failed |= round + 1 == MOST_ROUNDS;
        while (!s->failed && mend_values(s))
            ;
    }
    if (!s->failed && s->g)
        edit_order_blocks(s->g);
    report->unstructured |= s->failed;
    return true;
}
