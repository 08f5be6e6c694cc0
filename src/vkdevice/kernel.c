/* SPDX-License-Identifier: MIT
 *
 * A kernel: its module, lowered for what the device lacks, and a pipeline of it.
 */
#include "vkdevice/vkdevice.h"

typedef struct Making {
    VkdDevice *d;
    const DeviceCompile *how;
    VkdKernel *k;
    Arena *arena;
    DiagSink *sink;
    SpvModule *module;
    SpvEntryPoint entry;
    LowerReport report;
    uint32_t native; /* the size of the device's subgroups */
} Making;

/* ---- the module ------------------------------------------------------------------------------ */

static HeddleResult refuse_kernel(DiagSink *sink, const char *why)
{
    diag(sink, DIAG_ERROR, NULL, NULL, "%s", why);
    return HEDDLE_ERROR_UNSUPPORTED;
}

static HeddleResult check_options(const DeviceCompile *how, DiagSink *sink)
{
    if (how->arguments)
        return refuse_kernel(
            sink, "an OpenCL kernel is no Vulkan shader: compile it with --target vulkan "
                  "(HeddleModuleOptions.opencl_to_vulkan)");
    if (how->emit > HEDDLE_EMIT_SPIRV)
        return refuse_kernel(sink, "a vulkan device generates no code to show but SPIR-V");
    return HEDDLE_OK;
}

static void keep_report(Making *m)
{
    uint32_t n = m->report.rows.len;
    HeddleLowering *to = NEW_ARRAY(m->arena, HeddleLowering, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        const LowerRow *row = &m->report.rows.data[k];
        to[k] = (HeddleLowering){ spv_op_name(row->op), row->count, row->pass, row->how };
    }
    m->k->base.lowerings = to;
    m->k->base.n_lowerings = n;
}

static HeddleResult make_module(Making *m)
{
    const DeviceCompile *how = m->how;
    const VkfFacts *f = &m->d->facts;
    m->module = how->copy ? how->copy : spv_clone(m->arena, how->module);
    m->report.arena = m->arena;
    /* who asks for a size gets it, natively or as several subgroups of the device's */
    uint32_t asked = how->subgroup_size ? how->subgroup_size : how->required_subgroup_size;
    LowerOptions o = { .profile = &f->profile,
                       .entry = how->entry,
                       .spec = how->specs,
                       .n_spec = how->n_specs,
                       .subgroup_size = asked,
                       .chosen_size = &m->k->base.subgroup_size,
                       .report = &m->report };
    if (!lower_module(m->module, &o, m->sink) || !vkf_accepts(f, m->module, m->sink) ||
        !spv_entry_point(m->module, how->entry, &m->entry, m->sink))
        return HEDDLE_ERROR_SOURCE;
    m->native = MIN(m->k->base.subgroup_size, f->profile.max_subgroup_size);
    keep_report(m);
    if (how->emit == HEDDLE_EMIT_SPIRV)
        m->k->base.text = spv_write(m->arena, m->module, &m->k->base.text_size);
    return HEDDLE_OK;
}

/* ---- bindings -------------------------------------------------------------------------------- */

static VkDescriptorType type_of(SpvModule *m, const SpvInst *variable)
{
    const SpvType *t = spv_type(m, variable->type)->element;
    while (t && (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY))
        t = t->element;
    bool uniform = spv_operand(variable, 0) == SpvStorageClassUniform && t &&
                   spv_has_decoration(m, t->id, -1, SpvDecorationBlock);
    return uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

static VkDescriptorType type_of_slot(SpvModule *m, const DeviceSlot *s)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        if (i->op != SpvOpVariable)
            continue;
        const uint32_t *set = spv_decoration(m, i->id, -1, SpvDecorationDescriptorSet, NULL);
        const uint32_t *binding = spv_decoration(m, i->id, -1, SpvDecorationBinding, NULL);
        if (set && binding && *set == s->set && *binding == s->binding)
            return type_of(m, i);
    }
    return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

static HeddleResult plan_slots(Making *m)
{
    const DeviceCompile *how = m->how;
    VkdKernel *k = m->k;
    uint32_t most = m->d->facts.properties.properties.limits.maxBoundDescriptorSets;
    k->types = NEW_ARRAY(m->arena, VkDescriptorType, how->n_slots + 1);
    k->counts = NEW_ARRAY(m->arena, uint32_t, how->n_slots + 1);
    for (uint32_t n = 0; n < how->n_slots; n++) {
        const DeviceSlot *s = &how->slots[n];
        if (s->kind != DEVICE_SLOT_BUFFER)
            return refuse_kernel(m->sink,
                                 "a vulkan device binds buffers only, no images and samplers");
        if (s->set >= most) {
            diag(m->sink, DIAG_ERROR, NULL, NULL, "the kernel has a set %u, '%s' has %u sets",
                 s->set, m->d->facts.profile.name, most);
            return HEDDLE_ERROR_UNSUPPORTED;
        }
        k->types[n] = type_of_slot(m->module, s);
        k->counts[n] = s->count == UINT32_MAX ? VKD_UNBOUNDED : MAX(s->count, 1);
        k->n_sets = MAX(k->n_sets, s->set + 1);
    }
    k->sets = NEW_ARRAY(m->arena, VkDescriptorSetLayout, k->n_sets + 1);
    return HEDDLE_OK;
}

static VkResult make_set(const Making *m, uint32_t set)
{
    VkdKernel *k = m->k;
    VkdDevice *d = m->d;
    uint32_t n = 0;
    VkDescriptorSetLayoutBinding *list =
        NEW_ARRAY(m->arena, VkDescriptorSetLayoutBinding, m->how->n_slots + 1);
    VkDescriptorBindingFlags *flags =
        NEW_ARRAY(m->arena, VkDescriptorBindingFlags, m->how->n_slots + 1);
    for (uint32_t s = 0; s < m->how->n_slots; s++) {
        if (m->how->slots[s].set != set)
            continue;
        if (d->facts.features.indexing.descriptorBindingPartiallyBound)
            flags[n] = VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT;
        list[n++] = (VkDescriptorSetLayoutBinding){ .binding = m->how->slots[s].binding,
                                                    .descriptorType = k->types[s],
                                                    .descriptorCount = k->counts[s],
                                                    .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT };
    }
    VkDescriptorSetLayoutBindingFlagsCreateInfo partly = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
        .bindingCount = n,
        .pBindingFlags = flags,
    };
    VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .pNext = d->facts.features.indexing.sType ? &partly : NULL,
        .bindingCount = n,
        .pBindings = list,
    };
    return d->CreateDescriptorSetLayout(d->handle, &info, NULL, &k->sets[set]);
}

static VkResult make_layout(const Making *m)
{
    VkdKernel *k = m->k;
    VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, k->push_bytes };
    VkPipelineLayoutCreateInfo info = { .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                        .setLayoutCount = k->n_sets,
                                        .pSetLayouts = k->sets,
                                        .pushConstantRangeCount = k->push_bytes != 0,
                                        .pPushConstantRanges = &push };
    for (uint32_t set = 0; set < k->n_sets; set++) {
        VkResult r = make_set(m, set);
        if (r)
            return r;
    }
    return m->d->CreatePipelineLayout(m->d->handle, &info, NULL, &k->layout);
}

/* ---- the pipeline ---------------------------------------------------------------------------- */

/* Of one to which the size of subgroups is not left open. */
static VkPipelineShaderStageCreateFlags stage_flags(const Making *m)
{
    bool whole = m->entry.local_size[0] % m->native == 0;
    return whole && m->d->facts.features.sizes.computeFullSubgroups
               ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT
               : 0;
}

static VkPipelineRobustnessCreateInfo robustness(const VkfFacts *f, bool robust)
{
    bool two = f->features.robustness2.sType != 0;
    VkPipelineRobustnessBufferBehavior how =
        !robust ? VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED
        : two   ? VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_2
                : VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS;
    return (VkPipelineRobustnessCreateInfo){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO,
        .storageBuffers = how,
        .uniformBuffers = how,
    };
}

static VkResult make_pipeline(const Making *m, VkShaderModule shader)
{
    const VkfFacts *f = &m->d->facts;
    VkPipelineRobustnessCreateInfo robust = robustness(f, m->how->robust);
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = m->native,
    };
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .pNext = f->features.pipeline_robustness.pipelineRobustness ? &robust : NULL,
        .flags = VK_PIPELINE_CREATE_DISPATCH_BASE,
        .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .pNext =
                       f->profile.min_subgroup_size < f->profile.max_subgroup_size ? &size : NULL,
                   .flags = stage_flags(m),
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = shader,
                   .pName = m->how->entry },
        .layout = m->k->layout,
    };
    return m->d->CreateComputePipelines(m->d->handle, m->d->cache, 1, &info, NULL, &m->k->pipeline);
}

/* From here on the arena is not asked for more but by make_set. */
static HeddleResult make_objects(const Making *m, const void *words, size_t size)
{
    VkdDevice *d = m->d;
    VkShaderModule shader = VK_NULL_HANDLE;
    VkResult r = make_layout(m);
    if (r)
        return vkd_failed(d, r, "making a pipeline's layout", m->sink);
    VkShaderModuleCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = size,
                                      .pCode = words };
    r = d->CreateShaderModule(d->handle, &info, NULL, &shader);
    r = r ? r : make_pipeline(m, shader);
    d->DestroyShaderModule(d->handle, shader, NULL);
    return r ? vkd_failed(d, r, "making a pipeline of the kernel", m->sink) : HEDDLE_OK;
}

static HeddleResult check_limits(Making *m)
{
    const VkPhysicalDeviceLimits *l = &m->d->facts.properties.properties.limits;
    const DeviceCompile *how = m->how;
    if (how->push_bytes > l->maxPushConstantsSize)
        diag(m->sink, DIAG_ERROR, NULL, NULL,
             "the kernel has %llu bytes of push constants, '%s' takes %u",
             (unsigned long long)how->push_bytes, m->d->facts.profile.name,
             l->maxPushConstantsSize);
    else if (how->shared_bytes > l->maxComputeSharedMemorySize)
        diag(m->sink, DIAG_ERROR, NULL, NULL,
             "the kernel has %llu bytes of workgroup memory, '%s' has %u",
             (unsigned long long)how->shared_bytes, m->d->facts.profile.name,
             l->maxComputeSharedMemorySize);
    else
        return HEDDLE_OK;
    return HEDDLE_ERROR_UNSUPPORTED;
}

static bool has_addresses(const SpvModule *m)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpCapability &&
            spv_operand(i, 0) == SpvCapabilityPhysicalStorageBufferAddresses)
            return true;
    return false;
}

HeddleResult vkd_compile(DeviceBase *base, const DeviceCompile *how, Arena *arena,
                         DeviceKernel **out, DiagSink *sink)
{
    VkdKernel *k = NEW(arena, VkdKernel);
    Making m = { .d = (VkdDevice *)base, .how = how, .k = k, .arena = arena, .sink = sink };
    k->base = (DeviceKernel){ .device = base,
                              .slots = how->slots,
                              .n_slots = how->n_slots,
                              .shared_bytes = how->shared_bytes,
                              .push_bytes = how->push_bytes };
    k->push_bytes = (uint32_t)align_up(how->push_bytes, 4);
    memcpy(k->base.local_size, how->local_size, sizeof k->base.local_size);
    *out = &k->base;
    HeddleResult r = check_options(how, sink);
    r = r ? r : check_limits(&m);
    r = r ? r : make_module(&m);
    r = r ? r : plan_slots(&m);
    if (r)
        return r;
    size_t size;
    const void *words = spv_write(arena, m.module, &size);
    k->follows_addresses = has_addresses(m.module);
    k->base.cost = 4 * size;
    return make_objects(&m, words, size);
}

void vkd_release(DeviceKernel *base)
{
    VkdKernel *k = (VkdKernel *)base;
    VkdDevice *d = (VkdDevice *)base->device;
    if (vkd_is_stuck(d))
        return;
    d->DestroyPipeline(d->handle, k->pipeline, NULL);
    d->DestroyPipelineLayout(d->handle, k->layout, NULL);
    for (uint32_t n = 0; n < k->n_sets; n++)
        d->DestroyDescriptorSetLayout(d->handle, k->sets[n], NULL);
}
