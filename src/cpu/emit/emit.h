/* SPDX-License-Identifier: MIT
 *
 * emit: internal header of code generation, SPIR-V (one function, in SSA, specialised) to LLVM IR.
 *
 * The W invocations of a subgroup are W lanes of one function `void heddle_kernel(CpuEnv *)`. A
 * value is flattened to leaves (its scalar components in order); a leaf is an LLVM scalar T where
 * all lanes hold the same, else <W x T>. Leaf by leaf: a vec3 may have one varying and two uniform
 * leaves, and the LLVM type of the leaf alone tells which. Operations take what their operands are:
 * when one is a vector, emit_unify splats the others, and the same LLVMBuild* call does for both.
 *
 * Lanes that are not active hold anything, poison included. So an operation that traps or is
 * undefined for some operands (division) must make these harmless first (LLVMBuildFreeze, then
 * select), in every lane; and lane masks are combined with selects (emit_and), which do not let
 * poison of inactive lanes through. Within a block's body at least one lane is active, unless
 * flow.c found that all its instructions are pure and cheap (rule flag EMIT_CHEAP) and runs it
 * unconditionally.
 *
 * Errors are sticky: after emit_error the rest still runs, on zeros, and the compilation fails.
 */
#ifndef HEDDLE_CPU_EMIT_EMIT_H
#define HEDDLE_CPU_EMIT_EMIT_H

#include "cpu/cpu.h"

#include <llvm-c/Core.h>

typedef LLVMValueRef LV;
typedef LLVMTypeRef LT;
typedef struct Emit Emit;

enum { AFFINE_GROUPS = 8 };

/* What is known of an integer leaf over the lanes: within each aligned group of `group` lanes (a
 * power of two, 1 = nothing known) lane l holds first-of-group + (l % group) * stride, modulo
 * 2^bits. Makes consecutive addresses one vector access. */
typedef struct Affine {
    LV first[AFFINE_GROUPS];    /* of each group, scalars; NULL: not known, or too many groups */
    LV expected;                /* i1: whether all this is true of the active lanes; NULL: it is */
    int64_t stride;
    uint32_t group;
    bool no_wrap;               /* as an unsigned number it does not wrap within a group */
} Affine;

typedef struct Value {
    const SpvType *type;
    uint32_t n;                 /* leaves */
    LV *leaf;
    Affine *affine;             /* parallel to leaf, or NULL: nothing known of any */
    /* of a pointer's value; such a value's leaves are made by emit_pointer_leaves */
    struct Pointer *pointer;
} Value;

/* Where a type's parts lie. LAYOUT_EXPLICIT: by its decorations. LAYOUT_NATURAL: as in C, bool one
 * byte, vectors tight. LAYOUT_LANES: offsets as NATURAL in the memory of one lane, but all lanes'
 * copies of a leaf lie side by side: byte o of lane l's leaf of s bytes is at o * W + l * s (+ the
 * byte in the leaf). LAYOUT_OPENCL: as in OpenCL C, vectors aligned to their size, of three as of
 * four. */
typedef enum LayoutRule { LAYOUT_EXPLICIT, LAYOUT_NATURAL, LAYOUT_LANES, LAYOUT_OPENCL } LayoutRule;

/* A type in memory. The matrix fields come from the struct member that it was reached through. */
typedef struct Layout {
    const SpvType *type;
    LayoutRule rule;
    uint32_t matrix_stride;     /* of (arrays of) matrices; 0: tight columns */
    bool row_major;
    uint32_t component_stride;  /* of a vector that is a column of a row-major matrix; 0: tight */
} Layout;

/* An address: base + offset + constant + lane_index * lane_scale, bytes. */
typedef struct Pointer {
    Layout at;                  /* what it points to */
    uint32_t storage;           /* SpvStorageClass* */
    LV base;                    /* ptr, or <W x ptr> where lanes point into different objects */
    LV offset;                  /* i64, uniform; NULL = 0 */
    int64_t constant;
    /* <W x i32> or <W x i64>, signed; NULL: all lanes point to the same */
    LV lane_index;
    int64_t lane_scale;
    Affine affine;              /* of lane_index */
    /* robust access: i64 (or <W x i64>) bytes behind base that exist; NULL: do not check */
    LV limit;
    bool seldom;                /* the check seldom runs: not worth preparing for */
    LV inside;                  /* i1: all lanes are, as asked for several accesses; NULL: ask */
    /* robust access: i1, whether no lane's index wrapped on the way to 64 bits, so that `affine`
     * holds for it; NULL: none can have */
    LV straight;
    SpvId variable;             /* the variable it points into, or 0 where several are possible */
    /* into an input variable: `constant` counts leaves, lane_index / offset are unused */
    bool builtin;
    bool read_only;             /* the memory does not change while the kernel runs */
    bool volatile_;
    /* what the access promises when less than a scalar's own size; 0: that */
    uint32_t align;
    /* an array of buffers, not chosen from yet: its DeviceBinding array; base is NULL */
    LV descriptors;
    LV n_descriptors;           /* how many are bound, i32; NULL: it is no array of them */
    bool matrix;                /* into an element of a cooperative matrix: matrix.c's */
    LV matrix_element;          /* which; matrix.c's */
} Pointer;

enum { EMIT_CHEAP = 1 };        /* pure, cheap, cannot trap: may run with no lane active */

typedef void EmitFn(Emit *e, const SpvInst *i);
typedef struct EmitRule { uint16_t op; uint16_t flags; EmitFn *fn; } EmitRule;

struct Emit {
    Arena *arena;               /* of this compilation */
    SpvModule *module;          /* the private copy, after the passes */
    const SpvEntryPoint *entry;
    Cfg *cfg;
    Uniformity *uniformity;
    const WaitQueues *ahead;    /* loads that look ahead */
    const CpuOptions *options;
    const CpuTarget *target;
    DiagSink *sink;
    CpuKernel *kernel;          /* being made: slots, sizes, flags are filled in on the way */
    bool failed;

    uint32_t W;                 /* subgroup size = lanes */
    uint32_t local_size[3];     /* 0 0 0 where CpuEnv decides */

    LLVMContextRef cx;
    LLVMModuleRef ll;
    LV fn, env;                 /* the function; its parameter, a CpuEnv * */
    /* where the current instruction goes; may be moved to new LLVM blocks */
    LLVMBuilderRef b;
    /* the function's entry block, before its terminator: dominates everything */
    LLVMBuilderRef entry_b;
    LLVMBuilderRef alloca_b;    /* its first part, for allocas only */
    LT i1, i8, i16, i32, i64, f16, bf16, f32, f64, ptr, void_;

    uint32_t position;          /* current block, by Cfg position */
    LV mask;                    /* active lanes of the current block, <W x i1>; NULL: all W */
    /* lanes that exist at all (a workgroup that is no multiple of W); NULL: all W */
    LV entry_mask;
    LV lane_id;                 /* <W x i32> 0, 1, 2, ... */

    const EmitRule **rules;     /* by opcode */
    uint32_t n_rules;
    struct Flow *flow;          /* flow.c's */
    struct Values *values;      /* value.c's */
    struct Memory *memory;      /* memory.c's */
    struct Together *together;  /* together.c's: of the current block */
    LV lane_addresses, lane_values; /* access.c's: what a loop over the lanes reads */
    struct Matrix *matrix;      /* matrix.c's, set by matrix_begin */
    struct Ops *ops;            /* free for ops.c and its neighbours; NULL at the start */
    /* of a function that instructions call for elements (called.c); the entry point's is NULL */
    const Emit *caller;
    LV *returned;               /* allocas for what it returns, leaf by leaf */
    uint32_t n_returned;
    struct Called *called;      /* called.c's: the functions that were made */
    SpvArguments arguments;     /* of an OpenCL kernel */
    struct Image *image;        /* image.c's: memory that its calls share; NULL: not needed yet */
};

/* ---- emit.c: driver, errors ------------------------------------------------------------------ */

/* Builds e->ll from e->module. False after reporting. All fields above `W` are set by the
 * caller. */
bool emit_module(Emit *e);
/* Adds to a counter of CpuEnv.stats when options->stats; amount i64, or NULL for 1. */
void emit_count(Emit *e, DeviceStat stat, LV amount);
void emit_error(Emit *e, const SpvInst *i, const char *rule, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* The function's own tables; each ends with a row of op 0. An opcode in none is an error that names
 * it. */
extern const EmitRule emit_rules_value[], emit_rules_memory[], emit_rules_flow[];
/* ops.c: arithmetic, conversions, logic, bits, extended instructions */
extern const EmitRule emit_rules_arith[];
extern const EmitRule emit_rules_subgroup[];    /* subgroup.c */
extern const EmitRule emit_rules_atomic[];      /* atomics.c */
extern const EmitRule emit_rules_image[];       /* image.c */
extern const EmitRule emit_rules_tensor[];      /* tensor.c: layouts and views */
extern const EmitRule emit_rules_qcom[];        /* matrix_qcom.c: on arrays */

/* ---- types.c: types, leaves, layouts --------------------------------------------------------- */

/* i1 for bool; i8 for fp8; i64 for a physical pointer */
LT emit_scalar_type(Emit *e, const SpvType *t);
LT emit_lanes_type(Emit *e, LT scalar);             /* <W x scalar> */
uint32_t emit_n_leaves(Emit *e, const SpvType *t);  /* 0 for void, matrices and opaque types */
/* Its value is one i64, an address: of kernels (OpenCL) every pointer's. */
bool emit_is_physical(const Emit *e, const SpvType *pointer);
/* scalar type of the k-th leaf */
const SpvType *emit_leaf_type(Emit *e, const SpvType *t, uint32_t k);
uint32_t tensor_leaves(Emit *e, const SpvType *t);  /* tensor.c: of a tensor layout or view */
/* The first leaf of member/element `index` of a composite. */
uint32_t emit_leaf_offset(Emit *e, const SpvType *t, uint32_t index);
/* NULL when there is none */
const SpvType *emit_part_type(const SpvType *t, uint32_t index);
/* is, points to or contains a cooperative matrix */
bool emit_has_matrix(const SpvType *t);
uint32_t emit_scalar_bytes(Emit *e, const SpvType *t);  /* in memory; bool 1, pointers 8 */
/* bytes from its start to past its last part; runtime arrays 0 */
uint64_t emit_layout_size(Emit *e, const Layout *l);
uint64_t emit_layout_align(Emit *e, const Layout *l);   /* 1, 2, 4, 8: of its largest scalar */
Layout emit_layout_part(Emit *e, const Layout *l, uint32_t index, uint64_t *offset);
/* between elements of an array, matrix or vector */
uint64_t emit_layout_stride(Emit *e, const Layout *l);

/* ---- value.c: values ------------------------------------------------------------------------- */

/* The value of an id at the current place (constants included). Never NULL; void after an error. */
const Value *emit_value(Emit *e, SpvId id);
LV emit_leaf(Emit *e, SpvId id, uint32_t k);        /* scalar or vector */
/* Sets the result of `i`: as many leaves as its type has. Also gives them their Affine where
 * known. */
void emit_set(Emit *e, const SpvInst *i, const LV *leaves, uint32_t n);
void emit_set1(Emit *e, const SpvInst *i, LV leaf);
void emit_set_pointer(Emit *e, const SpvInst *i, const Pointer *p);
/* Leaf by leaf from the operands: for each leaf k of the result, fn(e, i, k-th leaves of the
 * operands, unified). Operands with one leaf where the result has more are repeated (vector times
 * scalar). */
typedef LV EmitLeafFn(Emit *e, const SpvInst *i, LV *operands, uint32_t n);
void emit_each_leaf(Emit *e, const SpvInst *i, uint32_t first_operand, uint32_t n_operands,
                    EmitLeafFn *fn);

bool emit_is_lanes(LV v);                           /* <W x T>, not T */
LV emit_lanes(Emit *e, LV v);                       /* as <W x T>, splatted if need be */
void emit_unify(Emit *e, LV *v, uint32_t n);        /* all scalars, or all <W x T> */
/* of a vector known to be the same for all active lanes */
LV emit_uniform(Emit *e, LV v);
LV emit_lane(Emit *e, LV v, LV index);              /* one lane's value; a scalar gives itself */
LV emit_int(Emit *e, LT type, uint64_t x);          /* constant; splatted where type is a vector */
LV emit_zero(LT type);
/* sign-extended or truncated to integer `type`, lane-wise */
LV emit_cast_index(Emit *e, LV v, LT type);
/* Calls the overloaded intrinsic `name` with the types it is overloaded on. */
LV emit_intrinsic(Emit *e, const char *name, LT *types, unsigned n_types, LV *args,
                  unsigned n_args);

/* ---- flow.c: control flow -------------------------------------------------------------------- */

LV emit_mask(Emit *e);                              /* e->mask, or the constant of all lanes */
/* mask && condition (i1 or <W x i1>); mask NULL = all */
LV emit_and(Emit *e, LV mask, LV condition);
LV emit_any(Emit *e, LV mask);                      /* i1 */
/* i32: lowest active lane; W - if none - is taken modulo W */
LV emit_first_lane(Emit *e);
LLVMBasicBlockRef emit_new_block(Emit *e, const char *name); /* after the current one */
LV emit_alloca(Emit *e, LT type, const char *name); /* in the entry block */
/* Memory of the subgroup that outlives a stack frame: for what is large. 64-byte aligned. */
LV emit_frame(Emit *e, uint64_t bytes);
LV emit_env(Emit *e, LLVMBuilderRef b, LT type, size_t offset);   /* a field of CpuEnv */

/* for (index = 0; index < count; index++): i32 or i64 like count, which must not be a vector.
 *     Loop l = loop_begin(e, count); ... l.index ...; loop_end(e, &l); */
typedef struct Loop { LV index, count; LLVMBasicBlockRef head, body, done; } Loop;
Loop loop_begin(Emit *e, LV count);
void loop_end(Emit *e, Loop *l);
/* The body once for each lane of mask (NULL: all), in ascending order; l.index is the lane, i32.
 * Lanes that it sets in l.also, an integer of W bits, are left out after that. */
typedef struct LaneLoop { LV index, rest, also; LLVMBasicBlockRef head, body, done; } LaneLoop;
LaneLoop lane_loop_begin(Emit *e, LV mask);
void lane_loop_end(Emit *e, LaneLoop *l);
typedef struct If { LLVMBasicBlockRef then, done; } If;
If if_begin(Emit *e, LV condition);                 /* i1 */
void if_end(Emit *e, If *f);

/* ---- called.c: functions that instructions call for the elements of matrices ----------------- */

/* Calls `function` once for W lanes: arguments leaf by leaf, scalars or <W x T>; `mask` NULL: all
 * lanes; results are always <W x T>. False after reporting. */
typedef struct ElementCall {
    const SpvInst *inst;
    SpvId function;
    const LV *arguments;
    uint32_t n_arguments;
    LV mask;
    LV *results;
    uint32_t n_results;
} ElementCall;
bool emit_call(Emit *e, const ElementCall *call);

/* ---- memory.c -------------------------------------------------------------------------------- */

const Pointer *emit_pointer(Emit *e, SpvId id);     /* never NULL */
/* Address of what lies `byte` bytes into the pointee: ptr, or <W x ptr> where it differs between
 * lanes. LAYOUT_LANES: of the leaf of `size` bytes at that offset, always <W x ptr>. */
LV emit_address(Emit *e, const Pointer *p, int64_t byte, uint32_t size);
bool emit_same_address(const Pointer *p);           /* emit_address gives a ptr */
/* Robust access: whether [byte, byte + size) is inside, i1 or <W x i1>; NULL: no need to ask. */
LV emit_in_bounds(Emit *e, const Pointer *p, int64_t byte, uint32_t size);
/* Loads or stores all leaves of the pointee for the active lanes. `leaves` has emit_n_leaves of
 * p->at.type. */
void emit_load(Emit *e, const Pointer *p, LV *leaves);
void emit_store(Emit *e, const Pointer *p, const LV *leaves);
/* The pointer's own leaves (3 of a logical one: base, offset, limit as i64; 1 of a physical
 * one). */
void emit_pointer_leaves(Emit *e, const Pointer *p, LV *leaves);
/* One leaf in memory at p + byte, of scalar type t. */
LV emit_load_leaf(Emit *e, const Pointer *p, int64_t byte, const SpvType *t);
void emit_store_leaf(Emit *e, const Pointer *p, int64_t byte, const SpvType *t, LV v);
/* A vector of `type` from one address, or an element from each of a vector of addresses; zeros
 * where the mask is false. And such a store. */
LV emit_masked_load(Emit *e, LT type, LV address, unsigned align, LV mask);
void emit_masked_store(Emit *e, LV v, LV address, unsigned align, LV mask);

/* ---- matrix/prefetch.c ----------------------------------------------------------------------- */

/* In a loop with wait queues: what an OpLoad through p reads some iterations later. */
void emit_ahead_lanes(Emit *e, const SpvInst *i, const Pointer *p);

/* ---- matrix.c (cooperative matrices) --------------------------------------------------------- */

bool matrix_begin(Emit *e);                         /* before the first block */
void matrix_end(Emit *e);                           /* after the last */
/* Asked first for every instruction. False: not one of its, the tables are asked. */
bool matrix_inst(Emit *e, const SpvInst *i);
/* Around the instructions of a block, e->position. end: before the terminator and the phi edges. */
void matrix_block_begin(Emit *e);
void matrix_block_end(Emit *e);
/* Before anything that may write memory or wait: lazy loads must be done by now. */
void matrix_memory_barrier(Emit *e);
/* At the end of block `from`, once for each edge, where its other phi values are stored; positions.
 * On a back edge (to <= from) it may yield. */
void matrix_phi_edges(Emit *e, uint32_t from, uint32_t to);

#endif
