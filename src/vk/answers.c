/* SPDX-License-Identifier: MIT
 *
 * Files of a driver in the folder HEDDLE_CACHE, and what it answered before when it was asked who
 * holds which element of its matrices (vkdevice/ask.c): a profile, for the driver's version.
 */
#include <stdio.h>
#include <stdlib.h>

#include "vk/facts.h"

uint64_t vkf_identity(const VkfFacts *f)
{
    const VkPhysicalDeviceProperties *p = &f->properties.properties;
    return hash_bytes(p->pipelineCacheUUID, sizeof p->pipelineCacheUUID,
                      hash_bytes(&p->driverVersion, sizeof p->driverVersion, p->deviceID));
}

bool vkf_cache_path(const VkfFacts *f, const char *folder, const char *what, char *out, size_t size)
{
    int n = folder && *folder ? snprintf(out, size, "%s/vulkan-%016llx.%s", folder,
                                         (unsigned long long)vkf_identity(f), what)
                              : -1;
    return n > 0 && (size_t)n < size;
}

/* Of the same driver, subgroups and matrices. */
static bool is_same(const LowerProfile *a, const LowerProfile *b)
{
    bool same = !strcmp(a->name, b->name) && !strcmp(a->source, b->source) &&
                a->subgroup_size == b->subgroup_size && a->n_shapes == b->n_shapes;
    for (uint32_t k = 0; same && k < a->n_shapes; k++) {
        const LowerShape *x = &a->shapes[k], *y = &b->shapes[k];
        same = x->m == y->m && x->n == y->n && x->k == y->k && x->a == y->a && x->b == y->b &&
               x->c == y->c && x->scope == y->scope;
    }
    return same;
}

bool vkf_take_answers(VkfFacts *f, const char *text, size_t size, Arena *a)
{
    DiagSink silent = { 0 };
    LowerProfile *own = &f->profile;
    bool asks = text && own->ownership == PROFILE_OPAQUE;
    const LowerProfile *p = asks ? profile_read(a, text, size, own->name, &silent) : NULL;
    bool good = p && p->ownership == PROFILE_ASKED && is_same(p, own);
    if (good) {
        own->ownership = PROFILE_ASKED;
        own->owners = p->owners;
        own->n_owners = p->n_owners;
    }
    return good;
}

bool vkf_read_answers(VkfFacts *f, const char *path, Arena *a)
{
    size_t size;
    char *file = file_read(path, &size, NULL);
    bool good = vkf_take_answers(f, file, size, a);
    free(file);
    return good;
}
