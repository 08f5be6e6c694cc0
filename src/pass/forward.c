/* SPDX-License-Identifier: MIT
 *
 * forward: matrices are loaded from where workgroup memory was copied from. In: a function after
 * simplify. Out: where all invocations of a workgroup together copy parts of a buffer to a variable
 * of workgroup memory, and only matrices are loaded from it, these are loaded from the buffer
 * instead, and the copies are gone; barriers that had nothing else to wait for are gone as well.
 *
 * Of what was copied (copies.c) each subgroup's matrix is looked up, element by element: it may be
 * loaded from the buffer if the places of its elements go by lines of one stride, the same for all
 * subgroups, and begin at a place that is a sum of products with the bits of the subgroup's number.
 */
#include "pass/edit.h"

enum { MOST_SUBGROUPS = 2048, MOST_BITS = 11 /* of a subgroup's number */ };

/* Where a matrix lies in the buffer. */
typedef struct Place {
    Polynomial first[MOST_SUBGROUPS]; /* by subgroup */
    Polynomial stride;
    bool turned; /* its lines are the other ones */
} Place;

typedef struct Forwarder {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    PassCopies *copies;
    uint32_t subgroups;
    uint8_t *emptied; /* by number of a loop: what it copied is not needed any more */
    Place place;
    PassIdWords ids;
} Forwarder;

/* ---- the loads ------------------------------------------------------------------------------- */

/* Lines of a matrix in the tile, and units in each. */
typedef struct Lines {
    uint32_t lines, units;
    bool by_column, single; /* a unit is one element */
} Lines;

static bool read_lines(Forwarder *s, const PassTile *t, const SpvInst *load, Lines *l)
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
static const Polynomial *unit_from(const PassTile *t, uint64_t first, uint64_t stride,
                                   uint32_t line, uint32_t unit)
{
    uint64_t at = first + line * stride + unit;
    return at < t->units && t->known[at] ? &t->from[at] : NULL;
}

/* to += times * (b - a) */
static void add_step(const Forwarder *s, Polynomial *to, const Polynomial *a, const Polynomial *b,
                     uint64_t times)
{
    polynomial_add(&s->copies->reader, to, b, times);
    polynomial_add(&s->copies->reader, to, a, 0 - times);
}

/* The steps from line to line and from unit to unit, if all units lie so. */
static bool read_steps(Forwarder *s, const PassTile *t, const Lines *l, uint64_t first,
                       uint64_t stride, Polynomial steps[2])
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
            polynomial_add(&s->copies->reader, &want, &steps[0], i);
            polynomial_add(&s->copies->reader, &want, &steps[1], k);
            if (!q || want.too_large || !polynomial_equal(&s->copies->reader, &want, q))
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
static bool read_place(Forwarder *s, const PassTile *t, const SpvInst *load, const Lines *l)
{
    Place *place = &s->place;
    uint32_t subgroup = s->copies->invocation / s->c->options->subgroup_size;
    Polynomial steps[2], stride = { .n = 0 };
    uint64_t first, apart;
    bool has_stride = spv_n_operands(load) > 2;
    if (!has_stride || !copies_unit(s->copies, t, spv_def(s->m, spv_operand(load, 0)), &first) ||
        !copies_index(s->copies, spv_operand(load, 2), &stride) ||
        !polynomial_number(&stride, &apart))
        return false;
    /* the reader's width is the source's from here on */
    s->copies->reader.bits =
        spv_type_of(s->m, spv_operand(t->source, spv_n_operands(t->source) - 1))->bits;
    if (!read_steps(s, t, l, first, apart, steps))
        return false;
    bool turned = l->units > 1 && !is_one(&steps[1]);
    if (turned && (!l->single || !is_one(&steps[0])))
        return false;
    if (subgroup && (turned != place->turned ||
                     !polynomial_equal(&s->copies->reader, &steps[turned], &place->stride)))
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
    uint64_t mask =
        s->copies->reader.bits < 64 ? (UINT64_C(1) << s->copies->reader.bits) - 1 : UINT64_MAX;
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
                polynomial_add(&s->copies->reader, all, &one, 1);
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

static bool read_load(Forwarder *s, const PassTile *t, const SpvInst *load)
{
    Lines l;
    if (!read_lines(s, t, load, &l))
        return false;
    for (uint32_t n = 0; n < s->subgroups; n++) {
        s->copies->invocation = n * s->c->options->subgroup_size;
        if (!read_place(s, t, load, &l))
            return false;
    }
    return can_place(s);
}

/* ---- the new loads --------------------------------------------------------------------------- */

enum { MOST_OPERANDS = 8 }; /* of the chain into the buffer */

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

/* The value where the load is, which may be behind the loop that it was computed in. */
static SpvId value_at(const Writer *w, SpvId id)
{
    SpvModule *m = w->s->m;
    const SpvInst *i = spv_def(m, id);
    SpvOperand o;
    if (!i->block || copies_in_order(w->s->copies, i, w->at))
        return id;
    SpvInst *again = spv_clone_inst(m, i);
    for (SpvWalk walk = spv_walk(i); spv_walk_next(&walk, &o);)
        if (o.is_id)
            again->words[o.word] = value_at(w, i->words[o.word]);
    again->words[2] = again->id = spv_new_id(m);
    m->defs[again->id] = again;
    spv_insert_before(w->at, again);
    return again->id;
}

static SpvId write_product(const Writer *w, const PolynomialTerm *t)
{
    SpvId r = 0;
    for (uint32_t k = 0; k < POLYNOMIAL_FACTORS; k++)
        if (t->of[k])
            r = r ? write(w, SpvOpIMul, w->type, r, value_at(w, t->of[k])) : value_at(w, t->of[k]);
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

/* Of a type with a sign if it may be negative. */
static SpvId write_stride(Writer *w, const Polynomial *p)
{
    const SpvType *t = spv_type(w->s->m, w->type);
    SpvId stride = write_polynomial(w, p, false), with_sign = spv_int_type(w->s->m, t->bits, true);
    bool negative = false;
    for (uint32_t k = 0; k < p->n; k++)
        negative |= p->terms[k].times >> (t->bits - 1) & 1;
    return negative && !t->is_signed ? write(w, SpvOpBitcast, with_sign, stride, 0) : stride;
}

static void rewrite_load(Forwarder *s, const PassTile *t, SpvInst *load)
{
    const SpvInst *chain = t->source;
    uint32_t n = spv_n_operands(chain), operands[MOST_OPERANDS];
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
    SpvId stride = write_stride(&w, &s->place.stride);
    edit_become(s->m, load, SpvOpCooperativeMatrixLoadKHR, (uint32_t[]){ pointer, lines, stride },
                3);
}

/* ---- a variable ------------------------------------------------------------------------------ */

static bool forward(Forwarder *s, SpvInst *variable)
{
    PassTile *t = NEW(s->c->scratch, PassTile);
    if (!copies_read(s->copies, variable, t) || spv_n_operands(t->source) > MOST_OPERANDS)
        return false;
    for (uint32_t k = 0; k < t->loads.len; k++)
        if (!read_load(s, t, t->loads.data[k]))
            return false;
    for (uint32_t k = 0; k < t->loads.len; k++) {
        read_load(s, t, t->loads.data[k]);
        rewrite_load(s, t, t->loads.data[k]);
    }
    for (uint32_t k = 0; k < t->copies.len; k++) {
        const CfgLoop *loop = t->copies.data[k].loop;
        edit_remove(s->m, t->copies.data[k].store);
        if (loop)
            s->emptied[loop->index] = 1;
    }
    edit_remove(s->m, variable);
    return true;
}

/* ---- loops of nothing ------------------------------------------------------------------------ */

static bool is_idle(const SpvInst *i)
{
    return spv_is_pure(i) || i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain ||
           i->op == SpvOpLabel || i->op == SpvOpPhi || i->op == SpvOpLoopMerge ||
           i->op == SpvOpBranch || i->op == SpvOpBranchConditional ||
           i->op == SpvOpSelectionMerge || i->op == SpvOpLoad;
}

/* Nothing is done in the loop, and nobody wants what it computes. */
static bool loop_is_idle(Forwarder *s, const CfgLoop *loop)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++) {
        bool inside = cfg_in_loop(loop, s->g, p);
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next) {
            if (inside && !is_idle(i))
                return false;
            edit_ids(i, &s->ids);
            for (uint32_t k = 0; !inside && k < s->ids.n; k++) {
                const SpvInst *d = spv_def(s->m, i->words[s->ids.at[k]]);
                if (d && d->block && d->op != SpvOpLabel &&
                    cfg_in_loop(loop, s->g, s->g->position[d->block->index]))
                    return false;
            }
        }
    }
    return true;
}

static void remove_loops(Forwarder *s)
{
    for (uint32_t k = 0; k < s->g->n_loops; k++) {
        const CfgLoop *loop = s->g->loops[k];
        SpvBlock *header = s->g->blocks[loop->header].block;
        if (!s->emptied[k] || !loop_is_idle(s, loop))
            continue;
        const SpvBlock *then = edit_block(s->m, spv_operand(header->insts.last, 1));
        bool stays = cfg_in_loop(loop, s->g, s->g->position[then->index]);
        loop_decide_exit(s->m, header, !stays, true);
    }
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

/* Whether an instruction has anything to do with workgroup memory, or with who waits for whom. */
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
    for (SpvFunction *f = s->m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next) {
                if (communicates(s, i))
                    return;
                if (orders_workgroup_memory_only(s, i))
                    vec_push(s->c->scratch, &barriers, i);
            }
    for (uint32_t k = 0; k < barriers.len; k++)
        edit_remove(s->m, barriers.data[k]);
}

/* ---------------------------------------------------------------------------------------------- */

bool pass_forward(PassContext *c)
{
    if (!c->options->forward)
        return true;
    Forwarder *s = NEW(c->scratch, Forwarder);
    bool changed = false;
    *s = (Forwarder){ .c = c, .m = c->module, .copies = NEW(c->scratch, PassCopies) };
    s->g = cfg_build(c->scratch, c->entry.function, c->sink);
    if (!s->g || !copies_open(s->copies, c, s->g))
        return s->g;
    s->subgroups = s->copies->invocations / c->options->subgroup_size;
    s->emptied = NEW_ARRAY(c->scratch, uint8_t, s->g->n_loops + 1);
    for (SpvInst *i = s->m->globals.first, *next; i; i = next) {
        next = i->next;
        if (i->op == SpvOpVariable && spv_operand(i, 0) == SpvStorageClassWorkgroup)
            changed |= forward(s, i);
    }
    if (!changed)
        return true;
    remove_loops(s);
    remove_barriers(s);
    edit_sweep(s->m, c->scratch);
    return pass_simplify(c);
}
