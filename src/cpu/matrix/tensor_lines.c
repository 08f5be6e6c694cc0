/* SPDX-License-Identifier: MIT
 *
 * Transfers between a tensor and a dense tile: by runs where they can be (tensor_runs.c), else line
 * by line of the matrix, W elements at a time, each at an address of its own.
 */
#include "cpu/matrix/tensor.h"

typedef struct TensorChunk {
    MatTile tile; /* dense, in the order of lines */
    bool aligned;
    LV line, first; /* i32; first: lane 0's place in the line */
    uint32_t n;     /* elements, up to W */
} TensorChunk;

static LV home_address(Emit *e, const MatTransfer *x, const TensorChunk *c)
{
    LV offset = LLVMBuildAdd(
        e->b, LLVMBuildMul(e->b, tensor_widen(e, c->line), c->tile.stride, ""),
        LLVMBuildMul(e->b, tensor_widen(e, c->first), ir_int(e->i64, x->bytes), ""), "");
    return ir_at(e->b, c->tile.ptr, offset);
}

LV tensor_run(Emit *e, LV p, LV value, uint32_t align, LV mask, bool store)
{
    if (mask && !store)
        return lanes_masked_load(e, LLVMTypeOf(value), p, align, emit_lanes(e, mask));
    if (mask) {
        lanes_masked_store(e, value, p, align, emit_lanes(e, mask));
        return NULL;
    }
    LV v = store ? LLVMBuildStore(e->b, value, p) : LLVMBuildLoad2(e->b, LLVMTypeOf(value), p, "");
    LLVMSetAlignment(v, align);
    return v;
}

LV tensor_clamp_value(Emit *e, const MatTransfer *x)
{
    LV v = x->f[TENSOR_CLAMP_VALUE * x->d];
    LT bits = LLVMIntTypeInContext(e->cx, x->bytes * 8);
    v = x->bytes < 4   ? LLVMBuildTrunc(e->b, v, bits, "")
        : x->bytes > 4 ? LLVMBuildZExt(e->b, v, bits, "")
                       : v;
    return emit_lanes(e, bits == x->type ? v : LLVMBuildBitCast(e->b, v, x->type, ""));
}

static void transfer_chunk(Emit *e, const MatTransfer *x, const TensorChunk *c)
{
    LV minor = tensor_op(e, LLVMBuildAdd, c->first, lanes_ids(e)), in_tile = home_address(e, x, c);
    bool col = c->tile.col;
    MatTensorPlace p = tensor_place(e, x, col ? minor : c->line, col ? c->line : minor, c->aligned);
    LV mask =
        c->n == e->W ? NULL : tensor_compare(e, LLVMIntULT, lanes_ids(e), ir_int(e->i32, c->n));
    LV inside = mask, zero = LLVMConstNull(emit_lanes_type(e, x->type)), value;
    if (p.clipped)
        inside = tensor_both(e, inside, tensor_not(e, p.clipped));
    if (p.constant)
        inside = tensor_both(e, inside, tensor_not(e, p.constant));
    LV offset = tensor_bytes(e, p.index, x->unit);
    inside = tensor_both(e, inside, tensor_exists(e, x, offset, x->unit));
    inside = inside ? emit_lanes(e, inside) : NULL;
    LV in_tensor = ir_at(e->b, x->base, emit_lanes(e, offset));
    LV all = ir_int(emit_lanes_type(e, e->i1), 1);
    if (x->store) {
        value = tensor_run(e, in_tile, zero, x->bytes, mask, false);
        lanes_masked_store(e, value, in_tensor, x->bytes, inside ? inside : all);
        return;
    }
    value = x->decode ? tensor_decode(e, x, c->aligned, &p, inside)
                      : lanes_masked_load(e, LLVMTypeOf(zero), in_tensor, x->bytes,
                                          inside ? inside : all);
    if (x->decode && inside)
        value = tensor_choose(e, inside, value, zero);
    if (p.constant)
        value = tensor_choose(e, p.constant, tensor_clamp_value(e, x), value);
    if (p.clipped)
        value =
            tensor_choose(e, p.clipped, tensor_run(e, in_tile, zero, x->bytes, mask, false), value);
    tensor_run(e, in_tile, value, x->bytes, mask, true);
}

/* ---- all elements ---------------------------------------------------------------------------- */

static void transfer_lines(Emit *e, const MatTransfer *x, const MatTile *tile, bool aligned)
{
    uint32_t n = tile->col ? x->matrix->cols : x->matrix->rows;
    uint32_t length = tile->col ? x->matrix->rows : x->matrix->cols;
    TensorChunk c = { .tile = *tile, .aligned = aligned, .n = e->W };
    EmitLoop l = loop_begin(e, ir_int(e->i32, n));
    c.line = l.index;
    if (length >= e->W) {
        EmitLoop k = loop_begin(e, ir_int(e->i32, length / e->W));
        c.first = LLVMBuildMul(e->b, k.index, ir_int(e->i32, e->W), "");
        transfer_chunk(e, x, &c);
        loop_end(e, &k);
    }
    c.first = ir_int(e->i32, length / e->W * e->W);
    c.n = length % e->W;
    if (c.n)
        transfer_chunk(e, x, &c);
    loop_end(e, &l);
}

static void aligned_lines(Emit *e, const MatTransfer *x, const MatTile *tile)
{
    LV whole = tensor_in_vectors(e, x, tile->col);
    if (!whole || ir_is_int(whole, 0)) {
        transfer_lines(e, x, tile, true);
        return;
    }
    EmitIf f = if_begin(e, whole);
    tensor_by_vectors(e, x, tile);
    if_end(e, &f);
    if (ir_is_int(whole, 1))
        return;
    f = if_begin(e, tensor_not(e, whole));
    transfer_lines(e, x, tile, true);
    if_end(e, &f);
}

static void by_elements(Emit *e, const MatTransfer *x, const MatTile *tile, LV aligned)
{
    bool maybe = aligned && !ir_is_int(aligned, 0);
    if (maybe && ir_is_int(aligned, 1)) {
        aligned_lines(e, x, tile);
    } else if (!maybe) {
        transfer_lines(e, x, tile, false);
    } else {
        EmitIf f = if_begin(e, aligned);
        aligned_lines(e, x, tile);
        if_end(e, &f);
        f = if_begin(e, tensor_not(e, aligned));
        transfer_lines(e, x, tile, false);
        if_end(e, &f);
    }
}

void tensor_by_lines(Emit *e, const MatTransfer *x, const MatTile *home, LV aligned)
{
    MatLeader leader = mat_leader_begin(e, x->matrix);
    MatTile tile = *home;
    bool col = x->swapped;
    if (tile.col != col) {
        tile = mat_dense(e, x->matrix, mat_frame(e, x->matrix, mat_bytes(e, x->matrix)), col);
        if (x->store || x->clips)
            mat_copy(e, x->matrix, &tile, home);
    }
    MatTensorRuns runs = tensor_runs(e, x, aligned);
    bool never = !runs.possible || ir_is_int(runs.possible, 0);
    if (!never) {
        EmitIf f = if_begin(e, runs.possible);
        tensor_by_runs(e, x, &runs, &tile);
        if_end(e, &f);
    }
    if (never) {
        by_elements(e, x, &tile, aligned);
    } else if (!ir_is_int(runs.possible, 1)) {
        EmitIf f = if_begin(e, tensor_not(e, runs.possible));
        by_elements(e, x, &tile, aligned);
        if_end(e, &f);
    }
    if (!x->store && tile.ptr != home->ptr)
        mat_copy(e, x->matrix, home, &tile);
    mat_leader_end(e, &leader);
}
