/* SPDX-License-Identifier: MIT
 *
 * NVIDIA's cooperative matrix 2, tensor addressing and decode-vector extensions on both devices,
 * against loops of their own: the kernels nv_*.comp over types, scopes, uses, shapes, clamp modes
 * and views.
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdlib.h>

#define FOLDER HEDDLE_SOURCE_DIR "/tests/matrix/"

enum { MAX_BUFFERS = 7, SUBGROUP = 32, LOCAL = 64 };

static const HeddleDeviceKind kinds[] = { HEDDLE_DEVICE_REFERENCE, HEDDLE_DEVICE_CPU };

typedef struct Run {
    const char *file;
    HeddleDefine defines[12];
    uint32_t n_defines;
    HeddleSpecValue specs[8];
    uint32_t n_specs;
    HeddleArray *arrays[MAX_BUFFERS];
    uint32_t n_arrays, local;
    bool unchecked; /* not whether it is portable */
    bool undefined; /* not at all */
} Run;

static void define(Run *r, const char *name, const char *value)
{
    if (value)
        r->defines[r->n_defines++] = (HeddleDefine){ name, value };
}

/* One subgroup, or two that share the matrices. */
static void set_scope(Run *r, const char *name)
{
    define(r, "SCOPE", name);
    r->local = strcmp(name, "gl_ScopeSubgroup") ? LOCAL : SUBGROUP;
}

static HeddleArray *array(Run *r, HeddleType type, uint64_t n)
{
    HeddleArray **a = &r->arrays[r->n_arrays++];
    heddle_array_new(type, 1, &n, a, NULL);
    return *a;
}

static void close_run(Run *r)
{
    for (uint32_t k = 0; k < r->n_arrays; k++)
        heddle_array_free(r->arrays[k]);
}

/* Compiles and runs it on one device, with every check. */
static bool run(Run *r, HeddleDeviceKind kind)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *device = NULL;
    HeddleModule *module = NULL;
    HeddleKernel *kernel = NULL;
    HeddleBuffer *buffers[MAX_BUFFERS] = { NULL };
    HeddleBinding bindings[MAX_BUFFERS];
    char path[1024];
    snprintf(path, sizeof(path), "%s%s", FOLDER, r->file);
    r->specs[r->n_specs] = (HeddleSpecValue){ 10, r->local ? r->local : SUBGROUP };
    HeddleModuleOptions mo = { .defines = r->defines, .n_defines = r->n_defines };
    bool reference = kind == HEDDLE_DEVICE_REFERENCE;
    HeddleKernelOptions ko = {
        .specs = r->specs, .n_specs = r->n_specs + 1, .subgroup_size = 32,
        .check = reference && !r->undefined
    };
    ko.check_portability = ko.check && !r->unchecked;
    bool good = !heddle_device_new(&(HeddleDeviceOptions){ .kind = kind }, &device, log) &&
                !heddle_module_from_file(path, &mo, &module, log) &&
                !heddle_kernel_new(device, module, &ko, &kernel, log);
    for (uint32_t k = 0; good && k < r->n_arrays; k++) {
        good = !heddle_buffer_wrap(device, r->arrays[k]->data, r->arrays[k]->size, &buffers[k],
                                   log);
        bindings[k] = (HeddleBinding){ .binding = k, .buffer = buffers[k] };
    }
    HeddleDispatch d = {
        .groups = { 1, 1, 1 }, .bindings = bindings, .n_bindings = r->n_arrays
    };
    good = good && !heddle_dispatch(kernel, &d, NULL, log) && !heddle_log_count(log);
    for (uint32_t k = 0; k < r->n_arrays; k++)
        heddle_buffer_free(buffers[k]);
    heddle_kernel_free(kernel);
    heddle_module_free(module);
    heddle_device_free(device);
    heddle_log_free(log);
    return good;
}

static bool near(const Run *r, const char *what, HeddleArray *a, uint64_t at, double want,
                 double tolerance)
{
    double got = heddle_array_get(a, at);
    if (fabs(got - want) <= tolerance * fabs(want))
        return true;
    printf("%s, %s: element %llu is %g, not %g\n", r->file, what, (unsigned long long)at, got,
           want);
    return false;
}

/* ---- tensors --------------------------------------------------------------------------------- */

enum { UNDEFINED, CONSTANT, EDGE, REPEAT, MIRROR };
enum { OLD = 77, FROM_CLAMP = 5 };

typedef struct Tensor {
    const char *name, *type, *scope, *use;
    uint32_t rows, cols, clamp, dims;
    int size[5], stride[5], offset[5], span[5]; /* stride[0] 0: left as it is */
    const char *view;                           /* NULL: none; "3, true, 1, 0, 2" */
    int view_dims, permutation[5], view_size[5], view_stride[5];
    uint32_t clip[4];
    bool overlaps; /* elements share an address: nothing is stored */
    bool undefined; /* by the specification */
    bool quick;    /* only once on the reference device */
} Tensor;

#define SUB "gl_ScopeSubgroup"
#define WG  "gl_ScopeWorkgroup"
#define A   "gl_MatrixUseA"
#define B   "gl_MatrixUseB"
#define C   "gl_MatrixUseAccumulator"
static const Tensor tensors[] = {
    { "a line", "float", SUB, C, 8, 8, UNDEFINED, 1, .size = { 100 }, .offset = { 20 },
      .span = { 64 } },
    { "a slice", "float16_t", SUB, A, 16, 8, UNDEFINED, 2, .size = { 40, 30 }, .offset = { 7, 11 },
      .span = { 16, 8 } },
    { "overhanging, constant", "float16_t", WG, B, 16, 16, CONSTANT, 2, .size = { 11, 13 },
      .offset = { -3, 4 }, .span = { 16, 16 } },
    { "overhanging, to the edge", "float", SUB, C, 16, 16, EDGE, 2, .size = { 11, 13 },
      .offset = { -3, -2 }, .span = { 16, 16 } },
    { "overhanging, repeated", "float", WG, C, 16, 16, REPEAT, 2, .size = { 5, 13 },
      .offset = { -7, 4 }, .span = { 16, 16 } },
    { "overhanging, mirrored", "float", SUB, A, 16, 16, MIRROR, 2, .size = { 5, 7 },
      .offset = { -6, -9 }, .span = { 16, 16 } },
    { "mirrored in one element", "float", SUB, C, 8, 8, MIRROR, 2, .size = { 1, 2 },
      .offset = { -3, -3 }, .span = { 8, 8 }, .undefined = true },
    { "outside", "uint8_t", SUB, A, 16, 32, CONSTANT, 2, .size = { 4, 4 }, .offset = { 10, -60 },
      .span = { 16, 32 } },
    { "strides", "int", WG, C, 12, 20, CONSTANT, 3, .size = { 3, 5, 10 }, .stride = { 200, 31, 2 },
      .offset = { 0, 1, -2 }, .span = { 3, 4, 20 } },
    { "five dimensions", "int8_t", SUB, A, 16, 36, CONSTANT, 5, .size = { 3, 3, 3, 5, 4 },
      .offset = { 1, -1, 0, 2, 1 }, .span = { 2, 4, 2, 6, 6 } },
    { "turned", "float16_t", SUB, B, 16, 8, CONSTANT, 2, .size = { 20, 19 }, .stride = { 24, 1 },
      .offset = { 3, 5 }, .span = { 8, 16 }, .view = "2, false, 1, 0", .permutation = { 1, 0 } },
    { "rows and columns of heads", "float", WG, C, 24, 16, CONSTANT, 3, .size = { 10, 4, 20 },
      .offset = { 4, 1, 0 }, .span = { 8, 3, 16 }, .view = "3, false, 1, 0, 2",
      .permutation = { 1, 0, 2 } },
    { "space to depth",
      "float16_t",
      WG,
      C,
      16,
      12,
      UNDEFINED,
      3,
      .size = { 8, 8, 3 },
      .span = { 8, 8, 3 },
      .view = "5, true, 0, 2, 1, 3, 4",
      5,
      { 0, 2, 1, 3, 4 },
      .view_size = { 4, 2, 4, 2, 3 } },
    { "a clip", "float", SUB, C, 16, 16, CONSTANT, 2, .size = { 9, 9 }, .offset = { -1, 2 },
      .span = { 10, 7 }, .view = "2, false, 0, 1", .permutation = { 0, 1 },
      .clip = { 3, 10, 5, 7 } },
    { "a clip past the matrix",
      "uint",
      WG,
      C,
      8,
      8,
      EDGE,
      2,
      .size = { 9, 9 },
      .span = { 4, 8 },
      .view = "2, true, 1, 0",
      2,
      { 1, 0 },
      .view_size = { 4, 8 },
      .clip = { 4, 4, 0, 90 } },
    { "windows",
      "float",
      SUB,
      C,
      12,
      9,
      CONSTANT,
      2,
      .size = { 6, 6 },
      .offset = { -1, -1 },
      .span = { 6, 7 },
      .view = "4, true, 0, 1, 2, 3",
      4,
      { 0, 1, 2, 3 },
      .view_size = { 3, 4, 3, 3 },
      .view_stride = { 7, 1, 7, 1 },
      .overlaps = true },
    /* lines of more than a vector, across both ends of the tensor's */
    { "wide, constant", "float16_t", SUB, C, 24, 64, CONSTANT, 2, .size = { 20, 50 },
      .offset = { -3, -4 }, .span = { 24, 64 } },
    { "wide, to the edge", "float16_t", SUB, C, 24, 72, EDGE, 2, .size = { 20, 50 },
      .offset = { -3, -4 }, .span = { 24, 72 } },
    { "wide, repeated", "float", SUB, C, 24, 80, REPEAT, 2, .size = { 20, 35 },
      .offset = { -3, -4 }, .span = { 24, 80 } },
    { "wide, mirrored", "int8_t", SUB, A, 24, 96, MIRROR, 2, .size = { 20, 34 },
      .offset = { -3, -4 }, .span = { 24, 96 } },
    { "wide, mirrored from behind", "float", WG, C, 8, 72, MIRROR, 2, .size = { 20, 40 },
      .offset = { 17, 45 }, .span = { 8, 72 } },
    { "wide, a clip", "float16_t", SUB, C, 24, 64, CONSTANT, 2, .size = { 40, 100 },
      .offset = { 1, 2 }, .span = { 24, 64 }, .view = "2, false, 0, 1", .permutation = { 0, 1 },
      .clip = { 2, 20, 5, 51 } },
    { "narrow slice, wide matrix", "float", SUB, C, 16, 64, EDGE, 2, .size = { 40, 30 },
      .offset = { -2, 3 }, .span = { 32, 32 } },
    { "wide slice, narrow matrix", "float", SUB, C, 32, 32, CONSTANT, 2, .size = { 12, 90 },
      .offset = { -2, 9 }, .span = { 8, 128 } },
    { "wide, of four dimensions", "float16_t", SUB, C, 24, 64, CONSTANT, 4,
      .size = { 3, 5, 4, 70 }, .offset = { 0, -1, 1, 4 }, .span = { 2, 4, 3, 64 },
      .view = "4, true, 0, 2, 1, 3", 4, { 0, 2, 1, 3 }, .view_size = { 2, 4, 3, 64 } },
};

static int floor_mod(int a, int n) { return ((a % n) + n) % n; }

/* Digits of x in a system of mixed bases, base[n - 1] the fastest. */
static void digits(uint32_t x, const int *base, uint32_t n, int *out)
{
    for (uint32_t k = n; k-- > 0; x /= (uint32_t)base[k])
        out[k] = (int)(x % (uint32_t)base[k]);
}

/* One coordinate after clamping; -1: the clamp value, or not stored. */
static int clamped(const Tensor *t, int c, int size, bool store)
{
    if (c >= 0 && c < size)
        return c;
    if (t->clamp == CONSTANT || store)
        return -1;
    if (t->clamp == EDGE)
        return c < 0 ? 0 : size - 1;
    if (t->clamp == REPEAT || size == 1) /* one, mirrored: a remainder by 0, heddle's choice */
        return floor_mod(c, size);
    c = floor_mod(c, 2 * (size - 1)); /* up and down again */
    return c < size ? c : 2 * (size - 1) - c;
}

/* The tensor's element for (row, col): -1 the clamp value, -2 left alone. */
static int64_t element(const Tensor *t, uint32_t row, uint32_t col, bool store)
{
    int at[5] = { 0 }, place[5] = { 0 }, turned[5] = { 0 }, base[5] = { 1, 1, 1, 1, 1 };
    uint32_t x = row * t->cols + col;
    int64_t sum = 0, step = 1;
    if (t->view) {
        uint32_t n = t->view_dims ? (uint32_t)t->view_dims : t->dims;
        const int *size = t->view_dims ? t->view_size : t->span;
        uint32_t last_row = t->clip[1] ? t->clip[0] + t->clip[1] : t->rows;
        uint32_t last_col = t->clip[3] ? t->clip[2] + t->clip[3] : t->cols;
        if (row < t->clip[0] || row >= last_row || col < t->clip[2] || col >= last_col)
            return -2;
        uint32_t width = t->clip[3] && t->clip[3] < t->cols ? t->clip[3] : t->cols;
        for (uint32_t k = 0; k < n; k++)
            base[k] = size[t->permutation[k]];
        digits((row - t->clip[0]) * width + col - t->clip[2], base, n, turned);
        for (uint32_t k = 0; k < n; k++)
            place[t->permutation[k]] = turned[k];
        x = 0;
        for (uint32_t k = n; k-- > 0; step *= size[k])
            x += (uint32_t)(place[k] *
                            (t->view_stride[0] ? t->view_stride[k] : (int)step));
    }
    digits(x, t->span, t->dims, at);
    step = 1;
    for (uint32_t k = t->dims; k-- > 0; step *= t->size[k]) {
        int c = clamped(t, at[k] + t->offset[k], t->size[k], store);
        if (c < 0)
            return -1;
        sum += c * (t->stride[0] ? t->stride[k] : step);
    }
    return sum;
}

static HeddleType type_of(const char *glsl)
{
    return !strcmp(glsl, "float")       ? HEDDLE_F32
           : !strcmp(glsl, "float16_t") ? HEDDLE_F16
           : !strcmp(glsl, "int")       ? HEDDLE_S32
           : !strcmp(glsl, "uint")      ? HEDDLE_U32
           : !strcmp(glsl, "int8_t")    ? HEDDLE_S8
                                        : HEDDLE_U8;
}

static const char *const counts[] = { "0", "1", "2", "3", "4", "5" };

static void fill_numbers(const Tensor *t, HeddleArray *p)
{
    for (uint32_t k = 0; k < 5; k++) {
        heddle_array_set(p, k, 1);
        heddle_array_set(p, 5 + k, t->size[k]);
        heddle_array_set(p, 10 + k, t->stride[k]);
        ((int32_t *)p->data)[15 + 2 * k] = t->offset[k];
        heddle_array_set(p, 16 + 2 * k, t->span[k]);
        heddle_array_set(p, 26 + k, t->view_size[k]);
        heddle_array_set(p, 31 + k, t->view_stride[k]);
    }
    /* the bits of FROM_CLAMP, with others above those that count */
    HeddleType type = type_of(t->type);
    bool byte = heddle_type_size(type) == 1;
    heddle_array_set(p, 25, type == HEDDLE_F32   ? 0x40a00000
                            : type == HEDDLE_F16 ? 0xabcd4500
                            : byte               ? 0x300 + FROM_CLAMP
                                                 : FROM_CLAMP);
    for (uint32_t k = 0; k < 4; k++)
        heddle_array_set(p, 36 + k, k % 2 && !t->clip[k] ? UINT32_MAX : t->clip[k]);
}

static bool tensor(const Tensor *t, HeddleDeviceKind kind)
{
    Run r = { .file = "nv_tensor.comp",
              .specs = { { 0, t->rows }, { 1, t->cols } },
              .n_specs = 2,
              .unchecked = t->quick,
              .undefined = t->undefined };
    HeddleType type = type_of(t->type);
    static const char *const clamps[] = { "0", "1", "2", "3", "4" };
    define(&r, "T", t->type);
    set_scope(&r, t->scope);
    define(&r, "LOADS_ONLY", t->overlaps ? "1" : NULL);
    define(&r, "USE", t->use);
    define(&r, "CLAMP", clamps[t->clamp]);
    define(&r, "DIMS", counts[t->dims]);
    define(&r, "STRIDES", t->stride[0] ? "1" : NULL);
    define(&r, "VIEW", t->view);
    define(&r, "VIEW_DIMS", t->view_dims ? counts[t->view_dims] : NULL);
    define(&r, "VIEW_STRIDES", t->view_stride[0] ? "1" : NULL);
    uint64_t n = 1, matrix = (uint64_t)t->rows * t->cols;
    for (uint32_t k = 0; k < t->dims; k++)
        n = t->stride[0] ? n + (uint64_t)(t->size[k] - 1) * (uint64_t)t->stride[k]
                         : n * (uint64_t)t->size[k];
    HeddleArray *p = array(&r, HEDDLE_U32, 40), *in = array(&r, type, n);
    HeddleArray *stored = array(&r, type, matrix), *loaded = array(&r, type, matrix);
    HeddleArray *out = array(&r, type, n);
    fill_numbers(t, p);
    for (uint64_t k = 0; k < n; k++) {
        heddle_array_set(in, k, (double)(k * 7 % 101));
        heddle_array_set(out, k, OLD);
    }
    for (uint64_t k = 0; k < matrix; k++)
        heddle_array_set(stored, k, (double)(k * 11 % 97));
    bool good = run(&r, kind);
    double *want = malloc(n * sizeof(*want));
    for (uint64_t k = 0; k < n; k++)
        want[k] = OLD;
    for (uint64_t k = 0; good && k < matrix; k++) {
        uint32_t row = (uint32_t)(k / t->cols), col = (uint32_t)(k % t->cols);
        int64_t from = element(t, row, col, false), to = element(t, row, col, true);
        double old = heddle_array_get(stored, k);
        double x = from == -1   ? FROM_CLAMP
                   : from == -2 ? old
                                : heddle_array_get(in, (uint64_t)from);
        good = near(&r, t->name, loaded, k, x, 0);
        if (to >= 0)
            want[to] = old;
    }
    for (uint64_t k = 0; good && k < n && !t->overlaps; k++)
        good = near(&r, t->name, out, k, want[k], 0);
    free(want);
    close_run(&r);
    if (!good)
        printf("on device %d: %s\n", kind, t->name);
    return good;
}

TEST(tensors)
{
    for (uint32_t d = 0; d < COUNT_OF(kinds); d++)
        for (uint32_t k = 0; k < COUNT_OF(tensors); k++)
            CHECK(!TEST_TAKES(k) || tensor(&tensors[k], kinds[d]));
}

/* A random divisor of n. */
static int divisor(Rng *r, int n)
{
    int d = 1 + (int)(rng_uniform(r) * n);
    while (n % d)
        d--;
    return d;
}

static int below(Rng *r, int n) { return (int)(rng_uniform(r) * n); }

/* A permutation of n, and its type's text. */
static void shuffle(Rng *r, int *order, int n, bool has_dims, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "%d, %s", n, has_dims ? "true" : "false");
    for (int k = 0; k < n; k++)
        order[k] = k;
    for (int k = 0; k < n; k++) {
        int with = k + below(r, n - k), x = order[k];
        order[k] = order[with];
        order[with] = x;
        at += (size_t)snprintf(text + at, size - at, ", %d", order[k]);
    }
}

static bool random_tensor(uint64_t seed, HeddleDeviceKind kind)
{
    static const char *const types[] = { "float", "float16_t", "int8_t", "uint" };
    static const char *const uses[] = { A, B, C };
    Rng r = { seed };
    char name[32], view[64];
    Tensor t = { .name = name, .quick = true };
    int total = 1, rest;
    snprintf(name, sizeof(name), "random %u", (unsigned)seed);
    t.type = types[below(&r, 4)];
    t.scope = below(&r, 2) ? SUB : WG;
    t.use = uses[below(&r, 3)];
    t.clamp = (uint32_t)below(&r, 5);
    t.dims = 1 + (uint32_t)below(&r, 5);
    for (uint32_t k = 0; k < t.dims; k++) {
        t.span[k] = 1 + below(&r, t.dims < 3 ? 20 : 5);
        t.size[k] = t.clamp == UNDEFINED ? t.span[k] + below(&r, 5)
                    : t.clamp == MIRROR  ? 2 + below(&r, 8)
                                         : 1 + below(&r, 9);
        t.offset[k] =
            t.clamp == UNDEFINED ? below(&r, t.size[k] - t.span[k] + 1) : below(&r, 15) - 8;
        if (seed % 3 == 2 && k + 1 == t.dims) { /* lines of several vectors, and whole ones */
            t.span[k] = 1 << below(&r, 7);
            t.span[k] += below(&r, 2) * below(&r, 30);
            t.size[k] = t.span[k] + below(&r, 40) + (below(&r, 2) ? 40 : 2);
            t.offset[k] = t.clamp == UNDEFINED ? below(&r, t.size[k] - t.span[k] + 1)
                                               : below(&r, 2 * t.size[k]) - t.size[k];
        }
        total *= t.span[k];
    }
    for (uint32_t k = t.dims, step = 1 + (uint32_t)below(&r, 2); k-- > 0 && seed % 2;) {
        t.stride[k] = (int)step;
        step = step * (uint32_t)t.size[k] + (uint32_t)below(&r, 4);
    }
    do {
        t.rows = (uint32_t)divisor(&r, total);
        t.cols = (uint32_t)total / t.rows;
    } while (t.rows > 1024 || t.cols > 1024);
    int how = below(&r, 3); /* no view, the slice's dimensions, its own */
    if (how == 2) {
        t.view_dims = 1 + below(&r, 5);
        rest = total;
        for (int k = 0; k < t.view_dims; rest /= t.view_size[k++])
            t.view_size[k] = k + 1 < t.view_dims ? divisor(&r, rest) : rest;
    }
    if (how) {
        shuffle(&r, t.permutation, how == 2 ? t.view_dims : (int)t.dims, how == 2, view,
                sizeof(view));
        t.view = view;
    }
    if (how && below(&r, 2)) {
        t.clip[0] = (uint32_t)below(&r, (int)t.rows);
        t.clip[1] = 1 + (uint32_t)below(&r, (int)t.rows);
        t.clip[2] = (uint32_t)below(&r, (int)t.cols);
        t.clip[3] = 1 + (uint32_t)below(&r, (int)t.cols);
    }
    return tensor(&t, kind);
}

TEST(random_tensors)
{
    for (uint32_t d = 0; d < COUNT_OF(kinds); d++)
        for (uint64_t seed = 1; seed <= 24; seed++)
            CHECK(!TEST_TAKES(seed) || random_tensor(seed, kinds[d]));
}

/* ---- reductions ------------------------------------------------------------------------------ */

enum { ROW = 1, COLUMN = 2, BOTH = 3, SQUARE = 4 };

typedef struct Reduction {
    const char *type, *scope, *combine;
    uint32_t M, N, rows, cols, mode;
} Reduction;

static const Reduction reductions[] = {
    { "float", WG, "a + b", 16, 24, 16, 8, ROW },
    { "float", SUB, "max(a, b)", 16, 24, 16, 40, ROW },
    { "float16_t", SUB, "min(a, b)", 16, 24, 48, 24, COLUMN },
    { "int", WG, "a + b", 7, 5, 3, 5, COLUMN },
    { "uint", SUB, "a > b ? a : b", 8, 8, 16, 4, BOTH },
    { "float", WG, "a + b", 32, 16, 16, 8, SQUARE },
    { "float16_t", SUB, "max(a, b)", 2, 2, 1, 1, SQUARE },
    { "float", WG, "a", 16, 16, 16, 64, ROW },
};

static double combined(const Reduction *x, double a, double b)
{
    return x->combine[0] == 'm' && x->combine[1] == 'i'     ? fmin(a, b)
           : x->combine[0] == 'm' || strchr(x->combine, '?') ? fmax(a, b)
           : strchr(x->combine, '+')                          ? a + b
                                                              : a;
}

static bool reduction(const Reduction *x, HeddleDeviceKind kind)
{
    Run r = { .file = "nv_reduce.comp",
              .specs = { { 0, x->M }, { 1, x->N }, { 2, x->rows }, { 3, x->cols } },
              .n_specs = 4 };
    char function[64];
    snprintf(function, sizeof(function), "(%s)", x->combine);
    define(&r, "T", x->type);
    set_scope(&r, x->scope);
    define(&r, "COMBINE(a,b)", function);
    define(&r, "MODE", counts[x->mode]);
    HeddleArray *from = array(&r, type_of(x->type), x->M * x->N);
    HeddleArray *to = array(&r, type_of(x->type), x->rows * x->cols);
    bool copies = !strcmp(x->combine, "a"); /* a row's numbers must be alike then */
    for (uint64_t k = 0; k < x->M * x->N; k++)
        heddle_array_set(from, k, (double)((copies ? k / x->N : k) * 37 % 53));
    bool good = run(&r, kind);
    for (uint32_t i = 0; i < x->rows; i++)
        for (uint32_t j = 0; good && j < x->cols; j++) {
            uint32_t top = x->mode == SQUARE ? 2 * i : x->mode & COLUMN ? 0 : i;
            uint32_t left = x->mode == SQUARE ? 2 * j : x->mode & ROW ? 0 : j;
            uint32_t deep = x->mode == SQUARE ? 2 : x->mode & COLUMN ? x->M : 1;
            uint32_t wide = x->mode == SQUARE ? 2 : x->mode & ROW ? x->N : 1;
            double sum = 0;
            for (uint32_t k = 0; k < deep * wide; k++) {
                double y = heddle_array_get(from, (top + k / wide) * x->N + left + k % wide);
                sum = k ? combined(x, sum, y) : y;
            }
            good = near(&r, x->combine, to, i * x->cols + j, sum, 0);
        }
    close_run(&r);
    return good;
}

TEST(reductions)
{
    for (uint32_t d = 0; d < COUNT_OF(kinds); d++)
        for (uint32_t k = 0; k < COUNT_OF(reductions); k++)
            CHECK(!TEST_TAKES(k) || reduction(&reductions[k], kinds[d]));
}

/* ---- conversions ----------------------------------------------------------------------------- */

static bool conversion(const char *from, const char *to, const char *scope, uint32_t M, uint32_t N,
                       HeddleDeviceKind kind)
{
    Run r = { .file = "nv_convert.comp", .specs = { { 0, M }, { 1, N } }, .n_specs = 2 };
    define(&r, "T", from);
    define(&r, "U", to);
    /* transposes keep to integers or floats */
    const char *other = !strstr(from, "float") == !strstr(to, "float") ? to : from;
    define(&r, "V", other);
    set_scope(&r, scope);
    const char *const types[] = { to, to, to, from, from, other };
    HeddleArray *in = array(&r, type_of(from), M * N), *out[COUNT_OF(types)];
    for (uint32_t k = 0; k < COUNT_OF(types); k++)
        out[k] = array(&r, type_of(types[k]), M * N);
    for (uint32_t k = 0; k < M * N; k++)
        heddle_array_set(in, k, k * 5 % 119);
    bool good = run(&r, kind);
    for (uint32_t k = 0; good && k < COUNT_OF(types) * M * N; k++) {
        uint32_t at = k % (M * N), source = k / (M * N) >= 4 ? at % M * N + at / M : at;
        good = near(&r, to, out[k / (M * N)], at, heddle_array_get(in, source), 0);
    }
    close_run(&r);
    return good;
}

TEST(conversions)
{
    for (uint32_t d = 0; d < COUNT_OF(kinds); d++) {
        CHECK(conversion("float", "float16_t", SUB, 16, 8, kinds[d]));
        CHECK(conversion("float", "int8_t", WG, 24, 40, kinds[d]));
        CHECK(conversion("int", "float", SUB, 5, 7, kinds[d]));
        CHECK(conversion("float16_t", "float16_t", WG, 16, 16, kinds[d]));
        CHECK(conversion("uint", "uint8_t", SUB, 32, 16, kinds[d]));
    }
}

/* ---- functions of every element -------------------------------------------------------------- */

static bool elements(const char *type, const char *scope, const char *use, uint32_t M, uint32_t N,
                     HeddleDeviceKind kind)
{
    Run r = { .file = "nv_element.comp", .specs = { { 0, M }, { 1, N } }, .n_specs = 2 };
    define(&r, "T", type);
    set_scope(&r, scope);
    define(&r, "USE", use);
    HeddleArray *a[6];
    for (uint32_t k = 0; k < 6; k++)
        a[k] = array(&r, k < 5 ? type_of(type) : HEDDLE_U32, M * N);
    for (uint32_t k = 0; k < M * N; k++) {
        heddle_array_set(a[0], k, k % 5);
        heddle_array_set(a[1], k, k * 3 % 7);
    }
    bool good = run(&r, kind);
    for (uint32_t k = 0; good && k < M * N; k++) {
        uint32_t row = k / N, col = k % N;
        double x = heddle_array_get(a[0], k), y = heddle_array_get(a[1], k), power = 1;
        for (uint32_t e = 0; e < col % 3; e++)
            power *= y;
        good = near(&r, "place", a[2], k, x + row * 64 + col, 0) &&
               near(&r, "mix", a[3], k, (row + col) % 2 ? power - x : 3 * x + y, 0) &&
               near(&r, "bound", a[4], k, row >= M - 3 || col >= N / 2 ? -5 : x, 0) &&
               near(&r, "side", a[5], k, row * 1000 + col, 0);
    }
    close_run(&r);
    return good;
}

TEST(functions_of_elements)
{
    for (uint32_t d = 0; d < COUNT_OF(kinds); d++) {
        CHECK(elements("float", WG, C, 16, 16, kinds[d]));
        CHECK(elements("int", SUB, A, 8, 20, kinds[d]));
        CHECK(elements("float16_t", WG, B, 7, 9, kinds[d]));
    }
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* Vectors are decoded where a matrix's lines consist of whole ones, but for those that hang over
 * the tensor's edge. */
typedef struct Decoding {
    const char *v, *scope, *use;
    bool turned;
    uint32_t M, N, row, col;
} Decoding;

/* What is lowered calls the function of one element. */
static bool calls_vectors(HeddleDeviceKind kind)
{
#ifdef HEDDLE_LOWER
    (void)kind;
    return false;
#elif defined HEDDLE_TEST_CUDA
    return kind == HEDDLE_DEVICE_REFERENCE;
#else
    (void)kind;
    return true;
#endif
}
#ifdef HEDDLE_ELSEWHERE
enum { MOST_TOLD = 0 };         /* which of the two is called depends on what is lowered */
#else
enum { MOST_TOLD = 1 };
#endif

static bool decoding(const Decoding *t, bool told, HeddleDeviceKind kind)
{
    enum { HEIGHT = 40, BLOCKS = 3, BYTES = 34, WIDTH = BLOCKS * 32 - 5 };
    uint32_t n = (uint32_t)(t->v[0] - '0'), M = t->M, N = t->N;
    bool turned = t->turned, vectors = (turned ? M : N) % n == 0 && t->col % n == 0;
    Run r = { .unchecked = told,
               .file = "nv_decode.comp", .specs = { { 0, M }, { 1, N } }, .n_specs = 2 };
    define(&r, "V", t->v);
    set_scope(&r, t->scope);
    define(&r, "USE", t->use);
    define(&r, "TURNED", turned ? "1" : "0");
    define(&r, "TOLD", told ? "1" : "0");
    HeddleArray *p = array(&r, HEDDLE_U32, 4), *in = array(&r, HEDDLE_U8, HEIGHT * BLOCKS * BYTES);
    HeddleArray *decoded = array(&r, HEDDLE_F16, M * N), *where = array(&r, HEDDLE_F16, M * N);
    uint32_t numbers[] = { HEIGHT, WIDTH, t->row, t->col };
    memcpy(p->data, numbers, sizeof(numbers));
    uint8_t *bytes = in->data;
    for (uint32_t b = 0; b < HEIGHT * BLOCKS; b++) {
        uint16_t scale = f16_from_double((b % 7 + 1) / 4.0);
        memcpy(bytes + b * BYTES, &scale, 2);
        for (uint32_t k = 2; k < BYTES; k++)
            bytes[b * BYTES + k] = (uint8_t)(b * 5 + k * 3);
    }
    bool good = run(&r, kind);
    for (uint32_t k = 0; good && k < M * N; k++) {
        uint32_t y = t->row + (turned ? k % N : k / N), x = t->col + (turned ? k / N : k % N);
        bool inside = y < HEIGHT && x < WIDTH, vector = vectors && x / n * n + n <= WIDTH;
        uint32_t b = y * BLOCKS + x / 32;
        double value = (int8_t)(b * 5 + (x % 32 + 2) * 3) * ((b % 7 + 1) / 4.0) +
                       (told && vector && calls_vectors(kind));
        double place = y * 8 + x / 32 + x % 32 / 32.0;
        good = near(&r, "decoded", decoded, k, inside ? value : 0, 0) &&
               near(&r, "where", where, k, inside ? f16_to_double(f16_from_double(place)) : 0,
                    0x1p-10);
    }
    close_run(&r);
    return good;
}

/* The two functions give the same, and things that tell which was called. */
TEST(decoding)
{
    static const Decoding cases[] = {
        { "2", SUB, A, false, 16, 32, 0, 0 },  { "4", WG, A, false, 24, 40, 3, 13 },
        { "8", SUB, C, false, 8, 96, 35, 64 }, { "4", WG, B, true, 32, 16, 8, 32 },
        { "8", SUB, A, false, 5, 24, 38, 8 },  { "4", SUB, C, false, 3, 5, 0, 12 },
        { "8", WG, A, true, 64, 12, 30, 48 },  { "2", SUB, B, true, 7, 16, 20, 84 },
    };
    for (uint32_t k = 0; k < COUNT_OF(cases); k++)
        for (uint32_t d = 0; d < COUNT_OF(kinds); d++)
            for (int told = 0; told <= MOST_TOLD; told++)
                CHECK(!TEST_TAKES(k) || decoding(&cases[k], told, kinds[d]));
}

/* ---- workgroups ------------------------------------------------------------------------------ */

static bool workgroup(uint32_t M, uint32_t N, uint32_t K, uint32_t local, HeddleDeviceKind kind)
{
    uint32_t depth = 2 * K;
    Run r = { .file = "nv_workgroup.comp",
              .specs = { { 0, M }, { 1, N }, { 2, K }, { 3, depth } },
              .n_specs = 4,
              .local = local };
    HeddleArray *a = array(&r, HEDDLE_F16, M * depth), *b = array(&r, HEDDLE_F16, depth * N);
    HeddleArray *c = array(&r, HEDDLE_F32, M * N), *d = array(&r, HEDDLE_F32, M * N);
    for (uint32_t k = 0; k < M * depth; k++)
        heddle_array_set(a, k, k % 9 - 4.0);
    for (uint32_t k = 0; k < depth * N; k++)
        heddle_array_set(b, k, k % 7 / 2.0);
    for (uint32_t k = 0; k < M * N; k++)
        heddle_array_set(c, k, k);
    bool good = run(&r, kind);
    for (uint32_t i = 0; good && i < M; i++)
        for (uint32_t j = 0; good && j < N; j++) {
            double sum = i * N + j;
            for (uint32_t k = 0; k < depth; k++)
                sum += heddle_array_get(a, i * depth + k) * heddle_array_get(b, k * N + j);
            good = near(&r, "product", d, i * N + j, 2 * sum, 0);
        }
    close_run(&r);
    return good;
}

TEST(workgroups)
{
    for (uint32_t d = 0; d < COUNT_OF(kinds); d++) {
        CHECK(workgroup(32, 16, 16, 64, kinds[d]));
        CHECK(workgroup(64, 40, 8, 96, kinds[d]));
#ifndef HEDDLE_SMALL    /* lowered they take more than 32 KiB of workgroup memory */
        CHECK(workgroup(128, 64, 16, 256, kinds[d]));
        CHECK(workgroup(1024, 8, 16, 1024, kinds[d]));
        CHECK(workgroup(8, 1024, 8, 512, kinds[d]));
#endif
    }
}
