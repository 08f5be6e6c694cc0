/* SPDX-License-Identifier: MIT
 *
 * What the first subgroup does for its workgroup, and where the others wait for it. If invocations
 * access elements of a workgroup's matrices themselves, what they do and what the first subgroup
 * does to whole matrices must keep their order: by a barrier where control may come from one to the
 * other. Blocks that do the latter alone have it at their end, or before their first instruction
 * that does, so that a loop over whole matrices has none; if what they do is such that all
 * invocations of a workgroup do it, or none, which nothing else tells of a branch.
 */
#include "cpu/matrix/matrix.h"

#include <stddef.h>

/* By position of blocks. */
struct MatWaits {
    uint8_t *touches;      /* invocations access elements */
    uint8_t *works;        /* all invocations of a workgroup do something to whole matrices */
    uint8_t *before, *end; /* elements are accessed on the way here, on the way from here */
    bool everywhere;       /* around all that is done to whole matrices */
};

/* ---- where elements are accessed ------------------------------------------------------------- */

static const SpvType *chain_matrix(Emit *e, const SpvInst *i)
{
    const SpvInst *v = pointer_root(e->module, spv_operand(i, 0));
    const SpvType *t = v ? spv_type(e->module, v->type) : NULL;
    t = t && t->kind == SPV_POINTER ? t->element : NULL;
    while (t && t->kind == SPV_ARRAY)
        t = t->element;
    return t;
}

static bool is_workgroups(const SpvType *t) { return mat_is(t) && t->scope == SpvScopeWorkgroup; }

/* A pointer to elements of a workgroup's matrix. */
static bool is_element_chain(Emit *e, const SpvInst *i)
{
    if ((i->op != SpvOpAccessChain && i->op != SpvOpInBoundsAccessChain) ||
        !mat_points(e, spv_operand(i, 0)))
        return false;
    return is_workgroups(chain_matrix(e, i)) &&
           spv_type(e->module, i->type)->element->kind != SPV_COOPMAT;
}

/* Whether invocations access their own elements of a workgroup's matrix. */
bool mat_leader_touches(Emit *e, const SpvInst *i)
{
    bool scaled = i->op == SpvOpMatrixTimesScalar;
    switch (i->op) {
    case SpvOpCompositeExtract: return is_workgroups(spv_type_of(e->module, spv_operand(i, 0)));
    case SpvOpCompositeInsert: return is_workgroups(spv_type(e->module, i->type));
    case SpvOpCompositeConstruct:
    case SpvOpCompositeConstructReplicateEXT:
    case SpvOpMatrixTimesScalar:
        return is_workgroups(spv_type(e->module, i->type)) &&
               !matrices_of(e)->same_in_workgroup[spv_operand(i, scaled)];
    default: return is_element_chain(e, i);
    }
}

/* Of a type, or of what a pointer leads to: a workgroup's matrix. */
static bool holds_workgroups(const SpvType *t)
{
    if (!emit_has_matrix(t))
        return false;
    for (uint32_t k = 0; t->kind == SPV_STRUCT && k < t->count; k++)
        if (t->members[k]->kind != SPV_POINTER && holds_workgroups(t->members[k]))
            return true;
    return t->kind == SPV_COOPMAT ? t->scope == SpvScopeWorkgroup
                                  : t->kind != SPV_STRUCT && holds_workgroups(t->element);
}

/* Whether something may be done to a workgroup's matrix. A phi's copies are made at the ends of the
 * blocks before it. */
static bool involves_workgroups(Emit *e, const SpvInst *i)
{
    uint32_t n = 0;
    const uint16_t *at = mat_ids(e, i, &n);
    bool is = i->op != SpvOpPhi && holds_workgroups(spv_type(e->module, i->type));
    for (uint32_t k = 0; k < n && !is && i->op != SpvOpPhi; k++)
        is = holds_workgroups(spv_type_of(e->module, i->words[at[k]]));
    return is;
}

/* What all invocations of a workgroup do, or none. */
static bool is_collective(Emit *e, const SpvInst *i)
{
    switch (i->op) {
    case SpvOpCooperativeMatrixLoadKHR:
    case SpvOpCooperativeMatrixLoadTensorNV:
    case SpvOpCooperativeMatrixStoreKHR:
    case SpvOpCooperativeMatrixStoreTensorNV:
    case SpvOpCooperativeMatrixMulAddKHR:
    case SpvOpCooperativeMatrixPerElementOpNV:
    case SpvOpCooperativeMatrixReduceNV: return involves_workgroups(e, i);
    default: return false;
    }
}

/* By id: pointers to elements. Others than loads and stores might take them anywhere. */
static void mark_uses(Emit *e, struct MatWaits *w, const uint8_t *chains, const SpvInst *i,
                      uint32_t block)
{
    uint32_t n = 0;
    const uint16_t *at = mat_ids(e, i, &n);
    for (uint32_t k = 0; k < n; k++) {
        if (!chains[i->words[at[k]]])
            continue;
        w->touches[block] = true;
        w->everywhere |= i->op != SpvOpLoad && i->op != SpvOpStore;
    }
}

static void mark_blocks(Emit *e, struct MatWaits *w)
{
    uint8_t *chains = NEW_ARRAY(e->arena, uint8_t, e->module->bound);
    for (uint32_t b = 0; b + 1 < e->cfg->n; b++)
        for (SpvInst *i = e->cfg->blocks[b].block->insts.first; i; i = i->next) {
            w->touches[b] |= mat_leader_touches(e, i);
            w->works[b] |= is_collective(e, i);
            if (i->id)
                chains[i->id] = is_element_chain(e, i);
        }
    for (uint32_t b = 0; b + 1 < e->cfg->n; b++)
        for (SpvInst *i = e->cfg->blocks[b].block->insts.first; i; i = i->next)
            mark_uses(e, w, chains, i, b);
}

/* ---- where to wait --------------------------------------------------------------------------- */

/* Whether elements are accessed in a block, or behind it (or before it: what `near` is about) by
 * way of blocks that do nothing to whole matrices. */
static bool leads_to_elements(const struct MatWaits *w, const uint8_t *near, uint32_t block)
{
    return w->touches[block] || (!w->works[block] && near[block]);
}

static bool is_near(Emit *e, const struct MatWaits *w, const uint8_t *near, uint32_t block,
                    bool behind)
{
    const CfgBlock *b = &e->cfg->blocks[block];
    const uint32_t *next = behind ? b->succs : b->preds;
    bool is = false;
    for (uint32_t k = 0; k < (behind ? b->n_succs : b->n_preds) && !is; k++)
        is = leads_to_elements(w, near, next[k]);
    return is;
}

static uint8_t *find_near(Emit *e, const struct MatWaits *w, bool behind)
{
    uint8_t *near = NEW_ARRAY(e->arena, uint8_t, e->cfg->n);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t k = 0; k < e->cfg->n; k++) {
            uint32_t b = behind ? e->cfg->n - 1 - k : k;
            if (!near[b] && is_near(e, w, near, b, behind))
                near[b] = more = true;
        }
    }
    return near;
}

void mat_leader_survey(Emit *e)
{
    struct MatWaits *w = NEW(e->arena, struct MatWaits);
    bool any = false;
    w->touches = NEW_ARRAY(e->arena, uint8_t, e->cfg->n);
    w->works = NEW_ARRAY(e->arena, uint8_t, e->cfg->n);
    mark_blocks(e, w);
    for (uint32_t b = 0; b < e->cfg->n && !any; b++)
        any = w->touches[b];
    if (!any)
        return;
    w->end = find_near(e, w, true);
    w->before = find_near(e, w, false);
    matrices_of(e)->waits = w;
}

/* ---- the first subgroup ---------------------------------------------------------------------- */

/* Whether there is a barrier around each thing that is done to whole matrices. */
static bool is_around(const Emit *e, const struct MatWaits *w)
{
    return w->everywhere || w->touches[e->position] || !w->works[e->position];
}

/* In blocks that do without these. */
static void wait_if(Emit *e, bool wanted)
{
    struct MatWaits *w = matrices_of(e)->waits;
    if (wanted && !is_around(e, w) && mat_workgroup_size(e) > e->W)
        flow_barrier(e);
}

uint8_t *mat_leader_near(Emit *e, uint8_t *touches)
{
    const struct MatWaits *w = matrices_of(e)->waits;
    return w ? find_near(e, &(struct MatWaits){ .touches = touches, .works = w->works }, true)
             : NULL;
}

bool mat_leader_works(const Emit *e, uint32_t block) { return matrices_of(e)->waits->works[block]; }

bool mat_leader_always_waits(const Emit *e)
{
    const struct MatWaits *w = matrices_of(e)->waits;
    return w && w->everywhere;
}

void mat_leader_enters(Emit *e, const SpvInst *i)
{
    struct MatWaits *w = matrices_of(e)->waits;
    if (!w || !w->before[e->position] || !involves_workgroups(e, i))
        return;
    wait_if(e, true);
    w->before[e->position] = false;
}

void matrix_block_end(Emit *e)
{
    matrix_memory_barrier(e);
    mat_forget_filled(e);
    struct MatWaits *w = matrices_of(e) ? matrices_of(e)->waits : NULL;
    if (w)
        mat_open_exposed(e);
    if (w)
        wait_if(e, w->end[e->position]);
}

void mat_leader_edge_end(Emit *e, uint32_t to)
{
    struct MatWaits *w = matrices_of(e)->waits;
    if (w)
        wait_if(e, leads_to_elements(w, w->end, to));
}

MatLeader mat_leader_begin(Emit *e, const SpvType *t)
{
    struct MatWaits *w = matrices_of(e)->waits;
    MatLeader l = { 0 };
    if (t->scope != SpvScopeWorkgroup || mat_workgroup_size(e) <= e->W || matrices_of(e)->leading)
        return l;
    if (w && is_around(e, w))
        flow_barrier(e);
    LV subgroup = lanes_env(e, e->entry_b, e->i32, offsetof(CpuEnv, subgroup));
    LV zero = ir_int(e->i32, 0);
    l.on = matrices_of(e)->leading = true;
    l.f = if_begin(e, LLVMBuildICmp(e->b, LLVMIntEQ, subgroup, zero, ""));
    return l;
}

void mat_leader_end(Emit *e, MatLeader *l)
{
    struct MatWaits *w = matrices_of(e)->waits;
    if (!l->on)
        return;
    if_end(e, &l->f);
    matrices_of(e)->leading = false;
    if (w && is_around(e, w))
        flow_barrier(e);
}
