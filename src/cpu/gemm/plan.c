/* SPDX-License-Identifier: MIT
 *
 * In: a shape and a machine. Out: the plan of its kernel: which product it is (a column-major C is
 * the transposed one), its engine, how columns lie in vectors, the register block, what is packed,
 * and how much scratch memory that takes.
 *
 * Why these shapes: docs/PERFORMANCE.md, sections 1, 4 and 5; cpu/machine/tuning.c.
 */
#include "cpu/gemm/gemm_internal.h"

static uint32_t pow2_at_least(uint32_t n)
{
    uint32_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

static void swap_u16(uint16_t *a, uint16_t *b)
{
    uint16_t t = *a;
    *a = *b;
    *b = t;
}
static void swap_u8(uint8_t *a, uint8_t *b)
{
    uint8_t t = *a;
    *a = *b;
    *b = t;
}

/* C^T = B^T A^T: a column-major C is the row-major one of the swapped product. */
static void normalise(GemmPlan *p)
{
    GemmShape *s = &p->s;
    if (!s->c_col)
        return;
    bool a_col = !s->b_col, b_col = !s->a_col, a_near = s->b_near, prefetch_a = s->prefetch_b;
    p->transposed = true;
    swap_u16(&s->M, &s->N);
    swap_u16(&s->rows, &s->cols);
    swap_u8(&s->a, &s->b);
    s->a_col = a_col;
    s->b_col = b_col;
    s->b_near = s->a_near;
    s->a_near = a_near;
    s->prefetch_b = s->prefetch_a;
    s->prefetch_a = prefetch_a;
    s->c_col = false;
}

static IrComp compute_type(const GemmPlan *p)
{
    const GemmShape *s = &p->s;
    if (p->engine->compute != GEMM_COMPUTE)
        return (IrComp)p->engine->compute;
    if (!comp_is_float(s->c))
        return (IrComp)s->c;
    return s->a == COMP_F64 || s->b == COMP_F64 || s->c == COMP_F64 ? COMP_F64 : COMP_F32;
}

static IrComp operand_type(const GemmPlan *p, IrComp c)
{
    uint8_t t = p->engine->operand;
    return t == GEMM_AS_IT_LIES ? c : t == GEMM_COMPUTE ? p->compute : (IrComp)t;
}

static void plan_engine(GemmPlan *p, const CpuTarget *t)
{
    const GemmShape *s = &p->s;
    p->engine = gemm_engine(s, t);
    p->compute = compute_type(p);
    p->operand_a = operand_type(p, (IrComp)s->a);
    p->operand_b = operand_type(p, (IrComp)s->b);
    bool flip = p->engine->mixed_signs && s->a == s->b;
    p->flip_a = flip && s->a_col;
    p->flip_b = flip && !s->a_col;
    if (p->flip_b)
        p->operand_b = s->b == COMP_S8 ? COMP_U8 : COMP_S8;
    p->unit = p->engine->group * comp_bytes(p->operand_b);
    p->units = s->K / p->engine->group;
}

/* It needs no conversion. */
static bool same_layout(IrComp c, IrComp operand)
{
    return c == operand ||
           (comp_bytes(c) == comp_bytes(operand) && !comp_is_float(c) && !comp_is_float(operand));
}

/* Maps the grid's columns to the lanes of the panel's vectors. */
static void plan_columns(Arena *a, GemmPlan *p, uint32_t max_lanes)
{
    const GemmShape *s = &p->s;
    uint32_t N = s->N, total = (uint32_t)s->cols * N;
    uint32_t room = MIN(max_lanes, (uint32_t)MOST_LANES);
    uint32_t lanes = MIN(room, MAX(pow2_at_least(total), 4u));
    bool shared = N < lanes && lanes % N == 0; /* several tiles a vector */
    uint32_t per_tile = (N + lanes - 1) / lanes, tiles_each = shared ? lanes / N : 1;
    p->lanes = lanes;
    p->n_vectors = shared ? (total + lanes - 1) / lanes : s->cols * per_tile;
    p->max_pieces = tiles_each;
    p->pieces = NEW_ARRAY(a, GemmPiece, (size_t)p->n_vectors * tiles_each);
    for (uint32_t v = 0; v < p->n_vectors; v++)
        for (uint32_t i = 0; i < tiles_each; i++) {
            GemmPiece *pc = &p->pieces[v * tiles_each + i];
            if (shared) {
                uint32_t tile = v * tiles_each + i;
                if (tile < s->cols)
                    *pc = (GemmPiece){ (uint16_t)tile, 0, (uint16_t)N, (uint16_t)(i * N) };
            } else {
                uint32_t column = v % per_tile * lanes;
                *pc = (GemmPiece){ (uint16_t)(v / per_tile), (uint16_t)column,
                                   (uint16_t)MIN(lanes, N - column), 0 };
            }
        }
}

/* Rows of a block of so many vectors. They divide M where they can, so that there is one block size
 * to compile. */
static uint32_t block_rows(const GemmPlan *p, uint32_t vectors)
{
    uint32_t most = MAX(1u, MIN(p->tuning->accumulators, (uint32_t)MOST_REGISTERS) / vectors);
    uint32_t each = p->engine->pairs ? 2 : 1, rows = MIN(most, p->s.M) / each * each;
    for (uint32_t r = rows; r * 2 > rows; r -= each)
        if (p->s.M % r == 0)
            return r;
    return rows;
}

bool gemm_adds_apart(const GemmPlan *p)
{
    return p->engine->two_steps || (p->engine->group == 1 && !comp_is_float(p->compute));
}

/* Whether there are registers for the sums, a row of B, a broadcast of A, and what a product of two
 * instructions holds in between. The sums may take three quarters of all. */
static bool has_registers(const GemmPlan *p, uint32_t vectors)
{
    uint32_t of_b = p->engine->pairs ? 2 : 1; /* registers that a vector of it takes */
    return (block_rows(p, vectors) + of_b) * vectors + 1 + gemm_adds_apart(p) <=
           p->tuning->accumulators / 3 * 4;
}

/* The register block: as many vectors as the tuning says, or one less if that leaves no remainder
 * and no more registers idle. */
static void plan_block(GemmPlan *p)
{
    uint32_t nv = MIN(p->n_vectors, MIN(p->tuning->block_vectors, (uint32_t)MOST_VECTORS));
    if (nv > 1 &&
        (!has_registers(p, nv) || (p->n_vectors % nv && p->n_vectors % (nv - 1) == 0 &&
                                   block_rows(p, nv - 1) * (nv - 1) >= block_rows(p, nv) * nv)))
        nv--;
    p->block_rows = block_rows(p, nv);
    p->block_vectors = nv;
}

/* What AMX need not convert is copied only where steps that lie apart do not each have whole 64
 * bytes of k, or where sixteen rows are several tiles', which may lie apart. */
static bool packs_a(const GemmPlan *p)
{
    const GemmShape *s = &p->s;
    if (!same_layout((IrComp)s->a, p->operand_a))
        return true;
    if (!p->engine->product)
        return s->M % 16 != 0 || s->K * comp_bytes((IrComp)s->a) % 64 != 0;
    return s->a_col && p->engine->group > 1;
}

static bool packs_b(const GemmPlan *p)
{
    const GemmShape *s = &p->s;
    bool whole = s->N % p->lanes == 0;
    bool once = (uint32_t)s->rows * s->M <= p->tuning->blocks_to_pack * p->block_rows;
    return p->engine->group > 1 || s->b_col || !whole || !same_layout((IrComp)s->b, p->operand_b) ||
           !(s->b_near || once);
}

/* Bytes of k that a call may have, of tile registers and of vectors. */
enum { TILES_BYTES = 1024, VECTORS_BYTES = 512 };

static uint32_t most_times(const GemmPlan *p)
{
    uint32_t bytes = p->s.steps * p->units * p->unit;
    uint32_t best = p->engine->product ? VECTORS_BYTES : TILES_BYTES;
    if (p->s.specials) { /* it takes over from one that works on tile registers */
        bytes = (uint32_t)p->s.steps * p->s.K * comp_bytes((IrComp)p->s.a);
        best = TILES_BYTES;
    }
    return p->s.moves && p->s.even ? MAX(1u, best / bytes) : 1;
}

void gemm_plan(Arena *a, GemmPlan *p, const GemmShape *s, const CpuTarget *t)
{
    *p = (GemmPlan){ .s = *s, .tuning = t->tuning };
    normalise(p);
    plan_engine(p, t);
    plan_columns(a, p, t->vector_bits / 8 / comp_bytes(p->compute));
    plan_block(p);
    p->times = most_times(p);
    p->pack_a = packs_a(p);
    p->pack_b = packs_b(p);
}

/* ---- scratch memory and table ---------------------------------------------------------------- */

uint64_t gemm_vector_bytes(const GemmPlan *p) { return (uint64_t)p->lanes * p->unit; }

/* Of the longest call. */
static uint64_t all_units(const GemmPlan *p) { return (uint64_t)p->units * p->s.steps * p->times; }

/* Vectors of the panel that lie side by side: as many as a block reads, whose rows then are one run
 * of memory. Of tiles a vector's rows are one: a tile is one run of cache lines then, which are in
 * as many sets. */
uint32_t gemm_side_by_side(const GemmPlan *p) { return p->engine->product ? p->block_vectors : 1; }

uint64_t gemm_row_bytes(const GemmPlan *p) { return gemm_vector_bytes(p) * gemm_side_by_side(p); }

uint32_t gemm_limbs(const GemmPlan *p) { return MAX(1u, (uint32_t)p->engine->limbs); }

uint64_t gemm_limb_of_b(const GemmPlan *p) { return gemm_row_bytes(p) * all_units(p); }

uint64_t gemm_limb_of_a(const GemmPlan *p)
{
    return (uint64_t)p->s.rows * p->s.M * all_units(p) * p->unit;
}

uint64_t gemm_block_bytes(const GemmPlan *p) { return gemm_limb_of_b(p) * gemm_limbs(p); }

static uint64_t panel_bytes(const GemmPlan *p)
{
    uint32_t each = gemm_side_by_side(p);
    return p->pack_b ? (p->n_vectors + each - 1) / each * gemm_block_bytes(p) : 0;
}

static uint64_t packed_a_bytes(const GemmPlan *p)
{
    return p->pack_a ? gemm_limb_of_a(p) * gemm_limbs(p) : 0;
}

uint64_t gemm_sums_offset(const GemmPlan *p) { return align_up(panel_bytes(p), 64); }

uint64_t gemm_specials_of_b(const GemmPlan *p)
{
    uint64_t sums = gemm_vector_bytes(p) * p->n_vectors;
    return gemm_sums_offset(p) + (p->flip_a ? align_up(sums, 64) : 0);
}

/* A line for a word. */
static uint64_t specials_bytes(const GemmPlan *p) { return gemm_limbs(p) > 1 ? 64 : 0; }

uint64_t gemm_packed_a_offset(const GemmPlan *p)
{
    return gemm_specials_of_b(p) + specials_bytes(p);
}

uint64_t gemm_specials_of_a(const GemmPlan *p)
{
    return gemm_packed_a_offset(p) + align_up(packed_a_bytes(p), 64);
}

uint64_t gemm_gathered_offset(const GemmPlan *p)
{
    return gemm_specials_of_a(p) + specials_bytes(p);
}

bool gemm_gathers(const GemmPlan *p)
{
    bool narrow = comp_bytes((IrComp)p->s.c) < comp_bytes(p->compute);
    return !p->engine->product && (p->s.M % 16 || p->s.N % 16 || narrow);
}

uint64_t gemm_list_offset(const GemmPlan *p)
{
    return gemm_gathered_offset(p) + (gemm_gathers(p) ? GATHERED_BYTES : 0);
}

/* A panel of less is packed in about the time that it takes to find another. */
enum { LEAST_SHARED = 2048 };

GemmShape gemm_of_specials(const GemmShape *s)
{
    GemmShape plain = *s;
    plain.specials = true;
    plain.prefetch_a = plain.prefetch_b = false;
    return plain;
}

uint64_t gemm_panel_bytes(Gemm *g, const GemmShape *s)
{
    GemmPlan p;
    gemm_plan(g->arena, &p, s, g->target);
    return panel_bytes(&p) < LEAST_SHARED ? 0 : gemm_packed_a_offset(&p);
}

uint32_t gemm_most_times(Gemm *g, const GemmShape *s)
{
    GemmPlan p;
    gemm_plan(g->arena, &p, s, g->target);
    return p.times;
}

uint64_t gemm_scratch_bytes(Gemm *g, const GemmShape *s)
{
    GemmPlan p;
    gemm_plan(g->arena, &p, s, g->target);
    uint64_t bytes = gemm_list_offset(&p) + 8ull * gemm_n_prefetches(&p);
    if (gemm_limbs(&p) == 1)
        return bytes;
    GemmShape plain = gemm_of_specials(s);
    return MAX(bytes, gemm_scratch_bytes(g, &plain));
}

uint32_t gemm_entry_bytes(const GemmShape *s, GemmPart part)
{
    return s->even && part != PART_C ? 24 : 16;
}

uint32_t gemm_part_offset(const GemmShape *s, GemmPart part)
{
    uint32_t each = gemm_entry_bytes(s, PART_A) * (s->even ? 1 : s->steps);
    return each * (part == PART_A ? 0u : part == PART_B ? s->rows : (uint32_t)s->rows + s->cols);
}

uint32_t gemm_table_entries(const GemmShape *s)
{
    uint32_t c = gemm_entry_bytes(s, PART_C) * s->rows * s->cols;
    return (gemm_part_offset(s, PART_C) + c) / 8;
}

uint32_t gemm_panel_entries(const GemmShape *s)
{
    uint32_t a = gemm_part_offset(s, PART_B), b = gemm_part_offset(s, PART_C) - a;
    return (s->c_col ? a : b) / 8;
}
