/* SPDX-License-Identifier: MIT
 *
 * What an instruction, or an enumerant that it names, is enabled by: one of the capabilities that
 * the grammar lists, declared or implied by one that is (SPIR-V 2.16.1, 3.2.31).
 */
#include "check/internal.h"

static const char *names(Checker *c, const uint16_t *any, uint32_t n)
{
    Str s = { 0 };
    for (uint32_t k = 0; k < n; k++)
        str_printf(c->arena, &s, "%s%s", k ? " or " : "",
                   spv_enum_name(SPV_OPERAND_Capability, any[k]));
    return s.data;
}

/* Members of gl_PerVertex that a shader need not use (SPIR-V 3.2.21); the hint that has a rule of
 * its own (wait-queues-capability); what an instruction does for a group, which is enabled itself.
 */
static bool may_be_named(Checker *c, uint8_t kind, uint32_t value)
{
    switch (kind) {
    case SPV_OPERAND_BuiltIn:
        return value == SpvBuiltInPointSize || value == SpvBuiltInClipDistance ||
               value == SpvBuiltInCullDistance;
    case SPV_OPERAND_LoopControl: return value == SpvLoopControlMultipleWaitQueuesQCOMMask;
    case SPV_OPERAND_GroupOperation:
        return value <= SpvGroupOperationExclusiveScan &&
               (has_capability(c, SpvCapabilityGroups) ||
                has_capability(c, SpvCapabilityGroupUniformArithmeticKHR));
    default: return false;
    }
}

/* SPV_AMD_shader_ballot has them without Groups. */
static bool is_of_ballot(Checker *c, uint16_t op)
{
    return op >= SpvOpGroupIAddNonUniformAMD && op <= SpvOpGroupSMaxNonUniformAMD &&
           has_extension(c, "SPV_AMD_shader_ballot");
}

static void check_enumerant(Checker *c, const SpvInst *i, uint8_t kind, uint32_t value)
{
    const SpvEnumerant *e = spv_enumerant(kind, value);
    if (e && !may_be_named(c, kind, value) && !has_any(c, e->capabilities, e->n_capabilities))
        broken(c, i, "%s needs %s", e->name, names(c, e->capabilities, e->n_capabilities));
}

static void check_operand(Checker *c, const SpvInst *i, const SpvOperand *o)
{
    uint32_t value = i->words[o->word];
    if (!spv_kind_is_mask(o->kind)) {
        check_enumerant(c, i, o->kind, value);
        return;
    }
    for (uint32_t left = value; left; left &= left - 1)
        check_enumerant(c, i, o->kind, left & -left);
}

static bool has_needs(uint16_t op)
{
    const SpvOpInfo *info = spv_op_info(op);
    bool needs = info && info->n_capabilities;
    for (uint32_t k = 0; info && k < info->n_operands; k++) {
        uint32_t n = 0;
        const SpvEnumerant *e = spv_enumerants(info->operands[k].kind, &n);
        for (uint32_t v = 0; v < n; v++)
            needs |= e[v].n_capabilities > 0;
    }
    return needs && op != SpvOpCapability;
}

static void check_needs(Checker *c, SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    SpvOperand o;
    if (is_of_ballot(c, i->op))
        return;
    if (!has_any(c, info->capabilities, info->n_capabilities))
        broken(c, i, "the instruction needs %s",
               names(c, info->capabilities, info->n_capabilities));
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        if (!o.is_id)
            check_operand(c, i, &o);
}

static const CheckRow rows[] = {
    { { "capability", "SPIR-V 2.16.1, 3.2.31",
        "A capability that enables them is declared for instructions and what they name." },
      { 0 },
      has_needs,
      check_needs },
};
const CheckFamily check_core_capabilities = { rows, COUNT_OF(rows) };
