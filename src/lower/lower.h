/* SPDX-License-Identifier: MIT
 *
 * lower: cooperative matrices and what extends them, said in the SPIR-V that a target knows. A pass
 * is one file with one function and a contract: what it takes away and what it needs. All of them
 * are local: an instruction becomes others in its place, a type another one under its id, so that
 * variables, parameters, phis and composites of matrices stay as they are. What runs, and with
 * what, the target's profile decides.
 */
#ifndef HEDDLE_LOWER_H
#define HEDDLE_LOWER_H

#include "pass/pass.h"

/* ---- profile.c: what a target has ------------------------------------------------------------ */

/* A component type that a multiply-add is listed with. */
typedef enum LowerType {
    PROFILE_F16,
    PROFILE_F32,
    PROFILE_F64,
    PROFILE_BF16,
    PROFILE_E4M3,
    PROFILE_E5M2,
    PROFILE_S8,
    PROFILE_S16,
    PROFILE_S32,
    PROFILE_S64,
    PROFILE_U8,
    PROFILE_U16,
    PROFILE_U32,
    PROFILE_U64,
    PROFILE_N_TYPES
} LowerType;

/* VkCooperativeMatrixPropertiesKHR: M 0 stands for any size of all three. Or, `flexible`,
 * VkCooperativeMatrixFlexibleDimensionsPropertiesNV: any multiples of m, n and k. */
typedef struct LowerShape {
    LowerType a, b, c, result;
    uint32_t m, n, k;
    uint32_t scope;       /* SpvScopeSubgroup, SpvScopeWorkgroup */
    uint32_t invocations; /* of the workgroup, where it is flexible; 0: any */
    bool saturating, flexible;
} LowerShape;

/* Bits of LowerProfile.features. The first are types that arithmetic and variables may have. */
enum {
    PROFILE_HAS_FLOAT16 = 1,
    PROFILE_HAS_FLOAT64 = 2,
    PROFILE_HAS_INT8 = 4,
    PROFILE_HAS_INT16 = 8,
    PROFILE_HAS_INT64 = 16,
    PROFILE_HAS_BFLOAT16 = 32,
    PROFILE_HAS_FLOAT8 = 64,
    PROFILE_HAS_NV2 = 128,     /* reductions, conversions, functions of elements */
    PROFILE_HAS_TENSORS = 256, /* loads and stores by tensor layouts */
    PROFILE_HAS_QCOM = 512,    /* construct, extract, bit casts, sub-arrays */
    PROFILE_HAS_WAIT_QUEUES = 1024,
    PROFILE_HAS_UNALIGNED = 2048, /* matrices are loaded and stored at any element's address */
    PROFILE_HAS_SHUFFLES = 4096,  /* of values of 32 bits, in subgroups */
    PROFILE_HAS_LOCKSTEP = 8192,  /* invocations of a subgroup need no barriers among each other */
    PROFILE_HAS_STORAGE8 = 16384, /* in buffers, numbers of 8 and of 16 bits */
    PROFILE_HAS_STORAGE16 = 32768,
    /* subgroups of a workgroup of one dimension follow one another by their invocations' index */
    PROFILE_HAS_ORDER = 65536,
    PROFILE_HAS_BFLOAT16_DOT = 131072, /* dot products of bf16 */
    /* matrices of numbers below 32 bits come sooner from workgroup memory than from buffers, what
     * it takes to put them there included */
    PROFILE_HAS_SLOW_LOADS = 262144,
    /* arrays in their place are sooner compiled, and faster */
    PROFILE_HAS_SLOW_MATRICES = 524288,
};

/* Who holds element e of lane l of W: nobody says, or the (e * W + l)-th, counted by rows. Or that,
 * but of a subgroup's matrices as base/tiles.h says, where they have tiles. */
typedef enum LowerOwnership {
    PROFILE_OPAQUE,
    PROFILE_LINEAR,
    PROFILE_TILES,
    PROFILE_ASKED /* as LowerProfile.owners say; nobody of others */
} LowerOwnership;

/* Who holds what of matrices, or tiles, that invocations of subgroups of the profile's size hold
 * rows * cols / subgroup_size elements each of. Each bit of the invocation's number and of the
 * element's that is set flips bits of the row [0] and of the column [1]. */
enum { OWNER_LANE_BITS = 7, OWNER_ELEMENT_BITS = 8, OWNER_MOST = 4096 };
typedef struct LowerOwner {
    LowerType type;
    uint32_t use, rows, cols; /* use: SpvCooperativeMatrixUse */
    uint8_t lanes[2][OWNER_LANE_BITS], elements[2][OWNER_ELEMENT_BITS];
} LowerOwner;

typedef struct LowerProfile {
    const char *name, *source; /* source: where the facts are from */
    uint32_t subgroup_size;    /* what a kernel gets that does not ask */
    uint32_t min_subgroup_size, max_subgroup_size;
    uint32_t features;         /* PROFILE_HAS_* */
    uint32_t workgroup_memory; /* bytes */
    uint32_t workgroup_invocations;
    uint32_t flexible_dimension; /* the most rows or columns of flexible shapes; 0: any */
    LowerOwnership ownership;
    const LowerOwner *owners;
    uint32_t n_owners;
    const LowerShape *shapes; /* none: no cooperative matrices */
    uint32_t n_shapes;
} LowerProfile;

/* Reads JSON. NULL after reporting what is wrong with it. */
const LowerProfile *profile_read(Arena *a, const char *text, size_t size, const char *name,
                                 DiagSink *sink);
/* The same as text, in the arena. */
const char *profile_write(Arena *a, const LowerProfile *p);

/* ---- owner.c: what a driver answered --------------------------------------------------------- */

/* The row and the column of an invocation's element. */
void owner_place(const LowerOwner *o, uint32_t lane, uint32_t element, uint32_t at[2]);
/* From rows [0] and columns [1], invocation by invocation. False: there are no such bits, or an
 * element is there twice. */
bool owner_fit(LowerOwner *o, uint32_t lanes, const uint32_t *const answers[2]);
/* Whether invocations have what they hold of that matrix, by rows. */
bool owner_explains(const LowerOwner *o, uint32_t lanes, const uint32_t *matrix,
                    const uint32_t *answer);

/* ---- lower.c --------------------------------------------------------------------------------- */

typedef struct LowerRow {
    uint16_t op;
    uint32_t count;
    const char *pass, *how; /* static */
} LowerRow;

typedef struct LowerReport {
    Arena *arena;
    VEC(LowerRow) rows;
    uint32_t subgroup_size; /* that what came of it runs in; 0: any */
    /* workgroup variables that were added, which nothing is accessed outside of */
    VEC(SpvId) staging;
} LowerReport;

typedef struct LowerOptions {
    const LowerProfile *profile;
    const char *entry; /* NULL: the only one */
    const SpvSpecValue *spec;
    uint32_t n_spec;
    /* That the kernel is written for; 0: the profile's, or what Qualcomm's conversions need. */
    uint32_t subgroup_size;
    uint32_t *chosen_size; /* gets it; may be NULL */
    LowerReport *report;   /* may be NULL */
} LowerOptions;

/* The module in place: specialised, one entry point, without what the profile does not have, hints
 * for wait queues included.
 * Functions, variables and the structure of control flow stay. False after reporting. */
bool lower_module(SpvModule *m, const LowerOptions *o, DiagSink *sink);
/* The same of a module for any stage: bf16, fp8, what stands for them, and hints. All entry points
 * and constants stay. False, too, where it has matrices. */
bool lower_types(SpvModule *m, const LowerProfile *profile, DiagSink *sink);

#endif
