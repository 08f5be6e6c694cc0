/* SPDX-License-Identifier: MIT
 *
 * Widths: types that a module's capabilities give, and what may be done with numbers of 8 and 16
 * bits that they give for storage only (SPIR-V 2.16.1, 2.16.2, 3.2.30).
 */
#include "check/internal.h"

#define STORAGE_16                                                                                 \
    SpvCapabilityStorageBuffer16BitAccess, SpvCapabilityUniformAndStorageBuffer16BitAccess,        \
        SpvCapabilityStoragePushConstant16, SpvCapabilityStorageInputOutput16,                     \
        SpvCapabilityWorkgroupMemoryExplicitLayout16BitAccessKHR

/* Any one of the capabilities gives the type; the first one also arithmetic. */
/* clang-format off */
static const struct {
    SpvKind kind;
    uint32_t bits, n;
    uint16_t any[8];
    const char *extension;
} widths[] = {
    { SPV_INT, 8, 6,
      { SpvCapabilityInt8, SpvCapabilityKernel, SpvCapabilityStorageBuffer8BitAccess,
        SpvCapabilityUniformAndStorageBuffer8BitAccess, SpvCapabilityStoragePushConstant8,
        SpvCapabilityWorkgroupMemoryExplicitLayout8BitAccessKHR },
      NULL },
    { SPV_INT, 16, 7, { SpvCapabilityInt16, SpvCapabilityKernel, STORAGE_16 },
      "SPV_AMD_gpu_shader_int16" },
    { SPV_FLOAT, 16, 7, { SpvCapabilityFloat16, SpvCapabilityFloat16Buffer, STORAGE_16 },
      "SPV_AMD_gpu_shader_half_float" },
    { SPV_INT, 64, 1, { SpvCapabilityInt64 }, NULL },
    { SPV_FLOAT, 64, 1, { SpvCapabilityFloat64 }, NULL },
};
/* clang-format on */

static void check_width(Checker *c, SpvInst *i)
{
    const SpvType *t = spv_type(c->m, i->id);
    bool encoded = i->op == SpvOpTypeFloat && spv_n_operands(i) > 1;
    for (uint32_t k = 0; !encoded && k < COUNT_OF(widths); k++)
        if (t->kind == widths[k].kind && t->bits == widths[k].bits &&
            !has_any(c, widths[k].any, widths[k].n) &&
            !(widths[k].extension && has_extension(c, widths[k].extension)))
            broken(c, i, "%s without capability %s", type_name(c, t),
                   spv_enum_name(SPV_OPERAND_Capability, widths[k].any[0]));
}

static void check_extension(Checker *c, SpvInst *i)
{
    static const char late[] = "SPV_KHR_workgroup_memory_explicit_layout";
    if (c->m->version < 0x10400 && !strcmp(spv_string(i, 0, NULL), late))
        broken(c, i, "%s, in a module of a version before 1.4", late);
}

static void check_vector(Checker *c, SpvInst *i)
{
    uint32_t n = spv_operand(i, 1);
    bool kernel = n == 8 || n == 16;
    if (n > 4 && !has_capability(c, SpvCapabilityLongVectorEXT) &&
        !(kernel && has_capability(c, SpvCapabilityVector16)))
        broken(c, i, "a vector of %u without capability %s", n,
               kernel ? "Vector16" : "LongVectorEXT");
}

static void check_parts(Checker *c, SpvInst *i)
{
    for (uint32_t k = i->op == SpvOpTypeFunction; k < spv_n_operands(i); k++) {
        const SpvInst *part = spv_def(c->m, spv_operand(i, k));
        if (part && (part->op == SpvOpTypeVoid || part->op == SpvOpTypeFunction))
            broken(c, i, "part %u is %s", k, spv_op_name(part->op));
    }
}

static void check_columns(Checker *c, SpvInst *i)
{
    const SpvType *t = spv_type(c->m, i->id);
    if (component(t)->kind != SPV_FLOAT)
        broken(c, i, "a matrix of %s", type_name(c, component(t)));
}

/* ---- numbers for storage only ---------------------------------------------------------------- */

static bool is_number(const SpvType *t, SpvKind kind, uint32_t bits)
{
    while (t->kind == SPV_VECTOR || t->kind == SPV_MATRIX)
        t = t->element;
    return t->kind == kind && t->bits == bits && (kind != SPV_FLOAT || t->format == SPV_IEEE);
}

static bool is_byte(const SpvType *t) { return is_number(t, SPV_INT, 8); }
static bool is_short(const SpvType *t) { return is_number(t, SPV_INT, 16); }
static bool is_half(const SpvType *t) { return is_number(t, SPV_FLOAT, 16); }

/* The bits of a number within the type that is for storage only, or 0. */
static uint32_t stored_bits(Checker *c, const SpvType *t)
{
    static const struct {
        uint16_t capability;
        uint32_t bits;
        bool (*is)(const SpvType *t);
    } kinds[] = {
        { SpvCapabilityInt8, 8, is_byte },
        { SpvCapabilityInt16, 16, is_short },
        { SpvCapabilityFloat16, 16, is_half },
    };
    if (!t || !has_capability(c, SpvCapabilityShader) || has_capability(c, SpvCapabilityKernel))
        return 0;
    for (uint32_t k = 0; k < COUNT_OF(kinds); k++)
        if (!has_capability(c, kinds[k].capability) &&
            holds(c, t, &c->holds_stored[k], kinds[k].is))
            return kinds[k].bits;
    return 0;
}

/* Which capabilities give a storage class numbers of 8, of 16 bits. */
/* clang-format off */
static const struct {
    uint16_t storage, bits, n;
    uint16_t any[2];
} stores[] = {
    { SpvStorageClassStorageBuffer, 8, 2,
      { SpvCapabilityStorageBuffer8BitAccess, SpvCapabilityUniformAndStorageBuffer8BitAccess } },
    { SpvStorageClassPhysicalStorageBuffer, 8, 2,
      { SpvCapabilityStorageBuffer8BitAccess, SpvCapabilityUniformAndStorageBuffer8BitAccess } },
    { SpvStorageClassUniform, 8, 1, { SpvCapabilityUniformAndStorageBuffer8BitAccess } },
    { SpvStorageClassPushConstant, 8, 1, { SpvCapabilityStoragePushConstant8 } },
    { SpvStorageClassWorkgroup, 8, 1, { SpvCapabilityWorkgroupMemoryExplicitLayout8BitAccessKHR } },
    { SpvStorageClassStorageBuffer, 16, 2,
      { SpvCapabilityStorageBuffer16BitAccess, SpvCapabilityUniformAndStorageBuffer16BitAccess } },
    { SpvStorageClassPhysicalStorageBuffer, 16, 2,
      { SpvCapabilityStorageBuffer16BitAccess, SpvCapabilityUniformAndStorageBuffer16BitAccess } },
    { SpvStorageClassUniform, 16, 1, { SpvCapabilityUniformAndStorageBuffer16BitAccess } },
    { SpvStorageClassPushConstant, 16, 1, { SpvCapabilityStoragePushConstant16 } },
    { SpvStorageClassInput, 16, 1, { SpvCapabilityStorageInputOutput16 } },
    { SpvStorageClassOutput, 16, 1, { SpvCapabilityStorageInputOutput16 } },
    { SpvStorageClassWorkgroup, 16, 1,
      { SpvCapabilityWorkgroupMemoryExplicitLayout16BitAccessKHR } },
};
/* clang-format on */

/* A BufferBlock is a storage buffer. */
static uint32_t storage_of(Checker *c, const SpvInst *i, const SpvType *t)
{
    uint32_t storage = spv_operand(i, 0);
    while (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY)
        t = t->element;
    bool old = storage == SpvStorageClassUniform &&
               spv_has_decoration(c->m, t->id, -1, SpvDecorationBufferBlock);
    return old ? SpvStorageClassStorageBuffer : storage;
}

static void check_stored(Checker *c, SpvInst *i)
{
    const SpvType *p = result_type(c, i), *t = p ? p->element : NULL;
    if (i->op == SpvOpUntypedVariableKHR)
        t = spv_n_operands(i) > 1 ? spv_type(c->m, spv_operand(i, 1)) : NULL;
    uint32_t bits = stored_bits(c, t), storage = bits ? storage_of(c, i, t) : 0;
    bool enabled = !bits;
    for (uint32_t k = 0; k < COUNT_OF(stores); k++)
        if (stores[k].storage == storage && stores[k].bits == bits)
            enabled |= has_any(c, stores[k].any, stores[k].n);
    if (!enabled)
        broken(c, i,
               "a variable with numbers of %u bits, which the capabilities do not give its "
               "storage class",
               bits);
}

static bool keeps_stored(uint16_t op)
{
    const SpvOpInfo *o = spv_op_info(op);
    return op == SpvOpStore || op == SpvOpCopyObject || op == SpvOpUConvert ||
           op == SpvOpSConvert || op == SpvOpFConvert ||
           o->flags & (SPV_OPF_DEBUG | SPV_OPF_TYPE | SPV_OPF_ANNOTATION);
}

static bool makes_constant(uint16_t op)
{
    return op == SpvOpConstantNull || op == SpvOpUndef || op == SpvOpPoisonKHR;
}

static bool uses_values(uint16_t op)
{
    const SpvOpInfo *o = spv_op_info(op);
    return o && (o->n_operands || makes_constant(op)) && !keeps_stored(op) &&
           op != SpvOpEntryPoint && op != SpvOpFunction;
}

static bool may_make_stored(uint16_t op)
{
    return op == SpvOpLoad || op == SpvOpCopyObject || op == SpvOpUConvert || op == SpvOpSConvert ||
           op == SpvOpFConvert || op == SpvOpFunctionParameter;
}

static bool is_aggregate(const SpvType *t)
{
    return t && (t->kind == SPV_STRUCT || t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY);
}

/* Loads and stores are of scalars, vectors and matrices; nothing is copied as a whole. */
static void check_moved(Checker *c, SpvInst *i)
{
    bool copies = i->op == SpvOpCopyMemory || i->op == SpvOpCopyMemorySized;
    const SpvType *t = i->op == SpvOpLoad ? result_type(c, i) : operand_type(c, i, !copies);
    if (copies && t && t->kind == SPV_POINTER)
        t = t->element;
    else if (!is_aggregate(t))
        return;
    if (stored_bits(c, t))
        broken(c, i, "%s of a whole with numbers of %u bits, which are for storage only",
               spv_op_name(i->op), stored_bits(c, t));
}

/* Loaded, converted, stored: nothing else is done with them. */
static void check_stored_use(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i);
    SpvOperand o;
    if (spv_is_nonsemantic(i))
        return;
    if (r && !may_make_stored(i->op) && r->kind != SPV_POINTER && stored_bits(c, r)) {
        broken(c, i, "%s makes numbers of %u bits, which are for storage only", spv_op_name(i->op),
               stored_bits(c, r));
        return;
    }
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        const SpvInst *def = o.is_id ? spv_def(c->m, i->words[o.word]) : NULL;
        const SpvType *t = def && def->type ? spv_type(c->m, def->type) : NULL;
        if (t && t->kind != SPV_POINTER && def->op != SpvOpFunction && stored_bits(c, t)) {
            broken(c, i, "%s of numbers of %u bits, which are for storage only", spv_op_name(i->op),
                   stored_bits(c, t));
            return;
        }
    }
}

/* clang-format off */
static const CheckRow rows[] = {
    { { "width", "SPIR-V 2.16.1", "A capability gives the width." },
      { SpvOpTypeInt, SpvOpTypeFloat },
      NULL,
      check_width },
    { { "extension-version", "SPV_KHR_workgroup_memory_explicit_layout",
        "An extension is used with a version that it extends." },
      { SpvOpExtension },
      NULL,
      check_extension },
    { { "vector-count", "SPIR-V 2.16.1",
        "A vector has 2, 3 or 4 components, by capabilities more." },
      { SpvOpTypeVector },
      NULL,
      check_vector },
    { { "type-parts", "SPIR-V 3.3.6", "Structures and parameters are of types that have values." },
      { SpvOpTypeStruct, SpvOpTypeFunction },
      NULL,
      check_parts },
    { { "matrix-columns", "SPIR-V 2.16.1", "Matrices are of floating-point numbers." },
      { SpvOpTypeMatrix },
      NULL,
      check_columns },
    { { "width-storage", "SPIR-V 2.16.2",
        "Numbers of 8 and 16 bits are stored where capabilities say so." },
      { SpvOpVariable, SpvOpUntypedVariableKHR },
      NULL,
      check_stored },
    { { "width-use", "SPIR-V 2.16.2",
        "Numbers of 8 and 16 bits that are for storage only are loaded, converted and stored." },
      { 0 },
      uses_values,
      check_stored_use },
    { { "width-move", "SPIR-V 2.16.2",
        "Numbers of 8 and 16 bits that are for storage only are not moved in aggregates." },
      { SpvOpLoad, SpvOpStore, SpvOpCopyMemory, SpvOpCopyMemorySized },
      NULL,
      check_moved },
};
/* clang-format on */
const CheckFamily check_core_widths = { rows, COUNT_OF(rows) };
