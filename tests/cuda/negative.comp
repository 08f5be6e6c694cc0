// SPDX-License-Identifier: MIT
// Negatives and absolutes of 16 bits, which the driver's compiler takes after it has widened their
// operands, unless it is given something else.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// CHECK: mul.lo.s16 {{.*}}, -1;
// CHECK: max.s16
// CHECK-NOT: neg.s16
// CHECK-NOT: abs.s16
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Input { int16_t x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { int y[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    y[2 * i] = int(-x[2 * i]);
    y[2 * i + 1] = int(abs(x[2 * i + 1]));
}
