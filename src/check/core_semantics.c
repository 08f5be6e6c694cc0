/* SPDX-License-Identifier: MIT
 *
 * Scopes and semantics of memory, of barriers and atomics alike (SPIR-V 3.2.25, 3.2.27; Vulkan,
 * appendix A, "Standalone SPIR-V Validation"). The grammar's kinds of operands say where they are.
 */
#include "check/internal.h"

enum {
    ACQUIRES = SpvMemorySemanticsAcquireMask | SpvMemorySemanticsAcquireReleaseMask,
    RELEASES = SpvMemorySemanticsReleaseMask | SpvMemorySemanticsAcquireReleaseMask,
    SEQUENTIAL = SpvMemorySemanticsSequentiallyConsistentMask,
    ORDERS = ACQUIRES | RELEASES | SEQUENTIAL,
    CLASSES = SpvMemorySemanticsUniformMemoryMask | SpvMemorySemanticsWorkgroupMemoryMask |
              SpvMemorySemanticsImageMemoryMask | SpvMemorySemanticsOutputMemoryMask,
    /* Vulkan has no such memory, but Naga's subgroup barriers name it. */
    HARMLESS = SpvMemorySemanticsSubgroupMemoryMask,
    VOLATILE = SpvMemorySemanticsVolatileMask,
    VISIBLE = SpvMemorySemanticsMakeVisibleMask,
    AVAILABLE = SpvMemorySemanticsMakeAvailableMask
};

/* ---- scopes ---------------------------------------------------------------------------------- */

/* The scope of memory operands, and of image operands, has no name. */
static bool names_memory(const SpvOperand *o)
{
    return o->kind == SPV_OPERAND_IdScope &&
           (!strcmp(o->name, "Memory") || !strcmp(o->name, "Visibility") || !*o->name);
}

static bool has_scope(uint16_t op)
{
    const SpvOpInfo *info = spv_op_info(op);
    for (uint32_t k = 0; info && k < info->n_operands; k++)
        if (info->operands[k].kind == SPV_OPERAND_IdMemorySemantics ||
            info->operands[k].kind == SPV_OPERAND_MemoryAccess ||
            info->operands[k].kind == SPV_OPERAND_ImageOperands)
            return true;
    return false;
}

static bool has_semantics(uint16_t op)
{
    const SpvOpInfo *info = spv_op_info(op);
    for (uint32_t k = 0; info && k < info->n_operands; k++)
        if (info->operands[k].kind == SPV_OPERAND_IdMemorySemantics)
            return true;
    return false;
}

/* Reports what is not of 32 bits, or no constant where shaders need one. */
static bool word(Checker *c, const SpvInst *i, SpvId id, const char *what, uint64_t *value)
{
    const SpvType *t = spv_type_of(c->m, id);
    bool known = spv_constant(c->m, id, value);
    if (!t || t->kind != SPV_INT || t->bits != 32)
        broken(c, i, "the %s, %%%u, is %s, not a 32-bit integer", what, id, type_name(c, t));
    else if (!known && has_capability(c, SpvCapabilityShader))
        broken(c, i, "the %s, %%%u, is not a constant", what, id);
    else if (known && !spv_is_spec_constant(c->m, id))
        return true;
    return false;
}

static void check_memory_scope(Checker *c, SpvInst *i)
{
    SpvOperand o;
    uint64_t scope;
    bool model = has_capability(c, SpvCapabilityVulkanMemoryModel);
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        if (!names_memory(&o) || !word(c, i, i->words[o.word], "memory scope", &scope))
            continue;
        if (scope > SpvScopeShaderCallKHR)
            broken(c, i, "memory scope %llu", (unsigned long long)scope);
        else if (scope == SpvScopeQueueFamily && !model)
            broken(c, i, "memory scope QueueFamily without capability VulkanMemoryModel");
        else if (scope == SpvScopeDevice && model &&
                 !has_capability(c, SpvCapabilityVulkanMemoryModelDeviceScope))
            broken(c, i,
                   "memory scope Device of the Vulkan memory model without capability "
                   "VulkanMemoryModelDeviceScope");
        else if (is_vulkan(c) && (scope == SpvScopeCrossDevice || scope == SpvScopeShaderCallKHR))
            broken(c, i, "memory scope %s in a compute shader (VUIDs 04638, 04640)",
                   spv_enum_name(SPV_OPERAND_IdScope, (uint32_t)scope)
                       ? spv_enum_name(SPV_OPERAND_IdScope, (uint32_t)scope)
                   : scope ? "ShaderCallKHR"
                           : "CrossDevice");
    }
}

/* ---- semantics ------------------------------------------------------------------------------- */

/* One word of semantics. */
typedef struct Semantics {
    uint32_t bits, equal; /* `equal`: where these are Unequal, what Equal is */
    bool unequal;
    bool invocation; /* the memory scope is */
} Semantics;

/* Semantics with one of `bits` have one of `needs`, and the capability. */
static const struct {
    uint32_t bits, needs, capability;
    bool vulkan;
    const char *text;
} needs[] = {
    { SpvMemorySemanticsUniformMemoryMask, 0, SpvCapabilityShader, false, "UniformMemory" },
    { SpvMemorySemanticsOutputMemoryMask, 0, SpvCapabilityVulkanMemoryModel, false,
      "OutputMemory" },
    { AVAILABLE, 0, SpvCapabilityVulkanMemoryModel, false, "MakeAvailable" },
    { VISIBLE, 0, SpvCapabilityVulkanMemoryModel, false, "MakeVisible" },
    { VOLATILE, 0, SpvCapabilityVulkanMemoryModel, false, "Volatile" },
    { AVAILABLE, RELEASES, 0, false, "MakeAvailable without a release (VUID 10872)" },
    { VISIBLE, ACQUIRES, 0, false, "MakeVisible without an acquire (VUID 10873)" },
    { ORDERS, CLASSES | HARMLESS, 0, true, "an order of no storage class (VUID 10870)" },
    { CLASSES, ORDERS, 0, true, "storage classes without an order (VUID 10871)" },
};

/* What an opcode's semantics must not have. */
static const struct {
    uint16_t op;
    uint32_t bits;
    bool vulkan;
    const char *text;
} forbidden[] = {
    { SpvOpAtomicStore, ACQUIRES, false, "a store that acquires (VUID 10867)" },
    { SpvOpAtomicFlagClear, ACQUIRES, false, "a store that acquires (VUID 10867)" },
    { SpvOpAtomicLoad, RELEASES, false, "a load that releases (VUID 10868)" },
    { SpvOpMemoryBarrier, VOLATILE, false, "a barrier that is volatile (VUID 13551)" },
    { SpvOpControlBarrier, VOLATILE, false, "a barrier that is volatile (VUID 13551)" },
    { SpvOpControlBarrierArriveEXT, VOLATILE, false, "a barrier that is volatile (VUID 13551)" },
    { SpvOpControlBarrierWaitEXT, VOLATILE, false, "a barrier that is volatile (VUID 13551)" },
    { SpvOpControlBarrierArriveEXT, ORDERS & ~(uint32_t)SpvMemorySemanticsReleaseMask, true,
      "an arrival that does more than release (VUID 13556)" },
    { SpvOpControlBarrierWaitEXT, ORDERS & ~(uint32_t)SpvMemorySemanticsAcquireMask, true,
      "a wait that does more than acquire (VUID 13557)" },
};

static void check_bits(Checker *c, const SpvInst *i, const Semantics *s)
{
    bool vulkan = is_vulkan(c);
    for (uint32_t k = 0; k < COUNT_OF(needs); k++) {
        if (!(s->bits & needs[k].bits) || (needs[k].vulkan && !vulkan))
            continue;
        if (needs[k].needs && !(s->bits & needs[k].needs))
            broken(c, i, "semantics 0x%x: %s", s->bits, needs[k].text);
        else if (needs[k].capability && !has_capability(c, needs[k].capability))
            broken(c, i, "semantics %s without capability %s", needs[k].text,
                   spv_enum_name(SPV_OPERAND_Capability, needs[k].capability));
    }
    for (uint32_t k = 0; k < COUNT_OF(forbidden); k++)
        if (forbidden[k].op == i->op && s->bits & forbidden[k].bits &&
            (vulkan || !forbidden[k].vulkan))
            broken(c, i, "semantics 0x%x: %s", s->bits, forbidden[k].text);
}

static void check_order(Checker *c, const SpvInst *i, const Semantics *s)
{
    uint32_t order = s->bits & ORDERS;
    bool vulkan = is_vulkan(c);
    if (order & (order - 1))
        broken(c, i, "semantics 0x%x: more than one order (VUID 10865)", s->bits);
    else if (vulkan && order == SEQUENTIAL)
        broken(c, i, "semantics 0x%x: SequentiallyConsistent (VUID 10866)", s->bits);
    else if (vulkan && !order && i->op == SpvOpMemoryBarrier)
        broken(c, i, "a memory barrier without an order (VUID 10869)");
    else if (vulkan && order && s->invocation)
        broken(c, i, "semantics 0x%x among a single invocation (VUID 04641)", s->bits);
}

/* Where the comparison fails, the exchange is a load, and no stronger than where it succeeds. */
static void check_unequal(Checker *c, const SpvInst *i, const Semantics *s)
{
    uint32_t more = s->bits & ~s->equal;
    if (s->bits & RELEASES)
        broken(c, i, "Unequal 0x%x releases (VUID 10875)", s->bits);
    else if ((s->bits & SEQUENTIAL && more & SEQUENTIAL) ||
             (s->bits & SpvMemorySemanticsAcquireMask && !(s->equal & ORDERS)))
        broken(c, i, "Unequal 0x%x is stronger than Equal 0x%x (VUID 10876)", s->bits, s->equal);
    else if (is_vulkan(c) && more & (CLASSES | VISIBLE))
        broken(c, i, "Unequal 0x%x has more than Equal 0x%x (VUIDs 10877, 10878)", s->bits,
               s->equal);
    else if (is_vulkan(c) && (s->bits ^ s->equal) & VOLATILE)
        broken(c, i, "one of Equal and Unequal is volatile (VUID 10879)");
}

static void check_semantics(Checker *c, SpvInst *i)
{
    SpvOperand o;
    Semantics s = { 0 };
    uint64_t value;
    bool known = false;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        SpvId id = i->words[o.word];
        if (names_memory(&o))
            s.invocation = spv_constant(c->m, id, &value) && value == SpvScopeInvocation;
        if (o.kind != SPV_OPERAND_IdMemorySemantics)
            continue;
        s.unequal = !strcmp(o.name, "Unequal");
        s.equal = s.bits;
        bool had = known;
        known = word(c, i, id, "semantics", &value);
        s.bits = (uint32_t)value;
        if (!known)
            continue;
        check_bits(c, i, &s);
        check_order(c, i, &s);
        if (s.unequal && had)
            check_unequal(c, i, &s);
    }
}

static const CheckRow rows[] = {
    { { "memory-scope", "SPIR-V 3.2.27; Vulkan, appendix A",
        "A scope of memory is one that the module's memory model has." },
      { 0 },
      has_scope,
      check_memory_scope },
    { { "memory-semantics", "SPIR-V 3.2.25; Vulkan, appendix A",
        "Semantics have one order at most, that fits the instruction, and what it is of." },
      { 0 },
      has_semantics,
      check_semantics },
};
const CheckFamily check_core_semantics = { rows, COUNT_OF(rows) };
