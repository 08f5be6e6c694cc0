/* SPDX-License-Identifier: MIT
 *
 * Slots: variables of the linearised function, turned into SSA values while it is emitted (after
 * Braun and others, "Simple and Efficient Construction of Static Single Assignment Form", CC 2013).
 * If they were allocas, LLVM would walk over the rest of the function for each, which is quadratic.
 *
 * A segment is a stretch of code that is entered only at its beginning: where control arrives at a
 * node, a node's body, the block of an edge. Segments are numbered in the order of emission, so all
 * edges but back edges lead to higher numbers. Before its home a slot has its initial value, zero
 * or undefined; what was stored in an earlier iteration is not looked for.
 */
#include "cpu/lanes/flow.h"

#include <stdlib.h>

FlowSlot *slot_new(Emit *e, LT type, uint32_t home, bool zero)
{
    FlowSlot *s = NEW(e->arena, FlowSlot);
    *s = (FlowSlot){ type, zero ? LLVMConstNull(type) : LLVMGetUndef(type), home,
                     flow_of(e)->n_slots++ };
    return s;
}

static uint64_t key_of(const FlowSlot *s, uint32_t segment)
{
    return (uint64_t)s->number << 32 | segment;
}

static LV known(Emit *e, const FlowSlot *s, uint32_t segment)
{
    uint64_t v = 0;
    map_get(&flow_of(e)->slot_values, key_of(s, segment), &v);
    return (LV)(uintptr_t)v;
}

static void set(Emit *e, const FlowSlot *s, uint32_t segment, LV v)
{
    map_put(e->arena, &flow_of(e)->slot_values, key_of(s, segment), (uintptr_t)v);
}

void slot_store(Emit *e, const FlowSlot *s, LV v) { set(e, s, flow_of(e)->segment, v); }

/* ---- segments -------------------------------------------------------------------------------- */

/* Edges to a node may still be added later, such as the back edge of a loop. */
uint32_t slot_segment(Emit *e, uint32_t node, EdgeList *from)
{
    vec_push(e->arena, &flow_of(e)->segments, (FlowSegment){ node, from });
    return flow_of(e)->segment = flow_of(e)->segments.len - 1;
}

uint32_t slot_segment_behind(Emit *e)
{
    EdgeList *from = NEW(e->arena, EdgeList);
    uint32_t node = flow_of(e)->segments.data[flow_of(e)->segment].node;
    vec_push(e->arena, from, (FlowEdge){ flow_of(e)->segment, LLVMGetInsertBlock(e->b) });
    return slot_segment(e, node, from);
}

static void add_incoming(Emit *e, const FlowSlot *s, LV phi, FlowEdge *from)
{
    LV v = known(e, s, from->segment);
    LLVMAddIncoming(phi, &v, &from->bb, 1);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A slot's value at the beginning of a segment. The values of all predecessors but a back edge are
 * known; phis get their operands later. */
static LV join(Emit *e, const FlowSlot *s, const FlowSegment *segment)
{
    const EdgeList *from = segment->from;
    const FlowNode *n = &flow_of(e)->nodes[segment->node];
    bool header = from == &n->from && n->loop && !n->is_latch;
    LV v = from->len ? known(e, s, from->data[0].segment) : s->initial;
    uint32_t k = 1;
    while (k < from->len && known(e, s, from->data[k].segment) == v)
        k++;
    if (!header && k >= from->len)
        return v;
    LV first = LLVMGetFirstInstruction(n->bb);
    if (first)
        LLVMPositionBuilderBefore(flow_of(e)->phi_b, first);
    else
        LLVMPositionBuilderAtEnd(flow_of(e)->phi_b, n->bb);
    LV phi = LLVMBuildPhi(flow_of(e)->phi_b, s->type, "");
    vec_push(e->arena, &flow_of(e)->phis_made, (FlowOpenPhi){ s, phi, segment->node });
    return phi;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Adds a segment whose value is not known yet. */
static void want(Emit *e, const FlowSlot *s, FlowNodeSet *list, uint32_t segment)
{
    uint64_t any;
    if (map_get(&flow_of(e)->slot_values, key_of(s, segment), &any))
        return;
    const FlowSegment *at = &flow_of(e)->segments.data[segment];
    bool home = at->node < s->home ||
                (at->node == s->home && at->from == &flow_of(e)->nodes[at->node].from);
    set(e, s, segment, home ? s->initial : NULL);
    if (!home)
        vec_push(e->arena, list, segment);
}

static LV load_at(Emit *e, const FlowSlot *s, uint32_t segment)
{
    struct Flow *f = flow_of(e);
    f->wanted.len = f->phis_made.len = 0;
    want(e, s, &f->wanted, segment);
    for (uint32_t k = 0; k < f->wanted.len; k++) {
        const EdgeList *from = f->segments.data[f->wanted.data[k]].from;
        for (uint32_t j = 0; j < from->len; j++)
            want(e, s, &f->wanted, from->data[j].segment);
    }
    if (f->wanted.len > 1)
        qsort(f->wanted.data, f->wanted.len, sizeof *f->wanted.data, by_number);
    for (uint32_t k = 0; k < f->wanted.len; k++)
        set(e, s, f->wanted.data[k], join(e, s, &f->segments.data[f->wanted.data[k]]));
    for (uint32_t k = 0; k < f->phis_made.len; k++) {
        FlowOpenPhi made = f->phis_made.data[k];
        FlowNode *n = &f->nodes[made.node];
        for (uint32_t j = 0; j < n->from.len; j++)
            add_incoming(e, s, made.phi, &n->from.data[j]);
        vec_push(e->arena, &n->open, made);
    }
    return known(e, s, segment);
}

LV slot_load(Emit *e, const FlowSlot *s) { return load_at(e, s, flow_of(e)->segment); }

void slot_edge(Emit *e, FlowNode *to)
{
    FlowEdge edge = { flow_of(e)->segment, LLVMGetInsertBlock(e->b) };
    for (uint32_t k = 0; k < to->open.len; k++) { /* the list may grow meanwhile */
        FlowOpenPhi open = to->open.data[k];
        load_at(e, open.slot, edge.segment);
        add_incoming(e, open.slot, open.phi, &edge);
    }
    vec_push(e->arena, &to->from, edge);
}
