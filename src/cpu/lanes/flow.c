/* SPDX-License-Identifier: MIT
 *
 * Emission of control flow by the plan of flow_plan.c; phis; masks; small control structures inside
 * a block.
 *
 * The LLVM code of a block: arrival (fetch the mask, jump over the block if it is empty), top (load
 * phis and values from other blocks), body. The mask of a tracked block is collected as edges lead
 * to it. Phis go through slots: an edge stores them and the block loads them. A store has to select
 * lanes by the edge's mask only if something else may have stored before: another edge of the same
 * kind (forward or back), or the same edge in an earlier iteration of a divergent loop that it
 * leaves. Otherwise nobody reads the lanes that did not come.
 */
#include "cpu/lanes/internal.h"
#include "cpu/lanes/flow.h"
#include "llvm/ir.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- masks ----------------------------------------------------------------------------------- */

static LV all_lanes(Emit *e) { return ir_int(emit_lanes_type(e, e->i1), 1); }

LV lanes_mask(Emit *e) { return e->mask ? e->mask : all_lanes(e); }

LV lanes_and(Emit *e, LV mask, LV condition)
{
    condition = emit_lanes(e, condition);
    if (!mask)
        return condition;
    return LLVMBuildSelect(e->b, mask, condition, LLVMConstNull(LLVMTypeOf(mask)), "");
}

static LV mask_bits(Emit *e, LV mask)
{
    LT bits = LLVMIntTypeInContext(e->cx, LLVMGetVectorSize(LLVMTypeOf(mask)));
    return LLVMBuildBitCast(e->b, mask, bits, "");
}

/* The numbers that a mask compares; NULL: it is no comparison, or of pointers. */
static LV compared(LV mask)
{
    if (LLVMIsAInstruction(mask) && LLVMGetInstructionOpcode(mask) == LLVMXor &&
        LLVMIsConstant(LLVMGetOperand(mask, 1)))
        mask = LLVMGetOperand(mask, 0);
    LV x = LLVMIsAICmpInst(mask) || LLVMIsAFCmpInst(mask) ? LLVMGetOperand(mask, 0) : NULL;
    return x && LLVMGetTypeKind(ir_element_of(x)) == LLVMPointerTypeKind ? NULL : x;
}

/* A mask of as many lanes as a vector of the machine compares: which of them, or of those behind
 * them, are set. Without registers for masks, comparisons leave all bits of an element set, which
 * are combined; LLVM would pack several vectors into one first. */
static LV combined(Emit *e, LV mask)
{
    const CpuTarget *machine = lanes_of(e)->machine;
    LV x = machine->sets & CPU_AVX512 ? NULL : compared(mask);
    uint32_t bits = x ? lanes_scalar_bits(ir_element_of(x)) : 0, n = e->W;
    if (!bits || n * bits <= machine->vector_bits)
        return mask;
    LV all = LLVMBuildSExt(e->b, mask, emit_lanes_type(e, LLVMIntTypeInContext(e->cx, bits)), "");
    for (; n * bits > machine->vector_bits && n % 2 == 0; n /= 2)
        all = LLVMBuildOr(e->b, ir_part(e->b, all, 0, n / 2), ir_part(e->b, all, n / 2, n / 2), "");
    return LLVMBuildICmp(e->b, LLVMIntSLT, all, LLVMConstNull(LLVMTypeOf(all)), "");
}

LV lanes_any(Emit *e, LV mask)
{
    LV bits = mask_bits(e, combined(e, mask));
    return LLVMBuildICmp(e->b, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
}

/* i32: the number of the lowest bit that is set. If none is, how many bits there are, or poison. */
static LV lowest_bit(Emit *e, LV bits, bool some_is_set)
{
    LT type = LLVMTypeOf(bits);
    LV args[2] = { bits, ir_int(e->i1, some_is_set) };
    LV lane = ir_intrinsic(e->b, "llvm.cttz", &type, 1, args, 2);
    return arith_resize(e->b, lane, e->i32, false);
}

LV lanes_first(Emit *e)
{
    if (!e->mask)
        return ir_int(e->i32, 0);
    LV lane = lowest_bit(e, mask_bits(e, e->mask), false);
    return LLVMBuildAnd(e->b, lane, ir_int(e->i32, e->W - 1), "");
}

LV lanes_uniform(Emit *e, LV v) { return emit_lane(e, v, lanes_first(e)); }

/* ---- loops over lanes ------------------------------------------------------------------------ */

static void while_lanes_are_left(Emit *e, const LanesLoop *l, LV rest)
{
    LV more = LLVMBuildICmp(e->b, LLVMIntNE, rest, LLVMConstNull(LLVMTypeOf(rest)), "");
    LLVMBuildCondBr(e->b, more, l->body, l->done);
}

/* The test is at the end, where LLVM would move it: for loop after loop it takes the square of
 * their number. */
LanesLoop lane_loop_begin(Emit *e, LV mask)
{
    LanesLoop l = { 0 };
    LV bits = mask_bits(e, mask ? mask : all_lanes(e));
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
    l.done = emit_new_block(e, "lanes.done");
    l.body = emit_new_block(e, "lanes.body");
    while_lanes_are_left(e, &l, bits);
    LLVMPositionBuilderAtEnd(e->b, l.body);
    l.rest = LLVMBuildPhi(e->b, LLVMTypeOf(bits), "");
    LLVMAddIncoming(l.rest, &bits, &before, 1);
    l.index = lowest_bit(e, l.rest, true);
    return l;
}

void lane_loop_end(Emit *e, LanesLoop *l)
{
    LV one = ir_int(LLVMTypeOf(l->rest), 1);
    LV rest = LLVMBuildAnd(e->b, l->rest, LLVMBuildSub(e->b, l->rest, one, ""), "");
    if (l->also)
        rest = LLVMBuildAnd(e->b, rest, LLVMBuildNot(e->b, l->also, ""), "");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
    LLVMAddIncoming(l->rest, &rest, &from, 1);
    while_lanes_are_left(e, l, rest);
    LLVMPositionBuilderAtEnd(e->b, l->done);
}

/* ---- phis ------------------------------------------------------------------------------------ */

static bool next_phi(const SpvInst **i)
{
    for (; *i; *i = (*i)->next) {
        const SpvOpInfo *info = spv_op_info((*i)->op);
        if ((*i)->op == SpvOpPhi)
            return true;
        if ((*i)->op != SpvOpLabel && !(info && info->flags & SPV_OPF_DEBUG))
            return false;
    }
    return false;
}

static SpvId incoming(const SpvInst *phi, SpvId block)
{
    for (uint32_t k = 0; k + 1 < spv_n_operands(phi); k += 2)
        if (spv_operand(phi, k + 1) == block)
            return spv_operand(phi, k);
    return 0;
}

static bool leaf_varies(Emit *e, const SpvInst *phi, const SpvType *t, uint32_t k)
{
    if (t->kind == SPV_VECTOR && k < 16)
        return e->uniformity->components[phi->id] >> k & 1;
    return e->uniformity->varying[phi->id];
}

/* A step that is the same scalar for all lanes, and known before the loop. */
static bool same_step(Emit *e, const SpvInst *phi, SpvId id)
{
    SpvInst *def = spv_def(e->module, id);
    if (!def || e->uniformity->varying[id])
        return false;
    if (def->block &&
        (e->cfg->position[def->block->index] == FLOW_NONE || def->block == phi->block ||
         !cfg_dominates(e->cfg, e->cfg->position[def->block->index],
                        e->cfg->position[phi->block->index])))
        return false;
    return !emit_is_lanes(emit_leaf(e, id, 0));
}

/* A counter that the lanes advance alike: a phi of a start value and of itself plus something
 * uniform. All lanes take the step, active or not, so what is known of the start holds for the
 * phi. */
static bool counts_alike(Emit *e, const SpvInst *phi)
{
    uint32_t at = e->cfg->position[phi->block->index];
    SpvInst *step = NULL;
    if (spv_n_operands(phi) != 4 || flow_needs_slot(e, phi->id) == SLOT_MASKED)
        return false;
    for (uint32_t k = 0; k < 4; k += 2) {
        SpvInst *label = spv_def(e->module, spv_operand(phi, k + 1));
        uint32_t from = label && label->block ? e->cfg->position[label->block->index] : FLOW_NONE;
        if (from == FLOW_NONE || flow_left_apart(e, from, at))
            return false;
        if (from >= at)
            step = spv_def(e->module, spv_operand(phi, k));
    }
    if (!step || (step->op != SpvOpIAdd && step->op != SpvOpISub) || step->type != phi->type ||
        flow_needs_slot(e, step->id) == SLOT_MASKED)
        return false;
    if (spv_operand(step, 0) == phi->id)
        return same_step(e, phi, spv_operand(step, 1));
    return step->op == SpvOpIAdd && spv_operand(step, 1) == phi->id &&
           same_step(e, phi, spv_operand(step, 0));
}

static FlowPhiSlot *phi_slot(Emit *e, const SpvInst *phi, const SpvType *t)
{
    FlowPhiSlot *s = &flow_of(e)->phis[phi->id];
    if (s->slot)
        return s;
    s->home = flow_edges_home(e, e->cfg->position[phi->block->index], FLOW_NONE);
    s->n = emit_n_leaves(e, t);
    s->slot = NEW_ARRAY(e->arena, FlowSlot *, s->n + 1);
    for (uint32_t k = 0; k < s->n; k++) {
        LT type = emit_scalar_type(e, emit_leaf_type(e, t, k));
        type = leaf_varies(e, phi, t, k) ? emit_lanes_type(e, type) : type;
        s->slot[k] = slot_new(e, type, s->home, false);
    }
    uint32_t at = e->cfg->position[phi->block->index];
    const CfgLoop *loop = e->cfg->blocks[at].loop;
    bool counts = t->kind == SPV_INT && e->uniformity->varying[phi->id];
    s->alike = counts && counts_alike(e, phi);
    s->joins = counts && !s->alike && !(loop && loop->header == at);
    s->known.group = 1;
    return s;
}

/* Whether another edge of the same kind may have stored before this one. */
static bool stored_before(Emit *e, uint32_t from, uint32_t to)
{
    const CfgBlock *b = &e->cfg->blocks[to];
    for (uint32_t k = 0; k < b->n_preds; k++)
        if (b->preds[k] < from && (b->preds[k] >= to) == (from >= to))
            return true;
    return false;
}

static void store_phi_leaf(Emit *e, const FlowSlot *slot, LV v, LV mask)
{
    bool lanes = LLVMGetTypeKind(slot->type) == LLVMVectorTypeKind;
    v = lanes ? emit_lanes(e, v) : emit_uniform(e, v);
    if (mask)
        v = LLVMBuildSelect(e->b, lanes ? mask : lanes_any(e, mask), v, slot_load(e, slot), "");
    slot_store(e, slot, v);
}

/* Keeps what is known of a counter: what is known of its start, and after each step the values of
 * the first lanes. */
static void store_known(Emit *e, FlowPhiSlot *s, EmitAffine a, bool start)
{
    if (start) {
        s->known = a;
        s->known.no_wrap = false;
    }
    affine_store(e, &s->known_slot, s->home, &a);
}

/* Notes by what an integer counts up, from the first edge on. */
static void note_stride(Emit *e, FlowPhiSlot *s, const EmitAffine *a, bool first)
{
    int64_t stride = a->group == e->W ? a->stride : 0;
    s->stride = first || stride == s->stride ? stride : 0;
}

/* All phis are loaded at the top of their block, so storing one here does not change another. */
static void store_phis(Emit *e, uint32_t from, uint32_t to, LV mask)
{
    const SpvInst *i = e->cfg->blocks[to].block->insts.first;
    SpvId label = e->cfg->blocks[from].block->id;
    bool first = !stored_before(e, from, to);
    if (first && !flow_left_apart(e, from, to))
        mask = NULL;
    for (; next_phi(&i); i = i->next) {
        const SpvType *t = spv_type(e->module, i->type);
        SpvId id = incoming(i, label);
        if (!id || emit_has_matrix(t))
            continue;
        FlowPhiSlot *s = phi_slot(e, i, t);
        for (uint32_t k = 0; k < s->n; k++)
            store_phi_leaf(e, s->slot[k], emit_leaf(e, id, k), mask);
        EmitAffine a = emit_affine(e, emit_value(e, id), 0);
        if (s->alike)
            store_known(e, s, a, from < to);
        else if (s->joins)
            note_stride(e, s, &a, first);
    }
    e->target->edge(e, from, to);
}

/* A counter that all lanes advance alike. As a scalar, where that is all there is to it, it takes
 * no registers from one iteration to the next. */
static LV count_on(Emit *e, FlowPhiSlot *s, LV lanes, EmitAffine *a)
{
    *a = affine_load(e, &s->known_slot, s->known);
    return affine_is_whole(e, a) ? affine_counting(e, a->first[0], a->stride) : lanes;
}

static void load_phis(Emit *e, const SpvBlock *block)
{
    const SpvInst *i = block->insts.first;
    for (; next_phi(&i); i = i->next) {
        const SpvType *t = spv_type(e->module, i->type);
        if (emit_has_matrix(t)) {
            e->target->inst(e, i);
            continue;
        }
        FlowPhiSlot *s = phi_slot(e, i, t);
        LV *leaves = NEW_ARRAY(e->arena, LV, s->n + 1);
        for (uint32_t k = 0; k < s->n; k++)
            leaves[k] = slot_load(e, s->slot[k]);
        EmitAffine a = { .group = 1 };
        if (s->alike && s->known.group > 1)
            leaves[0] = count_on(e, s, leaves[0], &a);
        else if (s->stride)
            leaves[0] = affine_expect(e, leaves[0], s->stride, &a);
        if (a.group > 1)
            emit_set_affine(e, i, leaves, s->n, &a);
        else
            emit_set(e, i, leaves, s->n);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

LLVMBuilderRef flow_top(Emit *e) { return flow_of(e)->top; }

static FlowSlot *mask_slot(Emit *e, uint32_t home)
{
    return slot_new(e, emit_lanes_type(e, e->i1), home, true);
}

/* The home of the slot that collects the lanes that wait for a node. */
static uint32_t mask_home(Emit *e, const FlowNode *n)
{
    return n->is_latch ? flow_of(e)->node_of[n->loop->header]
                       : flow_edges_home(e, n->block, n->chosen_by);
}

static void make_blocks(Emit *e)
{
    struct Flow *f = flow_of(e);
    for (uint32_t k = 0; k < f->n_nodes; k++) {
        FlowNode *n = &f->nodes[k];
        char name[32];
        if (!n->reached)
            continue;
        if (n->block != FLOW_NONE)
            snprintf(name, sizeof name, "b%u", e->cfg->blocks[n->block].block->id);
        else
            snprintf(name, sizeof name, n->is_latch ? "latch" : "exit");
        n->bb = LLVMAppendBasicBlockInContext(e->cx, e->fn, name);
        if (n->tracked)
            n->mask_slot = mask_slot(e, mask_home(e, n));
        if (n->masked && n->has_heirs)
            n->own_slot = mask_slot(e, k);
        if (n->divergent && n->cases)
            n->parting = mask_slot(e, k);
    }
}

static uint32_t target_node(Emit *e, const FlowNode *n, const SpvInst *term, uint32_t k)
{
    uint32_t to = e->cfg->position[flow_target(e, term, k)->index];
    return flow_edge_node(flow_of(e), n->block, to);
}

static int by_literal(const void *a, const void *b)
{
    uint64_t x = ((const FlowCase *)a)->literal, y = ((const FlowCase *)b)->literal;
    return (x > y) - (x < y);
}

/* The lanes whose selector is one of n ascending literals, with one comparison for each run of
 * consecutive ones. */
static LV in_cases(Emit *e, LV selector, const FlowCase *c, uint32_t n)
{
    LT type = LLVMTypeOf(selector);
    LV any = LLVMConstNull(emit_lanes_type(e, e->i1));
    for (uint32_t k = 0, end; k < n; k = end) {
        for (end = k + 1; end < n && c[end].literal == c[end - 1].literal + 1;)
            end++;
        LV at = LLVMBuildSub(e->b, selector, ir_int(type, c[k].literal), "");
        LV in = LLVMBuildICmp(e->b, LLVMIntULT, at, ir_int(type, end - k), "");
        any = LLVMBuildOr(e->b, in, any, "");
    }
    return any;
}

/* The lanes that a switch sends to one of its targets. */
static LV switch_leads(Emit *e, const FlowNode *n, LV selector, uint32_t to)
{
    const SpvInst *term = e->cfg->blocks[n->block].block->insts.last;
    uint32_t count = 0;
    if (to != target_node(e, n, term, 0)) {
        const FlowCase *cases = flow_cases(n, to, &count);
        return in_cases(e, selector, cases, count);
    }
    FlowCase *others = NEW_ARRAY(e->arena, FlowCase, n->n_cases + 1);
    for (uint32_t k = 0; k < n->n_cases; k++)
        if (n->cases[k].node != to)
            others[count++] = n->cases[k];
    qsort(others, count, sizeof *others, by_literal);
    return LLVMBuildNot(e->b, in_cases(e, selector, others, count), "");
}

static LV block_mask(Emit *e, uint32_t node)
{
    const FlowNode *n = &flow_of(e)->nodes[node], *v;
    if (!n->masked)
        return lanes_of(e)->entry_mask;
    if (!n->tracked) {
        v = &flow_of(e)->nodes[n->heir_of];
        return v->masked ? slot_load(e, v->own_slot) : lanes_of(e)->entry_mask;
    }
    LV waiting = slot_load(e, n->mask_slot);
    if (n->chosen_by == FLOW_NONE)
        return waiting;
    v = &flow_of(e)->nodes[n->chosen_by];
    LV chosen = switch_leads(e, v, slot_load(e, v->selector), node);
    return LLVMBuildOr(e->b, lanes_and(e, slot_load(e, v->parting), chosen), waiting, "");
}

/* Where control goes from the current LLVM block, which is about to branch there. */
static LLVMBasicBlockRef next_bb(Emit *e, const FlowNode *n, uint32_t to)
{
    FlowNode *next = &flow_of(e)->nodes[flow_next(&n->pending, to)];
    slot_edge(e, next);
    return next->bb;
}

static void enter_block(Emit *e, uint32_t node)
{
    FlowNode *n = &flow_of(e)->nodes[node];
    LLVMPositionBuilderAtEnd(e->b, n->bb);
    slot_segment(e, node, &n->from);
    e->mask = block_mask(e, node);
    if (n->masked && n->has_heirs)
        slot_store(e, n->own_slot, lanes_mask(e));
    if (n->test && e->mask) {
        LLVMBasicBlockRef top = emit_new_block(e, "");
        LLVMBuildCondBr(e->b, lanes_any(e, e->mask), top, next_bb(e, n, FLOW_NONE));
        LLVMPositionBuilderAtEnd(e->b, top);
    }
    LLVMBasicBlockRef body = emit_new_block(e, "");
    LV jump = LLVMBuildBr(e->b, body);
    slot_segment_behind(e);
    LLVMPositionBuilderBefore(flow_of(e)->top, jump);
    LLVMPositionBuilderAtEnd(e->b, body);
}

/* Lanes in `mask` (NULL: all that exist) go from block `from` to node `to`. */
static void follow_edge(Emit *e, const FlowNode *from, uint32_t to, LV mask)
{
    FlowNode *n = &flow_of(e)->nodes[to];
    if (n->is_latch)
        store_phis(e, from->block, n->loop->header, mask);
    else if (n->block != FLOW_NONE)
        store_phis(e, from->block, n->block, mask);
    if (!n->tracked || (n->chosen_by != FLOW_NONE && &flow_of(e)->nodes[n->chosen_by] == from))
        return;
    LV lanes = mask ? mask : lanes_of(e)->entry_mask ? lanes_of(e)->entry_mask : all_lanes(e);
    slot_store(e, n->mask_slot, LLVMBuildOr(e->b, lanes, slot_load(e, n->mask_slot), ""));
}

/* A block of its own for an edge that either all active lanes take or none. */
static LLVMBasicBlockRef edge_block(Emit *e, const FlowNode *n, uint32_t to)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b), bb = emit_new_block(e, "");
    uint32_t body = flow_of(e)->segment;
    slot_segment_behind(e);
    LLVMPositionBuilderAtEnd(e->b, bb);
    follow_edge(e, n, to, n->masked ? e->mask : NULL);
    LLVMBuildBr(e->b, next_bb(e, n, to));
    LLVMPositionBuilderAtEnd(e->b, here);
    flow_of(e)->segment = body;
    return bb;
}

static void branch_together(Emit *e, const FlowNode *n, const SpvInst *term)
{
    SpvId condition = spv_operand(term, 0);
    LV c = emit_uniform(e, emit_leaf(e, condition, 0));
    if (term->op == SpvOpBranchConditional) {
        LLVMBasicBlockRef yes = edge_block(e, n, target_node(e, n, term, 0));
        LLVMBasicBlockRef no = edge_block(e, n, target_node(e, n, term, 1));
        LLVMBuildCondBr(e->b, c, yes, no);
        return;
    }
    LLVMBasicBlockRef *to = NEW_ARRAY(e->arena, LLVMBasicBlockRef, n->n_targets);
    for (uint32_t t = 0; t < n->n_targets; t++)
        to[t] = edge_block(e, n, n->targets[t]);
    uint32_t other = 0, t = 0;
    while (n->targets[other] != target_node(e, n, term, 0))
        other++;
    LV s = LLVMBuildSwitch(e->b, c, to[other], n->n_cases);
    for (uint32_t k = 0; k < n->n_cases; k++) {
        while (n->targets[t] != n->cases[k].node)
            t++;
        LLVMAddCase(s, ir_int(LLVMTypeOf(c), n->cases[k].literal), to[t]);
    }
}

static void branch_apart(Emit *e, FlowNode *n, const SpvInst *term)
{
    LV c = emit_lanes(e, emit_leaf(e, spv_operand(term, 0), 0));
    uint32_t yes = target_node(e, n, term, 0);
    if (n->cases) {
        n->selector = slot_new(e, LLVMTypeOf(c), n->parting->home, false);
        slot_store(e, n->selector, c);
        slot_store(e, n->parting, lanes_mask(e));
    }
    for (uint32_t t = 0; t < n->n_targets; t++) {
        LV here = n->cases               ? switch_leads(e, n, c, n->targets[t])
                  : n->targets[t] == yes ? c
                                         : LLVMBuildNot(e->b, c, "");
        follow_edge(e, n, n->targets[t], lanes_and(e, e->mask, here));
    }
    LLVMBuildBr(e->b, next_bb(e, n, n->targets[0]));
}

static void remark_parting(Emit *e, const FlowNode *n)
{
    bool leaves = false;
    for (uint32_t t = 0; t < n->n_targets; t++) {
        uint32_t to = flow_of(e)->nodes[n->targets[t]].block;
        leaves |= to != FLOW_NONE && flow_left_apart(e, n->block, to);
    }
    emit_remark(e, leaves ? REMARK_DIVERGENT_LOOP : REMARK_DIVERGENT_BRANCH);
}

static void leave_block(Emit *e, FlowNode *n)
{
    const SpvInst *term = e->cfg->blocks[n->block].block->insts.last;
    if (term->op == SpvOpReturnValue)
        called_return(e, term);
    if (n->divergent) {
        remark_parting(e, n);
        branch_apart(e, n, term);
    } else if (n->n_targets > 1) {
        branch_together(e, n, term);
    } else {
        follow_edge(e, n, n->targets[0], n->masked ? e->mask : NULL);
        LLVMBuildBr(e->b, next_bb(e, n, n->targets[0]));
    }
}

static void place_block(Emit *e, FlowNode *n)
{
    SpvBlock *block = e->cfg->blocks[n->block].block;
    e->position = n->block;
    debug_at(e, block->insts.first);
    enter_block(e, flow_of(e)->node_of[n->block]);
    e->target->block_begin(e);
    load_phis(e, block);
    emit_block_insts(e, block);
    debug_at(e, block->insts.last);
    e->target->block_end(e);
    leave_block(e, n);
}

/* Where the back edges of a loop meet. */
static void place_latch(Emit *e, FlowNode *n)
{
    FlowNode *header = &flow_of(e)->nodes[flow_of(e)->node_of[n->loop->header]];
    LLVMPositionBuilderAtEnd(e->b, n->bb);
    slot_segment(e, (uint32_t)(n - flow_of(e)->nodes), &n->from);
    turns_take(e, n->loop);
    LV mask = n->tracked ? slot_load(e, n->mask_slot) : NULL;
    if (mask && header->mask_slot)
        slot_store(e, header->mask_slot, mask);
    slot_edge(e, header);
    if (mask && n->divergent && n->pending.len)
        LLVMBuildCondBr(e->b, lanes_any(e, mask), header->bb, next_bb(e, n, FLOW_NONE));
    else
        LLVMBuildBr(e->b, header->bb);
}

void lanes_blocks(Emit *e)
{
    struct Flow *f = flow_of(e);
    make_blocks(e);
    f->top = LLVMCreateBuilderInContext(e->cx);
    f->phi_b = LLVMCreateBuilderInContext(e->cx);
    LLVMBuildBr(e->entry_b, f->nodes[0].bb);
    LLVMPositionBuilderBefore(e->entry_b,
                              LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->entry_b)));
    for (uint32_t k = 0; k < f->n_nodes; k++) {
        FlowNode *n = &f->nodes[k];
        if (!n->reached)
            continue;
        if (n->block != FLOW_NONE) {
            place_block(e, n);
        } else if (n->is_latch) {
            place_latch(e, n);
        } else {
            LLVMPositionBuilderAtEnd(e->b, n->bb);
            called_exit(e);
        }
    }
    LLVMDisposeBuilder(f->top);
    LLVMDisposeBuilder(f->phi_b);
}

/* ---- barriers -------------------------------------------------------------------------------- */

static uint32_t constant(Emit *e, SpvId id)
{
    uint64_t x = 0;
    spv_constant(e->module, id, &x);
    return (uint32_t)x;
}

bool flow_one_subgroup(const Emit *e)
{
    uint64_t n = (uint64_t)e->local_size[0] * e->local_size[1] * e->local_size[2];
    return n && n <= e->W;
}

static void fence(Emit *e, uint32_t scope)
{
    bool outside =
        scope == SpvScopeDevice || scope == SpvScopeCrossDevice || scope == SpvScopeQueueFamily;
    LLVMBuildFence(e->b, LLVMAtomicOrderingSequentiallyConsistent, !outside, "");
}

void flow_barrier(Emit *e)
{
    if (flow_one_subgroup(e))
        return;
    lanes_of(e)->kernel->has_barrier = true;
    LT type = LLVMFunctionType(e->void_, &e->ptr, 1, 0);
    LV fn = LLVMGetNamedFunction(e->ll, CPU_BARRIER_NAME);
    if (!fn)
        fn = LLVMAddFunction(e->ll, CPU_BARRIER_NAME, type);
    /* so that what is in scratch memory on one side of it nobody relies on behind it */
    fence(e, SpvScopeWorkgroup);
    LLVMBuildCall2(e->b, type, fn, &e->env, 1, "");
}

static void control_barrier(Emit *e, const SpvInst *i)
{
    uint32_t execution = constant(e, spv_operand(i, 0));
    e->target->settle(e);
    fence(e, constant(e, spv_operand(i, 1)));
    if (execution == SpvScopeSubgroup || execution == SpvScopeInvocation)
        return;
    lanes_count(e, DEVICE_STAT_BARRIERS, NULL, 1);
    flow_barrier(e);
    fence(e, SpvScopeWorkgroup);
}

/* SPV_EXT_split_barrier: arriving does not wait; the wait is a whole barrier. */
static void arrive(Emit *e, const SpvInst *i)
{
    e->target->settle(e);
    fence(e, constant(e, spv_operand(i, 1)));
}

static void memory_barrier(Emit *e, const SpvInst *i)
{
    e->target->settle(e);
    fence(e, constant(e, spv_operand(i, 0)));
}

/* OpReadClockKHR: one time for all lanes, in any scope, as 64 bits or as two halves. */
static void read_clock(Emit *e, const SpvInst *i)
{
    LT type = LLVMFunctionType(e->i64, NULL, 0, 0);
    LV fn = LLVMGetNamedFunction(e->ll, CPU_CLOCK_NAME);
    if (!fn)
        fn = LLVMAddFunction(e->ll, CPU_CLOCK_NAME, type);
    LV now = LLVMBuildCall2(e->b, type, fn, NULL, 0, "");
    LV half[2] = { arith_resize(e->b, now, e->i32, false),
                   arith_resize(e->b, LLVMBuildLShr(e->b, now, ir_int(e->i64, 32), ""), e->i32,
                                false) };
    if (emit_n_leaves(e, spv_type(e->module, i->type)) == 2)
        emit_set(e, i, half, 2);
    else
        emit_set1(e, i, now);
}

const EmitRule lanes_rules_flow[] = {
    { SpvOpControlBarrier, 0, control_barrier },
    { SpvOpControlBarrierArriveEXT, 0, arrive },
    { SpvOpControlBarrierWaitEXT, 0, control_barrier },
    { SpvOpMemoryBarrier, 0, memory_barrier },
    { SpvOpReadClockKHR, 0, read_clock },
    { 0, 0, NULL },
};
