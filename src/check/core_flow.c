/* SPDX-License-Identifier: MIT
 *
 * Phis, branches, calls and returns have operands of the right type; nobody calls itself (SPIR-V
 * 2.16.1, 3.3.17). That definitions dominate uses, the reader has seen to.
 */
#include "check/internal.h"

/* ---- phis, branches, returns ----------------------------------------------------------------- */

static void check_phi(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    for (uint32_t k = 0; k < spv_n_operands(i); k += 2) {
        const SpvType *t = want_value(c, i, k);
        if (t && !same_type(t, r))
            broken(c, i, "%%%u is %s, the result %s", spv_operand(i, k), type_name(c, t),
                   type_name(c, r));
    }
}

static void check_branch(Checker *c, SpvInst *i)
{
    const SpvType *t = want_value(c, i, 0);
    if (t && t->kind != (i->op == SpvOpSwitch ? SPV_INT : SPV_BOOL))
        broken(c, i, "the branch is decided by %s", type_name(c, t));
}

static void check_return(Checker *c, SpvInst *i)
{
    const SpvType *want =
        c->function && c->function->def ? spv_type(c->m, c->function->def->type) : NULL;
    if (i->op == SpvOpReturn) {
        if (want && want->kind != SPV_VOID)
            broken(c, i, "the function gives %s", type_name(c, want));
        return;
    }
    const SpvType *t = want_value(c, i, 0);
    if (t && (!same_type(t, want) || t->kind == SPV_VOID))
        broken(c, i, "%s is returned where the function gives %s", type_name(c, t),
               type_name(c, want));
}

static void check_call(Checker *c, SpvInst *i)
{
    const SpvInst *f = spv_def(c->m, spv_operand(i, 0));
    const SpvType *t = f && f->op == SpvOpFunction ? spv_type(c->m, spv_operand(f, 1)) : NULL;
    if (!t || t->kind != SPV_FUNCTION) {
        broken(c, i, "%%%u is not a function", spv_operand(i, 0));
        return;
    }
    if (!same_type(result_type(c, i), t->result) || spv_n_operands(i) - 1 != t->count) {
        broken(c, i, "the call does not match the function's type");
        return;
    }
    for (uint32_t k = 0; k < t->count; k++) {
        const SpvType *a = want_value(c, i, k + 1);
        if (a && !same_type(a, t->members[k]))
            broken(c, i, "argument %u is %s where %s belongs", k, type_name(c, a),
                   type_name(c, t->members[k]));
    }
}

/* ---- recursion ------------------------------------------------------------------------------- */

typedef struct Callers {
    SpvFunction **functions;
    uint32_t n;
    Map number;
    uint8_t *state;
} Callers;

typedef struct Open {
    uint32_t f;
    SpvBlock *b;
    SpvInst *i;
    uint32_t callee; /* of i: the next */
} Open;

static Open open_function(const Callers *k, uint32_t f)
{
    SpvBlock *b = k->functions[f]->first;
    return (Open){ f, b, b ? b->insts.first : NULL, 0 };
}

/* The next function that an open one calls, moving it on. */
static SpvFunction *next_call(Checker *c, const Callers *k, Open *o)
{
    SpvId callees[SPV_MAX_CALLEES];
    uint64_t n;
    while (o->b) {
        for (; o->i; o->i = o->i->next, o->callee = 0)
            if (o->callee < spv_callees(c->m, o->i, callees) &&
                map_get(&k->number, callees[o->callee++], &n))
                return k->functions[n];
        o->b = o->b->next;
        o->i = o->b ? o->b->insts.first : NULL;
    }
    return NULL;
}

/* Depth first with a stack of its own: a call into a function still open is a cycle. */
static void check_recursion(Checker *c, SpvInst *inst)
{
    if (inst != c->m->functions->def)
        return;
    Callers k = { 0 };
    for (SpvFunction *f = c->m->functions; f; f = f->next)
        k.n++;
    k.functions = NEW_ARRAY(c->arena, SpvFunction *, k.n);
    k.state = NEW_ARRAY(c->arena, uint8_t, k.n);
    uint32_t n = 0, depth = 0;
    for (SpvFunction *f = c->m->functions; f; f = f->next) {
        k.functions[n] = f;
        map_put(c->arena, &k.number, f->def->id, n++);
    }
    Open *stack = NEW_ARRAY(c->arena, Open, k.n + 1);
    for (uint32_t root = 0; root < k.n; root++) {
        if (k.state[root])
            continue;
        stack[depth++] = open_function(&k, root);
        k.state[root] = 1;
        while (depth) {
            Open *o = &stack[depth - 1];
            SpvFunction *f = next_call(c, &k, o);
            uint64_t to = 0;
            if (!f) {
                k.state[o->f] = 2;
                depth--;
                continue;
            }
            map_get(&k.number, f->def->id, &to);
            if (k.state[to] == 1) {
                broken(c, f->def, "the function calls itself, directly or through others");
                return;
            }
            if (!k.state[to]) {
                k.state[to] = 1;
                stack[depth++] = open_function(&k, (uint32_t)to);
            }
        }
    }
}

static const CheckRow rows[] = {
    { { "phi", "SPIR-V 3.3.17", "A phi's values have its type." }, { SpvOpPhi }, NULL, check_phi },
    { { "branch-operand", "SPIR-V 3.3.17",
        "A branch is decided by a boolean, a switch by an integer." },
      { SpvOpBranchConditional, SpvOpSwitch },
      NULL,
      check_branch },
    { { "return", "SPIR-V 3.3.17", "What is returned is what the function gives." },
      { SpvOpReturn, SpvOpReturnValue },
      NULL,
      check_return },
    { { "call", "SPIR-V 3.3.10",
        "Arguments and result of a call are those of the function's type." },
      { SpvOpFunctionCall },
      NULL,
      check_call },
    { { "recursion", "SPIR-V 2.16.1", "No function calls itself." },
      { SpvOpFunction },
      NULL,
      check_recursion },
};
const CheckFamily check_core_flow = { rows, COUNT_OF(rows) };
