/* SPDX-License-Identifier: MIT
 *
 * For the tests of analysis/: a compute kernel from the text of its function's blocks.
 */
#ifndef HEDDLE_ANALYSIS_TEST_KERNEL_H
#define HEDDLE_ANALYSIS_TEST_KERNEL_H

#include "analysis/analysis.h"
#include "base/test.h"

typedef struct Kernel {
    Arena arena;
    jmp_buf failed;
    TestDiags diags;
    SpvModule *m;
    SpvFunction *f;
    Cfg *cfg;
} Kernel;

/* Names that bodies may use: types, constants, builtins, a buffer `data` of uints, a private
 * `state`. */
static const char *const kernel_head =
    "OpCapability Shader\nOpCapability GroupNonUniformArithmetic\nOpCapability "
    "CooperativeMatrixKHR\n"
    "OpCapability VulkanMemoryModel\nOpCapability Int64\n"
    "OpExtension \"SPV_KHR_cooperative_matrix\"\nOpMemoryModel Logical Vulkan\n"
    "OpEntryPoint GLCompute %main \"main\" %lid %gid %wid %data %state\n"
    "OpExecutionMode %main LocalSize 32 2 1\n";
static const char *const kernel_types =
    "OpDecorate %lid BuiltIn LocalInvocationId\nOpDecorate %gid BuiltIn GlobalInvocationId\n"
    "OpDecorate %wid BuiltIn WorkgroupId\nOpDecorate %words ArrayStride 4\n"
    "OpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
    "OpDecorate %data DescriptorSet 0\nOpDecorate %data Binding 0\n"
    "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n%uint = OpTypeInt 32 0\n"
    "%ulong = OpTypeInt 64 0\n%float = OpTypeFloat 32\n%uint3 = OpTypeVector %uint 3\n"
    "%zero = OpConstant %uint 0\n%one = OpConstant %uint 1\n%two = OpConstant %uint 2\n"
    "%three = OpConstant %uint 3\n%n16 = OpConstant %uint 16\n%fzero = OpConstant %float 0\n"
    "%yes = OpConstantTrue %bool\n"
    "%words = OpTypeRuntimeArray %uint\n%block = OpTypeStruct %words\n"
    "%block_p = OpTypePointer StorageBuffer %block\n%uint_p = OpTypePointer StorageBuffer %uint\n"
    "%uint3_i = OpTypePointer Input %uint3\n%uint_i = OpTypePointer Input %uint\n"
    "%uint_v = OpTypePointer Private %uint\n%uint_f = OpTypePointer Function %uint\n"
    "%lid = OpVariable %uint3_i Input\n%gid = OpVariable %uint3_i Input\n%wid = OpVariable "
    "%uint3_i Input\n"
    "%data = OpVariable %block_p StorageBuffer\n%state = OpVariable %uint_v Private\n"
    "%matA = OpTypeCooperativeMatrixKHR %float %three %n16 %n16 %zero\n"
    "%matB = OpTypeCooperativeMatrixKHR %float %three %n16 %n16 %one\n"
    "%matC = OpTypeCooperativeMatrixKHR %float %three %n16 %n16 %two\n"
    "%nothing = OpConstantComposite %matC %fzero\n"
    "%main = OpFunction %void None %fn\n";

/* An OpName for each result of the body, so that tests find them. */
static inline void kernel_names(Arena *a, Str *text, const char *body)
{
    for (const char *line = body; line && *line; line = strchr(line, '\n')) {
        line += strspn(line, " \n");
        size_t n = strcspn(line, " \n");
        if (*line == '%' && !strncmp(line + n, " =", 2))
            str_printf(a, text, "OpName %.*s \"%.*s\"\n", (int)n, line, (int)n - 1, line + 1);
    }
}

static inline void kernel_free(Kernel *k) { arena_free(&k->arena); }

/* The module and its Cfg; k->cfg NULL when that fails. */
static inline bool kernel_open(Kernel *k, const char *body)
{
    memset(k, 0, sizeof(*k));
    k->diags = (TestDiags)TEST_DIAGS(k->diags);
    k->arena.on_failure = &k->failed;
    if (setjmp(k->failed))
        return test_fail(__FILE__, __LINE__, "out of memory");
    Str text = { 0 };
    str_add(&k->arena, &text, kernel_head);
    kernel_names(&k->arena, &text, body);
    str_add(&k->arena, &text, kernel_types);
    str_add(&k->arena, &text, body);
    str_add(&k->arena, &text, "OpFunctionEnd\n");
    k->m = spv_assemble(&k->arena, text.data, text.len, "test", &k->diags.sink);
    if (!k->m)
        return test_fail(__FILE__, __LINE__, "%s", k->diags.text);
    k->f = k->m->functions;
    k->cfg = cfg_build(&k->arena, k->f, &k->diags.sink);
    return k->cfg != NULL;
}

/* The id that the body calls so. */
static inline SpvId kernel_id(const Kernel *k, const char *name)
{
    for (const SpvInst *i = k->m->globals.first; i; i = i->next)
        if (i->op == SpvOpName && !strcmp(spv_string(i, 1, NULL), name))
            return spv_operand(i, 0);
    test_fail(__FILE__, __LINE__, "no id is called %s", name);
    return 0;
}

static inline uint32_t kernel_at(const Kernel *k, const char *block)
{
    SpvInst *label = spv_def(k->m, kernel_id(k, block));
    return label && label->block ? k->cfg->position[label->block->index] : UINT32_MAX;
}

#endif
