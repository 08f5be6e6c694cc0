/* SPDX-License-Identifier: MIT
 *
 * nvptx: kernels as PTX, for NVIDIA's GPUs. An invocation is a thread, a subgroup a warp of 32, a
 * workgroup a block; code comes from emit/ for a target of threads. Nothing here needs a GPU.
 *
 * The PTX has one kernel, NVPTX_KERNEL_NAME, whose parameter is an NvptxEnv by value, with the push
 * constants behind it. Its blocks have as many threads as the workgroup invocations in x, y and z
 * (or are of several workgroups: NvptxKernel.fused), and as much dynamic shared memory as
 * NvptxKernel.shared_bytes and the dispatch's own.
 * A slot below NVPTX_OWN_SLOTS that is no array has its descriptor in NvptxEnv.own.
 */
#ifndef HEDDLE_NVPTX_H
#define HEDDLE_NVPTX_H

#include "lower/lower.h"
#include "pass/pass.h"

#define NVPTX_KERNEL_NAME "heddle_kernel"

/* As kernels read it. */
typedef struct NvptxDescriptor {
    uint64_t address, size;
} NvptxDescriptor;

enum {
    NVPTX_WARP = 32,
    NVPTX_OWN_SLOTS = 32,         /* whose descriptor, if there is one, is among the parameters */
    NVPTX_PARAMETER_BYTES = 4096, /* that a kernel may have of any driver and GPU */
};

/* What a launch passes; what hangs on it is read by offset. */
typedef struct NvptxEnv {
    NvptxDescriptor own[NVPTX_OWN_SLOTS];
    uint64_t slots;         /* address: by slot number the address of its descriptors */
    uint64_t counts;        /* address: by slot number how many there are, u32 */
    uint64_t shared_bytes;  /* of workgroup memory */
    uint64_t print;         /* address: an NvptxPrinted; 0: nobody listens */
    uint32_t base_group[3]; /* of the block numbered 0 0 0 */
    uint32_t n_groups[3];   /* of the dispatch */
    uint32_t local_size[3], enqueued_size[3], global_offset[3], global_size[3];
    uint32_t work_dim;
    uint32_t end_group[3]; /* behind the launch's last */
    /* workgroups along NvptxKernel.column_axis that are a block; what follows is aligned to 16 */
    uint32_t fused_columns;
    uint32_t unused;
} NvptxEnv;

/* What printf has written, one call behind the other: the number of its NvptxPrint plus 1, then its
 * words. Behind the last one that fits a 0, if there is room. */
typedef struct NvptxPrinted {
    uint64_t used; /* words, with those of calls that did not fit */
    uint64_t room; /* words that there are */
    uint64_t words[];
} NvptxPrinted;

/* A call of printf in the kernel: its format, and by word the constant string that print_words is
 * to have in its place, or NULL. */
typedef struct NvptxPrint {
    char *format, **texts;
    uint32_t n_words;
} NvptxPrint;

/* A variable that a dispatch binds buffers to. */
typedef struct NvptxSlot {
    uint32_t set, binding, count; /* count: array size, 1 for a single one; UINT32_MAX: any */
    bool written;
} NvptxSlot;

typedef enum NvptxEmit { NVPTX_EMIT_PTX, NVPTX_EMIT_LLVM, NVPTX_EMIT_LLVM_OPTIMISED } NvptxEmit;

typedef struct NvptxOptions {
    const char *isa;        /* "sm_80" and later; NULL = sm_80 */
    uint32_t subgroup_size; /* 0 = the one that the kernel asks for, or a warp */
    uint32_t local_size[3]; /* for kernels that leave it open; 0 = the dispatch decides */
    bool robust;            /* robustBufferAccess2 */
    bool optimise;
    bool debug;     /* with lines */
    bool exact;     /* no approximations, even where Vulkan's precision allows them */
    NvptxEmit emit; /* what `text` is */
} NvptxOptions;

/* Immutable once made. */
typedef struct NvptxKernel {
    char *ptx;  /* NUL-terminated */
    char *text; /* LLVM IR, when it was asked for; else NULL */
    NvptxSlot *slots;
    uint32_t n_slots;
    NvptxPrint *prints;
    uint32_t n_prints;
    uint32_t subgroup_size;
    uint32_t local_size[3]; /* 0 where the dispatch decides */
    /* Workgroups that run as one block, fused[] along each axis, with their threads one behind the
     * other in x; 1 1 1: a block is a workgroup. Half of those along column_axis will do, too. */
    uint32_t fused[3], column_axis;
    uint64_t shared_bytes, push_bytes;
    uint32_t parameter_bytes; /* of NvptxEnv and the push constants behind it */
} NvptxKernel;

/* Takes a private copy of the module, whose matrices become arrays of elements (lower/). NULL after
 * reporting. Thread-safe. */
NvptxKernel *nvptx_compile(const SpvModule *m, const PassOptions *passes, const NvptxOptions *o,
                           DiagSink *sink);
void nvptx_free(NvptxKernel *k);
/* The multiply-adds that become instructions of the tensor cores. */
const LowerShape *nvptx_shapes(uint32_t *n);
/* The target of that name; NULL after reporting. NULL: sm_80. */
const char *nvptx_isa(const char *isa, DiagSink *sink);
/* The newest target that a GPU of that compute capability (10 * major + minor) runs; NULL: it is
 * too old. */
const char *nvptx_isa_of(uint32_t capability);

#endif
