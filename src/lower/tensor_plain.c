/* SPDX-License-Identifier: MIT
 *
 * tensor_plain: loads and stores by tensor layouts that are plain ones of matrices where the slice
 * lies inside of the tensor. That is so where one dimension is the matrix' rows and another its
 * columns, whatever the view calls them, elements of one of them lie side by side, and the others
 * are of one element. What is not known before is asked at run time: whether clamping would do
 * anything, and the alignment that matrices need (Vulkan,
 * VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986).
 */
#include "lower/tensor.h"

enum { NONE = TENSOR_MAX_DIMENSIONS, ALIGNMENT = 16 };

static SpvId layout_word(const LowerTensorAccess *a, uint32_t what, uint32_t dim)
{
    return a->x[what * a->of_layout.dims + dim];
}

static bool is_number(Lower *l, SpvId id, uint64_t value)
{
    uint64_t x;
    return spv_constant(l->m, id, &x) && (x & UINT32_MAX) == value;
}

/* A view may change the order of dimensions, and nothing else. */
static bool is_view_plain(Lower *l, const LowerTensorAccess *a)
{
    const SpvId *clip = a->v + VIEW_CLIP * a->of_view.dims;
    return !a->view || (!a->of_view.has_sizes && a->of_view.dims == a->of_layout.dims &&
                        is_number(l, clip[CLIP_ROW], 0) && is_number(l, clip[CLIP_COLUMN], 0) &&
                        is_number(l, clip[CLIP_ROWS], UINT32_MAX) &&
                        is_number(l, clip[CLIP_COLUMNS], UINT32_MAX));
}

bool lower_tensor_dimensions(Lower *l, const LowerTensorAccess *a, LowerPart whole,
                             uint32_t along[2])
{
    const uint32_t sizes[2] = { whole.columns, whole.rows };
    uint32_t n = 0;
    if (!is_view_plain(l, a))
        return false;
    for (uint32_t k = a->of_layout.dims; k-- > 0;) {
        uint32_t dim = a->view ? a->of_view.order[k] : k;
        SpvId span = layout_word(a, TENSOR_SPAN, dim);
        if (is_number(l, span, 1))
            continue;
        if (n == 2 || !is_number(l, span, sizes[n]))
            return false;
        along[1 - n++] = dim;
    }
    return n == 2;
}

/* What the array that the pointer leads into begins with, in bytes; false: that is not known. */
static bool array_begins(Lower *l, const LowerAddress *a, uint32_t *bytes)
{
    const SpvInst *root = spv_def(l->m, spv_operand(a->chain, 0));
    const SpvType *t = spv_type_of(l->m, spv_operand(a->chain, 0))->element;
    uint32_t first = 1;
    uint64_t member;
    if (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY) { /* of descriptors */
        t = t->element;
        first++;
    }
    if (root->op != SpvOpVariable || a->index != first + 1 || t->kind != SPV_STRUCT ||
        !spv_constant(l->m, spv_operand(a->chain, first), &member) || member >= t->count)
        return false;
    *bytes = t->offsets[member];
    return true;
}

static SpvId all_of(Lower *l, SpvInst *at, SpvId a, SpvId b)
{
    return !a ? b : !b ? a : BUILD(l, at, SpvOpLogicalAnd, build_bool(l), a, b);
}

/* x <= size - length, and nothing below it wraps; coordinates are signed. */
static SpvId fits(Lower *l, SpvInst *at, SpvId x, SpvId size, uint32_t length)
{
    SpvId most = build_min(l, at, size, 1u << 31);
    SpvId inside = build_less(l, at, x, most);
    SpvId left = build_sub(l, at, most, x);
    SpvId enough = length == 1 ? 0
                               : BUILD(l, at, SpvOpUGreaterThanEqual, build_bool(l), left,
                                       build_const(l, length));
    return all_of(l, at, inside, enough);
}

/* Where the part begins, and whether all of it is inside. */
static void find_start(Lower *l, SpvInst *at, const LowerTensorAccess *a, const uint32_t along[2],
                       LowerPlain *out)
{
    const SpvType *t = a->matrix;
    SpvId number = build_const(l, 0);
    for (uint32_t k = 0; k < a->of_layout.dims; k++) {
        SpvId x = layout_word(a, TENSOR_OFFSET, k);
        uint32_t length = k == along[0] ? t->rows : k == along[1] ? t->cols : 1;
        if (k == along[0])
            x = build_add(l, at, x, part_row(l, at, t));
        if (k == along[1])
            x = build_add(l, at, x, part_column(l, at, t));
        if (a->of_layout.clamp != SpvTensorClampModeUndefined)
            out->inside =
                all_of(l, at, out->inside, fits(l, at, x, layout_word(a, TENSOR_SIZE, k), length));
        number = build_add(l, at, number, build_mul(l, at, x, layout_word(a, TENSOR_STRIDE, k)));
    }
    out->pointer = address_pointer(l, at, &a->address, number);
    out->number = number;
}

static void require_alignment(Lower *l, SpvInst *at, const LowerTensorAccess *a, LowerPlain *out)
{
    uint32_t size = (uint32_t)a->matrix->element->size;
    uint32_t line = (out->by_column ? a->matrix->rows : a->matrix->cols) * size;
    uint32_t multiple = MIN(line & -line, ALIGNMENT) / size;
    if (multiple <= 1)
        return;
    SpvId u32 = build_u32(l), low = build_const(l, multiple - 1), zero = build_const(l, 0);
    SpvId last = build_add(l, at, out->number, build_to_u32(l, at, address_first(&a->address)));
    const SpvId what[2] = { last, out->stride };
    for (uint32_t k = 0; k < 2; k++) {
        SpvId rest = BUILD(l, at, SpvOpBitwiseAnd, u32, what[k], low);
        out->inside =
            all_of(l, at, out->inside, BUILD(l, at, SpvOpIEqual, build_bool(l), rest, zero));
    }
}

bool lower_tensor_plain(Lower *l, LowerTensorAccess *a, LowerPlain *out)
{
    SpvInst *at = a->inst;
    uint32_t along[2], begins;
    *out = (LowerPlain){ 0 };
    for (uint32_t k = 0; k < a->of_layout.dims; k++)
        if (!is_number(l, layout_word(a, TENSOR_BLOCK, k), 1))
            return false;
    if (a->decode || lower_fate(l, a->matrix).kind == FATE_ARRAY || a->address.wraps ||
        a->address.pointee != a->matrix->element ||
        !lower_tensor_dimensions(l, a, lower_part(l, a->matrix), along) ||
        !array_begins(l, &a->address, &begins) || begins % ALIGNMENT)
        return false;
    const SpvId strides[2] = { layout_word(a, TENSOR_STRIDE, along[0]),
                               layout_word(a, TENSOR_STRIDE, along[1]) };
    out->by_column = !is_number(l, strides[1], 1);
    out->stride = strides[out->by_column];
    if (out->by_column && !is_number(l, strides[0], 1))
        return false;
    find_start(l, at, a, along, out);
    if (!(l->profile->features & PROFILE_HAS_UNALIGNED))
        require_alignment(l, at, a, out);
    return true;
}

/* Memory operands, with the alignment that elements have where no more is known. */
static uint32_t take_memory(Lower *l, const LowerTensorAccess *a, uint32_t *to)
{
    const uint32_t *from = a->address.memory;
    uint32_t n = a->address.n_memory, mask = n ? from[0] : 0,
             size = (uint32_t)a->matrix->element->size;
    bool unaligned =
        l->profile->features & PROFILE_HAS_UNALIGNED && !(mask & SpvMemoryAccessAlignedMask);
    if (!unaligned) {
        memcpy(to, from, n * sizeof *to);
        return n;
    }
    to[0] = mask | SpvMemoryAccessAlignedMask;
    to[1] = size;
    for (uint32_t k = 1; k < n; k++)
        to[k + 1] = from[k];
    return MAX(n, 1) + 1;
}

/* The matrix, loaded or stored so. */
SpvId lower_tensor_plain_access(Lower *l, SpvInst *at, const LowerTensorAccess *a,
                                const LowerPlain *p)
{
    uint32_t x[12] = { p->pointer }, n = 1;
    if (a->store)
        x[n++] = a->object;
    x[n++] = build_const(l, p->by_column);
    x[n++] = p->stride;
    n += take_memory(l, a, x + n);
    return build(l, at, a->store ? SpvOpCooperativeMatrixStoreKHR : SpvOpCooperativeMatrixLoadKHR,
                 a->store ? 0 : a->matrix->id, x, n);
}
