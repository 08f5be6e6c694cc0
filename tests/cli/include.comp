// SPDX-License-Identifier: MIT
// Includes: beside the source, and in the folders of -I; macros by -D.
// RUN: %heddle run %s -I %S/include -D SCALE=3.0 --bind 0=full:2:f32[8] --compare 0=full:6:f32[8] \
// RUN:   | %filecheck %s
// RUN: %heddle run %s -DBESIDE -DSCALE=3.0 --bind 0=full:2:f32[8] --compare 0=full:6:f32[8] \
// RUN:   | %filecheck %s
// RUN: status 1 %heddle check %s -DSCALE=3.0 2>&1 | %filecheck %s --check-prefix=NONE
// RUN: status 1 %heddle check %s -I %S/include 2>&1 | %filecheck %s --check-prefix=INSIDE
// CHECK: 0 of 8 differ
// NONE: include.comp:{{[0-9:]+}} error: {{.*}}scale.glsl
// INSIDE: scale.glsl:2:{{[0-9:]*}} error: undeclared identifier: 'SCALE'
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef BESIDE
#include "include/scale.glsl"
#else
#include "scale.glsl"
#endif
layout(local_size_x = 8) in;
layout(binding = 0) buffer Data { float data[]; };
void main()
{
    data[gl_LocalInvocationIndex] = scaled(data[gl_LocalInvocationIndex]);
}
