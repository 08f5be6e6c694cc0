/* SPDX-License-Identifier: MIT
 *
 * load_lines: matrices of numbers of 8 and 16 bits come by way of workgroup memory, where the
 * target loads what each of its invocations holds from buffers number by number, and loops asked
 * for wait queues. In: KHR's loads that the target has. Out: where lines consist of whole vectors,
 * invocations load such vectors, put them there, and the matrix is loaded from there. Loads that
 * follow one another wait for one another once.
 *
 * Kernels without a hint keep their loads: whose subgroups share matrices, in caches, and use
 * workgroup memory for other things, becomes slower by it (docs/BENCHMARKS.md).
 */
#include "lower/tensor.h"

enum { MOST_LOADS = 16, MOST_VECTORS = 8, LARGEST_STRIDE = 1 << 24, PADDING = 16 };

typedef struct LineLoad {
    SpvInst *inst;
    const SpvType *matrix;
    LowerAddress address;
    const SpvInst *variable;
    const SpvType *vector;
    uint32_t per_line, count; /* vectors; of a line, of an invocation */
    uint32_t pitch, first;    /* in workgroup memory: from line to line, of the first one */
    SpvId start, stride;      /* in the buffer, bytes */
    SpvId values[MOST_VECTORS];
} LineLoad;

/* Of one block, with nothing between them that uses them or writes memory. */
struct LowerLineGroup {
    Lower *l;
    LineLoad loads[MOST_LOADS];
    uint32_t n;
    SpvInst *made[MOST_LOADS]; /* where the lines are whole vectors */
};

/* ---- which loads ----------------------------------------------------------------------------- */

static bool is_shared(const Lower *l, const SpvInst *variable)
{
    const SpvType *t = spv_type(l->m, variable->type)->element;
    static const uint32_t ordered[] = { SpvDecorationCoherent, SpvDecorationVolatile };
    for (uint32_t k = 0; k < COUNT_OF(ordered); k++) {
        bool is = spv_has_decoration(l->m, variable->id, -1, ordered[k]);
        for (uint32_t member = 0; member < t->count && !is; member++)
            is = spv_has_decoration(l->m, t->id, (int32_t)member, ordered[k]);
        if (is)
            return true;
    }
    return false;
}

/* The buffer that a pointer leads into: a block by itself. */
static const SpvInst *buffer_of(const Lower *l, SpvId pointer)
{
    const SpvInst *chain = spv_def(l->m, pointer);
    if (!chain || (chain->op != SpvOpAccessChain && chain->op != SpvOpInBoundsAccessChain))
        return NULL;
    const SpvInst *v = spv_def(l->m, spv_operand(chain, 0));
    if (!v || v->op != SpvOpVariable || spv_operand(v, 0) != SpvStorageClassStorageBuffer)
        return NULL;
    const SpvType *t = spv_type(l->m, v->type)->element;
    return t && t->kind == SPV_STRUCT && !is_shared(l, v) ? v : NULL;
}

/* The largest vector that lines consist of, and of which each invocation loads as many. */
static bool choose_vector(Lower *l, LineLoad *x, bool by_column)
{
    const SpvType *t = x->matrix;
    uint32_t size = (uint32_t)t->element->size, lanes = place_lanes(l, t->scope);
    uint32_t lines = by_column ? t->cols : t->rows, line = (by_column ? t->rows : t->cols) * size;
    for (uint32_t words = 4; words; words /= 2) {
        uint32_t bytes = 4 * words;
        if (line % bytes || lines * line % (bytes * lanes))
            continue;
        SpvId u32 = build_u32(l);
        x->vector = spv_type(l->m, words == 1 ? u32 : spv_vector_type(l->m, u32, words));
        x->per_line = line / bytes;
        x->count = lines * line / (bytes * lanes);
        /* so that lines that are read at once lie in different banks */
        x->pitch = x->per_line + PADDING / bytes;
        return x->count <= MOST_VECTORS;
    }
    return false;
}

static bool open_load(Lower *l, SpvInst *i, LineLoad *x)
{
    *x = (LineLoad){ .inst = i };
    if (i->op != SpvOpCooperativeMatrixLoadKHR || l->width > l->profile->max_subgroup_size ||
        l->invocations % l->lanes)
        return false;
    uint64_t layout;
    x->matrix = spv_type(l->m, i->type);
    x->variable = buffer_of(l, spv_operand(i, 0));
    bool plain =
        spv_n_operands(i) <= 3 || !(spv_operand(i, 3) & ~(uint32_t)SpvMemoryAccessAlignedMask);
    return x->variable && plain && x->matrix->scope == SpvScopeSubgroup &&
           x->matrix->element->bits < 32 && spv_constant(l->m, spv_operand(i, 1), &layout) &&
           layout <= 1 && address_is_known(l, spv_operand(i, 0)) &&
           choose_vector(l, x, layout == 1) && address_open(l, i, x->matrix, &x->address);
}

/* ---- what becomes of a group ----------------------------------------------------------------- */

/* Lines begin at multiples of a vector, and none ends outside of the buffer: what is outside of it
 * may be asked for, and each number that is not is loaded then. */
static SpvId is_whole(Lower *l, SpvInst *at, const LineLoad *x)
{
    SpvId view = lower_view(l, x->variable->id, x->vector);
    const LowerAddress *a = &x->address;
    uint32_t bytes = (uint32_t)x->vector->size;
    SpvId u32 = build_u32(l), zero = build_const(l, 0);
    SpvId odd = BUILD(l, at, SpvOpBitwiseOr, u32, x->start, x->stride);
    odd = BUILD(l, at, SpvOpBitwiseAnd, u32, odd, build_const(l, bytes - 1));
    SpvId length = BUILD(l, at, SpvOpArrayLength, u32, view, 0);
    length = build_mul(l, at, length, build_const(l, bytes));
    SpvId last = build_mul(l, at, x->stride, build_const(l, a->major - 1));
    SpvId span = build_add(l, at, last, build_const(l, x->per_line * bytes));
    SpvId yes = BUILD(l, at, SpvOpIEqual, build_bool(l), odd, zero);
    yes = build_both(l, at, SpvOpLogicalAnd, yes,
                     build_less(l, at, x->stride, build_const(l, LARGEST_STRIDE)));
    yes = build_both(l, at, SpvOpLogicalAnd, yes, build_less(l, at, x->start, length));
    SpvId left = build_sub(l, at, length, x->start);
    return build_both(l, at, SpvOpLogicalAnd, yes,
                      BUILD(l, at, SpvOpULessThanEqual, build_bool(l), span, left));
}

/* Vector `k` of the invocation: its line, and which one of that. */
static void place_vector(Lower *l, SpvInst *at, const LineLoad *x, uint32_t k, SpvId place[2])
{
    uint32_t lanes = place_lanes(l, SpvScopeSubgroup);
    SpvId number = build_add(l, at, place_lane(l, at, SpvScopeSubgroup), build_const(l, k * lanes));
    place[0] = build_div(l, at, number, x->per_line);
    place[1] = build_mod(l, at, number, x->per_line);
}

static void load_vectors(Lower *l, SpvInst *at, LineLoad *x)
{
    SpvId view = lower_view(l, x->variable->id, x->vector), place[2];
    SpvId type = spv_pointer_type(l->m, SpvStorageClassStorageBuffer, x->vector->id);
    uint32_t bytes = (uint32_t)x->vector->size;
    SpvId first = build_div(l, at, x->start, bytes), stride = build_div(l, at, x->stride, bytes);
    for (uint32_t k = 0; k < x->count; k++) {
        place_vector(l, at, x, k, place);
        SpvId index = build_add(l, at, first, build_mul(l, at, place[0], stride));
        index = build_add(l, at, index, place[1]);
        SpvId p = BUILD(l, at, SpvOpAccessChain, type, view, build_const(l, 0), index);
        x->values[k] = build_load(l, at, x->vector->id, p);
    }
}

static void put_vectors(Lower *l, SpvInst *at, const LineLoad *x)
{
    SpvId place[2];
    for (uint32_t k = 0; k < x->count; k++) {
        place_vector(l, at, x, k, place);
        SpvId index = build_mul(l, at, place[0], build_const(l, x->pitch));
        index = build_add(l, at, build_add(l, at, index, place[1]), build_const(l, x->first));
        staging_store(l, at, SpvScopeSubgroup, index, x->values[k]);
    }
}

static SpvInst *get_matrix(Lower *l, SpvInst *at, const LineLoad *x)
{
    LowerLines lines = { SpvScopeSubgroup, build_const(l, x->first), x->address.by_column, x->pitch,
                         x->vector->id };
    return spv_def(l->m, staging_get_lines(l, at, x->matrix, &lines));
}

/* The matrices in `yes`, by way of workgroup memory. */
static void fill_yes(LowerLineGroup *g, SpvInst *yes)
{
    Lower *l = g->l;
    for (uint32_t k = 0; k < g->n; k++)
        load_vectors(l, yes, &g->loads[k]);
    place_barrier(l, yes, SpvScopeSubgroup);
    for (uint32_t k = 0; k < g->n; k++)
        put_vectors(l, yes, &g->loads[k]);
    place_barrier(l, yes, SpvScopeSubgroup);
    for (uint32_t k = 0; k < g->n; k++)
        g->made[k] = get_matrix(l, yes, &g->loads[k]);
}

static void close_group(LowerLineGroup *g)
{
    Lower *l = g->l;
    if (!g->n)
        return;
    SpvInst *at = g->loads[g->n - 1].inst, *yes, *no;
    SpvId condition = 0;
    for (uint32_t k = 0; k < g->n; k++) {
        SpvId whole = is_whole(l, at, &g->loads[k]);
        condition = build_both(l, at, SpvOpLogicalAnd, condition, whole);
    }
    build_either(l, at, condition, &yes, &no);
    fill_yes(g, yes);
    for (uint32_t k = 0; k < g->n; k++) {
        SpvInst *i = g->loads[k].inst;
        SpvId direct = build(l, no, i->op, i->type, i->words + i->first_operand, spv_n_operands(i));
        uint32_t ways[] = { g->made[k]->id, yes->block->id, direct, no->block->id };
        lower_note(l, i, "workgroup memory, by lines of vectors");
        if (i != at) {
            spv_unlink(i);
            spv_insert_before(at, i);
        }
        edit_become(l->m, i, SpvOpPhi, ways, 4);
    }
    g->n = 0;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool uses_one(const LowerLineGroup *g, const SpvInst *i)
{
    uint16_t at[64];
    for (uint32_t n = spv_id_operands(i, at, COUNT_OF(at)), k = 0; k < n; k++)
        for (uint32_t x = 0; x < g->n; x++)
            if (i->words[at[k]] == g->loads[x].inst->id)
                return true;
    return false;
}

/* What may stand between loads that become one group: later ones may need it. */
static bool may_pass(const SpvInst *i)
{
    return spv_is_pure(i) || i->op == SpvOpLoad || i->op == SpvOpCooperativeMatrixLoadKHR;
}

/* Vectors of workgroup memory that loads of the group with such vectors take. */
static uint32_t taken(const LowerLineGroup *g, const SpvType *vector)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < g->n; k++)
        if (g->loads[k].vector->id == vector->id)
            n += g->loads[k].pitch * g->loads[k].address.major;
    return n;
}

static bool add_load(LowerLineGroup *g, LineLoad *x)
{
    Lower *l = g->l;
    x->first = taken(g, x->vector);
    uint32_t all = x->first + x->pitch * x->address.major;
    if (g->n == MOST_LOADS || !staging_has_room(l, x->vector->id, SpvScopeSubgroup, all))
        return false;
    staging_of(l, x->vector->id, SpvScopeSubgroup, all);
    SpvInst *chain = x->address.chain;
    x->start = lower_view_bytes(l, chain, spv_type(l->m, x->variable->type)->element);
    uint32_t size = (uint32_t)x->address.pointee->size;
    x->stride = build_mul(l, x->inst, x->address.stride, build_const(l, size));
    if (x->start)
        g->loads[g->n++] = *x;
    return true;
}

static void visit(Lower *l, SpvInst *i)
{
    LowerLineGroup *g = l->lines;
    LineLoad x;
    if (!may_pass(i) || uses_one(g, i))
        close_group(g);
    if (!open_load(l, i, &x) || add_load(g, &x))
        return;
    close_group(g);
    add_load(g, &x);
}

void load_lines(Lower *l)
{
    if (!(l->profile->features & PROFILE_HAS_SLOW_LOADS) || !l->hinted)
        return;
    l->lines = NEW(l->scratch, LowerLineGroup);
    l->lines->l = l;
    lower_each(l, visit);
}
