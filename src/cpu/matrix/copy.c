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
    return (MatTile){ ptr, ir_int(e->i64, side * comp_bytes(mat_comp(t))), col, true };
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

/* The side of the squares in which a tile is transposed: the largest power of two, at most 16 and
 * at most the elements of a 64-byte vector, that divides both sides of the tile. */
static uint32_t square_side(const MatCopy *f)
{
    uint32_t n = MIN(16u, 64 / f->bytes);
    while (f->rows % n || f->cols % n)
        n /= 2;
    return n;
}

/* Copies the n x n elements at `from` to `to`, transposed. Each round interleaves every line with
 * the line half a square further on, which rotates the bits of (line, element) by one; log2(n)
 * rounds swap line and element. */
static void transpose_square(Emit *e, LLVMBuilderRef b, uint32_t n, uint32_t bytes, const LV to[2],
                             const LV from[2])
{
    LT type = LLVMVectorType(LLVMIntTypeInContext(e->cx, bytes * 8), n);
    LV v[16], zipped[16]; /* n is at most 16: square_side */
    int order[2][16];
    for (uint32_t k = 0; k < n; k++) {
        LV offset = LLVMBuildMul(b, from[1], ir_int(e->i64, k), "");
        v[k] = ir_load(b, type, ir_at_inbounds(b, from[0], offset), bytes);
        for (uint32_t half = 0; half < 2; half++)
            order[half][k] = (int)((k + half * n) / 2 + k % 2 * n);
    }
    for (uint32_t times = n; times > 1; times /= 2) {
        for (uint32_t k = 0; k < n; k++)
            zipped[k] = ir_shuffle(b, v[k / 2], v[k / 2 + n / 2], order[k % 2], n);
        memcpy(v, zipped, n * sizeof *v);
    }
    for (uint32_t k = 0; k < n; k++) {
        LV offset = LLVMBuildMul(b, to[1], ir_int(e->i64, k), "");
        ir_store(b, v[k], ir_at_inbounds(b, to[0], offset), bytes);
    }
}

static LV make_copy(Emit *e, const MatCopy *f)
{
    char name[64];
    snprintf(name, sizeof(name), "tile_copy_%ux%u_%u%s%s", f->rows, f->cols, f->bytes,
             f->from_col ? "_from_col" : "", f->to_col ? "_to_col" : "");
    LV fn = LLVMAddFunction(e->ll, name, copy_type(e));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(e->cx);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(e->cx, fn, ""));
    LV to = LLVMGetParam(fn, 0), to_stride = LLVMGetParam(fn, 1);
    LV from = LLVMGetParam(fn, 2), from_stride = LLVMGetParam(fn, 3);
    uint32_t lines = f->from_col ? f->cols : f->rows, run = f->from_col ? f->rows : f->cols;
    bool same = f->from_col == f->to_col;
    uint32_t n = same ? 1 : square_side(f);
    Count l = count_begin(e, b, fn);
    LV line = LLVMBuildMul(b, l.i, ir_int(e->i64, n), "");
    LV source = ir_at_inbounds(b, from, LLVMBuildMul(b, line, from_stride, ""));
    if (same) {
        LV target = ir_at_inbounds(b, to, LLVMBuildMul(b, line, to_stride, ""));
        LLVMBuildMemCpy(b, target, f->bytes, source, f->bytes,
                        ir_int(e->i64, (uint64_t)run * f->bytes));
    } else {
        Count k = count_begin(e, b, fn);
        LV unit = LLVMBuildMul(b, k.i, ir_int(e->i64, n), ""), size = ir_int(e->i64, f->bytes);
        LV target = ir_at_inbounds(b, to, LLVMBuildMul(b, unit, to_stride, ""));
        transpose_square(
            e, b, n, f->bytes,
            (LV[]){ ir_at_inbounds(b, target, LLVMBuildMul(b, line, size, "")), to_stride },
            (LV[]){ ir_at_inbounds(b, source, LLVMBuildMul(b, unit, size, "")), from_stride });
        count_end(e, b, fn, &k, run / n);
    }
    count_end(e, b, fn, &l, lines / n);
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
            f->from_col == key.from_col && f->to_col == key.to_col)
            return f->fn;
    }
    key.fn = make_copy(e, &key);
    vec_push(e->arena, &m->copies, key);
    return key.fn;
}

void mat_copy(Emit *e, const SpvType *t, const MatTile *to, const MatTile *from)
{
    uint32_t bytes = comp_bytes(mat_comp(t));
    LV fn = copy_function(e, (MatCopy){ t->rows, t->cols, bytes, from->col, to->col, NULL });
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

/* Fills a dense tile, padding included. */
void mat_fill(Emit *e, const SpvType *t, const MatTile *to, LV scalar)
{
    MatLeader l = mat_leader_begin(e, t);
    fill_home(e, t, to, scalar);
    mat_leader_end(e, &l);
}
