// SPDX-License-Identifier: MIT
// Derivatives in a workgroup whose size specialisation decides: it consists of quads, or is refused by both devices.
// RUN: %heddle check %s --spec 0=4 --spec 1=2 2>&1 | %filecheck %s --check-prefix=OPEN --allow-empty
// RUN: status 1 %heddle run %s --bind 0=zeros:f32[16] 2>&1 | %filecheck %s --check-prefix=NONE
// RUN: status 1 %heddle run %s --bind 0=zeros:f32[16] --device reference 2>&1 | %filecheck %s --check-prefix=NONE
// RUN: %heddle run %s --spec 0=4 --spec 1=2 --bind 0=zeros:f32[16] \
// RUN:   --compare 0=list:f32:2,2,2,2,2,2,2,2,0,0,0,0,0,0,0,0 | %filecheck %s
// OPEN-NOT: error
// NONE: error: a workgroup of 1 x 1 x 1 does not consist of quads
// CHECK: 0 of 16 differ
#version 460
#extension GL_KHR_compute_shader_derivatives : require
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(derivative_group_quadsKHR) in;
layout(binding = 0) buffer Data { float data[]; };
void main() { data[gl_LocalInvocationIndex] = dFdx(float(2 * gl_LocalInvocationID.x)); }
