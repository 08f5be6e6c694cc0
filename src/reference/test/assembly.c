/* SPDX-License-Identifier: MIT
 *
 * What GLSL does not lead to: modules without merge instructions, kernels with arguments, phis that
 * swap, switches on 64 bits, odd operations, and what must be refused.
 */
#include "kernel.h"

static const char shader[] =
    "OpCapability Shader\nOpCapability Int64\nOpCapability Int8\nOpCapability VariablePointers\n"
    "OpMemoryModel Logical GLSL450\n"
    "OpEntryPoint GLCompute %main \"main\" %id\n"
    "OpExecutionMode %main LocalSize 8 1 1\n"
    "OpDecorate %id BuiltIn LocalInvocationIndex\n"
    "OpDecorate %rta ArrayStride 4\nOpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
    "OpDecorate %buffer DescriptorSet 0\nOpDecorate %buffer Binding 0\n"
    "%void = OpTypeVoid\n%bool = OpTypeBool\n%u32 = OpTypeInt 32 0\n%u64 = OpTypeInt 64 0\n"
    "%u8 = OpTypeInt 8 0\n%u8x4 = OpTypeVector %u8 4\n"
    "%c0 = OpConstant %u32 0\n%c1 = OpConstant %u32 1\n%c2 = OpConstant %u32 2\n%c3 = OpConstant "
    "%u32 3\n"
    "%c5 = OpConstant %u32 5\n%big = OpConstant %u64 4294967296\n"
    "%rta = OpTypeRuntimeArray %u32\n%block = OpTypeStruct %rta\n"
    "%p_block = OpTypePointer StorageBuffer %block\n%p_u = OpTypePointer StorageBuffer %u32\n"
    "%p_in = OpTypePointer Input %u32\n%p_fu = OpTypePointer Function %u32\n"
    "%p_pp = OpTypePointer Function %p_u\n"
    "%buffer = OpVariable %p_block StorageBuffer\n%id = OpVariable %p_in Input\n"
    "%fn = OpTypeFunction %void\n"
    "%main = OpFunction %void None %fn\n%entry = OpLabel\n";

static const char tail[] =
    "%at = OpAccessChain %p_u %buffer %c0 %lane\nOpStore %at %r\nOpReturn\nOpFunctionEnd\n";

static bool run_shader(const char *body, uint32_t out[8])
{
    Kernel k;
    char text[8192];
    snprintf(text, sizeof(text), "%s%s%s", shader, body, tail);
    if (!kernel_assemble(&k, text))
        return false;
    kernel_bind(&k, 0, out, 32);
    k.d.check = REF_CHECK_ALL;
    KERNEL_RUN(&k);
    kernel_free(&k);
    return true;
}

TEST(loop_without_merge)
{
    uint32_t out[8] = { 0 };
    /* Phis that swap: Fibonacci, lane steps. */
    run_shader(
        "%lane = OpLoad %u32 %id\n%n = OpCopyObject %u32 %lane\nOpBranch %head\n"
        "%head = OpLabel\n%i = OpPhi %u32 %c0 %entry %next %body\n%a = OpPhi %u32 %c0 %entry %b "
        "%body\n"
        "%b = OpPhi %u32 %c1 %entry %sum %body\n"
        "%more = OpULessThan %bool %i %n\nOpBranchConditional %more %body %done\n"
        "%body = OpLabel\n%next = OpIAdd %u32 %i %c1\n%sum = OpIAdd %u32 %a %b\nOpBranch %head\n"
        "%done = OpLabel\n%r = OpCopyObject %u32 %a\n",
        out);
    static const uint32_t want[] = { 0, 1, 1, 2, 3, 5, 8, 13 };
    for (int i = 0; i < 8; i++)
        CHECK_EQ_U64(out[i], want[i]);
}

/* What is found where the body is run, the branches of which meet in %m. */
static bool draws(const char *body, RefFindingKind kind, const char *part)
{
    Kernel k;
    char text[8192];
    uint32_t out[8] = { 0 };
    snprintf(text, sizeof(text), "%s%s%s", shader, body, tail);
    if (!kernel_assemble(&k, text))
        return false;
    kernel_bind(&k, 0, out, 32);
    k.d.check = REF_CHECK_ALL;
    kernel_run(&k);
    bool found = kernel_found(&k, kind) && strstr(k.text, part);
    kernel_free(&k);
    return found;
}

TEST(promises_that_are_broken)
{
    CHECK(draws("%lane = OpLoad %u32 %id\n%odd = OpIEqual %bool %lane %c5\n"
                "OpSelectionMerge %m None\nOpBranchConditional %odd %never %m\n"
                "%never = OpLabel\nOpUnreachable\n"
                "%m = OpLabel\n%r = OpCopyObject %u32 %lane\n",
                REF_UNDEFINED, "OpUnreachable was reached"));
    CHECK(draws("%lane = OpLoad %u32 %id\n%less = OpULessThan %bool %lane %c5\n"
                "OpAssumeTrueKHR %less\n%r = OpCopyObject %u32 %lane\n",
                REF_RANGE, "an assumption does not hold"));
}

TEST(switch_on_64_bits)
{
    uint32_t out[8] = { 0 };
    run_shader(
        "%lane = OpLoad %u32 %id\n%wide = OpUConvert %u64 %lane\n%x = OpIMul %u64 %wide %big\n"
        "OpSelectionMerge %m None\nOpSwitch %x %other 4294967296 %one 8589934592 %two\n"
        "%one = OpLabel\nOpBranch %m\n%two = OpLabel\nOpBranch %m\n%other = OpLabel\nOpBranch %m\n"
        "%m = OpLabel\n%r = OpPhi %u32 %c1 %one %c2 %two %c5 %other\n",
        out);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ_U64(out[i], i == 1 ? 1 : i == 2 ? 2 : 5);
}

TEST(variable_pointers)
{
    uint32_t out[8] = { 10, 20, 30, 40, 50, 60, 70, 80 };
    run_shader("%v = OpVariable %p_pp Function\n%lane = OpLoad %u32 %id\n"
               "%odd = OpBitwiseAnd %u32 %lane %c1\n%is = OpIEqual %bool %odd %c1\n"
               "%p = OpAccessChain %p_u %buffer %c0 %lane\n"
               "%q = OpSelect %p_u %is %p %p\nOpStore %v %q\n%w = OpLoad %p_u %v\n"
               "%same = OpPtrEqual %bool %p %w\n%x = OpLoad %u32 %w\n"
               "%y = OpIAdd %u32 %x %c1\n%r = OpSelect %u32 %same %y %c0\n",
               out);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ_U64(out[i], (i + 1) * 10 + 1);
}

TEST(odd_operations)
{
    uint32_t out[8] = { 0 };
    run_shader("%lane = OpLoad %u32 %id\n%bytes = OpBitcast %u8x4 %c5\n"
               "%b = OpVectorShuffle %u8x4 %bytes %bytes 1 0 1 4\n%w = OpBitcast %u32 %b\n"
               "%d = OpUDot %u32 %bytes %b\n%s = OpIAdd %u32 %w %d\n%r = OpIAdd %u32 %s %lane\n",
               out);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ_U64(out[i], 0x05000500 + i);
}

TEST(kernel_with_arguments)
{
    static const char text[] =
        "OpCapability Kernel\nOpCapability Addresses\nOpCapability Linkage\nOpCapability "
        "Int64\nOpCapability Int8\n"
        "OpMemoryModel Physical64 OpenCL\n"
        "OpEntryPoint Kernel %main \"scale\" %gid\n"
        "OpDecorate %gid BuiltIn GlobalInvocationId\nOpDecorate %gid Constant\n"
        "%void = OpTypeVoid\n%u32 = OpTypeInt 32 0\n%u64 = OpTypeInt 64 0\n%u8 = OpTypeInt 8 0\n"
        "%f32 = OpTypeFloat 32\n%v3 = OpTypeVector %u64 3\n%p_in = OpTypePointer Input %v3\n"
        "%gp = OpTypePointer CrossWorkgroup %f32\n%lp = OpTypePointer Workgroup %f32\n"
        "%bp = OpTypePointer CrossWorkgroup %u8\n%l4 = OpConstant %u64 4\n"
        "%fn = OpTypeFunction %void %gp %f32 %lp\n%c2 = OpConstant %u32 2\n%sem = OpConstant %u32 "
        "784\n"
        "%gid = OpVariable %p_in Input\n"
        "%main = OpFunction %void None %fn\n%x = OpFunctionParameter %gp\n%by = "
        "OpFunctionParameter %f32\n"
        "%tmp = OpFunctionParameter %lp\n%entry = OpLabel\n"
        "%ids = OpLoad %v3 %gid\n%i = OpCompositeExtract %u64 %ids 0\n"
        "%p = OpInBoundsPtrAccessChain %gp %x %i\n%t = OpInBoundsPtrAccessChain %lp %tmp %i\n"
        "%a = OpLoad %f32 %p Aligned 4\n%b = OpFMul %f32 %a %by\nOpStore %t %b Aligned 4\n"
        "OpControlBarrier %c2 %c2 %sem\n%c = OpLoad %f32 %t\n"
        "%bytes = OpBitcast %bp %x\n%off = OpIMul %u64 %i %l4\n%q = OpPtrAccessChain %bp %bytes "
        "%off\n"
        "%back = OpBitcast %gp %q\nOpStore %back %c\nOpReturn\nOpFunctionEnd\n";
    Kernel k;
    float x[16], by = 3;
    for (int i = 0; i < 16; i++)
        x[i] = (float)i;
    RefArg args[] = { { REF_ARG_BUFFER, x, sizeof(x) },
                      { REF_ARG_VALUE, &by, 4 },
                      { REF_ARG_LOCAL, NULL, 64 } };
    if (!kernel_assemble(&k, text))
        return;
    k.d.args = args;
    k.d.n_args = 3;
    k.d.local_size[0] = 16;
    k.d.check = REF_CHECK_ALL;
    KERNEL_RUN(&k);
    for (int i = 0; i < 16; i++)
        CHECK_NEAR(x[i], 3 * i, 0);
    kernel_free(&k);
}

TEST(irreducible)
{
    Kernel k;
    uint32_t out[8] = { 0 };
    char text[8192];
    snprintf(
        text, sizeof(text), "%s%s%s", shader,
        "%lane = OpLoad %u32 %id\n%t = OpIEqual %bool %lane %c1\nOpBranchConditional %t %a %b\n"
        "%a = OpLabel\nOpBranchConditional %t %b %done\n%b = OpLabel\nOpBranch %a\n"
        "%done = OpLabel\n%r = OpCopyObject %u32 %c1\n",
        tail);
    if (!kernel_assemble(&k, text))
        return;
    kernel_bind(&k, 0, out, sizeof(out));
    CHECK(!kernel_run(&k));
    CHECK(strstr(k.text, "irreducible") != NULL);
    kernel_free(&k);
}

TEST(memory_limit)
{
    Kernel k;
    uint32_t out[8] = { 0 };
    char text[8192];
    snprintf(text, sizeof(text), "%s%s%s", shader,
             "%lane = OpLoad %u32 %id\n%r = OpCopyObject %u32 %c1\n", tail);
    if (!kernel_assemble(&k, text))
        return;
    kernel_bind(&k, 0, out, sizeof(out));
    k.d.memory_limit = 2000;
    CHECK(!kernel_run(&k));
    CHECK(strstr(k.text, "memory") != NULL);
    kernel_free(&k);
}

TEST(built_in_structure)
{
    Kernel k;
    uint32_t out[8] = { 0 };
    char text[8192];
    snprintf(text, sizeof(text), "%s%s%s", shader,
             "%l = OpLoad %rec %id\n%lane = OpCopyObject %u32 %c1\n%r = OpCopyObject %u32 %c1\n",
             tail);
    memcpy(strstr(text, "%u8x4 = OpTypeVector %u8 4"), "%rec = OpTypeStruct %u8   ", 26);
    memcpy(strstr(text, "Input %u32"), "Input %rec", 10);
    if (!kernel_assemble(&k, text))
        return;
    kernel_bind(&k, 0, out, sizeof(out));
    CHECK(!kernel_run(&k));
    CHECK(strstr(k.text, "built-in") != NULL);
    kernel_free(&k);
}
