/* SPDX-License-Identifier: MIT
 *
 * Descriptions of arrays, numbers in every type, comparison, matrix ownership.
 */
#include "base/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "runtime/internal.h"

static HeddleArray *make(const char *spec)
{
    HeddleArray *a;
    heddle_array_from_spec(spec, &a, NULL);
    return a;
}

TEST(fills)
{
    HeddleArray *a = make("full:-1.5:bf16[2,3]");
    REQUIRE(a);
    CHECK_EQ_U64(a->count, 6);
    CHECK_NEAR(heddle_array_get(a, 5), -1.5, 0);
    heddle_array_free(a);

    a = make("iota:s8[200]");
    REQUIRE(a);
    CHECK_NEAR(heddle_array_get(a, 100), 100, 0);
    CHECK_NEAR(heddle_array_get(a, 199), 127, 0); /* clamped */
    heddle_array_free(a);

    a = make("list:u32:64,0x10,3");
    REQUIRE(a);
    CHECK_EQ_U64(a->count, 3);
    CHECK_EQ_U64(((uint32_t *)a->data)[1], 16);
    heddle_array_free(a);

    a = make("zeros:f64[4]");
    REQUIRE(a);
    CHECK_NEAR(heddle_array_get(a, 3), 0, 0);
    heddle_array_free(a);
}

TEST(random_is_repeatable)
{
    HeddleArray *a = make("randn:f32[1000]@7"), *b = make("randn:f32[1000]@7"),
                *c = make("randn:f32[1000]@8");
    REQUIRE(a && b && c);
    CHECK(!memcmp(a->data, b->data, a->size));
    CHECK(memcmp(a->data, c->data, a->size));
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < a->count; i++) {
        double x = heddle_array_get(a, i);
        sum += x;
        squares += x * x;
    }
    CHECK_NEAR(sum / 1000, 0, 0.15);
    CHECK_NEAR(squares / 1000, 1, 0.2);
    heddle_array_free(a);
    heddle_array_free(b);
    heddle_array_free(c);
    a = make("rand:s8[4096]@1");
    REQUIRE(a);
    double low = 0, high = 0;
    for (uint64_t i = 0; i < a->count; i++) {
        low = fmin(low, heddle_array_get(a, i));
        high = fmax(high, heddle_array_get(a, i));
    }
    CHECK_NEAR(low, -128, 0);
    CHECK_NEAR(high, 127, 0);
    heddle_array_free(a);
}

TEST(raw_bytes)
{
    static const char path[] = "/tmp/heddle-test-raw.bin";
    FILE *f = fopen(path, "wb");
    REQUIRE(f);
    fputs("hello", f);
    fclose(f);
    HeddleArray *a = make("@/tmp/heddle-test-raw.bin");
    REQUIRE(a);
    CHECK_EQ_U64(a->size, 5);
    CHECK(a->type == HEDDLE_NO_TYPE && !memcmp(a->data, "hello", 5));
    heddle_array_free(a);
    unlink(path);
}

TEST(wrong_specs)
{
    static const char *const specs[] = {
        "",
        "zeros:",
        "zeros:f99[4]",
        "zeros:f32",
        "zeros:f32[",
        "zeros:f32[]",
        "zeros:f32[4",
        "zeros:f32[4,]",
        "zeros:f32[-4]",
        "zeros:f32[4]x",
        "zeros:f32[4]@",
        "zeros:f32[4]@x",
        "zeros:f32[1,1,1,1,1,1,1,1,1]",
        "full:f32[4]",
        "full:x:f32[4]",
        "list:f32",
        "list:f32:",
        "list:f32:1,,2",
        "list:f32:1,2,",
        "nothere.npy",
        "@nothere",
        "zeros:f32[99999999999999999999]",
        "zeros:f32[9999999999,9999999999]",
        "zeros:f32[1000000000000]",
    };
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        HeddleLog *log = heddle_log_new(NULL, NULL);
        HeddleArray *a = (HeddleArray *)1;
        CHECK(heddle_array_from_spec(specs[i], &a, log) != HEDDLE_OK);
        CHECK(a == NULL);
        CHECK_EQ_U64(heddle_log_errors(log), 1);
        heddle_log_free(log);
    }
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleArray *a;
    heddle_array_from_spec("zeros:f32[4;4]", &a, log);
    CHECK_CONTAINS(heddle_log_get(log, 0)->message, "at character 12");
    heddle_log_free(log);
}

TEST(numbers)
{
    static const struct {
        HeddleType type;
        double in, out;
    } rows[] = {
        { HEDDLE_F16, 65519, 65504 },        { HEDDLE_F16, 1e9, INFINITY },
        { HEDDLE_BF16, 1.00390625, 1 },      { HEDDLE_F32, 0.1, 0.1f },
        { HEDDLE_E4M3, 448, 448 },           { HEDDLE_E5M2, 57344, 57344 },
        { HEDDLE_S8, 1000, 127 },            { HEDDLE_S8, -1000, -128 },
        { HEDDLE_U8, -1, 0 },                { HEDDLE_U8, 1e30, 255 },
        { HEDDLE_S64, 1e30, 0x1p63 },        { HEDDLE_S64, -1e30, -0x1p63 },
        { HEDDLE_U64, 1e30, 0x1p64 },        { HEDDLE_S32, -2.9, -2 },
        { HEDDLE_U16, 65535, 65535 },        { HEDDLE_BOOL, -3, 1 },
        { HEDDLE_S32, NAN, 0 },              { HEDDLE_U64, NAN, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char bytes[8] = { 0 };
        number_store(rows[i].type, bytes, rows[i].in);
        CHECK_NEAR(number_load(rows[i].type, bytes), rows[i].out, 0);
    }
}

TEST(comparison)
{
    HeddleArray *a = make("iota:f32[4,8]"), *b = make("iota:f32[4,8]"),
                *flat = make("iota:f64[32]");
    REQUIRE(a && b && flat);
    HeddleComparison c = { 0 };
    CHECK(heddle_array_compare(a, b, 0, &c, NULL) == HEDDLE_OK);
    CHECK(heddle_array_compare(a, flat, 0, NULL, NULL) == HEDDLE_OK);
    heddle_array_set(a, 19, 20.5);
    heddle_array_set(a, 3, NAN);
    heddle_array_set(b, 3, NAN);
    HeddleLog *log = heddle_log_new(NULL, NULL);
    CHECK(heddle_array_compare(a, b, 1e-3, &c, log) == HEDDLE_ERROR_MISMATCH);
    CHECK_EQ_U64(c.different, 1);
    CHECK_EQ_U64(c.worst, 19);
    CHECK_EQ_U64(c.worst_index[0], 2);
    CHECK_EQ_U64(c.worst_index[1], 3);
    CHECK_NEAR(c.max_absolute, 1.5, 0);
    CHECK_CONTAINS(heddle_log_get(log, 0)->message, "worst at [2,3]: got 20.5, expected 19");
    CHECK(heddle_array_compare(a, b, 0.1, NULL, NULL) == HEDDLE_OK);
    heddle_array_set(a, 0, INFINITY);
    CHECK(heddle_array_compare(a, b, 1e9, NULL, NULL) == HEDDLE_ERROR_MISMATCH);
    heddle_array_free(flat);
    flat = make("zeros:f32[8,4]");
    CHECK(heddle_array_compare(a, flat, 1, NULL, log) == HEDDLE_ERROR_ARGUMENT);
    CHECK(heddle_array_compare(a, b, -1, NULL, log) == HEDDLE_ERROR_ARGUMENT);
    heddle_array_free(a);
    heddle_array_free(b);
    heddle_array_free(flat);
    heddle_log_free(log);
}

TEST(ownership_is_a_bijection)
{
    static const uint32_t shapes[][2] = { { 16, 16 }, { 8, 8 }, { 64, 8 }, { 3, 7 }, { 1, 1 } };
    for (size_t s = 0; s < COUNT_OF(shapes); s++) {
        uint32_t rows = shapes[s][0], columns = shapes[s][1];
        for (uint32_t w = 8; w <= 128; w *= 2) {
            HeddleMatrixLayout m = { .rows = rows, .columns = columns, .subgroup_size = w };
            uint32_t found = 0, length = heddle_matrix_length(NULL, &m);
            for (uint32_t lane = 0; lane < w; lane++) {
                for (uint32_t e = 0; e < length; e++) {
                    uint32_t r, c, lane2, e2;
                    if (!heddle_matrix_position(NULL, &m, lane, e, &r, &c))
                        continue;
                    found++;
                    CHECK(heddle_matrix_owner(NULL, &m, r, c, &lane2, &e2));
                    CHECK(lane2 == lane && e2 == e);
                }
            }
            CHECK_EQ_U64(found, (uint64_t)rows * columns);
        }
    }
    uint32_t x, y;
    HeddleMatrixLayout small = { .rows = 4, .columns = 4, .subgroup_size = 32 };
    CHECK(!heddle_matrix_owner(NULL, &small, 4, 0, &x, &y));
    CHECK(!heddle_matrix_position(NULL, &small, 16, 0, &x, &y));
    small.subgroup_size = 0;
    CHECK_EQ_U64(heddle_matrix_length(NULL, &small), 0);
}

TEST(type_names)
{
    for (int t = 1; t < HEDDLE_N_TYPES; t++)
        CHECK(heddle_type_from_name(heddle_type_name((HeddleType)t)) == (HeddleType)t);
    CHECK(heddle_type_from_name("i8") == HEDDLE_S8);
    CHECK(heddle_type_from_name("bfloat16") == HEDDLE_BF16);
    CHECK(heddle_type_from_name("") == HEDDLE_NO_TYPE);
    CHECK(heddle_type_from_name(NULL) == HEDDLE_NO_TYPE);
    CHECK_STR(heddle_type_name((HeddleType)99), "none");
}

TEST(preferred_shape_is_first)
{
    size_t n;
    uint32_t listed_n = 0, listed_k = 0;
    const HeddleMatrixShape *s = heddle_matrix_shapes(NULL, &n);
    CHECK(n > 10);
    CHECK(s[0].m == 16 && s[0].n == 16 && s[0].k == 16);
    CHECK(s[0].a == HEDDLE_F16 && s[0].b == HEDDLE_F16 && s[0].result == HEDDLE_F32);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            CHECK(memcmp(&s[i], &s[j], sizeof *s));
        listed_n |= s[i].n;
        listed_k |= s[i].k;
    }
    CHECK(listed_n == SPV_LISTED_N && listed_k == SPV_LISTED_K);
}
