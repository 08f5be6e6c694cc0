/* SPDX-License-Identifier: MIT
 *
 * Instructions that mix the components of vectors and matrices, or return a pair (SPIR-V 3.3.13,
 * 3.3.14).
 *
 * A matrix is its columns one after the other: with R rows, component (row, column) is leaf
 * column * R + row. Dot products sum from the first component to the last, unless the target has
 * a way of its own for OpDot.
 */
#include "emit/ops.h"
#include "emit/target.h"
#include "llvm/ir.h"

static const SpvType *result_type(Emit *e, const SpvInst *i)
{
    return spv_type(e->module, i->type);
}

/* ---- any, all -------------------------------------------------------------------------------- */

void ops_any_all(Emit *e, const SpvInst *i)
{
    uint32_t n;
    LV *v = ops_leaves(e, spv_operand(i, 0), &n);
    LV r = n ? v[0] : ir_int(e->i1, i->op == SpvOpAll);
    for (uint32_t k = 1; k < n; k++) {
        LV pair[2] = { r, v[k] };
        emit_unify(e, pair, 2);
        r = i->op == SpvOpAny ? LLVMBuildOr(e->b, pair[0], pair[1], "")
                              : LLVMBuildAnd(e->b, pair[0], pair[1], "");
    }
    emit_set1(e, i, r);
}

/* ---- dot products ---------------------------------------------------------------------------- */

LV ops_dot(Emit *e, const SpvInst *i, const LV *x, const LV *y, uint32_t n)
{
    LV sum = ops_float(e, i, LLVMFMul, x[0], y[0]);
    for (uint32_t k = 1; k < n; k++)
        sum = ops_float(e, i, LLVMFAdd, sum, ops_float(e, i, LLVMFMul, x[k], y[k]));
    return sum;
}

/* bf16 (SPV_KHR_bfloat16) is summed in float and rounded once. */
void ops_inner_product(Emit *e, const SpvInst *i)
{
    uint32_t n, m;
    LV *x = ops_leaves(e, spv_operand(i, 0), &n), *y = ops_leaves(e, spv_operand(i, 1), &m);
    if (!n || n != m) {
        emit_error(e, i, "SPIR-V, OpDot", "the vectors have %u and %u components", n, m);
        return;
    }
    bool narrow = LLVMGetTypeKind(ir_element(LLVMTypeOf(x[0]))) == LLVMBFloatTypeKind;
    for (uint32_t k = 0; k < n; k++) {
        x[k] = ops_fold(e, x[k]);
        y[k] = ops_fold(e, y[k]);
    }
    LV r = e->target->dot ? e->target->dot(e, i, x, y, n) : NULL;
    r = r ? r : ops_dot(e, i, x, y, n);
    emit_set1(e, i, narrow ? arith_convert(e->b, r, COMP_F32, COMP_BF16, ROUND_NEAREST, false) : r);
}

/* The components of an operand, widened. A packed operand has four, its bytes. */
static uint32_t components(Emit *e, SpvId id, LT to, bool is_signed, LV *out)
{
    const EmitValue *v = emit_value(e, id);
    bool packed = v->n == 1;
    uint32_t n = packed ? 4 : MIN(v->n, 16);
    for (uint32_t k = 0; k < n; k++) {
        LV x = emit_leaf(e, id, packed ? 0 : k);
        if (packed) {
            x = LLVMBuildLShr(e->b, x, ir_int(LLVMTypeOf(x), 8 * k), "");
            x = arith_resize(e->b, x, e->i8, false);
        }
        out[k] = arith_resize(e->b, x, to, is_signed);
    }
    return n;
}

/* Packed operands and a result of 32 bits, by the target. NULL: others. */
static LV packed_dot(Emit *e, const SpvInst *i, LT to, bool sx, bool sy)
{
    const EmitValue *x = emit_value(e, spv_operand(i, 0)), *y = emit_value(e, spv_operand(i, 1));
    if (!e->target->dot4 || x->n != 1 || y->n != 1 || to != e->i32)
        return NULL;
    LV v[2] = { emit_leaf(e, spv_operand(i, 0), 0), emit_leaf(e, spv_operand(i, 1), 0) };
    return e->target->dot4(e, v[0], v[1], sx, sy);
}

/* OpSDot and its kin, computed in the result's width. Only the addition of the accumulator
 * saturates. */
void ops_integer_dot(Emit *e, const SpvInst *i)
{
    bool sx = i->op != SpvOpUDot && i->op != SpvOpUDotAccSat;
    bool sy = i->op == SpvOpSDot || i->op == SpvOpSDotAccSat;
    bool accumulate =
        i->op == SpvOpSDotAccSat || i->op == SpvOpUDotAccSat || i->op == SpvOpSUDotAccSat;
    LT to = emit_scalar_type(e, result_type(e, i));
    LV x[16], y[16], sum = packed_dot(e, i, to, sx, sy);
    uint32_t n = sum ? 0 : components(e, spv_operand(i, 0), to, sx, x);
    uint32_t m = sum ? 0 : components(e, spv_operand(i, 1), to, sy, y);
    for (uint32_t k = 0; k < MIN(n, m); k++) {
        LV v[3] = { x[k], y[k], sum ? sum : ir_int(to, 0) };
        emit_unify(e, v, 3);
        LV product = LLVMBuildMul(e->b, v[0], v[1], "");
        sum = sum ? LLVMBuildAdd(e->b, v[2], product, "") : product;
    }
    if (!sum)
        sum = ir_int(to, 0);
    if (accumulate) {
        LV v[2] = { sum, emit_leaf(e, spv_operand(i, 2), 0) };
        emit_unify(e, v, 2);
        sum = ir_binary(e->b, sx ? "llvm.sadd.sat" : "llvm.uadd.sat", v[0], v[1]);
    }
    emit_set1(e, i, sum);
}

/* ---- linear algebra -------------------------------------------------------------------------- */

/* Cooperative matrices may be of integers, also when they are emitted as arrays. */
static LV times_leaf(Emit *e, const SpvInst *i, LV *v, uint32_t n)
{
    (void)n;
    if (LLVMGetTypeKind(ir_element_of(v[0])) == LLVMIntegerTypeKind)
        return LLVMBuildMul(e->b, v[0], v[1], "");
    return ops_float(e, i, LLVMFMul, v[0], v[1]);
}

void ops_times_scalar(Emit *e, const SpvInst *i) { emit_each_leaf(e, i, 0, 2, times_leaf); }

/* (rows x inner) times (inner x columns). A vector on the left is a row, on the right a column. */
void ops_matrix_product(Emit *e, const SpvInst *i)
{
    uint32_t nx, ny;
    LV *x = ops_leaves(e, spv_operand(i, 0), &nx), *y = ops_leaves(e, spv_operand(i, 1), &ny);
    const SpvType *tx = emit_value(e, spv_operand(i, 0))->type,
                  *ty = emit_value(e, spv_operand(i, 1))->type;
    uint32_t rows = tx->kind == SPV_MATRIX ? tx->element->count : 1;
    uint32_t inner = rows ? nx / rows : 0;
    uint32_t columns = ty->kind == SPV_MATRIX ? ty->count : 1;
    if (!inner || inner * columns != ny || inner > 4 || columns > 4 || rows > 4) {
        emit_error(e, i, NULL, "the operands' sizes do not fit");
        return;
    }
    LV result[16];
    for (uint32_t c = 0; c < columns; c++)
        for (uint32_t r = 0; r < rows; r++) {
            LV row[4] = { NULL };
            for (uint32_t k = 0; k < inner; k++)
                row[k] = x[k * rows + r];
            result[c * rows + r] = ops_dot(e, i, row, y + c * inner, inner);
        }
    emit_set(e, i, result, rows * columns);
}

void ops_outer_product(Emit *e, const SpvInst *i)
{
    uint32_t rows, columns;
    LV *x = ops_leaves(e, spv_operand(i, 0), &rows),
       *y = ops_leaves(e, spv_operand(i, 1), &columns);
    LV *result = NEW_ARRAY(e->arena, LV, (size_t)rows * columns + 1);
    for (uint32_t c = 0; c < columns; c++)
        for (uint32_t r = 0; r < rows; r++)
            result[c * rows + r] = ops_float(e, i, LLVMFMul, x[r], y[c]);
    emit_set(e, i, result, rows * columns);
}

/* ---- pairs: {low, high} ---------------------------------------------------------------------- */

typedef void PairFn(Emit *e, const SpvInst *i, LV x, LV y, LV *first, LV *second);

static void pairs(Emit *e, const SpvInst *i, PairFn *fn)
{
    uint32_t n, m;
    LV *x = ops_leaves(e, spv_operand(i, 0), &n), *y = ops_leaves(e, spv_operand(i, 1), &m);
    LV *result = NEW_ARRAY(e->arena, LV, 2 * (size_t)n + 1);
    for (uint32_t k = 0; k < MIN(n, m); k++) {
        LV v[2] = { x[k], y[k] };
        emit_unify(e, v, 2);
        fn(e, i, v[0], v[1], &result[k], &result[n + k]);
    }
    emit_set(e, i, result, 2 * n);
}

static void multiply(Emit *e, const SpvInst *i, LV x, LV y, LV *low, LV *high)
{
    *low = LLVMBuildMul(e->b, x, y, "");
    *high = arith_multiply_high(e->b, x, y, i->op == SpvOpSMulExtended);
}

static void carry(Emit *e, const SpvInst *i, LV x, LV y, LV *result, LV *over)
{
    LV wrapped;
    if (i->op == SpvOpIAddCarry) {
        *result = LLVMBuildAdd(e->b, x, y, "");
        wrapped = LLVMBuildICmp(e->b, LLVMIntULT, *result, x, "");
    } else {
        *result = LLVMBuildSub(e->b, x, y, "");
        wrapped = LLVMBuildICmp(e->b, LLVMIntULT, x, y, "");
    }
    *over = LLVMBuildZExt(e->b, wrapped, LLVMTypeOf(x), "");
}

void ops_extended_multiply(Emit *e, const SpvInst *i) { pairs(e, i, multiply); }
void ops_carry(Emit *e, const SpvInst *i) { pairs(e, i, carry); }
