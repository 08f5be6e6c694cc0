/* SPDX-License-Identifier: MIT
 *
 * Specifiers, attributes and declarators (C99, 6.7; OpenCL C 3.0, 6.7 and 6.11).
 *
 * A declarator is read into a list of the parts around its name, the nearest first; its type is
 * then built from the other end. A pointer without an address space points to the generic one, as
 * in OpenCL C 3.0 with __opencl_c_generic_address_space; a pointer to a matrix points to the
 * private one, where matrices live.
 */
#include "front/opencl/internal.h"

/* ---- attributes ------------------------------------------------------------------------------ */

static bool is_type_word(const OclToken *t, const char *word)
{
    size_t n = strlen(word);
    return t->ident &&
           (!strcmp(t->ident->name, word) ||
            (t->len == n + 4 && !strncmp(t->text, "__", 2) && !strncmp(t->text + 2, word, n)));
}

static bool sizes(Ocl *o, uint32_t *out, bool several)
{
    for (int i = 0; i < (several ? 3 : 1); i++) {
        uint64_t v;
        OclLoc loc = o->tok.loc;
        if (i && !ocl_expect(o, P_COMMA, "between the sizes"))
            return false;
        if (!ocl_parse_constant(o, "a size", &v, NULL))
            return false;
        if (!v || v > UINT32_MAX)
            ocl_error(o, loc, "a size is at least 1");
        out[i] = (uint32_t)v;
    }
    return true;
}

/* The cooperative matrix RFC's section 4.6 has enumerators in quotes. */
static bool quoted_number(Ocl *o, const char *what, uint64_t *out)
{
    OclToken t = o->tok;
    const OclSymbol *s = t.len < 2 ? NULL : ocl_intern(o, t.text + 1, t.len - 2)->symbol;
    ocl_advance(o);
    if (s && s->kind == S_ENUMERATOR) {
        *out = s->value;
        return true;
    }
    ocl_error(o, t.loc, "%s is an enumerator, and %.*s names none", what, (int)t.len, t.text);
    return false;
}

/* The scope may also be the one that OpenCL C's enumeration of scopes has for a sub-group. */
static bool is_opencl_scope(const OclToken *t)
{
    static const char prefix[] = "memory_scope_";
    return t->kind == T_IDENT && !strncmp(t->ident->name, prefix, sizeof prefix - 1);
}

static bool matrix_number(Ocl *o, const char *what, uint64_t least, uint64_t most, uint64_t *out)
{
    enum { OPENCL_SUBGROUP = 4 };
    OclLoc loc = o->tok.loc;
    bool other = least == SCOPE_SUBGROUP && is_opencl_scope(&o->tok);
    if (o->tok.kind == T_STRING ? !quoted_number(o, what, out)
                                : !ocl_parse_constant(o, what, out, NULL))
        return false;
    if (other)
        *out = *out == OPENCL_SUBGROUP ? SCOPE_SUBGROUP : 0;
    if (*out >= least && *out <= most)
        return true;
    if (most > 3)
        ocl_error(o, loc, "%s must be from %llu to %llu, not %lld", what, (unsigned long long)least,
                  (unsigned long long)most, (long long)*out);
    else if (least == SCOPE_SUBGROUP)
        ocl_error(o, loc, "the only scope of a matrix is CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP");
    else
        ocl_error(o, loc, "%s must be CLK_COOPERATIVE_MATRIX_A, _B or _ACCUMULATOR", what);
    return false;
}

/* (scope, rows, columns, use */
static bool matrix_numbers(Ocl *o, uint64_t v[4])
{
    bool good = true;
    static const char *const what[] = { "the scope", "the number of rows", "the number of columns",
                                        "the use" };
    static const uint32_t least[] = { SCOPE_SUBGROUP, 1, 1, 0 };
    static const uint32_t most[] = { SCOPE_SUBGROUP, 1024, 1024, MATRIX_ACCUMULATOR };
    for (int i = 0; i < 4; i++) {
        if (i && o->tok.kind != P_COMMA) {
            ocl_error(o, o->tok.loc, "coop_mat takes (scope, rows, columns, use); %s is missing",
                      what[i]);
            ocl_skip_to(o, P_LPAREN, P_RPAREN);
            return false;
        }
        if (i)
            ocl_advance(o);
        good &= matrix_number(o, what[i], least[i], most[i], &v[i]);
    }
    if (o->tok.kind == P_COMMA) {
        ocl_error(o, o->tok.loc, "coop_mat takes (scope, rows, columns, use) and no more");
        ocl_skip_to(o, P_LPAREN, P_RPAREN);
        return false;
    }
    return good;
}

/* An error results in a matrix without rows, about which nothing more is reported. */
static void matrix_attribute(Ocl *o, OclAttributes *out, OclLoc loc, bool args)
{
    uint64_t v[4] = { 0 };
    if (!args)
        ocl_error(o, loc, "coop_mat takes (scope, rows, columns, use)");
    bool good = args && matrix_numbers(o, v);
    out->has_matrix = true;
    out->matrix_loc = loc;
    out->rows = good ? (uint32_t)v[1] : 0;
    out->columns = (uint32_t)v[2];
    out->use = good ? (uint8_t)v[3] : 0;
}

static void attribute(Ocl *o, OclAttributes *out)
{
    OclToken name = o->tok;
    ocl_advance(o);
    bool args = ocl_accept(o, P_LPAREN);
    uint64_t v;
    if (is_type_word(&name, "coop_mat")) {
        matrix_attribute(o, out, name.loc, args);
    } else if (is_type_word(&name, "packed")) {
        out->packed = true;
    } else if (is_type_word(&name, "aligned")) {
        out->aligned = 16;
        if (args && ocl_parse_constant(o, "an alignment", &v, NULL)) {
            if (!is_pow2(v) || v > 1 << 16)
                ocl_error(o, name.loc, "an alignment is a power of two up to 65536");
            else
                out->aligned = (uint32_t)v;
        }
    } else if (is_type_word(&name, "reqd_work_group_size") && args) {
        out->has_local_size = sizes(o, out->local_size, true);
    } else if (is_type_word(&name, "work_group_size_hint") && args) {
        out->has_size_hint = sizes(o, out->size_hint, true);
    } else if (is_type_word(&name, "intel_reqd_sub_group_size") && args) {
        sizes(o, &out->subgroup_size, false);
    } else if (is_type_word(&name, "vec_type_hint") && args) {
        out->vec_type_hint = ocl_parse_type_name(o);
    } else if (is_type_word(&name, "opencl_unroll_hint")) {
        out->unroll = UNROLL_ALL;
        if (args && ocl_parse_constant(o, "how often to unroll", &v, NULL))
            out->unroll = (uint32_t)MIN(MAX(v, 1), UNROLL_ALL);
    } else if (is_type_word(&name, "overloadable")) {
        out->overloadable = true;
    } else {
        static const char *const harmless[] = { "always_inline", "noinline",   "unused",
                                                "const",         "pure",       "endian",
                                                "nosvm",         "convergent", "used" };
        bool known = false;
        for (size_t i = 0; i < COUNT_OF(harmless); i++)
            known |= is_type_word(&name, harmless[i]);
        if (!known)
            ocl_warning(o, name.loc, "unknown attribute '%.*s' is ignored", (int)name.len,
                        name.text);
        if (args)
            ocl_skip_to(o, P_LPAREN, P_RPAREN);
    }
    if (args && !ocl_expect(o, P_RPAREN, "after the attribute's arguments")) {
        ocl_skip_to(o, P_LPAREN, P_RPAREN);
        ocl_accept(o, P_RPAREN);
    }
}

void ocl_parse_attributes(Ocl *o, OclAttributes *out)
{
    while (o->tok.kind == K_ATTRIBUTE) {
        ocl_advance(o);
        if (!ocl_expect(o, P_LPAREN, "after '__attribute__'") ||
            !ocl_expect(o, P_LPAREN, "after '__attribute__('"))
            return;
        while (o->tok.kind != P_RPAREN && o->tok.kind != T_EOF) {
            if (o->tok.ident)
                attribute(o, out);
            else if (o->tok.kind != P_COMMA)
                ocl_error(o, o->tok.loc, "expected an attribute's name");
            if (o->tok.kind != P_RPAREN && !ocl_expect(o, P_COMMA, "between attributes"))
                ocl_skip_to(o, P_LPAREN, P_RPAREN);
        }
        ocl_expect(o, P_RPAREN, "after the attributes");
        ocl_expect(o, P_RPAREN, "after the attributes");
    }
}

/* ---- specifiers ------------------------------------------------------------------------------ */

bool ocl_starts_type(Ocl *o, const OclToken *t)
{
    (void)o;
    switch ((OclTok)t->kind) {
    case K_CHAR:
    case K_CONST:
    case K_DOUBLE:
    case K_ENUM:
    case K_FLOAT:
    case K_HALF:
    case K_INT:
    case K_LONG:
    case K_SHORT:
    case K_SIGNED:
    case K_STRUCT:
    case K_UNION:
    case K_UNSIGNED:
    case K_VOID:
    case K_VOLATILE:
    case K_BOOL:
    case K_ATOMIC:
    case K_EVENT:
    case K_GLOBAL:
    case K_LOCAL:
    case K_CONSTANT:
    case K_PRIVATE:
    case K_GENERIC:
    case K_TYPEDEF:
    case K_STATIC:
    case K_EXTERN:
    case K_INLINE:
    case K_REGISTER:
    case K_KERNEL:
    case K_ATTRIBUTE:
    case K_RESTRICT:
    case K_TYPEOF: return true;
    case T_IDENT:
        return t->ident->symbol ? t->ident->symbol->kind == S_TYPEDEF
                                : ocl_unsupported(t->ident) != NULL && !t->ident->builtin &&
                                      !ocl_find_builtin(o, t->ident);
    default: return false;
    }
}

typedef struct TypeWords {
    uint32_t count[N_TOKENS - K_BREAK];
    uint32_t total;
} TypeWords;

static OclType *combine_words(Ocl *o, const TypeWords *w, OclLoc loc)
{
#define HAS(name) w->count[K_##name - K_BREAK]
    uint32_t sign = HAS(SIGNED) + HAS(UNSIGNED), lengths = HAS(SHORT) + HAS(LONG);
    bool u = HAS(UNSIGNED);
    OclTypeKind k = TY_INT;
    bool good = sign <= 1 && w->total <= 3;
    if (HAS(CHAR)) {
        k = TY_CHAR;
        good &= HAS(CHAR) == 1 && w->total == 1 + sign;
    } else if (HAS(SHORT) || HAS(LONG) || HAS(INT)) {
        k = HAS(SHORT) ? TY_SHORT : HAS(LONG) ? TY_LONG : TY_INT;
        good &= lengths <= 1 && HAS(INT) <= 1 && w->total == sign + lengths + HAS(INT);
    } else if (w->total != sign) {
        k = HAS(VOID)     ? TY_VOID
            : HAS(BOOL)   ? TY_BOOL
            : HAS(HALF)   ? TY_HALF
            : HAS(FLOAT)  ? TY_FLOAT
            : HAS(DOUBLE) ? TY_DOUBLE
                          : TY_EVENT;
        good &= w->total == 1;
        u = false;
    }
    if (!good)
        ocl_error(o, loc, "these words together name no type%s",
                  HAS(LONG) > 1 ? "; 'long' has 64 bits already" : "");
    return o->basic[u ? k + 1 : k];
#undef HAS
}

static void set_space(Ocl *o, OclSpecifiers *s, OclSpace space)
{
    if (s->has_space && s->space != space)
        ocl_error(o, o->tok.loc, "two address spaces: %s and %s", ocl_space_name(s->space),
                  ocl_space_name(space));
    s->has_space = true;
    s->space = space;
}

/* The token, when it is no word of a type, storage class, qualifier or address space: false. */
static bool simple_specifier(Ocl *o, OclSpecifiers *s, TypeWords *w, uint8_t *quals)
{
    switch ((OclTok)o->tok.kind) {
    case K_CHAR:
    case K_DOUBLE:
    case K_FLOAT:
    case K_HALF:
    case K_INT:
    case K_LONG:
    case K_SHORT:
    case K_SIGNED:
    case K_UNSIGNED:
    case K_VOID:
    case K_BOOL:
    case K_EVENT:
        w->count[o->tok.kind - K_BREAK]++;
        w->total++;
        break;
    case K_CONST: *quals |= Q_CONST; break;
    case K_VOLATILE: *quals |= Q_VOLATILE; break;
    case K_RESTRICT: *quals |= Q_RESTRICT; break;
    case K_ATOMIC: *quals |= Q_ATOMIC; break;
    case K_GLOBAL: set_space(o, s, AS_GLOBAL); break;
    case K_LOCAL: set_space(o, s, AS_LOCAL); break;
    case K_CONSTANT: set_space(o, s, AS_CONSTANT); break;
    case K_PRIVATE: set_space(o, s, AS_PRIVATE); break;
    case K_GENERIC: set_space(o, s, AS_GENERIC); break;
    case K_TYPEDEF: s->is_typedef = true; break;
    case K_STATIC: s->is_static = true; break;
    case K_EXTERN: s->is_extern = true; break;
    case K_INLINE: s->is_inline = true; break;
    case K_REGISTER: break;
    case K_KERNEL: s->kernel = true; break;
    default: return false;
    }
    ocl_advance(o);
    return true;
}

/* NULL for what is not supported; another of its words may follow. */
static OclType *typedef_name(Ocl *o, OclSpecifiers *s, bool *refused)
{
    OclIdent *id = o->tok.ident;
    OclType *t = NULL;
    bool qualifies = !id->symbol && ocl_peek(o)->kind == T_IDENT; /* read_only pipe */
    const char *next = qualifies ? ocl_unsupported(ocl_peek(o)->ident) : NULL;
    if (id->symbol) {
        t = id->symbol->type;
        s->type_align = id->symbol->attributes.aligned;
    } else if (!*refused) {
        ocl_error(o, o->tok.loc, "'%s': %s are not supported", id->name,
                  next ? next : ocl_unsupported(id));
        *refused = true;
    }
    ocl_advance(o);
    return t;
}

/* typeof(type), typeof(expression) */
static OclType *typeof_type(Ocl *o, OclSpecifiers *s)
{
    OclType *t = o->basic[TY_INT];
    ocl_advance(o);
    if (!ocl_expect(o, P_LPAREN, "after 'typeof'"))
        return t;
    if (ocl_starts_type(o, &o->tok)) {
        t = ocl_parse_type_name(o);
    } else {
        OclNode *n = ocl_parse_expression(o);
        n = ocl_pending(n) ? ocl_settle(o, n, NULL) : n;
        t = n->bad ? t : n->type;
        s->of_expression = true;
    }
    ocl_expect(o, P_RPAREN, "after the operand of 'typeof'");
    return t;
}

bool ocl_parse_specifiers(Ocl *o, OclSpecifiers *s)
{
    TypeWords w = { 0 };
    uint8_t quals = 0;
    OclType *named = NULL;
    bool refused = false;
    *s = (OclSpecifiers){ .loc = o->tok.loc, .attributes = o->leading };
    o->leading = (OclAttributes){ 0 };
    for (;;) {
        if (o->tok.kind == K_ATTRIBUTE)
            ocl_parse_attributes(o, &s->attributes);
        else if (simple_specifier(o, s, &w, &quals))
            ;
        else if (named || w.total)
            break;
        else if (o->tok.kind == K_STRUCT || o->tok.kind == K_UNION)
            named = ocl_parse_record(o, s);
        else if (o->tok.kind == K_ENUM)
            named = ocl_parse_enum(o);
        else if (o->tok.kind == K_TYPEOF)
            named = typeof_type(o, s);
        else if (o->tok.kind == T_IDENT && ocl_starts_type(o, &o->tok))
            named = typedef_name(o, s, &refused);
        else
            break;
    }
    bool found = named || w.total;
    if (named && w.total)
        ocl_error(o, s->loc, "two types in one declaration");
    if (!found && refused) {
        named = o->basic[TY_INT];
        found = true;
    } else if (!found) {
        if (o->tok.kind == T_IDENT && ocl_peek(o)->kind != P_LPAREN && !o->tok.ident->symbol)
            ocl_error(o, o->tok.loc, "'%s' is no type", o->tok.ident->name);
        else
            ocl_error(o, o->tok.loc, "expected a type");
        named = o->basic[TY_INT];
    }
    OclType *t = named ? named : combine_words(o, &w, s->loc);
    if (s->attributes.has_matrix)
        t = ocl_matrix_attribute(o, t, &s->attributes);
    if (s->of_expression && s->has_space)
        t = ocl_in_space(o, t, s->space);
    if (t->space && !s->has_space)
        s->space = (OclSpace)t->space;
    if (t->space && s->has_space && t->space != s->space)
        ocl_error(o, s->loc, "two address spaces: %s and %s", ocl_space_name((OclSpace)t->space),
                  ocl_space_name(s->space));
    s->type = ocl_qualified(o, t, t->quals | quals, s->space);
    return found;
}

/* ---- declarators ----------------------------------------------------------------------------- */

typedef struct Chunk {
    enum { POINTER, ARRAY, FUNCTION } kind;
    OclLoc loc;
    uint8_t quals;
    bool has_space, variadic;
    OclSpace space;
    uint64_t n;
    OclSymbol **params;
    uint32_t n_params;
} Chunk;

typedef VEC(Chunk) Chunks;

static void pointer_qualifiers(Ocl *o, Chunk *c)
{
    OclSpecifiers s = { 0 };
    TypeWords w = { 0 };
    while (o->tok.kind == K_CONST || o->tok.kind == K_VOLATILE || o->tok.kind == K_RESTRICT ||
           (o->tok.kind >= K_GLOBAL && o->tok.kind <= K_GENERIC))
        simple_specifier(o, &s, &w, &c->quals);
    if (o->tok.kind == K_ATTRIBUTE) {
        OclAttributes ignored = { 0 };
        ocl_parse_attributes(o, &ignored);
        if (ignored.has_matrix)
            ocl_error(o, ignored.matrix_loc, "a pointer is no matrix");
    }
    c->has_space = s.has_space;
    c->space = s.space;
}

static void parameters(Ocl *o, Chunk *c)
{
    VEC(OclSymbol *) params = { 0 };
    bool only_void = o->tok.kind == K_VOID && ocl_peek(o)->kind == P_RPAREN;
    if (only_void)
        ocl_advance(o);
    while (!only_void && o->tok.kind != P_RPAREN && o->tok.kind != T_EOF) {
        if (o->tok.kind == P_ELLIPSIS) {
            ocl_error(o, o->tok.loc, "functions take a fixed number of arguments");
            ocl_advance(o);
            break;
        }
        OclSpecifiers s;
        OclDeclarator d;
        OclAttributes after = { 0 };
        if (!ocl_parse_specifiers(o, &s))
            break;
        ocl_parse_declarator(o, &s, &d);
        ocl_parse_attributes(o, &after);
        if (after.has_matrix)
            d.type = ocl_matrix_attribute(o, d.type, &after);
        OclSymbol *p = NEW(o->arena, OclSymbol);
        *p = (OclSymbol){ .kind = S_PARAMETER,
                          .ident = d.name,
                          .type = d.type,
                          .loc = d.name ? d.loc : s.loc };
        if (is_array(d.type)) /* the parameter is a pointer to its elements */
            p->type = ocl_pointer(o, d.type->base->space || s.has_space || ocl_has_matrix(d.type)
                                         ? d.type->base
                                         : ocl_in_space(o, d.type->base, AS_GENERIC));
        vec_push(o->arena, &params, p);
        if (o->tok.kind != P_RPAREN && !ocl_expect(o, P_COMMA, "between parameters"))
            ocl_skip_to(o, P_LPAREN, P_RPAREN);
    }
    ocl_expect(o, P_RPAREN, "after the parameters");
    c->params = params.data;
    c->n_params = params.len;
}

static void suffixes(Ocl *o, Chunks *out)
{
    while (o->tok.kind == P_LBRACKET || o->tok.kind == P_LPAREN) {
        Chunk c = { .loc = o->tok.loc, .n = UNKNOWN_LENGTH };
        bool array = o->tok.kind == P_LBRACKET;
        ocl_advance(o);
        c.kind = array ? ARRAY : FUNCTION;
        if (!array) {
            parameters(o, &c);
        } else {
            while (o->tok.kind == K_STATIC || o->tok.kind == K_CONST || o->tok.kind == K_RESTRICT)
                ocl_advance(o);
            bool given = o->tok.kind != P_RBRACKET;
            if (given && !ocl_parse_constant(o, "the length of an array", &c.n, NULL)) {
                c.n = 1;
            } else if (given && c.n > UINT32_MAX) {
                ocl_error(o, c.loc, "an array cannot have this length");
                c.n = 1;
            }
            ocl_expect(o, P_RBRACKET, "after the length");
        }
        vec_push(o->arena, out, c);
    }
}

static void direct(Ocl *o, OclDeclarator *d, Chunks *out)
{
    if (!ocl_enter(o, o->tok.loc)) {
        ocl_leave(o);
        return;
    }
    Chunks pointers = { 0 };
    while (o->tok.kind == P_STAR) {
        Chunk c = { .kind = POINTER, .loc = o->tok.loc };
        ocl_advance(o);
        pointer_qualifiers(o, &c);
        vec_push(o->arena, &pointers, c);
    }
    if (o->tok.kind == P_XOR) {
        ocl_error(o, o->tok.loc, "blocks are not supported; a function does what they do");
        ocl_advance(o);
    }
    if (o->tok.kind == T_IDENT) {
        d->name = o->tok.ident;
        d->loc = o->tok.loc;
        ocl_advance(o);
    } else if (o->tok.kind == P_LPAREN && ocl_peek(o)->kind != P_RPAREN &&
               !ocl_starts_type(o, ocl_peek(o))) {
        ocl_advance(o);
        direct(o, d, out);
        ocl_expect(o, P_RPAREN, "after the declarator");
    }
    suffixes(o, out);
    for (uint32_t i = pointers.len; i-- > 0;)
        vec_push(o->arena, out, pointers.data[i]);
    ocl_leave(o);
}

static OclType *pointer_to(Ocl *o, OclType *t, const Chunk *c, bool has_space)
{
    if (t->kind == TY_FUNCTION) {
        ocl_error(o, c->loc, "there are no pointers to functions");
        return o->basic[TY_INT];
    }
    if (ocl_has_matrix(t) && t->space)
        ocl_error(o, c->loc,
                  "a matrix lies in __private memory; a pointer to one is '__private "
                  "T *'");
    else if (!has_space && !t->space && !ocl_has_matrix(t))
        t = ocl_in_space(o, t, AS_GENERIC);
    return ocl_qualified(o, ocl_pointer(o, t), c->quals, c->space);
}

static OclType *array_of(Ocl *o, OclType *t, const Chunk *c)
{
    if (t->kind == TY_FUNCTION || is_void(t) || !ocl_is_complete(t)) {
        ocl_error(o, c->loc, "there are no arrays of '%s'", ocl_type_name(o, t));
        return t;
    }
    uint64_t size = t->size ? t->size : 1;
    if (c->n != UNKNOWN_LENGTH && c->n > (UINT64_C(1) << 40) / size) {
        ocl_error(o, c->loc, "the array is too large");
        return t;
    }
    return ocl_array(o, t, c->n);
}

static OclType *function_of(Ocl *o, OclType *t, const Chunk *c)
{
    if (is_array(t) || t->kind == TY_FUNCTION) {
        ocl_error(o, c->loc, "a function cannot yield '%s'", ocl_type_name(o, t));
        t = o->basic[TY_INT];
    }
    OclType **types = NEW_ARRAY(o->arena, OclType *, c->n_params);
    for (uint32_t i = 0; i < c->n_params; i++)
        types[i] = c->params[i]->type->plain;
    return ocl_function(o, t->plain, types, c->n_params, false);
}

/* 64 levels of pointers and arrays are more than a type needs, and keep types shallow. */
void ocl_parse_declarator(Ocl *o, const OclSpecifiers *s, OclDeclarator *d)
{
    Chunks chunks = { 0 };
    *d = (OclDeclarator){ .loc = o->tok.loc };
    direct(o, d, &chunks);
    OclType *t = s->type;
    bool pointer = false;
    for (uint32_t i = 0; i < chunks.len; i++)
        pointer |= chunks.data[i].kind == POINTER;
    if (s->of_expression && !s->has_space && !pointer) /* not where the expression's object lies */
        t = ocl_in_space(o, t, AS_PRIVATE);
    bool has_space = s->has_space || s->type->space;
    if (chunks.len > 64) {
        ocl_error(o, d->loc, "nested too deeply: a declarator of more than 64 levels");
        chunks.len = 0;
    }
    for (uint32_t i = chunks.len; i-- > 0;) {
        const Chunk *c = &chunks.data[i];
        if (c->kind == POINTER)
            t = pointer_to(o, t, c, has_space);
        else if (c->kind == ARRAY)
            t = array_of(o, t, c);
        else
            t = function_of(o, t, c);
        if (c->kind == POINTER)
            has_space = c->has_space;
    }
    if (chunks.len && chunks.data[0].kind == FUNCTION) {
        d->is_function = true;
        d->params = chunks.data[0].params;
        d->n_params = chunks.data[0].n_params;
    }
    d->type = t;
}

OclType *ocl_parse_type_name(Ocl *o)
{
    OclSpecifiers s;
    OclDeclarator d;
    ocl_parse_specifiers(o, &s);
    ocl_parse_declarator(o, &s, &d);
    OclAttributes after = { 0 };
    ocl_parse_attributes(o, &after);
    if (after.has_matrix)
        d.type = ocl_matrix_attribute(o, d.type, &after);
    if (d.name)
        ocl_error(o, d.loc, "a type has no name here");
    return d.type;
}
