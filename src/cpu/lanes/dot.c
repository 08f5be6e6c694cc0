/* SPDX-License-Identifier: MIT
 *
 * Dot products of four bytes and four bytes (SPV_KHR_integer_dot_product with packed operands), by
 * instructions of the machine.
 */
#include "cpu/lanes/internal.h"
#include "llvm/arith.h"

LV lanes_dot4(Emit *e, LV x, LV y, bool x_signed, bool y_signed)
{
    const CpuTarget *t = lanes_of(e)->machine;
    IrDots d = { e->b, t->vector_bits, (t->sets & CPU_VNNI) != 0 };
    if (!(t->sets & CPU_DOTS) || e->W < 4 || (!emit_is_lanes(x) && !emit_is_lanes(y)))
        return NULL;
    return arith_dot4(&d, NULL, emit_lanes(e, x), emit_lanes(e, y), x_signed, y_signed);
}
