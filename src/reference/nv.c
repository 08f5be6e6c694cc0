/* SPDX-License-Identifier: MIT
 *
 * SPV_NV_cooperative_matrix2 except for tensors (tensor.c) and conversions (convert.c): transposes,
 * reductions, and functions applied to every element. The owner of an element calls its function,
 * so that it sees that invocation's own variables. Reductions go from left to right, within a
 * matrix row by row, within a 2x2 neighbourhood as the specification lists it: (0, 0), (1, 0), (0,
 * 1), (1, 1).
 */
#include "reference/machine.h"

/* Between floats or between integers, by the signedness of what it comes from. */
static uint64_t convert_component(const RInst *i, uint64_t x)
{
    const RType *from = i->at->element, *to = i->type->element;
    if (i->sfmt != FMT_NONE)
        return i->sfmt == i->fmt ? x : fmt_put((RFmt)i->fmt, fmt_get((RFmt)i->sfmt, x));
    return (from->is_signed ? (uint64_t)sext(x, from->bits) : x) & mask_bits(to->bits);
}

static void all_transpose(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    const RType *t = i->type;
    RLeaves from = matrix_gather(m, set, n, i->at, i->ops[0]);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = 0; e < t->count; e++) {
            uint32_t at = matrix_owned(m, set[k], t, e);
            uint32_t source = at % t->cols * t->rows + at / t->cols;
            leaf(set[k], i->dst)[e] = at == UINT32_MAX ? 0 : convert_component(i, from.x[source]);
            unset(set[k], i->dst)[e] = at == UINT32_MAX ? 0 : from.undef[source];
        }
}

static bool prepare_transpose(RMachine *m, RInst *i)
{
    if (!prepare_value(m, i))
        return false;
    bool fits = i->type->kind == SPV_COOPMAT && i->at->kind == SPV_COOPMAT &&
                i->type->rows == i->at->cols && i->type->cols == i->at->rows &&
                i->type->scope == i->at->scope && (i->fmt != FMT_NONE) == (i->sfmt != FMT_NONE);
    if (!fits)
        refuse(m, i->src, "the result is not a transposed matrix of the operand's kind");
    i->scope = (uint8_t)i->type->scope;
    return fits;
}

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct MatrixReduction {
    RFunc *combine;
    uint32_t mode;
    uint32_t rows, cols; /* of distinct results */
    uint32_t deep, wide; /* elements of the source in each */
} MatrixReduction;

/* The result of a region that begins at (row, column), computed by one invocation. The function
 * returns to that invocation's own first element. */
static void reduce_region(RMachine *m, RInv *v, const RInst *i, RLeaves w, uint32_t row,
                          uint32_t column)
{
    const MatrixReduction *x = i->aux;
    bool by_column = x->mode == SpvCooperativeMatrixReduce2x2Mask;
    uint64_t *sum = leaf(v, i->dst);
    uint8_t *undef = unset(v, i->dst);
    for (uint32_t k = 0; k < x->deep * x->wide; k++) {
        uint32_t r = row + (by_column ? k % x->deep : k / x->wide);
        uint32_t c = column + (by_column ? k / x->deep : k % x->wide);
        size_t at = (size_t)r * i->at->cols + c;
        uint64_t left = *sum;
        uint8_t left_undef = *undef;
        RCallArg args[] = { { &left, &left_undef }, { &w.x[at], &w.undef[at] } };
        if (k) {
            inv_call(m, v, x->combine, args, i->dst, 1);
        } else {
            *sum = w.x[at];
            *undef = w.undef[at];
        }
    }
}

static void all_reduce(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    const MatrixReduction *x = i->aux;
    const RType *t = i->type;
    RLeaves from = matrix_gather(m, set, n, i->at, i->ops[0]);
    for (uint32_t k = 0; k < x->rows * x->cols; k++) {
        RInv *v = set[k % n];
        uint32_t row = k / x->cols * x->deep, column = k % x->cols * x->wide;
        size_t first = (size_t)row * i->at->cols + column; /* done with: keeps the result */
        reduce_region(m, v, i, from, row, column);
        from.x[first] = *leaf(v, i->dst);
        from.undef[first] = *unset(v, i->dst);
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = 0; e < t->count; e++) {
            uint32_t at = matrix_owned(m, set[k], t, e);
            uint32_t row = at / t->cols % x->rows * x->deep, column = at % t->cols % x->cols;
            size_t source = (size_t)row * i->at->cols + column * x->wide;
            leaf(set[k], i->dst)[e] = at == UINT32_MAX ? 0 : from.x[source];
            unset(set[k], i->dst)[e] = at == UINT32_MAX ? 0 : from.undef[source];
        }
}

static bool prepare_reduce(RMachine *m, RInst *i)
{
    MatrixReduction *x = NEW(m->arena, MatrixReduction);
    const RType *from = i->at, *to = i->type;
    if (i->n_ops < 3 || !from || from->kind != SPV_COOPMAT || to->kind != SPV_COOPMAT ||
        from->scope != to->scope || from->element->id != to->element->id) {
        refuse(m, i->src, "the operand and the result are not matrices of one component and scope");
        return false;
    }
    x->mode = i->ops[1];
    bool row = x->mode & SpvCooperativeMatrixReduceRowMask;
    bool column = x->mode & SpvCooperativeMatrixReduceColumnMask;
    bool square = x->mode & SpvCooperativeMatrixReduce2x2Mask;
    x->deep = square ? 2 : column ? from->rows : 1;
    x->wide = square ? 2 : row ? from->cols : 1;
    x->rows = from->rows / x->deep;
    x->cols = from->cols / x->wide;
    bool fits = square ? from->rows == 2 * to->rows && from->cols == 2 * to->cols
                       : (column || to->rows == x->rows) && (row || to->cols == x->cols);
    if (!fits || x->mode > 7 || square == (row || column)) {
        refuse(m, i->src, "a reduction (mode %u) of a %ux%u matrix to %ux%u", x->mode, from->rows,
               from->cols, to->rows, to->cols);
        return false;
    }
    const RType *const params[] = { from->element, from->element };
    x->combine = inv_callee(m, i, spv_operand(i->src, 2), from->element, params, 2);
    i->scope = (uint8_t)to->scope;
    i->aux = x;
    return x->combine;
}

/* ---- functions of every element -------------------------------------------------------------- */

typedef struct PerElement {
    RFunc *function;
    RCallArg *args;
    bool *by_element; /* the parameter is a matrix' element */
    uint32_t n;
} PerElement;

static void each_owned(RMachine *m, RInv *v, const RInst *i)
{
    const PerElement *x = i->aux;
    static const uint8_t defined;
    for (uint32_t e = 0; e < i->type->count && !m->stop; e++) {
        uint32_t at = matrix_owned(m, v, i->type, e);
        uint64_t place[2] = { at / i->type->cols, at % i->type->cols };
        if (at == UINT32_MAX) {
            leaf(v, i->dst)[e] = unset(v, i->dst)[e] = 0;
            continue;
        }
        for (uint32_t k = 0; k < x->n; k++) {
            Ref r = k < 2 ? REF_NONE : i->ops[k == 2 ? 0 : k - 1];
            uint32_t part = k >= 2 && x->by_element[k] ? e : 0;
            x->args[k].x = k < 2 ? &place[k] : leaf(v, r) + part;
            x->args[k].undef = k < 2 ? &defined : unset(v, r) + part;
        }
        inv_call(m, v, x->function, x->args, i->dst + e, 1);
    }
}

static void all_per_element(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    for (uint32_t k = 0; k < n; k++)
        each_owned(m, set[k], i);
}

static bool prepare_per_element(RMachine *m, RInst *i)
{
    PerElement *x = NEW(m->arena, PerElement);
    if (i->n_ops < 2 || !i->at || i->at->kind != SPV_COOPMAT || i->type->id != i->at->id) {
        refuse(m, i->src, "the operand and the result are not matrices of one type");
        return false;
    }
    static const RType word = { .kind = SPV_INT, .bits = 32, .leaves = 1 };
    x->n = i->n_ops + 1u;
    x->args = NEW_ARRAY(m->arena, RCallArg, x->n);
    x->by_element = NEW_ARRAY(m->arena, bool, x->n);
    const RType **params = NEW_ARRAY(m->arena, const RType *, x->n);
    params[0] = params[1] = &word;
    for (uint32_t k = 2; k < x->n; k++) {
        uint32_t operand = k == 2 ? 0 : k - 1;
        const RType *t = type_of(m, spv_operand(i->src, operand));
        if (!t || ref_of(m, spv_operand(i->src, operand)) == REF_NONE ||
            (t->kind == SPV_COOPMAT && t->id != i->type->id)) {
            refuse(m, i->src, "operand %u is not a value, or a matrix of another type", operand);
            return false;
        }
        x->by_element[k] = t->kind == SPV_COOPMAT;
        params[k] = x->by_element[k] ? t->element : t;
    }
    x->function = inv_callee(m, i, spv_operand(i->src, 1), i->type->element, params, x->n);
    i->scope = (uint8_t)i->type->scope;
    i->aux = x;
    return x->function;
}

/* clang-format off */
static const ROpRow rows[] = {
    { SpvOpCooperativeMatrixTransposeNV, NULL, prepare_transpose, all_transpose, OPF_WHOLE },
    { SpvOpCooperativeMatrixReduceNV, NULL, prepare_reduce, all_reduce, OPF_WHOLE },
    { SpvOpCooperativeMatrixPerElementOpNV, NULL, prepare_per_element, all_per_element, OPF_WHOLE },
};
/* clang-format on */
const ROpTable ref_nv_ops = { rows, COUNT_OF(rows) };
