/* SPDX-License-Identifier: MIT
 *
 * Values of the code generator: constants, results of instructions, their leaves, and composites.
 *
 * A result is kept as LLVM values that are valid in the block that defined it. The target, which
 * lays out the blocks, knows what it is in other blocks.
 */
#include "emit/internal.h"
#include "llvm/ir.h"

typedef struct Entry {
    EmitValue *value;
    uint32_t block; /* position in Cfg of the block that defined it; UINT32_MAX: valid everywhere */
} Entry;

struct EmitValues {
    Entry *entries;
    uint32_t n;
    uint32_t depth;
};

void value_begin(Emit *e)
{
    e->values = NEW(e->arena, struct EmitValues);
    e->values->n = e->module->bound;
    e->values->entries = NEW_ARRAY(e->arena, Entry, e->module->bound);
}

/* ---- constants ------------------------------------------------------------------------------- */

EmitValue *emit_new_value(Emit *e, const SpvType *t)
{
    EmitValue *v = NEW(e->arena, EmitValue);
    v->type = t;
    v->n = t ? emit_n_leaves(e, t) : 0;
    v->leaf = NEW_ARRAY(e->arena, LV, v->n ? v->n : 1);
    return v;
}

static EmitValue *zero_value(Emit *e, const SpvType *t)
{
    EmitValue *v = emit_new_value(e, t);
    for (uint32_t k = 0; k < v->n; k++)
        v->leaf[k] = LLVMConstNull(emit_scalar_type(e, emit_leaf_type(e, t, k)));
    return v;
}

static LV scalar_constant(Emit *e, const SpvInst *i, const SpvType *t)
{
    uint64_t bits = spv_n_operands(i) ? spv_operand(i, 0) : 0;
    if (t->bits == 64 && spv_n_operands(i) > 1)
        bits |= (uint64_t)spv_operand(i, 1) << 32;
    if (t->bits < 64)
        bits &= ((uint64_t)1 << t->bits) - 1;
    LV v = ir_int(LLVMIntTypeInContext(e->cx, emit_scalar_bytes(e, t) * 8), bits);
    LT type = emit_scalar_type(e, t);
    return t->kind == SPV_FLOAT && type != e->i8 ? LLVMConstBitCast(v, type) : v;
}

static EmitValue *constant(Emit *e, const SpvInst *i, const SpvType *t);

static EmitValue *composite_constant(Emit *e, const SpvInst *i, const SpvType *t)
{
    EmitValue *v = zero_value(e, t);
    uint32_t at = 0, n = spv_n_operands(i);
    bool replicate = i->op == SpvOpConstantCompositeReplicateEXT ||
                     i->op == SpvOpSpecConstantCompositeReplicateEXT;
    uint32_t parts = replicate ? t->count : n;
    for (uint32_t k = 0; k < parts && n; k++) {
        SpvId part_id = spv_operand(i, replicate ? 0 : k);
        const EmitValue *part = emit_value(e, part_id);
        for (uint32_t j = 0; j < part->n && at < v->n; j++)
            v->leaf[at++] = emit_leaf(e, part_id, j);
    }
    return v;
}

/* The value of a constant; NULL if the instruction is not one. */
static EmitValue *constant(Emit *e, const SpvInst *i, const SpvType *t)
{
    EmitValue *v;
    switch (i->op) {
    case SpvOpConstantTrue:
    case SpvOpSpecConstantTrue:
        v = emit_new_value(e, t);
        v->leaf[0] = ir_int(e->i1, 1);
        return v;
    case SpvOpConstant:
    case SpvOpSpecConstant:
        v = emit_new_value(e, t);
        v->leaf[0] = scalar_constant(e, i, t);
        return v;
    case SpvOpConstantComposite:
    case SpvOpSpecConstantComposite:
    case SpvOpConstantCompositeReplicateEXT:
    case SpvOpSpecConstantCompositeReplicateEXT: return composite_constant(e, i, t);
    case SpvOpConstantFalse:
    case SpvOpSpecConstantFalse:
    case SpvOpConstantNull:
    case SpvOpUndef:
    case SpvOpPoisonKHR: return zero_value(e, t);
    default: return NULL;
    }
}

/* ---- results --------------------------------------------------------------------------------- */

EmitValue *emit_with_pointer(Emit *e, EmitValue *v)
{
    if (v->type && v->type->kind == SPV_POINTER && !v->pointer)
        v->pointer = pointer_from_leaves(e, v->type, v->leaf, v->affine);
    return v;
}

const EmitValue *emit_again(Emit *e, const SpvInst *i)
{
    Entry *n = &e->values->entries[i->id], first = *n;
    emit_inst(e, i);
    const EmitValue *v = n->value;
    *n = first;
    return v;
}

const EmitValue *emit_value(Emit *e, SpvId id)
{
    struct EmitValues *vs = e->values;
    SpvInst *i = id < vs->n ? spv_def(e->module, id) : NULL;
    if (!i) {
        emit_error(e, NULL, NULL, "%%%u is used but not defined", id);
        return zero_value(e, NULL);
    }
    Entry *n = &vs->entries[id];
    if (n->value && (n->block == UINT32_MAX || n->block == e->position))
        return n->value;
    if (n->value)
        return e->target->elsewhere(e, i, n->value);
    const SpvType *t = i->type ? spv_type(e->module, i->type) : NULL;
    if (i->op == SpvOpFunctionParameter) {
        n->value = emit_new_value(e, t);
        n->block = UINT32_MAX;
        LLVMBuilderRef b = e->b;
        e->b = e->entry_b;
        bool known = arguments_value(e, i, n->value);
        n->value = known ? emit_with_pointer(e, n->value) : NULL;
        e->b = b;
        if (known)
            return n->value;
    }
    if (!i->block && vs->depth < 200) {
        vs->depth++;
        n->value = t ? constant(e, i, t) : NULL;
        vs->depth--;
        n->block = UINT32_MAX;
        if (!n->value && i->op == SpvOpVariable) {
            n->value = emit_new_value(e, t);
            n->value->pointer = variable_pointer(e, i);
        }
        if (n->value)
            return emit_with_pointer(e, n->value);
    }
    emit_error(e, i, NULL,
               i->block ? "the value is used before it is computed"
                        : "this kind of value cannot be used in a kernel");
    n->value = t ? emit_with_pointer(e, zero_value(e, t)) : zero_value(e, NULL);
    n->block = UINT32_MAX;
    return n->value;
}

EmitAffine emit_affine(Emit *e, const EmitValue *v, uint32_t k)
{
    if (v->affine && k < v->n)
        return v->affine[k];
    if (k < v->n && v->leaf[k] && !emit_is_lanes(v->leaf[k]))
        return (EmitAffine){ .first = { v->leaf[k] }, .group = e->W };
    return (EmitAffine){ .group = 1 };
}

LV emit_leaf(Emit *e, SpvId id, uint32_t k)
{
    const EmitValue *v = emit_value(e, id);
    if (v->pointer && k < v->n && !v->leaf[0]) {
        LV leaves[3];
        emit_pointer_leaves(e, v->pointer, leaves);
        return leaves[k];
    }
    if (k < v->n)
        return v->leaf[k];
    emit_error(e, spv_def(e->module, id), NULL, "the value has %u components, number %u is used",
               v->n, k);
    return ir_int(e->i32, 0);
}

static void define(Emit *e, const SpvInst *i, EmitValue *v)
{
    e->values->entries[i->id] = (Entry){ v, e->position };
    e->target->defined(e, i, v);
    emit_with_pointer(e, v);
}

void emit_set(Emit *e, const SpvInst *i, const LV *leaves, uint32_t n)
{
    const SpvType *t = spv_type(e->module, i->type);
    EmitValue *v = emit_new_value(e, t);
    if (n != v->n)
        emit_error(e, i, NULL, "the result has %u components where its type has %u", n, v->n);
    for (uint32_t k = 0; k < v->n; k++)
        v->leaf[k] = k < n && leaves[k]
                         ? leaves[k]
                         : LLVMConstNull(emit_scalar_type(e, emit_leaf_type(e, t, k)));
    define(e, i, v);
}

void emit_set1(Emit *e, const SpvInst *i, LV leaf) { emit_set(e, i, &leaf, 1); }

void emit_set_affine(Emit *e, const SpvInst *i, const LV *leaves, uint32_t n,
                     const EmitAffine *affine)
{
    EmitValue *v = emit_new_value(e, spv_type(e->module, i->type));
    v->affine = NEW_ARRAY(e->arena, EmitAffine, v->n);
    for (uint32_t k = 0; k < v->n && k < n; k++) {
        v->leaf[k] = leaves[k];
        v->affine[k] = affine[k];
    }
    define(e, i, v);
}

void emit_set_parameter(Emit *e, const SpvInst *i, const LV *leaves)
{
    Entry *n = &e->values->entries[i->id];
    n->value = emit_new_value(e, spv_type(e->module, i->type));
    n->block = UINT32_MAX;
    memcpy(n->value->leaf, leaves, n->value->n * sizeof *leaves);
    emit_with_pointer(e, n->value);
}

void emit_set_pointer(Emit *e, const SpvInst *i, const EmitPointer *p)
{
    EmitValue *v = emit_new_value(e, spv_type(e->module, i->type));
    v->pointer = arena_copy(e->arena, p, sizeof *p);
    if (!emit_is_chain(e, i) && i->op != SpvOpVariable)
        emit_pointer_leaves(e, p, v->leaf);
    define(e, i, v);
}

/* ---- composites ------------------------------------------------------------------------------ */

void emit_each_leaf(Emit *e, const SpvInst *i, uint32_t first_operand, uint32_t n_operands,
                    EmitLeafFn *fn)
{
    const SpvType *t = spv_type(e->module, i->type);
    uint32_t n = emit_n_leaves(e, t);
    LV *result = NEW_ARRAY(e->arena, LV, n ? n : 1), operands[8];
    n_operands = MIN(n_operands, 8);
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t o = 0; o < n_operands; o++) {
            SpvId id = spv_operand(i, first_operand + o);
            operands[o] = emit_leaf(e, id, emit_value(e, id)->n == 1 ? 0 : k);
        }
        emit_unify(e, operands, n_operands);
        result[k] = fn(e, i, operands, n_operands);
    }
    emit_set(e, i, result, n);
}

typedef struct Leaves {
    LV *leaf;
    EmitAffine *affine;
    uint32_t n, cap;
} Leaves;

static Leaves new_leaves(Emit *e, uint32_t cap)
{
    return (Leaves){ NEW_ARRAY(e->arena, LV, cap ? cap : 1),
                     NEW_ARRAY(e->arena, EmitAffine, cap ? cap : 1), 0, cap };
}

static void add_leaf(Emit *e, Leaves *l, SpvId id, uint32_t k)
{
    if (l->n == l->cap)
        return;
    l->leaf[l->n] = emit_leaf(e, id, k);
    l->affine[l->n++] = emit_affine(e, emit_value(e, id), k);
}

static void set_leaves(Emit *e, const SpvInst *i, Leaves *l)
{
    for (; l->n < l->cap; l->n++)
        l->leaf[l->n] = LLVMConstNull(e->i32);
    emit_set_affine(e, i, l->leaf, l->n, l->affine);
}

static uint32_t result_leaves(Emit *e, const SpvInst *i)
{
    return emit_n_leaves(e, spv_type(e->module, i->type));
}

static void undef(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    EmitValue *v = zero_value(e, t);
    emit_set(e, i, v->leaf, v->n);
}

static void copy_object(Emit *e, const SpvInst *i)
{
    const EmitValue *v = emit_value(e, spv_operand(i, 0));
    if (v->pointer) {
        emit_set_pointer(e, i, v->pointer);
        return;
    }
    Leaves l = new_leaves(e, result_leaves(e, i));
    for (uint32_t k = 0; k < v->n; k++)
        add_leaf(e, &l, spv_operand(i, 0), k);
    set_leaves(e, i, &l);
}

static void composite_construct(Emit *e, const SpvInst *i)
{
    Leaves l = new_leaves(e, result_leaves(e, i));
    bool replicate = i->op == SpvOpCompositeConstructReplicateEXT;
    for (uint32_t o = 0; l.n < l.cap && (replicate || o < spv_n_operands(i)); o++) {
        SpvId id = spv_operand(i, replicate ? 0 : o);
        uint32_t n = emit_value(e, id)->n;
        for (uint32_t k = 0; k < n; k++)
            add_leaf(e, &l, id, k);
        if (replicate && !n)
            break;
    }
    set_leaves(e, i, &l);
}

/* Follows the literal indices from operand `from` on; returns the part's type and its first
 * leaf. */
static const SpvType *follow(Emit *e, const SpvInst *i, const SpvType *t, uint32_t from,
                             uint32_t *leaf)
{
    *leaf = 0;
    for (uint32_t o = from; o < spv_n_operands(i); o++) {
        const SpvType *part = emit_part_type(t, spv_operand(i, o));
        if (!part) {
            emit_error(e, i, NULL, "index %u is outside the composite", spv_operand(i, o));
            return NULL;
        }
        *leaf += emit_leaf_offset(e, t, spv_operand(i, o));
        t = part;
    }
    return t;
}

static void composite_extract(Emit *e, const SpvInst *i)
{
    SpvId id = spv_operand(i, 0);
    uint32_t leaf;
    const SpvType *t = follow(e, i, emit_value(e, id)->type, 1, &leaf);
    uint32_t n = t ? emit_n_leaves(e, t) : 0;
    Leaves l = new_leaves(e, result_leaves(e, i));
    for (uint32_t k = 0; k < n; k++)
        add_leaf(e, &l, id, leaf + k);
    set_leaves(e, i, &l);
}

static void composite_insert(Emit *e, const SpvInst *i)
{
    SpvId object = spv_operand(i, 0), id = spv_operand(i, 1);
    const EmitValue *v = emit_value(e, id);
    uint32_t leaf;
    const SpvType *t = follow(e, i, v->type, 2, &leaf);
    uint32_t n = t ? emit_n_leaves(e, t) : 0;
    Leaves l = new_leaves(e, v->n);
    for (uint32_t k = 0; k < v->n; k++) {
        bool inside = k >= leaf && k < leaf + n;
        add_leaf(e, &l, inside ? object : id, inside ? k - leaf : k);
    }
    set_leaves(e, i, &l);
}

static void vector_shuffle(Emit *e, const SpvInst *i)
{
    SpvId a = spv_operand(i, 0), b = spv_operand(i, 1);
    uint32_t n = emit_value(e, a)->n, m = emit_value(e, b)->n;
    Leaves l = new_leaves(e, result_leaves(e, i));
    const SpvType *t = spv_type(e->module, i->type);
    for (uint32_t o = 2; o < spv_n_operands(i); o++) {
        uint32_t c = spv_operand(i, o);
        if (c != UINT32_MAX && c < n + m)
            add_leaf(e, &l, c < n ? a : b, c < n ? c : c - n);
        else if (l.n < l.cap)
            l.leaf[l.n++] = LLVMConstNull(emit_scalar_type(e, emit_leaf_type(e, t, 0)));
    }
    set_leaves(e, i, &l);
}

static void vector_extract_dynamic(Emit *e, const SpvInst *i)
{
    const EmitValue *v = emit_value(e, spv_operand(i, 0));
    LV index = emit_leaf(e, spv_operand(i, 1), 0);
    LV result = emit_leaf(e, spv_operand(i, 0), 0);
    for (uint32_t k = 1; k < v->n; k++) {
        LV is = LLVMBuildICmp(e->b, LLVMIntEQ, index, ir_int(LLVMTypeOf(index), k), "");
        LV part[2] = { emit_leaf(e, spv_operand(i, 0), k), result };
        if (emit_is_lanes(is))
            part[0] = emit_lanes(e, part[0]);
        emit_unify(e, part, 2);
        result = LLVMBuildSelect(e->b, is, part[0], part[1], "");
    }
    emit_set1(e, i, result);
}

static void vector_insert_dynamic(Emit *e, const SpvInst *i)
{
    const EmitValue *v = emit_value(e, spv_operand(i, 0));
    LV index = emit_leaf(e, spv_operand(i, 2), 0);
    LV *result = NEW_ARRAY(e->arena, LV, v->n ? v->n : 1);
    for (uint32_t k = 0; k < v->n; k++) {
        LV is = LLVMBuildICmp(e->b, LLVMIntEQ, index, ir_int(LLVMTypeOf(index), k), "");
        LV part[2] = { emit_leaf(e, spv_operand(i, 1), 0), emit_leaf(e, spv_operand(i, 0), k) };
        if (emit_is_lanes(is))
            part[0] = emit_lanes(e, part[0]);
        emit_unify(e, part, 2);
        result[k] = LLVMBuildSelect(e->b, is, part[0], part[1], "");
    }
    emit_set(e, i, result, v->n);
}

static void select_value(Emit *e, const SpvInst *i)
{
    SpvId condition = spv_operand(i, 0);
    uint32_t n = result_leaves(e, i), conditions = emit_value(e, condition)->n;
    LV *result = NEW_ARRAY(e->arena, LV, n ? n : 1);
    for (uint32_t k = 0; k < n; k++) {
        LV c = emit_leaf(e, condition, conditions == 1 ? 0 : k);
        LV part[2] = { emit_leaf(e, spv_operand(i, 1), k), emit_leaf(e, spv_operand(i, 2), k) };
        if (emit_is_lanes(c))
            part[0] = emit_lanes(e, part[0]);
        emit_unify(e, part, 2);
        result[k] = LLVMBuildSelect(e->b, c, part[0], part[1], "");
    }
    emit_set(e, i, result, n);
}

static void transpose(Emit *e, const SpvInst *i)
{
    const SpvType *t = emit_value(e, spv_operand(i, 0))->type;
    uint32_t columns = t->count, rows = t->element ? t->element->count : 0;
    Leaves l = new_leaves(e, result_leaves(e, i));
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++)
            add_leaf(e, &l, spv_operand(i, 0), c * rows + r);
    set_leaves(e, i, &l);
}

/* Structure and hints: what a target makes of them it makes elsewhere. */
static void nothing(Emit *e, const SpvInst *i)
{
    (void)e;
    (void)i;
}

const EmitRule emit_rules_value[] = {
    { SpvOpSelectionMerge, EMIT_CHEAP, nothing },
    { SpvOpLoopMerge, EMIT_CHEAP, nothing },
    { SpvOpNop, EMIT_CHEAP, nothing },
    { SpvOpAssumeTrueKHR, EMIT_CHEAP, nothing },
    { SpvOpLifetimeStart, EMIT_CHEAP, nothing },
    { SpvOpLifetimeStop, EMIT_CHEAP, nothing },
    { SpvOpUndef, EMIT_CHEAP, undef },
    { SpvOpPoisonKHR, EMIT_CHEAP, undef },
    { SpvOpFreezeKHR, EMIT_CHEAP, copy_object },
    { SpvOpCopyObject, EMIT_CHEAP, copy_object },
    { SpvOpCopyLogical, EMIT_CHEAP, copy_object },
    { SpvOpExpectKHR, EMIT_CHEAP, copy_object },
    { SpvOpCompositeConstruct, EMIT_CHEAP, composite_construct },
    { SpvOpCompositeConstructReplicateEXT, EMIT_CHEAP, composite_construct },
    { SpvOpCompositeExtract, EMIT_CHEAP, composite_extract },
    { SpvOpCompositeInsert, EMIT_CHEAP, composite_insert },
    { SpvOpVectorShuffle, EMIT_CHEAP, vector_shuffle },
    { SpvOpVectorExtractDynamic, EMIT_CHEAP, vector_extract_dynamic },
    { SpvOpVectorInsertDynamic, EMIT_CHEAP, vector_insert_dynamic },
    { SpvOpSelect, EMIT_CHEAP, select_value },
    { SpvOpTranspose, EMIT_CHEAP, transpose },
    { 0, 0, NULL },
};
