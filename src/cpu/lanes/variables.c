/* SPDX-License-Identifier: MIT
 *
 * Where variables live. Function and Private variables that are the same for all lanes exist once.
 * The others exist once a lane: interleaved, or lane after lane if their address gets into values
 * that are not followed (phis, selects, casts). Small ones are on the stack, large ones in the
 * frame.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <stddef.h>

enum { STACK_VARIABLE = 16384 };

typedef struct LanesVariables {
    VEC(EmitPointer) privates; /* variables that generic pointers may point into, by base */
    VEC(uint64_t) private_bytes;
    uint64_t *frame; /* by variable that several functions share: 1 + its offset in the frame */
    LV dropped;
} LanesVariables;

void variables_lanes_begin(Emit *e)
{
    LanesVariables *v = lanes_of(e)->variables = NEW(e->arena, LanesVariables);
    v->frame = NEW_ARRAY(e->arena, uint64_t, e->module->bound);
}

void variables_lanes_begin_called(Emit *e)
{
    lanes_of(e)->variables =
        arena_copy(e->arena, lanes_of(e->caller)->variables, sizeof(LanesVariables));
    lanes_of(e)->variables->dropped = NULL;
}

LV variables_dropped(Emit *e)
{
    LanesVariables *v = lanes_of(e)->variables;
    if (!v->dropped)
        v->dropped = emit_alloca(e, LLVMArrayType2(e->i8, 64), "dropped");
    return v->dropped;
}

LV variables_given(Emit *e, LLVMBuilderRef b, EmitGiven what)
{
    static const size_t offsets[] = {
        [EMIT_GIVEN_SLOTS] = offsetof(CpuEnv, slots),
        [EMIT_GIVEN_COUNTS] = offsetof(CpuEnv, counts),
        [EMIT_GIVEN_PUSH] = offsetof(CpuEnv, push),
        [EMIT_GIVEN_SHARED] = offsetof(CpuEnv, shared),
        [EMIT_GIVEN_SHARED_BYTES] = offsetof(CpuEnv, shared_bytes),
    };
    if (what == EMIT_GIVEN_OUTPUT)
        return ir_at(b, e->env, ir_int(e->i64, offsetof(CpuEnv, groups_done)));
    return lanes_env(e, b, what == EMIT_GIVEN_SHARED_BYTES ? e->i64 : e->ptr, offsets[what]);
}

/* Workgroup memory that starts as zeros: the first subgroup fills it, the others wait. */
void variables_zero_shared(Emit *e, LV base, uint64_t bytes)
{
    LLVMBuilderRef b = e->b;
    e->b = e->entry_b;
    LV subgroup = lanes_env(e, e->b, e->i32, offsetof(CpuEnv, subgroup));
    LV first = LLVMBuildICmp(e->b, LLVMIntEQ, subgroup, ir_int(e->i32, 0), "");
    LV size = LLVMBuildSelect(e->b, first, ir_int(e->i64, bytes), ir_int(e->i64, 0), "");
    LLVMBuildMemSet(e->b, base, ir_int(e->i8, 0), size, 64);
    flow_barrier(e);
    e->b = b;
}

/* All functions share a Private variable. */
static LV shared_frame(Emit *e, SpvId variable, uint64_t bytes)
{
    uint64_t *at = &lanes_of(e)->variables->frame[variable];
    if (!*at) {
        *at = 1 + lanes_of(e)->kernel->frame_bytes;
        return lanes_frame(e, bytes);
    }
    LV frame = lanes_env(e, e->entry_b, e->ptr, offsetof(CpuEnv, frame));
    return ir_at(e->entry_b, frame, ir_int(e->i64, *at - 1));
}

static LV private_memory(Emit *e, const SpvInst *variable, uint64_t bytes)
{
    if (e->module->functions->next && spv_operand(variable, 0) == SpvStorageClassPrivate)
        return shared_frame(e, variable->id, bytes);
    if (bytes > STACK_VARIABLE)
        return lanes_frame(e, bytes);
    LV slot = emit_alloca(e, LLVMArrayType2(e->i8, MAX(bytes, 1)), "");
    LLVMSetAlignment(slot, 64);
    return slot;
}

uint64_t variables_own_bytes(Emit *e, SpvId variable)
{
    const SpvType *t = spv_type_of(e->module, variable);
    EmitLayout l = emit_layout(e, t->element, t->storage);
    uint64_t size = align_up(emit_layout_size(e, &l), emit_layout_align(e, &l));
    return e->uniformity->varying_variable[variable] ? align_up(size, 8) * e->W : size;
}

static void place(Emit *e, EmitPointer *p, const SpvInst *variable)
{
    uint64_t size = align_up(emit_layout_size(e, &p->at), emit_layout_align(e, &p->at));
    if (size > (uint64_t)1 << 24) {
        emit_error(e, variable, NULL, "a private variable of %llu bytes is too large",
                   (unsigned long long)size);
        size = 0;
    }
    if (!e->uniformity->varying_variable[variable->id]) {
        p->base = private_memory(e, variable, size);
    } else if (emit_escapes(e, variable->id)) {
        size = align_up(size, 8);
        p->base = private_memory(e, variable, size * e->W);
        p->lane_index = lanes_ids(e);
        p->lane_scale = (int64_t)size;
        p->affine = (EmitAffine){ .first = { ir_int(e->i32, 0) }, .stride = 1, .group = e->W };
    } else {
        p->at.rule = LAYOUT_LANES;
        p->base = private_memory(e, variable, size * e->W);
    }
}

/* Notes a variable that a generic pointer may point into. */
static void keep_private(Emit *e, const EmitPointer *p)
{
    uint64_t size = align_up(emit_layout_size(e, &p->at), emit_layout_align(e, &p->at));
    if (p->at.rule == LAYOUT_LANES || e->entry->model != SpvExecutionModelKernel)
        return;
    vec_push(e->arena, &lanes_of(e)->variables->privates, *p);
    vec_push(e->arena, &lanes_of(e)->variables->private_bytes,
             p->lane_scale ? (uint64_t)p->lane_scale * e->W : size);
}

/* What the passes could not turn into values; copies of scalars cost little. */
static void remark_private(Emit *e, const SpvInst *variable)
{
    const SpvType *t = spv_type_of(e->module, variable->id)->element;
    const char *name = spv_name(e->module, variable->id);
    EmitLayout l = emit_layout(e, t, spv_operand(variable, 0));
    LLVMMetadataRef before = debug_here(e);
    if (variable->line)
        debug_at(e, variable);
    if (t->kind == SPV_ARRAY || t->kind == SPV_STRUCT)
        emit_remark(e, REMARK_PRIVATE, t->kind == SPV_ARRAY ? "array" : "structure",
                    name && *name ? arena_printf(e->arena, " '%s'", name) : "",
                    (unsigned long long)emit_layout_size(e, &l),
                    emit_escapes(e, variable->id) ? "its address is a value"
                                                  : "an index into it varies");
    debug_back(e, before);
}

void variables_own(Emit *e, const SpvInst *variable, EmitPointer *p)
{
    if (e->remarks)
        remark_private(e, variable);
    place(e, p, variable);
    keep_private(e, p);
    if (!p->lane_scale)
        debug_variable(e, variable, p->base, p->at.rule == LAYOUT_LANES ? e->W : 0);
}

EmitPointer variables_copy(Emit *e, LV from, uint64_t size, uint64_t align)
{
    uint64_t stride = align_up(size, MAX(align, 8));
    LV base = lanes_frame(e, stride * e->W);
    for (uint32_t l = 0; l < e->W; l++) {
        LV to = ir_at(e->b, base, ir_int(e->i64, stride * l));
        LLVMBuildMemCpy(e->b, to, 1, from, 1, ir_int(e->i64, size));
    }
    return (
        EmitPointer){ .base = base,
                      .lane_index = lanes_ids(e),
                      .lane_scale = (int64_t)stride,
                      .affine = { .first = { ir_int(e->i32, 0) }, .stride = 1, .group = e->W } };
}

static LV within(Emit *e, LV address, LV base, LV bytes)
{
    LV v[2] = {
        LLVMBuildSub(e->b, address, emit_is_lanes(address) ? emit_lanes(e, base) : base, ""), bytes
    };
    emit_unify(e, v, 2);
    return LLVMBuildICmp(e->b, LLVMIntULT, v[0], v[1], "");
}

/* Finds the memory that a generic address lies in: workgroup memory, one of the private variables,
 * or else the buffers. */
void variables_memory_of(Emit *e, LV address, LV *shared, LV *own)
{
    const LanesVariables *v = lanes_of(e)->variables;
    LV base = lanes_env(e, e->b, e->ptr, offsetof(CpuEnv, shared));
    *shared = within(e, address, LLVMBuildPtrToInt(e->b, base, e->i64, ""),
                     lanes_env(e, e->b, e->i64, offsetof(CpuEnv, shared_bytes)));
    *own = LLVMConstNull(LLVMTypeOf(*shared));
    for (uint32_t k = 0; k < v->privates.len; k++) {
        LV start = LLVMBuildPtrToInt(e->b, v->privates.data[k].base, e->i64, "");
        LV in = within(e, address, start, ir_int(e->i64, v->private_bytes.data[k]));
        *own = LLVMBuildOr(e->b, *own, in, "");
    }
}
