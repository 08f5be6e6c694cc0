/* SPDX-License-Identifier: MIT
 *
 * ops.def, enumerants.def and ext_insts.def as C tables, and the searches in them. All constant.
 */
#include <stddef.h>
#include <stdio.h>

#include "spirv/spirv.h"

#define ONE(k, n) { SPV_OPERAND_##k, SPV_ONE, n },
#define OPT(k, n) { SPV_OPERAND_##k, SPV_OPTIONAL, n },
#define ANY(k, n) { SPV_OPERAND_##k, SPV_ANY, n },
#define CAP(c)    SpvCapability##c,
/* Lists end with a row of their own, since C has no empty arrays. */
#define LIST_END { 0, 0, NULL }

/* ---- instructions ---------------------------------------------------------------------------- */

#define OP(name, number, type, result, operands, caps, flags)                                      \
    static const SpvOperandInfo op_##name[] = { operands LIST_END };                               \
    static const uint16_t op_caps_##name[] = { caps 0 };
#include "spirv/ops.def"

static const SpvOpInfo ops[] = {
#define OP(name, number, type, result, operands, caps, flags)                                      \
    { "Op" #name,                                                                                  \
      number,                                                                                      \
      type,                                                                                        \
      result,                                                                                      \
      COUNT_OF(op_##name) - 1,                                                                     \
      op_##name,                                                                                   \
      op_caps_##name,                                                                              \
      COUNT_OF(op_caps_##name) - 1,                                                                \
      flags },
#include "spirv/ops.def"
};

enum {
#define OP(name, number, type, result, operands, caps, flags) ROW_##name,
#include "spirv/ops.def"
};

/* By opcode, the row plus one. */
static const uint16_t op_rows[] = {
#define OP(name, number, type, result, operands, caps, flags) [number] = ROW_##name + 1,
#include "spirv/ops.def"
};

static const struct {
    const char *name;
    uint16_t op;
} op_aliases[] = {
#define OP(name, number, type, result, operands, caps, flags)
#define ALIAS(other, name) { "Op" #other, SpvOp##name },
#include "spirv/ops.def"
};

const SpvOpInfo *spv_op_info(uint16_t op)
{
    return op < COUNT_OF(op_rows) && op_rows[op] ? &ops[op_rows[op] - 1] : NULL;
}

const char *spv_op_name(uint16_t op)
{
    static _Thread_local char unknown[12];
    const SpvOpInfo *info = spv_op_info(op);
    if (info)
        return info->name;
    snprintf(unknown, sizeof unknown, "Op%u", op);
    return unknown;
}

const SpvOpInfo *spv_all_ops(uint32_t *n)
{
    *n = COUNT_OF(ops);
    return ops;
}

bool spv_op_alias(uint32_t n, const char **alias, uint16_t *op)
{
    if (n >= COUNT_OF(op_aliases))
        return false;
    *alias = op_aliases[n].name;
    *op = op_aliases[n].op;
    return true;
}

/* ---- enumerations and masks ------------------------------------------------------------------ */

#define ENUMERANT_LISTS(kind, name, value, params, caps)                                           \
    static const SpvOperandInfo params_##kind##_##name[] = { params LIST_END };                    \
    static const uint16_t caps_##kind##_##name[] = { caps 0 };
#define VALUE ENUMERANT_LISTS
#define MASK  ENUMERANT_LISTS
#define NONE  ENUMERANT_LISTS
#include "spirv/enumerants.def"

#define ENUMERANT_ROW(kind, name, value, params, caps)                                             \
    { #name,                                                                                       \
      value,                                                                                       \
      params_##kind##_##name,                                                                      \
      COUNT_OF(params_##kind##_##name) - 1,                                                        \
      caps_##kind##_##name,                                                                        \
      COUNT_OF(caps_##kind##_##name) - 1 },
#define VALUE            ENUMERANT_ROW
#define MASK             ENUMERANT_ROW
#define NONE             ENUMERANT_ROW
#define VALUE_KIND(kind) static const SpvEnumerant rows_##kind[] = {
#define MASK_KIND(kind)  static const SpvEnumerant rows_##kind[] = {
#define END_KIND(kind)                                                                             \
    }                                                                                              \
    ;
#include "spirv/enumerants.def"

static const struct {
    const char *name;
    const SpvEnumerant *rows;
    uint16_t n;
    bool mask;
} kinds[SPV_N_OPERAND_KINDS] = {
#define VALUE_KIND(kind)                                                                           \
    [SPV_OPERAND_##kind] = { #kind, rows_##kind, COUNT_OF(rows_##kind), false },
#define MASK_KIND(kind)  [SPV_OPERAND_##kind] = { #kind, rows_##kind, COUNT_OF(rows_##kind), true },
#define PLAIN_KIND(kind) [SPV_OPERAND_##kind] = { #kind, NULL, 0, false },
#include "spirv/enumerants.def"
};

#define ALIAS_ROW(kind, other, name) { SPV_OPERAND_##kind, #other, #name },
static const struct {
    uint8_t kind;
    const char *name, *canonical;
} enum_aliases[] = {
#define VALUE_ALIAS ALIAS_ROW
#define MASK_ALIAS  ALIAS_ROW
#include "spirv/enumerants.def"
};

const SpvEnumerant *spv_enumerants(uint8_t kind, uint32_t *n)
{
    *n = kind < SPV_N_OPERAND_KINDS ? kinds[kind].n : 0;
    return *n ? kinds[kind].rows : NULL;
}

_Static_assert(offsetof(SpvEnumerant, value) == offsetof(SpvExtInst, number), "one kind of row");

/* Of n rows of a table by number the one with that number, or NULL. */
static const void *find_row(const void *rows, uint32_t n, size_t size, uint32_t number)
{
    uint32_t lo = 0;
    while (lo < n) {
        uint32_t mid = (lo + n) / 2, at;
        const char *row = (const char *)rows + mid * size;
        memcpy(&at, row + offsetof(SpvExtInst, number), sizeof at);
        if (at == number)
            return row;
        if (at < number)
            lo = mid + 1;
        else
            n = mid;
    }
    return NULL;
}

const SpvEnumerant *spv_enumerant(uint8_t kind, uint32_t value)
{
    uint32_t n;
    const SpvEnumerant *rows = spv_enumerants(kind, &n);
    return find_row(rows, n, sizeof *rows, value);
}

const char *spv_enum_name(uint8_t kind, uint32_t value)
{
    const SpvEnumerant *e = spv_enumerant(kind, value);
    return e ? e->name : NULL;
}

bool spv_enum_alias(uint32_t n, uint8_t *kind, const char **alias, uint32_t *value)
{
    if (n >= COUNT_OF(enum_aliases))
        return false;
    *kind = enum_aliases[n].kind;
    *alias = enum_aliases[n].name;
    uint32_t n_rows;
    const SpvEnumerant *rows = spv_enumerants(*kind, &n_rows);
    *value = 0;
    for (uint32_t r = 0; r < n_rows; r++)
        if (!strcmp(rows[r].name, enum_aliases[n].canonical))
            *value = rows[r].value;
    return true;
}

bool spv_kind_is_mask(uint8_t kind) { return kind < SPV_N_OPERAND_KINDS && kinds[kind].mask; }

bool spv_kind_is_id(uint8_t kind)
{
    return kind == SPV_OPERAND_IdRef || kind == SPV_OPERAND_IdScope ||
           kind == SPV_OPERAND_IdMemorySemantics || kind == SPV_OPERAND_IdResult ||
           kind == SPV_OPERAND_IdResultType;
}

const char *spv_kind_name(uint8_t kind)
{
    return kind < SPV_N_OPERAND_KINDS && kinds[kind].name ? kinds[kind].name : "?";
}

/* ---- extended instruction sets --------------------------------------------------------------- */

#define EXT(set, name, number, operands)                                                           \
    static const SpvOperandInfo ext_##set##_##name[] = { operands LIST_END };
#include "spirv/ext_insts.def"

#define SET(token, name) static const SpvExtInst ext_##token[] = {
#define EXT(set, name, number, operands)                                                           \
    { #name, number, ext_##set##_##name, COUNT_OF(ext_##set##_##name) - 1 },
#define END_SET(token)                                                                             \
    }                                                                                              \
    ;
#include "spirv/ext_insts.def"

static const struct {
    const char *name;
    const SpvExtInst *rows;
    uint16_t n;
} sets[SPV_N_SETS] = {
#define SET(token, name) [SPV_SET_##token] = { name, ext_##token, COUNT_OF(ext_##token) },
#include "spirv/ext_insts.def"
};

static bool set_matches(const char *pattern, const char *name)
{
    size_t n = strlen(pattern);
    if (pattern[n - 1] == '*')
        return !strncmp(pattern, name, n - 1);
    return !strcmp(pattern, name);
}

uint8_t spv_set_by_name(const char *name)
{
    for (uint32_t s = 0; s < SPV_N_SETS; s++)
        if (sets[s].name && set_matches(sets[s].name, name))
            return (uint8_t)s;
    return strncmp(name, "NonSemantic.", 12) ? SPV_SET_UNKNOWN : SPV_SET_NONSEMANTIC;
}

const char *spv_set_name(uint8_t set) { return set < SPV_N_SETS ? sets[set].name : NULL; }

const SpvExtInst *spv_ext_insts(uint8_t set, uint32_t *n)
{
    *n = set < SPV_N_SETS ? sets[set].n : 0;
    return *n ? sets[set].rows : NULL;
}

const SpvExtInst *spv_ext_inst(uint8_t set, uint32_t number)
{
    uint32_t n;
    const SpvExtInst *rows = spv_ext_insts(set, &n);
    return find_row(rows, n, sizeof *rows, number);
}

/* ---- properties ------------------------------------------------------------------------------ */

static bool opencl_is_pure(uint32_t number)
{
    const SpvExtInst *e = spv_ext_inst(SPV_SET_OpenCLstd_, number);
    if (!e)
        return false;
    /* Those that store through a pointer, read memory, print or prefetch. */
    static const char *const others[] = { "fract",  "frexp",  "lgamma_r", "modf",
                                          "remquo", "sincos", "printf",   "prefetch" };
    for (size_t k = 0; k < COUNT_OF(others); k++)
        if (!strcmp(e->name, others[k]))
            return false;
    return strncmp(e->name, "vload", 5) && strncmp(e->name, "vstore", 6);
}

bool spv_is_nonsemantic(const SpvInst *i)
{
    const char *set = spv_set_name(i->ext_set);
    return i->ext_set == SPV_SET_NONSEMANTIC || (set && !strncmp(set, "NonSemantic.", 12));
}

bool spv_is_chain(const SpvInst *i)
{
    return i && (i->op == SpvOpAccessChain || i->op == SpvOpInBoundsAccessChain ||
                 i->op == SpvOpPtrAccessChain || i->op == SpvOpInBoundsPtrAccessChain);
}

bool spv_is_pure(const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    if (!info)
        return false;
    if (info->flags & SPV_OPF_PURE)
        return true;
    if (i->op != SpvOpExtInst || spv_n_operands(i) < 2)
        return false;
    uint32_t number = spv_operand(i, 1);
    if (i->ext_set == SPV_SET_GLSLstd450)
        return number != GLSLstd450Modf && number != GLSLstd450Frexp &&
               (number < GLSLstd450InterpolateAtCentroid || number > GLSLstd450InterpolateAtOffset);
    return i->ext_set == SPV_SET_OpenCLstd_ && opencl_is_pure(number);
}
