/* SPDX-License-Identifier: MIT
 *
 * Pointers at one distance.
 */
#include "analysis/test/kernel.h"

/* Opens a function of that body, in which x, y, k and ld are not known, and finds p0, p1, ... */
static bool open_body(Kernel *k, const char *body, SpvId *pointers, uint32_t n)
{
    Arena a = { 0 };
    Str text = { 0 };
    str_add(&a, &text,
            "%a = OpLabel\n%x = OpLoad %uint %state\n%y = OpLoad %uint %state\n"
            "%k = OpLoad %uint %state\n%ld = OpLoad %uint %state\n");
    str_add(&a, &text, body);
    str_add(&a, &text, "OpReturn\n");
    bool ok = kernel_open(k, text.data);
    for (uint32_t i = 0; ok && i < n; i++) {
        char name[4] = { 'p', (char)('0' + i), 0 };
        pointers[i] = kernel_id(k, name);
    }
    arena_free(&a);
    return ok;
}

/* Whether p0, p1, ... are even. */
static bool even(const char *body, uint32_t n)
{
    Kernel k;
    SpvId pointers[8] = { 0 };
    bool ok = open_body(&k, body, pointers, n) && pointers_even(k.m, pointers, n);
    kernel_free(&k);
    return ok;
}

enum { UNKNOWN = 999 };

/* How far p1 is from p0. */
static int64_t apart(const char *body, bool kernel)
{
    Kernel k;
    SpvId p[2] = { 0 };
    int64_t n;
    bool ok = open_body(&k, body, p, 2) && pointers_apart(k.m, p[0], p[1], kernel, &n);
    kernel_free(&k);
    return ok ? n : UNKNOWN;
}

/* p0 to p3 at the indices i0 to i3, which `body` computes. */
static bool even_indices(const char *body)
{
    Arena a = { 0 };
    Str text = { 0 };
    str_add(&a, &text, body);
    for (int i = 0; i < 4; i++)
        str_printf(&a, &text, "%%p%d = OpAccessChain %%uint_p %%data %%zero %%i%d\n", i, i);
    bool ok = even(text.data, 4);
    arena_free(&a);
    return ok;
}

TEST(constants)
{
    CHECK(even("%p0 = OpAccessChain %uint_p %data %zero %one\n"
               "%p1 = OpAccessChain %uint_p %data %zero %two\n"
               "%p2 = OpAccessChain %uint_p %data %zero %three\n",
               3));
    CHECK(even("%p0 = OpAccessChain %uint_p %data %zero %two\n"
               "%p1 = OpAccessChain %uint_p %data %zero %two\n"
               "%p2 = OpAccessChain %uint_p %data %zero %two\n",
               3));
    CHECK(!even("%p0 = OpAccessChain %uint_p %data %zero %zero\n"
                "%p1 = OpAccessChain %uint_p %data %zero %two\n"
                "%p2 = OpAccessChain %uint_p %data %zero %three\n",
                3));
}

/* As a matrix's rows and columns are addressed: x * ld + k, (k + 16 t) * ld + y. */
TEST(sums_of_products)
{
    CHECK(even_indices("%r = OpIMul %uint %x %ld\n%i0 = OpIAdd %uint %r %k\n"
                       "%k1 = OpIAdd %uint %k %n16\n%i1 = OpIAdd %uint %k1 %r\n"
                       "%k2 = OpIAdd %uint %k1 %n16\n%i2 = OpIAdd %uint %r %k2\n"
                       "%t = OpIMul %uint %n16 %three\n%k3 = OpIAdd %uint %t %k\n"
                       "%i3 = OpIAdd %uint %r %k3\n"));
    CHECK(even_indices("%b0 = OpIMul %uint %k %ld\n%i0 = OpIAdd %uint %b0 %y\n"
                       "%k1 = OpIAdd %uint %k %n16\n%b1 = OpIMul %uint %ld %k1\n"
                       "%i1 = OpIAdd %uint %b1 %y\n"
                       "%l = OpShiftLeftLogical %uint %ld %two\n"
                       "%n = OpShiftLeftLogical %uint %l %three\n%i2 = OpIAdd %uint %n %i0\n"
                       "%k2 = OpIAdd %uint %k1 %n16\n%k3 = OpIAdd %uint %k2 %n16\n"
                       "%b3 = OpIMul %uint %k3 %ld\n%i3 = OpIAdd %uint %b3 %y\n"));
    /* ld twice, then ld and k */
    CHECK(!even_indices("%i0 = OpCopyObject %uint %x\n%i1 = OpIAdd %uint %i0 %ld\n"
                        "%i2 = OpIAdd %uint %i1 %ld\n%i3 = OpIAdd %uint %i2 %k\n"));
    /* squares */
    CHECK(!even_indices("%i0 = OpIMul %uint %k %k\n%k1 = OpIAdd %uint %k %one\n"
                        "%i1 = OpIMul %uint %k1 %k1\n%k2 = OpIAdd %uint %k %two\n"
                        "%i2 = OpIMul %uint %k2 %k2\n%k3 = OpIAdd %uint %k %three\n"
                        "%i3 = OpIMul %uint %k3 %k3\n"));
    /* backwards */
    CHECK(even_indices("%i0 = OpIAdd %uint %x %y\n%i1 = OpISub %uint %i0 %ld\n"
                       "%i2 = OpISub %uint %i1 %ld\n%l = OpIMul %uint %ld %three\n"
                       "%i3 = OpISub %uint %i0 %l\n"));
}

/* What is not looked into is itself only. */
TEST(other_instructions)
{
    CHECK(even_indices("%u = OpUDiv %uint %x %ld\n%i0 = OpIAdd %uint %u %k\n"
                       "%i1 = OpIAdd %uint %i0 %y\n%i2 = OpIAdd %uint %i1 %y\n"
                       "%i3 = OpIAdd %uint %i2 %y\n"));
    CHECK(!even_indices("%i0 = OpUDiv %uint %x %ld\n%i1 = OpIAdd %uint %i0 %one\n"
                        "%k2 = OpIAdd %uint %x %two\n%i2 = OpUDiv %uint %k2 %ld\n"
                        "%i3 = OpIAdd %uint %i2 %one\n"));
}

/* Long chains of sums end the search, with what may be the wrong answer in one way only. */
TEST(large_numbers)
{
    Arena a = { 0 };
    Str text = { 0 };
    str_add(&a, &text, "%s0 = OpIAdd %uint %x %y\n");
    for (int i = 1; i < 200; i++)
        str_printf(&a, &text, "%%s%d = OpIMul %%uint %%s%d %%s%d\n", i, i - 1, i - 1);
    str_add(&a, &text,
            "%i0 = OpIAdd %uint %s199 %one\n%i1 = OpIAdd %uint %s199 %two\n"
            "%i2 = OpIAdd %uint %s199 %three\n%i3 = OpIAdd %uint %s198 %three\n");
    CHECK(!even_indices(text.data));
    arena_free(&a);
}

/* Members of a structure may lie anywhere, and descriptors do; OpPtrAccessChain's element may be
 * negative, so that its sum wraps around where it has 32 bits. */
TEST(what_is_no_array)
{
    CHECK(!even("%p0 = OpAccessChain %uint_p %data %zero %x\n"
                "%p1 = OpAccessChain %uint_p %data %one %x\n",
                2));
    CHECK(!even("%b = OpAccessChain %uint_p %data %zero %x\n"
                "%p0 = OpPtrAccessChain %uint_p %b %zero\n"
                "%p1 = OpPtrAccessChain %uint_p %b %one\n",
                2));
    CHECK(!even("%p0 = OpAccessChain %uint_p %data %zero %x\n%p1 = OpCopyObject %uint_p %p0\n", 2));
}

/* x + k and x + 1 + k, an element after it and one before. */
TEST(known_distances)
{
    CHECK(apart("%i = OpIAdd %uint %x %k\n%p0 = OpAccessChain %uint_p %data %zero %i\n"
                "%j = OpIAdd %uint %x %one\n%l = OpIAdd %uint %k %j\n"
                "%p1 = OpAccessChain %uint_p %data %zero %l\n",
                false) == 1);
    CHECK(apart("%p0 = OpAccessChain %uint_p %data %zero %x\n"
                "%j = OpISub %uint %x %three\n"
                "%p1 = OpAccessChain %uint_p %data %zero %j\n",
                false) == -3);
    CHECK(apart("%p0 = OpAccessChain %uint_p %data %zero %x\n"
                "%p1 = OpAccessChain %uint_p %data %zero %y\n",
                false) == UNKNOWN);
    CHECK(apart("%p0 = OpAccessChain %uint_p %data %zero %x\n"
                "%p1 = OpAccessChain %uint_p %data %zero %x\n",
                false) == 0);
}

/* Sums in 32 bits, as OpenCL C has them, whose extensions are indices. Unsigned ones may wrap. */
TEST(extended_indices)
{
#define INDICES(op)                                                                                \
    "%j = OpIAdd %uint %x %two\n%i0 = " op " %ulong %x\n%i1 = " op " %ulong %j\n"                  \
    "%p0 = OpAccessChain %uint_p %data %zero %i0\n%p1 = OpAccessChain %uint_p %data %zero %i1\n"
    CHECK(apart(INDICES("OpSConvert"), true) == 2);
    CHECK(apart(INDICES("OpSConvert"), false) == UNKNOWN);
    CHECK(apart(INDICES("OpUConvert"), true) == UNKNOWN);
}

/* An invocation's number is the same each time that it is loaded; what memory holds is not. */
TEST(loaded_again)
{
#define LOADED(from)                                                                               \
    "%g = " from "%h = " from "%j = OpIAdd %uint %h %one\n"                                        \
    "%p0 = OpAccessChain %uint_p %data %zero %g\n%p1 = OpAccessChain %uint_p %data %zero %j\n"
    CHECK(apart("%s = OpAccessChain %uint_i %gid %zero\n" LOADED("OpLoad %uint %s\n"), false) == 1);
    CHECK(apart(LOADED("OpLoad %uint %state\n"), false) == UNKNOWN);
}
