/* SPDX-License-Identifier: MIT
 *
 * The cpu device: kernels become machine code, dispatches go to its worker threads.
 */
#include "runtime/runtime.h"

static const CpuEmit emits[] = {
    [HEDDLE_EMIT_NOTHING] = CPU_EMIT_NOTHING,     [HEDDLE_EMIT_SPIRV] = CPU_EMIT_NOTHING,
    [HEDDLE_EMIT_LLVM] = CPU_EMIT_LLVM_OPTIMISED, [HEDDLE_EMIT_LLVM_PLAIN] = CPU_EMIT_LLVM,
    [HEDDLE_EMIT_NATIVE] = CPU_EMIT_ASM,          [HEDDLE_EMIT_OBJECT] = CPU_EMIT_OBJECT,
};

/* The module as the code generator sees it, in SPIR-V. */
static HeddleResult emit_spirv(HeddleKernel *k, const HeddleModule *m, const PassOptions *passes,
                               DiagSink *sink)
{
    SpvModule *clone = spv_clone(&k->arena, m->spv);
    SpvEntryPoint entry;
    if (!pass_pipeline(clone, passes, &entry, sink))
        return HEDDLE_ERROR_SOURCE;
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

/* The descriptors of the kernel's slot, among the bindings by set and binding. A slot that the
 * kernel's reflection does not name is a variable that no code uses: it has empty buffers. */
static const CpuBinding *find(const HeddleKernel *k, const Bound *b, const CpuSlot *slot,
                              Arena *scratch)
{
    for (uint32_t i = 0; i < k->info->n_bindings; i++) {
        const HeddleBindingInfo *info = &k->info->bindings[i];
        if (info->set == slot->set && info->binding == slot->binding)
            return b->bindings[i];
    }
    return NEW_ARRAY(scratch, CpuBinding, slot->count == UINT32_MAX ? 1 : MAX(slot->count, 1));
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

static HeddleResult dispatch(HeddleKernel *k, const Bound *b, HeddleReport *report, Arena *scratch,
                             DiagSink *sink)
{
    const CpuKernel *code = k->cpu;
    const CpuBinding **slots = NEW_ARRAY(scratch, const CpuBinding *, code->n_slots);
    for (uint32_t i = 0; i < code->n_slots; i++)
        slots[i] = find(k, b, &code->slots[i], scratch);
    const void *push = b->push;
    if (code->push_bytes > b->push_size) {
        char *longer = arena_alloc(scratch, code->push_bytes);
        memcpy(longer, b->push, b->push_size);
        push = longer;
    }
    CpuDispatch d = { .kernel = code, .slots = slots, .push = push,
                      .max_threads = b->dispatch->max_threads,
                      .interleave = b->dispatch->interleave };
    memcpy(d.groups, b->groups, sizeof d.groups);
    memcpy(d.base_group, b->dispatch->base_group, sizeof d.base_group);
    if (!cpu_dispatch(k->device->cpu, &d, sink))
        return HEDDLE_ERROR_RUN;
    copy_stats(&report->stats, d.stats);
    return HEDDLE_OK;
}

const DeviceOps cpu_device_ops = { compile, release, dispatch };
