/* SPDX-License-Identifier: MIT
 *
 * Copies of chains. Their order means nothing, so copies of the structures whose size is known come
 * first, and those that this build knows nothing of behind them, in the program's memory. Where one
 * of these leads to a structure that is copied or left out, its pNext changes for as long as the
 * driver is called.
 */
#include "layer/layer.h"

size_t hl_struct_size(VkStructureType type)
{
    static const struct {
        VkStructureType type;
        size_t size;
    } rows[] = {
#define STRUCT(T, type) { type, sizeof(T) },
#include "layer/chains.def"
#undef STRUCT
        { VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, sizeof(VkLayerDeviceCreateInfo) },
    };
    for (size_t k = 0; k < COUNT_OF(rows); k++)
        if (rows[k].type == type)
            return rows[k].size;
    return 0;
}

static void link_to(HlChain *c, VkBaseOutStructure *s, VkBaseOutStructure *next)
{
    if (s->pNext == next)
        return;
    vec_push(c->arena, &c->patches, (HlPatch){ s, s->pNext });
    s->pNext = next;
}

void hl_copy_chain(HlChain *c, const void *chain, const VkStructureType *without, uint32_t n)
{
    VkBaseOutStructure *known = NULL, *unknown = NULL, **end = &c->first;
    for (const VkBaseInStructure *s = chain, *next; s; s = next) {
        next = s->pNext;
        size_t size = hl_struct_size(s->sType);
        bool drop = false;
        for (uint32_t k = 0; k < n; k++)
            drop |= s->sType == without[k];
        if (drop)
            continue;
        if (size) {
            known = arena_copy(c->arena, s, size);
            known->pNext = NULL;
            *end = known;
            end = &known->pNext;
            continue;
        }
        VkBaseOutStructure *left = (void *)(uintptr_t)s;
        if (unknown)
            link_to(c, unknown, left);
        unknown = left;
    }
    if (unknown)
        link_to(c, unknown, NULL);
    /* the first of them follows the last copy */
    for (const VkBaseInStructure *s = chain; s && unknown; s = s->pNext) {
        if (hl_struct_size(s->sType))
            continue;
        *end = (void *)(uintptr_t)s;
        break;
    }
}

void *hl_push(HlChain *c, VkStructureType type, size_t size)
{
    VkBaseOutStructure *s = arena_alloc(c->arena, size);
    s->sType = type;
    s->pNext = c->first;
    c->first = s;
    return s;
}

void hl_restore_chain(HlChain *c)
{
    for (uint32_t k = c->patches.len; k--;)
        c->patches.data[k].at->pNext = c->patches.data[k].was;
    c->patches.len = 0;
}
