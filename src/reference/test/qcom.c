/* SPDX-License-Identifier: MIT
 *
 * The Qualcomm conversions by the letter, under every ownership of elements: what goes in comes
 * out, in the rows and columns that it must; and what --check says of each misuse.
 */
#include "kernel.h"

#define HEAD                                                                                       \
    "#extension GL_QCOM_cooperative_matrix_conversion : require\n"                                 \
    "layout(local_size_x = 32) in;\n"                                                              \
    "layout(set = 0, binding = 0, std430) buffer I { float i[]; };\n"                              \
    "layout(set = 0, binding = 1, std430) buffer O { float o[]; };\n"                              \
    "layout(push_constant) uniform P { int p; };\n"                                                \
    "#define L gl_SubgroupInvocationID\n"                                                          \
    "#define A(m, k) coopmat<float, gl_ScopeSubgroup, m, k, gl_MatrixUseA>\n"                      \
    "#define C(m, k) coopmat<float, gl_ScopeSubgroup, m, k, gl_MatrixUseAccumulator>\n"

static float in[1024], out[1024];

static bool run(Kernel *k, const char *body, int32_t push, RefOwnership ownership, uint32_t check)
{
    char source[4096];
    snprintf(source, sizeof(source), "%s%s", HEAD, body);
    if (!kernel_glsl(k, source))
        return false;
    for (uint32_t n = 0; n < COUNT_OF(in); n++)
        in[n] = (float)n;
    memset(out, 0xff, sizeof(out));
    kernel_bind(k, 0, in, sizeof(in));
    kernel_bind(k, 1, out, sizeof(out));
    k->d.push = &push;
    k->d.push_size = 4;
    k->d.ownership = ownership;
    k->d.check = check;
    kernel_run(k);
    return true;
}

TEST(rows_and_columns)
{
    for (uint32_t own = 0; own < REF_N_OWNERSHIPS; own++) {
        Kernel k;
        if (!run(&k,
                 "void main() {\n"
                 "  float v[8], c[16]; coopmat<float, gl_ScopeSubgroup, 8, 32, gl_MatrixUseB> b;\n"
                 "  C(16, 16) m; A(16, 8) a;\n"
                 "  for (int n = 0; n < 8; n++) v[n] = i[L * 8 + n];\n"
                 "  vectorToCoopmatQCOM(v, a); coopMatStore(a, o, 0, 8, 0);\n"
                 "  vectorToCoopmatQCOM(v, b); coopMatStore(b, o, 128, 32, 0);\n"
                 "  coopMatLoad(m, i, 0, 16, 0); coopmatToVectorQCOM(m, c);\n"
                 "  for (int n = 0; n < 16; n++) o[384 + L * 16 + n] = c[n];\n"
                 "}\n",
                 0, (RefOwnership)own, 0))
            return;
        for (uint32_t n = 0; n < 128; n++)
            CHECK_NEAR(out[n], n, 0);
        for (uint32_t r = 0; r < 8; r++)
            for (uint32_t c = 0; c < 32; c++)
                CHECK_NEAR(out[128 + r * 32 + c], c * 8 + r, 0);
        for (uint32_t n = 0; n < 512; n++)
            CHECK_NEAR(out[384 + n], n < 256 ? n : 0, 0);
        kernel_free(&k);
    }
}

TEST(packed_and_cast)
{
    Kernel k;
    if (!run(&k,
             "void main() {\n"
             "  uint v[8], w[8]; coopmat<int8_t, gl_ScopeSubgroup, 32, 32, gl_MatrixUseA> a;\n"
             "  int8_t b[32]; float16_t h[16];\n"
             "  for (int n = 0; n < 8; n++) v[n] = 0x01020304u * n + L;\n"
             "  vectorToCoopmatQCOM(v, a); coopmatToVectorQCOM(a, b); coopmatToVectorQCOM(a, w);\n"
             "  for (int n = 0; n < 8; n++) o[L * 16 + n] = w[n] == v[n] ? float(b[4 * n + 1]) : "
             "-1.0;\n"
             "  v[3] = 0x3c004000u; bitcastQCOM(v, h); o[L * 16 + 8] = float(h[6]) + 16 * "
             "float(h[7]);\n"
             "}\n",
             0, REF_OWN_ROW_MAJOR, 0))
        return;
    for (uint32_t l = 0; l < 32; l++) {
        for (uint32_t n = 0; n < 8; n++)
            CHECK_NEAR(out[l * 16 + n], (0x01020304u * n + l) >> 8 & 255, 0);
        CHECK_NEAR(out[l * 16 + 8], 18, 0);
    }
    kernel_free(&k);
}

/* The one kind found, and a part of its message; none where `part` is NULL. */
static void expect(int line, const char *body, int32_t push, RefFindingKind kind, const char *part)
{
    Kernel k;
    uint32_t kinds = 0;
    if (!run(&k, body, push, REF_OWN_ROW_MAJOR, REF_CHECK_ALL))
        return;
    for (uint32_t n = 0; n < k.result.n_findings; n++)
        kinds |= 1u << k.result.findings[n].kind;
    if (kinds != (part ? 1u << kind : 0) || (part && !strstr(k.text, part)))
        test_fail(__FILE__, line, "findings %#x:\n%s", kinds, k.text);
    kernel_free(&k);
}

TEST(start_index)
{
    static const char made[] =
        "void main() { float v[32], w[8]; A(32, 8) a;\n"
        "  for (int n = 0; n < 32; n++) v[n] = 1;\n"
        "  extractSubArrayQCOM(v, p, w); vectorToCoopmatQCOM(w, a); coopMatStore(a, o, 0, 8, 0); }";
    static const char kept[] = "void main() { float v[32], w[8]; for (int n = 0; n < 32; n++) v[n] "
                               "= 1;\n  extractSubArrayQCOM(v, p, w); o[L] = w[0]; }";
    expect(__LINE__, made, 24, REF_RANGE, NULL);
    expect(__LINE__, made, 3, REF_RANGE, "start index 3 is not a multiple of the part's length, 8");
    expect(__LINE__, kept, 3, REF_RANGE, "OpExtractSubArrayQCOM-12354");
    expect(__LINE__, kept, 26, REF_OUT_OF_BOUNDS, "past the end of an array of 32");
    expect(__LINE__, kept, -8, REF_OUT_OF_BOUNDS, "the start index -8 is negative");
}

TEST(lanes_past_the_matrix)
{
    expect(__LINE__,
           "void main() { float v[8]; A(16, 8) a; coopMatLoad(a, i, 0, 8, 0);\n"
           "  coopmatToVectorQCOM(a, v); if (L < 16) o[L] = v[3]; }",
           0, REF_UNDEFINED, NULL);
    expect(__LINE__,
           "void main() { float v[8]; A(16, 8) a; coopMatLoad(a, i, 0, 8, 0);\n"
           "  coopmatToVectorQCOM(a, v); o[L] = v[3] + 1; }",
           0, REF_UNDEFINED, "a lane past the matrix");
    expect(__LINE__,
           "void main() { float v[64]; C(16, 64) a = C(16, 64)(1.0);\n"
           "  coopmatToVectorQCOM(a, v); if (L < 16) o[L] = v[3]; }",
           0, REF_RANGE, "half or a quarter as many");
}

TEST(larger_than_the_subgroup)
{
    Kernel k;
    if (!run(&k,
             "void main() { float v[8]; A(64, 8) a = A(64, 8)(1.0); coopmatToVectorQCOM(a, v); "
             "o[L] = v[3]; }",
             0, REF_OWN_ROW_MAJOR, 0))
        return;
    CHECK(strstr(k.text, "takes 64 invocations, but subgroups have 32"));
    kernel_free(&k);
}
