/* SPDX-License-Identifier: MIT
 *
 * Component-wise instructions on cooperative matrices: arithmetic, conversions, multiplication by a
 * scalar. The operands are made dense and brought to the result's order; then a loop over whole
 * vectors computes everything, the homes' padding included. Types without arithmetic of their own
 * (bf16, fp8) are computed in f32. Arithmetic whose result only the next such instruction uses is
 * put off, and computed vector by vector in that one's loop.
 *
 * SPV_KHR_cooperative_matrix lists these instructions ("component-wise operations").
 */
#include "cpu/matrix/matrix.h"

typedef LV BinaryFn(LLVMBuilderRef b, LV x, LV y);

static LV add_integers(LLVMBuilderRef b, LV x, LV y) { return LLVMBuildAdd(b, x, y, ""); }
static LV subtract_integers(LLVMBuilderRef b, LV x, LV y) { return LLVMBuildSub(b, x, y, ""); }
static LV multiply_integers(LLVMBuilderRef b, LV x, LV y) { return LLVMBuildMul(b, x, y, ""); }

typedef enum OpKind { BINARY, NEGATE, SCALE, CONVERT, BITS } OpKind;

/* How a conversion reads the operand's integers. */
typedef enum Reading { AS_TYPED, AS_SIGNED, AS_UNSIGNED } Reading;

typedef struct Operation {
    uint16_t op;
    OpKind kind;
    BinaryFn *of_integers; /* BINARY, SCALE */
    LLVMOpcode of_floats;
    Reading reading; /* CONVERT */
    bool to_signed;
} Operation;

static const Operation operations[] = {
    { .op = SpvOpIAdd, .kind = BINARY, .of_integers = add_integers },
    { .op = SpvOpISub, .kind = BINARY, .of_integers = subtract_integers },
    { .op = SpvOpIMul, .kind = BINARY, .of_integers = multiply_integers },
    { .op = SpvOpSDiv, .kind = BINARY, .of_integers = arith_sdiv },
    { .op = SpvOpUDiv, .kind = BINARY, .of_integers = arith_udiv },
    { .op = SpvOpFAdd, .kind = BINARY, .of_floats = LLVMFAdd },
    { .op = SpvOpFSub, .kind = BINARY, .of_floats = LLVMFSub },
    { .op = SpvOpFMul, .kind = BINARY, .of_floats = LLVMFMul },
    { .op = SpvOpFDiv, .kind = BINARY, .of_floats = LLVMFDiv },
    { .op = SpvOpMatrixTimesScalar,
      .kind = SCALE,
      .of_integers = multiply_integers,
      .of_floats = LLVMFMul },
    { .op = SpvOpFNegate, .kind = NEGATE },
    { .op = SpvOpSNegate, .kind = NEGATE },
    { .op = SpvOpBitcast, .kind = BITS },
    { .op = SpvOpFConvert, .kind = CONVERT },
    { .op = SpvOpSConvert, .kind = CONVERT, .reading = AS_SIGNED, .to_signed = true },
    { .op = SpvOpUConvert, .kind = CONVERT, .reading = AS_UNSIGNED },
    { .op = SpvOpConvertSToF, .kind = CONVERT, .reading = AS_SIGNED, .to_signed = true },
    { .op = SpvOpConvertUToF, .kind = CONVERT, .reading = AS_UNSIGNED },
    { .op = SpvOpConvertFToS, .kind = CONVERT, .to_signed = true },
    { .op = SpvOpConvertFToU, .kind = CONVERT },
};

/* What is done to every element. */
typedef struct Elementwise {
    const SpvInst *inst;
    const Operation *o;
    IrComp from, to;
    bool saturate; /* CONVERT */
} Elementwise;

/* What a vector of a matrix is made of: a tile's elements, one number, or parts that are computed
 * with. */
typedef struct MatOperand MatOperand;
struct MatOperand {
    MatTile tile;
    LV splat;
    const Elementwise *w;
    MatOperand *part[2];
};

/* An instruction that is left to the user of its result. */
struct MatPutOff {
    Elementwise w;
    LV scalar;      /* SCALE */
    uint32_t depth; /* how many there are on the way to a tile */
};

/* NULL: no such operation. */
static const Operation *operation_of(uint16_t op)
{
    for (uint32_t k = 0; k < COUNT_OF(operations); k++)
        if (operations[k].op == op)
            return &operations[k];
    return NULL;
}

bool mat_is_elementwise(const SpvInst *i) { return operation_of(i->op); }

/* The type that arithmetic on `c` is done in. */
static IrComp working_type(IrComp c)
{
    return c == COMP_BF16 || c == COMP_E4M3 || c == COMP_E5M2 ? COMP_F32 : c;
}

static LV convert_to(Emit *e, LV x, IrComp from, IrComp to)
{
    return ops_convert(e, x, from, to, ROUND_NEAREST, false);
}

static LV convert_as_told(Emit *e, const Elementwise *w, LV x)
{
    Reading reading = w->o->reading;
    IrComp from = reading == AS_TYPED ? w->from : comp_with_sign(w->from, reading == AS_SIGNED);
    IrComp to = comp_with_sign(w->to, w->o->to_signed);
    if (from == to)
        return x;
    return ops_convert(e, x, from, to, ops_rounding(e, w->inst, to), w->saturate);
}

static LV apply_to(Emit *e, const Elementwise *w, LV x, LV y)
{
    IrComp from = w->from, working = working_type(from);
    switch (w->o->kind) {
    case BINARY:
    case SCALE:
        if (!comp_is_float(from))
            return w->o->of_integers(e->b, x, y);
        x = ops_float(e, NULL, w->o->of_floats, convert_to(e, x, from, working),
                      convert_to(e, y, from, working));
        return convert_to(e, x, working, w->to);
    case NEGATE:
        if (w->inst->op == SpvOpSNegate)
            return LLVMBuildNeg(e->b, x, "");
        x = LLVMBuildFNeg(e->b, convert_to(e, x, from, working), "");
        return convert_to(e, x, working, w->to);
    case CONVERT: return convert_as_told(e, w, x);
    case BITS: break; /* the store gives the bits their new type */
    }
    return x;
}

static LV vector_at(Emit *e, const MatTile *t, IrComp c, uint32_t n, LV index)
{
    LV offset = LLVMBuildMul(e->b, index, ir_int(e->i64, (uint64_t)n * comp_bytes(c)), "");
    return ir_at_inbounds(e->b, t->ptr, offset);
}

static LV load_home_vector(Emit *e, const MatTile *t, IrComp c, uint32_t n, LV index)
{
    LT type = LLVMVectorType(comp_type(e->cx, c), n);
    return ir_load(e->b, type, vector_at(e, t, c, n, index), comp_bytes(c));
}

static LV splat_as(Emit *e, LV x, IrComp c, uint32_t n)
{
    LT type = comp_type(e->cx, c);
    return ir_splat(e->b, LLVMTypeOf(x) == type ? x : LLVMBuildBitCast(e->b, x, type, ""), n);
}

/* An operand in the result's order, dense: itself, or a transposed copy. */
MatTile mat_operand_rows(Emit *e, SpvId id, bool col)
{
    MatTile t = mat_read_rows(e, id);
    if (t.col == col)
        return t;
    const SpvType *type = spv_type_of(e->module, id);
    MatTile aside = mat_dense(e, type, mat_frame(e, type, mat_bytes(e, type)), col);
    mat_copy(e, type, &aside, &t);
    return aside;
}

MatTile mat_operand(Emit *e, SpvId id, bool col)
{
    MatTile t = mat_operand_rows(e, id, col);
    mat_complete(e, spv_type_of(e->module, id), &t);
    return t;
}

void mat_convert(Emit *e, const SpvType *t, MatNumbers from, MatNumbers to)
{
    uint32_t n = 64 / MAX(comp_bytes(from.comp), comp_bytes(to.comp));
    uint64_t count = mat_bytes(e, t) / comp_bytes(mat_comp(t)) / n;
    MatLeader leader = mat_leader_begin(e, t);
    EmitLoop l = loop_begin(e, ir_int(e->i64, count));
    LV r =
        convert_to(e, load_home_vector(e, &from.tile, from.comp, n, l.index), from.comp, to.comp);
    ir_store(e->b, r, vector_at(e, &to.tile, to.comp, n, l.index), comp_bytes(to.comp));
    loop_end(e, &l);
    mat_leader_end(e, &leader);
}

MatTile mat_converted(Emit *e, SpvId id, const SpvType *element)
{
    const SpvType *from = spv_type_of(e->module, id);
    SpvType t = *from;
    t.element = element;
    MatTile x = mat_operand(e, id, false);
    MatTile to = mat_dense(e, &t, mat_frame(e, &t, mat_bytes(e, &t)), false);
    mat_convert(e, &t, (MatNumbers){ x, mat_comp(from) }, (MatNumbers){ to, mat_comp(&t) });
    return to;
}

static bool is_sized_as(const SpvType *t, const SpvType *other)
{
    return mat_is(other) && t->rows == other->rows && t->cols == other->cols;
}

static bool fits_operands(Emit *e, const Elementwise *w)
{
    const SpvType *t = spv_type(e->module, w->inst->type);
    const SpvType *x = spv_type_of(e->module, spv_operand(w->inst, 0));
    if (!is_sized_as(t, x))
        return false;
    if (w->o->kind == BINARY)
        return is_sized_as(t, spv_type_of(e->module, spv_operand(w->inst, 1)));
    return w->o->kind != BITS || comp_bytes(mat_comp(x)) == comp_bytes(mat_comp(t));
}

static bool is_saturating(Emit *e, const SpvInst *i)
{
    return spv_has_decoration(e->module, i->id, -1,
                              SpvDecorationSaturatedToLargestFloat8NormalConversionEXT) ||
           spv_has_decoration(e->module, i->id, -1, SpvDecorationSaturatedConversion);
}

/* ---- operands -------------------------------------------------------------------------------- */

static const struct MatPutOff *put_off(Emit *e, SpvId id)
{
    struct MatPutOff **of = matrices_of(e)->put_off;
    return of ? of[id] : NULL;
}

static void open_parts(Emit *e, MatOperand *o, LV scalar, bool col);

static MatOperand *operand_of(Emit *e, SpvId id, bool col)
{
    MatOperand *o = NEW(e->arena, MatOperand);
    const struct MatPutOff *p = put_off(e, id);
    const MatValue *v = mat_value(e, id);
    o->w = p ? &p->w : NULL;
    if (p)
        open_parts(e, o, p->scalar, col);
    else if (v->state == MAT_SPLAT)
        o->splat = v->splat;
    else
        o->tile = mat_operand_rows(e, id, col);
    return o;
}

static void open_parts(Emit *e, MatOperand *o, LV scalar, bool col)
{
    o->part[0] = operand_of(e, spv_operand(o->w->inst, 0), col);
    if (o->w->o->kind == BINARY)
        o->part[1] = operand_of(e, spv_operand(o->w->inst, 1), col);
    if (scalar) {
        o->part[1] = NEW(e->arena, MatOperand);
        o->part[1]->splat = scalar;
    }
}

static LV compute(Emit *e, const MatOperand *o, uint32_t n, LV index);

static LV vector_of(Emit *e, const MatOperand *o, IrComp c, uint32_t n, LV index)
{
    if (!o)
        return NULL;
    return o->w       ? compute(e, o, n, index)
           : o->splat ? splat_as(e, o->splat, c, n)
                      : load_home_vector(e, &o->tile, c, n, index);
}

static LV compute(Emit *e, const MatOperand *o, uint32_t n, LV index)
{
    LV x = vector_of(e, o->part[0], o->w->from, n, index);
    return apply_to(e, o->w, x, vector_of(e, o->part[1], o->w->from, n, index));
}

/* The most rows of `most` and its tiles: i64. */
static LV most_rows(Emit *e, const MatOperand *o, const SpvType *t, LV most)
{
    if (!o || o->splat)
        return most;
    if (!o->w)
        return ir_binary(e->b, "llvm.umax", most, mat_rows(e, t, &o->tile));
    return most_rows(e, o->part[1], t, most_rows(e, o->part[0], t, most));
}

/* All its tiles get so many. */
static void need_rows(Emit *e, const MatOperand *o, LV n)
{
    if (!o)
        return;
    mat_need_rows(e, &o->tile, n);
    need_rows(e, o->part[0], n);
    need_rows(e, o->part[1], n);
}

/* i64: how many vectors of n elements are to be computed. */
static LV count_vectors(Emit *e, const MatOperand *o, const SpvType *t, const MatTile *to,
                        uint32_t n)
{
    LV all = ir_int(e->i64, mat_bytes(e, t) / comp_bytes(o->w->to) / n);
    LV wanted = ir_int(e->i64, t->rows);
    if (mat_has_rows(e, to))
        wanted = most_rows(e, o, t, ir_int(e->i64, 1));
    need_rows(e, o, wanted);
    if (!mat_has_rows(e, to))
        return all;
    mat_set_rows(e, to, wanted);
    LV elements = LLVMBuildMul(e->b, wanted, ir_int(e->i64, t->cols), "");
    elements = LLVMBuildAdd(e->b, elements, ir_int(e->i64, n - 1), "");
    return LLVMBuildUDiv(e->b, elements, ir_int(e->i64, n), "");
}

static void compute_all(Emit *e, const MatOperand *o, const MatTile *to)
{
    const Elementwise *w = o->w;
    const SpvType *t = spv_type(e->module, w->inst->type);
    uint32_t n = 64 / MAX(comp_bytes(w->from), comp_bytes(w->to));
    MatLeader leader = mat_leader_begin(e, t);
    EmitLoop l = loop_begin(e, count_vectors(e, o, t, to, n));
    ir_store(e->b, compute(e, o, n, l.index), vector_at(e, to, w->to, n, l.index),
             comp_bytes(w->to));
    loop_end(e, &l);
    mat_leader_end(e, &leader);
}

/* ---- what may wait --------------------------------------------------------------------------- */

/* Whether it writes no matrix and no memory. */
static bool is_harmless(Emit *e, const SpvInst *i)
{
    bool splat = i->op == SpvOpCompositeConstruct || i->op == SpvOpCompositeConstructReplicateEXT;
    uint32_t n;
    const uint16_t *at = mat_ids(e, i, &n);
    if (i->id && mat_is(spv_type(e->module, i->type)))
        return splat && !e->uniformity->varying[spv_operand(i, 0)] &&
               !mat_value(e, i->id)->other_blocks;
    for (uint32_t k = 0; k < n; k++)
        if (emit_has_matrix(spv_type_of(e->module, i->words[at[k]])))
            return false;
    return i->op == SpvOpLoad || spv_is_pure(i);
}

static bool is_arithmetic(const Operation *o)
{
    return o && (o->kind == BINARY || o->kind == SCALE || o->kind == NEGATE);
}

static uint32_t depth_of(Emit *e, const SpvInst *i)
{
    uint32_t n, depth = 0;
    const uint16_t *at = mat_ids(e, i, &n);
    for (uint32_t k = 0; k < n; k++) {
        const struct MatPutOff *p = put_off(e, i->words[at[k]]);
        depth = MAX(depth, p ? p->depth : 0);
    }
    return depth + 1;
}

/* Whether its result is used once, by arithmetic that follows before anything that its operands are
 * in can change. */
static bool may_wait(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    const SpvInst *user = i->next;
    enum { DEEPEST = 64 };
    if (!is_arithmetic(operation_of(i->op)) || mat_value(e, i->id)->uses != 1 ||
        t->scope == SpvScopeWorkgroup || depth_of(e, i) > DEEPEST)
        return false;
    while (user && !mat_takes(e, user, i->id) && is_harmless(e, user))
        user = user->next;
    const Operation *o = user ? operation_of(user->op) : NULL;
    return is_arithmetic(o) && mat_takes(e, user, i->id) && user->type == i->type &&
           (o->kind != SCALE || !e->uniformity->varying[spv_operand(user, 1)]);
}

static void wait_for_user(Emit *e, const Elementwise *w, LV scalar)
{
    MatEmit *m = matrices_of(e);
    if (!m->put_off)
        m->put_off = NEW_ARRAY(e->arena, struct MatPutOff *, e->module->bound);
    struct MatPutOff *p = m->put_off[w->inst->id] = NEW(e->arena, struct MatPutOff);
    *p = (struct MatPutOff){ *w, scalar, depth_of(e, w->inst) };
}

/* ---- the instructions ------------------------------------------------------------------------ */

/* An operand's elements in memory, also if it was put off. */
static MatTile settled(Emit *e, SpvId id)
{
    const struct MatPutOff *p = put_off(e, id);
    if (!p)
        return mat_read(e, id);
    MatOperand all = { .w = &p->w };
    open_parts(e, &all, p->scalar, mat_home(e, id).col);
    matrices_of(e)->put_off[id] = NULL;
    MatTile to = mat_result_rows(e, p->w.inst);
    compute_all(e, &all, &to);
    mat_complete(e, mat_value(e, id)->type, &to);
    return to;
}

/* A matrix times a scalar that differs between lanes: each lane scales the elements that it
 * holds. */
static void scale_by_lane(Emit *e, const Elementwise *w, LV scalar)
{
    const SpvType *t = spv_type(e->module, w->inst->type);
    MatTile from = settled(e, spv_operand(w->inst, 0));
    MatTile to = mat_result(e, w->inst);
    EmitLoop l = loop_begin(e, ir_int(e->i32, mat_length(e, t)));
    LV x = mat_element(e, t, &from, l.index);
    scalar = emit_lanes(e, scalar);
    mat_set_element(e, t, &to, l.index, apply_to(e, w, x, scalar));
    loop_end(e, &l);
}

static bool is_of_lanes(Emit *e, const SpvInst *i, LV scalar)
{
    bool workgroup = spv_type(e->module, i->type)->scope == SpvScopeWorkgroup;
    return emit_is_lanes(scalar) ||
           (workgroup && !matrices_of(e)->same_in_workgroup[spv_operand(i, 1)]);
}

static void elementwise(Emit *e, const SpvInst *i)
{
    Elementwise w = { .inst = i, .o = operation_of(i->op), .saturate = is_saturating(e, i) };
    const SpvType *t = spv_type(e->module, i->type);
    const SpvType *tx = spv_type_of(e->module, spv_operand(i, 0));
    if (!fits_operands(e, &w)) {
        emit_error(e, i, "SPV_KHR_cooperative_matrix, component-wise operations",
                   "the operand is not a cooperative matrix of the result's size");
        return;
    }
    w.from = mat_comp(tx);
    w.to = mat_comp(t);
    LV scalar = w.o->kind == SCALE ? emit_leaf(e, spv_operand(i, 1), 0) : NULL;
    if (scalar && is_of_lanes(e, i, scalar)) {
        scale_by_lane(e, &w, scalar);
        return;
    }
    if (may_wait(e, i)) {
        wait_for_user(e, &w, scalar);
        return;
    }
    bool col = mat_home(e, i->id).col;
    MatOperand all = { .w = &w };
    open_parts(e, &all, scalar, col);
    MatTile to = mat_result_rows(e, i), *x = &all.part[0]->tile;
    if (x->ptr == to.ptr &&
        comp_bytes(w.from) < comp_bytes(w.to)) { /* writes would overtake reads */
        MatTile aside = mat_dense(e, tx, mat_frame(e, tx, mat_bytes(e, tx)), col);
        mat_copy(e, tx, &aside, x);
        *x = aside;
    }
    compute_all(e, &all, &to);
    mat_count(e, t, DEVICE_STAT_CONVERSIONS, w.o->kind == CONVERT);
}

const MatRule matrix_rules_ops[] = {
    { SpvOpIAdd, MATRIX_RESULT, elementwise },
    { SpvOpISub, MATRIX_RESULT, elementwise },
    { SpvOpIMul, MATRIX_RESULT, elementwise },
    { SpvOpSDiv, MATRIX_RESULT, elementwise },
    { SpvOpUDiv, MATRIX_RESULT, elementwise },
    { SpvOpFAdd, MATRIX_RESULT, elementwise },
    { SpvOpFSub, MATRIX_RESULT, elementwise },
    { SpvOpFMul, MATRIX_RESULT, elementwise },
    { SpvOpFDiv, MATRIX_RESULT, elementwise },
    { SpvOpMatrixTimesScalar, MATRIX_RESULT, elementwise },
    { SpvOpFNegate, MATRIX_RESULT, elementwise },
    { SpvOpSNegate, MATRIX_RESULT, elementwise },
    { SpvOpBitcast, MATRIX_RESULT, elementwise },
    { SpvOpFConvert, MATRIX_RESULT, elementwise },
    { SpvOpSConvert, MATRIX_RESULT, elementwise },
    { SpvOpUConvert, MATRIX_RESULT, elementwise },
    { SpvOpConvertSToF, MATRIX_RESULT, elementwise },
    { SpvOpConvertUToF, MATRIX_RESULT, elementwise },
    { SpvOpConvertFToS, MATRIX_RESULT, elementwise },
    { SpvOpConvertFToU, MATRIX_RESULT, elementwise },
    { 0, 0, NULL },
};
