/* SPDX-License-Identifier: MIT
 *
 * Where an element of a matrix lies in a tensor, by the specification's pseudo-code
 * (SPV_NV_cooperative_matrix2, "Tensor Layout and View"), for W elements at once. What they share
 * is scalar.
 *
 * Numbers have the types of the pseudo-code. "uint32_t tensorCoordToLinear(...) { uint32_t index =
 * 0; ... index += blockCoord[dim] * t.stride[dim]; }": an element's index wraps at 2^32, and only
 * "this index is then multiplied by the size of the component type", exactly, in 64 bits. "int32_t
 * c = spanCoord[dim] + t.offset[dim]; if (c < 0 || ...)": a coordinate of 2^31 or more is negative
 * in every dimension, so no more than the first 2^31 elements of a dimension are ever inside.
 *
 * For mirrored repetition the pseudo-code says `dim` where it means the layout's dimension. In a
 * dimension of a single element every coordinate is mirrored to 0.
 */
#include "cpu/matrix/tensor.h"

/* ---- arithmetic on scalars and lanes --------------------------------------------------------- */

LV tensor_op(Emit *e, TensorBuild *build, LV x, LV y)
{
    LV v[] = { x, y };
    emit_unify(e, v, 2);
    return build(e->b, v[0], v[1], "");
}

LV tensor_compare(Emit *e, LLVMIntPredicate p, LV x, LV y)
{
    LV v[] = { x, y };
    emit_unify(e, v, 2);
    return LLVMBuildICmp(e->b, p, v[0], v[1], "");
}

LV tensor_choose(Emit *e, LV c, LV x, LV y)
{
    LV v[] = { x, y };
    if (emit_is_lanes(c))
        v[0] = emit_lanes(e, x);
    emit_unify(e, v, 2);
    return LLVMBuildSelect(e->b, c, v[0], v[1], "");
}

LV tensor_both(Emit *e, LV x, LV y) { return !x ? y : !y ? x : tensor_op(e, LLVMBuildAnd, x, y); }

/* x / y and the remainder, unsigned. Lanes divided by an unknown scalar go through f64, whose
 * truncated quotient is exact for 32 bits; LLVM would divide lane by lane. Dividing by 0 gives
 * anything, but does not trap. */
LV tensor_divide(Emit *e, LV x, LV y, LV *rest)
{
    LV q;
    if (ir_is_int(y, 1)) {
        *rest = LLVMConstNull(LLVMTypeOf(x));
        return x;
    }
    LV safe = emit_tensor_divisor(e, y);
    if (emit_is_lanes(x) && !LLVMIsConstant(safe)) {
        LV n = LLVMBuildUIToFP(e->b, x, emit_lanes_type(e, e->f64), "");
        LV d = emit_lanes(e, LLVMBuildUIToFP(e->b, safe, e->f64, ""));
        q = LLVMBuildFPToUI(e->b, LLVMBuildFDiv(e->b, n, d, ""), LLVMTypeOf(x), "");
    } else {
        q = tensor_op(e, LLVMBuildUDiv, x, safe);
    }
    *rest = tensor_op(e, LLVMBuildSub, x, tensor_op(e, LLVMBuildMul, q, safe));
    return q;
}

/* The same for x below TENSOR_SMALL, whose quotients f32 gives exactly. */
static LV divide_small(Emit *e, LV x, LV y, LV *rest)
{
    if (!emit_is_lanes(x) || LLVMIsConstant(y))
        return tensor_divide(e, x, y, rest);
    LV safe = emit_tensor_divisor(e, y);
    LV n = LLVMBuildSIToFP(e->b, x, emit_lanes_type(e, e->f32), "");
    LV d = emit_lanes(e, LLVMBuildUIToFP(e->b, safe, e->f32, ""));
    LV q = LLVMBuildFPToSI(e->b, LLVMBuildFDiv(e->b, n, d, ""), LLVMTypeOf(x), "");
    *rest = tensor_op(e, LLVMBuildSub, x, tensor_op(e, LLVMBuildMul, q, safe));
    return q;
}

/* OpSMod of a coordinate by a dimension's size, which is a uint32_t. */
LV tensor_modulo(Emit *e, LV c, LV n)
{
    LV negative = tensor_compare(e, LLVMIntSLT, c, ir_int(e->i32, 0)), r;
    /* for c < 0: n - 1 - (-1 - c) % n */
    LV mirrored =
        tensor_choose(e, negative, tensor_op(e, LLVMBuildSub, ir_int(e->i32, UINT32_MAX), c), c);
    tensor_divide(e, mirrored, n, &r);
    LV back = tensor_op(e, LLVMBuildSub, tensor_op(e, LLVMBuildSub, n, ir_int(e->i32, 1)), r);
    return tensor_choose(e, negative, back, r);
}

/* ---- where an element lies ------------------------------------------------------------------- */

/* The linear index of (row, col), with the view's clip region. */
static LV linear_index(Emit *e, const MatTransfer *x, LV row, LV col, MatTensorPlace *p)
{
    LV width = ir_int(e->i32, x->matrix->cols);
    if (x->clips) {
        const LV *clip = x->v + TENSOR_VIEW_CLIP * x->vd;
        LV at[2] = { row, col };
        for (uint32_t k = 0; k < 2; k++) {
            LV first = clip[2 * k], end = tensor_op(e, LLVMBuildAdd, first, clip[2 * k + 1]);
            LV low = tensor_compare(e, LLVMIntULT, at[k], first);
            LV out = tensor_op(e, LLVMBuildOr, low, tensor_compare(e, LLVMIntUGE, at[k], end));
            p->clipped = p->clipped ? tensor_op(e, LLVMBuildOr, p->clipped, out) : out;
            at[k] = tensor_op(e, LLVMBuildSub, at[k], first);
        }
        row = at[0];
        col = at[1];
        LV span = clip[TENSOR_CLIP_COLS];
        LV narrow = LLVMBuildICmp(e->b, LLVMIntULT, span, width, "");
        width = LLVMBuildSelect(e->b, narrow, span, width, "");
    }
    return tensor_op(e, LLVMBuildAdd, tensor_op(e, LLVMBuildMul, row, width), col);
}

LV tensor_widen(Emit *e, LV v)
{
    return LLVMBuildZExt(e->b, v, emit_is_lanes(v) ? emit_lanes_type(e, e->i64) : e->i64, "");
}

typedef LV Divide(Emit *e, LV x, LV y, LV *rest);

/* coord: the coordinates in the view. */
static LV index_through_view(Emit *e, const MatTransfer *x, LV index, LV *coord)
{
    Divide *divide = x->small ? divide_small : tensor_divide;
    const LV *size = x->view_sizes ? x->v + TENSOR_VIEW_SIZE * x->vd : x->f + TENSOR_SPAN * x->d;
    LV stride = ir_int(e->i32, 1), sum = NULL;
    for (uint32_t k = 0; k < x->vd; k++)
        coord[k] = ir_int(e->i32, 0); /* once specialised, it may not be a permutation */
    for (uint32_t k = x->vd; k-- > 0;) {
        uint32_t i = x->permutation[k];
        index = divide(e, index, size[i], &coord[i]);
    }
    for (uint32_t k = x->vd; k-- > 0;) {
        LV s = x->view_sizes ? x->v[TENSOR_VIEW_STRIDE * x->vd + k] : stride;
        LV term = tensor_op(e, LLVMBuildMul, coord[k], s);
        sum = sum ? tensor_op(e, LLVMBuildAdd, sum, term) : term;
        stride = tensor_op(e, LLVMBuildMul, stride, size[k]);
    }
    return sum;
}

/* Mirrors a coordinate into [0, size). The result repeats every 2 * size - 2 and is the same for c
 * and -c, so only the distance from 0 counts. A coordinate that is inside at once needs no period,
 * which may not fit 32 bits. */
static LV mirror_into(Emit *e, LV c, LV size)
{
    LV negative = tensor_compare(e, LLVMIntSLT, c, ir_int(e->i32, 0)), m, one = ir_int(e->i32, 1);
    LV distance = tensor_choose(e, negative, tensor_op(e, LLVMBuildSub, ir_int(e->i32, 0), c), c);
    LV period = LLVMBuildMul(e->b, LLVMBuildSub(e->b, size, one, ""), ir_int(e->i32, 2), "");
    tensor_divide(e, distance, period, &m);
    m = tensor_choose(e, tensor_compare(e, LLVMIntUGE, m, size),
                      tensor_op(e, LLVMBuildSub, period, m), m);
    m = tensor_choose(e, tensor_compare(e, LLVMIntULT, distance, size), distance, m);
    return tensor_choose(e, LLVMBuildICmp(e->b, LLVMIntULE, size, one, ""), ir_int(e->i32, 0), m);
}

uint32_t tensor_mode(const MatTransfer *x)
{
    return x->store && x->clamp != TENSOR_UNDEFINED ? (uint32_t)TENSOR_CONSTANT : x->clamp;
}

/* A coordinate in dimension k of the tensor, after the clamp mode. */
static LV clamp_coordinate(Emit *e, const MatTransfer *x, LV c, uint32_t k, MatTensorPlace *p)
{
    uint32_t mode = tensor_mode(x);
    LV size = tensor_field(x, TENSOR_SIZE, k),
       last = LLVMBuildSub(e->b, size, ir_int(e->i32, 1), "");
    if (mode == TENSOR_UNDEFINED)
        return c;
    /* unsigned, so negative coordinates too */
    LV out = tensor_compare(e, LLVMIntUGE, c, x->end[k]);
    if (mode == TENSOR_CONSTANT) {
        p->constant = p->constant ? tensor_op(e, LLVMBuildOr, p->constant, out) : out;
        return tensor_choose(e, out, ir_int(e->i32, 0), c);
    }
    if (mode == TENSOR_TO_EDGE) {
        LV negative = tensor_compare(e, LLVMIntSLT, c, ir_int(e->i32, 0));
        return tensor_choose(e, negative, ir_int(e->i32, 0), tensor_choose(e, out, last, c));
    }
    return tensor_choose(
        e, out, mode == TENSOR_REPEAT ? tensor_modulo(e, c, size) : mirror_into(e, c, size), c);
}

/* The coordinates in the slice of the element that has this linear index. */
static void slice_coordinates(Emit *e, const MatTransfer *x, LV index, LV *coord)
{
    Divide *divide = x->small ? divide_small : tensor_divide;
    if (x->view) {
        index = index_through_view(e, x, index, coord);
        /* nothing has wrapped, so that this gave the slice's coordinates */
        if (x->small && !x->view_sizes && x->vd == x->d)
            return;
    }
    for (uint32_t k = x->d; k-- > 0;)
        index = divide(e, index, tensor_field(x, TENSOR_SPAN, k), &coord[k]);
}

/* The same of an aligned line, for the element at `inner` in it. */
static void line_coordinates(Emit *e, const MatTransfer *x, LV line, LV inner, LV *coord)
{
    uint32_t k = x->d - 1;
    coord[k] = inner;
    if (!x->swapped) {
        while (k-- > 0)
            line = tensor_divide(e, line, tensor_field(x, TENSOR_SPAN, k), &coord[k]);
        return;
    }
    for (k = 0; k + 1 < x->d; k++)
        coord[k] = k == x->outer ? line : ir_int(e->i32, 0);
}

MatTensorPlace tensor_place(Emit *e, const MatTransfer *x, LV row, LV col, bool aligned)
{
    MatTensorPlace p = { 0 };
    LV coord[TENSOR_MAX_DIMS] = { 0 };
    if (aligned)
        line_coordinates(e, x, x->swapped ? col : row, x->swapped ? row : col, coord);
    else
        slice_coordinates(e, x, linear_index(e, x, row, col, &p), coord);
    for (uint32_t k = 0; k < x->d; k++) {
        LV c = tensor_op(e, LLVMBuildAdd, coord[k], tensor_field(x, TENSOR_OFFSET, k));
        c = clamp_coordinate(e, x, c, k, &p);
        p.block[k] = tensor_divide(e, c, tensor_field(x, TENSOR_BLOCK, k), &p.in_block[k]);
        LV term = tensor_op(e, LLVMBuildMul, p.block[k], tensor_field(x, TENSOR_STRIDE, k));
        p.index = p.index ? tensor_op(e, LLVMBuildAdd, p.index, term) : term;
    }
    return p;
}

MatTensorLine tensor_line(Emit *e, const MatTransfer *x, LV at, bool aligned)
{
    MatTensorPlace p = { 0 };
    MatTensorLine line = { .start = ir_int(e->i32, 0) };
    LV coord[TENSOR_MAX_DIMS] = { 0 };
    if (aligned)
        line_coordinates(e, x, at, ir_int(e->i32, 0), coord);
    else
        slice_coordinates(e, x, at, coord);
    for (uint32_t k = 0; k < x->d; k++) {
        LV c = tensor_op(e, LLVMBuildAdd, coord[k], tensor_field(x, TENSOR_OFFSET, k));
        if (k + 1 == x->d) {
            line.inner = c;
            break;
        }
        LV term = tensor_op(e, LLVMBuildMul, clamp_coordinate(e, x, c, k, &p),
                            tensor_field(x, TENSOR_STRIDE, k));
        line.start = tensor_op(e, LLVMBuildAdd, line.start, term);
    }
    line.outside = p.constant;
    return line;
}

LV tensor_not(Emit *e, LV v) { return LLVMBuildNot(e->b, v, ""); }

LV tensor_bytes(Emit *e, LV index, uint64_t unit)
{
    return tensor_op(e, LLVMBuildMul, tensor_widen(e, index), ir_int(e->i64, unit));
}

LV tensor_exists(Emit *e, const MatTransfer *x, LV offset, uint64_t bytes)
{
    if (!x->room)
        return NULL;
    LV args[2] = { x->room, ir_int(e->i64, bytes - 1) };
    return tensor_compare(e, LLVMIntULT, offset,
                          ir_intrinsic(e->b, "llvm.usub.sat", &e->i64, 1, args, 2));
}
