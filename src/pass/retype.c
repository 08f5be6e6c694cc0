/* SPDX-License-Identifier: MIT
 *
 * retype: makes accesses to variables use the variables' own types. In: a function whose variables
 * are accessed through OpBitcast of their address, as compilers without typed pointers make them.
 * Out: where the whole variable is accessed as another type of the same size (a pointer to
 * something else, an integer as a float), the access is of the variable's type, and the value is
 * cast instead, so that promote can follow the variable.
 */
#include "pass/edit.h"

/* The variable that a pointer is the cast address of, if it is accessed as a whole. */
static SpvInst *cast_variable(SpvModule *m, SpvId pointer, const SpvType **own)
{
    SpvInst *cast = spv_def(m, pointer);
    if (!cast || cast->op != SpvOpBitcast)
        return NULL;
    SpvInst *v = spv_def(m, spv_operand(cast, 0));
    const SpvType *t = v && v->op == SpvOpVariable ? spv_type(m, v->type) : NULL;
    const SpvType *to = spv_type(m, cast->type);
    if (!t || t->storage != SpvStorageClassFunction || !to || to->kind != SPV_POINTER)
        return NULL;
    *own = t->element;
    return edit_casts(t->element, to->element) ? v : NULL;
}

static SpvInst *cast_before(SpvModule *m, SpvInst *at, SpvId type, SpvId id, SpvId value)
{
    SpvInst *c = spv_make(m, SpvOpBitcast, type, id, &value, 1);
    c->index = at->index;
    spv_insert_before(at, c);
    return c;
}

static void retype_load(SpvModule *m, SpvInst *load, const SpvInst *variable, const SpvType *own)
{
    SpvInst *copy = spv_clone_inst(m, load);
    copy->words[1] = copy->type = own->id;
    copy->words[2] = copy->id = spv_new_id(m);
    copy->words[copy->first_operand] = variable->id;
    m->defs[copy->id] = copy;
    spv_insert_before(load, copy);
    edit_become(m, load, SpvOpBitcast, &copy->id, 1);
}

bool pass_retype(PassContext *c)
{
    SpvModule *m = c->module;
    if (c->entry.model != SpvExecutionModelKernel)
        return true;
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next) {
                const SpvType *own;
                bool load = i->op == SpvOpLoad;
                SpvInst *v =
                    load || i->op == SpvOpStore ? cast_variable(m, spv_operand(i, 0), &own) : NULL;
                if (!v)
                    continue;
                if (load) {
                    retype_load(m, i, v, own);
                    continue;
                }
                SpvInst *value = cast_before(m, i, own->id, spv_new_id(m), spv_operand(i, 1));
                i->words[i->first_operand] = v->id;
                i->words[i->first_operand + 1] = value->id;
            }
    return true;
}
