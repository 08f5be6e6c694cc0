/* SPDX-License-Identifier: MIT
 *
 * copies: what a variable of workgroup memory holds that all invocations of a workgroup together
 * copy parts of a buffer to. It is found by doing what they do, loops of copies included: the size
 * of the workgroup is known, and so, for each invocation and store, is the element that is written.
 * Where it was read is a polynomial of values that are the same for all invocations.
 *
 * The module may be assumed to have no data races. So a load that the copies dominate, with a
 * barrier between, sees what they wrote last. Behind that barrier other invocations may be ahead,
 * and write to what was copied: a buffer that is written in the kernel is left alone, and so is any
 * where something is written by an address. Two buffers may be taken for different memory unless
 * they are Aliased (SPIR-V 2.18.2); as many programs do not say so, a load that a write to another
 * buffer leads to is left alone, too, and the buffer becomes Restrict, so that whoever runs the
 * kernel can tell (cpu/apart.c).
 */
#include "pass/edit.h"

enum {
    MOST_UNITS = 1 << 16,  /* of a variable */
    MOST_COPIED = 1 << 17, /* stores by all invocations */
    MOST_INVOCATIONS = 2048,
    MOST_DEEP = 64,
    MOST_AGAIN = 64,          /* instructions, behind the loop that a value was computed in */
    MOST_LOOKED_AT = 1 << 12, /* values, for one index */
};

/* What copies_read's visitor needs. */
typedef struct Reading {
    PassTile *tile;
    const PassCopy *copy;
} Reading;

static bool is_chain(const SpvInst *i)
{
    return i && (i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain);
}

/* In OpenCL, from an element on to another one. */
static bool is_element_chain(const SpvInst *i)
{
    return i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain;
}

static uint32_t last_operand(const SpvInst *i) { return spv_n_operands(i) - 1; }

/* ---- what is done with the variable ---------------------------------------------------------- */

/* The memory operands of an access that begin at operand n say nothing that matters. */
static bool is_plain(const SpvInst *i, uint32_t n)
{
    return spv_n_operands(i) <= n || !(spv_operand(i, n) & SpvMemoryAccessVolatileMask);
}

/* Units that a value of a type consists of, which is that of a part of the variable; else 0. */
static uint64_t units_of(const PassTile *t, const SpvType *type)
{
    uint64_t n = 1;
    for (; type && type != t->unit && type->kind == SPV_ARRAY; type = type->element)
        n *= type->count;
    return type == t->unit ? n : 0;
}

/* A pointer into the variable, from one into it. */
static bool leads_into(const PassCopies *s, const PassTile *t, const SpvInst *i)
{
    if (i->op == SpvOpBitcast) {
        const SpvType *to = spv_type(s->m, i->type);
        return to->kind == SPV_POINTER && units_of(t, to->element);
    }
    return spv_is_chain(i) && (spv_operand(i, 0) == t->variable->id || !is_chain(i));
}

static bool takes(PassCopies *s, PassTile *t, SpvInst *i, uint16_t load)
{
    SpvId first = spv_n_operands(i) ? spv_operand(i, 0) : 0;
    uint32_t uses = 0;
    edit_ids(i, &s->ids);
    for (uint32_t k = 0; k < s->ids.n; k++)
        uses += s->mine[i->words[s->ids.at[k]]];
    if (!uses)
        return true;
    if (uses > 1 || !s->mine[first])
        return false;
    if (leads_into(s, t, i)) {
        s->mine[i->id] = 1;
        return true;
    }
    if (spv_type_of(s->m, first)->element != t->unit)
        return false;
    if (i->op == SpvOpStore && is_plain(i, 2))
        vec_push(s->c->scratch, &t->copies, (PassCopy){ .store = i });
    else if (i->op == load && is_plain(i, load == SpvOpLoad ? 1 : 3))
        vec_push(s->c->scratch, &t->loads, i);
    else
        return false;
    return true;
}

/* By a function that is called for a matrix's elements. */
static bool used_elsewhere(PassCopies *s, SpvId variable)
{
    for (const SpvFunction *f = s->m->functions; f; f = f->next)
        for (const SpvBlock *b = f == s->g->function ? NULL : f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next) {
                edit_ids(i, &s->ids);
                for (uint32_t k = 0; k < s->ids.n; k++)
                    if (i->words[s->ids.at[k]] == variable)
                        return true;
            }
    return false;
}

static bool find_uses(PassCopies *s, PassTile *t, uint16_t load)
{
    s->mine = NEW_ARRAY(s->c->scratch, uint8_t, s->m->bound);
    s->mine[t->variable->id] = 1;
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            if (!takes(s, t, i, load))
                return false;
    return t->copies.len && t->loads.len && !used_elsewhere(s, t->variable->id);
}

static bool is_special(const PassCopies *s, SpvId id, int32_t member)
{
    return spv_has_decoration(s->m, id, member, SpvDecorationVolatile) ||
           spv_has_decoration(s->m, id, member, SpvDecorationCoherent) ||
           spv_has_decoration(s->m, id, member, SpvDecorationAliased);
}

/* Whether its elements lie one behind the other, as far as their layout is given. */
static bool is_packed(const PassCopies *s, const SpvType *array, uint64_t bytes)
{
    uint32_t n;
    const uint32_t *stride = spv_decoration(s->m, array->id, -1, SpvDecorationArrayStride, &n);
    return !stride || !n || *stride == bytes;
}

static uint64_t unit_bytes(const SpvType *unit)
{
    const SpvType *scalar = unit->kind == SPV_VECTOR ? unit->element : unit;
    return (uint64_t)scalar->bits / 8 * (unit->kind == SPV_VECTOR ? unit->count : 1);
}

/* What an index of the variable counts, and how many of them there are. */
static bool find_units(PassCopies *s, PassTile *t)
{
    uint64_t n = 1;
    const SpvType *unit = spv_type(s->m, t->variable->type)->element;
    for (; unit->kind == SPV_ARRAY && n <= MOST_UNITS; unit = unit->element)
        n *= unit->count_known ? unit->count : MOST_UNITS + 1;
    t->unit = unit;
    t->units = (uint32_t)n;
    const SpvType *scalar = unit->kind == SPV_VECTOR ? unit->element : unit;
    if (n > MOST_UNITS || (scalar->kind != SPV_INT && scalar->kind != SPV_FLOAT))
        return false;
    uint64_t bytes = unit_bytes(unit) * n;
    for (const SpvType *a = spv_type(s->m, t->variable->type)->element; a != unit; a = a->element)
        if (!is_packed(s, a, bytes /= a->count))
            return false;
    return !is_special(s, t->variable->id, -1);
}

void copies_take_apart(PassCopies *s, SpvId buffer)
{
    if (spv_has_decoration(s->m, buffer, -1, SpvDecorationRestrict))
        return;
    uint32_t words[] = { buffer, SpvDecorationRestrict };
    spv_append_global(s->m, spv_make(s->m, SpvOpDecorate, 0, 0, words, 2));
    spv_forget_types(s->m);
}

/* ---- in which order -------------------------------------------------------------------------- */

static uint32_t position(const PassCopies *s, const SpvInst *i)
{
    return s->g->position[i->block->index];
}

bool copies_in_order(const PassCopies *s, const SpvInst *a, const SpvInst *b)
{
    if (a->block != b->block)
        return cfg_dominates(s->g, position(s, a), position(s, b));
    while (a && a != b)
        a = a->next;
    return a;
}

const CfgLoop *copies_outermost(const PassNest *nest)
{
    return nest->n ? nest->loops[0].loop : NULL;
}

/* Which all invocations of the workgroup come to. */
static bool is_barrier(const PassCopies *s, const SpvInst *i)
{
    uint64_t scope;
    return i->op == SpvOpControlBarrier && spv_constant(s->m, spv_operand(i, 0), &scope) &&
           scope == SpvScopeWorkgroup;
}

/* All invocations have done the copies by then. */
static bool is_behind(const PassCopies *s, const PassCopy *x, const SpvInst *i)
{
    const CfgLoop *loop = copies_outermost(&x->nest);
    if (x->nest.chosen_at != UINT32_MAX)
        return cfg_dominates(s->g, s->g->blocks[x->nest.chosen_at].ipdom, position(s, i));
    if (!loop)
        return copies_in_order(s, x->store, i);
    return !cfg_in_loop(loop, s->g, position(s, i)) &&
           cfg_dominates(s->g, loop->header, position(s, i));
}

/* A barrier that all invocations come to between the copies and the loads. */
static bool barrier_parts(const PassCopies *s, const PassTile *t, const SpvInst *barrier)
{
    if (!is_barrier(s, barrier))
        return false;
    for (uint32_t k = 0; k < t->copies.len; k++) {
        if (!is_behind(s, &t->copies.data[k], barrier))
            return false;
    }
    for (uint32_t k = 0; k < t->loads.len; k++)
        if (!copies_in_order(s, barrier, t->loads.data[k]))
            return false;
    return true;
}

static bool has_barrier(const PassCopies *s, const PassTile *t)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            if (barrier_parts(s, t, i))
                return true;
    return false;
}

/* ---- loops of copies ------------------------------------------------------------------------- */

/* A store is done once for each time that the loads are, or in loops of its own beside them. */
static bool find_loops(const PassCopies *s, PassTile *t)
{
    uint32_t load = position(s, t->loads.data[0]);
    for (uint32_t k = 0; k < t->copies.len; k++)
        if (!copies_nest(s, t->copies.data[k].store, load, &t->copies.data[k].nest, true))
            return false;
    return true;
}

/* ---- what is written ------------------------------------------------------------------------- */

/* By position: 1 = one of the loads can be reached from the block's end. */
static uint8_t *find_ways_to_loads(const PassCopies *s, const PassTile *t)
{
    uint8_t *leads = NEW_ARRAY(s->c->scratch, uint8_t, s->g->n);
    VEC(uint32_t) work = { 0 };
    for (uint32_t k = 0; k < t->loads.len; k++)
        vec_push(s->c->scratch, &work, position(s, t->loads.data[k]));
    while (work.len) {
        const CfgBlock *b = &s->g->blocks[work.data[--work.len]];
        for (uint32_t k = 0; k < b->n_preds; k++)
            if (!leads[b->preds[k]]) {
                leads[b->preds[k]] = 1;
                vec_push(s->c->scratch, &work, b->preds[k]);
            }
    }
    return leads;
}

static bool precedes_load(const PassCopies *s, const PassTile *t, const SpvInst *i)
{
    for (uint32_t k = 0; k < t->loads.len; k++)
        if (t->loads.data[k]->block == i->block && copies_in_order(s, i, t->loads.data[k]))
            return true;
    return false;
}

static bool written_elsewhere(const PassCopies *s)
{
    for (const SpvFunction *f = s->m->functions; f; f = f->next)
        for (const SpvBlock *b = f == s->g->function ? NULL : f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next)
                if (written_root(s->m, i))
                    return true;
    return false;
}

bool copies_kept(const PassCopies *s, const PassTile *t, SpvId buffer)
{
    bool apart = spv_has_decoration(s->m, buffer, -1, SpvDecorationRestrict);
    const uint8_t *leads = find_ways_to_loads(s, t);
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next) {
            SpvId written = written_root(s->m, i);
            if (written == buffer || written == UINT32_MAX ||
                (written && !apart && (leads[p] || precedes_load(s, t, i))))
                return false;
        }
    return !written_elsewhere(s);
}

/* ---- values that all invocations share ------------------------------------------------------- */

/* All invocations run an iteration of it as often: in each they come to a barrier. */
static bool is_joint(const PassCopies *s, const CfgLoop *loop)
{
    for (uint32_t k = 0; loop->latch != UINT32_MAX && k < loop->n_blocks; k++) {
        uint32_t p = loop->blocks[k];
        if (s->g->blocks[p].loop != loop || !cfg_dominates(s->g, p, loop->latch))
            continue;
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            if (is_barrier(s, i))
                return true;
    }
    return false;
}

static bool is_same(PassCopies *s, SpvId id, uint32_t at, uint32_t depth);

/* By position: 1 = a block of the loop that its header can be reached from again. */
static uint8_t *find_ways_back(const PassCopies *s, const CfgLoop *loop)
{
    uint8_t *back = NEW_ARRAY(s->c->scratch, uint8_t, s->g->n);
    VEC(uint32_t) work = { 0 };
    back[loop->header] = 1;
    vec_push(s->c->scratch, &work, loop->header);
    while (work.len) {
        const CfgBlock *b = &s->g->blocks[work.data[--work.len]];
        for (uint32_t k = 0; k < b->n_preds; k++)
            if (cfg_in_loop(loop, s->g, b->preds[k]) && !back[b->preds[k]]) {
                back[b->preds[k]] = 1;
                vec_push(s->c->scratch, &work, b->preds[k]);
            }
    }
    return back;
}

/* All invocations leave it in the same iteration: so say the branches that decide whether to. */
static bool is_left_together(PassCopies *s, const CfgLoop *loop, uint32_t depth)
{
    const uint8_t *back = find_ways_back(s, loop);
    for (uint32_t k = 0; k < loop->n_blocks; k++) {
        uint32_t p = loop->blocks[k];
        const CfgBlock *b = &s->g->blocks[p];
        bool leaves = false;
        for (uint32_t j = 0; j < b->n_succs; j++)
            leaves |= !back[b->succs[j]];
        if (back[p] && leaves && b->n_succs > 1 &&
            !is_same(s, spv_operand(b->block->insts.last, 0), p, depth))
            return false;
    }
    return true;
}

static bool are_operands_same(PassCopies *s, const SpvInst *phi, uint32_t depth)
{
    for (uint32_t k = 0; k + 1 < spv_n_operands(phi); k += 2) {
        const SpvBlock *from = edit_block(s->m, spv_operand(phi, k + 1));
        if (!is_same(s, spv_operand(phi, k), s->g->position[from->index], depth))
            return false;
    }
    return true;
}

/* A loop's phi, by induction over the iterations: what else was found to be the same on the way is
 * not if this is not. Behind the loop it is the same if they leave it together. */
static bool is_same_in_loop(PassCopies *s, const SpvInst *phi, uint32_t at, uint32_t depth)
{
    const CfgLoop *loop = s->g->blocks[position(s, phi)].loop;
    uint32_t before = s->found_same.len;
    bool same = s->same[phi->id] || is_joint(s, loop);
    if (same && !s->same[phi->id]) {
        s->same[phi->id] = 1;
        vec_push(s->c->scratch, &s->found_same, phi->id);
        same = are_operands_same(s, phi, depth + 1);
    }
    if (same)
        return cfg_in_loop(loop, s->g, at) || is_left_together(s, loop, depth + 1);
    while (s->found_same.len > before)
        s->same[s->found_same.data[--s->found_same.len]] = 0;
    return false;
}

/* A phi where the ways of one branch meet again. */
static bool is_same_choice(PassCopies *s, const SpvInst *phi, uint32_t depth)
{
    const CfgBlock *b = &s->g->blocks[position(s, phi)], *from = &s->g->blocks[b->idom];
    for (uint32_t k = 0; k < b->n_preds; k++) {
        const CfgBlock *way = &s->g->blocks[b->preds[k]];
        if (way != from && (way->n_preds != 1 || way->preds[0] != b->idom))
            return false;
    }
    return from->n_succs > 1 &&
           is_same(s, spv_operand(from->block->insts.last, 0), b->idom, depth + 1) &&
           are_operands_same(s, phi, depth + 1);
}

/* Whether a value is the same for all invocations where block `at` uses it. */
static bool is_same(PassCopies *s, SpvId id, uint32_t at, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    if (id >= s->n_same || !i || depth > MOST_DEEP || !s->left)
        return false;
    s->left--;
    if (i->op == SpvOpPhi) {
        const CfgLoop *loop = s->g->blocks[position(s, i)].loop;
        return loop && loop->header == position(s, i) ? is_same_in_loop(s, i, at, depth)
                                                      : is_same_choice(s, i, depth);
    }
    if (s->same[id] || !i->block || !spv_is_pure(i))
        return s->same[id];
    SpvOperand o;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        if (o.is_id && !is_same(s, i->words[o.word], at, depth + 1))
            return false;
    return true;
}

static bool are_same(PassCopies *s, const Polynomial *p, uint32_t at)
{
    uint64_t component;
    s->left = MOST_LOOKED_AT;
    for (uint32_t k = 0; k < p->n; k++)
        for (uint32_t j = 0; j < POLYNOMIAL_FACTORS; j++)
            if (p->terms[k].of[j] &&
                !copies_is_global(s, spv_def(s->m, p->terms[k].of[j]), &component) &&
                !is_same(s, p->terms[k].of[j], at, 0))
                return false;
    return !p->too_large;
}

bool copies_same(PassCopies *s, SpvId id, uint32_t at)
{
    s->left = MOST_LOOKED_AT;
    return is_same(s, id, at, 0);
}

/* ---- one invocation after the other ---------------------------------------------------------- */

uint32_t copies_local(const PassCopies *s, uint64_t k)
{
    const uint32_t *size = s->c->entry.local_size;
    return k == 0   ? s->invocation % size[0]
           : k == 1 ? s->invocation / size[0] % size[1]
                    : s->invocation / size[0] / size[1];
}

/* Component k of a built-in, of s->invocation. */
static bool builtin_value(const PassCopies *s, SpvId variable, uint64_t k, uint64_t *value)
{
    uint32_t n, W = s->c->options->subgroup_size;
    const uint32_t *builtin = spv_decoration(s->m, variable, -1, SpvDecorationBuiltIn, &n);
    switch (builtin && n ? *builtin : UINT32_MAX) {
    case SpvBuiltInLocalInvocationIndex: *value = s->invocation; return true;
    case SpvBuiltInSubgroupId: *value = s->invocation / W; return true;
    case SpvBuiltInSubgroupLocalInvocationId: *value = s->invocation % W; return true;
    case SpvBuiltInLocalInvocationId: *value = copies_local(s, k); return k < 3;
    default: return false;
    }
}

static bool is_converted(const PassCopies *s, const SpvInst *i)
{
    bool converts = i && (i->op == SpvOpUConvert || i->op == SpvOpSConvert);
    return converts && spv_type(s->m, i->type)->kind == SPV_INT;
}

/* The built-in that an instruction is component k of, or NULL. */
static const SpvInst *builtin_of(const PassCopies *s, const SpvInst *i, uint64_t *k)
{
    *k = 0;
    if (is_converted(s, i))
        i = spv_def(s->m, spv_operand(i, 0));
    if (!i)
        return NULL;
    if (i->op == SpvOpCompositeExtract && spv_n_operands(i) == 2) {
        *k = spv_operand(i, 1);
        i = spv_def(s->m, spv_operand(i, 0));
    }
    const SpvInst *p = i && i->op == SpvOpLoad ? spv_def(s->m, spv_operand(i, 0)) : NULL;
    if (is_chain(p) && spv_n_operands(p) == 2) {
        if (!spv_constant(s->m, spv_operand(p, 1), k))
            return NULL;
        p = spv_def(s->m, spv_operand(p, 0));
    }
    return p && p->op == SpvOpVariable ? p : NULL;
}

bool copies_is_global(const PassCopies *s, const SpvInst *i, uint64_t *k)
{
    uint32_t n;
    const SpvInst *v = i ? builtin_of(s, i, k) : NULL;
    const uint32_t *builtin = v ? spv_decoration(s->m, v->id, -1, SpvDecorationBuiltIn, &n) : NULL;
    return builtin && n && *builtin == SpvBuiltInGlobalInvocationId && *k < 3;
}

static bool more_here(void *user, const SpvInst *i, uint64_t *value)
{
    PassCopies *s = user;
    uint64_t k;
    bool global = copies_is_global(s, i, &k);
    if (global)
        *value = copies_local(s, k);
    return global;
}

/* A number that is made wider or narrower. */
static bool converted_value(PassCopies *s, const SpvInst *i, uint64_t *value)
{
    PolynomialReader of = s->reader;
    of.bits = spv_type_of(s->m, spv_operand(i, 0))->bits;
    Polynomial p = polynomial_read(&of, spv_operand(i, 0));
    bool good = polynomial_number(&p, value);
    if (i->op == SpvOpSConvert)
        *value = (uint64_t)((int64_t)(*value << (64 - of.bits)) >> (64 - of.bits));
    return good;
}

static bool value_here(void *user, const SpvInst *i, uint64_t *value)
{
    PassCopies *s = user;
    uint64_t k;
    for (uint32_t n = 0; n < s->n_counters; n++)
        if (i == s->counters[n]) {
            *value = s->counts[n];
            return true;
        }
    const SpvInst *v = builtin_of(s, i, &k);
    return (v && builtin_value(s, v->id, k, value)) ||
           (is_converted(s, i) && converted_value(s, i, value));
}

bool copies_index(PassCopies *s, SpvId id, Polynomial *p)
{
    const SpvType *t = spv_type_of(s->m, id);
    if (!t || t->kind != SPV_INT)
        return false;
    s->reader.bits = t->bits;
    *p = polynomial_read(&s->reader, id);
    return !p->too_large;
}

static bool read_place(PassCopies *s, SpvId id, uint64_t count, uint64_t *at)
{
    Polynomial p;
    return copies_index(s, id, &p) && polynomial_number(&p, at) && *at < count;
}

/* By how many units a pointer is behind the variable's beginning. */
static bool add_units(PassCopies *s, const PassTile *t, const SpvInst *pointer, uint64_t *unit)
{
    if (pointer == t->variable)
        return true;
    const SpvInst *from = spv_def(s->m, spv_operand(pointer, 0));
    const SpvType *type = spv_type(s->m, from->type)->element;
    uint64_t at, element = is_element_chain(pointer);
    if (!add_units(s, t, from, unit))
        return false;
    if (element) {
        if (!read_place(s, spv_operand(pointer, 1), t->units, &at))
            return false;
        *unit += at * units_of(t, type);
    }
    for (uint32_t k = 1 + element; spv_is_chain(pointer) && k < spv_n_operands(pointer); k++) {
        if (type->kind != SPV_ARRAY || !read_place(s, spv_operand(pointer, k), type->count, &at))
            return false;
        type = type->element;
        *unit += at * units_of(t, type);
    }
    return true;
}

bool copies_unit(PassCopies *s, const PassTile *t, const SpvInst *pointer, uint64_t *unit)
{
    *unit = 0;
    return add_units(s, t, pointer, unit) && *unit < t->units &&
           spv_type(s->m, pointer->type)->element == t->unit;
}

/* ---- the copies ------------------------------------------------------------------------------ */

bool copies_plain_buffer(const PassCopies *s, const SpvInst *variable)
{
    const SpvType *pointer = spv_type(s->m, variable->type), *t = pointer->element;
    if (variable->op == SpvOpFunctionParameter)
        return pointer->storage == SpvStorageClassCrossWorkgroup && t &&
               !is_special(s, variable->id, -1);
    while (t && (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY))
        t = t->element;
    bool plain = spv_operand(variable, 0) == SpvStorageClassStorageBuffer && t &&
                 !is_special(s, variable->id, -1);
    for (uint32_t k = 0; plain && t->kind == SPV_STRUCT && k < t->count; k++)
        plain = !is_special(s, t->id, (int32_t)k);
    return plain;
}

/* Whether the last index of a chain counts units that lie one behind the other. The others are
 * constants. */
static bool counts_units(const PassCopies *s, const SpvInst *chain, const SpvType *unit)
{
    const SpvType *t = spv_type_of(s->m, spv_operand(chain, 0))->element;
    for (uint32_t k = 1; t && k < last_operand(chain); k++) {
        uint64_t member;
        bool known = spv_constant(s->m, spv_operand(chain, k), &member);
        t = t->kind != SPV_STRUCT        ? t->element
            : known && member < t->count ? t->members[member]
                                         : NULL;
    }
    return t && (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY) && t->element == unit &&
           is_packed(s, t, unit_bytes(unit));
}

/* The chain that a store's value is loaded by: into a buffer, and like that of other stores but for
 * its last index. NULL: it is none. */
static const SpvInst *source_of(const PassCopies *s, const PassTile *t, const SpvInst *store)
{
    const SpvInst *load = spv_def(s->m, spv_operand(store, 1));
    uint32_t special = SpvMemoryAccessVolatileMask | SpvMemoryAccessMakePointerVisibleMask;
    if (!load || load->op != SpvOpLoad || load->type != t->unit->id ||
        (spv_n_operands(load) > 1 && spv_operand(load, 1) & special))
        return NULL;
    const SpvInst *chain = spv_def(s->m, spv_operand(load, 0)), *first = t->source;
    const SpvInst *root = is_chain(chain) ? spv_def(s->m, spv_operand(chain, 0)) : NULL;
    if (!root || root->op != SpvOpVariable || !copies_plain_buffer(s, root) ||
        spv_n_operands(chain) < 3 || (first && spv_n_operands(chain) != spv_n_operands(first)))
        return NULL;
    uint64_t member;
    for (uint32_t k = 0; k < last_operand(chain); k++)
        if ((k && !spv_constant(s->m, spv_operand(chain, k), &member)) ||
            (first && spv_operand(chain, k) != spv_operand(first, k)))
            return NULL;
    const SpvType *index = spv_type_of(s->m, spv_operand(chain, last_operand(chain)));
    bool alike =
        !first || index->bits == spv_type_of(s->m, spv_operand(first, last_operand(first)))->bits;
    return index->kind == SPV_INT && alike && counts_units(s, chain, t->unit) ? chain : NULL;
}

/* A buffer that may be written, as SPIR-V 1.0 declares it. */
static bool is_storage_block(const PassCopies *s, const SpvInst *variable)
{
    const SpvType *t = spv_type(s->m, variable->type)->element;
    while (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY)
        t = t->element;
    return spv_has_decoration(s->m, t->id, -1, SpvDecorationBufferBlock);
}

/* It is computed in the loops, or behind the tests, that only those come to who copy. */
static bool is_within(const PassCopies *s, const PassNest *nest, const SpvInst *i)
{
    const CfgLoop *loop = copies_outermost(nest);
    uint32_t p = position(s, i), from = nest->chosen_at;
    return (loop && cfg_in_loop(loop, s->g, p)) ||
           (from != UINT32_MAX && p != from && cfg_dominates(s->g, from, p));
}

/* What a value is can be computed behind them as well. */
static bool can_leave(PassCopies *s, const PassNest *nest, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    SpvOperand o;
    if (!i || !i->block || !is_within(s, nest, i))
        return true;
    if (!s->left--) {
        s->left = 0;
        return false;
    }
    const SpvInst *root = i->op == SpvOpLoad ? pointer_root(s->m, spv_operand(i, 0)) : NULL;
    uint32_t storage = root && root->op == SpvOpVariable ? spv_operand(root, 0) : UINT32_MAX;
    bool constant = storage == SpvStorageClassPushConstant || storage == SpvStorageClassInput ||
                    (storage == SpvStorageClassUniform && !is_storage_block(s, root));
    if (depth > MOST_DEEP || i->op == SpvOpPhi || (!constant && !is_chain(i) && !spv_is_pure(i)))
        return false;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        if (o.is_id && !can_leave(s, nest, i->words[o.word], depth + 1))
            return false;
    return true;
}

static bool all_can_leave(PassCopies *s, const PassNest *nest, const Polynomial *p)
{
    s->left = MOST_AGAIN;
    for (uint32_t k = 0; k < p->n; k++)
        for (uint32_t j = 0; j < POLYNOMIAL_FACTORS; j++)
            if (!can_leave(s, nest, p->terms[k].of[j], 0))
                return false;
    return true;
}

bool copies_shared(PassCopies *s, const Polynomial *p, uint32_t at, const PassNest *nest)
{
    return are_same(s, p, at) && all_can_leave(s, nest, p);
}

static bool copy_once(PassCopies *s, void *user)
{
    PassTile *t = ((Reading *)user)->tile;
    const PassCopy *x = ((Reading *)user)->copy;
    const SpvInst *source = source_of(s, t, x->store);
    Polynomial from;
    uint64_t unit;
    if (!source || !copies_unit(s, t, spv_def(s->m, spv_operand(x->store, 0)), &unit) ||
        !copies_index(s, spv_operand(source, last_operand(source)), &from) ||
        !copies_shared(s, &from, position(s, x->store), &x->nest))
        return false;
    if (t->known[unit] && !polynomial_equal(&s->reader, &from, &t->from[unit]))
        return false;
    t->source = t->source ? t->source : source;
    t->from[unit] = from;
    t->known[unit] = 1;
    return true;
}

bool copies_read(PassCopies *s, PassTile *t)
{
    uint64_t left = MOST_COPIED;
    t->from = NEW_ARRAY(s->c->scratch, Polynomial, t->units);
    t->known = NEW_ARRAY(s->c->scratch, uint8_t, t->units);
    for (uint32_t k = 0; k < t->copies.len; k++) {
        Reading r = { .tile = t, .copy = &t->copies.data[k] };
        if (!copies_each(s, &r.copy->nest, &left, copy_once, &r))
            return false;
    }
    return t->source && copies_kept(s, t, spv_operand(t->source, 0));
}

/* ---------------------------------------------------------------------------------------------- */

bool copies_open(PassCopies *s, PassContext *c, const Cfg *g)
{
    const uint32_t *size = c->entry.local_size;
    uint64_t n = (uint64_t)size[0] * size[1] * size[2];
    uint32_t W = c->options->subgroup_size;
    bool compute =
        c->entry.model == SpvExecutionModelGLCompute || c->entry.model == SpvExecutionModelKernel;
    if (!W || !n || n > MOST_INVOCATIONS || n % W || !compute || c->entry.quads == SPV_QUADS_SQUARE)
        return false;
    *s = (PassCopies){ .c = c, .m = c->module, .g = g, .invocations = (uint32_t)n };
    s->reader = (PolynomialReader){ .m = s->m, .known = value_here, .more = more_here, .user = s };
    Uniformity *u = uniformity_build_for(c->scratch, s->m, g, W);
    s->same = workgroup_same(c->scratch, s->m, g, u);
    s->n_same = s->m->bound;
    return true;
}

bool copies_find(PassCopies *s, SpvInst *variable, uint16_t load, PassTile *t)
{
    *t = (PassTile){ .variable = variable };
    return find_units(s, t) && find_uses(s, t, load) && find_loops(s, t) && has_barrier(s, t);
}
