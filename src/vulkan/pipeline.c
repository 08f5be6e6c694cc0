/* SPDX-License-Identifier: MIT
 *
 * Shader modules and compute pipelines. A module keeps its words; a pipeline reads, checks and
 * compiles them, unless a cache has the kernel.
 */
#include <stdio.h>
#include <stdlib.h>

#include "vulkan/vk.h"

/* ---- shader modules -------------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateShaderModule(VkDevice device,
                                                     const VkShaderModuleCreateInfo *info,
                                                     const VkAllocationCallbacks *alloc,
                                                     VkShaderModule *out)
{
    HvShaderModule *m = object_new(alloc, &HvDevice_of(device)->alloc, sizeof *m + info->codeSize,
                                   VK_OBJECT_TYPE_SHADER_MODULE);
    *out = TO_HANDLE(VkShaderModule, m);
    if (!m)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    m->size = info->codeSize;
    memcpy(m->words, info->pCode, info->codeSize);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyShaderModule(VkDevice device, VkShaderModule module,
                                                  const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, HvShaderModule_of(module));
}

/* ---- from a stage to a kernel ---------------------------------------------------------------- */

typedef struct Build {
    HvDevice *device;
    const VkComputePipelineCreateInfo *info;
    const void *words;
    size_t size;
    char name[64]; /* of the module, in diagnostics */
    HeddleKernelOptions options;
    HeddleSpecValue *specs;
    DeviceKey key;
    HeddleLog *log;
    char *replacement; /* the words, when HEDDLE_REPLACE has them */
    char hash[20];     /* of the program's words: what files are called */
} Build;

static bool find_words(Build *b)
{
    const VkPipelineShaderStageCreateInfo *stage = &b->info->stage;
    const VkShaderModuleCreateInfo *inline_info =
        chain_find(stage->pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    const HvShaderModule *m = HvShaderModule_of(stage->module);
    if (m) {
        b->words = m->words;
        b->size = m->size;
    } else if (inline_info) {
        b->words = inline_info->pCode;
        b->size = inline_info->codeSize;
    }
    if (!b->words)
        return false;
    snprintf(b->hash, sizeof b->hash, "%016llx",
             (unsigned long long)hash_bytes(b->words, b->size, 0));
    if (m && m->base.name)
        snprintf(b->name, sizeof b->name, "%s", m->base.name);
    else
        snprintf(b->name, sizeof b->name, "shader %s", b->hash);
    return true;
}

/* ---- files of shaders, by hash ---- */

static void file_name(char *out, size_t size, const char *folder, const Build *b,
                      const char *suffix)
{
    snprintf(out, size, "%s/%s%s", folder, b->hash, suffix);
}

static void replace(Build *b)
{
    char path[4096];
    const char *folder = b->device->instance->config.replace;
    if (!folder)
        return;
    file_name(path, sizeof path, folder, b, ".spv");
    b->replacement = file_read(path, &b->size, NULL);
    if (b->replacement)
        b->words = b->replacement;
}

static void dump(const Build *b, const char *suffix, const void *data, size_t size)
{
    char path[4096];
    const char *folder = b->device->instance->config.dump;
    if (!folder || !data)
        return;
    file_name(path, sizeof path, folder, b, suffix);
    file_write(path, data, size, NULL, 0, NULL);
}

static bool find_specs(Build *b)
{
    const VkSpecializationInfo *s = b->info->stage.pSpecializationInfo;
    if (!s || !s->mapEntryCount)
        return true;
    b->specs = calloc(s->mapEntryCount, sizeof *b->specs);
    if (!b->specs)
        return false;
    b->options.specs = b->specs;
    for (uint32_t i = 0; i < s->mapEntryCount; i++) {
        const VkSpecializationMapEntry *e = &s->pMapEntries[i];
        HeddleSpecValue *v = &b->specs[b->options.n_specs];
        if (e->size > sizeof v->bits || e->offset > s->dataSize ||
            e->size > s->dataSize - e->offset)
            continue;
        v->id = e->constantID;
        memcpy(&v->bits, (const char *)s->pData + e->offset, e->size);
        b->options.n_specs++;
    }
    return true;
}

static bool is_robust(const Build *b)
{
    VkStructureType type = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO;
    const VkPipelineRobustnessCreateInfo *r = chain_find(b->info->stage.pNext, type);
    if (!r)
        r = chain_find(b->info->pNext, type);
    if (!r)
        return b->device->robust;
    VkPipelineRobustnessBufferBehavior both[] = { r->storageBuffers, r->uniformBuffers };
    for (int i = 0; i < 2; i++) {
        if (both[i] == VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DEVICE_DEFAULT
                ? b->device->robust
                : both[i] != VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED)
            return true;
    }
    return false;
}

static void choose_options(Build *b)
{
    const VkPipelineShaderStageCreateInfo *stage = &b->info->stage;
    const HvConfig *config = &b->device->instance->config;
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *required = chain_find(
        stage->pNext, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    b->options.entry = stage->pName;
    b->options.subgroup_size = required                    ? required->requiredSubgroupSize
                               : config->any_subgroup_size ? 0
                                                           : config->subgroup_size;
    b->options.robust = is_robust(b);
    b->options.check = config->check;
    b->options.stats = config->stats;
    b->options.debug = config->debug;
    b->options.no_optimisation = config->variables;
    b->options.emit = config->check ? HEDDLE_EMIT_NOTHING : HEDDLE_EMIT_OBJECT;
}

static void make_key(Build *b)
{
    const HeddleKernelOptions *o = &b->options;
    uint32_t rest[] = { o->subgroup_size, o->robust,          o->check, o->stats,
                        o->debug,         o->no_optimisation, o->emit };
    b->key = device_key(b->device->physical->identity);
    device_key_add(&b->key, b->words, b->size);
    for (uint32_t k = 0; k < o->n_specs; k++) {
        uint64_t pair[] = { o->specs[k].id, o->specs[k].bits };
        device_key_add(&b->key, pair, sizeof pair);
    }
    device_key_add(&b->key, o->entry, strlen(o->entry));
    device_key_add(&b->key, rest, sizeof rest);
}

static VkResult of_heddle(HeddleResult r)
{
    switch (r) {
    case HEDDLE_OK: return VK_SUCCESS;
    case HEDDLE_ERROR_MEMORY: return VK_ERROR_OUT_OF_HOST_MEMORY;
    default: return VK_ERROR_UNKNOWN;
    }
}

/* Values for constants that the module does not have are allowed here. */
static void drop_unknown_specs(Build *b, const HeddleKernelInfo *info)
{
    uint32_t n = 0;
    for (uint32_t i = 0; info && i < b->options.n_specs; i++) {
        for (uint32_t k = 0; k < info->n_specs; k++) {
            if (info->specs[k].id == b->specs[i].id) {
                b->specs[n++] = b->specs[i];
                break;
            }
        }
    }
    b->options.n_specs = n;
}

static HeddleResult make_kernel(Build *b, HeddleEmit emit, HeddleLog *log, HeddleKernel **out)
{
    HeddleModule *module = NULL;
    HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_SPIRV };
    HeddleResult r = heddle_module_new(b->words, b->size, b->name, &o, &module, log);
    if (!r) {
        drop_unknown_specs(b, heddle_module_entry_point(module, 0));
        HeddleKernelOptions options = b->options;
        options.emit = emit;
        r = heddle_kernel_new(b->device->physical->heddle, module, &options, out, log);
    }
    heddle_module_free(module);
    return r;
}

/* A kernel keeps one form, and what runs and is cached keeps its object: compiled once more. */
static void dump_llvm(Build *b)
{
    const HvConfig *config = &b->device->instance->config;
    HeddleKernel *kernel = NULL;
    if (!config->dump || config->check || make_kernel(b, HEDDLE_EMIT_LLVM, NULL, &kernel))
        return;
    dump(b, ".ll", kernel->code->text, kernel->code->text_size);
    heddle_kernel_free(kernel);
}

static VkResult compile_kernel(Build *b, HvKernel **out)
{
    HeddleKernel *kernel = NULL;
    HeddleResult r = make_kernel(b, b->options.emit, b->log, &kernel);
    if (!r && kernel->info->push_size > MAX_PUSH) {
        r = log_fail(b->log, HEDDLE_ERROR_UNSUPPORTED,
                     "%s: %llu bytes of push constants; maxPushConstantsSize is %d", b->name,
                     (unsigned long long)kernel->info->push_size, MAX_PUSH);
        heddle_kernel_free(kernel);
    }
    if (r)
        return of_heddle(r);
    *out = kernel_new(&b->key, kernel, NULL);
    return *out ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VkPipelineCreateFlags2 flags_of(const VkComputePipelineCreateInfo *info)
{
    const VkPipelineCreateFlags2CreateInfo *wide =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO);
    return wide ? wide->flags : info->flags;
}

/* From one of the caches or compiled, and then in both. *hit: the application's had it. */
static VkResult find_kernel(Build *b, HvCache *cache, bool *hit, HvKernel **out)
{
    HvCache *caches[] = { cache, b->device->cache };
    DeviceBase *device = device_base(b->device);
    const char *folder = b->device->instance->config.cache;
    *out = NULL;
    for (int i = 0; i < 2 && !*out; i++) {
        *out = caches[i] ? cache_find(caches[i], device, &b->key) : NULL;
        *hit = *out && i == 0;
    }
    if (!*out && folder)
        *out = folder_find(folder, device, &b->key);
    if (!*out) {
        if (flags_of(b->info) & VK_PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT)
            return VK_PIPELINE_COMPILE_REQUIRED;
        VkResult r = compile_kernel(b, out);
        if (r)
            return r;
        /* a large kernel has code worth keeping only after it has run */
        if (folder && b->options.emit == HEDDLE_EMIT_OBJECT) {
            (*out)->folder = folder;
            device_keep(&(*out)->folder, (*out)->code, &b->key);
        }
        memcpy((*out)->name, b->name, sizeof b->name);
    }
    for (int i = 0; i < 2; i++) {
        if (caches[i])
            cache_add(caches[i], *out);
    }
    return VK_SUCCESS;
}

/* ---- pipelines ------------------------------------------------------------------------------- */

static void feed_back(const VkComputePipelineCreateInfo *info, VkPipelineCreationFeedback all)
{
    const VkPipelineCreationFeedbackCreateInfo *f =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
    if (!f)
        return;
    *f->pPipelineCreationFeedback = all;
    for (uint32_t i = 0; i < f->pipelineStageCreationFeedbackCount; i++)
        f->pPipelineStageCreationFeedbacks[i] = all;
}

static VkResult create(HvDevice *d, HvCache *cache, const VkComputePipelineCreateInfo *info,
                       const HvAlloc *alloc, VkPipeline *out)
{
    uint64_t start = clock_ns();
    const HvShaderModule *m = HvShaderModule_of(info->stage.module);
    HvSpeaker speaker = { d->instance, m ? &m->base : NULL, "" };
    Build b = { .device = d, .info = info };
    HvKernel *kernel = NULL;
    bool hit = false;
    feed_back(info, (VkPipelineCreationFeedback){ 0 }); /* which a failure leaves */
    if (!find_words(&b))
        return VK_ERROR_UNKNOWN;
    if (!find_specs(&b))
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    dump(&b, ".spv", b.words, b.size);
    replace(&b);
    b.log = speaker_log(&speaker);
    choose_options(&b);
    make_key(&b);
    VkResult r = find_kernel(&b, cache, &hit, &kernel);
    if (!r)
        dump_llvm(&b);
    heddle_log_free(b.log);
    free(b.specs);
    free(b.replacement);
    if (r)
        return r;
    HvPipeline *p = object_new(alloc, &d->alloc, sizeof *p, VK_OBJECT_TYPE_PIPELINE);
    if (!p) {
        kernel_release(kernel);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    p->kernel = kernel;
    const VkPipelineCreationFeedbackFlags from_cache =
        hit ? VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT : 0;
    feed_back(info, (VkPipelineCreationFeedback){
                        VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT | from_cache, clock_ns() - start });
    *out = TO_HANDLE(VkPipeline, p);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateComputePipelines(VkDevice device, VkPipelineCache cache,
                                                         uint32_t n,
                                                         const VkComputePipelineCreateInfo *infos,
                                                         const VkAllocationCallbacks *alloc,
                                                         VkPipeline *out)
{
    VkResult result = VK_SUCCESS;
    bool stop = false;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = VK_NULL_HANDLE;
        if (stop)
            continue;
        VkResult r = create(HvDevice_of(device), HvCache_of(cache), &infos[i], alloc, &out[i]);
        if (r && (!result || r < 0))
            result = r;
        stop = r && (flags_of(&infos[i]) & VK_PIPELINE_CREATE_2_EARLY_RETURN_ON_FAILURE_BIT);
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyPipeline(VkDevice device, VkPipeline pipeline,
                                              const VkAllocationCallbacks *alloc)
{
    HvPipeline *p = HvPipeline_of(pipeline);
    HvDevice *d = HvDevice_of(device);
    if (!p)
        return;
    cache_release(d->cache, p->kernel);
    object_free(alloc, &d->alloc, p);
}
