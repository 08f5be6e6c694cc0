/* SPDX-License-Identifier: MIT
 *
 * The operands of image instructions (SPIR-V 3.3.10, 3.14), found once for checks and devices. In:
 * an instruction that was read; out: which of its ids is what. Types are check/'s business.
 */
#include "spirv/spirv.h"

typedef struct ImageRow {
    uint16_t op;
    uint8_t act, flags;
} ImageRow;

enum { DREF = 1, PROJECTIVE = 2, TEXEL = 4, COMPONENT = 8, SAMPLE = 16, LEVEL = 32, ALONE = 64 };

static const ImageRow rows[] = {
    { SpvOpImageTexelPointer, SPV_IMAGE_POINT, SAMPLE },
    { SpvOpImageSampleImplicitLod, SPV_IMAGE_SAMPLE, 0 },
    { SpvOpImageSampleExplicitLod, SPV_IMAGE_SAMPLE, 0 },
    { SpvOpImageSampleDrefImplicitLod, SPV_IMAGE_SAMPLE, DREF },
    { SpvOpImageSampleDrefExplicitLod, SPV_IMAGE_SAMPLE, DREF },
    { SpvOpImageSampleProjImplicitLod, SPV_IMAGE_SAMPLE, PROJECTIVE },
    { SpvOpImageSampleProjExplicitLod, SPV_IMAGE_SAMPLE, PROJECTIVE },
    { SpvOpImageSampleProjDrefImplicitLod, SPV_IMAGE_SAMPLE, PROJECTIVE | DREF },
    { SpvOpImageSampleProjDrefExplicitLod, SPV_IMAGE_SAMPLE, PROJECTIVE | DREF },
    { SpvOpImageFetch, SPV_IMAGE_FETCH, 0 },
    { SpvOpImageGather, SPV_IMAGE_GATHER, COMPONENT },
    { SpvOpImageDrefGather, SPV_IMAGE_GATHER, DREF },
    { SpvOpImageRead, SPV_IMAGE_FETCH, 0 },
    { SpvOpImageWrite, SPV_IMAGE_WRITE, TEXEL },
    { SpvOpImageQuerySizeLod, SPV_IMAGE_QUERY_SIZE, ALONE | LEVEL },
    { SpvOpImageQuerySize, SPV_IMAGE_QUERY_SIZE, ALONE },
    { SpvOpImageQueryLod, SPV_IMAGE_QUERY_LOD, 0 },
    { SpvOpImageQueryLevels, SPV_IMAGE_QUERY_LEVELS, ALONE },
    { SpvOpImageQuerySamples, SPV_IMAGE_QUERY_SAMPLES, ALONE },
};

static const ImageRow *row_of(uint16_t op)
{
    for (uint32_t k = 0; k < COUNT_OF(rows); k++)
        if (rows[k].op == op)
            return &rows[k];
    return NULL;
}

bool spv_is_image_op(uint16_t op) { return row_of(op) != NULL; }

const SpvType *spv_image_type(SpvModule *m, const SpvType *t, SpvImageType *out)
{
    if (t && t->kind == SPV_SAMPLED_IMAGE)
        t = t->element;
    const SpvInst *i = t && t->kind == SPV_IMAGE ? spv_def(m, t->id) : NULL;
    if (!i)
        return NULL;
    *out = (SpvImageType){ .sampled_type = spv_type(m, spv_operand(i, 0)),
                           .dim = spv_operand(i, 1),
                           .arrayed = spv_operand(i, 3) == 1,
                           .multisampled = spv_operand(i, 4) == 1,
                           .sampled = spv_operand(i, 5),
                           .format = spv_operand(i, 6) };
    static const uint8_t spatial[] = {
        [SpvDim1D] = 1, [SpvDim2D] = 2, [SpvDim3D] = 3, [SpvDimCube] = 3, [SpvDimBuffer] = 1,
    };
    out->n_space = out->dim < COUNT_OF(spatial) ? spatial[out->dim] : 0;
    return t;
}

/* The ids that the mask brings along, in the order of its bits. */
static bool image_operands(const SpvInst *i, uint32_t at, SpvImageInst *out)
{
    uint32_t n = spv_n_operands(i);
    uint32_t mask = at < n ? spv_operand(i, at++) : 0;
    const struct {
        uint32_t bit;
        SpvId *first, *second;
    } ids[] = {
        { SpvImageOperandsBiasMask, &out->bias, NULL },
        { SpvImageOperandsLodMask, &out->lod, NULL },
        { SpvImageOperandsGradMask, &out->grad_x, &out->grad_y },
        { SpvImageOperandsConstOffsetMask, &out->offset, NULL },
        { SpvImageOperandsOffsetMask, &out->offset, NULL },
        { SpvImageOperandsConstOffsetsMask, &out->offsets, NULL },
        { SpvImageOperandsSampleMask, &out->sample, NULL },
        { SpvImageOperandsMinLodMask, &out->min_lod, NULL },
        { SpvImageOperandsMakeTexelAvailableMask, &out->scope, NULL },
        { SpvImageOperandsMakeTexelVisibleMask, &out->scope, NULL },
        { SpvImageOperandsOffsetsMask, &out->offsets, NULL },
    };
    uint32_t known = SpvImageOperandsNonPrivateTexelMask | SpvImageOperandsVolatileTexelMask |
                     SpvImageOperandsSignExtendMask | SpvImageOperandsZeroExtendMask |
                     SpvImageOperandsNontemporalMask;
    for (uint32_t k = 0; k < COUNT_OF(ids); k++) {
        known |= ids[k].bit;
        if (!(mask & ids[k].bit))
            continue;
        if (at + (ids[k].second != NULL) >= n)
            return false;
        *ids[k].first = spv_operand(i, at++);
        if (ids[k].second)
            *ids[k].second = spv_operand(i, at++);
    }
    out->sign_extend = mask & SpvImageOperandsSignExtendMask;
    out->zero_extend = mask & SpvImageOperandsZeroExtendMask;
    return !(mask & ~known);
}

bool spv_image_inst(SpvModule *m, const SpvInst *i, SpvImageInst *out)
{
    const ImageRow *row = row_of(i->op);
    uint32_t at = 0, n = spv_n_operands(i);
    if (!row || !n)
        return false;
    *out = (SpvImageInst){ .act = row->act, .image = spv_operand(i, at++) };
    const SpvType *t = spv_type_of(m, out->image);
    if (row->act == SPV_IMAGE_POINT)
        t = t && t->kind == SPV_POINTER ? t->element : NULL;
    out->has_sampler = t && t->kind == SPV_SAMPLED_IMAGE;
    if (!spv_image_type(m, t, &out->type))
        return false;
    bool alone = row->flags & ALONE;
    SpvId *const more[] = {
        alone ? NULL : &out->coordinate,
        row->flags & DREF ? &out->dref : NULL,
        row->flags & COMPONENT ? &out->component : NULL,
        row->flags & TEXEL ? &out->texel : NULL,
        row->flags & SAMPLE ? &out->sample : NULL,
        row->flags & LEVEL ? &out->lod : NULL,
    };
    for (uint32_t k = 0; k < COUNT_OF(more); k++) {
        if (more[k] && at >= n)
            return false;
        if (more[k])
            *more[k] = spv_operand(i, at++);
    }
    out->projective = row->flags & PROJECTIVE;
    return image_operands(i, at, out);
}

bool spv_image_is_implicit(const SpvImageInst *i)
{
    return (i->act == SPV_IMAGE_SAMPLE || i->act == SPV_IMAGE_QUERY_LOD) && !i->lod && !i->grad_x;
}
