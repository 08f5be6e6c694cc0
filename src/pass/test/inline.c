/* SPDX-License-Identifier: MIT
 *
 * Calls become the functions' bodies.
 */
#include "pass/test/support.h"

#define LEAF                                                                                       \
    "%leaf = OpFunction %uint None %fn1\n%lx = OpFunctionParameter %uint\n%l0 = OpLabel\n"         \
    "%ly = OpIMul %uint %lx %three\nOpReturnValue %ly\nOpFunctionEnd\n"

TEST(straight_function)
{
    Run r;
    REQUIRE(run_open(&r, "", "", MAIN "%a = OpLabel\n" OUT(one)
                     "%c1 = OpFunctionCall %uint %leaf %two\n%c2 = OpFunctionCall %uint %leaf %c1\n"
                     "OpStore %outone %c2\n" END LEAF));
    REQUIRE(RUN(&r, inline));
    CHECK_EQ_U64(run_count(&r, "OpFunction "), 1);
    CHECK_EQ_U64(run_count(&r, "OpLabel"), 1);
    CHECK_EQ_U64(run_count(&r, "OpIMul"), 2);
    CHECK_HAS(&r, "%c1 = OpCopyObject %uint");
    run_free(&r);
}

TEST(early_returns)
{
    Run r;
    REQUIRE(run_open(
        &r, "", "",
        MAIN "%a = OpLabel\n" OUT(
            one) "%c1 = OpFunctionCall %uint %f %two\nOpStore %outone %c1\n" END
                 "%f = OpFunction %uint None %fn1\n%x = OpFunctionParameter %uint\n%f0 = OpLabel\n"
                 "%q = OpULessThan %bool %x %one\nOpSelectionMerge %f2 None\n"
                 "OpBranchConditional %q %f1 %f2\n%f1 = OpLabel\nOpReturnValue %three\n"
                 "%f2 = OpLabel\nOpReturnValue %x\nOpFunctionEnd\n"));
    REQUIRE(RUN(&r, inline));
    CHECK_HAS(&r, "OpSwitch");
    CHECK_HAS(&r, "%c1 = OpPhi %uint");
    CHECK_HAS_NOT(&r, "OpReturnValue");
    run_free(&r);
}

TEST(call_in_a_loop_header)
{
    Run r;
    REQUIRE(run_open(
        &r, "", "",
        MAIN "%a = OpLabel\n" OUT(
            one) "OpBranch %h\n"
                 "%h = OpLabel\n%i = OpPhi %uint %zero %a %i1 %c\n"
                 "%c1 = OpFunctionCall %uint %f %i\n%q = OpULessThan %bool %c1 %n16\n"
                 "OpLoopMerge %m %c None\nOpBranchConditional %q %c %m\n"
                 "%c = OpLabel\n%i1 = OpIAdd %uint %i %one\nOpBranch %h\n%m = OpLabel\n"
                 "OpStore %outone %i\n" END
                 "%f = OpFunction %uint None %fn1\n%x = OpFunctionParameter %uint\n%f0 = OpLabel\n"
                 "%v = OpVariable %uint_f Function %two\n"
                 "%p = OpULessThan %bool %x %one\nOpSelectionMerge %f2 None\n"
                 "OpBranchConditional %p %f1 %f2\n%f1 = OpLabel\nOpStore %v %x\nOpBranch %f2\n"
                 "%f2 = OpLabel\n%w = OpLoad %uint %v\nOpReturnValue %w\nOpFunctionEnd\n"));
    REQUIRE(RUN(&r, inline));
    CHECK_EQ_U64(run_count(&r, "OpVariable %_ptr_Function"), 1);
    CHECK_EQ_U64(run_count(&r, "OpStore"), 3); /* the initializer is one, in each iteration */
    run_free(&r);
}

TEST(recursion)
{
    Run r;
    REQUIRE(
        run_open(
            &r, "", "",
            MAIN
            "%a = OpLabel\n%c1 = OpFunctionCall %uint %f %two\n" END
            "%f = OpFunction %uint None %fn1\n%x = OpFunctionParameter %uint\n%f0 = OpLabel\n"
            "%c2 = OpFunctionCall %uint %leaf %x\nOpReturnValue %c2\nOpFunctionEnd\n"
            "%leaf = OpFunction %uint None %fn1\n%y = OpFunctionParameter %uint\n%l0 = OpLabel\n"
            "%c3 = OpFunctionCall %uint %f %y\nOpReturnValue %c3\nOpFunctionEnd\n") ||
        strstr(r.diags.text, "recurs"));
    if (r.m)
        CHECK(!RUN(&r, inline));
    CHECK_CONTAINS(r.diags.text, "recursion");
    run_free(&r);
}

/* 2^30 calls: refused before they are made. */
TEST(explosion)
{
    Arena a = { 0 };
    Str s = { 0 };
    Run r;
    str_add(&a, &s, MAIN "%a = OpLabel\n%c = OpFunctionCall %uint %f0 %two\n" END);
    for (int n = 0; n < 30; n++)
        str_printf(
            &a, &s,
            "%%f%d = OpFunction %%uint None %%fn1\n%%x%d = OpFunctionParameter %%uint\n%%l%d = "
            "OpLabel\n"
            "%%u%d = OpFunctionCall %%uint %%f%d %%x%d\n%%v%d = OpFunctionCall %%uint %%f%d %%u%d\n"
            "OpReturnValue %%v%d\nOpFunctionEnd\n",
            n, n, n, n, n + 1, n, n, n + 1, n, n);
    str_add(&a, &s,
            "%f30 = OpFunction %uint None %fn1\n%x30 = OpFunctionParameter %uint\n%l30 = OpLabel\n"
            "OpReturnValue %x30\nOpFunctionEnd\n");
    REQUIRE(run_open(&r, "", "", s.data));
    CHECK(!RUN(&r, inline));
    CHECK_CONTAINS(r.diags.text, "grows beyond");
    run_free(&r);
    arena_free(&a);
}
