/* SPDX-License-Identifier: MIT
 *
 * Copies of tiles, which transpose if the orders differ, and fills.
 *
 * Copies of one shape share an internal function.
 */
#include "cpu/matrix/matrix.h"

#include <stdio.h>

MatTile mat_dense(Emit *e, const SpvType *t, LV ptr, bool col)
{
    uint64_t side = col ? t->rows : t->cols;
    return (MatTile){ ptr, ir_int(e->i64, side * comp_bytes(mat_comp(t))), col, true, NULL };
}

/* ---- copies ---------------------------------------------------------------------------------- */

static LT copy_type(Emit *e)
{
    LT args[] = { e->ptr, e->i64, e->ptr, e->i64 };
    return LLVMFunctionType(e->void_, args, 4, false);
}

/* for (i = 0; i < n; i++), n constant and positive, in function fn at builder b. */
typedef struct Count {
    LLVMBasicBlockRef body;
    LV i;
} Count;
static Count count_begin(Emit *e, LLVMBuilderRef b, LV fn)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b);
    Count c = { .body = LLVMAppendBasicBlockInContext(e->cx, fn, "") };
    LLVMBuildBr(b, c.body);
    LLVMPositionBuilderAtEnd(b, c.body);
    c.i = LLVMBuildPhi(b, e->i64, "");
    LV zero = ir_int(e->i64, 0);
    LLVMAddIncoming(c.i, &zero, &from, 1);
    return c;
}

static void count_end(Emit *e, LLVMBuilderRef b, LV fn, Count *c, uint64_t n)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b),
                      out = LLVMAppendBasicBlockInContext(e->cx, fn, "");
    LV next = LLVMBuildNUWAdd(b, c->i, ir_int(e->i64, 1), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, ir_int(e->i64, n), ""), c->body, out);
    LLVMAddIncoming(c->i, &next, &from, 1);
    LLVMPositionBuilderAtEnd(b, out);
}

/* A tile is transposed in squares, several of which lie side by side in wide vectors, each in a
 * part of at most 16 bytes: machines interleave within such parts at once. Large elements of lines
 * that are far apart take one square as wide as a vector: joining the parts would cost as much as
 * it saves, and each line is read but once. */
typedef struct Squares {
    uint32_t side, n; /* elements; squares */
    uint32_t bytes;   /* of an element */
} Squares;

enum { PART_BYTES = 16, VECTOR_BYTES = 64, MOST_SIDE = 16 };

static Squares choose_squares(Emit *e, const MatCopy *f)
{
    uint32_t room = MIN(lanes_of(e)->machine->vector_bits / 8, (uint32_t)VECTOR_BYTES);
    uint32_t part = f->from_far && f->bytes >= 4 ? room : PART_BYTES;
    Squares s = { part / f->bytes, 1, f->bytes };
    while (f->rows % s.side || f->cols % s.side)
        s.side /= 2;
    uint32_t lines = f->from_col ? f->cols : f->rows;
    while (s.side * s.n * 2 * s.bytes <= room && lines % (s.side * s.n * 2) == 0)
        s.n *= 2;
    return s;
}

/* The same piece of s.n lines, s.side lines apart, side by side. */
static LV load_pieces(Emit *e, LLVMBuilderRef b, const Squares *s, LV from, LV stride)
{
    LT type = LLVMVectorType(LLVMIntTypeInContext(e->cx, s->bytes * 8), s->side);
    LV piece[VECTOR_BYTES]; /* of at least a byte each */
    int order[VECTOR_BYTES];
    for (uint32_t k = 0; k < s->n; k++) {
        LV offset = LLVMBuildMul(b, stride, ir_int(e->i64, (uint64_t)k * s->side), "");
        piece[k] = ir_load(b, type, ir_at_inbounds(b, from, offset), s->bytes);
    }
    for (uint32_t k = 0; k < s->n * s->side; k++)
        order[k] = (int)k;
    for (uint32_t n = s->n, width = s->side; n > 1; n /= 2, width *= 2)
        for (uint32_t k = 0; k < n / 2; k++)
            piece[k] = ir_shuffle(b, piece[2 * k], piece[2 * k + 1], order, 2 * width);
    return piece[0];
}

/* Swaps lines and elements of the squares in v, `count` of both, a power of two: `unit` elements
 * move as one, and lines are as far apart. Each round interleaves every line with the one half of
 * them further on, which rotates the bits of (line, element) by one; log2(count) rounds swap them.
 */
static void swap_lines(LLVMBuilderRef b, const Squares *s, LV *v, uint32_t count, uint32_t unit)
{
    LV zipped[MOST_SIDE];
    int order[2][VECTOR_BYTES];
    uint32_t n = s->side * s->n;
    for (uint32_t e = 0; e < n; e++) {
        uint32_t at = e / unit % count;
        for (uint32_t half = 0; half < 2; half++)
            order[half][e] = (int)(e + ((at + half * count) / 2 - at) * unit + at % 2 * n);
    }
    for (uint32_t times = count; times > 1; times /= 2) {
        for (uint32_t k = 0; k < s->side; k++) {
            uint32_t at = k / unit % count, first = k + (at / 2 - at) * unit;
            zipped[k] = ir_shuffle(b, v[first], v[first + count / 2 * unit], order[at % 2], n);
        }
        memcpy(v, zipped, s->side * sizeof *v);
    }
}

/* Copies squares, one below the other at `from`, to `to`, where they are transposed and side by
 * side: first within parts, then part by part, for both of which machines have one instruction. */
static void transpose_squares(Emit *e, LLVMBuilderRef b, const Squares *s, const LV to[2],
                              const LV from[2])
{
    uint32_t part = MIN(s->side, (uint32_t)PART_BYTES / s->bytes);
    LV v[MOST_SIDE];
    for (uint32_t k = 0; k < s->side; k++) {
        LV offset = LLVMBuildMul(b, from[1], ir_int(e->i64, k), "");
        v[k] = load_pieces(e, b, s, ir_at_inbounds(b, from[0], offset), from[1]);
    }
    swap_lines(b, s, v, part, 1);
    swap_lines(b, s, v, s->side / part, part);
    for (uint32_t k = 0; k < s->side; k++) {
        LV offset = LLVMBuildMul(b, to[1], ir_int(e->i64, k), "");
        ir_store(b, v[k], ir_at_inbounds(b, to[0], offset), s->bytes);
    }
}

/* Of what is copied to (0) or from (1). */
static LV stride_of(Emit *e, const MatCopy *f, LV fn, unsigned which)
{
    return f->stride[which] ? ir_int(e->i64, f->stride[which]) : LLVMGetParam(fn, 2 * which + 1);
}

/* All of a tile, transposed. What lies far apart is read or written line by line, since it may
 * leave no room for other lines in the nearest cache. */
static void transpose_tile(Emit *e, LLVMBuilderRef b, const MatCopy *f, LV fn)
{
    LV to = LLVMGetParam(fn, 0), to_stride = stride_of(e, f, fn, 0);
    LV from = LLVMGetParam(fn, 2), from_stride = stride_of(e, f, fn, 1);
    LV size = ir_int(e->i64, f->bytes);
    uint32_t lines = f->from_col ? f->cols : f->rows, run = f->from_col ? f->rows : f->cols;
    Squares s = choose_squares(e, f);
    uint32_t down = lines / (s.side * s.n), across = run / s.side;
    Count outer = count_begin(e, b, fn), inner = count_begin(e, b, fn);
    LV line = LLVMBuildMul(b, f->from_far ? outer.i : inner.i,
                           ir_int(e->i64, (uint64_t)s.side * s.n), "");
    LV element = LLVMBuildMul(b, f->from_far ? inner.i : outer.i, ir_int(e->i64, s.side), "");
    LV source = ir_at_inbounds(b, from, LLVMBuildMul(b, line, from_stride, ""));
    LV target = ir_at_inbounds(b, to, LLVMBuildMul(b, element, to_stride, ""));
    transpose_squares(
        e, b, &s, (LV[]){ ir_at_inbounds(b, target, LLVMBuildMul(b, line, size, "")), to_stride },
        (LV[]){ ir_at_inbounds(b, source, LLVMBuildMul(b, element, size, "")), from_stride });
    count_end(e, b, fn, &inner, f->from_far ? across : down);
    count_end(e, b, fn, &outer, f->from_far ? down : across);
}

/* The same without transposing. */
static void copy_tile(Emit *e, LLVMBuilderRef b, const MatCopy *f, LV fn)
{
    uint32_t lines = f->from_col ? f->cols : f->rows, run = f->from_col ? f->rows : f->cols;
    Count l = count_begin(e, b, fn);
    LV at[2];
    for (unsigned k = 0; k < 2; k++)
        at[k] = ir_at_inbounds(b, LLVMGetParam(fn, 2 * k),
                               LLVMBuildMul(b, l.i, stride_of(e, f, fn, k), ""));
    LLVMBuildMemCpy(b, at[0], f->bytes, at[1], f->bytes, ir_int(e->i64, (uint64_t)run * f->bytes));
    count_end(e, b, fn, &l, lines);
}

static LV make_copy(Emit *e, const MatCopy *f)
{
    char name[64];
    snprintf(name, sizeof(name), "tile_copy_%ux%u_%u%s%s%s", f->rows, f->cols, f->bytes,
             f->from_col ? "_from_col" : "", f->to_col ? "_to_col" : "", f->from_far ? "_far" : "");
    LV fn = LLVMAddFunction(e->ll, name, copy_type(e));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(e->cx);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(e->cx, fn, ""));
    (f->from_col == f->to_col ? copy_tile : transpose_tile)(e, b, f, fn);
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
    return fn;
}

static LV copy_function(Emit *e, MatCopy key)
{
    MatEmit *m = matrices_of(e);
    for (uint32_t i = 0; i < m->copies.len; i++) {
        MatCopy *f = &m->copies.data[i];
        if (f->rows == key.rows && f->cols == key.cols && f->bytes == key.bytes &&
            f->from_col == key.from_col && f->to_col == key.to_col && f->from_far == key.from_far &&
            !memcmp(f->stride, key.stride, sizeof key.stride))
            return f->fn;
    }
    key.fn = make_copy(e, &key);
    vec_push(e->arena, &m->copies, key);
    return key.fn;
}

static uint64_t known_stride(const MatTile *x)
{
    return LLVMIsAConstantInt(x->stride) ? LLVMConstIntGetZExtValue(x->stride) : 0;
}

void mat_copy(Emit *e, const SpvType *t, const MatTile *to, const MatTile *from)
{
    uint32_t bytes = comp_bytes(mat_comp(t));
    mat_copy_rows(e, t, to, from);
    static const char *const orders[] = { "row by row", "column by column" };
    if (from->col != to->col && t->rows > 1 && t->cols > 1)
        emit_remark(e, REMARK_TRANSPOSED, t->rows, t->cols,
                    orders[from->near ? to->col : from->col],
                    orders[from->near ? from->col : to->col]);
    bool from_far = from->col != to->col && to->near && !from->near;
    MatCopy copy = { t->rows,
                     t->cols,
                     bytes,
                     from->col,
                     to->col,
                     from_far,
                     { known_stride(to), known_stride(from) },
                     NULL };
    LV fn = copy_function(e, copy);
    LV args[] = { to->ptr, to->stride, from->ptr, from->stride };
    MatLeader l = mat_leader_begin(e, t);
    LLVMBuildCall2(e->b, copy_type(e), fn, args, 4, "");
    mat_leader_end(e, &l);
    mat_count(e, t, DEVICE_STAT_BYTES_MOVED,
              to->near && from->near ? (uint64_t)t->rows * t->cols * bytes : 0);
}

static void fill_home(Emit *e, const SpvType *t, const MatTile *to, LV scalar)
{
    LT type = comp_type(e->cx, mat_comp(t));
    uint32_t bytes = comp_bytes(mat_comp(t));
    uint64_t n = mat_bytes(e, t) / bytes;
    if (LLVMTypeOf(scalar) != type)
        scalar = LLVMBuildBitCast(e->b, scalar, type, "");
    if (LLVMIsConstant(scalar) && LLVMIsNull(scalar)) {
        LLVMBuildMemSet(e->b, to->ptr, ir_int(e->i8, 0), ir_int(e->i64, n * bytes), 64);
        return;
    }
    uint32_t chunk = 64 / bytes;
    LV v = ir_splat(e->b, scalar, chunk);
    EmitLoop l = loop_begin(e, ir_int(e->i64, n / chunk));
    LV p = ir_at_inbounds(e->b, to->ptr, LLVMBuildMul(e->b, l.index, ir_int(e->i64, 64), ""));
    ir_store(e->b, v, p, bytes);
    loop_end(e, &l);
}

/* Fills a dense tile, padding included. One row stands for all. */
void mat_fill(Emit *e, const SpvType *t, const MatTile *to, LV scalar)
{
    MatLeader l = mat_leader_begin(e, t);
    SpvType row = *t;
    row.rows = mat_has_rows(e, to) ? 1 : t->rows;
    fill_home(e, &row, to, scalar);
    mat_set_rows(e, to, ir_int(e->i64, row.rows));
    mat_leader_end(e, &l);
}
