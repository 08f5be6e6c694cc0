/* SPDX-License-Identifier: MIT
 *
 * Who holds the elements of a matrix, where it lies, and who works on it. A workgroup's matrix lies
 * in workgroup memory, and the first subgroup does what reads or writes it as a whole.
 */
#include "cpu/matrix/matrix.h"

#include <stddef.h>

uint64_t mat_workgroup_size(const Emit *e)
{
    return (uint64_t)e->local_size[0] * e->local_size[1] * e->local_size[2];
}

/* The workgroup has fewer invocations than a subgroup has lanes. */
static bool is_small(const Emit *e)
{
    return mat_workgroup_size(e) && mat_workgroup_size(e) < e->W;
}

/* Padded, so that whole vectors and whole rows of lanes may be read and written anywhere in it. */
uint64_t mat_bytes(Emit *e, const SpvType *t)
{
    uint64_t elements = align_up((uint64_t)t->rows * t->cols, MAX(64u, e->W));
    if (t->scope == SpvScopeWorkgroup) {
        uint64_t n = mat_workgroup_size(e);
        elements = align_up((elements + n - 1) / n * n, 64);
    }
    if (is_small(e)) /* the last row of lanes may begin at any element */
        elements = align_up(elements + e->W, MAX(64u, e->W));
    return elements * comp_bytes(mat_comp(t));
}

/* "All invocations in 'Scope' cooperate to compute and store the matrix"
 * (OpTypeCooperativeMatrixKHR): those that exist, where a workgroup is smaller than a subgroup. */
uint32_t mat_n_holders(const Emit *e, const SpvType *t)
{
    bool lanes = t->scope != SpvScopeWorkgroup || mat_workgroup_size(e) <= e->W;
    return lanes && !is_small(e) ? e->W : (uint32_t)mat_workgroup_size(e);
}

MatHolders mat_holders(Emit *e, const SpvType *t)
{
    uint32_t n = mat_n_holders(e, t);
    if (t->scope != SpvScopeWorkgroup || mat_workgroup_size(e) <= e->W)
        return (MatHolders){ n, ir_int(e->i32, 0) };
    LV subgroup = lanes_env(e, e->entry_b, e->i32, offsetof(CpuEnv, subgroup));
    return (MatHolders){ n, LLVMBuildMul(e->entry_b, subgroup, ir_int(e->i32, e->W), "") };
}

LV mat_frame(Emit *e, const SpvType *t, uint64_t bytes)
{
    if (t->scope != SpvScopeWorkgroup)
        return lanes_frame(e, bytes);
    LV base = lanes_env(e, e->entry_b, e->ptr, offsetof(CpuEnv, shared));
    uint64_t at = align_up(e->shared_bytes, 64);
    e->shared_bytes = at + bytes;
    LV offset = ir_int(e->i64, at);
    return ir_at(e->entry_b, base, offset);
}

LV mat_table(Emit *e, uint32_t entries)
{
    MatEmit *m = matrices_of(e);
    if (entries > m->table_entries) {
        m->table_entries = entries;
        m->table = emit_alloca(e, LLVMArrayType2(e->i64, entries), "tiles");
    }
    return m->table;
}

static LV is_leader(Emit *e)
{
    LV subgroup = lanes_env(e, e->b, e->i32, offsetof(CpuEnv, subgroup));
    return LLVMBuildICmp(e->b, LLVMIntEQ, subgroup, ir_int(e->i32, 0), "");
}

void mat_count(Emit *e, const SpvType *t, DeviceStat stat, uint64_t n)
{
    if (!n || !lanes_of(e)->options->stats)
        return;
    EmitIf f = { 0 };
    bool some = t && t->scope == SpvScopeWorkgroup && mat_workgroup_size(e) > e->W;
    if (some)
        f = if_begin(e, is_leader(e));
    lanes_count(e, stat, NULL, n);
    if (some)
        if_end(e, &f);
}
