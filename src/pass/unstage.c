/* SPDX-License-Identifier: MIT
 *
 * unstage: what a workgroup stages once is read where it comes from. In: a function after simplify.
 * Out: where all invocations of a workgroup together fill a variable of workgroup memory, each
 * element as one store computes it from its place (a tile with its border, say), and read a few
 * elements each behind the barrier, these are computed where they are read, from what they were
 * computed of; the store, its loops and barriers that nothing else waits at are gone. What a cache
 * holds is as near as workgroup memory on a CPU, whose invocations are lanes.
 *
 * Which iteration of which invocation fills an element, and who reads it, is found by doing what
 * they do (copies.c). Of what the element is computed of, each integer that is a polynomial of
 * values that all invocations share must be one in the reader's place as well: a sum of products
 * with the components of its LocalInvocationId and the counters of its loops. All else is computed
 * again, as long as that ends at what invocations share or at memory that nobody writes.
 *
 * What a loop around fills again and again, and very many read, stays: it lies closer together than
 * what it comes from, which each few invocations would go through from one end to the other.
 */
#include "pass/edit.h"

enum {
    DIMENSIONS = 3 + COPIES_NESTED, /* LocalInvocationId, and counters */
    MOST_SAMPLES = 1 << 14,         /* of all loads */
    MOST_AGAIN = 64,                /* instructions, of an element */
    MOST_DEEP = 64,
    /* elements by an invocation: in each iteration of a loop around, once, and if tests decide for
     * each */
    MOST_READ = 64,
    MOST_READ_ONCE = 12,
    MOST_TESTED = 6,
    /* in a loop around: reads of an element, and of invocations so many that run side by side */
    MOST_SHARED = 16,
    MOST_GROUPS = 4,
    MOST_APART = 8, /* elements from one invocation's to the next one's */
};

/* Who fills an element. */
typedef struct Filling {
    uint32_t invocation;
    uint64_t counts[COPIES_NESTED];
    bool known;
} Filling;

/* A read by an invocation in an iteration. */
typedef struct Sample {
    uint32_t unit;
    uint64_t at[DIMENSIONS];
} Sample;

typedef struct Read {
    SpvInst *load;
    PassNest nest;
    VEC(Sample) samples;
    /* by dimension: a sample that differs from the first one in it alone; 0: none does */
    uint32_t beside[DIMENSIONS];
} Read;

/* An integer in a reader's place: the sum of base and of slopes times the dimensions. */
typedef struct Fit {
    Polynomial base, slope[DIMENSIONS];
} Fit;

typedef enum Role {
    UNSEEN,
    SHARED, /* as it is */
    FITTED, /* by Fit */
    AGAIN,  /* computed again */
} Role;

typedef struct Unstager {
    PassContext *c;
    SpvModule *m;
    Cfg *g;
    PassCopies *copies;
    PassTile *tile;
    const PassCopy *copy;
    uint32_t store;   /* position */
    Filling *filling; /* by unit */
    Polynomial *of;   /* by unit: the integer that is looked at */
    Read *reads;
    uint8_t *role;    /* by id, n_ids of them */
    uint8_t *walk;    /* by id */
    uint8_t *sharing; /* by id: 2 = all that fill elements share it, 1 = they do not */
    Fit **fits;       /* by id: by read */
    SpvId *map;       /* by id: its copy */
    uint32_t n_ids;
    uint8_t *join; /* by position: ways to it are gone again, from its dominator on */
    uint8_t *way;  /* by position: a block between */
    VEC(SpvId) fitted;
    bool structured; /* branches say where their ways meet */
    uint32_t n_again;
    uint32_t most; /* elements may be read by an invocation */
    PassIdWords ids;
} Unstager;

/* ---- who fills what, who reads what ---------------------------------------------------------- */

static bool note_filling(PassCopies *copies, void *user)
{
    Unstager *s = user;
    uint64_t unit;
    if (!copies_unit(copies, s->tile, spv_def(s->m, spv_operand(s->copy->store, 0)), &unit))
        return false;
    Filling *x = &s->filling[unit];
    if (x->known && x->invocation != copies->invocation)
        return false;
    *x = (Filling){ .invocation = copies->invocation, .known = true };
    memcpy(x->counts, copies->counts, sizeof x->counts);
    return true;
}

static bool find_fillings(Unstager *s)
{
    uint64_t left = MOST_SAMPLES;
    s->filling = NEW_ARRAY(s->c->scratch, Filling, s->tile->units);
    return copies_each(s->copies, &s->copy->nest, &left, note_filling, s);
}

/* What note_sample needs. */
typedef struct Sampling {
    Unstager *s;
    Read *read;
} Sampling;

static bool note_sample(PassCopies *copies, void *user)
{
    Unstager *s = ((Sampling *)user)->s;
    Read *r = ((Sampling *)user)->read;
    uint64_t unit;
    if (!copies_unit(copies, s->tile, spv_def(s->m, spv_operand(r->load, 0)), &unit) ||
        !s->filling[unit].known)
        return false;
    Sample x = { .unit = (uint32_t)unit };
    for (uint32_t k = 0; k < 3; k++)
        x.at[k] = copies_local(copies, k);
    for (uint32_t k = 0; k < r->nest.n; k++)
        x.at[3 + k] = copies->counts[k];
    vec_push(s->c->scratch, &r->samples, x);
    return true;
}

static void find_neighbours(Read *r)
{
    const Sample *first = &r->samples.data[0];
    for (uint32_t k = 1; k < r->samples.len; k++) {
        uint32_t differ = 0, in = 0;
        for (uint32_t d = 0; d < DIMENSIONS; d++)
            if (r->samples.data[k].at[d] != first->at[d]) {
                differ++;
                in = d;
            }
        if (differ == 1 && !r->beside[in])
            r->beside[in] = k;
    }
}

static bool find_reads(Unstager *s)
{
    uint64_t left = MOST_SAMPLES;
    s->reads = NEW_ARRAY(s->c->scratch, Read, s->tile->loads.len);
    for (uint32_t k = 0; k < s->tile->loads.len; k++) {
        Read *r = &s->reads[k];
        Sampling sampling = { s, r };
        r->load = s->tile->loads.data[k];
        const SpvInst *merge = cfg_merge_inst(r->load->block);
        if ((merge && merge->op == SpvOpLoopMerge) ||
            !copies_nest(s->copies, r->load, s->store, &r->nest, false) ||
            !copies_each(s->copies, &r->nest, &left, note_sample, &sampling) || !r->samples.len)
            return false;
        find_neighbours(r);
    }
    return true;
}

static uint64_t reads_each(const Unstager *s)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < s->tile->loads.len; k++)
        n += s->reads[k].samples.len;
    return n / s->copies->invocations;
}

/* ---- integers in the reader's place ---------------------------------------------------------- */

/* to = (b - a) / by, where that is a polynomial and `by` positive. */
static bool find_slope(const PolynomialReader *d, const Polynomial *a, const Polynomial *b,
                       uint64_t by, Polynomial *to)
{
    *to = *b;
    polynomial_add(d, to, a, UINT64_MAX);
    uint32_t unused = 64 - d->bits;
    int64_t step = (int64_t)(by << unused) >> unused;
    for (uint32_t k = 0; k < to->n && step > 1; k++) {
        int64_t times = (int64_t)(to->terms[k].times << unused) >> unused;
        if (times % step)
            return false;
        to->terms[k].times = (uint64_t)(times / step) << unused >> unused;
    }
    return step > 0 && !to->too_large;
}

static bool fits_all(const Unstager *s, const Read *r, const Fit *f)
{
    const PolynomialReader *d = &s->copies->reader;
    for (uint32_t k = 0; k < r->samples.len; k++) {
        const Sample *x = &r->samples.data[k];
        Polynomial p = f->base;
        for (uint32_t n = 0; n < DIMENSIONS; n++)
            if (f->slope[n].n)
                polynomial_add(d, &p, &f->slope[n], x->at[n]);
        if (p.too_large || !polynomial_equal(d, &p, &s->of[x->unit]))
            return false;
    }
    return true;
}

static bool find_fit(const Unstager *s, const Read *r, Fit *f)
{
    const PolynomialReader *d = &s->copies->reader;
    const Sample *first = &r->samples.data[0];
    f->base = s->of[first->unit];
    for (uint32_t n = 0; n < DIMENSIONS; n++) {
        if (!r->beside[n])
            continue;
        const Sample *x = &r->samples.data[r->beside[n]];
        if (!find_slope(d, &s->of[first->unit], &s->of[x->unit], x->at[n] - first->at[n],
                        &f->slope[n]))
            return false;
        polynomial_add(d, &f->base, &f->slope[n], 0 - first->at[n]);
    }
    return fits_all(s, r, f);
}

/* All that fill elements find the same there, and it may be computed again. */
static bool is_shared_value(Unstager *s, SpvId id)
{
    if (id >= s->n_ids)
        return false;
    if (!s->sharing[id]) {
        Polynomial p = { .n = 1, .terms[0].times = 1 };
        p.terms[0].of[POLYNOMIAL_FACTORS - 1] = id;
        bool is = copies_shared(s->copies, &p, s->store, &s->copy->nest);
        s->sharing[id] = 1 + is;
    }
    return s->sharing[id] > 1;
}

static bool is_shared_polynomial(Unstager *s, const Polynomial *p)
{
    bool is = !p->too_large;
    for (uint32_t k = 0; is && k < p->n; k++)
        for (uint32_t j = 0; is && j < POLYNOMIAL_FACTORS; j++)
            is = !p->terms[k].of[j] || is_shared_value(s, p->terms[k].of[j]);
    return is;
}

/* The integer as those compute it that fill elements. */
static bool read_integer(Unstager *s, SpvId id)
{
    PassCopies *copies = s->copies;
    const PassNest *nest = &s->copy->nest;
    bool good = true;
    copies->n_counters = nest->n;
    for (uint32_t k = 0; k < nest->n; k++)
        copies->counters[k] = nest->loops[k].counter;
    for (uint32_t u = 0; good && u < s->tile->units; u++) {
        const Filling *x = &s->filling[u];
        if (!x->known)
            continue;
        copies->invocation = x->invocation;
        memcpy(copies->counts, x->counts, sizeof x->counts);
        good = copies_index(copies, id, &s->of[u]) && is_shared_polynomial(s, &s->of[u]);
    }
    copies->n_counters = 0;
    return good;
}

static bool fits(Unstager *s, SpvId id)
{
    const SpvType *t = spv_type_of(s->m, id);
    if (!t || t->kind != SPV_INT || t->bits < 32 || !read_integer(s, id))
        return false;
    Fit *all = NEW_ARRAY(s->c->scratch, Fit, s->tile->loads.len);
    for (uint32_t k = 0; k < s->tile->loads.len; k++)
        if (!find_fit(s, &s->reads[k], &all[k]))
            return false;
    s->fits[id] = all;
    vec_push(s->c->scratch, &s->fitted, id);
    return true;
}

/* ---- what is computed again ------------------------------------------------------------------ */

static bool look(Unstager *s, SpvId id, uint32_t depth);

static bool is_choice_of_numbers(const SpvInst *i)
{
    if (i->ext_set == SPV_SET_OpenCLstd_)
        switch (spv_operand(i, 1)) {
        case OpenCLstd_fmin:
        case OpenCLstd_fmax:
        case OpenCLstd_fabs:
        case OpenCLstd_fclamp:
        case OpenCLstd_s_min:
        case OpenCLstd_u_min:
        case OpenCLstd_s_max:
        case OpenCLstd_u_max:
        case OpenCLstd_s_clamp:
        case OpenCLstd_u_clamp: return true;
        default: return false;
        }
    if (i->ext_set != SPV_SET_GLSLstd450)
        return false;
    switch (spv_operand(i, 1)) {
    case GLSLstd450FAbs:
    case GLSLstd450SAbs:
    case GLSLstd450FMin:
    case GLSLstd450UMin:
    case GLSLstd450SMin:
    case GLSLstd450FMax:
    case GLSLstd450UMax:
    case GLSLstd450SMax:
    case GLSLstd450FClamp:
    case GLSLstd450UClamp:
    case GLSLstd450SClamp:
    case GLSLstd450NMin:
    case GLSLstd450NMax:
    case GLSLstd450NClamp: return true;
    default: return false;
    }
}

/* A load of what nobody writes, and which is where it is for all invocations. */
static bool is_source(Unstager *s, const SpvInst *i)
{
    const uint32_t special = SpvMemoryAccessVolatileMask | SpvMemoryAccessMakePointerVisibleMask;
    const SpvInst *root = pointer_root(s->m, spv_operand(i, 0));
    if (!root || (root->op != SpvOpVariable && root->op != SpvOpFunctionParameter) ||
        (spv_n_operands(i) > 1 && spv_operand(i, 1) & special))
        return false;
    return spv_type(s->m, root->type)->storage == SpvStorageClassPushConstant ||
           (copies_plain_buffer(s->copies, root) && copies_kept(s->copies, s->tile, root->id));
}

/* Costs little enough to be done for each that reads it. */
static bool may_be_again(Unstager *s, const SpvInst *i)
{
    switch (i->op) {
    case SpvOpLoad: return is_source(s, i);
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
    case SpvOpPtrAccessChain:
    case SpvOpInBoundsPtrAccessChain: return true;
    case SpvOpExtInst: return is_choice_of_numbers(i);
    case SpvOpUDiv:
    case SpvOpSDiv:
    case SpvOpFDiv:
    case SpvOpUMod:
    case SpvOpSMod:
    case SpvOpSRem:
    case SpvOpFMod:
    case SpvOpFRem: return false;
    default: return spv_is_pure(i);
    }
}

static bool is_way_out(const Unstager *s, uint32_t p, uint32_t from, uint32_t join)
{
    for (uint32_t k = 0; k < s->g->blocks[p].n_succs; k++) {
        uint32_t to = s->g->blocks[p].succs[k];
        if (to != join && !s->way[to])
            return true;
    }
    return s->g->blocks[p].loop != s->g->blocks[from].loop ||
           s->g->blocks[p].block->insts.last->op == SpvOpSwitch;
}

/* A block that chooses a way says where they meet, in a shader. */
static bool meets(const Unstager *s, uint32_t p, uint32_t join)
{
    const SpvBlock *b = s->g->blocks[p].block;
    const SpvInst *merge = cfg_merge_inst(b);
    if (s->g->blocks[p].n_succs < 2 || !s->structured)
        return !merge;
    if (!merge || merge->op != SpvOpSelectionMerge || b->insts.last->op != SpvOpBranchConditional)
        return false;
    uint32_t at = s->g->position[edit_block(s->m, spv_operand(merge, 0))->index];
    return at == join || (at < s->g->n && s->way[at]);
}

/* The ways to a phi, from the block that dominates it, and what they are chosen by. (Phis on the
 * ways are looked at by way of this one, so that their ways are among these.) */
static bool look_at_ways(Unstager *s, uint32_t join, uint32_t depth)
{
    const CfgBlock *blocks = s->g->blocks;
    uint32_t from = blocks[join].idom;
    if (s->join[join])
        return true;
    VEC(uint32_t) work = { 0 };
    VEC(uint32_t) ways = { 0 };
    s->join[join] = 1;
    vec_push(s->c->scratch, &work, join);
    while (work.len) {
        const CfgBlock *b = &blocks[work.data[--work.len]];
        for (uint32_t k = 0; k < b->n_preds; k++) {
            uint32_t p = b->preds[k];
            if (p == from || s->way[p])
                continue;
            s->way[p] = 1;
            vec_push(s->c->scratch, &work, p);
            vec_push(s->c->scratch, &ways, p);
        }
    }
    vec_push(s->c->scratch, &ways, from);
    for (uint32_t k = 0; k < ways.len; k++) {
        uint32_t p = ways.data[k];
        const SpvInst *end = blocks[p].block->insts.last;
        if ((p != from && is_way_out(s, p, from, join)) || !meets(s, p, join) ||
            (p == from && s->structured &&
             spv_operand(cfg_merge_inst(blocks[p].block), 0) != blocks[join].block->id) ||
            (end->op == SpvOpBranchConditional && !look(s, spv_operand(end, 0), depth + 1)))
            return false;
    }
    s->most = MIN(s->most, MOST_TESTED);
    return true;
}

static bool look_at_phi(Unstager *s, const SpvInst *i, uint32_t depth)
{
    uint32_t at = s->g->position[i->block->index];
    const CfgLoop *loop = s->g->blocks[at].loop;
    if ((loop && loop->header == at) || !look_at_ways(s, at, depth))
        return false;
    for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2)
        if (!look(s, spv_operand(i, k), depth + 1))
            return false;
    return true;
}

static bool look_at_operands(Unstager *s, const SpvInst *i, uint32_t depth)
{
    SpvOperand o;
    if (i->op == SpvOpPhi)
        return look_at_phi(s, i, depth);
    if (!may_be_again(s, i))
        return false;
    if (i->op == SpvOpExtInst || i->op == SpvOpSelect)
        s->most = MIN(s->most, MOST_READ_ONCE);
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        if (o.is_id && !look(s, i->words[o.word], depth + 1))
            return false;
    return true;
}

/* What is there for all readers, and is the same for all invocations. What is computed in a loop
 * that fills is something else by the end of it. */
static bool is_shared(Unstager *s, const SpvInst *i)
{
    const CfgLoop *loop = copies_outermost(&s->copy->nest);
    if (loop && cfg_in_loop(loop, s->g, s->g->position[i->block->index]))
        return false;
    for (uint32_t k = 0; k < s->tile->loads.len; k++)
        if (!copies_in_order(s->copies, i, s->tile->loads.data[k]))
            return false;
    return copies_same(s->copies, i->id, s->store);
}

static bool look(Unstager *s, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(s->m, id);
    if (!i || !i->block || s->role[id])
        return i;
    if (is_shared(s, i)) {
        s->role[id] = SHARED;
        return true;
    }
    if (fits(s, id)) {
        s->role[id] = FITTED;
        return true;
    }
    s->role[id] = AGAIN;
    return s->n_again++ < MOST_AGAIN && depth < MOST_DEEP && look_at_operands(s, i, depth);
}

/* ---- whether it is worth it ------------------------------------------------------------------ */

typedef enum Walk {
    STAYS,   /* invocations beside each other have the same */
    GOES_ON, /* the next one */
    LEAPS,
} Walk;

static Walk how_fit_walks(const Unstager *s, const Fit *f)
{
    uint64_t step;
    Walk walk = STAYS;
    for (uint32_t k = 0; k < s->tile->loads.len; k++) {
        const Polynomial *slope = &f[k].slope[0];
        walk = MAX(walk, !slope->n                                               ? STAYS
                         : polynomial_number(slope, &step) && step <= MOST_APART ? GOES_ON
                                                                                 : LEAPS);
    }
    return walk;
}

/* A product with a number that is larger than a few, or is not known. */
static bool is_scaled(const Unstager *s, const SpvInst *i)
{
    uint64_t by;
    if (i->op == SpvOpShiftLeftLogical)
        return !spv_constant(s->m, spv_operand(i, 1), &by) || by > 3;
    return i->op == SpvOpIMul && ((!spv_constant(s->m, spv_operand(i, 0), &by) &&
                                   !spv_constant(s->m, spv_operand(i, 1), &by)) ||
                                  by > MOST_APART);
}

/* A sum or product of what walks so. */
static Walk how_operation_walks(const Unstager *s, const SpvInst *i)
{
    Walk walk = STAYS;
    uint32_t going = 0;
    SpvOperand o;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        SpvId id = o.is_id ? i->words[o.word] : 0;
        Walk of = id && id < s->n_ids ? s->walk[id] : STAYS;
        going += of == GOES_ON;
        walk = MAX(walk, of);
    }
    bool adds = i->op == SpvOpIAdd || i->op == SpvOpISub;
    return walk == GOES_ON && (is_scaled(s, i) || (adds && going > 1)) ? LEAPS : walk;
}

/* Invocations beside each other read what lies side by side. */
static bool goes_on(const Unstager *s)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next) {
            if (!i->id || i->id >= s->n_ids)
                continue;
            if (s->role[i->id] == FITTED)
                s->walk[i->id] = how_fit_walks(s, s->fits[i->id]);
            else if (s->role[i->id] == AGAIN)
                s->walk[i->id] = how_operation_walks(s, i);
            if (i->op != SpvOpLoad || s->walk[i->id] == STAYS)
                continue;
            if (s->walk[i->id] == LEAPS)
                return false;
            s->walk[i->id] = LEAPS; /* what is loaded may be anything */
        }
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static SpvId write_polynomial(const PassTerms *w, const Polynomial *p)
{
    SpvId r = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        SpvId product = terms_product(w, &p->terms[k]);
        uint64_t times = p->terms[k].times;
        r = terms_sum(w, r,
                      product ? terms_times(w, product, times)
                              : spv_int_constant(w->copies->m, w->type, times));
    }
    return r;
}

static SpvId write_dimension(const PassTerms *w, const Read *r, uint32_t d)
{
    return terms_as_wide(w, d < 3 ? terms_local(w, d) : r->nest.loops[d - 3].counter->id);
}

static SpvId write_fit(const PassTerms *w, const Read *r, const Fit *f)
{
    SpvId sum = write_polynomial(w, &f->base);
    for (uint32_t d = 0; d < DIMENSIONS; d++) {
        uint64_t one;
        if (!f->slope[d].n)
            continue;
        SpvId x = write_dimension(w, r, d);
        if (!polynomial_number(&f->slope[d], &one) || one != 1)
            x = terms_put(w, SpvOpIMul, w->type, x, write_polynomial(w, &f->slope[d]));
        sum = terms_sum(w, sum, x);
    }
    return sum ? sum : spv_int_constant(w->copies->m, w->type, 0);
}

static SpvId mapped(const Unstager *s, SpvId id)
{
    return id < s->n_ids && s->map[id] ? s->map[id] : id;
}

static void copy_inst(Unstager *s, const SpvInst *i, SpvBlock *to)
{
    SpvInst *x = edit_another(s->m, i);
    edit_ids(x, &s->ids);
    for (uint32_t k = 0; k < s->ids.n; k++)
        x->words[s->ids.at[k]] = mapped(s, x->words[s->ids.at[k]]);
    if (x->id)
        s->map[i->id] = x->id;
    spv_append(to, x);
}

/* The part of a block that is done again. */
static void copy_block(Unstager *s, uint32_t p, SpvBlock *to)
{
    for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
        if (i->id && i->id < s->n_ids && s->role[i->id] == AGAIN)
            copy_inst(s, i, to);
}

static void copy_branch(Unstager *s, uint32_t p, SpvBlock *to)
{
    const SpvInst *merge = cfg_merge_inst(s->g->blocks[p].block);
    if (merge)
        copy_inst(s, merge, to);
    copy_inst(s, s->g->blocks[p].block->insts.last, to);
}

static SpvBlock *copy_label(Unstager *s, uint32_t p, SpvBlock *after)
{
    SpvBlock *b = spv_new_block(s->g->function, after);
    b->index = s->g->made_later;
    s->map[s->g->blocks[p].block->id] = b->id;
    return b;
}

/* The ways to a join, behind `b`; returns the block where they meet. */
static SpvBlock *copy_ways(Unstager *s, uint32_t join, SpvBlock *b)
{
    uint32_t from = s->g->blocks[join].idom;
    SpvBlock *last = b;
    s->map[s->g->blocks[from].block->id] = b->id;
    for (uint32_t p = from + 1; p <= join; p++)
        if (s->way[p] || p == join)
            last = copy_label(s, p, last);
    copy_branch(s, from, b);
    for (uint32_t p = from + 1; p < join; p++)
        if (s->way[p]) {
            SpvBlock *to = edit_block(s->m, mapped(s, s->g->blocks[p].block->id));
            copy_block(s, p, to);
            copy_branch(s, p, to);
        }
    return last;
}

/* What dominates the store, from the block at the top on. */
static void copy_down_to(Unstager *s, uint32_t p, SpvBlock **b)
{
    if (p)
        copy_down_to(s, s->g->blocks[p].idom, b);
    if (s->join[p])
        *b = copy_ways(s, p, *b);
    copy_block(s, p, *b);
}

static void rewrite(Unstager *s, uint32_t n)
{
    const Read *r = &s->reads[n];
    PassTerms w = { .copies = s->copies, .at = r->load };
    for (uint32_t k = 0; k < s->fitted.len; k++) {
        SpvId id = s->fitted.data[k];
        w.type = spv_type_of(s->m, id)->id;
        s->map[id] = write_fit(&w, r, &s->fits[id][n]);
    }
    SpvBlock *b = r->load->block, *rest = edit_split(s->m, r->load);
    rest->index = s->g->made_later;
    copy_down_to(s, s->store, &b);
    spv_append(b, spv_make(s->m, SpvOpBranch, 0, 0, &rest->id, 1));
    SpvId value = mapped(s, spv_operand(s->copy->store, 1));
    edit_become(s->m, r->load, SpvOpCopyObject, &value, 1);
    for (uint32_t k = 0; k < s->fitted.len; k++) /* which is something else */
        s->map[s->fitted.data[k]] = 0;
    edit_share_decorations(s->m, s->map, s->n_ids);
    memset(s->map, 0, s->n_ids * sizeof *s->map);
}

/* ---- a variable ------------------------------------------------------------------------------ */

/* A loop around both fills and reads it again and again. */
static bool is_in_loop(const Unstager *s)
{
    return s->copy->nest.n ? copies_outermost(&s->copy->nest)->parent : s->g->blocks[s->store].loop;
}

static void open_roles(Unstager *s)
{
    s->n_ids = s->m->bound;
    s->role = NEW_ARRAY(s->c->scratch, uint8_t, s->n_ids);
    s->walk = NEW_ARRAY(s->c->scratch, uint8_t, s->n_ids);
    s->sharing = NEW_ARRAY(s->c->scratch, uint8_t, s->n_ids);
    s->fits = NEW_ARRAY(s->c->scratch, Fit *, s->n_ids);
    s->map = NEW_ARRAY(s->c->scratch, SpvId, s->n_ids);
    s->join = NEW_ARRAY(s->c->scratch, uint8_t, s->g->n);
    s->way = NEW_ARRAY(s->c->scratch, uint8_t, s->g->n);
    s->of = NEW_ARRAY(s->c->scratch, Polynomial, s->tile->units);
    s->fitted.len = s->n_again = 0;
    s->most = is_in_loop(s) ? MOST_READ : MOST_READ_ONCE;
}

static bool has_one_store(Unstager *s)
{
    if (s->tile->copies.len != 1)
        return false;
    s->copy = &s->tile->copies.data[0];
    s->store = s->g->position[s->copy->store->block->index];
    return true;
}

static bool is_much_shared(const Unstager *s)
{
    uint32_t invocations = s->copies->invocations;
    return reads_each(s) * invocations > (uint64_t)MOST_SHARED * s->tile->units ||
           invocations > MOST_GROUPS * s->c->options->unstage;
}

static bool can_unstage(Unstager *s, SpvInst *variable)
{
    s->tile = NEW(s->c->scratch, PassTile);
    if (!copies_find(s->copies, variable, SpvOpLoad, s->tile) || !has_one_store(s) ||
        !find_fillings(s) || !find_reads(s) || reads_each(s) > MOST_READ ||
        (is_in_loop(s) && is_much_shared(s)))
        return false;
    open_roles(s);
    return look(s, spv_operand(s->copy->store, 1), 0) && goes_on(s) && reads_each(s) <= s->most;
}

static void note_sources(Unstager *s)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            if (i->op == SpvOpLoad && i->id < s->n_ids && s->role[i->id] == AGAIN) {
                const SpvInst *root = pointer_root(s->m, spv_operand(i, 0));
                if (copies_plain_buffer(s->copies, root))
                    copies_take_apart(s->copies, root->id);
            }
}

static bool unstage(PassContext *c, bool *done)
{
    Unstager *s = NEW(c->scratch, Unstager);
    *s = (Unstager){ .c = c,
                     .m = c->module,
                     .copies = NEW(c->scratch, PassCopies),
                     .structured = c->entry.model == SpvExecutionModelGLCompute };
    s->g = cfg_build(c->scratch, c->entry.function, c->sink);
    *done = true;
    if (!s->g || !copies_open(s->copies, c, s->g))
        return s->g;
    for (SpvInst *i = s->m->globals.first; i && *done; i = i->next)
        *done = i->op != SpvOpVariable || spv_operand(i, 0) != SpvStorageClassWorkgroup ||
                !can_unstage(s, i);
    if (*done)
        return true;
    note_sources(s);
    for (uint32_t k = s->tile->loads.len; k--;) /* a load's block is split behind others */
        rewrite(s, k);
    return copies_forget(c, s->g, &s->tile, 1) && pass_simplify(c);
}

bool pass_unstage(PassContext *c)
{
    bool done = !c->options->unstage;
    while (!done)
        if (!unstage(c, &done))
            return false;
    return true;
}
