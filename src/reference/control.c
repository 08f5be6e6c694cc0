/* SPDX-License-Identifier: MIT
 *
 * Control flow (SPIR-V 3.3.17), calls and the variables of functions. A frame is a range of slots,
 * of loop counters, of memory and of objects; since there is no recursion, each invocation has room
 * for the deepest chain of calls from the start.
 */
#include "reference/machine.h"

/* Phis read all their operands before any is written. */
void inv_jump(RMachine *m, RInv *v, const REdge *e)
{
    if (e->n_copies == 1) {
        const RPhiCopy *c = e->copies;
        memmove(leaf(v, c->dst), leaf(v, c->src), c->n * sizeof(uint64_t));
        memmove(unset(v, c->dst), unset(v, c->src), c->n);
    } else if (e->n_copies) {
        uint32_t at = 0;
        for (uint32_t k = 0; k < e->n_copies; k++) {
            const RPhiCopy *c = &e->copies[k];
            memcpy(m->copy_v + at, leaf(v, c->src), c->n * sizeof(uint64_t));
            memcpy(m->copy_u + at, unset(v, c->src), c->n);
            at += c->n;
        }
        at = 0;
        for (uint32_t k = 0; k < e->n_copies; k++) {
            const RPhiCopy *c = &e->copies[k];
            memcpy(leaf(v, c->dst), m->copy_v + at, c->n * sizeof(uint64_t));
            memcpy(unset(v, c->dst), m->copy_u + at, c->n);
            at += c->n;
        }
    }
    if (e->level) {
        uint32_t *iters = v->iters + v->frames[v->n_frames - 1].iters + e->level - 1;
        *iters = e->back ? *iters + 1 : 0;
    }
    v->pc = e->to->first;
    if (e->back)
        endless_turn(m, v, e);
}

static RStep step_branch(RMachine *m, RInv *v, const RInst *i)
{
    inv_jump(m, v, i->aux);
    return STEP_JUMP;
}

static RStep step_branch_conditional(RMachine *m, RInv *v, const RInst *i)
{
    const REdge *e = i->aux;
    if (*unset(v, i->ops[0]))
        matters(m, v, i, i->ops[0], 1, "decides a branch");
    inv_jump(m, v, *leaf(v, i->ops[0]) ? &e[0] : &e[1]);
    return STEP_JUMP;
}

static bool prepare_condition(RMachine *m, RInst *i)
{
    bool fits = i->at && i->at->leaves == 1 && i->n_ops &&
                ref_of(m, spv_operand(i->src, 0)) != REF_NONE &&
                i->at->kind == (i->op == SpvOpSwitch ? SPV_INT : SPV_BOOL);
    if (!fits)
        refuse(m, i->src, "what decides the branch is not a %s",
               i->op == SpvOpSwitch ? "scalar integer" : "boolean");
    return fits;
}

static RStep step_switch(RMachine *m, RInv *v, const RInst *i)
{
    const REdge *e = i->aux;
    uint64_t x = *leaf(v, i->ops[0]);
    uint32_t wide = i->sbits > 32 ? 2 : 1, which = 0;
    if (*unset(v, i->ops[0]))
        matters(m, v, i, i->ops[0], 1, "decides a branch");
    for (uint32_t k = 2, c = 1; k + wide < i->n_ops; k += wide + 1, c++) {
        uint64_t value = i->ops[k];
        if (wide == 2)
            value |= (uint64_t)i->ops[k + 1] << 32;
        if ((value & mask_bits(i->sbits)) == x) {
            which = c;
            break;
        }
    }
    inv_jump(m, v, &e[which]);
    return STEP_JUMP;
}

static void set_frame(RInv *v)
{
    const RFrame *f = &v->frames[v->n_frames - 1];
    v->base[0] = v->slots + f->base;
    v->ubase[0] = v->undef + f->base;
}

RStep inv_enter(RMachine *m, RInv *v, RFunc *f, uint32_t return_pc, Ref result, uint32_t n_leaves)
{
    RFrame *new = &v->frames[v->n_frames];
    *new =
        (RFrame){ .function = f, .return_pc = return_pc, .result = result, .n_leaves = n_leaves };
    if (v->n_frames) {
        const RFrame *old = new - 1;
        new->base = old->base + old->function->slots;
        new->iters = old->iters + old->function->max_depth;
        new->objects = old->objects + old->function->n_variables;
        new->memory = old->memory + old->function->memory;
    } else {
        new->objects = m->local_objects.len;
        new->memory = m->local_bytes;
    }
    v->n_frames++;
    v->n_objects = new->objects + f->n_variables;
    for (uint32_t k = new->objects; k < v->n_objects; k++)
        v->objects[k].size = 0;
    memset(v->iters + new->iters, 0, f->max_depth * sizeof(uint32_t));
    v->pc = f->first;
    return STEP_JUMP;
}

static RStep step_call(RMachine *m, RInv *v, const RInst *i)
{
    RFunc *f = i->aux;
    const uint64_t *from = v->base[0], *constants = v->base[1];
    const uint8_t *ufrom = v->ubase[0], *uconstants = v->ubase[1];
    inv_enter(m, v, f, v->pc + 1, i->dst, i->type ? i->n : 0);
    set_frame(v);
    for (uint32_t k = 0; k < f->n_params; k++) {
        Ref r = i->ops[k + 1];
        uint32_t at = r & 0x7fffffff, n = f->param_types[k]->leaves;
        memcpy(leaf(v, f->params[k]), (r & REF_CONST ? constants : from) + at,
               n * sizeof(uint64_t));
        memcpy(unset(v, f->params[k]), (r & REF_CONST ? uconstants : ufrom) + at, n);
    }
    return STEP_JUMP;
}

static bool prepare_call(RMachine *m, RInst *i)
{
    RFunc *f = i->n_ops ? decode_find(m, spv_operand(i->src, 0)) : NULL;
    uint32_t k = 1;
    if (!f) {
        refuse(m, i->src, "call of something that is not a function");
        return false;
    }
    for (SpvInst *p = f->src->head.first; p; p = p->next) {
        if (p->op != SpvOpFunctionParameter)
            continue;
        const RType *want = type_get(m, p->type), *got = NULL;
        if (k < i->n_ops && ref_of(m, spv_operand(i->src, k)) != REF_NONE)
            got = type_of(m, spv_operand(i->src, k));
        if (!want || !got || want->leaves != got->leaves || want->kind != got->kind) {
            refuse(m, i->src, "argument %u does not match its parameter", k - 1);
            return false;
        }
        k++;
    }
    const RType *result = type_get(m, f->src->def->type);
    if (k != i->n_ops || !result || result->leaves != i->type->leaves) {
        refuse(m, i->src, "the call does not match the function's type");
        return false;
    }
    i->n = i->type->leaves;
    i->aux = f;
    vec_push(m->arena, &i->block->function->callees, f);
    return true;
}

static RStep step_return(RMachine *m, RInv *v, const RInst *i)
{
    RFrame done = v->frames[v->n_frames - 1];
    uint64_t *from = i->n_ops ? leaf(v, i->ops[0]) : NULL;
    uint8_t *ufrom = i->n_ops ? unset(v, i->ops[0]) : NULL;
    (void)m;
    if (--v->n_frames == 0) {
        v->n_frames = 1;
        return STEP_DONE;
    }
    v->n_objects = done.objects;
    set_frame(v);
    if (from && done.n_leaves) {
        memmove(leaf(v, done.result), from, done.n_leaves * sizeof(uint64_t));
        memmove(unset(v, done.result), ufrom, done.n_leaves);
    }
    v->pc = done.return_pc;
    return STEP_JUMP;
}

void inv_call(RMachine *m, RInv *v, RFunc *f, const RCallArg *args, Ref result, uint32_t n_leaves)
{
    const uint32_t frames = v->n_frames, objects = v->n_objects, pc = v->pc;
    const uint64_t budget = m->d->budget ? m->d->budget : REF_BUDGET, began = v->steps;
    if (m->stop)
        return;
    endless_forget(v);
    inv_enter(m, v, f, pc, result, n_leaves);
    set_frame(v);
    for (uint32_t k = 0; k < f->n_params; k++) {
        memcpy(leaf(v, f->params[k]), args[k].x, f->param_types[k]->leaves * sizeof(uint64_t));
        memcpy(unset(v, f->params[k]), args[k].undef, f->param_types[k]->leaves);
    }
    while (v->n_frames > frames && !m->stop) {
        const RInst *i = &m->code.data[v->pc];
        if (!inv_may_step(m, v, i, budget))
            break;
        RStep s = i->run(m, v, i);
        if (s == STEP_NEXT || s == STEP_SWITCH)
            v->pc++;
        if (s == STEP_WAIT)
            found(m, v, i, REF_UNSUPPORTED,
                  "%s is a tangled instruction, which a function called for an element of a matrix "
                  "must not have",
                  spv_op_name(i->op));
        m->stop |= s == STEP_WAIT;
        if (s == STEP_DONE)
            break;
        if (endless_circles(m, v) && !m->stop)
            endless_found(m, v, "nobody changes what it waits for");
    }
    v->n_frames = frames; /* however deep it was left */
    v->n_objects = objects;
    v->pc = pc;
    set_frame(v);
    inv_account(m, v, began);
}

RFunc *inv_callee(RMachine *m, RInst *i, SpvId function, const RType *result,
                  const RType *const *params, uint32_t n)
{
    RFunc *f = decode_find(m, function);
    uint32_t k = 0;
    if (!f) {
        refuse(m, i->src, "%%%u is not a function", function);
        return NULL;
    }
    const RType *got = type_get(m, f->src->def->type);
    bool fits = got && got->leaves == result->leaves && got->kind == result->kind;
    for (SpvInst *p = f->src->head.first; p; p = p->next) {
        if (p->op != SpvOpFunctionParameter)
            continue;
        got = type_get(m, p->type);
        fits = fits && got && k < n && got->leaves == params[k]->leaves &&
               got->kind == params[k]->kind;
        k++;
    }
    if (!fits || k != n) {
        refuse(m, i->src, "the function '%s' does not have the parameters and the result asked for",
               name_of(m, function));
        return NULL;
    }
    vec_push(m->arena, &i->block->function->callees, f);
    return f;
}

static bool prepare_return(RMachine *m, RInst *i)
{
    const RType *t = type_get(m, i->block->function->src->def->type);
    uint32_t want = t ? t->leaves : 0;
    bool fits = i->op == SpvOpReturn
                    ? want == 0
                    : i->n_ops && prepare_value(m, i) && i->at && i->at->leaves == want;
    if (!fits)
        refuse(m, i->src, "what is returned does not match the function's type");
    return fits;
}

static RStep step_terminate(RMachine *m, RInv *v, const RInst *i)
{
    if (i->op == SpvOpUnreachable)
        found(m, v, i, REF_UNDEFINED, "OpUnreachable was reached");
    return STEP_DONE;
}

static RStep step_undef(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    memset(leaf(v, i->dst), 0, i->n * sizeof(uint64_t));
    memset(unset(v, i->dst), 1, i->n);
    return STEP_NEXT;
}

RStep step_nothing(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    (void)v;
    (void)i;
    return STEP_NEXT;
}

static RStep step_assume(RMachine *m, RInv *v, const RInst *i)
{
    if (!*leaf(v, i->ops[0]) && !*unset(v, i->ops[0]))
        found(m, v, i, REF_RANGE, "an assumption does not hold");
    return STEP_NEXT;
}

static RStep step_clock(RMachine *m, RInv *v, const RInst *i)
{
    uint64_t now = m->instructions + v->steps;
    m->changes++;
    leaf(v, i->dst)[0] = i->n == 2 ? now & 0xffffffff : now;
    unset(v, i->dst)[0] = 0;
    if (i->n == 2) {
        leaf(v, i->dst)[1] = now >> 32;
        unset(v, i->dst)[1] = 0;
    }
    return STEP_NEXT;
}

static bool prepare_clock(RMachine *m, RInst *i)
{
    (void)m;
    return i->n == 1 || i->n == 2;
}

/* ---- variables of functions ------------------------------------------------------------------ */

typedef struct Variable {
    uint64_t offset;
    const RType *type;
    uint32_t index;
    Ref init;
} Variable;

static RStep step_variable(RMachine *m, RInv *v, const RInst *i)
{
    const Variable *x = i->aux;
    const RFrame *f = &v->frames[v->n_frames - 1];
    uint64_t at = f->memory + x->offset;
    uint32_t index = f->objects + x->index;
    (void)m;
    v->objects[index] = (RLocalObject){ at, x->type->size, i->src->id };
    leaf(v, i->dst)[0] = LOCAL_BASE + at;
    leaf(v, i->dst)[1] = PTR_LOCAL | index;
    memset(unset(v, i->dst), 0, 2);
    memset(v->memory + at, 0, x->type->size);
    memset(v->memory_undef + at, 1, x->type->size);
    if (x->init != REF_NONE)
        mem_initialize(x->type, leaves_at(v, x->init), v->memory + at, v->memory_undef + at);
    return STEP_NEXT;
}

static bool prepare_variable(RMachine *m, RInst *i)
{
    RFunc *f = i->block->function;
    if (i->type->kind != SPV_POINTER || i->n_ops < 1 || i->ops[0] != SpvStorageClassFunction) {
        refuse(m, i->src, "a variable in a function must be of storage class Function");
        return false;
    }
    const RType *t = type_get(m, i->type->pointee);
    if (!t)
        return false;
    if (!t->size && t->kind != SPV_STRUCT && t->kind != SPV_ARRAY) {
        refuse(m, i->src, "variables of this type (images, samplers...) are not supported");
        return false;
    }
    Variable *x = NEW(m->arena, Variable);
    x->type = t;
    x->index = f->n_variables++;
    x->offset = align_up(f->memory, 16);
    x->init = REF_NONE;
    if (x->offset + t->size > (1ull << 32)) {
        refuse(m, i->src, "the function's variables take too much memory");
        return false;
    }
    f->memory = align_up(x->offset + t->size, 16);
    if (i->n_ops > 1) {
        SpvId init = spv_operand(i->src, 1);
        if (ref_of(m, init) == REF_NONE || type_of(m, init)->leaves != t->leaves) {
            refuse(m, i->src, "the initializer is not a constant of the variable's type");
            return false;
        }
        x->init = m->refs[init];
    }
    i->aux = x;
    return true;
}

/* clang-format off */
static const ROpRow rows[] = {
    { SpvOpBranch, step_branch, NULL, NULL, 0 },
    { SpvOpBranchConditional, step_branch_conditional, prepare_condition, NULL, 0 },
    { SpvOpSwitch, step_switch, prepare_condition, NULL, 0 },
    { SpvOpReturn, step_return, prepare_return, NULL, 0 },
    { SpvOpReturnValue, step_return, prepare_return, NULL, 0 },
    { SpvOpKill, step_terminate, NULL, NULL, 0 },
    { SpvOpTerminateInvocation, step_terminate, NULL, NULL, 0 },
    { SpvOpUnreachable, step_terminate, NULL, NULL, 0 },
    { SpvOpFunctionCall, step_call, prepare_call, NULL, 0 },
    { SpvOpVariable, step_variable, prepare_variable, NULL, 0 },
    { SpvOpUndef, step_undef, NULL, NULL, 0 },
    { SpvOpPoisonKHR, step_undef, NULL, NULL, 0 },
    { SpvOpLifetimeStart, step_nothing, NULL, NULL, 0 },
    { SpvOpLifetimeStop, step_nothing, NULL, NULL, 0 },
    { SpvOpAssumeTrueKHR, step_assume, prepare_value, NULL, 0 },
    { SpvOpReadClockKHR, step_clock, prepare_clock, NULL, 0 },
};
/* clang-format on */
const ROpTable ref_control_ops = { rows, COUNT_OF(rows) };
