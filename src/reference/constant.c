/* SPDX-License-Identifier: MIT
 *
 * The module's declarations in order: types, and constants with the dispatch's specialisation
 * values. An OpSpecConstantOp runs its opcode's handler on constants.
 */
#include "reference/machine.h"

Ref constant_alloc(RMachine *m, uint32_t leaves)
{
    uint64_t need = (uint64_t)m->n_const + leaves;
    if (need > 0x7ffffff0u)
        arena_alloc(m->arena, SIZE_MAX / 2); /* runs out of memory, as everywhere */
    if (need > m->cap_const) {
        uint32_t cap = (uint32_t)MIN(MAX(need, m->cap_const * 2ull + 64), 0x7ffffff0u);
        uint64_t *v = NEW_ARRAY(m->arena, uint64_t, cap);
        uint8_t *u = NEW_ARRAY(m->arena, uint8_t, cap);
        if (m->n_const) {
            memcpy(v, m->cv, m->n_const * sizeof(*v));
            memcpy(u, m->cu, m->n_const);
        }
        m->cv = v;
        m->cu = u;
        m->cap_const = cap;
        m->const_inv.base[0] = m->const_inv.base[1] = v;
        m->const_inv.ubase[0] = m->const_inv.ubase[1] = u;
    }
    Ref r = REF_CONST | m->n_const;
    m->n_const += leaves;
    return r;
}

static uint64_t *const_leaf(RMachine *m, Ref r) { return m->cv + (r & 0x7fffffff); }

bool constant_uint(RMachine *m, SpvId id, uint64_t *x)
{
    if (id >= m->bound || m->refs[id] == REF_NONE || !(m->refs[id] & REF_CONST))
        return false;
    const RType *t = m->value_types[id];
    if (!t || (t->kind != SPV_INT && t->kind != SPV_BOOL))
        return false;
    *x = *const_leaf(m, m->refs[id]);
    return true;
}

static void scalar_constant(RMachine *m, SpvInst *i, const RType *t, uint64_t *at)
{
    uint64_t x = 0;
    switch (i->op) {
    case SpvOpConstantTrue:
    case SpvOpSpecConstantTrue: x = 1; break;
    case SpvOpConstant:
    case SpvOpSpecConstant:
        x = spv_operand(i, 0);
        if (t->bits > 32 && spv_n_operands(i) > 1)
            x |= (uint64_t)spv_operand(i, 1) << 32;
        break;
    default: break;
    }
    if (i->op == SpvOpSpecConstant || i->op == SpvOpSpecConstantTrue ||
        i->op == SpvOpSpecConstantFalse) {
        uint32_t n;
        const uint32_t *id = spv_decoration(m->module, i->id, -1, SpvDecorationSpecId, &n);
        for (uint32_t k = 0; id && n && k < m->d->n_spec; k++)
            if (m->d->spec[k].id == *id)
                x = t->kind == SPV_BOOL ? m->d->spec[k].bits != 0 : m->d->spec[k].bits;
    }
    *at = x & mask_bits(t->bits);
}

static void composite_constant(RMachine *m, SpvInst *i, const RType *t, Ref r)
{
    uint32_t n = spv_n_operands(i), at = 0;
    bool splat = t->kind == SPV_COOPMAT || i->op == SpvOpConstantCompositeReplicateEXT ||
                 i->op == SpvOpSpecConstantCompositeReplicateEXT;
    for (uint32_t k = 0; k < n || (splat && n == 1 && at < t->leaves); k++) {
        SpvId id = spv_operand(i, splat ? 0 : k);
        Ref from = id < m->bound ? m->refs[id] : REF_NONE;
        if (from == REF_NONE || !m->value_types[id]) {
            refuse(m, i, "constituent %%%u is not a constant declared before", id);
            return;
        }
        uint32_t leaves = m->value_types[id]->leaves;
        if (at + (uint64_t)leaves > t->leaves || (splat && !leaves)) {
            refuse(m, i, "more constituents than the type has components");
            return;
        }
        memmove(const_leaf(m, r) + at, const_leaf(m, from), leaves * 8);
        memmove(m->cu + (r & 0x7fffffff) + at, m->cu + (from & 0x7fffffff), leaves);
        at += leaves;
    }
    if (at != t->leaves)
        refuse(m, i, "fewer constituents than the type has components");
}

/* The operation as an instruction of its own, run on the constants. */
static void operation_constant(RMachine *m, SpvInst *i, Ref r)
{
    uint32_t n = spv_n_operands(i);
    uint16_t op = n ? (uint16_t)spv_operand(i, 0) : 0;
    const ROpRow *row = op_row(op);
    if (!row || !(row->flags & OPF_CONSTANT)) {
        refuse(m, i, "OpSpecConstantOp of %s is not supported", spv_op_name(op));
        return;
    }
    SpvInst *made = NEW(m->arena, SpvInst);
    *made = *i;
    made->op = op;
    made->n_words = (uint16_t)(i->n_words - 1);
    made->words = NEW_ARRAY(m->arena, uint32_t, i->n_words);
    made->words[0] = (uint32_t)made->n_words << 16 | op;
    made->words[1] = i->type;
    made->words[2] = i->id;
    memcpy(made->words + 3, i->words + 4, (i->n_words - 4u) * 4u);
    made->first_operand = 3;
    RInst inst = { 0 };
    decode_inst(m, &inst, made);
    if (m->failed)
        return;
    inst.dst = r;
    if (row->prepare && !row->prepare(m, &inst)) {
        refuse(m, i, "the operands of %s do not fit", spv_op_name(op));
        return;
    }
    inst.run = row->run;
    controls_prepare(m, &inst);
    inst.run(m, &m->const_inv, &inst);
    m->refs[i->id] = r;
}

static bool is_constant(uint16_t op)
{
    switch (op) {
    case SpvOpUndef:
    case SpvOpPoisonKHR:
    case SpvOpConstantTrue:
    case SpvOpConstantFalse:
    case SpvOpConstant:
    case SpvOpConstantComposite:
    case SpvOpConstantNull:
    case SpvOpSpecConstantTrue:
    case SpvOpSpecConstantFalse:
    case SpvOpSpecConstant:
    case SpvOpSpecConstantComposite:
    case SpvOpSpecConstantOp:
    case SpvOpConstantCompositeReplicateEXT:
    case SpvOpSpecConstantCompositeReplicateEXT: return true;
    default: return false;
    }
}

static void define_constant(RMachine *m, SpvInst *i)
{
    const RType *t = type_get(m, i->type);
    if (!t)
        return;
    if (!t->leaves && t->kind != SPV_STRUCT && t->kind != SPV_ARRAY) {
        if (i->op != SpvOpUndef && i->op != SpvOpConstantNull)
            refuse(m, i, "a constant of this type is not supported");
        return;
    }
    m->value_types[i->id] = t;
    Ref r = constant_alloc(m, t->leaves);
    switch (i->op) {
    case SpvOpUndef:
    case SpvOpPoisonKHR: memset(m->cu + (r & 0x7fffffff), 1, t->leaves); break;
    case SpvOpConstantNull: break;
    case SpvOpConstantComposite:
    case SpvOpSpecConstantComposite:
    case SpvOpConstantCompositeReplicateEXT:
    case SpvOpSpecConstantCompositeReplicateEXT: composite_constant(m, i, t, r); break;
    case SpvOpSpecConstantOp: operation_constant(m, i, r); return;
    default:
        if (t->kind == SPV_INT || t->kind == SPV_FLOAT || t->kind == SPV_BOOL)
            scalar_constant(m, i, t, const_leaf(m, r));
        else
            refuse(m, i, "a scalar constant of a composite type");
    }
    m->refs[i->id] = r;
}

bool constants_build(RMachine *m)
{
    memset(m->types, 0, m->bound * sizeof(*m->types));
    memset(m->value_types, 0, m->bound * sizeof(*m->value_types));
    for (uint32_t k = 0; k < m->bound; k++)
        m->refs[k] = REF_NONE;
    m->n_const = 0;
    constant_alloc(m, 2);
    memset(m->cv, 0, m->cap_const * sizeof(*m->cv));
    memset(m->cu, 0, m->cap_const);
    for (SpvInst *i = m->module->globals.first; i && !m->failed; i = i->next) {
        const SpvOpInfo *info = spv_op_info(i->op);
        if (i->op == SpvOpTypeForwardPointer && spv_n_operands(i) > 1)
            type_forward(m, i);
        else if (info && (info->flags & SPV_OPF_TYPE) && i->id)
            m->types[i->id] = type_define(m, i);
        else if (is_constant(i->op))
            define_constant(m, i);
    }
    return !m->failed;
}
