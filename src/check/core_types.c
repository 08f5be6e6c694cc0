/* SPDX-License-Identifier: MIT
 *
 * Declarations: constants of their types, limits that keep devices from absurd sizes, entry points
 * and their workgroups (SPIR-V 2.16, 2.17, 3.3.6, 3.3.7).
 */
#include "check/internal.h"

enum { MAX_WORKGROUP = 16384, MAX_MODULE_VARIABLE = 1 << 30 };

static void check_scalar_constant(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    bool boolean = i->op == SpvOpConstantTrue || i->op == SpvOpConstantFalse ||
                   i->op == SpvOpSpecConstantTrue || i->op == SpvOpSpecConstantFalse;
    if (!r || (boolean ? r->kind != SPV_BOOL : r->kind != SPV_INT && r->kind != SPV_FLOAT)) {
        broken(c, i, "%s makes %s", spv_op_name(i->op), type_name(c, r));
        return;
    }
    if (!boolean && spv_n_operands(i) != (r->bits > 32 ? 2u : 1u))
        broken(c, i, "the literal has %u words for %s", spv_n_operands(i), type_name(c, r));
}

/* Anything but void may be undefined. */
static void check_null(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    bool opaque = r && (r->kind == SPV_RUNTIME_ARRAY || r->kind == SPV_IMAGE ||
                        r->kind == SPV_SAMPLER || r->kind == SPV_SAMPLED_IMAGE);
    if (!r || r->kind == SPV_VOID || r->kind == SPV_FUNCTION ||
        (opaque && i->op == SpvOpConstantNull))
        broken(c, i, "there is no %s of %s", i->op == SpvOpConstantNull ? "null" : "value",
               type_name(c, r));
}

static bool makes_value(uint16_t op)
{
    const SpvOpInfo *o = spv_op_info(op);
    return o && o->has_type && o->has_result && op != SpvOpFunction;
}

static bool is_extended(const SpvInst *i)
{
    return i->op == SpvOpExtInst || i->op == SpvOpExtInstWithForwardRefsKHR;
}

/* A result type is a type, and only calls and extended instructions may give void. */
static void check_result(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    if (!r)
        broken(c, i, "%%%u is not a type", i->type);
    else if (r->kind == SPV_VOID && i->op != SpvOpFunctionCall && i->op != SpvOpUndef &&
             !is_extended(i))
        broken(c, i, "%s cannot give void", spv_op_name(i->op));
    else if (r->leaves > (1u << 20) && i->op != SpvOpUndef && i->op != SpvOpConstantNull)
        broken(c, i, "a value of %llu scalars is more than can be handled",
               (unsigned long long)r->leaves);
}

static void check_module_variable(Checker *c, SpvInst *i)
{
    const SpvType *p = result_type(c, i);
    if (p && p->kind == SPV_POINTER && p->element &&
        spv_operand(i, 0) != SpvStorageClassStorageBuffer &&
        spv_operand(i, 0) != SpvStorageClassUniform &&
        spv_type_size(p->element) > MAX_MODULE_VARIABLE)
        broken(c, i, "the variable takes %llu bytes",
               (unsigned long long)spv_type_size(p->element));
}

static void check_entry_point(Checker *c, SpvInst *i)
{
    uint32_t model = spv_operand(i, 0);
    const SpvInst *f = spv_def(c->m, spv_operand(i, 1));
    if (model != SpvExecutionModelGLCompute && model != SpvExecutionModelKernel)
        return;
    const SpvType *t = f && f->op == SpvOpFunction ? spv_type(c->m, spv_operand(f, 1)) : NULL;
    if (!t || !t->result || t->result->kind != SPV_VOID ||
        (model == SpvExecutionModelGLCompute && t->count)) {
        broken(c, i, "the entry point is not a function that gives nothing%s",
               model == SpvExecutionModelGLCompute ? " and takes nothing" : "");
        return;
    }
    SpvEntryPoint e;
    DiagSink quiet = { 0 };
    if (!spv_entry_point(c->m, spv_string(i, 2, NULL), &e, &quiet))
        return;
    uint64_t n = 1;
    bool some = e.local_size[0] || e.local_size[1] || e.local_size[2];
    for (uint32_t k = 0; k < 3; k++)
        n = e.local_size[k] > MAX_WORKGROUP ? UINT32_MAX : MIN(n * e.local_size[k], UINT32_MAX);
    if (some && !e.size_is_specialised && (!n || n > MAX_WORKGROUP))
        broken(c, i, "workgroups of %u x %u x %u invocations, of 1 to %u", e.local_size[0],
               e.local_size[1], e.local_size[2], (uint32_t)MAX_WORKGROUP);
}

static const CheckRow rows[] = {
    { { "result-type", "SPIR-V 2.16.1", "A result has a type, void only where nothing is given." },
      { 0 },
      makes_value,
      check_result },
    { { "scalar-constant", "SPIR-V 3.3.7",
        "Scalar constants are of booleans or numbers and as wide as their type." },
      { SpvOpConstantTrue, SpvOpConstantFalse, SpvOpConstant, SpvOpSpecConstantTrue,
        SpvOpSpecConstantFalse, SpvOpSpecConstant },
      NULL,
      check_scalar_constant },
    { { "null-constant", "SPIR-V 3.3.7",
        "Null and undefined values are of types that have values." },
      { SpvOpConstantNull, SpvOpUndef, SpvOpPoisonKHR },
      NULL,
      check_null },
    { { "variable-size", "SPIR-V 2.17", "Variables have a size that can be had." },
      { SpvOpVariable },
      NULL,
      check_module_variable },
    { { "entry-point", "SPIR-V 3.3.5",
        "A compute entry point gives nothing and has a workgroup of a size that can be run." },
      { SpvOpEntryPoint },
      NULL,
      check_entry_point },
};
const CheckFamily check_core_types = { rows, COUNT_OF(rows) };
