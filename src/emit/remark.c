/* SPDX-License-Identifier: MIT
 *
 * Remarks: what the code generator has to say of a line, for those who ask why it is slow. One
 * table has all kinds; whoever decides says so where it does.
 */
#include "emit/emit.h"

#include <stdarg.h>
#include <stdio.h>

/* Kinds are names for programs, and stay. */
static const struct {
    const char *kind, *text;
} remarks[] = {
    [REMARK_GATHER] = { "gather", "%s of %u lanes: %s%s" },
    [REMARK_DIVERGENT_BRANCH] = { "divergent-branch",
                                  "divergent: lanes part here; each way runs for some of them" },
    [REMARK_DIVERGENT_LOOP] = { "divergent-loop", "divergent: lanes leave the loop in different "
                                                  "iterations, and it runs until the last has" },
    [REMARK_PRIVATE] = { "private-memory", "private %s%s of %llu bytes stays in memory: %s" },
    [REMARK_ATOMIC] = { "atomic", "an atomic for each lane, one after the other: %s" },
    [REMARK_MULADD] = { "multiply-add",
                        "%u x %u sums of %u products of %ux%ux%u in one call, by %s" },
    [REMARK_COPIED] = { "matrix-copied", "the %ux%u matrix is copied before it is used: %s" },
    [REMARK_TRANSPOSED] = { "matrix-transposed", "the %ux%u matrix is transposed: it lies %s in "
                                                 "memory, and is used %s" },
};
_Static_assert(COUNT_OF(remarks) == N_REMARKS, "each kind has its text");

static bool is_known(const Emit *e, const EmitNote *n)
{
    for (uint32_t i = 0; i < e->remarks->len; i++) {
        const EmitNote *x = &e->remarks->data[i];
        bool here = x->at.line == n->at.line && (!x->at.file == !n->at.file) &&
                    (!n->at.file || !strcmp(x->at.file, n->at.file));
        if (here && x->kind == n->kind && !strcmp(x->message, n->message))
            return true;
    }
    return false;
}

void emit_remark(Emit *e, EmitRemark what, ...)
{
    char text[256];
    if (!e->remarks)
        return;
    va_list args;
    va_start(args, what);
    vsnprintf(text, sizeof text, remarks[what].text, args);
    va_end(args);
    EmitNote n = { remarks[what].kind, arena_strdup(e->arena, text), debug_place(e) };
    if (!is_known(e, &n))
        vec_push(e->arena, e->remarks, n);
}
