/* SPDX-License-Identifier: MIT
 *
 * shader, roots: finds where the pointers of a kernel point, before anything is rewritten. In: a
 * kernel of an OpenCL module. Out: its roots (arguments and variables, and null, which is number
 * 0); for each pointer the set of roots that it may lead into and a power of two that divides its
 * distance from where they begin; for each root the smallest pieces that it is accessed by.
 *
 * A pointer that is read from memory, or made of an integer, leads into any root of its storage
 * class that a pointer in memory or an integer has been made of.
 */
#include "pass/shader.h"

enum { GRAIN_ANY = 16 };

uint32_t shader_grain(uint64_t x)
{
    uint64_t lowest = x & (0 - x);
    return lowest ? (uint32_t)MIN(lowest, GRAIN_ANY) : GRAIN_ANY;
}

ShaderAddress *shader_address(const Shader *s, SpvId id)
{
    return id < s->memory->n ? s->memory->address[id] : NULL;
}

const ShaderAddress *shader_pointed(const Shader *s, SpvId id)
{
    const SpvInst *def = spv_def(s->m, id);
    return def && def->op == SpvOpConstantNull ? s->memory->null : shader_address(s, id);
}

bool shader_may_be(const ShaderAddress *a, const ShaderRoot *r)
{
    return a->set && (a->set[r->index / 64] >> r->index % 64 & 1);
}

static bool is_pointer_type(Shader *s, SpvId type)
{
    const SpvType *t = type ? spv_type(s->m, type) : NULL;
    return t && t->kind == SPV_POINTER;
}

const SpvType *shader_scalar(const SpvType *t)
{
    while (t && (t->kind == SPV_VECTOR || t->kind == SPV_COOPMAT || t->kind == SPV_ARRAY))
        t = t->element;
    return t;
}

bool shader_in_class(const ShaderRoot *r, uint32_t storage)
{
    bool buffer = r->storage == SpvStorageClassStorageBuffer;
    switch (storage) {
    case SpvStorageClassCrossWorkgroup: return buffer;
    case SpvStorageClassUniformConstant: return buffer || r->storage == SpvStorageClassPrivate;
    case SpvStorageClassFunction:
        return r->storage == SpvStorageClassFunction || r->storage == SpvStorageClassPushConstant;
    case SpvStorageClassGeneric: return true;
    default: return r->storage == storage;
    }
}

/* ---- sets ------------------------------------------------------------------------------------ */

static ShaderAddress *new_address(Shader *s)
{
    ShaderAddress *a = NEW(s->a, ShaderAddress);
    a->set = NEW_ARRAY(s->a, uint64_t, s->memory->n_words);
    a->grain = GRAIN_ANY;
    return a;
}

static void add_root(ShaderAddress *a, const ShaderRoot *r)
{
    a->set[r->index / 64] |= UINT64_C(1) << r->index % 64;
}

/* Adds what `from` may lead into of that storage class, and null in place of what is left out. */
static void unite(Shader *s, ShaderAddress *to, const ShaderAddress *from, uint32_t storage)
{
    const struct ShaderMemory *y = s->memory;
    if (!from || !from->set)
        return;
    for (uint32_t k = 0; k < y->roots.len; k++) {
        const ShaderRoot *r = y->roots.data[k];
        if (shader_may_be(from, r))
            add_root(to, !k || shader_in_class(r, storage) ? r : y->roots.data[0]);
    }
    to->grain = MIN(to->grain, from->grain);
}

static bool differ(const Shader *s, const ShaderAddress *a, const ShaderAddress *b)
{
    return a->grain != b->grain || memcmp(a->set, b->set, s->memory->n_words * sizeof *a->set);
}

/* ---- roots ----------------------------------------------------------------------------------- */

static ShaderRoot *new_root(Shader *s, const SpvInst *def, uint32_t storage)
{
    ShaderRoot *r = NEW(s->a, ShaderRoot);
    *r = (ShaderRoot){ .def = def, .storage = storage, .index = s->memory->roots.len };
    vec_push(s->a, &s->memory->roots, r);
    return r;
}

/* Shaders have no events, so events need no memory. */
static bool holds_events(const SpvType *t)
{
    t = shader_scalar(t);
    return t && t->kind == SPV_EVENT;
}

static bool variable_root(Shader *s, const SpvInst *v)
{
    const SpvType *t = spv_type(s->m, v->type);
    uint32_t storage = spv_operand(v, 0), align;
    bool constant = storage == SpvStorageClassUniformConstant;
    if (storage == SpvStorageClassInput)
        return true;
    if (constant ? spv_n_operands(v) < 2
                 : storage != SpvStorageClassWorkgroup && storage != SpvStorageClassFunction)
        return shader_refuse(s, v, "a variable of the program in global memory");
    ShaderRoot *r = new_root(s, v, constant ? SpvStorageClassPrivate : storage);
    r->size = holds_events(t->element) ? 1 : spv_opencl_size(s->m, t->element, &align);
    return r->size != 0 || shader_refuse(s, v, "a variable of this type");
}

static void argument_roots(Shader *s)
{
    const SpvArguments *list = &s->memory->arguments;
    for (uint32_t k = 0; k < list->n; k++) {
        const SpvArgument *a = &list->list[k];
        if (a->kind == SPV_ARGUMENT_VALUE && !a->by_reference)
            continue;
        ShaderRoot *r = new_root(s, spv_def(s->m, a->id),
                                 a->kind == SPV_ARGUMENT_BUFFER  ? SpvStorageClassStorageBuffer
                                 : a->kind == SPV_ARGUMENT_LOCAL ? SpvStorageClassWorkgroup
                                                                 : SpvStorageClassPushConstant);
        r->number = k;
        r->size = a->kind == SPV_ARGUMENT_VALUE ? a->size : 0;
    }
}

static bool find_roots(Shader *s)
{
    struct ShaderMemory *y = s->memory;
    new_root(s, NULL, UINT32_MAX); /* null */
    argument_roots(s);
    for (SpvInst *i = s->m->globals.first; i; i = i->next)
        if (i->op == SpvOpVariable && i->id < s->bound && !variable_root(s, i))
            return false;
    for (SpvInst *i = s->f->first->insts.first; i; i = i->next)
        if (i->op == SpvOpVariable && !variable_root(s, i))
            return false;
    y->n_words = (y->roots.len + 63) / 64;
    for (uint32_t k = 0; k < y->roots.len; k++) {
        ShaderAddress *a = new_address(s);
        add_root(a, y->roots.data[k]);
        if (k)
            y->address[y->roots.data[k]->def->id] = a;
        else
            y->null = a;
    }
    return true;
}

/* ---- where pointers lead --------------------------------------------------------------------- */

ShaderChain shader_chain(Shader *s, const SpvInst *i)
{
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 0));
    return (ShaderChain){ s, i, t ? t->element : NULL, 1 };
}

/* From one element of an array to the next. */
static uint64_t stride_of_root(Shader *s, const SpvType *t)
{
    uint32_t align;
    uint64_t size = t ? spv_opencl_size(s->m, t, &align) : 0;
    return size ? align_up(size, align) : 0;
}

bool shader_chain_step(ShaderChain *c, SpvId *index, uint64_t *scale)
{
    const SpvInst *i = c->inst;
    bool element =
        c->next == 1 && (i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain);
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
    *scale = stride_of_root(c->s, c->type);
    return *scale != 0;
}

static uint32_t chain_grain(Shader *s, const SpvInst *i)
{
    ShaderChain c = shader_chain(s, i);
    uint32_t grain = GRAIN_ANY;
    SpvId index;
    uint64_t scale, k;
    while (shader_chain_step(&c, &index, &scale)) {
        bool constant = index && shader_constant(s, index, &k);
        grain = MIN(grain, shader_grain(constant ? scale * k : scale));
    }
    return grain;
}

static bool follow_inst(Shader *s, const SpvInst *i, ShaderAddress *now)
{
    struct ShaderMemory *y = s->memory;
    uint32_t storage = spv_type(s->m, i->type)->storage;
    switch (i->op) {
    case SpvOpPhi:
        for (uint32_t k = 0; k < spv_n_operands(i); k += 2)
            unite(s, now, shader_pointed(s, spv_operand(i, k)), SpvStorageClassGeneric);
        return true;
    case SpvOpSelect:
        unite(s, now, shader_pointed(s, spv_operand(i, 1)), SpvStorageClassGeneric);
        unite(s, now, shader_pointed(s, spv_operand(i, 2)), SpvStorageClassGeneric);
        return true;
    case SpvOpBitcast:
    case SpvOpCopyObject:
    case SpvOpPtrCastToGeneric:
    case SpvOpGenericCastToPtr:
        unite(s, now, shader_pointed(s, spv_operand(i, 0)), SpvStorageClassGeneric);
        return true;
    case SpvOpGenericCastToPtrExplicit:
        unite(s, now, shader_pointed(s, spv_operand(i, 0)), spv_operand(i, 1));
        return true;
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
    case SpvOpPtrAccessChain:
    case SpvOpInBoundsPtrAccessChain:
        unite(s, now, shader_pointed(s, spv_operand(i, 0)), SpvStorageClassGeneric);
        now->grain = MIN(now->grain, chain_grain(s, i));
        return true;
    case SpvOpLoad:
    case SpvOpConvertUToPtr:
        unite(s, now, y->escaped, storage);
        add_root(now, y->roots.data[0]);
        now->grain = 1;
        return true;
    case SpvOpUndef: return true;
    default:
        return shader_refuse(s, i, "a pointer that is no argument's, variable's or part of one");
    }
}

/* Pointers that are stored in memory or become integers may come back from there. */
static void escape(Shader *s, const SpvInst *i, bool *changed)
{
    struct ShaderMemory *y = s->memory;
    bool stored = i->op == SpvOpStore && spv_type_of(s->m, spv_operand(i, 1))->kind == SPV_POINTER;
    if (!stored && i->op != SpvOpConvertPtrToU)
        return;
    ShaderAddress *now = new_address(s);
    unite(s, now, y->escaped, SpvStorageClassGeneric);
    unite(s, now, shader_pointed(s, spv_operand(i, stored ? 1 : 0)), SpvStorageClassGeneric);
    *changed |= differ(s, now, y->escaped);
    y->escaped = now;
}

/* The variables whose addresses a constant holds. */
static void escape_constant(Shader *s, SpvId id)
{
    const SpvInst *def = spv_def(s->m, id);
    if (def->op == SpvOpVariable)
        unite(s, s->memory->escaped, shader_address(s, id), SpvStorageClassGeneric);
    for (uint32_t k = 0; def->op == SpvOpConstantComposite && k < spv_n_operands(def); k++)
        escape_constant(s, spv_operand(def, k));
}

static bool trace_inst(Shader *s, const SpvInst *i, bool *changed)
{
    ShaderAddress **slot = &s->memory->address[i->id];
    if (!i->id || i->op == SpvOpVariable || !is_pointer_type(s, i->type)) {
        escape(s, i, changed);
        return true;
    }
    if (!*slot)
        *slot = new_address(s);
    ShaderAddress *now = new_address(s);
    unite(s, now, *slot, SpvStorageClassGeneric);
    if (!follow_inst(s, i, now))
        return false;
    *changed |= differ(s, now, *slot);
    **slot = *now;
    return true;
}

/* The only root, or how many there are. */
static void conclude(Shader *s, ShaderAddress *a)
{
    const struct ShaderMemory *y = s->memory;
    a->root = NULL;
    a->n_roots = 0;
    for (uint32_t k = 1; k < y->roots.len; k++) {
        if (!shader_may_be(a, y->roots.data[k]))
            continue;
        a->root = a->n_roots++ ? NULL : y->roots.data[k];
    }
    a->varies = a->n_roots + shader_may_be(a, y->roots.data[0]) > 1;
}

static bool follow_all(Shader *s)
{
    struct ShaderMemory *y = s->memory;
    bool changed = true;
    y->escaped = new_address(s);
    for (uint32_t k = 1; k < y->roots.len; k++)
        if (y->roots.data[k]->storage == SpvStorageClassPrivate)
            escape_constant(s, spv_operand(y->roots.data[k]->def, 1));
    while (changed) {
        changed = false;
        for (uint32_t p = 0; p + 1 < s->g->n; p++)
            for (SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
                if (!trace_inst(s, i, &changed))
                    return false;
    }
    for (uint32_t k = 0; k < y->n; k++)
        if (y->address[k])
            conclude(s, y->address[k]);
    return true;
}

/* ---- what accesses there are ----------------------------------------------------------------- */

static void note_root(ShaderRoot *r, const SpvType *t, bool atomic, bool writes)
{
    bool smaller = !r->unit || t->bits < r->unit;
    r->written |= writes;
    if (smaller || (t->bits == r->unit && atomic && !r->by_atomics)) {
        r->unit = t->bits;
        r->unit_type = t->id;
        r->by_atomics = atomic;
    }
}

static void note(Shader *s, SpvId pointer, const SpvType *t, bool atomic, bool writes)
{
    const struct ShaderMemory *y = s->memory;
    const ShaderAddress *a = shader_address(s, pointer);
    t = shader_scalar(t);
    if (t && t->kind == SPV_POINTER)
        t = spv_type(s->m, s->u32);
    for (uint32_t k = 1; a && t && t->bits && k < y->roots.len; k++)
        if (shader_may_be(a, y->roots.data[k]))
            note_root(y->roots.data[k], t, atomic, writes);
}

uint32_t shader_copy_piece(const Shader *s, const SpvInst *i, uint64_t size)
{
    const ShaderAddress *to = shader_address(s, spv_operand(i, 0));
    const ShaderAddress *from = shader_address(s, spv_operand(i, 1));
    uint32_t grain = MIN(shader_grain(size), 4);
    return MIN(grain, MIN(to ? to->grain : 1, from ? from->grain : 1));
}

/* The pieces that both sides of a copy are made of. */
static bool note_copy(Shader *s, const SpvInst *i)
{
    uint64_t size;
    if (!shader_constant(s, spv_operand(i, 2), &size))
        return shader_refuse(s, i, "a copy of a size that is not constant");
    SpvId piece = spv_int_type(s->m, shader_copy_piece(s, i, size) * 8, false);
    note(s, spv_operand(i, 0), spv_type(s->m, piece), false, true);
    note(s, spv_operand(i, 1), spv_type(s->m, piece), false, false);
    return true;
}

static bool note_function(Shader *s, const SpvInst *i)
{
    uint32_t number = spv_operand(i, 1);
    bool writes = number != OpenCLstd_vloadn && number != OpenCLstd_vload_half &&
                  number != OpenCLstd_vload_halfn && number != OpenCLstd_vloada_halfn;
    for (uint32_t k = 2; k < spv_n_operands(i); k++)
        if (shader_accesses(i, k) && shader_address(s, spv_operand(i, k)))
            note(s, spv_operand(i, k), spv_type_of(s->m, spv_operand(i, k))->element, false,
                 writes);
    return true;
}

static bool note_access(Shader *s, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    const SpvType *own = i->type ? spv_type(s->m, i->type) : NULL;
    switch (i->op) {
    case SpvOpLoad:
    case SpvOpCooperativeMatrixLoadKHR: note(s, spv_operand(i, 0), own, false, false); return true;
    case SpvOpStore:
    case SpvOpCooperativeMatrixStoreKHR:
    case SpvOpAtomicStore:
        own = spv_type_of(s->m, spv_operand(i, i->op == SpvOpAtomicStore ? 3 : 1));
        note(s, spv_operand(i, 0), own, i->op == SpvOpAtomicStore, true);
        return true;
    case SpvOpCopyMemorySized: return note_copy(s, i);
    case SpvOpGroupAsyncCopy:
        own = spv_type_of(s->m, spv_operand(i, 1))->element;
        note(s, spv_operand(i, 1), own, false, true);
        note(s, spv_operand(i, 2), own, false, false);
        return true;
    case SpvOpAtomicFlagTestAndSet:
    case SpvOpAtomicFlagClear:
        note(s, spv_operand(i, 0), spv_type(s->m, s->u32), true, true);
        return true;
    case SpvOpExtInst: return i->ext_set != SPV_SET_OpenCLstd_ || note_function(s, i);
    default:
        if (info && info->flags & SPV_OPF_ATOMIC)
            note(s, spv_operand(i, 0), own, true, i->op != SpvOpAtomicLoad);
        return true;
    }
}

bool shader_accesses(const SpvInst *i, uint32_t k)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    switch (i->op) {
    case SpvOpLoad:
    case SpvOpStore:
    case SpvOpCooperativeMatrixLoadKHR:
    case SpvOpCooperativeMatrixStoreKHR: return k == 0;
    case SpvOpCopyMemorySized: return k < 2;
    case SpvOpGroupAsyncCopy: return k == 1 || k == 2;
    case SpvOpExtInst:
        return k >= 2 && i->ext_set == SPV_SET_OpenCLstd_ &&
               spv_operand(i, 1) != OpenCLstd_printf && spv_operand(i, 1) != OpenCLstd_prefetch;
    default: return k == 0 && info && info->flags & SPV_OPF_ATOMIC;
    }
}

bool shader_find_memory(Shader *s)
{
    struct ShaderMemory *y = s->memory = NEW(s->a, struct ShaderMemory);
    y->n = s->m->bound;
    y->address = NEW_ARRAY(s->a, ShaderAddress *, y->n);
    if (!spv_kernel_arguments(s->a, s->m, s->f, &y->arguments, s->c->sink))
        return false;
    if (!find_roots(s) || !follow_all(s))
        return false;
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            if (!note_access(s, i))
                return false;
    return true;
}
