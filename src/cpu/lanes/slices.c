/* SPDX-License-Identifier: MIT
 *
 * Loads of lanes each of which takes a piece of a block of its own, where windows.c cannot: the
 * machine does not permute pairs of vectors, or blocks are too long. The slice of 16 bytes of each
 * lane's block that the piece is in is loaded, and slices are interleaved until the pieces are side
 * by side, for which all machines have instructions. Other pieces of the same slices take the same
 * loads and most of the same instructions, which LLVM makes once.
 *
 * A lane's slice may reach into the next lane's block. The last lane's is not loaded, but its piece
 * is, so nothing is read but what lies between accesses of active lanes, if all are.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

enum { SLICE = 16, MOST_LANES = 128, MOST = 64 /* bytes of a vector */ };

/* Vector k of a group has the slices of the lanes k, k + pieces, k + 2 * pieces, ... */
typedef struct Slices {
    uint32_t group, lanes; /* lanes that follow one another; of a vector of pieces */
    uint32_t pieces;       /* of a slice, and vectors of slices that make one of pieces */
    uint32_t wanted;       /* which of them */
    int64_t stride;        /* of the blocks, in bytes */
    int64_t start;         /* of the slice, from the piece, likewise */
    unsigned align;
    LT type; /* of a slice */
} Slices;

static bool plan(Emit *e, const EmitPointer *p, const LanesPart *part, Slices *s)
{
    uint32_t size = emit_scalar_bytes(e, part->type);
    int64_t stride = address_lane_stride(p), place = p->constant + part->byte;
    if (!p->lane_index || p->at.rule == LAYOUT_LANES || emit_is_lanes(p->base) ||
        p->affine.expected || address_checked(e, p) || p->volatile_ || p->offset ||
        p->affine.stride != 1 || place < 0 || place + size > stride || place % size ||
        stride < SLICE)
        return false;
    uint32_t group = MIN(p->affine.group, e->W);
    *s = (Slices){ .group = group,
                   .lanes = MIN(lanes_of(e)->machine->vector_bits / 8 / size, group),
                   .pieces = SLICE / size,
                   .wanted = (uint32_t)(place % SLICE / size),
                   .stride = stride,
                   .start = -(place % SLICE),
                   .align = p->align && p->align < size ? p->align : size,
                   .type = LLVMVectorType(LLVMIntTypeInContext(e->cx, size * 8), SLICE / size) };
    return s->lanes >= s->pieces;
}

bool slices_suit(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    Slices s;
    return plan(e, p, part, &s);
}

/* Of `first` and the lanes that belong to it. `last`: of the group, whose slice may be any. */
static LV load_slices(Emit *e, const Slices *s, LV address, uint32_t first, uint32_t last)
{
    LV slice[MOST / SLICE];
    uint32_t n = s->lanes / s->pieces;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t lane = first + k * s->pieces;
        int64_t byte = (int64_t)(lane == last ? lane - 1 : lane) * s->stride;
        LV at = ir_at(e->b, address, ir_int(e->i64, (uint64_t)byte));
        slice[k] = ir_load(e->b, s->type, at, s->align);
    }
    return ir_concatenate(e->b, slice, n);
}

/* Half of the vectors, interleaved with the other half, until one is left: of the pieces that are
 * wanted. */
static LV pick(Emit *e, const Slices *s, LV *v)
{
    for (uint32_t n = s->pieces / 2; n; n /= 2)
        for (uint32_t k = 0; k < n; k++)
            v[k] = chunks_interleave(e, v[k], v[k + n], s->pieces, s->wanted / n % 2);
    return v[0];
}

LV slices_load(Emit *e, const EmitPointer *p, const LanesPart *part, LT type)
{
    Slices s;
    LV v[SLICE], pieces[MOST_LANES];
    if (!plan(e, p, part, &s))
        return NULL;
    LT piece = LLVMGetElementType(s.type);
    for (uint32_t g = 0; g < e->W; g += s.group) {
        LV address = address_group(e, p, part->byte + s.start, g / s.group);
        for (uint32_t l = 0; l < s.group; l += s.lanes) {
            for (uint32_t k = 0; k < s.pieces; k++)
                v[k] = load_slices(e, &s, address, l + k, s.group - 1);
            pieces[(g + l) / s.lanes] = pick(e, &s, v);
        }
        uint64_t byte = (uint64_t)(s.stride * (s.group - 1) - s.start);
        LV last = ir_load(e->b, piece, ir_at(e->b, address, ir_int(e->i64, byte)), s.align);
        LV *at = &pieces[(g + s.group) / s.lanes - 1];
        *at = LLVMBuildInsertElement(e->b, *at, last, ir_int(e->i32, s.lanes - 1), "");
    }
    return LLVMBuildBitCast(e->b, ir_concatenate(e->b, pieces, e->W / s.lanes), type, "");
}
