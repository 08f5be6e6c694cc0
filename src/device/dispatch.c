/* SPDX-License-Identifier: MIT
 *
 * What devices that run OpenCL kernels have in common: the sizes of a dispatch's workgroups.
 */
#include "device/device.h"

bool device_region(const DeviceDispatch *d, uint32_t *number, DeviceRegion *out)
{
    while (*number < 8) {
        uint32_t corner = (*number)++;
        bool some = true;
        for (uint32_t k = 0; k < 3; k++) {
            bool edge = corner >> k & 1;
            uint32_t size = MAX(d->local_size[k], 1);
            uint32_t rest = d->local_size[k] ? d->global_size[k] % size : 0;
            uint32_t whole = d->groups[k] - (rest != 0);
            out->first[k] = d->base_group[k] + (edge ? whole : 0);
            out->groups[k] = edge ? rest != 0 : whole;
            out->local_size[k] = edge ? rest : d->local_size[k];
            some &= out->groups[k] != 0;
        }
        if (some)
            return true;
    }
    return false;
}

uint32_t device_work_dim(const DeviceDispatch *d)
{
    return d->global_size[2] > 1 ? 3 : d->global_size[1] > 1 ? 2 : d->global_size[0] != 0;
}
