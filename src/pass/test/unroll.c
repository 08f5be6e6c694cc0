/* SPDX-License-Identifier: MIT
 *
 * Counted loops become straight lines, and loops of multiply-adds do several steps at once.
 */
#include "pass/test/support.h"

#define LOOP(control, body)                                                                        \
    "OpBranch %h\n%h = OpLabel\n%i = OpPhi %uint %zero %a %i1 %c\n%q = OpULessThan %bool %i %n4\n" \
    "OpLoopMerge %m %c " control "\nOpBranchConditional %q %b %m\n%b = OpLabel\n" body             \
    "OpBranch %c\n%c = OpLabel\n%i1 = OpIAdd %uint %i %one\nOpBranch %h\n%m = OpLabel\n"

TEST(array_of_matrices)
{
    Run r;
    REQUIRE(run_open(&r, "", "", MAIN "%a = OpLabel\n%v = OpVariable %mats_f Function\n"
                     "%p = OpAccessChain %uint_p %data %zero %zero\n"
                     LOOP("None", "%vi = OpAccessChain %matC_f %v %i\nOpStore %vi %nothing\n")
                     "%v3 = OpAccessChain %matC_f %v %three\n%l = OpLoad %matC %v3\n"
                     "OpCooperativeMatrixStoreKHR %p %l %zero %n16\n" END));
    REQUIRE(RUN(&r, unroll));
    CHECK_EQ_U64(run_count(&r, "OpLabel"), 1);
    CHECK_EQ_U64(run_count(&r, "OpStore %"), 4);
    REQUIRE(RUN(&r, promote) && RUN(&r, simplify));
    CHECK_HAS(&r, "OpCooperativeMatrixStoreKHR %p %nothing");
    run_free(&r);
}

TEST(values_behind_the_loop)
{
    Run r;
    REQUIRE(run_open(&r, "", "", MAIN "%a = OpLabel\n" OUT(one)
                     LOOP("Unroll", "%s = OpIMul %uint %i %i\nOpStore %outone %s\n")
                     "OpStore %outone %i\n" END));
    REQUIRE(RUN(&r, unroll));
    CHECK_EQ_U64(run_count(&r, "OpLabel"), 1);
    CHECK_HAS(&r, "OpStore %outone %uint_9");
    CHECK_HAS(&r, "OpStore %outone %uint_4");
    run_free(&r);
}

#define WITH_JUMP(target)                                                                          \
    MAIN "%a = OpLabel\n" OUT(one)                                                                 \
    LOOP("Unroll", "%x = OpLoad %uint %outone\n%w = OpIEqual %bool %x %i\n"                        \
         "OpSelectionMerge %b2 None\nOpBranchConditional %w %t %b2\n%t = OpLabel\n"                \
         "OpBranch " target "\n%b2 = OpLabel\nOpStore %outone %i\n")                               \
    "OpStore %outone %i\n" END

/* break and continue on what is not known */
TEST(other_ways_out)
{
    static const char *const bodies[] = { WITH_JUMP("%m"), WITH_JUMP("%c") };
    for (int n = 0; n < 2; n++) {
        Run r;
        REQUIRE(run_open(&r, "", "", bodies[n]));
        REQUIRE(RUN(&r, unroll));
        CHECK_HAS_NOT(&r, "OpLoopMerge");
        CHECK_EQ_U64(run_count(&r, "OpLoad"), 4);
        run_free(&r);
    }
}

TEST(not_worth_it)
{
    Run r;
    REQUIRE(run_open(&r, "", "%many = OpConstant %uint 100000\n", MAIN "%a = OpLabel\n" OUT(one)
                     "OpBranch %h\n%h = OpLabel\n%i = OpPhi %uint %zero %a %i1 %c\n"
                     "%q = OpULessThan %bool %i %many\nOpLoopMerge %m %c Unroll\n"
                     "OpBranchConditional %q %c %m\n%c = OpLabel\nOpStore %outone %i\n"
                     "%i1 = OpIAdd %uint %i %one\nOpBranch %h\n%m = OpLabel\n" END));
    REQUIRE(RUN(&r, unroll));
    CHECK_HAS(&r, "OpLoopMerge");
    run_free(&r);
}

#define CHAIN(extra)                                                                               \
    MAIN "%s = OpLabel\n%p = OpAccessChain %uint_p %data %zero %zero\n%n = OpLoad %uint %p\n"      \
         "OpBranch %h\n%h = OpLabel\n%i = OpPhi %uint %zero %s %i1 %c\n"                           \
         "%acc = OpPhi %matC %nothing %s %r %c\n%q = OpULessThan %bool %i %n\n"                    \
         "OpLoopMerge %m %c None\nOpBranchConditional %q %b %m\n%b = OpLabel\n"                    \
         "%pi = OpAccessChain %uint_p %data %zero %i\n"                                            \
         "%ma = OpCooperativeMatrixLoadKHR %matA %pi %zero %n16\n"                                 \
         "%mb = OpCooperativeMatrixLoadKHR %matB %pi %zero %n16\n" extra                           \
         "%r = OpCooperativeMatrixMulAddKHR %matC %ma %mb %acc\nOpBranch %c\n"                     \
         "%c = OpLabel\n%i1 = OpIAdd %uint %i %n16\nOpBranch %h\n"                                 \
         "%m = OpLabel\nOpCooperativeMatrixStoreKHR %p %acc %zero %n16\n" END

TEST(strip_mine)
{
    Run r;
    REQUIRE(run_open(&r, "", "", CHAIN("")));
    REQUIRE(RUN(&r, strip_mine));
    CHECK_EQ_U64(run_count(&r, "OpLoopMerge"), 2);
    CHECK_EQ_U64(run_count(&r, "OpCooperativeMatrixMulAddKHR"), 5); /* K 16: four steps make 64 */
    CHECK_EQ_U64(run_count(&r, "OpLogicalAnd"), 3);
    CHECK_EQ_U64(run_count(&r, "OpULessThan"), 5);
    run_free(&r);
    REQUIRE(run_open(&r, "", "", CHAIN("")));
    r.options.fuse_steps = 1;
    REQUIRE(RUN(&r, strip_mine));
    CHECK_EQ_U64(run_count(&r, "OpLoopMerge"), 1);
    run_free(&r);
}

TEST(strip_mine_not_with_stores)
{
    Run r;
    REQUIRE(run_open(&r, "", "", CHAIN("OpStore %p %i\n")));
    REQUIRE(RUN(&r, strip_mine));
    CHECK_EQ_U64(run_count(&r, "OpLoopMerge"), 1);
    run_free(&r);
}
