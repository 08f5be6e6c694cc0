/* SPDX-License-Identifier: MIT
 *
 * Functions and blocks of shaders as they are written: logical pointers across calls, where
 * variables stand, what merge instructions name (SPIR-V 2.11, 2.16.1, 2.16.2, 3.3.17).
 */
#include "check/internal.h"

/* ---- logical pointers ------------------------------------------------------------------------ */

static bool is_logical(Checker *c)
{
    const SpvInst *i = c->m->globals.first;
    while (i && i->op != SpvOpMemoryModel)
        i = i->next;
    return i && (spv_operand(i, 0) == SpvAddressingModelLogical ||
                 spv_operand(i, 0) == SpvAddressingModelPhysicalStorageBuffer64);
}

/* The module's capabilities let a pointer into that memory be a value like any other. */
static bool is_variable_pointer(Checker *c, uint32_t storage)
{
    switch (storage) {
    case SpvStorageClassStorageBuffer:
        return has_capability(c, SpvCapabilityVariablePointersStorageBuffer);
    case SpvStorageClassWorkgroup: return has_capability(c, SpvCapabilityVariablePointers);
    case SpvStorageClassPhysicalStorageBuffer: return true;
    default: return false;
    }
}

static bool may_be_passed(Checker *c, uint32_t storage)
{
    switch (storage) {
    case SpvStorageClassUniformConstant:
    case SpvStorageClassFunction:
    case SpvStorageClassPrivate:
    case SpvStorageClassWorkgroup:
    case SpvStorageClassAtomicCounter:
    case SpvStorageClassTileImageEXT:
    case SpvStorageClassShaderRecordBufferKHR: return true;
    default: return is_variable_pointer(c, storage);
    }
}

static const char *storage_name(uint32_t storage)
{
    const char *name = spv_enum_name(SPV_OPERAND_StorageClass, storage);
    return name ? name : "?";
}

static void check_arguments(Checker *c, SpvInst *i)
{
    if (!is_logical(c))
        return;
    for (uint32_t k = 1; k < spv_n_operands(i); k++) {
        const SpvInst *def = spv_def(c->m, spv_operand(i, k));
        const SpvType *p = operand_type(c, i, k);
        if (!p || p->kind != SPV_POINTER)
            continue;
        bool declared = def->op == SpvOpVariable || def->op == SpvOpUntypedVariableKHR ||
                        def->op == SpvOpFunctionParameter;
        if (!may_be_passed(c, p->storage))
            broken(c, i, "argument %u points to storage class %s", k - 1, storage_name(p->storage));
        else if (!declared && p->storage != SpvStorageClassUniformConstant &&
                 !is_variable_pointer(c, p->storage))
            broken(c, i, "argument %u points into a variable, where there are no variable pointers",
                   k - 1);
    }
}

static void check_given(Checker *c, SpvInst *i)
{
    const SpvType *t = i->type ? spv_type(c->m, i->type) : NULL;
    bool may_be_any = i->op == SpvOpConstantNull || i->op == SpvOpPtrAccessChain ||
                      i->op == SpvOpInBoundsPtrAccessChain;
    if (may_be_any && t && t->storage != SpvStorageClassStorageBuffer &&
        t->storage != SpvStorageClassWorkgroup)
        return;
    if (t && t->kind == SPV_POINTER && is_logical(c) && !is_variable_pointer(c, t->storage) &&
        t->storage != SpvStorageClassUniformConstant)
        broken(c, i, "%s gives a pointer to storage class %s", spv_op_name(i->op),
               storage_name(t->storage));
}

static void check_compared(Checker *c, SpvInst *i)
{
    const SpvType *p = operand_type(c, i, 0);
    if (!p || p->kind != SPV_POINTER || !is_logical(c))
        return;
    if (p->storage == SpvStorageClassPhysicalStorageBuffer)
        broken(c, i, "addresses of buffers are compared as integers");
    else if (!is_variable_pointer(c, p->storage))
        broken(c, i, "pointers to storage class %s are no variable pointers",
               storage_name(p->storage));
}

static void check_kept(Checker *c, SpvInst *i)
{
    const SpvType *p = result_type(c, i), *t = p ? p->element : NULL;
    uint32_t storage = spv_operand(i, 0);
    if (i->op == SpvOpUntypedVariableKHR)
        t = spv_n_operands(i) > 1 ? spv_type(c->m, spv_operand(i, 1)) : NULL;
    if (!t || t->kind != SPV_POINTER || !is_logical(c) ||
        t->storage == SpvStorageClassPhysicalStorageBuffer)
        return;
    if (!is_variable_pointer(c, t->storage))
        broken(c, i, "a variable of pointers to storage class %s", storage_name(t->storage));
    else if (storage != SpvStorageClassFunction && storage != SpvStorageClassPrivate)
        broken(c, i, "variable pointers in storage class %s", storage_name(storage));
}

/* ---- matrices behind variable pointers ------------------------------------------------------- */

/* Whether a chain leads into a matrix. */
static bool enters_matrix(Checker *c, const SpvInst *i)
{
    bool untyped =
        i->op == SpvOpUntypedAccessChainKHR || i->op == SpvOpUntypedInBoundsAccessChainKHR;
    const SpvType *p = untyped ? NULL : operand_type(c, i, 0);
    const SpvType *t = untyped ? spv_type(c->m, spv_operand(i, 0)) : p ? p->element : NULL;
    uint64_t index;
    for (uint32_t k = 1u + untyped; t && k < spv_n_operands(i); k++) {
        if (t->kind == SPV_MATRIX)
            return true;
        if (t->kind != SPV_STRUCT)
            t = t->element;
        else
            t = spv_constant(c->m, spv_operand(i, k), &index) && index < t->count
                    ? t->members[index]
                    : NULL;
    }
    return false;
}

static bool is_chain(uint16_t op)
{
    return op == SpvOpAccessChain || op == SpvOpInBoundsAccessChain ||
           op == SpvOpUntypedAccessChainKHR || op == SpvOpUntypedInBoundsAccessChainKHR;
}

static bool is_matrix_type(const SpvType *t) { return t->kind == SPV_MATRIX; }

static bool has_matrices(Checker *c)
{
    for (const SpvInst *i = c->m->globals.first; i && !c->matrices; i = i->next)
        c->matrices = i->op == SpvOpTypeMatrix ? 2 : 0;
    c->matrices = c->matrices ? c->matrices : 1;
    return c->matrices == 2;
}

static void check_variable_pointer(Checker *c, SpvInst *i)
{
    const SpvType *p = result_type(c, i);
    const SpvInst *from;
    if (!p || p->kind != SPV_POINTER || !is_logical(c) || !has_matrices(c) ||
        p->storage == SpvStorageClassPhysicalStorageBuffer || !is_variable_pointer(c, p->storage))
        return;
    if (p->element && holds(c, p->element, &c->holds_columns, is_matrix_type))
        broken(c, i, "a variable pointer to what holds a matrix");
    for (CheckTrace t = trace(c, i->id); (from = trace_next(&t));)
        for (const SpvInst *k = from; k && is_chain(k->op);
             k = spv_def(c->m, spv_operand(k, k->op == SpvOpUntypedAccessChainKHR ||
                                                  k->op == SpvOpUntypedInBoundsAccessChainKHR)))
            if (enters_matrix(c, k)) {
                broken(c, i, "a variable pointer to a part of a matrix, by %%%u", k->id);
                return;
            }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool stands_with_variables(const SpvInst *i)
{
    return i->op == SpvOpVariable || i->op == SpvOpUntypedVariableKHR || i->op == SpvOpLabel ||
           i->op == SpvOpLine || i->op == SpvOpNoLine || i->op == SpvOpNop || spv_is_nonsemantic(i);
}

static void check_first(Checker *c, SpvInst *i)
{
    const SpvInst *before = i->prev;
    if (!i->block || !c->function)
        return;
    while (before && stands_with_variables(before))
        before = before->prev;
    if (before || i->block != c->function->first)
        broken(c, i, "a variable behind other instructions, or outside the first block");
}

static void check_one_merge(Checker *c, const SpvInst *i)
{
    uint64_t any;
    SpvId merge = spv_operand(i, 0);
    if (!has_capability(c, SpvCapabilityShader))
        return;
    if (map_get(&c->merges, merge, &any))
        broken(c, i, "%%%u is the merge block of another header", merge);
    map_put(c->arena, &c->merges, merge, 1);
    if (i->block && merge == i->block->id)
        broken(c, i, "the merge block is the header itself");
}

static void check_selection(Checker *c, SpvInst *i) { check_one_merge(c, i); }

static void check_loop(Checker *c, SpvInst *i)
{
    static const uint32_t against[] = { SpvLoopControlUnrollMask, SpvLoopControlPeelCountMask,
                                        SpvLoopControlPartialCountMask };
    uint32_t control = spv_operand(i, 2), at = 3;
    check_one_merge(c, i);
    if (spv_operand(i, 0) == spv_operand(i, 1))
        broken(c, i, "%%%u is merge block and continue target", spv_operand(i, 0));
    for (uint32_t k = 0; k < COUNT_OF(against); k++)
        if (control & SpvLoopControlDontUnrollMask && control & against[k])
            broken(c, i, "DontUnroll beside %s",
                   spv_enum_name(SPV_OPERAND_LoopControl, against[k]));
    for (uint32_t bit = SpvLoopControlDependencyLengthMask;
         bit < SpvLoopControlIterationMultipleMask; bit <<= 1)
        at += (control & bit) != 0;
    if (control & SpvLoopControlIterationMultipleMask && at < spv_n_operands(i) &&
        !spv_operand(i, at))
        broken(c, i, "iterations are a multiple of 0");
}

static void check_switch(Checker *c, SpvInst *i)
{
    if (has_capability(c, SpvCapabilityShader) && (!i->prev || i->prev->op != SpvOpSelectionMerge))
        broken(c, i, "a switch without a merge block");
}

static const CheckRow rows[] = {
    { { "logical-argument", "SPIR-V 2.16.1",
        "Logical pointers that are passed lead to whole variables, but for variable pointers." },
      { SpvOpFunctionCall },
      NULL,
      check_arguments },
    { { "logical-pointer", "SPIR-V 2.16.1",
        "Only variable pointers are given back, chosen or merged." },
      { SpvOpFunction, SpvOpPhi, SpvOpSelect, SpvOpFunctionCall, SpvOpConstantNull,
        SpvOpPtrAccessChain, SpvOpInBoundsPtrAccessChain },
      NULL,
      check_given },
    { { "pointer-comparison", "SPIR-V 2.16.1, 3.3.8", "Variable pointers are compared." },
      { SpvOpPtrEqual, SpvOpPtrNotEqual, SpvOpPtrDiff },
      NULL,
      check_compared },
    { { "pointer-variable", "SPIR-V 2.16.1",
        "Logical pointers in variables are variable pointers, in memory of one invocation." },
      { SpvOpVariable, SpvOpUntypedVariableKHR },
      NULL,
      check_kept },
    { { "pointer-matrix", "SPIR-V 2.16.1", "Variable pointers lead to no matrix and into none." },
      { SpvOpPhi, SpvOpSelect, SpvOpLoad, SpvOpFunctionCall, SpvOpPtrAccessChain,
        SpvOpInBoundsPtrAccessChain, SpvOpUntypedPtrAccessChainKHR,
        SpvOpUntypedInBoundsPtrAccessChainKHR },
      NULL,
      check_variable_pointer },
    { { "variable-first", "SPIR-V 2.4", "A function's variables come before all else in it." },
      { SpvOpVariable, SpvOpUntypedVariableKHR },
      NULL,
      check_first },
    { { "selection-merge", "SPIR-V 2.11", "A block is the merge block of one header." },
      { SpvOpSelectionMerge },
      NULL,
      check_selection },
    { { "loop-merge", "SPIR-V 2.11, 3.2.23",
        "A loop's blocks are different ones, and its controls do not contradict each other." },
      { SpvOpLoopMerge },
      NULL,
      check_loop },
    { { "switch-merge", "SPIR-V 2.11", "A shader's switch names its merge block." },
      { SpvOpSwitch },
      NULL,
      check_switch },
};
const CheckFamily check_core_structure = { rows, COUNT_OF(rows) };
