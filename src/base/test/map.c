/* SPDX-License-Identifier: MIT */
#include "base/test.h"

TEST(empty_map_has_nothing)
{
    Map m = { 0 };
    uint64_t v;
    CHECK(!map_get(&m, 0, &v));
    CHECK(!map_get(&m, 1, NULL));
}

TEST(put_get_replace)
{
    Arena a = { 0 };
    Map m = { 0 };
    uint64_t v = 0;
    map_put(&a, &m, 0, 10);
    map_put(&a, &m, UINT64_MAX, 11);
    map_put(&a, &m, 0, 12);
    CHECK_EQ_U64(m.len, 2);
    CHECK(map_get(&m, 0, &v) && v == 12);
    CHECK(map_get(&m, UINT64_MAX, &v) && v == 11);
    CHECK(!map_get(&m, 5, &v));
    arena_free(&a);
}

TEST(many_keys)
{
    Arena a = { 0 };
    Map m = { 0 };
    enum { N = 50000 };
    for (uint64_t i = 0; i < N; i++)
        map_put(&a, &m, i * 4096, i);
    CHECK_EQ_U64(m.len, N);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t v;
        REQUIRE(map_get(&m, i * 4096, &v) && v == i);
        REQUIRE(!map_get(&m, i * 4096 + 1, &v));
    }
    arena_free(&a);
}

TEST(hash_depends_on_every_byte_and_the_length)
{
    uint8_t data[40] = { 0 };
    Arena a = { 0 };
    Map seen = { 0 };
    for (size_t size = 0; size <= sizeof(data); size++)
        map_put(&a, &seen, hash_bytes(data, size, 0), 0);
    for (size_t bit = 0; bit < sizeof(data) * 8; bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        map_put(&a, &seen, hash_bytes(data, sizeof(data), 0), 0);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    map_put(&a, &seen, hash_bytes(data, sizeof(data), 1), 0);
    CHECK_EQ_U64(seen.len, 41 + 320 + 1);
    CHECK(hash_bytes("abc", 3, 7) == hash_bytes("abc", 3, 7));
    arena_free(&a);
}
