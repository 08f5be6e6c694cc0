/* SPDX-License-Identifier: MIT
 *
 * Declarations: structures, unions, enumerations, variables, typedefs, functions (C99, 6.7 and 6.9;
 * OpenCL C 3.0, 6.9 for what may lie where).
 */
#include "front/opencl/internal.h"

/* ---- structures and unions ------------------------------------------------------------------- */

static void bit_field(Ocl *o, OclMember *m)
{
    uint64_t width = 0;
    OclLoc loc = o->tok.loc;
    if (!ocl_parse_constant(o, "the width of a bit-field", &width, NULL))
        width = 1;
    m->bit_field = true;
    if (!is_integer(m->type)) {
        ocl_error(o, loc, "a bit-field is an integer, not '%s'", ocl_type_name(o, m->type));
        m->type = o->basic[TY_INT];
    } else if (width > (m->type->kind == TY_BOOL ? 1 : m->type->size * 8)) {
        ocl_error(o, loc, "a bit-field of '%s' cannot have %llu bits", ocl_type_name(o, m->type),
                  (unsigned long long)width);
        width = 1;
    } else if (!width && m->name) {
        ocl_error(o, loc, "only a bit-field without a name can have no bits");
        width = 1;
    }
    m->width = (uint16_t)width;
}

static void add_member(Ocl *o, OclRecord *r, OclMember *m, uint32_t align, Map *names)
{
    if (m->name && map_get(names, (uintptr_t)m->name, NULL))
        ocl_error(o, m->loc, "two members named '%s'", m->name->name);
    if (m->name)
        map_put(o->arena, names, (uintptr_t)m->name, 1);
    if (!ocl_is_complete(m->type)) {
        ocl_error(o, m->loc, "a member of type '%s', whose size is not known",
                  ocl_type_name(o, m->type));
        return;
    }
    if (m->type->space)
        ocl_error(o, m->loc, "a member has no address space of its own");
    if (r->is_union && ocl_has_matrix(m->type))
        ocl_error(o, m->loc, "a union holds no matrix, which has no bytes that others could share");
    if (align > m->type->align) { /* an alignment of its own: a type that has it */
        OclType *t = NEW(o->arena, OclType);
        *t = *m->type;
        t->align = align;
        m->type = t;
    }
    if (r->members.len >= 65535) {
        ocl_error(o, m->loc, "too many members");
        ocl_stop(o);
        return;
    }
    vec_push(o->arena, &r->members, *m);
}

/* The alignment that an aligned typedef requires of what is declared with it, except for pointers
 * to it. */
static uint32_t typedef_align(const OclSpecifiers *s, const OclDeclarator *d)
{
    return is_pointer(d->type) ? 0 : s->type_align;
}

static void member_declaration(Ocl *o, OclRecord *r, Map *names)
{
    OclSpecifiers s;
    if (!ocl_parse_specifiers(o, &s)) {
        ocl_advance(o);
        return;
    }
    if (s.is_typedef || s.is_static || s.is_extern)
        ocl_error(o, s.loc, "a member has no storage class");
    if (o->tok.kind == P_SEMICOLON && is_record(s.type)) { /* members of it are members of r */
        OclMember m = { .type = s.type, .loc = s.loc };
        if (!s.type->record->name)
            add_member(o, r, &m, 0, names);
    }
    while (o->tok.kind != P_SEMICOLON && o->tok.kind != T_EOF) {
        OclDeclarator d;
        ocl_parse_declarator(o, &s, &d);
        OclMember m = { .name = d.name, .type = d.type, .loc = d.loc };
        if (ocl_accept(o, P_COLON))
            bit_field(o, &m);
        else if (!d.name)
            ocl_error(o, d.loc, "expected a member's name");
        OclAttributes a = s.attributes;
        a.has_matrix = false;
        ocl_parse_attributes(o, &a);
        if (a.has_matrix)
            m.type = ocl_matrix_attribute(o, m.type, &a);
        if (m.name || m.bit_field)
            add_member(o, r, &m, MAX(a.aligned, typedef_align(&s, &d)), names);
        if (!ocl_accept(o, P_COMMA))
            break;
    }
    if (!ocl_expect(o, P_SEMICOLON, "after a member"))
        while (o->tok.kind != P_SEMICOLON && o->tok.kind != P_RBRACE && o->tok.kind != T_EOF)
            ocl_advance(o);
}

static OclRecord *find_record(Ocl *o, OclIdent *name, bool is_union, bool defines, OclLoc loc)
{
    OclSymbol *tag = name ? name->tag : NULL;
    bool here = tag && (!defines || tag->scope == o->scope);
    if (here && !tag->record) {
        ocl_error(o, loc, "'%s' is an enumeration", name->name);
        here = false;
    } else if (here && tag->record->is_union != is_union) {
        ocl_error(o, loc, "'%s' is a %s", name->name, is_union ? "structure" : "union");
        here = false;
    }
    if (here && defines && (tag->record->complete || tag->record->members.len)) {
        ocl_error(o, loc, "'%s' is defined twice", name->name);
        ocl_note(o, tag->loc, "it was defined here");
        here = false;
    }
    if (here)
        return tag->record;
    OclRecord *r = NEW(o->arena, OclRecord);
    r->is_union = is_union;
    r->align = 1;
    r->name = name ? name->name : NULL;
    if (name) {
        r->tag = ocl_declare_tag(o, name, loc);
        r->tag->record = r;
    }
    return r;
}

OclType *ocl_parse_record(Ocl *o, OclSpecifiers *spec)
{
    bool is_union = o->tok.kind == K_UNION;
    OclLoc loc = o->tok.loc;
    OclAttributes a = { 0 };
    Map names = { 0 };
    ocl_advance(o);
    ocl_parse_attributes(o, &a);
    OclIdent *name = o->tok.kind == T_IDENT ? o->tok.ident : NULL;
    if (name) {
        loc = o->tok.loc;
        ocl_advance(o);
    }
    bool defines = o->tok.kind == P_LBRACE;
    if (!name && !defines) {
        ocl_error(o, loc, "expected a tag or '{'");
        return o->basic[TY_INT];
    }
    bool lone = o->tok.kind == P_SEMICOLON;
    OclRecord *r = find_record(o, name, is_union, defines || lone, loc);
    if (!defines)
        return ocl_record_type(o, r);
    ocl_advance(o);
    bool fits = ocl_enter(o, loc);
    while (fits && o->tok.kind != P_RBRACE && o->tok.kind != T_EOF)
        member_declaration(o, r, &names);
    ocl_leave(o);
    ocl_expect(o, P_RBRACE, "after the members");
    a.has_matrix = false;
    ocl_parse_attributes(o, &a);
    spec->attributes.has_matrix |= a.has_matrix;
    r->packed = a.packed;
    if (!ocl_lay_out(o, r, a.aligned)) {
        ocl_error(o, loc, "the %s is too large", is_union ? "union" : "structure");
        r->members.len = 0;
        r->size = 1;
    }
    return ocl_record_type(o, r);
}

/* ---- enumerations ---------------------------------------------------------------------------- */

/* Enumerators are int. So is the enumeration, or uint when nothing in it is negative. */
OclType *ocl_parse_enum(Ocl *o)
{
    OclLoc loc = o->tok.loc;
    OclAttributes ignored = { 0 };
    ocl_advance(o);
    ocl_parse_attributes(o, &ignored);
    OclIdent *name = o->tok.kind == T_IDENT ? o->tok.ident : NULL;
    if (name)
        ocl_advance(o);
    if (!ocl_accept(o, P_LBRACE)) {
        if (name && name->tag && !name->tag->record)
            return name->tag->type;
        if (name)
            ocl_error(o, loc, "enumeration '%s' is not defined", name->name);
        else
            ocl_error(o, loc, "expected a tag or '{'");
        return o->basic[TY_INT];
    }
    uint64_t next = 0;
    bool negative = false;
    while (o->tok.kind == T_IDENT) {
        OclToken t = o->tok;
        ocl_advance(o);
        if (ocl_accept(o, P_ASSIGN))
            ocl_parse_constant(o, "an enumerator", &next, NULL);
        if (t.ident->symbol && t.ident->symbol->scope == o->scope)
            ocl_error(o, t.loc, "'%s' is declared twice", t.ident->name);
        OclSymbol *s = ocl_declare(o, S_ENUMERATOR, t.ident, o->basic[TY_INT], t.loc);
        if (next > INT32_MAX && next <= UINT32_MAX)
            s->type = o->basic[TY_UINT];
        s->value = next = ocl_wrap(s->type, next);
        negative |= s->type->kind == TY_INT && (int64_t)next < 0;
        next++;
        if (!ocl_accept(o, P_COMMA))
            break;
    }
    ocl_expect(o, P_RBRACE, "after the enumerators");
    OclType *t = o->basic[negative ? TY_INT : TY_UINT];
    if (name) {
        if (name->tag && name->tag->scope == o->scope)
            ocl_error(o, loc, "'%s' is defined twice", name->name);
        ocl_declare_tag(o, name, loc)->type = t;
    }
    return t;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* The variable's address space; reports one that it cannot have. */
static OclSpace address_space_of(Ocl *o, const OclSpecifiers *s, const OclDeclarator *d,
                                 bool has_init)
{
    bool file = !o->function;
    OclSpace space = (OclSpace)d->type->space;
    if (space == AS_GENERIC) {
        ocl_error(o, d->loc, "a variable lies in one address space, __generic is for pointers");
        return AS_PRIVATE;
    }
    if (file || s->is_static || s->is_extern) {
        if (space == AS_LOCAL && file)
            ocl_error(o, d->loc, "a __local variable belongs in a kernel");
        bool explicit = s->has_space && s->type == d->type && space == AS_PRIVATE;
        if (file && explicit)
            ocl_error(o, d->loc, "a variable outside of functions is __constant or __global");
        return space == AS_PRIVATE ? AS_GLOBAL : space;
    }
    if (space == AS_GLOBAL) {
        ocl_error(o, d->loc, "a __global variable in a function must be static");
    } else if (space == AS_LOCAL && !o->function->kernel) {
        ocl_error(o, d->loc, "a __local variable belongs in a kernel; pass '%s' a pointer to one",
                  o->function->ident->name);
    } else if (space == AS_LOCAL && has_init) {
        ocl_error(o, d->loc, "a __local variable cannot be initialised; assign to it after");
    }
    return space;
}

static void check_matrix(Ocl *o, const OclType *t, OclLoc loc, OclSpace space)
{
    if (ocl_has_matrix(t) && space != AS_PRIVATE)
        ocl_error(o, loc,
                  "a matrix lies in __private memory, not in %s; coop_mat_store brings its "
                  "elements there",
                  ocl_space_name(space));
}

static OclSymbol *redeclared(Ocl *o, const OclDeclarator *d, OclType *t)
{
    OclSymbol *old = d->name->symbol;
    if (!old || old->scope != o->scope)
        return NULL;
    if (old->kind == S_VARIABLE && !o->function && old->type == t)
        return old;
    ocl_error(o, d->loc, "'%s' is declared twice", d->name->name);
    ocl_note(o, old->loc, "it was declared here");
    return NULL;
}

static OclNode *parse_initialiser(Ocl *o, OclSymbol *v, bool constant)
{
    OclType *t = v->type;
    if (v->init)
        ocl_error(o, v->loc, "'%s' is initialised twice", v->ident->name);
    v->init = ocl_parse_initialiser(o, &t, constant);
    v->type = t;
    return v->init;
}

static OclSymbol *declare_variable(Ocl *o, const OclSpecifiers *s, OclDeclarator *d,
                                   const OclAttributes *a)
{
    bool has_init = o->tok.kind == P_ASSIGN;
    OclSpace space = address_space_of(o, s, d, has_init);
    OclType *t = ocl_in_space(o, d->type, space);
    check_matrix(o, t, d->loc, space);
    bool lasting = space != AS_PRIVATE;
    OclSymbol *v = redeclared(o, d, t);
    if (!v) {
        v = ocl_declare(o, S_VARIABLE, d->name, t, d->loc);
        v->global = lasting;
        v->is_extern = s->is_extern && !has_init;
        v->is_static = s->is_static;
        v->attributes = *a;
        if (lasting)
            vec_push(o->arena, &o->globals, v);
    }
    if (has_init) {
        ocl_advance(o);
        parse_initialiser(o, v, lasting);
    } else if (space == AS_CONSTANT && !s->is_extern) {
        ocl_error(o, d->loc, "a __constant variable needs an initialiser");
    }
    if (!ocl_is_complete(v->type) && !v->is_extern) {
        ocl_error(o, d->loc, "'%s' has type '%s', whose size is not known", d->name->name,
                  ocl_type_name(o, v->type));
        v->type = o->basic[TY_INT];
    }
    return v;
}

static void typedef_declaration(Ocl *o, const OclDeclarator *d, uint32_t align)
{
    OclSymbol *old = d->name->symbol;
    if (old && old->scope == o->scope && (old->kind != S_TYPEDEF || old->type != d->type)) {
        ocl_error(o, d->loc, "'%s' is declared twice", d->name->name);
        ocl_note(o, old->loc, "it was declared here");
        return;
    }
    if (o->tok.kind == P_ASSIGN)
        ocl_error(o, o->tok.loc, "a type has no initialiser");
    ocl_declare(o, S_TYPEDEF, d->name, d->type, d->loc)->attributes.aligned = align;
}

/* ---- functions ------------------------------------------------------------------------------- */

static void check_kernel(Ocl *o, const OclDeclarator *d)
{
    if (!is_void(d->type->base))
        ocl_error(o, d->loc, "a kernel yields void, not '%s'", ocl_type_name(o, d->type->base));
    for (uint32_t i = 0; i < d->n_params; i++) {
        const OclSymbol *p = d->params[i];
        const OclType *t = p->type;
        if (ocl_has_matrix(t))
            ocl_error(o, p->loc, "a kernel takes no matrices; pass a pointer and load from it");
        else if (is_pointer(t) && (t->base->space == AS_GENERIC || t->base->space == AS_PRIVATE))
            ocl_error(o, p->loc,
                      "a kernel's pointer needs an address space: __global, __local or "
                      "__constant");
        else if (t->kind == TY_BOOL || t->kind == TY_EVENT)
            ocl_error(o, p->loc, "a kernel takes no '%s'", ocl_type_name(o, t));
    }
}

/* The earlier symbol that the declaration may redeclare; among overloaded functions, the one of
 * this type. */
static OclSymbol *earlier(Ocl *o, const OclDeclarator *d, const OclAttributes *a)
{
    OclSymbol *old = d->name->symbol;
    bool overloads = old && old->kind == S_FUNCTION && old->scope == o->scope &&
                     old->attributes.overloadable && a->overloadable;
    for (OclSymbol *s = old; overloads && s; s = ocl_overload(s))
        if (s->type->n_params == d->type->n_params &&
            !memcmp(s->type->params, d->type->params, s->type->n_params * sizeof *s->type->params))
            return s;
    return overloads ? NULL : old;
}

static OclSymbol *declare_function(Ocl *o, const OclSpecifiers *s, const OclDeclarator *d,
                                   const OclAttributes *a)
{
    OclSymbol *old = earlier(o, d, a);
    for (uint32_t i = 0; i < d->n_params; i++) {
        if (d->params[i]->type->space)
            ocl_error(o, d->params[i]->loc,
                      "a parameter is __private itself; what it points to "
                      "may lie elsewhere");
        if (!ocl_is_complete(d->params[i]->type))
            ocl_error(o, d->params[i]->loc, "a parameter cannot have type '%s'",
                      ocl_type_name(o, d->params[i]->type));
    }
    if (s->kernel)
        check_kernel(o, d);
    if (old && old->scope == o->scope) {
        if (old->kind != S_FUNCTION || old->type != d->type) {
            ocl_error(o, d->loc, "'%s' is declared twice, and not alike", d->name->name);
            ocl_note(o, old->loc, "it was declared here");
        } else {
            old->kernel |= s->kernel;
            return old;
        }
    }
    OclSymbol *f = ocl_declare(o, S_FUNCTION, d->name, d->type, d->loc);
    f->kernel = s->kernel;
    f->attributes = *a;
    f->owner = NULL;
    vec_push(o->arena, &o->globals, f);
    return f;
}

static void define(Ocl *o, const OclSpecifiers *s, const OclDeclarator *d, const OclAttributes *a)
{
    OclSymbol *f = declare_function(o, s, d, a);
    if (f->defined) {
        ocl_error(o, d->loc, "'%s' is defined twice", d->name->name);
        ocl_note(o, f->loc, "it was defined here");
    }
    f->defined = true;
    f->loc = d->loc;
    f->params = d->params;
    f->attributes = *a;
    o->function = f;
    ocl_push_scope(o);
    for (uint32_t i = 0; i < d->n_params; i++) {
        OclSymbol *p = d->params[i];
        if (p->ident && p->ident->symbol && p->ident->symbol->scope == o->scope)
            ocl_error(o, p->loc, "two parameters named '%s'", p->ident->name);
        d->params[i] = ocl_declare(o, S_PARAMETER, p->ident, p->type, p->loc);
    }
    f->body = ocl_parse_body(o, f);
    ocl_pop_scope(o);
    o->function = NULL;
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void recover(Ocl *o)
{
    uint32_t depth = 0;
    while (o->tok.kind != T_EOF) {
        if (!depth && o->tok.kind == P_SEMICOLON) {
            ocl_advance(o);
            return;
        }
        depth += o->tok.kind == P_LBRACE;
        if (o->tok.kind == P_RBRACE && depth <= 1) {
            if (depth || !o->function)
                ocl_advance(o);
            return;
        }
        depth -= o->tok.kind == P_RBRACE;
        ocl_advance(o);
    }
}

/* One declarator and what follows it. False at the end of the declaration. */
static bool declare_one(Ocl *o, OclSpecifiers *s, OclNode ***tail)
{
    OclDeclarator d;
    OclAttributes a = s->attributes;
    a.has_matrix = false;
    ocl_parse_declarator(o, s, &d);
    ocl_parse_attributes(o, &a);
    if (!d.name) {
        ocl_error(o, d.loc, "expected a name");
        recover(o);
        return false;
    }
    if (d.type->kind == TY_FUNCTION && !s->is_typedef) {
        if (a.has_matrix)
            d.type = ocl_function(o, ocl_matrix_attribute(o, d.type->base, &a), d.type->params,
                                  d.type->n_params, false);
        if (o->tok.kind == P_LBRACE && !o->function && d.is_function) {
            define(o, s, &d, &a);
            return false;
        }
        declare_function(o, s, &d, &a);
    } else {
        if (a.has_matrix)
            d.type = ocl_matrix_attribute(o, d.type, &a);
        if (s->kernel)
            ocl_error(o, s->loc, "only a function is a kernel");
        if (s->is_typedef) {
            typedef_declaration(o, &d, MAX(a.aligned, typedef_align(s, &d)));
        } else if (is_void(d.type)) {
            ocl_error(o, d.loc, "a variable cannot have type '%s'", ocl_type_name(o, d.type));
        } else {
            a.aligned = MAX(a.aligned, typedef_align(s, &d));
            OclSymbol *v = declare_variable(o, s, &d, &a);
            if (tail) {
                OclNode *n =
                    ocl_node(o, N_DECLARATION, d.loc, NULL, v->global ? NULL : v->init, NULL);
                n->symbol = v;
                **tail = n;
                *tail = &n->d;
            }
        }
    }
    if (ocl_accept(o, P_COMMA))
        return true;
    if (!ocl_expect(o, P_SEMICOLON, "after the declaration"))
        recover(o);
    return false;
}

/* The variables declared, linked by d; NULL when there are none. */
OclNode *ocl_parse_declaration(Ocl *o)
{
    OclSpecifiers s;
    OclNode *first = NULL, **tail = &first;
    if (!ocl_parse_specifiers(o, &s)) {
        recover(o);
        return NULL;
    }
    if (ocl_accept(o, P_SEMICOLON))
        return NULL;
    while (declare_one(o, &s, o->function ? &tail : NULL))
        ;
    return first;
}

/* Whether a function or an extern variable, declared in a function, is one of the program's: all of
 * it is known by now (C99, 6.2.2). */
static bool outer(Ocl *o, OclSymbol *s)
{
    OclSymbol *t = s->ident->symbol;
    if (!s->scope || (s->kind != S_FUNCTION && !s->is_extern) || !t || t->kind != s->kind)
        return false;
    while (t->type != s->type && ocl_overload(t))
        t = ocl_overload(t);
    if (t->type != s->type)
        ocl_error(o, s->loc, "'%s' is declared twice, and not alike", s->ident->name);
    s->same = t;
    t->used |= s->used;
    t->called |= s->called;
    return true;
}

void ocl_parse(Ocl *o)
{
    ocl_advance(o);
    while (o->tok.kind != T_EOF) {
        if (ocl_accept(o, P_SEMICOLON))
            continue;
        if (o->tok.kind == P_RBRACE) {
            ocl_error(o, o->tok.loc, "'}' without '{'");
            ocl_advance(o);
            continue;
        }
        ocl_parse_declaration(o);
    }
    for (uint32_t i = 0; i < o->globals.len; i++) {
        OclSymbol *s = o->globals.data[i];
        if (outer(o, s))
            continue;
        if (s->called && !s->defined && s->kind == S_FUNCTION)
            ocl_error(o, s->loc, "'%s' is called but not defined", s->ident->name);
        if (s->used && s->is_extern && !s->init)
            ocl_error(o, s->loc, "'%s' is used but not defined", s->ident->name);
    }
    ocl_check_recursion(o);
}
