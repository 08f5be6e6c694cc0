/* SPDX-License-Identifier: MIT
 *
 * split: splits variables into their parts. In: a function without unreachable code. Out: Function
 * variables of structs and arrays that are accessed only by constant indices, or that hold
 * matrices, become one variable per part; accesses to a whole are split with OpCompositeExtract and
 * OpCompositeConstruct.
 *
 * The paths of a variable's access chains form a tree. A node is split if every path through it
 * continues with a constant index; a node that is not split becomes one variable.
 */
#include "pass/edit.h"

enum { MAX_ELEMENTS = 4096, MAX_PARTS = 1 << 16 };

/* ---- finding variables and their uses -------------------------------------------------------- */

static bool is_chain(uint16_t op)
{
    return op == SpvOpAccessChain || op == SpvOpInBoundsAccessChain;
}

PassVariable *variable_of(PassVariables *v, SpvId pointer)
{
    uint32_t k = pointer < v->of.len ? v->of.data[pointer] : 0;
    return k ? &v->list.data[k - 1] : NULL;
}

static void set_variable(Arena *a, PassVariables *v, SpvId id, uint32_t k)
{
    while (v->of.len <= id)
        vec_push(a, &v->of, 0);
    v->of.data[id] = k;
}

static void add_variable(PassContext *c, PassVariables *v, SpvInst *i)
{
    const SpvType *t = spv_type(c->module, i->type);
    bool all = !c->options->whole_matrices;
    PassVariable var = { .inst = i, .type = t ? t->element : NULL };
    var.followed = var.type && (all || edit_has_matrix(var.type));
    vec_push(c->scratch, &v->list, var);
    set_variable(c->scratch, v, i->id, v->list.len);
}

/* An access chain on another one becomes one on the variable itself. */
static void add_chain(PassContext *c, PassVariables *v, SpvInst *i)
{
    SpvInst *base = spv_def(c->module, spv_operand(i, 0));
    uint32_t k = v->of.data[base->id];
    if (is_chain(base->op)) {
        uint32_t n_base = spv_n_operands(base), n = spv_n_operands(i) - 1;
        uint32_t *operands = NEW_ARRAY(c->module->arena, uint32_t, n_base + n);
        memcpy(operands, base->words + base->first_operand, n_base * sizeof *operands);
        memcpy(operands + n_base, i->words + i->first_operand + 1, n * sizeof *operands);
        edit_become(c->module, i, SpvOpAccessChain, operands, n_base + n);
    }
    set_variable(c->scratch, v, i->id, k);
    vec_push(c->scratch, &v->list.data[k - 1].chains, i);
}

static bool has_volatile_operand(const SpvInst *i, uint32_t operand)
{
    return spv_n_operands(i) > operand && spv_operand(i, operand) & SpvMemoryAccessVolatileMask;
}

static void add_access(PassContext *c, PassVariable *var, SpvInst *i)
{
    if (has_volatile_operand(i, i->op == SpvOpLoad ? 1 : 2))
        var->followed = false;
    vec_push(c->scratch, &var->accesses, i);
}

/* OpCopyMemory where one side is a variable: a load and a store in its place. */
static SpvInst *expand_copy(PassContext *c, PassVariables *v, SpvInst *i)
{
    SpvModule *m = c->module;
    const SpvType *from = spv_type_of(m, spv_operand(i, 1));
    if ((!variable_of(v, spv_operand(i, 0)) && !variable_of(v, spv_operand(i, 1))) || !from ||
        !from->element || has_volatile_operand(i, 2))
        return i;
    SpvInst *load = spv_make(m, SpvOpLoad, from->element->id, spv_new_id(m),
                             (uint32_t[]){ spv_operand(i, 1) }, 1);
    SpvInst *store = spv_make(m, SpvOpStore, 0, 0, (uint32_t[]){ spv_operand(i, 0), load->id }, 2);
    load->line = store->line = i->line;
    load->file = store->file = i->file;
    spv_insert_before(i, load);
    spv_insert_before(i, store);
    edit_remove(m, i);
    return load;
}

static void add_uses(PassContext *c, PassVariables *v, SpvInst *i, PassIdWords *ids)
{
    PassVariable *var;
    if (is_chain(i->op) && variable_of(v, spv_operand(i, 0))) {
        add_chain(c, v, i);
        return;
    }
    uint32_t skip = 0;
    if ((i->op == SpvOpLoad || i->op == SpvOpStore) && (var = variable_of(v, spv_operand(i, 0)))) {
        add_access(c, var, i);
        skip = i->first_operand;
    }
    edit_ids(i, ids);
    for (uint32_t k = 0; k < ids->n; k++)
        if (ids->at[k] != skip && (var = variable_of(v, i->words[ids->at[k]])))
            var->followed = false;
}

static void forward_copies(PassContext *c, const Cfg *g)
{
    SpvModule *m = c->module;
    uint32_t n_ids = m->bound;
    SpvId *with = NEW_ARRAY(c->scratch, SpvId, n_ids);
    bool any = false;
    for (uint32_t p = 0; p + 1 < g->n; p++) {
        for (SpvInst *i = g->blocks[p].block->insts.first, *next; i; i = next) {
            next = i->next;
            bool copy = i->op == SpvOpCopyObject || (is_chain(i->op) && spv_n_operands(i) == 1);
            if (!copy || spv_has_decoration(m, i->id, -1, SpvDecorationNonUniform))
                continue;
            with[i->id] = spv_operand(i, 0);
            edit_remove(m, i);
            any = true;
        }
    }
    if (any)
        edit_replace(g->function, with, n_ids);
}

PassVariables *variables_find(PassContext *c, const Cfg *g)
{
    PassVariables *v = NEW(c->scratch, PassVariables);
    PassIdWords *ids = NEW(c->scratch, PassIdWords);
    forward_copies(c, g);
    for (SpvInst *i = c->module->globals.first; i; i = i->next)
        if (i->op == SpvOpVariable && spv_operand(i, 0) == SpvStorageClassPrivate)
            add_variable(c, v, i);
    for (uint32_t p = 0; p + 1 < g->n; p++) {
        for (SpvInst *i = g->blocks[p].block->insts.first, *next; i; i = next) {
            if (i->op == SpvOpVariable)
                add_variable(c, v, i);
            if (i->op == SpvOpCopyMemory)
                i = expand_copy(c, v, i);
            next = i->next;
            bool life = i->op == SpvOpLifetimeStart || i->op == SpvOpLifetimeStop;
            if (life && variable_of(v, spv_operand(i, 0)))
                edit_remove(c->module, i);
            else
                add_uses(c, v, i, ids);
        }
    }
    return v;
}

/* ---- Private variables ----------------------------------------------------------------------- */

/* Which ids the module's other functions name. */
static bool *named_elsewhere(const PassContext *c, const SpvFunction *here)
{
    bool *named = NEW_ARRAY(c->scratch, bool, c->module->bound);
    PassIdWords *ids = NEW(c->scratch, PassIdWords);
    for (const SpvFunction *f = c->module->functions; f; f = f->next)
        for (const SpvBlock *b = f == here ? NULL : f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next) {
                edit_ids(i, ids);
                for (uint32_t k = 0; k < ids->n; k++)
                    named[i->words[ids->at[k]]] = true;
            }
    return named;
}

void variables_localise(PassContext *c, const Cfg *g)
{
    SpvModule *m = c->module;
    if (g->function->def->id != spv_operand(c->entry.inst, 1))
        return;
    const bool *elsewhere = named_elsewhere(c, g->function);
    PassVariables *v = variables_find(c, g);
    uint32_t n_ids = m->bound;
    SpvId *with = NEW_ARRAY(c->scratch, SpvId, n_ids);
    SpvInst *label = g->function->first->insts.first;
    bool any = false;
    for (uint32_t k = 0; k < v->list.len; k++) {
        PassVariable *var = &v->list.data[k];
        SpvInst *i = var->inst;
        if (!var->followed || i->block || elsewhere[i->id])
            continue;
        SpvId type = spv_pointer_type(m, SpvStorageClassFunction, var->type->id);
        uint32_t operands[2] = { SpvStorageClassFunction,
                                 spv_n_operands(i) > 1 ? spv_operand(i, 1) : 0 };
        SpvInst *local =
            spv_make(m, SpvOpVariable, type, spv_new_id(m), operands, spv_n_operands(i));
        spv_insert_after(label, local);
        for (uint32_t n = 0; n < var->chains.len; n++) {
            SpvInst *chain = var->chains.data[n];
            const SpvType *t = spv_type(m, chain->type);
            chain->type = chain->words[1] =
                spv_pointer_type(m, SpvStorageClassFunction, t->element->id);
        }
        with[i->id] = local->id;
        edit_remove(m, i);
        any = true;
    }
    if (any) {
        edit_replace(g->function, with, n_ids);
        edit_sweep(m, c->scratch);
    }
}

/* ---- the tree of parts ----------------------------------------------------------------------- */

typedef struct VariablePart {
    const SpvType *type;
    struct VariablePart *parts; /* NULL: nobody went further than here */
    uint32_t n;
    bool whole; /* an index is not known: not to be split */
    SpvInst *var;
} VariablePart;

typedef struct Splitter {
    PassContext *c;
    SpvModule *m;
    PassFold fold;
    uint32_t n_parts;
} Splitter;

/* Makes the node's children; false where it has none or is too large. */
static bool open_part(Splitter *s, VariablePart *p)
{
    if (p->parts)
        return true;
    bool array = p->type->kind == SPV_ARRAY && p->type->count_known;
    if ((!array && p->type->kind != SPV_STRUCT) || p->type->count > MAX_ELEMENTS ||
        !p->type->count || s->n_parts + p->type->count > MAX_PARTS)
        return false;
    s->n_parts += p->type->count;
    p->n = p->type->count;
    p->parts = NEW_ARRAY(s->c->scratch, VariablePart, p->n);
    for (uint32_t k = 0; k < p->n; k++)
        p->parts[k].type = array ? p->type->element : p->type->members[k];
    return true;
}

static bool is_split(const VariablePart *p) { return p->parts && !p->whole; }

static void add_path(Splitter *s, VariablePart *p, const SpvInst *chain)
{
    for (uint32_t k = 1; k < spv_n_operands(chain); k++) {
        uint64_t index;
        if (!open_part(s, p)) {
            p->whole = true;
            return;
        }
        if (!spv_constant(s->m, spv_operand(chain, k), &index) || index >= p->n) {
            p->whole = true;
            return;
        }
        p = &p->parts[index];
    }
}

static void open_matrices(Splitter *s, VariablePart *p, uint32_t depth)
{
    if (depth > 64 || p->whole || p->type->kind == SPV_COOPMAT || !edit_has_matrix(p->type) ||
        !open_part(s, p))
        return;
    for (uint32_t k = 0; k < p->n; k++)
        open_matrices(s, &p->parts[k], depth + 1);
}

/* ---- rewriting ------------------------------------------------------------------------------- */

static void make_variables(Splitter *s, VariablePart *p, SpvId init, SpvInst *old)
{
    if (is_split(p)) {
        for (uint32_t k = 0; k < p->n; k++)
            make_variables(s, &p->parts[k], init ? fold_member(&s->fold, init, k) : 0, old);
        return;
    }
    uint32_t operands[2] = { SpvStorageClassFunction, init };
    SpvId type = spv_pointer_type(s->m, SpvStorageClassFunction, p->type->id);
    p->var = spv_make(s->m, SpvOpVariable, type, spv_new_id(s->m), operands, init ? 2 : 1);
    p->var->line = old->line;
    p->var->file = old->file;
    spv_insert_before(old, p->var);
}

static SpvId load_parts(Splitter *s, const VariablePart *p, SpvInst *before)
{
    if (!is_split(p))
        return spv_put(s->m, before, SpvOpLoad, p->type->id, &p->var->id, 1)->id;
    SpvId *parts = NEW_ARRAY(s->c->scratch, SpvId, p->n);
    for (uint32_t k = 0; k < p->n; k++)
        parts[k] = load_parts(s, &p->parts[k], before);
    return spv_put(s->m, before, SpvOpCompositeConstruct, p->type->id, parts, p->n)->id;
}

static void store_parts(Splitter *s, const VariablePart *p, SpvId value, SpvInst *before)
{
    if (!is_split(p)) {
        spv_put(s->m, before, SpvOpStore, 0, (uint32_t[]){ p->var->id, value }, 2);
        return;
    }
    for (uint32_t k = 0; k < p->n; k++) {
        SpvInst *part = spv_put(s->m, before, SpvOpCompositeExtract, p->parts[k].type->id,
                                (uint32_t[]){ value, k }, 2);
        store_parts(s, &p->parts[k], part->id, before);
    }
}

static void rewrite_access(Splitter *s, const VariablePart *p, SpvInst *i, SpvId *with)
{
    SpvInst *at = spv_def(s->m, spv_operand(i, 0));
    uint32_t k = 1, n = at->op == SpvOpVariable ? 1 : spv_n_operands(at);
    for (uint64_t index = 0; is_split(p) && k < n; k++) {
        spv_constant(s->m, spv_operand(at, k), &index);
        p = &p->parts[index];
    }
    if (is_split(p) && i->op == SpvOpLoad) {
        with[i->id] = load_parts(s, p, i);
        edit_remove(s->m, i);
    } else if (is_split(p)) {
        store_parts(s, p, spv_operand(i, 1), i);
        edit_remove(s->m, i);
    } else if (k < n) {
        uint32_t *operands = NEW_ARRAY(s->c->scratch, uint32_t, n - k + 1);
        operands[0] = p->var->id;
        memcpy(operands + 1, at->words + at->first_operand + k, (n - k) * sizeof *operands);
        i->words[i->first_operand] = spv_put(s->m, i, at->op, at->type, operands, n - k + 1)->id;
    } else {
        i->words[i->first_operand] = p->var->id;
    }
}

void variables_split(PassContext *c, const Cfg *g)
{
    Splitter s = { .c = c, .m = c->module };
    PassVariables *v = variables_find(c, g);
    uint32_t n_ids = s.m->bound;
    SpvId *with = NEW_ARRAY(c->scratch, SpvId, n_ids);
    s.fold = fold_open(s.m, c->scratch);
    for (uint32_t k = 0; k < v->list.len; k++) {
        PassVariable *var = &v->list.data[k];
        if (!var->followed || !var->inst->block)
            continue;
        VariablePart root = { .type = var->type };
        for (uint32_t n = 0; n < var->chains.len; n++)
            add_path(&s, &root, var->chains.data[n]);
        open_matrices(&s, &root, 0);
        if (!is_split(&root))
            continue;
        make_variables(&s, &root, spv_n_operands(var->inst) > 1 ? spv_operand(var->inst, 1) : 0,
                       var->inst);
        for (uint32_t n = 0; n < var->accesses.len; n++)
            rewrite_access(&s, &root, var->accesses.data[n], with);
        for (uint32_t n = 0; n < var->chains.len; n++)
            edit_remove(s.m, var->chains.data[n]);
        edit_remove(s.m, var->inst);
    }
    edit_replace(g->function, with, n_ids);
}
