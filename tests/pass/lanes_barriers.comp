// SPDX-License-Identifier: MIT
//
// What lives across barriers, in loops and branches that all invocations of a workgroup take alike:
// a subgroup returns at each, and goes on from there when it is called again. Values of many types,
// masks, arrays that are indexed, sums of inner loops, what was made before a loop of barriers and
// what changes in it; code that is shared by both ways of a branch.
//
// RUN: %heddle compile %s --isa x86-64-v4 --emit llvm -o %t.ll && %filecheck %s < %t.ll
// RUN: %heddle compile %s --isa x86-64-v3 --emit llvm -o %t.ll && %filecheck %s < %t.ll
// RUN: %heddle compile %s --isa x86-64-v3 -D LARGE --emit llvm -o %t.ll && \
// RUN:   %filecheck %s --check-prefix=LARGE < %t.ll
// RUN: %heddle compile %s --no-optimisation --emit llvm -o %t.ll && \
// RUN:   %filecheck %s --check-prefix=LARGE < %t.ll
// RUN: D="--bind 0=rand:u32[512]@1 --bind 1=zeros:u32[512] --groups 2"; \
// RUN: for L in "" "-D LARGE"; do \
// RUN:   %heddle run %s $D $L --device reference --out 1=%t.npy && \
// RUN:   for O in "" --robust "--tier fast" "--interleave 4" --no-optimisation -g; do \
// RUN:     %heddle run %s $D $L $O --compare 1=%t.npy --tolerance 0 || exit 1; done; \
// RUN:   for W in 8 16 32 64 128; do \
// RUN:     %heddle run %s $D $L --subgroup-size $W --compare 1=%t.npy --tolerance 0 || exit 1; done; \
// RUN:   for I in %levels; do \
// RUN:     %heddle run %s $D $L --isa $I --compare 1=%t.npy --tolerance 0 || exit 1; done; \
// RUN: done

// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK: switch i32 %{{[0-9]+}}, label
// CHECK-NOT: call void %
// CHECK: ret void
// CHECK: ret void
// CHECK-NOT: heddle_barrier

// LARGE-LABEL: define {{.*}}@heddle_kernel(
// LARGE: call void %{{[0-9]+}}(ptr

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) writeonly buffer B { uint b[]; };
shared uint tile[256], flags[4];
#ifdef LARGE // more numbers than are kept
const int N = 300;
#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9)
#else
const int N = 5;
#define EACH(f) f(0)
#endif
#define FOUR(k) uvec4(tile[(i + k) % 256], tile[(i + k * 2) % 256], tile[(i + 91) % 256], x + k)
#define READ(k) uvec4 m##k[4] = { FOUR(k), FOUR(k + 50), FOUR(k + 100), FOUR(k + 150) };
#define ADD(k) sum = sum * 7 + sum_of(m##k[0]) + sum_of(m##k[1] * 3) + sum_of(m##k[2] ^ m##k[3]);

uint neighbour(uint x, uint distance)
{
    uint i = gl_LocalInvocationIndex;
    barrier();
    tile[i] = x;
    barrier();
    return tile[(i + distance) % 256];
}

uint sum_of(uvec4 v) { return v.x + v.y * 5 + v.z * 7 + v.w * 11; }

void main()
{
    uint i = gl_LocalInvocationIndex, x = a[gl_GlobalInvocationID.x];
    uint16_t narrow = uint16_t(x);
    int8_t tiny = int8_t(x >> 5);
    uint64_t wide = uint64_t(x) * 77;
    float16_t small = float16_t(float(x & 255));
    double exact = double(x) / 8;
    bool odd = (x & 1) != 0, low = i < 100;
    vec4 v = vec4(x & 15, x & 31, i, 3);
    uint own[N];
    for (int k = 0; k < N; k++)
        own[k] = x * uint(k + 1);
    if (i < 4)
        flags[i] = a[gl_WorkGroupID.x * 256 + i] % 7;
    tile[i] = x;
    barrier();
    EACH(READ)
    uint all = flags[0], rounds = flags[1] + 1, sum = 0;
    for (uint r = 0; r < rounds; r++) {
        uint inner = 0;
        for (uint k = 0; k < (i + r) % 5; k++) // each invocation its own number of times
            inner = inner * 3 + own[(k + r) % N];
        sum += neighbour(inner, r + 1);
        own[(i + r) % N] += sum;
        if ((flags[2] + r) % 2 == 0) {
            sum ^= neighbour(x + r, 31);
            odd = !odd;
        } else if (flags[3] > 2) {
            v = v.yzwx + vec4(neighbour(sum, 7) & 15);
            if (low)
                sum += 5;
        }
        narrow += uint16_t(sum);
    }
    sum += neighbour(sum, all + 64);
    wide += uint64_t(v.x + v.y * 2 + v.z * 3 + v.w) + uint64_t(exact) + uint64_t(float(small));
    sum = sum * 31 + uint(wide) + uint(narrow) + uint(int(tiny)) + (odd ? 1000u : 0u) +
          (low ? 20u : 0u);
    for (int k = 0; k < N; k++)
        sum = sum * 5 + own[k];
    EACH(ADD)
    b[gl_GlobalInvocationID.x] = sum;
}
