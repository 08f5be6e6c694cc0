/* SPDX-License-Identifier: MIT
 *
 * Elements of matrices as the values of lanes.
 *
 * Element e of lane l is linear element e * W + l of the row-major matrix. (For a workgroup's
 * matrix, the number of invocations takes the place of W.) So in a dense row-major home the
 * elements that the lanes have at one index are one vector.
 */
#include "cpu/matrix/matrix.h"

uint32_t mat_length(Emit *e, const SpvType *t)
{
    uint64_t holders = mat_n_holders(e, t), total = (uint64_t)t->rows * t->cols;
    return (uint32_t)((total + holders - 1) / holders);
}

static LV own_linear(Emit *e, const MatHolders *h, LV index)
{
    LV lanes = emit_lanes(e, index);
    LV row = LLVMBuildMul(e->b, lanes, ir_int(LLVMTypeOf(lanes), h->n), "");
    LV own = LLVMBuildAdd(e->b, emit_lanes(e, h->first), lanes_ids(e), "");
    return LLVMBuildAdd(e->b, row, own, "");
}

/* Where the lanes' elements lie: one address if they lie side by side (dense, row-major, one index
 * for all lanes), else one for each lane. */
static LV element_address(Emit *e, const SpvType *t, const MatTile *tile, LV index,
                          bool *side_by_side)
{
    MatHolders h = mat_holders(e, t);
    uint64_t total = (uint64_t)t->rows * t->cols;
    uint32_t bytes = comp_bytes(mat_comp(t));
    LT type = LLVMTypeOf(index);
    LV limit = ir_int(type, mat_length(e, t) - 1);
    /* an index past the end must stay in the frame */
    LV in = LLVMBuildICmp(e->b, LLVMIntULE, index, limit, "");
    index = LLVMBuildSelect(e->b, in, index, limit, "");
    *side_by_side = !tile->col && !emit_is_lanes(index);
    if (*side_by_side) {
        LV linear = LLVMBuildMul(e->b, index, ir_int(type, h.n), "");
        linear = LLVMBuildAdd(e->b, linear, h.first, "");
        LV offset =
            LLVMBuildMul(e->b, LLVMBuildZExt(e->b, linear, e->i64, ""), ir_int(e->i64, bytes), "");
        return ir_at_inbounds(e->b, tile->ptr, offset);
    }
    LV lanes = emit_lanes(e, index), linear = own_linear(e, &h, lanes);
    LV last = ir_int(LLVMTypeOf(lanes), total - 1);
    linear =
        LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntULE, linear, last, ""), linear, last, "");
    LV offset = linear;
    if (tile->col) {
        LV n = ir_int(LLVMTypeOf(lanes), t->cols);
        LV row = LLVMBuildUDiv(e->b, linear, n, ""), col = LLVMBuildURem(e->b, linear, n, "");
        offset = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, col, ir_int(LLVMTypeOf(lanes), t->rows), ""),
                              row, "");
    }
    offset = LLVMBuildMul(e->b, offset, ir_int(LLVMTypeOf(lanes), bytes), "");
    LV wide = LLVMBuildZExt(e->b, offset, LLVMVectorType(e->i64, e->W), "");
    return ir_at(e->b, tile->ptr, wide);
}

static LV index_as_i32(Emit *e, LV index) { return emit_cast_index(e, index, e->i32); }

/* The active lanes that own an element: at the last index, some may lie beyond the matrix. */
static LV owners(Emit *e, const SpvType *t, LV index)
{
    MatHolders h = mat_holders(e, t);
    uint64_t total = (uint64_t)t->rows * t->cols;
    LV mask = lanes_mask(e);
    if (total % h.n == 0)
        return mask;
    LV linear = own_linear(e, &h, index);
    return lanes_and(
        e, mask, LLVMBuildICmp(e->b, LLVMIntULT, linear, ir_int(LLVMTypeOf(linear), total), ""));
}

LV mat_element(Emit *e, const SpvType *t, const MatTile *tile, LV index)
{
    bool together;
    LV p = element_address(e, t, tile, index_as_i32(e, index), &together);
    uint32_t bytes = comp_bytes(mat_comp(t));
    LT type = LLVMVectorType(comp_type(e->cx, mat_comp(t)), e->W);
    if (!together)
        return lanes_masked_load(e, type, p, bytes, lanes_mask(e));
    LV v = ir_load(e->b, type, p, bytes);
    return v;
}

void mat_set_element(Emit *e, const SpvType *t, const MatTile *tile, LV index, LV value)
{
    bool together;
    index = index_as_i32(e, index);
    LV p = element_address(e, t, tile, index, &together), mask = owners(e, t, index);
    uint32_t bytes = comp_bytes(mat_comp(t));
    LT type = LLVMVectorType(comp_type(e->cx, mat_comp(t)), e->W);
    value = emit_lanes(e, value);
    if (LLVMTypeOf(value) != type)
        value = LLVMBuildBitCast(e->b, value, type, "");
    if (together && !e->mask) /* elements that no lane owns go to the padding */
        ir_store(e->b, value, p, bytes);
    else
        lanes_masked_store(e, value, p, bytes, mask);
}
