/* SPDX-License-Identifier: MIT
 *
 * Nodes, scopes and names; conversions that assignments, arguments and operators make (C99, 6.3;
 * OpenCL C 3.0, 6.4).
 */
#include "front/opencl/internal.h"

enum { MAX_TREE = 1200 };

/* ---- nodes ----------------------------------------------------------------------------------- */

void ocl_depth(Ocl *o, OclNode *n, const OclNode *below)
{
    if (below && below->depth >= n->depth)
        n->depth = (uint16_t)(below->depth + 1);
    if (n->depth > MAX_TREE && !o->stop) {
        ocl_error(o, n->loc, "nested too deeply: an expression of more than %d levels", MAX_TREE);
        ocl_stop(o);
    }
}

OclNode *ocl_node(Ocl *o, OclNodeKind kind, OclLoc loc, OclType *type, OclNode *a, OclNode *b)
{
    OclNode *n = NEW(o->arena, OclNode);
    n->kind = (uint8_t)kind;
    n->loc = loc;
    n->type = type;
    n->a = a;
    n->b = b;
    ocl_depth(o, n, a);
    ocl_depth(o, n, b);
    return n;
}

OclNode *ocl_int(Ocl *o, OclLoc loc, OclType *type, uint64_t value)
{
    OclNode *n = ocl_node(o, N_INT, loc, type, NULL, NULL);
    n->u = ocl_wrap(type, value);
    return n;
}

OclNode *ocl_bad(Ocl *o, OclLoc loc)
{
    OclNode *n = ocl_int(o, loc, o->basic[TY_INT], 0);
    n->bad = true;
    return n;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

void ocl_push_scope(Ocl *o)
{
    vec_push(o->arena, &o->scopes, NULL);
    o->scope++;
}

static OclSymbol **meaning(OclSymbol *s)
{
    return s->kind == S_TAG     ? &s->ident->tag
           : s->kind == S_LABEL ? &s->ident->label
                                : &s->ident->symbol;
}

void ocl_pop_scope(Ocl *o)
{
    for (OclSymbol *s = vec_last(&o->scopes); s; s = s->in_scope)
        *meaning(s) = s->shadowed;
    o->scopes.len--;
    o->scope--;
}

OclSymbol *ocl_declare(Ocl *o, OclSymbolKind kind, OclIdent *name, OclType *type, OclLoc loc)
{
    OclSymbol *s = NEW(o->arena, OclSymbol);
    *s = (OclSymbol){ .kind = kind,
                      .ident = name,
                      .type = type,
                      .loc = loc,
                      .scope = o->scope,
                      .owner = o->function };
    if (name) {
        OclSymbol **at = meaning(s);
        s->shadowed = *at;
        *at = s;
        s->in_scope = vec_last(&o->scopes);
        vec_last(&o->scopes) = s;
    }
    return s;
}

OclSymbol *ocl_overload(const OclSymbol *s)
{
    OclSymbol *t = s->shadowed;
    return s->attributes.overloadable && t && t->kind == S_FUNCTION && t->scope == s->scope ? t
                                                                                            : NULL;
}

OclSymbol *ocl_declare_tag(Ocl *o, OclIdent *name, OclLoc loc)
{
    return ocl_declare(o, S_TAG, name, NULL, loc);
}

/* Images, pipes and queues are told apart from what is merely misspelt. */
const char *ocl_unsupported(const OclIdent *name)
{
    static const struct {
        const char *name, *what;
    } table[] = {
        { "sampler_t", "samplers" },
        { "pipe", "pipes" },
        { "reserve_id_t", "pipes" },
        { "queue_t", "device-side queues" },
        { "ndrange_t", "device-side queues" },
        { "clk_event_t", "device-side queues" },
        { "read_only", "images" },
        { "write_only", "images" },
        { "read_write", "images" },
        { "__read_only", "images" },
        { "__write_only", "images" },
        { "__read_write", "images" },
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (!strcmp(name->name, table[i].name))
            return table[i].what;
    }
    size_t n = name->len;
    return n >= 9 && !strncmp(name->name, "image", 5) && !strcmp(name->name + n - 2, "_t") &&
                   name->name[6] == 'd'
               ? "images"
               : NULL; /* image2d_array_depth_t */
}

OclNode *ocl_symbol(Ocl *o, OclIdent *name, OclLoc loc)
{
    OclSymbol *s = name->symbol;
    if (!s && o->function && !strcmp(name->name, "__func__")) /* C99, 6.4.2.2 */
        return ocl_text(o, loc, o->function->ident->name, o->function->ident->len + 1);
    if (!s) {
        const char *what = ocl_unsupported(name);
        if (what)
            ocl_error(o, loc, "'%s': %s are not supported", name->name, what);
        else
            ocl_error(o, loc, "'%s' is not declared", name->name);
        return ocl_bad(o, loc);
    }
    s->used = true;
    if (s->kind == S_ENUMERATOR)
        return ocl_int(o, loc, s->type, s->value);
    if (s->kind == S_TYPEDEF) {
        ocl_error(o, loc, "'%s' is a type; an expression is expected", name->name);
        return ocl_bad(o, loc);
    }
    OclNode *n = ocl_node(o, N_SYMBOL, loc, s->type, NULL, NULL);
    n->symbol = s;
    n->lvalue = s->kind != S_FUNCTION;
    return n;
}

/* ---- values ---------------------------------------------------------------------------------- */

OclNode *ocl_implicit(Ocl *o, OclCastKind kind, OclNode *n, OclType *to)
{
    OclNode *c = ocl_node(o, N_CAST, n->loc, to, n, NULL);
    c->op = (uint8_t)kind;
    c->implicit = true;
    c->bad = n->bad;
    return c;
}

OclNode *ocl_rvalue(Ocl *o, OclNode *n)
{
    if (!n->type || n->bad)
        return n;
    if (is_array(n->type))
        return ocl_implicit(o, CAST_DECAY, n, ocl_pointer(o, n->type->base));
    if (is_bad_matrix(n->type))
        return ocl_bad(o, n->loc);
    if (is_void(n->type)) {
        ocl_error(o, n->loc, "a value is needed, and this has none");
        return ocl_bad(o, n->loc);
    }
    if (n->type->kind == TY_FUNCTION) {
        ocl_error(o, n->loc, "a function can only be called: there are no pointers to functions");
        return ocl_bad(o, n->loc);
    }
    return n;
}

OclNode *ocl_condition(Ocl *o, OclNode *n)
{
    n = ocl_rvalue(o, n);
    if (n->bad)
        return n;
    if (n->type && (is_scalar(n->type) || is_pointer(n->type)))
        return n;
    ocl_error(o, n->loc, "a condition is a scalar or a pointer, not '%s'%s",
              ocl_type_name(o, n->type),
              n->type && is_vector(n->type) ? "; any() or all() makes one of a vector" : "");
    return ocl_bad(o, n->loc);
}

const OclMember *ocl_bit_field(const OclNode *n)
{
    while (n->kind == N_HELD || n->kind == N_ASSIGN || (n->kind == N_STEP && !n->postfix) ||
           n->kind == N_COMMA)
        n = n->kind == N_HELD ? n->d : n->kind == N_COMMA ? n->b : n->a;
    const OclMember *m = n->kind == N_MEMBER ? &n->a->type->record->members.data[n->member] : NULL;
    return m && m->bit_field ? m : NULL;
}

static OclType *promoted(Ocl *o, OclType *t)
{
    return is_integer(t) && t->size < 4 ? o->basic[TY_INT] : t;
}

/* A bit-field narrower than int is an int, whatever its type says (C99, 6.3.1.1). */
OclType *ocl_promoted(Ocl *o, const OclNode *n)
{
    const OclMember *m = ocl_bit_field(n);
    if (m && m->width <= 32)
        return o->basic[m->width < 32 || is_signed(m->type) ? TY_INT : TY_UINT];
    return promoted(o, n->type->plain);
}

OclType *ocl_common(Ocl *o, OclType *a, OclType *b)
{
    a = a->plain;
    b = b->plain;
    if (is_float(a) || is_float(b)) {
        OclTypeKind ka = is_float(a) ? a->kind : TY_HALF, kb = is_float(b) ? b->kind : TY_HALF;
        return o->basic[MAX(ka, kb)];
    }
    a = promoted(o, a);
    b = promoted(o, b);
    return o->basic[MAX(a->kind, b->kind)];
}

/* ---- conversions ----------------------------------------------------------------------------- */

OclNode *ocl_to_number(Ocl *o, OclNode *n, OclType *to)
{
    to = to->plain;
    if (n->type->plain == to)
        return n;
    if (is_vector(to) && is_scalar(n->type))
        return ocl_implicit(o, CAST_SPLAT, ocl_to_number(o, n, to->base), to);
    if (n->kind == N_INT && is_integer(to) && !n->parens) { /* a constant needs no cast */
        OclNode *c = ocl_int(o, n->loc, to, n->u);
        c->bad = n->bad;
        return c;
    }
    return ocl_implicit(o, to->kind == TY_BOOL ? CAST_TO_BOOL : CAST_NUMBER, n, to);
}

static bool is_null(const OclNode *n) { return n->kind == N_INT && !n->u && !n->bad; }

static bool is_null_pointer(const OclNode *n)
{
    return n->kind == N_CAST && n->op == CAST_NULL && is_void(n->type->base);
}

static const char *space_problem(const OclType *from, const OclType *to)
{
    if (from->space == to->space)
        return NULL;
    if (to->space == AS_GENERIC && from->space != AS_CONSTANT)
        return NULL;
    return ocl_space_name(to->space);
}

/* The same but for qualifiers, those of arrays' elements too. */
static bool alike(const OclType *a, const OclType *b)
{
    while (is_array(a) && is_array(b) && a->n == b->n) {
        a = a->base;
        b = b->base;
    }
    return a->plain == b->plain;
}

static OclNode *convert_pointer(Ocl *o, OclNode *n, OclType *to, const char *what)
{
    OclType *from = n->type->base, *target = to->base;
    if (is_null_pointer(n))
        return ocl_implicit(o, CAST_NULL, n, to->plain);
    if (space_problem(from, target)) {
        ocl_error(o, n->loc, "%s: '%s' would become '%s', which points into another address space",
                  what, ocl_type_name(o, n->type), ocl_type_name(o, to));
        return ocl_bad(o, n->loc);
    }
    if (!alike(from, target) && !is_void(from) && !is_void(target)) {
        ocl_warning(o, n->loc,
                    "%s: '%s' becomes '%s', which points to another type; a cast says "
                    "that it is meant",
                    what, ocl_type_name(o, n->type), ocl_type_name(o, to));
    } else if (from->quals & ~target->quals & (Q_CONST | Q_VOLATILE)) {
        ocl_warning(o, n->loc, "%s: '%s' becomes '%s' and loses qualifiers", what,
                    ocl_type_name(o, n->type), ocl_type_name(o, to));
    }
    if (from->space != target->space)
        n = ocl_implicit(o, CAST_SPACE, n, ocl_pointer(o, ocl_in_space(o, from, target->space)));
    return n->type->plain == to->plain ? n : ocl_implicit(o, CAST_BITS, n, to->plain);
}

static OclNode *mismatch(Ocl *o, OclNode *n, OclType *to, const char *what)
{
    const OclType *from = n->type;
    const char *fix = "";
    if (is_vector(from) && is_vector(to) && from->n == to->n)
        fix = arena_printf(o->arena, "; convert_%s() converts", ocl_type_name(o, to->plain));
    else if (is_vector(from) && is_scalar(to))
        fix = "; .x takes the first component";
    else if (is_pointer(to) && is_integer(from))
        fix = "; a cast makes a pointer of an integer";
    else if (is_integer(to) && is_pointer(from))
        fix = "; a cast makes an integer of a pointer";
    ocl_error(o, n->loc, "%s: '%s' does not convert to '%s'%s", what, ocl_type_name(o, from),
              ocl_type_name(o, to), fix);
    return ocl_bad(o, n->loc);
}

OclNode *ocl_convert(Ocl *o, OclNode *n, OclType *to, const char *what)
{
    if (is_bad_matrix(to))
        return ocl_bad(o, n->loc);
    if (ocl_pending(n))
        return ocl_settle(o, n, to);
    n = ocl_rvalue(o, n);
    if (n->bad) {
        if (is_integer(to) || !is_scalar(to))
            n->type = is_scalar(to) ? to->plain : n->type;
        return n;
    }
    OclType *from = n->type->plain;
    to = to->plain;
    if (from == to)
        return n;
    if (is_scalar(to) && is_scalar(from))
        return ocl_to_number(o, n, to);
    if (is_vector(to) && is_scalar(from))
        return ocl_to_number(o, n, to);
    if (is_pointer(to) && is_pointer(from))
        return convert_pointer(o, n, to, what);
    if (is_pointer(to) && is_null(n))
        return ocl_implicit(o, CAST_NULL, n, to);
    if (is_pointer(from) && to->kind == TY_BOOL)
        return ocl_implicit(o, CAST_TO_BOOL, n, to);
    if (to->kind == TY_EVENT && is_null(n))
        return ocl_implicit(o, CAST_NULL, n, to);
    if (is_matrix(to) || is_matrix(from))
        return ocl_matrix_mismatch(o, n, to, what);
    return mismatch(o, n, to, what);
}

/* ---- casts that are written ------------------------------------------------------------------ */

static OclNode *explicit(Ocl *o, OclCastKind kind, OclLoc loc, OclType *to, OclNode *a)
{
    OclNode *c = ocl_implicit(o, kind, a, to);
    c->implicit = false;
    c->loc = loc;
    return c;
}

OclNode *ocl_cast_lanes(Ocl *o, OclCastKind kind, OclLoc loc, OclType *to, OclNode *a)
{
    return explicit(o, kind, loc, to, a);
}

static OclNode *cast_pointer(Ocl *o, OclLoc loc, OclType *to, OclNode *a)
{
    OclType *from = a->type->base, *target = to->base;
    if (from->space != target->space) {
        if (from->space == AS_CONSTANT || target->space == AS_CONSTANT ||
            (from->space != AS_GENERIC && target->space != AS_GENERIC)) {
            ocl_error(o, loc,
                      "'%s' cannot be cast to '%s', which points into another address "
                      "space",
                      ocl_type_name(o, a->type), ocl_type_name(o, to));
            return ocl_bad(o, loc);
        }
        OclType *there = ocl_in_space(o, from, target->space);
        a = explicit(o, CAST_SPACE, loc, ocl_pointer(o, there), a);
    }
    return explicit(o, CAST_BITS, loc, to, a);
}

static OclNode *cast_to_vector(Ocl *o, OclLoc loc, OclType *to, OclNode *a)
{
    if (is_scalar(a->type)) {
        OclNode *e = ocl_to_number(o, a, to->base);
        return explicit(o, CAST_SPLAT, loc, to, e);
    }
    if (is_vector(a->type)) {
        if (a->type->plain == to)
            return a;
        ocl_error(o, loc, "'%s' cannot be cast to '%s'; %s_%s() does it", ocl_type_name(o, a->type),
                  ocl_type_name(o, to), a->type->n == to->n ? "convert" : "as",
                  ocl_type_name(o, to));
        return ocl_bad(o, loc);
    }
    return mismatch(o, a, to, "cast");
}

OclNode *ocl_cast(Ocl *o, OclLoc loc, OclType *to, OclNode *a)
{
    to = to->plain;
    if (is_bad_matrix(to))
        return ocl_bad(o, loc);
    if (ocl_pending(a))
        return ocl_settle(o, a, to);
    if (is_void(to))
        return explicit(o, CAST_VOID, loc, to, a);
    a = ocl_rvalue(o, a);
    if (a->bad)
        return a;
    OclType *from = a->type->plain;
    if (is_vector(to))
        return cast_to_vector(o, loc, to, a);
    if (is_scalar(to) && is_scalar(from))
        return explicit(o, to->kind == TY_BOOL ? CAST_TO_BOOL : CAST_NUMBER, loc, to, a);
    if (is_pointer(to) && is_pointer(from))
        return is_null_pointer(a) ? explicit(o, CAST_NULL, loc, to, a)
                                  : cast_pointer(o, loc, to, a);
    if (is_pointer(to) && is_integer(from)) {
        if (is_null(a))
            return explicit(o, CAST_NULL, loc, to, a);
        return explicit(o, CAST_TO_POINTER, loc, to, ocl_to_number(o, a, o->size_type));
    }
    if (is_pointer(from) && is_integer(to))
        return explicit(o, to->kind == TY_BOOL ? CAST_TO_BOOL : CAST_FROM_POINTER, loc, to, a);
    return ocl_convert(o, a, to, "cast");
}

OclNode *ocl_vector_literal(Ocl *o, OclLoc loc, OclType *to, OclNode **list, uint32_t n)
{
    to = to->plain;
    uint64_t lanes = 0;
    if (n == 1 && (!list[0]->type || !is_vector(list[0]->type)))
        return ocl_cast(o, loc, to, list[0]);
    OclNode *v = ocl_node(o, N_VECTOR, loc, to, NULL, NULL);
    for (uint32_t i = 0; i < n; i++) {
        OclNode *e = ocl_rvalue(o, list[i]);
        if (e->bad)
            return e;
        if (!e->type || !is_arithmetic(e->type)) {
            ocl_error(o, e->loc, "a vector's components are numbers or vectors, not '%s'",
                      ocl_type_name(o, e->type));
            return ocl_bad(o, loc);
        }
        if (is_vector(e->type) && e->type->base != to->base) {
            ocl_error(o, e->loc, "'%s' does not go into a '%s'; convert_%s() converts",
                      ocl_type_name(o, e->type), ocl_type_name(o, to),
                      ocl_type_name(o, ocl_lanes(o, to->base, e->type->n)));
            return ocl_bad(o, loc);
        }
        lanes += lanes_of(e->type);
        list[i] = is_scalar(e->type) ? ocl_to_number(o, e, to->base) : e;
        ocl_depth(o, v, list[i]);
    }
    v->list = list;
    v->n = n;
    if (lanes == to->n)
        return v;
    ocl_error(o, loc, "a '%s' has %u components, and these are %llu", ocl_type_name(o, to),
              (unsigned)to->n, (unsigned long long)lanes);
    return ocl_bad(o, loc);
}
