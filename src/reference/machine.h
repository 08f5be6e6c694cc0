/* SPDX-License-Identifier: MIT
 *
 * What the files of reference/ share. decode.c turns a module into a flat array of RInst, each with
 * a handler; schedule.c runs the invocations of one workgroup after another on it.
 *
 * A value is a row of leaves: its scalars in order, raw bits zero-extended to 64. Each has a byte
 * that is not 0 while the scalar is undefined: UNSET, or UNSET_LANE if a lane beyond a matrix
 * extracted it. A pointer is two leaves, address and provenance. An invocation's share of a
 * cooperative matrix is its elements. Every id has a fixed place: a frame slot or a constant.
 */
#ifndef HEDDLE_REFERENCE_MACHINE_H
#define HEDDLE_REFERENCE_MACHINE_H

#include "base/tiles.h"
#include "reference/reference.h"

enum { UNSET = 1, UNSET_LANE = 2 };

typedef struct RType RType;
typedef struct RInst RInst;
typedef struct RBlock RBlock;
typedef struct RFunc RFunc;
typedef struct RInv RInv;
typedef struct RMachine RMachine;

/* ---- types.c --------------------------------------------------------------------------------- */

struct RType {
    SpvKind kind;
    SpvId id;
    uint32_t bits; /* BOOL 1, INT, FLOAT */
    bool is_signed;
    SpvFloatFormat format;
    const RType *element;  /* VECTOR, MATRIX, ARRAY, RUNTIME_ARRAY, COOPMAT, TENSOR_* */
    uint32_t count;        /* also COOPMAT: elements an invocation holds at most */
    const RType **members; /* STRUCT */
    SpvId pointee;         /* POINTER */
    uint32_t storage;      /* POINTER */
    bool physical;         /* POINTER: 8 bytes in memory, address only */
    uint32_t leaves;
    uint64_t size; /* in memory; of a runtime array 0 */
    uint32_t align;
    uint64_t stride;         /* VECTOR, MATRIX, ARRAY, RUNTIME_ARRAY; POINTER: ArrayStride or 0 */
    const uint64_t *offsets; /* STRUCT */
    const uint32_t *first_leaf;      /* STRUCT */
    const uint32_t *matrix_strides;  /* STRUCT: 0 = natural */
    const bool *row_major;           /* STRUCT */
    uint32_t scope, rows, cols, use; /* COOPMAT */
    uint32_t dims;                   /* TENSOR_LAYOUT, TENSOR_VIEW */
    uint32_t clamp;                  /* TENSOR_LAYOUT: SpvTensorClampMode */
    bool has_dims;                   /* TENSOR_VIEW: dimensions of its own */
    uint8_t permutation[5];          /* TENSOR_VIEW */
    uint32_t depth;
};

const RType *type_get(RMachine *m, SpvId id);      /* NULL when it is none (reported) */
const RType *type_define(RMachine *m, SpvInst *i); /* the type a declaration makes */
void type_forward(RMachine *m, SpvInst *i);        /* OpTypeForwardPointer */
/* The scalar a vector, matrix or cooperative matrix consists of; the type itself otherwise. */
const RType *type_scalar(const RType *t);
bool type_is_opaque(const RType *t); /* an image, a sampler or both */
bool type_is_wide(const RType *t);   /* a struct, array or opaque: not one operand of arithmetic */

/* ---- scalars --------------------------------------------------------------------------------- */

/* Nothing is converted to the formats from FMT_E2M1 on. */
typedef enum RFmt {
    FMT_F16,
    FMT_F32,
    FMT_F64,
    FMT_BF16,
    FMT_E4M3,
    FMT_E5M2,
    FMT_E2M1,
    FMT_E3M2,
    FMT_E2M3,
    FMT_E8M0,
    FMT_MXINT8,
    FMT_NONE
} RFmt;

static inline uint64_t mask_bits(uint32_t bits)
{
    return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

static inline int64_t sext(uint64_t v, uint32_t bits)
{
    return bits >= 64 ? (int64_t)v : (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* Places of a value's leaves, or of part of them. */
typedef struct RLeaves {
    uint64_t *x;
    uint8_t *undef;
} RLeaves;

RFmt fmt_of(const RType *t);
double fmt_get(RFmt f, uint64_t bits);
uint64_t fmt_put(RFmt f, double x); /* to nearest even */
uint64_t fmt_put_rtz(RFmt f, double x);
uint64_t fmt_put_mode(RFmt f, long double x, uint32_t mode); /* SpvFPRoundingMode* */

/* ---- memory.c -------------------------------------------------------------------------------- */

/* A pointer's second leaf, its provenance: the object in bits 0-31 (bit 31 set: one of the
 * invocation's own), the matrix stride in 32-61, row-major in 62, and in 63 that an index on the
 * way was outside its array. */
#define PTR_NOWHERE     0ull /* no object: it is found by the address */
#define PTR_LOCAL       0x80000000ull
#define PTR_STRIDE(p)   ((uint32_t)((p) >> 32 & 0x3fffffff))
#define PTR_ROW_MAJOR   (1ull << 62)
#define PTR_LAYOUT      (PTR_ROW_MAJOR | 0x3fffffffull << 32) /* stride and order */
#define PTR_STRAY       (1ull << 63)
#define PTR_OBJECT_MASK 0xffffffffull
#define PTR_INDEX_MASK  0x7fffffffu

/* A pointer's leaves: its address, and its provenance as above. */
typedef struct RPointer {
    uint64_t va, prov;
} RPointer;

#define LOCAL_BASE  (1ull << 61) /* addresses of invocations' own memory */
#define SHARED_BASE (1ull << 62) /* of workgroup memory */

typedef struct RObject {
    uint64_t va, size;
    uint8_t *data;
    uint8_t *undef; /* a byte a byte, or NULL: always defined */
    bool shared;    /* with other invocations: races are possible */
    uint32_t storage;
    bool writable;
    SpvId variable;
    uint32_t set, binding, element;
    uint32_t row; /* of a descriptor array's first: how many follow, itself counted */
} RObject;

typedef struct RLocalObject {
    uint64_t offset, size;
    SpvId variable;
} RLocalObject;

typedef enum RAccessKind {
    ACCESS_READ,
    ACCESS_WRITE,
    ACCESS_ATOMIC_READ,
    ACCESS_ATOMIC
} RAccessKind;

/* What an access asks for. */
typedef struct RRequest {
    RPointer at;
    uint32_t size, align;
    RAccessKind kind;
} RRequest;

/* The bytes that it may touch. */
typedef struct RAccess {
    uint8_t *data, *undef;
    const RObject *object;
} RAccess;

/* Checks an access; false (after reporting where asked) when it may not be carried out. */
bool mem_access(RMachine *m, RInv *v, const RInst *i, const RRequest *r, RAccess *out);
/* One scalar between memory and a leaf. */
bool mem_load_scalar(RMachine *m, RInv *v, const RInst *i, RPointer at, const RType *t, RLeaves to);
void mem_store_scalar(RMachine *m, RInv *v, const RInst *i, RPointer at, const RType *t,
                      RLeaves from);
bool mem_copy_byte(RMachine *m, RInv *v, const RInst *i, RPointer to, RPointer from);
uint64_t mem_read(const uint8_t *p, uint32_t size);
void mem_write(uint8_t *p, uint32_t size, uint64_t x);
/* The pointer's provenance; if it has none, that of the object that its address lies in. */
uint64_t mem_provenance(RMachine *m, RInv *v, RPointer p);
/* The object that a provenance names, unless it is in the invocation's own memory; or NULL. */
const RObject *mem_object(const RMachine *m, uint64_t prov);

/* ---- load_store.c ---------------------------------------------------------------------------- */

/* Writes an initializer's leaves to the bytes of a variable that nobody else sees yet. */
void mem_initialize(const RType *t, RLeaves from, uint8_t *data, uint8_t *undef);

/* ---- pointer.c ------------------------------------------------------------------------------- */

/* What a pointer's type points to; NULL after refusing where it is none. */
const RType *pointer_to(RMachine *m, const RInst *i, const RType *pointer);

/* Which index was outside its array on the way to what `i` accesses, for a message. */
const char *pointer_stray(RMachine *m, const RInv *v, const RInst *i);

/* ---- variables.c ----------------------------------------------------------------------------- */

bool mem_bind(RMachine *m); /* variables of module scope to objects */
void mem_new_group(RMachine *m);
bool mem_is_descriptor_array(RMachine *m, const RType *t, uint32_t storage);

/* ---- race.c ---------------------------------------------------------------------------------- */

/* What an invocation knows about the progress of others: key (kind, index) -> time. Sparse, and
 * empty in kernels that use only barriers. */
typedef struct RClock {
    uint64_t *keys;
    uint32_t *times;
    uint32_t len, cap;
    bool all;
} RClock;

enum { RACE_GLOBAL, RACE_SHARED, RACE_N_CLASSES }; /* what a barrier may order separately */

typedef struct ROrder {   /* of one invocation */
    uint32_t time;        /* advances at each release */
    uint32_t fence_time;  /* at the last release fence */
    uint32_t fenced;      /* storage semantics fenced since the last barrier */
    RClock know, pending; /* pending: acquired relaxed, until an acquire fence */
} ROrder;

/* Of a workgroup or a subgroup: how many barriers all have passed, and how many arrivals at split
 * barriers came since then, which nobody has waited for. */
typedef struct REpochs {
    uint32_t known[RACE_N_CLASSES], split[RACE_N_CLASSES];
    RClock brought; /* to the last barrier, by all */
} REpochs;

uint32_t atomic_scope(const RInst *i); /* of an atomic instruction (atomic.c) */
/* Bytes that an invocation touches. */
typedef struct RTouched {
    const RObject *object;
    uint64_t offset;
    uint32_t size;
    RAccessKind kind;
} RTouched;
void race_access(RMachine *m, RInv *v, const RInst *i, const RTouched *t);
void race_new_group(RMachine *m);
void race_release(RMachine *m, RInv *v, const RObject *o, uint64_t offset, uint32_t scope,
                  bool fenced);
void race_acquire(RMachine *m, RInv *v, const RObject *o, uint64_t offset, uint32_t scope,
                  bool now);
void race_fence(RMachine *m, RInv *v, uint32_t scope, uint32_t semantics);
/* Carries out the barrier `i`, or half of it, among `n` invocations. Semantics 0 order nothing. */
void race_barrier(RMachine *m, RInv **set, uint32_t n, const RInst *i, uint32_t semantics);

/* ---- code ------------------------------------------------------------------------------------ */

typedef uint32_t Ref; /* where a value is: kind << 31 | first leaf */
#define REF_CONST 0x80000000u
#define REF_NONE  0xffffffffu

typedef enum RStep {
    STEP_NEXT,   /* go on with the next instruction */
    STEP_JUMP,   /* the handler has set pc */
    STEP_SWITCH, /* next instruction, but a good moment for another invocation */
    STEP_WAIT,   /* a collective operation: wait here for the others */
    STEP_DONE    /* the invocation has ended */
} RStep;

typedef RStep Handler(RMachine *m, RInv *v, const RInst *i);
/* A collective operation, for the n invocations that take part together. */
typedef void Collective(RMachine *m, RInv **set, uint32_t n, const RInst *i);

struct RInst {
    Handler *run;
    Collective *together; /* with run == collective_wait */
    SpvInst *src;
    RBlock *block;
    const RType *type;   /* of the result; of OpStore's object etc. the value's */
    const RType *at;     /* of the first value operand, or NULL */
    const uint32_t *ops; /* by operand word: Ref of a value, else the word */
    void *aux;
    Ref dst;
    uint16_t n_ops;
    uint16_t op;
    uint32_t n;          /* leaves of the result (or of `at` where there is none) */
    uint8_t bits, sbits; /* of the result's and the first operand's scalar */
    uint8_t fmt, sfmt;   /* Fmt, the same */
    uint8_t scope;       /* collectives: SpvScope */
    bool whole;          /* collectives: every invocation of the scope must take part */
    bool rtz;            /* results are rounded towards zero */
    const struct RControls *controls; /* controls.c's, where it stands around the handler */
    const struct RFinite *finite;     /* finite.c's, likewise */
    const struct RCount *count;       /* count.c's */
    uint32_t part;                    /* composites: first leaf of the part */
    uint32_t number;                  /* place in the code */
};

typedef struct RPhiCopy {
    Ref dst, src;
    uint32_t n;
} RPhiCopy;
typedef struct REdge {
    RBlock *to;
    uint32_t n_copies, n_leaves;
    RPhiCopy *copies;
    uint32_t level; /* loop level whose counter changes, 0 = none */
    bool back;      /* counts up, else starts at 0 */
} REdge;

struct RBlock {
    uint32_t first, rpo;
    uint32_t depth; /* loops around it */
    SpvBlock *src;
    RFunc *function;
    /* flow.c */
    struct RBlock **succs, **preds, *idom;
    uint32_t n_succs, n_preds;
    uint32_t pre, post; /* of the dominator tree: a dominates b when its interval holds b's */
    bool reached, is_header;
    struct RBlock *merge;  /* OpLoopMerge's merge block, or NULL */
    struct RBlock **loops; /* by level: the loop's header */
    uint8_t *members;      /* of a natural loop without OpLoopMerge: by rpo */
};

struct RFunc {
    SpvFunction *src;
    RBlock *blocks;
    uint32_t n_blocks;
    uint32_t first;  /* code index of the entry block */
    uint32_t slots;  /* leaves of a frame */
    uint64_t memory; /* bytes of its variables */
    uint32_t n_variables;
    uint32_t max_depth;
    Ref *params;
    const RType **param_types;
    uint32_t n_params;
    /* with everything it calls */
    uint64_t total_slots, total_memory, total_depth, total_frames, total_variables;
    int state; /* of totalling: 0 unseen, 1 under way, 2 done */
    VEC(struct RFunc *) callees;
    RFunc *next; /* to be decoded after this one */
};

/* flow.c: orders blocks and finds loops. False after reporting an irreducible graph. */
bool flow_build(RMachine *m, RFunc *f);
/* Orders two invocations by where they are: <0, 0, >0. Execution only ever moves up in this order,
 * and equal means the same dynamic instance. */
int flow_compare(const RMachine *m, const RInv *a, const RInv *b);

/* decode.c */
bool decode_module(RMachine *m);
RFunc *decode_find(RMachine *m, SpvId function);
Ref ref_of(RMachine *m, SpvId id);
const RType *type_of(RMachine *m, SpvId id);
bool constant_uint(RMachine *m, SpvId id, uint64_t *x);
bool constants_build(RMachine *m); /* constant.c: the module's declarations, in order */
Ref constant_alloc(RMachine *m, uint32_t leaves);
void decode_inst(RMachine *m, RInst *out, SpvInst *i); /* fills what every handler needs */
/* Checks whatever its handler relies on in an instruction's operands, and prepares aux; false after
 * reporting an error. NULL: nothing to check. */
typedef bool Prepare(RMachine *m, RInst *i);
typedef struct ROpRow {
    uint16_t op;
    Handler *run;
    Prepare *prepare;
    Collective *together;
    uint8_t flags;
} ROpRow;
enum { OPF_CONSTANT = 1, OPF_WHOLE = 2 }; /* may be an OpSpecConstantOp; whole scope */
typedef struct ROpTable {
    const ROpRow *rows;
    uint32_t n;
} ROpTable;
extern const ROpTable ref_arith_ops, ref_convert_ops, ref_composite_ops, ref_load_store_ops,
    ref_pointer_ops, ref_control_ops, ref_group_ops, ref_matrix_ops, ref_nv_ops, ref_tensor_ops,
    ref_qcom_ops, ref_atomic_ops, ref_image_ops;
Prepare prepare_same;  /* every value operand has as many leaves as the result */
Prepare prepare_value; /* every id operand is a value */
const ROpRow *op_row(uint16_t op);
RStep collective_wait(RMachine *m, RInv *v, const RInst *i);
Handler step_nothing; /* control.c: for instructions without an effect */
/* glsl.c: the handler of an instruction of GLSL.std.450, or NULL. */
const ROpRow *glsl_row(uint32_t number);
const ROpRow *opencl_row(uint32_t number); /* opencl.c: of OpenCL.std */

/* ---- machine --------------------------------------------------------------------------------- */

typedef struct RFrame {
    const RFunc *function;
    uint32_t base; /* first slot */
    uint32_t return_pc;
    Ref result; /* in the caller */
    uint32_t n_leaves;
    uint32_t iters; /* first loop counter */
    uint64_t memory;
    uint32_t objects;
} RFrame;

typedef enum RInvState { INV_READY, INV_WAITING, INV_DONE } RInvState;

struct RInv {
    uint64_t *base[2]; /* by Ref's kind: frame, constants */
    uint8_t *ubase[2];
    uint32_t pc;
    RInvState state;
    uint64_t steps;
    uint32_t index, lane, subgroup, local[3];
    uint64_t *slots;
    uint8_t *undef;
    RFrame *frames;
    uint32_t n_frames;
    uint32_t *iters;
    uint8_t *memory, *memory_undef;
    uint64_t memory_top;
    RLocalObject *objects;
    uint32_t n_objects;
    uint32_t left;            /* memory operations until the next switch */
    uint64_t turns;           /* back edges taken */
    struct REarlier *earlier; /* endless.c: the state after some of them, or NULL */
    bool looked;              /* since then, at memory that others may change */
    uint64_t circles;         /* 1 + RMachine.changes when it was found to repeat its states */
    ROrder order;
    uint32_t arrived; /* at split barriers, by scope, and not waited yet */
};

typedef struct RSubgroup {
    RInv *first;
    uint32_t n, index;
    REpochs epochs;
} RSubgroup;

typedef struct RFinding {
    RefFindingKind kind;
    const SpvInst *inst;
    uint64_t count;
    uint32_t group[3], local[3];
    bool no_place;
    const char *message;
} RFinding;

struct RMachine {
    Arena *arena;
    SpvModule *module;
    const RefDispatch *d;
    DiagSink *sink;
    uint32_t check;
    SpvEntryPoint entry;
    bool physical64, failed, probing; /* probing: local size not known yet */
    uint32_t model;
    /* by id */
    const RType **types, **value_types;
    Ref *refs;
    RFunc **functions, *first_function, *last_function;
    RBlock **blocks; /* of the function being decoded */
    uint32_t bound;
    /* constants */
    uint64_t *cv;
    uint8_t *cu;
    uint32_t n_const, cap_const;
    /* code */
    VEC(RInst) code;
    uint32_t max_copy; /* most leaves one edge copies */
    uint64_t *copy_v;
    uint8_t *copy_u;
    bool rtz[4];                /* by log2(bits) - 3: RoundingModeRTZ */
    bool ftz[4];                /* DenormFlushToZero */
    bool rtz_any, signed_zeros; /* the order of zeros counts */
    /* objects: buffers, workgroup variables, push constants */
    VEC(RObject) objects;
    uint64_t local_bytes; /* of private and input variables, each invocation */
    VEC(RLocalObject) local_objects;
    VEC(struct RInitial {
        SpvId variable;
        uint64_t offset;
        const RType *type;
        Ref init;
        uint32_t object;
    })
    initials;
    VEC(struct RBuiltin {
        uint64_t offset;
        const RType *type;
        uint32_t builtin;
    })
    builtins;
    uint8_t *local_image, *local_undef; /* initial contents */
    Ref *args;
    /* the workgroup being run */
    uint32_t local_size[3], n_inv, width, n_subgroups, smallest;
    uint32_t group[3];
    uint64_t group_number;
    RInv *inv;
    RSubgroup *subgroups;
    uint32_t *ready, n_ready;
    RInv *ahead;    /* has run for long without looking at others, or NULL */
    REpochs epochs; /* the workgroup's */
    struct RRaces *race;
    struct RAccesses *accesses; /* NULL: they are not counted */
    bool by_matrix;             /* the access is part of a matrix load or store */
    void *scratch;              /* of matrix operations */
    size_t scratch_size;
    uint64_t rng, instructions;
    RefCounts counts;
    uint64_t changes; /* counts shared memory changed, collective operations, clocks read */
    bool deadlocked;  /* reported for this workgroup; what follows is a consequence */
    bool stop;        /* budget used up: end the dispatch */
    /* findings */
    VEC(RFinding) findings;
    Map finding_index;
    RInv const_inv; /* for evaluating constants */
};

static inline uint64_t *leaf(const RInv *v, Ref r) { return v->base[r >> 31] + (r & 0x7fffffff); }
static inline uint8_t *unset(const RInv *v, Ref r) { return v->ubase[r >> 31] + (r & 0x7fffffff); }
static inline RLeaves leaves_at(const RInv *v, Ref r)
{
    return (RLeaves){ leaf(v, r), unset(v, r) };
}
static inline RLeaves leaves_from(RLeaves l, size_t k) { return (RLeaves){ l.x + k, l.undef + k }; }
static inline RPointer pointer_at(const RInv *v, Ref r)
{
    return (RPointer){ leaf(v, r)[0], leaf(v, r)[1] };
}
static inline RPointer pointer_plus(RPointer p, uint64_t bytes)
{
    return (RPointer){ p.va + bytes, p.prov };
}
static inline const RType *operand_type(RMachine *m, const RInst *i, uint32_t n)
{
    return m->value_types[spv_operand(i->src, n)];
}
/* Of an instruction of an extended set: its number, an operand's leaf as a float, and whether the
 * k-th component of an operand is undefined. */
static inline uint32_t ext_number(const RInst *i) { return i->ops[1]; }
static inline double ext_float(const RInst *i, uint64_t x) { return fmt_get((RFmt)i->sfmt, x); }
static inline uint8_t ext_undefined(const RInv *v, const RInst *i, uint32_t k)
{
    uint8_t u = 0;
    for (uint32_t o = 2; o < i->n_ops; o++)
        u |= unset(v, i->ops[o])[k];
    return u;
}
static inline uint32_t random_below(RMachine *m, uint32_t n)
{
    m->rng ^= m->rng << 13;
    m->rng ^= m->rng >> 7;
    m->rng ^= m->rng << 17;
    return (uint32_t)((m->rng >> 32) * n >> 32);
}

/* ---- report.c -------------------------------------------------------------------------------- */

/* Counts a finding of this kind at this instruction and keeps the message of the first. Does
 * nothing if the kind is not checked for (budget, deadlock and unsupported always are). */
void found(RMachine *m, const RInv *v, const RInst *i, RefFindingKind kind, const char *fmt, ...)
    PRINTF_LIKE(5, 6);
/* Counts the finding at `i` once more; false if there was none. */
bool found_again(RMachine *m, const RInst *i, RefFindingKind kind);
bool checking(const RMachine *m, RefFindingKind kind);
/* An error that keeps the kernel from running. */
void refuse(RMachine *m, const SpvInst *i, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Reports an undefined leaf among n that affects the result (`what` says how), and then treats it
 * as defined. */
void matters(RMachine *m, RInv *v, const RInst *i, Ref r, uint32_t n, const char *what);
void report_all(RMachine *m, Arena *a, RefResult *r);
const char *name_of(RMachine *m, SpvId id);

/* What a message calls a value whose byte is `unset`. */
const char *undefined_name(uint8_t unset);

/* ---- matrix.c -------------------------------------------------------------------------------- */

/* The row-major element that is an invocation's e-th of a matrix; UINT32_MAX for padding. */
uint32_t matrix_owned(const RMachine *m, const RInv *v, const RType *t, uint32_t e);
/* Memory for one operation; the next call may return it again. */
void *matrix_scratch(RMachine *m, size_t size);
/* Copies the elements of a matrix that the invocations of a set own to `whole`, which is
 * row-major. */
void matrix_collect(RMachine *m, RInv **set, uint32_t n, const RType *t, Ref r, RLeaves whole);
/* The whole matrix, in scratch memory. Elements that nobody in the set owns are 0. */
RLeaves matrix_gather(RMachine *m, RInv **set, uint32_t n, const RType *t, Ref r);
void matrix_scatter(RMachine *m, RInv **set, uint32_t n, const RType *t, Ref r, RLeaves whole);
/* An operand that all invocations of a matrix operation must give the same value. */
typedef struct RSharedOperand {
    Ref r;
    uint32_t leaves;
    const char *what; /* for the message */
} RSharedOperand;
/* Reports it when it differs between the invocations of `set`. */
void matrix_uniform(RMachine *m, RInv **set, uint32_t n, const RInst *i, RSharedOperand o);

/* ---- endless.c ------------------------------------------------------------------------------- */

/* Called when the invocation takes a back edge, with the phis already set; reports loops that never
 * end. */
void endless_turn(RMachine *m, RInv *v, const REdge *e);
void endless_forget(RInv *v); /* what it did so far */
/* Whether it repeats its states unless somebody changes the memory that it looks at. */
bool endless_circles(const RMachine *m, const RInv *v);
void endless_found(RMachine *m, const RInv *v, const char *why);

/* ---- controls.c ------------------------------------------------------------------------------ */

void controls_prepare(RMachine *m, RInst *i); /* once the handler is known */
uint64_t controls_flush(const RMachine *m, RFmt f, uint64_t x);

/* ---- finite.c -------------------------------------------------------------------------------- */

void finite_prepare(RMachine *m, RInst *i); /* behind controls_prepare */

/* ---- count.c --------------------------------------------------------------------------------- */

void count_prepare(RMachine *m, RInst *i); /* behind finite_prepare */

/* ---- accesses.c ------------------------------------------------------------------------------ */

void accesses_begin(RMachine *m); /* where RefDispatch.count says so */
void accesses_note(RMachine *m, const RInv *v, const RInst *i, const RRequest *r);
void accesses_end_group(RMachine *m);

/* group.c: the one of a subgroup's that is there, or NULL */
RInv *group_neighbour(const RInst *i, RInv **set, uint32_t n, uint32_t lane);

/* ---- schedule.c ------------------------------------------------------------------------------ */

bool run_groups(RMachine *m);
/* Counts a step; false after reporting that the invocation has used up its budget. */
bool inv_may_step(RMachine *m, RInv *v, const RInst *i, uint64_t budget);
/* Adds the steps since `began` to the dispatch's, which has a budget too. */
void inv_account(RMachine *m, const RInv *v, uint64_t began);
/* dispatch.c: without the comparisons of portability.c. */
bool dispatch_once(Arena *a, SpvModule *m, const RefDispatch *d, RefResult *r, DiagSink *sink);
void inv_jump(RMachine *m, RInv *v, const REdge *e);
RStep inv_enter(RMachine *m, RInv *v, RFunc *f, uint32_t return_pc, Ref result, uint32_t n_leaves);
/* Calls a function to its end from within an instruction of the invocation. args[k]: where the
 * k-th parameter's leaves are; `result` has n_leaves, in the invocation's frame. */
typedef struct RCallArg {
    const uint64_t *x;
    const uint8_t *undef;
} RCallArg;
void inv_call(RMachine *m, RInv *v, RFunc *f, const RCallArg *args, Ref result, uint32_t n_leaves);
/* The function that an operand names, which `i` may call: with `n` parameters of these types. NULL
 * after refusing. */
RFunc *inv_callee(RMachine *m, RInst *i, SpvId function, const RType *result,
                  const RType *const *params, uint32_t n);

#endif
