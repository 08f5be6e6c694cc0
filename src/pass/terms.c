/* SPDX-License-Identifier: MIT
 *
 * terms: polynomials (analysis/polynomial.c) as instructions. What their terms are of may have been
 * computed in a loop that is over; it is computed again then.
 */
#include "pass/edit.h"

SpvId terms_put(const PassTerms *w, uint16_t op, SpvId type, SpvId x, SpvId y)
{
    return spv_put(w->copies->m, w->at, op, type, (uint32_t[]){ x, y }, y ? 2 : 1)->id;
}

SpvId terms_times(const PassTerms *w, SpvId x, uint64_t n)
{
    return n == 1 ? x
                  : terms_put(w, SpvOpIMul, w->type, x, spv_int_constant(w->copies->m, w->type, n));
}

SpvId terms_sum(const PassTerms *w, SpvId x, SpvId y)
{
    return x && y ? terms_put(w, SpvOpIAdd, w->type, x, y) : x ? x : y;
}

SpvId terms_as_wide(const PassTerms *w, SpvId x)
{
    SpvModule *m = w->copies->m;
    uint32_t bits = spv_type(m, w->type)->bits;
    if (spv_type_of(m, x)->bits == bits)
        return x;
    return terms_put(w, SpvOpUConvert, spv_int_type(m, bits, false), x, 0);
}

SpvId terms_local(const PassTerms *w, uint64_t k)
{
    SpvModule *m = w->copies->m;
    SpvId u32 = spv_int_type(m, 32, false), v3 = spv_vector_type(m, u32, 3);
    SpvId v = edit_builtin(m, w->copies->c->entry.inst, SpvBuiltInLocalInvocationId, v3);
    SpvId all = terms_put(w, SpvOpLoad, spv_type_of(m, v)->element->id, v, 0);
    return spv_put(m, w->at, SpvOpCompositeExtract, spv_type_of(m, all)->element->id,
                   (uint32_t[]){ all, (uint32_t)k }, 2)
        ->id;
}

/* It is computed in a loop that is over, which may go if it can be computed again. */
static bool is_left_behind(const PassTerms *w, const SpvInst *i)
{
    const Cfg *g = w->copies->g;
    const CfgLoop *loop = g->blocks[g->position[i->block->index]].loop;
    bool again =
        i->op != SpvOpPhi && (spv_is_pure(i) || spv_is_chain(i) || loads_constant(w->copies->m, i));
    return again && loop && !cfg_in_loop(loop, g, g->position[w->at->block->index]);
}

/* The value where the instructions are. */
static SpvId value_here(const PassTerms *w, SpvId id)
{
    SpvModule *m = w->copies->m;
    const SpvInst *i = spv_def(m, id);
    SpvOperand o;
    if (!i->block || (!is_left_behind(w, i) && copies_in_order(w->copies, i, w->at)))
        return id;
    SpvInst *again = edit_another(m, i);
    for (SpvWalk walk = spv_walk(i); spv_walk_next(&walk, &o);)
        if (o.is_id)
            again->words[o.word] = value_here(w, i->words[o.word]);
    spv_insert_before(w->at, again);
    return again->id;
}

/* As the reader of copies.c takes it: an invocation's number in the dispatch stands for that of its
 * workgroup's first. */
static SpvId factor(const PassTerms *w, SpvId id)
{
    uint64_t k;
    SpvId x = value_here(w, id);
    if (!copies_is_global(w->copies, spv_def(w->copies->m, id), &k))
        return x;
    return terms_put(w, SpvOpISub, spv_def(w->copies->m, x)->type, x,
                     terms_as_wide(w, terms_local(w, k)));
}

SpvId terms_product(const PassTerms *w, const PolynomialTerm *t)
{
    SpvId r = 0;
    for (uint32_t k = 0; k < POLYNOMIAL_FACTORS; k++)
        if (t->of[k])
            r = r ? terms_put(w, SpvOpIMul, w->type, r, factor(w, t->of[k])) : factor(w, t->of[k]);
    return r;
}
