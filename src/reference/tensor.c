/* SPDX-License-Identifier: MIT
 *
 * SPV_NV_tensor_addressing, and the loads and stores that SPV_NV_cooperative_matrix2 and
 * SPV_NV_cooperative_matrix_decode_vector make of it, by the pseudo-code of the former's section
 * "Tensor Layout and View", an element at a time. A layout is a row of words: block sizes,
 * dimensions, strides, offsets and spans, each by dimension, and the clamp value; a view is its
 * dimensions, its strides and four words of clip.
 *
 * Numbers have the pseudo-code's types: an index is a uint32_t and wraps ("uint32_t
 * tensorCoordToLinear(...) { uint32_t index = 0; ... index += blockCoord[dim] * t.stride[dim]; }"),
 * a coordinate an int32_t, which is negative from 2^31 on in whatever dimension; only a byte offset
 * ("this index is then multiplied by the size of the component type") has 64 bits.
 *
 * The pseudo-code's lines for mirrored repetition say `dim` where they mean the layout's dimension
 * (`dim` counts dimensions there); in one of a single element, where the period 2 * 1 - 2 would be
 * zero and the remainder is undefined, every coordinate is mirrored to 0, and reported. Decode
 * functions are called for the element of the invocation that owns it. If there are two, the vector
 * function is called where the CPU device calls it, but never under ownership maps other than
 * heddle's own, so that two functions that disagree show up as results that are not portable.
 */
#include "reference/machine.h"

#include <stdlib.h>

enum { BLOCK_SIZE, DIMENSION, STRIDE, OFFSET, SPAN, CLAMP_VALUE };
enum { VIEW_DIMENSION, VIEW_STRIDE, VIEW_CLIP };
enum { CLIP_ROW, CLIP_ROWS, CLIP_COL, CLIP_COLS };
enum { MAX_DIMS = 5, MAX_VECTOR = 8, POINTER_ALIGN = 16 };

/* ---- layouts and views ----------------------------------------------------------------------- */

static void copy_state(RInv *v, const RInst *i)
{
    memcpy(leaf(v, i->dst), leaf(v, i->ops[0]), i->n * sizeof(uint64_t));
    memcpy(unset(v, i->dst), unset(v, i->ops[0]), i->n);
}

static void set_field(RInv *v, const RInst *i, uint32_t field, uint32_t dim, uint32_t operand)
{
    uint32_t at = field * i->type->dims + dim;
    leaf(v, i->dst)[at] = *leaf(v, i->ops[operand]);
    unset(v, i->dst)[at] = *unset(v, i->ops[operand]);
}

static RStep step_create(RMachine *m, RInv *v, const RInst *i)
{
    uint64_t *x = leaf(v, i->dst);
    const RType *t = i->type;
    (void)m;
    memset(x, 0, i->n * sizeof(*x));
    memset(unset(v, i->dst), 0, i->n);
    for (uint32_t k = 0; k < t->dims && t->kind == SPV_TENSOR_LAYOUT; k++)
        x[BLOCK_SIZE * t->dims + k] = 1;
    if (t->kind == SPV_TENSOR_VIEW)
        x[VIEW_CLIP * t->dims + CLIP_ROWS] = x[VIEW_CLIP * t->dims + CLIP_COLS] = UINT32_MAX;
    return STEP_NEXT;
}

static bool prepare_create(RMachine *m, RInst *i)
{
    bool layout = i->op == SpvOpCreateTensorLayoutNV;
    (void)m;
    return i->type->kind == (layout ? SPV_TENSOR_LAYOUT : SPV_TENSOR_VIEW);
}

static uint32_t blocks(uint64_t elements, uint64_t size)
{
    return (uint32_t)(size ? (elements + size - 1) / size : elements);
}

static RStep step_set_dimension(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t dims = i->type->dims;
    uint64_t *x = leaf(v, i->dst), stride = 1;
    uint8_t *u = unset(v, i->dst), undef = 0;
    (void)m;
    copy_state(v, i);
    for (uint32_t k = dims; k-- > 0;) {
        set_field(v, i, DIMENSION, k, k + 1);
        set_field(v, i, SPAN, k, k + 1);
        x[OFFSET * dims + k] = u[OFFSET * dims + k] = 0;
        x[STRIDE * dims + k] = stride;
        u[STRIDE * dims + k] = undef;
        stride = (uint32_t)(stride * blocks(x[DIMENSION * dims + k], x[BLOCK_SIZE * dims + k]));
        undef |= u[DIMENSION * dims + k] | u[BLOCK_SIZE * dims + k];
    }
    return STEP_NEXT;
}

static RStep step_set_stride(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t dims = i->type->dims;
    const uint64_t *x = leaf(v, i->dst);
    copy_state(v, i);
    for (uint32_t k = dims; k-- > 0;) {
        set_field(v, i, STRIDE, k, k + 1);
        if (k + 1 == dims)
            continue;
        uint64_t next = x[STRIDE * dims + k + 1];
        uint64_t least = next * blocks(x[DIMENSION * dims + k + 1], x[BLOCK_SIZE * dims + k + 1]);
        if (x[STRIDE * dims + k] < least)
            found(m, v, i, REF_RANGE,
                  "stride %u is %llu; dimension %u takes %llu, which it must not be less than", k,
                  (unsigned long long)x[STRIDE * dims + k], k + 1, (unsigned long long)least);
    }
    return STEP_NEXT;
}

/* Sets the first n words of a field to the operands behind the object. */
static RStep set_fields(RInv *v, const RInst *i, uint32_t field, uint32_t n)
{
    copy_state(v, i);
    for (uint32_t k = 0; k < n; k++)
        set_field(v, i, field, k, k + 1);
    return STEP_NEXT;
}

static RStep step_set_block_size(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    return set_fields(v, i, BLOCK_SIZE, i->type->dims);
}

static RStep step_slice(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t dims = i->type->dims;
    uint64_t *x = leaf(v, i->dst);
    (void)m;
    copy_state(v, i);
    for (uint32_t k = 0; k < dims; k++) {
        uint32_t at = OFFSET * dims + k;
        x[at] = (x[at] + *leaf(v, i->ops[1 + 2 * k])) & UINT32_MAX;
        unset(v, i->dst)[at] |= *unset(v, i->ops[1 + 2 * k]);
        set_field(v, i, SPAN, k, 2 + 2 * k);
    }
    return STEP_NEXT;
}

static RStep step_set_clamp_value(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    return set_fields(v, i, CLAMP_VALUE, 1);
}

static RStep step_set_view_dimension(RMachine *m, RInv *v, const RInst *i)
{
    uint32_t dims = i->type->dims;
    uint64_t *x = leaf(v, i->dst), stride = 1;
    uint8_t *u = unset(v, i->dst), undef = 0;
    (void)m;
    copy_state(v, i);
    for (uint32_t k = dims; k-- > 0;) {
        set_field(v, i, VIEW_DIMENSION, k, k + 1);
        x[VIEW_STRIDE * dims + k] = stride;
        u[VIEW_STRIDE * dims + k] = undef;
        stride = (uint32_t)(stride * x[VIEW_DIMENSION * dims + k]);
        undef |= u[VIEW_DIMENSION * dims + k];
    }
    return STEP_NEXT;
}

static RStep step_set_view_stride(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    return set_fields(v, i, VIEW_STRIDE, i->type->dims);
}

static RStep step_set_clip(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    return set_fields(v, i, VIEW_CLIP, 4);
}

/* The operands are an object of the result's type and as many words as the opcode takes. */
static bool prepare_set(RMachine *m, RInst *i)
{
    uint32_t dims = i->type->dims;
    uint32_t words = i->op == SpvOpTensorLayoutSetClampValueNV ? 1
                     : i->op == SpvOpTensorViewSetClipNV       ? 4
                     : i->op == SpvOpTensorLayoutSliceNV       ? 2 * dims
                                                               : dims;
    bool view = i->op == SpvOpTensorViewSetDimensionNV || i->op == SpvOpTensorViewSetStrideNV ||
                i->op == SpvOpTensorViewSetClipNV;
    bool fits = prepare_value(m, i) && i->at && i->at->id == i->type->id &&
                i->type->kind == (view ? SPV_TENSOR_VIEW : SPV_TENSOR_LAYOUT) &&
                i->n_ops == words + 1;
    for (uint32_t k = 1; fits && k <= words; k++)
        fits = operand_type(m, i, k)->kind == SPV_INT && operand_type(m, i, k)->bits == 32;
    return fits;
}

/* ---- addresses ------------------------------------------------------------------------------- */

typedef struct TensorTransfer {
    const RType *matrix, *layout, *view, *block, *vector_block; /* what the pointers lead to */
    Ref pointer, object, layout_ref, view_ref, mail;
    RFunc *decode, *decode_vector;
    uint32_t vector; /* components */
    bool store;
} TensorTransfer;

typedef enum Outcome { INSIDE, CLIPPED, CONSTANT, NOWHERE } Outcome;

/* Where one element is. */
typedef struct TensorPlace {
    RMachine *m;
    RInv *v;
    const RInst *i;
    const uint64_t *layout, *view; /* leaves */
    uint32_t block[MAX_DIMS], in_block[MAX_DIMS];
    uint32_t index; /* of the tensor's block */
    uint64_t *keys; /* of what is stored, see check_apart; NULL: not asked for */
    uint32_t n_keys;
} TensorPlace;

static uint32_t field(const TensorTransfer *x, const TensorPlace *p, uint32_t which, uint32_t dim)
{
    return (uint32_t)p->layout[which * x->layout->dims + dim];
}

static uint32_t view_field(const TensorTransfer *x, const TensorPlace *p, uint32_t which,
                           uint32_t at)
{
    return (uint32_t)p->view[which * x->view->dims + at];
}

static Outcome nowhere(const TensorPlace *p, const char *what, uint32_t dim)
{
    found(p->m, p->v, p->i, REF_RANGE, "the %s of dimension %u is 0", what, dim);
    return NOWHERE;
}

static Outcome from_matrix(const TensorTransfer *x, const TensorPlace *p, uint32_t row,
                           uint32_t col, uint32_t *index)
{
    uint32_t width = x->matrix->cols;
    if (x->view) {
        uint32_t clip[4];
        for (uint32_t k = 0; k < 4; k++)
            clip[k] = (uint32_t)p->view[VIEW_CLIP * x->view->dims + k];
        if (row < clip[CLIP_ROW] || row >= clip[CLIP_ROW] + clip[CLIP_ROWS] ||
            col < clip[CLIP_COL] || col >= clip[CLIP_COL] + clip[CLIP_COLS])
            return CLIPPED;
        row -= clip[CLIP_ROW];
        col -= clip[CLIP_COL];
        width = MIN(width, clip[CLIP_COLS]);
    }
    *index = row * width + col;
    return INSIDE;
}

/* Elements of the spans, or of a view's dimensions. */
static uint64_t elements(const uint64_t *x, uint32_t n)
{
    uint64_t product = 1;
    for (uint32_t k = 0; k < n; k++)
        product = x[k] && product > UINT64_MAX / x[k] ? UINT64_MAX : product * x[k];
    return product;
}

static void check_inside(const TensorTransfer *x, const TensorPlace *p, uint32_t rest,
                         uint32_t index)
{
    uint64_t has = elements(p->layout + SPAN * x->layout->dims, x->layout->dims);
    if (rest)
        found(p->m, p->v, p->i, REF_RANGE, "the matrix has more elements than the view, %llu",
              (unsigned long long)elements(p->view, x->view->dims));
    else if (index >= has)
        found(p->m, p->v, p->i, REF_RANGE, "the view leads to element %u of a slice of %llu", index,
              (unsigned long long)has);
}

static Outcome through_view(const TensorTransfer *x, const TensorPlace *p, uint32_t *index)
{
    uint32_t coord[MAX_DIMS], stride = 1, rest = *index, dims = x->view->dims;
    for (uint32_t k = dims; k-- > 0;) {
        uint32_t at = x->view->permutation[k];
        uint32_t size =
            x->view->has_dims ? view_field(x, p, VIEW_DIMENSION, at) : field(x, p, SPAN, at);
        if (!size)
            return nowhere(p, x->view->has_dims ? "view" : "span", at);
        coord[at] = rest % size;
        rest /= size;
    }
    *index = 0;
    for (uint32_t k = dims; k-- > 0;) {
        if (x->view->has_dims)
            stride = view_field(x, p, VIEW_STRIDE, k);
        *index += coord[k] * stride;
        if (!x->view->has_dims)
            stride *= field(x, p, SPAN, k);
    }
    if (x->view->has_dims && checking(p->m, REF_RANGE))
        check_inside(x, p, rest, *index);
    return INSIDE;
}

static int64_t smod(int64_t c, int64_t n) { return (c % n + n) % n; }

/* A coordinate outside the tensor, as the clamp mode says. */
static Outcome clamp_coordinate(const TensorTransfer *x, const TensorPlace *p, uint32_t dim,
                                int64_t *c)
{
    int64_t size = field(x, p, DIMENSION, dim);
    uint32_t mode = x->layout->clamp;
    if (mode == SpvTensorClampModeUndefined) {
        found(p->m, p->v, p->i, REF_OUT_OF_BOUNDS,
              "coordinate %lld is outside dimension %u, which has %lld, and the clamp mode is "
              "Undefined",
              (long long)*c, dim, (long long)size);
        return NOWHERE;
    }
    if (mode == SpvTensorClampModeConstant || x->store)
        return CONSTANT;
    if (!size)
        return nowhere(p, "size", dim);
    if (mode == SpvTensorClampModeClampToEdge) {
        *c = *c < 0 ? 0 : MIN(*c, size - 1);
    } else if (mode == SpvTensorClampModeRepeat) {
        *c = smod(*c, size);
    } else {
        if (size == 1)
            found(p->m, p->v, p->i, REF_RANGE,
                  "coordinate %lld is mirrored in dimension %u, which has 1: a remainder by 0",
                  (long long)*c, dim);
        *c = size > 1 ? smod(*c, 2 * size - 2) : 0;
        *c = *c >= size ? 2 * size - 2 - *c : *c;
    }
    return INSIDE;
}

static Outcome through_layout(const TensorTransfer *x, TensorPlace *p, uint32_t index)
{
    uint32_t span[MAX_DIMS], dims = x->layout->dims;
    for (uint32_t k = dims; k-- > 0;) {
        uint32_t size = field(x, p, SPAN, k);
        if (!size)
            return nowhere(p, "span", k);
        span[k] = index % size;
        index /= size;
    }
    p->index = 0;
    for (uint32_t k = 0; k < dims; k++) {
        int64_t c = (int32_t)(span[k] + field(x, p, OFFSET, k));
        uint32_t size = field(x, p, BLOCK_SIZE, k);
        if (!size)
            return nowhere(p, "block size", k);
        if (c < 0 || c >= field(x, p, DIMENSION, k)) {
            Outcome o = clamp_coordinate(x, p, k, &c);
            if (o != INSIDE)
                return o;
        }
        p->in_block[k] = (uint32_t)c % size;
        p->block[k] = (uint32_t)c / size;
        p->index += p->block[k] * field(x, p, STRIDE, k);
    }
    return INSIDE;
}

static Outcome find_element(const TensorTransfer *x, TensorPlace *p, uint32_t at)
{
    uint32_t index;
    Outcome o = from_matrix(x, p, at / x->matrix->cols, at % x->matrix->cols, &index);
    if (o == INSIDE && x->view)
        o = through_view(x, p, &index);
    return o == INSIDE ? through_layout(x, p, index) : o;
}

/* ---- findings -------------------------------------------------------------------------------- */

/* A view that covers the slice by strides of its own may name elements several times (windows that
 * overlap); without them it must have as many as the slice. */
static void check_view(const TensorTransfer *x, const TensorPlace *p)
{
    uint32_t dims = x->view->dims;
    const uint64_t *size = p->view, *stride = p->view + VIEW_STRIDE * dims;
    uint64_t has = elements(p->layout + SPAN * x->layout->dims, x->layout->dims), natural = 1;
    bool own_strides = false;
    if (!x->view->has_dims) {
        if (dims != x->layout->dims)
            found(p->m, p->v, p->i, REF_RANGE,
                  "a view of %u dimensions without sizes of its own, over a layout of %u", dims,
                  x->layout->dims);
        return;
    }
    for (uint32_t k = dims; k-- > 0; natural *= size[k])
        own_strides |= stride[k] != (uint32_t)natural;
    if (!own_strides && elements(size, dims) != has)
        found(p->m, p->v, p->i, REF_RANGE, "the view has %llu elements, the slice %llu",
              (unsigned long long)elements(size, dims), (unsigned long long)has);
}

static void check_transfer(const TensorTransfer *x, const TensorPlace *p)
{
    uint64_t va = *leaf(p->v, x->pointer);
    if (va % POINTER_ALIGN)
        found(p->m, p->v, p->i, REF_MISALIGNED, "address %#llx is not a multiple of %u",
              (unsigned long long)va, (uint32_t)POINTER_ALIGN);
    for (uint32_t k = 0; k < x->layout->dims; k++)
        if (x->store && field(x, p, BLOCK_SIZE, k) > 1)
            found(p->m, p->v, p->i, REF_RACE,
                  "a store with blocks of %u in dimension %u, whose elements share an address",
                  field(x, p, BLOCK_SIZE, k), k);
    uint32_t last = field(x, p, BLOCK_SIZE, x->layout->dims - 1);
    if (x->vector && last % x->vector)
        found(p->m, p->v, p->i, REF_RANGE,
              "blocks of %u in the last dimension, not a multiple of the %u that the vector decode "
              "function returns",
              last, x->vector);
    if (x->view)
        check_view(x, p);
}

/* ---- loads and stores ------------------------------------------------------------------------ */

/* Whether the view, which permutes dimensions, turns the tensor's innermost dimension into the
 * matrix's columns: it swaps two dimensions, the only ones whose span is more than 1. */
static bool is_turned(const TensorTransfer *x, const TensorPlace *p, uint32_t *outer)
{
    uint32_t dims = x->layout->dims, place[MAX_DIMS] = { 0 };
    *outer = dims > 1 ? dims - 2 : 0;
    while (*outer && field(x, p, SPAN, *outer) == 1)
        --*outer;
    for (uint32_t k = 0; k + 1 < dims; k++)
        if (k != *outer && field(x, p, SPAN, k) != 1)
            return false;
    for (uint32_t k = 0; k < dims; k++)
        place[x->view->permutation[k]] = k;
    return dims > 1 && place[*outer] > place[dims - 1];
}

/* Whether the matrix's rows (or columns, with such a view) run along the tensor's innermost
 * dimension; finds which element of its line, and of how many, element `at` of the matrix is. */
static bool find_line(const TensorTransfer *x, const TensorPlace *p, uint32_t at, uint32_t *minor,
                      uint32_t *length)
{
    uint32_t dims = x->layout->dims, rows = x->matrix->rows, cols = x->matrix->cols, outer;
    bool same = true, clips = false;
    *minor = at % cols;
    *length = cols;
    if (x->view) {
        for (uint32_t k = 0; k < 4; k++)
            clips |= p->view[VIEW_CLIP * x->view->dims + k] != (k % 2 ? UINT32_MAX : 0);
        if (clips || x->view->has_dims || x->view->dims != dims)
            return false;
        for (uint32_t k = 0; k < dims; k++)
            same &= x->view->permutation[k] == k;
    }
    if (same)
        return field(x, p, SPAN, dims - 1) == cols;
    *minor = at / cols;
    *length = rows;
    return is_turned(x, p, &outer) && field(x, p, SPAN, outer) == cols &&
           field(x, p, SPAN, dims - 1) >= rows;
}

/* Whether the vector function produces element `at` of the matrix: lines must consist of whole
 * vectors, and this vector must be inside the tensor. */
static bool in_vector(const TensorTransfer *x, const TensorPlace *p, uint32_t at)
{
    uint32_t last = x->layout->dims - 1, n = x->vector, minor, length;
    if (!x->decode_vector || p->m->d->ownership != REF_OWN_ROW_MAJOR ||
        !find_line(x, p, at, &minor, &length) || length % n || field(x, p, OFFSET, last) % n ||
        field(x, p, BLOCK_SIZE, last) % n)
        return false;
    uint32_t first = field(x, p, OFFSET, last) + minor - minor % n;
    uint32_t size = MIN(field(x, p, DIMENSION, last), (uint32_t)1 << 31);
    return x->layout->clamp == SpvTensorClampModeUndefined || (first < size && size - first >= n);
}

static RPointer tensor_base(const TensorTransfer *x, const TensorPlace *p)
{
    RPointer base = pointer_at(p->v, x->pointer);
    return (RPointer){ base.va, base.prov & (PTR_OBJECT_MASK | PTR_STRAY) };
}

static void decode(const TensorTransfer *x, const TensorPlace *p, uint32_t at, RLeaves to)
{
    static const uint8_t defined[MAX_DIMS];
    uint32_t dims = x->layout->dims, part = 0;
    bool vector = in_vector(x, p, at);
    const RType *block = vector ? x->vector_block : x->block;
    RPointer q = tensor_base(x, p);
    uint64_t pointer[2] = { q.va + (uint64_t)p->index * align_up(block->size, block->align),
                            q.prov };
    uint64_t coord[2][MAX_DIMS];
    for (uint32_t k = 0; k < dims; k++) {
        coord[0][k] = p->block[k];
        coord[1][k] = p->in_block[k];
    }
    if (vector) {
        part = p->in_block[dims - 1] % x->vector;
        coord[1][dims - 1] -= part;
    }
    RCallArg args[] = { { pointer, defined }, { coord[0], defined }, { coord[1], defined } };
    inv_call(p->m, p->v, vector ? x->decode_vector : x->decode, args, x->mail,
             vector ? x->vector : 1);
    *to.x = leaf(p->v, x->mail)[part];
    *to.undef = unset(p->v, x->mail)[part];
}

/* A key for each element that is stored: the tensor's element, then the matrix's. */
enum { AT_BITS = 24 };
_Static_assert((uint64_t)SPV_MATRIX_MOST *SPV_MATRIX_MOST <= 1u << AT_BITS, "AT_BITS");

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Elements that share a place are stored by invocations that race for it. */
static void check_apart(const TensorTransfer *x, const TensorPlace *p)
{
    uint32_t cols = x->matrix->cols, mask = (1u << AT_BITS) - 1;
    if (p->n_keys)
        qsort(p->keys, p->n_keys, sizeof *p->keys, by_key);
    for (uint32_t k = 1; k < p->n_keys; k++) {
        uint32_t a = p->keys[k - 1] & mask, b = p->keys[k] & mask;
        if (p->keys[k - 1] >> AT_BITS != p->keys[k] >> AT_BITS)
            continue;
        found(p->m, p->v, p->i, REF_RACE,
              "elements (%u, %u) and (%u, %u) of the matrix go to one element of the tensor",
              a / cols, a % cols, b / cols, b % cols);
        return;
    }
}

/* Element `at` of the matrix, an invocation's e-th. */
static void transfer_element(const TensorTransfer *x, TensorPlace *p, uint32_t at, uint32_t e)
{
    const RType *t = x->matrix->element;
    RLeaves object = leaves_at(p->v, x->object + e), to = { 0 };
    Outcome o = at == UINT32_MAX ? NOWHERE : find_element(x, p, at);
    if (!x->store) {
        to = leaves_at(p->v, p->i->dst + e);
        *to.x = o == CLIPPED    ? *object.x
                : o == CONSTANT ? p->layout[CLAMP_VALUE * x->layout->dims]
                                : 0;
        *to.x &= mask_bits(t->bits);
        *to.undef = o == CLIPPED ? *object.undef : 0;
    }
    if (o != INSIDE)
        return;
    if (p->keys)
        p->keys[p->n_keys++] = (uint64_t)p->index << AT_BITS | at;
    RPointer q = pointer_plus(tensor_base(x, p), (uint64_t)p->index * t->size);
    p->m->by_matrix = !x->decode;
    if (x->store)
        mem_store_scalar(p->m, p->v, p->i, q, t, object);
    else if (x->decode)
        decode(x, p, at, to);
    else
        mem_load_scalar(p->m, p->v, p->i, q, t, to);
    p->m->by_matrix = false;
}

static void all_transfer(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    const TensorTransfer *x = i->aux;
    matrix_uniform(m, set, n, i, (RSharedOperand){ x->pointer, 2, "pointer" });
    matrix_uniform(m, set, n, i,
                   (RSharedOperand){ x->layout_ref, x->layout->leaves, "tensor layout" });
    for (uint32_t k = 0; k < x->layout->leaves; k++)
        matters(m, set[0], i, x->layout_ref + k, 1, "is part of a tensor layout");
    if (x->view)
        matrix_uniform(m, set, n, i,
                       (RSharedOperand){ x->view_ref, x->view->leaves, "tensor view" });
    TensorPlace p = { .m = m, .i = i };
    if (x->store && checking(m, REF_RACE))
        p.keys = matrix_scratch(m, (size_t)x->matrix->rows * x->matrix->cols * sizeof *p.keys);
    for (uint32_t k = 0; k < n && !m->stop; k++) {
        RInv *v = p.v = set[k];
        p.layout = leaf(v, x->layout_ref);
        p.view = x->view ? leaf(v, x->view_ref) : NULL;
        if (!k)
            check_transfer(x, &p);
        v->steps += x->matrix->count;
        for (uint32_t e = 0; e < x->matrix->count && !m->stop; e++)
            transfer_element(x, &p, matrix_owned(m, v, x->matrix, e), e);
    }
    check_apart(x, &p);
}

/* The function an operand names, called with a pointer to a block and two arrays of coordinates. */
static RFunc *decode_function(RMachine *m, RInst *i, const TensorTransfer *x, SpvId id,
                              const RType **block, uint32_t *components)
{
    const RFunc *f = decode_find(m, id);
    const RType *params[3] = { NULL }, *result = f ? type_get(m, f->src->def->type) : NULL;
    uint32_t n = 0;
    for (SpvInst *p = f ? f->src->head.first : NULL; p; p = p->next)
        if (p->op == SpvOpFunctionParameter && n++ < 3)
            params[n - 1] = type_get(m, p->type);
    bool vector = result && result->kind == SPV_VECTOR && components;
    bool fits = result && n == 3 && params[0] && params[0]->kind == SPV_POINTER && params[1] &&
                params[1]->kind == SPV_ARRAY && params[1]->leaves == x->layout->dims && params[2] &&
                params[2]->id == params[1]->id && vector == (components != NULL) &&
                (vector ? result->element : result)->id == x->matrix->element->id &&
                result->leaves <= MAX_VECTOR;
    *block = fits ? type_get(m, params[0]->pointee) : NULL;
    if (!*block) {
        refuse(m, i->src, "the decode function does not fit the matrix and the tensor layout");
        return NULL;
    }
    if (components)
        *components = result->leaves;
    return inv_callee(m, i, id, result, params, 3);
}

/* The operands that the addressing mask announces, in the order of its bits. */
static bool prepare_addressing(RMachine *m, RInst *i, TensorTransfer *x)
{
    SpvOperand o;
    uint32_t mask = 0, n = 0;
    SpvId ids[3] = { 0 };
    for (SpvWalk w = spv_walk(i->src); spv_walk_next(&w, &o);) {
        if (o.kind == SPV_OPERAND_TensorAddressingOperands)
            mask = i->src->words[o.word];
        else if (mask && n < 3)
            ids[n++] = i->src->words[o.word];
    }
    n = 0;
    if (mask & SpvTensorAddressingOperandsTensorViewMask) {
        x->view_ref = ref_of(m, ids[n]);
        x->view = type_of(m, ids[n++]);
        if (x->view_ref == REF_NONE || !x->view || x->view->kind != SPV_TENSOR_VIEW ||
            (!x->view->has_dims && x->view->dims > x->layout->dims)) {
            refuse(m, i->src, "the tensor view is none, or has more dimensions than the layout");
            return false;
        }
    }
    if (mask & SpvTensorAddressingOperandsDecodeFuncMask)
        x->decode = decode_function(m, i, x, ids[n++], &x->block, NULL);
    if (mask & SpvTensorAddressingOperandsDecodeVectorFuncMask && !m->failed)
        x->decode_vector = decode_function(m, i, x, ids[n], &x->vector_block, &x->vector);
    return !m->failed;
}

static bool prepare_transfer(RMachine *m, RInst *i)
{
    TensorTransfer *x = NEW(m->arena, TensorTransfer);
    RFunc *f = i->block->function;
    if (i->n_ops < 4 || !i->at || i->at->kind != SPV_POINTER)
        return false;
    x->store = i->op == SpvOpCooperativeMatrixStoreTensorNV;
    x->pointer = i->ops[0];
    x->object = ref_of(m, spv_operand(i->src, 1));
    x->layout_ref = ref_of(m, spv_operand(i->src, 2));
    x->matrix = type_of(m, spv_operand(i->src, 1));
    x->layout = type_of(m, spv_operand(i->src, 2));
    if (x->object == REF_NONE || x->layout_ref == REF_NONE || !x->matrix || !x->layout ||
        x->matrix->kind != SPV_COOPMAT || x->layout->kind != SPV_TENSOR_LAYOUT ||
        (!x->store && i->type->id != x->matrix->id)) {
        refuse(m, i->src, "the object is not a cooperative matrix or the layout not a tensor's");
        return false;
    }
    x->mail = f->slots;
    f->slots += MAX_VECTOR;
    i->scope = (uint8_t)x->matrix->scope;
    i->aux = x;
    return prepare_addressing(m, i, x);
}

/* clang-format off */
static const ROpRow rows[] = {
    { SpvOpCreateTensorLayoutNV, step_create, prepare_create, NULL, 0 },
    { SpvOpTensorLayoutSetBlockSizeNV, step_set_block_size, prepare_set, NULL, 0 },
    { SpvOpTensorLayoutSetDimensionNV, step_set_dimension, prepare_set, NULL, 0 },
    { SpvOpTensorLayoutSetStrideNV, step_set_stride, prepare_set, NULL, 0 },
    { SpvOpTensorLayoutSliceNV, step_slice, prepare_set, NULL, 0 },
    { SpvOpTensorLayoutSetClampValueNV, step_set_clamp_value, prepare_set, NULL, 0 },
    { SpvOpCreateTensorViewNV, step_create, prepare_create, NULL, 0 },
    { SpvOpTensorViewSetDimensionNV, step_set_view_dimension, prepare_set, NULL, 0 },
    { SpvOpTensorViewSetStrideNV, step_set_view_stride, prepare_set, NULL, 0 },
    { SpvOpTensorViewSetClipNV, step_set_clip, prepare_set, NULL, 0 },
    { SpvOpCooperativeMatrixLoadTensorNV, NULL, prepare_transfer, all_transfer, OPF_WHOLE },
    { SpvOpCooperativeMatrixStoreTensorNV, NULL, prepare_transfer, all_transfer, OPF_WHOLE },
};
/* clang-format on */
const ROpTable ref_tensor_ops = { rows, COUNT_OF(rows) };
