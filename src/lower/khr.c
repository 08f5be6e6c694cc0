/* SPDX-License-Identifier: MIT
 *
 * lower_khr: SPV_KHR_cooperative_matrix. In: matrices, but for what other extensions do to them.
 * Out: each a plain array of the elements that an invocation holds, the (e * W + l)-th by rows of
 * lane l of W (those of a workgroup smaller than a subgroup hold all of it). A type becomes the
 * array's in its place, so what moves matrices about stays as it is; what computes with them is
 * done an element after the other.
 */
#include "lower/internal.h"

static const SpvType *matrix_of(Lower *l, SpvId value)
{
    const SpvType *t = spv_type_of(l->m, value);
    return lower_is_array(l, t) ? t : NULL;
}

/* ---- values of one number -------------------------------------------------------------------- */

/* Constants and constructs name the one value that all elements have. */
static void repeat(Lower *l, SpvInst *i, const SpvType *t, uint16_t op)
{
    uint32_t n = place_length(l, t);
    SpvId *parts = NEW_ARRAY(l->scratch, SpvId, n), value = spv_operand(i, 0);
    for (uint32_t k = 0; k < n; k++)
        parts[k] = value;
    edit_become(l->m, i, op, parts, n);
}

static void repeat_constants(Lower *l)
{
    for (SpvInst *i = l->m->globals.first; i; i = i->next) {
        bool constant =
            i->op == SpvOpConstantComposite || i->op == SpvOpConstantCompositeReplicateEXT;
        const SpvType *t = constant ? spv_type(l->m, i->type) : NULL;
        if (lower_is_array(l, t))
            repeat(l, i, t, SpvOpConstantComposite);
    }
}

/* ---- element by element ---------------------------------------------------------------------- */

/* What an instruction of matrices is between their elements; 0: nothing. */
static uint16_t of_elements(const SpvInst *i, const SpvType *t)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    if (i->op == SpvOpMatrixTimesScalar)
        return t->element->kind == SPV_FLOAT ? SpvOpFMul : SpvOpIMul;
    if (i->op == SpvOpSelect)
        return i->op;
    if (i->op == SpvOpCooperativeMatrixConvertNV)
        return SpvOpCopyObject;
    return info && info->flags & SPV_OPF_MATRICES ? i->op : 0;
}

/* A conversion to other signs only, or between uses: its elements are the same. */
static SpvId between(Lower *l, SpvInst *at, uint16_t op, const SpvType *to, const uint32_t *x,
                     uint32_t n)
{
    bool converts =
        op == SpvOpFConvert || op == SpvOpBitcast || op == SpvOpUConvert || op == SpvOpSConvert;
    const SpvType *from = spv_type_of(l->m, x[0]);
    if (converts && from->id == to->id)
        return x[0];
    if ((op == SpvOpUConvert || op == SpvOpSConvert) && from->bits == to->bits)
        op = SpvOpBitcast;
    return build(l, at, op, to->id, x, n);
}

/* A number of a format that has no arithmetic of its own, as f32, and back. */
static bool is_small(const SpvType *t) { return t->kind == SPV_FLOAT && t->format != SPV_IEEE; }

static SpvId between_small(Lower *l, SpvInst *at, uint16_t op, const SpvType *to, uint32_t *x,
                           uint32_t n)
{
    const SpvType *f32 = spv_type(l->m, spv_float_type(l->m, 32)), *of = is_small(to) ? f32 : to;
    for (uint32_t k = 0; k < n; k++)
        if (is_small(spv_type_of(l->m, x[k])))
            x[k] = BUILD(l, at, SpvOpFConvert, f32->id, x[k]);
    SpvId value = between(l, at, op, of, x, n);
    return of == to ? value : BUILD(l, at, SpvOpFConvert, to->id, value);
}

static bool calculates(uint16_t op)
{
    return op != SpvOpFConvert && op != SpvOpBitcast && op != SpvOpCopyObject && op != SpvOpSelect;
}

static void decorate(Lower *l, SpvId from, SpvId part)
{
    for (SpvInst *d = l->m->globals.first; d; d = d->next) {
        if (d->op != SpvOpDecorate || spv_operand(d, 0) != from)
            continue;
        SpvInst *copy = spv_make(l->m, d->op, 0, 0, d->words + d->first_operand, spv_n_operands(d));
        copy->words[copy->first_operand] = part;
        spv_append_global(l->m, copy);
    }
}

void lower_undecorate(Lower *l, SpvId id)
{
    for (SpvInst *d = l->m->globals.first, *next; d; d = next) {
        next = d->next;
        if (d->op == SpvOpDecorate && spv_operand(d, 0) == id)
            edit_remove(l->m, d);
    }
}

static bool is_decorated(Lower *l, SpvId id)
{
    static const uint32_t rounds[] = { SpvDecorationFPRoundingMode, SpvDecorationFPFastMathMode,
                                       SpvDecorationNoContraction,
                                       SpvDecorationSaturatedToLargestFloat8NormalConversionEXT };
    for (uint32_t k = 0; k < COUNT_OF(rounds); k++)
        if (spv_has_decoration(l->m, id, -1, rounds[k]))
            return true;
    return false;
}

void lower_hand_down(Lower *l, SpvId from, const SpvId *parts, uint32_t n)
{
    for (uint32_t k = 0; k < n && is_decorated(l, from); k++)
        decorate(l, from, parts[k]);
}

static void by_elements(Lower *l, SpvInst *i, const SpvType *t, uint16_t op)
{
    uint32_t n = spv_n_operands(i), x[3];
    bool decorated = is_decorated(l, i->id), small = is_small(t->element);
    LowerEach e = each_open(l, i, place_length(l, t));
    while (each_next(&e)) {
        for (uint32_t k = 0; k < n && k < 3; k++) {
            const SpvType *m = matrix_of(l, spv_operand(i, k));
            x[k] = m ? each_get(&e, spv_operand(i, k), m->element->id) : spv_operand(i, k);
            small |= m && is_small(m->element);
        }
        SpvId value = small && calculates(op) ? between_small(l, e.at, op, t->element, x, MIN(n, 3))
                                              : between(l, e.at, op, t->element, x, MIN(n, 3));
        if (decorated)
            decorate(l, i->id, value);
        each_put(&e, t->id, t->element->id, value);
    }
    if (decorated)
        lower_undecorate(l, i->id);
    lower_note(l, i, "element by element");
    build_replace(l, i, each_result(&e, t->id));
}

static void visit(Lower *l, SpvInst *i)
{
    const SpvType *t = i->type ? spv_type(l->m, i->type) : NULL, *of;
    switch (i->op) {
    case SpvOpCooperativeMatrixLoadKHR:
        if (lower_is_array(l, t))
            khr_load(l, i);
        return;
    case SpvOpCooperativeMatrixStoreKHR:
        if (matrix_of(l, spv_operand(i, 1)))
            khr_store(l, i);
        return;
    case SpvOpCooperativeMatrixMulAddKHR:
        if (lower_is_array(l, t))
            khr_multiply(l, i);
        return;
    case SpvOpCooperativeMatrixLengthKHR:
        of = spv_type(l->m, spv_operand(i, 0));
        if (!lower_is_array(l, of))
            return;
        lower_note(l, i, "a constant");
        build_replace(l, i, spv_int_constant(l->m, i->type, place_length(l, of)));
        return;
    default: break;
    }
    if (!lower_is_array(l, t))
        return;
    bool one = spv_n_operands(i) == 1; /* else it is made of elements already */
    if ((i->op == SpvOpCompositeConstruct && one) || i->op == SpvOpCompositeConstructReplicateEXT)
        repeat(l, i, t, SpvOpCompositeConstruct);
    else if (of_elements(i, t))
        by_elements(l, i, t, of_elements(i, t));
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool fits(Lower *l, const SpvInst *i, const SpvType *t)
{
    bool scope = t->scope == SpvScopeSubgroup || t->scope == SpvScopeWorkgroup;
    if (!scope)
        return lower_refuse(l, i,
                            "matrices of a scope that is neither a subgroup's nor a "
                            "workgroup's");
    if (t->scope == SpvScopeSubgroup && l->invocations > l->lanes && l->invocations % l->lanes)
        return lower_refuse(l, i,
                            "a workgroup of %u invocations is not made of whole subgroups of "
                            "%u",
                            l->invocations, l->lanes);
    if (!lower_has(l, t->element))
        return lower_refuse(l, i, "'%s' has no variables of its component type", l->profile->name);
    return true;
}

static bool check_types(Lower *l)
{
    for (SpvInst *i = l->m->globals.first; i; i = i->next)
        if (i->op == SpvOpTypeCooperativeMatrixKHR && lower_is_array(l, spv_type(l->m, i->id)) &&
            !fits(l, i, spv_type(l->m, i->id)))
            return false;
    return true;
}

static void replace_types(Lower *l)
{
    for (SpvInst *i = l->m->globals.first; i; i = i->next) {
        if (i->op != SpvOpTypeCooperativeMatrixKHR)
            continue;
        const SpvType *t = spv_type(l->m, i->id);
        if (!lower_is_array(l, t))
            continue;
        lower_uses(l, t->element);
        uint32_t words[] = { t->element->id, build_const(l, place_length(l, t)) };
        edit_become(l->m, i, SpvOpTypeArray, words, 2);
    }
    spv_forget_types(l->m);
}

void lower_khr(Lower *l)
{
    if (!l->has_arrays || !check_types(l))
        return;
    repeat_constants(l);
    lower_each(l, visit);
    if (!l->failed)
        replace_types(l);
}
