/* SPDX-License-Identifier: MIT
 *
 * Multiply-adds whose four component types are anything that is accepted, on both devices, against
 * sums of their own: double, which holds these floats' sums exactly, and integers that wrap. No
 * language that heddle compiles has them all, so they are written as SPIR-V: D = A B + C from
 * memory, from it E = A B + D in C's type where that is accepted, and F = A B + a constant C.
 * Where C's addition saturates, the products' sum stays inside of the result's type: beyond it all
 * would be undefined.
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdlib.h>

enum { N_FLOATS = 6, N_TYPES = 14, BUFFERS = 6, ROOM = 1 << 15 };

/* Floats are multiples of `unit` up to 4, which their types hold. */
typedef struct Type {
    HeddleType type;
    const char *name, *spirv;
    uint32_t bits;
    bool is_signed;
    double unit;
} Type;

static const Type types[N_TYPES] = {
    { HEDDLE_F32, "f32", "Float 32", 32, false, 0x1p-14 },
    { HEDDLE_F16, "f16", "Float 16", 16, false, 0x1p-7 },
    { HEDDLE_F64, "f64", "Float 64", 64, false, 0x1p-30 },
    { HEDDLE_BF16, "bf16", "Float 16 BFloat16KHR", 16, false, 0x1p-4 },
    { HEDDLE_E4M3, "e4m3", "Float 8 Float8E4M3EXT", 8, false, 0.5 },
    { HEDDLE_E5M2, "e5m2", "Float 8 Float8E5M2EXT", 8, false, 1 },
    { HEDDLE_S8, "s8", "Int 8 1", 8, true, 0 },
    { HEDDLE_U8, "u8", "Int 8 0", 8, false, 0 },
    { HEDDLE_S16, "s16", "Int 16 1", 16, true, 0 },
    { HEDDLE_U16, "u16", "Int 16 0", 16, false, 0 },
    { HEDDLE_S32, "s32", "Int 32 1", 32, true, 0 },
    { HEDDLE_U32, "uint", "Int 32 0", 32, false, 0 },
    { HEDDLE_S64, "s64", "Int 64 1", 64, true, 0 },
    { HEDDLE_U64, "u64", "Int 64 0", 64, false, 0 },
};

static bool is_float(const Type *t) { return t < types + N_FLOATS; }

typedef struct Case {
    const Type *t[4];           /* A, B, C, D */
    uint32_t M, N, K, subgroup, scope;
    bool col[4];                /* their order in memory */
    bool saturates;
} Case;

/* ---- SPIR-V ---------------------------------------------------------------------------------- */

typedef struct Text { size_t n; char s[ROOM]; } Text;

static PRINTF_LIKE(2, 3) void put(Text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->n += (size_t)vsnprintf(t->s + t->n, ROOM - t->n, format, args);
    va_end(args);
}

static const char header[] =
    "OpCapability Shader\nOpCapability Float16\nOpCapability Float64\nOpCapability Int8\n"
    "OpCapability Int16\nOpCapability Int64\nOpCapability StorageBuffer8BitAccess\n"
    "OpCapability StorageBuffer16BitAccess\nOpCapability BFloat16TypeKHR\n"
    "OpCapability BFloat16CooperativeMatrixKHR\nOpCapability Float8EXT\n"
    "OpCapability Float8CooperativeMatrixEXT\nOpCapability VulkanMemoryModel\n"
    "OpCapability CooperativeMatrixKHR\nOpExtension \"SPV_KHR_cooperative_matrix\"\n"
    "OpExtension \"SPV_KHR_bfloat16\"\nOpExtension \"SPV_EXT_float8\"\n"
    "OpMemoryModel Logical Vulkan\n"
    "OpEntryPoint GLCompute %main \"main\" %v0 %v1 %v2 %v3 %v4 %v5\n";

static bool has_second(const Case *c)
{
    return is_float(c->t[2]) || c->t[2]->bits == c->t[3]->bits;
}

/* What is in buffers 0 to 5: A, B, C, D, E of C's type, F of D's. */
static const Type *type_in(const Case *c, uint32_t buffer)
{
    return c->t[buffer < 4 ? buffer : buffer == 4 ? 2 : 3];
}

static uint32_t rows_in(const Case *c, uint32_t buffer) { return buffer == 1 ? c->K : c->M; }
static uint32_t cols_in(const Case *c, uint32_t buffer) { return buffer ? c->N : c->K; }
static bool col_in(const Case *c, uint32_t buffer) { return c->col[MIN(buffer, 3u)]; }

static void put_types(Text *o, const Case *c)
{
    put(o, "%%void = OpTypeVoid\n%%fn = OpTypeFunction %%void\n%%uint = OpTypeInt 32 0\n");
    const uint32_t numbers[] = { 0, 1, 2, 3, c->M, c->N, c->K };
    for (uint32_t k = 0; k < COUNT_OF(numbers); k++)
        put(o, "%%n%u = OpConstant %%uint %u\n", k, numbers[k]);
    for (uint32_t k = 0; k < 4; k++) {
        bool seen = c->t[k]->type == HEDDLE_U32;   /* %uint */
        for (uint32_t j = 0; j < k; j++)
            seen |= c->t[j] == c->t[k];
        if (!seen)
            put(o, "%%%s = OpType%s\n", c->t[k]->name, c->t[k]->spirv);
    }
    for (uint32_t k = 0; k < BUFFERS; k++) {
        const char *t = type_in(c, k)->name;
        put(o, "%%a%u = OpTypeRuntimeArray %%%s\n%%s%u = OpTypeStruct %%a%u\n", k, t, k, k);
        put(o, "%%ps%u = OpTypePointer StorageBuffer %%s%u\n", k, k);
        put(o, "%%v%u = OpVariable %%ps%u StorageBuffer\n", k, k);
    }
    for (uint32_t k = 0; k < 4; k++)
        if (k < 3 || c->t[2] != c->t[3])
            put(o, "%%m%u = OpTypeCooperativeMatrixKHR %%%s %%n%u %%n%u %%n%u %%n%u\n", k,
                c->t[k]->name, c->scope, k == 1 ? 6 : 4, k ? 5 : 6, MIN(k, 2u));
    put(o, "%%three = OpConstant %%%s 3\n%%constant = OpConstantComposite %%m2 %%three\n",
        c->t[2]->name);
    for (uint32_t k = 0; k < N_TYPES; k++)
        for (uint32_t b = 0; b < BUFFERS; b++)
            if (type_in(c, b) == &types[k]) {
                put(o, "%%p_%s = OpTypePointer StorageBuffer %%%s\n", types[k].name,
                    types[k].name);
                break;
            }
}

/* Which of the types of matrices is in a buffer. */
static uint32_t matrix_in(const Case *c, uint32_t buffer)
{
    uint32_t k = buffer < 4 ? buffer : buffer == 4 ? 2 : 3;
    return k == 3 && c->t[2] == c->t[3] ? 2 : k;
}

/* The number of the constant that is the buffer's stride. */
static uint32_t stride_of(const Case *c, uint32_t b)
{
    return col_in(c, b) ? (b == 1 ? 6 : 4) : b ? 5 : 6;
}

static void put_muladd(Text *o, const Case *c, uint32_t buffer, const char *start, const Type *from)
{
    const Type *to = type_in(c, buffer);
    put(o, "%%x%u = OpCooperativeMatrixMulAddKHR %%m%u %%x0 %%x1 %s", buffer, matrix_in(c, buffer),
        start);
    const struct { bool is; const char *name; } flags[] = {
        { c->t[0]->is_signed, "MatrixASignedComponentsKHR" },
        { c->t[1]->is_signed, "MatrixBSignedComponentsKHR" },
        { from->is_signed, "MatrixCSignedComponentsKHR" },
        { to->is_signed, "MatrixResultSignedComponentsKHR" },
        { c->saturates, "SaturatingAccumulationKHR" },
    };
    bool any = false;
    for (uint32_t k = 0; k < COUNT_OF(flags); k++)
        if (flags[k].is) {
            put(o, "%s%s", any ? "|" : " ", flags[k].name);
            any = true;
        }
    put(o, "\nOpCooperativeMatrixStoreKHR %%q%u %%x%u %%n%u %%n%u\n", buffer, buffer,
        col_in(c, buffer), stride_of(c, buffer));
}

static void put_module(Text *o, const Case *c)
{
    o->n = 0;
    put(o, "%sOpExecutionMode %%main LocalSize %u 1 1\n", header,
        c->scope == 2 ? 2 * c->subgroup : c->subgroup);
    for (uint32_t k = 0; k < BUFFERS; k++) {
        put(o, "OpDecorate %%a%u ArrayStride %u\nOpDecorate %%s%u Block\n", k,
            type_in(c, k)->bits / 8, k);
        put(o, "OpMemberDecorate %%s%u 0 Offset 0\nOpDecorate %%v%u DescriptorSet 0\n", k, k);
        put(o, "OpDecorate %%v%u Binding %u\n", k, k);
    }
    put_types(o, c);
    put(o, "%%main = OpFunction %%void None %%fn\n%%l = OpLabel\n");
    for (uint32_t k = 0; k < BUFFERS; k++) {
        const char *t = type_in(c, k)->name;
        put(o, "%%q%u = OpAccessChain %%p_%s %%v%u %%n0 %%n0\n", k, t, k);
        if (k < 3)
            put(o, "%%x%u = OpCooperativeMatrixLoadKHR %%m%u %%q%u %%n%u %%n%u\n", k, k, k,
                col_in(c, k), stride_of(c, k));
    }
    put_muladd(o, c, 3, "%x2", c->t[2]);
    if (has_second(c))
        put_muladd(o, c, 4, "%x3", c->t[3]);
    put_muladd(o, c, 5, "%constant", c->t[2]);
    put(o, "OpReturn\nOpFunctionEnd\n");
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef union Number { double f; uint64_t i; } Number;

/* Integers as the 64 bits that they are extended to. */
static Number get(const HeddleArray *a, const Type *t, uint64_t at)
{
    Number x = { .i = 0 };
    if (is_float(t)) {
        x.f = heddle_array_get(a, at);
        return x;
    }
    memcpy(&x.i, (const uint8_t *)a->data + at * (t->bits / 8), t->bits / 8);
    if (t->is_signed && t->bits < 64 && x.i >> (t->bits - 1))
        x.i |= ~UINT64_C(0) << t->bits;
    return x;
}

static uint64_t place(const Case *c, uint32_t buffer, uint32_t row, uint32_t col)
{
    return col_in(c, buffer) ? (uint64_t)col * rows_in(c, buffer) + row
                             : (uint64_t)row * cols_in(c, buffer) + col;
}

static __int128 highest(const Type *t)
{
    return ((__int128)1 << (t->bits - t->is_signed)) - 1;
}

static __int128 lowest(const Type *t) { return t->is_signed ? -highest(t) - 1 : 0; }

static uint64_t clamp(const Type *t, __int128 x)
{
    return (uint64_t)MAX(lowest(t), MIN(highest(t), x));
}

/* What random bits become as a factor, so that K products of two of them fit all results. */
static uint64_t small_factor(const Case *c, const Type *t, uint64_t bits)
{
    const Type *narrow = has_second(c) && c->t[2]->is_signed ? c->t[2] : c->t[3];
    __int128 most = (__int128)sqrt((double)highest(narrow) / c->K * 0.999);
    most = MIN(most, highest(t));
    bool negative = t->is_signed && c->t[3]->is_signed && (!has_second(c) || c->t[2]->is_signed);
    uint64_t magnitude = bits % (uint64_t)(most + 1);
    return negative && bits >> 63 ? -magnitude : magnitude;
}

static HeddleArray *array_in(const Case *c, uint32_t buffer, Rng *r)
{
    const Type *t = type_in(c, buffer);
    uint64_t n = (uint64_t)rows_in(c, buffer) * cols_in(c, buffer);
    HeddleArray *a = NULL;
    heddle_array_new(t->type, 1, &n, &a, NULL);
    for (uint64_t k = 0; a && k < n && is_float(t); k++)
        heddle_array_set(a, k, buffer < 2 ? floor(rng_uniform(r) * 5) / 2 - 1
                                          : floor((rng_uniform(r) * 8 - 4) / t->unit) * t->unit);
    for (uint64_t k = 0; a && k < n && !is_float(t); k++) {
        uint64_t x = rng_u64(r);
        if (buffer < 2 && c->saturates)
            x = small_factor(c, t, x);
        memcpy((uint8_t *)a->data + k * (t->bits / 8), &x, t->bits / 8);
    }
    return a;
}

static __int128 exact(const Type *t, Number x)
{
    return t->is_signed ? (__int128)(int64_t)x.i : (__int128)x.i;
}

/* The sum of products and one more, of type `from`, as the type in `buffer` has it. */
static Number sum(const Case *c, HeddleArray **a, uint32_t buffer, uint32_t row, uint32_t col,
                  const Type *from, Number start)
{
    const Type *t = type_in(c, buffer);
    __int128 all = exact(from, start);
    for (uint32_t k = 0; k < c->K; k++) {
        Number x = get(a[0], c->t[0], place(c, 0, row, k));
        Number y = get(a[1], c->t[1], place(c, 1, k, col));
        if (is_float(t))
            start.f += x.f * y.f;
        else
            start.i += x.i * y.i;
        if (c->saturates)
            all += exact(c->t[0], x) * exact(c->t[1], y);
    }
    if (c->saturates)
        start.i = clamp(t, all);
    uint64_t one = 1;
    HeddleArray *rounded = NULL;
    heddle_array_new(t->type, 1, &one, &rounded, NULL);
    if (is_float(t))
        heddle_array_set(rounded, 0, start.f);
    else
        memcpy(rounded->data, &start.i, t->bits / 8);
    Number r = get(rounded, t, 0);
    heddle_array_free(rounded);
    return r;
}

static bool right(const Case *c, HeddleArray **a, uint32_t buffer, uint32_t row, uint32_t col,
                  Number want)
{
    const Type *t = type_in(c, buffer);
    Number got = get(a[buffer], t, place(c, buffer, row, col));
    if (is_float(t) ? got.f == want.f : got.i == want.i)
        return true;
    printf("%s x %s + %s to %s%s, %ux%ux%u, subgroups of %u, buffer %u: (%u, %u) is ",
           c->t[0]->name, c->t[1]->name, c->t[2]->name, c->t[3]->name,
           c->saturates ? ", saturating" : "", c->M, c->N, c->K, c->subgroup, buffer, row, col);
    if (is_float(t))
        printf("%.17g, not %.17g\n", got.f, want.f);
    else
        printf("%llx, not %llx\n", (unsigned long long)got.i, (unsigned long long)want.i);
    return false;
}

static bool all_right(const Case *c, HeddleArray **a)
{
    Number three = { .i = 3 };
    if (is_float(c->t[3]))
        three.f = 3;
    for (uint32_t e = 0; e < c->M * c->N; e++) {
        uint32_t row = e / c->N, col = e % c->N;
        Number d = sum(c, a, 3, row, col, c->t[2], get(a[2], c->t[2], place(c, 2, row, col)));
        if (!right(c, a, 3, row, col, d)
            || (has_second(c)
                && !right(c, a, 4, row, col, sum(c, a, 4, row, col, c->t[3], d)))
            || !right(c, a, 5, row, col, sum(c, a, 5, row, col, c->t[2], three)))
            return false;
    }
    return true;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static bool dispatch(HeddleDevice *d, HeddleKernel *k, HeddleArray **a, HeddleLog *log)
{
    HeddleBinding bindings[BUFFERS] = { 0 };
    bool good = true;
    for (uint32_t b = 0; b < BUFFERS; b++) {
        bindings[b].binding = b;
        good &= !heddle_buffer_wrap(d, a[b]->data, a[b]->size, &bindings[b].buffer, log);
    }
    HeddleDispatch run = { .bindings = bindings, .n_bindings = BUFFERS };
    good = good && !heddle_dispatch(k, &run, NULL, log);
    for (uint32_t b = 0; b < BUFFERS; b++)
        heddle_buffer_free(bindings[b].buffer);
    return good;
}

static bool run(const Case *c, HeddleDevice **devices, uint32_t n, Rng *r, HeddleLog *log)
{
    static Text text;
    HeddleArray *a[BUFFERS] = { 0 };
    HeddleModule *module = NULL;
    HeddleKernelOptions o = { .subgroup_size = c->subgroup };
    put_module(&text, c);
    bool good = text.n < ROOM
        && !heddle_module_new(text.s, text.n, "mixed.spvasm", NULL, &module, log);
    for (uint32_t b = 0; b < BUFFERS; b++)
        a[b] = array_in(c, b, r);
    for (uint32_t k = 0; good && k < n; k++) {
        HeddleKernel *kernel = NULL;
        good = !heddle_kernel_new(devices[k], module, &o, &kernel, log)
            && dispatch(devices[k], kernel, a, log) && all_right(c, a);
        if (!good)
            printf("on device %u\n", k);
        heddle_kernel_free(kernel);
    }
    for (uint32_t b = 0; b < BUFFERS; b++)
        heddle_array_free(a[b]);
    heddle_module_free(module);
    return good;
}

static bool accepted(const Type *from, const Type *to)
{
    return is_float(from) == is_float(to) && (is_float(to) || from->bits <= to->bits);
}

/* All pairs of C and D; A runs through its types with each, B so that it meets all of them. */
static void all_pairs(bool floats, bool saturates, HeddleDevice **devices, uint32_t n,
                      HeddleLog *log)
{
    static const uint32_t shapes[][3] = {
        { 8, 8, 8 }, { 16, 16, 16 }, { 5, 7, 3 }, { 16, 8, 32 }, { 1, 17, 4 }, { 4, 32, 6 }
    };
    Rng r = { 3 };
    uint32_t first = floats ? 0 : N_FLOATS, last = floats ? N_FLOATS : N_TYPES, i = 0;
    for (uint32_t d = first; d < last; d++)
        for (uint32_t c = first; c < last; c++)
            for (uint32_t a = first; a < last; a++) {
                uint32_t b = first + (a + c + d) % (last - first), flags = i * 7;
                const uint32_t *s = shapes[i % COUNT_OF(shapes)];
                if (!accepted(&types[c], &types[d]) || !accepted(&types[a], &types[d])
                    || !accepted(&types[b], &types[d]) || i++ % HEDDLE_TEST_STEP)
                    continue;
                Case x = { { &types[a], &types[b], &types[c], &types[d] }, s[0], s[1], s[2],
                           i % 3 ? 32 : 8, i % 5 ? 3 : 2,
                           { flags & 1, flags & 2, flags & 4, flags & 8 }, saturates };
                CHECK(run(&x, devices, n, &r, log));
            }
}

static void both_devices(bool floats, bool saturates)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDevice *d[2] = { 0 };
    HeddleDeviceOptions reference = { .kind = HEDDLE_DEVICE_REFERENCE };
    if (!heddle_device_new(NULL, &d[0], log) && !heddle_device_new(&reference, &d[1], log))
        all_pairs(floats, saturates, d, 2, log);
    CHECK(!heddle_log_count(log));
    heddle_device_free(d[0]);
    heddle_device_free(d[1]);
    heddle_log_free(log);
}

TEST(floats) { both_devices(true, false); }
TEST(integers) { both_devices(false, false); }
TEST(saturating_integers) { both_devices(false, true); }
