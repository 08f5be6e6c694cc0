/* SPDX-License-Identifier: MIT
 *
 * SPV_NV_cooperative_matrix2: loads and stores of matrices through tensor layouts and views.
 *
 * A transfer goes through the matrix line by line (tensor_lines.c) by the specification's
 * pseudo-code (tensor_address.c). Three cases are fast:
 * - aligned lines: each line is one step of the dimension outside of the innermost (there is no
 *   view, or it swaps two dimensions and lines are columns), so no index is taken apart in lanes;
 * - a tile: if moreover the slice is inside and elements are adjacent, it is a tile in memory like
 *   that of OpCooperativeMatrixLoadKHR, which multiply-adds read where it lies (LAZY);
 * - runs: the matrix consists of equally long lines whose elements are adjacent in the tensor, but
 *   for what lies outside (tensor_runs.c).
 */
#include "cpu/matrix/tensor.h"

/* i1: whether lines are aligned (see above), possibly a constant; NULL: never. */
static LV is_aligned(Emit *e, const MatTransfer *x)
{
    LV n = ir_int(e->i32, x->matrix->cols);
    if (x->swapped) {
        LV rows = ir_int(e->i32, x->matrix->rows);
        return LLVMBuildAnd(
            e->b, LLVMBuildICmp(e->b, LLVMIntEQ, tensor_field(x, TENSOR_SPAN, x->outer), n, ""),
            LLVMBuildICmp(e->b, LLVMIntUGE, tensor_field(x, TENSOR_SPAN, x->d - 1), rows, ""), "");
    }
    return x->simple ? LLVMBuildICmp(e->b, LLVMIntEQ, tensor_field(x, TENSOR_SPAN, x->d - 1), n, "")
                     : NULL;
}

/* i1: whether n coordinates from the slice's offset on are inside dimension k. */
static LV in_dimension(Emit *e, const MatTransfer *x, uint32_t k, uint32_t n)
{
    LV offset = tensor_field(x, TENSOR_OFFSET, k), end = x->end[k];
    LV left = LLVMBuildSub(e->b, end, offset, "");
    return LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntULT, offset, end, ""),
                        LLVMBuildICmp(e->b, LLVMIntUGE, left, ir_int(e->i32, n), ""), "");
}

/* i1: whether the slice is a tile in memory; NULL: never. Sets that tile. */
static LV as_tile(Emit *e, const MatTransfer *x, LV aligned, MatTile *tile)
{
    uint32_t d = x->d, inner = d - 1, outer = x->outer;
    uint32_t n = x->swapped ? x->matrix->cols : x->matrix->rows;
    uint32_t length = x->swapped ? x->matrix->rows : x->matrix->cols;
    if (x->decode || d < 2 || !aligned || ir_is_int(aligned, 0))
        return NULL;
    for (uint32_t k = 0; k < d; k++)
        if (!ir_is_int(tensor_field(x, TENSOR_BLOCK, k), 1))
            return NULL;
    LV is = LLVMBuildAnd(
        e->b, aligned,
        LLVMBuildICmp(e->b, LLVMIntUGE, tensor_field(x, TENSOR_SPAN, outer), ir_int(e->i32, n), ""),
        "");
    is = LLVMBuildAnd(e->b, is,
                      LLVMBuildICmp(e->b, LLVMIntEQ, tensor_field(x, TENSOR_STRIDE, inner),
                                    ir_int(e->i32, 1), ""),
                      "");
    LV index = ir_int(e->i32, 0), stride = tensor_widen(e, tensor_field(x, TENSOR_STRIDE, outer));
    for (uint32_t k = 0; k < d; k++) {
        LV term = LLVMBuildMul(e->b, tensor_field(x, TENSOR_OFFSET, k),
                               tensor_field(x, TENSOR_STRIDE, k), "");
        index = LLVMBuildAdd(e->b, index, term, "");
        if (x->clamp != TENSOR_UNDEFINED)
            is = LLVMBuildAnd(e->b, is,
                              in_dimension(e, x, k,
                                           k == inner   ? length
                                           : k == outer ? n
                                                        : 1),
                              "");
    }
    LV last = LLVMBuildAdd(e->b, tensor_widen(e, index),
                           LLVMBuildMul(e->b, stride, ir_int(e->i64, n - 1), ""), "");
    LV most = ir_int(e->i64, ((uint64_t)1 << 32) - length);
    is = LLVMBuildAnd(e->b, is, LLVMBuildICmp(e->b, LLVMIntULE, last, most, ""), "");
    *tile = (MatTile){ .ptr = ir_at(e->b, x->base, tensor_bytes(e, index, x->bytes)),
                       .stride = LLVMBuildMul(e->b, stride, ir_int(e->i64, x->bytes), ""),
                       .col = x->swapped,
                       .near = x->near };
    if (x->room) {
        last = LLVMBuildMul(e->b, last, ir_int(e->i64, x->bytes), "");
        is = LLVMBuildAnd(e->b, is, tensor_exists(e, x, last, (uint64_t)length * x->bytes), "");
    }
    return is;
}

/* Loads the elements to `home`, and sets the tile that they lie in: the slice in memory if it is a
 * tile, which is decided at run time. */
static void load_home(Emit *e, const MatTransfer *x, const MatTile *home, const MatTile *tile,
                      LV is, LV aligned)
{
    if (is && !ir_is_int(is, 0)) {
        EmitIf f = if_begin(e, is);
        mat_copy(e, x->matrix, home, tile);
        if_end(e, &f);
    }
    if (is && ir_is_int(is, 1))
        return;
    EmitIf f = if_begin(e, is ? tensor_not(e, is) : ir_int(e->i1, 1));
    tensor_by_lines(e, x, home, aligned);
    if_end(e, &f);
}

static void count_transfer(Emit *e, const MatTransfer *x)
{
    uint64_t bytes = (uint64_t)x->matrix->rows * x->matrix->cols * x->bytes;
    mat_count(e, x->matrix, x->store ? DEVICE_STAT_MATRIX_STORES : DEVICE_STAT_MATRIX_LOADS, 1);
    mat_count(e, x->matrix, x->store ? DEVICE_STAT_BYTES_STORED : DEVICE_STAT_BYTES_LOADED, bytes);
}

/* Prefetches the lines of a slice; if the layout has blocks, whole blocks. */
static void prefetch_slice(Emit *e, const MatTransfer *x)
{
    LV strides[TENSOR_MAX_DIMS], start = ir_int(e->i64, 0);
    uint32_t rows = x->swapped ? x->matrix->cols : x->matrix->rows;
    uint32_t cols = x->swapped ? x->matrix->rows : x->matrix->cols;
    uint64_t block[TENSOR_MAX_DIMS];
    for (uint32_t k = 0; k < x->d; k++) {
        LV size = tensor_field(x, TENSOR_BLOCK, k);
        block[k] = LLVMIsAConstantInt(size) ? LLVMConstIntGetZExtValue(size) : 0;
        if (!block[k])
            return;
        strides[k] = LLVMBuildMul(e->b, tensor_widen(e, tensor_field(x, TENSOR_STRIDE, k)),
                                  ir_int(e->i64, x->unit), "");
        LV at = LLVMBuildUDiv(e->b, tensor_widen(e, tensor_field(x, TENSOR_OFFSET, k)),
                              ir_int(e->i64, block[k]), "");
        start = LLVMBuildAdd(e->b, start, LLVMBuildMul(e->b, at, strides[k], ""), "");
    }
    uint64_t bytes = (cols + block[x->d - 1] - 1) / block[x->d - 1] * x->unit;
    MatPrefetch lines = { ir_at(e->b, x->base, start),
                          strides[x->outer],
                          (uint32_t)((rows + block[x->outer] - 1) / block[x->outer]),
                          (uint32_t)MIN(bytes, 4096),
                          strides,
                          block,
                          x->d };
    mat_prefetch(e, x->inst, &lines);
}

/* Whether only the innermost dimension and `outer` tell elements apart, one by one. */
static bool is_plane_of_elements(const MatTransfer *x)
{
    bool is = x->d > 1 && !x->view;
    for (uint32_t k = 0; k < x->d; k++) {
        bool across = k == x->outer || k + 1 == x->d;
        is = is && ir_is_int(tensor_field(x, TENSOR_BLOCK, k), 1) &&
             (across || ir_is_int(tensor_field(x, TENSOR_SPAN, k), 1));
    }
    return is;
}

/* i64: the last of so many rows is that of all behind it (alike.c): those beyond the tensor's end
 * are alike, and all rows where the stride is 0. `aligned`: i1, rows are lines of the slice. */
static LV unlike_rows(Emit *e, const MatTransfer *x, LV aligned)
{
    uint32_t mode = tensor_mode(x), outer = x->outer, rows = x->matrix->rows;
    if (!is_plane_of_elements(x))
        return ir_int(e->i64, rows);
    LV all = ir_int(e->i32, rows), one = ir_int(e->i32, 1), n = all;
    LV offset = tensor_field(x, TENSOR_OFFSET, outer), end = x->end[outer];
    LV inside = LLVMBuildICmp(e->b, LLVMIntULT, offset, end, "");
    LV before = LLVMBuildSelect(e->b, inside, LLVMBuildSub(e->b, end, offset, ""),
                                ir_int(e->i32, 0), ""); /* so many rows are before the end */
    LV still = LLVMBuildIsNull(e->b, tensor_field(x, TENSOR_STRIDE, outer), "");
    /* Behind the span coordinates begin anew, and where they wrap, another edge may be nearer. */
    LV span = LLVMBuildICmp(e->b, LLVMIntUGE, tensor_field(x, TENSOR_SPAN, outer), all, "");
    LV sound = LLVMBuildICmp(e->b, LLVMIntULE, offset, ir_int(e->i32, INT32_MAX - rows), "");
    sound = LLVMBuildAnd(e->b, LLVMBuildAnd(e->b, aligned, span, ""), sound, "");
    if (mode == TENSOR_CONSTANT || mode == TENSOR_TO_EDGE)
        n = ir_binary(e->b, "llvm.umin", LLVMBuildAdd(e->b, before, one, ""), all);
    if (mode != TENSOR_UNDEFINED)
        still = LLVMBuildAnd(e->b, still, LLVMBuildICmp(e->b, LLVMIntUGE, before, all, ""), "");
    n = LLVMBuildSelect(e->b, still, one, n, "");
    return tensor_widen(e, LLVMBuildSelect(e->b, sound, n, all, ""));
}

static bool is_volatile(const SpvInst *i)
{
    return spv_operand(i, 3) & SpvMemoryAccessVolatileMask;
}

static void load_tensor(Emit *e, const SpvInst *i)
{
    MatTransfer x;
    MatTile tile, home;
    if (!tensor_open(e, i, &x))
        return;
    if (x.decode)
        tensor_open_decode(e, &x);
    count_transfer(e, &x);
    if (!x.near && wait_queues_load(e->ahead, i))
        prefetch_slice(e, &x);
    MatValue *v = mat_value(e, i->id);
    LV aligned = is_aligned(e, &x), is = as_tile(e, &x, aligned, &tile);
    bool lazy = is && mat_may_stay(e, i) && !is_volatile(i);
    if (lazy) {
        v->state = MAT_LAZY;
        v->tile = tile;
        vec_push(e->arena, &matrices_of(e)->lazy, v);
        if (ir_is_int(is, 1))
            return;
        home = mat_dense(e, x.matrix, mat_frame(e, x.matrix, mat_bytes(e, x.matrix)), tile.col);
        EmitIf f = if_begin(e, tensor_not(e, is));
        tensor_by_lines(e, &x, &home, aligned);
        if_end(e, &f);
        v->tile.ptr = LLVMBuildSelect(e->b, is, tile.ptr, home.ptr, "");
        v->tile.stride = LLVMBuildSelect(e->b, is, tile.stride, home.stride, "");
        if (!tile.col)
            v->tile.rows = mat_lazy_rows(e, i, unlike_rows(e, &x, aligned));
        return;
    }
    if (x.decode && !calls_only_read(e->module, i))
        matrix_memory_barrier(e);
    MatTile old = { 0 };
    if (x.clips)
        old = mat_read(e, spv_operand(i, 1));
    home = mat_result(e, i);
    if (x.clips && old.ptr != home.ptr)
        mat_copy(e, x.matrix, &home, &old);
    load_home(e, &x, &home, &tile, is, aligned);
    if (v->tile.rows && aligned && !x.decode && !is_volatile(i))
        mat_set_unlike(e, &v->tile, unlike_rows(e, &x, aligned));
}

static void store_tensor(Emit *e, const SpvInst *i)
{
    MatTransfer x;
    MatTile tile;
    if (!tensor_open(e, i, &x))
        return;
    matrix_memory_barrier(e);
    count_transfer(e, &x);
    MatTile from = mat_read(e, spv_operand(i, 1));
    LV aligned = is_aligned(e, &x), is = as_tile(e, &x, aligned, &tile);
    if (is && !ir_is_int(is, 0)) {
        EmitIf f = if_begin(e, is);
        mat_copy(e, x.matrix, &tile, &from);
        if_end(e, &f);
    }
    EmitIf f = if_begin(e, is ? tensor_not(e, is) : ir_int(e->i1, 1));
    tensor_by_lines(e, &x, &from, aligned);
    if_end(e, &f);
}

/* Whether the view puts the dimension first that is outermost in memory, so that tiles in memory,
 * if any, are column-major. */
bool mat_tensor_order(Emit *e, const SpvInst *i)
{
    SpvId ids[3] = { 0 };
    tensor_addressing(i, ids);
    const SpvType *t = ids[0] ? spv_type_of(e->module, ids[0]) : NULL;
    const SpvInst *def = t && t->kind == SPV_TENSOR_VIEW ? spv_def(e->module, t->id) : NULL;
    uint32_t d = def ? emit_tensor_dims(e, t) : 0;
    uint64_t sizes = 0;
    return d > 1 && spv_constant(e->module, spv_operand(def, 1), &sizes) && !sizes &&
           !tensor_constant(e, spv_operand(def, 1 + d));
}

const MatRule matrix_rules_tensor[] = {
    { SpvOpCooperativeMatrixLoadTensorNV, MATRIX_ALWAYS, load_tensor },
    { SpvOpCooperativeMatrixStoreTensorNV, MATRIX_ALWAYS, store_tensor },
    { 0, 0, NULL },
};
