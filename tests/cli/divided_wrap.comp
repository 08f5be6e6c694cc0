#version 450
// SPDX-License-Identifier: MIT
// Quarters of indices of which some have wrapped are no neighbours: the first lanes' are outside.
// RUN: %heddle run %s --robust --subgroup-size 8 --groups 1 --push list:u32:4294967288 --bind 0=iota:f32[8] --bind 1=zeros:f32[8] --compare 1=list:f32:0,0,0,1,2,3,4,5
// RUN: %heddle run %s --robust --subgroup-size 8 --groups 1 --push list:u32:4294967264 --bind 0=iota:f32[8] --bind 1=zeros:f32[8] --compare 1=list:f32:0,0,0,0,0,0,0,0
// RUN: %heddle run %s --robust --subgroup-size 8 --groups 1 --push list:u32:0 --bind 0=iota:f32[8] --bind 1=zeros:f32[8] --compare 1=list:f32:0,1,2,3,4,5,6,7
// RUN: %heddle run %s -D DOWN --robust --subgroup-size 8 --groups 1 --push list:u32:12 --bind 0=iota:f32[8] --bind 1=zeros:f32[8] --compare 1=list:f32:3,2,1,0,0,0,0,0
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) buffer B { float b[]; };
layout(push_constant) uniform P { uint first; };
void main()
{
    uint lane = gl_LocalInvocationID.x;
#ifdef DOWN
    b[lane] = a[(first - 4 * lane) / 4];
#else
    b[lane] = a[(first + 4 * lane) / 4];
#endif
}
