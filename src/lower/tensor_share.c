/* SPDX-License-Identifier: MIT
 *
 * tensor_share: loads by decode functions for which invocations help each other. A function is
 * called for an element, but what a block says of all of its elements, and bytes that hold several
 * of them, are read once if one invocation calls it for neighbours. And subgroups of a workgroup's
 * matrix would each decode what they have in common. So each invocation decodes runs of a block
 * into workgroup memory, from where matrices are loaded by KHR's instruction.
 */
#include "lower/tensor.h"

enum { LEAST_RUN = 8, MOST_RUN = 32 };

/* What a scope's invocations decode: lines of runs, side by side in a block. */
typedef struct Share {
    Lower *l;
    const LowerTensorAccess *a;
    uint32_t scope;
    bool by_column; /* lines are the matrix' columns */
    uint32_t lines, runs, run;
    uint64_t block;
    uint32_t stride; /* elements of workgroup memory from one line to the next */
    SpvId outside;
} Share;

/* Lines begin in other banks than their neighbours, and where matrices may. */
static uint32_t stride_of(uint32_t length, uint32_t element)
{
    enum { BANKS = 128, APART = 32 };
    return length * element % BANKS ? length : length + APART / element;
}

/* Of a line of so many elements; a block has a multiple of them. */
static bool find_run(Share *s, uint32_t length)
{
    const LowerTensorAccess *a = s->a;
    SpvId size = a->x[TENSOR_BLOCK * a->of_layout.dims + a->of_layout.dims - 1];
    if (!spv_constant(s->l->m, size, &s->block))
        return false;
    for (s->run = MOST_RUN; s->block % s->run || length % s->run;)
        s->run /= 2;
    s->runs = length / s->run;
    return s->run >= LEAST_RUN;
}

static bool open_share(Share *s)
{
    Lower *l = s->l;
    const LowerTensorAccess *a = s->a;
    const SpvType *t = a->matrix;
    LowerPart whole = lower_part(l, t);
    uint32_t along[2], last = a->of_layout.dims - 1, size = (uint32_t)t->element->size;
    if (!a->decode || a->of_layout.clamp > SpvTensorClampModeConstant ||
        lower_fate(l, t).kind == FATE_ARRAY || !lower_tensor_dimensions(l, a, whole, along) ||
        (along[0] != last && along[1] != last))
        return false;
    s->scope = whole.row_parts * whole.column_parts > 1 ? SpvScopeWorkgroup : t->scope;
    s->by_column = along[0] == last;
    s->lines = s->by_column ? whole.columns : whole.rows;
    uint32_t length = s->by_column ? whole.rows : whole.columns;
    if (!find_run(s, length))
        return false;
    s->stride = stride_of(length, size);
    return staging_has_room(l, t->element->id, s->scope, s->lines * s->stride);
}

static LowerTensorPlace place_at(const Share *s, SpvInst *at, SpvId line, SpvId k)
{
    return lower_tensor_place(s->l, at, s->a, s->by_column ? k : line, s->by_column ? line : k);
}

/* Where element k of a line is in workgroup memory. */
static SpvId index_of(const Share *s, SpvInst *at, SpvId line, SpvId k)
{
    Lower *l = s->l;
    return build_add(l, at, build_mul(l, at, line, build_const(l, s->stride)), k);
}

/* A run that is a part of one block, which `p` is the first element of. All are read before the
 * first is written, for stores might change what is read. */
static void decode_part(const Share *s, SpvInst *at, SpvId line, SpvId first,
                        const LowerTensorPlace *p)
{
    Lower *l = s->l;
    uint32_t last = s->a->of_layout.dims - 1;
    SpvId value[MOST_RUN], begins = s->run == s->block ? build_const(l, 0) : p->in_block[last];
    LowerTensorPlace one = *p;
    for (uint32_t j = 0; j < s->run; j++) {
        one.in_block[last] = build_add(l, at, begins, build_const(l, j));
        value[j] = lower_tensor_decode(l, at, s->a, &one);
    }
    SpvId index = index_of(s, at, line, first);
    for (uint32_t j = 0; j < s->run; j++)
        staging_store(l, at, s->scope, build_add(l, at, index, build_const(l, j)), value[j]);
}

static void decode_at_edge(const Share *s, SpvInst *at, SpvId line, SpvId first)
{
    Lower *l = s->l;
    LowerEach each = each_open(l, at, s->run);
    while (each_next(&each)) {
        SpvId k = build_add(l, each.at, first, each.index);
        LowerTensorPlace p = place_at(s, each.at, line, k);
        SpvId value = lower_tensor_value(l, each.at, s->a, &p, s->outside);
        staging_store(l, each.at, s->scope, index_of(s, each.at, line, k), value);
    }
}

/* Runs begin where a multiple of their size does in a block, as slices mostly see to, and are
 * inside where their ends are. */
static void decode_run(const Share *s, SpvInst *at, SpvId number)
{
    Lower *l = s->l;
    SpvInst *inside, *edge;
    uint32_t last = s->a->of_layout.dims - 1;
    SpvId line = build_div(l, at, number, s->runs),
          first = build_mul(l, at, build_mod(l, at, number, s->runs), build_const(l, s->run)),
          behind = build_add(l, at, first, build_const(l, s->run - 1));
    LowerTensorPlace begins = place_at(s, at, line, first), ends = place_at(s, at, line, behind);
    SpvId rest = build_mod(l, at, begins.in_block[last], s->run),
          whole = BUILD(l, at, SpvOpIEqual, build_bool(l), rest, build_const(l, 0));
    if (begins.inside)
        whole = BUILD(l, at, SpvOpLogicalAnd, build_bool(l), whole,
                      BUILD(l, at, SpvOpLogicalAnd, build_bool(l), begins.inside, ends.inside));
    build_either(l, at, whole, &inside, &edge);
    decode_part(s, inside, line, first, &begins);
    decode_at_edge(s, edge, line, first);
}

static void decode_all(const Share *s)
{
    Lower *l = s->l;
    SpvInst *i = s->a->inst;
    uint32_t runs = s->lines * s->runs, lanes = place_lanes(l, s->scope);
    SpvId lane = place_lane(l, i, s->scope);
    LowerEach each = each_open(l, i, (runs + lanes - 1) / lanes);
    while (each_next(&each)) {
        SpvInst *at = each.at;
        SpvId number = build_mul(l, at, each.index, build_const(l, lanes));
        number = build_add(l, at, number, lane);
        if (runs % lanes)
            at = build_if(l, at, build_less(l, at, number, build_const(l, runs)));
        decode_run(s, at, number);
    }
}

SpvId lower_tensor_share(Lower *l, LowerTensorAccess *a, SpvId outside)
{
    SpvInst *i = a->inst;
    const SpvType *t = a->matrix;
    Share s = { .l = l, .a = a, .outside = outside };
    if (!open_share(&s))
        return 0;
    staging_of(l, t->element->id, s.scope, s.lines * s.stride);
    decode_all(&s);
    place_barrier(l, i, s.scope);
    SpvId line = s.by_column ? part_column(l, i, t) : part_row(l, i, t),
          k = s.by_column ? part_row(l, i, t) : part_column(l, i, t);
    LowerLines where = { s.scope, index_of(&s, i, line, k), s.by_column, s.stride, 0 };
    SpvId matrix = staging_get_lines(l, i, t, &where);
    place_barrier(l, i, s.scope);
    lower_note(l, i, "calls for runs of blocks");
    return matrix;
}
