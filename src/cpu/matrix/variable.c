/* SPDX-License-Identifier: MIT
 *
 * Variables that hold matrices, or arrays of them: memory in the subgroup's frame, where each
 * matrix is dense and row-major. A load borrows the value there until that place is written. A
 * pending multiply-add that is stored there computes its result in place.
 */
#include "cpu/matrix/matrix.h"

/* The size in the frame of a matrix or an array of them. */
static uint64_t variable_bytes(Emit *e, const SpvType *t)
{
    return mat_is(t)              ? mat_bytes(e, t)
           : t->kind == SPV_ARRAY ? t->count * variable_bytes(e, t->element)
                                  : 0;
}

bool mat_points(Emit *e, SpvId pointer)
{
    const SpvInst *v = pointer_root(e->module, pointer);
    if (!v || v->op != SpvOpVariable)
        return false;
    const SpvType *t = spv_type(e->module, v->type);
    return t && t->kind == SPV_POINTER && t->element && emit_has_matrix(t->element);
}

MatVariable *mat_variable(Emit *e, const SpvInst *i)
{
    MatVariable **v = &matrices_of(e)->variables[i->id];
    if (!*v) {
        const SpvType *t = spv_type(e->module, i->type)->element;
        *v = NEW(e->arena, MatVariable);
        (*v)->bytes = variable_bytes(e, t);
        while (t->kind == SPV_ARRAY)
            t = t->element;
        (*v)->base = mat_frame(e, t, MAX((*v)->bytes, 64));
    }
    return *v;
}

/* Follows one index of a chain: moves `place`, `offset` (may be NULL, which is 0) and `t` on. */
static const SpvType *step_into(Emit *e, const SpvInst *chain, const SpvType *t, SpvId id,
                                MatPlace *place, LV *offset)
{
    uint64_t k;
    bool known = spv_constant(e->module, id, &k);
    if (t->kind != SPV_ARRAY) { /* a composite that pass_apart did not split */
        emit_error(e, chain, NULL,
                   "a variable of structures of cooperative matrices is volatile or too large");
        return NULL;
    }
    uint64_t size = variable_bytes(e, t->element);
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

static const SpvType *walk_chain(Emit *e, const SpvInst *i, MatPlace *place, LV *base, LV *offset,
                                 LV *element)
{
    const SpvInst *chain[32];
    uint32_t n = 0;
    while ((i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain ||
            i->op == SpvOpCopyObject) &&
           n < COUNT_OF(chain)) {
        chain[n++] = i;
        i = spv_def(e->module, spv_operand(i, 0));
    }
    const SpvType *t = i->op == SpvOpVariable ? spv_type(e->module, i->type)->element : NULL;
    if (!t)
        return NULL;
    *place = (MatPlace){ i->id, true, 0 };
    *base = mat_variable(e, i)->base;
    while (t && n--)
        for (uint32_t k = 1; t && chain[n]->op != SpvOpCopyObject && k < spv_n_operands(chain[n]);
             k++) {
            if (!mat_is(t))
                t = step_into(e, chain[n], t, spv_operand(chain[n], k), place, offset);
            else if (element)
                *element = emit_leaf(e, spv_operand(chain[n], k), 0);
        }
    return t;
}

/* Where an access chain or a variable points. Sets the element's index if the chain enters a
 * matrix. */
static MatPlace variable_place(Emit *e, SpvId id, MatTile *tile, const SpvType **type, LV *element)
{
    MatPlace place = { 0 };
    LV base = NULL, offset = NULL;
    const SpvInst *i = spv_def(e->module, id);
    *type = walk_chain(e, i, &place, &base, &offset, element);
    if (!mat_is(*type)) {
        emit_error(e, i, NULL,
                   "a pointer to cooperative matrices is used in a way that is not supported");
        *tile = (MatTile){ LLVMGetUndef(e->ptr), ir_int(e->i64, 0), false, true, NULL };
        for (SpvInst *g = e->module->globals.first; g; g = g->next)
            if (g->op == SpvOpTypeCooperativeMatrixKHR)
                *type = spv_type(e->module, g->id);
        return place;
    }
    LV p = ir_at_inbounds(e->b, base, ir_int(e->i64, place.offset));
    *tile = mat_dense(e, *type, offset ? ir_at_inbounds(e->b, p, offset) : p, false);
    tile->rows = matrices_of(e)->variables[place.variable]->rows;
    return place;
}

/* ---- loads and stores --------------------------------------------------------------------------
 */

static void load_variable(Emit *e, const SpvInst *i)
{
    const SpvType *t;
    MatTile tile;
    LV element = NULL;
    MatPlace place = variable_place(e, spv_operand(i, 0), &tile, &t, &element);
    for (uint32_t p = 0; p < matrices_of(e)->pending.len; p++)
        if (mat_same_place(&matrices_of(e)->pending.data[p].place, &place)) {
            mat_flush(e);
            break;
        }
    if (element) {
        mat_complete(e, t, &tile);
        emit_set1(e, i, mat_element(e, t, &tile, element));
        return;
    }
    MatValue *v = mat_value(e, i->id);
    if (!v->other_blocks) {
        v->state = MAT_HOME;
        v->tile = tile;
        v->place = place;
        vec_push(e->arena, &matrices_of(e)->borrowed, v);
        return;
    }
    MatTile to = mat_result_rows(e, i);
    mat_copy(e, t, &to, &tile);
}

/* A pending result that is only stored goes directly where it is stored. */
static bool redirect_result(Emit *e, SpvId object, const MatTile *to, const MatPlace *place)
{
    MatEmit *m = matrices_of(e);
    MatValue *v = mat_value(e, object);
    if (v->state != MAT_PENDING || v->uses != 1)
        return false;
    for (uint32_t i = 0; i < m->pending.len; i++) {
        MatMulAdd *p = &m->pending.data[i];
        if (p->result != object) {
            if (mat_is_awaited(e, p, to, place))
                return false;
            continue;
        }
        for (uint32_t k = 0; k < p->a.len; k++)
            if (mat_lies_in(mat_value(e, p->a.data[k]), to, place) ||
                mat_lies_in(mat_value(e, p->b.data[k]), to, place))
                return false;
        if (p->place.variable)
            return false;
    }
    for (uint32_t i = 0; i < m->pending.len; i++)
        if (m->pending.data[i].result == object) {
            const MatValue *start = mat_value(e, m->pending.data[i].start);
            if (mat_lies_in(start, to, place) && start->uses)
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
    MatTile to;
    LV element = NULL;
    MatPlace place = variable_place(e, spv_operand(i, 0), &to, &t, &element);
    SpvId object = spv_operand(i, 1);
    if (element) {
        LV x = emit_leaf(e, object, 0);
        mat_before_write(e, &to, &place);
        mat_open_rows(e, t, &to);
        mat_set_element(e, t, &to, element, x);
        return;
    }
    if (redirect_result(e, object, &to, &place))
        return;
    MatTile from = mat_read_rows(e, object);
    if (from.ptr == to.ptr)
        return;
    mat_before_write(e, &to, &place);
    mat_copy(e, t, &to, &from);
}

/* A pointer needs no code: its chain is followed where it is used. */
static void leave_pointer(Emit *e, const SpvInst *i)
{
    (void)e;
    (void)i;
}

const MatRule matrix_rules_variable[] = {
    { SpvOpVariable, MATRIX_POINTER, leave_pointer },
    { SpvOpAccessChain, MATRIX_POINTER, leave_pointer },
    { SpvOpInBoundsAccessChain, MATRIX_POINTER, leave_pointer },
    { SpvOpLoad, MATRIX_POINTER, load_variable },
    { SpvOpStore, MATRIX_POINTER, store_variable },
    { 0, 0, NULL },
};
