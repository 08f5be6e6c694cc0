/* SPDX-License-Identifier: MIT
 *
 * The rules of SPV_NV_cooperative_matrix2, SPV_NV_tensor_addressing and
 * SPV_NV_cooperative_matrix_decode_vector, each with a module that it accepts and one that it
 * rejects: instructions put into a common module, or, before a line of dashes, among its
 * declarations. At the very beginning "-X" takes the line X out of the module, "!" the workgroup's
 * size, and "5" makes it SPIR-V 1.5.
 */
#include "base/test.h"
#include "check/check.h"

static const char head[] =
    "OpCapability Shader\nOpCapability Int64\nOpCapability Float16\nOpCapability Int8\n"
    "OpCapability VulkanMemoryModel\n"
    "OpCapability PhysicalStorageBufferAddresses\nOpCapability CooperativeMatrixKHR\n"
    "OpCapability GroupNonUniform\n"
    "OpCapability CooperativeMatrixReductionsNV\nOpCapability CooperativeMatrixConversionsNV\n"
    "OpCapability CooperativeMatrixPerElementOperationsNV\n"
    "OpCapability CooperativeMatrixTensorAddressingNV\nOpCapability CooperativeMatrixBlockLoadsNV\n"
    "OpCapability TensorAddressingNV\nOpCapability CooperativeMatrixDecodeVectorNV\n"
    "OpExtension \"SPV_KHR_cooperative_matrix\"\nOpExtension \"SPV_NV_cooperative_matrix2\"\n"
    "OpExtension \"SPV_NV_tensor_addressing\"\n"
    "OpExtension \"SPV_NV_cooperative_matrix_decode_vector\"\n"
    "OpMemoryModel PhysicalStorageBuffer64 Vulkan\nOpEntryPoint GLCompute %main \"main\" %buffer\n"
    "OpExecutionMode %main LocalSize 64 1 1\n"
    "OpDecorate %rta ArrayStride 2\nOpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
    "OpMemberDecorate %block 1 Offset 4\n"
    "OpDecorate %buffer DescriptorSet 0\nOpDecorate %buffer Binding 0\n"
    "OpDecorate %q Block\nOpMemberDecorate %q 0 Offset 0\n";
static const char declarations[] =
    "%void = OpTypeVoid\n%bool = OpTypeBool\n%u32 = OpTypeInt 32 0\n%u64 = OpTypeInt 64 0\n"
    "%f32 = OpTypeFloat 32\n%f16 = OpTypeFloat 16\n%t = OpConstantTrue %bool\n"
    "%c0 = OpConstant %u32 0\n%c1 = OpConstant %u32 1\n%c2 = OpConstant %u32 2\n"
    "%c3 = OpConstant %u32 3\n%c4 = OpConstant %u32 4\n%c5 = OpConstant %u32 5\n"
    "%c6 = OpConstant %u32 6\n"
    "%c8 = OpConstant %u32 8\n%c16 = OpConstant %u32 16\n%c32 = OpConstant %u32 32\n"
    "%f1 = OpConstant %f32 1\n%h1 = OpConstant %f16 1\n%l1 = OpConstant %u64 1\n"
    "%v2 = OpTypeVector %f16 2\n%v3 = OpTypeVector %f16 3\n%w2 = OpTypeVector %f32 2\n"
    "%u2 = OpTypeArray %u32 %c2\n%u3 = OpTypeArray %u32 %c3\n"
    "%rta = OpTypeRuntimeArray %f16\n%block = OpTypeStruct %f16 %rta\n"
    "%p_block = OpTypePointer StorageBuffer %block\n%p_h = OpTypePointer StorageBuffer %f16\n"
    "%line = OpTypeArray %f16 %c32\n%p_line = OpTypePointer Workgroup %line\n"
    "%p_wh = OpTypePointer Workgroup %f16\n%p_fline = OpTypePointer Function %line\n"
    "%p_fh = OpTypePointer Function %f16\n"
    "%q = OpTypeStruct %f16\n%p_q = OpTypePointer PhysicalStorageBuffer %q\n"
    "%buffer = OpVariable %p_block StorageBuffer\n%shared = OpVariable %p_line Workgroup\n"
    "%acc = OpTypeCooperativeMatrixKHR %f16 %c3 %c16 %c8 %c2\n"
    "%wide = OpTypeCooperativeMatrixKHR %f16 %c3 %c16 %c32 %c2\n"
    "%low = OpTypeCooperativeMatrixKHR %f16 %c3 %c32 %c8 %c2\n"
    "%half = OpTypeCooperativeMatrixKHR %f16 %c3 %c8 %c4 %c2\n"
    "%group = OpTypeCooperativeMatrixKHR %f16 %c2 %c16 %c8 %c2\n"
    "%facc = OpTypeCooperativeMatrixKHR %f32 %c3 %c16 %c8 %c2\n"
    "%a = OpTypeCooperativeMatrixKHR %f16 %c3 %c16 %c8 %c0\n"
    "%b = OpTypeCooperativeMatrixKHR %f16 %c3 %c8 %c16 %c1\n"
    "%nacc = OpConstantNull %acc\n%nfacc = OpConstantNull %facc\n%na = OpConstantNull %a\n"
    "%ngroup = OpConstantNull %group\n"
    "%layout = OpTypeTensorLayoutNV %c2 %c1\n%p_layout = OpTypePointer Function %layout\n"
    "%p_u32 = OpTypePointer Function %u32\n%fnl = OpTypeFunction %void %p_layout\n"
    "%view = OpTypeTensorViewNV %c2 %t %c1 %c0\n%no = OpConstantFalse %bool\n"
    "%view2 = OpTypeTensorViewNV %c2 %no %c1 %c0\n"
    "%view3 = OpTypeTensorViewNV %c3 %no %c1 %c0 %c2\n"
    "%fn = OpTypeFunction %void\n%fn2 = OpTypeFunction %f16 %f16 %f16\n"
    "%fn1 = OpTypeFunction %f16 %f16\n"
    "%fne = OpTypeFunction %f16 %u32 %u32 %f16\n%fne2 = OpTypeFunction %f16 %u32 %u32 %f16 %f16\n"
    "%fnf = OpTypeFunction %f32 %u32 %u32 %f16\n"
    "%fnd = OpTypeFunction %f16 %p_q %u2 %u2\n%fnd3 = OpTypeFunction %f16 %p_q %u3 %u3\n"
    "%fnv = OpTypeFunction %v2 %p_q %u2 %u2\n%fnv3 = OpTypeFunction %v3 %p_q %u2 %u2\n"
    "%nv2 = OpConstantNull %v2\n%nv3 = OpConstantNull %v3\n";

#define FUNCTION(name, result, type, params, value)                                                \
    "%" name " = OpFunction %" result " None %" type "\n" params "%" name "_0 = OpLabel\n"         \
    "OpReturnValue %" value "\nOpFunctionEnd\n"
#define PARAM(name, type) "%" name " = OpFunctionParameter %" type "\n"
static const char functions[] =
    FUNCTION("combine", "f16", "fn2", PARAM("x1", "f16") PARAM("x2", "f16"), "x1")
    FUNCTION("one", "f16", "fn1", PARAM("y1", "f16"), "y1")
    FUNCTION("each", "f16", "fne", PARAM("e1", "u32") PARAM("e2", "u32") PARAM("e3", "f16"), "e3")
    FUNCTION("each2", "f16", "fne2",
             PARAM("g1", "u32") PARAM("g2", "u32") PARAM("g3", "f16") PARAM("g4", "f16"), "g4")
    FUNCTION("each_f", "f32", "fnf", PARAM("i1", "u32") PARAM("i2", "u32") PARAM("i3", "f16"), "f1")
    FUNCTION("decode", "f16", "fnd", PARAM("d1", "p_q") PARAM("d2", "u2") PARAM("d3", "u2"), "h1")
    FUNCTION("decode3", "f16", "fnd3", PARAM("j1", "p_q") PARAM("j2", "u3") PARAM("j3", "u3"), "h1")
    FUNCTION("vector", "v2", "fnv", PARAM("v_1", "p_q") PARAM("v_2", "u2") PARAM("v_3", "u2"),
             "nv2")
    FUNCTION("vector3", "v3", "fnv3", PARAM("k1", "p_q") PARAM("k2", "u2") PARAM("k3", "u2"), "nv3")
    "%stores = OpFunction %void None %fnl\n%q1 = OpFunctionParameter %p_layout\n%q_0 = OpLabel\n"
    "%q2 = OpAccessChain %p_h %buffer %c1 %c0\n%q3 = OpLoad %layout %q1\n"
    "OpCooperativeMatrixStoreTensorNV %q2 %nacc %q3 None None\nOpReturn\nOpFunctionEnd\n"
    "%leaves = OpFunction %void None %fnl\n%r1 = OpFunctionParameter %p_layout\n%r_0 = OpLabel\n"
    "OpReturn\nOpFunctionEnd\n"
    "%elect = OpFunction %f16 None %fn2\n%z1 = OpFunctionParameter %f16\n"
    "%z2 = OpFunctionParameter %f16\n%z_0 = OpLabel\n"
    "%z3 = OpGroupNonUniformElect %bool %c3\nOpReturnValue %z1\nOpFunctionEnd\n"
    "%deep = OpFunction %f16 None %fne\n%o1 = OpFunctionParameter %u32\n"
    "%o2 = OpFunctionParameter %u32\n%o3 = OpFunctionParameter %f16\n%o_0 = OpLabel\n"
    "%o4 = OpFunctionCall %f16 %elect %o3 %o3\nOpReturnValue %o4\nOpFunctionEnd\n";

typedef struct Case {
    const char *rule, *good, *bad;
} Case;

#define AT     "%e = OpAccessChain %p_h %buffer %c1 %c0\n"
#define LAYOUT                                                                                     \
    "%l0 = OpCreateTensorLayoutNV %layout\n"                                                       \
    "%l = OpTensorLayoutSetDimensionNV %layout %l0 %c16 %c8\n"
#define VIEW   "%w = OpCreateTensorViewNV %view\n"
#define LOAD   AT LAYOUT VIEW "%x = OpCooperativeMatrixLoadTensorNV "
#define STORE  AT LAYOUT VIEW "OpCooperativeMatrixStoreTensorNV "
#define REDUCE "%x = OpCooperativeMatrixReduceNV "
#define EACH   "%x = OpCooperativeMatrixPerElementOpNV "
#define VIEWS(type)                                                                                \
    AT LAYOUT "%w = OpCreateTensorViewNV " type "\n"                                               \
              "%x = OpCooperativeMatrixLoadTensorNV %acc %e %nacc %l None TensorView %w"
#define DECODE "%x = OpCooperativeMatrixLoadTensorNV %acc %e %nacc %l None "
/* A layout that went through a variable, and numbers that did. */
#define VARIABLES                                                                                  \
    "%vl = OpVariable %p_layout Function\n%vn = OpVariable %p_u32 Function\n" AT LAYOUT          \
    "OpStore %vn %c"
#define FROM_VARIABLES                                                                             \
    "\n%n = OpLoad %u32 %vn\n%l2 = OpTensorLayoutSetBlockSizeNV %layout %l %c1 %n\nOpStore %vl "  \
    "%l2\n%l3 = OpLoad %layout %vl\n%l4 = OpTensorLayoutSetDimensionNV %layout %l3 %c16 %c8\n"    \
    "OpStore %vl %l4\n"
#define STORE_VARIABLE                                                                             \
    "%l5 = OpLoad %layout %vl\nOpCooperativeMatrixStoreTensorNV %e %nacc %l5 None None\n"
#define BLOCKS(last)                                                                               \
    AT "%l0 = OpCreateTensorLayoutNV %layout\n"                                                    \
       "%lb = OpTensorLayoutSetBlockSizeNV %layout %l0 %c1 %" last "\n"                            \
       "%l = OpTensorLayoutSetDimensionNV %layout %lb %c16 %c8\n"

static const Case cases[] = {
    /* tensor addressing */
    { "nv-tensor-capability", LAYOUT, "-OpCapability TensorAddressingNV\n" LAYOUT },
    { "nv-tensor-extension", LAYOUT, "-OpExtension \"SPV_NV_tensor_addressing\"\n" LAYOUT },
    { "nv-tensor-dimensions", "%x = OpTypeTensorLayoutNV %c5 %c0\n---\n",
      "%x = OpTypeTensorLayoutNV %c6 %c0\n---\n" },
    { "nv-tensor-dimensions", "%x = OpTypeTensorLayoutNV %c1 %c0\n---\n",
      "%x = OpTypeTensorLayoutNV %c0 %c0\n---\n" },
    { "nv-tensor-clamp", "%x = OpTypeTensorLayoutNV %c2 %c4\n---\n",
      "%x = OpTypeTensorLayoutNV %c2 %c5\n---\n" },
    { "nv-tensor-has-dimensions", "%x = OpTypeTensorViewNV %c1 %t %c0\n---\n",
      "%x = OpTypeTensorViewNV %c1 %c1 %c0\n---\n" },
    { "nv-tensor-permutation", "%x = OpTypeTensorViewNV %c3 %t %c2 %c0 %c1\n---\n",
      "%x = OpTypeTensorViewNV %c3 %t %c2 %c0 %c2\n---\n" },
    { "nv-tensor-permutation", "", "%x = OpTypeTensorViewNV %c3 %t %c1 %c0\n---\n" },
    { "nv-tensor-storage", "%p = OpTypePointer Private %layout\n%x = OpVariable %p Private\n---\n",
      "%p = OpTypePointer Workgroup %layout\n%x = OpVariable %p Workgroup\n---\n" },
    { "nv-tensor-storage", "%s = OpTypeStruct %u32 %layout\n---\n",
      "%s = OpTypeStruct %u32 %layout\n%p = OpTypePointer Workgroup %s\n%x = OpVariable %p "
      "Workgroup\n---\n" },
    { "nv-tensor-result", VIEW, "%x = OpCreateTensorViewNV %layout" },
    { "nv-tensor-source", LAYOUT "%x = OpTensorLayoutSetClampValueNV %layout %l %c1",
      VIEW "%x = OpTensorLayoutSetClampValueNV %layout %w %c1" },
    { "nv-tensor-count", LAYOUT "%x = OpTensorLayoutSetDimensionNV %layout %l %c8 %c8",
      LAYOUT "%x = OpTensorLayoutSetDimensionNV %layout %l %c8 %c8 %c8" },
    { "nv-tensor-count", LAYOUT "%x = OpTensorLayoutSliceNV %layout %l %c0 %c8 %c0 %c8",
      LAYOUT "%x = OpTensorLayoutSliceNV %layout %l %c0 %c8" },
    { "nv-tensor-words", VIEW "%x = OpTensorViewSetClipNV %view %w %c0 %c8 %c0 %c8",
      VIEW "%x = OpTensorViewSetClipNV %view %w %c0 %c8 %c0 %l1" },
    /* cooperative matrix 2 */
    { "nv-capability", REDUCE "%acc %nacc Row %combine",
      "-OpCapability CooperativeMatrixReductionsNV\n" REDUCE "%acc %nacc Row %combine" },
    { "nv-extension", "", "-OpExtension \"SPV_NV_cooperative_matrix2\"\n" },
    { "nv-extension", "", "-OpExtension \"SPV_NV_tensor_addressing\"\n" },
    { "nv-workgroup", "", "!" },
    { "nv-tangled", REDUCE "%acc %nacc Row %combine", REDUCE "%acc %nacc Row %elect" },
    { "nv-tangled", EACH "%acc %nacc %each", EACH "%acc %nacc %deep" },
    { "nv-matrices", "%x = OpCooperativeMatrixConvertNV %a %nacc",
      "%x = OpCooperativeMatrixConvertNV %a %h1" },
    { "nv-reduce-types", REDUCE "%wide %nacc Row %combine", REDUCE "%group %nacc Row %combine" },
    { "nv-reduce-types", "", REDUCE "%facc %nacc Row %combine" },
    { "nv-reduce-types", "", REDUCE "%a %na Row %combine" },
    { "nv-reduce-mode", REDUCE "%half %nacc 2x2 %combine", REDUCE "%half %nacc 2x2|Row %combine" },
    { "nv-reduce-shape", REDUCE "%low %nacc Column %combine", REDUCE "%low %nacc Row %combine" },
    { "nv-reduce-shape", REDUCE "%half %nacc Row|Column %combine",
      REDUCE "%acc %nacc 2x2 %combine" },
    { "nv-combine", REDUCE "%acc %nacc Row %combine", REDUCE "%acc %nacc Row %one" },
    { "nv-convert", "%x = OpCooperativeMatrixConvertNV %a %nacc",
      "%x = OpCooperativeMatrixConvertNV %acc %na" },
    { "nv-convert", "", "%x = OpCooperativeMatrixConvertNV %a %nfacc" },
    { "nv-transpose", "%x = OpCooperativeMatrixTransposeNV %b %nacc",
      "%x = OpCooperativeMatrixTransposeNV %b %na" },
    { "nv-transpose", "%x = OpCooperativeMatrixTransposeNV %b %nfacc",
      "%x = OpCooperativeMatrixTransposeNV %a %nacc" },
    { "nv-use", "%x = OpFConvert %a %nfacc",
      "-OpCapability CooperativeMatrixConversionsNV\n%x = OpFConvert %a %nfacc" },
    { "conversion", "", "%x = OpFConvert %facc %na" },
    { "nv-element-result", EACH "%acc %nacc %each", EACH "%a %nacc %each" },
    { "nv-element-function", EACH "%acc %nacc %each", EACH "%acc %nacc %each_f" },
    { "nv-element-function", "", EACH "%acc %nacc %combine" },
    { "nv-element-operands", EACH "%acc %nacc %each2 %h1", EACH "%acc %nacc %each2 %f1" },
    { "nv-element-operands", EACH "%acc %nacc %each2 %nacc", EACH "%acc %nacc %each2 %na" },
    { "nv-element-operands", "", EACH "%acc %nacc %each2" },
    { "nv-object", LOAD "%acc %e %nacc %l None None", LOAD "%acc %e %na %l None None" },
    { "nv-object", STORE "%e %nacc %l None None", STORE "%e %h1 %l None None" },
    { "nv-layout", LOAD "%acc %e %nacc %l None None", LOAD "%acc %e %nacc %w None None" },
    { "nv-view", LOAD "%acc %e %nacc %l None TensorView %w",
      LOAD "%acc %e %nacc %l None TensorView %l" },
    { "nv-view-dimensions", VIEWS("%view2"), VIEWS("%view3") },
    { "nv-pointer",
      "%e = OpAccessChain %p_wh %shared %c0\n" LAYOUT
      "%x = OpCooperativeMatrixLoadTensorNV %acc %e %nacc %l None None",
      "%e = OpAccessChain %p_h %buffer %c0\n" LAYOUT
      "%x = OpCooperativeMatrixLoadTensorNV %acc %e %nacc %l None None" },
    { "nv-pointer",
      LAYOUT "%x = OpCooperativeMatrixLoadTensorNV %acc %shared %nacc %l None None",
      "%o = OpVariable %p_fline Function\n%e = OpAccessChain %p_fh %o %c0\n" LAYOUT
      "%x = OpCooperativeMatrixLoadTensorNV %acc %e %nacc %l None None" },
    { "nv-pointer", "",
      "%e = OpCopyObject %p_block %buffer\n" LAYOUT
      "%x = OpCooperativeMatrixLoadTensorNV %acc %e %nacc %l None None" },
    { "nv-memory-operand", LOAD "%acc %e %nacc %l MakePointerVisible|NonPrivatePointer %c2 None",
      LOAD "%acc %e %nacc %l MakePointerAvailable|NonPrivatePointer %c2 None" },
    { "nv-memory-operand", STORE "%e %nacc %l MakePointerAvailable|NonPrivatePointer %c2 None",
      STORE "%e %nacc %l MakePointerVisible|NonPrivatePointer %c2 None" },
    { "nv-store-decode", STORE "%e %nacc %l None TensorView %w",
      STORE "%e %nacc %l None DecodeFunc %decode" },
    { "nv-store-blocks", BLOCKS("c1") "OpCooperativeMatrixStoreTensorNV %e %nacc %l None None",
      BLOCKS("c4") "OpCooperativeMatrixStoreTensorNV %e %nacc %l None None" },
    /* through variables, one way after another */
    { "nv-store-blocks", VARIABLES "1" FROM_VARIABLES STORE_VARIABLE,
      VARIABLES "4" FROM_VARIABLES STORE_VARIABLE },
    /* by either of two ways, through a loop that stores something else, from a function's caller */
    { "nv-store-blocks",
      VARIABLES "4" FROM_VARIABLES
      "OpSelectionMerge %m None\nOpBranchConditional %t %y %m\n%y = OpLabel\nOpStore %vl %l\n"
      "OpBranch %m\n%m = OpLabel\n" STORE_VARIABLE,
      VARIABLES "4" FROM_VARIABLES
      "OpSelectionMerge %m None\nOpBranchConditional %t %y %m\n%y = OpLabel\nOpStore %vn %c1\n"
      "OpBranch %m\n%m = OpLabel\n" STORE_VARIABLE },
    { "nv-store-blocks",
      VARIABLES "4" FROM_VARIABLES
      "OpBranch %h\n%h = OpLabel\nOpLoopMerge %x %k None\nOpBranchConditional %t %k %x\n"
      "%k = OpLabel\nOpStore %vl %l\nOpBranch %h\n%x = OpLabel\n" STORE_VARIABLE,
      VARIABLES "4" FROM_VARIABLES
      "OpBranch %h\n%h = OpLabel\nOpLoopMerge %x %k None\nOpBranchConditional %t %k %x\n"
      "%k = OpLabel\n%s0 = OpLoad %layout %vl\n"
      "%s1 = OpTensorLayoutSliceNV %layout %s0 %c8 %c16 %c8 %c8\nOpStore %vl %s1\n"
      "OpBranch %h\n%x = OpLabel\n" STORE_VARIABLE },
    { "nv-store-blocks", VARIABLES "1" FROM_VARIABLES "%x = OpFunctionCall %void %stores %vl\n",
      VARIABLES "4" FROM_VARIABLES "%x = OpFunctionCall %void %stores %vl\n" },
    { "nv-store-blocks",
      VARIABLES "4" FROM_VARIABLES "%x = OpFunctionCall %void %leaves %vl\n" STORE_VARIABLE,
      VARIABLES "4" FROM_VARIABLES
      "%x = OpFunctionCall %void %leaves %vl\nOpStore %vl %l2\n" STORE_VARIABLE },
    { "nv-decode-pointer", LOAD "%acc %e %nacc %l None DecodeFunc %decode",
      "%e = OpAccessChain %p_wh %shared %c0\n" LAYOUT
      "%x = OpCooperativeMatrixLoadTensorNV %acc %e %nacc %l None DecodeFunc %decode" },
    { "nv-decode", LOAD "%acc %e %nacc %l None TensorView|DecodeFunc %w %decode",
      LOAD "%acc %e %nacc %l None DecodeFunc %decode3" },
    { "nv-decode", "", LOAD "%facc %e %nfacc %l None DecodeFunc %decode" },
    { "nv-tangled", "", LOAD "%acc %e %nacc %l None DecodeFunc %elect" },
    /* decode vector */
    { "nv-decode-vector-capability",
      BLOCKS("c8") DECODE "DecodeFunc|DecodeVectorFunc %decode %vector",
      "-OpCapability CooperativeMatrixDecodeVectorNV\n" BLOCKS("c8") DECODE
      "DecodeFunc|DecodeVectorFunc %decode %vector" },
    { "nv-decode-vector-extension", "",
      "-OpExtension \"SPV_NV_cooperative_matrix_decode_vector\"\n" },
    { "nv-decode-vector-scalar", LOAD "%acc %e %nacc %l None DecodeFunc %decode",
      LOAD "%acc %e %nacc %l None DecodeVectorFunc %vector" },
    { "nv-decode-vector-function",
      BLOCKS("c8") VIEW DECODE "TensorView|DecodeFunc|DecodeVectorFunc %w %decode %vector",
      LOAD "%acc %e %nacc %l None DecodeFunc|DecodeVectorFunc %decode %vector3" },
};

/* `text` without a line that begins so. */
static void without(Arena *a, Str *s, const char *text, const char *line)
{
    const char *at = *line ? strstr(text, line) : NULL;
    str_addn(a, s, text, at ? (size_t)(at - text) : strlen(text));
    if (at)
        str_add(a, s, strchr(at, '\n') + 1);
}

static char *module_text(Arena *a, const char *insts)
{
    const char *line = *insts == '!' ? "OpExecutionMode" : "";
    Str s = { 0 };
    if (*insts == '5')
        str_add(a, &s, "; Version: 1.5\n");
    if (*insts == '-') {
        size_t n = strcspn(insts, "\n");
        line = arena_printf(a, "%.*s", (int)n - 1, insts + 1);
        insts += n + 1;
    }
    insts += *insts == '5' || *insts == '!';
    const char *dashes = strstr(insts, "---\n"), *body = dashes ? dashes + 4 : insts;
    without(a, &s, head, line);
    str_add(a, &s, declarations);
    if (dashes)
        str_addn(a, &s, insts, (size_t)(dashes - insts));
    str_add(a, &s, functions);
    str_add(a, &s, "%main = OpFunction %void None %fn\n%entry = OpLabel\n");
    str_add(a, &s, body);
    str_add(a, &s, "\nOpReturn\nOpFunctionEnd\n");
    return s.data;
}

#include "check/test/cases.h"

/* Rules whose breach is a warning. */
static const struct {
    const char *rule, *clear, *doubtful;
} doubts[] = {
    { "nv-decode-vector-blocks", BLOCKS("c4") DECODE "DecodeFunc|DecodeVectorFunc %decode %vector",
      BLOCKS("c5") DECODE "DecodeFunc|DecodeVectorFunc %decode %vector" },
    { "nv-version", "", "5" },
    { "nv-span", VARIABLES "1" FROM_VARIABLES STORE_VARIABLE, STORE "%e %nacc %l0 None None" },
    { "nv-store-span", STORE "%e %nacc %l None None",
      LAYOUT AT "%l2 = OpTensorLayoutSliceNV %layout %l %c0 %c1 %c0 %c8\n"
                "OpCooperativeMatrixStoreTensorNV %e %nacc %l2 None None" },
    { "nv-tensor-strides",
      LAYOUT "%m = OpTensorLayoutSetDimensionNV %layout %l %c8 %c8\n"
             "%x = OpTensorLayoutSetStrideNV %layout %m %c8 %c1",
      LAYOUT "%m = OpTensorLayoutSetDimensionNV %layout %l %c8 %c8\n"
             "%x = OpTensorLayoutSetStrideNV %layout %m %c6 %c1" },
};

TEST(doubts_are_warnings)
{
    for (uint32_t k = 0; k < COUNT_OF(doubts); k++) {
        TestDiags clear = TEST_DIAGS(clear), doubtful = TEST_DIAGS(doubtful);
        CHECK(judge(doubts[k].clear, &clear) == ACCEPTED);
        CHECK(judge(doubts[k].doubtful, &doubtful) == ACCEPTED);
        CHECK(!strstr(clear.text, doubts[k].rule));
        CHECK(strstr(doubtful.text, doubts[k].rule));
    }
}

TEST(every_rule_has_a_case)
{
    for (uint32_t n = 0; check_rule(n); n++) {
        const char *id = check_rule(n)->id;
        bool found = strncmp(id, "nv-", 3);
        for (uint32_t k = 0; k < COUNT_OF(cases); k++)
            found |= !strcmp(cases[k].rule, id);
        for (uint32_t k = 0; k < COUNT_OF(doubts); k++)
            found |= !strcmp(doubts[k].rule, id);
        if (!found)
            test_fail(__FILE__, __LINE__, "no case for %s", id);
    }
}
