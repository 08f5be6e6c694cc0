/* SPDX-License-Identifier: MIT
 *
 * khr_multiply: a multiply-add through workgroup memory. A and B go there, as much of them in K as
 * there is room for, and every invocation sums up the products of its own elements: over k outside,
 * so that what several elements share of a row or a column is loaded once. Where invocations hold
 * whole columns, elements of A are shuffled to them instead. Sums are f32 (f64), integers of 32
 * bits (64 where the result has them, or saturates), rounded or cut once in the end.
 */
#include "lower/khr_multiply.h"

enum {
    PRODUCTS = 128, /* in an iteration, about */
    NAMED = 128     /* the most sums that are named one by one, not by a loop's counter */
};

static SpvId convert(Lower *l, SpvInst *at, uint16_t op, SpvId type, SpvId value)
{
    return spv_def(l->m, value)->type == type ? value : BUILD(l, at, op, type, value);
}

/* A component as a number of the sum's type. */
SpvId multiply_widen(Lower *l, SpvInst *at, const LowerMultiply *x, const SpvType *from,
                     bool is_signed, SpvId value)
{
    if (x->sum->kind == SPV_FLOAT)
        return convert(l, at, SpvOpFConvert, x->sum->id, value);
    if (from->bits == x->sum->bits)
        return convert(l, at, SpvOpBitcast, x->sum->id, value);
    if (is_signed)
        return BUILD(l, at, SpvOpSConvert, x->sum->id, value);
    return BUILD(l, at, SpvOpUConvert, x->sum->id, value);
}

static SpvId clamp(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId sum)
{
    uint32_t bits = x->d->element->bits;
    uint64_t most = x->sign_d ? (UINT64_C(1) << (bits - 1)) - 1 : (UINT64_C(1) << bits) - 1;
    uint64_t least = x->sign_d ? ~most : 0;
    SpvId high = spv_int_constant(l->m, x->sum->id, most);
    SpvId low = spv_int_constant(l->m, x->sum->id, least), b = build_bool(l);
    sum = build_select(l, at, BUILD(l, at, SpvOpSLessThan, b, sum, high), sum, high);
    return build_select(l, at, BUILD(l, at, SpvOpSGreaterThan, b, sum, low), sum, low);
}

/* The products' sum and C. For a result of 64 bits that saturates no larger integers are there: a
 * sum beyond its ends has wrapped, which shows by its being on the wrong side of the products
 * (these do not overflow: SPIR-V leaves undefined what then comes of a saturating accumulation). */
static SpvId add(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId products, SpvId c)
{
    bool is_float = x->sum->kind == SPV_FLOAT, is_signed = x->sign_d;
    SpvId type = x->sum->id, b = build_bool(l);
    SpvId sum = BUILD(l, at, is_float ? SpvOpFAdd : SpvOpIAdd, type, products, c);
    if (!x->saturate || x->d->element->bits < 64)
        return sum;
    uint16_t less = is_signed ? SpvOpSLessThan : SpvOpULessThan;
    SpvId most = spv_int_constant(l->m, type, is_signed ? INT64_MAX : UINT64_MAX);
    SpvId up = build_select(l, at, BUILD(l, at, less, b, sum, products), most, sum);
    if (!x->sign_c)
        return up;
    SpvId least = spv_int_constant(l->m, type, is_signed ? (uint64_t)INT64_MIN : 0);
    SpvId down = build_select(l, at, BUILD(l, at, less, b, products, sum), least, sum);
    SpvId zero = spv_int_constant(l->m, type, 0);
    return build_select(l, at, BUILD(l, at, SpvOpSLessThan, b, c, zero), down, up);
}

static SpvId narrow(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId sum)
{
    const SpvType *to = x->d->element;
    if (to->kind == SPV_FLOAT)
        return convert(l, at, SpvOpFConvert, to->id, sum);
    if (x->saturate && to->bits < 64)
        sum = clamp(l, at, x, sum);
    if (to->bits == x->sum->bits)
        return convert(l, at, SpvOpBitcast, to->id, sum);
    return BUILD(l, at, to->is_signed ? SpvOpSConvert : SpvOpUConvert, to->id, sum);
}

/* ---- staging --------------------------------------------------------------------------------- */

static uint64_t bytes_of(const Lower *l, const LowerMultiply *x, uint32_t slab)
{
    uint64_t each = x->same ? 0 : x->d->cols * lower_size(l, x->b->element);
    each += x->shuffles ? 0 : x->d->rows * lower_size(l, x->a->element);
    return each * slab * (x->d->scope == SpvScopeWorkgroup ? 1 : l->subgroups);
}

/* What is staged of other types, and the kernel's own. */
static uint64_t taken_by_others(const Lower *l, const LowerMultiply *x)
{
    uint64_t bytes = l->own_memory;
    for (uint32_t k = 0; k < l->staging.len; k++) {
        const LowerStaging *s = &l->staging.data[k];
        if (s->scope != x->d->scope ||
            (s->element != x->a->element->id && s->element != x->b_staged))
            bytes += lower_size(l, spv_type(l->m, s->element)) * s->rows * s->count;
    }
    return bytes;
}

/* The largest part of K that takes no more than half of the memory, and what others leave. */
static void choose_slab(const Lower *l, LowerMultiply *x)
{
    uint64_t all = l->profile->workgroup_memory, rest = all - MIN(all, taken_by_others(l, x));
    for (uint32_t parts = 1; parts <= x->depth; parts++) {
        x->slab = x->depth / parts;
        if (x->depth % parts == 0 && bytes_of(l, x, x->slab) <= MIN(all / 2, rest))
            return;
    }
    x->slab = 1;
}

static void open_staging(Lower *l, LowerMultiply *x)
{
    bool one = x->a->element->id == x->b_staged;
    uint32_t na = x->shuffles ? 0 : x->d->rows * x->slab;
    uint32_t nb = x->same ? 0 : x->d->cols * x->slab / x->packed;
    x->b_first = one ? na : 0;
    if (na)
        staging_of(l, x->a->element->id, x->d->scope, one ? na + nb : na);
    if (nb)
        staging_of(l, x->b_staged, x->d->scope, one ? na + nb : nb);
}

/* Where the k-th of a column of B is staged. */
static SpvId number_in_b(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId k, SpvId column)
{
    SpvId line = build_mul(l, at, build_div(l, at, k, x->packed), build_const(l, x->d->cols));
    return build_add(l, at, build_add(l, at, line, column), build_const(l, x->b_first));
}

/* Puts the elements of A or B whose k is from `from` on in the slab there. */
static void stage(Lower *l, SpvInst *before, const LowerMultiply *x, bool is_b, SpvId from)
{
    const SpvType *t = is_b ? x->b : x->a;
    SpvId matrix = spv_operand(x->inst, is_b ? 1 : 0);
    LowerEach e = each_open(l, before, place_length(l, t));
    while (each_next(&e)) {
        SpvId value = each_get(&e, matrix, t->element->id);
        SpvInst *at = place_if_holds(l, e.at, t, e.index);
        LowerElement p = place_element(l, at, t, e.index);
        SpvId k = build_sub(l, at, is_b ? p.row : p.column, from);
        if (x->slab < x->depth) /* below `from`, the difference is a large number */
            at = build_if(l, at, build_less(l, at, k, build_const(l, x->slab)));
        SpvId number = is_b ? number_in_b(l, at, x, k, p.column)
                            : build_add(l, at, build_mul(l, at, p.row, build_const(l, x->slab)), k);
        staging_store(l, at, t->scope, number, value);
    }
}

/* The same of B in words. */
static void stage_packed(Lower *l, SpvInst *before, const LowerMultiply *x, SpvId from)
{
    LowerGrid g;
    SpvId parts[4], element = x->b->element->id, matrix = spv_operand(x->inst, 1);
    SpvId vector = spv_vector_type(l->m, element, x->packed);
    place_block(l, x->b, &g);
    for (uint32_t e = 0; e < g.rows * g.columns; e++) {
        SpvInst *at = before;
        if (e / g.columns % x->packed)
            continue;
        for (uint32_t j = 0; j < x->packed; j++)
            parts[j] = BUILD(l, at, SpvOpCompositeExtract, element, matrix, e + j * g.columns);
        SpvId word = BUILD(l, at, SpvOpBitcast, build_u32(l),
                           build(l, at, SpvOpCompositeConstruct, vector, parts, x->packed));
        LowerElement p = place_element(l, at, x->b, build_const(l, e));
        SpvId k = build_sub(l, at, p.row, from);
        if (x->slab < x->depth)
            at = build_if(l, at, build_less(l, at, k, build_const(l, x->slab)));
        staging_store(l, at, x->d->scope, number_in_b(l, at, x, k, p.column), word);
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

static SpvId fetch(Lower *l, SpvInst *at, const LowerMultiply *x, bool is_b, SpvId number)
{
    const SpvType *t = is_b ? x->b : x->a;
    SpvId value = staging_load(l, at, t->element->id, t->scope, number);
    return multiply_widen(l, at, x, t->element, is_b ? x->sign_b : x->sign_a, value);
}

SpvId multiply_sum(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId e)
{
    return build_element(l, at, SpvStorageClassFunction, x->sum->id, x->sums, e);
}

SpvId multiply_add(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId sum, const SpvId of[2])
{
    bool is_float = x->sum->kind == SPV_FLOAT;
    SpvId type = x->sum->id;
    SpvId product = BUILD(l, at, is_float ? SpvOpFMul : SpvOpIMul, type, of[0], of[1]);
    return BUILD(l, at, is_float ? SpvOpFAdd : SpvOpIAdd, type, sum, product);
}

/* The products in one iteration for each of the n sums that it names: few iterations, since Mesa's
 * lavapipe ends all loops of an invocation together after 65,535 of them, and few loads and stores
 * of sums. */
static uint32_t products_at_once(const LowerMultiply *x, uint32_t n)
{
    uint32_t most = MAX(x->packed, MIN(8, PRODUCTS / n));
    while (x->slab % most || most % x->packed)
        most--;
    return most;
}

/* n elements of a column of B from that one on, a word at a time where they are packed. */
static void fetch_column(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId first, uint32_t n,
                         SpvId *out)
{
    const SpvType *t = x->b->element;
    SpvId vector = x->packed > 1 ? spv_vector_type(l->m, t->id, x->packed) : 0, word = 0;
    for (uint32_t of = 0; of < n; of++) {
        SpvId one = x->same, line = build_const(l, of / x->packed * x->d->cols);
        if (!one && of % x->packed == 0)
            word = staging_load(l, at, x->b_staged, x->d->scope, build_add(l, at, first, line));
        if (vector && of % x->packed == 0)
            word = BUILD(l, at, SpvOpBitcast, vector, word);
        if (!one)
            one = vector ? BUILD(l, at, SpvOpCompositeExtract, t->id, word, of % x->packed) : word;
        out[of] = multiply_widen(l, at, x, t, x->sign_b, one);
    }
}

SpvId multiply_fetch_a(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId k, uint32_t of,
                       SpvId row)
{
    SpvId line = build_mul(l, at, row, build_const(l, x->slab));
    return fetch(l, at, x, false, build_add(l, at, build_add(l, at, line, k), build_const(l, of)));
}

/* Adds the products of the staged slab, in the order of k. Sums of a grid share what is loaded: its
 * columns of B for all rows, a row of A for all columns. Where B is the same everywhere, so are the
 * sums of a row. */
void multiply_add_all(Lower *l, SpvInst *before, const LowerMultiply *x)
{
    SpvInst *body;
    SpvId step, type = x->sum->id;
    LowerGrid g = x->grid;
    uint32_t sums = g.rows * g.columns, columns = x->same ? 1 : g.columns;
    bool looped = sums > (x->shares ? NAMED : UNROLLED);
    uint32_t products = products_at_once(x, looped ? g.columns : sums);
    SpvId *a = NEW_ARRAY(l->scratch, SpvId, products);
    SpvId *b = NEW_ARRAY(l->scratch, SpvId, (size_t)products * g.columns);
    build_loop(l, before, x->slab / products, &body, &step);
    SpvId k = build_mul(l, body, step, build_const(l, products));
    for (uint32_t column = 0; x->shares && column < columns; column++) {
        LowerElement p = place_element(l, body, x->d, build_const(l, column));
        SpvId number = number_in_b(l, body, x, k, p.column);
        fetch_column(l, body, x, number, products, b + column * products);
    }
    LowerEach e = each_open_part(l, body, g.rows, looped ? sums : 1);
    while (each_next(&e)) {
        SpvId first = build_mul(l, e.at, e.index, build_const(l, g.columns));
        LowerElement p = place_element(l, e.at, x->d, first);
        for (uint32_t of = 0; of < products; of++)
            a[of] = multiply_fetch_a(l, e.at, x, k, of, p.row);
        if (!x->shares)
            fetch_column(l, e.at, x, number_in_b(l, e.at, x, k, p.column), products, b);
        for (uint32_t column = 0; column < columns; column++) {
            SpvId to = multiply_sum(l, e.at, x, build_add(l, e.at, first, build_const(l, column)));
            SpvId sum = build_load(l, e.at, type, to);
            for (uint32_t of = 0; of < products; of++) {
                SpvId of_b = b[column * products + of];
                sum = multiply_add(l, e.at, x, sum, (SpvId[]){ a[of], of_b });
            }
            build_store(l, e.at, to, sum);
        }
    }
}

/* Where invocations hold whole columns of the result, and a row of A is as long as so many
 * subgroups: which invocation has an element of A then depends on its k alone. Numbers of other
 * sizes than 32 bits, but f64, are shuffled only with a feature of their own. */
static bool may_shuffle(const Lower *l, const LowerMultiply *x)
{
    const LowerProfile *p = l->profile;
    uint32_t lanes = place_lanes(l, x->d->scope);
    return p->features & PROFILE_HAS_SHUFFLES && x->d->scope == SpvScopeSubgroup && lanes > 1 &&
           l->width <= p->max_subgroup_size && x->d->cols % lanes == 0 && x->depth % lanes == 0 &&
           place_length(l, x->d) <= UNROLLED && (x->sum->kind == SPV_FLOAT || x->sum->bits == 32) &&
           place_is_by_number(l, x->a) && place_is_by_number(l, x->d);
}

/* The element of A that lane `lane` holds of those from `number` on. */
static SpvId shuffled(Lower *l, SpvInst *at, const LowerMultiply *x, uint32_t number, SpvId lane)
{
    uint32_t e = number / place_lanes(l, x->d->scope);
    SpvId matrix = spv_operand(x->inst, 0);
    SpvId own = BUILD(l, at, SpvOpCompositeExtract, x->a->element->id, matrix, e);
    own = multiply_widen(l, at, x, x->a->element, x->sign_a, own);
    return BUILD(l, at, SpvOpGroupNonUniformShuffle, x->sum->id, build_const(l, x->d->scope), own,
                 lane);
}

/* Adds the products of all k, in their order. */
static void add_shuffled(Lower *l, const LowerMultiply *x)
{
    SpvInst *at;
    SpvId lane, *b;
    uint32_t lanes = place_lanes(l, x->d->scope), across = x->d->cols / lanes;
    b = NEW_ARRAY(l->scratch, SpvId, across);
    for (uint32_t first = 0; first < x->depth; first += lanes) {
        build_loop(l, x->inst, lanes, &at, &lane);
        SpvId k = build_add(l, at, lane, build_const(l, first));
        SpvId line = build_mul(l, at, k, build_const(l, x->d->cols));
        line = build_add(l, at, line, place_lane(l, at, x->d->scope));
        for (uint32_t e = 0; e < across; e++)
            b[e] = fetch(l, at, x, true, build_add(l, at, line, build_const(l, e * lanes)));
        for (uint32_t row = 0; row < x->d->rows; row++) {
            SpvId a = shuffled(l, at, x, row * x->depth + first, lane);
            for (uint32_t e = 0; e < across; e++) {
                SpvId to = multiply_sum(l, at, x, build_const(l, row * across + e));
                SpvId sum = build_load(l, at, x->sum->id, to);
                build_store(l, at, to, multiply_add(l, at, x, sum, (SpvId[]){ a, b[e] }));
            }
        }
    }
    l->shuffles = true;
}

static SpvId finish(Lower *l, const LowerMultiply *x)
{
    SpvInst *i = x->inst;
    LowerEach e = each_open(l, i, place_length(l, x->d));
    while (each_next(&e)) {
        SpvId c = each_get(&e, spv_operand(i, 2), x->c->element->id), from = e.index;
        if (x->same)
            from = build_sub(l, e.at, from, build_mod(l, e.at, from, x->grid.columns));
        SpvId sum = build_load(l, e.at, x->sum->id, multiply_sum(l, e.at, x, from));
        c = multiply_widen(l, e.at, x, x->c->element, x->sign_c, c);
        sum = narrow(l, e.at, x, add(l, e.at, x, sum, c));
        each_put(&e, x->d->id, x->d->element->id, sum);
    }
    return each_result(&e, x->d->id);
}

static bool choose_sum(Lower *l, LowerMultiply *x)
{
    const SpvType *d = x->d->element;
    uint32_t has = l->profile->features;
    bool wide = d->bits == 64 || x->saturate;
    if (d->kind == SPV_FLOAT) {
        uint32_t most = MAX(MAX(x->a->element->bits, x->b->element->bits), x->c->element->bits);
        x->sum = spv_type(l->m, spv_float_type(l->m, MAX(most, d->bits) == 64 ? 64 : 32));
        return true;
    }
    if (wide && !(has & PROFILE_HAS_INT64))
        return lower_refuse(l, x->inst, "it is summed up in integers of 64 bits");
    x->sum = spv_type(l->m, spv_int_type(l->m, wide ? 64 : 32, false));
    lower_uses(l, x->sum);
    return true;
}

/* ---- a multiply-add -------------------------------------------------------------------------- */

/* The number that a constant B is everywhere. */
static SpvId same_number(Lower *l, const LowerMultiply *x)
{
    const SpvInst *b = spv_def(l->m, spv_operand(x->inst, 1));
    if (b->op == SpvOpConstantNull)
        return spv_null_constant(l->m, x->b->element->id);
    bool same = b->op == SpvOpConstantComposite;
    for (uint32_t k = 1; same && k < spv_n_operands(b); k++)
        same = spv_operand(b, k) == spv_operand(b, 0);
    return same ? spv_operand(b, 0) : 0;
}

/* How many elements of a column of B go into a word, so that fewer loads bring them: where a lane
 * has them, and where memory holds and the target computes with what they are. */
static uint32_t may_pack(const Lower *l, const LowerMultiply *x)
{
    LowerGrid g;
    const SpvType *t = x->b->element;
    uint32_t n = 32 / t->bits;
    bool may = n > 1 && !l->frugal && x->shares && !x->same && !lower_is_small(l, t) &&
               place_block(l, x->b, &g) && g.rows % n == 0 && g.rows * g.columns <= NAMED;
    return may ? n : 1;
}

static bool open_multiply(Lower *l, SpvInst *i, LowerMultiply *x)
{
    uint32_t operands = spv_n_operands(i) > 3 ? spv_operand(i, 3) : 0;
    *x = (LowerMultiply){ .inst = i,
                          .a = spv_type_of(l->m, spv_operand(i, 0)),
                          .b = spv_type_of(l->m, spv_operand(i, 1)),
                          .c = spv_type_of(l->m, spv_operand(i, 2)),
                          .d = spv_type(l->m, i->type) };
    x->sign_a = operands & SpvCooperativeMatrixOperandsMatrixASignedComponentsKHRMask;
    x->sign_b = operands & SpvCooperativeMatrixOperandsMatrixBSignedComponentsKHRMask;
    x->sign_c = operands & SpvCooperativeMatrixOperandsMatrixCSignedComponentsKHRMask;
    x->sign_d = operands & SpvCooperativeMatrixOperandsMatrixResultSignedComponentsKHRMask;
    x->saturate = operands & SpvCooperativeMatrixOperandsSaturatingAccumulationKHRMask;
    x->depth = x->a->cols;
    if (!choose_sum(l, x))
        return false;
    x->shares = place_grid(l, x->d, &x->grid) && x->grid.columns <= NAMED;
    if (!x->shares)
        x->grid = (LowerGrid){ place_length(l, x->d), 1 };
    x->same = same_number(l, x);
    x->shuffles = !x->same && may_shuffle(l, x);
    x->packed = may_pack(l, x);
    x->b_staged = x->packed > 1 ? build_u32(l) : x->b->element->id;
    choose_slab(l, x);
    if (x->slab % x->packed) {
        x->packed = 1;
        x->b_staged = x->b->element->id;
        choose_slab(l, x);
    }
    l->spends |= x->packed > 1;
    if (x->shuffles && x->slab < x->depth) {
        x->shuffles = false;
        choose_slab(l, x);
    }
    x->own_rows = multiply_has_own_rows(l, x);
    if (!x->own_rows)
        open_staging(l, x);
    if (!x->own_rows && multiply_may_repeat(l, x))
        x->last = staging_apart(l, x->sum->id, x->d->cols);
    SpvId n = build_const(l, place_length(l, x->d));
    SpvId type = spv_array_type(l->m, x->sum->id, n);
    x->sums = build_variable(l, i, type);
    build_store(l, i, x->sums, spv_null_constant(l->m, type));
    return true;
}

/* The products of as much of K as is staged at once, and of the next such part. */
static void add_staged(Lower *l, const LowerMultiply *x)
{
    SpvInst *at = x->inst;
    SpvId from = build_const(l, 0), part;
    if (x->slab < x->depth) {
        build_loop(l, x->inst, x->depth / x->slab, &at, &part);
        from = build_mul(l, at, part, build_const(l, x->slab));
    }
    if (!x->shuffles)
        stage(l, at, x, false, from);
    if (x->packed > 1)
        stage_packed(l, at, x, from);
    else if (!x->same)
        stage(l, at, x, true, from);
    place_barrier(l, at, x->d->scope);
    if (x->last)
        multiply_add_unlike(l, at, x);
    else if (x->shuffles)
        add_shuffled(l, x);
    else
        multiply_add_all(l, at, x);
    if (!x->last)
        place_barrier(l, at, x->d->scope);
}

void khr_multiply(Lower *l, SpvInst *i)
{
    LowerMultiply x;
    if (!open_multiply(l, i, &x))
        return;
    if (x.own_rows)
        multiply_add_own_rows(l, &x);
    else
        add_staged(l, &x);
    lower_note(l, i,
               x.own_rows   ? "shuffles, sums of rows"
               : x.shuffles ? "workgroup memory, shuffles, sums of products"
                            : "workgroup memory, sums of products");
    build_replace(l, i, finish(l, &x));
}
