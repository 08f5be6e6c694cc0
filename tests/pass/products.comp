// SPDX-License-Identifier: MIT
//
// Dot products of what lanes load together, two or four numbers each, floats and halves: they are
// multiplied as they lie in memory, and the products of each lane added (src/cpu/lanes/in_place.c), or,
// of sums that are written out, where the machine permutes pairs of vectors, taken apart
// (src/cpu/jit/products.c). Vectors and pairs of neighbours, which one load reads; sums of products of
// whole numbers are exact, however they are added.
//
// RUN: for D in "-D EACH=4" "-D EACH=2" "-D EACH=4 -D PAIRS=f16vec2"; do \
// RUN:   C="%heddle compile %s -D T=float16_t -D W=32 $D --emit llvm -o %t.ll --isa"; \
// RUN:   $C x86-64-v4 -D SUMS && %filecheck %s < %t.ll || exit 1; \
// RUN:   $C x86-64-v3 -D SUMS && %filecheck %s --check-prefix=SHORT < %t.ll || exit 1; \
// RUN:   for I in v2 v3 v4; do \
// RUN:     $C x86-64-$I && %filecheck %s --check-prefix=DOT${D:8:1} < %t.ll || exit 1; \
// RUN: done; done
// RUN: for T in float:f32:vec2 float16_t:f16:f16vec2; do for F in 2 4 "2 -D WIDE" "4 -D WIDE" "4 -D SUMS" "4 -D PAIRS=${T##*:}" "4 -D GUARDED" "4 -D ROWS"; do for W in 16 128; do \
// RUN:   N=${T#*:}; D="-D T=${T%%:*} -D W=$W -D EACH=$F"; A="iota:${N%:*}[2048]"; \
// RUN:   B="--groups 2 --bind 0=$A --bind 1=rand:s32[1024]@1 --bind 2=zeros:f32[1024]"; \
// RUN:   %heddle run %s $D $B --device reference --out 2=%t.npy > /dev/null || exit 1; \
// RUN:   for I in %levels "host --robust" "host --subgroup-size 64"; do \
// RUN:     %heddle run %s $D $B --isa $I --compare 2=%t.npy --tolerance 0 > /dev/null || exit 1; \
// RUN: done; done; done; done
// RUN: for I in %levels; do D="-D T=float16_t -D EACH=4 -D W=32"; \
// RUN:   B="--groups 2 --bind 0=iota:f16[2048] --bind 1=rand:s32[1024]@1 --bind 2=zeros:f32[1024]"; \
// RUN:   %heddle run %s $D $B --device reference --out 2=%t.npy > /dev/null && \
// RUN:   %heddle run %s $D $B --isa $I --compare 2=%t.npy --tolerance 0 > /dev/null || exit 1; done

// CHECK: load <16 x half>
// CHECK: fpext <16 x half>
// CHECK: fmul contract <16 x float>
// SHORT: fmul contract <32 x float>
// DOT2: fmul contract <64 x float>
// DOT4: fmul contract <128 x float>
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#ifdef ROWS
layout(local_size_x = 8, local_size_y = W / 8) in;
#define INVOCATION gl_WorkGroupID.x * W + (gl_LocalInvocationID.y ^ 1) * 8 + gl_LocalInvocationID.x
#else
layout(local_size_x = W) in;
#define INVOCATION gl_GlobalInvocationID.x
#endif
struct Numbers { T of[EACH]; };
layout(set = 0, binding = 0, std430) readonly buffer A {
#ifdef PAIRS
    PAIRS a[];
#else
    Numbers a[];
#endif
};
layout(set = 0, binding = 1, std430) readonly buffer B { ivec4 b[]; };
layout(set = 0, binding = 2, std430) writeonly buffer Y { float y[]; };

#if EACH == 4
#define V vec4
#else
#define V vec2
#endif

#ifdef SUMS
float product(vec2 x, vec2 y) { return x.x * y.x + x.y * y.y; }
float product(vec4 x, vec4 y) { return product(x.xy, y.xy) + product(x.zw, y.zw); }
#else
#define product dot
#endif

V row(uint at)
{
    V v;
#ifdef PAIRS
    v = V(a[2 * at], a[2 * at + 1]);
#else
    for (int k = 0; k < EACH; k++)
        v[k] = a[at].of[k];
#endif
    return v;
}

void main()
{
    uint i = INVOCATION, n = gl_NumWorkGroups.x * W, words = 0;
    V x = row(i), far = row(i + n / 4);
    ivec4 word = b[i];
    for (int k = 0; k < 4; k++)
        words = words * 3 + uint(word[k] & 7);
#ifdef GUARDED
    if (i % 3 != 1)
#endif
    y[i] = product(x, row(n / 2 + i)) + product(row(n / 2 + i), far);
#ifdef WIDE
    double sum = 0;
    for (int k = 0; k < EACH; k++)
        sum += double(a[i].of[k]) * double(a[n / 2 + i].of[k]);
    y[i] += float(sum);
#endif
    y[i + n] = float(words) + product(far, far);
#ifdef SUMS // others use what dot products do
    y[i + n] += dot(x, far) - x.x * far.y;
#endif
}
