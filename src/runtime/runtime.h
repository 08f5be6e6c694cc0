/* SPDX-License-Identifier: MIT
 *
 * runtime: implements heddle/heddle.h. What is here is for this folder and the Vulkan driver: the
 * objects behind the public handles, and the sink that turns stages' diagnostics into a HeddleLog.
 */
#ifndef HEDDLE_RUNTIME_H
#define HEDDLE_RUNTIME_H

#include "device/device.h"

/* ---- log.c ----------------------------------------------------------------------------------- */

/* A sink for one API call. Each call has its own, so that the limit on errors is a call's. */
DiagSink log_sink(HeddleLog *log);
/* Reports to `to` (may be NULL) what `from` has kept, and clears that. */
void log_move(HeddleLog *to, HeddleLog *from);
/* Reports an error without a position and returns `result`. */
HeddleResult log_fail(HeddleLog *log, HeddleResult result, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Runs work(user) so that running out of memory in `arena` ends it: reported,
 * HEDDLE_ERROR_MEMORY. */
HeddleResult log_guarded(HeddleLog *log, Arena *arena, HeddleResult (*work)(void *user),
                         void *user);
/* `result`, after making sure that an error was reported for it. */
HeddleResult log_failed_stage(const DiagSink *sink, HeddleLog *log, HeddleResult result,
                              const char *what);

/* ---- device.c -------------------------------------------------------------------------------- */

/* Opens a device of that kind, which need not be one of those that heddle_device_new knows: then
 * its info.kind is HEDDLE_N_DEVICE_KINDS. Results and errors are heddle_device_new's, but `options`
 * is not NULL, and *out is left alone on failure. */
HeddleResult device_new(const DeviceOps *ops, const HeddleDeviceOptions *options,
                        HeddleDevice **out, HeddleLog *log);

/* ---- the objects ----------------------------------------------------------------------------- */

struct HeddleDevice {
    DeviceBase *base;
    HeddleDeviceInfo info;
};

struct HeddleBuffer {
    HeddleDevice *device;
    DeviceMemory memory;
    bool borrowed; /* another library's, which frees it */
};

struct HeddleKernel {
    HeddleDevice *device;
    Arena arena; /* all that follows lives here */
    HeddleKernelInfo *info;
    DeviceKernel *code;
    bool opencl;
    double seconds;
    const char *_Atomic folder; /* of HEDDLE_CACHE, that `code` is still to be kept in; or NULL */
    DeviceKey key;
};

#endif
