/* SPDX-License-Identifier: MIT
 *
 * specialise: freezes specialisation constants. In: any module. Out: one without OpSpecConstant*,
 * but for OpSpecConstantOp on pointers (Kernel modules), which no constant can hold.
 *
 * Declarations come in an order in which operands are before their users, so one walk freezes
 * everything: each instruction becomes its constant in place and keeps its id (array lengths and
 * matrix sizes name it). Constants that vectors need are put in front of them.
 */
#include "pass/edit.h"

typedef struct Spec {
    PassContext *c;
    SpvModule *m;
    PassFold fold;
    Map ids; /* constant's id -> 1 + index in options->spec */
} Spec;

static void take_value(Spec *s, SpvInst *i)
{
    uint64_t k, bits;
    if (!map_get(&s->ids, i->id, &k))
        return;
    bits = s->c->options->spec[k - 1].bits;
    if (i->op == SpvOpSpecConstantTrue || i->op == SpvOpSpecConstantFalse) {
        i->op = bits ? SpvOpSpecConstantTrue : SpvOpSpecConstantFalse;
        return;
    }
    const SpvType *t = spv_type(s->m, i->type);
    if (t && t->bits < 32) {
        uint64_t mask = ((uint64_t)1 << t->bits) - 1;
        bool negative = t->kind == SPV_INT && t->is_signed && bits >> (t->bits - 1) & 1;
        bits = negative ? bits | ~mask : bits & mask;
    }
    uint32_t words[2] = { (uint32_t)bits, (uint32_t)(bits >> 32) };
    edit_become(s->m, i, i->op, words, t && t->bits > 32 ? 2 : 1);
}

static void set_opcode(SpvInst *i, uint16_t op)
{
    i->op = op;
    i->words[0] = (uint32_t)i->n_words << 16 | op;
}

static bool is_pointer_op(uint32_t op)
{
    switch (op) {
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
    case SpvOpPtrAccessChain:
    case SpvOpInBoundsPtrAccessChain:
    case SpvOpConvertPtrToU:
    case SpvOpConvertUToPtr:
    case SpvOpGenericCastToPtr:
    case SpvOpPtrCastToGeneric: return true;
    default: return false;
    }
}

/* If the specification defines no value (division by zero, too large a shift, a float out of an
 * integer's range), the value is 0 and a warning says so. */
static bool undefined_value(Spec *s, uint16_t op, SpvInst *i, SpvId *id)
{
    bool divides = op >= SpvOpUDiv && op <= SpvOpSMod;
    bool shifts = op >= SpvOpShiftRightLogical && op <= SpvOpShiftLeftLogical;
    if (!divides && !shifts && op != SpvOpConvertFToU && op != SpvOpConvertFToS)
        return false;
    DiagLoc loc = spv_loc(s->c->scratch, s->m, i);
    diag(s->c->sink, DIAG_WARNING, &loc, "OpSpecConstantOp",
         "the result of this %s is undefined; it is taken as 0", spv_op_name(op));
    *id = fold_null(&s->fold, i->type);
    return true;
}

static bool freeze_op(Spec *s, SpvInst *i)
{
    uint16_t op = (uint16_t)spv_operand(i, 0);
    uint32_t n = spv_n_operands(i) - 1, *operands = i->words + i->first_operand + 1;
    uint64_t length;
    SpvId id = 0;
    s->fold.before = i;
    if (op == SpvOpCooperativeMatrixLengthKHR && n == 1 &&
        edit_matrix_length(s->c, operands[0], &length))
        id = fold_int(&s->fold, i->type, length);
    else
        id = fold_op(&s->fold, op, i->type, operands, n);
    const SpvType *t = spv_type(s->m, i->type);
    if (!id && (is_pointer_op(op) || (t && t->kind == SPV_POINTER)))
        return true;
    if (!id && !undefined_value(s, op, i, &id)) {
        spv_error(s->m, i, s->c->sink, "OpSpecConstantOp", "the value of this %s is not known%s",
                  spv_op_name(op),
                  op == SpvOpCooperativeMatrixLengthKHR
                      ? ": it depends on the subgroup size, which is not fixed here"
                      : "");
        return false;
    }
    const SpvInst *value = spv_def(s->m, id);
    edit_become(s->m, i, value->op, value->words + value->first_operand, spv_n_operands(value));
    return true;
}

/* A length that is specialised counts from here on. */
static bool has_length(Spec *s, const SpvInst *i)
{
    uint64_t length;
    if (!spv_constant(s->m, spv_operand(i, 1), &length) || length)
        return true;
    spv_error(s->m, i, s->c->sink, NULL, "the length is specialised to 0");
    return false;
}

/* Before the rest: the workgroup's size, which matrices' lengths depend on, may be behind these. */
static void freeze_scalars(Spec *s)
{
    for (SpvInst *i = s->m->globals.first; i; i = i->next)
        switch (i->op) {
        case SpvOpSpecConstantTrue:
        case SpvOpSpecConstantFalse:
            take_value(s, i);
            set_opcode(i, i->op == SpvOpSpecConstantTrue ? SpvOpConstantTrue : SpvOpConstantFalse);
            break;
        case SpvOpSpecConstant:
            take_value(s, i);
            set_opcode(i, SpvOpConstant);
            break;
        default: break;
        }
}

static bool freeze(Spec *s, SpvInst *i)
{
    switch (i->op) {
    case SpvOpSpecConstantComposite: set_opcode(i, SpvOpConstantComposite); return true;
    case SpvOpSpecConstantCompositeReplicateEXT:
        set_opcode(i, SpvOpConstantCompositeReplicateEXT);
        return true;
    case SpvOpSpecConstantOp: return freeze_op(s, i);
    case SpvOpTypeArray:
    case SpvOpTypeVectorIdEXT: return has_length(s, i);
    default: return true;
    }
}

/* Matches what was given to the constants' SpecId decorations, and takes those away. */
static void match_ids(Spec *s)
{
    const PassOptions *o = s->c->options;
    uint8_t *used = NEW_ARRAY(s->c->scratch, uint8_t, o->n_spec);
    for (SpvInst *i = s->m->globals.first, *next; i; i = next) {
        next = i->next;
        if (i->op != SpvOpDecorate || spv_operand(i, 1) != SpvDecorationSpecId)
            continue;
        for (uint32_t k = 0; k < o->n_spec; k++) {
            if (o->spec[k].id == spv_operand(i, 2)) {
                map_put(s->c->scratch, &s->ids, spv_operand(i, 0), k + 1);
                used[k] = 1;
            }
        }
        edit_remove(s->m, i);
    }
    for (uint32_t k = 0; k < o->n_spec; k++)
        if (!used[k])
            diag(s->c->sink, DIAG_WARNING, NULL, "SpecId",
                 "the kernel has no specialisation constant with id %u", o->spec[k].id);
}

/* The check of the module saw only the default sizes. */
static bool matrices_have_sizes(Spec *s)
{
    for (const SpvInst *i = s->m->globals.first; i; i = i->next) {
        const SpvType *t = i->op == SpvOpTypeCooperativeMatrixKHR ? spv_type(s->m, i->id) : NULL;
        if (!t || (t->rows && t->cols && MAX(t->rows, t->cols) <= SPV_MATRIX_MOST))
            continue;
        spv_error(s->m, i, s->c->sink, "SPV_KHR_cooperative_matrix",
                  "a matrix of %u x %u: both are 1 to %u", t->rows, t->cols,
                  (uint32_t)SPV_MATRIX_MOST);
        return false;
    }
    return true;
}

bool pass_specialise(PassContext *c)
{
    Spec s = { .c = c, .m = c->module };
    match_ids(&s);
    spv_forget_types(s.m);
    /* The pool grows with the walk, so that constants never come from later declarations. */
    s.fold = (PassFold){ .m = s.m, .scratch = c->scratch, .denormals = true };
    fold_modes(&s.fold, &c->entry);
    freeze_scalars(&s);
    if (!spv_entry_point(s.m, c->entry.name, &c->entry, c->sink))
        return false;
    for (SpvInst *i = s.m->globals.first, *next; i; i = next) {
        next = i->next;
        if (!freeze(&s, i))
            return false;
        fold_learn(&s.fold, i);
    }
    spv_forget_types(s.m);
    return matrices_have_sizes(&s) && spv_entry_point(s.m, c->entry.name, &c->entry, c->sink);
}
