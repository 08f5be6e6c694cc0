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
    VEC(PassTile *) done;
    Place place;
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

/* What is written of a load's place. */
typedef struct Writer {
    Forwarder *s;
    PassTerms terms;
    SpvId u32, subgroup; /* the subgroup's number; 0: not asked for yet */
} Writer;

static SpvId subgroup_number(Writer *w)
{
    SpvModule *m = w->s->m;
    if (!w->subgroup) {
        SpvId v = edit_builtin(m, w->s->c->entry.inst, SpvBuiltInSubgroupId, w->u32);
        edit_capability(m, SpvCapabilityGroupNonUniform);
        SpvId type = spv_type_of(m, v)->element->id;
        w->subgroup = terms_put(&w->terms, SpvOpLoad, type, v, 0);
    }
    return w->subgroup;
}

/* So many bits of the subgroup's number, as an integer of the type. */
static SpvId bits_of_subgroup(Writer *w, uint32_t first, uint32_t n)
{
    SpvModule *m = w->s->m;
    SpvId x = subgroup_number(w), type = spv_def(m, x)->type;
    if (first)
        x = terms_put(&w->terms, SpvOpShiftRightLogical, type, x, spv_int_constant(m, type, first));
    if ((w->s->subgroups - 1) >> (first + n))
        x = terms_put(&w->terms, SpvOpBitwiseAnd, type, x,
                      spv_int_constant(m, type, (UINT64_C(1) << n) - 1));
    return terms_as_wide(&w->terms, x);
}

/* How often the product counts: a number, and weights of bits. 0: never. */
static SpvId write_times(Writer *w, uint64_t number, const uint64_t *weights)
{
    SpvId r = number ? spv_int_constant(w->s->m, w->terms.type, number) : 0;
    for (uint32_t k = 0, n; k < MOST_BITS; k += n) {
        for (n = 1; weights[k] && k + n < MOST_BITS && weights[k + n] == weights[k] << n;)
            n++;
        if (weights[k])
            r = terms_sum(&w->terms, r,
                          terms_times(&w->terms, bits_of_subgroup(w, k, n), weights[k]));
    }
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
        SpvId often = write_times(w, number, weights), product = terms_product(&w->terms, t);
        if (!often)
            continue;
        uint64_t one;
        if (product && spv_constant(w->s->m, often, &one) && one == 1)
            often = 0;
        r = terms_sum(&w->terms, r,
                      product && often
                          ? terms_put(&w->terms, SpvOpIMul, w->terms.type, product, often)
                      : product ? product
                                : often);
    }
    return r ? r : spv_int_constant(w->s->m, w->terms.type, 0);
}

/* Of a type with a sign if it may be negative. */
static SpvId write_stride(Writer *w, const Polynomial *p)
{
    const SpvType *t = spv_type(w->s->m, w->terms.type);
    SpvId stride = write_polynomial(w, p, false), with_sign = spv_int_type(w->s->m, t->bits, true);
    bool negative = false;
    for (uint32_t k = 0; k < p->n; k++)
        negative |= p->terms[k].times >> (t->bits - 1) & 1;
    return negative && !t->is_signed ? terms_put(&w->terms, SpvOpBitcast, with_sign, stride, 0)
                                     : stride;
}

static void rewrite_load(Forwarder *s, const PassTile *t, SpvInst *load)
{
    const SpvInst *chain = t->source;
    uint32_t n = spv_n_operands(chain), operands[MOST_OPERANDS];
    Writer w = { .s = s,
                 .u32 = spv_int_type(s->m, 32, false),
                 .terms = { .copies = s->copies,
                            .at = load,
                            .type = spv_type_of(s->m, spv_operand(chain, n - 1))->id } };
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

static void forward(Forwarder *s, SpvInst *variable)
{
    PassTile *t = NEW(s->c->scratch, PassTile);
    if (!copies_find(s->copies, variable, SpvOpCooperativeMatrixLoadKHR, t) ||
        !copies_read(s->copies, t) || spv_n_operands(t->source) > MOST_OPERANDS)
        return;
    for (uint32_t k = 0; k < t->loads.len; k++)
        if (!read_load(s, t, t->loads.data[k]))
            return;
    for (uint32_t k = 0; k < t->loads.len; k++) {
        read_load(s, t, t->loads.data[k]);
        rewrite_load(s, t, t->loads.data[k]);
    }
    copies_take_apart(s->copies, spv_operand(t->source, 0));
    vec_push(s->c->scratch, &s->done, t);
}

/* ---------------------------------------------------------------------------------------------- */

bool pass_forward(PassContext *c)
{
    if (!c->options->forward)
        return true;
    Forwarder *s = NEW(c->scratch, Forwarder);
    *s = (Forwarder){ .c = c, .m = c->module, .copies = NEW(c->scratch, PassCopies) };
    s->g = cfg_build(c->scratch, c->entry.function, c->sink);
    if (!s->g || c->entry.model != SpvExecutionModelGLCompute || !copies_open(s->copies, c, s->g))
        return s->g;
    s->subgroups = s->copies->invocations / c->options->subgroup_size;
    for (SpvInst *i = s->m->globals.first; i; i = i->next)
        if (i->op == SpvOpVariable && spv_operand(i, 0) == SpvStorageClassWorkgroup)
            forward(s, i);
    if (!s->done.len)
        return true;
    return copies_forget(c, s->g, s->done.data, s->done.len) && pass_simplify(c);
}
