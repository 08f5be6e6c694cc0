/* SPDX-License-Identifier: MIT
 *
 * Memory of the code generator: layouts, vectors, pointers, workgroup memory, arrays of buffers,
 * robust access. Each kernel computes b from a; the expected b is computed here in C.
 */
#include "run.h"

enum { N = 256 };

typedef struct Case {
    const char *head, *body;    /* the buffers' declarations (with functions); main's statements */
    uint32_t local_x, local_y, sizes; /* sizes: bits of subgroup sizes 8, 16, ... to leave out */
    uint64_t a_bytes;           /* of buffer a to bind; 0 = all */
    const void *push;
} Case;

/* Runs with every subgroup size; `expected` has N words. */
static void check_case(const Case *c, const uint32_t *a, uint32_t a_words, const uint32_t *expected,
                       uint32_t modes)
{
    if (!have_glslang())
        return;
    Arena arena = { 0 };
    Messages messages = { "" };
    DiagSink sink = { .report = keep_message, .user = &messages };
    uint32_t lx = c->local_x ? c->local_x : 64, ly = c->local_y ? c->local_y : 1;
    SpvModule *m = glsl_module(&arena, arena_printf(&arena,
        "#version 460\n#extension GL_EXT_nonuniform_qualifier : require\n"
        "#extension GL_EXT_scalar_block_layout : require\n"
        "#extension GL_EXT_buffer_reference2 : require\n"
        "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
        "layout(local_size_x = %u, local_size_y = %u) in;\n%s\n"
        "void main() {\nuint i = gl_WorkGroupID.x * %u + gl_LocalInvocationIndex;\n%s\n}\n",
        lx, ly, c->head, lx * ly, c->body), &sink);
    CHECK(m != NULL);
    uint32_t *copy = arena_alloc(&arena, a_words * 4 + 64), b[N];
    for (uint32_t w = 8; m && w <= 128; w *= 2)
        for (uint32_t mode = 0; mode < 4; mode++) {
            if (!(modes >> mode & 1) || (mode >= 2 && w != 32))
                continue;
            memcpy(copy, a, a_words * 4);
            memset(b, 0, sizeof b);
            Run r = { .subgroup_size = w, .groups = { N / (lx * ly), 1, 1 }, .robust = mode & 1,
                      .plain = mode & 2, .push = c->push,
                      .buffers = { { copy, c->a_bytes ? c->a_bytes : a_words * 4 },
                                   { b, sizeof b } } };
            if (!run_module(m, &r))
                break;
            for (uint32_t i = 0; i < N; i++)
                if (b[i] != expected[i]) {
                    test_fail(__FILE__, __LINE__, "W=%u mode=%u: b[%u] = %#x, should be %#x", w,
                              mode, i,
                              b[i], expected[i]);
                    break;
                }
        }
    arena_free(&arena);
}

#define B_WORDS "layout(std430, binding = 1) buffer B { uint b[]; };\n"
#define A_WORDS "layout(std430, binding = 0) buffer A { uint a[]; };\n"

static void fill(uint32_t *a, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        a[k] = k * 2654435761u >> 5;
}

TEST(vectors_of_lanes)
{
    static uint32_t a[4 * N], expected[N];
    fill(a, 4 * N);
    for (uint32_t i = 0; i < N; i++)
        expected[i] = a[4 * i] + 3 * a[4 * i + 1] + 5 * a[4 * i + 2] + 7 * a[4 * i + 3];
    Case c = { .head = "layout(std430, binding = 0) buffer A { uvec4 a[]; };\n" B_WORDS,
               .body = "b[i] = a[i].x + 3 * a[i].y + 5 * a[i].z + 7 * a[i].w;" };
    check_case(&c, a, 4 * N, expected, 15);
    c.body = "uvec4 v = a[i]; b[i] = v.x + 3 * v.y + 5 * v.z + 7 * v.w;";
    check_case(&c, a, 4 * N, expected, 15);
}

TEST(vectors_of_three)
{
    static uint32_t a[4 * N], expected[N];
    fill(a, 4 * N);
    for (uint32_t i = 0; i < N; i++)
        expected[i] = i % 3 ? a[3 * i] + 3 * a[3 * i + 1] + 5 * a[3 * i + 2] : 1;
    Case c = { .head = "layout(scalar, binding = 0) buffer A { uvec3 a[]; };\n" B_WORDS,
               .body = "uint r = 1; if (i % 3 != 0) { uvec3 v = a[i]; r = v.x + 3 * v.y + 5 * "
                   "v.z; } b[i] = r;" };
    check_case(&c, a, 4 * N, expected, 15);
    for (uint32_t i = 0; i < N; i++)
        expected[i] = a[4 * i] + 3 * a[4 * i + 1] + 5 * a[4 * i + 2];
    c.head = "layout(std430, binding = 0) buffer A { uvec3 a[]; };\n" B_WORDS;
    c.body = "uvec3 v = a[i]; b[i] = v.x + 3 * v.y + 5 * v.z;";
    check_case(&c, a, 4 * N, expected, 15);
}

TEST(stores_of_vectors)
{
    static uint32_t a[4 * N], expected[N];
    fill(a, 4 * N);
    for (uint32_t i = 0; i < N; i++)
        expected[i] = (i ^ 1) % 5 == 2 ? a[i ^ 1] : a[i ^ 1] * 2 + (i ^ 1);
    Case c = { .head = "layout(std430, binding = 0) buffer A { uvec2 a[]; };\n"
                       "layout(std430, binding = 1) buffer B { uvec2 b[]; };\n", .local_x = 32,
               .body = "i = gl_WorkGroupID.x * 32 + gl_LocalInvocationIndex; if (i < 128) {"
                       "uvec2 v = a[i].yx * 2 + uvec2(2 * i + 1, 2 * i);"
                       "if ((2 * i + 1) % 5 == 2) v.x = a[i].y; if (2 * i % 5 == 2) v.y = a[i].x; "
                           "b[i] = v; }" };
    for (uint32_t i = 0; i < N; i++)
        expected[i] = (i ^ 1) % 5 == 2 ? a[i ^ 1] : a[i ^ 1] * 2 + (i ^ 1);
    check_case(&c, a, 4 * N, expected, 15);
}

/* What lies between the lanes' stores, or belongs to inactive lanes, stays as it is. */
TEST(stores_with_holes)
{
    static uint32_t a[N], expected[N];
    static const struct { const char *test; uint32_t first, last, odd; } guards[] = {
        { "i < 64", 0, 64, 0 },
        { "i >= 3 && i < 61", 3, 61, 0 },
        { "i < 64 && (i * 5 & 8) != 0", 0, 64, 8 },
    };
    static const struct { const char *head, *store; uint32_t stride, n, to; } stores[] = {
        { B_WORDS, "b[2 * i] = a[i];", 2, 1, 0 },
        { B_WORDS, "b[3 * i + 2] = a[i];", 3, 1, 2 },
        { "layout(std430, binding = 1) buffer B { uvec4 b[]; };\n",
          "b[i].xy = uvec2(a[i]);", 4, 2, 0 },
        { "layout(std430, binding = 1) buffer B { uvec3 b[]; };\n",
          "b[i] = uvec3(a[i]);", 4, 3, 0 },
    };
    fill(a, N);
    for (uint32_t g = 0; g < COUNT_OF(guards); g++)
        for (uint32_t s = 0; s < COUNT_OF(stores); s++) {
            char head[256], body[256];
            memset(expected, 0, sizeof expected);
            for (uint32_t i = guards[g].first; i < guards[g].last; i++)
                for (uint32_t k = 0; k < stores[s].n; k++)
                    if (!guards[g].odd || i * 5 & guards[g].odd)
                        expected[stores[s].stride * i + stores[s].to + k] = a[i];
            snprintf(head, sizeof head, A_WORDS "%s", stores[s].head);
            snprintf(body, sizeof body, "if (%s) %s", guards[g].test, stores[s].store);
            check_case(&(Case){ .head = head, .body = body }, a, N, expected, 1);
        }
}

TEST(structs_and_strides)
{
    static uint32_t a[8 * N], expected[N];
    fill(a, 8 * N);
    for (uint32_t i = 0; i < N; i++)
        expected[i] = a[6 * i] + a[6 * i + 2] * 3 + a[6 * i + 3 + i % 3];
    Case c = { .head = "struct S { uint x; uint y; uint z; uint t[3]; };\n"
                       "layout(std430, binding = 0) buffer A { S a[]; };\n" B_WORDS,
               .body = "b[i] = a[i].x + a[i].z * 3 + a[i].t[i % 3];" };
    check_case(&c, a, 8 * N, expected, 15);
    c.body = "S s = a[i]; b[i] = s.x + s.z * 3 + s.t[i % 3];";
    check_case(&c, a, 8 * N, expected, 15);
}

TEST(matrices_in_memory)
{
    static float a[16 * N];
    static uint32_t expected[N];
    for (uint32_t k = 0; k < 16 * N; k++)
        a[k] = (float)(k % 1000);
    for (uint32_t i = 0; i < N; i++) /* column 1, row 2, as rows of 4 floats: element [2][1] */
        expected[i] = (uint32_t)a[12 * i + 2 * 4 + 1];
    Case c = { .head = "struct S { mat4x3 m; };\n"
                       "layout(std430, row_major, binding = 0) buffer A { S a[]; };\n" B_WORDS,
               .body = "b[i] = uint(a[i].m[1][2]);" };
    check_case(&c, (uint32_t *)a, 16 * N, expected, 15);
    c.body = "mat4x3 m = a[i].m; b[i] = uint(m[1].z);";
    check_case(&c, (uint32_t *)a, 16 * N, expected, 15);
    c.body = "uint k = i & 0 | 1; b[i] = uint(a[i].m[k].z);";
    check_case(&c, (uint32_t *)a, 16 * N, expected, 15);
    c.head = "struct S { mat4x3 m; };\nlayout(std430, binding = 0) buffer A { S a[]; };\n" B_WORDS;
    for (uint32_t i = 0; i < N; i++)
        expected[i] = (uint32_t)a[16 * i + 1 * 4 + 2];
    check_case(&c, (uint32_t *)a, 16 * N, expected, 15);
}

TEST(small_integers)
{
    static uint32_t a[N], expected[N];
    fill(a, N);
    const uint8_t *bytes = (const uint8_t *)a;
    const int16_t *halves = (const int16_t *)a;
    for (uint32_t i = 0; i < N; i++)
        expected[i] = (uint32_t)(bytes[i] * 3 + halves[i + 5]);
    Case c = { .head = "layout(std430, binding = 0) buffer A { uint8_t a[]; };\n"
                       "layout(std430, binding = 0) buffer H { int16_t h[]; };\n" B_WORDS,
               .body = "b[i] = uint(int(uint(a[i]) * 3) + int(h[i + 5]));" };
    check_case(&c, a, N, expected, 15);
}

TEST(workgroup_memory)
{
    static uint32_t a[N], expected[N];
    fill(a, N);
    for (uint32_t i = 0; i < N; i++)
        expected[i] = a[i / 64 * 64 + (63 - i % 64)] + a[i / 64 * 64 + (i * 5 % 64)] * 2;
    Case c = { .head = A_WORDS B_WORDS "shared uint s[64]; shared bool q[64]; shared uvec3 v[64];",
               .body = "uint l = gl_LocalInvocationIndex; s[l] = a[i]; v[l] = uvec3(1, a[i], 2);\n"
                       "q[l] = true; barrier(); b[i] = s[63 - l] + (q[l] ? v[i * 5 % 64].y * 2 : "
                           "0);" };
    check_case(&c, a, N, expected, 15);
}

TEST(rows_and_columns)
{
    static uint32_t a[N], expected[N];
    fill(a, N);
    for (uint32_t k = 0; k < N; k++) {
        uint32_t x = k % 8, y = k % 64 / 8, g = k / 64;
        expected[g * 64 + x * 8 + y] = a[g * 64 + y * 8 + x] + a[g * 64 + y * 8];
    }
    Case c = { .head = A_WORDS B_WORDS, .local_x = 8, .local_y = 8,
               .body = "uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y, g = "
                   "gl_WorkGroupID.x * 64;"
                       "b[g + x * 8 + y] = a[g + y * 8 + x] + a[g + y * 8];" };
    check_case(&c, a, N, expected, 15);
}

TEST(private_variables)
{
    static uint32_t a[N], expected[N];
    fill(a, N);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t t[4][3] = { { 0 } };
        for (uint32_t k = 0; k < 12; k++)
            t[k % 4][k / 4] = a[(i + k) % N];
        t[i % 4][i % 3] += 77;
        expected[i] = t[a[i] % 4][0] ^ t[1][a[i] % 3] * 3;
    }
    Case c = { .head = A_WORDS B_WORDS,
               .body = "uvec3 t[4]; for (uint k = 0; k < 12; k++) t[k % 4][k / 4] = a[(i + k) % "
                   "256];"
                       "t[i % 4][i % 3] += 77; b[i] = t[a[i] % 4].x ^ t[1][a[i] % 3] * 3;" };
    check_case(&c, a, N, expected, 15);
}

TEST(array_length_and_push)
{
    static uint32_t a[N], expected[N];
    static const uint32_t push[4] = { 5, 6, 7, 8 };
    for (uint32_t i = 0; i < N; i++)
        expected[i] = (N - 4) / 2 + push[i % 4] + push[1];
    Case c = { .head = "layout(std430, binding = 0) buffer A { uint first[4]; uvec2 a[]; "
               "};\n" B_WORDS
                       "layout(push_constant) uniform P { uint p[4]; };", .push = push,
               .body = "b[i] = a.length() + p[i % 4] + p[1];" };
    check_case(&c, a, N, expected, 15);
}

TEST(addresses)
{
    static uint32_t a[N], expected[N], data[4 * N];
    fill(data, 4 * N);
    uint64_t address = (uint64_t)(uintptr_t)data;
    a[0] = (uint32_t)address;
    a[1] = (uint32_t)(address >> 32);
    for (uint32_t i = 0; i < N; i++)
        expected[i] = data[2 * i] + data[2 * i + 1] * 3 + data[(i * 7 % 64) * 2 + 1] + data[i];
    Case c = { .head = "layout(buffer_reference, std430, buffer_reference_align = 4) buffer R { "
               "uint x; uint y; };\n"
                       "layout(std430, binding = 0) buffer A { R r; };\n" B_WORDS,
               .body = "R q = r + i; R s = R(uint64_t(r) + i * 4);"
                       "b[i] = q.x + q.y * 3 + r[i * 7 % 64].y + s.x;" };
    check_case(&c, a, N, expected, 5);
}

TEST(arrays_of_buffers)
{
    if (!have_glslang())
        return;
    static const char source[] =
        "#version 460\n#extension GL_EXT_nonuniform_qualifier : require\n"
        "layout(local_size_x = 64) in;\n"
        "layout(std430, binding = 0) buffer A { uint n; uint a[]; } bufs[3];\n"
        "layout(std430, binding = 1) buffer B { uint b[]; };\n"
        "void main() { uint i = gl_GlobalInvocationID.x; uint u = gl_WorkGroupID.x % 3;\n"
        "b[i] = bufs[nonuniformEXT(i % 3)].a[i] + bufs[u].a[i] * 2 + bufs[nonuniformEXT(i % "
            "3)].a.length(); }\n";
    Arena arena = { 0 };
    DiagSink sink = { 0 };
    SpvModule *m = glsl_module(&arena, source, &sink);
    CHECK(m != NULL);
    static uint32_t a[3][N + 4], b[N];
    fill(a[0], 3 * (N + 4));
    for (uint32_t w = 8; m && w <= 128; w *= 2) {
        for (uint32_t mode = 0; mode < 2; mode++) {
            CpuTarget t;
            CpuOptions o = { .subgroup_size = w, .optimise = true, .robust = mode };
            PassOptions p = { .optimise = true };
            CHECK(cpu_target(&t, NULL, &sink));
            CpuKernel *k = cpu_compile(m, &t, &p, &o, &sink);
            DeviceBinding as[3], bs = { b, sizeof b };
            for (uint32_t j = 0; j < 3; j++)
                as[j] = (DeviceBinding){ a[j], sizeof a[j] - 4 * j };
            CHECK(k != NULL);
            const DeviceBinding *slots[2];
            uint32_t counts[2];
            for (uint32_t s = 0; k && s < k->n_slots; s++)
                slots[s] = k->slots[s].binding ? &bs : as,
                counts[s] = k->slots[s].binding ? 1 : 3;
            CpuDevice *device = cpu_device_new(1, true, &sink);
            CpuDispatch d = { .kernel = k, .slots = slots, .counts = counts,
                              .groups = { N / 64, 1, 1 } };
            CHECK(k && cpu_dispatch(device, &d, &sink));
            for (uint32_t i = 0; i < N; i++)
                CHECK_EQ_U64(b[i], a[i % 3][i + 1] + a[i / 64 % 3][i + 1] * 2 + (N + 3 - i % 3));
            cpu_device_free(device);
            cpu_kernel_free(k);
            cpu_target_free(&t);
        }
    }
    arena_free(&arena);
}

/* Word `word` of a buffer of `bytes`, where it is inside. */
static uint32_t robust_word(const uint32_t *a, int64_t word, uint64_t bytes)
{
    return word >= 0 && 4 * (uint64_t)word + 4 <= bytes ? a[word] : 0;
}

/* Robust access to neighbours, which share a test: at either end some or all lanes are outside; in
 * rows of lanes, of structures behind a head, at an offset that lanes share, beside a store. */
TEST(robust_neighbours)
{
    static uint32_t a[4 * N], expected[N];
    static const int32_t push[2] = { 24, -9 };
    fill(a, 4 * N);
    for (uint32_t bytes = 4; bytes < 4 * sizeof *a * N; bytes = bytes * 9 + 8)
        for (uint32_t lx = 8; lx <= 64; lx *= lx == 16 ? 4 : 2) {
            uint32_t ly = 64 / lx;
            for (int64_t i = 0; i < N; i++) {
                int64_t x = i % 64 % lx - 2, y = i % 64 / lx + i / 64 * ly - 1, at = y * 24 + x;
                int64_t words[] = { at - 27, at - 1, at, at + 1, at + 23, at + 25, at + 90000,
                                    2 + 2 * at, 3 + 2 * at, 5 + 2 * at, 2 + 2 * (at - 9) };
                expected[i] = 0;
                for (uint32_t k = 0; k < COUNT_OF(words); k++)
                    expected[i] += robust_word(a, words[k], bytes) * (2 * k + 1);
            }
            Case c = { .local_x = lx, .local_y = ly, .push = push, .a_bytes = bytes,
                       .head = A_WORDS B_WORDS
                "layout(std430, binding = 0) buffer S { uint first[2]; uvec2 s[]; };\n"
                "layout(push_constant) uniform P { int width, back; };",
                       .body =
                "int x = int(gl_LocalInvocationID.x) - 2, y = int(gl_LocalInvocationID.y +\n"
                "    gl_WorkGroupID.x * gl_WorkGroupSize.y) - 1, at = y * width + x;\n"
                "uint r = a[at - 27];\n"
                "b[i + 256] = r; b[i - 256] = 3;\n"
                "r += 3 * a[at - 1] + 5 * a[at] + 7 * a[at + 1] + 9 * a[at + width - 1] +\n"
                "    11 * a[at + width + 1] + 13 * a[at + 90000];\n"
                "b[i] = r + 15 * s[at].x + 17 * s[at].y + 19 * s[at + 1].y + 21 * s[at + back].x;"
            };
            check_case(&c, a, 4 * N, expected, 2);
        }
}

static int32_t bounded(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Indices that count but at the borders of a grid (EmitAffine.expected), in rows of 4, 8, 16 and 64
 * invocations: by bounds of either sign, by select, in two indices at once, in other blocks than
 * where they are used, without lane 0. */
TEST(bounded_indices)
{
    static uint32_t a[N + 64], expected[N];
    fill(a, N + 64);
    for (uint32_t lx = 4; lx <= 64; lx *= lx == 16 ? 4 : 2) {
        int32_t ly = (int32_t)(64 / lx), w = (int32_t)lx;
        for (int32_t i = 0; i < N; i++) {
            int32_t x = i % 64 % w, y = i % 64 / w + i / 64 * ly, rows = 4 * ly;
            int32_t left = bounded(x - 1, 0, w - 1), down = bounded(y + 1, 0, rows - 1);
            expected[i] = a[y * w + left] + 3 * a[down * w + bounded(x + 2, 0, w - 1)] +
                          5 * a[x + 1 < w ? x + 1 : x] + 7 * a[bounded(x, 1, 7)];
            if (x > 0 && y % 2)
                expected[i] += a[down * w + left];
            for (int32_t k = 0; k < 3; k++)
                expected[i] += a[bounded(x + k, 0, w - 1)] * 9;
        }
        Case c = { .local_x = lx, .local_y = (uint32_t)ly, .head = A_WORDS B_WORDS,
                   .body =
            "int x = int(gl_LocalInvocationID.x), y = int(gl_LocalInvocationID.y + "
            "gl_WorkGroupID.x * gl_WorkGroupSize.y);\n"
            "int w = int(gl_WorkGroupSize.x), rows = int(4 * gl_WorkGroupSize.y);\n"
            "int left = clamp(x - 1, 0, w - 1), down = min(y + 1, rows - 1);\n"
            "uint r = a[y * w + left] + 3 * a[down * w + min(x + 2, w - 1)] +\n"
            "    5 * a[x + 1 < w ? x + 1 : x] + 7 * a[min(max(uint(x), 1u), 7u)];\n"
            "if (x > 0 && y % 2 == 1) r += a[down * w + left];\n"
            "for (int k = 0; k < 3; k++) r += a[min(x + k, w - 1)] * 9;\n"
            "b[i] = r;" };
        check_case(&c, a, N + 64, expected, 15);
        c.head = lx == 4 ? "layout(std430, binding = 0) buffer A { uint a[16][4]; };\n" B_WORDS
               : lx == 8 ? "layout(std430, binding = 0) buffer A { uint a[8][8]; };\n" B_WORDS
                         : "layout(std430, binding = 0) buffer A { uint a[4][16]; };\n" B_WORDS;
        c.body = "uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;\n"
                 "b[i] = a[min(y + 1, gl_WorkGroupSize.y - 1)][min(x + 1, gl_WorkGroupSize.x - 1)]"
                 " + a[x % gl_WorkGroupSize.y][min(x + 1, gl_WorkGroupSize.x - 1)];";
        for (int32_t i = 0; i < N && lx < 64; i++) {
            int32_t x = i % 64 % w, y = i % 64 / w, across = bounded(x + 1, 0, w - 1);
            expected[i] = a[bounded(y + 1, 0, ly - 1) * w + across] + a[x % ly * w + across];
        }
        if (lx < 64)
            check_case(&c, a, N + 64, expected, 15);
    }
}

/* Robust access: reads outside give zero, writes outside do nothing. */
TEST(outside_of_buffers)
{
    static uint32_t a[N], expected[N];
    fill(a, N);
    for (uint32_t i = 0; i < N; i++)
        expected[i] = (i < 100 ? a[i] : 0) + (i >= 10 &&
                                              i < 110 ? a[i - 10]
                                                  : 0) + (i * 3 < 100 ? a[i * 3] : 0);
    Case c = { .head = A_WORDS B_WORDS, .a_bytes = 400,
               .body = "a[i + 100] = 7; b[i] = a[i] + a[i - 10] + a[i * 3] + a[200]; a[300 + i * "
                   "17] = 3;"
                       "b[i + 256] = 9; b[1000000 + i * 12345] = 6;" };
    check_case(&c, a, N, expected, 10);
    for (uint32_t i = 0; i < N; i++)
        expected[i] = 4 * i + 3 < 100 ? a[4 * i] + a[4 * i + 3] : 0;
    c.head = "layout(std430, binding = 0) buffer A { uvec4 a[]; };\n" B_WORDS;
    c.body = "uvec4 v = a[i]; b[i] = v.x + v.w;";
    check_case(&c, a, N, expected, 10);
}
