/* SPDX-License-Identifier: MIT
 *
 * Kernels that take buffers for different memory (contract in apart.h).
 */
#include "cpu/apart.h"

#include <pthread.h>
#include <stdlib.h>

struct CpuApart {
    const CpuTarget *target;
    CpuInputs inputs;
    const CpuKernel *code; /* which assumes it */
    pthread_mutex_t lock;
    CpuKernel *other; /* under the lock; NULL: nobody has asked for it */
};

bool cpu_assumes_apart(const CpuKernel *code)
{
    for (uint32_t k = 0; k < code->n_slots; k++)
        if (code->slots[k].apart)
            return true;
    return code->apart_arguments;
}

static bool overlap(const DeviceBinding *a, const DeviceBinding *b)
{
    uintptr_t x = (uintptr_t)a->base, y = (uintptr_t)b->base;
    return a->size && b->size && x < y + b->size && y < x + a->size;
}

enum { MOST_PAIRS = 4096 }; /* of descriptors, that are compared for a dispatch's two slots */

static bool any_overlap(const DeviceBinding *a, uint32_t n, const DeviceBinding *b, uint32_t m)
{
    if ((uint64_t)n * m > MOST_PAIRS)
        return true;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < m; k++)
            if (overlap(&a[i], &b[k]))
                return true;
    return false;
}

static bool arguments_overlap(const CpuKernel *code, const DeviceBinding *const *arguments)
{
    if (code->apart_arguments & code->written_arguments) /* there are more than bits */
        return true;
    for (uint32_t k = 0; k < 64 && code->apart_arguments; k++)
        for (uint32_t j = 0; j < 64 && code->apart_arguments >> k & 1; j++)
            if (code->written_arguments >> j & 1 && overlap(arguments[k], arguments[j]))
                return true;
    return false;
}

bool cpu_apart_overlaps(const CpuKernel *code, const DeviceBinding *const *slots,
                        const uint32_t *counts)
{
    if (arguments_overlap(code, slots))
        return true;
    for (uint32_t k = 0; k < code->n_slots; k++)
        for (uint32_t j = 0; code->slots[k].apart && j < code->n_slots; j++)
            if (code->slots[j].written && code->slots[j].storage == SpvStorageClassStorageBuffer &&
                any_overlap(slots[k], counts[k], slots[j], counts[j]))
                return true;
    return false;
}

CpuApart *cpu_apart_new(const CpuTarget *t, const SpvModule *source, const PassOptions *passes,
                        const CpuOptions *options, const CpuKernel *code)
{
    CpuApart *a = calloc(1, sizeof *a);
    if (!a || !cpu_inputs_keep(&a->inputs, source, passes, options)) {
        free(a);
        return NULL;
    }
    CpuOptions *o = &a->inputs.options;
    o->subgroup_size = code->subgroup_size;
    o->stats = o->profile = o->remarks = false; /* these are of the code that is looked at */
    o->emit = CPU_EMIT_NOTHING;
    a->inputs.passes.unstage = 0;
    a->target = t;
    a->code = code;
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

void cpu_apart_free(CpuApart *a)
{
    if (!a)
        return;
    pthread_mutex_destroy(&a->lock);
    cpu_kernel_free(a->other);
    arena_free(&a->inputs.arena);
    free(a);
}

/* Descriptors are bound by what the first code says. */
static bool is_bound_alike(const CpuKernel *a, const CpuKernel *b)
{
    bool same = a->n_slots == b->n_slots && a->push_bytes == b->push_bytes &&
                a->subgroup_size == b->subgroup_size;
    for (uint32_t k = 0; same && k < a->n_slots; k++)
        same = a->slots[k].set == b->slots[k].set && a->slots[k].binding == b->slots[k].binding &&
               a->slots[k].count == b->slots[k].count;
    return same;
}

const CpuKernel *cpu_apart_code(CpuApart *a, DiagSink *sink)
{
    pthread_mutex_lock(&a->lock);
    if (!a->other) {
        const CpuInputs *in = &a->inputs;
        a->other = cpu_compile(in->source, a->target, &in->passes, &in->options, sink);
        if (a->other && !is_bound_alike(a->other, a->code)) {
            cpu_kernel_free(a->other);
            a->other = NULL;
            diag(sink, DIAG_ERROR, NULL, NULL,
                 "the kernel's code for buffers that share memory binds them in another way");
        }
    }
    const CpuKernel *code = a->other;
    pthread_mutex_unlock(&a->lock);
    return code;
}
