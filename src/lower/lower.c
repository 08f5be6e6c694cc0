/* SPDX-License-Identifier: MIT
 *
 * lower: the passes, in order, by the profile. What extends KHR's matrices becomes KHR's and
 * workgroup memory first; then KHR's go where the target has none. Positions are kept.
 */
#include "lower/internal.h"

#include <stdio.h>

typedef struct LowerPass {
    const char *name;
    void (*run)(Lower *l);
    uint32_t has; /* what it takes away: not where the target has that whole */
} LowerPass;

static const LowerPass passes[] = {
    { "lower_tensor", lower_tensor, PROFILE_HAS_TENSORS },
    { "lower_nv2", lower_nv2, PROFILE_HAS_NV2 },
    { "lower_qcom", lower_rows, PROFILE_HAS_QCOM },
    { "lower_qcom", lower_qcom, PROFILE_HAS_QCOM },
    { "lower_workgroup", lower_workgroup_close, 0 },
    { "fit_matrices", fit_matrices, 0 },
    { "lower_khr", lower_khr, 0 },
    { "load_lines", load_lines, 0 },
    { "wide_subgroups", wide_subgroups, 0 },
    { "small_floats", small_floats, 0 },
};

/* ---- what the passes share ------------------------------------------------------------------- */

bool lower_refuse(Lower *l, const SpvInst *i, const char *fmt, ...)
{
    va_list args;
    DiagLoc loc = spv_loc(l->scratch, l->m, i);
    va_start(args, fmt);
    char text[512];
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!l->failed)
        diag(l->sink, DIAG_ERROR, &loc, NULL, "%s cannot be lowered for '%s': %s", l->pass,
             l->profile->name, text);
    l->failed = true;
    return false;
}

void lower_note(Lower *l, const SpvInst *i, const char *how)
{
    LowerReport *r = l->report;
    for (uint32_t k = 0; r && k < r->rows.len; k++) {
        LowerRow *row = &r->rows.data[k];
        if (row->op == i->op && row->pass == l->pass && row->how == how) {
            row->count++;
            return;
        }
    }
    if (r)
        vec_push(r->arena, &r->rows, (LowerRow){ i->op, 1, l->pass, how });
}

static uint32_t feature_of(const SpvType *t)
{
    if (t->bits == 32 || (t->kind != SPV_INT && t->kind != SPV_FLOAT))
        return 0;
    if (t->kind == SPV_INT)
        return t->bits == 8    ? PROFILE_HAS_INT8
               : t->bits == 16 ? PROFILE_HAS_INT16
                               : PROFILE_HAS_INT64;
    if (t->format == SPV_IEEE)
        return t->bits == 16 ? PROFILE_HAS_FLOAT16 : PROFILE_HAS_FLOAT64;
    return t->format == SPV_BF16 ? PROFILE_HAS_BFLOAT16 : PROFILE_HAS_FLOAT8;
}

void lower_uses(Lower *l, const SpvType *t) { l->types_used |= feature_of(t); }

bool lower_has(const Lower *l, const SpvType *t)
{
    return !(feature_of(t) & ~l->profile->features) || (t->bits < 32 && !spv_is_microscaling(t));
}

bool lower_is_small(const Lower *l, const SpvType *t)
{
    bool number = t->kind == SPV_INT || (t->kind == SPV_FLOAT && t->format == SPV_IEEE);
    return number && t->bits < 32 && feature_of(t) & ~l->profile->features;
}

bool lower_lacks_storage(const Lower *l, const SpvType *t)
{
    uint32_t storage = t->bits == 8 ? PROFILE_HAS_STORAGE8 : PROFILE_HAS_STORAGE16;
    bool number = t->kind == SPV_INT || t->kind == SPV_FLOAT;
    return number && t->bits < 32 && !(l->profile->features & storage);
}

bool lower_lacks_float(const Lower *l, const SpvType *t)
{
    const uint32_t small = PROFILE_HAS_BFLOAT16 | PROFILE_HAS_FLOAT8;
    return t->kind == SPV_FLOAT && !spv_is_microscaling(t) &&
           feature_of(t) & small & ~l->profile->features;
}

void lower_each(Lower *l, void (*visit)(Lower *l, SpvInst *i))
{
    VEC(SpvInst *) list = { 0 };
    for (SpvFunction *f = l->m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next)
                vec_push(l->scratch, &list, i);
    for (uint32_t k = 0; k < list.len && !l->failed; k++)
        visit(l, list.data[k]);
}

/* ---- before the passes ----------------------------------------------------------------------- */

/* Positions are in the instructions; pass_lines puts them back. */
static void drop_lines(SpvModule *m)
{
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next) {
            b->before = (SpvInstList){ 0 };
            for (SpvInst *i = b->insts.first, *next; i; i = next) {
                next = i->next;
                if (i->op == SpvOpLine || i->op == SpvOpNoLine || spv_is_nonsemantic(i))
                    edit_remove(m, i);
            }
        }
}

static void drop_entries(Lower *l)
{
    SpvId kept = l->entry.function->def->id;
    for (SpvInst *i = l->m->globals.first, *next; i; i = next) {
        next = i->next;
        bool other = i->op == SpvOpEntryPoint && i != l->entry.inst;
        bool mode = i->op == SpvOpExecutionMode || i->op == SpvOpExecutionModeId;
        if (other || (mode && spv_operand(i, 0) != kept))
            edit_remove(l->m, i);
    }
}

static void reach(Lower *l, SpvId function, uint8_t *reached)
{
    SpvId called[SPV_MAX_CALLEES];
    if (reached[function])
        return;
    reached[function] = 1;
    for (SpvFunction *f = l->m->functions; f; f = f->next) {
        if (f->def->id != function)
            continue;
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next)
                for (uint32_t n = spv_callees(l->m, i, called), k = 0; k < n; k++)
                    reach(l, called[k], reached);
    }
}

static void forget_function(SpvModule *m, SpvFunction *f)
{
    for (SpvInst *i = f->head.first; i; i = i->next)
        if (i->id)
            m->defs[i->id] = NULL;
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            if (i->id)
                m->defs[i->id] = NULL;
}

/* Functions that the entry point does not reach. */
static void drop_functions(Lower *l)
{
    uint8_t *reached = NEW_ARRAY(l->scratch, uint8_t, l->m->bound);
    SpvFunction **to = &l->m->functions;
    reach(l, l->entry.function->def->id, reached);
    l->m->last_function = NULL;
    for (SpvFunction *f = l->m->functions; f; f = f->next) {
        if (!reached[f->def->id]) {
            forget_function(l->m, f);
            continue;
        }
        *to = l->m->last_function = f;
        to = &f->next;
    }
    *to = NULL;
}

/* Nobody asks for a size: a kernel of Qualcomm's says by its matrices what it is written for. */
static uint32_t width_of(const Lower *l)
{
    uint32_t own = l->profile->subgroup_size, wanted = lower_qcom_width(l);
    return wanted <= l->invocations && !(l->profile->features & PROFILE_HAS_QCOM) ? MAX(own, wanted)
                                                                                  : own;
}

static bool take_sizes(Lower *l, const LowerOptions *o)
{
    const uint32_t *size = l->entry.local_size;
    const LowerProfile *p = l->profile;
    l->invocations = size[0] * size[1] * size[2];
    l->width = o->subgroup_size ? o->subgroup_size : width_of(l);
    if (o->chosen_size)
        *o->chosen_size = l->width;
    else if (!o->subgroup_size && l->width != p->subgroup_size && l->width <= p->max_subgroup_size)
        diag(l->sink, DIAG_WARNING, NULL, NULL,
             "the kernel is lowered for subgroups of %u, which a pipeline must require: '%s' has"
             " %u by itself",
             l->width, p->name, p->subgroup_size);
    l->pass = "this kernel";
    if (!l->invocations)
        return lower_refuse(l, l->entry.inst, "its workgroup's size is not known");
    if (l->invocations > p->workgroup_invocations)
        return lower_refuse(l, l->entry.inst,
                            "its workgroup has %u invocations, of %u that there"
                            " may be",
                            l->invocations, p->workgroup_invocations);
    if (l->width < p->min_subgroup_size)
        return lower_refuse(l, l->entry.inst,
                            "its subgroups have %u invocations, the target's at"
                            " least %u",
                            l->width, p->min_subgroup_size);
    l->lanes = MIN(l->width, l->invocations);
    l->subgroups = (l->invocations + l->width - 1) / l->width;
    l->own_memory = staging_taken(l);
    return true;
}

/* ---- the passes ------------------------------------------------------------------------------ */

/* Drivers take variables of one matrix apart, but not arrays of tiles, which the lowered code loads
 * and stores as wholes. NVIDIA's keeps such an accumulator in memory, five times slower. */
static bool promote_tiles(Lower *l)
{
    const PassOptions o = { .entry = l->entry.name, .whole_matrices = true };
    PassContext c = { .module = l->m,
                      .entry = l->entry,
                      .options = &o,
                      .sink = l->sink,
                      .scratch = l->scratch };
    bool good = true;
    for (SpvFunction *f = l->m->functions; f && good && l->has_tiles; f = f->next) {
        c.entry.function = f;
        good = pass_promote(&c) && pass_simplify(&c);
    }
    return good && spv_entry_point(l->m, l->entry.name, &l->entry, l->sink);
}

static bool run_passes(Lower *l)
{
    for (uint32_t k = 0; k < COUNT_OF(passes) && !l->failed; k++) {
        const LowerPass *p = &passes[k];
        l->pass = p->name;
        if (!p->has || p->has & ~l->profile->features || l->has_arrays || l->has_tiles ||
            l->n_parts)
            p->run(l);
    }
    if (l->failed)
        return false;
    drop_functions(l); /* what was called for elements may have been copied */
    staging_settle(l);
    if (!promote_tiles(l))
        return false;
    l->pass = "small_numbers";
    small_numbers(l);
    if (l->failed || !staging_close(l))
        return false;
    lower_finish(l);
    pass_lines(l->m);
    return true;
}

/* Once more, from what the module was. */
static bool lower_again(Lower *l, SpvModule *as_it_was, const LowerOptions *o)
{
    l->frugal = true;
    spv_move(l->m, as_it_was);
    if (l->report)
        l->report->rows.len = l->report->staging.len = 0;
    if (!spv_entry_point(l->m, o->entry, &l->entry, l->sink))
        return false;
    lower_decide_fates(l);
    return run_passes(l);
}

/* Drivers that do not say who holds what take conversions by memory anyway; `cuda` has opened its
 * kernels by itself. */
static bool may_have_rows(const SpvModule *m, const LowerProfile *p)
{
    return (p->ownership == PROFILE_ASKED || p->ownership == PROFILE_LINEAR) &&
           !(p->features & PROFILE_HAS_QCOM) &&
           edit_find_capability(m, SpvCapabilityCooperativeMatrixConversionQCOM);
}

/* Where loads are slow the kernel becomes one whose loops with hints load an iteration ahead, and
 * whose matrices are values; where it is known who holds what, arrays of rows become the numbers in
 * them, if that lets lower_rows make matrices of others. What the passes cannot do, or what cannot
 * be structured afterwards, stays as it was. The target's other subgroups run meanwhile, so that
 * loading further ahead only costs registers. */
static void open_kernel(Lower *l, const char *entry)
{
    uint32_t features = l->profile->features;
    DiagSink silent = { 0 };
    PassAheadReport report = { .arena = l->scratch, .most = 1 };
    PassOptions o = { .entry = entry,
                      .subgroup_size = l->width,
                      .fuse_steps = 1,
                      .optimise = true,
                      .ahead = &report };
    SpvEntryPoint opened;
    if (features & PROFILE_HAS_WAIT_QUEUES)
        return;
    bool ahead = features & PROFILE_HAS_SLOW_LOADS && pass_has_wait_queues(l->m);
    bool rows = may_have_rows(l->m, l->profile);
    if (ahead || rows) {
        SpvModule *m = spv_clone(l->m->arena, l->m);
        if (!ahead)
            pass_drop_wait_queues(m);
        bool good = pass_pipeline(m, &o, &opened, &silent) && !report.unstructured;
        Lower of = { .m = m, .profile = l->profile, .scratch = l->scratch };
        l->has_rows = good && rows && lower_has_rows(&of);
        l->hinted = good && ahead;
        if (l->has_rows || l->hinted)
            spv_move(l->m, m);
    }
    pass_drop_wait_queues(l->m);
}

static bool shares_matrices(SpvModule *m)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        const SpvType *t = i->op == SpvOpTypeCooperativeMatrixKHR ? spv_type(m, i->id) : NULL;
        if (t && t->scope == SpvScopeWorkgroup)
            return true;
    }
    return false;
}

static bool lower_entry(PassContext *c, const LowerOptions *o)
{
    Lower l = { .m = c->module,
                .profile = o->profile,
                .scratch = c->scratch,
                .sink = c->sink,
                .report = o->report };
    if (!spv_entry_point(c->module, o->entry, &c->entry, c->sink) || !pass_specialise(c))
        return false;
    l.entry = c->entry;
    drop_lines(l.m);
    drop_entries(&l);
    drop_functions(&l);
    if (!take_sizes(&l, o))
        return false;
    open_kernel(&l, o->entry);
    if (!spv_entry_point(l.m, o->entry, &l.entry, l.sink))
        return false;
    l.pass = "wide_subgroups";
    lower_whole_subgroup(&l);
    l.pass = "lower_workgroup";
    Lower before = l;
    if (!l.failed)
        lower_workgroup(&l);
    Lower dealt = l;
    SpvModule *shared = l.failed || !shares_matrices(l.m) ? NULL : spv_clone(l.m->arena, l.m);
    lower_decide_fates(&l);
    if (l.report)
        l.report->subgroup_size = l.width <= l.profile->max_subgroup_size ? l.width : 0;
    if (run_passes(&l))
        return true;
    if (l.crowded && l.spends && shared) {
        l = dealt;
        if (lower_again(&l, shared, o))
            return true;
    }
    /* Each subgroup stages its part in memory of its own. Where there is not so much, what was a
     * workgroup's is an array instead. */
    return l.crowded && l.undealt && lower_again(&before, l.undealt, o);
}

/* ---- modules of other stages ----------------------------------------------------------------- */

static bool holds_small_float(const Lower *l, const SpvType *t)
{
    bool holds = t && lower_lacks_float(l, t);
    for (uint32_t k = 0; t && !holds && t->kind == SPV_STRUCT && k < t->count; k++)
        holds = holds_small_float(l, t->members[k]);
    return holds || (t && t->element && t->kind != SPV_POINTER && holds_small_float(l, t->element));
}

/* What integers of the same width cannot stand for. */
static bool refuse_declaration(Lower *l, const SpvInst *i)
{
    const SpvType *t = i->type ? spv_type(l->m, i->type) : NULL;
    if (i->op == SpvOpTypeCooperativeMatrixKHR || i->op == SpvOpTypeCooperativeMatrixNV)
        return !lower_refuse(l, i, "matrices are for compute shaders alone");
    if (i->op == SpvOpSpecConstantOp && holds_small_float(l, t))
        return !lower_refuse(l, i, "it is calculated when the pipeline is made");
    bool crosses = i->op == SpvOpVariable && (spv_operand(i, 0) == SpvStorageClassInput ||
                                              spv_operand(i, 0) == SpvStorageClassOutput);
    if (crosses && holds_small_float(l, t->element))
        return !lower_refuse(l, i, "stages pass no integers on in its place");
    return false;
}

static bool lower_all(PassContext *c, const LowerOptions *o)
{
    Lower l = { .m = c->module,
                .profile = o->profile,
                .scratch = c->scratch,
                .sink = c->sink,
                .pass = "small_floats" };
    for (const SpvInst *i = l.m->globals.first; i; i = i->next)
        if (refuse_declaration(&l, i))
            return false;
    if (!(o->profile->features & PROFILE_HAS_WAIT_QUEUES))
        pass_drop_wait_queues(l.m);
    drop_lines(l.m);
    small_floats(&l);
    l.pass = "small_numbers";
    if (!l.failed)
        small_numbers(&l);
    if (l.failed)
        return false;
    lower_finish(&l);
    pass_lines(l.m);
    return true;
}

/* A function of its own, so that nothing it changes is in the frame that setjmp saved. */
static bool guarded(PassContext *c, const LowerOptions *o,
                    bool (*run)(PassContext *c, const LowerOptions *o))
{
    jmp_buf failed, *outer = c->module->arena->on_failure;
    if (setjmp(failed)) {
        c->module->arena->on_failure = outer;
        diag(c->sink, DIAG_ERROR, NULL, NULL, "out of memory while the kernel was being lowered");
        return false;
    }
    c->scratch->on_failure = c->module->arena->on_failure = &failed;
    bool ok = run(c, o);
    c->module->arena->on_failure = outer;
    return ok;
}

bool lower_module(SpvModule *m, const LowerOptions *o, DiagSink *sink)
{
    Arena scratch = { 0 };
    uint32_t width = o->subgroup_size ? o->subgroup_size : o->profile->subgroup_size;
    PassOptions passes_options = { .entry = o->entry,
                                   .spec = o->spec,
                                   .n_spec = o->n_spec,
                                   .subgroup_size = width };
    PassContext c = { .module = m, .options = &passes_options, .sink = sink, .scratch = &scratch };
    bool ok = guarded(&c, o, lower_entry);
    arena_free(&scratch);
    return ok;
}

bool lower_types(SpvModule *m, const LowerProfile *profile, DiagSink *sink)
{
    Arena scratch = { 0 };
    const LowerOptions o = { .profile = profile };
    PassContext c = { .module = m, .sink = sink, .scratch = &scratch };
    bool ok = guarded(&c, &o, lower_all);
    arena_free(&scratch);
    return ok;
}
