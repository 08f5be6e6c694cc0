/* SPDX-License-Identifier: MIT
 *
 * Access to a module and changes to it. An instruction knows the list that it is in, so that
 * linking and unlinking work alike in the preamble, in a function's head and in a block.
 */
#include <stdio.h>

#include "spirv/internal.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "strings are read in place in the words");

SpvModule *spv_module(Arena *arena, uint32_t bound)
{
    SpvModule *m = NEW(arena, SpvModule);
    m->arena = arena;
    m->bound = bound;
    m->defs_cap = bound;
    m->defs = NEW_ARRAY(arena, SpvInst *, bound);
    return m;
}

SpvInst *spv_def(const SpvModule *m, SpvId id) { return id < m->defs_cap ? m->defs[id] : NULL; }

SpvFunction *spv_function(const SpvModule *m, SpvId id)
{
    SpvFunction *f = m->functions;
    while (f && f->def->id != id)
        f = f->next;
    return f;
}

uint32_t spv_callees(const SpvModule *m, const SpvInst *i, SpvId out[SPV_MAX_CALLEES])
{
    uint32_t n = 0;
    SpvOperand o;
    if (i->op != SpvOpFunctionCall && i->op != SpvOpCooperativeMatrixReduceNV &&
        i->op != SpvOpCooperativeMatrixPerElementOpNV &&
        i->op != SpvOpCooperativeMatrixLoadTensorNV)
        return 0;
    for (SpvWalk w = spv_walk(i); n < SPV_MAX_CALLEES && spv_walk_next(&w, &o);) {
        const SpvInst *def = o.is_id ? spv_def(m, i->words[o.word]) : NULL;
        if (def && def->op == SpvOpFunction)
            out[n++] = def->id;
    }
    return n;
}

/* ---- strings, names, positions --------------------------------------------------------------- */

const char *spv_string(const SpvInst *i, uint32_t operand, uint32_t *n_words)
{
    const char *s = (const char *)&i->words[i->first_operand + operand];
    if (n_words)
        *n_words = (uint32_t)(strlen(s) / 4 + 1);
    return s;
}

const char *spv_name(const SpvModule *m, SpvId id)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpName && spv_operand(i, 0) == id) {
            const char *s = spv_string(i, 1, NULL);
            return s[0] ? s : NULL;
        }
    return NULL;
}

/* "%name" or "%12" into buf. */
static const char *result_name(const SpvModule *m, const SpvInst *i, char *buf, size_t size)
{
    if (!i->id)
        return NULL;
    const char *name = spv_name(m, i->id);
    if (name)
        snprintf(buf, size, "%%%s", name);
    else
        snprintf(buf, size, "%%%u", i->id);
    return buf;
}

static DiagLoc location(const SpvModule *m, const SpvInst *i, char *buf, size_t size)
{
    DiagLoc loc = { .file = m ? m->name : NULL };
    if (!i)
        return loc;
    const SpvInst *file = i->file ? spv_def(m, i->file) : NULL;
    if (file && file->op == SpvOpString)
        loc.file = spv_string(file, 0, NULL);
    loc.line = i->line;
    loc.column = i->column;
    loc.has_inst = true;
    loc.inst = i->index;
    loc.opcode = spv_op_name(i->op);
    loc.result = result_name(m, i, buf, size);
    return loc;
}

DiagLoc spv_loc(Arena *scratch, const SpvModule *m, const SpvInst *i)
{
    char buf[256];
    DiagLoc loc = location(m, i, buf, sizeof buf);
    if (loc.result)
        loc.result = arena_strdup(scratch, loc.result);
    return loc;
}

void spv_error(const SpvModule *m, const SpvInst *i, DiagSink *sink, const char *rule,
               const char *fmt, ...)
{
    char buf[256];
    DiagLoc loc = location(m, i, buf, sizeof buf);
    va_list args;
    va_start(args, fmt);
    diag_v(sink, DIAG_ERROR, &loc, rule, fmt, args);
    va_end(args);
}

/* ---- lists ----------------------------------------------------------------------------------- */

void spv_list_append(SpvInstList *l, SpvInst *i)
{
    i->list = l;
    i->prev = l->last;
    i->next = NULL;
    if (l->last)
        l->last->next = i;
    else
        l->first = i;
    l->last = i;
}

void spv_insert_before(SpvInst *at, SpvInst *i)
{
    i->list = at->list;
    i->block = at->block;
    i->prev = at->prev;
    i->next = at;
    if (at->prev)
        at->prev->next = i;
    else
        at->list->first = i;
    at->prev = i;
}

void spv_insert_after(SpvInst *at, SpvInst *i)
{
    if (at->next) {
        spv_insert_before(at->next, i);
    } else {
        i->block = at->block;
        spv_list_append(at->list, i);
    }
}

void spv_append(SpvBlock *b, SpvInst *i)
{
    i->block = b;
    spv_list_append(&b->insts, i);
}

void spv_append_global(SpvModule *m, SpvInst *i)
{
    int section = spv_section(i);
    SpvInst *after = m->globals.last;
    if (section > SPV_ANY_SECTION && section < SPV_LAST_SECTION)
        while (after && (spv_section(after) > section || spv_section(after) <= SPV_ANY_SECTION))
            after = after->prev;
    if (section == SPV_ANNOTATION_SECTION)
        m->decorations = NULL;
    i->block = NULL;
    if (after && after != m->globals.last)
        spv_insert_after(after, i);
    else if (after || !m->globals.first)
        spv_list_append(&m->globals, i);
    else
        spv_insert_before(m->globals.first, i);
}

void spv_unlink(SpvInst *i)
{
    if (!i->list)
        return;
    if (i->prev)
        i->prev->next = i->next;
    else
        i->list->first = i->next;
    if (i->next)
        i->next->prev = i->prev;
    else
        i->list->last = i->prev;
    i->prev = i->next = NULL;
    i->list = NULL;
    i->block = NULL;
}

static bool visit_list(const SpvInstList *l, bool (*visit)(void *, SpvInst *), void *user)
{
    for (SpvInst *i = l->first, *next; i; i = next) {
        next = i->next;
        if (!visit(user, i))
            return false;
    }
    return true;
}

void spv_each_inst(const SpvModule *m, bool (*visit)(void *user, SpvInst *i), void *user)
{
    if (!visit_list(&m->globals, visit, user))
        return;
    for (SpvFunction *f = m->functions; f; f = f->next) {
        if (!visit_list(&f->before, visit, user) || !visit_list(&f->head, visit, user))
            return;
        for (SpvBlock *b = f->first; b; b = b->next)
            if (!visit_list(&b->before, visit, user) || !visit_list(&b->insts, visit, user))
                return;
        if (!visit_list(&f->before_end, visit, user))
            return;
        if (f->end && !visit(user, f->end))
            return;
    }
    visit_list(&m->trailing, visit, user);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void grow_ids(SpvModule *m, uint32_t need)
{
    if (need <= m->defs_cap)
        return;
    uint32_t cap = MAX(need, m->defs_cap + m->defs_cap / 2 + 64);
    SpvInst **defs = NEW_ARRAY(m->arena, SpvInst *, cap);
    memcpy(defs, m->defs, m->defs_cap * sizeof *defs);
    m->defs = defs;
    if (m->types) {
        SpvType **types = NEW_ARRAY(m->arena, SpvType *, cap);
        memcpy(types, m->types, m->defs_cap * sizeof *types);
        m->types = types;
    }
    m->defs_cap = cap;
}

SpvId spv_new_id(SpvModule *m)
{
    grow_ids(m, m->bound + 1);
    return m->bound++;
}

static uint8_t selector_words(const SpvModule *m, SpvId selector)
{
    const SpvInst *value = spv_def(m, selector);
    const SpvInst *type = value && value->type ? spv_def(m, value->type) : NULL;
    bool wide =
        type && type->op == SpvOpTypeInt && spv_n_operands(type) && spv_operand(type, 0) > 32;
    return wide ? 2 : 1;
}

void spv_set_context(const SpvModule *m, SpvInst *i)
{
    if (i->n_words <= i->first_operand)
        return;
    if (i->op == SpvOpSwitch)
        i->literal_words = selector_words(m, spv_operand(i, 0));
    if (i->op != SpvOpExtInst && i->op != SpvOpExtInstWithForwardRefsKHR)
        return;
    const SpvInst *set = spv_def(m, spv_operand(i, 0));
    bool import = set && set->op == SpvOpExtInstImport;
    i->ext_set = import ? spv_set_by_name(spv_string(set, 0, NULL)) : SPV_SET_UNKNOWN;
}

SpvInst *spv_make(SpvModule *m, uint16_t op, SpvId type, SpvId id, const uint32_t *operands,
                  uint32_t n)
{
    const SpvOpInfo *info = spv_op_info(op);
    bool has_type = info && info->has_type, has_id = info && info->has_result;
    uint32_t first = 1u + has_type + has_id;
    /* No instruction can be longer; a request for one runs out of memory, which callers need not
     * check. */
    if (n > UINT16_MAX - first)
        arena_alloc_array(m->arena, SIZE_MAX, 2);
    SpvInst *i = NEW(m->arena, SpvInst);
    i->op = op;
    i->n_words = (uint16_t)(first + n);
    i->first_operand = (uint16_t)first;
    i->words = NEW_ARRAY(m->arena, uint32_t, first + n);
    i->words[0] = (uint32_t)i->n_words << 16 | op;
    if (has_type)
        i->words[1] = i->type = type;
    if (has_id)
        i->words[first - 1] = i->id = id;
    if (n)
        memcpy(i->words + first, operands, n * sizeof *operands);
    spv_set_context(m, i);
    if (i->id) {
        grow_ids(m, i->id + 1);
        m->bound = MAX(m->bound, i->id + 1);
        m->defs[i->id] = i;
    }
    return i;
}

SpvInst *spv_put(SpvModule *m, SpvInst *at, uint16_t op, SpvId type, const uint32_t *operands,
                 uint32_t n)
{
    SpvInst *i = spv_make(m, op, type, type ? spv_new_id(m) : 0, operands, n);
    i->line = at->line;
    i->file = at->file;
    i->column = at->column;
    i->call = at->call;
    i->index = at->index;
    spv_insert_before(at, i);
    return i;
}

static SpvInst *copy_inst(Arena *arena, const SpvInst *i)
{
    SpvInst *c = arena_copy(arena, i, sizeof *i);
    c->words = arena_copy(arena, i->words, i->n_words * sizeof *i->words);
    c->prev = c->next = NULL;
    c->list = NULL;
    c->block = NULL;
    return c;
}

SpvInst *spv_clone_inst(SpvModule *m, const SpvInst *i) { return copy_inst(m->arena, i); }

/* ---- blocks ---------------------------------------------------------------------------------- */

SpvBlock *spv_new_block(SpvFunction *f, SpvBlock *after)
{
    SpvModule *m = f->module;
    SpvBlock *b = NEW(m->arena, SpvBlock);
    b->function = f;
    b->id = spv_new_id(m);
    spv_append(b, spv_make(m, SpvOpLabel, 0, b->id, NULL, 0));
    b->prev = after ? after : f->last;
    b->next = b->prev ? b->prev->next : NULL;
    if (b->prev)
        b->prev->next = b;
    else
        f->first = b;
    if (b->next)
        b->next->prev = b;
    else
        f->last = b;
    b->index = f->n_blocks++;
    return b;
}

void spv_unlink_block(SpvBlock *b)
{
    SpvFunction *f = b->function;
    if (b->prev)
        b->prev->next = b->next;
    else
        f->first = b->next;
    if (b->next)
        b->next->prev = b->prev;
    else
        f->last = b->prev;
    b->prev = b->next = NULL;
    f->n_blocks--;
}

void spv_number_blocks(SpvFunction *f)
{
    f->n_blocks = 0;
    for (SpvBlock *b = f->first; b; b = b->next)
        b->index = f->n_blocks++;
}

/* ---- replacing ------------------------------------------------------------------------------- */

typedef struct Replace {
    SpvId from, to;
} Replace;

static void replace_id(void *user, uint32_t *id)
{
    const Replace *r = user;
    if (*id == r->from)
        *id = r->to;
}

static bool replace_in(void *user, SpvInst *i)
{
    const Replace *r = user;
    const SpvOpInfo *info = spv_op_info(i->op);
    if (!info || info->flags & (SPV_OPF_DEBUG | SPV_OPF_ANNOTATION))
        return true;
    if (i->type == r->from && i->type)
        i->type = i->words[1] = r->to;
    /* Most instructions do not have the id at all, and a look at the words tells. */
    for (uint32_t k = i->first_operand; k < i->n_words; k++)
        if (i->words[k] == r->from) {
            spv_each_id(i, replace_id, user);
            break;
        }
    return true;
}

void spv_replace_uses(SpvModule *m, SpvId from, SpvId to)
{
    Replace r = { from, to };
    spv_each_inst(m, replace_in, &r);
}

/* ---- cloning a module ------------------------------------------------------------------------ */

static void clone_list(SpvModule *m, SpvInstList *to, const SpvInstList *from, SpvBlock *block)
{
    for (const SpvInst *i = from->first; i; i = i->next) {
        SpvInst *c = copy_inst(m->arena, i);
        c->block = block;
        spv_list_append(to, c);
        if (c->id)
            m->defs[c->id] = c;
    }
}

static void clone_function(SpvModule *m, const SpvFunction *f)
{
    SpvFunction *c = NEW(m->arena, SpvFunction);
    c->module = m;
    if (m->last_function)
        m->last_function->next = c;
    else
        m->functions = c;
    m->last_function = c;
    clone_list(m, &c->before, &f->before, NULL);
    clone_list(m, &c->head, &f->head, NULL);
    c->def = m->defs[f->def->id];
    for (const SpvBlock *b = f->first; b; b = b->next) {
        SpvBlock *d = NEW(m->arena, SpvBlock);
        d->function = c;
        d->id = b->id;
        d->index = c->n_blocks++;
        d->prev = c->last;
        if (c->last)
            c->last->next = d;
        else
            c->first = d;
        c->last = d;
        clone_list(m, &d->before, &b->before, NULL);
        clone_list(m, &d->insts, &b->insts, d);
    }
    clone_list(m, &c->before_end, &f->before_end, NULL);
    c->end = copy_inst(m->arena, f->end);
}

SpvModule *spv_clone(Arena *arena, const SpvModule *m)
{
    SpvModule *c = spv_module(arena, m->bound);
    c->version = m->version;
    c->generator = m->generator;
    c->schema = m->schema;
    c->swapped = m->swapped;
    c->name = m->name ? arena_strdup(arena, m->name) : NULL;
    clone_list(c, &c->globals, &m->globals, NULL);
    for (const SpvFunction *f = m->functions; f; f = f->next)
        clone_function(c, f);
    clone_list(c, &c->trailing, &m->trailing, NULL);
    return c;
}

static void move_list(SpvInstList *to)
{
    for (SpvInst *i = to->first; i; i = i->next)
        i->list = to;
}

void spv_move(SpvModule *to, const SpvModule *from)
{
    *to = *from;
    move_list(&to->globals);
    move_list(&to->trailing);
    for (SpvFunction *f = to->functions; f; f = f->next)
        f->module = to;
}
