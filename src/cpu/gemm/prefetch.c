/* SPDX-License-Identifier: MIT
 *
 * Prefetches of a multiply-add kernel. Of this call's A, where the dispatch says that the data is
 * cold. Of a later call's A and B (wait queues), where the caller knows how far on they are: a list
 * of cache lines in scratch memory, made first, a few of them prefetched in each place that the
 * kernel comes to.
 */
#include "cpu/gemm/gemm_internal.h"

/* Levels of caches as in llvm.prefetch. */
enum { SECOND = 2, NEAREST = 3 };

/* ---- a later call's operands ----------------------------------------------------------------- */

/* What a later call reads of one operand, as cache lines: of `apart` times `beside` tiles, those
 * beside one another share lines or continue them, as far as one can know. */
typedef struct MatPrefetch {
    uint32_t beside, beside_by, apart, apart_by; /* tiles; from one to the next in the table */
    uint32_t lines, each;                        /* of a tile; cache lines of one */
} MatPrefetch;

static MatPrefetch lines_of(const GemmPlan *p, bool of_b)
{
    const GemmShape *s = &p->s;
    uint32_t line = p->tuning->line_bytes;
    bool col = of_b ? s->b_col : s->a_col;
    bool wanted = of_b ? s->prefetch_b && !s->b_near : s->prefetch_a && !s->a_near;
    uint32_t outer = of_b ? s->steps : s->rows, inner = of_b ? s->cols : s->steps;
    uint32_t rows = of_b ? s->K : s->M, cols = of_b ? s->N : s->K;
    uint32_t run = (col ? rows : cols) * comp_bytes((IrComp)(of_b ? s->b : s->a));
    MatPrefetch l = { .beside = inner,
                      .beside_by = 1,
                      .apart = outer,
                      .apart_by = inner,
                      .lines = wanted ? rows : 0,
                      .each = (run + line - 1) / line };
    if (col)
        l = (MatPrefetch){ outer, inner, inner, 1, wanted ? cols : 0, l.each };
    for (; run * 2 <= line && l.beside % 2 == 0; run *= 2) {
        l.beside /= 2;
        l.beside_by *= 2;
    }
    return l;
}

static uint32_t n_lines(const MatPrefetch *l) { return l->beside * l->apart * l->lines * l->each; }

uint32_t gemm_n_prefetches(const GemmPlan *p)
{
    MatPrefetch a = lines_of(p, false), b = lines_of(p, true);
    return n_lines(&a) + n_lines(&b);
}

static LLVMValueRef prefetch_list(GemmGen *g)
{
    return at(g, g->scratch, k64(g, gemm_list_offset(g->p)));
}

static void prefetch(GemmGen *g, LLVMValueRef p, uint32_t bytes, uint32_t level)
{
    LLVMValueRef zero = LLVMConstInt(g->i32, 0, false), near = LLVMConstInt(g->i32, level, false);
    for (uint32_t k = 0; k < bytes; k += g->p->tuning->line_bytes) {
        LLVMValueRef args[] = { at(g, p, k64(g, k)), zero, near, LLVMConstInt(g->i32, 1, false) };
        ir_intrinsic(g->b, "llvm.prefetch", &g->ptr, 1, args, 4);
    }
}

void gemm_prefetch(GemmGen *g, LLVMValueRef p) { prefetch(g, p, 1, NEAREST); }

/* The lines' addresses, `ahead` bytes on from the tiles of this call, from the list's entry `first`
 * on, in the order of memory. */
static void list_lines(GemmGen *g, bool of_b, LLVMValueRef ahead, uint32_t first)
{
    MatPrefetch x = lines_of(g->p, of_b);
    uint32_t n = x.beside * x.each, line = g->p->tuning->line_bytes;
    if (!x.lines)
        return;
    LLVMValueRef none = NULL;
    LLVMValueRef p = LLVMGetPoison(LLVMVectorType(g->i64, n)), stride = p;
    GemmLoop tiles = gemm_loop_begin(g, &none, 0);
    for (uint32_t i = 0; i < x.beside; i++) {
        LLVMValueRef entry = add(g, mul(g, tiles.i, k64(g, x.apart_by)), k64(g, i * x.beside_by));
        GemmView t = gemm_table_at(g, of_b ? PART_B : PART_A, entry);
        LLVMValueRef start = add(g, LLVMBuildPtrToInt(g->b, t.ptr, g->i64, ""), ahead);
        for (uint32_t k = 0; k < x.each; k++) {
            LLVMValueRef lane = LLVMConstInt(g->i32, i * x.each + k, false);
            p = LLVMBuildInsertElement(g->b, p, add(g, start, k64(g, k * line)), lane, "");
            stride = LLVMBuildInsertElement(g->b, stride, t.stride, lane, "");
        }
    }
    LLVMValueRef to = at(g, prefetch_list(g),
                         add(g, k64(g, 8ull * first), mul(g, tiles.i, k64(g, 8ull * n * x.lines))));
    GemmLoop lines = gemm_loop_begin(g, &p, 1);
    ir_store(g->b, lines.phi[0], at(g, to, mul(g, lines.i, k64(g, 8ull * n))), 8);
    p = add(g, lines.phi[0], stride);
    gemm_loop_end(g, &lines, 1, k64(g, x.lines), &p);
    gemm_loop_end(g, &tiles, 1, k64(g, x.apart), NULL);
}

/* B first: a call packs all of it before it looks at A. */
void gemm_list_prefetches(GemmGen *g)
{
    MatPrefetch of_b = lines_of(g->p, true);
    list_lines(g, true, g->ahead_b, 0);
    list_lines(g, false, g->ahead_a, n_lines(&of_b));
}

/* A burst would wait for itself. To the second cache: there is more room for requests on the
 * way. */
void gemm_prefetch_some(GemmGen *g, LLVMValueRef place, uint32_t of)
{
    uint32_t n = gemm_n_prefetches(g->p), each = n ? (n + of - 1) / of : 0;
    LLVMValueRef none = NULL;
    if (!each)
        return;
    GemmLoop l = gemm_loop_begin(g, &none, 0);
    LLVMValueRef j = add(g, mul(g, place, k64(g, each)), l.i);
    if (n != of * each) {
        j = mul(g, j, k64(g, ((uint64_t)n << 16) / (of * each)));
        j = LLVMBuildLShr(g->b, j, k64(g, 16), "");
    }
    prefetch(g, ir_load(g->b, g->ptr, at(g, prefetch_list(g), mul(g, j, k64(g, 8))), 8), 1, SECOND);
    gemm_loop_end(g, &l, 1, k64(g, each), NULL);
}

/* ---- this call's A --------------------------------------------------------------------------- */

/* A that is read in place by broadcasts comes a line at a time, and a miss stops the micro-kernel.
 * So each block prefetches the lines of the next one, and the first block's come before B is
 * packed. A burst of all of them would wait for itself. Only where the caller says that they are
 * cold. */
static bool prefetches_by_block(const GemmPlan *p)
{
    const GemmShape *s = &p->s;
    return p->engine->product && !p->pack_a && !s->a_near && !s->a_col && !s->prefetch_a;
}

/* Begins what is done where A is cold; the block behind. */
static LLVMBasicBlockRef when_cold(GemmGen *g)
{
    LLVMBasicBlockRef cold = LLVMAppendBasicBlockInContext(g->cx, g->fn, "cold");
    LLVMBasicBlockRef go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "warm");
    LLVMBuildCondBr(g->b, g->cold, cold, go);
    LLVMPositionBuilderAtEnd(g->b, cold);
    return go;
}

static void end_cold(GemmGen *g, LLVMBasicBlockRef go)
{
    LLVMBuildBr(g->b, go);
    LLVMPositionBuilderAtEnd(g->b, go);
}

void gemm_prefetch_rows(GemmGen *g, LLVMValueRef tile, LLVMValueRef row)
{
    const GemmShape *s = &g->p->s;
    LLVMValueRef none = NULL;
    if (!g->p->tuning->rows_ahead || !prefetches_by_block(g->p))
        return;
    LLVMBasicBlockRef go = when_cold(g);
    GemmLoop steps = gemm_loop_begin(g, &none, 0);
    GemmView t = gemm_a_tile(g, tile, steps.i);
    for (uint32_t r = 0; r < g->p->block_rows; r++)
        prefetch(g, at(g, t.ptr, mul(g, add(g, row, k64(g, r)), t.stride)),
                 s->K * comp_bytes((IrComp)s->a), NEAREST);
    gemm_loop_end(g, &steps, 1, g->steps, NULL);
    end_cold(g, go);
}

void gemm_prefetch_next_rows(GemmGen *g, LLVMValueRef tile, LLVMValueRef row)
{
    const GemmPlan *p = g->p;
    LLVMValueRef next = add(g, row, k64(g, p->block_rows)), last = k64(g, p->s.rows - 1u);
    LLVMValueRef inside = LLVMBuildICmp(g->b, LLVMIntULE, next, k64(g, p->s.M - p->block_rows), "");
    LLVMValueRef end = LLVMBuildICmp(g->b, LLVMIntEQ, tile, last, "");
    LLVMValueRef below = LLVMBuildSelect(g->b, end, tile, add(g, tile, k64(g, 1)), "");
    gemm_prefetch_rows(g, LLVMBuildSelect(g->b, inside, tile, below, ""),
                       LLVMBuildSelect(g->b, inside, next, k64(g, 0), ""));
}

/* Where blocks do not prefetch A by themselves, all its lines are prefetched before B is packed: it
 * costs 5 % of a kernel whose data is near, and gains 5 to 10 % of one that streams. */
void gemm_prefetch_a(GemmGen *g)
{
    const GemmShape *s = &g->p->s;
    uint32_t bytes = comp_bytes((IrComp)s->a), lines = s->a_col ? s->K : s->M;
    uint32_t run = (s->a_col ? s->M : s->K) * bytes;
    LLVMValueRef none = NULL;
    if (g->p->pack_a || s->a_near || s->prefetch_a || prefetches_by_block(g->p))
        return;
    LLVMBasicBlockRef go = when_cold(g);
    GemmLoop rows = gemm_loop_begin(g, &none, 0);
    GemmLoop steps = gemm_loop_begin(g, &none, 0);
    GemmView t = gemm_a_tile(g, rows.i, steps.i);
    GemmLoop l = gemm_loop_begin(g, &none, 0);
    prefetch(g, at(g, t.ptr, mul(g, l.i, t.stride)), run, NEAREST);
    gemm_loop_end(g, &l, 1, k64(g, lines), NULL);
    gemm_loop_end(g, &steps, 1, g->steps, NULL);
    gemm_loop_end(g, &rows, 1, k64(g, s->rows), NULL);
    end_cold(g, go);
}
