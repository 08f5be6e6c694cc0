/* SPDX-License-Identifier: MIT
 *
 * Robust access: several accesses of a block share one test of whether all their lanes are inside.
 * In: a block. Out: the address arithmetic of later accesses is moved before an earlier access, the
 * anchor, if it does not depend on anything in between; there access.c tests all of them at once.
 * The test does not depend on what memory holds, so stores and barriers in between do not matter.
 *
 * Neighbours of an element (a stencil, an unrolled loop) then cost one comparison a line instead of
 * one each. If the test fails, each access tests its lanes as it would alone.
 */
#include "cpu/lanes/internal.h"

/* accesses that share a test; instructions searched for an address */
enum { MEMBERS = 16, SLICE = 64 };

typedef struct Batch {
    const SpvInst *access[MEMBERS];
    LV test[MEMBERS];
    uint32_t n;
    bool tested;
} Batch;

struct LanesTogether {
    VEC(Batch) batches;     /* of the current block; the first access of each is its anchor */
    SpvInst *anchor;        /* of the last one */
    uint32_t now, anchored; /* instructions so far; those before the anchor */
    uint32_t *place;        /* by id: its number in the block */
};

/* A load or store of a buffer. */
static bool is_access(Emit *e, const SpvInst *i)
{
    const SpvType *t = i->op == SpvOpLoad || i->op == SpvOpStore
                           ? spv_type_of(e->module, spv_operand(i, 0))
                           : NULL;
    return t && t->kind == SPV_POINTER &&
           (t->storage == SpvStorageClassStorageBuffer || t->storage == SpvStorageClassUniform);
}

/* An address, a number or a truth value that depends on nothing but its operands. */
static bool is_movable(Emit *e, const SpvInst *i)
{
    const SpvType *t = i->op == SpvOpLoad ? spv_type_of(e->module, spv_operand(i, 0)) : NULL;
    if (t)
        return t->storage == SpvStorageClassPushConstant || t->storage == SpvStorageClassInput;
    t = spv_type(e->module, i->type);
    if (t && t->kind == SPV_VECTOR)
        t = t->element;
    return emit_is_chain(e, i) ||
           (t && (t->kind == SPV_INT || t->kind == SPV_BOOL) && spv_is_pure(i));
}

static bool is_there(Emit *e, SpvId id)
{
    return lanes_of(e)->together->place[id] <= lanes_of(e)->together->anchored;
}

/* Whether a value is available at the anchor or can be made so, looking at up to `budget`
 * instructions. */
static bool comes_before(Emit *e, SpvId id, uint32_t *budget)
{
    const SpvInst *i = spv_def(e->module, id);
    uint16_t at[16];
    if (!i || is_there(e, id))
        return !i || !emit_has_matrix(spv_type(e->module, i->type));
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    if (!*budget || n > COUNT_OF(at) || !is_movable(e, i))
        return false;
    --*budget;
    for (uint32_t k = 0; k < n; k++)
        if (!comes_before(e, i->words[at[k]], budget))
            return false;
    return true;
}

static void bring(Emit *e, SpvId id)
{
    SpvInst *i = spv_def(e->module, id);
    uint16_t at[16];
    if (!i || is_there(e, id))
        return;
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    for (uint32_t k = 0; k < n; k++)
        bring(e, i->words[at[k]]);
    spv_unlink(i);
    spv_insert_before(lanes_of(e)->together->anchor, i);
    lanes_of(e)->together->place[id] = 0;
}

void together_block(Emit *e, SpvBlock *block)
{
    Lanes *lanes = lanes_of(e);
    if (!e->robust)
        return;
    if (!lanes->together) {
        lanes->together = NEW(e->arena, struct LanesTogether);
        lanes->together->place = NEW_ARRAY(e->arena, uint32_t, e->module->bound);
    }
    struct LanesTogether *t = lanes->together;
    t->batches.len = 0;
    Batch *b = NULL;
    for (SpvInst *i = block->insts.first, *next; i; i = next) {
        next = i->next;
        t->now++;
        if (i->id)
            t->place[i->id] = t->now;
        if (!is_access(e, i))
            continue;
        SpvId address = spv_operand(i, 0);
        uint32_t budget = SLICE;
        if (!b || b->n == MEMBERS || !comes_before(e, address, &budget)) {
            vec_push(e->arena, &t->batches, (Batch){ .n = 0 });
            b = &vec_last(&t->batches);
            t->anchor = i;
            t->anchored = t->now - 1;
        }
        bring(e, address);
        b->access[b->n++] = i;
    }
}

static void test_batch(Emit *e, Batch *b)
{
    EmitPointer p[MEMBERS];
    for (uint32_t k = 0; k < b->n; k++)
        p[k] = *emit_pointer(e, spv_operand(b->access[k], 0));
    access_inside(e, p, b->n, b->test);
    b->tested = true;
}

LV together_inside(Emit *e, const SpvInst *i)
{
    struct LanesTogether *t = lanes_of(e)->together;
    for (uint32_t n = 0; t && n < t->batches.len; n++) {
        Batch *b = &t->batches.data[n];
        for (uint32_t k = 0; k < b->n && b->n > 1; k++) {
            if (b->access[k] != i)
                continue;
            if (!b->tested)
                test_batch(e, b);
            return b->test[k];
        }
    }
    return NULL;
}
