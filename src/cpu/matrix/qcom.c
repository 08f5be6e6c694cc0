/* SPDX-License-Identifier: MIT
 *
 * SPV_QCOM_cooperative_matrix_conversion: from arrays of lanes to matrices and back.
 *
 * Element k of all lanes is one vector. These vectors side by side are the column-major tile whose
 * rows are the lanes (A, accumulators), or the row-major tile whose columns are (B). A home in that
 * order, which survey.c prefers for such values, is stored and loaded vector by vector as it is;
 * any other needs a transposing copy. An element of an array of u32 holds two f16 or four bytes,
 * the first in the lowest bits. Lanes beyond the matrix are not stored, and get zeros.
 */
#include "cpu/matrix/matrix.h"

static const char section[] = "SPV_QCOM_cooperative_matrix_conversion";

/* ---- bits ------------------------------------------------------------------------------------ */

static LT lanes_like(Emit *e, LV v, LT scalar)
{
    return emit_is_lanes(v) ? emit_lanes_type(e, scalar) : scalar;
}

static LV bits_as(Emit *e, LV v, LT scalar)
{
    LT type = lanes_like(e, v, scalar);
    return LLVMTypeOf(v) == type ? v : LLVMBuildBitCast(e->b, v, type, "");
}

static LT int_type(Emit *e, uint32_t bits) { return LLVMIntTypeInContext(e->cx, bits); }

/* Part number `part` of a word, as type `to`. */
static LV part_of_word(Emit *e, LV word, uint32_t bits, uint32_t part, uint32_t to_bits, LT to)
{
    LV x = bits_as(e, word, int_type(e, bits));
    if (part)
        x = LLVMBuildLShr(e->b, x, ir_int(LLVMTypeOf(x), part * to_bits), "");
    return bits_as(e, LLVMBuildTrunc(e->b, x, lanes_like(e, x, int_type(e, to_bits)), ""), to);
}

static LV word_of_parts(Emit *e, const LV *parts, uint32_t bits, uint32_t to_bits, LT to)
{
    LV v[4]; /* both of 8 to 32 bits: see number_type */
    uint32_t n = to_bits / bits;
    memcpy(v, parts, n * sizeof(*v));
    emit_unify(e, v, n);
    LV word = NULL;
    for (uint32_t k = 0; k < n; k++) {
        LV x = bits_as(e, v[k], int_type(e, bits));
        x = LLVMBuildZExt(e->b, x, lanes_like(e, x, int_type(e, to_bits)), "");
        if (k)
            x = LLVMBuildShl(e->b, x, ir_int(LLVMTypeOf(x), k * bits), "");
        word = word ? LLVMBuildOr(e->b, word, x, "") : x;
    }
    return bits_as(e, word, to);
}

/* n values of `to_bits` and type `to`, made from the bits of others; both have 8 to 32 bits. */
static LV *recast_numbers(Emit *e, const LV *from, uint32_t bits, LT to, uint32_t to_bits,
                          uint32_t n)
{
    LV *r = NEW_ARRAY(e->arena, LV, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        if (to_bits == bits)
            r[k] = bits_as(e, from[k], to);
        else if (to_bits < bits)
            r[k] = part_of_word(e, from[k / (bits / to_bits)], bits, k % (bits / to_bits), to_bits,
                                to);
        else
            r[k] = word_of_parts(e, from + k * (to_bits / bits), bits, to_bits, to);
    }
    return r;
}

/* The element type of an array of numbers of 8 to 32 bits, else NULL. */
static const SpvType *number_type(const SpvType *t)
{
    const SpvType *x = t && t->kind == SPV_ARRAY ? t->element : NULL;
    return x && (x->kind == SPV_INT || x->kind == SPV_FLOAT) && x->bits >= 8 && x->bits <= 32
               ? x
               : NULL;
}

static LV *array_leaves(Emit *e, SpvId id, uint32_t n)
{
    LV *v = NEW_ARRAY(e->arena, LV, n + 1);
    for (uint32_t k = 0; k < n; k++)
        v[k] = emit_leaf(e, id, k);
    return v;
}

static void bitcast_array(Emit *e, const SpvInst *i)
{
    const SpvType *to = spv_type(e->module, i->type);
    const SpvType *from = spv_type_of(e->module, spv_operand(i, 0));
    const SpvType *et = number_type(to), *ef = number_type(from);
    if (!et || !ef || (uint64_t)et->bits * to->count != (uint64_t)ef->bits * from->count) {
        emit_error(e, i, section,
                   "the operand and the result are not arrays of numbers of one size");
        return;
    }
    LV *v = array_leaves(e, spv_operand(i, 0), from->count);
    emit_set(e, i, recast_numbers(e, v, ef->bits, emit_scalar_type(e, et), et->bits, to->count),
             to->count);
}

/* ---- parts of arrays ------------------------------------------------------------------------- */

/* If the start is not a constant, the array goes through memory, with lanes side by side. */
static void take_part(Emit *e, const SpvInst *i, LV *from, uint32_t n_from, LV start, uint32_t n)
{
    emit_unify(e, from, n_from);
    if (emit_is_lanes(start) && !emit_is_lanes(from[0]))
        for (uint32_t k = 0; k < n_from; k++)
            from[k] = emit_lanes(e, from[k]);
    LT type = LLVMTypeOf(from[0]);
    bool lanes = emit_is_lanes(from[0]);
    LT scalar = lanes ? LLVMGetElementType(type) : type;
    uint32_t bytes = scalar == e->i8 ? 1 : scalar == e->f16 || scalar == e->i16 ? 2 : 4;
    uint64_t line = (uint64_t)bytes * (lanes ? e->W : 1);
    LV home = lanes_frame(e, line * n_from), *r = NEW_ARRAY(e->arena, LV, n + 1);
    for (uint32_t k = 0; k < n_from; k++) {
        LV p = ir_at(e->b, home, ir_int(e->i64, k * line));
        ir_store(e->b, from[k], p, bytes);
    }
    start = emit_cast_index(e, start, e->i32);
    /* what would leave the array stays in the frame */
    LV last = ir_int(LLVMTypeOf(start), n_from - n);
    start =
        LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntULE, start, last, ""), start, last, "");
    LV offset = LLVMBuildMul(e->b, start, ir_int(LLVMTypeOf(start), line), "");
    if (emit_is_lanes(start)) {
        LV own = LLVMBuildMul(e->b, lanes_ids(e), ir_int(LLVMTypeOf(start), bytes), "");
        offset = LLVMBuildAdd(e->b, offset, own, "");
    }
    offset = LLVMBuildZExt(e->b, offset, lanes_like(e, offset, e->i64), "");
    for (uint32_t k = 0; k < n; k++) {
        LV at = ir_int(LLVMTypeOf(offset), k * line);
        LV p = ir_at(e->b, home, LLVMBuildAdd(e->b, offset, at, ""));
        if (emit_is_lanes(start)) {
            r[k] = lanes_masked_load(e, type, p, bytes, lanes_mask(e));
        } else {
            r[k] = ir_load(e->b, type, p, bytes);
        }
    }
    emit_set(e, i, r, n);
}

static void extract_sub_array(Emit *e, const SpvInst *i)
{
    const SpvType *to = spv_type(e->module, i->type);
    const SpvType *from = spv_type_of(e->module, spv_operand(i, 0));
    uint64_t start = 0;
    if (!number_type(to) || !number_type(from) || to->element != from->element ||
        to->count > from->count) {
        emit_error(e, i, section, "the result is not a part of the array");
        return;
    }
    if (!spv_is_listed(from->count, SPV_LISTED_N) || !spv_is_listed(to->count, SPV_LISTED_K)) {
        emit_error(e, i, "VUID-RuntimeSpirv-NSize-12352, VUID-RuntimeSpirv-KSize-12353",
                   "a part of %u elements of an array of %u: the one must be a listed K, the other "
                   "a listed N",
                   to->count, from->count);
        return;
    }
    LV *v = array_leaves(e, spv_operand(i, 0), from->count);
    if (!spv_constant(e->module, spv_operand(i, 1), &start)) {
        take_part(e, i, v, from->count, emit_leaf(e, spv_operand(i, 1), 0), to->count);
        return;
    }
    uint32_t first = (uint32_t)MIN((uint64_t)(uint32_t)start, from->count - to->count);
    emit_set(e, i, v + first, to->count);
}

const EmitRule qcom_array_rules[] = {
    { SpvOpBitCastArrayQCOM, EMIT_CHEAP, bitcast_array },
    { SpvOpExtractSubArrayQCOM, 0, extract_sub_array },
    { 0, 0, NULL },
};

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct QcomConversion {
    const SpvType *matrix, *array;
    uint32_t lanes, length; /* arrays that the matrix consists of, components of each */
    uint32_t bits, word;    /* of a component; of an element of an array */
    uint32_t bytes;
    bool col; /* order of the tile in which the arrays' vectors lie as they are */
    LT type;
} QcomConversion;

bool mat_qcom_order(const SpvType *t) { return t->use != SpvCooperativeMatrixUseMatrixBKHR; }

static bool open_conversion(Emit *e, const SpvInst *i, const SpvType *matrix, const SpvType *array,
                            QcomConversion *x)
{
    const SpvType *word = number_type(array);
    if (!mat_is(matrix) || !word) {
        emit_error(e, i, section, "what is converted is not an array of numbers and a matrix");
        return false;
    }
    *x = (QcomConversion){ .matrix = matrix,
                           .array = array,
                           .bits = matrix->element->bits,
                           .word = word->bits };
    x->col = mat_qcom_order(matrix);
    x->lanes = x->col ? matrix->rows : matrix->cols;
    x->length = x->col ? matrix->cols : matrix->rows;
    x->bytes = comp_bytes(mat_comp(matrix));
    x->type = comp_type(e->cx, mat_comp(matrix));
    if (x->word < x->bits || (uint64_t)x->word * array->count != (uint64_t)x->bits * x->length) {
        emit_error(e, i, section, "the array does not fit a %s of the matrix",
                   x->col ? "row" : "column");
        return false;
    }
    if (matrix->use != SpvCooperativeMatrixUseMatrixAccumulatorKHR && x->length * x->bits != 256) {
        emit_error(e, i, section, "the matrix has %u %s of %u-bit components, not %u", x->length,
                   x->col ? "columns" : "rows", x->bits, 256 / x->bits);
        return false;
    }
    if (x->lanes > e->W) {
        emit_error(e, i, section,
                   "the %ux%u matrix takes %u invocations, but subgroups have %u; run it with a "
                   "larger subgroup size",
                   matrix->rows, matrix->cols, x->lanes, e->W);
        return false;
    }
    mat_count(e, x->matrix, DEVICE_STAT_CONVERSIONS, 1);
    if (x->word != x->bits)
        mat_count(e, x->matrix, DEVICE_STAT_BYTES_MOVED, (uint64_t)x->lanes * x->length * x->bytes);
    return true;
}

/* A vector of n lanes: those of v, then zeros. */
static LV with_lanes(Emit *e, LV v, uint32_t n)
{
    uint32_t had = LLVMGetVectorSize(LLVMTypeOf(v));
    int *lanes = NEW_ARRAY(e->arena, int, n + 1);
    if (n == had)
        return v;
    for (uint32_t k = 0; k < n; k++)
        lanes[k] = (int)MIN(k, had); /* lane `had` is the first zero */
    return ir_shuffle(e->b, v, n > had ? LLVMConstNull(LLVMTypeOf(v)) : NULL, lanes, n);
}

/* The address of vector k of a dense tile, and its alignment. */
static LV line_at(Emit *e, const QcomConversion *x, const MatTile *t, uint32_t k, uint32_t *align)
{
    uint64_t line = (uint64_t)x->lanes * x->bytes;
    *align = (uint32_t)MIN(line & -line, 64);
    return ir_at(e->b, t->ptr, ir_int(e->i64, k * line));
}

/* Memory for the vectors, for a home in the other order. */
static MatTile memory_beside(Emit *e, const QcomConversion *x)
{
    return mat_dense(e, x->matrix, lanes_frame(e, mat_bytes(e, x->matrix)), x->col);
}

static void construct_from_array(Emit *e, const SpvInst *i)
{
    QcomConversion x;
    SpvId source = spv_operand(i, 0);
    if (!open_conversion(e, i, spv_type(e->module, i->type), spv_type_of(e->module, source), &x))
        return;
    LV *v = array_leaves(e, source, x.array->count);
    v = recast_numbers(e, v, x.word, x.type, x.bits, x.length);
    MatTile home = mat_result(e, i), to = home.col == x.col ? home : memory_beside(e, &x);
    for (uint32_t k = 0; k < x.length; k++) {
        uint32_t align;
        LV p = line_at(e, &x, &to, k, &align);
        LV whole = with_lanes(e, emit_lanes(e, v[k]), x.lanes);
        ir_store(e->b, whole, p, align);
    }
    if (to.ptr != home.ptr)
        mat_copy(e, x.matrix, &home, &to);
}

/* Once a kernel, because an unrolled loop repeats the instruction. */
static void note_lanes(Emit *e, const SpvInst *i, const QcomConversion *x)
{
    if (x->lanes == e->W || matrices_of(e)->noted_lanes)
        return;
    DiagLoc loc = spv_loc(e->arena, e->module, i);
    matrices_of(e)->noted_lanes = true;
    diag(e->sink, DIAG_NOTE, &loc, NULL,
         "the matrix has no %s for lanes %u to %u: they get zeros, "
         "but elsewhere undefined values",
         x->col ? "rows" : "columns", x->lanes, e->W - 1);
}

static void extract_to_array(Emit *e, const SpvInst *i)
{
    QcomConversion x;
    SpvId source = spv_operand(i, 0);
    if (!open_conversion(e, i, spv_type_of(e->module, source), spv_type(e->module, i->type), &x))
        return;
    note_lanes(e, i, &x);
    MatTile home = mat_read(e, source), from = home;
    if (home.col != x.col) {
        from = memory_beside(e, &x);
        mat_copy(e, x.matrix, &from, &home);
    }
    LV *v = NEW_ARRAY(e->arena, LV, x.length + 1);
    for (uint32_t k = 0; k < x.length; k++) {
        uint32_t align;
        LV p = line_at(e, &x, &from, k, &align);
        v[k] = ir_load(e->b, LLVMVectorType(x.type, x.lanes), p, align);
        v[k] = with_lanes(e, v[k], e->W);
    }
    LT type = emit_scalar_type(e, x.array->element);
    emit_set(e, i, recast_numbers(e, v, x.bits, type, x.word, x.array->count), x.array->count);
}

const MatRule matrix_rules_qcom[] = {
    { SpvOpCompositeConstructCoopMatQCOM, MATRIX_ALWAYS, construct_from_array },
    { SpvOpCompositeExtractCoopMatQCOM, MATRIX_ALWAYS, extract_to_array },
    { 0, 0, NULL },
};
