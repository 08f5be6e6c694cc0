/* SPDX-License-Identifier: MIT
 *
 * Driver of code generation: makes the LLVM function, its entry block and the tables that lead from
 * an opcode to the function that emits it; reports errors.
 */
#include "cpu/emit/emit.h"
#include "cpu/emit/emit_internal.h"
#include "cpu/jit/jit.h"

#include <stddef.h>
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

static const EmitRule *const rule_tables[] = {
    emit_rules_value, emit_rules_memory, emit_rules_flow, emit_rules_arith, emit_rules_subgroup,
    emit_rules_atomic, emit_rules_qcom, emit_rules_tensor, emit_rules_image
};

static void make_rules(Emit *e)
{
    for (uint32_t t = 0; t < COUNT_OF(rule_tables); t++)
        for (const EmitRule *r = rule_tables[t]; r->fn; r++)
            e->n_rules = MAX(e->n_rules, r->op + 1u);
    e->rules = NEW_ARRAY(e->arena, const EmitRule *, e->n_rules);
    for (uint32_t t = 0; t < COUNT_OF(rule_tables); t++)
        for (const EmitRule *r = rule_tables[t]; r->fn; r++)
            e->rules[r->op] = r;
}

bool cpu_handles(uint16_t op)
{
    for (uint32_t t = 0; t < COUNT_OF(rule_tables); t++)
        for (const EmitRule *r = rule_tables[t]; r->fn; r++)
            if (r->op == op)
                return true;
    return false;
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

void emit_inst(Emit *e, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    if (info && info->flags & SPV_OPF_DEBUG)
        return;
    if (matrix_inst(e, i))
        return;
    const EmitRule *rule = emit_rule(e, i->op);
    if (i->op == SpvOpBitcast && (is_pointer(e, i->id) || is_pointer(e, spv_operand(i, 0))))
        memory_bitcast(e, i);
    else if (rule)
        rule->fn(e, i);
    else if (i->op != SpvOpLabel && i->op != SpvOpNoLine && i->op != SpvOpLine)
        emit_error(e, i, NULL, "%s is not supported on the CPU", spv_op_name(i->op));
}

void emit_block_insts(Emit *e, SpvBlock *block)
{
    together_block(e, block);
    for (const SpvInst *i = block->insts.first; i != block->insts.last && !e->failed; i = i->next)
        if (i->op != SpvOpPhi && i->op != SpvOpLabel)
            emit_inst(e, i);
}

/* ---- the function ---------------------------------------------------------------------------- */

LV emit_env(Emit *e, LLVMBuilderRef b, LT type, size_t offset)
{
    LV index = LLVMConstInt(e->i64, offset, 0);
    LV at = LLVMBuildGEP2(b, e->i8, e->env, &index, 1, "");
    return LLVMBuildLoad2(b, type, at, "");
}

LV emit_frame(Emit *e, uint64_t bytes)
{
    LV base = emit_env(e, e->entry_b, e->ptr, offsetof(CpuEnv, frame));
    LV index = LLVMConstInt(e->i64, e->kernel->frame_bytes, 0);
    e->kernel->frame_bytes += align_up(bytes, 64);
    return LLVMBuildGEP2(e->entry_b, e->i8, base, &index, 1, "");
}

void emit_count(Emit *e, DeviceStat stat, LV amount)
{
    if (!e->options->stats)
        return;
    LV stats = emit_env(e, e->b, e->ptr, offsetof(CpuEnv, stats));
    If f = if_begin(e, LLVMBuildIsNotNull(e->b, stats, ""));
    LV index = LLVMConstInt(e->i64, stat, 0);
    LV at = LLVMBuildGEP2(e->b, e->i64, stats, &index, 1, "");
    LV sum = LLVMBuildAdd(e->b, LLVMBuildLoad2(e->b, e->i64, at, ""),
                          amount ? amount : LLVMConstInt(e->i64, 1, 0), "");
    LLVMBuildStore(e->b, sum, at);
    if_end(e, &f);
}

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

/* Builders for the body of e->fn. */
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

/* Variables that other functions may be the first to touch. */
static void initialise_shared(Emit *e)
{
    for (SpvInst *i = e->module->functions->next ? e->module->globals.first : NULL; i; i = i->next)
        if (i->op == SpvOpVariable && spv_n_operands(i) > 1 &&
            (spv_operand(i, 0) == SpvStorageClassPrivate ||
             spv_operand(i, 0) == SpvStorageClassWorkgroup))
            emit_value(e, i->id);
}

bool emit_module(Emit *e)
{
    make_types(e);
    make_rules(e);
    e->fn = LLVMAddFunction(e->ll, CPU_KERNEL_NAME, LLVMFunctionType(e->void_, &e->ptr, 1, 0));
    e->env = LLVMGetParam(e->fn, 0);
    emit_open_function(e);
    value_begin(e);
    if (builtin_begin(e) && kernel_begin(e) && memory_begin(e) && matrix_begin(e) &&
        flow_plan(e) && !e->failed) {
        initialise_shared(e);
        flow_emit(e);
        matrix_end(e);
    }
    emit_close_function(e);
    return !e->failed;
}
