/* SPDX-License-Identifier: MIT
 *
 * shader, capabilities: declares what a finished shader requires of a driver, which follows from
 * its instructions and operands by the grammar, and the extensions that define it. An instruction
 * that only OpenCL's capabilities enable is an error, since no other file could translate it.
 */
#include "pass/shader.h"

#include <stdio.h>

typedef struct Needs {
    Shader *s;
    VEC(uint32_t) list;
    SpvInst *inst;
    bool ok;
} Needs;

static bool has(const Needs *n, uint32_t capability)
{
    for (uint32_t k = 0; k < n->list.len; k++)
        if (n->list.data[k] == capability)
            return true;
    return false;
}

static void need(Needs *n, uint32_t capability)
{
    if (!has(n, capability))
        vec_push(n->s->a, &n->list, capability);
}

static bool is_opencl(uint32_t capability)
{
    switch (capability) {
    case SpvCapabilityKernel:
    case SpvCapabilityAddresses:
    case SpvCapabilityLinkage:
    case SpvCapabilityGroups:
    case SpvCapabilityGenericPointer:
    case SpvCapabilityVector16:
    case SpvCapabilityGroupUniformArithmeticKHR: return true;
    default: return false;
    }
}

/* Any one of them. */
static void need_one(Needs *n, const uint16_t *of, uint32_t count, const char *what)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t k = 0; k < count; k++) {
        if (has(n, of[k]))
            return;
        if (first == UINT32_MAX && !is_opencl(of[k]))
            first = of[k];
    }
    if (first != UINT32_MAX)
        need(n, first);
    else if (count)
        n->ok = shader_refuse(n->s, n->inst, what);
}

static void need_for_type(Needs *n, const SpvInst *i)
{
    static const struct {
        uint16_t op;
        uint8_t bits, capability;
    } rows[] = {
        { SpvOpTypeInt, 8, SpvCapabilityInt8 },       { SpvOpTypeInt, 16, SpvCapabilityInt16 },
        { SpvOpTypeInt, 64, SpvCapabilityInt64 },     { SpvOpTypeFloat, 16, SpvCapabilityFloat16 },
        { SpvOpTypeFloat, 64, SpvCapabilityFloat64 },
    };
    for (uint32_t k = 0; k < COUNT_OF(rows); k++)
        if (i->op == rows[k].op && spv_operand(i, 0) == rows[k].bits)
            need(n, rows[k].capability);
    if (i->op == SpvOpTypeVector && spv_operand(i, 1) > 4)
        n->ok = shader_refuse(n->s, n->inst, "vectors of 8 and 16 components");
}

static void need_for_block(Needs *n, const SpvType *t, bool push)
{
    if (t->kind == SPV_STRUCT)
        for (uint32_t k = 0; k < t->count; k++)
            need_for_block(n, t->members[k], push);
    else if (t->element)
        need_for_block(n, t->element, push);
    else if (t->bits == 8)
        need(n, push ? SpvCapabilityStoragePushConstant8 : SpvCapabilityStorageBuffer8BitAccess);
    else if (t->bits == 16)
        need(n, push ? SpvCapabilityStoragePushConstant16 : SpvCapabilityStorageBuffer16BitAccess);
}

/* Told by what is multiplied: packed in a word, vectors of four bytes, others. */
static void need_for_dot(Needs *n, const SpvInst *i)
{
    if (i->op < SpvOpSDot || i->op > SpvOpSUDotAccSat)
        return;
    const SpvType *t = spv_type_of(n->s->m, spv_operand(i, 0));
    bool bytes = t->kind == SPV_VECTOR && t->element->bits == 8 && t->count == 4;
    need(n, t->kind != SPV_VECTOR ? SpvCapabilityDotProductInput4x8BitPacked
            : bytes               ? SpvCapabilityDotProductInput4x8Bit
                                  : SpvCapabilityDotProductInputAll);
}

static void need_for_variable(Needs *n, const SpvInst *i)
{
    uint32_t storage = spv_operand(i, 0);
    bool push = storage == SpvStorageClassPushConstant;
    if (push || storage == SpvStorageClassStorageBuffer)
        need_for_block(n, spv_type(n->s->m, i->type)->element, push);
}

static void need_for_atomic(Needs *n, const SpvInst *i)
{
    SpvModule *m = n->s->m;
    const SpvType *t = i->type ? spv_type(m, i->type) : spv_type_of(m, spv_operand(i, 3));
    uint32_t bits = t->bits;
    if (i->op == SpvOpAtomicFAddEXT)
        need(n, bits == 16   ? SpvCapabilityAtomicFloat16AddEXT
                : bits == 32 ? SpvCapabilityAtomicFloat32AddEXT
                             : SpvCapabilityAtomicFloat64AddEXT);
    else if (i->op == SpvOpAtomicFMinEXT || i->op == SpvOpAtomicFMaxEXT)
        need(n, bits == 16   ? SpvCapabilityAtomicFloat16MinMaxEXT
                : bits == 32 ? SpvCapabilityAtomicFloat32MinMaxEXT
                             : SpvCapabilityAtomicFloat64MinMaxEXT);
    else if (bits == 64)
        need(n, SpvCapabilityInt64Atomics);
}

static bool visit_inst(void *user, SpvInst *i)
{
    Needs *n = user;
    const SpvOpInfo *info = spv_op_info(i->op);
    SpvOperand o;
    char text[64];
    n->inst = i;
    need_for_type(n, i);
    if (info->flags & SPV_OPF_ATOMIC)
        need_for_atomic(n, i);
    need_for_dot(n, i);
    if (i->op == SpvOpVariable)
        need_for_variable(n, i);
    snprintf(text, sizeof text, "%s", info->name);
    need_one(n, info->capabilities, info->n_capabilities, text);
    for (SpvWalk w = spv_walk(i); n->ok && spv_walk_next(&w, &o);) {
        if (o.is_id || o.n_words != 1 || i->op == SpvOpSource)
            continue;
        bool mask = spv_kind_is_mask(o.kind);
        uint32_t value = i->words[o.word];
        for (uint32_t bit = 0; bit < (mask ? 32u : 1u); bit++) {
            uint32_t one = mask ? value & 1u << bit : value;
            const SpvEnumerant *e = one || !mask ? spv_enumerant(o.kind, one) : NULL;
            if (!e)
                continue;
            snprintf(text, sizeof text, "%s %s", info->name, e->name);
            need_one(n, e->capabilities, e->n_capabilities, text);
        }
    }
    return n->ok;
}

static void say_extension(Shader *s, const char *name)
{
    uint32_t words[16] = { 0 };
    size_t size = strlen(name) + 1;
    memcpy(words, name, size);
    spv_append_global(s->m, spv_make(s->m, SpvOpExtension, 0, 0, words, (uint32_t)(size + 3) / 4));
}

static const struct {
    uint32_t capability;
    const char *extension;
} extensions[] = {
    { SpvCapabilityShaderClockKHR, "SPV_KHR_shader_clock" },
    { SpvCapabilityCooperativeMatrixKHR, "SPV_KHR_cooperative_matrix" },
    { SpvCapabilityGroupNonUniformRotateKHR, "SPV_KHR_subgroup_rotate" },
    { SpvCapabilityAtomicFloat32AddEXT, "SPV_EXT_shader_atomic_float_add" },
    { SpvCapabilityAtomicFloat64AddEXT, "SPV_EXT_shader_atomic_float_add" },
    { SpvCapabilityAtomicFloat16AddEXT, "SPV_EXT_shader_atomic_float16_add" },
    { SpvCapabilityAtomicFloat16MinMaxEXT, "SPV_EXT_shader_atomic_float_min_max" },
    { SpvCapabilityAtomicFloat32MinMaxEXT, "SPV_EXT_shader_atomic_float_min_max" },
    { SpvCapabilityAtomicFloat64MinMaxEXT, "SPV_EXT_shader_atomic_float_min_max" },
};

bool shader_capabilities(Shader *s)
{
    Needs n = { .s = s, .ok = true };
    const char *last = "";
    need(&n, SpvCapabilityMatrix); /* which Shader implies */
    need(&n, SpvCapabilityShader);
    if (s->matrices)
        need(&n, SpvCapabilityVulkanMemoryModel);
    spv_each_inst(s->m, visit_inst, &n);
    for (uint32_t k = 1; n.ok && k < n.list.len; k++)
        spv_append_global(s->m, spv_make(s->m, SpvOpCapability, 0, 0, &n.list.data[k], 1));
    for (uint32_t k = 0; n.ok && k < COUNT_OF(extensions); k++) {
        if (!has(&n, extensions[k].capability) || !strcmp(last, extensions[k].extension))
            continue;
        last = extensions[k].extension;
        say_extension(s, last);
    }
    return n.ok;
}
