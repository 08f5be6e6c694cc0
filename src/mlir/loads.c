/* SPDX-License-Identifier: MIT
 *
 * Overlapping loads of matrices become disjoint ones and rotations (the RFC's motivation).
 *
 * Loads of one memref in one block, of one type and leading dimension, between which nothing may
 * write, are compared by their addresses as linear forms of what their indices are made of. Those
 * that differ by whole rows only are sorted; a run of them in which each overlaps its predecessor
 * is covered by tiles, each as many rows after the one before as a matrix has:
 *
 *     loads at rows     0  1  2  3         of 4 x 4 matrices
 *     tiles at rows     0           4      2 loads; the others are rotate(tile 0, tile 4, 4 n)
 *
 * The last tile may reach beyond what was loaded before. If it cannot be proved to be inside the
 * memref, the last load itself is used, with its rows moved to their place in the tile; the rows
 * that wrap around are not used.
 */
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdlib.h>

#include "mlir/mlir.h"

#define LOAD "gpu.subgroup_mma_load_matrix"

enum { MAX_RANK = 8, MAX_TERMS = 16, MAX_DEPTH = 16 };

/* constant + the sum of coefficient * value */
typedef struct Linear {
    int64_t constant;
    uint32_t n;
    MlirValue values[MAX_TERMS];
    int64_t coefficients[MAX_TERMS];
    bool failed;
} Linear;

typedef struct Load {
    MlirOperation op;
    Linear address; /* in elements, from the memref's start */
    int64_t row;    /* from the group's first load */
    uint32_t order; /* in the block */
} Load;

typedef VEC(Load) Loads;

typedef struct LoadGroup {
    HmJob *job;
    MlirValue memref;
    MlirType type; /* of the matrices */
    HmMatrix shape;
    int64_t lead; /* leading dimension */
    int64_t rank, strides[MAX_RANK], offset;
    int64_t size; /* elements of the memref; 0 = not known */
    Loads loads;
} LoadGroup;

/* ---- linear forms ---------------------------------------------------------------------------- */

/* Wrapping, as the kernel's own do. */
static int64_t sum(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t product(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static void add_term(Linear *f, MlirValue v, int64_t coefficient)
{
    uint32_t i = 0;
    while (i < f->n && !mlirValueEqual(f->values[i], v))
        i++;
    if (i == MAX_TERMS) {
        f->failed = true;
        return;
    }
    f->values[i] = v;
    f->coefficients[i] = sum(f->coefficients[i], coefficient);
    f->n = MAX(f->n, i + 1);
}

/* Adds `scale` times `v`. */
static void add_value(Linear *f, MlirValue v, int64_t scale, int depth)
{
    int64_t c;
    MlirOperation op = definition(v);
    bool adds = op.ptr && (is_op(op, "arith.addi") || is_op(op, "arith.subi"));
    bool known = op.ptr && (adds || is_op(op, "arith.muli")) && depth < MAX_DEPTH;
    MlirValue a = known ? mlirOperationGetOperand(op, 0) : v;
    MlirValue b = known ? mlirOperationGetOperand(op, 1) : v;
    if (constant_int(v, &c)) {
        f->constant = sum(f->constant, product(scale, c));
    } else if (known && adds) {
        add_value(f, a, scale, depth + 1);
        add_value(f, b, product(scale, is_op(op, "arith.addi") ? 1 : -1), depth + 1);
    } else if (known && constant_int(b, &c)) {
        add_value(f, a, product(scale, c), depth + 1);
    } else if (known && constant_int(a, &c)) {
        add_value(f, b, product(scale, c), depth + 1);
    } else {
        add_term(f, v, scale);
    }
}

/* a - b where that is a constant. */
static bool constant_difference(const Linear *a, const Linear *b, int64_t *out)
{
    Linear d = *a;
    for (uint32_t i = 0; i < b->n; i++)
        add_term(&d, b->values[i], product(b->coefficients[i], -1));
    for (uint32_t i = 0; i < d.n; i++)
        d.failed |= d.coefficients[i] != 0;
    *out = sum(a->constant, product(b->constant, -1));
    return !d.failed && !a->failed && !b->failed;
}

/* The largest value of a loop's counter, where its bounds are constants. */
static bool largest_counter(MlirValue v, int64_t *out)
{
    int64_t low, high, step;
    if (!mlirValueIsABlockArgument(v) || mlirBlockArgumentGetArgNumber(v) != 0)
        return false;
    MlirOperation loop = mlirBlockGetParentOperation(mlirBlockArgumentGetOwner(v));
    if (!is_op(loop, "scf.for") || !constant_int(mlirOperationGetOperand(loop, 0), &low) ||
        !constant_int(mlirOperationGetOperand(loop, 1), &high) ||
        !constant_int(mlirOperationGetOperand(loop, 2), &step) || low < 0 || high <= low ||
        step < 1)
        return false;
    *out = low + (high - low - 1) / step * step;
    return true;
}

static bool largest(const Linear *f, int64_t *out)
{
    *out = f->constant;
    for (uint32_t i = 0; i < f->n; i++) {
        int64_t top = 0;
        if (f->coefficients[i] && (f->coefficients[i] < 0 || !largest_counter(f->values[i], &top)))
            return false;
        *out = sum(*out, product(f->coefficients[i], top));
    }
    return !f->failed;
}

/* ---- which loads belong together ------------------------------------------------------------- */

/* Whether nothing in `op` writes memory or waits for others who do. */
static bool only_reads(HmJob *j, MlirOperation op)
{
    static const char *const known[] = { "arith.",
                                         "math.",
                                         "index.",
                                         "affine.apply",
                                         "affine.for",
                                         "affine.yield",
                                         "affine.load",
                                         "memref.load",
                                         "memref.subview",
                                         "memref.cast",
                                         "memref.dim",
                                         "memref.reinterpret_cast",
                                         "vector.load",
                                         "vector.transfer_read",
                                         "vector.extract",
                                         "vector.insert",
                                         "vector.broadcast",
                                         "vector.fma",
                                         "vector.splat",
                                         "vector.shape_cast",
                                         "vector.bitcast",
                                         "vector.reduction",
                                         "vector.shuffle",
                                         "scf.for",
                                         "scf.if",
                                         "scf.yield",
                                         "ub.poison",
                                         LOAD,
                                         "gpu.subgroup_mma_compute",
                                         "gpu.subgroup_mma_constant",
                                         "gpu.subgroup_mma_elementwise",
                                         "gpu.subgroup_mma_extract",
                                         "gpu.subgroup_mma_insert",
                                         "gpu.block_",
                                         "gpu.thread_id",
                                         "gpu.global_id",
                                         "gpu.grid_dim",
                                         "gpu.lane_id",
                                         "gpu.subgroup_id",
                                         "gpu.subgroup_size",
                                         "gpu.num_subgroups",
                                         "gpu.rotate",
                                         "gpu.shuffle",
                                         "spirv.GroupNonUniformRotateKHR",
                                         "spirv.Constant",
                                         ROTATE };
    HmOpList ops = ops_named(j, op, NULL);
    for (uint32_t i = 0; i < ops.len; i++) {
        const char *name = op_name(j, ops.data[i]);
        size_t k = 0;
        while (k < COUNT_OF(known) && strncmp(name, known[k], strlen(known[k])))
            k++;
        if (k == COUNT_OF(known))
            return false;
    }
    return true;
}

/* Rows of the matrices are rows of the memref: SPIR-V would take other elements apart. */
static bool same_element(HmJob *j, MlirType memref, const HmMatrix *m)
{
    bool sign = m->element[0] == 's' || m->element[0] == 'u';
    return !strcmp(type_text(j, mlirShapedTypeGetElementType(memref)), m->element + sign);
}

static int64_t lead_of(MlirOperation load)
{
    return mlirIntegerAttrGetValueInt(attr_of(load, "leadDimension"));
}

/* Describes what `first` loads and how; false if rotations cannot replace it. */
static bool describe_group(LoadGroup *g, MlirOperation first)
{
    g->memref = mlirOperationGetOperand(first, 0);
    g->type = mlirValueGetType(mlirOperationGetResult(first, 0));
    g->lead = lead_of(first);
    MlirType m = mlirValueGetType(g->memref);
    if (!mlirAttributeIsNull(attr_of(first, "transpose")) || g->lead <= 0 ||
        !matrix_of(g->job, g->type, &g->shape) || !mlirTypeIsAMemRef(m) ||
        !same_element(g->job, m, &g->shape))
        return false;
    g->rank = mlirShapedTypeGetRank(m);
    uint32_t width = subgroup_around(g->job, first);
    if (g->rank > MAX_RANK || !is_pow2(width) || g->shape.rows * g->shape.columns % width ||
        mlirLogicalResultIsFailure(mlirMemRefTypeGetStridesAndOffset(m, g->strides, &g->offset)))
        return false;
    g->size = mlirShapedTypeHasStaticShape(m);
    for (int64_t k = 0; k < g->rank; k++) {
        if (mlirShapedTypeIsDynamicStrideOrOffset(g->strides[k]))
            return false;
        if (g->size)
            g->size += (mlirShapedTypeGetDimSize(m, k) - 1) * g->strides[k];
    }
    return true;
}

static void add_load(LoadGroup *g, MlirOperation op, uint32_t order)
{
    bool same = is_op(op, LOAD) && mlirValueEqual(mlirOperationGetOperand(op, 0), g->memref) &&
                mlirTypeEqual(mlirValueGetType(mlirOperationGetResult(op, 0)), g->type) &&
                lead_of(op) == g->lead && mlirAttributeIsNull(attr_of(op, "transpose"));
    if (!same)
        return;
    Load l = { .op = op, .order = order };
    for (int64_t k = 0; k < g->rank; k++)
        add_value(&l.address, mlirOperationGetOperand(op, k + 1), g->strides[k], 0);
    int64_t d = 0;
    if (g->loads.len &&
        (!constant_difference(&l.address, &g->loads.data[0].address, &d) || d % g->lead))
        return;
    l.row = d / g->lead;
    vec_push(g->job->arena, &g->loads, l);
}

static int by_row(const void *a, const void *b)
{
    const Load *x = a, *y = b;
    return x->row != y->row ? (x->row < y->row ? -1 : 1) : x->order < y->order ? -1 : 1;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

typedef struct LoadRun {
    LoadGroup *group;
    Load *loads; /* by row */
    uint32_t n;
    Load *first;       /* in the block: all is built before it */
    int64_t dimension; /* of the memref, whose index counts rows */
} LoadRun;

/* Of `m` and what follows it. */
static MlirValue rotate(LoadRun *r, MlirValue m, MlirValue next, int64_t rows, MlirLocation loc)
{
    HmBuild b = { r->group->job, r->first->op, loc };
    const char *value = arena_printf(b.job->arena, "{value = %lld : i32}",
                                     (long long)(rows * r->group->shape.columns));
    MlirValue offset = build_n(&b, "arith.constant", type_parse(b.job, "i32"), value, 0, NULL);
    return build(&b, ROTATE, r->group->type, NULL, m, next, offset);
}

/* A load at `row`, by the first load's indices. */
static MlirValue load_at(LoadRun *r, int64_t row, MlirLocation loc)
{
    LoadGroup *g = r->group;
    HmBuild b = { g->job, r->first->op, loc };
    MlirValue operands[MAX_RANK + 1];
    for (int64_t k = 0; k <= g->rank; k++)
        operands[k] = mlirOperationGetOperand(r->first->op, k);
    int64_t by = (row - r->first->row) * g->lead / g->strides[r->dimension];
    if (by) {
        MlirType index = type_parse(g->job, "index");
        const char *value = arena_printf(g->job->arena, "{value = %lld : index}", (long long)by);
        MlirValue c = build_n(&b, "arith.constant", index, value, 0, NULL);
        MlirValue *operand = &operands[r->dimension + 1];
        *operand = build(&b, "arith.addi", index, NULL, *operand, c);
    }
    const char *lead =
        arena_printf(g->job->arena, "{leadDimension = %lld : index}", (long long)g->lead);
    return build_n(&b, LOAD, g->type, lead, (uint32_t)g->rank + 1, operands);
}

static bool in_bounds(const LoadRun *r, int64_t row)
{
    const LoadGroup *g = r->group;
    int64_t start;
    if (!g->size || !largest(&r->first->address, &start))
        return false;
    start += (row - r->first->row) * g->lead;
    return start + (g->shape.rows - 1) * g->lead + g->shape.columns <= g->size;
}

static MlirLocation location(const Load *l) { return mlirOperationGetLocation(l->op); }

static void rewrite_run(LoadRun *r)
{
    HmJob *j = r->group->job;
    int64_t height = r->group->shape.rows;
    const Load *low = &r->loads[0], *top = &r->loads[r->n - 1];
    uint32_t steps = (uint32_t)((top->row - low->row + height - 1) / height);
    int64_t end = low->row + steps * height; /* of the last tile */
    MlirValue *tiles = NEW_ARRAY(j->arena, MlirValue, steps + 1), last = { NULL };
    for (uint32_t i = 0; i < steps; i++)
        tiles[i] = load_at(r, low->row + i * height, location(low));
    if (end == top->row || in_bounds(r, end)) {
        tiles[steps] = load_at(r, end, location(top));
    } else {
        last = load_at(r, top->row, location(top));
        tiles[steps] = rotate(r, last, last, end - top->row, location(top));
    }
    MlirOperation *old = NEW_ARRAY(j->arena, MlirOperation, r->n);
    for (uint32_t i = 0; i < r->n; i++) {
        const Load *l = &r->loads[i];
        int64_t rows = (l->row - low->row) % height;
        MlirValue *tile = &tiles[(l->row - low->row) / height];
        MlirValue v = l->row == top->row && last.ptr ? last
                      : rows ? rotate(r, tile[0], tile[1], rows, location(l))
                             : *tile;
        mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(l->op, 0), v);
        old[i] = l->op;
    }
    for (uint32_t i = 0; i < r->n; i++)
        erase(old[i]);
}

static uint32_t distinct_rows(const LoadRun *r)
{
    uint32_t n = 1;
    for (uint32_t i = 1; i < r->n; i++)
        n += r->loads[i].row != r->loads[i - 1].row;
    return n;
}

static bool try_run(LoadRun *r)
{
    LoadGroup *g = r->group;
    int64_t height = g->shape.rows;
    int64_t tiles = (r->loads[r->n - 1].row - r->loads[0].row + height - 1) / height + 1;
    if (tiles >= distinct_rows(r))
        return false;
    r->dimension = -1;
    for (int64_t k = g->rank - 1; k >= 0; k--) {
        if (g->strides[k] > 0 && g->lead % g->strides[k] == 0 &&
            (r->dimension < 0 || g->strides[k] > g->strides[r->dimension]))
            r->dimension = k;
    }
    if (r->dimension < 0)
        return false;
    for (uint32_t i = 0; i < r->n; i++) {
        if (!r->first || r->loads[i].order < r->first->order)
            r->first = &r->loads[i];
    }
    rewrite_run(r);
    return true;
}

/* The loads from `op` on that belong to it; whether any was replaced. */
static bool from_load(HmJob *j, MlirOperation op)
{
    LoadGroup g = { .job = j };
    if (!describe_group(&g, op))
        return false;
    uint32_t order = 0;
    for (MlirOperation o = op; !mlirOperationIsNull(o) && only_reads(j, o);
         o = mlirOperationGetNextInBlock(o))
        add_load(&g, o, order++);
    qsort(g.loads.data, g.loads.len, sizeof *g.loads.data, by_row);
    bool changed = false;
    for (uint32_t i = 0, n; i < g.loads.len; i += n) {
        for (n = 1; i + n < g.loads.len; n++) {
            if ((uint64_t)g.loads.data[i + n].row - (uint64_t)g.loads.data[i + n - 1].row >=
                g.shape.rows)
                break;
        }
        LoadRun r = { .group = &g, .loads = &g.loads.data[i], .n = n };
        changed |= try_run(&r);
    }
    return changed;
}

/* Indices of views and affine maps become sums, and equal values one. */
bool loads_rotate(HmJob *j)
{
    if (!run_passes(j, j->module,
                    "builtin.module(gpu.module(fold-memref-alias-ops,lower-affine,cse))"))
        return false;
    HmOpList ops = ops_named(j, j->module, LOAD);
    for (uint32_t i = 0; i < ops.len; i++) {
        if (from_load(j, ops.data[i])) { /* what was found is gone */
            ops = ops_named(j, j->module, LOAD);
            i = UINT32_MAX;
        }
    }
    return true;
}

uint32_t loads_count(HmJob *j) { return ops_named(j, j->module, LOAD).len; }
