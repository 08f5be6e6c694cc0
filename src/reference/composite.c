/* SPDX-License-Identifier: MIT
 *
 * Composite instructions (SPIR-V 3.3.12), which move leaves around.
 */
#include "reference/machine.h"

static void move(RInv *v, Ref to, uint32_t at_to, Ref from, uint32_t at_from, uint32_t n)
{
    memmove(leaf(v, to) + at_to, leaf(v, from) + at_from, n * sizeof(uint64_t));
    memmove(unset(v, to) + at_to, unset(v, from) + at_from, n);
}

/* The part of `t` that the literals from operand `first` on name; its first leaf in *at. */
static const RType *walk(RMachine *m, RInst *i, const RType *t, uint32_t first, uint32_t *at)
{
    *at = 0;
    for (uint32_t k = first; k < i->n_ops; k++) {
        uint32_t index = spv_operand(i->src, k);
        if (t->kind == SPV_COOPMAT && m->probing)
            index = 0; /* their number is not known yet */
        bool aggregate = t->kind == SPV_STRUCT || t->kind == SPV_ARRAY || t->kind == SPV_VECTOR ||
                         t->kind == SPV_MATRIX || t->kind == SPV_COOPMAT;
        if (t->kind == SPV_COOPMAT && index >= t->count) {
            refuse(m, i->src, "element %u of a matrix of which each invocation holds %u", index,
                   t->count);
            return NULL;
        }
        if (!aggregate || index >= t->count) {
            refuse(m, i->src, "index %u leaves the composite", index);
            return NULL;
        }
        if (t->kind == SPV_STRUCT) {
            *at += t->first_leaf[index];
            t = t->members[index];
        } else {
            *at += index * t->element->leaves;
            t = t->element;
        }
    }
    return t;
}

static RStep step_extract(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    move(v, i->dst, 0, i->ops[0], i->part, i->n);
    return STEP_NEXT;
}

static bool prepare_extract(RMachine *m, RInst *i)
{
    if (!i->at)
        return prepare_value(m, i);
    const RType *t = walk(m, i, i->at, 1, &i->part);
    if (t && t->leaves != i->n)
        refuse(m, i->src, "the part named is not of the result type");
    return !m->failed;
}

static RStep step_insert(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    move(v, i->dst, 0, i->ops[1], 0, i->n);
    move(v, i->dst, i->part, i->ops[0], 0, i->at->leaves);
    return STEP_NEXT;
}

static bool prepare_insert(RMachine *m, RInst *i)
{
    if (i->n_ops < 2 || !prepare_value(m, i) || operand_type(m, i, 1)->leaves != i->n) {
        refuse(m, i->src, "the composite is not of the result type");
        return false;
    }
    const RType *t = walk(m, i, i->type, 2, &i->part);
    if (t && t->leaves != i->at->leaves)
        refuse(m, i->src, "the object does not fit the part named");
    return !m->failed;
}

static RStep step_construct(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t at = 0;
    bool splat = i->part;
    for (uint32_t k = 0; at < i->n; k++) {
        uint32_t n = operand_type(m, i, splat ? 0 : k)->leaves;
        move(v, i->dst, at, i->ops[splat ? 0 : k], 0, n);
        at += n;
    }
    return STEP_NEXT;
}

static bool prepare_construct(RMachine *m, RInst *i)
{
    uint64_t total = 0;
    if (!prepare_value(m, i))
        return false;
    for (uint32_t k = 0; k < i->n_ops; k++)
        total += operand_type(m, i, k)->leaves;
    i->part = i->type->kind == SPV_COOPMAT || i->op == SpvOpCompositeConstructReplicateEXT;
    bool fits = i->part ? i->n_ops == 1 && total && i->n % total == 0 : total == i->n;
    for (uint32_t k = 0; k < i->n_ops && !i->part; k++)
        fits &= operand_type(m, i, k)->leaves > 0 || i->type->kind == SPV_STRUCT;
    if (!fits)
        refuse(m, i->src, "the constituents do not make up the result type");
    return fits;
}

static RStep step_shuffle(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t first = i->at->leaves;
    (void)m;
    for (uint32_t k = 0; k < i->n; k++) {
        uint32_t from = i->ops[2 + k];
        if (from == UINT32_MAX) {
            leaf(v, i->dst)[k] = 0;
            unset(v, i->dst)[k] = 1;
        } else if (from < first) {
            move(v, i->dst, k, i->ops[0], from, 1);
        } else {
            move(v, i->dst, k, i->ops[1], from - first, 1);
        }
    }
    return STEP_NEXT;
}

static bool prepare_shuffle(RMachine *m, RInst *i)
{
    if (!prepare_value(m, i) || i->n_ops < 2 || i->n_ops - 2u != i->n) {
        refuse(m, i->src, "as many components are named as the result has");
        return false;
    }
    uint64_t total = (uint64_t)i->at->leaves + operand_type(m, i, 1)->leaves;
    for (uint32_t k = 0; k < i->n; k++)
        if (i->ops[2 + k] != UINT32_MAX && i->ops[2 + k] >= total) {
            refuse(m, i->src, "component %u is in neither vector", i->ops[2 + k]);
            return false;
        }
    return true;
}

static bool index_in(RMachine *m, RInv *v, const RInst *i, Ref r, uint32_t count, uint32_t *index)
{
    uint64_t x = *leaf(v, r);
    *index = (uint32_t)x;
    if (x < count)
        return true;
    if (!*unset(v, r))
        found(m, v, i, REF_OUT_OF_BOUNDS, "index %lld of a vector of %u components",
              (long long)sext(x, 32), count);
    return false;
}

static RStep step_extract_dynamic(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t index;
    if (index_in(m, v, i, i->ops[1], i->at->leaves, &index)) {
        move(v, i->dst, 0, i->ops[0], index, 1);
        *unset(v, i->dst) |= *unset(v, i->ops[1]);
    } else {
        *leaf(v, i->dst) = 0;
        *unset(v, i->dst) = 1;
    }
    return STEP_NEXT;
}

static RStep step_insert_dynamic(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t index;
    move(v, i->dst, 0, i->ops[0], 0, i->n);
    if (index_in(m, v, i, i->ops[2], i->n, &index))
        move(v, i->dst, index, i->ops[1], 0, 1);
    return STEP_NEXT;
}

static bool prepare_dynamic(RMachine *m, RInst *i)
{
    bool in = i->op == SpvOpVectorInsertDynamic;
    bool fits = prepare_value(m, i) && i->n_ops >= 2u + in && i->at->kind == SPV_VECTOR &&
                operand_type(m, i, 1 + in)->kind == SPV_INT &&
                (in ? i->n == i->at->leaves && operand_type(m, i, 1)->leaves == 1 : i->n == 1);
    if (!fits)
        refuse(m, i->src, "the operands do not match the result type");
    return fits;
}

/* clang-format off */
static const ROpRow rows[] = {
    { SpvOpCompositeExtract, step_extract, prepare_extract, NULL, OPF_CONSTANT },
    { SpvOpCompositeInsert, step_insert, prepare_insert, NULL, OPF_CONSTANT },
    { SpvOpCompositeConstruct, step_construct, prepare_construct, NULL, 0 },
    { SpvOpCompositeConstructReplicateEXT, step_construct, prepare_construct, NULL, 0 },
    { SpvOpVectorShuffle, step_shuffle, prepare_shuffle, NULL, OPF_CONSTANT },
    { SpvOpVectorExtractDynamic, step_extract_dynamic, prepare_dynamic, NULL, 0 },
    { SpvOpVectorInsertDynamic, step_insert_dynamic, prepare_dynamic, NULL, 0 },
};
/* clang-format on */
const ROpTable ref_composite_ops = { rows, COUNT_OF(rows) };
