/* SPDX-License-Identifier: MIT
 *
 * tensor: layouts and views of SPV_NV_tensor_addressing as values. Loads and stores through them
 * read their leaves.
 */
#ifndef HEDDLE_EMIT_TENSOR_H
#define HEDDLE_EMIT_TENSOR_H

#include "emit/emit.h"

enum { TENSOR_MAX_DIMS = 5 };
/* The leaves of a layout: one of each kind for each dimension, then the value outside its
 * bounds. */
enum { TENSOR_BLOCK, TENSOR_SIZE, TENSOR_STRIDE, TENSOR_OFFSET, TENSOR_SPAN, TENSOR_CLAMP_VALUE };
/* The leaves of a view: one of each kind for each dimension, then the clip region. */
enum { TENSOR_VIEW_SIZE, TENSOR_VIEW_STRIDE, TENSOR_VIEW_CLIP };
enum { TENSOR_CLIP_ROW, TENSOR_CLIP_ROWS, TENSOR_CLIP_COL, TENSOR_CLIP_COLS };

/* The n leaves of a layout or view, which are the same for the whole subgroup. */
LV *emit_tensor_state(Emit *e, SpvId id, uint32_t n);
/* n, or 1 if it is 0: dividing by it must not trap. */
LV emit_tensor_divisor(Emit *e, LV n);

#endif
