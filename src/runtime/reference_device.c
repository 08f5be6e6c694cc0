/* SPDX-License-Identifier: MIT
 *
 * The reference device: kernels are interpreted from the module as it was read.
 */
#include "reference/reference.h"
#include "runtime/runtime.h"

static const RefArgKind argument_kinds[] = { [SPV_ARGUMENT_BUFFER] = REF_ARG_BUFFER,
                                             [SPV_ARGUMENT_LOCAL] = REF_ARG_LOCAL,
                                             [SPV_ARGUMENT_VALUE] = REF_ARG_VALUE };

static RefSpec *list_specs(const HeddleKernel *k, Arena *scratch)
{
    RefSpec *specs = NEW_ARRAY(scratch, RefSpec, k->n_specs);
    for (uint32_t i = 0; i < k->n_specs; i++)
        specs[i] = (RefSpec){ k->specs[i].id, k->specs[i].bits };
    return specs;
}

/* As the kernel asks for them, but empty. */
static RefArg *empty_arguments(HeddleKernel *k, Arena *scratch)
{
    RefArg *list = NEW_ARRAY(scratch, RefArg, k->info->n_bindings + 1);
    for (uint32_t i = 0; i < k->info->n_bindings; i++) {
        uint64_t size = k->arguments[i].kind == SPV_ARGUMENT_VALUE ? k->arguments[i].size : 0;
        list[i] = (RefArg){ argument_kinds[k->arguments[i].kind],
                            size ? arena_alloc(scratch, size) : NULL, size };
    }
    return list;
}

/* What a dispatch would refuse is refused at once. */
static HeddleResult prepare(HeddleKernel *k, DiagSink *sink)
{
    RefDispatch d = { .entry = k->info->entry, .spec = list_specs(k, &k->arena),
                      .n_spec = k->n_specs, .subgroup_size = k->subgroup_size };
    memcpy(d.local_size, k->info->local_size, sizeof d.local_size);
    if (k->opencl) {
        d.args = empty_arguments(k, &k->arena);
        d.n_args = k->info->n_bindings;
    }
    return ref_prepare(spv_clone(&k->arena, k->module), &d, sink) ? HEDDLE_OK
                                                                   : HEDDLE_ERROR_UNSUPPORTED;
}

static HeddleResult compile(HeddleKernel *k, const HeddleModule *m, const HeddleKernelOptions *o,
                            DiagSink *sink)
{
    if (o->emit > HEDDLE_EMIT_SPIRV) {
        diag(sink, DIAG_ERROR, NULL, NULL, "the reference device generates no code to show");
        return HEDDLE_ERROR_UNSUPPORTED;
    }
    k->module = spv_clone(&k->arena, m->spv);
    if (o->emit == HEDDLE_EMIT_SPIRV)
        k->text = spv_write(&k->arena, k->module, &k->text_size);
    if (k->subgroup_size)
        k->info->subgroup_size = k->subgroup_size;
    else if (!k->info->subgroup_size)
        k->info->subgroup_size = k->device->info.default_subgroup_size;
    for (int i = 0; i < 3; i++) {
        if (!k->info->local_size[i] && !(k->opencl && !o->local_size[0]))
            k->info->local_size[i] = MAX(o->local_size[i], 1);
    }
    return prepare(k, sink);
}

static void release(HeddleKernel *k) { (void)k; }

static RefArg *list_arguments(const HeddleKernel *k, const Bound *b, Arena *scratch)
{
    RefArg *list = NEW_ARRAY(scratch, RefArg, k->info->n_bindings + 1);
    for (uint32_t i = 0; i < k->info->n_bindings; i++) {
        const SpvArgument *a = &k->arguments[i];
        const CpuBinding *given = b->bindings[i];
        list[i] = (RefArg){ argument_kinds[a->kind], given->base, given->size };
        if (a->kind != SPV_ARGUMENT_VALUE || given->size >= a->size)
            continue;
        list[i].base = arena_alloc(scratch, a->size);
        memcpy(list[i].base, given->base, given->size);
        list[i].size = a->size;
    }
    return list;
}

static RefBinding binding_of(const HeddleBindingInfo *info, uint32_t element, const CpuBinding *b,
                             bool image)
{
    RefBinding r = { .set = info->set, .binding = info->binding, .element = element };
    if (image) {
        memcpy(&r.image, b, sizeof r.image);
    } else {
        r.base = b->base;
        r.size = b->size;
    }
    return r;
}

static RefBinding *list_bindings(HeddleKernel *k, const Bound *b, uint32_t *count, Arena *scratch)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->info->n_bindings; i++)
        n += b->counts[i];
    RefBinding *list = NEW_ARRAY(scratch, RefBinding, n);
    *count = n;
    n = 0;
    for (uint32_t i = 0; i < k->info->n_bindings; i++) {
        const HeddleBindingInfo *info = &k->info->bindings[i];
        for (uint32_t j = 0; j < b->counts[i]; j++)
            list[n++] = binding_of(info, j, &b->bindings[i][j],
                                   b->images ? b->images[i][j]
                                             : info->kind == HEDDLE_BINDING_IMAGE);
    }
    return list;
}

/* Every buffer of the device, as it is now: where physical pointers may lead. */
static RefMemory *list_memory(HeddleDevice *device, uint32_t *count, Arena *scratch)
{
    VEC(RefMemory) list = { 0 };
    uint32_t n = 0;
    pthread_mutex_lock(&device->lock);
    for (const HeddleBuffer *b = device->buffers; b; b = b->next)
        n++;
    pthread_mutex_unlock(&device->lock);
    /* Memory is taken outside the lock, as running out of it would leave the lock held. */
    vec_reserve(scratch, &list, n);
    pthread_mutex_lock(&device->lock);
    for (const HeddleBuffer *b = device->buffers; b && list.len < n; b = b->next)
        list.data[list.len++] = (RefMemory){ b->data, b->size };
    pthread_mutex_unlock(&device->lock);
    *count = list.len;
    return list.data;
}

static HeddleResult dispatch(HeddleKernel *k, const Bound *b, HeddleReport *report, Arena *scratch,
                             DiagSink *sink)
{
    (void)report; /* the interpreter counts nothing */
    RefDispatch d = { .entry = k->info->entry, .spec = list_specs(k, scratch),
                      .n_spec = k->n_specs, .push = b->push, .push_size = (uint32_t)b->push_size,
                      .subgroup_size = k->subgroup_size,
                      .check = k->check ? REF_CHECK_ALL : REF_CHECK_NONE,
                      .seed = b->dispatch->seed, .budget = b->dispatch->budget };
    if (k->opencl) {
        d.args = list_arguments(k, b, scratch);
        d.n_args = k->info->n_bindings;
    } else {
        d.bindings = list_bindings(k, b, &d.n_bindings, scratch);
    }
    d.memory = list_memory(k->device, &d.n_memory, scratch);
    if (k->check_portability)
        d.check |= REF_CHECK_PORTABILITY;
    memcpy(d.n_groups, b->groups, sizeof d.n_groups);
    memcpy(d.enqueued_size, b->local_size, sizeof d.enqueued_size);
    memcpy(d.global_size, b->global_size, sizeof d.global_size);
    memcpy(d.global_offset, b->dispatch->global_offset, sizeof d.global_offset);
    d.work_dim = b->global_size[2] > 1 ? 3 : b->global_size[1] > 1 ? 2 : b->global_size[0] != 0;
    d.print = b->dispatch->print ? dispatch_print : NULL;
    d.user = (void *)b->dispatch;
    RefResult result = { 0 };
    uint32_t errors = sink->errors;
    Region part;
    for (uint32_t n = 0; dispatch_region(b, &n, &part);) {
        memcpy(d.groups, part.groups, sizeof d.groups);
        memcpy(d.base_group, part.first, sizeof d.base_group);
        memcpy(d.local_size, k->opencl ? part.local_size : k->info->local_size,
               sizeof d.local_size);
        /* The interpreter fills the module's side tables, so each run has a module of its own. */
        if (!ref_dispatch(scratch, spv_clone(scratch, k->module), &d, &result, sink))
            return HEDDLE_ERROR_RUN;
    }
    return sink->errors > errors ? HEDDLE_ERROR_RUN : HEDDLE_OK;
}

const DeviceOps reference_device_ops = { compile, release, dispatch };
