/* SPDX-License-Identifier: MIT
 *
 * The extensions, and the environment variables; docs/LAYER.md has a table of these for users.
 * Programs that run with others' rights see none of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "layer/layer.h"

#define FEATURES_OF(name, owner)   VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##name##_FEATURES_##owner
#define PROPERTIES_OF(name, owner) VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##name##_PROPERTIES_##owner
#define NO_PROPERTIES              VK_STRUCTURE_TYPE_MAX_ENUM

/* Modules that use NVIDIA's second extension need not declare it: sizes are flexible, and a matrix
 * may be a workgroup's. */
/* clang-format off */
const HlExtension hl_extensions[HL_N_EXTENSIONS] = {
    [HL_KHR] = {
        "VK_KHR_cooperative_matrix", VK_KHR_COOPERATIVE_MATRIX_SPEC_VERSION,
        FEATURES_OF(COOPERATIVE_MATRIX, KHR), PROPERTIES_OF(COOPERATIVE_MATRIX, KHR), 2, 0,
        { SpvCapabilityCooperativeMatrixKHR }, HL_LEAVES },
    [HL_NV] = {
        "VK_NV_cooperative_matrix", VK_NV_COOPERATIVE_MATRIX_SPEC_VERSION,
        FEATURES_OF(COOPERATIVE_MATRIX, NV), PROPERTIES_OF(COOPERATIVE_MATRIX, NV), 2, 0,
        { SpvCapabilityCooperativeMatrixNV }, HL_LEAVES },
    [HL_NV2] = {
        "VK_NV_cooperative_matrix2", VK_NV_COOPERATIVE_MATRIX_2_SPEC_VERSION,
        FEATURES_OF(COOPERATIVE_MATRIX_2, NV), PROPERTIES_OF(COOPERATIVE_MATRIX_2, NV), 7,
        PROFILE_HAS_NV2 | PROFILE_HAS_TENSORS,
        { SpvCapabilityCooperativeMatrixKHR, SpvCapabilityCooperativeMatrixReductionsNV,
          SpvCapabilityCooperativeMatrixConversionsNV,
          SpvCapabilityCooperativeMatrixPerElementOperationsNV,
          SpvCapabilityCooperativeMatrixTensorAddressingNV,
          SpvCapabilityCooperativeMatrixBlockLoadsNV, SpvCapabilityTensorAddressingNV },
        HL_REPLACES },
    [HL_DECODE_VECTOR] = {
        "VK_NV_cooperative_matrix_decode_vector",
        VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_SPEC_VERSION,
        FEATURES_OF(COOPERATIVE_MATRIX_DECODE_VECTOR, NV), NO_PROPERTIES, 1, PROFILE_HAS_TENSORS,
        { SpvCapabilityCooperativeMatrixDecodeVectorNV }, HL_LEAVES },
    [HL_CONVERSION] = {
        "VK_QCOM_cooperative_matrix_conversion",
        VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_SPEC_VERSION,
        FEATURES_OF(COOPERATIVE_MATRIX_CONVERSION, QCOM), NO_PROPERTIES, 1, PROFILE_HAS_QCOM,
        { SpvCapabilityCooperativeMatrixConversionQCOM }, HL_LEAVES },
    [HL_WAIT_QUEUES] = {
        "VK_QCOM_shader_multiple_wait_queues", VK_QCOM_SHADER_MULTIPLE_WAIT_QUEUES_SPEC_VERSION,
        FEATURES_OF(SHADER_MULTIPLE_WAIT_QUEUES, QCOM),
        PROPERTIES_OF(SHADER_MULTIPLE_WAIT_QUEUES, QCOM), 1, PROFILE_HAS_WAIT_QUEUES,
        { SpvCapabilityMultipleWaitQueuesQCOM }, HL_LEAVES },
    [HL_BFLOAT16] = {
        "VK_KHR_shader_bfloat16", VK_KHR_SHADER_BFLOAT16_SPEC_VERSION,
        FEATURES_OF(SHADER_BFLOAT16, KHR), NO_PROPERTIES, 3,
        PROFILE_HAS_BFLOAT16 | PROFILE_HAS_BFLOAT16_DOT,
        { SpvCapabilityBFloat16TypeKHR, SpvCapabilityBFloat16DotProductKHR,
          SpvCapabilityBFloat16CooperativeMatrixKHR },
        HL_COMPLETES },
    [HL_FLOAT8] = {
        "VK_EXT_shader_float8", VK_EXT_SHADER_FLOAT8_SPEC_VERSION,
        FEATURES_OF(SHADER_FLOAT8, EXT), NO_PROPERTIES, 2, PROFILE_HAS_FLOAT8,
        { SpvCapabilityFloat8EXT, SpvCapabilityFloat8CooperativeMatrixEXT },
        HL_COMPLETES },
};
/* clang-format on */

uint32_t hl_extension(const char *name)
{
    uint32_t k = 0;
    while (k < HL_N_EXTENSIONS && strcmp(hl_extensions[k].name, name))
        k++;
    return k;
}

static const char *text(const char *name)
{
    const char *s = secure_getenv(name);
    return s && *s ? s : NULL;
}

/* "-VK_A,+VK_B" */
static void read_extensions(HlConfig *c, const char *list)
{
    char name[VK_MAX_EXTENSION_NAME_SIZE];
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        uint32_t k = *name == '-' || *name == '+' ? hl_extension(name + 1) : HL_NONE;
        if (k == HL_NONE)
            snprintf(c->wrong, sizeof c->wrong,
                     "HEDDLE_LAYER_EXTENSIONS: '%.100s' is not + or - and an extension of the "
                     "layer's: ignored",
                     name);
        else if (*name == '-')
            c->hidden |= 1u << k;
        else
            c->added |= 1u << k;
        at += n + (at[n] == ',');
    }
}

enum { MOST_LANES = 128 }; /* of a subgroup that is made of several */

static void read_subgroup_size(HlConfig *c, const char *s)
{
    char *end;
    unsigned long size = strtoul(s, &end, 10);
    if (*end || !is_pow2(size) || size > MOST_LANES)
        snprintf(c->wrong, sizeof c->wrong,
                 "HEDDLE_LAYER_SUBGROUPS: '%.100s' is not a power of 2 of at most %d: ignored", s,
                 MOST_LANES);
    else
        c->subgroup_size = (uint32_t)size;
}

void hl_read_config(HlConfig *c)
{
    const char *list = text("HEDDLE_LAYER_EXTENSIONS"), *size = text("HEDDLE_LAYER_SUBGROUPS");
    *c = (HlConfig){ .log = text("HEDDLE_LOG"), .cache = text("HEDDLE_CACHE") };
    if (list)
        read_extensions(c, list);
    if (size)
        read_subgroup_size(c, size);
    if (c->cache)
        mkdir(c->cache, 0777);
}
