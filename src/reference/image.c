/* SPDX-License-Identifier: MIT
 *
 * Images, samplers and texel buffers, by the letter of Vulkan 1.3, 16 (Image Operations), in double
 * and one texel at a time. The other device shares only the meaning of a format's bits. A value of
 * these types consists of the addresses of its descriptors (base/image.h): one leaf, or two for a
 * sampled image.
 *
 * Texels outside of an image read as zeros, are not written, and are findings.
 */
#include "base/image.h"
#include "reference/machine.h"

#include <math.h>

typedef struct Op {
    SpvImageInst s;
    uint64_t component;
} Op;

/* One access under way. */
typedef struct Look {
    RMachine *m;
    RInv *v;
    const RInst *i;
    const Op *op;
    const ImageDesc *image;
    const SamplerDesc *sampler;
    int64_t face, layer; /* face: -1 where the image is no cube */
    uint32_t n;          /* coordinates in a layer or face */
    double stpq[3], q;
    bool has_slope; /* derivatives of the direction or the coordinates, not divided by any q */
    double slope[2][3];
} Look;

/* ---- operands -------------------------------------------------------------------------------- */

static double real(const Look *l, SpvId id, uint32_t k)
{
    return fmt_get(fmt_of(type_of(l->m, id)), leaf(l->v, ref_of(l->m, id))[k]);
}

static int64_t read_integer(const Look *l, SpvId id, uint32_t k)
{
    const RType *t = type_of(l->m, id);
    t = type_scalar(t->kind == SPV_ARRAY ? t->element : t); /* ConstOffsets */
    uint64_t x = leaf(l->v, ref_of(l->m, id))[k];
    return t->is_signed ? sext(x, t->bits) : (int64_t)(x & mask_bits(t->bits));
}

static uint32_t dims_in_layer(const SpvImageType *t)
{
    return t->dim == SpvDimCube ? 2 : t->n_space;
}

/* Undefined operands make the result undefined; undefined coordinates are reported at once. */
static uint8_t undefined_operands(const Look *l)
{
    uint16_t at[32];
    uint8_t any = 0;
    uint32_t n = MIN(spv_id_operands(l->i->src, at, COUNT_OF(at)), COUNT_OF(at));
    for (uint32_t k = 0; k < n; k++) {
        SpvId id = l->i->src->words[at[k]];
        const RType *t = type_of(l->m, id);
        for (uint32_t c = 0; c < t->leaves; c++)
            any |= unset(l->v, ref_of(l->m, id))[c];
    }
    return any;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static RPointer texel_at(const ImageDesc *image, int64_t level, const int64_t ijk[3], int64_t layer)
{
    const ImageLevel *v = &image->levels[level];
    return (RPointer){ (uint64_t)(uintptr_t)v->base + (uint64_t)ijk[0] * image->format->bytes +
                           (uint64_t)ijk[1] * v->row + (uint64_t)ijk[2] * v->slice +
                           (uint64_t)layer * v->layer,
                       PTR_NOWHERE };
}

static bool texel_access(const Look *l, RPointer texel, RAccessKind kind, RAccess *a)
{
    RRequest r = { texel, l->image->format->bytes, 1, kind };
    return mem_access(l->m, l->v, l->i, &r, a);
}

static void swizzle(const Look *l, uint32_t x[4])
{
    uint32_t from[4], one = texel_is_integer(l->image->format) ? 1 : texel_bits(1);
    memcpy(from, x, sizeof from);
    for (int c = 0; c < 4; c++)
        x[c] = l->image->swizzle[c] == SWIZZLE_0   ? 0
               : l->image->swizzle[c] == SWIZZLE_1 ? one
                                                   : from[l->image->swizzle[c]];
}

/* ---- integer coordinates (16.4): fetches, reads, writes, pointers ---------------------------- */

typedef struct TexelPlace {
    int64_t level, ijk[3], layer;
} TexelPlace;

/* Texel coordinate validation; false: there is no such texel. */
static bool integer_place(const Look *l, TexelPlace *p)
{
    const SpvImageInst *s = &l->op->s;
    *p = (TexelPlace){ .level = s->lod ? read_integer(l, s->lod, 0) : 0 };
    if (!l->image || p->level < 0 || p->level >= l->image->n_levels)
        return false;
    uint32_t n = dims_in_layer(&s->type);
    for (uint32_t k = 0; k < n; k++) {
        p->ijk[k] = read_integer(l, s->coordinate, k);
        if (s->offset)
            p->ijk[k] += read_integer(l, s->offset, k);
        if (p->ijk[k] < 0 || p->ijk[k] >= l->image->levels[p->level].size[k])
            return false;
    }
    if (s->type.arrayed || s->type.dim == SpvDimCube)
        p->layer = read_integer(l, s->coordinate, n);
    int64_t sample = s->sample ? read_integer(l, s->sample, 0) : 0;
    p->ijk[2] += sample;
    if (sample < 0 || sample >= l->image->n_samples)
        return false;
    return p->layer >= 0 && p->layer < l->image->n_layers;
}

static bool find_texel(const Look *l, TexelPlace *p)
{
    bool there = integer_place(l, p);
    if (!there && l->image)
        found(l->m, l->v, l->i, REF_OUT_OF_BOUNDS,
              "texel (%lld, %lld, %lld), layer %lld, level %lld is outside of the image",
              (long long)p->ijk[0], (long long)p->ijk[1], (long long)p->ijk[2], (long long)p->layer,
              (long long)p->level);
    return there;
}

static bool place_access(const Look *l, const TexelPlace *p, RAccessKind kind, RAccess *a)
{
    return texel_access(l, texel_at(l->image, p->level, p->ijk, p->layer), kind, a);
}

static void fetch(Look *l, uint32_t x[4])
{
    static const uint8_t zeros[32];
    TexelPlace p;
    RAccess a = { .data = NULL };
    if (find_texel(l, &p) && !place_access(l, &p, ACCESS_READ, &a))
        a.data = NULL;
    if (!l->image)
        return;
    texel_load(l->image->format, a.data ? a.data : zeros, x);
    if (l->op->s.sign_extend || l->op->s.zero_extend)
        texel_extend(l->image->format, l->op->s.sign_extend, x);
    swizzle(l, x);
}

static void store_texel(Look *l)
{
    TexelPlace p;
    RAccess a;
    SpvId texel = l->op->s.texel;
    const RType *t = type_of(l->m, texel);
    uint32_t x[4] = { 0 };
    for (uint32_t c = 0; c < t->leaves; c++) {
        if (unset(l->v, ref_of(l->m, texel))[c])
            found(l->m, l->v, l->i, REF_UNDEFINED, "%s is stored to an image",
                  undefined_name(unset(l->v, ref_of(l->m, texel))[c]));
        x[c] = type_scalar(t)->kind == SPV_FLOAT ? texel_bits((float)real(l, texel, c))
                                                 : (uint32_t)read_integer(l, texel, c);
    }
    if (type_scalar(t)->bits == 64) /* texel_is_long */
        x[1] = (uint32_t)((uint64_t)read_integer(l, texel, 0) >> 32);
    if (find_texel(l, &p) && place_access(l, &p, ACCESS_WRITE, &a))
        texel_store(l->image->format, a.data, x);
}

/* ---- cube faces (16.5.4) --------------------------------------------------------------------- */

typedef struct OnFace {
    int64_t face;
    double sc, tc, rc;
} OnFace;

static OnFace select_face(const double r[3])
{
    const double x = r[0], y = r[1], z = r[2];
    if (fabs(z) >= fabs(x) && fabs(z) >= fabs(y))
        return z < 0 ? (OnFace){ 5, -x, -y, z } : (OnFace){ 4, x, -y, z };
    if (fabs(y) >= fabs(x))
        return y < 0 ? (OnFace){ 3, x, -z, y } : (OnFace){ 2, x, z, y };
    return x < 0 ? (OnFace){ 1, z, -y, x } : (OnFace){ 0, -z, -y, x };
}

/* What select_face would compute for a vector on this face. */
static OnFace as_on_face(int64_t face, const double r[3])
{
    const double x = r[0], y = r[1], z = r[2];
    const OnFace all[6] = { { 0, -z, -y, x }, { 1, z, -y, x }, { 2, x, z, y },
                            { 3, x, -z, y },  { 4, x, -y, z }, { 5, -x, -y, z } };
    return all[face];
}

static void direction(int64_t face, double sc, double tc, double r[3])
{
    const double all[6][3] = { { 1, -tc, -sc }, { -1, -tc, sc }, { sc, 1, tc },
                               { sc, -1, -tc }, { sc, -tc, 1 },  { -sc, -tc, -1 } };
    memcpy(r, all[face], sizeof all[face]);
}

static double face_coordinate(double c, double rc)
{
    return rc == 0 ? 0.5 : 0.5 * (c / fabs(rc)) + 0.5;
}

/* ---- level of detail (16.5.7) ---------------------------------------------------------------- */

/* Derivatives of the face's coordinates from those of the direction. */
static void cube_derivative(const OnFace *at, const double *d, double out[3])
{
    OnFace slope = as_on_face(at->face, d);
    double rc = fabs(at->rc), drc = at->rc < 0 ? -slope.rc : slope.rc;
    out[0] = 0.5 * (rc * slope.sc - at->sc * drc) / (rc * rc);
    out[1] = 0.5 * (rc * slope.tc - at->tc * drc) / (rc * rc);
}

static double rho(const Look *l, const OnFace *at, const double slope[3])
{
    double d[3], sum = 0;
    if (l->face >= 0)
        cube_derivative(at, slope, d);
    else
        memcpy(d, slope, sizeof d);
    for (uint32_t k = 0; k < l->n; k++)
        sum += pow(d[k] * l->image->levels[0].size[k], 2);
    return sqrt(sum);
}

/* lambda before it is clamped. */
static double lambda_prime(const Look *l, const OnFace *at)
{
    const SpvImageInst *s = &l->op->s;
    double base = 0, bias = l->sampler->bias + (s->bias ? real(l, s->bias, 0) : 0);
    if (s->lod)
        base = real(l, s->lod, 0);
    else if (l->has_slope)
        base = log2(fmax(rho(l, at, l->slope[0]), rho(l, at, l->slope[1])));
    return base + bias;
}

static double lambda_of(const Look *l, const OnFace *at)
{
    const SpvImageInst *s = &l->op->s;
    double least = l->sampler->min_lod, most = l->sampler->max_lod, x = lambda_prime(l, at);
    if (s->min_lod && real(l, s->min_lod, 0) > least)
        least = real(l, s->min_lod, 0);
    if (least > most) /* undefined; this is what the other device does */
        return least;
    return x > most ? most : x >= least ? x : least;
}

static int64_t nearest_level(double d) { return (int64_t)fmax(ceil(d + 0.5) - 1, 0); }

/* ---- normalized coordinates ------------------------------------------------------------------ */

static float projected(const Look *l, uint32_t k)
{
    const SpvImageInst *s = &l->op->s;
    return (float)(real(l, s->coordinate, k) /
                   (s->projective ? real(l, s->coordinate, s->type.n_space) : 1));
}

static OnFace begin(Look *l)
{
    const SpvImageInst *s = &l->op->s;
    OnFace at = { .face = -1 };
    uint32_t n = s->type.n_space;
    double r[3] = { 0 };
    l->q = s->projective ? real(l, s->coordinate, n) : 1; /* divides D_ref too (16.5.1) */
    for (uint32_t k = 0; k < n; k++)
        r[k] = real(l, s->coordinate, k) / l->q;
    int64_t layers = l->image->n_layers / (s->type.dim == SpvDimCube ? 6 : 1);
    if (s->type.arrayed && l->i->op != SpvOpImageQueryLod) {
        double a = rint(real(l, s->coordinate, n));
        l->layer = a >= layers ? layers - 1 : a > 0 ? (int64_t)a : 0;
    }
    l->n = dims_in_layer(&s->type);
    l->face = -1;
    memcpy(l->stpq, r, sizeof r);
    if (s->type.dim == SpvDimCube) {
        at = select_face(r);
        l->face = at.face;
        l->stpq[0] = face_coordinate(at.sc, at.rc);
        l->stpq[1] = face_coordinate(at.tc, at.rc);
    }
    return at;
}

static double clamp_double(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static int64_t clamp_i(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static int64_t mod(int64_t a, int64_t n) { return (a % n + n) % n; }
static int64_t mirror(int64_t n) { return n >= 0 ? n : -(1 + n); }

/* Wrapping (16.6.2). */
static int64_t wrap(int64_t i, int64_t size, uint8_t mode)
{
    switch (mode) {
    case ADDRESS_REPEAT: return mod(i, size);
    case ADDRESS_MIRRORED_REPEAT: return size - 1 - mirror(mod(i, 2 * size) - size);
    case ADDRESS_CLAMP_EDGE: return clamp_i(i, 0, size - 1);
    case ADDRESS_CLAMP_BORDER: return clamp_i(i, -1, size);
    default: return clamp_i(mirror(i), 0, size - 1);
    }
}

/* The texel of the neighbouring face that lies behind an edge. */
static void next_face(int64_t *face, int64_t ij[2], int64_t size)
{
    double r[3], n = (double)size;
    direction(*face, (2 * (double)ij[0] + 1 - n) / n, (2 * (double)ij[1] + 1 - n) / n, r);
    OnFace to = select_face(r);
    *face = to.face;
    ij[0] = clamp_i((int64_t)floor(face_coordinate(to.sc, to.rc) * n), 0, size - 1);
    ij[1] = clamp_i((int64_t)floor(face_coordinate(to.tc, to.rc) * n), 0, size - 1);
}

/* Depth comparison (16.3.4). */
static uint32_t compare_depth(const Look *l, float d)
{
    double ref = real(l, l->op->s.dref, 0) / l->q;
    if (l->image->format->kind == TEXEL_UNORM)
        ref = clamp_double(ref, 0, 1);
    const bool results[] = { false, ref<d, ref == d, ref <= d, ref> d, ref != d, ref >= d, true };
    return texel_bits(results[l->sampler->compare & 7] ? 1 : 0);
}

/* The texel at integer coordinates that may be outside. */
static void load_texel(const Look *l, int64_t level, const int64_t from[3], uint32_t x[4])
{
    const ImageLevel *v = &l->image->levels[level];
    int64_t ijk[3] = { from[0], from[1], from[2] }, face = l->face, layer = l->layer;
    bool border = false;
    RAccess a;
    memset(x, 0, 4 * sizeof *x);
    if (face >= 0) {
        int64_t edge = v->size[0] - 1;
        bool out_i = ijk[0] < 0 || ijk[0] > edge, out_j = ijk[1] < 0 || ijk[1] > edge;
        if (out_i && out_j) /* integers cannot be averaged */
            ijk[0] = clamp_i(ijk[0], 0, edge), ijk[1] = clamp_i(ijk[1], 0, edge);
        else if (out_i || out_j)
            next_face(&face, ijk, v->size[0]);
        layer = 6 * layer + face;
    } else {
        for (uint32_t k = 0; k < l->n; k++) {
            ijk[k] = wrap(ijk[k], v->size[k], l->sampler->address[k]);
            border |= ijk[k] < 0 || ijk[k] >= v->size[k];
        }
    }
    if (border) {
        memcpy(x, l->sampler->border, 4 * sizeof *x);
        texel_complete(l->image->format, x);
    } else if (texel_access(l, texel_at(l->image, level, ijk, layer), ACCESS_READ, &a))
        texel_load(l->image->format, a.data, x);
    if (l->op->s.dref)
        x[0] = compare_depth(l, texel_float(x[0]));
    else
        swizzle(l, x);
}

/* ---- filtering (16.6) ------------------------------------------------------------------------ */

static void texel_color(const Look *l, int64_t level, const int64_t ijk[3], double color[4])
{
    int64_t n = l->image->levels[level].size[0];
    bool out_i = ijk[0] < 0 || ijk[0] >= n, out_j = ijk[1] < 0 || ijk[1] >= n;
    uint32_t x[4];
    if (l->face >= 0 && out_i && out_j) { /* three faces meet: the average of their texels */
        int64_t i = clamp_i(ijk[0], 0, n - 1), j = clamp_i(ijk[1], 0, n - 1);
        int64_t three[3][3] = { { i, j, 0 }, { ijk[0], j, 0 }, { i, ijk[1], 0 } };
        memset(color, 0, 4 * sizeof *color);
        for (int k = 0; k < 3; k++) {
            double part[4];
            texel_color(l, level, three[k], part);
            for (int c = 0; c < 4; c++)
                color[c] += part[c] / 3;
        }
        return;
    }
    load_texel(l, level, ijk, x);
    for (int c = 0; c < 4; c++)
        color[c] = texel_float(x[c]);
}

static double unnormalized(const Look *l, int64_t level, uint32_t k)
{
    double u = l->stpq[k];
    u = l->sampler->unnormalized ? u : u * l->image->levels[level].size[k];
    return isnan(u) ? 0 : clamp_double(u, -0x1p40, 0x1p40);
}

static int64_t offset_of(const Look *l, uint32_t k)
{
    return l->op->s.offset ? read_integer(l, l->op->s.offset, k) : 0;
}

static void nearest_place(const Look *l, int64_t level, int64_t ijk[3])
{
    memset(ijk, 0, 3 * sizeof *ijk);
    for (uint32_t k = 0; k < l->n; k++)
        ijk[k] = (int64_t)floor(unnormalized(l, level, k)) + offset_of(l, k);
}

/* Interpolates along coordinate k - 1, of what lies along those before. */
static void linear(const Look *l, int64_t level, uint32_t k, const int64_t at[3], double color[4])
{
    if (!k) {
        texel_color(l, level, at, color);
        return;
    }
    k--;
    double u = unnormalized(l, level, k) - 0.5, alpha = u - floor(u), a[4], b[4];
    int64_t ijk[3] = { at[0], at[1], at[2] };
    ijk[k] = (int64_t)floor(u) + offset_of(l, k);
    linear(l, level, k, ijk, a);
    ijk[k]++;
    linear(l, level, k, ijk, b);
    for (int c = 0; c < 4; c++) /* values without weight do not count, even if they are infinite */
        color[c] = (alpha < 1 ? (1 - alpha) * a[c] : 0) + (alpha > 0 ? alpha * b[c] : 0);
}

static void filter(const Look *l, int64_t level, bool is_linear, double color[4])
{
    int64_t at[3] = { 0 };
    if (is_linear) {
        linear(l, level, l->n, at, color);
        return;
    }
    nearest_place(l, level, at);
    texel_color(l, level, at, color);
}

static void sample(Look *l, uint32_t x[4])
{
    if (!l->image || !l->sampler)
        return;
    OnFace face = begin(l);
    double lambda = lambda_of(l, &face), q = l->image->n_levels - 1;
    double d = l->sampler->unnormalized ? 0 : clamp_double(lambda, 0, q), color[4], finer[4];
    bool is_linear = lambda <= 0 ? l->sampler->mag_linear : l->sampler->min_linear;
    int64_t level = l->sampler->mip_linear ? (int64_t)floor(d) : nearest_level(d);
    if (texel_is_integer(l->image->format)) {
        int64_t at[3];
        nearest_place(l, level, at);
        load_texel(l, level, at, x);
        return;
    }
    filter(l, level, is_linear, color);
    double delta = d - floor(d);
    if (l->sampler->mip_linear && delta > 0) {
        memcpy(finer, color, sizeof finer);
        filter(l, level + 1, is_linear, color);
        for (int c = 0; c < 4; c++)
            color[c] = (1 - delta) * finer[c] + delta * color[c];
    }
    for (int c = 0; c < 4; c++)
        x[c] = texel_bits((float)color[c]);
}

/* Texel gathering (16.6.4). */
static void gather_texels(Look *l, uint32_t x[4])
{
    const SpvImageInst *s = &l->op->s;
    if (!l->image || !l->sampler)
        return;
    begin(l);
    int64_t i0 = (int64_t)floor(unnormalized(l, 0, 0) - 0.5) + offset_of(l, 0);
    int64_t j0 = (int64_t)floor(unnormalized(l, 0, 1) - 0.5) + offset_of(l, 1);
    int64_t i1 = i0 + 1, j1 = j0 + 1;
    int64_t at[4][3] = { { i0, j1, 0 }, { i1, j1, 0 }, { i1, j0, 0 }, { i0, j0, 0 } };
    uint32_t component = s->dref ? 0 : (uint32_t)l->op->component & 3;
    for (uint32_t k = 0; k < 4; k++) {
        if (s->offsets) {
            at[k][0] = i0 + read_integer(l, s->offsets, 2 * k);
            at[k][1] = j0 + read_integer(l, s->offsets, 2 * k + 1);
        }
        uint32_t texel[4];
        double color[4];
        if (texel_is_integer(l->image->format)) {
            load_texel(l, 0, at[k], texel);
            x[k] = texel[component];
        } else {
            texel_color(l, 0, at[k], color);
            x[k] = texel_bits((float)color[component]);
        }
    }
}

/* ---- queries --------------------------------------------------------------------------------- */

static void query_size(const Look *l, uint32_t x[4])
{
    const SpvImageType *t = &l->op->s.type;
    int64_t level = l->op->s.lod ? read_integer(l, l->op->s.lod, 0) : 0;
    uint32_t n = dims_in_layer(t);
    if (!l->image || level < 0 || level >= l->image->n_levels)
        return;
    for (uint32_t k = 0; k < n; k++)
        x[k] = l->image->levels[level].size[k];
    if (t->arrayed)
        x[n] = l->image->n_layers / (t->dim == SpvDimCube ? 6 : 1);
}

static void query_lod(Look *l, uint32_t x[4])
{
    if (!l->image || !l->sampler)
        return;
    OnFace face = begin(l);
    double d = clamp_double(lambda_of(l, &face), 0, l->image->n_levels - 1);
    x[0] = texel_bits((float)(l->sampler->mip_linear ? d : (double)nearest_level(d)));
    x[1] = texel_bits((float)lambda_prime(l, &face));
}

/* ---- instructions ---------------------------------------------------------------------------- */

static Look look_of(RMachine *m, RInv *v, const RInst *i)
{
    const Op *op = i->aux;
    const uint64_t *handles = leaf(v, ref_of(m, op->s.image));
    Look l = { .m = m, .v = v, .i = i, .op = op };
    l.image = (const ImageDesc *)(uintptr_t)handles[0];
    if (op->s.has_sampler)
        l.sampler = (const SamplerDesc *)(uintptr_t)handles[1];
    l.has_slope = op->s.grad_x;
    for (uint32_t k = 0; k < op->s.type.n_space && l.has_slope; k++) {
        l.slope[0][k] = real(&l, op->s.grad_x, k);
        l.slope[1][k] = real(&l, op->s.grad_y, k);
    }
    return l;
}

static void set_result(const Look *l, const uint32_t x[4], uint8_t undefined)
{
    const RType *t = l->i->type, *s = type_scalar(t);
    uint64_t *out = leaf(l->v, l->i->dst);
    const uint64_t wide[4] = { x[0] | (uint64_t)x[1] << 32, 0, 0, x[3] };
    for (uint32_t k = 0; k < t->leaves; k++) {
        out[k] = s->bits == 64                           ? wide[k] /* texel_is_long */
                 : s->kind == SPV_FLOAT && s->bits != 32 ? fmt_put(fmt_of(s), texel_float(x[k]))
                                                         : (uint64_t)x[k] & mask_bits(s->bits);
        unset(l->v, l->i->dst)[k] = undefined;
    }
}

static void carry_out(Look *l, uint8_t undefined)
{
    uint32_t x[4] = { 0 };
    SpvId at = l->op->s.coordinate;
    if (at)
        matters(l->m, l->v, l->i, ref_of(l->m, at), type_of(l->m, at)->leaves,
                "is used as a coordinate");
    switch (l->op->s.act) {
    case SPV_IMAGE_SAMPLE: sample(l, x); break;
    case SPV_IMAGE_FETCH: fetch(l, x); break;
    case SPV_IMAGE_GATHER: gather_texels(l, x); break;
    case SPV_IMAGE_WRITE: store_texel(l); break;
    case SPV_IMAGE_QUERY_SIZE: query_size(l, x); break;
    case SPV_IMAGE_QUERY_LOD: query_lod(l, x); break;
    case SPV_IMAGE_QUERY_LEVELS: x[0] = l->image ? l->image->n_levels : 0; break;
    case SPV_IMAGE_QUERY_SAMPLES: x[0] = l->image ? l->image->n_samples : 0; break;
    case SPV_IMAGE_POINT: break; /* texel_pointer's */
    }
    if (l->i->dst != REF_NONE)
        set_result(l, x, undefined | undefined_operands(l));
}

/* Levels of detail by derivatives (Vulkan 1.4, Derivative Operations): the projected coordinates'
 * differences in the quad. */
static void all_sample(RMachine *m, RInv **set, uint32_t n, const RInst *i)
{
    const Op *op = i->aux;
    uint32_t n_space = op->s.type.n_space;
    Ref at = ref_of(m, op->s.coordinate);
    for (uint32_t k = 0; k < n; k++) {
        Look l = look_of(m, set[k], i);
        uint8_t undefined = 0;
        l.has_slope = true;
        for (uint32_t c = 0; c < 2 * n_space; c++) {
            uint32_t axis = c / n_space + 1;
            const RInv *from = group_neighbour(i, set, n, set[k]->lane & ~axis),
                       *to = group_neighbour(i, set, n, set[k]->lane | axis);
            if (!from || !to) {
                undefined = 1;
                continue;
            }
            Look a = look_of(m, (RInv *)from, i), b = look_of(m, (RInv *)to, i);
            l.slope[axis - 1][c % n_space] =
                (float)(projected(&b, c % n_space) - projected(&a, c % n_space));
            undefined |= unset(from, at)[c % n_space] | unset(to, at)[c % n_space];
        }
        carry_out(&l, undefined);
    }
}

static RStep step_access_image(RMachine *m, RInv *v, const RInst *i)
{
    Look l = look_of(m, v, i);
    carry_out(&l, 0);
    if (v->left--)
        return STEP_NEXT;
    v->left = random_below(m, 24);
    return STEP_SWITCH;
}

static RStep step_texel_pointer(RMachine *m, RInv *v, const RInst *i)
{
    const Op *op = i->aux;
    RRequest r = { pointer_at(v, ref_of(m, op->s.image)), sizeof(ImageBinding), 1, ACCESS_READ };
    Look l = { .m = m, .v = v, .i = i, .op = op };
    RAccess a;
    TexelPlace at;
    uint64_t *out = leaf(v, i->dst);
    out[0] = 0;
    out[1] = PTR_STRAY; /* an access there does nothing */
    unset(v, i->dst)[0] = unset(v, ref_of(m, op->s.coordinate))[0];
    unset(v, i->dst)[1] = 0;
    if (!mem_access(m, v, i, &r, &a))
        return STEP_NEXT;
    ImageBinding b;
    memcpy(&b, a.data, sizeof b);
    l.image = b.image;
    const RType *t = type_get(m, i->type->pointee);
    bool fits = b.image && t && b.image->format->bytes >= t->size;
    if (find_texel(&l, &at) && fits) {
        RPointer texel = texel_at(b.image, 0, at.ijk, at.layer);
        out[0] = texel.va;
        out[1] = texel.prov;
    }
    return STEP_NEXT;
}

static RStep step_copy_handles(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    for (uint32_t k = 0; k < i->n; k++) {
        Ref from = i->op == SpvOpSampledImage ? i->ops[k] : i->ops[0] + k;
        leaf(v, i->dst)[k] = *leaf(v, from);
        unset(v, i->dst)[k] = *unset(v, from);
    }
    return STEP_NEXT;
}

static bool prepare_handles(RMachine *m, RInst *i)
{
    if (!prepare_value(m, i))
        return false;
    if (i->op == SpvOpImage)
        return i->at->kind == SPV_SAMPLED_IMAGE && i->type->kind == SPV_IMAGE;
    return i->n_ops == 2 && i->at->kind == SPV_IMAGE &&
           operand_type(m, i, 1)->kind == SPV_SAMPLER && i->type->kind == SPV_SAMPLED_IMAGE;
}

/* Whether an operand, if present, has enough numbers of a kind. */
static bool has(RMachine *m, SpvId id, SpvKind kind, uint32_t n)
{
    const RType *t = id ? type_of(m, id) : NULL, *s = t ? type_scalar(t) : NULL;
    if (s && t->kind == SPV_ARRAY) /* ConstOffsets */
        s = type_scalar(t->element);
    return !id || (t && t->leaves >= n && s->kind == kind);
}

static bool prepare_image(RMachine *m, RInst *i)
{
    Op *op = NEW(m->arena, Op);
    const SpvImageInst *s = &op->s;
    if (!prepare_value(m, i))
        return false;
    if (!spv_image_inst(m->module, i->src, &op->s) || !s->type.n_space) {
        refuse(m, i->src, "%s with these operands is not supported", spv_op_name(i->op));
        return false;
    }
    uint32_t n = s->type.n_space, layer = s->type.arrayed && i->op != SpvOpImageQueryLod;
    bool whole =
        s->act == SPV_IMAGE_FETCH || s->act == SPV_IMAGE_WRITE || s->act == SPV_IMAGE_POINT;
    if (whole && s->type.dim == SpvDimCube)
        layer = 0; /* the third coordinate is the layer's face */
    bool query = s->act == SPV_IMAGE_QUERY_SIZE;
    i->aux = op;
    if (m->entry.quads && spv_image_is_implicit(s)) {
        i->run = collective_wait;
        i->together = all_sample;
        i->scope = SpvScopeSubgroup;
    }
    if (s->component && !constant_uint(m, s->component, &op->component))
        return false;
    if (i->type && s->act != SPV_IMAGE_POINT) {
        const RType *t = type_scalar(i->type);
        bool wide = t->bits > 32 && !(t->kind == SPV_INT && s->act != SPV_IMAGE_GATHER);
        if (i->type->leaves > 4 || wide || (t->kind != SPV_INT && t->kind != SPV_FLOAT)) {
            refuse(m, i->src, "texels of this type are not supported");
            return false;
        }
    }
    return has(m, s->coordinate, whole ? SPV_INT : SPV_FLOAT, n + layer + s->projective) &&
           has(m, s->dref, SPV_FLOAT, 1) && has(m, s->bias, SPV_FLOAT, 1) &&
           has(m, s->lod, whole || query ? SPV_INT : SPV_FLOAT, 1) &&
           has(m, s->grad_x, SPV_FLOAT, n) && has(m, s->grad_y, SPV_FLOAT, n) &&
           has(m, s->offset, SPV_INT, dims_in_layer(&s->type)) && has(m, s->offsets, SPV_INT, 8) &&
           has(m, s->sample, SPV_INT, 1) && has(m, s->min_lod, SPV_FLOAT, 1) &&
           (!s->texel || (type_of(m, s->texel)->leaves <= 4 &&
                          (type_scalar(type_of(m, s->texel))->bits <= 32 ||
                           type_scalar(type_of(m, s->texel))->kind == SPV_INT)));
}

#define ROW(name) { SpvOpImage##name, step_access_image, prepare_image, NULL, 0 }
static const ROpRow rows[] = {
    { SpvOpSampledImage, step_copy_handles, prepare_handles, NULL, 0 },
    { SpvOpImage, step_copy_handles, prepare_handles, NULL, 0 },
    { SpvOpImageTexelPointer, step_texel_pointer, prepare_image, NULL, 0 },
    ROW(SampleImplicitLod),
    ROW(SampleExplicitLod),
    ROW(SampleDrefImplicitLod),
    ROW(SampleDrefExplicitLod),
    ROW(SampleProjImplicitLod),
    ROW(SampleProjExplicitLod),
    ROW(SampleProjDrefImplicitLod),
    ROW(SampleProjDrefExplicitLod),
    ROW(Fetch),
    ROW(Gather),
    ROW(DrefGather),
    ROW(Read),
    ROW(Write),
    ROW(QuerySizeLod),
    ROW(QuerySize),
    ROW(QueryLod),
    ROW(QueryLevels),
    ROW(QuerySamples),
};
const ROpTable ref_image_ops = { rows, COUNT_OF(rows) };
