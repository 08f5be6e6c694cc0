/* SPDX-License-Identifier: MIT
 *
 * SPV_QCOM_cooperative_matrix_conversion: arrays of the invocations of a subgroup to and from the
 * rows (of B: the columns) of a matrix, bit casts and parts of arrays. Sizes that specialisation
 * decides are looked at by the devices, which know them. What a lane past the matrix extracts is
 * undefined; the devices give it zero.
 */
#include "check/internal.h"

enum { MAX_SUBGROUP = 128, PACKED_LENGTH = 8 };

static const char bitcast[] = "SPV_QCOM_cooperative_matrix_conversion, OpBitCastArrayQCOM";
static const char conversions[] =
    "SPV_QCOM_cooperative_matrix_conversion, "
    "OpCompositeConstructCoopMatQCOM and OpCompositeExtractCoopMatQCOM";
#define subarray "SPV_QCOM_cooperative_matrix_conversion, OpExtractSubArrayQCOM"

/* ---- declarations ---------------------------------------------------------------------------- */

static void check_capability(Checker *c, SpvInst *i)
{
    want_capability(c, i, SpvCapabilityCooperativeMatrixConversionQCOM);
}

static void check_extension(Checker *c, SpvInst *i)
{
    want_extension(c, i, SpvCapabilityCooperativeMatrixConversionQCOM, EXTENSION_CONVERSION);
}

static void check_subgroup(Checker *c, SpvInst *i)
{
    uint32_t size = spv_n_operands(i) > 2 ? spv_operand(i, 2) : 1;
    if (spv_operand(i, 1) == SpvExecutionModeSubgroupSize && (size & (size - 1) || !size) &&
        has_capability(c, SpvCapabilityCooperativeMatrixConversionQCOM))
        broken(c, i, "subgroups of %u invocations, not a power of two", size);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* The element of a one-dimensional array, else NULL. */
static const SpvType *element_of(const SpvType *t)
{
    bool flat = t && t->kind == SPV_ARRAY && t->element &&
                (t->element->kind == SPV_INT || t->element->kind == SPV_FLOAT);
    return flat ? t->element : NULL;
}

static bool is_u32(const SpvType *t)
{
    return t->kind == SPV_INT && t->bits == 32 && !t->is_signed;
}

static bool is_ieee(const SpvType *t)
{
    return t->kind == SPV_FLOAT && t->format == SPV_IEEE && (t->bits == 16 || t->bits == 32);
}

static bool is_movable(const SpvType *t)
{
    return is_ieee(t) || (t->kind == SPV_INT && t->bits == 32);
}

static void check_movable(Checker *c, SpvInst *i)
{
    const SpvType *t[2] = { result_type(c, i), want_value(c, i, 0) };
    for (uint32_t k = 0; k < 2; k++) {
        const SpvType *e = element_of(t[k]);
        const char *what = k ? "the source" : "the result";
        if (t[k] && !e)
            broken(c, i, "%s is not a one-dimensional array", what);
        else if (e && !is_movable(e))
            broken(c, i, "the elements of %s are %s", what, type_name(c, e));
    }
}

static void check_bitcast_size(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *s = operand_type(c, i, 0);
    const SpvType *er = element_of(r), *es = element_of(s);
    if (!er || !es || !r->count_known || !s->count_known)
        return;
    uint64_t to = (uint64_t)r->count * er->bits / 8, from = (uint64_t)s->count * es->bits / 8;
    if (to != from)
        broken(c, i, "an array of %llu bytes becomes one of %llu", (unsigned long long)from,
               (unsigned long long)to);
}

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct Conversion {
    const SpvType *matrix, *array, *element;
    uint32_t lanes, length; /* of the matrix: how many arrays, how long */
    bool known;             /* the sizes are no specialisation constants */
} Conversion;

/* False where another rule reports. */
static bool conversion(Checker *c, SpvInst *i, Conversion *x)
{
    bool construct = i->op == SpvOpCompositeConstructCoopMatQCOM;
    x->matrix = construct ? result_type(c, i) : operand_type(c, i, 0);
    x->array = construct ? operand_type(c, i, 0) : result_type(c, i);
    x->element = element_of(x->array);
    if (!is_matrix(x->matrix) || !x->element || !x->matrix->element)
        return false;
    x->known = x->matrix->count_known && x->array->count_known;
    bool columns = x->matrix->use == SpvCooperativeMatrixUseMatrixBKHR;
    x->lanes = columns ? x->matrix->cols : x->matrix->rows;
    x->length = columns ? x->matrix->rows : x->matrix->cols;
    return true;
}

static bool is_accumulator(const SpvType *t)
{
    return t->use == SpvCooperativeMatrixUseMatrixAccumulatorKHR;
}

static void check_operands(Checker *c, SpvInst *i)
{
    bool construct = i->op == SpvOpCompositeConstructCoopMatQCOM;
    const SpvType *r = result_type(c, i), *s = want_value(c, i, 0);
    const SpvType *matrix = construct ? r : s, *array = construct ? s : r;
    if (!s || !r)
        return;
    if (!is_matrix(matrix))
        broken(c, i, "%s is %s, not a cooperative matrix", construct ? "the result" : "the source",
               type_name(c, matrix));
    if (!element_of(array))
        broken(c, i, "%s is not a one-dimensional array of numbers",
               construct ? "the source" : "the result");
}

static void check_scope(Checker *c, SpvInst *i)
{
    Conversion x;
    if (conversion(c, i, &x) && x.matrix->scope != SpvScopeSubgroup)
        broken(c, i, "the matrix' scope is %u, not Subgroup", x.matrix->scope);
}

static void check_component(Checker *c, SpvInst *i)
{
    Conversion x;
    if (!conversion(c, i, &x))
        return;
    const SpvType *e = x.matrix->element;
    uint32_t bits = is_accumulator(x.matrix) ? 32 : 8;
    if (!is_ieee(e) && !(e->kind == SPV_INT && e->bits == bits))
        broken(c, i, "the components are %s, not %s", type_name(c, e),
               bits == 32 ? "f32, f16, s32 or u32" : "f32, f16, s8 or u8");
}

static void check_depth(Checker *c, SpvInst *i)
{
    Conversion x;
    if (!conversion(c, i, &x) || !x.known || is_accumulator(x.matrix))
        return;
    uint32_t want = 256 / x.matrix->element->bits;
    if (x.length != want && x.matrix->element->bits <= 32)
        broken(c, i, "the matrix has %u %s of %s, not %u", x.length,
               x.matrix->use == SpvCooperativeMatrixUseMatrixBKHR ? "rows" : "columns",
               type_name(c, x.matrix->element), want);
}

static void check_element(Checker *c, SpvInst *i)
{
    Conversion x;
    if (conversion(c, i, &x) && !same_type(x.element, x.matrix->element) && !is_u32(x.element))
        broken(c, i, "an array of %s for a matrix of %s", type_name(c, x.element),
               type_name(c, x.matrix->element));
}

static void check_length(Checker *c, SpvInst *i)
{
    Conversion x;
    if (!conversion(c, i, &x) || !x.known)
        return;
    uint32_t want = x.length;
    bool packed = is_u32(x.element) && x.matrix->element->bits == 16;
    if (is_u32(x.element) && !is_accumulator(x.matrix))
        want = PACKED_LENGTH;
    else if (packed)
        want = x.length / 2;
    if (is_accumulator(x.matrix) && packed && x.length % 2)
        broken(c, i, "%u columns of f16 do not make whole words", x.length);
    else if (x.array->count != want)
        broken(c, i, "the array has %u elements, not %u", x.array->count, want);
}

static void check_columns(Checker *c, SpvInst *i)
{
    Conversion x;
    if (conversion(c, i, &x) && x.known && is_accumulator(x.matrix) && x.length & (x.length - 1))
        broken(c, i, "an accumulator of %u columns, which is no power of two", x.length);
}

static void check_lanes(Checker *c, SpvInst *i)
{
    Conversion x;
    if (!conversion(c, i, &x) || !x.known)
        return;
    uint32_t most = is_accumulator(x.matrix) ? MAX(x.lanes, x.length) : x.lanes;
    if (most > MAX_SUBGROUP)
        broken(c, i, "a %ux%u matrix is larger than any subgroup, which has at most %u invocations",
               x.matrix->rows, x.matrix->cols, (uint32_t)MAX_SUBGROUP);
}

/* ---- parts of arrays ------------------------------------------------------------------------- */

static void check_part_elements(Checker *c, SpvInst *i)
{
    const SpvType *r = element_of(result_type(c, i)), *s = element_of(operand_type(c, i, 0));
    if (r && s && !same_type(r, s))
        broken(c, i, "a part of an array of %s is one of %s", type_name(c, s), type_name(c, r));
}

/* The specification asks for a signed integer; glslang writes an unsigned one, whose bits are as
 * good. */
static void check_start(Checker *c, SpvInst *i)
{
    const SpvType *t = want_value(c, i, 1);
    if (t && (t->kind != SPV_INT || t->bits != 32))
        broken(c, i, "the start index is %s, not a 32-bit integer", type_name(c, t));
}

/* Reports a constant that the start index has in some call, if `bad` (or, where ways meet, all that
 * it may have are). */
static void judge_start(Checker *c, const SpvInst *i,
                        bool (*bad)(int32_t start, uint32_t part, uint32_t whole), const char *what)
{
    const SpvType *r = result_type(c, i), *s = operand_type(c, i, 0);
    uint64_t x;
    uint32_t n = 0, n_bad = 0;
    int32_t worst = 0;
    if (!element_of(r) || !element_of(s) || !r->count_known || !s->count_known ||
        spv_n_operands(i) < 2)
        return;
    CheckTrace t = trace(c, spv_operand(i, 1));
    for (const SpvInst *from; (from = trace_next(&t));) {
        if (from->op == SpvOpBitcast) { /* glslang casts what is unsigned */
            trace_on(&t, spv_operand(from, 0));
            continue;
        }
        n++;
        if (!spv_constant(c->m, from->id, &x) || !bad((int32_t)x, r->count, s->count))
            continue;
        n_bad++;
        worst = (int32_t)x;
    }
    if (n_bad && (!t.merged || (n_bad == n && !t.lost)))
        broken(c, i, what, worst, r->count, s->count);
}

static bool outside(int32_t start, uint32_t part, uint32_t whole)
{
    return start < 0 || (int64_t)start + part > whole;
}

static void check_inside(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *s = operand_type(c, i, 0);
    if (element_of(r) && element_of(s) && r->count_known && s->count_known && r->count > s->count)
        broken(c, i, "a part of %u elements of an array of %u", r->count, s->count);
    else
        judge_start(c, i, outside, "from start index %d, a part of %u leaves an array of %u");
}

static bool uneven(int32_t start, uint32_t part, uint32_t whole)
{
    return spv_is_listed(part, SPV_LISTED_K) && !outside(start, part, whole) &&
           start % (int64_t)part != 0;
}

static void check_step(Checker *c, SpvInst *i)
{
    judge_start(c, i, uneven, "the start index %d is not a multiple of the part's length, %u");
}

static void check_source_length(Checker *c, SpvInst *i)
{
    const SpvType *s = operand_type(c, i, 0);
    if (element_of(s) && s->count_known && !spv_is_listed(s->count, SPV_LISTED_N))
        broken(c, i, "a part of an array of %u elements, which is none of N: 8, 16, 32, 64",
               s->count);
}

static void check_part_length(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    if (element_of(r) && r->count_known && !spv_is_listed(r->count, SPV_LISTED_K))
        broken(c, i, "a part of %u elements, which is none of K: 8, 16, 32", r->count);
}

#define CONVERSIONS { SpvOpCompositeConstructCoopMatQCOM, SpvOpCompositeExtractCoopMatQCOM }
#define ALL_FOUR                                                                                   \
    { SpvOpBitCastArrayQCOM, SpvOpCompositeConstructCoopMatQCOM, SpvOpCompositeExtractCoopMatQCOM, \
      SpvOpExtractSubArrayQCOM }
static const CheckRow rows[] = {
    { { "qcom-capability", "SPV_QCOM_cooperative_matrix_conversion, Capabilities",
        "The extension's instructions need its capability." },
      ALL_FOUR,
      NULL,
      check_capability },
    { { "qcom-extension", "SPV_QCOM_cooperative_matrix_conversion, Validation Rules",
        "The capability comes with the extension." },
      { SpvOpCapability },
      NULL,
      check_extension },
    { { "qcom-subgroup-size", conversions, "The subgroup's size is a power of two." },
      { SpvOpExecutionMode },
      NULL,
      check_subgroup },
    { { "qcom-bitcast-arrays", bitcast,
        "Both are one-dimensional arrays of 32-bit integers or 16- or 32-bit IEEE floats." },
      { SpvOpBitCastArrayQCOM },
      NULL,
      check_movable },
    { { "qcom-bitcast-size", bitcast, "Both arrays have the same size." },
      { SpvOpBitCastArrayQCOM },
      NULL,
      check_bitcast_size },
    { { "qcom-operands", conversions,
        "One side is a cooperative matrix, the other a one-dimensional array of numbers; lanes "
        "past the matrix are ignored and get zero." },
      CONVERSIONS,
      NULL,
      check_operands },
    { { "qcom-scope", conversions, "The matrix is a subgroup's." },
      CONVERSIONS,
      NULL,
      check_scope },
    { { "qcom-component", conversions,
        "A and B are of f32, f16, s8 or u8; accumulators of f32, f16, s32 or u32." },
      CONVERSIONS,
      NULL,
      check_component },
    { { "qcom-depth", conversions,
        "A has as many columns, B as many rows as make 32 bytes: 8, 16 or 32." },
      CONVERSIONS,
      NULL,
      check_depth },
    { { "qcom-element", conversions, "The array is of the matrix' component type or of u32." },
      CONVERSIONS,
      NULL,
      check_element },
    { { "qcom-length", conversions,
        "The array holds one row (of B: one column), packed where it is of u32." },
      CONVERSIONS,
      NULL,
      check_length },
    { { "qcom-size", conversions,
        "The matrix has no more rows (B: columns, accumulators: either) than the subgroup has "
        "invocations." },
      CONVERSIONS,
      NULL,
      check_lanes },
    { { "qcom-columns", "GLSL_QCOM_cooperative_matrix_conversion, vectorToCoopmatQCOM",
        "An accumulator has as many columns as the subgroup has invocations, half or a quarter as "
        "many." },
      CONVERSIONS,
      NULL,
      check_columns },
    { { "qcom-subarray-arrays", subarray,
        "Both are one-dimensional arrays of 32-bit integers or 16- or 32-bit IEEE floats." },
      { SpvOpExtractSubArrayQCOM },
      NULL,
      check_movable },
    { { "qcom-subarray-elements", subarray, "Both arrays have the same element type." },
      { SpvOpExtractSubArrayQCOM },
      NULL,
      check_part_elements },
    { { "qcom-subarray-start", subarray, "The start index is a 32-bit integer, read as signed." },
      { SpvOpExtractSubArrayQCOM },
      NULL,
      check_start },
    { { "qcom-subarray-inside", subarray,
        "The start index is not negative, and the part ends within the array." },
      { SpvOpExtractSubArrayQCOM },
      NULL,
      check_inside },
    { { "qcom-subarray-step", subarray "; VUID-RuntimeSpirv-OpExtractSubArrayQCOM-12354",
        "The start index is a multiple of the part's length." },
      { SpvOpExtractSubArrayQCOM },
      NULL,
      check_step },
    { { "qcom-subarray-source", subarray "; VUID-RuntimeSpirv-NSize-12352",
        "The array has as many elements as a listed matrix has columns (N)." },
      { SpvOpExtractSubArrayQCOM },
      NULL,
      check_source_length },
    { { "qcom-subarray-part", subarray "; VUID-RuntimeSpirv-KSize-12353",
        "The part has as many elements as a listed matrix is deep (K)." },
      { SpvOpExtractSubArrayQCOM },
      NULL,
      check_part_length },
};
const CheckFamily check_qcom_conversion = { rows, COUNT_OF(rows) };
