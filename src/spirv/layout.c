/* SPDX-License-Identifier: MIT
 *
 * Sorts a module's instructions into the preamble, functions and blocks, following the logical
 * layout of 2.4. Lines (OpLine, OpNoLine and non-semantic instructions) may be between the parts;
 * they are held back until the part that they precede is known, so that writing puts them back in
 * place.
 */
#include "spirv/internal.h"

typedef enum State { IN_PREAMBLE, IN_GRAPH, IN_HEAD, IN_BLOCK, AFTER_BLOCK, AFTER_FUNCTION } State;

typedef struct ModuleLayout {
    SpvModule *m;
    DiagSink *sink;
    State state;
    uint32_t section, n_memory_models;
    SpvFunction *f;
    SpvBlock *b;
    SpvInstList held; /* lines that belong to what comes next */
} ModuleLayout;

static bool is_line(const SpvInst *i)
{
    return i->op == SpvOpLine || i->op == SpvOpNoLine || spv_is_nonsemantic(i);
}

static void release(SpvInstList *held, SpvInstList *to)
{
    for (SpvInst *i = held->first, *next; i; i = next) {
        next = i->next;
        spv_list_append(to, i);
    }
    held->first = held->last = NULL;
}

int spv_section(const SpvInst *i)
{
    switch (i->op) {
    case SpvOpCapability:
    case SpvOpConditionalCapabilityINTEL: return 1;
    case SpvOpExtension:
    case SpvOpConditionalExtensionINTEL: return 2;
    case SpvOpExtInstImport: return 3;
    case SpvOpMemoryModel: return 4;
    case SpvOpEntryPoint:
    case SpvOpConditionalEntryPointINTEL: return 5;
    case SpvOpExecutionMode:
    case SpvOpExecutionModeId: return 6;
    case SpvOpString:
    case SpvOpSource:
    case SpvOpSourceExtension:
    case SpvOpSourceContinued: return 7;
    case SpvOpName:
    case SpvOpMemberName: return 8;
    case SpvOpModuleProcessed: return 9;
    case SpvOpSamplerImageAddressingModeNV:
    case SpvOpLine:
    case SpvOpNoLine:
    case SpvOpExtInst:
    case SpvOpExtInstWithForwardRefsKHR:
    case SpvOpGraphEntryPointARM:
    case SpvOpNop: return SPV_ANY_SECTION;
    case SpvOpVariable:
    case SpvOpUntypedVariableKHR:
    case SpvOpTypeForwardPointer:
    case SpvOpTypeStructContinuedINTEL:
    case SpvOpConstantCompositeContinuedINTEL:
    case SpvOpSpecConstantCompositeContinuedINTEL:
    case SpvOpAsmTargetINTEL:
    case SpvOpAsmINTEL:
    case SpvOpAliasDomainDeclINTEL:
    case SpvOpAliasScopeDeclINTEL:
    case SpvOpAliasScopeListDeclINTEL:
    case SpvOpGraphARM: return SPV_LAST_SECTION;
    default: break;
    }
    uint32_t flags = spv_op_info(i->op)->flags;
    if (flags & SPV_OPF_ANNOTATION)
        return SPV_ANNOTATION_SECTION;
    return flags & (SPV_OPF_TYPE | SPV_OPF_CONSTANT) ? SPV_LAST_SECTION : -1;
}

static bool may_be_in_body(const SpvInst *i)
{
    switch (i->op) {
    case SpvOpNop:
    case SpvOpLine:
    case SpvOpNoLine:
    case SpvOpVariable:
    case SpvOpUndef:
    case SpvOpUntypedVariableKHR:
    case SpvOpExtInst:
    case SpvOpExtInstWithForwardRefsKHR:
    case SpvOpPoisonKHR: return true;
    case SpvOpFunctionParameter:
    case SpvOpGraphEndARM:
    case SpvOpGraphInputARM:
    case SpvOpGraphSetOutputARM: return false;
    default: return spv_section(i) < 0;
    }
}

static bool misplaced(ModuleLayout *l, SpvInst *i, const char *why)
{
    spv_error(l->m, i, l->sink, "SPIR-V 2.4", "%s", why);
    return false;
}

static bool add_global(ModuleLayout *l, SpvInst *i)
{
    int section = spv_section(i);
    if (section < 0)
        return misplaced(l, i, "this instruction stands outside a function");
    if (section != SPV_ANY_SECTION) {
        if ((uint32_t)section < l->section)
            return misplaced(l, i, "this instruction comes too late in the module's preamble");
        l->section = (uint32_t)section;
    }
    if (i->op == SpvOpMemoryModel && l->n_memory_models++)
        return misplaced(l, i, "a second OpMemoryModel");
    release(&l->held, &l->m->globals);
    spv_list_append(&l->m->globals, i);
    if (i->op == SpvOpGraphARM)
        l->state = IN_GRAPH;
    return true;
}

static bool begin_function(ModuleLayout *l, SpvInst *i)
{
    SpvFunction *f = NEW(l->m->arena, SpvFunction);
    f->module = l->m;
    f->def = i;
    if (l->m->last_function)
        l->m->last_function->next = f;
    else
        l->m->functions = f;
    l->m->last_function = l->f = f;
    release(&l->held, &f->before);
    spv_list_append(&f->head, i);
    l->state = IN_HEAD;
    return true;
}

static bool end_function(ModuleLayout *l, SpvInst *i)
{
    release(&l->held, l->f->first ? &l->f->before_end : &l->f->head);
    l->f->end = i;
    l->f = NULL;
    l->state = AFTER_FUNCTION;
    return true;
}

static bool begin_block(ModuleLayout *l, SpvInst *i)
{
    SpvFunction *f = l->f;
    SpvBlock *b = NEW(l->m->arena, SpvBlock);
    b->function = f;
    b->id = i->id;
    b->index = f->n_blocks++;
    b->prev = f->last;
    release(&l->held, f->last ? &b->before : &f->head);
    if (f->last)
        f->last->next = b;
    else
        f->first = b;
    f->last = l->b = b;
    spv_append(b, i);
    l->state = IN_BLOCK;
    return true;
}

static bool add_to_block(ModuleLayout *l, SpvInst *i)
{
    if (i->op == SpvOpLabel || i->op == SpvOpFunctionEnd || i->op == SpvOpFunction) {
        spv_error(l->m, i, l->sink, "SPIR-V 2.4", "the block %%%u before has no terminator",
                  l->b->id);
        return false;
    }
    if (!may_be_in_body(i))
        return misplaced(l, i, "this instruction cannot stand in a function");
    spv_append(l->b, i);
    if (spv_op_info(i->op)->flags & SPV_OPF_TERMINATOR)
        l->state = AFTER_BLOCK;
    return true;
}

static bool add_inst(ModuleLayout *l, SpvInst *i)
{
    bool line = is_line(i);
    switch (l->state) {
    case IN_PREAMBLE:
        if (i->op == SpvOpFunction)
            return begin_function(l, i);
        if (i->op == SpvOpLine || i->op == SpvOpNoLine)
            return spv_list_append(&l->held, i), true;
        return add_global(l, i);
    case IN_GRAPH:
        spv_list_append(&l->m->globals, i);
        if (i->op == SpvOpGraphEndARM)
            l->state = IN_PREAMBLE;
        return true;
    case IN_HEAD:
        if (i->op == SpvOpLabel)
            return begin_block(l, i);
        if (i->op == SpvOpFunctionEnd)
            return end_function(l, i);
        if (i->op == SpvOpFunctionParameter) {
            release(&l->held, &l->f->head);
            return spv_list_append(&l->f->head, i), true;
        }
        if (line)
            return spv_list_append(&l->held, i), true;
        return misplaced(l, i, "this instruction stands before the function's first block");
    case IN_BLOCK: return add_to_block(l, i);
    case AFTER_BLOCK:
        if (i->op == SpvOpLabel)
            return begin_block(l, i);
        if (i->op == SpvOpFunctionEnd)
            return end_function(l, i);
        if (line)
            return spv_list_append(&l->held, i), true;
        return misplaced(l, i, "this instruction follows a terminator, outside any block");
    case AFTER_FUNCTION:
        if (i->op == SpvOpFunction)
            return begin_function(l, i);
        if (line)
            return spv_list_append(&l->held, i), true;
        return misplaced(l, i, "this instruction stands between functions");
    }
    return false;
}

bool spv_lay_out(SpvModule *m, SpvInst *insts, uint32_t n, DiagSink *sink)
{
    ModuleLayout l = { .m = m, .sink = sink, .state = IN_PREAMBLE };
    for (uint32_t k = 0; k < n; k++)
        if (!add_inst(&l, &insts[k]))
            return false;
    if (l.f) {
        spv_error(m, l.f->def, sink, "SPIR-V 2.4", "the function has no OpFunctionEnd");
        return false;
    }
    if (l.state == IN_GRAPH || !l.n_memory_models) {
        spv_error(m, NULL, sink, "SPIR-V 2.4", "the module has no %s",
                  l.n_memory_models ? "OpGraphEndARM" : "OpMemoryModel");
        return false;
    }
    release(&l.held, m->functions ? &m->trailing : &m->globals);
    return true;
}
