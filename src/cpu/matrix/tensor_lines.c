/* SPDX-License-Identifier: MIT
 *
 * Transfers line by line of the matrix, W elements at a time, between a tensor and a dense tile.
 *
 * Adjacent elements of a line are one masked vector access (a run), unless an index among them
 * wraps (tensor_address.c).
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

/* Whether a line's elements are known to be adjacent. */
static bool in_runs(const MatTransfer *x, const TensorChunk *c)
{
    bool modes = x->clamp <= TENSOR_CONSTANT || x->store;
    return c->aligned && modes && !x->decode &&
           ir_is_int(tensor_field(x, TENSOR_BLOCK, x->d - 1), 1) &&
           ir_is_int(tensor_field(x, TENSOR_STRIDE, x->d - 1), 1);
}

/* Adjacent elements of a line. */
typedef struct TensorRun {
    LV start; /* i64: index of lane 0, which may be left out and then be negative */
    LV wraps; /* i1: an index wraps, so that they are no run */
} TensorRun;

static TensorRun find_run(Emit *e, const MatTransfer *x, const TensorChunk *c,
                          const MatTensorPlace *p)
{
    uint32_t inner = x->d - 1;
    LV outer = ir_int(e->i32, 0),
       coord = LLVMBuildAdd(e->b, tensor_field(x, TENSOR_OFFSET, inner), c->first, "");
    for (uint32_t k = 0; k < inner; k++) {
        LV term = LLVMBuildMul(e->b, p->block[k], tensor_field(x, TENSOR_STRIDE, k), "");
        outer = LLVMBuildAdd(e->b, outer, term, "");
    }
    LV before =
        LLVMBuildAdd(e->b, tensor_widen(e, outer), LLVMBuildSExt(e->b, coord, e->i64, ""), "");
    LV inside = tensor_widen(e, LLVMBuildAdd(e->b, outer, coord, ""));
    LV negative = LLVMBuildICmp(e->b, LLVMIntSLT, coord, ir_int(e->i32, 0), "");
    LV start = LLVMBuildSelect(e->b, negative, before, inside, "");
    /* negative coordinates are left out if the edge has a constant, but not if it is undefined */
    LLVMIntPredicate above = x->clamp == TENSOR_UNDEFINED ? LLVMIntUGT : LLVMIntSGT;
    LV most = ir_int(e->i64, ((uint64_t)1 << 32) - e->W);
    return (TensorRun){ start, LLVMBuildICmp(e->b, above, start, most, "") };
}

/* Accesses one by one elements that turn out to be no run. That hardly ever happens, so the code is
 * short rather than fast. */
static LV access_each(Emit *e, const MatTransfer *x, LV index, LV value, LV inside)
{
    LT type = emit_lanes_type(e, x->type), numbers = emit_lanes_type(e, e->i32);
    LV v = emit_alloca(e, type, "elements"), at = emit_alloca(e, numbers, "indices");
    LV is = emit_alloca(e, numbers, "inside");
    LLVMBuildStore(e->b, value, v);
    LLVMBuildStore(e->b, emit_lanes(e, index), at);
    LLVMBuildStore(e->b, LLVMBuildZExt(e->b, inside, numbers, ""), is);
    EmitLoop l = loop_begin(e, ir_int(e->i32, e->W));
    LV lane = tensor_widen(e, l.index);
    LV mine = LLVMBuildLoad2(e->b, e->i32, LLVMBuildGEP2(e->b, e->i32, is, &lane, 1, ""), "");
    EmitIf f = if_begin(e, LLVMBuildICmp(e->b, LLVMIntNE, mine, ir_int(e->i32, 0), ""));
    LV number = LLVMBuildLoad2(e->b, e->i32, LLVMBuildGEP2(e->b, e->i32, at, &lane, 1, ""), "");
    LV in_tensor = ir_at(e->b, x->base, tensor_bytes(e, number, x->bytes));
    LV in_tile = LLVMBuildGEP2(e->b, x->type, v, &lane, 1, "");
    LV one = ir_load(e->b, x->type, x->store ? in_tile : in_tensor, x->bytes);
    ir_store(e->b, one, x->store ? in_tensor : in_tile, x->bytes);
    if_end(e, &f);
    loop_end(e, &l);
    return LLVMBuildLoad2(e->b, type, v, "");
}

/* Loads or stores those of a line's adjacent elements that are `inside` (NULL: all). */
static LV access_run(Emit *e, const MatTransfer *x, const TensorChunk *c, const MatTensorPlace *p,
                     LV value, LV inside)
{
    TensorRun run = find_run(e, x, c, p);
    LV slot = emit_alloca(e, LLVMTypeOf(value), "run");
    LV all = ir_int(emit_lanes_type(e, e->i1), 1);
    LV in_tensor =
        ir_at(e->b, x->base, LLVMBuildMul(e->b, run.start, ir_int(e->i64, x->bytes), ""));
    EmitIf f = if_begin(e, tensor_not(e, run.wraps));
    LV v = tensor_run(e, in_tensor, value, x->bytes, inside, x->store);
    if (!x->store)
        LLVMBuildStore(e->b, v, slot);
    if_end(e, &f);
    f = if_begin(e, run.wraps);
    v = access_each(e, x, p->index, value, inside ? inside : all);
    if (!x->store)
        LLVMBuildStore(e->b, v, slot);
    if_end(e, &f);
    return x->store ? NULL : LLVMBuildLoad2(e->b, LLVMTypeOf(value), slot, "");
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
    bool runs = in_runs(x, c);
    LV in_tensor = ir_at(e->b, x->base, emit_lanes(e, offset));
    LV all = ir_int(emit_lanes_type(e, e->i1), 1);
    if (x->store) {
        value = tensor_run(e, in_tile, zero, x->bytes, mask, false);
        if (runs)
            access_run(e, x, c, &p, value, inside);
        else
            lanes_masked_store(e, value, in_tensor, x->bytes, inside ? inside : all);
        return;
    }
    value =
        x->decode ? tensor_decode(e, x, c->aligned, &p, inside)
        : runs ? access_run(e, x, c, &p, zero, inside)
               : lanes_masked_load(e, LLVMTypeOf(zero), in_tensor, x->bytes, inside ? inside : all);
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
    bool maybe = aligned && !ir_is_int(aligned, 0), surely = aligned && ir_is_int(aligned, 1);
    if (surely) {
        aligned_lines(e, x, &tile);
    } else if (!maybe) {
        transfer_lines(e, x, &tile, false);
    } else {
        EmitIf f = if_begin(e, aligned);
        aligned_lines(e, x, &tile);
        if_end(e, &f);
        f = if_begin(e, tensor_not(e, aligned));
        transfer_lines(e, x, &tile, false);
        if_end(e, &f);
    }
    if (!x->store && tile.ptr != home->ptr)
        mat_copy(e, x->matrix, home, &tile);
    mat_leader_end(e, &leader);
}
