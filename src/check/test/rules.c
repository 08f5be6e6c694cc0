/* SPDX-License-Identifier: MIT
 *
 * Every rule with a module that it accepts and one that it rejects: instructions put into a common
 * module, or, before a line of dashes, among its declarations. Of these, capabilities, extensions,
 * execution modes (which replace the one that is there), names and annotations go to their places;
 * behind a minus, what a line of the common module that is left out begins with.
 */
#include "base/test.h"
#include "check/check.h"

static const char head[] =
    "OpCapability Shader\nOpCapability VulkanMemoryModel\nOpCapability CooperativeMatrixKHR\n"
    "OpCapability Int64\n"
    "OpCapability Int8\nOpCapability Float16\nOpCapability Float64\nOpCapability "
    "GroupNonUniformArithmetic\n"
    "OpCapability ComputeDerivativeGroupLinearKHR\nOpCapability ImageQuery\n"
    "OpCapability DerivativeControl\nOpCapability GroupNonUniformBallot\n"
    "OpCapability GroupNonUniformVote\nOpCapability SplitBarrierEXT\n"
    "OpCapability DotProduct\nOpCapability DotProductInputAll\n"
    "OpCapability DotProductInput4x8BitPacked\nOpCapability BitcastExtractEXT\n"
    "OpExtension \"SPV_KHR_cooperative_matrix\"\n"
    "%glsl = OpExtInstImport \"GLSL.std.450\"\n"
    "OpMemoryModel Logical Vulkan\n"
    "OpEntryPoint GLCompute %main \"main\"\n"
    "OpExecutionMode %main LocalSize 32 1 1\n"
    "OpDecorate %rta ArrayStride 4\nOpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
    "OpDecorate %pushed Block\nOpMemberDecorate %pushed 0 Offset 0\n"
    "OpDecorate %buffer DescriptorSet 0\nOpDecorate %buffer Binding 0\n"
    "%void = OpTypeVoid\n%bool = OpTypeBool\n%u32 = OpTypeInt 32 0\n%s32 = OpTypeInt 32 1\n"
    "%u64 = OpTypeInt 64 0\n%f32 = OpTypeFloat 32\n%f16 = OpTypeFloat 16\n%f64 = OpTypeFloat 64\n"
    "%s8 = OpTypeInt 8 1\n"
    "%v2 = OpTypeVector %f32 2\n%v3 = OpTypeVector %f32 3\n%v4 = OpTypeVector %f32 4\n"
    "%u2 = OpTypeVector %u32 2\n%u4 = OpTypeVector %u32 4\n%b2 = OpTypeVector %bool 2\n"
    "%m2 = OpTypeMatrix %v2 2\n%m23 = OpTypeMatrix %v3 2\n"
    "%pair = OpTypeStruct %u32 %u32\n%mixed = OpTypeStruct %f32 %v2\n"
    "%c0 = OpConstant %u32 0\n%c1 = OpConstant %u32 1\n%c2 = OpConstant %u32 2\n%c3 = OpConstant "
    "%u32 3\n"
    "%c4 = OpConstant %u32 4\n%c5 = OpConstant %u32 5\n"
    "%c8 = OpConstant %u32 8\n%c16 = OpConstant %u32 16\n%c264 = "
    "OpConstant %u32 264\n%c260 = OpConstant %u32 260\n%c258 = OpConstant %u32 258\n"
    "%i1 = OpConstant %s32 1\n%l1 = OpConstant %u64 1\n"
    "%f1 = OpConstant %f32 1\n%h1 = OpConstant %f16 1\n%d1 = OpConstant %f64 1\n%t = "
    "OpConstantTrue %bool\n"
    "%cv2 = OpConstantComposite %v2 %f1 %f1\n%cv3 = OpConstantComposite %v3 %f1 %f1 %f1\n"
    "%cv4 = OpConstantComposite %v4 %f1 %f1 %f1 %f1\n"
    "%cu2 = OpConstantComposite %u2 %c1 %c1\n%cu4 = OpConstantComposite %u4 %c1 %c1 %c1 %c1\n"
    "%cb2 = OpConstantComposite %b2 %t %t\n"
    "%cm2 = OpConstantComposite %m2 %cv2 %cv2\n%cm23 = OpConstantComposite %m23 %cv3 %cv3\n"
    "%cpair = OpConstantComposite %pair %c1 %c2\n"
    "%arr = OpTypeArray %f32 %c4\n%rta = OpTypeRuntimeArray %f32\n%block = OpTypeStruct %rta\n"
    "%pushed = OpTypeStruct %u32\n%p_pushed = OpTypePointer PushConstant %pushed\n"
    "%p_block = OpTypePointer StorageBuffer %block\n%p_sf = OpTypePointer StorageBuffer %f32\n"
    "%p_pu = OpTypePointer PushConstant %u32\n%p_f = OpTypePointer Function %f32\n"
    "%p_u = OpTypePointer Function %u32\n%p_v = OpTypePointer Function %v2\n%p_arr = OpTypePointer "
    "Function %arr\n"
    "%p_wu = OpTypePointer Workgroup %u32\n%p_wf = OpTypePointer Workgroup %f32\n"
    "%buffer = OpVariable %p_block StorageBuffer\n%push = OpVariable %p_pushed PushConstant\n"
    "%shared = OpVariable %p_wu Workgroup\n"
    "%ma = OpTypeCooperativeMatrixKHR %f32 %c3 %c16 %c8 %c0\n"
    "%mb = OpTypeCooperativeMatrixKHR %f32 %c3 %c8 %c4 %c1\n"
    "%mc = OpTypeCooperativeMatrixKHR %f32 %c3 %c16 %c4 %c2\n"
    "%mw = OpTypeCooperativeMatrixKHR %f32 %c2 %c16 %c4 %c2\n"
    "%mi = OpTypeCooperativeMatrixKHR %s32 %c3 %c16 %c4 %c2\n"
    "%ia = OpTypeCooperativeMatrixKHR %s8 %c3 %c16 %c8 %c0\n"
    "%ib = OpTypeCooperativeMatrixKHR %s8 %c3 %c8 %c4 %c1\n"
    "%na = OpConstantNull %ma\n%nb = OpConstantNull %mb\n%nc = OpConstantNull %mc\n%nw = "
    "OpConstantNull %mw\n"
    "%ni = OpConstantNull %mi\n%nia = OpConstantNull %ia\n%nib = OpConstantNull %ib\n"
    "%fn = OpTypeFunction %void\n%fn_f = OpTypeFunction %f32 %f32\n"
    "%fn_p = OpTypeFunction %void %p_sf\n";

typedef struct Case {
    const char *rule, *good, *bad;
} Case;

#define AT "%e = OpAccessChain %p_sf %buffer %c0 %c0\n"

#define IMAGES                                                                                     \
    "%img = OpTypeImage %f32 2D 0 0 0 1 Unknown\n%sto = OpTypeImage %f32 2D 0 0 0 2 R32f\n"        \
    "%smp = OpTypeSampler\n%si = OpTypeSampledImage %img\n"                                        \
    "%p_img = OpTypePointer UniformConstant %img\n%p_sto = OpTypePointer UniformConstant %sto\n"   \
    "%p_smp = OpTypePointer UniformConstant %smp\n"                                                \
    "%read = OpVariable %p_img UniformConstant\n%write = OpVariable %p_sto UniformConstant\n"      \
    "%smps = OpVariable %p_smp UniformConstant\n"
#define LOADED                                                                                     \
    "%a = OpLoad %img %read\n%w = OpLoad %sto %write\n%s = OpLoad %smp %smps\n"

#define SAMPLED                                                                                    \
    "%ms = OpTypeImage %f32 2D 0 0 1 1 Unknown\n%p_ms = OpTypePointer UniformConstant %ms\n"       \
    "%many = OpVariable %p_ms UniformConstant\n---\n%a = OpLoad %ms %many\n"

#define SMALL                                                                                      \
    "OpCapability Float4EXT\n%e2m1 = OpTypeFloat 4 Float4E2M1EXT\n"                                \
    "%small = OpConstant %e2m1 0x1p+0\n---\n"

/* A buffer of structures of these members. */
#define LAID(members, decorations)                                                                 \
    "OpDecorate %s Block\nOpDecorate %v DescriptorSet 0\nOpDecorate %v Binding 1\n" decorations    \
    "%s = OpTypeStruct " members "\n%p_s = OpTypePointer StorageBuffer %s\n"                       \
    "%v = OpVariable %p_s StorageBuffer\n---\n"

#define SHARED(decorations, b)                                                                     \
    "-OpEntryPoint\nOpEntryPoint GLCompute %main \"main\" %wa %wb\n" decorations                  \
    "OpDecorate %w Block\nOpMemberDecorate %w 0 Offset 0\n%w = OpTypeStruct %u32\n"                \
    "%p_w = OpTypePointer Workgroup %w\n%wa = OpVariable %p_w Workgroup\n" b                       \
    "---\n"
#define EXPLICIT                                                                                   \
    "OpCapability WorkgroupMemoryExplicitLayoutKHR\n"                                              \
    "OpExtension \"SPV_KHR_workgroup_memory_explicit_layout\"\n"

#define BRAIN                                                                                      \
    "OpCapability BFloat16TypeKHR\n%bf16 = OpTypeFloat 16 BFloat16KHR\n"                          \
    "%bv2 = OpTypeVector %bf16 2\n"                                                               \
    "%brain = OpConstant %bf16 0x1p+0\n%brains = OpConstantComposite %bv2 %brain %brain\n---\n"
/* A buffer of bytes, which the capabilities let be stored only. */
#define BYTES                                                                                      \
    "-OpCapability Int8\n-%s8\n-%ia\n-%ib\n-%nia\n-%nib\nOpCapability StorageBuffer8BitAccess\n"   \
    "%u8 = OpTypeInt 8 0\n"
#define BYTE                                                                                       \
    "%p_8 = OpTypePointer StorageBuffer %u8\n"                                                     \
    LAID("%u8", "OpMemberDecorate %s 0 Offset 0\n")                                                \
    "%e8 = OpAccessChain %p_8 %v %c0\n%b = OpLoad %u8 %e8\n"

#define BUFFER_ADDRESSES                                                                           \
    "OpCapability PhysicalStorageBufferAddresses\n-OpMemoryModel\n"                                \
    "OpMemoryModel PhysicalStorageBuffer64 Vulkan\n"
#define ADDRESSES                                                                                  \
    BUFFER_ADDRESSES                                                                               \
    "%p = OpTypePointer PhysicalStorageBuffer %f32\n---\n%a = OpConvertUToPtr %p %l1\n"

#define FORWARD BUFFER_ADDRESSES "OpTypeForwardPointer %q PhysicalStorageBuffer\n"
#define SPECIAL "OpDecorate %k SpecId 1\n%k = OpSpecConstant %u32 1\n"

#define REFLECTION(version)                                                                        \
    "%clspv = OpExtInstImport \"NonSemantic.ClspvReflection." #version                             \
    "\"\n%text = OpString \"main\"\n"
#define REFLECT "%x = OpExtInst %void %clspv "

/* A pointer to the second element of an array in workgroup memory: a column of a matrix, or not. */
#define CHOSEN(type, part)                                                                         \
    "OpCapability VariablePointers\n%p_w = OpTypePointer Workgroup " type "\n"                     \
    "%p_x = OpTypePointer Workgroup " part "\n%w = OpVariable %p_w Workgroup\n---\n"  \
    "%k = OpAccessChain %p_x %w %c1\n"
#define CLUSTERED "OpCapability GroupNonUniformClustered\n---\n"
#define UNIFORM                                                                                    \
    "OpDecorate %ub Block\nOpMemberDecorate %ub 0 Offset 0\nOpDecorate %uv DescriptorSet 0\n"      \
    "OpDecorate %uv Binding 3\n%ub = OpTypeStruct %u32\n%p_ub = OpTypePointer Uniform %ub\n"       \
    "%p_uu = OpTypePointer Uniform %u32\n%uv = OpVariable %p_ub Uniform\n---\n"                    \
    "%e = OpAccessChain %p_uu %uv %c0\n"
#define IMAGE_ARRAY(decoration)                                                                    \
    decoration "OpDecorate %mv DescriptorSet 0\nOpDecorate %mv Binding 4\n%sm = OpTypeSampler\n"   \
    "%many = OpTypeArray %sm %c4\n%p_many = OpTypePointer UniformConstant %many\n"                 \
    "%mv = OpVariable %p_many UniformConstant\n---\n"

static const Case cases[] = {
    { "width", "%x = OpTypeInt 64 1\n---\n", "%x = OpTypeInt 16 0\n---\n" },
    { "capability", "OpCapability Float8EXT\n%x = OpTypeFloat 8 Float8E5M2EXT\n---\n",
      "%x = OpTypeFloat 8 Float8E5M2EXT\n---\n" },
    { "capability",
      "OpCapability ShaderClockKHR\n---\n%x = OpReadClockKHR %u64 %c3",
      "%x = OpReadClockKHR %u64 %c3" },
    { "capability", "", "OpDecorate %c1 BuiltIn InvocationId\n---\n" },
    { "type-unique", "%x = OpTypeStruct %u32 %u32\n---\n", "%x = OpTypeInt 32 0\n---\n" },
    { "type-unique", "%x = OpTypeFunction %u32 %u32\n---\n",
      "%x = OpTypeFunction %f32 %f32\n---\n" },
    { "forward-pointer",
      FORWARD "OpMemberDecorate %n 0 Offset 0\n%n = OpTypeStruct %q\n"
              "%q = OpTypePointer PhysicalStorageBuffer %n\n---\n",
      FORWARD "%q = OpTypePointer PhysicalStorageBuffer %u32\n---\n" },
    { "constant-settled", SPECIAL "%x = OpSpecConstantComposite %u2 %k %k\n---\n",
      SPECIAL "%x = OpConstantComposite %u2 %k %k\n---\n" },
    { "null-address", "%x = OpConstantNull %u64\n---\n",
      BUFFER_ADDRESSES
      "%p = OpTypePointer PhysicalStorageBuffer %f32\n%x = OpConstantNull %p\n---\n" },
    { "spec-operation", SPECIAL "%x = OpSpecConstantOp %u32 IAdd %k %k\n---\n",
      "%x = OpSpecConstantOp %f32 FAdd %f1 %f1\n---\n" },
    { "spec-operation", "%x = OpSpecConstantOp %u32 UConvert %l1\n---\n",
      "; Version: 1.3\n%x = OpSpecConstantOp %u32 UConvert %l1\n---\n" },
    { "conversion", "%x = OpFConvert %f16 %f1", "%x = OpFConvert %f32 %f1" },
    { "conversion", "", "%x = OpSConvert %u32 %i1" },
    { "reflection-import", REFLECTION(1) "---\n",
      "%clspv = OpExtInstImport \"NonSemantic.ClspvReflection.1a\"\n---\n" },
    { "reflection-import", "",
      "; Version: 1.5\n%clspv = OpExtInstImport \"NonSemantic.ClspvReflection.1\"\n---\n" },
    { "reflection-operand",
      REFLECTION(2) "---\n" REFLECT "SpecConstantSubgroupMaxSize %c1\n",
      REFLECTION(1) "---\n" REFLECT "SpecConstantSubgroupMaxSize %c1\n" },
    { "reflection-operand", "",
      REFLECTION(2) "---\n" REFLECT "SpecConstantSubgroupMaxSize %f1\n" },
    { "reflection-operand",
      REFLECTION(1) "---\n%g = OpExtInst %void %clspv Kernel %main %text\n" REFLECT
                    "PropertyRequiredWorkgroupSize %g %c1 %c1 %c1\n",
      REFLECTION(1) "---\n" REFLECT "PropertyRequiredWorkgroupSize %c1 %c1 %c1 %c1\n" },
    { "reflection-operand", "", REFLECTION(1) "---\n" REFLECT "Kernel %half %text\n" },
    { "extension-version", "OpExtension \"SPV_KHR_workgroup_memory_explicit_layout\"\n---\n",
      "; Version: 1.3\nOpExtension \"SPV_KHR_workgroup_memory_explicit_layout\"\n---\n" },
    { "vector-count", "OpCapability LongVectorEXT\n%x = OpTypeVector %f32 5\n---\n",
      "%x = OpTypeVector %f32 5\n---\n" },
    { "vector-count", "", "%x = OpTypeVector %f32 8\n---\n" },
    { "type-parts", "", "%x = OpTypeStruct %u32 %void\n---\n" },
    { "type-parts", "", "%x = OpTypeFunction %void %void\n---\n" },
    { "matrix-columns", "", "%x = OpTypeMatrix %u2 2\n---\n" },
    { "width-storage", BYTES BYTE "%w = OpUConvert %u32 %b",
      BYTES "%p = OpTypePointer Private %u8\n%x = OpVariable %p Private\n---\n" },
    { "width-use", BYTES BYTE "OpStore %e8 %b", BYTES BYTE "%w = OpIAdd %u8 %b %b" },
    { "width-use", "", BYTES "%x = OpConstant %u8 1\n---\n" },
    { "memory-access", AT "%x = OpLoad %f32 %e Aligned 4", AT "%x = OpLoad %f32 %e Aligned 3" },
    { "memory-access", ADDRESSES "%x = OpLoad %f32 %a Aligned 4",
      ADDRESSES "%x = OpLoad %f32 %a" },
    { "memory-access", ADDRESSES "OpStore %a %f1 Aligned 2", ADDRESSES "OpStore %a %f1" },
    { "memory-access", AT "%x = OpLoad %f32 %e MakePointerVisible|NonPrivatePointer %c2",
      AT "%x = OpLoad %f32 %e MakePointerVisible %c2" },
    { "memory-access", "", AT "OpStore %e %f1 MakePointerVisible|NonPrivatePointer %c2" },
    { "memory-access", "",
      "%v = OpVariable %p_f Function\n%x = OpLoad %f32 %v NonPrivatePointer" },
    { "memory-copy", "%v = OpVariable %p_f Function\n" AT "OpCopyMemory %e %v",
      "%v = OpVariable %p_f Function\n" AT
      "OpCopyMemory %e %v None MakePointerAvailable|NonPrivatePointer %c2" },
    { "logical-argument",
      "OpCapability VariablePointersStorageBuffer\n---\n" AT "%x = OpFunctionCall %void %take %e",
      AT "%x = OpFunctionCall %void %take %e" },
    { "logical-pointer",
      "OpCapability VariablePointersStorageBuffer\n%n = OpConstantNull %p_sf\n---\n",
      "%n = OpConstantNull %p_sf\n---\n" },
    { "pointer-comparison",
      "OpCapability VariablePointersStorageBuffer\n---\n" AT "%x = OpPtrEqual %bool %e %e",
      AT "%x = OpPtrEqual %bool %e %e" },
    { "pointer-comparison", "", ADDRESSES "%x = OpPtrEqual %bool %a %a" },
    { "pointer-variable",
      "OpCapability VariablePointersStorageBuffer\n%pp = OpTypePointer Function %p_sf\n---\n"
      "%x = OpVariable %pp Function",
      "%pp = OpTypePointer Function %p_sf\n---\n%x = OpVariable %pp Function" },
    { "pointer-variable", "",
      "OpCapability VariablePointers\n%pp = OpTypePointer Workgroup %p_sf\n"
      "%x = OpVariable %pp Workgroup\n---\n" },
    { "pointer-matrix", CHOSEN("%arr", "%f32") "%x = OpSelect %p_x %t %k %k",
      CHOSEN("%m2", "%v2") "%x = OpSelect %p_x %t %k %k" },
    { "uniform-block", UNIFORM "%x = OpLoad %u32 %e", UNIFORM "OpStore %e %c1" },
    { "width-move", BYTES BYTE "OpStore %e8 %b",
      BYTES BYTE "%whole = OpLoad %s %v" },
    { "width-move", "", BYTES BYTE "OpCopyMemory %v %v" },
    { "descriptor-layout", IMAGE_ARRAY(""), IMAGE_ARRAY("OpDecorate %many ArrayStride 8\n") },
    { "memory-scope", AT "%x = OpLoad %f32 %e MakePointerVisible|NonPrivatePointer %c2",
      AT "%x = OpLoad %f32 %e MakePointerVisible|NonPrivatePointer %c1" },
    { "logical-pointer",
      "OpCapability VariablePointersStorageBuffer\n---\n" AT "%x = OpSelect %p_sf %t %e %e",
      AT "%x = OpSelect %p_sf %t %e %e" },
    { "variable-first", "%v = OpVariable %p_f Function",
      "%x = OpFAdd %f32 %f1 %f1\n%v = OpVariable %p_f Function" },
    { "selection-merge",
      "OpSelectionMerge %m None\nOpBranchConditional %t %a %m\n%a = OpLabel\nOpBranch %m\n"
      "%m = OpLabel",
      "OpSelectionMerge %m None\nOpBranchConditional %t %a %m\n%a = OpLabel\n"
      "OpSelectionMerge %m None\nOpBranchConditional %t %b %m\n%b = OpLabel\nOpBranch %m\n"
      "%m = OpLabel" },
    { "loop-merge",
      "OpBranch %h\n%h = OpLabel\nOpLoopMerge %m %h Unroll\nOpBranchConditional %t %h %m\n"
      "%m = OpLabel",
      "OpBranch %h\n%h = OpLabel\nOpLoopMerge %m %h Unroll|DontUnroll\n"
      "OpBranchConditional %t %h %m\n%m = OpLabel" },
    { "switch-merge", "OpSelectionMerge %m None\nOpSwitch %c1 %m 1 %m\n%m = OpLabel",
      "OpSwitch %c1 %m 1 %m\n%m = OpLabel" },
    { "decoration-place", "OpDecorate %x RelaxedPrecision\n---\n%x = OpFAdd %f32 %f1 %f1",
      "OpDecorate %x Block\n---\n%x = OpFAdd %f32 %f1 %f1" },
    { "decoration-place", "OpDecorate %k SpecId 1\n%k = OpSpecConstant %u32 1\n---\n",
      "OpDecorate %c1 SpecId 1\n---\n" },
    { "decoration-place", "OpMemberDecorate %pair 1 NonWritable\n---\n",
      "OpMemberDecorate %pair 2 NonWritable\n---\n" },
    { "decoration-place", "", "OpMemberDecorate %pair 1 ArrayStride 4\n---\n" },
    { "decoration-place",
      "OpDecorate %size BuiltIn WorkgroupSize\n%u3 = OpTypeVector %u32 3\n"
      "%size = OpConstantComposite %u3 %c8 %c1 %c1\n---\n",
      "OpDecorate %c1 BuiltIn WorkgroupId\n---\n" },
    { "decoration-id", "OpDecorateId %x UniformId %c3\n---\n%x = OpFAdd %f32 %f1 %f1",
      "OpDecorate %x UniformId %c3\n---\n%x = OpFAdd %f32 %f1 %f1" },
    { "decoration-literal", "OpDecorateId %x UniformId %c3\n---\n%x = OpFAdd %f32 %f1 %f1",
      "OpDecorateId %x UniformId %f1\n---\n%x = OpFAdd %f32 %f1 %f1" },
    { "decoration-once", "OpDecorate %shared Restrict\n---\n",
      "OpDecorate %shared Restrict\nOpDecorate %shared Aliased\n---\n" },
    { "decoration-once", "OpMemberDecorate %pair 0 Offset 0\n---\n",
      "OpMemberDecorate %pair 0 Offset 0\nOpMemberDecorate %pair 0 Offset 4\n---\n" },
    { "decoration-group",
      "%group = OpDecorationGroup\nOpGroupMemberDecorate %group %pair 0 %pair 1\n---\n",
      "%group = OpDecorationGroup\nOpGroupMemberDecorate %group %pair 1 %pair 1\n---\n" },
    { "decoration-vulkan", "OpDecorate %shared Aliased\n---\n",
      "OpDecorate %shared Coherent\n---\n" },
    { "decoration-vulkan", "", "OpDecorate %shared Binding 0\n---\n" },
    { "interface", LAID("%u32", "OpMemberDecorate %s 0 Offset 0\n"),
      "%p = OpTypePointer StorageBuffer %u32\n%v = OpVariable %p StorageBuffer\n---\n" },
    { "workgroup-blocks",
      EXPLICIT SHARED("OpDecorate %wa Aliased\nOpDecorate %wb Aliased\n",
                      "%wb = OpVariable %p_w Workgroup\n"),
      EXPLICIT SHARED("OpDecorate %wa Aliased\n", "%wb = OpVariable %p_w Workgroup\n") },
    { "workgroup-blocks", "", EXPLICIT SHARED("", "%wb = OpVariable %p_wu Workgroup\n") },
    { "workgroup-blocks", "", SHARED("", "%wb = OpVariable %p_wu Workgroup\n") },
    { "linkage", "",
      "OpCapability Linkage\nOpDecorate %main LinkageAttributes \"main\" Import\n---\n" },
    { "entry-point-linkage", "",
      "OpCapability Linkage\nOpDecorate %main LinkageAttributes \"main\" Export\n---\n" },
    { "block-layout",
      LAID("%v3 %f32", "OpMemberDecorate %s 0 Offset 4\nOpMemberDecorate %s 1 Offset 0\n"),
      LAID("%v3 %f32", "OpMemberDecorate %s 0 Offset 0\nOpMemberDecorate %s 1 Offset 8\n") },
    { "block-layout", LAID("%f64", "OpMemberDecorate %s 0 Offset 8\n"),
      LAID("%f64", "OpMemberDecorate %s 0 Offset 4\n") },
    { "block-layout", "", LAID("%f32", "") },
    { "block-layout", "", LAID("%bool", "OpMemberDecorate %s 0 Offset 0\n") },
    { "block-layout", "", LAID("%u32 %b2", "OpMemberDecorate %s 0 Offset 0\n"
                                           "OpMemberDecorate %s 1 Offset 8\n") },
    { "block-layout",
      "OpCapability Linkage\n%of_one = OpTypeStruct %bool\n%p_one = OpTypePointer Workgroup "
      "%of_one\n%one = OpVariable %p_one Workgroup\n---\n",
      "OpDecorate %yes Block\nOpMemberDecorate %yes 0 Offset 0\n%yes = OpTypeStruct %bool\n"
      "%p_yes = OpTypePointer PushConstant %yes\n%said = OpVariable %p_yes PushConstant\n---\n" },
    { "block-layout",
      LAID("%arr", "OpMemberDecorate %s 0 Offset 0\nOpDecorate %arr ArrayStride 4\n"),
      LAID("%arr", "OpMemberDecorate %s 0 Offset 0\n") },
    { "block-layout", "",
      LAID("%arr", "OpMemberDecorate %s 0 Offset 0\nOpDecorate %arr ArrayStride 2\n") },
    { "block-layout", "",
      LAID("%rta %f32", "OpMemberDecorate %s 0 Offset 4\nOpMemberDecorate %s 1 Offset 8\n") },
    { "block-layout",
      LAID("%m23", "OpMemberDecorate %s 0 Offset 0\nOpMemberDecorate %s 0 ColMajor\n"
                   "OpMemberDecorate %s 0 MatrixStride 12\n"),
      LAID("%m23", "OpMemberDecorate %s 0 Offset 0\nOpMemberDecorate %s 0 ColMajor\n"
                   "OpMemberDecorate %s 0 MatrixStride 8\n") },
    { "block-layout", "",
      LAID("%m23",
           "OpMemberDecorate %s 0 Offset 0\nOpMemberDecorate %s 0 MatrixStride 16\n") },
    { "address-layout",
      "OpCapability PhysicalStorageBufferAddresses\n-OpMemoryModel\n"
      "OpMemoryModel PhysicalStorageBuffer64 Vulkan\nOpMemberDecorate %mixed 0 Offset 0\n"
      "OpMemberDecorate %mixed 1 Offset 4\n"
      "%p = OpTypePointer PhysicalStorageBuffer %mixed\n---\n",
      "OpCapability PhysicalStorageBufferAddresses\n-OpMemoryModel\n"
      "OpMemoryModel PhysicalStorageBuffer64 Vulkan\nOpMemberDecorate %mixed 0 Offset 0\n"
      "%p = OpTypePointer PhysicalStorageBuffer %mixed\n---\n" },
    { "untyped-layout", "",
      "OpCapability UntypedPointersKHR\nOpExtension \"SPV_KHR_untyped_pointers\"\n"
      "OpMemberDecorate %mixed 0 Offset 0\n"
      "%p = OpTypeUntypedPointerKHR StorageBuffer\n---\n"
      "%x = OpUntypedAccessChainKHR %p %mixed %buffer %c0" },
    { "result-type", "%x = OpIAdd %u32 %c1 %c1", "%x = OpFAdd %void %f1 %f1" },
    { "scalar-constant", "%x = OpConstantTrue %bool\n---\n", "%x = OpConstantTrue %u32\n---\n" },
    { "null-constant", "%x = OpConstantNull %v2\n---\n", "%x = OpConstantNull %void\n---\n" },
    { "variable-size",
      "%n = OpConstant %u32 1000\n%a = OpTypeArray %u32 %n\n%p = OpTypePointer Private %a\n%x = "
      "OpVariable %p Private\n---\n",
      "%n = OpConstant %u32 1000000000\n%a = OpTypeArray %u32 %n\n%p = OpTypePointer Private "
      "%a\n%x = OpVariable %p Private\n---\n" },
    { "entry-point", "", "OpExecutionMode %main LocalSize 4096 4096 1\n---\n" },
    { "phi", "OpBranch %m\n%m = OpLabel\n%x = OpPhi %u32 %c1 %entry",
      "OpBranch %m\n%m = OpLabel\n%x = OpPhi %f32 %c1 %entry" },
    { "branch-operand",
      "OpSelectionMerge %m None\nOpBranchConditional %t %a %m\n%a = OpLabel\nOpBranch %m\n"
      "%m = OpLabel",
      "OpSelectionMerge %m None\nOpBranchConditional %c1 %a %m\n%a = OpLabel\nOpBranch %m\n"
      "%m = OpLabel" },
    { "return", "", "OpReturnValue %c1\n%after = OpLabel" },
    { "call", "%x = OpFunctionCall %f32 %half %f1", "%x = OpFunctionCall %f32 %half %c1" },
    { "recursion", "%x = OpFunctionCall %f32 %half %f1", "%x = OpFunctionCall %void %main" },
    { "integer-arithmetic", "%x = OpIMul %s32 %c1 %i1", "%x = OpIMul %u32 %c1 %l1" },
    { "float-arithmetic", "%x = OpFAdd %v2 %cv2 %cv2", "%x = OpFAdd %f32 %f1 %h1" },
    { "shift", "%x = OpShiftLeftLogical %u32 %c1 %l1", "%x = OpShiftLeftLogical %u2 %cu2 %c1" },
    { "bit-field", "%x = OpBitFieldUExtract %u2 %cu2 %c1 %c2",
      "%x = OpBitFieldUExtract %u32 %c1 %f1 %c2" },
    { "bit-count", "%x = OpBitCount %u32 %c1", "%x = OpBitCount %u32 %f1" },
    { "integer-relation", "%x = OpULessThan %bool %c1 %i1", "%x = OpULessThan %bool %c1 %l1" },
    { "float-relation", "%x = OpFOrdEqual %b2 %cv2 %cv2", "%x = OpFOrdEqual %bool %cv2 %cv2" },
    { "logical", "%x = OpLogicalAnd %bool %t %t", "%x = OpLogicalAnd %bool %t %c1" },
    { "any-all", "%x = OpAny %bool %cb2", "%x = OpAny %bool %cu2" },
    { "select", "%x = OpSelect %v2 %cb2 %cv2 %cv2", "%x = OpSelect %v3 %cb2 %cv3 %cv3" },
    { "extended-result", "%x = OpUMulExtended %pair %c1 %c2",
      "%x = OpUMulExtended %mixed %c1 %c2" },
    { "conversion", "%x = OpConvertUToF %f32 %l1", "%x = OpConvertUToF %v2 %c1" },
    { "bitcast", "%x = OpBitcast %f64 %cu2", "%x = OpBitcast %f64 %c1" },
    { "float-type", "OpCapability Float8EXT\n%x = OpTypeFloat 8 Float8E4M3EXT\n---\n",
      "OpCapability Float4EXT\n%x = OpTypeFloat 8 Float4E2M1EXT\n---\n" },
    { "float-encoding", SMALL "%x = OpSelect %e2m1 %t %small %small",
      SMALL "%x = OpFAdd %e2m1 %small %small" },
    { "float-encoding", BRAIN "%x = OpDot %bf16 %brains %brains",
      BRAIN "%x = OpFMul %bf16 %brain %brain" },
    { "float-encoding", BRAIN "%x = OpFConvert %f32 %brain",
      BRAIN "%x = OpExtInst %bf16 %glsl FAbs %brain" },
    { "float-encoding", BRAIN "%x = OpSelect %bv2 %t %brains %brains",
      BRAIN "%x = OpFOrdLessThan %bool %brain %brain" },
    { "float-encoding", "", BRAIN "%x = OpGroupNonUniformAllEqual %bool %c3 %brain" },
    { "float-encoding", "", BRAIN "%x = OpGroupNonUniformPartitionEXT %u4 %brain" },
    { "float-encoding", "", BRAIN "%x = OpVectorTimesScalar %bv2 %brains %brain" },
    { "float-widening", SMALL "%x = OpFConvert %f16 %small", SMALL "%x = OpFConvert %e2m1 %f1" },
    { "bitcast-extract", SMALL "%x = OpBitcastExtractEXT %e2m1 %c1 %c4",
      SMALL "%x = OpBitcastExtractEXT %u32 %c1 %c4" },
    { "sub-byte-storage",
      "OpCapability Float4EXT\n%e2m1 = OpTypeFloat 4 Float4E2M1EXT\n"
      "%p = OpTypePointer Private %e2m1\n"
      "%x = OpVariable %p Private\n---\n",
      "OpCapability Float4EXT\n%e2m1 = OpTypeFloat 4 Float4E2M1EXT\n"
      "%p = OpTypePointer Workgroup %e2m1\n"
      "%x = OpVariable %p Workgroup\n---\n" },
    { "pointer-conversion", "", AT "%x = OpConvertPtrToU %f32 %e" },
    { "copy-object", "%x = OpCopyObject %f32 %f1", "%x = OpCopyObject %f32 %c1" },
    { "dot", "%x = OpDot %f32 %cv2 %cv2", "%x = OpDot %f32 %cv2 %cv3" },
    { "integer-dot", "%x = OpUDot %u32 %cu2 %cu2", "%x = OpUDot %u32 %cu2 %cu4" },
    { "matrix-product", "%x = OpMatrixTimesVector %v3 %cm23 %cv2",
      "%x = OpMatrixTimesVector %v2 %cm23 %cv2" },
    { "transpose", "%x = OpTranspose %m2 %cm2", "%x = OpTranspose %m2 %cm23" },
    { "composite-extract", "%x = OpCompositeExtract %f32 %cm2 1 1",
      "%x = OpCompositeExtract %f32 %cm2 1 2" },
    { "composite-insert", "%x = OpCompositeInsert %v2 %f1 %cv2 1",
      "%x = OpCompositeInsert %v2 %c1 %cv2 1" },
    { "composite-construct", "%x = OpCompositeConstruct %v4 %cv3 %f1",
      "%x = OpCompositeConstruct %v4 %cv3" },
    { "composite-construct", "%x = OpConstantComposite %pair %c1 %c2\n---\n",
      "%x = OpConstantComposite %pair %c1 %f1\n---\n" },
    { "vector-shuffle", "%x = OpVectorShuffle %v2 %cv2 %cv3 4 0",
      "%x = OpVectorShuffle %v2 %cv2 %cv3 5 0" },
    { "vector-dynamic", "%x = OpVectorExtractDynamic %f32 %cv2 %c1",
      "%x = OpVectorExtractDynamic %f32 %cv2 %f1" },
    { "copy-logical", "%other = OpTypeStruct %u32 %u32\n---\n%x = OpCopyLogical %other %cpair",
      "%x = OpCopyLogical %mixed %cpair" },
    { "load", AT "%x = OpLoad %f32 %e", AT "%x = OpLoad %u32 %e" },
    { "store", AT "OpStore %e %f1", "%x = OpAccessChain %p_pu %push %c0\nOpStore %x %c1" },
    { "copy-memory", "%v = OpVariable %p_f Function\n" AT "OpCopyMemory %e %v",
      "%v = OpVariable %p_u Function\n" AT "OpCopyMemory %e %v" },
    { "access-chain", "%x = OpAccessChain %p_sf %buffer %c0 %c8",
      "%x = OpAccessChain %p_sf %buffer %c1 %c8" },
    { "access-chain", "%v = OpVariable %p_arr Function\n%x = OpAccessChain %p_f %v %c3",
      "%v = OpVariable %p_arr Function\n%x = OpAccessChain %p_f %v %f1" },
    { "access-chain", "%v = OpVariable %p_arr Function\n%x = OpAccessChain %p_f %v %c4",
      "%v = OpVariable %p_arr Function\n%x = OpAccessChain %p_u %v %c4" },
    { "array-length", "%x = OpArrayLength %u32 %buffer 0",
      "%v = OpVariable %p_u Function\n%x = OpArrayLength %u32 %v 0" },
    { "image-variable", IMAGES "---\n", "%smp = OpTypeSampler\n%p = OpTypePointer Private %smp\n"
                                         "%x = OpVariable %p Private\n---\n" },
    { "sampled-image", IMAGES "---\n" LOADED "%x = OpSampledImage %si %a %s",
      IMAGES "---\n" LOADED "%x = OpSampledImage %si %a %a" },
    /* but for whether it is of depths */
    { "sampled-image",
      IMAGES "%dep = OpTypeImage %f32 2D 1 0 0 1 Unknown\n%sd = OpTypeSampledImage %dep\n---\n"
      LOADED "%x = OpSampledImage %sd %a %s",
      IMAGES "%lay = OpTypeImage %f32 2D 0 1 0 1 Unknown\n%sl = OpTypeSampledImage %lay\n---\n"
      LOADED "%x = OpSampledImage %sl %a %s" },
    { "image", IMAGES "---\n" LOADED "%both = OpSampledImage %si %a %s\n%x = OpImage %img %both",
      IMAGES "---\n" LOADED "%x = OpImage %img %a" },
    { "image-operands", IMAGES "---\n" LOADED "%x = OpImageFetch %v4 %a %cu2 Lod %c0",
      IMAGES "---\n" LOADED "%x = OpImageFetch %v4 %a %cv2 Lod %c0" },
    { "image-operands", IMAGES "---\n" LOADED "OpImageWrite %w %cu2 %cv4",
      IMAGES "---\n" LOADED "OpImageWrite %w %cu2 %cu4" },
    { "image-operands",
      IMAGES "---\n" LOADED "%both = OpSampledImage %si %a %s\n"
             "%x = OpImageSampleExplicitLod %v4 %both %cv2 Lod|ConstOffset %f1 %cu2",
      IMAGES "---\n" LOADED "%x = OpImageSampleExplicitLod %v4 %a %cv2 Lod %f1" },
    { "image-samples", SAMPLED "%x = OpImageFetch %v4 %a %cu2 Sample %c0",
      SAMPLED "%x = OpImageFetch %v4 %a %cu2" },
    { "image-samples", SAMPLED "%x = OpImageQuerySamples %u32 %a",
      IMAGES "---\n" LOADED "%x = OpImageQuerySamples %u32 %w" },
    { "image-samples", SAMPLED "%x = OpImageQuerySize %u2 %a",
      SAMPLED "%x = OpImageQuerySizeLod %u2 %a %c0" },
    { "image-samples", IMAGES "---\n" LOADED "OpImageWrite %w %cu2 %cv4",
      IMAGES "---\n" LOADED "OpImageWrite %w %cu2 %cv4 Sample %c0" },
    { "image-result", IMAGES "---\n" LOADED "%x = OpImageQuerySizeLod %u2 %a %c0",
      IMAGES "---\n" LOADED "%x = OpImageQuerySizeLod %u32 %a %c0" },
    { "texel-pointer", IMAGES "%p_if = OpTypePointer Image %f32\n---\n"
                       "%x = OpImageTexelPointer %p_if %write %cu2 %c0",
      IMAGES "%p_iu = OpTypePointer Image %u32\n---\n"
             "%x = OpImageTexelPointer %p_iu %write %cu2 %c0" },
    { "pointer-relation",
      "OpCapability VariablePointersStorageBuffer\n---\n" AT "%x = OpPtrEqual %bool %e %e",
      "OpCapability VariablePointersStorageBuffer\n---\n" AT "%x = OpPtrEqual %u32 %e %e" },
    { "atomic", "%x = OpAtomicIAdd %u32 %shared %c2 %c264 %c1",
      "%x = OpAtomicIAdd %u32 %shared %c2 %c264 %f1" },
    { "variable", "%v = OpVariable %p_u Function %c1", "%v = OpVariable %p_u Function %f1" },
    { "scope", "%x = OpGroupNonUniformElect %bool %c3", "%x = OpGroupNonUniformElect %bool %c1" },
    { "derivative", "%x = OpDPdx %v2 %cv2", "%x = OpFwidthFine %f32 %cv2" },
    { "derivative", "", "%x = OpDPdy %f16 %h1" },
    { "derivative", "", "%x = OpDPdxCoarse %f64 %d1" },
    { "derivative-group",
      "OpExecutionMode %main LocalSize 32 1 1\n"
      "OpExecutionMode %main DerivativeGroupLinearKHR\n---\n",
      "OpExecutionMode %main LocalSize 32 1 1\n"
      "OpExecutionMode %main DerivativeGroupQuadsKHR\n---\n" },
    { "memory-scope", "OpMemoryBarrier %c2 %c264", "OpMemoryBarrier %c1 %c264" },
    { "memory-scope", "OpMemoryBarrier %c5 %c264",
      "-OpCapability VulkanMemoryModel\n-OpMemoryModel\nOpMemoryModel Logical GLSL450\n---\n"
      "OpMemoryBarrier %c5 %c264" },
    { "memory-semantics", "OpControlBarrier %c2 %c2 %c0",
      "%s = OpConstant %u32 10\n---\nOpControlBarrier %c2 %c2 %s" },
    { "memory-semantics", "%x = OpAtomicLoad %u32 %shared %c2 %c258",
      "%x = OpAtomicLoad %u32 %shared %c2 %c264" },
    { "memory-semantics", "OpMemoryBarrier %c2 %c264", "OpMemoryBarrier %c2 %c8" },
    { "memory-semantics", "", "OpMemoryBarrier %c4 %c264" },
    { "memory-semantics", "%x = OpAtomicCompareExchange %u32 %shared %c2 %c264 %c258 %c1 %c1",
      "%x = OpAtomicCompareExchange %u32 %shared %c2 %c0 %c258 %c1 %c1" },
    { "memory-semantics",
      "OpControlBarrierArriveEXT %c2 %c2 %c260\nOpControlBarrierWaitEXT %c2 %c2 %c258",
      "OpControlBarrierArriveEXT %c2 %c2 %c264" },
    { "barrier", "OpControlBarrier %c2 %c2 %c264", "OpControlBarrier %c2 %c2 %f1" },
    { "group-move", "%x = OpGroupNonUniformBroadcastFirst %v2 %c3 %cv2",
      "%x = OpGroupNonUniformBroadcastFirst %v2 %c3 %cv3" },
    { "group-reduce", "%x = OpGroupNonUniformFAdd %f32 %c3 Reduce %f1",
      "%x = OpGroupNonUniformFAdd %u32 %c3 Reduce %c1" },
    { "group-reduce", CLUSTERED "%x = OpGroupNonUniformIAdd %u32 %c3 ClusteredReduce %c1 %c4",
      CLUSTERED "%x = OpGroupNonUniformIAdd %u32 %c3 ClusteredReduce %c1 %c3" },
    { "group-reduce", CLUSTERED "%x = OpGroupNonUniformIAdd %u32 %c3 ClusteredReduce %c1 %c0",
      CLUSTERED "%x = OpGroupNonUniformIAdd %u32 %c3 ClusteredReduce %c1 %i1" },
    { "vote", "%x = OpGroupNonUniformAny %bool %c3 %t", "%x = OpGroupNonUniformAny %bool %c3 %c1" },
    { "ballot", "%x = OpGroupNonUniformBallot %u4 %c3 %t",
      "%x = OpGroupNonUniformBallot %u2 %c3 %t" },
    { "glsl-std-450", "%x = OpExtInst %v2 %glsl FMax %cv2 %cv2",
      "%x = OpExtInst %v2 %glsl FMax %cv2 %f1" },
    { "glsl-std-450", "%x = OpExtInst %f32 %glsl Length %cv2",
      "%x = OpExtInst %v2 %glsl Length %cv2" },
    { "select", "%x = OpSpecConstantOp %u32 Select %t %c1 %c2\n---\n",
      "%x = OpSpecConstantOp %u32 Select %c1 %c1 %c2\n---\n" },
    { "coopmat-capability", "", "-OpCapability CooperativeMatrixKHR\n---\n" },
    { "coopmat-extension", "", "-OpExtension \"SPV_KHR_cooperative_matrix\"\n---\n" },
    { "coopmat-transfer-array", AT "%x = OpCooperativeMatrixLoadKHR %mc %e %c0 %c4",
      "%x = OpCooperativeMatrixLoadKHR %mi %shared %c0 %c4" },
    { "coopmat-type", "%x = OpTypeCooperativeMatrixKHR %f16 %c3 %c16 %c16 %c0\n---\n",
      "%x = OpTypeCooperativeMatrixKHR %f16 %c3 %c0 %c16 %c0\n---\n" },
    { "coopmat-type", "", "%x = OpTypeCooperativeMatrixKHR %f16 %c3 %c16 %c16 %c3\n---\n" },
    { "coopmat-type", "", "%x = OpTypeCooperativeMatrixKHR %f16 %c4 %c16 %c16 %c2\n---\n" },
    { "coopmat-type", "", "%x = OpTypeCooperativeMatrixKHR %f16 %c3 %f1 %c16 %c2\n---\n" },
    { "coopmat-storage", "%p = OpTypePointer Private %mc\n%x = OpVariable %p Private\n---\n",
      "%p = OpTypePointer Workgroup %mc\n%x = OpVariable %p Workgroup\n---\n" },
    { "coopmat-length", "%x = OpCooperativeMatrixLengthKHR %u32 %mc",
      "%x = OpCooperativeMatrixLengthKHR %u32 %m2" },
    { "coopmat-transfer-matrix", AT "OpCooperativeMatrixStoreKHR %e %nc %c0 %c4",
      AT "OpCooperativeMatrixStoreKHR %e %f1 %c0 %c4" },
    { "coopmat-transfer-pointer", AT "%x = OpCooperativeMatrixLoadKHR %mc %e %c0 %c4",
      "%v = OpVariable %p_f Function\n%x = OpCooperativeMatrixLoadKHR %mc %v %c0 %c4" },
    { "coopmat-layout", AT "%x = OpCooperativeMatrixLoadKHR %mc %e %c1 %c4",
      AT "%x = OpCooperativeMatrixLoadKHR %mc %e %f1 %c4" },
    { "coopmat-stride", AT "%x = OpCooperativeMatrixLoadKHR %mc %e %c0 %c4",
      AT "%x = OpCooperativeMatrixLoadKHR %mc %e %c0" },
    { "coopmat-stride", "", AT "%x = OpCooperativeMatrixLoadKHR %mc %e %c0 %f1" },
    { "coopmat-memory-operand", AT "%x = OpCooperativeMatrixLoadKHR %mc %e %c0 %c4 Aligned 4",
      AT
      "%x = OpCooperativeMatrixLoadKHR %mc %e %c0 %c4 MakePointerAvailable|NonPrivatePointer %c2" },
    { "coopmat-muladd-types", "%x = OpCooperativeMatrixMulAddKHR %mc %na %nb %nc",
      "%x = OpCooperativeMatrixMulAddKHR %mc %na %f1 %nc" },
    { "coopmat-muladd-use", "%x = OpCooperativeMatrixMulAddKHR %mc %na %nb %nc",
      "%x = OpCooperativeMatrixMulAddKHR %mc %na %na %nc" },
    { "coopmat-muladd-shape", "%x = OpCooperativeMatrixMulAddKHR %mc %na %nb %nc",
      "%o = OpTypeCooperativeMatrixKHR %f32 %c3 %c16 %c4 %c0\n%no = OpConstantNull %o\n---\n%x = "
      "OpCooperativeMatrixMulAddKHR %mc %no %nb %nc" },
    { "coopmat-muladd-scope", "%x = OpCooperativeMatrixMulAddKHR %mc %na %nb %nc",
      "%x = OpCooperativeMatrixMulAddKHR %mc %na %nb %nw" },
    { "coopmat-muladd-components", "%x = OpCooperativeMatrixMulAddKHR %mi %nia %nib %ni",
      "%x = OpCooperativeMatrixMulAddKHR %mc %na %nib %nc" },
    { "coopmat-muladd-saturation",
      "%x = OpCooperativeMatrixMulAddKHR %mi %nia %nib %ni SaturatingAccumulationKHR",
      "%x = OpCooperativeMatrixMulAddKHR %mc %na %nb %nc SaturatingAccumulationKHR" },
    { "coopmat-construct", "%x = OpCompositeConstruct %mc %f1",
      "%x = OpCompositeConstruct %mc %h1" },
    { "coopmat-construct", "%x = OpConstantComposite %mc %f1\n---\n",
      "%x = OpConstantComposite %mc %f1 %f1\n---\n" },
    { "coopmat-allowed", "%x = OpFMul %mc %nc %nc", "%x = OpFRem %mc %nc %nc" },
    { "float-arithmetic", "%x = OpFMul %mc %nc %nc", "%x = OpFMul %mc %nc %na" },
    { "conversion", "%x = OpConvertFToS %mi %nc", "%x = OpConvertFToS %mi %na" },
    { "matrix-product", "%x = OpMatrixTimesScalar %mc %nc %f1",
      "%x = OpMatrixTimesScalar %mc %nc %h1" },
};

/* Where a line belongs; the common module's `head` is in that order. */
enum {
    VERSION, CAPABILITIES, EXTENSIONS, IMPORTS, MODEL, ENTRY, MODES, ANNOTATIONS, DECLARATIONS,
    N_PLACES
};

static uint32_t place(const char *line)
{
    static const struct {
        const char *begins;
        uint32_t place;
    } places[] = {
        { "; Version", VERSION },
        { "OpCapability", CAPABILITIES }, { "OpExtension", EXTENSIONS },
        { "OpMemoryModel", MODEL },       { "OpEntryPoint", ENTRY },
        { "%glsl", IMPORTS },          { "%clspv", IMPORTS },
        { "%text", MODES },
        { "OpExecutionMode", MODES },     { "OpName", ANNOTATIONS },
        { "OpDecorate", ANNOTATIONS },    { "OpMemberDecorate", ANNOTATIONS },
        { "OpGroup", ANNOTATIONS }, { "%group", ANNOTATIONS },
    };
    for (uint32_t k = 0; k < COUNT_OF(places); k++)
        if (!strncmp(line, places[k].begins, strlen(places[k].begins)))
            return places[k].place;
    return DECLARATIONS;
}

/* Whether some line of `insts` is a minus and what `line` begins with. */
static bool left_out(const char *insts, const char *end, const char *line)
{
    for (const char *at = insts; at < end; at = strchr(at, '\n') + 1) {
        size_t n = strcspn(at, "\n");
        if (*at == '-' && !strncmp(at + 1, line, n - 1))
            return true;
    }
    return false;
}

static char *module_text(Arena *a, const char *insts)
{
    const char *dashes = strstr(insts, "---\n"), *body = dashes ? dashes + 4 : insts;
    const char *end = dashes ? dashes : insts;
    Str s = { 0 }, parts[N_PLACES] = { 0 };
    const char *mode = strstr(insts, "OpExecutionMode");
    for (const char *at = head; *at; at = strchr(at, '\n') + 1) {
        uint32_t where = place(at);
        if (!left_out(insts, end, at) && !(mode && mode < end && where == MODES))
            str_addn(a, &parts[where], at, strcspn(at, "\n") + 1);
    }
    for (const char *at = insts; at < end; at = strchr(at, '\n') + 1)
        if (*at != '-')
            str_addn(a, &parts[place(at)], at, strcspn(at, "\n") + 1);
    for (uint32_t k = 0; k < N_PLACES; k++)
        str_add(a, &s, parts[k].len ? parts[k].data : "");
    str_add(
        a, &s,
        "%half = OpFunction %f32 None %fn_f\n%arg = OpFunctionParameter %f32\n%h_entry = OpLabel\n"
        "%h_x = OpFMul %f32 %arg %arg\nOpReturnValue %h_x\nOpFunctionEnd\n"
        "%take = OpFunction %void None %fn_p\n%to = OpFunctionParameter %p_sf\n"
        "%t_entry = OpLabel\nOpReturn\nOpFunctionEnd\n"
        "%main = OpFunction %void None %fn\n%entry = OpLabel\n");
    str_add(a, &s, body);
    str_add(a, &s, "\nOpReturn\nOpFunctionEnd\n");
    return s.data;
}

#include "check/test/cases.h"

/* Rules whose breach is a warning. */
static const char signs[] = "coopmat-muladd-signs";
#define BRAIN_MATRIX                                                                               \
    "OpCapability BFloat16CooperativeMatrixKHR\nOpExtension \"SPV_KHR_bfloat16\"\n"               \
    "%bf16 = OpTypeFloat 16 BFloat16KHR\n%bm = OpTypeCooperativeMatrixKHR %bf16 %c3 %c16 %c4 %c2\n"\
    "%nbm = OpConstantNull %bm\n---\n"

TEST(doubts_are_warnings)
{
    static const struct {
        const char *rule, *clear, *doubtful;
    } insts[] = {
        { signs, "%x = OpCooperativeMatrixMulAddKHR %mi %nia %nib %ni MatrixASignedComponentsKHR",
          "%x = OpCooperativeMatrixMulAddKHR %mc %na %nb %nc MatrixASignedComponentsKHR" },
        { "float-encoding", BRAIN_MATRIX "%x = OpFConvert %mc %nbm",
          BRAIN_MATRIX "%x = OpFAdd %bm %nbm %nbm" },
        { "float-encoding", BRAIN_MATRIX "%x = OpSelect %bm %t %nbm %nbm",
          BRAIN_MATRIX "%x = OpFNegate %bm %nbm" },
    };
    for (uint32_t k = 0; k < COUNT_OF(insts); k++) {
        TestDiags clear = TEST_DIAGS(clear), doubtful = TEST_DIAGS(doubtful);
        CHECK(judge(insts[k].clear, &clear) == ACCEPTED && !strstr(clear.text, insts[k].rule));
        CHECK(judge(insts[k].doubtful, &doubtful) == ACCEPTED);
        CHECK(strstr(doubtful.text, insts[k].rule));
    }
}

/* The assembler writes none that are wrong. */
TEST(high_bits_of_literals)
{
    static const struct {
        const char *line;
        uint32_t word;
        bool good;
    } literals[] = {
        { "%x = OpConstant %s8 1", 0xffffffff, true },  { "%x = OpConstant %s8 1", 0xff, false },
        { "%x = OpConstant %s8 1", 0x101, false },      { "%x = OpConstant %f16 1", 0x3c00, true },
        { "%x = OpConstant %f16 1", 0x13c00, false },
        { "%x = OpSpecConstant %s8 1", 0x80, false },
    };
    for (uint32_t k = 0; k < COUNT_OF(literals); k++) {
        Arena a = { 0 };
        TestDiags d = TEST_DIAGS(d);
        char *text = module_text(&a, arena_printf(&a, "%s\n---\n", literals[k].line));
        SpvModule *m = spv_assemble(&a, text, strlen(text), "m.spvasm", &d.sink);
        const SpvInst *i = m ? m->globals.last : NULL;
        CHECK(i && i->n_words == 4);
        if (i)
            i->words[3] = literals[k].word;
        CHECK(i && check_read(m, &d.sink) == literals[k].good);
        CHECK((strstr(d.text, "[literal-bits (") != NULL) != literals[k].good);
        arena_free(&a);
    }
}

TEST(every_rule_has_a_case)
{
    for (uint32_t n = 0; check_rule(n); n++) {
        const CheckRule *r = check_rule(n);
        /* the other files here have those */
        static const char *const elsewhere[] = {
            "qcom-", "nv-", "opencl-", "wait-queues-", signs, "generic-cast", "generic-semantics",
            "async-copy", "wait-events", "lifetime", "pass-on", "assumption", "expectation",
            "clock",
            "group-rotate", "partition", "builtin", "untyped-", "back-edge", "construct-",
            "selection-structured", "literal-bits", "case-order", "branch-labels",
            "maximal-reconvergence"
        };
        bool found = false;
        for (uint32_t k = 0; k < COUNT_OF(elsewhere); k++)
            found |= !strncmp(r->id, elsewhere[k], strlen(elsewhere[k]));
        for (uint32_t k = 0; k < COUNT_OF(cases); k++)
            found |= !strcmp(cases[k].rule, r->id);
        if (!found)
            test_fail(__FILE__, __LINE__, "no case for %s", r->id);
        CHECK(r->section && *r->section && r->text && *r->text);
    }
}
