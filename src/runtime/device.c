/* SPDX-License-Identifier: MIT
 *
 * Devices, what they say of themselves, and buffers.
 */
#include <stdlib.h>

#include "devices/devices.h"
#include "runtime/internal.h"

#define TEXT(x)  TEXT_(x)
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
    "SPV_EXT_arithmetic_fence",
    "SPV_EXT_cooperative_matrix_maintenance1",
    "SPV_EXT_float8",
    "SPV_EXT_long_vector",
    "SPV_EXT_ocp_microscaling_types",
    "SPV_EXT_relaxed_printf_string_address_space",
    "SPV_EXT_replicated_composites",
    "SPV_EXT_shader_atomic_float16_add",
    "SPV_EXT_shader_atomic_float_add",
    "SPV_EXT_shader_atomic_float_min_max",
    "SPV_EXT_shader_image_int64",
    "SPV_EXT_shader_subgroup_partitioned",
    "SPV_EXT_split_barrier",
    "SPV_KHR_16bit_storage",
    "SPV_KHR_8bit_storage",
    "SPV_KHR_bfloat16",
    "SPV_KHR_compute_shader_derivatives",
    "SPV_KHR_cooperative_matrix",
    "SPV_KHR_expect_assume",
    "SPV_KHR_float_controls",
    "SPV_KHR_float_controls2",
    "SPV_KHR_fma",
    "SPV_KHR_integer_dot_product",
    "SPV_KHR_maximal_reconvergence",
    "SPV_KHR_non_semantic_info",
    "SPV_KHR_physical_storage_buffer",
    "SPV_KHR_poison_freeze",
    "SPV_KHR_quad_control",
    "SPV_KHR_shader_ballot",
    "SPV_KHR_shader_clock",
    "SPV_KHR_storage_buffer_storage_class",
    "SPV_KHR_subgroup_rotate",
    "SPV_KHR_subgroup_vote",
    "SPV_KHR_terminate_invocation",
    "SPV_KHR_uniform_group_instructions",
    "SPV_KHR_untyped_pointers",
    "SPV_KHR_variable_pointers",
    "SPV_KHR_vulkan_memory_model",
    "SPV_KHR_workgroup_memory_explicit_layout",
    "SPV_NV_cooperative_matrix",
    "SPV_NV_cooperative_matrix2",
    "SPV_NV_cooperative_matrix_decode_vector",
    "SPV_NV_shader_atomic_fp16_vector",
    "SPV_NV_shader_subgroup_partitioned",
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

const char *heddle_device_kind_name(HeddleDeviceKind kind)
{
    return (unsigned)kind < HEDDLE_N_DEVICE_KINDS ? devices[kind]->name : NULL;
}

static uint32_t count_of(const DeviceOps *ops) { return ops->count ? ops->count() : 1; }

uint32_t heddle_device_count(HeddleDeviceKind kind)
{
    return (unsigned)kind < HEDDLE_N_DEVICE_KINDS ? count_of(devices[kind]) : 0;
}

static void fill_info(HeddleDeviceInfo *to, const DeviceBase *d, uint32_t ordinal)
{
    const DeviceInfo *from = &d->info;
    *to = (HeddleDeviceInfo){
        .struct_size = sizeof *to,
        .ordinal = ordinal,
        .kind = kind_of(d->ops),
        .kind_name = d->ops->name,
        .name = from->name,
        .target = from->target,
        .features = from->features,
        .n_features = from->n_features,
        .threads = from->threads,
        .vector_bits = from->vector_bits,
        .subgroup_sizes = from->subgroup_sizes,
        .n_subgroup_sizes = from->n_subgroup_sizes,
        .default_subgroup_size = from->default_subgroup_size,
        .extensions = extensions,
        .n_extensions = COUNT_OF(extensions),
        .driver = from->driver ? from->driver : "",
        .memory = from->memory,
        .levels = from->levels,
        .n_levels = from->n_levels,
    };
}

HeddleResult device_new(const DeviceOps *ops, const HeddleDeviceOptions *o, HeddleDevice **out,
                        HeddleLog *log)
{
    DeviceOptions options = { .ordinal = o->ordinal,
                              .threads = o->threads,
                              .isa = o->isa,
                              .no_signal_handlers = o->no_signal_handlers };
    DiagSink sink = log_sink(log);
    uint32_t count = count_of(ops);
    if (o->ordinal && o->ordinal >= count) /* of the first, the device says what is missing */
        return log_fail(log, HEDDLE_ERROR_UNSUPPORTED,
                        "there is no %s device with ordinal %u: this machine has %u", ops->name,
                        o->ordinal, count);
    HeddleDevice *d = calloc(1, sizeof *d);
    if (!d)
        return log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    HeddleResult r = ops->open(&options, &d->base, &sink);
    if (r) {
        free(d);
        return log_failed_stage(&sink, log, r, "opening the device");
    }
    fill_info(&d->info, d->base, o->ordinal);
    *out = d;
    return HEDDLE_OK;
}

const char *heddle_device_profile(const HeddleDevice *device)
{
    return device ? device->base->info.profile : NULL;
}

HeddleResult heddle_device_new(const HeddleDeviceOptions *options, HeddleDevice **out,
                               HeddleLog *log)
{
    HeddleDeviceOptions o;
    if (!out)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_device_new: out is NULL");
    *out = NULL;
    if (!sized_read(&sized_device_options, options, &o, log))
        return HEDDLE_ERROR_ARGUMENT;
    if ((unsigned)o.kind >= HEDDLE_N_DEVICE_KINDS)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT, "heddle_device_new: unknown kind of device");
    return device_new(devices[o.kind], &o, out, log);
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
static HeddleResult new_buffer(HeddleDevice *device, void *data, uint64_t size,
                               HeddlePlacement placement, HeddleBuffer **out, HeddleLog *log)
{
    DeviceBase *d = device->base;
    if (data && !d->ops->wrap)
        return log_fail(log, HEDDLE_ERROR_UNSUPPORTED,
                        "the %s device cannot reach the program's memory", d->ops->name);
    HeddleBuffer *b = calloc(1, sizeof *b);
    if (!b)
        return log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    b->device = device;
    bool good = data ? d->ops->wrap(d, data, size, &b->memory)
                     : d->ops->alloc(d, size, placement, &b->memory);
    if (!good) {
        free(b);
        return log_fail(log, HEDDLE_ERROR_MEMORY, "no memory for a buffer of %llu bytes",
                        (unsigned long long)size);
    }
    *out = b;
    return HEDDLE_OK;
}

HeddleResult heddle_buffer_new_placed(HeddleDevice *device, uint64_t size,
                                      HeddlePlacement placement, HeddleBuffer **out, HeddleLog *log)
{
    if (out)
        *out = NULL;
    if (!device || !out || !size || (unsigned)placement >= HEDDLE_N_PLACEMENTS)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "a buffer without a device or a size, whose "
                        "out is NULL, or whose placement is unknown");
    return new_buffer(device, NULL, size, placement, out, log);
}

HeddleResult heddle_buffer_new(HeddleDevice *device, uint64_t size, HeddleBuffer **out,
                               HeddleLog *log)
{
    return heddle_buffer_new_placed(device, size, HEDDLE_PLACEMENT_HOST, out, log);
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
    return new_buffer(device, data, size, HEDDLE_PLACEMENT_HOST, out, log);
}

HeddleResult heddle_buffer_wrap_address(HeddleDevice *device, uint64_t address, uint64_t size,
                                        HeddleBuffer **out, HeddleLog *log)
{
    if (out)
        *out = NULL;
    if (!device || !out || !address || !size || size > UINT64_MAX - address)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_buffer_wrap_address: device or out is NULL, or there is no memory "
                        "of that address and size");
    if (address % 16)
        return log_fail(log, HEDDLE_ERROR_ARGUMENT,
                        "heddle_buffer_wrap_address: the address must be aligned to 16 bytes");
    DeviceBase *d = device->base;
    if (!d->ops->reach)
        return log_fail(log, HEDDLE_ERROR_UNSUPPORTED,
                        "the %s device takes no addresses of memory of its own", d->ops->name);
    DiagSink sink = log_sink(log);
    HeddleResult r = d->ops->reach(d, address, size, &sink);
    HeddleBuffer *b = r ? NULL : calloc(1, sizeof *b);
    if (!b)
        return r ? r : log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    b->device = device;
    b->memory = (DeviceMemory){ .address = address, .size = size };
    b->borrowed = true;
    *out = b;
    return HEDDLE_OK;
}

void heddle_buffer_free(HeddleBuffer *buffer)
{
    if (!buffer)
        return;
    DeviceBase *d = buffer->device->base;
    if (!buffer->borrowed)
        d->ops->free(d, &buffer->memory);
    free(buffer);
}

/* Bytes to be copied between a buffer and the program's memory: `to` is NULL if they are written to
 * the buffer, `from` if they are read. */
typedef struct Transfer {
    uint64_t offset, size;
    void *to;
    const void *from;
} Transfer;

static HeddleResult transfer(const HeddleBuffer *b, const Transfer *t, HeddleLog *log)
{
    uint64_t whole = b ? b->memory.size : 0;
    if (!b || (!t->to && !t->from && t->size) || t->offset > whole || t->size > whole - t->offset)
        return log_fail(
            log, HEDDLE_ERROR_ARGUMENT,
            "bytes %llu to %llu of a buffer of %llu cannot be copied, or from or to nowhere",
            (unsigned long long)t->offset, (unsigned long long)(t->offset + t->size),
            (unsigned long long)whole);
    const DeviceMemory *m = &b->memory;
    DeviceBase *d = b->device->base;
    DiagSink sink = log_sink(log);
    if (!t->size)
        return HEDDLE_OK;
    if (!m->host)
        return t->to ? d->ops->read(d, m, t->offset, t->to, t->size, &sink)
                     : d->ops->write(d, m, t->offset, t->from, t->size, &sink);
    char *host = (char *)m->host + t->offset;
    memcpy(t->to ? t->to : host, t->to ? host : t->from, t->size);
    return HEDDLE_OK;
}

HeddleResult heddle_buffer_read(const HeddleBuffer *buffer, uint64_t offset, void *data,
                                uint64_t size, HeddleLog *log)
{
    return transfer(buffer, &(Transfer){ offset, size, .to = data }, log);
}

HeddleResult heddle_buffer_write(HeddleBuffer *buffer, uint64_t offset, const void *data,
                                 uint64_t size, HeddleLog *log)
{
    return transfer(buffer, &(Transfer){ offset, size, .from = data }, log);
}

void *heddle_buffer_data(const HeddleBuffer *buffer) { return buffer ? buffer->memory.host : NULL; }
uint64_t heddle_buffer_size(const HeddleBuffer *buffer) { return buffer ? buffer->memory.size : 0; }

uint64_t heddle_buffer_address(const HeddleBuffer *buffer)
{
    return buffer ? buffer->memory.address : 0;
}
