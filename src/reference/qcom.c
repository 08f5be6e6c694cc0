/* SPDX-License-Identifier: MIT
 *
 * SPV_QCOM_cooperative_matrix_conversion. The subgroup's arrays become the rows of a matrix (for B,
 * the columns) and vice versa, one per invocation; an array of u32 holds two or four components per
 * word, the first in its lowest bits. Lanes beyond the matrix are ignored, and extract zeros that
 * count as undefined. Bit casts and parts of arrays are an invocation's own affair.
 */
#include "reference/machine.h"

/* ---- bits ------------------------------------------------------------------------------------ */

/* A row of scalars. */
typedef struct Scalars {
    RLeaves l;
    uint32_t bits; /* of each */
} Scalars;

/* n scalars, each a part of one of `from`. */
static void unpack(Scalars from, Scalars to, uint32_t n)
{
    uint32_t ratio = from.bits / to.bits;
    for (uint32_t k = 0; k < n; k++) {
        to.l.x[k] = from.l.x[k / ratio] >> (k % ratio * to.bits) & mask_bits(to.bits);
        to.l.undef[k] = from.l.undef[k / ratio];
    }
}

/* n scalars, each of several of `from`. */
static void pack(Scalars from, Scalars to, uint32_t n)
{
    uint32_t ratio = to.bits / from.bits;
    for (uint32_t k = 0; k < n; k++) {
        to.l.x[k] = to.l.undef[k] = 0;
        for (uint32_t j = 0; j < ratio; j++) {
            to.l.x[k] |= (from.l.x[k * ratio + j] & mask_bits(from.bits)) << (j * from.bits);
            to.l.undef[k] |= from.l.undef[k * ratio + j];
        }
    }
}

/* n scalars from as many bits of `from`. */
static void recast(Scalars from, Scalars to, uint32_t n)
{
    if (to.bits <= from.bits)
        unpack(from, to, n);
    else
        pack(from, to, n);
}

static const RType *flat(const RType *t)
{
    const RType *e = t && t->kind == SPV_ARRAY ? t->element : NULL;
    return e && (e->kind == SPV_INT || e->kind == SPV_FLOAT) ? e : NULL;
}

static RStep step_bitcast(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    Scalars from = { leaves_at(v, i->ops[0]), i->at->element->bits };
    recast(from, (Scalars){ leaves_at(v, i->dst), i->type->element->bits }, i->n);
    return STEP_NEXT;
}

static bool prepare_bitcast(RMachine *m, RInst *i)
{
    const RType *to = flat(i->type), *from = flat(i->at);
    bool fits = prepare_value(m, i) && to && from &&
                (uint64_t)to->bits * i->type->count == (uint64_t)from->bits * i->at->count;
    if (!fits && !m->failed)
        refuse(m, i->src, "the operand and the result are not arrays of numbers of one size");
    return fits;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static RStep step_part(RMachine *m, RInv *v, const RInst *i)
{
    uint64_t *to = leaf(v, i->dst);
    uint8_t *undef = unset(v, i->dst);
    int64_t start = sext(*leaf(v, i->ops[1]), 32);
    uint8_t at = *unset(v, i->ops[1]);
    if (at)
        matters(m, v, i, i->ops[1], 1, "is used as a start index");
    else if (start < 0)
        found(m, v, i, REF_OUT_OF_BOUNDS, "the start index %lld is negative", (long long)start);
    else if (start + i->n > i->at->count)
        found(m, v, i, REF_OUT_OF_BOUNDS,
              "elements %lld to %lld are past the end of an array of %u", (long long)start,
              (long long)(start + i->n - 1), i->at->count);
    else if (start % i->n)
        found(m, v, i, REF_RANGE,
              "the start index %lld is not a multiple of the part's length, %u (VUID-RuntimeSpirv-"
              "OpExtractSubArrayQCOM-12354)",
              (long long)start, i->n);
    for (uint32_t k = 0; k < i->n; k++) {
        bool inside = start + k >= 0 && start + k < i->at->count;
        to[k] = inside ? leaf(v, i->ops[0])[start + k] : 0;
        undef[k] = inside ? unset(v, i->ops[0])[start + k] : 0; /* told already */
    }
    return STEP_NEXT;
}

static bool prepare_part(RMachine *m, RInst *i)
{
    bool fits = prepare_value(m, i) && i->n_ops == 2 && flat(i->type) && flat(i->at) &&
                i->type->element->id == i->at->element->id &&
                operand_type(m, i, 1)->kind == SPV_INT && operand_type(m, i, 1)->bits == 32;
    if (!fits && !m->failed)
        refuse(m, i->src, "the operands are not an array of the result's elements and an index");
    if (fits && (!spv_is_listed(i->at->count, SPV_LISTED_N) ||
                 !spv_is_listed(i->type->count, SPV_LISTED_K))) {
        refuse(m, i->src,
               "a part of %u elements of an array of %u: the one must be a listed K, "
               "the other a listed N (VUID-RuntimeSpirv-KSize-12353, -NSize-12352)",
               i->type->count, i->at->count);
        fits = false;
    }
    return fits;
}

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct MatrixConversion {
    const RType *matrix, *array;
    uint32_t lanes, length; /* arrays in the matrix, components in each */
    bool by_column;
} MatrixConversion;

static size_t place_of(const MatrixConversion *x, uint32_t lane, uint32_t k)
{
    return x->by_column ? (size_t)k * x->matrix->cols + lane : (size_t)lane * x->matrix->cols + k;
}

static void check_columns(RMachine *m, RInv *v, const RInst *i)
{
    const MatrixConversion *x = i->aux;
    if (x->matrix->use == SpvCooperativeMatrixUseMatrixAccumulatorKHR && x->length != m->width &&
        x->length * 2 != m->width && x->length * 4 != m->width)
        found(m, v, i, REF_RANGE,
              "an accumulator of %u columns is converted in a subgroup of %u invocations; it must "
              "have as many columns, or half or a quarter as many",
              x->length, m->width);
}

/* A matrix that is being assembled, and one array of its components. */
typedef struct Lines {
    RLeaves whole; /* the matrix, row-major */
    RLeaves line;  /* an invocation's row or column of it */
} Lines;

/* Undefined zeros, in scratch memory. */
static Lines open_lines(RMachine *m, RInv *v, const RInst *i)
{
    const MatrixConversion *x = i->aux;
    size_t total = (size_t)x->matrix->rows * x->matrix->cols, n = total + x->length;
    check_columns(m, v, i);
    Lines w = { .whole.x = matrix_scratch(m, n * 9) };
    w.whole.undef = (uint8_t *)(w.whole.x + n);
    w.line = leaves_from(w.whole, total);
    memset(w.whole.x, 0, sizeof *w.whole.x * total);
    memset(w.whole.undef, UNSET, total);
    return w;
}

static void all_construct(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    const MatrixConversion *x = i->aux;
    Lines w = open_lines(m, set[0], i);
    for (uint32_t j = 0; j < n; j++) {
        RInv *v = set[j];
        v->steps += x->length / 4;
        if (v->lane >= x->lanes)
            continue;
        Scalars array = { leaves_at(v, i->ops[0]), x->array->element->bits };
        recast(array, (Scalars){ w.line, x->matrix->element->bits }, x->length);
        for (uint32_t k = 0; k < x->length; k++) {
            w.whole.x[place_of(x, v->lane, k)] = w.line.x[k];
            w.whole.undef[place_of(x, v->lane, k)] = w.line.undef[k];
        }
    }
    matrix_scatter(m, set, n, x->matrix, i->dst, w.whole);
}

static void all_extract(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    const MatrixConversion *x = i->aux;
    Lines w = open_lines(m, set[0], i);
    matrix_collect(m, set, n, x->matrix, i->ops[0], w.whole);
    for (uint32_t j = 0; j < n; j++) {
        RInv *v = set[j];
        bool in = v->lane < x->lanes;
        v->steps += x->length / 4;
        for (uint32_t k = 0; k < x->length; k++) {
            w.line.x[k] = in ? w.whole.x[place_of(x, v->lane, k)] : 0;
            w.line.undef[k] = in ? w.whole.undef[place_of(x, v->lane, k)] : UNSET_LANE;
        }
        Scalars line = { w.line, x->matrix->element->bits };
        recast(line, (Scalars){ leaves_at(v, i->dst), x->array->element->bits }, i->n);
    }
}

static bool prepare_conversion(RMachine *m, RInst *i)
{
    bool constructs = i->op == SpvOpCompositeConstructCoopMatQCOM;
    MatrixConversion *x = NEW(m->arena, MatrixConversion);
    if (!prepare_value(m, i))
        return false;
    x->matrix = constructs ? i->type : i->at;
    x->array = constructs ? i->at : i->type;
    bool fits = x->matrix && x->matrix->kind == SPV_COOPMAT && flat(x->array) &&
                x->matrix->scope == SpvScopeSubgroup;
    if (fits) {
        x->by_column = x->matrix->use == SpvCooperativeMatrixUseMatrixBKHR;
        x->lanes = x->by_column ? x->matrix->cols : x->matrix->rows;
        x->length = x->by_column ? x->matrix->rows : x->matrix->cols;
        fits = x->array->element->bits >= x->matrix->element->bits &&
               (uint64_t)x->array->element->bits * x->array->count ==
                   (uint64_t)x->matrix->element->bits * x->length;
    }
    if (!fits) {
        refuse(m, i->src, "the array does not fit a row (of B: a column) of the subgroup's matrix");
        return false;
    }
    if (x->matrix->use != SpvCooperativeMatrixUseMatrixAccumulatorKHR &&
        x->length * x->matrix->element->bits != 256) {
        refuse(m, i->src, "the matrix has %u %s of %u-bit components, not %u", x->length,
               x->by_column ? "rows" : "columns", x->matrix->element->bits,
               256 / x->matrix->element->bits);
        return false;
    }
    if (x->lanes > m->width) {
        refuse(m, i->src,
               "the %ux%u matrix takes %u invocations, but subgroups have %u; run it with a larger "
               "subgroup size",
               x->matrix->rows, x->matrix->cols, x->lanes, m->width);
        return false;
    }
    i->scope = SpvScopeSubgroup;
    i->aux = x;
    return true;
}

/* clang-format off */
static const ROpRow rows[] = {
    { SpvOpBitCastArrayQCOM, step_bitcast, prepare_bitcast, NULL, 0 },
    { SpvOpExtractSubArrayQCOM, step_part, prepare_part, NULL, 0 },
    { SpvOpCompositeConstructCoopMatQCOM, NULL, prepare_conversion, all_construct, OPF_WHOLE },
    { SpvOpCompositeExtractCoopMatQCOM, NULL, prepare_conversion, all_extract, OPF_WHOLE },
};
/* clang-format on */
const ROpTable ref_qcom_ops = { rows, COUNT_OF(rows) };
