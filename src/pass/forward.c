/* SPDX-License-Identifier: MIT
 *
 * forward: matrices are loaded from where workgroup memory was copied from. In: a function after
 * simplify. Out: where all invocations of a workgroup together copy parts of a buffer to a variable
 * of workgroup memory, and only matrices are loaded from it, these are loaded from the buffer
 * instead, and the copies are gone; barriers that had nothing else to wait for are gone as well.
 *
 * What the copies do is found by doing them: the size of the workgroup is known, and so, for each
 * invocation and store, is the element that is written. Where it was read is a polynomial of values
 * that are the same for all invocations. Then each subgroup's matrix is looked up, element by
 * element: it may be loaded from the buffer if the places of its elements go by lines of one
 * stride, the same for all subgroups, and begin at a place that is a sum of products with the bits
 * of the subgroup's number.
 *
 * The module may be assumed to have no data races. So a load that the copies dominate, with a
 * barrier between, sees what they wrote last, and nobody writes to the part of the buffer meanwhile
 * that they read. A buffer that is written in the kernel is left alone, and so is every load that a
 * write to another one, which might be the same memory, leads to.
 */
#include "pass/edit.h"

enum {
    MOST_UNITS = 1 << 16,  /* of a variable */
    MOST_COPIED = 1 << 17, /* stores by all invocations */
    MOST_INVOCATIONS = 2048,
    MOST_BITS = 11, /* of a subgroup's number */
    MOST_DEEP = 64,
};

/* A variable of workgroup memory, and what is done with it. */
typedef struct Tile {
    SpvInst *variable;
    const SpvType *unit; /* a scalar or vector, which indices count */
    uint32_t units;
    VEC(SpvInst *) stores, loads;
    const SpvInst *source; /* the chain into the buffer of the first store; others end elsewhere */
    Polynomial *from;      /* by unit: the last index of that chain; `known` of them */
    uint8_t *known;
} Tile;

/* Where a matrix lies in the buffer. */
typedef struct Place {
    Polynomial first[MOST_INVOCATIONS]; /* by subgroup */
    Polynomial stride;
    bool turned; /* its lines are the other ones */
} Place;

typedef struct Forwarder {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    uint8_t *same; /* by id, n_same of them: the same for all invocations of the workgroup */
    uint32_t n_same;
    uint8_t *mine; /* by id: the tile's variable, or a chain into it */
    uint32_t invocations, subgroups, invocation;
    PolynomialReader reader;
    PassIdWords ids;
    Place place;
} Forwarder;

static bool is_chain(const SpvInst *i)
{
    return i && (i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain);
}

static uint32_t last_operand(const SpvInst *i) { return spv_n_operands(i) - 1; }

/* ---- what is done with the variable ---------------------------------------------------------- */

/* The memory operands of an access that begin at operand n say nothing that matters. */
static bool is_plain(const SpvInst *i, uint32_t n)
{
    return spv_n_operands(i) <= n || !(spv_operand(i, n) & SpvMemoryAccessVolatileMask);
}

static bool takes(Forwarder *s, Tile *t, SpvInst *i)
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
    if (is_chain(i) && first == t->variable->id) {
        s->mine[i->id] = 1;
        return true;
    }
    if (!is_chain(spv_def(s->m, first)))
        return false;
    if (i->op == SpvOpStore && is_plain(i, 2))
        vec_push(s->c->scratch, &t->stores, i);
    else if (i->op == SpvOpCooperativeMatrixLoadKHR && is_plain(i, 3))
        vec_push(s->c->scratch, &t->loads, i);
    else
        return false;
    return true;
}

static bool find_uses(Forwarder *s, Tile *t)
{
    s->mine = NEW_ARRAY(s->c->scratch, uint8_t, s->m->bound);
    s->mine[t->variable->id] = 1;
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            if (!takes(s, t, i))
                return false;
    return t->stores.len && t->loads.len;
}

/* What an index of the variable counts, and how many of them there are. */
static bool find_units(Forwarder *s, Tile *t)
{
    uint64_t n = 1;
    const SpvType *unit = spv_type(s->m, t->variable->type)->element;
    for (; unit->kind == SPV_ARRAY && n <= MOST_UNITS; unit = unit->element)
        n *= unit->count_known ? unit->count : MOST_UNITS + 1;
    t->unit = unit;
    t->units = (uint32_t)n;
    const SpvType *scalar = unit->kind == SPV_VECTOR ? unit->element : unit;
    return n <= MOST_UNITS && (scalar->kind == SPV_INT || scalar->kind == SPV_FLOAT) &&
           !spv_has_decoration(s->m, t->variable->id, -1, SpvDecorationAliased);
}

/* ---- in which order -------------------------------------------------------------------------- */

static uint32_t position(const Forwarder *s, const SpvInst *i)
{
    return s->g->position[i->block->index];
}

static bool comes_before(const Forwarder *s, const SpvInst *a, const SpvInst *b)
{
    if (a->block != b->block)
        return cfg_dominates(s->g, position(s, a), position(s, b));
    while (a && a != b)
        a = a->next;
    return a;
}

/* A barrier that all invocations come to between the copies, which are of one block, and the
 * loads. */
static bool barrier_parts(const Forwarder *s, const Tile *t, const SpvInst *barrier)
{
    uint64_t scope;
    if (barrier->op != SpvOpControlBarrier ||
        !spv_constant(s->m, spv_operand(barrier, 0), &scope) || scope != SpvScopeWorkgroup)
        return false;
    for (uint32_t k = 0; k < t->stores.len; k++)
        if (t->stores.data[k]->block != t->stores.data[0]->block ||
            !comes_before(s, t->stores.data[k], barrier))
            return false;
    for (uint32_t k = 0; k < t->loads.len; k++)
        if (!comes_before(s, barrier, t->loads.data[k]))
            return false;
    return true;
}

static bool has_barrier(const Forwarder *s, const Tile *t)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            if (barrier_parts(s, t, i))
                return true;
    return false;
}

/* ---- what is written ------------------------------------------------------------------------- */

/* 0: nothing; the buffer's variable; UINT32_MAX: anything. */
static SpvId written_by(const Forwarder *s, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    SpvId callees[SPV_MAX_CALLEES];
    if (spv_callees(s->m, i, callees) || i->op == SpvOpFunctionCall)
        return UINT32_MAX;
    if (i->op == SpvOpLoad || i->op == SpvOpCooperativeMatrixLoadKHR || i->op == SpvOpArrayLength ||
        i->op == SpvOpCooperativeMatrixLoadTensorNV || !info ||
        !(info->flags & (SPV_OPF_MEMORY | SPV_OPF_ATOMIC)))
        return 0;
    const SpvInst *root = spv_n_operands(i) ? pointer_root(s->m, spv_operand(i, 0)) : NULL;
    if (!root || root->op != SpvOpVariable)
        return UINT32_MAX;
    uint32_t storage = spv_operand(root, 0);
    bool own = storage == SpvStorageClassFunction || storage == SpvStorageClassPrivate ||
               storage == SpvStorageClassWorkgroup;
    return own ? 0 : root->id;
}

static bool reaches(const Forwarder *s, uint32_t from, uint32_t to, uint8_t *seen)
{
    const CfgBlock *b = &s->g->blocks[from];
    for (uint32_t k = 0; k < b->n_succs; k++) {
        if (b->succs[k] == to)
            return true;
        if (!seen[b->succs[k]]) {
            seen[b->succs[k]] = 1;
            if (reaches(s, b->succs[k], to, seen))
                return true;
        }
    }
    return false;
}

static bool leads_to(const Forwarder *s, const SpvInst *write, const SpvInst *load)
{
    return (write->block == load->block && comes_before(s, write, load)) ||
           reaches(s, position(s, write), position(s, load),
                   NEW_ARRAY(s->c->scratch, uint8_t, s->g->n));
}

/* Whether the buffer keeps what the copies have read until the loads. */
static bool is_kept(const Forwarder *s, const Tile *t)
{
    SpvId buffer = spv_operand(t->source, 0);
    if (spv_has_decoration(s->m, buffer, -1, SpvDecorationAliased))
        return false;
    bool apart = spv_has_decoration(s->m, buffer, -1, SpvDecorationRestrict);
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next) {
            SpvId written = written_by(s, i);
            if (!written || (apart && written != buffer && written != UINT32_MAX))
                continue;
            if (written == buffer)
                return false;
            for (uint32_t k = 0; k < t->loads.len; k++)
                if (leads_to(s, i, t->loads.data[k]))
                    return false;
        }
    return true;
}

/* ---- values that all invocations share ------------------------------------------------------- */

/* All invocations run an iteration of it as often: in each they come to a barrier. */
static bool is_joint(const Forwarder *s, const CfgLoop *loop)
{
    for (uint32_t k = 0; loop->latch != UINT32_MAX && k < loop->n_blocks; k++) {
        uint32_t p = loop->blocks[k];
        if (s->g->blocks[p].loop != loop || !cfg_dominates(s->g, p, loop->latch))
            continue;
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            if (i->op == SpvOpControlBarrier)
                return true;
    }
    return false;
}

static bool is_same(Forwarder *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    if (id >= s->n_same || s->same[id] || !i || !i->block || depth > MOST_DEEP)
        return id < s->n_same && s->same[id];
    if (i->op == SpvOpPhi) {
        const CfgBlock *b = &s->g->blocks[position(s, i)];
        if (!b->loop || s->g->blocks[b->loop->header].block != i->block || !is_joint(s, b->loop))
            return false;
        s->same[id] = 1; /* by induction over the iterations */
        for (uint32_t k = 0; k < spv_n_operands(i); k += 2)
            if (!is_same(s, spv_operand(i, k), depth + 1)) {
                s->same[id] = 0;
                return false;
            }
        return true;
    }
    if (!spv_is_pure(i))
        return false;
    SpvOperand o;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        if (o.is_id && !is_same(s, i->words[o.word], depth + 1))
            return false;
    return true;
}

static bool are_same(Forwarder *s, const Polynomial *p)
{
    for (uint32_t k = 0; k < p->n; k++)
        for (uint32_t j = 0; j < POLYNOMIAL_FACTORS; j++)
            if (p->terms[k].of[j] && !is_same(s, p->terms[k].of[j], 0))
                return false;
    return !p->too_large;
}

/* ---- one invocation after the other ---------------------------------------------------------- */

/* Component k of a built-in, of s->invocation. */
static bool builtin_value(const Forwarder *s, SpvId variable, uint64_t k, uint64_t *value)
{
    const uint32_t *size = s->c->entry.local_size;
    uint32_t n, W = s->c->options->subgroup_size;
    const uint32_t *builtin = spv_decoration(s->m, variable, -1, SpvDecorationBuiltIn, &n);
    switch (builtin && n ? *builtin : UINT32_MAX) {
    case SpvBuiltInLocalInvocationIndex: *value = s->invocation; return true;
    case SpvBuiltInSubgroupId: *value = s->invocation / W; return true;
    case SpvBuiltInSubgroupLocalInvocationId: *value = s->invocation % W; return true;
    case SpvBuiltInLocalInvocationId:
        *value = k == 0   ? s->invocation % size[0]
                 : k == 1 ? s->invocation / size[0] % size[1]
                          : s->invocation / size[0] / size[1];
        return k < 3;
    default: return false;
    }
}

static bool value_here(void *user, const SpvInst *i, uint64_t *value)
{
    Forwarder *s = user;
    uint64_t k = 0;
    if (i->op == SpvOpCompositeExtract && spv_n_operands(i) == 2) {
        k = spv_operand(i, 1);
        i = spv_def(s->m, spv_operand(i, 0));
    }
    const SpvInst *p = i && i->op == SpvOpLoad ? spv_def(s->m, spv_operand(i, 0)) : NULL;
    if (is_chain(p) && spv_n_operands(p) == 2) {
        if (!spv_constant(s->m, spv_operand(p, 1), &k))
            return false;
        p = spv_def(s->m, spv_operand(p, 0));
    }
    return p && p->op == SpvOpVariable && builtin_value(s, p->id, k, value);
}

static bool read_index(Forwarder *s, SpvId id, Polynomial *p)
{
    const SpvType *t = spv_type_of(s->m, id);
    if (!t || t->kind != SPV_INT)
        return false;
    s->reader.bits = t->bits;
    *p = polynomial_read(&s->reader, id);
    return !p->too_large;
}

/* The unit that a chain into the tile selects. */
static bool read_unit(Forwarder *s, const Tile *t, const SpvInst *chain, uint64_t *unit)
{
    const SpvType *type = spv_type(s->m, t->variable->type)->element;
    *unit = 0;
    for (uint32_t k = 1; k < spv_n_operands(chain); k++, type = type->element) {
        Polynomial p;
        uint64_t at;
        if (type->kind != SPV_ARRAY || !read_index(s, spv_operand(chain, k), &p) ||
            !polynomial_number(&p, &at) || at >= type->count)
            return false;
        *unit = *unit * type->count + at;
    }
    return type == t->unit;
}

/* ---- the copies ------------------------------------------------------------------------------ */

/* The chain that a store's value is loaded by: into a buffer, and like that of other stores but for
 * its last index. NULL: it is none. */
static const SpvInst *source_of(const Forwarder *s, const Tile *t, const SpvInst *store)
{
    const SpvInst *load = spv_def(s->m, spv_operand(store, 1));
    uint32_t special = SpvMemoryAccessVolatileMask | SpvMemoryAccessMakePointerVisibleMask;
    if (!load || load->op != SpvOpLoad || load->type != t->unit->id ||
        (spv_n_operands(load) > 1 && spv_operand(load, 1) & special))
        return NULL;
    const SpvInst *chain = spv_def(s->m, spv_operand(load, 0)), *first = t->source;
    const SpvInst *root = is_chain(chain) ? spv_def(s->m, spv_operand(chain, 0)) : NULL;
    if (!root || root->op != SpvOpVariable ||
        spv_operand(root, 0) != SpvStorageClassStorageBuffer || spv_n_operands(chain) < 3 ||
        (first && spv_n_operands(chain) != spv_n_operands(first)))
        return NULL;
    uint64_t member;
    for (uint32_t k = 0; k < last_operand(chain); k++)
        if ((k && !spv_constant(s->m, spv_operand(chain, k), &member)) ||
            (first && spv_operand(chain, k) != spv_operand(first, k)))
            return NULL;
    const SpvType *index = spv_type_of(s->m, spv_operand(chain, last_operand(chain)));
    bool alike =
        !first || index->bits == spv_type_of(s->m, spv_operand(first, last_operand(first)))->bits;
    return index->kind == SPV_INT && alike ? chain : NULL;
}

static bool is_equal(const Forwarder *s, const Polynomial *x, const Polynomial *y)
{
    Polynomial rest = *x;
    polynomial_add(&s->reader, &rest, y, UINT64_MAX);
    return !rest.too_large && !rest.n;
}

static bool copy(Forwarder *s, Tile *t, const SpvInst *store)
{
    const SpvInst *source = source_of(s, t, store);
    Polynomial from;
    uint64_t unit;
    if (!source || !read_unit(s, t, spv_def(s->m, spv_operand(store, 0)), &unit) ||
        !read_index(s, spv_operand(source, last_operand(source)), &from) || !are_same(s, &from))
        return false;
    if (t->known[unit] && !is_equal(s, &from, &t->from[unit]))
        return false;
    t->source = t->source ? t->source : source;
    t->from[unit] = from;
    t->known[unit] = 1;
    return true;
}

static bool read_copies(Forwarder *s, Tile *t)
{
    if (t->stores.len * (uint64_t)s->invocations > MOST_COPIED)
        return false;
    t->from = NEW_ARRAY(s->c->scratch, Polynomial, t->units);
    t->known = NEW_ARRAY(s->c->scratch, uint8_t, t->units);
    for (s->invocation = 0; s->invocation < s->invocations; s->invocation++)
        for (uint32_t k = 0; k < t->stores.len; k++)
            if (!copy(s, t, t->stores.data[k]))
                return false;
    return true;
}

/* ---- the loads ------------------------------------------------------------------------------- */

/* Lines of a matrix in the tile, and units in each. */
typedef struct Lines {
    uint32_t lines, units;
    bool by_column, single; /* a unit is one element */
} Lines;

static bool read_lines(Forwarder *s, const Tile *t, const SpvInst *load, Lines *l)
{
    const SpvType *matrix = spv_type(s->m, load->type);
    uint64_t order, bits = 8 * t->unit->size;
    if (!spv_constant(s->m, spv_operand(load, 1), &order) || order > 1 || !matrix->rows ||
        !matrix->element->bits || bits % matrix->element->bits || !matrix->cols)
        return false;
    uint32_t each = (uint32_t)(bits / matrix->element->bits);
    l->by_column = order == SpvCooperativeMatrixLayoutColumnMajorKHR;
    l->lines = l->by_column ? matrix->cols : matrix->rows;
    uint32_t elements = l->by_column ? matrix->rows : matrix->cols;
    l->units = elements / each;
    l->single = each == 1;
    return elements % each == 0;
}

/* Where a unit of the matrix of s->invocation's subgroup comes from; NULL: it was not copied. */
static const Polynomial *unit_from(const Tile *t, uint64_t first, uint64_t stride, uint32_t line,
                                   uint32_t unit)
{
    uint64_t at = first + line * stride + unit;
    return at < t->units && t->known[at] ? &t->from[at] : NULL;
}

/* to += times * (b - a) */
static void add_step(const Forwarder *s, Polynomial *to, const Polynomial *a, const Polynomial *b,
                     uint64_t times)
{
    polynomial_add(&s->reader, to, b, times);
    polynomial_add(&s->reader, to, a, 0 - times);
}

/* The steps from line to line and from unit to unit, if all units lie so. */
static bool read_steps(Forwarder *s, const Tile *t, const Lines *l, uint64_t first, uint64_t stride,
                       Polynomial steps[2])
{
    const Polynomial *p = unit_from(t, first, stride, 0, 0), *q = p;
    steps[0] = steps[1] = (Polynomial){ .n = 0 };
    for (uint32_t o = 0; p && o < 2; o++) {
        if ((o ? l->units : l->lines) < 2)
            continue;
        q = unit_from(t, first, stride, !o, o);
        if (!q)
            return false;
        add_step(s, &steps[o], p, q, 1);
    }
    for (uint32_t i = 0; p && i < l->lines; i++)
        for (uint32_t k = 0; k < l->units; k++) {
            Polynomial want = *p;
            q = unit_from(t, first, stride, i, k);
            polynomial_add(&s->reader, &want, &steps[0], i);
            polynomial_add(&s->reader, &want, &steps[1], k);
            if (!q || want.too_large || !is_equal(s, &want, q))
                return false;
        }
    return p;
}

static bool is_one(const Polynomial *p)
{
    uint64_t value;
    return polynomial_number(p, &value) && value == 1;
}

/* Of the current subgroup. */
static bool read_place(Forwarder *s, const Tile *t, const SpvInst *load, const Lines *l)
{
    Place *place = &s->place;
    uint32_t subgroup = s->invocation / s->c->options->subgroup_size;
    Polynomial steps[2], stride = { .n = 0 };
    uint64_t first, apart;
    bool has_stride = spv_n_operands(load) > 2;
    if (!has_stride || !read_unit(s, t, spv_def(s->m, spv_operand(load, 0)), &first) ||
        !read_index(s, spv_operand(load, 2), &stride) || !polynomial_number(&stride, &apart))
        return false;
    /* the reader's width is the source's from here on */
    s->reader.bits = spv_type_of(s->m, spv_operand(t->source, last_operand(t->source)))->bits;
    if (!read_steps(s, t, l, first, apart, steps))
        return false;
    bool turned = l->units > 1 && !is_one(&steps[1]);
    if (turned && (!l->single || !is_one(&steps[0])))
        return false;
    if (subgroup && (turned != place->turned || !is_equal(s, &steps[turned], &place->stride)))
        return false;
    place->turned = turned;
    place->stride = steps[turned];
    place->first[subgroup] = *unit_from(t, first, apart, 0, 0);
    return true;
}

/* ---- what subgroups differ in ---------------------------------------------------------------- */

static uint64_t times_of(const Polynomial *p, const PolynomialTerm *t)
{
    for (uint32_t k = 0; k < p->n; k++)
        if (!memcmp(p->terms[k].of, t->of, sizeof t->of))
            return p->terms[k].times;
    return 0;
}

/* One of the products that places are sums of: how often, by bit of the subgroup's number. */
static bool read_weights(const Forwarder *s, const PolynomialTerm *t, uint64_t *weights)
{
    const Polynomial *first = s->place.first;
    uint64_t mask = s->reader.bits < 64 ? (UINT64_C(1) << s->reader.bits) - 1 : UINT64_MAX;
    uint64_t none = times_of(&first[0], t);
    for (uint32_t k = 0; k < MOST_BITS; k++)
        weights[k] = 1u << k < s->subgroups ? (times_of(&first[1u << k], t) - none) & mask : 0;
    for (uint32_t n = 0; n < s->subgroups; n++) {
        uint64_t want = none;
        for (uint32_t k = 0; k < MOST_BITS; k++)
            want += (n >> k & 1) * weights[k];
        if ((want ^ times_of(&first[n], t)) & mask)
            return false;
    }
    return true;
}

/* The products of all subgroups' places. */
static bool all_terms(const Forwarder *s, Polynomial *all)
{
    static const Polynomial zero;
    *all = zero;
    for (uint32_t n = 0; n < s->subgroups; n++)
        for (uint32_t k = 0; k < s->place.first[n].n; k++) {
            Polynomial one = { .n = 1, .terms[0] = s->place.first[n].terms[k] };
            one.terms[0].times = 1;
            if (!times_of(all, &one.terms[0]))
                polynomial_add(&s->reader, all, &one, 1);
        }
    return !all->too_large;
}

static bool can_place(const Forwarder *s)
{
    Polynomial all;
    uint64_t weights[MOST_BITS];
    if (!all_terms(s, &all))
        return false;
    for (uint32_t k = 0; k < all.n; k++)
        if (!read_weights(s, &all.terms[k], weights))
            return false;
    return true;
}

static bool read_load(Forwarder *s, const Tile *t, const SpvInst *load)
{
    Lines l;
    if (!read_lines(s, t, load, &l))
        return false;
    for (uint32_t n = 0; n < s->subgroups; n++) {
        s->invocation = n * s->c->options->subgroup_size;
        if (!read_place(s, t, load, &l))
            return false;
    }
    return can_place(s);
}

/* ---- the new loads --------------------------------------------------------------------------- */

/* Instructions before `at`, on integers of the type. */
typedef struct Writer {
    Forwarder *s;
    SpvInst *at;
    SpvId type, u32, subgroup; /* the subgroup's number; 0: not asked for yet */
} Writer;

static SpvId write(const Writer *w, uint16_t op, SpvId type, SpvId x, SpvId y)
{
    return spv_put(w->s->m, w->at, op, type, (uint32_t[]){ x, y }, y ? 2 : 1)->id;
}

static SpvId times(const Writer *w, SpvId x, uint64_t n)
{
    return n == 1 ? x : write(w, SpvOpIMul, w->type, x, spv_int_constant(w->s->m, w->type, n));
}

static SpvId sum(const Writer *w, SpvId x, SpvId y)
{
    return x && y ? write(w, SpvOpIAdd, w->type, x, y) : x ? x : y;
}

static SpvId subgroup_number(Writer *w)
{
    SpvModule *m = w->s->m;
    if (!w->subgroup) {
        SpvId v = edit_builtin(m, w->s->c->entry.inst, SpvBuiltInSubgroupId, w->u32);
        edit_capability(m, SpvCapabilityGroupNonUniform);
        SpvId type = spv_type_of(m, v)->element->id;
        w->subgroup = write(w, SpvOpLoad, type, v, 0);
    }
    return w->subgroup;
}

/* So many bits of the subgroup's number, as an integer of the type. */
static SpvId bits_of_subgroup(Writer *w, uint32_t first, uint32_t n)
{
    SpvModule *m = w->s->m;
    SpvId x = subgroup_number(w), type = spv_def(m, x)->type;
    if (first)
        x = write(w, SpvOpShiftRightLogical, type, x, spv_int_constant(m, type, first));
    if ((w->s->subgroups - 1) >> (first + n))
        x = write(w, SpvOpBitwiseAnd, type, x, spv_int_constant(m, type, (UINT64_C(1) << n) - 1));
    if (spv_type(m, w->type)->bits != spv_type(m, type)->bits)
        x = write(w, SpvOpUConvert, spv_int_type(m, spv_type(m, w->type)->bits, false), x, 0);
    return x;
}

/* How often the product counts: a number, and weights of bits. 0: never. */
static SpvId write_times(Writer *w, uint64_t number, const uint64_t *weights)
{
    SpvId r = number ? spv_int_constant(w->s->m, w->type, number) : 0;
    for (uint32_t k = 0, n; k < MOST_BITS; k += n) {
        for (n = 1; weights[k] && k + n < MOST_BITS && weights[k + n] == weights[k] << n;)
            n++;
        if (weights[k])
            r = sum(w, r, times(w, bits_of_subgroup(w, k, n), weights[k]));
    }
    return r;
}

static SpvId write_product(const Writer *w, const PolynomialTerm *t)
{
    SpvId r = 0;
    for (uint32_t k = 0; k < POLYNOMIAL_FACTORS; k++)
        if (t->of[k])
            r = r ? write(w, SpvOpIMul, w->type, r, t->of[k]) : t->of[k];
    return r;
}

/* The polynomial of subgroup 0 where `differ` is not set. */
static SpvId write_polynomial(Writer *w, const Polynomial *p, bool differ)
{
    SpvId r = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        const PolynomialTerm *t = &p->terms[k];
        uint64_t weights[MOST_BITS] = { 0 }, number = t->times;
        if (differ) {
            number = times_of(&w->s->place.first[0], t);
            read_weights(w->s, t, weights);
        }
        SpvId often = write_times(w, number, weights), product = write_product(w, t);
        if (!often)
            continue;
        uint64_t one;
        if (product && spv_constant(w->s->m, often, &one) && one == 1)
            often = 0;
        r = sum(w, r,
                product && often ? write(w, SpvOpIMul, w->type, product, often)
                : product        ? product
                                 : often);
    }
    return r ? r : spv_int_constant(w->s->m, w->type, 0);
}

static void rewrite_load(Forwarder *s, const Tile *t, SpvInst *load)
{
    const SpvInst *chain = t->source;
    uint32_t n = spv_n_operands(chain), operands[8];
    Writer w = { .s = s,
                 .at = load,
                 .u32 = spv_int_type(s->m, 32, false),
                 .type = spv_type_of(s->m, spv_operand(chain, n - 1))->id };
    Polynomial all;
    uint64_t order;
    all_terms(s, &all);
    for (uint32_t k = 0; k + 1 < n; k++)
        operands[k] = spv_operand(chain, k);
    operands[n - 1] = write_polynomial(&w, &all, true);
    SpvId pointer = spv_put(s->m, load, chain->op, chain->type, operands, n)->id;
    spv_constant(s->m, spv_operand(load, 1), &order);
    SpvId order_type = spv_def(s->m, spv_operand(load, 1))->type;
    SpvId lines = spv_int_constant(s->m, order_type, order ^ s->place.turned);
    SpvId stride = write_polynomial(&w, &s->place.stride, false);
    edit_become(s->m, load, SpvOpCooperativeMatrixLoadKHR, (uint32_t[]){ pointer, lines, stride },
                3);
}

/* ---- a variable ------------------------------------------------------------------------------ */

static bool forward(Forwarder *s, SpvInst *variable)
{
    Tile *t = NEW(s->c->scratch, Tile);
    *t = (Tile){ .variable = variable };
    if (!find_units(s, t) || !find_uses(s, t) || !has_barrier(s, t) || !read_copies(s, t) ||
        spv_n_operands(t->source) > 8 || !is_kept(s, t))
        return false;
    for (uint32_t k = 0; k < t->loads.len; k++)
        if (!read_load(s, t, t->loads.data[k]))
            return false;
    for (uint32_t k = 0; k < t->loads.len; k++) {
        read_load(s, t, t->loads.data[k]);
        rewrite_load(s, t, t->loads.data[k]);
    }
    for (uint32_t k = 0; k < t->stores.len; k++)
        edit_remove(s->m, t->stores.data[k]);
    edit_remove(s->m, variable);
    return true;
}

/* ---- barriers -------------------------------------------------------------------------------- */

static bool orders_workgroup_memory_only(const Forwarder *s, const SpvInst *i)
{
    const uint32_t others = SpvMemorySemanticsUniformMemoryMask |
                            SpvMemorySemanticsCrossWorkgroupMemoryMask |
                            SpvMemorySemanticsAtomicCounterMemoryMask |
                            SpvMemorySemanticsImageMemoryMask | SpvMemorySemanticsOutputMemoryMask;
    uint64_t semantics;
    bool control = i->op == SpvOpControlBarrier;
    return (control || i->op == SpvOpMemoryBarrier) &&
           spv_constant(s->m, spv_operand(i, control ? 2 : 1), &semantics) && !(semantics & others);
}

/* Whether the function has anything to do with workgroup memory, or with who waits for whom. */
static bool communicates(const Forwarder *s, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    if (orders_workgroup_memory_only(s, i))
        return false;
    if (!info || info->flags & (SPV_OPF_ATOMIC | SPV_OPF_BARRIER) || i->op == SpvOpFunctionCall)
        return true;
    if (!(info->flags & SPV_OPF_MEMORY) || !spv_n_operands(i))
        return false;
    const SpvInst *root = pointer_root(s->m, spv_operand(i, 0));
    return !root || root->op != SpvOpVariable || spv_operand(root, 0) == SpvStorageClassWorkgroup;
}

static void remove_barriers(Forwarder *s)
{
    VEC(SpvInst *) barriers = { 0 };
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next) {
            if (communicates(s, i))
                return;
            if (orders_workgroup_memory_only(s, i))
                vec_push(s->c->scratch, &barriers, i);
        }
    for (uint32_t k = 0; k < barriers.len; k++)
        edit_remove(s->m, barriers.data[k]);
}

/* ---------------------------------------------------------------------------------------------- */

static bool open_forwarder(Forwarder *s, PassContext *c)
{
    const uint32_t *size = c->entry.local_size;
    uint64_t n = (uint64_t)size[0] * size[1] * size[2];
    uint32_t W = c->options->subgroup_size;
    if (!c->options->forward || !W || !n || n > MOST_INVOCATIONS || n % W ||
        c->entry.model != SpvExecutionModelGLCompute || c->entry.quads == SPV_QUADS_SQUARE)
        return false;
    *s = (Forwarder){ .c = c,
                      .m = c->module,
                      .invocations = (uint32_t)n,
                      .subgroups = (uint32_t)n / W };
    s->reader = (PolynomialReader){ .m = s->m, .known = value_here, .user = s };
    return true;
}

bool pass_forward(PassContext *c)
{
    Forwarder *s = NEW(c->scratch, Forwarder);
    bool changed = false;
    if (!open_forwarder(s, c))
        return true;
    s->g = cfg_build(c->scratch, c->entry.function, c->sink);
    if (!s->g)
        return false;
    Uniformity *u = uniformity_build_for(c->scratch, s->m, s->g, c->options->subgroup_size);
    s->same = workgroup_same(c->scratch, s->m, s->g, u);
    s->n_same = s->m->bound;
    for (SpvInst *i = s->m->globals.first, *next; i; i = next) {
        next = i->next;
        if (i->op == SpvOpVariable && spv_operand(i, 0) == SpvStorageClassWorkgroup)
            changed |= forward(s, i);
    }
    if (!changed)
        return true;
    remove_barriers(s);
    edit_sweep(s->m, c->scratch);
    return pass_simplify(c);
}
