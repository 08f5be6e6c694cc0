/* SPDX-License-Identifier: MIT
 *
 * Cooperative matrices: which value lies where, and when it gets there. See matrix.h for the idea.
 *
 * Invariants. A value in state HOME is complete in memory. Homes are shared by the values of a web,
 * whose live ranges do not overlap in program order; since pending multiply-adds run later than
 * they stand, every write of a home first flushes those that still refer to it (mat_before_write).
 * Lazy loads are read, by a flush or a copy, before memory may change (matrix_memory_barrier).
 */
#include "cpu/emit/emit_internal.h"
#include "cpu/matrix/matrix.h"

#include <stddef.h>

bool mat_is(const SpvType *t) { return t && t->kind == SPV_COOPMAT; }

Comp mat_comp(const SpvType *matrix) { return comp_of(matrix->element); }

static uint64_t workgroup_size(const Emit *e)
{
    return (uint64_t)e->local_size[0] * e->local_size[1] * e->local_size[2];
}

/* Fewer invocations than a subgroup has lanes. */
static bool is_small(const Emit *e) { return workgroup_size(e) && workgroup_size(e) < e->W; }

/* Padded so that whole vectors, and whole rows of lanes, may be read and written anywhere in it. */
uint64_t mat_bytes(Emit *e, const SpvType *t)
{
    uint64_t elements = align_up((uint64_t)t->rows * t->cols, MAX(64u, e->W));
    if (t->scope == SpvScopeWorkgroup) {
        uint64_t n = workgroup_size(e);
        elements = align_up((elements + n - 1) / n * n, 64);
    }
    if (is_small(e))            /* the last elements' row of lanes begins anywhere */
        elements = align_up(elements + e->W, MAX(64u, e->W));
    return elements * comp_bytes(mat_comp(t));
}

/* ---- the workgroup's matrices ---------------------------------------------------------------- */

/* "All invocations in 'Scope' cooperate to compute and store the matrix"
 * (OpTypeCooperativeMatrixKHR): those that exist, where a workgroup is smaller than a subgroup. */
Holders mat_holders(Emit *e, const SpvType *t)
{
    uint32_t lanes = is_small(e) ? (uint32_t)workgroup_size(e) : e->W;
    if (t->scope != SpvScopeWorkgroup || workgroup_size(e) <= e->W)
        return (Holders){ lanes, ir_int(e->i32, 0) };
    LV subgroup = emit_env(e, e->entry_b, e->i32, offsetof(CpuEnv, subgroup));
    LV first = LLVMBuildMul(e->entry_b, subgroup, ir_int(e->i32, e->W), "");
    return (Holders){(uint32_t)workgroup_size(e), first};
}

LV mat_frame(Emit *e, const SpvType *t, uint64_t bytes)
{
    if (t->scope != SpvScopeWorkgroup)
        return emit_frame(e, bytes);
    LV base = emit_env(e, e->entry_b, e->ptr, offsetof(CpuEnv, shared));
    uint64_t at = align_up(e->kernel->shared_bytes, 64);
    e->kernel->shared_bytes = at + bytes;
    LV offset = ir_int(e->i64, at);
    return ir_at(e->entry_b, base, offset);
}

LV mat_table(Emit *e, uint32_t entries)
{
    struct Matrix *m = e->matrix;
    if (entries > m->table_entries) {
        m->table_entries = entries;
        m->table = emit_alloca(e, LLVMArrayType2(e->i64, entries), "tiles");
    }
    return m->table;
}

Leader mat_leader_begin(Emit *e, const SpvType *t)
{
    Leader l = {0};
    if (t->scope != SpvScopeWorkgroup || workgroup_size(e) <= e->W || e->matrix->leading)
        return l;
    if (e->matrix->shared_elements)
        flow_barrier(e);
    LV subgroup = emit_env(e, e->entry_b, e->i32, offsetof(CpuEnv, subgroup));
    LV zero = ir_int(e->i32, 0);
    l.on = e->matrix->leading = true;
    l.f = if_begin(e, LLVMBuildICmp(e->b, LLVMIntEQ, subgroup, zero, ""));
    return l;
}

void mat_leader_end(Emit *e, Leader *l)
{
    if (!l->on)
        return;
    if_end(e, &l->f);
    e->matrix->leading = false;
    if (e->matrix->shared_elements)
        flow_barrier(e);
}

static LV is_leader(Emit *e)
{
    LV subgroup = emit_env(e, e->b, e->i32, offsetof(CpuEnv, subgroup));
    return LLVMBuildICmp(e->b, LLVMIntEQ, subgroup, ir_int(e->i32, 0), "");
}

void mat_count(Emit *e, const SpvType *t, DeviceStat stat, uint64_t n)
{
    if (!n || !e->options->stats)
        return;
    If f = {0};
    bool some = t && t->scope == SpvScopeWorkgroup && workgroup_size(e) > e->W;
    if (some)
        f = if_begin(e, is_leader(e));
    emit_count(e, stat, ir_int(e->i64, n));
    if (some)
        if_end(e, &f);
}

const uint16_t *mat_ids(Emit *e, const SpvInst *i, uint32_t *n)
{
    struct Matrix *m = e->matrix;
    *n = spv_id_operands(i, m->ids, m->ids_room);
    if (*n <= m->ids_room)
        return m->ids;
    m->ids_room = 2 * *n;
    m->ids = NEW_ARRAY(e->arena, uint16_t, m->ids_room);
    spv_id_operands(i, m->ids, m->ids_room);
    return m->ids;
}

/* ---- values and homes ------------------------------------------------------------------------ */

MatValue *mat_value(Emit *e, SpvId id)
{
    struct Matrix *m = e->matrix;
    MatValue *v = m->values[id];
    if (v)
        return v;
    v = m->values[id] = NEW(e->arena, MatValue);
    v->id = id;
    v->type = spv_type_of(e->module, id);
    const SpvInst *def = spv_def(e->module, id);
    if (def && !def->block) {   /* a constant */
        v->state = MAT_SPLAT;
        v->splat = LLVMConstNull(comp_type(e->cx, mat_comp(v->type)));
        if (def->op == SpvOpConstantComposite || def->op == SpvOpConstantCompositeReplicateEXT)
            v->splat = emit_uniform(e, emit_leaf(e, spv_operand(def, 0), 0));
    } else if (def && def->op == SpvOpUndef) {
        v->state = MAT_SPLAT;
        v->splat = LLVMConstNull(comp_type(e->cx, mat_comp(v->type)));
    }
    return v;
}

Tile mat_home(Emit *e, SpvId id)
{
    struct Matrix *m = e->matrix;
    MatValue *v = mat_value(e, id);
    uint32_t web = m->webs->web[id];
    if (!web)                   /* constants have no web: a home of their own */
        return mat_dense(e, v->type, mat_frame(e, v->type, mat_bytes(e, v->type)), false);
    Home *h = &m->homes[web - 1];
    if (!h->tile.ptr) {
        const SpvType *largest = spv_type(e->module, m->webs->web_type[web - 1]);
        h->tile.ptr = mat_frame(e, largest, mat_bytes(e, largest));
    }
    return mat_dense(e, v->type, h->tile.ptr, m->web_col[web - 1]);
}

Tile mat_read(Emit *e, SpvId id)
{
    MatValue *v = mat_value(e, id);
    if (v->state == MAT_PENDING)
        mat_flush(e);
    if (v->state == MAT_HOME || v->state == MAT_LAZY)
        return v->tile;
    Tile home = mat_home(e, id);
    if (v->state == MAT_SPLAT) {
        if (e->matrix->webs->web[id])
            mat_before_write(e, &home, NULL);
        mat_fill(e, v->type, &home, v->splat);
        if (!e->matrix->webs->web[id])
            return home;        /* a constant: filled anew wherever it is read */
    }
    v->state = MAT_HOME;
    v->tile = home;
    return home;
}

static bool same_place(const MatPlace *a, const MatPlace *b)
{
    return a->variable && a->variable == b->variable &&
           (!a->known || !b->known || a->offset == b->offset);
}

/* Whether a value lies in the memory about to be written. */
static bool overlaps(const MatValue *v, const Tile *t, const MatPlace *place)
{
    if (v->state != MAT_HOME)
        return false;
    return place && place->variable ? same_place(&v->place, place) : v->tile.ptr == t->ptr;
}

static bool reads(Emit *e, const MulAdd *p, const Tile *t, const MatPlace *place)
{
    for (uint32_t i = 0; i < p->a.len; i++)
        if (overlaps(mat_value(e, p->a.data[i]), t, place) ||
            overlaps(mat_value(e, p->b.data[i]), t, place))
            return true;
    return overlaps(mat_value(e, p->start), t, place)
        || (place && place->variable ? same_place(&p->place, place) : p->to.ptr == t->ptr);
}

void mat_before_write(Emit *e, const Tile *t, const MatPlace *place)
{
    struct Matrix *m = e->matrix;
    for (uint32_t i = 0; i < m->pending.len; i++)
        if (reads(e, &m->pending.data[i], t, place)) {
            mat_flush(e);
            break;
        }
    if (!place || !place->variable)
        return;
    /* Values read from that place that are still wanted get memory of their own. */
    for (uint32_t i = 0; i < m->borrowed.len; i++) {
        MatValue *v = m->borrowed.data[i];
        if (v->uses && v->place.variable && overlaps(v, t, place)) {
            Tile home = mat_home(e, v->id);
            mat_before_write(e, &home, NULL);
            mat_copy(e, v->type, &home, &v->tile);
            v->tile = home;
            v->place.variable = 0;
        }
    }
}

Tile mat_result(Emit *e, const SpvInst *i)
{
    Tile home = mat_home(e, i->id);
    MatValue *v = mat_value(e, i->id);
    mat_before_write(e, &home, NULL);
    v->state = MAT_HOME;
    v->tile = home;
    return home;
}

void mat_flush(Emit *e)
{
    if (e->matrix->pending.len)
        mat_emit_groups(e);
}

/* ---- instructions on whole matrices ---------------------------------------------------------- */

static void length(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, spv_operand(i, 0));
    if (!mat_is(t)) {
        emit_error(e, i, "SPV_KHR_cooperative_matrix, OpCooperativeMatrixLengthKHR",
                   "the type whose length is asked for is no cooperative matrix");
        return;
    }
    uint64_t holders = mat_holders(e, t).n, total = (uint64_t)t->rows * t->cols;
    uint64_t n = (total + holders - 1) / holders;
    emit_set1(e, i, ir_int(e->i32, n));
}

/* All elements from one scalar: a lane's own where it varies (each sets the elements it holds). */
static void construct(Emit *e, const SpvInst *i)
{
    MatValue *v = mat_value(e, i->id);
    LV x = emit_leaf(e, spv_operand(i, 0), 0);
    bool same = !emit_is_lanes(x) && (v->type->scope != SpvScopeWorkgroup ||
                                      e->matrix->same_in_workgroup[spv_operand(i, 0)]);
    if (same && (LLVMIsConstant(x) || !v->other_blocks)) {
        v->state = MAT_SPLAT;
        v->splat = x;
        return;
    }
    Tile home = mat_result(e, i);
    if (same) {
        mat_fill(e, v->type, &home, x);
        return;
    }
    uint32_t holders = mat_holders(e, v->type).n;
    uint32_t n = (v->type->rows * v->type->cols + holders - 1) / holders;
    Loop l = loop_begin(e, ir_int(e->i32, n));
    mat_set_element(e, v->type, &home, l.index, x);
    loop_end(e, &l);
}

static void insert(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    LV x = emit_leaf(e, spv_operand(i, 0), 0);
    Tile from = mat_read(e, spv_operand(i, 1));
    Tile to = mat_result(e, i);
    if (from.ptr != to.ptr)
        mat_copy(e, t, &to, &from);
    mat_set_element(e, t, &to, ir_int(e->i32, spv_operand(i, 2)), x);
}

static void copy_value(Emit *e, const SpvInst *i, SpvId source)
{
    Tile from = mat_read(e, source);
    Tile to = mat_result(e, i);
    if (from.ptr != to.ptr)
        mat_copy(e, spv_type(e->module, i->type), &to, &from);
}

static void select_value(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    LV c = emit_uniform(e, emit_leaf(e, spv_operand(i, 0), 0));
    Tile x = mat_read(e, spv_operand(i, 1)), y = mat_read(e, spv_operand(i, 2));
    Tile to = mat_result(e, i);
    if (x.col == y.col) {
        Tile from = x;
        from.ptr = LLVMBuildSelect(e->b, c, x.ptr, y.ptr, "");
        from.stride = LLVMBuildSelect(e->b, c, x.stride, y.stride, "");
        mat_copy(e, t, &to, &from);
        return;
    }
    If f = if_begin(e, c);
    mat_copy(e, t, &to, &x);
    if_end(e, &f);
    f = if_begin(e, LLVMBuildNot(e->b, c, ""));
    mat_copy(e, t, &to, &y);
    if_end(e, &f);
}

/* ---- variables ------------------------------------------------------------------------------- */

static void load_variable(Emit *e, const SpvInst *i)
{
    const SpvType *t;
    Tile tile;
    LV element = NULL;
    MatPlace place = mat_place(e, spv_operand(i, 0), &tile, &t, &element);
    for (uint32_t p = 0; p < e->matrix->pending.len; p++)
        if (same_place(&e->matrix->pending.data[p].place, &place)) {
            mat_flush(e);
            break;
        }
    if (element) {
        emit_set1(e, i, mat_element(e, t, &tile, element));
        return;
    }
    MatValue *v = mat_value(e, i->id);
    if (!v->other_blocks) {
        v->state = MAT_HOME;
        v->tile = tile;
        v->place = place;
        vec_push(e->arena, &e->matrix->borrowed, v);
        return;
    }
    Tile to = mat_result(e, i);
    mat_copy(e, t, &to, &tile);
}

/* A pending result whose only use is to be stored goes there directly. */
static bool redirect(Emit *e, SpvId object, const Tile *to, const MatPlace *place)
{
    struct Matrix *m = e->matrix;
    MatValue *v = mat_value(e, object);
    if (v->state != MAT_PENDING || v->uses != 1)
        return false;
    for (uint32_t i = 0; i < m->pending.len; i++) {
        MulAdd *p = &m->pending.data[i];
        if (p->result != object) {
            if (reads(e, p, to, place))
                return false;
            continue;
        }
        for (uint32_t k = 0; k < p->a.len; k++)
            if (overlaps(mat_value(e, p->a.data[k]), to, place)
                || overlaps(mat_value(e, p->b.data[k]), to, place))
                return false;
        if (p->place.variable)
            return false;
    }
    for (uint32_t i = 0; i < m->pending.len; i++)
        if (m->pending.data[i].result == object) {
            const MatValue *start = mat_value(e, m->pending.data[i].start);
            if (overlaps(start, to, place) && start->uses)
                return false;
            m->pending.data[i].to = *to;
            m->pending.data[i].place = *place;
            m->pending.data[i].shape.c_col = to->col;
        }
    return true;
}

static void store_variable(Emit *e, const SpvInst *i)
{
    const SpvType *t;
    Tile to;
    LV element = NULL;
    MatPlace place = mat_place(e, spv_operand(i, 0), &to, &t, &element);
    SpvId object = spv_operand(i, 1);
    if (element) {
        LV x = emit_leaf(e, object, 0);
        mat_before_write(e, &to, &place);
        mat_set_element(e, t, &to, element, x);
        return;
    }
    if (redirect(e, object, &to, &place))
        return;
    Tile from = mat_read(e, object);
    if (from.ptr == to.ptr)
        return;
    mat_before_write(e, &to, &place);
    mat_copy(e, t, &to, &from);
}

/* ---- composites that hold matrices: taken apart by pass_apart, else refused ------------------ */

static bool holds_matrix(const SpvType *t)
{
    return t && !mat_is(t) && t->kind != SPV_POINTER && emit_has_matrix(t);
}

static bool refuse(Emit *e, const SpvInst *i, const SpvType *t)
{
    emit_error(e, i, NULL,
               "a value of %s type that holds cooperative matrices is volatile, too large, or used "
               "by an instruction that takes none",
               t->kind == SPV_STRUCT ? "structure" : "array");
    return true;
}

/* ---- the driver's hooks ---------------------------------------------------------------------- */

static bool unknown_scope(Emit *e, const SpvInst *i, const SpvType *t)
{
    bool workgroup = mat_is(t) && t->scope == SpvScopeWorkgroup;
    if (!mat_is(t) || t->scope == SpvScopeSubgroup || (workgroup && workgroup_size(e)))
        return false;
    if (workgroup)
        emit_error(e, i, "SPV_NV_cooperative_matrix2, 2.16.1",
                   "cooperative matrices of scope Workgroup need a workgroup size that is known");
    else
        emit_error(e, i, "SPV_KHR_cooperative_matrix, OpTypeCooperativeMatrixKHR",
                   "cooperative matrices of scope %u are not supported: Workgroup (2) and Subgroup "
                   "(3) are",
                   t->scope);
    return true;
}

static bool dispatch(Emit *e, const SpvInst *i, const SpvType *t)
{
    switch (i->op) {
    case SpvOpVariable:
        return mat_points(e, i->id);
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
        return mat_points(e, spv_operand(i, 0));    /* walked again where it is used */
    case SpvOpLoad:
        if (!mat_points(e, spv_operand(i, 0)))
            return false;
        if (holds_matrix(t))
            return refuse(e, i, t);
        load_variable(e, i);
        return true;
    case SpvOpStore:
        if (!mat_points(e, spv_operand(i, 0)))
            return false;
        if (holds_matrix(spv_type_of(e->module, spv_operand(i, 1))))
            return refuse(e, i, spv_type_of(e->module, spv_operand(i, 1)));
        store_variable(e, i);
        return true;
    case SpvOpCooperativeMatrixLoadKHR: mat_load(e, i); return true;
    case SpvOpCooperativeMatrixStoreKHR: mat_store(e, i); return true;
    case SpvOpCooperativeMatrixLoadTensorNV: mat_load_tensor(e, i); return true;
    case SpvOpCooperativeMatrixStoreTensorNV: mat_store_tensor(e, i); return true;
    case SpvOpCooperativeMatrixMulAddKHR: mat_muladd(e, i); return true;
    case SpvOpCooperativeMatrixLengthKHR: length(e, i); return true;
    case SpvOpCompositeExtract: {
        const SpvType *from = spv_type_of(e->module, spv_operand(i, 0));
        if (holds_matrix(from))
            return refuse(e, i, from);
        if (!mat_is(from))
            return false;
        Tile tile = mat_read(e, spv_operand(i, 0));
        emit_set1(e, i, mat_element(e, from, &tile, ir_int(e->i32, spv_operand(i, 1))));
        return true;
    }
    case SpvOpCompositeConstructCoopMatQCOM: mat_qcom_construct(e, i); return true;
    case SpvOpCompositeExtractCoopMatQCOM: mat_qcom_extract(e, i); return true;
    default:
        break;
    }
    if (holds_matrix(t))
        return refuse(e, i, t);
    if (!mat_is(t))
        return false;
    switch (i->op) {
    case SpvOpPhi: {
        MatValue *v = mat_value(e, i->id);
        v->state = MAT_HOME;
        v->tile = mat_home(e, i->id);
        return true;
    }
    case SpvOpUndef: return true;
    case SpvOpCompositeConstruct:
    case SpvOpCompositeConstructReplicateEXT: construct(e, i); return true;
    case SpvOpCompositeInsert: insert(e, i); return true;
    case SpvOpCopyObject:
    case SpvOpCopyLogical: copy_value(e, i, spv_operand(i, 0)); return true;
    case SpvOpCooperativeMatrixConvertNV: mat_convert_use(e, i); return true;
    case SpvOpCooperativeMatrixTransposeNV: mat_transpose(e, i); return true;
    case SpvOpCooperativeMatrixPerElementOpNV: mat_per_element(e, i); return true;
    case SpvOpCooperativeMatrixReduceNV: mat_reduce(e, i); return true;
    case SpvOpSelect: select_value(e, i); return true;
    default: return mat_elementwise(e, i);
    }
}

/* Each use is counted down once its instruction is done: a value without uses need not be kept. */
static void count_down(Emit *e, const SpvInst *i)
{
    uint32_t n;
    const uint16_t *at = mat_ids(e, i, &n);
    for (uint32_t k = 0; k < n; k++) {
        MatValue *v = e->matrix->values[i->words[at[k]]];
        if (v && v->uses)
            v->uses--;
    }
}

bool matrix_inst(Emit *e, const SpvInst *i)
{
    if (!e->matrix)
        return false;
    const SpvType *t = i->type ? spv_type(e->module, i->type) : NULL;
    if (unknown_scope(e, i, t))
        return true;
    bool mine = dispatch(e, i, t);
    if (mine && i->op != SpvOpPhi)
        count_down(e, i);
    return mine;
}

void matrix_block_begin(Emit *e)
{
    if (e->matrix)
        e->matrix->borrowed.len = 0;
}

static void settle_lazy(Emit *e)
{
    struct Matrix *m = e->matrix;
    for (uint32_t i = 0; i < m->lazy.len; i++) {
        MatValue *v = m->lazy.data[i];
        if (v->state != MAT_LAZY || !v->uses)
            continue;
        Tile from = v->tile, home = mat_home(e, v->id);
        mat_before_write(e, &home, NULL);
        mat_copy(e, v->type, &home, &from);
        v->state = MAT_HOME;
        v->tile = home;
    }
    m->lazy.len = 0;
}

void matrix_memory_barrier(Emit *e)
{
    if (!e->matrix)
        return;
    mat_flush(e);
    settle_lazy(e);
}

void matrix_block_end(Emit *e) { matrix_memory_barrier(e); }

/* ---- edges ----------------------------------------------------------------------------------- */

/* On the back edge of a loop that streams matrices from buffers: lets the workgroups interleaved on
 * this core have their turn (docs/ARCHITECTURE.md, Dispatch). */
static void yield(Emit *e, uint32_t to)
{
    Cfg *c = e->cfg;
    for (uint32_t k = 0; k < c->n_loops; k++) {
        uint64_t bytes = e->matrix->loop_bytes[k];
        if (c->loops[k]->header != to || !bytes || e->uniformity->divergent_block[e->position])
            continue;
        e->kernel->can_yield = true;
        e->kernel->stream_bytes_per_step = MAX(e->kernel->stream_bytes_per_step, bytes);
        LV every = emit_env(e, e->b, e->i32, offsetof(CpuEnv, yield_every));
        If on = if_begin(e, LLVMBuildICmp(e->b, LLVMIntNE, every, ir_int(e->i32, 0), ""));
        LV one = ir_int(e->i64, offsetof(CpuEnv, yield_count));
        LV p = ir_at_inbounds(e->b, e->env, one);
        LV n = LLVMBuildAdd(e->b, LLVMBuildLoad2(e->b, e->i32, p, ""), ir_int(e->i32, 1), "");
        LLVMBuildStore(e->b, n, p);
        If due = if_begin(e, LLVMBuildICmp(e->b, LLVMIntUGE, n, every, ""));
        LLVMBuildStore(e->b, ir_int(e->i32, 0), p);
        LV fn = emit_env(e, e->b, e->ptr, offsetof(CpuEnv, yield));
        LT type = LLVMFunctionType(e->void_, &e->ptr, 1, false);
        LLVMBuildCall2(e->b, type, fn, &e->env, 1, "");
        mat_count(e, NULL, DEVICE_STAT_YIELDS, 1);
        if_end(e, &due);
        if_end(e, &on);
    }
}

typedef struct PhiCopy { const SpvType *type; Tile to, from; bool fill; LV splat; } PhiCopy;

/* A parallel copy: sources that another phi of the block is about to overwrite go aside first. */
void matrix_phi_edges(Emit *e, uint32_t from, uint32_t to)
{
    if (!e->matrix)
        return;
    SpvBlock *target = e->cfg->blocks[to].block, *source = e->cfg->blocks[from].block;
    VEC(PhiCopy) copies = {0};
    for (SpvInst *i = target ? target->insts.first : NULL; i; i = i->next) {
        const SpvType *t = i->op == SpvOpPhi ? spv_type(e->module, i->type) : NULL;
        if (!mat_is(t))
            continue;
        for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2) {
            if (spv_operand(i, k + 1) != source->id)
                continue;
            MatValue *v = mat_value(e, spv_operand(i, k));
            PhiCopy c = {.type = t, .to = mat_home(e, i->id)};
            if (v->state == MAT_SPLAT) {
                c.fill = true;
                c.splat = v->splat;
            } else {
                c.from = mat_read(e, v->id);
            }
            if (c.fill || c.from.ptr != c.to.ptr)
                vec_push(e->arena, &copies, c);
        }
    }
    for (uint32_t i = 0; i < copies.len; i++)
        for (uint32_t j = 0; j < copies.len; j++)
            if (i != j && !copies.data[i].fill &&
                copies.data[i].from.ptr == copies.data[j].to.ptr) {
                PhiCopy *c = &copies.data[i];
                LV room = mat_frame(e, c->type, mat_bytes(e, c->type));
                Tile aside = mat_dense(e, c->type, room, c->from.col);
                mat_copy(e, c->type, &aside, &c->from);
                c->from = aside;
            }
    for (uint32_t i = 0; i < copies.len; i++) {
        PhiCopy *c = &copies.data[i];
        if (c->fill)
            mat_fill(e, c->type, &c->to, c->splat);
        else
            mat_copy(e, c->type, &c->to, &c->from);
    }
    if (to <= from)
        yield(e, to);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

typedef struct Votes { uint64_t rows, cols; bool converted; } Votes; /* of a web, for its order */

/* Instructions in loops count more: eight times as much a level. */
static void vote(Emit *e, Votes *votes, const SpvInst *i, SpvId matrix, uint32_t block, bool col)
{
    uint32_t web = e->matrix->webs->web[matrix], depth = 0;
    for (const CfgLoop *l = e->cfg->blocks[block].loop; l && depth < 8; l = l->parent)
        depth++;
    if (!web)
        return;
    *(col ? &votes[web - 1].cols : &votes[web - 1].rows) += 1ull << 3 * depth;
    votes[web - 1].converted |= i->op == SpvOpCompositeConstructCoopMatQCOM
        || i->op == SpvOpCompositeExtractCoopMatQCOM;
}

static void vote_order(Emit *e, Votes *votes, const SpvInst *i, uint32_t block)
{
    bool load = i->op == SpvOpCooperativeMatrixLoadKHR;
    uint64_t layout;
    switch (i->op) {
    case SpvOpCooperativeMatrixLoadKHR:
    case SpvOpCooperativeMatrixStoreKHR:
        if (spv_constant(e->module, spv_operand(i, load ? 1 : 2), &layout))
            vote(e, votes, i, load ? i->id : spv_operand(i, 1), block, layout == 1);
        return;
    case SpvOpCooperativeMatrixLoadTensorNV:
    case SpvOpCooperativeMatrixStoreTensorNV:
        vote(e, votes, i, i->id ? i->id : spv_operand(i, 1), block, mat_tensor_order(e, i));
        return;
    case SpvOpCompositeConstructCoopMatQCOM:
        if (mat_is(spv_type(e->module, i->type)))
            vote(e, votes, i, i->id, block, mat_qcom_order(spv_type(e->module, i->type)));
        return;
    case SpvOpCompositeExtractCoopMatQCOM: {
        const SpvType *t = spv_type_of(e->module, spv_operand(i, 0));
        if (mat_is(t))
            vote(e, votes, i, spv_operand(i, 0), block, mat_qcom_order(t));
        return;
    }
    default:
        return;
    }
}

static const SpvType *chain_matrix(Emit *e, const SpvInst *i)
{
    const SpvInst *v = pointer_root(e->module, spv_operand(i, 0));
    const SpvType *t = v ? spv_type(e->module, v->type) : NULL;
    t = t && t->kind == SPV_POINTER ? t->element : NULL;
    while (t && t->kind == SPV_ARRAY)
        t = t->element;
    return t;
}

/* Whether invocations reach for elements of their own of a workgroup's matrix. */
static bool touches_elements(Emit *e, const SpvInst *i)
{
    const SpvType *t = NULL;
    switch (i->op) {
    case SpvOpCompositeExtract: t = spv_type_of(e->module, spv_operand(i, 0)); break;
    case SpvOpCompositeInsert: t = spv_type(e->module, i->type); break;
    case SpvOpCompositeConstruct:
    case SpvOpCompositeConstructReplicateEXT:
    case SpvOpMatrixTimesScalar:
        t = spv_type(e->module, i->type);
        if (!mat_is(t) ||
            e->matrix->same_in_workgroup[spv_operand(i, i->op == SpvOpMatrixTimesScalar)])
            return false;
        break;
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
        t = mat_points(e, spv_operand(i, 0)) ? chain_matrix(e, i) : NULL;
        if (t && spv_type(e->module, i->type)->element->kind == SPV_COOPMAT)
            return false;
        break;
    default: break;
    }
    return mat_is(t) && t->scope == SpvScopeWorkgroup;
}

/* Uses of each matrix, and the order its web is kept in: column-major when every load and store of
 * the web's values is, so that none of them transposes; where lanes' arrays are converted, the
 * order that most ask for. */
static void survey(Emit *e)
{
    struct Matrix *m = e->matrix;
    Votes *votes = NEW_ARRAY(e->arena, Votes, m->webs->n_webs + 1);
    for (uint32_t b = 0; b + 1 < e->cfg->n; b++)
        for (SpvInst *i = e->cfg->blocks[b].block->insts.first; i; i = i->next) {
            uint32_t n;
            const uint16_t *at = mat_ids(e, i, &n);
            for (uint32_t k = 0; k < n; k++) {
                SpvId id = i->words[at[k]];
                if (!mat_is(spv_type_of(e->module, id)))
                    continue;
                MatValue *v = mat_value(e, id);
                v->uses++;
                v->other_blocks += i->op == SpvOpPhi || spv_def(e->module, id)->block != i->block;
            }
            vote_order(e, votes, i, b);
            m->shared_elements |= touches_elements(e, i);
        }
    for (uint32_t w = 0; w < m->webs->n_webs; w++)
        m->web_col[w] =
            votes[w].cols && (votes[w].converted ? votes[w].cols > votes[w].rows : !votes[w].rows);
}

static bool any_matrix(Emit *e)
{
    bool any = false;
    for (SpvInst *i = e->module->globals.first; i; i = i->next) {
        if (i->op != SpvOpTypeCooperativeMatrixKHR)
            continue;
        any = true;
        if (spv_type(e->module, i->id)->scope == SpvScopeWorkgroup && !workgroup_size(e))
            emit_error(e, i, NULL, "a workgroup's matrix in a kernel that leaves the workgroup's "
                       "size open");
    }
    return any;
}

bool matrix_begin(Emit *e)
{
    if (!any_matrix(e) || e->failed)
        return !e->failed;
    struct Matrix *m = e->matrix = NEW(e->arena, struct Matrix);
    m->webs = matrix_webs(e->arena, e->module, e->cfg);
    m->gemm = gemm_new(e->arena, e->ll, e->target);
    m->values = NEW_ARRAY(e->arena, MatValue *, e->module->bound);
    m->variables = NEW_ARRAY(e->arena, MatVariable *, e->module->bound);
    m->homes = NEW_ARRAY(e->arena, Home, m->webs->n_webs + 1);
    m->web_col = NEW_ARRAY(e->arena, uint8_t, m->webs->n_webs + 1);
    m->same_in_workgroup = workgroup_same(e->arena, e->module, e->cfg, e->uniformity);
    m->loop_bytes = NEW_ARRAY(e->arena, uint64_t, e->cfg->n_loops + 1);
    survey(e);
    return true;
}

void matrix_end(Emit *e) { (void)e; }
