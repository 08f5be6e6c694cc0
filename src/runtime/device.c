/* SPDX-License-Identifier: MIT
 *
 * Devices, what they say of themselves, and buffers.
 */
#include <stdlib.h>

#include "runtime/internal.h"

#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x

const char *heddle_version(void)
{
    return TEXT(HEDDLE_VERSION_MAJOR) "." TEXT(HEDDLE_VERSION_MINOR) "." TEXT(HEDDLE_VERSION_PATCH);
}

const char *heddle_result_name(HeddleResult result)
{
    switch (result) {
    case HEDDLE_OK: return "HEDDLE_OK";
    case HEDDLE_ERROR_ARGUMENT: return "HEDDLE_ERROR_ARGUMENT";
    case HEDDLE_ERROR_MEMORY: return "HEDDLE_ERROR_MEMORY";
    case HEDDLE_ERROR_IO: return "HEDDLE_ERROR_IO";
    case HEDDLE_ERROR_TOOL: return "HEDDLE_ERROR_TOOL";
    case HEDDLE_ERROR_SOURCE: return "HEDDLE_ERROR_SOURCE";
    case HEDDLE_ERROR_UNSUPPORTED: return "HEDDLE_ERROR_UNSUPPORTED";
    case HEDDLE_ERROR_BINDING: return "HEDDLE_ERROR_BINDING";
    case HEDDLE_ERROR_RUN: return "HEDDLE_ERROR_RUN";
    case HEDDLE_ERROR_MISMATCH: return "HEDDLE_ERROR_MISMATCH";
    }
    return "unknown result";
}

/* What the reader, the checks and the passes know, whatever the device. */
static const char *const extensions[] = {
    "SPV_EXT_float8",
    "SPV_KHR_16bit_storage",
    "SPV_KHR_8bit_storage",
    "SPV_KHR_bfloat16",
    "SPV_KHR_cooperative_matrix",
    "SPV_KHR_non_semantic_info",
    "SPV_KHR_physical_storage_buffer",
    "SPV_KHR_storage_buffer_storage_class",
    "SPV_KHR_variable_pointers",
    "SPV_KHR_vulkan_memory_model",
    "SPV_NV_cooperative_matrix2",
    "SPV_NV_cooperative_matrix_decode_vector",
    "SPV_NV_tensor_addressing",
    "SPV_QCOM_cooperative_matrix_conversion",
    "SPV_QCOM_multiple_wait_queues",
};

/* ---- devices --------------------------------------------------------------------------------- */

static HeddleDeviceKind kind_of(const DeviceOps *ops)
{
    uint32_t kind = 0;
    while (kind < HEDDLE_N_DEVICE_KINDS && devices[kind] != ops)
        kind++;
    return (HeddleDeviceKind)kind;
}

static void fill_info(HeddleDeviceInfo *to, const DeviceBase *d)
{
    const DeviceInfo *from = &d->info;
    *to = (HeddleDeviceInfo){
        .kind = kind_of(d->ops), .kind_name = d->ops->name, .name = from->name,
        .target = from->target, .features = from->features, .n_features = from->n_features,
        .threads = from->threads, .vector_bits = from->vector_bits,
        .subgroup_sizes = from->subgroup_sizes, .n_subgroup_sizes = from->n_subgroup_sizes,
        .default_subgroup_size = from->default_subgroup_size,
        .extensions = extensions, .n_extensions = COUNT_OF(extensions),
    };
}

HeddleResult device_new(const DeviceOps *ops, const HeddleDeviceOptions *o, HeddleDevice **out,
                        HeddleLog *log)
{
    DeviceOptions options = { .threads = o->threads, .isa = o->isa };
    DiagSink sink = log_sink(log);
    HeddleDevice *d = calloc(1, sizeof *d);
    if (!d)
        return log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    HeddleResult r = ops->open(&options, &d->base, &sink);
    if (r) {
        free(d);
        return log_failed_stage(&sink, log, r, "opening the device");
    }
    fill_info(&d->info, d->base);
    *out = d;
    return HEDDLE_OK;
}

HeddleResult heddle_device_new(const HeddleDeviceOptions *options, HeddleDevice **out,
                               HeddleLog *log)
{
    static const HeddleDeviceOptions defaults;
    const HeddleDeviceOptions *o = options ? options : &defaults;
    if (!out)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_device_new: out is NULL");
    *out = NULL;
    if ((unsigned)o->kind >= HEDDLE_N_DEVICE_KINDS)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_device_new: unknown kind of device");
    return device_new(devices[o->kind], o, out, log);
}

void heddle_device_free(HeddleDevice *device)
{
    if (!device)
        return;
    device->base->ops->close(device->base);
    free(device);
}

const HeddleDeviceInfo *heddle_device_info(const HeddleDevice *device)
{
    return device ? &device->info : NULL;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* `data`: the caller's, to be wrapped; NULL: memory of the device's own. */
static HeddleResult new_buffer(HeddleDevice *device, void *data, uint64_t size, HeddleBuffer **out,
                               HeddleLog *log)
{
    DeviceBase *d = device->base;
    HeddleBuffer *b = calloc(1, sizeof *b);
    if (!b)
        return log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    b->device = device;
    bool good = data ? d->ops->wrap(d, data, size, &b->memory) : d->ops->alloc(d, size, &b->memory);
    if (!good) {
        free(b);
        return log_fail(log, HEDDLE_ERROR_MEMORY, "no memory for a buffer of %llu bytes",
                        (unsigned long long)size);
    }
    *out = b;
    return HEDDLE_OK;
}

HeddleResult heddle_buffer_new(HeddleDevice *device, uint64_t size, HeddleBuffer **out,
                               HeddleLog *log)
{
    if (out)
        *out = NULL;
    if (!device || !out || !size)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_buffer_new: device or out is NULL, or size is 0");
    return new_buffer(device, NULL, size, out, log);
}

HeddleResult heddle_buffer_wrap(HeddleDevice *device, void *data, uint64_t size, HeddleBuffer **out,
                                HeddleLog *log)
{
    if (out)
        *out = NULL;
    if (!device || !out || !data || !size)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_buffer_wrap: device, data or out is NULL, or size is 0");
    if ((uintptr_t)data % 16)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_buffer_wrap: data must be aligned to 16 bytes");
    return new_buffer(device, data, size, out, log);
}

void heddle_buffer_free(HeddleBuffer *buffer)
{
    if (!buffer)
        return;
    DeviceBase *d = buffer->device->base;
    d->ops->free(d, &buffer->memory);
    free(buffer);
}

void *heddle_buffer_data(const HeddleBuffer *buffer) { return buffer ? buffer->memory.host : NULL; }
uint64_t heddle_buffer_size(const HeddleBuffer *buffer) { return buffer ? buffer->memory.size : 0; }

uint64_t heddle_buffer_address(const HeddleBuffer *buffer)
{
    return buffer ? buffer->memory.address : 0;
}
