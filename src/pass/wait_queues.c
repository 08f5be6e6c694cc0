/* SPDX-License-Identifier: MIT
 *
 * wait_queues: finds what loops with a hint (SPV_QCOM_multiple_wait_queues) load, and how far the
 * address advances from one iteration to the next. In: a function in SSA and its Cfg. Out: the
 * loops, the loads that are theirs alone, and their steps, as sums and products of loop-invariant
 * values. The module is not changed: load_ahead.c turns the loads into rotating registers, and the
 * cpu device prefetches.
 *
 * A step is found by differences: of header phis by what the latch adds to them, of sums and
 * products by their operands'. For this analysis a load from an address that does not advance has
 * the same value each time; callers that rely on it have to look for stores.
 */
#include "pass/pass.h"

enum { MAX_DEPTH = 24, MAX_ASKED = 256 };

typedef struct StepSearch {
    Arena *arena;
    SpvModule *m;
    const Cfg *cfg;
    const CfgLoop *loop;
    const SpvBlock *latch; /* NULL: several */
    uint32_t left;         /* values that may still be asked about */
} StepSearch;

static const PassAheadStep *step_of(StepSearch *s, SpvId id, uint32_t depth);

/* ---- steps ----------------------------------------------------------------------------------- */

static const PassAheadStep *constant_step(StepSearch *s, uint64_t bits)
{
    PassAheadStep *x = NEW(s->arena, PassAheadStep);
    x->bits = bits;
    return x;
}

static const PassAheadStep *value(StepSearch *s, SpvId id)
{
    PassAheadStep *x = NEW(s->arena, PassAheadStep);
    uint64_t bits;
    if (spv_constant(s->m, id, &bits))
        return constant_step(s, bits);
    x->kind = STEP_VALUE;
    x->value = id;
    return x;
}

static bool is_constant(const PassAheadStep *x, uint64_t bits)
{
    return x && x->kind == STEP_CONSTANT && x->bits == bits;
}

static const PassAheadStep *combine_steps(StepSearch *s, PassAheadStepKind kind,
                                          const PassAheadStep *x, const PassAheadStep *y)
{
    if (!x || !y)
        return NULL;
    if (x->kind == STEP_CONSTANT && y->kind == STEP_CONSTANT)
        return constant_step(s, kind == STEP_ADD   ? x->bits + y->bits
                                : kind == STEP_SUB ? x->bits - y->bits
                                                   : x->bits * y->bits);
    if (is_constant(y, kind == STEP_MUL))
        return x;
    if (is_constant(x, kind == STEP_MUL) && kind != STEP_SUB)
        return y;
    if (kind == STEP_MUL && (is_constant(x, 0) || is_constant(y, 0)))
        return constant_step(s, 0);
    PassAheadStep *both = NEW(s->arena, PassAheadStep);
    *both = (PassAheadStep){ .kind = kind, .x = x, .y = y };
    return both;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool inside(const StepSearch *s, const SpvInst *i)
{
    uint32_t p = i && i->block ? s->cfg->position[i->block->index] : UINT32_MAX;
    return p != UINT32_MAX && cfg_in_loop(s->loop, s->cfg, p);
}

static bool is_same(StepSearch *s, SpvId id, uint32_t depth)
{
    return is_constant(step_of(s, id, depth), 0);
}

/* id - phi, where id is phi plus what does not change. */
static const PassAheadStep *beyond(StepSearch *s, SpvId phi, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    if (id == phi)
        return constant_step(s, 0);
    if (!inside(s, i) || !depth-- || (i->op != SpvOpIAdd && i->op != SpvOpISub))
        return NULL;
    for (uint32_t k = 0; k < (i->op == SpvOpIAdd ? 2u : 1u); k++) {
        SpvId other = spv_operand(i, 1 - k);
        const PassAheadStep *rest = beyond(s, phi, spv_operand(i, k), depth);
        if (rest && is_same(s, other, depth))
            return combine_steps(s, i->op == SpvOpIAdd ? STEP_ADD : STEP_SUB, rest,
                                 value(s, other));
    }
    return NULL;
}

static const PassAheadStep *step_of_phi(StepSearch *s, const SpvInst *phi, uint32_t depth)
{
    if (!s->latch || phi->block != s->cfg->blocks[s->loop->header].block)
        return NULL;
    for (uint32_t k = 0; k + 1 < spv_n_operands(phi); k += 2)
        if (spv_operand(phi, k + 1) == s->latch->id)
            return beyond(s, phi->id, spv_operand(phi, k), depth);
    return NULL;
}

static const PassAheadStep *step_of_product(StepSearch *s, const SpvInst *i, uint32_t depth)
{
    SpvId a = spv_operand(i, 0), b = spv_operand(i, 1);
    const PassAheadStep *x = step_of(s, a, depth), *y = step_of(s, b, depth);
    if (is_constant(y, 0))
        return combine_steps(s, STEP_MUL, x, value(s, b));
    return is_constant(x, 0) ? combine_steps(s, STEP_MUL, y, value(s, a)) : NULL;
}

/* Bytes that a chain's indices from the `first` on move on. */
static const PassAheadStep *step_of_indices(StepSearch *s, const SpvInst *i, uint32_t first,
                                            const PassAheadStep *sum, uint32_t depth)
{
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 0));
    t = t && t->kind == SPV_POINTER ? t->element : NULL;
    for (uint32_t k = first; sum && k < spv_n_operands(i); k++) {
        uint64_t member;
        const PassAheadStep *index = t ? step_of(s, spv_operand(i, k), depth) : NULL;
        if (!index)
            return NULL;
        if (t->kind == SPV_STRUCT) {
            bool known = spv_constant(s->m, spv_operand(i, k), &member) && member < t->count;
            t = known ? t->members[member] : NULL;
            continue;
        }
        uint64_t stride = t->kind == SPV_VECTOR ? spv_type_size(t->element) : t->array_stride;
        if (!stride && !is_constant(index, 0))
            return NULL;
        sum = combine_steps(s, STEP_ADD, sum,
                            combine_steps(s, STEP_MUL, index, constant_step(s, stride)));
        t = t->element;
    }
    return sum;
}

static const PassAheadStep *step_of_chain(StepSearch *s, const SpvInst *i, uint32_t depth)
{
    const PassAheadStep *base = step_of(s, spv_operand(i, 0), depth);
    if (i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain)
        return step_of_indices(s, i, 1, base, depth);
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 0));
    if (!t || t->kind != SPV_POINTER || !t->element)
        return NULL;
    uint64_t stride = t->array_stride ? t->array_stride : spv_type_size(t->element);
    const PassAheadStep *element = step_of(s, spv_operand(i, 1), depth);
    return step_of_indices(
        s, i, 2,
        combine_steps(s, STEP_ADD, base,
                      combine_steps(s, STEP_MUL, element, constant_step(s, stride))),
        depth);
}

static const PassAheadStep *step_of_shift(StepSearch *s, const SpvInst *i, uint32_t depth)
{
    uint64_t bits;
    if (!spv_constant(s->m, spv_operand(i, 1), &bits) || bits > 63)
        return NULL;
    return combine_steps(s, STEP_MUL, step_of(s, spv_operand(i, 0), depth),
                         constant_step(s, (uint64_t)1 << bits));
}

/* The same operands give the same. */
static const PassAheadStep *step_of_same(StepSearch *s, const SpvInst *i, uint32_t depth)
{
    uint16_t at[16];
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    if ((!spv_is_pure(i) && i->op != SpvOpLoad) || n > COUNT_OF(at))
        return NULL;
    for (uint32_t k = i->op == SpvOpExtInst; k < n; k++)
        if (!is_same(s, i->words[at[k]], depth))
            return NULL;
    return constant_step(s, 0);
}

/* What `id` grows by from one iteration to the next; NULL: not the same each time. */
static const PassAheadStep *step_of(StepSearch *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    const PassAheadStep *step = NULL;
    if (!inside(s, i))
        return constant_step(s, 0);
    if (!depth-- || !s->left)
        return NULL;
    s->left--;
    switch (i->op) {
    case SpvOpPhi: return step_of_phi(s, i, depth);
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
    case SpvOpPtrAccessChain:
    case SpvOpInBoundsPtrAccessChain: return step_of_chain(s, i, depth);
    case SpvOpUConvert:
    case SpvOpSConvert:
    case SpvOpBitcast:
    case SpvOpCopyObject:
    case SpvOpConvertUToPtr:
    case SpvOpConvertPtrToU: return step_of(s, spv_operand(i, 0), depth);
    case SpvOpIMul: step = step_of_product(s, i, depth); break;
    case SpvOpShiftLeftLogical: step = step_of_shift(s, i, depth); break;
    case SpvOpIAdd:
    case SpvOpISub:
        step = step_of(s, spv_operand(i, 0), depth);
        step = !step ? NULL
                     : combine_steps(s, i->op == SpvOpIAdd ? STEP_ADD : STEP_SUB, step,
                                     step_of(s, spv_operand(i, 1), depth));
        break;
    default: break;
    }
    return step ? step : step_of_same(s, i, depth);
}

/* ---- loads ----------------------------------------------------------------------------------- */

bool wait_queues_may_load(SpvModule *m, const SpvInst *i)
{
    if (i->op == SpvOpCooperativeMatrixLoadKHR || i->op == SpvOpCooperativeMatrixLoadTensorNV)
        return true;
    const SpvType *p = i->op == SpvOpLoad ? spv_type_of(m, spv_operand(i, 0)) : NULL;
    const SpvType *t = p && p->kind == SPV_POINTER ? spv_type(m, i->type) : NULL;
    if (!t || (t->kind != SPV_INT && t->kind != SPV_FLOAT && t->kind != SPV_VECTOR))
        return false;
    return p->storage == SpvStorageClassStorageBuffer || p->storage == SpvStorageClassUniform ||
           p->storage == SpvStorageClassPhysicalStorageBuffer ||
           p->storage == SpvStorageClassCrossWorkgroup;
}

/* Adds to `slice` what a tensor layout's slice moves on in each dimension. */
static bool slice_steps(StepSearch *s, SpvId layout,
                        const PassAheadStep *slice[TENSOR_MAX_DIMENSIONS])
{
    for (uint32_t depth = MAX_DEPTH; depth; depth--) {
        const SpvInst *i = spv_def(s->m, layout);
        if (!inside(s, i) || i->op == SpvOpCreateTensorLayoutNV)
            return true;
        bool cut = i->op == SpvOpTensorLayoutSliceNV;
        if (!cut && i->op != SpvOpTensorLayoutSetDimensionNV &&
            i->op != SpvOpTensorLayoutSetStrideNV && i->op != SpvOpTensorLayoutSetClampValueNV &&
            i->op != SpvOpTensorLayoutSetBlockSizeNV)
            return false;
        for (uint32_t k = 1; k < spv_n_operands(i); k++) {
            const PassAheadStep *step = step_of(s, spv_operand(i, k), MAX_DEPTH);
            uint32_t dimension = (k - 1) / 2;
            if (!step || ((!cut || k % 2 == 0) && !is_constant(step, 0)) ||
                dimension >= TENSOR_MAX_DIMENSIONS)
                return false;
            if (cut && k % 2)
                slice[dimension] = combine_steps(s, STEP_ADD, slice[dimension], step);
        }
        layout = spv_operand(i, 0);
    }
    return false;
}

static void find_step(StepSearch *s, PassAheadLoad *l)
{
    s->left = MAX_ASKED;
    const PassAheadStep *bytes = step_of(s, spv_operand(l->inst, 0), MAX_DEPTH);
    bool moves = bytes && !is_constant(bytes, 0), known = bytes;
    for (uint32_t k = 0; k < TENSOR_MAX_DIMENSIONS; k++)
        l->slice[k] = constant_step(s, 0);
    if (l->inst->op == SpvOpCooperativeMatrixLoadTensorNV && bytes) {
        known = slice_steps(s, spv_operand(l->inst, 2), l->slice);
        for (uint32_t k = 0; k < TENSOR_MAX_DIMENSIONS; k++)
            moves |= !is_constant(l->slice[k], 0);
    }
    l->moves = !known ? AHEAD_UNKNOWN : moves ? AHEAD_STEPS : AHEAD_STAYS;
    l->bytes = l->moves == AHEAD_STEPS ? bytes : NULL;
}

static StepSearch open_search(Arena *a, SpvModule *m, const Cfg *g, const CfgLoop *loop)
{
    StepSearch s = { .arena = a, .m = m, .cfg = g, .loop = loop, .left = MAX_ASKED };
    s.latch = loop->latch == UINT32_MAX ? NULL : g->blocks[loop->latch].block;
    return s;
}

bool wait_queues_same(Arena *a, SpvModule *m, const Cfg *g, const CfgLoop *loop, SpvId id)
{
    StepSearch s = open_search(a, m, g, loop);
    return is_same(&s, id, MAX_DEPTH);
}

const PassAheadStep *wait_queues_step(Arena *a, SpvModule *m, const Cfg *g, const CfgLoop *loop,
                                      SpvId id)
{
    StepSearch s = open_search(a, m, g, loop);
    return step_of(&s, id, MAX_DEPTH);
}

static void find_loads(PassWaitQueues *w, Arena *a, SpvModule *m, const Cfg *g, const CfgLoop *loop)
{
    StepSearch s = open_search(a, m, g, loop);
    for (uint32_t k = 0; k < loop->n_blocks; k++) {
        const CfgBlock *b = &g->blocks[loop->blocks[k]];
        for (SpvInst *i = b->block->insts.first; i && b->loop == loop && !b->leaving; i = i->next) {
            if (!wait_queues_may_load(m, i))
                continue;
            PassAheadLoad l = { .inst = i, .loop = loop, .queues = wait_queues_hint(loop) };
            find_step(&s, &l);
            map_put(a, &w->places, i->id, w->loads.len);
            vec_push(a, &w->loads, l);
        }
    }
}

uint32_t wait_queues_hint(const CfgLoop *loop)
{
    const SpvInst *merge = loop->merge_inst;
    if (!merge || !(spv_operand(merge, 2) & SpvLoopControlMultipleWaitQueuesQCOMMask))
        return 0;
    uint32_t n = merge->words[merge->n_words - 1]; /* the highest bit's literal is the last word */
    return n ? MIN(n, WAIT_QUEUES_MOST) : WAIT_QUEUES_GOOD;
}

PassWaitQueues *wait_queues_find(Arena *a, SpvModule *m, const Cfg *g)
{
    PassWaitQueues *w = NEW(a, PassWaitQueues);
    for (uint32_t k = 0; k < g->n_loops; k++)
        if (wait_queues_hint(g->loops[k]))
            find_loads(w, a, m, g, g->loops[k]);
    return w;
}

const PassAheadLoad *wait_queues_load(const PassWaitQueues *w, const SpvInst *i)
{
    uint64_t place;
    return map_get(&w->places, i->id, &place) ? &w->loads.data[place] : NULL;
}
