/* SPDX-License-Identifier: MIT
 *
 * The harness of the unit tests: a test file includes this once and has its main with it.
 *
 *     TEST(adds) { CHECK(1 + 1 == 2); }
 *
 * A test case fails when a check in it does; the checks after it still run (REQUIRE: they do not).
 * An argument runs only the cases whose name contains it. Ends with `N passed, N failed`.
 */
#ifndef HEDDLE_TEST_H
#define HEDDLE_TEST_H

#include "base/base.h"

#include <math.h>
#include <stdio.h>

typedef struct TestCase {
    const char *name;
    void (*run)(void);
    struct TestCase *next;
} TestCase;

typedef struct TestState {
    TestCase *first, **last;
    int failures; /* checks of the running case that failed */
} TestState;

static TestState test_state;

static inline void test_register(TestCase *c)
{
    if (!test_state.last)
        test_state.last = &test_state.first;
    *test_state.last = c;
    test_state.last = &c->next;
}

#define TEST(name)                                                                                 \
    static void test_##name(void);                                                                 \
    __attribute__((constructor)) static void test_register_##name(void)                            \
    {                                                                                              \
        static TestCase c = { #name, test_##name, NULL };                                          \
        test_register(&c);                                                                         \
    }                                                                                              \
    static void test_##name(void)

/* Whether a test whose step is HEDDLE_TEST_STEP, of which its inner loops make use, takes its k-th
 * case: one of half as many, which with programs of the same source differ. */
#define TEST_TAKES(k)   ((k) % TEST_OUTER_STEP == HEDDLE_TEST_FIRST % TEST_OUTER_STEP)
#define TEST_OUTER_STEP ((HEDDLE_TEST_STEP + 1) / 2)

/* Says where and what, at most 20 times a case. */
static inline PRINTF_LIKE(3, 4) bool test_fail(const char *file, int line, const char *fmt, ...)
{
    if (test_state.failures++ >= 20)
        return false;
    va_list args;
    va_start(args, fmt);
    printf("%s:%d: ", file, line);
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
    return false;
}

static inline bool test_eq_u64(const char *file, int line, const char *what, uint64_t got,
                               uint64_t want)
{
    return got == want || test_fail(file, line, "%s is %llu (0x%llx), not %llu (0x%llx)", what,
                                    (unsigned long long)got, (unsigned long long)got,
                                    (unsigned long long)want, (unsigned long long)want);
}

static inline bool test_str(const char *file, int line, const char *what, const char *got,
                            const char *want)
{
    return (got && want && !strcmp(got, want)) || got == want ||
           test_fail(file, line, "%s is\n%s\n-- not\n%s", what, got ? got : "(null)",
                     want ? want : "(null)");
}

static inline bool test_contains(const char *file, int line, const char *what, const char *got,
                                 const char *part)
{
    return (got && strstr(got, part)) ||
           test_fail(file, line, "%s has no \"%s\":\n%s", what, part, got ? got : "(null)");
}

/* NaN is near NaN only, an infinity only itself. */
static inline bool test_near(const char *file, int line, const char *what, double got, double want,
                             double tolerance)
{
    return got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= tolerance ||
           test_fail(file, line, "%s is %.17g, not %.17g +- %g", what, got, want, tolerance);
}

#define CHECK(cond)                ((void)((cond) || test_fail(__FILE__, __LINE__, "%s", #cond)))
#define CHECK_EQ_U64(got, want)    test_eq_u64(__FILE__, __LINE__, #got, (uint64_t)(got), (want))
#define CHECK_STR(got, want)       test_str(__FILE__, __LINE__, #got, (got), (want))
#define CHECK_CONTAINS(got, part)  test_contains(__FILE__, __LINE__, #got, (got), (part))
#define CHECK_NEAR(got, want, tol) test_near(__FILE__, __LINE__, #got, (got), (want), (tol))
#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            test_fail(__FILE__, __LINE__, "%s", #cond);                                            \
            return;                                                                                \
        }                                                                                          \
    } while (0)

/* A sink that keeps what it is told, a line a diagnostic:
 *     TestDiags d = TEST_DIAGS(d); f(&d.sink); CHECK_CONTAINS(d.text, "error: ..."); */
typedef struct TestDiags {
    DiagSink sink;
    size_t len;
    char text[8192];
} TestDiags;

static inline void test_diags_report(void *user, const Diag *d)
{
    TestDiags *t = user;
    size_t room = sizeof(t->text) - t->len;
    size_t n = diag_format(d, t->text + t->len, room);
    t->len += MIN(n, room - 1);
    if (t->len + 1 < sizeof(t->text))
        t->text[t->len++] = '\n';
    t->text[t->len] = 0;
}

/* clang-format off */
#define TEST_DIAGS(name) { .sink = { .report = test_diags_report, .user = &(name) } }
/* clang-format on */

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0); /* a crash shall not swallow what was said before it */
    for (TestCase *c = test_state.first; c; c = c->next) {
        if (argc > 1 && !strstr(c->name, argv[1]))
            continue;
        test_state.failures = 0;
        c->run();
        if (test_state.failures) {
            printf("FAILED: %s (%d checks)\n", c->name, test_state.failures);
            failed++;
        } else {
            passed++;
        }
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

#endif
