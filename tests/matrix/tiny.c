/* SPDX-License-Identifier: MIT
 *
 * Sums of 8-bit floats (OFP8) on both devices, against double rounded here: all pairs of numbers by
 * reductions and by an addition of matrices (which GLSL has not), and sums of products with all
 * numbers as multiply-adds give them.
 */
#include "base/test.h"

#include <heddle/heddle.h>
#include <stdlib.h>

enum { CODES = 256, PAIRS = CODES * CODES, GROUPS = CODES, DEPTH = 8 };

typedef struct Format {
    HeddleType type;
    const char *glsl, *spirv;
    int mantissa, bias;
    uint8_t most, over;         /* the largest number's code; what numbers beyond it become */
} Format;

static const Format formats[] = {
    { HEDDLE_E4M3, "floate4m3_t", "Float8E4M3EXT", 3, 7, 0x7e, 0x7f },
    { HEDDLE_E5M2, "floate5m2_t", "Float8E5M2EXT", 2, 15, 0x7b, 0x7c },
};

/* ---- the numbers ----------------------------------------------------------------------------- */

static bool is_nan(const Format *f, uint8_t code)
{
    return (code & 0x7f) > (f->type == HEDDLE_E4M3 ? 0x7e : 0x7c);
}

static double number(const Format *f, uint8_t code)
{
    int exponent = (code & 0x7f) >> f->mantissa, part = code & ((1 << f->mantissa) - 1);
    double x = exponent ? ldexp((1 << f->mantissa) + part, exponent - f->bias - f->mantissa)
                        : ldexp(part, 1 - f->bias - f->mantissa);
    if (is_nan(f, code))
        x = NAN;
    else if ((code & 0x7f) > f->most)
        x = INFINITY;
    return code & 0x80 ? -x : x;
}

/* The nearest number's code, the even one of two; without saturation. */
static uint8_t nearest(const Format *f, double x)
{
    uint8_t sign = signbit(x) ? 0x80 : 0, low = 0;
    double size = fabs(x), next;
    if (isnan(x))
        return 0x7f;
    while (low < f->most && number(f, low + 1) <= size)
        low++;
    next = low < f->most ? number(f, low + 1) : 2 * number(f, low) - number(f, low - 1);
    double middle = (number(f, low) + next) / 2;
    bool up = size > middle || (size == middle && low % 2);
    return sign | (up ? low == f->most ? f->over : low + 1 : low);
}

static bool same(const Format *f, const char *what, uint8_t got, double want, double x, double y)
{
    uint8_t code = nearest(f, want);
    if (is_nan(f, code) ? is_nan(f, got) : got == code)
        return true;
    printf("%s, %s of %g and %g is %02x (%g), not %02x (%g)\n", f->glsl, what, x, y, got,
           number(f, got), code, number(f, code));
    return false;
}

/* ---- running --------------------------------------------------------------------------------- */

static bool run(HeddleDeviceKind kind, HeddleModule *m, uint8_t *const *data, const uint32_t *sizes,
                uint32_t n, HeddleLog *log)
{
    HeddleBinding bindings[8] = { 0 };
    HeddleDevice *d = NULL;
    HeddleKernel *k = NULL;
    bool good = m && !heddle_device_new(&(HeddleDeviceOptions){ .kind = kind }, &d, log)
        && !heddle_kernel_new(d, m, NULL, &k, log);
    for (uint32_t b = 0; good && b < n; b++) {
        bindings[b].binding = b;
        good = !heddle_buffer_wrap(d, data[b], sizes[b], &bindings[b].buffer, log);
    }
    HeddleDispatch run = { .groups = { GROUPS }, .bindings = bindings, .n_bindings = n };
    good = good && !heddle_dispatch(k, &run, NULL, log);
    for (uint32_t b = 0; b < n; b++)
        heddle_buffer_free(bindings[b].buffer);
    heddle_kernel_free(k);
    heddle_device_free(d);
    return good;
}

static uint8_t *bytes(uint32_t n) { return aligned_alloc(64, align_up(n, 64)); }

/* Pair (x, y) of codes is number x * CODES + y. */
static uint8_t *all_pairs(void)
{
    uint8_t *p = bytes(2 * PAIRS);
    for (uint32_t k = 0; k < PAIRS; k++) {
        p[2 * k] = (uint8_t)(k / CODES);
        p[2 * k + 1] = (uint8_t)k;
    }
    return p;
}

/* A (16 x 8) and B (8 x 16) of halves from -4 to 4, whose sums of products are exact. */
static uint8_t *factors(const Format *f)
{
    uint8_t *p = bytes(2 * 16 * DEPTH);
    Rng r = { 5 };
    for (uint32_t k = 0; k < 2 * 16 * DEPTH; k++)
        p[k] = nearest(f, floor(rng_uniform(&r) * 17) / 2 - 4);
    return p;
}

static void reductions_and_products(HeddleDeviceKind kind, const Format *f)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleDefine define = { "T", f->glsl };
    HeddleModuleOptions o = { .defines = &define, .n_defines = 1 };
    HeddleModule *m = NULL;
    uint8_t *data[] = { all_pairs(), factors(f), bytes(PAIRS), bytes(PAIRS), bytes(PAIRS) };
    uint32_t sizes[] = { 2 * PAIRS, 2 * 16 * DEPTH, PAIRS, PAIRS, PAIRS };
    heddle_module_from_file(HEDDLE_SOURCE_DIR "/tests/matrix/tiny.comp", &o, &m, log);
    bool good = run(kind, m, data, sizes, COUNT_OF(data), log);
    for (uint32_t k = 0; good && k < PAIRS; k++) {
        double x = number(f, (uint8_t)(k / CODES)), y = number(f, (uint8_t)k);
        uint32_t row = k % 256 / 16, col = k % 16;
        double c = number(f, data[0][k / 256 * 512 + k % 256]), sum = c;
        for (uint32_t j = 0; j < DEPTH; j++)
            sum += number(f, data[1][row * DEPTH + j]) * number(f, data[1][128 + j * 16 + col]);
        good = same(f, "sum in a row", data[2][k], x + y, x, y)
            && same(f, "sum in a column", data[3][k], x + y, x, y)
            && same(f, "sum of products and", data[4][k], sum, sum - c, c);
    }
    CHECK(good);
    for (uint32_t k = 0; k < COUNT_OF(data); k++)
        free(data[k]);
    heddle_module_free(m);
    heddle_log_free(log);
}

static const char addition[] =
    "OpCapability Shader\nOpCapability Int8\nOpCapability StorageBuffer8BitAccess\n"
    "OpCapability VulkanMemoryModel\nOpCapability CooperativeMatrixKHR\nOpCapability Float8EXT\n"
    "OpCapability Float8CooperativeMatrixEXT\nOpExtension \"SPV_KHR_cooperative_matrix\"\n"
    "OpExtension \"SPV_EXT_float8\"\nOpMemoryModel Logical Vulkan\n"
    "OpEntryPoint GLCompute %main \"main\" %v0 %v1 %id\nOpExecutionMode %main LocalSize 32 1 1\n"
    "OpDecorate %id BuiltIn WorkgroupId\nOpDecorate %a ArrayStride 1\nOpDecorate %s Block\n"
    "OpMemberDecorate %s 0 Offset 0\nOpDecorate %v0 DescriptorSet 0\nOpDecorate %v0 Binding 0\n"
    "OpDecorate %v1 DescriptorSet 0\nOpDecorate %v1 Binding 1\n%void = OpTypeVoid\n"
    "%fn = OpTypeFunction %void\n%uint = OpTypeInt 32 0\n%u3 = OpTypeVector %uint 3\n"
    "%pin = OpTypePointer Input %u3\n%id = OpVariable %pin Input\n%n0 = OpConstant %uint 0\n"
    "%n1 = OpConstant %uint 1\n%n2 = OpConstant %uint 2\n%n3 = OpConstant %uint 3\n"
    "%n16 = OpConstant %uint 16\n%n32 = OpConstant %uint 32\n%n256 = OpConstant %uint 256\n"
    "%n512 = OpConstant %uint 512\n%t = OpTypeFloat 8 FORMAT\n%a = OpTypeRuntimeArray %t\n"
    "%s = OpTypeStruct %a\n%ps = OpTypePointer StorageBuffer %s\n"
    "%p = OpTypePointer StorageBuffer %t\n%v0 = OpVariable %ps StorageBuffer\n"
    "%v1 = OpVariable %ps StorageBuffer\n"
    "%m = OpTypeCooperativeMatrixKHR %t %n3 %n256 %n1 %n2\n%main = OpFunction %void None %fn\n"
    "%l = OpLabel\n%g = OpLoad %u3 %id\n%k = OpCompositeExtract %uint %g 0\n"
    "%at = OpIMul %uint %k %n512\n%at1 = OpIAdd %uint %at %n1\n%to = OpIMul %uint %k %n256\n"
    "%q0 = OpAccessChain %p %v0 %n0 %at\n%q1 = OpAccessChain %p %v0 %n0 %at1\n"
    "%q2 = OpAccessChain %p %v1 %n0 %to\n%x = OpCooperativeMatrixLoadKHR %m %q0 %n0 %n2\n"
    "%y = OpCooperativeMatrixLoadKHR %m %q1 %n0 %n2\n%z = OpFAdd %m %x %y\n"
    "OpCooperativeMatrixStoreKHR %q2 %z %n0 %n1\nOpReturn\nOpFunctionEnd\n";

static void additions(HeddleDeviceKind kind, const Format *f)
{
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    HeddleModule *m = NULL;
    char text[sizeof addition + 16];
    const char *place = strstr(addition, "FORMAT");
    uint8_t *data[] = { all_pairs(), bytes(PAIRS) };
    uint32_t sizes[] = { 2 * PAIRS, PAIRS };
    snprintf(text, sizeof text, "%.*s%s%s", (int)(place - addition), addition, f->spirv,
             place + strlen("FORMAT"));
    heddle_module_new(text, strlen(text), "tiny.spvasm", NULL, &m, log);
    bool good = run(kind, m, data, sizes, COUNT_OF(data), log);
    for (uint32_t k = 0; good && k < PAIRS; k++) {
        double x = number(f, (uint8_t)(k / CODES)), y = number(f, (uint8_t)k);
        good = same(f, "sum", data[1][k], x + y, x, y);
    }
    CHECK(good);
    free(data[0]);
    free(data[1]);
    heddle_module_free(m);
    heddle_log_free(log);
}

static void all(HeddleDeviceKind kind)
{
    for (uint32_t k = 0; k < COUNT_OF(formats); k++) {
        reductions_and_products(kind, &formats[k]);
        additions(kind, &formats[k]);
    }
}

TEST(tiny_floats_cpu) { all(HEDDLE_DEVICE_CPU); }
TEST(tiny_floats_reference) { all(HEDDLE_DEVICE_REFERENCE); }
