/* SPDX-License-Identifier: MIT
 *
 * OpenCL.std: what its two files share with each other and with ops.c.
 */
#ifndef HEDDLE_EMIT_OPENCL_STD_H
#define HEDDLE_EMIT_OPENCL_STD_H

#include "emit/ops.h"

void opencl_inst(Emit *e, const SpvInst *i); /* OpExtInst of OpenCL.std */
/* opencl_memory.c: loads, stores, results through pointers, geometry, shuffles, printf. False if
 * the instruction is not one of these. */
bool opencl_memory_inst(Emit *e, const SpvInst *i);

LV opencl_remquo(Emit *e, LV x, LV y, LV *quotient);
LV opencl_fract(Emit *e, LV x, LV *whole);

#endif
