/* SPDX-License-Identifier: MIT
 *
 * emit: code generation, from SPIR-V (one function, in SSA, specialised) to LLVM IR, for a target.
 *
 * A value is flattened to leaves, its scalar components in order. A leaf that is the same for the
 * whole subgroup is an LLVM scalar T. One that differs between invocations is, depending on the
 * target (target.h),
 *     <W x T>, one lane an invocation, where a subgroup is the machine's vectors, or
 *     T, where an invocation is a thread of the machine and has a T of its own.
 * This is decided leaf by leaf: a vec3 may have one varying and two uniform leaves, and the LLVM
 * type of a leaf says which it is. An operation takes leaves of both kinds: if one is a vector,
 * emit_unify splats the others, and the same LLVMBuild* call builds either form. So a target of
 * threads gets the code that is emitted where everything is uniform.
 *
 * Inactive lanes hold anything, poison included. So an operation that traps or is undefined for
 * some operands (division) must first make them harmless in every lane (LLVMBuildFreeze, then
 * select). In a block's body at least one lane is active, unless all of its instructions are pure
 * and cheap (rule flag EMIT_CHEAP) and the target runs it unconditionally.
 *
 * Errors are sticky: after emit_error the rest still runs, on zeros, and the compilation fails.
 */
#ifndef HEDDLE_EMIT_H
#define HEDDLE_EMIT_H

#include "llvm/comp.h"
#include "pass/pass.h"

#include <llvm-c/Core.h>

typedef LLVMValueRef LV;
typedef LLVMTypeRef LT;
typedef struct Emit Emit;
typedef struct EmitTarget EmitTarget;

enum { AFFINE_GROUPS = 8 };

/* What is known of an integer leaf over the lanes, on targets that have them: within each aligned
 * group of `group` lanes (a power of two; 1: nothing is known) lane l holds
 * first-of-group + (l % group) * stride, modulo 2^bits. This is what turns accesses to consecutive
 * addresses into one vector access. */
typedef struct EmitAffine {
    LV first[AFFINE_GROUPS]; /* scalars, one a group; NULL: not known, or too many groups */
    LV expected;             /* i1: whether all this holds for the active lanes; NULL: it does */
    int64_t stride;
    uint32_t group;
    bool no_wrap; /* as unsigned numbers, the lanes of a group do not wrap */
    bool assumed; /* it holds as long as signed numbers do not wrap: for addresses only */
    bool bounded; /* lanes that are not as expected most likely stopped at a bound */
} EmitAffine;

typedef struct EmitValue {
    const SpvType *type;
    uint32_t n; /* leaves */
    LV *leaf;
    EmitAffine *affine; /* parallel to leaf; NULL: nothing is known of any leaf */
    /* for a value of pointer type; its leaves are made on demand by emit_pointer_leaves */
    struct EmitPointer *pointer;
} EmitValue;

/* Where the parts of a type lie. LAYOUT_EXPLICIT: where its decorations say. LAYOUT_NATURAL: as in
 * C, with bools of one byte and tight vectors. LAYOUT_LANES: offsets are NATURAL's in the memory of
 * one lane, but all lanes' copies of a leaf lie side by side: lane l's copy of a leaf of s bytes
 * at offset o is at o * W + l * s. LAYOUT_OPENCL: as in OpenCL C, with vectors aligned to their
 * size, a vector of three like one of four. */
typedef enum EmitLayoutRule {
    LAYOUT_EXPLICIT,
    LAYOUT_NATURAL,
    LAYOUT_LANES,
    LAYOUT_OPENCL
} EmitLayoutRule;

/* A type in memory. The matrix fields come from the struct member that it was reached through. */
typedef struct EmitLayout {
    const SpvType *type;
    EmitLayoutRule rule;
    uint32_t matrix_stride; /* of (arrays of) matrices; 0: tight columns */
    bool row_major;
    uint32_t component_stride; /* of a vector that is a column of a row-major matrix; 0: tight */
} EmitLayout;

/* An address: base + offset + constant + lane_index * lane_scale, bytes. */
typedef struct EmitPointer {
    EmitLayout at;    /* what it points to */
    uint32_t storage; /* SpvStorageClass* */
    LV base;          /* ptr, or <W x ptr> where lanes point into different objects */
    LV offset;        /* i64, uniform; NULL = 0 */
    int64_t constant;
    /* <W x i32> or <W x i64>, signed; NULL: all lanes point to the same */
    LV lane_index;
    int64_t lane_scale;
    EmitAffine affine; /* of lane_index */
    /* robust access: i64 (or <W x i64>) bytes behind base that exist; NULL: do not check */
    LV limit;
    bool seldom; /* the access seldom runs: not worth preparing its test for */
    /* i1: whether all lanes are inside, from a test shared with other accesses; NULL: not tested
     * yet */
    LV inside;
    /* robust access, i1: no lane's index wrapped when it was widened to 64 bits, so that `affine`
     * holds for the wide one; NULL: none can have wrapped */
    LV straight;
    SpvId variable; /* the variable it points into; 0 if there are several candidates */
    /* into an input variable: `constant` counts leaves, lane_index / offset are unused */
    bool builtin;
    bool read_only; /* the memory does not change while the kernel runs */
    bool volatile_;
    /* alignment that the access promises if it is less than its scalars' size; 0: theirs */
    uint32_t align;
    /* an array of buffers of which none is chosen yet: its descriptors; base is NULL */
    LV descriptors;
    LV n_descriptors;  /* how many are bound, i32; NULL: not an array of buffers */
    bool matrix;       /* points to an element of a cooperative matrix; for the target's matrices */
    LV matrix_element; /* which element */
} EmitPointer;

enum { EMIT_CHEAP = 1 }; /* pure, cheap, cannot trap: may run with no lane active */

typedef void EmitFn(Emit *e, const SpvInst *i);
typedef struct EmitRule {
    uint16_t op;
    uint16_t flags;
    EmitFn *fn;
} EmitRule;

/* A buffer's descriptor in memory: its address (ptr) and its size (i64). */
enum { DESCRIPTOR_BASE = 0, DESCRIPTOR_SIZE = 8, DESCRIPTOR_BYTES = 16 };

/* A variable that a dispatch binds descriptors to. */
typedef struct EmitSlot {
    /* count: array size, 1 for a single one; UINT32_MAX for a runtime array */
    uint32_t set, binding, count;
    /* SpvStorageClassStorageBuffer, Uniform; UniformConstant: images, samplers */
    uint32_t storage;
    bool written;
} EmitSlot;

typedef struct EmitPlace {
    const char *file;
    uint32_t line, column;
} EmitPlace;

/* What remark.c notes. */
typedef struct EmitNote {
    const char *kind, *message;
    EmitPlace at;
} EmitNote;
typedef VEC(EmitNote) EmitNotes;

struct Emit {
    /* set by the caller of emit_module */
    Arena *arena;      /* of this compilation */
    SpvModule *module; /* the private copy, after the passes */
    const SpvEntryPoint *entry;
    Cfg *cfg;
    Uniformity *uniformity;
    const PassWaitQueues *ahead; /* loads with wait queues, which the target may prefetch */
    DiagSink *sink;
    const EmitTarget *target;
    uint32_t W;             /* subgroup size */
    uint32_t local_size[3]; /* 0 0 0 where the dispatch decides */
    SpvId output;           /* EMIT_GIVEN_OUTPUT's variable; 0: there is none */
    bool robust;            /* robustBufferAccess2: reads outside give 0, writes are dropped */
    const SpvId *staging;   /* n_staging workgroup variables that nothing is accessed outside of */
    uint32_t n_staging;
    bool fma;   /* the machine fuses multiplication and addition */
    bool lines; /* with debug locations (debug.c) */
    LLVMContextRef cx;
    LLVMModuleRef ll;

    bool failed;
    /* results: what was found out about the kernel */
    VEC(EmitSlot) slots; /* by number */
    uint64_t push_bytes, shared_bytes;

    LV fn, env; /* the function; its first parameter */
    /* where the current instruction goes; may be moved to new LLVM blocks */
    LLVMBuilderRef b;
    /* the function's entry block, before its terminator: dominates everything */
    LLVMBuilderRef entry_b;
    LLVMBuilderRef alloca_b; /* its first part, for allocas only */
    LT i1, i8, i16, i32, i64, f16, bf16, f32, f64, ptr, void_;

    uint32_t position;      /* current block, by Cfg position */
    LV mask;                /* active lanes of the current block, <W x i1>; NULL: all */
    const EmitRule **rules; /* by opcode */
    uint32_t n_rules;
    struct EmitValues *values;       /* value.c's */
    struct EmitVariables *variables; /* variables.c's */
    struct EmitOps *ops;             /* ops.c's; NULL at the start */
    struct EmitHeld *held;           /* held.c's, of this function */
    struct EmitDebug *debug;         /* debug.c's; NULL without */
    EmitNotes *remarks; /* of the kernel, which then has lines; NULL: it is not asked for them */
    LLVMMetadataRef debug_function; /* of fn */
    SpvArguments arguments;         /* of an OpenCL kernel */
    /* in a function that instructions call for elements, the entry point's state; NULL in that
     * one */
    const Emit *caller;

    void *own; /* the target's state, which the caller may set before emit_module */
};

/* ---- remark.c -------------------------------------------------------------------------------- */

typedef enum EmitRemark {
    REMARK_GATHER,           /* "gather" or "scatter", lanes, reason, "" or how */
    REMARK_DIVERGENT_BRANCH, /* */
    REMARK_DIVERGENT_LOOP,   /* */
    REMARK_PRIVATE,          /* what, " 'its name'" or "", bytes, reason */
    REMARK_ATOMIC,           /* reason */
    REMARK_MULADD,           /* rows, columns, steps, M, N, K, engine */
    REMARK_COPIED,           /* rows, columns, reason */
    REMARK_TRANSPOSED,       /* rows, columns, how it lies, how it is used */
    N_REMARKS
} EmitRemark;
/* Notes it of the line that code is built for, if the kernel is compiled with remarks. The
 * arguments are those that the kind's text asks for, as said there. */
void emit_remark(Emit *e, EmitRemark what, ...);

/* ---- emit.c: driver, errors ------------------------------------------------------------------ */

/* Builds e->ll from e->module. False after reporting. */
bool emit_module(Emit *e, const char *function_name);
void emit_error(Emit *e, const SpvInst *i, const char *rule, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Whether there is a rule for the opcode, emit's own or in a target's tables. What a target's
 * `inst` handles does not count. */
bool emit_handles(const EmitRule *const *rules, uint16_t op);
const EmitRule *emit_rule(const Emit *e, uint16_t op); /* NULL if there is none */
void emit_inst(Emit *e, const SpvInst *i);
void emit_block_insts(Emit *e, SpvBlock *block); /* all but phis and the terminator */
void emit_open_function(Emit *e);                /* makes the builders for the body of e->fn */
void emit_close_function(Emit *e);
/* What is built at e->b from here on is of `i`. Returns what it was of before, for debug_back. */
LLVMMetadataRef debug_at(Emit *e, const SpvInst *i);
/* A variable that lies in memory, as emit_layout says; with lanes LAYOUT_LANES of so many. */
void debug_variable(Emit *e, const SpvInst *variable, LV memory, uint32_t lanes);
LLVMMetadataRef debug_here(const Emit *e);
/* The same as a place; file NULL: there is none. */
EmitPlace debug_place(const Emit *e);
void debug_back(Emit *e, LLVMMetadataRef to);
void debug_open_function(Emit *e, const SpvFunction *f); /* e->fn is its code */
/* For a function that e->caller calls: it has values and inputs of its own, and the caller's
 * variables. */
void emit_begin_called(Emit *e);

/* ---- types.c: types, leaves, layouts --------------------------------------------------------- */

/* i1 for bool; i8 for fp8; i64 for a physical pointer */
LT emit_scalar_type(Emit *e, const SpvType *t);
LT emit_lanes_type(Emit *e, LT scalar);            /* of a varying leaf: <W x scalar> */
uint32_t emit_n_leaves(Emit *e, const SpvType *t); /* 0 for void, matrices and opaque types */
/* Whether the pointer's value is one i64, an address. In OpenCL kernels every pointer's is. */
bool emit_is_physical(const Emit *e, const SpvType *pointer);
bool emit_is_opaque(const SpvType *t); /* (an array of) images, samplers or both */
/* scalar type of the k-th leaf */
const SpvType *emit_leaf_type(Emit *e, const SpvType *t, uint32_t k);
uint32_t emit_tensor_dims(Emit *e, const SpvType *t); /* of a tensor layout or view; 1 to 5 */
/* The number of the first leaf of member or element `index` of a composite. */
uint32_t emit_leaf_offset(Emit *e, const SpvType *t, uint32_t index);
/* NULL if there is none */
const SpvType *emit_part_type(const SpvType *t, uint32_t index);
/* whether it is, points to or contains a cooperative matrix */
bool emit_has_matrix(const SpvType *t);
uint32_t emit_scalar_bytes(Emit *e, const SpvType *t); /* in memory; bool 1, pointers 8 */
/* from its start to the end of its last part; a runtime array counts as 0 */
uint64_t emit_layout_size(Emit *e, const EmitLayout *l);
uint64_t emit_layout_align(Emit *e, const EmitLayout *l); /* 1, 2, 4, 8: of its largest scalar */
EmitLayout emit_layout_part(Emit *e, const EmitLayout *l, uint32_t index, uint64_t *offset);
/* distance between elements of an array, matrix or vector */
uint64_t emit_layout_stride(Emit *e, const EmitLayout *l);

/* ---- value.c: values ------------------------------------------------------------------------- */

/* The value of an id at the current place, constants included. Never NULL; after an error it has no
 * leaves. */
const EmitValue *emit_value(Emit *e, SpvId id);
LV emit_leaf(Emit *e, SpvId id, uint32_t k); /* scalar or vector */
/* Sets the result of `i`, with as many leaves as its type has, and what is known of them
 * (Affine). */
void emit_set(Emit *e, const SpvInst *i, const LV *leaves, uint32_t n);
void emit_set1(Emit *e, const SpvInst *i, LV leaf);
void emit_set_pointer(Emit *e, const SpvInst *i, const EmitPointer *p);
void emit_set_affine(Emit *e, const SpvInst *i, const LV *leaves, uint32_t n,
                     const EmitAffine *affine);
/* Sets a parameter, whose value is the same in all blocks. */
void emit_set_parameter(Emit *e, const SpvInst *i, const LV *leaves);
/* Sets the result leaf by leaf: leaf k is fn(e, i, the operands' k-th leaves, unified). An operand
 * with one leaf is repeated if the result has more (vector times scalar). */
typedef LV EmitLeafFn(Emit *e, const SpvInst *i, LV *operands, uint32_t n);
void emit_each_leaf(Emit *e, const SpvInst *i, uint32_t first_operand, uint32_t n_operands,
                    EmitLeafFn *fn);
EmitAffine emit_affine(Emit *e, const EmitValue *v, uint32_t k); /* what is known of a leaf */

/* For targets' `elsewhere`. emit_new_value: a value of that type with room for its leaves.
 * emit_with_pointer: gives a value of pointer type its Pointer, from its leaves and at the current
 * place. emit_again: emits `i` once more at the current place. */
EmitValue *emit_new_value(Emit *e, const SpvType *t);
EmitValue *emit_with_pointer(Emit *e, EmitValue *v);
const EmitValue *emit_again(Emit *e, const SpvInst *i);

bool emit_is_lanes(LV v);                    /* <W x T>, not T */
LV emit_lanes(Emit *e, LV v);                /* as <W x T>, splatted if it is a scalar */
void emit_unify(Emit *e, LV *v, uint32_t n); /* makes them all scalars or all <W x T> */
LV emit_lane(Emit *e, LV v, LV index);       /* one lane's value; of a scalar, the scalar */
LV emit_uniform(Emit *e, LV v);              /* the scalar that all active lanes have alike */

/* ---- build.c: LLVM IR ------------------------------------------------------------------------ */

LV emit_zero(LT type);
/* sign-extended or truncated to integer `type`, lane-wise */
LV emit_cast_index(Emit *e, LV v, LT type);
LV emit_scaled(Emit *e, LV v, int64_t factor);
LV emit_clamp(Emit *e, LV x, int64_t least, int64_t most);   /* signed, lane-wise */
LLVMBasicBlockRef emit_new_block(Emit *e, const char *name); /* after the current one */
LV emit_alloca(Emit *e, LT type, const char *name);          /* in the entry block */

/* for (index = 0; index < count; index++): i32 or i64 like count, which must not be a vector.
 *     Loop l = loop_begin(e, count); ... l.index ...; loop_end(e, &l); */
typedef struct EmitLoop {
    LV index, count;
    LLVMBasicBlockRef head, body, done;
} EmitLoop;
EmitLoop loop_begin(Emit *e, LV count);
void loop_end(Emit *e, EmitLoop *l);
typedef struct EmitIf {
    LLVMBasicBlockRef then, done;
} EmitIf;
EmitIf if_begin(Emit *e, LV condition); /* i1 */
void if_end(Emit *e, EmitIf *f);

/* ---- variables.c, pointer.c, memory.c -------------------------------------------------------- */

EmitLayout emit_layout(Emit *e, const SpvType *pointee, uint32_t storage);
/* Whether the variable's address gets into values that are not followed: phis, selects, casts. */
bool emit_escapes(const Emit *e, SpvId variable);
const EmitPointer *emit_pointer(Emit *e, SpvId id); /* never NULL */
/* The pointer as leaves: a logical one has three (base, offset, limit, each i64), a physical one
 * has one. */
void emit_pointer_leaves(Emit *e, const EmitPointer *p, LV *leaves);
/* address arithmetic so cheap that it is emitted again where it is used */
bool emit_is_chain(Emit *e, const SpvInst *i);
/* Robust access: whether accesses through p, and indices on the way, are checked. */
bool emit_is_checked(const Emit *e, const EmitPointer *p);
/* Whether an index, in steps of `stride` bytes, is so small that sums of a few cannot wrap around
 * the 64-bit address space. */
bool emit_is_tame(LV index, int64_t stride);
/* such an index is clamped to at most this, and at least its negative */
int64_t emit_farthest(int64_t stride);
void emit_load_builtin(Emit *e, const EmitPointer *p, LV *leaves);
/* Loads or stores all leaves of the pointee for the active lanes; `leaves` holds emit_n_leaves of
 * p->at.type. */
void emit_load(Emit *e, const EmitPointer *p, LV *leaves);
void emit_store(Emit *e, const EmitPointer *p, const LV *leaves);
/* One leaf in memory at p + byte, of scalar type t. */
LV emit_load_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t);
void emit_store_leaf(Emit *e, const EmitPointer *p, int64_t byte, const SpvType *t, LV v);
/* The address of the byte `byte` of the pointee: ptr, or <W x ptr> if it differs between lanes.
 * With LAYOUT_LANES it is the leaf of `size` bytes at that offset, and always <W x ptr>. */
LV emit_address(Emit *e, const EmitPointer *p, int64_t byte, uint32_t size);
/* Must be called before memory that others may see is written through p. */
void emit_before_write(Emit *e, const EmitPointer *p);

#endif
