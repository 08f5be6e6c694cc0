/* SPDX-License-Identifier: MIT
 *
 * image: texels, and what a kernel's binding of an image or a sampler points to. The Vulkan driver,
 * which creates images, fills in the descriptors; both devices read them, each with its own code.
 * Only the meaning of a format's bits is shared, as a table (texel.def).
 */
#ifndef HEDDLE_IMAGE_H
#define HEDDLE_IMAGE_H

#include "base/base.h"

/* ---- texel.c: formats ------------------------------------------------------------------------ */

typedef enum TexelKind {
    TEXEL_UNORM,
    TEXEL_SNORM,
    TEXEL_USCALED,
    TEXEL_SSCALED,
    TEXEL_UINT,
    TEXEL_SINT,
    TEXEL_SRGB,
    TEXEL_SFLOAT,
    TEXEL_UFLOAT, /* of 10 or 11 bits, without a sign */
    TEXEL_SHARED  /* three of 9 bits and one exponent of 5 above them */
} TexelKind;

enum { TEXEL_COLOR = 1, TEXEL_DEPTH = 2, TEXEL_STENCIL = 4 }; /* aspects, as Vulkan's bits */

typedef struct TexelFormat {
    uint32_t number; /* Vulkan's */
    uint8_t kind, aspect, bytes;
    uint8_t bits[4], shift[4]; /* of R, G, B, A; no bits: not there */
} TexelFormat;

/* NULL: not in the table. */
const TexelFormat *texel_format(uint32_t number);
bool texel_is_integer(const TexelFormat *f);
bool texel_is_long(const TexelFormat *f); /* one integer of 64 bits */
/* Four components as 32 bits each: floats, or of integer formats integers. What a format does not
 * have is 0, alpha 1. One integer of 64 bits is the first two, low bits first; other formats of 64
 * bits a component are copied only, and load as zeros. */
void texel_load(const TexelFormat *f, const void *at, uint32_t out[4]);
void texel_complete(const TexelFormat *f, uint32_t x[4]); /* what it does not have, as above */
/* Numbers are clamped, and floats rounded to nearest even. */
void texel_store(const TexelFormat *f, void *at, const uint32_t in[4]);
/* Integers that were loaded, their sign bit read another way (SignExtend, ZeroExtend). */
void texel_extend(const TexelFormat *f, bool is_signed, uint32_t x[4]);

static inline float texel_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t texel_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* SPIR-V's Dim. */
typedef enum ImageDim {
    IMAGE_1D,
    IMAGE_2D,
    IMAGE_3D,
    IMAGE_CUBE,
    IMAGE_RECT,
    IMAGE_BUFFER
} ImageDim;

typedef struct ImageLevel {
    uint8_t *base;    /* the first texel of the first layer */
    uint32_t size[3]; /* texels; 1 beyond the dimensions that there are */
    /* bytes from one to the next; slice: of two dimensions, from one sample to the next */
    uint64_t row, slice, layer;
} ImageLevel;

enum { IMAGE_MAX_LEVELS = 15 };

/* The source of a view's component: one of the texel's, 0 or 1. */
enum { SWIZZLE_R, SWIZZLE_G, SWIZZLE_B, SWIZZLE_A, SWIZZLE_0, SWIZZLE_1 };

/* An image view or a texel buffer (one level, size[0] texels). */
typedef struct ImageDesc {
    uint8_t *data; /* the image's memory, which all levels lie in */
    uint64_t size;
    const TexelFormat *format;
    ImageDim dim;
    uint32_t n_levels, n_layers; /* layers: a cube's faces too */
    uint32_t n_samples;          /* more than 1 with two dimensions and one level only */
    uint8_t swizzle[4];
    ImageLevel levels[IMAGE_MAX_LEVELS];
} ImageDesc;

/* VkSamplerAddressMode. */
typedef enum SamplerAddress {
    ADDRESS_REPEAT,
    ADDRESS_MIRRORED_REPEAT,
    ADDRESS_CLAMP_EDGE,
    ADDRESS_CLAMP_BORDER,
    ADDRESS_MIRROR_CLAMP_EDGE
} SamplerAddress;

/* VkCompareOp: reference OP texel. */
typedef enum SamplerCompare {
    COMPARE_NEVER,
    COMPARE_LESS,
    COMPARE_EQUAL,
    COMPARE_LESS_EQUAL,
    COMPARE_GREATER,
    COMPARE_NOT_EQUAL,
    COMPARE_GREATER_EQUAL,
    COMPARE_ALWAYS
} SamplerCompare;

typedef struct SamplerDesc {
    bool mag_linear, min_linear, mip_linear, unnormalized;
    uint8_t address[3]; /* SamplerAddress, of u, v, w */
    uint8_t compare;    /* SamplerCompare */
    float bias, min_lod, max_lod;
    uint32_t border[4]; /* bits: floats or integers, as the image's format is */
} SamplerDesc;

/* A descriptor of either kind or both, in the place of a buffer's address and size. */
typedef struct ImageBinding {
    const ImageDesc *image; /* NULL: reads give 0, writes are dropped */
    const SamplerDesc *sampler;
} ImageBinding;

#endif
