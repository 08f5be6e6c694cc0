/* SPDX-License-Identifier: MIT
 *
 * shader, memory: variables and accesses. Global and constant memory are storage buffers, one
 * variable for each type that a buffer is accessed by (they alias). Other variables are arrays of
 * the smallest piece that is accessed, of which larger ones are put together. What is no pointer
 * among the arguments comes from push constants.
 */
#include "pass/shader.h"

static uint64_t stride_in_memory(Shader *s, const SpvType *t)
{
    uint32_t align;
    uint64_t size = spv_opencl_size(s->m, t, &align);
    return align_up(size, align);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* The bytes of a constant as OpenCL C lays them out. */
static void constant_bytes(Shader *s, SpvId id, uint8_t *out)
{
    const SpvInst *i = spv_def(s->m, id);
    const SpvType *t = spv_type_of(s->m, id);
    if (i->op == SpvOpConstant)
        memcpy(out, i->words + i->first_operand, t->bits / 8);
    else if (i->op == SpvOpConstantTrue)
        *out = 1;
    else if (i->op == SpvOpVariable && shader_address(s, id)) /* as a pointer in memory is */
        memcpy(out + 4, &shader_address(s, id)->root->index, 4);
    if (i->op != SpvOpConstantComposite)
        return;
    for (uint32_t k = 0; k < spv_n_operands(i); k++)
        constant_bytes(s, spv_operand(i, k),
                       out + (t->kind == SPV_STRUCT ? spv_opencl_offset(s->m, t, k)
                                                    : k * stride_in_memory(s, t->element)));
}

static SpvId initialiser(Shader *s, const ShaderRoot *r, SpvId array, const SpvType *unit,
                         uint32_t n)
{
    if (spv_n_operands(r->def) < 2)
        return 0;
    SpvId from = spv_operand(r->def, 1), *parts = NEW_ARRAY(s->a, SpvId, n);
    if (spv_def(s->m, from)->op == SpvOpConstantNull)
        return spv_null_constant(s->m, array);
    uint8_t *bytes = arena_alloc(s->a, (size_t)n * unit->bits / 8 + 8);
    constant_bytes(s, from, bytes);
    for (uint32_t k = 0; k < n; k++) {
        uint64_t bits = 0;
        memcpy(&bits, bytes + (size_t)k * unit->bits / 8, unit->bits / 8);
        parts[k] = spv_number_constant(s->m, unit->id, bits);
    }
    return spv_composite_constant(s->m, array, parts, n);
}

const char *shader_text(Shader *s, SpvId pointer)
{
    const ShaderAddress *a = shader_address(s, pointer);
    const ShaderRoot *r = a ? a->root : NULL;
    if (!r || a->n || r->storage != SpvStorageClassPrivate || a->constant >= r->size)
        return NULL;
    uint8_t *bytes = arena_alloc(s->a, r->size + 1);
    constant_bytes(s, spv_operand(r->def, 1), bytes);
    return (const char *)bytes + a->constant;
}

static SpvId new_variable(Shader *s, uint32_t storage, SpvId type, SpvId init)
{
    SpvId pointer = spv_pointer_type(s->m, storage, type);
    uint32_t operands[] = { storage, init }, n = init ? 2 : 1;
    if (storage != SpvStorageClassFunction) {
        SpvId id = shader_global(s, SpvOpVariable, pointer, operands, n);
        vec_push(s->a, &s->interface, id);
        return id;
    }
    SpvInst *v = spv_make(s->m, SpvOpVariable, pointer, spv_new_id(s->m), operands, n);
    spv_insert_after(s->f->first->insts.first, v);
    return v->id;
}

static SpvId new_array(Shader *s, SpvId element, SpvId length, uint32_t stride)
{
    SpvId id = length ? shader_global(s, SpvOpTypeArray, 0, (uint32_t[]){ element, length }, 2)
                      : shader_global(s, SpvOpTypeRuntimeArray, 0, &element, 1);
    if (stride)
        shader_decorate(s, id, SpvDecorationArrayStride, stride, 1);
    return id;
}

static SpvId new_block(Shader *s, const SpvId *members, const uint32_t *offsets, uint32_t n)
{
    SpvId id = shader_global(s, SpvOpTypeStruct, 0, members, n);
    shader_decorate(s, id, SpvDecorationBlock, 0, 0);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t words[] = { id, k, SpvDecorationOffset, offsets[k] };
        spv_append_global(s->m, spv_make(s->m, SpvOpMemberDecorate, 0, 0, words, 4));
    }
    return id;
}

static SpvId new_buffer(Shader *s, const ShaderRoot *r, SpvId element, uint32_t bytes)
{
    SpvId array = new_array(s, element, 0, bytes);
    SpvId block = new_block(s, &array, (uint32_t[1]){ 0 }, 1);
    SpvId v = new_variable(s, SpvStorageClassStorageBuffer, block, 0);
    shader_decorate(s, v, SpvDecorationDescriptorSet, 0, 1);
    shader_decorate(s, v, SpvDecorationBinding, r->number, 1);
    if (!r->written)
        shader_decorate(s, v, SpvDecorationNonWritable, 0, 0);
    return v;
}

/* Bytes of a workgroup argument that is no multiple of its unit: the rest is left out. */
static SpvId caller_length(Shader *s, ShaderRoot *r, uint32_t bytes)
{
    enum { DEFAULT_BYTES = 4096 };
    SpvId size = shader_spec(s, 4 + r->number, DEFAULT_BYTES);
    if (bytes == 1)
        return size;
    uint32_t operands[] = { SpvOpUDiv, size, shader_u32(s, bytes) };
    return shader_global(s, SpvOpSpecConstantOp, s->u32, operands, 3);
}

SpvId shader_workgroup_array(Shader *s, SpvId element, SpvId length)
{
    return new_variable(s, SpvStorageClassWorkgroup, new_array(s, element, length, 0), 0);
}

static ShaderView *new_view(Shader *s, ShaderRoot *r, const SpvType *t)
{
    uint32_t count = t->kind == SPV_VECTOR ? t->count : 1, bits = shader_scalar(t)->bits;
    uint32_t bytes = count * bits / 8, n = (uint32_t)((r->size + bytes - 1) / bytes);
    ShaderView v = { .type = t->id, .bits = bits, .count = count };
    if (r->storage == SpvStorageClassStorageBuffer) {
        v.variable = new_buffer(s, r, t->id, bytes);
    } else if (r->storage == SpvStorageClassPushConstant) {
        v.variable = s->push;
    } else {
        SpvId length = n ? shader_u32(s, n) : caller_length(s, r, bytes);
        SpvId array = new_array(s, t->id, length, 0);
        SpvId init = r->storage == SpvStorageClassPrivate ? initialiser(s, r, array, t, n) : 0;
        v.variable = new_variable(s, r->storage, array, init);
    }
    vec_push(s->a, &r->views, v);
    return &vec_last(&r->views);
}

/* What to access a scalar or vector through: in a buffer it has the type's size (exact: it is that
 * type), elsewhere it may be smaller. */
static ShaderView *view_of(Shader *s, ShaderRoot *r, const SpvType *t, bool exact)
{
    bool buffer = r->storage == SpvStorageClassStorageBuffer;
    uint32_t count = t->kind == SPV_VECTOR ? t->count : 1;
    for (uint32_t k = 0; k < r->views.len; k++) {
        ShaderView *v = &r->views.data[k];
        bool same = v->bits == shader_scalar(t)->bits && v->count == count;
        if (!buffer || v->type == t->id || (same && !exact))
            return v;
    }
    return new_view(s, r, buffer ? t : spv_type(s->m, r->unit_type));
}

/* ---- push constants -------------------------------------------------------------------------- */

static SpvId member_type(Shader *s, const SpvArgument *a, const ShaderRoot *r)
{
    const SpvType *t = a->type;
    bool wide = t->kind == SPV_VECTOR && t->count > 4;
    if (!a->by_reference && !wide)
        return t->id;
    SpvId unit = wide ? t->element->id : r->unit ? r->unit_type : s->u32;
    uint32_t bytes = spv_type(s->m, unit)->bits / 8;
    return new_array(s, unit, shader_u32(s, (uint32_t)(a->size + bytes - 1) / bytes), bytes);
}

static void open_push_constants(Shader *s)
{
    struct ShaderMemory *y = s->memory;
    VEC(SpvId) types = { 0 };
    VEC(uint32_t) offsets = { 0 };
    uint64_t at = 0;
    for (uint32_t k = 0; k < y->arguments.n; k++) {
        const SpvArgument *a = &y->arguments.list[k];
        ShaderRoot *r = shader_address(s, a->id) ? shader_address(s, a->id)->root : NULL;
        if (a->kind != SPV_ARGUMENT_VALUE)
            continue;
        at = align_up(at, a->align);
        if (r)
            r->member = types.len;
        vec_push(s->a, &types, member_type(s, a, r));
        vec_push(s->a, &offsets, (uint32_t)at);
        at += a->size;
    }
    if (!types.len)
        return;
    SpvId block = new_block(s, types.data, offsets.data, types.len);
    s->push = new_variable(s, SpvStorageClassPushConstant, block, 0);
}

static SpvId push_pointer(Shader *s, SpvId type, uint32_t member, SpvId index)
{
    SpvId pointer = spv_pointer_type(s->m, SpvStorageClassPushConstant, type);
    uint32_t operands[] = { s->push, shader_u32(s, member), index };
    return shader_emit(s, SpvOpAccessChain, pointer, operands, index ? 3 : 2);
}

/* The values of the arguments that are no pointers. */
void shader_open_memory(Shader *s)
{
    struct ShaderMemory *y = s->memory;
    uint32_t member = 0;
    open_push_constants(s);
    for (uint32_t k = 0; k < y->arguments.n; k++) {
        const SpvArgument *a = &y->arguments.list[k];
        const SpvType *t = a->type;
        if (a->kind != SPV_ARGUMENT_VALUE)
            continue;
        uint32_t at = member++;
        if (a->by_reference)
            continue;
        if (t->kind != SPV_VECTOR || t->count <= 4) {
            s->with[a->id] = EMIT(s, SpvOpLoad, t->id, push_pointer(s, t->id, at, 0));
            continue;
        }
        SpvId parts[16];
        for (uint32_t j = 0; j < t->count; j++)
            parts[j] = EMIT(s, SpvOpLoad, t->element->id,
                            push_pointer(s, t->element->id, at, shader_u32(s, j)));
        s->with[a->id] = shader_emit(s, SpvOpCompositeConstruct, t->id, parts, t->count);
    }
}

/* ---- accesses -------------------------------------------------------------------------------- */

typedef struct MemoryAccess {
    Shader *s;
    const SpvInst *inst;
    ShaderAddress place;
    uint32_t mask; /* memory operands */
} MemoryAccess;

static bool open_access(Shader *s, const SpvInst *i, SpvId pointer, uint32_t mask,
                        MemoryAccess *out)
{
    const ShaderAddress *a = shader_address(s, pointer);
    if (!a || !a->root)
        return shader_refuse(s, i, "an access through a null pointer");
    *out = (MemoryAccess){ s, i, *a, mask & SpvMemoryAccessVolatileMask };
    if (s->matrices && a->root->storage != SpvStorageClassFunction &&
        a->root->storage != SpvStorageClassPrivate &&
        a->root->storage != SpvStorageClassPushConstant)
        out->mask |= SpvMemoryAccessNonPrivatePointerMask;
    return true;
}

static SpvId element_pointer(const MemoryAccess *x, const ShaderView *v, uint32_t extra)
{
    Shader *s = x->s;
    const ShaderRoot *r = x->place.root;
    SpvId index = shader_distance(s, &x->place, extra, v->bits / 8 * v->count);
    SpvId pointer = spv_pointer_type(s->m, r->storage, v->type);
    if (r->storage == SpvStorageClassPushConstant)
        return push_pointer(s, v->type, r->member, index);
    if (r->storage == SpvStorageClassStorageBuffer)
        return EMIT(s, SpvOpAccessChain, pointer, v->variable, shader_u32(s, 0), index);
    return EMIT(s, SpvOpAccessChain, pointer, v->variable, index);
}

static SpvId load_through(const MemoryAccess *x, const ShaderView *v, uint32_t extra)
{
    uint32_t operands[] = { element_pointer(x, v, extra), x->mask };
    return shader_emit(x->s, SpvOpLoad, v->type, operands, x->mask ? 2 : 1);
}

static SpvId load_scalar(const MemoryAccess *x, uint32_t extra, const SpvType *t)
{
    Shader *s = x->s;
    const ShaderView *v = view_of(s, x->place.root, t, false);
    if (v->bits == t->bits) {
        SpvId value = load_through(x, v, extra);
        return v->type == t->id ? value : EMIT(s, SpvOpBitcast, t->id, value);
    }
    const SpvType *half = spv_type(s->m, spv_int_type(s->m, t->bits / 2, false));
    SpvId low = load_scalar(x, extra, half), high = load_scalar(x, extra + t->bits / 16, half);
    SpvId pair = EMIT(s, SpvOpCompositeConstruct, spv_vector_type(s->m, half->id, 2), low, high);
    return EMIT(s, SpvOpBitcast, t->id, pair);
}

static void store_through(const MemoryAccess *x, const ShaderView *v, uint32_t extra, SpvId value)
{
    uint32_t operands[] = { element_pointer(x, v, extra), value, x->mask };
    shader_emit(x->s, SpvOpStore, 0, operands, x->mask ? 3 : 2);
}

static void store_scalar(const MemoryAccess *x, uint32_t extra, const SpvType *t, SpvId value)
{
    Shader *s = x->s;
    const ShaderView *v = view_of(s, x->place.root, t, false);
    if (v->bits == t->bits) {
        value = v->type == t->id ? value : EMIT(s, SpvOpBitcast, v->type, value);
        store_through(x, v, extra, value);
        return;
    }
    const SpvType *half = spv_type(s->m, spv_int_type(s->m, t->bits / 2, false));
    SpvId pair = EMIT(s, SpvOpBitcast, spv_vector_type(s->m, half->id, 2), value);
    store_scalar(x, extra, half, EMIT(s, SpvOpCompositeExtract, half->id, pair, 0));
    store_scalar(x, extra + t->bits / 16, half, EMIT(s, SpvOpCompositeExtract, half->id, pair, 1));
}

/* Whether a buffer may be accessed by the whole vector: it is aligned to its size. */
static bool whole(const MemoryAccess *x, const SpvType *t, uint32_t align)
{
    return x->place.root->storage == SpvStorageClassStorageBuffer &&
           (t->count == 2 || t->count == 4) && align >= t->count * t->element->bits / 8;
}

/* `align` 0: of the type's own. */
static SpvId load_parts(const MemoryAccess *x, const SpvType *t, uint32_t align)
{
    Shader *s = x->s;
    SpvId parts[16];
    if (t->kind == SPV_INT || t->kind == SPV_FLOAT)
        return load_scalar(x, 0, t);
    if (t->kind != SPV_VECTOR || !t->element->bits) {
        shader_refuse(s, x->inst, "an access to a value of this type");
        return 0;
    }
    if (whole(x, t, align)) {
        const ShaderView *v = view_of(s, x->place.root, t, false);
        SpvId value = load_through(x, v, 0);
        return v->type == t->id ? value : EMIT(s, SpvOpBitcast, t->id, value);
    }
    for (uint32_t k = 0; k < t->count; k++)
        parts[k] = load_scalar(x, k * t->element->bits / 8, t->element);
    return shader_emit(s, SpvOpCompositeConstruct, t->id, parts, t->count);
}

static bool store_parts(const MemoryAccess *x, const SpvType *t, SpvId value, uint32_t align)
{
    Shader *s = x->s;
    if (t->kind == SPV_INT || t->kind == SPV_FLOAT) {
        store_scalar(x, 0, t, value);
        return true;
    }
    if (t->kind != SPV_VECTOR || !t->element->bits)
        return shader_refuse(s, x->inst, "an access to a value of this type");
    if (whole(x, t, align)) {
        const ShaderView *v = view_of(s, x->place.root, t, false);
        value = v->type == t->id ? value : EMIT(s, SpvOpBitcast, v->type, value);
        store_through(x, v, 0, value);
        return true;
    }
    for (uint32_t k = 0; k < t->count; k++)
        store_scalar(x, k * t->element->bits / 8, t->element,
                     EMIT(s, SpvOpCompositeExtract, t->element->id, value, k));
    return true;
}

static uint32_t memory_operands(const SpvInst *i, uint32_t at, uint32_t *align)
{
    uint32_t mask = spv_n_operands(i) > at ? spv_operand(i, at) : 0;
    *align = mask & SpvMemoryAccessAlignedMask ? spv_operand(i, at + 1) : 0;
    return mask;
}

bool shader_store(Shader *s, const SpvInst *i, SpvId pointer, SpvId value)
{
    MemoryAccess x = { 0 };
    return open_access(s, i, pointer, 0, &x) && store_parts(&x, spv_type_of(s->m, value), value, 0);
}

static ShaderFate lower_load(Shader *s, SpvInst *i, SpvId *to)
{
    uint32_t align, mask = memory_operands(i, 1, &align);
    const SpvInst *from = spv_def(s->m, spv_operand(i, 0));
    MemoryAccess x = { 0 };
    if (from && from->op == SpvOpVariable && spv_operand(from, 0) == SpvStorageClassInput)
        return FATE_STAYS;
    if (!open_access(s, i, spv_operand(i, 0), mask, &x))
        return FATE_ERROR;
    const SpvType *t = spv_type(s->m, i->type);
    bool pointer = t->kind == SPV_POINTER;
    SpvId value =
        load_parts(&x, pointer ? spv_type(s->m, spv_vector_type(s->m, s->u32, 2)) : t, align);
    if (value && pointer)
        shader_unpack(s, shader_address(s, i->id), value);
    else
        *to = value;
    return value ? FATE_GONE : FATE_ERROR;
}

static ShaderFate lower_store(Shader *s, SpvInst *i)
{
    uint32_t align, mask = memory_operands(i, 2, &align);
    SpvId value = spv_operand(i, 1);
    if (spv_type_of(s->m, value)->kind == SPV_POINTER)
        value = shader_pack(s, value);
    MemoryAccess x = { 0 };
    bool ok = open_access(s, i, spv_operand(i, 0), mask, &x) &&
              store_parts(&x, spv_type_of(s->m, value), value, align);
    return ok ? FATE_GONE : FATE_ERROR;
}

/* By pieces that are good for both. */
static ShaderFate lower_copy(Shader *s, SpvInst *i)
{
    enum { MAX_PIECES = 1024 };
    uint64_t size;
    MemoryAccess to = { 0 }, from = { 0 };
    if (!open_access(s, i, spv_operand(i, 0), 0, &to) ||
        !open_access(s, i, spv_operand(i, 1), 0, &from) ||
        !shader_constant(s, spv_operand(i, 2), &size))
        return FATE_ERROR;
    uint32_t bytes = shader_copy_piece(s, i, size);
    const SpvType *piece = spv_type(s->m, spv_int_type(s->m, bytes * 8, false));
    if (size / bytes > MAX_PIECES)
        return shader_refuse(s, i, "a copy of so large a structure") ? FATE_GONE : FATE_ERROR;
    for (uint32_t k = 0; k < size; k += bytes)
        store_scalar(&to, k, piece, load_scalar(&from, k, piece));
    return FATE_GONE;
}

/* A vector of three is copied as it lies, as one of four. */
bool shader_copy_element(Shader *s, const SpvInst *i, SpvId to, SpvId from)
{
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 1))->element;
    const SpvType *one = shader_scalar(t);
    MemoryAccess x = { 0 }, y = { 0 };
    uint32_t n = t->kind == SPV_VECTOR ? t->count : 1, align;
    uint32_t bytes = (uint32_t)spv_opencl_size(s->m, t, &align);
    if (!one || !one->bits || (t->kind != SPV_VECTOR && t != one))
        return shader_refuse(s, i, "a copy of elements of this type");
    if (!open_access(s, i, spv_operand(i, 1), 0, &x) ||
        !open_access(s, i, spv_operand(i, 2), 0, &y))
        return false;
    shader_add_index(s, &x.place, to, bytes);
    shader_add_index(s, &y.place, from, bytes);
    uint32_t part = n == 3 ? 1 : MIN(n, 4), size = part * one->bits / 8;
    const SpvType *piece = part > 1 ? spv_type(s->m, spv_vector_type(s->m, one->id, part)) : one;
    for (uint32_t k = 0; k < n; k += part) {
        SpvId value = load_parts(&y, piece, MIN(align, size));
        if (!value || !store_parts(&x, piece, value, MIN(align, size)))
            return false;
        x.place.constant += size;
        y.place.constant += size;
    }
    return true;
}

/* The pointer that atomics and matrices take, to exactly this type. 0 after reporting. */
SpvId shader_access_chain(Shader *s, const SpvInst *i, SpvId pointer, const SpvType *t, bool exact,
                          uint32_t *pieces)
{
    MemoryAccess x = { 0 };
    if (!open_access(s, i, pointer, 0, &x))
        return 0;
    const ShaderView *v = view_of(s, x.place.root, t, exact);
    *pieces = t->bits / v->bits;
    if (exact && v->type != t->id) {
        shader_refuse(s, i, "an atomic of memory that is also accessed by other types");
        return 0;
    }
    return element_pointer(&x, v, 0);
}

/* vloadn, vstoren: n components from the offset times n on; of halves that are floats, too. */
static ShaderFate vector_access(Shader *s, SpvInst *i, SpvId *to)
{
    uint32_t number = spv_operand(i, 1);
    bool is_load = number == OpenCLstd_vloadn || number == OpenCLstd_vload_half ||
                   number == OpenCLstd_vload_halfn || number == OpenCLstd_vloada_halfn;
    bool half = number != OpenCLstd_vloadn && number != OpenCLstd_vstoren;
    bool padded = number == OpenCLstd_vloada_halfn || number == OpenCLstd_vstorea_halfn ||
                  number == OpenCLstd_vstorea_halfn_r;
    uint32_t first = is_load ? 2 : 3;
    const SpvType *t = is_load ? spv_type(s->m, i->type) : spv_type_of(s->m, spv_operand(i, 2));
    uint32_t count = t->kind == SPV_VECTOR ? t->count : 1;
    SpvId kind = half ? spv_float_type(s->m, 16) : shader_scalar(t)->id;
    const SpvType *in = spv_type(s->m, count > 1 ? spv_vector_type(s->m, kind, count) : kind);
    uint32_t bytes = shader_scalar(in)->bits / 8 * (padded && count == 3 ? 4 : count);
    MemoryAccess x = { 0 };
    bool rounded = number == OpenCLstd_vstore_half_r || number == OpenCLstd_vstore_halfn_r ||
                   number == OpenCLstd_vstorea_halfn_r;
    if (!open_access(s, i, spv_operand(i, first + 1), 0, &x))
        return FATE_ERROR;
    shader_add_index(s, &x.place, spv_operand(i, first), bytes);
    if (is_load) {
        SpvId value = load_parts(&x, in, 0);
        *to = half ? EMIT(s, SpvOpFConvert, t->id, value) : value;
        return FATE_GONE;
    }
    SpvId value = spv_operand(i, 2);
    uint32_t mode = rounded ? spv_operand(i, 5) : SpvFPRoundingModeRTE;
    value = half ? shader_round(s, SpvOpFConvert, in->id, value, mode) : value;
    return store_parts(&x, in, value, 0) ? FATE_GONE : FATE_ERROR;
}

static bool is_vector_access(const SpvInst *i)
{
    return i->op == SpvOpExtInst && i->ext_set == SPV_SET_OpenCLstd_ &&
           spv_operand(i, 1) >= OpenCLstd_vloadn && spv_operand(i, 1) <= OpenCLstd_vstorea_halfn_r;
}

static bool is_event(Shader *s, const SpvInst *i)
{
    SpvId value = i->op == SpvOpStore ? spv_operand(i, 1) : i->id;
    const SpvType *t = value && i->op != SpvOpGroupAsyncCopy ? spv_type_of(s->m, value) : NULL;
    return t && t->kind == SPV_EVENT;
}

ShaderFate shader_memory(Shader *s, SpvInst *i, SpvId *to)
{
    if (is_event(s, i))
        return FATE_GONE;
    switch (i->op) {
    case SpvOpLoad: return lower_load(s, i, to);
    case SpvOpStore: return lower_store(s, i);
    case SpvOpCopyMemorySized: return lower_copy(s, i);
    case SpvOpVariable: return shader_address(s, i->id) ? FATE_GONE : FATE_STAYS;
    case SpvOpLifetimeStart:
    case SpvOpLifetimeStop: return FATE_GONE;
    default: return is_vector_access(i) ? vector_access(s, i, to) : FATE_STAYS;
    }
}

void shader_close_memory(Shader *s)
{
    struct ShaderMemory *y = s->memory;
    for (uint32_t k = 0; k < y->roots.len; k++) {
        const ShaderRoot *r = y->roots.data[k];
        for (uint32_t j = 0; j < r->views.len && r->views.len > 1; j++)
            shader_decorate(s, r->views.data[j].variable, SpvDecorationAliased, 0, 0);
    }
}
