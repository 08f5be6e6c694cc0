#version 450
// SPDX-License-Identifier: MIT
// A row times a vector by invocations that leave the loop in different iterations, four columns each:
// while they are in it they share its counter, so that halves of an index that all of them have,
// and quarters, are neighbours, which are loaded as such rather than in chunks.
// RUN: %heddle run %s --subgroup-size 32 --groups 4 --push list:u32:200 --bind 0=full:1:f16[4,200] --bind 1=full:2:f32[200] --bind 2=zeros:f32[4] --bind 3=zeros:u32[32] --compare 2=full:400:f32[4] --stats 2>&1 | %filecheck %s
// CHECK: vector accesses, bytes {{ *}}{{12|16}}, 3584
// CHECK-NEXT: masked accesses, bytes {{ *}}4, 1152
// RUN: %heddle compile %s --subgroup-size 32 --isa x86-64-v4 --emit llvm-plain | %filecheck %s --check-prefix=RUNS
// RUNS: load <128 x float>
// RUNS: load <128 x half>
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { f16vec2 a[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
layout(set = 0, binding = 3) buffer D { uint steps[]; };
layout(push_constant) uniform P { uint columns; };
void main()
{
    uint lane = gl_LocalInvocationID.x, row = gl_WorkGroupID.x, i = 0;
    uint n = columns / 128 + uint(columns / 128 * 128 + 4 * lane < columns);
    float sum = 0;
    for (; i < n; i++) {
        uint column = i * 128 + 4 * lane, at = (row * columns + column) / 2;
        sum += dot(b[column / 4], vec4(a[at], a[at + 1]));
    }
    steps[lane] = i;
    sum = subgroupAdd(sum);
    if (lane == 0)
        c[row] = sum;
}
