/* SPDX-License-Identifier: MIT
 *
 * Types and constants as they are declared: no type twice, literals that fill their words, what
 * constants are made of, what specialisation may compute (SPIR-V 2.2.1, 2.16.1, 3.3.6, 3.3.7).
 */
#include "check/internal.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* Aggregates and pointers may be declared again: their decorations may differ. */
static bool is_unique(uint16_t op)
{
    const SpvOpInfo *o = spv_op_info(op);
    return o && o->flags & SPV_OPF_TYPE && op != SpvOpTypeStruct && op != SpvOpTypeArray &&
           op != SpvOpTypeRuntimeArray && op != SpvOpTypePointer &&
           op != SpvOpTypeUntypedPointerKHR && op != SpvOpTypeNodePayloadArrayAMDX;
}

static bool same_words(const SpvInst *a, const SpvInst *b)
{
    return a->words[0] == b->words[0] &&
           !memcmp(a->words + 2, b->words + 2, (a->n_words - 2u) * sizeof(uint32_t));
}

/* Declarations with the same hash are found one after the other. */
static void check_unique(Checker *c, SpvInst *i)
{
    uint64_t hash = hash_bytes(i->words + 2, (i->n_words - 2u) * sizeof(uint32_t), i->words[0]);
    uint64_t other;
    if (has_extension(c, "SPV_VALIDATOR_ignore_type_decl_unique"))
        return;
    for (; map_get(&c->declared, hash, &other); hash++)
        if (same_words(i, spv_def(c->m, (SpvId)other))) {
            broken(c, i, "the same type as %%%u", (SpvId)other);
            return;
        }
    map_put(c->arena, &c->declared, hash, i->id);
}

static void check_forward(Checker *c, SpvInst *i)
{
    const SpvInst *p = spv_def(c->m, spv_operand(i, 0));
    const SpvInst *to = p->op == SpvOpTypePointer ? spv_def(c->m, spv_operand(p, 1)) : NULL;
    if (!to)
        broken(c, i, "%%%u is no pointer type", spv_operand(i, 0));
    else if (to->op != SpvOpTypeStruct)
        broken(c, i, "%%%u points to no structure", p->id);
    else if (is_shader(c) && spv_operand(i, 1) != SpvStorageClassPhysicalStorageBuffer)
        broken(c, i, "a forward pointer that is no address of a buffer");
}

/* ---- literals -------------------------------------------------------------------------------- */

static void check_literal(Checker *c, SpvInst *i)
{
    const SpvType *t = result_type(c, i);
    if (!t || (t->kind != SPV_INT && t->kind != SPV_FLOAT) || !spv_n_operands(i) || t->bits >= 32)
        return;
    uint32_t word = spv_operand(i, 0), high = UINT32_MAX << t->bits;
    bool negative = t->kind == SPV_INT && t->is_signed && word >> (t->bits - 1) & 1;
    if ((word & high) != (negative ? high : 0))
        broken(c, i, "the word 0x%x is no %s: its high bits", word, type_name(c, t));
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Kernels' addresses are put together from what is not settled yet. */
static void check_settled(Checker *c, SpvInst *i)
{
    for (uint32_t k = 0; !has_capability(c, SpvCapabilityKernel) && k < spv_n_operands(i); k++)
        if (spv_is_spec_constant(c->m, spv_operand(i, k)))
            broken(c, i, "constituent %%%u may be specialised", spv_operand(i, k));
}

static void check_null(Checker *c, SpvInst *i)
{
    const SpvType *t = result_type(c, i);
    if (t && t->kind == SPV_POINTER && t->storage == SpvStorageClassPhysicalStorageBuffer)
        broken(c, i, "there is no null of %s to PhysicalStorageBuffer", type_name(c, t));
}

/* What only kernels compute when they are specialised (OpSpecConstantOp). */
/* clang-format off */
static const uint16_t of_kernels[] = {
    SpvOpConvertFToS, SpvOpConvertSToF, SpvOpConvertFToU, SpvOpConvertUToF, SpvOpConvertPtrToU,
    SpvOpConvertUToPtr, SpvOpGenericCastToPtr, SpvOpPtrCastToGeneric, SpvOpBitcast, SpvOpFNegate,
    SpvOpFAdd, SpvOpFSub, SpvOpFMul, SpvOpFDiv, SpvOpFRem, SpvOpFMod, SpvOpAccessChain,
    SpvOpInBoundsAccessChain, SpvOpPtrAccessChain, SpvOpInBoundsPtrAccessChain,
    SpvOpUntypedAccessChainKHR, SpvOpUntypedInBoundsAccessChainKHR, SpvOpUntypedPtrAccessChainKHR,
    SpvOpUntypedInBoundsPtrAccessChainKHR,
};
/* clang-format on */

static void check_operation(Checker *c, SpvInst *i)
{
    uint16_t op = (uint16_t)spv_operand(i, 0);
    bool kernel = false;
    for (uint32_t k = 0; k < COUNT_OF(of_kernels); k++)
        kernel |= op == of_kernels[k];
    kernel |= op == SpvOpUConvert && c->m->version < 0x10400 &&
              !has_extension(c, "SPV_AMD_gpu_shader_int16");
    if (kernel && !has_capability(c, SpvCapabilityKernel))
        broken(c, i, "%s is for kernels to specialise", spv_op_name(op));
    if (op == SpvOpQuantizeToF16 && !has_capability(c, SpvCapabilityShader))
        broken(c, i, "%s is for shaders to specialise", spv_op_name(op));
}

/* clang-format off */
static const CheckRow rows[] = {
    { { "type-unique", "SPIR-V 2.8",
        "A type that is no aggregate and no pointer is declared once." },
      { 0 },
      is_unique,
      check_unique },
    { { "forward-pointer", "SPIR-V 3.3.6", "A forward pointer leads to a structure." },
      { SpvOpTypeForwardPointer },
      NULL,
      check_forward },
    { { "literal-bits", "SPIR-V 2.2.1",
        "The bits of a word above a narrow literal are zeros, or its sign." },
      { SpvOpConstant, SpvOpSpecConstant },
      NULL,
      check_literal },
    { { "constant-settled", "SPIR-V 3.3.7",
        "A composite constant is made of constants that are not specialised." },
      { SpvOpConstantComposite, SpvOpConstantCompositeReplicateEXT },
      NULL,
      check_settled },
    { { "null-address", "SPV_KHR_physical_storage_buffer", "No address of a buffer is null." },
      { SpvOpConstantNull },
      NULL,
      check_null },
    { { "spec-operation", "SPIR-V 3.3.7, OpSpecConstantOp",
        "What specialisation computes is among what shaders, or kernels, may have computed." },
      { SpvOpSpecConstantOp },
      NULL,
      check_operation },
};
/* clang-format on */
const CheckFamily check_core_constants = { rows, COUNT_OF(rows) };
