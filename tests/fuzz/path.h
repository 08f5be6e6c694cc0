/* SPDX-License-Identifier: MIT
 *
 * The whole way of a module, for the programs of this folder: read, checked and reflected by the
 * library; run by the interpreter within a budget and with all its checks; compiled for the cpu;
 * and run there too (robust) where the interpreter came to the end and had nothing to say. Any of
 * it may end in a diagnostic; a failure without one is a bug.
 */
#ifndef FUZZ_PATH_H
#define FUZZ_PATH_H

#include "check/check.h"
#include "cpu/cpu.h"
#include "reference/reference.h"

#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATH_BUFFERS = 16, PATH_BYTES = 4096, PATH_BUDGET = 20000 };

/* How far a module came. */
typedef enum Stage { STAGE_REFUSED, STAGE_CHECKED, STAGE_INTERPRETED, STAGE_COMPILED, STAGE_RUN,
                     N_STAGES } Stage;

typedef struct Path {
    bool compile;               /* also for the cpu: LLVM takes a while */
    bool plain;                 /* nothing is optimised */
    uint32_t unchecked;         /* REF_CHECK_* that the interpreter leaves out */
    uint64_t budget;            /* the interpreter's, of all invocations; 0 = PATH_BUDGET */
    uint32_t subgroup_size;     /* 0 = 8 */
    CpuTarget target;
    CpuDevice *device;
    bool silent;                /* something failed and nothing was reported */
    char said[1000];            /* by the devices, the last lines */
    uint64_t memory[PATH_BUFFERS][PATH_BYTES / 8];
} Path;

static bool path_open(Path *p)
{
    DiagSink sink = { 0 };
    return cpu_target(&p->target, NULL, &sink) && (p->device = cpu_device_new(1, true, &sink));
}

static inline void path_close(Path *p)
{
    cpu_device_free(p->device);
    cpu_target_free(&p->target);
}

static void path_fill(Path *p)
{
    for (uint32_t b = 0; b < PATH_BUFFERS; b++)
        for (uint32_t i = 0; i < PATH_BYTES / 8; i++)
            p->memory[b][i] = (uint64_t)i * (b & 1 ? 0x3ff0000100000003u : 1);
}

/* A sink that keeps what the device says. */
static void path_hear(void *user, const Diag *d)
{
    Path *p = user;
    size_t n = strlen(p->said);
    if (d->severity == DIAG_ERROR)
        snprintf(p->said + n, sizeof p->said - n, "%s; ", d->message);
}

static DiagSink path_sink(Path *p) { return (DiagSink){ .report = path_hear, .user = p }; }

/* A kernel of OpenCL has arguments: buffers as they come, everything else of zeros. */
static uint32_t path_arguments(Path *p, SpvModule *m, const char *entry, RefArg *args)
{
    static uint8_t zeros[1024];
    SpvEntryPoint e;
    DiagSink quiet = { 0 };
    uint32_t n = 0;
    if (!spv_entry_point(m, entry, &e, &quiet))
        return 0;
    for (const SpvInst *i = e.function->head.first; i; i = i->next) {
        const SpvType *t = i->op == SpvOpFunctionParameter ? spv_type(m, i->type) : NULL;
        if (!t || n == PATH_BUFFERS)
            continue;
        RefArg a = { REF_ARG_VALUE, zeros, spv_type_size(t) };
        if (t->kind == SPV_POINTER && t->storage == SpvStorageClassWorkgroup)
            a = (RefArg){ REF_ARG_LOCAL, NULL, 256 };
        else if (t->kind == SPV_POINTER)
            a = (RefArg){ REF_ARG_BUFFER, p->memory[n], PATH_BYTES };
        args[n++] = a;
    }
    return n;
}

/* True when it came to its end and nothing was found. */
static bool path_interpret(Path *p, Arena *a, SpvModule *m, const HeddleKernelInfo *info)
{
    RefBinding bindings[PATH_BUFFERS];
    RefArg args[PATH_BUFFERS];
    RefResult result = { 0 };
    DiagSink sink = path_sink(p);
    RefDispatch d = {
        .bindings = bindings, .groups = { 1, 1, 1 }, .subgroup_size = p->subgroup_size,
        .check = REF_CHECK_ALL & ~p->unchecked, .budget = PATH_BUDGET, .memory_limit = 64 << 20,
        .total_budget = p->budget ? p->budget : PATH_BUDGET, .entry = info->entry,
        .push = p->memory[0], .push_size = 256, .args = args,
        .n_args = path_arguments(p, m, info->entry, args),
    };
    for (uint32_t i = 0; i < info->n_bindings && i < PATH_BUFFERS; i++)
        bindings[d.n_bindings++] = (RefBinding){ .set = info->bindings[i].set,
                                                 .binding = info->bindings[i].binding,
                                                 .base = p->memory[i], .size = PATH_BYTES };
    path_fill(p);
    bool good = ref_dispatch(a, m, &d, &result, &sink);
    p->silent |= !good && !sink.errors;
    return good && result.n_findings == 0;
}

/* A dispatch of path_run has no arguments for a kernel of OpenCL. */
static bool has_addresses(const SpvModule *m)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpMemoryModel && spv_operand(i, 1) == SpvMemoryModelOpenCL)
            return true;
    for (SpvId id = 0; id < m->bound; id++) {
        const SpvType *t = spv_type((SpvModule *)m, id);
        if (t && t->kind == SPV_POINTER &&
            t->storage == SpvStorageClassPhysicalStorageBuffer)
            return true;
    }
    return false;
}

static void path_run(Path *p, const CpuKernel *k, DiagSink *sink)
{
    DeviceBinding table[PATH_BUFFERS][4];
    const DeviceBinding *slots[PATH_BUFFERS];
    for (uint32_t i = 0; i < k->n_slots; i++) {
        for (uint32_t e = 0; e < 4; e++)
            table[i][e] = (DeviceBinding){ p->memory[i], e ? 0 : PATH_BYTES };
        slots[i] = table[i];
    }
    CpuDispatch d = { .kernel = k, .slots = slots, .push = p->memory[0], .groups = { 1, 1, 1 },
                      .local_size = { 1, 1, 1 }, .max_threads = 1 };
    path_fill(p);
    bool good = cpu_dispatch(p->device, &d, sink);
    p->silent |= !good && !sink->errors;
}

static Stage path_compile(Path *p, const SpvModule *m, const char *entry, bool run)
{
    DiagSink sink = path_sink(p);
    PassOptions passes = { .optimise = !p->plain, .entry = entry };
    CpuOptions o = { .subgroup_size = p->subgroup_size, .robust = true,
                     .optimise = !p->plain };
    CpuKernel *k = cpu_compile(m, &p->target, &passes, &o, &sink);
    p->silent |= !k && !sink.errors;
    if (!k)
        return STAGE_INTERPRETED;
    run = run && k->n_slots <= PATH_BUFFERS && k->push_bytes <= 256 && !has_addresses(m) &&
          k->shared_bytes < 1 << 20 && k->frame_bytes < 1 << 24;
    for (uint32_t i = 0; i < k->n_slots; i++)
        run = run && k->slots[i].count <= 4;
    if (run)
        path_run(p, k, &sink);
    cpu_kernel_free(k);
    return run ? STAGE_RUN : STAGE_COMPILED;
}

static Stage path_devices(Path *p, Arena *a, const HeddleModule *module, const char *name)
{
    DiagSink sink = { 0 };
    size_t size;
    const void *words = heddle_module_spirv(module, &size);
    const HeddleKernelInfo *info = heddle_module_entry_point(module, 0);
    SpvModule *m = spv_read(a, words, size, name, &sink);
    p->silent |= !m;
    if (!m || !info)
        return STAGE_CHECKED;
    bool clean = path_interpret(p, a, spv_clone(a, m), info);
    return p->compile ? path_compile(p, m, info->entry, clean) : STAGE_INTERPRETED;
}

/* Bytes: a binary when they begin with the magic number, else assembly. */
static Stage path_take(Path *p, const void *data, size_t size)
{
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleModule *module = NULL;
    uint32_t magic = 0;
    if (size >= 4)
        memcpy(&magic, data, 4);
    bool binary = magic == SpvMagicNumber || magic == __builtin_bswap32(SpvMagicNumber);
    HeddleModuleOptions o = { .language = binary ? HEDDLE_LANGUAGE_SPIRV
                                                 : HEDDLE_LANGUAGE_SPIRV_ASM };
    Arena arena = { .limit = 512 << 20 };
    jmp_buf out_of_memory;
    Stage stage = STAGE_REFUSED;
    p->silent = false;
    p->said[0] = 0;
    if (heddle_module_new(data, size, "fuzz", &o, &module, log) == HEDDLE_OK) {
        arena.on_failure = &out_of_memory;
        if (!setjmp(out_of_memory))
            stage = path_devices(p, &arena, module, "fuzz");
    } else {
        p->silent = heddle_log_errors(log) == 0;
    }
    arena_free(&arena);
    heddle_module_free(module);
    heddle_log_free(log);
    return stage;
}

#endif
