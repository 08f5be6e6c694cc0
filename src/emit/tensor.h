/* SPDX-License-Identifier: MIT
 *
 * tensor: layouts and views of SPV_NV_tensor_addressing as values. Whoever loads and stores through
 * them reads their leaves.
 */
#ifndef HEDDLE_EMIT_TENSOR_H
#define HEDDLE_EMIT_TENSOR_H

#include "emit/emit.h"

enum { TENSOR_MAX_DIMS = 5 };
/* A layout's leaves: one of each kind a dimension, then the value beyond its edges. */
enum { TENSOR_BLOCK, TENSOR_SIZE, TENSOR_STRIDE, TENSOR_OFFSET, TENSOR_SPAN, TENSOR_CLAMP_VALUE };
/* A view's: one of each kind a dimension, then what it clips. */
enum { TENSOR_VIEW_SIZE, TENSOR_VIEW_STRIDE, TENSOR_VIEW_CLIP };
enum { TENSOR_CLIP_ROW, TENSOR_CLIP_ROWS, TENSOR_CLIP_COL, TENSOR_CLIP_COLS };

/* Of a layout or view, its n leaves, the same for the whole subgroup. */
LV *emit_tensor_state(Emit *e, SpvId id, uint32_t n);
/* n, or another number where it is 0: a division by it must not trap. */
LV emit_tensor_divisor(Emit *e, LV n);

#endif
