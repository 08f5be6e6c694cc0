/* SPDX-License-Identifier: MIT
 *
 * What devices that run OpenCL kernels have in common: the sizes of a dispatch's workgroups, and
 * the block of a kernel's arguments.
 */
#include "device/device.h"

bool device_region(const DeviceDispatch *d, uint32_t *number, DeviceRegion *out)
{
    uint32_t rest[3], edges = 0;
    for (uint32_t k = 0; k < 3; k++) {
        rest[k] = d->local_size[k] ? d->global_size[k] % d->local_size[k] : 0;
        edges |= (uint32_t)(rest[k] != 0) << k;
    }
    while (*number < 8) {
        uint32_t corner = (*number)++;
        bool some = true;
        if (corner & ~edges)
            continue;
        for (uint32_t k = 0; k < 3; k++) {
            bool edge = corner >> k & 1;
            uint32_t whole = d->groups[k] - (rest[k] != 0);
            out->first[k] = d->base_group[k] + (edge ? whole : 0);
            out->groups[k] = edge ? 1 : whole;
            out->local_size[k] = edge ? rest[k] : d->local_size[k];
            some &= out->groups[k] != 0;
        }
        if (some)
            return true;
    }
    return false;
}

const void *device_arguments(const DeviceDispatch *d, const SpvArguments *arguments,
                             uint64_t shared, Arena *scratch, uint64_t *local_bytes)
{
    enum { LOCAL_ALIGN = 128 };
    char *block = arena_alloc(scratch, arguments->size + 64);
    uint64_t local = shared;
    for (uint32_t i = 0; i < arguments->n; i++) {
        const SpvArgument *a = &arguments->list[i];
        const DeviceBinding *given = d->slots[i];
        uint64_t word = (uint64_t)(uintptr_t)given->base;
        if (a->kind == SPV_ARGUMENT_LOCAL) {
            word = local = align_up(local, LOCAL_ALIGN);
            local += given->size;
        }
        if (a->kind == SPV_ARGUMENT_VALUE)
            memcpy(block + a->offset, given->base, MIN(given->size, a->size));
        else
            memcpy(block + a->offset, &word, sizeof word);
    }
    *local_bytes = local - shared;
    return block;
}

uint32_t device_work_dim(const DeviceDispatch *d)
{
    return d->global_size[2] > 1 ? 3 : d->global_size[1] > 1 ? 2 : d->global_size[0] != 0;
}

HeddleStats device_stats(const uint64_t *from)
{
    return (HeddleStats){
        .matrix_loads = from[DEVICE_STAT_MATRIX_LOADS],
        .matrix_stores = from[DEVICE_STAT_MATRIX_STORES],
        .muladds = from[DEVICE_STAT_MULADDS],
        .flops = from[DEVICE_STAT_FLOPS],
        .conversions = from[DEVICE_STAT_CONVERSIONS],
        .barriers = from[DEVICE_STAT_BARRIERS],
        .yields = from[DEVICE_STAT_YIELDS],
        .bytes_loaded = from[DEVICE_STAT_BYTES_LOADED],
        .bytes_stored = from[DEVICE_STAT_BYTES_STORED],
        .bytes_moved = from[DEVICE_STAT_BYTES_MOVED],
    };
}
