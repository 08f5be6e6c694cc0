/* SPDX-License-Identifier: MIT
 *
 * Checks functions: signatures and calls agree in number, terminators and merges name labels of
 * their own function (never its first block), merges are where they are allowed, a phi has one
 * value for each predecessor, and no instruction uses ids of another function. Phis are checked
 * against lists of predecessors, so that the time is linear in the function's size whatever its
 * shape.
 */
#include <stdio.h>

#include "spirv/internal.h"

typedef struct FlowCheck {
    SpvModule *m;
    DiagSink *sink;
    SpvFunction *f;
    SpvFunction **owner; /* by id: the function that it belongs to */
    uint32_t *n_preds;   /* by block, edges counted */
    SpvEdges edges;
    uint32_t *is_pred, *seen; /* by block: stamps */
    uint32_t stamp;
} FlowCheck;

static bool flow_fail(FlowCheck *w, const SpvInst *i, const char *rule, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
static bool flow_fail(FlowCheck *w, const SpvInst *i, const char *rule, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    spv_error(w->m, i, w->sink, rule, "%s", text);
    return false;
}

static SpvBlock *label_block(FlowCheck *w, SpvId id)
{
    SpvInst *def = spv_def(w->m, id);
    return def && def->op == SpvOpLabel && def->block && def->block->function == w->f ? def->block
                                                                                      : NULL;
}

/* ---- edges ----------------------------------------------------------------------------------- */

bool spv_label_operands(const SpvInst *i, uint32_t *from, uint32_t *step, uint32_t *end)
{
    *step = 1;
    *end = spv_n_operands(i);
    switch (i->op) {
    case SpvOpBranch: *from = 0; return true;
    case SpvOpBranchConditional:
        *from = 1;
        *end = 3;
        return true;
    case SpvOpSwitch:
        *from = 1;
        *step = 1u + i->literal_words;
        return true;
    case SpvOpLoopMerge:
        *from = 0;
        *end = 2;
        return true;
    case SpvOpSelectionMerge:
        *from = 0;
        *end = 1;
        return true;
    default: return false;
    }
}

static bool check_labels(FlowCheck *w, const SpvInst *i)
{
    uint32_t from, step, end;
    if (!spv_label_operands(i, &from, &step, &end))
        return true;
    for (uint32_t k = from; k < end; k += step) {
        const SpvBlock *b = label_block(w, spv_operand(i, k));
        if (!b)
            return flow_fail(w, i, "SPIR-V 2.16.1", "%%%u is not a label of this function",
                             spv_operand(i, k));
        if (b == w->f->first)
            return flow_fail(w, i, "SPIR-V 2.16.1", "%%%u is the function's first block", b->id);
    }
    return true;
}

static bool check_merge(FlowCheck *w, const SpvInst *i)
{
    if (i->op != SpvOpLoopMerge && i->op != SpvOpSelectionMerge)
        return true;
    bool branch = i->next && (i->next->op == SpvOpBranch || i->next->op == SpvOpBranchConditional ||
                              i->next->op == SpvOpSwitch);
    return branch ||
           flow_fail(w, i, "SPIR-V 2.16.2", "a merge instruction stands right before a branch");
}

static void count_edges(FlowCheck *w, const SpvInst *end, bool store)
{
    uint32_t from, step, stop;
    if (!spv_label_operands(end, &from, &step, &stop))
        return;
    for (uint32_t k = from; k < stop; k += step) {
        uint32_t to = label_block(w, spv_operand(end, k))->index;
        if (store)
            w->edges.ends[w->edges.first[to] + --w->n_preds[to]] = end->block->index;
        else
            w->n_preds[to]++;
    }
}

static void collect_preds(FlowCheck *w)
{
    uint32_t n = w->f->n_blocks, edges = 0;
    w->n_preds = NEW_ARRAY(w->m->arena, uint32_t, n);
    w->edges.first = NEW_ARRAY(w->m->arena, uint32_t, n + 1);
    w->is_pred = NEW_ARRAY(w->m->arena, uint32_t, n);
    w->seen = NEW_ARRAY(w->m->arena, uint32_t, n);
    w->stamp = 0;
    for (SpvBlock *b = w->f->first; b; b = b->next)
        count_edges(w, b->insts.last, false);
    for (uint32_t k = 0; k < n; k++) {
        w->edges.first[k] = edges;
        edges += w->n_preds[k];
    }
    w->edges.first[n] = edges;
    w->edges.ends = NEW_ARRAY(w->m->arena, uint32_t, edges + 1);
    for (SpvBlock *b = w->f->first; b; b = b->next)
        count_edges(w, b->insts.last, true);
}

/* ---- phis ------------------------------------------------------------------------------------ */

/* Stamps the block's predecessors; returns how many there are, parallel edges counted once. */
static uint32_t mark_preds(FlowCheck *w, const SpvBlock *b, uint32_t stamp)
{
    uint32_t n = 0;
    for (uint32_t k = w->edges.first[b->index]; k < w->edges.first[b->index + 1]; k++) {
        uint32_t p = w->edges.ends[k];
        if (w->is_pred[p] != stamp)
            n++;
        w->is_pred[p] = stamp;
    }
    return n;
}

static bool check_phi(FlowCheck *w, const SpvInst *i, uint32_t n_preds, uint32_t preds_stamp)
{
    uint32_t stamp = ++w->stamp, n = spv_n_operands(i) / 2;
    for (uint32_t k = 0; k < n; k++) {
        SpvId parent = spv_operand(i, 2 * k + 1);
        const SpvBlock *b = label_block(w, parent);
        if (!b || w->is_pred[b->index] != preds_stamp)
            return flow_fail(w, i, "SPIR-V 3.56.17", "%%%u is not a predecessor of this block",
                             parent);
        if (w->seen[b->index] == stamp)
            return flow_fail(w, i, "SPIR-V 3.56.17", "the predecessor %%%u is named twice", parent);
        w->seen[b->index] = stamp;
    }
    return n == n_preds ||
           flow_fail(w, i, "SPIR-V 3.56.17", "%u values for %u predecessors", n, n_preds);
}

static bool check_phis(FlowCheck *w, const SpvBlock *b)
{
    bool in_phis = true;
    uint32_t stamp = 0, n_preds = 0;
    for (const SpvInst *i = b->insts.first->next; i; i = i->next) {
        if (i->op != SpvOpPhi) {
            if (i->op != SpvOpLine && i->op != SpvOpNoLine && i->op != SpvOpExtInst)
                in_phis = false;
            continue;
        }
        if (!in_phis)
            return flow_fail(w, i, "SPIR-V 2.4",
                             "a phi comes after other instructions of its block");
        if (b == w->f->first)
            return flow_fail(w, i, "SPIR-V 2.4", "a phi in the function's first block");
        if (!stamp)
            n_preds = mark_preds(w, b, stamp = ++w->stamp);
        if (!check_phi(w, i, n_preds, stamp))
            return false;
    }
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool check_callee(FlowCheck *w, const SpvInst *i, uint32_t operand, int64_t n_arguments)
{
    const SpvInst *callee = spv_def(w->m, spv_operand(i, operand));
    if (callee->op != SpvOpFunction)
        return flow_fail(w, i, NULL, "%%%u is %s, not a function", spv_operand(i, operand),
                         spv_op_name(callee->op));
    const SpvType *t = spv_type(w->m, spv_operand(callee, 1));
    if (n_arguments >= 0 && t && t->count != n_arguments)
        return flow_fail(w, i, NULL, "%d arguments for the %u parameters of %%%u", (int)n_arguments,
                         t->count, callee->id);
    return true;
}

static bool check_calls(FlowCheck *w, const SpvInst *i)
{
    switch (i->op) {
    case SpvOpFunctionCall: return check_callee(w, i, 0, (int64_t)spv_n_operands(i) - 1);
    case SpvOpCooperativeMatrixReduceNV: return check_callee(w, i, 2, -1);
    case SpvOpCooperativeMatrixPerElementOpNV: return check_callee(w, i, 1, -1);
    case SpvOpExtInst: {
        const SpvInst *set = spv_def(w->m, spv_operand(i, 0));
        return set->op == SpvOpExtInstImport ||
               flow_fail(w, i, NULL, "%%%u is not an OpExtInstImport", set->id);
    }
    case SpvOpLine: {
        const SpvInst *file = spv_def(w->m, spv_operand(i, 0));
        return file->op == SpvOpString ||
               flow_fail(w, i, NULL, "%%%u is not an OpString", file->id);
    }
    default: return true;
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool check_signature(FlowCheck *w)
{
    const SpvInst *def = w->f->def;
    const SpvType *t = spv_type(w->m, spv_operand(def, 1));
    uint32_t n = 0;
    if (!t || t->kind != SPV_FUNCTION)
        return flow_fail(w, def, NULL, "its function type %%%u is none", spv_operand(def, 1));
    if (t->result->id != def->type)
        return flow_fail(w, def, NULL, "its result type %%%u is not its function type's, %%%u",
                         def->type, t->result->id);
    for (const SpvInst *i = w->f->head.first; i; i = i->next) {
        if (i->op != SpvOpFunctionParameter)
            continue;
        if (n >= t->count || t->members[n]->id != i->type)
            return flow_fail(w, i, NULL, "parameter %u does not agree with the function type", n);
        n++;
    }
    return n == t->count ||
           flow_fail(w, def, NULL, "%u parameters where its function type has %u", n, t->count);
}

/* A value of another function, an id before the function that defines it. */
static bool check_owners(FlowCheck *w, const SpvInst *i)
{
    SpvOperand o;
    for (SpvWalk x = spv_walk(i); spv_walk_next(&x, &o);) {
        SpvId id = i->words[o.word];
        if (o.is_id && w->owner[id] && w->owner[id] != w->f)
            return flow_fail(w, i, "SPIR-V 2.16.1", "%%%u belongs to another function", id);
    }
    return true;
}

static bool check_function(FlowCheck *w)
{
    if (!check_signature(w))
        return false;
    for (const SpvBlock *b = w->f->first; b; b = b->next)
        for (const SpvInst *i = b->insts.first; i; i = i->next)
            if (!check_labels(w, i) || !check_merge(w, i) || !check_calls(w, i) ||
                !check_owners(w, i))
                return false;
    if (!w->f->first)
        return true;
    collect_preds(w);
    for (const SpvBlock *b = w->f->first; b; b = b->next)
        if (!check_phis(w, b))
            return false;
    return spv_check_dominance(w->m, w->f, &w->edges, w->sink);
}

static void own_list(FlowCheck *w, const SpvInstList *l, SpvFunction *f)
{
    for (const SpvInst *i = l->first; i; i = i->next)
        if (i->id && i->op != SpvOpFunction)
            w->owner[i->id] = f;
}

static bool check_preamble(FlowCheck *w)
{
    for (const SpvInst *i = w->m->globals.first; i; i = i->next) {
        uint32_t flags = spv_op_info(i->op)->flags;
        if (i->op == SpvOpEntryPoint && !check_callee(w, i, 1, -1))
            return false;
        if (!(flags & (SPV_OPF_DEBUG | SPV_OPF_ANNOTATION)) && i->op != SpvOpExtInst &&
            !check_owners(w, i))
            return false;
    }
    return true;
}

bool spv_check_flow(SpvModule *m, DiagSink *sink)
{
    FlowCheck w = { .m = m, .sink = sink, .owner = NEW_ARRAY(m->arena, SpvFunction *, m->bound) };
    for (SpvFunction *f = m->functions; f; f = f->next) {
        own_list(&w, &f->head, f);
        for (SpvBlock *b = f->first; b; b = b->next)
            own_list(&w, &b->insts, f);
    }
    if (!check_preamble(&w))
        return false;
    for (w.f = m->functions; w.f; w.f = w.f->next)
        if (!check_function(&w))
            return false;
    return true;
}
