/* SPDX-License-Identifier: MIT
 *
 * device: what a device is. The runtime and the Vulkan driver know devices by this header alone; a
 * device knows nothing of them, and devices know nothing of one another. How to add one, file by
 * file: docs/ADDING.md.
 *
 * A device is a DeviceOps. Opening it gives a DeviceBase and compiling a DeviceKernel: the device's
 * own structs begin with these, so that what all may know lies in plain fields and what is behind
 * them is the device's own.
 *
 * Threads: an op may be called from any thread, and by several at once on one device and on one
 * kernel, unless its comment says otherwise. The caller sees to it that nothing is released while
 * it is in use: kernels and memory before their device, and both after the dispatches that use
 * them.
 *
 * Errors: an op that fails says why to its sink, and returns which kind of error it was. Memory:
 * an arena that is passed in is guarded: where it runs out, the op is left by longjmp, so it holds
 * no lock and owns nothing outside of the arena while it allocates from it.
 */
#ifndef HEDDLE_DEVICE_H
#define HEDDLE_DEVICE_H

#include "base/base.h"
#include "base/image.h"
#include "heddle/heddle.h"
#include "spirv/spirv.h"

typedef struct DeviceOps DeviceOps;

/* ---- an open device -------------------------------------------------------------------------- */

/* What a device says about itself. Strings and arrays live as long as the device; strings are never
 * NULL. */
typedef struct DeviceInfo {
    const char *name;            /* of the machine: "AMD Ryzen 9 7950X" */
    const char *target;          /* LLVM's name of the processor, or "" */
    const char *const *features; /* instruction sets that matter */
    uint32_t n_features;
    uint32_t threads;          /* of the host that run kernels */
    uint32_t vector_bits;      /* of the vectors that machine code uses; 0: none */
    const char *const *levels; /* that DeviceOptions.isa can name and the machine runs */
    uint32_t n_levels;
    const uint32_t *subgroup_sizes; /* ascending */
    uint32_t n_subgroup_sizes;
    uint32_t default_subgroup_size;
    uint64_t identity; /* a hash of all that saved kernels depend on besides the
                                     * library's build: the processor, its driver, the compiler */
    bool checks;       /* compile knows DeviceCompile.check */
    bool wants_images; /* dispatch needs DeviceDispatch.images */
    /* of a machine with a driver and memory of its own; NULL and 0: it has none */
    const char *driver;
    uint64_t memory;
    const char *profile; /* what it has, as share/profiles/README.md says; NULL: all there is */
    /* the shapes that it reports; NULL: all that heddle lists */
    const HeddleMatrixShape *shapes;
    const HeddleFlexibleShape *flexible_shapes;
    size_t n_shapes, n_flexible_shapes;
} DeviceInfo;

/* What heddle lists. shapes.c */
const HeddleMatrixShape *device_shapes(size_t *count);
const HeddleFlexibleShape *device_flexible_shapes(size_t *count);

/* Immutable once open has returned. */
typedef struct DeviceBase {
    const DeviceOps *ops;
    DeviceInfo info;
} DeviceBase;

typedef struct DeviceOptions {
    uint32_t ordinal;        /* which one of its kind, from 0 and below `count` */
    uint32_t threads;        /* 0 = one a core */
    const char *isa;         /* a processor to generate code for; NULL = the machine's own */
    bool no_signal_handlers; /* do not install handlers for the whole process */
} DeviceOptions;

/* ---- memory ---------------------------------------------------------------------------------- */

/* Address space that belongs to one allocation. */
typedef struct HostMapping {
    void *start; /* including the inaccessible parts on both sides */
    size_t size;
} HostMapping;

/* A piece of memory that kernels can be bound to. */
typedef struct DeviceMemory {
    uint64_t address; /* what a kernel's pointers to it hold */
    uint64_t size;
    void *host;      /* the same bytes as the program sees them, for as long as the
                                     * memory is there; NULL where it cannot */
    HostMapping map; /* of host_memory_alloc */
    void *own;       /* the device's */
} DeviceMemory;

/* The descriptor of a buffer. An image or a sampler has an ImageBinding (base/image.h) in its
 * place. NULL and 0 if nothing is bound: in holes of an array, and for variables that no code uses.
 * A device that needs more than an address (a handle of its driver, say) looks it up by the
 * address. */
typedef struct DeviceBinding {
    void *base; /* DeviceMemory.address and an offset; the host's where the
                                     * slot is a value */
    uint64_t size;
} DeviceBinding;

/* ---- kernels --------------------------------------------------------------------------------- */

typedef enum DeviceSlotKind {
    DEVICE_SLOT_BUFFER,
    DEVICE_SLOT_IMAGE, /* an image, a sampler or both */
    DEVICE_SLOT_VALUE, /* an OpenCL kernel's argument: bytes of the host */
    DEVICE_SLOT_LOCAL, /* workgroup memory of the binding's size; its base is NULL */
} DeviceSlotKind;

/* What a dispatch has to bind: a variable of a shader, or an argument of an OpenCL kernel. */
typedef struct DeviceSlot {
    uint32_t set, binding;
    uint32_t count; /* of an array; UINT32_MAX: as many as are bound */
    DeviceSlotKind kind;
    bool written; /* of DeviceCompile.slots: the kernel may write to it */
} DeviceSlot;

/* A compiled kernel. Immutable once made; any number of threads may dispatch it. */
typedef struct DeviceKernel {
    DeviceBase *device;
    const DeviceSlot *slots; /* in the order that a dispatch gives them in */
    uint32_t n_slots;
    uint32_t subgroup_size;
    uint32_t local_size[3]; /* 0 where the dispatch decides */
    uint64_t shared_bytes;  /* of workgroup memory */
    uint64_t push_bytes;    /* of push constants that it may read */
    const void *text;       /* what DeviceCompile.emit asked for; NULL: nothing */
    size_t text_size;
    size_t cost; /* bytes that keeping it takes, about */
    /* of machines whose processors say so; else 0: of an invocation, and how many workgroups of
     * local_size a processor runs at once */
    uint32_t registers, private_bytes, resident_groups;
    const HeddleLowering *lowerings; /* instructions that the machine does not have */
    uint32_t n_lowerings;
    const HeddleRemark *remarks; /* DeviceCompile.remarks */
    uint32_t n_remarks;
} DeviceKernel;

/* What a kernel is compiled from, and how. What it points to lives as long as the kernel's arena,
 * except `module`, which lives for the call. */
typedef struct DeviceCompile {
    const SpvModule *module; /* as it was read; several kernels share it */
    const char *entry;
    const SpvSpecValue *specs; /* of constants that the module has */
    uint32_t n_specs;
    /* what the kernel, specialised, says of itself */
    const DeviceSlot *slots; /* in an order that a device without one of its own may use */
    uint32_t n_slots;
    uint64_t shared_bytes, push_bytes;
    const SpvArguments *arguments;   /* an OpenCL kernel's, slot by slot; NULL: a shader */
    uint32_t required_subgroup_size; /* by the kernel's text; 0: any. Nobody else has asked
                                         * whether the device has it */
    uint32_t local_size[3];          /* 0 where it is left open */
    /* what the caller asks for: HeddleKernelOptions */
    uint32_t subgroup_size;  /* one of info's; 0 = the required one, else the device's
                                     * choice */
    uint32_t wanted_size[3]; /* of a workgroup, for kernels that leave it open; 0 = none */
    bool robust, no_robust, stats, no_optimisation, debug, exact, profile, remarks;
    bool check, check_portability; /* only where info.checks */
    bool kept;                     /* somebody wants to save it */
    HeddleTier tier;               /* what a device without tiers ignores */
    HeddleEmit emit;               /* a form that the device does not make is an error */
    SpvModule *copy;               /* with HEDDLE_EMIT_SPIRV: the device's to change and to write,
                                     * with the positions that a written module names */
} DeviceCompile;

/* ---- dispatches ------------------------------------------------------------------------------ */

/* Counts made at run time; an operation of a whole subgroup counts once. */
typedef enum DeviceStat {
    DEVICE_STAT_MATRIX_LOADS,
    DEVICE_STAT_MATRIX_STORES,
    DEVICE_STAT_MULADDS,
    DEVICE_STAT_FLOPS,
    DEVICE_STAT_CONVERSIONS,
    DEVICE_STAT_BARRIERS,
    DEVICE_STAT_YIELDS,
    DEVICE_STAT_BYTES_LOADED,
    DEVICE_STAT_BYTES_STORED,
    DEVICE_STAT_BYTES_MOVED, /* between layouts, in registers or private memory */
    DEVICE_STAT_PANELS_PACKED,
    DEVICE_STAT_PANELS_SHARED,
    /* accesses of buffers and workgroup memory, but for matrices', and their bytes, both by
     * HeddleAccess */
    DEVICE_STAT_ACCESSES,
    DEVICE_STAT_ACCESSES_LAST = DEVICE_STAT_ACCESSES + HEDDLE_N_ACCESSES - 1,
    DEVICE_STAT_ACCESS_BYTES,
    DEVICE_STAT_ACCESS_BYTES_LAST = DEVICE_STAT_ACCESS_BYTES + HEDDLE_N_ACCESSES - 1,
    DEVICE_STAT_BYTES_COPIED, /* between the program's memory and the device's */
    DEVICE_STAT_EXECUTIONS,   /* HeddleLine's */
    DEVICE_STAT_INVOCATIONS,
    DEVICE_STAT_ARITHMETIC,
    DEVICE_N_STATS
} DeviceStat;

/* What a kernel did that the machine refuses. */
typedef enum DeviceFaultKind {
    DEVICE_FAULT_NONE,
    DEVICE_FAULT_READ, /* of memory that the program does not have */
    DEVICE_FAULT_WRITE,
    DEVICE_FAULT_ACCESS,     /* one of the two */
    DEVICE_FAULT_NO_ADDRESS, /* one of the two, of what can be no address */
    DEVICE_FAULT_ARITHMETIC,
    DEVICE_FAULT_INSTRUCTION,
    DEVICE_FAULT_ENDLESS /* DeviceDispatch.watchdog_ns ran out */
} DeviceFaultKind;
typedef struct DeviceFault {
    DeviceFaultKind kind;
    uint64_t address;            /* 0: none, or not known */
    uint64_t place;              /* of the instruction; 0: not known */
    uint32_t from_line, to_line; /* of ENDLESS: where it was all along; 0: not known */
} DeviceFault;

typedef struct DeviceDispatch {
    const DeviceKernel *kernel;
    const DeviceBinding *const *slots; /* by the kernel's slots: the descriptors of each */
    const uint32_t *counts;            /* how many each has, at least 1 */
    const bool *const *images;         /* which of them are ImageBindings; NULL: as the slots say */
    const void *push;                  /* kernel->push_bytes, aligned to 16 */
    uint32_t groups[3], base_group[3]; /* no group 0 */
    /* for OpenCL kernels; else 0. If the workgroup's size does not divide the dispatch's, the last
     * workgroups are smaller: see device_region */
    uint32_t local_size[3], global_size[3], global_offset[3];
    uint32_t max_threads; /* 0 = all of the device */
    bool untimed;         /* start_ns and end_ns are of no interest */
    int interleave;       /* HeddleDispatch's */
    uint64_t seed, budget;
    /* printf: one call at a time; the text and its arguments are print_words'. NULL: not shown */
    void (*print)(void *user, const char *format, const uint64_t *words, uint32_t n);
    void *user;
    /* HeddleDispatch's */
    bool live;
    const volatile int *stop;
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void *progress_user;
    uint64_t sample_ns, watchdog_ns; /* HeddleDispatch's, for devices that know them */
    /* what came of it */
    uint64_t stats[DEVICE_N_STATS]; /* its counts are added to what is there */
    DeviceFault fault;
    uint64_t start_ns, end_ns; /* on a clock of the device's that goes forward only */
    HeddleResult result;       /* of one that was submitted to a queue */
} DeviceDispatch;

/* A box of workgroups of one size, of the up to eight that a dispatch consists of (a shader's is
 * one, whose local_size is 0: the kernel knows it):
 *     for (n = 0; device_region(d, &n, &region);) */
typedef struct DeviceRegion {
    uint32_t first[3], groups[3], local_size[3];
} DeviceRegion;
bool device_region(const DeviceDispatch *d, uint32_t *number, DeviceRegion *out);
/* The block that an OpenCL kernel finds its arguments in, in `scratch`. Workgroup memory that the
 * caller gives the size of lies behind the `shared` bytes of the kernel's own; *local_bytes: how
 * much of it there is. */
const void *device_arguments(const DeviceDispatch *d, const SpvArguments *arguments,
                             uint64_t shared, Arena *scratch, uint64_t *local_bytes);
/* Of counters by DeviceStat. */
HeddleStats device_stats(const uint64_t *from);
/* What OpenCL's get_work_dim returns. */
uint32_t device_work_dim(const DeviceDispatch *d);

/* ---- a kind of device ------------------------------------------------------------------------ */

/* All functions must be there unless their comment says that they may be NULL. */
struct DeviceOps {
    const char *name; /* what the command line calls it: "cpu" */

    /* How many devices of the kind this machine has. NULL: one. */
    uint32_t (*count)(void);
    /* Opens one of them. *out is the caller's, for close; NULL on failure. Where there is none it
     * is asked for the first one, to say why. */
    HeddleResult (*open)(const DeviceOptions *options, DeviceBase **out, DiagSink *sink);
    /* Called when nothing of the device is in use any more. */
    void (*close)(DeviceBase *d);

    /* Memory of its own, filled with zeros, aligned to 64 bytes at least; in HEDDLE_PLACEMENT_HOST
     * it has a `host`. `size` is not 0. Fills *out, which is the caller's, for free. False where
     * there is none, or never any in that placement; says nothing. */
    bool (*alloc)(DeviceBase *d, uint64_t size, HeddlePlacement placement, DeviceMemory *out);
    /* The program's memory, in place: kernels see what the program writes, and it stays the
     * program's. False where there is no memory for that; says nothing. NULL where the device
     * cannot reach the program's memory. */
    bool (*wrap)(DeviceBase *d, void *data, uint64_t size, DeviceMemory *out);
    /* Whether the bytes at an address of the device's machine are memory of this very device that
     * another library of the process allocated, so that kernels, read and write can use it like
     * alloc's; what that library had begun to do with it has ended when it returns. OK, ARGUMENT
     * where they are not, RUN. NULL where all memory is the host's, or addresses are the device's
     * own affair. */
    HeddleResult (*reach)(DeviceBase *d, uint64_t address, uint64_t size, DiagSink *sink);
    /* Frees what alloc gave, or lets go of what wrap was given. */
    void (*free)(DeviceBase *d, DeviceMemory *m);
    /* Copy bytes from and to memory whose `host` is NULL, inside of it, when no dispatch that uses
     * it is running. NULL where all memory is the host's. */
    HeddleResult (*read)(DeviceBase *d, const DeviceMemory *m, uint64_t offset, void *to,
                         uint64_t size, DiagSink *sink);
    HeddleResult (*write)(DeviceBase *d, const DeviceMemory *m, uint64_t offset, const void *from,
                          uint64_t size, DiagSink *sink);

    /* Makes a kernel. `arena` lives until it has been released, and so does what the kernel keeps
     * there; what it has outside of it, release gives back. *out is set as soon as there is
     * something to release: the caller releases it after a failure too, also where the arena ran
     * out. Errors: SOURCE (an instruction that the device cannot carry out: spv_error names it),
     * UNSUPPORTED (what else it lacks: a subgroup size, a form to emit), MEMORY. */
    HeddleResult (*compile)(DeviceBase *d, const DeviceCompile *c, Arena *arena, DeviceKernel **out,
                            DiagSink *sink);
    void (*release)(DeviceKernel *k);
    /* The kernel as bytes into `out` unless that is NULL; returns how many. They mean something to
     * the same build of the library on a device of the same identity, which the caller sees to. 0:
     * it cannot be saved, at least not yet (it was compiled neither to be kept nor with
     * HEDDLE_EMIT_OBJECT). NULL with load. */
    size_t (*save)(const DeviceKernel *k, void *out);
    /* A kernel of such bytes, for release. `how`: what it was compiled from, which lives as for
     * compile; NULL for a shader. NULL after reporting, also where they are damaged. */
    DeviceKernel *(*load)(DeviceBase *d, const DeviceCompile *how, const void *data, size_t size,
                          DiagSink *sink);

    /* Runs a kernel of the device to its end, and fills in what came of it, also of one that
     * failed. Of a fault it says what happened, and returns RUN; the caller adds beside which
     * buffer the address in `fault` lies. What the dispatch points to lives for the call. `scratch`
     * is for the call, too. */
    HeddleResult (*dispatch)(DeviceBase *d, DeviceDispatch *x, Arena *scratch, DiagSink *sink);

    /* A queue of the device's own, whose dispatches run in order while the program goes on. NULL,
     * and the three below: the runtime makes queues of `dispatch`, with a thread for each. */
    HeddleResult (*queue_open)(DeviceBase *d, void **out, DiagSink *sink);
    /* Everything in it has been waited for. */
    void (*queue_close)(DeviceBase *d, void *queue);
    /* Puts a dispatch at its end and returns at once; one call at a time on a queue. All that is
     * passed lives until a later wait has returned: what came of it, the result too, is in *x by
     * then, and what there was to say has gone to the sink, from any thread. */
    HeddleResult (*submit)(DeviceBase *d, void *queue, DeviceDispatch *x, Arena *scratch,
                           DiagSink *sink);
    /* Returns when all that was submitted before the call has ended. */
    void (*wait)(DeviceBase *d, void *queue);

    /* Where element `element` of a subgroup's invocation `lane` lies in a matrix of which no size
     * is 0. False, nothing written, where it holds none there. NULL: heddle's own layout, in which
     * it is row-major element `element` * subgroup size + `lane`. */
    bool (*matrix_position)(const DeviceBase *d, const HeddleMatrixLayout *m, uint32_t lane,
                            uint32_t element, uint32_t *row, uint32_t *column);

    /* heddle_kernel_lines. NULL where nothing is counted by lines. */
    uint32_t (*lines)(const DeviceKernel *k, HeddleLine *out, uint32_t room);

    /* Calls work(user), which only moves bytes of the program's. False, with *fault filled in,
     * where it reaches for memory that the program does not have and the device can tell. NULL
     * where it cannot. */
    bool (*guard)(void (*work)(void *user), void *user, DeviceFault *fault);
};

/* ---- store.c: kernels that outlive the process ----------------------------------------------- */

/* A hash of all that decides a kernel, beginning with device_identity. */
typedef struct DeviceKey {
    uint64_t hash[2];
} DeviceKey;
/* A hash of the device, of its kind, and of this build of the library (its file's size and time):
 * what saved kernels depend on. */
uint64_t device_identity(const DeviceBase *d);
DeviceKey device_key(uint64_t identity);
void device_key_add(DeviceKey *key, const void *data, size_t size);
/* save and load, of any device: 0 and NULL where it has none. */
size_t device_save(const DeviceKernel *k, void *out);
DeviceKernel *device_load(DeviceBase *d, const DeviceCompile *how, const void *data, size_t size);
/* A kernel of a folder, for release, or NULL; as load. */
DeviceKernel *device_find_stored(const char *folder, DeviceBase *d, const DeviceCompile *how,
                                 const DeviceKey *key);
/* Into the folder, which is made. False: there is nothing to keep of it, at least not yet. */
bool device_store(const char *folder, const DeviceKernel *k, const DeviceKey *key);
/* The same where there may be something by now, after each dispatch of any thread and when the
 * kernel goes: programs may end without freeing it. *folder is NULL from when it is kept. */
void device_keep(const char *_Atomic *folder, const DeviceKernel *k, const DeviceKey *key);

/* ---- memory.c: for devices whose memory is the host's ---------------------------------------- */

typedef enum HostMemoryKind {
    HOST_MEMORY_BUFFER, /* begins at a page */
    HOST_MEMORY_ARRAY,  /* ends at one but for less than 64 bytes; gigabytes around it
                                     * are shut where addresses are to be had for nothing */
} HostMemoryKind;

/* Memory of zeros, aligned to 64 bytes, in pages of its own. NULL if there is none, or not as much.
 * */
void *host_memory_map(uint64_t size, HostMemoryKind kind, HostMapping *out);
void host_memory_unmap(HostMapping *m);

/* alloc, wrap and free for devices whose memory is the host's. */
bool host_memory_alloc(DeviceBase *d, uint64_t size, HeddlePlacement placement, DeviceMemory *out);
bool host_memory_wrap(DeviceBase *d, void *data, uint64_t size, DeviceMemory *out);
void host_memory_free(DeviceBase *d, DeviceMemory *m);

#endif
