/* SPDX-License-Identifier: MIT
 *
 * Random statements: assignments, values, branches, loops, switches, calls, jumps, output, atomics,
 * barriers with shared memory, matrices.
 */
#ifndef RANDOM_STATEMENTS_H
#define RANDOM_STATEMENTS_H

#include "expressions.h"

static void block(Gen *g, uint32_t n);

/* ---- variables ------------------------------------------------------------------------------- */

static void add_variable(Gen *g, Variable v)
{
    if (g->n_variables < MAX_VARIABLES)
        g->variable[g->n_variables++] = v;
}

static void add_value(Gen *g, Id id, Type t, Level level)
{
    if (g->n_values < MAX_VALUES)
        g->value[g->n_values++] = (Value){ id, t, level };
}

static Id new_variable(Gen *g, Id type, Id value)
{
    Id id = new_id(g, "v");
    str_printf(g->arena, &g->variables, "%s = OpVariable %s Function %s\n", id,
               pointer_type(g, "Function", type), value);
    return id;
}

/* A variable of the function, an array of one, or a pair of struct members. */
static void declare_variable(Gen *g)
{
    Type t = any_type(g);
    Id type = type_name(g, t), first = random_constant(g, t), second = random_constant(g, t), whole;
    Variable v = { .type = t, .storage = "Function", .chain = "" };
    switch (pick(g, 6)) {
    case 0:
        type = declare(g, arena_printf(g->arena, "%%a4_%s", type + 1),
                       arena_printf(g->arena, "OpTypeArray %s %s", type, u32(g, 4)));
        whole = declare(g, arena_printf(g->arena, "%%a4_%s_%s", first + 1, second + 1),
                        arena_printf(g->arena, "OpConstantComposite %s %s %s %s %s", type, first,
                                     second, second, first));
        v.base = new_variable(g, type, whole);
        v.length = 4;
        v.whole = type;
        break;
    case 1:
        type = declare(g, arena_printf(g->arena, "%%st_%s", type + 1),
                       arena_printf(g->arena, "OpTypeStruct %%u32 %s", type));
        whole = declare(g, arena_printf(g->arena, "%%st_%s_%s", type + 1, first + 1),
                        arena_printf(g->arena, "OpConstantComposite %s %s %s", type, u32(g, 5),
                                     first));
        v.base = new_variable(g, type, whole);
        v.chain = u32(g, 1);
        v.whole = type;
        add_variable(g, (Variable){ .type = scalar(U32), .storage = "Function", .base = v.base,
                                    .chain = u32(g, 0) });
        break;
    default: v.base = new_variable(g, type, first);
    }
    add_variable(g, v);
}

/* Members of the invocation's own element of a buffer are variables too. */
static void own_variables(Gen *g)
{
    static const struct { Kind kind; uint8_t n, member, length; } members[] = {
        { U32, 1, 0, 0 }, { S32, 1, 1, 0 }, { F32, 1, 2, 0 }, { U32, 3, 3, 0 }, { S32, 1, 4, 4 },
        { U8, 1, 5, 0 }, { S8, 1, 6, 0 }, { U16, 1, 7, 0 }, { F16, 1, 8, 0 }, { U64, 1, 9, 0 },
        { F64, 1, 10, 0 }, { F16, 4, 11, 0 }, { S16, 2, 12, 0 },
    };
    for (uint32_t i = 0; i < COUNT_OF(members); i++) {
        Type t = { members[i].kind, members[i].n };
        if (!kind_allowed(g, t.kind) || (t.n > 1 && !(g->features & VECTORS)) || chance(g, 50))
            continue;
        add_variable(g, (Variable){ .type = t, .storage = "StorageBuffer", .base = "%own",
                                    .chain = arena_printf(g->arena, "%s %s %s", u32(g, 0),
                                                          g->invocation, u32(g, members[i].member)),
                                    .length = members[i].length });
    }
}

/* ---- simple statements ----------------------------------------------------------------------- */

static void store(Gen *g, const Variable *v, Id x)
{
    Id index = v->length ? index_below(g, v->length, 1) : NULL;
    if (is_float(v->type) && !strcmp(v->storage, "StorageBuffer"))
        x = canonical(g, v->type, x);
    say(g, "OpStore %s %s", pointer_to(g, v, index), x);
}

static void assign(Gen *g)
{
    const Variable *v = &g->variable[pick(g, g->n_variables)];
    store(g, v, expression(g, v->type, 2 + pick(g, 3)));
}

/* A structure or an array as one value: read, changed, perhaps chosen, written. */
static void assign_whole(Gen *g)
{
    const Variable *v = &g->variable[pick(g, g->n_variables)];
    Id old, new, x = expression(g, v->type, 2);
    if (!v->whole) {
        store(g, v, x);
        return;
    }
    old = op(g, "OpLoad %s %s", v->whole, v->base);
    new = op(g, "OpCompositeInsert %s %s %s %u", v->whole, x, old, v->length ? pick(g, 4) : 1);
    if (chance(g, 50)) {
        Id c = expression(g, scalar(BOOL), 2);
        new = op(g, "OpSelect %s %s %s %s", v->whole, c, new, old);
    }
    say(g, "OpStore %s %s", v->base, new);
}

/* The value stays in scope; when left out, a constant does. */
static void define(Gen *g)
{
    Type t = any_type(g);
    Mark mark = begin_node(g);
    Level level = chance(g, 60) ? IN_INVOCATION : (Level)MAX(pick(g, 2), (uint32_t)g->flow);
    Id x = expression_at(g, t, 3, level);
    if (end_node(g, mark))
        x = constant(g, t, 1);
    add_value(g, x, t, level);
}

/* A value seen now, at a place that only this invocation writes. */
static void checkpoint(Gen *g)
{
    Type t = any_type(g);
    Id x = digest(g, t, expression(g, t, 3));
    Id at = op(g, "OpIMul %%u32 %s %s", g->invocation, u32(g, SLOTS));
    Id slot = u32(g, SLOTS - 1 - g->checkpoints++ % 16);
    if (chance(g, 30))
        slot = op(g, "OpBitwiseOr %%u32 %s %s", index_below(g, 16, 2), u32(g, SLOTS - 16));
    at = op(g, "OpIAdd %%u32 %s %s", at, slot);
    if (g->features & OUTSIDE && chance(g, 20))     /* reads 0, writes nothing */
        at = g->features & ENDS && chance(g, 50)
            ? op(g, "OpIAdd %%u32 %s %s", at, u32(g, 0x80000000 - pick(g, 300)))
            : op(g, "OpBitwiseOr %%u32 %s %s", at, u32(g, 1u << (16 + pick(g, 16))));
    Id p = op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%out %s %s", u32(g, 0), at);
    if (chance(g, 50)) {
        Id old = op(g, "OpLoad %%u32 %s", p);
        old = op(g, "OpIMul %%u32 %s %s", old, u32(g, 31));
        x = op(g, "OpBitwiseXor %%u32 %s %s", x, old);
    }
    say(g, "OpStore %s %s", p, x);
}

/* On counters of all: one operation a counter, the result unused. */
static void count(Gen *g, uint32_t depth)
{
    static const struct { const char *name; Kind kind; } table[COUNTERS] = {
        { "IAdd", U32 }, { "Or", U32 }, { "Xor", U32 }, { "UMax", U32 },
        { "SMin", S32 }, { "SMax", S32 }, { "UMin", U32 }, { "And", U32 },
    };
    uint32_t k = pick(g, COUNTERS);
    Id x = expression(g, scalar(table[k].kind), depth);
    if (table[k].kind == S32)
        x = op(g, "OpBitcast %%u32 %s", x);
    Id p = op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%counters %s %s", u32(g, 0), u32(g, k));
    op(g, "OpAtomic%s %%u32 %s %%u32_1 %%u32_0 %s", table[k].name, p, x);
}

/* On memory that nobody else touches: the result is known. */
static void own_atomic(Gen *g, uint32_t depth)
{
    static const char *const names[] = { "Exchange", "IAdd", "ISub", "SMin", "UMax", "And", "Or",
                                         "Xor" };
    Id p = op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%own %s %s %s", u32(g, 0), g->invocation,
              u32(g, 0));
    Id x = expression(g, scalar(U32), depth), y;
    switch (pick(g, 4)) {
    case 0:
        y = chance(g, 50) ? op(g, "OpAtomicLoad %%u32 %s %%u32_1 %%u32_0", p)
                          : expression(g, scalar(U32), 1);
        x = op(g, "OpAtomicCompareExchange %%u32 %s %%u32_1 %%u32_0 %%u32_0 %s %s", p, x, y);
        break;
    case 1:
        x = op(g, "%s %%u32 %s %%u32_1 %%u32_0",
               chance(g, 50) ? "OpAtomicIIncrement" : "OpAtomicIDecrement", p);
        break;
    default:
        x = op(g, "OpAtomic%s %%u32 %s %%u32_1 %%u32_0 %s", names[pick(g, 8)], p, x);
    }
    add_value(g, x, scalar(U32), IN_INVOCATION);
}

static void barrier(Gen *g)
{
    /* acquire and release workgroup memory; Vulkan's model: make it available and visible too */
    say(g, "OpControlBarrier %s %s %s", u32(g, 2), u32(g, 2), u32(g, g->vulkan ? 24840 : 264));
}

static Id shared_pointer(Gen *g, Id index)
{
    return op(g, "OpAccessChain %%ptr_Workgroup_u32 %%shared %s", index);
}

/* Everybody writes its own; then everybody reads another's, or all count in some. */
static void share(Gen *g)
{
    Id x = expression(g, scalar(U32), 3), i;
    barrier(g);
    say(g, "OpStore %s %s%s", shared_pointer(g, g->local), x,
        g->vulkan ? " NonPrivatePointer" : "");
    barrier(g);
    if (chance(g, 40)) {
        static const char *const names[] = { "IAdd", "Xor", "UMax", "Or" };
        const char *name = names[pick(g, 4)];
        x = expression(g, scalar(U32), 2);
        i = index_below(g, g->n_local, 2);
        Id p = shared_pointer(g, i);
        op(g, "OpAtomic%s %%u32 %s %s %%u32_0 %s", name, p, u32(g, 2), x);
        barrier(g);
    }
    i = index_below(g, g->n_local, 2);
    x = op(g, "OpLoad %%u32 %s%s", shared_pointer(g, i), g->vulkan ? " NonPrivatePointer" : "");
    const Variable *v = known_variable(g, scalar(U32));
    if (v && !v->length)
        say(g, "OpStore %s %s", pointer_to(g, v, NULL), x);
    add_value(g, x, scalar(U32), IN_INVOCATION);
    barrier(g);
}

static void call(Gen *g)
{
    const Function *f = &g->function[pick(g, g->n_functions)];
    Id out[2] = { NULL }, x = expression(g, scalar(U32), 2);
    for (uint32_t i = 0; i < f->n_out; i++) {
        out[i] = new_variable(g, type_name(g, f->out[i]), random_constant(g, f->out[i]));
        say(g, "OpStore %s %s", out[i], expression(g, f->out[i], 2));
    }
    x = op(g, "OpFunctionCall %s %s %s %s %s", type_name(g, f->result), f->id, x,
           f->n_out > 0 ? out[0] : "", f->n_out > 1 ? out[1] : "");
    add_value(g, x, f->result, IN_INVOCATION);
    for (uint32_t i = 0; i < f->n_out; i++) {
        const Variable *v = known_variable(g, f->out[i]);
        x = op(g, "OpLoad %s %s", type_name(g, f->out[i]), out[i]);
        if (v)
            store(g, v, x);
        add_value(g, x, f->out[i], IN_INVOCATION);
    }
}

/* ---- control flow ---------------------------------------------------------------------------- */

static Level condition_level(Gen *g)
{
    uint32_t what = pick(g, 10);
    return MAX(g->flow, what < 2 ? IN_WORKGROUP : what < 4 ? IN_SUBGROUP : IN_INVOCATION);
}

/* A body under a condition of that level. */
static void body(Gen *g, Level level, uint32_t n)
{
    Level flow = g->flow;
    uint32_t values = g->n_values;
    g->flow = MAX(g->flow, level);
    g->depth++;
    block(g, n);
    g->depth--;
    g->flow = MAX(flow, g->escape);
    g->n_values = values;
}

static void branch_on(Gen *g)
{
    Level level = condition_level(g);
    Id c = expression_at(g, scalar(BOOL), 2, level), yes = new_id(g, "b"), no = new_id(g, "b");
    Id merge = new_id(g, "b");
    bool both = chance(g, 50), reached = !both;
    say(g, "OpSelectionMerge %s None", merge);
    say(g, "OpBranchConditional %s %s %s", c, yes, both ? no : merge);
    start_block(g, yes);
    body(g, level, 1 + pick(g, 4));
    reached |= !g->dead;
    branch(g, merge);
    if (both) {
        start_block(g, no);
        body(g, level, 1 + pick(g, 4));
        reached |= !g->dead;
        branch(g, merge);
    }
    start_block(g, merge);
    if (!reached) {
        say(g, "OpUnreachable");
        g->dead = true;
    }
}

static void switch_on(Gen *g)
{
    Level level = condition_level(g);
    uint32_t n = 2 + pick(g, 4), other = pick(g, n + 1), twice = pick(g, n);
    bool falls = chance(g, 40), no_subgroups = g->no_subgroups;
    Id selector = expression_at(g, scalar(chance(g, 50) ? U32 : S32), 2, level), labels[6];
    Id merge = new_id(g, "b"), outer = g->switch_merge;
    Str s = { 0 };
    selector = op(g, "OpBitwiseAnd %%u32 %s %s", selector, u32(g, 7));
    str_add(g->arena, &s, "");
    for (uint32_t i = 0; i < n; i++) {
        labels[i] = new_id(g, "b");
        if (i != other)
            str_printf(g->arena, &s, " %u %s", i, labels[i]);
        if (i != other && i == twice)
            str_printf(g->arena, &s, " 6 %s", labels[i]);
    }
    say(g, "OpSelectionMerge %s None", merge);
    say(g, "OpSwitch %s %s%s", selector, other < n ? labels[other] : merge, s.data);
    g->no_subgroups |= falls;
    g->switch_merge = merge;
    for (uint32_t i = 0; i < n; i++) {
        start_block(g, labels[i]);
        body(g, falls ? IN_INVOCATION : level, 1 + pick(g, 3));
        branch(g, falls && i + 1 < n && chance(g, 60) ? labels[i + 1] : merge);
    }
    g->switch_merge = outer;
    g->no_subgroups = no_subgroups;
    start_block(g, merge);
}

/* What a loop is made of. The counter is a variable or an OpPhi; `sum` is an OpPhi that each
 * iteration changes and that is looked at after the loop. */
typedef struct Loop {
    Id header, test, start, next, back, merge;
    Id limit, variable, counter, sum, sum_next;
    Type type;                  /* of sum */
    Level level;
    bool last;                  /* do while: the condition at the end */
} Loop;

static void loop_header(Gen *g, Loop *l)
{
    Id before, first = expression(g, l->type, 2);
    uint32_t most = 1 + pick(g, g->depth ? 3 : 5);
    if (l->level == IN_WORKGROUP && chance(g, 70))
        l->limit = u32(g, most);
    else
        l->limit = op(g, "OpUMod %%u32 %s %s", expression_at(g, scalar(U32), 2, l->level),
                      u32(g, most + 1));
    if (chance(g, 50)) {
        l->variable = new_variable(g, "%u32", u32(g, 0));
        say(g, "OpStore %s %s", l->variable, u32(g, 0));
    }
    before = g->label;
    branch(g, l->header);
    start_block(g, l->header);
    if (!l->variable)
        say(g, "%s = OpPhi %%u32 %s %s %s_next %s", l->counter, u32(g, 0), before, l->counter,
            l->back);
    say(g, "%s = OpPhi %s %s %s %s %s", l->sum, type_name(g, l->type), first, before, l->sum_next,
        l->back);
    say(g, "OpLoopMerge %s %s %s", l->merge, l->next,
        chance(g, 80) ? "None" : chance(g, 50) ? "Unroll" : "DontUnroll");
    branch(g, l->last ? l->start : l->test);
    if (!l->last) {
        start_block(g, l->test);
        Id i = l->variable ? op(g, "OpLoad %%u32 %s", l->variable) : l->counter;
        Id more = op(g, "OpULessThan %%bool %s %s", i, l->limit);
        say(g, "OpBranchConditional %s %s %s", more, l->start, l->merge);
    }
    start_block(g, l->start);
}

static void loop_continue(Gen *g, const Loop *l)
{
    start_block(g, l->next);
    Id x = expression(g, l->type, 2);
    say(g, "%s = %s %s %s %s", l->sum_next,
        l->type.kind == BOOL ? "OpLogicalNotEqual" : is_float(l->type) ? "OpFAdd" : "OpIAdd",
        type_name(g, l->type), l->sum, x);
    branch(g, l->back);
    start_block(g, l->back);
    Id i = l->variable ? op(g, "OpLoad %%u32 %s", l->variable) : l->counter;
    say(g, "%s_next = OpIAdd %%u32 %s %s", l->counter, i, u32(g, 1));
    if (l->variable)
        say(g, "OpStore %s %s_next", l->variable, l->counter);
    if (l->last) {
        Id more = op(g, "OpULessThan %%bool %s_next %s", l->counter, l->limit);
        say(g, "OpBranchConditional %s %s %s", more, l->header, l->merge);
    } else {
        say(g, "OpBranch %s", l->header);
    }
}

static void loop(Gen *g)
{
    Loop l = { .header = new_id(g, "b"), .test = new_id(g, "b"), .start = new_id(g, "b"),
               .next = new_id(g, "b"), .back = new_id(g, "b"), .merge = new_id(g, "b"),
               .counter = new_id(g, "i"), .sum = new_id(g, "sum"), .sum_next = new_id(g, "sum") };
    Id outer_merge = g->loop_merge, outer_continue = g->loop_continue;
    Id outer_switch = g->switch_merge;
    Level outer_flow = g->loop_flow, escape = g->escape, flow = g->flow;
    uint32_t values = g->n_values;
    l.level = condition_level(g);
    l.type = any_type(g);
    l.last = chance(g, 30);
    loop_header(g, &l);
    g->loop_merge = l.merge;
    g->loop_continue = l.next;
    g->switch_merge = NULL;
    /* breaks must not part those that the body counts on being together */
    g->loop_flow = chance(g, 50) ? IN_INVOCATION : MAX(flow, l.level);
    if (!l.variable)
        add_value(g, l.counter, scalar(U32), g->loop_flow);
    add_value(g, l.sum, l.type, IN_INVOCATION);
    body(g, g->loop_flow, 1 + pick(g, 5));
    branch(g, l.next);
    g->flow = IN_INVOCATION;
    loop_continue(g, &l);
    g->loop_merge = outer_merge;
    g->loop_continue = outer_continue;
    g->switch_merge = outer_switch;
    g->flow = flow;
    g->escape = escape;
    g->loop_flow = outer_flow;
    start_block(g, l.merge);
    g->n_values = values;
    add_value(g, l.sum, l.type, IN_INVOCATION);
}

/* if (c) break, continue, return: what comes after is run by fewer. */
static void jump(Gen *g)
{
    Level level = condition_level(g), flow = MAX(g->flow, level);
    Id c = expression_at(g, scalar(BOOL), 2, level), yes = new_id(g, "b"), merge = new_id(g, "b");
    uint32_t what = pick(g, 8), values = g->n_values;
    say(g, "OpSelectionMerge %s None", merge);
    say(g, "OpBranchConditional %s %s %s", c, yes, merge);
    start_block(g, yes);
    g->flow = flow;
    g->depth++;
    if (chance(g, 30))
        block(g, 1);
    g->depth--;
    g->escape = MAX(g->escape, flow);
    Mark mark = { g->out.len, 0, g->label, g->dead };
    Id x = g->is_main ? NULL : expression(g, g->result, 2);
    if (mark.dead)
        take_back(g, mark);
    if (what < 3 && g->loop_merge && flow <= g->loop_flow)
        branch(g, g->loop_merge);
    else if (what < 6 && g->loop_merge)
        branch(g, g->loop_continue);
    else if (what < 7 && g->switch_merge)
        branch(g, g->switch_merge);
    else if (!g->dead && what == 7 && g->is_main && !(g->features & (SHARED | MATRICES)))
        say(g, "OpReturn"), g->dead = true;
    else if (!g->dead && !g->is_main)
        say(g, "OpReturnValue %s", x), g->dead = true;
    branch(g, merge);
    g->n_values = values;
    start_block(g, merge);
}

/* ---- matrices -------------------------------------------------------------------------------- */

static const char *const matrix_types[] = { "mat_a", "mat_b", "mat_c" };

static void matrix_shape(Gen *g, uint32_t use, uint32_t *rows, uint32_t *columns)
{
    *rows = use == 1 ? g->matrix.k : g->matrix.m;
    *columns = use == 0 ? g->matrix.k : g->matrix.n;
}

static Id load_matrix(Gen *g, uint32_t use)
{
    uint32_t rows, columns, column_major = pick(g, 2);
    matrix_shape(g, use, &rows, &columns);
    uint32_t stride = (column_major ? rows : columns) + 16 * pick(g, 2);
    Id at = expression_at(g, scalar(U32), 1, IN_SUBGROUP);
    at = op(g, "OpBitwiseAnd %%u32 %s %s", at, u32(g, 0xf0));
    Kind kind = use == 2 ? g->matrix.c : g->matrix.a;
    Id p = op(g, "OpAccessChain %%ptr_StorageBuffer_%s %%%s %s %s", kind_names[kind],
              use == 2 ? "matrix_c" : "matrix_ab", u32(g, 0), at);
    return op(g, "OpCooperativeMatrixLoadKHR %%%s %s %s %s", matrix_types[use], p,
              u32(g, column_major), u32(g, stride));
}

/* A variable or an element of an array of them. */
static Id matrix_pointer(Gen *g, uint32_t use)
{
    uint32_t which = pick(g, MATRIX_VARIABLES + 1);
    if (which < MATRIX_VARIABLES)
        return arena_printf(g->arena, "%%var_%s%u", matrix_types[use], which);
    Id index = chance(g, 50) ? u32(g, pick(g, 2)) : expression_at(g, scalar(U32), 1, IN_SUBGROUP);
    index = op(g, "OpBitwiseAnd %%u32 %s %s", index, u32(g, 1));
    return op(g, "OpAccessChain %%ptr_Function_%s %%array_%s %s", matrix_types[use],
              matrix_types[use], index);
}

static Id get_matrix(Gen *g, uint32_t use)
{
    return op(g, "OpLoad %%%s %s", matrix_types[use], matrix_pointer(g, use));
}

static Id muladd(Gen *g)
{
    bool sign_a = is_signed(scalar(g->matrix.a)), sign_c = is_signed(scalar(g->matrix.c));
    Id a = chance(g, 50) ? get_matrix(g, 0) : load_matrix(g, 0);
    Id b = chance(g, 50) ? get_matrix(g, 1) : load_matrix(g, 1), c = get_matrix(g, 2);
    const char *signs = is_float(scalar(g->matrix.a)) ? ""
        : sign_a && sign_c ? " MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR|"
                             "MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR"
        : sign_c ? " MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR" : "";
    return op(g, "OpCooperativeMatrixMulAddKHR %%mat_c %s %s %s%s", a, b, c, signs);
}

static Id element_wise(Gen *g, uint32_t use)
{
    Kind kind = use == 2 ? g->matrix.c : g->matrix.a;
    bool is_f = kind >= F16;
    Id a = get_matrix(g, use), b = load_matrix(g, use);
    const char *name = matrix_types[use];
    switch (pick(g, 4)) {
    case 0: return op(g, "%s %%%s %s", is_f ? "OpFNegate" : "OpSNegate", name, a);
    case 1:
        /* floating point: only what is exact however often it is done */
        return op(g, "OpMatrixTimesScalar %%%s %s %s", name, a,
                  constant(g, scalar(kind), is_f ? (chance(g, 50) ? -2 : 0) : 3));
    default:
        if (is_f && use != 2)
            return op(g, "OpFNegate %%%s %s", name, b);
        return op(g, "%s %%%s %s %s", is_f ? (chance(g, 50) ? "OpFAdd" : "OpFSub")
                                    : chance(g, 50) ? "OpIAdd" : "OpISub", name, a, b);
    }
}

/* Matrices of these sizes are dealt by tiles on a GPU: its invocations hold other elements. */
static bool held_by_others(Gen *g, uint32_t use)
{
#ifdef HEDDLE_TEST_CUDA
    uint32_t rows, columns;
    matrix_shape(g, use, &rows, &columns);
    return rows % 8 == 0 && columns % 8 == 0;
#else
    (void)g;
    (void)use;
    return false;
#endif
}

/* Element e of this invocation, read or written. */
static void matrix_element(Gen *g)
{
    uint32_t use = pick(g, 3);
    if (held_by_others(g, use))
        return;
    Type t = scalar(use == 2 ? g->matrix.c : g->matrix.a);
    Id p = matrix_pointer(g, use);
    Id n = op(g, "OpCooperativeMatrixLengthKHR %%u32 %%%s", matrix_types[use]);
    Id e = op(g, "OpUMod %%u32 %s %s", expression(g, scalar(U32), 1), n);
    p = op(g, "OpAccessChain %%ptr_Function_%s %s %s", kind_names[t.kind], p, e);
    if (chance(g, 40)) {
        Id x = expression(g, scalar(S32), 2);
        x = op(g, "OpBitwiseAnd %%s32 %s %s", x, constant(g, scalar(S32), 3));
        say(g, "OpStore %s %s", p, convert(g, scalar(S32), t, x));
        return;
    }
    Id x = op(g, "OpLoad %s %s", type_name(g, t), p);
    add_value(g, x, t, IN_INVOCATION);
    Id at = op(g, "OpIMul %%u32 %s %s", g->invocation, u32(g, SLOTS));
    at = op(g, "OpIAdd %%u32 %s %s", at, u32(g, SLOTS - 1 - g->checkpoints++ % 16));
    Id slot = op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%out %s %s", u32(g, 0), at);
    say(g, "OpStore %s %s", slot, digest(g, t, x));
}

static void matrix_statement(Gen *g)
{
    uint32_t use = pick(g, 3);
    Id x;
    switch (pick(g, 6)) {
    case 0: x = load_matrix(g, use); break;
    case 1: x = element_wise(g, use); break;
    case 2: matrix_element(g); return;
    default: use = 2; x = muladd(g); break;
    }
    say(g, "OpStore %s %s", matrix_pointer(g, use), x);
}

/* Where this subgroup's k-th matrix goes. */
static void store_matrix(Gen *g, uint32_t k, bool column_major)
{
    Id group = op(g, "OpLoad %%v3u32 %%wg_id"), n = op(g, "OpLoad %%u32 %%sg_count");
    group = op(g, "OpCompositeExtract %%u32 %s 0", group);
    group = op(g, "OpIMul %%u32 %s %s", group, n);
    group = op(g, "OpIAdd %%u32 %s %s", group, op(g, "OpLoad %%u32 %%sg_id"));
    group = op(g, "OpIMul %%u32 %s %s", group, u32(g, 2048));
    group = op(g, "OpIAdd %%u32 %s %s", group, u32(g, k * 512));
    Id p = op(g, "OpAccessChain %%ptr_StorageBuffer_%s %%matrix_out %s %s", kind_names[g->matrix.c],
              u32(g, 0), group);
    Id m = k < MATRIX_VARIABLES ? arena_printf(g->arena, "%%var_mat_c%u", k) : NULL;
    if (!m)
        m = op(g, "OpAccessChain %%ptr_Function_mat_c %%array_mat_c %s",
               u32(g, k - MATRIX_VARIABLES));
    m = op(g, "OpLoad %%mat_c %s", m);
    say(g, "OpCooperativeMatrixStoreKHR %s %s %s %s", p, m, u32(g, column_major),
        u32(g, column_major ? g->matrix.m : g->matrix.n));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void one_statement(Gen *g)
{
    uint32_t what = pick(g, 100);
    bool nest = g->depth < 4 && g->budget > 0;
    if (nest && what < 36) {
        if (what < 16)
            branch_on(g);
        else if (what < 26 && g->depth < 3)
            loop(g);
        else
            switch_on(g);
    } else if (what < 44) {
        checkpoint(g);
    } else if (what < 52 && (g->depth || !g->is_main)) {
        jump(g);
    } else if (what < 57 && g->features & ATOMICS) {
        if (chance(g, 50))
            count(g, 2);
        else
            own_atomic(g, 2);
    } else if (what < 63 && g->features & SHARED && g->flow == IN_WORKGROUP && g->is_main) {
        share(g);
    } else if (what < 75 && g->features & MATRICES && g->flow <= IN_SUBGROUP && g->is_main) {
        matrix_statement(g);
    } else if (what < 80 && g->n_functions && g->is_main && !g->no_subgroups) {
        call(g);
    } else if (what < 85) {
        assign_whole(g);
    } else {
        assign(g);
    }
}

static void block(Gen *g, uint32_t n)
{
    for (uint32_t i = 0; i < n && g->budget; i++) {
        uint32_t values = g->n_values;
        Mark mark;
        g->budget--;
        if (chance(g, 15)) {
            mark = (Mark){ g->out.len, 0, g->label, g->dead };
            define(g);
            if (mark.dead)
                take_back(g, mark);
            continue;
        }
        mark = begin_node(g);
        one_statement(g);
        /* what a statement that is not there defined is not there; the generator goes on as if
         * there was as much */
        bool gone = end_node(g, mark);
        if (mark.dead && !gone) {
            take_back(g, mark);
            gone = true;
        }
        for (uint32_t v = values; gone && v < g->n_values; v++)
            g->value[v].id = constant(g, g->value[v].type, 1);
    }
}

#endif
