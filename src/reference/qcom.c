/* SPDX-License-Identifier: MIT
 *
 * SPV_QCOM_cooperative_matrix_conversion. The subgroup's arrays become the rows (of B: the columns)
 * of a matrix and the other way round, by invocation; an array of u32 holds two or four components
 * a word, the first in its lowest bits. Lanes past the matrix are ignored, and extract zeros that
 * count as undefined. Bit casts and parts of arrays are an invocation's own affair.
 */
#include "reference/machine.h"

/* ---- bits ------------------------------------------------------------------------------------ */

/* A word is as wide as `bits`, a part a fraction of it. */
static void unpack(const uint64_t *from, const uint8_t *uf, uint32_t bits, uint64_t *to,
                   uint8_t *ut, uint32_t part, uint32_t n)
{
    uint32_t ratio = bits / part;
    for (uint32_t k = 0; k < n; k++) {
        to[k] = from[k / ratio] >> (k % ratio * part) & mask_bits(part);
        ut[k] = uf[k / ratio];
    }
}

static void pack(const uint64_t *from, const uint8_t *uf, uint32_t part, uint64_t *to, uint8_t *ut,
                 uint32_t bits, uint32_t n)
{
    uint32_t ratio = bits / part;
    for (uint32_t k = 0; k < n; k++) {
        to[k] = ut[k] = 0;
        for (uint32_t j = 0; j < ratio; j++) {
            to[k] |= (from[k * ratio + j] & mask_bits(part)) << (j * part);
            ut[k] |= uf[k * ratio + j];
        }
    }
}

/* n scalars of `to_bits` from as many bits in scalars of `bits`. */
static void recast(const uint64_t *from, const uint8_t *uf, uint32_t bits, uint64_t *to,
                   uint8_t *ut, uint32_t to_bits, uint32_t n)
{
    if (to_bits <= bits)
        unpack(from, uf, bits, to, ut, to_bits, n);
    else
        pack(from, uf, bits, to, ut, to_bits, n);
}

static const RType *flat(const RType *t)
{
    const RType *e = t && t->kind == SPV_ARRAY ? t->element : NULL;
    return e && (e->kind == SPV_INT || e->kind == SPV_FLOAT) ? e : NULL;
}

static Step bitcast(Machine *m, Inv *v, const RInst *i)
{
    (void)m;
    recast(leaf(v, i->ops[0]), unset(v, i->ops[0]), i->at->element->bits, leaf(v, i->dst),
           unset(v, i->dst), i->type->element->bits, i->n);
    return STEP_NEXT;
}

static bool prepare_bitcast(Machine *m, RInst *i)
{
    const RType *to = flat(i->type), *from = flat(i->at);
    bool fits = prepare_value(m, i) && to && from &&
                (uint64_t)to->bits * i->type->count == (uint64_t)from->bits * i->at->count;
    if (!fits && !m->failed)
        refuse(m, i->src, "the operand and the result are not arrays of numbers of one size");
    return fits;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static Step part(Machine *m, Inv *v, const RInst *i)
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
              "OpExtractSubArrayQCOM-12354)", (long long)start, i->n);
    for (uint32_t k = 0; k < i->n; k++) {
        bool inside = start + k >= 0 && start + k < i->at->count;
        to[k] = inside ? leaf(v, i->ops[0])[start + k] : 0;
        undef[k] = inside ? unset(v, i->ops[0])[start + k] : 0; /* told already */
    }
    return STEP_NEXT;
}

static bool prepare_part(Machine *m, RInst *i)
{
    bool fits = prepare_value(m, i) && i->n_ops == 2 && flat(i->type) && flat(i->at) &&
                i->type->element->id == i->at->element->id &&
                operand_type(m, i, 1)->kind == SPV_INT && operand_type(m, i, 1)->bits == 32;
    if (!fits && !m->failed)
        refuse(m, i->src, "the operands are not an array of the result's elements and an index");
    if (fits && (!spv_is_listed(i->at->count, SPV_LISTED_N) ||
                 !spv_is_listed(i->type->count, SPV_LISTED_K))) {
        refuse(m, i->src, "a part of %u elements of an array of %u: the one must be a listed K, "
               "the other a listed N (VUID-RuntimeSpirv-KSize-12353, -NSize-12352)", i->type->count,
               i->at->count);
        fits = false;
    }
    return fits;
}

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct Conversion {
    const RType *matrix, *array;
    uint32_t lanes, length; /* arrays in the matrix, components in each */
    bool by_column;
} Conversion;

static size_t place(const Conversion *x, uint32_t lane, uint32_t k)
{
    return x->by_column ? (size_t)k * x->matrix->cols + lane : (size_t)lane * x->matrix->cols + k;
}

static void check_columns(Machine *m, Inv *v, const RInst *i)
{
    const Conversion *x = i->aux;
    if (x->matrix->use == SpvCooperativeMatrixUseMatrixAccumulatorKHR && x->length != m->width &&
        x->length * 2 != m->width && x->length * 4 != m->width)
        found(m, v, i, REF_RANGE,
              "an accumulator of %u columns is converted in a subgroup of %u invocations; it must "
              "have as many columns, or half or a quarter as many",
              x->length, m->width);
}

/* A matrix of which nothing is set yet, and one array of its components. */
typedef struct Lines {
    uint64_t *x, *line;
    uint8_t *undef, *line_undef;
} Lines;

static Lines open_lines(Machine *m, Inv *v, const RInst *i)
{
    const Conversion *x = i->aux;
    size_t total = (size_t)x->matrix->rows * x->matrix->cols, n = total + x->length;
    check_columns(m, v, i);
    Lines w = { .x = matrix_scratch(m, n * 9) };
    w.line = w.x + total;
    w.undef = (uint8_t *)(w.x + n);
    w.line_undef = w.undef + total;
    memset(w.x, 0, sizeof *w.x * total);
    memset(w.undef, UNSET, total);
    return w;
}

static void construct(Machine *m, Inv **set, uint32_t n, const RInst *i)
{
    const Conversion *x = i->aux;
    const RType *t = x->matrix;
    Lines w = open_lines(m, set[0], i);
    for (uint32_t j = 0; j < n; j++) {
        Inv *v = set[j];
        v->steps += x->length / 4;
        if (v->lane >= x->lanes)
            continue;
        recast(leaf(v, i->ops[0]), unset(v, i->ops[0]), x->array->element->bits, w.line,
               w.line_undef, t->element->bits, x->length);
        for (uint32_t k = 0; k < x->length; k++) {
            w.x[place(x, v->lane, k)] = w.line[k];
            w.undef[place(x, v->lane, k)] = w.line_undef[k];
        }
    }
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t e = 0; e < t->count; e++) {
            uint32_t at = matrix_owned(m, set[j], t, e);
            leaf(set[j], i->dst)[e] = at == UINT32_MAX ? 0 : w.x[at];
            unset(set[j], i->dst)[e] = at == UINT32_MAX ? 0 : w.undef[at];
        }
}

static void extract(Machine *m, Inv **set, uint32_t n, const RInst *i)
{
    const Conversion *x = i->aux;
    const RType *t = x->matrix;
    Lines w = open_lines(m, set[0], i);
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t e = 0; e < t->count; e++) {
            uint32_t at = matrix_owned(m, set[j], t, e);
            if (at == UINT32_MAX)
                continue;
            w.x[at] = leaf(set[j], i->ops[0])[e];
            w.undef[at] = unset(set[j], i->ops[0])[e];
        }
    for (uint32_t j = 0; j < n; j++) {
        Inv *v = set[j];
        bool in = v->lane < x->lanes;
        v->steps += x->length / 4;
        for (uint32_t k = 0; k < x->length; k++) {
            w.line[k] = in ? w.x[place(x, v->lane, k)] : 0;
            w.line_undef[k] = in ? w.undef[place(x, v->lane, k)] : UNSET_LANE;
        }
        recast(w.line, w.line_undef, t->element->bits, leaf(v, i->dst), unset(v, i->dst),
               x->array->element->bits, i->n);
    }
}

static bool prepare_conversion(Machine *m, RInst *i)
{
    bool constructs = i->op == SpvOpCompositeConstructCoopMatQCOM;
    Conversion *x = NEW(m->arena, Conversion);
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
static const OpRow rows[] = {
    { SpvOpBitCastArrayQCOM, bitcast, prepare_bitcast, NULL, 0 },
    { SpvOpExtractSubArrayQCOM, part, prepare_part, NULL, 0 },
    { SpvOpCompositeConstructCoopMatQCOM, NULL, prepare_conversion, construct, OPF_WHOLE },
    { SpvOpCompositeExtractCoopMatQCOM, NULL, prepare_conversion, extract, OPF_WHOLE },
};
/* clang-format on */
const OpTable ref_qcom_ops = { rows, COUNT_OF(rows) };
