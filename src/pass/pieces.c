/* SPDX-License-Identifier: MIT
 *
 * pieces: variables that are accessed by byte offsets, through casts of their address, as compilers
 * without typed pointers do it. In: an OpenCL kernel after unroll. Out: where all places that such
 * a variable is accessed at are known, and each two are the same or do not overlap, each is a
 * variable of its own, which promote makes a value of. Where some are computed, and all accesses
 * are of one size, the variable is an array of such elements, without casts, which a target of
 * lanes interleaves. Vectors are accessed component by component if that is what it takes.
 */
#include "pass/edit.h"

enum { MAX_BYTES = 65536, MAX_TERMS = 6 };

/* The sum of a constant and of indices times their strides, in bytes from a variable's begin. */
typedef struct Place {
    uint32_t object; /* 1 + its place in Pieces.objects */
    int64_t at;
    uint32_t n;
    struct {
        SpvId index;
        int64_t stride;
    } term[MAX_TERMS];
} Place;

typedef struct Access {
    SpvInst *inst; /* OpLoad, OpStore */
    const SpvType *type;
    const Place *place;
} Access;

typedef struct Object {
    SpvInst *variable;
    uint64_t size;
    bool followed, cast, computed;
    VEC(Access) accesses;
    VEC(SpvInst *) others; /* its other users: derived pointers, lifetimes */
} Object;

typedef struct Pieces {
    PassContext *c;
    SpvModule *m;
    const Cfg *g;
    PassIdWords ids;
    Place **place; /* by id of a pointer */
    uint32_t n_ids;
    VEC(Object) objects;
} Pieces;

static Place *place_of(Pieces *s, SpvId id) { return id < s->n_ids ? s->place[id] : NULL; }
static Object *object_of(Pieces *s, const Place *p) { return &s->objects.data[p->object - 1]; }

static uint64_t stride_of(Pieces *s, const SpvType *t)
{
    uint32_t align;
    uint64_t size = spv_opencl_size(s->m, t, &align);
    return align_up(size, align);
}

/* ---- where pointers lead --------------------------------------------------------------------- */

static bool add_index(Pieces *s, Place *p, SpvId id, uint64_t stride)
{
    const SpvType *t = spv_type_of(s->m, id);
    uint64_t value;
    if (!t || t->kind != SPV_INT || !stride)
        return false;
    if (spv_constant(s->m, id, &value)) {
        unsigned unused = 64 - MIN(t->bits, 64);
        p->at += ((int64_t)(value << unused) >> unused) * (int64_t)stride;
        return true;
    }
    if (p->n == MAX_TERMS)
        return false;
    p->term[p->n].index = id;
    p->term[p->n++].stride = (int64_t)stride;
    return true;
}

static bool add_chain(Pieces *s, Place *p, const SpvInst *i)
{
    bool element = i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain;
    const SpvType *t = spv_type_of(s->m, spv_operand(i, 0))->element;
    if (element && !add_index(s, p, spv_operand(i, 1), stride_of(s, t)))
        return false;
    for (uint32_t k = element ? 2 : 1; k < spv_n_operands(i); k++) {
        uint64_t member;
        if (t && t->kind == SPV_STRUCT) {
            if (!spv_constant(s->m, spv_operand(i, k), &member) || member >= t->count)
                return false;
            p->at += (int64_t)spv_opencl_offset(s->m, t, (uint32_t)member);
            t = t->members[member];
            continue;
        }
        t = t && (t->kind == SPV_ARRAY || t->kind == SPV_VECTOR) ? t->element : NULL;
        if (!t || !add_index(s, p, spv_operand(i, k), stride_of(s, t)))
            return false;
    }
    return true;
}

static void add_variable(Pieces *s, SpvInst *i)
{
    const SpvType *t = spv_type(s->m, i->type);
    Object o = { .variable = i, .size = t && t->element ? stride_of(s, t->element) : 0 };
    o.followed = o.size && o.size <= MAX_BYTES && spv_n_operands(i) == 1;
    vec_push(s->c->scratch, &s->objects, o);
    s->place[i->id] = NEW(s->c->scratch, Place);
    s->place[i->id]->object = s->objects.len;
}

/* False: the address gets to where it cannot be followed. */
static bool add_pointer(Pieces *s, SpvInst *i, const Place *from)
{
    bool chain = i->op != SpvOpBitcast && i->op != SpvOpCopyObject;
    const SpvType *t = spv_type(s->m, i->type);
    if (!t || t->kind != SPV_POINTER || t->storage != SpvStorageClassFunction)
        return false;
    Place *p = s->place[i->id] = arena_copy(s->c->scratch, from, sizeof *from);
    object_of(s, p)->cast |= i->op != SpvOpAccessChain && i->op != SpvOpInBoundsAccessChain;
    vec_push(s->c->scratch, &object_of(s, p)->others, i);
    return !chain || add_chain(s, p, i);
}

/* ---- what is done with them ------------------------------------------------------------------ */

static bool is_volatile(const SpvInst *i)
{
    uint32_t k = i->op == SpvOpLoad ? 1 : 2;
    return spv_n_operands(i) > k && spv_operand(i, k) & SpvMemoryAccessVolatileMask;
}

static void add_access(Pieces *s, SpvInst *i, const Place *p)
{
    Object *o = object_of(s, p);
    const SpvType *t =
        i->op == SpvOpLoad ? spv_type(s->m, i->type) : spv_type_of(s->m, spv_operand(i, 1));
    bool scalar = t && (t->kind == SPV_INT || t->kind == SPV_FLOAT || t->kind == SPV_POINTER);
    o->followed &=
        !is_volatile(i) && (scalar || (t && t->kind == SPV_VECTOR && t->element->kind != SPV_BOOL));
    o->computed |= p->n > 0;
    vec_push(s->c->scratch, &o->accesses, (Access){ i, t, p });
}

static void add_uses(Pieces *s, SpvInst *i)
{
    SpvId from = pointer_from(i);
    const Place *p = place_of(s, from ? from : spv_n_operands(i) ? spv_operand(i, 0) : 0);
    bool life = i->op == SpvOpLifetimeStart || i->op == SpvOpLifetimeStop;
    uint32_t skip = 0;
    if (i->op == SpvOpVariable || i->op == SpvOpLabel)
        return;
    if (p && from) {
        object_of(s, p)->followed &= add_pointer(s, i, p);
        skip = i->first_operand;
    } else if (p && life) {
        vec_push(s->c->scratch, &object_of(s, p)->others, i);
        skip = i->first_operand;
    } else if (p && (i->op == SpvOpLoad || i->op == SpvOpStore)) {
        add_access(s, i, p);
        skip = i->first_operand;
    }
    edit_ids(i, &s->ids);
    for (uint32_t k = 0; k < s->ids.n; k++)
        if (s->ids.at[k] != skip && (p = place_of(s, i->words[s->ids.at[k]])) != NULL)
            object_of(s, p)->followed = false;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* One of the scalars or vectors that an access consists of. */
static const SpvType *part_type(const Access *a, bool components)
{
    return components && a->type->kind == SPV_VECTOR ? a->type->element : a->type;
}

static uint32_t n_parts(const Access *a, bool components)
{
    return components && a->type->kind == SPV_VECTOR ? a->type->count : 1;
}

/* What the variable becomes. */
typedef struct Outcome {
    bool components; /* vectors are taken apart */
    /* computed: an array of elements; else a variable for each place, by its offset */
    SpvInst *array, **at;
    const SpvType *element, **type; /* by offset: what lies there, whose bytes point to its begin */
    uint32_t *begin;                /* by offset: 1 + where what covers that byte begins */
} Outcome;

/* Whether each two places are the same, of the same size, or do not overlap. */
static bool places_fit(Pieces *s, const Object *o, Outcome *out)
{
    out->begin = NEW_ARRAY(s->c->scratch, uint32_t, o->size);
    out->type = NEW_ARRAY(s->c->scratch, const SpvType *, o->size);
    for (uint32_t k = 0; k < o->accesses.len; k++) {
        const Access *a = &o->accesses.data[k];
        const SpvType *t = part_type(a, out->components);
        uint64_t size = spv_type_size(t);
        for (uint32_t n = 0; n < n_parts(a, out->components); n++) {
            int64_t at = a->place->at + (int64_t)(n * size);
            if (at < 0 || (uint64_t)at + size > o->size)
                return false;
            const SpvType *there = out->type[at];
            for (uint64_t b = 0; b < size; b++) {
                uint32_t *begin = &out->begin[(uint64_t)at + b];
                if (*begin != (there ? (uint32_t)at + 1 : 0))
                    return false;
                *begin = (uint32_t)at + 1;
            }
            if (there && there != t && !edit_casts(there, t))
                return false;
            out->type[at] = there ? there : t;
        }
    }
    return true;
}

/* Whether all accesses are of elements of one size. */
static bool elements_fit(const Object *o, Outcome *out)
{
    const SpvType *first = part_type(&o->accesses.data[0], out->components);
    int64_t size = (int64_t)spv_type_size(first);
    out->element = first;
    if (!size || o->size % (uint64_t)size)
        return false;
    for (uint32_t k = 0; k < o->accesses.len; k++) {
        const Access *a = &o->accesses.data[k];
        const SpvType *t = part_type(a, out->components);
        bool fits = (t == first || edit_casts(first, t)) && a->place->at % size == 0;
        for (uint32_t n = 0; n < a->place->n; n++)
            fits &= a->place->term[n].stride % size == 0;
        if (!fits)
            return false;
    }
    return true;
}

static bool decide(Pieces *s, const Object *o, Outcome *out)
{
    for (int components = 0; components < 2; components++) {
        *out = (Outcome){ .components = components };
        if (o->computed ? elements_fit(o, out) : places_fit(s, o, out))
            return true;
    }
    return false;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

static SpvInst *make_variable(Pieces *s, const Object *o, SpvId type)
{
    SpvId pointer = spv_pointer_type(s->m, SpvStorageClassFunction, type);
    uint32_t storage = SpvStorageClassFunction;
    SpvInst *v = spv_make(s->m, SpvOpVariable, pointer, spv_new_id(s->m), &storage, 1);
    v->line = o->variable->line;
    v->file = o->variable->file;
    spv_insert_before(o->variable, v);
    return v;
}

static void make_array(Pieces *s, const Object *o, Outcome *out)
{
    uint64_t n = o->size / spv_type_size(out->element);
    SpvId u32 = spv_int_type(s->m, 32, false);
    SpvId type = spv_array_type(s->m, out->element->id, spv_int_constant(s->m, u32, n));
    out->array = make_variable(s, o, type);
}

/* The number of an element, as 64 bits. */
static SpvId element_index(Pieces *s, const Place *p, int64_t at, int64_t size, SpvInst *before)
{
    SpvId u64 = spv_int_type(s->m, 64, false);
    SpvId sum = spv_int_constant(s->m, u64, (uint64_t)(at / size));
    for (uint32_t k = 0; k < p->n; k++) {
        SpvId index = p->term[k].index;
        SpvId factor = spv_int_constant(s->m, u64, (uint64_t)(p->term[k].stride / size));
        if (spv_type_of(s->m, index)->bits < 64)
            index = spv_put(s->m, before, SpvOpSConvert, u64, &index, 1)->id;
        index = spv_put(s->m, before, SpvOpIMul, u64, (uint32_t[]){ index, factor }, 2)->id;
        sum = spv_put(s->m, before, SpvOpIAdd, u64, (uint32_t[]){ sum, index }, 2)->id;
    }
    return sum;
}

/* The pointer to part k of an access. */
static SpvId part_pointer(Pieces *s, Object *o, Outcome *out, const Access *a, uint32_t k)
{
    int64_t size = (int64_t)spv_type_size(part_type(a, out->components));
    int64_t at = a->place->at + (int64_t)k * size;
    if (!out->array) {
        if (!out->at[at])
            out->at[at] = make_variable(s, o, out->type[at]->id);
        return out->at[at]->id;
    }
    SpvId type = spv_pointer_type(s->m, SpvStorageClassFunction, out->element->id);
    uint32_t operands[2] = { out->array->id, element_index(s, a->place, at, size, a->inst) };
    return spv_put(s->m, a->inst, SpvOpAccessChain, type, operands, 2)->id;
}

static SpvId own_type(const Outcome *out, const Access *a, uint32_t k)
{
    const SpvType *t = part_type(a, out->components);
    return out->array ? out->element->id : out->type[a->place->at + k * spv_type_size(t)]->id;
}

static void rewrite_load(Pieces *s, Object *o, Outcome *out, const Access *a)
{
    uint32_t n = n_parts(a, out->components);
    SpvId t = part_type(a, out->components)->id, part[16];
    for (uint32_t k = 0; k < n; k++) {
        SpvId pointer = part_pointer(s, o, out, a, k), own = own_type(out, a, k);
        part[k] = spv_put(s->m, a->inst, SpvOpLoad, own, &pointer, 1)->id;
        if (own != t)
            part[k] = spv_put(s->m, a->inst, SpvOpBitcast, t, &part[k], 1)->id;
    }
    edit_become(s->m, a->inst, n > 1 ? SpvOpCompositeConstruct : SpvOpCopyObject, part, n);
}

static void rewrite_store(Pieces *s, Object *o, Outcome *out, const Access *a)
{
    SpvId value = spv_operand(a->inst, 1), t = part_type(a, out->components)->id;
    uint32_t n = n_parts(a, out->components);
    for (uint32_t k = 0; k < n; k++) {
        SpvId pointer = part_pointer(s, o, out, a, k), own = own_type(out, a, k), part = value;
        uint32_t extract[2] = { value, k };
        if (n > 1)
            part = spv_put(s->m, a->inst, SpvOpCompositeExtract, t, extract, 2)->id;
        if (own != t)
            part = spv_put(s->m, a->inst, SpvOpBitcast, own, &part, 1)->id;
        spv_put(s->m, a->inst, SpvOpStore, 0, (uint32_t[]){ pointer, part }, 2);
    }
    edit_remove(s->m, a->inst);
}

static void rewrite(Pieces *s, Object *o)
{
    Outcome out;
    if (!o->followed || !o->cast || !o->accesses.len || !decide(s, o, &out))
        return;
    if (o->computed)
        make_array(s, o, &out);
    else
        out.at = NEW_ARRAY(s->c->scratch, SpvInst *, o->size);
    for (uint32_t k = 0; k < o->accesses.len; k++) {
        if (o->accesses.data[k].inst->op == SpvOpLoad)
            rewrite_load(s, o, &out, &o->accesses.data[k]);
        else
            rewrite_store(s, o, &out, &o->accesses.data[k]);
    }
    for (uint32_t k = 0; k < o->others.len; k++)
        edit_remove(s->m, o->others.data[k]);
    edit_remove(s->m, o->variable);
}

bool pass_pieces(PassContext *c)
{
    SpvFunction *f = c->entry.function;
    if (c->entry.model != SpvExecutionModelKernel)
        return true;
    edit_prune(c->module, f, c->scratch);
    Pieces *s = NEW(c->scratch, Pieces);
    *s = (Pieces){ .c = c, .m = c->module, .g = cfg_build(c->scratch, f, c->sink) };
    if (!s->g)
        return false;
    s->n_ids = s->m->bound;
    s->place = NEW_ARRAY(c->scratch, Place *, s->n_ids);
    for (SpvInst *i = f->first->insts.first; i; i = i->next)
        if (i->op == SpvOpVariable)
            add_variable(s, i);
    for (uint32_t p = 0; p + 1 < s->g->n; p++)
        for (SpvInst *i = s->g->blocks[p].block->insts.first; i; i = i->next)
            add_uses(s, i);
    for (uint32_t k = 0; k < s->objects.len; k++)
        rewrite(s, &s->objects.data[k]);
    return true;
}
