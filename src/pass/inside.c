/* SPDX-License-Identifier: MIT
 *
 * inside: a version of the kernel for workgroups that are away from all edges. In: a function after
 * simplify. Out: where an integer of an invocation's is compared with a bound that the workgroup
 * shares ("is it in the image, in the matrix?"), or clamped to one, a second version of the body in
 * which all such tests have come out as they do inside; a workgroup runs it if they do for each of
 * its invocations, in each iteration of the loops around, which is asked once, at the beginning
 * (beginning.c).
 */
#include "pass/edit.h"

enum {
    MOST_SIZE = 1024, /* instructions of the body: twice as many take twice as long to compile */
    MOST_TESTS = 48,  /* at the beginning */
    /* tests by lanes that are worth a version; one in a loop counts for so many more */
    LEAST_TESTS = 4,
    BY_LOOP = 4,
    SMALL = 16, /* numbers are not below a smaller bound, inside, and below a larger one */
};

typedef PassEnds Ends;

/* What an instruction of the body becomes in the version. */
typedef struct Decision {
    const SpvInst *inst;
    SpvId operand; /* 0: it is a boolean, */
    bool holds;
} Decision;

typedef struct Inside {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    const Uniformity *uniformity;
    PassBeginning beginning;
    uint8_t *leaves; /* by id, n_ids of them: a loop is left by it */
    uint32_t n_ids;
    VEC(Decision) decisions;
    uint64_t weight;
} Inside;

/* ---- tests, and what becomes of them --------------------------------------------------------- */

static bool varies(const Inside *s, const Ends *x) { return !ends_are_one(&s->beginning, x); }

/* Whether one of two numbers is below the other one, inside: it is above small ones, and below what
 * is not known. */
static bool is_below(const Ends *bound)
{
    uint64_t n;
    return !polynomial_number(&bound->low, &n) || (int64_t)n >= SMALL;
}

static void decide(Inside *s, const SpvInst *i, SpvId operand, bool holds)
{
    const CfgLoop *loop = s->g->blocks[s->beginning.at].loop;
    uint64_t weight = s->uniformity->varying[i->id];
    for (; loop; loop = loop->parent)
        weight = MIN(weight * BY_LOOP, 1 << 16);
    s->weight += weight;
    vec_push(s->c->scratch, &s->decisions, (Decision){ i, operand, holds });
    s->beginning.becomes[i->id] = operand;
}

/* The ends of both, if one is of the invocation's and the other one the workgroup's. */
static bool open_test(Inside *s, SpvId x, SpvId y, bool is_signed, Ends *ends_x, Ends *ends_y)
{
    const SpvType *t = spv_type_of(s->m, x);
    return t && t->kind == SPV_INT && beginning_ends(&s->beginning, x, ends_x) &&
           beginning_ends(&s->beginning, y, ends_y) && varies(s, ends_x) != varies(s, ends_y) &&
           beginning_ask_fit(&s->beginning, ends_x, t->bits, is_signed) &&
           beginning_ask_fit(&s->beginning, ends_y, t->bits, is_signed);
}

static bool test_relation(Inside *s, const SpvInst *i)
{
    PassRelation r;
    Ends less, more;
    if (!relation_read(i, true, &r) || !open_test(s, r.less, r.more, r.is_signed, &less, &more))
        return false;
    bool holds = varies(s, &less) ? is_below(&more) : !is_below(&less);
    if (!holds) {
        Ends other = less;
        less = more;
        more = other;
        r.by = !r.by;
    }
    if (!beginning_ask_order(&s->beginning, &less, &more, r.by))
        return false;
    decide(s, i, 0, holds);
    return true;
}

static bool test_equality(Inside *s, const SpvInst *i)
{
    Ends x, y;
    if (!open_test(s, spv_operand(i, 0), spv_operand(i, 1), true, &x, &y))
        return false;
    const Ends *own = varies(s, &x) ? &x : &y, *bound = own == &x ? &y : &x;
    bool below = is_below(bound);
    if (!beginning_ask_order(&s->beginning, below ? own : bound, below ? bound : own, 1))
        return false;
    decide(s, i, 0, i->op == SpvOpINotEqual);
    return true;
}

typedef enum Bounds { NO_BOUND, LOWER = 1, UPPER = 2, BOTH = 3 } Bounds;

static Bounds bounds_of(const SpvInst *i, bool *is_signed)
{
    static const struct {
        uint16_t set, op;
        Bounds bounds;
        bool is_signed;
    } all[] = {
        { SPV_SET_GLSLstd450, GLSLstd450SMin, UPPER, true },
        { SPV_SET_GLSLstd450, GLSLstd450UMin, UPPER, false },
        { SPV_SET_GLSLstd450, GLSLstd450SMax, LOWER, true },
        { SPV_SET_GLSLstd450, GLSLstd450UMax, LOWER, false },
        { SPV_SET_GLSLstd450, GLSLstd450SClamp, BOTH, true },
        { SPV_SET_GLSLstd450, GLSLstd450UClamp, BOTH, false },
        { SPV_SET_OpenCLstd_, OpenCLstd_s_min, UPPER, true },
        { SPV_SET_OpenCLstd_, OpenCLstd_u_min, UPPER, false },
        { SPV_SET_OpenCLstd_, OpenCLstd_s_max, LOWER, true },
        { SPV_SET_OpenCLstd_, OpenCLstd_u_max, LOWER, false },
        { SPV_SET_OpenCLstd_, OpenCLstd_s_clamp, BOTH, true },
        { SPV_SET_OpenCLstd_, OpenCLstd_u_clamp, BOTH, false },
    };
    for (uint32_t k = 0; k < COUNT_OF(all); k++)
        if (i->op == SpvOpExtInst && i->ext_set == all[k].set && spv_operand(i, 1) == all[k].op) {
            *is_signed = all[k].is_signed;
            return all[k].bounds;
        }
    return NO_BOUND;
}

/* A clamp, or a minimum or maximum with a bound, is the number inside. */
static bool test_clamp(Inside *s, const SpvInst *i)
{
    bool is_signed;
    Ends x, y;
    Bounds bounds = bounds_of(i, &is_signed);
    if (!bounds)
        return false;
    SpvId own = spv_operand(i, 2), bound = spv_operand(i, 3);
    if (!open_test(s, own, bound, is_signed, &x, &y))
        return false;
    if (bounds != BOTH && !varies(s, &x)) {
        Ends other = x;
        x = y;
        y = other;
        own = bound;
    }
    if (!varies(s, &x) ||
        !beginning_ask_order(&s->beginning, bounds & LOWER ? &y : &x, bounds & LOWER ? &x : &y, 0))
        return false;
    if (bounds == BOTH && (!open_test(s, own, spv_operand(i, 4), is_signed, &x, &y) ||
                           !beginning_ask_order(&s->beginning, &x, &y, 0)))
        return false;
    if (spv_type_of(s->m, own)->id != i->type)
        return false;
    decide(s, i, own, false);
    return true;
}

static void look(Inside *s, const SpvInst *i)
{
    uint32_t n_tests = s->beginning.n_tests;
    bool equal = i->op == SpvOpIEqual || i->op == SpvOpINotEqual;
    if (!i->id || s->leaves[i->id] ||
        !(equal ? test_equality(s, i) : test_relation(s, i) || test_clamp(s, i)))
        s->beginning.n_tests = n_tests;
}

/* What loops are left by is not the same in all iterations. */
static void find_leaves(Inside *s)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++) {
        const CfgBlock *b = &s->g->blocks[p];
        const SpvInst *end = b->block->insts.last;
        for (uint32_t k = 0; end->op == SpvOpBranchConditional && k < b->n_succs; k++)
            if (b->loop && !cfg_in_loop(b->loop, s->g, b->succs[k]))
                s->leaves[spv_operand(end, 0)] = 1;
    }
}

static void find_tests(Inside *s)
{
    for (uint32_t p = 0; p + 1 < s->g->n; p++) {
        s->beginning.at = p;
        for (const SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            look(s, i);
    }
}

/* ---- the version ----------------------------------------------------------------------------- */

static void apply(Inside *s, const PassVersion *v)
{
    SpvId zero = spv_int_constant(s->m, spv_int_type(s->m, 32, false), 0);
    for (uint32_t k = 0; k < s->decisions.len; k++) {
        const Decision *d = &s->decisions.data[k];
        SpvInst *copy = spv_def(s->m, loop_mapped(&v->copy, d->inst->id));
        SpvId operand = loop_mapped(&v->copy, d->operand), zeros[2] = { zero, zero };
        if (d->operand)
            edit_become(s->m, copy, SpvOpCopyObject, &operand, 1);
        else
            edit_become(s->m, copy, d->holds ? SpvOpIEqual : SpvOpINotEqual, zeros, 2);
    }
}

static bool may_have_twin(const Inside *s, const SpvInst *variable)
{
    return variable->op == SpvOpVariable && spv_operand(variable, 0) == SpvStorageClassWorkgroup &&
           spv_n_operands(variable) == 1 &&
           spv_type(s->m, variable->type)->element->kind == SPV_ARRAY &&
           !spv_has_decoration(s->m, variable->id, -1, SpvDecorationAliased);
}

/* Variables of workgroup memory are other ones in the version, so that each can be looked at by
 * itself (unstage.c, forward.c). */
static void part_variables(Inside *s, const PassVersion *v)
{
    PassContext *c = s->c;
    SpvId *twin = NEW_ARRAY(c->scratch, SpvId, s->n_ids);
    PassIdWords *ids = NEW(c->scratch, PassIdWords);
    for (SpvInst *i = s->m->globals.first; i && c->n_twins < PASS_TWINS; i = i->next)
        if (i->id < s->n_ids && may_have_twin(s, i)) {
            const SpvType *t = spv_type(s->m, i->type)->element;
            twin[i->id] = edit_variable(s->m, c->entry.inst, SpvStorageClassWorkgroup, t->id);
            c->twins[c->n_twins++] = (PassTwin){ i->id, twin[i->id] };
        }
    for (uint32_t k = 0; k < v->copy.blocks.len; k++)
        for (SpvInst *i = version_block(v, v->copy.blocks.data[k])->insts.first; i; i = i->next) {
            edit_ids(i, ids);
            for (uint32_t n = 0; n < ids->n; n++) {
                SpvId *id = &i->words[ids->at[n]];
                *id = *id < s->n_ids && twin[*id] ? twin[*id] : *id;
            }
        }
}

static bool add_version(Inside *s)
{
    PassVersion v;
    if (!version_open(&v, s->c))
        return false;
    SpvId is_inside = beginning_write(&s->beginning, v.at);
    if (s->c->options->away)
        *s->c->options->away = is_inside;
    apply(s, &v);
    part_variables(s, &v);
    return version_close(&v, is_inside);
}

static bool is_for(const PassContext *c)
{
    const uint32_t *size = c->entry.local_size;
    bool compute =
        c->entry.model == SpvExecutionModelGLCompute || c->entry.model == SpvExecutionModelKernel;
    return c->options->inside && compute && size[0] && size[1] && size[2] &&
           edit_count(c->entry.function) <= MOST_SIZE;
}

bool pass_inside(PassContext *c)
{
    if (!is_for(c))
        return true;
    Inside *s = NEW(c->scratch, Inside);
    *s = (Inside){ .c = c, .m = c->module, .n_ids = c->module->bound };
    s->g = cfg_build(c->scratch, c->entry.function, c->sink);
    if (!s->g)
        return false;
    s->leaves = NEW_ARRAY(c->scratch, uint8_t, s->n_ids);
    s->uniformity = uniformity_build_for(c->scratch, s->m, s->g, c->options->subgroup_size);
    beginning_open(&s->beginning, c, s->g);
    find_leaves(s);
    find_tests(s);
    beginning_drop(&s->beginning);
    uint32_t n = s->beginning.n_tests;
    return s->weight < LEAST_TESTS || !n || n > MOST_TESTS || add_version(s);
}

/* ---- share ----------------------------------------------------------------------------------- */

bool pass_share(PassContext *c)
{
    SpvId *with = NEW_ARRAY(c->scratch, SpvId, c->module->bound);
    for (uint32_t k = 0; k < c->n_twins; k++) {
        const PassTwin *t = &c->twins[k];
        if (spv_def(c->module, t->of) && spv_def(c->module, t->twin))
            with[t->twin] = t->of;
    }
    edit_replace(c->entry.function, with, c->module->bound);
    bool any = c->n_twins;
    c->n_twins = 0;
    return !any || pass_simplify(c);
}
