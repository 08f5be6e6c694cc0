/* SPDX-License-Identifier: MIT
 *
 * SPV_QCOM_multiple_wait_queues on a CPU. In: a load that advances by a loop-invariant step (found
 * by pass/wait_queues.c) in a loop with the hint N, and where it reads. Out: prefetches of the
 * lines that the same load reads some iterations later.
 *
 * A step need not be right, only useful: a prefetch of any address changes no result and cannot
 * fault. Prefetching more than CpuTuning.queues iterations ahead never paid. Whether it pays at all
 * (if the data is in no near cache, and workgroups are not interleaved) is known to the dispatch
 * (CpuEnv.prefetch).
 */
#include "cpu/matrix/matrix.h"

#include <stddef.h>

typedef struct PrefetchLoad {
    Emit *e;
    const SpvInst *load;
} PrefetchLoad;

/* A step's value may be computed anew in each iteration, and then only after the load. */
static bool is_step_available(const PrefetchLoad *s, SpvId id)
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

static LV step_bytes(const PrefetchLoad *s, const PassAheadStep *x)
{
    Emit *e = s->e;
    if (x->kind == STEP_CONSTANT)
        return ir_int(e->i64, x->bits);
    if (x->kind == STEP_VALUE)
        return !is_step_available(s, x->value)
                   ? NULL
                   : emit_cast_index(e, emit_uniform(e, emit_leaf(e, x->value, 0)), e->i64);
    LV a = step_bytes(s, x->x), b = a ? step_bytes(s, x->y) : NULL;
    return !b                    ? NULL
           : x->kind == STEP_ADD ? LLVMBuildAdd(e->b, a, b, "")
           : x->kind == STEP_SUB ? LLVMBuildSub(e->b, a, b, "")
                                 : LLVMBuildMul(e->b, a, b, "");
}

/* The machine prefetches lines that lie side by side itself. */
static bool is_dense(const MatPrefetch *a)
{
    return LLVMIsAConstantInt(a->stride) && LLVMConstIntGetZExtValue(a->stride) == a->bytes;
}

/* A step within one cache line needs no prefetching. */
LV mat_prefetch_distance(Emit *e, const SpvInst *i, const MatPrefetch *a)
{
    const PassAheadLoad *l = wait_queues_load(e->ahead, i);
    PrefetchLoad s = { e, i };
    if (!l || l->moves != AHEAD_STEPS || (a && is_dense(a)))
        return NULL;
    LV distance = step_bytes(&s, l->bytes);
    for (uint32_t k = 0; a && distance && k < a->n_dims; k++) {
        LV elements = step_bytes(&s, l->slice[k]);
        if (!elements)
            return NULL;
        LV bytes = LLVMBuildMul(e->b, elements, a->strides[k], "");
        LV blocks = LLVMBuildSDiv(e->b, bytes, ir_int(e->i64, a->block[k]), "");
        distance = LLVMBuildAdd(e->b, distance, blocks, "");
    }
    if (!distance)
        return NULL;
    const CpuTuning *t = lanes_of(e)->machine->tuning;
    distance = LLVMBuildMul(e->b, distance, ir_int(e->i64, MIN(l->queues, t->queues)), "");
    int64_t line = t->line_bytes;
    int64_t bytes = LLVMIsAConstantInt(distance) ? LLVMConstIntGetSExtValue(distance) : line;
    return bytes < line && bytes > -line ? NULL : distance;
}

/* How near: llvm.prefetch's locality. */
typedef enum Near { NEAR_L2 = 2, NEAR_L1 = 3 } Near;

static void prefetch_run(Emit *e, LV p, LV offset, uint32_t bytes, Near into)
{
    for (uint32_t k = 0; k < bytes; k += lanes_of(e)->machine->tuning->line_bytes) {
        LV at = LLVMBuildAdd(e->b, offset, ir_int(e->i64, k), "");
        LV args[] = { ir_at(e->b, p, at), ir_int(e->i32, 0), ir_int(e->i32, into),
                      ir_int(e->i32, 1) };
        ir_intrinsic(e->b, "llvm.prefetch", &e->ptr, 1, args, 4);
    }
}

LV mat_prefetch_wanted(Emit *e)
{
    LV on = lanes_env(e, e->b, e->i32, offsetof(CpuEnv, prefetch));
    return LLVMBuildICmp(e->b, LLVMIntNE, on, ir_int(e->i32, 0), "");
}

void mat_prefetch(Emit *e, const SpvInst *i, const MatPrefetch *a)
{
    LV distance = mat_prefetch_distance(e, i, a);
    if (!distance)
        return;
    EmitIf f = if_begin(e, mat_prefetch_wanted(e));
    EmitLoop l = loop_begin(e, ir_int(e->i64, a->lines));
    LV offset = LLVMBuildAdd(e->b, distance, LLVMBuildMul(e->b, l.index, a->stride, ""), "");
    prefetch_run(e, a->p, offset, a->bytes, NEAR_L1);
    loop_end(e, &l);
    if_end(e, &f);
}

/* Loops without the hint whose lanes read a run of memory, and then one on another page, where no
 * prefetcher of the machine follows. */
static LV leap_of(Emit *e, const SpvInst *i)
{
    const PassAheadStep *step = lanes_far_step(e, i);
    LV bytes = step ? step_bytes(&(PrefetchLoad){ e, i }, step) : NULL;
    /* Few subgroups without masks leave too little time in one iteration. */
    uint32_t ahead = lanes_of(e)->machine->tuning->leaps_ahead;
    return bytes ? LLVMBuildMul(e->b, bytes, ir_int(e->i64, ahead), "") : NULL;
}

static LV is_beyond_l2(Emit *e)
{
    LV beyond = lanes_env(e, e->b, e->i32, offsetof(CpuEnv, beyond_l2));
    return LLVMBuildICmp(e->b, LLVMIntNE, beyond, ir_int(e->i32, 0), "");
}

/* Without a branch: where the caches hold the data, what is read now is prefetched. Into L2, as L1
 * waits for few lines at once, or else twice. */
static void prefetch_next_rows(Emit *e, const SpvInst *i, const EmitPointer *p)
{
    uint32_t bytes;
    LV distance[2], at = lanes_row_ahead(e, i, p, &bytes, distance);
    LV beyond = at ? is_beyond_l2(e) : NULL;
    for (uint32_t k = 0; at && k < COUNT_OF(distance) && distance[k]; k++) {
        LV far = LLVMBuildSelect(e->b, beyond, distance[k], ir_int(e->i64, 0), "");
        prefetch_run(e, at, far, bytes, distance[1] ? NEAR_L1 : NEAR_L2);
    }
}

void matrix_prefetch(Emit *e, const SpvInst *i, const EmitPointer *p)
{
    uint32_t bytes = (uint32_t)spv_type_size(spv_type(e->module, i->type));
    bool side_by_side = !emit_is_lanes(p->base) && p->affine.group >= e->W &&
                        p->lane_scale * p->affine.stride == (int64_t)bytes;
    LV distance = mat_prefetch_distance(e, i, NULL);
    LV leap = distance || !side_by_side ? NULL : leap_of(e, i);
    if (!distance && !leap) {
        prefetch_next_rows(e, i, p);
        return;
    }
    EmitIf f = if_begin(e, distance ? mat_prefetch_wanted(e) : is_beyond_l2(e));
    LV address = emit_address(e, p, 0, 1);
    bool lanes = emit_is_lanes(address);
    distance = distance ? distance : leap;
    side_by_side = side_by_side && lanes;
    Near near = leap && lanes_of(e)->machine->tuning->leaps_into_l2 ? NEAR_L2 : NEAR_L1;
    for (uint32_t k = 0; k < (lanes && !side_by_side ? e->W : 1); k++) {
        LV at = lanes ? LLVMBuildExtractElement(e->b, address, ir_int(e->i32, k), "") : address;
        prefetch_run(e, at, distance, side_by_side ? bytes * e->W : bytes, near);
    }
    if_end(e, &f);
}
