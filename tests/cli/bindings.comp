// SPDX-License-Identifier: MIT
// What is missing or too small is named as the kernel's source names it.
// RUN: status 1 %heddle run %s 2>&1 | %filecheck %s --check-prefix=MISSING
// RUN: status 1 %heddle run %s --bind weights=zeros:f16[64] --bind 1.3=zeros:f32[64] 2>&1 \
// RUN:   | %filecheck %s --check-prefix=PUSH
// RUN: %heddle run %s --bind weights=zeros:f16[64] --bind 1.3=zeros:f32[8] --push list:u32:1,2 \
// RUN:   2>&1 | %filecheck %s --check-prefix=SMALL
// RUN: %heddle run %s --bind weights=zeros:f32[64] --bind 1.3=zeros:f32[64] --push list:u32:1,2 \
// RUN:   --bind 7=zeros:u8[1] 2>&1 | %filecheck %s --check-prefix=TYPE
// RUN: status 2 %heddle run %s --bind wieghts=zeros:f16[64] 2>&1 | %filecheck %s --check-prefix=KEY
// RUN: status 2 %heddle run %s --bind weights=zeros:f16[64 2>&1 | %filecheck %s --check-prefix=SPEC
// RUN: status 2 %heddle run %s --bind weights=zeros:f16[0] 2>&1 | %filecheck %s --check-prefix=EMPTY
// MISSING: heddle: error: no buffer is bound to set 0, binding 0 ('weights')
// MISSING: heddle: error: no buffer is bound to set 1, binding 3 ('result')
// PUSH: heddle: error: the kernel has 8 bytes of push constants, 0 are given
// SMALL: heddle: warning: set 1, binding 3 ('result'): the buffer has 32 bytes, the kernel accesses at least 44
// TYPE: warning: 'weights' (set 0, binding 0) holds f16 in the kernel, f32 here
// TYPE: warning: the kernel does not use set 0, binding 7
// KEY: error: --bind wieghts=zeros:f16[64]: N=... expected
// KEY: the kernel has 0.0 weights
// KEY: the kernel has 1.3 result
// SPEC: error: 'zeros:f16[64': ',' or ']' expected at character 13
// EMPTY: error: --bind weights=zeros:f16[0]: an empty array cannot be bound
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 8) in;
layout(binding = 0) readonly buffer Weights { float16_t data[]; } weights;
layout(set = 1, binding = 3) buffer Result { float data[]; } result;
layout(push_constant) uniform Push { uint first, second; };
void main()
{
    if (gl_LocalInvocationIndex == first)
        result.data[10] = float(weights.data[second]);
}
