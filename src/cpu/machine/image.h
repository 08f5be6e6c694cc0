/* SPDX-License-Identifier: MIT
 *
 * What the code generator (image.c) and the function that its code calls (sampling.c) agree on.
 */
#ifndef HEDDLE_CPU_MACHINE_IMAGE_H
#define HEDDLE_CPU_MACHINE_IMAGE_H

#include "base/image.h"
#include "spirv/spirv.h"

#define CPU_IMAGE_NAME "heddle_image"

/* Rows of operands, each of as many words as the call has lanes. */
enum {
    IMAGE_COORDINATE = 0, /* 4, the layer or what projects last */
    IMAGE_DREF = 4,
    IMAGE_LOD = 5, /* or the bias */
    IMAGE_MIN_LOD = 6,
    IMAGE_SAMPLE = 7,
    IMAGE_GRAD = 8,    /* 3 by x, 3 by y */
    IMAGE_OFFSET = 14, /* 3, or four pairs */
    IMAGE_TEXEL = 22,  /* 4 */
    IMAGE_N_ROWS = 26
};

enum {
    IMAGE_HAS_LAYER = 1,
    IMAGE_HAS_DREF = 2,
    IMAGE_HAS_LOD = 4, /* a float; of fetches and queries an integer */
    IMAGE_HAS_BIAS = 8,
    IMAGE_HAS_GRAD = 16,
    IMAGE_HAS_MIN_LOD = 32,
    IMAGE_HAS_OFFSET = 64,
    IMAGE_HAS_OFFSETS = 128,
    IMAGE_HAS_SAMPLE = 256,
    IMAGE_SIGNED = 512,    /* SignExtend */
    IMAGE_UNSIGNED = 1024, /* ZeroExtend */
    IMAGE_PROJECTS = 2048,
};

/* What is known of a call when its code is made; passed as a number. */
typedef struct CpuImageCall {
    uint8_t act; /* SpvImageAct */
    uint8_t dim, n_space;
    uint8_t lanes;
    uint16_t flags;
    uint8_t component; /* of a gather */
    uint8_t bytes;     /* of what a texel pointer leads to */
} CpuImageCall;

/* For each lane whose byte of `mask` is not 0 (NULL: all) one access. Results are rows in `out`;
 * of SPV_IMAGE_POINT one row of addresses, 0 where there is no texel. */
void cpu_image(uint64_t call, const uint8_t *mask, const ImageDesc *const *images,
               const SamplerDesc *const *samplers, const uint32_t *in, uint32_t *out);

#endif
