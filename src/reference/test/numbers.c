/* SPDX-License-Identifier: MIT
 *
 * GLSL.std.450, conversions and the small float formats on the reference device, against C.
 */
#include "kernel.h"

typedef struct Function {
    const char *glsl;
    double (*c)(double);
    double lo, hi;
} Function;

static double fract(double x) { return x - floor(x); }
static double inverse_root(double x) { return 1 / sqrt(x); }
static double sign(double x) { return (x > 0) - (x < 0); }

TEST(functions_of_one)
{
    static const Function list[] = {
        { "sin", sin, -10, 10 },   { "cos", cos, -10, 10 },
        { "tan", tan, -1.5, 1.5 }, { "asin", asin, -1, 1 },
        { "acos", acos, -1, 1 },   { "atan", atan, -50, 50 },
        { "sinh", sinh, -5, 5 },   { "cosh", cosh, -5, 5 },
        { "tanh", tanh, -5, 5 },   { "asinh", asinh, -50, 50 },
        { "acosh", acosh, 1, 50 }, { "atanh", atanh, -0.99, 0.99 },
        { "exp", exp, -20, 20 },   { "log", log, 0.001, 100 },
        { "exp2", exp2, -20, 20 }, { "log2", log2, 0.001, 100 },
        { "sqrt", sqrt, 0, 100 },  { "inversesqrt", inverse_root, 0.01, 100 },
        { "floor", floor, -9, 9 }, { "ceil", ceil, -9, 9 },
        { "trunc", trunc, -9, 9 }, { "roundEven", rint, -9, 9 },
        { "fract", fract, -9, 9 }, { "abs", fabs, -9, 9 },
        { "sign", sign, -2, 2 },
    };
    enum { N = COUNT_OF(list) };
    Kernel k;
    char body[8192] =
        "layout(local_size_x = 64) in;\nlayout(set = 0, binding = 0) buffer X { float x[]; };\n"
        "layout(set = 0, binding = 1) buffer Y { float y[]; };\nvoid main() {\n"
        "  uint i = gl_LocalInvocationIndex;\n";
    for (int f = 0; f < N; f++)
        sprintf(body + strlen(body), "  y[%d + i] = %s(x[%d + i]);\n", f * 64, list[f].glsl,
                f * 64);
    strcat(body, "}\n");
    if (!kernel_glsl(&k, body))
        return;
    static float x[N * 64], y[N * 64];
    for (int f = 0; f < N; f++)
        for (int i = 0; i < 64; i++)
            x[f * 64 + i] = (float)(list[f].lo + (list[f].hi - list[f].lo) * i / 63);
    kernel_bind(&k, 0, x, sizeof(x));
    kernel_bind(&k, 1, y, sizeof(y));
    KERNEL_RUN(&k);
    for (int f = 0; f < N; f++)
        for (int i = 0; i < 64; i++) {
            double want = list[f].c(x[f * 64 + i]);
            CHECK_NEAR(y[f * 64 + i], want, fabs(want) * 1e-7 + 1e-30);
        }
    kernel_free(&k);
}

TEST(functions_of_more)
{
    Kernel k;
    float y[40] = { 0 };
    if (!kernel_glsl(
            &k, "layout(local_size_x = 1) in;\nlayout(set = 0, binding = 0, scalar) buffer Y { "
                "float y[]; };\n"
                "void main() {\n"
                "  float a = y[30] + 2, b = a + 1;\n"
                "  vec3 u = vec3(a, b, 4), v = vec3(1, 0, -1);\n"
                "  y[0] = pow(a, b); y[1] = atan(a, b); y[2] = min(a, b); y[3] = max(a, b);\n"
                "  y[4] = clamp(5.0 * a, a, b); y[5] = mix(a, b, 0.25); y[6] = step(a, b);\n"
                "  y[7] = smoothstep(0.0, 4.0, a); y[8] = length(u); y[9] = distance(u, v);\n"
                "  vec3 c = cross(u, v); y[10] = c.x; y[11] = c.y; y[12] = c.z;\n"
                "  vec3 n = normalize(u); y[13] = n.z; y[14] = reflect(u, v).x;\n"
                "  y[15] = refract(vec3(0, -1, 0), vec3(0, 1, 0), 0.5).y; y[16] = faceforward(u, "
                "v, u).y;\n"
                "  mat3 m = mat3(a, 0, 1, 0, b, 0, 1, 0, a); y[17] = determinant(m);\n"
                "  y[18] = inverse(m)[0][0]; y[19] = ldexp(a, 3); float w; y[20] = modf(a * 1.75, "
                "w); y[21] = w;\n"
                "  y[22] = unpackHalf2x16(0x4000bc00u).y; y[23] = unpackSnorm4x8(0x7f818000u).z;\n"
                "  y[24] = radians(180.0 * a); y[25] = dot(u, v); y[26] = float(isnan(a / 0.0 - a "
                "/ 0.0));\n"
                "}\n"))
        return;
    kernel_bind(&k, 0, y, sizeof(y));
    KERNEL_RUN(&k);
    static const double want[] = {
        8, 0.5880026035, 2,           3,  3,  2.25, 1, 0.5,          5.385164807, 5.916079783, -3,
        6, -3,           0.742781353, 6,  -1, 3,    9, 0.6666666667, 16,          0.5,         3,
        2, -1,           6.283185307, -2, 1
    };
    for (uint32_t i = 0; i < COUNT_OF(want); i++)
        if (!(fabs(y[i] - want[i]) <= 1e-6 * fabs(want[i])))
            test_fail(__FILE__, __LINE__, "y[%u] is %.9g, not %.9g", i, y[i], want[i]);
    kernel_free(&k);
}

TEST(small_formats)
{
    Kernel k;
    float y[16] = { 0 };
    uint16_t h[16] = { 0 };
    if (!kernel_glsl(
            &k, "layout(local_size_x = 1) in;\nlayout(set = 0, binding = 0, scalar) buffer Y { "
                "float y[]; };\n"
                "layout(set = 0, binding = 1, scalar) buffer H { float16_t h[]; };\n"
                "void main() {\n"
                "  float a = y[15] + 1.0;\n"
                "  bfloat16_t b = bfloat16_t(a + 1.0 / 128.0 + 1.0 / 512.0); y[0] = float(b);\n"
                "  float16_t x = float16_t(a) / float16_t(3.0); h[0] = x; h[1] = x * x; h[2] = "
                "sqrt(x);\n"
                "  h[3] = float16_t(70000.0 * a); h[4] = x + float16_t(1000.0);\n"
                "  double d = double(a) / 3.0LF; y[1] = float(d * 3.0LF - 1.0LF);\n"
                "  y[2] = float(int16_t(-5) * int16_t(a)); y[3] = float(uint8_t(200.0 * a));\n"
                "}\n"))
        return;
    kernel_bind(&k, 0, y, sizeof(y));
    kernel_bind(&k, 1, h, sizeof(h));
    KERNEL_RUN(&k);
    double third = f16_to_double(f16_from_double(1.0 / 3));
    CHECK_NEAR(y[0], 1 + 1.0 / 128, 0);
    CHECK_EQ_U64(h[0], f16_from_double(third));
    CHECK_EQ_U64(h[1], f16_from_double(third * third));
    CHECK_EQ_U64(h[2], f16_from_double(sqrt(third)));
    CHECK_EQ_U64(h[3], 0x7c00);
    CHECK_EQ_U64(h[4], f16_from_double(third + 1000));
    CHECK_NEAR(y[1], 0, 1e-15);
    CHECK_NEAR(y[2], -5, 0);
    CHECK_NEAR(y[3], 200, 0);
    kernel_free(&k);
}
