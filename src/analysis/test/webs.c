/* SPDX-License-Identifier: MIT
 *
 * Which matrices share memory.
 */
#include "analysis/test/kernel.h"

typedef struct Case { Kernel k; MatrixWebs *w; } Case;

static bool open_case(Case *c, const char *body)
{
    if (!kernel_open(&c->k, body))
        return test_fail(__FILE__, __LINE__, "%s", c->k.diags.text);
    c->w = matrix_webs(&c->k.arena, c->k.m, c->k.cfg);
    return true;
}

static uint32_t web(const Case *c, const char *name) { return c->w->web[kernel_id(&c->k, name)]; }

#define AB                                                                                         \
    "%p = OpAccessChain %uint_p %data %zero %zero\n"                                               \
    "%a = OpCooperativeMatrixLoadKHR %matA %p %zero %n16\n"                                        \
    "%b = OpCooperativeMatrixLoadKHR %matB %p %zero %n16\n"

TEST(accumulator_of_a_loop)
{
    Case c;
    REQUIRE(open_case(&c, "%s = OpLabel\n" AB
                          "%start = OpCooperativeMatrixLoadKHR %matC %p %zero %n16\nOpBranch %h\n"
                          "%h = OpLabel\n%i = OpPhi %uint %zero %s %i1 %c\n"
                          "%acc = OpPhi %matC %start %s %r2 %c\n"
                          "%q = OpULessThan %bool %i %n16\nOpLoopMerge %m %c None\n"
                          "OpBranchConditional %q %c %m\n"
                          "%c = OpLabel\n%i1 = OpIAdd %uint %i %one\n"
                          "%r1 = OpCooperativeMatrixMulAddKHR %matC %a %b %acc\n"
                          "%r2 = OpCooperativeMatrixMulAddKHR %matC %a %b %r1\nOpBranch %h\n"
                          "%m = OpLabel\n%twice = OpFAdd %matC %acc %acc\n"
                          "OpCooperativeMatrixStoreKHR %p %twice %zero %n16\nOpReturn\n"));
    CHECK(web(&c, "acc") && web(&c, "acc") == web(&c, "r1") && web(&c, "acc") == web(&c, "r2"));
    CHECK_EQ_U64(web(&c, "start"), web(&c, "acc"));
    CHECK_EQ_U64(web(&c, "twice"), web(&c, "acc"));
    CHECK(web(&c, "a") != web(&c, "b") && web(&c, "a") != web(&c, "acc"));
    CHECK_EQ_U64(c.w->web[kernel_id(&c.k, "i")], 0);
    CHECK_EQ_U64(c.w->n_values, 7);
    CHECK_EQ_U64(c.w->n_webs, 3);
    kernel_free(&c.k);
}

TEST(accumulator_that_lives_on)
{
    Case c;
    REQUIRE(open_case(&c,
                      "%s = OpLabel\n" AB "%acc = OpCooperativeMatrixLoadKHR %matC %p %zero %n16\n"
                      "%r = OpCooperativeMatrixMulAddKHR %matC %a %b %acc\n"
                      "OpCooperativeMatrixStoreKHR %p %acc %zero %n16\n"
                      "OpCooperativeMatrixStoreKHR %p %r %zero %n16\nOpReturn\n"));
    CHECK(web(&c, "acc") != web(&c, "r"));
    kernel_free(&c.k);
}

/* Two that change places in each iteration, and one that is needed behind the loop too. */
TEST(swap)
{
    Case c;
    REQUIRE(open_case(&c,
                      "%s = OpLabel\n%p = OpAccessChain %uint_p %data %zero %zero\n"
                      "%x0 = OpCooperativeMatrixLoadKHR %matC %p %zero %n16\n"
                      "%y0 = OpCooperativeMatrixLoadKHR %matC %p %one %n16\nOpBranch %h\n"
                      "%h = OpLabel\n%x = OpPhi %matC %x0 %s %y %c\n%y = OpPhi %matC %y0 %s %x %c\n"
                      "OpLoopMerge %m %c None\nOpBranchConditional %yes %c %m\n"
                      "%c = OpLabel\nOpBranch %h\n"
                      "%m = OpLabel\nOpCooperativeMatrixStoreKHR %p %x %zero %n16\n"
                      "OpCooperativeMatrixStoreKHR %p %x0 %zero %n16\nOpReturn\n"));
    CHECK(web(&c, "x") != web(&c, "y") && web(&c, "x") != web(&c, "x0"));
    CHECK_EQ_U64(web(&c, "y"), web(&c, "y0"));
    kernel_free(&c.k);
}

TEST(insertion_in_place)
{
    Case c;
    REQUIRE(open_case(
        &c, "%s = OpLabel\n%p = OpAccessChain %uint_p %data %zero %zero\n"
            "%x = OpCooperativeMatrixLoadKHR %matC %p %zero %n16\n"
            "%i = OpCompositeInsert %matC %fzero %x 1\n%j = OpCompositeInsert %matC %fzero %i 2\n"
            "%e = OpCompositeExtract %float %i 0\n"
            "OpCooperativeMatrixStoreKHR %p %j %zero %n16\nOpReturn\n"));
    CHECK_EQ_U64(web(&c, "x"), web(&c, "i"));
    CHECK(web(&c, "j") != web(&c, "i"));
    kernel_free(&c.k);
}

/* A chain of thousands is one web, and found in no time. */
TEST(long_chain)
{
    enum { LENGTH = 10000 };
    Arena a = { 0 };
    Str s = { 0 };
    Case c;
    str_add(&a, &s,
            "%s = OpLabel\n" AB "%c0 = OpCooperativeMatrixMulAddKHR %matC %a %b %nothing\n");
    for (int n = 0; n < LENGTH; n++)
        str_printf(&a, &s, "%%c%d = OpCooperativeMatrixMulAddKHR %%matC %%a %%b %%c%d\n", n + 1, n);
    str_printf(&a, &s, "OpCooperativeMatrixStoreKHR %%p %%c%d %%zero %%n16\nOpReturn\n", LENGTH);
    REQUIRE(open_case(&c, s.data));
    CHECK_EQ_U64(c.w->n_webs, 3);
    kernel_free(&c.k);
    arena_free(&a);
}
