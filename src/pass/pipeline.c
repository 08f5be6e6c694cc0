/* SPDX-License-Identifier: MIT
 *
 * pipeline: the passes in the order that code generators need. In: a module. Out: one function and
 * those that instructions call for the elements of matrices, specialised, in SSA. The table says
 * what runs; running out of memory anywhere in it is a diagnostic.
 */
#include "pass/edit.h"

typedef struct Pass {
    const char *name;
    bool (*run)(PassContext *c);
    bool optional; /* only with options->optimise */
    bool each;     /* also for the functions that instructions call for elements */
} Pass;

static const Pass passes[] = {
    { "specialise", pass_specialise, false, false },
    { "endless", pass_endless, false, false },
    { "keep", pass_keep, false, false },
    { "inline", pass_inline, false, false },
    { "structure", pass_structure, true, false },
    { "retype", pass_retype, true, false },
    { "apart", pass_apart, false, false },
    { "promote", pass_promote, false, true },
    { "simplify", pass_simplify, true, true },
    { "inside", pass_inside, true, false },
    { "unstage", pass_unstage, true, false },
    { "trips", pass_trips, true, false },
    { "unroll", pass_unroll, true, true },
    { "structure", pass_structure, true, false },
    { "pieces", pass_pieces, true, false },
    { "promote", pass_promote, true, true },
    { "simplify", pass_simplify, true, true },
    { "trips", pass_trips, true, false },
    { "simplify", pass_simplify, true, true },
    { "forward", pass_forward, true, false },
    { "share", pass_share, true, false },
    { "load_ahead", pass_load_ahead, true, false },
    { "coarsen", pass_coarsen, true, false },
    { "alike", pass_alike, true, false },
    { "unrotate", pass_unrotate, true, false },
    { "signs", pass_signs, true, false },
    { "strip_mine", pass_strip_mine, true, false },
    { "whole", pass_whole, true, false },
};

static bool run_pass(PassContext *c, const Pass *p)
{
    SpvFunction *entry = c->entry.function;
    bool ok = p->run(c);
    arena_free(c->scratch);
    for (SpvFunction *f = p->each ? c->module->functions : NULL; ok && f; f = f->next) {
        if (f == entry)
            continue;
        c->entry.function = f;
        ok = p->run(c);
        arena_free(c->scratch);
    }
    c->entry.function = entry;
    return ok;
}

static bool run_passes(PassContext *c)
{
    for (uint32_t k = 0; k < COUNT_OF(passes); k++) {
        if (passes[k].optional && !c->options->optimise)
            continue;
        if (!run_pass(c, &passes[k]))
            return false;
        if (c->options->after)
            c->options->after(c->options->user, passes[k].name, c->module);
    }
    return spv_entry_point(c->module, c->entry.name, &c->entry, c->sink);
}

/* The guard is a separate function, so that nothing it changes is in the frame that setjmp
 * saved. */
static bool guarded(PassContext *c, const char *entry)
{
    jmp_buf failed, *outer = c->module->arena->on_failure;
    if (setjmp(failed)) {
        c->module->arena->on_failure = outer;
        diag(c->sink, DIAG_ERROR, NULL, NULL,
             "out of memory while the kernel was being transformed");
        return false;
    }
    c->scratch->on_failure = c->module->arena->on_failure = &failed;
    bool ok = spv_entry_point(c->module, entry, &c->entry, c->sink) && run_passes(c);
    c->module->arena->on_failure = outer;
    return ok;
}

bool pass_pipeline(SpvModule *m, const PassOptions *o, SpvEntryPoint *entry, DiagSink *sink)
{
    Arena scratch = { 0 };
    PassContext c = { .module = m, .options = o, .sink = sink, .scratch = &scratch };
    bool ok = guarded(&c, o->entry);
    if (ok)
        *entry = c.entry;
    arena_free(&scratch);
    return ok;
}
