/* SPDX-License-Identifier: MIT
 *
 * Two modules for operands.c to put instructions into, a shader and a kernel: with values and
 * pointers of every kind, so that whatever an instruction asks for is there, and much that it does
 * not. A type is called after its kind (b booleans; c s i l integers of 8 to 64 bits, S I signed
 * ones; h f d floats, w bf16, x e4m3) and its number of components.
 */
#ifndef FUZZ_OPERANDS_H
#define FUZZ_OPERANDS_H

#include "base/base.h"

#include <stdio.h>
#include <string.h>

typedef struct Kind {
    char letter;
    const char *declaration;
} Kind;

static const Kind shader_kinds[] = {
    { 'c', "Int 8 0" },  { 's', "Int 16 0" }, { 'i', "Int 32 0" }, { 'l', "Int 64 0" },
    { 'S', "Int 16 1" }, { 'I', "Int 32 1" }, { 'h', "Float 16" }, { 'f', "Float 32" },
    { 'd', "Float 64" }, { 'w', "Float 16 BFloat16KHR" }, { 'x', "Float 8 Float8E4M3EXT" },
};

static const Kind kernel_kinds[] = {
    { 'c', "Int 8 0" },  { 's', "Int 16 0" }, { 'i', "Int 32 0" }, { 'l', "Int 64 0" },
    { 'h', "Float 16" }, { 'f', "Float 32" }, { 'd', "Float 64" }, { 'w', "Float 16 BFloat16KHR" },
};

typedef struct Text {
    Arena *a;
    Str s;
    const Kind *kinds;
    uint32_t n_kinds, most;     /* components */
} Text;

/* Types of all kinds and widths, and those that consist of them. */
static void declare_types(Text *t)
{
    str_add(t->a, &t->s, "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%b1 = OpTypeBool\n");
    for (uint32_t k = 0; k < t->n_kinds; k++)
        str_printf(t->a, &t->s, "%%%c1 = OpType%s\n", t->kinds[k].letter, t->kinds[k].declaration);
    for (uint32_t n = 2; n <= t->most; n += n < 4 ? 1 : n) {
        str_printf(t->a, &t->s, "%%b%u = OpTypeVector %%b1 %u\n", n, n);
        for (uint32_t k = 0; k < t->n_kinds; k++)
            str_printf(t->a, &t->s, "%%%c%u = OpTypeVector %%%c1 %u\n", t->kinds[k].letter, n,
                       t->kinds[k].letter, n);
    }
    str_add(t->a, &t->s,
            "%k0 = OpConstant %i1 0\n%k1 = OpConstant %i1 1\n%k2 = OpConstant %i1 2\n"
            "%k3 = OpConstant %i1 3\n%k4 = OpConstant %i1 4\n%k16 = OpConstant %i1 16\n"
            "%k264 = OpConstant %i1 264\n%kl = OpConstant %l1 1\n%kf = OpConstant %f1 1\n"
            "%kt = OpConstantTrue %b1\n%kv = OpConstantComposite %f4 %kf %kf %kf %kf\n"
            "%ku = OpConstantComposite %i3 %k1 %k2 %k3\n%spec = OpSpecConstant %i1 7\n"
            "%ii = OpTypeStruct %i1 %i1\n%ff = OpTypeStruct %f1 %f1\n%fi = OpTypeStruct %f1 %i1\n"
            "%array = OpTypeArray %f1 %k4\n%kii = OpConstantComposite %ii %k1 %k2\n");
}

/* The booleans come of comparisons; a structure, an array of variables. */
static void load_others(Text *t)
{
    str_add(t->a, &t->s, "%vb1 = OpINotEqual %b1 %vi1 %k0\n");
    for (uint32_t n = 2; n <= t->most; n += n < 4 ? 1 : n)
        str_printf(t->a, &t->s, "%%vb%u = OpINotEqual %%b%u %%vi%u %%vi%u\n", n, n, n, n);
    str_add(t->a, &t->s, "%vii = OpLoad %ii %tii\n%vff = OpLoad %ff %tff\n%vfi = OpLoad %fi %tfi\n"
                         "%varray = OpLoad %array %tarray\n");
}

/* A pointer type of that storage class to each number, and a variable of it. */
static void each_pointer(Text *t, char letter, const char *storage, bool variable)
{
    for (uint32_t n = 1; n <= t->most; n += n < 4 ? 1 : n)
        for (uint32_t k = 0; k < t->n_kinds; k++) {
            char name[8];
            snprintf(name, sizeof name, "%c%u", t->kinds[k].letter, n);
            str_printf(t->a, &t->s, "%%p%c%s = OpTypePointer %s %%%s\n", letter, name, storage,
                       name);
            if (variable)
                str_printf(t->a, &t->s, "%%%c%s = OpVariable %%p%c%s %s\n", letter, name, letter,
                           name, storage);
        }
}

/* What is made of numbers, and in Function variables too. */
static const char *const others[] = { "ii", "ff", "fi", "array" };

static void each_function_pointer(Text *t)
{
    each_pointer(t, 't', "Function", false);
    for (uint32_t k = 0; k < COUNT_OF(others); k++)
        str_printf(t->a, &t->s, "%%pt%s = OpTypePointer Function %%%s\n", others[k], others[k]);
}

/* Function variables of numbers and of what is made of them. */
static void declare_variables(Text *t)
{
    for (uint32_t n = 1; n <= t->most; n += n < 4 ? 1 : n)
        for (uint32_t k = 0; k < t->n_kinds; k++)
            str_printf(t->a, &t->s, "%%t%c%u = OpVariable %%pt%c%u Function\n",
                       t->kinds[k].letter, n, t->kinds[k].letter, n);
    for (uint32_t k = 0; k < COUNT_OF(others); k++)
        str_printf(t->a, &t->s, "%%t%s = OpVariable %%pt%s Function\n", others[k], others[k]);
}

static const char shader_capabilities[] =
    "; SPIR-V\n; Version: 1.3\n"
    "OpCapability Shader\nOpCapability VulkanMemoryModel\n"
    "OpCapability VulkanMemoryModelDeviceScope\nOpCapability Int8\nOpCapability Int16\n"
    "OpCapability Int64\nOpCapability Float16\nOpCapability Float64\n"
    "OpCapability BFloat16TypeKHR\nOpCapability Float8EXT\nOpCapability GroupNonUniform\n"
    "OpCapability GroupNonUniformVote\nOpCapability GroupNonUniformArithmetic\n"
    "OpCapability GroupNonUniformBallot\nOpCapability GroupNonUniformShuffle\n"
    "OpCapability GroupNonUniformShuffleRelative\nOpCapability GroupNonUniformClustered\n"
    "OpCapability GroupNonUniformQuad\nOpCapability GroupNonUniformRotateKHR\n"
    "OpCapability GroupNonUniformPartitionedEXT\nOpCapability SubgroupVoteKHR\n"
    "OpCapability SubgroupBallotKHR\nOpCapability ComputeDerivativeGroupLinearKHR\n"
    "OpCapability DerivativeControl\n"
    "OpCapability DotProduct\nOpCapability DotProductInputAll\n"
    "OpCapability DotProductInput4x8Bit\nOpCapability DotProductInput4x8BitPacked\n"
    "OpCapability ShaderClockKHR\nOpCapability ExpectAssumeKHR\nOpCapability PoisonFreezeKHR\n"
    "OpCapability VariablePointersStorageBuffer\nOpCapability VariablePointers\n"
    "OpCapability StorageBuffer8BitAccess\nOpCapability StorageBuffer16BitAccess\n"
    "OpCapability ReplicatedCompositesEXT\nOpCapability AtomicFloat32AddEXT\n"
    "OpCapability Int64Atomics\nOpCapability QuadControlKHR\nOpCapability ImageQuery\n"
    "OpCapability ArithmeticFenceEXT\nOpCapability BitInstructions\n"
    "OpExtension \"SPV_KHR_vulkan_memory_model\"\nOpExtension \"SPV_KHR_bfloat16\"\n"
    "OpExtension \"SPV_EXT_float8\"\n"
    "%glsl = OpExtInstImport \"GLSL.std.450\"\nOpMemoryModel Logical Vulkan\n"
    "OpEntryPoint GLCompute %main \"main\" %id\nOpExecutionMode %main LocalSize 8 1 1\n"
    "OpExecutionMode %main DerivativeGroupLinearKHR\n"
    "OpDecorate %id BuiltIn GlobalInvocationId\nOpDecorate %block Block\n"
    "OpDecorate %buffer DescriptorSet 0\nOpDecorate %buffer Binding 0\n"
    "OpDecorate %sampled DescriptorSet 0\nOpDecorate %sampled Binding 1\n"
    "OpDecorate %stored DescriptorSet 0\nOpDecorate %stored Binding 2\n"
    "OpDecorate %sampler DescriptorSet 0\nOpDecorate %sampler Binding 3\n";

static const char shader_globals[] =
    "%m22 = OpTypeMatrix %f2 2\n%m32 = OpTypeMatrix %f3 2\n"
    "%image = OpTypeImage %f1 2D 0 0 0 1 Unknown\n%store = OpTypeImage %f1 2D 0 0 0 2 R32f\n"
    "%smp = OpTypeSampler\n%pair = OpTypeSampledImage %image\n"
    "%p_image = OpTypePointer UniformConstant %image\n"
    "%p_store = OpTypePointer UniformConstant %store\n"
    "%p_smp = OpTypePointer UniformConstant %smp\n"
    "%sampled = OpVariable %p_image UniformConstant\n"
    "%stored = OpVariable %p_store UniformConstant\n%sampler = OpVariable %p_smp UniformConstant\n"
    "%p_block = OpTypePointer StorageBuffer %block\n%buffer = OpVariable %p_block StorageBuffer\n"
    "%p_id = OpTypePointer Input %i3\n%id = OpVariable %p_id Input\n"
    "%pt22 = OpTypePointer Function %m22\n%pt32 = OpTypePointer Function %m32\n";

static char *shader_text(Arena *a)
{
    Text t = { a, { 0 }, shader_kinds, COUNT_OF(shader_kinds), 4 };
    uint32_t members = 4 * t.n_kinds;
    str_add(a, &t.s, shader_capabilities);
    for (uint32_t m = 0; m < members; m++)
        str_printf(a, &t.s, "OpMemberDecorate %%block %u Offset %u\n", m, 32 * m);
    declare_types(&t);
    str_add(a, &t.s, "%block = OpTypeStruct");
    for (uint32_t m = 0; m < members; m++)
        str_printf(a, &t.s, " %%%c%u", t.kinds[m % t.n_kinds].letter, m / t.n_kinds + 1);
    str_add(a, &t.s, "\n");
    str_add(a, &t.s, shader_globals);
    for (uint32_t m = 0; m < members; m++)
        str_printf(a, &t.s, "%%at%u = OpConstant %%I1 %u\n", m, m);
    each_pointer(&t, 'g', "StorageBuffer", false);
    each_function_pointer(&t);
    each_pointer(&t, 'w', "Workgroup", true);
    str_add(a, &t.s, "%main = OpFunction %void None %fn\n%entry = OpLabel\n");
    declare_variables(&t);
    str_add(a, &t.s, "%t22 = OpVariable %pt22 Function\n%t32 = OpVariable %pt32 Function\n");
    for (uint32_t m = 0; m < members; m++) {
        char k = t.kinds[m % t.n_kinds].letter;
        uint32_t n = m / t.n_kinds + 1;
        str_printf(a, &t.s, "%%g%c%u = OpAccessChain %%pg%c%u %%buffer %%at%u\n"
                   "%%v%c%u = OpLoad %%%c%u %%g%c%u\n", k, n, k, n, m, k, n, k, n, k, n);
    }
    load_others(&t);
    str_add(a, &t.s, "%v22 = OpLoad %m22 %t22\n%v32 = OpLoad %m32 %t32\n"
                     "%vimage = OpLoad %image %sampled\n%vstore = OpLoad %store %stored\n"
                     "%vsmp = OpLoad %smp %sampler\n%vpair = OpSampledImage %pair %vimage %vsmp\n"
                     "OpReturn\nOpFunctionEnd\n");
    return t.s.data;
}

static const char kernel_capabilities[] =
    "; SPIR-V\n; Version: 1.3\n"
    "OpCapability Kernel\nOpCapability Addresses\nOpCapability Linkage\nOpCapability Int8\n"
    "OpCapability Int16\nOpCapability Int64\nOpCapability Float16\nOpCapability Float64\n"
    "OpCapability Vector16\nOpCapability GenericPointer\nOpCapability BFloat16TypeKHR\n"
    "OpCapability Groups\nOpCapability GroupUniformArithmeticKHR\nOpCapability GroupNonUniform\n"
    "OpCapability GroupNonUniformVote\nOpCapability GroupNonUniformArithmetic\n"
    "OpCapability GroupNonUniformBallot\nOpCapability GroupNonUniformShuffle\n"
    "OpCapability ArithmeticFenceEXT\nOpCapability ExpectAssumeKHR\n"
    "OpExtension \"SPV_KHR_bfloat16\"\n"
    "%opencl = OpExtInstImport \"OpenCL.std\"\nOpMemoryModel Physical64 OpenCL\n"
    "OpEntryPoint Kernel %main \"main\" %id\nOpDecorate %id BuiltIn GlobalInvocationId\n";

static const char kernel_globals[] =
    "%event = OpTypeEvent\n%none = OpConstantNull %event\n"
    "%p_event = OpTypePointer Function %event\n"
    "%p_id = OpTypePointer Input %l3\n%id = OpVariable %p_id Input\n"
    "%p_text = OpTypePointer UniformConstant %c1\n";

static char *kernel_text(Arena *a)
{
    Text t = { a, { 0 }, kernel_kinds, COUNT_OF(kernel_kinds), 16 };
    str_add(a, &t.s, kernel_capabilities);
    declare_types(&t);
    str_add(a, &t.s, kernel_globals);
    each_pointer(&t, 'g', "CrossWorkgroup", false);
    each_pointer(&t, 'w', "Workgroup", false);
    each_pointer(&t, 'e', "Generic", false);
    each_function_pointer(&t);
    str_add(a, &t.s, "%fk = OpTypeFunction %void %pgl1 %pwl1 %p_text\n"
                     "%main = OpFunction %void None %fk\n%arg = OpFunctionParameter %pgl1\n"
                     "%local = OpFunctionParameter %pwl1\n%text = OpFunctionParameter %p_text\n"
                     "%entry = OpLabel\n");
    declare_variables(&t);
    str_add(a, &t.s, "%events = OpVariable %p_event Function\n");
    for (uint32_t n = 1; n <= t.most; n += n < 4 ? 1 : n)
        for (uint32_t m = 0; m < t.n_kinds; m++) {
            char k = t.kinds[m].letter;
            if (k != 'l' || n > 1)
                str_printf(a, &t.s, "%%g%c%u = OpBitcast %%pg%c%u %%arg\n"
                           "%%w%c%u = OpBitcast %%pw%c%u %%local\n", k, n, k, n, k, n, k, n);
            else
                str_add(a, &t.s, "%gl1 = OpCopyObject %pgl1 %arg\n"
                                 "%wl1 = OpCopyObject %pwl1 %local\n");
            str_printf(a, &t.s, "%%e%c%u = OpPtrCastToGeneric %%pe%c%u %%g%c%u\n"
                       "%%v%c%u = OpLoad %%%c%u %%g%c%u\n", k, n, k, n, k, n, k, n, k, n, k, n);
        }
    load_others(&t);
    str_add(a, &t.s, "OpReturn\nOpFunctionEnd\n");
    return t.s.data;
}

#endif
