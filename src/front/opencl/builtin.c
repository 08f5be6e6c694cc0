/* SPDX-License-Identifier: MIT
 *
 * Calls of built-in functions: finds the row of builtins.def that the arguments match, converts
 * them, and makes the name by which the SPIR-V target knows the function: Itanium-mangled, as clang
 * does it.
 */
#include "front/opencl/internal.h"

/* ---- what T may be --------------------------------------------------------------------------- */

#define K(kind)  (1u << TY_##kind)
#define L(lanes) (1u << (15 + (lanes)))
enum {
    ANY_LANES = L(1) | L(2) | L(3) | L(4) | L(8) | 1u << 31,
    UP_TO_4 = L(1) | L(2) | L(3) | L(4),
    KS_SIGNED = K(CHAR) | K(SHORT) | K(INT) | K(LONG),
    KS_UNSIGNED = K(UCHAR) | K(USHORT) | K(UINT) | K(ULONG),
    K_INTS = KS_SIGNED | KS_UNSIGNED,
    K_FLOATS = K(HALF) | K(FLOAT) | K(DOUBLE),
    K_WORDS = K(INT) | K(UINT) | K(LONG) | K(ULONG),
};
static const uint32_t sets[] = {
#define SET(name, kinds, lanes) (uint32_t)(kinds) | (uint32_t)(lanes),
#include "front/opencl/builtin_sets.def"
};
enum {
#define SET(name, kinds, lanes) name,
#include "front/opencl/builtin_sets.def"
};

static const OclBuiltin table[] = {
#define ROW(kind, name, set, signature, operation) { name, signature, set, kind, operation },
#include "front/opencl/builtins.def"
};

const OclBuiltin *ocl_builtin_table(uint32_t *n)
{
    *n = COUNT_OF(table);
    return table;
}

bool ocl_same_name(const OclBuiltin *row, const OclIdent *name)
{
    return row < table + COUNT_OF(table) && !strcmp(row->name, name->name);
}

const OclBuiltin *ocl_find_builtin(Ocl *o, OclIdent *name)
{
    (void)o;
    for (size_t i = 0; !name->looked_up && i < COUNT_OF(table); i++) {
        if (!strcmp(table[i].name, name->name)) {
            name->builtin = &table[i];
            break;
        }
    }
    name->looked_up = true;
    return name->builtin;
}

static bool in_set(uint32_t set, const OclType *t)
{
    uint64_t n = lanes_of(t);
    const OclType *e = is_vector(t) ? t->base : t;
    return is_scalar(e) && e->kind != TY_BOOL && sets[set] >> e->kind & 1 &&
           sets[set] & (n == 16 ? 1u << 31 : 1u << (15 + n));
}

/* ---- binding --------------------------------------------------------------------------------- */

typedef struct Binding {
    const OclBuiltin *row;
    OclNode **args;
    uint32_t n;
    OclType *t, *mask;
    bool fixed; /* t is what a pointer points to */
} Binding;

static bool is_prefix(char c) { return c && strchr("pqaAgywz", c); }

static OclType *widened(Ocl *o, OclType *t)
{
    OclType *e = element_of(t);
    return ocl_lanes(o, ocl_sized_int(o, e->size * 2, is_signed(e)), lanes_of(t));
}

static OclType *relation(Ocl *o, OclType *t)
{
    if (!is_vector(t))
        return o->basic[TY_INT];
    return ocl_lanes(o, ocl_sized_int(o, t->base->size, true), t->n);
}

static uint32_t digits(const char *name)
{
    const char *p = strpbrk(name, "0123456789");
    uint32_t n = 0;
    for (; p && *p >= '0' && *p <= '9'; p++)
        n = n * 10 + (uint32_t)(*p - '0');
    return n;
}

/* The type that a code in a signature stands for. */
static OclType *decode(Ocl *o, const Binding *b, char code)
{
    static const char basic[] = "vbchstijlmDfde";
    const char *at = strchr(basic, code);
    OclType *t = b->t, *e = t ? element_of(t) : NULL;
    uint64_t n = t ? lanes_of(t) : 1, size = e ? e->size : 4;
    if (at)
        return o->basic[at - basic];
    switch (code) {
    case 'o': return ocl_qualified(o, o->basic[TY_UINT], Q_ORDER, AS_PRIVATE);
    case 'x': return ocl_qualified(o, o->basic[TY_UINT], Q_SCOPE, AS_PRIVATE);
    case '2': return ocl_vector(o, o->basic[TY_UINT], 2);
    case '4': return ocl_vector(o, o->basic[TY_UINT], 4);
    case 'T': return t;
    case 'S': return e;
    case 'U': return ocl_lanes(o, ocl_sized_int(o, size, false), n);
    case 'N': return ocl_lanes(o, ocl_sized_int(o, size, true), n);
    case 'X':
        return ocl_lanes(o, o->basic[size == 2 ? TY_HALF : size == 4 ? TY_FLOAT : TY_DOUBLE], n);
    case 'W': return widened(o, t);
    case 'Y': return ocl_lanes(o, o->basic[TY_INT], n);
    case 'R': return relation(o, t);
    case 'V': return ocl_vector(o, e, digits(b->row->name));
    case 'M': return b->mask;
    case 'J': return ocl_lanes(o, e, b->mask ? b->mask->n : 1);
    default: return o->basic[TY_INT];
    }
}

/* What one argument implies for T. */
static bool bind_one(Ocl *o, Binding *b, char prefix, char code, OclType *arg)
{
    if (code == 'M') {
        if (!is_vector(arg))
            return false;
        b->mask = arg;
        return true;
    }
    if (prefix) {
        if (!is_pointer(arg) || is_void(arg->base))
            return false;
        if (code != 'T')
            return true;
        b->t = arg->base->plain;
        b->fixed = true;
        return true;
    }
    if (code == 'V') {
        if (is_vector(arg) && !b->fixed)
            b->t = arg->base;
        return is_vector(arg);
    }
    if (code != 'T' || b->fixed)
        return true;
    if (!is_arithmetic(arg))
        return false;
    if (!b->t || (is_vector(arg) && !is_vector(b->t)))
        b->t = arg;
    else if (!is_vector(arg) && !is_vector(b->t) && b->t != arg)
        b->t = ocl_common(o, b->t, arg);
    return true;
}

static uint32_t count_params(const char *signature)
{
    uint32_t n = 0;
    for (const char *p = signature + 1; *p; p++)
        n += !is_prefix(*p);
    return n;
}

/* Finds T; integers count as float if only floats match. */
static bool bind(Ocl *o, Binding *b)
{
    uint32_t i = 0;
    b->t = b->mask = NULL;
    b->fixed = false;
    if (count_params(b->row->signature) != b->n)
        return false;
    for (const char *p = b->row->signature + 1; *p; p++, i++) {
        char prefix = is_prefix(*p) ? *p++ : 0;
        if (!bind_one(o, b, prefix, *p, b->args[i]->type->plain))
            return false;
    }
    if (!strpbrk(b->row->signature, "TV"))
        return true;
    if (!b->t)
        b->t = o->basic[TY_FLOAT];
    if (in_set(b->row->set, b->t))
        return true;
    OclType *as_float = ocl_lanes(o, o->basic[TY_FLOAT], lanes_of(b->t));
    if (!b->fixed && is_integer(b->t) && in_set(b->row->set, as_float)) {
        b->t = as_float;
        return true;
    }
    return false;
}

/* What the parameter is, given the argument: pointers keep the argument's address space. */
static OclType *parameter(Ocl *o, const Binding *b, char prefix, char code, OclType *arg)
{
    OclType *t = decode(o, b, code);
    if (!prefix || !t)
        return t;
    OclSpace space = (OclSpace)arg->base->space;
    uint8_t quals = strchr("qyz", prefix) ? Q_CONST
                    : prefix == 'a'       ? Q_VOLATILE
                    : prefix == 'A'       ? Q_VOLATILE | Q_ATOMIC
                                          : 0;
    if (prefix == 'g' || prefix == 'y')
        space = AS_GLOBAL;
    if (prefix == 'w' || prefix == 'z')
        space = AS_LOCAL;
    return ocl_pointer(o, ocl_qualified(o, t, quals, space));
}

static bool suits_pointer(const OclType *arg, const OclType *want)
{
    const OclType *a = arg->base, *w = want->base;
    if (a->space != w->space || (a->space == AS_CONSTANT && !(w->quals & Q_CONST)))
        return false;
    return a->plain == w->plain && !(a->quals & Q_CONST & ~w->quals);
}

/* Whether an argument can be converted: scalars to scalars and to every lane, vectors only to
 * themselves. */
static bool suits(const OclNode *arg, const OclType *want)
{
    const OclType *t = arg->type->plain, *w = want->plain;
    if (is_pointer(w))
        return is_pointer(t) && suits_pointer(t, w);
    if (t == w || (w->kind == TY_EVENT && arg->kind == N_INT && !arg->u))
        return true;
    return is_scalar(t) && is_arithmetic(w);
}

static bool parameters(Ocl *o, const Binding *b, OclType **out)
{
    uint32_t i = 0;
    for (const char *p = b->row->signature + 1; *p; p++, i++) {
        char prefix = is_prefix(*p) ? *p++ : 0;
        out[i] = parameter(o, b, prefix, *p, b->args[i]->type);
        if (!out[i] || !suits(b->args[i], out[i]))
            return false;
    }
    return true;
}

/* ---- mangling -------------------------------------------------------------------------------- */

typedef struct Mangler {
    Ocl *o;
    Str text;
    VEC(const OclType *) seen;
} Mangler;

static bool substitute(Mangler *m, const OclType *t)
{
    for (uint32_t i = 0; i < m->seen.len; i++) {
        if (m->seen.data[i] != t)
            continue;
        if (i)
            str_printf(m->o->arena, &m->text, "S%c_",
                       i <= 10 ? '0' + (int)i - 1 : 'A' + (int)i - 11);
        else
            str_add(m->o->arena, &m->text, "S_");
        return true;
    }
    return false;
}

static void mangle_type(Mangler *m, const OclType *t)
{
    static const char letters[] = "vbchstijlm";
    Arena *a = m->o->arena;
    if (t->quals & (Q_ORDER | Q_SCOPE)) {
        if (substitute(m, t))
            return;
        str_add(a, &m->text, t->quals & Q_ORDER ? "12memory_order" : "12memory_scope");
    } else if (t->space || t->quals) {
        if (substitute(m, t))
            return;
        if (t->space)
            str_printf(a, &m->text, "U3AS%u", t->space);
        if (t->quals & Q_VOLATILE)
            str_add(a, &m->text, "V");
        if (t->quals & Q_CONST)
            str_add(a, &m->text, "K");
        if (t->quals & Q_ATOMIC)
            str_add(a, &m->text, "U7_Atomic");
        mangle_type(m, t->plain);
    } else if (t->kind <= TY_ULONG) {
        str_addn(a, &m->text, &letters[t->kind], 1);
        return;
    } else if (is_float(t)) {
        str_add(a, &m->text, t->kind == TY_HALF ? "Dh" : t->kind == TY_FLOAT ? "f" : "d");
        return;
    } else if (substitute(m, t)) {
        return;
    } else if (is_vector(t)) {
        str_printf(a, &m->text, "Dv%u_", (unsigned)t->n);
        mangle_type(m, t->base);
    } else if (is_pointer(t)) {
        str_add(a, &m->text, "P");
        mangle_type(m, t->base);
    } else if (is_matrix(t)) {
        const OclType *c = t->base;
        char *name = arena_printf(a, "CoopMat_%c%u_%u_%u_%u_%u",
                                  is_float(c)    ? 'f'
                                  : is_signed(c) ? 's'
                                                 : 'u',
                                  (unsigned)c->size * 8, t->scope, t->rows, t->columns, t->use);
        str_printf(a, &m->text, "u%u%s", (unsigned)strlen(name), name);
    } else {
        str_add(a, &m->text, "9ocl_event");
    }
    vec_push(a, &m->seen, t);
}

const char *ocl_mangle(Ocl *o, const char *name, OclType **params, uint32_t n)
{
    Mangler m = { .o = o };
    str_printf(o->arena, &m.text, "_Z%u%s", (unsigned)strlen(name), name);
    for (uint32_t i = 0; i < n; i++)
        mangle_type(&m, params[i]);
    if (!n)
        str_add(o->arena, &m.text, "v");
    return m.text.data;
}

/* The result is part of a template's name: a load's is not told by its parameters. */
const char *ocl_mangle_template(Ocl *o, const char *name, OclType *result, OclType **params,
                                uint32_t n)
{
    Mangler m = { .o = o };
    str_printf(o->arena, &m.text, "_Z%u%sI", (unsigned)strlen(name), name);
    mangle_type(&m, result);
    str_add(o->arena, &m.text, "ET_");
    for (uint32_t i = 0; i < n; i++)
        mangle_type(&m, params[i]);
    return m.text.data;
}

/* ---- the call -------------------------------------------------------------------------------- */

static OclNode *build(Ocl *o, const Binding *b, OclLoc loc, OclType **params)
{
    OclNode *n = ocl_node(o, N_BUILTIN, loc, decode(o, b, b->row->signature[0]), NULL, NULL);
    for (uint32_t i = 0; i < b->n; i++) {
        if (!is_pointer(params[i]))
            b->args[i] = ocl_convert(o, b->args[i], params[i], "argument");
        ocl_depth(o, n, b->args[i]);
    }
    n->list = b->args;
    n->n = b->n;
    n->builtin = b->row;
    n->types = params;
    if (b->row->what == B_CALL || b->row->what == B_PURE || b->row->what == B_LOAD_PADDED)
        n->name = ocl_mangle(o, b->row->operation ? b->row->operation : b->row->name, params, b->n);
    return n;
}

static OclNode *refuse_arguments(Ocl *o, const OclIdent *name, OclLoc loc, OclNode **args,
                                 uint32_t n)
{
    Str list = { 0 };
    str_add(o->arena, &list, "");
    for (uint32_t i = 0; i < n; i++)
        str_printf(o->arena, &list, "%s%s", i ? ", " : "", ocl_type_name(o, args[i]->type));
    bool counted = false;
    for (const OclBuiltin *r = name->builtin; ocl_same_name(r, name); r++)
        counted |= count_params(r->signature) == n;
    if (counted || !name->builtin)
        ocl_error(o, loc, "no built-in '%s' takes (%s)", name->name, list.data);
    else
        ocl_error(o, loc, "built-in '%s' takes %u argument%s, not %u", name->name,
                  count_params(name->builtin->signature),
                  count_params(name->builtin->signature) == 1 ? "" : "s", n);
    return ocl_bad(o, loc);
}

/* to_global(p): a generic pointer's, or null when it leads elsewhere; get_fence(p). */
static OclNode *to_space(Ocl *o, const OclBuiltin *row, OclLoc loc, OclNode **args, uint32_t n)
{
    if (n != 1 || !is_pointer(args[0]->type) || args[0]->type->base->space == AS_CONSTANT)
        return NULL;
    OclType *from = args[0]->type->base;
    if (from->space != AS_GENERIC)
        args[0] =
            ocl_implicit(o, CAST_SPACE, args[0], ocl_pointer(o, ocl_in_space(o, from, AS_GENERIC)));
    OclType *to = o->basic[TY_UINT];
    if (row->operation)
        to = ocl_pointer(o, ocl_in_space(o, from, (OclSpace)(row->operation[0] - '0')));
    OclNode *c = ocl_node(o, N_BUILTIN, loc, to, NULL, NULL);
    ocl_depth(o, c, args[0]);
    c->list = args;
    c->n = 1;
    c->builtin = row;
    return c;
}

OclNode *ocl_call_builtin(Ocl *o, OclIdent *name, OclLoc loc, OclNode **args, uint32_t n)
{
    const OclBuiltin *row = ocl_find_builtin(o, name);
    for (uint32_t i = 0; i < n; i++) {
        args[i] = ocl_pending(args[i]) ? ocl_settle(o, args[i], NULL) : ocl_rvalue(o, args[i]);
        if (args[i]->bad)
            return ocl_bad(o, loc);
    }
    if (row->what == B_REFUSED) {
        ocl_error(o, loc, "'%s': %s are not supported", name->name, row->operation);
        return ocl_bad(o, loc);
    }
    if (row->what == B_TO_SPACE) {
        OclNode *c = to_space(o, row, loc, args, n);
        return c ? c : refuse_arguments(o, name, loc, args, n);
    }
    OclType **params = NEW_ARRAY(o->arena, OclType *, n);
    for (; ocl_same_name(row, name); row++) {
        Binding b = { .row = row, .args = args, .n = n };
        if (bind(o, &b) && parameters(o, &b, params))
            return build(o, &b, loc, params);
    }
    return refuse_arguments(o, name, loc, args, n);
}

/* ---- convert_T and as_T ---------------------------------------------------------------------- */

/* "float4_sat_rte" -> float4, and what follows it. */
static OclType *named_type(Ocl *o, const char *s, const char **rest)
{
    static const struct {
        const char *name;
        OclTypeKind kind;
    } names[] = {
        { "char", TY_CHAR },      { "uchar", TY_UCHAR },   { "short", TY_SHORT },
        { "ushort", TY_USHORT },  { "int", TY_INT },       { "uint", TY_UINT },
        { "long", TY_LONG },      { "ulong", TY_ULONG },   { "half", TY_HALF },
        { "float", TY_FLOAT },    { "double", TY_DOUBLE }, { "size_t", TY_ULONG },
        { "ptrdiff_t", TY_LONG }, { "intptr_t", TY_LONG }, { "uintptr_t", TY_ULONG },
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        size_t len = strlen(names[i].name);
        if (strncmp(s, names[i].name, len))
            continue;
        const char *p = s + len;
        uint32_t n = 1;
        if (*p >= '1' && *p <= '9') {
            n = *p == '1' && p[1] == '6' ? 16 : (uint32_t)(*p - '0');
            p += n == 16 ? 2 : 1;
        }
        if (n == 1 ? p != s + len : n != 2 && n != 3 && n != 4 && n != 8 && n != 16)
            continue;
        *rest = p;
        if (*p == 0 || *p == '_')
            return ocl_lanes(o, o->basic[names[i].kind], n);
    }
    return NULL;
}

static OclNode *as_type(Ocl *o, OclLoc loc, OclType *to, OclNode *a)
{
    OclType *from = a->type->plain;
    bool sizes = is_arithmetic(from) &&
                 (from->size == to->size ||
                  (lanes_of(from) == 4 && lanes_of(to) == 3 && from->base->size == to->base->size));
    if (!sizes || (is_scalar(from) && from->kind == TY_BOOL)) {
        ocl_error(o, loc, "as_%s needs a type of as many bytes, not '%s'", ocl_type_name(o, to),
                  ocl_type_name(o, from));
        return ocl_bad(o, loc);
    }
    OclNode *c = ocl_implicit(o, CAST_BITS, a, to);
    c->implicit = false;
    c->loc = loc;
    return c;
}

static OclNode *convert_function(Ocl *o, const OclIdent *name, OclLoc loc, OclType *to,
                                 const char *suffix, OclNode *a)
{
    OclType *from = a->type->plain, *e = element_of(to);
    bool sat = !strncmp(suffix, "_sat", 4);
    const char *rounding = suffix + (sat ? 4 : 0);
    static const char *const modes[] = { "", "_rte", "_rtz", "_rtp", "_rtn" };
    bool known = false;
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        known |= !strcmp(rounding, modes[i]);
    if (!known || (sat && is_float(e))) {
        ocl_error(o, loc, "'%s' is no conversion: %s", name->name,
                  known ? "only integers saturate" : "_rte, _rtz, _rtp and _rtn round");
        return ocl_bad(o, loc);
    }
    if (!is_arithmetic(from) || lanes_of(from) != lanes_of(to)) {
        ocl_error(o, loc, "%s needs as many components, not '%s'", name->name,
                  ocl_type_name(o, from));
        return ocl_bad(o, loc);
    }
    OclType *fe = element_of(from);
    bool exact = !is_float(fe) && !is_float(e); /* between integers nothing rounds */
    if ((exact || !*rounding || (is_float(fe) && is_integer(e) && !strcmp(rounding, "_rtz"))) &&
        !sat)
        return ocl_cast_lanes(o, CAST_NUMBER, loc, to, a);
    if (exact) /* the target's own takes signs for others (LLVM 22) */
        return ocl_cast_lanes(o, CAST_SATURATE, loc, to, a);
    OclNode *n = ocl_node(o, N_BUILTIN, loc, to, NULL, NULL);
    n->list = NEW(o->arena, OclNode *);
    n->types = NEW(o->arena, OclType *);
    n->list[0] = a;
    n->types[0] = from;
    n->n = 1;
    n->builtin = &table[0]; /* a pure call */
    ocl_depth(o, n, a);
    n->name = ocl_mangle(o, name->name, n->types, 1);
    return n;
}

OclNode *ocl_call_conversion(Ocl *o, OclIdent *name, OclLoc loc, OclNode **args, uint32_t n,
                             bool *known)
{
    bool as = !strncmp(name->name, "as_", 3);
    const char *suffix;
    OclType *to = as                                    ? named_type(o, name->name + 3, &suffix)
                  : !strncmp(name->name, "convert_", 8) ? named_type(o, name->name + 8, &suffix)
                                                        : NULL;
    *known = to && (!as || !*suffix);
    if (!*known)
        return NULL;
    if (n != 1) {
        ocl_error(o, loc, "%s takes 1 argument, not %u", name->name, n);
        return ocl_bad(o, loc);
    }
    OclNode *a = ocl_pending(args[0]) ? ocl_settle(o, args[0], NULL) : ocl_rvalue(o, args[0]);
    if (a->bad)
        return a;
    return as ? as_type(o, loc, to, a) : convert_function(o, name, loc, to, suffix, a);
}
