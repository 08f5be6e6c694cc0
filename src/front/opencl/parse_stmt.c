/* SPDX-License-Identifier: MIT
 *
 * Statements (C99, 6.8) and the rules about where they may occur: break in a loop, case in a
 * switch, labels for goto.
 */
#include "front/opencl/internal.h"

static OclNode *statement(Ocl *o);

static OclNode *node(Ocl *o, OclNodeKind kind, OclLoc loc)
{
    return ocl_node(o, kind, loc, NULL, NULL, NULL);
}

static OclNode *nested(Ocl *o)
{
    ocl_push_scope(o);
    OclNode *n = statement(o);
    ocl_pop_scope(o);
    return n;
}

/* An expression whose value is not used. */
static OclNode *full(Ocl *o)
{
    OclNode *n = ocl_parse_expression(o);
    return ocl_pending(n) ? ocl_settle(o, n, NULL) : n;
}

static OclNode *in_parentheses(Ocl *o, const char *where)
{
    ocl_expect(o, P_LPAREN, where);
    OclNode *n = ocl_parse_expression(o);
    ocl_expect(o, P_RPAREN, "after the expression");
    return n;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The '{' is the current token. */
static OclNode *block(Ocl *o)
{
    OclNode *b = node(o, N_BLOCK, o->tok.loc);
    VEC(OclNode *) list = { 0 };
    bool exact = o->exact;
    ocl_advance(o);
    while (o->tok.kind != P_RBRACE && o->tok.kind != T_EOF) {
        ocl_parse_attributes(o, &o->leading);
        bool type = ocl_starts_type(o, &o->tok) &&
                    !(o->tok.kind == T_IDENT && ocl_peek(o)->kind == P_COLON);
        if (!type) {
            o->unroll = o->leading.unroll;
            o->leading = (OclAttributes){ 0 };
        }
        OclNode *n = type ? ocl_parse_declaration(o) : statement(o);
        for (OclNode *next; n; n = next) {
            next = n->kind == N_DECLARATION ? n->d : NULL;
            vec_push(o->arena, &list, n);
            ocl_depth(o, b, n);
        }
    }
    o->exact = exact;
    ocl_expect(o, P_RBRACE, "at the end of a block");
    b->list = list.data;
    b->n = list.len;
    return b;
}

/* GNU C's: the value is that of the last statement, where that is an expression. */
OclNode *ocl_parse_statements(Ocl *o)
{
    OclNode *n = ocl_node(o, N_STATEMENTS, o->tok.loc, o->basic[TY_VOID], NULL, NULL);
    if (!o->function) {
        ocl_error(o, n->loc, "statements in an expression belong in a function");
        ocl_advance(o);
        ocl_skip_to(o, P_LBRACE, P_RBRACE);
        ocl_accept(o, P_RBRACE);
        return ocl_bad(o, n->loc);
    }
    ocl_push_scope(o);
    OclNode *b = block(o);
    ocl_pop_scope(o);
    ocl_depth(o, n, b);
    n->list = b->list;
    n->n = b->n;
    OclNode *last = n->n ? n->list[n->n - 1] : NULL;
    if (!last || last->kind != N_EXPRESSION || !last->a->type || is_void(last->a->type))
        return n;
    n->n--;
    n->a = ocl_rvalue(o, last->a);
    n->type = n->a->type->plain;
    n->bad = n->a->bad;
    return n;
}

/* ---- selection ------------------------------------------------------------------------------- */

static OclNode *if_statement(Ocl *o)
{
    OclNode *n = node(o, N_IF, o->tok.loc);
    ocl_advance(o);
    n->a = ocl_condition(o, in_parentheses(o, "after 'if'"));
    n->b = nested(o);
    if (ocl_accept(o, K_ELSE))
        n->c = nested(o);
    ocl_depth(o, n, n->a);
    ocl_depth(o, n, n->b);
    ocl_depth(o, n, n->c);
    return n;
}

static OclNode *switch_statement(Ocl *o)
{
    OclNode *n = node(o, N_SWITCH, o->tok.loc), *outer = o->switch_node;
    ocl_advance(o);
    OclNode *e = ocl_rvalue(o, in_parentheses(o, "after 'switch'"));
    if (!e->bad && (!e->type || !is_integer(e->type))) {
        ocl_error(o, e->loc, "switch needs an integer, not '%s'", ocl_type_name(o, e->type));
        e = ocl_bad(o, e->loc);
    }
    n->a = ocl_to_number(o, e, ocl_promoted(o, e));
    o->switch_node = n;
    o->switches++;
    n->b = nested(o);
    o->switches--;
    o->switch_node = outer;
    ocl_depth(o, n, n->a);
    ocl_depth(o, n, n->b);
    return n;
}

/* From a case's first value to its last, as the switch counts. */
static uint64_t span(const OclNode *n) { return n->b ? n->b->u - n->u : 0; }

/* Single values are in a map; overlapping ranges are found by looking at all cases. s->u counts
 * ranges. */
static bool is_taken(const OclNode *s, const OclNode *n)
{
    bool taken = map_get(s->cases, n->u, NULL);
    for (const OclNode *c = s->u || n->b ? s->d : NULL; c && !taken; c = c->d)
        taken = c->kind == N_CASE && (n->u - c->u <= span(c) || c->u - n->u <= span(n));
    return taken;
}

/* case 1 ... 5: GNU C's. */
static void end_of_range(Ocl *o, OclNode *n, const OclNode *s)
{
    uint64_t v;
    OclLoc loc = o->tok.loc;
    if (!ocl_parse_constant(o, "a case", &v, NULL) || !s)
        return;
    n->b = ocl_int(o, loc, s->a->type, v);
    if (is_signed(s->a->type) ? (int64_t)n->b->u < (int64_t)n->u : n->b->u < n->u) {
        ocl_error(o, loc, "a range of cases ends before it begins");
        n->b = NULL;
    }
}

static void add_case(Ocl *o, OclNode *s, OclNode *n)
{
    bool is_default = n->kind == N_DEFAULT;
    if (!s->cases)
        s->cases = NEW(o->arena, Map);
    if (is_default ? s->c != NULL : is_taken(s, n))
        ocl_error(o, n->loc,
                  is_default ? "two defaults in one switch" : "the switch has this case already");
    if (is_default)
        s->c = n;
    else if (n->b)
        s->u++;
    else
        map_put(o->arena, s->cases, n->u, 1);
    n->d = s->d;
    s->d = n;
}

/* The switch's cases are linked by d, the newest first. */
static OclNode *case_label(Ocl *o)
{
    bool is_default = o->tok.kind == K_DEFAULT;
    OclNode *n = node(o, is_default ? N_DEFAULT : N_CASE, o->tok.loc), *s = o->switch_node;
    uint64_t v = 0;
    ocl_advance(o);
    if (!is_default)
        ocl_parse_constant(o, "a case", &v, NULL);
    n->u = s ? ocl_wrap(s->a->type, v) : 0;
    if (!is_default && ocl_accept(o, P_ELLIPSIS))
        end_of_range(o, n, s);
    ocl_expect(o, P_COLON, is_default ? "after 'default'" : "after a case");
    if (s)
        add_case(o, s, n);
    else
        ocl_error(o, n->loc, "'%s' outside of a switch", is_default ? "default" : "case");
    if (o->tok.kind == P_RBRACE)
        n->a = node(o, N_EMPTY, o->tok.loc);
    else
        n->a = statement(o);
    ocl_depth(o, n, n->a);
    return n;
}

/* ---- iteration ------------------------------------------------------------------------------- */

static OclNode *parse_loop_body(Ocl *o)
{
    o->loops++;
    OclNode *n = nested(o);
    o->loops--;
    return n;
}

static OclNode *while_statement(Ocl *o)
{
    OclNode *n = node(o, N_WHILE, o->tok.loc);
    ocl_advance(o);
    n->a = ocl_condition(o, in_parentheses(o, "after 'while'"));
    n->b = parse_loop_body(o);
    ocl_depth(o, n, n->a);
    ocl_depth(o, n, n->b);
    return n;
}

static OclNode *do_statement(Ocl *o)
{
    OclNode *n = node(o, N_DO, o->tok.loc);
    ocl_advance(o);
    n->b = parse_loop_body(o);
    ocl_expect(o, K_WHILE, "after the body of 'do'");
    n->a = ocl_condition(o, in_parentheses(o, "after 'while'"));
    ocl_expect(o, P_SEMICOLON, "after 'do'");
    ocl_depth(o, n, n->a);
    ocl_depth(o, n, n->b);
    return n;
}

/* a: what it starts with (a block of declarations, or an expression), b: body, c: condition,
 * d: step. */
static OclNode *for_statement(Ocl *o)
{
    OclNode *n = node(o, N_FOR, o->tok.loc);
    ocl_advance(o);
    ocl_expect(o, P_LPAREN, "after 'for'");
    ocl_push_scope(o);
    if (ocl_starts_type(o, &o->tok)) {
        OclNode *b = node(o, N_BLOCK, o->tok.loc);
        VEC(OclNode *) list = { 0 };
        for (OclNode *d = ocl_parse_declaration(o); d; d = d->d)
            vec_push(o->arena, &list, d);
        b->list = list.data;
        b->n = list.len;
        n->a = b;
    } else {
        if (o->tok.kind != P_SEMICOLON)
            n->a = full(o);
        ocl_expect(o, P_SEMICOLON, "after the start of 'for'");
    }
    if (o->tok.kind != P_SEMICOLON)
        n->c = ocl_condition(o, ocl_parse_expression(o));
    ocl_expect(o, P_SEMICOLON, "after the condition of 'for'");
    if (o->tok.kind != P_RPAREN)
        n->d = full(o);
    ocl_expect(o, P_RPAREN, "after 'for'");
    n->b = parse_loop_body(o);
    ocl_pop_scope(o);
    ocl_depth(o, n, n->a);
    ocl_depth(o, n, n->b);
    ocl_depth(o, n, n->c);
    ocl_depth(o, n, n->d);
    return n;
}

/* ---- jumps ----------------------------------------------------------------------------------- */

static OclNode *return_statement(Ocl *o)
{
    OclNode *n = node(o, N_RETURN, o->tok.loc);
    OclType *t = o->function->type->base;
    ocl_advance(o);
    if (o->tok.kind != P_SEMICOLON) {
        OclNode *e = ocl_parse_expression(o);
        if (is_void(t)) {
            if (!e->bad && !(e->type && is_void(e->type)))
                ocl_error(o, e->loc, "'%s' yields nothing", o->function->ident->name);
            n->a = ocl_pending(e) ? NULL : e;
        } else {
            n->a = ocl_convert(o, e, t, "return");
        }
        ocl_depth(o, n, n->a);
    } else if (!is_void(t)) {
        ocl_error(o, n->loc, "'%s' must yield '%s'", o->function->ident->name, ocl_type_name(o, t));
    }
    ocl_expect(o, P_SEMICOLON, "after 'return'");
    return n;
}

static OclNode *jump(Ocl *o, OclNodeKind kind, bool inside, const char *what)
{
    OclNode *n = node(o, kind, o->tok.loc);
    ocl_advance(o);
    if (!inside)
        ocl_error(o, n->loc, "%s", what);
    ocl_expect(o, P_SEMICOLON, "after a jump");
    return inside ? n : node(o, N_EMPTY, n->loc);
}

static OclNode *goto_statement(Ocl *o)
{
    OclNode *n = node(o, N_GOTO, o->tok.loc);
    ocl_advance(o);
    if (o->tok.kind != T_IDENT) {
        ocl_error(o, o->tok.loc, "expected a label after 'goto'");
        return n;
    }
    n->ident = o->tok.ident;
    vec_push(o->arena, &o->gotos, n);
    ocl_advance(o);
    ocl_expect(o, P_SEMICOLON, "after a jump");
    return n;
}

static OclNode *label(Ocl *o)
{
    OclNode *n = node(o, N_LABEL, o->tok.loc);
    OclIdent *name = o->tok.ident;
    n->ident = name;
    ocl_advance(o);
    ocl_advance(o);
    if (name->label && name->label->owner == o->function) {
        ocl_error(o, n->loc, "two labels named '%s'", name->name);
    } else {
        OclSymbol *s = NEW(o->arena, OclSymbol);
        *s = (OclSymbol){ .kind = S_LABEL, .ident = name, .loc = n->loc, .owner = o->function };
        s->body = n;
        name->label = s;
    }
    n->a = o->tok.kind == P_RBRACE ? node(o, N_EMPTY, o->tok.loc) : statement(o);
    ocl_depth(o, n, n->a);
    return n;
}

/* ---- statements ------------------------------------------------------------------------------ */

static OclNode *expression_statement(Ocl *o)
{
    OclNode *n = node(o, N_EXPRESSION, o->tok.loc);
    n->a = full(o);
    ocl_depth(o, n, n->a);
    if (!ocl_expect(o, P_SEMICOLON, "after the expression")) {
        while (o->tok.kind != P_SEMICOLON && o->tok.kind != P_RBRACE && o->tok.kind != P_LBRACE &&
               o->tok.kind != T_EOF)
            ocl_advance(o);
        ocl_accept(o, P_SEMICOLON);
    }
    return n;
}

static OclNode *loop(Ocl *o)
{
    uint32_t unroll = o->tok.flags & TF_UNROLL ? o->pragma_unroll : o->unroll;
    o->unroll = 0;
    OclNode *n = o->tok.kind == K_WHILE ? while_statement(o)
                 : o->tok.kind == K_DO  ? do_statement(o)
                                        : for_statement(o);
    n->u = unroll;
    return n;
}

static OclNode *any_statement(Ocl *o)
{
    OclLoc loc = o->tok.loc;
    if (o->tok.kind != K_WHILE && o->tok.kind != K_DO && o->tok.kind != K_FOR)
        o->unroll = 0;
    switch ((OclTok)o->tok.kind) {
    case P_LBRACE: {
        ocl_push_scope(o);
        OclNode *b = block(o);
        ocl_pop_scope(o);
        return b;
    }
    case P_SEMICOLON: ocl_advance(o); return node(o, N_EMPTY, loc);
    case K_IF: return if_statement(o);
    case K_SWITCH: return switch_statement(o);
    case K_CASE:
    case K_DEFAULT: return case_label(o);
    case K_WHILE:
    case K_DO:
    case K_FOR: return loop(o);
    case K_RETURN: return return_statement(o);
    case K_BREAK:
        return jump(o, N_BREAK, o->loops || o->switches, "'break' outside of a loop and a switch");
    case K_CONTINUE: return jump(o, N_CONTINUE, o->loops, "'continue' outside of a loop");
    case K_GOTO: return goto_statement(o);
    case K_ATTRIBUTE: { /* of the loop that follows: how to unroll it */
        OclAttributes a = { 0 };
        ocl_parse_attributes(o, &a);
        o->unroll = a.unroll;
        return statement(o);
    }
    case T_IDENT:
        if (ocl_peek(o)->kind == P_COLON)
            return label(o);
        break;
    default:
        if (ocl_starts_type(o, &o->tok)) {
            ocl_error(o, loc, "a declaration needs a block around it here");
            ocl_parse_declaration(o);
            return node(o, N_EMPTY, loc);
        }
    }
    return expression_statement(o);
}

static OclNode *statement(Ocl *o)
{
    OclNode *n = ocl_enter(o, o->tok.loc) ? any_statement(o) : node(o, N_EMPTY, o->tok.loc);
    ocl_leave(o);
    return n;
}

OclNode *ocl_parse_body(Ocl *o, OclSymbol *function)
{
    o->gotos.len = 0;
    o->loops = o->switches = 0;
    o->switch_node = NULL;
    OclNode *b = block(o);
    for (uint32_t i = 0; i < o->gotos.len; i++) {
        OclNode *g = o->gotos.data[i];
        OclSymbol *s = g->ident->label;
        if (s && s->owner == function)
            g->b = s->body;
        else
            ocl_error(o, g->loc, "there is no label '%s'", g->ident->name);
    }
    return b;
}
