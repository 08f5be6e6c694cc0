/* SPDX-License-Identifier: MIT
 *
 * Names for ids in readable disassembly: that of OpName or, for types and constants without one, a
 * descriptive name (%v4float, %_ptr_Uniform_uint, %uint_16). Characters that the assembler does not
 * take become '_'; a name already given gets a number behind it.
 */
#include <stdio.h>

#include "spirv/internal.h"

typedef struct Names {
    Arena *arena;
    const SpvModule *m;
    const char **of;
    Map used; /* hash of a name -> how many ids wanted it */
} Names;

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_taken(Names *n, const char *name)
{
    uint64_t count;
    return map_get(&n->used, hash_bytes(name, strlen(name), 0), &count);
}

static void give(Names *n, SpvId id, const char *wanted)
{
    if (id >= n->m->bound || n->of[id])
        return;
    const char *first = wanted[0] >= '0' && wanted[0] <= '9' ? "_" : "";
    char *name = arena_printf(n->arena, "%s%.200s", wanted[0] ? first : "_", wanted);
    for (char *c = name; *c; c++)
        if (!is_name_char(*c))
            *c = '_';
    uint64_t key = hash_bytes(name, strlen(name), 0), count = 0;
    if (map_get(&n->used, key, &count)) {
        const char *base = name;
        do
            name = arena_printf(n->arena, "%s_%llu", base, (unsigned long long)count++);
        while (is_taken(n, name));
        map_put(n->arena, &n->used, key, count);
        key = hash_bytes(name, strlen(name), 0);
        count = 0;
    }
    map_put(n->arena, &n->used, key, count);
    n->of[id] = name;
}

/* The name of a type or constant that was declared before, or its number. */
static const char *name_part(Names *n, SpvId id)
{
    if (id < n->m->bound && n->of[id])
        return n->of[id];
    return arena_printf(n->arena, "%u", id);
}

static const char *number_type_name(const SpvModule *m, SpvId id)
{
    SpvNumber t;
    if (!spv_number_of(m, id, &t))
        return NULL;
    if (t.is_float) {
        const SpvFloatInfo *info = spv_float_info(t.format);
        return info           ? info->listed
               : t.bits == 16 ? "half"
               : t.bits == 32 ? "float"
               : t.bits       ? "double"
                              : NULL;
    }
    switch (t.bits) {
    case 8: return t.is_signed ? "char" : "uchar";
    case 16: return t.is_signed ? "short" : "ushort";
    case 32: return t.is_signed ? "int" : "uint";
    case 64: return t.is_signed ? "long" : "ulong";
    default: return NULL;
    }
}

static void name_type(Names *n, const SpvInst *i)
{
    Arena *a = n->arena;
    const char *name = NULL;
    switch (i->op) {
    case SpvOpTypeVoid: name = "void"; break;
    case SpvOpTypeBool: name = "bool"; break;
    case SpvOpTypeInt:
    case SpvOpTypeFloat: name = number_type_name(n->m, i->id); break;
    case SpvOpTypeVector:
        name = arena_printf(a, "v%u%s", spv_operand(i, 1), name_part(n, spv_operand(i, 0)));
        break;
    case SpvOpTypeMatrix:
        name = arena_printf(a, "mat%u%s", spv_operand(i, 1), name_part(n, spv_operand(i, 0)));
        break;
    case SpvOpTypeArray:
        name = arena_printf(a, "_arr_%s_%s", name_part(n, spv_operand(i, 0)),
                            name_part(n, spv_operand(i, 1)));
        break;
    case SpvOpTypeRuntimeArray:
        name = arena_printf(a, "_runtimearr_%s", name_part(n, spv_operand(i, 0)));
        break;
    case SpvOpTypeStruct: name = arena_printf(a, "_struct_%u", i->id); break;
    case SpvOpTypePointer: {
        const char *storage = spv_enum_name(SPV_OPERAND_StorageClass, spv_operand(i, 0));
        name =
            arena_printf(a, "_ptr_%s_%s", storage ? storage : "", name_part(n, spv_operand(i, 1)));
        break;
    }
    default: break;
    }
    if (name)
        give(n, i->id, name);
}

static void name_constant(Names *n, const SpvInst *i)
{
    SpvNumber t;
    if (i->op == SpvOpConstantTrue)
        give(n, i->id, "true");
    if (i->op == SpvOpConstantFalse)
        give(n, i->id, "false");
    if (i->op != SpvOpConstant || !spv_number_of(n->m, i->type, &t))
        return;
    Str text = { 0 };
    spv_print_number(n->arena, &text, t, i->words + i->first_operand, spv_n_operands(i));
    for (char *c = text.data; c && *c; c++)
        if (*c == '-')
            *c = 'n';
    give(n, i->id,
         arena_printf(n->arena, "%s_%s", name_part(n, i->type), text.data ? text.data : ""));
}

static void name_builtin(Names *n, const SpvInst *i)
{
    if (spv_n_operands(i) < 3 || spv_operand(i, 1) != SpvDecorationBuiltIn)
        return;
    const char *name = spv_enum_name(SPV_OPERAND_BuiltIn, spv_operand(i, 2));
    if (name)
        give(n, spv_operand(i, 0), arena_printf(n->arena, "gl_%s", name));
}

const char **spv_friendly_names(Arena *arena, const SpvModule *m)
{
    Names n = { .arena = arena, .m = m, .of = NEW_ARRAY(arena, const char *, m->bound) };
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpName && spv_def(m, spv_operand(i, 0)))
            give(&n, spv_operand(i, 0), spv_string(i, 1, NULL));
    for (const SpvInst *i = m->globals.first; i; i = i->next)
        if (i->op == SpvOpDecorate)
            name_builtin(&n, i);
    for (const SpvInst *i = m->globals.first; i; i = i->next) {
        name_type(&n, i);
        name_constant(&n, i);
    }
    return n.of;
}
