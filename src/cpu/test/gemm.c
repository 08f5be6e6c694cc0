/* SPDX-License-Identifier: MIT
 *
 * The multiply-add kernels against plain double-precision loops: types, orders, tile sizes and
 * grids, tiles that lie apart, saturation. The kernel under test is called from a heddle_kernel
 * that takes tile addresses from a buffer.
 */
#include "base/test.h"
#include "cpu/gemm/gemm_internal.h"
#include "cpu/jit/jit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Case {
    GemmShape s;
    const char *level;
} Case;

static void report(void *user, const Diag *d)
{
    char text[512];
    (void)user;
    diag_format(d, text, sizeof(text));
    printf("%s\n", text);
}

static double get(IrComp c, const uint8_t *p)
{
    switch (c) {
    case COMP_F16: { uint16_t h; memcpy(&h, p, 2); return f16_to_double(h); }
    case COMP_BF16: { uint16_t h; memcpy(&h, p, 2); return bf16_to_double(h); }
    case COMP_F32: { float f; memcpy(&f, p, 4); return f; }
    case COMP_F64: { double f; memcpy(&f, p, 8); return f; }
    case COMP_E4M3: return e4m3_to_double(*p);
    case COMP_E5M2: return e5m2_to_double(*p);
    case COMP_S8: return *(const int8_t *)p;
    case COMP_U8: return *p;
    case COMP_S16: { int16_t x; memcpy(&x, p, 2); return x; }
    case COMP_U16: { uint16_t x; memcpy(&x, p, 2); return x; }
    case COMP_S32: { int32_t x; memcpy(&x, p, 4); return x; }
    case COMP_U32: { uint32_t x; memcpy(&x, p, 4); return x; }
    case COMP_S64: { int64_t x; memcpy(&x, p, 8); return (double)x; }
    default: { uint64_t x; memcpy(&x, p, 8); return (double)x; }
    }
}

static void put(IrComp c, uint8_t *p, double v)
{
    switch (c) {
    case COMP_F16: { uint16_t h = f16_from_double(v); memcpy(p, &h, 2); break; }
    case COMP_BF16: { uint16_t h = bf16_from_double(v); memcpy(p, &h, 2); break; }
    case COMP_F32: { float f = (float)v; memcpy(p, &f, 4); break; }
    case COMP_F64: memcpy(p, &v, 8); break;
    case COMP_E4M3: *p = e4m3_from_double(v); break;
    case COMP_E5M2: *p = e5m2_from_double(v); break;
    default: { int64_t x = (int64_t)v; memcpy(p, &x, comp_bytes(c)); break; }
    }
}

/* A matrix of tiles in one buffer: tile (i, j) of rows x cols elements, stride `pitch` elements. */
typedef struct Mat { uint8_t *data; IrComp c; uint32_t rows, cols, pitch; bool col; } Mat;

static Mat mat_new(IrComp c, uint32_t rows, uint32_t cols, bool col, Rng *r, double range)
{
    Mat m = {NULL, c, rows, cols, (col ? rows : cols) + 3, col};
    m.data = malloc((size_t)m.pitch * (col ? cols : rows) * comp_bytes(c) + 64);
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < cols; j++) {
            double v = rng_uniform(r) * 2 - 1;
            size_t e = col ? (size_t)j * m.pitch + i : (size_t)i * m.pitch + j;
            if (!comp_is_float(c))
                v = floor(comp_is_signed(c) ? v * range : fabs(v) * range);
            put(c, m.data + e * comp_bytes(c), v);
        }
    return m;
}

static uint8_t *mat_at(const Mat *m, uint32_t i, uint32_t j)
{
    return m->data +
           (m->col ? (size_t)j * m->pitch + i : (size_t)i * m->pitch + j) * comp_bytes(m->c);
}

/* heddle_kernel(env): slots[0][0].base holds pointers and strides in table order, slots[0][1].base
 * scratch. */
static CpuSubgroupFn *build(Arena *a, const GemmShape *s, const CpuTarget *t,
                            struct CpuCode **owner, uint64_t *scratch, bool *tiles, DiagSink *sink)
{
    LLVMContextRef cx = LLVMContextCreate();
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("test", cx);
    LLVMTypeRef ptr = LLVMPointerTypeInContext(cx, 0), i64 = LLVMInt64TypeInContext(cx);
    LLVMTypeRef ft = LLVMFunctionType(LLVMVoidTypeInContext(cx), &ptr, 1, false);
    LLVMValueRef fn = LLVMAddFunction(m, CPU_KERNEL_NAME, ft);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(cx);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(cx, fn, ""));
    LLVMValueRef slots = LLVMBuildLoad2(b, ptr, LLVMGetParam(fn, 0), "");
    LLVMValueRef bind = LLVMBuildLoad2(b, ptr, slots, "");
    LLVMValueRef in = LLVMBuildLoad2(b, ptr, bind, ""), two = LLVMConstInt(i64, 2, false);
    LLVMValueRef scr = LLVMBuildLoad2(b, ptr, LLVMBuildGEP2(b, i64, bind, &two, 1, ""), "");
    Gemm *g = gemm_new(a, m, t);
    uint32_t steps = s->even ? 1 : s->steps, na = s->rows * steps, nb = steps * s->cols,
             n = na + nb + (uint32_t)s->rows * s->cols, at = 0;
    GemmView *v = NEW_ARRAY(a, GemmView, n);
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef w[3];
        for (uint32_t k = 0; k < (s->even && i < na + nb ? 3 : 2); k++) {
            LLVMValueRef p = LLVMConstInt(i64, at++, false);
            p = LLVMBuildGEP2(b, i64, in, &p, 1, "");
            w[k] = LLVMBuildLoad2(b, k ? i64 : ptr, p, "");
        }
        v[i] = (GemmView){ w[0], w[1], s->even && i < na + nb ? w[2] : NULL };
    }
    LLVMValueRef table =
        LLVMBuildArrayAlloca(b, i64, LLVMConstInt(i64, gemm_table_entries(s), false), "");
    *scratch = gemm_scratch_bytes(g, s);
    LLVMValueRef yes = LLVMConstInt(LLVMInt1TypeInContext(cx), 1, false);
    GemmCall call = { .shape = *s, .a = v, .b = v + na, .c = v + na + nb, .table = table,
                      .scratch = scr, .cold = yes, .prefetch = yes,
                      .ahead_a = LLVMConstInt(i64, 1 << 20, false) };
    gemm_call(g, b, &call);
    *tiles = gemm_has_tiles(g);
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
    CpuOptions o = {.optimise = true};
    CpuJit jit;
    if (!cpu_jit(m, cx, t, &o, &jit, sink))
        return NULL;
    *owner = jit.owner;
    return jit.code;
}

static void fill(uint64_t *table, const Mat *m, uint32_t i, uint32_t j)
{
    table[0] = (uint64_t)(uintptr_t)mat_at(m, i, j);
    table[1] = (uint64_t)m->pitch * comp_bytes(m->c);
}

/* A copy in which each step's rows or columns are followed by as many others. */
static Mat spread(const Mat *m, uint32_t step, bool columns)
{
    Rng r = { 7 };
    Mat out = mat_new(m->c, columns ? m->rows : 2 * m->rows, columns ? 2 * m->cols : m->cols,
                      m->col, &r, 1);
    for (uint32_t i = 0; i < m->rows; i++)
        for (uint32_t j = 0; j < m->cols; j++)
            memcpy(columns ? mat_at(&out, i, j + j / step * step)
                           : mat_at(&out, i + i / step * step, j),
                   mat_at(m, i, j), comp_bytes(m->c));
    return out;
}

/* The entries of an even shape's operands: a tile a row and a column, and how far on the next
 * step's are. Returns what is behind them. */
static uint64_t *fill_even(uint64_t *p, const GemmShape *s, const Mat *A, const Mat *B, bool apart)
{
    uint32_t next = apart ? 2 * s->K : s->K;
    for (uint32_t i = 0; i < s->rows; i++, p += 3) {
        fill(p, A, i * s->M, 0);
        p[2] = (uint64_t)(mat_at(A, 0, next) - mat_at(A, 0, 0));
    }
    for (uint32_t j = 0; j < s->cols; j++, p += 3) {
        fill(p, B, 0, j * s->N);
        p[2] = (uint64_t)(mat_at(B, next, 0) - mat_at(B, 0, 0));
    }
    return p;
}

static double expected(const GemmShape *s, const Mat *A, const Mat *B, double c, uint32_t i,
                       uint32_t j)
{
    double sum = 0;
    for (uint32_t k = 0; k < A->cols; k++)
        sum += get(A->c, mat_at(A, i, k)) * get(B->c, mat_at(B, k, j));
    sum += c;
    if (s->saturate) {
        double lo = s->c == COMP_S32 ? -2147483648.0 : 0,
               hi = s->c == COMP_S32 ? 2147483647.0 : 4294967295.0;
        return fmin(fmax(sum, lo), hi);
    }
    if (!comp_is_float(s->c) && comp_bytes(s->c) < 8) {     /* low-order bits */
        int64_t bits = (int64_t)sum;
        uint8_t raw[8];
        memcpy(raw, &bits, 8);
        return get(s->c, raw);
    }
    return sum;
}

/* The entries of all operands; A's odd steps are those of the second. Returns what is behind. */
static uint64_t *fill_operands(uint64_t *p, const GemmShape *s, const Mat *const A[2], const Mat *B,
                               bool apart)
{
    if (s->even)
        return fill_even(p, s, A[1], B, apart);
    for (uint32_t i = 0; i < s->rows; i++)
        for (uint32_t k = 0; k < s->steps; k++, p += 2)
            fill(p, A[k & 1], i * s->M, k * s->K);
    for (uint32_t k = 0; k < s->steps; k++)
        for (uint32_t j = 0; j < s->cols; j++, p += 2)
            fill(p, B, k * s->K, j * s->N);
    return p;
}

/* Tells of three that are wrong. */
static bool is_right(const GemmShape *s, const Mat sums[2], const double *want)
{
    uint32_t M = s->rows * s->M, N = s->cols * s->N, K = s->steps * s->K, wrong = 0;
    double tol = !comp_is_float(s->c) ? 0
                 : s->c == COMP_F64   ? 1e-12
                 : s->c == COMP_F32   ? 2e-5
                 : s->c == COMP_F16   ? 4e-3
                                      : 2e-2;
    for (uint32_t i = 0; i < M && wrong < 3; i++)
        for (uint32_t j = 0; j < N && wrong < 3; j++) {
            const Mat *where = &sums[(i / s->M + j / s->N) & 1];
            double got = get(s->c, mat_at(where, i, j)), w = want[i * N + j];
            bool same = isfinite(w) ? fabs(got - w) <= tol * (fabs(w) + sqrt(K))
                        : isnan(w)  ? isnan(got)
                                    : got == w;
            if (!same) {
                printf("%s_%s_%s %ux%ux%u grid %ux%ux%u %d%d%d: [%u][%u] = %g, want %g\n",
                       comp_name(s->a), comp_name(s->b), comp_name(s->c), s->M, s->N, s->K, s->rows,
                       s->cols, s->steps, s->a_col, s->b_col, s->c_col, i, j, got, w);
                wrong++;
            }
        }
    return wrong == 0;
}

/* Numbers of f16 that are infinite, or none, which only some rows and columns of C depend on. */
typedef enum Specials { SPECIALS_NONE, SPECIALS_IN_A, SPECIALS_IN_B } Specials;

static void put_specials(Mat *m, Specials which)
{
    static const uint16_t infinite = 0x7c00, negative = 0xfc00, nan = 0x7e00;
    bool a = which == SPECIALS_IN_A;
    memcpy(mat_at(m, a ? 1 : 3, a ? 3 : 1), &infinite, 2);
    memcpy(mat_at(m, a ? 9 : 2, a ? 2 : 9), &negative, 2);
    memcpy(mat_at(m, a ? m->rows - 1 : 0, a ? 0 : m->cols - 1), &nan, 2);
}

static bool run_with(const GemmShape *s, const char *level, bool apart, Specials specials)
{
    Arena a = {0};
    DiagSink sink = {.report = report};
    CpuTarget t;
    struct CpuCode *owner = NULL;
    uint64_t scratch_bytes;
    if (!cpu_target(&t, level, &sink))
        return false;
    CpuTuning all_engines = *t.tuning;      /* the slow ones are to be right, too */
    all_engines.slow = 0;
    t.tuning = &all_engines;
    bool tiles = false;
    CpuSubgroupFn *code = build(&a, s, &t, &owner, &scratch_bytes, &tiles, &sink);
    if (!code)
        return false;
    Rng r = {42};
    uint32_t M = s->rows * s->M, N = s->cols * s->N, K = s->steps * s->K;
    double range = comp_bytes(s->a) == 1 ? 127 : 100;
    Mat A = mat_new(s->a, M, K, s->a_col, &r, range), B = mat_new(s->b, K, N, s->b_col, &r, range);
    Mat C = mat_new(s->c, M, N, s->c_col, &r, s->saturate ? 2147483000.0 : 100);
    if (specials)
        put_specials(specials == SPECIALS_IN_A ? &A : &B, specials);
    double *want = malloc(sizeof(double) * M * N);
    for (uint32_t i = 0; i < M; i++)
        for (uint32_t j = 0; j < N; j++)
            want[i * N + j] = expected(s, &A, &B, get(s->c, mat_at(&C, i, j)), i, j);
    /* tiles of odd steps from elsewhere: the steps are not contiguous */
    Mat copy = A;
    if (s->even && apart) {
        copy = spread(&A, s->K, true);
        Mat other = spread(&B, s->K, false);
        free(B.data);
        B = other;
    } else if (apart) {
        copy.data = malloc((size_t)A.pitch * (A.col ? K : M) * comp_bytes(s->a) + 64);
        memcpy(copy.data, A.data, (size_t)A.pitch * (A.col ? K : M) * comp_bytes(s->a));
    }
    uint64_t *table = calloc(gemm_table_entries(s), 8);
    uint64_t *p = fill_operands(table, s, (const Mat *[2]){ &A, &copy }, &B, apart);
    /* so are every other tile's sums */
    Mat sums[2] = { C, C };
    if (apart) {
        size_t bytes = (size_t)C.pitch * (C.col ? N : M) * comp_bytes(s->c) + 64;
        sums[1].data = memcpy(malloc(bytes), C.data, bytes);
    }
    for (uint32_t i = 0; i < s->rows; i++)
        for (uint32_t j = 0; j < s->cols; j++, p += 2)
            fill(p, &sums[(i + j) & 1], i * s->M, j * s->N);
    void *scratch = aligned_alloc(64, align_up(scratch_bytes + 64, 64));
    DeviceBinding bind[2] = {{table, 0}, {scratch, 0}};
    const DeviceBinding *slots[1] = {bind};
    CpuEnv env = {.slots = slots, .n_subgroups = 1};
    CpuTiles before = tiles ? cpu_tiles_begin() : (CpuTiles){ { 0 } };
    code(&env);
    if (tiles)
        cpu_tiles_end(&before);
    bool right = is_right(s, sums, want);
    cpu_code_free(owner);
    cpu_target_free(&t);
    if (apart) {
        free(copy.data);
        free(sums[1].data);
    }
    free(A.data); free(B.data); free(C.data); free(want); free(table); free(scratch);
    arena_free(&a);
    return right;
}

static bool run(const GemmShape *s, const char *level, bool apart)
{
    return run_with(s, level, apart, SPECIALS_NONE);
}

static const struct { uint8_t a, b, c; bool sat;
} types[] = {
    { COMP_F32, COMP_F32, COMP_F32, 0 },    { COMP_F16, COMP_F16, COMP_F32, 0 },
    { COMP_F16, COMP_F16, COMP_F16, 0 },    { COMP_BF16, COMP_BF16, COMP_F32, 0 },
    { COMP_BF16, COMP_BF16, COMP_BF16, 0 }, { COMP_F64, COMP_F64, COMP_F64, 0 },
    { COMP_E4M3, COMP_E4M3, COMP_F32, 0 },  { COMP_E5M2, COMP_E5M2, COMP_F16, 0 },
    { COMP_E4M3, COMP_E5M2, COMP_F32, 0 },  { COMP_BF16, COMP_E4M3, COMP_BF16, 0 },
    { COMP_S8, COMP_S8, COMP_S32, 0 },      { COMP_U8, COMP_S8, COMP_S32, 0 },
    { COMP_S8, COMP_U8, COMP_S32, 0 },      { COMP_U8, COMP_U8, COMP_U32, 0 },
    { COMP_S8, COMP_S8, COMP_S32, 1 },      { COMP_U8, COMP_U8, COMP_U32, 1 },
    { COMP_S16, COMP_S16, COMP_S32, 0 },    { COMP_S8, COMP_S16, COMP_S32, 0 },
    { COMP_U8, COMP_S16, COMP_U32, 0 },     { COMP_U16, COMP_U16, COMP_U32, 0 },
    { COMP_S32, COMP_S32, COMP_S32, 0 },    { COMP_S64, COMP_S64, COMP_S64, 0 },
    { COMP_S8, COMP_S8, COMP_S8, 0 },       { COMP_S8, COMP_S8, COMP_S16, 0 },
};

/* Of every other shape the table has the first step's tiles only. */
static GemmShape shape(uint32_t ty, uint32_t M, uint32_t N, uint32_t K, uint32_t R, uint32_t S,
                       uint32_t T, uint32_t order)
{
    GemmShape s;
    memset(&s, 0, sizeof(s));
    s.M = (uint16_t)M; s.N = (uint16_t)N; s.K = (uint16_t)K;
    s.rows = (uint16_t)R; s.cols = (uint16_t)S; s.steps = (uint16_t)(types[ty].sat ? 1 : T);
    s.a = types[ty].a; s.b = types[ty].b; s.c = types[ty].c;
    s.saturate = types[ty].sat;
    s.a_col = order & 1; s.b_col = order & 2; s.c_col = order & 4;
    s.even = s.steps > 1 && (ty + order / 2) & 1;
    s.prefetch_a = R > 1 && !s.even;
    s.prefetch_b = (S > 1 || R == 3) && !s.even;
    return s;
}

TEST(types_and_orders)
{
    for (uint32_t ty = 0; ty < COUNT_OF(types); ty++)
        for (uint32_t order = 0; order < 8; order++) {
            GemmShape s = shape(ty, 16, 16, 16, 2, 3, 2, order);
            CHECK(run(&s, NULL, order & 1));
        }
}

TEST(sizes)
{
    static const uint8_t sizes[][6] = {
        { 8, 8, 8, 2, 2, 1 },    { 8, 8, 8, 8, 8, 4 },    { 1, 1, 1, 1, 1, 1 },
        { 3, 5, 7, 2, 2, 2 },    { 64, 64, 16, 1, 1, 1 }, { 64, 64, 8, 1, 1, 2 },
        { 16, 8, 32, 1, 3, 1 },  { 13, 17, 4, 1, 2, 3 },  { 4, 2, 12, 3, 5, 1 },
        { 16, 16, 16, 4, 4, 4 }, { 33, 40, 20, 1, 1, 1 }, { 16, 24, 16, 1, 2, 1 },
    };
    static const uint8_t some[] = {0, 1, 10, 13, 16, 2, 3, 6};
    for (uint32_t i = 0; i < COUNT_OF(sizes); i++)
        for (uint32_t ty = 0; ty < COUNT_OF(some); ty++) {
            uint32_t order = (i * 3 + ty) % 8;
            const uint8_t *z = sizes[i];
            GemmShape s = shape(some[ty], z[0], z[1], z[2], z[3], z[4], z[5], order);
            CHECK(run(&s, NULL, (i + ty) & 1));
            s.a_near = s.b_near = true;
            CHECK(run(&s, NULL, false));
        }
}

/* Sixteen lines of several tiles, which tile registers take, side by side or not. */
TEST(small_tiles)
{
    static const uint8_t sizes[][6] = {
        { 8, 8, 16, 6, 4, 4 }, { 4, 16, 32, 4, 3, 2 }, { 32, 8, 64, 1, 2, 1 },
        { 8, 2, 32, 2, 8, 4 },
    };
    static const uint8_t some[] = { 3, 6, 10, 12 };
    for (uint32_t i = 0; i < COUNT_OF(sizes) * COUNT_OF(some); i++)
        for (uint32_t order = 0; order < 8; order += 2) {
            const uint8_t *z = sizes[i % COUNT_OF(sizes)];
            uint32_t ty = some[i / COUNT_OF(sizes)];
            GemmShape s = shape(ty, z[0], z[1], z[2], z[3], z[4], z[5], order);
            CHECK(run(&s, NULL, false) && run(&s, NULL, true));
        }
}

/* What this machine can run of it. */
static bool runs(const char *level)
{
    DiagSink sink = {.report = report};
    CpuTarget t;
    if (!cpu_target_any(&t, level, &sink))
        return false;
    bool able = !t.lacks[0];
    cpu_target_free(&t);
    return able;
}

TEST(levels)
{
    static const char *const levels[] = {
        "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "cooperlake", "znver4", "alderlake",
        "sapphirerapids", "armv8", "armv8.2", "armv8.6",
    };
    for (uint32_t l = 0; l < COUNT_OF(levels); l++)
        for (uint32_t ty = l % HEDDLE_TEST_STEP; runs(levels[l]) && ty < COUNT_OF(types);
             ty += HEDDLE_TEST_STEP) {
            bool odd = (l + ty) & 8;
            GemmShape s = odd ? shape(ty, 8, 24, 12, 1, 2, 3, l + ty)
                              : shape(ty, 16, 16, 16, 2, 2, 4, l + ty);
            CHECK(run(&s, levels[l], odd));
        }
}

static const struct {
    const char *level;
    uint8_t a, b, c;
    const char *engine;
} machines[] = {
    { "x86-64", COMP_F32, COMP_F32, COMP_F32, "muladd" },
    { "x86-64", COMP_S8, COMP_U8, COMP_S32, "pmaddwd" },
    { "x86-64-v3", COMP_S16, COMP_S16, COMP_S32, "pmaddwd" },
    { "x86-64-v4", COMP_S8, COMP_S8, COMP_S32, "pmaddwd" },
    { "x86-64-v4", COMP_BF16, COMP_BF16, COMP_F32, "muladd" },
    { "alderlake", COMP_S8, COMP_S8, COMP_S32, "vpdpbusd (vex)" },
    { "alderlake", COMP_S8, COMP_S16, COMP_S32, "vpdpwssd (vex)" },
    { "arrowlake", COMP_S8, COMP_S8, COMP_S32, "vpdpbssd" },
    { "arrowlake", COMP_U8, COMP_S8, COMP_S32, "vpdpbssd" },
    { "arrowlake", COMP_S8, COMP_S16, COMP_S32, "vpdpwssd (vex)" },
    { "graniterapids", COMP_F16, COMP_F16, COMP_F16, "amx-fp16" },
    { "sapphirerapids", COMP_F16, COMP_F16, COMP_F16, "amx-bf16 twice" },
    { "sapphirerapids", COMP_F16, COMP_F16, COMP_F32, "amx-bf16 twice" },
    { "cooperlake", COMP_BF16, COMP_BF16, COMP_F32, "muladd" },
    { "sapphirerapids", COMP_BF16, COMP_BF16, COMP_BF16, "muladd" },
    { "znver4", COMP_BF16, COMP_BF16, COMP_F32, "vdpbf16ps" },
    { "znver4", COMP_E4M3, COMP_E5M2, COMP_BF16, "vdpbf16ps" },
    { "cooperlake", COMP_F16, COMP_F16, COMP_F32, "muladd" },
    { "cooperlake", COMP_S8, COMP_S8, COMP_S32, "vpdpbusd" },
    { "cooperlake", COMP_S8, COMP_S8, COMP_S16, "muladd" },
    { "znver4", COMP_S16, COMP_S16, COMP_S32, "vpdpwssd" },
    { "znver4", COMP_U16, COMP_U16, COMP_U32, "muladd" },
    { "armv8", COMP_S8, COMP_S8, COMP_S32, "muladd" },
    { "armv8.2", COMP_S8, COMP_S8, COMP_S32, "sdot" },
    { "armv8.2", COMP_U8, COMP_S8, COMP_S32, "muladd" },
    { "armv8.2", COMP_BF16, COMP_BF16, COMP_F32, "muladd" },
    { "armv8.6", COMP_U8, COMP_S8, COMP_S32, "mmla" },
    { "armv8.6", COMP_S8, COMP_U8, COMP_S32, "usdot" },
    { "armv8.6", COMP_E4M3, COMP_BF16, COMP_F32, "bfmmla" },
    { "armv8.6", COMP_F16, COMP_E5M2, COMP_F32, "fmlal" },
    { "armv8.6", COMP_F16, COMP_F16, COMP_F16, "muladd" },
};

TEST(engines_of_machines)
{
    DiagSink sink = {.report = report};
    for (uint32_t i = 0; i < COUNT_OF(machines); i++) {
        CpuTarget t;
        if (!cpu_target_any(&t, machines[i].level, &sink))
            continue;           /* another architecture's */
        GemmShape s = shape(0, 32, 32, 64, 1, 1, 1, 0);
        s.a = machines[i].a;
        s.b = machines[i].b;
        s.c = machines[i].c;
        CHECK_STR(gemm_engine(&s, &t)->name, machines[i].engine);
        cpu_target_free(&t);
    }
}

/* Infinities have no parts that could be multiplied one by one. */
TEST(infinities_and_nans)
{
    static const uint8_t sizes[][6] = {
        { 16, 16, 16, 2, 2, 2 }, { 32, 32, 64, 1, 1, 1 }, { 64, 48, 32, 1, 1, 2 },
        { 8, 8, 8, 8, 8, 4 },    { 32, 32, 144, 1, 1, 2 }, /* rows that begin within a vector */
    };
    for (uint32_t i = 0; i < COUNT_OF(sizes); i++)
        for (uint32_t ty = 1; ty <= 2; ty++)
            for (uint32_t order = 0; order < 8; order++) {
                const uint8_t *z = sizes[i];
                GemmShape s = shape(ty, z[0], z[1], z[2], z[3], z[4], z[5], order);
                CHECK(run_with(&s, NULL, order & 1, SPECIALS_IN_A));
                CHECK(run_with(&s, NULL, order & 1, SPECIALS_IN_B));
            }
}

/* Kernels that preserve denormals get no engine that makes zeros of them. */
TEST(denormals_are_kept)
{
    DiagSink sink = {.report = report};
    CpuTarget t;
    if (!cpu_target_any(&t, "sapphirerapids", &sink))
        return;
    GemmShape s = shape(3, 16, 16, 32, 1, 1, 1, 0);
    CHECK(gemm_engine(&s, &t)->flushes);
    s.denormals = true;
    CHECK_STR(gemm_engine(&s, &t)->name, "muladd");
    cpu_target_free(&t);
}

/* Only what the machine has is said to be used, under its own name. */
TEST(sets_used)
{
    CpuTarget t = { .triple = "x86_64-pc-linux-gnu", .sets = CPU_AVX2 | CPU_AVX_VNNI };
    t.tuning = cpu_tuning(&t);
    CHECK(!(cpu_sets_used(&t) & ~t.sets));
    CHECK(!(cpu_sets_used(&t) & CPU_AVX512_VNNI) && cpu_sets_used(&t) & CPU_AVX_VNNI);
    t.sets |= CPU_AVX512 | CPU_AVX512_VNNI;
    CHECK(cpu_sets_used(&t) & CPU_AVX512_VNNI && !(cpu_sets_used(&t) & CPU_AVX_VNNI));
    CHECK_STR(cpu_set_name(CPU_AVX512_VNNI), "avx512-vnni");
    CHECK_STR(cpu_set_name(CPU_AVX_VNNI), "avx-vnni");
}

TEST(tuning_of_machines)
{
    CpuTarget t = { .triple = "x86_64-pc-linux-gnu", .sets = CPU_AVX512 | CPU_AVX2 };
    CHECK(cpu_tuning(&t)->vector_bits == 512);
    t.sets = CPU_AVX2;
    CHECK(cpu_tuning(&t)->vector_bits == 256);
    t.sets = 0;
    CHECK(cpu_tuning(&t)->vector_bits == 128);
    memcpy(t.triple, "riscv64-unknown-linux-gnu", sizeof "riscv64-unknown-linux-gnu");
    CHECK(cpu_tuning(&t)->vector_bits == 128);
    CHECK(cpu_host_l2_bytes(cpu_host_tuning()) >= 64 << 10);
}
