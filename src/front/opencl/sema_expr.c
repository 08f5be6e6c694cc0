/* SPDX-License-Identifier: MIT
 *
 * Operators: checks and converts their operands, and determines their results (C99, 6.5; OpenCL C
 * 3.0, 6.4.6 and 6.5).
 */
#include "front/opencl/internal.h"

static const char *spelling(Ocl *o, OclTok op)
{
    const char *name = ocl_token_name(op);
    return arena_strndup(o->arena, name + 1, strlen(name) - 2);
}

static OclNode *refuse_operands(Ocl *o, OclTok op, OclLoc loc, const OclNode *a, const OclNode *b)
{
    if (a->bad || (b && b->bad))
        return ocl_bad(o, loc);
    if (b)
        ocl_error(o, loc, "'%s' does not go with '%s' and '%s'", spelling(o, op),
                  ocl_type_name(o, a->type), ocl_type_name(o, b->type));
    else
        ocl_error(o, loc, "'%s' does not go with '%s'", spelling(o, op), ocl_type_name(o, a->type));
    return ocl_bad(o, loc);
}

static bool is_comparison(OclTok op)
{
    return op == P_LT || op == P_GT || op == P_LE || op == P_GE || op == P_EQ || op == P_NE;
}

static bool integers_only(OclTok op)
{
    return op == P_PERCENT || op == P_BITAND || op == P_BITOR || op == P_XOR || op == P_SHL ||
           op == P_SHR || op == P_TILDE;
}

/* The type that comparisons and logical operations of t yield. */
static OclType *truth(Ocl *o, OclType *t)
{
    return is_vector(t) ? ocl_vector(o, ocl_sized_int(o, t->base->size, true), (uint32_t)t->n)
                        : o->basic[TY_INT];
}

/* ---- both operands to one type --------------------------------------------------------------- */

/* A scalar beside a vector must not have the greater rank (6.4.6), but a constant that the
 * component holds exactly is welcome. */
static bool fits_element(Ocl *o, const OclNode *scalar, OclType *element)
{
    OclType *s = scalar->type->plain;
    OclValue v, w;
    if (s == element || (is_integer(s) && is_float(element)))
        return true;
    if (is_float(s) && is_float(element) && s->kind <= element->kind)
        return true;
    if (is_integer(s) && is_integer(element) && s->size <= element->size)
        return true;
    if (!ocl_fold(o, scalar, &v))
        return false;
    if (is_integer(s))
        return is_integer(element) && (ocl_wrap(element, v.lane[0].u) == v.lane[0].u);
    w = v;
    return is_float(element) && (ocl_round(element, v.lane[0].f) == w.lane[0].f);
}

static OclType *with_vector(Ocl *o, OclTok op, OclLoc loc, OclNode **a, OclNode **b)
{
    OclNode **vector = is_vector((*a)->type) ? a : b, **other = vector == a ? b : a;
    OclType *t = (*vector)->type->plain;
    if (is_vector((*other)->type)) {
        if ((*other)->type->plain == t)
            return t;
        refuse_operands(o, op, loc, *a, *b);
        return NULL;
    }
    if (!fits_element(o, *other, t->base)) {
        ocl_error(o, (*other)->loc,
                  "'%s' has a greater rank than the components of '%s'; a cast "
                  "to '%s' says that it is meant",
                  ocl_type_name(o, (*other)->type), ocl_type_name(o, t), ocl_type_name(o, t->base));
        return NULL;
    }
    *other = ocl_to_number(o, *other, t);
    return t;
}

/* NULL after saying what is wrong. */
static OclType *usual(Ocl *o, OclTok op, OclLoc loc, OclNode **a, OclNode **b)
{
    if (is_vector((*a)->type) || is_vector((*b)->type))
        return with_vector(o, op, loc, a, b);
    OclType *t = ocl_common(o, ocl_promoted(o, *a), ocl_promoted(o, *b));
    *a = ocl_to_number(o, *a, t);
    *b = ocl_to_number(o, *b, t);
    return t;
}

/* ---- unary ----------------------------------------------------------------------------------- */

static OclNode *address(Ocl *o, OclLoc loc, OclNode *a)
{
    if (a->bad)
        return a;
    if (a->kind == N_SWIZZLE)
        ocl_error(o, loc, "a component of a vector has no address");
    else if (a->lvalue && ocl_bit_field(a))
        ocl_error(o, loc, "a bit-field has no address");
    else if (a->type && a->type->kind == TY_FUNCTION)
        ocl_error(o, loc, "a function has no address: there are no pointers to functions");
    else if (!a->lvalue)
        ocl_error(o, loc, "'&' needs something that lies in memory");
    else
        return ocl_node(o, N_ADDRESS, loc, ocl_pointer(o, a->type), a, NULL);
    return ocl_bad(o, loc);
}

static OclNode *dereference(Ocl *o, OclLoc loc, OclNode *a)
{
    a = ocl_rvalue(o, a);
    if (a->bad)
        return a;
    if (!is_pointer(a->type))
        return refuse_operands(o, P_STAR, loc, a, NULL);
    if (is_void(a->type->base) || !ocl_is_complete(a->type->base)) {
        ocl_error(o, loc, "what a '%s' points to has no known size", ocl_type_name(o, a->type));
        return ocl_bad(o, loc);
    }
    OclNode *n = ocl_node(o, N_DEREF, loc, a->type->base, a, NULL);
    n->lvalue = true;
    return n;
}

OclNode *ocl_unary(Ocl *o, OclTok op, OclLoc loc, OclNode *a)
{
    if (op == P_BITAND)
        return address(o, loc, a);
    if (op == P_STAR)
        return dereference(o, loc, a);
    if (ocl_pending(a))
        return ocl_settle(o, a, NULL);
    a = ocl_rvalue(o, a);
    if (a->bad)
        return a;
    if (is_matrix(a->type))
        return ocl_matrix_unary(o, op, loc, a);
    if (op == P_NOT) {
        if (!is_arithmetic(a->type) && !is_pointer(a->type))
            return refuse_operands(o, op, loc, a, NULL);
        OclNode *n = ocl_node(o, N_UNARY, loc, truth(o, a->type), a, NULL);
        n->op = (uint8_t)op;
        return n;
    }
    if (!is_arithmetic(a->type) || (op == P_TILDE && !is_integer(element_of(a->type))))
        return refuse_operands(o, op, loc, a, NULL);
    OclType *t = is_vector(a->type) ? a->type->plain : ocl_promoted(o, a);
    OclNode *n = ocl_node(o, N_UNARY, loc, t, ocl_to_number(o, a, t), NULL);
    n->op = (uint8_t)op;
    return n;
}

/* ---- binary ---------------------------------------------------------------------------------- */

static OclNode *make_expr(Ocl *o, OclTok op, OclLoc loc, OclType *t, OclNode *a, OclNode *b)
{
    OclNode *n = ocl_node(o, N_BINARY, loc, t, a, b);
    n->op = (uint8_t)op;
    n->exact = o->tok.flags & TF_EXACT;
    return n;
}

static OclNode *pointer_sum(Ocl *o, OclTok op, OclLoc loc, OclNode *a, OclNode *b)
{
    if (op == P_PLUS && is_pointer(b->type)) {
        OclNode *swap = a;
        a = b;
        b = swap;
    }
    if (is_pointer(a->type) && is_integer(b->type) && (op == P_PLUS || op == P_MINUS)) {
        if (!ocl_is_complete(a->type->base)) {
            ocl_error(o, loc, "what a '%s' points to has no known size", ocl_type_name(o, a->type));
            return ocl_bad(o, loc);
        }
        OclType *wide = o->basic[is_signed(b->type) || b->type->size < 8 ? TY_LONG : TY_ULONG];
        return make_expr(o, op, loc, a->type->plain, a, ocl_to_number(o, b, wide));
    }
    if (op == P_MINUS && is_pointer(a->type) && is_pointer(b->type) &&
        a->type->base->plain == b->type->base->plain && ocl_is_complete(a->type->base))
        return make_expr(o, op, loc, o->basic[TY_LONG], a, b);
    return refuse_operands(o, op, loc, a, b);
}

static OclNode *pointer_comparison(Ocl *o, OclTok op, OclLoc loc, OclNode *a, OclNode *b)
{
    if (is_pointer(a->type) && is_pointer(b->type)) {
        OclType *ta = a->type->base, *tb = b->type->base;
        if (ta->space != tb->space) {
            if (ta->space == AS_GENERIC || (b->kind == N_CAST && b->op == CAST_NULL))
                b = ocl_convert(o, b, a->type, "comparison");
            else
                a = ocl_convert(o, a, b->type, "comparison");
        } else if (ta->plain != tb->plain && !is_void(ta) && !is_void(tb)) {
            ocl_warning(o, loc, "comparison of pointers to different types: '%s' and '%s'",
                        ocl_type_name(o, a->type), ocl_type_name(o, b->type));
        }
    } else if (is_pointer(a->type) && b->kind == N_INT && !b->u) {
        b = ocl_convert(o, b, a->type, "comparison");
    } else if (is_pointer(b->type) && a->kind == N_INT && !a->u) {
        a = ocl_convert(o, a, b->type, "comparison");
    } else {
        return refuse_operands(o, op, loc, a, b);
    }
    return a->bad || b->bad ? ocl_bad(o, loc) : make_expr(o, op, loc, o->basic[TY_INT], a, b);
}

static OclNode *logic(Ocl *o, OclTok op, OclLoc loc, OclNode *a, OclNode *b)
{
    if (is_vector(a->type) || is_vector(b->type)) {
        if (!is_arithmetic(a->type) || !is_arithmetic(b->type))
            return refuse_operands(o, op, loc, a, b);
        OclType *t = with_vector(o, op, loc, &a, &b);
        return t ? make_expr(o, op, loc, truth(o, t), a, b) : ocl_bad(o, loc);
    }
    if ((is_scalar(a->type) || is_pointer(a->type)) && (is_scalar(b->type) || is_pointer(b->type)))
        return make_expr(o, op, loc, o->basic[TY_INT], a, b);
    return refuse_operands(o, op, loc, a, b);
}

/* The right operand of a shift keeps its own type in C; here it takes the left's, as only as many
 * of its bits matter as select one of the left's (6.5.6). */
static OclNode *shift_expr(Ocl *o, OclTok op, OclLoc loc, OclNode *a, OclNode *b)
{
    OclType *t = is_vector(a->type) ? a->type->plain : ocl_promoted(o, a);
    if (is_vector(b->type) && (!is_vector(a->type) || b->type->n != t->n))
        return refuse_operands(o, op, loc, a, b);
    return make_expr(o, op, loc, t, ocl_to_number(o, a, t), ocl_to_number(o, b, t));
}

OclNode *ocl_binary(Ocl *o, OclTok op, OclLoc loc, OclNode *a, OclNode *b)
{
    if (ocl_pending(a))
        a = ocl_settle(o, a, NULL);
    if (ocl_pending(b))
        b = ocl_settle(o, b, NULL);
    a = ocl_rvalue(o, a);
    b = ocl_rvalue(o, b);
    if (a->bad || b->bad)
        return ocl_bad(o, loc);
    if (is_matrix(a->type) || is_matrix(b->type))
        return ocl_matrix_binary(o, op, loc, a, b);
    if (op == P_AND || op == P_OR)
        return logic(o, op, loc, a, b);
    if (is_pointer(a->type) || is_pointer(b->type))
        return is_comparison(op) ? pointer_comparison(o, op, loc, a, b)
                                 : pointer_sum(o, op, loc, a, b);
    if (!is_arithmetic(a->type) || !is_arithmetic(b->type))
        return refuse_operands(o, op, loc, a, b);
    if (integers_only(op) && (!is_integer(element_of(a->type)) || !is_integer(element_of(b->type))))
        return refuse_operands(o, op, loc, a, b);
    if (op == P_SHL || op == P_SHR)
        return shift_expr(o, op, loc, a, b);
    OclType *t = usual(o, op, loc, &a, &b);
    if (!t)
        return ocl_bad(o, loc);
    if ((op == P_SLASH || op == P_PERCENT) && is_integer(t) && b->kind == N_INT && !b->u)
        ocl_warning(o, loc, "division by zero");
    return make_expr(o, op, loc, is_comparison(op) ? truth(o, t) : t, a, b);
}

/* ---- assignment ------------------------------------------------------------------------------ */

static bool has_const_member(const OclType *t)
{
    while (is_array(t))
        t = t->base;
    for (uint32_t i = 0; is_record(t) && i < t->record->members.len; i++) {
        const OclType *m = t->record->members.data[i].type;
        if (m->quals & Q_CONST)
            return true;
    }
    return false;
}

static bool assignable(Ocl *o, OclLoc loc, const OclNode *a)
{
    if (a->bad)
        return false;
    const char *why = NULL;
    if (!a->lvalue || !a->type)
        why = "what is left of it is no place in memory";
    else if (is_array(a->type))
        why = "an array cannot be assigned as a whole";
    else if (a->type->space == AS_CONSTANT)
        why = "it lies in __constant memory";
    else if (a->type->quals & Q_CONST || has_const_member(a->type))
        why = "it is const";
    for (int i = 0; !why && a->kind == N_SWIZZLE && i < (int)lanes_of(a->type); i++) {
        for (int k = 0; k < i; k++) {
            if (a->lanes[i] == a->lanes[k])
                why = "a component is named twice";
        }
    }
    if (why)
        ocl_error(o, loc, "cannot assign: %s", why);
    return !why;
}

static OclTok without_assign(OclTok op)
{
    switch (op) {
    case P_MUL_ASSIGN: return P_STAR;
    case P_DIV_ASSIGN: return P_SLASH;
    case P_MOD_ASSIGN: return P_PERCENT;
    case P_ADD_ASSIGN: return P_PLUS;
    case P_SUB_ASSIGN: return P_MINUS;
    case P_SHL_ASSIGN: return P_SHL;
    case P_SHR_ASSIGN: return P_SHR;
    case P_AND_ASSIGN: return P_BITAND;
    case P_XOR_ASSIGN: return P_XOR;
    default: return P_BITOR;
    }
}

static OclNode *held(Ocl *o, OclNode *a)
{
    OclNode *h = ocl_node(o, N_HELD, a->loc, a->type->plain, NULL, NULL);
    h->depth = 0;
    h->d = a;
    return h;
}

OclNode *ocl_assign(Ocl *o, OclTok op, OclLoc loc, OclNode *a, OclNode *b)
{
    if (!assignable(o, loc, a) || b->bad)
        return ocl_bad(o, loc);
    OclNode *h = NULL;
    if (op != P_ASSIGN) {
        h = held(o, a);
        b = ocl_binary(o, without_assign(op), loc, h, b);
    }
    b = ocl_convert(o, b, a->type, "assignment");
    if (b->bad)
        return b;
    OclNode *n = ocl_node(o, N_ASSIGN, loc, a->type->plain, a, b);
    n->c = h;
    n->op = (uint8_t)op;
    return n;
}

OclNode *ocl_step(Ocl *o, OclTok op, bool postfix, OclLoc loc, OclNode *a)
{
    if (!assignable(o, loc, a))
        return ocl_bad(o, loc);
    if (!is_arithmetic(a->type) && !is_pointer(a->type))
        return refuse_operands(o, op, loc, a, NULL);
    OclNode *h = held(o, a), *one = ocl_int(o, loc, o->basic[TY_INT], 1);
    OclNode *sum = ocl_binary(o, op == P_INC ? P_PLUS : P_MINUS, loc, h, one);
    sum = ocl_convert(o, sum, a->type, "assignment");
    if (sum->bad)
        return sum;
    OclNode *n = ocl_node(o, N_STEP, loc, a->type->plain, a, sum);
    n->c = h;
    n->op = (uint8_t)op;
    n->postfix = postfix;
    return n;
}

/* ---- ?: -------------------------------------------------------------------------------------- */

static OclNode *vector_conditional(Ocl *o, OclLoc loc, OclNode *c, OclNode *a, OclNode *b)
{
    if (!is_integer(c->type->base)) {
        ocl_error(o, c->loc, "the condition of a vector '?:' has integer components, not '%s'",
                  ocl_type_name(o, c->type));
        return ocl_bad(o, loc);
    }
    if (!is_arithmetic(a->type) || !is_arithmetic(b->type))
        return refuse_operands(o, P_QUESTION, loc, a, b);
    OclType *t;
    if (is_vector(a->type) || is_vector(b->type)) {
        t = with_vector(o, P_QUESTION, loc, &a, &b);
    } else { /* two scalars: each to a vector of as many lanes as the condition */
        t = ocl_lanes(o, ocl_common(o, a->type, b->type), c->type->n);
        a = ocl_to_number(o, a, t);
        b = ocl_to_number(o, b, t);
    }
    if (!t)
        return ocl_bad(o, loc);
    if (t->n != c->type->n || t->base->size != c->type->base->size) {
        ocl_error(o, loc, "the condition '%s' and the values '%s' of '?:' differ in shape",
                  ocl_type_name(o, c->type), ocl_type_name(o, t));
        return ocl_bad(o, loc);
    }
    OclNode *n = ocl_node(o, N_CONDITIONAL, loc, t, c, a);
    n->b = a;
    n->c = b;
    ocl_depth(o, n, b);
    return n;
}

static OclType *conditional_type(Ocl *o, OclLoc loc, OclNode **a, OclNode **b)
{
    OclType *ta = (*a)->type, *tb = (*b)->type;
    if (is_void(ta) && is_void(tb))
        return ta;
    *a = ocl_rvalue(o, *a);
    *b = ocl_rvalue(o, *b);
    if ((*a)->bad || (*b)->bad)
        return NULL;
    ta = (*a)->type->plain;
    tb = (*b)->type->plain;
    if (ta == tb)
        return ta;
    if (is_arithmetic(ta) && is_arithmetic(tb))
        return usual(o, P_QUESTION, loc, a, b);
    if (is_pointer(ta) || is_pointer(tb)) {
        bool to_a = is_pointer(ta) &&
                    (!is_pointer(tb) || ta->base->space == AS_GENERIC || is_void(ta->base) ||
                     ((*b)->kind == N_CAST && (*b)->op == CAST_NULL));
        OclType *t = to_a ? ta : tb;
        *a = ocl_convert(o, *a, t, "'?:'");
        *b = ocl_convert(o, *b, t, "'?:'");
        return (*a)->bad || (*b)->bad ? NULL : t;
    }
    refuse_operands(o, P_QUESTION, loc, *a, *b);
    return NULL;
}

OclNode *ocl_conditional(Ocl *o, OclLoc loc, OclNode *c, OclNode *a, OclNode *b)
{
    c = ocl_rvalue(o, c);
    if (ocl_pending(a) && !ocl_pending(b))
        a = ocl_settle(o, a, b->type);
    else if (ocl_pending(b) && !ocl_pending(a))
        b = ocl_settle(o, b, a->type);
    else if (ocl_pending(a))
        a = ocl_settle(o, a, NULL);
    if (c->bad || a->bad || b->bad)
        return ocl_bad(o, loc);
    if (c->type && is_vector(c->type))
        return vector_conditional(o, loc, c, ocl_rvalue(o, a), ocl_rvalue(o, b));
    c = ocl_condition(o, c);
    OclType *t = conditional_type(o, loc, &a, &b);
    if (!t || c->bad)
        return ocl_bad(o, loc);
    OclNode *n = ocl_node(o, N_CONDITIONAL, loc, t->plain, c, a);
    n->c = b;
    ocl_depth(o, n, b);
    return n;
}

/* ---- members, components, elements ----------------------------------------------------------- */

static OclNode *swizzle(Ocl *o, OclLoc loc, OclNode *a, uint32_t n, const uint8_t *lanes)
{
    OclType *t = ocl_lanes(o, a->type->base, n);
    OclNode *s =
        ocl_node(o, N_SWIZZLE, loc, ocl_qualified(o, t, a->type->quals, a->type->space), a, NULL);
    memcpy(s->lanes, lanes, n);
    s->lvalue = a->lvalue;
    if (a->kind == N_SWIZZLE) { /* v.xyz.zy is one swizzle of v */
        for (uint32_t i = 0; i < n; i++)
            s->lanes[i] = a->lanes[lanes[i]];
        s->a = a->a;
    }
    return s;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* lo, hi, even, odd: of three lanes the fourth is undefined, here the last. */
static uint32_t half_lanes(const char *name, uint32_t n, uint8_t *lanes)
{
    uint32_t half = n == 3 ? 2 : n / 2;
    for (uint32_t i = 0; i < half; i++) {
        uint32_t lane = !strcmp(name, "lo")     ? i
                        : !strcmp(name, "hi")   ? half + i
                        : !strcmp(name, "even") ? 2 * i
                                                : 2 * i + 1;
        lanes[i] = (uint8_t)MIN(lane, n - 1);
    }
    return half;
}

static OclNode *vector_component(Ocl *o, OclLoc loc, OclNode *a, OclIdent *name, OclLoc name_loc)
{
    const char *s = name->name;
    uint8_t lanes[16] = { 0 };
    uint32_t n = 0, total = (uint32_t)a->type->n;
    if (!strcmp(s, "lo") || !strcmp(s, "hi") || !strcmp(s, "even") || !strcmp(s, "odd"))
        return swizzle(o, loc, a, half_lanes(s, total, lanes), lanes);
    bool hex = (s[0] == 's' || s[0] == 'S') && s[1];
    const char *set = strchr("rgba", s[0]) ? "rgba" : "xyzw";
    for (const char *p = s + hex; *p; p++) {
        const char *at = strchr(set, *p);
        int lane = hex ? hex_digit(*p) : at ? (int)(at - set) : -1;
        if (lane < 0 || n == 16) {
            ocl_error(o, name_loc, "'%s' names no components of a '%s'", s,
                      ocl_type_name(o, a->type));
            return ocl_bad(o, loc);
        }
        if ((uint32_t)lane >= total) {
            ocl_error(o, name_loc, "'%s' has %u components: there is no '%s%c'",
                      ocl_type_name(o, a->type), total, hex ? "s" : "", *p);
            return ocl_bad(o, loc);
        }
        lanes[n++] = (uint8_t)lane;
    }
    if (n > 4 && n != 8 && n != 16) {
        ocl_error(o, name_loc, "there is no vector of %u components", n);
        return ocl_bad(o, loc);
    }
    return swizzle(o, loc, a, n, lanes);
}

static OclNode *select_member(Ocl *o, OclLoc loc, OclNode *a, uint32_t i)
{
    const OclMember *m = &a->type->record->members.data[i];
    OclType *t = ocl_qualified(o, m->type, m->type->quals | a->type->quals, a->type->space);
    OclNode *n = ocl_node(o, N_MEMBER, loc, t, a, NULL);
    n->member = i;
    n->lvalue = a->lvalue;
    return n;
}

/* Looks into unnamed members too; NULL when there is none of that name. */
static OclNode *find_member(Ocl *o, OclLoc loc, OclNode *a, OclIdent *name)
{
    OclRecord *r = a->type->record;
    for (uint32_t i = 0; i < r->members.len; i++) {
        if (r->members.data[i].name == name)
            return select_member(o, loc, a, i);
    }
    for (uint32_t i = 0; i < r->members.len; i++) {
        const OclMember *m = &r->members.data[i];
        if (!m->name && is_record(m->type)) {
            OclNode *found = find_member(o, loc, select_member(o, loc, a, i), name);
            if (found)
                return found;
        }
    }
    return NULL;
}

OclNode *ocl_member(Ocl *o, OclLoc loc, OclNode *a, OclIdent *name, OclLoc name_loc)
{
    if (a->bad || !a->type)
        return ocl_pending(a) ? ocl_settle(o, a, NULL) : a;
    if (is_vector(a->type))
        return vector_component(o, loc, a, name, name_loc);
    if (is_record(a->type) && a->type->record->complete) {
        OclNode *n = find_member(o, loc, a, name);
        if (n)
            return n;
        ocl_error(o, name_loc, "'%s' has no member '%s'", ocl_type_name(o, a->type), name->name);
    } else if (is_matrix(a->type)) {
        ocl_error(o, loc, "a matrix has no members: its elements are spread over the sub-group");
    } else if (is_pointer(a->type) && is_record(a->type->base)) {
        ocl_error(o, loc, "'%s' is a pointer; '->' selects a member", ocl_type_name(o, a->type));
    } else {
        ocl_error(o, loc, "'%s' has no members", ocl_type_name(o, a->type));
    }
    return ocl_bad(o, loc);
}

OclNode *ocl_index(Ocl *o, OclLoc loc, OclNode *a, OclNode *b)
{
    if (ocl_pending(a))
        a = ocl_settle(o, a, NULL);
    if (a->type && is_matrix(a->type)) {
        ocl_error(o, loc,
                  "a matrix has no subscripts: its elements are spread over the sub-group; "
                  "coop_mat_store brings them to memory");
        return ocl_bad(o, loc);
    }
    b = ocl_rvalue(o, b);
    if (a->bad || b->bad)
        return ocl_bad(o, loc);
    if (is_vector(a->type) && is_integer(b->type)) { /* as clang has it: v[i] */
        OclNode *n = ocl_node(
            o, N_INDEX, loc, ocl_qualified(o, a->type->base, a->type->quals, a->type->space), a, b);
        n->lvalue = a->lvalue;
        return n;
    }
    a = ocl_rvalue(o, a);
    if (is_pointer(b->type) && is_integer(a->type)) {
        OclNode *swap = a;
        a = b;
        b = swap;
    }
    if (!is_pointer(a->type) || !is_integer(b->type)) {
        ocl_error(o, loc, "'%s' cannot be subscripted by '%s'", ocl_type_name(o, a->type),
                  ocl_type_name(o, b->type));
        return ocl_bad(o, loc);
    }
    if (!ocl_is_complete(a->type->base)) {
        ocl_error(o, loc, "what a '%s' points to has no known size", ocl_type_name(o, a->type));
        return ocl_bad(o, loc);
    }
    OclType *array = a->kind == N_CAST && a->op == CAST_DECAY ? a->a->type : NULL;
    if (array && b->kind == N_INT && array->n != UNKNOWN_LENGTH && b->u >= array->n)
        ocl_warning(o, loc, "index %lld is outside of '%s'", (long long)b->u,
                    ocl_type_name(o, array));
    OclType *wide = o->basic[is_signed(b->type) || b->type->size < 8 ? TY_LONG : TY_ULONG];
    OclNode *n = ocl_node(o, N_INDEX, loc, a->type->base, a, ocl_to_number(o, b, wide));
    n->lvalue = true;
    return n;
}
