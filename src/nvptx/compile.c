/* SPDX-License-Identifier: MIT
 *
 * Module to PTX: a private copy, lowering of matrices, the passes, LLVM IR (emit.h), PTX (ptx.c).
 *
 * All memory of a compilation lies in one arena that is freed at the end; what stays is the
 * NvptxKernel. Running out of memory is a diagnostic.
 */
#include "lower/lower.h"
#include "nvptx/fuse.h"
#include "pass/edit.h"

#include <stdlib.h>

typedef struct Compilation {
    Arena arena;
    jmp_buf escape;
    const SpvModule *source;
    const NvptxOptions *options;
    PassOptions passes;
    SpvEntryPoint entry;
    LowerReport lowered;
    const char *isa;
    DiagSink *sink;
    Emit *emit;
    NvptxKernel *kernel;
    bool llvm_owned; /* the LLVM module is ours to dispose of */
} Compilation;

static bool fail(Compilation *c, const char *what)
{
    diag(c->sink, DIAG_ERROR, NULL, NULL, "%s", what);
    return false;
}

/* What is lowered: matrices of other shapes, all else that is done with them, and subgroups of more
 * than a warp. */
#define SQUARE(type_a, type_b, sum, size)                                                          \
    { .a = PROFILE_##type_a,                                                                       \
      .b = PROFILE_##type_b,                                                                       \
      .c = PROFILE_##sum,                                                                          \
      .result = PROFILE_##sum,                                                                     \
      .m = size,                                                                                   \
      .n = size,                                                                                   \
      .k = size,                                                                                   \
      .scope = SpvScopeSubgroup }
#define SHAPE(a, b, c) SQUARE(a, b, c, 16)
static const LowerShape shapes[] = {
    SHAPE(F16, F16, F32),       SHAPE(F16, F16, F16),     SHAPE(BF16, BF16, F32),
    SHAPE(S8, S8, S32),         SHAPE(S8, U8, S32),       SHAPE(U8, S8, S32),
    SHAPE(U8, U8, S32),         SHAPE(U8, U8, U32),       SHAPE(S8, S8, U32),
    SHAPE(S8, U8, U32),         SHAPE(U8, S8, U32),       SHAPE(E4M3, E4M3, F32),
    SHAPE(E4M3, E5M2, F32),     SHAPE(E5M2, E4M3, F32),   SHAPE(E5M2, E5M2, F32),
    SHAPE(E4M3, E4M3, F16),     SHAPE(E4M3, E5M2, F16),   SHAPE(E5M2, E4M3, F16),
    SHAPE(E5M2, E5M2, F16),     SQUARE(F16, F16, F32, 8), SQUARE(F16, F16, F16, 8),
    SQUARE(BF16, BF16, F32, 8),
};
#undef SHAPE
#undef SQUARE

static const LowerProfile profile = {
    .name = "cuda",
    .source = "PTX ISA",
    .subgroup_size = NVPTX_WARP,
    .min_subgroup_size = 8,
    .max_subgroup_size = NVPTX_WARP,
    .features = PROFILE_HAS_STORAGE8 | PROFILE_HAS_STORAGE16 | PROFILE_HAS_FLOAT16 |
                PROFILE_HAS_FLOAT64 | PROFILE_HAS_INT8 | PROFILE_HAS_INT16 | PROFILE_HAS_INT64 |
                PROFILE_HAS_BFLOAT16 | PROFILE_HAS_BFLOAT16_DOT | PROFILE_HAS_FLOAT8 |
                PROFILE_HAS_WAIT_QUEUES | PROFILE_HAS_UNALIGNED | PROFILE_HAS_ORDER,
    .workgroup_memory = 163 << 10, /* the least of the targets that there are: sm_80's */
    .workgroup_invocations = 1024,
    .ownership = PROFILE_TILES,
    .shapes = shapes,
    .n_shapes = COUNT_OF(shapes),
};

const LowerShape *nvptx_shapes(uint32_t *n)
{
    *n = COUNT_OF(shapes);
    return shapes;
}

static bool has_matrices(const SpvModule *m)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpTypeCooperativeMatrixKHR || i->op == SpvOpTypeTensorLayoutNV ||
            i->op == SpvOpTypeTensorViewNV)
            return true;
    return false;
}

/* A size that the kernel leaves open (OpenCL) and the caller gives becomes the module's own. */
static void give_local_size(Compilation *c, SpvModule *m)
{
    const uint32_t *own = c->entry.local_size, *size = c->options->local_size;
    if (own[0] || own[1] || own[2] || !size[0])
        return;
    uint32_t mode[5] = { c->entry.function->def->id, SpvExecutionModeLocalSize, size[0],
                         MAX(size[1], 1), MAX(size[2], 1) };
    spv_insert_after(c->entry.inst, spv_make(m, SpvOpExecutionMode, 0, 0, mode, 5));
}

static bool lower_matrices(Compilation *c, SpvModule *m, uint32_t subgroup_size)
{
    if (!has_matrices(m) && subgroup_size <= NVPTX_WARP)
        return true;
    LowerOptions o = { .profile = &profile,
                       .entry = c->passes.entry,
                       .spec = c->passes.spec,
                       .n_spec = c->passes.n_spec,
                       .subgroup_size = subgroup_size,
                       .report = &c->lowered };
    c->lowered = (LowerReport){ .arena = &c->arena };
    c->passes.n_spec = 0; /* they are in it, then */
    return lower_module(m, &o, c->sink);
}

/* What tensor cores do not multiply becomes loops, which must not be so many. */
static bool multiplies_by_loops(SpvModule *m)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpTypeCooperativeMatrixKHR) {
            const SpvType *t = spv_type(m, i->id);
            if (t->use == SpvCooperativeMatrixUseMatrixAKHR && t->element->bits > 16)
                return true;
        }
    return false;
}

/* Arrays of rows are the numbers in them where lower_rows looks for those of other matrices. */
static bool open_arrays(Compilation *c, SpvModule *m, uint32_t subgroup_size)
{
    PassOptions o = c->passes;
    if (!c->passes.optimise ||
        !edit_find_capability(m, SpvCapabilityCooperativeMatrixConversionQCOM) ||
        multiplies_by_loops(m))
        return true;
    o.subgroup_size = subgroup_size;
    o.fuse_steps = 1;
    o.forward = false;
    o.ahead = NULL;
    c->passes.n_spec = 0; /* they are in it, then */
    return pass_pipeline(m, &o, &c->entry, c->sink);
}

static bool prepare(Compilation *c, SpvModule *m)
{
    if (!spv_entry_point(m, c->passes.entry, &c->entry, c->sink))
        return false;
    uint32_t size = c->options->subgroup_size;
    if (!size)
        size = c->entry.required_subgroup_size ? c->entry.required_subgroup_size : NVPTX_WARP;
    c->kernel->subgroup_size = size;
    if (size < 8 || size > 128 || !is_pow2(size)) {
        diag(c->sink, DIAG_ERROR, NULL, NULL,
             "subgroups of %u invocations are not supported: 8, 16, 32, 64 and 128 are", size);
        return false;
    }
    c->passes.subgroup_size = MIN(size, NVPTX_WARP);
    m->name = c->source->name;
    give_local_size(c, m);
    if (!open_arrays(c, m, size) || !lower_matrices(c, m, size) ||
        !pass_pipeline(m, &c->passes, &c->entry, c->sink))
        return false;
    const uint32_t *given = c->entry.local_size;
    bool open = !given[0] && !given[1] && !given[2];
    for (uint32_t k = 0; k < 3; k++)
        c->kernel->local_size[k] = open ? 0 : MAX(given[k], 1);
    if (spv_has_whole_quads(c->entry.quads, c->kernel->local_size))
        return true;
    return fail(c, "its workgroups do not consist of quads (Vulkan, VUIDs 10151 and 10152)");
}

/* Up to what decides whether workgroups are fused. */
static bool open_module(Compilation *c)
{
    SpvModule *m = spv_clone(&c->arena, c->source);
    if (!prepare(c, m))
        return false;
    Emit *e = c->emit = NEW(&c->arena, Emit);
    e->arena = &c->arena;
    e->module = m;
    e->entry = &c->entry;
    e->target = &threads_target;
    e->own = NEW(&c->arena, NvptxThreads);
    threads_of(e)->capability = (uint32_t)strtoul(c->isa + strlen("sm_"), NULL, 10);
    threads_of(e)->exact = c->options->exact;
    e->robust = c->options->robust;
    e->staging = c->lowered.staging.data;
    e->n_staging = c->lowered.staging.len;
    e->fma = true;
    e->lines = c->options->debug;
    e->sink = c->sink;
    e->W = c->passes.subgroup_size;
    memcpy(e->local_size, c->kernel->local_size, sizeof e->local_size);
    e->cfg = cfg_build(&c->arena, c->entry.function, c->sink);
    return e->cfg;
}

static bool may_fuse(const Compilation *c)
{
    return !strcmp(c->isa, "sm_90a") && c->passes.optimise && has_matrices(c->source);
}

/* Loops of products stay as they were written if that is what fusing takes. */
static bool open_fused(Compilation *c)
{
    PassOptions passes = c->passes;
    c->passes.fuse_steps = 1;
    c->passes.ahead = NULL;
    c->passes.forward = true;
    bool opened = open_module(c);
    c->passes = passes;
    if (!opened || (threads_of(c->emit)->fusion = fusion_find(c->emit)))
        return opened;
    return open_module(c);
}

static bool lower(Compilation *c)
{
    if (!(may_fuse(c) ? open_fused(c) : open_module(c)))
        return false;
    Emit *e = c->emit;
    SpvModule *m = e->module;
    if (!threads_matrices(e))
        return false;
    e->uniformity = uniformity_build_for(&c->arena, m, e->cfg, e->W);
    return true;
}

/* What was found out about the kernel. */
static bool keep_facts(Compilation *c)
{
    const Emit *e = c->emit;
    NvptxKernel *k = c->kernel;
    const NvptxFusion *f = fused_workgroups(e);
    for (uint32_t axis = 0; axis < 3; axis++)
        k->fused[axis] = f && axis == f->row_axis      ? f->rows
                         : f && axis == f->column_axis ? f->columns
                                                       : 1;
    k->column_axis = f ? f->column_axis : 0;
    k->push_bytes = e->push_bytes;
    k->shared_bytes = e->shared_bytes;
    k->n_slots = (uint32_t)e->slots.len;
    k->slots = calloc(e->slots.len + 1, sizeof *k->slots);
    if (!k->slots)
        return fail(c, "out of memory while compiling");
    for (uint32_t s = 0; s < k->n_slots; s++) {
        const EmitSlot *x = &e->slots.data[s];
        k->slots[s] = (NvptxSlot){ x->set, x->binding, x->count, x->written };
    }
    if (!prints_keep(e, k))
        return fail(c, "out of memory while compiling");
    if (sizeof(NvptxEnv) + k->push_bytes > NVPTX_PARAMETER_BYTES)
        return fail(c, "its push constants are more than a launch's parameters hold");
    k->parameter_bytes = (uint32_t)(sizeof(NvptxEnv) + align_up(k->push_bytes, 16));
    threads_set_parameter(c->emit, k->parameter_bytes);
    return true;
}

static bool generate(Compilation *c)
{
    Emit *e = c->emit;
    e->cx = LLVMContextCreate();
    e->ll = LLVMModuleCreateWithNameInContext("heddle", e->cx);
    c->llvm_owned = true;
    if (!emit_module(e, NVPTX_KERNEL_NAME) || !keep_facts(c))
        return false;
    NvptxRequest request = { .isa = c->isa,
                             .optimise = c->options->optimise,
                             .members = threads_of(e)->has_masks ? threads_of(e)->members : NULL,
                             .emit = c->options->emit };
    c->llvm_owned = false;
    return ptx_of_module(e->ll, e->cx, &request, c->kernel, c->sink);
}

static bool compile(Compilation *c)
{
    c->arena.on_failure = &c->escape;
    if (setjmp(c->escape))
        return fail(c, "out of memory while compiling");
    return lower(c) && generate(c);
}

NvptxKernel *nvptx_compile(const SpvModule *m, const PassOptions *passes, const NvptxOptions *o,
                           DiagSink *sink)
{
    Compilation c = { .source = m, .options = o, .passes = *passes, .sink = sink };
    c.isa = nvptx_isa(o->isa, sink);
    if (!c.isa)
        return NULL;
    c.kernel = calloc(1, sizeof *c.kernel);
    bool ok = c.kernel ? compile(&c) : fail(&c, "out of memory while compiling");
    if (c.llvm_owned) {
        LLVMDisposeModule(c.emit->ll);
        LLVMContextDispose(c.emit->cx);
    }
    arena_free(&c.arena);
    if (ok)
        return c.kernel;
    nvptx_free(c.kernel);
    return NULL;
}

void nvptx_free(NvptxKernel *k)
{
    if (!k)
        return;
    free(k->ptx);
    free(k->text);
    free(k->slots);
    prints_free(k);
    free(k);
}
