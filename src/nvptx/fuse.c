/* SPDX-License-Identifier: MIT
 *
 * Finds a loop that sums up products of matrices, in a kernel whose workgroups are single
 * subgroups that share nothing.
 *
 * What is looked for here is only the form: a counting loop of one straight line, which nothing but
 * sums leave; operands that are loaded at addresses which the counter moves evenly; a grid of sums,
 * rows by one axis of the workgroups and columns by another. Whether all subgroups of a block mean
 * the same rows and columns, as often, from aligned addresses that never wrap, staged.c asks at run
 * time.
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
    uint32_t looked_at; /* instructions, by what looks through expressions, which may be large */
    VEC(SpvId) grid[2]; /* by line of A and of B, and in it k: the loads */
} Finder;

static SpvInst *in_loop(const Finder *s, SpvId id)
{
    SpvInst *d = spv_def(s->m, id);
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

static bool loop_is_quiet(const Finder *s)
{
    for (uint32_t k = 0; k < s->loop->n_blocks; k++) {
        const SpvBlock *b = s->g->blocks[s->loop->blocks[k]].block;
        for (const SpvInst *i = b->insts.first; i; i = i->next) {
            bool product = i->op == SpvOpCooperativeMatrixMulAddKHR ||
                           (i->op == SpvOpCooperativeMatrixLoadKHR && is_plain_load(i));
            if (!product && !is_quiet(s, i))
                return false;
            if (i->op == SpvOpPhi && b != s->header)
                return false;
        }
        uint16_t op = b->insts.last->op;
        if (op != (b == s->header ? SpvOpBranchConditional : SpvOpBranch))
            return false;
    }
    return true;
}

static bool shares_nothing(const SpvModule *m)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpVariable && spv_operand(i, 0) == SpvStorageClassWorkgroup)
            return false;
    return true;
}

/* All warps of a block come to the loop, without any effect on the way, and behind it nothing is
 * done by workgroups. */
static bool surroundings_fit(const Finder *s)
{
    uint32_t at = s->g->position[s->before->index];
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
        for (uint32_t k = 0; !behind && k < s->g->n_loops; k++)
            if (cfg_in_loop(s->g->loops[k], s->g, p))
                return false;
    }
    return true;
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

enum { MOST_DEEP = 32, MOST_LOOKED_AT = 1 << 14 };

static bool is_too_much(Finder *s, uint32_t depth)
{
    return depth > MOST_DEEP || ++s->looked_at > MOST_LOOKED_AT;
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
    case SpvOpInBoundsAccessChain:
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
            SpvId load = spv_operand(c->link[k], o);
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
    for (uint32_t k = 0; k < s->loop->n_blocks; k++) {
        const SpvBlock *b = s->g->blocks[s->loop->blocks[k]].block;
        for (const SpvInst *i = b->insts.first; i; i = i->next) {
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
    return halves || (bytes && f->tile == 16 &&
                      !(mask & SpvCooperativeMatrixOperandsSaturatingAccumulationKHRMask));
}

/* ---- workgroups ------------------------------------------------------------------------------ */

/* The axes of the grid of workgroups that a value depends on, a bit each. */
static uint32_t axes_of(Finder *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    uint64_t axis = 0;
    if (!i || is_too_much(s, depth))
        return 0;
    if (i->op == SpvOpVariable) {
        uint32_t n;
        const uint32_t *builtin = spv_decoration(s->m, id, -1, SpvDecorationBuiltIn, &n);
        return builtin && *builtin == SpvBuiltInWorkgroupId ? 7 : 0;
    }
    if (!i->block || i == s->f->counter)
        return 0;
    edit_ids(i, &s->ids);
    uint32_t n = s->ids.n, r = 0;
    for (uint32_t k = 0; k < n; k++) {
        edit_ids(i, &s->ids);
        r |= axes_of(s, i->words[s->ids.at[k]], depth + 1);
    }
    bool chooses = i->op == SpvOpCompositeExtract || i->op == SpvOpAccessChain ||
                   i->op == SpvOpInBoundsAccessChain;
    if (r != 7 || !chooses || spv_n_operands(i) < 2)
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

static bool find_axes(Finder *s)
{
    NvptxFusion *f = s->f;
    uint32_t a = axes_of_operand(s, 0), b = axes_of_operand(s, 1);
    uint32_t rows = a & ~b, columns = b & ~a;
    if (!rows || !columns)
        return false;
    f->row_axis = (uint32_t)__builtin_ctz(rows);
    f->column_axis = (uint32_t)__builtin_ctz(columns);
    f->rows = NVPTX_BLOCK_ROWS / (f->tile * f->a.lines);
    f->columns = NVPTX_BLOCK_COLUMNS / (f->tile * f->b.lines);
    uint32_t warps = f->rows * f->columns;
    return warps >= 8 && warps <= 32 && is_pow2(warps) && f->columns % 2 == 0 &&
           f->rows * f->a.lines * f->tile == NVPTX_BLOCK_ROWS &&
           f->columns * f->b.lines * f->tile == NVPTX_BLOCK_COLUMNS;
}

/* ---- what is evaluated before the loop ------------------------------------------------------- */

typedef struct Copies {
    SpvId counter; /* what stands for it */
    VEC(SpvId) from, to;
} Copies;

static SpvId copy_value(Finder *s, Copies *c, SpvId id)
{
    const SpvInst *i = in_loop(s, id);
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
    f->stages = compute(s, SpvOpUDiv, all, per);
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
    return s->f->factor->bits == 16 || along_k || s->f->rows * s->f->columns == 8;
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
    s->f->before = before;
    s->f->header = s->loop->header;
    return s->before->insts.last->op == SpvOpBranch;
}

static bool fits(Finder *s)
{
    NvptxFusion *f = s->f;
    uint64_t step;
    if (!open_loop(s) || !loop_is_quiet(s) || !surroundings_fit(s) || !find_counter(s, &step) ||
        degree(s, f->bound, 0) != 0 || !find_sums(s) || !types_fit(s) || !find_axes(s) ||
        !operand_fits(s, 0, &f->a) || !operand_fits(s, 1, &f->b))
        return false;
    evaluate_before(s, step);
    return true;
}

NvptxFusion *fusion_find(Emit *e)
{
    const uint32_t *size = e->local_size;
    if (e->W != NVPTX_WARP || size[0] != NVPTX_WARP || size[1] != 1 || size[2] != 1 ||
        !shares_nothing(e->module))
        return NULL;
    for (uint32_t k = 0; k < e->cfg->n_loops; k++) {
        Finder *s = NEW(e->arena, Finder);
        *s = (Finder){ .e = e,
                       .m = e->module,
                       .g = e->cfg,
                       .loop = e->cfg->loops[k],
                       .f = NEW(e->arena, NvptxFusion) };
        if (fits(s))
            return s->f;
    }
    return NULL;
}
