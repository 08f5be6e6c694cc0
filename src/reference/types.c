/* SPDX-License-Identifier: MIT
 *
 * Types as the interpreter needs them: specialised sizes, leaves, and one memory layout each.
 * Explicit layout decorations of a type apply in every storage class; otherwise scalars are packed
 * at their own alignment, and a bool takes 4 bytes and a pointer 16 (address and provenance; 8 if
 * pointers are physical).
 */
#include "reference/machine.h"

enum { MAX_DEPTH = 255, MAX_LEAVES = 1 << 20 };
#define MAX_SIZE (1ull << 40)

const RType *type_get(RMachine *m, SpvId id)
{
    const RType *t = id < m->bound ? m->types[id] : NULL;
    if (!t)
        refuse(m, NULL, "id %%%u is used as a type before it is declared", id);
    return t;
}

const RType *type_scalar(const RType *t)
{
    while (t->kind == SPV_VECTOR || t->kind == SPV_MATRIX || t->kind == SPV_COOPMAT)
        t = t->element;
    return t;
}

bool type_is_wide(const RType *t)
{
    return t->kind == SPV_STRUCT || t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY ||
           type_is_opaque(t);
}

bool type_is_opaque(const RType *t)
{
    return t->kind == SPV_IMAGE || t->kind == SPV_SAMPLER || t->kind == SPV_SAMPLED_IMAGE;
}

RFmt fmt_of(const RType *t)
{
    t = type_scalar(t);
    if (t->kind != SPV_FLOAT)
        return FMT_NONE;
    static const RFmt formats[] = { [SPV_BF16] = FMT_BF16, [SPV_E4M3] = FMT_E4M3,
                                    [SPV_E5M2] = FMT_E5M2, [SPV_E2M1] = FMT_E2M1,
                                    [SPV_E3M2] = FMT_E3M2, [SPV_E2M3] = FMT_E2M3,
                                    [SPV_E8M0] = FMT_E8M0, [SPV_MXINT8] = FMT_MXINT8 };
    if (spv_float_info(t->format))
        return formats[t->format];
    return t->bits == 16 ? FMT_F16 : t->bits == 32 ? FMT_F32 : FMT_F64;
}

static void set_scalar(RType *t, SpvKind kind, uint32_t bits, uint32_t size)
{
    t->kind = kind;
    t->bits = bits;
    t->size = size;
    t->align = size;
    t->leaves = 1;
}

static void define_float(RMachine *m, RType *t, SpvInst *i)
{
    uint32_t bits = spv_operand(i, 0);
    set_scalar(t, SPV_FLOAT, bits, (bits + 7) / 8);
    t->format = spv_float_format(i->words + i->first_operand, spv_n_operands(i));
    if (t->format == SPV_NO_FLOAT)
        refuse(m, i, "floats of %u bits%s are not supported", bits,
               spv_n_operands(i) > 1 ? " with this encoding" : "");
}

/* The element of an aggregate, checked; NULL after reporting. */
static const RType *element_type(RMachine *m, RType *t, SpvInst *i)
{
    const RType *e = type_get(m, spv_operand(i, 0));
    if (!e)
        return NULL;
    if (e->kind == SPV_OTHER) {
        t->kind = SPV_OTHER; /* an error where it is used */
        return NULL;
    }
    if (e->kind == SPV_VOID || e->kind == SPV_FUNCTION || e->kind == SPV_RUNTIME_ARRAY) {
        refuse(m, i, "the element type cannot be stored");
        return NULL;
    }
    if (e->depth >= MAX_DEPTH) {
        refuse(m, i, "types are nested deeper than %d", MAX_DEPTH);
        return NULL;
    }
    t->element = e;
    t->depth = e->depth + 1;
    return e;
}

static void repeat(RMachine *m, RType *t, SpvInst *i, uint64_t count, uint64_t stride)
{
    const RType *e = t->element;
    if (count > UINT32_MAX || count * e->leaves > MAX_LEAVES * 64ull || stride > MAX_SIZE ||
        (count && stride > MAX_SIZE / count)) {
        refuse(m, i, "a type of %llu elements is too large", (unsigned long long)count);
        return;
    }
    t->count = (uint32_t)count;
    t->leaves = (uint32_t)count * e->leaves;
    t->stride = stride;
    t->size = count ? MAX(count * stride, (count - 1) * stride + e->size) : 0;
    t->align = e->align;
}

static void define_vector(RMachine *m, RType *t, SpvInst *i, SpvKind kind)
{
    t->kind = kind;
    const RType *e = element_type(m, t, i);
    uint64_t count = spv_n_operands(i) > 1 ? spv_operand(i, 1) : 0;
    if (!e)
        return;
    if (i->op == SpvOpTypeVectorIdEXT && !constant_uint(m, spv_operand(i, 1), &count)) {
        refuse(m, i, "the vector's length is not a constant");
        return;
    }
    if (kind == SPV_VECTOR && e->leaves != 1) {
        refuse(m, i, "a vector's components must be scalars");
        return;
    }
    if (kind == SPV_MATRIX && e->kind != SPV_VECTOR) {
        refuse(m, i, "a matrix' columns must be vectors");
        return;
    }
    repeat(m, t, i, count, e->size);
    /* OpenCL: a vector of three takes the room of four. */
    if (m->model == SpvExecutionModelKernel && kind == SPV_VECTOR) {
        t->size = (count == 3 ? 4 : count) * e->size;
        t->align = (uint32_t)t->size;
    }
}

static void define_array(RMachine *m, RType *t, SpvInst *i)
{
    t->kind = i->op == SpvOpTypeArray ? SPV_ARRAY : SPV_RUNTIME_ARRAY;
    const RType *e = element_type(m, t, i);
    uint64_t count = 0;
    if (!e)
        return;
    if (t->kind == SPV_ARRAY && !constant_uint(m, spv_operand(i, 1), &count)) {
        refuse(m, i, "the array's length is not a constant");
        return;
    }
    uint32_t n;
    const uint32_t *stride = spv_decoration(m->module, i->id, -1, SpvDecorationArrayStride, &n);
    repeat(m, t, i, count, stride && n ? *stride : align_up(e->size, MAX(e->align, 1)));
}

static void define_struct(RMachine *m, RType *t, SpvInst *i)
{
    uint32_t n = spv_n_operands(i), leaves = 0, words;
    uint64_t at = 0;
    uint64_t *offsets = NEW_ARRAY(m->arena, uint64_t, n + 1);
    uint32_t *first = NEW_ARRAY(m->arena, uint32_t, n + 1);
    uint32_t *strides = NEW_ARRAY(m->arena, uint32_t, n + 1);
    bool *row_major = NEW_ARRAY(m->arena, bool, n + 1);
    t->kind = SPV_STRUCT;
    t->count = n;
    t->align = 1;
    t->members = NEW_ARRAY(m->arena, const RType *, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        const RType *e = type_get(m, spv_operand(i, k));
        if (!e)
            return;
        if (e->depth >= MAX_DEPTH || e->kind == SPV_VOID || e->kind == SPV_FUNCTION) {
            refuse(m, i, "member %u of the structure cannot be stored", k);
            return;
        }
        t->members[k] = e;
        t->depth = MAX(t->depth, e->depth + 1);
        const uint32_t *o =
            spv_decoration(m->module, i->id, (int32_t)k, SpvDecorationOffset, &words);
        at = o && words ? *o : align_up(at, MAX(e->align, 1));
        offsets[k] = at;
        const uint32_t *ms =
            spv_decoration(m->module, i->id, (int32_t)k, SpvDecorationMatrixStride, &words);
        strides[k] = ms && words ? *ms & 0x3fffffff : 0;
        row_major[k] = spv_has_decoration(m->module, i->id, (int32_t)k, SpvDecorationRowMajor);
        first[k] = leaves;
        leaves += e->leaves;
        uint64_t room = e->size;
        const RType *inner = e;
        while (inner->kind == SPV_ARRAY)
            inner = inner->element;
        if (strides[k] && inner->kind == SPV_MATRIX && e == inner)
            room = MAX(room, (uint64_t)strides[k] *
                                 (row_major[k] ? inner->element->count : inner->count));
        t->size = MAX(t->size, at + room);
        at += room;
        t->align = MAX(t->align, e->align);
        if (leaves > MAX_LEAVES * 64u || t->size > MAX_SIZE) {
            refuse(m, i, "the structure is too large");
            return;
        }
    }
    if (!spv_has_decoration(m->module, i->id, 0, SpvDecorationOffset))
        t->size = align_up(t->size, t->align);
    t->leaves = leaves;
    t->offsets = offsets;
    t->first_leaf = first;
    t->matrix_strides = strides;
    t->row_major = row_major;
}

static void define_coopmat(RMachine *m, RType *t, SpvInst *i)
{
    t->kind = SPV_COOPMAT;
    const RType *e = element_type(m, t, i);
    uint64_t scope = 0, rows = 0, cols = 0, use = 0;
    if (!e)
        return;
    if ((e->kind != SPV_INT && e->kind != SPV_FLOAT) ||
        !constant_uint(m, spv_operand(i, 1), &scope) ||
        !constant_uint(m, spv_operand(i, 2), &rows) ||
        !constant_uint(m, spv_operand(i, 3), &cols) || !constant_uint(m, spv_operand(i, 4), &use)) {
        refuse(m, i,
               "the cooperative matrix' component, scope, rows, columns or use is not constant");
        return;
    }
    if (!rows || !cols || MAX(rows, cols) > SPV_MATRIX_MOST || use > 2 ||
        (scope != SpvScopeSubgroup && scope != SpvScopeWorkgroup)) {
        refuse(m, i, "a %llu x %llu matrix of use %llu in scope %llu is not supported",
               (unsigned long long)rows, (unsigned long long)cols, (unsigned long long)use,
               (unsigned long long)scope);
        return;
    }
    t->rows = (uint32_t)rows;
    t->cols = (uint32_t)cols;
    t->use = (uint32_t)use;
    t->scope = (uint32_t)scope;
    uint32_t lanes = scope == SpvScopeSubgroup ? m->smallest : m->n_inv;
    repeat(m, t, i, m->probing ? 1 : (rows * cols + lanes - 1) / lanes, e->size);
}

/* A layout's fields, each by dimension, and a clamp value; a view's, and its clip (tensor.c). */
static void define_tensor(RMachine *m, RType *t, SpvInst *i)
{
    static const RType word = { .kind = SPV_INT, .bits = 32, .leaves = 1, .size = 4, .align = 4 };
    uint64_t dims = 0, x = 0, seen = 0;
    bool layout = i->op == SpvOpTypeTensorLayoutNV, sound;
    t->kind = layout ? SPV_TENSOR_LAYOUT : SPV_TENSOR_VIEW;
    sound = constant_uint(m, spv_operand(i, 0), &dims) && dims >= 1 && dims <= 5 &&
            constant_uint(m, spv_operand(i, 1), &x) &&
            (layout ? x <= SpvTensorClampModeRepeatMirrored : spv_n_operands(i) == dims + 2);
    t->dims = (uint32_t)dims;
    t->clamp = (uint32_t)x;
    t->has_dims = x;
    for (uint32_t k = 0; !layout && sound && k < dims; k++) {
        sound = constant_uint(m, spv_operand(i, k + 2), &x) && x < dims && !(seen >> x & 1);
        seen |= 1ull << (x & 63);
        t->permutation[k] = (uint8_t)x;
    }
    if (!sound) {
        refuse(m, i,
               "the tensor's dimensions, clamp mode or permutation are not constants that "
               "make sense");
        return;
    }
    t->element = &word;
    repeat(m, t, i, layout ? 5 * dims + 1 : 2 * dims + 4, word.size);
}

static void define_pointer(RMachine *m, RType *t, SpvInst *i)
{
    uint32_t n;
    t->kind = SPV_POINTER;
    t->storage = spv_operand(i, 0);
    t->pointee = spv_n_operands(i) > 1 ? spv_operand(i, 1) : 0;
    t->physical = m->physical64 || t->storage == SpvStorageClassPhysicalStorageBuffer;
    t->leaves = 2;
    t->size = t->physical ? 8 : 16;
    t->align = 8;
    const uint32_t *stride = spv_decoration(m->module, i->id, -1, SpvDecorationArrayStride, &n);
    t->stride = stride && n ? *stride : 0;
}

void type_forward(RMachine *m, SpvInst *i)
{
    SpvId id = spv_operand(i, 0);
    if (id >= m->bound || m->types[id])
        return;
    RType *t = NEW(m->arena, RType);
    t->id = id;
    t->kind = SPV_POINTER;
    t->storage = spv_operand(i, 1);
    t->physical = m->physical64 || t->storage == SpvStorageClassPhysicalStorageBuffer;
    t->leaves = 2;
    t->size = t->physical ? 8 : 16;
    t->align = 8;
    m->types[id] = t;
}

const RType *type_define(RMachine *m, SpvInst *i)
{
    /* A pointer that was declared before its pointee already exists, without the pointee. */
    RType *t =
        i->id && m->types[i->id] ? (RType *)(uintptr_t)m->types[i->id] : NEW(m->arena, RType);
    t->id = i->id;
    t->kind = SPV_OTHER;
    switch (i->op) {
    case SpvOpTypeVoid: t->kind = SPV_VOID; break;
    case SpvOpTypeBool: set_scalar(t, SPV_BOOL, 1, 4); break;
    case SpvOpTypeInt: {
        uint32_t bits = spv_operand(i, 0);
        if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
            refuse(m, i, "integers of %u bits are not supported", bits);
        set_scalar(t, SPV_INT, bits, bits / 8);
        t->is_signed = spv_operand(i, 1);
        break;
    }
    case SpvOpTypeFloat: define_float(m, t, i); break;
    case SpvOpTypeVector:
    case SpvOpTypeVectorIdEXT: define_vector(m, t, i, SPV_VECTOR); break;
    case SpvOpTypeMatrix: define_vector(m, t, i, SPV_MATRIX); break;
    case SpvOpTypeArray:
    case SpvOpTypeRuntimeArray: define_array(m, t, i); break;
    case SpvOpTypeStruct: define_struct(m, t, i); break;
    case SpvOpTypePointer:
    case SpvOpTypeUntypedPointerKHR: define_pointer(m, t, i); break;
    case SpvOpTypeFunction: t->kind = SPV_FUNCTION; break;
    case SpvOpTypeCooperativeMatrixKHR: define_coopmat(m, t, i); break;
    case SpvOpTypeTensorLayoutNV:
    case SpvOpTypeTensorViewNV: define_tensor(m, t, i); break;
    case SpvOpTypeEvent: /* of a copy that is carried out at once */
        t->kind = SPV_INT;
        t->bits = 64;
        t->leaves = 1;
        t->size = t->align = 8;
        break;
    case SpvOpTypeImage:
    case SpvOpTypeSampler:
    case SpvOpTypeSampledImage: /* in memory an ImageBinding */
        t->kind = i->op == SpvOpTypeImage     ? SPV_IMAGE
                  : i->op == SpvOpTypeSampler ? SPV_SAMPLER
                                              : SPV_SAMPLED_IMAGE;
        t->leaves = t->kind == SPV_SAMPLED_IMAGE ? 2 : 1;
        t->size = sizeof(ImageBinding);
        t->align = 8;
        break;
    default: break; /* an error where one is used */
    }
    return t;
}
