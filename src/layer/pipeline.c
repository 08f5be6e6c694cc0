/* SPDX-License-Identifier: MIT
 *
 * Pipelines and shader objects: a stage with a module of the layer's gets the lowered one. Matrices
 * are for compute shaders alone; of other stages with such modules no pipeline is made.
 */
#include <stdlib.h>

#include "layer/layer.h"

#define REQUIRED_SIZE VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO
#define INLINE_CODE   VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO
#define IDENTIFIER    VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT

/* A stage that is being replaced, and what is to be given back behind the driver's call. */
typedef struct Swap {
    HlDevice *device;
    HlModule *module;
    HlLowered *lowered;
    VkShaderModule made;
    Arena arena;
    HlChain chain;
    VkPipelineShaderStageCreateInfo stage;
    bool may_lower, swapped;
    VkResult result;
} Swap;

/* `wide`: its subgroups are larger than the driver's. */
static bool is_ours(const HlStage *s, bool wide)
{
    return s->words && (wide || hl_is_family(s->device, s->words, s->size));
}

/* Where the stage's code is. False: not with the layer. */
static bool find_code(Swap *w, HlStage *s, bool wide)
{
    const VkShaderModuleCreateInfo *code = chain_find(w->stage.pNext, INLINE_CODE);
    const VkPipelineShaderStageModuleIdentifierCreateInfoEXT *id =
        chain_find(w->stage.pNext, IDENTIFIER);
    w->module = hl_find_module(w->device, w->stage.module);
    if (w->module && w->module->plain && !wide)
        return false;
    if (w->module) {
        s->module = w->module->handle;
        s->words = w->module->words;
        s->size = w->module->size;
        s->key = w->module->key;
        return true;
    }
    if (w->stage.module)
        return false;
    if (code) {
        s->words = code->pCode;
        s->size = code->codeSize;
        if (!is_ours(s, wide))
            return false;
        s->key = hl_key(s->words, s->size);
        return true;
    }
    if (!id || id->identifierSize != sizeof s->key)
        return false;
    memcpy(&s->key, id->pIdentifier, sizeof s->key);
    return true;
}

static bool is_controlled(const HlDevice *d)
{
    const LowerProfile *p = &atomic_load(&d->physical->target)->profile;
    return p->min_subgroup_size < p->max_subgroup_size;
}

/* A lowered kernel is made for one size of subgroups. */
static void write_compute(Swap *w)
{
    VkPipelineShaderStageCreateInfo *s = &w->stage;
    s->flags &= ~(VkFlags)VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;
    if (!w->lowered->whole || !w->device->physical->facts.features.sizes.computeFullSubgroups)
        s->flags &= ~(VkFlags)VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    else
        s->flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    if (is_controlled(w->device)) {
        VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *size =
            hl_push(&w->chain, REQUIRED_SIZE, sizeof *size);
        size->requiredSubgroupSize = w->lowered->native;
    }
    s->pSpecializationInfo = NULL;
}

static void write_stage(Swap *w, bool compute)
{
    static const VkStructureType without[] = { INLINE_CODE, IDENTIFIER, REQUIRED_SIZE };
    w->chain.arena = &w->arena;
    hl_copy_chain(&w->chain, w->stage.pNext, without, compute ? 3 : 2);
    if (compute)
        write_compute(w);
    w->stage.pNext = w->chain.first;
    w->stage.module = w->made;
    w->swapped = true;
}

static void swap_stage(void *user)
{
    Swap *w = user;
    HlStage s = { .device = w->device,
                  .entry = w->stage.pName,
                  .specialization = w->stage.pSpecializationInfo,
                  .compute = w->stage.stage == VK_SHADER_STAGE_COMPUTE_BIT };
    s.subgroup_size = hl_required_size(w->stage.pNext);
    const bool wide = hl_is_wide(w->device, w->stage.pNext);
    if (!find_code(w, &s, wide)) {
        w->result = wide ? VK_PIPELINE_COMPILE_REQUIRED : VK_SUCCESS;
        return;
    }
    w->result = hl_lower(&s, w->may_lower, &w->lowered);
    if (w->result == VK_PIPELINE_COMPILE_REQUIRED && !s.words && !wide)
        w->result = VK_SUCCESS; /* somebody else's identifier */
    if (!w->lowered)
        return;
    VkShaderModuleCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = w->lowered->size,
                                      .pCode = w->lowered->words };
    w->result = w->device->CreateShaderModule(w->device->handle, &info, NULL, &w->made);
    if (!w->result)
        write_stage(w, s.compute);
}

static VkResult swap_begin(Swap *w, HlDevice *d, const VkPipelineShaderStageCreateInfo *stage,
                           bool may_lower)
{
    *w = (Swap){ .device = d,
                 .stage = *stage,
                 .may_lower = may_lower,
                 .result = VK_ERROR_OUT_OF_HOST_MEMORY };
    if (!arena_try(&w->arena, swap_stage, w))
        w->result = VK_ERROR_OUT_OF_HOST_MEMORY;
    return w->result;
}

static void swap_end(Swap *w)
{
    hl_restore_chain(&w->chain);
    if (w->made)
        w->device->DestroyShaderModule(w->device->handle, w->made, NULL);
    hl_release_lowered(w->lowered);
    hl_release_module(w->device, w->module);
    arena_free(&w->arena);
}

/* ---- pipelines ------------------------------------------------------------------------------- */

/* What the structures of graphics and of ray tracing begin with. */
typedef struct Stages {
    VkStructureType sType;
    const void *pNext;
    VkFlags flags;
    uint32_t stageCount;
    const VkPipelineShaderStageCreateInfo *pStages;
} Stages;
_Static_assert(offsetof(VkGraphicsPipelineCreateInfo, pStages) == offsetof(Stages, pStages) &&
                   offsetof(VkRayTracingPipelineCreateInfoKHR, pStages) ==
                       offsetof(Stages, pStages) &&
                   offsetof(VkComputePipelineCreateInfo, flags) == offsetof(Stages, flags),
               "they begin alike");

typedef union Info {
    Stages all;
    VkComputePipelineCreateInfo compute;
    VkGraphicsPipelineCreateInfo graphics;
    VkRayTracingPipelineCreateInfoKHR rays;
} Info;

static size_t size_of(VkStructureType type)
{
    switch ((int)type) {
    case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO:
        return sizeof(VkGraphicsPipelineCreateInfo);
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR:
        return sizeof(VkRayTracingPipelineCreateInfoKHR);
    default: return sizeof(VkComputePipelineCreateInfo);
    }
}

static Info info_at(const void *infos, uint32_t k)
{
    Info i;
    size_t size = size_of(((const VkBaseInStructure *)infos)->sType);
    memcpy(&i, (const char *)infos + k * size, size);
    return i;
}

/* A part of a graphics pipeline without shaders has no stages, whatever pStages says. Without the
 * structure that says which part, it is all of one, or what is left of one made of libraries. */
static bool has_stages(const void *chain)
{
    const VkGraphicsPipelineLibraryCreateInfoEXT *part =
        chain_find(chain, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
    const VkPipelineLibraryCreateInfoKHR *libraries =
        chain_find(chain, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
    if (part)
        return part->flags & (VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT |
                              VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT);
    return !libraries || !libraries->libraryCount;
}

/* `at` in the info may be its own, so that it must stay where it is. */
static uint32_t stages_of(const Info *i, const VkPipelineShaderStageCreateInfo **at)
{
    *at = i->all.pStages;
    if (i->all.sType == VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO)
        *at = &i->compute.stage;
    if (i->all.sType == VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO)
        return 1;
    bool graphics = i->all.sType == VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
    return graphics && !has_stages(i->all.pNext) ? 0 : i->all.stageCount;
}

static bool concerns(HlDevice *d, const Info *i)
{
    const VkPipelineShaderStageCreateInfo *s;
    uint32_t n = stages_of(i, &s);
    for (uint32_t k = 0; k < n; k++) {
        HlModule *m = hl_find_module(d, s[k].module);
        bool lowers = m && (!m->plain || hl_is_wide(d, s[k].pNext));
        hl_release_module(d, m);
        if (lowers || (!s[k].module && s[k].pNext))
            return true;
    }
    return false;
}

static VkPipelineCreateFlags2 flags_of(const Info *i)
{
    const VkPipelineCreateFlags2CreateInfo *wide =
        chain_find(i->all.pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO);
    return wide ? wide->flags : i->all.flags;
}

/* All stages of a pipeline. */
typedef struct Swaps {
    uint32_t n;
    Swap *all;
    VkPipelineShaderStageCreateInfo *stages;
} Swaps;

static VkResult swaps_begin(Swaps *w, HlDevice *d, Info *i, bool may_lower)
{
    const VkPipelineShaderStageCreateInfo *given;
    uint32_t n = stages_of(i, &given);
    VkResult r = VK_SUCCESS;
    *w =
        (Swaps){ .all = calloc(n + 1, sizeof *w->all), .stages = calloc(n + 1, sizeof *w->stages) };
    if (!w->all || !w->stages)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (; w->n < n && !r; w->n++) {
        r = swap_begin(&w->all[w->n], d, &given[w->n], may_lower);
        w->stages[w->n] = w->all[w->n].stage;
    }
    if (i->all.sType == VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO)
        i->compute.stage = w->stages[0];
    else if (n)
        i->all.pStages = w->stages;
    return r;
}

static void swaps_end(Swaps *w)
{
    while (w->n)
        swap_end(&w->all[--w->n]);
    free(w->all);
    free(w->stages);
}

typedef struct Creation {
    HlDevice *device;
    VkPipelineCache cache;
    const VkAllocationCallbacks *alloc;
    VkPipeline *out;
} Creation;

static VkResult create(const Creation *c, const Info *i, VkPipeline *out)
{
    HlDevice *d = c->device;
    switch ((int)i->all.sType) {
    case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO:
        return d->CreateGraphicsPipelines(d->handle, c->cache, 1, &i->graphics, c->alloc, out);
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR:
        return d->CreateRayTracingPipelinesKHR(d->handle, VK_NULL_HANDLE, c->cache, 1, &i->rays,
                                               c->alloc, out);
    default: return d->CreateComputePipelines(d->handle, c->cache, 1, &i->compute, c->alloc, out);
    }
}

/* A base pipeline is one that was made before. */
static void set_base(const Creation *c, VkPipeline *handle, int32_t *index, uint32_t k)
{
    if (*index < 0 || (uint32_t)*index >= k)
        return;
    *handle = c->out[*index];
    *index = -1;
}

static VkResult create_one(const Creation *c, const void *infos, uint32_t k)
{
    Swaps w;
    Info i = info_at(infos, k);
    bool may_lower = !(flags_of(&i) & VK_PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
    switch ((int)i.all.sType) {
    case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO:
        set_base(c, &i.graphics.basePipelineHandle, &i.graphics.basePipelineIndex, k);
        break;
    case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR:
        set_base(c, &i.rays.basePipelineHandle, &i.rays.basePipelineIndex, k);
        break;
    default: set_base(c, &i.compute.basePipelineHandle, &i.compute.basePipelineIndex, k);
    }
    VkResult r = swaps_begin(&w, c->device, &i, may_lower);
    if (!r)
        r = create(c, &i, &c->out[k]);
    swaps_end(&w);
    return r;
}

static bool any_concerns(HlDevice *d, const void *infos, uint32_t n)
{
    bool any = false;
    for (uint32_t k = 0; k < n && !any && d->ours; k++) {
        Info i = info_at(infos, k);
        any = concerns(d, &i);
    }
    return any;
}

static VkResult create_all(const Creation *c, const void *infos, uint32_t n)
{
    bool stop = false;
    VkResult result = VK_SUCCESS;
    for (uint32_t k = 0; k < n; k++) {
        c->out[k] = VK_NULL_HANDLE;
        if (stop)
            continue;
        Info i = info_at(infos, k);
        VkResult r = create_one(c, infos, k);
        if (r && (!result || r < 0))
            result = r;
        stop = r && (flags_of(&i) & VK_PIPELINE_CREATE_2_EARLY_RETURN_ON_FAILURE_BIT);
    }
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_CreateComputePipelines(VkDevice device, VkPipelineCache cache,
                                                         uint32_t n,
                                                         const VkComputePipelineCreateInfo *infos,
                                                         const VkAllocationCallbacks *alloc,
                                                         VkPipeline *out)
{
    HlDevice *d = hl_device(device);
    if (!any_concerns(d, infos, n))
        return d->CreateComputePipelines(device, cache, n, infos, alloc, out);
    return create_all(&(Creation){ d, cache, alloc, out }, infos, n);
}

VKAPI_ATTR VkResult VKAPI_CALL hl_CreateGraphicsPipelines(VkDevice device, VkPipelineCache cache,
                                                          uint32_t n,
                                                          const VkGraphicsPipelineCreateInfo *infos,
                                                          const VkAllocationCallbacks *alloc,
                                                          VkPipeline *out)
{
    HlDevice *d = hl_device(device);
    if (!any_concerns(d, infos, n))
        return d->CreateGraphicsPipelines(device, cache, n, infos, alloc, out);
    return create_all(&(Creation){ d, cache, alloc, out }, infos, n);
}

/* What is lowered is not deferred: it would have to outlive the call. */
VKAPI_ATTR VkResult VKAPI_CALL hl_CreateRayTracingPipelinesKHR(
    VkDevice device, VkDeferredOperationKHR deferred, VkPipelineCache cache, uint32_t n,
    const VkRayTracingPipelineCreateInfoKHR *infos, const VkAllocationCallbacks *alloc,
    VkPipeline *out)
{
    HlDevice *d = hl_device(device);
    if (!any_concerns(d, infos, n))
        return d->CreateRayTracingPipelinesKHR(device, deferred, cache, n, infos, alloc, out);
    VkResult r = create_all(&(Creation){ d, cache, alloc, out }, infos, n);
    return r == VK_SUCCESS && deferred ? VK_OPERATION_NOT_DEFERRED_KHR : r;
}

/* ---- keys of pipelines ----------------------------------------------------------------------- */

/* What a key is of, and what binaries are made from, has a pipeline's structure in its chain, which
 * is a VkPipelineCreateInfoKHR's only one that says anything. */
static const void *pipeline_of(const VkPipelineCreateInfoKHR *info)
{
    static const VkStructureType kinds[] = {
        VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR,
    };
    const void *found = NULL;
    for (size_t k = 0; info && k < COUNT_OF(kinds) && !found; k++)
        found = chain_find(info->pNext, kinds[k]);
    return found;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_GetPipelineKeyKHR(VkDevice device,
                                                    const VkPipelineCreateInfoKHR *info,
                                                    VkPipelineBinaryKeyKHR *key)
{
    Swaps w;
    HlDevice *d = hl_device(device);
    const void *given = pipeline_of(info);
    if (!given || !any_concerns(d, given, 1))
        return d->GetPipelineKeyKHR(device, info, key);
    Info own = info_at(given, 0);
    VkPipelineCreateInfoKHR changed = { .sType = info->sType, .pNext = &own };
    VkResult r = swaps_begin(&w, d, &own, true);
    if (!r)
        r = d->GetPipelineKeyKHR(device, &changed, key);
    swaps_end(&w);
    return r;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_CreatePipelineBinariesKHR(
    VkDevice device, const VkPipelineBinaryCreateInfoKHR *info, const VkAllocationCallbacks *alloc,
    VkPipelineBinaryHandlesInfoKHR *out)
{
    Swaps w;
    HlDevice *d = hl_device(device);
    const void *given = pipeline_of(info->pPipelineCreateInfo);
    if (!given || !any_concerns(d, given, 1))
        return d->CreatePipelineBinariesKHR(device, info, alloc, out);
    Info own = info_at(given, 0);
    VkPipelineCreateInfoKHR changed = { .sType = info->pPipelineCreateInfo->sType, .pNext = &own };
    VkPipelineBinaryCreateInfoKHR all = *info;
    all.pPipelineCreateInfo = &changed;
    VkResult r = swaps_begin(&w, d, &own, true);
    if (!r)
        r = d->CreatePipelineBinariesKHR(device, &all, alloc, out);
    swaps_end(&w);
    return r;
}

/* ---- shader objects -------------------------------------------------------------------------- */

static bool is_shader_of_ours(const HlDevice *d, const VkShaderCreateInfoEXT *s)
{
    return s->codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT &&
           (hl_is_wide(d, s->pNext) || hl_is_family(d, s->pCode, s->codeSize));
}

static bool is_compute_of_ours(const HlDevice *d, const VkShaderCreateInfoEXT *s)
{
    return s->stage == VK_SHADER_STAGE_COMPUTE_BIT && is_shader_of_ours(d, s);
}

/* The structure for pipelines' stages is the one for shaders under another name. */
static VkResult swap_shader(Swap *w, HlDevice *d, VkShaderCreateInfoEXT *info)
{
    VkShaderModuleCreateInfo code = { .sType = INLINE_CODE,
                                      .pNext = info->pNext,
                                      .codeSize = info->codeSize,
                                      .pCode = info->pCode };
    VkPipelineShaderStageCreateInfo stage = { .pNext = &code,
                                              .stage = info->stage,
                                              .pName = info->pName,
                                              .pSpecializationInfo = info->pSpecializationInfo };
    VkResult r = swap_begin(w, d, &stage, true);
    if (r)
        return r;
    info->pNext = w->stage.pNext;
    info->pSpecializationInfo = w->stage.pSpecializationInfo;
    info->codeSize = w->lowered->size;
    info->pCode = w->lowered->words;
    if (info->stage != VK_SHADER_STAGE_COMPUTE_BIT)
        return r;
    info->flags &= ~(VkFlags)(VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT |
                              VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT);
    if (w->stage.flags & VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT)
        info->flags |= VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
    return r;
}

static VkResult create_shader(HlDevice *d, VkShaderCreateInfoEXT info,
                              const VkAllocationCallbacks *alloc, VkShaderEXT *out)
{
    Swap w;
    VkResult r = swap_shader(&w, d, &info);
    if (!r)
        r = d->CreateShadersEXT(d->handle, 1, &info, alloc, out);
    swap_end(&w);
    return r;
}

/* In one call, since some of them may be linked to each other. */
static VkResult create_others(HlDevice *d, uint32_t n, const VkShaderCreateInfoEXT *infos,
                              const VkAllocationCallbacks *alloc, VkShaderEXT *out)
{
    uint32_t others = 0, swapped = 0, k;
    VkShaderCreateInfoEXT *list = malloc(n * sizeof *list);
    VkShaderEXT *made = calloc(n, sizeof *made);
    Swap *swaps = calloc(n, sizeof *swaps);
    VkResult result = list && made && swaps ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
    for (k = 0; k < n && !result; k++) {
        if (is_compute_of_ours(d, &infos[k]))
            continue;
        list[others] = infos[k];
        if (is_shader_of_ours(d, &infos[k]))
            result = swap_shader(&swaps[swapped++], d, &list[others]);
        others++;
    }
    if (others && !result)
        result = d->CreateShadersEXT(d->handle, others, list, alloc, made);
    for (k = others = 0; k < n && made; k++)
        out[k] = is_compute_of_ours(d, &infos[k]) ? VK_NULL_HANDLE : made[others++];
    while (swapped)
        swap_end(&swaps[--swapped]);
    free(list);
    free(made);
    free(swaps);
    return result;
}

/* Of several that fail, the result is of the first whose handle is null. */
VKAPI_ATTR VkResult VKAPI_CALL hl_CreateShadersEXT(VkDevice device, uint32_t n,
                                                   const VkShaderCreateInfoEXT *infos,
                                                   const VkAllocationCallbacks *alloc,
                                                   VkShaderEXT *out)
{
    HlDevice *d = hl_device(device);
    bool any = false, good = true;
    for (uint32_t k = 0; k < n && !any; k++)
        any = d->ours && is_shader_of_ours(d, &infos[k]);
    if (!any)
        return d->CreateShadersEXT(device, n, infos, alloc, out);
    memset(out, 0, n * sizeof *out);
    VkResult result = create_others(d, n, infos, alloc, out);
    for (uint32_t k = 0; k < n && good; k++) {
        VkResult r = is_compute_of_ours(d, &infos[k]) ? create_shader(d, infos[k], alloc, &out[k])
                                                      : VK_SUCCESS;
        result = r ? r : result;
        good = out[k] != VK_NULL_HANDLE;
    }
    return result;
}
