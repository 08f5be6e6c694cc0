/* SPDX-License-Identifier: MIT
 *
 * Calls to instructions. LLVM's SPIR-V target leaves the calls of functions that it does not know
 * as they are, among them all arithmetic on cooperative matrices: the function is declared and has
 * a linkage name. Where that names an instruction (spirv_target.h) the call becomes it, with the
 * same operands, and the declaration goes.
 */
#include "front/opencl/spirv_target.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct Row {
    const char *name;           /* after "__spirv_" */
    uint16_t of_float, of_signed, of_unsigned;
} Row;

static const Row rows[] = {
    { "CooperativeMatrixBinaryAdd", SpvOpFAdd, SpvOpIAdd, SpvOpIAdd },
    { "CooperativeMatrixBinarySub", SpvOpFSub, SpvOpISub, SpvOpISub },
    { "CooperativeMatrixBinaryMul", SpvOpFMul, SpvOpIMul, SpvOpIMul },
    { "CooperativeMatrixBinaryDiv", SpvOpFDiv, SpvOpSDiv, SpvOpUDiv },
    { "CooperativeMatrixScalarMul", SpvOpMatrixTimesScalar, SpvOpMatrixTimesScalar,
      SpvOpMatrixTimesScalar },
    { "CooperativeMatrixScalarNeg", SpvOpFNegate, SpvOpSNegate, SpvOpSNegate },
};

/* The part of a linkage name that names the instruction, or NULL: what follows "__spirv_" up to
 * '.', '_', or the end of the mangled identifier. */
static const char *instruction_name(const char *name, size_t *n)
{
    static const char prefix[] = "__spirv_";
    size_t limit = SIZE_MAX;
    if (!strncmp(name, "_Z", 2) && isdigit((unsigned char)name[2])) {
        char *end;
        limit = strtoul(name + 2, &end, 10);
        name = end;
    }
    if (strncmp(name, prefix, sizeof prefix - 1) || limit < sizeof prefix)
        return NULL;
    name += sizeof prefix - 1;
    *n = strcspn(name, "._");
    if (limit != SIZE_MAX)
        *n = MIN(*n, limit - (sizeof prefix - 1));
    return name;
}

static const SpvType *component(const SpvType *t)
{
    while (t && (t->kind == SPV_COOPMAT || t->kind == SPV_VECTOR || t->kind == SPV_MATRIX))
        t = t->element;
    return t;
}

/* An instruction of ids alone that gives a result; 0: none is called that. */
static uint16_t plain_instruction(const char *name, size_t n)
{
    uint32_t count;
    const SpvOpInfo *all = spv_all_ops(&count);
    for (uint32_t k = 0; k < count; k++) {
        const SpvOpInfo *o = &all[k];
        bool named = strlen(o->name) == n + 2 && !strncmp(o->name + 2, name, n);
        if (!named || !o->has_type || !o->has_result || !(o->flags & SPV_OPF_PURE))
            continue;
        for (uint32_t j = 0; j < o->n_operands; j++)
            named &= o->operands[j].kind == SPV_OPERAND_IdRef && o->operands[j].times == SPV_ONE;
        return named ? o->op : 0;
    }
    return 0;
}

/* What calls of a function become; 0: they stay calls. */
static uint16_t instruction_of(SpvModule *m, const SpvFunction *f, const char *linkage)
{
    size_t n;
    const char *name = instruction_name(linkage, &n);
    const SpvType *t = component(spv_type(m, f->def->type));
    if (!name || !t)
        return 0;
    for (uint32_t k = 0; k < COUNT_OF(rows); k++)
        if (strlen(rows[k].name) == n && !strncmp(rows[k].name, name, n))
            return t->kind == SPV_FLOAT ? rows[k].of_float
                 : strstr(name, "CoopMat_u") ? rows[k].of_unsigned : rows[k].of_signed;
    return plain_instruction(name, n);
}

static const char *linkage_of(const SpvModule *m, SpvId id)
{
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpDecorate && spv_operand(i, 0) == id &&
            spv_operand(i, 1) == SpvDecorationLinkageAttributes)
            return spv_string(i, 2, NULL);
    return NULL;
}

/* The declaration and all that is said of it. */
static void drop(SpvModule *m, SpvFunction *f)
{
    for (SpvInst *i = m->globals.first, *next; i; i = next) {
        next = i->next;
        bool names = i->op == SpvOpName || i->op == SpvOpDecorate;
        if (names && spv_operand(i, 0) == f->def->id)
            spv_unlink(i);
        for (SpvInst *p = f->head.first; p && names; p = p->next)
            if (p->op == SpvOpFunctionParameter && spv_operand(i, 0) == p->id && i->list)
                spv_unlink(i);
    }
    SpvFunction **link = &m->functions;
    m->last_function = NULL;
    for (SpvFunction *g = m->functions; g; g = g->next) {
        if (g == f)
            continue;
        *link = g;
        link = &g->next;
        m->last_function = g;
    }
    *link = NULL;
    for (SpvInst *i = f->head.first; i; i = i->next)
        if (i->id)
            m->defs[i->id] = NULL;
}

static bool replace(SpvModule *m, SpvInst *call, uint16_t op, DiagSink *sink)
{
    uint32_t n = spv_n_operands(call) - 1;
    const SpvOpInfo *info = spv_op_info(op);
    if (n != info->n_operands) {
        spv_error(m, call, sink, NULL, "%s takes %u operands, the call that names it has %u",
                  info->name, info->n_operands, n);
        return false;
    }
    SpvInst *i = spv_make(m, op, call->type, call->id, call->words + call->first_operand + 1, n);
    i->index = call->index;
    i->file = call->file;
    i->line = call->line;
    i->column = call->column;
    spv_insert_before(call, i);
    spv_unlink(call);
    return true;
}

static bool replace_calls(SpvModule *m, SpvId function, uint16_t op, DiagSink *sink)
{
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first, *next; i; i = next) {
                next = i->next;
                if (i->op == SpvOpFunctionCall && spv_operand(i, 0) == function &&
                    !replace(m, i, op, sink))
                    return false;
            }
    return true;
}

/* OpMatrixTimesScalar wants it, of cooperative matrices too. */
static void add_capability(SpvModule *m, uint32_t capability)
{
    SpvInst *last = NULL;
    for (SpvInst *i = m->globals.first; i && i->op == SpvOpCapability; i = i->next) {
        if (spv_operand(i, 0) == capability)
            return;
        last = i;
    }
    if (last)
        spv_insert_after(last, spv_make(m, SpvOpCapability, 0, 0, &capability, 1));
}

bool ocl_matrix_ops(SpvModule *m, DiagSink *sink)
{
    for (SpvFunction *f = m->functions, *next; f; f = next) {
        next = f->next;
        const char *name = f->first ? NULL : linkage_of(m, f->def->id);
        uint16_t op = name ? instruction_of(m, f, name) : 0;
        if (!op)
            continue;
        if (!replace_calls(m, f->def->id, op, sink))
            return false;
        if (op == SpvOpMatrixTimesScalar)
            add_capability(m, SpvCapabilityMatrix);
        drop(m, f);
    }
    spv_forget_types(m);
    return true;
}
