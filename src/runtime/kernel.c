/* SPDX-License-Identifier: MIT
 *
 * Kernels: a module, specialised and compiled for a device.
 */
#include <stdlib.h>

#include "runtime/internal.h"

typedef struct Build {
    HeddleKernel *kernel;
    Arena scratch;
    DeviceCompile how;
    SpvSpecValue *specs; /* those given that the module has: how.n_specs */
    const HeddleModule *module;
    const HeddleKernelOptions *options;
    DiagSink *sink;
    const SpvInst *scopes[SpvScopeSubgroup + 1]; /* a matrix type of that scope, or NULL */
    uint32_t subgroup_size;
    bool size_is_default; /* of the workgroup: nobody specialised what makes it */
} Build;

/* Keeps the values for constants that exist and warns of the others. */
static void choose_specs(Build *b, const HeddleKernelInfo *info)
{
    const HeddleKernelOptions *o = b->options;
    b->specs = NEW_ARRAY(&b->kernel->arena, SpvSpecValue, o->n_specs + 3);
    for (uint32_t i = 0; i < o->n_specs; i++) {
        bool known = false;
        for (uint32_t j = 0; j < info->n_specs; j++)
            known |= info->specs[j].id == o->specs[i].id;
        if (known)
            b->specs[b->how.n_specs++] = (SpvSpecValue){ o->specs[i].id, o->specs[i].bits };
        else
            diag(b->sink, DIAG_WARNING, NULL, NULL, "the kernel has no specialisation constant %u",
                 o->specs[i].id);
    }
}

static bool is_chosen(const Build *b, uint32_t id)
{
    bool chosen = false;
    for (uint32_t i = 0; i < b->how.n_specs; i++)
        chosen |= b->specs[i].id == id;
    return chosen;
}

/* A workgroup's size that is asked for is the value of the constants that make it. */
static void choose_size(Build *b, SpvModule *m, const SpvEntryPoint *e)
{
    const uint32_t *size = b->options->local_size;
    for (uint32_t k = 0; k < 3 && size[0]; k++) {
        const uint32_t *id = spv_decoration(m, e->size_ids[k], -1, SpvDecorationSpecId, NULL);
        if (id && !is_chosen(b, *id))
            b->specs[b->how.n_specs++] = (SpvSpecValue){ *id, MAX(size[k], 1) };
    }
}

/* Any other kernel that does not leave its size open has the one asked for, or none will do. */
static HeddleResult check_size(const Build *b)
{
    const uint32_t *want = b->options->local_size, *has = b->kernel->info->local_size;
    bool same = !want[0] || (!has[0] && !has[1] && !has[2]);
    for (uint32_t k = 0; k < 3 && !same; k++) {
        if (MAX(want[k], 1) == MAX(has[k], 1)) {
            same = k == 2;
            continue;
        }
        diag(b->sink, DIAG_ERROR, NULL, NULL,
             "workgroups of %ux%ux%u are asked for; the kernel is made for ones of %ux%ux%u",
             want[0], MAX(want[1], 1), MAX(want[2], 1), has[0], has[1], has[2]);
        return HEDDLE_ERROR_ARGUMENT;
    }
    return HEDDLE_OK;
}

static HeddleSpecInfo *used_specs(const Build *b, const HeddleKernelInfo *info)
{
    HeddleKernel *k = b->kernel;
    HeddleSpecInfo *specs = NEW_ARRAY(&k->arena, HeddleSpecInfo, info->n_specs);
    for (uint32_t i = 0; i < info->n_specs; i++) {
        specs[i] = info->specs[i];
        specs[i].name = arena_strdup(&k->arena, specs[i].name);
        for (uint32_t j = 0; j < b->how.n_specs; j++) {
            if (b->specs[j].id == specs[i].id)
                specs[i].bits = b->specs[j].bits;
        }
    }
    return specs;
}

/* The module's check left open what specialisation constants decide. */
static bool check_values(const Build *b, SpvModule *m)
{
    bool settled = !b->module->specialises || b->module->unchecked;
    bool good = settled || check_specialised(m, b->sink);
    if (!good && !b->how.n_specs)
        diag(b->sink, DIAG_NOTE, NULL, "spec-defaults",
             "specialisation constants have their defaults; other values may mend it");
    return good;
}

static void find_scopes(Build *b, SpvModule *m)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        const SpvType *t = i->op == SpvOpTypeCooperativeMatrixKHR ? spv_type(m, i->id) : NULL;
        if (t && t->scope <= SpvScopeSubgroup)
            b->scopes[t->scope] = i;
    }
}

/* What a lane that is not there holds of a subgroup's matrix is nobody's, and devices differ in it.
 * Of a workgroup's nothing is in such a lane; programs take the largest subgroups for any workgroup
 * that is listed, as Khronos' CTS does. */
static HeddleResult check_subgroups(const Build *b)
{
    static const char *const rules[SpvScopeSubgroup + 1] = {
        [SpvScopeSubgroup] = "VUID-VkPipelineShaderStageCreateInfo-module-08987",
        [SpvScopeWorkgroup] = "VUID-VkPipelineShaderStageCreateInfo-module-10169"
    };
    const HeddleKernelInfo *info = b->kernel->info;
    const uint32_t *n = info->local_size, w = b->subgroup_size;
    const bool whole = (uint64_t)n[0] * n[1] * n[2] % w == 0;
    for (uint32_t scope = 0; scope <= SpvScopeSubgroup && !b->kernel->opencl; scope++) {
        if (!b->scopes[scope] || !rules[scope] || n[0] % w == 0)
            continue;
        bool warn = whole || b->size_is_default || scope == SpvScopeWorkgroup;
        DiagLoc loc = spv_loc(&b->kernel->arena, b->module->spv, b->scopes[scope]);
        diag(b->sink, warn ? DIAG_WARNING : DIAG_ERROR, &loc, rules[scope],
             "a workgroup of %ux%ux%u with matrices, in subgroups of %u: its first size is no "
             "multiple of that%s",
             n[0], n[1], n[2], w,
             b->size_is_default ? "; specialisation constants give it another" : "");
        if (!warn)
            return HEDDLE_ERROR_UNSUPPORTED;
    }
    return HEDDLE_OK;
}

/* Reflects the module as its specialisation makes it. */
static HeddleResult reflect_specialised(Build *b, const SpvModule *module)
{
    HeddleKernel *k = b->kernel;
    SpvModule *m = spv_clone(&k->arena, module);
    PassOptions passes = { .entry = b->options->entry, .spec = b->specs, .n_spec = b->how.n_specs };
    PassContext c = { .module = m, .options = &passes, .sink = b->sink, .scratch = &b->scratch };
    b->scratch.on_failure = k->arena.on_failure;
    if (!spv_entry_point(m, passes.entry, &c.entry, b->sink))
        return HEDDLE_ERROR_SOURCE;
    passes.subgroup_size = b->options->subgroup_size        ? b->options->subgroup_size
                           : c.entry.required_subgroup_size ? c.entry.required_subgroup_size
                                                            : k->device->info.default_subgroup_size;
    b->subgroup_size = passes.subgroup_size;
    choose_size(b, m, &c.entry);
    passes.n_spec = b->how.n_specs;
    b->size_is_default = c.entry.size_is_specialised && !b->how.n_specs;
    if (!pass_specialise(&c) || !spv_entry_point(m, passes.entry, &c.entry, b->sink) ||
        !check_values(b, m))
        return HEDDLE_ERROR_SOURCE;
    find_scopes(b, m);
    k->info = reflect(&k->arena, m, &c.entry);
    k->opencl = c.entry.model == SpvExecutionModelKernel;
    SpvArguments *arguments = k->opencl ? NEW(&k->arena, SpvArguments) : NULL;
    if (k->opencl && !spv_kernel_arguments(&k->arena, m, c.entry.function, arguments, b->sink))
        return HEDDLE_ERROR_SOURCE;
    b->how.arguments = arguments;
    return HEDDLE_OK;
}

/* What the kernel has to be bound to, as a device wants it. */
static const DeviceSlot *slots_of(const HeddleKernelInfo *info, Arena *arena)
{
    static const DeviceSlotKind kinds[] = {
        [HEDDLE_BINDING_STORAGE] = DEVICE_SLOT_BUFFER,
        [HEDDLE_BINDING_UNIFORM] = DEVICE_SLOT_BUFFER,
        [HEDDLE_BINDING_VALUE] = DEVICE_SLOT_VALUE,
        [HEDDLE_BINDING_LOCAL] = DEVICE_SLOT_LOCAL,
        [HEDDLE_BINDING_IMAGE] = DEVICE_SLOT_IMAGE,
    };
    DeviceSlot *slots = NEW_ARRAY(arena, DeviceSlot, info->n_bindings);
    for (uint32_t i = 0; i < info->n_bindings; i++) {
        const HeddleBindingInfo *b = &info->bindings[i];
        slots[i] = (DeviceSlot){ b->set, b->binding, b->count, kinds[b->kind], b->written };
    }
    return slots;
}

static void set_request(Build *b)
{
    const HeddleKernelOptions *o = b->options;
    HeddleKernel *k = b->kernel;
    HeddleKernelInfo *info = k->info;
    DeviceCompile *how = &b->how;
    how->module = b->module->spv;
    how->entry = info->entry;
    how->specs = b->specs;
    how->slots = slots_of(info, &k->arena);
    how->n_slots = info->n_bindings;
    how->shared_bytes = info->shared_size;
    how->push_bytes = info->push_size;
    how->required_subgroup_size = info->subgroup_size;
    memcpy(how->local_size, info->local_size, sizeof how->local_size);
    how->subgroup_size = o->subgroup_size;
    memcpy(how->wanted_size, o->local_size, sizeof how->wanted_size);
    how->robust = o->robust;
    how->stats = o->stats;
    how->check = o->check;
    how->check_portability = o->check_portability;
    how->no_robust = o->no_robust;
    how->no_optimisation = o->no_optimisation;
    how->debug = o->debug;
    how->exact = o->exact;
    how->profile = o->profile;
    how->remarks = o->remarks;
    how->tier = o->tier;
    how->emit = o->emit;
}

/* ---- kernels that earlier processes compiled ------------------------------------------------- */

/* Not what somebody wants to look at or to count by: the code alone is kept. */
static bool is_kept(const DeviceCompile *how, const DeviceOps *ops)
{
    return ops->save && how->emit == HEDDLE_EMIT_NOTHING && !how->stats && !how->check &&
           !how->check_portability && !how->profile && !how->remarks;
}

static DeviceKey key_of(const Build *b)
{
    const DeviceCompile *how = &b->how;
    const uint32_t *size = how->wanted_size;
    const uint64_t rest[] = { how->n_specs,   how->subgroup_size,   size[0],    size[1],
                              size[2],        how->robust,          how->debug, how->exact,
                              how->no_robust, how->no_optimisation, how->tier,  b->module->size };
    const char *name = how->module->name ? how->module->name : ""; /* which debuggers show */
    DeviceKey key = device_key(device_identity(b->kernel->device->base));
    device_key_add(&key, b->module->words, b->module->size);
    for (uint32_t k = 0; k < how->n_specs; k++) {
        uint64_t pair[] = { how->specs[k].id, how->specs[k].bits };
        device_key_add(&key, pair, sizeof pair);
    }
    device_key_add(&key, how->entry, strlen(how->entry) + 1);
    device_key_add(&key, name, strlen(name) + 1);
    device_key_add(&key, rest, sizeof rest);
    return key;
}

static HeddleResult find_or_compile(Build *b)
{
    HeddleKernel *k = b->kernel;
    DeviceBase *d = k->device->base;
    DeviceCompile *how = &b->how;
    uint32_t warnings = b->sink->warnings;
    const char *folder = secure_getenv("HEDDLE_CACHE");
    how->kept = folder && *folder && is_kept(how, d->ops);
    if (how->kept) {
        k->key = key_of(b);
        k->code = device_find_stored(folder, d, how, &k->key);
    }
    if (k->code)
        return HEDDLE_OK;
    HeddleResult r = d->ops->compile(d, how, &k->arena, &k->code, b->sink);
    /* one that there was something to say about is compiled, and spoken of, each time */
    if (!r && how->kept && b->sink->warnings == warnings) {
        k->folder = arena_strdup(&k->arena, folder);
        device_keep(&k->folder, k->code, &k->key); /* a large one once it has run for a while */
    }
    return r;
}

/* Compiles for the device, and takes over what it says of the kernel. */
static HeddleResult compile_for_device(Build *b)
{
    const HeddleKernelOptions *o = b->options;
    HeddleKernel *k = b->kernel;
    HeddleKernelInfo *info = k->info;
    DeviceCompile *how = &b->how;
    set_request(b);
    if (o->emit == HEDDLE_EMIT_SPIRV && !(how->copy = module_copy(&k->arena, b->module, b->sink)))
        return HEDDLE_ERROR_SOURCE;
    HeddleResult r = find_or_compile(b);
    if (r)
        return r;
    info->subgroup_size = k->code->subgroup_size;
    memcpy(info->local_size, k->code->local_size, sizeof info->local_size);
    info->shared_size = k->code->shared_bytes;
    info->registers = k->code->registers;
    info->private_size = k->code->private_bytes;
    info->resident_groups = k->code->resident_groups;
    return HEDDLE_OK;
}

static HeddleResult build(void *user)
{
    Build *b = user;
    HeddleKernel *k = b->kernel;
    if (!b->module->n_entries) {
        DiagLoc loc = { .file = b->module->spv->name };
        diag(b->sink, DIAG_ERROR, &loc, NULL, "the module has no compute entry point");
        return HEDDLE_ERROR_SOURCE;
    }
    const HeddleKernelInfo *declared = b->module->entries[0];
    choose_specs(b, declared);
    HeddleResult r = reflect_specialised(b, b->module->spv);
    r = r ? r : check_size(b);
    if (r)
        return r;
    k->info->specs = used_specs(b, declared);
    k->info->n_specs = declared->n_specs;
    r = check_subgroups(b);
    return r ? r : compile_for_device(b);
}

static bool known_subgroup_size(const HeddleDeviceInfo *info, uint32_t size)
{
    for (uint32_t i = 0; i < info->n_subgroup_sizes; i++) {
        if (info->subgroup_sizes[i] == size)
            return true;
    }
    return size == 0;
}

static HeddleResult check_options(const HeddleDevice *device, const HeddleKernelOptions *o,
                                  HeddleLog *log)
{
    if (!known_subgroup_size(&device->info, o->subgroup_size))
        return log_fail(log, HEDDLE_ERROR_UNSUPPORTED,
                        "the %s device has no subgroups of %u (see info)", device->info.kind_name,
                        o->subgroup_size);
    if ((o->check || o->check_portability) && !device->base->info.checks)
        return log_fail(log, HEDDLE_ERROR_UNSUPPORTED,
                        "only the reference device can check a kernel while it runs");
    return HEDDLE_OK;
}

/* A tier, of kernels whose caller names none. */
static void read_tier(HeddleKernelOptions *o, DiagSink *sink)
{
    static const char *const names[] = { [HEDDLE_TIER_AUTO] = "auto",
                                         [HEDDLE_TIER_FAST] = "fast",
                                         [HEDDLE_TIER_FULL] = "full" };
    const char *s = secure_getenv("HEDDLE_TIER");
    if (!s || !*s)
        return;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(s, names[i]))
            continue;
        if (o->tier == HEDDLE_TIER_AUTO)
            o->tier = (HeddleTier)i;
        return;
    }
    diag(sink, DIAG_WARNING, NULL, NULL, "HEDDLE_TIER is not auto, fast or full: ignored");
}

/* What the environment asks of every kernel: lines; with "variables" these too, which code that
 * nothing optimises has in memory; a tier. */
static void read_environment(HeddleKernelOptions *o, DiagSink *sink)
{
    const char *s = secure_getenv("HEDDLE_DEBUG");
    o->debug |= s && *s && strcmp(s, "0");
    o->no_optimisation |= s && !strcmp(s, "variables");
    read_tier(o, sink);
}

HeddleResult heddle_kernel_new(HeddleDevice *device, const HeddleModule *module,
                               const HeddleKernelOptions *options, HeddleKernel **out,
                               HeddleLog *log)
{
    HeddleKernelOptions own;
    if (out)
        *out = NULL;
    if (!sized_read(&sized_kernel_options, options, &own, log))
        return HEDDLE_ERROR_ARGUMENT;
    const HeddleKernelOptions *o = &own;
    if (!device || !module || !out || (o->n_specs && !o->specs))
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_kernel_new: device, module, out or specs is NULL");
    uint32_t made_for = module_subgroup_size(module, o->entry);
    if (made_for && o->subgroup_size && o->subgroup_size != made_for)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "the kernel was compiled for subgroups of %u, not %u", made_for,
                        o->subgroup_size);
    if (made_for)
        own.subgroup_size = made_for;
    DiagSink sink = log_sink(log);
    read_environment(&own, &sink);
    own.debug |= own.profile;
    own.stats |= own.profile;
    HeddleResult r = check_options(device, o, log);
    if (r)
        return r;
    HeddleKernel *k = calloc(1, sizeof *k);
    if (!k)
        return log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    k->device = device;
    Build b = { .kernel = k, .module = module, .options = o, .sink = &sink };
    double start = clock_seconds();
    r = log_guarded(log, &k->arena, build, &b);
    arena_free(&b.scratch);
    k->seconds = clock_seconds() - start;
    if (r) {
        heddle_kernel_free(k);
        return log_failed_stage(&sink, log, r, "compiling the kernel");
    }
    *out = k;
    return HEDDLE_OK;
}

void heddle_kernel_free(HeddleKernel *kernel)
{
    if (!kernel)
        return;
    if (kernel->code) {
        device_keep(&kernel->folder, kernel->code, &kernel->key);
        kernel->device->base->ops->release(kernel->code);
    }
    arena_free(&kernel->arena);
    free(kernel);
}

const HeddleKernelInfo *heddle_kernel_info(const HeddleKernel *kernel)
{
    return kernel ? kernel->info : NULL;
}

const void *heddle_kernel_text(const HeddleKernel *kernel, size_t *size)
{
    *size = kernel->code->text_size;
    return kernel->code->text;
}

const HeddleLowering *heddle_kernel_lowerings(const HeddleKernel *kernel, uint32_t *n)
{
    *n = kernel->code->n_lowerings;
    return kernel->code->lowerings;
}

const HeddleRemark *heddle_kernel_remarks(const HeddleKernel *kernel, uint32_t *n)
{
    *n = kernel->code->n_remarks;
    return kernel->code->remarks;
}

uint32_t heddle_kernel_lines(const HeddleKernel *kernel, HeddleLine *lines, uint32_t room)
{
    const DeviceOps *ops = kernel ? kernel->device->base->ops : NULL;
    return ops && ops->lines ? ops->lines(kernel->code, lines, room) : 0;
}

double heddle_kernel_seconds(const HeddleKernel *kernel) { return kernel->seconds; }
