/* SPDX-License-Identifier: MIT
 *
 * Control flow of threads: blocks are LLVM's blocks, phis its phis. Where the threads of a warp
 * part, the machine runs them one after the other; instructions that need several of them
 * (shuffles, votes) name these by a mask, which masks.c finds where it is not all of the warp.
 */
#include "nvptx/fuse.h"

#include <stdio.h>

enum { NONE = UINT32_MAX };

bool threads_plan(Emit *e)
{
    threads_of(e)->first = NEW_ARRAY(e->arena, LLVMBasicBlockRef, e->cfg->n);
    threads_of(e)->last = NEW_ARRAY(e->arena, LLVMBasicBlockRef, e->cfg->n);
    threads_of(e)->stays = NEW_ARRAY(e->arena, LLVMBasicBlockRef, e->cfg->n);
    return true;
}

bool threads_together(const Emit *e)
{
    if (e->uniformity->divergent_block[e->position])
        return false;
    for (uint32_t k = 0; k < e->cfg->n_loops; k++)
        if (e->uniformity->divergent_loop[k] && cfg_in_loop(e->cfg->loops[k], e->cfg, e->position))
            return false;
    return true;
}

/* ---- phis ------------------------------------------------------------------------------------ */

static bool next_phi(const SpvInst **i)
{
    for (; *i; *i = (*i)->next)
        if ((*i)->op == SpvOpPhi)
            return true;
    return false;
}

/* LLVM's phis come before what pointers are made of them by. */
static void make_phis(Emit *e, const SpvBlock *block)
{
    VEC(LV) leaves = { 0 };
    const SpvInst *i = block->insts.first;
    for (; next_phi(&i); i = i->next) {
        const SpvType *t = spv_type(e->module, i->type);
        for (uint32_t k = 0; k < emit_n_leaves(e, t); k++) {
            LT type = emit_scalar_type(e, emit_leaf_type(e, t, k));
            vec_push(e->arena, &leaves, LLVMBuildPhi(e->b, type, ""));
        }
    }
    uint32_t at = 0;
    for (i = block->insts.first; next_phi(&i); i = i->next) {
        uint32_t n = emit_n_leaves(e, spv_type(e->module, i->type));
        emit_set(e, i, leaves.data + at, n);
        at += n;
    }
}

/* A switch may lead to a block more than once, and a phi has a value for each. */
static uint32_t edges_to(LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    LV term = LLVMGetBasicBlockTerminator(from);
    uint32_t n = 0;
    for (unsigned k = 0; k < LLVMGetNumSuccessors(term); k++)
        n += LLVMGetSuccessor(term, k) == to;
    return n;
}

/* The phis of block `at`, when all blocks are there: what they are in each that leads to it. */
static void fill_phis(Emit *e, uint32_t at)
{
    const NvptxThreads *t = threads_of(e);
    const SpvInst *i = e->cfg->blocks[at].block->insts.first;
    for (; next_phi(&i); i = i->next) {
        e->position = at;
        const EmitValue *phi = emit_value(e, i->id);
        for (uint32_t o = 0; o + 1 < spv_n_operands(i); o += 2) {
            SpvInst *label = spv_def(e->module, spv_operand(i, o + 1));
            uint32_t from = label && label->block ? e->cfg->position[label->block->index] : NONE;
            if (from == NONE || !t->last[from])
                continue;
            LLVMPositionBuilderBefore(e->b, LLVMGetBasicBlockTerminator(t->last[from]));
            e->position = from;
            for (uint32_t k = 0; k < phi->n; k++) {
                LV given = fusion_incoming(e, i, k, from, at);
                LV v = given ? given : emit_leaf(e, spv_operand(i, o), k);
                for (uint32_t edge = edges_to(t->last[from], t->first[at]); edge--;)
                    LLVMAddIncoming(phi->leaf[k], &v, &t->last[from], 1);
            }
        }
        for (uint32_t p = 0; p + 1 < e->cfg->n; p++)
            for (uint32_t k = 0; t->stays[p] && e->cfg->blocks[p].loop->header == at && k < phi->n;
                 k++) {
                LV any = LLVMGetPoison(LLVMTypeOf(phi->leaf[k]));
                LLVMAddIncoming(phi->leaf[k], &any, &t->stays[p], 1);
            }
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static LLVMBasicBlockRef target_of(Emit *e, const SpvInst *term, uint32_t k)
{
    uint32_t word = cfg_target(term, k);
    SpvInst *label = word ? spv_def(e->module, term->words[word]) : NULL;
    uint32_t at = label && label->block ? e->cfg->position[label->block->index] : NONE;
    return at == NONE ? NULL : threads_of(e)->first[at];
}

static void emit_switch(Emit *e, const SpvInst *term)
{
    LV selector = emit_leaf(e, spv_operand(term, 0), 0);
    unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(selector));
    uint32_t literal = bits > 32 ? 2 : 1, n = spv_n_operands(term);
    LV s = LLVMBuildSwitch(e->b, selector, target_of(e, term, 0), n);
    for (uint32_t o = 2, k = 1; o + literal < n + 1; o += literal + 1, k++) {
        uint64_t x = spv_operand(term, o);
        if (literal == 2)
            x |= (uint64_t)spv_operand(term, o + 1) << 32;
        LLVMAddCase(s, LLVMConstInt(LLVMTypeOf(selector), x, 0), target_of(e, term, k));
    }
}

static void leave_block(Emit *e, const SpvInst *term)
{
    switch (term->op) {
    case SpvOpBranch: LLVMBuildBr(e->b, target_of(e, term, 0)); break;
    case SpvOpBranchConditional:
        LLVMBuildCondBr(e->b, emit_leaf(e, spv_operand(term, 0), 0), target_of(e, term, 0),
                        target_of(e, term, 1));
        break;
    case SpvOpSwitch: emit_switch(e, term); break;
    default: LLVMBuildBr(e->b, threads_of(e)->exit);
    }
}

/* Whether a loop has the block only on the way out, which its invocations take one after the other,
 * and this is the last of that. */
static bool ends_way_out(const Emit *e, uint32_t p)
{
    const CfgBlock *b = &e->cfg->blocks[p];
    bool out = false;
    for (uint32_t k = 0; k < b->n_succs; k++)
        out |= b->loop && !cfg_in_loop(b->loop, e->cfg, b->succs[k]);
    return out && b->leaving && e->uniformity->divergent_loop[b->loop->index];
}

/* What is run on the way out of a loop an iteration's invocations run together, and LLVM has in no
 * loop what leads to its header no more: a branch that is never taken leads there. */
static void stay_in_loop(Emit *e, uint32_t p)
{
    NvptxThreads *t = threads_of(e);
    LLVMBasicBlockRef header = t->first[e->cfg->blocks[p].loop->header];
    LV never = threads_call(e, NEVER_NAME, e->i1, NULL, 0);
    LLVMBasicBlockRef out = emit_new_block(e, "out");
    t->stays[p] = LLVMGetInsertBlock(e->b);
    LLVMBuildCondBr(e->b, never, header, out);
    LLVMPositionBuilderAtEnd(e->b, out);
}

void threads_blocks(Emit *e)
{
    NvptxThreads *t = threads_of(e);
    const Cfg *c = e->cfg;
    for (uint32_t p = 0; p + 1 < c->n; p++) {
        char name[32];
        snprintf(name, sizeof name, "b%u", c->blocks[p].block->id);
        t->first[p] = LLVMAppendBasicBlockInContext(e->cx, e->fn, name);
    }
    t->exit = LLVMAppendBasicBlockInContext(e->cx, e->fn, "exit");
    LLVMPositionBuilderAtEnd(e->b, t->exit);
    LLVMBuildRetVoid(e->b);
    LLVMBuildBr(e->entry_b, t->first[0]);
    LLVMPositionBuilderBefore(e->entry_b,
                              LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->entry_b)));
    for (uint32_t p = 0; p + 1 < c->n && !e->failed; p++) {
        e->position = p;
        LLVMPositionBuilderAtEnd(e->b, t->first[p]);
        debug_at(e, c->blocks[p].block->insts.first);
        make_phis(e, c->blocks[p].block);
        emit_block_insts(e, c->blocks[p].block);
        debug_at(e, c->blocks[p].block->insts.last);
        threads_load_matrices(e);
        threads_store_later(e);
        if (t->fusion && t->fusion->before == p)
            fusion_emit(e);
        if (ends_way_out(e, p))
            stay_in_loop(e, p);
        leave_block(e, c->blocks[p].block->insts.last);
        t->last[p] = LLVMGetInsertBlock(e->b);
    }
    for (uint32_t p = 0; p + 1 < c->n && !e->failed; p++)
        fill_phis(e, p);
}

/* ---- barriers -------------------------------------------------------------------------------- */

static uint32_t constant(Emit *e, SpvId id)
{
    uint64_t x = 0;
    spv_constant(e->module, id, &x);
    return (uint32_t)x;
}

unsigned threads_scope(Emit *e, uint32_t scope)
{
    const char *name = scope == SpvScopeWorkgroup || scope == SpvScopeSubgroup ? "block"
                       : scope == SpvScopeInvocation                           ? "singlethread"
                       : scope == SpvScopeCrossDevice                          ? ""
                                                                               : "device";
    return LLVMGetSyncScopeID(e->cx, name, strlen(name));
}

void threads_fence(Emit *e, uint32_t scope, uint32_t semantics)
{
    bool in_sequence = semantics & SpvMemorySemanticsSequentiallyConsistentMask;
    if (scope != SpvScopeInvocation)
        LLVMBuildFenceSyncScope(e->b,
                                in_sequence ? LLVMAtomicOrderingSequentiallyConsistent
                                            : LLVMAtomicOrderingAcquireRelease,
                                threads_scope(e, scope), "");
}

void threads_barrier(Emit *e)
{
    LV number = LLVMConstInt(e->i32, 0, 0);
    threads_call(e, "llvm.nvvm.barrier.cta.sync.all", e->void_, &number, 1);
}

static void control_barrier(Emit *e, const SpvInst *i)
{
    uint32_t execution = constant(e, spv_operand(i, 0)), memory = constant(e, spv_operand(i, 1));
    uint32_t semantics = constant(e, spv_operand(i, 2));
    /* a block's or a warp's barrier orders the accesses of those who meet there, too */
    bool orders =
        execution == memory && (memory == SpvScopeWorkgroup || memory == SpvScopeSubgroup);
    if (semantics && !orders)
        threads_fence(e, memory, semantics);
    if (execution == SpvScopeWorkgroup)
        threads_barrier(e);
    if (execution == SpvScopeSubgroup) {
        LV mask = threads_mask(e);
        threads_call(e, "llvm.nvvm.bar.warp.sync", e->void_, &mask, 1);
    }
}

static void memory_barrier(Emit *e, const SpvInst *i)
{
    threads_fence(e, constant(e, spv_operand(i, 0)), constant(e, spv_operand(i, 1)));
}

static void read_clock(Emit *e, const SpvInst *i)
{
    LV now = threads_call(e, "llvm.nvvm.read.ptx.sreg.globaltimer", e->i64, NULL, 0);
    LV half[2] = { arith_resize(e->b, now, e->i32, false),
                   arith_resize(e->b, LLVMBuildLShr(e->b, now, LLVMConstInt(e->i64, 32, 0), ""),
                                e->i32, false) };
    if (emit_n_leaves(e, spv_type(e->module, i->type)) == 2)
        emit_set(e, i, half, 2);
    else
        emit_set1(e, i, now);
}

/* SPV_EXT_split_barrier: those who arrive go on; all are waited for where they wait. */
static void arrive(Emit *e, const SpvInst *i)
{
    threads_fence(e, constant(e, spv_operand(i, 1)), constant(e, spv_operand(i, 2)));
}

const EmitRule threads_rules_flow[] = {
    { SpvOpControlBarrier, 0, control_barrier },
    { SpvOpControlBarrierArriveEXT, 0, arrive },
    { SpvOpControlBarrierWaitEXT, 0, control_barrier },
    { SpvOpMemoryBarrier, 0, memory_barrier },
    { SpvOpReadClockKHR, 0, read_clock },
    { 0, 0, NULL },
};
