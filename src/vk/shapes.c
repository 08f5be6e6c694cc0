/* SPDX-License-Identifier: MIT
 *
 * Shapes of matrices: as a driver lists them, and as heddle does.
 */
#include "vk/facts.h"

/* clang-format off */
static const VkfComponent components[] = {
    { VK_COMPONENT_TYPE_FLOAT16_KHR, PROFILE_F16, HEDDLE_F16, 2 },
    { VK_COMPONENT_TYPE_FLOAT32_KHR, PROFILE_F32, HEDDLE_F32, 4 },
    { VK_COMPONENT_TYPE_FLOAT64_KHR, PROFILE_F64, HEDDLE_F64, 8 },
    { VK_COMPONENT_TYPE_BFLOAT16_KHR, PROFILE_BF16, HEDDLE_BF16, 2 },
    { VK_COMPONENT_TYPE_FLOAT8_E4M3_EXT, PROFILE_E4M3, HEDDLE_E4M3, 1 },
    { VK_COMPONENT_TYPE_FLOAT8_E5M2_EXT, PROFILE_E5M2, HEDDLE_E5M2, 1 },
    { VK_COMPONENT_TYPE_SINT8_KHR, PROFILE_S8, HEDDLE_S8, 1 },
    { VK_COMPONENT_TYPE_SINT16_KHR, PROFILE_S16, HEDDLE_S16, 2 },
    { VK_COMPONENT_TYPE_SINT32_KHR, PROFILE_S32, HEDDLE_S32, 4 },
    { VK_COMPONENT_TYPE_SINT64_KHR, PROFILE_S64, HEDDLE_S64, 8 },
    { VK_COMPONENT_TYPE_UINT8_KHR, PROFILE_U8, HEDDLE_U8, 1 },
    { VK_COMPONENT_TYPE_UINT16_KHR, PROFILE_U16, HEDDLE_U16, 2 },
    { VK_COMPONENT_TYPE_UINT32_KHR, PROFILE_U32, HEDDLE_U32, 4 },
    { VK_COMPONENT_TYPE_UINT64_KHR, PROFILE_U64, HEDDLE_U64, 8 },
};
/* clang-format on */

const VkfComponent *vkf_component(VkComponentTypeKHR t)
{
    for (size_t k = 0; k < COUNT_OF(components); k++)
        if (components[k].vulkan == t)
            return &components[k];
    return NULL;
}

bool vkf_take_shape(const VkCooperativeMatrixPropertiesKHR *p, LowerShape *to,
                    HeddleMatrixShape *shown)
{
    const VkfComponent *a = vkf_component(p->AType), *b = vkf_component(p->BType),
                       *c = vkf_component(p->CType), *r = vkf_component(p->ResultType);
    bool group = p->scope == VK_SCOPE_WORKGROUP_KHR;
    if (!a || !b || !c || !r || (p->scope != VK_SCOPE_SUBGROUP_KHR && !group))
        return false;
    *to = (LowerShape){ .a = a->profile,
                        .b = b->profile,
                        .c = c->profile,
                        .result = r->profile,
                        .m = p->MSize,
                        .n = p->NSize,
                        .k = p->KSize,
                        .scope = group ? SpvScopeWorkgroup : SpvScopeSubgroup,
                        .saturating = p->saturatingAccumulation };
    *shown = (HeddleMatrixShape){ .m = p->MSize,
                                  .n = p->NSize,
                                  .k = p->KSize,
                                  .a = a->heddle,
                                  .b = b->heddle,
                                  .c = c->heddle,
                                  .result = r->heddle,
                                  .saturating = p->saturatingAccumulation,
                                  .scope = group ? HEDDLE_SCOPE_WORKGROUP : HEDDLE_SCOPE_SUBGROUP };
    return true;
}

bool vkf_take_flexible(const VkCooperativeMatrixFlexibleDimensionsPropertiesNV *p, LowerShape *to,
                       HeddleFlexibleShape *shown)
{
    const VkCooperativeMatrixPropertiesKHR same = {
        .MSize = p->MGranularity,
        .NSize = p->NGranularity,
        .KSize = p->KGranularity,
        .AType = p->AType,
        .BType = p->BType,
        .CType = p->CType,
        .ResultType = p->ResultType,
        .saturatingAccumulation = p->saturatingAccumulation,
        .scope = p->scope,
    };
    HeddleMatrixShape s;
    if (!p->MGranularity || !p->NGranularity || !p->KGranularity || !vkf_take_shape(&same, to, &s))
        return false;
    to->flexible = true;
    to->invocations = p->scope == VK_SCOPE_WORKGROUP_KHR ? p->workgroupInvocations : 0;
    *shown = (HeddleFlexibleShape){ s.m, s.n,      s.k,          s.a,     s.b,
                                    s.c, s.result, s.saturating, s.scope, to->invocations };
    return true;
}

/* ---- what heddle lists ----------------------------------------------------------------------- */

VkComponentTypeKHR vkf_component_of(HeddleType t)
{
    for (size_t k = 0; k < COUNT_OF(components); k++)
        if (components[k].heddle == t)
            return components[k].vulkan;
    return VK_COMPONENT_TYPE_MAX_ENUM_KHR;
}

/* "Objects with a type that is or includes a floating-point type with the Float8E4M3EXT or
 * Float8E5M2EXT FP Encoding must only be used with the following instructions" (SPV_EXT_float8,
 * 2.16.11): no addition and no reduction is among them. A program takes a result that is listed for
 * one that it may add to others, so these are not listed as results; kernels may have them. */
static bool is_number(HeddleType result) { return result != HEDDLE_E4M3 && result != HEDDLE_E5M2; }

bool vkf_is_listed(const HeddleMatrixShape *s, bool large)
{
    bool small = s->m <= 32 && s->n <= 32;
    return s->scope == HEDDLE_SCOPE_SUBGROUP && (small || large) && is_number(s->result);
}

bool vkf_is_listed_flexible(const HeddleFlexibleShape *s) { return is_number(s->result); }

VkCooperativeMatrixPropertiesKHR vkf_khr(const HeddleMatrixShape *s)
{
    return (VkCooperativeMatrixPropertiesKHR){
        .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR,
        .MSize = s->m,
        .NSize = s->n,
        .KSize = s->k,
        .AType = vkf_component_of(s->a),
        .BType = vkf_component_of(s->b),
        .CType = vkf_component_of(s->c),
        .ResultType = vkf_component_of(s->result),
        .saturatingAccumulation = s->saturating,
        .scope = VK_SCOPE_SUBGROUP_KHR,
    };
}

VkCooperativeMatrixFlexibleDimensionsPropertiesNV vkf_flexible(const HeddleFlexibleShape *s)
{
    return (VkCooperativeMatrixFlexibleDimensionsPropertiesNV){
        .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV,
        .MGranularity = s->m,
        .NGranularity = s->n,
        .KGranularity = s->k,
        .AType = vkf_component_of(s->a),
        .BType = vkf_component_of(s->b),
        .CType = vkf_component_of(s->c),
        .ResultType = vkf_component_of(s->result),
        .saturatingAccumulation = s->saturating,
        .scope =
            s->scope == HEDDLE_SCOPE_WORKGROUP ? VK_SCOPE_WORKGROUP_KHR : VK_SCOPE_SUBGROUP_KHR,
        .workgroupInvocations = s->workgroup,
    };
}
