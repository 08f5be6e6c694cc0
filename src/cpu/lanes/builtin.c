/* SPDX-License-Identifier: MIT
 *
 * Built-in variables: which invocation a lane is. Lane l of subgroup s is the invocation with
 * LocalInvocationIndex s * W + l or, if derivatives are taken in quads of neighbours, the (s * W +
 * l)-th in the order of quads.
 *
 * Everything is computed once, in the function's entry block. If lanes line up with the rows of the
 * workgroup, the components of LocalInvocationId are known to count up by one, or to be the same,
 * within groups of lanes (Affine); components that are the same for all lanes are scalars.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <stddef.h>

typedef struct Part {
    LV v;
    EmitAffine affine;
} Part;

static LV env_u32(Emit *e, size_t offset) { return lanes_env(e, e->b, e->i32, offset); }

static Part uniform(Emit *e, LV v) { return (Part){ v, { .first = { v }, .group = e->W } }; }

LV lanes_ids(Emit *e)
{
    LV *lane = NEW_ARRAY(e->arena, LV, e->W);
    for (uint32_t k = 0; k < e->W; k++)
        lane[k] = ir_int(e->i32, k);
    return LLVMConstVector(lane, e->W);
}

static LV local_size(Emit *e, uint32_t axis)
{
    if (e->local_size[axis])
        return ir_int(e->i32, e->local_size[axis]);
    return env_u32(e, offsetof(CpuEnv, local_size) + 4 * axis);
}

/* The size of a workgroup that is not cut off at the edge of the dispatch. */
static LV enqueued_size(Emit *e, uint32_t axis)
{
    if (e->local_size[axis])
        return ir_int(e->i32, e->local_size[axis]);
    return env_u32(e, offsetof(CpuEnv, enqueued_size) + 4 * axis);
}

static uint64_t invocations(const Emit *e)
{
    return (uint64_t)e->local_size[0] * e->local_size[1] * e->local_size[2];
}

/* first, first + 1, ... for the lanes */
static Part counting(Emit *e, LV first)
{
    LV v = LLVMBuildAdd(e->b, emit_lanes(e, first), lanes_ids(e), "");
    return (Part){ v, { .first = { first }, .stride = 1, .group = e->W, .no_wrap = true } };
}

static LV subgroup_start(Emit *e)
{
    if (invocations(e) && invocations(e) <= e->W)
        return ir_int(e->i32, 0);
    return LLVMBuildMul(e->b, env_u32(e, offsetof(CpuEnv, subgroup)), ir_int(e->i32, e->W), "");
}

/* The invocation's number in the order of lanes: LocalInvocationIndex, except with quads. */
static Part invocation(Emit *e)
{
    return invocations(e) == 1 ? uniform(e, ir_int(e->i32, 0)) : counting(e, subgroup_start(e));
}

/* LocalInvocationId if the workgroup's size is known only at run time. */
static void local_id_open(Emit *e, Part *id)
{
    LV index = invocation(e).v, x = local_size(e, 0), y = local_size(e, 1);
    LV plane = LLVMBuildMul(e->b, x, y, "");
    LV in_plane = LLVMBuildURem(e->b, index, emit_lanes(e, plane), "");
    id[0] = (Part){ LLVMBuildURem(e->b, index, emit_lanes(e, x), ""), { .group = 1 } };
    id[1] = (Part){ LLVMBuildUDiv(e->b, in_plane, emit_lanes(e, x), ""), { .group = 1 } };
    id[2] = (Part){ LLVMBuildUDiv(e->b, index, emit_lanes(e, plane), ""), { .group = 1 } };
}

/* LocalInvocationId of the invocations `index`, a scalar or a vector. */
static void local_id_at(Emit *e, LV index, LV *id)
{
    LT type = LLVMTypeOf(index);
    LV x = ir_int(type, e->local_size[0]), y = ir_int(type, e->local_size[1]);
    LV row = LLVMBuildUDiv(e->b, index, x, "");
    id[0] = LLVMBuildURem(e->b, index, x, "");
    id[1] = LLVMBuildURem(e->b, row, y, "");
    id[2] = LLVMBuildUDiv(e->b, row, y, "");
}

/* Quads of neighbours in x and y, row by row. Entry points with quads always have a size. */
static void local_id_quads(Emit *e, Part *id)
{
    LV n = invocation(e).v;
    LT type = LLVMTypeOf(n);
    LV one = ir_int(type, 1), two = ir_int(type, 2);
    uint32_t x = e->local_size[0], y = e->local_size[1];
    LV across = ir_int(type, x / 2), down = ir_int(type, y / 2);
    LV quad = LLVMBuildLShr(e->b, n, two, ""), row = LLVMBuildUDiv(e->b, quad, across, "");
    LV part[2] = { LLVMBuildURem(e->b, quad, across, ""), LLVMBuildURem(e->b, row, down, "") };
    LV in[2] = { LLVMBuildAnd(e->b, n, one, ""),
                 LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, n, one, ""), one, "") };
    for (uint32_t k = 0; k < 2; k++)
        id[k] = (Part){ LLVMBuildOr(e->b, LLVMBuildShl(e->b, part[k], one, ""), in[k], ""),
                        { .group = 1 } };
    id[2] = (Part){ LLVMBuildUDiv(e->b, row, down, ""), { .group = 1 } };
}

static void local_id(Emit *e, Part *id)
{
    uint32_t x = e->local_size[0], y = e->local_size[1];
    if (!invocations(e)) {
        local_id_open(e, id);
        return;
    }
    if (e->entry->quads == SPV_QUADS_SQUARE) {
        local_id_quads(e, id);
        return;
    }
    for (uint32_t k = 0; k < 3; k++)
        id[k] = uniform(e, ir_int(e->i32, 0));
    if (y == 1 && e->local_size[2] == 1) {
        id[0] = invocation(e);
        return;
    }
    if (x % e->W == 0) { /* rows are whole subgroups */
        LV start = subgroup_start(e), row = LLVMBuildUDiv(e->b, start, ir_int(e->i32, x), "");
        id[0] = counting(e, LLVMBuildURem(e->b, start, ir_int(e->i32, x), ""));
        id[1] = uniform(e, LLVMBuildURem(e->b, row, ir_int(e->i32, y), ""));
        id[2] = uniform(e, LLVMBuildUDiv(e->b, row, ir_int(e->i32, y), ""));
        return;
    }
    uint32_t group = 1;
    while (group < e->W && x % (group * 2) == 0)
        group *= 2;
    for (uint32_t k = 0; k < 3; k++)
        id[k].affine = (EmitAffine){ .stride = k == 0 && x > 1, .group = group, .no_wrap = true };
    LV lanes[3];
    local_id_at(e, invocation(e).v, lanes);
    for (uint32_t g = 0; g < e->W / group && e->W / group <= AFFINE_GROUPS; g++) {
        LV first[3];
        local_id_at(e, LLVMBuildAdd(e->b, subgroup_start(e), ir_int(e->i32, g * group), ""), first);
        for (uint32_t k = 0; k < 3; k++)
            id[k].affine.first[g] = first[k];
    }
    for (uint32_t k = 0; k < 3; k++)
        id[k].v = lanes[k];
    if (x * y % e->W == 0) /* planes are whole subgroups */
        id[2] = uniform(e, LLVMBuildUDiv(e->b, subgroup_start(e), ir_int(e->i32, x * y), ""));
    if (x == 1)
        id[0] = uniform(e, ir_int(e->i32, 0));
}

static Part local_index(Emit *e)
{
    if (e->entry->quads != SPV_QUADS_SQUARE)
        return invocation(e);
    Part id[3];
    local_id(e, id);
    LV r = id[2].v;
    for (uint32_t k = 2; k-- > 0;) {
        r = LLVMBuildMul(e->b, r, ir_int(LLVMTypeOf(r), e->local_size[k]), "");
        r = LLVMBuildAdd(e->b, r, id[k].v, "");
    }
    return (Part){ r, { .group = 1 } };
}

/* group * local_size + offset + local id */
static void global_id(Emit *e, Part *id)
{
    local_id(e, id);
    bool opencl = e->entry->model == SpvExecutionModelKernel;
    for (uint32_t k = 0; k < 3; k++) {
        LV start = LLVMBuildMul(e->b, env_u32(e, offsetof(CpuEnv, group) + 4 * k),
                                enqueued_size(e, k), "");
        if (opencl)
            start =
                LLVMBuildAdd(e->b, start, env_u32(e, offsetof(CpuEnv, global_offset) + 4 * k), "");
        if (!emit_is_lanes(id[k].v)) {
            id[k] = uniform(e, LLVMBuildAdd(e->b, start, id[k].v, ""));
            continue;
        }
        for (LV *first = id[k].affine.first, *end = first + AFFINE_GROUPS; first < end; first++)
            *first = *first ? LLVMBuildAdd(e->b, *first, start, "") : NULL;
        id[k].v = LLVMBuildAdd(e->b, id[k].v, emit_lanes(e, start), "");
    }
}

static void triple(Emit *e, Part *id, size_t offset)
{
    for (uint32_t k = 0; k < 3; k++)
        id[k] = uniform(e, env_u32(e, offset + 4 * k));
}

static void global_size(Emit *e, Part *id)
{
    for (uint32_t k = 0; k < 3; k++)
        id[k] = uniform(e, env_u32(e, offsetof(CpuEnv, global_size) + 4 * k));
}

/* GlobalLinearId, which does not include the offset. */
static Part global_linear(Emit *e)
{
    Part id[3];
    global_id(e, id);
    LV r = NULL;
    for (uint32_t k = 3; k-- > 0;) {
        LV offset = env_u32(e, offsetof(CpuEnv, global_offset) + 4 * k);
        LV size = env_u32(e, offsetof(CpuEnv, global_size) + 4 * k);
        LV x = LLVMBuildSub(e->b, emit_lanes(e, id[k].v), emit_lanes(e, offset), "");
        r = r ? LLVMBuildAdd(e->b, LLVMBuildMul(e->b, r, emit_lanes(e, size), ""), x, "") : x;
    }
    return (Part){ r, { .group = 1 } };
}

/* SubgroupEqMask and its kin: four words, in which lane l sets the bits b with b == l, b < l, b <=
 * l, ... */
static void lane_masks(Emit *e, uint32_t builtin, Part *id)
{
    LV *lane = NEW_ARRAY(e->arena, LV, e->W);
    for (uint32_t word = 0; word < 4; word++) {
        for (uint32_t l = 0; l < e->W; l++) {
            uint32_t bits = 0;
            for (uint32_t k = 0; k < 32 && word * 32 + k < e->W; k++) {
                uint32_t bit = word * 32 + k;
                bool set = builtin == SpvBuiltInSubgroupEqMask   ? bit == l
                           : builtin == SpvBuiltInSubgroupGeMask ? bit >= l
                           : builtin == SpvBuiltInSubgroupGtMask ? bit > l
                           : builtin == SpvBuiltInSubgroupLeMask ? bit <= l
                                                                 : bit < l;
                bits |= (uint32_t)set << k;
            }
            lane[l] = ir_int(e->i32, bits);
        }
        id[word] = (Part){ LLVMConstVector(lane, e->W), { .group = 1 } };
    }
}

static LV n_subgroups(Emit *e)
{
    if (invocations(e))
        return ir_int(e->i32, (uint32_t)((invocations(e) + e->W - 1) / e->W));
    return env_u32(e, offsetof(CpuEnv, n_subgroups));
}

static LV product(Emit *e, LV (*size)(Emit *e, uint32_t axis))
{
    return LLVMBuildMul(e->b, LLVMBuildMul(e->b, size(e, 0), size(e, 1), ""), size(e, 2), "");
}

/* In OpenCL the last workgroups may be smaller than the others. */
static LV n_enqueued_subgroups(Emit *e)
{
    if (e->entry->model != SpvExecutionModelKernel)
        return n_subgroups(e);
    LV n = LLVMBuildAdd(e->b, product(e, enqueued_size), ir_int(e->i32, e->W - 1), "");
    return LLVMBuildUDiv(e->b, n, ir_int(e->i32, e->W), "");
}

/* In Vulkan, the most lanes that a subgroup can have; in OpenCL, those that this one has. */
static LV subgroup_size(Emit *e)
{
    uint64_t n = invocations(e);
    LV whole = ir_int(e->i32, e->W);
    if (e->entry->model != SpvExecutionModelKernel || (n && n % e->W == 0))
        return whole;
    LV total = n ? ir_int(e->i32, (uint32_t)n) : product(e, local_size);
    LV left = LLVMBuildSub(e->b, total, subgroup_start(e), "");
    LV fewer = LLVMBuildICmp(e->b, LLVMIntULT, left, whole, "");
    return LLVMBuildSelect(e->b, fewer, left, whole, "");
}

/* Fills id. False if the built-in is not known. */
static bool parts(Emit *e, uint32_t builtin, Part *id)
{
    switch (builtin) {
    case SpvBuiltInWorkgroupId: triple(e, id, offsetof(CpuEnv, group)); return true;
    case SpvBuiltInNumWorkgroups: triple(e, id, offsetof(CpuEnv, n_groups)); return true;
    case SpvBuiltInGlobalOffset: triple(e, id, offsetof(CpuEnv, global_offset)); return true;
    case SpvBuiltInGlobalSize: global_size(e, id); return true;
    case SpvBuiltInWorkgroupSize:
    case SpvBuiltInEnqueuedWorkgroupSize:
        for (uint32_t k = 0; k < 3; k++)
            id[k] = uniform(e, builtin == SpvBuiltInWorkgroupSize ? local_size(e, k)
                                                                  : enqueued_size(e, k));
        return true;
    case SpvBuiltInLocalInvocationId: local_id(e, id); return true;
    case SpvBuiltInGlobalInvocationId: global_id(e, id); return true;
    case SpvBuiltInLocalInvocationIndex: id[0] = local_index(e); return true;
    case SpvBuiltInSubgroupLocalInvocationId: id[0] = counting(e, ir_int(e->i32, 0)); return true;
    case SpvBuiltInSubgroupId:
        id[0] = uniform(e, env_u32(e, offsetof(CpuEnv, subgroup)));
        return true;
    case SpvBuiltInNumSubgroups: id[0] = uniform(e, n_subgroups(e)); return true;
    case SpvBuiltInNumEnqueuedSubgroups: id[0] = uniform(e, n_enqueued_subgroups(e)); return true;
    case SpvBuiltInSubgroupSize: id[0] = uniform(e, subgroup_size(e)); return true;
    case SpvBuiltInSubgroupMaxSize: id[0] = uniform(e, ir_int(e->i32, e->W)); return true;
    case SpvBuiltInGlobalLinearId: id[0] = global_linear(e); return true;
    case SpvBuiltInWorkDim: id[0] = uniform(e, env_u32(e, offsetof(CpuEnv, work_dim))); return true;
    case SpvBuiltInDeviceIndex: id[0] = uniform(e, ir_int(e->i32, 0)); return true;
    case SpvBuiltInSubgroupEqMask:
    case SpvBuiltInSubgroupGeMask:
    case SpvBuiltInSubgroupGtMask:
    case SpvBuiltInSubgroupLeMask:
    case SpvBuiltInSubgroupLtMask: lane_masks(e, builtin, id); return true;
    default: return false;
    }
}

/* OpenCL's built-ins have 64 bits. */
static Part widen(Emit *e, Part p, LT type)
{
    if (type == e->i32 || LLVMGetIntTypeWidth(type) <= 32)
        return p;
    p.v = LLVMBuildZExt(e->b, p.v, emit_is_lanes(p.v) ? emit_lanes_type(e, type) : type, "");
    for (uint32_t k = 0; k < AFFINE_GROUPS; k++)
        if (p.affine.first[k])
            p.affine.first[k] = LLVMBuildZExt(e->b, p.affine.first[k], type, "");
    return p;
}

bool builtin_value(Emit *e, const SpvInst *variable, LV *leaves, EmitAffine *affine, uint32_t n)
{
    const SpvType *t = spv_type(e->module, variable->type);
    uint32_t words;
    const uint32_t *builtin =
        spv_decoration(e->module, variable->id, -1, SpvDecorationBuiltIn, &words);
    Part id[4] = { 0 };
    LLVMBuilderRef b = e->b;
    e->b = e->entry_b;
    bool known = builtin && words && n <= 4 && t->element && parts(e, *builtin, id);
    if (variable->id == lanes_of(e)->groups_left) {
        id[0] = uniform(e, env_u32(e, offsetof(CpuEnv, groups_left)));
        known = true;
    }
    for (uint32_t k = 0; known && k < n; k++) {
        const SpvType *scalar = emit_leaf_type(e, t->element, k);
        known = id[k].v && scalar->kind == SPV_INT;
        if (!known)
            break;
        Part p = widen(e, id[k], emit_scalar_type(e, scalar));
        leaves[k] = p.v;
        affine[k] = p.affine;
    }
    e->b = b;
    if (!known)
        emit_error(e, variable, NULL, "an input variable that is no built-in of compute kernels");
    return known;
}

bool builtin_begin(Emit *e)
{
    lanes_of(e)->entry_mask = NULL;
    uint64_t n = invocations(e);
    if (n && n % e->W == 0)
        return true;
    LLVMBuilderRef b = e->b;
    e->b = e->entry_b;
    LV total = n ? ir_int(e->i32, (uint32_t)n) : product(e, local_size);
    LV left = LLVMBuildSub(e->b, total, subgroup_start(e), "");
    lanes_of(e)->entry_mask =
        LLVMBuildICmp(e->b, LLVMIntULT, lanes_ids(e), emit_lanes(e, left), "");
    e->b = b;
    return true;
}
