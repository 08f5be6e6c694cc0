/* SPDX-License-Identifier: MIT
 *
 * The preamble's types and constants: each names only what was declared before it (a type may also
 * name a pointer that OpTypeForwardPointer announced), types where types belong and constants where
 * constants do, and nests no deeper than 2.17 allows. Thanks to this and the sizes checked here,
 * every later stage can safely recurse over types.
 */
#include "spirv/internal.h"

typedef struct Declare {
    SpvModule *m;
    DiagSink *sink;
    uint16_t *depth;    /* by id: nesting of types, composites and expressions */
    uint8_t *announced; /* by id: a forward pointer */
} Declare;

typedef enum Want { WANT_ANY, WANT_TYPE, WANT_CONSTANT, WANT_VALUE } Want;

static bool refuse_declaration(Declare *d, const SpvInst *i, const char *what, SpvId id)
{
    spv_error(d->m, i, d->sink, "SPIR-V 2.4", "operand %%%u (%s) %s", id,
              spv_op_name(spv_def(d->m, id)->op), what);
    return false;
}

static bool is_global_variable(const SpvInst *i)
{
    return i->op == SpvOpVariable || i->op == SpvOpUntypedVariableKHR;
}

/* Checks that an operand was declared before `i` and is of the wanted sort, and updates the
 * depth. */
static bool check_part(Declare *d, const SpvInst *i, SpvId id, Want want, uint32_t *depth)
{
    const SpvInst *def = spv_def(d->m, id);
    uint32_t flags = spv_op_info(def->op)->flags;
    if (def->index >= i->index) {
        if (want == WANT_TYPE && d->announced[id] && def->op == SpvOpTypePointer)
            return true;
        return refuse_declaration(d, i, "is not declared before it is used", id);
    }
    if (want == WANT_TYPE && !(flags & SPV_OPF_TYPE))
        return refuse_declaration(d, i, "is not a type", id);
    if (want == WANT_CONSTANT && !(flags & SPV_OPF_CONSTANT))
        return refuse_declaration(d, i, "is not a constant", id);
    if (want == WANT_VALUE && !(flags & SPV_OPF_CONSTANT) && !is_global_variable(def))
        return refuse_declaration(d, i, "is neither constant nor variable", id);
    *depth = MAX(*depth, d->depth[id]);
    return true;
}

static bool check_depth(Declare *d, const SpvInst *i, uint32_t depth, uint32_t limit)
{
    if (depth > limit) {
        spv_error(d->m, i, d->sink, "SPIR-V 2.17", "nested more than %u deep", limit);
        return false;
    }
    d->depth[i->id] = (uint16_t)depth;
    return true;
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Which sort operand number `n` (counting ids only) of a type must be. */
static Want wanted(uint16_t op, uint32_t n)
{
    switch (op) {
    case SpvOpTypeArray:
    case SpvOpTypeCooperativeMatrixKHR:
    case SpvOpTypeCooperativeMatrixNV:
    case SpvOpTypeVectorIdEXT:
    case SpvOpTypeTensorARM: return n ? WANT_CONSTANT : WANT_TYPE;
    case SpvOpTypeTensorLayoutNV:
    case SpvOpTypeTensorViewNV: return WANT_CONSTANT;
    case SpvOpTypeVector:
    case SpvOpTypeMatrix:
    case SpvOpTypeImage:
    case SpvOpTypeSampledImage:
    case SpvOpTypeRuntimeArray:
    case SpvOpTypeStruct:
    case SpvOpTypePointer:
    case SpvOpTypeFunction: return WANT_TYPE;
    default: return WANT_ANY;
    }
}

static bool bad_type(Declare *d, const SpvInst *i, const char *why)
{
    spv_error(d->m, i, d->sink, NULL, "%s", why);
    return false;
}

static bool check_number(Declare *d, const SpvInst *i)
{
    uint32_t bits = spv_operand(i, 0);
    bool whole = bits == 8 || bits == 16 || bits == 32 || bits == 64;
    if (i->op == SpvOpTypeFloat && !whole && (spv_n_operands(i) < 2 || !bits || bits > 64))
        return bad_type(d, i, "a floating-point type has 16, 32 or 64 bits");
    if (i->op == SpvOpTypeInt && (bits == 0 || bits > 4096))
        return bad_type(d, i, "an integer type has 8, 16, 32 or 64 bits");
    if (i->op == SpvOpTypeInt && spv_operand(i, 1) > 1)
        return bad_type(d, i, "the signedness is neither 0 nor 1");
    return true;
}

bool spv_has_capability(const SpvModule *m, uint32_t capability)
{
    for (const SpvInst *i = m->globals.first; i && i->op == SpvOpCapability; i = i->next)
        if (spv_operand(i, 0) == capability)
            return true;
    return false;
}

static bool check_elements(Declare *d, const SpvInst *i)
{
    const SpvType *t = spv_type(d->m, i->id);
    const SpvType *e = t->element;
    bool scalar = e && (e->kind == SPV_INT || e->kind == SPV_FLOAT);
    if (t->kind == SPV_MATRIX) {
        if (!e || e->kind != SPV_VECTOR)
            return bad_type(d, i, "a matrix has columns that are vectors");
        if (t->count < 2 || t->count > 4)
            return bad_type(d, i, "a matrix has 2, 3 or 4 columns");
    } else if (t->kind == SPV_VECTOR) {
        if (!scalar && !(e && (e->kind == SPV_BOOL || e->kind == SPV_POINTER)))
            return bad_type(d, i, "a vector's components are scalars");
        if (i->op == SpvOpTypeVector && (t->count < 2 || t->count > 16) &&
            (!t->count || !spv_has_capability(d->m, SpvCapabilityLongVectorEXT)))
            return bad_type(d, i, "a vector has 2, 3, 4, 8 or 16 components");
    } else if (t->kind == SPV_COOPMAT && !scalar) {
        return bad_type(d, i, "a cooperative matrix has components that are numbers");
    } else if (t->kind == SPV_ARRAY && !t->count &&
               !spv_is_spec_constant(d->m, spv_operand(i, 1))) {
        return bad_type(d, i, "the array's length is not an integer constant from 1 to 2^32 - 1");
    } else if ((t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY) &&
               (e->kind == SPV_VOID || e->kind == SPV_FUNCTION)) {
        return bad_type(d, i, "an array of void or of functions");
    }
    if (t->size == UINT64_MAX)
        return bad_type(d, i, "the type is too large");
    return true;
}

static bool check_type(Declare *d, const SpvInst *i)
{
    uint32_t depth = 0, n = 0;
    SpvOperand o;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        if (!o.is_id)
            continue;
        SpvId id = i->words[o.word];
        Want want = wanted(i->op, n++);
        if (i->op == SpvOpTypePointer && d->announced[i->id] && spv_def(d->m, id)->index > i->index)
            return refuse_declaration(d, i, "is not declared before it is used", id);
        if (!check_part(d, i, id, want, &depth))
            return false;
    }
    if ((i->op == SpvOpTypeInt || i->op == SpvOpTypeFloat) && !check_number(d, i))
        return false;
    return check_depth(d, i, depth + 1, SPV_MAX_TYPE_DEPTH);
}

static bool check_forward_pointer(Declare *d, const SpvInst *i)
{
    SpvId id = spv_operand(i, 0);
    if (spv_def(d->m, id)->op != SpvOpTypePointer)
        return refuse_declaration(d, i, "is not a pointer type", id);
    d->announced[id] = 1;
    return true;
}

/* ---- constants and variables ----------------------------------------------------------------- */

static Want wanted_of_constant(uint16_t op)
{
    switch (op) {
    case SpvOpConstantComposite:
    case SpvOpSpecConstantComposite:
    case SpvOpConstantCompositeReplicateEXT:
    case SpvOpSpecConstantCompositeReplicateEXT:
    case SpvOpVariable: return WANT_VALUE;
    default: return WANT_ANY;
    }
}

static bool check_value(Declare *d, const SpvInst *i)
{
    uint32_t depth = 0, unused = 0;
    SpvOperand o;
    if (i->type && !check_part(d, i, i->type, WANT_TYPE, &unused)) /* a string has no type */
        return false;
    if (i->op == SpvOpConstantFunctionPointerINTEL)
        return true;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        if (o.is_id && !check_part(d, i, i->words[o.word], wanted_of_constant(i->op), &depth))
            return false;
    bool expression = i->op == SpvOpSpecConstantOp;
    return check_depth(d, i, is_global_variable(i) ? 0 : depth + 1,
                       expression ? SPV_MAX_EXPRESSION_DEPTH
                                  : SPV_MAX_EXPRESSION_DEPTH + SPV_MAX_TYPE_DEPTH);
}

static bool check(Declare *d, const SpvInst *i)
{
    uint32_t flags = spv_op_info(i->op)->flags;
    const SpvInst *target = NULL;
    if (flags & SPV_OPF_TYPE)
        return check_type(d, i);
    if (i->op == SpvOpTypeForwardPointer)
        return check_forward_pointer(d, i);
    if (flags & SPV_OPF_CONSTANT || is_global_variable(i))
        return check_value(d, i);
    if (i->op == SpvOpLine && (target = spv_def(d->m, spv_operand(i, 0)))->op != SpvOpString)
        return refuse_declaration(d, i, "is not an OpString", target->id);
    if ((i->op == SpvOpGroupDecorate || i->op == SpvOpGroupMemberDecorate) &&
        (target = spv_def(d->m, spv_operand(i, 0)))->op != SpvOpDecorationGroup)
        return refuse_declaration(d, i, "is not an OpDecorationGroup", target->id);
    if (i->ext_set == SPV_SET_UNKNOWN && i->op == SpvOpExtInst &&
        (target = spv_def(d->m, spv_operand(i, 0)))->op != SpvOpExtInstImport)
        return refuse_declaration(d, i, "is not an OpExtInstImport", target->id);
    return true;
}

bool spv_check_declarations(SpvModule *m, DiagSink *sink)
{
    Declare d = { m, sink, NEW_ARRAY(m->arena, uint16_t, m->bound),
                  NEW_ARRAY(m->arena, uint8_t, m->bound) };
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (!check(&d, i))
            return false;
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (spv_op_info(i->op)->flags & SPV_OPF_TYPE && !check_elements(&d, i))
            return false;
    return true;
}
