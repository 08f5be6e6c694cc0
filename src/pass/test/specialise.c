/* SPDX-License-Identifier: MIT
 *
 * Specialisation constants: given, default, and what is computed from them.
 */
#include "pass/test/support.h"

static const char *const decorations = "OpDecorate %n SpecId 3\nOpDecorate %flag SpecId 4\n";
static const char *const constants =
    "%n = OpSpecConstant %uint 5\n%flag = OpSpecConstantTrue %bool\n"
    "%n2 = OpSpecConstantOp %uint IMul %n %two\n"
    "%v = OpSpecConstantComposite %uint2 %n %n2\n"
    "%v1 = OpSpecConstantOp %uint CompositeExtract %v 1\n"
    "%v2 = OpSpecConstantOp %uint2 IAdd %v %v\n"
    "%less = OpSpecConstantOp %bool ULessThan %n %n4\n"
    "%which = OpSpecConstantOp %uint Select %less %one %two\n"
    "%list = OpTypeArray %uint %n2\n"
    "%mat = OpTypeCooperativeMatrixKHR %float %three %n2 %n16 %two\n"
    "%len = OpSpecConstantOp %uint CooperativeMatrixLengthKHR %mat\n";
static const char *const body = MAIN "%a = OpLabel\n" OUT(one)
    "%s1 = OpIAdd %uint %v1 %which\n%s2 = OpIAdd %uint %s1 %len\nOpStore %outone %s2\n" END;

static bool open_case(Run *r)
{
    bool ok = run_open(r, decorations, constants, body);
    r->options.subgroup_size = 32;
    return ok;
}

TEST(defaults)
{
    Run r;
    REQUIRE(open_case(&r) && RUN(&r, specialise));
    CHECK_HAS_NOT(&r, "OpSpecConstant");
    CHECK_HAS_NOT(&r, "SpecId");
    CHECK_HAS(&r, "%n2 = OpConstant %uint 10");
    CHECK_HAS(&r, "%v1 = OpConstant %uint 10");
    CHECK_HAS(&r, "%v2 = OpConstantComposite");
    CHECK_HAS(&r, "%less = OpConstantFalse");
    CHECK_HAS(&r, "%which = OpConstant %uint 2");
    CHECK_HAS(&r, "%flag = OpConstantTrue");
    CHECK_HAS(&r, "%len = OpConstant %uint 5"); /* 10 x 16 over 32 */
    CHECK_STR(r.diags.text, "");
    run_free(&r);
}

TEST(given)
{
    static const SpvSpecValue values[] = { { 3, 2 }, { 4, 0 }, { 9, 1 } };
    Run r;
    REQUIRE(open_case(&r));
    r.options.spec = values;
    r.options.n_spec = 3;
    REQUIRE(RUN(&r, specialise));
    CHECK_HAS(&r, "%n2 = OpConstant %uint 4");
    CHECK_HAS(&r, "%which = OpConstant %uint 1");
    CHECK_HAS(&r, "%flag = OpConstantFalse");
    CHECK_HAS(&r, "%len = OpConstant %uint 2");
    CHECK_CONTAINS(r.diags.text, "warning: the kernel has no specialisation constant with id 9");
    run_free(&r);
}

TEST(length_needs_a_subgroup_size)
{
    Run r;
    REQUIRE(open_case(&r));
    r.options.subgroup_size = 0;
    CHECK(!RUN(&r, specialise));
    CHECK_CONTAINS(r.diags.text, "subgroup size");
    run_free(&r);
}

TEST(division_by_zero)
{
    Run r;
    REQUIRE(run_open(&r, "OpDecorate %n SpecId 0\n",
                     "%n = OpSpecConstant %uint 0\n%q = OpSpecConstantOp %uint UDiv %one %n\n",
                     MAIN "%a = OpLabel\n" OUT(one) "OpStore %outone %q\n" END));
    REQUIRE(RUN(&r, specialise));
    CHECK_CONTAINS(r.diags.text, "the result of this OpUDiv is undefined");
    run_free(&r);
}
