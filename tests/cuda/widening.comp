// SPDX-License-Identifier: MIT
// Where the driver's compiler does not optimise, 16 bits are widened by halves.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --no-optimisation --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s --check-prefix FAST < %t.ptx
// CHECK-LABEL: heddle_kernel(
// CHECK: mov.b16 z, 0; mov.b32 {{%r[0-9]+}}, {{[{]%rs[0-9]+, z}}};
// FAST-NOT: mov.b16 z
// FAST: ret;
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer B { float16_t x[]; };
layout(set = 0, binding = 1) buffer C { uint y[]; };

void main()
{
    uint id = gl_GlobalInvocationID.x;
    y[id] = uint(float16BitsToUint16(min(x[id], float16_t(7.5)))) * 31;
}
