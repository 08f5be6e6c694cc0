/* SPDX-License-Identifier: MIT
 *
 * The cpu device: kernels become machine code, dispatches go to its worker threads.
 */
#include "cpu/device.h"

#include <stdio.h>
#include <stdlib.h>

#include "cpu/apart.h"
#include "cpu/cpu.h"
#include "cpu/gemm/gemm.h"
#include "cpu/run/fault.h"
#include "cpu/tier.h"

typedef struct Cpu {
    DeviceBase base;
    CpuTarget target;
    CpuDevice *workers;
    CpuTiers *tiers;
    char name[128];
    const char *features[16];
    const char *levels[CPU_MOST_LEVELS];
} Cpu;

typedef struct CpuCompiled {
    DeviceKernel base;
    CpuKernel *code;
    CpuTiered *tiered;             /* what takes its place; NULL: nothing does */
    CpuApart *apart;               /* its code for buffers that share memory; NULL: this is */
    const SpvArguments *arguments; /* of an OpenCL kernel; or NULL */
    bool is_object;                /* code->text is its machine code, which save needs */
    CpuCounts counts;
    DeviceSlot slots[]; /* of a shader, in the order of code->slots */
} CpuCompiled;

static const Cpu *cpu_of(const DeviceKernel *k) { return (const Cpu *)k->device; }

/* ---- the device ------------------------------------------------------------------------------ */

static const uint32_t subgroup_sizes[] = { 8, 16, 32, 64, 128 };

/* "model name : X" of /proc/cpuinfo. */
static void read_name(char *out, size_t size)
{
    char line[256];
    snprintf(out, size, "CPU");
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon)
            continue;
        colon += strspn(colon, ": \t");
        colon[strcspn(colon, "\n")] = 0;
        snprintf(out, size, "%s", colon);
        break;
    }
    if (f)
        fclose(f);
}

static void list_features(Cpu *c)
{
    DeviceInfo *info = &c->base.info;
    for (uint32_t left = cpu_sets_used(&c->target);
         left && info->n_features < COUNT_OF(c->features); left &= left - 1)
        c->features[info->n_features++] = cpu_set_name(left & -left);
    info->features = c->features;
}

/* The processor and what compiles for it. */
static uint64_t identity_of(const CpuTarget *t)
{
    uint64_t h = hash_bytes(t->llvm, sizeof t->llvm, 0);
    h = hash_bytes(t->cpu, strlen(t->cpu), h);
    return t->features ? hash_bytes(t->features, strlen(t->features), h) : h;
}

static void close_cpu(DeviceBase *d)
{
    Cpu *c = (Cpu *)d;
    cpu_tiers_free(c->tiers);
    if (c->workers)
        cpu_device_free(c->workers);
    cpu_target_free(&c->target);
    free(c);
}

static HeddleResult open_cpu(const DeviceOptions *o, DeviceBase **out, DiagSink *sink)
{
    Cpu *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c) {
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return HEDDLE_ERROR_MEMORY;
    }
    bool good = cpu_target_any(&c->target, o->isa, sink);
    if (good)
        c->workers = cpu_device_new(o->threads, !o->no_signal_handlers, sink);
    if (!c->workers) {
        close_cpu(&c->base);
        return HEDDLE_ERROR_UNSUPPORTED;
    }
    c->tiers = cpu_tiers_new(&c->target);
    read_name(c->name, sizeof c->name);
    c->base.ops = &cpu_device_ops;
    c->base.info = (DeviceInfo){
        .name = c->name,
        .target = c->target.cpu,
        .threads = cpu_device_threads(c->workers),
        .vector_bits = c->target.vector_bits,
        .subgroup_sizes = subgroup_sizes,
        .n_subgroup_sizes = COUNT_OF(subgroup_sizes),
        .default_subgroup_size = 32,
        .identity = identity_of(&c->target),
    };
    list_features(c);
    c->base.info.levels = c->levels;
    c->base.info.n_levels = cpu_host_levels(c->levels);
    *out = &c->base;
    return HEDDLE_OK;
}

static bool guard_cpu(void (*work)(void *user), void *user, DeviceFault *fault)
{
    return fault_guarded(work, user, NULL, fault);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* An OpenCL kernel is bound to its arguments, a shader to what its machine code reads. */
static CpuCompiled *compiled_new(Cpu *c, CpuKernel *code, const DeviceCompile *how)
{
    bool shader = !how || !how->arguments;
    uint32_t n = shader ? code->n_slots : 0;
    CpuCompiled *k = calloc(1, sizeof *k + n * sizeof *k->slots);
    if (!k)
        return NULL;
    k->code = code;
    if (!cpu_counts_begin(&k->counts, code)) {
        free(k);
        return NULL;
    }
    k->arguments = shader ? NULL : how->arguments;
    for (uint32_t i = 0; i < n; i++) {
        const CpuSlot *s = &code->slots[i];
        bool image = s->storage == SpvStorageClassUniformConstant;
        k->slots[i] = (DeviceSlot){ .set = s->set,
                                    .binding = s->binding,
                                    .count = s->count,
                                    .kind = image ? DEVICE_SLOT_IMAGE : DEVICE_SLOT_BUFFER };
    }
    k->base = (DeviceKernel){
        .device = &c->base,
        .slots = shader ? k->slots : how->slots,
        .n_slots = shader ? n : how->n_slots,
        .subgroup_size = code->subgroup_size,
        .shared_bytes = code->shared_bytes,
        .push_bytes = code->push_bytes,
        .cost = 2 * code->text_size,
        .remarks = code->remarks,
        .n_remarks = code->n_remarks,
    };
    memcpy(k->base.local_size, code->local_size, sizeof k->base.local_size);
    if (how && how->emit != HEDDLE_EMIT_NOTHING) {
        k->base.text = code->text;
        k->base.text_size = code->text_size;
    }
    return k;
}

/* clang-format off */
static const CpuEmit emits[] = {
    [HEDDLE_EMIT_NOTHING] = CPU_EMIT_NOTHING,     [HEDDLE_EMIT_SPIRV] = CPU_EMIT_SPIRV,
    [HEDDLE_EMIT_LLVM] = CPU_EMIT_LLVM_OPTIMISED, [HEDDLE_EMIT_LLVM_PLAIN] = CPU_EMIT_LLVM,
    [HEDDLE_EMIT_NATIVE] = CPU_EMIT_ASM,          [HEDDLE_EMIT_OBJECT] = CPU_EMIT_OBJECT,
};
/* clang-format on */

/* Counts belong to one compilation, and so does a form that somebody looks at. */
static CpuTier tier_of(const DeviceCompile *how)
{
    bool looks = how->emit != HEDDLE_EMIT_NOTHING && how->emit != HEDDLE_EMIT_OBJECT;
    switch (how->tier) {
    case HEDDLE_TIER_FAST: return CPU_TIER_FAST;
    case HEDDLE_TIER_FULL: return CPU_TIER_FULL;
    default:
        return how->stats || how->profile || how->remarks || looks ? CPU_TIER_FULL : CPU_TIER_AUTO;
    }
}

/* An address that a kernel makes of a pointer belongs to no buffer that could be asked. */
static bool can_be_robust(const DeviceCompile *how, DiagSink *sink)
{
    if (!how->arguments || !how->robust)
        return true;
    diag(sink, DIAG_ERROR, NULL, NULL,
         "robust access needs buffers with bounds, and the pointers of an OpenCL kernel are "
         "addresses: compile it for Vulkan (--target vulkan), or look for its mistakes with "
         "--check on the reference device");
    return false;
}

static PassOptions passes_of(const Cpu *c, const DeviceCompile *how)
{
    return (PassOptions){ .entry = how->entry,
                          .spec = how->specs,
                          .n_spec = how->n_specs,
                          .subgroup_size = how->subgroup_size,
                          .optimise = !how->no_optimisation,
                          .inside = true,
                          .forward = true,
                          .unstage = c->target.vector_bits / 8,
                          .whole = true,
                          .keep_variables = how->debug && how->no_optimisation };
}

static CpuOptions options_of(const DeviceCompile *how)
{
    CpuOptions options = { .subgroup_size = how->subgroup_size,
                           .robust = how->robust,
                           .stats = how->stats,
                           .debug = how->debug,
                           .profile = how->profile,
                           .remarks = how->remarks,
                           .optimise = !how->no_optimisation,
                           .tier = tier_of(how) };
    memcpy(options.local_size, how->wanted_size, sizeof options.local_size);
    if ((unsigned)how->emit < COUNT_OF(emits))
        options.emit = emits[how->emit];
    if (how->kept && options.emit == CPU_EMIT_NOTHING)
        options.emit = CPU_EMIT_OBJECT;
    return options;
}

static void release_compiled(DeviceKernel *k)
{
    CpuCompiled *c = (CpuCompiled *)k;
    cpu_tiered_free(c->tiered);
    cpu_apart_free(c->apart);
    cpu_counts_end(&c->counts);
    cpu_kernel_free(c->code);
    free(k);
}

/* Where better code, or code for a workgroup's size, can take its place, or some for buffers that
 * share memory has to. False: out of memory. */
static bool begin_others(Cpu *c, CpuCompiled *k, const SpvModule *source, const DeviceCompile *how)
{
    PassOptions passes = passes_of(c, how);
    CpuOptions options = options_of(how);
    if (cpu_assumes_apart(k->code) &&
        !(k->apart = cpu_apart_new(&c->target, source, &passes, &options, k->code)))
        return false;
    bool now = options.tier == CPU_TIER_FULL && k->code->may_merge && !how->emit;
    if (!c->tiers || !(now || (options.tier == CPU_TIER_AUTO && cpu_tiered_helps(k->code))))
        return true;
    k->tiered = cpu_tiered_new(c->tiers, source, &passes, &options, k->code);
    if (k->tiered && now)
        cpu_tiered_compile(k->tiered);
    return true;
}

static HeddleResult compile_for_cpu(DeviceBase *d, const DeviceCompile *how, Arena *arena,
                                    DeviceKernel **out, DiagSink *sink)
{
    Cpu *c = (Cpu *)d;
    (void)arena;
    PassOptions passes = passes_of(c, how);
    CpuOptions options = options_of(how);
    if (!can_be_robust(how, sink))
        return HEDDLE_ERROR_UNSUPPORTED;
    const SpvModule *source = how->copy ? how->copy : how->module;
    CpuKernel *code = cpu_compile(source, &c->target, &passes, &options, sink);
    if (!code)
        return HEDDLE_ERROR_SOURCE;
    CpuCompiled *k = compiled_new(c, code, how);
    if (!k || !begin_others(c, k, source, how)) {
        if (k)
            release_compiled(&k->base);
        else
            cpu_kernel_free(code);
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return HEDDLE_ERROR_MEMORY;
    }
    k->is_object = options.emit == CPU_EMIT_OBJECT;
    *out = &k->base;
    return HEDDLE_OK;
}

/* The first tier's code is not worth keeping. */
static size_t save_compiled(const DeviceKernel *k, void *out)
{
    const CpuCompiled *c = (const CpuCompiled *)k;
    const CpuKernel *better = cpu_tiered_code(c->tiered, NULL);
    const CpuKernel *code = better && !better->merges ? better : c->code;
    return c->is_object && !code->fast ? cpu_kernel_save(code, out) : 0;
}

static DeviceKernel *load_compiled(DeviceBase *d, const DeviceCompile *how, const void *data,
                                   size_t size, DiagSink *sink)
{
    char name[256] = "kernel";
    if (how)
        cpu_kernel_name(name, sizeof name, how->module, how->entry);
    CpuKernel *code = cpu_kernel_load(name, data, size, sink);
    CpuCompiled *k = code ? compiled_new((Cpu *)d, code, how) : NULL;
    bool whole = !code || how || !cpu_assumes_apart(code); /* else a part of it is missing */
    if (k && whole && (!how || begin_others((Cpu *)d, k, how->module, how))) {
        k->is_object = true;
        return &k->base;
    }
    if (code)
        diag(sink, DIAG_ERROR, NULL, NULL,
             whole ? "a stored kernel finds no memory"
                   : "a stored kernel has no code for buffers that share memory");
    if (k)
        release_compiled(&k->base);
    else
        cpu_kernel_free(code);
    return NULL;
}

/* ---- dispatches ------------------------------------------------------------------------------ */

/* `count` workgroups of each row, behind so many others, by code that may merge them. */
static bool dispatch_part(const Cpu *c, CpuDispatch *d, const CpuKernel *k, uint32_t before,
                          uint32_t count, DiagSink *sink)
{
    CpuDispatch part = *d;
    uint32_t n = MAX(k->merges, 1);
    part.kernel = k;
    part.base_group[0] = (d->base_group[0] + before) / n;
    part.groups[0] = count / n;
    bool good = cpu_dispatch(c->workers, &part, sink);
    d->fault = part.fault;
    return good;
}

/* As many of d->kernel's workgroups as `better` merges, if it does, and the others one by one: what
 * is left over of rows, and the ends of rows where what is away from edges is faster. */
static bool dispatch_by(const Cpu *c, CpuDispatch *d, const CpuKernel *better, DiagSink *sink)
{
    uint32_t n = better->merges, all = d->groups[0], ends = better->has_edges ? n : 0;
    uint32_t merged = n && d->base_group[0] % n == 0 && all > 2 * ends ? all - 2 * ends : 0;
    merged = n ? merged / n * n : all;
    if (!merged)
        return dispatch_part(c, d, d->kernel, 0, all, sink);
    uint32_t left = n ? ends : 0, right = all - merged - left;
    return (!left || dispatch_part(c, d, d->kernel, 0, left, sink)) &&
           dispatch_part(c, d, better, left, merged, sink) &&
           (!right || dispatch_part(c, d, d->kernel, left + merged, right, sink));
}

static HeddleResult dispatch_to_cpu(DeviceBase *base, DeviceDispatch *x, Arena *scratch,
                                    DiagSink *sink)
{
    const Cpu *c = cpu_of(x->kernel);
    const CpuCompiled *k = (const CpuCompiled *)x->kernel;
    const CpuKernel *better = cpu_tiered_code(k->tiered, x->local_size), *first = k->code;
    (void)base;
    if (!cpu_target_runs(&c->target, sink))
        return HEDDLE_ERROR_UNSUPPORTED;
    if (k->apart && cpu_apart_overlaps(first, x->slots, x->counts)) {
        better = first = cpu_apart_code(k->apart, sink);
        if (!first)
            return HEDDLE_ERROR_RUN;
    } else if (better && cpu_apart_overlaps(better, x->slots, x->counts))
        better = NULL; /* the first code of a kernel for any size of workgroups assumes nothing */
    CpuDispatch d = { .kernel = first,
                      .slots = x->slots,
                      .counts = x->counts,
                      .push = x->push,
                      .max_threads = x->max_threads,
                      .interleave = x->interleave,
                      .work_dim = device_work_dim(x),
                      .print = x->print,
                      .user = x->user,
                      .stats = x->stats,
                      .rows = k->counts.rows,
                      .sample_ns = x->sample_ns,
                      .samples = better ? NULL : k->counts.samples,
                      .watchdog_ns = x->watchdog_ns };
    if (k->arguments)
        d.push = device_arguments(x, k->arguments, first->shared_bytes, scratch, &d.local_bytes);
    memcpy(d.n_groups, x->groups, sizeof d.n_groups);
    memcpy(d.enqueued_size, x->local_size, sizeof d.enqueued_size);
    memcpy(d.global_size, x->global_size, sizeof d.global_size);
    memcpy(d.global_offset, x->global_offset, sizeof d.global_offset);
    DeviceRegion part;
    bool good = true;
    uint64_t start = x->untimed && !k->tiered ? 0 : clock_ns();
    if (!x->untimed)
        x->start_ns = start;
    for (uint32_t n = 0; good && device_region(x, &n, &part);) {
        memcpy(d.groups, part.groups, sizeof d.groups);
        memcpy(d.base_group, part.first, sizeof d.base_group);
        memcpy(d.local_size, part.local_size, sizeof d.local_size);
        bool whole = !memcmp(part.local_size, x->local_size, sizeof part.local_size);
        good = dispatch_by(c, &d, better && whole ? better : first, sink);
    }
    if (!x->untimed)
        x->end_ns = clock_ns();
    if (k->tiered && !better)
        cpu_tiered_ran(k->tiered, x->local_size, clock_ns() - start);
    x->fault = d.fault;
    return good ? HEDDLE_OK : HEDDLE_ERROR_RUN;
}

static uint32_t lines_of(const DeviceKernel *k, HeddleLine *out, uint32_t room)
{
    const CpuCompiled *c = (const CpuCompiled *)k;
    return cpu_counts_lines(&c->counts, c->code, out, room);
}

/* clang-format off */
const DeviceOps cpu_device_ops = {
    .name = "cpu", .open = open_cpu, .close = close_cpu,
    .alloc = host_memory_alloc, .wrap = host_memory_wrap, .free = host_memory_free,
    .compile = compile_for_cpu, .release = release_compiled,
    .save = save_compiled, .load = load_compiled,
    .dispatch = dispatch_to_cpu, .guard = guard_cpu, .lines = lines_of,
};
/* clang-format on */
