/* SPDX-License-Identifier: MIT
 *
 * lower_tensor: SPV_NV_tensor_addressing, and NV2's loads and stores by it. In: any module. Out:
 * layouts and views are arrays of u32, under their types' ids: by dimension block sizes, sizes,
 * strides, offsets, spans, then the clamp value; of views sizes, strides, then the clip. Loads and
 * stores are KHR's where they can be (tensor_plain.c), else they go element by element, by the
 * specification's pseudo-code ("Tensor Layout and View").
 */
#include "lower/tensor.h"

bool lower_tensor_type(const Lower *l, SpvId type, LowerTensorType *out)
{
    const SpvInst *t = spv_def(l->m, type);
    uint64_t dims = 0, mode = 0, at;
    if (!t || (t->op != SpvOpTypeTensorLayoutNV && t->op != SpvOpTypeTensorViewNV))
        return false;
    spv_constant(l->m, spv_operand(t, 0), &dims);
    spv_constant(l->m, spv_operand(t, 1), &mode);
    *out = (LowerTensorType){ .is_view = t->op == SpvOpTypeTensorViewNV,
                              .dims = (uint32_t)dims,
                              .clamp = (uint32_t)mode,
                              .has_sizes = mode != 0 };
    out->words = out->is_view ? 2 * out->dims + 4 : 5 * out->dims + 1;
    for (uint32_t k = 0; out->is_view && k < out->dims && k + 2 < spv_n_operands(t); k++)
        if (spv_constant(l->m, spv_operand(t, k + 2), &at))
            out->order[k] = (uint32_t)at;
    return dims && dims <= TENSOR_MAX_DIMENSIONS;
}

static void words_of(Lower *l, SpvInst *at, SpvId object, uint32_t n, SpvId *x)
{
    const SpvInst *made = spv_def(l->m, object);
    while (made->op == SpvOpCopyObject)
        made = spv_def(l->m, spv_operand(made, 0));
    if (made->op == SpvOpCompositeConstruct && spv_n_operands(made) == n) {
        memcpy(x, made->words + made->first_operand, n * sizeof *x);
        return;
    }
    for (uint32_t k = 0; k < n; k++)
        x[k] = BUILD(l, at, SpvOpCompositeExtract, build_u32(l), object, k);
}

/* ---- instructions on layouts and views ------------------------------------------------------- */

/* Blocks that so many elements take. */
static SpvId blocks(Lower *l, SpvInst *at, SpvId elements, SpvId size)
{
    uint64_t one;
    if (spv_constant(l->m, size, &one) && one == 1)
        return elements;
    SpvId zero = build_const(l, 0), u32 = build_u32(l);
    SpvId none = BUILD(l, at, SpvOpIEqual, build_bool(l), elements, zero);
    SpvId before = build_sub(l, at, elements, build_const(l, 1));
    SpvId more = BUILD(l, at, SpvOpUDiv, u32, before, size);
    return build_select(l, at, none, zero, build_add(l, at, more, build_const(l, 1)));
}

static void set_sizes(Lower *l, SpvInst *i, const LowerTensorType *t, SpvId *x)
{
    SpvId stride = build_const(l, 1), zero = build_const(l, 0), size;
    for (uint32_t k = t->dims; k-- > 0;) {
        size = build_to_u32(l, i, spv_operand(i, k + 1));
        x[(t->is_view ? VIEW_SIZE : TENSOR_SIZE) * t->dims + k] = size;
        x[(t->is_view ? VIEW_STRIDE : TENSOR_STRIDE) * t->dims + k] = stride;
        if (!t->is_view) {
            x[TENSOR_SPAN * t->dims + k] = size;
            x[TENSOR_OFFSET * t->dims + k] = zero;
            size = blocks(l, i, size, x[TENSOR_BLOCK * t->dims + k]);
        }
        if (k)
            stride = build_mul(l, i, stride, size);
    }
}

/* Operands from the second on, to words from `first` on. */
static void set_words(Lower *l, SpvInst *i, uint32_t first, uint32_t n, SpvId *x)
{
    for (uint32_t k = 0; k < n; k++)
        x[first + k] = build_to_u32(l, i, spv_operand(i, k + 1));
}

static void slice(Lower *l, SpvInst *i, const LowerTensorType *t, SpvId *x)
{
    for (uint32_t k = 0; k < t->dims; k++) {
        SpvId offset = build_to_u32(l, i, spv_operand(i, 1 + 2 * k));
        SpvId *at = &x[TENSOR_OFFSET * t->dims + k];
        *at = build_add(l, i, *at, offset);
        x[TENSOR_SPAN * t->dims + k] = build_to_u32(l, i, spv_operand(i, 2 + 2 * k));
    }
}

static void create(Lower *l, const LowerTensorType *t, SpvId *x)
{
    for (uint32_t k = 0; k < t->words; k++)
        x[k] = build_const(l, !t->is_view && k < t->dims ? 1 : 0);
    if (t->is_view)
        x[VIEW_CLIP * t->dims + CLIP_ROWS] = x[VIEW_CLIP * t->dims + CLIP_COLUMNS] =
            build_const(l, UINT32_MAX);
}

static void set(Lower *l, SpvInst *i)
{
    LowerTensorType t;
    SpvId x[5 * TENSOR_MAX_DIMENSIONS + 4];
    if (!lower_tensor_type(l, i->type, &t)) {
        lower_refuse(l, i, "its type's dimensions are not known");
        return;
    }
    if (spv_n_operands(i))
        words_of(l, i, spv_operand(i, 0), t.words, x);
    else
        create(l, &t, x);
    switch (i->op) {
    case SpvOpTensorLayoutSetDimensionNV:
    case SpvOpTensorViewSetDimensionNV: set_sizes(l, i, &t, x); break;
    case SpvOpTensorLayoutSetStrideNV: set_words(l, i, TENSOR_STRIDE * t.dims, t.dims, x); break;
    case SpvOpTensorViewSetStrideNV: set_words(l, i, VIEW_STRIDE * t.dims, t.dims, x); break;
    case SpvOpTensorLayoutSetBlockSizeNV: set_words(l, i, TENSOR_BLOCK * t.dims, t.dims, x); break;
    case SpvOpTensorLayoutSetClampValueNV: set_words(l, i, TENSOR_CLAMP * t.dims, 1, x); break;
    case SpvOpTensorViewSetClipNV: set_words(l, i, VIEW_CLIP * t.dims, 4, x); break;
    case SpvOpTensorLayoutSliceNV: slice(l, i, &t, x); break;
    default: break;
    }
    lower_note(l, i, "numbers");
    build_replace(l, i, build(l, i, SpvOpCompositeConstruct, i->type, x, t.words));
}

/* ---- loads and stores ------------------------------------------------------------------------ */

/* The operands that the masks announce, in the order of their bits. */
static uint32_t read_operands(Lower *l, LowerTensorAccess *a)
{
    SpvOperand o;
    uint32_t mask = 0, n = 0, memory = 0;
    SpvId ids[3] = { 0 };
    for (SpvWalk w = spv_walk(a->inst); spv_walk_next(&w, &o);) {
        if (o.kind == SPV_OPERAND_MemoryAccess)
            memory = o.word - a->inst->first_operand;
        else if (o.kind == SPV_OPERAND_TensorAddressingOperands)
            mask = a->inst->words[o.word];
        else if (mask && n < 3)
            ids[n++] = a->inst->words[o.word];
    }
    n = 0;
    if (mask & SpvTensorAddressingOperandsTensorViewMask)
        a->view = ids[n++];
    if (mask & SpvTensorAddressingOperandsDecodeFuncMask)
        a->decode = ids[n++];
    if (!a->decode && mask & SpvTensorAddressingOperandsDecodeVectorFuncMask) {
        a->decode = ids[n];
        a->vector = true;
    }
    (void)l;
    return memory;
}

static bool has_blocks(const Lower *l)
{
    for (const SpvFunction *f = l->m->functions; f; f = f->next)
        for (const SpvBlock *b = f->first; b; b = b->next)
            for (const SpvInst *i = b->insts.first; i; i = i->next)
                if (i->op == SpvOpTensorLayoutSetBlockSizeNV)
                    return true;
    return false;
}

static bool open_access(Lower *l, SpvInst *i, LowerTensorAccess *a)
{
    *a = (LowerTensorAccess){ .inst = i,
                              .store = i->op == SpvOpCooperativeMatrixStoreTensorNV,
                              .object = spv_operand(i, 1),
                              .layout = spv_operand(i, 2),
                              .blocks = l->has_blocks };
    a->matrix = spv_type_of(l->m, a->object);
    uint32_t memory = read_operands(l, a);
    if (!lower_tensor_type(l, spv_def(l->m, a->layout)->type, &a->of_layout) ||
        (a->view && !lower_tensor_type(l, spv_def(l->m, a->view)->type, &a->of_view)))
        return lower_refuse(l, i, "its layout's or view's dimensions are not known");
    words_of(l, i, a->layout, a->of_layout.words, a->x);
    if (a->view)
        words_of(l, i, a->view, a->of_view.words, a->v);
    if (a->decode)
        return lower_tensor_decode_open(l, a);
    if (!address_open_at(l, i, a->matrix->element, memory, &a->address))
        return false;
    address_as_elements(l, &a->address);
    return true;
}

/* The clamp value's lowest bits as a component. */
static SpvId clamp_value(Lower *l, SpvInst *at, const LowerTensorAccess *a)
{
    const SpvType *e = a->matrix->element;
    SpvId word = a->x[TENSOR_CLAMP * a->of_layout.dims], vector;
    if (a->of_layout.clamp != SpvTensorClampModeConstant)
        return spv_null_constant(l->m, e->id);
    if (e->bits == 64) {
        vector = BUILD(l, at, SpvOpCompositeConstruct, spv_vector_type(l->m, build_u32(l), 2), word,
                       build_const(l, 0));
        return BUILD(l, at, SpvOpBitcast, e->id, vector);
    }
    if (e->bits == 32)
        return e->id == build_u32(l) ? word : BUILD(l, at, SpvOpBitcast, e->id, word);
    vector = BUILD(l, at, SpvOpBitcast, spv_vector_type(l->m, e->id, 32 / e->bits), word);
    return BUILD(l, at, SpvOpCompositeExtract, e->id, vector, 0);
}

static SpvId load_element(Lower *l, SpvInst *at, const LowerTensorAccess *a,
                          const LowerTensorPlace *p)
{
    return a->decode ? lower_tensor_decode(l, at, a, p)
                     : address_load(l, at, &a->address, build_const(l, 0), p->index);
}

SpvId lower_tensor_value(Lower *l, SpvInst *at, const LowerTensorAccess *a,
                         const LowerTensorPlace *p, SpvId other)
{
    const SpvType *e = a->matrix->element;
    if (!p->inside)
        return load_element(l, at, a, p);
    SpvId value = build_variable(l, at, e->id);
    build_store(l, at, value, other);
    SpvInst *in = build_if(l, at, p->inside);
    build_store(l, in, value, load_element(l, in, a, p));
    return build_load(l, at, e->id, value);
}

static LowerTensorPlace place_of(Lower *l, SpvInst *at, const LowerTensorAccess *a,
                                 const LowerElement *x)
{
    SpvId row = build_add(l, at, x->row, part_row(l, at, a->matrix)),
          column = build_add(l, at, x->column, part_column(l, at, a->matrix));
    return lower_tensor_place(l, at, a, row, column);
}

/* Of what is loaded before `i`; returns the matrix. */
static SpvId load_elements(Lower *l, SpvInst *i, LowerTensorAccess *a, bool seldom)
{
    const SpvType *t = a->matrix;
    LowerDealt dealt = { .from = &a->object, .seldom = seldom };
    dealt.n_from = a->view != 0; /* which may clip */
    SpvId outside = clamp_value(l, i, a);
    LowerDeal d = deal_open(l, i, t, &dealt);
    while (deal_next(&d)) {
        LowerTensorPlace p = place_of(l, d.at, a, &d.element);
        SpvId other = outside;
        if (p.clipped)
            other = build_select(l, d.at, p.clipped, deal_get(&d, 0), outside);
        deal_put(&d, lower_tensor_value(l, d.at, a, &p, other));
    }
    lower_note(l, a->inst, a->decode ? "calls and numbers" : "loads of elements");
    return deal_close(&d);
}

static void load_tensor(Lower *l, LowerTensorAccess *a)
{
    SpvInst *i = a->inst, *plain, *rest;
    LowerPlain p;
    l->clips |= a->of_layout.clamp != SpvTensorClampModeUndefined;
    SpvId shared = lower_tensor_share(l, a, clamp_value(l, i, a));
    if (shared) {
        build_replace(l, i, shared);
        return;
    }
    if (!lower_tensor_plain(l, a, &p)) {
        build_replace(l, i, load_elements(l, i, a, false));
        return;
    }
    lower_note(l, i, "a load of matrices, where it lies inside");
    if (!p.inside) {
        build_replace(l, i, lower_tensor_plain_access(l, i, a, &p));
        return;
    }
    SpvId matrix = build_variable(l, i, a->matrix->id);
    build_either(l, i, p.inside, &plain, &rest);
    build_store(l, plain, matrix, lower_tensor_plain_access(l, plain, a, &p));
    build_store(l, rest, matrix, load_elements(l, rest, a, true));
    build_replace(l, i, build_load(l, i, a->matrix->id, matrix));
}

static void store_elements(Lower *l, SpvInst *i, LowerTensorAccess *a, bool seldom)
{
    const SpvType *t = a->matrix;
    LowerDealt dealt = { .from = &a->object, .n_from = 1, .used_only = true, .seldom = seldom };
    LowerDeal d = deal_open(l, i, t, &dealt);
    while (deal_next(&d)) {
        SpvId value = deal_get(&d, 0);
        LowerTensorPlace p = place_of(l, d.at, a, &d.element);
        SpvInst *at = p.inside ? build_if(l, d.at, p.inside) : d.at;
        address_store(l, at, &a->address, build_const(l, 0), p.index, value);
    }
    lower_note(l, a->inst, "stores of elements");
}

static void store_tensor(Lower *l, LowerTensorAccess *a)
{
    SpvInst *i = a->inst, *plain = i, *rest = i;
    LowerPlain p;
    bool may = lower_tensor_plain(l, a, &p);
    if (may && p.inside)
        build_either(l, i, p.inside, &plain, &rest);
    if (may) {
        lower_note(l, i, "a store of matrices, where it lies inside");
        lower_tensor_plain_access(l, plain, a, &p);
    }
    if (!may || p.inside)
        store_elements(l, rest, a, may);
    edit_remove(l->m, i);
}

static void visit(Lower *l, SpvInst *i)
{
    LowerTensorAccess a;
    switch (i->op) {
    case SpvOpCooperativeMatrixLoadTensorNV:
        if (open_access(l, i, &a))
            load_tensor(l, &a);
        return;
    case SpvOpCooperativeMatrixStoreTensorNV:
        if (open_access(l, i, &a))
            store_tensor(l, &a);
        return;
    case SpvOpCreateTensorLayoutNV:
    case SpvOpTensorLayoutSetDimensionNV:
    case SpvOpTensorLayoutSetStrideNV:
    case SpvOpTensorLayoutSliceNV:
    case SpvOpTensorLayoutSetClampValueNV:
    case SpvOpTensorLayoutSetBlockSizeNV:
    case SpvOpCreateTensorViewNV:
    case SpvOpTensorViewSetDimensionNV:
    case SpvOpTensorViewSetStrideNV:
    case SpvOpTensorViewSetClipNV: set(l, i); return;
    default: return;
    }
}

static void replace_types(Lower *l)
{
    LowerTensorType t;
    for (SpvInst *i = l->m->globals.first; i; i = i->next) {
        if (!i->id || !lower_tensor_type(l, i->id, &t))
            continue;
        uint32_t words[] = { build_u32(l), build_const(l, t.words) };
        edit_become(l->m, i, SpvOpTypeArray, words, 2);
    }
    spv_forget_types(l->m);
}

void lower_tensor(Lower *l)
{
    l->has_blocks = has_blocks(l);
    for (SpvFunction *f = l->m->functions; f; f = f->next)
        lower_tensor_forward(l, f);
    lower_each(l, visit);
    if (!l->failed)
        replace_types(l);
}
