/* SPDX-License-Identifier: MIT
 *
 * Module to kernel: a private copy, the passes, the analyses, LLVM IR (emit.h), machine code
 * (jit.h).
 *
 * All memory of a compilation lies in one arena that is freed at the end; what stays is the
 * CpuKernel and the machine code it owns. Running out of memory is a diagnostic.
 */
#include "cpu/cpu.h"
#include "cpu/jit/jit.h"
#include "cpu/matrix/matrix.h"

#include <stdio.h>
#include <stdlib.h>

/* llama.cpp's product of q4_0 weights and a vector, Zen 4, ms: 5632 rows of 2048 in cache 0.383 one
 * by one, 0.327 by two, 0.349 by four; 90112 rows from memory, two threads, 4.1, 3.2 and 4.3. */
enum { GROUPS_AT_ONCE = 2 };

static const EmitRule *const rules[] = { lanes_rules_flow,
                                         lanes_rules_subgroup,
                                         lanes_rules_vote,
                                         lanes_rules_atomic,
                                         lanes_rules_image,
                                         qcom_array_rules,
                                         NULL };

static bool plan(Emit *e) { return matrix_begin(e) && lanes_plan(e); }

static void blocks(Emit *e)
{
    lanes_blocks(e);
    matrix_end(e);
}

/* Lanes, with matrices among them. */
static EmitTarget target_of_lanes(void)
{
    EmitTarget t = lanes_target;
    t.rules = rules;
    t.plan = plan;
    t.blocks = blocks;
    t.inst = matrix_inst;
    t.block_begin = matrix_block_begin;
    t.block_end = matrix_block_end;
    t.edge = matrix_phi_edges;
    t.settle = matrix_memory_barrier;
    t.prefetch = matrix_prefetch;
    return t;
}

bool cpu_handles(uint16_t op) { return emit_handles(rules, op); }

typedef struct Compilation {
    Arena arena;
    jmp_buf escape;
    const SpvModule *source;
    const CpuTarget *target;
    CpuOptions options;
    PassOptions passes;
    PassCoarse coarse;
    SpvId away; /* PassOptions.away */
    SpvEntryPoint entry;
    DiagSink *sink;
    EmitTarget emit_target;
    Emit *emit;
    CpuKernel *kernel;
    char name[256];
    bool any_subgroup_size; /* nobody has asked for one */
    bool llvm_owned;        /* the LLVM module is ours to dispose of */
    uint8_t *restricted; /* by id, n_restricted of them: variables that the program declares so */
    uint32_t n_restricted;
} Compilation;

static bool fail(Compilation *c, const char *what)
{
    diag(c->sink, DIAG_ERROR, NULL, NULL, "%s", what);
    return false;
}

static bool choose_subgroup_size(Compilation *c, SpvModule *m)
{
    if (!spv_entry_point(m, c->passes.entry, &c->entry, c->sink))
        return false;
    uint32_t size = c->options.subgroup_size;
    if (!size)
        size = c->entry.required_subgroup_size;
    /* passes add votes, which any size serves; of the kernel's own the size is a part */
    bool votes = spv_has_capability(m, SpvCapabilityGroupNonUniformVote);
    c->any_subgroup_size = !size && c->passes.optimise && !votes;
    if (!size)
        size = 32;
    if (size < 8 || size > 128 || !is_pow2(size)) {
        diag(c->sink, DIAG_ERROR, NULL, NULL,
             "subgroups of %u invocations are not supported: 8, 16, 32, 64 and 128 are", size);
        return false;
    }
    c->options.subgroup_size = c->passes.subgroup_size = size;
    c->kernel->subgroup_size = size;
    return true;
}

/* Values that are the same for the lanes of one width need not be for more of them. */
static void find_uniform(Compilation *c, Emit *e)
{
    e->uniformity = called_uniformity(&c->arena, e->module, e->cfg, e->W, c->sink);
    uint32_t width = c->any_subgroup_size ? lanes_width(e) : e->W;
    if (width == e->W)
        return;
    e->W = c->options.subgroup_size = c->kernel->subgroup_size = width;
    e->uniformity = called_uniformity(&c->arena, e->module, e->cfg, e->W, c->sink);
}

/* A size that the kernel leaves open (OpenCL) and the caller gives becomes the module's own. */
static void give_local_size(Compilation *c, SpvModule *m)
{
    const uint32_t *own = c->entry.local_size, *size = c->options.local_size;
    if (own[0] || own[1] || own[2] || !size[0])
        return;
    uint32_t mode[5] = { c->entry.function->def->id, SpvExecutionModeLocalSize, size[0],
                         MAX(size[1], 1), MAX(size[2], 1) };
    spv_insert_after(c->entry.inst, spv_make(m, SpvOpExecutionMode, 0, 0, mode, 5));
}

static void choose_local_size(Compilation *c)
{
    const uint32_t *given = c->entry.local_size;
    bool open = !given[0] && !given[1] && !given[2];
    for (uint32_t k = 0; k < 3; k++)
        c->kernel->local_size[k] = open ? 0 : MAX(given[k], 1);
}

static bool has_whole_quads(const Compilation *c)
{
    const uint32_t *size = c->kernel->local_size;
    if (spv_has_whole_quads(c->entry.quads, size))
        return true;
    diag(c->sink, DIAG_ERROR, NULL, "Vulkan, VUIDs 10151 and 10152",
         "a workgroup of %u x %u x %u does not consist of quads", size[0], size[1], size[2]);
    return false;
}

/* The module as the passes left it, with its positions as instructions: of a clone, since what
 * generates code from it goes by the positions in its own. */
static bool keep_module(Compilation *c, const SpvModule *m)
{
    size_t size;
    SpvModule *shown = spv_clone(&c->arena, m);
    pass_lines(shown);
    const void *words = spv_write(&c->arena, shown, &size);
    c->kernel->text = malloc(size);
    if (!c->kernel->text)
        return fail(c, "out of memory while compiling");
    memcpy(c->kernel->text, words, size);
    c->kernel->text_size = size;
    return true;
}

/* What loops carry on may take half of the registers. (lanes/width.c chooses the lanes later, up to
 * four rows of a workgroup.) */
static void allow_coarse(Compilation *c)
{
    const uint32_t *size = c->entry.local_size, vector = c->target->vector_bits / 32;
    uint32_t registers = c->target->sets & (CPU_AVX512 | CPU_NEON) ? 32 : 16;
    uint32_t row = size[1] > 1 ? size[0] * 4 : size[0], all = size[0] * size[1] * size[2];
    uint32_t lanes = c->any_subgroup_size ? MIN(MIN(row, all), 128u) : c->options.subgroup_size;
    c->coarse.most = GROUPS_AT_ONCE;
    c->coarse.most_words = registers / 2 / MAX(lanes / vector, 1);
    if (c->options.tier != CPU_TIER_FAST)
        c->passes.coarse = &c->coarse;
}

/* Variables of which the program has said itself that they are apart. */
static void find_restricted(Compilation *c, SpvModule *m)
{
    c->n_restricted = m->bound;
    c->restricted = NEW_ARRAY(&c->arena, uint8_t, m->bound);
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpDecorate && spv_operand(i, 1) == SpvDecorationRestrict &&
            spv_operand(i, 0) < m->bound)
            c->restricted[spv_operand(i, 0)] = 1;
}

/* Whether nothing asks for subgroups, or looks at what is compiled. */
static bool is_free(const Compilation *c)
{
    const CpuOptions *o = &c->options;
    return c->any_subgroup_size && !o->stats && !o->debug && !o->profile && !o->remarks &&
           c->passes.coarse && !c->coarse.groups;
}

static bool lower(Compilation *c)
{
    double start = clock_seconds();
    SpvModule *m = spv_clone(&c->arena, c->source);
    if (!choose_subgroup_size(c, m))
        return false;
    m->name = c->source->name;
    give_local_size(c, m);
    allow_coarse(c);
    c->passes.away = &c->away;
    find_restricted(c, m);
    if (!pass_pipeline(m, &c->passes, &c->entry, c->sink))
        return false;
    bool merge = c->options.merge;
    uint32_t groups = is_free(c) ? pass_merge_groups(m, &c->entry, c->away, !merge, &c->arena) : 0;
    if (merge && !groups)
        return fail(c, "workgroups that cannot be merged were to be");
    *(merge ? &c->kernel->merges : &c->kernel->may_merge) = groups;
    c->kernel->has_edges = c->away != 0;
    choose_local_size(c);
    if (!has_whole_quads(c) || (c->options.emit == CPU_EMIT_SPIRV && !keep_module(c, m)))
        return false;
    Emit *e = c->emit = NEW(&c->arena, Emit);
    e->arena = &c->arena;
    e->module = m;
    e->entry = &c->entry;
    c->emit_target = target_of_lanes();
    e->target = &c->emit_target;
    Lanes *lanes = e->own = NEW(&c->arena, Lanes);
    *lanes = (Lanes){ .kernel = c->kernel,
                      .options = &c->options,
                      .machine = c->target,
                      .groups_left = c->coarse.left };
    e->output = c->coarse.done;
    e->robust = c->options.robust;
    e->lines = c->options.debug || c->options.remarks;
    if (c->options.remarks)
        e->remarks = NEW(&c->arena, EmitNotes);
    if (c->options.stats)
        counters_begin(e);
    if (c->options.profile)
        rows_begin(e);
    e->fma = c->target->features && strstr(c->target->features, "+fma");
    e->sink = c->sink;
    e->W = c->options.subgroup_size;
    memcpy(e->local_size, c->kernel->local_size, sizeof e->local_size);
    e->cfg = cfg_build(&c->arena, c->entry.function, c->sink);
    if (!e->cfg)
        return false;
    e->ahead = wait_queues_find(&c->arena, m, e->cfg);
    find_uniform(c, e);
    if (c->options.merge && e->W <= 32) /* lanes gain nothing by lying in a row */
        return fail(c, "the kernel is not one for many lanes");
    if (c->passes.optimise && pass_close_loops(&c->arena, m, e->cfg, e->uniformity))
        e->uniformity = called_uniformity(&c->arena, m, e->cfg, e->W, c->sink);
    c->kernel->groups_at_once = c->coarse.groups;
    c->kernel->seconds_passes = clock_seconds() - start;
    return true;
}

/* The kernel's own, with their texts behind them. */
static bool keep_remarks(Compilation *c)
{
    const EmitNotes *from = c->emit->remarks;
    uint32_t n = from ? from->len : 0;
    size_t size = (n + (size_t)1) * sizeof(HeddleRemark);
    for (uint32_t i = 0; i < n; i++)
        size += strlen(from->data[i].message) + 1 +
                (from->data[i].at.file ? strlen(from->data[i].at.file) + 1 : 0);
    HeddleRemark *r = c->kernel->remarks = malloc(size);
    char *text = (char *)(r + n + 1);
    for (uint32_t i = 0; r && i < n; i++) {
        const EmitNote *x = &from->data[i];
        r[i] = (HeddleRemark){ x->kind, x->at.file, x->at.line, x->at.column, text };
        text = stpcpy(text, x->message) + 1;
        if (x->at.file) {
            r[i].file = text;
            text = stpcpy(text, x->at.file) + 1;
        }
    }
    c->kernel->n_remarks = n;
    return r;
}

/* The passes have taken it for different memory than others. */
static bool is_taken_apart(const Compilation *c, SpvId buffer)
{
    return spv_has_decoration(c->emit->module, buffer, -1, SpvDecorationRestrict) &&
           (buffer >= c->n_restricted || !c->restricted[buffer]);
}

static uint64_t argument_bit(const Compilation *c, SpvId id)
{
    const SpvArguments *all = &c->emit->arguments;
    uint32_t k = 0;
    while (k < all->n && all->list[k].id != id)
        k++;
    return k < all->n ? UINT64_C(1) << MIN(k, 63) : 0;
}

static void note_arguments(Compilation *c)
{
    CpuKernel *k = c->kernel;
    SpvModule *m = c->emit->module;
    for (uint32_t n = 0; n < c->emit->arguments.n; n++) {
        SpvId id = c->emit->arguments.list[n].id;
        k->apart_arguments |= is_taken_apart(c, id) ? argument_bit(c, id) : 0;
    }
    for (const SpvFunction *f = m->functions; f && k->apart_arguments; f = f->next)
        for (const SpvBlock *b = f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next)
                k->written_arguments |= argument_bit(c, written_root(m, i));
    if (k->apart_arguments && c->emit->arguments.n > 64) /* as if one were both */
        k->apart_arguments = k->written_arguments = 1;
}

/* Slots of buffers, and arguments, that the passes have taken for different memory than others. */
static void note_apart(Compilation *c)
{
    uint32_t n;
    SpvModule *m = c->emit->module;
    note_arguments(c);
    for (SpvInst *i = m->globals.first; c->kernel->slots && i; i = i->next) {
        if (i->op != SpvOpVariable || !is_taken_apart(c, i->id))
            continue;
        const uint32_t *set = spv_decoration(m, i->id, -1, SpvDecorationDescriptorSet, &n);
        const uint32_t *binding = spv_decoration(m, i->id, -1, SpvDecorationBinding, &n);
        for (uint32_t s = 0; s < c->kernel->n_slots; s++) {
            CpuSlot *x = &c->kernel->slots[s];
            x->apart |= x->set == (set ? *set : 0) && x->binding == (binding ? *binding : 0);
        }
    }
}

/* What was found out about the kernel. */
static bool keep_facts(Compilation *c)
{
    const Emit *e = c->emit;
    CpuKernel *k = c->kernel;
    k->push_bytes = e->push_bytes;
    k->shared_bytes = e->shared_bytes;
    k->n_slots = (uint32_t)e->slots.len;
    k->slots = calloc(e->slots.len + 1, sizeof *k->slots);
    for (uint32_t s = 0; k->slots && s < k->n_slots; s++) {
        const EmitSlot *x = &e->slots.data[s];
        k->slots[s] = (CpuSlot){ .set = x->set,
                                 .binding = x->binding,
                                 .count = x->count,
                                 .storage = x->storage,
                                 .written = x->written };
    }
    note_apart(c);
    return (k->slots && rows_keep(e, k) && counters_keep(e, k) && keep_remarks(c)) ||
           fail(c, "out of memory while compiling");
}

static bool generate(Compilation *c)
{
    Emit *e = c->emit;
    double start = clock_seconds();
    e->cx = LLVMContextCreate();
    e->ll = LLVMModuleCreateWithNameInContext("heddle", e->cx);
    LLVMSetTarget(e->ll, c->target->triple);
    c->llvm_owned = true;
    if (!emit_module(e, CPU_KERNEL_NAME))
        return false;
    counters_end(e);
    if (!keep_facts(c))
        return false;
    CpuJit jit;
    c->options.name = cpu_kernel_name(c->name, sizeof c->name, e->module, c->entry.name);
    c->llvm_owned = false;
    if (!cpu_jit(e->ll, e->cx, c->target, &c->options, &jit, c->sink))
        return false;
    c->kernel->code = jit.code;
    c->kernel->owner = jit.owner;
    c->kernel->lines = jit.lines;
    c->kernel->debug = c->options.debug;
    if (jit.text) {
        c->kernel->text = jit.text;
        c->kernel->text_size = jit.text_size;
    }
    c->kernel->stack_bytes = jit.stack_bytes;
    c->kernel->returns_at_barriers = jit.returns_at_barriers;
    c->kernel->kept_bytes = jit.kept_bytes;
    c->kernel->fast = jit.fast;
    c->kernel->seconds_llvm = clock_seconds() - start;
    return true;
}

static bool compile_guarded(Compilation *c)
{
    c->arena.on_failure = &c->escape;
    if (setjmp(c->escape))
        return fail(c, "out of memory while compiling");
    return lower(c) && generate(c);
}

const char *cpu_kernel_name(char *out, size_t size, const SpvModule *m, const char *entry)
{
    const char *file = m->name ? m->name : "kernel", *slash = strrchr(file, '/');
    snprintf(out, size, "%s:%s", slash ? slash + 1 : file, entry);
    return out;
}

CpuKernel *cpu_compile(const SpvModule *m, const CpuTarget *t, const PassOptions *passes,
                       const CpuOptions *o, DiagSink *sink)
{
    Compilation c = { .source = m, .target = t, .sink = sink };
    if (passes)
        c.passes = *passes;
    if (o)
        c.options = *o;
    c.kernel = calloc(1, sizeof *c.kernel);
    bool ok = c.kernel ? compile_guarded(&c) : fail(&c, "out of memory while compiling");
    if (c.llvm_owned) {
        LLVMDisposeModule(c.emit->ll);
        LLVMContextDispose(c.emit->cx);
    }
    arena_free(&c.arena);
    if (ok)
        return c.kernel;
    cpu_kernel_free(c.kernel);
    return NULL;
}

bool cpu_inputs_keep(CpuInputs *in, const SpvModule *source, const PassOptions *passes,
                     const CpuOptions *options)
{
    jmp_buf oom;
    PassOptions *p = &in->passes;
    *in = (CpuInputs){ .passes = *passes, .options = *options };
    if (ARENA_GUARD(&in->arena, oom)) {
        arena_free(&in->arena);
        return false;
    }
    in->source = spv_clone(&in->arena, source);
    p->entry = p->entry ? arena_strdup(&in->arena, p->entry) : NULL;
    p->spec = p->n_spec ? arena_copy(&in->arena, p->spec, p->n_spec * sizeof *p->spec) : NULL;
    in->arena.on_failure = NULL;
    return true;
}

void cpu_kernel_free(CpuKernel *k)
{
    if (!k)
        return;
    cpu_code_free(k->owner);
    cpu_lines_free(k->lines);
    for (uint32_t i = 0; k->rows && i < k->n_rows; i++)
        free(k->rows[i].file);
    free(k->rows);
    free(k->counts);
    free(k->remarks);
    free(k->text);
    free(k->slots);
    free(k);
}
