/* SPDX-License-Identifier: MIT
 *
 * What is the same for a subgroup, and which code only some of its lanes run. LocalSize is 32 2 1.
 */
#include "analysis/test/kernel.h"

typedef struct Case {
    Kernel k;
    Uniformity *u;
} Case;

static bool open_case(Case *c, const char *body, uint32_t subgroup_size)
{
    if (!kernel_open(&c->k, body))
        return test_fail(__FILE__, __LINE__, "%s", c->k.diags.text);
    c->u = uniformity_build_for(&c->k.arena, c->k.m, c->k.cfg, subgroup_size);
    return true;
}

static bool varies(const Case *c, const char *name)
{
    return c->u->varying[kernel_id(&c->k, name)];
}
static bool diverges(const Case *c, const char *block)
{
    return c->u->divergent_block[kernel_at(&c->k, block)];
}

#define X "%xp = OpAccessChain %uint_i %lid %zero\n%x = OpLoad %uint %xp\n"

TEST(builtins)
{
    const char *body =
        "%a = OpLabel\n" X "%all = OpLoad %uint3 %lid\n%x2 = OpCompositeExtract %uint %all 0\n"
        "%y = OpCompositeExtract %uint %all 1\n%z = OpCompositeExtract %uint %all 2\n"
        "%g = OpLoad %uint3 %gid\n%gz = OpCompositeExtract %uint %g 2\n"
        "%w = OpLoad %uint3 %wid\n%wx = OpCompositeExtract %uint %w 0\n"
        "%sum = OpIAdd %uint3 %all %w\n%sx = OpCompositeExtract %uint %sum 0\n"
        "%sz = OpCompositeExtract %uint %sum 2\n"
        "%sw = OpVectorShuffle %uint3 %all %w 2 5 0\n%sw1 = OpCompositeExtract %uint %sw 1\n"
        "%sw2 = OpCompositeExtract %uint %sw 2\nOpReturn\n";
    Case c;
    REQUIRE(open_case(&c, body, 0));
    CHECK(varies(&c, "x") && varies(&c, "x2") && varies(&c, "y") && !varies(&c, "z"));
    CHECK(!varies(&c, "gz") && !varies(&c, "wx") && !varies(&c, "xp"));
    CHECK(varies(&c, "sx") && !varies(&c, "sz") && !varies(&c, "sw1") && varies(&c, "sw2"));
    kernel_free(&c.k);
    REQUIRE(open_case(&c, body, 32)); /* a row is one subgroup */
    CHECK(varies(&c, "x") && !varies(&c, "y") && !varies(&c, "z"));
    kernel_free(&c.k);
    REQUIRE(open_case(&c, body, 64));
    CHECK(varies(&c, "y") && !varies(&c, "z"));
    kernel_free(&c.k);
}

TEST(memory)
{
    Case c;
    REQUIRE(open_case(
        &c,
        "%a = OpLabel\n%v = OpVariable %uint_f Function\n%u = OpVariable %uint_f Function\n" X
        "%p0 = OpAccessChain %uint_p %data %zero %one\n%px = OpAccessChain %uint_p %data %zero %x\n"
        "%l0 = OpLoad %uint %p0\n%lx = OpLoad %uint %px\n"
        "%old = OpAtomicIAdd %uint %p0 %one %zero %one\n"
        "OpStore %v %x\nOpStore %u %l0\n%lv = OpLoad %uint %v\n%lu = OpLoad %uint %u\n"
        "OpReturn\n",
        0));
    CHECK(!varies(&c, "l0") && varies(&c, "lx") && varies(&c, "px") && !varies(&c, "p0"));
    CHECK(varies(&c, "old") && varies(&c, "lv") && !varies(&c, "lu"));
    CHECK(c.u->varying_variable[kernel_id(&c.k, "v")] &&
          !c.u->varying_variable[kernel_id(&c.k, "u")]);
    kernel_free(&c.k);
}

TEST(branches_and_phis)
{
    Case c;
    REQUIRE(open_case(
        &c,
        "%a = OpLabel\n" X "%c = OpIEqual %bool %x %one\n"
        "%p0 = OpAccessChain %uint_p %data %zero %one\n%l0 = OpLoad %uint %p0\n"
        "%uc = OpIEqual %bool %l0 %one\n"
        "OpSelectionMerge %m None\nOpBranchConditional %c %t %e\n"
        "%t = OpLabel\nOpSelectionMerge %tm None\nOpBranchConditional %uc %t1 %t2\n"
        "%t1 = OpLabel\nOpBranch %tm\n%t2 = OpLabel\nOpBranch %tm\n"
        "%tm = OpLabel\n%inner = OpPhi %uint %one %t1 %two %t2\nOpBranch %m\n"
        "%e = OpLabel\nOpStore %state %one\nOpBranch %m\n"
        "%m = OpLabel\n%phi = OpPhi %uint %one %tm %two %e\n%same = OpPhi %uint %l0 %tm %l0 %e\n"
        "%ls = OpLoad %uint %state\nOpReturn\n",
        0));
    CHECK(diverges(&c, "t") && diverges(&c, "t1") && diverges(&c, "e"));
    CHECK(!diverges(&c, "a") && !diverges(&c, "m"));
    CHECK(c.u->divergent_branch[kernel_at(&c.k, "a")] &&
          !c.u->divergent_branch[kernel_at(&c.k, "t")]);
    CHECK(varies(&c, "phi") && !varies(&c, "same") && !varies(&c, "inner"));
    CHECK(varies(&c, "ls")); /* stored by some lanes only */
    kernel_free(&c.k);
}

/* for (i = 0; ; i++) if (i == x) break; : lanes leave with their own i. What is not used behind the
 * loop is the same for those that are in it. */
TEST(loops)
{
    Case c;
    REQUIRE(open_case(
        &c,
        "%a = OpLabel\n" X "OpBranch %h\n"
        "%h = OpLabel\n%i = OpPhi %uint %zero %a %i1 %c\n"
        "%k = OpPhi %uint %zero %a %k1 %c\nOpLoopMerge %m %c None\nOpBranch %b\n"
        "%b = OpLabel\n%in = OpIAdd %uint %k %two\n%q = OpIEqual %bool %i %x\n"
        "OpBranchConditional %q %m %c\n"
        "%c = OpLabel\n%i1 = OpIAdd %uint %i %one\n%k1 = OpIAdd %uint %k %two\nOpBranch %h\n"
        "%m = OpLabel\n%after = OpIAdd %uint %i %one\nOpBranch %h2\n"
        "%h2 = OpLabel\n%j = OpPhi %uint %zero %m %j1 %c2\n"
        "%qj = OpULessThan %bool %j %n16\nOpLoopMerge %m2 %c2 None\n"
        "OpBranchConditional %qj %c2 %m2\n"
        "%c2 = OpLabel\n%j1 = OpIAdd %uint %j %one\nOpBranch %h2\n"
        "%m2 = OpLabel\n%jj = OpIAdd %uint %j %one\nOpReturn\n",
        0));
    CHECK(c.u->divergent_loop[0] + c.u->divergent_loop[1] == 1);
    CHECK(diverges(&c, "h") && diverges(&c, "c") && !diverges(&c, "m") && !diverges(&c, "h2"));
    CHECK(!varies(&c, "in") && !varies(&c, "k") && varies(&c, "i") && varies(&c, "after"));
    CHECK(!varies(&c, "j") && !varies(&c, "jj"));
    kernel_free(&c.k);
}

/* The same loop in loop-closed form: only the phi behind it varies. */
TEST(closed_loops)
{
    Case c;
    REQUIRE(open_case(
        &c,
        "%a = OpLabel\n" X "OpBranch %h\n"
        "%h = OpLabel\n%i = OpPhi %uint %zero %a %i1 %c\nOpLoopMerge %m %c None\nOpBranch %b\n"
        "%b = OpLabel\n%q = OpIEqual %bool %i %x\nOpBranchConditional %q %m %c\n"
        "%c = OpLabel\n%i1 = OpIAdd %uint %i %one\nOpBranch %h\n"
        "%m = OpLabel\n%left = OpPhi %uint %i %b\n%after = OpIAdd %uint %left %one\nOpReturn\n",
        0));
    CHECK(c.u->divergent_loop[0]);
    CHECK(!varies(&c, "i") && !varies(&c, "i1") && varies(&c, "left") && varies(&c, "after"));
    kernel_free(&c.k);
}

TEST(return_leaves_the_rest_divergent)
{
    Case c;
    REQUIRE(open_case(&c,
                      "%a = OpLabel\n" X "%c = OpIEqual %bool %x %one\n"
                      "OpSelectionMerge %m None\nOpBranchConditional %c %t %m\n"
                      "%t = OpLabel\nOpReturn\n%m = OpLabel\nOpReturn\n",
                      0));
    CHECK(diverges(&c, "t") && diverges(&c, "m"));
    kernel_free(&c.k);
}

TEST(subgroup_operations)
{
    Case c;
    REQUIRE(open_case(&c,
                      "%a = OpLabel\n" X "%sum = OpGroupNonUniformIAdd %uint %three Reduce %x\n"
                      "%scan = OpGroupNonUniformIAdd %uint %three InclusiveScan %one\n"
                      "%elect = OpGroupNonUniformElect %bool %three\n"
                      "%len = OpCooperativeMatrixLengthKHR %uint %matC\n"
                      "%p = OpAccessChain %uint_p %data %zero %zero\n"
                      "%e = OpCompositeExtract %float %nothing 0\nOpReturn\n",
                      0));
    CHECK(!varies(&c, "sum") && varies(&c, "scan") && varies(&c, "elect") && !varies(&c, "len"));
    CHECK(varies(&c, "e"));
    kernel_free(&c.k);
}
