/* SPDX-License-Identifier: MIT
 *
 * .npy files: what is written is read back, foreign orders are put right, and no truncation or
 * wrong header gets further than a diagnostic.
 */
#include "base/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "runtime/internal.h"

typedef struct File {
    char bytes[4096];
    size_t size;
} File;

static File file(int major, const char *dictionary, const void *data, size_t size)
{
    File f = { 0 };
    size_t n = strlen(dictionary);
    memcpy(f.bytes, "\x93NUMPY", 6);
    f.bytes[6] = (char)major;
    size_t at = major == 1 ? 10 : 12;
    f.bytes[8] = (char)(n & 255);
    f.bytes[9] = (char)(n >> 8);
    memcpy(f.bytes + at, dictionary, n);
    if (size)
        memcpy(f.bytes + at + n, data, size);
    f.size = at + n + size;
    return f;
}

static HeddleArray *parse(const File *f, HeddleLog *log)
{
    /* A copy of just that size, so that the sanitizer sees a read beyond. */
    char *copy = malloc(f->size + !f->size);
    memcpy(copy, f->bytes, f->size);
    HeddleArray *a;
    heddle_array_parse_npy(copy, f->size, "x.npy", &a, log);
    free(copy);
    return a;
}

TEST(every_type_survives)
{
    static const char path[] = "/tmp/heddle-test-npy.npy";
    for (int t = 1; t < HEDDLE_N_TYPES; t++) {
        HeddleArray *a, *b;
        uint64_t shape[] = { 3, 1, 5 };
        REQUIRE(heddle_array_new((HeddleType)t, 3, shape, &a, NULL) == HEDDLE_OK);
        for (uint64_t i = 0; i < a->count; i++)
            heddle_array_set(a, i, t == HEDDLE_BOOL ? (double)(i & 1) : (double)i);
        REQUIRE(heddle_array_write(a, path, NULL) == HEDDLE_OK);
        REQUIRE(heddle_array_read(path, &b, NULL) == HEDDLE_OK);
        CHECK_STR(heddle_type_name(b->type), heddle_type_name(a->type));
        CHECK_EQ_U64(b->rank, 3);
        CHECK_EQ_U64(b->shape[0], 3);
        CHECK_EQ_U64(b->shape[2], 5);
        CHECK(b->size == a->size && !memcmp(a->data, b->data, a->size));
        CHECK((uintptr_t)b->data % 64 == 0);
        heddle_array_free(a);
        heddle_array_free(b);
    }
    unlink(path);
}

TEST(header_is_aligned)
{
    for (uint64_t n = 1; n < 1000000000000u; n *= 10) {
        HeddleArray a = { .type = HEDDLE_F32, .rank = 2, .shape = { n, 7 } };
        char header[NPY_HEADER_MAX];
        size_t size = npy_header(&a, header);
        CHECK_EQ_U64(size % 64, 0);
        CHECK(header[size - 1] == '\n');
    }
}

TEST(descriptors)
{
    static const struct {
        const char *descr;
        HeddleType type;
    } rows[] = { { "<f2", HEDDLE_F16 },   { "=f4", HEDDLE_F32 },  { "f8", HEDDLE_F64 },
                 { "<V2", HEDDLE_BF16 },  { "|V2", HEDDLE_BF16 }, { "bfloat16", HEDDLE_BF16 },
                 { "<V1", HEDDLE_E4M3 },  { "|V1", HEDDLE_E4M3 }, { "float8_e4m3fn", HEDDLE_E4M3 },
                 { "<f1", HEDDLE_E5M2 },  { "|f1", HEDDLE_E5M2 }, { "float8_e5m2", HEDDLE_E5M2 },
                 { "|i1", HEDDLE_S8 },    { "<u8", HEDDLE_U64 },  { "|b1", HEDDLE_BOOL } };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[128];
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (), }\n",
                 rows[i].descr);
        File f = file(1, text, "12345678", 8);
        HeddleArray *a = parse(&f, NULL);
        REQUIRE(a);
        CHECK_STR(heddle_type_name(a->type), heddle_type_name(rows[i].type));
        CHECK_EQ_U64(a->count, 1);
        heddle_array_free(a);
    }
}

TEST(foreign_orders)
{
    /* [[1, 2, 3], [4, 5, 6]] of >i2, column by column. */
    static const uint8_t data[] = { 0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6 };
    for (int version = 1; version <= 3; version++) {
        File f =
            file(version, "{\"shape\": (2L, 3), 'fortran_order':True,'descr' : '>i2'}", data, 12);
        HeddleArray *a = parse(&f, NULL);
        REQUIRE(a);
        for (int i = 0; i < 6; i++)
            CHECK_NEAR(heddle_array_get(a, (uint64_t)i), i + 1, 0);
        heddle_array_free(a);
    }
}

TEST(fortran_order_of_three_dimensions)
{
    uint8_t data[24];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                data[i + 2 * j + 6 * k] = (uint8_t)(12 * i + 4 * j + k);
    File f = file(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4)}", data, 24);
    HeddleArray *a = parse(&f, NULL);
    REQUIRE(a);
    for (uint64_t i = 0; i < 24; i++)
        CHECK_NEAR(heddle_array_get(a, i), (double)i, 0);
    heddle_array_free(a);
}

TEST(every_truncation_is_told)
{
    float data[6] = { 1, 2, 3, 4, 5, 6 };
    File f = file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", data, 24);
    HeddleArray *a = parse(&f, NULL);
    CHECK(a != NULL);
    heddle_array_free(a);
    for (size_t n = 0; n < f.size; n++) {
        File cut = f;
        cut.size = n;
        HeddleLog *log = heddle_log_new(NULL, NULL);
        a = parse(&cut, log);
        CHECK(a == NULL);
        CHECK(heddle_log_errors(log) == 1);
        CHECK_CONTAINS(heddle_log_get(log, 0)->text, "x.npy: error: ");
        heddle_log_free(log);
    }
}

TEST(every_byte_flipped_is_survived)
{
    float data[6] = { 1, 2, 3, 4, 5, 6 };
    File f = file(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", data, 24);
    for (size_t n = 0; n < f.size; n++) {
        for (int bit = 0; bit < 8; bit++) {
            File bad = f;
            bad.bytes[n] ^= (char)(1 << bit);
            heddle_array_free(parse(&bad, NULL));
        }
    }
}

TEST(wrong_headers)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "'<c8'" },
        { "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", "records" },
        { "{'descr': '<f4', 'fortran_order': False}", "without" },
        { "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "True or False" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "number expected" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1)}",
          "8 dim" },
        { "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "twice" },
        { "{'descr': '<f4', 'colour': 'red', 'fortran_order': False, 'shape': (1,)}", "unknown" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + 1", "after" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4)}",
          "too large" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
          "too large" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1000,)}", "ends early" },
        { "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}", "" },
        { "", "'{' expected" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        File f = file(1, rows[i].text, "1234", 4);
        HeddleLog *log = heddle_log_new(NULL, NULL);
        HeddleArray *a = parse(&f, log);
        CHECK(a == NULL);
        REQUIRE(heddle_log_errors(log) == 1);
        CHECK_CONTAINS(heddle_log_get(log, 0)->message, rows[i].message);
        heddle_array_free(a);
        heddle_log_free(log);
    }
    File f = file(9, "{}", "", 0);
    CHECK(parse(&f, NULL) == NULL);
}

TEST(empty_arrays)
{
    File f = file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", "", 0);
    HeddleArray *a = parse(&f, NULL);
    REQUIRE(a);
    CHECK_EQ_U64(a->count, 0);
    heddle_array_free(a);
}

TEST(files_that_cannot_be)
{
    HeddleLog *log = heddle_log_new(NULL, NULL);
    HeddleArray *a;
    CHECK(heddle_array_read("/nonexistent/x.npy", &a, log) == HEDDLE_ERROR_IO);
    CHECK_STR(heddle_log_get(log, 0)->text,
              "/nonexistent/x.npy: error: cannot open: No such file or directory");
    CHECK(heddle_array_read("/tmp", &a, log) == HEDDLE_ERROR_IO);
    REQUIRE(heddle_array_new(HEDDLE_F32, 0, NULL, &a, log) == HEDDLE_OK);
    CHECK(heddle_array_write(a, "/nonexistent/x.npy", log) == HEDDLE_ERROR_IO);
    heddle_array_free(a);
    heddle_log_free(log);
}
