/* SPDX-License-Identifier: MIT
 *
 * Decorations: what each may stand on, how often, beside which others, and what an interface's
 * variables need of them (SPIR-V 2.16.1, 3.2.20, 3.3.3; Vulkan, appendix A).
 */
#include "check/internal.h"

/* What is decorated. */
enum {
    ON_MEMBER = 1,
    ON_STRUCT = 2,
    ON_ARRAY = 4,     /* pointer types too */
    ON_SPEC = 8,      /* a scalar that may be specialised */
    ON_CONSTANT = 16, /* any other */
    ON_VARIABLE = 32,
    ON_POINTER = 64,     /* other declarations of memory: parameters... */
    ON_WRAP = 128,       /* integer instructions that may wrap */
    ON_CONVERSION = 256, /* instructions that round */
    ON_VALUE = 512,      /* of other instructions and parameters */
    ON_FUNCTION = 1024,
    ON_OTHER = 2048, /* types, labels, what gives nothing */
    ON_MEMORY = ON_VARIABLE | ON_POINTER,
    ON_OBJECT = ON_SPEC | ON_CONSTANT | ON_MEMORY | ON_WRAP | ON_CONVERSION | ON_VALUE,
    NOT_ON_MEMBER = ~ON_MEMBER
};

typedef struct Place {
    uint16_t decoration;
    int on;
} Place;

static const Place places[] = {
    { SpvDecorationSpecId, ON_SPEC },
    { SpvDecorationBlock, ON_STRUCT },
    { SpvDecorationBufferBlock, ON_STRUCT },
    { SpvDecorationGLSLShared, ON_STRUCT },
    { SpvDecorationGLSLPacked, ON_STRUCT },
    { SpvDecorationCPacked, ON_STRUCT },
    { SpvDecorationRowMajor, ON_MEMBER },
    { SpvDecorationColMajor, ON_MEMBER },
    { SpvDecorationMatrixStride, ON_MEMBER },
    { SpvDecorationArrayStride, ON_ARRAY },
    { SpvDecorationArrayStrideIdEXT, ON_ARRAY },
    { SpvDecorationOffsetIdEXT, ON_MEMBER },
    { SpvDecorationBuiltIn, ON_MEMBER | ON_VARIABLE | ON_SPEC | ON_CONSTANT },
    { SpvDecorationNoPerspective, ON_MEMBER | ON_MEMORY },
    { SpvDecorationFlat, ON_MEMBER | ON_MEMORY },
    { SpvDecorationPatch, ON_MEMBER | ON_MEMORY },
    { SpvDecorationCentroid, ON_MEMBER | ON_MEMORY },
    { SpvDecorationSample, ON_MEMBER | ON_MEMORY },
    { SpvDecorationRestrict, ON_MEMBER | ON_MEMORY }, /* glslang's members */
    { SpvDecorationVolatile, ON_MEMBER | ON_MEMORY },
    { SpvDecorationCoherent, ON_MEMBER | ON_MEMORY },
    { SpvDecorationNonWritable, ON_MEMBER | ON_MEMORY },
    { SpvDecorationNonReadable, ON_MEMBER | ON_MEMORY },
    { SpvDecorationXfbBuffer, ON_MEMBER | ON_MEMORY },
    { SpvDecorationXfbStride, ON_MEMBER | ON_MEMORY },
    { SpvDecorationComponent, ON_MEMBER | ON_MEMORY },
    { SpvDecorationStream, ON_MEMBER | ON_MEMORY },
    { SpvDecorationPerPrimitiveEXT, ON_MEMBER | ON_MEMORY },
    { SpvDecorationAliased, ON_MEMORY },
    { SpvDecorationRestrictPointer, ON_MEMORY },
    { SpvDecorationAliasedPointer, ON_MEMORY },
    { SpvDecorationInvariant, ON_MEMBER | ON_VARIABLE },
    { SpvDecorationLocation, ON_MEMBER | ON_VARIABLE },
    { SpvDecorationConstant, ON_VARIABLE },
    { SpvDecorationIndex, ON_VARIABLE },
    { SpvDecorationBinding, ON_VARIABLE },
    { SpvDecorationDescriptorSet, ON_VARIABLE },
    { SpvDecorationInputAttachmentIndex, ON_VARIABLE },
    { SpvDecorationUniform, ON_OBJECT },
    { SpvDecorationUniformId, ON_OBJECT },
    { SpvDecorationNoSignedWrap, ON_WRAP },
    { SpvDecorationNoUnsignedWrap, ON_WRAP },
    { SpvDecorationFPRoundingMode, ON_CONVERSION },
    { SpvDecorationSaturatedConversion, NOT_ON_MEMBER },
    { SpvDecorationFuncParamAttr, NOT_ON_MEMBER },
    { SpvDecorationFPFastMathMode, NOT_ON_MEMBER },
    { SpvDecorationLinkageAttributes, NOT_ON_MEMBER },
    { SpvDecorationNoContraction, NOT_ON_MEMBER },
    { SpvDecorationAlignment, NOT_ON_MEMBER },
    { SpvDecorationMaxByteOffset, NOT_ON_MEMBER },
    { SpvDecorationAlignmentId, NOT_ON_MEMBER },
    { SpvDecorationMaxByteOffsetId, NOT_ON_MEMBER },
    { SpvDecorationNonUniform, NOT_ON_MEMBER },
    { SpvDecorationCounterBuffer, NOT_ON_MEMBER },
};

/* ---- where ----------------------------------------------------------------------------------- */

static bool converts(uint16_t op)
{
    return op == SpvOpFConvert || op == SpvOpConvertFToU || op == SpvOpConvertFToS ||
           op == SpvOpConvertSToF || op == SpvOpConvertUToF || op == SpvOpFDiv ||
           op == SpvOpExtInst;
}

static bool may_wrap(uint16_t op)
{
    return op == SpvOpIAdd || op == SpvOpISub || op == SpvOpIMul || op == SpvOpSNegate ||
           op == SpvOpShiftLeftLogical || op == SpvOpExtInst;
}

static bool is_pointer_type(const SpvModule *m, SpvId type)
{
    const SpvInst *t = spv_def(m, type);
    return t && (t->op == SpvOpTypePointer || t->op == SpvOpTypeUntypedPointerKHR);
}

static int place_of(const SpvModule *m, const SpvInst *target)
{
    switch (target->op) {
    case SpvOpTypeStruct: return ON_STRUCT;
    case SpvOpTypeArray:
    case SpvOpTypeRuntimeArray:
    case SpvOpTypePointer:
    case SpvOpTypeUntypedPointerKHR: return ON_ARRAY;
    case SpvOpSpecConstantTrue:
    case SpvOpSpecConstantFalse:
    case SpvOpSpecConstant:
    case SpvOpSpecConstantDataKHR: return ON_SPEC;
    case SpvOpVariable:
    case SpvOpUntypedVariableKHR: return ON_VARIABLE;
    case SpvOpFunctionParameter: return is_pointer_type(m, target->type) ? ON_POINTER : ON_VALUE;
    case SpvOpRawAccessChainNV:
    case SpvOpBufferPointerEXT: return ON_POINTER;
    case SpvOpFunction: return ON_FUNCTION;
    default: break;
    }
    const SpvInst *type = spv_def(m, target->type);
    if (spv_is_constant(m, target->id))
        return ON_CONSTANT;
    if (!type || type->op == SpvOpTypeVoid)
        return ON_OTHER;
    return ON_VALUE | (may_wrap(target->op) ? ON_WRAP : 0) |
           (converts(target->op) ? ON_CONVERSION : 0);
}

static const char *decoration_name(uint32_t decoration)
{
    const char *name = spv_enum_name(SPV_OPERAND_Decoration, decoration);
    return name ? name : "?";
}

typedef struct Annotation {
    SpvId target;
    bool of_member, takes_id;
    uint32_t member, decoration;
} Annotation;

static Annotation annotation(const SpvInst *i)
{
    Annotation a = { .target = spv_operand(i, 0) };
    a.of_member = i->op == SpvOpMemberDecorate || i->op == SpvOpMemberDecorateIdEXT ||
                  i->op == SpvOpMemberDecorateString;
    a.takes_id = i->op == SpvOpDecorateId || i->op == SpvOpMemberDecorateIdEXT;
    a.member = a.of_member ? spv_operand(i, 1) : 0;
    a.decoration = spv_operand(i, a.of_member ? 2 : 1);
    return a;
}

/* Of shaders, the size of workgroups is a constant, and nothing else is. */
static void check_builtin(Checker *c, const SpvInst *i, SpvId target)
{
    bool size = spv_operand(i, 2) == SpvBuiltInWorkgroupSize;
    bool constant = spv_is_constant(c->m, target);
    if (constant != size && (constant || has_capability(c, SpvCapabilityShader)))
        broken(c, i, "built-in %u on %s", spv_operand(i, 2),
               spv_op_name(spv_def(c->m, target)->op));
}

static void check_place(Checker *c, SpvInst *i)
{
    Annotation a = annotation(i);
    const SpvInst *target = spv_def(c->m, a.target);
    if (a.of_member && target->op != SpvOpTypeStruct)
        broken(c, i, "%%%u is no structure", a.target);
    else if (a.of_member && a.member >= spv_n_operands(target))
        broken(c, i, "member %u of a structure of %u", a.member, spv_n_operands(target));
    if (target->op == SpvOpDecorationGroup)
        return;
    if (a.decoration == SpvDecorationBuiltIn && !a.of_member && spv_n_operands(i) > 2)
        check_builtin(c, i, a.target);
    int on = a.of_member ? ON_MEMBER : place_of(c->m, target);
    for (uint32_t k = 0; k < COUNT_OF(places); k++)
        if (places[k].decoration == a.decoration && !(places[k].on & on))
            broken(c, i, "%s on %s", decoration_name(a.decoration),
                   a.of_member ? "a member" : spv_op_name(target->op));
}

enum {
    TRANSFORM = SpvFPFastMathModeAllowTransformMask,
    TRANSFORM_NEEDS = SpvFPFastMathModeAllowContractMask | SpvFPFastMathModeAllowReassocMask
};

static void check_literals(Checker *c, SpvInst *i)
{
    Annotation a = annotation(i);
    uint64_t scope;
    if (spv_n_operands(i) < 3 || a.of_member)
        return;
    uint32_t x = spv_operand(i, 2);
    if (a.decoration == SpvDecorationFPFastMathMode && x & TRANSFORM && ~x & TRANSFORM_NEEDS)
        broken(c, i, "AllowTransform without AllowContract and AllowReassoc");
    if (a.decoration != SpvDecorationUniformId || i->op != SpvOpDecorateId)
        return;
    const SpvType *t = spv_type_of(c->m, x);
    if (!t || t->kind != SPV_INT || t->bits != 32)
        broken(c, i, "the scope is %s", type_name(c, t));
    else if (spv_constant(c->m, x, &scope) && !spv_is_spec_constant(c->m, x) &&
             (scope > SpvScopeShaderCallKHR ||
              (is_vulkan(c) && scope != SpvScopeWorkgroup && scope != SpvScopeSubgroup)))
        broken(c, i, "execution scope %llu", (unsigned long long)scope);
}

/* A parameter that is an id comes with OpDecorateId, and is declared before the target. */
static void check_parameters(Checker *c, SpvInst *i)
{
    Annotation a = annotation(i);
    const SpvEnumerant *e = spv_enumerant(SPV_OPERAND_Decoration, a.decoration);
    const SpvInst *target = spv_def(c->m, a.target);
    bool by_id = e && e->n_params && spv_kind_is_id(e->params[0].kind);
    if (i->op == SpvOpDecorateString || i->op == SpvOpMemberDecorateString || !e)
        return;
    if (by_id != a.takes_id && a.decoration != SpvDecorationCounterBuffer) {
        broken(c, i, "%s takes %s", decoration_name(a.decoration),
               by_id ? "an id: OpDecorateId is for that" : "no id");
        return;
    }
    if (a.takes_id && target->op == SpvOpDecorationGroup)
        broken(c, i, "OpDecorateId of a group");
    for (uint32_t k = a.of_member ? 3 : 2; a.takes_id && k < spv_n_operands(i); k++)
        if (spv_def(c->m, spv_operand(i, k))->index >= target->index)
            broken(c, i, "%%%u is declared behind the target", spv_operand(i, k));
}

/* ---- how often, beside which ----------------------------------------------------------------- */

enum { KEY_DECORATION = 16, KEY_MEMBER = 24 };

static uint64_t key(const Annotation *a, uint32_t decoration)
{
    uint64_t member = a->of_member ? a->member + 1 : 0;
    return ((uint64_t)a->target << KEY_MEMBER | member) << KEY_DECORATION | decoration;
}

static void check_once(Checker *c, SpvInst *i)
{
    static const uint16_t pairs[][2] = {
        { SpvDecorationBlock, SpvDecorationBufferBlock },
        { SpvDecorationRestrict, SpvDecorationAliased },
        { SpvDecorationRestrictPointer, SpvDecorationAliasedPointer },
        { SpvDecorationRowMajor, SpvDecorationColMajor },
        { SpvDecorationOffset, SpvDecorationOffsetIdEXT },
        { SpvDecorationFPFastMathMode, SpvDecorationNoContraction },
    };
    Annotation a = annotation(i);
    uint64_t any;
    if (map_get(&c->decorated, key(&a, a.decoration), &any) &&
        a.decoration <= SpvDecorationMaxByteOffsetId && a.decoration != SpvDecorationFuncParamAttr)
        broken(c, i, "%s a second time", decoration_name(a.decoration));
    for (uint32_t k = 0; k < COUNT_OF(pairs); k++)
        for (uint32_t side = 0; side < 2; side++)
            if (a.decoration == pairs[k][side] &&
                map_get(&c->decorated, key(&a, pairs[k][!side]), &any))
                broken(c, i, "%s beside %s", decoration_name(a.decoration),
                       decoration_name(pairs[k][!side]));
    map_put(c->arena, &c->decorated, key(&a, a.decoration), 1);
}

static void check_group(Checker *c, SpvInst *i)
{
    bool members = i->op == SpvOpGroupMemberDecorate;
    Map seen = { 0 };
    for (uint32_t k = 1; k < spv_n_operands(i); k += 1u + members) {
        SpvId id = spv_operand(i, k);
        uint64_t any, name = (uint64_t)id << 32 | (members ? spv_operand(i, k + 1) : 0);
        const SpvInst *target = spv_def(c->m, id);
        if (target->op == SpvOpDecorationGroup)
            broken(c, i, "%%%u is a group itself", id);
        else if (members && target->op != SpvOpTypeStruct)
            broken(c, i, "%%%u is no structure", id);
        else if (members && spv_operand(i, k + 1) >= spv_n_operands(target))
            broken(c, i, "member %u of a structure of %u", spv_operand(i, k + 1),
                   spv_n_operands(target));
        else if (map_get(&seen, name, &any))
            broken(c, i, "%%%u is named twice", id);
        map_put(c->arena, &seen, name, 1);
    }
}

/* ---- environments ---------------------------------------------------------------------------- */

static bool is_id_of(Checker *c, SpvId id, uint16_t op)
{
    const SpvInst *def = spv_def(c->m, id);
    return def && def->op == op;
}

/* What a decoration of a variable says of its storage class. */
static void check_storage(Checker *c, const SpvInst *i, const Annotation *a)
{
    static const struct {
        uint16_t decoration;
        uint16_t classes[4];
        uint32_t n;
        const char *vuid;
    } rows[] = {
        { SpvDecorationLocation, { SpvStorageClassInput, SpvStorageClassOutput }, 2, "06672" },
        { SpvDecorationComponent, { SpvStorageClassInput, SpvStorageClassOutput }, 2, "06672" },
        { SpvDecorationFlat, { SpvStorageClassInput, SpvStorageClassOutput }, 2, "04670" },
        { SpvDecorationNoPerspective, { SpvStorageClassInput, SpvStorageClassOutput }, 2, "04670" },
        { SpvDecorationCentroid, { SpvStorageClassInput, SpvStorageClassOutput }, 2, "04670" },
        { SpvDecorationSample, { SpvStorageClassInput, SpvStorageClassOutput }, 2, "04670" },
        { SpvDecorationIndex, { SpvStorageClassOutput }, 1, "06672" },
        { SpvDecorationInputAttachmentIndex, { SpvStorageClassUniformConstant }, 1, "06678" },
        { SpvDecorationBinding,
          { SpvStorageClassUniform, SpvStorageClassStorageBuffer, SpvStorageClassUniformConstant,
            SpvStorageClassTileAttachmentQCOM },
          4,
          "06491" },
        { SpvDecorationDescriptorSet,
          { SpvStorageClassUniform, SpvStorageClassStorageBuffer, SpvStorageClassUniformConstant,
            SpvStorageClassTileAttachmentQCOM },
          4,
          "06491" },
    };
    const SpvInst *target = spv_def(c->m, a->target);
    if (a->of_member || target->op != SpvOpVariable)
        return;
    for (uint32_t k = 0; k < COUNT_OF(rows); k++) {
        bool fits = rows[k].decoration != a->decoration;
        for (uint32_t s = 0; s < rows[k].n; s++)
            fits |= rows[k].classes[s] == spv_operand(target, 0);
        if (!fits)
            broken(c, i, "%s on a variable of another storage class (VUID %s)",
                   decoration_name(a->decoration), rows[k].vuid);
    }
}

static void check_environment(Checker *c, SpvInst *i)
{
    Annotation a = annotation(i);
    bool model = false;
    if (!is_vulkan(c) || is_id_of(c, a.target, SpvOpDecorationGroup))
        return;
    check_storage(c, i, &a);
    for (const SpvInst *k = c->m->globals.first; k && k->op != SpvOpEntryPoint; k = k->next)
        model |= k->op == SpvOpMemoryModel && spv_operand(k, 1) == SpvMemoryModelVulkan;
    if (a.decoration == SpvDecorationFPRoundingMode && spv_n_operands(i) > 2 &&
        spv_operand(i, 2) > SpvFPRoundingModeRTZ)
        broken(c, i, "rounding neither to even nor to zero (VUID 04675)");
    if (model && (a.decoration == SpvDecorationCoherent || a.decoration == SpvDecorationVolatile))
        broken(c, i, "%s under the Vulkan memory model", decoration_name(a.decoration));
    if (a.decoration == SpvDecorationGLSLShared || a.decoration == SpvDecorationGLSLPacked)
        broken(c, i, "%s (VUID 04669)", decoration_name(a.decoration));
}

/* The structure of a block: what a variable holds, or its array's elements. */
static const SpvType *block_of(const SpvType *t)
{
    bool array = t && (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY);
    return array ? t->element : t;
}

static void check_interface(Checker *c, SpvInst *i)
{
    uint32_t storage = spv_operand(i, 0);
    bool uniform = storage == SpvStorageClassUniform, typed = i->op == SpvOpVariable;
    bool buffer = uniform || storage == SpvStorageClassStorageBuffer;
    const SpvType *p = result_type(c, i), *t = p ? p->element : NULL;
    if (!typed)
        t = spv_n_operands(i) > 1 ? spv_type(c->m, spv_operand(i, 1)) : NULL;
    if (!is_shader(c) || !t || (!buffer && storage != SpvStorageClassPushConstant))
        return;
    t = buffer ? block_of(t) : t;
    bool old = uniform && spv_has_decoration(c->m, t->id, -1, SpvDecorationBufferBlock);
    if (!old && !spv_has_decoration(c->m, t->id, -1, SpvDecorationBlock))
        broken(c, i, "%s is no Block%s (VUIDs 06675, 06676)", type_name(c, t),
               uniform ? " and no BufferBlock" : "");
}

/* Memory of workgroups that is laid out is all in blocks, which may overlap: all are aliased. */
static void check_workgroup(Checker *c, SpvInst *i)
{
    uint32_t n = 0, blocks = 0, aliased = 0;
    uint32_t words;
    spv_string(i, 2, &words);
    for (uint32_t k = 2 + words; k < spv_n_operands(i); k++) {
        const SpvInst *v = spv_def(c->m, spv_operand(i, k));
        bool typed = v->op == SpvOpVariable;
        if ((!typed && v->op != SpvOpUntypedVariableKHR) ||
            spv_operand(v, 0) != SpvStorageClassWorkgroup)
            continue;
        const SpvType *p = result_type(c, v), *t = p ? p->element : NULL;
        if (!typed)
            t = spv_n_operands(v) > 1 ? spv_type(c->m, spv_operand(v, 1)) : NULL;
        bool block = t && spv_has_decoration(c->m, t->id, -1, SpvDecorationBlock);
        n++;
        blocks += block;
        aliased += block && spv_has_decoration(c->m, v->id, -1, SpvDecorationAliased);
    }
    if (blocks && !has_capability(c, SpvCapabilityWorkgroupMemoryExplicitLayoutKHR))
        broken(c, i,
               "blocks in workgroup memory without capability "
               "WorkgroupMemoryExplicitLayoutKHR");
    else if (blocks && blocks != n)
        broken(c, i, "%u of %u variables in workgroup memory are blocks", blocks, n);
    else if (blocks > 1 && aliased != blocks)
        broken(c, i, "%u blocks in workgroup memory of which %u are Aliased", blocks, aliased);
}

/* ---- linkage --------------------------------------------------------------------------------- */

/* 0: none. */
static uint32_t linkage(Checker *c, SpvId id)
{
    uint32_t n;
    const uint32_t *w = spv_decoration(c->m, id, -1, SpvDecorationLinkageAttributes, &n);
    return w && n ? w[n - 1] + 1 : 0;
}

static void check_linkage(Checker *c, SpvInst *i)
{
    uint32_t l = linkage(c, i->id);
    bool imported = l == SpvLinkageTypeImport + 1;
    if (i->op == SpvOpVariable && imported && spv_n_operands(i) > 1)
        broken(c, i, "an imported variable with an initializer");
    if (i->op == SpvOpFunction && c->function && imported == (c->function->first != NULL))
        broken(c, i,
               imported ? "an imported function with a body"
                        : "a function without a body that is not imported");
}

static void check_entry_linkage(Checker *c, SpvInst *i)
{
    if (is_vulkan(c) && linkage(c, spv_operand(i, 1)))
        broken(c, i, "the entry point's function has linkage");
}

#define ANNOTATIONS                                                                                \
    { SpvOpDecorate,       SpvOpMemberDecorate,      SpvOpDecorateId, SpvOpMemberDecorateIdEXT,    \
      SpvOpDecorateString, SpvOpMemberDecorateString }

static const CheckRow rows[] = {
    { { "decoration-place", "SPIR-V 3.2.20", "A decoration stands on what it is for." },
      ANNOTATIONS,
      NULL,
      check_place },
    { { "decoration-id", "SPIR-V 3.3.3",
        "Decorations take ids by OpDecorateId, and only there; these are declared before." },
      ANNOTATIONS,
      NULL,
      check_parameters },
    { { "decoration-literal", "SPIR-V 3.2.15, 3.2.20", "What decorations say agrees with itself." },
      { SpvOpDecorate, SpvOpDecorateId },
      NULL,
      check_literals },
    { { "decoration-once", "SPIR-V 2.16.1",
        "A decoration stands on its target once, and beside none that contradicts it." },
      ANNOTATIONS,
      NULL,
      check_once },
    { { "decoration-group", "SPIR-V 3.3.3", "Groups are of targets that exist, each once." },
      { SpvOpGroupDecorate, SpvOpGroupMemberDecorate },
      NULL,
      check_group },
    { { "decoration-vulkan", "Vulkan, appendix A",
        "Decorations are those of the memory model and of the variable's storage class." },
      ANNOTATIONS,
      NULL,
      check_environment },
    { { "interface", "Vulkan, 15, Shader Interfaces", "Buffers are blocks." },
      { SpvOpVariable, SpvOpUntypedVariableKHR },
      NULL,
      check_interface },
    { { "workgroup-blocks", "SPV_KHR_workgroup_memory_explicit_layout",
        "Variables in workgroup memory are all blocks, which are aliased, or none is." },
      { SpvOpEntryPoint },
      NULL,
      check_workgroup },
    { { "linkage", "SPIR-V 2.16.1",
        "What is imported has no body and no value, and what has no body is imported." },
      { SpvOpFunction, SpvOpVariable },
      NULL,
      check_linkage },
    { { "entry-point-linkage", "SPIR-V 2.16.1", "An entry point is not linked." },
      { SpvOpEntryPoint },
      NULL,
      check_entry_linkage },
};
const CheckFamily check_core_decorations = { rows, COUNT_OF(rows) };
