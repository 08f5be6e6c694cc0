/* SPDX-License-Identifier: MIT
 *
 * trace: what made a value. Front ends put tensor layouts, and the numbers they are made with, into
 * variables and hand them to functions; rules that ask for a value's constants look through that.
 * Backwards from a use: through copies, phis and selections, from a function's parameters to the
 * arguments of its calls, from a load, block by block, to the stores that it may read. What cannot
 * be followed, such as an index that is no constant or a call that gets the variable, makes the
 * trace a lost one, whose rule says nothing.
 */
#include "check/internal.h"

enum {
    MAX_TRACED = 4096,     /* steps of one trace: blocks and values */
    MAX_SCANNED = 1 << 22, /* instructions that all of a module's traces look at */
    MAX_CHAINS = 64,
    MAX_PATH = 8
};

typedef struct Edge Edge;
struct Edge {
    const SpvInst *inst; /* a call, or the label of a block that branches here */
    Edge *next;
};

struct CheckFlow {
    SpvModule *m;
    Arena *a;
    Edge **to;          /* by label: the blocks before; by function: its calls */
    uint8_t *elsewhere; /* by function: instructions other than calls name it */
    SpvId *function;    /* by parameter: whose */
    uint32_t *number;
    SpvId current;
    uint32_t n_params, scanned;
    bool physical; /* variables have addresses, which lead there too */
};

/* ---- what leads where ------------------------------------------------------------------------ */

static void lead(CheckFlow *f, SpvId to, const SpvInst *from)
{
    Edge *e = NEW(f->a, Edge);
    *e = (Edge){ from, f->to[to] };
    f->to[to] = e;
}

static void add_branches(CheckFlow *f, const SpvInst *i)
{
    uint32_t n = spv_id_operands(i, NULL, 0);
    uint16_t *at = NEW_ARRAY(f->a, uint16_t, n + 1);
    spv_id_operands(i, at, n);
    for (uint32_t k = 0; k < n; k++) {
        const SpvInst *to = spv_def(f->m, i->words[at[k]]);
        if (to && to->op == SpvOpLabel)
            lead(f, to->id, spv_def(f->m, i->block->id));
    }
}

static bool gather(void *user, SpvInst *i)
{
    CheckFlow *f = user;
    const SpvOpInfo *info = spv_op_info(i->op);
    SpvId callees[SPV_MAX_CALLEES];
    if (i->op == SpvOpFunction) {
        f->current = i->id;
        f->n_params = 0;
    } else if (i->op == SpvOpFunctionParameter) {
        f->function[i->id] = f->current;
        f->number[i->id] = f->n_params++;
    } else if (i->op == SpvOpFunctionCall) {
        lead(f, spv_operand(i, 0), i);
    } else if (i->block && info && info->flags & SPV_OPF_TERMINATOR) {
        add_branches(f, i);
    } else if (i->op == SpvOpMemoryModel) {
        f->physical = spv_operand(i, 0) == SpvAddressingModelPhysical32 ||
                      spv_operand(i, 0) == SpvAddressingModelPhysical64;
    } else {
        for (uint32_t k = spv_callees(f->m, i, callees); k-- > 0;)
            f->elsewhere[callees[k]] = spv_def(f->m, callees[k]) != NULL;
    }
    return true;
}

static CheckFlow *flow_of(Checker *c)
{
    CheckFlow *f = NEW(c->arena, CheckFlow);
    *f = (CheckFlow){ .m = c->m, .a = c->arena };
    f->to = NEW_ARRAY(f->a, Edge *, c->m->bound);
    f->elsewhere = NEW_ARRAY(f->a, uint8_t, c->m->bound);
    f->function = NEW_ARRAY(f->a, SpvId, c->m->bound);
    f->number = NEW_ARRAY(f->a, uint32_t, c->m->bound);
    spv_each_inst(c->m, gather, f);
    return f;
}

/* ---- pointers -------------------------------------------------------------------------------- */

/* A variable or parameter, and the constant indices from there. */
typedef struct Path {
    const SpvInst *root;
    uint64_t index[MAX_PATH];
    uint32_t n;
    bool ends; /* false: more follow, which are not known */
} Path;

static Path path_of(const SpvModule *m, SpvId pointer)
{
    const SpvInst *chains[MAX_CHAINS], *i = spv_def(m, pointer);
    uint32_t n = 0;
    for (; n < MAX_CHAINS && i &&
           (i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain ||
            i->op == SpvOpCopyObject);
         i = spv_def(m, spv_operand(i, 0)))
        chains[n++] = i;
    Path p = { .root = i, .ends = true };
    while (n-- > 0 && p.ends)
        for (uint32_t k = 1; k < spv_n_operands(chains[n]) && p.ends; k++) {
            p.ends = p.n < MAX_PATH && spv_constant(m, spv_operand(chains[n], k), &p.index[p.n]);
            p.n += p.ends;
        }
    return p;
}

typedef enum Meeting { APART, SAME, PERHAPS } Meeting;

static Meeting meeting(const Path *p, const Path *q)
{
    if (p->root != q->root)
        return APART;
    for (uint32_t k = 0; k < MIN(p->n, q->n); k++)
        if (p->index[k] != q->index[k])
            return APART;
    return p->n == q->n && p->ends && q->ends ? SAME : PERHAPS;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* A value; with a place, a label or a call, what a pointer leads to at that block's end or when the
 * call is made. */
static void queue_value(CheckTrace *t, SpvId id, SpvId place)
{
    uint64_t key = (uint64_t)place << 32 | id, known;
    if (map_get(&t->seen, key, &known))
        return;
    map_put(t->c->arena, &t->seen, key, 1);
    vec_push(t->c->arena, &t->work, key);
    t->lost |= t->work.len > MAX_TRACED;
}

void trace_on(CheckTrace *t, SpvId id) { queue_value(t, id, 0); }

/* What the calls of its function give a parameter: itself, or what it leads to. */
static void arguments(CheckTrace *t, const SpvInst *parameter, bool contents)
{
    const CheckFlow *f = t->c->flow;
    SpvId function = f->function[parameter->id];
    uint32_t n = f->number[parameter->id] + 1;
    t->lost |= !function || f->elsewhere[function] || !f->to[function];
    for (const Edge *e = t->lost ? NULL : f->to[function]; e; e = e->next) {
        if (n >= spv_n_operands(e->inst))
            t->lost = true;
        else
            queue_value(t, spv_operand(e->inst, n), contents ? e->inst->id : 0);
    }
}

/* Whether an instruction decides what a path leads to; what is stored there goes on the trace. */
static bool decides(CheckTrace *t, const SpvInst *i, const Path *p)
{
    uint16_t at[16];
    uint32_t n = MIN(spv_id_operands(i, at, COUNT_OF(at)), (uint32_t)COUNT_OF(at));
    if (i == p->root) {
        if (spv_n_operands(i) > 1)
            trace_on(t, spv_operand(i, 1));
        return true; /* without an initialiser no value comes from there */
    }
    if (i->op == SpvOpLoad || i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain ||
        i->op == SpvOpCopyObject || spv_is_nonsemantic(i))
        return false;
    for (uint32_t k = 0; k < n; k++) {
        Path q = path_of(t->c->m, i->words[at[k]]);
        Meeting met = meeting(p, &q);
        if (met == APART)
            continue;
        if (i->op == SpvOpStore && met == SAME && !k)
            trace_on(t, spv_operand(i, 1));
        else
            t->lost = true;
        return true;
    }
    return false;
}

/* What the pointer leads to behind `i`, back to the beginning of its block. */
static void contents(CheckTrace *t, SpvId pointer, const SpvInst *i)
{
    CheckFlow *f = t->c->flow;
    const SpvBlock *b = i->block;
    Path p = path_of(f->m, pointer);
    bool variable =
        p.root && p.root->op == SpvOpVariable && spv_operand(p.root, 0) == SpvStorageClassFunction;
    bool parameter = p.root && p.root->op == SpvOpFunctionParameter;
    t->lost |= f->physical || !p.ends || (!variable && !parameter);
    for (; i && !t->lost; i = i->prev) {
        t->lost |= f->scanned++ > MAX_SCANNED;
        if (decides(t, i, &p))
            return;
    }
    if (b == b->function->first && !t->lost) {
        t->lost |= !parameter || p.n;
        arguments(t, p.root, true);
    }
    t->merged |= f->to[b->id] && f->to[b->id]->next;
    for (const Edge *e = f->to[b->id]; e && !t->lost; e = e->next)
        queue_value(t, pointer, e->inst->id);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Whether a value is that of others, which go on the trace. */
static bool forwards(CheckTrace *t, const SpvInst *i)
{
    switch (i->op) {
    case SpvOpCopyObject: trace_on(t, spv_operand(i, 0)); return true;
    case SpvOpFunctionParameter: arguments(t, i, false); return true;
    case SpvOpLoad: contents(t, spv_operand(i, 0), i->prev); return true;
    case SpvOpPhi:
        t->merged = true;
        for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2)
            trace_on(t, spv_operand(i, k));
        return true;
    case SpvOpSelect:
        t->merged = true;
        trace_on(t, spv_operand(i, 1));
        trace_on(t, spv_operand(i, 2));
        return true;
    default: return false;
    }
}

CheckTrace trace(Checker *c, SpvId id)
{
    CheckTrace t = { .c = c };
    if (!c->flow)
        c->flow = flow_of(c);
    trace_on(&t, id);
    return t;
}

const SpvInst *trace_next(CheckTrace *t)
{
    const SpvModule *m = t->c->m;
    while (t->work.len && !t->lost) {
        uint64_t key = t->work.data[--t->work.len];
        const SpvInst *i = spv_def(m, (SpvId)key), *place = spv_def(m, (SpvId)(key >> 32));
        if (!i)
            t->lost = true;
        else if (place && place->op == SpvOpLabel)
            contents(t, i->id, place->block->insts.last);
        else if (place)
            contents(t, i->id, place->prev);
        else if (!forwards(t, i))
            return i;
    }
    return NULL;
}

bool trace_word(Checker *c, SpvId id, uint64_t *value)
{
    bool known = false;
    uint64_t x;
    CheckTrace t = trace(c, id);
    for (const SpvInst *i; (i = trace_next(&t));) {
        t.lost |= spv_is_spec_constant(c->m, i->id) || !spv_constant(c->m, i->id, &x) ||
                  (known && (uint32_t)x != *value);
        *value = (uint32_t)x;
        known = true;
    }
    return known && !t.lost;
}
