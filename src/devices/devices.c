/* SPDX-License-Identifier: MIT
 *
 * The table of devices.
 */
#include "devices/devices.h"

#include "cpu/device.h"
#include "cuda/device.h"
#include "reference/device.h"
#include "vkdevice/device.h"

const DeviceOps *const devices[HEDDLE_N_DEVICE_KINDS] = {
    [HEDDLE_DEVICE_CPU] = &cpu_device_ops,
    [HEDDLE_DEVICE_REFERENCE] = &reference_device_ops,
    [HEDDLE_DEVICE_VULKAN] = &vulkan_device_ops,
    [HEDDLE_DEVICE_CUDA] = &cuda_device_ops,
};
