/* SPDX-License-Identifier: MIT
 *
 * Scalars, vectors, buffers, control flow and functions on the reference device, against C.
 */
#include "kernel.h"

TEST(saxpy)
{
    Kernel k;
    float x[100], y[100];
    if (!kernel_glsl(&k, "layout(local_size_x = 32) in;\n"
                         "layout(set = 0, binding = 0) readonly buffer X { float x[]; };\n"
                         "layout(set = 0, binding = 1) buffer Y { float y[]; };\n"
                         "layout(push_constant) uniform P { float a; uint n; };\n"
                         "void main() {\n"
                         "  uint i = gl_GlobalInvocationID.x;\n"
                         "  if (i >= n) return;\n"
                         "  y[i] = a * x[i] + y[i];\n"
                         "}\n"))
        return;
    struct {
        float a;
        uint32_t n;
    } push = { 2, 100 };
    for (int i = 0; i < 100; i++)
        x[i] = (float)i, y[i] = 1;
    kernel_bind(&k, 0, x, sizeof(x));
    kernel_bind(&k, 1, y, sizeof(y));
    k.d.push = &push;
    k.d.push_size = sizeof(push);
    k.d.groups[0] = 4;
    k.d.check = REF_CHECK_ALL;
    KERNEL_RUN(&k);
    for (int i = 0; i < 100; i++)
        CHECK_EQ_U64((uint64_t)y[i], (uint64_t)(2 * i + 1));
    kernel_free(&k);
}

TEST(control_flow)
{
    Kernel k;
    uint32_t out[64];
    if (!kernel_glsl(&k,
                     "layout(local_size_x = 64) in;\n"
                     "layout(set = 0, binding = 0) buffer O { uint o[]; };\n"
                     "uint collatz(uint n, inout uint steps) {\n"
                     "  while (n != 1) {\n"
                     "    if ((n & 1) == 0) n >>= 1; else n = 3 * n + 1;\n"
                     "    if (++steps > 1000) return 0;\n"
                     "  }\n"
                     "  return n;\n"
                     "}\n"
                     "void main() {\n"
                     "  uint i = gl_LocalInvocationIndex, s = 0, a[5] = uint[5](1, 2, 3, 4, 5);\n"
                     "  collatz(i + 1, s);\n"
                     "  for (uint j = 0; j < 5; j++) {\n"
                     "    if (j == 2) continue;\n"
                     "    if (j > i) break;\n"
                     "    s += a[j] * 1000;\n"
                     "  }\n"
                     "  switch (i % 5) {\n"
                     "  case 0: s += 100000; break;\n"
                     "  case 1: s += 200000;\n"
                     "  case 2: s += 400000; break;\n"
                     "  default: s += 800000; break;\n"
                     "  }\n"
                     "  do { s += 1000000; } while (s < 3000000);\n"
                     "  o[i] = s;\n"
                     "}\n"))
        return;
    kernel_bind(&k, 0, out, sizeof(out));
    k.d.check = REF_CHECK_ALL;
    KERNEL_RUN(&k);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t n = i + 1, s = 0;
        while (n != 1)
            n = n & 1 ? 3 * n + 1 : n / 2, s++;
        for (uint32_t j = 0; j < 5 && j <= i; j++)
            s += j == 2 ? 0 : (j + 1) * 1000;
        s += i % 5 == 0 ? 100000 : i % 5 == 1 ? 600000 : i % 5 == 2 ? 400000 : 800000;
        do
            s += 1000000;
        while (s < 3000000);
        CHECK_EQ_U64(out[i], s);
    }
    kernel_free(&k);
}

TEST(layouts)
{
    Kernel k;
    float out[64] = { 0 };
    struct {
        float a;
        float pad[3];
        float rows[2][4];
        float v[3];
        float b;
    } in = { 1, { 0 }, { { 1, 2, 3, 0 }, { 4, 5, 6, 0 } }, { 7, 8, 9 }, 10 };
    if (!kernel_glsl(
            &k, "layout(local_size_x = 1) in;\n"
                "struct S { float a; mat3x2 m; vec3 v; float b; };\n"
                "layout(set = 0, binding = 0, std140) uniform I { layout(row_major) S s; };\n"
                "layout(set = 0, binding = 1, scalar) buffer O { mat3x2 m; vec3 v; float t[]; };\n"
                "void main() {\n"
                "  S x = s;\n"
                "  m = x.m;\n"
                "  v = x.m[2].y * x.v + s.m[1].xyx;\n"
                "  t[0] = x.b;\n"
                "  t[1] = float(t.length());\n"
                "  vec2 w = x.m * x.v;\n"
                "  t[2] = w.x; t[3] = w.y;\n"
                "  t[4] = determinant(mat2(s.m[0], s.m[1]));\n"
                "  uint j = uint(x.a);\n"
                "  m[j][j] = 50.0;\n"
                "  t[5] = s.m[j + 1][0];\n"
                "}\n"))
        return;
    kernel_bind(&k, 0, &in, sizeof(in));
    kernel_bind(&k, 1, out, sizeof(out));
    k.d.check = REF_CHECK_ALL;
    KERNEL_RUN(&k);
    static const float want[] = { 1,         4,  2,  50, 3,   6,  6 * 7 + 2, 6 * 8 + 5,
                                  6 * 9 + 2, 10, 55, 50, 122, -3, 3 };
    for (uint32_t i = 0; i < COUNT_OF(want); i++)
        CHECK_NEAR(out[i], want[i], 0);
    kernel_free(&k);
}

TEST(integers_and_floats)
{
    Kernel k;
    uint32_t out[32] = { 0 };
    if (!kernel_glsl(
            &k,
            "layout(local_size_x = 1) in;\n"
            "layout(constant_id = 3) const uint N = 5;\n"
            "layout(set = 0, binding = 0, scalar) buffer O { uint o[]; };\n"
            "void main() {\n"
            "  int a = -7; uint b = N;\n"
            "  o[0] = uint(a / 2); o[1] = uint(a % int(b)); o[2] = uint(a >> 1);\n"
            "  uint hi, lo; umulExtended(0xffffffffu, b, hi, lo); o[3] = hi; o[4] = lo;\n"
            "  o[5] = bitfieldInsert(0xffffu, b, 4, 8);\n"
            "  o[6] = uint(bitfieldExtract(0xf0, 4, 4)); o[7] = bitfieldReverse(b);\n"
            "  o[8] = uint(findMSB(b)); o[9] = uint(bitCount(0xff0f));\n"
            "  o[10] = floatBitsToUint(float(float16_t(3.14159 + float(b - 9))));\n"
            "  o[11] = uint(int64_t(-3) * 5l); o[12] = uint(uint8_t(300u)); o[13] = "
            "uint(int16_t(40000));\n"
            "  o[14] = packHalf2x16(vec2(1.0, -2.0)); o[15] = packUnorm4x8(vec4(0, 0.5, 1, 2));\n"
            "  uint c; o[16] = uaddCarry(0xffffffffu, b, c); o[17] = c;\n"
            "  o[18] = floatBitsToUint(fma(1.5, 2.0, 0.25)); o[19] = N * 3;\n"
            "  int e; o[20] = floatBitsToUint(frexp(12.0, e)); o[21] = uint(e);\n"
            "  o[22] = floatBitsToUint(mod(-1.0, 3.0)); o[23] = uint(double(b) * 1.5LF);\n"
            "}\n"))
        return;
    SpvSpecValue spec = { 3, 9 };
    k.d.spec = &spec;
    k.d.n_spec = 1;
    kernel_bind(&k, 0, out, sizeof(out));
    KERNEL_RUN(&k);
    static const uint32_t want[] = { (uint32_t)-3,
                                     2,
                                     (uint32_t)-4,
                                     8,
                                     0xfffffff7,
                                     0xf09f,
                                     0xffffffff,
                                     0x90000000,
                                     3,
                                     12,
                                     0x40490000,
                                     (uint32_t)-15,
                                     44,
                                     0xffff9c40,
                                     0xc0003c00,
                                     0xffff8000,
                                     8,
                                     1,
                                     0x40500000,
                                     27,
                                     0x3f400000,
                                     4,
                                     0x40000000,
                                     13 };
    for (uint32_t i = 0; i < COUNT_OF(want); i++)
        CHECK_EQ_U64(out[i], want[i]);
    kernel_free(&k);
}

TEST(addresses)
{
    Kernel k;
    uint32_t out[8] = { 0 }, far_away[4] = { 11, 22, 33, 44 };
    if (!kernel_glsl(&k, "layout(local_size_x = 1) in;\n"
                         "layout(buffer_reference, scalar) buffer R { uint x[]; };\n"
                         "layout(push_constant) uniform P { R r; };\n"
                         "layout(set = 0, binding = 0, scalar) buffer O { uint o[]; };\n"
                         "void main() {\n"
                         "  R q = R(uint64_t(r) + 4);\n"
                         "  o[0] = r.x[3]; o[1] = q.x[0]; q.x[1] = 7;\n"
                         "}\n"))
        return;
    uint64_t push = (uint64_t)(uintptr_t)far_away;
    RefMemory memory = { far_away, sizeof(far_away) };
    k.d.push = &push;
    k.d.push_size = 8;
    k.d.memory = &memory;
    k.d.n_memory = 1;
    k.d.check = REF_CHECK_ALL;
    kernel_bind(&k, 0, out, sizeof(out));
    KERNEL_RUN(&k);
    CHECK_EQ_U64(out[0], 44);
    CHECK_EQ_U64(out[1], 22);
    CHECK_EQ_U64(far_away[2], 7);
    kernel_free(&k);
}

TEST(arrays_of_buffers)
{
    Kernel k;
    uint32_t out[4] = { 0 }, a = 5, b = 6;
    if (!kernel_glsl(&k, "layout(local_size_x = 4) in;\n"
                         "layout(set = 0, binding = 0) buffer I { uint x; } in_[2];\n"
                         "layout(set = 0, binding = 1) buffer O { uint o[]; };\n"
                         "void main() { uint i = gl_LocalInvocationIndex;\n"
                         "  o[i] = in_[nonuniformEXT(i & 1)].x + i; }\n"))
        return;
    k.bindings[k.d.n_bindings++] = (RefBinding){ .base = &a, .size = 4 };
    k.bindings[k.d.n_bindings++] = (RefBinding){ .element = 1, .base = &b, .size = 4 };
    kernel_bind(&k, 1, out, sizeof(out));
    k.d.check = REF_CHECK_ALL;
    KERNEL_RUN(&k);
    for (uint32_t i = 0; i < 4; i++)
        CHECK_EQ_U64(out[i], (i & 1 ? 6 : 5) + i);
    kernel_free(&k);
}
