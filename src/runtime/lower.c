/* SPDX-License-Identifier: MIT
 *
 * heddle_module_lower: a module becomes one for a target that a profile describes, by the passes of
 * lower/. In: a module, a profile, an entry point and its specialisation. Out: a module of that
 * entry point, and a table of what was done.
 */
#include "lower/lower.h"
#include "runtime/internal.h"

typedef struct Lowering {
    Arena arena; /* of what is not needed afterwards */
    const HeddleModule *from;
    const HeddleLowerOptions *options;
    HeddleModule **out;
    HeddleLog *log;
    DiagSink *sink;
} Lowering;

static void copy_report(HeddleModule *m, const LowerReport *r)
{
    m->lowered_for = r->subgroup_size;
    for (uint32_t k = 0; k < m->n_entries; k++)
        m->entries[k]->subgroup_size = r->subgroup_size;
    m->n_lowerings = r->rows.len;
    m->lowerings = NEW_ARRAY(&m->arena, HeddleLowering, m->n_lowerings + 1);
    for (uint32_t k = 0; k < m->n_lowerings; k++) {
        const LowerRow *row = &r->rows.data[k];
        m->lowerings[k] = (HeddleLowering){ .instruction = spv_op_name(row->op),
                                            .count = row->count,
                                            .pass = row->pass,
                                            .how = row->how };
    }
}

static HeddleResult transform(void *user)
{
    Lowering *p = user;
    const HeddleLowerOptions *o = p->options;
    LowerReport report = { .arena = &p->arena };
    SpvSpecValue *spec = NEW_ARRAY(&p->arena, SpvSpecValue, o->n_specs + 1);
    for (uint32_t k = 0; k < o->n_specs; k++)
        spec[k] = (SpvSpecValue){ o->specs[k].id, o->specs[k].bits };
    LowerOptions lower = { .entry = o->entry,
                           .spec = spec,
                           .n_spec = o->n_specs,
                           .subgroup_size = o->subgroup_size,
                           .report = &report };
    lower.profile = profile_read(&p->arena, o->profile, o->profile_size,
                                 o->profile_name ? o->profile_name : "profile", p->sink);
    SpvModule *m = lower.profile ? module_copy(&p->arena, p->from, p->sink) : NULL;
    if (!m || !lower_module(m, &lower, p->sink))
        return HEDDLE_ERROR_SOURCE;
    size_t size;
    void *words = spv_write(&p->arena, m, &size);
    HeddleModuleOptions module = { .language = HEDDLE_LANGUAGE_SPIRV };
    HeddleResult r = heddle_module_new(words, size, p->from->spv->name, &module, p->out, p->log);
    if (!r)
        copy_report(*p->out, &report);
    return r;
}

HeddleResult heddle_module_lower(const HeddleModule *module, const HeddleLowerOptions *options,
                                 HeddleModule **out, HeddleLog *log)
{
    if (out)
        *out = NULL;
    if (!module || !out || !options || !options->profile || (options->n_specs && !options->specs))
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_module_lower: module, out, the profile or options->specs is NULL");
    DiagSink sink = log_sink(log);
    Lowering p = { .from = module, .options = options, .out = out, .log = log, .sink = &sink };
    HeddleResult r = log_guarded(log, &p.arena, transform, &p);
    arena_free(&p.arena);
    if (r) {
        heddle_module_free(*out);
        *out = NULL;
    }
    return r ? log_failed_stage(&sink, log, r, "lowering the kernel") : r;
}

const HeddleLowering *heddle_module_lowerings(const HeddleModule *module, uint32_t *n)
{
    *n = module->n_lowerings;
    return module->lowerings;
}
