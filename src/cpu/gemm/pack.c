/* SPDX-License-Identifier: MIT
 *
 * Packing. In: tiles of A and B. Out, in scratch memory: B as a panel of whole vectors, one row a
 * unit of k, converted to the engine's operands, with the column sums that undo a bias; A in units,
 * where it must be converted, biased or, column-major, joined.
 */
#include "cpu/gemm/gemm_internal.h"

LLVMValueRef gemm_panel(GemmGen *g) { return g->panel; }

LLVMValueRef gemm_column_sums(GemmGen *g)
{
    return at(g, g->panel, k64(g, gemm_sums_offset(g->p)));
}

LLVMValueRef gemm_packed_a(GemmGen *g)
{
    return at(g, g->scratch, k64(g, gemm_packed_a_offset(g->p)));
}

/* ---- units ----------------------------------------------------------------------------------- */

/* An operand: what lies in memory, and what the engine takes. */
typedef struct Source {
    IrComp lies, operand;
} Source;

/* Limbs are made where units are stored. */
static Source source_a(const GemmPlan *p)
{
    IrComp a = (IrComp)p->s.a;
    return (Source){ a, gemm_limbs(p) > 1 ? a : p->operand_a };
}
static Source source_b(const GemmPlan *p)
{
    IrComp b = (IrComp)p->s.b;
    return (Source){ b, p->flip_b || gemm_limbs(p) > 1 ? b : p->operand_b };
}

static uint32_t unit_bytes(const GemmPlan *p, Source s)
{
    return p->engine->group * comp_bytes(s.lies);
}

/* A unit in memory, of elements side by side. */
static LLVMTypeRef unit_type(GemmGen *g, Source s)
{
    if (g->p->engine->group == 1)
        return comp_type(g->cx, s.lies);
    return LLVMIntTypeInContext(g->cx, 8 * unit_bytes(g->p, s));
}

static LLVMValueRef convert(GemmGen *g, LLVMValueRef x, IrComp from, IrComp to)
{
    bool has_tables = g->gemm->target->sets & CPU_AVX512_VBMI;
    LLVMValueRef r = has_tables ? arith_look_up(g->b, x, from, to) : NULL;
    return r ? r : arith_convert(g->b, x, from, to, ROUND_NEAREST, false);
}

/* `n` units as they lie, converted: lanes of the engine's vectors. */
static LLVMValueRef convert_units(GemmGen *g, LLVMValueRef x, Source s, uint32_t n)
{
    uint32_t group = g->p->engine->group;
    if (group > 1 && s.lies != s.operand)
        x = LLVMBuildBitCast(g->b, x, LLVMVectorType(comp_type(g->cx, s.lies), n * group), "");
    if (group == 1 || s.lies != s.operand)
        x = convert(g, x, s.lies, s.operand);
    return group == 1 ? x : LLVMBuildBitCast(g->b, x, LLVMVectorType(g->lane, n), "");
}

static LLVMValueRef load_units(GemmGen *g, LLVMValueRef p, Source s, uint32_t n)
{
    LLVMTypeRef type = LLVMVectorType(unit_type(g, s), n);
    return convert_units(g, ir_load(g->b, type, p, comp_bytes(s.lies)), s, n);
}

/* Four rows of sixteen bytes become sixteen of four: by double words across the lanes of 128 bits,
 * then by bytes in them. LLVM is kept from making one tree of unpacks of it, whose eleven
 * instructions are all one port's: s8 on AMX 785 to 950 Gop/s at n = 256, 919 to 1178 at 512. */
static LLVMValueRef transpose_bytes(GemmGen *g, LLVMValueRef rows)
{
    int words[16], bytes[64];
    for (int i = 0; i < 16; i++)
        words[i] = i % 4 * 4 + i / 4;
    for (int i = 0; i < 64; i++)
        bytes[i] = i / 16 * 16 + i % 4 * 4 + i / 4 % 4;
    LLVMValueRef v = LLVMBuildBitCast(g->b, rows, LLVMVectorType(g->i32, 16), "");
    v = ir_shuffle(g->b, gemm_opaque(g, v, "=v,0"), NULL, words, 16);
    v = LLVMBuildBitCast(g->b, gemm_opaque(g, v, "=v,0"), LLVMTypeOf(rows), "");
    return ir_shuffle(g->b, v, NULL, bytes, 64);
}

/* `n` units whose elements lie one below the other, in `group` rows: the rows are interleaved. */
static LLVMValueRef join_units(GemmGen *g, LLVMValueRef p, LLVMValueRef stride, Source s,
                               uint32_t n)
{
    uint32_t group = g->p->engine->group, bytes = comp_bytes(s.lies);
    if (group == 1)
        return load_units(g, p, s, n);
    LLVMTypeRef raw = LLVMVectorType(comp_type(g->cx, s.lies), n);
    LLVMValueRef r[MOST_GROUP] = { NULL };
    int lanes[MOST_LANES];
    for (uint32_t q = 0; q < group; q++)
        r[q] = ir_load(g->b, raw, at(g, p, mul(g, k64(g, q), stride)), bytes);
    for (uint32_t j = 0; j < group * n; j++)
        lanes[j] = (int)(j % group * n + j / group);
    LLVMValueRef all = ir_concatenate(g->b, r, group);
    if (bytes == 1 && group * n == 64 && g->gemm->target->sets & CPU_AVX512)
        return convert_units(g, transpose_bytes(g, all), s, n);
    return convert_units(g, ir_shuffle(g->b, all, NULL, lanes, group * n), s, n);
}

/* ---- limbs ----------------------------------------------------------------------------------- */

/* The upper halves of 32-bit numbers, n units of two. LLVM would shift and narrow them, which takes
 * twice as long as to pick them. */
static LLVMValueRef upper_halves(GemmGen *g, LLVMValueRef x, uint32_t n)
{
    int lanes[MOST_LANES];
    LLVMTypeRef halves = LLVMVectorType(LLVMInt16TypeInContext(g->cx), 4 * n);
    for (uint32_t l = 0; l < 2 * n; l++)
        lanes[l] = (int)(2 * l + 1);
    x = ir_shuffle(g->b, LLVMBuildBitCast(g->b, x, halves, ""), NULL, lanes, 2 * n);
    return LLVMBuildBitCast(g->b, x, LLVMVectorType(g->lane, n), "");
}

/* Stores n units of two f16 as bf16, twice: their 8 upper bits, and the 3 that are left. */
static void store_limbs(GemmGen *g, LLVMValueRef x, uint32_t n, LLVMValueRef to, uint64_t lower)
{
    LLVMTypeRef words = LLVMVectorType(g->i32, 2 * n);
    x = LLVMBuildBitCast(g->b, x, LLVMVectorType(comp_type(g->cx, COMP_F16), 2 * n), "");
    x = arith_convert(g->b, x, COMP_F16, COMP_F32, ROUND_NEAREST, false);
    LLVMValueRef bits = LLVMBuildBitCast(g->b, x, words, "");
    LLVMValueRef upper = LLVMBuildAnd(g->b, bits, ir_int(words, 0xffff0000), "");
    LLVMValueRef rest =
        LLVMBuildFSub(g->b, x, LLVMBuildBitCast(g->b, upper, LLVMTypeOf(x), ""), "");
    ir_store(g->b, upper_halves(g, x, n), to, g->p->unit);
    ir_store(g->b, upper_halves(g, rest, n), at(g, to, k64(g, lower)), g->p->unit);
}

/* What has been seen of specials, and n further units: the highest bit of a half is set where its
 * exponent, plus one, was more than an exponent can be. */
static LLVMValueRef and_specials(GemmGen *g, LLVMValueRef seen, LLVMValueRef x, uint32_t n)
{
    int lanes[MOST_LANES];
    for (uint32_t l = 0; l < g->p->lanes; l++)
        lanes[l] = (int)(l % n);
    LLVMTypeRef type = LLVMVectorType(g->i32, n);
    x = LLVMBuildAnd(g->b, LLVMBuildBitCast(g->b, x, type, ""), ir_int(type, 0x7c007c00), "");
    x = LLVMBuildAdd(g->b, x, ir_int(type, 0x04000400), "");
    if (n < g->p->lanes)
        x = ir_shuffle(g->b, x, NULL, lanes, g->p->lanes);
    return LLVMBuildOr(g->b, seen, x, "");
}

/* Adds them to the word there. */
static void store_specials(GemmGen *g, LLVMValueRef seen, LLVMValueRef word)
{
    LLVMTypeRef type = LLVMTypeOf(seen);
    LLVMValueRef any = ir_intrinsic(g->b, "llvm.vector.reduce.or", &type, 1, &seen, 1);
    any = LLVMBuildAnd(g->b, any, LLVMConstInt(g->i32, 0x80008000, false), "");
    ir_store(g->b, LLVMBuildOr(g->b, any, ir_load(g->b, g->i32, word, 4), ""), word, 4);
}

static LLVMValueRef specials_of_a(GemmGen *g)
{
    return at(g, g->scratch, k64(g, gemm_specials_of_a(g->p)));
}

static LLVMValueRef specials_of_b(GemmGen *g)
{
    return at(g, g->panel, k64(g, gemm_specials_of_b(g->p)));
}

/* Ends the kernel on that condition, after the one without limbs has run. */
static void leave_if(GemmGen *g, LLVMValueRef condition)
{
    GemmShape plain = gemm_of_specials(g->shape);
    LLVMValueRef fn = gemm_kernel(g->gemm, &plain), args[11];
    LLVMBasicBlockRef leave = LLVMAppendBasicBlockInContext(g->cx, g->fn, "leave");
    LLVMBasicBlockRef go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "stay");
    LLVMBuildCondBr(g->b, condition, leave, go);
    LLVMPositionBuilderAtEnd(g->b, leave);
    for (unsigned k = 0; k < COUNT_OF(args); k++)
        args[k] = LLVMGetParam(g->fn, k);
    args[5] = g->scratch; /* its panel is another one, which nobody has packed */
    args[6] = LLVMConstInt(g->i1, 0, false);
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(fn), fn, args, COUNT_OF(args), "");
    LLVMBuildRetVoid(g->b);
    LLVMPositionBuilderAtEnd(g->b, go);
}

void gemm_leave_specials(GemmGen *g)
{
    LLVMValueRef any = LLVMBuildOr(g->b, ir_load(g->b, g->i32, specials_of_a(g), 4),
                                   ir_load(g->b, g->i32, specials_of_b(g), 4), "");
    leave_if(g, LLVMBuildIsNotNull(g->b, any, ""));
}

void gemm_leave_few(GemmGen *g)
{
    enum { MOST_FEW = 16 }; /* half of the rows that limbs are for at all: engines.c */
    LLVMValueRef most = k64(g, MOST_FEW);
    if (g->p->s.some_rows && gemm_limbs(g->p) > 1)
        leave_if(g, LLVMBuildICmp(g->b, LLVMIntULE, g->lines, most, ""));
}

/* ---- B --------------------------------------------------------------------------------------- */

/* One vector of a row-major B's unit row. */
static LLVMValueRef b_vector(GemmGen *g, const GemmPiece *pieces, const GemmView *tiles,
                             LLVMValueRef k)
{
    const GemmPlan *p = g->p;
    Source s = source_b(p);
    LLVMValueRef out = LLVMConstNull(g->vector);
    for (uint32_t i = 0; i < p->max_pieces && pieces[i].width; i++) {
        const GemmPiece *pc = &pieces[i];
        LLVMValueRef row = at(g, tiles[i].ptr, mul(g, k, tiles[i].stride));
        row = at(g, row, gemm_piece_column(g, pc, comp_bytes(s.lies)));
        LLVMValueRef part = join_units(g, row, tiles[i].stride, s, pc->width);
        out = gemm_place(g, out, part, pc);
    }
    return out;
}

/* Rows of four lanes each become columns, in every run of 4 lanes: two butterfly stages. */
static void transpose4(GemmGen *g, LLVMValueRef v[4], LLVMValueRef out[4])
{
    uint32_t n = g->p->lanes;
    int lanes[MOST_LANES];
    LLVMValueRef w[4]; /* w[0], w[1]: rows 0 and 1 zipped; w[2], w[3]: rows 2 and 3 */
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t hi = i & 1;
        for (uint32_t l = 0; l < n; l++)
            lanes[l] = (int)((l & 1 ? n : 0) + (l & ~3u) + hi * 2 + (l & 3) / 2);
        w[i] = ir_shuffle(g->b, v[i & 2], v[(i & 2) + 1], lanes, n);
    }
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t hi = i & 1;
        for (uint32_t l = 0; l < n; l++)
            lanes[l] = (int)((l & 2 ? n : 0) + (l & ~3u) + hi * 2 + (l & 1));
        out[i] = ir_shuffle(g->b, w[i / 2], w[i / 2 + 2], lanes, n);
    }
}

/* Four panel rows at once from a column-major B: 4 units of each of `lanes` columns, transposed.
 * Each load brings 4 units of one column; rows g, g + 4, g + 8... share a vector (rule 10). */
static void b_transposed4(GemmGen *g, const GemmView *t, const GemmPiece *own, LLVMValueRef unit,
                          LLVMValueRef out[4])
{
    Source s = source_b(g->p);
    uint32_t n = g->p->lanes;
    LLVMTypeRef raw = unit_type(g, s);
    LLVMValueRef offset = mul(g, unit, k64(g, unit_bytes(g->p, s))), v[4];
    LLVMValueRef column = mul(g, gemm_piece_column(g, own, 1), t->stride);
    LLVMValueRef first = at(g, at(g, t->ptr, column), offset);
    for (uint32_t q = 0; q < 4; q++) {
        v[q] = LLVMGetPoison(LLVMVectorType(raw, n));
        for (uint32_t i = 0; i < n / 4; i++) {
            LLVMValueRef from = at(g, first, mul(g, k64(g, i * 4 + q), t->stride));
            LLVMValueRef part = ir_load(g->b, LLVMVectorType(raw, 4), from, comp_bytes(s.lies));
            GemmPiece pc = { 0, 0, 4, (uint16_t)(i * 4) };
            v[q] = gemm_place(g, v[q], part, &pc);
        }
        v[q] = convert_units(g, v[q], s, n);
    }
    transpose4(g, v, out);
}

/* A column-major B that does not come in whole 4 x lanes blocks: unit by unit. */
static LLVMValueRef b_gathered(GemmGen *g, const GemmPiece *pieces, const GemmView *tiles,
                               LLVMValueRef unit)
{
    const GemmPlan *p = g->p;
    Source s = source_b(p);
    bool single = p->engine->group == 1;
    LLVMTypeRef raw = unit_type(g, s);
    LLVMValueRef out = LLVMConstNull(single ? g->vector : LLVMVectorType(raw, p->lanes));
    LLVMValueRef offset = mul(g, unit, k64(g, unit_bytes(p, s)));
    for (uint32_t i = 0; i < p->max_pieces && pieces[i].width; i++) {
        LLVMValueRef col = mul(g, gemm_piece_column(g, &pieces[i], 1), tiles[i].stride);
        LLVMValueRef first = at(g, at(g, tiles[i].ptr, col), offset);
        for (uint32_t j = 0; j < pieces[i].width; j++) {
            LLVMValueRef q = at(g, first, mul(g, k64(g, j), tiles[i].stride));
            LLVMValueRef lane = LLVMConstInt(g->i32, pieces[i].lane + j, false);
            LLVMValueRef x = ir_load(g->b, raw, q, comp_bytes(s.lies));
            if (single)
                x = convert_units(g, x, s, 1);
            out = LLVMBuildInsertElement(g->b, out, x, lane, "");
        }
    }
    return single ? out : convert_units(g, out, s, p->lanes);
}

LLVMValueRef gemm_unbias(GemmGen *g, LLVMValueRef sums, bool is_signed)
{
    LLVMValueRef x = LLVMBuildShl(g->b, sums, ir_int(LLVMTypeOf(sums), 7), "");
    return is_signed ? LLVMBuildNeg(g->b, x, "") : x;
}

static void store_sums(GemmGen *g, uint32_t first, uint32_t n, LLVMValueRef *sums)
{
    const GemmPlan *p = g->p;
    for (uint32_t v = 0; v < n; v++)
        ir_store(g->b, gemm_unbias(g, sums[v], comp_is_signed(p->operand_b)),
                 gemm_sums_of_vector(g, first + v), p->lanes * p->unit);
}

/* The bytes of so many units to the other signedness: 128 is added to or taken from each. */
static LLVMValueRef flip(GemmGen *g, LLVMValueRef x, uint32_t n)
{
    return LLVMBuildXor(g->b, x, ir_int(LLVMVectorType(g->i32, n), 0x80808080), "");
}

/* A column-major B is transposed where it comes in whole blocks, of four columns and more. */
static bool in_blocks(const GemmPlan *p)
{
    return p->s.b_col && p->max_pieces == 1 && p->lanes % 4 == 0 && p->s.N % p->lanes == 0 &&
           p->units % 4 == 0;
}

static void make_rows(GemmGen *g, const GemmPiece *own, const GemmView *tiles, LLVMValueRef unit,
                      LLVMValueRef rows[4])
{
    if (in_blocks(g->p))
        b_transposed4(g, tiles, own, unit, rows);
    else if (g->p->s.b_col)
        rows[0] = b_gathered(g, own, tiles, unit);
    else
        rows[0] = b_vector(g, own, tiles, mul(g, unit, k64(g, g->p->engine->group)));
}

/* Vectors [first, first + n) of the panel over all steps and units, with the column sums that undo
 * A's bias. */
static void pack_b_columns(GemmGen *g, uint32_t first, uint32_t n)
{
    const GemmPlan *p = g->p;
    const GemmPiece *pieces = &p->pieces[first * p->max_pieces];
    bool limbs = gemm_limbs(p) > 1;
    uint32_t at_once = in_blocks(p) ? 4 : 1, sums = p->flip_a ? n : limbs ? 1 : 0;
    LLVMValueRef carry[MOST_VECTORS], rows[4];
    for (uint32_t v = 0; v < n; v++)
        carry[v] = LLVMConstNull(g->vector);
    GemmLoop steps = gemm_loop_begin(g, carry, sums);
    GemmView tiles[MOST_VECTORS][MOST_LANES];
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t i = 0; i < p->max_pieces && pieces[v * p->max_pieces + i].width; i++) {
            const GemmPiece *pc = &pieces[v * p->max_pieces + i];
            tiles[v][i] = gemm_b_tile(g, steps.i, gemm_piece_tile(g, pc));
        }
    GemmLoop units = gemm_loop_begin(g, steps.phi, sums);
    memcpy(carry, units.phi, sums * sizeof(carry[0]));
    LLVMValueRef unit = add(g, mul(g, steps.i, k64(g, p->units)), units.i);
    for (uint32_t v = 0; v < n; v++) {
        make_rows(g, &pieces[v * p->max_pieces], tiles[v], units.i, rows);
        for (uint32_t q = 0; q < at_once; q++) {
            LLVMValueRef row = mul(g, add(g, unit, k64(g, q)), k64(g, gemm_row_bytes(p)));
            LLVMValueRef to = at(g, gemm_panel(g), row);
            if (p->flip_b)
                rows[q] = flip(g, rows[q], p->lanes);
            to = at(g, to, gemm_vector_offset(g, first + v));
            if (limbs) {
                carry[0] = and_specials(g, carry[0], rows[q], p->lanes);
                store_limbs(g, rows[q], p->lanes, to, gemm_limb_of_b(p));
                continue;
            }
            ir_store(g->b, rows[q], to, p->lanes * p->unit);
            if (sums)
                carry[v] = p->engine->product(g, carry[v], ir_int(g->vector, 0x01010101), rows[q]);
        }
    }
    gemm_loop_end(g, &units, at_once, k64(g, p->units), carry);
    gemm_loop_end(g, &steps, 1, g->steps, carry);
    if (limbs)
        store_specials(g, carry[0], specials_of_b(g));
    else
        store_sums(g, first, sums, carry);
}

/* Whole blocks at once, of which a run's are (gemm_vector_offset). */
static void pack_all_columns(GemmGen *g)
{
    uint32_t each = gemm_side_by_side(g->p);
    uint32_t most = MIN(g->p->tuning->packed_vectors, (uint32_t)MOST_VECTORS);
    uint32_t at_once = MAX(1u, most / each) * each;
    for (uint32_t v = 0; v < g->p->n_vectors;) {
        GemmRun r = gemm_run_begin(g, v, at_once);
        pack_b_columns(g, v, r.n);
        v = gemm_run_end(g, &r);
    }
}

/* Vectors of several tiles each, all full. */
static bool has_full_pieces(const GemmPlan *p)
{
    return p->max_pieces > 1 && (uint32_t)p->s.cols * p->s.N % p->lanes == 0;
}

/* i1: in a step the tiles of each vector lie side by side. */
static LLVMValueRef columns_follow(GemmGen *g, LLVMValueRef step, LLVMValueRef ok)
{
    const GemmShape *s = &g->p->s;
    GemmView t = { NULL, NULL, NULL };
    for (uint32_t c = 0; c < s->cols; c++) {
        GemmView before = t;
        t = gemm_b_tile(g, step, k64(g, c));
        if (c % g->p->max_pieces == 0)
            continue;
        LLVMValueRef width = k64(g, (uint64_t)s->N * (s->b_col ? 1 : comp_bytes((IrComp)s->b)));
        if (s->b_col)
            width = mul(g, before.stride, width);
        LLVMValueRef is[] = { LLVMBuildICmp(g->b, LLVMIntEQ, t.ptr, at(g, before.ptr, width), ""),
                              LLVMBuildICmp(g->b, LLVMIntEQ, t.stride, before.stride, ""),
                              t.apart ? LLVMBuildICmp(g->b, LLVMIntEQ, t.apart, before.apart, "")
                                      : ok };
        for (uint32_t i = 0; i < COUNT_OF(is); i++)
            ok = LLVMBuildAnd(g->b, ok, is[i], "");
    }
    return ok;
}

/* Where the tiles of each vector lie side by side in all steps, each vector is packed as if it were
 * one tile's: the builder is left where they do not. */
static void pack_joined_columns(GemmGen *g, LLVMBasicBlockRef packed)
{
    const GemmPlan *p = g->p;
    LLVMValueRef ok = LLVMConstInt(g->i1, 1, false);
    GemmLoop l = gemm_loop_begin(g, &ok, 1);
    ok = columns_follow(g, l.i, l.phi[0]);
    gemm_loop_end(g, &l, 1, k64(g, p->s.even ? 1 : p->s.steps), &ok);
    LLVMBasicBlockRef joined = LLVMAppendBasicBlockInContext(g->cx, g->fn, "joined");
    LLVMBasicBlockRef apart = LLVMAppendBasicBlockInContext(g->cx, g->fn, "apart");
    LLVMBuildCondBr(g->b, ok, joined, apart);
    LLVMPositionBuilderAtEnd(g->b, joined);
    GemmPlan wide = *p;
    wide.s.N = (uint16_t)p->lanes;
    wide.max_pieces = 1;
    wide.pieces = NEW_ARRAY(g->gemm->arena, GemmPiece, p->n_vectors);
    for (uint32_t v = 0; v < p->n_vectors; v++)
        wide.pieces[v] = (GemmPiece){ p->pieces[v * p->max_pieces].tile, 0, wide.s.N, 0 };
    g->p = &wide;
    pack_all_columns(g);
    g->p = p;
    LLVMBuildBr(g->b, packed);
    LLVMPositionBuilderAtEnd(g->b, apart);
}

void gemm_pack_b(GemmGen *g)
{
    if (!g->p->pack_b)
        return;
    LLVMBasicBlockRef pack = LLVMAppendBasicBlockInContext(g->cx, g->fn, "pack_b");
    LLVMBasicBlockRef go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "packed");
    LLVMBuildCondBr(g->b, g->packed, go, pack);
    LLVMPositionBuilderAtEnd(g->b, pack);
    if (gemm_limbs(g->p) > 1)
        ir_store(g->b, LLVMConstInt(g->i32, 0, false), specials_of_b(g), 4);
    if (has_full_pieces(g->p))
        pack_joined_columns(g, go);
    pack_all_columns(g);
    LLVMBuildBr(g->b, go);
    LLVMPositionBuilderAtEnd(g->b, go);
}

/* ---- A --------------------------------------------------------------------------------------- */

/* Bytes from row to row of units in scratch, or, column-major, from unit to unit of rows. */
static uint64_t pitch_of(const GemmPlan *p)
{
    const GemmShape *s = &p->s;
    uint64_t steps = (uint64_t)s->steps * p->times;
    return s->a_col ? (uint64_t)s->rows * s->M * p->unit : steps * p->units * p->unit;
}

/* Where a tile's rows (column-major: units) begin in scratch. */
static LLVMValueRef packed_tile(GemmGen *g, LLVMValueRef tile_row, LLVMValueRef step)
{
    const GemmPlan *p = g->p;
    uint64_t pitch = pitch_of(p), row_bytes = (uint64_t)p->s.M * p->unit;
    if (p->s.a_col)
        return add(g, mul(g, mul(g, step, k64(g, p->units)), k64(g, pitch)),
                   mul(g, tile_row, k64(g, row_bytes)));
    return add(g, mul(g, mul(g, tile_row, k64(g, p->s.M)), k64(g, pitch)),
               mul(g, step, k64(g, (uint64_t)p->units * p->unit)));
}

/* Rows (or, column-major, units) of a tile, and of as many steps' tiles behind it, converted into
 * scratch in the order they have. `seen` of specials, and these. */
static LLVMValueRef pack_a_tiles(GemmGen *g, LLVMValueRef tile_row, LLVMValueRef step,
                                 uint32_t steps, LLVMValueRef seen)
{
    const GemmPlan *p = g->p;
    Source s = source_a(p);
    GemmView view = gemm_a_tile(g, tile_row, step), *t = &view;
    bool col = p->s.a_col;
    uint32_t run = col ? p->s.M : p->units * steps; /* units that lie side by side in scratch */
    uint32_t group = p->engine->group;
    LLVMValueRef base = packed_tile(g, tile_row, step);
    bool limbs = gemm_limbs(p) > 1;
    GemmLoop l = gemm_loop_begin(g, &seen, limbs);
    if (limbs)
        seen = l.phi[0];
    LLVMValueRef to = at(g, gemm_packed_a(g), add(g, base, mul(g, l.i, k64(g, pitch_of(p)))));
    LLVMValueRef from = at(g, t->ptr, mul(g, l.i, mul(g, t->stride, k64(g, col ? group : 1))));
    for (uint32_t done = 0; done < run;) {
        uint32_t n = MIN(MIN(16u, (uint32_t)MOST_LANES / group), run - done);
        while (n & (n - 1))
            n &= n - 1; /* powers of two: 16, then what is left */
        uint64_t apart = col ? comp_bytes(s.lies) : unit_bytes(p, s);
        LLVMValueRef p_at = at(g, from, k64(g, done * apart));
        LLVMValueRef x = col ? join_units(g, p_at, t->stride, s, n) : load_units(g, p_at, s, n);
        if (p->flip_a)
            x = flip(g, x, n);
        LLVMValueRef there = at(g, to, k64(g, (uint64_t)done * p->unit));
        if (limbs) {
            seen = and_specials(g, seen, x, n);
            store_limbs(g, x, n, there, gemm_limb_of_a(p));
        } else {
            ir_store(g->b, x, there, p->unit);
        }
        done += n;
    }
    gemm_loop_end(g, &l, 1, col ? k64(g, p->units) : g->lines, &seen);
    return seen;
}

/* So many steps at once. */
static void pack_a_steps(GemmGen *g, uint32_t at_once)
{
    uint32_t limbs = gemm_limbs(g->p) > 1;
    LLVMValueRef seen = LLVMConstNull(LLVMVectorType(g->i32, g->p->lanes));
    GemmLoop rows = gemm_loop_begin(g, &seen, limbs);
    GemmLoop steps = gemm_loop_begin(g, rows.phi, limbs);
    seen = pack_a_tiles(g, rows.i, steps.i, at_once, limbs ? steps.phi[0] : NULL);
    gemm_loop_end(g, &steps, at_once, g->steps, &seen);
    gemm_loop_end(g, &rows, 1, k64(g, g->p->s.rows), &seen);
    if (!limbs)
        return;
    ir_store(g->b, LLVMConstInt(g->i32, 0, false), specials_of_a(g), 4);
    store_specials(g, seen, specials_of_a(g));
}

/* Rows that go on from step to step are read and written as whole vectors. */
void gemm_pack_a(GemmGen *g)
{
    const GemmShape *s = &g->p->s;
    if (!g->p->pack_a)
        return;
    if (!s->even || s->a_col || s->steps == 1) {
        pack_a_steps(g, 1);
        return;
    }
    LLVMBasicBlockRef joined = LLVMAppendBasicBlockInContext(g->cx, g->fn, "a_joined");
    LLVMBasicBlockRef apart = LLVMAppendBasicBlockInContext(g->cx, g->fn, "a_apart");
    LLVMBasicBlockRef go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "a_packed");
    LLVMBuildCondBr(g->b, gemm_a_follows(g), joined, apart);
    LLVMPositionBuilderAtEnd(g->b, joined);
    pack_a_steps(g, s->steps);
    LLVMBuildBr(g->b, go);
    LLVMPositionBuilderAtEnd(g->b, apart);
    pack_a_steps(g, 1);
    LLVMBuildBr(g->b, go);
    LLVMPositionBuilderAtEnd(g->b, go);
}
