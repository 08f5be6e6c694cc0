/* SPDX-License-Identifier: MIT
 *
 * Calls of the program's own functions, and of printf.
 */
#include "front/opencl/internal.h"

static const char *plural(uint32_t n) { return n == 1 ? "" : "s"; }

/* The built-in function that a name is probably a misspelling of, with one letter changed. */
static const char *near_name(const char *name)
{
    uint32_t n;
    const OclBuiltin *table = ocl_builtin_table(&n);
    size_t len = strlen(name);
    for (uint32_t i = 0; i < n && len > 3; i++) {
        const char *other = table[i].name;
        size_t other_len = strlen(other), head = 0, tail = 0;
        if (other_len + 1 < len || other_len > len + 1)
            continue;
        while (head < MIN(len, other_len) && name[head] == other[head])
            head++;
        while (tail < MIN(len, other_len) - head &&
               name[len - 1 - tail] == other[other_len - 1 - tail])
            tail++;
        if (head + tail + 1 >= MAX(len, other_len))
            return other;
    }
    return NULL;
}

static OclNode *unknown(Ocl *o, OclLoc loc, const OclIdent *name)
{
    const char *what = ocl_unsupported(name), *near = near_name(name->name);
    if (what)
        ocl_error(o, loc, "'%s': %s are not supported", name->name, what);
    else if (near)
        ocl_error(o, loc, "function '%s' is not declared; is '%s' meant?", name->name, near);
    else
        ocl_error(o, loc, "function '%s' is not declared", name->name);
    return ocl_bad(o, loc);
}

/* Applies the default argument promotions (C99, 6.5.2.2; OpenCL C 3.0, 6.15.14). */
static OclNode *promoted(Ocl *o, OclNode *n)
{
    OclType *t = n->type->plain;
    if (is_float(t))
        return ocl_to_number(o, n, o->basic[TY_DOUBLE]);
    if (is_vector(t) && t->base->kind == TY_HALF)
        return ocl_cast_lanes(o, CAST_NUMBER, n->loc,
                              ocl_vector(o, o->basic[TY_FLOAT], (uint32_t)t->n), n);
    return is_integer(t) ? ocl_to_number(o, n, ocl_promoted(o, n)) : n;
}

/* The format's text, which must be known here (OpenCL C 3.0, 6.15.14): a literal, or an array in
 * constant memory that is initialised by one. NULL: it is neither. */
static const OclNode *printf_format(const OclNode *n)
{
    if (n->kind != N_CAST || n->op != CAST_DECAY)
        return NULL;
    n = n->a;
    if (n->kind == N_SYMBOL && n->symbol->kind == S_VARIABLE && n->type->space == AS_CONSTANT)
        n = n->symbol->init;
    return n && n->kind == N_STRING ? n : NULL;
}

/* What %s prints is in constant memory, as literals are (6.15.14.4). */
static bool check_strings(Ocl *o, const OclNode *format, OclNode *const *args, uint32_t n)
{
    uint32_t at = 1;
    for (const char *p = format->string.text; *p && at < n; p++) {
        if (*p != '%' || *++p == '%')
            continue;
        p += strspn(p, "-+ #0123456789.vhl");
        const OclType *t = args[at++]->type;
        if (!*p)
            break;
        bool null = args[at - 1]->kind == N_CAST && args[at - 1]->op == CAST_NULL;
        if (*p != 's' || null || (is_pointer(t) && t->base->space == AS_CONSTANT))
            continue;
        ocl_error(o, args[at - 1]->loc,
                  "%%s prints a string literal or another in __constant "
                  "memory, not '%s'",
                  ocl_type_name(o, t));
        return false;
    }
    return true;
}

static OclNode *check_printf(Ocl *o, OclLoc loc, OclNode **args, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        args[i] = ocl_pending(args[i]) ? ocl_settle(o, args[i], NULL) : ocl_rvalue(o, args[i]);
        if (args[i]->bad)
            return ocl_bad(o, loc);
        if (!is_arithmetic(args[i]->type) && !is_pointer(args[i]->type)) {
            ocl_error(o, args[i]->loc, "printf does not print '%s'",
                      ocl_type_name(o, args[i]->type));
            return ocl_bad(o, loc);
        }
    }
    const OclNode *format = n ? printf_format(args[0]) : NULL;
    if (!format)
        ocl_error(o, n ? args[0]->loc : loc,
                  "printf needs a format: a string literal, or a "
                  "__constant array that one initialises");
    if (!format || !check_strings(o, format, args, n))
        return ocl_bad(o, loc);
    OclNode *c = ocl_node(o, N_CALL, loc, o->basic[TY_INT], NULL, NULL);
    for (uint32_t i = 0; i < n; i++) {
        args[i] = i ? promoted(o, args[i]) : args[0];
        ocl_depth(o, c, args[i]);
    }
    c->list = args;
    c->n = n;
    c->name = "printf";
    return c;
}

/* How well an argument matches a parameter: 2 exactly, 1 by a conversion, 0 not at all. */
static uint32_t suits(const OclNode *arg, const OclType *want)
{
    const OclType *t = arg->type->plain, *w = want->plain;
    if (t == w)
        return 2;
    if (is_pointer(t) && is_pointer(w)) {
        bool there = w->base->space == t->base->space ||
                     (w->base->space == AS_GENERIC && t->base->space != AS_CONSTANT);
        return there && t->base->plain == w->base->plain;
    }
    return is_scalar(t) && is_arithmetic(w);
}

/* The overloaded function that matches the arguments best; NULL: none does, or *two match equally
 * well. */
static OclSymbol *choose_overload(Ocl *o, OclSymbol *f, OclNode **args, uint32_t n, bool *two)
{
    OclSymbol *best = NULL;
    uint32_t most = 0;
    *two = false;
    for (uint32_t i = 0; i < n; i++)
        args[i] = ocl_pending(args[i]) ? ocl_settle(o, args[i], NULL) : ocl_rvalue(o, args[i]);
    for (; f; f = ocl_overload(f)) {
        uint32_t score = 1;
        bool fits = f->type->n_params == n;
        for (uint32_t i = 0; fits && i < n; i++) {
            uint32_t how = suits(args[i], f->type->params[i]);
            fits = how != 0;
            score += how;
        }
        if (!fits || score < most)
            continue;
        *two = score == most;
        best = f;
        most = score;
    }
    return *two ? NULL : best;
}

OclNode *ocl_call(Ocl *o, OclLoc loc, OclNode *callee, OclIdent *name, OclNode **args, uint32_t n)
{
    if (!callee && name == o->words.printf_)
        return check_printf(o, loc, args, n);
    if (!callee)
        return unknown(o, loc, name);
    if (callee->bad)
        return callee;
    if (callee->kind != N_SYMBOL || callee->symbol->kind != S_FUNCTION) {
        ocl_error(o, loc, "'%s' is no function", ocl_type_name(o, callee->type));
        return ocl_bad(o, loc);
    }
    OclSymbol *f = callee->symbol;
    if (ocl_overload(f)) {
        bool two;
        f = choose_overload(o, f, args, n, &two);
        if (!f) {
            ocl_error(o, loc,
                      two ? "two functions '%s' suit these arguments equally well"
                          : "no function '%s' takes these arguments",
                      callee->symbol->ident->name);
            return ocl_bad(o, loc);
        }
        callee->symbol = f;
        callee->type = f->type;
    }
    OclType *t = f->type;
    if (n != t->n_params) {
        ocl_error(o, loc, "'%s' takes %u argument%s, not %u", f->ident->name, t->n_params,
                  plural(t->n_params), n);
        ocl_note(o, f->loc, "it is declared here");
        return ocl_bad(o, loc);
    }
    OclNode *c = ocl_node(o, N_CALL, loc, t->base, NULL, NULL);
    for (uint32_t i = 0; i < n; i++) {
        args[i] =
            ocl_convert(o, args[i], t->params[i], arena_printf(o->arena, "argument %u", i + 1));
        if (args[i]->bad)
            return ocl_bad(o, loc);
        ocl_depth(o, c, args[i]);
    }
    f->called = true;
    if (o->function)
        vec_push(o->arena, &o->calls, (OclCall){ o->function, f, loc });
    c->a = callee;
    c->list = args;
    c->n = n;
    return c;
}

/* ---- recursion (OpenCL C 3.0, 6.11: there is none) ------------------------------------------- */

static const OclCall *call_from(const Ocl *o, const OclSymbol *f)
{
    uint32_t i = 0;
    while (o->calls.data[i].from != f)
        i++;
    return &o->calls.data[i];
}

/* Calls of functions that call nothing are removed repeatedly. The calls that remain lead to a
 * cycle. */
void ocl_check_recursion(Ocl *o)
{
    uint32_t n = o->calls.len, left = n;
    for (uint32_t i = 0; i < n; i++)
        if (o->calls.data[i].to->same)
            o->calls.data[i].to = o->calls.data[i].to->same;
    do {
        n = left;
        left = 0;
        for (uint32_t i = 0; i < n; i++)
            o->calls.data[i].to->calls = false;
        for (uint32_t i = 0; i < n; i++)
            o->calls.data[i].from->calls = true;
        for (uint32_t i = 0; i < n; i++)
            if (o->calls.data[i].to->calls)
                o->calls.data[left++] = o->calls.data[i];
    } while (left && left < n);
    if (!left)
        return;
    const OclCall *c = &o->calls.data[0];
    for (uint32_t i = 0; i < n; i++)
        c = call_from(o, c->to);
    const char *name = c->from->ident->name;
    if (c->from == c->to)
        ocl_error(o, c->loc, "'%s' calls itself: recursion is not supported", name);
    else
        ocl_error(o, c->loc, "'%s' calls itself through '%s': recursion is not supported", name,
                  c->to->ident->name);
}
