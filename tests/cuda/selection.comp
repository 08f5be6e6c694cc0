// SPDX-License-Identifier: MIT
// Selections of 16 bits where private memory is, which the driver's compiler loses when it puts
// that into registers, unless they are of 32 bits.
//
// RUN: %heddle compile %s --device cuda --isa sm_80 --emit ptx -o %t.ptx && \
// RUN: %filecheck %s < %t.ptx
// CHECK: selp.b32
// CHECK-NOT: selp.b16
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Input { uint16_t x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { uint y[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint16_t kept[4] = { 1us, 2us, 3us, 4us };
    uint16_t taken = x[i];
    kept[taken & 3us] = 7us;
    uint16_t before = kept[3];
    kept[3] = gl_NumWorkGroups.y == 5 ? before : taken;
    kept[i & 3] = 9us;
    y[i] = uint(kept[0]) * 1000u + uint(kept[3]);
}
