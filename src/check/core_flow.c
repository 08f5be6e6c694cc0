/* SPDX-License-Identifier: MIT
 *
 * Definitions dominate uses; phis, branches, calls and returns have operands of the right type; nobody
 * calls itself (SPIR-V 2.16.1, 2.16.2, 3.3.17). Dominators as Cooper, Harvey and Kennedy compute them,
 * then an interval of the dominator tree for each block, so that a question costs two comparisons.
 */
#include "check/internal.h"

typedef struct Tree {
    SpvFunction *f;
    uint32_t n;                 /* blocks */
    uint32_t *rpo;              /* by block: place, UINT32_MAX where unreachable */
    SpvBlock **order;
    uint32_t n_order;
    uint32_t *idom, *pre, *post;/* by place */
    uint32_t **preds, *n_preds; /* by place */
} Tree;

static SpvBlock *block_of(Checker *c, SpvId label)
{
    SpvInst *i = spv_def(c->m, label);
    return i && i->op == SpvOpLabel ? i->block : NULL;
}

/* The n-th label a terminator names, or NULL past the last. */
static SpvBlock *successor(Checker *c, const SpvBlock *b, uint32_t n)
{
    const SpvInst *t = b->insts.last;
    uint32_t at, ops = spv_n_operands(t);
    switch (t->op) {
    case SpvOpBranch: at = n ? UINT32_MAX : 0; break;
    case SpvOpBranchConditional: at = n < 2 ? n + 1 : UINT32_MAX; break;
    case SpvOpSwitch: at = 1 + n * (1u + t->literal_words); break;
    default: return NULL;
    }
    return at < ops ? block_of(c, spv_operand(t, at)) : NULL;
}

static void order_blocks(Checker *c, Tree *t)
{
    SpvBlock **stack = NEW_ARRAY(c->arena, SpvBlock *, t->n + 1);
    uint32_t *next = NEW_ARRAY(c->arena, uint32_t, t->n + 1), depth = 1, at = t->n;
    uint8_t *seen = NEW_ARRAY(c->arena, uint8_t, t->n + 1);
    stack[0] = t->f->first;
    seen[stack[0]->index] = 1;
    while (depth) {
        SpvBlock *b = stack[depth - 1], *s = successor(c, b, next[depth - 1]++);
        if (!s) {
            t->order[--at] = b;
            depth--;
        } else if (s->function == t->f && !seen[s->index]) {
            seen[s->index] = 1;
            stack[depth] = s;
            next[depth++] = 0;
        }
    }
    t->n_order = t->n - at;
    memmove(t->order, t->order + at, t->n_order * sizeof(*t->order));
    for (uint32_t k = 0; k < t->n_order; k++)
        t->rpo[t->order[k]->index] = k;
}

static void find_preds(Checker *c, Tree *t)
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t k = 0; k < t->n_order && pass; k++) {
            t->preds[k] = NEW_ARRAY(c->arena, uint32_t, t->n_preds[k] + 1);
            t->n_preds[k] = 0;
        }
        for (uint32_t k = 0; k < t->n_order; k++)
            for (uint32_t s = 0;; s++) {
                SpvBlock *b = successor(c, t->order[k], s);
                if (!b)
                    break;
                uint32_t to = b->function == t->f ? t->rpo[b->index] : UINT32_MAX;
                if (to == UINT32_MAX)
                    continue;
                if (pass)
                    t->preds[to][t->n_preds[to]] = k;
                t->n_preds[to]++;
            }
    }
}

static void find_idoms(Tree *t)
{
    for (uint32_t k = 0; k < t->n_order; k++)
        t->idom[k] = UINT32_MAX;
    t->idom[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 1; k < t->n_order; k++) {
            uint32_t d = UINT32_MAX;
            for (uint32_t p = 0; p < t->n_preds[k]; p++) {
                uint32_t q = t->preds[k][p];
                if (t->idom[q] == UINT32_MAX)
                    continue;
                if (d == UINT32_MAX)
                    d = q;
                while (d != q) {
                    while (d > q)
                        d = t->idom[d];
                    while (q > d)
                        q = t->idom[q];
                }
            }
            if (t->idom[k] != d) {
                t->idom[k] = d;
                changed = true;
            }
        }
    }
}

static Tree *build_tree(Checker *c, SpvFunction *f)
{
    Tree *t = NEW(c->arena, Tree);
    t->f = f;
    for (SpvBlock *b = f->first; b; b = b->next)
        b->index = t->n++;
    t->rpo = NEW_ARRAY(c->arena, uint32_t, t->n + 1);
    t->order = NEW_ARRAY(c->arena, SpvBlock *, t->n + 1);
    t->idom = NEW_ARRAY(c->arena, uint32_t, t->n + 1);
    t->pre = NEW_ARRAY(c->arena, uint32_t, t->n + 1);
    t->post = NEW_ARRAY(c->arena, uint32_t, t->n + 1);
    t->preds = NEW_ARRAY(c->arena, uint32_t *, t->n + 1);
    t->n_preds = NEW_ARRAY(c->arena, uint32_t, t->n + 1);
    memset(t->rpo, 0xff, t->n * sizeof(*t->rpo));
    order_blocks(c, t);
    find_preds(c, t);
    find_idoms(t);
    uint32_t *size = NEW_ARRAY(c->arena, uint32_t, t->n + 1), *used = NEW_ARRAY(c->arena, uint32_t, t->n + 1);
    for (uint32_t k = t->n_order; k-- > 0;) {
        size[k]++;
        if (k)
            size[t->idom[k]] += size[k];
    }
    for (uint32_t k = 0; k < t->n_order; k++) {
        uint32_t d = t->idom[k];
        t->pre[k] = k ? t->pre[d] + 1 + used[d] : 0;
        t->post[k] = t->pre[k] + size[k] - 1;
        if (k)
            used[d] += size[k];
    }
    return t;
}

static bool dominates(const Tree *t, uint32_t a, uint32_t b)
{
    return t->pre[a] <= t->pre[b] && t->post[b] <= t->post[a];
}

/* Whether `def` is there in block `b`: at its end for a phi's parent, else at the instruction that the
 * walk has come to, all before it being marked in `seen`. */
static bool available(const Tree *t, const uint8_t *seen, const SpvInst *def, const SpvBlock *b, bool at_end)
{
    if (def->block == b)
        return at_end || seen[def->id];
    uint32_t from = t->rpo[def->block->index], to = t->rpo[b->index];
    return to == UINT32_MAX || (from != UINT32_MAX && dominates(t, from, to));
}

static void check_uses(Checker *c, const Tree *t, const uint8_t *seen, SpvInst *i)
{
    uint32_t cap = i->n_words;
    uint16_t few[64], *at = cap <= COUNT_OF(few) ? few : NEW_ARRAY(c->arena, uint16_t, cap);
    uint32_t n = spv_id_operands(i, at, cap);
    for (uint32_t k = 0; k < n; k++) {
        const SpvInst *def = spv_def(c->m, i->words[at[k]]);
        const SpvBlock *b = i->block;
        bool phi = i->op == SpvOpPhi;
        if (!def || def->op == SpvOpLabel || !def->block || def->block->function != t->f)
            continue; /* a parameter or something of the module: the reader saw to that */
        if (phi && at[k] + 1u < i->n_words)
            b = block_of(c, i->words[at[k] + 1]);
        if (b && b->function == t->f && !available(t, seen, def, b, phi))
            broken(c, i, "%%%u is used where it is not (or not always) computed yet", i->words[at[k]]);
    }
}

static void check_dominance(Checker *c, SpvInst *i)
{
    SpvFunction *f = c->function;
    if (!f || !f->first || i != f->def)
        return;
    const Tree *t = build_tree(c, f);
    if (!c->seen)
        c->seen = NEW_ARRAY(c->arena, uint8_t, c->m->bound + 1);
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *x = b->insts.first; x && t->rpo[b->index] != UINT32_MAX; x = x->next) {
            const SpvOpInfo *info = spv_op_info(x->op);
            if ((!info || !(info->flags & SPV_OPF_DEBUG)) && !spv_is_nonsemantic(x))
                check_uses(c, t, c->seen, x);
            if (x->id)
                c->seen[x->id] = 1;
        }
}

/* ---- phis, branches, returns ---------------------------------------------------------------------------- */

static void check_phi(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    for (uint32_t k = 0; k < spv_n_operands(i); k += 2) {
        const SpvType *t = want_value(c, i, k);
        if (t && !same_type(t, r))
            broken(c, i, "%%%u is %s, the result %s", spv_operand(i, k), type_name(c, t), type_name(c, r));
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
    const SpvType *want = c->function && c->function->def ? spv_type(c->m, c->function->def->type) : NULL;
    if (i->op == SpvOpReturn) {
        if (want && want->kind != SPV_VOID)
            broken(c, i, "the function gives %s", type_name(c, want));
        return;
    }
    const SpvType *t = want_value(c, i, 0);
    if (t && (!same_type(t, want) || t->kind == SPV_VOID))
        broken(c, i, "%s is returned where the function gives %s", type_name(c, t), type_name(c, want));
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

/* ---- recursion --------------------------------------------------------------------------------------------- */

typedef struct Callers { SpvFunction **functions; uint32_t n; Map number; uint8_t *state; } Callers;

/* The callee of the first call at or after `i` (an instruction of `b`), moving both on. */
static SpvFunction *next_call(Checker *c, const Callers *k, SpvBlock **b, SpvInst **i)
{
    uint64_t n;
    while (*b) {
        for (; *i; *i = (*i)->next)
            if ((*i)->op == SpvOpFunctionCall && map_get(&k->number, spv_operand(*i, 0), &n)) {
                *i = (*i)->next;
                return k->functions[n];
            }
        *b = (*b)->next;
        *i = *b ? (*b)->insts.first : NULL;
    }
    (void)c;
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
    struct Open { uint32_t f; SpvBlock *b; SpvInst *i; } *stack = NEW_ARRAY(c->arena, struct Open, k.n + 1);
    for (uint32_t root = 0; root < k.n; root++) {
        SpvBlock *first = k.functions[root]->first;
        if (k.state[root])
            continue;
        stack[depth++] = (struct Open){ root, first, first ? first->insts.first : NULL };
        k.state[root] = 1;
        while (depth) {
            struct Open *o = &stack[depth - 1];
            SpvFunction *f = next_call(c, &k, &o->b, &o->i);
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
                stack[depth++] = (struct Open){ (uint32_t)to, f->first, f->first ? f->first->insts.first : NULL };
            }
        }
    }
}

/* clang-format off */
static const CheckRow rows[] = {
    { { "dominance", "SPIR-V 2.16.1", "Whatever is used has been computed on every way to the use." },
      { SpvOpFunction }, NULL, check_dominance },
    { { "phi", "SPIR-V 3.3.17", "A phi's values have its type." }, { SpvOpPhi }, NULL, check_phi },
    { { "branch-operand", "SPIR-V 3.3.17", "A branch is decided by a boolean, a switch by an integer." },
      { SpvOpBranchConditional, SpvOpSwitch }, NULL, check_branch },
    { { "return", "SPIR-V 3.3.17", "What is returned is what the function gives." },
      { SpvOpReturn, SpvOpReturnValue }, NULL, check_return },
    { { "call", "SPIR-V 3.3.10", "Arguments and result of a call are those of the function's type." },
      { SpvOpFunctionCall }, NULL, check_call },
    { { "recursion", "SPIR-V 2.16.1", "No function calls itself." }, { SpvOpFunction }, NULL, check_recursion },
};
/* clang-format on */
const CheckFamily check_core_flow = { rows, COUNT_OF(rows) };
