/* SPDX-License-Identifier: MIT
 *
 * Workgroups that run as one block, because together they compute a product that is large enough
 * for the instructions of a warpgroup (wgmma, PTX ISA 9.7.15); or a workgroup whose subgroups do,
 * which is a block already.
 *
 * fuse.c finds the loop and says it here; staged.c does its work, before the loop is entered, as
 * far as that is possible; what is left the loop does, which stays as it is.
 */
#ifndef HEDDLE_NVPTX_FUSE_H
#define HEDDLE_NVPTX_FUSE_H

#include "nvptx/internal.h"

enum {
    NVPTX_HELD = 8, /* elements of a matrix that a thread holds, at most */
    /* what a block computes; where the dispatch has few, half of the columns, of half the warps */
    NVPTX_BLOCK_ROWS = 128,
    NVPTX_BLOCK_COLUMNS = 256,
    NVPTX_MOST_TILES = 32, /* loads of an operand in an iteration */
};

/* Where an operand's tiles are, in the order of rows (of B: columns), in them of k. All ids are of
 * pointers that are evaluated before the loop. */
typedef struct NvptxOperand {
    SpvId first[NVPTX_MOST_TILES];  /* in the first iteration */
    SpvId second[NVPTX_MOST_TILES]; /* in the next */
    SpvId last[NVPTX_MOST_TILES];   /* in the last that staged.c does */
    uint32_t lines;                 /* tiles of rows, of B of columns; `chain` of k in each */
    SpvId stride;
    bool by_column;
} NvptxOperand;

typedef struct NvptxFusion {
    uint32_t before, header; /* Cfg positions: the block that enters the loop, and its first */
    NvptxOperand a, b;
    uint32_t chain;        /* tiles of k in an iteration */
    uint32_t queues;       /* that the loop hints at, or 0 */
    uint32_t tile, held;   /* rows and columns of each, elements of it that a thread holds */
    SpvInst *sums[64];     /* phis of the header: by rows */
    const SpvType *factor; /* an element of A and B */
    const SpvType *sum;    /* of C */
    bool a_signed, b_signed;
    /* the loop counts from `start` in equal steps while it is less than `bound` */
    SpvInst *counter;
    SpvId start, bound, stages, iterations, end; /* end: the counter behind so many iterations */
    bool compares_signed;
    /* conditions under which an iteration does as said, which hold from first to last if they hold
     * in the first, the second and the last; n_guards of each */
    SpvId *guards[3];
    uint32_t n_guards;
    uint32_t row_axis, column_axis; /* of workgroups, by which rows and columns of C go */
    /* workgroups of the block along those: 8, 16 or 32 warps; NvptxEnv has columns. 1 1: a block is
     * a workgroup, and may be half as wide as others are. */
    uint32_t rows, columns;
    uint32_t down, across; /* a workgroup's subgroups, by rows and columns of C */
    /* what staged.c makes of it: by sum and element, and the counter */
    LV leaf[64][NVPTX_HELD], count;
} NvptxFusion;

/* NULL: a block is a workgroup. */
static inline const NvptxFusion *fused_workgroups(const Emit *e)
{
    const NvptxFusion *f = threads_of(e)->fusion;
    return f && f->rows * f->columns > 1 ? f : NULL;
}
/* Warps of the widest block by columns of C. */
static inline uint32_t fusion_columns(const NvptxFusion *f)
{
    return NVPTX_BLOCK_COLUMNS / (f->tile * f->b.lines);
}

/* NULL: nothing was found, and nothing has changed. e has a module and a Cfg. */
NvptxFusion *fusion_find(Emit *e);
/* At the end of block `before`. */
void fusion_emit(Emit *e);
/* What a phi of the header is there, or NULL where it is what the module says. */
LV fusion_incoming(const Emit *e, const SpvInst *phi, uint32_t leaf, uint32_t from, uint32_t at);

#endif
