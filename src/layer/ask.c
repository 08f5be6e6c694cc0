/* SPDX-License-Identifier: MIT
 *
 * Who holds which element of the driver's matrices, asked of the driver as the device `vulkan` does
 * (vkdevice/ask.c): once for a physical device, before its first device that has something of the
 * layer's, on one of the layer's own, which the loader makes from what is below. A program's queues
 * are not the layer's to submit to; and when its pipelines are made, the loader may be at work.
 */
#include "layer/layer.h"
#include "vkdevice/ask.h"

typedef struct Question {
    HlInstance *instance;
    HlPhysical *physical;
    VkdGiven given;
} Question;

static uint32_t family_of(const HlInstance *i, VkPhysicalDevice p)
{
    VkQueueFamilyProperties families[16];
    uint32_t n = COUNT_OF(families);
    i->GetPhysicalDeviceQueueFamilyProperties(p, &n, families);
    for (uint32_t k = 0; k < n; k++)
        if (families[k].queueFlags & VK_QUEUE_COMPUTE_BIT)
            return k;
    return UINT32_MAX;
}

static bool make_device(Question *q)
{
    const float priority = 1;
    VkfFacts *f = q->given.facts;
    VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = q->given.family,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority };
    VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &f->features.core,
                                .queueCreateInfoCount = 1,
                                .pQueueCreateInfos = &queue,
                                .enabledExtensionCount = f->n_extensions,
                                .ppEnabledExtensionNames = f->extensions };
    return !q->instance->create_device(q->instance->handle, q->physical->handle, &info, NULL,
                                       &q->given.handle, hl_GetInstanceProcAddr, &q->given.get);
}

static void question(void *user)
{
    Question *q = user;
    if (!make_device(q))
        return;
    PFN_vkDestroyDevice destroy =
        (PFN_vkDestroyDevice)q->given.get(q->given.handle, "vkDestroyDevice");
    if (vkd_ask_given(&q->given))
        q->instance->destroy_device(q->given.handle, NULL, destroy);
    if (q->physical->facts.profile.ownership == PROFILE_ASKED)
        hl_make_target(q->physical, &q->physical->arena);
}

void hl_ask(HlInstance *i, HlPhysical *p, PFN_vkSetDeviceLoaderData set_dispatch)
{
    const LowerProfile *known = &p->facts.profile; /* which only the first thread may change */
    if (!known->n_shapes || !i->create_device || atomic_exchange(&p->asked, true) ||
        known->ownership != PROFILE_OPAQUE)
        return;
    Question q = { .instance = i,
                   .physical = p,
                   .given = { .family = family_of(i, p->handle),
                              .set_dispatch = set_dispatch,
                              .facts = &p->facts,
                              .arena = &p->arena } };
    if (q.given.family != UINT32_MAX)
        arena_try(&p->arena, question, &q);
}
