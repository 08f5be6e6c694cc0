/* SPDX-License-Identifier: MIT
 *
 * cuda: NVIDIA's GPUs as a device, through the driver's library, which is opened at run time.
 */
#ifndef HEDDLE_CUDA_DEVICE_H
#define HEDDLE_CUDA_DEVICE_H

#include "device/device.h"

extern const DeviceOps cuda_device_ops;

#endif
