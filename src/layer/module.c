/* SPDX-License-Identifier: MIT
 *
 * Shader modules. Code that the driver cannot have is kept, and what the driver gets is an empty
 * shader; other code is passed on.
 */
#include <stdlib.h>

#include "layer/layer.h"

/* ---- what is the layer's --------------------------------------------------------------------- */

/* Words before the first instruction; capabilities of SPIR-V's core have numbers below. */
enum { HEADER = 5, CORE_CAPABILITIES = 4096 };

static bool has_capability(const HlDevice *d, uint32_t capability)
{
    for (uint32_t k = 0; k < HL_N_EXTENSIONS && capability >= CORE_CAPABILITIES; k++) {
        const HlExtension *e = &hl_extensions[k];
        bool part = e->part == HL_COMPLETES && d->physical->shared >> k & 1;
        for (uint32_t c = 0; d->ours >> k & 1 && e->capabilities[c]; c++)
            if (e->capabilities[c] == capability && !(part && d->physical->has[k] >> c & 1))
                return true;
    }
    return false;
}

/* Where the instruction at `at` ends; `n`: that is the last one, or not whole. */
static size_t behind(const uint32_t *words, size_t n, size_t at)
{
    uint32_t length = words[at] >> 16;
    return length && length < n - at ? at + length : n;
}

/* Capabilities come first: nothing else of a module that needs nothing is read. */
static bool declares(const HlDevice *d, const uint32_t *words, size_t n)
{
    for (size_t at = HEADER; at + 1 < n && (words[at] & 0xffff) == SpvOpCapability;
         at = behind(words, n, at))
        if (has_capability(d, words[at + 1]))
            return true;
    return false;
}

/* Whether some word looks like the first of an OpLoopMerge, whatever it is: several are compared at
 * once, and the modules of most programs have none. */
static bool may_have_loops(const uint32_t *words, size_t n)
{
    uint32_t found = 0;
    for (size_t at = HEADER; at < n; at++)
        found |= (words[at] & 0xffff) == SpvOpLoopMerge ? words[at] >> 16 : 0;
    return found;
}

/* glslang 16.6 writes the loop control without its capability. */
static bool has_hint(const uint32_t *words, size_t n)
{
    if (!may_have_loops(words, n))
        return false;
    for (size_t at = HEADER; at + 3 < n; at = behind(words, n, at))
        if ((words[at] & 0xffff) == SpvOpLoopMerge && words[at] >> 16 > 3 &&
            words[at + 3] & SpvLoopControlMultipleWaitQueuesQCOMMask)
            return true;
    return false;
}

bool hl_is_family(const HlDevice *d, const void *words, size_t size)
{
    size_t n = size / sizeof(uint32_t);
    return n > HEADER && *(const uint32_t *)words == SpvMagicNumber &&
           (declares(d, words, n) || (d->ours >> HL_WAIT_QUEUES & 1 && has_hint(words, n)));
}

uint32_t hl_required_size(const void *chain)
{
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *s = chain_find(
        chain, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    return s ? s->requiredSubgroupSize : 0;
}

bool hl_is_wide(const HlDevice *d, const void *chain)
{
    return d->physical->widest &&
           hl_required_size(chain) > d->physical->facts.profile.max_subgroup_size;
}

HlKey hl_key(const void *words, size_t size)
{
    return (HlKey){ { hash_bytes(words, size, 0), hash_bytes(words, size, 1) } };
}

/* ---- the table ------------------------------------------------------------------------------- */

static HlModule **row_of(HlDevice *d, VkShaderModule m)
{
    uint64_t handle = (uint64_t)(uintptr_t)m;
    return &d->modules[hash_bytes(&handle, sizeof handle, 0) % HL_MODULE_ROWS];
}

HlModule *hl_find_module(HlDevice *d, VkShaderModule m)
{
    if (!m || !atomic_load(&d->n_modules))
        return NULL;
    pthread_mutex_lock(&d->lock);
    HlModule *k = *row_of(d, m);
    while (k && k->handle != m)
        k = k->next;
    if (k)
        k->references++;
    pthread_mutex_unlock(&d->lock);
    return k;
}

void hl_release_module(HlDevice *d, HlModule *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&d->lock);
    bool last = !--m->references;
    pthread_mutex_unlock(&d->lock);
    if (last)
        free(m);
}

static void add(HlDevice *d, HlModule *m)
{
    pthread_mutex_lock(&d->lock);
    HlModule **row = row_of(d, m->handle);
    m->next = *row;
    *row = m;
    atomic_fetch_add(&d->n_modules, 1);
    pthread_mutex_unlock(&d->lock);
}

static HlModule *take(HlDevice *d, VkShaderModule m)
{
    if (!m || !atomic_load(&d->n_modules))
        return NULL;
    pthread_mutex_lock(&d->lock);
    HlModule **at = row_of(d, m);
    while (*at && (*at)->handle != m)
        at = &(*at)->next;
    HlModule *found = *at;
    if (found) {
        *at = found->next;
        atomic_fetch_sub(&d->n_modules, 1);
    }
    pthread_mutex_unlock(&d->lock);
    return found;
}

void hl_free_modules(HlDevice *d)
{
    for (uint32_t k = 0; k < HL_MODULE_ROWS; k++)
        for (HlModule *m = d->modules[k], *next; m; m = next) {
            next = m->next;
            free(m);
        }
}

/* ---- making and destroying ------------------------------------------------------------------- */

/* OpEntryPoint GLCompute "main", with the number as a constant, so that no driver gives two of them
 * one handle. */
static VkResult make_empty(HlDevice *d, const VkAllocationCallbacks *alloc, VkShaderModule *out)
{
    uint32_t words[] = {
        SpvMagicNumber,
        0x10000,
        0,
        8,
        0, /* bound 8 */
        2 << 16 | SpvOpCapability,
        SpvCapabilityShader,
        3 << 16 | SpvOpMemoryModel,
        SpvAddressingModelLogical,
        SpvMemoryModelGLSL450,
        5 << 16 | SpvOpEntryPoint,
        SpvExecutionModelGLCompute,
        4,
        0x6e69616d,
        0,
        6 << 16 | SpvOpExecutionMode,
        4,
        SpvExecutionModeLocalSize,
        1,
        1,
        1,
        2 << 16 | SpvOpTypeVoid,
        1,
        3 << 16 | SpvOpTypeFunction,
        2,
        1,
        4 << 16 | SpvOpTypeInt,
        3,
        32,
        0,
        4 << 16 | SpvOpConstant,
        3,
        5,
        atomic_fetch_add(&d->numbers, 1),
        5 << 16 | SpvOpFunction,
        1,
        4,
        0,
        2,
        2 << 16 | SpvOpLabel,
        6,
        1 << 16 | SpvOpReturn,
        1 << 16 | SpvOpFunctionEnd,
    };
    VkShaderModuleCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = sizeof words,
                                      .pCode = words };
    return d->CreateShaderModule(d->handle, &info, alloc, out);
}

VKAPI_ATTR VkResult VKAPI_CALL hl_CreateShaderModule(VkDevice device,
                                                     const VkShaderModuleCreateInfo *info,
                                                     const VkAllocationCallbacks *alloc,
                                                     VkShaderModule *out)
{
    HlDevice *d = hl_device(device);
    bool plain = !d->ours || !hl_is_family(d, info->pCode, info->codeSize);
    if (plain && !(d->ours && d->physical->widest))
        return d->CreateShaderModule(device, info, alloc, out);
    HlModule *m = malloc(sizeof *m + info->codeSize);
    if (!m)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    *m = (HlModule){ .plain = plain, .references = 1, .size = info->codeSize };
    memcpy(m->words, info->pCode, info->codeSize);
    m->key = hl_key(m->words, m->size);
    VkResult r = plain ? d->CreateShaderModule(device, info, alloc, &m->handle)
                       : make_empty(d, alloc, &m->handle);
    if (r) {
        free(m);
        return r;
    }
    *out = m->handle;
    add(d, m);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hl_DestroyShaderModule(VkDevice device, VkShaderModule module,
                                                  const VkAllocationCallbacks *alloc)
{
    HlDevice *d = hl_device(device);
    hl_release_module(d, take(d, module));
    d->DestroyShaderModule(device, module, alloc);
}

/* ---- identifiers ----------------------------------------------------------------------------- */

static void identify(HlKey key, VkShaderModuleIdentifierEXT *out)
{
    out->identifierSize = sizeof key;
    memcpy(out->identifier, &key, sizeof key);
}

VKAPI_ATTR void VKAPI_CALL hl_GetShaderModuleIdentifierEXT(VkDevice device, VkShaderModule module,
                                                           VkShaderModuleIdentifierEXT *out)
{
    HlDevice *d = hl_device(device);
    HlModule *m = hl_find_module(d, module);
    if (m && !m->plain)
        identify(m->key, out);
    else
        d->GetShaderModuleIdentifierEXT(device, module, out);
    hl_release_module(d, m);
}

VKAPI_ATTR void VKAPI_CALL hl_GetShaderModuleCreateInfoIdentifierEXT(
    VkDevice device, const VkShaderModuleCreateInfo *info, VkShaderModuleIdentifierEXT *out)
{
    HlDevice *d = hl_device(device);
    if (d->ours && hl_is_family(d, info->pCode, info->codeSize))
        identify(hl_key(info->pCode, info->codeSize), out);
    else
        d->GetShaderModuleCreateInfoIdentifierEXT(device, info, out);
}
