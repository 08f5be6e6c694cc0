/* SPDX-License-Identifier: MIT
 *
 * vkdevice: any Vulkan 1.1 driver of the system as a device. Not to be confused with src/vulkan,
 * which is a driver, and may be what this one finds.
 */
#ifndef HEDDLE_VKDEVICE_DEVICE_H
#define HEDDLE_VKDEVICE_DEVICE_H

#include "device/device.h"

extern const DeviceOps vulkan_device_ops;

#endif
