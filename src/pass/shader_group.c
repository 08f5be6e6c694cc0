/* SPDX-License-Identifier: MIT
 *
 * shader, work-groups: work-group functions and async copies, which Vulkan does not have. Values
 * are exchanged through an array in workgroup memory with one element per invocation; a reduction
 * or scan takes log2(n) steps, in which each invocation adds the value of the one 1, 2, 4, ...
 * before it (Hillis and Steele). A copy is a loop over the elements in which all invocations take
 * part; waiting for it is a barrier.
 */
#include "pass/shader.h"

#include <math.h>

/* ---- loops ----------------------------------------------------------------------------------- */

typedef struct Loop {
    SpvInst *at, *phi;
    SpvBlock *next;
} Loop;

/* for (k = first; k < end; ...): what is emitted until the loop is closed is its body. Gives k. */
static SpvId open_loop(Shader *s, Loop *l, SpvId first, SpvId end)
{
    SpvModule *m = s->m;
    SpvInst *at = s->at;
    SpvBlock *head = at->block, *rest = edit_split(m, at);
    SpvBlock *header = spv_new_block(s->f, head), *test = spv_new_block(s->f, header);
    SpvBlock *body = spv_new_block(s->f, test);
    l->at = at;
    l->next = spv_new_block(s->f, body);
    edit_append(m, head, SpvOpBranch, &header->id, 1);
    l->phi = spv_make(m, SpvOpPhi, s->u32, spv_new_id(m), (uint32_t[]){ first, head->id }, 2);
    spv_append(header, l->phi);
    edit_append(m, header, SpvOpLoopMerge, (uint32_t[]){ rest->id, l->next->id, 0 }, 3);
    edit_append(m, header, SpvOpBranch, &test->id, 1);
    SpvInst *more =
        spv_make(m, SpvOpULessThan, s->bool_, spv_new_id(m), (uint32_t[]){ l->phi->id, end }, 2);
    spv_append(test, more);
    edit_append(m, test, SpvOpBranchConditional, (uint32_t[]){ more->id, body->id, rest->id }, 3);
    edit_append(m, body, SpvOpBranch, &l->next->id, 1);
    edit_append(m, l->next, SpvOpBranch, &header->id, 1);
    s->at = body->insts.last;
    return l->phi->id;
}

/* k = k op by. */
static void close_loop(Shader *s, const Loop *l, uint16_t op, SpvId by)
{
    s->at = l->next->insts.last;
    SpvId k = EMIT(s, op, s->u32, l->phi->id, by);
    edit_add_incoming(s->m, l->phi, k, l->next->id);
    s->at = l->at;
}

/* ---- an array of the work-group's ------------------------------------------------------------ */

static SpvId group_size(Shader *s)
{
    SpvId n = s->local_size[0];
    uint64_t x, all = 1;
    bool constant = true;
    for (uint32_t k = 0; k < 3; k++) {
        constant &= shader_constant(s, s->local_size[k], &x);
        all *= constant ? x : 1;
    }
    if (constant)
        return shader_u32(s, (uint32_t)all);
    for (uint32_t k = 1; k < 3; k++) {
        uint32_t operands[] = { SpvOpIMul, n, s->local_size[k] };
        n = shader_global(s, SpvOpSpecConstantOp, s->u32, operands, 3);
    }
    return n;
}

typedef struct GroupArray {
    Shader *s;
    SpvId type, array;
    SpvId size, own; /* invocations; this one's number */
} GroupArray;

static GroupArray open_group(Shader *s, SpvId type)
{
    GroupArray g = { .s = s, .type = type, .size = s->group_size };
    uint64_t known;
    if (!g.size)
        g.size = s->group_size = group_size(s);
    if (!map_get(&s->group_arrays, type, &known)) {
        known = shader_workgroup_array(s, type, g.size);
        map_put(s->a, &s->group_arrays, type, known);
    }
    g.array = (SpvId)known;
    g.own = shader_input(s, SpvBuiltInLocalInvocationIndex, s->u32);
    return g;
}

static SpvId slot_of(const GroupArray *g, SpvId index)
{
    SpvId pointer = spv_pointer_type(g->s->m, SpvStorageClassWorkgroup, g->type);
    return EMIT(g->s, SpvOpAccessChain, pointer, g->array, index);
}

static SpvId load_slot(const GroupArray *g, SpvId index)
{
    uint32_t operands[] = { slot_of(g, index), SpvMemoryAccessNonPrivatePointerMask };
    return shader_emit(g->s, SpvOpLoad, g->type, operands, g->s->matrices ? 2 : 1);
}

static void store_slot(const GroupArray *g, SpvId value)
{
    uint32_t operands[] = { slot_of(g, g->own), value, SpvMemoryAccessNonPrivatePointerMask };
    shader_emit(g->s, SpvOpStore, 0, operands, g->s->matrices ? 3 : 2);
}

static void meet(const GroupArray *g)
{
    shader_barrier(g->s, SpvMemorySemanticsWorkgroupMemoryMask);
}

/* ---- reductions and scans -------------------------------------------------------------------- */

typedef enum Identity { ZERO, ONE, LOWEST, HIGHEST, ALL } Identity;

typedef struct GroupRow {
    uint16_t of, op; /* op: an instruction, or of GLSL.std.450 */
    bool glsl;
    Identity identity;
} GroupRow;

static const GroupRow rows[] = {
    { SpvOpGroupIAdd, SpvOpIAdd, false, ZERO },
    { SpvOpGroupFAdd, SpvOpFAdd, false, ZERO },
    { SpvOpGroupFMin, GLSLstd450NMin, true, HIGHEST },
    { SpvOpGroupUMin, GLSLstd450UMin, true, ALL },
    { SpvOpGroupSMin, GLSLstd450SMin, true, HIGHEST },
    { SpvOpGroupFMax, GLSLstd450NMax, true, LOWEST },
    { SpvOpGroupUMax, GLSLstd450UMax, true, ZERO },
    { SpvOpGroupSMax, GLSLstd450SMax, true, LOWEST },
    { SpvOpGroupIMulKHR, SpvOpIMul, false, ONE },
    { SpvOpGroupFMulKHR, SpvOpFMul, false, ONE },
    { SpvOpGroupBitwiseAndKHR, SpvOpBitwiseAnd, false, ALL },
    { SpvOpGroupBitwiseOrKHR, SpvOpBitwiseOr, false, ZERO },
    { SpvOpGroupBitwiseXorKHR, SpvOpBitwiseXor, false, ZERO },
    { SpvOpGroupLogicalAndKHR, SpvOpBitwiseAnd, false, ALL },
    { SpvOpGroupLogicalOrKHR, SpvOpBitwiseOr, false, ZERO },
    { SpvOpGroupLogicalXorKHR, SpvOpBitwiseXor, false, ZERO },
    { SpvOpGroupAll, SpvOpBitwiseAnd, false, ALL },
    { SpvOpGroupAny, SpvOpBitwiseOr, false, ZERO },
};

static const GroupRow *row_of(uint16_t op)
{
    for (uint32_t k = 0; k < COUNT_OF(rows); k++)
        if (rows[k].of == op)
            return &rows[k];
    return NULL;
}

static SpvId identity(Shader *s, const SpvType *t, Identity what)
{
    bool is_float = t->kind == SPV_FLOAT;
    uint64_t all = t->bits == 64 ? UINT64_MAX : (UINT64_C(1) << t->bits) - 1, bits = 0;
    switch (what) {
    case ZERO: break;
    case ONE: bits = is_float ? shader_float_bits(1, t->bits) : 1; break;
    case ALL: bits = all; break;
    case LOWEST: bits = is_float ? shader_float_bits(-HUGE_VAL, t->bits) : all ^ all >> 1; break;
    case HIGHEST: bits = is_float ? shader_float_bits(HUGE_VAL, t->bits) : all >> 1; break;
    }
    return spv_number_constant(s->m, t->id, bits);
}

static SpvId combine_values(const GroupArray *g, const GroupRow *r, SpvId x, SpvId y)
{
    Shader *s = g->s;
    return r->glsl ? EMIT(s, SpvOpExtInst, g->type, s->glsl, r->op, x, y)
                   : EMIT(s, r->op, g->type, x, y);
}

static SpvId select_value(Shader *s, SpvId type, SpvId condition, SpvId yes, SpvId no)
{
    return EMIT(s, SpvOpSelect, type, condition, yes, no);
}

/* The inclusive scan is in the array, for all to see. */
static void scan(const GroupArray *g, const GroupRow *r, SpvId x)
{
    Shader *s = g->s;
    SpvId one = shader_u32(s, 1), none = shader_u32(s, 0);
    Loop l;
    store_slot(g, x);
    SpvId distance = open_loop(s, &l, one, g->size);
    meet(g);
    SpvId has = EMIT(s, SpvOpUGreaterThanEqual, s->bool_, g->own, distance);
    SpvId before = EMIT(s, SpvOpISub, s->u32, g->own, distance);
    SpvId mine = load_slot(g, g->own),
          other = load_slot(g, select_value(s, s->u32, has, before, none));
    SpvId both = select_value(s, g->type, has, combine_values(g, r, other, mine), mine);
    meet(g);
    store_slot(g, both);
    close_loop(s, &l, SpvOpShiftLeftLogical, one);
    meet(g);
}

static SpvId result_of(const GroupArray *g, const GroupRow *r, uint32_t operation)
{
    Shader *s = g->s;
    SpvId one = shader_u32(s, 1), none = shader_u32(s, 0);
    if (operation == SpvGroupOperationReduce)
        return load_slot(g, EMIT(s, SpvOpISub, s->u32, g->size, one));
    if (operation == SpvGroupOperationInclusiveScan)
        return load_slot(g, g->own);
    SpvId first = EMIT(s, SpvOpIEqual, s->bool_, g->own, none);
    SpvId before = EMIT(s, SpvOpISub, s->u32, g->own, one);
    SpvId value = load_slot(g, select_value(s, s->u32, first, none, before));
    return select_value(s, g->type, first, identity(s, spv_type(s->m, g->type), r->identity),
                        value);
}

/* Booleans are stored as words in between. */
static ShaderFate reduce_group(Shader *s, const SpvInst *i, const GroupRow *r, SpvId *to)
{
    bool vote = r->of == SpvOpGroupAll || r->of == SpvOpGroupAny;
    const SpvType *t = spv_type(s->m, i->type);
    SpvId x = spv_operand(i, vote ? 1 : 2);
    SpvId none = shader_u32(s, 0);
    if (t->kind == SPV_BOOL)
        x = select_value(s, s->u32, x, shader_u32(s, UINT32_MAX), none);
    GroupArray g = open_group(s, t->kind == SPV_BOOL ? s->u32 : t->id);
    scan(&g, r, x);
    *to = result_of(&g, r, vote ? SpvGroupOperationReduce : spv_operand(i, 1));
    meet(&g);
    if (t->kind == SPV_BOOL)
        *to = EMIT(s, SpvOpINotEqual, s->bool_, *to, none);
    return FATE_GONE;
}

/* From the invocation of that number: one, or two or three coordinates. */
static ShaderFate broadcast(Shader *s, const SpvInst *i, SpvId *to)
{
    SpvId id = spv_operand(i, 2), index = 0;
    const SpvType *t = spv_type_of(s->m, id);
    GroupArray g = open_group(s, i->type);
    for (uint32_t k = t->kind == SPV_VECTOR ? t->count : 1; k-- > 0;) {
        SpvId x =
            t->kind == SPV_VECTOR ? EMIT(s, SpvOpCompositeExtract, t->element->id, id, k) : id;
        x = shader_narrow_integer(s, x);
        index = index ? EMIT(s, SpvOpIMul, s->u32, index, s->local_size[k]) : 0;
        index = index ? EMIT(s, SpvOpIAdd, s->u32, index, x) : x;
    }
    store_slot(&g, spv_operand(i, 1));
    meet(&g);
    *to = load_slot(&g, index);
    meet(&g);
    return FATE_GONE;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The stride applies to the side in global memory. */
static ShaderFate copy_async(Shader *s, const SpvInst *i)
{
    const SpvType *to = spv_type_of(s->m, spv_operand(i, 1));
    SpvId n = shader_narrow_integer(s, spv_operand(i, 3));
    SpvId stride = shader_narrow_integer(s, spv_operand(i, 4));
    SpvId size = s->group_size ? s->group_size : (s->group_size = group_size(s));
    Loop l;
    SpvId k = open_loop(s, &l, shader_input(s, SpvBuiltInLocalInvocationIndex, s->u32), n);
    SpvId far = EMIT(s, SpvOpIMul, s->u32, k, stride);
    bool out = to->storage == SpvStorageClassCrossWorkgroup;
    bool ok = shader_copy_element(s, i, out ? far : k, out ? k : far);
    close_loop(s, &l, SpvOpIAdd, size);
    return ok ? FATE_GONE : FATE_ERROR;
}

ShaderFate shader_group(Shader *s, SpvInst *i, SpvId *to)
{
    const GroupRow *r = row_of(i->op);
    uint64_t where;
    switch (i->op) {
    case SpvOpGroupAsyncCopy: return copy_async(s, i);
    case SpvOpGroupWaitEvents:
        shader_barrier(s, SpvMemorySemanticsWorkgroupMemoryMask |
                              SpvMemorySemanticsCrossWorkgroupMemoryMask);
        return FATE_GONE;
    default:
        if (!r && i->op != SpvOpGroupBroadcast)
            return FATE_STAYS;
        if (!shader_constant(s, spv_operand(i, 0), &where) || where != SpvScopeWorkgroup)
            return FATE_STAYS;
        return r ? reduce_group(s, i, r, to) : broadcast(s, i, to);
    }
}
