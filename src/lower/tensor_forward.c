/* SPDX-License-Identifier: MIT
 *
 * tensor_forward: layouts and views that compilers keep in variables. In: a function. Out: a load
 * of one is the value that was stored, where one store is the last before it whatever way is
 * taken; so what is known of the words shows where they are used.
 */
#include "lower/tensor.h"

typedef struct Forward {
    Lower *l;
    const Cfg *g;
    PassIdWords *ids;
    VEC(SpvInst *) stores; /* of one variable */
    VEC(SpvInst *) loads;
} Forward;

static uint32_t position(const Forward *f, const SpvInst *i)
{
    return f->g->position[i->block->index];
}

static bool comes_before(const Forward *f, const SpvInst *a, const SpvInst *b)
{
    if (a->block != b->block)
        return cfg_dominates(f->g, position(f, a), position(f, b));
    while (a && a != b)
        a = a->next;
    return a;
}

static bool is_in_loop(const Forward *f, const SpvInst *i)
{
    for (uint32_t k = 0; k < f->g->n_loops; k++)
        if (cfg_in_loop(f->g->loops[k], f->g, position(f, i)))
            return true;
    return false;
}

/* The store that dominates the load and that all others dominate, or that come only behind it. One
 * that dominates another does not reach past it: a way around that one would begin at the
 * function's entry as well. */
static const SpvInst *last_before(const Forward *f, const SpvInst *load)
{
    const SpvInst *last = NULL;
    for (uint32_t k = 0; k < f->stores.len; k++) {
        const SpvInst *s = f->stores.data[k];
        if (comes_before(f, s, load) && (!last || comes_before(f, last, s)))
            last = s;
    }
    for (uint32_t k = 0; last && k < f->stores.len; k++) {
        const SpvInst *s = f->stores.data[k];
        bool behind = comes_before(f, load, s) && !is_in_loop(f, load);
        if (s != last && !behind && !comes_before(f, s, last))
            return NULL;
    }
    return last;
}

/* False: something else is done with it as well. */
static bool collect(Forward *f, SpvFunction *function, SpvId variable)
{
    f->stores.len = f->loads.len = 0;
    for (SpvBlock *b = function->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next) {
            bool uses = false;
            edit_ids(i, f->ids);
            for (uint32_t k = 0; k < f->ids->n; k++)
                uses |= i->words[f->ids->at[k]] == variable;
            if (!uses)
                continue;
            if (f->g->position[b->index] == UINT32_MAX)
                return false;
            if (i->op == SpvOpLoad)
                vec_push(f->l->scratch, &f->loads, i);
            else if (i->op == SpvOpStore && spv_operand(i, 0) == variable)
                vec_push(f->l->scratch, &f->stores, i);
            else
                return false;
        }
    return true;
}

static void forward(Forward *f, SpvFunction *function, const SpvInst *variable)
{
    if (!collect(f, function, variable->id))
        return;
    for (uint32_t k = 0; k < f->loads.len; k++) {
        const SpvInst *s = last_before(f, f->loads.data[k]);
        if (s)
            build_replace(f->l, f->loads.data[k], spv_operand(s, 1));
    }
}

void lower_tensor_forward(Lower *l, SpvFunction *function)
{
    Forward f = { .l = l };
    LowerTensorType t;
    for (SpvInst *i = function->first->insts.first, *next; i; i = next) {
        next = i->next;
        if (i->op != SpvOpVariable || spv_n_operands(i) > 1 ||
            !lower_tensor_type(l, spv_type(l->m, i->type)->element->id, &t))
            continue;
        if (!f.g) {
            spv_number_blocks(function);
            f.g = cfg_build(l->scratch, function, l->sink);
            f.ids = NEW(l->scratch, PassIdWords);
        }
        if (!f.g)
            return;
        forward(&f, function, i);
    }
}
