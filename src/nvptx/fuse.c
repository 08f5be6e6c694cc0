/* SPDX-License-Identifier: MIT
 *
 * Finds a loop that sums up products of matrices, in a kernel that shares no workgroup memory.
 *
 * What is looked for here is only the form: a counting loop of one straight line, but for ways that
 * are taken where some guard does not hold, which nothing but sums leave; operands that are loaded
 * at addresses which the counter moves evenly; a grid of sums, rows by one axis of the workgroups
 * and columns by another, or by rows and columns of a workgroup's subgroups. Whether all subgroups
 * of a block mean the same rows and columns, as often, from aligned addresses that never wrap, and
 * whether the guards hold, staged.c asks at run time.
 */
#include "nvptx/fuse.h"
#include "pass/edit.h"

typedef struct Finder {
    Emit *e;
    SpvModule *m;
    const Cfg *g;
    const CfgLoop *loop;
    SpvBlock *before, *header;
    NvptxFusion *f;
    PassIdWords ids;
    VEC(SpvBlock *) line; /* the blocks of an iteration whose guards hold, in order */
    VEC(SpvId) guards;
    SpvId *taken; /* by id of a phi on that line: what it is then; n_taken of them */
    uint32_t n_taken;
    uint32_t subgroups; /* of a workgroup */
    uint32_t looked_at; /* instructions, by what looks through expressions, which may be large */
    VEC(SpvId) grid[2]; /* by line of A and of B, and in it k: the loads */
} Finder;

/* What a value is where the guards hold. */
static SpvId on_line(const Finder *s, SpvId id)
{
    while (id < s->n_taken && s->taken[id])
        id = s->taken[id];
    return id;
}

static SpvInst *in_loop(const Finder *s, SpvId id)
{
    SpvInst *d = spv_def(s->m, on_line(s, id));
    if (!d || !d->block || d->op == SpvOpLabel)
        return NULL;
    uint32_t at = s->g->position[d->block->index];
    return at != UINT32_MAX && cfg_in_loop(s->loop, s->g, at) ? d : NULL;
}

/* ---- what the kernel may contain ------------------------------------------------------------- */

static const uint32_t constant_memory[] = { SpvStorageClassPushConstant, SpvStorageClassUniform,
                                            SpvStorageClassInput, SpvStorageClassUniformConstant };

static bool reads_constants(const Finder *s, const SpvInst *i)
{
    const SpvInst *root = pointer_root(s->m, spv_operand(i, 0));
    const SpvType *t = root && root->op == SpvOpVariable ? spv_type(s->m, root->type) : NULL;
    for (uint32_t k = 0; t && k < COUNT_OF(constant_memory); k++)
        if (t->storage == constant_memory[k])
            return true;
    return false;
}

static bool is_frame(uint16_t op)
{
    return op == SpvOpLabel || op == SpvOpLine || op == SpvOpNoLine || op == SpvOpPhi ||
           op == SpvOpLoopMerge || op == SpvOpSelectionMerge || op == SpvOpBranch ||
           op == SpvOpBranchConditional || op == SpvOpAccessChain || op == SpvOpInBoundsAccessChain;
}

/* Nothing that others could see, or that asks who else is in the workgroup. */
static bool is_quiet(const Finder *s, const SpvInst *i)
{
    return is_frame(i->op) || (i->op == SpvOpLoad && reads_constants(s, i)) ||
           edit_cannot_fail(s->m, i);
}

static bool is_plain_load(const SpvInst *i)
{
    uint32_t n = spv_n_operands(i);
    return n == 3 || (n > 3 && !(spv_operand(i, 3) & SpvMemoryAccessVolatileMask));
}

static bool block_is_quiet(const Finder *s, const SpvBlock *b)
{
    for (const SpvInst *i = b->insts.first; i; i = i->next) {
        bool product = i->op == SpvOpCooperativeMatrixMulAddKHR ||
                       (i->op == SpvOpCooperativeMatrixLoadKHR && is_plain_load(i));
        if (!product && !is_quiet(s, i))
            return false;
    }
    return true;
}

/* What phis are that are come to from `before`. */
static void take(Finder *s, const SpvBlock *b, const SpvBlock *before)
{
    for (const SpvInst *i = b->insts.first->next; i->op == SpvOpPhi; i = i->next)
        s->taken[i->id] = loop_incoming(i, before->id);
}

/* Where the loop goes on behind b; a choice takes the way of its condition. NULL: it has another
 * form. */
static SpvBlock *next_on_line(Finder *s, const SpvBlock *b)
{
    const SpvInst *end = b->insts.last, *merge = cfg_merge_inst(b);
    if (end->op == SpvOpBranch)
        return edit_block(s->m, spv_operand(end, 0));
    if (end->op != SpvOpBranchConditional || (b != s->header && !merge))
        return NULL;
    if (b != s->header)
        vec_push(s->e->arena, &s->guards, spv_operand(end, 0));
    return edit_block(s->m, spv_operand(end, 1));
}

static bool follow_line(Finder *s)
{
    s->n_taken = s->m->bound;
    s->taken = NEW_ARRAY(s->e->arena, SpvId, s->n_taken);
    SpvBlock *b = s->header, *next;
    for (uint32_t k = 0; k < s->loop->n_blocks; k++, b = next) {
        vec_push(s->e->arena, &s->line, b);
        next = block_is_quiet(s, b) ? next_on_line(s, b) : NULL;
        if (!next || !cfg_in_loop(s->loop, s->g, s->g->position[next->index]))
            return false;
        if (next == s->header)
            return s->header->insts.last->op == SpvOpBranchConditional &&
                   b == s->g->blocks[s->loop->latch].block;
        take(s, next, b);
    }
    return false;
}

static bool shares_nothing(const SpvModule *m)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpVariable && spv_operand(i, 0) == SpvStorageClassWorkgroup)
            return false;
    return true;
}

static bool is_in_loop(const Finder *s, uint32_t at)
{
    for (uint32_t k = 0; k < s->g->n_loops; k++)
        if (cfg_in_loop(s->g->loops[k], s->g, at))
            return true;
    return false;
}

/* Of several workgroups all warps come to the loop, without any effect on the way, and behind it
 * nothing is done by workgroups. */
static bool workgroups_fit(const Finder *s, uint32_t at)
{
    if (!cfg_postdominates(s->g, at, 0))
        return false;
    for (uint32_t p = 0; p + 1 < s->g->n; p++) {
        const SpvBlock *b = s->g->blocks[p].block;
        bool behind = cfg_dominates(s->g, at, p) && p != at;
        for (const SpvInst *i = b->insts.first; i; i = i->next) {
            bool barrier = i->op == SpvOpControlBarrier || i->op == SpvOpControlBarrierArriveEXT ||
                           i->op == SpvOpControlBarrierWaitEXT;
            if (barrier || (!behind && !is_quiet(s, i)))
                return false;
        }
        if (!behind && is_in_loop(s, p))
            return false;
    }
    return true;
}

static bool reaches(const Finder *s, uint32_t from, uint32_t to, uint8_t *seen)
{
    const CfgBlock *b = &s->g->blocks[from];
    if (from == to || seen[from])
        return from == to;
    seen[from] = 1;
    for (uint32_t k = 0; k < b->n_succs; k++)
        if (reaches(s, b->succs[k], to, seen))
            return true;
    return false;
}

/* All subgroups of a workgroup come to the loop, or none: where its way parts from others, the
 * condition is the workgroup's. */
static bool subgroups_fit(const Finder *s, uint32_t at)
{
    Uniformity *u = uniformity_build_for(s->e->arena, s->m, s->g, s->e->W);
    const uint8_t *same = workgroup_same(s->e->arena, s->m, s->g, u);
    for (uint32_t p = 0; p + 1 < s->g->n; p++) {
        const SpvInst *end = s->g->blocks[p].block->insts.last;
        bool parts = end->op != SpvOpBranch && !cfg_dominates(s->g, at, p) &&
                     !cfg_postdominates(s->g, at, p);
        if (parts && (end->op != SpvOpBranchConditional || !same[spv_operand(end, 0)]) &&
            reaches(s, p, at, NEW_ARRAY(s->e->arena, uint8_t, s->g->n)))
            return false;
    }
    return !is_in_loop(s, at);
}

static bool surroundings_fit(const Finder *s)
{
    uint32_t at = s->g->position[s->before->index];
    return s->f->rows * s->f->columns > 1 ? workgroups_fit(s, at) : subgroups_fit(s, at);
}

/* ---- counting -------------------------------------------------------------------------------- */

/* counter = phi(start, counter + step), and the loop goes on while counter < bound. */
static bool find_counter(Finder *s, uint64_t *step)
{
    NvptxFusion *f = s->f;
    const SpvInst *branch = s->header->insts.last, *less = in_loop(s, spv_operand(branch, 0));
    if (!less || !edit_block(s->m, spv_operand(branch, 1)) ||
        !cfg_in_loop(s->loop, s->g,
                     s->g->position[edit_block(s->m, spv_operand(branch, 1))->index]))
        return false;
    bool turned = less->op == SpvOpUGreaterThan || less->op == SpvOpSGreaterThan;
    if (!turned && less->op != SpvOpULessThan && less->op != SpvOpSLessThan)
        return false;
    f->compares_signed = less->op == SpvOpSLessThan || less->op == SpvOpSGreaterThan;
    f->counter = in_loop(s, spv_operand(less, turned));
    f->bound = spv_operand(less, !turned);
    if (!f->counter || f->counter->op != SpvOpPhi || f->counter->block != s->header)
        return false;
    f->start = loop_incoming(f->counter, s->before->id);
    const SpvBlock *latch = s->g->blocks[s->loop->latch].block;
    const SpvInst *next = in_loop(s, loop_incoming(f->counter, latch->id));
    if (!next || next->op != SpvOpIAdd)
        return false;
    uint32_t other = spv_operand(next, 0) == f->counter->id;
    return spv_operand(next, !other) == f->counter->id &&
           spv_constant(s->m, spv_operand(next, other), step) && *step && *step < 1 << 16;
}

enum { MOST_DEEP = 32, MOST_LOOKED_AT = 1 << 14, MOST_STEEP = 256 };

static bool is_too_much(Finder *s, uint32_t depth)
{
    return depth > MOST_DEEP || ++s->looked_at > MOST_LOOKED_AT;
}

/* Whether the first index of a chain says which of several buffers it is. */
static bool selects_buffer(const Finder *s, const SpvInst *chain)
{
    const SpvType *t = spv_type_of(s->e->module, spv_operand(chain, 0));
    return t &&
           (t->storage == SpvStorageClassStorageBuffer || t->storage == SpvStorageClassUniform) &&
           t->element && t->element->kind != SPV_STRUCT;
}

/* How often a value in the loop moves with the counter: 0: not at all, 1: evenly; 2: otherwise. */
static uint32_t degree(Finder *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = in_loop(s, id);
    if (!i)
        return 0;
    if (i == s->f->counter)
        return 1;
    if (i->op == SpvOpPhi || !is_quiet(s, i) || is_too_much(s, depth))
        return 2;
    edit_ids(i, &s->ids);
    uint32_t n = s->ids.n, of[4] = { 0 }, most = 0;
    for (uint32_t k = 0; k < n; k++) { /* ids is used again below */
        edit_ids(i, &s->ids);
        uint32_t d = degree(s, i->words[s->ids.at[k]], depth + 1);
        most = MAX(most, d);
        if (k < COUNT_OF(of))
            of[k] = d;
    }
    switch (most ? i->op : SpvOpNop) {
    case SpvOpNop: return 0;
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain: return n > 1 && of[1] && selects_buffer(s, i) ? 2 : most;
    case SpvOpIAdd:
    case SpvOpISub:
    case SpvOpUConvert:
    case SpvOpSConvert:
    case SpvOpCopyObject: return most;
    case SpvOpIMul: return n == 2 && of[0] + of[1] == 1 ? 1 : 2;
    case SpvOpShiftLeftLogical: return n == 2 && of[1] == 0 ? of[0] : 2;
    default: return 2;
    }
}

/* ---- guards ---------------------------------------------------------------------------------- */

static bool is_low_mask(const Finder *s, SpvId id)
{
    uint64_t x;
    return spv_constant(s->m, id, &x) && is_pow2(x + 1);
}

/* How far at most an even value moves when the counter does by 1. */
static uint64_t slope(Finder *s, SpvId id, uint32_t depth)
{
    const uint64_t steep = UINT32_MAX;
    const SpvInst *i = in_loop(s, id);
    uint64_t by;
    if (!i || i == s->f->counter)
        return i != NULL;
    if (is_too_much(s, depth))
        return steep;
    switch (i->op) {
    case SpvOpIAdd:
    case SpvOpISub:
        return MIN(steep,
                   slope(s, spv_operand(i, 0), depth + 1) + slope(s, spv_operand(i, 1), depth + 1));
    case SpvOpUConvert:
    case SpvOpSConvert:
    case SpvOpCopyObject: return slope(s, spv_operand(i, 0), depth + 1);
    case SpvOpIMul:
        if (spv_constant(s->e->module, spv_operand(i, 1), &by) && by <= steep)
            return MIN(steep, by * slope(s, spv_operand(i, 0), depth + 1));
        break;
    case SpvOpShiftLeftLogical:
        if (spv_constant(s->e->module, spv_operand(i, 1), &by) && by < 16)
            return MIN(steep, slope(s, spv_operand(i, 0), depth + 1) << by);
        break;
    default: break;
    }
    return degree(s, id, 0) ? steep : 0;
}

/* What moves evenly, and too slowly to wrap in a loop over what fits into memory. */
static bool is_even(Finder *s, SpvId id)
{
    return degree(s, id, 0) <= 1 && slope(s, id, 0) <= MOST_STEEP;
}

/* Conditions that hold all the time if they do in the first, the second and the last iteration:
 * bounds of what moves evenly, and multiples of powers of two. */
static bool guard_fits(Finder *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = in_loop(s, id), *low;
    if (!i || is_too_much(s, depth))
        return !i;
    switch (i->op) {
    case SpvOpLogicalAnd:
        return guard_fits(s, spv_operand(i, 0), depth + 1) &&
               guard_fits(s, spv_operand(i, 1), depth + 1);
    case SpvOpULessThan:
    case SpvOpULessThanEqual:
    case SpvOpUGreaterThan:
    case SpvOpUGreaterThanEqual:
    case SpvOpSLessThan:
    case SpvOpSLessThanEqual:
    case SpvOpSGreaterThan:
    case SpvOpSGreaterThanEqual:
        return is_even(s, spv_operand(i, 0)) && is_even(s, spv_operand(i, 1));
    case SpvOpIEqual:
        low = in_loop(s, spv_operand(i, 0));
        if (low && low->op == SpvOpBitwiseAnd && is_low_mask(s, spv_operand(low, 1)) &&
            degree(s, spv_operand(low, 0), 0) <= 1)
            return degree(s, spv_operand(i, 1), 0) == 0;
        break;
    default: break;
    }
    return degree(s, id, 0) == 0;
}

static bool guards_fit(Finder *s)
{
    for (uint32_t k = 0; k < s->guards.len; k++)
        if (!guard_fits(s, s->guards.data[k], 0))
            return false;
    return true;
}

/* ---- products -------------------------------------------------------------------------------- */

/* The place of a load among those of its operand. */
static uint32_t place_of(Finder *s, uint32_t operand, SpvId load)
{
    for (uint32_t k = 0; k < s->grid[operand].len; k++)
        if (s->grid[operand].data[k] == load)
            return k;
    vec_push(s->e->arena, &s->grid[operand], load);
    return (uint32_t)s->grid[operand].len - 1;
}

typedef struct Links {
    SpvInst *link[8]; /* multiply-adds of a sum, in order */
    uint32_t n;
} Links;

static bool follow(Finder *s, SpvInst *phi, SpvId end, Links *out)
{
    SpvInst *i = in_loop(s, end);
    out->n = 0;
    while (i && i != phi) {
        if (i->op != SpvOpCooperativeMatrixMulAddKHR || out->n == COUNT_OF(out->link))
            return false;
        memmove(out->link + 1, out->link, out->n * sizeof out->link[0]);
        out->link[0] = i;
        out->n++;
        i = in_loop(s, spv_operand(i, 2));
    }
    return i == phi && out->n && is_pow2(out->n) && out->n <= 4;
}

static bool is_load(const Finder *s, SpvId id)
{
    const SpvInst *i = in_loop(s, id);
    return i && i->op == SpvOpCooperativeMatrixLoadKHR;
}

/* Each sum has the chain of its row's tiles with its column's. Rows and columns are numbered as
 * their first tiles turn up. */
static bool place_sum(Finder *s, SpvInst *phi, const Links *c)
{
    uint32_t line[2] = { 0, 0 };
    for (uint32_t k = 0; k < c->n; k++)
        for (uint32_t o = 0; o < 2; o++) {
            SpvId load = on_line(s, spv_operand(c->link[k], o));
            if (!is_load(s, load))
                return false;
            uint32_t at = place_of(s, o, load);
            if (k == 0)
                line[o] = at / c->n;
            if (at != line[o] * c->n + k || at >= NVPTX_MOST_TILES)
                return false;
        }
    if (line[0] > 7 || line[1] > 7 || s->f->sums[8 * line[0] + line[1]])
        return false;
    s->f->sums[8 * line[0] + line[1]] = phi;
    return true;
}

static bool find_sums(Finder *s)
{
    NvptxFusion *f = s->f;
    const SpvBlock *latch = s->g->blocks[s->loop->latch].block;
    uint32_t n = 0;
    for (SpvInst *i = edit_after_phis(s->header)->prev; i && i->op == SpvOpPhi; i = i->prev) {
        Links c;
        if (i == f->counter)
            continue;
        if (spv_type(s->m, i->type)->kind != SPV_COOPMAT ||
            !follow(s, i, loop_incoming(i, latch->id), &c) || (n && c.n != f->chain) ||
            !place_sum(s, i, &c))
            return false;
        f->chain = c.n;
        n++;
    }
    if (!n)
        return false;
    f->a.lines = (uint32_t)s->grid[0].len / f->chain;
    f->b.lines = (uint32_t)s->grid[1].len / f->chain;
    if (f->a.lines * f->b.lines != n)
        return false;
    for (uint32_t r = 0; r < f->a.lines; r++) /* row by row, without gaps */
        for (uint32_t c = 0; c < f->b.lines; c++) {
            f->sums[f->b.lines * r + c] = f->sums[8 * r + c];
            if (!f->sums[f->b.lines * r + c])
                return false;
        }
    return true;
}

static const SpvType *element_of(const Finder *s, SpvId value)
{
    return spv_type_of(s->m, value)->element;
}

/* All products are of the same types, and none saturates. */
static bool types_fit(Finder *s)
{
    NvptxFusion *f = s->f;
    uint32_t mask = UINT32_MAX;
    const SpvType *matrix = spv_type(s->m, f->sums[0]->type);
    f->factor = element_of(s, s->grid[0].data[0]);
    f->sum = matrix->element;
    f->tile = matrix->rows;
    f->held = matrix->rows * matrix->cols / NVPTX_WARP;
    for (uint32_t k = 0; k < s->line.len; k++) {
        for (const SpvInst *i = s->line.data[k]->insts.first; i; i = i->next) {
            if (i->op != SpvOpCooperativeMatrixMulAddKHR)
                continue;
            uint32_t own = spv_n_operands(i) > 3 ? spv_operand(i, 3) : 0;
            if ((mask != UINT32_MAX && own != mask) ||
                element_of(s, spv_operand(i, 0)) != f->factor ||
                element_of(s, spv_operand(i, 1)) != f->factor || element_of(s, i->id) != f->sum)
                return false;
            mask = own;
        }
    }
    f->a_signed = mask & SpvCooperativeMatrixOperandsMatrixASignedComponentsKHRMask;
    f->b_signed = mask & SpvCooperativeMatrixOperandsMatrixBSignedComponentsKHRMask;
    bool bytes = f->factor->kind == SPV_INT && f->factor->bits == 8 && f->sum->kind == SPV_INT &&
                 f->sum->bits == 32;
    bool halves = f->factor->kind == SPV_FLOAT && f->factor->bits == 16 &&
                  f->sum->kind == SPV_FLOAT && f->sum->format == SPV_IEEE &&
                  (f->sum->bits == 32 || (f->sum->bits == 16 && f->factor->format == SPV_IEEE));
    /* whose sums the tensor cores keep with fewer bits */
    bool small = (f->factor->format == SPV_E4M3 || f->factor->format == SPV_E5M2) &&
                 f->factor->kind == SPV_FLOAT && f->sum->kind == SPV_FLOAT &&
                 f->sum->format == SPV_IEEE && f->sum->bits <= 32 && f->tile == 16 &&
                 !threads_of(s->e)->exact;
    return halves || small ||
           (bytes && f->tile == 16 &&
            !(mask & SpvCooperativeMatrixOperandsSaturatingAccumulationKHRMask));
}

/* ---- workgroups ------------------------------------------------------------------------------ */

/* Of a workgroup's subgroups; the others are those of the grid of workgroups. */
enum { GROUPS = 7, SUBGROUP_ROWS = 8, SUBGROUP_COLUMNS = 16, SUBGROUPS = 24 };

/* A part of a subgroup's number: by rows of the grid that they are, or in one. */
static uint32_t part_of_number(Finder *s, const SpvInst *i)
{
    bool rows = i->op == SpvOpUDiv || i->op == SpvOpShiftRightLogical;
    uint64_t by;
    if ((!rows && i->op != SpvOpUMod && i->op != SpvOpBitwiseAnd) ||
        !spv_constant(s->m, spv_operand(i, 1), &by) || by > NVPTX_WARP)
        return SUBGROUPS;
    if (i->op == SpvOpShiftRightLogical)
        by = (uint64_t)1 << by;
    if (i->op == SpvOpBitwiseAnd)
        by++;
    if (!is_pow2(by) || (s->f->across && s->f->across != by))
        return SUBGROUPS;
    s->f->across = (uint32_t)by;
    return rows ? SUBGROUP_ROWS : SUBGROUP_COLUMNS;
}

/* The axes that a value depends on, a bit each. */
static uint32_t axes_of(Finder *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    uint64_t axis = 0;
    if (!i || is_too_much(s, depth))
        return 0;
    if (i->op == SpvOpVariable) {
        uint32_t n;
        const uint32_t *builtin = spv_decoration(s->m, id, -1, SpvDecorationBuiltIn, &n);
        return builtin && *builtin == SpvBuiltInWorkgroupId  ? GROUPS
               : builtin && *builtin == SpvBuiltInSubgroupId ? SUBGROUPS
                                                             : 0;
    }
    if (!i->block || i == s->f->counter)
        return 0;
    edit_ids(i, &s->ids);
    uint32_t n = s->ids.n, r = 0;
    for (uint32_t k = 0; k < n; k++) {
        edit_ids(i, &s->ids);
        r |= axes_of(s, i->words[s->ids.at[k]], depth + 1);
    }
    if (r == SUBGROUPS && n == 2)
        return part_of_number(s, i);
    bool chooses = i->op == SpvOpCompositeExtract || i->op == SpvOpAccessChain ||
                   i->op == SpvOpInBoundsAccessChain;
    if (r != GROUPS || !chooses || spv_n_operands(i) < 2)
        return r;
    bool known = i->op == SpvOpCompositeExtract;
    axis = spv_operand(i, 1);
    if (!known)
        known = spv_constant(s->m, spv_operand(i, 1), &axis);
    return known && axis < 3 ? 1u << axis : r;
}

static uint32_t axes_of_operand(Finder *s, uint32_t operand)
{
    uint32_t r = 0;
    for (uint32_t k = 0; k < s->grid[operand].len; k++)
        r |= axes_of(s, spv_operand(spv_def(s->m, s->grid[operand].data[k]), 0), 0);
    return r;
}

/* Workgroups along two axes. */
static bool find_group_axes(NvptxFusion *f, uint32_t a, uint32_t b)
{
    uint32_t rows = a & ~b & GROUPS, columns = b & ~a & GROUPS;
    if (!rows || !columns)
        return false;
    f->row_axis = (uint32_t)__builtin_ctz(rows);
    f->column_axis = (uint32_t)__builtin_ctz(columns);
    return true;
}

/* A workgroup's subgroups, in a grid of their own. */
static bool find_subgroup_axes(const Finder *s, uint32_t a, uint32_t b)
{
    NvptxFusion *f = s->f;
    a &= SUBGROUPS;
    b &= SUBGROUPS;
    if (s->subgroups == 1 || (a == SUBGROUPS && !b))
        f->across = 1;
    else if (!a && b == SUBGROUPS)
        f->across = s->subgroups;
    else if (a & SUBGROUP_COLUMNS || b & SUBGROUP_ROWS || !f->across)
        return false;
    f->down = s->subgroups / f->across;
    return f->across * f->down == s->subgroups;
}

/* A block is a workgroup if that computes enough, or several. */
static bool find_axes(Finder *s)
{
    NvptxFusion *f = s->f;
    uint32_t a = axes_of_operand(s, 0), b = axes_of_operand(s, 1);
    uint32_t rows = NVPTX_BLOCK_ROWS / (f->tile * f->a.lines), columns = fusion_columns(f);
    uint32_t warps = rows * columns;
    if (!find_subgroup_axes(s, a, b) || warps < 8 || warps > 32 || !is_pow2(warps) || columns < 2 ||
        rows * f->a.lines * f->tile != NVPTX_BLOCK_ROWS ||
        columns * f->b.lines * f->tile != NVPTX_BLOCK_COLUMNS)
        return false;
    f->rows = f->columns = 1;
    if (f->down == rows && (f->across == columns || 2 * f->across == columns))
        return true;
    f->rows = rows / f->down;
    f->columns = columns / f->across;
    return f->rows * f->down == rows && f->columns * f->across == columns &&
           find_group_axes(f, a, b);
}

/* ---- what is evaluated before the loop ------------------------------------------------------- */

typedef struct Copies {
    SpvId counter; /* what stands for it */
    VEC(SpvId) from, to;
} Copies;

static SpvId copy_value(Finder *s, Copies *c, SpvId id)
{
    const SpvInst *i = in_loop(s, id);
    id = on_line(s, id);
    if (!i)
        return id;
    if (i == s->f->counter)
        return c->counter;
    for (uint32_t k = 0; k < c->from.len; k++)
        if (c->from.data[k] == id)
            return c->to.data[k];
    uint32_t n = spv_n_operands(i);
    SpvInst *copy =
        spv_make(s->m, i->op, i->type, spv_new_id(s->m), i->words + i->first_operand, n);
    edit_ids(i, &s->ids);
    for (uint32_t k = 0, all = s->ids.n; k < all; k++) {
        edit_ids(i, &s->ids);
        uint32_t word = s->ids.at[k];
        if (word >= i->first_operand)
            copy->words[word] = copy_value(s, c, i->words[word]);
    }
    spv_insert_before(s->before->insts.last, copy);
    vec_push(s->e->arena, &c->from, id);
    vec_push(s->e->arena, &c->to, copy->id);
    return copy->id;
}

static SpvId compute(Finder *s, uint16_t op, SpvId x, SpvId y)
{
    uint32_t operands[] = { x, y };
    SpvInst *i = spv_make(s->m, op, s->f->counter->type, spv_new_id(s->m), operands, 2);
    spv_insert_before(s->before->insts.last, i);
    return i->id;
}

static SpvId choose(Finder *s, SpvId condition, SpvId x, SpvId y)
{
    uint32_t operands[] = { condition, x, y };
    SpvInst *i = spv_make(s->m, SpvOpSelect, s->f->counter->type, spv_new_id(s->m), operands, 3);
    spv_insert_before(s->before->insts.last, i);
    return i->id;
}

static SpvId is_equal(Finder *s, SpvId x, SpvId y)
{
    uint32_t operands[] = { x, y };
    SpvInst *i = spv_make(s->m, SpvOpIEqual, spv_bool_type(s->m), spv_new_id(s->m), operands, 2);
    spv_insert_before(s->before->insts.last, i);
    return i->id;
}

static SpvId *copy_guards(Finder *s, Copies *c)
{
    SpvId *copies = NEW_ARRAY(s->e->arena, SpvId, s->guards.len + 1);
    for (uint32_t k = 0; k < s->guards.len; k++)
        copies[k] = copy_value(s, c, s->guards.data[k]);
    return copies;
}

/* Where the last of the stages crosses an edge, which guards say, that one is left to the loop. */
static SpvId stages_inside(Finder *s, SpvId stages, SpvId per, SpvId width)
{
    SpvId one = spv_int_constant(s->m, s->f->counter->type, 1), fewer = stages;
    SpvId steps = compute(s, SpvOpISub, compute(s, SpvOpIMul, stages, per), one);
    Copies last = { .counter =
                        compute(s, SpvOpIAdd, s->f->start, compute(s, SpvOpIMul, steps, width)) };
    SpvId zero = spv_int_constant(s->m, s->f->counter->type, 0);
    SpvId *guards = copy_guards(s, &last), less = compute(s, SpvOpISub, stages, one);
    less = choose(s, is_equal(s, stages, zero), zero, less);
    for (uint32_t k = 0; k < s->guards.len; k++)
        fewer = choose(s, guards[k], fewer, less);
    return fewer;
}

/* Stages of 128 bytes of k that fit between start and bound, and the counter behind them. Where
 * start is not less than bound the numbers mean nothing. */
static SpvId count_stages(Finder *s, uint64_t step, Copies *first)
{
    NvptxFusion *f = s->f;
    SpvId type = f->counter->type, one = spv_int_constant(s->m, type, 1),
          width = spv_int_constant(s->m, type, step);
    uint32_t tiles = 128 / (f->tile * f->factor->bits / 8), each = tiles / f->chain;
    SpvId per = spv_int_constant(s->m, type, each);
    f->bound = copy_value(s, first, f->bound);
    SpvId left = compute(s, SpvOpISub, compute(s, SpvOpISub, f->bound, f->start), one);
    SpvId all = compute(s, SpvOpIAdd, compute(s, SpvOpUDiv, left, width), one);
    f->stages = stages_inside(s, compute(s, SpvOpUDiv, all, per), per, width);
    f->iterations = compute(s, SpvOpIMul, f->stages, per);
    f->end = compute(s, SpvOpIAdd, f->start, compute(s, SpvOpIMul, f->iterations, width));
    return compute(s, SpvOpISub, f->end, width);
}

static bool operand_fits(Finder *s, uint32_t operand, NvptxOperand *o)
{
    uint64_t order = 0, own;
    for (uint32_t k = 0; k < s->grid[operand].len; k++) {
        const SpvInst *load = spv_def(s->m, s->grid[operand].data[k]);
        const SpvType *p = spv_type_of(s->m, spv_operand(load, 0));
        SpvId stride = spv_n_operands(load) > 2 ? spv_operand(load, 2) : 0;
        if (p->storage != SpvStorageClassStorageBuffer || !stride ||
            degree(s, spv_operand(load, 0), 0) > 1 || degree(s, stride, 0) != 0 ||
            !spv_constant(s->m, spv_operand(load, 1), &own) || (k && own != order) ||
            (k && stride != o->stride) || own > 1)
            return false;
        order = own;
        o->stride = stride;
    }
    o->by_column = order == SpvCooperativeMatrixLayoutColumnMajorKHR;
    /* bytes that do not lie along k are transposed by eight warps */
    bool along_k = o->by_column == (operand == 1);
    uint32_t warps = NVPTX_BLOCK_ROWS / (s->f->tile * s->f->a.lines) * fusion_columns(s->f);
    return s->f->factor->bits == 16 || along_k || warps == 8;
}

static void copy_operand(Finder *s, uint32_t operand, NvptxOperand *o, Copies copies[3])
{
    for (uint32_t k = 0; k < s->grid[operand].len; k++) {
        SpvId p = spv_operand(spv_def(s->m, s->grid[operand].data[k]), 0);
        o->first[k] = copy_value(s, &copies[0], p);
        o->second[k] = copy_value(s, &copies[1], p);
        o->last[k] = copy_value(s, &copies[2], p);
    }
    o->stride = copy_value(s, &copies[0], o->stride);
}

static void evaluate_before(Finder *s, uint64_t step)
{
    NvptxFusion *f = s->f;
    Copies copies[3] = { { .counter = f->start } };
    copies[2].counter = count_stages(s, step, &copies[0]);
    copies[1].counter =
        compute(s, SpvOpIAdd, f->start, spv_int_constant(s->m, f->counter->type, step));
    copy_operand(s, 0, &f->a, copies);
    copy_operand(s, 1, &f->b, copies);
    f->n_guards = (uint32_t)s->guards.len;
    for (uint32_t k = 0; k < 3; k++)
        f->guards[k] = copy_guards(s, &copies[k]);
}

/* ---------------------------------------------------------------------------------------------- */

static bool open_loop(Finder *s)
{
    const CfgBlock *header = &s->g->blocks[s->loop->header];
    if (s->loop->latch == UINT32_MAX || header->n_preds != 2)
        return false;
    uint32_t before = header->preds[header->preds[0] == s->loop->latch];
    s->header = header->block;
    s->before = s->g->blocks[before].block;
    s->f->queues = wait_queues_hint(s->loop);
    s->f->before = before;
    s->f->header = s->loop->header;
    return s->before->insts.last->op == SpvOpBranch;
}

static bool fits(Finder *s)
{
    NvptxFusion *f = s->f;
    uint64_t step;
    if (!open_loop(s) || !follow_line(s) || !find_counter(s, &step) ||
        degree(s, f->bound, 0) != 0 || !guards_fit(s) || !find_sums(s) || !types_fit(s) ||
        !find_axes(s) || !surroundings_fit(s) || !operand_fits(s, 0, &f->a) ||
        !operand_fits(s, 1, &f->b))
        return false;
    evaluate_before(s, step);
    return true;
}

NvptxFusion *fusion_find(Emit *e)
{
    const uint32_t *size = e->local_size;
    if (e->W != NVPTX_WARP || !size[0] || size[0] % NVPTX_WARP || size[1] != 1 || size[2] != 1 ||
        !shares_nothing(e->module))
        return NULL;
    for (uint32_t k = 0; k < e->cfg->n_loops; k++) {
        Finder *s = NEW(e->arena, Finder);
        *s = (Finder){ .e = e,
                       .m = e->module,
                       .g = e->cfg,
                       .loop = e->cfg->loops[k],
                       .subgroups = size[0] / NVPTX_WARP,
                       .f = NEW(e->arena, NvptxFusion) };
        if (fits(s))
            return s->f;
    }
    return NULL;
}
