/* SPDX-License-Identifier: MIT
 *
 * The instructions that load and store matrices by pointer, stride and layout.
 */
#include "cpu/matrix/matrix.h"

static LV stride_bytes(Emit *e, SpvId id, const SpvType *pointee, uint32_t minor, uint32_t comp)
{
    uint64_t unit = spv_type_size(pointee);
    if (!id) /* without a stride lines are tight */
        return ir_int(e->i64, (uint64_t)minor * comp);
    const SpvType *t = spv_type_of(e->module, id);
    LV s = emit_uniform(e, emit_leaf(e, id, 0));
    s = t->is_signed ? LLVMBuildSExt(e->b, s, e->i64, "") : LLVMBuildZExt(e->b, s, e->i64, "");
    return LLVMBuildMul(e->b, s, ir_int(e->i64, unit), "");
}

static uint32_t constant_layout(Emit *e, const SpvInst *i, SpvId id)
{
    uint64_t layout = 0;
    if (!spv_constant(e->module, id, &layout))
        emit_error(e, i, "SPV_KHR_cooperative_matrix, MemoryLayout",
                   "the memory layout is not a constant");
    return (uint32_t)layout;
}

/* A matrix instruction's pointer is the same for all lanes. */
static LV uniform_limit(Emit *e, const EmitPointer *p) { return emit_uniform(e, p->limit); }
static LV uniform_base(Emit *e, const EmitPointer *p) { return emit_uniform(e, p->base); }

/* i1: whether the last element of a tile, and with it every element, is inside the object. */
static LV is_tile_inside(Emit *e, const SpvType *t, const EmitPointer *p, const MatTile *tile)
{
    uint32_t major = tile->col ? t->cols : t->rows, minor = tile->col ? t->rows : t->cols;
    LV base = uniform_base(e, p), limit = uniform_limit(e, p);
    LV offset = LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, tile->ptr, e->i64, ""),
                             LLVMBuildPtrToInt(e->b, base, e->i64, ""), "");
    LV last = LLVMBuildMul(e->b, tile->stride, ir_int(e->i64, major - 1), "");
    LV end = LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, offset, last, ""),
                          ir_int(e->i64, (uint64_t)minor * comp_bytes(mat_comp(t))), "");
    LV low = LLVMBuildICmp(e->b, LLVMIntULE, offset, limit, "");
    LV small = LLVMBuildICmp(e->b, LLVMIntULT, tile->stride, ir_int(e->i64, 1ull << 40), "");
    LV high = LLVMBuildICmp(e->b, LLVMIntULE, end, limit, "");
    return LLVMBuildAnd(e->b, low, LLVMBuildAnd(e->b, small, high, ""), "");
}

/* What a pointer points to, an array's element if it is one: a number or vector, the unit of
 * strides. */
static const SpvType *pointee_of(Emit *e, const SpvInst *i, const SpvType *t, const EmitPointer *p)
{
    const SpvType *pointee = p->at.type;
    if (pointee && pointee->kind == SPV_ARRAY)
        pointee = pointee->element;
    if (pointee &&
        (pointee->kind == SPV_INT || pointee->kind == SPV_FLOAT || pointee->kind == SPV_VECTOR))
        return pointee;
    emit_error(e, i, "SPV_KHR_cooperative_matrix, OpCooperativeMatrixLoadKHR",
               "the pointer leads to neither a number nor a vector of numbers");
    return t->element;
}

/* The tile that a load or a store accesses. *inside: robust access, whether all of it is inside the
 * object; NULL: need not be tested. */
static MatTile memory_tile(Emit *e, const SpvInst *i, const SpvType *t, LV *inside)
{
    enum { ROW_MAJOR = 0, COLUMN_MAJOR = 1 };
    uint32_t first = i->op == SpvOpCooperativeMatrixStoreKHR ? 2 : 1;
    uint32_t layout = constant_layout(e, i, spv_operand(i, first));
    const EmitPointer *p = emit_pointer(e, spv_operand(i, 0));
    uint32_t bytes = comp_bytes(mat_comp(t));
    MatTile tile = { .near = p->storage == SpvStorageClassWorkgroup,
                     .col = layout == COLUMN_MAJOR };
    if (layout > COLUMN_MAJOR)
        emit_error(e, i, "SPV_KHR_cooperative_matrix, Cooperative Matrix Layout",
                   "memory layout %u is not supported: RowMajorKHR (0) and ColumnMajorKHR (1) are",
                   layout);
    const SpvType *pointee = pointee_of(e, i, t, p);
    tile.ptr = emit_uniform(e, emit_address(e, p, 0, bytes));
    SpvId stride = spv_n_operands(i) > first + 1 ? spv_operand(i, first + 1) : 0;
    tile.stride = stride_bytes(e, stride, pointee, tile.col ? t->rows : t->cols, bytes);
    *inside = e->robust && p->limit ? is_tile_inside(e, t, p, &tile) : NULL;
    return tile;
}

/* Copies element by element, skipping those outside of [base, base + limit): loads read zero,
 * stores drop them (robust access). A plain loop, as it rarely runs. */
static void guarded_copy(Emit *e, const SpvType *t, SpvId pointer, const MatTile *memory,
                         const MatTile *home, bool store)
{
    const EmitPointer *p = emit_pointer(e, pointer);
    uint32_t bytes = comp_bytes(mat_comp(t));
    LT type = LLVMIntTypeInContext(e->cx, bytes * 8);
    LV base = uniform_base(e, p), limit = uniform_limit(e, p);
    LV start = LLVMBuildPtrToInt(e->b, base, e->i64, "");
    MatLeader leader = mat_leader_begin(e, t);
    EmitLoop i = loop_begin(e, ir_int(e->i64, memory->col ? t->cols : t->rows));
    EmitLoop j = loop_begin(e, ir_int(e->i64, memory->col ? t->rows : t->cols));
    LV minor = LLVMBuildMul(e->b, j.index, ir_int(e->i64, bytes), "");
    LV in_memory = ir_at_inbounds(
        e->b, memory->ptr,
        LLVMBuildAdd(e->b, LLVMBuildMul(e->b, i.index, memory->stride, ""), minor, ""));
    bool same = memory->col == home->col;
    LV line = LLVMBuildMul(e->b, same ? i.index : j.index, home->stride, "");
    LV place = LLVMBuildMul(e->b, same ? j.index : i.index, ir_int(e->i64, bytes), "");
    LV in_home = ir_at_inbounds(e->b, home->ptr, LLVMBuildAdd(e->b, line, place, ""));
    LV offset = LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, in_memory, e->i64, ""), start, "");
    LV end = LLVMBuildAdd(e->b, offset, ir_int(e->i64, bytes), "");
    LV ok = LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntULT, offset, limit, ""),
                         LLVMBuildICmp(e->b, LLVMIntULE, end, limit, ""), "");
    if (!store)
        ir_store(e->b, LLVMConstNull(type), in_home, bytes);
    EmitIf f = if_begin(e, ok);
    LV x = ir_load(e->b, type, store ? in_home : in_memory, bytes);
    ir_store(e->b, x, store ? in_memory : in_home, bytes);
    if_end(e, &f);
    loop_end(e, &j);
    loop_end(e, &i);
    mat_leader_end(e, &leader);
}

/* The tile itself if all of it is inside, else a copy with zeros for what is not. */
static MatTile inside_or_copy(Emit *e, const SpvType *t, SpvId pointer, const MatTile *tile,
                              LV inside)
{
    MatTile copy = mat_dense(e, t, mat_frame(e, t, mat_bytes(e, t)), tile->col), r = *tile;
    EmitIf out = if_begin(e, LLVMBuildNot(e->b, inside, ""));
    guarded_copy(e, t, pointer, tile, &copy, false);
    if_end(e, &out);
    r.ptr = LLVMBuildSelect(e->b, inside, tile->ptr, copy.ptr, "");
    r.stride = LLVMBuildSelect(e->b, inside, tile->stride, copy.stride, "");
    return r;
}

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

static bool is_access_volatile(const SpvInst *i, uint32_t operand)
{
    return spv_n_operands(i) > operand && (spv_operand(i, operand) & SpvMemoryAccessVolatileMask);
}

/* That a sum is loaded to where it is added to says nothing. */
static void remark_copy(Emit *e, const SpvInst *i, const SpvType *t)
{
    enum { ACCUMULATOR = 2 };
    if (t->use != ACCUMULATOR)
        emit_remark(e, REMARK_COPIED, t->rows, t->cols,
                    is_access_volatile(i, 3)            ? "the access is volatile"
                    : mat_value(e, i->id)->other_blocks ? "another block uses it"
                                                        : "not only multiply-adds use it");
}

static void load_matrix(Emit *e, const SpvInst *i)
{
    MatEmit *m = matrices_of(e);
    const SpvType *t = spv_type(e->module, i->type);
    MatValue *v = mat_value(e, i->id);
    LV inside;
    MatTile tile = memory_tile(e, i, t, &inside);
    MatPrefetch lines = { tile.ptr,
                          tile.stride,
                          tile.col ? t->cols : t->rows,
                          (tile.col ? t->rows : t->cols) * comp_bytes(mat_comp(t)),
                          NULL,
                          NULL,
                          0 };
    bool stays = mat_may_stay(e, i) && !is_access_volatile(i, 3);
    v->prefetch = tile.near || !stays ? NULL : mat_prefetch_distance(e, i, &lines);
    if (!tile.near && !stays)
        mat_prefetch(e, i, &lines);
    mat_count(e, t, DEVICE_STAT_MATRIX_LOADS, 1);
    mat_count(e, t, DEVICE_STAT_BYTES_LOADED,
              (uint64_t)t->rows * t->cols * comp_bytes(mat_comp(t)));
    if (stays) {
        v->unchanged = mat_unchanged(e, emit_pointer(e, spv_operand(i, 0)),
                                     spv_n_operands(i) > 3 ? spv_operand(i, 3) : 0, inside);
        v->state = MAT_LAZY;
        v->direct = !inside;
        v->tile = inside ? inside_or_copy(e, t, spv_operand(i, 0), &tile, inside) : tile;
        vec_push(e->arena, &m->lazy, v);
        return;
    }
    remark_copy(e, i, t);
    MatTile home = mat_result(e, i);
    if (!inside) {
        mat_copy(e, t, &home, &tile);
        return;
    }
    EmitIf in = if_begin(e, inside);
    mat_copy(e, t, &home, &tile);
    if_end(e, &in);
    EmitIf out = if_begin(e, LLVMBuildNot(e->b, inside, ""));
    guarded_copy(e, t, spv_operand(i, 0), &tile, &home, false);
    if_end(e, &out);
}

/* Whether the next instruction, other than arithmetic on numbers, stores such a matrix too. */
static bool another_follows(Emit *e, const SpvInst *i, const SpvType *t)
{
    for (i = i->next; i; i = i->next) {
        if (i->op == SpvOpCooperativeMatrixStoreKHR)
            return spv_type_of(e->module, spv_operand(i, 1)) == t && !is_access_volatile(i, 4);
        if (!spv_is_pure(i) || !i->type || mat_is(spv_type(e->module, i->type)))
            return false;
    }
    return false;
}

static void store_matrix(Emit *e, const SpvInst *i)
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
    MatTile from = mat_place(e, object);
    mat_complete(e, mat_value(e, object)->type, &from);
    MatTile to = memory_tile(e, i, t, &inside);
    mat_count(e, t, DEVICE_STAT_MATRIX_STORES, 1);
    mat_count(e, t, DEVICE_STAT_BYTES_STORED,
              (uint64_t)t->rows * t->cols * comp_bytes(mat_comp(t)));
    bool waits = !inside && !is_access_volatile(i, 4) && from.col == to.col;
    MatSums *sums = mat_sums(e, object);
    if (!waits) {
        mat_stores_done(e);
        mat_sums_wanted(e, sums);
    } else {
        mat_store_later(e, (MatStored){ .type = t, .sums = sums, .to = to, .from = from });
    }
    if (!waits || !another_follows(e, i, t))
        mat_stores_done(e);
    if (waits)
        return;
    if (!inside) {
        mat_copy(e, t, &to, &from);
        return;
    }
    EmitIf in = if_begin(e, inside);
    mat_copy(e, t, &to, &from);
    if_end(e, &in);
    EmitIf out = if_begin(e, LLVMBuildNot(e->b, inside, ""));
    guarded_copy(e, t, spv_operand(i, 0), &to, &from, true);
    if_end(e, &out);
}

const MatRule matrix_rules_memory[] = {
    { SpvOpCooperativeMatrixLoadKHR, MATRIX_ALWAYS, load_matrix },
    { SpvOpCooperativeMatrixStoreKHR, MATRIX_ALWAYS, store_matrix },
    { 0, 0, NULL },
};
