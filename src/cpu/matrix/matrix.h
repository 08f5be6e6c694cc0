/* SPDX-License-Identifier: MIT
 *
 * matrix: cooperative matrices in the code generator; shared by the files of this folder only.
 *
 * A matrix value lies in memory as a tile: the address of its element (0, 0), the bytes from row to
 * row (column-major: column to column), and its order. Its own memory, if any, is its web's home,
 * dense and in the subgroup's frame. A load may stay where it was loaded from (LAZY) until a
 * multiply-add reads it, and multiply-adds wait (PENDING) until the block ends or somebody needs a
 * result, so that those that share operands become one register-blocked kernel (gemm.h).
 */
#ifndef HEDDLE_CPU_MATRIX_MATRIX_H
#define HEDDLE_CPU_MATRIX_MATRIX_H

#include "cpu/gemm/gemm.h"
#include "cpu/lanes/lanes.h"
#include "llvm/arith.h"

typedef struct MatRows MatRows; /* alike.c's */

typedef struct MatTile {
    LV ptr, stride; /* stride: i64, bytes */
    bool col;       /* column-major */
    bool near;      /* in the frame or workgroup memory */
    MatRows *rows;  /* of some tiles that are dense by rows: their last rows may be alike */
} MatTile;

typedef enum MatState { MAT_NONE, MAT_HOME, MAT_LAZY, MAT_PENDING, MAT_SPLAT } MatState;

/* A place in a variable that holds matrices. */
typedef struct MatPlace {
    SpvId variable; /* 0: none */
    bool known;     /* `offset` says which place it is; false: some index is dynamic */
    uint64_t offset;
} MatPlace;

typedef struct MatValue {
    SpvId id;
    const SpvType *type;
    MatState state;
    MatTile tile; /* HOME, LAZY */
    LV prefetch;  /* LAZY: bytes to a later iteration's tile, or NULL */
    bool direct;  /* LAZY: the tile is where the load's pointer and stride say, always */
    /* HOME within a variable's memory: which part. It must be copied before that is written */
    MatPlace place;
    LV splat; /* SPLAT: the scalar that every element has */
    /* LAZY: i1, nothing writes it during the dispatch; NULL: perhaps something does */
    LV unchanged;
    uint32_t uses;         /* in the function; counted down as uses are emitted */
    uint32_t other_blocks; /* uses outside the block that defines it */
} MatValue;

/* Who holds the elements of a matrix: the W lanes of the subgroup (or those that exist, if the
 * workgroup is smaller), or all invocations of the workgroup. Element e of holder h is linear
 * element e * n + h of the row-major matrix. */
typedef struct MatHolders {
    uint32_t n;
    LV first; /* i32: number of this subgroup's lane 0 */
} MatHolders;

/* A pending chain of multiply-adds: start + sum of a[i] * b[i]. */
typedef struct MatMulAdd {
    const SpvInst *inst; /* its first instruction, for diagnostics and operand flags */
    SpvId start, result;
    const SpvType *type; /* of the sum, in `to` */
    VEC(SpvId) a, b;
    uint32_t scope;
    GemmShape shape; /* rows = cols = 1, steps as long as the chain */
    MatTile to;      /* where the result goes */
    MatPlace place;  /* if `to` is in a variable's memory: where there */
} MatMulAdd;

typedef struct MatHome {
    MatTile tile;
    uint64_t bytes;
} MatHome;

typedef struct MatVariable {
    LV base;
    uint64_t bytes;
    MatRows *rows; /* MatTile's, of a single matrix */
} MatVariable;

typedef struct MatCopy {
    uint32_t rows, cols, bytes;
    bool from_col, to_col;
    bool from_far; /* lines of what is copied from are far apart, rather than those copied to */
    uint64_t stride[2]; /* bytes, of what is copied to and from; 0: passed */
    LV fn;
} MatCopy;

/* Sums of a loop, whose last products may wait for their store (defer.c). */
typedef struct MatSums {
    const SpvType *type;
    uint32_t n;
    uint64_t bytes;        /* of a home */
    LV homes;              /* of all, side by side */
    LV zero, waits;        /* of i1: the homes count as zeros; `call` waits */
    LV times;              /* of i64: of so many iterations */
    GemmCall call;         /* once a loop has one: it has a table */
    LLVMMetadataRef place; /* debug_here's, of its products */
    LV to;                 /* GemmCall's, of the store */
} MatSums;

typedef struct MatStored {
    const SpvType *type;
    MatSums *sums; /* what is stored is one of them; or NULL */
    MatTile to, from;
    LLVMMetadataRef place; /* debug_here's */
} MatStored;               /* both tiles have the same order */

/* An instruction with a rule's opcode is emitted by that rule */
typedef enum MatWhen {
    MATRIX_ALWAYS,
    MATRIX_POINTER, /* if its pointer points into a variable that holds matrices */
    MATRIX_OPERAND, /* if its first operand is a matrix */
    MATRIX_RESULT   /* if its result is a matrix */
} MatWhen;
typedef struct MatRule {
    uint16_t op, when;
    EmitFn *fn;
} MatRule;

typedef struct MatEmit {
    const MatRule **rules; /* by opcode */
    uint32_t n_rules;
    Gemm *gemm;
    MatrixWebs *webs;
    MatValue **values;       /* by id */
    MatVariable **variables; /* by id */
    MatHome *homes;          /* by web */
    uint8_t *web_col;        /* by web: column-major homes */
    MatSums **sums;          /* by 1 + web; or NULL */
    VEC(MatMulAdd) pending;
    VEC(MatValue *) lazy;     /* loads of this block that have not been read yet */
    VEC(MatValue *) borrowed; /* values of this block that lie in a variable's memory */
    VEC(MatValue *) filled;   /* constants that lie in memory since this block */
    VEC(MatCopy) copies;
    VEC(MatStored) stores;      /* put off; all of one type and order */
    uint16_t *ids;              /* what mat_ids returned last */
    uint32_t ids_room;          /* its size */
    struct MatPutOff **put_off; /* ops.c's, by id: arithmetic that its user does; or NULL */
    LV table, scratch;          /* arguments of the multiply-add kernels */
    uint32_t table_entries;     /* of the largest table so far */
    uint8_t *same_in_workgroup; /* by id: workgroup_same's */
    bool shares;                /* what is only read may be packed once for all workgroups */
    struct MatWaits *waits;     /* leader.c's; NULL: nobody waits for the first subgroup */
    struct MatAlike *alike;     /* alike.c's */
    uint32_t edge_to;           /* 1 + the block whose phis' copies are being made; 0: none are */
    bool leading;               /* in code that only the first subgroup runs */
    bool noted_lanes;           /* the note on lanes that extract zeros has been given */
} MatEmit;
static inline MatEmit *matrices_of(const Emit *e) { return lanes_of(e)->matrices; }

/* ---- matrix.c -------------------------------------------------------------------------------- */

/* Each is ended by a row without a function. An opcode has one row in all of them. */
extern const MatRule matrix_rules_memory[], matrix_rules_variable[], matrix_rules_whole[],
    matrix_rules_ops[], matrix_rules_group[], matrix_rules_nv[], matrix_rules_reduce[],
    matrix_rules_tensor[], matrix_rules_qcom[];

bool mat_is(const SpvType *t);
IrComp mat_comp(const SpvType *matrix);

/* ---- value.c --------------------------------------------------------------------------------- */

/* Which words of the instruction are ids; valid until the next call. */
const uint16_t *mat_ids(Emit *e, const SpvInst *i, uint32_t *n);
bool mat_takes(Emit *e, const SpvInst *i, SpvId id); /* whether the id is one of those */
MatValue *mat_value(Emit *e, SpvId id);              /* never NULL if the id has a matrix type */
/* The value's elements in memory, complete. Valid until the next write. */
MatTile mat_read(Emit *e, SpvId id);
/* The same, but for sums that may be put off, which mat_sums_wanted or mat_sums_store completes,
 * and rows that are alike: mat_complete. */
MatTile mat_place(Emit *e, SpvId id);
MatTile mat_home(Emit *e, SpvId id); /* where the value belongs; emits nothing */
/* Must be called before a write to `t`: what is still needed of its contents is read or copied. */
void mat_before_write(Emit *e, const MatTile *t, const MatPlace *place);
/* Where the result of `i` goes. The caller must write all of it next, having read its operands. */
MatTile mat_result(Emit *e, const SpvInst *i);
/* The same two for who knows of rows that are alike: the tile says how many lie there, and the
 * caller writes as many as it says by mat_set_rows. */
MatTile mat_read_rows(Emit *e, SpvId id);
MatTile mat_result_rows(Emit *e, const SpvInst *i);
/* Whether writing to `t` would change what a pending multiply-add reads, or its result. */
bool mat_is_awaited(Emit *e, const MatMulAdd *p, const MatTile *t, const MatPlace *place);
/* Whether a value lies in memory that is about to be written. */
bool mat_lies_in(const MatValue *v, const MatTile *t, const MatPlace *place);
bool mat_same_place(const MatPlace *a, const MatPlace *b);
void mat_flush(Emit *e);         /* emits the pending multiply-adds */
void mat_forget_filled(Emit *e); /* at a block's end: other blocks fill constants anew */
/* The instruction has been emitted: its operands need not be kept for it any longer. */
void mat_used(Emit *e, const SpvInst *i);

/* ---- holders.c ------------------------------------------------------------------------------- */

uint64_t mat_workgroup_size(const Emit *e);         /* 0: not known */
uint64_t mat_bytes(Emit *e, const SpvType *matrix); /* of a dense home, padding included */
/* Adds to a counter. An operation on a workgroup's matrix counts once, not once a subgroup. */
void mat_count(Emit *e, const SpvType *matrix, DeviceStat stat, uint64_t n);
uint32_t mat_n_holders(const Emit *e, const SpvType *matrix);
MatHolders mat_holders(Emit *e, const SpvType *matrix);
/* Memory for a matrix: in the subgroup's frame, or workgroup memory. */
LV mat_frame(Emit *e, const SpvType *matrix, uint64_t bytes);
/* A table of `entries` times 8 bytes on the stack. The next table overwrites it. */
LV mat_table(Emit *e, uint32_t entries);

/* ---- leader.c -------------------------------------------------------------------------------- */

void mat_leader_survey(Emit *e); /* before the first block: where others wait for the leader */
/* Around code that reads or writes whole matrices of that type. If they are a workgroup's, only its
 * first subgroup runs that code, and nothing computed inside may be used after it. */
typedef struct MatLeader {
    bool on;
    EmitIf f;
} MatLeader;
void mat_leader_enters(Emit *e, const SpvInst *i); /* before each instruction */
/* Whether invocations access elements of a workgroup's matrices that the instruction takes or
 * makes. */
bool mat_leader_touches(Emit *e, const SpvInst *i);
/* By position of blocks: elements of some matrix are accessed behind the block, by way of blocks
 * that do nothing to whole matrices; `touches`: they are in the block itself. NULL: no workgroup's
 * elements are accessed at all. Whether a block does something to whole matrices, then. Whether
 * elements may be accessed anywhere. */
uint8_t *mat_leader_near(Emit *e, uint8_t *touches);
bool mat_leader_works(const Emit *e, uint32_t block);
bool mat_leader_always_waits(const Emit *e);
MatLeader mat_leader_begin(Emit *e, const SpvType *matrix);
void mat_leader_end(Emit *e, MatLeader *l);
void mat_leader_edge_end(Emit *e, uint32_t to); /* behind the copies for that block's phis */

/* ---- survey.c -------------------------------------------------------------------------------- */

/* Called before the first block: counts uses, chooses the order of webs. */
void mat_survey(Emit *e);

/* ---- alike.c: rows that are alike lie in memory once ----------------------------------------- */

void mat_alike_survey(Emit *e); /* before the first block, after the other surveys */
/* Whether the function of each element that an instruction calls is one of its numbers alone, but
 * not of the row. */
bool mat_calls_alike(Emit *e, const SpvInst *i);
/* Whether what it or a reduction calls ends and accesses nothing, whatever it is called with. */
bool mat_calls_safely(Emit *e, const SpvInst *i);
/* For the subgroup that works on the matrix: i64, the number of a tile's rows of which the last is
 * that of all behind it; sets it, after so many rows or (_unlike) all were written. */
LV mat_rows(Emit *e, const SpvType *t, const MatTile *x);
void mat_set_rows(Emit *e, const MatTile *x, LV n);
void mat_set_unlike(Emit *e, const MatTile *x, LV n);
void mat_copy_rows(Emit *e, const SpvType *t, const MatTile *to, const MatTile *from);
/* Writes rows that do not lie there yet: the first n then do. */
void mat_need_rows(Emit *e, const MatTile *x, LV n);
/* The most of mat_rows of n tiles (those with an address), in each of which so many lie then. */
LV mat_rows_of_all(Emit *e, const SpvType *t, const MatTile *x, uint32_t n);
/* Whether some of a tile's rows may be missing here. */
bool mat_has_rows(Emit *e, const MatTile *x);
/* All lie there, and invocations may write elements of them; so it is with all whose elements
 * invocations access behind this block. */
void mat_open_rows(Emit *e, const SpvType *t, MatTile *x);
void mat_open_exposed(Emit *e);
/* MatTile.rows of a load that stays where it is, that is, of a tile in memory of any kind that has
 * all its rows and may not be written: none is. NULL: they are all unlike. */
MatRows *mat_lazy_rows(Emit *e, const SpvInst *load, LV unlike);
/* All lie there then, which who uses `x` need not know. */
void mat_complete(Emit *e, const SpvType *t, MatTile *x);

/* ---- share.c: operands packed once for several workgroups ------------------------------------ */

void mat_share_survey(Emit *e);
/* i1, or NULL: whether what a load reads at p stays as it is while the dispatch runs. */
LV mat_unchanged(Emit *e, const EmitPointer *p, uint32_t access, LV inside);
/* CpuEnv.panel for a call: operands that are not known to stay get a panel of their own. NULL: none
 * are. */
LV mat_panel(Emit *e, const SpvId *ids, uint32_t n, const GemmShape *s);

/* ---- group.c: pending multiply-adds ---------------------------------------------------------- */

/* Emits all pending multiply-adds. */
void mat_emit_groups(Emit *e);

/* ---- defer.c: sums that wait for their store ------------------------------------------------- */

void mat_sums_survey(Emit *e);             /* before the first home is made */
MatSums *mat_sums(Emit *e, SpvId id);      /* that the value is one of; NULL: of none */
void mat_sums_zero(Emit *e, MatSums *s);   /* all of them become zeros */
void mat_sums_wanted(Emit *e, MatSums *s); /* completes them, at home */
/* The call of the loop's products, of all these sums, waits. Its operands stay what they are while
 * the dispatch runs, where CpuEnv.unwritten says so. */
void mat_sums_put_off(Emit *e, MatSums *s, const GemmCall *call);
/* Completes the sums among what is about to be stored. i1: they were all, and are in place. */
LV mat_sums_store(Emit *e, const MatStored *stored, uint32_t n);

/* ---- copy.c ---------------------------------------------------------------------------------- */

MatTile mat_dense(Emit *e, const SpvType *t, LV ptr, bool col);
void mat_copy(Emit *e, const SpvType *t, const MatTile *to, const MatTile *from);
void mat_fill(Emit *e, const SpvType *t, const MatTile *to, LV scalar);

/* ---- element.c ------------------------------------------------------------------------------- */

/* How many elements an invocation holds. */
uint32_t mat_length(Emit *e, const SpvType *t);
/* Element `index` (i32, a scalar or different in each lane) of each lane: <W x T>. The tile must be
 * dense and in the frame. */
LV mat_element(Emit *e, const SpvType *t, const MatTile *tile, LV index);
void mat_set_element(Emit *e, const SpvType *t, const MatTile *tile, LV index, LV value);

/* ---- memory.c: loads and stores -------------------------------------------------------------- */

/* Whether only multiply-adds of this block read the load's result, so that it may stay where it is
 * until then. */
bool mat_may_stay(Emit *e, const SpvInst *i);

/* ---- variable.c ------------------------------------------------------------------------------ */

bool mat_points(Emit *e, SpvId pointer); /* into a variable that holds matrices */
MatVariable *mat_variable(Emit *e, const SpvInst *variable);

/* ---- store.c: stores of neighbouring tiles --------------------------------------------------- */

/* Puts a store off. Until mat_stores_done the caller may emit nothing but such stores that accesses
 * memory. */
void mat_store_later(Emit *e, MatStored s);
void mat_stores_done(Emit *e);

/* ---- qcom.c: Qualcomm's conversions ---------------------------------------------------------- */

/* Whether lanes' arrays lie as they are in a column-major tile; if not, they do in a row-major
 * one. */
bool mat_qcom_order(const SpvType *t);

/* ---- ops.c: element by element --------------------------------------------------------------- */

bool mat_is_elementwise(const SpvInst *i); /* an instruction of this file */
/* An operand's elements, in a dense tile of the given order; for who knows of rows alike. */
MatTile mat_operand(Emit *e, SpvId id, bool col);
MatTile mat_operand_rows(Emit *e, SpvId id, bool col);
/* An operand converted to another component type, row-major, in memory of its own. */
MatTile mat_converted(Emit *e, SpvId id, const SpvType *element);
/* Converts the elements of a dense tile into another of the same order, in memory of its own. `t`
 * is a type of the same size and scope. */
typedef struct MatNumbers {
    MatTile tile;
    IrComp comp;
} MatNumbers;
void mat_convert(Emit *e, const SpvType *t, MatNumbers from, MatNumbers to);

/* ---- vector.c: elements side by side as vectors of W lanes ----------------------------------- */

LV mat_at(Emit *e, LV p, LV index, uint64_t scale); /* p + index * scale, bytes */
/* Lanes from, from + step, ... of two vectors side by side (b NULL: of one), n of them; the last
 * lane in place of those beyond. */
LV mat_pick(Emit *e, LV a, LV b, uint32_t from, uint32_t step, uint32_t n);
/* n <= W elements. Nothing behind them is read or written. */
LV mat_load_run(Emit *e, LT type, LV p, uint32_t n, uint32_t align);
void mat_store_run(Emit *e, LV v, LV p, uint32_t n, uint32_t align);

/* ---- prefetch.c: SPV_QCOM_multiple_wait_queues ----------------------------------------------- */

/* What a load of a matrix reads: `lines` runs of `bytes` each, the first at p and each `stride`
 * (i64) behind the one before. */
typedef struct MatPrefetch {
    LV p, stride;
    uint32_t lines, bytes;
    /* by dimension of a tensor layout: bytes (i64) to the next block, and elements in a block */
    const LV *strides;
    const uint64_t *block;
    uint32_t n_dims;
} MatPrefetch;

/* For a load in a loop with wait queues: the distance in bytes (i64) to what it reads some
 * iterations later. NULL: it is not prefetched. `a` is NULL for an OpLoad. */
LV mat_prefetch_distance(Emit *e, const SpvInst *i, const MatPrefetch *a);
LV mat_prefetch_wanted(Emit *e); /* i1: whether this dispatch wants it */
void mat_prefetch(Emit *e, const SpvInst *i, const MatPrefetch *a); /* prefetches that */

/* ---- nv.c ------------------------------------------------------------------------------------ */

/* The type of the first operand. NULL, after reporting, if it is not a matrix. */
const SpvType *mat_source_type(Emit *e, const SpvInst *i);

/* ---- tensor.c: through tensor layouts and views ---------------------------------------------- */

bool mat_tensor_order(Emit *e, const SpvInst *i); /* whether its tiles in memory are column-major */

/* ---- for the target of lanes (cpu/compile.c), whose hooks these are -------------------------- */

bool matrix_begin(Emit *e);                                            /* before the first block */
void matrix_end(Emit *e);                                              /* after the last */
bool matrix_inst(Emit *e, const SpvInst *i);                           /* EmitTarget.inst */
void matrix_block_begin(Emit *e);                                      /* block_begin */
void matrix_block_end(Emit *e);                                        /* block_end */
void matrix_memory_barrier(Emit *e);                                   /* settle */
void matrix_phi_edges(Emit *e, uint32_t from, uint32_t to);            /* edge */
void matrix_prefetch(Emit *e, const SpvInst *i, const EmitPointer *p); /* prefetch */
extern const EmitRule qcom_array_rules[]; /* qcom.c: instructions on arrays */

#endif
