// SPDX-License-Identifier: MIT
// A function that returns from within a loop cannot be inlined so that control flow stays structured:
// the module is left as it was, but for the hints.
// RUN: %heddle compile %s --pipeline --emit spirv --stats -o %t.spv | \
// RUN:   %filecheck %s --check-prefix=STATS
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %t.spv | %filecheck %s
// RUN: %heddle run %s --bind 0=randn:f32[480]@1 --bind 1=zeros:f32[32] --push list:u32:15 \
// RUN:   --out 1=%t.npy
// RUN: %heddle run %t.spv --bind 0=randn:f32[480]@1 --bind 1=zeros:f32[32] --push list:u32:15 \
// RUN:   --compare 1=%t.npy --tolerance 0
// STATS: {{2 *1 *0}} inlining or unrolling leaves control flow that is not structured
// CHECK-NOT: MultipleWaitQueuesQCOM
// CHECK: OpFunctionCall
// CHECK-NOT: MultipleWaitQueuesQCOM
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_QCOM_multiple_wait_queues : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer C { float c[]; };
layout(push_constant) uniform P { uint n; };
uint find(float x)
{
    for (uint i = 0; i < n; i++)
        if (a[i] > x)
            return i;
    return n;
}
void main()
{
    uint t = gl_LocalInvocationID.x;
    float x = 0;
    [[multiple_wait_queuesQCOM(2)]]
    for (uint i = 0; i < n; i++)
        x += a[i * 32 + t];
    c[t] = float(find(x));
}
