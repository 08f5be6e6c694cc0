/* SPDX-License-Identifier: MIT
 *
 * Transfers between a tensor and a dense tile by lines that are runs in memory.
 *
 * In linear order the elements of a matrix (of the clip region, if there is one) are lines of equal
 * length, within which only the coordinate in the innermost dimension changes, by one from element
 * to element. Lines may be parts of the matrix's rows or several rows long: what counts is that
 * none crosses the end of a span or of a view's dimension, which is decided once for a transfer, at
 * run time. Where lines begin is computed for W of them at a time; only what the clamp mode does to
 * the innermost coordinate concerns single elements, and only lines that hang over an edge.
 *
 * Element by element, tensor_lines.c does the same for every slice.
 */
#include "cpu/matrix/tensor.h"

/* ---- whether, and which lines ---------------------------------------------------------------- */

typedef struct TensorTest {
    Emit *e;
    LV holds; /* i1: all that was required so far */
} TensorTest;

static void require(TensorTest *t, LV condition)
{
    t->holds = LLVMBuildAnd(t->e->b, t->holds, condition, "");
}

static void require_order(TensorTest *t, LV x, LLVMIntPredicate p, LV y)
{
    require(t, LLVMBuildICmp(t->e->b, p, x, y, ""));
}

static void require_multiple(TensorTest *t, LV x, LV of)
{
    LV safe = emit_tensor_divisor(t->e, of);
    require_order(t, LLVMBuildURem(t->e->b, x, safe, ""), LLVMIntEQ, ir_int(t->e->i32, 0));
}

static LV smaller(Emit *e, LV x, LV y)
{
    return LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntULT, x, y, ""), x, y, "");
}

static uint32_t n_elements(const MatTransfer *x) { return x->matrix->rows * x->matrix->cols; }

/* What the types already say. */
static bool may_run(const MatTransfer *x)
{
    uint32_t inner = x->d - 1;
    if (x->decode || (uint64_t)x->matrix->rows * x->matrix->cols >= TENSOR_SMALL ||
        !ir_is_int(tensor_field(x, TENSOR_STRIDE, inner), 1))
        return false;
    for (uint32_t k = 0; k < x->d; k++)
        if (!ir_is_int(tensor_field(x, TENSOR_BLOCK, k), 1))
            return false;
    if (x->swapped || !x->view)
        return true;
    uint32_t last = x->permutation[x->vd - 1];
    for (uint32_t k = 0; k + 1 < x->vd; k++)
        if (x->permutation[k] == last)
            return false;
    return x->view_sizes || (x->vd == x->d && last == inner);
}

/* i64: the largest coordinate in the slice that a dimension's span allows. */
static LV last_in_span(Emit *e, const MatTransfer *x, LV span)
{
    LV n = smaller(e, span, ir_int(e->i32, n_elements(x)));
    return tensor_widen(e, LLVMBuildSub(e->b, n, ir_int(e->i32, 1), ""));
}

/* Linear indices in the view and the slice are small, and those of lines are multiples of their
 * length. */
static void require_lines_of_view(TensorTest *t, const MatTransfer *x, LV length)
{
    Emit *e = t->e;
    LV small = ir_int(e->i64, TENSOR_SMALL), reach = ir_int(e->i64, 0), natural = ir_int(e->i64, 1);
    const LV *size = x->view_sizes ? x->v + TENSOR_VIEW_SIZE * x->vd : x->f + TENSOR_SPAN * x->d;
    for (uint32_t k = x->vd; k-- > 0;) {
        LV stride = natural;
        natural = LLVMBuildMul(e->b, natural, tensor_widen(e, size[k]), "");
        LV low = LLVMBuildICmp(e->b, LLVMIntULT, natural, small, "");
        natural = LLVMBuildSelect(e->b, low, natural, small, "");
        if (x->view_sizes) {
            LV given = x->v[TENSOR_VIEW_STRIDE * x->vd + k];
            stride = tensor_widen(e, given);
            if (k == x->permutation[x->vd - 1])
                require_order(t, given, LLVMIntEQ, ir_int(e->i32, 1));
            else
                require_multiple(t, given, length);
        }
        LV most = LLVMBuildMul(e->b, last_in_span(e, x, size[k]), stride, "");
        reach = LLVMBuildAdd(e->b, reach, most, "");
    }
    require_order(t, reach, LLVMIntULT, small);
    if (x->view_sizes)
        require_multiple(t, tensor_field(x, TENSOR_SPAN, x->d - 1), length);
}

/* No coordinate and no index of an element that is accessed wraps, and all of them exist. */
static void require_room(TensorTest *t, const MatTransfer *x)
{
    Emit *e = t->e;
    uint32_t mode = tensor_mode(x);
    LV reach = ir_int(e->i64, 0), zero = ir_int(e->i64, 0);
    for (uint32_t k = 0; k < x->d; k++) {
        LV offset = LLVMBuildSExt(e->b, tensor_field(x, TENSOR_OFFSET, k), e->i64, "");
        LV span = last_in_span(e, x, tensor_field(x, TENSOR_SPAN, k));
        LV last = LLVMBuildAdd(e->b, offset, span, "");
        LV edge = LLVMBuildSub(e->b, tensor_widen(e, x->end[k]), ir_int(e->i64, 1), "");
        require_order(t, last, LLVMIntSLT, ir_int(e->i64, INT32_MAX));
        if (mode == TENSOR_UNDEFINED) {
            require_order(t, offset, LLVMIntSGE, zero);
        } else if (mode == TENSOR_CONSTANT) {
            LV inside = LLVMBuildICmp(e->b, LLVMIntSLT, last, edge, "");
            last = LLVMBuildSelect(e->b, inside, last, edge, "");
            LV before = LLVMBuildICmp(e->b, LLVMIntSLT, last, zero, "");
            last = LLVMBuildSelect(e->b, before, zero, last, "");
        } else {
            require_order(t, x->end[k], LLVMIntEQ, tensor_field(x, TENSOR_SIZE, k));
            require_order(t, edge, LLVMIntSGE, zero);
            last = edge;
        }
        LV term = LLVMBuildMul(e->b, last, tensor_widen(e, tensor_field(x, TENSOR_STRIDE, k)), "");
        require_order(t, term, LLVMIntULT, ir_int(e->i64, (uint64_t)1 << 32));
        reach = LLVMBuildAdd(e->b, reach, term, "");
    }
    require_order(t, reach, LLVMIntULT, ir_int(e->i64, (uint64_t)1 << 32));
    if (x->room) {
        LV end = LLVMBuildAdd(e->b, reach, ir_int(e->i64, 1), "");
        end = LLVMBuildMul(e->b, end, ir_int(e->i64, x->bytes), "");
        require_order(t, end, LLVMIntULE, x->room);
    }
}

/* The clip region: how many elements, and where its first one is. */
static LV clip_region(TensorTest *t, const MatTransfer *x, MatTensorRuns *r)
{
    Emit *e = t->e;
    LV rows = ir_int(e->i32, x->matrix->rows), cols = ir_int(e->i32, x->matrix->cols);
    r->width = cols;
    r->first = ir_int(e->i32, 0);
    if (!x->clips)
        return ir_int(e->i32, n_elements(x));
    const LV *clip = x->v + TENSOR_VIEW_CLIP * x->vd;
    r->width = smaller(e, clip[TENSOR_CLIP_COLS], cols);
    LV row = clip[0], col = clip[2], left = LLVMBuildSub(e->b, rows, smaller(e, row, rows), "");
    require_order(t, col, LLVMIntULE, LLVMBuildSub(e->b, cols, r->width, ""));
    r->first = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, row, cols, ""), col, "");
    return LLVMBuildMul(e->b, smaller(e, clip[1], left), r->width, "");
}

/* A mode that repeats takes no more than two pieces of the tensor's line for W elements. */
static void require_pieces(TensorTest *t, const MatTransfer *x)
{
    uint32_t mode = tensor_mode(x), n = mode == TENSOR_REPEAT ? t->e->W : t->e->W + 1;
    if (mode == TENSOR_REPEAT || mode == TENSOR_MIRROR)
        require_order(t, tensor_field(x, TENSOR_SIZE, x->d - 1), LLVMIntUGE, ir_int(t->e->i32, n));
}

MatTensorRuns tensor_runs(Emit *e, const MatTransfer *x, LV aligned)
{
    enum { SHORTEST = 4 }; /* shorter lines are slower than single elements */
    TensorTest t = { e, ir_int(e->i1, 1) };
    MatTensorRuns r = { .aligned = x->swapped || (aligned && ir_is_int(aligned, 1)) };
    if (!may_run(x))
        return r;
    LV n = clip_region(&t, x, &r);
    if (r.aligned) {
        require(&t, aligned);
        r.length = ir_int(e->i32, x->swapped ? x->matrix->rows : x->matrix->cols);
    } else {
        LV size = x->view_sizes ? x->v[TENSOR_VIEW_SIZE * x->vd + x->permutation[x->vd - 1]]
                                : tensor_field(x, TENSOR_SPAN, x->d - 1);
        LV less = LLVMBuildICmp(e->b, LLVMIntULT, size, r.width, "");
        r.length = LLVMBuildSelect(e->b, less, size, r.width, "");
        require_multiple(&t, LLVMBuildSelect(e->b, less, r.width, size, ""), r.length);
        if (x->view)
            require_lines_of_view(&t, x, r.length);
    }
    require_order(&t, r.length, LLVMIntUGE, ir_int(e->i32, SHORTEST));
    require_room(&t, x);
    require_pieces(&t, x);
    r.lines = LLVMBuildUDiv(e->b, n, emit_tensor_divisor(e, r.length), "");
    r.possible = t.holds;
    return r;
}

/* ---- a line ---------------------------------------------------------------------------------- */

typedef struct TensorCopy {
    const MatTransfer *x;
    LV length; /* i32 */
    LV line;   /* the tensor's element whose innermost coordinate is 0 */
    LV inner;  /* i32: the first element's coordinate there, perhaps outside */
    LV inside; /* i1: the line's other coordinates are; NULL: they are */
    LV tile;   /* the first element in the tile */
} TensorCopy;

/* The element at a coordinate, which may be negative. */
static LV at_coordinate(Emit *e, const TensorCopy *c, LV coordinate)
{
    LV bytes = LLVMBuildMul(e->b, LLVMBuildSExt(e->b, coordinate, e->i64, ""),
                            ir_int(e->i64, c->x->bytes), "");
    return ir_at(e->b, c->line, bytes);
}

/* All of a line, which is inside. */
static void copy_line(Emit *e, const TensorCopy *c)
{
    const MatTransfer *x = c->x;
    LV in_tensor = at_coordinate(e, c, c->inner), zero = ir_int(e->i32, 0);
    LV to = x->store ? in_tensor : c->tile, from = x->store ? c->tile : in_tensor;
    if (LLVMIsConstant(c->length)) {
        LV bytes = LLVMBuildMul(e->b, tensor_widen(e, c->length), ir_int(e->i64, x->bytes), "");
        LLVMBuildMemCpy(e->b, to, x->bytes, from, x->bytes, bytes);
        return;
    }
    LV none = LLVMConstNull(emit_lanes_type(e, x->type)), width = ir_int(e->i32, e->W), mask = NULL;
    EmitLoop l = loop_begin(e, LLVMBuildUDiv(e->b, c->length, width, ""));
    LV done = LLVMBuildMul(e->b, tensor_widen(e, l.index), ir_int(e->i64, e->W * x->bytes), "");
    LV v = tensor_run(e, ir_at(e->b, from, done), none, x->bytes, NULL, false);
    tensor_run(e, ir_at(e->b, to, done), v, x->bytes, NULL, true);
    loop_end(e, &l);
    LV rest = LLVMBuildURem(e->b, c->length, width, "");
    EmitIf f = if_begin(e, LLVMBuildICmp(e->b, LLVMIntNE, rest, zero, ""));
    done = tensor_widen(e, LLVMBuildSub(e->b, c->length, rest, ""));
    done = LLVMBuildMul(e->b, done, ir_int(e->i64, x->bytes), "");
    mask = tensor_compare(e, LLVMIntULT, lanes_ids(e), rest);
    v = tensor_run(e, ir_at(e->b, from, done), none, x->bytes, mask, false);
    tensor_run(e, ir_at(e->b, to, done), v, x->bytes, mask, true);
    if_end(e, &f);
}

/* The lanes in the opposite order. */
static LV reversed(Emit *e, LV v)
{
    int order[IR_MAX_LANES];
    for (uint32_t k = 0; k < e->W; k++)
        order[k] = (int)(e->W - 1 - k);
    return ir_shuffle(e->b, v, NULL, order, e->W);
}

/* The element at a coordinate that is inside, for all lanes. */
static LV one_element(Emit *e, const TensorCopy *c, LV coordinate)
{
    return emit_lanes(e, ir_load(e->b, c->x->type, at_coordinate(e, c, coordinate), c->x->bytes));
}

/* W elements from coordinate `first` on, `size` being the tensor's, of which those in `mask` are
 * wanted: in a tensor that repeats, one piece of its line up to its end and one from its start on;
 * mirrored, one that goes up and one that goes down. */
static LV load_pieces(Emit *e, const TensorCopy *c, LV first, LV size, LV mask)
{
    LV zero = LLVMConstNull(emit_lanes_type(e, c->x->type)), period = size, start, other, second;
    bool mirror = c->x->clamp == TENSOR_MIRROR;
    if (mirror)
        period = LLVMBuildShl(e->b, LLVMBuildSub(e->b, size, ir_int(e->i32, 1), ""),
                              ir_int(e->i32, 1), "");
    LV p = tensor_modulo(e, first, period), back = LLVMBuildSub(e->b, p, period, "");
    start = !mirror
                ? p
                : LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntULT, p, size, ""), p, back, "");
    LV up = tensor_compare(e, LLVMIntULT, tensor_op(e, LLVMBuildAdd, start, lanes_ids(e)), size);
    other = tensor_both(e, mask, tensor_not(e, up));
    LV x = tensor_run(e, at_coordinate(e, c, start), zero, c->x->bytes, tensor_both(e, mask, up),
                      false);
    if (mirror) { /* lane l has coordinate -back - l */
        LV last = LLVMBuildAdd(e->b, back, ir_int(e->i32, e->W - 1), "");
        LV at = at_coordinate(e, c, LLVMBuildSub(e->b, ir_int(e->i32, 0), last, ""));
        second = reversed(
            e, tensor_run(e, at, zero, c->x->bytes, reversed(e, emit_lanes(e, other)), false));
    } else {
        second = tensor_run(e, at_coordinate(e, c, back), zero, c->x->bytes, other, false);
    }
    return tensor_choose(e, up, x, second);
}

/* W elements of a line, of which those in `mask` exist (NULL: all). */
typedef struct TensorPart {
    LV start;   /* i32: the first one's innermost coordinate, perhaps outside */
    LV in_tile; /* the first one in the tile */
    LV mask;
} TensorPart;

/* Loads or stores elements of which any may be outside. */
static void edge_elements(Emit *e, const TensorCopy *c, const TensorPart *p)
{
    const MatTransfer *x = c->x;
    uint32_t mode = tensor_mode(x), inner = x->d - 1;
    LV zero = LLVMConstNull(emit_lanes_type(e, x->type)),
       size = tensor_field(x, TENSOR_SIZE, inner);
    LV at = tensor_op(e, LLVMBuildAdd, p->start, lanes_ids(e)), v;
    LV inside = tensor_compare(e, LLVMIntULT, at, x->end[inner]);
    inside = emit_lanes(e, tensor_both(e, inside, c->inside));
    LV present = tensor_both(e, inside, p->mask);
    if (x->store) {
        v = tensor_run(e, p->in_tile, zero, x->bytes, p->mask, false);
        tensor_run(e, at_coordinate(e, c, p->start), v, x->bytes, present, true);
        return;
    }
    if (mode == TENSOR_REPEAT || mode == TENSOR_MIRROR) {
        v = load_pieces(e, c, p->start, size, p->mask);
    } else {
        v = tensor_run(e, at_coordinate(e, c, p->start), zero, x->bytes, present, false);
        LV fill = tensor_clamp_value(e, x), none = ir_int(e->i32, 0);
        if (mode == TENSOR_TO_EDGE) {
            LV last = LLVMBuildSub(e->b, size, ir_int(e->i32, 1), "");
            fill = tensor_choose(e, tensor_compare(e, LLVMIntSLT, at, none),
                                 one_element(e, c, none), one_element(e, c, last));
        }
        v = tensor_choose(e, inside, v, fill);
    }
    tensor_run(e, p->in_tile, v, x->bytes, p->mask, true);
}

/* i1: whether n elements (i32) of the line from coordinate `start` on are inside. */
static LV are_inside(Emit *e, const TensorCopy *c, LV start, LV n)
{
    LV end = c->x->end[c->x->d - 1];
    LV fits = LLVMBuildICmp(e->b, LLVMIntUGE, end, n, "");
    LV low = LLVMBuildICmp(e->b, LLVMIntULE, start, LLVMBuildSub(e->b, end, n, ""), "");
    return tensor_both(e, LLVMBuildAnd(e->b, low, fits, ""), c->inside);
}

static TensorPart part_of(Emit *e, const TensorCopy *c, LV first, LV mask)
{
    LV offset = LLVMBuildMul(e->b, tensor_widen(e, first), ir_int(e->i64, c->x->bytes), "");
    return (TensorPart){ LLVMBuildAdd(e->b, c->inner, first, ""), ir_at(e->b, c->tile, offset),
                         mask };
}

/* W elements of a line from number `first` on, of a line without any in the tensor. */
static void outside_part(Emit *e, const TensorCopy *c, LV first, LV mask)
{
    TensorPart p = part_of(e, c, first, mask);
    tensor_run(e, p.in_tile, tensor_clamp_value(e, c->x), c->x->bytes, mask, true);
}

/* The same of a line that is not inside as a whole. */
static void edge_part(Emit *e, const TensorCopy *c, LV first, LV mask)
{
    const MatTransfer *x = c->x;
    TensorPart p = part_of(e, c, first, mask);
    LV inside = are_inside(e, c, p.start, ir_int(e->i32, e->W));
    EmitIf f = if_begin(e, inside);
    LV in_tensor = at_coordinate(e, c, p.start), zero = LLVMConstNull(emit_lanes_type(e, x->type));
    LV v = tensor_run(e, x->store ? p.in_tile : in_tensor, zero, x->bytes, mask, false);
    tensor_run(e, x->store ? in_tensor : p.in_tile, v, x->bytes, mask, true);
    if_end(e, &f);
    f = if_begin(e, tensor_not(e, inside));
    edge_elements(e, c, &p);
    if_end(e, &f);
}

typedef void TransferPart(Emit *e, const TensorCopy *c, LV first, LV mask);

static void parts_of_line(Emit *e, const TensorCopy *c, TransferPart *transfer)
{
    enum { AT_ONCE = 4 }; /* vectors of a line, whose masks are the same for all lines */
    LV width = ir_int(e->i32, e->W), more = ir_int(e->i32, e->W - 1), ids = lanes_ids(e);
    LV n = LLVMBuildUDiv(e->b, LLVMBuildAdd(e->b, c->length, more, ""), width, "");
    if (LLVMIsConstant(n) && LLVMConstIntGetZExtValue(n) <= AT_ONCE) {
        uint32_t length = (uint32_t)LLVMConstIntGetZExtValue(c->length);
        for (uint32_t k = 0; k < length; k += e->W) {
            LV left = ir_int(e->i32, length - k);
            transfer(e, c, ir_int(e->i32, k),
                     length - k >= e->W ? NULL : tensor_compare(e, LLVMIntULT, ids, left));
        }
        return;
    }
    EmitLoop l = loop_begin(e, n);
    LV first = LLVMBuildMul(e->b, l.index, width, "");
    LV left = LLVMBuildSub(e->b, c->length, first, "");
    transfer(e, c, first, tensor_compare(e, LLVMIntULT, ids, left));
    loop_end(e, &l);
}

/* A line that is not inside as a whole. Whether its other coordinates are is the same for all of
 * it; where masks are dear, they do not depend on that, and are constant most often. */
static void edge_line(Emit *e, const TensorCopy *c)
{
    if (!c->inside || lanes_has_masks(e, c->x->bytes * 8)) {
        parts_of_line(e, c, edge_part);
        return;
    }
    TensorCopy inside = *c;
    inside.inside = NULL;
    EmitIf f = if_begin(e, c->inside);
    parts_of_line(e, &inside, edge_part);
    if_end(e, &f);
    if (c->x->store)
        return;
    f = if_begin(e, tensor_not(e, c->inside));
    parts_of_line(e, c, outside_part);
    if_end(e, &f);
}

static void transfer_line(Emit *e, const TensorCopy *c)
{
    if (tensor_mode(c->x) == TENSOR_UNDEFINED) {
        copy_line(e, c);
        return;
    }
    LV whole = are_inside(e, c, c->inner, c->length);
    EmitIf f = if_begin(e, whole);
    copy_line(e, c);
    if_end(e, &f);
    f = if_begin(e, tensor_not(e, whole));
    edge_line(e, c);
    if_end(e, &f);
}

/* ---- all lines ------------------------------------------------------------------------------- */

/* Numbers of W lines: one of the tensor's indices, one of the tile's, ... */
enum { LINE_START, LINE_INNER, LINE_OUTSIDE, LINE_IN_TILE, LINE_NUMBERS };

typedef struct TensorTable {
    LV numbers;
    LV inner;     /* i32: the same of all lines; NULL: in the table */
    bool outside; /* some lines may be */
} TensorTable;

static LV number_at(Emit *e, const TensorTable *t, uint32_t which, LV line)
{
    LV index = LLVMBuildAdd(e->b, line, ir_int(e->i32, which * e->W), "");
    LV wide = tensor_widen(e, index);
    return LLVMBuildInBoundsGEP2(e->b, e->i32, t->numbers, &wide, 1, "");
}

static void set_numbers(Emit *e, const TensorTable *t, uint32_t which, LV v)
{
    ir_store(e->b, emit_lanes(e, v), number_at(e, t, which, ir_int(e->i32, 0)), 4);
}

static LV load_number(Emit *e, const TensorTable *t, uint32_t which, LV line)
{
    return LLVMBuildLoad2(e->b, e->i32, number_at(e, t, which, line), "");
}

/* Where each of W lines from `line` on begins. */
static void find_lines(Emit *e, const MatTransfer *x, const MatTensorRuns *r, LV line,
                       TensorTable *t)
{
    LV number = tensor_op(e, LLVMBuildAdd, line, lanes_ids(e)), span;
    LV linear = tensor_op(e, LLVMBuildMul, number, r->length), in_tile = linear;
    MatTensorLine at = tensor_line(e, x, r->aligned ? number : linear, r->aligned);
    set_numbers(e, t, LINE_START, at.start);
    span = tensor_field(x, TENSOR_SPAN, x->d - 1);
    t->inner = emit_is_lanes(at.inner) ? NULL : at.inner;
    if (ir_is_int(LLVMBuildICmp(e->b, LLVMIntEQ, r->length, span, ""), 1))
        t->inner = tensor_field(x, TENSOR_OFFSET, x->d - 1);
    if (!t->inner)
        set_numbers(e, t, LINE_INNER, at.inner);
    t->outside = at.outside;
    if (at.outside)
        set_numbers(e, t, LINE_OUTSIDE,
                    LLVMBuildZExt(e->b, emit_lanes(e, at.outside), emit_lanes_type(e, e->i32), ""));
    if (x->clips) {
        LV beside = LLVMBuildSub(e->b, ir_int(e->i32, x->matrix->cols), r->width, ""), rest;
        LV row = tensor_divide(e, linear, r->width, &rest);
        in_tile = tensor_op(e, LLVMBuildAdd, in_tile, tensor_op(e, LLVMBuildMul, row, beside));
        in_tile = tensor_op(e, LLVMBuildAdd, in_tile, r->first);
    }
    set_numbers(e, t, LINE_IN_TILE, in_tile);
}

static TensorCopy line_copy(Emit *e, const MatTransfer *x, const TensorTable *t, LV line, LV tile)
{
    LV size = ir_int(e->i64, x->bytes), start = load_number(e, t, LINE_START, line);
    LV in_tile = load_number(e, t, LINE_IN_TILE, line);
    TensorCopy c = { .x = x };
    c.line = ir_at(e->b, x->base, LLVMBuildMul(e->b, tensor_widen(e, start), size, ""));
    c.tile = ir_at(e->b, tile, LLVMBuildMul(e->b, tensor_widen(e, in_tile), size, ""));
    c.inner = t->inner ? t->inner : load_number(e, t, LINE_INNER, line);
    if (t->outside)
        c.inside = LLVMBuildICmp(e->b, LLVMIntEQ, load_number(e, t, LINE_OUTSIDE, line),
                                 ir_int(e->i32, 0), "");
    return c;
}

void tensor_by_runs(Emit *e, const MatTransfer *x, const MatTensorRuns *r, const MatTile *tile)
{
    MatTransfer small = *x;
    small.small = !r->aligned;
    LV width = ir_int(e->i32, e->W), more = ir_int(e->i32, e->W - 1);
    LT numbers = LLVMArrayType2(e->i32, (uint64_t)LINE_NUMBERS * e->W);
    TensorTable table = { .numbers = emit_alloca(e, numbers, "lines") };
    EmitLoop l =
        loop_begin(e, LLVMBuildUDiv(e->b, LLVMBuildAdd(e->b, r->lines, more, ""), width, ""));
    LV done = LLVMBuildMul(e->b, l.index, width, "");
    find_lines(e, &small, r, done, &table);
    EmitLoop k = loop_begin(e, smaller(e, LLVMBuildSub(e->b, r->lines, done, ""), width));
    TensorCopy c = line_copy(e, &small, &table, k.index, tile->ptr);
    c.length = r->length;
    transfer_line(e, &c);
    loop_end(e, &k);
    loop_end(e, &l);
}
