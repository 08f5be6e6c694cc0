/* SPDX-License-Identifier: MIT
 *
 * shader, memory: logical addressing. A pointer becomes the variable that it leads into (its root)
 * and a distance in bytes from that variable's beginning, 32 bits wide: a sum of multiples of
 * values. Pointers may be cast, led through phis and selected as long as one root remains; those in
 * memory, and addresses as integers, have no counterpart.
 *
 * Global and constant memory are storage buffers, one variable for each type that a buffer is
 * accessed by (they alias). Other variables are arrays of the smallest piece that is accessed, of
 * which larger ones are put together.
 */
#include "pass/shader.h"

enum { MAX_TERMS = 8, GRAIN_ANY = 16 };

typedef struct View { SpvId variable, type; uint32_t bits, count; } View;

struct Root {
    const SpvInst *def;         /* the parameter or variable */
    uint32_t storage;           /* of what it becomes */
    uint32_t number, member;    /* of the argument: binding; place among push constants */
    uint64_t size;              /* bytes; 0: the caller's choice */
    SpvId length;               /* bytes, where a specialisation constant says them */
    uint32_t unit;              /* bits of the smallest piece accessed */
    SpvId unit_type;
    bool written, by_atomics;
    VEC(View) views;
};

typedef struct Term { SpvId index; uint32_t scale; } Term;

struct Address {
    Root *root;                 /* NULL: null */
    uint32_t constant, n;
    Term terms[MAX_TERMS];
    uint32_t grain;             /* a power of two that divides the distance */
    bool known;                 /* root and grain: by the search; the rest: by the rewriting */
    bool phi;
};

typedef struct Pending { SpvInst *old, *phi; uint32_t scale; } Pending;

struct Memory {
    Address **address;          /* by id, n of them */
    uint32_t n;
    SpvArguments arguments;
    VEC(Root *) roots;
    VEC(Pending) pending;
    VEC(SpvId) members;         /* of the block of push constants: types */
    VEC(uint32_t) offsets;
    bool failed;
};

static const Address null_address;

static Address *address_of(const Shader *s, SpvId id)
{
    return id < s->memory->n ? s->memory->address[id] : NULL;
}

static bool is_pointer_type(Shader *s, SpvId type)
{
    const SpvType *t = type ? spv_type(s->m, type) : NULL;
    return t && t->kind == SPV_POINTER;
}

static uint64_t size_of(Shader *s, const SpvType *t)
{
    uint32_t align;
    return spv_opencl_size(s->m, t, &align);
}

/* From one element of an array to the next. */
static uint64_t stride_of(Shader *s, const SpvType *t)
{
    uint32_t align;
    uint64_t size = t ? spv_opencl_size(s->m, t, &align) : 0;
    return size ? align_up(size, align) : 0;
}

/* ---- roots: before the rewriting ------------------------------------------------------------- */

static Root *new_root(Shader *s, const SpvInst *def, uint32_t storage)
{
    Root *r = NEW(s->a, Root);
    Address *a = NEW(s->a, Address);
    *r = (Root){ .def = def, .storage = storage };
    *a = (Address){ .root = r, .grain = GRAIN_ANY, .known = true };
    s->memory->address[def->id] = a;
    vec_push(s->a, &s->memory->roots, r);
    return r;
}

static bool variable_root(Shader *s, const SpvInst *v)
{
    const SpvType *t = spv_type(s->m, v->type);
    uint32_t storage = spv_operand(v, 0);
    bool constant = storage == SpvStorageClassUniformConstant;
    if (storage == SpvStorageClassInput)
        return true;
    if (constant ? spv_n_operands(v) < 2
                 : storage != SpvStorageClassWorkgroup && storage != SpvStorageClassFunction)
        return shader_refuse(s, v, "a variable of the program in global memory");
    Root *r = new_root(s, v, constant ? SpvStorageClassPrivate : storage);
    r->size = size_of(s, t->element);
    return r->size != 0 || shader_refuse(s, v, "a variable of this type");
}

static void argument_roots(Shader *s)
{
    const SpvArguments *list = &s->memory->arguments;
    for (uint32_t k = 0; k < list->n; k++) {
        const SpvArgument *a = &list->list[k];
        const SpvInst *def = spv_def(s->m, a->id);
        if (a->kind == SPV_ARGUMENT_VALUE && !a->by_reference)
            continue;
        Root *r = new_root(s, def, a->kind == SPV_ARGUMENT_BUFFER ? SpvStorageClassStorageBuffer
                                   : a->kind == SPV_ARGUMENT_LOCAL ? SpvStorageClassWorkgroup
                                                                   : SpvStorageClassPushConstant);
        r->number = k;
        r->size = a->kind == SPV_ARGUMENT_VALUE ? a->size : 0;
    }
}

static uint32_t grain_of(uint64_t x)
{
    uint64_t lowest = x & (0 - x);
    return lowest ? (uint32_t)MIN(lowest, GRAIN_ANY) : GRAIN_ANY;
}

/* What the indices of a chain count, one after the other. */
typedef struct Chain {
    Shader *s;
    const SpvInst *inst;
    const SpvType *type;        /* that the address so far leads to */
    uint32_t next;              /* operand */
} Chain;

static Chain open_chain(Shader *s, const SpvInst *i)
{
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 0));
    return (Chain){ s, i, t ? t->element : NULL, 1 };
}

/* The next index and its scale, or a constant number of bytes and index 0. False at the end. */
static bool chain_step(Chain *c, SpvId *index, uint64_t *scale)
{
    const SpvInst *i = c->inst;
    bool element = c->next == 1 && (i->op == SpvOpPtrAccessChain ||
                                    i->op == SpvOpInBoundsPtrAccessChain);
    uint64_t k;
    if (c->next >= spv_n_operands(i) || !c->type)
        return false;
    *index = spv_operand(i, c->next++);
    if (!element && c->type->kind == SPV_STRUCT) {
        if (!shader_constant(c->s, *index, &k) || k >= c->type->count)
            return false;
        *scale = spv_opencl_offset(c->s->m, c->type, (uint32_t)k);
        *index = 0;
        c->type = c->type->members[k];
        return true;
    }
    if (!element)
        c->type = c->type->element;
    *scale = stride_of(c->s, c->type);
    return *scale != 0;
}

static uint32_t chain_grain(Shader *s, const SpvInst *i)
{
    Chain c = open_chain(s, i);
    uint32_t grain = GRAIN_ANY;
    SpvId index;
    uint64_t scale, k;
    while (chain_step(&c, &index, &scale)) {
        bool constant = index && shader_constant(s, index, &k);
        grain = MIN(grain, grain_of(constant ? scale * k : scale));
    }
    return grain;
}

/* Adds what `from` leads to; false: to something else than the pointer leads to already. */
static bool join(Shader *s, Address *to, SpvId from, bool *changed)
{
    const Address *a = address_of(s, from);
    if (!a || !a->known || !a->root)
        return true;
    if (to->root && to->root != a->root)
        return false;
    uint32_t grain = to->root ? MIN(to->grain, a->grain) : a->grain;
    *changed |= !to->root || grain != to->grain;
    to->root = a->root;
    to->grain = grain;
    to->known = true;
    return true;
}

static bool follow(Shader *s, const SpvInst *i, bool *changed)
{
    Address **slot = &s->memory->address[i->id], now;
    if (!*slot)
        *slot = NEW(s->a, Address);
    now = **slot;
    bool one = true, more = false;
    switch (i->op) {
    case SpvOpPhi:
        for (uint32_t k = 0; k < spv_n_operands(i); k += 2)
            one &= join(s, &now, spv_operand(i, k), &more);
        break;
    case SpvOpSelect:
        one = join(s, &now, spv_operand(i, 1), &more) && join(s, &now, spv_operand(i, 2), &more);
        break;
    case SpvOpBitcast: case SpvOpCopyObject: case SpvOpPtrCastToGeneric:
    case SpvOpGenericCastToPtr: case SpvOpGenericCastToPtrExplicit:
        join(s, &now, spv_operand(i, 0), &more);
        break;
    case SpvOpAccessChain: case SpvOpInBoundsAccessChain: case SpvOpPtrAccessChain:
    case SpvOpInBoundsPtrAccessChain:
        join(s, &now, spv_operand(i, 0), &more);
        now.grain = MIN(now.grain, chain_grain(s, i));
        break;
    case SpvOpUndef: case SpvOpConstantNull:
        break;
    default:
        return shader_refuse(s, i, "a pointer that is no argument's, variable's or part of one");
    }
    if (!one)
        return shader_refuse(s, i, "a pointer that may lead to one or another buffer or variable");
    *changed |= now.root != (*slot)->root || (now.root && now.grain != (*slot)->grain);
    **slot = now;
    return true;
}

static bool follow_all(Shader *s)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t p = 0; p + 1 < s->g->n; p++)
            for (SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
                if (i->id && i->op != SpvOpVariable && is_pointer_type(s, i->type) &&
                    !follow(s, i, &changed))
                    return false;
    }
    return true;
}

/* ---- what accesses there are ----------------------------------------------------------------- */

static const SpvType *scalar_of(const SpvType *t)
{
    while (t && (t->kind == SPV_VECTOR || t->kind == SPV_COOPMAT || t->kind == SPV_ARRAY))
        t = t->element;
    return t;
}

static void note(Shader *s, SpvId pointer, const SpvType *t, bool atomic, bool writes)
{
    const Address *a = address_of(s, pointer);
    t = scalar_of(t);
    if (!a || !a->root || !t || !t->bits)
        return;
    Root *r = a->root;
    bool smaller = !r->unit || t->bits < r->unit;
    r->written |= writes;
    if (smaller || (t->bits == r->unit && atomic && !r->by_atomics)) {
        r->unit = t->bits;
        r->unit_type = t->id;
        r->by_atomics = atomic;
    }
}

/* The pieces that both sides of a copy are made of. */
static bool note_copy(Shader *s, const SpvInst *i)
{
    const Address *to = address_of(s, spv_operand(i, 0)), *from = address_of(s, spv_operand(i, 1));
    uint64_t size;
    if (!shader_constant(s, spv_operand(i, 2), &size))
        return shader_refuse(s, i, "a copy of a size that is not constant");
    uint32_t grain = MIN(grain_of(size), 4);
    grain = MIN(grain, MIN(to ? to->grain : 1, from ? from->grain : 1));
    const SpvType *piece = spv_type(s->m, spv_int_type(s->m, grain * 8, false));
    note(s, spv_operand(i, 0), piece, false, true);
    note(s, spv_operand(i, 1), piece, false, false);
    return true;
}

static bool note_function(Shader *s, const SpvInst *i)
{
    uint32_t number = spv_operand(i, 1);
    for (uint32_t k = 2; k < spv_n_operands(i); k++) {
        SpvId id = spv_operand(i, k);
        const SpvType *t = address_of(s, id) ? spv_type_of(s->m, id) : NULL;
        bool writes = number != OpenCLstd_vloadn && number != OpenCLstd_vload_half &&
                      number != OpenCLstd_vload_halfn && number != OpenCLstd_vloada_halfn;
        if (t)
            note(s, id, t->element, false, writes);
    }
    return true;
}

static bool note_access(Shader *s, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    const SpvType *own = i->type ? spv_type(s->m, i->type) : NULL;
    switch (i->op) {
    case SpvOpLoad: case SpvOpCooperativeMatrixLoadKHR:
        note(s, spv_operand(i, 0), own, false, false);
        return true;
    case SpvOpStore: case SpvOpCooperativeMatrixStoreKHR: case SpvOpAtomicStore:
        own = spv_type_of(s->m, spv_operand(i, i->op == SpvOpAtomicStore ? 3 : 1));
        note(s, spv_operand(i, 0), own, i->op == SpvOpAtomicStore, true);
        return true;
    case SpvOpCopyMemorySized:
        return note_copy(s, i);
    case SpvOpAtomicFlagTestAndSet: case SpvOpAtomicFlagClear:
        note(s, spv_operand(i, 0), spv_type(s->m, s->u32), true, true);
        return true;
    case SpvOpExtInst:
        return i->ext_set != SPV_SET_OpenCLstd_ || note_function(s, i);
    default:
        if (info && info->flags & SPV_OPF_ATOMIC)
            note(s, spv_operand(i, 0), own, true, i->op != SpvOpAtomicLoad);
        return true;
    }
}

bool shader_find_memory(Shader *s)
{
    struct Memory *y = s->memory = NEW(s->a, struct Memory);
    y->n = s->m->bound;
    y->address = NEW_ARRAY(s->a, Address *, y->n);
    if (!spv_kernel_arguments(s->a, s->m, s->f, &y->arguments, s->c->sink))
        return false;
    argument_roots(s);
    for (SpvInst *i = s->m->globals.first; i; i = i->next)
        if (i->op == SpvOpVariable && i->id < s->bound && !variable_root(s, i))
            return false;
    for (SpvInst *i = s->f->first->insts.first; i; i = i->next)
        if (i->op == SpvOpVariable && !variable_root(s, i))
            return false;
    if (!follow_all(s))
        return false;
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            if (!note_access(s, i))
                return false;
    return true;
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
    if (i->op != SpvOpConstantComposite)
        return;
    for (uint32_t k = 0; k < spv_n_operands(i); k++)
        constant_bytes(s, spv_operand(i, k),
                       out + (t->kind == SPV_STRUCT ? spv_opencl_offset(s->m, t, k)
                                                    : k * stride_of(s, t->element)));
}

static SpvId initialiser(Shader *s, const Root *r, SpvId array, const SpvType *unit, uint32_t n)
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

static SpvId new_buffer(Shader *s, const Root *r, SpvId element, uint32_t bytes)
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
static SpvId caller_length(Shader *s, Root *r, uint32_t bytes)
{
    enum { DEFAULT_BYTES = 4096 };
    SpvId size = shader_spec(s, 4 + r->number, DEFAULT_BYTES);
    if (bytes == 1)
        return size;
    uint32_t operands[] = { SpvOpUDiv, size, shader_u32(s, bytes) };
    return shader_global(s, SpvOpSpecConstantOp, s->u32, operands, 3);
}

static View *new_view(Shader *s, Root *r, const SpvType *t)
{
    uint32_t count = t->kind == SPV_VECTOR ? t->count : 1, bits = scalar_of(t)->bits;
    uint32_t bytes = count * bits / 8, n = (uint32_t)((r->size + bytes - 1) / bytes);
    View v = { .type = t->id, .bits = bits, .count = count };
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
static View *view_of(Shader *s, Root *r, const SpvType *t, bool exact)
{
    bool buffer = r->storage == SpvStorageClassStorageBuffer;
    uint32_t count = t->kind == SPV_VECTOR ? t->count : 1;
    for (uint32_t k = 0; k < r->views.len; k++) {
        View *v = &r->views.data[k];
        bool same = v->bits == scalar_of(t)->bits && v->count == count;
        if (!buffer || v->type == t->id || (same && !exact))
            return v;
    }
    return new_view(s, r, buffer ? t : spv_type(s->m, r->unit_type));
}

/* ---- push constants -------------------------------------------------------------------------- */

static SpvId member_type(Shader *s, const SpvArgument *a, const Root *r)
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
    struct Memory *y = s->memory;
    VEC(SpvId) types = { 0 };
    VEC(uint32_t) offsets = { 0 };
    uint64_t at = 0;
    for (uint32_t k = 0; k < y->arguments.n; k++) {
        const SpvArgument *a = &y->arguments.list[k];
        Root *r = address_of(s, a->id) ? address_of(s, a->id)->root : NULL;
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
    struct Memory *y = s->memory;
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

/* ---- distances ------------------------------------------------------------------------------- */

/* An integer modulo 2^32. */
static SpvId narrow(Shader *s, SpvId id)
{
    const SpvInst *i = spv_def(s->m, id);
    const SpvType *t = spv_type_of(s->m, id);
    uint64_t k;
    if (shader_constant(s, id, &k))
        return shader_u32(s, (uint32_t)k);
    if (t->bits == 32)
        return id;
    const SpvType *from = i->op == SpvOpSConvert || i->op == SpvOpUConvert
                              ? spv_type_of(s->m, spv_operand(i, 0)) : NULL;
    if (from && from->kind == SPV_INT && from->bits == 32)
        return spv_operand(i, 0);
    return EMIT(s, t->bits < 32 ? SpvOpSConvert : SpvOpUConvert, s->u32, id);
}

/* Adds index * scale, modulo 2^32. Sums and constant multiples in 64 bits are taken apart, so that
 * what is left are values of 32 bits. */
static void add_index(Shader *s, Address *a, SpvId index, uint32_t scale, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, index);
    const SpvType *t = spv_type_of(s->m, index);
    bool wide = t->bits == 64 && depth < 8 && a->n + 2 < MAX_TERMS;
    uint64_t k;
    if (shader_constant(s, index, &k)) {
        a->constant += (uint32_t)k * scale;
    } else if (wide && i->op == SpvOpIAdd) {
        add_index(s, a, spv_operand(i, 0), scale, depth + 1);
        add_index(s, a, spv_operand(i, 1), scale, depth + 1);
    } else if (wide && i->op == SpvOpIMul && shader_constant(s, spv_operand(i, 1), &k)) {
        add_index(s, a, spv_operand(i, 0), scale * (uint32_t)k, depth + 1);
    } else if (wide && i->op == SpvOpShiftLeftLogical &&
               shader_constant(s, spv_operand(i, 1), &k) && k < 32) {
        add_index(s, a, spv_operand(i, 0), scale << k, depth + 1);
    } else {
        SpvId term = narrow(s, index);
        for (uint32_t j = 0; j < a->n; j++) {
            if (a->terms[j].index != term)
                continue;
            a->terms[j].scale += scale;
            return;
        }
        a->terms[a->n++] = (Term){ term, scale };
    }
}

/* The distance in units of so many bytes. Constants and scales may be negative. */
static SpvId distance(Shader *s, const Address *a, uint32_t extra, uint32_t unit)
{
    int32_t constant = (int32_t)(a->constant + extra), by = (int32_t)unit;
    SpvId sum = 0;
    for (uint32_t k = 0; k < a->n; k++)
        by = (int32_t)a->terms[k].scale % (int32_t)unit ? 1 : by;
    by = constant % (int32_t)unit ? 1 : by;
    for (uint32_t k = 0; k < a->n; k++) {
        int32_t scale = (int32_t)a->terms[k].scale / by;
        SpvId term = a->terms[k].index;
        if (scale != 1)
            term = EMIT(s, SpvOpIMul, s->u32, term, shader_u32(s, (uint32_t)scale));
        sum = sum ? EMIT(s, SpvOpIAdd, s->u32, sum, term) : term;
    }
    SpvId rest = shader_u32(s, (uint32_t)(constant / by));
    sum = !sum ? rest : constant ? EMIT(s, SpvOpIAdd, s->u32, sum, rest) : sum;
    if (by == (int32_t)unit)
        return sum;
    return EMIT(s, SpvOpUDiv, s->u32, sum, shader_u32(s, unit));
}

/* ---- accesses -------------------------------------------------------------------------------- */

typedef struct Access {
    Shader *s;
    const SpvInst *inst;
    Address place;
    uint32_t mask;              /* memory operands */
} Access;

static bool open_access(Shader *s, const SpvInst *i, SpvId pointer, uint32_t mask, Access *out)
{
    const Address *a = address_of(s, pointer);
    if (!a || !a->root)
        return shader_refuse(s, i, "an access through a null pointer");
    *out = (Access){ s, i, *a, mask & SpvMemoryAccessVolatileMask };
    if (s->matrices && a->root->storage != SpvStorageClassFunction &&
        a->root->storage != SpvStorageClassPrivate &&
        a->root->storage != SpvStorageClassPushConstant)
        out->mask |= SpvMemoryAccessNonPrivatePointerMask;
    return true;
}

static SpvId element(const Access *x, const View *v, uint32_t extra)
{
    Shader *s = x->s;
    const Root *r = x->place.root;
    SpvId index = distance(s, &x->place, extra, v->bits / 8 * v->count);
    SpvId pointer = spv_pointer_type(s->m, r->storage, v->type);
    if (r->storage == SpvStorageClassPushConstant)
        return push_pointer(s, v->type, r->member, index);
    if (r->storage == SpvStorageClassStorageBuffer)
        return EMIT(s, SpvOpAccessChain, pointer, v->variable, shader_u32(s, 0), index);
    return EMIT(s, SpvOpAccessChain, pointer, v->variable, index);
}

static SpvId load_through(const Access *x, const View *v, uint32_t extra)
{
    uint32_t operands[] = { element(x, v, extra), x->mask };
    return shader_emit(x->s, SpvOpLoad, v->type, operands, x->mask ? 2 : 1);
}

static SpvId load_scalar(const Access *x, uint32_t extra, const SpvType *t)
{
    Shader *s = x->s;
    const View *v = view_of(s, x->place.root, t, false);
    if (v->bits == t->bits) {
        SpvId value = load_through(x, v, extra);
        return v->type == t->id ? value : EMIT(s, SpvOpBitcast, t->id, value);
    }
    const SpvType *half = spv_type(s->m, spv_int_type(s->m, t->bits / 2, false));
    SpvId low = load_scalar(x, extra, half), high = load_scalar(x, extra + t->bits / 16, half);
    SpvId pair = EMIT(s, SpvOpCompositeConstruct, spv_vector_type(s->m, half->id, 2), low, high);
    return EMIT(s, SpvOpBitcast, t->id, pair);
}

static void store_through(const Access *x, const View *v, uint32_t extra, SpvId value)
{
    uint32_t operands[] = { element(x, v, extra), value, x->mask };
    shader_emit(x->s, SpvOpStore, 0, operands, x->mask ? 3 : 2);
}

static void store_scalar(const Access *x, uint32_t extra, const SpvType *t, SpvId value)
{
    Shader *s = x->s;
    const View *v = view_of(s, x->place.root, t, false);
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
static bool whole(const Access *x, const SpvType *t, uint32_t align)
{
    return x->place.root->storage == SpvStorageClassStorageBuffer &&
           (t->count == 2 || t->count == 4) && align >= t->count * t->element->bits / 8;
}

/* `align` 0: of the type's own. */
static SpvId load(const Access *x, const SpvType *t, uint32_t align)
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
        const View *v = view_of(s, x->place.root, t, false);
        SpvId value = load_through(x, v, 0);
        return v->type == t->id ? value : EMIT(s, SpvOpBitcast, t->id, value);
    }
    for (uint32_t k = 0; k < t->count; k++)
        parts[k] = load_scalar(x, k * t->element->bits / 8, t->element);
    return shader_emit(s, SpvOpCompositeConstruct, t->id, parts, t->count);
}

static bool store(const Access *x, const SpvType *t, SpvId value, uint32_t align)
{
    Shader *s = x->s;
    if (t->kind == SPV_INT || t->kind == SPV_FLOAT) {
        store_scalar(x, 0, t, value);
        return true;
    }
    if (t->kind != SPV_VECTOR || !t->element->bits)
        return shader_refuse(s, x->inst, "an access to a value of this type");
    if (whole(x, t, align)) {
        const View *v = view_of(s, x->place.root, t, false);
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
    Access x = { 0 };
    return open_access(s, i, pointer, 0, &x) && store(&x, spv_type_of(s->m, value), value, 0);
}

static Fate lower_load(Shader *s, SpvInst *i, SpvId *to)
{
    uint32_t align, mask = memory_operands(i, 1, &align);
    const SpvInst *from = spv_def(s->m, spv_operand(i, 0));
    Access x = { 0 };
    if (from && from->op == SpvOpVariable && spv_operand(from, 0) == SpvStorageClassInput)
        return FATE_STAYS;
    if (!open_access(s, i, spv_operand(i, 0), mask, &x))
        return FATE_ERROR;
    *to = load(&x, spv_type(s->m, i->type), align);
    return *to ? FATE_GONE : FATE_ERROR;
}

static Fate lower_store(Shader *s, SpvInst *i)
{
    uint32_t align, mask = memory_operands(i, 2, &align);
    SpvId value = spv_operand(i, 1);
    Access x = { 0 };
    bool ok = open_access(s, i, spv_operand(i, 0), mask, &x) &&
              store(&x, spv_type_of(s->m, value), value, align);
    return ok ? FATE_GONE : FATE_ERROR;
}

/* By the pieces that note_copy found good for both. */
static Fate lower_copy(Shader *s, SpvInst *i)
{
    enum { MAX_PIECES = 1024 };
    uint64_t size;
    Access to = { 0 }, from = { 0 };
    if (!open_access(s, i, spv_operand(i, 0), 0, &to) ||
        !open_access(s, i, spv_operand(i, 1), 0, &from) ||
        !shader_constant(s, spv_operand(i, 2), &size))
        return FATE_ERROR;
    uint32_t bytes = MIN(MIN(grain_of(size), 4), MIN(to.place.grain, from.place.grain));
    const SpvType *piece = spv_type(s->m, spv_int_type(s->m, bytes * 8, false));
    if (size / bytes > MAX_PIECES)
        return shader_refuse(s, i, "a copy of so large a structure") ? FATE_GONE : FATE_ERROR;
    for (uint32_t k = 0; k < size; k += bytes)
        store_scalar(&to, k, piece, load_scalar(&from, k, piece));
    return FATE_GONE;
}

/* The pointer that atomics and matrices take, to exactly this type. 0 after reporting. */
SpvId shader_pointer(Shader *s, const SpvInst *i, SpvId pointer, const SpvType *t, bool exact,
                     uint32_t *pieces)
{
    Access x = { 0 };
    if (!open_access(s, i, pointer, 0, &x))
        return 0;
    const View *v = view_of(s, x.place.root, t, exact);
    *pieces = t->bits / v->bits;
    if (exact && v->type != t->id) {
        shader_refuse(s, i, "an atomic of memory that is also accessed by other types");
        return 0;
    }
    return element(&x, v, 0);
}

/* ---- pointers -------------------------------------------------------------------------------- */

static Fate lower_chain(Shader *s, SpvInst *i)
{
    Address *a = address_of(s, i->id), *base = address_of(s, spv_operand(i, 0));
    uint32_t grain = a->grain;
    *a = base ? *base : null_address;
    a->grain = grain;
    Chain c = open_chain(s, i);
    SpvId index;
    uint64_t scale;
    while (chain_step(&c, &index, &scale)) {
        if (!index) {
            a->constant += (uint32_t)scale;
            continue;
        }
        if (a->n + 1 >= MAX_TERMS) {
            SpvId bytes = distance(s, a, 0, 1);
            *a = (Address){ .root = a->root, .n = 1, .terms = { { bytes, 1 } }, .grain = grain };
        }
        add_index(s, a, index, (uint32_t)scale, 0);
    }
    return FATE_GONE;
}

static Fate lower_phi(Shader *s, SpvInst *i)
{
    Address *a = address_of(s, i->id);
    if (!a->root)
        return FATE_GONE;
    SpvInst *phi = spv_make(s->m, SpvOpPhi, s->u32, spv_new_id(s->m), NULL, 0);
    spv_insert_before(i, phi);
    a->n = 1;
    a->terms[0] = (Term){ phi->id, a->grain };
    vec_push(s->a, &s->memory->pending, (Pending){ i, phi, a->grain });
    return FATE_GONE;
}

static Fate lower_select(Shader *s, SpvInst *i)
{
    Address *a = address_of(s, i->id), *x[2];
    SpvId ids[2];
    if (!a->root)
        return FATE_GONE;
    for (uint32_t k = 0; k < 2; k++) {
        x[k] = address_of(s, spv_operand(i, 1 + k));
        ids[k] = x[k] && x[k]->root ? distance(s, x[k], 0, a->grain) : shader_u32(s, 0);
    }
    a->n = 1;
    a->constant = 0;
    a->terms[0] = (Term){ EMIT(s, SpvOpSelect, s->u32, spv_operand(i, 0), ids[0], ids[1]),
                          a->grain };
    return FATE_GONE;
}

static Fate lower_compare(Shader *s, SpvInst *i, SpvId *to)
{
    const Address *a = address_of(s, spv_operand(i, 0)), *b = address_of(s, spv_operand(i, 1));
    Root *ra = a ? a->root : NULL, *rb = b ? b->root : NULL;
    bool equal = i->op == SpvOpPtrEqual;
    if (i->op == SpvOpPtrDiff) {
        const SpvType *t = spv_type_of(s->m, spv_operand(i, 0));
        uint32_t size = (uint32_t)size_of(s, t->element);
        if (!ra || ra != rb || !size)
            return shader_refuse(s, i, "a difference of such pointers") ? FATE_GONE : FATE_ERROR;
        SpvId d = EMIT(s, SpvOpISub, s->u32, distance(s, a, 0, 1), distance(s, b, 0, 1));
        d = EMIT(s, SpvOpSDiv, s->u32, d, shader_u32(s, size));
        *to = EMIT(s, SpvOpSConvert, i->type, d);
    } else if (ra && ra == rb) {
        *to = EMIT(s, equal ? SpvOpIEqual : SpvOpINotEqual, i->type, distance(s, a, 0, 1),
                   distance(s, b, 0, 1));
    } else {
        *to = spv_int_constant(s->m, s->bool_, equal == (ra == rb));
    }
    return FATE_GONE;
}

static Fate lower_cast(Shader *s, SpvInst *i)
{
    Address *a = address_of(s, i->id), *from = address_of(s, spv_operand(i, 0));
    *a = from ? *from : null_address;
    if (i->op != SpvOpGenericCastToPtrExplicit || !a->root)
        return FATE_GONE;
    uint32_t is = a->root->storage, want = spv_operand(i, 1);
    bool global = is == SpvStorageClassStorageBuffer && want == SpvStorageClassCrossWorkgroup;
    if (!global && is != want)
        a->root = NULL;
    return FATE_GONE;
}

/* An address as an integer is the distance from where the buffer or variable begins: good for
 * nothing but to be compared with, or subtracted from, another of the same. */
static Fate lower_address(Shader *s, SpvInst *i, SpvId *to)
{
    const Address *a = address_of(s, spv_operand(i, 0));
    IdWords *ids = NEW(s->a, IdWords);
    bool good = a && a->root;
    if (!good && a && !a->n) { /* what offsetof comes to */
        *to = spv_int_constant(s->m, i->type, a->constant);
        return FATE_GONE;
    }
    for (SpvBlock *b = s->f->first; b && good; b = b->next)
        for (SpvInst *use = b->insts.first; use && good; use = use->next) {
            bool uses = false;
            edit_ids(use, ids);
            for (uint32_t k = 0; k < ids->n; k++)
                uses |= use->words[ids->at[k]] == i->id;
            good = !uses || use->op == SpvOpISub || (use->op >= SpvOpIEqual &&
                                                     use->op <= SpvOpSLessThanEqual);
            for (uint32_t k = 0; uses && good && k < ids->n; k++) {
                const SpvInst *other = spv_def(s->m, use->words[ids->at[k]]);
                const Address *b2 = other->op == SpvOpConvertPtrToU
                                        ? address_of(s, spv_operand(other, 0)) : NULL;
                good = b2 && b2->root == a->root;
            }
        }
    if (!good)
        return shader_refuse(s, i, "an address as an integer"), FATE_ERROR;
    *to = EMIT(s, SpvOpUConvert, i->type, distance(s, a, 0, 1));
    return FATE_GONE;
}

/* vloadn, vstoren: n components from the offset times n on; of halves that are floats, too. */
static Fate vector_access(Shader *s, SpvInst *i, SpvId *to)
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
    SpvId kind = half ? spv_float_type(s->m, 16) : scalar_of(t)->id;
    const SpvType *in = spv_type(s->m, count > 1 ? spv_vector_type(s->m, kind, count) : kind);
    uint32_t bytes = scalar_of(in)->bits / 8 * (padded && count == 3 ? 4 : count);
    Access x = { 0 };
    if ((number == OpenCLstd_vstore_half_r || number == OpenCLstd_vstore_halfn_r ||
         number == OpenCLstd_vstorea_halfn_r) && spv_operand(i, 5) != SpvFPRoundingModeRTE)
        return shader_refuse(s, i, "a rounding mode other than to nearest even"), FATE_ERROR;
    if (!open_access(s, i, spv_operand(i, first + 1), 0, &x))
        return FATE_ERROR;
    add_index(s, &x.place, spv_operand(i, first), bytes, 0);
    if (is_load) {
        SpvId value = load(&x, in, 0);
        *to = half ? EMIT(s, SpvOpFConvert, t->id, value) : value;
        return FATE_GONE;
    }
    SpvId value = spv_operand(i, 2);
    value = half ? EMIT(s, SpvOpFConvert, in->id, value) : value;
    return store(&x, in, value, 0) ? FATE_GONE : FATE_ERROR;
}

static bool is_vector_access(const SpvInst *i)
{
    return i->op == SpvOpExtInst && i->ext_set == SPV_SET_OpenCLstd_ &&
           spv_operand(i, 1) >= OpenCLstd_vloadn && spv_operand(i, 1) <= OpenCLstd_vstorea_halfn_r;
}

Fate shader_memory(Shader *s, SpvInst *i, SpvId *to)
{
    bool pointer = i->id && address_of(s, i->id);
    switch (i->op) {
    case SpvOpLoad: return lower_load(s, i, to);
    case SpvOpStore: return lower_store(s, i);
    case SpvOpCopyMemorySized: return lower_copy(s, i);
    case SpvOpPtrEqual: case SpvOpPtrNotEqual: case SpvOpPtrDiff: return lower_compare(s, i, to);
    case SpvOpPhi: return pointer ? lower_phi(s, i) : FATE_STAYS;
    case SpvOpSelect: return pointer ? lower_select(s, i) : FATE_STAYS;
    case SpvOpAccessChain: case SpvOpInBoundsAccessChain: case SpvOpPtrAccessChain:
    case SpvOpInBoundsPtrAccessChain:
        return pointer ? lower_chain(s, i) : FATE_STAYS;
    case SpvOpBitcast: case SpvOpCopyObject: case SpvOpPtrCastToGeneric:
    case SpvOpGenericCastToPtr: case SpvOpGenericCastToPtrExplicit:
        return pointer ? lower_cast(s, i) : FATE_STAYS;
    case SpvOpVariable: case SpvOpUndef:
        return pointer ? FATE_GONE : FATE_STAYS;
    case SpvOpLifetimeStart: case SpvOpLifetimeStop:
        return FATE_GONE;
    case SpvOpConvertPtrToU: return lower_address(s, i, to);
    case SpvOpConvertUToPtr:
        return shader_refuse(s, i, "an address as an integer"), FATE_ERROR;
    default:
        return is_vector_access(i) ? vector_access(s, i, to) : FATE_STAYS;
    }
}

/* The values of the pointers' phis where they come from; buffers with several views alias. */
void shader_close_memory(Shader *s)
{
    struct Memory *y = s->memory;
    for (uint32_t p = 0; p < y->pending.len; p++) {
        Pending *w = &y->pending.data[p];
        for (uint32_t k = 0; k + 1 < spv_n_operands(w->old); k += 2) {
            SpvBlock *from = edit_block(s->m, spv_operand(w->old, k + 1));
            const Address *a = address_of(s, spv_operand(w->old, k));
            SpvInst *merge = cfg_merge_inst(from);
            s->at = merge ? merge : from->insts.last;
            SpvId value = a && a->root ? distance(s, a, 0, w->scale) : shader_u32(s, 0);
            edit_add_incoming(s->m, w->phi, value, from->id);
        }
    }
    for (uint32_t k = 0; k < y->roots.len; k++) {
        const Root *r = y->roots.data[k];
        for (uint32_t j = 0; j < r->views.len && r->views.len > 1; j++)
            shader_decorate(s, r->views.data[j].variable, SpvDecorationAliased, 0, 0);
    }
}
