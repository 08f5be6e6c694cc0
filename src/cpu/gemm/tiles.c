/* SPDX-License-Identifier: MIT
 *
 * The kernel of tile registers (AMX): 2 x 2 tiles of C in registers, 16 x 16 elements each, A's
 * tiles read in place where their k is whole, B's from the panel. Who calls it has configured the
 * tiles (CpuKernel.tiles).
 */
#include "cpu/gemm/gemm_internal.h"

enum { TILE_C = 0, TILE_A = 4, TILE_B = 6 }; /* C: 2 x 2, A: 2, B: 2 of the eight */

static void tile_op(GemmGen *g, const char *name, uint32_t t0, uint32_t t1, uint32_t t2)
{
    LLVMValueRef args[] = { LLVMConstInt(g->i8, t0, false), LLVMConstInt(g->i8, t1, false),
                            LLVMConstInt(g->i8, t2, false) };
    ir_intrinsic(g->b, name, NULL, 0, args, 3);
}

static void tile_move(GemmGen *g, const char *name, uint32_t tile, LLVMValueRef p,
                      LLVMValueRef stride)
{
    LLVMValueRef args[] = { LLVMConstInt(g->i8, tile, false), p, stride };
    ir_intrinsic(g->b, name, NULL, 0, args, 3);
}

/* i1: A is read where it lies: its steps follow one another, and so do the tiles whose rows a
 * register has. */
static LLVMValueRef reads_in_place(GemmGen *g)
{
    const GemmShape *s = &g->p->s;
    LLVMValueRef ok = g->contiguous;
    if (g->p->operand_a != (IrComp)s->a)
        return LLVMConstInt(g->i1, 0, false);
    for (uint32_t r = 1; r < s->rows && s->M < 16; r++) {
        GemmView above = gemm_a_tile(g, k64(g, r - 1), k64(g, 0));
        GemmView t = gemm_a_tile(g, k64(g, r), k64(g, 0));
        if (r * s->M % 16 == 0)
            continue;
        LLVMValueRef next = at(g, above.ptr, mul(g, above.stride, k64(g, s->M)));
        LLVMValueRef follows = LLVMBuildICmp(g->b, LLVMIntEQ, t.ptr, next, "");
        LLVMValueRef alike = LLVMBuildICmp(g->b, LLVMIntEQ, t.stride, above.stride, "");
        ok = LLVMBuildAnd(g->b, ok, LLVMBuildAnd(g->b, follows, alike, ""), "");
    }
    return ok;
}

/* Sixteen rows of the grid, counted through: the row of the grid where they begin, and the row of
 * its tiles. */
static LLVMValueRef grid_row(GemmGen *g, LLVMValueRef q, LLVMValueRef *row)
{
    LLVMValueRef first = mul(g, q, k64(g, 16)), M = k64(g, g->p->s.M);
    *row = LLVMBuildURem(g->b, first, M, "");
    return LLVMBuildUDiv(g->b, first, M, "");
}

/* The address of their A at byte `k`, and its stride. */
static GemmView tile_a(GemmGen *g, LLVMValueRef q, LLVMValueRef k)
{
    const GemmPlan *p = g->p;
    uint64_t step_bytes = (uint64_t)p->units * p->unit, all = step_bytes * p->s.steps * p->times;
    LLVMValueRef zero = k64(g, 0), row, tile = grid_row(g, q, &row);
    GemmView v;
    if (!p->pack_a) {
        LLVMValueRef step = LLVMBuildUDiv(g->b, k, k64(g, step_bytes), "");
        v = gemm_a_tile(g, tile, step);
        k = LLVMBuildURem(g->b, k, k64(g, step_bytes), "");
        v.ptr = at(g, v.ptr, mul(g, row, v.stride));
    } else {
        v = gemm_a_tile(g, tile, zero);
        LLVMValueRef packed = at(g, gemm_packed_a(g), mul(g, q, k64(g, 16 * all)));
        LLVMValueRef lies = at(g, v.ptr, mul(g, row, v.stride));
        v.ptr = LLVMBuildSelect(g->b, g->in_place, lies, packed, "");
        v.stride = LLVMBuildSelect(g->b, g->in_place, v.stride, k64(g, all), "");
    }
    v.ptr = at(g, v.ptr, k);
    return v;
}

static GemmView tile_c(GemmGen *g, GemmTilesOfC *tiles, LLVMValueRef q, uint32_t vector)
{
    const GemmPiece *pc = &g->p->pieces[vector * g->p->max_pieces];
    LLVMValueRef row, tile = grid_row(g, q, &row);
    GemmView v = tiles(g, tile, gemm_piece_tile(g, pc));
    v.ptr = at(g, at(g, v.ptr, mul(g, row, v.stride)),
               gemm_piece_column(g, pc, comp_bytes((IrComp)g->p->s.c)));
    return v;
}

/* ---- C of several tiles ---------------------------------------------------------------------- */

/* The elements of a register that are one tile's: where they lie; their rows and columns, and the
 * first one's offset in lines of 64 bytes. */
typedef struct Part {
    GemmView at;
    uint32_t rows, columns, row, offset;
} Part;

enum { MOST_PARTS = 16 * 16 };

static uint32_t parts_of(GemmGen *g, GemmTilesOfC *tiles, LLVMValueRef q, uint32_t vector,
                         Part *parts)
{
    const GemmPlan *p = g->p;
    uint32_t n = 0, rows = MIN(p->s.M, 16u);
    LLVMValueRef in_tile, first = grid_row(g, q, &in_tile);
    for (uint32_t row = 0; row < 16; row += rows)
        for (uint32_t i = 0; i < p->max_pieces; i++) {
            const GemmPiece *pc = &p->pieces[vector * p->max_pieces + i];
            GemmView t = tiles(g, add(g, first, k64(g, row / rows)), gemm_piece_tile(g, pc));
            t.ptr = at(g, at(g, t.ptr, mul(g, in_tile, t.stride)),
                       gemm_piece_column(g, pc, comp_bytes((IrComp)g->p->s.c)));
            parts[n++] = (Part){ t, rows, pc->width, row, row * 64 + pc->lane * 4u };
        }
    return n;
}

/* i1: they lie side by side, as wide as sums, so that a register can be loaded and stored there. */
static LLVMValueRef lie_together(GemmGen *g, const Part *parts, uint32_t n)
{
    bool narrow = comp_bytes((IrComp)g->p->s.c) < 4;
    LLVMValueRef ok = LLVMConstInt(g->i1, !narrow, false);
    for (uint32_t i = 1; i < n && !narrow; i++) {
        LLVMValueRef row = mul(g, parts->at.stride, k64(g, parts[i].row));
        LLVMValueRef next = at(g, at(g, parts->at.ptr, row), k64(g, parts[i].offset % 64));
        LLVMValueRef is = LLVMBuildICmp(g->b, LLVMIntEQ, parts[i].at.ptr, next, "");
        LLVMValueRef stride = parts->at.stride;
        LLVMValueRef alike = LLVMBuildICmp(g->b, LLVMIntEQ, parts[i].at.stride, stride, "");
        ok = LLVMBuildAnd(g->b, ok, LLVMBuildAnd(g->b, is, alike, ""), "");
    }
    return ok;
}

/* Copies a register's elements between its tiles and lines of 64 bytes, as sums. */
static void copy_parts(GemmGen *g, const Part *parts, uint32_t n, LLVMValueRef lines, bool gather)
{
    LLVMValueRef none = NULL;
    IrComp c = (IrComp)g->p->s.c, sums = g->p->compute;
    GemmLoop l = gemm_loop_begin(g, &none, 0);
    for (uint32_t i = 0; i < n; i++) {
        LLVMTypeRef type = LLVMVectorType(comp_type(g->cx, gather ? c : sums), parts[i].columns);
        LLVMValueRef tile = at(g, parts[i].at.ptr, mul(g, l.i, parts[i].at.stride));
        LLVMValueRef line = at(g, at(g, lines, mul(g, l.i, k64(g, 64))), k64(g, parts[i].offset));
        LLVMValueRef x = ir_load(g->b, type, gather ? tile : line, comp_bytes(gather ? c : sums));
        x = arith_convert(g->b, x, gather ? c : sums, gather ? sums : c, ROUND_NEAREST, false);
        ir_store(g->b, x, gather ? line : tile, comp_bytes(gather ? sums : c));
    }
    gemm_loop_end(g, &l, 1, k64(g, parts->rows), NULL);
}

/* The i-th of a block's registers is loaded from, or stored to, its tiles. */
static void move_c(GemmGen *g, GemmTilesOfC *tiles, LLVMValueRef q, uint32_t vector, uint32_t i,
                   bool load)
{
    const char *name = load ? "llvm.x86.tileloadd64" : "llvm.x86.tilestored64";
    GemmView c = tile_c(g, tiles, q, vector);
    if (!gemm_gathers(g->p)) {
        tile_move(g, name, TILE_C + i, c.ptr, c.stride);
        return;
    }
    Part parts[MOST_PARTS];
    uint32_t n = parts_of(g, tiles, q, vector, parts);
    LLVMValueRef together = lie_together(g, parts, n), bytes = k64(g, 64);
    LLVMValueRef lines = at(g, g->scratch, k64(g, gemm_gathered_offset(g->p) + 1024 * i));
    LLVMBasicBlockRef apart = LLVMAppendBasicBlockInContext(g->cx, g->fn, "apart");
    LLVMBasicBlockRef whole = LLVMAppendBasicBlockInContext(g->cx, g->fn, "together");
    LLVMBasicBlockRef go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "moved");
    LLVMBuildCondBr(g->b, together, whole, apart);
    LLVMPositionBuilderAtEnd(g->b, apart);
    if (load)
        copy_parts(g, parts, n, lines, true);
    tile_move(g, name, TILE_C + i, lines, bytes);
    if (!load)
        copy_parts(g, parts, n, lines, false);
    LLVMBuildBr(g->b, go);
    LLVMPositionBuilderAtEnd(g->b, whole);
    tile_move(g, name, TILE_C + i, c.ptr, c.stride);
    LLVMBuildBr(g->b, go);
    LLVMPositionBuilderAtEnd(g->b, go);
}

/* ---- products -------------------------------------------------------------------------------- */

/* A later call's lines, some of them with each 64 bytes of k. */
static void prefetch_in_tiles(GemmGen *g, LLVMValueRef q, uint32_t v, LLVMValueRef k)
{
    const GemmPlan *p = g->p;
    uint64_t bytes = (uint64_t)p->units * p->unit * p->s.steps;
    uint32_t across = (p->n_vectors + 1) / 2, down = ((uint32_t)p->s.rows * p->s.M / 16 + 1) / 2;
    uint32_t in_block = (uint32_t)(bytes / 64);
    LLVMValueRef column = k64(g, v / 2), row = LLVMBuildUDiv(g->b, q, k64(g, 2), "");
    if (g->more_vectors)
        column = add(g, column, LLVMBuildUDiv(g->b, g->more_vectors, k64(g, 2), ""));
    LLVMValueRef number = add(g, mul(g, column, k64(g, down)), row);
    LLVMValueRef step = LLVMBuildUDiv(g->b, k, k64(g, 64), "");
    gemm_prefetch_some(g, add(g, mul(g, number, k64(g, in_block)), step), across * down * in_block);
}

/* nr x nc tiles of C from the q-th row of tiles and vector v on, into registers; they may count as
 * zeros. */
static void load_sums(GemmGen *g, LLVMValueRef q, uint32_t nr, uint32_t v, uint32_t nc)
{
    LLVMBasicBlockRef go = NULL;
    if (g->p->s.moves) {
        LLVMBasicBlockRef zero = LLVMAppendBasicBlockInContext(g->cx, g->fn, "zero_c");
        LLVMBasicBlockRef load = LLVMAppendBasicBlockInContext(g->cx, g->fn, "load_c");
        go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "have_c");
        LLVMBuildCondBr(g->b, g->fresh, zero, load);
        LLVMPositionBuilderAtEnd(g->b, zero);
        for (uint32_t i = 0; i < nr * nc; i++) {
            LLVMValueRef tile = LLVMConstInt(g->i8, TILE_C + i, false);
            ir_intrinsic(g->b, "llvm.x86.tilezero", NULL, 0, &tile, 1);
        }
        LLVMBuildBr(g->b, go);
        LLVMPositionBuilderAtEnd(g->b, load);
    }
    for (uint32_t i = 0; i < nr * nc; i++)
        move_c(g, gemm_c_tile, add(g, q, k64(g, i / nc)), v + i % nc, i, true);
    if (go) {
        LLVMBuildBr(g->b, go);
        LLVMPositionBuilderAtEnd(g->b, go);
    }
}

/* A's tile of a row, B's of a vector, at byte `k`: the upper limbs or the lower ones. */
static void load_operand(GemmGen *g, LLVMValueRef q, LLVMValueRef k, uint32_t r, uint32_t limb)
{
    GemmView a = tile_a(g, add(g, q, k64(g, r)), k);
    a.ptr = at(g, a.ptr, k64(g, limb * gemm_limb_of_a(g->p)));
    tile_move(g, "llvm.x86.tileloadd64", TILE_A + r, a.ptr, a.stride);
}

/* 64 bytes of k are 16 units, that is 16 rows of the panel: one run of memory. */
static void load_panel(GemmGen *g, uint32_t v, LLVMValueRef k, uint32_t c, uint32_t limb)
{
    LLVMValueRef unit = LLVMBuildUDiv(g->b, k, k64(g, g->p->unit), "");
    LLVMValueRef row = mul(g, unit, k64(g, gemm_row_bytes(g->p)));
    LLVMValueRef b = at(g, at(g, gemm_panel(g), row), gemm_vector_offset(g, v + c));
    b = at(g, b, k64(g, limb * gemm_limb_of_b(g->p)));
    tile_move(g, "llvm.x86.tileloadd64", TILE_B + c, b, k64(g, gemm_row_bytes(g->p)));
}

/* The products of 64 bytes of k. Of limbs each with each, in an order in which the next ones share
 * an operand, the smallest first. Those of two lower limbs are at most 2^-16 of the whole, which a
 * C of f16, of 11 bits, does without. */
static void products(GemmGen *g, LLVMValueRef q, uint32_t nr, uint32_t v, uint32_t nc,
                     LLVMValueRef k)
{
    static const struct {
        uint8_t a, b;
    } order[] = { { 1, 1 }, { 1, 0 }, { 0, 0 }, { 0, 1 } };
    const char *product = g->p->engine->tile_product(g->p);
    bool limbs = gemm_limbs(g->p) > 1;
    uint32_t first = !limbs ? 2 : g->p->s.c == COMP_F16 ? 1 : 0, last = limbs ? 3 : 2;
    for (uint32_t n = first; n <= last; n++)
        for (uint32_t i = 0; i < nr * nc; i++) {
            uint32_t r = i / nc, c = i % nc;
            if (!c && (n == first || order[n].a != order[n - 1].a))
                load_operand(g, q, k, r, order[n].a);
            if (!r && (n == first || order[n].b != order[n - 1].b))
                load_panel(g, v, k, c, order[n].b);
            tile_op(g, product, TILE_C + i, TILE_A + r, TILE_B + c);
        }
}

/* The products of such tiles. */
static void tile_block(GemmGen *g, LLVMValueRef q, uint32_t nr, uint32_t v, uint32_t nc)
{
    const GemmPlan *p = g->p;
    LLVMValueRef none = NULL, bytes = mul(g, g->steps, k64(g, (uint64_t)p->units * p->unit));
    load_sums(g, q, nr, v, nc);
    GemmLoop k = gemm_loop_begin(g, &none, 0);
    prefetch_in_tiles(g, q, v, k.i);
    products(g, q, nr, v, nc, k.i);
    gemm_loop_end(g, &k, 64, bytes, NULL);
    for (uint32_t i = 0; i < nr * nc; i++)
        move_c(g, gemm_sums_tile, add(g, q, k64(g, i / nc)), v + i % nc, i, false);
}

/* So many rows of tiles, an even number, two at a time. */
static void pairs_down(GemmGen *g, LLVMValueRef rows, uint32_t v, uint32_t nc)
{
    LLVMValueRef none = NULL;
    GemmLoop l = gemm_loop_begin(g, &none, 0);
    tile_block(g, l.i, 2, v, nc);
    gemm_loop_end(g, &l, 2, rows, NULL);
}

/* The first rows that are wanted: two rows of tiles at a time, then one. */
static void some_down(GemmGen *g, uint32_t v, uint32_t nc)
{
    static const char *const names[] = { "pairs", "no_pairs", "one_row", "no_more_rows" };
    LLVMBasicBlockRef to[4];
    for (uint32_t i = 0; i < 4; i++)
        to[i] = LLVMAppendBasicBlockInContext(g->cx, g->fn, names[i]);
    LLVMValueRef rows = LLVMBuildLShr(g->b, add(g, g->lines, k64(g, 15)), k64(g, 4), "");
    LLVMValueRef even = LLVMBuildAnd(g->b, rows, k64(g, ~UINT64_C(1)), "");
    LLVMBuildCondBr(g->b, LLVMBuildIsNull(g->b, even, ""), to[1], to[0]);
    LLVMPositionBuilderAtEnd(g->b, to[0]);
    pairs_down(g, even, v, nc);
    LLVMBuildBr(g->b, to[1]);
    LLVMPositionBuilderAtEnd(g->b, to[1]);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, even, rows, ""), to[3], to[2]);
    LLVMPositionBuilderAtEnd(g->b, to[2]);
    tile_block(g, even, 1, v, nc);
    LLVMBuildBr(g->b, to[3]);
    LLVMPositionBuilderAtEnd(g->b, to[3]);
}

void gemm_tiles(GemmGen *g)
{
    const GemmPlan *p = g->p;
    uint32_t rows = (uint32_t)p->s.rows * p->s.M / 16;
    /* K of a tile is no whole 64 bytes, and steps lie apart; or A is converted */
    if (p->pack_a) {
        LLVMBasicBlockRef copy = LLVMAppendBasicBlockInContext(g->cx, g->fn, "pack_a");
        LLVMBasicBlockRef go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "tiles");
        g->in_place = reads_in_place(g);
        LLVMBuildCondBr(g->b, g->in_place, go, copy);
        LLVMPositionBuilderAtEnd(g->b, copy);
        gemm_pack_a(g);
        LLVMBuildBr(g->b, go);
        LLVMPositionBuilderAtEnd(g->b, go);
    }
    if (gemm_limbs(p) > 1)
        gemm_leave_specials(g);
    for (uint32_t v = 0; v < p->n_vectors;) {
        GemmRun run = gemm_run_begin(g, v, 2);
        uint32_t nc = run.n;
        if (p->s.some_rows && rows > 1) {
            some_down(g, v, nc);
        } else {
            if (rows > 1)
                pairs_down(g, k64(g, rows / 2 * 2), v, nc);
            if (rows % 2)
                tile_block(g, k64(g, rows - 1), 1, v, nc);
        }
        v = gemm_run_end(g, &run);
    }
}
