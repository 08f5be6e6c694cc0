/* SPDX-License-Identifier: MIT
 *
 * What is known is folded, what is not needed goes.
 */
#include "pass/test/support.h"

TEST(arithmetic)
{
    Run r;
    REQUIRE(run_open(
        &r, "", "",
        MAIN "%a = OpLabel\n" OUT(
            one) "%x = OpLoad %uint %outone\n"
                 "%b = OpIAdd %uint %three %two\n%c = OpIMul %uint %x %zero\n%d = OpIAdd %uint %b "
                 "%c\n"
                 "%e = OpIAdd %uint %x %two\n%f = OpIAdd %uint %e %d\n%g = OpISub %uint %f %one\n"
                 "%h = OpBitwiseXor %uint %g %zero\n%k = OpIEqual %bool %h %h\n"
                 "%l = OpSelect %uint %k %h %x\nOpStore %outone %l\n%dead = OpLoad %uint "
                 "%outone\n" END));
    REQUIRE(RUN(&r, simplify));
    CHECK_EQ_U64(run_count(&r, "OpIAdd"), 1);
    CHECK_HAS(&r, "%g = OpIAdd %uint %x %uint_6");
    CHECK_HAS(&r, "OpStore %outone %g");
    CHECK_EQ_U64(run_count(&r, "OpLoad"), 1);
    run_free(&r);
}

TEST(composites)
{
    Run r;
    REQUIRE(run_open(
        &r, "", "",
        MAIN "%a = OpLabel\n" OUT(
            one) "%x = OpLoad %uint %outone\n"
                 "%v = OpCompositeConstruct %uint2 %x %two\n%w = OpVectorShuffle %uint2 %v %v 1 2\n"
                 "%p = OpCompositeConstruct %pair %three %w\n%q = OpCompositeInsert %pair %one %p "
                 "0\n"
                 "%e = OpCompositeExtract %uint %q 1 1\n%f = OpCompositeExtract %uint %q 1 0\n"
                 "%g = OpVectorExtractDynamic %uint %v %zero\n"
                 "%s = OpIAdd %uint %e %f\n%t = OpIAdd %uint %s %g\nOpStore %outone %t\n" END));
    REQUIRE(RUN(&r, simplify));
    CHECK_HAS(&r, "%s = OpIAdd %uint %x %uint_2");
    CHECK_HAS(&r, "%t = OpIAdd %uint %s %x");
    CHECK_HAS_NOT(&r, "OpComposite");
    run_free(&r);
}

TEST(branches)
{
    Run r;
    REQUIRE(run_open(&r, "", "", MAIN "%a = OpLabel\n" OUT(one)
                     "OpSelectionMerge %m None\nOpBranchConditional %no %t %e\n"
                     "%t = OpLabel\nOpStore %outone %one\nOpBranch %m\n"
                     "%e = OpLabel\nOpSelectionMerge %m2 None\nOpSwitch %two %s0 1 %s1 2 %s2\n"
                     "%s0 = OpLabel\nOpBranch %m2\n%s1 = OpLabel\nOpBranch %m2\n"
                     "%s2 = OpLabel\nOpBranch %m2\n"
                     "%m2 = OpLabel\n%v = OpPhi %uint %zero %s0 %one %s1 %two %s2\nOpBranch %m\n"
                     "%m = OpLabel\n%w = OpPhi %uint %three %t %v %m2\nOpStore %outone %w\n" END));
    REQUIRE(RUN(&r, simplify));
    CHECK_EQ_U64(run_count(&r, "OpLabel"), 1);
    CHECK_HAS(&r, "OpStore %outone %uint_2");
    run_free(&r);
}

TEST(loop_that_never_runs)
{
    Run r;
    REQUIRE(run_open(
        &r, "", "",
        MAIN "%a = OpLabel\n" OUT(
            one) "OpBranch %h\n"
                 "%h = OpLabel\n%i = OpPhi %uint %zero %a %i1 %c\nOpLoopMerge %m %c None\n"
                 "OpBranchConditional %no %b %m\n%b = OpLabel\nOpStore %outone %one\nOpBranch %c\n"
                 "%c = OpLabel\n%i1 = OpIAdd %uint %i %one\nOpBranch %h\n"
                 "%m = OpLabel\nOpStore %outone %i\n" END));
    REQUIRE(RUN(&r, simplify));
    CHECK_HAS(&r, "OpStore %outone %uint_0");
    CHECK_HAS_NOT(&r, "OpStore %outone %uint_1");
    run_free(&r);
}

/* do { ... break; ... } while (false): no loop, but still a construct that breaks leave */
TEST(loop_of_one_trip)
{
    Run r;
    REQUIRE(run_open(
        &r, "", "",
        MAIN "%a = OpLabel\n" OUT(
            one) "%x = OpLoad %uint %outone\n"
                 "%w = OpIEqual %bool %x %two\nOpBranch %h\n"
                 "%h = OpLabel\n%i = OpPhi %uint %zero %a %i1 %c\nOpLoopMerge %m %c None\nOpBranch "
                 "%b\n"
                 "%b = OpLabel\nOpSelectionMerge %b2 None\nOpBranchConditional %w %t %b2\n"
                 "%t = OpLabel\nOpBranch %m\n%b2 = OpLabel\nOpStore %outone %i\nOpBranch %c\n"
                 "%c = OpLabel\n%i1 = OpIAdd %uint %i %one\nOpBranchConditional %no %h %m\n"
                 "%m = OpLabel\nOpStore %outone %two\n" END));
    REQUIRE(RUN(&r, simplify));
    CHECK_HAS(&r, "OpStore %outone %uint_0");
    CHECK_HAS_NOT(&r, "OpPhi");
    run_free(&r);
}

TEST(equal_instructions)
{
    Run r;
    REQUIRE(run_open(
        &r, "", "",
        MAIN "%a = OpLabel\n" OUT(
            one) "%x = OpLoad %uint %outone\n"
                 "%b = OpIMul %uint %x %three\n%c = OpIMul %uint %three %x\n%d = OpIAdd %uint %b "
                 "%c\n"
                 "OpStore %outone %d\n%y = OpLoad %uint %outone\nOpStore %outone %y\n" END));
    REQUIRE(RUN(&r, simplify));
    CHECK_EQ_U64(run_count(&r, "OpIMul"), 1);
    CHECK_EQ_U64(run_count(&r, "OpLoad"), 2); /* memory may have changed */
    run_free(&r);
}

TEST(division_by_zero_stays)
{
    Run r;
    REQUIRE(run_open(&r, "", "", MAIN "%a = OpLabel\n" OUT(one)
                     "%b = OpUDiv %uint %three %zero\nOpStore %outone %b\n" END));
    REQUIRE(RUN(&r, simplify));
    CHECK_HAS(&r, "OpUDiv");
    run_free(&r);
}

TEST(dead_stores_and_declarations)
{
    Run r;
    REQUIRE(run_open(&r, "", "%unused = OpConstant %uint 77\n", MAIN "%a = OpLabel\n"
                     "%v = OpVariable %arr_f Function\n" OUT(one) "%x = OpLoad %uint %outone\n"
                     "%vx = OpAccessChain %uint_f %v %x\nOpStore %vx %x\n" END));
    REQUIRE(RUN(&r, simplify));
    CHECK_HAS_NOT(&r, "OpVariable %_ptr_Function");
    CHECK_HAS_NOT(&r, "77");
    CHECK_HAS_NOT(&r, "OpStore");
    CHECK_HAS(&r, "%data = OpVariable");
    run_free(&r);
}
