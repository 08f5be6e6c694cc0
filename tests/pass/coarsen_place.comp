// SPDX-License-Identifier: MIT
// What two workgroups a call must not be taken in by: a test behind another one that keeps an index
// within bounds (INNER), a component of the place that is chosen at run time (AXIS), and a place by
// OpInBoundsAccessChain. Of "is it the first one?" (FIRST) the way to be expected is the other one.
// RUN: run() { f=$1; shift; for t in fast full; do %heddle run $f "$@" --tier $t --threads 1 --bind 0=randn:f32[64,70] \
// RUN:   --bind 1=randn:f32[70] --bind 2=zeros:f32[64,32] --push list:u32:70,1,1,0 --out 2=%t.$t.npy || exit 1; done; \
// RUN:   cmp %t.fast.npy %t.full.npy; }; \
// RUN: run %s -D INNER --groups 3000000,1,1 && run %s -D AXIS --groups 7,3,1 && run %s -D FIRST --groups 7,3,1 && \
// RUN: %glslang --target-env vulkan1.3 -V %s -o %t.spv && %spirv-dis %t.spv > %t.spvasm && \
// RUN: sed '0,/OpAccessChain %_ptr_Input_uint/! s/OpAccessChain %_ptr_Input_uint/OpInBoundsAccessChain %_ptr_Input_uint/' %t.spvasm > %t.inside.spvasm && \
// RUN: grep -q OpInBounds %t.inside.spvasm && run %t.inside.spvasm --groups 7,3,1
// RUN: %heddle compile %s -D FIRST --emit passes | %filecheck %s
// CHECK: OpIEqual
// CHECK: OpLogicalNot
// CHECK: GroupNonUniformAll
#version 460
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer X { float x[]; };
layout(set = 0, binding = 2) buffer Y { float y[]; };
layout(push_constant) uniform P { uint columns, q[3]; };

void main()
{
    uint row = gl_WorkGroupID.x, more = 32 * gl_WorkGroupID.y;
    float sum = 0.0;
#ifdef INNER
    if (row >= 3)
        return;
    if (q[row] == 0)
        return;
#endif
#ifdef AXIS
    more += 8 * gl_WorkGroupID[q[0]];
#endif
#ifdef FIRST
    if (row == 0)
        sum = x[more];
#endif
    for (uint k = gl_LocalInvocationID.x; k < columns; k += 32)
        sum += a[(row * columns + k) & 4095] * x[k] + float(gl_WorkGroupID.x);
    y[((row * 32 + more) & 2047) + gl_LocalInvocationID.x] = sum;
}
