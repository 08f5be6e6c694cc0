/* SPDX-License-Identifier: MIT
 *
 * Loads of lanes each of which takes a piece of a block of its own, where the blocks lie one behind
 * the other: a member of a structure, a column, a part of a quantised block. Vectors are loaded
 * that hold the blocks of several lanes, windows, and permuted in pairs; a gather would cost 0.8
 * cycles a lane, windows cost 0.1 to 0.5 (docs/PERFORMANCE.md). Other pieces of the same blocks use
 * the same windows, which LLVM loads once.
 *
 * Windows reach from the first lane's block to the last lane's piece. The last ones are moved back
 * so that they end with it. So nothing is read but what lies between accesses of active lanes, if
 * all are: behind the last active lane's piece there may be nothing.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <string.h>

enum {
    WINDOW = 64,
    MOST_UNITS = 256,
    PLACE_STEP = 16, /* blocks of more than half a window are shared in parts */
    WORTH_TEST = 3,  /* loads of a block of code, so that they are worth a test and two ways */
};

/* Bytes, if not said otherwise. */
typedef struct Windows {
    uint32_t group, lanes; /* lanes of a group, of a window */
    int64_t stride, size;  /* of a block, of a piece */
    int64_t place;         /* of the piece in what windows hold of its block */
    int64_t before;        /* what they do not hold of it */
    int64_t unit;          /* what is permuted */
    int64_t end;           /* of the last lane's piece, from the first lane's block */
} Windows;

static int64_t largest_power(int64_t x)
{
    int64_t n = 1;
    while (2 * n <= x)
        n *= 2;
    return n;
}

/* Where the piece is in its block, if that is known. */
static bool place_in_block(const EmitPointer *p, int64_t byte, int64_t stride, int64_t *place)
{
    *place = p->constant + byte;
    return !p->offset && p->affine.stride == 1 && *place >= 0 && *place < stride;
}

static bool plan(Emit *e, const EmitPointer *p, const LanesPart *part, Windows *w)
{
    const CpuTarget *machine = lanes_of(e)->machine;
    if (!(machine->sets & CPU_AVX512) || !p->lane_index || p->at.rule == LAYOUT_LANES ||
        emit_is_lanes(p->base) || p->affine.expected || address_checked(e, p) || p->volatile_)
        return false;
    *w = (Windows){ .group = MIN(p->affine.group, e->W),
                    .stride = address_lane_stride(p),
                    .size = emit_scalar_bytes(e, part->type) };
    if (w->group < 8 || w->stride <= w->size || w->stride > WINDOW)
        return false;
    bool known = place_in_block(p, part->byte, w->stride, &w->place);
    if (!known)
        w->place = 0; /* pieces are taken for blocks */
    w->unit = w->size;
    while (w->stride % w->unit || w->place % w->unit)
        w->unit /= 2;
    for (; w->place >= PLACE_STEP && w->place + w->stride + w->size > WINDOW;
         w->place -= PLACE_STEP)
        w->before += PLACE_STEP;
    w->lanes = (uint32_t)MIN(largest_power((WINDOW - w->place - w->size) / w->stride + 1),
                             (int64_t)w->group);
    w->end = w->place + w->stride * (int64_t)(w->group - 1) + w->size;
    /* Such windows are not shared and straddle cache lines, which costs more than a gather. */
    if (!known && w->size >= 4 && w->lanes < 4)
        return false;
    bool bytes = w->unit > 1 || machine->sets & CPU_AVX512_VBMI;
    return bytes && w->place + w->size <= WINDOW && w->lanes >= 2 && w->end >= WINDOW &&
           w->size / w->unit * (int64_t)e->W <= MOST_UNITS;
}

/* Where window k of a group begins, from the first lane's block. */
static int64_t window_start(const Windows *w, uint32_t k)
{
    return MIN((int64_t)(k * w->lanes) * w->stride, w->end - WINDOW);
}

/* The pieces of the lanes of windows k and k + 1, or of k alone. */
static LV pick_pieces(Emit *e, const Windows *w, const LV *window, uint32_t k, uint32_t n)
{
    int units[MOST_UNITS], count = 0;
    for (uint32_t j = k; j < k + n; j++)
        for (uint32_t l = j * w->lanes; l < (j + 1) * w->lanes; l++)
            for (int64_t at = 0; at < w->size; at += w->unit) {
                int64_t byte = (int64_t)l * w->stride + w->place + at - window_start(w, j);
                units[count++] = (int)(((int64_t)(j - k) * WINDOW + byte) / w->unit);
            }
    return ir_shuffle(e->b, window[k], n > 1 ? window[k + 1] : NULL, units, (uint32_t)count);
}

/* Whether several loads of this block of code go through the pointer's variable, so that they are
 * likely to share windows. */
static bool shares_windows(Emit *e, const EmitPointer *p)
{
    uint32_t n = 0;
    const SpvBlock *block = e->cfg->blocks[e->position].block;
    for (const SpvInst *i = block ? block->insts.first : NULL; i && p->variable; i = i->next) {
        const SpvInst *at = i->op == SpvOpLoad ? spv_def(e->module, spv_operand(i, 0)) : NULL;
        while (at && (at->op == SpvOpAccessChain || at->op == SpvOpInBoundsAccessChain))
            at = spv_def(e->module, spv_operand(at, 0));
        n += at && at->id == p->variable;
    }
    return n >= WORTH_TEST;
}

bool windows_wanted(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    Windows w;
    return (plan(e, p, part, &w) || slices_suit(e, p, part)) && shares_windows(e, p);
}

LV windows_load(Emit *e, const EmitPointer *p, const LanesPart *part, LT type, uint32_t align)
{
    Windows w;
    LV window[64], pieces[64];
    uint32_t n = 0;
    if (e->mask || !plan(e, p, part, &w))
        return e->mask ? NULL : slices_load(e, p, part, type);
    LT vector = LLVMVectorType(LLVMIntTypeInContext(e->cx, (unsigned)w.unit * 8),
                               (unsigned)(WINDOW / w.unit));
    uint32_t per_group = w.group / w.lanes, at_once = MIN(per_group, 2u);
    for (uint32_t g = 0; g < e->W / w.group; g++) {
        for (uint32_t k = 0; k < per_group; k++) {
            int64_t byte = part->byte - w.place + window_start(&w, k);
            window[k] =
                ir_load(e->b, vector, address_group(e, p, byte, g), MIN(align, (uint32_t)w.unit));
        }
        for (uint32_t k = 0; k < per_group; k += at_once)
            pieces[n++] = pick_pieces(e, &w, window, k, at_once);
    }
    return LLVMBuildBitCast(e->b, ir_concatenate(e->b, pieces, n), type, "");
}
