/* SPDX-License-Identifier: MIT
 *
 * Kernels: PTX, which the driver makes machine code of (and keeps, in a cache of its own).
 */
#include "cuda/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* An OpenCL kernel is bound to its arguments, a shader to what its code reads. */
CudaKernel *cuda_new_kernel(Cuda *c, NvptxKernel *code, const DeviceCompile *how)
{
    const SpvArguments *arguments = how ? how->arguments : NULL;
    uint32_t n = arguments ? 0 : code->n_slots;
    CudaKernel *k = calloc(1, sizeof *k + n * sizeof *k->slots);
    if (!k)
        return NULL;
    k->code = code;
    k->arguments = arguments;
    for (uint32_t i = 0; i < n; i++) {
        const NvptxSlot *s = &code->slots[i];
        k->slots[i] = (DeviceSlot){ .set = s->set,
                                    .binding = s->binding,
                                    .count = s->count,
                                    .kind = DEVICE_SLOT_BUFFER,
                                    .written = s->written };
    }
    k->base = (DeviceKernel){
        .device = &c->base,
        .slots = arguments ? how->slots : k->slots,
        .n_slots = arguments ? how->n_slots : n,
        .subgroup_size = code->subgroup_size,
        .shared_bytes = code->shared_bytes,
        .push_bytes = code->push_bytes,
        .text = code->text,
        .text_size = code->text ? strlen(code->text) : 0,
        .cost = 2 * strlen(code->ptx),
    };
    memcpy(k->base.local_size, code->local_size, sizeof k->base.local_size);
    return k;
}

/* What the driver's compiler made of it. */
static CuResult ask_facts(Cuda *c, CudaKernel *k)
{
    const CudaDriver *d = c->driver;
    const uint32_t *n = k->base.local_size, *fused = k->code->fused;
    uint32_t threads = n[0] * n[1] * n[2] * fused[0] * fused[1] * fused[2];
    int registers = 0, bytes = 0, groups = 0;
    CuResult r = d->cuFuncGetAttribute(&k->most_threads, CU_FUNC_MOST_THREADS, k->function);
    r = r ? r : d->cuFuncGetAttribute(&registers, CU_FUNC_REGISTERS, k->function);
    r = r ? r : d->cuFuncGetAttribute(&bytes, CU_FUNC_LOCAL_BYTES, k->function);
    if (!r && n[0])
        r = d->cuOccupancyMaxActiveBlocksPerMultiprocessor(&groups, k->function, (int)threads,
                                                           k->base.shared_bytes);
    k->base.registers = (uint32_t)registers;
    k->base.private_bytes = (uint32_t)bytes;
    k->base.resident_groups = (uint32_t)groups * fused[0] * fused[1] * fused[2];
    return r;
}

/* The sizes of workgroup memory that OpenCL's arguments ask for are known later. */
static CuResult load_function(Cuda *c, CudaKernel *k)
{
    const CudaDriver *d = c->driver;
    CuResult r = d->cuModuleGetFunction(&k->function, k->module, NVPTX_KERNEL_NAME);
    if (!r && (k->arguments || k->code->shared_bytes > 48 << 10))
        r = d->cuFuncSetAttribute(k->function, CU_FUNC_SHARED_BYTES, c->shared_bytes);
    return r ? r : ask_facts(c, k);
}

HeddleResult cuda_load_code(Cuda *c, CudaKernel *k, DiagSink *sink)
{
    char log[4096] = "";
    int options[] = { CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES, CU_JIT_OPTIMISATION };
    void *values[] = { log, (void *)sizeof log, (void *)0 };
    unsigned n_options = k->not_optimised ? 3 : 2;
    if (!c->context) /* to be looked at, not to be run */
        return HEDDLE_OK;
    if (!cuda_enter(c, sink))
        return HEDDLE_ERROR_RUN;
    CuResult r =
        c->driver->cuModuleLoadDataEx(&k->module, k->code->ptx, n_options, options, values);
    r = r ? r : load_function(c, k);
    cuda_leave(c);
    if (cuda_good(c, r, "loading the kernel", sink))
        return HEDDLE_OK;
    if (log[0])
        diag(sink, DIAG_NOTE, NULL, NULL, "NVIDIA's driver says: %s", log);
    if (r == CU_ERROR_UNSUPPORTED_PTX_VERSION)
        diag(sink, DIAG_NOTE, NULL, NULL,
             "NVIDIA's driver here is of CUDA %d.%d, which is too old for PTX for %s",
             c->driver->version / 1000, c->driver->version % 1000 / 10, c->isa);
    return cuda_result(r);
}

static bool has_addresses(const SpvModule *m)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpMemoryModel)
            return spv_operand(i, 0) != SpvAddressingModelLogical;
    return false;
}

static bool can_emit(HeddleEmit emit, DiagSink *sink)
{
    if (emit != HEDDLE_EMIT_SPIRV)
        return true;
    diag(sink, DIAG_ERROR, NULL, NULL,
         "the cuda device makes LLVM IR and PTX of a kernel, not SPIR-V");
    return false;
}

HeddleResult cuda_compile(DeviceBase *d, const DeviceCompile *how, Arena *arena, DeviceKernel **out,
                          DiagSink *sink)
{
    Cuda *c = (Cuda *)d;
    (void)arena;
    PassOptions passes = { .entry = how->entry,
                           .spec = how->specs,
                           .n_spec = how->n_specs,
                           .optimise = !how->no_optimisation };
    NvptxOptions options = { .isa = c->isa,
                             .subgroup_size = how->subgroup_size,
                             .robust = !how->no_robust && !how->arguments,
                             .optimise = !how->no_optimisation,
                             .debug = how->debug,
                             .exact = how->exact,
                             .emit = how->emit == HEDDLE_EMIT_LLVM ? NVPTX_EMIT_LLVM_OPTIMISED
                                     : how->emit == HEDDLE_EMIT_LLVM_PLAIN ? NVPTX_EMIT_LLVM
                                                                           : NVPTX_EMIT_PTX };
    memcpy(options.local_size, how->wanted_size, sizeof options.local_size);
    if (!can_emit(how->emit, sink))
        return HEDDLE_ERROR_UNSUPPORTED;
    NvptxKernel *code = nvptx_compile(how->module, &passes, &options, sink);
    if (!code)
        return HEDDLE_ERROR_SOURCE;
    CudaKernel *k = cuda_new_kernel(c, code, how);
    if (!k) {
        nvptx_free(code);
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return HEDDLE_ERROR_MEMORY;
    }
    k->by_address = has_addresses(how->module);
    k->not_optimised = how->no_optimisation;
    if (how->emit == HEDDLE_EMIT_NATIVE || how->emit == HEDDLE_EMIT_OBJECT) {
        k->base.text = code->ptx;
        k->base.text_size = strlen(code->ptx);
    }
    *out = &k->base;
    return cuda_load_code(c, k, sink);
}

void cuda_release(DeviceKernel *kernel)
{
    CudaKernel *k = (CudaKernel *)kernel;
    Cuda *c = (Cuda *)kernel->device;
    DiagSink nobody = { 0 };
    if (k->module && cuda_enter(c, &nobody)) {
        c->driver->cuModuleUnload(k->module);
        cuda_leave(c);
    }
    nvptx_free(k->code);
    free(k);
}
