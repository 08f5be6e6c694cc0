/* SPDX-License-Identifier: MIT
 *
 * edit: operations on a module that the passes share. In: a module. Out: the same, changed and
 * still consistent: phis match their predecessors, and ids their annotations.
 */
#include "pass/edit.h"

#define NONE UINT32_MAX

void edit_ids(const SpvInst *i, PassIdWords *out)
{
    out->n = spv_id_operands(i, out->at, COUNT_OF(out->at));
}

void edit_remove(SpvModule *m, SpvInst *i)
{
    spv_unlink(i);
    if (i->id && m->defs[i->id] == i)
        m->defs[i->id] = NULL;
}

void edit_become(SpvModule *m, SpvInst *i, uint16_t op, const uint32_t *operands, uint32_t n)
{
    SpvInst *as = spv_make(m, op, i->type, 0, operands, n);
    i->op = op;
    i->words = as->words;
    i->n_words = as->n_words;
    i->first_operand = as->first_operand;
    i->literal_words = as->literal_words;
    i->ext_set = as->ext_set;
    if (i->id)
        i->words[i->first_operand - 1] = i->id;
}

SpvInst *edit_after_phis(const SpvBlock *b)
{
    SpvInst *i = b->insts.first->next;
    while (i && i->op == SpvOpPhi)
        i = i->next;
    return i;
}

SpvBlock *edit_block(const SpvModule *m, SpvId label)
{
    SpvInst *i = spv_def(m, label);
    return i ? i->block : NULL;
}

void edit_append(SpvModule *m, SpvBlock *b, uint16_t op, const uint32_t *operands, uint32_t n)
{
    spv_append(b, spv_make(m, op, 0, 0, operands, n));
}

SpvInst *edit_another(SpvModule *m, const SpvInst *i)
{
    SpvInst *x = spv_clone_inst(m, i);
    if (x->id) {
        x->id = x->words[x->first_operand - 1] = spv_new_id(m);
        m->defs[x->id] = x;
    }
    return x;
}

void edit_share_decorations(SpvModule *m, const SpvId *with, uint32_t n)
{
    for (SpvInst *i = m->globals.first; i; i = i->next) {
        bool of_value = i->op == SpvOpDecorate || i->op == SpvOpDecorateId;
        SpvId target = of_value ? spv_operand(i, 0) : n;
        if (target >= n || !with[target])
            continue;
        SpvInst *x = spv_clone_inst(m, i);
        x->words[x->first_operand] = with[target];
        spv_insert_before(i, x);
    }
}

/* ---- phis ------------------------------------------------------------------------------------ */

void edit_rename_pred(SpvModule *m, SpvBlock *b, SpvId from, SpvId to)
{
    (void)m;
    for (SpvInst *i = b->insts.first->next; i && i->op == SpvOpPhi; i = i->next)
        for (uint32_t k = i->first_operand + 1u; k < i->n_words; k += 2)
            if (i->words[k] == from)
                i->words[k] = to;
}

void edit_rename_source(SpvModule *m, const SpvInst *term, SpvId from, SpvId to)
{
    uint32_t at;
    for (uint32_t k = 0; (at = cfg_target(term, k)) != 0; k++) {
        SpvBlock *b = edit_block(m, term->words[at]);
        if (b)
            edit_rename_pred(m, b, from, to);
    }
}

void edit_remove_pred(SpvModule *m, SpvBlock *b, SpvId pred)
{
    (void)m;
    for (SpvInst *i = b->insts.first->next; i && i->op == SpvOpPhi; i = i->next) {
        uint32_t to = i->first_operand;
        for (uint32_t k = i->first_operand; k + 1 < i->n_words; k += 2) {
            if (i->words[k + 1] == pred)
                continue;
            i->words[to] = i->words[k];
            i->words[to + 1] = i->words[k + 1];
            to += 2;
        }
        i->n_words = (uint16_t)to;
        i->words[0] = (uint32_t)i->n_words << 16 | i->op;
    }
}

void edit_add_incoming(SpvModule *m, SpvInst *phi, SpvId value, SpvId pred)
{
    uint32_t n = spv_n_operands(phi);
    uint32_t *operands = NEW_ARRAY(m->arena, uint32_t, n + 2);
    memcpy(operands, phi->words + phi->first_operand, n * sizeof *operands);
    operands[n] = value;
    operands[n + 1] = pred;
    edit_become(m, phi, SpvOpPhi, operands, n + 2);
}

void edit_retarget(SpvInst *term, SpvId from, SpvId to)
{
    uint32_t at;
    for (uint32_t k = 0; (at = cfg_target(term, k)) != 0; k++)
        if (term->words[at] == from)
            term->words[at] = to;
}

bool edit_is_fixed_chain(const SpvModule *m, const SpvInst *i)
{
    bool fixed = i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain;
    for (uint32_t k = 1; fixed && k < spv_n_operands(i); k++)
        fixed = spv_is_constant(m, spv_operand(i, k));
    return fixed;
}

bool edit_cannot_fail(const SpvModule *m, const SpvInst *i)
{
    uint64_t divisor;
    switch (i->op) {
    case SpvOpUDiv:
    case SpvOpSDiv:
    case SpvOpUMod:
    case SpvOpSRem:
    case SpvOpSMod:
        return spv_constant(m, spv_operand(i, 1), &divisor) && divisor && divisor + 1 > 1;
    default: return spv_is_pure(i);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

SpvBlock *edit_split(SpvModule *m, SpvInst *at)
{
    SpvBlock *b = at->block, *rest = spv_new_block(b->function, b);
    edit_rename_source(m, b->insts.last, b->id, rest->id);
    for (SpvInst *i = at, *next; i; i = next) {
        next = i->next;
        spv_unlink(i);
        spv_append(rest, i);
    }
    return rest;
}

SpvId edit_all(SpvModule *m, SpvBlock *b, SpvInst *at, SpvId condition)
{
    edit_capability(m, SpvCapabilityGroupNonUniformVote);
    m->version = MAX(m->version, 0x00010300);
    uint32_t operands[2] = { spv_int_constant(m, spv_int_type(m, 32, false), SpvScopeSubgroup),
                             condition };
    SpvInst *i = spv_make(m, SpvOpGroupNonUniformAll, spv_bool_type(m), spv_new_id(m), operands, 2);
    m->defs[i->id] = i;
    if (at)
        spv_insert_before(at, i);
    else
        spv_append(b, i);
    return i->id;
}

uint32_t edit_count(const SpvFunction *f)
{
    uint32_t n = 0;
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            n++;
    return n;
}

enum { UNSEEN, SEEN, STUB };

static void mark_reachable(SpvModule *m, SpvFunction *f, uint8_t *state, Arena *scratch)
{
    VEC(SpvBlock *) work = { 0 };
    vec_push(scratch, &work, f->first);
    state[f->first->index] = SEEN;
    while (work.len) {
        SpvBlock *b = work.data[--work.len];
        uint32_t at;
        for (uint32_t k = 0; (at = cfg_target(b->insts.last, k)) != 0; k++) {
            SpvBlock *t = edit_block(m, b->insts.last->words[at]);
            if (t && t->function == f && state[t->index] == UNSEEN) {
                state[t->index] = SEEN;
                vec_push(scratch, &work, t);
            }
        }
    }
}

static bool has_operand_for(const SpvInst *phi, SpvId pred)
{
    for (uint32_t k = phi->first_operand + 1u; k < phi->n_words; k += 2)
        if (phi->words[k] == pred)
            return true;
    return false;
}

static bool is_global_value(const SpvModule *m, SpvId id)
{
    SpvInst *i = spv_def(m, id);
    return i && !i->block;
}

/* Reduces b to its label and `term`. Nothing reachable uses what it defined, except phis of
 * `header`. */
static bool make_stub(SpvModule *m, SpvBlock *b, SpvBlock *header)
{
    SpvInst *term = b->insts.last;
    uint16_t op = header ? SpvOpBranch : SpvOpUnreachable;
    bool same =
        b->insts.first->next == term && term->op == op && (!header || term->words[1] == header->id);
    while (!same && b->insts.last != b->insts.first)
        edit_remove(m, b->insts.last);
    if (!same)
        edit_append(m, b, op, header ? &header->id : NULL, header ? 1 : 0);
    for (SpvInst *i = header ? header->insts.first->next : NULL; i && i->op == SpvOpPhi;
         i = i->next) {
        if (!has_operand_for(i, b->id)) {
            edit_add_incoming(m, i, spv_undef(m, i->type), b->id);
            same = false;
        }
        for (uint32_t k = i->first_operand; k + 1 < i->n_words; k += 2)
            if (i->words[k + 1] == b->id && !is_global_value(m, i->words[k])) {
                i->words[k] = spv_undef(m, i->type);
                same = false;
            }
    }
    return !same;
}

static bool forget_preds(SpvModule *m, SpvBlock *b, const uint8_t *state)
{
    bool changed = false;
    SpvInst *phi = b->insts.first->next;
    if (!phi || phi->op != SpvOpPhi)
        return false;
    for (uint32_t k = phi->first_operand + 1u; k < phi->n_words;) {
        SpvBlock *p = edit_block(m, phi->words[k]);
        bool gone = !p || p->function != b->function || state[p->index] == UNSEEN;
        if (!gone && state[p->index] == STUB) {
            uint32_t at = cfg_target(p->insts.last, 0);
            gone = !at || p->insts.last->words[at] != b->id;
        }
        if (gone) {
            edit_remove_pred(m, b, phi->words[k]);
            changed = true;
        } else {
            k += 2;
        }
    }
    return changed;
}

bool edit_prune(SpvModule *m, SpvFunction *f, Arena *scratch)
{
    spv_number_blocks(f);
    uint8_t *state = NEW_ARRAY(scratch, uint8_t, f->n_blocks);
    bool changed = false;
    mark_reachable(m, f, state, scratch);
    for (SpvBlock *b = f->first; b; b = b->next) {
        SpvInst *merge = state[b->index] == SEEN ? cfg_merge_inst(b) : NULL;
        for (uint32_t k = 0; merge && k < (merge->op == SpvOpLoopMerge ? 2u : 1u); k++) {
            SpvBlock *t = edit_block(m, spv_operand(merge, k));
            if (!t || state[t->index] != UNSEEN)
                continue;
            state[t->index] = STUB;
            changed |= make_stub(m, t, k == 1 ? b : NULL);
        }
    }
    for (SpvBlock *b = f->first; b; b = b->next)
        if (state[b->index] == SEEN)
            changed |= forget_preds(m, b, state);
    for (SpvBlock *b = f->first, *next; b; b = next) {
        next = b->next;
        if (state[b->index] != UNSEEN)
            continue;
        for (SpvInst *i = b->insts.first; i; i = i->next)
            if (i->id && m->defs[i->id] == i)
                m->defs[i->id] = NULL;
        spv_unlink_block(b);
        changed = true;
    }
    spv_number_blocks(f);
    return changed;
}

void edit_order_blocks(const Cfg *g)
{
    SpvFunction *f = g->function;
    VEC(SpvBlock *) rest = { 0 };
    for (SpvBlock *b = f->first; b; b = b->next)
        if (g->position[b->index] == NONE)
            vec_push(f->module->arena, &rest, b);
    f->first = f->last = NULL;
    for (uint32_t k = 0; k + 1 < g->n + rest.len; k++) {
        SpvBlock *b = k + 1 < g->n ? g->blocks[k].block : rest.data[k + 1 - g->n];
        b->prev = f->last;
        b->next = NULL;
        if (f->last)
            f->last->next = b;
        else
            f->first = b;
        f->last = b;
    }
}

/* ---- replacing ------------------------------------------------------------------------------- */

static SpvId resolve(SpvId *with, uint32_t n, SpvId id)
{
    SpvId to = id;
    while (to < n && with[to])
        to = with[to];
    while (id != to && with[id] != to) { /* shorten the chain for the next one */
        SpvId next = with[id];
        with[id] = to;
        id = next;
    }
    return to;
}

void edit_replace(SpvFunction *f, SpvId *with, uint32_t n)
{
    PassIdWords ids;
    for (SpvBlock *b = f->first; b; b = b->next) {
        for (SpvInst *i = b->insts.first; i; i = i->next) {
            edit_ids(i, &ids);
            for (uint32_t k = 0; k < ids.n; k++)
                i->words[ids.at[k]] = resolve(with, n, i->words[ids.at[k]]);
        }
    }
}

/* ---- annotations ----------------------------------------------------------------------------- */

static void mark_defined(const SpvInstList *l, uint8_t *defined)
{
    for (SpvInst *i = l->first; i; i = i->next)
        if (i->id)
            defined[i->id] = 1;
}

/* Keeps the ids from operand `from` on, `step` words each, that are defined. */
static void filter_ids(SpvModule *m, SpvInst *i, uint32_t from, uint32_t step,
                       const uint8_t *defined)
{
    uint32_t to = i->first_operand + from;
    (void)m;
    for (uint32_t k = to; k + step <= i->n_words; k += step) {
        if (!defined[i->words[k]])
            continue;
        memmove(i->words + to, i->words + k, step * sizeof *i->words);
        to += step;
    }
    i->n_words = (uint16_t)to;
    i->words[0] = (uint32_t)i->n_words << 16 | i->op;
}

static bool keep_annotation(SpvModule *m, SpvInst *i, const uint8_t *defined)
{
    uint32_t n_string;
    switch (i->op) {
    case SpvOpName:
    case SpvOpMemberName:
    case SpvOpDecorate:
    case SpvOpMemberDecorate:
    case SpvOpDecorateId:
    case SpvOpDecorateString:
    case SpvOpMemberDecorateString:
    case SpvOpExecutionMode:
    case SpvOpExecutionModeId: return defined[spv_operand(i, 0)];
    case SpvOpGroupDecorate: filter_ids(m, i, 1, 1, defined); return true;
    case SpvOpGroupMemberDecorate: filter_ids(m, i, 1, 2, defined); return true;
    case SpvOpEntryPoint:
        spv_string(i, 2, &n_string);
        filter_ids(m, i, 2 + n_string, 1, defined);
        return defined[spv_operand(i, 1)];
    default: return true;
    }
}

void edit_sweep(SpvModule *m, Arena *scratch)
{
    uint8_t *defined = NEW_ARRAY(scratch, uint8_t, m->bound);
    mark_defined(&m->globals, defined);
    for (SpvFunction *f = m->functions; f; f = f->next) {
        mark_defined(&f->head, defined);
        for (SpvBlock *b = f->first; b; b = b->next)
            mark_defined(&b->insts, defined);
    }
    for (SpvInst *i = m->globals.first, *next; i; i = next) {
        next = i->next;
        if (!keep_annotation(m, i, defined))
            edit_remove(m, i);
    }
    for (SpvId id = 0; id < m->bound; id++)
        if (!defined[id])
            m->defs[id] = NULL;
    spv_forget_types(m);
}

void edit_insert_global(SpvInst *before, SpvInst *i) { spv_insert_before(before, i); }

/* ---- matrices -------------------------------------------------------------------------------- */

bool edit_has_matrix(const SpvType *t)
{
    while (t->kind == SPV_ARRAY)
        t = t->element;
    for (uint32_t k = 0; t->kind == SPV_STRUCT && k < t->count; k++)
        if (edit_has_matrix(t->members[k]))
            return true;
    return t->kind == SPV_COOPMAT;
}

bool edit_matrix_length(const PassContext *c, SpvId type, uint64_t *length)
{
    const SpvInst *t = spv_def(c->module, type);
    const uint32_t *size = c->entry.local_size;
    uint64_t scope, rows, cols, holders = c->options->subgroup_size;
    uint64_t workgroup = (uint64_t)size[0] * size[1] * size[2];
    if (!t || t->op != SpvOpTypeCooperativeMatrixKHR ||
        !spv_constant(c->module, spv_operand(t, 1), &scope) ||
        !spv_constant(c->module, spv_operand(t, 2), &rows) ||
        !spv_constant(c->module, spv_operand(t, 3), &cols))
        return false;
    if (scope == SpvScopeWorkgroup)
        holders = workgroup;
    else if (workgroup && workgroup < holders) /* a smaller workgroup holds the whole matrix */
        holders = workgroup;
    if (scope != SpvScopeWorkgroup && scope != SpvScopeSubgroup)
        return false;
    if (!holders || rows > UINT16_MAX || cols > UINT16_MAX)
        return false;
    *length = (rows * cols + holders - 1) / holders;
    return true;
}

bool edit_casts(const SpvType *a, const SpvType *b)
{
    if (!a || !b)
        return false;
    if (a->kind == SPV_POINTER || b->kind == SPV_POINTER)
        return a->kind == b->kind && a->storage == b->storage;
    bool scalars = (a->kind == SPV_INT || a->kind == SPV_FLOAT || a->kind == SPV_VECTOR) &&
                   (b->kind == SPV_INT || b->kind == SPV_FLOAT || b->kind == SPV_VECTOR);
    /* In memory a vector of three components takes the place of four. */
    bool three =
        (a->kind == SPV_VECTOR && a->count == 3) || (b->kind == SPV_VECTOR && b->count == 3);
    return scalars && !three && spv_type_size(a) == spv_type_size(b);
}

/* ---- variables of the module ----------------------------------------------------------------- */

/* A variable that the entry point uses must be in its interface: an Input one always, others since
 * 1.4. */
static void into_interface(SpvModule *m, SpvInst *entry, SpvId variable)
{
    uint32_t n = spv_n_operands(entry);
    uint32_t *operands = NEW_ARRAY(m->arena, uint32_t, n + 1);
    memcpy(operands, entry->words + entry->first_operand, n * sizeof *operands);
    operands[n] = variable;
    edit_become(m, entry, SpvOpEntryPoint, operands, n + 1);
}

SpvId edit_variable(SpvModule *m, SpvInst *entry, uint32_t storage, SpvId type)
{
    SpvInst *v =
        spv_make(m, SpvOpVariable, spv_pointer_type(m, storage, type), spv_new_id(m), &storage, 1);
    spv_append_global(m, v);
    if (storage == SpvStorageClassInput || storage == SpvStorageClassOutput ||
        m->version >= 0x10400)
        into_interface(m, entry, v->id);
    return v->id;
}

static SpvId find_builtin(SpvModule *m, uint32_t builtin)
{
    for (SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpDecorate && spv_operand(i, 1) == SpvDecorationBuiltIn &&
            spv_operand(i, 2) == builtin) {
            SpvInst *v = spv_def(m, spv_operand(i, 0));
            if (v && v->op == SpvOpVariable && spv_operand(v, 0) == SpvStorageClassInput)
                return v->id;
        }
    return 0;
}

SpvId edit_builtin(SpvModule *m, SpvInst *entry, uint32_t builtin, SpvId type)
{
    SpvId v = find_builtin(m, builtin);
    if (v)
        return v;
    v = edit_variable(m, entry, SpvStorageClassInput, type);
    uint32_t words[] = { v, SpvDecorationBuiltIn, builtin };
    spv_append_global(m, spv_make(m, SpvOpDecorate, 0, 0, words, 3));
    return v;
}

uint32_t edit_which_builtin(SpvModule *m, SpvId variable)
{
    uint32_t n;
    const uint32_t *b = spv_decoration(m, variable, -1, SpvDecorationBuiltIn, &n);
    return b && n ? *b : UINT32_MAX;
}

SpvInst *edit_find_capability(const SpvModule *m, uint32_t capability)
{
    for (SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpCapability && spv_operand(i, 0) == capability)
            return i;
    return NULL;
}

void edit_capability(SpvModule *m, uint32_t capability)
{
    if (!edit_find_capability(m, capability))
        spv_insert_before(m->globals.first, spv_make(m, SpvOpCapability, 0, 0, &capability, 1));
}
