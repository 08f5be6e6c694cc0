/* SPDX-License-Identifier: MIT
 *
 * Floating-point types with an encoding: which there are, and where they may be used
 * (SPV_KHR_bfloat16, SPV_EXT_float8, SPV_EXT_ocp_microscaling_types: memory, conversions,
 * composites, selections and calls; no arithmetic). Vulkan only widens those of the OCP (VUIDs
 * 12465 to 12467).
 */
#include "check/internal.h"

static void check_float_type(Checker *c, SpvInst *i)
{
    const SpvType *t = spv_type(c->m, i->id);
    if (t && t->format == SPV_NO_FLOAT)
        broken(c, i, "there are no floats of %u bits%s", spv_operand(i, 0),
               spv_n_operands(i) > 1 ? " with this encoding" : " without an encoding");
}

/* ---- where they may be used ------------------------------------------------------------------ */

static bool is_relation(uint16_t op)
{
    return (op >= SpvOpIsNan && op <= SpvOpUnordered) ||
           (op >= SpvOpFOrdEqual && op <= SpvOpFUnordGreaterThanEqual);
}

static bool is_arithmetic(uint16_t op)
{
    return (op >= SpvOpSNegate && op <= SpvOpSMulExtended) || is_relation(op) ||
           op == SpvOpFmaKHR || op == SpvOpExtInst || op == SpvOpArithmeticFenceEXT;
}

/* Instructions that compute with numbers, or hand them to other invocations. */
static bool computes(uint16_t op)
{
    const SpvOpInfo *o = spv_op_info(op);
    return is_arithmetic(op) || (o && o->flags & (SPV_OPF_ATOMIC | SPV_OPF_GROUP));
}

/* Floats of another encoding than IEEE's; of bf16 there are dot products. */
static bool is_encoded(const SpvInst *i, const SpvType *t)
{
    const SpvType *s = t ? component(t) : NULL;
    if (!s || s->kind != SPV_FLOAT || s->format == SPV_IEEE)
        return false;
    return s->format != SPV_BF16 || i->op != SpvOpDot;
}

/* The operand of a group's instruction that is asked about: its value, where that is not of the
 * result's type. */
static uint32_t value_of_group(uint16_t op)
{
    return op == SpvOpGroupNonUniformAllEqual       ? 1
           : op == SpvOpGroupNonUniformPartitionEXT ? 0
                                                    : UINT32_MAX;
}

/* Devices here compute with matrices of OFP8 and bf16, which no extension allows. */
static void check_use(Checker *c, SpvInst *i)
{
    const SpvType *t = result_type(c, i);
    bool group = spv_op_info(i->op)->flags & SPV_OPF_GROUP;
    uint32_t k = i->op == SpvOpExtInst ? 2 : 0, n = group ? 0 : spv_n_operands(i);
    if (spv_is_nonsemantic(i))
        return;
    if (group && !is_encoded(i, t))
        t = operand_type(c, i, value_of_group(i->op));
    for (; !is_encoded(i, t) && k < n; k++)
        t = operand_type(c, i, k);
    if (!is_encoded(i, t))
        return;
    bool known = is_matrix(t) && !spv_is_microscaling(component(t));
    if (known && is_arithmetic(i->op))
        doubtful(c, i, "%s of a matrix of %s, which heddle computes and no other driver need",
                 spv_op_name(i->op), type_name(c, component(t)));
    else if (!known)
        broken(c, i, "%s has no meaning for %s", spv_op_name(i->op), type_name(c, t));
}

/* ---- conversions ----------------------------------------------------------------------------- */

static void check_widening(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = operand_type(c, i, 0);
    bool from = a && spv_is_microscaling(component(a)), to = r && spv_is_microscaling(component(r));
    if (to || (from && i->op != SpvOpFConvert))
        broken(c, i, "%s from %s to %s: these types are only widened, by OpFConvert",
               spv_op_name(i->op), type_name(c, a), type_name(c, r));
}

static void check_bitcast_extract(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *a = want_value(c, i, 0), *offset = want_value(c, i, 1);
    if (a && offset &&
        !(is_numeric(a) && is_numeric(r) && same_shape(a, r) &&
          component(a)->bits > component(r)->bits && offset->kind == SPV_INT))
        broken(c, i, "extracts %s from %s at %s", type_name(c, r), type_name(c, a),
               type_name(c, offset));
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool is_sub_byte(const SpvType *t)
{
    t = component(t);
    return t->kind == SPV_FLOAT && t->bits < 8;
}

static bool makes_value(uint16_t op)
{
    const SpvOpInfo *o = spv_op_info(op);
    return o && o->has_type && o->has_result;
}

static void check_sub_byte(Checker *c, SpvInst *i)
{
    const SpvType *p = result_type(c, i);
    if (p && p->kind == SPV_POINTER && p->storage != SpvStorageClassFunction &&
        p->storage != SpvStorageClassPrivate &&
        holds(c, p->element, &c->holds_sub_byte, is_sub_byte))
        broken(c, i, "floats of 4 or 6 bits in memory other than Function or Private");
}

static const CheckRow rows[] = {
    { { "float-type", "SPIR-V 3.3.6", "A float has a width, and an encoding of that width." },
      { SpvOpTypeFloat },
      NULL,
      check_float_type },
    { { "float-encoding",
        "SPV_KHR_bfloat16, SPV_EXT_float8, SPV_EXT_ocp_microscaling_types, 2.16.1",
        "bf16 and floats of 8 bits and less are moved, selected and converted, not computed "
        "with." },
      { 0 },
      computes,
      check_use },
    { { "float-widening", "VUID-StandaloneSpirv-OpFConvert-12466",
        "Microscaling types convert to larger floats; nothing converts to them." },
      { SpvOpConvertFToU, SpvOpConvertFToS, SpvOpConvertSToF, SpvOpConvertUToF, SpvOpFConvert },
      NULL,
      check_widening },
    { { "bitcast-extract", "SPV_EXT_ocp_microscaling_types",
        "Bits of numbers become as many narrower numbers; the offset is a scalar integer." },
      { SpvOpBitcastExtractEXT },
      NULL,
      check_bitcast_extract },
    { { "sub-byte-storage", "SPV_EXT_ocp_microscaling_types, 2.16.1",
        "Floats of 4 and 6 bits are variables of storage class Function or Private only." },
      { 0 },
      makes_value,
      check_sub_byte },
};
const CheckFamily check_core_floats = { rows, COUNT_OF(rows) };
