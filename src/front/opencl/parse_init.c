/* SPDX-License-Identifier: MIT
 *
 * Initialisers (C99, 6.7.8): braces, designators, what is left out, arrays that take their length
 * from them.
 *
 * An N_INIT node initialises an aggregate: `list` has the initialiser of each member or element,
 * NULL for zeros, and is no longer than necessary. Elements initialised by a list without braces of
 * its own are read as deep as the type goes.
 */
#include "front/opencl/internal.h"

enum { MAX_ELEMENTS = 1 << 20 };

typedef struct InitReader {
    Ocl *o;
    uint32_t braces; /* how deep in them */
} InitReader;

typedef VEC(OclNode *) Nodes;

static OclNode *read_initialiser(InitReader *r, OclType *t, OclNode *first);

static OclNode *make_list(InitReader *r, OclType *t, OclLoc loc)
{
    return ocl_node(r->o, N_INIT, loc, t, NULL, NULL);
}

/* Whether the next token goes on with the list. */
static bool more(Ocl *o)
{
    return o->tok.kind == P_COMMA && ocl_peek(o)->kind != P_RBRACE && ocl_peek(o)->kind != P_DOT &&
           ocl_peek(o)->kind != P_LBRACKET;
}

static OclNode *set_element(InitReader *r, OclNode *init, uint64_t i, OclNode *value)
{
    Nodes v = { init->list, init->n, init->first };
    if (i >= MAX_ELEMENTS) {
        ocl_error(r->o, init->loc, "an initialiser of more than %d elements", MAX_ELEMENTS);
        ocl_stop(r->o);
        return value;
    }
    while (v.len <= i)
        vec_push(r->o->arena, &v, NULL);
    v.data[i] = value;
    init->list = v.data;
    init->n = v.len;
    init->first = v.cap;
    if (value)
        ocl_depth(r->o, init, value);
    return value;
}

static uint64_t elements_of(const OclType *t)
{
    return is_array(t)                    ? t->n
           : is_vector(t) || is_matrix(t) ? 0
           : t->record->is_union          ? MIN(t->record->members.len, 1)
                                          : t->record->members.len;
}

static OclType *type_of(const OclType *t, uint64_t i)
{
    return is_array(t) ? t->base : t->record->members.data[i].type;
}

/* Members without a name and bits are not initialised. */
static uint64_t skip_unnamed(const OclType *t, uint64_t i)
{
    while (is_record(t) && i < t->record->members.len && !t->record->members.data[i].name &&
           t->record->members.data[i].bit_field)
        i++;
    return i;
}

/* ---- scalars, strings ------------------------------------------------------------------------ */

/* A vector in braces; omitted lanes are 0. */
static OclNode *vector(Ocl *o, OclType *t)
{
    Nodes list = { 0 };
    OclLoc loc = o->tok.loc;
    uint64_t lanes = 0;
    ocl_advance(o);
    while (o->tok.kind != P_RBRACE && o->tok.kind != T_EOF) {
        OclNode *n = ocl_parse_assignment(o);
        lanes += n->type ? lanes_of(n->type) : 1;
        vec_push(o->arena, &list, n);
        if (!ocl_accept(o, P_COMMA))
            break;
    }
    ocl_expect(o, P_RBRACE, "after the components");
    for (; lanes < t->n; lanes++)
        vec_push(o->arena, &list, ocl_int(o, loc, o->basic[TY_INT], 0));
    return ocl_vector_literal(o, loc, t, list.data, list.len);
}

/* {0}: a matrix of zeros, as for any object in C. */
static OclNode *matrix(InitReader *r, OclType *t, OclNode *n)
{
    OclValue v;
    if (n->bad || !n->type || !is_scalar(n->type))
        return ocl_convert(r->o, n, t, "initialiser");
    if (ocl_fold(r->o, n, &v) && (is_float(n->type) ? v.lane[0].f == 0 : v.lane[0].u == 0))
        return make_list(r, t, n->loc);
    ocl_error(r->o, n->loc, "only {0} initialises a matrix; coop_mat_load fills it from memory");
    return ocl_bad(r->o, n->loc);
}

static OclNode *read_scalar(InitReader *r, OclType *t, OclNode *first)
{
    Ocl *o = r->o;
    OclNode *n = first;
    if (!n && o->tok.kind == P_LBRACE && is_vector(t))
        return vector(o, t);
    if (!n && o->tok.kind == P_LBRACE) {
        OclLoc loc = o->tok.loc;
        ocl_advance(o);
        if (is_matrix(t) && o->tok.kind == P_RBRACE) {
            ocl_advance(o);
            return make_list(r, t, loc);
        }
        n = ocl_parse_assignment(o);
        ocl_accept(o, P_COMMA);
        ocl_expect(o, P_RBRACE, "after a value in braces");
        if (is_matrix(t))
            return matrix(r, t, n);
    }
    if (!n)
        n = ocl_parse_assignment(o);
    if (is_matrix(t) && r->braces && n->type && is_scalar(n->type))
        return matrix(r, t, n);
    return ocl_convert(o, n, t, "initialiser");
}

static OclNode *string(InitReader *r, OclType **t)
{
    Ocl *o = r->o;
    OclNode *s = ocl_string(o), *init = make_list(r, *t, s->loc);
    uint64_t n = s->string.size;
    if ((*t)->n == UNKNOWN_LENGTH)
        *t = init->type = ocl_array(o, (*t)->base, n);
    if (n > (*t)->n + 1)
        ocl_error(o, s->loc, "the string is longer than the array");
    for (uint64_t i = 0; i < MIN(n, (*t)->n); i++)
        set_element(r, init, i, ocl_int(o, s->loc, (*t)->base->plain, (uint8_t)s->string.text[i]));
    return init;
}

static bool is_string_for(const Ocl *o, const OclType *t)
{
    return o->tok.kind == T_STRING && is_array(t) &&
           (t->base->kind == TY_CHAR || t->base->kind == TY_UCHAR);
}

/* ---- lists in braces ------------------------------------------------------------------------- */

/* Descends into the element that *i names, creating its init if there is none. If an expression
 * initialised it before (N_INIT's a), the rest of it stays (C99, 6.7.8, 19). */
static bool enter(InitReader *r, OclNode **init, OclType **t, uint64_t i)
{
    OclType *inner = type_of(*t, i);
    OclNode *at = i < (*init)->n ? (*init)->list[i] : NULL;
    if (!is_aggregate(inner)) {
        ocl_error(r->o, r->o->tok.loc, "'%s' has nothing to designate", ocl_type_name(r->o, inner));
        return false;
    }
    if (at && at->kind == N_COMPOUND)
        at = (*init)->list[i] = at->a;
    if (!at || at->kind != N_INIT) {
        OclNode *whole = at && !at->bad ? at : NULL;
        at = set_element(r, *init, i, ocl_node(r->o, N_INIT, r->o->tok.loc, inner, whole, NULL));
    }
    *init = at;
    *t = inner;
    return true;
}

/* The member of that name, or the one without a name that has it; the number of members: none. */
static uint32_t find_member(const OclType *t, const OclIdent *name)
{
    const OclRecord *rec = is_record(t) ? t->record : NULL;
    uint32_t n = rec ? rec->members.len : 0, inside = n;
    for (uint32_t k = 0; k < n && name; k++) {
        const OclMember *m = &rec->members.data[k];
        if (m->name == name)
            return k;
        if (!m->name && is_record(m->type) && inside == n &&
            find_member(m->type, name) < m->type->record->members.len)
            inside = k;
    }
    return inside;
}

/* .name or [index], several of them; the init that the last one is in, and where. The list goes on
 * after the outermost one. */
static bool designate(InitReader *r, OclNode **init, OclType **t, uint64_t *i, uint64_t *outermost)
{
    Ocl *o = r->o;
    for (uint32_t level = 0;; level++) {
        if (level && !enter(r, init, t, *i))
            return false;
        const OclType *outer = *t;
        OclLoc loc = o->tok.loc;
        if (o->tok.kind == P_LBRACKET) {
            ocl_advance(o);
            if (!is_array(*t)) {
                ocl_error(o, loc, "'%s' is no array", ocl_type_name(o, *t));
                return false;
            }
            if (!ocl_parse_constant(o, "a designator", i, NULL))
                return false;
            if (*i >= (*t)->n) {
                ocl_error(o, loc, "index %lld is outside of '%s'", (long long)*i,
                          ocl_type_name(o, *t));
                return false;
            }
            ocl_expect(o, P_RBRACKET, "after a designator");
        } else {
            ocl_advance(o);
            OclIdent *name = o->tok.ident;
            *i = find_member(*t, name);
            if (!is_record(*t) || *i == (*t)->record->members.len) {
                ocl_error(o, o->tok.loc, "'%s' has no member of this name", ocl_type_name(o, *t));
                return false;
            }
            if (!level)
                *outermost = *i;
            while ((*t)->record->members.data[*i].name != name) {
                enter(r, init, t, *i);
                *i = find_member(*t, name);
            }
            ocl_advance(o);
        }
        if (!level && is_array(outer))
            *outermost = *i;
        if (o->tok.kind != P_LBRACKET && o->tok.kind != P_DOT)
            return ocl_expect(o, P_ASSIGN, "after a designator");
    }
}

/* One entry of the list; *i is the next one's place then. False when the list cannot go on. */
static bool entry(InitReader *r, OclNode *init, OclType *t, uint64_t *i, uint64_t *longest)
{
    Ocl *o = r->o;
    OclNode *into = init;
    OclType *at = t;
    uint64_t where = *i;
    if (o->tok.kind == P_DOT || o->tok.kind == P_LBRACKET) {
        if (!designate(r, &into, &at, &where, i))
            return false;
        if (is_record(at) && at->record->is_union) { /* the last member that is named counts */
            into->list = NULL;
            into->n = into->first = 0;
        }
    } else if (where >= elements_of(t)) {
        ocl_error(o, o->tok.loc, "more values than '%s' has room for", ocl_type_name(o, t));
        return false;
    }
    OclNode *value = read_initialiser(r, type_of(at, where), NULL);
    set_element(r, into, where, value);
    *i = skip_unnamed(t, *i + 1);
    *longest = MAX(*longest, *i);
    return true;
}

static OclNode *braces(InitReader *r, OclType **type)
{
    Ocl *o = r->o;
    OclType *t = *type;
    OclNode *init = make_list(r, t, o->tok.loc);
    uint64_t i = skip_unnamed(t, 0), longest = 0;
    ocl_advance(o);
    if (is_string_for(o, t) && (ocl_peek(o)->kind == P_RBRACE || ocl_peek(o)->kind == P_COMMA)) {
        init = string(r, type);
        ocl_accept(o, P_COMMA);
        ocl_expect(o, P_RBRACE, "after the string");
        return init;
    }
    bool good = true;
    r->braces++;
    while (good && o->tok.kind != P_RBRACE && o->tok.kind != T_EOF) {
        good = entry(r, init, t, &i, &longest);
        if (good && !ocl_accept(o, P_COMMA))
            break;
    }
    r->braces--;
    if (!good || !ocl_expect(o, P_RBRACE, "after the initialisers")) {
        ocl_skip_to(o, P_LBRACE, P_RBRACE);
        ocl_accept(o, P_RBRACE);
        return ocl_bad(o, init->loc);
    }
    if (is_array(t) && t->n == UNKNOWN_LENGTH)
        *type = init->type = ocl_array(o, t->base, MAX(longest, init->n));
    return init;
}

/* ---- lists without braces of their own ------------------------------------------------------- */

/* Fills the aggregate from the list around it, starting with `first`. */
static OclNode *elided(InitReader *r, OclType *t, OclNode *first)
{
    Ocl *o = r->o;
    OclNode *init = make_list(r, t, first->loc);
    uint64_t n = elements_of(t);
    for (uint64_t i = skip_unnamed(t, 0); i < n; i = skip_unnamed(t, i + 1)) {
        if (i && !first) {
            if (!more(o))
                break;
            ocl_advance(o);
        }
        set_element(r, init, i, read_initialiser(r, type_of(t, i), first));
        first = NULL;
        if (o->stop)
            break;
    }
    return init;
}

static OclNode *aggregate(InitReader *r, OclType *t, OclNode *first)
{
    Ocl *o = r->o;
    if (!first && o->tok.kind == P_LBRACE)
        return braces(r, &t);
    if (!first && is_string_for(o, t))
        return string(r, &t);
    if (!first)
        first = ocl_parse_assignment(o);
    if (first->bad)
        return first;
    if (is_record(t) && first->type && first->type->plain == t->plain)
        return first;
    if (!elements_of(t) || !r->braces)
        return ocl_convert(o, first, t, "initialiser");
    return elided(r, t, first);
}

static OclNode *read_initialiser(InitReader *r, OclType *t, OclNode *first)
{
    Ocl *o = r->o;
    OclNode *n = ocl_enter(o, o->tok.loc)
                     ? (is_aggregate(t) ? aggregate(r, t, first) : read_scalar(r, t, first))
                     : ocl_bad(o, o->tok.loc);
    ocl_leave(o);
    return n;
}

OclNode *ocl_parse_initialiser(Ocl *o, OclType **type, bool constant)
{
    InitReader r = { .o = o };
    OclNode *n;
    OclLoc loc = o->tok.loc;
    if (is_aggregate(*type) && !is_array(*type) && !ocl_is_complete(*type)) {
        ocl_error(o, loc, "'%s' has no known size", ocl_type_name(o, *type));
        *type = o->basic[TY_INT];
    }
    if (is_array(*type) && o->tok.kind == P_LBRACE)
        n = braces(&r, type);
    else if (is_string_for(o, *type))
        n = string(&r, type);
    else if (is_array(*type)) {
        OclNode *e = ocl_parse_assignment(o);
        if (!e->bad)
            ocl_error(o, loc, "an array is initialised by a list in braces");
        n = ocl_bad(o, loc);
        if ((*type)->n == UNKNOWN_LENGTH)
            *type = ocl_array(o, (*type)->base, 1);
    } else
        n = read_initialiser(&r, *type, NULL);
    if (is_array(*type) && (*type)->n == UNKNOWN_LENGTH)
        *type = ocl_array(o, (*type)->base, 1);
    if (constant && !n->bad && !ocl_is_constant(o, n)) {
        ocl_error(o, loc, "the initialiser of a variable that lasts must be constant");
        return ocl_bad(o, loc);
    }
    return n;
}
