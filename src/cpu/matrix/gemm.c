/* SPDX-License-Identifier: MIT
 *
 * Multiply-add kernels. In: a shape. Out: an LLVM function
 *
 *     void gemm_<types>_<M>x<N>x<K>_<grid>(ptr table, ptr scratch, i1 far, i64 ahead_a, ahead_b)
 *
 * whose table holds (address, row stride) of the A tiles, then the B tiles, then the C tiles. It
 * has three parts. Packing copies B into a panel of whole vectors, one row a k (or a group of four
 * 8-bit, two 16-bit k: the form the dot instructions take), converting on the way; A only where its
 * type must change. The micro-kernel holds up to 4 x 4 vectors of C in registers, reads one
 * broadcast of A a row and k, and never leaves a value in memory between k. Column-major C is the
 * transposed product, so one micro-kernel serves both orders.
 *
 * Why these shapes: docs/PERFORMANCE.md, sections 1, 4 and 5.
 */
#include "cpu/matrix/gemm.h"

#include "llvm/arith.h"

#include <stdio.h>

/* How products are formed. */
typedef enum Engine {
    ENGINE_MULADD,              /* one k at a time in the compute type */
    ENGINE_DOT4,                /* four 8-bit k a 32-bit lane: vpdpbusd */
    ENGINE_DOT2,                /* two 16-bit k a 32-bit lane: vpdpwssd */
    ENGINE_TILES,               /* 16 x 16 x 64 bytes in the tile registers: AMX */
} Engine;

/* One run of columns of a tile within a vector of the panel. */
typedef struct Piece { uint16_t tile, column, width, lane; } Piece;

typedef struct Plan {
    GemmShape s;                /* normalised: C row-major */
    bool transposed;            /* s has A and B swapped against the caller's */
    Engine engine;
    uint32_t group;             /* k a unit: 1, 2, 4 */
    bool flip_a;                /* A's bytes are biased by 128 to the other signedness (DOT4) */
    bool pack_a, pack_b;
    Comp compute;               /* type of the products' sums */
    uint32_t unit;              /* bytes of one unit of A or of a lane of B */
    uint32_t lanes;             /* of a vector */
    uint32_t n_vectors;         /* in a row of the panel */
    uint32_t max_pieces;
    Piece *pieces;              /* n_vectors x max_pieces, width 0 ends */
    uint32_t block_rows, block_vectors;
    uint32_t units;             /* of one tile's K */
} Plan;

enum { LINE = 64 };             /* bytes of a cache line */

/* What the fixed arrays below have room for. A vector has at most 512 bits, so 64 lanes of a byte
 * (four times 16 lanes of four while B's rows are joined), and at most 64 tiles in it; a block
 * takes at most three quarters of 32 registers (plan_columns, plan_block). */
enum { MOST_LANES = 64, MOST_REGISTERS = 32, MOST_VECTORS = 4 };

typedef struct Kernel { GemmShape key; LLVMValueRef fn; } Kernel;

struct Gemm {
    Arena *arena;
    LLVMModuleRef module;
    LLVMContextRef cx;
    const CpuTarget *target;
    VEC(Kernel) kernels;
};

/* State of one function being emitted. */
typedef struct Gen {
    Gemm *gemm;
    const Plan *p;
    LLVMContextRef cx;
    LLVMBuilderRef b;
    LLVMValueRef fn, table, scratch;
    /* i1: the steps' tiles lie one behind the other, so k runs through */
    LLVMValueRef contiguous;
    LLVMTypeRef i1, i8, i16, i32, i64, ptr;
    LLVMTypeRef lane, vector;   /* of the compute type */
    /* i64: in a run of like vectors, how far on tiles, columns and vectors are; NULL: not at all */
    LLVMValueRef more_tiles, more_columns, more_vectors;
} Gen;

Gemm *gemm_new(Arena *a, LLVMModuleRef module, const CpuTarget *t)
{
    Gemm *g = NEW(a, Gemm);
    g->arena = a;
    g->module = module;
    g->cx = LLVMGetModuleContext(module);
    g->target = t;
    return g;
}

/* ---- planning -------------------------------------------------------------------------------- */

static uint32_t pow2_at_least(uint32_t n)
{
    uint32_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

static void swap_u16(uint16_t *a, uint16_t *b) { uint16_t t = *a; *a = *b; *b = t; }
static void swap_u8(uint8_t *a, uint8_t *b) { uint8_t t = *a; *a = *b; *b = t; }

/* C^T = B^T A^T: a column-major C is the row-major one of the swapped product. */
static void normalise(Plan *p)
{
    GemmShape *s = &p->s;
    if (!s->c_col)
        return;
    bool a_col = !s->b_col, b_col = !s->a_col, a_near = s->b_near, ahead_a = s->ahead_b;
    p->transposed = true;
    swap_u16(&s->M, &s->N);
    swap_u16(&s->rows, &s->cols);
    swap_u8(&s->a, &s->b);
    s->a_col = a_col;
    s->b_col = b_col;
    s->b_near = s->a_near;
    s->a_near = a_near;
    s->ahead_b = s->ahead_a;
    s->ahead_a = ahead_a;
    s->c_col = false;
}

/* AMX takes whole 16 x 16 tiles of C and 64 bytes of k at a time, A as it lies. */
static bool fits_tiles(const GemmShape *s, uint32_t bytes)
{
    return s->M % 16 == 0 && s->N % 16 == 0 && (uint32_t)s->steps * s->K * bytes % 64 == 0
        && s->K * bytes % 4 == 0 && !s->a_col && !s->saturate;
}

static void choose_engine(Plan *p, const CpuTarget *t)
{
    const GemmShape *s = &p->s;
    bool a8 = s->a == COMP_S8 || s->a == COMP_U8, b8 = s->b == COMP_S8 || s->b == COMP_U8;
    bool c32 = s->c == COMP_S32 || s->c == COMP_U32;
    p->engine = ENGINE_MULADD;
    p->group = 1;
    if (comp_is_float(s->c)) {
        bool wide = s->a == COMP_F64 || s->b == COMP_F64 || s->c == COMP_F64;
        p->compute = wide ? COMP_F64 : COMP_F32;
        if (t->amx_bf16 && s->a == COMP_BF16 && s->b == COMP_BF16 && s->c == COMP_F32
            && fits_tiles(s, 2)) {
            p->engine = ENGINE_TILES;
            p->group = 2;
        }
    } else {
        p->compute = s->c;
        if (t->amx_int8 && c32 && a8 && b8 && fits_tiles(s, 1)) {
            p->engine = ENGINE_TILES;
            p->group = 4;
        } else if (t->vnni && t->avx512 && c32 && a8 && b8 && s->K % 4 == 0) {
            p->engine = ENGINE_DOT4;
            p->group = 4;
            p->flip_a = s->a == s->b;
        } else if (t->vnni && t->avx512 && c32 && s->a == COMP_S16 && s->b == COMP_S16
                   && s->K % 2 == 0) {
            p->engine = ENGINE_DOT2;
            p->group = 2;
        }
    }
    p->unit = comp_bytes(p->compute);
    p->units = s->K / p->group;
}

static bool same_layout(const Plan *p, Comp c)
{
    if (p->engine != ENGINE_MULADD)
        return true;            /* units of 4 bytes are read as they lie */
    return comp_bytes(c) == p->unit && comp_is_float(c) == comp_is_float(p->compute);
}

/* Maps the grid's columns to the lanes of the panel's vectors. */
static void plan_columns(Arena *a, Plan *p, uint32_t max_lanes)
{
    const GemmShape *s = &p->s;
    uint32_t N = s->N, total = (uint32_t)s->cols * N;
    uint32_t room = MIN(max_lanes, (uint32_t)MOST_LANES);
    uint32_t lanes = MIN(room, MAX(pow2_at_least(total), 4u));
    bool shared = N < lanes && lanes % N == 0;  /* several tiles a vector */
    uint32_t per_tile = (N + lanes - 1) / lanes, tiles_each = shared ? lanes / N : 1;
    p->lanes = lanes;
    p->n_vectors = shared ? (total + lanes - 1) / lanes : s->cols * per_tile;
    p->max_pieces = tiles_each;
    p->pieces = NEW_ARRAY(a, Piece, (size_t)p->n_vectors * tiles_each);
    for (uint32_t v = 0; v < p->n_vectors; v++)
        for (uint32_t i = 0; i < tiles_each; i++) {
            Piece *pc = &p->pieces[v * tiles_each + i];
            if (shared) {
                uint32_t tile = v * tiles_each + i;
                if (tile < s->cols)
                    *pc = (Piece){(uint16_t)tile, 0, (uint16_t)N, (uint16_t)(i * N)};
            } else {
                uint32_t column = v % per_tile * lanes;
                *pc = (Piece){(uint16_t)(v / per_tile), (uint16_t)column,
                              (uint16_t)MIN(lanes, N - column), 0};
            }
        }
}

/* The register block. Rows divide M where they can, so that there is one block size to compile. */
static void plan_block(Plan *p, const CpuTarget *t)
{
    uint32_t per_vector = MAX(1u, p->lanes * p->unit * 8 / t->vector_bits);
    uint32_t registers = MIN(t->vector_registers, (uint32_t)MOST_REGISTERS) / per_vector;
    uint32_t most_nv = registers >= 32 ? (uint32_t)MOST_VECTORS : registers >= 16 ? 2u : 1u;
    uint32_t nv = MIN(p->n_vectors, most_nv);
    if (p->n_vectors % nv && p->n_vectors % (nv - 1 ? nv - 1 : 1) == 0)
        nv--;
    uint32_t most = MAX(1u, (registers * 3 / 4) / nv), rows = MIN(most, p->s.M);
    for (uint32_t r = rows; r * 2 > rows; r--)
        if (p->s.M % r == 0) {
            rows = r;
            break;
        }
    p->block_rows = rows;
    p->block_vectors = nv;
}

static void make_plan(Arena *a, Plan *p, const GemmShape *s, const CpuTarget *t)
{
    *p = (Plan){.s = *s};
    normalise(p);
    choose_engine(p, t);
    plan_columns(a, p, t->vector_bits / 8 / p->unit);
    plan_block(p, t);
    bool whole = p->s.N % p->lanes == 0;
    bool a_packs = p->s.a_col && p->group > 1;
    if (p->engine == ENGINE_TILES)  /* only if the steps turn out to lie apart: see tiles() */
        a_packs = p->s.K * comp_bytes((Comp)p->s.a) % 64 != 0;
    p->pack_a = p->flip_a || a_packs || !same_layout(p, p->s.a);
    p->pack_b = p->group > 1 || p->s.b_col || !whole || !same_layout(p, p->s.b)
        || !(p->s.b_near || (uint32_t)p->s.rows * p->s.M <= 2 * p->block_rows);
}

/* What a later call reads of one operand, as cache lines: of `apart` times `beside` tiles, those
 * beside one another share lines or continue them, as far as one can know. */
typedef struct Lines {
    uint32_t beside, beside_by, apart, apart_by;    /* tiles; from one to the next in the table */
    uint32_t lines, each;       /* of a tile; cache lines of one */
} Lines;

static Lines lines_ahead(const GemmShape *s, bool of_b)
{
    bool col = of_b ? s->b_col : s->a_col;
    bool asks = of_b ? s->ahead_b && !s->b_near : s->ahead_a && !s->a_near;
    uint32_t outer = of_b ? s->steps : s->rows, inner = of_b ? s->cols : s->steps;
    uint32_t rows = of_b ? s->K : s->M, cols = of_b ? s->N : s->K;
    uint32_t run = (col ? rows : cols) * comp_bytes((Comp)(of_b ? s->b : s->a));
    Lines l = {.beside = inner, .beside_by = 1, .apart = outer, .apart_by = inner,
               .lines = asks ? rows : 0, .each = (run + LINE - 1) / LINE};
    if (col)
        l = (Lines){outer, inner, inner, 1, asks ? cols : 0, l.each};
    for (; run * 2 <= LINE && l.beside % 2 == 0; run *= 2) {
        l.beside /= 2;
        l.beside_by *= 2;
    }
    return l;
}

static uint32_t n_lines(const Lines *l) { return l->beside * l->apart * l->lines * l->each; }

static uint32_t n_ahead(const GemmShape *s)
{
    Lines a = lines_ahead(s, false), b = lines_ahead(s, true);
    return n_lines(&a) + n_lines(&b);
}

static uint64_t row_bytes(const Plan *p) { return (uint64_t)p->n_vectors * p->lanes * p->unit; }
static uint64_t panel_bytes(const Plan *p)
{
    return p->pack_b ? row_bytes(p) * p->units * p->s.steps : 0;
}
static uint64_t sums_bytes(const Plan *p) { return p->flip_a ? row_bytes(p) : 0; }
static uint64_t packed_a_bytes(const Plan *p)
{
    return p->pack_a ? align_up((uint64_t)p->s.rows * p->s.M * p->units * p->s.steps * p->unit, 64)
                     : 0;
}

static uint64_t list_offset(const Plan *p)
{
    return align_up(panel_bytes(p), 64) + align_up(sums_bytes(p), 64) + packed_a_bytes(p);
}

uint64_t gemm_scratch_bytes(Gemm *g, const GemmShape *s)
{
    Plan p;
    make_plan(g->arena, &p, s, g->target);
    return list_offset(&p) + 8ull * n_ahead(&p.s);
}

static uint32_t n_a(const GemmShape *s) { return (uint32_t)s->rows * s->steps; }
static uint32_t n_b(const GemmShape *s) { return (uint32_t)s->steps * s->cols; }
static uint32_t n_c(const GemmShape *s) { return (uint32_t)s->rows * s->cols; }
uint32_t gemm_table_entries(const GemmShape *s) { return 2 * (n_a(s) + n_b(s) + n_c(s)); }

/* ---- small pieces of IR ---------------------------------------------------------------------- */

static LLVMValueRef k64(const Gen *g, uint64_t v) { return LLVMConstInt(g->i64, v, false); }
static LLVMValueRef add(Gen *g, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildAdd(g->b, a, b, "");
}
static LLVMValueRef mul(Gen *g, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildMul(g->b, a, b, "");
}
static LLVMValueRef at(Gen *g, LLVMValueRef base, LLVMValueRef bytes)
{
    return LLVMBuildInBoundsGEP2(g->b, g->i8, base, &bytes, 1, "");
}

static LLVMValueRef load(Gen *g, LLVMTypeRef type, LLVMValueRef p, unsigned align)
{
    LLVMValueRef v = LLVMBuildLoad2(g->b, type, p, "");
    LLVMSetAlignment(v, align);
    return v;
}

static void store(Gen *g, LLVMValueRef v, LLVMValueRef p, unsigned align)
{
    LLVMSetAlignment(LLVMBuildStore(g->b, v, p), align);
}

static LLVMValueRef shuffle(Gen *g, LLVMValueRef a, LLVMValueRef b, const int *lanes, uint32_t n)
{
    LLVMValueRef mask[MOST_LANES];
    for (uint32_t i = 0; i < n; i++)
        mask[i] =
            lanes[i] < 0 ? LLVMGetPoison(g->i32) : LLVMConstInt(g->i32, (uint64_t)lanes[i], false);
    return LLVMBuildShuffleVector(g->b, a, b ? b : LLVMGetPoison(LLVMTypeOf(a)),
                                  LLVMConstVector(mask, n), "");
}

static LLVMValueRef splat_int(LLVMTypeRef lane, uint64_t x, uint32_t n)
{
    LLVMValueRef v[MOST_LANES];
    for (uint32_t i = 0; i < n; i++)
        v[i] = LLVMConstInt(lane, x, false);
    return LLVMConstVector(v, n);
}

static LLVMValueRef call(Gen *g, const char *name, LLVMTypeRef *overload, size_t n_overload,
                         LLVMValueRef *args, unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(g->gemm->module, id, overload, n_overload);
    LLVMTypeRef type = LLVMIntrinsicGetType(g->cx, id, overload, n_overload);
    LLVMTypeRef *params = NEW_ARRAY(g->gemm->arena, LLVMTypeRef, LLVMCountParamTypes(type) + 1);
    /* the dot intrinsics changed theirs between LLVM versions */
    LLVMGetParamTypes(type, params);
    for (unsigned i = 0; i < n; i++)
        if (LLVMTypeOf(args[i]) != params[i])
            args[i] = LLVMBuildBitCast(g->b, args[i], params[i], "");
    return LLVMBuildCall2(g->b, type, fn, args, n, "");
}

/* Loops run at least once: every count here is a positive constant, or a choice of two. */
typedef struct Loop {
    LLVMBasicBlockRef body;
    LLVMValueRef i, *phi;
    uint32_t n;
} Loop;

static Loop loop_begin(Gen *g, LLVMValueRef *carry, uint32_t n)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
    Loop l = {.body = LLVMAppendBasicBlockInContext(g->cx, g->fn, "loop"), .n = n};
    l.phi = NEW_ARRAY(g->gemm->arena, LLVMValueRef, n + 1);
    LLVMBuildBr(g->b, l.body);
    LLVMPositionBuilderAtEnd(g->b, l.body);
    l.i = LLVMBuildPhi(g->b, g->i64, "");
    LLVMValueRef zero = k64(g, 0);
    LLVMAddIncoming(l.i, &zero, &from, 1);
    for (uint32_t k = 0; k < n; k++) {
        l.phi[k] = LLVMBuildPhi(g->b, LLVMTypeOf(carry[k]), "");
        LLVMAddIncoming(l.phi[k], &carry[k], &from, 1);
    }
    return l;
}

/* Ends the body; `next` are the carried values' new ones, on return theirs after the loop. */
static void loop_end(Gen *g, Loop *l, uint64_t step, LLVMValueRef to, LLVMValueRef *next)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
    LLVMValueRef i = LLVMBuildNUWAdd(g->b, l->i, k64(g, step), "");
    LLVMBasicBlockRef out = LLVMAppendBasicBlockInContext(g->cx, g->fn, "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntULT, i, to, ""), l->body, out);
    LLVMAddIncoming(l->i, &i, &from, 1);
    for (uint32_t k = 0; k < l->n; k++)
        LLVMAddIncoming(l->phi[k], &next[k], &from, 1);
    LLVMPositionBuilderAtEnd(g->b, out);
}

/* ---- runs of vectors ------------------------------------------------------------------------- */

/* Blocks of vectors that differ only in where they lie: the code for one is a loop's body. */
typedef struct Run {
    uint32_t first, n, blocks;          /* vectors; a block's; how many blocks */
    int32_t tiles, columns;             /* from a block to the next */
    bool looped;
    Loop loop;
} Run;

static bool is_like(const Plan *p, uint32_t x, uint32_t y, uint32_t n, int32_t *tiles,
                    int32_t *columns)
{
    const Piece *a = &p->pieces[x * p->max_pieces], *b = &p->pieces[y * p->max_pieces];
    *tiles = b->tile - a->tile;
    *columns = b->column - a->column;
    for (uint32_t k = 0; k < n * p->max_pieces; k++)
        if (a[k].width != b[k].width || a[k].lane != b[k].lane ||
            (a[k].width && (b[k].tile - a[k].tile != *tiles ||
                            b[k].column - a[k].column != *columns)))
            return false;
    return true;
}

static Run run_begin(Gen *g, uint32_t first, uint32_t most)
{
    const Plan *p = g->p;
    Run r = {.first = first, .n = MIN(most, p->n_vectors - first), .blocks = 1};
    int32_t tiles, columns;
    uint32_t at = first + r.n;
    for (; r.n == most && at + most <= p->n_vectors; at += most, r.blocks++) {
        if (!is_like(p, at - most, at, most, &tiles, &columns) ||
            (r.blocks > 1 && (tiles != r.tiles || columns != r.columns)))
            break;
        r.tiles = tiles;
        r.columns = columns;
    }
    r.looped = r.blocks > 1;
    if (!r.looped)
        return r;
    LLVMValueRef none = NULL;
    r.loop = loop_begin(g, &none, 0);
    g->more_tiles = mul(g, r.loop.i, LLVMConstInt(g->i64, (uint64_t)(int64_t)r.tiles, true));
    g->more_columns = mul(g, r.loop.i, LLVMConstInt(g->i64, (uint64_t)(int64_t)r.columns, true));
    g->more_vectors = mul(g, r.loop.i, k64(g, most));
    return r;
}

/* Returns the first vector behind. */
static uint32_t run_end(Gen *g, Run *r)
{
    if (r->looped)
        loop_end(g, &r->loop, 1, k64(g, r->blocks), NULL);
    g->more_tiles = g->more_columns = g->more_vectors = NULL;
    return r->first + r->n * r->blocks;
}

static LLVMValueRef moved(Gen *g, uint64_t n, LLVMValueRef more, uint64_t unit)
{
    LLVMValueRef at_first = k64(g, n * unit);
    return more ? add(g, mul(g, more, k64(g, unit)), at_first) : at_first;
}

static LLVMValueRef piece_tile(Gen *g, const Piece *pc)
{
    return moved(g, pc->tile, g->more_tiles, 1);
}
/* in units of so many bytes */
static LLVMValueRef piece_column(Gen *g, const Piece *pc, uint64_t unit)
{
    return moved(g, pc->column, g->more_columns, unit);
}
/* bytes from the start of a panel row */
static LLVMValueRef vector_offset(Gen *g, uint32_t v)
{
    return moved(g, v, g->more_vectors, (uint64_t)g->p->lanes * g->p->unit);
}

/* Entry `index` (a pair) of the table's section that begins at pair `base`. */
static TileView table_at(Gen *g, uint32_t base, LLVMValueRef index)
{
    LLVMValueRef p = at(g, g->table, mul(g, add(g, index, k64(g, base)), k64(g, 16)));
    TileView v = {load(g, g->ptr, p, 8), NULL};
    v.stride = load(g, g->i64, at(g, p, k64(g, 8)), 8);
    return v;
}

static TileView a_tile(Gen *g, LLVMValueRef row, LLVMValueRef step)
{
    return table_at(g, 0, add(g, mul(g, row, k64(g, g->p->s.steps)), step));
}
static TileView b_tile(Gen *g, LLVMValueRef step, LLVMValueRef col)
{
    return table_at(g, n_a(&g->p->s), add(g, mul(g, step, k64(g, g->p->s.cols)), col));
}
static TileView c_tile(Gen *g, LLVMValueRef row, LLVMValueRef col)
{
    const GemmShape *s = &g->p->s;
    TileView v = table_at(g, n_a(s) + n_b(s), add(g, mul(g, row, k64(g, s->cols)), col));
    if (s->c_dense)
        v.stride = k64(g, (uint64_t)s->N * comp_bytes((Comp)s->c));
    return v;
}

/* ---- conversion to and from the compute type ------------------------------------------------- */

static LLVMValueRef widen(Gen *g, LLVMValueRef x, Comp c)
{
    return arith_convert(g->b, x, c, g->p->compute, ROUND_NEAREST, false);
}

static LLVMValueRef narrow(Gen *g, LLVMValueRef x)
{
    return arith_convert(g->b, x, g->p->compute, (Comp)g->p->s.c, ROUND_NEAREST, false);
}

/* `n` units of an operand of type c at p, as they go into the micro-kernel. */
static LLVMValueRef load_units(Gen *g, LLVMValueRef p, Comp c, uint32_t n)
{
    if (g->p->engine == ENGINE_MULADD)
        return widen(g, load(g, LLVMVectorType(comp_type(g->cx, c), n), p, comp_bytes(c)), c);
    return load(g, LLVMVectorType(g->i32, n), p, comp_bytes(c));
}

/* ---- packing --------------------------------------------------------------------------------- */

static LLVMValueRef panel(Gen *g) { return g->scratch; }
static LLVMValueRef column_sums(Gen *g)
{
    return at(g, g->scratch, k64(g, align_up(panel_bytes(g->p), 64)));
}
static LLVMValueRef packed_a(Gen *g)
{
    return at(g, column_sums(g), k64(g, align_up(sums_bytes(g->p), 64)));
}

static LLVMValueRef dot4(Gen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    /* vpdpbusd: unsigned first, signed second */
    bool b_signed = comp_is_signed((Comp)g->p->s.b);
    LLVMValueRef args[] = {acc, b_signed ? a : b, b_signed ? b : a};
    const char *name = g->p->lanes == 16 ? "llvm.x86.avx512.vpdpbusd.512"
        : g->p->lanes == 8 ? "llvm.x86.avx512.vpdpbusd.256" : "llvm.x86.avx512.vpdpbusd.128";
    return call(g, name, NULL, 0, args, 3);
}

static LLVMValueRef dot2(Gen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef args[] = {acc, a, b};
    const char *name = g->p->lanes == 16 ? "llvm.x86.avx512.vpdpwssd.512"
        : g->p->lanes == 8 ? "llvm.x86.avx512.vpdpwssd.256" : "llvm.x86.avx512.vpdpwssd.128";
    return call(g, name, NULL, 0, args, 3);
}

/* Puts a piece's elements into its lanes of `v`, the others kept. */
static LLVMValueRef place(Gen *g, LLVMValueRef v, LLVMValueRef part, const Piece *pc)
{
    int wide[MOST_LANES], mix[MOST_LANES];
    uint32_t n = g->p->lanes;
    if (pc->width == n)
        return part;
    for (uint32_t i = 0; i < n; i++) {
        bool in = i >= pc->lane && i < (uint32_t)pc->lane + pc->width;
        wide[i] = in ? (int)(i - pc->lane) : -1;
        mix[i] = in ? (int)(n + i) : (int)i;
    }
    return shuffle(g, v, shuffle(g, part, NULL, wide, n), mix, n);
}

static LLVMValueRef extract(Gen *g, LLVMValueRef v, const Piece *pc)
{
    int lanes[MOST_LANES];
    if (pc->width == g->p->lanes)
        return v;
    for (uint32_t i = 0; i < pc->width; i++)
        lanes[i] = (int)(pc->lane + i);
    return shuffle(g, v, NULL, lanes, pc->width);
}

/* One vector of a row-major B's unit row: `group` rows of each piece, interleaved. */
static LLVMValueRef b_vector(Gen *g, const Piece *pieces, const TileView *tiles, LLVMValueRef k)
{
    const Plan *p = g->p;
    Comp c = (Comp)p->s.b;
    LLVMValueRef out = LLVMConstNull(g->vector);
    for (uint32_t i = 0; i < p->max_pieces && pieces[i].width; i++) {
        const Piece *pc = &pieces[i];
        uint32_t w = pc->width;
        LLVMValueRef row = at(g, tiles[i].ptr, mul(g, k, tiles[i].stride)), part;
        row = at(g, row, piece_column(g, pc, comp_bytes(c)));
        if (p->group == 1) {
            part = load_units(g, row, c, w);
        } else {
            LLVMTypeRef raw = LLVMVectorType(comp_type(g->cx, c), w);
            LLVMValueRef r[4];
            int lanes[MOST_LANES], join[MOST_LANES];
            for (uint32_t q = 0; q < p->group; q++)
                r[q] = load(g, raw, at(g, row, mul(g, k64(g, q), tiles[i].stride)), comp_bytes(c));
            for (uint32_t j = 0; j < 4 * w; j++)
                join[j] = (int)j;
            for (uint32_t j = 0; j < p->group * w; j++)
                lanes[j] = (int)(j % p->group * w + j / p->group);
            LLVMValueRef lo = shuffle(g, r[0], r[1], join, 2 * w);
            if (p->group == 4)
                lo = shuffle(g, lo, shuffle(g, r[2], r[3], join, 2 * w), join, 4 * w);
            part = shuffle(g, lo, NULL, lanes, p->group * w);
            part = LLVMBuildBitCast(g->b, part, LLVMVectorType(g->i32, w), "");
        }
        out = place(g, out, part, pc);
    }
    return out;
}

/* Four panel rows at once from a column-major B: 4 units of each of `lanes` columns, transposed.
 * Each load brings 4 units of one column; rows g, g + 4, g + 8... share a vector (rule 10). */
static void b_transposed4(Gen *g, const TileView *t, const Piece *own, LLVMValueRef unit,
                          LLVMValueRef out[4])
{
    const Plan *p = g->p;
    Comp c = (Comp)p->s.b;
    uint32_t n = p->lanes, segments = n / 4;
    LLVMTypeRef raw = p->engine == ENGINE_MULADD ? comp_type(g->cx, c) : g->i32;
    LLVMValueRef offset = mul(g, unit, k64(g, (uint64_t)p->group * comp_bytes(c))), v[4];
    LLVMValueRef first = at(g, at(g, t->ptr, mul(g, piece_column(g, own, 1), t->stride)), offset);
    int lanes[MOST_LANES];
    for (uint32_t q = 0; q < 4; q++) {
        v[q] = LLVMGetPoison(LLVMVectorType(raw, n));
        for (uint32_t s = 0; s < segments; s++) {
            LLVMValueRef col = mul(g, k64(g, s * 4 + q), t->stride);
            LLVMValueRef part = load(g, LLVMVectorType(raw, 4), at(g, first, col), comp_bytes(c));
            Piece pc = {0, 0, 4, (uint16_t)(s * 4)};
            v[q] = place(g, v[q], part, &pc);
        }
        if (p->engine == ENGINE_MULADD)
            v[q] = widen(g, v[q], c);
    }
    LLVMValueRef w[4];          /* two butterfly stages within each run of 4 lanes */
    /* w[0], w[1]: rows 0 and 1 zipped; w[2], w[3]: rows 2 and 3 */
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t hi = i & 1;
        for (uint32_t l = 0; l < n; l++)
            lanes[l] = (int)((l & 1 ? n : 0) + (l & ~3u) + hi * 2 + (l & 3) / 2);
        w[i] = shuffle(g, v[i & 2], v[(i & 2) + 1], lanes, n);
    }
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t hi = i & 1;
        for (uint32_t l = 0; l < n; l++)
            lanes[l] = (int)((l & 2 ? n : 0) + (l & ~3u) + hi * 2 + (l & 1));
        out[i] = shuffle(g, w[i / 2], w[i / 2 + 2], lanes, n);
    }
}

/* A column-major B that does not come in whole 4 x lanes blocks: element by element. */
static LLVMValueRef b_gathered(Gen *g, const Piece *pieces, const TileView *tiles,
                               LLVMValueRef unit)
{
    const Plan *p = g->p;
    Comp c = (Comp)p->s.b;
    LLVMValueRef out = LLVMConstNull(g->vector);
    LLVMValueRef offset = mul(g, unit, k64(g, (uint64_t)p->group * comp_bytes(c)));
    for (uint32_t i = 0; i < p->max_pieces && pieces[i].width; i++) {
        LLVMValueRef col = mul(g, piece_column(g, &pieces[i], 1), tiles[i].stride);
        LLVMValueRef first = at(g, at(g, tiles[i].ptr, col), offset);
        for (uint32_t j = 0; j < pieces[i].width; j++) {
            LLVMValueRef q = at(g, first, mul(g, k64(g, j), tiles[i].stride)), x;
            if (p->engine == ENGINE_MULADD)
                x = widen(g, load(g, comp_type(g->cx, c), q, comp_bytes(c)), c);
            else
                x = load(g, g->i32, q, comp_bytes(c));
            out = LLVMBuildInsertElement(g->b, out, x,
                                         LLVMConstInt(g->i32, pieces[i].lane + j, false), "");
        }
    }
    return out;
}

/* vectors of a panel row that one loop makes: whole cache lines of B, side by side */
enum { PACKED_AT_ONCE = 4 };

/* Vectors [first, first + n) of the panel over all steps and units, with the column sums that undo
 * A's bias. */
static void pack_b_columns(Gen *g, uint32_t first, uint32_t n)
{
    const Plan *p = g->p;
    const Piece *pieces = &p->pieces[first * p->max_pieces];
    bool blocks = p->s.b_col && p->max_pieces == 1 && p->s.N % p->lanes == 0 && p->units % 4 == 0;
    uint32_t at_once = blocks ? 4 : 1, vector_bytes = p->lanes * p->unit, sums = p->flip_a ? n : 0;
    LLVMValueRef ones = splat_int(g->i32, 0x01010101, p->lanes), carry[PACKED_AT_ONCE], rows[4];
    for (uint32_t v = 0; v < n; v++)
        carry[v] = LLVMConstNull(g->vector);
    Loop steps = loop_begin(g, carry, sums);
    TileView tiles[PACKED_AT_ONCE][MOST_LANES];
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t i = 0; i < p->max_pieces && pieces[v * p->max_pieces + i].width; i++)
            tiles[v][i] = b_tile(g, steps.i, piece_tile(g, &pieces[v * p->max_pieces + i]));
    Loop units = loop_begin(g, steps.phi, sums);
    memcpy(carry, units.phi, sums * sizeof(carry[0]));
    LLVMValueRef unit = add(g, mul(g, steps.i, k64(g, p->units)), units.i);
    for (uint32_t v = 0; v < n; v++) {
        const Piece *own = &pieces[v * p->max_pieces];
        if (blocks)
            b_transposed4(g, &tiles[v][0], own, units.i, rows);
        else if (p->s.b_col)
            rows[0] = b_gathered(g, own, tiles[v], units.i);
        else
            rows[0] = b_vector(g, own, tiles[v], mul(g, units.i, k64(g, p->group)));
        for (uint32_t q = 0; q < at_once; q++) {
            LLVMValueRef to =
                at(g, panel(g), mul(g, add(g, unit, k64(g, q)), k64(g, row_bytes(p))));
            store(g, rows[q], at(g, to, vector_offset(g, first + v)), vector_bytes);
            if (sums)
                carry[v] = dot4(g, carry[v], ones, rows[q]);
        }
    }
    loop_end(g, &units, at_once, k64(g, p->units), carry);
    loop_end(g, &steps, 1, k64(g, p->s.steps), carry);
    for (uint32_t v = 0; v < sums; v++) {   /* 128 * sum, with the sign that is added to C */
        LLVMValueRef x = LLVMBuildShl(g->b, carry[v], splat_int(g->i32, 7, p->lanes), "");
        if (comp_is_signed((Comp)p->s.b))
            x = LLVMBuildNeg(g->b, x, "");
        store(g, x, at(g, column_sums(g), vector_offset(g, first + v)), vector_bytes);
    }
}

/* A tile's rows (or, column-major, its units) converted into scratch in the order they have. */
static void pack_a_tile(Gen *g, const TileView *t, LLVMValueRef tile_row, LLVMValueRef step)
{
    const Plan *p = g->p;
    const GemmShape *s = &p->s;
    Comp c = (Comp)s->a;
    bool col = s->a_col;
    uint32_t run = col ? s->M : p->units;           /* units that lie side by side in scratch */
    uint32_t rows = col ? p->units : s->M;
    uint64_t pitch =
        col ? (uint64_t)s->rows * s->M * p->unit : (uint64_t)s->steps * p->units * p->unit;
    LLVMValueRef base = col
        ? add(g, mul(g, mul(g, step, k64(g, p->units)), k64(g, pitch)),
              mul(g, tile_row, k64(g, (uint64_t)s->M * p->unit)))
        : add(g, mul(g, mul(g, tile_row, k64(g, s->M)), k64(g, pitch)),
              mul(g, step, k64(g, (uint64_t)p->units * p->unit)));
    LLVMValueRef flip = splat_int(g->i32, 0x80808080, 16), none = NULL;
    Loop l = loop_begin(g, &none, 0);
    LLVMValueRef to = at(g, packed_a(g), add(g, base, mul(g, l.i, k64(g, pitch))));
    LLVMValueRef from = at(g, t->ptr, mul(g, l.i, mul(g, t->stride, k64(g, col ? p->group : 1))));
    for (uint32_t done = 0; done < run;) {
        uint32_t n = MIN(16u, run - done);
        while (n & (n - 1))
            n &= n - 1;                             /* powers of two: 16, then what is left */
        LLVMValueRef x;
        if (col && p->group > 1) {
            Piece pc = {0, (uint16_t)done, (uint16_t)n, 0};
            Plan q = *p;
            q.lanes = n;
            q.max_pieces = 1;
            q.s.b = s->a;
            Gen h = *g;
            h.p = &q;
            h.more_columns = NULL;
            h.vector = LLVMVectorType(g->i32, n);
            TileView row = {from, t->stride};
            x = b_vector(&h, &pc, &row, k64(g, 0));
        } else {
            uint64_t unit = (uint64_t)p->group * comp_bytes(c);
            x = load_units(g, at(g, from, k64(g, done * unit)), c, n);
        }
        if (p->flip_a) {
            int first[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
            x = LLVMBuildXor(g->b, x, shuffle(g, flip, NULL, first, n), "");
        }
        store(g, x, at(g, to, k64(g, (uint64_t)done * p->unit)), p->unit);
        done += n;
    }
    loop_end(g, &l, 1, k64(g, rows), NULL);
}

static void pack_b(Gen *g)
{
    for (uint32_t v = 0; g->p->pack_b && v < g->p->n_vectors;) {
        Run r = run_begin(g, v, PACKED_AT_ONCE);
        pack_b_columns(g, v, r.n);
        v = run_end(g, &r);
    }
}

static void pack_a(Gen *g)
{
    LLVMValueRef none = NULL;
    if (!g->p->pack_a)
        return;
    Loop rows = loop_begin(g, &none, 0);
    Loop steps = loop_begin(g, &none, 0);
    TileView t = a_tile(g, rows.i, steps.i);
    pack_a_tile(g, &t, rows.i, steps.i);
    loop_end(g, &steps, 1, k64(g, g->p->s.steps), NULL);
    loop_end(g, &rows, 1, k64(g, g->p->s.rows), NULL);
}

/* ---- looking ahead --------------------------------------------------------------------------- */

static LLVMValueRef ahead_list(Gen *g) { return at(g, g->scratch, k64(g, list_offset(g->p))); }

/* Levels as in LLVM: 3 is the nearest cache, 2 the second. */
static void prefetch(Gen *g, LLVMValueRef p, uint32_t bytes, uint32_t level)
{
    LLVMValueRef zero = LLVMConstInt(g->i32, 0, false), near = LLVMConstInt(g->i32, level, false);
    for (uint32_t k = 0; k < bytes; k += LINE) {
        LLVMValueRef args[] = {at(g, p, k64(g, k)), zero, near, LLVMConstInt(g->i32, 1, false)};
        call(g, "llvm.prefetch", &g->ptr, 1, args, 4);
    }
}

/* The lines' addresses, `far` bytes on from the tiles of this call, from entry `first` of the list
 * on, in the order of memory. */
static void list_lines(Gen *g, bool of_b, LLVMValueRef far, uint32_t first)
{
    const GemmShape *s = &g->p->s;
    Lines x = lines_ahead(s, of_b);
    uint32_t n = x.beside * x.each;
    if (!x.lines)
        return;
    LLVMValueRef none = NULL;
    LLVMValueRef p = LLVMGetPoison(LLVMVectorType(g->i64, n)), stride = p;
    Loop tiles = loop_begin(g, &none, 0);
    for (uint32_t i = 0; i < x.beside; i++) {
        LLVMValueRef entry = add(g, mul(g, tiles.i, k64(g, x.apart_by)), k64(g, i * x.beside_by));
        TileView t = table_at(g, of_b ? n_a(s) : 0, entry);
        LLVMValueRef start = add(g, LLVMBuildPtrToInt(g->b, t.ptr, g->i64, ""), far);
        for (uint32_t k = 0; k < x.each; k++) {
            LLVMValueRef lane = LLVMConstInt(g->i32, i * x.each + k, false);
            p = LLVMBuildInsertElement(g->b, p, add(g, start, k64(g, k * LINE)), lane, "");
            stride = LLVMBuildInsertElement(g->b, stride, t.stride, lane, "");
        }
    }
    LLVMValueRef to = at(g, ahead_list(g), add(g, k64(g, 8ull * first),
                                               mul(g, tiles.i, k64(g, 8ull * n * x.lines))));
    Loop lines = loop_begin(g, &p, 1);
    store(g, lines.phi[0], at(g, to, mul(g, lines.i, k64(g, 8ull * n))), 8);
    p = add(g, lines.phi[0], stride);
    loop_end(g, &lines, 1, k64(g, x.lines), &p);
    loop_end(g, &tiles, 1, k64(g, x.apart), NULL);
}

/* B first: a call packs all of it before it looks at A. */
static void list_ahead(Gen *g)
{
    LLVMValueRef a = LLVMGetParam(g->fn, 3), b = LLVMGetParam(g->fn, 4);
    Lines of_b = lines_ahead(&g->p->s, true);
    list_lines(g, true, g->p->transposed ? a : b, 0);
    list_lines(g, false, g->p->transposed ? b : a, n_lines(&of_b));
}

/* Asks for the list's lines, some in each of `of` places that a call comes to in turn, as bursts
 * would wait for themselves. To the second cache: there is more room for requests on the way. */
static void ask(Gen *g, LLVMValueRef place, uint32_t of)
{
    uint32_t n = n_ahead(&g->p->s), each = n ? (n + of - 1) / of : 0;
    LLVMValueRef none = NULL;
    if (!each)
        return;
    Loop l = loop_begin(g, &none, 0);
    LLVMValueRef j = add(g, mul(g, place, k64(g, each)), l.i);
    if (n != of * each) {
        j = mul(g, j, k64(g, ((uint64_t)n << 16) / (of * each)));
        j = LLVMBuildLShr(g->b, j, k64(g, 16), "");
    }
    prefetch(g, load(g, g->ptr, at(g, ahead_list(g), mul(g, j, k64(g, 8))), 8), LINE, 2);
    loop_end(g, &l, 1, k64(g, each), NULL);
}

/* ---- the micro-kernel ------------------------------------------------------------------------ */

typedef struct Block {
    LLVMValueRef tile, row;     /* grid row; first row within the tile */
    LLVMValueRef number;        /* of this block in the call */
    uint32_t rows, first, n;    /* rows; vectors [first, first + n) */
} Block;

static LLVMValueRef c_address(Gen *g, const Block *k, uint32_t r, const Piece *pc)
{
    TileView t = c_tile(g, k->tile, piece_tile(g, pc));
    LLVMValueRef row = mul(g, add(g, k->row, k64(g, r)), t.stride);
    return at(g, at(g, t.ptr, row), piece_column(g, pc, comp_bytes((Comp)g->p->s.c)));
}

static LLVMValueRef load_c(Gen *g, const Block *k, uint32_t r, uint32_t v)
{
    const Plan *p = g->p;
    Comp c = (Comp)p->s.c;
    LLVMValueRef out = LLVMConstNull(LLVMVectorType(comp_type(g->cx, c), p->lanes));
    for (uint32_t i = 0; i < p->max_pieces; i++) {
        const Piece *pc = &p->pieces[(k->first + v) * p->max_pieces + i];
        if (pc->width)
            out = place(g, out, load(g, LLVMVectorType(comp_type(g->cx, c), pc->width),
                                     c_address(g, k, r, pc), comp_bytes(c)), pc);
    }
    return widen(g, out, c);
}

static void store_c(Gen *g, const Block *k, uint32_t r, uint32_t v, LLVMValueRef x)
{
    const Plan *p = g->p;
    x = narrow(g, x);
    for (uint32_t i = 0; i < p->max_pieces; i++) {
        const Piece *pc = &p->pieces[(k->first + v) * p->max_pieces + i];
        if (pc->width)
            store(g, extract(g, x, pc), c_address(g, k, r, pc), comp_bytes((Comp)p->s.c));
    }
}

/* What the sum starts from: C, or nothing when the saturating addition comes last. */
static LLVMValueRef first_sum(Gen *g, const Block *k, uint32_t r, uint32_t v)
{
    const Plan *p = g->p;
    LLVMValueRef x = p->s.saturate ? LLVMConstNull(g->vector) : load_c(g, k, r, v);
    if (p->flip_a) {
        LLVMValueRef sums = at(g, column_sums(g), vector_offset(g, k->first + v));
        x = LLVMBuildAdd(g->b, x, load(g, g->vector, sums, 4), "");
    }
    return x;
}

static void last_sum(Gen *g, const Block *k, uint32_t r, uint32_t v, LLVMValueRef x)
{
    if (g->p->s.saturate) {
        LLVMValueRef args[] = {x, load_c(g, k, r, v)};
        bool s = comp_is_signed((Comp)g->p->s.c);
        x = call(g, s ? "llvm.sadd.sat" : "llvm.uadd.sat", &g->vector, 1, args, 2);
    }
    store_c(g, k, r, v, x);
}

static LLVMValueRef muladd(Gen *g, LLVMValueRef acc, LLVMValueRef a, LLVMValueRef b)
{
    switch (g->p->engine) {
    case ENGINE_DOT4: return dot4(g, acc, a, b);
    case ENGINE_DOT2: return dot2(g, acc, a, b);
    case ENGINE_TILES:
    case ENGINE_MULADD: break;
    }
    if (!comp_is_float(g->p->compute))
        return LLVMBuildAdd(g->b, acc, LLVMBuildMul(g->b, a, b, ""), "");
    LLVMValueRef args[] = {a, b, acc};
    return call(g, "llvm.fmuladd", &g->vector, 1, args, 3);
}

/* Where a block's row and unit of A and the panel's rows are found. */
typedef struct Operands {
    /* by row: address of unit 0; bytes from unit to unit; by vector: the same */
    LLVMValueRef a[MOST_REGISTERS], a_unit, b[MOST_VECTORS], b_unit;
} Operands;

/* The same address, of which LLVM does not know that it is another's plus a stride: it would
 * compute the rows' addresses from one another in every iteration. */
static LLVMValueRef opaque(Gen *g, LLVMValueRef p)
{
    LLVMTypeRef type = LLVMFunctionType(g->ptr, &g->ptr, 1, false);
    LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, "=r,0", 4, false, false,
                                            LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(g->b, type, nothing, &p, 1, "");
}

static Operands operands(Gen *g, const Block *k, LLVMValueRef step)
{
    const Plan *p = g->p;
    const GemmShape *s = &p->s;
    Operands o;
    LLVMValueRef row = k->row, base, a_row;
    if (p->pack_a) {
        uint64_t all_rows = (uint64_t)s->rows * s->M, all_units = (uint64_t)s->steps * p->units;
        a_row = k64(g, s->a_col ? p->unit : all_units * p->unit);
        o.a_unit = k64(g, s->a_col ? all_rows * p->unit : p->unit);
        base = at(g, packed_a(g), mul(g, mul(g, step, k64(g, p->units)), o.a_unit));
        row = add(g, row, mul(g, k->tile, k64(g, s->M)));
    } else {
        TileView t = a_tile(g, k->tile, step);
        base = t.ptr;
        a_row = s->a_col ? k64(g, comp_bytes((Comp)s->a)) : t.stride;
        o.a_unit = s->a_col ? t.stride : k64(g, p->unit);
    }
    base = at(g, base, mul(g, row, a_row));
    for (uint32_t r = 0; r < k->rows; r++)
        o.a[r] = LLVMIsConstant(a_row) ? at(g, base, mul(g, k64(g, r), a_row))
            : opaque(g, at(g, base, mul(g, k64(g, r), a_row)));
    for (uint32_t v = 0; v < k->n; v++) {
        if (p->pack_b) {
            LLVMValueRef to = mul(g, step, k64(g, p->units * row_bytes(p)));
            o.b[v] = at(g, at(g, panel(g), to), vector_offset(g, k->first + v));
            o.b_unit = k64(g, row_bytes(p));
        } else {
            const Piece *pc = &p->pieces[(k->first + v) * p->max_pieces];
            TileView t = b_tile(g, step, piece_tile(g, pc));
            o.b[v] = at(g, t.ptr, piece_column(g, pc, p->unit));
            o.b_unit = t.stride;
        }
    }
    return o;
}

static uint32_t blocks_down(const Plan *p)
{
    return (p->s.M + p->block_rows - 1) / p->block_rows * p->s.rows;
}
static uint32_t blocks_across(const Plan *p)
{
    return (p->n_vectors + p->block_vectors - 1) / p->block_vectors;
}
static uint32_t n_blocks(const Plan *p) { return blocks_down(p) * blocks_across(p); }

/* Units of a block from one place where it asks for lines to the next; they divide a tile's. */
static uint32_t units_between(const Plan *p)
{
    uint32_t n = n_ahead(&p->s), all = n_blocks(p) * p->units * p->s.steps, between = 1;
    while (n && p->units % (between * 2) == 0 && all / (between * 2) >= n)
        between *= 2;
    return between;
}

static void ask_in_block(Gen *g, const Block *k, LLVMValueRef step, LLVMValueRef place)
{
    uint32_t in_tile = g->p->units / units_between(g->p), in_block = in_tile * g->p->s.steps;
    LLVMValueRef here = add(g, mul(g, step, k64(g, in_tile)), place);
    ask(g, add(g, mul(g, k->number, k64(g, in_block)), here), n_blocks(g->p) * in_block);
}

/* One unit of k: acc += a column of A times a row of B. */
static void block_unit(Gen *g, const Block *k, const Operands *o, LLVMValueRef unit,
                       LLVMValueRef *acc)
{
    const Plan *p = g->p;
    LLVMValueRef a_offset = mul(g, unit, o->a_unit), b_offset = mul(g, unit, o->b_unit);
    LLVMValueRef b[MOST_VECTORS];
    for (uint32_t v = 0; v < k->n; v++)
        b[v] = load(g, g->vector, at(g, o->b[v], b_offset), p->unit);
    for (uint32_t r = 0; r < k->rows; r++) {
        LLVMValueRef x = load(g, g->lane, at(g, o->a[r], a_offset), p->pack_a ? p->unit
                              : comp_bytes((Comp)p->s.a));
        x = arith_splat(g->b, x, p->lanes);
        for (uint32_t v = 0; v < k->n; v++)
            acc[r * k->n + v] = muladd(g, acc[r * k->n + v], x, b[v]);
    }
}

/* Nothing that reads memory moves across: LLVM would move the broadcasts of several k together and
 * spill them. */
static void keep_apart(Gen *g)
{
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->cx), NULL, 0, false);
    LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, "~{memory}", 10, true, false,
                                            LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(g->b, type, nothing, NULL, 0, "");
}

/* Units of k an iteration; one of short kernels, whose compile time more are not worth. */
static uint32_t units_at_once(const Plan *p)
{
    enum { UNROLL = 4, SHORT = 16 };
    uint32_t run = n_ahead(&p->s) ? units_between(p) : p->units;
    return p->units * p->s.steps <= SHORT || run % UNROLL ? 1 : UNROLL;
}

static void block(Gen *g, const Block *k)
{
    const Plan *p = g->p;
    uint32_t n = k->rows * k->n, at_once = units_at_once(p);
    LLVMValueRef acc[MOST_REGISTERS];
    for (uint32_t i = 0; i < n; i++)
        acc[i] = first_sum(g, k, i / k->n, i % k->n);
    /* When the steps lie one behind the other, one pass over all their units saves the outer loop's
     * cost. */
    LLVMValueRef n_steps = k64(g, p->s.steps), n_units = k64(g, p->units), n_places = k64(g, 1);
    n_steps = LLVMBuildSelect(g->b, g->contiguous, k64(g, 1), n_steps, "");
    n_units =
        LLVMBuildSelect(g->b, g->contiguous, k64(g, (uint64_t)p->units * p->s.steps), n_units, "");
    if (n_ahead(&p->s)) {
        LLVMValueRef between = k64(g, units_between(p));
        n_places = LLVMBuildUDiv(g->b, n_units, between, "");
        n_units = between;
    }
    Loop steps = loop_begin(g, acc, n);
    Operands o = operands(g, k, steps.i);
    Loop places = loop_begin(g, steps.phi, n);
    ask_in_block(g, k, steps.i, places.i);
    Loop units = loop_begin(g, places.phi, n);
    memcpy(acc, units.phi, n * sizeof(acc[0]));
    LLVMValueRef unit = add(g, mul(g, places.i, n_units), units.i);
    for (uint32_t u = 0; u < at_once; u++) {
        if (u)
            keep_apart(g);
        block_unit(g, k, &o, add(g, unit, k64(g, u)), acc);
    }
    loop_end(g, &units, at_once, n_units, acc);
    loop_end(g, &places, 1, n_places, acc);
    loop_end(g, &steps, 1, n_steps, acc);
    for (uint32_t i = 0; i < n; i++)
        last_sum(g, k, i / k->n, i % k->n, acc[i]);
}

/* i1: every step's A tiles (and B tiles, where they are read in place) follow the one before. */
static LLVMValueRef steps_contiguous(Gen *g)
{
    const Plan *p = g->p;
    const GemmShape *s = &p->s;
    bool in_place_a = !p->pack_a || p->engine == ENGINE_TILES;
    if (s->steps == 1 || (!in_place_a && p->pack_b))
        return LLVMConstInt(g->i1, 1, false);
    LLVMValueRef all = LLVMConstInt(g->i1, 1, false);
    Loop l = loop_begin(g, &all, 1);
    LLVMValueRef ok = l.phi[0];
    for (int b = 0; b < 2; b++) {
        if (b ? p->pack_b : !in_place_a)
            continue;
        uint32_t n = b ? s->cols : s->rows;
        for (uint32_t i = 0; i < n; i++) {
            LLVMValueRef next = add(g, l.i, k64(g, 1));
            TileView t = b ? b_tile(g, l.i, k64(g, i)) : a_tile(g, k64(g, i), l.i);
            TileView u = b ? b_tile(g, next, k64(g, i)) : a_tile(g, k64(g, i), next);
            bool by_stride = b ? !s->b_col : s->a_col;
            LLVMValueRef far = by_stride ? mul(g, t.stride, k64(g, s->K))
                : k64(g, (uint64_t)s->K * comp_bytes((Comp)(b ? s->b : s->a)));
            LLVMValueRef same = LLVMBuildICmp(g->b, LLVMIntEQ, u.ptr, at(g, t.ptr, far), "");
            LLVMValueRef pitch = LLVMBuildICmp(g->b, LLVMIntEQ, u.stride, t.stride, "");
            ok = LLVMBuildAnd(g->b, ok, LLVMBuildAnd(g->b, same, pitch, ""), "");
        }
    }
    loop_end(g, &l, 1, k64(g, s->steps - 1u), &ok);
    return ok;
}

/* A that is read in place by broadcasts comes a line at a time, and a miss stops the micro-kernel.
 * So each block asks for the lines of the next one; the first block's are asked for before B is
 * packed. A burst of all of them would wait for itself. Only where the caller says that they are
 * far away. */
static bool asks_by_block(const Plan *p)
{
    const GemmShape *s = &p->s;
    return p->engine != ENGINE_TILES && !p->pack_a && !s->a_near && !s->a_col && !s->ahead_a;
}

static void ask_rows(Gen *g, LLVMValueRef tile, LLVMValueRef row)
{
    const GemmShape *s = &g->p->s;
    LLVMValueRef none = NULL;
    if (!asks_by_block(g->p))
        return;
    LLVMBasicBlockRef far = LLVMAppendBasicBlockInContext(g->cx, g->fn, "far");
    LLVMBasicBlockRef go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "asked");
    LLVMBuildCondBr(g->b, LLVMGetParam(g->fn, 2), far, go);
    LLVMPositionBuilderAtEnd(g->b, far);
    Loop steps = loop_begin(g, &none, 0);
    TileView t = a_tile(g, tile, steps.i);
    for (uint32_t r = 0; r < g->p->block_rows; r++)
        prefetch(g, at(g, t.ptr, mul(g, add(g, row, k64(g, r)), t.stride)),
                 s->K * comp_bytes((Comp)s->a), 3);
    loop_end(g, &steps, 1, k64(g, s->steps), NULL);
    LLVMBuildBr(g->b, go);
    LLVMPositionBuilderAtEnd(g->b, go);
}

static void ask_next(Gen *g, LLVMValueRef tile, LLVMValueRef row)
{
    const Plan *p = g->p;
    LLVMValueRef next = add(g, row, k64(g, p->block_rows)), last = k64(g, p->s.rows - 1u);
    LLVMValueRef inside = LLVMBuildICmp(g->b, LLVMIntULE, next, k64(g, p->s.M - p->block_rows), "");
    LLVMValueRef end = LLVMBuildICmp(g->b, LLVMIntEQ, tile, last, "");
    LLVMValueRef below = LLVMBuildSelect(g->b, end, tile, add(g, tile, k64(g, 1)), "");
    ask_rows(g, LLVMBuildSelect(g->b, inside, tile, below, ""),
             LLVMBuildSelect(g->b, inside, next, k64(g, 0), ""));
}

/* All vectors of a block's rows: what the rows have of A is read once, however wide C is. Where its
 * stride is a power of two it does not stay in any cache. */
static void block_rows(Gen *g, Block k)
{
    for (k.first = 0; k.first < g->p->n_vectors;) {
        Run run = run_begin(g, k.first, g->p->block_vectors);
        k.n = run.n;
        LLVMValueRef down = k.number, across = k64(g, k.first / g->p->block_vectors);
        if (g->more_vectors)
            across = add(g, across, run.loop.i);
        k.number = add(g, mul(g, down, k64(g, blocks_across(g->p))), across);
        block(g, &k);
        k.number = down;
        k.first = run_end(g, &run);
    }
}

static void blocks(Gen *g)
{
    const Plan *p = g->p;
    uint32_t whole = p->s.M / p->block_rows * p->block_rows;
    uint32_t each = (p->s.M + p->block_rows - 1) / p->block_rows;
    LLVMValueRef none = NULL;
    Loop tiles = loop_begin(g, &none, 0);
    Loop rows = loop_begin(g, &none, 0);
    LLVMValueRef part = LLVMBuildUDiv(g->b, rows.i, k64(g, p->block_rows), "");
    LLVMValueRef first = mul(g, tiles.i, k64(g, each));
    ask_next(g, tiles.i, rows.i);
    block_rows(g, (Block){.tile = tiles.i, .row = rows.i, .number = add(g, first, part),
                          .rows = p->block_rows});
    loop_end(g, &rows, p->block_rows, k64(g, whole), NULL);
    if (whole < p->s.M)
        block_rows(g, (Block){.tile = tiles.i, .row = k64(g, whole),
                              .number = add(g, first, k64(g, each - 1)),
                              .rows = p->s.M - whole});
    loop_end(g, &tiles, 1, k64(g, p->s.rows), NULL);
}

/* ---- tile registers (AMX) -------------------------------------------------------------------- */

enum { TILE_C = 0, TILE_A = 4, TILE_B = 6 };    /* C: 2 x 2, A: 2, B: 2 of the eight */

static void tile_op(Gen *g, const char *name, uint32_t t0, uint32_t t1, uint32_t t2)
{
    LLVMValueRef args[] = {LLVMConstInt(g->i8, t0, false), LLVMConstInt(g->i8, t1, false),
                           LLVMConstInt(g->i8, t2, false)};
    call(g, name, NULL, 0, args, 3);
}

static void tile_move(Gen *g, const char *name, uint32_t tile, LLVMValueRef p, LLVMValueRef stride)
{
    LLVMValueRef args[] = {LLVMConstInt(g->i8, tile, false), p, stride};
    call(g, name, NULL, 0, args, 3);
}

/* All eight tiles 16 rows of 64 bytes (Intel SDM, LDTILECFG: palette 1). */
static void tile_configure(Gen *g)
{
    uint8_t config[64] = {1};
    for (uint32_t t = 0; t < 8; t++) {
        config[16 + 2 * t] = 64;
        config[48 + t] = 16;
    }
    LLVMValueRef bytes[64];
    for (uint32_t i = 0; i < 64; i++)
        bytes[i] = LLVMConstInt(g->i8, config[i], false);
    LLVMValueRef init = LLVMConstArray2(g->i8, bytes, 64);
    LLVMValueRef global = LLVMGetNamedGlobal(g->gemm->module, "tile_config");
    if (!global) {
        global = LLVMAddGlobal(g->gemm->module, LLVMTypeOf(init), "tile_config");
        LLVMSetInitializer(global, init);
        LLVMSetLinkage(global, LLVMPrivateLinkage);
        LLVMSetGlobalConstant(global, true);
        LLVMSetAlignment(global, 64);
    }
    call(g, "llvm.x86.ldtilecfg", NULL, 0, &global, 1);
}

/* Sixteen rows of the grid, counted through: the address of their A at byte `k`, and its stride. */
static TileView tile_a(Gen *g, LLVMValueRef q, LLVMValueRef k)
{
    const Plan *p = g->p;
    uint64_t step_bytes = (uint64_t)p->units * p->unit, all = step_bytes * p->s.steps;
    LLVMValueRef each = k64(g, p->s.M / 16), k16 = k64(g, 16), zero = k64(g, 0);
    LLVMValueRef row = mul(g, LLVMBuildURem(g->b, q, each, ""), k16);
    LLVMValueRef tile = LLVMBuildUDiv(g->b, q, each, "");
    TileView v;
    if (!p->pack_a) {
        LLVMValueRef step = LLVMBuildUDiv(g->b, k, k64(g, step_bytes), "");
        v = a_tile(g, tile, step);
        k = LLVMBuildURem(g->b, k, k64(g, step_bytes), "");
        v.ptr = at(g, v.ptr, mul(g, row, v.stride));
    } else {
        v = a_tile(g, tile, zero);
        LLVMValueRef packed = at(g, packed_a(g), mul(g, q, k64(g, 16 * all)));
        v.ptr =
            LLVMBuildSelect(g->b, g->contiguous, at(g, v.ptr, mul(g, row, v.stride)), packed, "");
        v.stride = LLVMBuildSelect(g->b, g->contiguous, v.stride, k64(g, all), "");
    }
    v.ptr = at(g, v.ptr, k);
    return v;
}

static TileView tile_c(Gen *g, LLVMValueRef q, uint32_t vector)
{
    const Piece *pc = &g->p->pieces[vector * g->p->max_pieces];
    LLVMValueRef each = k64(g, g->p->s.M / 16);
    TileView v = c_tile(g, LLVMBuildUDiv(g->b, q, each, ""), piece_tile(g, pc));
    LLVMValueRef row = mul(g, LLVMBuildURem(g->b, q, each, ""), k64(g, 16));
    v.ptr = at(g, at(g, v.ptr, mul(g, row, v.stride)), piece_column(g, pc, 4));
    return v;
}

static void ask_in_tiles(Gen *g, LLVMValueRef q, uint32_t v, LLVMValueRef k, uint64_t bytes)
{
    const Plan *p = g->p;
    uint32_t across = (p->n_vectors + 1) / 2, down = ((uint32_t)p->s.rows * p->s.M / 16 + 1) / 2;
    uint32_t in_block = (uint32_t)(bytes / 64);
    LLVMValueRef column = k64(g, v / 2), row = LLVMBuildUDiv(g->b, q, k64(g, 2), "");
    if (g->more_vectors)
        column = add(g, column, LLVMBuildUDiv(g->b, g->more_vectors, k64(g, 2), ""));
    LLVMValueRef number = add(g, mul(g, column, k64(g, down)), row);
    ask(g, add(g, mul(g, number, k64(g, in_block)), LLVMBuildUDiv(g->b, k, k64(g, 64), "")),
        across * down * in_block);
}

/* nr x nc tiles of C from the q-th row of tiles and vector v on. */
static void tile_block(Gen *g, LLVMValueRef q, uint32_t nr, uint32_t v, uint32_t nc)
{
    const Plan *p = g->p;
    bool sa = comp_is_signed((Comp)p->s.a), sb = comp_is_signed((Comp)p->s.b);
    const char *product = p->group == 2 ? "llvm.x86.tdpbf16ps"
        : sa ? (sb ? "llvm.x86.tdpbssd" : "llvm.x86.tdpbsud")
        : (sb ? "llvm.x86.tdpbusd" : "llvm.x86.tdpbuud");
    uint64_t bytes = (uint64_t)p->units * p->unit * p->s.steps;
    LLVMValueRef none = NULL;
    for (uint32_t i = 0; i < nr * nc; i++) {
        TileView c = tile_c(g, add(g, q, k64(g, i / nc)), v + i % nc);
        tile_move(g, "llvm.x86.tileloadd64", TILE_C + i, c.ptr, c.stride);
    }
    Loop k = loop_begin(g, &none, 0);
    ask_in_tiles(g, q, v, k.i, bytes);
    for (uint32_t r = 0; r < nr; r++) {
        TileView a = tile_a(g, add(g, q, k64(g, r)), k.i);
        tile_move(g, "llvm.x86.tileloadd64", TILE_A + r, a.ptr, a.stride);
    }
    /* 64 bytes of k are 16 units, that is 16 rows of the panel. */
    LLVMValueRef row = mul(g, LLVMBuildUDiv(g->b, k.i, k64(g, p->unit), ""), k64(g, row_bytes(p)));
    for (uint32_t c = 0; c < nc; c++) {
        LLVMValueRef b = at(g, at(g, panel(g), row), vector_offset(g, v + c));
        tile_move(g, "llvm.x86.tileloadd64", TILE_B + c, b, k64(g, row_bytes(p)));
    }
    for (uint32_t i = 0; i < nr * nc; i++)
        tile_op(g, product, TILE_C + i, TILE_A + i / nc, TILE_B + i % nc);
    loop_end(g, &k, 64, k64(g, bytes), NULL);
    for (uint32_t i = 0; i < nr * nc; i++) {
        TileView c = tile_c(g, add(g, q, k64(g, i / nc)), v + i % nc);
        tile_move(g, "llvm.x86.tilestored64", TILE_C + i, c.ptr, c.stride);
    }
}

static void tiles(Gen *g)
{
    const Plan *p = g->p;
    uint32_t rows = (uint32_t)p->s.rows * p->s.M / 16;
    LLVMValueRef none = NULL;
    /* K of a tile is no whole 64 bytes: steps that lie apart are copied */
    if (p->pack_a) {
        LLVMBasicBlockRef copy = LLVMAppendBasicBlockInContext(g->cx, g->fn, "pack_a");
        LLVMBasicBlockRef go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "tiles");
        LLVMBuildCondBr(g->b, g->contiguous, go, copy);
        LLVMPositionBuilderAtEnd(g->b, copy);
        pack_a(g);
        LLVMBuildBr(g->b, go);
        LLVMPositionBuilderAtEnd(g->b, go);
    }
    tile_configure(g);
    for (uint32_t v = 0; v < p->n_vectors;) {
        Run run = run_begin(g, v, 2);
        uint32_t nc = run.n;
        if (rows > 1) {
            Loop l = loop_begin(g, &none, 0);
            tile_block(g, l.i, 2, v, nc);
            loop_end(g, &l, 2, k64(g, rows / 2 * 2), NULL);
        }
        if (rows % 2)
            tile_block(g, k64(g, rows - 1), 1, v, nc);
        v = run_end(g, &run);
    }
    call(g, "llvm.x86.tilerelease", NULL, 0, NULL, 0);
}

/* ---- the function ---------------------------------------------------------------------------- */

static LLVMTypeRef function_type(LLVMContextRef cx)
{
    LLVMTypeRef ptr = LLVMPointerTypeInContext(cx, 0), i64 = LLVMInt64TypeInContext(cx),
                args[] = { ptr, ptr, LLVMInt1TypeInContext(cx), i64, i64 };
    return LLVMFunctionType(LLVMVoidTypeInContext(cx), args, 5, false);
}

static void add_attribute(LLVMContextRef cx, LLVMValueRef fn, LLVMAttributeIndex at_index,
                          const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, at_index, LLVMCreateEnumAttribute(cx, kind, 0));
}

/* Where blocks do not ask for A by themselves, all its lines are asked for while B is packed: it
 * costs 5 % of a kernel whose data is near, and gains 5 to 10 % of one that streams. */
static void prefetch_a(Gen *g)
{
    const GemmShape *s = &g->p->s;
    uint32_t bytes = comp_bytes((Comp)s->a), lines = s->a_col ? s->K : s->M;
    uint32_t run = (s->a_col ? s->M : s->K) * bytes;
    LLVMValueRef none = NULL;
    if (g->p->pack_a || s->a_near || s->ahead_a || asks_by_block(g->p))
        return;
    LLVMBasicBlockRef cold = LLVMAppendBasicBlockInContext(g->cx, g->fn, "cold");
    LLVMBasicBlockRef go = LLVMAppendBasicBlockInContext(g->cx, g->fn, "warm");
    LLVMBuildCondBr(g->b, LLVMGetParam(g->fn, 2), cold, go);
    LLVMPositionBuilderAtEnd(g->b, cold);
    Loop rows = loop_begin(g, &none, 0);
    Loop steps = loop_begin(g, &none, 0);
    TileView t = a_tile(g, rows.i, steps.i);
    Loop l = loop_begin(g, &none, 0);
    prefetch(g, at(g, t.ptr, mul(g, l.i, t.stride)), run, 3);
    loop_end(g, &l, 1, k64(g, lines), NULL);
    loop_end(g, &steps, 1, k64(g, s->steps), NULL);
    loop_end(g, &rows, 1, k64(g, s->rows), NULL);
    LLVMBuildBr(g->b, go);
    LLVMPositionBuilderAtEnd(g->b, go);
}

static LLVMValueRef emit_function(Gemm *gm, const GemmShape *key)
{
    Plan plan;
    make_plan(gm->arena, &plan, key, gm->target);
    char name[128];
    snprintf(name, sizeof(name), "gemm_%s_%s_%s_%ux%ux%u_%ux%ux%u%s%s%s%s%s",
             comp_name((Comp)key->a), comp_name((Comp)key->b), comp_name((Comp)key->c), key->M,
             key->N, key->K, key->rows, key->cols, key->steps, key->a_col ? "_at" : "",
             key->b_col ? "_bt" : "", key->c_col ? "_ct" : "", key->saturate ? "_sat" : "",
             key->ahead_a || key->ahead_b ? "_ahead" : "");
    LLVMContextRef cx = gm->cx;
    LLVMValueRef fn = LLVMAddFunction(gm->module, name, function_type(cx));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    add_attribute(cx, fn, LLVMAttributeFunctionIndex, "nounwind");
    add_attribute(cx, fn, LLVMAttributeFunctionIndex, "noinline");
    add_attribute(cx, fn, 1, "noalias");
    add_attribute(cx, fn, 2, "noalias");
    Gen g = {.gemm = gm, .p = &plan, .cx = cx, .fn = fn, .b = LLVMCreateBuilderInContext(cx),
             .table = LLVMGetParam(fn, 0), .scratch = LLVMGetParam(fn, 1)};
    g.i1 = LLVMInt1TypeInContext(cx);
    g.i8 = LLVMInt8TypeInContext(cx);
    g.i16 = LLVMInt16TypeInContext(cx);
    g.i32 = LLVMInt32TypeInContext(cx);
    g.i64 = LLVMInt64TypeInContext(cx);
    g.ptr = LLVMPointerTypeInContext(cx, 0);
    g.lane = plan.group > 1 ? g.i32 : comp_type(cx, plan.compute);
    g.vector = LLVMVectorType(g.lane, plan.lanes);
    LLVMPositionBuilderAtEnd(g.b, LLVMAppendBasicBlockInContext(cx, fn, "entry"));
    g.contiguous = steps_contiguous(&g);
    list_ahead(&g);
    prefetch_a(&g);
    ask_rows(&g, k64(&g, 0), k64(&g, 0));
    pack_b(&g);
    if (plan.engine == ENGINE_TILES) {
        tiles(&g);
    } else {
        pack_a(&g);
        blocks(&g);
    }
    LLVMBuildRetVoid(g.b);
    LLVMDisposeBuilder(g.b);
    return fn;
}

static LLVMValueRef function_for(Gemm *g, const GemmShape *s)
{
    for (uint32_t i = 0; i < g->kernels.len; i++)
        if (!memcmp(&g->kernels.data[i].key, s, sizeof(*s)))
            return g->kernels.data[i].fn;
    Kernel k = {*s, emit_function(g, s)};
    vec_push(g->arena, &g->kernels, k);
    return k.fn;
}

static void put(LLVMBuilderRef b, LLVMContextRef cx, LLVMValueRef table, uint32_t *at_pair,
                const TileView *v)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(cx);
    LLVMValueRef index = LLVMConstInt(i64, 2 * *at_pair, false),
                 next = LLVMConstInt(i64, 2 * *at_pair + 1, false);
    LLVMBuildStore(b, v->ptr, LLVMBuildInBoundsGEP2(b, i64, table, &index, 1, ""));
    LLVMBuildStore(b, v->stride, LLVMBuildInBoundsGEP2(b, i64, table, &next, 1, ""));
    ++*at_pair;
}

void gemm_call(Gemm *g, LLVMBuilderRef b, const GemmShape *s, const TileView *a, const TileView *bt,
               const TileView *c, LLVMValueRef table, LLVMValueRef scratch, const GemmWhere *where)
{
    LLVMValueRef none = LLVMConstInt(LLVMInt64TypeInContext(g->cx), 0, false);
    GemmShape here = *s;
    here.ahead_a = here.ahead_b = false;
    LLVMValueRef fn = function_for(g, &here);
    if (s->ahead_a || s->ahead_b)
        fn = LLVMBuildSelect(b, where->asked, function_for(g, s), fn, "");
    LLVMValueRef args[] = {table, scratch, where->far, where->ahead_a ? where->ahead_a : none,
                           where->ahead_b ? where->ahead_b : none};
    uint32_t pair = 0, R = s->rows, S = s->cols, T = s->steps;
    if (!s->c_col) {
        for (uint32_t i = 0; i < R * T; i++)
            put(b, g->cx, table, &pair, &a[i]);
        for (uint32_t i = 0; i < T * S; i++)
            put(b, g->cx, table, &pair, &bt[i]);
        for (uint32_t i = 0; i < R * S; i++)
            put(b, g->cx, table, &pair, &c[i]);
    } else {                    /* the swapped product: see normalise */
        for (uint32_t j = 0; j < S; j++)
            for (uint32_t t = 0; t < T; t++)
                put(b, g->cx, table, &pair, &bt[t * S + j]);
        for (uint32_t t = 0; t < T; t++)
            for (uint32_t i = 0; i < R; i++)
                put(b, g->cx, table, &pair, &a[i * T + t]);
        for (uint32_t j = 0; j < S; j++)
            for (uint32_t i = 0; i < R; i++)
                put(b, g->cx, table, &pair, &c[i * S + j]);
    }
    LLVMBuildCall2(b, function_type(g->cx), fn, args, 5, "");
}
