/* SPDX-License-Identifier: MIT
 *
 * The rules of SPV_QCOM_cooperative_matrix_conversion, each with a module that it accepts and one
 * that it rejects: instructions put into a common module, or, before a line of dashes, among its
 * declarations. "!" begins what replaces its capability, extension and execution mode.
 */
#include "base/test.h"
#include "check/check.h"

#define CAPABILITY "OpCapability CooperativeMatrixConversionQCOM\n"
#define EXTENSION  "OpExtension \"SPV_QCOM_cooperative_matrix_conversion\"\n"

static const char common[] =
    "OpExtension \"SPV_KHR_cooperative_matrix\"\n"
    "OpMemoryModel Logical Vulkan\nOpEntryPoint GLCompute %main \"main\"\n";
static const char declarations[] =
    "%void = OpTypeVoid\n%u32 = OpTypeInt 32 0\n%s32 = OpTypeInt 32 1\n%s8 = OpTypeInt 8 1\n"
    "%s16 = OpTypeInt 16 1\n%u8 = OpTypeInt 8 0\n"
    "%f32 = OpTypeFloat 32\n%f16 = OpTypeFloat 16\n%f64 = OpTypeFloat 64\n"
    "%c0 = OpConstant %u32 0\n%c1 = OpConstant %u32 1\n%c2 = OpConstant %u32 2\n"
    "%c3 = OpConstant %u32 3\n%c8 = OpConstant %u32 8\n%c16 = OpConstant %u32 16\n"
    "%c32 = OpConstant %u32 32\n%c256 = OpConstant %u32 256\n"
    "%l8 = OpConstant %s16 8\n%i0 = OpConstant %s32 0\n%i3 = OpConstant %s32 3\n%i8 = OpConstant "
    "%s32 8\n"
    "%i24 = OpConstant %s32 24\n%i32 = OpConstant %s32 32\n%in8 = OpConstant %s32 -8\n"
    "%f8a = OpTypeArray %f32 %c8\n%f16a = OpTypeArray %f32 %c16\n%f32a = OpTypeArray %f32 %c32\n"
    "%h8a = OpTypeArray %f16 %c8\n%h16a = OpTypeArray %f16 %c16\n%h32a = OpTypeArray %f16 %c32\n"
    "%u8a = OpTypeArray %u32 %c8\n%u16a = OpTypeArray %u32 %c16\n%s8a = OpTypeArray %s32 %c8\n"
    "%d8a = OpTypeArray %f64 %c8\n%b32a = OpTypeArray %s8 %c32\n%f88a = OpTypeArray %f8a %c8\n"
    "%w16a = OpTypeArray %s16 %c16\n"
    "%f8 = OpConstantNull %f8a\n%f16v = OpConstantNull %f16a\n%f32v = OpConstantNull %f32a\n"
    "%h8 = OpConstantNull %h8a\n%h16 = OpConstantNull %h16a\n%h32 = OpConstantNull %h32a\n"
    "%u8v = OpConstantNull %u8a\n%u16v = OpConstantNull %u16a\n%s8v = OpConstantNull %s8a\n"
    "%d8 = OpConstantNull %d8a\n%b32 = OpConstantNull %b32a\n%f88 = OpConstantNull %f88a\n"
    "%w16 = OpConstantNull %w16a\n"
    "%af = OpTypeCooperativeMatrixKHR %f32 %c3 %c16 %c8 %c0\n"
    "%ah = OpTypeCooperativeMatrixKHR %f16 %c3 %c16 %c16 %c0\n"
    "%ab = OpTypeCooperativeMatrixKHR %s8 %c3 %c16 %c32 %c0\n"
    "%bf = OpTypeCooperativeMatrixKHR %f32 %c3 %c8 %c16 %c1\n"
    "%ch = OpTypeCooperativeMatrixKHR %f16 %c3 %c16 %c16 %c2\n"
    "%cf = OpTypeCooperativeMatrixKHR %f32 %c3 %c16 %c16 %c2\n"
    "%aw = OpTypeCooperativeMatrixKHR %f32 %c2 %c16 %c8 %c0\n"
    "%as = OpTypeCooperativeMatrixKHR %s16 %c3 %c16 %c16 %c0\n"
    "%cb = OpTypeCooperativeMatrixKHR %s8 %c3 %c16 %c32 %c2\n"
    "%a16 = OpTypeCooperativeMatrixKHR %f32 %c3 %c16 %c16 %c0\n"
    "%al = OpTypeCooperativeMatrixKHR %f32 %c3 %c256 %c8 %c0\n"
    "%naf = OpConstantNull %af\n%ncf = OpConstantNull %cf\n%nbf = OpConstantNull %bf\n"
    "%nah = OpConstantNull %ah\n"
    "%p_s32 = OpTypePointer Function %s32\n%fn = OpTypeFunction %void\n"
    "%fns = OpTypeFunction %void %s32\n%bool = OpTypeBool\n%t = OpConstantTrue %bool\n"
    "%c5 = OpConstant %u32 5\n%i4 = OpConstant %s32 4\n%u2a = OpTypeArray %u32 %c2\n"
    "%h5a = OpTypeArray %f16 %c5\n%f3a = OpTypeArray %f32 %c3\n%f256a = OpTypeArray %f32 %c256\n"
    "%f256v = OpConstantNull %f256a\n%co = OpTypeCooperativeMatrixKHR %f16 %c3 %c32 %c5 %c2\n"
    "%nco = OpConstantNull %co\n%nch = OpConstantNull %ch\n";
static const char function[] =
    "%take = OpFunction %void None %fns\n%at = OpFunctionParameter %s32\n%take_0 = OpLabel\n"
    "%part = OpExtractSubArrayQCOM %f8a %f32v %at\nOpReturn\nOpFunctionEnd\n";

typedef struct Case {
    const char *rule, *good, *bad;
} Case;

#define MAKE(type, array)     "%x = OpCompositeConstructCoopMatQCOM " type " " array
#define TAKE(array, matrix)   "%x = OpCompositeExtractCoopMatQCOM " array " " matrix
#define PART(type, array, at) "%x = OpExtractSubArrayQCOM " type " " array " " at
#define CALL(at)              "%r" at " = OpFunctionCall %void %take %i" at "\n"
#define FROM_VARIABLE(one, other)                                                                  \
    "%v = OpVariable %p_s32 Function\nOpStore %v %i" one "\nOpSelectionMerge %m None\n"           \
    "OpBranchConditional %t %y %m\n%y = OpLabel\nOpStore %v %i" other "\nOpBranch %m\n"           \
    "%m = OpLabel\n%l = OpLoad %s32 %v\n" PART("%f8a", "%f32v", "%l")
#define MODE                  "OpExecutionMode %main LocalSize 32 1 1\n"

static const Case cases[] = {
    { "qcom-capability", MAKE("%af", "%f8"), "!" EXTENSION MODE "---\n" MAKE("%af", "%f8") },
    { "qcom-extension", TAKE("%f8a", "%naf"), "!" CAPABILITY MODE "---\n" TAKE("%f8a", "%naf") },
    { "qcom-subgroup-size",
      "!" CAPABILITY EXTENSION MODE "OpExecutionMode %main SubgroupSize 16\n---\n",
      "!" CAPABILITY EXTENSION MODE "OpExecutionMode %main SubgroupSize 24\n---\n" },
    { "qcom-bitcast-arrays", "%x = OpBitCastArrayQCOM %h16a %u8v",
      "%x = OpBitCastArrayQCOM %u16a %d8" },
    { "qcom-bitcast-arrays", "%x = OpBitCastArrayQCOM %s8a %f8",
      "%x = OpBitCastArrayQCOM %f88a %f88" },
    { "qcom-bitcast-size", "%x = OpBitCastArrayQCOM %f16a %h32",
      "%x = OpBitCastArrayQCOM %f16a %h16" },
    { "qcom-operands", MAKE("%af", "%f8"), MAKE("%f8a", "%f8") },
    { "qcom-operands", MAKE("%bf", "%f8"), MAKE("%af", "%f88") },
    { "qcom-operands", TAKE("%f8a", "%nbf"), TAKE("%f8a", "%f8") },
    { "qcom-scope", MAKE("%ab", "%b32"), MAKE("%aw", "%f8") },
    { "qcom-component", MAKE("%ah", "%h16"), MAKE("%as", "%w16") },
    { "qcom-component", TAKE("%f16a", "%ncf"), MAKE("%cb", "%b32") },
    { "qcom-depth", MAKE("%af", "%f8"), MAKE("%a16", "%f16v") },
    { "qcom-element", MAKE("%af", "%u8v"), MAKE("%af", "%s8v") },
    { "qcom-element", TAKE("%u8a", "%nah"), TAKE("%f16a", "%nah") },
    { "qcom-length", MAKE("%ab", "%u8v"), MAKE("%ab", "%u16v") },
    { "qcom-length", MAKE("%ch", "%u8v"), MAKE("%ch", "%u16v") },
    { "qcom-length", MAKE("%cf", "%u16v"), MAKE("%cf", "%u8v") },
    { "qcom-length", TAKE("%f16a", "%ncf"), TAKE("%f8a", "%ncf") },
    { "qcom-length", TAKE("%h16a", "%nch"), TAKE("%u2a", "%nco") },
    { "qcom-columns", TAKE("%h16a", "%nch"), TAKE("%h5a", "%nco") },
    { "qcom-size", MAKE("%af", "%f8"), MAKE("%al", "%f8") },
    { "qcom-subarray-arrays", PART("%f8a", "%f32v", "%i8"), PART("%f8a", "%f88", "%i0") },
    { "qcom-subarray-elements", PART("%h16a", "%h32", "%i0"), PART("%u8a", "%f32v", "%i0") },
    { "qcom-subarray-start", PART("%f8a", "%f32v", "%c8"), PART("%f8a", "%f32v", "%l8") },
    { "qcom-subarray-inside", PART("%f8a", "%f32v", "%i24"), PART("%f8a", "%f32v", "%i32") },
    { "qcom-subarray-inside", PART("%f8a", "%f8", "%i0"), PART("%f8a", "%f32v", "%in8") },
    { "qcom-subarray-step", PART("%f8a", "%f32v", "%i24"), PART("%f8a", "%f32v", "%i3") },
    { "qcom-subarray-step", PART("%h16a", "%h32", "%i0"), PART("%h16a", "%h32", "%i8") },
    /* what is told to a function, by one call or another, and what is read from a variable */
    { "qcom-subarray-step", CALL("8") CALL("24"), CALL("8") CALL("3") },
    { "qcom-subarray-inside", CALL("8"), CALL("32") },
    { "qcom-subarray-step", FROM_VARIABLE("8", "8"), FROM_VARIABLE("3", "3") },
    /* one of two ways is right, and may be the only one that comes here */
    { "qcom-subarray-step", FROM_VARIABLE("8", "3"), FROM_VARIABLE("4", "3") },
    { "qcom-subarray-source", PART("%f8a", "%f32v", "%i8"), PART("%f8a", "%f256v", "%i8") },
    { "qcom-subarray-part", PART("%f8a", "%f32v", "%i8"), PART("%f3a", "%f32v", "%i0") },
};

/* The head's lines in the order that modules have: capabilities, extensions, entry, modes. */
static char *module_text(Arena *a, const char *insts)
{
    const char *head = CAPABILITY EXTENSION MODE, *dashes = strstr(insts, "---\n");
    const char *body = dashes ? dashes + 4 : insts;
    size_t n = strlen(head);
    if (*insts == '!') {
        head = insts + 1;
        n = (size_t)(dashes - head);
    }
    Str s = { 0 };
    str_add(a, &s,
            "OpCapability Shader\nOpCapability VulkanMemoryModel\nOpCapability "
            "CooperativeMatrixKHR\nOpCapability Int8\nOpCapability Int16\nOpCapability Float16\n"
            "OpCapability Float64\nOpCapability SubgroupDispatch\n");
    for (int pass = 0; pass < 2; pass++) {
        for (const char *line = head; line < head + n; line = strchr(line, '\n') + 1)
            if ((strncmp(line, "OpExecutionMode", 15) != 0) != pass)
                str_addn(a, &s, line, (size_t)(strchr(line, '\n') + 1 - line));
        if (!pass)
            str_add(a, &s, common);
    }
    str_add(a, &s, declarations);
    if (strstr(body, "%take"))
        str_add(a, &s, function);
    str_add(a, &s, "%main = OpFunction %void None %fn\n%entry = OpLabel\n");
    str_add(a, &s, body);
    str_add(a, &s, "\nOpReturn\nOpFunctionEnd\n");
    return s.data;
}

#include "check/test/cases.h"

TEST(every_rule_has_a_case)
{
    for (uint32_t n = 0; check_rule(n); n++) {
        const CheckRule *r = check_rule(n);
        bool found = strncmp(r->id, "qcom-", 5) != 0;
        for (uint32_t k = 0; k < COUNT_OF(cases); k++)
            found |= !strcmp(cases[k].rule, r->id);
        if (!found)
            test_fail(__FILE__, __LINE__, "no case for %s", r->id);
    }
}
