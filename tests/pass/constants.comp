// SPDX-License-Identifier: MIT
// RUN: %heddle compile %s --spec 0=8 --spec 2=0 --emit passes -o %t.spvasm && %filecheck %s < %t.spvasm
// RUN: %spirv-as --target-env vulkan1.3 %t.spvasm -o %t.spv && %spirv-val --target-env vulkan1.3 %t.spv
// Constants take their values, array lengths with them, and branches on them are gone.
// CHECK-NOT: SpecId
// CHECK-NOT: OpSpecConstant
// CHECK: OpExecutionModeId %main LocalSizeId %uint_8 %uint_2 %uint_1
// CHECK: OpConstant %float 3{{$}}
// CHECK-NOT: OpConstant %float 2{{$}}
// CHECK-NOT: OpSelectionMerge
// CHECK: OpFunctionEnd
#version 460
// Specialisation constants through operations, array lengths, workgroup size and dead branches.
layout(local_size_x_id = 0, local_size_y = 2) in;
layout(constant_id = 1) const int N = 4;
layout(constant_id = 2) const bool FLAG = true;
layout(constant_id = 3) const float F = 1.5;
const int N2 = N * 2 + 1;
const uvec3 V = uvec3(N, N2, 7u);
layout(set = 0, binding = 0) buffer Buf { float x[]; };
shared float s[N2 * 4];

void main() {
    float table[N2];
    uint id = gl_LocalInvocationIndex;
    for (int i = 0; i < N2; i++)
        table[i] = F * float(i) + float(V.y);
    s[id] = table[id % uint(N2)];
    barrier();
    if (FLAG && N > 2)
        x[id] = s[gl_WorkGroupSize.x - 1u];
    else
        x[id] = FLAG ? 2.0 : 3.0;
}
