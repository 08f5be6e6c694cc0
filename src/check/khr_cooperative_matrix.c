/* SPDX-License-Identifier: MIT
 *
 * SPV_KHR_cooperative_matrix: types, loads and stores, multiply-adds, and what else may be done
 * with a matrix. Sizes that specialisation decides count with their current values, but for 0, by
 * which a module says that it wants to be told.
 */
#include "check/internal.h"

static const char section[] = "SPV_KHR_cooperative_matrix";

/* ---- declarations ---------------------------------------------------------------------------- */

static void check_capability(Checker *c, SpvInst *i)
{
    want_capability(c, i, SpvCapabilityCooperativeMatrixKHR);
}

static void check_extension(Checker *c, SpvInst *i)
{
    want_extension(c, i, SpvCapabilityCooperativeMatrixKHR, EXTENSION_COOPMAT);
}

/* ---- types ----------------------------------------------------------------------------------- */

static void check_type(Checker *c, SpvInst *i)
{
    const SpvType *t = spv_type(c->m, i->id);
    uint64_t value[4] = { 0 };
    static const char *const what[] = { "scope", "number of rows", "number of columns", "use" };
    if (!t || !t->element || (t->element->kind != SPV_INT && t->element->kind != SPV_FLOAT) ||
        spv_is_microscaling(t->element)) {
        broken(c, i, "the components are %s", type_name(c, t ? t->element : NULL));
        return;
    }
    for (uint32_t k = 0; k < 4; k++) {
        const SpvType *x = want_value(c, i, k + 1);
        if (!x)
            return;
        if (x->kind != SPV_INT || x->bits != 32 ||
            !spv_constant(c->m, spv_operand(i, k + 1), &value[k])) {
            broken(c, i, "the %s is not a 32-bit integer constant", what[k]);
            return;
        }
    }
    if (value[0] != SpvScopeSubgroup && value[0] != SpvScopeWorkgroup)
        broken(c, i, "scope %llu: matrices are of a subgroup or a workgroup",
               (unsigned long long)value[0]);
    for (uint32_t k = 1; k < 3; k++)
        if (value[k] ? value[k] > SPV_MATRIX_MOST
                     : !spv_is_spec_constant(c->m, spv_operand(i, k + 1)))
            broken(c, i, "the %s is %llu, not 1 to %u", what[k], (unsigned long long)value[k],
                   (uint32_t)SPV_MATRIX_MOST);
    if (value[3] > SpvCooperativeMatrixUseMatrixAccumulatorKHR)
        broken(c, i, "use %llu is none of A, B and accumulator", (unsigned long long)value[3]);
}

static void check_storage(Checker *c, SpvInst *i)
{
    const SpvType *p = result_type(c, i);
    uint32_t storage = spv_operand(i, 0);
    if (storage != SpvStorageClassFunction && storage != SpvStorageClassPrivate && p &&
        p->kind == SPV_POINTER && holds(c, p->element, &c->holds_matrix, is_matrix))
        broken(c, i, "a cooperative matrix in memory other than Function or Private");
}

static void check_length(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *t = spv_type(c->m, spv_operand(i, 0));
    if (!is_matrix(t))
        broken(c, i, "the length of %s", type_name(c, t));
    if (!r || r->kind != SPV_INT || r->bits != 32 || r->is_signed)
        broken(c, i, "the length is %s, not u32", type_name(c, r));
}

/* ---- load and store -------------------------------------------------------------------------- */

static void check_transfer_matrix(Checker *c, SpvInst *i)
{
    bool store = i->op == SpvOpCooperativeMatrixStoreKHR;
    const SpvType *t = store ? want_value(c, i, 1) : result_type(c, i);
    if (t && !is_matrix(t))
        broken(c, i, "%s is %s, not a cooperative matrix", store ? "the object" : "the result",
               type_name(c, t));
}

bool may_be_in_array(Checker *c, SpvId pointer)
{
    const SpvInst *chain = spv_def(c->m, pointer);
    for (uint32_t k = 0; chain && chain->op == SpvOpCopyObject && k < 64; k++)
        chain = spv_def(c->m, spv_operand(chain, 0));
    if (!chain || (chain->op != SpvOpAccessChain && chain->op != SpvOpInBoundsAccessChain))
        return chain && chain->op != SpvOpVariable;
    const SpvType *base = operand_type(c, chain, 0), *t = base ? base->element : NULL;
    for (uint32_t k = 1; t && k + 1 < spv_n_operands(chain); k++) {
        uint64_t n = 0;
        spv_constant(c->m, spv_operand(chain, k), &n);
        t = t->kind == SPV_STRUCT ? (n < t->count ? t->members[n] : NULL) : t->element;
    }
    return !t || t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY;
}

static void check_transfer_array(Checker *c, SpvInst *i)
{
    if (has_capability(c, SpvCapabilityShader) && operand_type(c, i, 0) &&
        !may_be_in_array(c, spv_operand(i, 0)))
        broken(c, i, "the pointer does not lead into an array");
}

static void check_transfer_pointer(Checker *c, SpvInst *i)
{
    const SpvType *p = want_value(c, i, 0);
    bool store = i->op == SpvOpCooperativeMatrixStoreKHR;
    if (!p)
        return;
    if (p->kind != SPV_POINTER || !p->element || !is_numeric(p->element)) {
        broken(c, i, "the pointer is not to a scalar or vector of numbers");
        return;
    }
    switch (p->storage) {
    case SpvStorageClassWorkgroup:
    case SpvStorageClassStorageBuffer:
    case SpvStorageClassPhysicalStorageBuffer:
    case SpvStorageClassCrossWorkgroup:
    case SpvStorageClassGeneric: break;
    case SpvStorageClassUniform:
    case SpvStorageClassUniformConstant:
    case SpvStorageClassPushConstant:
        if (!store)
            break;
        if (p->storage == SpvStorageClassUniform)
            break; /* a buffer in the way of SPIR-V 1.0 */
        broken(c, i, "a matrix is stored to read-only memory");
        break;
    default: broken(c, i, "matrices move to and from memory that invocations share"); break;
    }
}

static void check_layout(Checker *c, SpvInst *i)
{
    uint32_t at = i->op == SpvOpCooperativeMatrixStoreKHR ? 2 : 1;
    const SpvType *t = want_value(c, i, at);
    uint64_t layout;
    if (!t)
        return;
    if (t->kind != SPV_INT || t->bits != 32 || !spv_constant(c->m, spv_operand(i, at), &layout))
        broken(c, i, "the memory layout is not a 32-bit integer constant");
    else if (layout > SpvCooperativeMatrixLayoutColumnBlockedInterleavedARM)
        broken(c, i, "memory layout %llu", (unsigned long long)layout);
}

static void check_stride(Checker *c, SpvInst *i)
{
    uint32_t at = i->op == SpvOpCooperativeMatrixStoreKHR ? 3 : 2;
    uint64_t layout, stride;
    if (!spv_constant(c->m, spv_operand(i, at - 1), &layout))
        return;
    if (spv_n_operands(i) <= at) {
        if (layout <= SpvCooperativeMatrixLayoutColumnMajorKHR)
            broken(c, i, "row- and column-major layouts need a stride");
        return;
    }
    const SpvType *t = want_value(c, i, at);
    if (t && t->kind != SPV_INT)
        broken(c, i, "the stride is %s, not a scalar integer", type_name(c, t));
    else if (t && i->op == SpvOpCooperativeMatrixStoreKHR &&
             !spv_is_spec_constant(c->m, spv_operand(i, at)) &&
             spv_constant(c->m, spv_operand(i, at), &stride) && !stride)
        broken(c, i, "a matrix is stored with stride 0");
}

static void check_memory_operand(Checker *c, SpvInst *i)
{
    bool store = i->op == SpvOpCooperativeMatrixStoreKHR;
    uint32_t at = store ? 4 : 3;
    if (spv_n_operands(i) <= at)
        return;
    uint32_t bad =
        store ? SpvMemoryAccessMakePointerVisibleMask : SpvMemoryAccessMakePointerAvailableMask;
    if (spv_operand(i, at) & bad)
        broken(c, i, store ? "MakePointerVisible on a store" : "MakePointerAvailable on a load");
}

/* ---- multiply-add ---------------------------------------------------------------------------- */

typedef struct Operands {
    const SpvType *a, *b, *c, *r;
} Operands;

/* False after reporting, or where another rule reports. */
static bool operands(Checker *c, SpvInst *i, Operands *o)
{
    *o = (Operands){ operand_type(c, i, 0), operand_type(c, i, 1), operand_type(c, i, 2),
                     result_type(c, i) };
    return is_matrix(o->a) && is_matrix(o->b) && is_matrix(o->c) && is_matrix(o->r);
}

static void check_muladd_types(Checker *c, SpvInst *i)
{
    Operands o;
    static const char *const names[] = { "A", "B", "C" };
    if (operands(c, i, &o))
        return;
    for (uint32_t k = 0; k < 3; k++) {
        const SpvType *t = want_value(c, i, k);
        if (t && !is_matrix(t))
            broken(c, i, "%s is %s, not a cooperative matrix", names[k], type_name(c, t));
    }
    if (!is_matrix(o.r))
        broken(c, i, "the result is %s, not a cooperative matrix", type_name(c, o.r));
}

static void check_muladd_use(Checker *c, SpvInst *i)
{
    Operands o;
    if (!operands(c, i, &o))
        return;
    const SpvType *t[4] = { o.a, o.b, o.c, o.r };
    static const char *const names[] = { "A", "B", "C", "the result" };
    static const uint32_t want[] = { SpvCooperativeMatrixUseMatrixAKHR,
                                     SpvCooperativeMatrixUseMatrixBKHR,
                                     SpvCooperativeMatrixUseMatrixAccumulatorKHR,
                                     SpvCooperativeMatrixUseMatrixAccumulatorKHR };
    for (uint32_t k = 0; k < 4; k++)
        if (t[k]->use != want[k])
            broken(c, i, "%s has use %s, not %s", names[k], use_name(t[k]->use), use_name(want[k]));
}

static void check_muladd_shape(Checker *c, SpvInst *i)
{
    Operands o;
    if (!operands(c, i, &o))
        return;
    if (!o.a->count_known || !o.b->count_known || !o.c->count_known || !o.r->count_known)
        return; /* until specialisation has decided it */
    if (o.a->rows != o.r->rows || o.c->rows != o.r->rows || o.b->cols != o.r->cols ||
        o.c->cols != o.r->cols || o.a->cols != o.b->rows)
        broken(c, i, "A is %ux%u, B %ux%u, C %ux%u, the result %ux%u", o.a->rows, o.a->cols,
               o.b->rows, o.b->cols, o.c->rows, o.c->cols, o.r->rows, o.r->cols);
}

static void check_muladd_scope(Checker *c, SpvInst *i)
{
    Operands o;
    if (operands(c, i, &o) &&
        (o.a->scope != o.r->scope || o.b->scope != o.r->scope || o.c->scope != o.r->scope))
        broken(c, i, "matrices of different scopes");
}

static void check_muladd_components(Checker *c, SpvInst *i)
{
    Operands o;
    if (!operands(c, i, &o))
        return;
    SpvKind kind = o.r->element->kind;
    if (o.a->element->kind != kind || o.b->element->kind != kind || o.c->element->kind != kind) {
        broken(c, i, "%s by %s plus %s to %s: integers and floats do not mix",
               type_name(c, o.a->element), type_name(c, o.b->element), type_name(c, o.c->element),
               type_name(c, o.r->element));
        return;
    }
    uint32_t widest = MAX(o.a->element->bits, o.b->element->bits);
    if (kind == SPV_INT && (o.r->element->bits < widest || o.c->element->bits > o.r->element->bits))
        broken(c, i, "the result's %s is narrower than what is added up",
               type_name(c, o.r->element));
}

/* Said of floats it means nothing, so that drivers take it: no reason to refuse a module. */
static void check_muladd_signs(Checker *c, SpvInst *i)
{
    Operands o;
    uint32_t given = spv_n_operands(i) > 3 ? spv_operand(i, 3) : 0;
    if (!operands(c, i, &o))
        return;
    const SpvType *t[4] = { o.a, o.b, o.c, o.r };
    static const char *const names[] = { "A", "B", "C", "the result" };
    for (uint32_t k = 0; k < 4; k++)
        if ((given >> k & 1) && t[k]->element->kind != SPV_INT)
            doubtful(c, i, "%s is said to be signed and has components of %s", names[k],
                     type_name(c, t[k]->element));
}

static void check_muladd_saturation(Checker *c, SpvInst *i)
{
    Operands o;
    uint32_t given = spv_n_operands(i) > 3 ? spv_operand(i, 3) : 0;
    if (operands(c, i, &o) && (given & SpvCooperativeMatrixOperandsSaturatingAccumulationKHRMask) &&
        o.r->element->kind != SPV_INT)
        broken(c, i, "saturating accumulation of %s", type_name(c, o.r->element));
}

/* ---- other instructions ---------------------------------------------------------------------- */

static void check_construct(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    if (!is_matrix(r))
        return;
    const SpvType *t = spv_n_operands(i) ? want_value(c, i, 0) : NULL;
    if (spv_n_operands(i) != 1)
        broken(c, i, "%u constituents for a cooperative matrix, which takes one",
               spv_n_operands(i));
    else if (t && !same_type(t, r->element))
        broken(c, i, "the constituent is %s, the components are %s", type_name(c, t),
               type_name(c, r->element));
}

/* What may take or give a matrix; anything else that has one among its operands is wrong. */
static bool may_have_matrix(uint16_t op)
{
    const SpvOpInfo *info = spv_op_info(op);
    if (info && info->flags & SPV_OPF_MATRICES)
        return true;
    switch (op) {
    case SpvOpCooperativeMatrixLoadKHR:
    case SpvOpCooperativeMatrixStoreKHR:
    case SpvOpCooperativeMatrixMulAddKHR:
    case SpvOpCooperativeMatrixLengthKHR:
    case SpvOpLoad:
    case SpvOpStore:
    case SpvOpCopyMemory:
    case SpvOpVariable:
    case SpvOpPhi:
    case SpvOpSelect:
    case SpvOpFunctionCall:
    case SpvOpFunctionParameter:
    case SpvOpReturnValue:
    case SpvOpCopyObject:
    case SpvOpUndef:
    case SpvOpConstantNull:
    case SpvOpConstantComposite:
    case SpvOpSpecConstantComposite:
    case SpvOpConstantCompositeReplicateEXT:
    case SpvOpSpecConstantCompositeReplicateEXT:
    case SpvOpCompositeConstruct:
    case SpvOpCompositeConstructReplicateEXT:
    case SpvOpCompositeExtract:
    case SpvOpCompositeInsert:
    case SpvOpCopyLogical:
    case SpvOpExtInst:
    case SpvOpSpecConstantOp:
    case SpvOpFunction: return true;
    default: {
        const char *name = spv_op_name(op); /* other extensions have their own rules */
        return strstr(name, "CooperativeMatrix") || strstr(name, "CoopMat") ||
               strstr(name, "QCOM") || strstr(name, "CooperativeVector");
    }
    }
}

static bool any_value(uint16_t op)
{
    const SpvOpInfo *o = spv_op_info(op);
    return o && !(o->flags & (SPV_OPF_DEBUG | SPV_OPF_ANNOTATION | SPV_OPF_TYPE)) &&
           !may_have_matrix(op);
}

static void check_allowed(Checker *c, SpvInst *i)
{
    bool has = is_matrix(result_type(c, i));
    uint16_t at[32];
    uint32_t n = MIN(spv_id_operands(i, at, COUNT_OF(at)), (uint32_t)COUNT_OF(at));
    for (uint32_t k = 0; k < n && !has; k++) {
        const SpvInst *def = spv_def(c->m, i->words[at[k]]);
        has = def && def->type && is_matrix(spv_type(c->m, def->type));
    }
    if (has)
        broken(c, i, "%s does not work on cooperative matrices", spv_op_name(i->op));
}

#define TRANSFERS { SpvOpCooperativeMatrixLoadKHR, SpvOpCooperativeMatrixStoreKHR }
#define MULADD    { SpvOpCooperativeMatrixMulAddKHR }
static const CheckRow rows[] = {
    { { "coopmat-capability", section, "Cooperative matrices need their capability." },
      { SpvOpTypeCooperativeMatrixKHR, SpvOpCooperativeMatrixLengthKHR,
        SpvOpCooperativeMatrixLoadKHR, SpvOpCooperativeMatrixStoreKHR,
        SpvOpCooperativeMatrixMulAddKHR },
      NULL,
      check_capability },
    { { "coopmat-extension", section, "The capability comes with the extension." },
      { SpvOpCapability },
      NULL,
      check_extension },
    { { "coopmat-type", section,
        "Components are numbers; scope, rows, columns and use are 32-bit constants that name a "
        "group, a size and a use." },
      { SpvOpTypeCooperativeMatrixKHR },
      NULL,
      check_type },
    { { "coopmat-storage", section,
        "Matrices are variables of storage class Function or Private only." },
      { SpvOpVariable },
      NULL,
      check_storage },
    { { "coopmat-length", section, "The length is of a cooperative matrix type and u32." },
      { SpvOpCooperativeMatrixLengthKHR },
      NULL,
      check_length },
    { { "coopmat-transfer-matrix", section, "What is loaded or stored is a cooperative matrix." },
      TRANSFERS,
      NULL,
      check_transfer_matrix },
    { { "coopmat-transfer-pointer", section,
        "The pointer leads to scalars or vectors in memory that invocations share." },
      TRANSFERS,
      NULL,
      check_transfer_pointer },
    { { "coopmat-transfer-array", section, "In a shader the pointer leads into an array." },
      TRANSFERS,
      NULL,
      check_transfer_array },
    { { "coopmat-layout", section, "The memory layout is a constant that names one." },
      TRANSFERS,
      NULL,
      check_layout },
    { { "coopmat-stride", section,
        "Row- and column-major layouts have a stride, a scalar integer, not 0 for stores." },
      TRANSFERS,
      NULL,
      check_stride },
    { { "coopmat-memory-operand", section,
        "Loads are not made available, stores not made visible." },
      TRANSFERS,
      NULL,
      check_memory_operand },
    { { "coopmat-muladd-types", section, "A, B, C and the result are cooperative matrices." },
      MULADD,
      NULL,
      check_muladd_types },
    { { "coopmat-muladd-use", section, "A has use A, B use B, C and the result are accumulators." },
      MULADD,
      NULL,
      check_muladd_use },
    { { "coopmat-muladd-shape", section, "A is MxK, B KxN, C and the result MxN." },
      MULADD,
      NULL,
      check_muladd_shape },
    { { "coopmat-muladd-scope", section, "A, B, C and the result have one scope." },
      MULADD,
      NULL,
      check_muladd_scope },
    { { "coopmat-muladd-components", section,
        "Components are all integers or all floats, the result's wide enough." },
      MULADD,
      NULL,
      check_muladd_components },
    { { "coopmat-muladd-signs", section, "Only matrices of integers are said to be signed." },
      MULADD,
      NULL,
      check_muladd_signs },
    { { "coopmat-muladd-saturation", section, "Only integers saturate." },
      MULADD,
      NULL,
      check_muladd_saturation },
    { { "coopmat-construct", section, "A matrix is made from one scalar of its component type." },
      { SpvOpCompositeConstruct, SpvOpConstantComposite, SpvOpSpecConstantComposite,
        SpvOpCompositeConstructReplicateEXT, SpvOpConstantCompositeReplicateEXT,
        SpvOpSpecConstantCompositeReplicateEXT },
      NULL,
      check_construct },
    { { "coopmat-allowed", section,
        "Only the instructions that the extension names work on matrices." },
      { 0 },
      any_value,
      check_allowed },
};
const CheckFamily check_khr_cooperative_matrix = { rows, COUNT_OF(rows) };
