/* SPDX-License-Identifier: MIT
 *
 * The front end from the inside: the table of built-in functions, mangled names, layout of types,
 * what runs out of memory, what is nested deeply.
 */
#include "base/test.h"

#include <stdlib.h>

#include "front/opencl/internal.h"

typedef struct Run {
    Arena arena;
    TestDiags diags;
    char *llvm;
} Run;

static void compile(Run *r, const char *text, size_t limit)
{
    OclSource source = { text, strlen(text), "k.cl" };
    r->diags = (TestDiags)TEST_DIAGS(r->diags);
    r->arena.limit = limit;
    jmp_buf oom;
    if (!ARENA_GUARD(&r->arena, oom))
        r->llvm = ocl_to_llvm(&r->arena, &source, NULL, &r->diags.sink);
}

/* Every code of a signature is known, overloads of a name stand together. */
TEST(the_table_is_sound)
{
    uint32_t n;
    const OclBuiltin *table = ocl_builtin_table(&n);
    CHECK(n > 400);
    for (uint32_t i = 0; i < n; i++) {
        const char *s = table[i].signature;
        CHECK(strspn(s, "vbchstijlmDfdeox24TSUNXWYRVMJpqaAgywz") == strlen(s));
        for (uint32_t k = i + 2; k < n; k++) {
            if (!strcmp(table[i].name, table[k].name) && strcmp(table[k - 1].name, table[k].name))
                test_fail(__FILE__, __LINE__, "%s stands in two places", table[i].name);
        }
    }
}

TEST(names_are_mangled_as_clang_does)
{
    static const struct {
        const char *call, *name;
    } rows[] = {
        { "max(*(global float4 *)p, (float4)1)", "@_Z3maxDv4_fS_(" },
        { "get_global_id(0)", "@_Z13get_global_idj(" },
        { "vload4(1, (global float *)p)", "@_Z6vload4mPU3AS1Kf(" },
        { "vload3(1, (local half *)0)", "@_Z6vload3mPU3AS3KDh(" },
        { "convert_int4_sat_rtz(*(global float4 *)p)", "@_Z20convert_int4_sat_rtzDv4_f(" },
        { "frexp(1.0f, &i)", "@_Z5frexpfPi(" },
        { "atomic_load_explicit((global atomic_int *)p, memory_order_acquire, memory_scope_device)",
          "@_Z20atomic_load_explicitPU3AS1VU7_Atomici12memory_order12memory_scope(" },
        { "shuffle(*(global char4 *)p, (uchar16)(1))", "@_Z7shuffleDv4_cDv16_h(" },
        { "select(1.0f, 2.0f, i)", "@_Z6selectffi(" },
        { "sub_group_reduce_add((uint)i)", "@_Z20sub_group_reduce_addj(" },
        { "wait_group_events(1, &e)", "@_Z17wait_group_eventsiP9ocl_event(" },
        { "fma(1.0h, 2.0h, 3.0h)", "@_Z3fmaDhDhDh(" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Run r = { 0 };
        char text[400];
        snprintf(text, sizeof text, "kernel void k(global void *p) { int i = 0; event_t e; %s; }",
                 rows[i].call);
        compile(&r, text, 0);
        CHECK_STR(r.diags.text, "");
        CHECK_CONTAINS(r.llvm, rows[i].name);
        arena_free(&r.arena);
    }
}

TEST(sizes_are_those_of_the_specification)
{
    static const char *const rows[] = {
        "sizeof(float3) == 16",
        "sizeof(long16) == 128",
        "sizeof(void *) == 8",
        "sizeof(struct { char a; int b; }) == 8",
        "sizeof(struct { char a; int b; } __attribute__((packed))) == 5",
        "sizeof(struct { int a : 3; int b : 30; }) == 8",
        "sizeof(union { char a[5]; short b; }) == 6",
        "sizeof(half) == 2",
        "sizeof(int[3][2]) == 24",
        "__alignof__(double4) == 32",
        "'a' == 97 && 077 == 63",
        "(uchar)300 == 44",
        "-1 < 0u ? 0 : 1",
        "(1 ? 2 : 3) == 2",
        "0x7fffffff + 0L == 2147483647",
        "offsetof(struct { char a; float4 b; }, b) == 16",
        "vec_step(int3) == 4",
        "(int)1.9f == 1",
        "1 << 35 == 8",
        "as_int(1.0f) == 0x3f800000",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Run r = { 0 };
        char text[300];
        snprintf(text, sizeof text, "constant int a[(%s) ? 1 : -1] = { 1 };", rows[i]);
        compile(&r, text, 0);
        CHECK_STR(r.diags.text, "");
        arena_free(&r.arena);
    }
}

/* Wherever memory ends: nothing leaks, nothing crashes. */
TEST(memory_may_run_out)
{
    static const char text[] =
        "#define F(x) ((x) + 1)\nkernel void k(global float4 *a) { a[F(0)] = max(a[1], a[2]); }";
    for (size_t limit = 1000; limit < 1000000; limit += limit / 3) {
        Run r = { 0 };
        compile(&r, text, limit);
        CHECK_STR(r.diags.text, "");
        arena_free(&r.arena);
    }
}

TEST(what_is_nested_deeply_is_refused)
{
    static const char *const openers[] = { "(",      "{",     "[",    "-",         "if (1) ",
                                           "int a[", "*",     "a ? ", "struct { ", "(int)",
                                           "f(",     "else ", "do ",  "x = " };
    enum { TIMES = 20000 };
    for (size_t i = 0; i < COUNT_OF(openers); i++) {
        Run r = { 0 };
        Str s = { 0 };
        str_add(&r.arena, &s, "void k(void) { ");
        for (int n = 0; n < TIMES; n++)
            str_add(&r.arena, &s, openers[i]);
        char *text = strdup(s.data);
        compile(&r, text, 0);
        CHECK(!r.llvm && r.diags.sink.errors > 0);
        free(text);
        arena_free(&r.arena);
    }
}
