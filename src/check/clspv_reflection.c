/* SPDX-License-Identifier: MIT
 *
 * NonSemantic.ClspvReflection: what clspv says of a kernel's arguments. The grammar's names tell
 * what an operand is: a kernel or an argument's information, both instructions of the same import,
 * a text, or else a constant of 32 bits.
 */
#include "check/internal.h"

#include <ctype.h>

static const char prefix[] = "NonSemantic.ClspvReflection.";

/* What the import says behind the prefix; 0 where that is no number. */
static uint32_t version_of(const char *name)
{
    uint32_t version = 0;
    const char *at = name + sizeof(prefix) - 1;
    for (; isdigit((unsigned char)*at) && version < 1000; at++)
        version = 10 * version + (uint32_t)(*at - '0');
    return *at ? 0 : version;
}

static void check_import(Checker *c, SpvInst *i)
{
    const char *name = spv_string(i, 0, NULL);
    bool extends = c->m->version >= 0x10600 || has_extension(c, "SPV_KHR_non_semantic_info");
    if (!strncmp(name, "NonSemantic.", 12) && !extends)
        broken(c, i, "%s without extension SPV_KHR_non_semantic_info", name);
    if (!strncmp(name, prefix, sizeof(prefix) - 1) && !version_of(name))
        broken(c, i, "%s does not end in a version", name);
}

/* The version that an instruction came with: one more from each of these on. */
static uint32_t version_needed(uint32_t number)
{
    static const uint32_t first[] = {
        NonSemanticClspvReflectionKernel,
        NonSemanticClspvReflectionSpecConstantSubgroupMaxSize,
        NonSemanticClspvReflectionArgumentPointerPushConstant,
        NonSemanticClspvReflectionArgumentStorageTexelBuffer,
        NonSemanticClspvReflectionConstantDataPointerPushConstant,
    };
    uint32_t version = 0;
    while (version < COUNT_OF(first) && number >= first[version])
        version++;
    return version;
}

/* ---- operands -------------------------------------------------------------------------------- */

typedef enum Want { A_NUMBER, A_TEXT, A_KERNEL, AN_INFO, ANYTHING } Want;

static Want wanted(const char *operand)
{
    static const struct {
        const char *name;
        Want want;
    } names[] = {
        { "Name", A_TEXT },     { "Type Name", A_TEXT },    { "Attributes", A_TEXT },
        { "Data", A_TEXT },     { "FormatString", A_TEXT }, { "Decl", A_KERNEL },
        { "Kernel", A_KERNEL }, { "ArgInfo", AN_INFO },     { "Variable", ANYTHING },
    };
    for (uint32_t k = 0; k < COUNT_OF(names); k++)
        if (!strcmp(operand, names[k].name))
            return names[k].want;
    return A_NUMBER;
}

static bool is_inst(const SpvInst *def, const SpvInst *i, uint32_t number)
{
    return def->op == SpvOpExtInst && spv_operand(def, 0) == spv_operand(i, 0) &&
           spv_operand(def, 1) == number;
}

static bool is_number(Checker *c, const SpvInst *def)
{
    const SpvType *t = def->op == SpvOpConstant ? spv_type(c->m, def->type) : NULL;
    return t && t->kind == SPV_INT && t->bits == 32 && !t->is_signed;
}

static bool is_as_wanted(Checker *c, const SpvInst *i, const SpvInst *def, Want want)
{
    switch (want) {
    case A_TEXT: return def->op == SpvOpString;
    case A_KERNEL: return is_inst(def, i, NonSemanticClspvReflectionKernel);
    case AN_INFO: return is_inst(def, i, NonSemanticClspvReflectionArgumentInfo);
    case A_NUMBER: return is_number(c, def);
    default: return true;
    }
}

/* The function of a compute entry point, and its name. */
static void check_kernel(Checker *c, const SpvInst *i)
{
    const SpvInst *text = spv_def(c->m, spv_operand(i, 3));
    bool found = false;
    for (const SpvInst *e = c->m->globals.first; e; e = e->next)
        found |= e->op == SpvOpEntryPoint && spv_operand(e, 1) == spv_operand(i, 2) &&
                 spv_operand(e, 0) == SpvExecutionModelGLCompute && text->op == SpvOpString &&
                 !strcmp(spv_string(e, 2, NULL), spv_string(text, 0, NULL));
    if (!found)
        broken(c, i, "%%%u is not the function of an entry point of that name", spv_operand(i, 2));
}

static void check_reflection(Checker *c, SpvInst *i)
{
    if (i->ext_set != SPV_SET_NonSemanticClspvReflection)
        return;
    uint32_t number = spv_operand(i, 1), n = spv_n_operands(i) - 2;
    const SpvExtInst *info = spv_ext_inst(i->ext_set, number);
    bool kernel = number == NonSemanticClspvReflectionKernel;
    uint32_t has = version_of(spv_string(spv_def(c->m, spv_operand(i, 0)), 0, NULL));
    uint32_t needs = kernel && n > 2 ? 5 : version_needed(number);
    if (!info)
        return; /* of a later version */
    if (has < needs)
        broken(c, i, "%s with %u operands came with version %u", info->name, n, needs);
    if (kernel)
        check_kernel(c, i);
    for (uint32_t k = kernel; k < n; k++) {
        const char *name = info->operands[MIN(k, info->n_operands - 1u)].name;
        if (!is_as_wanted(c, i, spv_def(c->m, spv_operand(i, 2 + k)), wanted(name)))
            broken(c, i, "operand %%%u is no %s", spv_operand(i, 2 + k), name);
    }
}

static const CheckRow rows[] = {
    { { "reflection-import", "SPV_KHR_non_semantic_info, NonSemantic.ClspvReflection",
        "Sets without meaning need the extension before SPIR-V 1.6; reflection has a version." },
      { SpvOpExtInstImport },
      NULL,
      check_import },
    { { "reflection-operand", "NonSemantic.ClspvReflection",
        "Operands are what their names say, of instructions that the version has." },
      { SpvOpExtInst },
      NULL,
      check_reflection },
};
const CheckFamily check_clspv_reflection = { rows, COUNT_OF(rows) };
