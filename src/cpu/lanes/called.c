/* SPDX-License-Identifier: MIT
 *
 * Functions that instructions call for the elements of matrices (reductions, per-element
 * operations, decoding). Each becomes an LLVM function over W lanes, with one element a lane.
 *
 * A leaf of a parameter is a scalar if the caller passes one value for all lanes, else <W x T>. For
 * each such signature the function is emitted once, with values, control flow and uniformity of its
 * own. A mask says which lanes have an element. It is always inlined, so that what the caller knows
 * (a row number, a mask of all lanes) is known in it.
 *
 * These functions may not contain tangled instructions (SPV_NV_cooperative_matrix2, 2.16.1), so no
 * lane needs another. They share Private variables with the entry point: a lane uses the copy of
 * the invocation that is this lane.
 */
#include "cpu/lanes/internal.h"

#include <stdio.h>

typedef struct Instance {
    SpvId function;
    uint64_t lanes[4]; /* a bit for each leaf of the arguments: it is <W x T> */
    bool masked, held;
    LT type;
    LV fn;
} Instance;

struct LanesCalled {
    VEC(Instance) list;
};

enum { MOST_ARGUMENTS = 256, MOST_RESULTS = 64 }; /* leaves; lanes_call refuses more */

static const char section[] = "SPV_NV_cooperative_matrix2";

static uint32_t vary(const Uniformity *u, uint8_t *varying, uint32_t bound)
{
    uint32_t more = 0;
    for (uint32_t id = 0; id < bound; id++)
        if (u->varying_variable[id] && !varying[id])
            varying[id] = 1, more++;
    return more;
}

/* A lane of a called function stores to its own copy of a Private variable, so each variable that
 * such a function stores to is varying. */
static void find_stores(SpvModule *m, const SpvFunction *f, uint8_t *varying)
{
    for (const SpvBlock *b = f->first; b; b = b->next)
        for (const SpvInst *i = b->insts.first; i; i = i->next) {
            const SpvInst *p = i->op == SpvOpStore ? pointer_root(m, spv_operand(i, 0)) : NULL;
            if (p && p->op == SpvOpVariable && spv_operand(p, 0) == SpvStorageClassPrivate)
                varying[p->id] = 1;
        }
}

Uniformity *called_uniformity(Arena *a, SpvModule *m, const Cfg *c, uint32_t W, DiagSink *sink)
{
    uint8_t *varying = NEW_ARRAY(a, uint8_t, m->bound);
    UniformityKnown known = { .varying_variable = varying };
    uint32_t more = m->functions->next != NULL;
    Uniformity *u;
    for (const SpvFunction *f = m->functions; f && more; f = f->next)
        if (f != c->function)
            find_stores(m, f, varying);
    do {
        u = uniformity_build_known(a, m, c, W, &known);
        more = more ? vary(u, varying, m->bound) : 0;
        for (SpvFunction *f = m->functions; more && f; f = f->next) {
            Cfg *g = f == c->function ? NULL : cfg_build(a, f, sink);
            if (g)
                vary(uniformity_build_known(a, m, g, W, &known), varying, m->bound);
        }
    } while (more);
    return u;
}

/* Of a leaf of the type that is passed or returned. */
static IrComp comp_of_leaf(Emit *e, const SpvType *t, uint32_t k)
{
    const SpvType *leaf = emit_leaf_type(e, t, k);
    return leaf->kind == SPV_FLOAT || leaf->kind == SPV_INT ? comp_of(leaf) : COMP_COUNT;
}

static LT leaf_type(Emit *e, const SpvType *t, uint32_t k, bool held)
{
    return held && held_is_small(comp_of_leaf(e, t, k))
               ? e->f32
               : emit_scalar_type(e, emit_leaf_type(e, t, k));
}

/* ---- a function's body ----------------------------------------------------------------------- */

void called_return(Emit *e, const SpvInst *i)
{
    const Lanes *lanes = lanes_of(e);
    for (uint32_t k = 0; k < lanes->n_returned; k++) {
        LV x = emit_leaf(e, spv_operand(i, 0), k);
        IrComp c = comp_of_leaf(e, spv_type_of(e->module, spv_operand(i, 0)), k);
        if (lanes->held && held_is_small(c))
            x = held_convert(e, x, c, COMP_F32, false);
        x = emit_lanes(e, x);
        if (e->mask) {
            LV old = LLVMBuildLoad2(e->b, LLVMTypeOf(x), lanes->returned[k], "");
            x = LLVMBuildSelect(e->b, e->mask, x, old, "");
        }
        LLVMBuildStore(e->b, x, lanes->returned[k]);
    }
}

void called_exit(Emit *e)
{
    uint32_t n = lanes_of(e)->n_returned;
    LV *r = NEW_ARRAY(e->arena, LV, n + 1), *from = lanes_of(e)->returned;
    for (uint32_t k = 0; k < n; k++)
        r[k] = LLVMBuildLoad2(e->b, LLVMGetAllocatedType(from[k]), from[k], "");
    if (n)
        LLVMBuildAggregateRet(e->b, r, n);
    else
        LLVMBuildRetVoid(e->b);
}

static LV parameter(Emit *e, const SpvType *t, uint32_t k, LV passed)
{
    IrComp c = comp_of_leaf(e, t, k);
    if (!lanes_of(e)->held || !held_is_small(c))
        return passed;
    LV small = arith_convert(e->b, passed, COMP_F32, c, ROUND_NEAREST, false);
    held_add(e, small, passed, c);
    return small;
}

static void set_parameters(Emit *e, const SpvFunction *f)
{
    uint32_t at = 1;
    for (const SpvInst *i = f->head.first; i; i = i->next) {
        if (i->op != SpvOpFunctionParameter)
            continue;
        uint32_t n = emit_n_leaves(e, spv_type(e->module, i->type));
        LV *leaves = NEW_ARRAY(e->arena, LV, n + 1);
        LLVMBuilderRef b = e->b;
        e->b = e->entry_b;
        for (uint32_t k = 0; k < n; k++)
            leaves[k] = parameter(e, spv_type(e->module, i->type), k, LLVMGetParam(e->fn, at++));
        emit_set_parameter(e, i, leaves);
        e->b = b;
    }
}

static const uint8_t *same_parameters(Emit *e, const SpvFunction *f, const Instance *x)
{
    uint8_t *same = NEW_ARRAY(e->arena, uint8_t, MOST_ARGUMENTS);
    uint32_t at = 0, k = 0;
    for (const SpvInst *i = f->head.first; i; i = i->next) {
        if (i->op != SpvOpFunctionParameter)
            continue;
        uint32_t n = emit_n_leaves(e, spv_type(e->module, i->type));
        bool all = true;
        for (uint32_t j = 0; j < n; j++, at++)
            all &= !(x->lanes[at / 64] >> at % 64 & 1);
        if (k < MOST_ARGUMENTS) /* parameters without leaves count too */
            same[k++] = all;
    }
    return same;
}

static void add_attribute(Emit *e, LV fn, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(e->cx, kind, 0));
}

static bool make_body(Emit *caller, SpvFunction *f, const Instance *x)
{
    Emit *e = arena_copy(caller->arena, caller, sizeof *caller);
    e->caller = caller;
    e->fn = x->fn;
    e->env = LLVMGetParam(e->fn, 0);
    const Lanes *of_caller = lanes_of(caller);
    Lanes *lanes = e->own = NEW(e->arena, Lanes);
    *lanes = (Lanes){ of_caller->kernel,           of_caller->options, of_caller->machine,
                      .called = of_caller->called, .held = x->held,    .counts = of_caller->counts,
                      .rows = of_caller->rows };
    e->mask = NULL;
    e->position = 0;
    UniformityKnown known = { same_parameters(caller, f, x), caller->uniformity->varying_variable };
    e->cfg = cfg_build(e->arena, f, e->sink);
    if (!e->cfg)
        return false;
    e->ahead = wait_queues_find(e->arena, e->module, e->cfg);
    e->uniformity = uniformity_build_known(e->arena, e->module, e->cfg, e->W, &known);
    emit_open_function(e);
    debug_open_function(e, f);
    emit_begin_called(e);
    kept_begin(e);
    variables_lanes_begin_called(e);
    const SpvType *t = spv_type(e->module, f->def->type);
    lanes->n_returned = emit_n_leaves(e, t);
    lanes->returned = NEW_ARRAY(e->arena, LV, lanes->n_returned + 1);
    for (uint32_t k = 0; k < lanes->n_returned; k++)
        lanes->returned[k] =
            emit_alloca(e, emit_lanes_type(e, leaf_type(e, t, k, x->held)), "returned");
    if (x->masked)
        lanes->entry_mask = LLVMGetLastParam(e->fn);
    set_parameters(e, f);
    if (lanes_plan(e))
        lanes_blocks(e);
    emit_close_function(e);
    counters_end(e);
    return !e->failed;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static const Instance *instance(Emit *e, SpvFunction *f, const LanesCall *c)
{
    Lanes *lanes = lanes_of(e);
    Instance key = { .function = c->function, .masked = c->mask != NULL, .held = c->held };
    LT *types = NEW_ARRAY(e->arena, LT, c->n_arguments + 2);
    types[0] = e->ptr;
    for (uint32_t k = 0; k < c->n_arguments; k++) {
        types[1 + k] = LLVMTypeOf(c->arguments[k]);
        key.lanes[k / 64] |= (uint64_t)emit_is_lanes(c->arguments[k]) << k % 64;
    }
    if (!lanes->called)
        lanes->called = NEW(e->arena, struct LanesCalled);
    for (uint32_t k = 0; k < lanes->called->list.len; k++) {
        const Instance *x = &lanes->called->list.data[k];
        if (x->function == key.function && x->masked == key.masked && x->held == key.held &&
            !memcmp(x->lanes, key.lanes, sizeof key.lanes))
            return x;
    }
    const SpvType *t = spv_type(e->module, f->def->type);
    uint32_t n = emit_n_leaves(e, t);
    LT *results = NEW_ARRAY(e->arena, LT, n + 1);
    for (uint32_t k = 0; k < n; k++)
        results[k] = emit_lanes_type(e, leaf_type(e, t, k, key.held));
    types[1 + c->n_arguments] = emit_lanes_type(e, e->i1);
    key.type = LLVMFunctionType(n ? LLVMStructTypeInContext(e->cx, results, n, false) : e->void_,
                                types, c->n_arguments + 1 + key.masked, false);
    char name[48];
    snprintf(name, sizeof name, "element_%u_%u", c->function, lanes->called->list.len);
    key.fn = LLVMAddFunction(e->ll, name, key.type);
    LLVMSetLinkage(key.fn, LLVMInternalLinkage);
    add_attribute(e, key.fn, "alwaysinline");
    vec_push(e->arena, &lanes->called->list, key);
    const Instance *x = arena_copy(e->arena, &key, sizeof key);
    e->failed |= !make_body(e, f, x);
    return x;
}

/* Whether the arguments have the types of the function's parameters. */
static bool fits(Emit *e, const SpvFunction *f, const LanesCall *c)
{
    uint32_t at = 0;
    for (const SpvInst *i = f->head.first; i; i = i->next) {
        if (i->op != SpvOpFunctionParameter)
            continue;
        const SpvType *t = spv_type(e->module, i->type);
        uint32_t n = emit_n_leaves(e, t);
        for (uint32_t k = 0; k < n; k++, at++) {
            LT type = leaf_type(e, t, k, c->held);
            if (at >= c->n_arguments || at >= MOST_ARGUMENTS)
                return false;
            LT is = LLVMTypeOf(c->arguments[at]);
            if ((emit_is_lanes(c->arguments[at]) ? LLVMGetElementType(is) : is) != type)
                return false;
        }
    }
    return at == c->n_arguments &&
           emit_n_leaves(e, spv_type(e->module, f->def->type)) == c->n_results;
}

bool lanes_call(Emit *e, const LanesCall *c)
{
    SpvFunction *f = spv_function(e->module, c->function);
    if (!f || !f->first || c->n_results > MOST_RESULTS || !fits(e, f, c)) {
        emit_error(e, c->inst, section,
                   "the function's parameters and result are not what the instruction passes and "
                   "takes, or more than %u and %u numbers",
                   (uint32_t)MOST_ARGUMENTS, (uint32_t)MOST_RESULTS);
        return false;
    }
    const Instance *x = instance(e, f, c);
    if (e->failed)
        return false;
    LV *args = NEW_ARRAY(e->arena, LV, c->n_arguments + 2);
    args[0] = e->env;
    memcpy(args + 1, c->arguments, c->n_arguments * sizeof *args);
    args[1 + c->n_arguments] = c->mask;
    LV r = LLVMBuildCall2(e->b, x->type, x->fn, args, c->n_arguments + 1 + x->masked, "");
    for (uint32_t k = 0; k < c->n_results; k++)
        c->results[k] = LLVMBuildExtractValue(e->b, r, k, "");
    return true;
}
