/* SPDX-License-Identifier: MIT
 *
 * dead: removes whatever has no observable effect. In: a function without unreachable code. Out:
 * the same without unused results and without stores to variables that are never read; the preamble
 * without constants, types and variables that nothing names. Buffers and push constants stay,
 * because the kernel's caller sees them.
 */
#include "pass/edit.h"

typedef struct Dead {
    PassContext *c;
    SpvModule *m;
    PassVariables *v;
    uint8_t *live; /* by id */
    VEC(SpvInst *) work;
    PassIdWords ids;
} Dead;

/* Whether a load is neither volatile nor done by a function that may store. */
static bool is_plain_load(const SpvInst *i)
{
    SpvOperand o;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        uint32_t wrong = o.kind == SPV_OPERAND_MemoryAccess ? SpvMemoryAccessVolatileMask
                         : o.kind == SPV_OPERAND_TensorAddressingOperands
                             ? SpvTensorAddressingOperandsDecodeFuncMask
                             : 0;
        if (i->words[o.word] & wrong)
            return false;
    }
    return true;
}

/* Can it go when its result is not used? */
static bool is_removable(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    if (!info || !i->id || !i->type)
        return false;
    switch (i->op) {
    case SpvOpPhi:
    case SpvOpVariable:
    case SpvOpUndef: return true;
    case SpvOpLoad:
    case SpvOpCooperativeMatrixLoadKHR:
    case SpvOpCooperativeMatrixLoadTensorNV: return is_plain_load(i);
    case SpvOpFunctionCall:
    case SpvOpCooperativeMatrixPerElementOpEXT: return false;
    default: break;
    }
    if (info->flags & (SPV_OPF_ATOMIC | SPV_OPF_BARRIER | SPV_OPF_MEMORY))
        return false;
    return spv_is_pure(i) || info->flags & SPV_OPF_GROUP;
}

/* A store that matters only when its variable is read. */
static PassVariable *private_store(Dead *d, const SpvInst *i)
{
    PassVariable *var = i->op == SpvOpStore ? variable_of(d->v, spv_operand(i, 0)) : NULL;
    return var && var->followed && spv_operand(var->inst, 0) == SpvStorageClassFunction ? var
                                                                                        : NULL;
}

static void keep_id(Dead *d, SpvId id)
{
    SpvInst *i = spv_def(d->m, id);
    if (!i || d->live[id])
        return;
    d->live[id] = 1;
    vec_push(d->c->scratch, &d->work, i);
    PassVariable *var = i->op == SpvOpVariable ? variable_of(d->v, id) : NULL;
    for (uint32_t k = 0; var && var->followed && k < var->accesses.len; k++)
        if (var->accesses.data[k]->op == SpvOpStore)
            vec_push(d->c->scratch, &d->work, var->accesses.data[k]);
}

static void keep_operands(Dead *d, SpvInst *i)
{
    if (i->type)
        keep_id(d, i->type);
    edit_ids(i, &d->ids);
    for (uint32_t k = 0; k < d->ids.n; k++)
        keep_id(d, i->words[d->ids.at[k]]);
}

static void drain(Dead *d)
{
    while (d->work.len)
        keep_operands(d, d->work.data[--d->work.len]);
}

static void keep_function(Dead *d, SpvFunction *f, bool all)
{
    for (SpvInst *i = f->head.first; i; i = i->next)
        keep_operands(d, i);
    for (SpvBlock *b = f->first; b; b = b->next) {
        for (SpvInst *i = b->insts.first; i; i = i->next)
            if (all || (!is_removable(i) && !private_store(d, i)))
                keep_operands(d, i);
        drain(d);
    }
}

static bool is_interface(const SpvInst *i)
{
    switch (spv_operand(i, 0)) {
    case SpvStorageClassPrivate:
    case SpvStorageClassWorkgroup:
    case SpvStorageClassInput: return false;
    default: return true;
    }
}

/* What the preamble keeps regardless of uses. */
static void keep_preamble(Dead *d)
{
    for (SpvInst *i = d->m->globals.first; i; i = i->next) {
        switch (i->op) {
        case SpvOpEntryPoint: /* its interface only lists what may be used */
            keep_id(d, spv_operand(i, 1));
            break;
        case SpvOpExecutionMode:
        case SpvOpExecutionModeId: keep_operands(d, i); break;
        case SpvOpDecorate:
            if (spv_operand(i, 1) == SpvDecorationBuiltIn &&
                spv_operand(i, 2) == SpvBuiltInWorkgroupSize)
                keep_id(d, spv_operand(i, 0));
            break;
        case SpvOpVariable:
            if (is_interface(i))
                keep_id(d, i->id);
            break;
        case SpvOpExtInst: keep_operands(d, i); break;
        default: break;
        }
    }
    drain(d);
}

static bool is_declaration(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    return info && i->id &&
           (info->flags & (SPV_OPF_TYPE | SPV_OPF_CONSTANT) || i->op == SpvOpVariable);
}

static void remove_dead(Dead *d, SpvFunction *f)
{
    for (SpvBlock *b = f->first; b; b = b->next) {
        for (SpvInst *i = b->insts.first, *next; i; i = next) {
            next = i->next;
            PassVariable *var = private_store(d, i);
            if (var ? !d->live[var->inst->id] : is_removable(i) && !d->live[i->id])
                edit_remove(d->m, i);
        }
    }
}

void dead_remove(PassContext *c, const Cfg *g)
{
    Dead *d = NEW(c->scratch, Dead);
    d->c = c;
    d->m = c->module;
    d->v = variables_find(c, g);
    d->live = NEW_ARRAY(c->scratch, uint8_t, d->m->bound);
    keep_preamble(d);
    for (SpvFunction *f = d->m->functions; f; f = f->next)
        keep_function(d, f, f != g->function);
    remove_dead(d, g->function);
    for (SpvInst *i = d->m->globals.first, *next; i; i = next) {
        next = i->next;
        bool forward = i->op == SpvOpTypeForwardPointer && !d->live[spv_operand(i, 0)];
        if (forward || (is_declaration(i) && !d->live[i->id]))
            edit_remove(d->m, i);
    }
    edit_sweep(d->m, c->scratch);
}
