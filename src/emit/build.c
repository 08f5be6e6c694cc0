/* SPDX-License-Identifier: MIT
 *
 * Pieces of LLVM IR: constants and casts of scalars or lanes alike, small control structures inside
 * a block.
 */
#include "emit/target.h"
#include "llvm/arith.h"

/* ---- lanes ----------------------------------------------------------------------------------- */

bool emit_is_lanes(LV v) { return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind; }

LV emit_lanes(Emit *e, LV v)
{
    if (emit_is_lanes(v) || !e->target->lanes)
        return v;
    return ir_splat(e->b, v, e->W);
}

void emit_unify(Emit *e, LV *v, uint32_t n)
{
    bool lanes = false;
    for (uint32_t k = 0; k < n; k++)
        lanes |= emit_is_lanes(v[k]);
    for (uint32_t k = 0; lanes && k < n; k++)
        v[k] = emit_lanes(e, v[k]);
}

LV emit_uniform(Emit *e, LV v) { return emit_is_lanes(v) ? e->target->uniform(e, v) : v; }

LV emit_lane(Emit *e, LV v, LV index)
{
    return emit_is_lanes(v) ? LLVMBuildExtractElement(e->b, v, index, "") : v;
}

/* ---- numbers --------------------------------------------------------------------------------- */

LV emit_zero(LT type) { return LLVMConstNull(type); }

LV emit_cast_index(Emit *e, LV v, LT type)
{
    unsigned from =
        LLVMGetIntTypeWidth(emit_is_lanes(v) ? LLVMGetElementType(LLVMTypeOf(v)) : LLVMTypeOf(v));
    unsigned to = LLVMGetIntTypeWidth(type);
    LT t = emit_is_lanes(v) ? emit_lanes_type(e, type) : type;
    if (from == to)
        return v;
    return from < to ? LLVMBuildSExt(e->b, v, t, "") : LLVMBuildTrunc(e->b, v, t, "");
}

LV emit_scaled(Emit *e, LV v, int64_t factor)
{
    if (factor == 1)
        return v;
    return LLVMBuildMul(e->b, v, ir_int(LLVMTypeOf(v), (uint64_t)factor), "");
}

LV emit_clamp(Emit *e, LV x, int64_t least, int64_t most)
{
    LT type = LLVMTypeOf(x);
    LV low[2] = { x, ir_int(type, (uint64_t)least) };
    LV high[2] = { ir_intrinsic(e->b, "llvm.smax", &type, 1, low, 2),
                   ir_int(type, (uint64_t)most) };
    return ir_intrinsic(e->b, "llvm.smin", &type, 1, high, 2);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

LLVMBasicBlockRef emit_new_block(Emit *e, const char *name)
{
    LLVMBasicBlockRef bb = LLVMAppendBasicBlockInContext(e->cx, e->fn, name);
    LLVMMoveBasicBlockAfter(bb, LLVMGetInsertBlock(e->b));
    return bb;
}

LV emit_alloca(Emit *e, LT type, const char *name)
{
    return LLVMBuildAlloca(e->alloca_b, type, name);
}

EmitLoop loop_begin(Emit *e, LV count)
{
    EmitLoop l = { .count = count };
    LT type = LLVMTypeOf(count);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
    l.done = emit_new_block(e, "loop.done");
    l.body = emit_new_block(e, "loop.body");
    l.head = emit_new_block(e, "loop");
    LLVMBuildBr(e->b, l.head);
    LLVMPositionBuilderAtEnd(e->b, l.head);
    l.index = LLVMBuildPhi(e->b, type, "");
    LV zero = LLVMConstNull(type);
    LLVMAddIncoming(l.index, &zero, &before, 1);
    LV more = LLVMBuildICmp(e->b, LLVMIntULT, l.index, count, "");
    LLVMBuildCondBr(e->b, more, l.body, l.done);
    LLVMPositionBuilderAtEnd(e->b, l.body);
    return l;
}

void loop_end(Emit *e, EmitLoop *l)
{
    LV next = LLVMBuildAdd(e->b, l->index, ir_int(LLVMTypeOf(l->index), 1), "");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
    LLVMAddIncoming(l->index, &next, &from, 1);
    LLVMBuildBr(e->b, l->head);
    LLVMPositionBuilderAtEnd(e->b, l->done);
}

EmitIf if_begin(Emit *e, LV condition)
{
    EmitIf f;
    f.done = emit_new_block(e, "if.done");
    f.then = emit_new_block(e, "if");
    LLVMBuildCondBr(e->b, condition, f.then, f.done);
    LLVMPositionBuilderAtEnd(e->b, f.then);
    return f;
}

void if_end(Emit *e, EmitIf *f)
{
    LLVMBuildBr(e->b, f->done);
    LLVMPositionBuilderAtEnd(e->b, f->done);
}
