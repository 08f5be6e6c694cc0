// SPDX-License-Identifier: MIT
// Functions that return from within loops, nested ones too, are inlined: the branches out of several
// loops go by their merge blocks, and the hinted loop loads ahead.
// RUN: %heddle compile %s --pipeline --emit spirv --stats -o %t.spv | \
// RUN:   %filecheck %s --check-prefix=STATS
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %t.spv | %filecheck %s
// RUN: %heddle run %s --bind 0=randn:f32[480]@1 --bind 1=zeros:f32[32] --push list:u32:15 \
// RUN:   --out 1=%t.npy
// RUN: %heddle run %t.spv --bind 0=randn:f32[480]@1 --bind 1=zeros:f32[32] --push list:u32:15 \
// RUN:   --compare 1=%t.npy --tolerance 0
// STATS: {{2 *1 *1}}
// CHECK-NOT: MultipleWaitQueuesQCOM
// CHECK-NOT: OpFunctionCall
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
uint find_pair(float x)
{
    for (uint i = 0; i < n; i++)
        for (uint k = 0; k < i; k++) {
            float sum = a[i] + a[k];
            if (sum > x && sum < x + 1)
                return i * 100 + k;
            if (sum < -3)
                break;
        }
    return 10000;
}
/* of a function that is inlined into a loop; a return from a switch in one */
uint find_kind(uint kind, float x)
{
    for (uint i = kind; i < n; i++)
        switch (kind) {
        case 0:
            if (a[i] < x)
                return i + 1;
            break;
        case 1:
            if (a[i] > -x)
                return i + 2;
            continue;
        default: return find(x);
        }
    return kind;
}
void main()
{
    uint t = gl_LocalInvocationID.x;
    float x = 0;
    [[multiple_wait_queuesQCOM(2)]]
    for (uint i = 0; i < n; i++)
        x += a[i * 32 + t];
    uint sum = 0;
    for (uint i = 0; i < 4; i++) {
        if (i * t == 21)
            continue;
        sum += find_kind(i, x + i);
        if (sum > 40)
            break;
    }
    c[t] = float(find(x) * 20000 + find_pair(x / 4)) + float(sum) / 256;
}
