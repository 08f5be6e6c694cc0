/* SPDX-License-Identifier: MIT
 *
 * Dispatches: what the program wrapped is copied to the device, descriptors are written, the kernel
 * runs between two timestamps, what it may have written is copied back.
 */
#include "vkdevice/vkdevice.h"

typedef struct Running {
    VkdDevice *d;
    DeviceDispatch *x;
    const VkdKernel *k;
    Arena *scratch;
    DiagSink *sink;
    VkdPiece **used; /* once each */
    bool *written;
    uint32_t n_used;
    VkDescriptorPool pool;
    VkDescriptorSet *sets;
} Running;

/* ---- what is used ---------------------------------------------------------------------------- */

static HeddleResult refuse_binding(Running *r, const DeviceSlot *s, const char *what, uint64_t is,
                                   uint64_t limit)
{
    diag(r->sink, DIAG_ERROR, NULL, NULL, "set %u, binding %u: %s is %llu, '%s' takes %llu", s->set,
         s->binding, what, (unsigned long long)is, r->d->facts.profile.name,
         (unsigned long long)limit);
    return HEDDLE_ERROR_UNSUPPORTED;
}

static void use(Running *r, VkdPiece *p, bool written)
{
    uint32_t k = 0;
    while (k < r->n_used && r->used[k] != p)
        k++;
    r->used[k] = p;
    r->written[k] |= written;
    r->n_used = MAX(r->n_used, k + 1);
}

/* Pointers may lead to any memory there is. */
static void use_all(Running *r, uint32_t most)
{
    pthread_mutex_lock(&r->d->lock);
    for (VkdPiece *p = r->d->pieces; p && r->n_used < most; p = p->next)
        use(r, p, true);
    pthread_mutex_unlock(&r->d->lock);
}

static uint32_t count_pieces(VkdDevice *d)
{
    uint32_t n = 0;
    pthread_mutex_lock(&d->lock);
    for (const VkdPiece *p = d->pieces; p; p = p->next)
        n++;
    pthread_mutex_unlock(&d->lock);
    return n;
}

static HeddleResult find_used(Running *r)
{
    const VkdKernel *k = r->k;
    uint32_t most = count_pieces(r->d);
    r->used = NEW_ARRAY(r->scratch, VkdPiece *, most + 1);
    r->written = NEW_ARRAY(r->scratch, bool, most + 1);
    for (uint32_t n = 0; n < k->base.n_slots; n++) {
        const DeviceSlot *s = &k->base.slots[n];
        if (r->x->counts[n] > k->counts[n])
            return refuse_binding(r, s, "the number of its buffers", r->x->counts[n], k->counts[n]);
        for (uint32_t e = 0; e < r->x->counts[n]; e++) {
            const DeviceBinding *b = &r->x->slots[n][e];
            VkdPiece *p = b->base ? vkd_find(r->d, (uintptr_t)b->base) : NULL;
            if (p)
                use(r, p, s->written);
        }
    }
    if (k->follows_addresses)
        use_all(r, most);
    return HEDDLE_OK;
}

static HeddleResult copy_wrapped(Running *r, bool to_device)
{
    HeddleResult result = HEDDLE_OK;
    for (uint32_t k = 0; k < r->n_used && !result; k++) {
        VkdPiece *p = r->used[k];
        if (p->wrapped && (to_device || r->written[k]))
            result = vkd_copy(r->d, p, &(VkdSpan){ 0, p->size, p->wrapped }, to_device, r->sink);
    }
    return result;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static VkResult make_sets(Running *r)
{
    const VkdKernel *k = r->k;
    VkdDevice *d = r->d;
    VkDescriptorPoolSize *sizes = NEW_ARRAY(r->scratch, VkDescriptorPoolSize, k->base.n_slots + 1);
    for (uint32_t n = 0; n < k->base.n_slots; n++)
        sizes[n] = (VkDescriptorPoolSize){ k->types[n], k->counts[n] };
    VkDescriptorPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                        .maxSets = k->n_sets,
                                        .poolSizeCount = k->base.n_slots,
                                        .pPoolSizes = sizes };
    r->sets = NEW_ARRAY(r->scratch, VkDescriptorSet, k->n_sets + 1);
    VkResult result = d->CreateDescriptorPool(d->handle, &pool, NULL, &r->pool);
    VkDescriptorSetAllocateInfo sets = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                         .descriptorPool = r->pool,
                                         .descriptorSetCount = k->n_sets,
                                         .pSetLayouts = k->sets };
    return result ? result : d->AllocateDescriptorSets(d->handle, &sets, r->sets);
}

static HeddleResult write_one(Running *r, uint32_t slot, uint32_t element)
{
    const VkPhysicalDeviceLimits *l = &r->d->facts.properties.properties.limits;
    const DeviceSlot *s = &r->k->base.slots[slot];
    const DeviceBinding *b = &r->x->slots[slot][element];
    VkdPiece *p = b->base ? vkd_find(r->d, (uintptr_t)b->base) : NULL;
    if (!p)
        return HEDDLE_OK; /* of a hole, or a variable that no code uses */
    bool uniform = r->k->types[slot] == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    uint64_t offset = (uintptr_t)b->base - p->address, size = b->size;
    uint64_t align =
        uniform ? l->minUniformBufferOffsetAlignment : l->minStorageBufferOffsetAlignment;
    if (offset % align)
        return refuse_binding(r, s, "the offset", offset, align);
    if (uniform)
        size = MIN(size, l->maxUniformBufferRange);
    /* whose numbers are parts of words: the last one's too, for which the buffer has room */
    if (~r->d->facts.profile.features & (PROFILE_HAS_STORAGE8 | PROFILE_HAS_STORAGE16))
        size = align_up(size, 4);
    if (size > l->maxStorageBufferRange)
        return refuse_binding(r, s, "the size", size, l->maxStorageBufferRange);
    VkDescriptorBufferInfo info = { p->buffer, offset, size };
    VkWriteDescriptorSet w = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                               .dstSet = r->sets[s->set],
                               .dstBinding = s->binding,
                               .dstArrayElement = element,
                               .descriptorCount = 1,
                               .descriptorType = r->k->types[slot],
                               .pBufferInfo = &info };
    r->d->UpdateDescriptorSets(r->d->handle, 1, &w, 0, NULL);
    return HEDDLE_OK;
}

static HeddleResult write_descriptors(Running *r)
{
    if (!r->k->n_sets)
        return HEDDLE_OK;
    VkResult made = make_sets(r);
    if (made)
        return vkd_failed(r->d, made, "making descriptors", r->sink);
    HeddleResult result = HEDDLE_OK;
    for (uint32_t n = 0; n < r->k->base.n_slots; n++)
        for (uint32_t e = 0; e < r->x->counts[n] && !result; e++)
            result = write_one(r, n, e);
    return result;
}

/* ---- running --------------------------------------------------------------------------------- */

static HeddleResult check_groups(Running *r)
{
    const VkPhysicalDeviceLimits *l = &r->d->facts.properties.properties.limits;
    for (int k = 0; k < 3; k++) {
        uint32_t most = l->maxComputeWorkGroupCount[k];
        if (r->x->base_group[k] < most && r->x->groups[k] <= most - r->x->base_group[k])
            continue;
        diag(r->sink, DIAG_ERROR, NULL, NULL, "%u workgroups in %c from %u on: '%s' has up to %u",
             r->x->groups[k], "xyz"[k], r->x->base_group[k], r->d->facts.profile.name, most);
        return HEDDLE_ERROR_UNSUPPORTED;
    }
    return HEDDLE_OK;
}

static void record(Running *r, VkdJob *j)
{
    VkdDevice *d = r->d;
    const VkdKernel *k = r->k;
    VkCommandBuffer c = j->commands;
    const uint32_t *first = r->x->base_group, *n = r->x->groups;
    d->CmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, k->pipeline);
    if (k->n_sets)
        d->CmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, k->layout, 0, k->n_sets,
                                 r->sets, 0, NULL);
    if (k->push_bytes)
        d->CmdPushConstants(c, k->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, k->push_bytes,
                            r->x->push);
    if (j->times) {
        d->CmdResetQueryPool(c, j->times, 0, 2);
        d->CmdWriteTimestamp(c, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, j->times, 0);
    }
    d->CmdDispatchBase(c, first[0], first[1], first[2], n[0], n[1], n[2]);
    if (j->times)
        d->CmdWriteTimestamp(c, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, j->times, 1);
}

/* The device's clock, in which a dispatch that a wrapping counter ends before its start ends
 * behind it. */
static void read_times(Running *r, VkdJob *j)
{
    uint64_t t[2], mask = r->d->time_bits < 64 ? (UINT64_C(1) << r->d->time_bits) - 1 : UINT64_MAX;
    double period = r->d->facts.properties.properties.limits.timestampPeriod;
    if (!j->times || r->d->GetQueryPoolResults(r->d->handle, j->times, 0, 2, sizeof t, t, sizeof *t,
                                               VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT))
        return;
    r->x->start_ns = (uint64_t)((double)(t[0] & mask) * period);
    r->x->end_ns = r->x->start_ns + (uint64_t)((double)((t[1] - t[0]) & mask) * period);
}

static HeddleResult run_timed(Running *r)
{
    VkdJob *j = vkd_begin(r->d, r->sink);
    if (!j)
        return HEDDLE_ERROR_RUN;
    record(r, j);
    j->limit_ns = r->x->watchdog_ns;
    r->x->start_ns = clock_ns();
    HeddleResult result = vkd_run_and_keep(r->d, j, r->sink);
    r->x->end_ns = clock_ns();
    if (result)
        return result;
    read_times(r, j);
    vkd_give_back(r->d, j);
    return copy_wrapped(r, false);
}

HeddleResult vkd_dispatch(DeviceBase *base, DeviceDispatch *x, Arena *scratch, DiagSink *sink)
{
    VkdDevice *d = (VkdDevice *)base;
    Running r = { .d = d,
                  .x = x,
                  .k = (const VkdKernel *)x->kernel,
                  .scratch = scratch,
                  .sink = sink };
    pthread_mutex_lock(&d->lock);
    bool lost = d->lost;
    pthread_mutex_unlock(&d->lock);
    if (lost) {
        diag(sink, DIAG_ERROR, NULL, NULL, "'%s' was lost before: open the device anew",
             d->facts.profile.name);
        return HEDDLE_ERROR_RUN;
    }
    HeddleResult result = check_groups(&r);
    result = result ? result : find_used(&r);
    result = result ? result : copy_wrapped(&r, true);
    result = result ? result : write_descriptors(&r);
    result = result ? result : run_timed(&r);
    if (!vkd_is_stuck(d))
        d->DestroyDescriptorPool(d->handle, r.pool, NULL);
    return result;
}
