/* SPDX-License-Identifier: MIT
 *
 * For the tests of pass/: a kernel from text, passes run on it one by one, and what came out as
 * text with friendly names. After a pass the module must read again; spirv-val accepts it where it
 * is installed.
 */
#ifndef HEDDLE_PASS_TEST_SUPPORT_H
#define HEDDLE_PASS_TEST_SUPPORT_H

#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"
#include "pass/pass.h"

typedef struct Run {
    Arena arena, scratch;
    jmp_buf failed;
    TestDiags diags;
    PassOptions options;
    PassContext context;
    SpvModule *m;
    char *text;                 /* after the last pass */
} Run;

static const char *const run_head =
    "OpCapability Shader\nOpCapability CooperativeMatrixKHR\nOpCapability VulkanMemoryModel\n"
    "OpExtension \"SPV_KHR_cooperative_matrix\"\nOpMemoryModel Logical Vulkan\n"
    "OpEntryPoint GLCompute %main \"main\" %data %state\nOpExecutionMode %main LocalSize 32 1 1\n"
    "OpName %data \"data\"\nOpName %state \"state\"\nOpName %nothing \"nothing\"\n"
    "OpName %matA \"matA\"\nOpName %matB \"matB\"\nOpName %matC \"matC\"\n";
static const char *const run_types =
    "OpDecorate %words ArrayStride 4\nOpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n"
    "OpDecorate %data DescriptorSet 0\nOpDecorate %data Binding 0\n"
    "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n%uint = OpTypeInt 32 0\n"
    "%float = OpTypeFloat 32\n%uint2 = OpTypeVector %uint 2\n%fn1 = OpTypeFunction %uint %uint\n"
    "%zero = OpConstant %uint 0\n%one = OpConstant %uint 1\n%two = OpConstant %uint 2\n"
    "%three = OpConstant %uint 3\n%n4 = OpConstant %uint 4\n%n16 = OpConstant %uint 16\n"
    "%fzero = OpConstant %float 0\n%yes = OpConstantTrue %bool\n%no = OpConstantFalse %bool\n"
    "%words = OpTypeRuntimeArray %uint\n%block = OpTypeStruct %words\n"
    "%block_p = OpTypePointer StorageBuffer %block\n%uint_p = OpTypePointer StorageBuffer %uint\n"
    "%uint_v = OpTypePointer Private %uint\n%uint_f = OpTypePointer Function %uint\n"
    "%arr = OpTypeArray %uint %n4\n%arr_f = OpTypePointer Function %arr\n"
    "%pair = OpTypeStruct %uint %uint2\n%pair_f = OpTypePointer Function %pair\n"
    "%uint2_f = OpTypePointer Function %uint2\n"
    "%data = OpVariable %block_p StorageBuffer\n%state = OpVariable %uint_v Private\n"
    "%matA = OpTypeCooperativeMatrixKHR %float %three %n16 %n16 %zero\n"
    "%matB = OpTypeCooperativeMatrixKHR %float %three %n16 %n16 %one\n"
    "%matC = OpTypeCooperativeMatrixKHR %float %three %n16 %n16 %two\n"
    "%mats = OpTypeArray %matC %n4\n%mats_f = OpTypePointer Function %mats\n"
    "%matC_f = OpTypePointer Function %matC\n%float_f = OpTypePointer Function %float\n"
    "%nothing = OpConstantComposite %matC %fzero\n";

static inline void run_free(Run *r)
{
    arena_free(&r->arena);
    arena_free(&r->scratch);
}

static inline void run_validate(Run *r, const char *pass)
{
    static const char val[] = HEDDLE_TOOLCHAIN "/bin/spirv-val";
    char path[] = "/tmp/heddle-pass-XXXXXX", command[600];
    size_t size;
    const void *words = spv_write(&r->arena, r->m, &size);
    CHECK(spv_read(&r->arena, words, size, pass, &r->diags.sink) != NULL);
    if (access(val, X_OK))
        return;
    int file = mkstemp(path);
    if (file < 0)
        return;
    bool written = write(file, words, size) == (ssize_t)size;
    close(file);
    snprintf(command, sizeof command, "%s --target-env vulkan1.3 %s", val, path);
    if (written && system(command))
        test_fail(__FILE__, __LINE__, "spirv-val rejects the module after %s:\n%s", pass, r->text);
    unlink(path);
}

static inline bool run_pass(Run *r, const char *name, bool (*pass)(PassContext *c))
{
    if (setjmp(r->failed))
        return test_fail(__FILE__, __LINE__, "out of memory in %s", name);
    if (!pass(&r->context))
        return false;
    arena_free(&r->scratch);
    r->text = spv_disassemble(&r->arena, r->m, true);
    run_validate(r, name);
    return true;
}
#define RUN(r, pass) run_pass((r), #pass, pass_##pass)

/* OpName for the results of the text, so that they keep their names. */
static inline void run_names(Arena *a, Str *text, const char *body)
{
    for (const char *line = body; line && *line; line = strchr(line, '\n')) {
        line += strspn(line, " \n");
        size_t n = strcspn(line, " \n");
        if (*line == '%' && !strncmp(line + n, " =", 2))
            str_printf(a, text, "OpName %.*s \"%.*s\"\n", (int)n, line, (int)n - 1, line + 1);
    }
}

/* `globals` (decorations, then constants) may be empty; `functions` has %main. */
static inline bool run_open(Run *r, const char *decorations, const char *globals,
                            const char *functions)
{
    memset(r, 0, sizeof *r);
    r->diags = (TestDiags)TEST_DIAGS(r->diags);
    r->arena.on_failure = r->scratch.on_failure = &r->failed;
    r->options.optimise = true;
    if (setjmp(r->failed))
        return test_fail(__FILE__, __LINE__, "out of memory");
    Str text = { 0 };
    str_add(&r->arena, &text, run_head);
    run_names(&r->arena, &text, globals);
    run_names(&r->arena, &text, functions);
    str_add(&r->arena, &text, decorations);
    str_add(&r->arena, &text, run_types);
    str_add(&r->arena, &text, globals);
    str_add(&r->arena, &text, functions);
    r->m = spv_assemble(&r->arena, text.data, text.len, "test", &r->diags.sink);
    if (!r->m)
        return test_fail(__FILE__, __LINE__, "%s", r->diags.text);
    r->context = (PassContext){ .module = r->m, .options = &r->options, .sink = &r->diags.sink,
                                .scratch = &r->scratch };
    return spv_entry_point(r->m, NULL, &r->context.entry, &r->diags.sink);
}

static inline uint32_t run_count(const Run *r, const char *part)
{
    uint32_t n = 0;
    for (const char *at = r->text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}
#define CHECK_HAS(r, part) CHECK_CONTAINS((r)->text, part)
#define CHECK_HAS_NOT(r, part)                                                                     \
    ((void)(run_count((r), (part)) == 0 ||                                                         \
            test_fail(__FILE__, __LINE__, "there is \"%s\" in\n%s", (part), (r)->text)))

#define MAIN "%main = OpFunction %void None %fn\n"
#define END "OpReturn\nOpFunctionEnd\n"
#define OUT(index) "%out" #index " = OpAccessChain %uint_p %data %zero %" #index "\n"

#endif
