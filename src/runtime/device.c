/* SPDX-License-Identifier: MIT
 *
 * Devices, what they say of themselves, and buffers.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/runtime.h"

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

static const uint32_t cpu_subgroup_sizes[] = { 8, 16, 32, 64, 128 };
static const uint32_t reference_subgroup_sizes[] = { 1, 2, 4, 8, 16, 32, 64, 128 };

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

/* "model name : X" of /proc/cpuinfo. */
static void read_cpu_name(char *out, size_t size)
{
    char line[256];
    snprintf(out, size, "CPU");
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon)
            continue;
        colon += strspn(colon, ": \t");
        colon[strcspn(colon, "\n")] = 0;
        snprintf(out, size, "%s", colon);
        break;
    }
    if (f)
        fclose(f);
}

static void list_features(HeddleDevice *d)
{
    const CpuTarget *t = &d->target;
    const struct {
        bool has;
        const char *name;
    } all[] = { { t->f16c, "f16c" }, { t->avx512, "avx512" }, { t->vnni, "avx512-vnni" },
                { t->bf16_dot, "avx512-bf16" }, { t->fp16, "avx512-fp16" },
                { t->amx_int8, "amx-int8" }, { t->amx_bf16, "amx-bf16" } };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (all[i].has && d->info.n_features < COUNT_OF(d->features))
            d->features[d->info.n_features++] = all[i].name;
    }
    d->info.features = d->features;
}

static bool open_cpu(HeddleDevice *d, const HeddleDeviceOptions *o, DiagSink *sink)
{
    HeddleDeviceInfo *info = &d->info;
    if (!cpu_target_any(&d->target, o->isa, sink))
        return false;
    d->cpu = cpu_device_new(o->threads, sink);
    if (!d->cpu)
        return false;
    d->ops = &cpu_device_ops;
    info->kind_name = "cpu";
    info->target = d->target.cpu;
    info->threads = cpu_device_threads(d->cpu);
    info->vector_bits = d->target.vector_bits;
    info->subgroup_sizes = cpu_subgroup_sizes;
    info->n_subgroup_sizes = COUNT_OF(cpu_subgroup_sizes);
    list_features(d);
    return true;
}

static void open_reference(HeddleDevice *d)
{
    d->ops = &reference_device_ops;
    d->info.kind_name = "reference";
    d->info.target = "";
    d->info.threads = 1;
    d->info.subgroup_sizes = reference_subgroup_sizes;
    d->info.n_subgroup_sizes = COUNT_OF(reference_subgroup_sizes);
    d->info.features = d->features;
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
    HeddleDevice *d = calloc(1, sizeof *d);
    if (!d)
        return log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    pthread_mutex_init(&d->lock, NULL);
    d->info.kind = o->kind;
    d->info.name = d->name;
    d->info.default_subgroup_size = 32;
    d->info.extensions = extensions;
    d->info.n_extensions = COUNT_OF(extensions);
    DiagSink sink = log_sink(log);
    if (o->kind == HEDDLE_DEVICE_REFERENCE) {
        open_reference(d);
        snprintf(d->name, sizeof d->name, "interpreter");
    } else if (!open_cpu(d, o, &sink)) {
        heddle_device_free(d);
        return log_failed_stage(&sink, log, HEDDLE_ERROR_UNSUPPORTED, "opening the cpu device");
    } else {
        read_cpu_name(d->name, sizeof d->name);
    }
    *out = d;
    return HEDDLE_OK;
}

void heddle_device_free(HeddleDevice *device)
{
    if (!device)
        return;
    if (device->cpu)
        cpu_device_free(device->cpu);
    cpu_target_free(&device->target);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

const HeddleDeviceInfo *heddle_device_info(const HeddleDevice *device)
{
    return device ? &device->info : NULL;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static HeddleResult new_buffer(HeddleDevice *device, void *data, uint64_t size, Mapping map,
                               HeddleBuffer **out, HeddleLog *log)
{
    HeddleBuffer *b = calloc(1, sizeof *b);
    if (!b)
        return log_fail(log, HEDDLE_ERROR_MEMORY, "out of memory");
    *b = (HeddleBuffer){ .device = device, .data = data, .size = size, .map = map };
    pthread_mutex_lock(&device->lock);
    b->next = device->buffers;
    if (b->next)
        b->next->prev = b;
    device->buffers = b;
    pthread_mutex_unlock(&device->lock);
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
    Mapping map;
    void *data = memory_map(size, MEMORY_BUFFER, &map);
    if (!data)
        return log_fail(log, HEDDLE_ERROR_MEMORY, "no memory for a buffer of %llu bytes",
                        (unsigned long long)size);
    HeddleResult r = new_buffer(device, data, size, map, out, log);
    if (r)
        memory_unmap(&map);
    return r;
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
    return new_buffer(device, data, size, (Mapping){ 0 }, out, log);
}

void heddle_buffer_free(HeddleBuffer *buffer)
{
    if (!buffer)
        return;
    HeddleDevice *device = buffer->device;
    pthread_mutex_lock(&device->lock);
    if (buffer->next)
        buffer->next->prev = buffer->prev;
    if (buffer->prev)
        buffer->prev->next = buffer->next;
    else
        device->buffers = buffer->next;
    pthread_mutex_unlock(&device->lock);
    memory_unmap(&buffer->map);
    free(buffer);
}

void *heddle_buffer_data(const HeddleBuffer *buffer) { return buffer ? buffer->data : NULL; }
uint64_t heddle_buffer_size(const HeddleBuffer *buffer) { return buffer ? buffer->size : 0; }

uint64_t heddle_buffer_address(const HeddleBuffer *buffer)
{
    return buffer ? (uint64_t)(uintptr_t)buffer->data : 0;
}
