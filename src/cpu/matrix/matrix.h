/* SPDX-License-Identifier: MIT
 *
 * matrix: cooperative matrices in the code generator; shared by matrix*.c only.
 *
 * A matrix value lies in memory: as a tile, the address of its element (0, 0), the bytes from row
 * to row (column-major: column to column), and its order. What is its own lies in its web's home in
 * the subgroup's frame, dense. A load may stay where it was loaded from (LAZY) until a multiply-add
 * reads it, and multiply-adds wait (PENDING) until the block ends or somebody looks, so that those
 * that share operands become one register-blocked kernel (gemm.h).
 */
#ifndef HEDDLE_CPU_MATRIX_MATRIX_H
#define HEDDLE_CPU_MATRIX_MATRIX_H

#include "cpu/emit/emit.h"
#include "cpu/gemm/gemm.h"
#include "llvm/arith.h"

typedef struct Tile {
    LV ptr, stride;             /* stride: i64, bytes */
    bool col;                   /* column-major */
    bool near;                  /* in the frame or workgroup memory */
} Tile;

typedef enum MatState { MAT_NONE, MAT_HOME, MAT_LAZY, MAT_PENDING, MAT_SPLAT } MatState;

/* A place in a variable that holds matrices. */
typedef struct MatPlace {
    SpvId variable;             /* 0: none */
    bool known;                 /* `offset` is the whole truth; false: some index is dynamic */
    uint64_t offset;
} MatPlace;

typedef struct MatValue {
    SpvId id;
    const SpvType *type;
    MatState state;
    Tile tile;                  /* HOME, LAZY */
    LV ahead;                   /* LAZY: bytes to a later iteration's tile, or NULL */
    /* HOME within a variable's memory: must be copied before that is written */
    MatPlace place;
    LV splat;                   /* SPLAT: every element, a scalar */
    uint32_t uses;              /* in the function; counted down as they are met */
    uint32_t other_blocks;      /* uses outside the block that defines it */
} MatValue;

/* Who holds the elements of a matrix: the subgroup's W lanes (in a workgroup that is smaller as
 * many as it has invocations), or all invocations of the workgroup.
 * Element e of holder h is linear element e * n + h of the row-major matrix. */
typedef struct Holders { uint32_t n; LV first; /* i32: of this subgroup's lane 0 */ } Holders;

typedef struct MulAdd {         /* a pending multiply-add chain: start + sum over a[i] * b[i] */
    const SpvInst *inst;        /* the first, for diagnostics and operand flags */
    SpvId start, result;
    const SpvType *type;        /* of what is in `to` */
    VEC(SpvId) a, b;
    uint32_t scope;
    GemmShape shape;            /* rows = cols = 1, steps as long as the chain */
    Tile to;                    /* where the result goes */
    MatPlace place;             /* of `to`, when it is a variable's memory */
} MulAdd;

typedef struct Home { Tile tile; uint64_t bytes; } Home;

typedef struct MatVariable { LV base; uint64_t bytes; } MatVariable;

typedef struct CopyFn { uint32_t rows, cols, bytes; bool from_col, to_col; LV fn; } CopyFn;

typedef struct Stored { const SpvType *type; Tile to, from; } Stored; /* both of one order */

struct Matrix {
    Gemm *gemm;
    MatrixWebs *webs;
    MatValue **values;          /* by id */
    MatVariable **variables;    /* by id */
    Home *homes;                /* by web */
    uint8_t *web_col;           /* by web: column-major homes */
    VEC(MulAdd) pending;
    VEC(MatValue *) lazy;       /* loads of this block not read yet */
    VEC(MatValue *) borrowed;   /* values of this block that lie in a variable's memory */
    VEC(CopyFn) copies;
    VEC(Stored) stores;         /* not carried out yet: of one type and order */
    uint16_t *ids;              /* mat_ids: of the last instruction; how many there is room for */
    uint32_t ids_room;
    LV table, scratch;          /* what the kernels are called with; the largest table so far */
    uint32_t table_entries;
    uint8_t *same_in_workgroup; /* by id: workgroup_same's */
    uint64_t *loop_bytes;       /* by Cfg.loops: streamed from buffers an iteration */
    bool shared_elements;       /* invocations look at their elements of a workgroup's matrix */
    bool leading;               /* in code that only the first subgroup runs */
    bool noted_lanes;           /* that some extract zeros was said */
};

/* ---- matrix.c -------------------------------------------------------------------------------- */

/* Where the instruction has ids, all of them; until the next call. */
const uint16_t *mat_ids(Emit *e, const SpvInst *i, uint32_t *n);
MatValue *mat_value(Emit *e, SpvId id);             /* never NULL for an id of matrix type */
/* its elements in memory, now; valid until the next write */
Tile mat_read(Emit *e, SpvId id);
Tile mat_home(Emit *e, SpvId id);                   /* where its own elements go; not written yet */
/* Makes it safe to write there: whoever still needs what lies there has read or copied it. */
void mat_before_write(Emit *e, const Tile *t, const MatPlace *place);
/* The result of `i`, about to be written in full; then mat_wrote. */
Tile mat_result(Emit *e, const SpvInst *i);
void mat_flush(Emit *e);                            /* emits the pending multiply-adds */
Comp mat_comp(const SpvType *matrix);
uint64_t mat_bytes(Emit *e, const SpvType *matrix); /* of a dense home, padding included */
bool mat_is(const SpvType *t);
/* A workgroup's operation counts once. */
void mat_count(Emit *e, const SpvType *matrix, DeviceStat stat, uint64_t n);
Holders mat_holders(Emit *e, const SpvType *matrix);
/* Memory for a matrix: the subgroup's frame, or the workgroup's memory. */
LV mat_frame(Emit *e, const SpvType *matrix, uint64_t bytes);
/* So many 8-byte entries of a table on the stack, for a call that is made at once. */
LV mat_table(Emit *e, uint32_t entries);
/* Around code that reads or writes matrices of that type's scope whole: a workgroup's are the
 * first subgroup's work. Nothing computed inside may be used behind. */
typedef struct Leader { bool on; If f; } Leader;
Leader mat_leader_begin(Emit *e, const SpvType *matrix);
void mat_leader_end(Emit *e, Leader *l);

/* ---- matrix_group.c: pending multiply-adds --------------------------------------------------- */

void mat_muladd(Emit *e, const SpvInst *i);
/* all of e->matrix->pending, which is emptied */
void mat_emit_groups(Emit *e);

/* ---- matrix_memory.c: tiles ------------------------------------------------------------------ */

Tile mat_dense(Emit *e, const SpvType *t, LV ptr, bool col);
void mat_copy(Emit *e, const SpvType *t, const Tile *to, const Tile *from);
void mat_fill(Emit *e, const SpvType *t, const Tile *to, LV scalar);
/* The tile a load or store instruction names; `size` bytes of it must be inside when access is
 * robust. */
Tile mat_memory_tile(Emit *e, const SpvInst *i, const SpvType *t, SpvId pointer, uint32_t layout,
                     SpvId stride, LV *inside);
void mat_load(Emit *e, const SpvInst *i);
void mat_store(Emit *e, const SpvInst *i);
/* Element `index` (i32, scalar or a lane's own) of each lane: <W x T>. The tile is dense and in the
 * frame. */
LV mat_element(Emit *e, const SpvType *t, const Tile *tile, LV index);
void mat_set_element(Emit *e, const SpvType *t, const Tile *tile, LV index, LV value);
/* Only multiply-adds of this block read the load's result: it may stay where it is until then. */
bool mat_may_stay(Emit *e, const SpvInst *i);
/* Variables: where access chain or variable `id` leads. The element index is set when it enters a
 * matrix. */
MatPlace mat_place(Emit *e, SpvId id, Tile *tile, const SpvType **type, LV *element);
bool mat_points(Emit *e, SpvId pointer);            /* into a variable that holds matrices */

/* ---- matrix_store.c: stores of neighbouring tiles -------------------------------------------- */

/* The next instruction that reads or writes memory is such a store too, or mat_stores_done comes
 * before it. */
void mat_store_later(Emit *e, const SpvType *t, const Tile *to, const Tile *from);
void mat_stores_done(Emit *e);

/* ---- matrix_qcom.c: Qualcomm's conversions --------------------------------------------------- */

void mat_qcom_construct(Emit *e, const SpvInst *i);
void mat_qcom_extract(Emit *e, const SpvInst *i);
/* Whether a column-major tile takes lanes' arrays as they are; else a row-major one does. */
bool mat_qcom_order(const SpvType *t);

/* ---- matrix_ops.c: element by element -------------------------------------------------------- */

bool mat_elementwise(Emit *e, const SpvInst *i);    /* false: not such an instruction */
/* An operand's elements in a dense tile of that order. */
Tile mat_operand(Emit *e, SpvId id, bool col);
/* The same converted to another component type, row by row, in memory of their own. */
Tile mat_converted(Emit *e, SpvId id, const SpvType *element);
/* Converts the elements of a dense tile into those of another, of one order, in memory that it does
 * not share; `t` has their number and scope. */
typedef struct MatNumbers { Tile tile; Comp comp; } MatNumbers;
void mat_convert(Emit *e, const SpvType *t, MatNumbers from, MatNumbers to);

/* ---- matrix_nv.c: conversions, per-element functions, reductions ----------------------------- */

void mat_convert_use(Emit *e, const SpvInst *i);
void mat_transpose(Emit *e, const SpvInst *i);
void mat_per_element(Emit *e, const SpvInst *i);
void mat_reduce(Emit *e, const SpvInst *i);

/* ---- tensor.c: through tensor layouts and views ---------------------------------------------- */

void mat_load_tensor(Emit *e, const SpvInst *i);
void mat_store_tensor(Emit *e, const SpvInst *i);
bool mat_tensor_order(Emit *e, const SpvInst *i);   /* the tile in memory is column-major */

#endif
