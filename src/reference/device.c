/* SPDX-License-Identifier: MIT
 *
 * The reference device: kernels are interpreted from the module as it was read.
 */
#include "reference/device.h"

#include <pthread.h>
#include <stdlib.h>

#include "reference/reference.h"

/* A piece of memory, and its place among all of the device's. */
typedef struct RefPiece {
    struct RefPiece *prev, *next;
    RefMemory memory;
} RefPiece;

typedef struct RefDevice {
    DeviceBase base;
    pthread_mutex_t lock; /* of pieces */
    RefPiece *pieces;     /* all there are: where a kernel's physical pointers may lead */
} RefDevice;

typedef struct RefKernel {
    DeviceKernel base;
    const SpvModule *module; /* its own copy, not specialised */
    const char *entry;
    const SpvSpecValue *specs;
    uint32_t n_specs;
    const SpvArguments *arguments; /* of an OpenCL kernel; or NULL */
    uint32_t subgroup_size;        /* asked for */
    uint32_t check;                /* REF_CHECK_* */
    bool stats;
} RefKernel;

/* ---- the device and its memory --------------------------------------------------------------- */

static const uint32_t subgroup_sizes[] = { 1, 2, 4, 8, 16, 32, 64, 128 };

static HeddleResult open_reference(const DeviceOptions *o, DeviceBase **out, DiagSink *sink)
{
    (void)o;
    RefDevice *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d) {
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return HEDDLE_ERROR_MEMORY;
    }
    pthread_mutex_init(&d->lock, NULL);
    d->base.ops = &reference_device_ops;
    d->base.info = (DeviceInfo){
        .name = "interpreter",
        .target = "",
        .threads = 1,
        .subgroup_sizes = subgroup_sizes,
        .n_subgroup_sizes = COUNT_OF(subgroup_sizes),
        .default_subgroup_size = 32,
        .checks = true,
        .wants_images = true,
    };
    *out = &d->base;
    return HEDDLE_OK;
}

static void close_reference(DeviceBase *base)
{
    RefDevice *d = (RefDevice *)base;
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static bool add_piece(RefDevice *d, DeviceMemory *m)
{
    RefPiece *p = calloc(1, sizeof *p);
    if (!p)
        return false;
    p->memory = (RefMemory){ m->host, m->size };
    m->own = p;
    pthread_mutex_lock(&d->lock);
    p->next = d->pieces;
    if (p->next)
        p->next->prev = p;
    d->pieces = p;
    pthread_mutex_unlock(&d->lock);
    return true;
}

static bool alloc_piece(DeviceBase *d, uint64_t size, HeddlePlacement placement, DeviceMemory *out)
{
    if (!host_memory_alloc(d, size, placement, out))
        return false;
    if (add_piece((RefDevice *)d, out))
        return true;
    host_memory_free(d, out);
    return false;
}

static bool wrap_piece(DeviceBase *d, void *data, uint64_t size, DeviceMemory *out)
{
    return host_memory_wrap(d, data, size, out) && add_piece((RefDevice *)d, out);
}

static void free_piece(DeviceBase *base, DeviceMemory *m)
{
    RefDevice *d = (RefDevice *)base;
    RefPiece *p = m->own;
    pthread_mutex_lock(&d->lock);
    if (p->next)
        p->next->prev = p->prev;
    if (p->prev)
        p->prev->next = p->next;
    else
        d->pieces = p->next;
    pthread_mutex_unlock(&d->lock);
    free(p);
    host_memory_free(base, m);
}

/* Every piece, as it is now. */
static RefMemory *list_memory(RefDevice *d, uint32_t *count, Arena *scratch)
{
    VEC(RefMemory) list = { 0 };
    uint32_t n = 0;
    pthread_mutex_lock(&d->lock);
    for (const RefPiece *p = d->pieces; p; p = p->next)
        n++;
    pthread_mutex_unlock(&d->lock);
    /* Memory is taken outside the lock, as running out of it would leave the lock held. */
    vec_reserve(scratch, &list, n);
    pthread_mutex_lock(&d->lock);
    for (const RefPiece *p = d->pieces; p && list.len < n; p = p->next)
        list.data[list.len++] = p->memory;
    pthread_mutex_unlock(&d->lock);
    *count = list.len;
    return list.data;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static const RefArgKind argument_kinds[] = { [SPV_ARGUMENT_BUFFER] = REF_ARG_BUFFER,
                                             [SPV_ARGUMENT_LOCAL] = REF_ARG_LOCAL,
                                             [SPV_ARGUMENT_VALUE] = REF_ARG_VALUE };

/* As the kernel asks for them; a value that nothing is given for is zeros. */
static RefArg *list_arguments(const RefKernel *k, const DeviceBinding *const *given, Arena *scratch)
{
    RefArg *list = NEW_ARRAY(scratch, RefArg, k->arguments->n + 1);
    for (uint32_t i = 0; i < k->arguments->n; i++) {
        const SpvArgument *a = &k->arguments->list[i];
        DeviceBinding b = given ? *given[i] : (DeviceBinding){ 0 };
        list[i] = (RefArg){ argument_kinds[a->kind], b.base, b.size };
        if (a->kind != SPV_ARGUMENT_VALUE || b.size >= a->size)
            continue;
        list[i].base = arena_alloc(scratch, a->size);
        if (b.size)
            memcpy(list[i].base, b.base, b.size);
        list[i].size = a->size;
    }
    return list;
}

static RefDispatch dispatch_of(const RefKernel *k)
{
    return (RefDispatch){ .entry = k->entry,
                          .spec = k->specs,
                          .n_spec = k->n_specs,
                          .subgroup_size = k->subgroup_size,
                          .n_args = k->arguments ? k->arguments->n : 0 };
}

static void choose_sizes(RefKernel *k, const DeviceCompile *how)
{
    k->subgroup_size = how->subgroup_size;
    uint32_t required = how->required_subgroup_size;
    k->base.subgroup_size = how->subgroup_size ? how->subgroup_size
                            : required         ? required
                                               : k->base.device->info.default_subgroup_size;
    for (int i = 0; i < 3; i++) {
        k->base.local_size[i] = how->local_size[i];
        if (!how->local_size[i] && !(how->arguments && !how->wanted_size[0]))
            k->base.local_size[i] = MAX(how->wanted_size[i], 1);
    }
}

static HeddleResult compile_for_reference(DeviceBase *d, const DeviceCompile *how, Arena *arena,
                                          DeviceKernel **out, DiagSink *sink)
{
    if (how->emit > HEDDLE_EMIT_SPIRV) {
        diag(sink, DIAG_ERROR, NULL, NULL, "the reference device generates no code to show");
        return HEDDLE_ERROR_UNSUPPORTED;
    }
    RefKernel *k = NEW(arena, RefKernel);
    k->base = (DeviceKernel){ .device = d,
                              .slots = how->slots,
                              .n_slots = how->n_slots,
                              .shared_bytes = how->shared_bytes,
                              .push_bytes = how->push_bytes };
    k->module = spv_clone(arena, how->module);
    k->entry = how->entry;
    k->specs = how->specs;
    k->n_specs = how->n_specs;
    k->arguments = how->arguments;
    k->check = (how->check ? REF_CHECK_ALL | REF_CHECK_FINITE : REF_CHECK_NONE) |
               (how->check_portability ? REF_CHECK_PORTABILITY : REF_CHECK_NONE);
    k->stats = how->stats;
    choose_sizes(k, how);
    if (how->emit == HEDDLE_EMIT_SPIRV)
        k->base.text = spv_write(arena, k->module, &k->base.text_size);
    *out = &k->base;
    /* What a dispatch would refuse is refused at once. */
    RefDispatch x = dispatch_of(k);
    memcpy(x.local_size, k->base.local_size, sizeof x.local_size);
    if (k->arguments)
        x.args = list_arguments(k, NULL, arena);
    return ref_prepare(spv_clone(arena, k->module), &x, sink) ? HEDDLE_OK
                                                              : HEDDLE_ERROR_UNSUPPORTED;
}

/* All of it is in the arena. */
static void release_interpreted(DeviceKernel *k) { (void)k; }

/* ---- dispatches ------------------------------------------------------------------------------ */

static RefBinding binding_of(const DeviceSlot *slot, uint32_t element, const DeviceBinding *b,
                             bool image)
{
    RefBinding r = { .set = slot->set, .binding = slot->binding, .element = element };
    if (image) {
        memcpy(&r.image, b, sizeof r.image);
    } else {
        r.base = b->base;
        r.size = b->size;
    }
    return r;
}

static RefBinding *list_bindings(const DeviceDispatch *x, uint32_t *count, Arena *scratch)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->kernel->n_slots; i++)
        n += x->counts[i];
    RefBinding *list = NEW_ARRAY(scratch, RefBinding, n);
    *count = n;
    n = 0;
    for (uint32_t i = 0; i < x->kernel->n_slots; i++) {
        const DeviceSlot *slot = &x->kernel->slots[i];
        for (uint32_t j = 0; j < x->counts[i]; j++) {
            bool image = x->images ? x->images[i][j] : slot->kind == DEVICE_SLOT_IMAGE;
            list[n++] = binding_of(slot, j, &x->slots[i][j], image);
        }
    }
    return list;
}

static void add_counts(uint64_t *stats, const RefCounts *c)
{
    stats[DEVICE_STAT_MATRIX_LOADS] += c->matrix_loads;
    stats[DEVICE_STAT_MATRIX_STORES] += c->matrix_stores;
    stats[DEVICE_STAT_MULADDS] += c->muladds;
    stats[DEVICE_STAT_FLOPS] += c->flops;
    stats[DEVICE_STAT_CONVERSIONS] += c->conversions;
    stats[DEVICE_STAT_BARRIERS] += c->barriers;
    stats[DEVICE_STAT_BYTES_LOADED] += c->bytes_loaded;
    stats[DEVICE_STAT_BYTES_STORED] += c->bytes_stored;
    for (int k = 0; k < HEDDLE_N_ACCESSES; k++) {
        stats[DEVICE_STAT_ACCESSES + k] += c->accesses[k];
        stats[DEVICE_STAT_ACCESS_BYTES + k] += c->access_bytes[k];
    }
}

static HeddleResult interpret(DeviceBase *device, DeviceDispatch *x, Arena *scratch, DiagSink *sink)
{
    const RefKernel *k = (const RefKernel *)x->kernel;
    RefDispatch d = dispatch_of(k);
    d.push = x->push;
    d.push_size = (uint32_t)k->base.push_bytes;
    d.check = k->check;
    d.count = k->stats;
    d.seed = x->seed;
    d.budget = x->budget;
    d.print = x->print;
    d.user = x->user;
    d.live = x->live;
    d.stop = x->stop;
    d.progress = x->progress;
    d.progress_user = x->progress_user;
    d.work_dim = device_work_dim(x);
    if (k->arguments)
        d.args = list_arguments(k, x->slots, scratch);
    else
        d.bindings = list_bindings(x, &d.n_bindings, scratch);
    d.memory = list_memory((RefDevice *)device, &d.n_memory, scratch);
    memcpy(d.n_groups, x->groups, sizeof d.n_groups);
    memcpy(d.enqueued_size, x->local_size, sizeof d.enqueued_size);
    memcpy(d.global_size, x->global_size, sizeof d.global_size);
    memcpy(d.global_offset, x->global_offset, sizeof d.global_offset);
    RefResult result = { 0 };
    uint32_t errors = sink->errors;
    DeviceRegion part;
    bool whole = true;
    x->start_ns = clock_ns();
    for (uint32_t n = 0; whole && device_region(x, &n, &part);) {
        memcpy(d.groups, part.groups, sizeof d.groups);
        memcpy(d.base_group, part.first, sizeof d.base_group);
        memcpy(d.local_size, k->arguments ? part.local_size : k->base.local_size,
               sizeof d.local_size);
        /* The interpreter fills the module's side tables, so each run has a module of its own. */
        whole = ref_dispatch(scratch, spv_clone(scratch, k->module), &d, &result, sink);
        add_counts(x->stats, &result.counts);
    }
    x->end_ns = clock_ns();
    return !whole || sink->errors > errors ? HEDDLE_ERROR_RUN : HEDDLE_OK;
}

const DeviceOps reference_device_ops = {
    .name = "reference",
    .open = open_reference,
    .close = close_reference,
    .alloc = alloc_piece,
    .wrap = wrap_piece,
    .free = free_piece,
    .compile = compile_for_reference,
    .release = release_interpreted,
    .dispatch = interpret,
};
