// SPDX-License-Identifier: MIT
// Loops that ask for wait queues become software pipelines: so many registers for each load, a
// prologue that loads for the iterations that come, a main loop, an epilogue that loads nothing.
// What cannot be pipelined is left as it is, and --stats says why. Results stay the same, bit for
// bit, and the last loads end where the buffers do.
// RUN: %heddle compile %s --pipeline --emit spirv -o %t.spv --stats | \
// RUN:   %filecheck %s --check-prefix=STATS
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: %heddle compile %t.spv | %filecheck %s
// RUN: %heddle compile %s --pipeline --stats 2>&1 >%t.spvasm | %filecheck %s --check-prefix=STATS
// RUN: %heddle run %s --bind 0=randn:f32[480]@1 --bind 1=list:u32:9,3,0,11,7,7,1,2,5,4,3,14 \
// RUN:   --bind 2=zeros:f32[1056] --bind 3=randn:f32[384]@2 --push list:u32:12 --out 2=%t.npy
// RUN: %heddle run %t.spv --bind 0=randn:f32[480]@1 --bind 3=randn:f32[384]@2 \
// RUN:   --bind 1=list:u32:9,3,0,11,7,7,1,2,5,4,3,14 --bind 2=zeros:f32[1056] \
// RUN:   --push list:u32:12 --compare 2=%t.npy --tolerance 0
// RUN: %heddle run %t.spv --bind 0=randn:f32[480]@1 --bind 3=randn:f32[384]@2 \
// RUN:   --bind 1=list:u32:9,3,0,11,7,7,1,2,5,4,3,14 --bind 2=zeros:f32[1056] \
// RUN:   --push list:u32:12 --compare 2=%t.npy --tolerance 1e-5 --device reference --check
// RUN: %heddle compile %s --emit llvm-plain | %filecheck %s --check-prefix=LLVM
// LLVM: call void @llvm.prefetch
// STATS: loop {{ *}}iterations loads ahead
// STATS-NEXT: {{.*}}load_ahead.comp:{{[0-9]+ *}}3 {{ *}}2 {{ *}}2{{$}}
// STATS-NEXT: {{.*}}load_ahead.comp:{{[0-9]+ *}}2 {{ *}}2 {{ *}}2{{$}}
// STATS-NEXT: {{.*}}load_ahead.comp:{{[0-9]+ *}}2 {{ *}}1 {{ *}}1{{$}}
// STATS-NEXT: {{.*}}load_ahead.comp:{{[0-9]+ *}}1 {{ *}}1 {{ *}}1{{$}}
// STATS-NEXT: {{.*2 *2 *1}} a load is not carried out in each iteration
// STATS-NEXT: {{.*2 *0 *0}} it is left elsewhere than at one branch that each iteration comes to
// STATS-NEXT: {{.*2 *0 *0}} whether a later iteration comes is not known ahead of it
// STATS-NEXT: {{.*2 *1 *0}} a store may change what a later iteration loads
// STATS-NEXT: {{.*2 *1 *0}} a barrier or an atomic orders its loads
// STATS-NEXT: {{.*2 *1 *0}} an address does not move on by the same step each time
// STATS-NEXT: {{.*2 *1 *0}} an address does not move on by the same step each time
// STATS-NEXT: {{.*2 *1 *0}} a load reads the same in all iterations
// STATS-NEXT: {{.*2 *1 *0}} a load is volatile or coherent
// STATS-NEXT: {{.*2 *0 *0}} it loads neither matrices nor from buffers
// CHECK-NOT: WaitQueues
// CHECK-NOT: SPV_QCOM
// Six guarded loads in front of the first loop, two in it as far ahead, none behind it.
// CHECK-COUNT-3: OpSelectionMerge
// CHECK: OpPhi %float
// CHECK: OpLoopMerge {{.*}} DontUnroll
// CHECK: OpLoad %float
// CHECK: OpLoad %float
// CHECK-NOT: OpLoad %float
// CHECK: OpLoopMerge {{.*}} DontUnroll
// CHECK-NOT: OpLoad %float
// CHECK: OpSelectionMerge
// CHECK-NOT: MultipleWaitQueuesQCOM
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_QCOM_multiple_wait_queues : require
layout(local_size_x = 32) in;
layout(binding = 0) readonly restrict buffer A { float a[]; };
layout(binding = 1) readonly restrict buffer I { uint next[]; };
layout(binding = 2) buffer C { float c[]; };
layout(binding = 3) volatile buffer V { float v[]; };
layout(push_constant) uniform P { uint n; };
shared float s[32];
#define AHEAD(N) [[multiple_wait_queuesQCOM(N), dont_unroll]]
void main()
{
    uint t = gl_LocalInvocationID.x, k = 0, l = 0, m = 0;
    float x = 0;
    AHEAD(3) // two addresses, each with a step of its own; the last is of the last element
    for (uint i = 0; i < n; i++)
        x += a[i * 32 + t] * a[t + i * (n + 28)];
    AHEAD(2) // by what was loaded ahead
    for (uint i = 0; i < n; i++)
        x += a[next[i] * 32 + t];
    AHEAD(2) // the condition behind the load
    do
        x = x * 0.5 + a[k * 32 + t];
    while (++k < n);
    AHEAD(1) // barriers of workgroup memory
    for (uint i = 0; i < n; i++) {
        s[t] = a[i * 32 + t];
        barrier();
        x += s[(t + 1) % 32];
        barrier();
    }
    AHEAD(2) // one load is not carried out in each iteration
    for (uint i = 0; i < n; i++)
        if (next[i] > 3)
            x += a[i * 32 + t];
    AHEAD(2)
    for (uint i = 0; i < n; i++) {
        float y = a[i * 32 + t];
        if (y > 1)
            break;
        x += y;
    }
    AHEAD(2)
    while (next[l] != 14)
        l++;
    AHEAD(2)
    for (uint i = 0; i < n; i++)
        c[i * 32 + t] = c[i * 32 + t + 32] + x;
    AHEAD(2)
    for (uint i = 0; i < n; i++) {
        x += a[i * 32 + t];
        memoryBarrierBuffer();
    }
    AHEAD(2)
    for (uint i = 1; i < n; i *= 2)
        x += a[i * 32 + t];
    AHEAD(2)
    for (uint i = 0; i < n; i++)
        m = next[m] % 12;
    AHEAD(2)
    for (uint i = 0; i < n; i++)
        x += a[t] * float(i);
    AHEAD(2)
    for (uint i = 0; i < n; i++)
        x += v[i * 32 + t];
    AHEAD(2)
    for (uint i = 0; i < n; i++)
        x += float(i ^ t);
    c[1024 + t] = x + float(l + m);
}
