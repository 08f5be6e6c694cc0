/* SPDX-License-Identifier: MIT
 *
 * heddle_module_pipeline: a module whose loops ask for wait queues becomes one for drivers that do
 * not know them, by the passes. In: a module, an entry point and its specialisation. Out: a module
 * of that entry point, and what came of each loop.
 */
#include <stdlib.h>

#include "runtime/internal.h"

typedef struct Pipelining {
    Arena arena; /* of what is not needed afterwards */
    const HeddleModule *from;
    const HeddlePipelineOptions *options;
    HeddleModule **out;
    HeddleLog *log;
    DiagSink *sink;
} Pipelining;

static int by_place(const void *a, const void *b)
{
    const PassAheadLoop *x = a, *y = b;
    return (x->loc.inst > y->loc.inst) - (x->loc.inst < y->loc.inst);
}

static void copy_loops(HeddleModule *m, const PassAheadReport *r)
{
    if (r->loops.len)
        qsort(r->loops.data, r->loops.len, sizeof *r->loops.data, by_place);
    m->n_loops = r->loops.len;
    m->loops = NEW_ARRAY(&m->arena, HeddleLoopInfo, m->n_loops + 1);
    for (uint32_t i = 0; i < m->n_loops; i++) {
        const PassAheadLoop *l = &r->loops.data[i];
        m->loops[i] =
            (HeddleLoopInfo){ .file = l->loc.file ? arena_strdup(&m->arena, l->loc.file) : NULL,
                              .line = l->loc.line,
                              .wait_queues = l->queues,
                              .loads = l->loads,
                              .ahead = l->ahead,
                              .reason = ahead_reason(l->why) };
    }
}

static HeddleResult transform(void *user)
{
    Pipelining *p = user;
    const HeddlePipelineOptions *o = p->options;
    PassAheadReport report = { .arena = &p->arena };
    SpvSpecValue *spec = NEW_ARRAY(&p->arena, SpvSpecValue, o->n_specs + 1);
    for (uint32_t i = 0; i < o->n_specs; i++)
        spec[i] = (SpvSpecValue){ o->specs[i].id, o->specs[i].bits };
    PassOptions passes = { .entry = o->entry,
                           .spec = spec,
                           .n_spec = o->n_specs,
                           .subgroup_size = o->subgroup_size,
                           .fuse_steps = 1,
                           .optimise = true,
                           .ahead = &report };
    SpvModule *m = module_copy(&p->arena, p->from, p->sink);
    SpvEntryPoint entry;
    if (!m || !pass_pipeline(m, &passes, &entry, p->sink))
        return HEDDLE_ERROR_SOURCE;
    pass_lines(m);
    if (report.unstructured) {
        m = spv_clone(&p->arena, p->from->spv);
        pass_drop_wait_queues(m);
        for (uint32_t i = 0; i < report.loops.len; i++) {
            report.loops.data[i].why = AHEAD_STRUCTURE;
            report.loops.data[i].ahead = 0;
        }
    }
    size_t size;
    void *words = spv_write(&p->arena, m, &size);
    HeddleModuleOptions module = { .language = HEDDLE_LANGUAGE_SPIRV };
    HeddleResult r = heddle_module_new(words, size, p->from->spv->name, &module, p->out, p->log);
    if (!r)
        copy_loops(*p->out, &report);
    return r;
}

HeddleResult heddle_module_pipeline(const HeddleModule *module,
                                    const HeddlePipelineOptions *options, HeddleModule **out,
                                    HeddleLog *log)
{
    HeddlePipelineOptions own;
    if (out)
        *out = NULL;
    if (!sized_read(&sized_pipeline_options, options, &own, log))
        return HEDDLE_ERROR_ARGUMENT;
    if (!module || !out || (own.n_specs && !own.specs))
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_module_pipeline: module, out or options->specs is NULL");
    DiagSink sink = log_sink(log);
    Pipelining p = { .from = module, .options = &own, .out = out, .log = log, .sink = &sink };
    HeddleResult r = log_guarded(log, &p.arena, transform, &p);
    arena_free(&p.arena);
    if (r) {
        heddle_module_free(*out);
        *out = NULL;
    }
    return r ? log_failed_stage(&sink, log, r, "pipelining the kernel's loops") : r;
}

const HeddleLoopInfo *heddle_module_loops(const HeddleModule *module, uint32_t *n)
{
    *n = module->n_loops;
    return module->loops;
}
