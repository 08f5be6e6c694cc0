/* SPDX-License-Identifier: MIT
 *
 * The rules of untyped pointers, with modules that they accept and reject: instructions put into a
 * common module, or, before a line of dashes, among its declarations.
 */
#include "base/test.h"
#include "check/check.h"

static const char head[] =
    "OpCapability Shader\nOpCapability UntypedPointersKHR\nOpCapability VariablePointers\n"
    "OpCapability Int64\nOpExtension \"SPV_KHR_untyped_pointers\"\n"
    "OpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\"\n"
    "OpExecutionMode %main LocalSize 1 1 1\n"
    "OpDecorate %words ArrayStride 4\nOpDecorate %block Block\n"
    "OpMemberDecorate %block 0 Offset 0\nOpMemberDecorate %block 1 Offset 4\n"
    "OpDecorate %buffer DescriptorSet 0\nOpDecorate %buffer Binding 0\n"
    "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n"
    "%u32 = OpTypeInt 32 0\n%u64 = OpTypeInt 64 0\n%f32 = OpTypeFloat 32\n"
    "%v2 = OpTypeVector %u32 2\n%smp = OpTypeSampler\n"
    "%c0 = OpConstant %u32 0\n%c1 = OpConstant %u32 1\n%c2 = OpConstant %u32 2\n"
    "%c4 = OpConstant %u32 4\n%f1 = OpConstant %f32 1\n%t = OpConstantTrue %bool\n"
    "%cv2 = OpConstantComposite %v2 %c1 %c2\n"
    "%words = OpTypeRuntimeArray %u32\n%four = OpTypeArray %u32 %c4\n"
    "%bools = OpTypeStruct %u32 %bool\n%block = OpTypeStruct %u32 %words\n"
    "%up = OpTypeUntypedPointerKHR StorageBuffer\n%uw = OpTypeUntypedPointerKHR Workgroup\n"
    "%uf = OpTypeUntypedPointerKHR Function\n%ug = OpTypeUntypedPointerKHR CrossWorkgroup\n"
    "%p_f = OpTypePointer Function %u32\n%p_w = OpTypePointer Workgroup %u32\n"
    "%buffer = OpUntypedVariableKHR %up StorageBuffer %block\n"
    "%shared = OpUntypedVariableKHR %uw Workgroup %four\n%typed = OpVariable %p_w Workgroup\n"
    "%global = OpConstantNull %ug\n";

typedef struct Case {
    const char *rule, *good, *bad;
} Case;

#define AT "%e = OpUntypedAccessChainKHR %up %block %buffer %c1 %c4\n"

static const Case cases[] = {
    { "untyped-variable", "%x = OpUntypedVariableKHR %uw Workgroup %v2\n---\n",
      "%x = OpUntypedVariableKHR %up Workgroup %v2\n---\n" },
    { "untyped-variable", "%x = OpUntypedVariableKHR %uf Function %u32 %c1",
      "%x = OpUntypedVariableKHR %uf Function %u32 %f1" },
    { "untyped-variable", "", "%x = OpUntypedVariableKHR %uw Workgroup %v2" },
    { "untyped-variable", "", "%x = OpUntypedVariableKHR %p_f Function %u32" },
    { "untyped-variable", "", "%x = OpUntypedVariableKHR %uw Workgroup %words\n---\n" },
    { "untyped-variable", "", "%x = OpUntypedVariableKHR %uw Workgroup\n---\n" },
    { "untyped-variable", "", "%x = OpUntypedVariableKHR %uw Workgroup %void\n---\n" },
    { "untyped-variable", "", "%x = OpUntypedVariableKHR %uw Workgroup %c1\n---\n" },
    { "untyped-chain", AT, "%x = OpUntypedAccessChainKHR %uw %block %buffer %c1 %c4" },
    { "untyped-chain", "%x = OpUntypedAccessChainKHR %uw %v2 %typed %c1",
      "%x = OpUntypedAccessChainKHR %up %block %buffer %c2 %c4" },
    { "untyped-chain", "%x = OpUntypedInBoundsAccessChainKHR %uw %four %shared %c1",
      "%x = OpUntypedInBoundsAccessChainKHR %uw %four %shared %f1" },
    { "untyped-chain", "%x = OpUntypedPtrAccessChainKHR %uw %v2 %shared %c1 %c1",
      "%x = OpUntypedPtrAccessChainKHR %uw %v2 %shared %f1 %c1" },
    { "untyped-chain", "", "%x = OpUntypedInBoundsPtrAccessChainKHR %uw %words %shared %c1" },
    { "untyped-chain", "", "%x = OpUntypedAccessChainKHR %uw %u32 %shared %c1" },
    { "untyped-chain", "", "%x = OpUntypedAccessChainKHR %uw %c1 %shared %c1" },
    { "untyped-chain", "", "%x = OpUntypedAccessChainKHR %p_w %four %shared %c1" },
    { "untyped-chain", "", "%x = OpUntypedAccessChainKHR %uw %four %c1 %c1" },
    { "pointer-relation",
      "%up2 = OpTypeUntypedPointerKHR StorageBuffer\n"
      "%other = OpUntypedVariableKHR %up2 StorageBuffer %block\n---\n"
      "%x = OpPtrEqual %bool %buffer %other",
      "%x = OpPtrEqual %bool %buffer %shared" },
    { "untyped-array-length", "%x = OpUntypedArrayLengthKHR %u32 %block %buffer 1",
      "%x = OpUntypedArrayLengthKHR %u32 %block %buffer 0" },
    { "untyped-array-length", "", "%x = OpUntypedArrayLengthKHR %f32 %block %buffer 1" },
    { "untyped-array-length", "", "%x = OpUntypedArrayLengthKHR %u32 %four %buffer 1" },
    { "untyped-array-length", "", "%x = OpUntypedArrayLengthKHR %u32 %block %c1 1" },
    { "untyped-access", AT "%x = OpLoad %f32 %e", AT "%x = OpLoad %bool %e" },
    { "untyped-access", AT "OpStore %e %cv2", AT "OpStore %e %t" },
    { "untyped-access", "%x = OpLoad %four %shared", "%x = OpLoad %bools %shared" },
    { "untyped-access", "", "%x = OpLoad %smp %shared" },
    { "untyped-access", "", "%x = OpLoad %void %shared" },
    { "untyped-access", AT "%x = OpAtomicIAdd %u32 %e %c1 %c0 %c1",
      AT "%x = OpAtomicExchange %v2 %e %c1 %c0 %cv2" },
    { "untyped-access", AT "OpAtomicStore %e %c1 %c0 %c1", AT "OpAtomicStore %e %c1 %c0 %cv2" },
    { "untyped-copy", AT "OpCopyMemory %e %typed", AT "OpCopyMemory %e %shared" },
    { "untyped-copy", AT "OpCopyMemorySized %e %shared %c4",
      AT "OpCopyMemorySized %e %shared %f1" },
    { "untyped-copy", "", AT "OpCopyMemorySized %e %c1 %c4" },
    { "untyped-prefetch", "OpUntypedPrefetchKHR %global %c4", "OpUntypedPrefetchKHR %shared %c4" },
    { "untyped-prefetch", "", "OpUntypedPrefetchKHR %global %f1" },
    { "pointer-relation", AT "%x = OpPtrEqual %bool %e %buffer", AT "%x = OpPtrEqual %u32 %e %e" },
    { "pointer-relation", AT "%x = OpPtrDiff %u32 %e %buffer",
      "%x = OpPtrNotEqual %bool %buffer %shared" },
    { "pointer-relation", "%x = OpPtrEqual %bool %shared %typed",
      "%x = OpPtrDiff %u32 %shared %typed" },
};

static char *module_text(Arena *a, const char *insts)
{
    const char *dashes = strstr(insts, "---\n");
    return arena_printf(a, "%s%.*s%%main = OpFunction %%void None %%fn\n%%entry = OpLabel\n%s\n"
                        "OpReturn\nOpFunctionEnd\n", head, dashes ? (int)(dashes - insts) : 0,
                        insts, dashes ? dashes + 4 : insts);
}

#include "check/test/cases.h"
