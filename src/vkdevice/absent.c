/* SPDX-License-Identifier: MIT
 *
 * In place of all the others where heddle is built without Vulkan's headers: there is no device.
 */
#include "vkdevice/device.h"

static uint32_t count_none(void) { return 0; }

static HeddleResult open_none(const DeviceOptions *o, DeviceBase **out, DiagSink *sink)
{
    (void)o;
    *out = NULL;
    diag(sink, DIAG_ERROR, NULL, NULL, "this heddle was built without Vulkan's headers");
    return HEDDLE_ERROR_UNSUPPORTED;
}

const DeviceOps vulkan_device_ops = { .name = "vulkan", .count = count_none, .open = open_none };
