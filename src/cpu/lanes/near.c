/* SPDX-License-Identifier: MIT
 *
 * Loads of lanes that would lie side by side if some of them had not stopped at a bound, as
 * indices do that are clamped to the edge of an array: each lies less than a vector behind the
 * first of its group. So what the group needs is loaded as one vector, from the first active
 * lane's element to the last one's at most, and permuted by the lanes' distances. Gathers take a
 * quarter to a half longer (docs/PERFORMANCE.md).
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

enum { SHORTEST = 8, MAX_LANES = 128 }; /* lanes of a group, at least; of a subgroup, at most */

/* A permutation of a whole group by distances of the same width. */
typedef struct Permutation {
    uint32_t bits, lanes;
    uint32_t set; /* that has it, and loads such elements under a mask */
    const char *name;
} Permutation;

static const Permutation permutations[] = {
    { 32, 16, CPU_AVX512, "llvm.x86.avx512.permvar.si.512" },
    { 32, 8, CPU_AVX512, "llvm.x86.avx2.permd" },
    { 32, 8, CPU_AVX2, "llvm.x86.avx2.permd" },
    { 16, 16, CPU_AVX512, "llvm.x86.avx512.permvar.hi.256" },
    { 16, 8, CPU_AVX512, "llvm.x86.avx512.permvar.hi.128" },
    { 8, 16, CPU_AVX512, "llvm.x86.ssse3.pshuf.b.128" },
};

static const Permutation *permutation(Emit *e, uint32_t bits, uint32_t lanes)
{
    for (size_t k = 0; k < COUNT_OF(permutations); k++)
        if (permutations[k].bits == bits && permutations[k].lanes <= lanes &&
            lanes_of(e)->machine->sets & permutations[k].set)
            return &permutations[k];
    return NULL;
}

bool near_suits(Emit *e, const EmitPointer *p, const LanesPart *part)
{
    uint32_t size = emit_scalar_bytes(e, part->type), lanes = MIN(p->affine.group, e->W);
    return p->affine.expected && p->affine.bounded && p->affine.stride == 1 &&
           p->lane_scale == size && !p->volatile_ && permutation(e, 8 * size, lanes);
}

/* The first lane of each group, for all of its lanes; or the last one. */
static LV spread(Emit *e, LV v, uint32_t group, uint32_t which)
{
    int from[MAX_LANES];
    for (uint32_t k = 0; k < e->W; k++)
        from[k] = (int)(k / group * group + which);
    return ir_shuffle(e->b, v, NULL, from, e->W);
}

LV near_test(Emit *e, LanesNear *n, const LanesPart *part)
{
    EmitPointer *p = &n->at;
    uint32_t bits = 8 * emit_scalar_bytes(e, part->type);
    uint32_t lanes = permutation(e, bits, MIN(p->affine.group, e->W))->lanes;
    /* lanes that are not active hold anything */
    LV index = p->lane_index = LLVMBuildFreeze(e->b, p->lane_index, "");
    LV first = spread(e, index, lanes, 0), distance = LLVMBuildSub(e->b, index, first, "");
    /* indices are signed: one that wraps behind the first is not near it */
    LV far =
        LLVMBuildOr(e->b, LLVMBuildICmp(e->b, LLVMIntUGE, distance, ir_inum(distance, lanes), ""),
                    LLVMBuildICmp(e->b, LLVMIntSLT, index, first, ""), "");
    p->affine = (EmitAffine){ .stride = 1, .group = lanes };
    n->distance = arith_resize(e->b, distance, e->i32, false);
    if (!n->mask) {
        n->last = spread(e, n->distance, lanes, lanes - 1);
        LV behind = LLVMBuildICmp(e->b, LLVMIntUGT, n->distance, n->last, "");
        far = LLVMBuildOr(e->b, far, behind, "");
    }
    return LLVMBuildNot(e->b, lanes_any(e, lanes_and(e, n->mask, far)), "");
}

/* Which elements, counted from the first lane's, a group loads: those that active lanes take, or if
 * all are active, up to the last lane's. */
static LV needed(Emit *e, const LanesNear *n, uint32_t group)
{
    uint32_t lanes = n->at.affine.group;
    LV distance = ir_part(e->b, n->distance, group * lanes, lanes);
    if (!n->mask) {
        LV last = ir_part(e->b, n->last, group * lanes, lanes);
        return LLVMBuildICmp(e->b, LLVMIntULE, ir_part(e->b, lanes_ids(e), 0, lanes), last, "");
    }
    LV bit = LLVMBuildShl(e->b, ir_inum(distance, 1), distance, "");
    LV active = ir_part(e->b, n->mask, group * lanes, lanes);
    bit = LLVMBuildSelect(e->b, active, bit, LLVMConstNull(LLVMTypeOf(bit)), "");
    LT type = LLVMTypeOf(bit);
    LV bits = ir_intrinsic(e->b, "llvm.vector.reduce.or", &type, 1, &bit, 1);
    bits = LLVMBuildTrunc(e->b, bits, LLVMIntTypeInContext(e->cx, lanes), "");
    return LLVMBuildBitCast(e->b, bits, LLVMVectorType(e->i1, lanes), "");
}

LV near_load(Emit *e, const LanesNear *n, const LanesPart *part, LT scalar, uint32_t align)
{
    uint32_t size = emit_scalar_bytes(e, part->type), lanes = n->at.affine.group;
    const Permutation *how = permutation(e, 8 * size, lanes);
    LV piece[MAX_LANES / SHORTEST];
    LT type = LLVMVectorType(scalar, lanes), bits = LLVMIntTypeInContext(e->cx, 8 * size);
    for (uint32_t g = 0; g < e->W / lanes; g++) {
        LV address = address_group(e, &n->at, part->byte, g);
        LV v = lanes_masked_load(e, type, address, align, needed(e, n, g));
        LV at = arith_resize(e->b, ir_part(e->b, n->distance, g * lanes, lanes), bits, false);
        LV args[2] = { LLVMBuildBitCast(e->b, v, LLVMVectorType(bits, lanes), ""), at };
        v = ir_intrinsic(e->b, how->name, NULL, 0, args, 2);
        piece[g] = LLVMBuildBitCast(e->b, v, type, "");
    }
    return ir_concatenate(e->b, piece, e->W / lanes);
}
