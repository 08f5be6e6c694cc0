/* SPDX-License-Identifier: MIT
 *
 * Rows that follow one another in memory. In: a load in a loop, by lanes that lie close together.
 * Out: prefetches of what is so many bytes further on, beyond the end of a short row: there the
 * next workgroup's rows begin.
 *
 * A machine's own prefetchers stop at the end of a page. What a workgroup reads first of a row then
 * takes as long as memory does, and nothing of it is asked for before the workgroup before it has
 * come to its end. Only outermost loops: what comes after a row in a loop over rows need not be
 * what the loop reads next.
 */
#include "cpu/lanes/internal.h"

/* loads of a block whose prefetches are remembered; lanes to a cache line, at least; operands of
 * operands that are looked at */
enum { REMEMBERED = 16, LANES_OF_A_LINE = 4, DEPTH = 12 };

/* What has been prefetched in the block that code is built for. */
struct LanesAhead {
    uint32_t position, n; /* the block's; loads so far */
    struct Row {
        LV base, offset, first;
        int64_t constant;
    } row[REMEMBERED];
};

/* Whether a value is another one in each iteration: made of a phi of the loop's, or beyond what is
 * looked at. */
static bool moves_on(const Emit *e, const CfgLoop *loop, SpvId id, uint32_t depth)
{
    const Cfg *c = e->cfg;
    const SpvInst *i = spv_def(e->module, id);
    uint32_t p = i && i->block ? c->position[i->block->index] : UINT32_MAX;
    uint16_t at[16];
    if (p == UINT32_MAX || c->blocks[p].loop != loop)
        return false;
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    bool moves = i->op == SpvOpPhi || !depth || n > COUNT_OF(at);
    for (uint32_t k = 0; k < n && !moves; k++)
        moves = moves_on(e, loop, i->words[at[k]], depth - 1);
    return moves;
}

static bool goes_through_a_row(const Emit *e, const SpvInst *i)
{
    const CfgLoop *loop = e->cfg->blocks[e->position].loop;
    return loop && !loop->parent && moves_on(e, loop, spv_operand(i, 0), DEPTH);
}

/* The bytes from the first lane to behind the last; 0: they are not one row. */
static uint32_t row_bytes(const Emit *e, const EmitPointer *p)
{
    int64_t stride = address_lane_stride(p), line = lanes_of(e)->machine->tuning->line_bytes;
    bool row = p->storage == SpvStorageClassStorageBuffer && p->lane_index &&
               p->at.rule != LAYOUT_LANES && !emit_is_lanes(p->base) && p->affine.group >= e->W &&
               stride > 0 && stride <= line / LANES_OF_A_LINE;
    return row ? (uint32_t)stride * e->W : 0;
}

/* Whether a load before it in the block reads nearly the same lines. */
static bool is_repeated(Emit *e, const EmitPointer *p, uint32_t bytes)
{
    Lanes *lanes = lanes_of(e);
    if (!lanes->ahead)
        lanes->ahead = NEW(e->arena, struct LanesAhead);
    struct LanesAhead *a = lanes->ahead;
    if (a->position != e->position)
        *a = (struct LanesAhead){ .position = e->position };
    LV first = address_first_lane(e, p);
    for (uint32_t k = 0; k < MIN(a->n, REMEMBERED); k++) {
        const struct Row *r = &a->row[k];
        int64_t apart;
        if (r->base != p->base || r->offset != p->offset ||
            !address_apart_by(first, r->first, &apart))
            continue;
        apart = apart * p->lane_scale + p->constant - r->constant;
        if (apart < bytes / 2 && -apart < bytes / 2)
            return true;
    }
    a->row[a->n++ % REMEMBERED] = (struct Row){ p->base, p->offset, first, p->constant };
    return false;
}

LV lanes_row_ahead(Emit *e, const SpvInst *i, const EmitPointer *p, uint32_t *bytes)
{
    *bytes = row_bytes(e, p);
    if (!*bytes || !goes_through_a_row(e, i) || is_repeated(e, p, *bytes))
        return NULL;
    return address_group(e, p, 0, 0);
}
