/* SPDX-License-Identifier: MIT
 *
 * What is the same for a workgroup. LocalSize is 32 2 1.
 */
#include "analysis/test/kernel.h"

typedef struct Case { Kernel k; uint8_t *same; } Case;

static bool open_case(Case *c, const char *body)
{
    if (!kernel_open(&c->k, body))
        return test_fail(__FILE__, __LINE__, "%s", c->k.diags.text);
    Uniformity *u = uniformity_build_for(&c->k.arena, c->k.m, c->k.cfg, 32);
    c->same = workgroup_same(&c->k.arena, c->k.m, c->k.cfg, u);
    return true;
}

static bool is_same(const Case *c, const char *name) { return c->same[kernel_id(&c->k, name)]; }

TEST(operands_tell)
{
    Case c;
    REQUIRE(open_case(
        &c, "%a = OpLabel\n%f = OpVariable %uint_f Function\n"
            "%w = OpLoad %uint3 %wid\n%wx = OpCompositeExtract %uint %w 0\n"
            "%p = OpAccessChain %uint_p %data %zero %wx\n%l = OpLoad %uint %p\n"
            "%sum = OpIAdd %uint %l %wx\n"
            "%all = OpLoad %uint3 %lid\n%y = OpCompositeExtract %uint %all 1\n"
            "%q = OpAccessChain %uint_p %data %zero %y\n%lq = OpLoad %uint %q\n"
            "%mixed = OpIAdd %uint %sum %y\n"
            "%old = OpAtomicIAdd %uint %p %one %zero %one\n%after = OpIAdd %uint %old %one\n"
            "OpStore %f %one\n%lf = OpLoad %uint %f\n%ls = OpLoad %uint %state\n"
            "OpReturn\n"));
    CHECK(is_same(&c, "w") && is_same(&c, "wx") && is_same(&c, "p") && is_same(&c, "l"));
    CHECK(is_same(&c, "sum"));
    /* one value a subgroup (a row of 32), but not one for both */
    CHECK(!is_same(&c, "y") && !is_same(&c, "q") && !is_same(&c, "lq") && !is_same(&c, "mixed"));
    CHECK(!is_same(&c, "old") && !is_same(&c, "after"));
    CHECK(!is_same(&c, "lf") && !is_same(&c, "ls"));
    kernel_free(&c.k);
}

TEST(phis_are_not_followed)
{
    Case c;
    REQUIRE(open_case(&c, "%a = OpLabel\nOpSelectionMerge %m None\n"
                          "OpBranchConditional %yes %t %m\n%t = OpLabel\nOpBranch %m\n"
                          "%m = OpLabel\n%phi = OpPhi %uint %one %a %two %t\n"
                          "%next = OpIAdd %uint %phi %one\n%plain = OpIAdd %uint %two %one\n"
                          "OpReturn\n"));
    CHECK(!is_same(&c, "phi") && !is_same(&c, "next") && is_same(&c, "plain"));
    kernel_free(&c.k);
}

/* Each number has the one before as both operands: 2^400 ways lead back to the first. */
TEST(deep_expressions)
{
    Arena a = { 0 };
    Str body = { 0 };
    Case c;
    str_add(&a, &body, "%a = OpLabel\n%w = OpLoad %uint3 %wid\n"
                       "%deep0 = OpCompositeExtract %uint %w 0\n%all = OpLoad %uint3 %lid\n"
                       "%m0 = OpCompositeExtract %uint %all 1\n");
    for (uint32_t i = 1; i <= 400; i++)
        str_printf(&a, &body, "%%deep%u = OpIAdd %%uint %%deep%u %%deep%u\n"
                   "%%m%u = OpIAdd %%uint %%m%u %%deep%u\n", i, i - 1, i - 1, i, i - 1, i - 1);
    str_add(&a, &body, "OpReturn\n");
    REQUIRE(open_case(&c, body.data));
    CHECK(is_same(&c, "deep400") && !is_same(&c, "m400"));
    kernel_free(&c.k);
    arena_free(&a);
}
