/* SPDX-License-Identifier: MIT
 *
 * Adjacent elements in memory, as vectors of W lanes.
 */
#include "cpu/matrix/matrix.h"

LV mat_at(Emit *e, LV p, LV index, uint64_t scale)
{
    LV offset = LLVMBuildMul(e->b, index, ir_int(e->i64, scale), "");
    return ir_at_inbounds(e->b, p, offset);
}

LV mat_pick(Emit *e, LV a, LV b, uint32_t from, uint32_t step, uint32_t n)
{
    int *lanes = NEW_ARRAY(e->arena, int, n + 1);
    uint32_t last = LLVMGetVectorSize(LLVMTypeOf(a)) * (b ? 2 : 1) - 1;
    for (uint32_t k = 0; k < n; k++)
        lanes[k] = (int)MIN(from + step * k, last);
    return ir_shuffle(e->b, a, b, lanes, n);
}

LV mat_load_run(Emit *e, LT type, LV p, uint32_t n, uint32_t align)
{
    LV v = ir_load(e->b, LLVMVectorType(type, n), p, align);
    return n == e->W ? v : mat_pick(e, v, NULL, 0, 1, e->W);
}

void mat_store_run(Emit *e, LV v, LV p, uint32_t n, uint32_t align)
{
    if (n != e->W)
        v = mat_pick(e, v, NULL, 0, 1, n);
    ir_store(e->b, v, p, align);
}
