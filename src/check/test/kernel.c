/* SPDX-License-Identifier: MIT
 *
 * The rules of OpenCL's own instructions and of built-in variables, with modules that they accept
 * and reject: instructions put into a common kernel, or, before a line of dashes, a decoration and
 * declarations.
 */
#include "base/test.h"
#include "check/check.h"

static const char head[] =
    "OpCapability Kernel\nOpCapability Addresses\nOpCapability Int64\nOpCapability Float16\n"
    "OpCapability GenericPointer\nOpCapability Groups\nOpCapability GroupUniformArithmeticKHR\n"
    "OpCapability ArithmeticFenceEXT\nOpCapability ExpectAssumeKHR\n"
    "OpCapability ShaderClockKHR\nOpCapability PoisonFreezeKHR\nOpCapability Linkage\n"
    "OpCapability SubgroupBallotKHR\nOpCapability SubgroupVoteKHR\n"
    "OpCapability GroupNonUniformRotateKHR\nOpCapability GroupNonUniformPartitionedEXT\n"
    "OpExtension \"SPV_KHR_uniform_group_instructions\"\n"
    "OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %main \"main\"\n"
    "%void = OpTypeVoid\n%bool = OpTypeBool\n%u32 = OpTypeInt 32 0\n%u64 = OpTypeInt 64 0\n"
    "%f32 = OpTypeFloat 32\n%f16 = OpTypeFloat 16\n%event = OpTypeEvent\n"
    "%v2 = OpTypeVector %f32 2\n%u2 = OpTypeVector %u32 2\n%u3 = OpTypeVector %u32 3\n"
    "%u4 = OpTypeVector %u32 4\n%b2 = OpTypeVector %bool 2\n"
    "%p_g = OpTypePointer CrossWorkgroup %f32\n%p_w = OpTypePointer Workgroup %f32\n"
    "%p_f = OpTypePointer Function %f32\n%p_e = OpTypePointer Generic %f32\n"
    "%p_eu = OpTypePointer Generic %u32\n%p_c = OpTypePointer UniformConstant %f32\n"
    "%p_gh = OpTypePointer CrossWorkgroup %f16\n%p_wb = OpTypePointer Workgroup %bool\n"
    "%p_gb = OpTypePointer CrossWorkgroup %bool\n%p_ev = OpTypePointer Function %event\n"
    "%c1 = OpConstant %u32 1\n%c2 = OpConstant %u32 2\n%c3 = OpConstant %u32 3\n"
    "%c6 = OpConstant %u32 6\n%l1 = OpConstant %u64 1\n%f1 = OpConstant %f32 1\n"
    "%t = OpConstantTrue %bool\n%cu2 = OpConstantComposite %u2 %c1 %c1\n"
    "%cu3 = OpConstantComposite %u3 %c1 %c1 %c1\n%cu4 = OpConstantComposite %u4 %c1 %c1 %c1 %c1\n"
    "%cv2 = OpConstantComposite %v2 %f1 %f1\n%cb2 = OpConstantComposite %b2 %t %t\n"
    "%none = OpConstantNull %event\n%v3 = OpTypeVector %f32 3\n%l3 = OpTypeVector %u64 3\n"
    "%fn = OpTypeFunction %void %p_g %p_w %p_gh %p_wb %p_gb %p_c\n"
    "%main = OpFunction %void None %fn\n%g = OpFunctionParameter %p_g\n"
    "%w = OpFunctionParameter %p_w\n%gh = OpFunctionParameter %p_gh\n"
    "%wb = OpFunctionParameter %p_wb\n%gb = OpFunctionParameter %p_gb\n"
    "%k = OpFunctionParameter %p_c\n%entry = OpLabel\n%v = OpVariable %p_f Function\n"
    "%ev = OpVariable %p_ev Function\n%e = OpPtrCastToGeneric %p_e %g\n";

typedef struct Case {
    const char *rule, *good, *bad;
} Case;

#define WHOLE(name, type, value, bad_type, bad_value)                                              \
    { "group-reduce", "%x = OpGroup" name "KHR " type " %c2 Reduce " value,                        \
      "%x = OpGroup" name "KHR " bad_type " %c2 InclusiveScan " bad_value }

#define UNREAD_BUILTIN(name, type)                                                                 \
    "OpDecorate %b BuiltIn " name "\n%p = OpTypePointer Input " type                               \
    "\n%b = OpVariable %p Input\n---\n"
#define BUILTIN(name, type) UNREAD_BUILTIN(name, type) "%x = OpLoad " type " %b\n"

static const Case cases[] = {
    { "builtin", BUILTIN("GlobalInvocationId", "%l3"), BUILTIN("GlobalInvocationId", "%u4") },
    { "builtin", BUILTIN("WorkgroupId", "%u3"), BUILTIN("WorkgroupId", "%v3") },
    { "builtin", BUILTIN("LocalInvocationIndex", "%u64"), BUILTIN("LocalInvocationIndex", "%f32") },
    { "builtin", BUILTIN("SubgroupSize", "%u32"), BUILTIN("SubgroupSize", "%u64") },
    { "builtin", BUILTIN("SubgroupEqMask", "%u4"), BUILTIN("SubgroupEqMask", "%u3") },
    { "builtin", UNREAD_BUILTIN("WorkgroupId", "%u32"), BUILTIN("WorkgroupId", "%u32") },
    { "builtin", BUILTIN("GlobalSize", "%l3"), BUILTIN("GlobalSize", "%u64") },
    { "builtin", "",
      "OpDecorate %b BuiltIn WorkgroupId\n%p = OpTypePointer Private %u3\n"
      "%b = OpVariable %p Private\n---\n" },
    { "builtin",
      "OpDecorate %b BuiltIn WorkgroupSize\n%b = OpConstantComposite %u3 %c1 %c1 %c1\n---\n",
      "OpDecorate %b BuiltIn WorkgroupSize\n%b = OpConstantComposite %u2 %c1 %c1\n---\n" },
    { "generic-cast", "%x = OpPtrCastToGeneric %p_e %v", "%x = OpPtrCastToGeneric %p_e %k" },
    { "generic-cast", "", "%x = OpPtrCastToGeneric %p_eu %v" },
    { "generic-cast", "", "%x = OpPtrCastToGeneric %p_f %v" },
    { "generic-cast", "", "%x = OpPtrCastToGeneric %u32 %v" },
    { "generic-cast", "", "%x = OpPtrCastToGeneric %p_e %f1" },
    { "generic-cast", "%x = OpGenericCastToPtr %p_w %e", "%x = OpGenericCastToPtr %p_w %g" },
    { "generic-cast", "", "%x = OpGenericCastToPtr %p_e %e" },
    { "generic-cast", "%x = OpGenericCastToPtrExplicit %p_w %e Workgroup",
      "%x = OpGenericCastToPtrExplicit %p_w %e Function" },
    { "generic-semantics", "%x = OpGenericPtrMemSemantics %u32 %e",
      "%x = OpGenericPtrMemSemantics %u32 %g" },
    { "generic-semantics", "", "%x = OpGenericPtrMemSemantics %u64 %e" },
    { "async-copy", "%x = OpGroupAsyncCopy %event %c2 %w %g %l1 %l1 %none",
      "%x = OpGroupAsyncCopy %u32 %c2 %w %g %l1 %l1 %none" },
    { "async-copy", "%x = OpGroupAsyncCopy %event %c2 %g %w %c1 %c1 %none",
      "%x = OpGroupAsyncCopy %event %c2 %g %g %l1 %l1 %none" },
    { "async-copy", "", "%x = OpGroupAsyncCopy %event %c2 %w %gh %l1 %l1 %none" },
    { "async-copy", "", "%x = OpGroupAsyncCopy %event %c2 %w %g %f1 %l1 %none" },
    { "async-copy", "", "%x = OpGroupAsyncCopy %event %c2 %w %g %l1 %cu2 %none" },
    { "async-copy", "", "%x = OpGroupAsyncCopy %event %c2 %w %g %l1 %l1 %c1" },
    { "async-copy", "", "%x = OpGroupAsyncCopy %event %c2 %w %f1 %l1 %l1 %none" },
    { "async-copy", "", "%x = OpGroupAsyncCopy %event %c2 %bool %bool %l1 %l1 %none" },
    { "async-copy", "", "%x = OpGroupAsyncCopy %event %c2 %wb %gb %l1 %l1 %none" },
    { "scope", "", "%x = OpGroupAsyncCopy %event %f1 %w %g %l1 %l1 %none" },
    { "wait-events", "OpGroupWaitEvents %c2 %c1 %ev", "OpGroupWaitEvents %c2 %l1 %ev" },
    { "wait-events", "", "OpGroupWaitEvents %c2 %c1 %v" },
    { "wait-events", "", "OpGroupWaitEvents %c2 %c1 %none" },
    { "lifetime", "OpLifetimeStart %v 4\nOpLifetimeStop %v 4", "OpLifetimeStart %g 4" },
    { "lifetime", "", "OpLifetimeStop %f1 4" },
    { "pass-on", "%x = OpArithmeticFenceEXT %v2 %cv2", "%x = OpArithmeticFenceEXT %u32 %c1" },
    { "pass-on", "%x = OpFreezeKHR %b2 %cb2", "%x = OpFreezeKHR %u32 %f1" },
    { "pass-on", "%x = OpFreezeKHR %p_g %g", "%x = OpFreezeKHR %event %none" },
    { "null-constant", "%x = OpPoisonKHR %u32", "%x = OpPoisonKHR %fn" },
    { "assumption", "OpAssumeTrueKHR %t", "OpAssumeTrueKHR %c1" },
    { "assumption", "", "OpAssumeTrueKHR %cb2" },
    { "expectation", "%x = OpExpectKHR %u2 %cu2 %cu2", "%x = OpExpectKHR %u32 %c1 %l1" },
    { "expectation", "%x = OpExpectKHR %b2 %cb2 %cb2", "%x = OpExpectKHR %v2 %cv2 %cv2" },
    { "clock", "%x = OpReadClockKHR %u64 %c2", "%x = OpReadClockKHR %u32 %c2" },
    { "clock", "%x = OpReadClockKHR %u2 %c3", "%x = OpReadClockKHR %u2 %c6" },
    { "group-move", "%x = OpGroupBroadcast %v2 %c2 %cv2 %cu3",
      "%x = OpGroupBroadcast %v2 %c2 %cv2 %cu4" },
    { "group-move", "%x = OpSubgroupFirstInvocationKHR %v2 %cv2",
      "%x = OpSubgroupFirstInvocationKHR %f32 %c1" },
    { "group-move", "%x = OpSubgroupReadInvocationKHR %v2 %cv2 %c1",
      "%x = OpSubgroupReadInvocationKHR %v2 %cv2 %f1" },
    { "group-move", "%x = OpGroupNonUniformRotateKHR %v2 %c3 %cv2 %c1",
      "%x = OpGroupNonUniformRotateKHR %v2 %c3 %cv2 %cu2" },
    { "group-rotate", "%x = OpGroupNonUniformRotateKHR %v2 %c3 %cv2 %c1 %c2",
      "%x = OpGroupNonUniformRotateKHR %v2 %c3 %cv2 %c1 %c6" },
    { "vote", "%x = OpSubgroupAllEqualKHR %bool %t", "%x = OpSubgroupAllEqualKHR %bool %c1" },
    { "partition", "%x = OpGroupNonUniformPartitionEXT %u4 %cv2",
      "%x = OpGroupNonUniformPartitionEXT %u2 %cv2" },
    { "partition", "", "%x = OpGroupNonUniformPartitionEXT %u4 %v" },
    WHOLE("IMul", "%u32", "%c1", "%f32", "%f1"),
    WHOLE("FMul", "%f32", "%f1", "%u32", "%c1"),
    WHOLE("BitwiseAnd", "%u2", "%cu2", "%v2", "%cv2"),
    WHOLE("BitwiseOr", "%u32", "%c1", "%bool", "%t"),
    WHOLE("BitwiseXor", "%u32", "%c1", "%f32", "%f1"),
    WHOLE("LogicalAnd", "%bool", "%t", "%u32", "%c1"),
    WHOLE("LogicalOr", "%b2", "%cb2", "%u2", "%cu2"),
    WHOLE("LogicalXor", "%bool", "%t", "%bool", "%cb2"),
    { "group-reduce", "%x = OpGroupIAdd %u32 %c2 ExclusiveScan %c1",
      "%x = OpGroupIAdd %u32 %c2 ClusteredReduce %c1" },
    { "group-reduce", "",
      "%x = OpGroupBitwiseXorKHR %u32 %c2 PartitionedInclusiveScanEXT %c1" },
    { "scope", "", "%x = OpGroupIMulKHR %u32 %c1 Reduce %c1" },
};

static char *module_text(Arena *a, const char *insts)
{
    const char *dashes = strstr(insts, "---\n"), *types = strstr(head, "%void ="),
               *body = strstr(head, "%main = OpFunction");
    int line = dashes ? (int)strcspn(insts, "\n") + 1 : 0;
    return arena_printf(a, "%.*s%.*s%.*s%.*s%s%s\nOpReturn\nOpFunctionEnd\n", (int)(types - head),
                        head, line, insts, (int)(body - types), types,
                        dashes ? (int)(dashes - insts) - line : 0, insts + line, body,
                        dashes ? dashes + 4 : insts);
}

#include "check/test/cases.h"
