/* SPDX-License-Identifier: MIT
 *
 * Who holds which element of a driver's matrices, asked on a device that somebody else has made:
 * the layer, which has none by itself.
 */
#ifndef HEDDLE_VKDEVICE_ASK_H
#define HEDDLE_VKDEVICE_ASK_H

#include "vk/facts.h"

/* With all features and extensions that the facts list, and a queue of a family for compute. */
typedef struct VkdGiven {
    VkDevice handle;
    PFN_vkGetDeviceProcAddr get;
    uint32_t family;
    VkResult(VKAPI_PTR *set_dispatch)(VkDevice, void *); /* of queues and the like; or NULL */
    VkfFacts *facts; /* their profile gets the answers, if there are any */
    Arena *arena;    /* theirs */
} VkdGiven;
/* False: something still runs there that took too long, and the device must stay. */
bool vkd_ask_given(const VkdGiven *g);

#endif
