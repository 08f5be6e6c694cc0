/* SPDX-License-Identifier: MIT
 *
 * Random statements: assignments, values, branches, loops, switches, calls, jumps, output, atomics,
 * barriers with shared memory, matrices.
 */
#include "random/internal.h"

/* ---- variables ------------------------------------------------------------------------------- */

void gen_add_variable(Gen *g, GenVariable v)
{
    if (g->n_variables < MAX_VARIABLES)
        g->variable[g->n_variables++] = v;
}

void gen_add_value(Gen *g, GenId id, GenType t, GenLevel level)
{
    if (g->n_values < MAX_VALUES)
        g->value[g->n_values++] = (GenValue){ id, t, level };
}

static GenId new_variable(Gen *g, GenId type, GenId value)
{
    GenId id = gen_new_id(g, "v");
    str_printf(g->arena, &g->variables, "%s = OpVariable %s Function %s\n", id,
               gen_pointer_type(g, "Function", type), value);
    return id;
}

/* A variable of the function, an array of one, or a pair of struct members. */
void gen_declare_variable(Gen *g)
{
    GenType t = gen_any_type(g);
    GenId type = gen_type_name(g, t), first = gen_random_constant(g, t),
          second = gen_random_constant(g, t), whole;
    GenVariable v = { .type = t, .storage = "Function", .chain = "" };
    switch (gen_pick(g, 6)) {
    case 0:
        type = gen_declare(g, arena_printf(g->arena, "%%a4_%s", type + 1),
                           arena_printf(g->arena, "OpTypeArray %s %s", type, gen_u32(g, 4)));
        whole = gen_declare(g, arena_printf(g->arena, "%%a4_%s_%s", first + 1, second + 1),
                            arena_printf(g->arena, "OpConstantComposite %s %s %s %s %s", type,
                                         first, second, second, first));
        v.base = new_variable(g, type, whole);
        v.length = 4;
        v.whole = type;
        break;
    case 1:
        type = gen_declare(g, arena_printf(g->arena, "%%st_%s", type + 1),
                           arena_printf(g->arena, "OpTypeStruct %%u32 %s", type));
        whole = gen_declare(
            g, arena_printf(g->arena, "%%st_%s_%s", type + 1, first + 1),
            arena_printf(g->arena, "OpConstantComposite %s %s %s", type, gen_u32(g, 5), first));
        v.base = new_variable(g, type, whole);
        v.chain = gen_u32(g, 1);
        v.whole = type;
        gen_add_variable(g, (GenVariable){ .type = gen_scalar(U32),
                                           .storage = "Function",
                                           .base = v.base,
                                           .chain = gen_u32(g, 0) });
        break;
    default: v.base = new_variable(g, type, first);
    }
    gen_add_variable(g, v);
}

/* Members of the invocation's own element of a buffer are variables too. */
void gen_own_variables(Gen *g)
{
    static const struct {
        GenKind kind;
        uint8_t n, member, length;
    } members[] = {
        { U32, 1, 0, 0 },  { S32, 1, 1, 0 },  { F32, 1, 2, 0 },  { U32, 3, 3, 0 }, { S32, 1, 4, 4 },
        { U8, 1, 5, 0 },   { S8, 1, 6, 0 },   { U16, 1, 7, 0 },  { F16, 1, 8, 0 }, { U64, 1, 9, 0 },
        { F64, 1, 10, 0 }, { F16, 4, 11, 0 }, { S16, 2, 12, 0 },
    };
    for (uint32_t i = 0; i < COUNT_OF(members); i++) {
        GenType t = { members[i].kind, members[i].n };
        if (!gen_kind_allowed(g, t.kind) || (t.n > 1 && !(g->features & VECTORS)) ||
            gen_chance(g, 50))
            continue;
        gen_add_variable(
            g, (GenVariable){ .type = t,
                              .storage = "StorageBuffer",
                              .base = "%own",
                              .chain = arena_printf(g->arena, "%s %s %s", gen_u32(g, 0),
                                                    g->invocation, gen_u32(g, members[i].member)),
                              .length = members[i].length });
    }
}

/* ---- simple statements ----------------------------------------------------------------------- */

static void store(Gen *g, const GenVariable *v, GenId x)
{
    GenId index = v->length ? gen_index_below(g, v->length, 1) : NULL;
    if (gen_is_float(v->type) && !strcmp(v->storage, "StorageBuffer"))
        x = gen_canonical(g, v->type, x);
    gen_say(g, "OpStore %s %s", gen_pointer_to(g, v, index), x);
}

static void assign(Gen *g)
{
    const GenVariable *v = &g->variable[gen_pick(g, g->n_variables)];
    store(g, v, gen_expression(g, v->type, 2 + gen_pick(g, 3)));
}

/* A structure or an array as one value: read, changed, perhaps chosen, written. */
static void assign_whole(Gen *g)
{
    const GenVariable *v = &g->variable[gen_pick(g, g->n_variables)];
    GenId old, new, x = gen_expression(g, v->type, 2);
    if (!v->whole) {
        store(g, v, x);
        return;
    }
    old = gen_op(g, "OpLoad %s %s", v->whole, v->base);
    new = gen_op(g, "OpCompositeInsert %s %s %s %u", v->whole, x, old,
                 v->length ? gen_pick(g, 4) : 1);
    if (gen_chance(g, 50)) {
        GenId c = gen_expression(g, gen_scalar(BOOL), 2);
        new = gen_op(g, "OpSelect %s %s %s %s", v->whole, c, new, old);
    }
    gen_say(g, "OpStore %s %s", v->base, new);
}

/* The value stays in scope; when left out, a constant does. */
static void define(Gen *g)
{
    GenType t = gen_any_type(g);
    GenMark mark = gen_begin_node(g);
    GenLevel level =
        gen_chance(g, 60) ? IN_INVOCATION : (GenLevel)MAX(gen_pick(g, 2), (uint32_t)g->flow);
    GenId x = gen_expression_at(g, t, 3, level);
    if (gen_end_node(g, mark))
        x = gen_constant(g, t, 1);
    gen_add_value(g, x, t, level);
}

/* A value seen now, at a place that only this invocation writes. */
static void checkpoint(Gen *g)
{
    GenType t = gen_any_type(g);
    GenId x = gen_digest(g, t, gen_expression(g, t, 3));
    GenId at = gen_op(g, "OpIMul %%u32 %s %s", g->invocation, gen_u32(g, GEN_SLOTS));
    GenId slot = gen_u32(g, GEN_SLOTS - 1 - g->checkpoints++ % 16);
    if (gen_chance(g, 30))
        slot = gen_op(g, "OpBitwiseOr %%u32 %s %s", gen_index_below(g, 16, 2),
                      gen_u32(g, GEN_SLOTS - 16));
    at = gen_op(g, "OpIAdd %%u32 %s %s", at, slot);
    if (g->features & OUTSIDE && gen_chance(g, 20)) /* reads 0, writes nothing */
        at = g->features & ENDS && gen_chance(g, 50)
                 ? gen_op(g, "OpIAdd %%u32 %s %s", at, gen_u32(g, 0x80000000 - gen_pick(g, 300)))
                 : gen_op(g, "OpBitwiseOr %%u32 %s %s", at,
                          gen_u32(g, 1u << (16 + gen_pick(g, 16))));
    GenId p = gen_op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%out %s %s", gen_u32(g, 0), at);
    if (gen_chance(g, 50)) {
        GenId old = gen_op(g, "OpLoad %%u32 %s", p);
        old = gen_op(g, "OpIMul %%u32 %s %s", old, gen_u32(g, 31));
        x = gen_op(g, "OpBitwiseXor %%u32 %s %s", x, old);
    }
    gen_say(g, "OpStore %s %s", p, x);
}

/* On counters of all: one operation a counter, the result unused. */
static void count(Gen *g, uint32_t depth)
{
    static const struct {
        const char *name;
        GenKind kind;
    } table[GEN_COUNTERS] = {
        { "IAdd", U32 }, { "Or", U32 },   { "Xor", U32 },  { "UMax", U32 },
        { "SMin", S32 }, { "SMax", S32 }, { "UMin", U32 }, { "And", U32 },
    };
    uint32_t k = gen_pick(g, GEN_COUNTERS);
    GenId x = gen_expression(g, gen_scalar(table[k].kind), depth);
    if (table[k].kind == S32)
        x = gen_op(g, "OpBitcast %%u32 %s", x);
    GenId p = gen_op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%counters %s %s", gen_u32(g, 0),
                     gen_u32(g, k));
    gen_op(g, "OpAtomic%s %%u32 %s %%u32_1 %%u32_0 %s", table[k].name, p, x);
}

/* On memory that nobody else touches: the result is known. */
static void own_atomic(Gen *g, uint32_t depth)
{
    static const char *const names[] = { "Exchange", "IAdd", "ISub", "SMin",
                                         "UMax",     "And",  "Or",   "Xor" };
    GenId p = gen_op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%own %s %s %s", gen_u32(g, 0),
                     g->invocation, gen_u32(g, 0));
    GenId x = gen_expression(g, gen_scalar(U32), depth), y;
    switch (gen_pick(g, 4)) {
    case 0:
        y = gen_chance(g, 50) ? gen_op(g, "OpAtomicLoad %%u32 %s %%u32_1 %%u32_0", p)
                              : gen_expression(g, gen_scalar(U32), 1);
        x = gen_op(g, "OpAtomicCompareExchange %%u32 %s %%u32_1 %%u32_0 %%u32_0 %s %s", p, x, y);
        break;
    case 1:
        x = gen_op(g, "%s %%u32 %s %%u32_1 %%u32_0",
                   gen_chance(g, 50) ? "OpAtomicIIncrement" : "OpAtomicIDecrement", p);
        break;
    default: x = gen_op(g, "OpAtomic%s %%u32 %s %%u32_1 %%u32_0 %s", names[gen_pick(g, 8)], p, x);
    }
    gen_add_value(g, x, gen_scalar(U32), IN_INVOCATION);
}

static void barrier(Gen *g)
{
    /* acquire and release workgroup memory; Vulkan's model: make it available and visible too */
    gen_say(g, "OpControlBarrier %s %s %s", gen_u32(g, 2), gen_u32(g, 2),
            gen_u32(g, g->vulkan ? 24840 : 264));
}

static GenId shared_pointer(Gen *g, GenId index)
{
    return gen_op(g, "OpAccessChain %%ptr_Workgroup_u32 %%shared %s", index);
}

/* Everybody writes its own; then everybody reads another's, or all count in some. */
static void share(Gen *g)
{
    GenId x = gen_expression(g, gen_scalar(U32), 3), i;
    barrier(g);
    gen_say(g, "OpStore %s %s%s", shared_pointer(g, g->local), x,
            g->vulkan ? " NonPrivatePointer" : "");
    barrier(g);
    if (gen_chance(g, 40)) {
        static const char *const names[] = { "IAdd", "Xor", "UMax", "Or" };
        const char *name = names[gen_pick(g, 4)];
        x = gen_expression(g, gen_scalar(U32), 2);
        i = gen_index_below(g, g->n_local, 2);
        GenId p = shared_pointer(g, i);
        gen_op(g, "OpAtomic%s %%u32 %s %s %%u32_0 %s", name, p, gen_u32(g, 2), x);
        barrier(g);
    }
    i = gen_index_below(g, g->n_local, 2);
    x = gen_op(g, "OpLoad %%u32 %s%s", shared_pointer(g, i), g->vulkan ? " NonPrivatePointer" : "");
    const GenVariable *v = gen_known_variable(g, gen_scalar(U32));
    if (v && !v->length)
        gen_say(g, "OpStore %s %s", gen_pointer_to(g, v, NULL), x);
    gen_add_value(g, x, gen_scalar(U32), IN_INVOCATION);
    barrier(g);
}

static void call(Gen *g)
{
    const GenFunction *f = &g->function[gen_pick(g, g->n_functions)];
    GenId out[2] = { NULL }, x = gen_expression(g, gen_scalar(U32), 2);
    for (uint32_t i = 0; i < f->n_out; i++) {
        out[i] = new_variable(g, gen_type_name(g, f->out[i]), gen_random_constant(g, f->out[i]));
        gen_say(g, "OpStore %s %s", out[i], gen_expression(g, f->out[i], 2));
    }
    x = gen_op(g, "OpFunctionCall %s %s %s %s %s", gen_type_name(g, f->result), f->id, x,
               f->n_out > 0 ? out[0] : "", f->n_out > 1 ? out[1] : "");
    gen_add_value(g, x, f->result, IN_INVOCATION);
    for (uint32_t i = 0; i < f->n_out; i++) {
        const GenVariable *v = gen_known_variable(g, f->out[i]);
        x = gen_op(g, "OpLoad %s %s", gen_type_name(g, f->out[i]), out[i]);
        if (v)
            store(g, v, x);
        gen_add_value(g, x, f->out[i], IN_INVOCATION);
    }
}

/* ---- control flow ---------------------------------------------------------------------------- */

static GenLevel condition_level(Gen *g)
{
    uint32_t what = gen_pick(g, 10);
    return MAX(g->flow, what < 2 ? IN_WORKGROUP : what < 4 ? IN_SUBGROUP : IN_INVOCATION);
}

/* A body under a condition of that level. */
static void body(Gen *g, GenLevel level, uint32_t n)
{
    GenLevel flow = g->flow;
    uint32_t values = g->n_values;
    g->flow = MAX(g->flow, level);
    g->depth++;
    gen_block(g, n);
    g->depth--;
    g->flow = MAX(flow, g->escape);
    g->n_values = values;
}

static void branch_on(Gen *g)
{
    GenLevel level = condition_level(g);
    GenId c = gen_expression_at(g, gen_scalar(BOOL), 2, level), yes = gen_new_id(g, "b"),
          no = gen_new_id(g, "b");
    GenId merge = gen_new_id(g, "b");
    bool both = gen_chance(g, 50), reached = !both;
    gen_say(g, "OpSelectionMerge %s None", merge);
    gen_say(g, "OpBranchConditional %s %s %s", c, yes, both ? no : merge);
    gen_start_block(g, yes);
    body(g, level, 1 + gen_pick(g, 4));
    reached |= !g->dead;
    gen_branch(g, merge);
    if (both) {
        gen_start_block(g, no);
        body(g, level, 1 + gen_pick(g, 4));
        reached |= !g->dead;
        gen_branch(g, merge);
    }
    gen_start_block(g, merge);
    if (!reached) {
        gen_say(g, "OpUnreachable");
        g->dead = true;
    }
}

static void switch_on(Gen *g)
{
    GenLevel level = condition_level(g);
    uint32_t n = 2 + gen_pick(g, 4), other = gen_pick(g, n + 1), twice = gen_pick(g, n);
    bool falls = gen_chance(g, 40), no_subgroups = g->no_subgroups;
    GenId selector = gen_expression_at(g, gen_scalar(gen_chance(g, 50) ? U32 : S32), 2, level),
          labels[6];
    GenId merge = gen_new_id(g, "b"), outer = g->switch_merge;
    Str s = { 0 };
    selector = gen_op(g, "OpBitwiseAnd %%u32 %s %s", selector, gen_u32(g, 7));
    str_add(g->arena, &s, "");
    for (uint32_t i = 0; i < n; i++) {
        labels[i] = gen_new_id(g, "b");
        if (i != other)
            str_printf(g->arena, &s, " %u %s", i, labels[i]);
        if (i != other && i == twice)
            str_printf(g->arena, &s, " 6 %s", labels[i]);
    }
    gen_say(g, "OpSelectionMerge %s None", merge);
    gen_say(g, "OpSwitch %s %s%s", selector, other < n ? labels[other] : merge, s.data);
    g->switch_merge = merge;
    for (uint32_t i = 0; i < n; i++) {
        /* Whether invocations meet in a case that they came to by different values is left to the
         * implementation (SPV_KHR_maximal_reconvergence, "Divergence"). */
        bool several = level == IN_INVOCATION && (i == other || i == twice);
        g->no_subgroups = no_subgroups || falls || several;
        gen_start_block(g, labels[i]);
        body(g, falls ? IN_INVOCATION : level, 1 + gen_pick(g, 3));
        gen_branch(g, falls && i + 1 < n && gen_chance(g, 60) ? labels[i + 1] : merge);
    }
    g->switch_merge = outer;
    g->no_subgroups = no_subgroups;
    gen_start_block(g, merge);
}

/* What a loop is made of. The counter is a variable or an OpPhi; `sum` is an OpPhi that each
 * iteration changes and that is looked at after the loop. */
typedef struct GenLoop {
    GenId header, test, start, next, back, merge;
    GenId limit, variable, counter, sum, sum_next;
    GenType type; /* of sum */
    GenLevel level;
    bool last; /* do while: the condition at the end */
} GenLoop;

static void loop_header(Gen *g, GenLoop *l)
{
    GenId before, first = gen_expression(g, l->type, 2);
    uint32_t most = 1 + gen_pick(g, g->depth ? 3 : 5);
    if (l->level == IN_WORKGROUP && gen_chance(g, 70))
        l->limit = gen_u32(g, most);
    else
        l->limit = gen_op(g, "OpUMod %%u32 %s %s",
                          gen_expression_at(g, gen_scalar(U32), 2, l->level), gen_u32(g, most + 1));
    if (gen_chance(g, 50)) {
        l->variable = new_variable(g, "%u32", gen_u32(g, 0));
        gen_say(g, "OpStore %s %s", l->variable, gen_u32(g, 0));
    }
    before = g->label;
    gen_branch(g, l->header);
    gen_start_block(g, l->header);
    if (!l->variable)
        gen_say(g, "%s = OpPhi %%u32 %s %s %s_next %s", l->counter, gen_u32(g, 0), before,
                l->counter, l->back);
    gen_say(g, "%s = OpPhi %s %s %s %s %s", l->sum, gen_type_name(g, l->type), first, before,
            l->sum_next, l->back);
    gen_say(g, "OpLoopMerge %s %s %s", l->merge, l->next,
            gen_chance(g, 80)   ? "None"
            : gen_chance(g, 50) ? "Unroll"
                                : "DontUnroll");
    gen_branch(g, l->last ? l->start : l->test);
    if (!l->last) {
        gen_start_block(g, l->test);
        GenId i = l->variable ? gen_op(g, "OpLoad %%u32 %s", l->variable) : l->counter;
        GenId more = gen_op(g, "OpULessThan %%bool %s %s", i, l->limit);
        gen_say(g, "OpBranchConditional %s %s %s", more, l->start, l->merge);
    }
    gen_start_block(g, l->start);
}

static void loop_continue(Gen *g, const GenLoop *l)
{
    gen_start_block(g, l->next);
    GenId x = gen_expression(g, l->type, 2);
    gen_say(g, "%s = %s %s %s %s", l->sum_next,
            l->type.kind == BOOL    ? "OpLogicalNotEqual"
            : gen_is_float(l->type) ? "OpFAdd"
                                    : "OpIAdd",
            gen_type_name(g, l->type), l->sum, x);
    gen_branch(g, l->back);
    gen_start_block(g, l->back);
    GenId i = l->variable ? gen_op(g, "OpLoad %%u32 %s", l->variable) : l->counter;
    gen_say(g, "%s_next = OpIAdd %%u32 %s %s", l->counter, i, gen_u32(g, 1));
    if (l->variable)
        gen_say(g, "OpStore %s %s_next", l->variable, l->counter);
    if (l->last) {
        GenId more = gen_op(g, "OpULessThan %%bool %s_next %s", l->counter, l->limit);
        gen_say(g, "OpBranchConditional %s %s %s", more, l->header, l->merge);
    } else {
        gen_say(g, "OpBranch %s", l->header);
    }
}

static void loop(Gen *g)
{
    GenLoop l = { .header = gen_new_id(g, "b"),
                  .test = gen_new_id(g, "b"),
                  .start = gen_new_id(g, "b"),
                  .next = gen_new_id(g, "b"),
                  .back = gen_new_id(g, "b"),
                  .merge = gen_new_id(g, "b"),
                  .counter = gen_new_id(g, "i"),
                  .sum = gen_new_id(g, "sum"),
                  .sum_next = gen_new_id(g, "sum") };
    GenId outer_merge = g->loop_merge, outer_continue = g->loop_continue;
    GenId outer_switch = g->switch_merge;
    GenLevel outer_flow = g->loop_flow, escape = g->escape, flow = g->flow;
    uint32_t values = g->n_values;
    l.level = condition_level(g);
    l.type = gen_any_type(g);
    l.last = gen_chance(g, 30);
    loop_header(g, &l);
    g->loop_merge = l.merge;
    g->loop_continue = l.next;
    g->switch_merge = NULL;
    /* breaks must not part those that the body counts on being together */
    g->loop_flow = gen_chance(g, 50) ? IN_INVOCATION : MAX(flow, l.level);
    if (!l.variable)
        gen_add_value(g, l.counter, gen_scalar(U32), g->loop_flow);
    gen_add_value(g, l.sum, l.type, IN_INVOCATION);
    body(g, g->loop_flow, 1 + gen_pick(g, 5));
    gen_branch(g, l.next);
    g->flow = IN_INVOCATION;
    loop_continue(g, &l);
    g->loop_merge = outer_merge;
    g->loop_continue = outer_continue;
    g->switch_merge = outer_switch;
    g->flow = flow;
    g->escape = escape;
    g->loop_flow = outer_flow;
    gen_start_block(g, l.merge);
    g->n_values = values;
    gen_add_value(g, l.sum, l.type, IN_INVOCATION);
}

/* if (c) break, continue, return: what comes after is run by fewer. */
static void jump(Gen *g)
{
    GenLevel level = condition_level(g), flow = MAX(g->flow, level);
    GenId c = gen_expression_at(g, gen_scalar(BOOL), 2, level), yes = gen_new_id(g, "b"),
          merge = gen_new_id(g, "b");
    uint32_t what = gen_pick(g, 8), values = g->n_values;
    gen_say(g, "OpSelectionMerge %s None", merge);
    gen_say(g, "OpBranchConditional %s %s %s", c, yes, merge);
    gen_start_block(g, yes);
    g->flow = flow;
    g->depth++;
    if (gen_chance(g, 30))
        gen_block(g, 1);
    g->depth--;
    g->escape = MAX(g->escape, flow);
    GenMark mark = { g->out.len, 0, g->label, g->dead };
    GenId x = g->is_main ? NULL : gen_expression(g, g->result, 2);
    if (mark.dead)
        gen_take_back(g, mark);
    if (what < 3 && g->loop_merge && flow <= g->loop_flow)
        gen_branch(g, g->loop_merge);
    else if (what < 6 && g->loop_merge)
        gen_branch(g, g->loop_continue);
    else if (what < 7 && g->switch_merge)
        gen_branch(g, g->switch_merge);
    else if (!g->dead && what == 7 && g->is_main && !(g->features & (SHARED | MATRICES)))
        gen_say(g, "OpReturn"), g->dead = true;
    else if (!g->dead && !g->is_main)
        gen_say(g, "OpReturnValue %s", x), g->dead = true;
    gen_branch(g, merge);
    g->n_values = values;
    gen_start_block(g, merge);
}

/* ---- matrices -------------------------------------------------------------------------------- */

const char *const gen_matrix_types[] = { "mat_a", "mat_b", "mat_c" };

void gen_matrix_shape(Gen *g, uint32_t use, uint32_t *rows, uint32_t *columns)
{
    *rows = use == 1 ? g->matrix.k : g->matrix.m;
    *columns = use == 0 ? g->matrix.k : g->matrix.n;
}

GenId gen_load_matrix(Gen *g, uint32_t use)
{
    uint32_t rows, columns, column_major = gen_pick(g, 2);
    gen_matrix_shape(g, use, &rows, &columns);
    uint32_t stride = (column_major ? rows : columns) + 16 * gen_pick(g, 2);
    GenId at = gen_expression_at(g, gen_scalar(U32), 1, IN_SUBGROUP);
    at = gen_op(g, "OpBitwiseAnd %%u32 %s %s", at, gen_u32(g, 0xf0));
    GenKind kind = use == 2 ? g->matrix.c : g->matrix.a;
    GenId p = gen_op(g, "OpAccessChain %%ptr_StorageBuffer_%s %%%s %s %s", gen_kind_names[kind],
                     use == 2 ? "matrix_c" : "matrix_ab", gen_u32(g, 0), at);
    return gen_op(g, "OpCooperativeMatrixLoadKHR %%%s %s %s %s", gen_matrix_types[use], p,
                  gen_u32(g, column_major), gen_u32(g, stride));
}

/* A variable or an element of an array of them. */
static GenId matrix_pointer(Gen *g, uint32_t use)
{
    uint32_t which = gen_pick(g, MATRIX_VARIABLES + 1);
    if (which < MATRIX_VARIABLES)
        return arena_printf(g->arena, "%%var_%s%u", gen_matrix_types[use], which);
    GenId index = gen_chance(g, 50) ? gen_u32(g, gen_pick(g, 2))
                                    : gen_expression_at(g, gen_scalar(U32), 1, IN_SUBGROUP);
    index = gen_op(g, "OpBitwiseAnd %%u32 %s %s", index, gen_u32(g, 1));
    return gen_op(g, "OpAccessChain %%ptr_Function_%s %%array_%s %s", gen_matrix_types[use],
                  gen_matrix_types[use], index);
}

static GenId get_matrix(Gen *g, uint32_t use)
{
    return gen_op(g, "OpLoad %%%s %s", gen_matrix_types[use], matrix_pointer(g, use));
}

static GenId muladd(Gen *g)
{
    bool sign_a = gen_is_signed(gen_scalar(g->matrix.a)),
         sign_c = gen_is_signed(gen_scalar(g->matrix.c));
    GenId a = gen_chance(g, 50) ? get_matrix(g, 0) : gen_load_matrix(g, 0);
    GenId b = gen_chance(g, 50) ? get_matrix(g, 1) : gen_load_matrix(g, 1), c = get_matrix(g, 2);
    const char *signs = gen_is_float(gen_scalar(g->matrix.a)) ? ""
                        : sign_a && sign_c
                            ? " MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR|"
                              "MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR"
                        : sign_c ? " MatrixCSignedComponentsKHR|MatrixResultSignedComponentsKHR"
                                 : "";
    return gen_op(g, "OpCooperativeMatrixMulAddKHR %%mat_c %s %s %s%s", a, b, c, signs);
}

static GenId element_wise(Gen *g, uint32_t use)
{
    GenKind kind = use == 2 ? g->matrix.c : g->matrix.a;
    bool is_f = kind >= F16;
    GenId a = get_matrix(g, use), b = gen_load_matrix(g, use);
    const char *name = gen_matrix_types[use];
    switch (gen_pick(g, 4)) {
    case 0: return gen_op(g, "%s %%%s %s", is_f ? "OpFNegate" : "OpSNegate", name, a);
    case 1:
        /* floating point: only what is exact however often it is done */
        return gen_op(g, "OpMatrixTimesScalar %%%s %s %s", name, a,
                      gen_constant(g, gen_scalar(kind), is_f ? (gen_chance(g, 50) ? -2 : 0) : 3));
    default:
        if (is_f && use != 2)
            return gen_op(g, "OpFNegate %%%s %s", name, b);
        return gen_op(g, "%s %%%s %s %s",
                      is_f                ? (gen_chance(g, 50) ? "OpFAdd" : "OpFSub")
                      : gen_chance(g, 50) ? "OpIAdd"
                                          : "OpISub",
                      name, a, b);
    }
}

/* Matrices of whole tiles are dealt by these on some GPUs: invocations hold other elements. */
static bool held_by_others(Gen *g, uint32_t use)
{
    uint32_t rows, columns;
    gen_matrix_shape(g, use, &rows, &columns);
    bool whole = rows % 16 == 0 && columns % 16 == 0;
    return !(g->has & (whole ? GEN_OWNERSHIP : GEN_SMALL_OWNERSHIP));
}

/* Element e of this invocation, read or written. */
static void matrix_element(Gen *g)
{
    uint32_t use = gen_pick(g, 3);
    if (held_by_others(g, use))
        return;
    GenType t = gen_scalar(use == 2 ? g->matrix.c : g->matrix.a);
    GenId p = matrix_pointer(g, use);
    GenId n = gen_op(g, "OpCooperativeMatrixLengthKHR %%u32 %%%s", gen_matrix_types[use]);
    GenId e = gen_op(g, "OpUMod %%u32 %s %s", gen_expression(g, gen_scalar(U32), 1), n);
    p = gen_op(g, "OpAccessChain %%ptr_Function_%s %s %s", gen_kind_names[t.kind], p, e);
    if (gen_chance(g, 40)) {
        GenId x = gen_expression(g, gen_scalar(S32), 2);
        x = gen_op(g, "OpBitwiseAnd %%s32 %s %s", x, gen_constant(g, gen_scalar(S32), 3));
        gen_say(g, "OpStore %s %s", p, gen_convert(g, gen_scalar(S32), t, x));
        return;
    }
    GenId x = gen_op(g, "OpLoad %s %s", gen_type_name(g, t), p);
    gen_add_value(g, x, t, IN_INVOCATION);
    GenId at = gen_op(g, "OpIMul %%u32 %s %s", g->invocation, gen_u32(g, GEN_SLOTS));
    at = gen_op(g, "OpIAdd %%u32 %s %s", at, gen_u32(g, GEN_SLOTS - 1 - g->checkpoints++ % 16));
    GenId slot = gen_op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%out %s %s", gen_u32(g, 0), at);
    gen_say(g, "OpStore %s %s", slot, gen_digest(g, t, x));
}

static void matrix_statement(Gen *g)
{
    uint32_t use = gen_pick(g, 3);
    GenId x;
    switch (gen_pick(g, 6)) {
    case 0: x = gen_load_matrix(g, use); break;
    case 1: x = element_wise(g, use); break;
    case 2: matrix_element(g); return;
    default:
        use = 2;
        x = muladd(g);
        break;
    }
    gen_say(g, "OpStore %s %s", matrix_pointer(g, use), x);
}

/* Where this subgroup's k-th matrix goes. */
void gen_store_matrix(Gen *g, uint32_t k, bool column_major)
{
    GenId group = gen_op(g, "OpLoad %%v3u32 %%wg_id"), n = gen_op(g, "OpLoad %%u32 %%sg_count");
    group = gen_op(g, "OpCompositeExtract %%u32 %s 0", group);
    group = gen_op(g, "OpIMul %%u32 %s %s", group, n);
    group = gen_op(g, "OpIAdd %%u32 %s %s", group, gen_op(g, "OpLoad %%u32 %%sg_id"));
    group = gen_op(g, "OpIMul %%u32 %s %s", group, gen_u32(g, 2048));
    group = gen_op(g, "OpIAdd %%u32 %s %s", group, gen_u32(g, k * 512));
    GenId p = gen_op(g, "OpAccessChain %%ptr_StorageBuffer_%s %%matrix_out %s %s",
                     gen_kind_names[g->matrix.c], gen_u32(g, 0), group);
    GenId m = k < MATRIX_VARIABLES ? arena_printf(g->arena, "%%var_mat_c%u", k) : NULL;
    if (!m)
        m = gen_op(g, "OpAccessChain %%ptr_Function_mat_c %%array_mat_c %s",
                   gen_u32(g, k - MATRIX_VARIABLES));
    m = gen_op(g, "OpLoad %%mat_c %s", m);
    gen_say(g, "OpCooperativeMatrixStoreKHR %s %s %s %s", p, m, gen_u32(g, column_major),
            gen_u32(g, column_major ? g->matrix.m : g->matrix.n));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void one_statement(Gen *g)
{
    uint32_t what = gen_pick(g, 100);
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
        if (gen_chance(g, 50))
            count(g, 2);
        else
            own_atomic(g, 2);
    } else if (what < 63 && g->features & SHARED && g->flow == IN_WORKGROUP && g->is_main) {
        share(g);
    } else if (what < 75 && g->features & MATRICES && g->is_main &&
               g->flow <= (g->has & GEN_RECONVERGES ? IN_SUBGROUP : IN_WORKGROUP)) {
        matrix_statement(g);
    } else if (what < 80 && g->n_functions && g->is_main && !g->no_subgroups) {
        call(g);
    } else if (what < 85) {
        assign_whole(g);
    } else {
        assign(g);
    }
}

void gen_block(Gen *g, uint32_t n)
{
    for (uint32_t i = 0; i < n && g->budget; i++) {
        uint32_t values = g->n_values;
        GenMark mark;
        g->budget--;
        if (gen_chance(g, 15)) {
            mark = (GenMark){ g->out.len, 0, g->label, g->dead };
            define(g);
            if (mark.dead)
                gen_take_back(g, mark);
            continue;
        }
        mark = gen_begin_node(g);
        one_statement(g);
        /* what a statement that is not there defined is not there; the generator goes on as if
         * there was as much */
        bool gone = gen_end_node(g, mark);
        if (mark.dead && !gone) {
            gen_take_back(g, mark);
            gone = true;
        }
        for (uint32_t v = values; gone && v < g->n_values; v++)
            g->value[v].id = gen_constant(g, g->value[v].type, 1);
    }
}
