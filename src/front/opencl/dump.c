/* SPDX-License-Identifier: MIT
 *
 * The typed tree as text, one line per node: its kind, its details, its type in brackets, its
 * position. Whatever the program does not state itself (implicit conversions) is marked as
 * implicit.
 */
#include "front/opencl/internal.h"

typedef struct Dump {
    Ocl *o;
    Str text;
} Dump;

static const char *const kinds[] = {
    [N_INT] = "Integer",
    [N_FLOAT] = "Floating",
    [N_STRING] = "String",
    [N_SYMBOL] = "Name",
    [N_MEMBER] = "Member",
    [N_SWIZZLE] = "Components",
    [N_INDEX] = "Subscript",
    [N_DEREF] = "Dereference",
    [N_ADDRESS] = "AddressOf",
    [N_HELD] = "OldValue",
    [N_UNARY] = "Unary",
    [N_BINARY] = "Binary",
    [N_ASSIGN] = "Assign",
    [N_STEP] = "Step",
    [N_CONDITIONAL] = "Conditional",
    [N_COMMA] = "Comma",
    [N_CALL] = "Call",
    [N_BUILTIN] = "BuiltinCall",
    [N_CAST] = "Cast",
    [N_VECTOR] = "VectorLiteral",
    [N_COMPOUND] = "CompoundLiteral",
    [N_INIT] = "InitialiserList",
    [N_LOAD_MATRIX] = "CooperativeMatrixLoad",
    [N_STATEMENTS] = "StatementExpression",
    [N_STORE_MATRIX] = "CooperativeMatrixStore",
    [N_FILL_MATRIX] = "CooperativeMatrixFill",
    [N_MATRIX_LENGTH] = "CooperativeMatrixLength",
    [N_MULTIPLY_ADD] = "CooperativeMatrixMultiplyAdd",
    [N_BLOCK] = "Block",
    [N_EXPRESSION] = "Expression",
    [N_DECLARATION] = "Declaration",
    [N_IF] = "If",
    [N_WHILE] = "While",
    [N_DO] = "Do",
    [N_FOR] = "For",
    [N_SWITCH] = "Switch",
    [N_CASE] = "Case",
    [N_DEFAULT] = "Default",
    [N_BREAK] = "Break",
    [N_CONTINUE] = "Continue",
    [N_RETURN] = "Return",
    [N_GOTO] = "Goto",
    [N_LABEL] = "Label",
    [N_EMPTY] = "Empty",
};

static const char *const casts[] = {
    [CAST_NUMBER] = "number",
    [CAST_SATURATE] = "saturated",
    [CAST_SPLAT] = "splat",
    [CAST_BITS] = "bits",
    [CAST_SPACE] = "address space",
    [CAST_DECAY] = "array to pointer",
    [CAST_NULL] = "null",
    [CAST_FROM_POINTER] = "pointer to integer",
    [CAST_TO_POINTER] = "integer to pointer",
    [CAST_TO_BOOL] = "to bool",
    [CAST_VOID] = "to void",
};

static void indent(Dump *d, uint32_t level)
{
    for (uint32_t i = 0; i < MIN(level, 60); i++)
        str_add(d->o->arena, &d->text, "  ");
}

static void dump_text(Dump *d, const char *fmt, const char *text)
{
    str_printf(d->o->arena, &d->text, fmt, text);
}

/* A matrix type is a node of its own. */
static void matrix_type(Dump *d, const OclType *t, uint32_t level)
{
    static const char *const uses[] = { "CLK_COOPERATIVE_MATRIX_A", "CLK_COOPERATIVE_MATRIX_B",
                                        "CLK_COOPERATIVE_MATRIX_ACCUMULATOR" };
    while (t && is_array(t))
        t = t->base;
    if (!t || !is_matrix(t))
        return;
    indent(d, level);
    str_printf(d->o->arena, &d->text,
               "CooperativeMatrixType %s %ux%u scope "
               "CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP use %s\n",
               ocl_type_name(d->o, t->base), t->rows, t->columns, uses[t->use]);
}

static const char *operator_text(Dump *d, OclTok op)
{
    const char *s = ocl_token_name(op);
    return arena_strndup(d->o->arena, s + 1, strlen(s) - 2);
}

/* The details of a node besides its kind. */
static void detail(Dump *d, const OclNode *n)
{
    Arena *a = d->o->arena;
    switch (n->kind) {
    case N_INT:
        if (n->type && is_signed(n->type))
            str_printf(a, &d->text, " %lld", (long long)n->u);
        else
            str_printf(a, &d->text, " %llu", (unsigned long long)n->u);
        break;
    case N_FLOAT: str_printf(a, &d->text, " %.9g", n->f); break;
    case N_SYMBOL:
    case N_DECLARATION: dump_text(d, " %s", n->symbol->ident->name); break;
    case N_MEMBER: {
        const OclIdent *name = n->a->type->record->members.data[n->member].name;
        dump_text(d, " .%s", name ? name->name : "(unnamed)");
        break;
    }
    case N_SWIZZLE:
        str_add(a, &d->text, " .s");
        for (uint32_t i = 0; i < lanes_of(n->type); i++)
            str_printf(a, &d->text, "%x", n->lanes[i]);
        break;
    case N_UNARY:
    case N_BINARY:
    case N_ASSIGN:
    case N_STEP:
        dump_text(d, n->postfix ? " postfix %s" : " %s", operator_text(d, (OclTok)n->op));
        break;
    case N_CAST: dump_text(d, n->implicit ? " implicit, %s" : " %s", casts[n->op]); break;
    case N_BUILTIN: dump_text(d, " %s", n->name ? n->name : n->builtin->name); break;
    case N_CALL: dump_text(d, " %s", n->a ? n->a->symbol->ident->name : n->name); break;
    case N_LOAD_MATRIX:
    case N_STORE_MATRIX: dump_text(d, " %s", n->u ? "column-major" : "row-major"); break;
    case N_MULTIPLY_ADD: str_printf(a, &d->text, " operands %u", (unsigned)n->u); break;
    case N_CASE: str_printf(a, &d->text, " %lld", (long long)n->u); break;
    case N_GOTO:
    case N_LABEL: dump_text(d, " %s", n->ident->name); break;
    default: break;
    }
}

static bool has_list(const OclNode *n)
{
    return n->kind == N_CALL || n->kind == N_BUILTIN || n->kind == N_VECTOR || n->kind == N_INIT ||
           n->kind == N_BLOCK || n->kind == N_STATEMENTS;
}

static void dump(Dump *d, const OclNode *n, uint32_t level)
{
    Arena *a = d->o->arena;
    indent(d, level);
    if (!n) {
        str_add(a, &d->text, "-\n");
        return;
    }
    str_add(a, &d->text, kinds[n->kind]);
    detail(d, n);
    const OclType *t = n->kind == N_DECLARATION ? n->symbol->type : n->type;
    if (t)
        dump_text(d, " [%s]", ocl_type_name(d->o, t));
    DiagLoc at = ocl_position(d->o, n->loc);
    str_printf(a, &d->text, " <%u:%u>\n", at.line, at.column);
    if (n->kind == N_DECLARATION || n->kind == N_LOAD_MATRIX || n->kind == N_COMPOUND)
        matrix_type(d, t, level + 1);
    for (uint32_t i = 0; has_list(n) && i < n->n; i++)
        dump(d, n->list[i], level + 1);
    if ((n->kind == N_INIT || n->kind == N_STATEMENTS) && n->a)
        dump(d, n->a, level + 1);
    if (has_list(n))
        return;
    bool loop = n->kind == N_FOR;
    const OclNode *below[] = { n->a, loop ? n->c : n->b, loop ? n->d : n->c, loop ? n->b : NULL };
    if (n->kind == N_GOTO || n->kind == N_CASE || n->kind == N_DEFAULT || n->kind == N_LABEL)
        below[1] = below[2] = NULL;
    if (n->kind == N_ASSIGN || n->kind == N_STEP || n->kind == N_SWITCH)
        below[2] = NULL;
    for (int i = 0; i < 4; i++) {
        if (below[i] || (loop && i < 3))
            dump(d, below[i], level + 1);
    }
}

static void dump_function(Dump *d, const OclSymbol *f)
{
    Arena *a = d->o->arena;
    DiagLoc at = ocl_position(d->o, f->loc);
    str_printf(a, &d->text, "%s %s [%s] <%u:%u>\n", f->kernel ? "Kernel" : "Function",
               f->ident->name, ocl_type_name(d->o, f->type), at.line, at.column);
    const OclAttributes *x = &f->attributes;
    if (x->has_local_size)
        str_printf(a, &d->text, "  reqd_work_group_size %u %u %u\n", x->local_size[0],
                   x->local_size[1], x->local_size[2]);
    if (x->has_size_hint)
        str_printf(a, &d->text, "  work_group_size_hint %u %u %u\n", x->size_hint[0],
                   x->size_hint[1], x->size_hint[2]);
    if (x->subgroup_size)
        str_printf(a, &d->text, "  intel_reqd_sub_group_size %u\n", x->subgroup_size);
    if (x->vec_type_hint)
        dump_text(d, "  vec_type_hint %s\n", ocl_type_name(d->o, x->vec_type_hint));
    matrix_type(d, f->type->base, 1);
    for (uint32_t i = 0; f->defined && i < f->type->n_params; i++) {
        const OclSymbol *p = f->params[i];
        str_printf(a, &d->text, "  Parameter %s [%s]\n", p->ident ? p->ident->name : "(unnamed)",
                   ocl_type_name(d->o, p->type));
        matrix_type(d, p->type, 2);
    }
    if (f->defined)
        dump(d, f->body, 1);
}

char *ocl_dump(Ocl *o)
{
    Dump d = { .o = o };
    str_add(o->arena, &d.text, "");
    for (uint32_t i = 0; i < o->globals.len; i++) {
        const OclSymbol *s = o->globals.data[i];
        if (s->kind == S_FUNCTION) {
            dump_function(&d, s);
        } else {
            str_printf(o->arena, &d.text, "Variable %s [%s]\n", s->ident->name,
                       ocl_type_name(o, s->type));
            if (s->init)
                dump(&d, s->init, 1);
        }
    }
    return d.text.data;
}
