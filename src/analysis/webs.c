/* SPDX-License-Identifier: MIT
 *
 * Matrix webs. In: one function in SSA. Out: for each matrix value the web whose home it shares.
 *
 * Liveness by the usual backward iteration; two values interfere when one is live where the other is
 * defined. Then values that would else be copied (a phi and its operands, a multiply-add's result and its
 * accumulator, an insertion's result and its source) join in one web where no member of the one interferes
 * with a member of the other, inner loops first. Only values of one type join: an operand A never shares
 * memory with the accumulator that is written while it is read.
 */
#include "analysis/analysis.h"

enum { MAX_COALESCED = 16384 }; /* values; beyond it, each keeps a home of its own */

typedef uint64_t Word;

typedef struct Webs {
    Arena *arena;
    SpvModule *module;
    const Cfg *cfg;
    MatrixWebs *out;
    uint32_t n, words;          /* values; words of a set of them */
    Word **live;                /* by position: live at the block's end */
    Word *interfere, *members;  /* n rows of `words` */
    uint32_t *parent;           /* union-find over values */
} Webs;

static void set(Word *s, uint32_t i) { s[i / 64] |= (Word)1 << (i % 64); }
static void clear(Word *s, uint32_t i) { s[i / 64] &= ~((Word)1 << (i % 64)); }

static bool is_matrix(SpvModule *m, SpvId type)
{
    const SpvType *t = type ? spv_type(m, type) : NULL;
    return t && t->kind == SPV_COOPMAT;
}

/* Dense number of a matrix value that the function defines; UINT32_MAX for all else. */
static uint32_t number(const Webs *w, SpvId id)
{
    return id < w->module->bound && w->out->value[id] ? w->out->value[id] - 1 : UINT32_MAX;
}

static void collect(Webs *w)
{
    VEC(SpvId) ids = {0};
    for (uint32_t b = 0; b < w->cfg->n; b++) {
        SpvBlock *block = w->cfg->blocks[b].block;
        for (SpvInst *i = block ? block->insts.first : NULL; i; i = i->next)
            if (i->id && is_matrix(w->module, i->type)) {
                vec_push(w->arena, &ids, i->id);
                w->out->value[i->id] = ids.len;
            }
    }
    w->n = w->out->n_values = ids.len;
    w->out->value_id = ids.data;
    w->words = (w->n + 63) / 64;
}

static void use_operands(const Webs *w, const SpvInst *i, Word *live)
{
    uint16_t small[64], *at = small;
    uint32_t n = spv_id_operands(i, small, COUNT_OF(small));
    if (n > COUNT_OF(small)) {
        at = NEW_ARRAY(w->arena, uint16_t, n);
        spv_id_operands(i, at, n);
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t v = number(w, i->words[at[k]]);
        if (v != UINT32_MAX)
            set(live, v);
    }
}

/* What `to` wants from its predecessor `from`: its phis' operands, and what is live in it. */
static void flow_back(const Webs *w, uint32_t from, uint32_t to, const Word *live_in, Word *live)
{
    const SpvBlock *block = w->cfg->blocks[to].block;
    for (uint32_t k = 0; k < w->words; k++)
        live[k] |= live_in[k];
    for (const SpvInst *i = block ? block->insts.first : NULL; i; i = i->next)
        for (uint32_t k = 0; i->op == SpvOpPhi && k + 1 < spv_n_operands(i); k += 2) {
            uint32_t v = number(w, spv_operand(i, k));
            if (v != UINT32_MAX && spv_operand(i, k + 1) == w->cfg->blocks[from].block->id)
                set(live, v);
        }
}

/* Backwards through a block: `live` at its end becomes live at its start, its phis not included. With
 * `record`, notes who is live where something is defined. */
static void through(const Webs *w, const SpvBlock *block, Word *live, bool record)
{
    const SpvInst *i;
    for (i = block->insts.last; i && i->op != SpvOpPhi; i = i->prev) {
        uint32_t v = i->id ? number(w, i->id) : UINT32_MAX;
        if (v != UINT32_MAX) {
            clear(live, v);
            for (uint32_t k = 0; record && k < w->words; k++)
                w->interfere[(size_t)v * w->words + k] |= live[k];
        }
        use_operands(w, i, live);
    }
    const SpvInst *phis = i;
    for (; record && i; i = i->prev) {  /* all at once: with each other and all that is live behind them */
        uint32_t v = i->op == SpvOpPhi ? number(w, i->id) : UINT32_MAX;
        if (v != UINT32_MAX)
            set(live, v);
    }
    for (i = phis; record && i; i = i->prev) {
        uint32_t v = i->op == SpvOpPhi ? number(w, i->id) : UINT32_MAX;
        for (uint32_t k = 0; v != UINT32_MAX && k < w->words; k++)
            w->interfere[(size_t)v * w->words + k] |= live[k];
    }
    for (i = phis; i; i = i->prev) {
        uint32_t v = i->op == SpvOpPhi ? number(w, i->id) : UINT32_MAX;
        if (v != UINT32_MAX)
            clear(live, v);
    }
}

static void liveness(Webs *w)
{
    uint32_t blocks = w->cfg->n;
    Word **in = NEW_ARRAY(w->arena, Word *, blocks);
    Word *live = NEW_ARRAY(w->arena, Word, w->words + 1);
    w->live = NEW_ARRAY(w->arena, Word *, blocks);
    for (uint32_t b = 0; b < blocks; b++) {
        in[b] = NEW_ARRAY(w->arena, Word, w->words + 1);
        w->live[b] = NEW_ARRAY(w->arena, Word, w->words + 1);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = blocks; b-- > 0;) {
            const CfgBlock *c = &w->cfg->blocks[b];
            if (!c->block)
                continue;
            for (uint32_t s = 0; s < c->n_succs; s++)
                flow_back(w, b, c->succs[s], in[c->succs[s]], w->live[b]);
            memcpy(live, w->live[b], w->words * sizeof(Word));
            through(w, c->block, live, false);
            if (memcmp(live, in[b], w->words * sizeof(Word))) {
                memcpy(in[b], live, w->words * sizeof(Word));
                changed = true;
            }
        }
    }
}

/* Interference made symmetric; a value does not interfere with itself. */
static void interference(Webs *w)
{
    Word *live = NEW_ARRAY(w->arena, Word, w->words + 1);
    w->interfere = NEW_ARRAY(w->arena, Word, (size_t)w->n * w->words + 1);
    for (uint32_t b = 0; b < w->cfg->n; b++)
        if (w->cfg->blocks[b].block) {
            memcpy(live, w->live[b], w->words * sizeof(Word));
            through(w, w->cfg->blocks[b].block, live, true);
        }
    for (uint32_t x = 0; x < w->n; x++)
        for (uint32_t y = 0; y < w->n; y++)
            if (w->interfere[(size_t)x * w->words + y / 64] >> (y % 64) & 1)
                set(&w->interfere[(size_t)y * w->words], x);
    for (uint32_t x = 0; x < w->n; x++)
        clear(&w->interfere[(size_t)x * w->words], x);
}

static uint32_t find(Webs *w, uint32_t v)
{
    while (w->parent[v] != v)
        v = w->parent[v] = w->parent[w->parent[v]];
    return v;
}

static void join(Webs *w, SpvId x, SpvId y)
{
    uint32_t a = number(w, x), b = number(w, y);
    if (a == UINT32_MAX || b == UINT32_MAX)
        return;
    const SpvModule *m = w->module;
    if (spv_def(m, x)->type != spv_def(m, y)->type)
        return;
    a = find(w, a);
    b = find(w, b);
    Word *ia = &w->interfere[(size_t)a * w->words], *ib = &w->interfere[(size_t)b * w->words];
    Word *ma = &w->members[(size_t)a * w->words], *mb = &w->members[(size_t)b * w->words];
    if (a == b)
        return;
    for (uint32_t k = 0; k < w->words; k++)
        if (ia[k] & mb[k])
            return;
    for (uint32_t k = 0; k < w->words; k++) {
        ia[k] |= ib[k];
        ma[k] |= mb[k];
    }
    w->parent[b] = a;
}

static void join_inst(Webs *w, const SpvInst *i)
{
    switch (i->op) {
    case SpvOpPhi:
        for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2)
            join(w, i->id, spv_operand(i, k));
        break;
    case SpvOpCooperativeMatrixMulAddKHR:
        join(w, i->id, spv_operand(i, 2));
        break;
    case SpvOpCompositeInsert:
        join(w, i->id, spv_operand(i, 1));
        break;
    case SpvOpCopyObject:
    case SpvOpMatrixTimesScalar:
    case SpvOpFAdd: case SpvOpFSub: case SpvOpFMul: case SpvOpFDiv: case SpvOpFNegate:
    case SpvOpIAdd: case SpvOpISub: case SpvOpIMul: case SpvOpSNegate:
        join(w, i->id, spv_operand(i, 0));
        break;
    default:
        break;
    }
}

static void coalesce(Webs *w)
{
    uint32_t deepest = 0;
    w->members = NEW_ARRAY(w->arena, Word, (size_t)w->n * w->words + 1);
    for (uint32_t v = 0; v < w->n; v++)
        set(&w->members[(size_t)v * w->words], v);
    for (uint32_t l = 0; l < w->cfg->n_loops; l++)
        deepest = MAX(deepest, w->cfg->loops[l]->depth);
    for (uint32_t depth = deepest + 1; depth-- > 0;)
        for (uint32_t b = 0; b < w->cfg->n; b++) {
            const CfgBlock *c = &w->cfg->blocks[b];
            if (!c->block || (c->loop ? c->loop->depth : 0) != depth)
                continue;
            for (const SpvInst *i = c->block->insts.first; i; i = i->next)
                if (i->id && number(w, i->id) != UINT32_MAX)
                    join_inst(w, i);
        }
}

MatrixWebs *matrix_webs(Arena *a, SpvModule *m, const Cfg *c)
{
    MatrixWebs *out = NEW(a, MatrixWebs);
    Webs w = {.arena = a, .module = m, .cfg = c, .out = out};
    out->web = NEW_ARRAY(a, uint32_t, m->bound);
    out->value = NEW_ARRAY(a, uint32_t, m->bound);
    collect(&w);
    w.parent = NEW_ARRAY(a, uint32_t, w.n + 1);
    for (uint32_t v = 0; v < w.n; v++)
        w.parent[v] = v;
    if (w.n <= MAX_COALESCED) {
        liveness(&w);
        interference(&w);
        coalesce(&w);
    }
    out->web_type = NEW_ARRAY(a, SpvId, w.n + 1);
    uint32_t *web_of = NEW_ARRAY(a, uint32_t, w.n + 1);     /* by root: 1 + web */
    for (uint32_t v = 0; v < w.n; v++) {
        uint32_t root = find(&w, v);
        if (!web_of[root]) {
            out->web_type[out->n_webs] = spv_def(m, out->value_id[v])->type;
            web_of[root] = ++out->n_webs;
        }
        out->web[out->value_id[v]] = web_of[root];
    }
    return out;
}
