/* SPDX-License-Identifier: MIT
 *
 * reference: the interpreter, which is slow but checks everything. It runs the original module, one
 * invocation at a time and by the letter of the specification, without any passes and without
 * sharing code with the code generator.
 *
 * Invocations are scheduled pseudo-randomly (from a seed), with switches at memory operations.
 * Operations of a subgroup or workgroup are carried out once every invocation that can reach that
 * dynamic instance has reached it (maximal reconvergence). A cooperative matrix is held in pieces
 * by its scope's invocations, as the ownership map says. Multiply-adds of floating-point matrices
 * sum in double (k ascending, C last) and round once to the result's type; integers are exact, then
 * wrap or saturate.
 *
 * Memory outside what was bound is never touched: such reads return 0 and such writes are dropped.
 */
#ifndef HEDDLE_REFERENCE_H
#define HEDDLE_REFERENCE_H

#include "base/image.h"
#include "heddle/heddle.h"
#include "spirv/spirv.h"

/* Element `element` of the descriptor array at (set, binding); 0 where it is no array. A buffer, or
 * an image, a sampler or both. */
typedef struct RefBinding {
    uint32_t set, binding, element;
    void *base;
    uint64_t size;
    ImageBinding image;
} RefBinding;

/* Memory that physical pointers may lead to besides the bound buffers. */
typedef struct RefMemory {
    void *base;
    uint64_t size;
} RefMemory;

/* An argument of an OpenCL kernel: a buffer, the bytes of a value, or that many bytes of workgroup
 * memory. */
typedef enum RefArgKind { REF_ARG_BUFFER, REF_ARG_VALUE, REF_ARG_LOCAL } RefArgKind;
typedef struct RefArg {
    RefArgKind kind;
    void *base;
    uint64_t size;
} RefArg;

/* What --check looks for. */
typedef enum RefFindingKind {
    REF_OUT_OF_BOUNDS, /* access outside a buffer, an array, workgroup memory; a bad pointer */
    REF_UNDEFINED,     /* a value never written reaches an output, a branch or an address */
    REF_RACE,          /* unordered conflicting accesses of two invocations */
    REF_DIVERGENT,     /* barrier or matrix operation that not all invocations reach */
    REF_NOT_UNIFORM,   /* operand that must be the same in all invocations is not */
    REF_MISALIGNED,
    REF_RANGE,   /* shift, division, bit field or conversion out of range */
    REF_ENDLESS, /* instruction budget used up */
    REF_DEADLOCK,
    REF_STOPPED,     /* from outside: RefDispatch.stop */
    REF_UNSUPPORTED, /* instruction this device does not know */
    REF_PORTABILITY, /* result depends on element ownership or subgroup size */
    REF_NOT_FINITE,  /* a NaN or an infinity where no operand is one: a warning */
    REF_N_FINDINGS
} RefFindingKind;
enum {
    REF_CHECK_NONE = 0,
    REF_CHECK_BOUNDS = 1 << REF_OUT_OF_BOUNDS,
    REF_CHECK_UNDEFINED = 1 << REF_UNDEFINED,
    REF_CHECK_RACES = 1 << REF_RACE,
    REF_CHECK_DIVERGENCE = 1 << REF_DIVERGENT,
    REF_CHECK_UNIFORM = 1 << REF_NOT_UNIFORM,
    REF_CHECK_ALIGNMENT = 1 << REF_MISALIGNED,
    REF_CHECK_RANGE = 1 << REF_RANGE,
    REF_CHECK_PORTABILITY = 1 << REF_PORTABILITY, /* several runs; see ref_dispatch */
    REF_CHECK_ALL = (1 << REF_PORTABILITY) - 1,   /* all mistakes but portability */
    REF_CHECK_FINITE = 1 << REF_NOT_FINITE,
};

/* Who owns element x (row-major linear) of an M x N matrix held by W invocations: lane l's element
 * e. */
typedef enum RefOwnership {
    REF_OWN_ROW_MAJOR,    /* x = e * W + l: heddle's own, what `heddle layout` draws */
    REF_OWN_COLUMN_MAJOR, /* the same of the column-major linear element */
    REF_OWN_BLOCKED,      /* x = l * length + e */
    REF_OWN_TILES,        /* where there are tiles (base/tiles.h), so; else as heddle's own */
    REF_OWN_SHUFFLED,     /* a permutation drawn from rows, columns and use */
    REF_N_OWNERSHIPS
} RefOwnership;

#define REF_BUDGET (1ull << 26)

typedef struct RefDispatch {
    const char *entry; /* NULL = the only one */
    const SpvSpecValue *spec;
    uint32_t n_spec;
    const RefBinding *bindings;
    uint32_t n_bindings;
    const RefMemory *memory;
    uint32_t n_memory;
    const RefArg *args; /* OpenCL kernels */
    uint32_t n_args;
    const void *push;
    uint32_t push_size;
    /* printf: its text and arguments as print_words wants them; may be NULL */
    void (*print)(void *user, const char *format, const uint64_t *words, uint32_t n);
    void *user;
    bool live; /* findings are reported when they are first seen, their counts at the end */
    const volatile int *stop; /* other than 0: the dispatch ends; may be NULL */
    /* called after every workgroup; may be NULL */
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void *progress_user;
    uint32_t groups[3], base_group[3];
    uint32_t local_size[3];    /* for kernels that leave it open; 0 = 1 */
    uint32_t global_offset[3]; /* OpenCL's */
    /* for OpenCL, when the workgroups being run are the smaller ones at an edge; 0 = the same as
     * these */
    uint32_t enqueued_size[3], n_groups[3], global_size[3];
    uint32_t work_dim;      /* 0 = 3 */
    uint32_t subgroup_size; /* 0 = the kernel's required size, else 32; 1 to 128 */
    uint32_t check;         /* REF_CHECK_* */
    bool count;
    uint64_t seed; /* of the schedule */
    RefOwnership ownership;
    uint64_t budget;       /* instructions an invocation may run; 0 = REF_BUDGET */
    uint64_t total_budget; /* instructions of all; 0 = unlimited */
    uint64_t memory_limit; /* bytes the interpreter may use for itself; 0 = 2 GiB */
} RefDispatch;

typedef struct RefFinding {
    RefFindingKind kind;
    const SpvInst *inst;
    uint64_t count;
    uint32_t group[3], local[3]; /* of the first */
    const char *message;
} RefFinding;

/* Operations on matrices, barriers of workgroups, and other accesses: of a subgroup once. */
typedef struct RefCounts {
    uint64_t matrix_loads, matrix_stores, muladds, flops, conversions, barriers, bytes_loaded,
        bytes_stored;
    uint64_t accesses[HEDDLE_N_ACCESSES], access_bytes[HEDDLE_N_ACCESSES];
} RefCounts;

typedef struct RefResult {
    const RefFinding *findings; /* in the arena passed in, in order of first appearance */
    uint32_t n_findings;
    uint64_t instructions;  /* run by all invocations */
    RefCounts counts;       /* with RefDispatch.count */
    uint32_t subgroup_size; /* used */
    uint32_t local_size[3];
} RefResult;

/* Runs the kernel to completion on the buffers. Each finding is reported to `sink` once, with its
 * count, and listed in *r (which may be NULL; `a` owns its strings). False when the kernel could
 * not be run to its end (an error was reported); buffers are then partly written. Findings alone do
 * not make it false. Fills the module's side tables: one dispatch at a time on a module.
 *
 * With REF_CHECK_PORTABILITY the kernel also runs, on copies of the buffers as they were, under the
 * other ownership maps and under subgroup sizes 8 to 128 (unless the kernel requires one); buffers
 * that then differ from the first run's are findings. Float buffers may differ by rounding. */
bool ref_dispatch(Arena *a, SpvModule *m, const RefDispatch *d, RefResult *r, DiagSink *sink);

/* Whether a dispatch with such arguments would start; reports what the kernel needs and the device
 * does not support. No bindings are needed. Like ref_dispatch, fills the module's side tables. */
bool ref_prepare(SpvModule *m, const RefDispatch *d, DiagSink *sink);

/* Whether the device knows the opcode. */
bool ref_handles(uint16_t op);

/* A rows x cols matrix that `lanes` invocations hold. */
typedef struct RefShape {
    RefOwnership map;
    uint32_t rows, cols, use, lanes;
} RefShape;
/* The row-major linear element that lane `lane` holds as its element `e`; UINT32_MAX is padding. */
uint32_t ref_owned_element(const RefShape *s, uint32_t lane, uint32_t e);
const char *ref_finding_name(RefFindingKind kind); /* "out-of-bounds" */

#endif
