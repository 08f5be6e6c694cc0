/* SPDX-License-Identifier: MIT
 *
 * How pointers move by indices that differ between lanes, by one and by a second.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

/* Lanes whose indices are outside of the clamped range do not go on as `a` says: a condition for
 * that. */
static void keep_straight(Emit *e, EmitPointer *p, EmitAffine *a, int64_t least, int64_t most)
{
    LV within = a->stride ? address_firsts_within(e, a, least, most) : NULL;
    if (a->stride && !within)
        *a = (EmitAffine){ .group = 1 };
    if (within)
        p->straight = p->straight ? LLVMBuildAnd(e->b, p->straight, within, "") : within;
}

/* Robust access: clamps the index as emit_farthest says. */
static LV tame(Emit *e, EmitPointer *p, LV index, EmitAffine *a, int64_t stride)
{
    int64_t farthest = emit_farthest(stride);
    if (!emit_is_checked(e, p) || emit_is_tame(index, stride))
        return index;
    if (LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(index))) <= 32)
        *a = (EmitAffine){ .group = 1 };
    else
        keep_straight(e, p, a, -farthest, farthest);
    return emit_clamp(e, emit_cast_index(e, index, e->i64), -farthest, farthest);
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a < 0 ? -a : a;
}

/* Two indices that differ between lanes become one, in units of their common divisor. */
static void join_index(Emit *e, EmitPointer *p, LV index, int64_t scale, EmitAffine affine)
{
    int64_t unit = gcd(p->lane_scale, scale);
    int64_t a = p->lane_scale / unit, b = scale / unit;
    EmitAffine *parts[2] = { &p->affine, &affine };
    LV indices[2] = { p->lane_index, index };
    for (uint32_t k = 0; k < 2 && emit_is_checked(e, p); k++)
        if (LLVMGetElementType(LLVMTypeOf(indices[k])) == e->i32)
            keep_straight(e, p, parts[k], INT32_MIN, INT32_MAX);
    LV x = emit_scaled(e, emit_cast_index(e, p->lane_index, e->i64), a);
    LV y = emit_scaled(e, emit_cast_index(e, index, e->i64), b);
    EmitAffine sum = affine_join(e, &p->affine, &affine);
    sum.stride = p->affine.stride * a + affine.stride * b;
    for (uint32_t k = 0; k < AFFINE_GROUPS && p->affine.first[k] && affine.first[k]; k++) {
        LV one = emit_scaled(e, emit_cast_index(e, p->affine.first[k], e->i64), a);
        LV other = emit_scaled(e, emit_cast_index(e, affine.first[k], e->i64), b);
        sum.first[k] = LLVMBuildAdd(e->b, one, other, "");
    }
    p->lane_index = LLVMBuildAdd(e->b, x, y, "");
    p->lane_scale = unit;
    p->affine = sum;
}

void index_add_lanes(Emit *e, EmitPointer *p, LV index, EmitAffine affine, int64_t stride)
{
    index = tame(e, p, index, &affine, stride);
    if (LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(index))) < 32) {
        index = emit_cast_index(e, index, e->i32);
        affine = (EmitAffine){ .group = 1 };
    }
    if (p->lane_index) {
        join_index(e, p, index, stride, affine);
        return;
    }
    p->lane_index = index;
    p->lane_scale = stride;
    p->affine = affine;
}
