/* SPDX-License-Identifier: MIT
 *
 * Macros: their definition, what they stand for, and the expressions of #if (C99, 6.10.1 and
 * 6.10.3).
 *
 * While the tokens that a macro stands for are read, the macro is disabled; a use of it that is met
 * then is frozen and never expanded. Tokens of a macro's body have the position where the macro was
 * used, those of its arguments the position where they were written. The number of expansions is
 * bounded, since a few macros can produce any number of tokens.
 */
#include "front/opencl/internal.h"

#include <stdlib.h>

enum { MAX_EXPANSIONS = 1 << 20, MAX_TOKENS = 1 << 21 };
enum { SPECIAL_FILE = 1, SPECIAL_LINE, SPECIAL_DATE, SPECIAL_TIME, SPECIAL_COUNTER };

typedef struct Argument {
    OclToken *tokens, *expanded;
    uint32_t n, n_expanded;
    bool is_expanded;
} Argument;

typedef VEC(OclToken) Tokens;

/* ---- #define --------------------------------------------------------------------------------- */

static bool read_params(Ocl *o, OclMacro *m, const OclToken *line, uint32_t n, uint32_t *i)
{
    VEC(OclIdent *) params = { 0 };
    for (++*i; *i < n; ++*i) {
        if (line[*i].kind == P_RPAREN && !params.len)
            break;
        if (line[*i].kind == P_ELLIPSIS) {
            m->variadic = true;
            vec_push(o->arena, &params, o->words.va_args);
        } else if (line[*i].kind == T_IDENT) {
            for (uint32_t k = 0; k < params.len; k++) {
                if (params.data[k] == line[*i].ident) {
                    ocl_error(o, line[*i].loc, "two parameters named '%s'", line[*i].ident->name);
                    return false;
                }
            }
            vec_push(o->arena, &params, line[*i].ident);
        } else {
            break;
        }
        if (++*i >= n || line[*i].kind != P_COMMA || m->variadic)
            break;
    }
    m->params = params.data;
    m->n_params = params.len;
    if (*i < n && line[*i].kind == P_RPAREN) {
        ++*i;
        return true;
    }
    ocl_error(o, *i < n ? line[*i].loc : m->loc, "expected ',' or ')' in a macro's parameters");
    return false;
}

static int param_of(const OclMacro *m, const OclToken *t)
{
    for (uint32_t i = 0; t->kind == T_IDENT && i < m->n_params; i++) {
        if (m->params[i] == t->ident)
            return (int)i;
    }
    return -1;
}

static bool same_body(const OclMacro *a, const OclMacro *b)
{
    bool same = a->n_body == b->n_body && a->function == b->function && a->n_params == b->n_params;
    for (uint32_t i = 0; same && i < a->n_body; i++)
        same = a->body[i].len == b->body[i].len &&
               !memcmp(a->body[i].text, b->body[i].text, a->body[i].len);
    return same;
}

void ocl_define_directive(Ocl *o, OclToken *line, uint32_t n, OclLoc loc)
{
    if (!n || line[0].kind != T_IDENT || line[0].ident == o->words.defined) {
        ocl_error(o, n ? line[0].loc : loc, "#define needs a name");
        return;
    }
    OclMacro *m = NEW(o->arena, OclMacro);
    m->name = line[0].ident;
    m->loc = line[0].loc;
    uint32_t i = 1;
    if (n > 1 && line[1].kind == P_LPAREN && !(line[1].flags & TF_SPACE)) {
        m->function = true;
        if (!read_params(o, m, line, n, &i))
            return;
    }
    m->body = line + i;
    m->n_body = n - i;
    for (uint32_t k = 0; k < m->n_body; k++) {
        const OclToken *t = &m->body[k];
        if (t->kind == P_PASTE && (k == 0 || k + 1 == m->n_body)) {
            ocl_error(o, t->loc, "'##' at the %s of a macro", k ? "end" : "beginning");
            return;
        }
        if (t->kind == P_HASH && m->function && (k + 1 == m->n_body || param_of(m, t + 1) < 0)) {
            ocl_error(o, t->loc, "'#' needs a parameter of the macro after it");
            return;
        }
    }
    if (m->name->macro && !same_body(m->name->macro, m)) {
        ocl_warning(o, m->loc, "macro '%s' is defined anew", m->name->name);
        if (m->name->macro->loc)
            ocl_note(o, m->name->macro->loc, "it was defined here");
    }
    m->name->macro = m;
}

/* ---- # and ## -------------------------------------------------------------------------------- */

static OclToken text_token(Ocl *o, OclTok kind, const char *text, OclLoc loc, uint8_t flags)
{
    OclToken t = { .kind = (uint8_t)kind,
                   .flags = flags,
                   .text = text,
                   .len = (uint32_t)strlen(text),
                   .loc = loc };
    (void)o;
    return t;
}

static OclToken stringised(Ocl *o, const Argument *a, OclLoc loc, uint8_t flags)
{
    Str s = { 0 };
    str_add(o->arena, &s, "\"");
    for (uint32_t i = 0; i < a->n; i++) {
        const OclToken *t = &a->tokens[i];
        if (i && t->flags & (TF_SPACE | TF_LINE))
            str_add(o->arena, &s, " ");
        for (uint32_t k = 0; k < t->len; k++) {
            char c = t->text[k];
            if ((t->kind == T_STRING || t->kind == T_CHAR) && (c == '"' || c == '\\'))
                str_add(o->arena, &s, "\\");
            str_addn(o->arena, &s, &c, 1);
        }
    }
    str_add(o->arena, &s, "\"");
    return text_token(o, T_STRING, s.data, loc, flags);
}

static void paste(Ocl *o, Tokens *out, const OclToken *right, OclLoc loc)
{
    OclToken *left = &vec_last(out), t;
    char *text = arena_printf(o->arena, "%.*s%.*s", (int)left->len, left->text, (int)right->len,
                              right->text);
    OclFile f = { .text = text, .size = (uint32_t)strlen(text), .start = loc };
    OclLexer l = { .file = &f, .at = text };
    uint32_t errors = o->n_errors;
    if (text[0] == '/' && (text[1] == '/' || text[1] == '*')) {
        ocl_error(o, loc, "'##' makes a comment of '%s'", text);
        return;
    }
    ocl_lex(o, &l, &t);
    if (o->n_errors == errors && l.at == text + f.size) {
        t.flags = left->flags & (TF_LINE | TF_SPACE);
        t.loc = loc;
        *left = t;
        return;
    }
    if (o->n_errors == errors)
        ocl_error(o, loc, "'##' makes '%s', which is no token", text);
}

/* ---- expansion ------------------------------------------------------------------------------- */

/* The arguments up to the ')' that closes them. False when the input ends first. */
static bool read_arguments(Ocl *o, const OclMacro *m, OclLoc loc, Argument **out, uint32_t *n_out)
{
    VEC(Argument) args = { 0 };
    Tokens current = { 0 };
    uint32_t depth = 0;
    OclToken t;
    for (;;) {
        ocl_raw_token(o, &t);
        if (t.kind == T_EOF) {
            ocl_error(o, loc, "the arguments of macro '%s' have no ')'", m->name->name);
            return false;
        }
        bool rest = m->variadic && args.len + 1 >= m->n_params;
        if ((t.kind == P_RPAREN && !depth) || (t.kind == P_COMMA && !depth && !rest)) {
            vec_push(o->arena, &args, (Argument){ .tokens = current.data, .n = current.len });
            current = (Tokens){ 0 };
            if (t.kind == P_RPAREN)
                break;
            continue;
        }
        depth += (t.kind == P_LPAREN) - (t.kind == P_RPAREN);
        if (t.kind == T_IDENT && t.ident->macro && t.ident->macro->disabled)
            t.flags |= TF_FROZEN;
        vec_push(o->arena, &current, t);
    }
    if (!m->n_params && args.len == 1 && !args.data[0].n)
        args.len = 0;
    if (m->variadic && args.len + 1 == m->n_params)
        vec_push(o->arena, &args, (Argument){ 0 });
    *out = args.data;
    *n_out = args.len;
    if (args.len == m->n_params)
        return true;
    ocl_error(o, loc, "macro '%s' takes %u argument%s, not %u", m->name->name, m->n_params,
              m->n_params == 1 ? "" : "s", args.len);
    return false;
}

static void append_tokens(Ocl *o, Tokens *out, const OclToken *list, uint32_t n, uint8_t flags)
{
    for (uint32_t i = 0; i < n; i++) {
        vec_push(o->arena, out, list[i]);
        if (!i)
            vec_last(out).flags = (uint8_t)((vec_last(out).flags & ~(TF_LINE | TF_SPACE)) | flags);
    }
}

/* The body with these arguments substituted. */
static void substitute(Ocl *o, const OclMacro *m, Argument *args, OclLoc loc, Tokens *out)
{
    bool placemarker = false; /* the last argument beside a ## was empty */
    for (uint32_t i = 0; i < m->n_body; i++) {
        OclToken t = m->body[i];
        t.loc = loc;
        uint8_t space = t.flags & TF_SPACE;
        if (t.kind == P_HASH && m->function) {
            int p = param_of(m, &m->body[++i]);
            vec_push(o->arena, out, stringised(o, &args[p], loc, space));
            continue;
        }
        bool pastes = t.kind == P_PASTE && i + 1 < m->n_body;
        const OclToken *subject = pastes ? &m->body[++i] : &m->body[i];
        int p = param_of(m, subject);
        bool before_paste = i + 1 < m->n_body && m->body[i + 1].kind == P_PASTE;
        if (p < 0) {
            t = *subject;
            t.loc = loc;
            if (pastes && out->len && !placemarker)
                paste(o, out, &t, loc);
            else
                vec_push(o->arena, out, t);
            placemarker = false;
            continue;
        }
        Argument *a = &args[p];
        if (pastes && m->variadic && (uint32_t)p + 1 == m->n_params && out->len &&
            vec_last(out).kind == P_COMMA) { /* GNU: no comma before nothing */
            if (a->n)
                append_tokens(o, out, a->tokens, a->n, space);
            else
                out->len--;
        } else if (pastes && out->len && !placemarker) {
            if (a->n) {
                paste(o, out, &a->tokens[0], loc);
                append_tokens(o, out, a->tokens + 1, a->n - 1,
                              a->n > 1 ? a->tokens[1].flags & TF_SPACE : 0);
            }
        } else if (pastes || before_paste) {
            append_tokens(o, out, a->tokens, a->n, space);
            placemarker = !a->n;
            continue;
        } else {
            if (!a->is_expanded)
                ocl_expand_list(o, a->tokens, a->n, &a->expanded, &a->n_expanded);
            a->is_expanded = true;
            append_tokens(o, out, a->expanded, a->n_expanded, space);
        }
        placemarker = false;
    }
}

static void expand_special(Ocl *o, const OclMacro *m, OclToken *t)
{
    DiagLoc at = ocl_position(o, t->loc);
    char *text = "\"\"";
    switch (m->special) {
    case SPECIAL_FILE: text = arena_printf(o->arena, "\"%s\"", at.file); break;
    case SPECIAL_LINE: text = arena_printf(o->arena, "%u", at.line); break;
    case SPECIAL_DATE: text = "\"??? ?? ????\""; break; /* the same source, the same result */
    case SPECIAL_TIME: text = "\"\?\?:\?\?:\?\?\""; break;
    default: text = arena_printf(o->arena, "%u", o->counter++); break;
    }
    OclToken *list = NEW(o->arena, OclToken);
    *list = text_token(o, text[0] == '"' ? T_STRING : T_NUMBER, text, t->loc,
                       t->flags & (TF_LINE | TF_SPACE));
    ocl_push_tokens(o, list, 1, NULL, 0);
}

bool ocl_expand_macro(Ocl *o, OclToken *t)
{
    OclMacro *m = t->kind == T_IDENT ? t->ident->macro : NULL;
    if (!m || t->flags & TF_FROZEN)
        return false;
    if (m->disabled) {
        t->flags |= TF_FROZEN;
        return false;
    }
    if (m->special) {
        expand_special(o, m, t);
        return true;
    }
    OclToken use = *t, next;
    Argument *args = NULL;
    uint32_t n_args = 0;
    if (m->function) {
        bool own = ocl_raw_token(o, &next);
        if (next.kind != P_LPAREN) {
            ocl_unread(o, &next, own);
            return false;
        }
    }
    bool deep = !ocl_enter(o, use.loc);
    if (!deep && ++o->n_expanded > MAX_EXPANSIONS) {
        ocl_error(o, use.loc, "macros stand for too much: more than %d uses", MAX_EXPANSIONS);
        ocl_stop(o);
        deep = true;
    }
    if (!deep && (!m->function || read_arguments(o, m, use.loc, &args, &n_args))) {
        Tokens out = { 0 };
        substitute(o, m, args, use.loc, &out);
        o->n_tokens += out.len;
        if (o->n_tokens > MAX_TOKENS && !o->stop) {
            ocl_error(o, use.loc, "macros stand for too much: more than %d tokens", MAX_TOKENS);
            ocl_stop(o);
        }
        if (out.len)
            out.data[0].flags =
                (out.data[0].flags & TF_FROZEN) | (use.flags & (TF_LINE | TF_SPACE));
        ocl_push_tokens(o, out.data, out.len, m, 0);
    }
    ocl_leave(o);
    return true;
}

/* ---- #if ------------------------------------------------------------------------------------- */

typedef struct Expression {
    Ocl *o;
    const OclToken *at, *end;
    OclLoc loc;
    bool failed;
} Expression;

typedef struct Number {
    uint64_t u;
    bool is_unsigned;
} Number;

static void wrong(Expression *e, const char *what)
{
    if (!e->failed)
        ocl_error(e->o, e->at < e->end ? e->at->loc : e->loc, "%s", what);
    e->failed = true;
}

static OclTok peek(const Expression *e) { return e->at < e->end ? e->at->kind : T_EOF; }

static Number conditional(Expression *e, bool live);

static Number primary(Expression *e, bool live)
{
    Number v = { 0 };
    if (e->at >= e->end) {
        wrong(e, "expected an expression in #if");
        return v;
    }
    const OclToken *t = e->at++;
    if (t->kind == T_NUMBER || t->kind == T_CHAR) {
        OclNode *n = t->kind == T_CHAR ? ocl_character(e->o, t) : ocl_number(e->o, t);
        if (n->kind != N_INT) {
            e->at--;
            wrong(e, "#if needs an integer");
            return v;
        }
        return (Number){ n->u, n->type->kind == TY_ULONG };
    }
    if (t->kind == T_IDENT) /* what is no macro is 0 */
        return v;
    if (t->kind == P_LPAREN) {
        v = conditional(e, live);
        if (peek(e) == P_RPAREN)
            e->at++;
        else
            wrong(e, "expected ')' in #if");
        return v;
    }
    e->at--;
    wrong(e, "expected an expression in #if");
    return v;
}

static Number evaluate_unary(Expression *e, bool live)
{
    OclTok op = peek(e);
    if (op != P_MINUS && op != P_PLUS && op != P_NOT && op != P_TILDE)
        return primary(e, live);
    e->at++;
    if (!ocl_enter(e->o, e->loc))
        e->failed = true;
    Number v = e->failed ? (Number){ 0 } : evaluate_unary(e, live);
    ocl_leave(e->o);
    switch (op) {
    case P_MINUS: v.u = 0 - v.u; break;
    case P_NOT: v = (Number){ !v.u, false }; break;
    case P_TILDE: v.u = ~v.u; break;
    default: break;
    }
    return v;
}

static Number divide_numbers(Expression *e, OclTok op, Number a, Number b, bool live)
{
    bool u = a.is_unsigned || b.is_unsigned;
    if (!b.u) {
        if (live)
            wrong(e, "division by zero in #if");
        return (Number){ 0, u };
    }
    if (u)
        return (Number){ op == P_SLASH ? a.u / b.u : a.u % b.u, true };
    if (b.u == UINT64_MAX)
        return (Number){ op == P_SLASH ? 0 - a.u : 0, false };
    int64_t x = (int64_t)a.u, y = (int64_t)b.u;
    return (Number){ (uint64_t)(op == P_SLASH ? x / y : x % y), false };
}

static Number apply_operator(Expression *e, OclTok op, Number a, Number b, bool live)
{
    bool u = a.is_unsigned || b.is_unsigned;
    bool less = u ? a.u < b.u : (int64_t)a.u < (int64_t)b.u;
    switch (op) {
    case P_STAR: return (Number){ a.u * b.u, u };
    case P_PLUS: return (Number){ a.u + b.u, u };
    case P_MINUS: return (Number){ a.u - b.u, u };
    case P_SHL: return (Number){ a.u << (b.u & 63), a.is_unsigned };
    case P_SHR:
        return (Number){ a.is_unsigned ? a.u >> (b.u & 63) : (uint64_t)((int64_t)a.u >> (b.u & 63)),
                         a.is_unsigned };
    case P_LT: return (Number){ less, false };
    case P_GE: return (Number){ !less, false };
    case P_GT: return (Number){ !less && a.u != b.u, false };
    case P_LE: return (Number){ less || a.u == b.u, false };
    case P_EQ: return (Number){ a.u == b.u, false };
    case P_NE: return (Number){ a.u != b.u, false };
    case P_BITAND: return (Number){ a.u & b.u, u };
    case P_XOR: return (Number){ a.u ^ b.u, u };
    case P_BITOR: return (Number){ a.u | b.u, u };
    case P_AND: return (Number){ a.u && b.u, false };
    case P_OR: return (Number){ a.u || b.u, false };
    default: return divide_numbers(e, op, a, b, live);
    }
}

static Number evaluate_binary(Expression *e, int least, bool live)
{
    Number a = evaluate_unary(e, live);
    for (;;) {
        OclTok op = peek(e);
        int p = ocl_precedence(op);
        if (!p || p < least || e->failed)
            return a;
        e->at++;
        bool needed = live && !(op == P_AND && !a.u) && !(op == P_OR && a.u);
        a = apply_operator(e, op, a, evaluate_binary(e, p + 1, needed), needed);
    }
}

static Number conditional(Expression *e, bool live)
{
    Number c = { 0 };
    if (!ocl_enter(e->o, e->loc))
        e->failed = true;
    else
        c = evaluate_binary(e, 1, live);
    if (!e->failed && peek(e) == P_QUESTION) {
        e->at++;
        Number a = conditional(e, live && c.u);
        if (peek(e) == P_COLON)
            e->at++;
        else
            wrong(e, "expected ':' in #if");
        Number b = e->failed ? a : conditional(e, live && !c.u);
        c = c.u ? a : b;
        c.is_unsigned = a.is_unsigned || b.is_unsigned;
    }
    ocl_leave(e->o);
    return c;
}

/* defined X and defined(X) become 1 and 0 before macros are expanded. */
static bool replace_defined(Ocl *o, const OclToken *line, uint32_t n, Tokens *out)
{
    for (uint32_t i = 0; i < n; i++) {
        OclToken t = line[i];
        if (t.kind == T_IDENT && t.ident == o->words.defined) {
            bool paren = i + 1 < n && line[i + 1].kind == P_LPAREN;
            uint32_t at = i + 1 + paren;
            if (at >= n || line[at].kind != T_IDENT ||
                (paren && (at + 1 >= n || line[at + 1].kind != P_RPAREN))) {
                ocl_error(o, t.loc, "'defined' needs a macro's name");
                return false;
            }
            t = text_token(o, T_NUMBER, line[at].ident->macro ? "1" : "0", t.loc, t.flags);
            i = at + paren;
        }
        vec_push(o->arena, out, t);
    }
    return true;
}

bool ocl_if_expression(Ocl *o, const OclToken *line, uint32_t n, OclLoc loc, bool *value)
{
    Tokens tokens = { 0 };
    OclToken *list;
    *value = false;
    if (!replace_defined(o, line, n, &tokens))
        return false;
    ocl_expand_list(o, tokens.data, tokens.len, &list, &n);
    Expression e = { .o = o, .at = list, .end = list + n, .loc = loc };
    if (!n) {
        ocl_error(o, loc, "#if without an expression");
        return false;
    }
    Number v = conditional(&e, true);
    if (!e.failed && e.at < e.end)
        wrong(&e, "something follows the expression of #if");
    *value = v.u != 0;
    return !e.failed;
}
