/* SPDX-License-Identifier: MIT
 *
 * devices: the one place that knows which devices there are.
 */
#ifndef HEDDLE_DEVICES_H
#define HEDDLE_DEVICES_H

#include "device/device.h"

extern const DeviceOps *const devices[HEDDLE_N_DEVICE_KINDS]; /* by HeddleDeviceKind */

#endif
