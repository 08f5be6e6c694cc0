/* SPDX-License-Identifier: MIT
 *
 * The values of matrices: where each lies, and when it gets there.
 *
 * Invariants. A value in state HOME lies in memory, of rows that are alike perhaps only the first
 * (alike.c). Values of a web share a home, since
 * their live ranges do not overlap in program order. But pending multiply-adds run later than they
 * stand, so every write of a home first flushes those that still refer to it (mat_before_write).
 * Lazy loads are read, by a flush or a copy, before memory may change (matrix_memory_barrier).
 */
#include "cpu/matrix/matrix.h"

const uint16_t *mat_ids(Emit *e, const SpvInst *i, uint32_t *n)
{
    MatEmit *m = matrices_of(e);
    *n = spv_id_operands(i, m->ids, m->ids_room);
    if (*n <= m->ids_room)
        return m->ids;
    m->ids_room = 2 * *n;
    m->ids = NEW_ARRAY(e->arena, uint16_t, m->ids_room);
    spv_id_operands(i, m->ids, m->ids_room);
    return m->ids;
}

bool mat_takes(Emit *e, const SpvInst *i, SpvId id)
{
    uint32_t n;
    const uint16_t *at = mat_ids(e, i, &n);
    for (uint32_t k = 0; k < n; k++)
        if (i->words[at[k]] == id)
            return true;
    return false;
}

MatValue *mat_value(Emit *e, SpvId id)
{
    MatEmit *m = matrices_of(e);
    MatValue *v = m->values[id];
    if (v)
        return v;
    v = m->values[id] = NEW(e->arena, MatValue);
    v->id = id;
    v->type = spv_type_of(e->module, id);
    const SpvInst *def = spv_def(e->module, id);
    if (def && !def->block) { /* a constant */
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

MatTile mat_home(Emit *e, SpvId id)
{
    MatEmit *m = matrices_of(e);
    MatValue *v = mat_value(e, id);
    uint32_t web = m->webs->web[id];
    if (!web && !v->tile.ptr) /* constants belong to no web: each gets a home of its own */
        v->tile = mat_dense(e, v->type, mat_frame(e, v->type, mat_bytes(e, v->type)), false);
    if (!web)
        return v->tile;
    MatHome *h = &m->homes[web - 1];
    if (!h->tile.ptr) {
        const SpvType *largest = spv_type(e->module, m->webs->web_type[web - 1]);
        h->tile.ptr = mat_frame(e, largest, mat_bytes(e, largest));
    }
    MatTile t = mat_dense(e, v->type, h->tile.ptr, m->web_col[web - 1]);
    t.rows = h->tile.rows;
    return t;
}

MatTile mat_read_rows(Emit *e, SpvId id)
{
    MatTile t = mat_place(e, id);
    mat_sums_wanted(e, mat_sums(e, id));
    return t;
}

MatTile mat_read(Emit *e, SpvId id)
{
    MatTile t = mat_read_rows(e, id);
    mat_complete(e, mat_value(e, id)->type, &t);
    return t;
}

MatTile mat_place(Emit *e, SpvId id)
{
    MatValue *v = mat_value(e, id);
    if (v->state == MAT_PENDING)
        mat_flush(e);
    if (v->state == MAT_HOME || v->state == MAT_LAZY)
        return v->tile;
    MatTile home = mat_home(e, id);
    if (v->state == MAT_SPLAT) {
        if (matrices_of(e)->webs->web[id])
            mat_before_write(e, &home, NULL);
        mat_fill(e, v->type, &home, v->splat);
        if (!matrices_of(e)->webs->web[id])
            return home; /* a constant: filled anew wherever it is read */
    }
    v->state = MAT_HOME;
    v->tile = home;
    return home;
}

bool mat_same_place(const MatPlace *a, const MatPlace *b)
{
    return a->variable && a->variable == b->variable &&
           (!a->known || !b->known || a->offset == b->offset);
}

bool mat_lies_in(const MatValue *v, const MatTile *t, const MatPlace *place)
{
    if (v->state != MAT_HOME)
        return false;
    return place && place->variable ? mat_same_place(&v->place, place) : v->tile.ptr == t->ptr;
}

bool mat_is_awaited(Emit *e, const MatMulAdd *p, const MatTile *t, const MatPlace *place)
{
    for (uint32_t i = 0; i < p->a.len; i++)
        if (mat_lies_in(mat_value(e, p->a.data[i]), t, place) ||
            mat_lies_in(mat_value(e, p->b.data[i]), t, place))
            return true;
    return mat_lies_in(mat_value(e, p->start), t, place) ||
           (place && place->variable ? mat_same_place(&p->place, place) : p->to.ptr == t->ptr);
}

void mat_before_write(Emit *e, const MatTile *t, const MatPlace *place)
{
    MatEmit *m = matrices_of(e);
    for (uint32_t i = 0; i < m->pending.len; i++)
        if (mat_is_awaited(e, &m->pending.data[i], t, place)) {
            mat_flush(e);
            break;
        }
    if (!place || !place->variable)
        return;
    /* values that were read from that place and are still used are copied */
    for (uint32_t i = 0; i < m->borrowed.len; i++) {
        MatValue *v = m->borrowed.data[i];
        if (v->uses && v->place.variable && mat_lies_in(v, t, place)) {
            MatTile home = mat_home(e, v->id);
            mat_before_write(e, &home, NULL);
            mat_copy(e, v->type, &home, &v->tile);
            v->tile = home;
            v->place.variable = 0;
        }
    }
}

MatTile mat_result(Emit *e, const SpvInst *i)
{
    MatTile home = mat_result_rows(e, i);
    mat_set_rows(e, &home, ir_int(e->i64, mat_value(e, i->id)->type->rows));
    home.rows = NULL;
    return home;
}

MatTile mat_result_rows(Emit *e, const SpvInst *i)
{
    MatTile home = mat_home(e, i->id);
    MatValue *v = mat_value(e, i->id);
    mat_before_write(e, &home, NULL);
    mat_sums_wanted(e, mat_sums(e, i->id));
    v->state = MAT_HOME;
    v->tile = home;
    return home;
}

void mat_flush(Emit *e)
{
    if (matrices_of(e)->pending.len)
        mat_emit_groups(e);
}

void mat_used(Emit *e, const SpvInst *i)
{
    uint32_t n;
    const uint16_t *at = mat_ids(e, i, &n);
    for (uint32_t k = 0; k < n; k++) {
        MatValue *v = matrices_of(e)->values[i->words[at[k]]];
        if (v && v->uses)
            v->uses--;
    }
}

void matrix_block_begin(Emit *e)
{
    if (matrices_of(e))
        matrices_of(e)->borrowed.len = 0;
}

void mat_forget_filled(Emit *e)
{
    MatEmit *m = matrices_of(e);
    for (uint32_t i = 0; m && i < m->filled.len; i++)
        m->filled.data[i]->state = MAT_SPLAT;
    if (m)
        m->filled.len = 0;
}

static void settle_lazy(Emit *e)
{
    MatEmit *m = matrices_of(e);
    for (uint32_t i = 0; i < m->lazy.len; i++) {
        MatValue *v = m->lazy.data[i];
        if (v->state != MAT_LAZY || !v->uses)
            continue;
        MatTile from = v->tile, home = mat_home(e, v->id);
        mat_before_write(e, &home, NULL);
        mat_copy(e, v->type, &home, &from);
        v->state = MAT_HOME;
        v->tile = home;
    }
    m->lazy.len = 0;
}

void matrix_memory_barrier(Emit *e)
{
    if (!matrices_of(e))
        return;
    mat_flush(e);
    settle_lazy(e);
}
