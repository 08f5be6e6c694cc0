/* SPDX-License-Identifier: MIT
 *
 * Cooperative matrices: the type's attribute, loads that take their type from where they go,
 * stores, multiply-adds, operators (the cooperative matrix RFC for OpenCL C, sections 4.1, 4.4,
 * 4.6; SPV_KHR_cooperative_matrix for what the shapes must be).
 */
#include "front/opencl/internal.h"

enum { OPERAND_A = 1, OPERAND_B = 2, OPERAND_C = 4, OPERAND_RESULT = 8, OPERAND_SATURATING = 16 };

static const char *const uses[] = { "A", "B", "ACCUMULATOR" };

/* ---- the type -------------------------------------------------------------------------------- */

OclType *ocl_matrix_attribute(Ocl *o, OclType *t, const OclAttributes *a)
{
    if (is_array(t)) {
        OclType *element = ocl_matrix_attribute(o, t->base, a);
        return ocl_array(o, element, t->n);
    }
    if (is_bad_matrix(t))
        return t;
    if (is_matrix(t)) {
        ocl_error(o, a->matrix_loc, "this is a matrix already");
        return t;
    }
    if (!is_scalar(t) || t->kind == TY_BOOL) {
        ocl_error(o, a->matrix_loc,
                  "the components of a matrix are integers or floating-point "
                  "numbers, not '%s'",
                  ocl_type_name(o, t));
        return ocl_matrix(o, o->basic[TY_INT], 0, 0, 0);
    }
    return ocl_qualified(o, ocl_matrix(o, t, a->rows, a->columns, a->use), t->quals, t->space);
}

/* ---- loads without a type -------------------------------------------------------------------- */

bool ocl_pending(const OclNode *n)
{
    return (n->kind == N_LOAD_MATRIX || n->kind == N_FILL_MATRIX) && !n->type && !n->bad;
}

static void check_memory_type(Ocl *o, const OclNode *pointer, const OclType *matrix)
{
    const OclType *e = pointer->type->base;
    e = is_vector(e) ? e->base : e;
    if (e->kind != matrix->base->kind)
        ocl_warning(o, pointer->loc,
                    "'%s' lies in memory as '%s': the bytes are taken as they are, "
                    "nothing is converted",
                    ocl_type_name(o, matrix), ocl_type_name(o, pointer->type->base->plain));
}

/* coop_mat_init's scalar is converted to a component like an initialiser. */
static OclNode *settle_fill(Ocl *o, OclNode *n, OclType *type)
{
    n->a = ocl_convert(o, n->a, type->base, "coop_mat_init");
    if (n->a->bad)
        return ocl_bad(o, n->loc);
    n->type = type;
    return n;
}

OclNode *ocl_settle(Ocl *o, OclNode *n, OclType *type)
{
    const char *name = n->kind == N_FILL_MATRIX ? "coop_mat_init" : "coop_mat_load";
    if (type && is_matrix(type)) {
        if (n->kind == N_FILL_MATRIX)
            return settle_fill(o, n, type->plain);
        n->type = type->plain;
        check_memory_type(o, n->a, n->type);
        return n;
    }
    if (type)
        ocl_error(o, n->loc, "%s makes a matrix, not '%s'", name, ocl_type_name(o, type));
    else
        ocl_error(o, n->loc,
                  "nothing says which matrix %s is to make; assign it to a variable, or "
                  "cast it: (type)%s(...)",
                  name, name);
    return ocl_bad(o, n->loc);
}

/* ---- what differs ---------------------------------------------------------------------------- */

static const char *type_difference(Ocl *o, const OclType *a, const OclType *b)
{
    if (a->base != b->base)
        return arena_printf(o->arena, "the components differ (%s and %s)",
                            ocl_type_name(o, a->base), ocl_type_name(o, b->base));
    if (a->rows != b->rows)
        return arena_printf(o->arena, "the rows differ (%u and %u)", a->rows, b->rows);
    if (a->columns != b->columns)
        return arena_printf(o->arena, "the columns differ (%u and %u)", a->columns, b->columns);
    return arena_printf(o->arena, "the uses differ (%s and %s)", uses[a->use], uses[b->use]);
}

OclNode *ocl_matrix_mismatch(Ocl *o, OclNode *n, OclType *to, const char *what)
{
    if (is_matrix(n->type) && is_matrix(to))
        ocl_error(o, n->loc, "%s: '%s' does not become '%s': %s", what, ocl_type_name(o, n->type),
                  ocl_type_name(o, to), type_difference(o, n->type, to));
    else if (is_matrix(to))
        ocl_error(o, n->loc,
                  "%s: '%s' does not become '%s'; coop_mat_load makes a matrix of what "
                  "lies in memory, = {0} one of zeros",
                  what, ocl_type_name(o, n->type), ocl_type_name(o, to));
    else
        ocl_error(o, n->loc,
                  "%s: '%s' does not become '%s'; coop_mat_store brings its elements to "
                  "memory",
                  what, ocl_type_name(o, n->type), ocl_type_name(o, to));
    return ocl_bad(o, n->loc);
}

/* ---- operators ------------------------------------------------------------------------------- */

static OclNode *operation(Ocl *o, OclTok op, OclLoc loc, OclType *t, OclNode *a, OclNode *b)
{
    OclNode *n = ocl_node(o, b ? N_BINARY : N_UNARY, loc, t->plain, a, b);
    n->op = (uint8_t)op;
    return n;
}

OclNode *ocl_matrix_unary(Ocl *o, OclTok op, OclLoc loc, OclNode *a)
{
    if (op == P_MINUS)
        return operation(o, op, loc, a->type, a, NULL);
    ocl_error(o, loc, "%s does not go with a matrix; only unary '-' does", ocl_token_name(op));
    return ocl_bad(o, loc);
}

/* The scalar is of the component's type (4.6), or a constant that the component holds exactly: the
 * RFC's own example multiplies a matrix of float by 4. */
static OclNode *scaled(Ocl *o, OclLoc loc, OclNode *matrix, OclNode *scalar)
{
    OclType *component = matrix->type->base;
    OclValue v;
    bool same = scalar->type->plain == component, exact = false;
    if (!same && is_scalar(scalar->type) && ocl_fold(o, scalar, &v)) {
        OclNode *cast = ocl_to_number(o, scalar, component);
        OclValue w;
        exact = ocl_fold(o, cast, &w) &&
                (is_float(component)
                     ? (is_float(scalar->type) ? w.lane[0].f == v.lane[0].f
                                               : w.lane[0].f == (double)(int64_t)v.lane[0].u)
                     : is_integer(scalar->type) && w.lane[0].u == v.lane[0].u);
    }
    if (!same && !exact) {
        ocl_error(o, scalar->loc,
                  "the scalar beside '%s' must be '%s', not '%s'; a cast to '%s' "
                  "converts",
                  ocl_type_name(o, matrix->type), ocl_type_name(o, component),
                  ocl_type_name(o, scalar->type), ocl_type_name(o, component));
        return ocl_bad(o, loc);
    }
    return operation(o, P_STAR, loc, matrix->type, matrix, ocl_to_number(o, scalar, component));
}

OclNode *ocl_matrix_binary(Ocl *o, OclTok op, OclLoc loc, OclNode *a, OclNode *b)
{
    bool ma = is_matrix(a->type), mb = is_matrix(b->type);
    if (op == P_LT || op == P_GT || op == P_LE || op == P_GE || op == P_EQ || op == P_NE) {
        ocl_error(o, loc, "matrices cannot be compared");
        return ocl_bad(o, loc);
    }
    if (op != P_PLUS && op != P_MINUS && op != P_STAR && op != P_SLASH) {
        ocl_error(o, loc,
                  "%s does not go with a matrix; '+', '-', '*' and '/' do, component by "
                  "component",
                  ocl_token_name(op));
        return ocl_bad(o, loc);
    }
    if (ma != mb) {
        OclNode *matrix = ma ? a : b, *scalar = ma ? b : a;
        if (op == P_STAR && is_arithmetic(scalar->type))
            return scaled(o, loc, matrix, scalar);
        ocl_error(o, loc, "%s does not go with '%s' and '%s'; only '*' takes a matrix and a scalar",
                  ocl_token_name(op), ocl_type_name(o, a->type), ocl_type_name(o, b->type));
        return ocl_bad(o, loc);
    }
    if (a->type->plain == b->type->plain)
        return operation(o, op, loc, a->type, a, b);
    ocl_error(o, loc, "%s needs matrices of one type: %s%s", ocl_token_name(op),
              type_difference(o, a->type, b->type),
              op == P_STAR ? "; coop_matmul_add multiplies A by B" : "");
    return ocl_bad(o, loc);
}

/* ---- built-in functions ---------------------------------------------------------------------- */

static bool takes_arguments(Ocl *o, const OclIdent *name, OclLoc loc, uint32_t got, uint32_t want)
{
    if (got != want)
        ocl_error(o, loc, "%s takes %u arguments, not %u", name->name, want, got);
    return got == want;
}

static bool constant_argument(Ocl *o, OclNode *n, const char *what, uint64_t limit, uint64_t *out)
{
    OclValue v;
    if (n->bad)
        return false;
    if (!n->type || !is_integer(n->type) || !ocl_fold(o, n, &v)) {
        ocl_error(o, n->loc, "%s must be a constant", what);
        return false;
    }
    *out = v.lane[0].u;
    if (v.lane[0].u <= limit)
        return true;
    ocl_error(o, n->loc, "%s: %lld is no value of its enumeration", what, (long long)v.lane[0].u);
    return false;
}

/* A matrix value; reports anything else in terms of `what`. */
static OclNode *matrix_value(Ocl *o, OclNode *m, const char *what)
{
    m = ocl_pending(m) ? ocl_settle(o, m, NULL) : ocl_rvalue(o, m);
    if (m->bad || is_matrix(m->type))
        return m;
    ocl_error(o, m->loc, "%s, not '%s'", what, ocl_type_name(o, m->type));
    return ocl_bad(o, m->loc);
}

/* A pointer to numbers in memory that the sub-group shares; a generic one may lead there. */
static OclNode *memory(Ocl *o, const OclIdent *name, OclNode *p, bool writes)
{
    p = ocl_rvalue(o, p);
    if (p->bad)
        return p;
    OclType *e = p->type && is_pointer(p->type) ? p->type->base : NULL;
    if (!e || !is_arithmetic(e) || element_of(e)->kind == TY_BOOL)
        ocl_error(o, p->loc, "%s needs a pointer to numbers, not '%s'", name->name,
                  ocl_type_name(o, p->type));
    else if (e->space == AS_PRIVATE || (writes && e->space == AS_CONSTANT))
        ocl_error(o, p->loc,
                  "%s needs __global or __local memory, which the sub-group shares, not "
                  "%s",
                  name->name, ocl_space_name(e->space));
    else if (writes && e->quals & Q_CONST)
        ocl_error(o, p->loc, "%s writes through '%s', which is const", name->name,
                  ocl_type_name(o, p->type));
    else
        return p;
    return ocl_bad(o, p->loc);
}

static OclNode *stride_argument(Ocl *o, OclNode *n)
{
    n = ocl_rvalue(o, n);
    if (n->bad || (n->type && is_integer(n->type)))
        return ocl_convert(o, n, o->size_type, "stride");
    ocl_error(o, n->loc, "the stride is a number of elements, an integer, not '%s'",
              n->type ? ocl_type_name(o, n->type) : "a matrix");
    return ocl_bad(o, n->loc);
}

static OclNode *matrix_load(Ocl *o, const OclIdent *name, OclLoc loc, OclNode **args, uint32_t n)
{
    uint64_t layout = 0;
    if (!takes_arguments(o, name, loc, n, 3))
        return ocl_bad(o, loc);
    OclNode *p = memory(o, name, args[0], false);
    bool good = constant_argument(o, args[1], "the layout", 1, &layout);
    OclNode *stride = stride_argument(o, args[2]);
    if (p->bad || !good || stride->bad)
        return ocl_bad(o, loc);
    OclNode *l = ocl_node(o, N_LOAD_MATRIX, loc, NULL, p, stride);
    l->u = layout;
    return l;
}

static OclNode *matrix_store(Ocl *o, const OclIdent *name, OclLoc loc, OclNode **args, uint32_t n)
{
    uint64_t layout = 0;
    if (!takes_arguments(o, name, loc, n, 4))
        return ocl_bad(o, loc);
    OclNode *p = memory(o, name, args[0], true);
    OclNode *m = matrix_value(o, args[1], "coop_mat_store stores a matrix");
    bool good = constant_argument(o, args[2], "the layout", 1, &layout);
    OclNode *stride = stride_argument(o, args[3]);
    if (p->bad || m->bad || !good || stride->bad)
        return ocl_bad(o, loc);
    check_memory_type(o, p, m->type);
    OclNode *s = ocl_node(o, N_STORE_MATRIX, loc, o->basic[TY_VOID], p, m);
    s->c = stride;
    s->u = layout;
    return s;
}

static bool factors_match(Ocl *o, OclLoc loc, OclNode *const m[3])
{
    static const char *const names[] = { "A", "B", "C" };
    bool good = true;
    for (uint32_t i = 0; i < 3; i++) {
        if (m[i]->type->use != i) {
            ocl_error(o, m[i]->loc,
                      "operand %s is declared for use %s; it must be "
                      "CLK_COOPERATIVE_MATRIX_%s",
                      names[i], uses[m[i]->type->use], uses[i]);
            good = false;
        }
    }
    if (!good)
        return false;
    const OclType *a = m[0]->type, *b = m[1]->type, *c = m[2]->type;
    if (a->columns != b->rows) {
        ocl_error(o, m[1]->loc, "operand B has %u rows, but A has %u columns (K)", b->rows,
                  a->columns);
        good = false;
    }
    if (a->rows != c->rows) {
        ocl_error(o, m[2]->loc, "operand C has %u rows, but A has %u (M)", c->rows, a->rows);
        good = false;
    }
    if (b->columns != c->columns) {
        ocl_error(o, m[2]->loc, "operand C has %u columns, but B has %u (N)", c->columns,
                  b->columns);
        good = false;
    }
    if (is_float(a->base) != is_float(c->base) || is_float(b->base) != is_float(c->base)) {
        ocl_error(o, loc,
                  "integer and floating-point matrices do not multiply: A is '%s', B '%s', "
                  "C '%s'",
                  ocl_type_name(o, a->base), ocl_type_name(o, b->base), ocl_type_name(o, c->base));
        good = false;
    }
    return good;
}

/* Only the bits determine whether integers are signed: report bits that disagree with the types. */
static void check_signs(Ocl *o, OclNode *const m[3], uint64_t operands)
{
    static const char *const bits[] = { "MATRIX_A_SIGNED", "MATRIX_B_SIGNED", "MATRIX_C_SIGNED" };
    for (uint32_t i = 0; i < 3; i++) {
        const OclType *t = m[i]->type->base;
        if (is_integer(t) && is_signed(t) != (operands >> i & 1))
            ocl_warning(o, m[i]->loc,
                        "the components are '%s', but CLK_COOPERATIVE_MATRIX_OPERAND_"
                        "%s is %sgiven: they are taken as %s",
                        ocl_type_name(o, t), bits[i], operands >> i & 1 ? "" : "not ",
                        operands >> i & 1 ? "signed" : "unsigned");
    }
}

/* coop_matmul_add(a, b, c, operands); the extension's later drafts call it coop_mat_mulAdd, whose
 * operands may be left out: then they are what the types say. */
static OclNode *multiply_add(Ocl *o, const OclIdent *name, OclLoc loc, OclNode **args, uint32_t n)
{
    static const char letters[] = "ABC";
    OclNode *m[3];
    uint64_t operands = 0;
    bool by_type = n == 3 && !strcmp(name->name, "coop_mat_mulAdd");
    if (!by_type && !takes_arguments(o, name, loc, n, 4))
        return ocl_bad(o, loc);
    bool good = by_type || constant_argument(o, args[3], "coop_mat_operand", 31, &operands);
    for (int i = 0; i < 3; i++) {
        m[i] = matrix_value(
            o, args[i],
            arena_printf(o->arena, "operand %c of %s is a matrix", letters[i], name->name));
        good = good && !m[i]->bad;
        if (by_type && good && is_integer(m[i]->type->base) && is_signed(m[i]->type->base))
            operands |= i == 2 ? OPERAND_C | OPERAND_RESULT : 1u << i;
    }
    if (!good || !factors_match(o, loc, m))
        return ocl_bad(o, loc);
    if (operands & OPERAND_SATURATING && !is_integer(m[2]->type->base)) {
        ocl_error(o, args[3]->loc, "only integers saturate: C is '%s'",
                  ocl_type_name(o, m[2]->type->base));
        return ocl_bad(o, loc);
    }
    check_signs(o, m, operands);
    OclNode *r = ocl_node(o, N_MULTIPLY_ADD, loc, m[2]->type->plain, m[0], m[1]);
    r->c = m[2];
    ocl_depth(o, r, m[2]);
    r->u = operands;
    return r;
}

static OclNode *matrix_fill(Ocl *o, const OclIdent *name, OclLoc loc, OclNode **args, uint32_t n)
{
    if (!takes_arguments(o, name, loc, n, 1))
        return ocl_bad(o, loc);
    OclNode *x = ocl_pending(args[0]) ? ocl_settle(o, args[0], NULL) : ocl_rvalue(o, args[0]);
    if (!x->bad && !is_scalar(x->type)) {
        ocl_error(o, x->loc, "coop_mat_init makes all components of one number, not of '%s'",
                  ocl_type_name(o, x->type));
        return ocl_bad(o, loc);
    }
    return x->bad ? ocl_bad(o, loc) : ocl_node(o, N_FILL_MATRIX, loc, NULL, x, NULL);
}

static OclNode *matrix_length(Ocl *o, const OclIdent *name, OclLoc loc, OclNode **args, uint32_t n)
{
    if (!takes_arguments(o, name, loc, n, 1))
        return ocl_bad(o, loc);
    OclNode *m = matrix_value(o, args[0], "coop_mat_length tells of a matrix");
    return m->bad ? ocl_bad(o, loc) : ocl_node(o, N_MATRIX_LENGTH, loc, o->basic[TY_UINT], m, NULL);
}

/* The RFC's, then those that later drafts of cl_khr_cooperative_matrix have. */
OclNode *ocl_matrix_call(Ocl *o, OclIdent *name, OclLoc loc, OclNode **args, uint32_t n,
                         bool *known)
{
    static const struct {
        const char *name;
        OclNode *(*make)(Ocl *, const OclIdent *, OclLoc, OclNode **, uint32_t);
    } table[] = {
        { "coop_mat_load", matrix_load },    { "coop_mat_store", matrix_store },
        { "coop_matmul_add", multiply_add }, { "coop_mat_mulAdd", multiply_add },
        { "coop_mat_init", matrix_fill },    { "coop_mat_length", matrix_length },
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        *known = !strcmp(table[i].name, name->name);
        if (*known)
            return table[i].make(o, name, loc, args, n);
    }
    return NULL;
}
