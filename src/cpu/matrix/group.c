/* SPDX-License-Identifier: MIT
 *
 * Pending multiply-adds. One that adds to another's result extends its chain (the steps of K). When
 * the chains are emitted, those with the same A tiles form a row of a grid and those with the same
 * B tiles a column, and a whole grid becomes one kernel of gemm.h. A grid with holes is emitted row
 * by row.
 *
 * Each element's products are summed in ascending k, in the order of the chain's instructions. If C
 * is narrower than f32 the sum is rounded once, at the end of the chain.
 *
 * The kernels add to what lies where the result goes. "'A', 'B', 'C', and 'Result Type' need not
 * necessarily have the same component type" (OpCooperativeMatrixMulAddKHR): a C of another type is
 * converted to the result's first, integers according to their signedness flag. If that could lose
 * precision, floats are summed in a wider type and rounded once.
 */
#include "cpu/matrix/matrix.h"
#include "emit/ops.h"

#include <stddef.h>

enum { MAX_STEPS = 64, MAX_GRID = 64 };

static bool near_tile(Emit *e, SpvId id) { return mat_value(e, id)->tile.near; }

static uint32_t operand_flags(const SpvInst *i)
{
    return spv_n_operands(i) > 3 ? spv_operand(i, 3) : 0;
}

/* Whether every value of the float type `from` is one of `to`. */
static bool holds_exactly(IrComp to, IrComp from)
{
    if (to == from || to == COMP_F64)
        return true;
    bool tiny = comp_bytes(from) == 1 && from != COMP_E8M0;
    return to == COMP_F32 ? from != COMP_F64 : tiny && (to == COMP_F16 || to == COMP_BF16);
}

/* The type in which the products and C are summed: the result's, unless that is a float type that
 * cannot hold C exactly. */
static const SpvType *sum_type(Emit *e, const SpvInst *i)
{
    static const SpvType f32 = { .kind = SPV_FLOAT, .bits = 32 };
    static const SpvType f64 = { .kind = SPV_FLOAT, .bits = 64 };
    const SpvType *t = spv_type(e->module, i->type);
    IrComp c = mat_comp(spv_type_of(e->module, spv_operand(i, 2)));
    if (!comp_is_float(c) || holds_exactly(mat_comp(t), c))
        return t;
    SpvType *wide = arena_copy(e->arena, t, sizeof *t);
    wide->element = c == COMP_F64 ? &f64 : &f32;
    return wide;
}

static GemmShape shape_of(Emit *e, const SpvInst *i, const SpvType *c)
{
    SpvId a = spv_operand(i, 0), b = spv_operand(i, 1);
    const SpvType *ta = spv_type_of(e->module, a), *tb = spv_type_of(e->module, b);
    uint32_t flags = operand_flags(i);
    GemmShape s;
    memset(&s, 0, sizeof(s)); /* it is compared as bytes, padding included */
    s.M = (uint16_t)c->rows;
    s.N = (uint16_t)c->cols;
    s.K = (uint16_t)ta->cols;
    s.rows = s.cols = s.steps = 1;
    s.c_dense = true; /* because homes are */
    s.a = comp_with_sign(mat_comp(ta),
                         flags & SpvCooperativeMatrixOperandsMatrixASignedComponentsKHRMask);
    s.b = comp_with_sign(mat_comp(tb),
                         flags & SpvCooperativeMatrixOperandsMatrixBSignedComponentsKHRMask);
    s.c = comp_with_sign(mat_comp(c),
                         flags & SpvCooperativeMatrixOperandsMatrixResultSignedComponentsKHRMask);
    s.saturate = flags & SpvCooperativeMatrixOperandsSaturatingAccumulationKHRMask;
    s.c_other_sign =
        s.saturate && comp_is_signed((IrComp)s.c) !=
                          !!(flags & SpvCooperativeMatrixOperandsMatrixCSignedComponentsKHRMask);
    s.denormals = s.c == COMP_F32 && ops_keeps_denormals(e, 32);
    s.a_col = mat_value(e, a)->tile.col;
    s.b_col = mat_value(e, b)->tile.col;
    s.a_near = near_tile(e, a);
    s.b_near = near_tile(e, b);
    return s;
}

/* Makes sure that an operand is somewhere in memory, and stays there. */
static void settle_operand(Emit *e, SpvId id)
{
    MatValue *v = mat_value(e, id);
    if (v->state != MAT_HOME && v->state != MAT_LAZY)
        mat_read_rows(e, id);
    if (v->state == MAT_SPLAT) { /* a constant, which lies there now, until the block ends */
        v->state = MAT_HOME;
        vec_push(e->arena, &matrices_of(e)->filled, v);
    }
}

static MatMulAdd *chain_ending_in(Emit *e, SpvId id)
{
    for (uint32_t k = 0; k < matrices_of(e)->pending.len; k++)
        if (matrices_of(e)->pending.data[k].result == id)
            return &matrices_of(e)->pending.data[k];
    return NULL;
}

static bool extends_chain(const MatMulAdd *p, const GemmShape *s)
{
    GemmShape one = p->shape;
    one.steps = 1;
    one.c_col = s->c_col;
    return !s->saturate && p->a.len < MAX_STEPS && !p->place.variable &&
           !memcmp(&one, s, sizeof(one));
}

static MatMulAdd new_chain(Emit *e, const SpvInst *i, const SpvType *t, const MatTile *to,
                           const GemmShape *shape)
{
    MatMulAdd p = { .inst = i,
                    .start = spv_operand(i, 2),
                    .result = i->id,
                    .type = t,
                    .shape = *shape,
                    .to = *to,
                    .scope = t->scope };
    vec_push(e->arena, &p.a, spv_operand(i, 0));
    vec_push(e->arena, &p.b, spv_operand(i, 1));
    return p;
}

static void add_pending(Emit *e, const SpvInst *i, GemmShape *shape, MatTile home)
{
    SpvId c = spv_operand(i, 2);
    const SpvType *tc = spv_type_of(e->module, c), *tr = spv_type(e->module, i->type);
    MatValue *start = mat_value(e, c);
    MatMulAdd *chain = start->state == MAT_PENDING ? chain_ending_in(e, c) : NULL;
    shape->c_col = home.col;
    if (chain && start->uses == 1 && tc->element == tr->element && extends_chain(chain, shape)) {
        vec_push(e->arena, &chain->a, spv_operand(i, 0));
        vec_push(e->arena, &chain->b, spv_operand(i, 1));
        chain->result = i->id;
        chain->shape.steps++;
        chain->to = home;
        chain->shape.c_col = home.col;
    } else {
        if (start->state == MAT_PENDING)
            mat_flush(e);
        mat_before_write(e, &home, NULL);
        MatMulAdd p = new_chain(e, i, tr, &home, shape);
        vec_push(e->arena, &matrices_of(e)->pending, p);
    }
    mat_value(e, i->id)->state = MAT_PENDING;
}

/* Computes the sum at once in memory of the wider type, and converts it. */
static void sum_up_wide(Emit *e, const SpvInst *i, const SpvType *wide, GemmShape *shape)
{
    const SpvType *t = spv_type(e->module, i->type);
    bool col = shape->c_col = mat_home(e, i->id).col;
    MatTile sums = mat_dense(e, wide, mat_frame(e, wide, mat_bytes(e, wide)), col);
    mat_flush(e);
    MatMulAdd p = new_chain(e, i, wide, &sums, shape);
    vec_push(e->arena, &matrices_of(e)->pending, p);
    mat_flush(e);
    MatTile to = mat_result(e, i);
    mat_convert(e, wide, (MatNumbers){ sums, mat_comp(wide) }, (MatNumbers){ to, mat_comp(t) });
}

static void add_product(Emit *e, const SpvInst *i)
{
    SpvId a = spv_operand(i, 0), b = spv_operand(i, 1), c = spv_operand(i, 2);
    const SpvType *ta = spv_type_of(e->module, a), *tb = spv_type_of(e->module, b),
                  *tc = spv_type_of(e->module, c);
    const SpvType *tr = spv_type(e->module, i->type);
    if (!mat_is(ta) || !mat_is(tb) || !mat_is(tc) || ta->rows != tr->rows || tb->cols != tr->cols ||
        ta->cols != tb->rows || tc->rows != tr->rows || tc->cols != tr->cols) {
        emit_error(e, i, "SPV_KHR_cooperative_matrix, OpCooperativeMatrixMulAddKHR",
                   "the operands are not M x K, K x N and M x N for the M x N result");
        return;
    }
    settle_operand(e, a);
    settle_operand(e, b);
    const SpvType *sum = sum_type(e, i);
    GemmShape shape = shape_of(e, i, sum);
    mat_count(e, tr, DEVICE_STAT_MULADDS, 1);
    mat_count(e, tr, DEVICE_STAT_FLOPS, 2ull * shape.M * shape.N * shape.K);
    if (sum == tr)
        add_pending(e, i, &shape, mat_home(e, i->id));
    else
        sum_up_wide(e, i, sum, &shape);
}

const MatRule matrix_rules_group[] = {
    { SpvOpCooperativeMatrixMulAddKHR, MATRIX_ALWAYS, add_product },
    { 0, 0, NULL },
};

/* ---- emission -------------------------------------------------------------------------------- */

/* Puts C where the result goes, in the result's type and order, for the kernel to add to. */
static void place_start(Emit *e, MatMulAdd *p)
{
    MatValue *start = mat_value(e, p->start);
    bool is_signed =
        operand_flags(p->inst) & SpvCooperativeMatrixOperandsMatrixCSignedComponentsKHRMask;
    IrComp from = comp_with_sign(mat_comp(start->type), is_signed), to = mat_comp(p->type);
    bool other = comp_with_sign(from, true) != comp_with_sign(to, true);
    bool at_home = start->state == MAT_HOME && start->tile.ptr == p->to.ptr;
    if (!at_home) {
        mat_sums_wanted(e, mat_sums(e, p->start));
        mat_sums_wanted(e, mat_sums(e, p->result));
    }
    if (start->state == MAT_SPLAT) {
        LV x = start->splat;
        LT type = comp_type(e->cx, from);
        if (other) {
            x = LLVMTypeOf(x) == type ? x : LLVMBuildBitCast(e->b, x, type, "");
            x = ops_convert(e, x, from, to, ROUND_NEAREST, false);
        }
        mat_fill(e, p->type, &p->to, x);
        return;
    }
    if (other) {
        MatTile c = mat_operand(e, p->start, p->to.col);
        mat_convert(e, p->type, (MatNumbers){ c, from }, (MatNumbers){ p->to, to });
        mat_set_rows(e, &p->to, ir_int(e->i64, p->type->rows));
        return;
    }
    if (start->tile.ptr == p->to.ptr ||
        (start->place.variable && start->place.known && p->place.known &&
         start->place.variable == p->place.variable && start->place.offset == p->place.offset))
        return;
    mat_copy(e, p->type, &p->to, &start->tile);
}

static bool same_ids(const SpvId *a, const SpvId *b, uint32_t n)
{
    return !memcmp(a, b, n * sizeof(*a));
}

typedef struct Grid {
    MatMulAdd *cells[MAX_GRID * MAX_GRID];
    /* for each row a chain that has its A, for each column one that has its B */
    MatMulAdd *row[MAX_GRID], *col[MAX_GRID];
    uint32_t rows, cols, n, scope;
    GemmShape shape;
} Grid;

static uint32_t line_of(MatMulAdd **lines, uint32_t n, const MatMulAdd *p, bool by_a)
{
    for (uint32_t i = 0; i < n; i++)
        if (same_ids(by_a ? lines[i]->a.data : lines[i]->b.data, by_a ? p->a.data : p->b.data,
                     p->a.len))
            return i;
    return n;
}

/* Adds the chain to the grid. False if it does not belong there. */
static bool grid_add(Grid *g, MatMulAdd *p, uint32_t max_rows)
{
    if (g->n && (g->scope != p->scope || memcmp(&g->shape, &p->shape, sizeof(g->shape))))
        return false;
    uint32_t r = line_of(g->row, g->rows, p, true), c = line_of(g->col, g->cols, p, false);
    if (r >= max_rows || c >= MAX_GRID || g->cells[r * MAX_GRID + c])
        return false;
    if (r == g->rows)
        g->row[g->rows++] = p;
    if (c == g->cols)
        g->col[g->cols++] = p;
    g->cells[r * MAX_GRID + c] = p;
    g->shape = p->shape;
    g->scope = p->scope;
    g->n++;
    return true;
}

static void reserve_scratch(Emit *e, const GemmShape *s)
{
    MatEmit *m = matrices_of(e);
    lanes_of(e)->kernel->scratch_bytes =
        MAX(lanes_of(e)->kernel->scratch_bytes, gemm_scratch_bytes(m->gemm, s));
    if (!m->scratch)
        m->scratch = lanes_env(e, e->entry_b, e->ptr, offsetof(CpuEnv, scratch));
}

/* The distance in bytes to what the operand's load reads some iterations later. NULL: not
 * prefetched. */
static LV prefetch_distance(Emit *e, SpvId id)
{
    const MatValue *v = mat_value(e, id);
    return v->state == MAT_LAZY ? v->prefetch : NULL;
}

/* What the kernel packs is B, or, where C is column-major, A (gemm/plan.c). */
static LV shared_panel(Emit *e, const Grid *g, const GemmShape *s)
{
    VEC(SpvId) ids = { 0 };
    for (uint32_t k = 0; k < (s->c_col ? g->rows : g->cols); k++)
        for (uint32_t t = 0; t < s->steps; t++)
            vec_push(e->arena, &ids, s->c_col ? g->row[k]->a.data[t] : g->col[k]->b.data[t]);
    return mat_panel(e, ids.data, ids.len, s);
}

/* ---- the tiles of a call --------------------------------------------------------------------- */

/* A row's or a column's steps are loads at one distance. */
static bool is_even_line(Emit *e, const SpvId *ids, uint32_t n)
{
    const SpvInst *first = spv_def(e->module, ids[0]);
    SpvId *pointers = NEW_ARRAY(e->arena, SpvId, n);
    for (uint32_t k = 0; k < n; k++) {
        const SpvInst *i = spv_def(e->module, ids[k]);
        const MatValue *v = mat_value(e, ids[k]);
        if (v->state != MAT_LAZY || !v->direct || i->op != SpvOpCooperativeMatrixLoadKHR ||
            spv_n_operands(i) < 3 || spv_operand(i, 2) != spv_operand(first, 2))
            return false;
        pointers[k] = spv_operand(i, 0);
    }
    return pointers_even(e->module, pointers, n);
}

static bool is_even(Emit *e, const Grid *g)
{
    uint32_t n = g->shape.steps;
    bool even = n > 1;
    for (uint32_t r = 0; r < g->rows; r++)
        even = even && is_even_line(e, g->row[r]->a.data, n);
    for (uint32_t c = 0; c < g->cols; c++)
        even = even && is_even_line(e, g->col[c]->b.data, n);
    return even;
}

static GemmView tile_view(Emit *e, SpvId id)
{
    const MatTile *t = &mat_value(e, id)->tile;
    return (GemmView){ t->ptr, t->stride, NULL };
}

/* The first of a line's steps, which stands for all. */
static GemmView even_view(Emit *e, const SpvId *ids)
{
    GemmView v = tile_view(e, ids[0]), next = tile_view(e, ids[1]);
    v.apart = LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, next.ptr, e->i64, ""),
                           LLVMBuildPtrToInt(e->b, v.ptr, e->i64, ""), "");
    return v;
}

/* A's tiles by row and B's by column: of an even grid the first step's, else all. */
static void list_operands(Emit *e, const Grid *g, bool even, GemmView *a, GemmView *b)
{
    uint32_t n = even ? 1 : g->shape.steps;
    for (uint32_t t = 0; t < n; t++) {
        for (uint32_t r = 0; r < g->rows; r++) {
            const SpvId *ids = g->row[r]->a.data;
            a[r * n + t] = even ? even_view(e, ids) : tile_view(e, ids[t]);
        }
        for (uint32_t k = 0; k < g->cols; k++) {
            const SpvId *ids = g->col[k]->b.data;
            b[t * g->cols + k] = even ? even_view(e, ids) : tile_view(e, ids[t]);
        }
    }
}

static void list_sums(const Grid *g, GemmView *c)
{
    for (uint32_t r = 0; r < g->rows; r++)
        for (uint32_t k = 0; k < g->cols; k++) {
            const MatTile *t = &g->cells[r * MAX_GRID + k]->to;
            c[r * g->cols + k] = (GemmView){ t->ptr, t->stride, NULL };
        }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static GemmShape shape_of_grid(Emit *e, const Grid *g, GemmCall *call)
{
    GemmShape s = g->shape;
    s.rows = (uint16_t)g->rows;
    s.cols = (uint16_t)g->cols;
    call->ahead_a = prefetch_distance(e, g->row[0]->a.data[0]);
    call->ahead_b = prefetch_distance(e, g->col[0]->b.data[0]);
    s.prefetch_a = call->ahead_a;
    s.prefetch_b = call->ahead_b;
    /* A list of lines to prefetch is made from all tiles. */
    s.even = !s.prefetch_a && !s.prefetch_b && is_even(e, g);
    return s;
}

static bool stays_put(Emit *e, SpvId id)
{
    const MatValue *v = mat_value(e, id);
    return v->state == MAT_LAZY && v->direct && v->unchanged && !v->prefetch;
}

/* The sums that the grid's products are added to, if its call may be put off: it is for all of
 * them, and its operands are found where they are now. */
static MatSums *sums_of(Emit *e, const Grid *g)
{
    MatSums *s = mat_sums(e, g->row[0]->result);
    if (!s || s->call.table || g->shape.saturate || s->n != g->n)
        return NULL;
    for (uint32_t r = 0; r < g->rows; r++)
        for (uint32_t k = 0; k < g->cols; k++) {
            const MatMulAdd *p = g->cells[r * MAX_GRID + k];
            const MatValue *start = mat_value(e, p->start);
            if (mat_sums(e, p->result) != s || p->place.variable || start->state != MAT_HOME ||
                start->tile.ptr != p->to.ptr)
                return NULL;
        }
    for (uint32_t t = 0; t < g->shape.steps; t++) {
        for (uint32_t r = 0; r < g->rows; r++)
            if (!stays_put(e, g->row[r]->a.data[t]))
                return NULL;
        for (uint32_t k = 0; k < g->cols; k++)
            if (!stays_put(e, g->col[k]->b.data[t]))
                return NULL;
    }
    return s;
}

static void want_sums(Emit *e, const Grid *g)
{
    const MatSums *last = NULL;
    for (uint32_t r = 0; r < g->rows; r++)
        for (uint32_t k = 0; k < g->cols; k++) {
            MatSums *s = mat_sums(e, g->cells[r * MAX_GRID + k]->result);
            if (s != last)
                mat_sums_wanted(e, s);
            last = s;
        }
}

/* A's tiles, then those of the sums. */
static uint32_t list_by_rows(Emit *e, const Grid *g, MatTile *x)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < g->rows; r++)
        for (uint32_t t = 0; t < g->shape.steps; t++)
            x[n++] = mat_value(e, g->row[r]->a.data[t])->tile;
    for (uint32_t r = 0; r < g->rows; r++)
        for (uint32_t k = 0; k < g->cols; k++)
            x[n++] = g->cells[r * MAX_GRID + k]->to;
    return n;
}

/* Whether only so many rows are multiplied as lie in memory: the grid is one tile high, and those
 * of all its tiles may be alike. */
static bool may_take_some(Emit *e, const Grid *g, const MatTile *x, uint32_t n)
{
    bool all = g->rows == 1 && !g->shape.c_col;
    for (uint32_t k = 0; k < n; k++)
        all = all && mat_has_rows(e, &x[k]);
    return all;
}

/* Completes what must be: B; and A and the sums, if not only some of their rows are multiplied. */
static void complete_operands(Emit *e, const Grid *g, MatTile *x, uint32_t n, bool some)
{
    const SpvType *c = g->row[0]->type;
    for (uint32_t k = 0; k < n && !some; k++) {
        bool sum = k >= g->rows * g->shape.steps;
        if (sum)
            mat_set_unlike(e, &x[k], ir_int(e->i64, c->rows));
        mat_complete(e, c, &x[k]);
    }
    for (uint32_t k = 0; k < g->cols; k++)
        for (uint32_t t = 0; t < g->shape.steps; t++) {
            const MatValue *v = mat_value(e, g->col[k]->b.data[t]);
            MatTile b = v->tile;
            mat_complete(e, v->type, &b);
        }
}

static void grid_emit(Emit *e, Grid *g)
{
    uint32_t R = g->rows, S = g->cols, T = g->shape.steps;
    GemmView *a = NEW_ARRAY(e->arena, GemmView, R * T), *b = NEW_ARRAY(e->arena, GemmView, T * S);
    GemmView *c = NEW_ARRAY(e->arena, GemmView, R * S);
    GemmCall call = { .a = a, .b = b, .c = c };
    LLVMMetadataRef before = debug_at(e, g->row[0]->inst);
    LV cold = lanes_env(e, e->b, e->i32, offsetof(CpuEnv, beyond_l2));
    call.cold = LLVMBuildICmp(e->b, LLVMIntNE, cold, ir_int(e->i32, 0), "");
    call.shape = shape_of_grid(e, g, &call);
    MatSums *sums = sums_of(e, g);
    call.shape.moves = sums;
    MatTile *by_rows = NEW_ARRAY(e->arena, MatTile, R * (T + S));
    uint32_t n_by_rows = list_by_rows(e, g, by_rows);
    call.shape.some_rows = may_take_some(e, g, by_rows, n_by_rows);
    complete_operands(e, g, by_rows, n_by_rows, call.shape.some_rows);
    list_operands(e, g, call.shape.even, a, b);
    list_sums(g, c);
    if (call.shape.prefetch_a || call.shape.prefetch_b)
        call.prefetch = mat_prefetch_wanted(e);
    if (!call.shape.some_rows) /* which may not need what a panel holds */
        call.panel = shared_panel(e, g, &call.shape);
    call.env = e->env;
    call.packed = ir_at_inbounds(e->b, e->env, ir_int(e->i64, offsetof(CpuEnv, packed)));
    reserve_scratch(e, &call.shape);
    MatLeader l = mat_leader_begin(e, spv_type_of(e->module, g->row[0]->result));
    emit_remark(e, REMARK_MULADD, R, S, T, call.shape.M, call.shape.N, call.shape.K,
                gemm_engine_name(matrices_of(e)->gemm, &call.shape));
    call.scratch = matrices_of(e)->scratch;
    if (call.shape.some_rows) {
        call.lines = mat_rows_of_all(e, g->row[0]->type, by_rows, n_by_rows);
        for (uint32_t k = T; k < n_by_rows; k++)
            mat_set_rows(e, &by_rows[k], call.lines);
    }
    if (sums) {
        mat_sums_put_off(e, sums, &call);
    } else {
        want_sums(e, g);
        call.table = mat_table(e, gemm_table_entries(&call.shape));
        gemm_call(matrices_of(e)->gemm, e->b, &call);
    }
    lanes_of(e)->kernel->tiles |= gemm_has_tiles(matrices_of(e)->gemm);
    mat_leader_end(e, &l);
    debug_back(e, before);
}

/* Counts what the kernel reads from buffers towards the bytes that the loop streams. */
static void count_stream(Emit *e, SpvId id)
{
    MatValue *v = mat_value(e, id);
    if (v->state != MAT_LAZY || v->tile.near)
        return;
    lanes_streams(e, (uint64_t)v->type->rows * v->type->cols * comp_bytes(mat_comp(v->type)));
}

static void settle_result(Emit *e, MatMulAdd *p)
{
    MatValue *v = mat_value(e, p->result);
    v->state = MAT_HOME;
    v->tile = p->to;
    v->place = p->place;
}

void mat_emit_groups(Emit *e)
{
    MatEmit *m = matrices_of(e);
    uint32_t n = m->pending.len;
    MatMulAdd *all = m->pending.data;
    uint8_t *done = NEW_ARRAY(e->arena, uint8_t, n + 1);
    Grid *g = NEW(e->arena, Grid);
    for (uint32_t i = 0; i < n; i++) {
        place_start(e, &all[i]);
        for (uint32_t k = 0; k < all[i].a.len; k++) {
            bool seen_a = false, seen_b = false;
            for (uint32_t j = 0; j < i; j++) {
                seen_a |= k < all[j].a.len && all[j].a.data[k] == all[i].a.data[k];
                seen_b |= k < all[j].b.len && all[j].b.data[k] == all[i].b.data[k];
            }
            if (!seen_a)
                count_stream(e, all[i].a.data[k]);
            if (!seen_b)
                count_stream(e, all[i].b.data[k]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (done[i])
            continue;
        uint32_t max_rows = MAX_GRID;
    again:
        memset(g, 0, sizeof(*g));
        uint8_t *taken = NEW_ARRAY(e->arena, uint8_t, n + 1);
        for (uint32_t k = i; k < n; k++)
            taken[k] = !done[k] && grid_add(g, &all[k], max_rows);
        if (g->n != g->rows * g->cols && max_rows > 1) {
            max_rows = 1; /* the grid has holes: only this chain's row is emitted */
            goto again;
        }
        grid_emit(e, g);
        for (uint32_t k = i; k < n; k++)
            done[k] |= taken[k];
    }
    m->pending.len = 0;
    m->pending.data = NULL;
    m->pending.cap = 0;
    for (uint32_t i = 0; i < n; i++)
        settle_result(e, &all[i]);
}
