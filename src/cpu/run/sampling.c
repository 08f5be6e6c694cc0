/* SPDX-License-Identifier: MIT
 *
 * Image accesses, lane by lane: what generated code calls (image.h). In: descriptors and rows of
 * operands. Out: rows of components.
 *
 * Follows Vulkan 1.3, 16 (Image Operations). Coordinates and weights are doubles, in which products
 * of a float and an extent are exact. Texels outside of an image read as zeros, with the components
 * that the format lacks filled in, and are not written (robustImageAccess2). NULL is an image
 * without texels.
 */
#include "cpu/machine/image.h"

#include <float.h>
#include <math.h>

typedef struct Lane {
    CpuImageCall call;
    const ImageDesc *image;
    const SamplerDesc *sampler;
    const uint32_t *in; /* this lane's word of the first row */
    uint32_t x[4];      /* the result */
} Lane;

static uint32_t word(const Lane *l, uint32_t row) { return l->in[(size_t)row * l->call.lanes]; }
static double number(const Lane *l, uint32_t row) { return texel_float(word(l, row)); }

/* floor(x), clamped to what sums of a few ints cannot exceed; 0 for a NaN. */
static int64_t whole(double x)
{
    return isnan(x) ? 0 : (int64_t)floor(fmin(fmax(x, -0x1p40), 0x1p40));
}

/* The layer of an array: rounded to nearest even and clamped. */
static uint32_t layer_of(double a, uint32_t n)
{
    return n && a > 0 ? (uint32_t)fmin(nearbyint(a), n - 1) : 0;
}

/* ---- texels ---------------------------------------------------------------------------------- */

static void swizzled(const ImageDesc *m, uint32_t x[4])
{
    uint32_t one = texel_is_integer(m->format) ? 1 : texel_bits(1);
    uint32_t all[6] = { x[0], x[1], x[2], x[3], 0, one };
    for (int c = 0; c < 4; c++)
        x[c] = all[m->swizzle[c]];
}

static uint8_t *texel_at(const ImageLevel *v, int64_t x, int64_t y, int64_t z, uint32_t layer)
{
    return v->base + (uint64_t)layer * v->layer + (uint64_t)z * v->slice + (uint64_t)y * v->row +
           (uint64_t)x; /* x in bytes */
}

/* The texel at integer coordinates; NULL: there is none. */
static uint8_t *texel_of(const Lane *l, bool has_level)
{
    const ImageDesc *m = l->image;
    uint32_t level = has_level ? word(l, IMAGE_LOD) : 0, at[4] = { 0 }, n = l->call.n_space;
    uint32_t one = l->call.flags & IMAGE_HAS_SAMPLE ? word(l, IMAGE_SAMPLE) : 0;
    bool layered = l->call.flags & IMAGE_HAS_LAYER || l->call.dim == IMAGE_CUBE;
    if (!m || level >= m->n_levels || one >= m->n_samples)
        return NULL;
    const ImageLevel *v = &m->levels[level];
    n = l->call.dim == IMAGE_CUBE ? 2 : n; /* a cube's third coordinate is a face and a layer */
    for (uint32_t k = 0; k < n; k++) {
        at[k] = word(l, IMAGE_COORDINATE + k);
        if (l->call.flags & IMAGE_HAS_OFFSET)
            at[k] += word(l, IMAGE_OFFSET + k);
        if (at[k] >= v->size[k])
            return NULL;
    }
    at[3] = layered ? word(l, IMAGE_COORDINATE + n) : 0;
    if (at[3] >= m->n_layers)
        return NULL;
    return texel_at(v, (int64_t)at[0] * m->format->bytes, at[1], (int64_t)at[2] + one, at[3]);
}

static void fetch(Lane *l)
{
    static const uint8_t nothing[32];
    const uint8_t *at = texel_of(l, l->call.flags & IMAGE_HAS_LOD);
    if (!l->image)
        return;
    texel_load(l->image->format, at ? at : nothing, l->x);
    if (l->call.flags & (IMAGE_SIGNED | IMAGE_UNSIGNED))
        texel_extend(l->image->format, l->call.flags & IMAGE_SIGNED, l->x);
    swizzled(l->image, l->x);
}

static void write_texel(const Lane *l)
{
    uint8_t *at = texel_of(l, l->call.flags & IMAGE_HAS_LOD);
    uint32_t x[4];
    for (uint32_t c = 0; c < 4; c++)
        x[c] = word(l, IMAGE_TEXEL + c);
    if (at)
        texel_store(l->image->format, at, x);
}

/* ---- where a sample is ----------------------------------------------------------------------- */

typedef struct Spot {
    double at[3];   /* normalized unless the sampler says otherwise */
    uint32_t n;     /* of them */
    uint32_t layer; /* the face, too, of a cube */
    bool cube;
    double dref;         /* what depths are compared with */
    double dx[3], dy[3]; /* derivatives, where the call has them */
} Spot;

/* Cube faces (Vulkan 1.3, table 31): which coordinate is major, and which ones, with which signs,
 * are s_c and t_c. Faces +x, -x, +y, -y, +z, -z. */
typedef struct Face {
    uint8_t s, t, major;
    int8_t sign_s, sign_t;
} Face;
static const Face faces[6] = {
    { 2, 1, 0, -1, -1 }, { 2, 1, 0, 1, -1 }, { 0, 2, 1, 1, 1 },
    { 0, 2, 1, 1, -1 },  { 0, 1, 2, 1, -1 }, { 0, 1, 2, -1, -1 },
};

static uint32_t face_of(const double r[3])
{
    double x = fabs(r[0]), y = fabs(r[1]), z = fabs(r[2]);
    uint32_t major = z >= x && z >= y ? 2 : y >= x ? 1 : 0;
    return 2 * major + (r[major] < 0);
}

static void on_face(const Face *f, const double r[3], double st[2])
{
    double m = fabs(r[f->major]);
    st[0] = m > 0 ? 0.5 * (f->sign_s * r[f->s] / m) + 0.5 : 0.5;
    st[1] = m > 0 ? 0.5 * (f->sign_t * r[f->t] / m) + 0.5 : 0.5;
}

/* The derivative of on_face at r in direction d (Vulkan 1.3, 16.5.5). */
static void slope_on_face(const Face *f, const double r[3], double d[3])
{
    double sign = r[f->major] < 0 ? -1 : 1, m = fabs(r[f->major]), dm = sign * d[f->major];
    double s = f->sign_s * r[f->s], t = f->sign_t * r[f->t];
    double ds = f->sign_s * d[f->s], dt = f->sign_t * d[f->t];
    d[0] = m > 0 ? 0.5 * (m * ds - s * dm) / (m * m) : 0;
    d[1] = m > 0 ? 0.5 * (m * dt - t * dm) / (m * m) : 0;
    d[2] = 0;
}

static Spot spot_of(const Lane *l)
{
    uint32_t n = l->call.n_space, flags = l->call.flags;
    Spot p = { .n = n, .cube = l->call.dim == IMAGE_CUBE };
    double q = flags & IMAGE_PROJECTS ? number(l, IMAGE_COORDINATE + n) : 1;
    p.dref = flags & IMAGE_HAS_DREF ? number(l, IMAGE_DREF) / q : 0;
    if (l->image->format->kind == TEXEL_UNORM)
        p.dref = fmin(fmax(p.dref, 0), 1);
    for (uint32_t k = 0; k < n; k++) {
        p.at[k] = number(l, IMAGE_COORDINATE + k) / q;
        p.dx[k] = flags & IMAGE_HAS_GRAD ? number(l, IMAGE_GRAD + k) : 0;
        p.dy[k] = flags & IMAGE_HAS_GRAD ? number(l, IMAGE_GRAD + 3 + k) : 0;
    }
    uint32_t layers = p.cube ? l->image->n_layers / 6 : l->image->n_layers;
    if (flags & IMAGE_HAS_LAYER)
        p.layer = layer_of(number(l, IMAGE_COORDINATE + n), layers);
    if (p.cube) {
        uint32_t face = face_of(p.at);
        double st[2];
        on_face(&faces[face], p.at, st);
        slope_on_face(&faces[face], p.at, p.dx);
        slope_on_face(&faces[face], p.at, p.dy);
        memcpy(p.at, st, sizeof st);
        p.n = 2;
        p.layer = 6 * p.layer + face;
    }
    return p;
}

static double scale_of(const double *slope, const ImageDesc *m, uint32_t n)
{
    double sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        double d = slope[k] * m->levels[0].size[k];
        sum += d * d;
    }
    return sqrt(sum);
}

/* The level of detail relative to the view's base; *unclamped is the same before minLod and
 * maxLod. */
static double lod_of(const Lane *l, const Spot *p, double *unclamped)
{
    uint32_t flags = l->call.flags;
    const SamplerDesc *s = l->sampler;
    double lod = 0, bias = s->bias;
    if (flags & IMAGE_HAS_LOD)
        lod = number(l, IMAGE_LOD);
    else if (flags & IMAGE_HAS_GRAD)
        lod = log2(fmax(scale_of(p->dx, l->image, p->n), scale_of(p->dy, l->image, p->n)));
    if (flags & IMAGE_HAS_BIAS)
        bias += number(l, IMAGE_LOD);
    lod += bias;
    *unclamped = lod;
    double least = s->min_lod;
    if (flags & IMAGE_HAS_MIN_LOD)
        least = fmax(least, number(l, IMAGE_MIN_LOD));
    return fmin(fmax(lod, least), fmax(s->max_lod, least));
}

/* ---- texels of a sample ---------------------------------------------------------------------- */

/* The coordinate that one outside of [0, n) becomes; -1: the border. */
static int64_t wrapped(int64_t i, int64_t n, uint8_t mode)
{
    int64_t m;
    switch ((SamplerAddress)mode) {
    case ADDRESS_REPEAT: m = i % n; return m < 0 ? m + n : m;
    case ADDRESS_MIRRORED_REPEAT:
        m = i % (2 * n);
        m = m < 0 ? m + 2 * n : m;
        return m < n ? m : 2 * n - 1 - m;
    case ADDRESS_CLAMP_EDGE: return i < 0 ? 0 : MIN(i, n - 1);
    case ADDRESS_CLAMP_BORDER: return i < 0 || i >= n ? -1 : i;
    case ADDRESS_MIRROR_CLAMP_EDGE: return MIN(i < 0 ? -1 - i : i, n - 1);
    }
    return -1;
}

/* A texel beyond an edge of a face is on the face behind that edge; the direction of its centre
 * finds it. Beyond a corner there is none, and add() averages the others. Integer formats stay on
 * the face. */
static void around_edge(int64_t at[2], uint32_t *layer, int64_t n)
{
    bool outside[2] = { at[0] < 0 || at[0] >= n, at[1] < 0 || at[1] >= n };
    for (int k = 0; k < 2 && outside[0] && outside[1]; k++)
        at[k] = MIN(MAX(at[k], 0), n - 1);
    if (outside[0] == outside[1])
        return;
    const Face *f = &faces[*layer % 6];
    double r[3], st[2];
    r[f->major] = *layer % 2 ? -1 : 1;
    r[f->s] = f->sign_s * ((2.0 * (double)at[0] + 1) / (double)n - 1);
    r[f->t] = f->sign_t * ((2.0 * (double)at[1] + 1) / (double)n - 1);
    uint32_t face = face_of(r);
    on_face(&faces[face], r, st);
    *layer = *layer - *layer % 6 + face;
    for (int k = 0; k < 2; k++)
        at[k] = MIN(MAX(whole(st[k] * (double)n), 0), n - 1);
}

static bool compared(uint8_t how, double reference, double texel)
{
    switch ((SamplerCompare)how) {
    case COMPARE_NEVER: return false;
    case COMPARE_LESS: return reference < texel;
    case COMPARE_EQUAL: return reference == texel;
    case COMPARE_LESS_EQUAL: return reference <= texel;
    case COMPARE_GREATER: return reference > texel;
    case COMPARE_NOT_EQUAL: return reference != texel;
    case COMPARE_GREATER_EQUAL: return reference >= texel;
    case COMPARE_ALWAYS: return true;
    }
    return false;
}

/* The texel at integer coordinates of a level, after the address modes. */
static void texel(const Lane *l, const Spot *p, uint32_t level, const int64_t from[3],
                  uint32_t x[4])
{
    const ImageDesc *m = l->image;
    const ImageLevel *v = &m->levels[level];
    int64_t at[3] = { from[0], from[1], from[2] };
    uint32_t layer = p->layer;
    bool border = false;
    if (p->cube)
        around_edge(at, &layer, v->size[0]);
    for (uint32_t k = 0; k < p->n && !p->cube; k++) {
        at[k] = wrapped(at[k], v->size[k], l->sampler->address[k]);
        border |= at[k] < 0;
    }
    if (border) {
        memcpy(x, l->sampler->border, 4 * sizeof *x);
        texel_complete(m->format, x);
    } else
        texel_load(m->format, texel_at(v, at[0] * m->format->bytes, at[1], at[2], layer), x);
    if (l->call.flags & IMAGE_HAS_DREF) {
        x[0] = texel_bits(compared(l->sampler->compare, p->dref, texel_float(x[0])));
        return;
    }
    swizzled(m, x);
}

/* ---- filters --------------------------------------------------------------------------------- */

/* The texels around a spot: the first of each pair, and the weight of the second. */
typedef struct Pairs {
    int64_t first[3];
    double weight[3];
} Pairs;

static Pairs pairs_of(const Lane *l, const Spot *p, uint32_t level, bool linear)
{
    Pairs r = { { 0 }, { 0 } };
    for (uint32_t k = 0; k < p->n; k++) {
        double u = p->at[k] * (l->sampler->unnormalized ? 1 : l->image->levels[level].size[k]);
        u -= linear ? 0.5 : 0;
        r.first[k] = whole(u);
        r.weight[k] = linear && isfinite(u) ? u - floor(u) : 0;
        if (l->call.flags & IMAGE_HAS_OFFSET)
            r.first[k] += (int32_t)word(l, IMAGE_OFFSET + k);
    }
    return r;
}

static bool is_corner(const Spot *p, const int64_t at[3], int64_t n)
{
    return p->cube && (at[0] < 0 || at[0] >= n) && (at[1] < 0 || at[1] >= n);
}

/* Adds the components of one texel. At a corner of a cube there is no texel: the average of the
 * other three takes its place. */
static void add(const Lane *l, const Spot *p, uint32_t level, const int64_t at[3], double weight,
                double sum[4])
{
    int64_t n = l->image->levels[level].size[0];
    uint32_t x[4];
    if (is_corner(p, at, n)) {
        int64_t inside[2] = { MIN(MAX(at[0], 0), n - 1), MIN(MAX(at[1], 0), n - 1) };
        for (int k = 0; k < 3; k++) {
            int64_t other[3] = { k & 1 ? at[0] : inside[0], k & 2 ? at[1] : inside[1], 0 };
            add(l, p, level, other, weight / 3, sum);
        }
        return;
    }
    texel(l, p, level, at, x);
    for (int c = 0; c < 4; c++)
        sum[c] += weight * texel_float(x[c]);
}

static void filter(const Lane *l, const Spot *p, uint32_t level, bool linear, double weight,
                   double sum[4])
{
    Pairs r = pairs_of(l, p, level, linear);
    for (uint32_t corner = 0; corner < (linear ? 1u << p->n : 1); corner++) {
        int64_t at[3] = { 0 };
        double w = weight;
        for (uint32_t k = 0; k < p->n; k++) {
            bool second = corner >> k & 1;
            at[k] = r.first[k] + second;
            w *= second ? r.weight[k] : 1 - r.weight[k];
        }
        if (w != 0)
            add(l, p, level, at, w, sum);
    }
}

static void sample(Lane *l)
{
    if (!l->image || !l->sampler)
        return;
    const SamplerDesc *s = l->sampler;
    Spot p = spot_of(l);
    double unclamped, lod = lod_of(l, &p, &unclamped), sum[4] = { 0 };
    double most = l->image->n_levels - 1, d = s->unnormalized ? 0 : fmin(fmax(lod, 0), most);
    bool linear = lod <= 0 ? s->mag_linear : s->min_linear;
    uint32_t level = (uint32_t)(s->mip_linear ? floor(d) : fmax(ceil(d + 0.5) - 1, 0));
    double rest = s->mip_linear ? d - floor(d) : 0;
    if (texel_is_integer(l->image->format)) {
        texel(l, &p, level, pairs_of(l, &p, level, false).first, l->x);
        return;
    }
    filter(l, &p, level, linear, 1 - rest, sum);
    if (rest > 0)
        filter(l, &p, level + 1, linear, rest, sum);
    for (int c = 0; c < 4; c++)
        l->x[c] = texel_bits((float)sum[c]);
}

/* The four texels that a linear filter would read from the base level, anticlockwise from (0,
 * 1). */
static void gather(Lane *l)
{
    static const uint8_t order[4][2] = { { 0, 1 }, { 1, 1 }, { 1, 0 }, { 0, 0 } };
    if (!l->image || !l->sampler)
        return;
    Spot p = spot_of(l);
    Pairs r = pairs_of(l, &p, 0, true);
    bool whole_numbers = texel_is_integer(l->image->format);
    bool own = l->call.flags & IMAGE_HAS_OFFSETS;
    uint32_t component = l->call.flags & IMAGE_HAS_DREF ? 0 : l->call.component;
    for (uint32_t k = 0; k < 4; k++) {
        int64_t at[3] = { r.first[0], r.first[1], 0 };
        double sum[4] = { 0 };
        uint32_t x[4];
        for (uint32_t c = 0; c < 2; c++)
            at[c] += own ? (int32_t)word(l, IMAGE_OFFSET + 2 * k + c) : order[k][c];
        if (whole_numbers) {
            texel(l, &p, 0, at, x);
            l->x[k] = x[component];
        } else {
            add(l, &p, 0, at, 1, sum);
            l->x[k] = texel_bits((float)sum[component]);
        }
    }
}

/* ---- queries --------------------------------------------------------------------------------- */

static void query_size(Lane *l)
{
    const ImageDesc *m = l->image;
    uint32_t level = l->call.flags & IMAGE_HAS_LOD ? word(l, IMAGE_LOD) : 0;
    uint32_t n = l->call.dim == IMAGE_CUBE ? 2 : l->call.n_space;
    if (!m || level >= m->n_levels)
        return;
    for (uint32_t k = 0; k < n; k++)
        l->x[k] = m->levels[level].size[k];
    if (l->call.flags & IMAGE_HAS_LAYER)
        l->x[n] = l->call.dim == IMAGE_CUBE ? m->n_layers / 6 : m->n_layers;
}

static void query_lod(Lane *l)
{
    if (!l->image || !l->sampler)
        return;
    Spot p = spot_of(l);
    double unclamped, lod = lod_of(l, &p, &unclamped);
    double d = fmin(fmax(lod, 0), l->image->n_levels - 1);
    l->x[0] = texel_bits((float)(l->sampler->mip_linear ? d : fmax(ceil(d + 0.5) - 1, 0)));
    l->x[1] = texel_bits((float)unclamped);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void access(Lane *l)
{
    switch ((SpvImageAct)l->call.act) {
    case SPV_IMAGE_SAMPLE: sample(l); break;
    case SPV_IMAGE_FETCH: fetch(l); break;
    case SPV_IMAGE_GATHER: gather(l); break;
    case SPV_IMAGE_WRITE: write_texel(l); break;
    case SPV_IMAGE_QUERY_SIZE: query_size(l); break;
    case SPV_IMAGE_QUERY_LOD: query_lod(l); break;
    case SPV_IMAGE_QUERY_LEVELS: l->x[0] = l->image ? l->image->n_levels : 0; break;
    case SPV_IMAGE_QUERY_SAMPLES: l->x[0] = l->image ? l->image->n_samples : 0; break;
    case SPV_IMAGE_POINT: break; /* cpu_image handles it itself */
    }
}

void cpu_image(uint64_t call, const uint8_t *mask, const ImageDesc *const *images,
               const SamplerDesc *const *samplers, const uint32_t *in, uint32_t *out)
{
    Lane l = { .image = NULL };
    memcpy(&l.call, &call, sizeof l.call);
    for (uint32_t k = 0; k < l.call.lanes; k++) {
        if (mask && !mask[k])
            continue;
        l.image = images[k];
        l.sampler = samplers[k];
        l.in = in + k;
        memset(l.x, 0, sizeof l.x);
        if (l.call.act == SPV_IMAGE_POINT) {
            bool fits = l.image && l.image->format->bytes >= l.call.bytes;
            uint64_t at = fits ? (uintptr_t)texel_of(&l, false) : 0;
            memcpy(out + 2 * k, &at, sizeof at);
            continue;
        }
        access(&l);
        for (uint32_t c = 0; c < 4; c++)
            out[c * l.call.lanes + k] = l.x[c];
    }
}
