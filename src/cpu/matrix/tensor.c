/* SPDX-License-Identifier: MIT
 *
 * SPV_NV_tensor_addressing, and the loads and stores of matrices through it: values, addresses and
 * transfers (SPV_NV_cooperative_matrix2, "Tensor Layout and View").
 *
 * A layout's or view's state is scalar leaves, so that what a kernel sets to constants is constant
 * here. A transfer runs line by line of the matrix, W elements at a time, by the specification's
 * pseudo-code; what a whole line has in common is scalar. Three things make it fast:
 * - alignment: a line is what one step of the innermost dimension but one is (no view, or one
 *   that swaps two dimensions, and lines are columns): no index is taken apart lane by lane;
 * - a tile: where the slice is inside besides, and elements are next to each other, it is a tile in
 *   memory as OpCooperativeMatrixLoadKHR's, which multiply-adds read where it lies (LAZY);
 * - runs: a line that hangs over an edge with a constant is one masked vector access.
 *
 * Numbers have the pseudo-code's types. "uint32_t tensorCoordToLinear(...) { uint32_t index = 0;
 * ... index += blockCoord[dim] * t.stride[dim]; }": an element's index wraps at 2^32, and only
 * "this index is then multiplied by the size of the component type", exactly, in 64 bits. "int32_t
 * c = spanCoord[dim] + t.offset[dim]; if (c < 0 || ...)": a coordinate of 2^31 and more is a
 * negative one, in whatever dimension, so that no more than 2^31 of a dimension's elements are ever
 * inside. A tile or a run, whose elements are side by side in memory, is one only where no index in
 * it wraps.
 *
 * The pseudo-code's lines for mirrored repetition say `dim` where they mean the layout's dimension;
 * in one of a single element every coordinate is mirrored to 0.
 */
#include "cpu/matrix/matrix.h"

enum { MAX_DIMS = 5, MAX_VECTOR = 8 };
enum { BLOCK, SIZE, STRIDE, OFFSET, SPAN, CLAMP_VALUE };    /* of a layout, by dimension */
enum { VIEW_SIZE, VIEW_STRIDE, VIEW_CLIP };
enum { CLIP_ROW, CLIP_ROWS, CLIP_COL, CLIP_COLS };
enum { UNDEFINED, CONSTANT, TO_EDGE, REPEAT, MIRROR };

static const char section[] = "SPV_NV_cooperative_matrix2, Tensor Layout and View";

static uint32_t constant_of(Emit *e, SpvId id)
{
    uint64_t x = 0;
    spv_constant(e->module, id, &x);
    return (uint32_t)x;
}

static uint32_t dims_of(Emit *e, const SpvType *t)
{
    return MIN(constant_of(e, spv_operand(spv_def(e->module, t->id), 0)), (uint32_t)MAX_DIMS);
}

uint32_t tensor_leaves(Emit *e, const SpvType *t)
{
    return t->kind == SPV_TENSOR_LAYOUT ? 5 * dims_of(e, t) + 1 : 2 * dims_of(e, t) + 4;
}

/* ---- values ---------------------------------------------------------------------------------- */

static LV scalar(Emit *e, SpvId id)
{
    return emit_cast_index(e, emit_uniform(e, emit_leaf(e, id, 0)), e->i32);
}

static LV *state_of(Emit *e, SpvId id, uint32_t n)
{
    LV *v = NEW_ARRAY(e->arena, LV, n + 1);
    for (uint32_t k = 0; k < n; k++)
        v[k] = emit_uniform(e, emit_leaf(e, id, k));
    return v;
}

static void create(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    uint32_t n = tensor_leaves(e, t), dims = dims_of(e, t);
    LV *v = NEW_ARRAY(e->arena, LV, n + 1);
    for (uint32_t k = 0; k < n; k++)
        v[k] = ir_int(e->i32, t->kind == SPV_TENSOR_LAYOUT && k < dims);
    if (t->kind == SPV_TENSOR_VIEW)
        v[VIEW_CLIP * dims + CLIP_ROWS] = v[VIEW_CLIP * dims + CLIP_COLS] =
            ir_int(e->i32, UINT32_MAX);
    emit_set(e, i, v, n);
}

/* A divisor of 0, by which the result is undefined, must not trap. */
static LV divisor(Emit *e, LV n)
{
    LV zero = LLVMBuildICmp(e->b, LLVMIntEQ, n, ir_int(e->i32, 0), "");
    return LLVMBuildSelect(e->b, zero, ir_int(e->i32, 1), n, "");
}

/* ceiling(n / size) */
static LV blocks(Emit *e, LV n, LV size)
{
    if (ir_is_int(size, 1))
        return n;
    size = divisor(e, size);
    LV q = LLVMBuildUDiv(e->b, n, size, ""), r = LLVMBuildURem(e->b, n, size, "");
    LV more = LLVMBuildICmp(e->b, LLVMIntNE, r, ir_int(e->i32, 0), "");
    return LLVMBuildAdd(e->b, q, LLVMBuildZExt(e->b, more, e->i32, ""), "");
}

static void set_layout(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    uint32_t n = tensor_leaves(e, t), d = dims_of(e, t);
    LV *v = state_of(e, spv_operand(i, 0), n), x[2 * MAX_DIMS];
    uint32_t given = spv_n_operands(i) - 1;
    bool slice = i->op == SpvOpTensorLayoutSliceNV;
    bool clamp = i->op == SpvOpTensorLayoutSetClampValueNV;
    if (given != (slice ? 2 * d : clamp ? 1 : d)) {
        emit_error(e, i, "SPV_NV_tensor_addressing", "the layout has %u dimensions", d);
        return;
    }
    for (uint32_t k = 0; k < given; k++)
        x[k] = scalar(e, spv_operand(i, 1 + k));
    LV stride = ir_int(e->i32, 1);
    for (uint32_t k = clamp ? 0 : d; k-- > 0;) {
        LV *f = v + k;
        switch (i->op) {
        case SpvOpTensorLayoutSetBlockSizeNV: f[BLOCK * d] = x[k]; break;
        case SpvOpTensorLayoutSetStrideNV: f[STRIDE * d] = x[k]; break;
        case SpvOpTensorLayoutSliceNV:
            f[OFFSET * d] = LLVMBuildAdd(e->b, f[OFFSET * d], x[2 * k], "");
            f[SPAN * d] = x[2 * k + 1];
            break;
        default:
            f[SIZE * d] = f[SPAN * d] = x[k];
            f[OFFSET * d] = ir_int(e->i32, 0);
            f[STRIDE * d] = stride;
            stride = LLVMBuildMul(e->b, stride, blocks(e, x[k], f[BLOCK * d]), "");
        }
    }
    if (clamp)
        v[CLAMP_VALUE * d] = x[0];
    emit_set(e, i, v, n);
}

static void set_view(Emit *e, const SpvInst *i)
{
    const SpvType *t = spv_type(e->module, i->type);
    uint32_t n = tensor_leaves(e, t), d = dims_of(e, t), given = spv_n_operands(i) - 1;
    LV *v = state_of(e, spv_operand(i, 0), n), stride = ir_int(e->i32, 1);
    bool clip = i->op == SpvOpTensorViewSetClipNV;
    if (given != (clip ? 4 : d)) {
        emit_error(e, i, "SPV_NV_tensor_addressing", "the view has %u dimensions", d);
        return;
    }
    for (uint32_t k = given; k-- > 0;) {
        LV x = scalar(e, spv_operand(i, 1 + k));
        if (i->op == SpvOpTensorViewSetDimensionNV) {
            v[VIEW_SIZE * d + k] = x;
            v[VIEW_STRIDE * d + k] = stride;
            stride = LLVMBuildMul(e->b, stride, x, "");
        } else {
            v[(clip ? VIEW_CLIP : VIEW_STRIDE) * d + k] = x;
        }
    }
    emit_set(e, i, v, n);
}

const EmitRule emit_rules_tensor[] = {
    {SpvOpCreateTensorLayoutNV, EMIT_CHEAP, create},
    {SpvOpCreateTensorViewNV, EMIT_CHEAP, create},
    {SpvOpTensorLayoutSetBlockSizeNV, 0, set_layout},
    {SpvOpTensorLayoutSetDimensionNV, 0, set_layout},
    {SpvOpTensorLayoutSetStrideNV, 0, set_layout},
    {SpvOpTensorLayoutSliceNV, 0, set_layout},
    {SpvOpTensorLayoutSetClampValueNV, 0, set_layout},
    {SpvOpTensorViewSetDimensionNV, 0, set_view},
    {SpvOpTensorViewSetStrideNV, 0, set_view},
    {SpvOpTensorViewSetClipNV, 0, set_view},
    {0, 0, NULL},
};

/* ---- a transfer ------------------------------------------------------------------------------ */

typedef struct Transfer {
    const SpvInst *inst;
    const SpvType *matrix;
    bool store;
    SpvId pointer, layout, view, decode, decode_vector;
    uint32_t vector;            /* elements that the latter decodes */
    uint32_t d, clamp;          /* of the layout */
    LV *f;                      /* its leaves */
    LV end[MAX_DIMS];           /* by dimension: coordinates, as unsigned, below it are inside */
    uint32_t vd, permutation[MAX_DIMS];
    bool view_sizes;
    LV *v;                      /* the view's leaves */
    bool clips;                 /* some elements may be left out */
    bool simple, swapped;       /* no view that matters; or one that swaps two dimensions */
    uint32_t outer;             /* the last dimension but the innermost whose span may exceed 1 */
    LV base, room;              /* the pointer; robust access: bytes behind it that exist */
    bool near;
    uint64_t unit, vector_unit; /* bytes an index counts; for the function of vectors */
    uint32_t bytes;
    LT type;
} Transfer;

static LV field(const Transfer *x, uint32_t which, uint32_t dim)
{
    return x->f[which * x->d + dim];
}

/* The ids behind the addressing mask, by bit. */
static void read_addressing(const SpvInst *i, SpvId ids[3])
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

/* Spans of more than one, if any, are the innermost's and one other's. */
static bool is_plane(const Transfer *x)
{
    for (uint32_t k = 0; k + 1 < x->d; k++)
        if (k != x->outer && !ir_is_int(field(x, SPAN, k), 1))
            return false;
    return x->d > 1;
}

static void open_view(Emit *e, Transfer *x)
{
    x->outer = x->d > 1 ? x->d - 2 : 0;
    while (x->outer && ir_is_int(field(x, SPAN, x->outer), 1))
        x->outer--;
    x->simple = !x->view;
    if (!x->view)
        return;
    const SpvType *t = spv_type_of(e->module, x->view);
    const SpvInst *def = spv_def(e->module, t->id);
    x->vd = dims_of(e, t);
    x->v = state_of(e, x->view, tensor_leaves(e, t));
    uint64_t has = 0;
    spv_constant(e->module, spv_operand(def, 1), &has);
    x->view_sizes = has;
    bool same = x->vd == x->d && !has;
    uint32_t place[MAX_DIMS] = {0};
    for (uint32_t k = 0; k < x->vd; k++) {
        x->permutation[k] = MIN(constant_of(e, spv_operand(def, 2 + k)), x->vd - 1);
        same &= x->permutation[k] == k;
        place[x->permutation[k]] = k;
    }
    const LV *clip = x->v + VIEW_CLIP * x->vd;
    for (uint32_t k = 0; k < 4; k++)
        x->clips |= !ir_is_int(clip[k], k % 2 ? UINT32_MAX : 0);
    x->simple = same && !x->clips;
    x->swapped = !x->clips && !has && x->vd == x->d && is_plane(x)
        && place[x->outer] > place[x->d - 1];
}

static void open_pointer(Emit *e, Transfer *x)
{
    const Pointer *p = emit_pointer(e, x->pointer);
    x->base = emit_address(e, p, 0, x->bytes);
    x->base = emit_uniform(e, x->base);
    x->near = p->storage == SpvStorageClassWorkgroup;
    if (!e->options->robust || !p->limit)
        return;
    LV start = LLVMBuildPtrToInt(e->b, emit_uniform(e, p->base), e->i64, "");
    LV offset = LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, x->base, e->i64, ""), start, "");
    LV limit = emit_uniform(e, p->limit), left = LLVMBuildSub(e->b, limit, offset, "");
    x->room = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntULE, offset, limit, ""), left,
                              ir_int(e->i64, 0), "");
}

static void open_layout(Emit *e, Transfer *x, const SpvType *t)
{
    LV most = ir_int(e->i32, (uint64_t)1 << 31);
    x->d = dims_of(e, t);
    x->clamp = constant_of(e, spv_operand(spv_def(e->module, t->id), 1));
    x->f = state_of(e, x->layout, tensor_leaves(e, t));
    for (uint32_t k = 0; k < x->d; k++) {
        LV size = field(x, SIZE, k), small = LLVMBuildICmp(e->b, LLVMIntULT, size, most, "");
        x->end[k] = LLVMBuildSelect(e->b, small, size, most, "");
    }
}

static bool open_transfer(Emit *e, const SpvInst *i, Transfer *x)
{
    SpvId ids[3] = {0};
    read_addressing(i, ids);
    *x = (Transfer){.inst = i, .store = i->op == SpvOpCooperativeMatrixStoreTensorNV,
                    .pointer = spv_operand(i, 0), .layout = spv_operand(i, 2), .view = ids[0],
                    .decode = ids[1], .decode_vector = ids[2]};
    x->matrix = spv_type_of(e->module, spv_operand(i, 1));
    const SpvType *t = spv_type_of(e->module, x->layout);
    const SpvType *v = x->view ? spv_type_of(e->module, x->view) : NULL;
    if (!mat_is(x->matrix) || !t || t->kind != SPV_TENSOR_LAYOUT || !dims_of(e, t) ||
        (x->view && (!v || v->kind != SPV_TENSOR_VIEW || !dims_of(e, v)))) {
        emit_error(e, i, section, "the object is no cooperative matrix, or the layout no tensor's");
        return false;
    }
    open_layout(e, x, t);
    Comp c = mat_comp(x->matrix);
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

/* ---- arithmetic on scalars and lanes --------------------------------------------------------- */

typedef LV Build(LLVMBuilderRef b, LV x, LV y, const char *name);

static LV op(Emit *e, Build *build, LV x, LV y)
{
    LV v[] = {x, y};
    emit_unify(e, v, 2);
    return build(e->b, v[0], v[1], "");
}

static LV compare(Emit *e, LLVMIntPredicate p, LV x, LV y)
{
    LV v[] = {x, y};
    emit_unify(e, v, 2);
    return LLVMBuildICmp(e->b, p, v[0], v[1], "");
}

static LV choose(Emit *e, LV c, LV x, LV y)
{
    LV v[] = {x, y};
    if (emit_is_lanes(c))
        v[0] = emit_lanes(e, x);
    emit_unify(e, v, 2);
    return LLVMBuildSelect(e->b, c, v[0], v[1], "");
}

/* Both, where NULL is all. */
static LV both(Emit *e, LV x, LV y) { return !x ? y : !y ? x : op(e, LLVMBuildAnd, x, y); }

/* x / y and the rest, unsigned. Lanes by a scalar that is not known go through f64, whose quotient
 * is exact for 32 bits once truncated: LLVM would divide lane by lane. A divisor of 0 gives
 * anything, but no trap. */
static LV divide(Emit *e, LV x, LV y, LV *rest)
{
    LV q;
    if (ir_is_int(y, 1)) {
        *rest = LLVMConstNull(LLVMTypeOf(x));
        return x;
    }
    LV safe = divisor(e, y);
    if (emit_is_lanes(x) && !LLVMIsConstant(safe)) {
        LV n = LLVMBuildUIToFP(e->b, x, emit_lanes_type(e, e->f64), "");
        LV d = emit_lanes(e, LLVMBuildUIToFP(e->b, safe, e->f64, ""));
        q = LLVMBuildFPToUI(e->b, LLVMBuildFDiv(e->b, n, d, ""), LLVMTypeOf(x), "");
    } else {
        q = op(e, LLVMBuildUDiv, x, safe);
    }
    *rest = op(e, LLVMBuildSub, x, op(e, LLVMBuildMul, q, safe));
    return q;
}

/* OpSMod of a coordinate by a dimension's size, a uint32_t. */
static LV modulo(Emit *e, LV c, LV n)
{
    LV negative = compare(e, LLVMIntSLT, c, ir_int(e->i32, 0)), r;
    /* of c < 0: n - 1 - (-1 - c) % n */
    LV mirrored = choose(e, negative, op(e, LLVMBuildSub, ir_int(e->i32, UINT32_MAX), c), c);
    divide(e, mirrored, n, &r);
    LV back = op(e, LLVMBuildSub, op(e, LLVMBuildSub, n, ir_int(e->i32, 1)), r);
    return choose(e, negative, back, r);
}

/* ---- where an element lies ------------------------------------------------------------------- */

typedef struct Place {
    LV clipped, constant;       /* i1 or lanes; NULL: none is */
    LV index;                   /* i32: of the block */
    LV block[MAX_DIMS], in_block[MAX_DIMS];
} Place;

/* The linear index of (row, col), through the view's clip. */
static LV linear_index(Emit *e, const Transfer *x, LV row, LV col, Place *p)
{
    LV width = ir_int(e->i32, x->matrix->cols);
    if (x->clips) {
        const LV *clip = x->v + VIEW_CLIP * x->vd;
        LV at[2] = {row, col};
        for (uint32_t k = 0; k < 2; k++) {
            LV first = clip[2 * k], end = op(e, LLVMBuildAdd, first, clip[2 * k + 1]);
            LV low = compare(e, LLVMIntULT, at[k], first);
            LV out = op(e, LLVMBuildOr, low, compare(e, LLVMIntUGE, at[k], end));
            p->clipped = p->clipped ? op(e, LLVMBuildOr, p->clipped, out) : out;
            at[k] = op(e, LLVMBuildSub, at[k], first);
        }
        row = at[0];
        col = at[1];
        LV span = clip[CLIP_COLS];
        LV narrow = LLVMBuildICmp(e->b, LLVMIntULT, span, width, "");
        width = LLVMBuildSelect(e->b, narrow, span, width, "");
    }
    return op(e, LLVMBuildAdd, op(e, LLVMBuildMul, row, width), col);
}

static LV widen(Emit *e, LV v)
{
    return LLVMBuildZExt(e->b, v, emit_is_lanes(v) ? emit_lanes_type(e, e->i64) : e->i64, "");
}

static LV through_view(Emit *e, const Transfer *x, LV index)
{
    const LV *size = x->view_sizes ? x->v + VIEW_SIZE * x->vd : x->f + SPAN * x->d;
    LV coord[MAX_DIMS], stride = ir_int(e->i32, 1), sum = NULL;
    for (uint32_t k = 0; k < x->vd; k++)
        coord[k] = ir_int(e->i32, 0); /* specialised, it may be no permutation */
    for (uint32_t k = x->vd; k-- > 0;) {
        uint32_t i = x->permutation[k];
        index = divide(e, index, size[i], &coord[i]);
    }
    for (uint32_t k = x->vd; k-- > 0;) {
        LV s = x->view_sizes ? x->v[VIEW_STRIDE * x->vd + k] : stride;
        LV term = op(e, LLVMBuildMul, coord[k], s);
        sum = sum ? op(e, LLVMBuildAdd, sum, term) : term;
        stride = op(e, LLVMBuildMul, stride, size[k]);
    }
    return sum;
}

/* A coordinate outside of [0, size), mirrored. That repeats itself every 2 * size - 2 and is the
 * same for c and -c, so the distance from 0 decides; where it is inside at once, the period need
 * not fit 32 bits. */
static LV mirror(Emit *e, LV c, LV size)
{
    LV negative = compare(e, LLVMIntSLT, c, ir_int(e->i32, 0)), m, one = ir_int(e->i32, 1);
    LV distance = choose(e, negative, op(e, LLVMBuildSub, ir_int(e->i32, 0), c), c);
    LV period = LLVMBuildMul(e->b, LLVMBuildSub(e->b, size, one, ""), ir_int(e->i32, 2), "");
    divide(e, distance, period, &m);
    m = choose(e, compare(e, LLVMIntUGE, m, size), op(e, LLVMBuildSub, period, m), m);
    m = choose(e, compare(e, LLVMIntULT, distance, size), distance, m);
    return choose(e, LLVMBuildICmp(e->b, LLVMIntULE, size, one, ""), ir_int(e->i32, 0), m);
}

/* A coordinate in dimension k of the tensor, by the clamp mode. */
static LV clamp_coordinate(Emit *e, const Transfer *x, LV c, uint32_t k, Place *p)
{
    uint32_t mode = x->store && x->clamp != UNDEFINED ? (uint32_t)CONSTANT : x->clamp;
    LV size = field(x, SIZE, k), last = LLVMBuildSub(e->b, size, ir_int(e->i32, 1), "");
    if (mode == UNDEFINED)
        return c;
    LV out = compare(e, LLVMIntUGE, c, x->end[k]);  /* as unsigned: negative ones too */
    if (mode == CONSTANT) {
        p->constant = p->constant ? op(e, LLVMBuildOr, p->constant, out) : out;
        return choose(e, out, ir_int(e->i32, 0), c);
    }
    if (mode == TO_EDGE) {
        LV negative = compare(e, LLVMIntSLT, c, ir_int(e->i32, 0));
        return choose(e, negative, ir_int(e->i32, 0), choose(e, out, last, c));
    }
    return choose(e, out, mode == REPEAT ? modulo(e, c, size) : mirror(e, c, size), c);
}

/* `aligned`: row and column are coordinates of the slice but for a line's number. */
static Place find_place(Emit *e, const Transfer *x, LV row, LV col, bool aligned)
{
    Place p = {0};
    LV coord[MAX_DIMS] = {0};
    if (aligned && x->swapped) {
        for (uint32_t k = 0; k < x->d; k++)
            coord[k] = ir_int(e->i32, 0);
        coord[x->outer] = col;
        coord[x->d - 1] = row;
    } else {
        LV index = row;
        uint32_t k = x->d;
        if (aligned) {
            coord[--k] = col;
        } else {
            index = linear_index(e, x, row, col, &p);
            if (x->view)
                index = through_view(e, x, index);
        }
        while (k-- > 0)
            index = divide(e, index, field(x, SPAN, k), &coord[k]);
    }
    for (uint32_t k = 0; k < x->d; k++) {
        LV c = op(e, LLVMBuildAdd, coord[k], field(x, OFFSET, k));
        c = clamp_coordinate(e, x, c, k, &p);
        p.block[k] = divide(e, c, field(x, BLOCK, k), &p.in_block[k]);
        LV term = op(e, LLVMBuildMul, p.block[k], field(x, STRIDE, k));
        p.index = p.index ? op(e, LLVMBuildAdd, p.index, term) : term;
    }
    return p;
}

static LV invert(Emit *e, LV v) { return LLVMBuildNot(e->b, v, ""); }

/* Bytes from the pointer on to a block: exact, as neither has more than 32 bits. */
static LV bytes_to(Emit *e, LV index, uint64_t unit)
{
    return op(e, LLVMBuildMul, widen(e, index), ir_int(e->i64, unit));
}

/* Robust access: whether `bytes` at a byte offset, which may be anything, exist. */
static LV exists(Emit *e, const Transfer *x, LV offset, uint64_t bytes)
{
    if (!x->room)
        return NULL;
    LV args[2] = { x->room, ir_int(e->i64, bytes - 1) };
    return compare(e, LLVMIntULT, offset, ir_intrinsic(e->b, "llvm.usub.sat", &e->i64, 1, args, 2));
}

/* ---- W elements ------------------------------------------------------------------------------ */

typedef struct Chunk {
    Tile tile;                  /* dense, in the order of lines */
    bool aligned;
    LV line, first;             /* i32; first: the place in the line of lane 0 */
    uint32_t n;                 /* elements, up to W */
} Chunk;

static LV home_address(Emit *e, const Transfer *x, const Chunk *c)
{
    LV offset =
        LLVMBuildAdd(e->b, LLVMBuildMul(e->b, widen(e, c->line), c->tile.stride, ""),
                     LLVMBuildMul(e->b, widen(e, c->first), ir_int(e->i64, x->bytes), ""), "");
    return ir_at(e->b, c->tile.ptr, offset);
}

static LV masked_run(Emit *e, LV p, LV value, uint32_t align, LV mask, bool store)
{
    if (mask && !store)
        return emit_masked_load(e, LLVMTypeOf(value), p, align, emit_lanes(e, mask));
    if (mask) {
        emit_masked_store(e, value, p, align, emit_lanes(e, mask));
        return NULL;
    }
    LV v = store ? LLVMBuildStore(e->b, value, p)
                 : LLVMBuildLoad2(e->b, LLVMTypeOf(value), p, "");
    LLVMSetAlignment(v, align);
    return v;
}

/* Whether a line's elements lie next to each other, which must be known. */
static bool in_runs(const Transfer *x, const Chunk *c)
{
    bool modes = x->clamp <= CONSTANT || x->store;
    return c->aligned && modes && !x->decode && ir_is_int(field(x, BLOCK, x->d - 1), 1) &&
           ir_is_int(field(x, STRIDE, x->d - 1), 1);
}

/* Elements of a line that lie next to each other. */
typedef struct Run {
    LV start;                   /* i64: index of lane 0, which may be left out and be negative */
    LV wraps;                   /* i1: one of the indices does, so that they are none */
} Run;

static Run find_run(Emit *e, const Transfer *x, const Chunk *c, const Place *p)
{
    uint32_t inner = x->d - 1;
    LV outer = ir_int(e->i32, 0), coord = LLVMBuildAdd(e->b, field(x, OFFSET, inner), c->first, "");
    for (uint32_t k = 0; k < inner; k++) {
        LV term = LLVMBuildMul(e->b, p->block[k], field(x, STRIDE, k), "");
        outer = LLVMBuildAdd(e->b, outer, term, "");
    }
    LV before = LLVMBuildAdd(e->b, widen(e, outer), LLVMBuildSExt(e->b, coord, e->i64, ""), "");
    LV inside = widen(e, LLVMBuildAdd(e->b, outer, coord, ""));
    LV negative = LLVMBuildICmp(e->b, LLVMIntSLT, coord, ir_int(e->i32, 0), "");
    LV start = LLVMBuildSelect(e->b, negative, before, inside, "");
    /* with a constant, negative coordinates are left out; else nobody says that they are */
    LLVMIntPredicate above = x->clamp == UNDEFINED ? LLVMIntUGT : LLVMIntSGT;
    LV most = ir_int(e->i64, ((uint64_t)1 << 32) - e->W);
    return (Run){start, LLVMBuildICmp(e->b, above, start, most, "")};
}

/* A run that is none, element by element: what next to never happens should be short. */
static LV one_by_one(Emit *e, const Transfer *x, LV index, LV value, LV inside)
{
    LT type = emit_lanes_type(e, x->type), numbers = emit_lanes_type(e, e->i32);
    LV v = emit_alloca(e, type, "elements"), at = emit_alloca(e, numbers, "indices");
    LV is = emit_alloca(e, numbers, "inside");
    LLVMBuildStore(e->b, value, v);
    LLVMBuildStore(e->b, emit_lanes(e, index), at);
    LLVMBuildStore(e->b, LLVMBuildZExt(e->b, inside, numbers, ""), is);
    Loop l = loop_begin(e, ir_int(e->i32, e->W));
    LV lane = widen(e, l.index);
    LV mine = LLVMBuildLoad2(e->b, e->i32, LLVMBuildGEP2(e->b, e->i32, is, &lane, 1, ""), "");
    If f = if_begin(e, LLVMBuildICmp(e->b, LLVMIntNE, mine, ir_int(e->i32, 0), ""));
    LV number = LLVMBuildLoad2(e->b, e->i32, LLVMBuildGEP2(e->b, e->i32, at, &lane, 1, ""), "");
    LV far = ir_at(e->b, x->base, bytes_to(e, number, x->bytes));
    LV near = LLVMBuildGEP2(e->b, x->type, v, &lane, 1, "");
    LV one = ir_load(e->b, x->type, x->store ? near : far, x->bytes);
    ir_store(e->b, one, x->store ? far : near, x->bytes);
    if_end(e, &f);
    loop_end(e, &l);
    return LLVMBuildLoad2(e->b, type, v, "");
}

/* Loads or stores a line's elements that are next to each other, those `inside` (NULL: all). */
static LV access_run(Emit *e, const Transfer *x, const Chunk *c, const Place *p, LV value,
                     LV inside)
{
    Run run = find_run(e, x, c, p);
    LV slot = emit_alloca(e, LLVMTypeOf(value), "run");
    LV all = ir_int(emit_lanes_type(e, e->i1), 1);
    LV far = ir_at(e->b, x->base, LLVMBuildMul(e->b, run.start, ir_int(e->i64, x->bytes), ""));
    If f = if_begin(e, invert(e, run.wraps));
    LV v = masked_run(e, far, value, x->bytes, inside, x->store);
    if (!x->store)
        LLVMBuildStore(e->b, v, slot);
    if_end(e, &f);
    f = if_begin(e, run.wraps);
    v = one_by_one(e, x, p->index, value, inside ? inside : all);
    if (!x->store)
        LLVMBuildStore(e->b, v, slot);
    if_end(e, &f);
    return x->store ? NULL : LLVMBuildLoad2(e->b, LLVMTypeOf(value), slot, "");
}

static LV clamp_value(Emit *e, const Transfer *x)
{
    LV v = x->f[CLAMP_VALUE * x->d];
    LT bits = LLVMIntTypeInContext(e->cx, x->bytes * 8);
    v = x->bytes < 4   ? LLVMBuildTrunc(e->b, v, bits, "")
        : x->bytes > 4 ? LLVMBuildZExt(e->b, v, bits, "")
                       : v;
    return emit_lanes(e, bits == x->type ? v : LLVMBuildBitCast(e->b, v, x->type, ""));
}

/* Calls a decode function that gives n numbers a lane. */
static void decode_numbers(Emit *e, const Transfer *x, const Place *p, LV mask, LV *results,
                           uint32_t n)
{
    LV args[1 + 2 * MAX_DIMS], base = LLVMBuildPtrToInt(e->b, x->base, e->i64, "");
    args[0] = op(e, LLVMBuildAdd, base, bytes_to(e, p->index, n > 1 ? x->vector_unit : x->unit));
    for (uint32_t k = 0; k < x->d; k++) {
        args[1 + k] = p->block[k];
        args[1 + x->d + k] = p->in_block[k];
    }
    for (uint32_t k = 0; k < n; k++)
        results[k] = LLVMGetPoison(emit_lanes_type(e, x->type));
    ElementCall c = {x->inst, n > 1 ? x->decode_vector : x->decode, args, 1 + 2 * x->d, mask,
                     results, n};
    emit_call(e, &c);
}

static LV decode_call(Emit *e, const Transfer *x, const Place *p, LV mask)
{
    LV result;
    decode_numbers(e, x, p, mask, &result, 1);
    return result;
}

/* Elements by the decode function. Where all lanes are in one block the pointer is one for all. */
static LV decode(Emit *e, const Transfer *x, const Chunk *c, const Place *p, LV mask)
{
    uint32_t inner = x->d - 1;
    LV size = field(x, BLOCK, inner);
    bool possible = c->aligned && emit_is_lanes(p->index)
        && (!LLVMIsAConstantInt(size) || LLVMConstIntGetZExtValue(size) >= e->W);
    if (!possible)
        return decode_call(e, x, p, mask);
    LV zero = ir_int(e->i32, 0), last = ir_int(e->i32, e->W - 1);
    Place of_one = *p;
    for (uint32_t k = 0; k < x->d; k++)
        of_one.block[k] = emit_lane(e, p->block[k], zero);
    /* coordinates that step by one, from the first lane's to the last's */
    LV start = emit_lane(e, p->in_block[inner], zero), end = emit_lane(e, p->in_block[inner], last);
    LV steps = LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildSub(e->b, end, start, ""), last, "");
    LV same = LLVMBuildICmp(e->b, LLVMIntEQ, of_one.block[inner],
                            emit_lane(e, p->block[inner], last), "");
    LV one = LLVMBuildAnd(e->b, steps, same, "");
    of_one.in_block[inner] = op(e, LLVMBuildAdd, start, e->lane_id);
    LV slot = emit_alloca(e, emit_lanes_type(e, x->type), "decoded");
    If f = if_begin(e, one);
    of_one.index = emit_lane(e, p->index, zero);
    LLVMBuildStore(e->b, decode_call(e, x, &of_one, mask), slot);
    if_end(e, &f);
    f = if_begin(e, invert(e, one));
    LLVMBuildStore(e->b, decode_call(e, x, p, mask), slot);
    if_end(e, &f);
    return LLVMBuildLoad2(e->b, LLVMGetAllocatedType(slot), slot, "");
}

static void chunk(Emit *e, const Transfer *x, const Chunk *c)
{
    LV minor = op(e, LLVMBuildAdd, c->first, e->lane_id), near = home_address(e, x, c);
    bool col = c->tile.col;
    Place p = find_place(e, x, col ? minor : c->line, col ? c->line : minor, c->aligned);
    LV mask = c->n == e->W ? NULL : compare(e, LLVMIntULT, e->lane_id, ir_int(e->i32, c->n));
    LV inside = mask, zero = LLVMConstNull(emit_lanes_type(e, x->type)), value;
    if (p.clipped)
        inside = both(e, inside, invert(e, p.clipped));
    if (p.constant)
        inside = both(e, inside, invert(e, p.constant));
    LV offset = bytes_to(e, p.index, x->unit);
    inside = both(e, inside, exists(e, x, offset, x->unit));
    inside = inside ? emit_lanes(e, inside) : NULL;
    bool runs = in_runs(x, c);
    LV far = ir_at(e->b, x->base, emit_lanes(e, offset));
    LV all = ir_int(emit_lanes_type(e, e->i1), 1);
    if (x->store) {
        value = masked_run(e, near, zero, x->bytes, mask, false);
        if (runs)
            access_run(e, x, c, &p, value, inside);
        else
            emit_masked_store(e, value, far, x->bytes, inside ? inside : all);
        return;
    }
    value = x->decode ? decode(e, x, c, &p, inside)
        : runs        ? access_run(e, x, c, &p, zero, inside)
                      : emit_masked_load(e, LLVMTypeOf(zero), far, x->bytes, inside ? inside : all);
    if (x->decode && inside)
        value = choose(e, inside, value, zero);
    if (p.constant)
        value = choose(e, p.constant, clamp_value(e, x), value);
    if (p.clipped)
        value = choose(e, p.clipped, masked_run(e, near, zero, x->bytes, mask, false), value);
    masked_run(e, near, value, x->bytes, mask, true);
}

/* ---- by the decode function of vectors ------------------------------------------------------- */

/* W vectors that follow one another in lines of whole vectors. */
typedef struct Vectors {
    LV linear, mask;            /* each lane's first element in the dense tile; those that exist */
    LV minor, line;             /* ... in its line; its line */
    bool col;
} Vectors;

/* What element k of each lane's vector is, by the function of elements; of the lanes in `mask`. */
static void stray_elements(Emit *e, const Transfer *x, const Vectors *v, LV p, LV mask)
{
    If f = if_begin(e, emit_any(e, mask));
    Loop l = loop_begin(e, ir_int(e->i32, x->vector));
    LV minor = op(e, LLVMBuildAdd, v->minor, l.index), inside = mask;
    Place at = find_place(e, x, v->col ? minor : v->line, v->col ? v->line : minor, true);
    if (at.constant)
        inside = op(e, LLVMBuildAnd, inside, invert(e, at.constant));
    LV offset = bytes_to(e, at.index, x->unit);
    inside = emit_lanes(e, both(e, inside, exists(e, x, offset, x->unit)));
    LV value = choose(e, inside, decode_call(e, x, &at, inside),
                      LLVMConstNull(emit_lanes_type(e, x->type)));
    if (at.constant)
        value = choose(e, at.constant, clamp_value(e, x), value);
    LV linear = widen(e, op(e, LLVMBuildAdd, v->linear, l.index));
    LV to = ir_at(e->b, p, op(e, LLVMBuildMul, linear, ir_int(e->i64, x->bytes)));
    emit_masked_store(e, value, to, x->bytes, mask);
    loop_end(e, &l);
    if_end(e, &f);
}

/* Vectors one behind the other: element k of lane l is number l * n + k. */
static LV interleave(Emit *e, const LV *x, uint32_t n)
{
    LV y[MAX_VECTOR];
    int order[IR_MAX_LANES]; /* 128 lanes of vectors of 8 at most */
    memcpy(y, x, n * sizeof *y);
    for (uint32_t width = e->W; n > 1; n /= 2, width *= 2) {
        for (uint32_t j = 0; j < 2 * width; j++)
            order[j] = (int)(j / 2 + j % 2 * width);
        for (uint32_t k = 0; k < n / 2; k++)
            y[k] = ir_shuffle(e->b, y[k], y[k + n / 2], order, 2 * width);
    }
    return y[0];
}

static void vectors(Emit *e, const Transfer *x, const Vectors *v, LV p)
{
    uint32_t n = x->vector, inner = x->d - 1;
    Place at = find_place(e, x, v->col ? v->minor : v->line, v->col ? v->line : v->minor, true);
    LV mask = v->mask, stray = NULL, results[MAX_VECTOR];
    if (x->clamp != UNDEFINED) { /* one that leaves the tensor is no vector */
        LV first = op(e, LLVMBuildAdd, v->minor, field(x, OFFSET, inner));
        LV end = x->end[inner], left = op(e, LLVMBuildSub, end, first);
        LV whole = op(e, LLVMBuildAnd, compare(e, LLVMIntULT, first, end),
                      compare(e, LLVMIntUGE, left, ir_int(e->i32, n)));
        stray = both(e, mask, invert(e, whole));
        mask = both(e, mask, whole);
    }
    if (at.constant)
        mask = both(e, mask, invert(e, at.constant));
    LV offset = bytes_to(e, at.index, x->vector_unit);
    mask = both(e, mask, exists(e, x, offset, x->vector_unit));
    mask = mask ? emit_lanes(e, mask) : NULL;
    decode_numbers(e, x, &at, mask, results, n);
    LV fill = LLVMConstNull(emit_lanes_type(e, x->type));
    if (at.constant)
        fill = choose(e, at.constant, clamp_value(e, x), fill);
    for (uint32_t k = 0; mask && k < n; k++)
        results[k] = choose(e, mask, results[k], fill);
    LV to = ir_at(e->b, p,
                  LLVMBuildMul(e->b, widen(e, emit_lane(e, v->linear, ir_int(e->i32, 0))),
                               ir_int(e->i64, x->bytes), ""));
    LV all[MAX_VECTOR];
    for (uint32_t k = 0; k < n; k++)
        all[k] = v->mask;
    masked_run(e, to, interleave(e, results, n), x->bytes,
               v->mask ? interleave(e, all, n) : NULL, true);
    if (stray)
        stray_elements(e, x, v, p, emit_lanes(e, stray));
}

/* Lines of whole vectors. */
static void by_vectors(Emit *e, const Transfer *x, const Tile *tile)
{
    uint32_t length = tile->col ? x->matrix->rows : x->matrix->cols;
    uint32_t n = x->matrix->rows * x->matrix->cols / x->vector;
    Loop l = loop_begin(e, ir_int(e->i32, (n + e->W - 1) / e->W));
    LV number =
        op(e, LLVMBuildAdd, LLVMBuildMul(e->b, l.index, ir_int(e->i32, e->W), ""), e->lane_id);
    Vectors v = { .linear = op(e, LLVMBuildMul, number, ir_int(e->i32, x->vector)),
                  .col = tile->col };
    v.line = op(e, LLVMBuildUDiv, v.linear, ir_int(e->i32, length));
    v.minor = op(e, LLVMBuildURem, v.linear, ir_int(e->i32, length));
    if (n % e->W)
        v.mask = compare(e, LLVMIntULT, number, ir_int(e->i32, n));
    vectors(e, x, &v, tile->ptr);
    loop_end(e, &l);
}

/* Whether aligned lines consist of whole vectors; NULL: they do not. */
static LV in_vectors(Emit *e, const Transfer *x, bool col)
{
    LV rest = ir_int(e->i32, x->vector - 1), zero = ir_int(e->i32, 0);
    if (!x->vector || (col ? x->matrix->rows : x->matrix->cols) % x->vector)
        return NULL;
    LV low = LLVMBuildOr(e->b, field(x, OFFSET, x->d - 1), field(x, BLOCK, x->d - 1), "");
    return LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildAnd(e->b, low, rest, ""), zero, "");
}

/* ---- all elements ---------------------------------------------------------------------------- */

static void lines(Emit *e, const Transfer *x, const Tile *tile, bool aligned)
{
    uint32_t n = tile->col ? x->matrix->cols : x->matrix->rows;
    uint32_t length = tile->col ? x->matrix->rows : x->matrix->cols;
    Chunk c = {.tile = *tile, .aligned = aligned, .n = e->W};
    Loop l = loop_begin(e, ir_int(e->i32, n));
    c.line = l.index;
    if (length >= e->W) {
        Loop k = loop_begin(e, ir_int(e->i32, length / e->W));
        c.first = LLVMBuildMul(e->b, k.index, ir_int(e->i32, e->W), "");
        chunk(e, x, &c);
        loop_end(e, &k);
    }
    c.first = ir_int(e->i32, length / e->W * e->W);
    c.n = length % e->W;
    if (c.n)
        chunk(e, x, &c);
    loop_end(e, &l);
}

static void aligned_lines(Emit *e, const Transfer *x, const Tile *tile)
{
    LV whole = in_vectors(e, x, tile->col);
    if (!whole || ir_is_int(whole, 0)) {
        lines(e, x, tile, true);
        return;
    }
    If f = if_begin(e, whole);
    by_vectors(e, x, tile);
    if_end(e, &f);
    if (ir_is_int(whole, 1))
        return;
    f = if_begin(e, invert(e, whole));
    lines(e, x, tile, true);
    if_end(e, &f);
}

/* NULL: never; else i1, perhaps a constant. */
static LV is_aligned(Emit *e, const Transfer *x)
{
    LV n = ir_int(e->i32, x->matrix->cols);
    if (x->swapped) {
        LV rows = ir_int(e->i32, x->matrix->rows);
        return LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, field(x, SPAN, x->outer), n, ""),
                            LLVMBuildICmp(e->b, LLVMIntUGE, field(x, SPAN, x->d - 1), rows, ""),
                            "");
    }
    return x->simple ? LLVMBuildICmp(e->b, LLVMIntEQ, field(x, SPAN, x->d - 1), n, "") : NULL;
}

/* From and to a dense tile, element by element. */
static void by_lines(Emit *e, const Transfer *x, const Tile *home, LV aligned)
{
    Leader leader = mat_leader_begin(e, x->matrix);
    Tile tile = *home;
    bool col = x->swapped;
    if (tile.col != col) {
        tile = mat_dense(e, x->matrix, mat_frame(e, x->matrix, mat_bytes(e, x->matrix)), col);
        if (x->store || x->clips)
            mat_copy(e, x->matrix, &tile, home);
    }
    bool maybe = aligned && !ir_is_int(aligned, 0), surely = aligned && ir_is_int(aligned, 1);
    if (surely) {
        aligned_lines(e, x, &tile);
    } else if (!maybe) {
        lines(e, x, &tile, false);
    } else {
        If f = if_begin(e, aligned);
        aligned_lines(e, x, &tile);
        if_end(e, &f);
        f = if_begin(e, invert(e, aligned));
        lines(e, x, &tile, false);
        if_end(e, &f);
    }
    if (!x->store && tile.ptr != home->ptr)
        mat_copy(e, x->matrix, home, &tile);
    mat_leader_end(e, &leader);
}

/* offset and offset + n are in dimension k; n = 1: its one coordinate is. */
static LV in_dimension(Emit *e, const Transfer *x, uint32_t k, uint32_t n)
{
    LV offset = field(x, OFFSET, k), end = x->end[k];
    LV left = LLVMBuildSub(e->b, end, offset, "");
    return LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntULT, offset, end, ""),
                        LLVMBuildICmp(e->b, LLVMIntUGE, left, ir_int(e->i32, n), ""), "");
}

/* The slice as a tile of memory. NULL: it never is one; else when it is, i1. */
static LV as_tile(Emit *e, const Transfer *x, LV aligned, Tile *tile)
{
    uint32_t d = x->d, inner = d - 1, outer = x->outer;
    uint32_t n = x->swapped ? x->matrix->cols : x->matrix->rows;
    uint32_t length = x->swapped ? x->matrix->rows : x->matrix->cols;
    if (x->decode || d < 2 || !aligned || ir_is_int(aligned, 0))
        return NULL;
    for (uint32_t k = 0; k < d; k++)
        if (!ir_is_int(field(x, BLOCK, k), 1))
            return NULL;
    LV is = LLVMBuildAnd(
        e->b, aligned,
        LLVMBuildICmp(e->b, LLVMIntUGE, field(x, SPAN, outer), ir_int(e->i32, n), ""), "");
    is = LLVMBuildAnd(
        e->b, is, LLVMBuildICmp(e->b, LLVMIntEQ, field(x, STRIDE, inner), ir_int(e->i32, 1), ""),
        "");
    LV index = ir_int(e->i32, 0), stride = widen(e, field(x, STRIDE, outer));
    for (uint32_t k = 0; k < d; k++) {
        LV term = LLVMBuildMul(e->b, field(x, OFFSET, k), field(x, STRIDE, k), "");
        index = LLVMBuildAdd(e->b, index, term, "");
        if (x->clamp != UNDEFINED)
            is = LLVMBuildAnd(e->b, is,
                              in_dimension(e, x, k,
                                           k == inner ? length : k == outer ? n : 1), "");
    }
    LV last = LLVMBuildAdd(e->b, widen(e, index),
                           LLVMBuildMul(e->b, stride, ir_int(e->i64, n - 1), ""), "");
    LV most = ir_int(e->i64, ((uint64_t)1 << 32) - length);
    is = LLVMBuildAnd(e->b, is, LLVMBuildICmp(e->b, LLVMIntULE, last, most, ""), "");
    tile->ptr = ir_at(e->b, x->base, bytes_to(e, index, x->bytes));
    tile->stride = LLVMBuildMul(e->b, stride, ir_int(e->i64, x->bytes), "");
    tile->col = x->swapped;
    tile->near = x->near;
    if (x->room) {
        last = LLVMBuildMul(e->b, last, ir_int(e->i64, x->bytes), "");
        is = LLVMBuildAnd(e->b, is, exists(e, x, last, (uint64_t)length * x->bytes), "");
    }
    return is;
}

static const SpvFunction *function_of(Emit *e, SpvId id)
{
    const SpvFunction *f = e->module->functions;
    while (f && f->def->id != id)
        f = f->next;
    return f;
}

static uint64_t block_bytes(Emit *e, const Transfer *x, SpvId decode)
{
    const SpvFunction *f = function_of(e, decode);
    const SpvInst *i = f ? f->head.first : NULL;
    while (i && i->op != SpvOpFunctionParameter)
        i = i->next;
    const SpvType *p = i ? spv_type(e->module, i->type) : NULL;
    if (!p || p->kind != SPV_POINTER || !emit_is_physical(e, p)) {
        emit_error(e, x->inst, section,
                   "the decode function's first parameter is no pointer to physical storage");
        return 1;
    }
    Layout l = {.type = p->element, .rule = LAYOUT_EXPLICIT};
    uint64_t bytes = align_up(emit_layout_size(e, &l), emit_layout_align(e, &l));
    if (bytes <= UINT32_MAX)    /* so that an index of 32 bits times it is exact */
        return bytes;
    emit_error(e, x->inst, section, "the decode function's block has %llu bytes: 4 GiB or more",
               (unsigned long long)bytes);
    return 1;
}

static void open_decode(Emit *e, Transfer *x)
{
    x->unit = block_bytes(e, x, x->decode);
    const SpvFunction *f = x->decode_vector ? function_of(e, x->decode_vector) : NULL;
    const SpvType *t = f ? spv_type(e->module, f->def->type) : NULL;
    if (!t || t->kind != SPV_VECTOR || (t->count != 2 && t->count != 4 && t->count != 8))
        return;
    x->vector = t->count;
    x->vector_unit = block_bytes(e, x, x->decode_vector);
}

/* Elements to `home` and the tile where they lie in memory, when that is one; each only when
 * asked for at run time. */
static void load_home(Emit *e, const Transfer *x, const Tile *home, const Tile *tile, LV is,
                      LV aligned)
{
    if (is && !ir_is_int(is, 0)) {
        If f = if_begin(e, is);
        mat_copy(e, x->matrix, home, tile);
        if_end(e, &f);
    }
    if (is && ir_is_int(is, 1))
        return;
    If f = if_begin(e, is ? invert(e, is) : ir_int(e->i1, 1));
    by_lines(e, x, home, aligned);
    if_end(e, &f);
}

static void count(Emit *e, const Transfer *x)
{
    uint64_t bytes = (uint64_t)x->matrix->rows * x->matrix->cols * x->bytes;
    mat_count(e, x->matrix, x->store ? DEVICE_STAT_MATRIX_STORES : DEVICE_STAT_MATRIX_LOADS, 1);
    mat_count(e, x->matrix, x->store ? DEVICE_STAT_BYTES_STORED : DEVICE_STAT_BYTES_LOADED, bytes);
}

/* The slice's lines, those of blocks where the layout has them. */
static void look_ahead(Emit *e, const Transfer *x)
{
    LV strides[MAX_DIMS], start = ir_int(e->i64, 0);
    uint32_t rows = x->swapped ? x->matrix->cols : x->matrix->rows;
    uint32_t cols = x->swapped ? x->matrix->rows : x->matrix->cols;
    uint64_t block[MAX_DIMS];
    for (uint32_t k = 0; k < x->d; k++) {
        LV size = field(x, BLOCK, k);
        block[k] = LLVMIsAConstantInt(size) ? LLVMConstIntGetZExtValue(size) : 0;
        if (!block[k])
            return;
        strides[k] = LLVMBuildMul(e->b, widen(e, field(x, STRIDE, k)), ir_int(e->i64, x->unit), "");
        LV at = LLVMBuildUDiv(e->b, widen(e, field(x, OFFSET, k)), ir_int(e->i64, block[k]), "");
        start = LLVMBuildAdd(e->b, start, LLVMBuildMul(e->b, at, strides[k], ""), "");
    }
    uint64_t bytes = (cols + block[x->d - 1] - 1) / block[x->d - 1] * x->unit;
    AheadLines lines = { ir_at(e->b, x->base, start),
                         strides[x->outer],
                         (uint32_t)((rows + block[x->outer] - 1) / block[x->outer]),
                         (uint32_t)MIN(bytes, 4096),
                         strides,
                         block,
                         x->d };
    emit_ahead(e, x->inst, &lines);
}

void mat_load_tensor(Emit *e, const SpvInst *i)
{
    Transfer x;
    Tile tile, home;
    if (!open_transfer(e, i, &x))
        return;
    if (x.decode)
        open_decode(e, &x);
    count(e, &x);
    if (!x.near && wait_queues_load(e->ahead, i))
        look_ahead(e, &x);
    MatValue *v = mat_value(e, i->id);
    LV aligned = is_aligned(e, &x), is = as_tile(e, &x, aligned, &tile);
    bool lazy = is && mat_may_stay(e, i) && !(spv_operand(i, 3) & SpvMemoryAccessVolatileMask);
    if (lazy) {
        v->state = MAT_LAZY;
        v->tile = tile;
        vec_push(e->arena, &e->matrix->lazy, v);
        if (ir_is_int(is, 1))
            return;
        home = mat_dense(e, x.matrix, mat_frame(e, x.matrix, mat_bytes(e, x.matrix)), tile.col);
        If f = if_begin(e, invert(e, is));
        by_lines(e, &x, &home, aligned);
        if_end(e, &f);
        v->tile.ptr = LLVMBuildSelect(e->b, is, tile.ptr, home.ptr, "");
        v->tile.stride = LLVMBuildSelect(e->b, is, tile.stride, home.stride, "");
        return;
    }
    if (x.decode)
        matrix_memory_barrier(e);   /* the function may store */
    Tile old = {0};
    if (x.clips)
        old = mat_read(e, spv_operand(i, 1));
    home = mat_result(e, i);
    if (x.clips && old.ptr != home.ptr)
        mat_copy(e, x.matrix, &home, &old);
    load_home(e, &x, &home, &tile, is, aligned);
}

void mat_store_tensor(Emit *e, const SpvInst *i)
{
    Transfer x;
    Tile tile;
    if (!open_transfer(e, i, &x))
        return;
    matrix_memory_barrier(e);
    count(e, &x);
    Tile from = mat_read(e, spv_operand(i, 1));
    LV aligned = is_aligned(e, &x), is = as_tile(e, &x, aligned, &tile);
    if (is && !ir_is_int(is, 0)) {
        If f = if_begin(e, is);
        mat_copy(e, x.matrix, &tile, &from);
        if_end(e, &f);
    }
    If f = if_begin(e, is ? invert(e, is) : ir_int(e->i1, 1));
    by_lines(e, &x, &from, aligned);
    if_end(e, &f);
}

/* Whether the instruction's view begins with what is outermost in memory: its tiles, where it has
 * any, are column-major. */
bool mat_tensor_order(Emit *e, const SpvInst *i)
{
    SpvId ids[3] = {0};
    read_addressing(i, ids);
    const SpvType *t = ids[0] ? spv_type_of(e->module, ids[0]) : NULL;
    const SpvInst *def = t && t->kind == SPV_TENSOR_VIEW ? spv_def(e->module, t->id) : NULL;
    uint32_t d = def ? dims_of(e, t) : 0;
    uint64_t sizes = 0;
    return d > 1 && spv_constant(e->module, spv_operand(def, 1), &sizes) && !sizes
        && !constant_of(e, spv_operand(def, 1 + d));
}
