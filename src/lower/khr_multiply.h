/* SPDX-License-Identifier: MIT
 *
 * What the files about multiply-adds share. Private to lower/.
 */
#ifndef HEDDLE_LOWER_KHR_MULTIPLY_H
#define HEDDLE_LOWER_KHR_MULTIPLY_H

#include "lower/internal.h"

typedef struct LowerMultiply {
    SpvInst *inst;
    const SpvType *a, *b, *c, *d;
    const SpvType *sum; /* the type that is summed up in */
    bool sign_a, sign_b, sign_c, sign_d, saturate;
    uint32_t depth, slab; /* K, and how much of it is staged at once */
    uint32_t b_first;     /* where B begins in its staging */
    SpvId b_staged;       /* the type that it is staged in: its elements', or words of several */
    uint32_t packed;      /* elements of a column in a word of these; 1: they are not packed */
    bool shuffles;        /* A is not staged */
    SpvId same;           /* the number that all of B are, a constant: it is not staged */
    SpvId sums;           /* a variable: an array of them */
    bool own_rows;        /* nothing is staged: sums of rows */
    LowerGrid grid;       /* of sums */
    bool shares;          /* they share what is loaded by it */
    SpvId last;           /* a variable: the last row's sums, where others may be like it; or 0 */
} LowerMultiply;

/* A component of A, B or C, whose type is `from`, as a number of the sum's type. */
SpvId multiply_widen(Lower *l, SpvInst *at, const LowerMultiply *x, const SpvType *from,
                     bool is_signed, SpvId value);
/* Of the staged A: of a row the (k + of)-th element, as such a number. */
SpvId multiply_fetch_a(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId k, uint32_t of,
                       SpvId row);
/* A pointer to the sum of the invocation's element e. */
SpvId multiply_sum(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId e);
SpvId multiply_add(Lower *l, SpvInst *at, const LowerMultiply *x, SpvId sum, const SpvId of[2]);
/* Adds the products of what is staged to all sums. */
void multiply_add_all(Lower *l, SpvInst *before, const LowerMultiply *x);

/* khr_multiply_rows.c */
bool multiply_has_own_rows(const Lower *l, const LowerMultiply *x);
void multiply_add_own_rows(Lower *l, const LowerMultiply *x);
/* Rows of A may be the last one again. The products then, and the barrier behind them. */
bool multiply_may_repeat(const Lower *l, const LowerMultiply *x);
void multiply_add_unlike(Lower *l, SpvInst *at, const LowerMultiply *x);

#endif
