/* SPDX-License-Identifier: MIT
 *
 * Expressions (C99, 6.5), by precedence climbing; the semantic analysis builds the nodes.
 */
#include "front/opencl/internal.h"

enum { MAX_ARGUMENTS = 4096 };

typedef VEC(OclNode *) Nodes;

/* ---- calls and primaries --------------------------------------------------------------------- */

static bool parse_arguments(Ocl *o, Nodes *out)
{
    bool good = true;
    ocl_advance(o);
    while (o->tok.kind != P_RPAREN && o->tok.kind != T_EOF) {
        OclNode *n = ocl_parse_assignment(o);
        good = good && !n->bad;
        vec_push(o->arena, out, n);
        if (!ocl_accept(o, P_COMMA))
            break;
        if (o->tok.kind == P_RPAREN) {
            ocl_error(o, o->tok.loc, "expected an argument after ','");
            good = false;
        }
    }
    return ocl_expect(o, P_RPAREN, "after the arguments") && good && out->len <= MAX_ARGUMENTS;
}

/* A name before '(' that is not a variable's: a function of the program or a built-in function. */
static OclNode *call_by_name(Ocl *o, OclIdent *name, OclLoc loc)
{
    Nodes args = { 0 };
    bool good = parse_arguments(o, &args), known;
    if (!good)
        return ocl_bad(o, loc);
    OclNode *n = ocl_matrix_call(o, name, loc, args.data, args.len, &known);
    if (known)
        return n;
    if (ocl_find_builtin(o, name))
        return ocl_call_builtin(o, name, loc, args.data, args.len);
    n = ocl_call_conversion(o, name, loc, args.data, args.len, &known);
    if (known)
        return n;
    return ocl_call(o, loc, NULL, name, args.data, args.len);
}

static OclNode *size_of(Ocl *o, OclTok what)
{
    OclLoc loc = o->tok.loc;
    OclType *t;
    ocl_advance(o);
    if (o->tok.kind == P_LPAREN && ocl_starts_type(o, ocl_peek(o))) {
        ocl_advance(o);
        t = ocl_parse_type_name(o);
        ocl_expect(o, P_RPAREN, "after the type");
    } else {
        OclNode *n = ocl_parse_unary(o);
        if (n->bad)
            return n;
        t = n->type;
        if (n->lvalue && ocl_bit_field(n)) {
            ocl_error(o, loc, "a bit-field has no size");
            return ocl_bad(o, loc);
        }
    }
    if (!t || ocl_has_matrix(t)) {
        ocl_error(o, loc, "a matrix has no size: it is spread over the sub-group");
        return ocl_bad(o, loc);
    }
    if (what == K_VEC_STEP && !is_arithmetic(t) && !is_void(t)) {
        ocl_error(o, loc, "vec_step needs a scalar or a vector, not '%s'", ocl_type_name(o, t));
        return ocl_bad(o, loc);
    }
    if (what == K_VEC_STEP)
        return ocl_int(o, loc, o->basic[TY_INT], lanes_of(t) == 3 ? 4 : lanes_of(t));
    if (!ocl_is_complete(t)) {
        ocl_error(o, loc, "'%s' has no known size", ocl_type_name(o, t));
        return ocl_bad(o, loc);
    }
    uint64_t size = is_array(t) ? t->base->size * t->n : t->size;
    return ocl_int(o, loc, o->size_type,
                   what == K_SIZEOF ? (is_array(t) ? t->size : size) : t->align);
}

static OclNode *primary(Ocl *o)
{
    OclToken t = o->tok;
    OclNode *n;
    switch ((OclTok)t.kind) {
    case T_IDENT:
        ocl_advance(o);
        if (o->tok.kind == P_LPAREN && (!t.ident->symbol || t.ident->symbol->kind == S_TYPEDEF))
            return call_by_name(o, t.ident, t.loc);
        return ocl_symbol(o, t.ident, t.loc);
    case T_NUMBER: ocl_advance(o); return ocl_number(o, &t);
    case T_CHAR:
        ocl_advance(o);
        n = ocl_character(o, &t);
        if (n->kind == N_INT && !n->bad)
            n = ocl_int(o, t.loc, o->basic[TY_INT], n->u);
        return n;
    case T_STRING: return ocl_string(o);
    case P_LPAREN:
        ocl_advance(o);
        n = o->tok.kind == P_LBRACE ? ocl_parse_statements(o) : ocl_parse_expression(o);
        ocl_expect(o, P_RPAREN, "after the expression");
        n->parens = true;
        return n;
    case P_XOR:
        if (ocl_peek(o)->kind == P_LBRACE || ocl_peek(o)->kind == P_LPAREN) {
            ocl_error(o, t.loc, "blocks are not supported; a function does what they do");
            ocl_stop(o);
            return ocl_bad(o, t.loc);
        } /* fallthrough */
    default:
        if (t.kind == P_LBRACE) {
            ocl_error(o, t.loc, "expected an expression; a list in braces only initialises");
            ocl_advance(o);
            ocl_skip_to(o, P_LBRACE, P_RBRACE);
            ocl_accept(o, P_RBRACE);
            return ocl_bad(o, t.loc);
        }
        ocl_error(o, t.loc, "expected an expression, not %s",
                  t.kind == T_OTHER ? arena_printf(o->arena, "'%.*s'", (int)t.len, t.text)
                                    : ocl_token_name((OclTok)t.kind));
        if (t.kind != P_SEMICOLON && t.kind != P_RPAREN && t.kind != P_RBRACE &&
            t.kind != P_RBRACKET && t.kind != P_COMMA)
            ocl_advance(o);
        return ocl_bad(o, t.loc);
    }
}

static OclNode *arrow(Ocl *o, OclLoc loc, OclNode *a)
{
    if (a->bad)
        return a;
    a = ocl_rvalue(o, a);
    if (!a->bad && a->type && !is_pointer(a->type) && is_record(a->type)) {
        ocl_error(o, loc, "'%s' is no pointer; '.' selects a member", ocl_type_name(o, a->type));
        return ocl_bad(o, loc);
    }
    return a->bad ? a : ocl_unary(o, P_STAR, loc, a);
}

static OclNode *postfix(Ocl *o, OclNode *n)
{
    for (;;) {
        OclLoc loc = o->tok.loc;
        OclTok op = (OclTok)o->tok.kind;
        if (op == P_LBRACKET) {
            ocl_advance(o);
            OclNode *i = ocl_parse_expression(o);
            ocl_expect(o, P_RBRACKET, "after the subscript");
            n = ocl_index(o, loc, n, i);
        } else if (op == P_LPAREN) {
            Nodes args = { 0 };
            bool good = parse_arguments(o, &args);
            n = good ? ocl_call(o, n->loc, n, NULL, args.data, args.len) : ocl_bad(o, loc);
        } else if (op == P_DOT || op == P_ARROW) {
            ocl_advance(o);
            if (op == P_ARROW)
                n = arrow(o, loc, n);
            if (!o->tok.ident) {
                ocl_error(o, o->tok.loc, "expected a member's name after %s", ocl_token_name(op));
                return ocl_bad(o, loc);
            }
            n = ocl_member(o, loc, n, o->tok.ident, o->tok.loc);
            ocl_advance(o);
        } else if (op == P_INC || op == P_DEC) {
            ocl_advance(o);
            n = ocl_step(o, op, true, loc, n);
        } else {
            return n;
        }
    }
}

/* ---- unary, casts ---------------------------------------------------------------------------- */

/* (type){...}, (type)(a, b, ...) for a vector, (type)e; the '(' is the current token. */
static OclNode *parse_cast(Ocl *o)
{
    OclLoc loc = o->tok.loc;
    ocl_advance(o);
    OclType *t = ocl_parse_type_name(o);
    ocl_expect(o, P_RPAREN, "after the type");
    if (o->tok.kind == P_LBRACE) {
        OclNode *init = ocl_parse_initialiser(o, &t, false);
        OclNode *n = ocl_node(o, N_COMPOUND, loc, t, init, NULL);
        n->lvalue = true;
        return postfix(o, n);
    }
    if (is_vector(t) && o->tok.kind == P_LPAREN) {
        Nodes list = { 0 };
        if (!parse_arguments(o, &list) || !list.len)
            return ocl_bad(o, loc);
        return postfix(o, ocl_vector_literal(o, loc, t, list.data, list.len));
    }
    return ocl_cast(o, loc, t, ocl_parse_unary(o));
}

static OclNode *parse_unary(Ocl *o)
{
    OclLoc loc = o->tok.loc;
    OclTok op = (OclTok)o->tok.kind;
    switch (op) {
    case P_PLUS:
    case P_MINUS:
    case P_NOT:
    case P_TILDE:
    case P_STAR:
    case P_BITAND: ocl_advance(o); return ocl_unary(o, op, loc, ocl_parse_unary(o));
    case P_INC:
    case P_DEC: ocl_advance(o); return ocl_step(o, op, false, loc, ocl_parse_unary(o));
    case K_SIZEOF:
    case K_ALIGNOF:
    case K_VEC_STEP: return size_of(o, op);
    case P_LPAREN:
        if (ocl_starts_type(o, ocl_peek(o)))
            return parse_cast(o);
        break;
    default: break;
    }
    return postfix(o, primary(o));
}

OclNode *ocl_parse_unary(Ocl *o)
{
    OclNode *n = ocl_enter(o, o->tok.loc) ? parse_unary(o) : ocl_bad(o, o->tok.loc);
    ocl_leave(o);
    return n;
}

/* ---- binary ---------------------------------------------------------------------------------- */

int ocl_precedence(OclTok op)
{
    switch (op) {
    case P_STAR:
    case P_SLASH:
    case P_PERCENT: return 10;
    case P_PLUS:
    case P_MINUS: return 9;
    case P_SHL:
    case P_SHR: return 8;
    case P_LT:
    case P_GT:
    case P_LE:
    case P_GE: return 7;
    case P_EQ:
    case P_NE: return 6;
    case P_BITAND: return 5;
    case P_XOR: return 4;
    case P_BITOR: return 3;
    case P_AND: return 2;
    case P_OR: return 1;
    default: return 0;
    }
}

static OclNode *parse_binary(Ocl *o, OclNode *a, int least)
{
    for (;;) {
        OclTok op = (OclTok)o->tok.kind;
        OclLoc loc = o->tok.loc;
        int p = ocl_precedence(op);
        if (!p || p < least)
            return a;
        ocl_advance(o);
        OclNode *b = ocl_parse_unary(o);
        if (ocl_precedence((OclTok)o->tok.kind) > p)
            b = parse_binary(o, b, p + 1);
        a = ocl_binary(o, op, loc, a, b);
    }
}

OclNode *ocl_parse_conditional(Ocl *o)
{
    OclNode *c = parse_binary(o, ocl_parse_unary(o), 1);
    if (o->tok.kind != P_QUESTION)
        return c;
    OclLoc loc = o->tok.loc;
    ocl_advance(o);
    OclNode *a = ocl_parse_expression(o);
    if (!ocl_expect(o, P_COLON, "between the values of '?:'"))
        return ocl_bad(o, loc);
    OclNode *b = ocl_enter(o, loc) ? ocl_parse_conditional(o) : ocl_bad(o, loc);
    ocl_leave(o);
    return ocl_conditional(o, loc, c, a, b);
}

OclNode *ocl_parse_assignment(Ocl *o)
{
    OclNode *a = ocl_parse_conditional(o);
    OclTok op = (OclTok)o->tok.kind;
    OclLoc loc = o->tok.loc;
    if (op != P_ASSIGN && !(op >= P_MUL_ASSIGN && op <= P_OR_ASSIGN) && op != P_SHL_ASSIGN &&
        op != P_SHR_ASSIGN)
        return a;
    ocl_advance(o);
    OclNode *b = ocl_enter(o, loc) ? ocl_parse_assignment(o) : ocl_bad(o, loc);
    ocl_leave(o);
    return ocl_assign(o, op, loc, a, b);
}

OclNode *ocl_parse_expression(Ocl *o)
{
    OclNode *a = ocl_parse_assignment(o);
    while (o->tok.kind == P_COMMA) {
        OclLoc loc = o->tok.loc;
        ocl_advance(o);
        OclNode *b = ocl_parse_assignment(o);
        if (ocl_pending(a))
            a = ocl_settle(o, a, NULL);
        if (a->bad || b->bad || ocl_pending(b)) {
            a = ocl_pending(b) ? ocl_settle(o, b, NULL) : ocl_bad(o, loc);
            continue;
        }
        b = is_void(b->type) ? b : ocl_rvalue(o, b);
        a = ocl_node(o, N_COMMA, loc, b->type->plain, a, b);
    }
    return a;
}

bool ocl_parse_constant(Ocl *o, const char *what, uint64_t *value, OclType **type)
{
    OclNode *n = ocl_rvalue(o, ocl_parse_conditional(o));
    OclValue v;
    *value = 0;
    if (type)
        *type = n->type;
    if (n->bad)
        return false;
    if (!n->type || !is_integer(n->type) || !ocl_fold(o, n, &v)) {
        ocl_error(o, n->loc, "%s must be an integer constant", what);
        return false;
    }
    *value = v.lane[0].u;
    return true;
}
