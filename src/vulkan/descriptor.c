/* SPDX-License-Identifier: MIT
 *
 * Descriptor sets and the layouts of sets and pipelines. A set is the array of DeviceBinding that
 * kernels read: binding b of it begins at descriptors[layout->bindings[b].first], so a dispatch
 * passes a pointer into it and copies nothing. Inline uniform blocks lie behind the array, each
 * with one descriptor that points to it. Descriptors of images, texel buffers and samplers are
 * ImageBindings, of the same size: so a mutable descriptor is what was written last.
 */
#include <stdlib.h>

#include "vulkan/vk.h"

static bool is_dynamic(VkDescriptorType t)
{
    return t == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
           t == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

static bool is_buffer(VkDescriptorType t)
{
    return t == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER || t == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ||
           is_dynamic(t);
}

static bool is_texel_buffer(VkDescriptorType t)
{
    return t == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER ||
           t == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
}

static bool has_sampler(VkDescriptorType t)
{
    return t == VK_DESCRIPTOR_TYPE_SAMPLER || t == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
}

/* What a mutable descriptor may be. */
static bool may_become(VkDescriptorType t) { return t <= VK_DESCRIPTOR_TYPE_STORAGE_BUFFER; }

/* ---- layouts of sets ------------------------------------------------------------------------- */

static int by_binding(const void *a, const void *b)
{
    const HvLayoutBinding *x = a, *y = b;
    return x->binding < y->binding ? -1 : x->binding > y->binding;
}

static void place_bindings(HvSetLayout *l)
{
    for (uint32_t i = 0; i < l->n_bindings; i++) {
        HvLayoutBinding *b = &l->bindings[i];
        b->first = l->n_descriptors;
        b->first_dynamic = l->n_dynamic;
        l->is_mutable |= b->type == VK_DESCRIPTOR_TYPE_MUTABLE_EXT;
        if (b->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
            b->data = l->data_size;
            l->data_size += (uint32_t)align_up(b->count, 64);
            l->n_descriptors++;
        } else {
            l->n_descriptors += b->count;
            l->n_dynamic += is_dynamic(b->type) ? b->count : 0;
        }
    }
}

static bool is_immutable(const VkDescriptorSetLayoutBinding *b)
{
    return has_sampler(b->descriptorType) && b->pImmutableSamplers;
}

VKAPI_ATTR VkResult VKAPI_CALL
hv_CreateDescriptorSetLayout(VkDevice device, const VkDescriptorSetLayoutCreateInfo *info,
                             const VkAllocationCallbacks *alloc, VkDescriptorSetLayout *out)
{
    HvDevice *d = HvDevice_of(device);
    const VkDescriptorSetLayoutBindingFlagsCreateInfo *flags =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO);
    *out = VK_NULL_HANDLE;
    size_t n_samplers = 0;
    for (uint32_t i = 0; i < info->bindingCount; i++)
        n_samplers += is_immutable(&info->pBindings[i]) ? info->pBindings[i].descriptorCount : 0;
    (void)alloc; /* sets and pipeline layouts may outlive what the call gave */
    HvSetLayout *l = object_new(NULL, &d->alloc,
                                sizeof *l + info->bindingCount * sizeof *l->bindings +
                                    n_samplers * sizeof(HvSampler *),
                                VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT);
    if (!l)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    l->alloc = d->alloc;
    l->references = 1;
    l->n_bindings = info->bindingCount;
    l->flags = info->flags;
    l->nothing = d->nothing;
    const HvSampler **samplers = (const HvSampler **)(void *)&l->bindings[info->bindingCount];
    for (uint32_t i = 0; i < info->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *b = &info->pBindings[i];
        l->bindings[i] =
            (HvLayoutBinding){ .binding = b->binding,
                               .count = b->descriptorCount,
                               .type = b->descriptorType,
                               .flags =
                                   flags && i < flags->bindingCount ? flags->pBindingFlags[i] : 0 };
        if (!is_immutable(b))
            continue;
        l->bindings[i].samplers = samplers;
        for (uint32_t k = 0; k < b->descriptorCount; k++)
            *samplers++ = HvSampler_of(b->pImmutableSamplers[k]);
    }
    qsort(l->bindings, l->n_bindings, sizeof *l->bindings, by_binding);
    place_bindings(l);
    *out = TO_HANDLE(VkDescriptorSetLayout, l);
    return VK_SUCCESS;
}

void layout_release(HvSetLayout *l)
{
    if (l && atomic_fetch_sub(&l->references, 1) == 1) {
        HvAlloc alloc = l->alloc;
        object_free(NULL, &alloc, l);
    }
}

static HvSetLayout *layout_retain(HvSetLayout *l)
{
    if (l)
        atomic_fetch_add(&l->references, 1);
    return l;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyDescriptorSetLayout(VkDevice device,
                                                         VkDescriptorSetLayout layout,
                                                         const VkAllocationCallbacks *alloc)
{
    (void)device, (void)alloc;
    layout_release(HvSetLayout_of(layout));
}

const HvLayoutBinding *layout_binding(const HvSetLayout *l, uint32_t binding)
{
    HvLayoutBinding key = { .binding = binding };
    return bsearch(&key, l->bindings, l->n_bindings, sizeof key, by_binding);
}

size_t layout_set_size(const HvSetLayout *l)
{
    size_t each = sizeof(DeviceBinding) + l->is_mutable;
    return align_up(sizeof(HvDescriptorSet) + l->n_descriptors * each, 64) + l->data_size;
}

static bool *images_of(const HvDescriptorSet *s)
{
    return (bool *)(uintptr_t)&s->descriptors[s->layout->n_descriptors];
}

bool set_has_image(const HvDescriptorSet *s, const HvLayoutBinding *b, uint32_t element)
{
    if (b->type == VK_DESCRIPTOR_TYPE_MUTABLE_EXT)
        return images_of(s)[b->first + element];
    return !is_buffer(b->type) && b->type != VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
}

static char *inline_data(const HvDescriptorSet *s)
{
    return (char *)s + layout_set_size(s->layout) - s->layout->data_size;
}

/* Whether the binding, if it is mutable, can be all of what its list says. */
static bool mutable_fits(const VkDescriptorSetLayoutCreateInfo *info, uint32_t binding)
{
    const VkMutableDescriptorTypeCreateInfoEXT *lists =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_MUTABLE_DESCRIPTOR_TYPE_CREATE_INFO_EXT);
    if (info->pBindings[binding].descriptorType != VK_DESCRIPTOR_TYPE_MUTABLE_EXT)
        return true;
    if (!lists || binding >= lists->mutableDescriptorTypeListCount)
        return false;
    const VkMutableDescriptorTypeListEXT *l = &lists->pMutableDescriptorTypeLists[binding];
    uint32_t n = 0;
    while (n < l->descriptorTypeCount && may_become(l->pDescriptorTypes[n]))
        n++;
    return n && n == l->descriptorTypeCount;
}

VKAPI_ATTR void VKAPI_CALL hv_GetDescriptorSetLayoutSupport(
    VkDevice device, const VkDescriptorSetLayoutCreateInfo *info, VkDescriptorSetLayoutSupport *out)
{
    (void)device;
    const VkDescriptorSetLayoutBindingFlagsCreateInfo *flags =
        chain_find(info->pNext, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO);
    uint64_t others = 0;
    uint32_t variable = 0;
    out->supported = VK_TRUE;
    for (uint32_t i = 0; i < info->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *b = &info->pBindings[i];
        bool block = b->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
        bool varies = flags && i < flags->bindingCount &&
                      flags->pBindingFlags[i] & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT;
        others += block ? 1 : varies ? 0 : b->descriptorCount;
        out->supported &= b->descriptorCount <= (block ? MAX_INLINE_BLOCK : MAX_DESCRIPTORS) &&
                          mutable_fits(info, i);
        if (varies)
            variable = block ? MAX_INLINE_BLOCK : MAX_DESCRIPTORS;
    }
    out->supported &= others <= MAX_DESCRIPTORS;
    if (variable == MAX_DESCRIPTORS)
        variable = out->supported ? (uint32_t)(MAX_DESCRIPTORS - others) : 0;
    for (VkBaseOutStructure *s = out->pNext; s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_LAYOUT_SUPPORT)
            ((VkDescriptorSetVariableDescriptorCountLayoutSupport *)s)->maxVariableDescriptorCount =
                variable;
    }
}

/* ---- pools and sets -------------------------------------------------------------------------- */

void set_init(HvDescriptorSet *s, HvSetLayout *l)
{
    s->layout = layout_retain(l);
    for (uint32_t i = 0; i < l->n_bindings; i++) {
        const HvLayoutBinding *b = &l->bindings[i];
        DeviceBinding *to = &s->descriptors[b->first];
        if (b->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
            *to = (DeviceBinding){ inline_data(s) + b->data, b->count };
        for (uint32_t k = 0; k < b->count && is_buffer(b->type); k++)
            to[k] = (DeviceBinding){ l->nothing, 0 };
        for (uint32_t k = 0; k < b->count && b->samplers; k++)
            ((ImageBinding *)(void *)to)[k].sampler = &b->samplers[k]->desc;
    }
}

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateDescriptorPool(VkDevice device,
                                                       const VkDescriptorPoolCreateInfo *info,
                                                       const VkAllocationCallbacks *alloc,
                                                       VkDescriptorPool *out)
{
    HvDevice *d = HvDevice_of(device);
    HvSetPool *p = object_new(alloc, &d->alloc, sizeof *p, VK_OBJECT_TYPE_DESCRIPTOR_POOL);
    *out = TO_HANDLE(VkDescriptorPool, p);
    if (!p)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    p->max_sets = info->maxSets;
    p->alloc = alloc ? *alloc : d->alloc;
    return VK_SUCCESS;
}

static void set_free(HvDescriptorSet *s)
{
    if (!s)
        return;
    HvSetPool *p = s->pool;
    if (s->next)
        s->next->prev = s->prev;
    if (s->prev)
        s->prev->next = s->next;
    else
        p->sets = s->next;
    p->n_sets--;
    layout_release(s->layout);
    object_free(NULL, &p->alloc, s);
}

VKAPI_ATTR VkResult VKAPI_CALL hv_ResetDescriptorPool(VkDevice device, VkDescriptorPool pool,
                                                      VkDescriptorPoolResetFlags flags)
{
    (void)device, (void)flags;
    while (HvSetPool_of(pool)->sets)
        set_free(HvSetPool_of(pool)->sets);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyDescriptorPool(VkDevice device, VkDescriptorPool pool,
                                                    const VkAllocationCallbacks *alloc)
{
    if (!pool)
        return;
    hv_ResetDescriptorPool(device, pool, 0);
    object_free(alloc, &HvDevice_of(device)->alloc, HvSetPool_of(pool));
}

VKAPI_ATTR VkResult VKAPI_CALL hv_FreeDescriptorSets(VkDevice device, VkDescriptorPool pool,
                                                     uint32_t n, const VkDescriptorSet *sets)
{
    (void)device, (void)pool;
    for (uint32_t i = 0; i < n; i++)
        set_free(HvDescriptorSet_of(sets[i]));
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hv_AllocateDescriptorSets(VkDevice device,
                                                         const VkDescriptorSetAllocateInfo *info,
                                                         VkDescriptorSet *out)
{
    (void)device;
    HvSetPool *p = HvSetPool_of(info->descriptorPool);
    VkResult result = VK_SUCCESS;
    memset(out, 0, info->descriptorSetCount * sizeof *out);
    if (info->descriptorSetCount > p->max_sets - p->n_sets)
        return VK_ERROR_OUT_OF_POOL_MEMORY;
    for (uint32_t i = 0; i < info->descriptorSetCount && !result; i++) {
        HvSetLayout *l = HvSetLayout_of(info->pSetLayouts[i]);
        HvDescriptorSet *s =
            object_new(NULL, &p->alloc, layout_set_size(l), VK_OBJECT_TYPE_DESCRIPTOR_SET);
        if (!s) {
            result = VK_ERROR_OUT_OF_HOST_MEMORY;
            break;
        }
        set_init(s, l);
        s->pool = p;
        s->next = p->sets;
        if (s->next)
            s->next->prev = s;
        p->sets = s;
        p->n_sets++;
        out[i] = TO_HANDLE(VkDescriptorSet, s);
    }
    for (uint32_t i = 0; result && i < info->descriptorSetCount; i++) {
        set_free(HvDescriptorSet_of(out[i]));
        out[i] = VK_NULL_HANDLE;
    }
    return result;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Where writing goes on: past a binding's end it is the next binding. */
typedef struct Place {
    const HvLayoutBinding *binding, *end;
    uint32_t element;
} Place;

static Place place_at(const HvSetLayout *l, uint32_t binding, uint32_t element)
{
    Place p = { layout_binding(l, binding), l->bindings + l->n_bindings, element };
    return p;
}

static bool place_valid(Place *p)
{
    if (!p->binding)
        return false;
    while (p->binding < p->end && p->element >= p->binding->count) {
        p->element -= p->binding->count;
        p->binding++;
    }
    return p->binding < p->end;
}

static DeviceBinding of_buffer(const HvSetLayout *l, const VkDescriptorBufferInfo *info)
{
    const HvBuffer *b = HvBuffer_of(info->buffer);
    if (!b || !b->data || info->offset > b->size)
        return (DeviceBinding){ l->nothing, 0 };
    uint64_t rest = b->size - info->offset;
    return (DeviceBinding){ b->data + info->offset, MIN(info->range, rest) };
}

static ImageBinding *image_binding(HvDescriptorSet *s, const Place *at)
{
    return (ImageBinding *)(void *)&s->descriptors[at->binding->first + at->element];
}

/* Immutable samplers stay. */
static void write_image(ImageBinding *to, VkDescriptorType type, const void *data, bool immutable)
{
    VkDescriptorImageInfo info;
    VkBufferView buffer;
    if (is_texel_buffer(type)) {
        memcpy(&buffer, data, sizeof buffer);
        to->image = buffer ? &BufferView_of(buffer)->desc : NULL;
        return;
    }
    memcpy(&info, data, sizeof info);
    if (type != VK_DESCRIPTOR_TYPE_SAMPLER)
        to->image = info.imageView ? &HvImageView_of(info.imageView)->desc : NULL;
    if (has_sampler(type) && !immutable)
        to->sampler = info.sampler ? &HvSampler_of(info.sampler)->desc : NULL;
}

/* A mutable descriptor becomes one of buffers or not, and is nothing else any more. */
static void activate(HvDescriptorSet *s, const Place *at, bool image)
{
    uint32_t k = at->binding->first + at->element;
    if (at->binding->type != VK_DESCRIPTOR_TYPE_MUTABLE_EXT)
        return;
    images_of(s)[k] = image;
    s->descriptors[k] = (DeviceBinding){ 0 };
}

/* `data` is where the first one lies. */
static void write_elements(HvDescriptorSet *s, const VkDescriptorUpdateTemplateEntry *e,
                           const void *data)
{
    VkDescriptorType type = e->descriptorType;
    Place at = place_at(s->layout, e->dstBinding, e->dstArrayElement);
    for (uint32_t i = 0; i < e->descriptorCount && place_valid(&at); i++, at.element++) {
        const char *from = (const char *)data + i * e->stride;
        VkDescriptorBufferInfo info;
        activate(s, &at, !is_buffer(type));
        if (!is_buffer(type)) {
            write_image(image_binding(s, &at), type, from, at.binding->samplers);
            continue;
        }
        memcpy(&info, from, sizeof info);
        s->descriptors[at.binding->first + at.element] = of_buffer(s->layout, &info);
    }
}

static void write_inline(HvDescriptorSet *s, uint32_t binding, uint32_t offset, uint32_t size,
                         const void *data)
{
    const HvLayoutBinding *b = layout_binding(s->layout, binding);
    if (b && b->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK && offset <= b->count)
        memcpy(inline_data(s) + b->data + offset, data, MIN(size, b->count - offset));
}

void set_write(HvDescriptorSet *s, const VkWriteDescriptorSet *w)
{
    const VkWriteDescriptorSetInlineUniformBlock *block =
        chain_find(w->pNext, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK);
    if (w->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
        if (block)
            write_inline(s, w->dstBinding, w->dstArrayElement, block->dataSize, block->pData);
        return;
    }
    const void *data = w->pImageInfo;
    size_t size = sizeof *w->pImageInfo;
    if (is_buffer(w->descriptorType))
        data = w->pBufferInfo, size = sizeof *w->pBufferInfo;
    else if (is_texel_buffer(w->descriptorType))
        data = w->pTexelBufferView, size = sizeof *w->pTexelBufferView;
    VkDescriptorUpdateTemplateEntry e = {
        w->dstBinding, w->dstArrayElement, w->descriptorCount, w->descriptorType, 0, size
    };
    write_elements(s, &e, data);
}

static void set_copy(const VkCopyDescriptorSet *c)
{
    const HvDescriptorSet *from = HvDescriptorSet_of(c->srcSet);
    HvDescriptorSet *to = HvDescriptorSet_of(c->dstSet);
    Place a = place_at(from->layout, c->srcBinding, c->srcArrayElement);
    Place b = place_at(to->layout, c->dstBinding, c->dstArrayElement);
    if (a.binding && a.binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
        write_inline(to, c->dstBinding, c->dstArrayElement, c->descriptorCount,
                     inline_data(from) + a.binding->data + c->srcArrayElement);
        return;
    }
    for (uint32_t i = 0; i < c->descriptorCount && place_valid(&a) && place_valid(&b); i++) {
        DeviceBinding *at = &to->descriptors[b.binding->first + b.element];
        activate(to, &b, set_has_image(from, a.binding, a.element));
        *at = from->descriptors[a.binding->first + a.element++];
        if (b.binding->samplers)
            image_binding(to, &b)->sampler = &b.binding->samplers[b.element]->desc;
        b.element++;
    }
}

VKAPI_ATTR void VKAPI_CALL hv_UpdateDescriptorSets(VkDevice device, uint32_t n_writes,
                                                   const VkWriteDescriptorSet *writes,
                                                   uint32_t n_copies,
                                                   const VkCopyDescriptorSet *copies)
{
    (void)device;
    for (uint32_t i = 0; i < n_writes; i++)
        set_write(HvDescriptorSet_of(writes[i].dstSet), &writes[i]);
    for (uint32_t i = 0; i < n_copies; i++)
        set_copy(&copies[i]);
}

/* ---- update templates ------------------------------------------------------------------------ */

VKAPI_ATTR VkResult VKAPI_CALL hv_CreateDescriptorUpdateTemplate(
    VkDevice device, const VkDescriptorUpdateTemplateCreateInfo *info,
    const VkAllocationCallbacks *alloc, VkDescriptorUpdateTemplate *out)
{
    size_t size = info->descriptorUpdateEntryCount * sizeof *info->pDescriptorUpdateEntries;
    HvUpdateTemplate *t = object_new(alloc, &HvDevice_of(device)->alloc, sizeof *t + size,
                                     VK_OBJECT_TYPE_DESCRIPTOR_UPDATE_TEMPLATE);
    *out = TO_HANDLE(VkDescriptorUpdateTemplate, t);
    if (!t)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    t->n_entries = info->descriptorUpdateEntryCount;
    if (size)
        memcpy(t->entries, info->pDescriptorUpdateEntries, size);
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyDescriptorUpdateTemplate(VkDevice device,
                                                              VkDescriptorUpdateTemplate t,
                                                              const VkAllocationCallbacks *alloc)
{
    object_free(alloc, &HvDevice_of(device)->alloc, HvUpdateTemplate_of(t));
}

void template_write(HvDescriptorSet *s, const HvUpdateTemplate *t, const void *data)
{
    for (uint32_t i = 0; i < t->n_entries; i++) {
        const VkDescriptorUpdateTemplateEntry *e = &t->entries[i];
        const char *at = (const char *)data + e->offset;
        if (e->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
            write_inline(s, e->dstBinding, e->dstArrayElement, e->descriptorCount, at);
        else
            write_elements(s, e, at);
    }
}

VKAPI_ATTR void VKAPI_CALL hv_UpdateDescriptorSetWithTemplate(VkDevice device, VkDescriptorSet set,
                                                              VkDescriptorUpdateTemplate t,
                                                              const void *data)
{
    (void)device;
    template_write(HvDescriptorSet_of(set), HvUpdateTemplate_of(t), data);
}

/* ---- layouts of pipelines -------------------------------------------------------------------- */

VKAPI_ATTR VkResult VKAPI_CALL hv_CreatePipelineLayout(VkDevice device,
                                                       const VkPipelineLayoutCreateInfo *info,
                                                       const VkAllocationCallbacks *alloc,
                                                       VkPipelineLayout *out)
{
    HvPipelineLayout *l = object_new(alloc, &HvDevice_of(device)->alloc,
                                     sizeof *l + info->setLayoutCount * sizeof *l->sets,
                                     VK_OBJECT_TYPE_PIPELINE_LAYOUT);
    *out = TO_HANDLE(VkPipelineLayout, l);
    if (!l)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    l->n_sets = info->setLayoutCount;
    for (uint32_t i = 0; i < l->n_sets; i++)
        l->sets[i] = layout_retain(HvSetLayout_of(info->pSetLayouts[i]));
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL hv_DestroyPipelineLayout(VkDevice device, VkPipelineLayout layout,
                                                    const VkAllocationCallbacks *alloc)
{
    HvPipelineLayout *l = HvPipelineLayout_of(layout);
    for (uint32_t i = 0; l && i < l->n_sets; i++)
        layout_release(l->sets[i]);
    object_free(alloc, &HvDevice_of(device)->alloc, l);
}
