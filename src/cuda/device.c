/* SPDX-License-Identifier: MIT
 *
 * The cuda device: a GPU of NVIDIA's and its primary context, which the process shares.
 *
 * An illegal access ends the context, and with it CUDA for the process: after it, every operation
 * is refused. So robust access is what kernels have unless they are compiled without.
 */
#include "base/tiles.h"
#include "cuda/internal.h"

#include <stdio.h>
#include <stdlib.h>

static const uint32_t subgroup_sizes[] = { 8, 16, 32, 64, 128 };

/* ---- errors ---------------------------------------------------------------------------------- */

HeddleResult cuda_result(CuResult r)
{
    return r == CU_ERROR_OUT_OF_MEMORY ? HEDDLE_ERROR_MEMORY
           : r == CU_ERROR_INVALID_PTX || r == CU_ERROR_UNSUPPORTED_PTX_VERSION
               ? HEDDLE_ERROR_UNSUPPORTED
               : HEDDLE_ERROR_RUN;
}

bool cuda_good(Cuda *c, CuResult r, const char *what, DiagSink *sink)
{
    const char *name = NULL, *text = NULL;
    if (!r)
        return true;
    c->driver->cuGetErrorName(r, &name);
    c->driver->cuGetErrorString(r, &text);
    diag(sink, DIAG_ERROR, NULL, NULL, "%s: %s (%s)", what, text ? text : "an unknown error",
         name ? name : "no name");
    return false;
}

bool cuda_enter(Cuda *c, DiagSink *sink)
{
    if (!c->context)
        diag(sink, DIAG_ERROR, NULL, NULL, "this device only compiles: %s", c->driver->missing);
    else if (atomic_load(&c->lost))
        diag(
            sink, DIAG_ERROR, NULL, NULL,
            "the GPU's context was lost to an earlier fault: no kernel can run in this process any "
            "more");
    else
        return cuda_good(c, c->driver->cuCtxPushCurrent_v2(c->context),
                         "entering the GPU's context", sink);
    return false;
}

void cuda_leave(Cuda *c)
{
    CuContext old;
    c->driver->cuCtxPopCurrent_v2(&old);
}

/* ---- what it says of itself ------------------------------------------------------------------ */

static const HeddleType types[] = {
    [PROFILE_F16] = HEDDLE_F16,   [PROFILE_F32] = HEDDLE_F32,   [PROFILE_F64] = HEDDLE_F64,
    [PROFILE_BF16] = HEDDLE_BF16, [PROFILE_E4M3] = HEDDLE_E4M3, [PROFILE_E5M2] = HEDDLE_E5M2,
    [PROFILE_S8] = HEDDLE_S8,     [PROFILE_S16] = HEDDLE_S16,   [PROFILE_S32] = HEDDLE_S32,
    [PROFILE_S64] = HEDDLE_S64,   [PROFILE_U8] = HEDDLE_U8,     [PROFILE_U16] = HEDDLE_U16,
    [PROFILE_U32] = HEDDLE_U32,   [PROFILE_U64] = HEDDLE_U64,
};

static bool list_shapes(Cuda *c)
{
    DeviceInfo *info = &c->base.info;
    uint32_t n;
    const LowerShape *own = nvptx_shapes(&n);
    c->shapes = calloc(n + 1, sizeof *c->shapes);
    if (!c->shapes)
        return false;
    for (uint32_t k = 0; k < n; k++) {
        const LowerShape *s = &own[k];
        c->shapes[k] =
            (HeddleMatrixShape){ .m = s->m,
                                 .n = s->n,
                                 .k = s->k,
                                 .a = types[s->a],
                                 .b = types[s->b],
                                 .c = types[s->c],
                                 .result = types[s->result],
                                 .saturating = s->saturating,
                                 .scope = s->scope == SpvScopeWorkgroup ? HEDDLE_SCOPE_WORKGROUP
                                                                        : HEDDLE_SCOPE_SUBGROUP };
    }
    info->shapes = c->shapes;
    info->n_shapes = n;
    return true;
}

static void describe(Cuda *c)
{
    int version = c->driver->version;
    size_t bytes = 0;
    if (version)
        snprintf(c->said, sizeof c->said, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    if (c->context)
        c->driver->cuDeviceTotalMem_v2(&bytes, c->device);
    c->base.info = (DeviceInfo){
        .name = c->name,
        .target = c->isa,
        .subgroup_sizes = subgroup_sizes,
        .n_subgroup_sizes = COUNT_OF(subgroup_sizes),
        .default_subgroup_size = NVPTX_WARP,
        .identity = hash_bytes(c->isa, strlen(c->isa), (uint64_t)version),
        .driver = c->said,
        .memory = bytes,
    };
}

/* ---- the device ------------------------------------------------------------------------------ */

static void close_cuda(DeviceBase *d)
{
    Cuda *c = (Cuda *)d;
    cuda_free_queues(c);
    cuda_free_blocks(c);
    if (c->context && !c->lost)
        c->driver->cuDevicePrimaryCtxRelease_v2(c->device);
    pthread_mutex_destroy(&c->lock);
    free(c->mirrors);
    free(c->shapes);
    free(c);
}

static bool open_gpu(Cuda *c, uint32_t ordinal, DiagSink *sink)
{
    const CudaDriver *d = c->driver;
    int major = 0, minor = 0;
    if (!cuda_good(c, d->cuDeviceGet(&c->device, (int)ordinal), "finding the GPU", sink))
        return false;
    d->cuDeviceGetName(c->name, sizeof c->name, c->device);
    d->cuDeviceGetAttribute(&major, CU_ATTRIBUTE_MAJOR, c->device);
    d->cuDeviceGetAttribute(&minor, CU_ATTRIBUTE_MINOR, c->device);
    d->cuDeviceGetAttribute(&c->shared_bytes, CU_ATTRIBUTE_SHARED_BYTES, c->device);
    d->cuDeviceGetAttribute(&c->multiprocessors, CU_ATTRIBUTE_MULTIPROCESSORS, c->device);
    const char *own = nvptx_isa_of((uint32_t)(10 * major + minor));
    if (!own) {
        diag(sink, DIAG_ERROR, NULL, NULL,
             "%s has compute capability %d.%d: heddle needs 8.0 or later", c->name, major, minor);
        return false;
    }
    if (!c->isa)
        c->isa = own;
    return cuda_good(c, d->cuDevicePrimaryCtxRetain(&c->context, c->device),
                     "making the GPU's context", sink);
}

static bool open_parts(Cuda *c, const DeviceOptions *o, DiagSink *sink)
{
    if (o->isa && !(c->isa = nvptx_isa(o->isa, sink)))
        return false;
    if (!c->driver->missing[0])
        return open_gpu(c, o->ordinal, sink);
    snprintf(c->name, sizeof c->name, "no GPU");
    if (!o->isa)
        diag(sink, DIAG_ERROR, NULL, NULL, "%s (--isa sm_80 compiles without)", c->driver->missing);
    return o->isa != NULL;
}

static HeddleResult open_cuda(const DeviceOptions *o, DeviceBase **out, DiagSink *sink)
{
    Cuda *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c) {
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return HEDDLE_ERROR_MEMORY;
    }
    pthread_mutex_init(&c->lock, NULL);
    c->driver = cuda_driver();
    if (!open_parts(c, o, sink)) {
        close_cuda(&c->base);
        return HEDDLE_ERROR_UNSUPPORTED;
    }
    c->base.ops = &cuda_device_ops;
    describe(c);
    if (!list_shapes(c)) {
        close_cuda(&c->base);
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return HEDDLE_ERROR_MEMORY;
    }
    *out = &c->base;
    return HEDDLE_OK;
}

/* By tiles, where matrices are dealt so; else as heddle has it. */
static bool matrix_position(const DeviceBase *d, const HeddleMatrixLayout *m, uint32_t lane,
                            uint32_t element, uint32_t *row, uint32_t *column)
{
    uint32_t W = m->subgroup_size, number = element * W + lane;
    (void)d;
    if (W == TILES_LANES && tiles_size(m->rows, m->columns))
        return tiles_position(m->rows, m->columns, lane, element, row, column);
    if (lane >= W || number >= m->rows * m->columns)
        return false;
    *row = number / m->columns;
    *column = number % m->columns;
    return true;
}

static uint32_t count(void) { return (uint32_t)cuda_driver()->n_devices; }

/* clang-format off */
const DeviceOps cuda_device_ops = {
    .name = "cuda", .count = count, .open = open_cuda, .close = close_cuda,
    .alloc = cuda_alloc, .wrap = cuda_wrap, .reach = cuda_reach,
    .free = cuda_free,
    .read = cuda_read, .write = cuda_write,
    .compile = cuda_compile, .release = cuda_release, .save = cuda_save, .load = cuda_load,
    .dispatch = cuda_dispatch,
    .queue_open = cuda_queue_open, .queue_close = cuda_queue_close,
    .submit = cuda_submit, .wait = cuda_wait, .matrix_position = matrix_position,
};
/* clang-format on */
