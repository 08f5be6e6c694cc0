/* SPDX-License-Identifier: MIT
 *
 * Sums whose last products wait for the place where they are stored. In: accumulators that loops
 * sum up, from zeros, and that are stored once behind them. Out: calls of multiply-add kernels that
 * begin with zeros and end where the result goes, instead of zeros that are written before a loop,
 * read and written in it, and copied behind it.
 *
 * A loop's call is put off by an iteration: its table is filled in, and it runs when the next one
 * would, or when the sums are wanted; iterations whose steps follow are one call's, up to as many
 * as pay. Where the sums' store wants them, the call writes there. What it reads must not change
 * meanwhile: its operands lie in buffers that nobody writes during the dispatch (share.c,
 * CpuEnv.unwritten). That the homes count as zeros, and that a call waits, is known at run time, so
 * that no path through the loops needs to be told from another.
 */
#include "cpu/matrix/matrix.h"

#include <stddef.h>

enum { NOWHERE = UINT32_MAX };

/* ---- which sums ------------------------------------------------------------------------------ */

/* What is known of a web. */
typedef struct Web {
    uint32_t first, store, n_stores; /* blocks: of its first loop, of its store */
    bool other;                      /* has definitions or uses that are not known here */
} Web;

static bool is_header(const Emit *e, uint32_t block)
{
    const CfgLoop *l = e->cfg->blocks[block].loop;
    return l && l->header == block;
}

static void see_definition(const Emit *e, Web *w, const SpvInst *i, uint32_t block)
{
    bool phi = i->op == SpvOpPhi && is_header(e, block);
    w->other |= !phi && i->op != SpvOpCooperativeMatrixMulAddKHR;
    if (phi)
        w->first = MIN(w->first, block);
}

static void see_use(Web *w, const SpvInst *i, uint32_t operand, uint32_t block)
{
    bool stored = i->op == SpvOpCooperativeMatrixStoreKHR && operand == 1;
    bool added = i->op == SpvOpCooperativeMatrixMulAddKHR && operand == 2;
    w->other |= !stored && !added && i->op != SpvOpPhi;
    if (stored) {
        w->store = block;
        w->n_stores++;
    }
}

static Web *survey_webs(Emit *e)
{
    const MatrixWebs *all = matrices_of(e)->webs;
    Web *webs = NEW_ARRAY(e->arena, Web, all->n_webs + 1), none = { 0 };
    for (uint32_t w = 0; w <= all->n_webs; w++)
        webs[w] = (Web){ NOWHERE, NOWHERE, 0, false };
    for (uint32_t b = 0; b + 1 < e->cfg->n; b++)
        for (SpvInst *i = e->cfg->blocks[b].block->insts.first; i; i = i->next) {
            uint32_t n;
            const uint16_t *at = mat_ids(e, i, &n);
            see_definition(e, i->id ? &webs[all->web[i->id]] : &none, i, b);
            for (uint32_t k = 0; k < n; k++)
                see_use(&webs[all->web[i->words[at[k]]]], i, at[k] - i->first_operand, b);
        }
    return webs;
}

/* The store comes once: it is in no loop that goes on with the sums. */
static void see_loops(Emit *e, Web *webs)
{
    const MatrixWebs *all = matrices_of(e)->webs;
    for (uint32_t k = 0; k < all->n_values; k++) {
        const SpvInst *i = spv_def(e->module, all->value_id[k]);
        Web *w = &webs[all->web[all->value_id[k]]];
        if (!i || i->op != SpvOpPhi || w->other || w->n_stores != 1)
            continue;
        const CfgLoop *l = e->cfg->blocks[i->block->index].loop;
        w->other |= !l || cfg_in_loop(l, e->cfg, w->store);
    }
}

/* Web `w` can be among the sums of web `like`. */
static bool belongs(Emit *e, const Web *webs, uint32_t w, uint32_t like)
{
    const SpvId *types = matrices_of(e)->webs->web_type;
    return !webs[w].other && webs[w].n_stores == 1 && webs[w].store == webs[like].store &&
           types[w - 1] == types[like - 1] &&
           spv_type(e->module, types[w - 1])->scope == SpvScopeSubgroup;
}

static LV new_flag(Emit *e, const char *name)
{
    LV p = emit_alloca(e, e->i1, name);
    LLVMBuildStore(e->entry_b, ir_int(e->i1, 0), p);
    return p;
}

/* The sums of the loop where web `first` begins, whose homes then lie side by side. */
static void make_sums(Emit *e, const Web *webs, uint32_t first)
{
    MatEmit *m = matrices_of(e);
    uint32_t n = 0;
    for (uint32_t w = first; w <= m->webs->n_webs; w++) {
        if (webs[w].first == webs[first].first && !belongs(e, webs, w, first))
            return;
        n += webs[w].first == webs[first].first;
    }
    MatSums *s = NEW(e->arena, MatSums);
    s->n = n;
    s->type = spv_type(e->module, m->webs->web_type[first - 1]);
    s->bytes = mat_bytes(e, s->type);
    s->homes = mat_frame(e, s->type, n * s->bytes);
    s->zero = new_flag(e, "zero");
    s->waits = new_flag(e, "waits");
    for (uint32_t w = first, k = 0; w <= m->webs->n_webs; w++)
        if (webs[w].first == webs[first].first) {
            LV offset = ir_int(e->i64, k++ * s->bytes);
            m->homes[w - 1].tile.ptr = ir_at_inbounds(e->entry_b, s->homes, offset);
            m->sums[w] = s;
        }
}

void mat_sums_survey(Emit *e)
{
    MatEmit *m = matrices_of(e);
    uint32_t n = m->webs->n_webs;
    m->sums = NEW_ARRAY(e->arena, MatSums *, n + 1);
    if (!m->shares)
        return;
    Web *webs = survey_webs(e);
    uint8_t *seen = NEW_ARRAY(e->arena, uint8_t, e->cfg->n);
    see_loops(e, webs);
    for (uint32_t w = 1; w <= n; w++)
        if (webs[w].first != NOWHERE && !seen[webs[w].first]) {
            seen[webs[w].first] = true;
            make_sums(e, webs, w);
        }
}

MatSums *mat_sums(Emit *e, SpvId id) { return matrices_of(e)->sums[matrices_of(e)->webs->web[id]]; }

/* ---- zeros, and calls that wait -------------------------------------------------------------- */

static LV is_set(Emit *e, LV flag) { return LLVMBuildLoad2(e->b, e->i1, flag, ""); }
static void set(Emit *e, LV flag, bool to) { LLVMBuildStore(e->b, ir_int(e->i1, to), flag); }

void mat_sums_zero(Emit *e, MatSums *s)
{
    set(e, s->zero, true);
    set(e, s->waits, false);
}

/* Runs the call that waits. to: where its sums go; NULL: home. */
static void run_waiting(Emit *e, MatSums *s, LV to)
{
    GemmCall c = s->call;
    LLVMMetadataRef here = debug_here(e);
    debug_back(e, s->place); /* wherever it runs, the time is its products' */
    LV cold = lanes_env(e, e->b, e->i32, offsetof(CpuEnv, beyond_l2));
    c.cold = LLVMBuildICmp(e->b, LLVMIntNE, cold, ir_int(e->i32, 0), "");
    if (c.panel)
        c.panel = lanes_env(e, e->b, e->ptr, offsetof(CpuEnv, panel));
    c.packed = ir_at_inbounds(e->b, e->env, ir_int(e->i64, offsetof(CpuEnv, packed)));
    c.fresh = is_set(e, s->zero);
    c.times = LLVMBuildLoad2(e->b, e->i64, s->times, "");
    c.to = to;
    gemm_run(matrices_of(e)->gemm, e->b, &c);
    set(e, s->zero, false);
    set(e, s->waits, false);
    debug_back(e, here);
}

void mat_sums_wanted(Emit *e, MatSums *s)
{
    if (!s)
        return;
    if (s->call.table) {
        EmitIf waits = if_begin(e, is_set(e, s->waits));
        run_waiting(e, s, NULL);
        if_end(e, &waits);
    }
    EmitIf zero = if_begin(e, is_set(e, s->zero));
    LLVMBuildMemSet(e->b, s->homes, ir_int(e->i8, 0), ir_int(e->i64, s->n * s->bytes), 64);
    set(e, s->zero, false);
    if_end(e, &zero);
}

/* i1: another iteration joins the call that waits. */
static LV joins(Emit *e, MatSums *s)
{
    uint32_t most = gemm_most_times(matrices_of(e)->gemm, &s->call.shape);
    GemmCall c = s->call;
    if (most == 1)
        return ir_int(e->i1, 0);
    c.times = LLVMBuildLoad2(e->b, e->i64, s->times, "");
    LV room = LLVMBuildICmp(e->b, LLVMIntULT, c.times, ir_int(e->i64, most), "");
    LV next = gemm_follows(matrices_of(e)->gemm, e->b, &c);
    LV yes = LLVMBuildAnd(e->b, is_set(e, s->waits), LLVMBuildAnd(e->b, room, next, ""), "");
    EmitIf f = if_begin(e, yes);
    LLVMBuildStore(e->b, LLVMBuildAdd(e->b, c.times, ir_int(e->i64, 1), ""), s->times);
    if_end(e, &f);
    return yes;
}

static void begin_call(Emit *e, MatSums *s)
{
    EmitIf waits = if_begin(e, is_set(e, s->waits));
    run_waiting(e, s, NULL);
    if_end(e, &waits);
    gemm_fill(matrices_of(e)->gemm, e->b, &s->call);
    LLVMBuildStore(e->b, ir_int(e->i64, 1), s->times);
    set(e, s->waits, true);
}

void mat_sums_put_off(Emit *e, MatSums *s, const GemmCall *call)
{
    uint32_t entries = gemm_table_entries(&call->shape);
    s->call = *call;
    s->place = debug_here(e);
    s->call.table = emit_alloca(e, LLVMArrayType2(e->i64, entries), "waiting");
    s->to = emit_alloca(e, LLVMArrayType2(e->i64, 2ull * s->n), "sums");
    s->times = emit_alloca(e, e->i64, "times");
    lanes_of(e)->kernel->puts_off = true;
    EmitIf other = if_begin(e, LLVMBuildNot(e->b, joins(e, s), ""));
    begin_call(e, s);
    if_end(e, &other);
    LV unwritten = lanes_env(e, e->b, e->i32, offsetof(CpuEnv, unwritten));
    EmitIf at_once = if_begin(e, LLVMBuildICmp(e->b, LLVMIntEQ, unwritten, ir_int(e->i32, 0), ""));
    run_waiting(e, s, NULL);
    if_end(e, &at_once);
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* Where the sums are stored, in the order of the grid's cells. NULL: not each of them is. */
static GemmView *targets_of(Emit *e, const MatSums *s, const MatStored *stored, uint32_t n)
{
    GemmView *to = NEW_ARRAY(e->arena, GemmView, s->n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < s->n; k++)
            if (s->call.c[k].ptr == stored[i].from.ptr)
                to[k] = (GemmView){ stored[i].to.ptr, stored[i].to.stride, NULL };
    for (uint32_t k = 0; k < s->n; k++)
        if (!to[k].ptr)
            return NULL;
    return to;
}

static void require(Emit *e, LV *all, LLVMIntPredicate p, LV x, LV y)
{
    *all = LLVMBuildAnd(e->b, *all, LLVMBuildICmp(e->b, p, x, y, ""), "");
}

/* i1: the tiles form one matrix, so that none overlaps another: whichever is written last, memory
 * is the same. */
static LV form_one(Emit *e, const MatSums *s, const GemmView *to)
{
    const GemmShape *g = &s->call.shape;
    uint32_t along = g->c_col ? g->rows : g->cols, lines = g->c_col ? g->N : g->M;
    uint64_t run = (uint64_t)(g->c_col ? g->M : g->N) * comp_bytes((IrComp)g->c);
    LV ok = ir_int(e->i1, 1), apart = LLVMBuildMul(e->b, to->stride, ir_int(e->i64, lines), "");
    require(e, &ok, LLVMIntSGE, to->stride, ir_int(e->i64, run * along));
    for (uint32_t k = 0; k < s->n; k++) {
        uint32_t i = k % along, line = k / along, next = g->c_col ? g->cols : 1;
        const GemmView *x = &to[g->c_col ? i * g->cols + line : k];
        require(e, &ok, LLVMIntEQ, x->stride, to->stride);
        if (i)
            require(e, &ok, LLVMIntEQ, x->ptr, ir_at(e->b, (x - next)->ptr, ir_int(e->i64, run)));
        else if (line)
            require(e, &ok, LLVMIntSGE,
                    LLVMBuildPtrDiff2(e->b, e->i8, x->ptr, (x - (g->c_col ? 1 : g->cols))->ptr, ""),
                    apart);
    }
    return ok;
}

LV mat_sums_store(Emit *e, const MatStored *stored, uint32_t n)
{
    MatSums *s = stored->sums;
    for (uint32_t i = 0; i < n; i++)
        if (stored[i].sums != s)
            s = NULL;
    GemmView *to = s && s->call.table && s->n == n ? targets_of(e, s, stored, n) : NULL;
    if (!to) {
        for (uint32_t i = 0; i < n; i++)
            if (!i || stored[i].sums != stored[i - 1].sums)
                mat_sums_wanted(e, stored[i].sums);
        return ir_int(e->i1, 0);
    }
    LV there = LLVMBuildAnd(e->b, is_set(e, s->waits), form_one(e, s, to), "");
    EmitIf f = if_begin(e, there);
    GemmCall c = s->call;
    c.to = s->to;
    gemm_fill_sums(matrices_of(e)->gemm, e->b, &c, to);
    run_waiting(e, s, s->to);
    if_end(e, &f);
    EmitIf g = if_begin(e, LLVMBuildNot(e->b, there, ""));
    mat_sums_wanted(e, s);
    if_end(e, &g);
    return there;
}
