/* SPDX-License-Identifier: MIT
 *
 * Operands that are packed once for several workgroups. All workgroups of a column multiply by the
 * same B: what one of them has packed serves the others of its thread, if it stays what it is while
 * the dispatch runs. In: a load of a matrix. Out: whether that is so.
 *
 * It is where it is loaded from a buffer that no variable of the kernel may write, without the
 * operands that make it look for what others wrote meanwhile, and the kernel neither has pointers
 * that no variable tells the target of nor synchronises with anything outside its workgroup. That
 * no other variable is bound to the same memory the dispatch sees (run/exec.c, may_share).
 */
#include "cpu/matrix/matrix.h"

#include <stddef.h>

static bool is_wide(const Emit *e, SpvId scope)
{
    uint64_t s;
    return !spv_constant(e->module, scope, &s) ||
           !(s == SpvScopeWorkgroup || s == SpvScopeSubgroup || s == SpvScopeInvocation);
}

/* May bring in what others have written, or write where no variable is seen. */
static bool is_open(const Emit *e, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    const SpvType *t = i->op == SpvOpTypePointer ? spv_type(e->module, i->id) : NULL;
    switch (i->op) {
    case SpvOpMemoryBarrier: return is_wide(e, spv_operand(i, 0));
    case SpvOpControlBarrier: return is_wide(e, spv_operand(i, 1));
    default: break;
    }
    return (t && (t->storage == SpvStorageClassPhysicalStorageBuffer ||
                  t->storage == SpvStorageClassCrossWorkgroup ||
                  t->storage == SpvStorageClassGeneric)) ||
           !info || info->flags & SPV_OPF_ATOMIC;
}

void mat_share_survey(Emit *e)
{
    bool open = e->entry->model == SpvExecutionModelKernel;
    for (const SpvInst *i = e->module->globals.first; i && !open; i = i->next)
        open = i->op == SpvOpTypePointer && is_open(e, i);
    for (const SpvFunction *f = e->module->functions; f; f = f->next)
        for (const SpvBlock *b = f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i && !open; i = i->next)
                open = is_open(e, i);
    matrices_of(e)->shares = !open;
}

LV mat_unchanged(Emit *e, const EmitPointer *p, uint32_t access, LV inside)
{
    enum {
        OTHERS = SpvMemoryAccessVolatileMask | SpvMemoryAccessMakePointerVisibleMask |
                 SpvMemoryAccessMakePointerAvailableMask
    };
    bool buffer =
        p->storage == SpvStorageClassStorageBuffer || p->storage == SpvStorageClassUniform;
    if (!matrices_of(e)->shares || !buffer || !p->variable || !p->read_only || p->volatile_ ||
        access & OTHERS)
        return NULL;
    return inside ? inside : ir_int(e->i1, 1);
}

LV mat_panel(Emit *e, const SpvId *ids, uint32_t n, const GemmShape *s)
{
    CpuKernel *k = lanes_of(e)->kernel;
    uint64_t bytes = matrices_of(e)->shares ? gemm_panel_bytes(matrices_of(e)->gemm, s) : 0;
    LV all = ir_int(e->i1, 1);
    for (uint32_t i = 0; i < n && bytes; i++) {
        const MatValue *v = mat_value(e, ids[i]);
        if (v->state != MAT_LAZY || !v->unchanged)
            return NULL;
        all = LLVMBuildAnd(e->b, all, v->unchanged, "");
    }
    if (!bytes)
        return NULL;
    k->panel_bytes = MAX(k->panel_bytes, bytes);
    k->panels_by_row |= s->c_col;
    k->panel_words = MAX(k->panel_words, gemm_panel_entries(s));
    LV shared = lanes_env(e, e->b, e->ptr, offsetof(CpuEnv, panel));
    LV own = lanes_env(e, e->b, e->ptr, offsetof(CpuEnv, own_panel));
    return LLVMBuildSelect(e->b, all, shared, own, "");
}
