/* SPDX-License-Identifier: MIT
 *
 * What pointers lead into.
 */
#include "analysis/test/kernel.h"

static SpvId variable_of(const Kernel *k, const char *name)
{
    return pointer_variable(k->m, kernel_id(k, name));
}

TEST(chains_copies_and_casts)
{
    Kernel k;
    REQUIRE(kernel_open(
        &k, "%a = OpLabel\n%v = OpVariable %uint_f Function\n%u = OpVariable %uint_f Function\n"
            "%p0 = OpAccessChain %uint_p %data %zero %one\n%p1 = OpCopyObject %uint_p %p0\n"
            "%p2 = OpPtrAccessChain %uint_p %p1 %two\n%p3 = OpInBoundsPtrAccessChain %uint_p %p2 "
            "%two\n"
            "%p4 = OpBitcast %uint_p %p3\n%v1 = OpCopyObject %uint_f %v\n"
            "%number = OpLoad %uint %p4\n%p5 = OpBitcast %uint_p %number\n"
            "%p6 = OpInBoundsAccessChain %uint_p %p5 %zero\nOpReturn\n"));
    SpvId data = variable_of(&k, "p0");
    CHECK(data && spv_def(k.m, data)->op == SpvOpVariable);
    CHECK_EQ_U64(variable_of(&k, "p1"), data);
    CHECK_EQ_U64(variable_of(&k, "p3"), data);
    CHECK_EQ_U64(variable_of(&k, "p4"), data);
    CHECK_EQ_U64(pointer_variable(k.m, data), data);
    CHECK_EQ_U64(variable_of(&k, "v1"), kernel_id(&k, "v"));
    CHECK(variable_of(&k, "v1") != variable_of(&k, "u"));
    /* a number that became a pointer */
    CHECK_EQ_U64(variable_of(&k, "p6"), 0);
    CHECK_EQ_U64(pointer_root(k.m, kernel_id(&k, "p6"))->id, kernel_id(&k, "number"));
    kernel_free(&k);
}

TEST(choices_end_the_walk)
{
    Kernel k;
    REQUIRE(kernel_open(
        &k, "%a = OpLabel\n%v = OpVariable %uint_f Function\n%u = OpVariable %uint_f Function\n"
            "%s = OpSelect %uint_f %yes %v %u\n%t = OpCopyObject %uint_f %s\nOpReturn\n"));
    CHECK_EQ_U64(variable_of(&k, "t"), 0);
    CHECK_EQ_U64(pointer_root(k.m, kernel_id(&k, "t"))->id, kernel_id(&k, "s"));
    kernel_free(&k);
}

/* Longer than any bound that a walk might have; and one in a circle. */
TEST(long_and_endless_chains)
{
    Arena a = { 0 };
    Str body = { 0 };
    Kernel k;
    str_add(&a, &body, "%a = OpLabel\n%v0 = OpVariable %uint_f Function\n");
    for (uint32_t i = 1; i <= 300; i++)
        str_printf(&a, &body, "%%v%u = OpCopyObject %%uint_f %%v%u\n", i, i - 1);
    str_add(&a, &body, "OpReturn\n%dead = OpLabel\n%x = OpCopyObject %uint_f %y\n"
                       "%y = OpCopyObject %uint_f %x\nOpReturn\n");
    REQUIRE(kernel_open(&k, body.data));
    CHECK_EQ_U64(variable_of(&k, "v300"), kernel_id(&k, "v0"));
    CHECK(!pointer_root(k.m, kernel_id(&k, "x")) && !pointer_root(k.m, k.m->bound));
    kernel_free(&k);
    arena_free(&a);
}
