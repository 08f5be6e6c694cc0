/* SPDX-License-Identifier: MIT
 *
 * Images, samplers and texel buffers (SPIR-V 3.3.10, 3.14; what kernels may do with them): of what
 * types operands and results are, and where variables of these types may be.
 */
#include "check/internal.h"

static bool is_opaque(const SpvType *t)
{
    return t && (t->kind == SPV_IMAGE || t->kind == SPV_SAMPLER || t->kind == SPV_SAMPLED_IMAGE);
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void check_variable(Checker *c, SpvInst *i)
{
    const SpvType *p = result_type(c, i), *t = p && p->kind == SPV_POINTER ? p->element : NULL;
    if (!t || !holds(c, t, &c->holds_image, is_opaque))
        return;
    if (spv_operand(i, 0) != SpvStorageClassUniformConstant) {
        broken(c, i, "a variable of images or samplers is not of storage class UniformConstant");
        return;
    }
    while (t->kind == SPV_ARRAY || t->kind == SPV_RUNTIME_ARRAY)
        t = t->element;
    if (!is_opaque(t))
        broken(c, i, "images and samplers are not members of structures");
}

/* Whether a depth is compared with, the instruction says: types may differ in that. */
static bool same_image(Checker *c, const SpvType *a, const SpvType *b)
{
    enum { DEPTH = 2 };
    const SpvInst *x = a ? spv_def(c->m, a->id) : NULL, *y = b ? spv_def(c->m, b->id) : NULL;
    if (!x || !y || x->op != SpvOpTypeImage || y->op != SpvOpTypeImage || x->n_words != y->n_words)
        return same_type(a, b);
    for (uint32_t k = 0; k < spv_n_operands(x); k++)
        if (k != DEPTH && spv_operand(x, k) != spv_operand(y, k))
            return false;
    return true;
}

static void check_sampled_image(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *image = want_value(c, i, 0),
                  *sampler = want_value(c, i, 1);
    if (!r || !image || !sampler)
        return;
    if (r->kind != SPV_SAMPLED_IMAGE || !same_image(c, r->element, image) ||
        sampler->kind != SPV_SAMPLER)
        broken(c, i, "a sampled image is made from an image of its type and a sampler");
}

static void check_image(Checker *c, SpvInst *i)
{
    const SpvType *r = result_type(c, i), *from = want_value(c, i, 0);
    if (r && from && (from->kind != SPV_SAMPLED_IMAGE || !same_type(from->element, r)))
        broken(c, i, "the image is taken out of something else than a sampled image of it");
}

/* ---- operands -------------------------------------------------------------------------------- */

/* What an operand has to be: at least n components of a kind, of at most so many bits. */
typedef struct Numbers {
    SpvKind kind;
    uint32_t n, bits;
} Numbers;

/* Absent is fine. */
static bool want_numbers(Checker *c, const SpvInst *i, const char *what, SpvId id, Numbers want)
{
    const SpvInst *def = id ? spv_def(c->m, id) : NULL;
    const SpvType *t =
        def && def->type && def->op != SpvOpFunction ? spv_type(c->m, def->type) : NULL;
    if (!id ||
        (t && of_kind(t, want.kind) && components(t) >= want.n && component(t)->bits <= want.bits))
        return true;
    broken(c, i, "%s is %s: it needs %u numbers, %s, of at most %u bits", what, type_name(c, t),
           want.n, want.kind == SPV_INT ? "integers" : "floats", want.bits);
    return false;
}

static bool want(Checker *c, const SpvInst *i, const char *what, SpvId id, SpvKind kind, uint32_t n)
{
    return want_numbers(c, i, what, id, (Numbers){ kind, n, 32 });
}

/* Of integers of 64 bits (SPV_EXT_shader_image_int64); gathered, they are not supported. */
static uint32_t texel_bits_most(const SpvImageInst *s)
{
    const SpvType *t = s->type.sampled_type;
    return t->kind == SPV_INT && t->bits == 64 && s->act != SPV_IMAGE_GATHER ? 64 : 32;
}

/* ConstOffsets: an array of four pairs. */
static bool want_offsets(Checker *c, const SpvInst *i, SpvId id)
{
    const SpvInst *def = id ? spv_def(c->m, id) : NULL;
    const SpvType *t = def && def->type ? spv_type(c->m, def->type) : NULL;
    if (!id || (t && t->kind == SPV_ARRAY && t->count == 4 && of_kind(t->element, SPV_INT) &&
                components(t->element) == 2 && component(t->element)->bits == 32))
        return true;
    broken(c, i, "ConstOffsets is %s, not an array of four pairs of integers", type_name(c, t));
    return false;
}

static bool is_whole(SpvImageAct act)
{
    return act == SPV_IMAGE_FETCH || act == SPV_IMAGE_WRITE || act == SPV_IMAGE_POINT ||
           act == SPV_IMAGE_QUERY_SIZE;
}

static bool samples(SpvImageAct act)
{
    return act == SPV_IMAGE_SAMPLE || act == SPV_IMAGE_GATHER || act == SPV_IMAGE_QUERY_LOD;
}

/* Numbers in a coordinate. A cube's layer of integer coordinates counts its faces. */
static uint32_t coordinates(const SpvImageInst *s)
{
    uint32_t n = s->type.n_space + s->projective;
    bool layer = s->type.arrayed && s->act != SPV_IMAGE_QUERY_LOD;
    return n + (layer && !(s->type.dim == SpvDimCube && is_whole(s->act)));
}

static bool find(Checker *c, SpvInst *i, SpvImageInst *s)
{
    if (!spv_image_inst(c->m, i, s)) {
        broken(c, i, "%s without an image, or without the operands that it needs",
               spv_op_name(i->op));
        return false;
    }
    if (!s->type.n_space || !s->type.sampled_type) {
        broken(c, i, "images of this dimensionality are not for kernels");
        return false;
    }
    if (s->act != SPV_IMAGE_POINT && s->has_sampler != samples(s->act)) {
        broken(c, i, "%s takes %s", spv_op_name(i->op),
               s->has_sampler ? "an image without a sampler" : "an image with a sampler");
        return false;
    }
    return true;
}

static void check_operands(Checker *c, SpvInst *i)
{
    SpvImageInst s;
    uint64_t component;
    if (!find(c, i, &s))
        return;
    SpvKind place = is_whole(s.act) ? SPV_INT : SPV_FLOAT;
    uint32_t n = s.type.n_space, in_layer = s.type.dim == SpvDimCube ? 2 : n;
    bool good =
        want(c, i, "the coordinate", s.coordinate, place, coordinates(&s)) &&
        want(c, i, "D_ref", s.dref, SPV_FLOAT, 1) &&
        want(c, i, "the component", s.component, SPV_INT, 1) &&
        want(c, i, "Bias", s.bias, SPV_FLOAT, 1) && want(c, i, "Lod", s.lod, place, 1) &&
        want(c, i, "Grad", s.grad_x, SPV_FLOAT, n) && want(c, i, "Grad", s.grad_y, SPV_FLOAT, n) &&
        want(c, i, "the offset", s.offset, SPV_INT, in_layer) && want_offsets(c, i, s.offsets) &&
        want(c, i, "Sample", s.sample, SPV_INT, 1) && want(c, i, "MinLod", s.min_lod, SPV_FLOAT, 1);
    if (good && s.component && !spv_constant(c->m, s.component, &component))
        broken(c, i, "the component is no constant");
    else if (good)
        want_numbers(c, i, "the texel", s.texel,
                     (Numbers){ s.type.sampled_type->kind, 1, texel_bits_most(&s) });
}

static void check_result(Checker *c, SpvInst *i)
{
    SpvImageInst s;
    const SpvType *r = result_type(c, i);
    if (!r || !spv_image_inst(c->m, i, &s) || !s.type.sampled_type || !s.type.n_space)
        return; /* check_operands' */
    uint32_t in_layer = s.type.dim == SpvDimCube ? 2 : s.type.n_space;
    const SpvType *sampled = s.type.sampled_type;
    SpvKind kind = sampled->kind;
    uint32_t n = 4, least = 1;
    switch (s.act) {
    case SPV_IMAGE_SAMPLE: n = s.dref ? 1 : 4; break;
    case SPV_IMAGE_QUERY_SIZE:
        least = n = in_layer + s.type.arrayed;
        kind = SPV_INT;
        break;
    case SPV_IMAGE_QUERY_LOD:
        least = n = 2;
        kind = SPV_FLOAT;
        break;
    case SPV_IMAGE_QUERY_LEVELS:
    case SPV_IMAGE_QUERY_SAMPLES:
        n = 1;
        kind = SPV_INT;
        break;
    default: break;
    }
    bool whole = s.act == SPV_IMAGE_SAMPLE || s.act == SPV_IMAGE_FETCH;
    if (!of_kind(r, kind) || component(r)->bits > (whole ? texel_bits_most(&s) : 32) ||
        components(r) > n || components(r) < least)
        broken(c, i, "%s of an image of %s gives %s", spv_op_name(i->op), type_name(c, sampled),
               type_name(c, r));
}

static void check_samples(Checker *c, SpvInst *i)
{
    SpvImageInst s;
    if (!spv_image_inst(c->m, i, &s))
        return;
    bool several = s.type.multisampled, each = s.act == SPV_IMAGE_FETCH || s.act == SPV_IMAGE_WRITE;
    if (each && several != (s.sample != 0))
        broken(c, i,
               several ? "the image is multisampled: a Sample is needed"
                       : "a Sample is given, and the image is not multisampled");
    bool one = samples(s.act) || i->op == SpvOpImageQuerySizeLod;
    if (several ? one : s.act == SPV_IMAGE_QUERY_SAMPLES)
        broken(c, i, "%s is for images that are%s multisampled", spv_op_name(i->op),
               several ? " not" : "");
}

static void check_pointer(Checker *c, SpvInst *i)
{
    SpvImageInst s;
    const SpvType *r = result_type(c, i);
    if (!spv_image_inst(c->m, i, &s) || !s.type.sampled_type)
        return;
    if (!r || r->kind != SPV_POINTER || r->storage != SpvStorageClassImage ||
        !same_type(r->element, s.type.sampled_type) || r->element->bits > texel_bits_most(&s) ||
        s.has_sampler)
        broken(c, i, "a texel pointer points to the image's type in storage class Image");
}

static bool gives_numbers(uint16_t op)
{
    return spv_is_image_op(op) && op != SpvOpImageWrite && op != SpvOpImageTexelPointer;
}

static const CheckRow rows[] = {
    { { "image-variable", "SPIR-V 2.16.1",
        "Variables of images and samplers are UniformConstant, alone or in arrays." },
      { SpvOpVariable },
      NULL,
      check_variable },
    { { "sampled-image", "SPIR-V 3.3.10, OpSampledImage",
        "A sampled image is an image of its type and a sampler." },
      { SpvOpSampledImage },
      NULL,
      check_sampled_image },
    { { "image", "SPIR-V 3.3.10, OpImage", "OpImage takes a sampled image's image." },
      { SpvOpImage },
      NULL,
      check_image },
    { { "image-operands", "SPIR-V 3.3.10, 3.14",
        "Coordinates and image operands are of the kind and as many as the image needs." },
      { 0 },
      spv_is_image_op,
      check_operands },
    { { "image-samples", "SPIR-V 3.3.10, 3.14 (Sample)",
        "A sample is named of multisampled images, and of no others." },
      { 0 },
      spv_is_image_op,
      check_samples },
    { { "image-result", "SPIR-V 3.3.10", "Results are of the image's type." },
      { 0 },
      gives_numbers,
      check_result },
    { { "texel-pointer", "SPIR-V 3.3.8, OpImageTexelPointer",
        "A texel pointer points to the image's type in storage class Image." },
      { SpvOpImageTexelPointer },
      NULL,
      check_pointer },
};
const CheckFamily check_core_image = { rows, COUNT_OF(rows) };
