/* SPDX-License-Identifier: MIT
 *
 * Instructions that make, split or pass on whole matrices.
 */
#include "cpu/matrix/matrix.h"

static void matrix_length(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, spv_operand(i, 0));
    if (!mat_is(t)) {
        emit_error(e, i, "SPV_KHR_cooperative_matrix, OpCooperativeMatrixLengthKHR",
                   "the type whose length is asked for is no cooperative matrix");
        return;
    }
    emit_set1(e, i, ir_int(e->i32, mat_length(e, t)));
}

/* Sets all elements from one scalar. If it differs between lanes, each lane sets the elements that
 * it holds. */
static void construct_matrix(Emit *e, const SpvInst *i)
{
    MatValue *v = mat_value(e, i->id);
    LV x = emit_leaf(e, spv_operand(i, 0), 0);
    bool same = !emit_is_lanes(x) && (v->type->scope != SpvScopeWorkgroup ||
                                      matrices_of(e)->same_in_workgroup[spv_operand(i, 0)]);
    if (same && (LLVMIsConstant(x) || !v->other_blocks)) {
        v->state = MAT_SPLAT;
        v->splat = x;
        return;
    }
    MatTile home = mat_result(e, i);
    if (same) {
        mat_fill(e, v->type, &home, x);
        return;
    }
    EmitLoop l = loop_begin(e, ir_int(e->i32, mat_length(e, v->type)));
    mat_set_element(e, v->type, &home, l.index, x);
    loop_end(e, &l);
}

static void insert_element(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    LV x = emit_leaf(e, spv_operand(i, 0), 0);
    MatTile from = mat_read(e, spv_operand(i, 1));
    MatTile to = mat_result(e, i);
    if (from.ptr != to.ptr)
        mat_copy(e, t, &to, &from);
    mat_set_element(e, t, &to, ir_int(e->i32, spv_operand(i, 2)), x);
}

static void copy_matrix(Emit *e, const SpvInst *i)
{
    MatTile from = mat_read(e, spv_operand(i, 0));
    MatTile to = mat_result(e, i);
    if (from.ptr != to.ptr)
        mat_copy(e, spv_type(e->module, i->type), &to, &from);
}

static void select_matrix(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    LV c = emit_uniform(e, emit_leaf(e, spv_operand(i, 0), 0));
    MatTile x = mat_read(e, spv_operand(i, 1)), y = mat_read(e, spv_operand(i, 2));
    MatTile to = mat_result(e, i);
    if (x.col == y.col) {
        MatTile from = x;
        from.ptr = LLVMBuildSelect(e->b, c, x.ptr, y.ptr, "");
        from.stride = LLVMBuildSelect(e->b, c, x.stride, y.stride, "");
        mat_copy(e, t, &to, &from);
        return;
    }
    EmitIf f = if_begin(e, c);
    mat_copy(e, t, &to, &x);
    if_end(e, &f);
    f = if_begin(e, LLVMBuildNot(e->b, c, ""));
    mat_copy(e, t, &to, &y);
    if_end(e, &f);
}

static void extract_element(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type_of(e->module, spv_operand(i, 0));
    MatTile tile = mat_read(e, spv_operand(i, 0));
    emit_set1(e, i, mat_element(e, t, &tile, ir_int(e->i32, spv_operand(i, 1))));
}

/* The edges to the block have stored its value. */
static void open_phi(Emit *e, const SpvInst *i)
{
    MatValue *v = mat_value(e, i->id);
    v->state = MAT_HOME;
    v->tile = mat_home(e, i->id);
}

/* mat_value gives it zeros. */
static void leave_undefined(Emit *e, const SpvInst *i)
{
    (void)e;
    (void)i;
}

const MatRule matrix_rules_whole[] = {
    { SpvOpCooperativeMatrixLengthKHR, MATRIX_ALWAYS, matrix_length },
    { SpvOpCompositeExtract, MATRIX_OPERAND, extract_element },
    { SpvOpCompositeInsert, MATRIX_RESULT, insert_element },
    { SpvOpCompositeConstruct, MATRIX_RESULT, construct_matrix },
    { SpvOpCompositeConstructReplicateEXT, MATRIX_RESULT, construct_matrix },
    { SpvOpCopyObject, MATRIX_RESULT, copy_matrix },
    { SpvOpCopyLogical, MATRIX_RESULT, copy_matrix },
    { SpvOpSelect, MATRIX_RESULT, select_matrix },
    { SpvOpPhi, MATRIX_RESULT, open_phi },
    { SpvOpUndef, MATRIX_RESULT, leave_undefined },
    { 0, 0, NULL },
};
