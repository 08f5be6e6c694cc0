/* SPDX-License-Identifier: MIT
 *
 * tensor: layouts and views of SPV_NV_tensor_addressing as rows of words, and where they put an
 * element. Private to lower_tensor's files.
 */
#ifndef HEDDLE_LOWER_TENSOR_H
#define HEDDLE_LOWER_TENSOR_H

#include "lower/internal.h"

enum { TENSOR_BLOCK, TENSOR_SIZE, TENSOR_STRIDE, TENSOR_OFFSET, TENSOR_SPAN, TENSOR_CLAMP };
enum { VIEW_SIZE, VIEW_STRIDE, VIEW_CLIP };
enum { CLIP_ROW, CLIP_ROWS, CLIP_COLUMN, CLIP_COLUMNS };

/* What a type says. */
typedef struct LowerTensorType {
    bool is_view, has_sizes;
    uint32_t dims, clamp, words; /* words: in the array that it becomes */
    uint32_t order[TENSOR_MAX_DIMENSIONS];
} LowerTensorType;
bool lower_tensor_type(const Lower *l, SpvId type, LowerTensorType *out);

typedef struct LowerTensorAccess {
    SpvInst *inst;
    bool store;
    const SpvType *matrix;
    SpvId object, layout, view;
    LowerTensorType of_layout, of_view;
    SpvId decode;        /* function */
    bool vector;         /* that it returns */
    SpvId coordinates;   /* the type of what it is told */
    SpvId first;         /* where the tensor begins: an address, or bytes into the buffer */
    SpvId block_pointer; /* the type of an address; 0: blocks have places in a buffer */
    uint32_t block_size; /* bytes */
    bool blocks;         /* of more than one element, perhaps */
    SpvId x[5 * TENSOR_MAX_DIMENSIONS + 1]; /* the layout's words, u32 */
    SpvId v[2 * TENSOR_MAX_DIMENSIONS + 4]; /* the view's */
    LowerAddress address;                   /* of elements where there is no decode function */
} LowerTensorAccess;

/* Where an element is. */
typedef struct LowerTensorPlace {
    SpvId clipped, inside; /* conditions; 0: no, and yes */
    SpvId index;           /* of the element, or of its block */
    SpvId block[TENSOR_MAX_DIMENSIONS], in_block[TENSOR_MAX_DIMENSIONS];
} LowerTensorPlace;

/* tensor_place.c: by row and column of the whole matrix */
LowerTensorPlace lower_tensor_place(Lower *l, SpvInst *at, const LowerTensorAccess *a, SpvId row,
                                    SpvId column);
/* tensor_forward.c: what is kept in variables shows where it is used. */
void lower_tensor_forward(Lower *l, SpvFunction *function);

/* tensor_plain.c */
typedef struct LowerPlain {
    SpvId inside;          /* that is so; 0: always */
    SpvId pointer, stride; /* of KHR's access */
    SpvId number;          /* of the element that the pointer leads to */
    bool by_column;
} LowerPlain;
/* The dimensions that the whole matrix' rows and columns are, in this order; false where there are
 * no two such, or the view does more than to change their order. */
bool lower_tensor_dimensions(Lower *l, const LowerTensorAccess *a, LowerPart whole,
                             uint32_t along[2]);
/* Whether an access may be one of KHR's. */
bool lower_tensor_plain(Lower *l, LowerTensorAccess *a, LowerPlain *out);
SpvId lower_tensor_plain_access(Lower *l, SpvInst *at, const LowerTensorAccess *a,
                                const LowerPlain *p);

/* tensor.c: a loaded element, or `other` where that is not inside. */
SpvId lower_tensor_value(Lower *l, SpvInst *at, const LowerTensorAccess *a,
                         const LowerTensorPlace *p, SpvId other);

/* tensor_share.c: a matrix of blocks that is decoded together; 0, and nothing done, where that does
 * not pay or there is no memory for it. */
SpvId lower_tensor_share(Lower *l, LowerTensorAccess *a, SpvId outside);

/* tensor_decode.c: calls the function for an element that is inside. */
SpvId lower_tensor_decode(Lower *l, SpvInst *at, const LowerTensorAccess *a,
                          const LowerTensorPlace *p);
/* Readies the function, for which the buffer needs another view; false after reporting. */
bool lower_tensor_decode_open(Lower *l, LowerTensorAccess *a);

/* decode_copy.c: functions that take the address of a block, for one that has a place in a buffer.
 */
typedef struct LowerDecoderMade {
    SpvId function, copy;
    uint64_t given; /* by parameter: whether it is an address in the buffer, or holds one */
} LowerDecoderMade;
typedef struct LowerDecodeCopy {
    Lower *l;
    SpvId variable; /* the buffer */
    VEC(LowerDecoderMade) made;
} LowerDecodeCopy;
SpvId lower_tensor_copy_decoder(LowerDecodeCopy *c, SpvId function,
                                uint64_t given); /* 0 after reporting */

#endif
