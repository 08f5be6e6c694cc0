/* SPDX-License-Identifier: MIT
 *
 * Types of built-in variables (Vulkan, "Built-In Variables"; OpenCL SPIR-V Environment, 2.9: there
 * ids and sizes are size_t, which compilers for small buffers take 32 bits for).
 */
#include "check/internal.h"

typedef struct Builtin {
    uint16_t builtin;
    uint8_t components;
    bool is_size; /* of 64 bits in kernels of OpenCL */
} Builtin;

static const Builtin builtins[] = {
    { SpvBuiltInNumWorkgroups, 3, true },
    { SpvBuiltInWorkgroupSize, 3, true },
    { SpvBuiltInWorkgroupId, 3, true },
    { SpvBuiltInLocalInvocationId, 3, true },
    { SpvBuiltInGlobalInvocationId, 3, true },
    { SpvBuiltInGlobalSize, 3, true },
    { SpvBuiltInEnqueuedWorkgroupSize, 3, true },
    { SpvBuiltInGlobalOffset, 3, true },
    { SpvBuiltInLocalInvocationIndex, 1, true },
    { SpvBuiltInGlobalLinearId, 1, true },
    { SpvBuiltInWorkDim, 1, false },
    { SpvBuiltInDeviceIndex, 1, false },
    { SpvBuiltInSubgroupSize, 1, false },
    { SpvBuiltInSubgroupMaxSize, 1, false },
    { SpvBuiltInNumSubgroups, 1, false },
    { SpvBuiltInNumEnqueuedSubgroups, 1, false },
    { SpvBuiltInSubgroupId, 1, false },
    { SpvBuiltInSubgroupLocalInvocationId, 1, false },
    { SpvBuiltInSubgroupEqMask, 4, false },
    { SpvBuiltInSubgroupGeMask, 4, false },
    { SpvBuiltInSubgroupGtMask, 4, false },
    { SpvBuiltInSubgroupLeMask, 4, false },
    { SpvBuiltInSubgroupLtMask, 4, false },
};

static bool fits(Checker *c, const Builtin *b, const SpvType *t)
{
    bool wide = b->is_size && !has_capability(c, SpvCapabilityShader);
    uint32_t bits = of_kind(t, SPV_INT) ? component(t)->bits : 0;
    return components(t) == b->components && (bits == 32 || (wide && bits == 64));
}

static bool note_named(void *user, SpvInst *i)
{
    Checker *c = user;
    uint16_t at[16];
    uint32_t n = MIN(spv_id_operands(i, at, COUNT_OF(at)), (uint32_t)COUNT_OF(at));
    c->has_entry |= i->op == SpvOpEntryPoint;
    for (uint32_t k = 0; i->block && k < n; k++)
        map_put(c->arena, &c->named, i->words[at[k]], 1);
    return true;
}

/* Whether an entry point can read a variable. What built-in variables are like, environments say
 * for entry points' interfaces: not for libraries, nor for what no function names. Vulkan's rules
 * are for all that is declared. */
static bool is_interface(Checker *c, const SpvInst *variable)
{
    uint64_t known;
    if (is_vulkan(c))
        return true;
    if (!c->named.len)
        spv_each_inst(c->m, note_named, c);
    return c->has_entry && map_get(&c->named, variable->id, &known);
}

/* A variable of storage class Input, or the constant that is the workgroup's size (what else may be
 * decorated, core_decorations.c says). */
static void check_builtin(Checker *c, SpvInst *i)
{
    const uint32_t *which = spv_decoration(c->m, i->id, -1, SpvDecorationBuiltIn, NULL);
    const SpvType *r = result_type(c, i), *t = r;
    bool variable = i->op == SpvOpVariable;
    for (uint32_t k = 0; which && r && k < COUNT_OF(builtins); k++) {
        if (builtins[k].builtin != *which)
            continue;
        const char *name = spv_enum_name(SPV_OPERAND_BuiltIn, *which);
        if (variable && spv_operand(i, 0) != SpvStorageClassInput)
            broken(c, i, "%s is no variable of storage class Input", name);
        if (variable)
            t = r->kind == SPV_POINTER ? r->element : NULL;
        if (t && !fits(c, &builtins[k], t) && (!variable || is_interface(c, i)))
            broken(c, i, "%s is %s", name, type_name(c, t));
    }
}

static const CheckRow rows[] = {
    { { "builtin", "Vulkan, Built-In Variables; OpenCL SPIR-V Environment, 2.9",
        "Built-in variables are read, and are integers, as many and as wide as their name says." },
      { SpvOpVariable, SpvOpConstantComposite, SpvOpSpecConstantComposite, SpvOpConstantNull,
        SpvOpConstant, SpvOpSpecConstant },
      NULL,
      check_builtin },
};
const CheckFamily check_core_builtins = { rows, COUNT_OF(rows) };
