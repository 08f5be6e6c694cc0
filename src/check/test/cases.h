/* SPDX-License-Identifier: MIT
 *
 * The two tests that every table of rules gets: its good modules are accepted, its bad ones
 * rejected by the rule they are meant for. Included behind `cases` (rule, good, bad) and
 * module_text.
 */
typedef enum Verdict { UNREAD, ACCEPTED, REJECTED } Verdict;

static Verdict judge(const char *insts, TestDiags *d)
{
    Arena a = { 0 };
    jmp_buf out_of_memory;
    volatile Verdict v = UNREAD;
    if (setjmp(out_of_memory))
        return UNREAD;
    a.on_failure = &out_of_memory;
    char *text = module_text(&a, insts);
    SpvModule *m = spv_assemble(&a, text, strlen(text), "m.spvasm", &d->sink);
    if (m) { /* both: what heddle's own front ends make is not checked as read */
        bool read = check_read(m, &d->sink), taken = check_module(m, &d->sink);
        v = read && taken ? ACCEPTED : REJECTED;
    }
    arena_free(&a);
    return v;
}

TEST(accepted)
{
    for (uint32_t k = 0; k < COUNT_OF(cases); k++) {
        TestDiags d = TEST_DIAGS(d);
        Verdict v = judge(cases[k].good, &d);
        if (v != ACCEPTED)
            test_fail(__FILE__, __LINE__, "%s: not accepted:\n%s\n%.1500s", cases[k].rule,
                      cases[k].good, d.text);
    }
}

TEST(rejected)
{
    for (uint32_t k = 0; k < COUNT_OF(cases); k++) {
        TestDiags d = TEST_DIAGS(d);
        Verdict v = judge(cases[k].bad, &d);
        char want[80];
        snprintf(want, sizeof(want), "[%s (", cases[k].rule);
        if (v != REJECTED || !strstr(d.text, want))
            test_fail(__FILE__, __LINE__, "%s: not rejected by it:\n%s\n%.1500s", cases[k].rule,
                      cases[k].bad, d.text);
    }
}
