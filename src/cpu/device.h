/* SPDX-License-Identifier: MIT
 *
 * The device that runs kernels as machine code of this CPU, on all its cores.
 */
#ifndef HEDDLE_CPU_DEVICE_H
#define HEDDLE_CPU_DEVICE_H

#include "device/device.h"

extern const DeviceOps cpu_device_ops;

#endif
