/* SPDX-License-Identifier: MIT
 *
 * runtime: implements heddle/heddle.h. What is here is for this folder and the Vulkan driver: the
 * objects behind the public handles, and the sink that turns stages' diagnostics into a HeddleLog.
 */
#ifndef HEDDLE_RUNTIME_H
#define HEDDLE_RUNTIME_H

#include <pthread.h>

#include "base/base.h"
#include "base/image.h"
#include "check/check.h"
#include "cpu/cpu.h"
#include "front/mlir/mlir.h"
#include "heddle/heddle.h"
#include "pass/pass.h"
#include "spirv/spirv.h"

/* ---- log.c ----------------------------------------------------------------------------------- */

/* A sink for one API call. Each call has its own, so that the limit on errors is a call's. */
DiagSink log_sink(HeddleLog *log);
/* Reports an error without a position and returns `result`. */
HeddleResult log_fail(HeddleLog *log, HeddleResult result, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Runs work(user) so that running out of memory in `arena` ends it: reported,
 * HEDDLE_ERROR_MEMORY. */
HeddleResult log_guarded(HeddleLog *log, Arena *arena, HeddleResult (*work)(void *user),
                         void *user);
/* Calls work(user), which only moves bytes. False, with *fault filled in, where it reaches for
 * memory that the program does not have, if there is a device of the kind `cpu`. */
bool move_guarded(void (*work)(void *user), void *user, CpuFault *fault);
/* `result`, after making sure that an error was reported for it. */
HeddleResult log_failed_stage(const DiagSink *sink, HeddleLog *log, HeddleResult result,
                              const char *what);

/* ---- types.c --------------------------------------------------------------------------------- */

HeddleType type_of_spv(const SpvType *t);   /* of a scalar; NO_TYPE for anything else */

/* ---- number.c: elements of arrays ------------------------------------------------------------ */

double number_load(HeddleType type, const void *p);
void number_store(HeddleType type, void *p, double value);

/* ---- npy.c ----------------------------------------------------------------------------------- */

/* Parsed and bounds-checked; the elements are at data + header_size, as they lie in the file. */
typedef struct NpyHeader {
    HeddleType type;
    bool big_endian, fortran_order;
    uint32_t rank;
    uint64_t shape[HEDDLE_MAX_RANK];
    uint64_t count, size;           /* elements, their bytes: header_size + size <= file size */
    size_t header_size;
} NpyHeader;
bool npy_parse(const void *bytes, size_t size, const char *name, NpyHeader *out, DiagSink *sink);
/* A version 1 or 2 header for a row-major array into out, which has room for NPY_HEADER_MAX
 * bytes. */
enum { NPY_HEADER_MAX = 512 };
size_t npy_header(const HeddleArray *a, char *out);

/* ---- memory.c -------------------------------------------------------------------------------- */

typedef struct Mapping {
    void *start;                    /* with what lies shut on both sides */
    size_t size;
} Mapping;

typedef enum MemoryKind {
    MEMORY_BUFFER,                  /* begins at a page */
    MEMORY_ARRAY,                   /* ends at one but for less than 64 bytes; gigabytes around it
                                     * are shut where addresses are to be had for nothing */
} MemoryKind;

/* Zeros, aligned to 64 bytes, in pages that are its own. NULL when there is none, or more is asked
 * for than the machine has. */
void *memory_map(uint64_t size, MemoryKind kind, Mapping *out);
void memory_unmap(Mapping *m);

/* ---- file.c ---------------------------------------------------------------------------------- */

/* The whole file ("-": standard input), NUL-terminated beyond *size; for free(). NULL after
 * reporting. */
char *file_read(const char *path, size_t *size, DiagSink *sink);
/* Writes beside `path` and renames over it. */
bool file_write(const char *path, const void *a, size_t a_size, const void *b, size_t b_size,
                DiagSink *sink);

/* ---- reflect.c ------------------------------------------------------------------------------- */

/* What entry point `e` of `m` needs, as `m` now is. Everything it points to lives in `arena`. */
HeddleKernelInfo *reflect(Arena *arena, SpvModule *m, const SpvEntryPoint *e);
/* Compute entry points of the module, in order. */
uint32_t reflect_entry_points(Arena *arena, SpvModule *m, SpvEntryPoint **out);

/* ---- module.c -------------------------------------------------------------------------------- */

/* The subgroup size that a kernel of an MLIR module was compiled for; 0 where any will do. */
uint32_t module_subgroup_size(const HeddleModule *m, const char *entry);
/* For passes whose result is written; NULL after reporting an error. */
SpvModule *module_copy(Arena *arena, const HeddleModule *m, DiagSink *sink);

/* ---- what a device does: cpu_device.c, reference_device.c ------------------------------------ */

/* A dispatch whose bindings were looked up and checked. */
typedef struct Bound {
    const HeddleDispatch *dispatch;
    uint32_t groups[3];             /* none 0 */
    /* of an OpenCL kernel's dispatch; 0 else */
    uint32_t local_size[3], global_size[3];
    CpuBinding **bindings;          /* by index in kernel->info->bindings: the descriptors of
                                     * each */
    uint32_t *counts;               /* how many each has */
    bool **images;                  /* which of them are ImageBindings; NULL: as the kernel's types
                                     * say */
    const void *push;               /* zero-padded to the kernel's size, 16-byte aligned */
    uint64_t push_size;
} Bound;

/* A box of workgroups of one size. Where an OpenCL dispatch is no multiple of the workgroup's size
 * it consists of up to eight: for (n = 0; dispatch_region(b, &n, &region);). */
typedef struct Region { uint32_t first[3], groups[3], local_size[3]; } Region;
bool dispatch_region(const Bound *b, uint32_t *number, Region *out);
/* What a kernel prints, to the HeddleDispatch's print; for both devices' interfaces. */
void dispatch_print(void *dispatch, const char *format, const uint64_t *words, uint32_t n);

typedef struct DeviceOps {
    /* Fills kernel->info's subgroup size and local size. kernel->arena is guarded. */
    HeddleResult (*compile)(HeddleKernel *k, const HeddleModule *m, const HeddleKernelOptions *o,
                            DiagSink *sink);
    void (*release)(HeddleKernel *k);
    /* `scratch` is guarded. */
    HeddleResult (*dispatch)(HeddleKernel *k, const Bound *b, HeddleReport *report, Arena *scratch,
                             DiagSink *sink);
} DeviceOps;
extern const DeviceOps cpu_device_ops, reference_device_ops;

/* ---- the objects ----------------------------------------------------------------------------- */

struct HeddleDevice {
    HeddleDeviceInfo info;
    const DeviceOps *ops;
    char name[128];
    const char *features[16];
    CpuTarget target;
    CpuDevice *cpu;                 /* NULL on the reference device */
    pthread_mutex_t lock;           /* of buffers */
    HeddleBuffer *buffers;          /* all there are: where a kernel's physical pointers may lead */
};

struct HeddleModule {               /* immutable once made: shared by threads */
    Arena arena;
    const SpvModule *spv;
    uint32_t *words;
    size_t size;
    bool unchecked;                 /* as its options said */
    uint32_t n_entries;
    HeddleKernelInfo **entries;
    uint32_t n_loops;
    HeddleLoopInfo *loops;          /* what heddle_module_pipeline did */
    MlirResult mlir;                /* what the front end said, of an MLIR module */
};

struct HeddleBuffer {
    HeddleDevice *device;
    HeddleBuffer *prev, *next;      /* in its device */
    void *data;
    uint64_t size;
    Mapping map;                    /* of what is wrapped: none */
};

struct HeddleKernel {
    HeddleDevice *device;
    Arena arena;                    /* all that follows lives here */
    HeddleKernelInfo *info;
    SpecValue *specs;               /* those given that the module has */
    uint32_t n_specs;
    CpuKernel *cpu;                 /* on the cpu device */
    const SpvArgument *arguments;   /* of an OpenCL kernel: by index in info->bindings */
    bool opencl;
    uint64_t argument_bytes;
    const SpvModule *module;        /* on the reference device: its own copy, not specialised */
    uint32_t subgroup_size;         /* asked for */
    bool check, check_portability;
    const void *text;
    size_t text_size;
    double seconds;
};

#endif
