/* SPDX-License-Identifier: MIT
 *
 * Component-wise instructions on cooperative matrices: arithmetic, conversions, times a scalar. All
 * operands are dense and brought to the result's order; then one loop over whole vectors does it,
 * the homes' padding included. Types without arithmetic of their own (bf16, fp8) go through f32.
 *
 * SPV_KHR_cooperative_matrix lists the instructions ("component-wise operations").
 */
#include "cpu/matrix/matrix.h"
#include "cpu/emit/ops.h"

typedef LV BinaryFn(LLVMBuilderRef b, LV x, LV y);

static LV iadd(LLVMBuilderRef b, LV x, LV y) { return LLVMBuildAdd(b, x, y, ""); }
static LV isub(LLVMBuilderRef b, LV x, LV y) { return LLVMBuildSub(b, x, y, ""); }
static LV imul(LLVMBuilderRef b, LV x, LV y) { return LLVMBuildMul(b, x, y, ""); }

static const struct { uint16_t op; BinaryFn *fn; LLVMOpcode of_floats; } binary[] = {
    {SpvOpIAdd, iadd, 0}, {SpvOpISub, isub, 0}, {SpvOpIMul, imul, 0},
    {SpvOpSDiv, arith_sdiv, 0}, {SpvOpUDiv, arith_udiv, 0},
    {SpvOpFAdd, NULL, LLVMFAdd}, {SpvOpFSub, NULL, LLVMFSub},
    {SpvOpFMul, NULL, LLVMFMul}, {SpvOpFDiv, NULL, LLVMFDiv},
};

typedef enum Kind { BINARY, NEGATE, SCALE, CONVERT, BITS } Kind;

typedef struct Operation {
    Kind kind;
    BinaryFn *fn;               /* BINARY, SCALE: of integers */
    LLVMOpcode of_floats;
    bool saturate;              /* CONVERT */
    bool as_signed, as_unsigned;/* CONVERT: how the operand's integers are read */
    bool to_signed;
} Operation;

static bool find(const SpvInst *i, Operation *o)
{
    *o = (Operation){.fn = imul, .of_floats = LLVMFMul};
    for (uint32_t k = 0; k < COUNT_OF(binary); k++)
        if (binary[k].op == i->op) {
            o->fn = binary[k].fn;
            o->of_floats = binary[k].of_floats;
            return true;
        }
    switch (i->op) {
    case SpvOpFNegate:
    case SpvOpSNegate: o->kind = NEGATE; return true;
    case SpvOpMatrixTimesScalar: o->kind = SCALE; return true;
    case SpvOpBitcast: o->kind = BITS; return true;
    case SpvOpFConvert: o->kind = CONVERT; return true;
    case SpvOpSConvert:
    case SpvOpConvertSToF: o->kind = CONVERT; o->as_signed = true; o->to_signed = true; return true;
    case SpvOpUConvert:
    case SpvOpConvertUToF: o->kind = CONVERT; o->as_unsigned = true; return true;
    case SpvOpConvertFToS: o->kind = CONVERT; o->to_signed = true; return true;
    case SpvOpConvertFToU: o->kind = CONVERT; return true;
    default: return false;
    }
}

/* The type arithmetic on `c` is done in. */
static Comp working(Comp c)
{
    return c == COMP_BF16 || c == COMP_E4M3 || c == COMP_E5M2 ? COMP_F32 : c;
}

static LV convert(Emit *e, LV x, Comp from, Comp to)
{
    return from == to ? x : arith_convert(e->b, x, from, to, ROUND_NEAREST, false);
}

static LV apply(Emit *e, const SpvInst *i, const Operation *o, LV x, LV y, Comp from, Comp to)
{
    Comp w = working(from);
    switch (o->kind) {
    case BINARY:
    case SCALE:
        if (!comp_is_float(from))
            return o->fn(e->b, x, y);
        x = ops_float(e, NULL, o->of_floats, convert(e, x, from, w), convert(e, y, from, w));
        return convert(e, x, w, to);
    case NEGATE:
        if (i->op == SpvOpSNegate)
            return LLVMBuildNeg(e->b, x, "");
        return convert(e, LLVMBuildFNeg(e->b, convert(e, x, from, w), ""), w, to);
    case BITS:
        return x;               /* the store gives the bits their new type */
    case CONVERT:
        if (o->as_signed || o->as_unsigned)
            from = comp_with_sign(from, o->as_signed);
        to = comp_with_sign(to, o->to_signed);
        return from == to ? x
               : arith_convert(e->b, x, from, to, ops_rounding(e, i, to), o->saturate);
    }
    return x;
}

static LV vector_at(Emit *e, const Tile *t, Comp c, uint32_t n, LV index)
{
    LV offset = LLVMBuildMul(e->b, index, ir_int(e->i64, (uint64_t)n * comp_bytes(c)), "");
    return ir_at_inbounds(e->b, t->ptr, offset);
}

static LV load_vector(Emit *e, const Tile *t, Comp c, uint32_t n, LV index)
{
    LV v = ir_load(e->b, LLVMVectorType(comp_type(e->cx, c), n), vector_at(e, t, c, n, index),
                   comp_bytes(c));
    return v;
}

static LV splat(Emit *e, LV x, Comp c, uint32_t n)
{
    LT type = comp_type(e->cx, c);
    return ir_splat(e->b, LLVMTypeOf(x) == type ? x : LLVMBuildBitCast(e->b, x, type, ""), n);
}

/* An operand in the result's order, dense: as it is, or a transposed copy. */
Tile mat_operand(Emit *e, SpvId id, bool col)
{
    Tile t = mat_read(e, id);
    if (t.col == col)
        return t;
    const SpvType *type = spv_type_of(e->module, id);
    Tile aside = mat_dense(e, type, mat_frame(e, type, mat_bytes(e, type)), col);
    mat_copy(e, type, &aside, &t);
    return aside;
}

/* matrix times a scalar that differs between lanes: each scales the elements it holds. */
static void scale_by_lane(Emit *e, const SpvInst *i, const Operation *o, LV scalar)
{
    const SpvType *t = spv_type(e->module, i->type);
    Tile from = mat_read(e, spv_operand(i, 0));
    Tile to = mat_result(e, i);
    Comp c = mat_comp(t);
    uint32_t holders = mat_holders(e, t).n, n = (t->rows * t->cols + holders - 1) / holders;
    Loop l = loop_begin(e, ir_int(e->i32, n));
    LV x = mat_element(e, t, &from, l.index);
    scalar = emit_lanes(e, scalar);
    mat_set_element(e, t, &to, l.index, apply(e, i, o, x, scalar, c, c));
    loop_end(e, &l);
}

void mat_convert(Emit *e, const SpvType *t, MatNumbers from, MatNumbers to)
{
    uint32_t n = 64 / MAX(comp_bytes(from.comp), comp_bytes(to.comp));
    uint64_t count = mat_bytes(e, t) / comp_bytes(mat_comp(t)) / n;
    Leader leader = mat_leader_begin(e, t);
    Loop l = loop_begin(e, ir_int(e->i64, count));
    LV r = convert(e, load_vector(e, &from.tile, from.comp, n, l.index), from.comp, to.comp);
    ir_store(e->b, r, vector_at(e, &to.tile, to.comp, n, l.index), comp_bytes(to.comp));
    loop_end(e, &l);
    mat_leader_end(e, &leader);
}

Tile mat_converted(Emit *e, SpvId id, const SpvType *element)
{
    const SpvType *from = spv_type_of(e->module, id);
    SpvType t = *from;
    t.element = element;
    Tile x = mat_operand(e, id, false);
    Tile to = mat_dense(e, &t, mat_frame(e, &t, mat_bytes(e, &t)), false);
    mat_convert(e, &t, (MatNumbers){ x, mat_comp(from) }, (MatNumbers){ to, mat_comp(&t) });
    return to;
}

static bool same_size(const SpvType *a, const SpvType *b)
{
    return a->rows == b->rows && a->cols == b->cols;
}

bool mat_elementwise(Emit *e, const SpvInst *i)
{
    Operation o;
    if (!find(i, &o))
        return false;
    const SpvType *t = spv_type(e->module, i->type),
                  *tx = spv_type_of(e->module, spv_operand(i, 0));
    const SpvType *ty = o.kind == BINARY ? spv_type_of(e->module, spv_operand(i, 1)) : NULL;
    Comp to_type = mat_comp(t);
    if (!mat_is(tx) || !same_size(t, tx) || (o.kind == BINARY && (!mat_is(ty) || !same_size(t, ty)))
        || (o.kind == BITS && comp_bytes(mat_comp(tx)) != comp_bytes(to_type))) {
        emit_error(e, i, "SPV_KHR_cooperative_matrix, component-wise operations",
                   "the operand is not a cooperative matrix of the result's size");
        return true;
    }
    Comp from_type = mat_comp(tx);
    LV scalar = o.kind == SCALE ? emit_leaf(e, spv_operand(i, 1), 0) : NULL;
    if (scalar && (emit_is_lanes(scalar) ||
                   (t->scope == SpvScopeWorkgroup &&
                    !e->matrix->same_in_workgroup[spv_operand(i, 1)]))) {
        scale_by_lane(e, i, &o, scalar);
        return true;
    }
    o.saturate = spv_has_decoration(e->module, i->id, -1,
                                    SpvDecorationSaturatedToLargestFloat8NormalConversionEXT) ||
                 spv_has_decoration(e->module, i->id, -1, SpvDecorationSaturatedConversion);
    bool col = mat_home(e, i->id).col;
    Tile x = mat_operand(e, spv_operand(i, 0), col),
         y = o.kind == BINARY ? mat_operand(e, spv_operand(i, 1), col) : x;
    Tile to = mat_result(e, i);
    /* would overtake its reading */
    if (x.ptr == to.ptr && comp_bytes(from_type) < comp_bytes(to_type)) {
        Tile aside = mat_dense(e, tx, mat_frame(e, tx, mat_bytes(e, tx)), col);
        mat_copy(e, tx, &aside, &x);
        x = aside;
    }
    uint32_t n = 64 / MAX(comp_bytes(from_type), comp_bytes(to_type));
    uint64_t count = mat_bytes(e, t) / comp_bytes(to_type) / n;
    Leader leader = mat_leader_begin(e, t);
    LV factor = scalar ? splat(e, scalar, from_type, n) : NULL;
    Loop l = loop_begin(e, ir_int(e->i64, count));
    LV a = load_vector(e, &x, from_type, n, l.index);
    LV b = factor ? factor : o.kind == BINARY ? load_vector(e, &y, from_type, n, l.index) : NULL;
    LV r = apply(e, i, &o, a, b, from_type, to_type);
    ir_store(e->b, r, vector_at(e, &to, to_type, n, l.index), comp_bytes(to_type));
    loop_end(e, &l);
    mat_leader_end(e, &leader);
    mat_count(e, t, DEVICE_STAT_CONVERSIONS, o.kind == CONVERT);
    return true;
}
