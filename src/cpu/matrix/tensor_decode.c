/* SPDX-License-Identifier: MIT
 *
 * Elements of tensors by decode functions: W elements in a call or, if lines consist of whole
 * vectors, W vectors of consecutive elements, by the function of
 * SPV_NV_cooperative_matrix_decode_vector.
 */
#include "cpu/matrix/tensor.h"

/* Calls a decode function that returns n numbers for each lane. */
static void decode_numbers(Emit *e, const MatTransfer *x, const MatTensorPlace *p, LV mask,
                           LV *results, uint32_t n)
{
    LV args[1 + 2 * TENSOR_MAX_DIMS], base = LLVMBuildPtrToInt(e->b, x->base, e->i64, "");
    args[0] = tensor_op(e, LLVMBuildAdd, base,
                        tensor_bytes(e, p->index, n > 1 ? x->vector_unit : x->unit));
    for (uint32_t k = 0; k < x->d; k++) {
        args[1 + k] = p->block[k];
        args[1 + x->d + k] = p->in_block[k];
    }
    for (uint32_t k = 0; k < n; k++)
        results[k] = LLVMGetPoison(emit_lanes_type(e, x->type));
    LanesCall c = {
        x->inst, n > 1 ? x->decode_vector : x->decode, args, 1 + 2 * x->d, mask, results, n, false
    };
    lanes_call(e, &c);
}

static LV decode_element(Emit *e, const MatTransfer *x, const MatTensorPlace *p, LV mask)
{
    LV result;
    decode_numbers(e, x, p, mask, &result, 1);
    return result;
}

LV tensor_decode(Emit *e, const MatTransfer *x, bool aligned, const MatTensorPlace *p, LV mask)
{
    uint32_t inner = x->d - 1;
    LV size = tensor_field(x, TENSOR_BLOCK, inner);
    bool possible = aligned && emit_is_lanes(p->index) &&
                    (!LLVMIsAConstantInt(size) || LLVMConstIntGetZExtValue(size) >= e->W);
    if (!possible)
        return decode_element(e, x, p, mask);
    LV zero = ir_int(e->i32, 0), last = ir_int(e->i32, e->W - 1);
    MatTensorPlace of_one = *p;
    for (uint32_t k = 0; k < x->d; k++)
        of_one.block[k] = emit_lane(e, p->block[k], zero);
    /* the coordinates step by one from the first lane to the last */
    LV start = emit_lane(e, p->in_block[inner], zero), end = emit_lane(e, p->in_block[inner], last);
    LV steps = LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildSub(e->b, end, start, ""), last, "");
    LV same = LLVMBuildICmp(e->b, LLVMIntEQ, of_one.block[inner],
                            emit_lane(e, p->block[inner], last), "");
    LV one = LLVMBuildAnd(e->b, steps, same, "");
    of_one.in_block[inner] = tensor_op(e, LLVMBuildAdd, start, lanes_ids(e));
    LV slot = emit_alloca(e, emit_lanes_type(e, x->type), "decoded");
    EmitIf f = if_begin(e, one);
    of_one.index = emit_lane(e, p->index, zero);
    LLVMBuildStore(e->b, decode_element(e, x, &of_one, mask), slot);
    if_end(e, &f);
    f = if_begin(e, tensor_not(e, one));
    LLVMBuildStore(e->b, decode_element(e, x, p, mask), slot);
    if_end(e, &f);
    return LLVMBuildLoad2(e->b, LLVMGetAllocatedType(slot), slot, "");
}

/* ---- by the decode function of vectors ------------------------------------------------------- */

/* W consecutive vectors, in lines of whole vectors. */
typedef struct TensorVectors {
    LV linear, mask; /* each lane's first element in the dense tile; lanes that exist */
    LV minor, line;  /* that element's place in its line; the line */
    bool col;
} TensorVectors;

/* Decodes the elements of the vectors of the lanes in `mask` one by one, with the function of
 * elements. */
static void stray_elements(Emit *e, const MatTransfer *x, const TensorVectors *v, LV p, LV mask)
{
    EmitIf f = if_begin(e, lanes_any(e, mask));
    EmitLoop l = loop_begin(e, ir_int(e->i32, x->vector));
    LV minor = tensor_op(e, LLVMBuildAdd, v->minor, l.index), inside = mask;
    MatTensorPlace at =
        tensor_place(e, x, v->col ? minor : v->line, v->col ? v->line : minor, true);
    if (at.constant)
        inside = tensor_op(e, LLVMBuildAnd, inside, tensor_not(e, at.constant));
    LV offset = tensor_bytes(e, at.index, x->unit);
    inside = emit_lanes(e, tensor_both(e, inside, tensor_exists(e, x, offset, x->unit)));
    LV value = tensor_choose(e, inside, decode_element(e, x, &at, inside),
                             LLVMConstNull(emit_lanes_type(e, x->type)));
    if (at.constant)
        value = tensor_choose(e, at.constant, tensor_clamp_value(e, x), value);
    LV linear = tensor_widen(e, tensor_op(e, LLVMBuildAdd, v->linear, l.index));
    LV to = ir_at(e->b, p, tensor_op(e, LLVMBuildMul, linear, ir_int(e->i64, x->bytes)));
    lanes_masked_store(e, value, to, x->bytes, mask);
    loop_end(e, &l);
    if_end(e, &f);
}

/* Interleaves vectors: element k of lane l becomes number l * n + k. */
static LV interleave(Emit *e, const LV *x, uint32_t n)
{
    LV y[TENSOR_MAX_VECTOR];
    int order[IR_MAX_LANES]; /* 128 lanes of vectors of at most 8 */
    memcpy(y, x, n * sizeof *y);
    for (uint32_t width = e->W; n > 1; n /= 2, width *= 2) {
        for (uint32_t j = 0; j < 2 * width; j++)
            order[j] = (int)(j / 2 + j % 2 * width);
        for (uint32_t k = 0; k < n / 2; k++)
            y[k] = ir_shuffle(e->b, y[k], y[k + n / 2], order, 2 * width);
    }
    return y[0];
}

static void transfer_vectors(Emit *e, const MatTransfer *x, const TensorVectors *v, LV p)
{
    uint32_t n = x->vector, inner = x->d - 1;
    MatTensorPlace at =
        tensor_place(e, x, v->col ? v->minor : v->line, v->col ? v->line : v->minor, true);
    LV mask = v->mask, stray = NULL, results[TENSOR_MAX_VECTOR];
    /* a vector that crosses the tensor's edge is not read as one */
    if (x->clamp != TENSOR_UNDEFINED) {
        LV first = tensor_op(e, LLVMBuildAdd, v->minor, tensor_field(x, TENSOR_OFFSET, inner));
        LV end = x->end[inner], left = tensor_op(e, LLVMBuildSub, end, first);
        LV whole = tensor_op(e, LLVMBuildAnd, tensor_compare(e, LLVMIntULT, first, end),
                             tensor_compare(e, LLVMIntUGE, left, ir_int(e->i32, n)));
        stray = tensor_both(e, mask, tensor_not(e, whole));
        mask = tensor_both(e, mask, whole);
    }
    if (at.constant)
        mask = tensor_both(e, mask, tensor_not(e, at.constant));
    LV offset = tensor_bytes(e, at.index, x->vector_unit);
    mask = tensor_both(e, mask, tensor_exists(e, x, offset, x->vector_unit));
    mask = mask ? emit_lanes(e, mask) : NULL;
    decode_numbers(e, x, &at, mask, results, n);
    LV fill = LLVMConstNull(emit_lanes_type(e, x->type));
    if (at.constant)
        fill = tensor_choose(e, at.constant, tensor_clamp_value(e, x), fill);
    for (uint32_t k = 0; mask && k < n; k++)
        results[k] = tensor_choose(e, mask, results[k], fill);
    LV to = ir_at(e->b, p,
                  LLVMBuildMul(e->b, tensor_widen(e, emit_lane(e, v->linear, ir_int(e->i32, 0))),
                               ir_int(e->i64, x->bytes), ""));
    LV all[TENSOR_MAX_VECTOR];
    for (uint32_t k = 0; k < n; k++)
        all[k] = v->mask;
    tensor_run(e, to, interleave(e, results, n), x->bytes, v->mask ? interleave(e, all, n) : NULL,
               true);
    if (stray)
        stray_elements(e, x, v, p, emit_lanes(e, stray));
}

void tensor_by_vectors(Emit *e, const MatTransfer *x, const MatTile *tile)
{
    uint32_t length = tile->col ? x->matrix->rows : x->matrix->cols;
    uint32_t n = x->matrix->rows * x->matrix->cols / x->vector;
    EmitLoop l = loop_begin(e, ir_int(e->i32, (n + e->W - 1) / e->W));
    LV number = tensor_op(e, LLVMBuildAdd, LLVMBuildMul(e->b, l.index, ir_int(e->i32, e->W), ""),
                          lanes_ids(e));
    TensorVectors v = { .linear = tensor_op(e, LLVMBuildMul, number, ir_int(e->i32, x->vector)),
                        .col = tile->col };
    v.line = tensor_op(e, LLVMBuildUDiv, v.linear, ir_int(e->i32, length));
    v.minor = tensor_op(e, LLVMBuildURem, v.linear, ir_int(e->i32, length));
    if (n % e->W)
        v.mask = tensor_compare(e, LLVMIntULT, number, ir_int(e->i32, n));
    transfer_vectors(e, x, &v, tile->ptr);
    loop_end(e, &l);
}

LV tensor_in_vectors(Emit *e, const MatTransfer *x, bool col)
{
    LV rest = ir_int(e->i32, x->vector - 1), zero = ir_int(e->i32, 0);
    if (!x->vector || (col ? x->matrix->rows : x->matrix->cols) % x->vector)
        return NULL;
    LV low = LLVMBuildOr(e->b, tensor_field(x, TENSOR_OFFSET, x->d - 1),
                         tensor_field(x, TENSOR_BLOCK, x->d - 1), "");
    return LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildAnd(e->b, low, rest, ""), zero, "");
}
