/* SPDX-License-Identifier: MIT
 *
 * The one place that knows which devices there are.
 */
#include "cpu/device.h"
#include "reference/device.h"
#include "runtime/internal.h"

const DeviceOps *const devices[HEDDLE_N_DEVICE_KINDS] = {
    [HEDDLE_DEVICE_CPU] = &cpu_device_ops,
    [HEDDLE_DEVICE_REFERENCE] = &reference_device_ops,
};
