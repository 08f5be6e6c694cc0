/* SPDX-License-Identifier: MIT
 *
 * Robust access: several accesses of a block share one test of whether all their lanes are inside.
 * In: a block. Out: the arithmetic of later accesses' addresses moved before an earlier access, the
 * anchor, where it hangs on nothing between them; there access.c asks for all of them at once. What
 * memory holds does not matter to that, so stores and barriers between them do not either.
 *
 * Neighbours of an element (a stencil, an unrolled loop) then cost a comparison a line, not one
 * each. Where the test fails each access asks its lanes, as it would alone.
 */
#include "cpu/lanes/internal.h"

enum { MEMBERS = 16, SLICE = 64 }; /* accesses a test; instructions looked at for an address */

typedef struct Batch {
    const SpvInst *access[MEMBERS];
    LV test[MEMBERS];
    uint32_t n;
    bool asked;
} Batch;

struct Together {
    VEC(Batch) batches;     /* of the current block; the first access of each is its anchor */
    SpvInst *anchor;        /* of the last one */
    uint32_t now, anchored; /* instructions so far, and before the anchor */
    uint32_t *place;        /* by id: its number among them */
};

/* Into a buffer. */
static bool is_access(Emit *e, const SpvInst *i)
{
    const SpvType *t = i->op == SpvOpLoad || i->op == SpvOpStore
                           ? spv_type_of(e->module, spv_operand(i, 0))
                           : NULL;
    return t && t->kind == SPV_POINTER &&
           (t->storage == SpvStorageClassStorageBuffer || t->storage == SpvStorageClassUniform);
}

/* An address, or a number or truth value that hangs on nothing but the operands. */
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

/* Whether a value is there at the anchor, or can be; `budget` instructions are looked at. */
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
        lanes->together = NEW(e->arena, struct Together);
        lanes->together->place = NEW_ARRAY(e->arena, uint32_t, e->module->bound);
    }
    struct Together *t = lanes->together;
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

static void ask(Emit *e, Batch *b)
{
    Pointer p[MEMBERS];
    for (uint32_t k = 0; k < b->n; k++)
        p[k] = *emit_pointer(e, spv_operand(b->access[k], 0));
    access_inside(e, p, b->n, b->test);
    b->asked = true;
}

LV together_inside(Emit *e, const SpvInst *i)
{
    struct Together *t = lanes_of(e)->together;
    for (uint32_t n = 0; t && n < t->batches.len; n++) {
        Batch *b = &t->batches.data[n];
        for (uint32_t k = 0; k < b->n && b->n > 1; k++) {
            if (b->access[k] != i)
                continue;
            if (!b->asked)
                ask(e, b);
            return b->test[k];
        }
    }
    return NULL;
}
