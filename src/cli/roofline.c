/* SPDX-License-Identifier: MIT
 *
 * A roofline (Williams, Waterman, Patterson, Roofline: An Insightful Visual Performance Model for
 * Multicore Architectures, 2009): what a kernel reaches, and what the machine's arithmetic and its
 * memory allow at the kernel's operations a byte. Both are measured, by kernels of heddle's own: a
 * 4 x 4 grid of multiply-adds whose operands lie in the nearest cache, chains of fma, and a copy
 * between arrays as large as the kernel's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profiler.h"

/* ---- the kernels ----------------------------------------------------------------------------- */

static const char source[] =
    "#version 460\n"
    "#extension GL_KHR_cooperative_matrix : enable\n"
    "#extension GL_KHR_memory_scope_semantics : enable\n"
    "#extension GL_EXT_shader_explicit_arithmetic_types : enable\n"
    "#extension GL_EXT_bfloat16 : enable\n"
    "#extension GL_EXT_float_e4m3 : enable\n"
    "#extension GL_EXT_float_e5m2 : enable\n"
    "layout(local_size_x = 32) in;\n"
    "layout(push_constant) uniform Push { uint n; };\n"
    "#if WHAT == 0\n" /* multiply-adds */
    "layout(binding = 0) readonly buffer A { AB a[]; };\n"
    "layout(binding = 1) buffer C { SUM c[]; };\n"
    "#define M(T, R, S, U) coopmat<T, gl_ScopeSubgroup, R, S, gl_MatrixUse##U>\n"
    "void main()\n{\n"
    "    M(SUM, 16, 16, Accumulator) s[16];\n"
    "    for (int i = 0; i < 16; i++)\n"
    "        s[i] = M(SUM, 16, 16, Accumulator)(SUM(0));\n"
    "    for (uint k = 0; k < n; k++) {\n"
    "        M(AB, 16, DEPTH, A) x[4];\n"
    "        M(AB, DEPTH, 16, B) y;\n"
    "        for (int i = 0; i < 4; i++)\n"
    "            coopMatLoad(x[i], a, 16 * DEPTH * i, DEPTH, gl_CooperativeMatrixLayoutRowMajor);\n"
    "        for (int j = 0; j < 4; j++) {\n"
    "            coopMatLoad(y, a, 16 * j, 64, gl_CooperativeMatrixLayoutRowMajor);\n"
    "            for (int i = 0; i < 4; i++)\n"
    "                s[4 * i + j] = coopMatMulAdd(x[i], y, s[4 * i + j]);\n"
    "        }\n"
    "    }\n"
    "    uint at = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 4096;\n"
    "    for (int i = 0; i < 16; i++)\n"
    "        coopMatStore(s[i], c, at + 256 * i, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
    "}\n"
    "#elif WHAT == 1\n" /* fma */
    "layout(binding = 0) readonly buffer A { float a[]; };\n"
    "layout(binding = 1) buffer C { float c[]; };\n"
    "void main()\n{\n"
    "    float s[8], x = a[gl_GlobalInvocationID.x & 31], y = a[32];\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        s[i] = a[i];\n"
    "    for (uint k = 0; k < n; k++)\n"
    "        for (int i = 0; i < 8; i++)\n"
    "            s[i] = fma(s[i], x, y);\n"
    "    float sum = 0;\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        sum += s[i];\n"
    "    c[gl_GlobalInvocationID.x] = sum;\n"
    "}\n"
    "#else\n" /* a copy */
    "layout(binding = 0) readonly buffer A { float a[]; };\n"
    "layout(binding = 1) buffer C { float c[]; };\n"
    "void main()\n{\n"
    "    uint at = gl_WorkGroupID.x * n + gl_LocalInvocationID.x;\n"
    "    for (uint k = 0; k < n; k += 32)\n"
    "        c[at + k] = a[at + k];\n"
    "}\n"
    "#endif\n";

enum { MULTIPLY_ADDS, FMA, COPY };

/* As GLSL calls them. */
static const char *const glsl_types[HEDDLE_N_TYPES] = {
    [HEDDLE_F16] = "float16_t",   [HEDDLE_F32] = "float",        [HEDDLE_F64] = "double",
    [HEDDLE_BF16] = "bfloat16_t", [HEDDLE_E4M3] = "floate4m3_t", [HEDDLE_E5M2] = "floate5m2_t",
    [HEDDLE_S8] = "int8_t",       [HEDDLE_S16] = "int16_t",      [HEDDLE_S32] = "int",
    [HEDDLE_U8] = "uint8_t",      [HEDDLE_U16] = "uint16_t",     [HEDDLE_U32] = "uint",
};

typedef struct Probe {
    int what;
    const char *ab, *sum;
    uint32_t depth;
    uint32_t groups[3], n;
    uint64_t bytes[2]; /* of the buffers */
} Probe;

static HeddleKernel *probe_kernel(const Probe *p, HeddleDevice *d)
{
    char what[12], depth[12];
    snprintf(what, sizeof what, "%d", p->what);
    snprintf(depth, sizeof depth, "%u", p->depth);
    const HeddleDefine defines[] = { { "WHAT", what },
                                     { "DEPTH", depth },
                                     { "AB", p->ab },
                                     { "SUM", p->sum } };
    HeddleModuleOptions o = { .language = HEDDLE_LANGUAGE_GLSL,
                              .defines = defines,
                              .n_defines = p->ab ? 4 : 2 };
    HeddleModule *m = NULL;
    HeddleKernel *k = NULL;
    if (!heddle_module_new(source, sizeof source - 1, "roofline.comp", &o, &m, NULL))
        heddle_kernel_new(d, m, NULL, &k, NULL);
    heddle_module_free(m);
    return k;
}

/* Seconds of the fastest of a few runs; NAN where something is missing. */
static double probe_run(const Probe *p, HeddleDevice *d, HeddleKernel *k)
{
    enum { RUNS = 16 };
    HeddleBuffer *b[2] = { NULL, NULL };
    double best = NAN;
    if (!heddle_buffer_new(d, p->bytes[0], &b[0], NULL) &&
        !heddle_buffer_new(d, p->bytes[1], &b[1], NULL)) {
        HeddleBinding bindings[2] = { { .buffer = b[0] }, { .binding = 1, .buffer = b[1] } };
        HeddleDispatch x = { .struct_size = sizeof x,
                             .bindings = bindings,
                             .n_bindings = 2,
                             .push = &p->n,
                             .push_size = sizeof p->n };
        memcpy(x.groups, p->groups, sizeof x.groups);
        HeddleReport report = { .struct_size = sizeof report };
        for (int i = 0; i < RUNS && !heddle_dispatch(k, &x, &report, NULL); i++)
            best = i ? fmin(best, report.seconds) : report.seconds;
    }
    heddle_buffer_free(b[0]);
    heddle_buffer_free(b[1]);
    return best;
}

static double probe(const Probe *p, HeddleDevice *d, double amount)
{
    HeddleKernel *k = probe_kernel(p, d);
    double seconds = k ? probe_run(p, d, k) : NAN;
    heddle_kernel_free(k);
    return amount / seconds;
}

/* ---- what is measured ------------------------------------------------------------------------ */

static double measure_multiply_adds(HeddleDevice *d, HeddleType ab, HeddleType sum)
{
    uint32_t threads = heddle_device_info(d)->threads;
    uint32_t depth = 64 / (uint32_t)heddle_type_size(ab);
    /* two rows of workgroups, which share what is packed */
    Probe p = { .ab = glsl_types[ab],
                .sum = glsl_types[sum],
                .depth = depth,
                .groups = { 4 * threads, 2, 1 },
                .n = 250,
                .bytes = { 1 << 16, (uint64_t)threads * 8 * 4096 * 8 } };
    return p.ab && p.sum ? probe(&p, d, 8.0 * threads * p.n * 16 * 2 * 16 * 16 * depth) : NAN;
}

static double measure_fma(HeddleDevice *d)
{
    uint32_t groups = 16 * heddle_device_info(d)->threads;
    Probe p = { .what = FMA,
                .groups = { groups, 1, 1 },
                .n = 5000,
                .bytes = { 4096, 128ull * groups } };
    return probe(&p, d, 32.0 * groups * p.n * 8 * 2);
}

/* Of two arrays that are as large together as the kernel's are, in whichever cache that is. */
static double measure_copy(HeddleDevice *d, double bytes)
{
    enum { EACH = 4096, MOST = 1 << 14 };
    uint32_t groups = (uint32_t)fmin(fmax(bytes / 2 / (4 * EACH), 1), MOST);
    uint64_t size = 4ull * EACH * groups;
    Probe p = { .what = COPY, .groups = { groups, 1, 1 }, .n = EACH, .bytes = { size, size } };
    return probe(&p, d, 2 * (double)size);
}

void roofline_measure(CliRoofline *r, HeddleDevice *d, const HeddleKernelInfo *info, bool matrices,
                      double bytes)
{
    HeddleType ab = HEDDLE_NO_TYPE, sum = HEDDLE_NO_TYPE;
    for (uint32_t i = info->n_matrices; i-- > 0;) {
        HeddleType *to = info->matrices[i].use == HEDDLE_USE_ACCUMULATOR ? &sum : &ab;
        *to = info->matrices[i].type;
    }
    r->bandwidth = measure_copy(d, bytes);
    r->peak = NAN;
    if (matrices && ab && sum) {
        r->peak = measure_multiply_adds(d, ab, sum);
        snprintf(r->what, sizeof r->what, "%s multiply-adds, sums of %s", heddle_type_name(ab),
                 heddle_type_name(sum));
    } else if (!matrices) {
        r->peak = measure_fma(d);
        snprintf(r->what, sizeof r->what, "f32 fma");
    }
}

double roofline_bound(const CliRoofline *r)
{
    return fmin(r->peak, r->bandwidth * r->intensity); /* the one that is known, if one is not */
}

/* ---- text ------------------------------------------------------------------------------------ */

static void bound_row(CliTable *t, const char *name, double x, double most, const char *what)
{
    enum { WIDTH = 24 };
    CliCells c = { 0 };
    if (isfinite(x))
        table_row(t, name, cell(&c, "%.2f", x * 1e-9), cell_bar(&c, fmin(x / most, 1), WIDTH),
                  what);
}

void roofline_print(const CliRoofline *r)
{
    CliCells c = { 0 };
    CliTable t = { .columns = 4, .align = "lrll" };
    double most = fmax(r->peak, r->reached); /* a NAN is left out */
    if (!(r->reached > 0)) {
        printf("\nMemory of that size moves %.2f GB/s; the kernel has no operations to compare\n",
               r->bandwidth * 1e-9);
        return;
    }
    printf("\n");
    table_row(&t, "roofline", "GFLOP/s", "", "");
    bound_row(&t, "the machine's peak", r->peak, most, r->what);
    bound_row(&t, "its memory allows", r->bandwidth * r->intensity, most,
              cell(&c, "%.2f GB/s in arrays of that size, %.2f operations a byte",
                   r->bandwidth * 1e-9, r->intensity));
    bound_row(&t, "reached", r->reached, most,
              cell(&c, "%.0f %% of what both allow", 100 * r->reached / roofline_bound(r)));
    table_print(&t);
}

/* ---- the picture ----------------------------------------------------------------------------- */

enum { WIDTH = 680, HEIGHT = 400, LEFT = 70, RIGHT = 650, TOP = 90, BOTTOM = 340 };

/* Powers of two of the axes. */
typedef struct Axes {
    double x0, x1, y0, y1;
} Axes;

static double across(const Axes *a, double intensity)
{
    return LEFT + (RIGHT - LEFT) * (log2(intensity) - a->x0) / (a->x1 - a->x0);
}

static double up(const Axes *a, double rate)
{
    return BOTTOM - (BOTTOM - TOP) * (log2(rate) - a->y0) / (a->y1 - a->y0);
}

static void draw_axes(FILE *f, const Axes *a)
{
    char s[32];
    for (double x = ceil(a->x0 / 2) * 2; x <= a->x1; x += 2) {
        double at = across(a, exp2(x));
        fprintf(f, "<path d=\"M%.1f %dV%d\" stroke=\"#e4e7ec\"/>\n", at, TOP, BOTTOM);
        snprintf(s, sizeof s, "%g", exp2(x));
        svg_text(f, at, BOTTOM + 18, 11, "text-anchor=\"middle\" fill=\"#69707d\"", s);
    }
    for (double y = ceil(log10(exp2(a->y0))); exp10(y) <= exp2(a->y1); y++) {
        double at = up(a, exp10(y));
        fprintf(f, "<path d=\"M%d %.1fH%d\" stroke=\"#e4e7ec\"/>\n", LEFT, at, RIGHT);
        snprintf(s, sizeof s, "%g", exp10(y) * 1e-9);
        svg_text(f, LEFT - 8, at + 4, 11, "text-anchor=\"end\" fill=\"#69707d\"", s);
    }
    svg_text(f, (LEFT + RIGHT) / 2.0, BOTTOM + 40, 12, "text-anchor=\"middle\" fill=\"#4d5461\"",
             "operations a byte of the arrays that are bound");
    svg_text(f, LEFT - 42, TOP - 12, 12, "fill=\"#4d5461\"", "GFLOP/s");
}

static void draw_roof(FILE *f, const CliRoofline *r, const Axes *a)
{
    char s[128];
    double peak = isfinite(r->peak) ? r->peak : exp2(a->y1);
    double ridge = fmax(peak / r->bandwidth, exp2(a->x0)), low = r->bandwidth * exp2(a->x0);
    fprintf(f,
            "<path d=\"M%.1f %.1fL%.1f %.1fH%d\" fill=\"none\" stroke=\"#5b86c5\" "
            "stroke-width=\"2.5\"/>\n",
            across(a, exp2(a->x0)), up(a, fmin(low, peak)), fmin(across(a, ridge), RIGHT),
            up(a, fmin(peak, r->bandwidth * exp2(a->x1))), RIGHT);
    snprintf(s, sizeof s, "%.1f GFLOP/s: %s", r->peak * 1e-9, r->what);
    if (isfinite(r->peak))
        svg_text(f, RIGHT, up(a, peak) - 8, 12, "text-anchor=\"end\" fill=\"#35578c\"", s);
    snprintf(s, sizeof s, "%.1f GB/s", r->bandwidth * 1e-9);
    double middle = exp2((a->x0 + fmin(log2(ridge), a->x1)) / 2);
    svg_text(f, across(a, middle) - 8, up(a, r->bandwidth * middle) - 6, 12,
             "text-anchor=\"end\" fill=\"#35578c\"", s);
}

static void draw_kernel(FILE *f, const CliRoofline *r, const Axes *a)
{
    char s[96];
    double x = across(a, r->intensity), y = up(a, r->reached), bound = roofline_bound(r);
    fprintf(f, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#c2493d\" stroke-dasharray=\"3 4\"/>\n", x, y,
            up(a, bound));
    fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"#c2493d\"/>\n", x, y);
    snprintf(s, sizeof s, "%.1f GFLOP/s: %.0f %%", r->reached * 1e-9, 100 * r->reached / bound);
    bool right = x < (LEFT + RIGHT) / 2.0;
    svg_text(f, right ? x + 11 : x - 11, y + 16, 12,
             right ? "font-weight=\"600\" fill=\"#8f2c22\""
                   : "text-anchor=\"end\" font-weight=\"600\" fill=\"#8f2c22\"",
             s);
}

void roofline_draw(const CliRoofline *r, FILE *f)
{
    svg_begin(f, WIDTH, HEIGHT);
    svg_text(f, 28, 44, 22, "font-weight=\"650\" fill=\"#1b1f27\"", "Roofline");
    if (!(r->reached > 0) || !isfinite(r->bandwidth)) {
        svg_text(f, 28, 76, 13, "fill=\"#4d5461\"",
                 "not known: the kernel has no operations, or the machine could not be measured");
        fprintf(f, "</svg>\n");
        return;
    }
    double most = fmax(fmax(r->peak, r->reached), r->bandwidth * r->intensity);
    double ridge = log2(isfinite(r->peak) ? r->peak / r->bandwidth : r->intensity);
    Axes a = { .x0 = floor(fmin(log2(r->intensity), ridge)) - 3,
               .x1 = ceil(fmax(log2(r->intensity), ridge)) + 3,
               .y1 = log2(isfinite(r->peak) ? fmax(r->peak, r->reached) : most) + 1 };
    a.y0 = fmin(log2(r->bandwidth) + a.x0, log2(r->reached)) - 1;
    draw_axes(f, &a);
    draw_roof(f, r, &a);
    draw_kernel(f, r, &a);
    fprintf(f, "</svg>\n");
}

bool roofline_svg(const CliRoofline *r, const char *path)
{
    FILE *f = file_open(path);
    if (f)
        roofline_draw(r, f);
    return f && file_close(f, path);
}
