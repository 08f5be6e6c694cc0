/* SPDX-License-Identifier: MIT
 *
 * Values in other blocks than their own. If flow_plan.c says that another block may be reached
 * around the defining one (code under a mask may be jumped over), each leaf also gets a slot
 * (slot.c), which other blocks read at their top. Lanes that leave a divergent loop early keep
 * their values because the slot is stored under the mask.
 */
#include "cpu/lanes/internal.h"

/* What is kept of a value. */
typedef struct LanesKept {
    FlowSlot **slot;         /* by leaf; NULL: the value itself is valid everywhere */
    LanesSlots *affine_slot; /* by leaf: the scalars of its Affine; NULL: not kept */
    const EmitValue *here;   /* as it is in block `here_block` */
    uint32_t here_block;
} LanesKept;

void kept_begin(Emit *e) { lanes_of(e)->kept = NEW_ARRAY(e->arena, LanesKept, e->module->bound); }

/* What is known of a leaf. Lanes that left a loop early most likely left it together. */
static EmitAffine affine_kept(Emit *e, LanesKept *k, const EmitAffine *from, uint32_t n, LV *leaf)
{
    EmitAffine a = { .group = 1 };
    if (k->affine_slot)
        return affine_load(e, &k->affine_slot[n], *from);
    if (!emit_is_lanes(*leaf))
        return (EmitAffine){ .first = { *leaf }, .group = e->W };
    if (from->group == e->W && from->stride)
        *leaf = affine_expect(e, *leaf, from->stride, &a);
    return a;
}

static const EmitValue *from_slots(Emit *e, LanesKept *k, const EmitValue *from)
{
    EmitValue *v = emit_new_value(e, from->type);
    LLVMBuilderRef b = e->b;
    e->b = flow_top(e);
    if (from->affine)
        v->affine = NEW_ARRAY(e->arena, EmitAffine, v->n);
    for (uint32_t n = 0; n < v->n; n++) {
        v->leaf[n] = k->slot[n] ? slot_load(e, k->slot[n]) : from->leaf[n];
        if (from->affine)
            v->affine[n] = affine_kept(e, k, &from->affine[n], n, &v->leaf[n]);
    }
    emit_with_pointer(e, v);
    e->b = b;
    return v;
}

/* Emits pointer arithmetic again, which is cheaper than keeping its parts in slots. */
static const EmitValue *again(Emit *e, const SpvInst *i)
{
    LLVMBuilderRef b = e->b;
    e->b = flow_top(e);
    const EmitValue *v = emit_again(e, i);
    e->b = b;
    return v;
}

const EmitValue *kept_elsewhere(Emit *e, const SpvInst *i, const EmitValue *v)
{
    LanesKept *k = &lanes_of(e)->kept[i->id];
    bool chain = emit_is_chain(e, i);
    if (!flow_needs_slot(e, i->id) || (!k->slot && !chain))
        return v;
    if (!k->here || k->here_block != e->position) {
        k->here = chain ? again(e, i) : from_slots(e, k, v);
        k->here_block = e->position;
    }
    return k->here;
}

/* Keeps the leaves of a value for blocks that can be reached around its definition. */
static void store_slots(Emit *e, const SpvInst *i, const EmitValue *v)
{
    LanesKept *k = &lanes_of(e)->kept[i->id];
    bool masked = flow_needs_slot(e, i->id) == SLOT_MASKED;
    uint32_t home = flow_slot_home(e, i->id);
    if (!k->slot) {
        k->slot = NEW_ARRAY(e->arena, FlowSlot *, v->n);
        k->affine_slot = masked ? NULL : NEW_ARRAY(e->arena, LanesSlots, v->n);
    }
    for (uint32_t n = 0; n < v->n; n++) {
        LV leaf = v->leaf[n];
        if (LLVMIsConstant(leaf) && !k->slot[n])
            continue;
        if (masked)
            leaf = emit_lanes(e, leaf);
        if (!k->slot[n])
            k->slot[n] = slot_new(e, LLVMTypeOf(leaf), home, false);
        if (masked && e->mask)
            leaf = LLVMBuildSelect(e->b, e->mask, leaf, slot_load(e, k->slot[n]), "");
        slot_store(e, k->slot[n], leaf);
        if (k->affine_slot && v->affine)
            affine_store(e, &k->affine_slot[n], home, &v->affine[n]);
    }
}

void kept_defined(Emit *e, const SpvInst *i, EmitValue *v)
{
    if (!v->affine && !v->pointer)
        affine_result(e, i, v);
    lanes_of(e)->kept[i->id].here = NULL;
    if (flow_needs_slot(e, i->id) && !emit_is_chain(e, i) && v->n)
        store_slots(e, i, v);
}
