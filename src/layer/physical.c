/* SPDX-License-Identifier: MIT
 *
 * What a physical device lists through the layer: the driver's, without what is hidden, with what
 * the layer does. The driver is not asked of structures that are the layer's, since a validation
 * layer below may not know them.
 */
#include <stdlib.h>

#include "device/device.h"
#include "layer/layer.h"

/* ---- what the layer does for it -------------------------------------------------------------- */

static uint32_t native_extensions(const HlInstance *i, VkPhysicalDevice p, Arena *a)
{
    uint32_t n = 0, found = 0;
    if (i->facts.EnumerateDeviceExtensionProperties(p, NULL, &n, NULL) < 0)
        return 0;
    VkExtensionProperties *list = NEW_ARRAY(a, VkExtensionProperties, n + 1);
    if (i->facts.EnumerateDeviceExtensionProperties(p, NULL, &n, list) < 0)
        return 0;
    for (uint32_t k = 0; k < n; k++)
        found |= 1u << hl_extension(list[k].extensionName);
    return found & ((1u << HL_NONE) - 1);
}

/* A bit each. */
static uint32_t features_of(const VkfFacts *f, const HlExtension *e)
{
    const VkfStructure *s = vkf_structure(e->features);
    uint32_t found = 0;
    for (uint32_t k = 0; s && k < e->n_features; k++) {
        VkBool32 has;
        size_t at = s->at + sizeof(VkBaseOutStructure) + k * sizeof has;
        memcpy(&has, (const char *)&f->features + at, sizeof has);
        found |= has ? 1u << k : 0;
    }
    return found;
}

/* The device's own matrices are used beside those that the layer adds. What decodes for loads of
 * NV2's goes with it. */
static void decide(HlPhysical *p, const HlConfig *config)
{
    uint32_t replaced = config->added & ~(1u << HL_KHR);
    for (uint32_t k = 0; k < HL_N_EXTENSIONS; k++) {
        const HlExtension *e = &hl_extensions[k];
        uint32_t bit = 1u << k, all = (1u << e->n_features) - 1;
        bool native = p->native & bit;
        p->has[k] = native ? features_of(&p->facts, e) : 0;
        bool part = native && e->part != HL_LEAVES && p->has[k] != all;
        if (!native || part || config->added & bit)
            p->ours |= bit;
        if (native && (k == HL_KHR || e->part == HL_COMPLETES) && !(replaced & bit))
            p->shared |= bit;
    }
    if (p->ours >> HL_NV2 & 1)
        p->ours |= 1u << HL_DECODE_VECTOR;
    p->ours &= ~config->hidden;
    p->shared &= p->ours;
    p->listed = (p->native & ~config->hidden) | p->ours;
    if (p->facts.features.sizes.subgroupSizeControl &&
        p->facts.sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT &&
        config->subgroup_size > p->facts.profile.max_subgroup_size)
        p->widest = config->subgroup_size;
}

/* ---- shapes of matrices ---------------------------------------------------------------------- */

/* That a type is of; HL_NONE: it is of Vulkan's own. */
static uint32_t extension_of(HeddleType t)
{
    switch (t) {
    case HEDDLE_BF16: return HL_BFLOAT16;
    case HEDDLE_E4M3:
    case HEDDLE_E5M2: return HL_FLOAT8;
    default: return HL_NONE;
    }
}

static bool has_type(const HlPhysical *p, HeddleType t)
{
    const uint32_t features = p->facts.profile.features, of = extension_of(t);
    switch (t) {
    case HEDDLE_F16: return features & PROFILE_HAS_FLOAT16;
    case HEDDLE_F64: return features & PROFILE_HAS_FLOAT64;
    case HEDDLE_S8:
    case HEDDLE_U8: return features & PROFILE_HAS_INT8;
    case HEDDLE_S16:
    case HEDDLE_U16: return features & PROFILE_HAS_INT16;
    case HEDDLE_S64:
    case HEDDLE_U64: return features & PROFILE_HAS_INT64;
    default: return of == HL_NONE || p->listed >> of & 1;
    }
}

/* Whether the layer lists a shape of heddle's: with an extension of its own, or because of a type
 * of its own. */
static bool adds(const HlPhysical *p, uint32_t extension, const HeddleType types[4])
{
    bool ours = p->ours >> extension & 1;
    for (uint32_t k = 0; k < 4; k++) {
        if (!has_type(p, types[k]))
            return false;
        ours |= p->ours >> extension_of(types[k]) & 1;
    }
    return ours;
}

/* Of the driver's: it has no type that is hidden. */
static bool keeps(const HlPhysical *p, const VkComponentTypeKHR types[4])
{
    for (uint32_t k = 0; k < 4; k++) {
        const VkfComponent *c = vkf_component(types[k]);
        uint32_t of = c ? extension_of(c->heddle) : HL_NONE;
        if (of != HL_NONE && !(p->listed >> of & 1))
            return false;
    }
    return true;
}

#define TYPES_OF(s)      { (s).a, (s).b, (s).c, (s).result }
#define COMPONENTS_OF(s) { (s).AType, (s).BType, (s).CType, (s).ResultType }

static bool has_shape(const HlShapes *s, VkCooperativeMatrixPropertiesKHR shape)
{
    for (uint32_t k = 0; k < s->n; k++) {
        shape.pNext = s->all[k].pNext;
        if (!memcmp(&shape, &s->all[k], sizeof shape))
            return true;
    }
    return false;
}

/* The device's own come first: programs take the first that fits, and these are fast. */
static void list_shapes(const HlInstance *i, HlPhysical *p, uint32_t extension, HlShapes *to,
                        Arena *a)
{
    size_t most;
    uint32_t n = 0, lanes = MAX(p->facts.profile.subgroup_size, p->widest);
    const HeddleMatrixShape *all = device_shapes(&most);
    bool native = p->native >> HL_KHR & 1 && i->facts.matrices;
    if (!(p->listed >> extension & 1) || (native && i->facts.matrices(p->handle, &n, NULL) < 0))
        return;
    to->all = NEW_ARRAY(a, VkCooperativeMatrixPropertiesKHR, n + most);
    for (uint32_t k = 0; k < n; k++)
        to->all[k].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    if (n && i->facts.matrices(p->handle, &n, to->all) < 0)
        return;
    for (uint32_t k = 0; k < n; k++) {
        const VkComponentTypeKHR types[] = COMPONENTS_OF(to->all[k]);
        if (keeps(p, types))
            to->all[to->n++] = to->all[k];
    }
    for (size_t k = 0; k < most; k++) {
        const HeddleType types[] = TYPES_OF(all[k]);
        VkCooperativeMatrixPropertiesKHR shape = vkf_khr(&all[k]);
        if (vkf_is_listed(&all[k], lanes >= 64) && adds(p, extension, types) &&
            !has_shape(to, shape))
            to->all[to->n++] = shape;
    }
}

static void list_flexible(const HlInstance *i, HlPhysical *p, Arena *a)
{
    size_t most;
    uint32_t n = 0;
    const HeddleFlexibleShape *all = device_flexible_shapes(&most);
    bool native = p->native & ~p->ours & 1u << HL_NV2 && i->facts.flexible;
    if (!(p->listed >> HL_NV2 & 1) || (native && i->facts.flexible(p->handle, &n, NULL) < 0))
        return;
    p->flexible = NEW_ARRAY(a, VkCooperativeMatrixFlexibleDimensionsPropertiesNV, n + most);
    for (uint32_t k = 0; k < n; k++)
        p->flexible[k].sType =
            VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV;
    if (n && i->facts.flexible(p->handle, &n, p->flexible) < 0)
        return;
    for (uint32_t k = 0; k < n; k++) {
        const VkComponentTypeKHR types[] = COMPONENTS_OF(p->flexible[k]);
        if (keeps(p, types))
            p->flexible[p->n_flexible++] = p->flexible[k];
    }
    for (size_t k = 0; k < most; k++) {
        const HeddleType types[] = TYPES_OF(all[k]);
        if (vkf_is_listed_flexible(&all[k]) &&
            all[k].workgroup <= p->facts.profile.workgroup_invocations && adds(p, HL_NV2, types))
            p->flexible[p->n_flexible++] = vkf_flexible(&all[k]);
    }
}

/* ---- the device ------------------------------------------------------------------------------ */

void hl_make_target(HlPhysical *p, Arena *a)
{
    HlTarget *t = NEW(a, HlTarget);
    t->profile = p->facts.profile;
    for (uint32_t k = 0; k < HL_N_EXTENSIONS; k++)
        if ((p->ours & ~p->shared) >> k & 1)
            t->profile.features &= ~hl_extensions[k].profile;
    if (p->ours >> HL_NV2 & 1)
        t->profile.n_shapes = p->facts.n_listed; /* the others are flexible */
    const char *profile = profile_write(a, &t->profile);
    t->identity =
        hash_bytes(profile, strlen(profile), hash_bytes(HEDDLE_VERSION, strlen(HEDDLE_VERSION), 0));
    atomic_store(&p->target, t);
}

typedef struct Making {
    const HlInstance *instance;
    VkPhysicalDevice handle;
    Arena arena;
    HlPhysical *physical;
} Making;

static void describe(void *user)
{
    Making *m = user;
    const HlInstance *i = m->instance;
    Arena *a = &m->arena;
    HlPhysical *p = NEW(a, HlPhysical);
    p->handle = m->handle;
    char path[4096];
    vkf_describe(&i->facts, p->handle, &p->facts, a);
    if (vkf_cache_path(&p->facts, i->config.cache, "profile.json", path, sizeof path))
        vkf_read_answers(&p->facts, path, a);
    p->native = native_extensions(i, p->handle, a);
    decide(p, &i->config);
    hl_make_target(p, a);
    list_shapes(i, p, HL_KHR, &p->khr, a);
    list_shapes(i, p, HL_NV, &p->nv, a);
    list_flexible(i, p, a);
    m->physical = p;
}

/* A program for Vulkan 1.0 has no features of extensions to ask for. */
static bool can_ask(const HlInstance *i, VkPhysicalDevice p)
{
    VkPhysicalDeviceProperties properties;
    if (!i->facts.GetPhysicalDeviceProperties || !i->facts.GetPhysicalDeviceFeatures2 ||
        !i->facts.GetPhysicalDeviceProperties2 || i->facts.version < VK_API_VERSION_1_1)
        return false;
    i->facts.GetPhysicalDeviceProperties(p, &properties);
    return properties.apiVersion >= VK_API_VERSION_1_1;
}

HlPhysical *hl_physical(HlInstance *i, VkPhysicalDevice handle)
{
    pthread_mutex_lock(&i->lock);
    HlPhysical *p = i->physicals;
    while (p && p->handle != handle)
        p = p->next;
    if (!p && can_ask(i, handle)) {
        Making m = { .instance = i, .handle = handle };
        if (arena_try(&m.arena, describe, &m)) {
            p = m.physical;
            p->arena = m.arena;
            p->next = i->physicals;
            i->physicals = p;
        } else {
            arena_free(&m.arena);
        }
    }
    pthread_mutex_unlock(&i->lock);
    return p;
}

/* ---- extensions ------------------------------------------------------------------------------ */

static uint32_t merge(const HlInstance *i, const HlPhysical *p, VkExtensionProperties *list,
                      uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t of = hl_extension(list[k].extensionName);
        if (of == HL_NONE || !(i->config.hidden >> of & 1))
            list[kept++] = list[k];
    }
    for (uint32_t k = 0; k < HL_N_EXTENSIONS; k++) {
        if (!(p->ours & ~p->native & 1u << k))
            continue;
        list[kept] = (VkExtensionProperties){ .specVersion = hl_extensions[k].version };
        strcpy(list[kept++].extensionName, hl_extensions[k].name);
    }
    return kept;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_EnumerateDeviceExtensionProperties(VkPhysicalDevice device,
                                                                     const char *layer,
                                                                     uint32_t *count,
                                                                     VkExtensionProperties *out)
{
    HlInstance *i = hl_instance(device);
    HlPhysical *p = hl_physical(i, device);
    uint32_t n = 0;
    if (layer && !strcmp(layer, HL_NAME))
        return enumerate(count, out, NULL, 0, sizeof *out, false);
    if (layer || !p)
        return i->facts.EnumerateDeviceExtensionProperties(device, layer, count, out);
    VkResult r = i->facts.EnumerateDeviceExtensionProperties(device, NULL, &n, NULL);
    if (r)
        return r;
    VkExtensionProperties *list = calloc(n + HL_N_EXTENSIONS, sizeof *list);
    if (!list)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    r = i->facts.EnumerateDeviceExtensionProperties(device, NULL, &n, list);
    if (r >= 0) {
        n = merge(i, p, list, n);
        r = enumerate(count, out, list, n, sizeof *out, false);
    }
    free(list);
    return r;
}

enum { MOST_INVOCATIONS = 1024 }; /* of a workgroup that has a matrix */

/* ---- structures ------------------------------------------------------------------------------ */

/* Structures that were taken out of a chain, which goes back together in reverse. */
typedef struct Taken {
    VkBaseOutStructure *before[2 * HL_N_EXTENSIONS], *taken[2 * HL_N_EXTENSIONS];
    uint32_t which[2 * HL_N_EXTENSIONS];
    uint32_t n;
} Taken;

static uint32_t of_structure(VkStructureType type, bool features)
{
    for (uint32_t k = 0; k < HL_N_EXTENSIONS; k++)
        if (type == (features ? hl_extensions[k].features : hl_extensions[k].properties))
            return k;
    return HL_NONE;
}

/* Of the extensions, bits of HL_*. */
static void take_out(Taken *t, void *chain, uint32_t extensions, bool features)
{
    for (VkBaseOutStructure *s = chain; s->pNext && t->n < COUNT_OF(t->taken);) {
        uint32_t k = of_structure(s->pNext->sType, features);
        if (k == HL_NONE || !(extensions >> k & 1)) {
            s = s->pNext;
            continue;
        }
        t->before[t->n] = s;
        t->taken[t->n] = s->pNext;
        t->which[t->n++] = k;
        s->pNext = s->pNext->pNext;
    }
}

static void put_back(Taken *t)
{
    for (uint32_t k = t->n; k--;)
        t->before[k]->pNext = t->taken[k];
}

/* What the device has of robustness the layer's accesses have, being the shader's own. */
static void fill_features(const HlPhysical *p, const Taken *t)
{
    for (uint32_t k = 0; k < t->n; k++) {
        const HlExtension *e = &hl_extensions[t->which[k]];
        VkBool32 *all = (VkBool32 *)(t->taken[k] + 1);
        for (uint32_t f = 0; f < e->n_features; f++)
            all[f] = p->ours >> t->which[k] & 1;
    }
}

static void ask_features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *out,
                         PFN_vkGetPhysicalDeviceFeatures2 next)
{
    HlInstance *i = hl_instance(device);
    HlPhysical *p = hl_physical(i, device);
    Taken t = { 0 };
    if (p)
        take_out(&t, out, p->ours | i->config.hidden, true);
    next(device, out);
    put_back(&t);
    if (p)
        fill_features(p, &t);
}

VKAPI_ATTR void VKAPI_CALL hl_GetPhysicalDeviceFeatures2(VkPhysicalDevice device,
                                                         VkPhysicalDeviceFeatures2 *out)
{
    ask_features(device, out, hl_instance(device)->facts.GetPhysicalDeviceFeatures2);
}

VKAPI_ATTR void VKAPI_CALL hl_GetPhysicalDeviceFeatures2KHR(VkPhysicalDevice device,
                                                            VkPhysicalDeviceFeatures2 *out)
{
    ask_features(device, out, hl_instance(device)->GetPhysicalDeviceFeatures2KHR);
}

/* All of it, what the compiler pads it with as well. */
static void fill(VkBaseOutStructure *s, const void *image, size_t size)
{
    memcpy(s + 1, (const VkBaseOutStructure *)image + 1, size - sizeof *s);
}

static void fill_properties(const HlPhysical *p, VkBaseOutStructure *s, uint32_t which)
{
    static const VkPhysicalDeviceCooperativeMatrixPropertiesKHR khr = {
        .cooperativeMatrixSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT
    };
    static const VkPhysicalDeviceCooperativeMatrixPropertiesNV nv = {
        .cooperativeMatrixSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT
    };
    static const VkPhysicalDeviceShaderMultipleWaitQueuesPropertiesQCOM queues = {
        .maxShaderWaitQueues = SPV_WAIT_QUEUES_MOST
    };
    static const VkPhysicalDeviceCooperativeMatrix2PropertiesNV nv2 = {
        .cooperativeMatrixWorkgroupScopeMaxWorkgroupSize = MOST_INVOCATIONS,
        .cooperativeMatrixFlexibleDimensionsMaxDimension = HEDDLE_MATRIX_MOST
    };
    switch (which) {
    case HL_KHR: fill(s, &khr, sizeof khr); break;
    case HL_NV: fill(s, &nv, sizeof nv); break;
    case HL_WAIT_QUEUES: fill(s, &queues, sizeof queues); break;
    case HL_NV2: {
        VkPhysicalDeviceCooperativeMatrix2PropertiesNV *own = (void *)s;
        fill(s, &nv2, sizeof nv2);
        own->cooperativeMatrixWorkgroupScopeMaxWorkgroupSize =
            MIN(MOST_INVOCATIONS, p->facts.profile.workgroup_invocations);
        break;
    }
    default: break;
    }
}

/* Sizes of subgroups are in two structures. None but compute shaders may ask for those that the
 * device has not. */
static void widen(const HlPhysical *p, void *chain)
{
    for (VkBaseOutStructure *s = chain; s && p->widest; s = s->pNext) {
        VkPhysicalDeviceSubgroupSizeControlProperties *sizes = (void *)s;
        VkPhysicalDeviceVulkan13Properties *all = (void *)s;
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES) {
            sizes->maxSubgroupSize = p->widest;
            sizes->requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
        }
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES) {
            all->maxSubgroupSize = p->widest;
            all->requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
        }
    }
}

static void ask_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *out,
                           PFN_vkGetPhysicalDeviceProperties2 next)
{
    HlInstance *i = hl_instance(device);
    HlPhysical *p = hl_physical(i, device);
    Taken t = { 0 };
    if (p)
        take_out(&t, out, p->ours, false);
    next(device, out);
    put_back(&t);
    for (uint32_t k = 0; k < t.n; k++)
        fill_properties(p, t.taken[k], t.which[k]);
    if (p)
        widen(p, out);
}

VKAPI_ATTR void VKAPI_CALL hl_GetPhysicalDeviceProperties2(VkPhysicalDevice device,
                                                           VkPhysicalDeviceProperties2 *out)
{
    ask_properties(device, out, hl_instance(device)->facts.GetPhysicalDeviceProperties2);
}

VKAPI_ATTR void VKAPI_CALL hl_GetPhysicalDeviceProperties2KHR(VkPhysicalDevice device,
                                                              VkPhysicalDeviceProperties2 *out)
{
    ask_properties(device, out, hl_instance(device)->GetPhysicalDeviceProperties2KHR);
}

/* ---- matrices -------------------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL hl_GetPhysicalDeviceCooperativeMatrixPropertiesKHR(
    VkPhysicalDevice device, uint32_t *count, VkCooperativeMatrixPropertiesKHR *out)
{
    HlInstance *i = hl_instance(device);
    const HlPhysical *p = hl_physical(i, device);
    if (p)
        return enumerate(count, out, p->khr.all, p->khr.n, sizeof *out, true);
    if (i->facts.matrices)
        return i->facts.matrices(device, count, out);
    return enumerate(count, out, NULL, 0, sizeof *out, true);
}

/* The older extension has neither saturation nor the types that came later. */
static bool is_older(const VkCooperativeMatrixPropertiesKHR *s)
{
    return !s->saturatingAccumulation && s->AType <= VK_COMPONENT_TYPE_UINT64_KHR &&
           s->ResultType <= VK_COMPONENT_TYPE_UINT64_KHR;
}

/* Whether four subgroups can keep their matrices in workgroup memory. Programs of the older
 * extension do, without asking whether those of the largest shape that is listed fit. */
static bool is_modest(const HlPhysical *p, const VkCooperativeMatrixPropertiesKHR *s)
{
    enum { SUBGROUPS = 4 };
    uint64_t m = s->MSize, n = s->NSize, k = s->KSize;
    uint64_t bytes =
        m * k * vkf_component(s->AType)->bytes + k * n * vkf_component(s->BType)->bytes;
    bytes += m * n * (vkf_component(s->CType)->bytes + vkf_component(s->ResultType)->bytes);
    return SUBGROUPS * bytes <= p->facts.profile.workgroup_memory;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_GetPhysicalDeviceCooperativeMatrixPropertiesNV(
    VkPhysicalDevice device, uint32_t *count, VkCooperativeMatrixPropertiesNV *out)
{
    HlInstance *i = hl_instance(device);
    const HlPhysical *p = hl_physical(i, device);
    bool theirs = !p || p->native & ~p->ours & p->listed & 1u << HL_NV;
    uint32_t n = 0;
    if (theirs && i->GetPhysicalDeviceCooperativeMatrixPropertiesNV)
        return i->GetPhysicalDeviceCooperativeMatrixPropertiesNV(device, count, out);
    for (uint32_t k = 0; p && k < p->nv.n; k++) {
        const VkCooperativeMatrixPropertiesKHR *s = &p->nv.all[k];
        if (!is_older(s) || !is_modest(p, s))
            continue;
        if (out && n < *count) {
            void *chain = out[n].pNext;
            out[n] = (VkCooperativeMatrixPropertiesNV){
                out[n].sType, chain,    s->MSize, s->NSize,      s->KSize,
                s->AType,     s->BType, s->CType, s->ResultType, s->scope,
            };
        }
        n++;
    }
    bool whole = !out || *count >= n;
    *count = out ? MIN(*count, n) : n;
    return whole ? VK_SUCCESS : VK_INCOMPLETE;
}

VKAPI_ATTR VkResult VKAPI_CALL hl_GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV(
    VkPhysicalDevice device, uint32_t *count,
    VkCooperativeMatrixFlexibleDimensionsPropertiesNV *out)
{
    HlInstance *i = hl_instance(device);
    const HlPhysical *p = hl_physical(i, device);
    if (p)
        return enumerate(count, out, p->flexible, p->n_flexible, sizeof *out, true);
    if (i->facts.flexible)
        return i->facts.flexible(device, count, out);
    return enumerate(count, out, NULL, 0, sizeof *out, true);
}
