/* SPDX-License-Identifier: MIT
 *
 * What the files of cuda/ tell each other and nobody else.
 */
#ifndef HEDDLE_CUDA_INTERNAL_H
#define HEDDLE_CUDA_INTERNAL_H

#include "cuda/device.h"
#include "cuda/driver.h"
#include "nvptx/nvptx.h"

#include <pthread.h>

/* Memory of the program's and what kernels have in its place: it is copied before and after those
 * that are bound to it. */
typedef struct CudaMirror CudaMirror;
struct CudaMirror {
    void *host;
    CuAddress address;
    uint64_t size;
    bool registered; /* its pages stay where they are, so that copies need no help of the host */
    CudaMirror *next, *previous;
};

/* A stream with what a dispatch needs beside it. */
typedef struct CudaLane CudaLane;
struct CudaLane {
    CuStream stream;
    CuEvent start, end;
    CudaLane *next;
};

typedef struct Cuda {
    DeviceBase base;
    const CudaDriver *driver;
    CuDevice device;
    CuContext context; /* NULL: there is no GPU, and kernels are only compiled */
    char name[128], target[16];
    const char *isa;
    int shared_bytes; /* that a block can have */
    pthread_mutex_t lock;
    CudaMirror *mirrors; /* under the lock, as the next three */
    CudaLane *lanes;     /* that nobody uses */
    bool lost;           /* a kernel's fault has ended the context */
} Cuda;

typedef struct CudaKernel {
    DeviceKernel base;
    NvptxKernel *code;
    CuModule module;
    CuFunction function;
    const SpvArguments *arguments; /* of an OpenCL kernel; or NULL */
    bool by_address;               /* it may reach any memory, by its address */
    DeviceSlot slots[];            /* of a shader, in the order of code->slots */
} CudaKernel;

/* device.c */
/* Makes the context the thread's current one; false after reporting: there is none, or it is lost.
 * Until cuda_leave. */
bool cuda_enter(Cuda *c, DiagSink *sink);
void cuda_leave(Cuda *c);
/* Whether a call succeeded; says which did not. */
bool cuda_good(Cuda *c, CuResult r, const char *what, DiagSink *sink);
HeddleResult cuda_result(CuResult r); /* which kind of error */
CudaLane *cuda_take_lane(Cuda *c, DiagSink *sink);
void cuda_give_lane(Cuda *c, CudaLane *lane);

/* memory.c: DeviceOps' functions */
bool cuda_alloc(DeviceBase *d, uint64_t size, HeddlePlacement placement, DeviceMemory *out);
bool cuda_wrap(DeviceBase *d, void *data, uint64_t size, DeviceMemory *out);
void cuda_free(DeviceBase *d, DeviceMemory *m);
HeddleResult cuda_read(DeviceBase *d, const DeviceMemory *m, uint64_t offset, void *to,
                       uint64_t size, DiagSink *sink);
HeddleResult cuda_write(DeviceBase *d, const DeviceMemory *m, uint64_t offset, const void *from,
                        uint64_t size, DiagSink *sink);

/* kernel.c */
HeddleResult cuda_compile(DeviceBase *d, const DeviceCompile *how, Arena *arena, DeviceKernel **out,
                          DiagSink *sink);
void cuda_release(DeviceKernel *k);

/* dispatch.c */
HeddleResult cuda_dispatch(DeviceBase *d, DeviceDispatch *x, Arena *scratch, DiagSink *sink);

#endif
