/* SPDX-License-Identifier: MIT
 *
 * SPV_QCOM_cooperative_matrix_conversion asks more of parts of arrays that become matrices. Which
 * do is found backwards from the conversions: through copies, bit casts, variables, and functions.
 * A function's parameters lead to the arguments of all its calls. What a call returns or writes
 * leads into the function for that call alone, and out of it no more: then another call's arguments
 * are not blamed, and what passes through both ways is left to run time.
 */
#include "check/check.h"

enum { MAX_CHAINS = 64, MAX_PATH = 16, MAX_ITEMS = 1 << 20, MAX_DEPTH = 8, MAX_VALUES = 4096 };

typedef struct Link {
    const SpvInst *inst;
    struct Link *next;
} Link;

typedef struct Item {
    const SpvInst *inst;        /* a value, or a pointer to it */
    SpvId call;                 /* that it is so for; 0 = every one */
} Item;

struct QcomArrays {
    SpvModule *m;
    Arena *a;
    Link **stores, **passed;    /* by variable or parameter: stores to it, calls that get it */
    Link **calls, **returns;    /* by function */
    SpvId *function;            /* by parameter: whose */
    uint32_t *number;
    SpvId current;              /* the function being gathered */
    uint32_t n_params;
    Map fed;                    /* by id and call */
    VEC(Item) work;
    uint32_t n_items;
};

/* ---- pointers -------------------------------------------------------------------------------- */

/* The variable or parameter that a pointer leads into, or 0; the indices on the way from there. */
static SpvId root_of(const SpvModule *m, SpvId pointer, SpvId path[MAX_PATH], uint32_t *n)
{
    const SpvInst *chains[MAX_CHAINS], *i = spv_def(m, pointer);
    uint32_t k = 0;
    *n = 0;
    while (i && (i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain)) {
        if (k == MAX_CHAINS)
            return 0;
        chains[k++] = i;
        i = spv_def(m, spv_operand(i, 0));
    }
    while (k--) {
        for (uint32_t o = 1; o < spv_n_operands(chains[k]) && *n < MAX_PATH; o++)
            path[(*n)++] = spv_operand(chains[k], o);
    }
    return i && (i->op == SpvOpVariable || i->op == SpvOpFunctionParameter) ? i->id : 0;
}

static SpvId root(const SpvModule *m, SpvId pointer)
{
    SpvId path[MAX_PATH];
    uint32_t n;
    return root_of(m, pointer, path, &n);
}

/* Of two pointers into one variable: whether they may lead to the same memory. */
static bool may_meet(const SpvModule *m, SpvId p, SpvId q)
{
    SpvId a[MAX_PATH], b[MAX_PATH];
    uint32_t n_a, n_b;
    uint64_t x, y;
    root_of(m, p, a, &n_a);
    root_of(m, q, b, &n_b);
    for (uint32_t k = 0; k < MIN(n_a, n_b); k++) {
        if (spv_constant(m, a[k], &x) && spv_constant(m, b[k], &y) && x != y)
            return false;
    }
    return true;
}

/* ---- what there is --------------------------------------------------------------------------- */

static void link_to(QcomArrays *f, Link **at, const SpvInst *i)
{
    Link *l = NEW(f->a, Link);
    *l = (Link){ i, *at };
    *at = l;
}

static void feed(QcomArrays *f, SpvId id, SpvId call)
{
    uint64_t known;
    const SpvInst *i = spv_def(f->m, id);
    if (!i || f->n_items == MAX_ITEMS || map_get(&f->fed, id, &known) ||
        map_get(&f->fed, (uint64_t)call << 32 | id, &known))
        return;
    Item item = { i, call };
    map_put(f->a, &f->fed, (uint64_t)call << 32 | id, 1);
    vec_push(f->a, &f->work, item);
    f->n_items++;
}

static bool gather(void *user, SpvInst *i)
{
    QcomArrays *f = user;
    SpvId at;
    switch (i->op) {
    case SpvOpFunction:
        f->current = i->id;
        f->n_params = 0;
        break;
    case SpvOpFunctionParameter:
        f->function[i->id] = f->current;
        f->number[i->id] = f->n_params++;
        break;
    case SpvOpStore:
        if ((at = root(f->m, spv_operand(i, 0))))
            link_to(f, &f->stores[at], i);
        break;
    case SpvOpFunctionCall:
        link_to(f, &f->calls[spv_operand(i, 0)], i);
        for (uint32_t k = 1; k < spv_n_operands(i); k++) {
            if ((at = root(f->m, spv_operand(i, k))))
                link_to(f, &f->passed[at], i);
        }
        break;
    case SpvOpReturnValue: link_to(f, &f->returns[f->current], i); break;
    case SpvOpCompositeConstructCoopMatQCOM: feed(f, spv_operand(i, 0), 0); break;
    default: break;
    }
    return true;
}

/* ---- backwards ------------------------------------------------------------------------------- */

/* The function's n-th parameter, or 0. */
static SpvId parameter(const QcomArrays *f, SpvId function, uint32_t n)
{
    const SpvInst *i = spv_def(f->m, function);
    for (; i; i = i->next) {
        if (i->op == SpvOpFunctionParameter && !n--)
            return i->id;
    }
    return 0;
}

static void arguments(QcomArrays *f, SpvId param)
{
    uint32_t n = f->number[param] + 1;
    for (const Link *l = f->calls[f->function[param]]; l; l = l->next) {
        if (n < spv_n_operands(l->inst))
            feed(f, spv_operand(l->inst, n), 0);
    }
}

/* What is written to where a pointer leads, here and in functions that get it. */
static void memory(QcomArrays *f, SpvId pointer, SpvId call)
{
    SpvId at = root(f->m, pointer);
    const SpvInst *i = spv_def(f->m, at);
    if (!at)
        return;
    for (const Link *l = f->stores[at]; l; l = l->next) {
        if (may_meet(f->m, pointer, spv_operand(l->inst, 0)))
            feed(f, spv_operand(l->inst, 1), call);
    }
    for (const Link *l = f->passed[at]; l; l = l->next) {
        for (uint32_t k = 1; k < spv_n_operands(l->inst); k++) {
            SpvId argument = spv_operand(l->inst, k);
            if (root(f->m, argument) == at && may_meet(f->m, pointer, argument))
                feed(f, parameter(f, spv_operand(l->inst, 0), k - 1), l->inst->id);
        }
    }
    if (i->op == SpvOpFunctionParameter && !call)
        arguments(f, at);
}

static void follow(QcomArrays *f, const SpvInst *i, SpvId call)
{
    switch (i->op) {
    case SpvOpVariable:
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
    case SpvOpFunctionParameter: memory(f, i->id, call); break;
    case SpvOpLoad:
    case SpvOpCopyObject:
    case SpvOpBitCastArrayQCOM: feed(f, spv_operand(i, 0), call); break;
    case SpvOpPhi:
        for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2)
            feed(f, spv_operand(i, k), call);
        break;
    case SpvOpSelect:
        feed(f, spv_operand(i, 1), call);
        feed(f, spv_operand(i, 2), call);
        break;
    case SpvOpFunctionCall:
        for (const Link *l = f->returns[spv_operand(i, 0)]; l; l = l->next)
            feed(f, spv_operand(l->inst, 0), i->id);
        break;
    default: break;
    }
}

QcomArrays *qcom_arrays(Arena *a, SpvModule *m)
{
    QcomArrays *f = NEW(a, QcomArrays);
    *f = (QcomArrays){ .m = m, .a = a };
    f->stores = NEW_ARRAY(a, Link *, m->bound);
    f->passed = NEW_ARRAY(a, Link *, m->bound);
    f->calls = NEW_ARRAY(a, Link *, m->bound);
    f->returns = NEW_ARRAY(a, Link *, m->bound);
    f->function = NEW_ARRAY(a, SpvId, m->bound);
    f->number = NEW_ARRAY(a, uint32_t, m->bound);
    spv_each_inst(m, gather, f);
    while (f->work.len) {
        Item item = f->work.data[--f->work.len];
        follow(f, item.inst, item.call);
    }
    return f;
}

bool qcom_becomes_matrix(const QcomArrays *f, const SpvInst *part, const SpvInst *call)
{
    uint64_t known;
    if (map_get(&f->fed, part->id, &known) ||
        (call && map_get(&f->fed, (uint64_t)call->id << 32 | part->id, &known)))
        return true;
    /* In a block, so in a function; of the calls any. */
    const Link *l = call || !part->block ? NULL : f->calls[part->block->function->def->id];
    for (; l; l = l->next) {
        if (map_get(&f->fed, (uint64_t)l->inst->id << 32 | part->id, &known))
            return true;
    }
    return false;
}

/* ---- start indices --------------------------------------------------------------------------- */

/* What a variable of a function has when it is read, as far as one store says so; 0 if not. A call
 * `by` that gets it does not write it. */
static SpvId only_value(const QcomArrays *f, SpvId pointer, const SpvInst *by)
{
    SpvId at = root(f->m, pointer), value = 0;
    const SpvInst *i = spv_def(f->m, at);
    if (!i || i->op != SpvOpVariable || spv_operand(i, 0) != SpvStorageClassFunction ||
        spv_n_operands(i) > 1)
        return 0;
    for (const Link *l = f->passed[at]; l; l = l->next) {
        if (l->inst != by)
            return 0;
    }
    for (const Link *l = f->stores[at]; l; l = l->next) {
        if (value)
            return 0;
        value = spv_operand(l->inst, 1);
    }
    return value;
}

typedef struct Starts {
    const QcomArrays *f;
    QcomStart *out;
    uint32_t n, cap, left;      /* left: values to look at, for calls of calls of calls */
} Starts;

static void starts_of(Starts *s, SpvId value, const SpvInst *call, int depth)
{
    uint64_t x;
    const QcomArrays *f = s->f;
    const SpvInst *i = spv_def(f->m, value);
    if (!i || s->n == s->cap || depth == MAX_DEPTH || !s->left)
        return;
    s->left--;
    if (spv_constant(f->m, value, &x)) {
        s->out[s->n++] = (QcomStart){ (int32_t)x, call };
        return;
    }
    if (i->op == SpvOpBitcast || i->op == SpvOpCopyObject) {
        starts_of(s, spv_operand(i, 0), call, depth + 1);
        return;
    }
    bool load = i->op == SpvOpLoad;
    SpvId from = load ? spv_operand(i, 0) : value, at = load ? root(f->m, from) : value;
    const SpvInst *def = spv_def(f->m, at);
    if (load && def && def->op == SpvOpVariable)
        starts_of(s, only_value(f, from, NULL), call, depth + 1);
    if (!def || def->op != SpvOpFunctionParameter || f->stores[at] || f->passed[at])
        return;
    for (const Link *l = f->calls[f->function[at]]; l; l = l->next) {
        uint32_t n = f->number[at] + 1;
        if (n < spv_n_operands(l->inst)) {
            SpvId given = spv_operand(l->inst, n);
            starts_of(s, load ? only_value(f, given, l->inst) : given, call ? call : l->inst,
                      depth + 1);
        }
    }
}

uint32_t qcom_starts(const QcomArrays *f, const SpvInst *part, QcomStart *out, uint32_t cap)
{
    Starts s = { .f = f, .out = out, .cap = cap, .left = MAX_VALUES };
    starts_of(&s, spv_operand(part, 1), NULL, 0);
    return s.n;
}
