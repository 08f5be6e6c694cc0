/* SPDX-License-Identifier: MIT
 *
 * apart: splits structures and arrays that hold matrices. In: functions without calls. Out: no
 * value in the entry point is such a composite; each of its parts, a matrix or a member without
 * matrices, is a separate value. A variable of such a type becomes one variable for each member (an
 * array if the member is inside arrays) and is accessed one part at a time; initialisers become
 * stores.
 *
 * So the code generator sees only matrices and arrays of them. Variables are split first, with
 * constructs and extracts where a whole is loaded or stored. Values follow, in the order of the
 * blocks, where definitions come before their uses except for those of phis.
 */
#include "pass/edit.h"

enum { MAX_PARTS = 1 << 16, MAX_INDICES = 512 };

typedef struct OpenPhi {
    SpvInst *inst;
    SpvId *parts;
} OpenPhi;

typedef struct Apart {
    PassContext *c;
    SpvModule *m;
    PassFold fold;
    SpvInst ***columns;   /* by id of a variable: a variable for each of its members */
    uint8_t *closed;      /* by id of a variable: not to be touched */
    SpvId *with, **parts; /* by id */
    uint32_t n_ids;
    VEC(OpenPhi) phis;
    VEC(SpvInst *) dead;
} Apart;

/* ---- types ----------------------------------------------------------------------------------- */

static bool is_open(const SpvType *t) { return t && t->kind != SPV_COOPMAT && edit_has_matrix(t); }

static const SpvType *member_type(const SpvType *t, uint32_t k)
{
    return t->kind == SPV_ARRAY ? t->element : t->members[k];
}

/* Counts the parts of a value (with `arrays`), or the members of a variable, whose arrays stay
 * whole. */
static uint64_t count(const SpvType *t, bool arrays)
{
    uint64_t n = 0;
    if (!is_open(t))
        return 1;
    if (t->kind == SPV_ARRAY)
        return count(t->element, arrays) * (arrays ? t->count : 1);
    for (uint32_t k = 0; k < t->count && n <= MAX_PARTS; k++)
        n += count(t->members[k], arrays);
    return n;
}

/* How many of them precede member k. */
static uint32_t parts_before(const SpvType *t, uint32_t k, bool arrays)
{
    uint64_t n = t->kind == SPV_ARRAY && arrays ? k * count(t->element, arrays) : 0;
    for (uint32_t j = 0; t->kind == SPV_STRUCT && j < k; j++)
        n += count(t->members[j], arrays);
    return (uint32_t)n;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* The type of a variable's member number `at`, inside the arrays on the way to it. */
static SpvId column_type(Apart *s, const SpvType *t, uint32_t at)
{
    if (!is_open(t))
        return t->id;
    if (t->kind == SPV_ARRAY) {
        SpvId element = column_type(s, t->element, at);
        return element == t->element->id
                   ? t->id
                   : spv_array_type(s->m, element, spv_operand(spv_def(s->m, t->id), 1));
    }
    uint32_t k = 0;
    while (at >= count(t->members[k], false))
        at -= (uint32_t)count(t->members[k++], false);
    return column_type(s, t->members[k], at);
}

/* Private variables that a module of SPIR-V 1.4 uses are in the entry point's interface. */
static void add_to_interface(Apart *s, SpvId variable)
{
    for (SpvInst *i = s->m->globals.first; i; i = i->next) {
        if (i->op != SpvOpEntryPoint || s->m->version < 0x00010400)
            continue;
        uint32_t n = spv_n_operands(i);
        uint32_t *operands = NEW_ARRAY(s->c->scratch, uint32_t, n + 1);
        memcpy(operands, i->words + i->first_operand, n * sizeof *operands);
        operands[n] = variable;
        edit_become(s->m, i, SpvOpEntryPoint, operands, n + 1);
    }
}

static void open_variable(Apart *s, const PassVariable *var)
{
    SpvInst *old = var->inst;
    uint32_t n = (uint32_t)count(var->type, false), storage = spv_operand(old, 0);
    SpvInst **columns = s->columns[old->id] = NEW_ARRAY(s->c->scratch, SpvInst *, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        SpvId type = column_type(s, var->type, k);
        if (type == var->type->id) { /* no structure on the way */
            columns[k] = old;
            return;
        }
        columns[k] = spv_make(s->m, SpvOpVariable, spv_pointer_type(s->m, storage, type),
                              spv_new_id(s->m), &storage, 1);
        columns[k]->line = old->line;
        columns[k]->file = old->file;
        if (old->block) {
            spv_insert_before(old, columns[k]);
        } else {
            spv_append_global(s->m, columns[k]);
            add_to_interface(s, columns[k]->id);
        }
    }
    vec_push(s->c->scratch, &s->dead, old);
}

/* Where in a variable, and what is there. */
typedef struct Spot {
    SpvInst **columns;
    const SpvType *type;
    uint32_t column, indices[MAX_INDICES], n;
} Spot;

static SpvId pointer_to(Apart *s, const Spot *at, SpvInst *before)
{
    uint32_t operands[1 + MAX_INDICES];
    SpvInst *variable = at->columns[at->column];
    operands[0] = variable->id;
    memcpy(operands + 1, at->indices, at->n * sizeof *operands);
    SpvId type = spv_pointer_type(s->m, spv_operand(variable, 0), at->type->id);
    return at->n ? spv_put(s->m, before, SpvOpAccessChain, type, operands, at->n + 1)->id
                 : variable->id;
}

static Spot inside(Apart *s, const Spot *at, uint32_t k)
{
    Spot r = *at;
    r.type = member_type(at->type, k);
    r.column += parts_before(at->type, k, false);
    if (at->type->kind == SPV_ARRAY && r.n < MAX_INDICES)
        r.indices[r.n++] = spv_int_constant(s->m, spv_int_type(s->m, 32, false), k);
    return r;
}

static SpvId load_whole(Apart *s, const Spot *at, SpvInst *before)
{
    if (!is_open(at->type)) {
        SpvId pointer = pointer_to(s, at, before);
        return spv_put(s->m, before, SpvOpLoad, at->type->id, &pointer, 1)->id;
    }
    SpvId *parts = NEW_ARRAY(s->c->scratch, SpvId, at->type->count + 1);
    for (uint32_t k = 0; k < at->type->count; k++) {
        Spot part = inside(s, at, k);
        parts[k] = load_whole(s, &part, before);
    }
    return spv_put(s->m, before, SpvOpCompositeConstruct, at->type->id, parts, at->type->count)->id;
}

static void store_whole(Apart *s, const Spot *at, SpvId value, SpvInst *before)
{
    if (!is_open(at->type)) {
        SpvId pointer = pointer_to(s, at, before);
        spv_put(s->m, before, SpvOpStore, 0, (uint32_t[]){ pointer, value }, 2);
        return;
    }
    for (uint32_t k = 0; k < at->type->count; k++) {
        Spot part = inside(s, at, k);
        SpvInst *x = spv_put(s->m, before, SpvOpCompositeExtract, part.type->id,
                             (uint32_t[]){ value, k }, 2);
        store_whole(s, &part, x->id, before);
    }
}

static void rewrite_access(Apart *s, const PassVariable *var, SpvInst *i)
{
    const SpvInst *chain = spv_def(s->m, spv_operand(i, 0));
    uint32_t n = chain == var->inst ? 1 : spv_n_operands(chain);
    Spot at = { .columns = s->columns[var->inst->id], .type = var->type };
    for (uint32_t k = 1; k < n && at.n < MAX_INDICES; k++) {
        uint64_t index = 0;
        SpvId id = spv_operand(chain, k);
        if (!is_open(at.type) || at.type->kind == SPV_ARRAY)
            at.indices[at.n++] = id;
        if (!is_open(at.type))
            continue;
        if (at.type->kind == SPV_STRUCT)
            spv_constant(s->m, id, &index);
        at.column += parts_before(at.type, (uint32_t)index, false);
        at.type = member_type(at.type, (uint32_t)index);
    }
    if (!is_open(at.type)) {
        if (chain != var->inst) /* it may go on into a matrix or vector */
            at.type = spv_type(s->m, chain->type)->element;
        i->words[i->first_operand] = pointer_to(s, &at, i);
    } else if (i->op == SpvOpLoad) {
        s->with[i->id] = load_whole(s, &at, i);
        edit_remove(s->m, i);
    } else {
        store_whole(s, &at, spv_operand(i, 1), i);
        edit_remove(s->m, i);
    }
}

/* A store at the beginning of the function replaces an initialiser. */
static void store_initialiser(Apart *s, const SpvFunction *f, const PassVariable *var)
{
    SpvInst *old = var->inst, *before = edit_after_phis(f->first);
    Spot at = { .columns = s->columns[old->id], .type = var->type };
    while (before->op == SpvOpVariable)
        before = before->next;
    if (spv_n_operands(old) > 1)
        store_whole(s, &at, spv_operand(old, 1), before);
    edit_become(s->m, old, SpvOpVariable, old->words + old->first_operand, 1);
}

static void rewrite_function(Apart *s, SpvFunction *f, PassVariables *v)
{
    for (uint32_t k = 0; k < v->list.len; k++) {
        PassVariable *var = &v->list.data[k];
        if (!var->type || !edit_has_matrix(var->type) || s->closed[var->inst->id])
            continue;
        if (!s->columns[var->inst->id]) {
            open_variable(s, var);
            store_initialiser(s, var->inst->block ? f : s->c->entry.function, var);
        }
        if (!is_open(var->type))
            continue;
        for (uint32_t n = 0; n < var->accesses.len; n++)
            rewrite_access(s, var, var->accesses.data[n]);
        for (uint32_t n = 0; n < var->chains.len; n++)
            edit_remove(s->m, var->chains.data[n]);
    }
    edit_replace(f, s->with, s->n_ids);
}

static void begin(Apart *s)
{
    s->n_ids = s->m->bound;
    s->with = NEW_ARRAY(s->c->scratch, SpvId, s->n_ids);
    s->dead.len = 0;
}

static void end(Apart *s)
{
    for (uint32_t k = 0; k < s->dead.len; k++)
        edit_remove(s->m, s->dead.data[k]);
}

static bool open_variables(Apart *s)
{
    VEC(PassVariables *) found = { 0 };
    for (SpvFunction *f = s->m->functions; f; f = f->next) {
        edit_prune(s->m, f, s->c->scratch);
        Cfg *g = cfg_build(s->c->scratch, f, s->c->sink);
        if (!g)
            return false;
        vec_push(s->c->scratch, &found, variables_find(s->c, g));
    }
    begin(s);
    s->columns = arena_alloc_array(s->c->scratch, sizeof *s->columns, s->n_ids);
    s->closed = NEW_ARRAY(s->c->scratch, uint8_t, s->n_ids);
    for (uint32_t n = 0; n < found.len; n++)
        for (uint32_t k = 0; k < found.data[n]->list.len; k++) {
            const PassVariable *var = &found.data[n]->list.data[k];
            s->closed[var->inst->id] |= !var->followed || count(var->type, true) > MAX_PARTS;
        }
    uint32_t n = 0;
    for (SpvFunction *f = s->m->functions; f; f = f->next)
        rewrite_function(s, f, found.data[n++]);
    end(s);
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void constant_parts(Apart *s, SpvId id, const SpvType *t, SpvId **out)
{
    if (!is_open(t)) {
        *(*out)++ = id;
        return;
    }
    for (uint32_t k = 0; k < t->count; k++) {
        const SpvType *part = member_type(t, k);
        bool undef = spv_def(s->m, id)->op == SpvOpUndef;
        constant_parts(s, undef ? spv_undef(s->m, part->id) : fold_member(&s->fold, id, k), part,
                       out);
    }
}

/* The parts of a composite, or NULL where they are not known. */
static SpvId *parts_of(Apart *s, SpvId id)
{
    const SpvInst *i = spv_def(s->m, id);
    if (id >= s->n_ids || !i || s->parts[id])
        return id < s->n_ids ? s->parts[id] : NULL;
    if (i->block && i->op != SpvOpUndef)
        return NULL;
    const SpvType *t = spv_type(s->m, i->type);
    SpvId *out = s->parts[id] = NEW_ARRAY(s->c->scratch, SpvId, count(t, true) + 1);
    constant_parts(s, id, t, &out);
    return s->parts[id];
}

/* Follows literal indices as far as composites are open: the part's number and type, and the index
 * that is next. False: there is no such member. */
static bool follow_indices(const SpvInst *i, uint32_t *k, const SpvType **t, uint32_t *part)
{
    *part = 0;
    for (; is_open(*t) && *k < spv_n_operands(i); ++*k) {
        uint32_t index = spv_operand(i, *k);
        if (index >= (*t)->count)
            return false;
        *part += parts_before(*t, index, true);
        *t = member_type(*t, index);
    }
    return true;
}

static bool open_extract(Apart *s, SpvInst *i)
{
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 0));
    SpvId *parts = is_open(t) ? parts_of(s, spv_operand(i, 0)) : NULL;
    uint32_t k = 1, part, n = spv_n_operands(i);
    if (!parts || !follow_indices(i, &k, &t, &part))
        return false;
    if (is_open(t)) {
        s->parts[i->id] = parts + part;
    } else if (k == n) {
        s->with[i->id] = parts[part];
    } else {
        uint32_t *operands = NEW_ARRAY(s->c->scratch, uint32_t, n);
        operands[0] = parts[part];
        memcpy(operands + 1, i->words + i->first_operand + k, (n - k) * sizeof *operands);
        edit_become(s->m, i, SpvOpCompositeExtract, operands, n - k + 1);
        return false;
    }
    return true;
}

static bool open_insert(Apart *s, SpvInst *i, const SpvType *t, SpvId *out)
{
    uint32_t k = 2, part, n = spv_n_operands(i);
    SpvId object = spv_operand(i, 0), *parts = parts_of(s, spv_operand(i, 1));
    if (!parts)
        return false;
    memcpy(out, parts, count(t, true) * sizeof *out);
    if (!follow_indices(i, &k, &t, &part))
        return false;
    if (is_open(t)) {
        parts = parts_of(s, object);
        if (parts)
            memcpy(out + part, parts, count(t, true) * sizeof *out);
        return parts != NULL;
    }
    if (k < n) {
        uint32_t *operands = NEW_ARRAY(s->c->scratch, uint32_t, n);
        operands[0] = object;
        operands[1] = out[part];
        memcpy(operands + 2, i->words + i->first_operand + k, (n - k) * sizeof *operands);
        object = spv_put(s->m, i, SpvOpCompositeInsert, t->id, operands, n - k + 2)->id;
    }
    out[part] = object;
    return true;
}

static bool open_construct(Apart *s, SpvInst *i, const SpvType *t, SpvId *out)
{
    for (uint32_t k = 0; k < spv_n_operands(i); k++) {
        SpvId id = spv_operand(i, k);
        const SpvType *part = member_type(t, k);
        SpvId *parts = is_open(part) ? parts_of(s, id) : &id;
        if (!parts)
            return false;
        memcpy(out, parts, count(part, true) * sizeof *out);
        out += count(part, true);
    }
    return true;
}

static void part_types(const SpvType *t, SpvId **out)
{
    if (!is_open(t)) {
        *(*out)++ = t->id;
        return;
    }
    for (uint32_t k = 0; k < t->count; k++)
        part_types(member_type(t, k), out);
}

/* The same instruction for each part, with that part of the operands from `first` on. */
static bool open_each(Apart *s, SpvInst *i, const SpvType *t, SpvId *out, uint32_t first)
{
    uint32_t n = (uint32_t)count(t, true), n_operands = spv_n_operands(i);
    SpvId *types = NEW_ARRAY(s->c->scratch, SpvId, n + 1), *end = types;
    uint32_t *operands = NEW_ARRAY(s->c->scratch, uint32_t, n_operands + 1);
    part_types(t, &end);
    memcpy(operands, i->words + i->first_operand, n_operands * sizeof *operands);
    for (uint32_t p = 0; p < n; p++) {
        for (uint32_t k = first; i->op != SpvOpPhi && k < n_operands; k++) {
            SpvId *parts = parts_of(s, spv_operand(i, k));
            if (!parts)
                return false;
            operands[k] = parts[p];
        }
        const SpvInst *x = spv_def(s->m, operands[first]);
        bool same = i->op == SpvOpCopyObject || (i->op == SpvOpCopyLogical && x->type == types[p]);
        out[p] =
            same ? operands[first] : spv_put(s->m, i, i->op, types[p], operands, n_operands)->id;
    }
    if (i->op == SpvOpPhi)
        vec_push(s->c->scratch, &s->phis, (OpenPhi){ i, out });
    return true;
}

static bool open_value(Apart *s, SpvInst *i)
{
    const SpvType *t = i->type ? spv_type(s->m, i->type) : NULL;
    if (i->op == SpvOpCompositeExtract)
        return open_extract(s, i);
    if (!is_open(t) || count(t, true) > MAX_PARTS)
        return false;
    SpvId *out = NEW_ARRAY(s->c->scratch, SpvId, count(t, true) + 1);
    bool done = false;
    switch (i->op) {
    case SpvOpPhi:
    case SpvOpCopyObject:
    case SpvOpCopyLogical: done = open_each(s, i, t, out, 0); break;
    case SpvOpSelect: done = open_each(s, i, t, out, 1); break;
    case SpvOpCompositeConstruct: done = open_construct(s, i, t, out); break;
    case SpvOpCompositeInsert: done = open_insert(s, i, t, out); break;
    default: break;
    }
    if (done)
        s->parts[i->id] = out;
    return done;
}

static void close_phi(Apart *s, const OpenPhi *phi)
{
    uint32_t n = (uint32_t)count(spv_type(s->m, phi->inst->type), true);
    for (uint32_t k = 0; k + 1 < spv_n_operands(phi->inst); k += 2) {
        SpvId *parts = parts_of(s, spv_operand(phi->inst, k));
        for (uint32_t p = 0; p < n; p++) {
            SpvInst *i = spv_def(s->m, phi->parts[p]);
            i->words[i->first_operand + k] = parts ? parts[p] : spv_undef(s->m, i->type);
        }
    }
}

static void open_values(Apart *s)
{
    SpvFunction *f = s->c->entry.function;
    begin(s);
    s->parts = arena_alloc_array(s->c->scratch, sizeof *s->parts, s->n_ids);
    for (SpvBlock *b = f->first; b; b = b->next)
        for (SpvInst *i = b->insts.first, *next; i; i = next) {
            next = i->next;
            if (i->id < s->n_ids && open_value(s, i))
                vec_push(s->c->scratch, &s->dead, i);
        }
    for (uint32_t k = 0; k < s->phis.len; k++)
        close_phi(s, &s->phis.data[k]);
    end(s);
    edit_replace(f, s->with, s->n_ids);
}

bool pass_apart(PassContext *c)
{
    bool any = false;
    for (const SpvInst *i = c->module->globals.first; i; i = i->next)
        any |= i->op == SpvOpTypeCooperativeMatrixKHR;
    if (!any)
        return true;
    Apart s = { .c = c, .m = c->module, .fold = fold_open(c->module, c->scratch) };
    if (!open_variables(&s))
        return false;
    open_values(&s);
    edit_sweep(c->module, c->scratch);
    return true;
}
