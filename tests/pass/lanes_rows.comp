// SPDX-License-Identifier: MIT
//
// Lanes whose numbers lie in one row, a few for each, load them together, whether by one vector or
// one by one: machines without permutations of two vectors interleave theirs step by step. Lanes
// that are masked out, in the loop's last round, take no branch each.
//
// RUN: %heddle compile %s --isa x86-64-v3 -D T=float16_t -D V=f16vec2 -D EACH=4 --emit llvm-plain | \
// RUN:   %filecheck %s
// RUN: %heddle compile %s --isa x86-64-v3 -D T=float -D V=vec2 -D EACH=2 --emit llvm-plain | \
// RUN:   %filecheck %s --check-prefix=WORDS
// RUN: for B in uint8_t,u8vec2,4 uint16_t,u16vec2,2 float16_t,f16vec2,4 uint,uvec2,2 float,vec2,4 \
// RUN:     double,dvec2,2; do \
// RUN:   T="${B%%,*}"; V="${B#*,}"; EACH="${V#*,}"; V="${V%,*}"; \
// RUN:   D="-D T=$T -D V=$V -D EACH=$EACH --push list:u32:1000,3"; \
// RUN:   A="--bind 0=rand:u8[40000]@1 --bind 1=zeros:u32[256] --groups 2"; \
// RUN:   C="--compare 1=%t.npy --tolerance 0"; \
// RUN:   %heddle run %s $D $A --device reference --out 1=%t.npy && \
// RUN:   for W in 8 16 32 64 128; do %heddle run %s $D $A --subgroup-size $W $C || exit 1; done; \
// RUN:   for I in %levels; do %heddle run %s $D $A --isa $I $C || exit 1; \
// RUN:     %heddle run %s $D $A --isa $I --robust $C || exit 1; done; \
// RUN:   A="${A/40000/3000}"; %heddle run %s $D $A --robust --isa x86-64-v2 --out 1=%t.npy && \
// RUN:   for I in %levels; do %heddle run %s $D $A --isa $I --robust $C || exit 1; done; \
// RUN: done

// Four halves of 32 lanes: 16 blocks of 16 bytes, and three steps.
// CHECK-LABEL: define {{.*}}@heddle_kernel(
// CHECK-NOT: masked.load
// CHECK-COUNT-16: load <8 x i16>
// CHECK-COUNT-12: shufflevector <16 x i16>
// CHECK-NOT: masked.load
// CHECK: }

// Of words the last round's are loaded under a mask, for which the machine has instructions.
// WORDS-LABEL: define {{.*}}@heddle_kernel(
// WORDS-COUNT-16: load <4 x i32>
// WORDS: masked.load
// WORDS: }

#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 128) in;
layout(scalar, binding = 0) readonly buffer A { T a[]; };
layout(scalar, binding = 0) readonly buffer P { V pairs[]; };
layout(binding = 1) writeonly buffer O { uint o[]; };
layout(push_constant) uniform Push { uint n, from; };

uint bits(uint8_t x) { return uint(x); }
uint bits(uint16_t x) { return uint(x); }
uint bits(float16_t x) { return uint(float16BitsToUint16(x)); }
uint bits(uint x) { return x; }
uint bits(float x) { return floatBitsToUint(x); }
uint bits(uint64_t x) { return uint(x) ^ 5 * uint(x >> 32); }
uint bits(double x) { return bits(doubleBitsToUint64(x)); }

void main()
{
    uint me = gl_LocalInvocationIndex, s = gl_WorkGroupID.x;
    for (uint i = me; i < n / EACH; i += 128) {
        for (uint k = 0; k < EACH; k++)
            s = 31 * s + bits(a[from + EACH * i + k]);
        for (uint k = 0; k < EACH / 2; k++)
            s = 31 * s + bits(pairs[EACH / 2 * i + k].x) + 7 * bits(pairs[EACH / 2 * i + k].y);
    }
    o[gl_GlobalInvocationID.x] = s;
}
