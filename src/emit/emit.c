/* SPDX-License-Identifier: MIT
 *
 * Driver of code generation: makes the LLVM function, its entry block and the tables that lead from
 * an opcode to the function that emits it; reports errors.
 */
#include "emit/internal.h"
#include "emit/ops.h"

#include <stdio.h>

void emit_error(Emit *e, const SpvInst *i, const char *rule, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!e->failed)
        spv_error(e->module, i, e->sink, rule, "%s", text);
    e->failed = true;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static const EmitRule *const own_rules[] = { emit_rules_value,
                                             emit_rules_pointer,
                                             emit_rules_memory,
                                             emit_rules_address,
                                             emit_rules_arith,
                                             emit_rules_tensor,
                                             NULL };

static const EmitRule *find_rule(const EmitRule *const *tables, uint16_t op)
{
    for (; *tables; tables++)
        for (const EmitRule *r = *tables; r->fn; r++)
            if (r->op == op)
                return r;
    return NULL;
}

bool emit_handles(const EmitRule *const *rules, uint16_t op)
{
    return find_rule(own_rules, op) || find_rule(rules, op);
}

static void count_rules(Emit *e, const EmitRule *const *tables)
{
    for (; *tables; tables++)
        for (const EmitRule *r = *tables; r->fn; r++)
            e->n_rules = MAX(e->n_rules, r->op + 1u);
}

static void enter_rules(Emit *e, const EmitRule *const *tables)
{
    for (; *tables; tables++)
        for (const EmitRule *r = *tables; r->fn; r++)
            e->rules[r->op] = r;
}

static void make_rules(Emit *e)
{
    count_rules(e, own_rules);
    count_rules(e, e->target->rules);
    e->rules = NEW_ARRAY(e->arena, const EmitRule *, e->n_rules);
    enter_rules(e, own_rules);
    enter_rules(e, e->target->rules);
}

const EmitRule *emit_rule(const Emit *e, uint16_t op)
{
    return op < e->n_rules ? e->rules[op] : NULL;
}

static bool is_pointer(Emit *e, SpvId id)
{
    const SpvType *t = spv_type_of(e->module, id);
    return t && t->kind == SPV_POINTER;
}

static void emit_one(Emit *e, const SpvInst *i)
{
    if (e->target->inst && e->target->inst(e, i))
        return;
    const EmitRule *rule = emit_rule(e, i->op);
    if (i->op == SpvOpBitcast && (is_pointer(e, i->id) || is_pointer(e, spv_operand(i, 0))))
        address_bitcast(e, i);
    else if (rule)
        rule->fn(e, i);
    else if (i->op != SpvOpLabel && i->op != SpvOpNoLine && i->op != SpvOpLine)
        emit_error(e, i, NULL, "%s is not supported on %s", spv_op_name(i->op), e->target->name);
}

void emit_inst(Emit *e, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    if (info && info->flags & SPV_OPF_DEBUG)
        return;
    LLVMMetadataRef before = debug_at(e, i);
    if (e->target->reached)
        e->target->reached(e, i);
    emit_one(e, i);
    debug_back(e, before);
}

void emit_block_insts(Emit *e, SpvBlock *block)
{
    if (e->target->prepare)
        e->target->prepare(e, block);
    for (const SpvInst *i = block->insts.first; i != block->insts.last && !e->failed; i = i->next)
        if (i->op != SpvOpPhi && i->op != SpvOpLabel)
            emit_inst(e, i);
}

/* ---- the function ---------------------------------------------------------------------------- */

static void make_types(Emit *e)
{
    e->i1 = LLVMInt1TypeInContext(e->cx);
    e->i8 = LLVMInt8TypeInContext(e->cx);
    e->i16 = LLVMInt16TypeInContext(e->cx);
    e->i32 = LLVMInt32TypeInContext(e->cx);
    e->i64 = LLVMInt64TypeInContext(e->cx);
    e->f16 = LLVMHalfTypeInContext(e->cx);
    e->bf16 = LLVMBFloatTypeInContext(e->cx);
    e->f32 = LLVMFloatTypeInContext(e->cx);
    e->f64 = LLVMDoubleTypeInContext(e->cx);
    e->ptr = LLVMPointerTypeInContext(e->cx, 0);
    e->void_ = LLVMVoidTypeInContext(e->cx);
}

void emit_open_function(Emit *e)
{
    LLVMBasicBlockRef allocas = LLVMAppendBasicBlockInContext(e->cx, e->fn, "allocas");
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(e->cx, e->fn, "entry");
    e->b = LLVMCreateBuilderInContext(e->cx);
    e->entry_b = LLVMCreateBuilderInContext(e->cx);
    e->alloca_b = LLVMCreateBuilderInContext(e->cx);
    LLVMPositionBuilderAtEnd(e->alloca_b, allocas);
    LLVMPositionBuilderBefore(e->alloca_b, LLVMBuildBr(e->alloca_b, entry));
    LLVMPositionBuilderAtEnd(e->entry_b, entry);
    LLVMPositionBuilderAtEnd(e->b, entry);
}

void emit_close_function(Emit *e)
{
    LLVMDisposeBuilder(e->b);
    LLVMDisposeBuilder(e->entry_b);
    LLVMDisposeBuilder(e->alloca_b);
}

/* Defines shared variables in the entry block: otherwise a called function might be the first to
 * use one, and define it there. */
static void initialise_shared(Emit *e)
{
    for (SpvInst *i = e->module->functions->next ? e->module->globals.first : NULL; i; i = i->next)
        if (i->op == SpvOpVariable && spv_n_operands(i) > 1 &&
            (spv_operand(i, 0) == SpvStorageClassPrivate ||
             spv_operand(i, 0) == SpvStorageClassWorkgroup))
            emit_value(e, i->id);
}

void emit_begin_called(Emit *e)
{
    value_begin(e);
    held_begin(e);
    variables_begin_called(e);
}

bool emit_module(Emit *e, const char *name)
{
    const EmitTarget *t = e->target;
    make_types(e);
    make_rules(e);
    e->fn = LLVMAddFunction(e->ll, name, LLVMFunctionType(e->void_, &e->ptr, 1, 0));
    e->env = LLVMGetParam(e->fn, 0);
    emit_open_function(e);
    debug_begin(e);
    debug_open_function(e, e->entry->function);
    value_begin(e);
    held_begin(e);
    if (t->begin(e) && arguments_begin(e) && variables_begin(e) && t->plan(e) && !e->failed) {
        initialise_shared(e);
        t->blocks(e);
    }
    emit_close_function(e);
    debug_end(e);
    return !e->failed;
}
