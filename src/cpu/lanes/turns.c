/* SPDX-License-Identifier: MIT
 *
 * Turns: subgroups that run as fibers on one core go on in step, so that what neighbours read
 * of memory is read at about the same time (docs/ARCHITECTURE.md, "A dispatch runs it"). In: the
 * loops of the entry point. Out: on the back edges of those that stream, a count, and a call that
 * lets the others go on when so much has been read.
 *
 * A loop streams if it loads matrices from buffers, whose bytes cpu/matrix adds, or if a load goes
 * to another page in each iteration, as in
 *     for (i = get_global_id(0); i < n; i += get_global_size(0)) sum += x[i];
 * Alone, a subgroup reads a few cache lines of each page there, which no prefetcher of the machine
 * takes for a sequence; in step, the workgroup's subgroups read them one after the other.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <stddef.h>

enum { PAGE = 4096 };

static bool is_barrier(const SpvModule *m, const SpvInst *i)
{
    uint64_t scope;
    return i->op == SpvOpControlBarrier && spv_constant(m, spv_operand(i, 0), &scope) &&
           scope == SpvScopeWorkgroup;
}

/* Only workgroups that wait for each other at barriers are fibers anyway. */
static bool has_barriers(const Emit *e)
{
    for (uint32_t k = 0; k + 1 < e->cfg->n; k++) /* the last is the exit */
        for (const SpvInst *i = e->cfg->blocks[k].block->insts.first; i; i = i->next)
            if (is_barrier(e->module, i))
                return true;
    return false;
}

/* Steps that are not known may be short, but are most often a row, or all there is. */
static const PassAheadStep *leaves_the_page(Emit *e, const CfgLoop *loop, const SpvInst *i)
{
    if (!wait_queues_may_load(e->module, i) || !e->uniformity->varying[i->id])
        return NULL;
    const PassAheadStep *s = wait_queues_step(e->arena, e->module, e->cfg, loop, spv_operand(i, 0));
    bool near =
        s && s->kind == STEP_CONSTANT && (int64_t)s->bits < PAGE && (int64_t)s->bits > -PAGE;
    return near ? NULL : s;
}

const PassAheadStep *lanes_far_step(Emit *e, const SpvInst *i)
{
    const CfgLoop *loop = e->cfg->blocks[e->position].loop;
    return loop ? leaves_the_page(e, loop, i) : NULL;
}

/* Loads to other pages in an iteration. A loop with a barrier is in step. */
static uint32_t far_loads(Emit *e, const CfgLoop *loop)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < loop->n_blocks; k++) {
        const CfgBlock *b = &e->cfg->blocks[loop->blocks[k]];
        for (const SpvInst *i = b->block->insts.first; i; i = i->next) {
            if (is_barrier(e->module, i))
                return 0;
            n += b->loop == loop && leaves_the_page(e, loop, i) != NULL;
        }
    }
    return n;
}

static uint32_t number_of(const Emit *e, const CfgLoop *loop)
{
    uint32_t k = 0;
    while (e->cfg->loops[k] != loop)
        k++;
    return k;
}

void lanes_streams(Emit *e, uint64_t bytes)
{
    const CfgLoop *loop = e->cfg->blocks[e->position].loop;
    if (loop)
        lanes_of(e)->loop_bytes[number_of(e, loop)] += bytes;
}

void turns_plan(Emit *e)
{
    Lanes *lanes = lanes_of(e);
    lanes->loop_bytes = NEW_ARRAY(e->arena, uint64_t, e->cfg->n_loops + 1);
    if (e->caller || flow_one_subgroup(e) || !has_barriers(e))
        return;
    uint64_t each = cpu_tuning(lanes->machine)->page_bytes;
    for (uint32_t k = 0; k < e->cfg->n_loops; k++)
        lanes->loop_bytes[k] = each * far_loads(e, e->cfg->loops[k]);
}

/* Gives the others their turn, if enough has been read since the last. */
static void take_turn(Emit *e)
{
    LV every = lanes_env(e, e->b, e->i32, offsetof(CpuEnv, yield_every));
    EmitIf on = if_begin(e, LLVMBuildICmp(e->b, LLVMIntNE, every, ir_int(e->i32, 0), ""));
    LV count = ir_int(e->i64, offsetof(CpuEnv, yield_count));
    LV p = ir_at_inbounds(e->b, e->env, count);
    LV n = LLVMBuildAdd(e->b, LLVMBuildLoad2(e->b, e->i32, p, ""), ir_int(e->i32, 1), "");
    LLVMBuildStore(e->b, n, p);
    EmitIf due = if_begin(e, LLVMBuildICmp(e->b, LLVMIntUGE, n, every, ""));
    LLVMBuildStore(e->b, ir_int(e->i32, 0), p);
    LV fn = lanes_env(e, e->b, e->ptr, offsetof(CpuEnv, yield));
    LT type = LLVMFunctionType(e->void_, &e->ptr, 1, false);
    LLVMBuildCall2(e->b, type, fn, &e->env, 1, "");
    if_end(e, &due);
    if_end(e, &on);
}

void turns_take(Emit *e, const CfgLoop *loop)
{
    const Lanes *lanes = lanes_of(e);
    uint64_t bytes = lanes->loop_bytes[number_of(e, loop)];
    if (!bytes)
        return;
    lanes->kernel->can_yield = true;
    lanes->kernel->stream_bytes_per_step = MAX(lanes->kernel->stream_bytes_per_step, bytes);
    take_turn(e);
}
