/* SPDX-License-Identifier: MIT
 *
 * The cpu device: kernels become machine code, dispatches go to its worker threads.
 */
#include "cpu/run/fault.h"
#include "runtime/runtime.h"

bool move_guarded(void (*work)(void *user), void *user, CpuFault *fault)
{
    return fault_guarded(work, user, NULL, fault);
}

static const CpuEmit emits[] = {
    [HEDDLE_EMIT_NOTHING] = CPU_EMIT_NOTHING,     [HEDDLE_EMIT_SPIRV] = CPU_EMIT_NOTHING,
    [HEDDLE_EMIT_LLVM] = CPU_EMIT_LLVM_OPTIMISED, [HEDDLE_EMIT_LLVM_PLAIN] = CPU_EMIT_LLVM,
    [HEDDLE_EMIT_NATIVE] = CPU_EMIT_ASM,          [HEDDLE_EMIT_OBJECT] = CPU_EMIT_OBJECT,
};

/* The module as the code generator sees it, in SPIR-V. */
static HeddleResult emit_spirv(HeddleKernel *k, const HeddleModule *m, const PassOptions *passes,
                               DiagSink *sink)
{
    SpvModule *clone = module_copy(&k->arena, m, sink);
    SpvEntryPoint entry;
    if (!clone || !pass_pipeline(clone, passes, &entry, sink))
        return HEDDLE_ERROR_SOURCE;
    pass_lines(clone);
    k->text = spv_write(&k->arena, clone, &k->text_size);
    return HEDDLE_OK;
}

static HeddleResult compile(HeddleKernel *k, const HeddleModule *m, const HeddleKernelOptions *o,
                            DiagSink *sink)
{
    PassOptions passes = { .entry = k->info->entry, .spec = k->specs, .n_spec = k->n_specs,
                           .subgroup_size = o->subgroup_size, .optimise = !o->no_optimisation };
    CpuOptions options = { .subgroup_size = o->subgroup_size,
                           .robust = o->robust,
                           .stats = o->stats,
                           .optimise = !o->no_optimisation };
    memcpy(options.local_size, o->local_size, sizeof options.local_size);
    if ((unsigned)o->emit < COUNT_OF(emits))
        options.emit = emits[o->emit];
    if (o->emit == HEDDLE_EMIT_SPIRV) {
        HeddleResult r = emit_spirv(k, m, &passes, sink);
        if (r)
            return r;
    }
    k->cpu = cpu_compile(m->spv, &k->device->target, &passes, &options, sink);
    if (!k->cpu)
        return HEDDLE_ERROR_SOURCE;
    k->info->subgroup_size = k->cpu->subgroup_size;
    memcpy(k->info->local_size, k->cpu->local_size, sizeof k->info->local_size);
    k->info->shared_size = k->cpu->shared_bytes;
    if (k->cpu->text) {
        k->text = k->cpu->text;
        k->text_size = k->cpu->text_size;
    }
    return HEDDLE_OK;
}

static void release(HeddleKernel *k)
{
    if (k->cpu)
        cpu_kernel_free(k->cpu);
}

/* The descriptors of the kernel's slot, and how many, among the bindings by set and binding. A slot
 * that the kernel's reflection does not name is a variable that no code uses: it has empty
 * buffers. */
static const CpuBinding *find(const HeddleKernel *k, const Bound *b, const CpuSlot *slot,
                              Arena *scratch, uint32_t *count)
{
    for (uint32_t i = 0; i < k->info->n_bindings; i++) {
        const HeddleBindingInfo *info = &k->info->bindings[i];
        *count = b->counts[i];
        if (info->set == slot->set && info->binding == slot->binding)
            return b->bindings[i];
    }
    *count = slot->count == UINT32_MAX ? 1 : MAX(slot->count, 1);
    return NEW_ARRAY(scratch, CpuBinding, *count);
}

static void copy_stats(HeddleStats *to, const uint64_t *from)
{
    *to = (HeddleStats){
        .matrix_loads = from[CPU_STAT_MATRIX_LOADS], .matrix_stores = from[CPU_STAT_MATRIX_STORES],
        .muladds = from[CPU_STAT_MULADDS], .flops = from[CPU_STAT_FLOPS],
        .conversions = from[CPU_STAT_CONVERSIONS], .barriers = from[CPU_STAT_BARRIERS],
        .yields = from[CPU_STAT_YIELDS], .bytes_loaded = from[CPU_STAT_BYTES_LOADED],
        .bytes_stored = from[CPU_STAT_BYTES_STORED], .bytes_moved = from[CPU_STAT_BYTES_MOVED],
    };
}

/* The block that an OpenCL kernel finds its arguments in. Workgroup memory that the caller gives
 * the size of lies behind the kernel's own. */
static const void *argument_block(const HeddleKernel *k, const Bound *b, Arena *scratch,
                                  uint64_t *local_bytes)
{
    enum { LOCAL_ALIGN = 128 };
    char *block = arena_alloc(scratch, k->argument_bytes + 64);
    uint64_t local = k->cpu->shared_bytes;
    for (uint32_t i = 0; i < k->info->n_bindings; i++) {
        const SpvArgument *a = &k->arguments[i];
        const CpuBinding *given = b->bindings[i];
        uint64_t word = (uint64_t)(uintptr_t)given->base;
        if (a->kind == SPV_ARGUMENT_LOCAL) {
            word = local = align_up(local, LOCAL_ALIGN);
            local += given->size;
        }
        if (a->kind == SPV_ARGUMENT_VALUE)
            memcpy(block + a->offset, given->base, MIN(given->size, a->size));
        else
            memcpy(block + a->offset, &word, sizeof word);
    }
    *local_bytes = local - k->cpu->shared_bytes;
    return block;
}

typedef struct Neighbour {
    const HeddleBindingInfo *info;
    int64_t offset, away;           /* from its start; from its nearer end */
    uint64_t size;
} Neighbour;

static void consider(Neighbour *best, const HeddleBindingInfo *info, const CpuBinding *x,
                     uintptr_t address)
{
    int64_t at = (int64_t)(address - (uintptr_t)x->base);
    int64_t away = at < 0 ? -at : at - (int64_t)x->size;
    if (x->base && away < best->away)
        *best = (Neighbour){ info, at, away, x->size };
}

/* Says which of the kernel's buffers the address is beside. */
static void note_neighbour(const HeddleKernel *k, const Bound *b, uintptr_t address, DiagSink *sink)
{
    Neighbour best = { .away = INT64_C(1) << 32 };  /* as far as nothing is beside an array */
    for (uint32_t i = 0; i < k->info->n_bindings; i++) {
        const HeddleBindingInfo *info = &k->info->bindings[i];
        bool buffer = info->kind == HEDDLE_BINDING_STORAGE || info->kind == HEDDLE_BINDING_UNIFORM;
        for (uint32_t n = 0; buffer && n < b->counts[i]; n++)
            consider(&best, info, &b->bindings[i][n], address);
    }
    if (best.info)
        diag(sink, DIAG_NOTE, NULL, NULL,
             "that would be byte %lld of set %u, binding %u ('%s'), which has %llu bytes",
             (long long)best.offset, best.info->set, best.info->binding, best.info->name,
             (unsigned long long)best.size);
}

static HeddleResult dispatch(HeddleKernel *k, const Bound *b, HeddleReport *report, Arena *scratch,
                             DiagSink *sink)
{
    const CpuKernel *code = k->cpu;
    const CpuBinding **slots = NEW_ARRAY(scratch, const CpuBinding *, code->n_slots);
    uint32_t *counts = NEW_ARRAY(scratch, uint32_t, code->n_slots);
    for (uint32_t i = 0; i < code->n_slots; i++)
        slots[i] = find(k, b, &code->slots[i], scratch, &counts[i]);
    const void *push = b->push;
    if (code->push_bytes > b->push_size) {
        char *longer = arena_alloc(scratch, code->push_bytes);
        memcpy(longer, b->push, b->push_size);
        push = longer;
    }
    CpuDispatch d = { .kernel = code, .slots = slots, .counts = counts, .push = push,
                      .max_threads = b->dispatch->max_threads,
                      .interleave = b->dispatch->interleave };
    if (k->opencl)
        d.push = argument_block(k, b, scratch, &d.local_bytes);
    memcpy(d.n_groups, b->groups, sizeof d.n_groups);
    memcpy(d.enqueued_size, b->local_size, sizeof d.enqueued_size);
    memcpy(d.global_size, b->global_size, sizeof d.global_size);
    memcpy(d.global_offset, b->dispatch->global_offset, sizeof d.global_offset);
    d.work_dim = b->global_size[2] > 1 ? 3 : b->global_size[1] > 1 ? 2 : b->global_size[0] != 0;
    d.print = b->dispatch->print ? dispatch_print : NULL;
    d.user = (void *)b->dispatch;
    Region part;
    for (uint32_t n = 0; dispatch_region(b, &n, &part);) {
        memcpy(d.groups, part.groups, sizeof d.groups);
        memcpy(d.base_group, part.first, sizeof d.base_group);
        memcpy(d.local_size, part.local_size, sizeof d.local_size);
        if (!cpu_dispatch(k->device->cpu, &d, sink)) {
            if (d.fault.address)
                note_neighbour(k, b, d.fault.address, sink);
            return HEDDLE_ERROR_RUN;
        }
    }
    copy_stats(&report->stats, d.stats);
    return HEDDLE_OK;
}

const DeviceOps cpu_device_ops = { compile, release, dispatch };
