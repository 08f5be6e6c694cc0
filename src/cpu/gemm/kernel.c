/* SPDX-License-Identifier: MIT
 *
 * The micro-kernel of vectors: up to 4 x 4 vectors of C in registers, one broadcast of A a row and
 * unit of k; it never leaves a value in memory between k.
 */
#include "cpu/gemm/gemm_internal.h"

typedef struct RegisterBlock {
    LLVMValueRef tile, row;              /* grid row; first row within the tile */
    LLVMValueRef number;                 /* of this block in the call */
    uint32_t rows, first, n;             /* rows; vectors [first, first + n) */
    LLVMValueRef unbias[MOST_REGISTERS]; /* by row, where B is biased: i32 that undoes it */
} RegisterBlock;

static LLVMValueRef c_address(GemmGen *g, GemmTilesOfC *tiles, const RegisterBlock *k, uint32_t r,
                              const GemmPiece *pc)
{
    GemmView t = tiles(g, k->tile, gemm_piece_tile(g, pc));
    LLVMValueRef row = mul(g, add(g, k->row, k64(g, r)), t.stride);
    return at(g, at(g, t.ptr, row), gemm_piece_column(g, pc, comp_bytes((IrComp)g->p->s.c)));
}

/* C in the type of the sums. */
static LLVMValueRef load_c(GemmGen *g, const RegisterBlock *k, uint32_t r, uint32_t v)
{
    const GemmPlan *p = g->p;
    IrComp c = (IrComp)p->s.c;
    LLVMValueRef out = LLVMConstNull(LLVMVectorType(comp_type(g->cx, c), p->lanes));
    for (uint32_t i = 0; i < p->max_pieces; i++) {
        const GemmPiece *pc = &p->pieces[(k->first + v) * p->max_pieces + i];
        if (!pc->width)
            continue;
        LLVMTypeRef type = LLVMVectorType(comp_type(g->cx, c), pc->width);
        LLVMValueRef from = c_address(g, gemm_c_tile, k, r, pc);
        LLVMValueRef part = ir_load(g->b, type, from, comp_bytes(c));
        out = gemm_place(g, out, part, pc);
    }
    return arith_convert(g->b, out, c, p->compute, ROUND_NEAREST, false);
}

static void store_c(GemmGen *g, const RegisterBlock *k, uint32_t r, uint32_t v, LLVMValueRef x)
{
    const GemmPlan *p = g->p;
    IrComp c = (IrComp)p->s.c;
    x = arith_convert(g->b, x, p->compute, c, ROUND_NEAREST, false);
    for (uint32_t i = 0; i < p->max_pieces; i++) {
        const GemmPiece *pc = &p->pieces[(k->first + v) * p->max_pieces + i];
        if (pc->width)
            ir_store(g->b, gemm_extract(g, x, pc), c_address(g, gemm_sums_tile, k, r, pc),
                     comp_bytes(c));
    }
}

/* Products wait for C, so the next block's is asked for while this one's are formed: of f32 at 512
 * 4 % of the samples were there. Behind a tile's last block the lines may be anyone's. */
static void prefetch_c_below(GemmGen *g, const RegisterBlock *k)
{
    RegisterBlock below = *k;
    below.row = add(g, k->row, k64(g, k->rows));
    for (uint32_t i = 0; i < k->rows * k->n; i++) {
        const GemmPiece *first = &g->p->pieces[(k->first + i % k->n) * g->p->max_pieces];
        gemm_prefetch(g, c_address(g, gemm_c_tile, &below, i / k->n, first));
    }
}

/* C, which may count as zeros. */
static void load_sums(GemmGen *g, const RegisterBlock *k, LLVMValueRef *acc)
{
    LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(g->b) }, go = NULL;
    LLVMValueRef zero = LLVMConstNull(g->sums);
    uint32_t n = k->rows * k->n;
    if (g->p->s.moves) {
        LLVMBasicBlockRef load = LLVMAppendBasicBlockInContext(g->cx, g->fn, "load_c");
        go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "have_c");
        LLVMBuildCondBr(g->b, g->fresh, go, load);
        LLVMPositionBuilderAtEnd(g->b, load);
    }
    for (uint32_t i = 0; i < n; i++)
        acc[i] = load_c(g, k, i / k->n, i % k->n);
    prefetch_c_below(g, k);
    if (!go)
        return;
    from[1] = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, go);
    LLVMPositionBuilderAtEnd(g->b, go);
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef either[2] = { zero, acc[i] };
        acc[i] = LLVMBuildPhi(g->b, g->sums, "");
        LLVMAddIncoming(acc[i], either, from, 2);
    }
}

/* What the sums start from: C, or nothing when the saturating addition comes last. */
static void first_sums(GemmGen *g, const RegisterBlock *k, LLVMValueRef *acc)
{
    const GemmPlan *p = g->p;
    uint32_t n = k->rows * k->n;
    for (uint32_t i = 0; i < n; i++)
        acc[i] = LLVMConstNull(g->sums);
    if (!p->s.saturate)
        load_sums(g, k, acc);
    for (uint32_t i = 0; p->flip_a && i < n; i++) {
        LLVMValueRef sums = gemm_sums_of_vector(g, k->first + i % k->n);
        acc[i] = LLVMBuildAdd(g->b, acc[i], ir_load(g->b, g->sums, sums, 4), "");
    }
}

static void last_sum(GemmGen *g, const RegisterBlock *k, uint32_t r, uint32_t v, LLVMValueRef x)
{
    if (g->p->flip_b)
        x = add(g, x, ir_splat(g->b, k->unbias[r], g->p->lanes));
    if (g->p->s.saturate)
        x = arith_add_saturating(g->b, x, load_c(g, k, r, v), comp_is_signed((IrComp)g->p->s.c),
                                 g->p->s.c_other_sign);
    store_c(g, k, r, v, x);
}

/* Where a block's row and unit of A and the panel's rows are found. */
typedef struct Operands {
    /* by row: address of unit 0; bytes from unit to unit; by vector: the same */
    LLVMValueRef a[MOST_REGISTERS], a_unit, b[MOST_VECTORS], b_unit;
} Operands;

static void operand_a(GemmGen *g, const RegisterBlock *k, LLVMValueRef step, Operands *o)
{
    const GemmPlan *p = g->p;
    const GemmShape *s = &p->s;
    LLVMValueRef row = k->row, base, a_row;
    if (p->pack_a) {
        uint64_t all_rows = (uint64_t)s->rows * s->M;
        uint64_t all_units = (uint64_t)s->steps * p->times * p->units;
        a_row = k64(g, s->a_col ? p->unit : all_units * p->unit);
        o->a_unit = k64(g, s->a_col ? all_rows * p->unit : p->unit);
        base = at(g, gemm_packed_a(g), mul(g, mul(g, step, k64(g, p->units)), o->a_unit));
        row = add(g, row, mul(g, k->tile, k64(g, s->M)));
    } else {
        GemmView t = gemm_a_tile(g, k->tile, step);
        base = t.ptr;
        a_row = s->a_col ? k64(g, comp_bytes((IrComp)s->a)) : t.stride;
        o->a_unit = s->a_col ? t.stride : k64(g, p->unit);
    }
    base = at(g, base, mul(g, row, a_row));
    for (uint32_t r = 0; r < k->rows; r++) {
        LLVMValueRef first = at(g, base, mul(g, k64(g, r), a_row));
        /* LLVM would compute the rows' addresses from one another in every iteration. */
        o->a[r] = LLVMIsConstant(a_row) ? first : gemm_opaque(g, first, "=r,0");
    }
}

static void operand_b(GemmGen *g, const RegisterBlock *k, LLVMValueRef step, Operands *o)
{
    const GemmPlan *p = g->p;
    for (uint32_t v = 0; v < k->n; v++) {
        if (p->pack_b) {
            LLVMValueRef to = mul(g, step, k64(g, p->units * gemm_row_bytes(p)));
            o->b[v] = at(g, at(g, gemm_panel(g), to), gemm_vector_offset(g, k->first + v));
            o->b_unit = k64(g, gemm_row_bytes(p));
        } else {
            const GemmPiece *pc = &p->pieces[(k->first + v) * p->max_pieces];
            GemmView t = gemm_b_tile(g, step, gemm_piece_tile(g, pc));
            o->b[v] = at(g, t.ptr, gemm_piece_column(g, pc, p->unit));
            o->b_unit = t.stride;
        }
    }
}

static uint32_t blocks_down(const GemmPlan *p)
{
    return (p->s.M + p->block_rows - 1) / p->block_rows * p->s.rows;
}
static uint32_t blocks_across(const GemmPlan *p)
{
    return (p->n_vectors + p->block_vectors - 1) / p->block_vectors;
}
static uint32_t n_blocks(const GemmPlan *p) { return blocks_down(p) * blocks_across(p); }

/* Units of a block from one place where it prefetches lines to the next; they divide a tile's. */
static uint32_t units_between(const GemmPlan *p)
{
    uint32_t n = gemm_n_prefetches(p), all = n_blocks(p) * p->units * p->s.steps, between = 1;
    while (n && p->units % (between * 2) == 0 && all / (between * 2) >= n)
        between *= 2;
    return between;
}

static void prefetch_in_block(GemmGen *g, const RegisterBlock *k, LLVMValueRef step,
                              LLVMValueRef place)
{
    uint32_t in_tile = g->p->units / units_between(g->p), in_block = in_tile * g->p->s.steps;
    LLVMValueRef here = add(g, mul(g, step, k64(g, in_tile)), place);
    gemm_prefetch_some(g, add(g, mul(g, k->number, k64(g, in_block)), here),
                       n_blocks(g->p) * in_block);
}

/* Two rows of sums become the first two columns of both, and the last two; and back. */
static void regroup(GemmGen *g, const RegisterBlock *k, LLVMValueRef *acc)
{
    int first[] = { 0, 1, 4, 5 }, last[] = { 2, 3, 6, 7 };
    for (uint32_t r = 0; r < k->rows; r += 2)
        for (uint32_t v = 0; v < k->n; v++) {
            LLVMValueRef *x = &acc[r * k->n + v], *y = x + k->n, upper = *x;
            *x = ir_shuffle(g->b, upper, *y, first, 4);
            *y = ir_shuffle(g->b, upper, *y, last, 4);
        }
}

/* The same by pairs: units of two rows of A, side by side, times those of two columns of B. */
static void pairs_unit(GemmGen *g, const RegisterBlock *k, const Operands *o, LLVMValueRef unit,
                       LLVMValueRef *acc)
{
    const GemmPlan *p = g->p;
    LLVMValueRef a_offset = mul(g, unit, o->a_unit), b_offset = mul(g, unit, o->b_unit);
    LLVMTypeRef two = LLVMVectorType(g->lane, 2);
    LLVMValueRef b[2][MOST_VECTORS];
    uint32_t a_align = p->pack_a ? p->unit : comp_bytes((IrComp)p->s.a);
    for (uint32_t v = 0; v < 2 * k->n; v++) {
        LLVMValueRef from = at(g, at(g, o->b[v / 2], b_offset), k64(g, v % 2 * 2 * p->unit));
        b[v % 2][v / 2] = ir_load(g->b, two, from, p->unit);
    }
    for (uint32_t r = 0; r < k->rows; r += 2) {
        LLVMValueRef a = LLVMGetPoison(two);
        for (uint32_t i = 0; i < 2; i++) {
            LLVMValueRef x = ir_load(g->b, g->lane, at(g, o->a[r + i], a_offset), a_align);
            a = LLVMBuildInsertElement(g->b, a, x, LLVMConstInt(g->i32, i, false), "");
        }
        for (uint32_t i = 0; i < 2 * k->n; i++)
            acc[r * k->n + i] = p->engine->product(g, acc[r * k->n + i], a, b[i / k->n][i % k->n]);
    }
}

/* One unit of k: acc += a column of A times a row of B. */
static void block_unit(GemmGen *g, const RegisterBlock *k, const Operands *o, LLVMValueRef unit,
                       LLVMValueRef *acc)
{
    const GemmPlan *p = g->p;
    if (p->engine->pairs) {
        pairs_unit(g, k, o, unit, acc);
        return;
    }
    LLVMValueRef a_offset = mul(g, unit, o->a_unit), b_offset = mul(g, unit, o->b_unit);
    LLVMValueRef b[MOST_VECTORS];
    uint32_t a_align = p->pack_a ? p->unit : comp_bytes((IrComp)p->s.a);
    for (uint32_t v = 0; v < k->n; v++)
        b[v] = ir_load(g->b, g->vector, at(g, o->b[v], b_offset), p->unit);
    for (uint32_t r = 0; r < k->rows; r++) {
        LLVMValueRef x = ir_load(g->b, g->lane, at(g, o->a[r], a_offset), a_align);
        x = ir_splat(g->b, x, p->lanes);
        for (uint32_t v = 0; v < k->n; v++)
            acc[r * k->n + v] = p->engine->product(g, acc[r * k->n + v], x, b[v]);
    }
}

/* Nothing that reads memory moves across: LLVM would move the broadcasts of several k together and
 * spill them. Nor are sums of integers reordered: LLVM would add up several k's products as a tree,
 * and spill what waits for it (by AVX2 at 1024 s8 0.82 to 0.84 of oneDNN, u8 x s8 0.62 to 0.70). */
static void keep_apart(GemmGen *g, LLVMValueRef *acc, uint32_t n)
{
    static const IrAsm nothing = { "", "~{memory}", true };
    ir_asm(g->b, &nothing, LLVMVoidTypeInContext(g->cx), NULL, 0);
    for (uint32_t i = 0; gemm_adds_apart(g->p) && i < n; i++)
        acc[i] = gemm_opaque_vector(g, acc[i]);
}

/* Units of k an iteration; one of short kernels, whose compile time more are not worth. */
static uint32_t units_at_once(const GemmPlan *p)
{
    uint32_t run = gemm_n_prefetches(p) ? units_between(p) : p->units;
    uint32_t at_once = p->tuning->units_at_once;
    return p->units * p->s.steps <= p->tuning->short_units || run % at_once ? 1 : at_once;
}

/* Loops over the units of a row of A. When the steps lie one behind the other, one pass over all
 * their units saves the outer loop's cost. */
static void runs_of_units(GemmGen *g, LLVMValueRef *n_steps, LLVMValueRef *n_units)
{
    LLVMValueRef units = k64(g, g->p->units);
    *n_units = LLVMBuildSelect(g->b, g->contiguous, mul(g, g->steps, units), units, "");
    *n_steps = LLVMBuildSelect(g->b, g->contiguous, k64(g, 1), g->steps, "");
}

/* So many units of a row of A, zeros behind `n`. */
static LLVMValueRef load_row(GemmGen *g, LLVMValueRef from, LLVMValueRef n)
{
    LLVMValueRef lane[MOST_LANES], wanted = ir_splat(g->b, n, g->p->lanes);
    for (uint32_t i = 0; i < g->p->lanes; i++)
        lane[i] = k64(g, i);
    LLVMValueRef lanes = LLVMConstVector(lane, g->p->lanes);
    LLVMValueRef args[] = { from, LLVMBuildICmp(g->b, LLVMIntULT, lanes, wanted, ""),
                            LLVMConstNull(g->vector) };
    return ir_masked(g->b, "llvm.masked.load", args, 0, comp_bytes((IrComp)g->p->s.a));
}

/* What undoes B's bias: 128 times the sum of each row of A. */
static void sum_rows(GemmGen *g, RegisterBlock *k)
{
    const GemmPlan *p = g->p;
    LLVMValueRef acc[MOST_REGISTERS], n_steps, n_units, ones = ir_int(g->vector, 0x01010101);
    runs_of_units(g, &n_steps, &n_units);
    for (uint32_t r = 0; r < k->rows; r++)
        acc[r] = LLVMConstNull(g->sums);
    GemmLoop steps = gemm_loop_begin(g, acc, k->rows);
    Operands o = { .a_unit = NULL };
    operand_a(g, k, steps.i, &o);
    GemmLoop units = gemm_loop_begin(g, steps.phi, k->rows);
    LLVMValueRef left = LLVMBuildSub(g->b, n_units, units.i, "");
    for (uint32_t r = 0; r < k->rows; r++) {
        LLVMValueRef x = load_row(g, at(g, o.a[r], mul(g, units.i, o.a_unit)), left);
        acc[r] = p->engine->product(g, units.phi[r], x, ones);
    }
    gemm_loop_end(g, &units, p->lanes, n_units, acc);
    gemm_loop_end(g, &steps, 1, n_steps, acc);
    for (uint32_t r = 0; r < k->rows; r++) {
        LLVMValueRef sum = ir_intrinsic(g->b, "llvm.vector.reduce.add", &g->sums, 1, &acc[r], 1);
        k->unbias[r] = gemm_unbias(g, sum, comp_is_signed((IrComp)p->s.a));
    }
}

static void block(GemmGen *g, const RegisterBlock *k)
{
    const GemmPlan *p = g->p;
    uint32_t n = k->rows * k->n, at_once = units_at_once(p);
    LLVMValueRef acc[MOST_REGISTERS];
    first_sums(g, k, acc);
    if (p->engine->pairs)
        regroup(g, k, acc);
    LLVMValueRef n_steps, n_units, n_places = k64(g, 1);
    runs_of_units(g, &n_steps, &n_units);
    if (gemm_n_prefetches(p)) {
        LLVMValueRef between = k64(g, units_between(p));
        n_places = LLVMBuildUDiv(g->b, n_units, between, "");
        n_units = between;
    }
    GemmLoop steps = gemm_loop_begin(g, acc, n);
    Operands o = { .a_unit = NULL };
    operand_a(g, k, steps.i, &o);
    operand_b(g, k, steps.i, &o);
    GemmLoop places = gemm_loop_begin(g, steps.phi, n);
    prefetch_in_block(g, k, steps.i, places.i);
    GemmLoop units = gemm_loop_begin(g, places.phi, n);
    memcpy(acc, units.phi, n * sizeof(acc[0]));
    LLVMValueRef unit = add(g, mul(g, places.i, n_units), units.i);
    for (uint32_t u = 0; u < at_once; u++) {
        if (u)
            keep_apart(g, acc, n);
        block_unit(g, k, &o, add(g, unit, k64(g, u)), acc);
    }
    gemm_loop_end(g, &units, at_once, n_units, acc);
    gemm_loop_end(g, &places, 1, n_places, acc);
    gemm_loop_end(g, &steps, 1, n_steps, acc);
    if (p->engine->pairs)
        regroup(g, k, acc);
    for (uint32_t i = 0; i < n; i++)
        last_sum(g, k, i / k->n, i % k->n, acc[i]);
}

/* i1: the step's i-th tile of one operand is followed by the next step's. */
static LLVMValueRef is_followed(GemmGen *g, bool of_b, LLVMValueRef step, uint32_t i)
{
    const GemmShape *s = &g->p->s;
    GemmView t = of_b ? gemm_b_tile(g, step, k64(g, i)) : gemm_a_tile(g, k64(g, i), step);
    bool by_stride = of_b ? !s->b_col : s->a_col;
    LLVMValueRef apart = by_stride
                             ? mul(g, t.stride, k64(g, s->K))
                             : k64(g, (uint64_t)s->K * comp_bytes((IrComp)(of_b ? s->b : s->a)));
    if (s->even)
        return LLVMBuildICmp(g->b, LLVMIntEQ, t.apart, apart, "");
    LLVMValueRef next = add(g, step, k64(g, 1));
    GemmView u = of_b ? gemm_b_tile(g, next, k64(g, i)) : gemm_a_tile(g, k64(g, i), next);
    LLVMValueRef same = LLVMBuildICmp(g->b, LLVMIntEQ, u.ptr, at(g, t.ptr, apart), "");
    LLVMValueRef pitch = LLVMBuildICmp(g->b, LLVMIntEQ, u.stride, t.stride, "");
    return LLVMBuildAnd(g->b, same, pitch, "");
}

LLVMValueRef gemm_a_follows(GemmGen *g)
{
    LLVMValueRef all = LLVMConstInt(g->i1, 1, false);
    for (uint32_t i = 0; i < g->p->s.rows; i++)
        all = LLVMBuildAnd(g->b, all, is_followed(g, false, k64(g, 0), i), "");
    return all;
}

LLVMValueRef gemm_steps_contiguous(GemmGen *g)
{
    const GemmPlan *p = g->p;
    const GemmShape *s = &p->s;
    bool in_place_a = !p->pack_a || (!p->engine->product && p->operand_a == (IrComp)s->a);
    if (s->steps == 1 || (!in_place_a && p->pack_b))
        return LLVMConstInt(g->i1, 1, false);
    LLVMValueRef all = LLVMConstInt(g->i1, 1, false);
    GemmLoop l = gemm_loop_begin(g, &all, 1);
    LLVMValueRef ok = l.phi[0];
    for (uint32_t i = 0; in_place_a && i < s->rows; i++)
        ok = LLVMBuildAnd(g->b, ok, is_followed(g, false, l.i, i), "");
    for (uint32_t i = 0; !p->pack_b && i < s->cols; i++)
        ok = LLVMBuildAnd(g->b, ok, is_followed(g, true, l.i, i), "");
    gemm_loop_end(g, &l, 1, k64(g, s->even ? 1 : s->steps - 1u), &ok);
    return ok;
}

typedef void ForBlock(GemmGen *g, RegisterBlock k);

static void one_block(GemmGen *g, RegisterBlock k) { block(g, &k); }

static void all_across(GemmGen *g, RegisterBlock k, ForBlock *then)
{
    uint32_t each = g->p->block_vectors;
    LLVMValueRef before = mul(g, k.number, k64(g, blocks_across(g->p)));
    for (k.first = 0; k.first < g->p->n_vectors;) {
        GemmRun run = gemm_run_begin(g, k.first, each);
        k.n = run.n;
        k.number = add(g, before, k64(g, k.first / each));
        if (run.looped)
            k.number = add(g, k.number, run.loop.i);
        then(g, k);
        k.first = gemm_run_end(g, &run);
    }
}

/* Rows that no whole block takes, if they are wanted. */
static void last_down(GemmGen *g, const RegisterBlock *k, uint32_t whole, ForBlock *then)
{
    LLVMBasicBlockRef some = NULL, go = NULL;
    if (g->p->s.some_rows) {
        some = LLVMAppendBasicBlockInContext(g->cx, g->fn, "last_rows");
        go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "no_more_rows");
        LLVMValueRef wanted = LLVMBuildICmp(g->b, LLVMIntUGT, g->lines, k64(g, whole), "");
        LLVMBuildCondBr(g->b, wanted, some, go);
        LLVMPositionBuilderAtEnd(g->b, some);
    }
    then(g, *k);
    if (!go)
        return;
    LLVMBuildBr(g->b, go);
    LLVMPositionBuilderAtEnd(g->b, go);
}

static void all_down(GemmGen *g, RegisterBlock k, ForBlock *then)
{
    const GemmPlan *p = g->p;
    uint32_t whole = p->s.M / p->block_rows * p->block_rows;
    uint32_t each = (p->s.M + p->block_rows - 1) / p->block_rows;
    LLVMValueRef none = NULL, before = mul(g, k.number, k64(g, blocks_down(p)));
    GemmLoop tiles = gemm_loop_begin(g, &none, 0);
    GemmLoop rows = gemm_loop_begin(g, &none, 0);
    LLVMValueRef part = LLVMBuildUDiv(g->b, rows.i, k64(g, p->block_rows), "");
    LLVMValueRef first = add(g, before, mul(g, tiles.i, k64(g, each)));
    gemm_prefetch_next_rows(g, tiles.i, rows.i);
    k.tile = tiles.i;
    k.row = rows.i;
    k.number = add(g, first, part);
    k.rows = p->block_rows;
    then(g, k);
    LLVMValueRef end =
        p->s.some_rows ? ir_binary(g->b, "llvm.umin", g->lines, k64(g, whole)) : k64(g, whole);
    gemm_loop_end(g, &rows, p->block_rows, end, NULL);
    k.row = k64(g, whole);
    k.number = add(g, first, k64(g, each - 1));
    k.rows = p->s.M - whole;
    if (k.rows)
        last_down(g, &k, whole, then);
    gemm_loop_end(g, &tiles, 1, k64(g, p->s.rows), NULL);
}

static void rows_of_columns(GemmGen *g, RegisterBlock k) { all_down(g, k, one_block); }

static void columns_of_rows(GemmGen *g, RegisterBlock k)
{
    if (g->p->flip_b)
        sum_rows(g, &k);
    all_across(g, k, one_block);
}

/* What a block's rows have of A is read once, however wide C is: where its stride is a power of two
 * it does not stay in any cache. Where A is packed it does, and then B's columns are read once,
 * which are more than a block's rows. */
void gemm_blocks(GemmGen *g)
{
    RegisterBlock all = { .number = k64(g, 0) };
    if (g->p->pack_a && !g->p->flip_b)
        all_across(g, all, rows_of_columns);
    else
        all_down(g, all, columns_of_rows);
}
