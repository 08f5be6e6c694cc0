/* SPDX-License-Identifier: MIT
 *
 * gen_kernel: a whole module from a seed, as SPIR-V assembly. Its memory, all in set 0:
 *
 *     0  u32 in[GEN_INPUTS]            read only
 *     1  u32 out[][GEN_SLOTS]          an invocation's own: its variables at the end, values on the
 *                                      way
 *     2  u32 counters[GEN_COUNTERS]    atomics of all
 *     3  own[]                         an invocation's own, of all types (GEN_OWN_BYTES each)
 *     4  matrices A and B, read    5  matrices C, read       6  matrices C, written by subgroups
 *
 * Nothing in it is undefined or left to the implementation: shifts are masked, divisors positive,
 * indices within bounds, loops counted, every variable initialised; floating point is add,
 * subtract, multiply, compare and convert, with denormals kept, rounding to nearest even and
 * NoContraction; the bits of a NaN are never looked at. Whatever it writes can be compared bit by
 * bit.
 */
#ifndef HEDDLE_RANDOM_H
#define HEDDLE_RANDOM_H

#include "base/base.h"

typedef enum GenKind { BOOL, S8, U8, S16, U16, S32, U32, S64, U64, F16, F32, F64, N_KINDS } GenKind;
extern const uint8_t gen_kind_bits[];

enum {
    GEN_SLOTS = 64,
    GEN_INPUTS = 256,
    GEN_COUNTERS = 8,
    GEN_OWN_BYTES = 96,
    GEN_MATRIX_INPUTS = 2048,
    GEN_MATRIX_OUTPUTS = 2048, /* a subgroup */
    GEN_MAX_NODES = 20000,
    GEN_BUFFERS = 7
};

enum GenFeature {
    SMALL = 1,
    WIDE = 2,
    FLOATS = 4,
    SUBGROUPS = 8,
    SHARED = 16,
    ATOMICS = 32,
    MATRICES = 64,
    OUTSIDE = 128,
    VECTORS = 256,
    CALLS = 512,
    ENDS = 1024 /* OUTSIDE, most likely by little */
};

typedef struct GenMatrices {
    uint32_t m, n, k;
    GenKind a, c;
} GenMatrices;

/* What a target has besides what any does: the kernels ask for nothing else. */
enum GenHas {
    GEN_INT64 = 1,
    GEN_FLOAT64 = 2,
    GEN_FLOAT_MODES = 4,  /* denormals kept, to nearest even, in 16, 32 and 64 bits */
    GEN_MEMORY_MODEL = 8, /* Vulkan's, of the device's scope too */
    GEN_RECONVERGES = 16, /* SPV_KHR_maximal_reconvergence: else subgroups do something together
                           * only where the whole workgroup is together */
    GEN_SUBGROUPS = 32,   /* all operations of subgroups but rotations, and invocations in order */
    GEN_ROTATES = 64,
    GEN_DOTS = 128,
    GEN_MATRICES = 256,
    GEN_OWNERSHIP = 512, /* heddle's order of the elements that an invocation holds, also in */
    GEN_SMALL_OWNERSHIP = 1024, /* matrices whose sizes are no multiples of 16 */
    GEN_REMAINDERS = 2048,      /* of negative numbers (VK_KHR_maintenance8) */
    GEN_OUTSIDE = 4096,         /* accesses outside of buffers, robust ones */
    GEN_ALL = 8191
};

typedef struct GenTarget {
    uint32_t has;                /* of GenHas */
    const GenMatrices *matrices; /* NULL: some that heddle's devices have */
    uint32_t n_matrices;
} GenTarget;

typedef struct GenKernel {
    const char *text;
    uint32_t features, nodes;
    uint32_t local[3], groups;
    GenKind a, c; /* of its matrices */
} GenKernel;

/* `skip`: GEN_MAX_NODES bytes, a statement or an expression each, which are left out where it is
 * not 0; or NULL. `target`: NULL of heddle's own devices. */
GenKernel gen_kernel(Arena *arena, uint64_t seed, const uint8_t *skip, const GenTarget *target);

typedef struct GenMemory {
    void *data[GEN_BUFFERS];
    size_t size[GEN_BUFFERS];
} GenMemory;
/* What its buffers hold before it runs; of buffers that have data. */
void gen_sizes(const GenKernel *k, size_t size[GEN_BUFFERS]);
void gen_fill(GenMemory *m, const GenKernel *k, uint64_t seed);

#endif
