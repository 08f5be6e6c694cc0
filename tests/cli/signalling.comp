// SPDX-License-Identifier: MIT
// NMin and NMax take a signalling NaN for a NaN; AArch64's fminnm and fmaxnm do of quiet ones alone.
// RUN: %heddle compile %s --isa armv8 --emit native | %filecheck %s
// CHECK-DAG: fminnm
// CHECK-DAG: fcmeq
// CHECK-DAG: fmaxnm
#version 450
#extension GL_EXT_spirv_intrinsics : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { float b[]; };

spirv_instruction(set = "GLSL.std.450", id = 79) float nmin(float x, float y);
spirv_instruction(set = "GLSL.std.450", id = 80) float nmax(float x, float y);

void main()
{
    uint i = gl_GlobalInvocationID.x;
    b[i + 128] = nmax(nmin(b[i], b[i + 64]), 0.5);
}
