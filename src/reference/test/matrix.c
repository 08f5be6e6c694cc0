/* SPDX-License-Identifier: MIT
 *
 * Cooperative matrices on the reference device, against plain loops.
 */
#include "kernel.h"

static const char gemm[] =
    "layout(local_size_x_id = 9) in;\n"
    "layout(set = 0, binding = 0, scalar) buffer A { TA a[]; };\n"
    "layout(set = 0, binding = 1, scalar) buffer B { TB b[]; };\n"
    "layout(set = 0, binding = 2, scalar) buffer C { TC c[]; };\n"
    "const uint M = 16, N = 8, K = 24;\n"
    "void main() {\n"
    "  coopmat<TC, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> acc;\n"
    "  coopMatLoad(acc, c, 0, N, gl_CooperativeMatrixLayoutRowMajor);\n"
    "  for (uint k = 0; k < 2; k++) {\n"
    "    coopmat<TA, gl_ScopeSubgroup, M, K, gl_MatrixUseA> x;\n"
    "    coopmat<TB, gl_ScopeSubgroup, K, N, gl_MatrixUseB> y;\n"
    "    coopMatLoad(x, a, k * K, 2 * K, gl_CooperativeMatrixLayoutRowMajor);\n"
    "    coopMatLoad(y, b, k * K, 2 * K, gl_CooperativeMatrixLayoutColumnMajor);\n"
    "    acc = coopMatMulAdd(x, y, acc OPERANDS);\n"
    "  }\n"
    "  for (uint e = 0; e < acc.length(); e++) acc[e] = acc[e] + TC(1);\n"
    "  acc = acc * TC(2);\n"
    "  coopMatStore(acc, c, 0, N, gl_CooperativeMatrixLayoutRowMajor);\n"
    "}\n";

static bool make_gemm(Kernel *k, const char *ta, const char *tb, const char *tc,
                      const char *operands)
{
    char text[4096];
    snprintf(text, sizeof(text),
             "#define TA %s\n#define TB %s\n#define TC %s\n#define OPERANDS %s\n%s", ta, tb, tc,
             operands, gemm);
    return kernel_glsl(k, text);
}

TEST(gemm_f32)
{
    for (uint32_t width = 1; width <= 128; width = width == 1 ? 8 : width * 2) {
        Kernel k;
        float a[16 * 48], b[8 * 48], c[16 * 8], want[16 * 8];
        if (!make_gemm(&k, "float", "float", "float", ""))
            return;
        for (int i = 0; i < 16 * 48; i++)
            a[i] = (float)(i % 7 - 3);
        for (int i = 0; i < 8 * 48; i++)
            b[i] = (float)(i % 5 - 2);
        for (int i = 0; i < 16 * 8; i++)
            c[i] = (float)i;
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++) {
                float s = c[i * 8 + j];
                for (int x = 0; x < 48; x++)
                    s += a[i * 48 + x] * b[j * 48 + x];
                want[i * 8 + j] = (s + 1) * 2;
            }
        SpvSpecValue spec = { 9, width == 1 ? 20 : width };
        k.d.spec = &spec;
        k.d.n_spec = 1;
        k.d.subgroup_size = width == 1 ? 32 : width;
        k.d.check = REF_CHECK_ALL;
        k.d.ownership = (RefOwnership)(width / 8 % REF_N_OWNERSHIPS);
        kernel_bind(&k, 0, a, sizeof(a));
        kernel_bind(&k, 1, b, sizeof(b));
        kernel_bind(&k, 2, c, sizeof(c));
        KERNEL_RUN(&k);
        for (int i = 0; i < 16 * 8; i++)
            CHECK_NEAR(c[i], want[i], 0);
        kernel_free(&k);
    }
}

TEST(gemm_f16_to_f32)
{
    Kernel k;
    uint16_t a[16 * 48], b[8 * 48];
    float c[16 * 8] = { 0 };
    if (!make_gemm(&k, "float16_t", "float16_t", "float", ""))
        return;
    for (int i = 0; i < 16 * 48; i++)
        a[i] = f16_from_double(i % 11 / 4.0);
    for (int i = 0; i < 8 * 48; i++)
        b[i] = f16_from_double(i % 13 / 8.0 - 1);
    SpvSpecValue spec = { 9, 32 };
    k.d.spec = &spec;
    k.d.n_spec = 1;
    kernel_bind(&k, 0, a, sizeof(a));
    kernel_bind(&k, 1, b, sizeof(b));
    kernel_bind(&k, 2, c, sizeof(c));
    KERNEL_RUN(&k);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            double s = 0;
            for (int x = 0; x < 48; x++)
                s += f16_to_double(a[i * 48 + x]) * f16_to_double(b[j * 48 + x]);
            CHECK_NEAR(c[i * 8 + j], (s + 1) * 2, 1e-4);
        }
    kernel_free(&k);
}

TEST(gemm_s8_saturating)
{
    Kernel k;
    int8_t a[16 * 48], b[8 * 48];
    int32_t c[16 * 8];
    if (!make_gemm(&k, "int8_t", "int8_t", "int", ", gl_MatrixOperandsSaturatingAccumulation"))
        return;
    memset(a, -100, sizeof(a));
    memset(b, -100, sizeof(b));
    for (int i = 0; i < 16 * 8; i++)
        c[i] = i < 64 ? 0x7ffffff0 : -5;
    SpvSpecValue spec = { 9, 32 };
    k.d.spec = &spec;
    k.d.n_spec = 1;
    kernel_bind(&k, 0, a, sizeof(a));
    kernel_bind(&k, 1, b, sizeof(b));
    kernel_bind(&k, 2, c, sizeof(c));
    KERNEL_RUN(&k);
    for (int i = 0; i < 16 * 8; i++) {
        int32_t s = i < 64 ? 0x7fffffff : 480000 - 5;
        CHECK_EQ_U64((uint32_t)c[i], ((uint32_t)s + 1) * 2);
    }
    kernel_free(&k);
}

TEST(vector_pointees_and_shared)
{
    Kernel k;
    float in[16 * 16], out[16 * 16] = { 0 };
    if (!kernel_glsl(&k,
                     "layout(local_size_x = 64) in;\n"
                     "layout(set = 0, binding = 0, std430) buffer I { vec4 i[]; };\n"
                     "layout(set = 0, binding = 1, std430) buffer O { vec2 o[]; };\n"
                     "shared float s[16 * 16];\n"
                     "void main() {\n"
                     "  coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m, n;\n"
                     "  if (gl_SubgroupID == 0) {\n"
                     "    coopMatLoad(m, i, 0, 4, gl_CooperativeMatrixLayoutRowMajor);\n"
                     "    coopMatStore(m, s, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);\n"
                     "  }\n"
                     "  barrier();\n"
                     "  if (gl_SubgroupID == 1) {\n"
                     "    coopMatLoad(n, s, 0, 16, gl_CooperativeMatrixLayoutRowMajor);\n"
                     "    coopMatStore(n, o, 0, 8, gl_CooperativeMatrixLayoutRowMajor);\n"
                     "  }\n"
                     "}\n"))
        return;
    for (int i = 0; i < 256; i++)
        in[i] = (float)i;
    kernel_bind(&k, 0, in, sizeof(in));
    kernel_bind(&k, 1, out, sizeof(out));
    k.d.check = REF_CHECK_ALL;
    KERNEL_RUN(&k);
    for (int i = 0; i < 256; i++)
        CHECK_NEAR(out[i], in[i % 16 * 16 + i / 16], 0);
    kernel_free(&k);
}

TEST(matrices_in_variables_and_functions)
{
    Kernel k;
    float out[64] = { 0 };
    if (!kernel_glsl(&k,
                     "layout(local_size_x = 32) in;\n"
                     "layout(set = 0, binding = 0, std430) buffer O { float o[]; };\n"
                     "#define MAT coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator>\n"
                     "MAT twice(MAT m, inout MAT old) { old = m; return m + m; }\n"
                     "void main() {\n"
                     "  MAT a[3], b;\n"
                     "  for (int i = 0; i < 3; i++) a[i] = MAT(float(i + 1));\n"
                     "  MAT c = twice(a[1], b);\n"
                     "  c = c * a[2] - b;\n"
                     "  c = -c / a[1];\n"
                     "  coopMatStore(c, o, 0, 8, gl_CooperativeMatrixLayoutRowMajor);\n"
                     "}\n"))
        return;
    kernel_bind(&k, 0, out, sizeof(out));
    k.d.check = REF_CHECK_ALL;
    KERNEL_RUN(&k);
    for (int i = 0; i < 64; i++)
        CHECK_NEAR(out[i], -5, 0);
    kernel_free(&k);
}

TEST(every_element_is_owned_once)
{
    static const uint32_t shapes[][3] = { { 16, 16, 32 },
                                          { 8, 8, 8 },
                                          { 7, 5, 32 },
                                          { 1, 200, 16 },
                                          { 64, 3, 128 } };
    for (uint32_t s = 0; s < COUNT_OF(shapes); s++)
        for (uint32_t map = 0; map < REF_N_OWNERSHIPS; map++) {
            uint32_t rows = shapes[s][0], cols = shapes[s][1], w = shapes[s][2], seen[4096] = { 0 };
            RefShape shape = { (RefOwnership)map, rows, cols, 1, w };
            for (uint32_t l = 0; l < w; l++)
                for (uint32_t e = 0; e < (rows * cols + w - 1) / w; e++) {
                    uint32_t x = ref_owned_element(&shape, l, e);
                    if (x != UINT32_MAX && x < 4096)
                        seen[x]++;
                }
            for (uint32_t x = 0; x < rows * cols; x++)
                CHECK_EQ_U64(seen[x], 1);
        }
}
