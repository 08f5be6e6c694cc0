/* SPDX-License-Identifier: MIT
 *
 * The device that interprets kernels, invocation by invocation, and can check them.
 */
#ifndef HEDDLE_REFERENCE_DEVICE_H
#define HEDDLE_REFERENCE_DEVICE_H

#include "device/device.h"

extern const DeviceOps reference_device_ops;

#endif
