/* SPDX-License-Identifier: MIT
 *
 * Variables become values.
 */
#include "pass/test/support.h"

TEST(diamond_and_private)
{
    Run r;
    REQUIRE(run_open(
        &r, "", "",
        MAIN "%a = OpLabel\n%v = OpVariable %uint_f Function %one\n" OUT(
            one) "%x = OpLoad %uint %outone\n%q = OpULessThan %bool %x %two\nOpStore %state %two\n"
                 "OpSelectionMerge %m None\nOpBranchConditional %q %t %m\n"
                 "%t = OpLabel\nOpStore %v %x\nOpBranch %m\n"
                 "%m = OpLabel\n%l = OpLoad %uint %v\n%s = OpLoad %uint %state\n"
                 "%sum = OpIAdd %uint %l %s\nOpStore %outone %sum\n" END));
    REQUIRE(RUN(&r, promote));
    CHECK_EQ_U64(run_count(&r, "OpVariable"), 1);
    CHECK_EQ_U64(run_count(&r, "OpPhi"), 1);
    CHECK_HAS(&r, "%uint_1 %a");
    run_free(&r);
}

/* No phi where the variable is dead, and none for what nobody stored. */
TEST(pruned)
{
    Run r;
    REQUIRE(run_open(
        &r, "", "",
        MAIN "%a = OpLabel\n%v = OpVariable %uint_f Function\nOpBranch %h\n"
             "%h = OpLabel\n%i = OpPhi %uint %zero %a %i1 %c\n%q = OpULessThan %bool %i %n4\n"
             "OpLoopMerge %m %c None\nOpBranchConditional %q %b %m\n"
             "%b = OpLabel\nOpStore %v %i\n%l = OpLoad %uint %v\n"
             "%p = OpAccessChain %uint_p %data %zero %l\nOpStore %p %l\nOpBranch %c\n"
             "%c = OpLabel\n%i1 = OpIAdd %uint %i %one\nOpBranch %h\n%m = OpLabel\n" END));
    REQUIRE(RUN(&r, promote));
    CHECK_EQ_U64(run_count(&r, "OpPhi"), 1);
    run_free(&r);
}

TEST(structures_and_components)
{
    Run r;
    REQUIRE(run_open(
        &r, "", "",
        MAIN
        "%a = OpLabel\n%v = OpVariable %pair_f Function\n"
        "%w = OpVariable %pair_f Function\n" OUT(
            one) "%x = OpLoad %uint %outone\n"
                 "%v0 = OpAccessChain %uint_f %v %zero\n%v11 = OpAccessChain %uint_f %v %one %one\n"
                 "%v1 = OpAccessChain %uint2_f %v %one\n%v1x = OpAccessChain %uint_f %v1 %x\n"
                 "OpStore %v0 %x\nOpStore %v11 %two\nOpStore %v1x %three\n"
                 "%all = OpLoad %pair %v\nOpStore %w %all\n%w11 = OpAccessChain %uint_f %w %one "
                 "%one\n"
                 "%l = OpLoad %uint %w11\nOpStore %outone %l\n" END));
    REQUIRE(RUN(&r, promote));
    CHECK_HAS_NOT(&r, "OpVariable %_ptr_Function");
    CHECK_HAS(&r, "OpVectorInsertDynamic");
    run_free(&r);
}

TEST(what_cannot_be_followed_stays)
{
    Run r;
    REQUIRE(run_open(&r, "", "", MAIN "%a = OpLabel\n%v = OpVariable %arr_f Function\n"
                     "%w = OpVariable %uint_f Function\n" OUT(one) "%x = OpLoad %uint %outone\n"
                     "%vx = OpAccessChain %uint_f %v %x\nOpStore %vx %x\n%l = OpLoad %uint %vx\n"
                     "OpStore %w %l Volatile\n%y = OpLoad %uint %w\nOpStore %outone %y\n" END));
    REQUIRE(RUN(&r, promote));
    CHECK_HAS(&r, "%v = OpVariable");
    CHECK_HAS(&r, "%w = OpVariable");
    run_free(&r);
}

TEST(matrices_of_an_array)
{
    Run r;
    REQUIRE(run_open(&r, "", "", MAIN "%a = OpLabel\n%v = OpVariable %mats_f Function\n"
                     "%v1 = OpAccessChain %matC_f %v %one\nOpStore %v1 %nothing\n"
                     "%e = OpAccessChain %float_f %v %one %two\nOpStore %e %fzero\n"
                     "%all = OpLoad %mats %v\n%m = OpCompositeExtract %matC %all 1\n"
                     "%p = OpAccessChain %uint_p %data %zero %zero\n"
                     "OpCooperativeMatrixStoreKHR %p %m %zero %n16\n" END));
    r.options.subgroup_size = 32;
    REQUIRE(RUN(&r, promote) && RUN(&r, simplify));
    CHECK_HAS_NOT(&r, "OpVariable %_ptr_Function");
    CHECK_HAS(&r, "OpCompositeInsert %matC %float_0 %nothing 2");
    CHECK_HAS_NOT(&r, "OpCompositeExtract");
    run_free(&r);
}
