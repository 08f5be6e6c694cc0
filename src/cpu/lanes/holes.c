/* SPDX-License-Identifier: MIT
 *
 * Stores of small numbers with holes between them: of bytes 8 bytes apart, for one. Each becomes as
 * wide as it and its hole are together, and of these vectors the low parts are stored under a mask.
 * A scatter would go from lane to lane, since machines scatter no numbers of less than 32 bits.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

enum { MOST_BYTES = 16, WORD = 8 /* bytes */, MOST = IR_MAX_LANES /* elements of a vector */ };

bool holes_suit(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    uint32_t size = emit_scalar_bytes(e, part->type), group = MIN(p->affine.group, e->W);
    int64_t stride = address_lane_stride(p);
    return p->lane_index && p->at.rule != LAYOUT_LANES && !emit_is_lanes(p->base) && size < 4 &&
           stride > size && stride <= MOST_BYTES && is_pow2((uint64_t)stride) && group >= 8 &&
           group * (uint32_t)stride / size <= MOST && !p->affine.expected && !p->volatile_ &&
           !address_checked(e, p) && lanes_has_masks(e, 8 * size);
}

/* Numbers of `size` bytes, `stride` bytes apart, as a vector of numbers of `size` bytes. */
static LV spread(Emit *e, LV v, uint32_t size, uint32_t stride)
{
    int from[MOST];
    uint32_t n = LLVMGetVectorSize(LLVMTypeOf(v)), step = MIN(stride, WORD);
    LT word = LLVMIntTypeInContext(e->cx, 8 * step);
    v = LLVMBuildZExt(e->b, v, LLVMVectorType(word, n), "");
    if (stride > WORD) {
        for (uint32_t k = 0; k < 2 * n; k++)
            from[k] = (int)(k % 2 ? n : k / 2);
        v = ir_shuffle(e->b, v, LLVMConstNull(LLVMTypeOf(v)), from, 2 * n);
    }
    LT scalar = LLVMIntTypeInContext(e->cx, 8 * size);
    return LLVMBuildBitCast(e->b, v, LLVMVectorType(scalar, n * stride / size), "");
}

void holes_store(Emit *e, const EmitPointer *p, const LanesPart *part, LV v, uint32_t align)
{
    uint32_t size = emit_scalar_bytes(e, part->type), group = MIN(p->affine.group, e->W);
    uint32_t stride = (uint32_t)address_lane_stride(p), each = stride / size;
    LV mask = lanes_mask(e), none = LLVMConstNull(LLVMTypeOf(mask));
    int lane[MOST];
    v = LLVMBuildBitCast(e->b, v, emit_lanes_type(e, LLVMIntTypeInContext(e->cx, 8 * size)), "");
    for (uint32_t g = 0; g < e->W / group; g++) {
        LV wide = spread(e, ir_part(e->b, v, g * group, group), size, stride);
        for (uint32_t k = 0; k < group * each; k++)
            lane[k] = (int)(k % each ? e->W : g * group + k / each);
        lanes_masked_store(e, wide, address_group(e, p, part->byte, g), align,
                           ir_shuffle(e->b, mask, none, lane, group * each));
    }
}
