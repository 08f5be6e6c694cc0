/* SPDX-License-Identifier: MIT
 *
 * What leaves divergent loops goes through phis.
 */
#include "pass/test/support.h"

static uint32_t made;

static bool pass_closed(PassContext *c)
{
    SpvFunction *f = c->entry.function;
    Cfg *g = cfg_build(c->scratch, f, c->sink);
    Uniformity *u = g ? uniformity_build(c->scratch, c->module, g) : NULL;
    made = u ? pass_close_loops(c->scratch, c->module, g, u) : 0;
    return u != NULL;
}

/* Lanes leave both loops in different iterations, with the counters of both. */
#define LOOPS(bound)                                                                               \
    MAIN "%a = OpLabel\n" OUT(                                                                     \
        one) "%x = OpAtomicIAdd %uint %outone %two %zero %one\n"                                   \
             "OpBranch %h\n"                                                                       \
             "%h = OpLabel\n%i = OpPhi %uint %zero %a %i1 %c\n%q = OpULessThan %bool %i " bound    \
             "\n"                                                                                  \
             "OpLoopMerge %m %c None\nOpBranchConditional %q %b %m\n"                              \
             "%b = OpLabel\nOpBranch %h2\n"                                                        \
             "%h2 = OpLabel\n%j = OpPhi %uint %i %b %j1 %c2\n%q2 = OpULessThan %bool %j " bound    \
             "\n"                                                                                  \
             "OpLoopMerge %m2 %c2 None\nOpBranchConditional %q2 %c2 %m2\n"                         \
             "%c2 = OpLabel\n%j1 = OpIAdd %uint %j %one\nOpBranch %h2\n"                           \
             "%m2 = OpLabel\n%k = OpIAdd %uint %j %two\nOpBranch %c\n"                             \
             "%c = OpLabel\n%i1 = OpIAdd %uint %i %one\nOpBranch %h\n"                             \
             "%m = OpLabel\nOpStore %outone %i\n" END

TEST(nested)
{
    Run r;
    REQUIRE(run_open(&r, "", "", LOOPS("%x")));
    REQUIRE(RUN(&r, closed));
    CHECK_EQ_U64(made, 2);
    CHECK_EQ_U64(run_count(&r, "OpPhi"), 4);
    CHECK_HAS_NOT(&r, "OpStore %outone %i\n");
    CHECK_HAS_NOT(&r, "%k = OpIAdd %uint %j %uint_2");
    run_free(&r);
}

TEST(lanes_that_leave_together)
{
    Run r;
    REQUIRE(run_open(&r, "", "", LOOPS("%n16")));
    REQUIRE(RUN(&r, closed));
    CHECK_EQ_U64(made, 0);
    run_free(&r);
}

/* From the inner loop through the outer one. */
TEST(out_of_two_loops)
{
    Run r;
    REQUIRE(run_open(
        &r, "", "",
        MAIN "%a = OpLabel\n" OUT(
            one) "%x = OpAtomicIAdd %uint %outone %two %zero %one\n"
                 "OpBranch %h\n"
                 "%h = OpLabel\n%i = OpPhi %uint %zero %a %i1 %c\n"
                 "OpLoopMerge %m %c None\nOpBranch %h2\n"
                 "%h2 = OpLabel\n%j = OpPhi %uint %i %h %j1 %c2\n%q2 = OpULessThan %bool %j %x\n"
                 "OpLoopMerge %m2 %c2 None\nOpBranchConditional %q2 %c2 %m2\n"
                 "%c2 = OpLabel\n%j1 = OpIAdd %uint %j %one\nOpBranch %h2\n"
                 "%m2 = OpLabel\n%q = OpULessThan %bool %i %x\nOpBranchConditional %q %c %m\n"
                 "%c = OpLabel\n%i1 = OpIAdd %uint %i %one\nOpBranch %h\n"
                 "%m = OpLabel\nOpStore %outone %j\n" END));
    REQUIRE(RUN(&r, closed));
    CHECK_EQ_U64(made, 2);
    run_free(&r);
}
