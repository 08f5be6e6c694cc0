/* SPDX-License-Identifier: MIT
 *
 * The rules of structured control flow, with graphs that they accept and reject: the blocks of a
 * shader's main function behind its first one, which leads to %a. Before a line of dashes, lines
 * that come before the declarations.
 */
#include "base/test.h"
#include "check/check.h"

typedef struct Case {
    const char *rule, *good, *bad;
} Case;

#define B(name) "%" #name " = OpLabel\n"
#define GO(to) "OpBranch %" #to "\n"
#define IF(yes, no) "OpBranchConditional %t %" #yes " %" #no "\n"
#define MERGE(m) "OpSelectionMerge %" #m " None\n"
#define LOOP(m, next) "OpLoopMerge %" #m " %" #next " None\n"
#define SWITCH(list) "OpSwitch %c1 " list "\n"
#define RETURN "OpReturn\n"

#define MAXIMAL                                                                                    \
    "OpExtension \"SPV_KHR_maximal_reconvergence\"\n" MODEL                                        \
    "OpExecutionMode %main MaximallyReconvergesKHR\n---\n"
#define MODEL                                                                                      \
    "OpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\"\n"                       \
    "OpExecutionMode %main LocalSize 1 1 1\n"

/* Loops with the header %a, the merge block %m and the continue target %n. */
#define FOR(body) B(a) LOOP(m, n) GO(b) body B(n) GO(a) B(m) RETURN

static const Case cases[] = {
    { "back-edge", FOR(B(b) IF(n, m)), B(a) GO(b) B(b) GO(a) },
    { "back-edge", B(a) LOOP(m, a) IF(a, m) B(m) RETURN,
      B(a) LOOP(m, n) IF(b, n) B(b) GO(a) B(n) GO(a) B(m) RETURN },
    /* the continue target cannot be reached, but has its place */
    { "back-edge", B(a) LOOP(m, n) GO(b) B(b) GO(m) B(n) GO(a) B(m) RETURN,
      B(a) LOOP(m, n) GO(b) B(b) GO(m) B(n) "OpUnreachable\n" B(m) RETURN },
    { "construct-dominance", B(a) MERGE(m) IF(b, m) B(b) GO(m) B(m) RETURN,
      B(a) MERGE(m) IF(b, m) B(b) MERGE(b) IF(m, d) B(d) RETURN B(m) RETURN },
    { "construct-dominance", "",
      B(a) MERGE(m) IF(b, d) B(b) GO(m) B(d) LOOP(e, m) IF(d, e) B(e) RETURN B(m) RETURN },
    { "construct-dominance", FOR(B(b) MERGE(d) IF(n, d) B(d) GO(n)),
      B(a) LOOP(m, n) GO(b) B(b) IF(n, m) B(n) MERGE(d) IF(e, d) B(e) RETURN B(d) GO(a)
      B(m) RETURN },
    { "construct-dominance", "", B(a) LOOP(m, n) IF(b, n) B(b) GO(a) B(n) GO(m) B(m) RETURN },
    { "construct-nesting", FOR(B(b) MERGE(d) IF(e, d) B(e) GO(d) B(d) GO(n)),
      FOR(B(b) MERGE(n) IF(e, n) B(e) GO(n)) },
    { "construct-exit", FOR(B(b) MERGE(d) IF(m, d) B(d) GO(n)),
      B(a) MERGE(m) IF(b, d) B(b) MERGE(e) IF(f, e) B(f) GO(m) B(e) GO(m) B(d) GO(m)
      B(m) RETURN },
    { "construct-exit",
      B(a) MERGE(m) SWITCH("%m 1 %b") B(b) MERGE(d) IF(m, d) B(d) GO(m) B(m) RETURN,
      B(a) MERGE(m) SWITCH("%m 1 %b") B(b) MERGE(d) SWITCH("%d 1 %e") B(e) GO(m) B(d) GO(m)
      B(m) RETURN },
    { "construct-exit", FOR(B(b) LOOP(d, e) GO(f) B(f) IF(d, e) B(e) GO(b) B(d) GO(n)),
      FOR(B(b) LOOP(d, e) GO(f) B(f) IF(d, m) B(e) GO(b) B(d) GO(n)) },
    { "construct-exit", FOR(B(b) MERGE(d) SWITCH("%d 1 %e") B(e) GO(n) B(d) GO(n)),
      FOR(B(b) LOOP(d, e) GO(f) B(f) IF(d, n) B(e) GO(b) B(d) GO(n)) },
    { "construct-entry", B(a) LOOP(m, n) GO(n) B(n) IF(a, m) B(m) RETURN,
      B(a) MERGE(m) IF(b, m) B(b) GO(m) B(m) IF(b, d) B(d) RETURN },
    { "selection-structured", B(a) MERGE(m) IF(b, d) B(b) GO(m) B(d) GO(m) B(m) RETURN,
      B(a) IF(b, d) B(b) RETURN B(d) RETURN },
    { "selection-structured", FOR(B(b) IF(m, d) B(d) GO(n)),
      B(a) LOOP(m, n) IF(b, d) B(b) GO(n) B(d) GO(n) B(n) GO(a) B(m) RETURN },
    { "case-order", B(a) MERGE(m) SWITCH("%m 1 %b 2 %d") B(b) GO(d) B(d) GO(m) B(m) RETURN,
      B(a) MERGE(m) SWITCH("%m 1 %d 2 %b") B(b) GO(d) B(d) GO(m) B(m) RETURN },
    { "case-order",
      B(a) MERGE(m) SWITCH("%d 1 %b 2 %e") B(b) GO(d) B(d) GO(e) B(e) GO(m) B(m) RETURN,
      B(a) MERGE(m) SWITCH("%d 1 %b 2 %e") B(b) GO(e) B(d) GO(e) B(e) GO(m) B(m) RETURN },
    { "case-order", B(a) MERGE(m) SWITCH("%m 1 %b 2 %b 3 %d") B(b) GO(d) B(d) GO(m) B(m) RETURN,
      B(a) MERGE(m) SWITCH("%m 1 %b 2 %d 3 %e") B(b) MERGE(f) IF(d, f) B(f) GO(e) B(d) GO(m)
      B(e) GO(m) B(m) RETURN },
    { "case-order", FOR(B(b) MERGE(d) SWITCH("%d 1 %e") B(e) GO(m) B(d) GO(n)),
      FOR(B(b) MERGE(d) SWITCH("%d 1 %m") B(d) GO(n)) },
    { "branch-labels", B(a) MERGE(m) IF(b, m) B(b) GO(m) B(m) RETURN,
      B(a) MERGE(m) IF(m, m) B(m) RETURN },
    { "branch-labels", "; Version: 1.5\n" MODEL "---\n" B(a) MERGE(m) IF(m, m) B(m) RETURN,
      B(a) LOOP(m, n) GO(b) B(b) IF(n, n) B(n) GO(a) B(m) RETURN },
    { "maximal-reconvergence", MAXIMAL B(a) MERGE(m) IF(b, m) B(b) GO(m) B(m) RETURN,
      MAXIMAL B(a) MERGE(m) SWITCH("%m 1 %b 2 %d") B(b) MERGE(e) IF(f, g) B(f) GO(h) B(g) GO(h)
      B(h) GO(e) B(e) GO(m) B(d) GO(m) B(m) RETURN },
    { "maximal-reconvergence", "",
      "; Version: 1.5\n" MAXIMAL B(a) MERGE(m) IF(m, m) B(m) RETURN },
};

static char *module_text(Arena *a, const char *blocks)
{
    const char *dashes = strstr(blocks, "---\n");
    const char *version = strncmp(blocks, "; Version", 9) ? "" : "; Version: 1.5\n";
    const char *before = dashes ? blocks + strlen(version) : MODEL;
    return arena_printf(
        a,
        "%sOpCapability Shader\n%.*s"
        "%%void = OpTypeVoid\n%%bool = OpTypeBool\n%%t = OpConstantTrue %%bool\n"
        "%%u32 = OpTypeInt 32 0\n%%c1 = OpConstant %%u32 1\n%%fn = OpTypeFunction %%void\n"
        "%%main = OpFunction %%void None %%fn\n%%entry = OpLabel\n%s%sOpFunctionEnd\n",
        version, (int)(dashes ? dashes - before : (ptrdiff_t)strlen(before)), before,
        *blocks ? "OpBranch %a\n" : "OpReturn\n", dashes ? dashes + 4 : blocks);
}

#include "check/test/cases.h"

/* What has an empty good or bad form is half a case. */
TEST(every_rule_is_tried_both_ways)
{
    static const char *const rules[] = {
        "back-edge", "construct-dominance", "construct-nesting", "construct-exit",
        "construct-entry", "selection-structured", "case-order", "branch-labels",
        "maximal-reconvergence",
    };
    for (uint32_t k = 0; k < COUNT_OF(rules); k++) {
        bool good = false, bad = false;
        for (uint32_t n = 0; n < COUNT_OF(cases); n++) {
            bool its = !strcmp(cases[n].rule, rules[k]);
            good |= its && *cases[n].good;
            bad |= its && *cases[n].bad;
        }
        CHECK(good && bad);
    }
}

/* A construct in each other: as deep as the specification has it, and one more. */
TEST(nesting_has_an_end)
{
    for (uint32_t n = 1023; n <= 1024; n++) {
        Arena a = { 0 };
        Str s = { 0 };
        TestDiags d = TEST_DIAGS(d);
        for (uint32_t k = 0; k < n; k++)
            str_printf(&a, &s, "%%h%u = OpLabel\nOpSelectionMerge %%m%u None\n"
                       "OpBranchConditional %%t %%h%u %%m%u\n", k, k, k + 1, k);
        str_printf(&a, &s, "%%h%u = OpLabel\nOpBranch %%m%u\n", n, n - 1);
        for (uint32_t k = n; k-- > 0;)
            str_printf(&a, &s, "%%m%u = OpLabel\n%s%u\n", k, k ? "OpBranch %m" : "OpReturn ;",
                       k - 1);
        char *text = arena_printf(&a, "%%a = OpLabel\nOpBranch %%h0\n%s", s.data);
        Verdict v = judge(text, &d);
        CHECK(v == (n == 1023 ? ACCEPTED : REJECTED));
        arena_free(&a);
    }
}
