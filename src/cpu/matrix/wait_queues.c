/* SPDX-License-Identifier: MIT
 *
 * SPV_QCOM_multiple_wait_queues on a CPU: a loop's hint of N becomes prefetches, at each load that
 * moves on by a loop-invariant step (pass/wait_queues.c finds them), of the lines that the same
 * load reads some iterations later. In: a load and where it reads. Out: prefetches.
 *
 * A step need only be right to be of use: a prefetch of any address changes no result and cannot
 * fault. More than MOST iterations never paid (PERFORMANCE, rule 6). Whether it pays at all, which
 * is when the data is far away and workgroups are not interleaved, the dispatch knows
 * (CpuEnv.prefetch).
 */
#include "cpu/emit/emit.h"
#include "llvm/ir.h"

#include <stddef.h>

enum { MOST = 2, LINE = 64 };

typedef struct Look {
    Emit *e;
    const SpvInst *load;
} Look;

/* What a step is made of may be loaded in each iteration, and after the load that is ahead. */
static bool is_available(const Look *s, SpvId id)
{
    const Cfg *c = s->e->cfg;
    const SpvInst *i = spv_def(s->e->module, id);
    if (!i || !i->block)
        return i != NULL;
    uint32_t p = c->position[i->block->index];
    if (p == UINT32_MAX || p != s->e->position)
        return p != UINT32_MAX && cfg_dominates(c, p, s->e->position);
    while (i && i != s->load)
        i = i->next;
    return i != NULL;
}

static LV distance(const Look *s, const Step *x)
{
    Emit *e = s->e;
    if (x->kind == STEP_CONSTANT)
        return ir_int(e->i64, x->bits);
    if (x->kind == STEP_VALUE)
        return !is_available(s, x->value)
                   ? NULL
                   : emit_cast_index(e, emit_uniform(e, emit_leaf(e, x->value, 0)), e->i64);
    LV a = distance(s, x->x), b = a ? distance(s, x->y) : NULL;
    return !b                    ? NULL
           : x->kind == STEP_ADD ? LLVMBuildAdd(e->b, a, b, "")
           : x->kind == STEP_SUB ? LLVMBuildSub(e->b, a, b, "")
                                 : LLVMBuildMul(e->b, a, b, "");
}

/* Runs side by side are what the caches' own prefetchers see coming. */
static bool is_dense(const AheadLines *a)
{
    return LLVMIsAConstantInt(a->stride) && LLVMConstIntGetZExtValue(a->stride) == a->bytes;
}

/* What a line holds already needs no prefetch. */
LV emit_ahead_distance(Emit *e, const SpvInst *i, const AheadLines *a)
{
    const AheadLoad *l = wait_queues_load(e->ahead, i);
    Look s = { e, i };
    if (!l || l->moves != AHEAD_STEPS || (a && is_dense(a)))
        return NULL;
    LV far = distance(&s, l->bytes);
    for (uint32_t k = 0; a && far && k < a->n_dims; k++) {
        LV elements = distance(&s, l->slice[k]);
        if (!elements)
            return NULL;
        LV bytes = LLVMBuildMul(e->b, elements, a->strides[k], "");
        far = LLVMBuildAdd(e->b, far, LLVMBuildSDiv(e->b, bytes, ir_int(e->i64, a->block[k]), ""),
                           "");
    }
    if (!far)
        return NULL;
    far = LLVMBuildMul(e->b, far, ir_int(e->i64, MIN(l->queues, MOST)), "");
    int64_t bytes = LLVMIsAConstantInt(far) ? LLVMConstIntGetSExtValue(far) : LINE;
    return bytes < LINE && bytes > -LINE ? NULL : far;
}

static void prefetch(Emit *e, LV p, LV offset, uint32_t bytes)
{
    for (uint32_t k = 0; k < bytes; k += LINE) {
        LV at = LLVMBuildAdd(e->b, offset, ir_int(e->i64, k), "");
        LV args[] = { ir_at(e->b, p, at), ir_int(e->i32, 0), ir_int(e->i32, 3), ir_int(e->i32, 1) };
        ir_intrinsic(e->b, "llvm.prefetch", &e->ptr, 1, args, 4);
    }
}

LV emit_asked_ahead(Emit *e)
{
    LV on = emit_env(e, e->b, e->i32, offsetof(CpuEnv, prefetch));
    return LLVMBuildICmp(e->b, LLVMIntNE, on, ir_int(e->i32, 0), "");
}

void emit_ahead(Emit *e, const SpvInst *i, const AheadLines *a)
{
    LV far = emit_ahead_distance(e, i, a);
    if (!far)
        return;
    If f = if_begin(e, emit_asked_ahead(e));
    Loop l = loop_begin(e, ir_int(e->i64, a->lines));
    LV offset = LLVMBuildAdd(e->b, far, LLVMBuildMul(e->b, l.index, a->stride, ""), "");
    prefetch(e, a->p, offset, a->bytes);
    loop_end(e, &l);
    if_end(e, &f);
}

void emit_ahead_lanes(Emit *e, const SpvInst *i, const Pointer *p)
{
    uint32_t bytes = (uint32_t)spv_type_size(spv_type(e->module, i->type));
    LV far = emit_ahead_distance(e, i, NULL);
    if (!far)
        return;
    If f = if_begin(e, emit_asked_ahead(e));
    LV address = emit_address(e, p, 0, 1);
    bool lanes = emit_is_lanes(address);
    bool side_by_side = lanes && !emit_is_lanes(p->base) && p->affine.group >= e->W &&
                        p->lane_scale * p->affine.stride == (int64_t)bytes;
    for (uint32_t k = 0; k < (lanes && !side_by_side ? e->W : 1); k++) {
        LV at = lanes ? LLVMBuildExtractElement(e->b, address, ir_int(e->i32, k), "") : address;
        prefetch(e, at, far, side_by_side ? bytes * e->W : bytes);
    }
    if_end(e, &f);
}
