/* SPDX-License-Identifier: MIT
 *
 * Compute pipelines and shader objects: a stage with a module of the layer's gets the lowered one.
 * Matrices are for compute shaders alone, so stages of other pipelines with such modules are
 * refused.
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

static bool is_ours(const HlStage *s)
{
    return s->words && hl_is_family(s->device, s->words, s->size);
}

/* Where the stage's code is. False: not with the layer. */
static bool find_code(Swap *w, HlStage *s)
{
    const VkShaderModuleCreateInfo *code = chain_find(w->stage.pNext, INLINE_CODE);
    const VkPipelineShaderStageModuleIdentifierCreateInfoEXT *id =
        chain_find(w->stage.pNext, IDENTIFIER);
    w->module = hl_find_module(w->device, w->stage.module);
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
        if (is_ours(s))
            s->key = hl_key(s->words, s->size);
        return is_ours(s);
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

static void write_stage(Swap *w)
{
    static const VkStructureType without[] = { INLINE_CODE, IDENTIFIER, REQUIRED_SIZE };
    VkPipelineShaderStageCreateInfo *s = &w->stage;
    w->chain.arena = &w->arena;
    hl_copy_chain(&w->chain, s->pNext, without, COUNT_OF(without));
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
    s->pNext = w->chain.first;
    s->pSpecializationInfo = NULL;
    s->module = w->made;
    w->swapped = true;
}

static void swap_stage(void *user)
{
    Swap *w = user;
    HlStage s = { .device = w->device,
                  .entry = w->stage.pName,
                  .specialization = w->stage.pSpecializationInfo };
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *required =
        chain_find(w->stage.pNext, REQUIRED_SIZE);
    s.subgroup_size = required ? required->requiredSubgroupSize : 0;
    w->result = VK_SUCCESS;
    if (!find_code(w, &s))
        return;
    w->result = hl_lower(&s, w->may_lower, &w->lowered);
    if (w->result == VK_PIPELINE_COMPILE_REQUIRED && !s.words) {
        w->result = VK_SUCCESS; /* somebody else's identifier */
        return;
    }
    if (w->result)
        return;
    VkShaderModuleCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = w->lowered->size,
                                      .pCode = w->lowered->words };
    w->result = w->device->CreateShaderModule(w->device->handle, &info, NULL, &w->made);
    if (!w->result)
        write_stage(w);
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

/* ---- compute pipelines ----------------------------------------------------------------------- */

static VkPipelineCreateFlags2 flags_of(const VkComputePipelineCreateInfo *info)
{
    const VkPipelineCreateFlags2CreateInfo *wide =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO);
    return wide ? wide->flags : info->flags;
}

typedef struct Creation {
    HlDevice *device;
    VkPipelineCache cache;
    const VkAllocationCallbacks *alloc;
    VkPipeline *out;
} Creation;

static VkResult create_one(const Creation *c, const VkComputePipelineCreateInfo *infos, uint32_t k)
{
    Swap w;
    HlDevice *d = c->device;
    VkComputePipelineCreateInfo info = infos[k];
    bool may_lower =
        !(flags_of(&info) & VK_PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT);
    if (info.basePipelineIndex >= 0 && (uint32_t)info.basePipelineIndex < k) {
        info.basePipelineHandle = c->out[info.basePipelineIndex];
        info.basePipelineIndex = -1;
    }
    VkResult r = swap_begin(&w, d, &info.stage, may_lower);
    info.stage = w.stage;
    if (!r)
        r = d->CreateComputePipelines(d->handle, c->cache, 1, &info, c->alloc, &c->out[k]);
    swap_end(&w);
    return r;
}

static bool concerns(HlDevice *d, const VkPipelineShaderStageCreateInfo *s)
{
    if (!s->module)
        return s->pNext != NULL;
    HlModule *m = hl_find_module(d, s->module);
    hl_release_module(d, m);
    return m != NULL;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_CreateComputePipelines(VkDevice device, VkPipelineCache cache,
                                                         uint32_t n,
                                                         const VkComputePipelineCreateInfo *infos,
                                                         const VkAllocationCallbacks *alloc,
                                                         VkPipeline *out)
{
    HlDevice *d = hl_device(device);
    bool any = false, stop = false;
    VkResult result = VK_SUCCESS;
    for (uint32_t k = 0; k < n && !any; k++)
        any = d->ours && concerns(d, &infos[k].stage);
    if (!any)
        return d->CreateComputePipelines(device, cache, n, infos, alloc, out);
    Creation c = { d, cache, alloc, out };
    for (uint32_t k = 0; k < n; k++) {
        out[k] = VK_NULL_HANDLE;
        if (stop)
            continue;
        VkResult r = create_one(&c, infos, k);
        if (r && (!result || r < 0))
            result = r;
        stop = r && (flags_of(&infos[k]) & VK_PIPELINE_CREATE_2_EARLY_RETURN_ON_FAILURE_BIT);
    }
    return result;
}

/* ---- keys of pipelines ----------------------------------------------------------------------- */

/* What a key is of, and what binaries are made from, has a pipeline's structure in its chain, which
 * is a VkPipelineCreateInfoKHR's only one that says anything. */
static const VkComputePipelineCreateInfo *pipeline_of(const VkPipelineCreateInfoKHR *info)
{
    return info ? chain_find(info->pNext, VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO) : NULL;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_GetPipelineKeyKHR(VkDevice device,
                                                    const VkPipelineCreateInfoKHR *info,
                                                    VkPipelineBinaryKeyKHR *key)
{
    Swap w;
    HlDevice *d = hl_device(device);
    const VkComputePipelineCreateInfo *given = pipeline_of(info);
    if (!given || !concerns(d, &given->stage))
        return d->GetPipelineKeyKHR(device, info, key);
    VkComputePipelineCreateInfo own = *given;
    VkPipelineCreateInfoKHR changed = { .sType = info->sType, .pNext = &own };
    VkResult r = swap_begin(&w, d, &own.stage, true);
    own.stage = w.stage;
    if (!r)
        r = d->GetPipelineKeyKHR(device, &changed, key);
    swap_end(&w);
    return r;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_CreatePipelineBinariesKHR(
    VkDevice device, const VkPipelineBinaryCreateInfoKHR *info, const VkAllocationCallbacks *alloc,
    VkPipelineBinaryHandlesInfoKHR *out)
{
    Swap w;
    HlDevice *d = hl_device(device);
    const VkComputePipelineCreateInfo *given = pipeline_of(info->pPipelineCreateInfo);
    if (!given || !concerns(d, &given->stage))
        return d->CreatePipelineBinariesKHR(device, info, alloc, out);
    VkComputePipelineCreateInfo own = *given;
    VkPipelineCreateInfoKHR changed = { .sType = info->pPipelineCreateInfo->sType, .pNext = &own };
    VkPipelineBinaryCreateInfoKHR all = *info;
    all.pPipelineCreateInfo = &changed;
    VkResult r = swap_begin(&w, d, &own.stage, true);
    own.stage = w.stage;
    if (!r)
        r = d->CreatePipelineBinariesKHR(device, &all, alloc, out);
    swap_end(&w);
    return r;
}

/* ---- shader objects -------------------------------------------------------------------------- */

static bool is_compute_of_ours(const HlDevice *d, const VkShaderCreateInfoEXT *s)
{
    return s->stage == VK_SHADER_STAGE_COMPUTE_BIT &&
           s->codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT && hl_is_family(d, s->pCode, s->codeSize);
}

/* The structure for pipelines' stages is the one for shaders under another name. */
static VkResult create_shader(HlDevice *d, const VkShaderCreateInfoEXT *given,
                              const VkAllocationCallbacks *alloc, VkShaderEXT *out)
{
    Swap w;
    VkShaderCreateInfoEXT info = *given;
    VkShaderModuleCreateInfo code = { .sType = INLINE_CODE,
                                      .pNext = given->pNext,
                                      .codeSize = given->codeSize,
                                      .pCode = given->pCode };
    VkPipelineShaderStageCreateInfo stage = { .pNext = &code,
                                              .pName = given->pName,
                                              .pSpecializationInfo = given->pSpecializationInfo };
    VkResult r = swap_begin(&w, d, &stage, true);
    if (!r) {
        info.pNext = w.stage.pNext;
        info.pSpecializationInfo = NULL;
        info.codeSize = w.lowered->size;
        info.pCode = w.lowered->words;
        info.flags &= ~(VkFlags)(VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT |
                                 VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT);
        if (w.stage.flags & VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT)
            info.flags |= VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
        r = d->CreateShadersEXT(d->handle, 1, &info, alloc, out);
    }
    swap_end(&w);
    return r;
}

/* In one call, since some of them may be linked to each other. */
static VkResult create_others(HlDevice *d, uint32_t n, const VkShaderCreateInfoEXT *infos,
                              const VkAllocationCallbacks *alloc, VkShaderEXT *out)
{
    uint32_t others = 0, k;
    VkShaderCreateInfoEXT *list = malloc(n * sizeof *list);
    VkShaderEXT *made = calloc(n, sizeof *made);
    VkResult result = list && made ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
    for (k = 0; k < n && !result; k++)
        if (!is_compute_of_ours(d, &infos[k]))
            list[others++] = infos[k];
    if (others)
        result = d->CreateShadersEXT(d->handle, others, list, alloc, made);
    for (k = others = 0; k < n && made; k++)
        out[k] = is_compute_of_ours(d, &infos[k]) ? VK_NULL_HANDLE : made[others++];
    free(list);
    free(made);
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
        any = d->ours && is_compute_of_ours(d, &infos[k]);
    if (!any)
        return d->CreateShadersEXT(device, n, infos, alloc, out);
    memset(out, 0, n * sizeof *out);
    VkResult result = create_others(d, n, infos, alloc, out);
    for (uint32_t k = 0; k < n && good; k++) {
        VkResult r = is_compute_of_ours(d, &infos[k]) ? create_shader(d, &infos[k], alloc, &out[k])
                                                      : VK_SUCCESS;
        result = r ? r : result;
        good = out[k] != VK_NULL_HANDLE;
    }
    return result;
}

/* ---- other pipelines ------------------------------------------------------------------------- */

static bool is_kept(HlDevice *d, const VkPipelineShaderStageCreateInfo *s)
{
    const VkShaderModuleCreateInfo *code = chain_find(s->pNext, INLINE_CODE);
    HlModule *m = hl_find_module(d, s->module);
    bool own = !s->module && code && hl_is_family(d, code->pCode, code->codeSize);
    hl_release_module(d, m);
    return m || own;
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
                       offsetof(Stages, pStages),
               "they begin alike");

/* Whether one of the n structures of `size` bytes has a stage of the layer's: then none is made. */
static bool refuses(HlDevice *d, const void *infos, size_t size, uint32_t n, VkPipeline *out)
{
    for (uint32_t k = 0; k < n; k++) {
        Stages all;
        memcpy(&all, (const char *)infos + k * size, sizeof all);
        bool graphics = all.sType == VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO;
        for (uint32_t s = 0; s < all.stageCount && (!graphics || has_stages(all.pNext)); s++) {
            if (!is_kept(d, &all.pStages[s]))
                continue;
            hl_say(d->instance, VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
                   all.pStages[s].module, "stages",
                   "a module with cooperative matrices is in a stage that is no compute shader: "
                   "cooperativeMatrixSupportedStages has VK_SHADER_STAGE_COMPUTE_BIT alone");
            memset(out, 0, n * sizeof *out);
            return true;
        }
    }
    return false;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_CreateGraphicsPipelines(VkDevice device, VkPipelineCache cache,
                                                          uint32_t n,
                                                          const VkGraphicsPipelineCreateInfo *infos,
                                                          const VkAllocationCallbacks *alloc,
                                                          VkPipeline *out)
{
    HlDevice *d = hl_device(device);
    if (refuses(d, infos, sizeof *infos, n, out))
        return VK_ERROR_UNKNOWN;
    return d->CreateGraphicsPipelines(device, cache, n, infos, alloc, out);
}

VKAPI_ATTR VkResult VKAPI_CALL hl_CreateRayTracingPipelinesKHR(
    VkDevice device, VkDeferredOperationKHR deferred, VkPipelineCache cache, uint32_t n,
    const VkRayTracingPipelineCreateInfoKHR *infos, const VkAllocationCallbacks *alloc,
    VkPipeline *out)
{
    HlDevice *d = hl_device(device);
    if (refuses(d, infos, sizeof *infos, n, out))
        return VK_ERROR_UNKNOWN;
    return d->CreateRayTracingPipelinesKHR(device, deferred, cache, n, infos, alloc, out);
}
