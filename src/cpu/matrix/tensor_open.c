/* SPDX-License-Identifier: MIT
 *
 * Reads and checks the operands of a load or store through a tensor layout.
 */
#include "cpu/matrix/tensor.h"

static const char section[] = "SPV_NV_cooperative_matrix2, Tensor Layout and View";

uint32_t tensor_constant(Emit *e, SpvId id)
{
    uint64_t x = 0;
    spv_constant(e->module, id, &x);
    return (uint32_t)x;
}

LV tensor_field(const MatTransfer *x, uint32_t which, uint32_t dim)
{
    return x->f[which * x->d + dim];
}

void tensor_addressing(const SpvInst *i, SpvId ids[3])
{
    SpvOperand o;
    uint32_t mask = 0, bit = 0;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        if (o.kind == SPV_OPERAND_TensorAddressingOperands) {
            mask = i->words[o.word];
            continue;
        }
        while (mask && bit < 3 && !(mask >> bit & 1))
            bit++;
        if (mask && bit < 3)
            ids[bit++] = i->words[o.word];
    }
}

/* Whether at most the innermost dimension and one other have spans of more than one. */
static bool is_plane(const MatTransfer *x)
{
    for (uint32_t k = 0; k + 1 < x->d; k++)
        if (k != x->outer && !ir_is_int(tensor_field(x, TENSOR_SPAN, k), 1))
            return false;
    return x->d > 1;
}

static void open_view(Emit *e, MatTransfer *x)
{
    x->outer = x->d > 1 ? x->d - 2 : 0;
    while (x->outer && ir_is_int(tensor_field(x, TENSOR_SPAN, x->outer), 1))
        x->outer--;
    x->simple = !x->view;
    if (!x->view)
        return;
    const SpvType *t = spv_type_of(e->module, x->view);
    const SpvInst *def = spv_def(e->module, t->id);
    x->vd = emit_tensor_dims(e, t);
    x->v = emit_tensor_state(e, x->view, emit_n_leaves(e, t));
    uint64_t has = 0;
    spv_constant(e->module, spv_operand(def, 1), &has);
    x->view_sizes = has;
    bool same = x->vd == x->d && !has;
    uint32_t place[TENSOR_MAX_DIMS] = { 0 };
    for (uint32_t k = 0; k < x->vd; k++) {
        x->permutation[k] = MIN(tensor_constant(e, spv_operand(def, 2 + k)), x->vd - 1);
        same &= x->permutation[k] == k;
        place[x->permutation[k]] = k;
    }
    const LV *clip = x->v + TENSOR_VIEW_CLIP * x->vd;
    for (uint32_t k = 0; k < 4; k++)
        x->clips |= !ir_is_int(clip[k], k % 2 ? UINT32_MAX : 0);
    x->simple = same && !x->clips;
    x->swapped =
        !x->clips && !has && x->vd == x->d && is_plane(x) && place[x->outer] > place[x->d - 1];
}

static void open_pointer(Emit *e, MatTransfer *x)
{
    const EmitPointer *p = emit_pointer(e, x->pointer);
    x->base = emit_address(e, p, 0, x->bytes);
    x->base = emit_uniform(e, x->base);
    x->near = p->storage == SpvStorageClassWorkgroup;
    if (!e->robust || !p->limit)
        return;
    LV start = LLVMBuildPtrToInt(e->b, emit_uniform(e, p->base), e->i64, "");
    LV offset = LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, x->base, e->i64, ""), start, "");
    LV limit = emit_uniform(e, p->limit), left = LLVMBuildSub(e->b, limit, offset, "");
    x->room = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntULE, offset, limit, ""), left,
                              ir_int(e->i64, 0), "");
}

static void open_layout(Emit *e, MatTransfer *x, const SpvType *t)
{
    LV most = ir_int(e->i32, (uint64_t)1 << 31);
    x->d = emit_tensor_dims(e, t);
    x->clamp = tensor_constant(e, spv_operand(spv_def(e->module, t->id), 1));
    x->f = emit_tensor_state(e, x->layout, emit_n_leaves(e, t));
    for (uint32_t k = 0; k < x->d; k++) {
        LV size = tensor_field(x, TENSOR_SIZE, k),
           small = LLVMBuildICmp(e->b, LLVMIntULT, size, most, "");
        x->end[k] = LLVMBuildSelect(e->b, small, size, most, "");
    }
}

bool tensor_open(Emit *e, const SpvInst *i, MatTransfer *x)
{
    SpvId ids[3] = { 0 };
    tensor_addressing(i, ids);
    *x = (MatTransfer){ .inst = i,
                        .store = i->op == SpvOpCooperativeMatrixStoreTensorNV,
                        .pointer = spv_operand(i, 0),
                        .layout = spv_operand(i, 2),
                        .view = ids[0],
                        .decode = ids[1],
                        .decode_vector = ids[2] };
    x->matrix = spv_type_of(e->module, spv_operand(i, 1));
    const SpvType *t = spv_type_of(e->module, x->layout);
    const SpvType *v = x->view ? spv_type_of(e->module, x->view) : NULL;
    if (!mat_is(x->matrix) || !t || t->kind != SPV_TENSOR_LAYOUT || !emit_tensor_dims(e, t) ||
        (x->view && (!v || v->kind != SPV_TENSOR_VIEW || !emit_tensor_dims(e, v)))) {
        emit_error(e, i, section, "the object is no cooperative matrix, or the layout no tensor's");
        return false;
    }
    open_layout(e, x, t);
    IrComp c = mat_comp(x->matrix);
    x->type = comp_type(e->cx, c);
    x->unit = x->bytes = comp_bytes(c);
    open_view(e, x);
    if (!x->view_sizes && x->vd > x->d) {
        emit_error(e, i, section, "the view has more dimensions than the layout");
        return false;
    }
    open_pointer(e, x);
    return true;
}

/* ---- decode functions --------------------------------------------------------------------------
 */

static uint64_t block_bytes(Emit *e, const MatTransfer *x, SpvId decode)
{
    const SpvFunction *f = spv_function(e->module, decode);
    const SpvInst *i = f ? f->head.first : NULL;
    while (i && i->op != SpvOpFunctionParameter)
        i = i->next;
    const SpvType *p = i ? spv_type(e->module, i->type) : NULL;
    if (!p || p->kind != SPV_POINTER || !emit_is_physical(e, p)) {
        emit_error(e, x->inst, section,
                   "the decode function's first parameter is no pointer to physical storage");
        return 1;
    }
    EmitLayout l = { .type = p->element, .rule = LAYOUT_EXPLICIT };
    uint64_t bytes = align_up(emit_layout_size(e, &l), emit_layout_align(e, &l));
    if (bytes <= UINT32_MAX) /* so that multiplying a 32-bit index by it is exact */
        return bytes;
    emit_error(e, x->inst, section, "the decode function's block has %llu bytes: 4 GiB or more",
               (unsigned long long)bytes);
    return 1;
}

void tensor_open_decode(Emit *e, MatTransfer *x)
{
    x->unit = block_bytes(e, x, x->decode);
    const SpvFunction *f = x->decode_vector ? spv_function(e->module, x->decode_vector) : NULL;
    const SpvType *t = f ? spv_type(e->module, f->def->type) : NULL;
    if (!t || t->kind != SPV_VECTOR || (t->count != 2 && t->count != 4 && t->count != 8))
        return;
    x->vector = t->count;
    x->vector_unit = block_bytes(e, x, x->decode_vector);
}
