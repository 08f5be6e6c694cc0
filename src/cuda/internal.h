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
#include <stdatomic.h>

enum { CUDA_STAGED = 64 << 10 }; /* bytes of pageable memory that a copy takes at once */

/* Memory of the program's and what kernels have in its place: it is copied before and after those
 * that are bound to it. */
typedef struct CudaMirror {
    void *host;
    CuAddress address;
    uint64_t size;
    bool registered; /* its pages stay where they are, so that copies need no help of the host */
} CudaMirror;

/* Host memory that the GPU reads a dispatch's arrays of descriptors from. */
typedef struct CudaBlock CudaBlock;
struct CudaBlock {
    uint64_t *words;
    CuAddress address;
    uint64_t size; /* bytes */
    CudaBlock *next;
};

/* Around a dispatch, to take its times by; or, without a start and for less than half of what
 * that costs, only at its end, to tell that it has ended. */
typedef struct CudaEvents CudaEvents;
struct CudaEvents {
    CuEvent start, end;
    CudaEvents *next;
};

typedef struct CudaKernel CudaKernel;

/* A dispatch on a queue. It lives in the dispatch's own memory. */
typedef struct CudaJob CudaJob;
struct CudaJob {
    const CudaKernel *kernel;
    DeviceDispatch *x;
    DiagSink *sink;
    CudaEvents *events; /* NULL: it ends with a later one */
    CudaBlock *tables;  /* or NULL */
    CudaBlock *printed; /* an NvptxPrinted, or NULL */
    CudaJob *next;
};

/* A mirror that a queue's dispatches use: it is copied in when the first of them comes and back,
 * if one of them may have written it, when they have ended. */
typedef struct CudaHeld {
    CudaMirror *mirror;
    bool written;
} CudaHeld;

/* A stream and what is on it. */
typedef struct CudaQueue CudaQueue;
struct CudaQueue {
    CuStream stream;
    pthread_mutex_t waiting; /* held by who waits: before `lock` */
    pthread_mutex_t lock;    /* of all below */
    CudaJob *first, **last;
    uint32_t unmarked; /* dispatches behind the last one with events */
    CudaHeld *held;
    uint32_t n_held, room;
    CudaEvents *events[2]; /* that no dispatch uses: ends, and those with a start */
    uint64_t start_ns;     /* when the first of the dispatches that nobody has waited for came */
    uint64_t end_ns;       /* of the last one that has ended, on the same clock */
    CudaQueue *next;       /* of those that nobody uses */
};

typedef struct Cuda {
    DeviceBase base;
    const CudaDriver *driver;
    CuDevice device;
    CuContext context; /* NULL: there is no GPU, and kernels are only compiled */
    char name[128], target[16];
    const char *isa;
    int shared_bytes; /* that a block can have */
    int multiprocessors;
    char said[48]; /* the driver's version */
    HeddleMatrixShape *shapes;
    atomic_bool lost;     /* a kernel's fault has ended the context */
    pthread_mutex_t lock; /* of all below */
    CudaMirror **mirrors; /* by address */
    uint32_t n_mirrors, room;
    CudaQueue *queues; /* that nobody uses */
    CudaBlock *blocks; /* the same */
} Cuda;

struct CudaKernel {
    DeviceKernel base;
    NvptxKernel *code;
    CuModule module;
    CuFunction function;
    const SpvArguments *arguments; /* of an OpenCL kernel; or NULL */
    bool by_address;               /* it may reach any memory, by its address */
    bool not_optimised;            /* nor is it by the driver */
    int most_threads;              /* of a workgroup */
    DeviceSlot slots[];            /* of a shader, in the order of code->slots */
};

/* device.c */
/* Makes the context the thread's current one; false after reporting: there is none, or it is lost.
 * Until cuda_leave. */
bool cuda_enter(Cuda *c, DiagSink *sink);
void cuda_leave(Cuda *c);
/* Whether a call succeeded; says which did not. */
bool cuda_good(Cuda *c, CuResult r, const char *what, DiagSink *sink);
HeddleResult cuda_result(CuResult r); /* which kind of error */

/* memory.c: DeviceOps' functions */
bool cuda_alloc(DeviceBase *d, uint64_t size, HeddlePlacement placement, DeviceMemory *out);
bool cuda_wrap(DeviceBase *d, void *data, uint64_t size, DeviceMemory *out);
HeddleResult cuda_reach(DeviceBase *d, uint64_t address, uint64_t size, DiagSink *sink);
void cuda_free(DeviceBase *d, DeviceMemory *m);
HeddleResult cuda_read(DeviceBase *d, const DeviceMemory *m, uint64_t offset, void *to,
                       uint64_t size, DiagSink *sink);
HeddleResult cuda_write(DeviceBase *d, const DeviceMemory *m, uint64_t offset, const void *from,
                        uint64_t size, DiagSink *sink);

/* kernel.c */
HeddleResult cuda_compile(DeviceBase *d, const DeviceCompile *how, Arena *arena, DeviceKernel **out,
                          DiagSink *sink);
void cuda_release(DeviceKernel *k);
/* Of code, which is the kernel's from here on; how: NULL for a shader. NULL: there is no memory. */
CudaKernel *cuda_new_kernel(Cuda *c, NvptxKernel *code, const DeviceCompile *how);
/* Gives its PTX to the driver. */
HeddleResult cuda_load_code(Cuda *c, CudaKernel *k, DiagSink *sink);

/* store.c */
size_t cuda_save(const DeviceKernel *k, void *out);
DeviceKernel *cuda_load(DeviceBase *d, const DeviceCompile *how, const void *data, size_t size,
                        DiagSink *sink);

/* The mirror that has the address, or NULL. */
CudaMirror *cuda_mirror_at(Cuda *c, CuAddress address);
CudaBlock *cuda_take_block(Cuda *c, uint64_t size, DiagSink *sink);
void cuda_give_block(Cuda *c, CudaBlock *b);
void cuda_free_blocks(Cuda *c);

/* dispatch.c: in the context, with the queue locked */
/* Memory for a dispatch, from `scratch`. */
typedef struct CudaLaunch CudaLaunch;
CudaLaunch *cuda_new_launch(Cuda *c, DeviceDispatch *x, Arena *scratch, DiagSink *sink);
CudaJob *cuda_job_of(CudaLaunch *l);
/* Puts its copies and kernels on the stream. */
bool cuda_launch(CudaLaunch *l, CudaQueue *q);

/* print.c: a buffer for what a dispatch prints, where it does and somebody listens; false after
 * reporting. Then, when it has ended, all of it. */
bool cuda_may_print(Cuda *c, CudaJob *j, NvptxEnv *env);
void cuda_show_printed(const CudaJob *j);

/* queue.c */
CudaQueue *cuda_take_queue(Cuda *c, DiagSink *sink);
void cuda_give_queue(Cuda *c, CudaQueue *q);
void cuda_free_queues(Cuda *c);
/* Waits for all that is on the stream. */
bool cuda_settle(Cuda *c, CudaQueue *q, DiagSink *sink);
HeddleResult cuda_queue_open(DeviceBase *d, void **out, DiagSink *sink);
void cuda_queue_close(DeviceBase *d, void *queue);
HeddleResult cuda_submit(DeviceBase *d, void *queue, DeviceDispatch *x, Arena *scratch,
                         DiagSink *sink);
void cuda_wait(DeviceBase *d, void *queue);
HeddleResult cuda_dispatch(DeviceBase *d, DeviceDispatch *x, Arena *scratch, DiagSink *sink);

#endif
