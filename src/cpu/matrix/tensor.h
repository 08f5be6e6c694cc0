/* SPDX-License-Identifier: MIT
 *
 * tensor: what the files on loads and stores through tensor layouts and views share.
 */
#ifndef HEDDLE_CPU_MATRIX_TENSOR_H
#define HEDDLE_CPU_MATRIX_TENSOR_H

#include "cpu/matrix/matrix.h"
#include "emit/tensor.h"

enum { TENSOR_MAX_VECTOR = 8, TENSOR_SMALL = 1 << 22 };
/* Clamp modes. */
enum { TENSOR_UNDEFINED, TENSOR_CONSTANT, TENSOR_TO_EDGE, TENSOR_REPEAT, TENSOR_MIRROR };

typedef struct MatTransfer {
    const SpvInst *inst;
    const SpvType *matrix;
    bool store;
    SpvId pointer, layout, view, decode, decode_vector;
    uint32_t vector;   /* elements that decode_vector decodes */
    uint32_t d, clamp; /* of the layout */
    LV *f;             /* its leaves */
    /* by dimension: coordinates below it, as unsigned numbers, are inside */
    LV end[TENSOR_MAX_DIMS];
    uint32_t vd, permutation[TENSOR_MAX_DIMS];
    bool view_sizes;
    LV *v;                /* the view's leaves */
    bool clips;           /* some elements may be left out */
    bool simple, swapped; /* no view that matters; a view that swaps two dimensions */
    uint32_t outer;       /* the last dimension before the innermost whose span may exceed 1 */
    LV base, room;        /* the pointer; robust access: bytes from it that exist */
    bool near;
    uint64_t unit, vector_unit; /* bytes that an index stands for; for decode_vector */
    uint32_t bytes;
    LT type;
    bool small; /* no index in the slice or the view is TENSOR_SMALL or more, so none wraps */
} MatTransfer;

typedef struct MatTensorPlace {
    LV clipped, constant; /* i1 or lanes; NULL: false everywhere */
    LV index;             /* i32: of the block */
    LV block[TENSOR_MAX_DIMS], in_block[TENSOR_MAX_DIMS];
} MatTensorPlace;

/* ---- tensor_open.c: operands ----------------------------------------------------------------- */

uint32_t tensor_constant(Emit *e, SpvId id);                 /* 0 if it is not a constant */
bool tensor_open(Emit *e, const SpvInst *i, MatTransfer *x); /* false after reporting */
void tensor_open_decode(Emit *e, MatTransfer *x);
LV tensor_field(const MatTransfer *x, uint32_t which, uint32_t dim);
/* The ids behind the addressing mask, by bit: view, decode function, decode function of vectors. */
void tensor_addressing(const SpvInst *i, SpvId ids[3]);

/* ---- tensor_address.c ------------------------------------------------------------------------ */

/* These take scalars or lanes, unified. */
typedef LV TensorBuild(LLVMBuilderRef b, LV x, LV y, const char *name);
LV tensor_op(Emit *e, TensorBuild *build, LV x, LV y);
LV tensor_compare(Emit *e, LLVMIntPredicate p, LV x, LV y);
LV tensor_choose(Emit *e, LV c, LV x, LV y);
LV tensor_both(Emit *e, LV x, LV y); /* NULL stands for true */
LV tensor_not(Emit *e, LV v);
LV tensor_widen(Emit *e, LV v); /* to 64 bits, unsigned */
/* x / y and the remainder, unsigned. */
LV tensor_divide(Emit *e, LV x, LV y, LV *rest);
/* `aligned`: row and column are coordinates of the slice, but for the number of a line. */
MatTensorPlace tensor_place(Emit *e, const MatTransfer *x, LV row, LV col, bool aligned);
/* Elements that only the innermost dimension tells apart, in which they follow one another. */
typedef struct MatTensorLine {
    LV start;   /* i32: index of the one whose coordinate in it is 0 */
    LV inner;   /* i32: the first one's coordinate in it, not clamped */
    LV outside; /* i1 or lanes: they have the constant; NULL: none has */
} MatTensorLine;
/* `at`: the number of an aligned line, or the linear index of the line's first element. */
MatTensorLine tensor_line(Emit *e, const MatTransfer *x, LV at, bool aligned);
/* What a store or a load does with coordinates that are outside. */
uint32_t tensor_mode(const MatTransfer *x);
LV tensor_modulo(Emit *e, LV c, LV n); /* OpSMod of a coordinate by an unsigned number */
/* The distance in bytes from the pointer to a block. Exact, since neither factor has more than 32
 * bits. */
LV tensor_bytes(Emit *e, LV index, uint64_t unit);
/* Robust access: whether `bytes` at an arbitrary byte offset exist; NULL: they do. */
LV tensor_exists(Emit *e, const MatTransfer *x, LV offset, uint64_t bytes);

/* ---- tensor_lines.c -------------------------------------------------------------------------- */

/* Transfers from or to a dense tile element by element. `aligned`: i1, whether lines are; NULL:
 * never. */
void tensor_by_lines(Emit *e, const MatTransfer *x, const MatTile *home, LV aligned);
LV tensor_clamp_value(Emit *e, const MatTransfer *x);
/* A vector of elements in memory, of which those in `mask` exist (NULL: all): loads one like
 * `value`, or stores `value` and returns NULL. */
LV tensor_run(Emit *e, LV p, LV value, uint32_t align, LV mask, bool store);

/* ---- tensor_runs.c --------------------------------------------------------------------------- */

/* How the matrix is divided into lines that are runs in memory. */
typedef struct MatTensorRuns {
    LV possible;      /* i1; NULL: never */
    LV length, lines; /* i32: elements of a line, and the number of lines */
    LV width,
        first; /* i32: of the clip region: columns, and the tile's index of its first element */
    bool aligned;
} MatTensorRuns;
MatTensorRuns tensor_runs(Emit *e, const MatTransfer *x, LV aligned);
void tensor_by_runs(Emit *e, const MatTransfer *x, const MatTensorRuns *r, const MatTile *tile);

/* ---- tensor_decode.c ------------------------------------------------------------------------- */

/* What the decode function returns for the W elements at `p`. If all lanes are in one block, they
 * pass one pointer. Aligned lines step by one. */
LV tensor_decode(Emit *e, const MatTransfer *x, bool aligned, const MatTensorPlace *p, LV mask);
/* i1: whether aligned lines consist of whole vectors; NULL: they do not. */
LV tensor_in_vectors(Emit *e, const MatTransfer *x, bool col);
void tensor_by_vectors(Emit *e, const MatTransfer *x, const MatTile *tile); /* where they do */

#endif
