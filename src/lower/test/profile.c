/* SPDX-License-Identifier: MIT
 *
 * Profiles: those that heddle brings along are read, and what is wrong with one is said, whatever
 * it is.
 */
#include "base/test.h"
#include "lower/lower.h"

#include <glob.h>
#include <stdlib.h>

static const char good[] =
    "{ \"name\": \"a \\u0062\\n\", \"source\": \"c\", \"subgroup_size\": 32,"
    " \"features\": [\"int8\"], \"workgroup_memory\": 32768,"
    " \"workgroup_invocations\": 1024, \"ownership\": \"linear\","
    " \"shapes\": [ { \"a\": \"f16\", \"b\": \"f16\", \"c\": \"f32\", \"result\": \"f32\","
    " \"m\": 16, \"n\": 8, \"k\": 4, \"scope\": \"workgroup\", \"saturating\": true } ] }";

static const LowerProfile *read_profile(Arena *a, const char *text, size_t size, TestDiags *d)
{
    *d = (TestDiags)TEST_DIAGS(*d);
    return profile_read(a, text, size, "test.json", &d->sink);
}

TEST(members)
{
    Arena a = { 0 };
    TestDiags d;
    const LowerProfile *p = read_profile(&a, good, sizeof good - 1, &d);
    CHECK(p != NULL);
    if (p) {
        CHECK(!strcmp(p->name, "a b\n") && p->subgroup_size == 32 && p->max_subgroup_size == 32);
        CHECK(p->features == PROFILE_HAS_INT8 && p->ownership == PROFILE_LINEAR);
        CHECK(p->n_shapes == 1 && p->shapes[0].n == 8 && p->shapes[0].saturating);
        CHECK(p->shapes[0].scope == SpvScopeWorkgroup && p->shapes[0].c == PROFILE_F32);
    }
    arena_free(&a);
}

/* A text to look for in the good one, one to put there, what is said. */
static const char *const wrong[][3] = {
    { "\"source\"", "\"sorce\"", "no member 'sorce'" },
    { "\"c\", \"subgroup_size\": 32,", "\"c\",", "'subgroup_size' is missing" },
    { "[\"int8\"]", "[\"int9\"]", "'int9' is no feature" },
    { "[\"int8\"]", "3", "'features' is an array" },
    { "32768", "4294967296", "below 2^32" },
    { "32768", "1.5", "not a value" },
    { "\"f32\"", "\"f33\"", "'f33' is no component type" },
    { "\"workgroup\",", "\"queue\",", "'queue' is no scope" },
    { "true", "1", "'saturating' is true or false" },
    { "_size\": 32", "_size\": 33", "powers of two" },
    { "linear", "linera", "'linera' is no ownership" },
    { "\\u0062", "\\u000", "a string that does not end" },
    { "\\u0062", "\\u0000", "a string that does not end" },
    { "} ] }", "} ]", "is missing" },
    { "} ] }", "} ] } x", "behind the value" },
    { "\"name\":", "name:", "needs a name" },
};

static char *replaced(const char *what, const char *by)
{
    const char *at = strstr(good, what);
    char *text = malloc(sizeof good + strlen(by));
    if (text && at)
        sprintf(text, "%.*s%s%s", (int)(at - good), good, by, at + strlen(what));
    return at ? text : NULL;
}

TEST(what_is_wrong_is_said)
{
    for (uint32_t k = 0; k < COUNT_OF(wrong); k++) {
        Arena a = { 0 };
        TestDiags d;
        char *text = replaced(wrong[k][0], wrong[k][1]);
        CHECK(text && !read_profile(&a, text, strlen(text), &d));
        if (text && !strstr(d.text, wrong[k][2]))
            test_fail(__FILE__, __LINE__, "%s: '%s'", wrong[k][1], d.text);
        free(text);
        arena_free(&a);
    }
}

/* Cut anywhere, and too deep: an error, never a byte from behind the end. */
TEST(ends_anywhere)
{
    for (size_t n = 0; n < sizeof good - 1; n++) {
        Arena a = { 0 };
        TestDiags d;
        char *copy = malloc(n + 1);
        memcpy(copy, good, n);
        CHECK(!read_profile(&a, copy, n, &d));
        free(copy);
        arena_free(&a);
    }
    char deep[5000];
    Arena a = { 0 };
    TestDiags d;
    memset(deep, '[', sizeof deep);
    CHECK(!read_profile(&a, deep, sizeof deep, &d) && strstr(d.text, "too deep"));
    arena_free(&a);
}

TEST(those_that_come_along)
{
    glob_t found;
    CHECK(!glob(HEDDLE_SOURCE_DIR "/share/profiles/*.json", 0, NULL, &found));
    CHECK(found.gl_pathc >= 8);
    for (size_t k = 0; k < found.gl_pathc; k++) {
        static char text[65536];
        Arena a = { 0 };
        TestDiags d;
        FILE *f = fopen(found.gl_pathv[k], "rb");
        size_t n = f ? fread(text, 1, sizeof text, f) : 0;
        if (f)
            fclose(f);
        if (!read_profile(&a, text, n, &d))
            test_fail(__FILE__, __LINE__, "%s: %s", found.gl_pathv[k], d.text);
        arena_free(&a);
    }
    globfree(&found);
}

/* ---- who holds what -------------------------------------------------------------------------- */

enum { LANES = 32, SIDE = 16, SIZE = SIDE * SIDE, LENGTH = SIZE / LANES };

/* Rows and columns as of m16n16 accumulators of NVIDIA's: pairs of columns, rows 8 apart. */
static void answers_of(uint32_t rows[SIZE], uint32_t cols[SIZE])
{
    for (uint32_t k = 0; k < SIZE; k++) {
        uint32_t lane = k / LENGTH, e = k % LENGTH;
        rows[k] = lane / 4 + e / 2 % 2 * 8;
        cols[k] = lane % 4 * 2 + e % 2 + e / 4 * 8;
    }
}

TEST(owners_are_fitted)
{
    uint32_t rows[SIZE], cols[SIZE], matrix[SIZE], loaded[SIZE];
    const uint32_t *const answers[2] = { rows, cols };
    LowerOwner o = { .type = PROFILE_F32, .use = 2, .rows = SIDE, .cols = SIDE };
    answers_of(rows, cols);
    CHECK(owner_fit(&o, LANES, answers));
    for (uint32_t k = 0; k < SIZE; k++) {
        uint32_t at[2];
        owner_place(&o, k / LENGTH, k % LENGTH, at);
        CHECK(at[0] == rows[k] && at[1] == cols[k]);
        matrix[k] = k * 37 % 101;
    }
    for (uint32_t k = 0; k < SIZE; k++)
        loaded[k] = matrix[rows[k] * SIDE + cols[k]];
    CHECK(owner_explains(&o, LANES, matrix, loaded));
    loaded[77]++;
    CHECK(!owner_explains(&o, LANES, matrix, loaded));
}

/* Drivers whose answers are no function of the shape: each load deals anew, elements are held
 * twice, two lanes are exchanged for one element alone. */
TEST(lies_are_not_taken)
{
    uint32_t rows[SIZE], cols[SIZE], matrix[SIZE], loaded[SIZE];
    const uint32_t *const answers[2] = { rows, cols };
    LowerOwner o = { .type = PROFILE_F32, .use = 2, .rows = SIDE, .cols = SIDE };
    answers_of(rows, cols);
    CHECK(owner_fit(&o, LANES, answers));
    for (uint32_t k = 0; k < SIZE; k++)
        matrix[k] = k;
    for (uint32_t k = 0; k < SIZE; k++) { /* the second load begins at another lane */
        uint32_t other = (k + LENGTH) % SIZE;
        loaded[k] = matrix[rows[other] * SIDE + cols[other]];
    }
    CHECK(!owner_explains(&o, LANES, matrix, loaded));
    for (uint32_t k = 0; k < SIZE; k++) /* between the loads of rows and of columns */
        cols[k] = (cols[k] + 1) % SIDE;
    CHECK(!owner_fit(&o, LANES, answers));
    answers_of(rows, cols);
    for (uint32_t k = SIZE / 2; k < SIZE; k++) {
        rows[k] = rows[k - SIZE / 2];
        cols[k] = cols[k - SIZE / 2];
    }
    CHECK(!owner_fit(&o, LANES, answers));
    answers_of(rows, cols);
    uint32_t was = rows[100];
    rows[100] = rows[200];
    rows[200] = was;
    CHECK(!owner_fit(&o, LANES, answers));
}

TEST(owners_are_written_and_read)
{
    Arena a = { 0 };
    TestDiags d;
    uint32_t rows[SIZE], cols[SIZE];
    const uint32_t *const answers[2] = { rows, cols };
    LowerOwner o = { .type = PROFILE_F16, .use = 1, .rows = SIDE, .cols = SIDE };
    answers_of(rows, cols);
    CHECK(owner_fit(&o, LANES, answers));
    const LowerProfile *p = read_profile(&a, good, sizeof good - 1, &d);
    LowerProfile with = *p;
    with.ownership = PROFILE_ASKED;
    with.owners = &o;
    with.n_owners = 1;
    const char *text = profile_write(&a, &with);
    p = read_profile(&a, text, strlen(text), &d);
    CHECK(p && p->ownership == PROFILE_ASKED && p->n_owners == 1);
    CHECK(p && !memcmp(p->owners, &o, sizeof o));
    o.elements[1][0] = o.elements[1][1]; /* an element is held twice */
    text = profile_write(&a, &with);
    CHECK(!read_profile(&a, text, strlen(text), &d));
    arena_free(&a);
}
