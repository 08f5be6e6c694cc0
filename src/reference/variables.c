/* SPDX-License-Identifier: MIT
 *
 * Variables of module scope become objects: what a dispatch binds, workgroup memory, and what each
 * invocation has of its own.
 */
#include "reference/machine.h"

static bool is_block(RMachine *m, const RType *t)
{
    return t->kind == SPV_STRUCT &&
           (spv_has_decoration(m->module, t->id, -1, SpvDecorationBlock) ||
            spv_has_decoration(m->module, t->id, -1, SpvDecorationBufferBlock));
}

bool mem_is_descriptor_array(RMachine *m, const RType *t, uint32_t storage)
{
    return (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY) && is_block(m, t->element) &&
           (storage == SpvStorageClassStorageBuffer || storage == SpvStorageClassUniform);
}

static uint32_t add_object(RMachine *m, RObject o)
{
    vec_push(m->arena, &m->objects, o);
    return m->objects.len - 1;
}

/* The pointer that stands for a variable. */
static void point_to(RMachine *m, Ref r, uint64_t va, uint64_t prov)
{
    m->cv[r & 0x7fffffff] = va;
    m->cv[(r & 0x7fffffff) + 1] = prov;
}

static void bind_buffer(RMachine *m, SpvInst *i, const RType *t, Ref r)
{
    uint32_t n, n2, count = 1, first = 0;
    const uint32_t *set = spv_decoration(m->module, i->id, -1, SpvDecorationDescriptorSet, &n);
    const uint32_t *binding = spv_decoration(m->module, i->id, -1, SpvDecorationBinding, &n2);
    uint32_t storage = spv_operand(i, 0);
    RObject o = { .storage = storage, .variable = i->id, .shared = true, .writable = true };
    o.set = set && n ? *set : 0;
    o.binding = binding && n2 ? *binding : 0;
    if (mem_is_descriptor_array(m, t, storage)) {
        count = t->count;
        for (uint32_t k = 0; t->kind == SPV_RUNTIME_ARRAY && k < m->d->n_bindings; k++)
            if (m->d->bindings[k].set == o.set && m->d->bindings[k].binding == o.binding)
                count = MAX(count, m->d->bindings[k].element + 1);
        t = t->element;
        count = MIN(MAX(count, 1), 1u << 20);
    }
    if (storage == SpvStorageClassUniform &&
        !spv_has_decoration(m->module, t->id, -1, SpvDecorationBufferBlock))
        o.writable = o.shared = false;
    for (uint32_t k = 0; k < count; k++) {
        o.element = k;
        o.data = NULL;
        o.va = o.size = 0;
        for (uint32_t b = 0; b < m->d->n_bindings; b++) {
            const RefBinding *x = &m->d->bindings[b];
            if (x->set == o.set && x->binding == o.binding && x->element == k) {
                o.data = x->base;
                o.va = (uint64_t)(uintptr_t)x->base;
                o.size = x->base ? x->size : 0;
            }
        }
        uint32_t index = add_object(m, o);
        if (!k)
            first = index;
    }
    m->objects.data[first].row = count;
    point_to(m, r, m->objects.data[first].va, first);
}

static bool is_opaque(const RType *t)
{
    while (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY)
        t = t->element;
    return type_is_opaque(t);
}

/* The variable is an array of ImageBindings. Each image's memory is an object of its own, which the
 * addresses of texels point into. */
static void bind_images(RMachine *m, SpvInst *i, const RType *t, Ref r)
{
    bool open = t->kind == SPV_RUNTIME_ARRAY;
    uint32_t n, count = open ? 1 : (uint32_t)(t->size / sizeof(ImageBinding));
    const uint32_t *set = spv_decoration(m->module, i->id, -1, SpvDecorationDescriptorSet, &n);
    const uint32_t *binding = spv_decoration(m->module, i->id, -1, SpvDecorationBinding, &n);
    RObject o = { .storage = SpvStorageClassImage,
                  .variable = i->id,
                  .shared = true,
                  .writable = true,
                  .set = set ? *set : 0,
                  .binding = binding ? *binding : 0 };
    const RefBinding *all = m->d->bindings;
    for (uint32_t b = 0; open && b < m->d->n_bindings; b++)
        if (all[b].set == o.set && all[b].binding == o.binding)
            count = MAX(count, all[b].element + 1);
    count = MIN(count, 1u << 20);
    ImageBinding *table = NEW_ARRAY(m->arena, ImageBinding, count + 1);
    for (uint32_t b = 0; b < m->d->n_bindings; b++) {
        const RefBinding *x = &all[b];
        if (x->set != o.set || x->binding != o.binding || x->element >= count)
            continue;
        table[x->element] = x->image;
        o.element = x->element;
        if (!x->image.image)
            continue;
        o.data = x->image.image->data;
        o.size = x->image.image->size;
        o.va = (uint64_t)(uintptr_t)o.data;
        add_object(m, o);
    }
    RObject variable = { .storage = SpvStorageClassUniformConstant,
                         .variable = i->id,
                         .data = (uint8_t *)table,
                         .size = count * sizeof *table };
    variable.va = (uint64_t)(uintptr_t)table;
    point_to(m, r, variable.va, add_object(m, variable));
}

static void place_local(RMachine *m, SpvInst *i, const RType *t, Ref r)
{
    uint32_t n;
    uint64_t at = align_up(m->local_bytes, 16);
    m->local_bytes = align_up(at + t->size, 16);
    point_to(m, r, LOCAL_BASE + at, PTR_LOCAL | m->local_objects.len);
    vec_push(m->arena, &m->local_objects, (RLocalObject){ at, t->size, i->id });
    const uint32_t *b = spv_decoration(m->module, i->id, -1, SpvDecorationBuiltIn, &n);
    if (b && n && type_is_wide(t))
        refuse(m, i, "a built-in variable must be a scalar or a vector");
    else if (b && n)
        vec_push(m->arena, &m->builtins, (struct RBuiltin){ at, t, *b });
    SpvId init = spv_n_operands(i) > 1 ? spv_operand(i, 1) : 0;
    if (init)
        vec_push(m->arena, &m->initials, (struct RInitial){ i->id, at, t, ref_of(m, init), 0 });
    if (m->local_bytes > (1ull << 32))
        refuse(m, i, "private variables take too much memory");
}

/* Blocks in workgroup memory share it (SPV_KHR_workgroup_memory_explicit_layout): what the largest
 * of them takes. */
static uint64_t room_of_blocks(RMachine *m)
{
    uint64_t room = 0;
    for (const SpvInst *i = m->module->globals.first; i; i = i->next) {
        if (i->op != SpvOpVariable || spv_operand(i, 0) != SpvStorageClassWorkgroup)
            continue;
        const RType *p = type_get(m, i->type);
        const RType *t = p && p->kind == SPV_POINTER ? type_get(m, p->pointee) : NULL;
        if (t && is_block(m, t))
            room = MAX(room, t->size);
    }
    return room;
}

typedef struct SharedMemory {
    uint64_t bytes; /* of workgroup memory so far */
    uint32_t block; /* the first object that is a block, or 0 */
} SharedMemory;

static void place_shared(RMachine *m, SpvInst *i, const RType *t, Ref r, SharedMemory *s)
{
    bool aliased = is_block(m, t);
    uint64_t room = aliased ? room_of_blocks(m) : t->size;
    SpvId init = spv_n_operands(i) > 1 ? spv_operand(i, 1) : 0;
    RObject o = { .storage = SpvStorageClassWorkgroup,
                  .variable = i->id,
                  .shared = true,
                  .writable = true };
    if (room > (1ull << 32) || s->bytes > (1ull << 32)) {
        refuse(m, i, "workgroup variables take too much memory");
        return;
    }
    o.size = t->size;
    if (aliased && s->block) {
        const RObject *b = &m->objects.data[s->block];
        o.va = b->va;
        o.data = b->data;
        o.undef = b->undef;
    } else {
        o.va = SHARED_BASE + s->bytes;
        o.data = arena_alloc(m->arena, room + 8);
        o.undef = arena_alloc(m->arena, room + 8);
        s->bytes = align_up(s->bytes + room + 64, 64);
    }
    uint32_t index = add_object(m, o);
    if (aliased)
        s->block = index;
    point_to(m, r, o.va, index);
    if (init)
        vec_push(m->arena, &m->initials, (struct RInitial){ i->id, 0, t, ref_of(m, init), index });
}

static void bind_push(RMachine *m, SpvInst *i, Ref r)
{
    RObject o = { .storage = SpvStorageClassPushConstant, .variable = i->id };
    o.data = (uint8_t *)m->d->push;
    o.size = m->d->push ? m->d->push_size : 0;
    o.va = (uint64_t)(uintptr_t)o.data;
    point_to(m, r, o.va, add_object(m, o));
}

/* A constant or a variable of an OpenCL program, one for all. */
static void place_global(RMachine *m, SpvInst *i, const RType *t, Ref r)
{
    RObject o = { .storage = spv_operand(i, 0),
                  .variable = i->id,
                  .shared = true,
                  .size = t->size };
    o.writable = o.storage == SpvStorageClassCrossWorkgroup;
    o.data = arena_alloc(m->arena, t->size + 16);
    o.va = (uint64_t)(uintptr_t)o.data;
    if (spv_n_operands(i) > 1) {
        Ref init = ref_of(m, spv_operand(i, 1));
        uint8_t *undef = arena_alloc(m->arena, t->size + 16);
        mem_initialize(t, leaves_at(&m->const_inv, init), o.data, undef);
    }
    point_to(m, r, o.va, add_object(m, o));
}

static bool initializer_fits(RMachine *m, SpvInst *i, const RType *t)
{
    if (spv_n_operands(i) < 2)
        return true;
    const RType *x = type_of(m, spv_operand(i, 1));
    if (x && ref_of(m, spv_operand(i, 1)) != REF_NONE && x->leaves == t->leaves &&
        x->kind == t->kind)
        return true;
    refuse(m, i, "the initializer is not a constant of the variable's type");
    return false;
}

static void bind_variable(RMachine *m, SpvInst *i, SharedMemory *shared)
{
    const RType *p = type_get(m, i->type);
    if (!p || p->kind != SPV_POINTER || spv_n_operands(i) < 1)
        return;
    const RType *t = type_get(m, p->pointee);
    if (!t || !initializer_fits(m, i, t))
        return;
    Ref r = constant_alloc(m, 2);
    m->value_types[i->id] = p;
    switch (spv_operand(i, 0)) {
    case SpvStorageClassStorageBuffer:
    case SpvStorageClassUniform: bind_buffer(m, i, t, r); break;
    case SpvStorageClassPushConstant: bind_push(m, i, r); break;
    case SpvStorageClassWorkgroup: place_shared(m, i, t, r, shared); break;
    case SpvStorageClassPrivate:
    case SpvStorageClassInput:
    case SpvStorageClassOutput: place_local(m, i, t, r); break;
    case SpvStorageClassUniformConstant:
    case SpvStorageClassCrossWorkgroup:
        if (t->kind == SPV_OTHER)
            return; /* an error where one is used */
        if (is_opaque(t))
            bind_images(m, i, t, r);
        else
            place_global(m, i, t, r);
        break;
    default: return;
    }
    m->refs[i->id] = r;
}

static void initial_images(RMachine *m)
{
    m->local_image = arena_alloc(m->arena, m->local_bytes + 16);
    m->local_undef = arena_alloc(m->arena, m->local_bytes + 16);
    memset(m->local_undef, 1, m->local_bytes);
    for (uint32_t k = 0; k < m->initials.len; k++) {
        const struct RInitial *x = &m->initials.data[k];
        if (!x->object)
            mem_initialize(x->type, leaves_at(&m->const_inv, x->init), m->local_image + x->offset,
                           m->local_undef + x->offset);
    }
    for (uint32_t k = 0; k < m->builtins.len; k++)
        memset(m->local_undef + m->builtins.data[k].offset, 0, m->builtins.data[k].type->size);
}

bool mem_bind(RMachine *m)
{
    SharedMemory shared = { 0 };
    add_object(m, (RObject){ 0 });
    for (SpvInst *i = m->module->globals.first; i && !m->failed; i = i->next)
        if (i->op == SpvOpVariable)
            bind_variable(m, i, &shared);
    for (uint32_t k = 0; k < m->d->n_memory; k++) {
        const RefMemory *x = &m->d->memory[k];
        RObject o = { .storage = SpvStorageClassPhysicalStorageBuffer,
                      .shared = true,
                      .writable = true };
        o.data = x->base;
        o.va = (uint64_t)(uintptr_t)x->base;
        o.size = x->base ? x->size : 0;
        add_object(m, o);
    }
    if (!m->failed)
        initial_images(m);
    return !m->failed;
}

void mem_new_group(RMachine *m)
{
    for (uint32_t k = 1; k < m->objects.len; k++) {
        RObject *o = &m->objects.data[k];
        if (o->storage == SpvStorageClassWorkgroup) {
            memset(o->data, 0, o->size);
            memset(o->undef, 1, o->size);
        }
    }
    for (uint32_t k = 0; k < m->initials.len; k++) {
        const struct RInitial *x = &m->initials.data[k];
        if (x->object) {
            RObject *o = &m->objects.data[x->object];
            mem_initialize(x->type, leaves_at(&m->const_inv, x->init), o->data, o->undef);
        }
    }
}
