/* SPDX-License-Identifier: MIT
 *
 * inline: makes one function of many. In: a module without recursion. Out: the entry point with
 * every call inlined, no other functions (except those named by instructions other than calls, such
 * as the combine function of a matrix reduction), no OpLine and no debug instructions, since every
 * instruction knows its own source position.
 *
 * Callees are processed before their callers, so that each call is copied only once per call site.
 * A function that returns in several places becomes, in a shader, an OpSwitch of one case: its
 * returns branch to that construct's merge block, which is a structured exit unless a loop lies
 * between (SPIR-V 2.11.2); the graph is reducible either way. A loop header with a call keeps
 * OpLoopMerge and branches to its body.
 */
#include "pass/edit.h"

enum { MAX_INSTRUCTIONS = 1 << 20 };

typedef struct Note {
    SpvInst *decoration;
    uint32_t next;
} Note;

typedef struct Inliner {
    PassContext *c;
    SpvModule *m;
    SpvFunction **function;   /* by id */
    uint32_t n_ids;           /* ids below were there before the pass */
    uint32_t *size;           /* by function id: instructions, calls inlined */
    VEC(SpvFunction *) order; /* callees before callers */
    VEC(Note) notes;          /* decorations, chained by target; 0 ends */
    VEC(uint32_t) note_of;    /* by id */
    VEC(SpvId) map;           /* by id of the callee: the copy's */
    PassIdWords ids;
    bool structured;
} Inliner;

/* ---- debug information ----------------------------------------------------------------------- */

static bool is_debug(const SpvInst *i)
{
    if (i->op == SpvOpLine || i->op == SpvOpNoLine)
        return true;
    if (i->op != SpvOpExtInst)
        return false;
    switch (i->ext_set) {
    case SPV_SET_NONSEMANTIC:
    case SPV_SET_NonSemanticShaderDebugInfo100:
    case SPV_SET_NonSemanticShaderDebugInfo:
    case SPV_SET_OpenCLDebugInfo100:
    case SPV_SET_DebugInfo:
    case SPV_SET_NonSemanticClspvReflection:
    case SPV_SET_NonSemanticVkspReflection:
    case SPV_SET_NonSemanticGraphDebugInfo: return true;
    default: return false;
    }
}

static void strip_list(SpvModule *m, SpvInstList *l)
{
    for (SpvInst *i = l->first, *next; i; i = next) {
        next = i->next;
        if (is_debug(i))
            edit_remove(m, i);
    }
}

static void strip_debug(SpvModule *m)
{
    strip_list(m, &m->globals);
    strip_list(m, &m->trailing);
    for (SpvFunction *f = m->functions; f; f = f->next) {
        strip_list(m, &f->before);
        strip_list(m, &f->head);
        strip_list(m, &f->before_end);
        for (SpvBlock *b = f->first; b; b = b->next) {
            strip_list(m, &b->before);
            strip_list(m, &b->insts);
        }
    }
}

/* ---- the call graph -------------------------------------------------------------------------- */

static SpvFunction *named_function(const Inliner *s, SpvId id)
{
    return id < s->n_ids ? s->function[id] : NULL;
}

typedef struct Frame {
    SpvFunction *f;
    SpvInst *at;
    uint32_t operand;
} Frame;

/* The next function that the frame's function names, from where it stopped. */
static SpvFunction *next_named(Inliner *s, Frame *t)
{
    while (t->at) {
        edit_ids(t->at, &s->ids);
        while (t->operand < s->ids.n) {
            SpvFunction *f = named_function(s, t->at->words[s->ids.at[t->operand++]]);
            if (f)
                return f;
        }
        SpvBlock *b = t->at->block;
        t->operand = 0;
        t->at = t->at->next ? t->at->next : b->next ? b->next->insts.first : NULL;
    }
    return NULL;
}

static const char *function_name(const SpvModule *m, const SpvFunction *f)
{
    const char *name = spv_name(m, f->def->id);
    return name ? name : "(unnamed)";
}

static bool order_functions(Inliner *s)
{
    enum { NEW_ONE, OPEN, DONE };
    uint8_t *state = NEW_ARRAY(s->c->scratch, uint8_t, s->n_ids);
    VEC(Frame) stack = { 0 };
    SpvFunction *f = s->c->entry.function;
    state[f->def->id] = OPEN;
    vec_push(s->c->scratch, &stack, (Frame){ f, f->first ? f->first->insts.first : NULL, 0 });
    while (stack.len) {
        Frame *top = &vec_last(&stack);
        f = next_named(s, top);
        if (!f) {
            state[top->f->def->id] = DONE;
            vec_push(s->c->scratch, &s->order, top->f);
            stack.len--;
        } else if (!f->first) {
            spv_error(s->m, top->at, s->c->sink, NULL,
                      "function %s has no body: it would have to be linked with another module",
                      function_name(s->m, f));
            return false;
        } else if (state[f->def->id] == OPEN) {
            spv_error(
                s->m, top->at, s->c->sink, "SPIR-V 2.16.1, universal validation rules",
                "function %s calls itself, directly or through others; recursion is not allowed",
                function_name(s->m, f));
            return false;
        } else if (state[f->def->id] == NEW_ONE) {
            state[f->def->id] = OPEN;
            vec_push(s->c->scratch, &stack, (Frame){ f, f->first->insts.first, 0 });
        }
    }
    return true;
}

/* ---- decorations ----------------------------------------------------------------------------- */

static void add_note(Inliner *s, SpvId target, SpvInst *decoration)
{
    Arena *a = s->c->scratch;
    while (s->note_of.len <= target)
        vec_push(a, &s->note_of, 0);
    vec_push(a, &s->notes, (Note){ decoration, s->note_of.data[target] });
    s->note_of.data[target] = s->notes.len - 1;
}

static bool is_variable(const SpvModule *m, SpvId id)
{
    const SpvInst *i = spv_def(m, id);
    return i && i->op == SpvOpVariable;
}

/* Decorations of values, except RelaxedPrecision, which has no effect here; for debuggers the names
 * of variables. */
static void index_decorations(Inliner *s)
{
    vec_push(s->c->scratch, &s->notes, (Note){ NULL, 0 });
    for (SpvInst *i = s->m->globals.first; i; i = i->next)
        if ((i->op == SpvOpDecorate || i->op == SpvOpDecorateId || i->op == SpvOpDecorateString) &&
            spv_operand(i, 1) != SpvDecorationRelaxedPrecision)
            add_note(s, spv_operand(i, 0), i);
        else if (i->op == SpvOpName && s->c->options->keep_variables &&
                 is_variable(s->m, spv_operand(i, 0)))
            add_note(s, spv_operand(i, 0), i);
}

static void copy_id_decorations(Inliner *s, SpvId from, SpvId to)
{
    uint32_t n = from < s->note_of.len ? s->note_of.data[from] : 0;
    for (; n; n = s->notes.data[n].next) {
        SpvInst *old = s->notes.data[n].decoration, *copy = spv_clone_inst(s->m, old);
        copy->words[copy->first_operand] = to;
        spv_insert_after(old, copy);
        add_note(s, to, copy);
    }
}

/* ---- one call -------------------------------------------------------------------------------- */

typedef struct Moved {
    const SpvCallSite *from, *to;
} Moved;

typedef struct Site {
    SpvInst *call;
    SpvFunction *caller, *callee;
    SpvBlock *rest;        /* what follows the call; NULL when the callee is one block */
    VEC(uint32_t) results; /* value, block, value, block... */
    uint32_t n_returns;
    const SpvCallSite *place; /* this call */
    VEC(Moved) moved;         /* those that were inlined into the callee: what they are in here */
} Site;

static void map_to(Inliner *s, SpvId from, SpvId to)
{
    while (s->map.len <= from)
        vec_push(s->c->scratch, &s->map, 0);
    s->map.data[from] = to;
}

static SpvId mapped(const Inliner *s, SpvId id)
{
    return id < s->map.len && s->map.data[id] ? s->map.data[id] : id;
}

/* The name as it is in the source: glslang adds the types of the parameters. */
static const char *plain_name(Inliner *s, const SpvFunction *f)
{
    const char *name = function_name(s->m, f);
    return arena_printf(s->m->arena, "%.*s", (int)strcspn(name, "("), name);
}

/* What a call that was inlined into the callee is after this one. */
static const SpvCallSite *moved_call(Inliner *s, Site *t, const SpvCallSite *within)
{
    if (!within)
        return t->place;
    for (uint32_t k = 0; k < t->moved.len; k++)
        if (t->moved.data[k].from == within)
            return t->moved.data[k].to;
    SpvCallSite *copy = arena_copy(s->m->arena, within, sizeof *within);
    copy->outer = moved_call(s, t, within->outer);
    vec_push(s->c->scratch, &t->moved, (Moved){ within, copy });
    return copy;
}

static SpvInst *copy_inst(Inliner *s, Site *t, const SpvInst *i)
{
    SpvInst *c = spv_clone_inst(s->m, i);
    c->call = moved_call(s, t, i->call);
    edit_ids(c, &s->ids);
    for (uint32_t k = 0; k < s->ids.n; k++)
        c->words[s->ids.at[k]] = mapped(s, c->words[s->ids.at[k]]);
    if (c->id) {
        c->id = c->words[c->first_operand - 1] = mapped(s, i->id);
        s->m->defs[c->id] = c;
        copy_id_decorations(s, i->id, c->id);
    }
    return c;
}

static void map_parameters(Inliner *s, const Site *t)
{
    uint32_t k = 1;
    for (SpvInst *i = t->callee->head.first; i; i = i->next)
        if (i->op == SpvOpFunctionParameter && k < spv_n_operands(t->call))
            map_to(s, i->id, spv_operand(t->call, k++));
}

static void map_results(Inliner *s, const SpvFunction *callee, bool labels)
{
    for (SpvBlock *b = callee->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            if (i->id && (labels || i->op != SpvOpLabel))
                map_to(s, i->id, spv_new_id(s->m));
}

/* The callee's variables become the caller's; their initializers become stores at the call. */
static void copy_variable(Inliner *s, Site *t, const SpvInst *i, SpvInst *before)
{
    SpvInst *c = copy_inst(s, t, i);
    if (spv_n_operands(c) > 1) {
        uint32_t store[2] = { c->id, spv_operand(c, 1) };
        spv_insert_before(before, spv_make(s->m, SpvOpStore, 0, 0, store, 2));
        c->n_words--;
        c->words[0] = (uint32_t)c->n_words << 16 | c->op;
    }
    spv_insert_after(t->caller->first->insts.first, c);
}

/* Ends a callee's block; returns branch to what follows the call. */
static bool copy_return(Inliner *s, Site *t, const SpvInst *i, SpvBlock *to)
{
    if (i->op != SpvOpReturn && i->op != SpvOpReturnValue)
        return false;
    if (i->op == SpvOpReturnValue) {
        vec_push(s->c->scratch, &t->results, mapped(s, spv_operand(i, 0)));
        vec_push(s->c->scratch, &t->results, to ? to->id : 0);
    }
    t->n_returns++;
    if (to)
        edit_append(s->m, to, SpvOpBranch, &t->rest->id, 1);
    return true;
}

static void finish_call(Inliner *s, Site *t)
{
    const SpvType *type = spv_type(s->m, t->call->type);
    if (type && type->kind == SPV_VOID)
        edit_remove(s->m, t->call);
    else if (t->results.len == 0)
        edit_become(s->m, t->call, SpvOpUndef, NULL, 0);
    else if (t->results.len == 2)
        edit_become(s->m, t->call, SpvOpCopyObject, t->results.data, 1);
    else
        edit_become(s->m, t->call, SpvOpPhi, t->results.data, t->results.len);
}

static void inline_block(Inliner *s, Site *t)
{
    map_results(s, t->callee, false);
    for (SpvInst *i = t->callee->first->insts.first->next; i; i = i->next) {
        if (i->op == SpvOpVariable)
            copy_variable(s, t, i, t->call);
        else if (!copy_return(s, t, i, NULL))
            spv_insert_before(t->call, copy_inst(s, t, i));
    }
    finish_call(s, t);
}

/* A loop header keeps its label, phis and OpLoopMerge; the rest becomes the first block of the
 * body. */
static void split_header(Inliner *s, SpvBlock *b, const SpvInst *merge)
{
    SpvInst *loop = spv_clone_inst(s->m, merge);
    SpvInst *old = cfg_merge_inst(b);
    bool own_continue = spv_operand(merge, 1) == b->id;
    edit_remove(s->m, old);
    SpvBlock *body = edit_split(s->m, edit_after_phis(b));
    if (own_continue) /* a loop of one block: its body will end in the continue target */
        loop->words[loop->first_operand + 1] = body->id;
    spv_append(b, loop);
    edit_append(s->m, b, SpvOpBranch, &body->id, 1);
}

static bool returns_early(const SpvFunction *f)
{
    uint32_t ends = 0;
    for (SpvBlock *b = f->first; b; b = b->next)
        ends += !cfg_target(b->insts.last, 0) && b->insts.last->op != SpvOpUnreachable;
    return ends > 1;
}

static void enter_callee(Inliner *s, const Site *t, SpvBlock *from, SpvId first)
{
    if (!s->structured || !returns_early(t->callee)) {
        edit_append(s->m, from, SpvOpBranch, &first, 1);
        return;
    }
    SpvId zero = spv_int_constant(s->m, spv_int_type(s->m, 32, false), 0);
    edit_append(s->m, from, SpvOpSelectionMerge, (uint32_t[]){ t->rest->id, 0 }, 2);
    edit_append(s->m, from, SpvOpSwitch, (uint32_t[]){ zero, first }, 2);
}

static void inline_blocks(Inliner *s, Site *t)
{
    SpvInst *merge = cfg_merge_inst(t->call->block);
    if (merge && merge->op == SpvOpLoopMerge) {
        SpvBlock *header = t->call->block;
        bool own_continue = spv_operand(merge, 1) == header->id;
        split_header(s, header, merge);
        t->rest = edit_split(s->m, t->call);
        if (own_continue)
            cfg_merge_inst(header)->words[2] = t->rest->id;
    } else {
        t->rest = edit_split(s->m, t->call);
    }
    SpvBlock *from = t->rest->prev, *last = from;
    map_results(s, t->callee, false);
    for (SpvBlock *b = t->callee->first; b; b = b->next) {
        last = spv_new_block(t->caller, last);
        map_to(s, b->id, last->id);
    }
    for (SpvBlock *b = t->callee->first; b; b = b->next) {
        SpvBlock *to = edit_block(s->m, mapped(s, b->id));
        for (SpvInst *i = b->insts.first->next; i; i = i->next) {
            if (i->op == SpvOpVariable)
                continue;
            if (!copy_return(s, t, i, to))
                spv_append(to, copy_inst(s, t, i));
        }
    }
    SpvBlock *first = edit_block(s->m, mapped(s, t->callee->first->id));
    for (SpvInst *i = t->callee->first->insts.first; i; i = i->next)
        if (i->op == SpvOpVariable)
            copy_variable(s, t, i, first->insts.first->next);
    enter_callee(s, t, from, first->id);
    finish_call(s, t);
}

static void inline_call(Inliner *s, SpvInst *call, SpvFunction *caller, SpvFunction *callee)
{
    Site t = { .call = call, .caller = caller, .callee = callee };
    uint16_t end = callee->first->insts.last->op;
    SpvCallSite place = { plain_name(s, callee), call->file, call->line, call->column, call->call };
    t.place = arena_copy(s->m->arena, &place, sizeof place);
    map_parameters(s, &t);
    if (callee->first == callee->last && (end == SpvOpReturn || end == SpvOpReturnValue))
        inline_block(s, &t);
    else
        inline_blocks(s, &t);
}

static bool inline_into(Inliner *s, SpvFunction *f)
{
    VEC(SpvInst *) calls = { 0 };
    uint64_t size = edit_count(f);
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first; i; i = i->next)
            if (i->op == SpvOpFunctionCall)
                vec_push(s->c->scratch, &calls, i);
    for (uint32_t k = 0; k < calls.len; k++) {
        SpvFunction *callee = named_function(s, spv_operand(calls.data[k], 0));
        size += s->size[callee->def->id];
        if (size > MAX_INSTRUCTIONS) {
            spv_error(s->m, calls.data[k], s->c->sink, NULL,
                      "the kernel grows beyond %d instructions when its functions are inlined",
                      MAX_INSTRUCTIONS);
            return false;
        }
        inline_call(s, calls.data[k], f, callee);
    }
    s->size[f->def->id] = (uint32_t)size;
    return true;
}

/* ---- what remains ---------------------------------------------------------------------------- */

/* The entry point, and what its instructions still name. */
static void drop_functions(Inliner *s)
{
    uint8_t *keep = NEW_ARRAY(s->c->scratch, uint8_t, s->n_ids);
    keep[s->c->entry.function->def->id] = 1;
    for (uint32_t k = s->order.len; k-- > 0;) { /* callers first */
        SpvFunction *f = s->order.data[k];
        for (SpvBlock *b = keep[f->def->id] ? f->first : NULL; b; b = b->next) {
            for (SpvInst *i = b->insts.first; i; i = i->next) {
                edit_ids(i, &s->ids);
                for (uint32_t o = 0; o < s->ids.n; o++)
                    if (named_function(s, i->words[s->ids.at[o]]))
                        keep[i->words[s->ids.at[o]]] = 1;
            }
        }
    }
    SpvFunction **link = &s->m->functions;
    s->m->last_function = NULL;
    for (SpvFunction *f = s->m->functions; f; f = f->next) {
        if (!keep[f->def->id])
            continue;
        *link = f;
        link = &f->next;
        s->m->last_function = f;
    }
    *link = NULL;
}

bool pass_inline(PassContext *c)
{
    Inliner *s = NEW(c->scratch, Inliner);
    s->c = c;
    s->m = c->module;
    s->structured = c->entry.model == SpvExecutionModelGLCompute;
    strip_debug(s->m);
    s->n_ids = s->m->bound;
    s->function = NEW_ARRAY(c->scratch, SpvFunction *, s->n_ids);
    s->size = NEW_ARRAY(c->scratch, uint32_t, s->n_ids);
    for (SpvFunction *f = s->m->functions; f; f = f->next)
        s->function[f->def->id] = f;
    if (!order_functions(s))
        return false;
    index_decorations(s);
    for (uint32_t k = 0; k < s->order.len; k++)
        if (!inline_into(s, s->order.data[k]))
            return false;
    drop_functions(s);
    for (SpvFunction *f = s->m->functions; f; f = f->next)
        edit_prune(s->m, f, c->scratch);
    edit_sweep(s->m, c->scratch);
    return true;
}
