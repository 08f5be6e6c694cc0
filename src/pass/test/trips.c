/* SPDX-License-Identifier: MIT
 *
 * Counters that begin at an invocation's number.
 */
#include "pass/test/support.h"

#define NUMBERS                                                                                    \
    "%n31 = OpConstant %uint 31\n%n32 = OpConstant %uint 32\n%n96 = OpConstant %uint 96\n"         \
    "%n97 = OpConstant %uint 97\n%n127 = OpConstant %uint 127\n"                                   \
    "%huge = OpConstant %uint 4294967264\n"

/* for (i = start; test; i += 32) with a start of 0 to 31 */
#define LOOP(test)                                                                                 \
    MAIN "%a = OpLabel\n" OUT(one) "%x = OpLoad %uint %outone\n%t = OpBitwiseAnd %uint %x %n31\n"  \
         "OpBranch %h\n%h = OpLabel\n%i = OpPhi %uint %t %a %i1 %c\n%q = " test "\n"               \
         "OpLoopMerge %m %c None\nOpBranchConditional %q %b %m\n%b = OpLabel\n"                    \
         "OpStore %outone %i\nOpBranch %c\n%c = OpLabel\n%i1 = OpIAdd %uint %i %n32\n"             \
         "OpBranch %h\n%m = OpLabel\n" END

static void check(const char *test, const char *has)
{
    Run r;
    REQUIRE(run_open(&r, "", NUMBERS, test));
    REQUIRE(RUN(&r, trips));
    CHECK_HAS(&r, "%i = OpIAdd %uint %t");
    CHECK_HAS(&r, "OpPhi %uint %uint_0");
    CHECK_HAS(&r, has);
    run_free(&r);
}


TEST(bounds)
{
    check(LOOP("OpULessThan %bool %i %n96"), "%uint_3");
    check(LOOP("OpSLessThan %bool %i %n96"), "%uint_3");
    check(LOOP("OpUGreaterThan %bool %n96 %i"), "%uint_3");
    /* not all run equally often, or the counter might wrap */
    check(LOOP("OpULessThan %bool %i %n97"), "OpBranchConditional %q");
    check(LOOP("OpULessThanEqual %bool %i %n96"), "OpBranchConditional %q");
    check(LOOP("OpULessThan %bool %i %n31"), "OpBranchConditional %q");
    check(LOOP("OpULessThan %bool %i %huge"), "OpBranchConditional %q");
    check(LOOP("OpINotEqual %bool %i %n96"), "OpBranchConditional %q");
}

/* Then it unrolls. */
TEST(unrolled)
{
    Run r;
    REQUIRE(run_open(&r, "", NUMBERS, LOOP("OpULessThanEqual %bool %i %n127")));
    REQUIRE(RUN(&r, trips) && RUN(&r, unroll));
    CHECK_HAS_NOT(&r, "OpLoopMerge");
    CHECK_EQ_U64(run_count(&r, "OpStore"), 4);
    run_free(&r);
}

TEST(unknown_start)
{
    Run r;
    REQUIRE(run_open(&r, "", NUMBERS,
                     MAIN "%a = OpLabel\n" OUT(one) "%x = OpLoad %uint %outone\n"
                     "OpBranch %h\n%h = OpLabel\n%i = OpPhi %uint %x %a %i1 %c\n"
                     "%q = OpULessThan %bool %i %n96\nOpLoopMerge %m %c None\n"
                     "OpBranchConditional %q %c %m\n%c = OpLabel\nOpStore %outone %i\n"
                     "%i1 = OpIAdd %uint %i %n32\nOpBranch %h\n%m = OpLabel\n" END));
    REQUIRE(RUN(&r, trips));
    CHECK_HAS(&r, "%i = OpPhi %uint %x");
    run_free(&r);
}
