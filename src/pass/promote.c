/* SPDX-License-Identifier: MIT
 *
 * promote: turns variables into SSA values. In: any function. Out: Function variables (and Private
 * ones used only by the entry point) whose address is used only for loads and stores, of the whole
 * or of known parts, are values with phis; there are no unreachable blocks.
 *
 * split.c first splits variables into small ones. An access to a component becomes an access to the
 * whole vector or matrix. Phis stand on the iterated dominance frontier of the stores, only where
 * the variable is live (Cytron et al., "Efficiently computing static single assignment form",
 * 1991); a walk of the dominator tree then gives each load its value.
 */
#include "pass/edit.h"

#define NONE UINT32_MAX
enum { MAX_PREDS = 30000 }; /* a phi has to fit its 65535 words */

typedef struct Phi {
    SpvInst *inst;
    uint32_t var, filled, next;
} Phi;

typedef struct Promoter {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    PassVariables *v;
    uint8_t *promoted;                  /* by variable */
    VEC(uint32_t) * frontier;           /* by position */
    uint32_t *defines, *live, *has_phi; /* by position: stamp of the variable, 1 + number */
    VEC(uint32_t) * hidden;             /* by position: ids of predecessors that are unreachable */
    VEC(Phi) phis;
    uint32_t *first_phi; /* by position: 1 + place in phis */
    SpvId *value;        /* by variable: during the walk */
    SpvId *with;
    uint32_t n_ids;
} Promoter;

/* ---- accesses to parts ----------------------------------------------------------------------- */

static bool constant_index(Promoter *s, SpvId id, const SpvType *t, uint32_t *index)
{
    uint64_t k, bound = t->count;
    if (t->kind == SPV_COOPMAT && !edit_matrix_length(s->c, t->id, &bound))
        bound = (uint64_t)t->rows * t->cols;
    if (!spv_constant(s->m, id, &k) || k >= bound)
        return false;
    *index = (uint32_t)k;
    return true;
}

/* Whether a chain's access may become one to the whole variable: the chain indexes a vector with
 * any index, or a matrix with a known one (and its column like a vector). */
static bool is_partial(Promoter *s, const PassVariable *var, const SpvInst *chain)
{
    const SpvType *t = var->type;
    uint32_t n = spv_n_operands(chain) - 1, index;
    if (t->kind == SPV_VECTOR)
        return n == 1;
    if (t->kind == SPV_COOPMAT)
        return n == 1 && constant_index(s, spv_operand(chain, 1), t, &index);
    if (t->kind == SPV_MATRIX)
        return n >= 1 && n <= 2 && constant_index(s, spv_operand(chain, 1), t, &index);
    return false;
}

static bool is_promotable(Promoter *s, const PassVariable *var)
{
    if (!var->followed || !var->inst->block)
        return false;
    if (s->c->options->whole_matrices && var->chains.len)
        return false;
    for (uint32_t k = 0; k < var->chains.len; k++)
        if (!is_partial(s, var, var->chains.data[k]))
            return false;
    return true;
}

/* Element of `whole` (of type t) that index id names. */
static SpvId get_element(Promoter *s, SpvInst *at, SpvId whole, const SpvType *t, SpvId id,
                         SpvId type)
{
    uint32_t index;
    if (constant_index(s, id, t, &index))
        return spv_put(s->m, at, SpvOpCompositeExtract, type, (uint32_t[]){ whole, index }, 2)->id;
    return spv_put(s->m, at, SpvOpVectorExtractDynamic, type, (uint32_t[]){ whole, id }, 2)->id;
}

static SpvId set_element(Promoter *s, SpvInst *at, SpvId whole, const SpvType *t, SpvId id,
                         SpvId value)
{
    uint32_t index;
    if (constant_index(s, id, t, &index))
        return spv_put(s->m, at, SpvOpCompositeInsert, t->id, (uint32_t[]){ value, whole, index },
                       3)
            ->id;
    return spv_put(s->m, at, SpvOpVectorInsertDynamic, t->id, (uint32_t[]){ whole, value, id }, 3)
        ->id;
}

static void widen_access(Promoter *s, const PassVariable *var, SpvInst *i)
{
    SpvInst *chain = spv_def(s->m, spv_operand(i, 0));
    if (chain == var->inst)
        return;
    const SpvType *t = var->type, *column = t->element;
    SpvId whole = spv_put(s->m, i, SpvOpLoad, t->id, &var->inst->id, 1)->id;
    SpvId outer = spv_operand(chain, 1),
          inner = spv_n_operands(chain) > 2 ? spv_operand(chain, 2) : 0;
    if (i->op == SpvOpLoad) {
        SpvId value = get_element(s, i, whole, t, outer, inner ? column->id : i->type);
        if (inner)
            value = get_element(s, i, value, column, inner, i->type);
        edit_become(s->m, i, SpvOpCopyObject, &value, 1);
        return;
    }
    SpvId value = spv_operand(i, 1);
    if (inner) {
        SpvId old = get_element(s, i, whole, t, outer, column->id);
        value = set_element(s, i, old, column, inner, value);
    }
    value = set_element(s, i, whole, t, outer, value);
    edit_become(s->m, i, SpvOpStore, (uint32_t[]){ var->inst->id, value }, 2);
}

static void widen_accesses(Promoter *s)
{
    PassVariables *v = variables_find(s->c, s->g);
    for (uint32_t k = 0; k < v->list.len; k++) {
        PassVariable *var = &v->list.data[k];
        if (!is_promotable(s, var))
            continue;
        for (uint32_t n = 0; n < var->accesses.len; n++)
            widen_access(s, var, var->accesses.data[n]);
        for (uint32_t n = 0; n < var->chains.len; n++)
            edit_remove(s->m, var->chains.data[n]);
    }
}

/* ---- where phis go --------------------------------------------------------------------------- */

static void find_frontiers(Promoter *s)
{
    Arena *a = s->c->scratch;
    s->frontier = arena_alloc_array(a, sizeof *s->frontier, s->g->n);
    for (uint32_t p = 0; p + 1 < s->g->n; p++) {
        const CfgBlock *b = &s->g->blocks[p];
        if (b->n_preds < 2)
            continue;
        for (uint32_t k = 0; k < b->n_preds; k++) {
            uint32_t up = b->preds[k];
            while (up != b->idom) {
                uint32_t n = s->frontier[up].len;
                if (n && s->frontier[up].data[n - 1] == p)
                    break;
                vec_push(a, &s->frontier[up], p);
                up = s->g->blocks[up].idom;
            }
        }
    }
}

/* Predecessors that no path reaches: phis name them all the same. */
static void find_hidden_preds(Promoter *s)
{
    s->hidden = arena_alloc_array(s->c->scratch, sizeof *s->hidden, s->g->n);
    for (SpvBlock *b = s->g->function->first; b; b = b->next) {
        uint32_t at;
        if (s->g->position[b->index] != NONE)
            continue;
        for (uint32_t k = 0; (at = cfg_target(b->insts.last, k)) != 0; k++) {
            SpvBlock *t = edit_block(s->m, b->insts.last->words[at]);
            uint32_t p = t ? s->g->position[t->index] : NONE;
            if (p != NONE)
                vec_push(s->c->scratch, &s->hidden[p], b->id);
        }
    }
}

typedef VEC(uint32_t) Nodes;

/* Stamps the blocks that store to the variable, and those at whose start its value is needed. */
static void find_liveness(Promoter *s, const PassVariable *var, uint32_t stamp, Nodes *defs,
                          Nodes *work)
{
    Arena *a = s->c->scratch;
    uint32_t last = NONE;
    for (uint32_t k = 0; k < var->accesses.len; k++) {
        SpvInst *i = var->accesses.data[k];
        uint32_t p = s->g->position[i->block->index];
        if (i->op == SpvOpLoad && p != last && s->live[p] != stamp) {
            s->live[p] = stamp;
            vec_push(a, work, p);
        }
        if (i->op == SpvOpStore && s->defines[p] != stamp) {
            s->defines[p] = stamp;
            vec_push(a, defs, p);
        }
        last = p;
    }
    while (work->len) {
        const CfgBlock *b = &s->g->blocks[work->data[--work->len]];
        for (uint32_t k = 0; k < b->n_preds; k++) {
            uint32_t p = b->preds[k];
            if (s->live[p] == stamp || s->defines[p] == stamp)
                continue;
            s->live[p] = stamp;
            vec_push(a, work, p);
        }
    }
}

static void add_phi(Promoter *s, uint32_t var, uint32_t p)
{
    const CfgBlock *b = &s->g->blocks[p];
    uint32_t n = 2 * (b->n_preds + s->hidden[p].len);
    uint32_t *operands = NEW_ARRAY(s->c->scratch, uint32_t, n);
    SpvId type = s->v->list.data[var].type->id;
    SpvInst *phi = spv_make(s->m, SpvOpPhi, type, spv_new_id(s->m), operands, n);
    spv_insert_after(b->block->insts.first, phi);
    Phi entry = { .inst = phi, .var = var, .next = s->first_phi[p] };
    for (uint32_t k = 0; k < s->hidden[p].len; k++) {
        phi->words[phi->first_operand + entry.filled++] = spv_undef(s->m, type);
        phi->words[phi->first_operand + entry.filled++] = s->hidden[p].data[k];
    }
    vec_push(s->c->scratch, &s->phis, entry);
    s->first_phi[p] = s->phis.len;
}

static bool place_phis(Promoter *s, uint32_t var, Nodes *defs, Nodes *at)
{
    uint32_t stamp = var + 1;
    at->len = 0;
    for (uint32_t k = 0; k < defs->len; k++) {
        Nodes *f = (Nodes *)&s->frontier[defs->data[k]];
        for (uint32_t n = 0; n < f->len; n++) {
            uint32_t p = f->data[n];
            if (s->has_phi[p] == stamp || s->live[p] != stamp)
                continue;
            if (s->g->blocks[p].n_preds + s->hidden[p].len > MAX_PREDS)
                return false;
            s->has_phi[p] = stamp;
            vec_push(s->c->scratch, at, p);
            if (s->defines[p] != stamp)
                vec_push(s->c->scratch, defs, p);
        }
    }
    for (uint32_t k = 0; k < at->len; k++)
        add_phi(s, var, at->data[k]);
    return true;
}

static bool choose_variables(Promoter *s)
{
    bool any = false;
    Nodes defs = { 0 }, work = { 0 }, at = { 0 };
    for (uint32_t k = 0; k < s->v->list.len; k++) {
        PassVariable *var = &s->v->list.data[k];
        if (!var->followed || !var->inst->block || var->chains.len)
            continue;
        defs.len = work.len = 0;
        find_liveness(s, var, k + 1, &defs, &work);
        s->promoted[k] = place_phis(s, k, &defs, &at);
        any |= s->promoted[k];
    }
    return any;
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct Undo {
    uint32_t var;
    SpvId value;
} Undo;
typedef struct Frame {
    uint32_t position, undo;
} Frame;
typedef VEC(Undo) Undos;

static SpvId current(Promoter *s, uint32_t var)
{
    if (!s->value[var])
        return spv_undef(s->m, s->v->list.data[var].type->id);
    return s->value[var];
}

static void assign(Promoter *s, Undos *undo, uint32_t var, SpvId value)
{
    vec_push(s->c->scratch, undo, (Undo){ var, s->value[var] });
    s->value[var] = value;
}

static void rename_block(Promoter *s, uint32_t p, Undos *undo)
{
    const CfgBlock *b = &s->g->blocks[p];
    for (uint32_t k = s->first_phi[p]; k; k = s->phis.data[k - 1].next)
        assign(s, undo, s->phis.data[k - 1].var, s->phis.data[k - 1].inst->id);
    for (SpvInst *i = b->block->insts.first, *next; i; i = next) {
        next = i->next;
        if (i->op != SpvOpLoad && i->op != SpvOpStore)
            continue;
        SpvId pointer = spv_operand(i, 0);
        uint32_t var = pointer < s->v->of.len ? s->v->of.data[pointer] : 0;
        if (!var || !s->promoted[var - 1])
            continue;
        if (i->op == SpvOpLoad)
            s->with[i->id] = current(s, var - 1);
        else
            assign(s, undo, var - 1, spv_operand(i, 1));
        edit_remove(s->m, i);
    }
    for (uint32_t n = 0; n < b->n_succs; n++) {
        for (uint32_t k = s->first_phi[b->succs[n]]; k; k = s->phis.data[k - 1].next) {
            Phi *phi = &s->phis.data[k - 1];
            uint32_t *words = phi->inst->words + phi->inst->first_operand;
            words[phi->filled++] = current(s, phi->var);
            words[phi->filled++] = b->block->id;
        }
    }
}

static void rename_all(Promoter *s)
{
    Arena *a = s->c->scratch;
    uint32_t n = s->g->n - 1;
    uint32_t *child = NEW_ARRAY(a, uint32_t, n), *sibling = NEW_ARRAY(a, uint32_t, n);
    memset(child, 0xff, sizeof(uint32_t) * n);
    for (uint32_t p = n; p-- > 1;) {
        sibling[p] = child[s->g->blocks[p].idom];
        child[s->g->blocks[p].idom] = p;
    }
    VEC(Frame) stack = { 0 };
    Undos undo = { 0 };
    vec_push(a, &stack, (Frame){ 0, 0 });
    rename_block(s, 0, &undo);
    while (stack.len) {
        Frame *top = &vec_last(&stack);
        uint32_t next = child[top->position];
        if (next != NONE) {
            child[top->position] = sibling[next];
            vec_push(a, &stack, (Frame){ next, undo.len });
            rename_block(s, next, &undo);
            continue;
        }
        while (undo.len > top->undo) {
            Undo u = undo.data[--undo.len];
            s->value[u.var] = u.value;
        }
        stack.len--;
    }
}

static void to_ssa(Promoter *s)
{
    Arena *a = s->c->scratch;
    s->v = variables_find(s->c, s->g);
    uint32_t n_vars = s->v->list.len;
    s->promoted = NEW_ARRAY(a, uint8_t, n_vars);
    s->value = NEW_ARRAY(a, SpvId, n_vars);
    s->defines = NEW_ARRAY(a, uint32_t, s->g->n);
    s->live = NEW_ARRAY(a, uint32_t, s->g->n);
    s->has_phi = NEW_ARRAY(a, uint32_t, s->g->n);
    s->first_phi = NEW_ARRAY(a, uint32_t, s->g->n);
    find_frontiers(s);
    find_hidden_preds(s);
    if (!choose_variables(s))
        return;
    for (uint32_t k = 0; k < n_vars; k++) {
        SpvInst *i = s->v->list.data[k].inst;
        s->value[k] = spv_n_operands(i) > 1 ? spv_operand(i, 1) : 0;
    }
    s->n_ids = s->m->bound;
    s->with = NEW_ARRAY(a, SpvId, s->n_ids);
    rename_all(s);
    for (uint32_t k = 0; k < n_vars; k++)
        if (s->promoted[k])
            edit_remove(s->m, s->v->list.data[k].inst);
    edit_replace(s->g->function, s->with, s->n_ids);
}

bool pass_promote(PassContext *c)
{
    SpvFunction *f = c->entry.function;
    edit_prune(c->module, f, c->scratch);
    Cfg *g = cfg_build(c->scratch, f, c->sink);
    if (!g)
        return false;
    Promoter s = { .c = c, .m = c->module, .g = g };
    variables_localise(c, g);
    variables_split(c, g);
    widen_accesses(&s);
    to_ssa(&s);
    edit_sweep(c->module, c->scratch);
    return true;
}
