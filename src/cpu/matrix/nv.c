/* SPDX-License-Identifier: MIT
 *
 * SPV_NV_cooperative_matrix2 on matrices that are values: conversions of use, transposes, functions
 * of every element. The functions are called.c's, with one call for W elements.
 */
#include "cpu/matrix/matrix.h"

static const char section[] = "SPV_NV_cooperative_matrix2";

/* ---- changes of use, transposes -------------------------------------------------------------- */

const SpvType *mat_source_type(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type_of(e->module, spv_operand(i, 0));
    if (mat_is(t))
        return t;
    emit_error(e, i, section, "the operand is no cooperative matrix");
    return NULL;
}

static void convert_use(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type), *from = mat_source_type(e, i);
    if (from &&
        (from->rows != t->rows || from->cols != t->cols ||
         from->element->kind != t->element->kind || from->element->bits != t->element->bits)) {
        emit_error(e, i, section, "a change of use keeps the component type and the size");
        return;
    }
    if (!from)
        return;
    MatTile x = mat_read(e, spv_operand(i, 0)), to = mat_result(e, i);
    mat_copy(e, t, &to, &x);
    mat_count(e, t, DEVICE_STAT_CONVERSIONS, 1);
}

/* The transpose is the same elements in the other order. */
static void transpose_matrix(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type), *from = mat_source_type(e, i);
    if (from && (from->rows != t->cols || from->cols != t->rows)) {
        emit_error(e, i, section, "a transpose swaps rows and columns");
        return;
    }
    if (!from)
        return;
    MatTile x = from->element == t->element ? mat_read(e, spv_operand(i, 0))
                                            : mat_converted(e, spv_operand(i, 0), t->element);
    MatTile to = mat_result(e, i);
    x.col = !x.col;
    mat_copy(e, t, &to, &x);
    mat_count(e, t, DEVICE_STAT_CONVERSIONS, 1);
}

/* ---- functions of every element -------------------------------------------------------------- */

typedef struct Element {
    const SpvInst *inst;
    const SpvType *type; /* of the matrix */
    MatTile to;
    MatTile *tiles; /* by argument: if it is a matrix; ptr NULL: it is `value` */
    LV *value;
    uint32_t n; /* arguments; the first two are row and column */
    LV lines;   /* i64: of the tiles; those behind are not wanted */
} Element;

/* The W elements from `linear` (i64) on. */
static void element_chunk(Emit *e, const Element *x, LV linear, LV major, LV minor, LV mask)
{
    uint32_t bytes = comp_bytes(mat_comp(x->type));
    LT type = comp_type(e->cx, mat_comp(x->type));
    LV *args = NEW_ARRAY(e->arena, LV, x->n + 1), result;
    args[x->to.col] = major;
    args[!x->to.col] = minor;
    for (uint32_t k = 2; k < x->n; k++)
        args[k] = x->tiles[k].ptr ? mat_load_run(e, type, mat_at(e, x->tiles[k].ptr, linear, bytes),
                                                 e->W, bytes)
                                  : x->value[k];
    LanesCall c = { x->inst, spv_operand(x->inst, 1), args, x->n, mask, &result, 1, false };
    if (lanes_call(e, &c))
        mat_store_run(e, result, mat_at(e, x->to.ptr, linear, bytes), e->W, bytes);
}

static LV lane_numbers(Emit *e, uint32_t divide, uint32_t modulo)
{
    LV *lane = NEW_ARRAY(e->arena, LV, e->W);
    for (uint32_t k = 0; k < e->W; k++)
        lane[k] = ir_int(e->i32, k / divide % modulo);
    return LLVMConstVector(lane, e->W);
}

static LV plus_lanes(Emit *e, LV scalar, LV lanes)
{
    return LLVMBuildAdd(e->b, emit_lanes(e, scalar), lanes, "");
}

/* For lines of whole vectors: the number of the line is the same for all lanes. */
static void element_lines(Emit *e, const Element *x, uint32_t length)
{
    /* two vectors in each iteration, if they fit, for fewer of them */
    uint32_t each = length / e->W % 2 ? 1 : 2;
    EmitLoop l = loop_begin(e, x->lines), k = loop_begin(e, ir_int(e->i64, length / e->W / each));
    for (uint32_t j = 0; j < each; j++) {
        LV first = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, k.index, ir_int(e->i64, each * e->W), ""),
                                ir_int(e->i64, j * e->W), "");
        LV linear =
            LLVMBuildAdd(e->b, LLVMBuildMul(e->b, l.index, ir_int(e->i64, length), ""), first, "");
        LV minor = plus_lanes(e, LLVMBuildTrunc(e->b, first, e->i32, ""), lanes_ids(e));
        element_chunk(e, x, linear, LLVMBuildTrunc(e->b, l.index, e->i32, ""), minor, NULL);
    }
    loop_end(e, &k);
    loop_end(e, &l);
}

static void element_linear(Emit *e, const Element *x, uint32_t lines, uint32_t length)
{
    uint32_t total = lines * length, rest = total % e->W;
    bool rows = e->W % length == 0; /* a vector is whole lines */
    LV n = ir_int(LLVMTypeOf(lanes_ids(e)), length);
    if (total >= e->W) {
        LV wanted = LLVMBuildMul(e->b, x->lines, ir_int(e->i64, length), "");
        wanted = LLVMBuildAdd(e->b, wanted, ir_int(e->i64, e->W - 1), "");
        wanted = LLVMBuildUDiv(e->b, wanted, ir_int(e->i64, e->W), "");
        EmitLoop l =
            loop_begin(e, ir_binary(e->b, "llvm.umin", wanted, ir_int(e->i64, total / e->W)));
        LV linear = LLVMBuildMul(e->b, l.index, ir_int(e->i64, e->W), "");
        LV first = LLVMBuildTrunc(e->b, linear, e->i32, ""),
           own = plus_lanes(e, first, lanes_ids(e));
        LV major = rows ? plus_lanes(e, LLVMBuildUDiv(e->b, first, ir_int(e->i32, length), ""),
                                     lane_numbers(e, length, UINT32_MAX))
                        : LLVMBuildUDiv(e->b, own, n, "");
        LV minor = rows ? lane_numbers(e, 1, length) : LLVMBuildURem(e->b, own, n, "");
        element_chunk(e, x, linear, major, minor, NULL);
        loop_end(e, &l);
    }
    if (rest) {
        LV own = plus_lanes(e, ir_int(e->i32, total - rest), lanes_ids(e));
        LV mask = LLVMBuildICmp(e->b, LLVMIntULT, lanes_ids(e), ir_int(LLVMTypeOf(own), rest), "");
        element_chunk(e, x, ir_int(e->i64, total - rest), LLVMBuildUDiv(e->b, own, n, ""),
                      LLVMBuildURem(e->b, own, n, ""), mask);
    }
}

/* The next argument is a matrix' element, or the number that they all are. */
static void matrix_argument(Emit *e, Element *x, SpvId id, bool alike)
{
    const MatValue *v = mat_value(e, id);
    if (v->state == MAT_SPLAT)
        x->value[x->n] = LLVMBuildBitCast(e->b, v->splat, comp_type(e->cx, mat_comp(v->type)), "");
    else
        x->tiles[x->n] = (alike ? mat_operand_rows : mat_operand)(e, id, x->to.col);
    x->n++;
}

/* The arguments are the row, the column, the element, and the other operands: a matrix gives its
 * element, everything else its leaves. */
static bool element_arguments(Emit *e, const SpvInst *i, Element *x, bool alike)
{
    uint32_t n = 3;
    for (uint32_t o = 2; o < spv_n_operands(i); o++) {
        const SpvType *t = spv_type_of(e->module, spv_operand(i, o));
        n += mat_is(t) ? 1 : emit_n_leaves(e, t);
    }
    x->tiles = NEW_ARRAY(e->arena, MatTile, n);
    x->value = NEW_ARRAY(e->arena, LV, n);
    x->n = 2;
    matrix_argument(e, x, spv_operand(i, 0), alike);
    for (uint32_t o = 2; o < spv_n_operands(i); o++) {
        SpvId id = spv_operand(i, o);
        const SpvType *t = spv_type_of(e->module, id);
        if (mat_is(t) && t != x->type) {
            emit_error(e, i, section, "a further matrix operand has another type");
            return false;
        }
        if (mat_is(t))
            matrix_argument(e, x, id, alike);
        else
            for (uint32_t k = 0; k < emit_n_leaves(e, t); k++)
                x->value[x->n++] = emit_leaf(e, id, k);
    }
    return true;
}

static void call_per_element(Emit *e, const SpvInst *i)
{
    Element x = { .inst = i, .type = spv_type(e->module, i->type) };
    if (mat_source_type(e, i) != x.type) {
        emit_error(e, i, section, "the operand's type is not the result's");
        return;
    }
    matrix_memory_barrier(e); /* because the function may store */
    x.to = mat_home(e, i->id);
    bool alike = mat_has_rows(e, &x.to) && mat_calls_alike(e, i);
    if (!element_arguments(e, i, &x, alike))
        return;
    x.to = (alike ? mat_result_rows : mat_result)(e, i);
    uint32_t lines = x.to.col ? x.type->cols : x.type->rows;
    uint32_t length = x.to.col ? x.type->rows : x.type->cols;
    MatLeader l = mat_leader_begin(e, x.type);
    x.lines = ir_int(e->i64, lines);
    if (alike)
        x.lines = mat_rows_of_all(e, x.type, x.tiles, x.n);
    bool all = !mat_calls_safely(e, i); /* a vector may have more rows than are wanted */
    for (uint32_t k = 0; k < x.n && all; k++)
        mat_need_rows(e, &x.tiles[k], ir_int(e->i64, lines));
    if (length % e->W == 0)
        element_lines(e, &x, length);
    else
        element_linear(e, &x, lines, length);
    mat_set_rows(e, &x.to, x.lines);
    mat_leader_end(e, &l);
}

const MatRule matrix_rules_nv[] = {
    { SpvOpCooperativeMatrixConvertNV, MATRIX_RESULT, convert_use },
    { SpvOpCooperativeMatrixTransposeNV, MATRIX_RESULT, transpose_matrix },
    { SpvOpCooperativeMatrixPerElementOpNV, MATRIX_RESULT, call_per_element },
    { 0, 0, NULL },
};
