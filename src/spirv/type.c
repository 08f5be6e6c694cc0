/* SPDX-License-Identifier: MIT
 *
 * Types, one SpvType for each id, kept until spv_forget_types. The first request creates all of
 * them in the order of their declarations, so that a type's parts exist before it and only pointers
 * declared in advance need recursion; these get their pointee when it is declared.
 */
#include "spirv/internal.h"

static SpvType *make_type(SpvModule *m, SpvId id);

static uint64_t add_sat(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t mul_sat(uint64_t a, uint64_t b)
{
    uint64_t r;
    return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t align_sat(uint64_t x, uint64_t a)
{
    uint64_t up = add_sat(x, a - 1);
    return up == UINT64_MAX ? up : up / a * a;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static void scalar_size(SpvType *t, uint32_t bits)
{
    t->size = (bits + 7) / 8;
    t->align = is_pow2(t->size) ? (uint32_t)t->size : 1;
    t->leaves = 1;
}

static const SpvFloatInfo float_formats[] = {
    [SPV_BF16] = { "bf16", "bfloat16", SpvFPEncodingBFloat16KHR, 16, 8, 7 },
    [SPV_E4M3] = { "e4m3", "fp8e4m3", SpvFPEncodingFloat8E4M3EXT, 8, 4, 3 },
    [SPV_E5M2] = { "e5m2", "fp8e5m2", SpvFPEncodingFloat8E5M2EXT, 8, 5, 2 },
    [SPV_E2M1] = { "e2m1", "fp4e2m1", SpvFPEncodingFloat4E2M1EXT, 4, 2, 1 },
    [SPV_E3M2] = { "e3m2", "fp6e3m2", SpvFPEncodingFloat6E3M2EXT, 6, 3, 2 },
    [SPV_E2M3] = { "e2m3", "fp6e2m3", SpvFPEncodingFloat6E2M3EXT, 6, 2, 3 },
    [SPV_E8M0] = { "ue8m0", "fp8e8m0", SpvFPEncodingFloat8UnsignedE8M0EXT, 8, 0, 0 },
    [SPV_MXINT8] = { "mxint8", "mxint8", SpvFPEncodingMXInt8EXT, 8, 0, 0 },
};

const SpvFloatInfo *spv_float_info(SpvFloatFormat f)
{
    return f > SPV_IEEE && f < SPV_NO_FLOAT ? &float_formats[f] : NULL;
}

SpvFloatFormat spv_float_format(const uint32_t *operands, uint32_t n)
{
    uint32_t bits = n ? operands[0] : 0;
    if (n < 2)
        return bits == 16 || bits == 32 || bits == 64 ? SPV_IEEE : SPV_NO_FLOAT;
    for (uint32_t f = SPV_BF16; f < SPV_NO_FLOAT; f++)
        if (float_formats[f].encoding == operands[1] && float_formats[f].bits == bits)
            return (SpvFloatFormat)f;
    return SPV_NO_FLOAT;
}

bool spv_is_microscaling(const SpvType *t)
{
    return t->kind == SPV_FLOAT && t->format >= SPV_E2M1 && t->format <= SPV_MXINT8;
}

/* ---- what depends on constants --------------------------------------------------------------- */

/* A count named by a constant: its (default) value, 0 while it cannot be told. */
static uint32_t count_from(SpvModule *m, SpvId id, bool *known)
{
    uint64_t value;
    if (spv_is_spec_constant(m, id))
        *known = false;
    if (!spv_constant(m, id, &value) || value > UINT32_MAX) {
        *known = false;
        return 0;
    }
    return (uint32_t)value;
}

static void coopmat(SpvModule *m, SpvType *t, const SpvInst *i)
{
    t->count_known = true;
    t->scope = count_from(m, spv_operand(i, 1), &t->count_known);
    t->rows = count_from(m, spv_operand(i, 2), &t->count_known);
    t->cols = count_from(m, spv_operand(i, 3), &t->count_known);
    if (spv_n_operands(i) > 4)
        t->use = count_from(m, spv_operand(i, 4), &t->count_known);
    t->leaves = 1;
}

static void array(SpvModule *m, SpvType *t, const SpvInst *i)
{
    const uint32_t *stride = spv_decoration(m, i->id, -1, SpvDecorationArrayStride, NULL);
    if (stride)
        t->array_stride = *stride;
    if (t->element)
        t->align = t->element->align;
    if (i->op == SpvOpTypeRuntimeArray)
        return;
    t->count_known = true;
    t->count = count_from(m, spv_operand(i, 1), &t->count_known);
    if (!t->element)
        return;
    t->size = mul_sat(t->count, stride ? *stride : t->element->size);
    t->leaves = mul_sat(t->count, t->element->leaves);
}

static void vector(SpvModule *m, SpvType *t, const SpvInst *i)
{
    t->count_known = true;
    t->count = i->op == SpvOpTypeVectorIdEXT ? count_from(m, spv_operand(i, 1), &t->count_known)
                                             : spv_operand(i, 1);
    if (!t->element)
        return;
    t->align = t->element->align;
    t->size = mul_sat(t->count, t->element->size);
    t->leaves = mul_sat(t->count, t->element->leaves);
}

/* ---- structures ------------------------------------------------------------------------------ */

typedef struct TypeLayout {
    SpvType *t;
    uint32_t *offsets, *strides;
    bool *row_major;
    bool explicit_offsets;
} TypeLayout;

static void note_member(void *user, const SpvAnnotation *a)
{
    TypeLayout *l = user;
    if (a->member < 0 || (uint32_t)a->member >= l->t->count)
        return;
    if (a->decoration == SpvDecorationOffset && a->n) {
        l->offsets[a->member] = a->literals[0];
        l->explicit_offsets = true;
    } else if (a->decoration == SpvDecorationMatrixStride && a->n) {
        l->strides[a->member] = a->literals[0];
    } else if (a->decoration == SpvDecorationRowMajor) {
        l->row_major[a->member] = true;
    }
}

/* Size of a member: a matrix stride applies to a matrix and to arrays of them. */
static uint64_t member_size(const SpvType *t, uint32_t stride, bool row_major)
{
    if (t->kind == SPV_ARRAY && t->element && stride && !t->array_stride)
        return mul_sat(t->count, member_size(t->element, stride, row_major));
    if (t->kind != SPV_MATRIX || !stride || !t->element || !t->element->element)
        return t->size;
    uint64_t vectors = row_major ? t->element->count : t->count;
    uint64_t length = row_major ? t->count : t->element->count;
    if (!vectors)
        return 0;
    return add_sat(mul_sat(vectors - 1, stride), mul_sat(length, t->element->element->size));
}

static void structure(SpvModule *m, SpvType *t, const SpvInst *i)
{
    uint32_t n = spv_n_operands(i);
    t->count = n;
    t->members = NEW_ARRAY(m->arena, const SpvType *, n + 1);
    TypeLayout l = { t, NEW_ARRAY(m->arena, uint32_t, n + 1), NEW_ARRAY(m->arena, uint32_t, n + 1),
                     NEW_ARRAY(m->arena, bool, n + 1), false };
    for (uint32_t k = 0; k < n; k++) {
        t->members[k] = make_type(m, spv_operand(i, k));
        l.offsets[k] = UINT32_MAX;
    }
    spv_each_annotation(m, i->id, note_member, &l);
    uint64_t end = 0;
    for (uint32_t k = 0; k < n; k++) {
        const SpvType *e = t->members[k];
        if (!e)
            continue;
        uint64_t at = l.offsets[k] != UINT32_MAX ? l.offsets[k] : align_sat(end, e->align);
        end = MAX(end, add_sat(at, member_size(e, l.strides[k], l.row_major[k])));
        t->align = MAX(t->align, e->align);
        t->leaves = add_sat(t->leaves, e->leaves);
    }
    t->size = l.explicit_offsets ? end : align_sat(end, t->align);
    t->offsets = l.offsets;
    t->matrix_strides = l.strides;
    t->row_major = l.row_major;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static SpvKind kind_of(uint16_t op)
{
    switch (op) {
    case SpvOpTypeVoid: return SPV_VOID;
    case SpvOpTypeBool: return SPV_BOOL;
    case SpvOpTypeInt: return SPV_INT;
    case SpvOpTypeFloat: return SPV_FLOAT;
    case SpvOpTypeVector:
    case SpvOpTypeVectorIdEXT: return SPV_VECTOR;
    case SpvOpTypeMatrix: return SPV_MATRIX;
    case SpvOpTypeArray: return SPV_ARRAY;
    case SpvOpTypeRuntimeArray: return SPV_RUNTIME_ARRAY;
    case SpvOpTypeStruct: return SPV_STRUCT;
    case SpvOpTypePointer:
    case SpvOpTypeUntypedPointerKHR: return SPV_POINTER;
    case SpvOpTypeFunction: return SPV_FUNCTION;
    case SpvOpTypeCooperativeMatrixKHR:
    case SpvOpTypeCooperativeMatrixNV: return SPV_COOPMAT;
    case SpvOpTypeTensorLayoutNV: return SPV_TENSOR_LAYOUT;
    case SpvOpTypeTensorViewNV: return SPV_TENSOR_VIEW;
    case SpvOpTypeImage: return SPV_IMAGE;
    case SpvOpTypeSampler: return SPV_SAMPLER;
    case SpvOpTypeSampledImage: return SPV_SAMPLED_IMAGE;
    case SpvOpTypeEvent: return SPV_EVENT;
    case SpvOpTypeOpaque: return SPV_OPAQUE;
    default: return SPV_OTHER;
    }
}

static void pointer(SpvModule *m, SpvType *t, const SpvInst *i)
{
    t->storage = spv_operand(i, 0);
    t->size = t->align = 8;
    t->leaves = 1;
    const uint32_t *stride = spv_decoration(m, i->id, -1, SpvDecorationArrayStride, NULL);
    if (stride)
        t->array_stride = *stride;
    if (i->op == SpvOpTypePointer && (m->types_complete || m->types[spv_operand(i, 1)]))
        t->element = make_type(m, spv_operand(i, 1));
}

static void fill_function(SpvModule *m, SpvType *t, const SpvInst *i)
{
    t->result = make_type(m, spv_operand(i, 0));
    t->count = spv_n_operands(i) - 1;
    t->members = NEW_ARRAY(m->arena, const SpvType *, t->count + 1);
    for (uint32_t k = 0; k < t->count; k++)
        t->members[k] = make_type(m, spv_operand(i, k + 1));
}

static void fill_type(SpvModule *m, SpvType *t, const SpvInst *i)
{
    switch (t->kind) {
    case SPV_BOOL: scalar_size(t, 8); break;
    case SPV_INT:
        t->bits = spv_operand(i, 0);
        t->is_signed = spv_operand(i, 1) != 0;
        scalar_size(t, t->bits);
        break;
    case SPV_FLOAT:
        t->bits = spv_operand(i, 0);
        t->format = spv_float_format(i->words + i->first_operand, spv_n_operands(i));
        scalar_size(t, t->bits);
        break;
    case SPV_VECTOR:
    case SPV_MATRIX:
        t->element = make_type(m, spv_operand(i, 0));
        vector(m, t, i);
        break;
    case SPV_ARRAY:
    case SPV_RUNTIME_ARRAY:
        t->element = make_type(m, spv_operand(i, 0));
        array(m, t, i);
        break;
    case SPV_COOPMAT:
        t->element = make_type(m, spv_operand(i, 0));
        coopmat(m, t, i);
        break;
    case SPV_SAMPLED_IMAGE: t->element = make_type(m, spv_operand(i, 0)); break;
    case SPV_STRUCT: structure(m, t, i); break;
    case SPV_POINTER: pointer(m, t, i); break;
    case SPV_FUNCTION: fill_function(m, t, i); break;
    default: break;
    }
}

static SpvType *make_type(SpvModule *m, SpvId id)
{
    const SpvInst *i = spv_def(m, id);
    const SpvOpInfo *info = i ? spv_op_info(i->op) : NULL;
    if (!info || !(info->flags & SPV_OPF_TYPE))
        return NULL;
    SpvType *t = m->types[id];
    if (t)
        return t;
    t = m->types[id] = NEW(m->arena, SpvType);
    t->id = id;
    t->kind = kind_of(i->op);
    t->align = 1;
    fill_type(m, t, i);
    return t;
}

static void resolve(SpvModule *m, SpvType *t)
{
    const SpvInst *i = spv_def(m, t->id);
    if (i->op == SpvOpTypePointer && !t->element)
        t->element = make_type(m, spv_operand(i, 1));
}

static void make_all(SpvModule *m)
{
    m->types = NEW_ARRAY(m->arena, SpvType *, m->defs_cap);
    m->types_complete = false;
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->id && make_type(m, i->id))
            resolve(m, m->types[i->id]);
    m->types_complete = true;
}

const SpvType *spv_type(SpvModule *m, SpvId id)
{
    if (!m->types)
        make_all(m);
    SpvType *t = make_type(m, id);
    if (t)
        resolve(m, t);
    return t;
}

const SpvType *spv_type_of(SpvModule *m, SpvId value)
{
    const SpvInst *i = spv_def(m, value);
    return i && i->type ? spv_type(m, i->type) : NULL;
}

void spv_forget_types(SpvModule *m)
{
    m->types = NULL;
    m->decorations = NULL;
    m->interned = NULL;
}

uint64_t spv_type_size(const SpvType *t) { return t->size; }
