/* SPDX-License-Identifier: MIT
 *
 * view: a buffer as an array of numbers, declared once more beside what the module declares it as.
 */
#include "lower/internal.h"

static void decorate(Lower *l, SpvId id, uint32_t decoration, uint32_t value, uint32_t n)
{
    uint32_t words[] = { id, decoration, value };
    spv_append_global(l->m, spv_make(l->m, SpvOpDecorate, 0, 0, words, 2 + n));
}

bool lower_has_property(Lower *l, const SpvType *block, uint32_t property)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < block->count; k++)
        n += spv_has_decoration(l->m, block->id, (int32_t)k, property);
    return property == SpvDecorationNonWritable ? n == block->count : n > 0;
}

/* It promises that nothing else is the same memory. */
static void drop_restrict(Lower *l, SpvId variable)
{
    SpvId block = spv_type_of(l->m, variable)->element->id;
    for (SpvInst *d = l->m->globals.first, *next; d; d = next) {
        next = d->next;
        bool of_all = d->op == SpvOpDecorate && spv_operand(d, 0) == variable &&
                      spv_operand(d, 1) == SpvDecorationRestrict;
        bool of_member = d->op == SpvOpMemberDecorate && spv_operand(d, 0) == block &&
                         spv_operand(d, 2) == SpvDecorationRestrict;
        if (of_all || of_member)
            edit_remove(l->m, d);
    }
}

static SpvId declare_again(Lower *l, SpvId variable, const SpvType *number)
{
    static const uint32_t kept[] = { SpvDecorationDescriptorSet, SpvDecorationBinding },
                          how[] = { SpvDecorationNonWritable, SpvDecorationCoherent,
                                    SpvDecorationVolatile };
    const SpvType *block = spv_type_of(l->m, variable)->element;
    uint32_t storage = spv_operand(spv_def(l->m, variable), 0), n;
    SpvInst *array = spv_make(l->m, SpvOpTypeRuntimeArray, 0, spv_new_id(l->m), &number->id, 1);
    spv_append_global(l->m, array);
    SpvInst *all = spv_make(l->m, SpvOpTypeStruct, 0, spv_new_id(l->m), &array->id, 1);
    spv_append_global(l->m, all);
    SpvId again = place_variable(l, storage, all->id);
    uint32_t start[] = { all->id, 0, SpvDecorationOffset, 0 };
    decorate(l, array->id, SpvDecorationArrayStride, (uint32_t)number->size, 1);
    decorate(l, all->id, SpvDecorationBlock, 0, 0);
    spv_append_global(l->m, spv_make(l->m, SpvOpMemberDecorate, 0, 0, start, 4));
    for (uint32_t k = 0; k < COUNT_OF(kept); k++) {
        const uint32_t *value = spv_decoration(l->m, variable, -1, kept[k], &n);
        decorate(l, again, kept[k], value ? *value : 0, 1);
    }
    for (uint32_t k = 0; k < COUNT_OF(how); k++)
        if (spv_has_decoration(l->m, variable, -1, how[k]) || lower_has_property(l, block, how[k]))
            decorate(l, again, how[k], 0, 0);
    drop_restrict(l, variable);
    decorate(l, again, SpvDecorationAliased, 0, 0);
    if (!spv_has_decoration(l->m, variable, -1, SpvDecorationAliased))
        decorate(l, variable, SpvDecorationAliased, 0, 0);
    spv_forget_types(l->m);
    return again;
}

SpvId lower_view(Lower *l, SpvId variable, const SpvType *number)
{
    for (uint32_t k = 0; k < l->views.len; k++)
        if (l->views.data[k].variable == variable && l->views.data[k].number == number->id)
            return l->views.data[k].view;
    SpvId view = declare_again(l, variable, number);
    vec_push(l->scratch, &l->views, (LowerView){ variable, number->id, view });
    return view;
}

SpvId lower_view_bytes(Lower *l, SpvInst *chain, const SpvType *t)
{
    SpvId bytes = build_const(l, 0);
    for (uint32_t k = 1; t && k < spv_n_operands(chain); k++) {
        SpvId index = spv_operand(chain, k);
        uint64_t x;
        if (t->kind == SPV_STRUCT) {
            if (!spv_constant(l->m, index, &x) || x >= t->count || !t->offsets)
                return 0;
            bytes = build_add(l, chain, bytes, build_const(l, t->offsets[x]));
            t = t->members[x];
            continue;
        }
        if (t->kind != SPV_ARRAY && t->kind != SPV_RUNTIME_ARRAY && t->kind != SPV_VECTOR)
            return 0;
        uint32_t stride = t->array_stride ? t->array_stride : (uint32_t)t->element->size;
        index = build_mul(l, chain, build_to_u32(l, chain, index), build_const(l, stride));
        bytes = build_add(l, chain, bytes, index);
        t = t->element;
    }
    return t ? bytes : 0;
}

SpvId lower_view_start(Lower *l, SpvInst *chain, SpvId *bytes)
{
    const SpvInst *v =
        chain && (chain->op == SpvOpAccessChain || chain->op == SpvOpInBoundsAccessChain)
            ? spv_def(l->m, spv_operand(chain, 0))
            : NULL;
    const SpvType *t = v && v->op == SpvOpVariable ? spv_type(l->m, v->type)->element : NULL;
    *bytes = t && t->kind == SPV_STRUCT ? lower_view_bytes(l, chain, t) : 0;
    return *bytes ? v->id : 0;
}
