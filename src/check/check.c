/* SPDX-License-Identifier: MIT
 *
 * Asks every rule about every instruction it is for. Rows hang in a chain by opcode, so that the
 * work is linear in the module.
 */
#include "check/internal.h"

#include <stdio.h>

enum { MAX_OP = 8192, MAX_ROWS = 256 };

/* What a module has gone through: nothing but the reader; its older and newer parts are in terms of
 * what devices know; its specialisation constants are constants. */
enum { AS_READ = 1, AS_TAKEN = 2, AS_SPECIALISED = 4, LATER = AS_TAKEN | AS_SPECIALISED };

static const struct {
    const CheckFamily *family;
    int when;
} families[] = {
    { &check_core_types, LATER },
    { &check_core_flow, LATER },
    { &check_core_values, LATER },
    { &check_core_composites, LATER },
    { &check_core_floats, LATER },
    { &check_core_memory, LATER },
    { &check_core_image, LATER },
    { &check_core_builtins, LATER },
    { &check_core_group, LATER },
    { &check_core_kernel, LATER },
    { &check_core_semantics, LATER },
    { &check_core_decorations, AS_READ },
    { &check_core_layout, AS_READ | AS_SPECIALISED },
    { &check_khr_untyped_pointers, AS_READ },
    { &check_core_widths, AS_READ },
    { &check_core_access, AS_READ },
    { &check_core_structure, AS_READ },
    { &check_core_control_flow, AS_READ },
    { &check_core_capabilities, AS_READ },
    { &check_core_constants, AS_READ },
    { &check_clspv_reflection, AS_READ },
    { &check_glsl, LATER },
    { &check_opencl, LATER },
    { &check_khr_cooperative_matrix, LATER },
    { &check_qcom_conversion, LATER },
    { &check_qcom_wait_queues, LATER },
    { &check_nv_cooperative_matrix2, LATER },
    { &check_nv_tensor_addressing, LATER },
    { &check_nv_decode_vector, LATER },
};

const CheckRule *check_rule(uint32_t n)
{
    for (uint32_t f = 0; f < COUNT_OF(families); f++) {
        const CheckFamily *family = families[f].family;
        if (n < family->n)
            return &family->rows[n].rule;
        n -= family->n;
    }
    return NULL;
}

void broken(Checker *c, const SpvInst *i, const char *fmt, ...)
{
    char text[400], rule[200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    snprintf(rule, sizeof(rule), "%s (%s)", c->row->rule.id, c->row->rule.section);
    spv_error(c->m, i, c->sink, rule, "%s", text);
    c->failed = true;
}

void doubtful(Checker *c, const SpvInst *i, const char *fmt, ...)
{
    char rule[200];
    DiagLoc loc = spv_loc(c->arena, c->m, i);
    va_list args;
    if (c->again)
        return;
    snprintf(rule, sizeof(rule), "%s (%s)", c->row->rule.id, c->row->rule.section);
    va_start(args, fmt);
    diag_v(c->sink, DIAG_WARNING, &loc, rule, fmt, args);
    va_end(args);
}

/* ---- questions ------------------------------------------------------------------------------- */

enum { NOT_VULKAN = 1, VULKAN_MODEL, VULKAN_SHADER };

static uint8_t environment(Checker *c)
{
    for (const SpvInst *i = c->m->globals.first; i && !c->vulkan; i = i->next)
        if (i->op == SpvOpEntryPoint && spv_operand(i, 0) == SpvExecutionModelGLCompute)
            c->vulkan = VULKAN_SHADER;
    for (const SpvInst *i = c->m->globals.first; i && !c->vulkan; i = i->next)
        if (i->op == SpvOpMemoryModel && spv_operand(i, 1) == SpvMemoryModelVulkan)
            c->vulkan = VULKAN_MODEL;
    c->vulkan = c->vulkan ? c->vulkan : NOT_VULKAN;
    return c->vulkan;
}

bool is_vulkan(Checker *c) { return environment(c) >= VULKAN_MODEL; }

bool is_shader(Checker *c) { return environment(c) == VULKAN_SHADER; }

const SpvType *operand_type(Checker *c, const SpvInst *i, uint32_t n)
{
    if (n >= spv_n_operands(i))
        return NULL;
    const SpvInst *def = spv_def(c->m, spv_operand(i, n));
    return def && def->type && def->op != SpvOpFunction ? spv_type(c->m, def->type) : NULL;
}

SpvFunction *function_of(Checker *c, SpvId id)
{
    uint64_t f = 0;
    if (!c->bodies.len)
        for (SpvFunction *k = c->m->functions; k; k = k->next)
            map_put(c->arena, &c->bodies, k->def->id, (uint64_t)(uintptr_t)k);
    map_get(&c->bodies, id, &f);
    return (SpvFunction *)(uintptr_t)f;
}

const SpvType *result_type(Checker *c, const SpvInst *i)
{
    return i->type ? spv_type(c->m, i->type) : NULL;
}

const SpvType *want_value(Checker *c, const SpvInst *i, uint32_t n)
{
    const SpvType *t = operand_type(c, i, n);
    if (!t && n < spv_n_operands(i))
        broken(c, i, "operand %%%u is not a value", spv_operand(i, n));
    else if (!t)
        broken(c, i, "operand %u is missing", n);
    return t;
}

const SpvType *component(const SpvType *t)
{
    while ((t->kind == SPV_VECTOR || t->kind == SPV_COOPMAT || t->kind == SPV_MATRIX) && t->element)
        t = t->element;
    return t;
}

uint32_t components(const SpvType *t)
{
    switch (t->kind) {
    case SPV_BOOL:
    case SPV_INT:
    case SPV_FLOAT:
    case SPV_POINTER: return 1;
    case SPV_VECTOR: return t->count;
    default: return 0;
    }
}

bool of_kind(const SpvType *t, SpvKind kind)
{
    return t && (t->kind == kind || (t->kind == SPV_VECTOR && component(t)->kind == kind));
}

bool is_numeric(const SpvType *t) { return of_kind(t, SPV_INT) || of_kind(t, SPV_FLOAT); }

bool is_matrix(const SpvType *t) { return t && t->kind == SPV_COOPMAT; }

bool same_shape(const SpvType *a, const SpvType *b)
{
    if (is_matrix(a) != is_matrix(b) || (a->kind == SPV_VECTOR) != (b->kind == SPV_VECTOR))
        return false;
    if ((is_matrix(a) || a->kind == SPV_VECTOR) && !(a->count_known && b->count_known))
        return true; /* until specialisation has decided it */
    if (is_matrix(a))
        return a->scope == b->scope && a->rows == b->rows && a->cols == b->cols && a->use == b->use;
    return components(a) == components(b);
}

bool changes_use(const SpvType *from, const SpvType *to)
{
    return is_matrix(from) && is_matrix(to) && from->scope == to->scope && from->rows == to->rows &&
           from->cols == to->cols && from->use == SpvCooperativeMatrixUseMatrixAccumulatorKHR &&
           to->use != SpvCooperativeMatrixUseMatrixAccumulatorKHR;
}

bool alike(const SpvType *a, const SpvType *b)
{
    const SpvType *x = component(a), *y = component(b);
    return same_shape(a, b) && x->kind == y->kind && x->bits == y->bits &&
           (x->kind != SPV_FLOAT || x->format == y->format);
}

bool holds(Checker *c, const SpvType *t, uint8_t **asked, bool (*is)(const SpvType *t))
{
    bool found = false;
    if (!t || t->kind == SPV_POINTER || t->id >= c->m->bound)
        return false;
    if (!*asked)
        *asked = NEW_ARRAY(c->arena, uint8_t, c->m->bound);
    if ((*asked)[t->id])
        return (*asked)[t->id] == 2;
    if (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY)
        found = holds(c, t->element, asked, is);
    for (uint32_t k = 0; t->kind == SPV_STRUCT && k < t->count && !found; k++)
        found = holds(c, t->members[k], asked, is);
    found |= is(t);
    (*asked)[t->id] = found ? 2 : 1;
    return found;
}

bool same_type(const SpvType *a, const SpvType *b) { return a && b && a->id == b->id; }

const char *use_name(uint32_t use)
{
    static const char *const names[] = { "A", "B", "accumulator" };
    return use < COUNT_OF(names) ? names[use] : "of no use";
}

static const char *scope_name(uint32_t scope)
{
    return scope == SpvScopeSubgroup ? "subgroup" : scope == SpvScopeWorkgroup ? "workgroup" : "?";
}

const char *type_name(Checker *c, const SpvType *t)
{
    if (!t)
        return "no type";
    switch (t->kind) {
    case SPV_VOID: return "void";
    case SPV_BOOL: return "bool";
    case SPV_INT: return arena_printf(c->arena, "%c%u", t->is_signed ? 's' : 'u', t->bits);
    case SPV_FLOAT:
        return spv_float_info(t->format) ? spv_float_info(t->format)->name
                                         : arena_printf(c->arena, "f%u", t->bits);
    case SPV_VECTOR:
        return arena_printf(c->arena, "a vector of %u %s", t->count, type_name(c, t->element));
    case SPV_MATRIX: return arena_printf(c->arena, "a matrix of %u columns", t->count);
    case SPV_COOPMAT:
        return arena_printf(c->arena, "a %ux%u cooperative matrix of %s (%s, %s)", t->rows, t->cols,
                            type_name(c, t->element), use_name(t->use), scope_name(t->scope));
    case SPV_POINTER: return "a pointer";
    case SPV_STRUCT: return "a structure";
    case SPV_ARRAY:
    case SPV_RUNTIME_ARRAY: return "an array";
    default: return "an opaque type";
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

typedef struct Chains {
    uint16_t first[MAX_OP]; /* 1 + place in next, by opcode */
    struct {
        const CheckRow *row;
        uint16_t next;
    } *link;
    uint32_t n;
} Chains;

static void hang(Arena *a, Chains *k, uint16_t op, const CheckRow *row)
{
    if (op >= MAX_OP || k->n >= UINT16_MAX)
        return;
    (void)a;
    k->link[k->n].row = row;
    k->link[k->n].next = k->first[op];
    k->first[op] = (uint16_t)++k->n;
}

static Chains *build_chains(Arena *a, int when)
{
    Chains *k = NEW(a, Chains);
    uint32_t n_ops;
    const SpvOpInfo *ops = spv_all_ops(&n_ops);
    k->link = arena_alloc_array(a, sizeof(*k->link), 16384);
    for (uint32_t f = 0; f < COUNT_OF(families); f++)
        for (uint32_t r = 0; families[f].when & when && r < families[f].family->n; r++) {
            const CheckRow *row = &families[f].family->rows[r];
            for (uint32_t o = 0; o < COUNT_OF(row->ops) && row->ops[o]; o++)
                hang(a, k, row->ops[o], row);
            for (uint32_t o = 0; row->group && o < n_ops; o++)
                if (row->group(ops[o].op) && k->n < 16000)
                    hang(a, k, ops[o].op, row);
        }
    return k;
}

static void ask(Checker *c, const Chains *k, SpvInst *i)
{
    if (i->op >= MAX_OP)
        return;
    for (uint32_t l = k->first[i->op]; l; l = k->link[l - 1].next) {
        c->row = k->link[l - 1].row;
        c->row->check(c, i);
    }
}

/* A specialisation constant's operation obeys the rules of its opcode. */
static void ask_operation(Checker *c, const Chains *k, const SpvInst *i)
{
    if (i->n_words < 4)
        return;
    SpvInst *made = NEW(c->arena, SpvInst);
    *made = *i;
    made->op = (uint16_t)spv_operand(i, 0);
    made->n_words = (uint16_t)(i->n_words - 1);
    made->words = NEW_ARRAY(c->arena, uint32_t, i->n_words);
    made->words[0] = (uint32_t)made->n_words << 16 | made->op;
    made->words[1] = i->type;
    made->words[2] = i->id;
    memcpy(made->words + 3, i->words + 4, (i->n_words - 4u) * sizeof(uint32_t));
    made->first_operand = 3;
    const SpvOpInfo *info = spv_op_info(made->op);
    if (info && info->has_type && info->has_result)
        ask(c, k, made);
}

static bool walk(Arena *scratch, SpvModule *m, DiagSink *sink, int when)
{
    jmp_buf out_of_memory, *outer = m->arena->on_failure;
    if (setjmp(out_of_memory)) {
        m->arena->on_failure = outer;
        diag(sink, DIAG_ERROR, NULL, NULL, "out of memory while checking the module");
        return false;
    }
    scratch->on_failure = &out_of_memory;
    if (!outer)
        m->arena->on_failure = &out_of_memory;
    Checker *c = NEW(scratch, Checker);
    c->m = m;
    c->sink = sink;
    c->arena = scratch;
    c->again = when == AS_SPECIALISED;
    const Chains *k = build_chains(scratch, when);
    for (SpvInst *i = m->globals.first; i; i = i->next) {
        ask(c, k, i);
        if (i->op == SpvOpSpecConstantOp)
            ask_operation(c, k, i);
    }
    for (SpvFunction *f = m->functions; f; f = f->next) {
        c->function = f;
        for (SpvInst *i = f->head.first; i; i = i->next)
            ask(c, k, i);
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first; i; i = i->next)
                ask(c, k, i);
    }
    c->function = NULL;
    for (SpvInst *i = m->trailing.first; i; i = i->next)
        ask(c, k, i);
    m->arena->on_failure = outer;
    return !c->failed;
}

static bool check(SpvModule *m, DiagSink *sink, int when)
{
    Arena scratch = { 0 };
    bool good = walk(&scratch, m, sink, when);
    arena_free(&scratch);
    return good;
}

bool check_read(SpvModule *m, DiagSink *sink) { return check(m, sink, AS_READ); }

bool check_module(SpvModule *m, DiagSink *sink) { return check(m, sink, AS_TAKEN); }

bool check_specialised(SpvModule *m, DiagSink *sink) { return check(m, sink, AS_SPECIALISED); }
