/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include <stdlib.h>

TEST(alloc_is_zeroed_and_aligned)
{
    Arena a = { 0 };
    for (size_t size = 0; size < 3000; size += 7) {
        uint8_t *p = arena_alloc(&a, size);
        CHECK((uintptr_t)p % 16 == 0);
        for (size_t i = 0; i < size; i++)
            REQUIRE(p[i] == 0);
        memset(p, 0xaa, size);
    }
    CHECK(a.used >= 3000);
    arena_free(&a);
    arena_free(&a);
    CHECK_EQ_U64(a.used, 0);
    CHECK(arena_alloc(&a, 1) != NULL);
    arena_free(&a);
}

TEST(allocations_do_not_overlap)
{
    Arena a = { 0 };
    enum { N = 2000 };
    uint8_t *p[N];
    size_t size[N];
    Rng r = { 1 };
    for (int i = 0; i < N; i++) {
        size[i] = rng_u64(&r) % (i % 100 ? 200 : 100000);
        p[i] = arena_alloc(&a, size[i]);
        memset(p[i], i & 0xff, size[i]);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < size[i]; k++)
            REQUIRE(p[i][k] == (i & 0xff));
    arena_free(&a);
}

TEST(limit_unwinds)
{
    Arena a = { .limit = 1000 };
    volatile int allocated = 0;
    jmp_buf oom;
    if (ARENA_GUARD(&a, oom)) {
        CHECK_EQ_U64(allocated, 62);
        CHECK_EQ_U64(a.used, 992);
    } else {
        for (;; allocated++)
            arena_alloc(&a, 16);
    }
    arena_free(&a);
}

static void allocate_100(void *arena) { arena_alloc(arena, 100); }

static void try_inside(void *arena)
{
    CHECK(!arena_try(arena, allocate_100, arena));
    allocate_100(arena);
}

TEST(try_restores_the_outer_guard)
{
    Arena a = { .limit = 120 };
    CHECK(arena_try(&a, allocate_100, &a));
    CHECK(!arena_try(&a, allocate_100, &a));
    CHECK(!arena_try(&a, try_inside, &a));
    CHECK(a.on_failure == NULL);
    arena_free(&a);
}

TEST(impossible_sizes_unwind)
{
    Arena a = { 0 };
    volatile int failed = 0;
    for (volatile int i = 0; i < 6; i++) {
        jmp_buf oom;
        if (ARENA_GUARD(&a, oom)) {
            failed++;
            continue;
        }
        VEC(uint32_t) v = { 0 };
        Str s = { 0 };
        switch (i) {
        case 0: arena_alloc(&a, SIZE_MAX); break;
        case 1: arena_alloc(&a, SIZE_MAX - 15); break;
        case 2: arena_alloc_array(&a, SIZE_MAX / 2, 3); break;
        case 3: arena_alloc_array(&a, 16, SIZE_MAX / 16 + 2); break;
        case 4: vec_reserve(&a, &v, UINT32_MAX); break;
        case 5: str_addn(&a, &s, "", UINT32_MAX); break;
        }
    }
    CHECK_EQ_U64(failed, 6);
    arena_free(&a);
}

TEST(without_a_guard_failure_is_null)
{
    Arena a = { .limit = 64 };
    CHECK(arena_alloc(&a, 65) == NULL);
    CHECK(arena_alloc(&a, 64) != NULL);
    CHECK(arena_alloc(&a, 1) == NULL);
    CHECK(arena_strdup(&a, "x") == NULL);
    CHECK(arena_printf(&a, "x") == NULL);
    arena_free(&a);
}

TEST(copies_of_text)
{
    Arena a = { 0 };
    CHECK_STR(arena_strdup(&a, "warp"), "warp");
    CHECK_STR(arena_strdup(&a, ""), "");
    CHECK_STR(arena_strndup(&a, "weft and warp", 4), "weft");
    CHECK_STR(arena_strndup(&a, "weft", 100), "weft");
    CHECK_STR(arena_printf(&a, "%d/%s", 7, "x"), "7/x");
    char *long_text = arena_printf(&a, "%5000d", 1);
    CHECK_EQ_U64(strlen(long_text), 5000);
    CHECK(memcmp(arena_copy(&a, "abc", 3), "abc", 3) == 0);
    CHECK(arena_copy(&a, NULL, 0) != NULL);
    arena_free(&a);
}

TEST(vector_grows)
{
    Arena a = { 0 };
    VEC(uint64_t) v = { 0 };
    for (uint64_t i = 0; i < 100000; i++)
        vec_push(&a, &v, i * i);
    CHECK_EQ_U64(v.len, 100000);
    for (uint64_t i = 0; i < v.len; i++)
        REQUIRE(v.data[i] == i * i);
    CHECK_EQ_U64(vec_last(&v), 99999ull * 99999);
    arena_free(&a);
}
