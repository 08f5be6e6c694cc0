/* SPDX-License-Identifier: MIT
 *
 * webs: finds the matrix values that share memory. In: a function in SSA and its Cfg. Out:
 * MatrixWebs.
 *
 * Liveness is walked from each use up to the definition. Webs start as single values and grow along
 * multiply-adds, phis and elementwise operations, wherever the two webs do not interfere: their
 * values, in a preorder of the dominator tree, are checked each against its nearest dominating one,
 * which is enough in SSA form (Boissinot et al., "Revisiting out-of-SSA translation", 2009). An
 * operand that the instruction reads while it writes its result (A and B of a multiply-add) counts
 * as live behind it.
 */
#include "analysis/analysis.h"

#define NONE UINT32_MAX
enum { MAX_LIVE_BYTES = 256 << 20 };

typedef struct Use {
    uint32_t block, place;
} Use; /* the last one in that block */

typedef struct Value {
    const SpvInst *inst;
    uint32_t block; /* Cfg position */
    uint32_t place; /* 2 * index in its block; phis 0 */
    /* places: 2 * index, and 1 more where the operand outlives the result's birth */
    VEC(Use) uses;
    uint32_t web; /* union-find */
} Value;

typedef struct Web {
    VEC(uint32_t) values;
} Web; /* in dominator tree preorder */

typedef struct Builder {
    Arena *a;
    SpvModule *m;
    const Cfg *c;
    MatrixWebs *w;
    VEC(Value) values;
    Web *webs; /* by value number: of the web that it leads */
    /* by position: bit set of values, with what phis of successors take */
    uint8_t **live_out;
    uint32_t *stamp; /* by position: 1 + value that was walked through there */
    uint32_t *stack;
    uint16_t operand_at[65536];
    bool unknown; /* too large to know: all is live everywhere */
} Builder;

/* ---- values and uses ------------------------------------------------------------------------- */

static const SpvType *matrix_type(Builder *b, const SpvInst *i)
{
    const SpvType *t = i && i->type ? spv_type(b->m, i->type) : NULL;
    return t && t->kind == SPV_COOPMAT ? t : NULL;
}

static uint32_t number_of(const Builder *b, SpvId id)
{
    return id < b->m->bound && b->w->value[id] ? b->w->value[id] - 1 : NONE;
}

static void find_values(Builder *b)
{
    for (uint32_t p = 0; p + 1 < b->c->n; p++) {
        uint32_t index = 0;
        for (SpvInst *i = b->c->blocks[p].block->insts.first; i; i = i->next) {
            index += i->op != SpvOpPhi;
            if (!i->id || !matrix_type(b, i))
                continue;
            uint32_t place = i->op == SpvOpPhi ? 0 : 2 * index;
            Value v = { .inst = i, .block = p, .place = place, .web = b->values.len };
            vec_push(b->a, &b->values, v);
            b->w->value[i->id] = b->values.len;
        }
    }
}

/* Whether the instruction has read this operand's element before it writes the result's. */
static bool is_in_place(Builder *b, const SpvInst *i, uint32_t word)
{
    const SpvType *to = matrix_type(b, i), *from = matrix_type(b, spv_def(b->m, i->words[word]));
    uint32_t operand = word - i->first_operand;
    if (!to || !from)
        return true;
    switch (i->op) {
    case SpvOpCooperativeMatrixMulAddKHR: return operand == 2 && to == from;
    case SpvOpCooperativeMatrixTransposeNV:
    case SpvOpCooperativeMatrixConvertUseEXT:
    case SpvOpCooperativeMatrixReduceEXT: return false;
    case SpvOpCooperativeMatrixLoadTensorNV: return operand == 1;
    default: return to == from;
    }
}

static void add_use(Builder *b, uint32_t v, uint32_t block, uint32_t place)
{
    Value *value = &b->values.data[v];
    if (value->uses.len && vec_last(&value->uses).block == block)
        vec_last(&value->uses).place = MAX(vec_last(&value->uses).place, place);
    else
        vec_push(b->a, &value->uses, (Use){ block, place });
}

static void find_uses(Builder *b)
{
    for (uint32_t p = 0; p + 1 < b->c->n; p++) {
        uint32_t index = 0;
        for (SpvInst *i = b->c->blocks[p].block->insts.first; i; i = i->next) {
            index += i->op != SpvOpPhi;
            if (i->op == SpvOpPhi)
                continue;
            uint32_t n = spv_id_operands(i, b->operand_at, COUNT_OF(b->operand_at));
            for (uint32_t k = 0; k < n; k++) {
                uint32_t v = number_of(b, i->words[b->operand_at[k]]);
                if (v != NONE)
                    add_use(b, v, p, 2 * index + !is_in_place(b, i, b->operand_at[k]));
            }
        }
    }
}

/* ---- liveness -------------------------------------------------------------------------------- */

static void set_live(Builder *b, uint32_t p, uint32_t v)
{
    b->live_out[p][v / 8] |= (uint8_t)(1u << v % 8);
}

/* v is needed at the start of block p: it is live at the end of what comes before, up to its
 * definition. */
static void walk_up(Builder *b, uint32_t v, uint32_t p)
{
    uint32_t n = 0;
    if (p == b->values.data[v].block || b->stamp[p] == v + 1)
        return;
    b->stamp[p] = v + 1;
    b->stack[n++] = p;
    while (n) {
        const CfgBlock *block = &b->c->blocks[b->stack[--n]];
        for (uint32_t k = 0; k < block->n_preds; k++) {
            uint32_t pred = block->preds[k];
            set_live(b, pred, v);
            if (pred == b->values.data[v].block || b->stamp[pred] == v + 1)
                continue;
            b->stamp[pred] = v + 1;
            b->stack[n++] = pred;
        }
    }
}

static void find_live(Builder *b)
{
    /* by value: blocks it leaves by phi */
    VEC(Use) *edges = arena_alloc_array(b->a, sizeof *edges, b->values.len);
    for (uint32_t p = 0; p + 1 < b->c->n; p++) {
        SpvInst *i = b->c->blocks[p].block->insts.first->next;
        for (; i && i->op == SpvOpPhi; i = i->next) {
            if (!matrix_type(b, i))
                continue;
            for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2) {
                uint32_t v = number_of(b, spv_operand(i, k));
                SpvInst *pred = spv_def(b->m, spv_operand(i, k + 1));
                uint32_t at = pred && pred->block ? b->c->position[pred->block->index] : NONE;
                if (v != NONE && at != NONE)
                    vec_push(b->a, &edges[v], (Use){ at, 0 });
            }
        }
    }
    for (uint32_t v = 0; v < b->values.len; v++) {
        for (uint32_t k = 0; k < b->values.data[v].uses.len; k++)
            walk_up(b, v, b->values.data[v].uses.data[k].block);
        for (uint32_t k = 0; k < edges[v].len; k++) {
            set_live(b, edges[v].data[k].block, v);
            walk_up(b, v, edges[v].data[k].block);
        }
    }
}

static void make_sets(Builder *b)
{
    uint64_t bytes = (b->values.len + 7) / 8;
    b->live_out = NEW_ARRAY(b->a, uint8_t *, b->c->n);
    b->unknown = bytes * b->c->n > MAX_LIVE_BYTES;
    uint8_t *shared = b->unknown ? NEW_ARRAY(b->a, uint8_t, bytes) : NULL;
    if (b->unknown)
        memset(shared, 0xff, bytes);
    for (uint32_t p = 0; p < b->c->n; p++)
        b->live_out[p] = b->unknown ? shared : NEW_ARRAY(b->a, uint8_t, bytes);
}

/* ---- interference ---------------------------------------------------------------------------- */

/* Whether x, whose definition dominates y's, is still needed when y is defined. */
static bool is_live_at(const Builder *b, uint32_t x, uint32_t y)
{
    const Value *vx = &b->values.data[x], *vy = &b->values.data[y];
    if (vx->block == vy->block && vx->place == 0 && vy->place == 0)
        return true; /* phis of one block are born at once */
    if (b->live_out[vy->block][x / 8] >> x % 8 & 1)
        return true;
    for (uint32_t k = 0; k < vx->uses.len; k++)
        if (vx->uses.data[k].block == vy->block)
            return vx->uses.data[k].place > vy->place;
    return false;
}

static bool is_before(const Builder *b, uint32_t x, uint32_t y)
{
    const Value *vx = &b->values.data[x], *vy = &b->values.data[y];
    uint32_t fx = b->c->blocks[vx->block].dom_first, fy = b->c->blocks[vy->block].dom_first;
    return fx != fy ? fx < fy : vx->place != vy->place ? vx->place < vy->place : x < y;
}

static uint32_t find_web(Builder *b, uint32_t v)
{
    Value *values = b->values.data;
    while (values[v].web != v)
        v = values[v].web = values[values[v].web].web;
    return v;
}

static bool birth_dominates(const Builder *b, uint32_t x, uint32_t y)
{
    return cfg_dominates(b->c, b->values.data[x].block, b->values.data[y].block);
}

/* The union of two webs in order, or false where a value of one is live at the birth of one of the
 * other. */
static bool merge_lists(Builder *b, const Web *x, const Web *y, Web *out)
{
    VEC(uint32_t) above = { 0 };
    uint32_t i = 0, k = 0;
    while (i < x->values.len || k < y->values.len) {
        bool from_x = k == y->values.len ||
                      (i < x->values.len && is_before(b, x->values.data[i], y->values.data[k]));
        uint32_t v = from_x ? x->values.data[i++] : y->values.data[k++];
        while (above.len && !birth_dominates(b, vec_last(&above), v))
            above.len--;
        if (above.len && is_live_at(b, vec_last(&above), v))
            return false;
        vec_push(b->a, &above, v);
        vec_push(b->a, &out->values, v);
    }
    return true;
}

/* For an accumulator that is the last value of its web and dies where the result is defined:
 * nothing else of the web is live there, so the result is appended to it. */
static bool append_result(Builder *b, uint32_t x, uint32_t y, uint32_t from, uint32_t to)
{
    Web *wx = &b->webs[x], *wy = &b->webs[y];
    if (wy->values.len != 1 || vec_last(&wx->values) != from || !birth_dominates(b, from, to) ||
        is_live_at(b, from, to))
        return false;
    vec_push(b->a, &wx->values, to);
    b->values.data[y].web = x;
    return true;
}

static void coalesce(Builder *b, uint32_t from, uint32_t to)
{
    uint32_t x = find_web(b, from), y = find_web(b, to);
    Web all = { 0 };
    if (x == y || b->unknown || b->values.data[from].inst->type != b->values.data[to].inst->type ||
        append_result(b, x, y, from, to) || !merge_lists(b, &b->webs[x], &b->webs[y], &all))
        return;
    b->values.data[y].web = x;
    b->webs[x] = all;
}

/* ---- what wants to be one -------------------------------------------------------------------- */

static void coalesce_accumulators(Builder *b)
{
    for (uint32_t v = 0; v < b->values.len; v++) {
        const SpvInst *i = b->values.data[v].inst;
        uint32_t c =
            i->op == SpvOpCooperativeMatrixMulAddKHR ? number_of(b, spv_operand(i, 2)) : NONE;
        if (c != NONE)
            coalesce(b, c, v);
    }
}

static void coalesce_phis(Builder *b)
{
    for (uint32_t v = b->values.len; v-- > 0;) { /* inner loops are further behind */
        const SpvInst *i = b->values.data[v].inst;
        for (uint32_t k = 0; i->op == SpvOpPhi && k + 1 < spv_n_operands(i); k += 2) {
            /* the back edge is mostly the last: it counts most */
            uint32_t n = spv_n_operands(i) - 2 - k;
            uint32_t operand = number_of(b, spv_operand(i, n));
            if (operand != NONE)
                coalesce(b, operand, v);
        }
    }
}

/* The number of the operand whose place an elementwise result may take, or none. */
static uint32_t replaced_operand(const Builder *b, const SpvInst *i)
{
    if (spv_op_info(i->op)->flags & SPV_OPF_MATRICES)
        return number_of(b, spv_operand(i, 0));
    switch (i->op) {
    case SpvOpCompositeInsert: return number_of(b, spv_operand(i, 1));
    case SpvOpCooperativeMatrixLoadTensorNV: /* what is clipped stays as it was */
        return number_of(b, spv_operand(i, 1));
    case SpvOpCopyObject:
    case SpvOpCooperativeMatrixPerElementOpEXT: return number_of(b, spv_operand(i, 0));
    default: return NONE;
    }
}

static void coalesce_elementwise(Builder *b)
{
    for (uint32_t v = 0; v < b->values.len; v++) {
        uint32_t operand = replaced_operand(b, b->values.data[v].inst);
        if (operand != NONE)
            coalesce(b, operand, v);
    }
}

static void number_webs(Builder *b)
{
    MatrixWebs *w = b->w;
    uint32_t *number = NEW_ARRAY(b->a, uint32_t, b->values.len);
    w->n_values = b->values.len;
    w->value_id = NEW_ARRAY(b->a, SpvId, w->n_values);
    w->web_type = NEW_ARRAY(b->a, SpvId, w->n_values);
    for (uint32_t v = 0; v < w->n_values; v++) {
        uint32_t leader = find_web(b, v);
        const SpvInst *i = b->values.data[v].inst;
        if (!number[leader]) {
            w->web_type[w->n_webs] = i->type;
            number[leader] = ++w->n_webs;
        }
        w->value_id[v] = i->id;
        w->web[i->id] = number[leader];
    }
}

MatrixWebs *matrix_webs(Arena *a, SpvModule *m, const Cfg *c)
{
    Builder *b = NEW(a, Builder);
    b->a = a, b->m = m, b->c = c;
    b->w = NEW(a, MatrixWebs);
    b->w->web = NEW_ARRAY(a, uint32_t, m->bound);
    b->w->value = NEW_ARRAY(a, uint32_t, m->bound);
    b->stamp = NEW_ARRAY(a, uint32_t, c->n);
    b->stack = NEW_ARRAY(a, uint32_t, c->n);
    find_values(b);
    make_sets(b);
    find_uses(b);
    if (!b->unknown)
        find_live(b);
    b->webs = NEW_ARRAY(a, Web, b->values.len);
    for (uint32_t v = 0; v < b->values.len; v++)
        vec_push(a, &b->webs[v].values, v);
    coalesce_accumulators(b);
    coalesce_phis(b);
    coalesce_elementwise(b);
    number_webs(b);
    return b->w;
}
