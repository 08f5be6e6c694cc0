// SPDX-License-Identifier: MIT
// GL_EXT_long_vector: vectors of other lengths than 2 to 4, also specialised ones, in registers, buffers,
// shared memory, structures, functions and subgroup operations.
// VARIANTS: T=float N=5 | T=float16_t N=7 | T=int N=9 | T=uint8_t N=3 | T=int64_t N=16 | T=int16_t N=1
// INPUT: int
// SIZES: 32 8
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_long_vector : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_subgroup_extended_types_float16 : require
#extension GL_EXT_shader_subgroup_extended_types_int8 : require
#extension GL_EXT_shader_subgroup_extended_types_int16 : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#include "ops.glsl"

layout(constant_id = 5) const uint S = 6;

struct Holder { vector<T, N> v[2]; T last; };
shared Holder held[128];

vector<T, N> swapped(inout vector<T, N> a, out vector<T, N> b, vector<T, N> c)
{
    b = a;
    a = c;
    if (c[0] > T(3))
        return b;
    b[N - 1] += T(1);
    return a + b;
}

void main()
{
    const uint at = gl_LocalInvocationIndex;
    vector<T, N> x, y;
    for (uint k = 0; k < N; k++) {
        x[k] = T(word(k & 7) >> k & 63);
        y[k] = T(word(k + 3 & 7) & 7);
    }
    vector<T, N> a = x * y + vector<T, N>(T(1)), b;
    vector<T, N> r = swapped(a, b, y);
    vector<bool, N> less = lessThan(x, y);
    r = mix(r, b, less);
    put(any(less)); put(all(less)); put(all(not(less)));
    r = max(min(r, x), y);
    held[at].v[at & 1] = r;
    held[at].last = r[word(1) % N];
    barrier();
    Holder h = held[at ^ 5];
    r += h.v[(at ^ 5) & 1] + vector<T, N>(h.last);
    T sum = T(0);
    [[dont_unroll]] for (uint k = 0; k < (word(2) & 7); k++) {
        vector<T, N> p = k % 2 == 0 ? r : x;
        if (p[k % N] == T(5))
            break;
        p[word(k) % N] = T(k);
        sum += p[0] + p[N - 1];
        r = p;
    }
    put(sum);
    vector<T, N> most = subgroupMax(r), other = subgroupShuffle(r, gl_SubgroupInvocationID ^ 3);
    vector<uint, S> u = vector<uint, S>(word(4));
    u[S - 1] = word(5);
    u = (u ^ (u >> 3)) % 1000u + ~u / 7u;
    for (uint k = 0; k < N; k++) {
        put(r[k]); put(most[k]); put(other[k]);
    }
    for (uint k = 0; k < S; k++)
        put(u[k]);
    vector<float16_t, 5> half_ = vector<float16_t, 5>(float16_t(int(word(6) & 255)));
    vector<int16_t, 5> power;
    half_ = frexp(half_, power);
    put(half_[4]); put(power[4]);
    half_ = ldexp(half_, power);
    put(half_[0]);
}
