/* SPDX-License-Identifier: MIT
 *
 * effects: what changes memory that others see: an instruction, and the functions that one calls
 * for the elements of a matrix, into which everything they call has been inlined.
 */
#include "analysis/analysis.h"

static bool is_own_variable(SpvModule *m, SpvId pointer)
{
    const SpvType *t = spv_type_of(m, pointer);
    return t && t->kind == SPV_POINTER && t->storage == SpvStorageClassFunction;
}

static bool only_reads(SpvModule *m, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    uint32_t effects = SPV_OPF_MEMORY | SPV_OPF_ATOMIC | SPV_OPF_BARRIER;
    bool is_volatile = i->op == SpvOpLoad && spv_n_operands(i) > 1 &&
                       spv_operand(i, 1) & SpvMemoryAccessVolatileMask;
    if (i->op == SpvOpLoad || i->op == SpvOpVariable)
        return !is_volatile;
    if (i->op == SpvOpStore)
        return is_own_variable(m, spv_operand(i, 0));
    return info && !(info->flags & effects);
}

bool calls_only_read(SpvModule *m, const SpvInst *i)
{
    SpvId callees[SPV_MAX_CALLEES];
    for (uint32_t n = spv_callees(m, i, callees); n-- > 0;) {
        const SpvFunction *f = spv_function(m, callees[n]);
        if (!f || !f->first)
            return false;
        for (const SpvBlock *b = f->first; b; b = b->next)
            for (const SpvInst *k = b->insts.first; k; k = k->next)
                if (!only_reads(m, k))
                    return false;
    }
    return true;
}

SpvId written_root(const SpvModule *m, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    if (i->op == SpvOpFunctionCall)
        return UINT32_MAX;
    if (i->op == SpvOpLoad || i->op == SpvOpCooperativeMatrixLoadKHR || i->op == SpvOpArrayLength ||
        i->op == SpvOpCooperativeMatrixLoadTensorNV || !info ||
        !(info->flags & (SPV_OPF_MEMORY | SPV_OPF_ATOMIC)))
        return 0;
    const SpvInst *root = spv_n_operands(i) ? pointer_root(m, spv_operand(i, 0)) : NULL;
    if (!root || (root->op != SpvOpVariable && root->op != SpvOpFunctionParameter))
        return UINT32_MAX;
    uint32_t storage = spv_operand(spv_def(m, root->type), 0);
    bool own = storage == SpvStorageClassFunction || storage == SpvStorageClassPrivate ||
               storage == SpvStorageClassWorkgroup;
    return own ? 0 : root->id;
}
