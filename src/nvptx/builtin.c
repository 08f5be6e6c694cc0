/* SPDX-License-Identifier: MIT
 *
 * Input variables of compute kernels, from special registers and what the launch passes. The
 * threads of a block are dealt to warps by their linear index, as invocations are to subgroups.
 */
#include "nvptx/fuse.h"
#include "llvm/ir.h"

#include <stddef.h>
#include <stdio.h>

static LV u32(Emit *e, uint32_t x) { return LLVMConstInt(e->i32, x, 0); }

static LV axis_register(Emit *e, const char *name, uint32_t axis)
{
    char full[16];
    snprintf(full, sizeof full, "%s.%c", name, 'x' + (int)axis);
    return threads_register(e, full);
}

static LV field(Emit *e, size_t offset, uint32_t axis)
{
    return threads_env(e, e->b, e->i32, offset + 4 * (size_t)axis);
}

LV threads_local_size(Emit *e, uint32_t axis)
{
    return e->local_size[axis] ? u32(e, e->local_size[axis])
                               : field(e, offsetof(NvptxEnv, local_size), axis);
}

static LV enqueued_size(Emit *e, uint32_t axis)
{
    return e->local_size[axis] ? u32(e, e->local_size[axis])
                               : field(e, offsetof(NvptxEnv, enqueued_size), axis);
}

/* Where workgroups are fused, may be behind the last one. */
static LV unbounded_group(Emit *e, uint32_t axis)
{
    const NvptxFusion *f = fused_workgroups(e);
    LV block = axis_register(e, "ctaid", axis);
    if (f && (axis == f->row_axis || axis == f->column_axis)) {
        bool rows = axis == f->row_axis;
        LV group = LLVMBuildUDiv(e->b, threads_register(e, "tid.x"), u32(e, e->local_size[0]), ""),
           columns = field(e, offsetof(NvptxEnv, fused_columns), 0);
        LV own = rows ? LLVMBuildUDiv(e->b, group, columns, "")
                      : LLVMBuildURem(e->b, group, columns, "");
        block = LLVMBuildMul(e->b, block, rows ? u32(e, f->rows) : columns, "");
        block = LLVMBuildAdd(e->b, block, own, "");
    }
    return LLVMBuildAdd(e->b, block, field(e, offsetof(NvptxEnv, base_group), axis), "");
}

static LV group_id(Emit *e, uint32_t axis)
{
    LV own = unbounded_group(e, axis);
    if (!fused_workgroups(e))
        return own;
    LV last = LLVMBuildSub(e->b, field(e, offsetof(NvptxEnv, end_group), axis), u32(e, 1), "");
    return ir_binary(e->b, "llvm.umin", own, last);
}

LV threads_exists(Emit *e)
{
    LV r = NULL;
    for (uint32_t axis = 0; axis < 3; axis++) {
        LV end = field(e, offsetof(NvptxEnv, end_group), axis);
        LV in = LLVMBuildICmp(e->b, LLVMIntULT, unbounded_group(e, axis), end, "");
        r = r ? LLVMBuildAnd(e->b, r, in, "") : in;
    }
    return r;
}

static LV thread_id(Emit *e, uint32_t axis)
{
    if (e->local_size[axis] == 1)
        return u32(e, 0);
    LV id = axis_register(e, "tid", axis);
    return fused_workgroups(e) ? LLVMBuildAnd(e->b, id, u32(e, e->local_size[0] - 1), "") : id;
}

/* The thread's number in its block. */
LV threads_local_index(Emit *e)
{
    LV r = thread_id(e, 2);
    for (uint32_t k = 2; k-- > 0;)
        r = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, r, threads_local_size(e, k), ""), thread_id(e, k),
                         "");
    return r;
}

LV threads_invocations(Emit *e)
{
    return LLVMBuildMul(e->b,
                        LLVMBuildMul(e->b, threads_local_size(e, 0), threads_local_size(e, 1), ""),
                        threads_local_size(e, 2), "");
}

/* Threads are numbered by quads where these are squares, four neighbours after the other. */
static LV square_id(Emit *e, uint32_t axis)
{
    LV number = threads_local_index(e), quad = LLVMBuildLShr(e->b, number, u32(e, 2), "");
    LV across = LLVMBuildLShr(e->b, threads_local_size(e, 0), u32(e, 1), "");
    LV down = LLVMBuildLShr(e->b, threads_local_size(e, 1), u32(e, 1), "");
    LV line = LLVMBuildUDiv(e->b, quad, across, "");
    if (axis == 2)
        return LLVMBuildUDiv(e->b, line, down, "");
    LV first = axis ? LLVMBuildURem(e->b, line, down, "") : LLVMBuildURem(e->b, quad, across, "");
    LV bit = LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, number, u32(e, axis), ""), u32(e, 1), "");
    return LLVMBuildOr(e->b, LLVMBuildShl(e->b, first, u32(e, 1), ""), bit, "");
}

static LV local_id(Emit *e, uint32_t axis)
{
    return e->entry->quads == SPV_QUADS_SQUARE ? square_id(e, axis) : thread_id(e, axis);
}

/* LocalInvocationIndex, by which subgroups are not dealt where quads are squares. */
static LV local_place(Emit *e)
{
    LV r = local_id(e, 2);
    for (uint32_t k = 2; k-- > 0;)
        r = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, r, threads_local_size(e, k), ""), local_id(e, k),
                         "");
    return r;
}

static LV global_id(Emit *e, uint32_t axis)
{
    LV r = LLVMBuildMul(e->b, group_id(e, axis), enqueued_size(e, axis), "");
    r = LLVMBuildAdd(e->b, r, local_id(e, axis), "");
    if (e->entry->model == SpvExecutionModelKernel)
        r = LLVMBuildAdd(e->b, r, field(e, offsetof(NvptxEnv, global_offset), axis), "");
    return r;
}

static LV global_linear(Emit *e)
{
    LV r = NULL;
    for (uint32_t k = 3; k-- > 0;) {
        LV x =
            LLVMBuildSub(e->b, global_id(e, k), field(e, offsetof(NvptxEnv, global_offset), k), "");
        LV size = field(e, offsetof(NvptxEnv, global_size), k);
        r = r ? LLVMBuildAdd(e->b, LLVMBuildMul(e->b, r, size, ""), x, "") : x;
    }
    return r;
}

static LV n_subgroups(Emit *e)
{
    LV n = LLVMBuildAdd(e->b, threads_invocations(e), u32(e, e->W - 1), "");
    return LLVMBuildUDiv(e->b, n, u32(e, e->W), "");
}

static LV in_entry(Emit *e, LV *kept, LV (*make)(Emit *e))
{
    if (!*kept) {
        LLVMBuilderRef b = e->b;
        e->b = e->entry_b;
        *kept = make(e);
        e->b = b;
    }
    return *kept;
}

static LV make_lane(Emit *e)
{
    LV lane = threads_register(e, "laneid");
    return e->W == NVPTX_WARP ? lane : LLVMBuildAnd(e->b, lane, u32(e, e->W - 1), "");
}

LV threads_lane(Emit *e) { return in_entry(e, &threads_of(e)->lane, make_lane); }

/* All, but for the last subgroup of a block that is no multiple of it. */
static LV make_members(Emit *e)
{
    LV all = u32(e, UINT32_MAX >> (32 - e->W));
    uint64_t n = (uint64_t)e->local_size[0] * e->local_size[1] * e->local_size[2];
    if (!n || n % e->W) {
        LV start = LLVMBuildAnd(e->b, threads_local_index(e), u32(e, ~(e->W - 1)), "");
        LV left = LLVMBuildSub(e->b, threads_invocations(e), start, "");
        LV bits = LLVMBuildAnd(e->b, left, u32(e, e->W - 1), "");
        LV some = LLVMBuildSub(e->b, LLVMBuildShl(e->b, u32(e, 1), bits, ""), u32(e, 1), "");
        LV is_whole = LLVMBuildICmp(e->b, LLVMIntUGE, left, u32(e, e->W), "");
        all = LLVMBuildSelect(e->b, is_whole, all, some, "");
    }
    if (e->W == NVPTX_WARP)
        return all;
    LV base = LLVMBuildAnd(e->b, threads_register(e, "laneid"), u32(e, ~(e->W - 1)), "");
    return LLVMBuildShl(e->b, all, base, "");
}

LV threads_members(Emit *e) { return in_entry(e, &threads_of(e)->members, make_members); }

/* The bits below, at and above the lane's own, of word 0; there are no others. */
static LV lane_mask(Emit *e, uint32_t builtin)
{
    switch (builtin) {
    case SpvBuiltInSubgroupEqMask: return threads_register(e, "lanemask.eq");
    case SpvBuiltInSubgroupGeMask: return threads_register(e, "lanemask.ge");
    case SpvBuiltInSubgroupGtMask: return threads_register(e, "lanemask.gt");
    case SpvBuiltInSubgroupLeMask: return threads_register(e, "lanemask.le");
    default: return threads_register(e, "lanemask.lt");
    }
}

typedef LV AxisFn(Emit *e, uint32_t axis);

static LV n_groups(Emit *e, uint32_t axis) { return field(e, offsetof(NvptxEnv, n_groups), axis); }
static LV global_offset(Emit *e, uint32_t axis)
{
    return field(e, offsetof(NvptxEnv, global_offset), axis);
}
static LV global_size(Emit *e, uint32_t axis)
{
    return field(e, offsetof(NvptxEnv, global_size), axis);
}

static AxisFn *axis_of(uint32_t builtin)
{
    switch (builtin) {
    case SpvBuiltInWorkgroupId: return group_id;
    case SpvBuiltInNumWorkgroups: return n_groups;
    case SpvBuiltInGlobalOffset: return global_offset;
    case SpvBuiltInGlobalSize: return global_size;
    case SpvBuiltInWorkgroupSize: return threads_local_size;
    case SpvBuiltInEnqueuedWorkgroupSize: return enqueued_size;
    case SpvBuiltInLocalInvocationId: return local_id;
    case SpvBuiltInGlobalInvocationId: return global_id;
    default: return NULL;
    }
}

/* Of a single number; NULL: not known. */
static LV single(Emit *e, uint32_t builtin)
{
    switch (builtin) {
    case SpvBuiltInLocalInvocationIndex: return local_place(e);
    case SpvBuiltInSubgroupLocalInvocationId: return threads_lane(e);
    case SpvBuiltInSubgroupId: return LLVMBuildUDiv(e->b, threads_local_index(e), u32(e, e->W), "");
    case SpvBuiltInNumSubgroups:
    case SpvBuiltInNumEnqueuedSubgroups: return n_subgroups(e);
    case SpvBuiltInSubgroupSize:
    case SpvBuiltInSubgroupMaxSize: return u32(e, e->W);
    case SpvBuiltInGlobalLinearId: return global_linear(e);
    case SpvBuiltInWorkDim: return threads_env(e, e->b, e->i32, offsetof(NvptxEnv, work_dim));
    case SpvBuiltInDeviceIndex: return u32(e, 0);
    default: return NULL;
    }
}

static bool is_lane_mask(uint32_t builtin)
{
    return builtin == SpvBuiltInSubgroupEqMask || builtin == SpvBuiltInSubgroupGeMask ||
           builtin == SpvBuiltInSubgroupGtMask || builtin == SpvBuiltInSubgroupLeMask ||
           builtin == SpvBuiltInSubgroupLtMask;
}

static LV part_of(Emit *e, uint32_t builtin, uint32_t k)
{
    AxisFn *axis = axis_of(builtin);
    if (axis)
        return k < 3 ? axis(e, k) : NULL;
    if (is_lane_mask(builtin))
        return k ? u32(e, 0) : threads_from_warp(e, lane_mask(e, builtin));
    return k ? NULL : single(e, builtin);
}

bool threads_builtin(Emit *e, const SpvInst *variable, LV *leaves, EmitAffine *affine, uint32_t n)
{
    const SpvType *t = spv_type(e->module, variable->type);
    uint32_t words;
    const uint32_t *builtin =
        spv_decoration(e->module, variable->id, -1, SpvDecorationBuiltIn, &words);
    LLVMBuilderRef b = e->b;
    e->b = e->entry_b;
    bool known = builtin && words && t->element;
    for (uint32_t k = 0; known && k < n; k++) {
        const SpvType *scalar = emit_leaf_type(e, t->element, k);
        LV v = part_of(e, *builtin, k);
        known = v && scalar->kind == SPV_INT;
        if (!known)
            break;
        LT type = emit_scalar_type(e, scalar);
        leaves[k] = LLVMGetIntTypeWidth(type) > 32 ? LLVMBuildZExt(e->b, v, type, "") : v;
        affine[k] = (EmitAffine){ .group = 1 };
    }
    e->b = b;
    if (!known)
        emit_error(e, variable, NULL, "an input variable that is no built-in of compute kernels");
    return known;
}
