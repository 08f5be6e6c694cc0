/* SPDX-License-Identifier: MIT
 *
 * Small pieces of a multiply-add kernel's LLVM IR: loops, runs of like vectors, the table of tiles.
 */
#include "cpu/gemm/gemm_internal.h"

LLVMValueRef gemm_opaque(GemmGen *g, LLVMValueRef v, const char *constraint)
{
    IrAsm nothing = { "", constraint, false };
    return ir_asm(g->b, &nothing, LLVMTypeOf(v), &v, 1);
}

/* Of less than a register, and where the constraint is not known, the vector itself. */
LLVMValueRef gemm_opaque_vector(GemmGen *g, LLVMValueRef v)
{
    static const char *const registers[][2] = { { "x86_64", "=v,0" }, { "aarch64", "=w,0" } };
    const CpuTarget *t = g->gemm->target;
    bool whole = g->p->lanes * comp_bytes(g->p->compute) * 8 == t->vector_bits;
    for (size_t i = 0; whole && i < COUNT_OF(registers); i++)
        if (!strncmp(t->triple, registers[i][0], strlen(registers[i][0])))
            return gemm_opaque(g, v, registers[i][1]);
    return v;
}

GemmLoop gemm_loop_begin(GemmGen *g, LLVMValueRef *carry, uint32_t n)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
    GemmLoop l = { .body = LLVMAppendBasicBlockInContext(g->cx, g->fn, "loop"), .n = n };
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

void gemm_loop_end(GemmGen *g, GemmLoop *l, uint64_t step, LLVMValueRef to, LLVMValueRef *next)
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

static bool is_like(const GemmPlan *p, uint32_t x, uint32_t y, uint32_t n, int32_t *tiles,
                    int32_t *columns)
{
    const GemmPiece *a = &p->pieces[x * p->max_pieces], *b = &p->pieces[y * p->max_pieces];
    *tiles = b->tile - a->tile;
    *columns = b->column - a->column;
    for (uint32_t k = 0; k < n * p->max_pieces; k++)
        if (a[k].width != b[k].width || a[k].lane != b[k].lane ||
            (a[k].width &&
             (b[k].tile - a[k].tile != *tiles || b[k].column - a[k].column != *columns)))
            return false;
    return true;
}

GemmRun gemm_run_begin(GemmGen *g, uint32_t first, uint32_t most)
{
    const GemmPlan *p = g->p;
    GemmRun r = { .first = first, .n = MIN(most, p->n_vectors - first), .blocks = 1 };
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
    r.loop = gemm_loop_begin(g, &none, 0);
    g->more_tiles = mul(g, r.loop.i, LLVMConstInt(g->i64, (uint64_t)(int64_t)r.tiles, true));
    g->more_columns = mul(g, r.loop.i, LLVMConstInt(g->i64, (uint64_t)(int64_t)r.columns, true));
    g->more_vectors = mul(g, r.loop.i, k64(g, most));
    return r;
}

uint32_t gemm_run_end(GemmGen *g, GemmRun *r)
{
    if (r->looped)
        gemm_loop_end(g, &r->loop, 1, k64(g, r->blocks), NULL);
    g->more_tiles = g->more_columns = g->more_vectors = NULL;
    return r->first + r->n * r->blocks;
}

static LLVMValueRef moved(GemmGen *g, uint64_t n, LLVMValueRef more, uint64_t unit)
{
    LLVMValueRef at_first = k64(g, n * unit);
    return more ? add(g, mul(g, more, k64(g, unit)), at_first) : at_first;
}

LLVMValueRef gemm_piece_tile(GemmGen *g, const GemmPiece *pc)
{
    return moved(g, pc->tile, g->more_tiles, 1);
}

LLVMValueRef gemm_piece_column(GemmGen *g, const GemmPiece *pc, uint64_t unit)
{
    return moved(g, pc->column, g->more_columns, unit);
}

/* A run's blocks are whole ones of the panel. */
LLVMValueRef gemm_vector_offset(GemmGen *g, uint32_t v)
{
    uint32_t each = gemm_side_by_side(g->p);
    uint64_t block = gemm_block_bytes(g->p);
    LLVMValueRef first = k64(g, v / each * block + v % each * gemm_vector_bytes(g->p));
    return g->more_vectors ? add(g, mul(g, g->more_vectors, k64(g, block / each)), first) : first;
}

LLVMValueRef gemm_sums_of_vector(GemmGen *g, uint32_t v)
{
    return at(g, gemm_column_sums(g), moved(g, v, g->more_vectors, gemm_vector_bytes(g->p)));
}

GemmView gemm_table_at(GemmGen *g, GemmPart part, LLVMValueRef index)
{
    const GemmShape *s = &g->p->s;
    uint32_t bytes = gemm_entry_bytes(s, part);
    LLVMValueRef p = at(g, g->table, k64(g, gemm_part_offset(s, part)));
    p = at(g, p, mul(g, index, k64(g, bytes)));
    GemmView v = { ir_load(g->b, g->ptr, p, 8), NULL, NULL };
    v.stride = ir_load(g->b, g->i64, at(g, p, k64(g, 8)), 8);
    if (bytes > 16)
        v.apart = ir_load(g->b, g->i64, at(g, p, k64(g, 16)), 8);
    return v;
}

/* A step's tile, where the table has the first one's. */
static GemmView even_tile(GemmGen *g, GemmPart part, LLVMValueRef line, LLVMValueRef step)
{
    GemmView v = gemm_table_at(g, part, line);
    v.ptr = at(g, v.ptr, mul(g, step, v.apart));
    return v;
}

GemmView gemm_a_tile(GemmGen *g, LLVMValueRef row, LLVMValueRef step)
{
    if (g->p->s.even)
        return even_tile(g, PART_A, row, step);
    return gemm_table_at(g, PART_A, add(g, mul(g, row, k64(g, g->p->s.steps)), step));
}

GemmView gemm_b_tile(GemmGen *g, LLVMValueRef step, LLVMValueRef col)
{
    if (g->p->s.even)
        return even_tile(g, PART_B, col, step);
    return gemm_table_at(g, PART_B, add(g, mul(g, step, k64(g, g->p->s.cols)), col));
}

GemmView gemm_c_tile(GemmGen *g, LLVMValueRef row, LLVMValueRef col)
{
    const GemmShape *s = &g->p->s;
    LLVMValueRef index = add(g, mul(g, row, k64(g, s->cols)), col);
    GemmView v = gemm_table_at(g, PART_C, index);
    if (s->c_dense)
        v.stride = k64(g, (uint64_t)s->N * comp_bytes((IrComp)s->c));
    return v;
}

GemmView gemm_sums_tile(GemmGen *g, LLVMValueRef row, LLVMValueRef col)
{
    if (!g->p->s.moves)
        return gemm_c_tile(g, row, col);
    LLVMValueRef index = add(g, mul(g, row, k64(g, g->p->s.cols)), col);
    LLVMValueRef p = at(g, g->to, mul(g, index, k64(g, gemm_entry_bytes(&g->p->s, PART_C))));
    GemmView v = { ir_load(g->b, g->ptr, p, 8), NULL, NULL };
    v.stride = ir_load(g->b, g->i64, at(g, g->to, k64(g, 8)), 8);
    return v;
}

LLVMValueRef gemm_place(GemmGen *g, LLVMValueRef v, LLVMValueRef part, const GemmPiece *pc)
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
    return ir_shuffle(g->b, v, ir_shuffle(g->b, part, NULL, wide, n), mix, n);
}

LLVMValueRef gemm_extract(GemmGen *g, LLVMValueRef v, const GemmPiece *pc)
{
    int lanes[MOST_LANES];
    if (pc->width == g->p->lanes)
        return v;
    for (uint32_t i = 0; i < pc->width; i++)
        lanes[i] = (int)(pc->lane + i);
    return ir_shuffle(g->b, v, NULL, lanes, pc->width);
}
