/* SPDX-License-Identifier: MIT
 *
 * Composites: indices are in range and parts fit (SPIR-V 3.3.9, 3.3.12).
 */
#include "check/internal.h"

/* The part of `t` that the literals from operand `first` on name; NULL after reporting. */
static const SpvType *part(Checker *c, SpvInst *i, const SpvType *t, uint32_t first)
{
    for (uint32_t k = first; k < spv_n_operands(i); k++) {
        uint32_t index = spv_operand(i, k);
        switch (t->kind) {
        case SPV_STRUCT:
            if (index >= t->count) {
                broken(c, i, "index %u of a structure of %u members", index, t->count);
                return NULL;
            }
            t = t->members[index];
            break;
        case SPV_ARRAY:
        case SPV_VECTOR:
        case SPV_MATRIX:
            if (index >= t->count && t->count_known) {
                broken(c, i, "index %u of %s with %u parts", index, type_name(c, t), t->count);
                return NULL;
            }
            t = t->element;
            break;
        case SPV_COOPMAT: /* how many an invocation holds, the device says */ t = t->element; break;
        default: broken(c, i, "an index into %s", type_name(c, t)); return NULL;
        }
        if (!t)
            return NULL;
    }
    return t;
}

static void check_extract(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0);
    if (spv_n_operands(i) < 2)
        broken(c, i, "no index");
    const SpvType *p = a ? part(c, i, a, 1) : NULL;
    if (p && !same_type(p, r))
        broken(c, i, "the part is %s, the result %s", type_name(c, p), type_name(c, r));
}

static void check_insert(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *o = want_value(c, i, 0), *a = want_value(c, i, 1);
    if (!o || !a)
        return;
    if (!same_type(a, r)) {
        broken(c, i, "the composite is %s, the result %s", type_name(c, a), type_name(c, r));
        return;
    }
    if (spv_n_operands(i) < 3)
        broken(c, i, "no index");
    const SpvType *p = part(c, i, r, 2);
    if (p && !same_type(p, o))
        broken(c, i, "the part is %s, the object %s", type_name(c, p), type_name(c, o));
}

static bool is_constant_composite(uint16_t op)
{
    return op == SpvOpConstantComposite || op == SpvOpSpecConstantComposite ||
           op == SpvOpConstantCompositeReplicateEXT || op == SpvOpSpecConstantCompositeReplicateEXT;
}

/* A vector may be put together from scalars and vectors; constants only from scalars. */
static void construct_vector(Checker *c, SpvInst *i, const SpvType *r)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < spv_n_operands(i); k++) {
        const SpvType *t = want_value(c, i, k);
        if (!t)
            return;
        if ((is_constant_composite(i->op) && t->kind == SPV_VECTOR) ||
            !same_type(component(t), r->element) || !components(t)) {
            broken(c, i, "constituent %%%u is %s in %s", spv_operand(i, k), type_name(c, t),
                   type_name(c, r));
            return;
        }
        n += components(t);
    }
    if (n != r->count)
        broken(c, i, "%llu components for %s", (unsigned long long)n, type_name(c, r));
}

/* Initializers of kernels' variables hold addresses of others. */
static bool is_kernel_variable(Checker *c, SpvId id)
{
    const SpvInst *def = spv_def(c->m, id);
    return def && (def->op == SpvOpVariable || def->op == SpvOpFunction) &&
           has_capability(c, SpvCapabilityKernel);
}

static void check_construct(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    uint32_t n = spv_n_operands(i);
    bool replicate = i->op == SpvOpCompositeConstructReplicateEXT ||
                     i->op == SpvOpConstantCompositeReplicateEXT ||
                     i->op == SpvOpSpecConstantCompositeReplicateEXT;
    if (!r || is_matrix(r))
        return; /* coopmat-construct */
    if (r->kind == SPV_VECTOR && !replicate) {
        construct_vector(c, i, r);
        return;
    }
    bool aggregate = r->kind == SPV_STRUCT || r->kind == SPV_ARRAY || r->kind == SPV_MATRIX ||
                     (replicate && r->kind == SPV_VECTOR);
    bool known = r->kind != SPV_ARRAY || r->count_known;
    if (!aggregate || (known && n != (replicate ? 1 : r->count))) {
        broken(c, i, "%u constituents for %s", n, type_name(c, r));
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        if (is_constant_composite(i->op) && !spv_is_constant(c->m, spv_operand(i, k)) &&
            !is_kernel_variable(c, spv_operand(i, k)))
            broken(c, i, "constituent %%%u is no constant", spv_operand(i, k));
        const SpvType *t = want_value(c, i, k),
                      *want = r->kind == SPV_STRUCT ? r->members[k] : r->element;
        if (t && !same_type(t, want))
            broken(c, i, "constituent %%%u is %s where %s belongs", spv_operand(i, k),
                   type_name(c, t), type_name(c, want));
    }
}

static void check_shuffle(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0), *b = want_value(c, i, 1);
    if (!a || !b)
        return;
    if (a->kind != SPV_VECTOR || b->kind != SPV_VECTOR || r->kind != SPV_VECTOR ||
        !same_type(a->element, r->element) || !same_type(b->element, r->element) ||
        r->count != spv_n_operands(i) - 2) {
        broken(c, i, "%s and %s are shuffled into %s", type_name(c, a), type_name(c, b),
               type_name(c, r));
        return;
    }
    for (uint32_t k = 2; k < spv_n_operands(i); k++)
        if (spv_operand(i, k) != UINT32_MAX && spv_operand(i, k) >= a->count + b->count)
            broken(c, i, "component %u is in neither vector", spv_operand(i, k));
}

static void check_dynamic(Checker *c, SpvInst *i)
{
    bool in = i->op == SpvOpVectorInsertDynamic;
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0),
                  *o = in ? want_value(c, i, 1) : r, *x = want_value(c, i, 1 + in);
    if (!a || !o || !x)
        return;
    if (a->kind != SPV_VECTOR || x->kind != SPV_INT || !same_type(o, a->element) ||
        (in && !same_type(r, a)))
        broken(c, i, "%s, part %s, index %s, result %s", type_name(c, a), type_name(c, o),
               type_name(c, x), type_name(c, r));
}

/* The same but for decorations (OpCopyLogical): deep only as types nest, each pair gone into once.
 */
static bool match(Checker *c, const SpvType *a, const SpvType *b)
{
    uint64_t known, key;
    if (!a || !b || a->id == b->id)
        return a && b;
    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (a->kind == SPV_ARRAY)
        return match(c, a->element, b->element);
    if (a->kind != SPV_STRUCT)
        return false;
    key = (uint64_t)a->id << 32 | b->id;
    if (map_get(&c->matched, key, &known))
        return true;
    for (uint32_t k = 0; k < a->count; k++)
        if (!match(c, a->members[k], b->members[k]))
            return false;
    map_put(c->arena, &c->matched, key, 1);
    return true;
}

static void check_copy_logical(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0);
    if (a && !match(c, a, r))
        broken(c, i, "%s does not match %s", type_name(c, a), type_name(c, r));
}

static const CheckRow rows[] = {
    { { "composite-extract", "SPIR-V 3.3.12",
        "The indices stay within the composite and lead to the result's type." },
      { SpvOpCompositeExtract },
      NULL,
      check_extract },
    { { "composite-insert", "SPIR-V 3.3.12",
        "The indices stay within the composite and lead to the object's type." },
      { SpvOpCompositeInsert },
      NULL,
      check_insert },
    { { "composite-construct", "SPIR-V 3.3.9, 3.3.12",
        "The constituents are what the type consists of." },
      { SpvOpCompositeConstruct, SpvOpCompositeConstructReplicateEXT },
      is_constant_composite,
      check_construct },
    { { "vector-shuffle", "SPIR-V 3.3.12",
        "Components are named of two vectors of the result's component type." },
      { SpvOpVectorShuffle },
      NULL,
      check_shuffle },
    { { "vector-dynamic", "SPIR-V 3.3.12", "A component of a vector is named by an integer." },
      { SpvOpVectorExtractDynamic, SpvOpVectorInsertDynamic },
      NULL,
      check_dynamic },
    { { "copy-logical", "SPIR-V 3.3.12", "The types match logically." },
      { SpvOpCopyLogical },
      NULL,
      check_copy_logical },
};
const CheckFamily check_core_composites = { rows, COUNT_OF(rows) };
