// SPDX-License-Identifier: MIT
// What a matrix may be besides a multiply-add's operand: variable, array element, structure member,
// parameter and result, phi, select; loaded from memory of other element types; read and written
// element by element. One M x N accumulator matrix of float comes in, each result goes out densely.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require

layout(local_size_x_id = 10) in;
layout(constant_id = 0) const uint M = 16;
layout(constant_id = 1) const uint N = 16;

layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float y[]; };
layout(set = 0, binding = 2) readonly buffer Wide { uvec4 wide[]; };
layout(set = 0, binding = 3) readonly buffer Halves { f16vec4 halves[]; };
layout(buffer_reference, buffer_reference_align = 16) buffer Remote { float r[]; };
layout(push_constant) uniform Args { uint rounds; uint which; Remote remote; };

#define Mat coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>

#define MatInt coopmat<int, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>

struct Pair { Mat first, second; };
struct Mixed { Mat a; float f; Pair pair; Mat b[2]; uvec2 n; };
struct Outer { Mixed inner[2]; vec2 scale; };
shared float staged[64 * 64];
uint slot = 0;
Mixed kept;

void put(Mat m)
{
    coopMatStore(m, y, slot * M * N, N, gl_CooperativeMatrixLayoutRowMajor);
    slot++;
}

Mat twice(Mat m) { return m + m; }
void exchange(inout Mat a, inout Mat b) { Mat t = a; a = b; b = t; }
void split(Mat m, out Mat half_, out Mat rest) { half_ = m * 0.5; rest = m - half_; }
Mat pick(Mat a, Mat b, bool first)
{
    if (first)
        return a;
    return b;
}

/* Structures of matrices and other members, by value and whole. */
Mixed turn(Mixed s, uint k)
{
    s.a = s.a * s.f;
    s.b[k] = s.b[1 - k] + s.pair.second;
    s.n[k] += 5;
    kept = s;
    return s;
}

void mixed(Mat m)
{
    Mixed list[3];
    for (uint i = 0; i < 3; i++) {
        list[i].a = m;
        list[i].f = float(i + 2);
        list[i].pair = Pair(m * 2.0, -m);
        list[i].b[0] = m * 3.0;
        list[i].b[1] = Mat(float(i));
        list[i].n = uvec2(i, i + 1);
    }
    uint k = which % 3, other = (which + 1) % 3;
    list[other] = turn(list[k], k % 2);
    put(list[other].a);                                     // 25: (k + 2) m
    put(list[other].b[k % 2]);                              // 26: k - m, or 3 m - m where k is odd
    put(kept.pair.first + Mat(float(kept.n[k % 2])));       // 27: 2 m + k + 5 + k % 2
    Mixed one = rounds > 3 ? list[k] : list[other];         // a choice between structures
    put(one.a * one.f);                                     // 28: (k + 2) m
    Mixed walk = one;
    for (uint i = 0; i < rounds; i++) {                     // and one that a loop carries
        Mixed next = list[(k + i) % 3];
        next.a = walk.a + next.a;
        if ((i & 1) == 0)
            next.f = walk.f + 1.0;
        walk = next;
    }
    put(walk.a);
    put(Mat(walk.f));
    Outer o[2];
    o[0].inner[0] = one;
    o[0].inner[1] = list[other];
    o[0].scale = vec2(2.0, 3.0);
    o[1] = o[0];
    o[which & 1].inner[k & 1].pair = Pair(m, m * 4.0);
    o[which & 1].scale[k & 1] = 7.0;
    Outer p = o[which & 1];
    put(p.inner[k & 1].pair.second * p.scale[k & 1]);       // 31: 28 m
    for (uint i = 0; i < m.length(); i++)                   // elements in such an array
        o[k & 1].inner[which & 1].b[1][i] = m[i] + float(i);
    put(o[which & 1].inner[k & 1].b[1]);                    // 32: m + element
    Mat c[2] = p.inner[k & 1].b;
    put(c[k & 1]);                                          // 33: 3 m, or k where k is odd
}

void main()
{
    Mat m;
    coopMatLoad(m, x, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    put(twice(m));                                          // 0
    Mat a = m, b = Mat(1.0);
    exchange(a, b);
    put(a);                                                 // 1: ones
    put(b);                                                 // 2: m
    split(m, a, b);
    put(a + b * 3.0);                                       // 3: 2 m
    Mat grid[3];
    for (uint i = 0; i < 3; i++)
        grid[i] = m * float(i);
    put(grid[which % 3]);                                   // 4: m * (which % 3)
    grid[which % 3] = Mat(7.0);
    put(grid[1] + grid[2]);                                 // 5
    Pair p;
    p.first = m;
    p.second = -m;
    Pair q = p;
    q.first = q.first + p.second;
    put(q.first);                                           // 6: zeros
    put(q.second);                                          // 7: -m
    a = Mat(0.0);
    b = m;
    for (uint i = 0; i < rounds; i++) {                     // phis that change places
        Mat t = a + b;
        a = b;
        b = t;
    }
    put(a);                                                 // 8: fibonacci(rounds) * m
    put(b);                                                 // 9: fibonacci(rounds + 1) * m
    Mat chosen = b;
    if (which > 1)
        chosen = a;
    put(chosen);                                            // 10
    put(pick(m, a, which == 0));                            // 11
    for (uint i = 0; i < m.length(); i++)
        a[i] = m[i] * 2.0 + float(i * gl_SubgroupSize + gl_SubgroupInvocationID);
    put(a);                                                 // 12: 2 m + row-major index
    a = m;
    a[0] = 5.0;
    put(a);                                                 // 13: element 0 of each lane 5
    coopMatLoad(a, x, 0, M, gl_CooperativeMatrixLayoutColumnMajor);
    put(a);                                                 // 14: x read column-major
    coopMatLoad(a, wide, 0, N / 4, gl_CooperativeMatrixLayoutRowMajor);
    put(a);                                                 // 15: m, through uvec4
    coopMatLoad(a, halves, 0, N / 2, gl_CooperativeMatrixLayoutRowMajor);
    put(a);                                                 // 16: m, through f16vec4
    coopMatStore(m, staged, 0, M, gl_CooperativeMatrixLayoutColumnMajor);
    barrier();
    coopMatLoad(a, staged, 0, M, gl_CooperativeMatrixLayoutColumnMajor);
    put(a);                                                 // 17: m, through shared memory
    coopMatLoad(a, remote.r, 0, N, gl_CooperativeMatrixLayoutRowMajor);
    put(a);                                                 // 18: m, through an address
    coopMatLoad(a, x, 0, 0, gl_CooperativeMatrixLayoutRowMajor);
    put(a);                                                 // 19: row 0 in every row
    put(Mat(float(m.length())));                            // 20
    coopmat<float16_t, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> h =
        coopmat<float16_t, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(m);
    MatInt n = MatInt(m);
    put(Mat(h));                                            // 21: m rounded to f16
    put(Mat(n / (n + MatInt(1000))));                               // 22: integer arithmetic
    put((m * m - m) / (m + Mat(1000.0)));                   // 23
    put(Mat(float(gl_SubgroupInvocationID)));               // 24: who holds what
    mixed(m);
}
