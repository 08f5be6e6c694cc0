/* SPDX-License-Identifier: MIT
 *
 * Entry points and their execution modes. The workgroup's size is, in this order of precedence, a
 * constant decorated WorkgroupSize, LocalSizeId, LocalSize.
 */
#include "spirv/internal.h"

const uint32_t *spv_execution_mode(SpvModule *m, SpvId function, uint32_t mode, uint32_t *n)
{
    if (n)
        *n = 0;
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        if (i->op != SpvOpExecutionMode && i->op != SpvOpExecutionModeId)
            continue;
        if (spv_operand(i, 0) != function || spv_operand(i, 1) != mode)
            continue;
        if (n)
            *n = spv_n_operands(i) - 2;
        return i->words + i->first_operand + 2;
    }
    return NULL;
}

static void size_from_ids(SpvModule *m, const uint32_t *ids, uint32_t n, SpvEntryPoint *e)
{
    e->size_is_specialised = false;
    for (uint32_t k = 0; k < 3 && k < n; k++) {
        uint64_t value;
        bool is = spv_constant(m, ids[k], &value) && value <= UINT32_MAX;
        e->local_size[k] = is ? (uint32_t)value : 0;
        e->size_ids[k] = ids[k];
        e->size_is_specialised |= spv_is_spec_constant(m, ids[k]);
    }
}

/* The constant decorated WorkgroupSize, or NULL. */
static const SpvInst *workgroup_size(SpvModule *m)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        bool builtin = i->op == SpvOpDecorate && spv_n_operands(i) >= 3 &&
                       spv_operand(i, 1) == SpvDecorationBuiltIn &&
                       spv_operand(i, 2) == SpvBuiltInWorkgroupSize;
        const SpvInst *c = builtin ? spv_def(m, spv_operand(i, 0)) : NULL;
        if (c && (c->op == SpvOpConstantComposite || c->op == SpvOpSpecConstantComposite))
            return c;
    }
    return NULL;
}

static void read_local_size(SpvModule *m, SpvEntryPoint *e)
{
    uint32_t n;
    SpvId id = e->function->def->id;
    const uint32_t *mode = spv_execution_mode(m, id, SpvExecutionModeLocalSize, &n);
    if (mode && n >= 3)
        memcpy(e->local_size, mode, sizeof e->local_size);
    mode = spv_execution_mode(m, id, SpvExecutionModeLocalSizeId, &n);
    if (mode)
        size_from_ids(m, mode, n, e);
    const SpvInst *c = workgroup_size(m);
    if (c)
        size_from_ids(m, c->words + c->first_operand, spv_n_operands(c), e);
    mode = spv_execution_mode(m, id, SpvExecutionModeSubgroupSize, &n);
    e->required_subgroup_size = mode && n ? mode[0] : 0;
    if (spv_execution_mode(m, id, SpvExecutionModeDerivativeGroupQuadsKHR, NULL))
        e->quads = SPV_QUADS_SQUARE;
    else if (spv_execution_mode(m, id, SpvExecutionModeDerivativeGroupLinearKHR, NULL))
        e->quads = SPV_QUADS_LINEAR;
}

bool spv_has_whole_quads(SpvQuads q, const uint32_t size[3])
{
    uint64_t n = (uint64_t)size[0] * size[1] * size[2];
    return q == SPV_QUADS_NONE ||
           (n && (q == SPV_QUADS_LINEAR ? n % 4 == 0 : size[0] % 2 == 0 && size[1] % 2 == 0));
}

static bool is_compute(const SpvInst *i)
{
    if (i->op != SpvOpEntryPoint)
        return false;
    uint32_t model = spv_operand(i, 0);
    return model == SpvExecutionModelGLCompute || model == SpvExecutionModelKernel;
}

static const char *list_kernels(SpvModule *m)
{
    Str s = { 0 };
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (is_compute(i))
            str_printf(m->arena, &s, "%s'%s'", s.len ? ", " : "", spv_string(i, 2, NULL));
    return s.len ? s.data : "none";
}

bool spv_entry_point(SpvModule *m, const char *name, SpvEntryPoint *out, DiagSink *sink)
{
    SpvInst *found = NULL;
    uint32_t n = 0;
    for (SpvInst *i = m->globals.first; i; i = i->next) {
        if (!is_compute(i) || (name && strcmp(name, spv_string(i, 2, NULL))))
            continue;
        if (!found)
            found = i;
        n++;
    }
    if (!found) {
        if (name)
            spv_error(m, NULL, sink, NULL, "no compute entry point is called '%s'; there are: %s",
                      name, list_kernels(m));
        else
            spv_error(m, NULL, sink, NULL, "the module has no compute entry point");
        return false;
    }
    if (n > 1 && !name) {
        spv_error(m, NULL, sink, NULL, "several entry points, name one of: %s", list_kernels(m));
        return false;
    }
    *out = (SpvEntryPoint){ .name = spv_string(found, 2, NULL),
                            .model = spv_operand(found, 0),
                            .inst = found };
    for (SpvFunction *f = m->functions; f && !out->function; f = f->next)
        if (f->def->id == spv_operand(found, 1))
            out->function = f;
    if (!out->function || !out->function->first) {
        spv_error(m, found, sink, NULL, "entry point '%s' has no body", out->name);
        return false;
    }
    read_local_size(m, out);
    return true;
}
