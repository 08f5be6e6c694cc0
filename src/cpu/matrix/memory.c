/* SPDX-License-Identifier: MIT
 *
 * Tiles in memory: copies (transposing where the orders differ), fills, elements of lanes, the load
 * and store instructions, and variables that hold matrices.
 *
 * Copies of one shape are one internal function, called wherever it is needed. Element e of lane l
 * is linear element e * W + l of the row-major matrix, so in a dense row-major home the elements of
 * all lanes are one vector.
 */
#include "cpu/matrix/matrix.h"

#include <stdio.h>

Tile mat_dense(Emit *e, const SpvType *t, LV ptr, bool col)
{
    uint64_t side = col ? t->rows : t->cols;
    return (Tile){ ptr, ir_int(e->i64, side * comp_bytes(mat_comp(t))), col, true };
}

/* ---- copies ---------------------------------------------------------------------------------- */

static LT copy_type(Emit *e)
{
    LT args[] = {e->ptr, e->i64, e->ptr, e->i64};
    return LLVMFunctionType(e->void_, args, 4, false);
}

/* for (i = 0; i < n; i++), n constant and positive, in function fn at builder b. */
typedef struct Count { LLVMBasicBlockRef body; LV i; } Count;
static Count count_begin(Emit *e, LLVMBuilderRef b, LV fn)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b);
    Count c = {.body = LLVMAppendBasicBlockInContext(e->cx, fn, "")};
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

/* The largest power of two, up to 16, that divides a tile's sides and whose vectors are vectors. */
static uint32_t square(const CopyFn *f)
{
    uint32_t n = MIN(16u, 64 / f->bytes);
    while (f->rows % n || f->cols % n)
        n /= 2;
    return n;
}

/* The n x n elements at `from`, transposed, to `to`: lines of vectors zipped with those half a
 * square further on; each time rotates the bits of (line, element) by one, log2(n) times swap
 * them. */
static void transpose_square(Emit *e, LLVMBuilderRef b, uint32_t n, uint32_t bytes, const LV to[2],
                             const LV from[2])
{
    LT type = LLVMVectorType(LLVMIntTypeInContext(e->cx, bytes * 8), n);
    LV v[16], zipped[16]; /* n: square's */
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

static LV make_copy(Emit *e, const CopyFn *f)
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
    uint32_t n = same ? 1 : square(f);
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

static LV copy_function(Emit *e, CopyFn key)
{
    struct Matrix *m = e->matrix;
    for (uint32_t i = 0; i < m->copies.len; i++) {
        CopyFn *f = &m->copies.data[i];
        if (f->rows == key.rows && f->cols == key.cols && f->bytes == key.bytes
            && f->from_col == key.from_col && f->to_col == key.to_col)
            return f->fn;
    }
    key.fn = make_copy(e, &key);
    vec_push(e->arena, &m->copies, key);
    return key.fn;
}

void mat_copy(Emit *e, const SpvType *t, const Tile *to, const Tile *from)
{
    uint32_t bytes = comp_bytes(mat_comp(t));
    LV fn = copy_function(e, (CopyFn){t->rows, t->cols, bytes, from->col, to->col, NULL});
    LV args[] = {to->ptr, to->stride, from->ptr, from->stride};
    Leader l = mat_leader_begin(e, t);
    LLVMBuildCall2(e->b, copy_type(e), fn, args, 4, "");
    mat_leader_end(e, &l);
    mat_count(e, t, DEVICE_STAT_BYTES_MOVED,
              to->near && from->near ? (uint64_t)t->rows * t->cols * bytes : 0);
}

static void fill(Emit *e, const SpvType *t, const Tile *to, LV scalar)
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
    Loop l = loop_begin(e, ir_int(e->i64, n / chunk));
    LV p = ir_at_inbounds(e->b, to->ptr, LLVMBuildMul(e->b, l.index, ir_int(e->i64, 64), ""));
    ir_store(e->b, v, p, bytes);
    loop_end(e, &l);
}

/* A dense tile, padding included. */
void mat_fill(Emit *e, const SpvType *t, const Tile *to, LV scalar)
{
    Leader l = mat_leader_begin(e, t);
    fill(e, t, to, scalar);
    mat_leader_end(e, &l);
}

/* ---- load and store -------------------------------------------------------------------------- */

static LV stride_bytes(Emit *e, SpvId id, const SpvType *pointee, uint32_t minor, uint32_t comp)
{
    uint64_t unit = spv_type_size(pointee);
    if (!id)                    /* none given: tight */
        return ir_int(e->i64, (uint64_t)minor * comp);
    const SpvType *t = spv_type_of(e->module, id);
    LV s = emit_uniform(e, emit_leaf(e, id, 0));
    s = t->is_signed ? LLVMBuildSExt(e->b, s, e->i64, "") : LLVMBuildZExt(e->b, s, e->i64, "");
    return LLVMBuildMul(e->b, s, ir_int(e->i64, unit), "");
}

Tile mat_memory_tile(Emit *e, const SpvInst *i, const SpvType *t, SpvId pointer, uint32_t layout,
                     SpvId stride, LV *inside)
{
    enum { ROW_MAJOR = 0, COLUMN_MAJOR = 1 };
    const Pointer *p = emit_pointer(e, pointer);
    const SpvType *pointee = p->at.type;
    uint32_t comp = comp_bytes(mat_comp(t));
    Tile tile = {.near = p->storage == SpvStorageClassWorkgroup, .col = layout == COLUMN_MAJOR};
    *inside = NULL;
    if (layout > COLUMN_MAJOR)
        emit_error(e, i, "SPV_KHR_cooperative_matrix, Cooperative Matrix Layout",
                   "memory layout %u is not supported: RowMajorKHR (0) and ColumnMajorKHR (1) are",
                   layout);
    if (pointee && pointee->kind == SPV_ARRAY)
        pointee = pointee->element;
    if (!pointee ||
        (pointee->kind != SPV_INT && pointee->kind != SPV_FLOAT && pointee->kind != SPV_VECTOR)) {
        emit_error(e, i, "SPV_KHR_cooperative_matrix, OpCooperativeMatrixLoadKHR",
                   "the pointer leads to neither a number nor a vector of numbers");
        pointee = t->element;
    }
    uint32_t major = tile.col ? t->cols : t->rows, minor = tile.col ? t->rows : t->cols;
    tile.ptr = emit_address(e, p, 0, comp);
    if (emit_is_lanes(tile.ptr))
        tile.ptr = emit_uniform(e, tile.ptr);
    tile.stride = stride_bytes(e, stride, pointee, minor, comp);
    /* whether the last element, and with it every one, is inside */
    if (e->options->robust && p->limit) {
        LV base = p->base;
        if (emit_is_lanes(base))
            base = emit_uniform(e, base);
        LV limit = emit_is_lanes(p->limit) ? emit_uniform(e, p->limit) : p->limit;
        LV offset = LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, tile.ptr, e->i64, ""),
                                 LLVMBuildPtrToInt(e->b, base, e->i64, ""), "");
        LV last = LLVMBuildMul(e->b, tile.stride, ir_int(e->i64, major - 1), "");
        LV end = LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, offset, last, ""),
                              ir_int(e->i64, (uint64_t)minor * comp), "");
        LV low = LLVMBuildICmp(e->b, LLVMIntULE, offset, limit, "");
        LV small = LLVMBuildICmp(e->b, LLVMIntULT, tile.stride, ir_int(e->i64, 1ull << 40), "");
        LV high = LLVMBuildICmp(e->b, LLVMIntULE, end, limit, "");
        *inside = LLVMBuildAnd(e->b, low, LLVMBuildAnd(e->b, small, high, ""), "");
    }
    return tile;
}

/* Element by element, those outside [base, base + limit) left out: zero where loaded, dropped where
 * stored (robust access; rare, so it is a plain loop). */
static void guarded_copy(Emit *e, const SpvType *t, SpvId pointer, const Tile *memory,
                         const Tile *home, bool store)
{
    const Pointer *p = emit_pointer(e, pointer);
    uint32_t bytes = comp_bytes(mat_comp(t));
    LT type = LLVMIntTypeInContext(e->cx, bytes * 8);
    LV base = emit_is_lanes(p->base) ? emit_uniform(e, p->base) : p->base;
    LV limit = emit_is_lanes(p->limit) ? emit_uniform(e, p->limit) : p->limit;
    LV start = LLVMBuildPtrToInt(e->b, base, e->i64, "");
    Leader leader = mat_leader_begin(e, t);
    Loop i = loop_begin(e, ir_int(e->i64, memory->col ? t->cols : t->rows));
    Loop j = loop_begin(e, ir_int(e->i64, memory->col ? t->rows : t->cols));
    LV minor = LLVMBuildMul(e->b, j.index, ir_int(e->i64, bytes), "");
    LV far = ir_at_inbounds(
        e->b, memory->ptr,
        LLVMBuildAdd(e->b, LLVMBuildMul(e->b, i.index, memory->stride, ""), minor, ""));
    bool same = memory->col == home->col;
    LV line = LLVMBuildMul(e->b, same ? i.index : j.index, home->stride, "");
    LV place = LLVMBuildMul(e->b, same ? j.index : i.index, ir_int(e->i64, bytes), "");
    LV near = ir_at_inbounds(e->b, home->ptr, LLVMBuildAdd(e->b, line, place, ""));
    LV offset = LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, far, e->i64, ""), start, "");
    LV end = LLVMBuildAdd(e->b, offset, ir_int(e->i64, bytes), "");
    LV ok = LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntULT, offset, limit, ""),
                         LLVMBuildICmp(e->b, LLVMIntULE, end, limit, ""), "");
    if (!store)
        ir_store(e->b, LLVMConstNull(type), near, bytes);
    If f = if_begin(e, ok);
    LV x = ir_load(e->b, type, store ? near : far, bytes);
    ir_store(e->b, x, store ? far : near, bytes);
    if_end(e, &f);
    loop_end(e, &j);
    loop_end(e, &i);
    mat_leader_end(e, &leader);
}

/* The tile itself where all of it is inside, else a copy that has zeros for what is not. */
static Tile inside_or_copy(Emit *e, const SpvType *t, SpvId pointer, const Tile *tile, LV inside)
{
    Tile copy = mat_dense(e, t, mat_frame(e, t, mat_bytes(e, t)), tile->col), r = *tile;
    If out = if_begin(e, LLVMBuildNot(e->b, inside, ""));
    guarded_copy(e, t, pointer, tile, &copy, false);
    if_end(e, &out);
    r.ptr = LLVMBuildSelect(e->b, inside, tile->ptr, copy.ptr, "");
    r.stride = LLVMBuildSelect(e->b, inside, tile->stride, copy.stride, "");
    return r;
}

/* Only multiply-adds of this block read it: it may stay where it is until they do. */
bool mat_may_stay(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    const MatValue *v = mat_value(e, i->id);
    enum { ACCUMULATOR = 2 };
    if (t->use == ACCUMULATOR || v->other_blocks || !v->uses)
        return false;
    uint32_t found = 0;
    for (const SpvInst *u = i->next; u; u = u->next)
        if (u->op == SpvOpCooperativeMatrixMulAddKHR)
            found += (spv_operand(u, 0) == i->id) + (spv_operand(u, 1) == i->id);
    return found == v->uses;
}

static SpvId operand_or_0(const SpvInst *i, uint32_t n)
{
    return spv_n_operands(i) > n ? spv_operand(i, n) : 0;
}

static uint32_t layout_of(Emit *e, const SpvInst *i, SpvId id)
{
    uint64_t layout = 0;
    if (!spv_constant(e->module, id, &layout))
        emit_error(e, i, "SPV_KHR_cooperative_matrix, MemoryLayout",
                   "the memory layout is not a constant");
    return (uint32_t)layout;
}

static bool is_volatile(const SpvInst *i, uint32_t operand)
{
    return spv_n_operands(i) > operand && (spv_operand(i, operand) & SpvMemoryAccessVolatileMask);
}

void mat_load(Emit *e, const SpvInst *i)
{
    struct Matrix *m = e->matrix;
    const SpvType *t = spv_type(e->module, i->type);
    MatValue *v = mat_value(e, i->id);
    LV inside;
    Tile tile = mat_memory_tile(e, i, t, spv_operand(i, 0), layout_of(e, i, spv_operand(i, 1)),
                                operand_or_0(i, 2), &inside);
    AheadLines lines = { tile.ptr, tile.stride, tile.col ? t->cols : t->rows,
                         (tile.col ? t->rows : t->cols) * comp_bytes(mat_comp(t)), NULL,
                         NULL, 0 };
    bool stays = mat_may_stay(e, i) && !is_volatile(i, 3);
    v->ahead = tile.near || !stays ? NULL : emit_ahead_distance(e, i, &lines);
    if (!tile.near && !stays)
        emit_ahead(e, i, &lines);
    mat_count(e, t, DEVICE_STAT_MATRIX_LOADS, 1);
    mat_count(e, t, DEVICE_STAT_BYTES_LOADED,
              (uint64_t)t->rows * t->cols * comp_bytes(mat_comp(t)));
    if (stays) {
        v->state = MAT_LAZY;
        v->tile = inside ? inside_or_copy(e, t, spv_operand(i, 0), &tile, inside) : tile;
        vec_push(e->arena, &m->lazy, v);
        return;
    }
    Tile home = mat_result(e, i);
    if (!inside) {
        mat_copy(e, t, &home, &tile);
        return;
    }
    If in = if_begin(e, inside);
    mat_copy(e, t, &home, &tile);
    if_end(e, &in);
    If out = if_begin(e, LLVMBuildNot(e->b, inside, ""));
    guarded_copy(e, t, spv_operand(i, 0), &tile, &home, false);
    if_end(e, &out);
}

/* The next instruction that is more than arithmetic of numbers stores such a matrix too. */
static bool another_follows(Emit *e, const SpvInst *i, const SpvType *t)
{
    for (i = i->next; i; i = i->next) {
        if (i->op == SpvOpCooperativeMatrixStoreKHR)
            return spv_type_of(e->module, spv_operand(i, 1)) == t && !is_volatile(i, 4);
        if (!spv_is_pure(i) || !i->type || mat_is(spv_type(e->module, i->type)))
            return false;
    }
    return false;
}

void mat_store(Emit *e, const SpvInst *i)
{
    SpvId object = spv_operand(i, 1);
    const SpvType *t = spv_type_of(e->module, object);
    if (!mat_is(t)) {
        emit_error(e, i, "SPV_KHR_cooperative_matrix, OpCooperativeMatrixStoreKHR",
                   "the object is no cooperative matrix");
        return;
    }
    LV inside;
    matrix_memory_barrier(e);
    Tile from = mat_read(e, object);
    Tile to = mat_memory_tile(e, i, t, spv_operand(i, 0), layout_of(e, i, spv_operand(i, 2)),
                              operand_or_0(i, 3), &inside);
    mat_count(e, t, DEVICE_STAT_MATRIX_STORES, 1);
    mat_count(e, t, DEVICE_STAT_BYTES_STORED,
              (uint64_t)t->rows * t->cols * comp_bytes(mat_comp(t)));
    bool waits = !inside && !is_volatile(i, 4) && from.col == to.col;
    if (!waits)
        mat_stores_done(e);
    else
        mat_store_later(e, t, &to, &from);
    if (!waits || !another_follows(e, i, t))
        mat_stores_done(e);
    if (waits)
        return;
    if (!inside) {
        mat_copy(e, t, &to, &from);
        return;
    }
    If in = if_begin(e, inside);
    mat_copy(e, t, &to, &from);
    if_end(e, &in);
    If out = if_begin(e, LLVMBuildNot(e->b, inside, ""));
    guarded_copy(e, t, spv_operand(i, 0), &to, &from, true);
    if_end(e, &out);
}

/* ---- elements -------------------------------------------------------------------------------- */

static LV own_linear(Emit *e, const Holders *h, LV index)
{
    LV lanes = emit_lanes(e, index);
    LV row = LLVMBuildMul(e->b, lanes, ir_int(LLVMTypeOf(lanes), h->n), "");
    LV own = LLVMBuildAdd(e->b, emit_lanes(e, h->first), e->lane_id, "");
    return LLVMBuildAdd(e->b, row, own, "");
}

/* Where the lanes' elements lie: one address for all (dense row-major, uniform index) or one a
 * lane. */
static LV element_address(Emit *e, const SpvType *t, const Tile *tile, LV index, bool *side_by_side)
{
    Holders h = mat_holders(e, t);
    uint64_t total = (uint64_t)t->rows * t->cols, length = (total + h.n - 1) / h.n;
    uint32_t bytes = comp_bytes(mat_comp(t));
    LT type = LLVMTypeOf(index);
    LV limit = ir_int(type, length - 1);
    /* an index past the end must stay in the frame */
    LV in = LLVMBuildICmp(e->b, LLVMIntULE, index, limit, "");
    index = LLVMBuildSelect(e->b, in, index, limit, "");
    *side_by_side = !tile->col && !emit_is_lanes(index);
    if (*side_by_side) {
        LV linear = LLVMBuildMul(e->b, index, ir_int(type, h.n), "");
        linear = LLVMBuildAdd(e->b, linear, h.first, "");
        LV offset =
            LLVMBuildMul(e->b, LLVMBuildZExt(e->b, linear, e->i64, ""), ir_int(e->i64, bytes), "");
        return ir_at_inbounds(e->b, tile->ptr, offset);
    }
    LV lanes = emit_lanes(e, index), linear = own_linear(e, &h, lanes);
    LV last = ir_int(LLVMTypeOf(lanes), total - 1);
    linear =
        LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntULE, linear, last, ""), linear, last, "");
    LV offset = linear;
    if (tile->col) {
        LV n = ir_int(LLVMTypeOf(lanes), t->cols);
        LV row = LLVMBuildUDiv(e->b, linear, n, ""), col = LLVMBuildURem(e->b, linear, n, "");
        offset = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, col, ir_int(LLVMTypeOf(lanes), t->rows), ""),
                              row, "");
    }
    offset = LLVMBuildMul(e->b, offset, ir_int(LLVMTypeOf(lanes), bytes), "");
    LV wide = LLVMBuildZExt(e->b, offset, LLVMVectorType(e->i64, e->W), "");
    return ir_at(e->b, tile->ptr, wide);
}

static LV index32(Emit *e, LV index) { return emit_cast_index(e, index, e->i32); }

/* Lanes beyond the matrix's last element own nothing: those of a row of lanes that is not full. */
static LV owners(Emit *e, const SpvType *t, LV index)
{
    Holders h = mat_holders(e, t);
    uint64_t total = (uint64_t)t->rows * t->cols;
    LV mask = emit_mask(e);
    if (total % h.n == 0)
        return mask;
    LV linear = own_linear(e, &h, index);
    return emit_and(e, mask,
                    LLVMBuildICmp(e->b, LLVMIntULT, linear, ir_int(LLVMTypeOf(linear), total), ""));
}

LV mat_element(Emit *e, const SpvType *t, const Tile *tile, LV index)
{
    bool together;
    LV p = element_address(e, t, tile, index32(e, index), &together);
    uint32_t bytes = comp_bytes(mat_comp(t));
    LT type = LLVMVectorType(comp_type(e->cx, mat_comp(t)), e->W);
    if (!together)
        return emit_masked_load(e, type, p, bytes, emit_mask(e));
    LV v = ir_load(e->b, type, p, bytes);
    return v;
}

void mat_set_element(Emit *e, const SpvType *t, const Tile *tile, LV index, LV value)
{
    bool together;
    index = index32(e, index);
    LV p = element_address(e, t, tile, index, &together), mask = owners(e, t, index);
    uint32_t bytes = comp_bytes(mat_comp(t));
    LT type = LLVMVectorType(comp_type(e->cx, mat_comp(t)), e->W);
    value = emit_lanes(e, value);
    if (LLVMTypeOf(value) != type)
        value = LLVMBuildBitCast(e->b, value, type, "");
    if (together && !e->mask)   /* the padding takes what nobody owns */
        ir_store(e->b, value, p, bytes);
    else
        emit_masked_store(e, value, p, bytes, mask);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* of (an array of) matrices, in the frame */
static uint64_t memory_size(Emit *e, const SpvType *t)
{
    return mat_is(t) ? mat_bytes(e, t) :
           t->kind == SPV_ARRAY ? t->count * memory_size(e, t->element) : 0;
}

bool mat_points(Emit *e, SpvId pointer)
{
    const SpvInst *v = pointer_root(e->module, pointer);
    if (!v || v->op != SpvOpVariable)
        return false;
    const SpvType *t = spv_type(e->module, v->type);
    return t && t->kind == SPV_POINTER && t->element && emit_has_matrix(t->element);
}

static MatVariable *variable(Emit *e, const SpvInst *i)
{
    MatVariable **v = &e->matrix->variables[i->id];
    if (!*v) {
        const SpvType *t = spv_type(e->module, i->type)->element;
        *v = NEW(e->arena, MatVariable);
        (*v)->bytes = memory_size(e, t);
        while (t->kind == SPV_ARRAY)
            t = t->element;
        (*v)->base = mat_frame(e, t, MAX((*v)->bytes, 64));
    }
    return *v;
}

/* One step of a chain: moves `place`, `offset` (may be NULL: 0) and `t` on by index `id`. */
static const SpvType *step(Emit *e, const SpvInst *chain, const SpvType *t, SpvId id,
                           MatPlace *place, LV *offset)
{
    uint64_t k;
    bool known = spv_constant(e->module, id, &k);
    if (t->kind != SPV_ARRAY) { /* pass_apart leaves these alone */
        emit_error(e, chain, NULL,
                   "a variable of structures of cooperative matrices is volatile or too large");
        return NULL;
    }
    uint64_t size = memory_size(e, t->element);
    if (known && k < t->count) {
        place->offset += k * size;
        return t->element;
    }
    place->known = false;
    LV index = emit_cast_index(e, emit_uniform(e, emit_leaf(e, id, 0)), e->i64),
       last = ir_int(e->i64, t->count - 1);
    index =
        LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntULE, index, last, ""), index, last, "");
    index = LLVMBuildMul(e->b, index, ir_int(e->i64, size), "");
    *offset = *offset ? LLVMBuildAdd(e->b, *offset, index, "") : index;
    return t->element;
}

static const SpvType *walk(Emit *e, const SpvInst *i, MatPlace *place, LV *base, LV *offset,
                           LV *element)
{
    const SpvInst *chain[32];
    uint32_t n = 0;
    for (; i->op != SpvOpVariable && n < COUNT_OF(chain); i = spv_def(e->module, spv_operand(i, 0)))
        chain[n++] = i;
    const SpvType *t = i->op == SpvOpVariable ? spv_type(e->module, i->type)->element : NULL;
    if (!t)
        return NULL;
    *place = (MatPlace){i->id, true, 0};
    *base = variable(e, i)->base;
    while (t && n--)
        for (uint32_t k = 1; t && chain[n]->op != SpvOpCopyObject && k < spv_n_operands(chain[n]);
             k++) {
            if (!mat_is(t))
                t = step(e, chain[n], t, spv_operand(chain[n], k), place, offset);
            else if (element)
                *element = emit_leaf(e, spv_operand(chain[n], k), 0);
        }
    return t;
}

MatPlace mat_place(Emit *e, SpvId id, Tile *tile, const SpvType **type, LV *element)
{
    MatPlace place = {0};
    LV base = NULL, offset = NULL;
    const SpvInst *i = spv_def(e->module, id);
    *type = walk(e, i, &place, &base, &offset, element);
    if (!mat_is(*type)) {
        emit_error(e, i, NULL,
                   "a pointer to cooperative matrices is used in a way that is not supported");
        *tile = (Tile){ LLVMGetUndef(e->ptr), ir_int(e->i64, 0), false, true };
        for (SpvInst *g = e->module->globals.first; g; g = g->next)
            if (g->op == SpvOpTypeCooperativeMatrixKHR)
                *type = spv_type(e->module, g->id);
        return place;
    }
    LV p = ir_at_inbounds(e->b, base, ir_int(e->i64, place.offset));
    *tile = mat_dense(e, *type, offset ? ir_at_inbounds(e->b, p, offset) : p, false);
    return place;
}
